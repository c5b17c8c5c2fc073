"""Cams from follower laws: the profile as an envelope, its pressure angle and curvature, and the cam as a system.

The cam turns counterclockwise about z at the origin. A follower slides up along y, at x = offset, or swings about a
pivot on the x axis with its arm above the line to the cam; both are lifted away from the cam. In the plane vectors are
complex numbers; derivatives are by the cam's angle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..bodies.shapes import box, cylinder, prism, rod
from ..checks import finite_number, positive
from ..connections.constraints.cams import CamFollower
from ..connections.constraints.curves import Curve
from ..connections.hinges import Prismatic, Revolute
from ..errors import ModelError
from ..system import System
from .cam_laws import FollowerMotion
from .series import Series, derivative, divided, from_derivatives, root, times, to_derivatives, turning

__all__ = ["Cam", "cam_drive"]

Array = NDArray[np.float64]

_STEP = math.radians(0.75)


@dataclass(frozen=True, eq=False)
class Cam:
    """A disc cam that gives a follower its motion.

    Parameters
    ----------
    motion : FollowerMotion
        Lift in m; in rad of a follower that swings.
    base_radius : float, m
        Least distance of the profile from the axis, where the lift is zero.
    follower : str
        ``"roller"``, ``"knife"`` or ``"flat"``.
    roller_radius : float, m
    offset : float, m
        Of the line along which roller or knife slides, to the right of the axis; of a flat face that swings: how far it
        lies in front of its pivot.
    pivot : float, m
        Distance of the pivot from the cam's axis: the follower swings.
    arm : float, m
        From the pivot to the middle of the roller, or to the knife.

    Attributes
    ----------
    angle : (n,) rad
        Of the cam, at which the following are known.
    pressure_angle : (n,) rad
        Between the force on the follower and the way that it can go; positive if the force leans to the left of it.
    radius : (n,) m
        Of curvature of the profile: positive where it is convex.
    profile : Curve
        In the plane z = 0 of the cam.

    Raises
    ------
    ModelError
        If the profile has a cusp or undercuts itself: where, and the least base radius that does not; if a follower
        that swings cannot reach.

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
        if self.follower not in ("roller", "knife", "flat"):
            raise ModelError("Cam", "follower", self.follower, "use 'roller', 'knife' or 'flat'")
        positive("Cam", base_radius=self.base_radius)
        for name in ("roller_radius", "offset"):
            object.__setattr__(self, name, finite_number(getattr(self, name), item="Cam", field=name))
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
            raise ModelError("Cam", "offset", self.offset, "a flat face has none: it makes no difference to the lift")
        self._draw()

    @property
    def swings(self) -> bool:
        """Whether the follower swings about a pivot."""
        return self.pivot is not None

    @property
    def rest(self) -> float:
        """Where the follower is at zero lift: height, m, or angle from the line to the cam, rad."""
        near = self.base_radius + self.roller_radius
        if not self.swings:
            if self.follower != "flat" and near <= abs(self.offset):
                raise ModelError("Cam", "offset", self.offset, f"it must be less than {near:.6g} m, where the cam is")
            return near if self.follower == "flat" else math.sqrt(near**2 - self.offset**2)
        assert self.pivot is not None
        if self.follower == "flat":
            sine = (self.base_radius + self.offset) / self.pivot
            if not 0 < sine < 1:
                remedy = f"it must be further away than base radius and offset, {self.base_radius + self.offset:.6g} m"
                raise ModelError("Cam", "pivot", self.pivot, remedy)
            return math.asin(sine)
        assert self.arm is not None
        low, high = abs(self.pivot - self.arm), self.pivot + self.arm
        if not low < near < high:
            remedy = f"from pivot {self.pivot:.6g} m away it reaches {low:.6g} to {high:.6g} m, not {near:.6g} m"
            raise ModelError("Cam", "arm", self.arm, remedy)
        return math.acos((self.pivot**2 + self.arm**2 - near**2) / (2 * self.pivot * self.arm))

    def _draw(self) -> None:
        parts = [self._piece(*piece) for piece in self.motion.pieces]
        angle, radius, pressure = (np.concatenate([part[k] for part in parts]) for k in (0, 2, 3))
        self._check(angle, np.concatenate([part[4] for part in parts]), radius)
        for name, value in (("angle", angle), ("pressure_angle", pressure), ("radius", radius)):
            object.__setattr__(self, name, value)
        segments = []
        for place, p, *_ in parts:
            d = to_derivatives(p)
            segments.append((place[-1] - place[0], *(np.column_stack([x.real, x.imag]) for x in d)))
        object.__setattr__(self, "profile", Curve.from_derivatives(segments, closed=True))
        if self.follower == "roller":
            self._check_far(
                angle, np.concatenate([part[5] for part in parts]), np.concatenate([p[1][0] for p in parts])
            )

    def _piece(self, k: int, begin: float, end: float) -> tuple[Array, Series, Array, Array, Array, Series]:
        """Return angles, the profile's series, radii, pressure angles, the sense in which it runs, and pitch points."""
        start, span = float(self.motion.starts[k]), end - begin
        local = np.linspace(begin, end, max(12, 2 * math.ceil(span / (2 * _STEP))) + 1)
        inside = np.clip(local, begin + 1e-12 * span, end - 1e-12 * span)  # derivatives jump at the ends
        lift = from_derivatives(self.motion.within(k, inside)).astype(complex)
        theta = np.zeros_like(lift)
        theta[0], theta[1] = start + local, 1.0
        back = turning(-theta)  # from the world to the cam
        if self.follower == "flat":
            p, normal, sense = self._envelope(lift, theta)
            pitch = p[0]
        else:
            c = times(self._point(lift), back)
            ahead = derivative(c)
            speed = root(times(ahead, ahead.conj()))
            outward = divided(1j * ahead, speed)  # the profile runs clockwise: outside is to the left
            p = c[:3] - self.roller_radius * outward
            normal, pitch = outward[0], c[0]
            d = to_derivatives(c)
            convex = -np.imag(np.conj(d[1]) * d[2]) / np.abs(d[1]) ** 3
            sense = 1 - self.roller_radius * convex
        d = to_derivatives(p)
        curvature = -np.imag(np.conj(d[1]) * d[2]) / np.maximum(np.abs(d[1]), 1e-300) ** 3
        radius = np.divide(1.0, curvature, out=np.full(len(local), np.inf), where=np.abs(curvature) > 1e-12)
        world = normal * np.exp(1j * theta[0].real)
        way = self._way(lift, p[0] * np.exp(1j * theta[0].real))
        return start + local, p, radius, np.angle(world / way), sense.real, pitch

    def _point(self, lift: Series) -> Series:
        """Return the middle of the roller, or the knife, in the world."""
        rest = self.rest
        if not self.swings:
            P: Series = 1j * lift
            P[0] += self.offset + 1j * rest
            return P
        assert self.pivot is not None and self.arm is not None
        turn = -lift
        turn[0] += math.pi - rest
        P = self.arm * turning(turn)
        P[0] += self.pivot
        return P

    def _envelope(self, lift: Series, theta: Series) -> tuple[Series, Series, Series]:
        """Return profile, normals in the cam, and radii of curvature, of a family of faces n . x = h."""
        rest = self.rest
        alpha, h = -theta, lift.copy()
        alpha[0] += math.pi / 2
        if self.swings:
            alpha = alpha - lift
            alpha[0] -= rest
            tilt = lift.copy()
            tilt[0] += rest
            E = turning(tilt)
            h = self.pivot * (E - E.conj()) / 2j
            h[0] -= self.offset
        else:
            h[0] += rest
        n = turning(alpha)
        rate = derivative(alpha)
        if (rate[0].real >= -1e-9).any():
            worst = float(rate[0].real.max()) + 1
            remedy = f"the face swings as fast as the cam turns ({worst:.4g} rad per rad): give less lift or more angle"
            raise ModelError("Cam", "motion", self.motion, remedy)
        p = times(h, n)[:3] + times(divided(derivative(h), rate), 1j * n)
        d = derivative(p)
        return p, n[0], (np.conj(1j * n[0]) * d[0] / rate[0]).real

    def _way(self, lift: Series, contact: Series) -> Series:
        """Return the direction in which the follower goes where it is touched."""
        if not self.swings:
            return np.full(len(contact), 1j)
        at = contact if self.follower == "flat" else self._point(lift)[0]
        away = -1j * (at - self.pivot)
        return np.asarray(away / np.abs(away))

    def _check(self, angle: Array, sense: Array, radius: Array) -> None:
        """Refuse cusps: the profile must run on in one sense."""
        if sense.min() > 1e-6 * (self.base_radius if self.follower == "flat" else 1.0):
            return
        k = int(sense.argmin())
        where = f"at {math.degrees(angle[k]):.4g} degrees"
        if self.follower == "flat":
            found = f"the profile has a cusp {where}, its radius of curvature comes to {sense[k]:.4g} m"
        else:
            pitch = self.roller_radius / (1 - sense[k])
            found = f"undercut {where}: the roller's middle runs on a curve of radius {pitch:.4g} m there"
            if self.follower == "knife":
                found = f"the profile has a cusp {where}"
        raise ModelError("Cam", "base_radius", self.base_radius, f"{found}; {self._advice()}")

    def _advice(self) -> str:
        """Return the least base radius without a cusp, in words."""
        if self.__dict__.get("_asked"):
            return ""
        low, high = self.base_radius, self.base_radius
        for _ in range(12):
            high *= 1.5
            if self._fits(high):
                break
            low = high
        else:
            return "give more angle, less lift, or a smaller roller"
        while high - low > 1e-4 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if self._fits(middle) else (middle, high)
        smaller = " or a smaller roller" if self.follower == "roller" else ""
        return f"give {high:.4g} m or more{smaller}"

    def _fits(self, base_radius: float) -> bool:
        try:
            other = object.__new__(Cam)
            for name in ("motion", "follower", "roller_radius", "offset", "pivot", "arm"):
                object.__setattr__(other, name, getattr(self, name))
            object.__setattr__(other, "base_radius", base_radius)
            object.__setattr__(other, "_asked", True)
            senses = np.concatenate([other._piece(*piece)[4] for piece in self.motion.pieces])
        except ModelError:
            return False
        return bool(senses.min() > 1e-6 * (base_radius if self.follower == "flat" else 1.0))

    def _check_far(self, angle: Array, pitch: Series, profile: Series) -> None:
        """Refuse a roller that touches the cam elsewhere than where it should."""
        away = np.abs(pitch[:, None] - profile[None, :]).min(axis=1)
        k = int(away.argmin())
        if away[k] < self.roller_radius * (1 - 1e-6) - 1e-9 * self.base_radius:
            depth = self.roller_radius - away[k]
            remedy = (
                f"with the cam at {math.degrees(angle[k]):.4g} degrees it would cut {depth:.3g} m into another part"
            )
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
    """Return a cam and its follower, held in touch. Mobility 1.

    Bodies cam and follower; hinges shaft, about z, and guide, whose coordinate is the lift: a slide along y, or a turn
    about the pivot. The constraint contact is a `CamFollower`; its multiplier is the force between the two, positive if
    they press on each other.

    Parameters
    ----------
    cam : Cam
    width, density : float, m and kg/m3
        Of the cam; a fifth of the base radius wide if left out.
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
