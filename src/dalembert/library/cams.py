"""Disc cams from follower laws: profile, pressure angle, curvature, and the cam drive as a system.

The cam turns counterclockwise about z at the origin. A follower slides along y, at x = offset, or swings about a pivot
on the x axis with its arm above the line to the cam. A positive lift is directed away from the cam.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ..arrays import Array
from ..bodies.shapes import box, cylinder, prism, rod
from ..checks import one_of, positive, set_fields, set_finite
from ..connections.constraints.cams import CamFollower
from ..connections.constraints.curves import Curve
from ..connections.joints import Prismatic, Revolute
from ..errors import ModelError
from ..numerics.taylor_series import Series, to_derivatives
from ..system import System
from .cam_geometry import CamGeometry
from .follower_laws import FollowerMotion

__all__ = ["Cam", "cam_drive"]


@dataclass(frozen=True, eq=False)
class Cam:
    """Disc cam for a given follower motion.

    Parameters
    ----------
    motion : FollowerMotion
        Lift in m, or in rad for a swinging follower.
    base_radius : float, m
        Least distance of the profile from the axis, where the lift is zero.
    follower : str
        ``"roller"``, ``"knife"`` or ``"flat"``.
    roller_radius : float, m
    offset : float, m
        Distance of the line of motion of a roller or knife to the right of the axis; for a swinging flat face, distance
        of the face in front of its pivot.
    pivot : float, m
        Distance of the pivot from the cam's axis: the follower swings.
    arm : float, m
        From the pivot to the middle of the roller, or to the knife.

    Attributes
    ----------
    angle : (n,) rad
        Cam angles of the following arrays.
    pressure_angle : (n,) rad
        Between the force on the follower and its direction of motion; positive if the force points to the left of it.
    radius : (n,) m
        Of curvature of the profile: positive where it is convex.
    profile : Curve
        In the plane z = 0 of the cam.

    Raises
    ------
    ModelError
        If the profile has a cusp or undercut (with the location and the smallest feasible base radius), or if a
        swinging follower cannot reach.

    Examples
    --------
    >>> rise = FollowerMotion([(np.pi / 2, 0.01), (np.pi / 2, 0.01), (np.pi, 0.0, "polynomial345")])
    >>> cam = Cam(rise, 0.03, roller_radius=0.008)
    >>> print(cam)
    cam with roller follower, lift 0.01, base radius 0.03 m
      pressure angle up to 16.58 degrees (cam at 42.75)
      radius of curvature 0.02261 m or more where convex (cam at 66)
    """

    motion: FollowerMotion
    base_radius: float
    follower: str = "roller"
    roller_radius: float = 0.0
    offset: float = 0.0
    pivot: float | None = None
    arm: float | None = None
    angle: Array = field(init=False, repr=False)
    pressure_angle: Array = field(init=False, repr=False)
    radius: Array = field(init=False, repr=False)
    profile: Curve = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.motion, FollowerMotion):
            raise ModelError("Cam", "motion", self.motion, "give a FollowerMotion")
        one_of("Cam", "follower", self.follower, ("roller", "knife", "flat"))
        positive("Cam", base_radius=self.base_radius)
        set_finite(self, "roller_radius", "offset", item="Cam")
        if (self.roller_radius > 0) != (self.follower == "roller"):
            remedy = "a roller has a positive one" if self.follower == "roller" else "only a roller has one"
            raise ModelError("Cam", "roller_radius", self.roller_radius, remedy)
        if self.swings:
            positive("Cam", pivot=self.pivot)
            if self.follower != "flat":
                positive("Cam", arm=self.arm)
        elif self.arm is not None:
            raise ModelError("Cam", "arm", self.arm, "give pivot= too, its distance from the cam's axis")
        elif self.offset and self.follower == "flat":
            raise ModelError("Cam", "offset", self.offset, "a flat face has no offset: its lift does not depend on it")
        self._draw()

    @property
    def swings(self) -> bool:
        """Whether the follower swings about a pivot."""
        return self.pivot is not None

    @property
    def rest(self) -> float:
        """Follower position at zero lift: height, m, or angle from the line to the cam, rad."""
        return self._geometry.rest

    @property
    def _geometry(self) -> CamGeometry:
        numbers = (self.base_radius, self.follower, self.roller_radius, self.offset, self.pivot, self.arm)
        return CamGeometry(self.motion, *numbers)

    def _draw(self) -> None:
        pieces = self._geometry.pieces()
        whole = {
            name: np.concatenate([getattr(piece, name) for piece in pieces])
            for name in ("angle", "pressure_angle", "radius", "sense", "pitch")
        }
        self._check(whole["angle"], whole["sense"])
        set_fields(self, **{name: whole[name] for name in ("angle", "pressure_angle", "radius")})
        self._check_push()
        segments = []
        for piece in pieces:
            rows = (np.column_stack([x.real, x.imag]) for x in to_derivatives(piece.profile))
            segments.append((piece.angle[-1] - piece.angle[0], *rows))
        set_fields(self, profile=Curve.from_derivatives(segments, closed=True))
        if self.follower == "roller":
            self._check_far(whole["pitch"], np.concatenate([piece.profile[0] for piece in pieces]))

    def _check(self, angle: Array, sense: Array) -> None:
        """Raise for cusps: the profile must advance in one sense."""
        geometry = self._geometry
        if not geometry.turns_back(sense):
            return
        k = int(sense.argmin())
        where = f"at {math.degrees(angle[k]):.4g} degrees"
        if self.follower == "flat":
            found = f"the profile has a cusp {where}, where its radius of curvature is {sense[k]:.4g} m"
        else:
            pitch = self.roller_radius / (1 - sense[k])
            found = f"undercut {where}: the radius of the pitch curve is {pitch:.4g} m there"
        least = geometry.least_base_radius()
        smaller = " or a smaller roller" if self.follower == "roller" else ""
        advice = "give more angle or less lift" if least is None else f"give {least:.4g} m or more{smaller}"
        raise ModelError("Cam", "base_radius", self.base_radius, f"{found}; {advice}")

    def _check_push(self) -> None:
        """Raise for a cam that would have to pull the follower."""
        k = int(np.abs(self.pressure_angle).argmax())
        steep = math.degrees(abs(self.pressure_angle[k]))
        if steep > 89.9:
            found = f"the pressure angle reaches {steep:.4g} degrees (cam at {math.degrees(self.angle[k]):.4g})"
            raise ModelError("Cam", "motion", self.motion, f"{found}: the cam cannot push the follower; give less lift")

    def _check_far(self, pitch: Series, profile: Series) -> None:
        """Raise for a roller that also touches another part of the cam."""
        away = np.abs(pitch[:, None] - profile[None, :]).min(axis=1)
        k = int(away.argmin())
        if away[k] < self.roller_radius * (1 - 1e-6) - 1e-9 * self.base_radius:
            at, depth = math.degrees(self.angle[k]), self.roller_radius - away[k]
            remedy = f"with the cam at {at:.4g} degrees it penetrates another part of the profile by {depth:.3g} m"
            raise ModelError("Cam", "roller_radius", self.roller_radius, remedy)

    @property
    def outline(self) -> Array:
        """Points (k, 2) m of the profile, counterclockwise, for `prism`."""
        k = self.profile.knots
        return np.asarray(self.profile(np.sort(np.concatenate([k[:-1], (k[:-1] + k[1:]) / 2])))[::-1, :2])

    def __str__(self) -> str:
        steep = int(np.abs(self.pressure_angle).argmax())
        convex = np.where(self.radius > 0, self.radius, np.inf)
        sharp = int(convex.argmin())
        kind = f"swinging {self.follower}" if self.swings else self.follower
        return (
            f"cam with {kind} follower, lift {self.motion.greatest_lift:.6g}, base radius {self.base_radius:.6g} m\n"
            f"  pressure angle up to {math.degrees(abs(self.pressure_angle[steep])):.4g} degrees"
            f" (cam at {math.degrees(self.angle[steep]):.4g})\n"
            f"  radius of curvature {convex[sharp]:.4g} m or more where convex"
            f" (cam at {math.degrees(self.angle[sharp]):.4g})"
        )


def cam_drive(cam: Cam, *, width: float | None = None, density: float = 7850.0, mass: float = 0.1) -> System:
    """Return a cam and its follower in permanent contact. Mobility 1.

    Bodies cam and follower; joints shaft, about z, and guide, whose coordinate is the lift: a slide along y, or a turn
    about the pivot. The constraint contact is a `CamFollower`; its multiplier is the contact force, positive in
    compression.

    Parameters
    ----------
    cam : Cam
    width, density : float, m and kg/m3
        Of the cam; default width a fifth of the base radius.
    mass : float, kg
        Of the follower.

    Examples
    --------
    >>> import dalembert as da
    >>> rise = FollowerMotion([(np.pi / 2, 0.01), (np.pi / 2, 0.01), (np.pi, 0.0, "polynomial345")])
    >>> s = cam_drive(Cam(rise, 0.03, roller_radius=0.008))
    >>> _ = s.drive("shaft", speed=1.0)
    >>> result = da.simulate(s, np.pi / 4, rtol=1e-9)
    >>> print(round(float(result["guide.position"][-1]), 8))
    0.005
    """
    if not isinstance(cam, Cam):
        raise ModelError("cam_drive", "cam", cam, "give a Cam")
    n = positive("cam_drive", width=0.2 * cam.base_radius if width is None else width, density=density, mass=mass)
    s = System("cam", gravity=(0.0, -9.81, 0.0))
    disc = s.body("cam", prism(cam.outline, n["width"], density=density))
    s.connect("shaft", Revolute("z"), s.ground, disc)
    reach, thin = 1.5 * cam.base_radius, 0.1 * cam.base_radius
    if cam.swings:
        length = float(cam.pivot if cam.arm is None else cam.arm)  # type: ignore[arg-type]
        follower = s.body("follower", rod(length, mass))
        if cam.follower == "flat":
            follower.decorate(box(length, thin, n["width"]), length / 2, cam.offset - thin / 2, 0)
        pivot = s.ground.at(cam.pivot, 0, 0, rotation=("z", math.pi - cam.rest))  # type: ignore[arg-type]
        s.connect("guide", Revolute((0, 0, -1)), pivot, follower)
        at, turn = (0.0 if cam.arm is None else cam.arm, cam.offset if cam.follower == "flat" else 0.0), math.pi
    else:
        follower = s.body("follower", rod(reach, mass, "y", radius=thin))
        s.connect("guide", Prismatic("y"), s.ground.at(cam.offset, cam.rest, 0), follower)
        at, turn = (0.0, 0.0), 0.0
        if cam.follower == "flat":
            follower.decorate(cylinder(thin, cam.base_radius, axis="y"), 0, thin / 2, 0)
    if cam.follower == "roller":
        follower.decorate(cylinder(n["width"], cam.roller_radius), *at, 0)
    face = follower.at(*at, 0, rotation=("z", turn))
    s.connect("contact", CamFollower(cam.profile, cam.follower, cam.roller_radius), disc, face)
    return s
