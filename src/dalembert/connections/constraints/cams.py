"""Constraints along curves: a point on a curve, a follower on a cam.

The contact point on the curve is not a coordinate. It follows from the pose of the markers at every evaluation, as the
nearest point of the whole curve (or, for a flat face, the farthest point along its normal). It needs no start value and
no tracking, and assembly can start far from closure. Where two points of the curve are equally near, the contact point
jumps from one to the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...checks import checked, finite_number, one_of, set_fields
from ...errors import ModelError
from ...provenance import record_makers
from .curves import Curve
from .geometric import Constraint
from .piecewise_polynomials import PiecewisePolynomial

__all__ = ["CamFollower", "PointOnCurve", "RollingCam"]


@dataclass(frozen=True, eq=False)
class PointOnCurve(Constraint):
    """Keep the second marker's origin on a curve fixed in the first marker: a bead on a wire.

    Parameters
    ----------
    curve : Curve, or points (n, 3) or (n, 2) m

    Rows: distance across the curve, level (`side`: to the left of the travel) and upright to both (`height`). *Up* is
    the normal of a plane curve, else a direction that is nowhere tangent to the curve (`up`, in axes of the first
    marker).

    An open curve is extended by straight lines beyond its ends: the point is not stopped there. On a curve that crosses
    itself the point may change branches at the crossing.

    Examples
    --------
    A bead on a parabola z = x^2 falls from x = 0.5 with g times the sine of the slope:

    >>> import dalembert as da
    >>> s = da.System()
    >>> bead = s.body("bead", da.sphere(0.01, 1.0))
    >>> wire = da.Curve.from_function(lambda x: (x, 0, x * x), -1, 1)
    >>> s.connect("wire", da.PointOnCurve(wire), s.ground, bead)
    <Connection 'wire': PointOnCurve from ground to bead>
    >>> model = s.compile()
    >>> q = [1, 0, 0, 0, 0.5, 0, 0.25]
    >>> a = model.acceleration("bead", q, np.zeros(6), model.forward_dynamics(q, np.zeros(6)))
    >>> print(round(float(np.linalg.norm(a[3:]) / 9.81), 6), round(float(np.sqrt(0.5)), 6))
    0.707107 0.707107
    """

    curve: Any
    up: Array = field(init=False, repr=False)
    rows: ClassVar[tuple[str, ...]] = ("side", "height")
    holonomic: ClassVar[tuple[bool, ...]] = (True, True)
    kernel: ClassVar[str] = "point_on_curve"
    z_axes: ClassVar[tuple[str, str]] = ("up", "")

    def __post_init__(self) -> None:
        curve = self.curve if isinstance(self.curve, Curve) else Curve(self.curve)
        set_fields(self, curve=curve, up=_upward(curve))

    def table(self) -> PiecewisePolynomial:
        pieces: PiecewisePolynomial = self.curve.pieces
        return pieces.turned(self.frames()[0])


@checked("follower", "inside")
@dataclass(frozen=True, eq=False)
class CamFollower(Constraint):
    """Keep a follower in contact with the profile of a cam.

    Parameters
    ----------
    profile : Curve, or points (n, 2) m
        Closed, in the plane z = 0 of the first marker.
    follower : str
        ``"roller"``: a circle about the second marker's origin; ``"knife"``: the origin itself; ``"flat"``: a face
        through the second marker's origin, along its x axis, with its y axis pointing away from the cam.
    radius : float, m
        Of the roller.
    inside : bool
        The follower is inside the profile, as a roller in a ring; not for a flat face.

    Row: distance between follower and profile, in the plane of the cam; joints must keep the two in one plane. The
    multiplier is the normal force on the follower, positive in compression. Where it is negative, a follower without a
    spring or groove would lift off. A start on the wrong side of the profile is moved to the correct side, and a note
    reports it.

    A roller touches the point of the profile nearest to its centre, a face the point farthest along its normal: the
    first point met from outside. A roller larger than a hollow of the profile (undercut), and a flat face on any
    hollow, bridge it from one rim to the other. The contact point then jumps and velocities step. They also step for a
    flat face on a straight flank.

    Raises
    ------
    ModelError
        If the profile is not closed (with the gap), not plane, or runs out and back without an area inside.
    """

    profile: Any
    follower: str = "knife"
    radius: float = 0.0
    inside: bool = False
    rows: ClassVar[tuple[str, ...]] = ("contact",)
    holonomic: ClassVar[tuple[bool, ...]] = (True,)

    def __post_init__(self) -> None:
        one_of(self.kind, "follower", self.follower, ("roller", "knife", "flat"))
        if self.follower == "roller":
            self._positive("radius")
        elif finite_number(self.radius, item=self.kind, field="radius") != 0:
            raise ModelError(self.kind, "radius", self.radius, "only a roller has one: use follower='roller'")
        if self.inside and self.follower == "flat":
            raise ModelError(self.kind, "inside", self.inside, "a flat face touches a profile from outside only")
        profile = self.profile if isinstance(self.profile, Curve) else Curve(self.profile, closed=True)
        if not profile.closed:
            gap = float(np.linalg.norm(profile(profile.knots[-1]) - profile(profile.knots[0])))
            raise ModelError(
                self.kind,
                "profile",
                profile,
                f"the profile does not close: the last point is {gap:.3g} m from the first; use closed=True",
            )
        if not profile.in_plane:
            raise ModelError(self.kind, "profile", profile, "it must lie in the plane z = 0 of the cam's marker")
        low, high = profile.pieces.box()
        if abs(_area(profile.pieces)) < 1e-6 * float(np.max(high - low)) ** 2:
            raise ModelError(self.kind, "profile", profile, "it must enclose an area: it has no outside otherwise")
        set_fields(self, profile=profile)

    @property
    def kernel(self) -> str:  # type: ignore[override]
        """Name of the compiled constraint."""
        return "cam_flat" if self.follower == "flat" else "cam_roller"

    @property
    def parameter(self) -> float:
        return self.radius

    def table(self) -> PiecewisePolynomial:
        pieces: PiecewisePolynomial = self.profile.pieces
        # the follower's side is to the left: outside a profile that runs clockwise
        return pieces if (_area(pieces) > 0) == self.inside else pieces.reversed()

    def on_wrong_side(self, position: ArrayLike) -> bool:
        """Return whether a follower with its origin at (3,) m in the first marker touches from the wrong side.

        Nearly: by a quarter of its size, or of a twentieth of the profile's.
        """
        if self.follower == "flat":
            return False
        c = self.profile.pieces.at(np.linspace(0, 1, 65)[:-1]).reshape(-1, 3)[:, :2]
        away = c - np.asarray(position, dtype=float)[:2]
        angles = np.arctan2(away[:, 1], away[:, 0])
        turns = np.angle(np.exp(1j * np.diff(angles, append=angles[:1]))).sum() / (2 * math.pi)
        gap = abs(float(np.linalg.norm(away, axis=1).min()) - self.radius)
        size = max(self.radius, 0.05 * float(np.ptp(c, axis=0).max()))
        return bool(round(float(turns))) != self.inside and gap < 0.25 * size


@checked("inside")
@record_makers
class RollingCam(CamFollower):
    """Keep a roller in contact with the profile of a cam, rolling without slip.

    Parameters
    ----------
    profile : Curve, or points (n, 2) m
        Closed, in the plane z = 0 of the first marker.
    radius : float, m
        Of the roller about the second marker's origin.
    inside : bool
        It rolls inside the profile, as in a ring.

    Rows: `slip`, nonholonomic: the contact point of the roller has no velocity along the profile, so that radius times
    the angular velocity of the roller, relative to the cam, is the velocity of its centre along the cam (Sol 1983,
    (9.1.2)); `contact`, as in `CamFollower`. The multiplier of the slip is the force on the roller along the profile,
    traversed clockwise about z (inside: counterclockwise). The friction limit of this force is not checked.

    Examples
    --------
    >>> import dalembert as da
    >>> circle = da.Curve.path([da.Arc((0, 0), 0.016, 0.0, 2 * np.pi)])
    >>> da.RollingCam(circle, radius=0.012).rows
    ('slip', 'contact')
    """

    rows: ClassVar[tuple[str, ...]] = ("slip", "contact")
    holonomic: ClassVar[tuple[bool, ...]] = (False, True)

    def __init__(self, profile: Any, radius: float, *, inside: bool = False) -> None:
        super().__init__(profile, "roller", radius, inside)

    @property
    def kernel(self) -> str:  # type: ignore[override]
        """Name of the compiled constraint."""
        return "cam_rolling"


def _area(pieces: PiecewisePolynomial) -> float:
    """Return the signed area inside a closed plane curve, positive if counterclockwise, m2."""
    # Gauss with five points is exact for x y' of two quintics
    nodes, weights = np.polynomial.legendre.leggauss(5)
    c, c1 = (pieces.at(0.5 * (nodes + 1), order) for order in (0, 1))
    return float(0.25 * ((c[..., 0] * c1[..., 1] - c[..., 1] * c1[..., 0]) @ weights).sum())


def _upward(curve: Curve) -> Array:
    """Return the normal of a plane curve, else a unit vector away from the tangents of the curve."""
    if curve.in_plane:
        return np.array([0.0, 0.0, 1.0])
    points = curve.pieces.at(np.linspace(0, 1, 5)).reshape(-1, 3)
    _, s, axes = np.linalg.svd(points - points.mean(0), full_matrices=False)
    if s[-1] < 1e-9 * s[0]:
        return np.array(axes[-1] * np.sign(axes[-1][np.abs(axes[-1]).argmax()]))
    tangents = curve.pieces.at(np.linspace(0, 1, 9), 1).reshape(-1, 3)
    tangents /= np.linalg.norm(tangents, axis=1)[:, None]
    # half a sphere of directions, evenly, after the axes themselves
    k = np.arange(400) + 0.5
    z, turn = k / 400, math.pi * (3 - math.sqrt(5)) * k
    level = np.sqrt(1 - z * z)
    directions = np.vstack([np.eye(3)[::-1], np.column_stack([level * np.cos(turn), level * np.sin(turn), z])])
    nearest = np.abs(directions @ tangents.T).max(1)  # cosine of the least angle
    if nearest[0] < 0.9:
        return np.array(directions[0])
    best = int(nearest.argmin())
    if nearest[best] > 0.9998:
        raise ModelError(
            "PointOnCurve", "curve", curve, "its tangents cover all directions; divide it into several curves"
        )
    return np.array(directions[best])
