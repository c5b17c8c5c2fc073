"""Unilateral contact of a follower with a cam: lash, lift-off and landing.

In axes of the cam, p is the origin of the follower's marker. A roller of radius a (knife edge: a = 0) touches where p
is on the pitch curve, parallel to the profile at the distance a, of radius R(phi) at the polar angle phi. A flat face
with the normal n = (cos alpha, sin alpha) away from the cam touches where n . p is the support function h(alpha), the
largest n . c of all points c of the profile. The overlap d, positive in contact, is

    d = (R(phi) - |p|) R/sqrt(R^2 + R'^2) - lash              roller, knife edge (inside a ring with the other sign) (1)
    d = h(alpha) - n . p - lash                               flat face                                              (2)

(1) is the distance along the normal up to terms of second order in d. The normal force follows Hunt and Crossley,

    N = k d^e max(1 + 3/2 c d', 0),        energy k d^(e + 1)/(e + 1)                                                (3)

and acts by the gradient of d, so that the normal, the moment of a flat face about its origin, N (h' - t . p) with t =
dn/dalpha, and the torque of the cam are exact. Friction mu N acts at the point of contact against the velocity v of
sliding, times v/sqrt(v^2 + slip_speed^2).

Sources: R. L. Norton, Cam Design and Manufacturing Handbook, ch. 9 to 11 (jump of followers); K. H. Hunt, F. R. E.
Crossley, J. Appl. Mech. 42 (1975) 440-445.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...arrays import Array
from ...checks import at_least_one, checked, finite, not_negative, positive, set_fields
from ...errors import ModelError
from ..constraints.cams import CamFollower
from ..constraints.curves import Curve
from ..formulas.marker_axes import marker_axis
from ..formulas.tables import Table
from .contacts import contact_dissipation
from .element import Element

__all__ = ["CamContact"]

_SAMPLES = 4096  # of functions of the angle, over one turn
_PER_PIECE = 16  # points of each piece of the profile


@checked("follower", "inside")
class CamContact(Element):
    """Contact of a follower with a cam, which it may leave: with lash, float, landing and friction.

    Parameters
    ----------
    profile : Curve, or points (n, 2) m
        Closed, in the plane z = 0 of the cam, around its origin; such as ``da.library.Cam(...).profile``.
    follower : str
        ``"roller"``: a circle about the second marker's origin; ``"knife"``: the origin itself; ``"flat"``: a face
        through the second marker's origin, along its x axis, with its y axis pointing away from the cam.
    stiffness : float, N/m^exponent
    radius : float, m
        Of the roller.
    lash : float, m
        Clearance: contact begins where the follower is as much nearer to the cam.
    dissipation : float, s/m
    restitution, at_speed : float, 1 and m/s
        In place of the dissipation: coefficient of restitution at this speed of landing.
    exponent : float
        e of (3).
    friction : float
        Coefficient of friction. On a roller it acts at its rim: the second marker is then on the body that rolls.
    slip_speed : float, m/s
        Sliding velocity at which 71 % of the friction acts.
    inside : bool
        A roller inside the profile, as in a ring or the outer flank of a groove.

    Connect it to a marker of the cam and one of the follower, ``s.connect("contact", da.CamContact(cam.profile,
    "roller", 1e7, radius=0.01), camshaft, tappet)``: any joint guides the follower, which may slide or swing. Both stay
    in the plane of the cam.

    Parameters by name: stiffness, lash, dissipation, exponent, friction, slip_speed. Signals: ``force``, N, normal;
    ``gap``, m, between follower and cam with the lash, negative in contact; ``sliding``, m/s. The equations are at the
    head of `connections.elements.cam_contacts`. `CamFollower` is the ideal follower that cannot lift off.

    Raises
    ------
    ModelError
        For a profile that is not closed or not around its origin; a roller larger than a hollow of it (undercut); a
        hollow under a flat face: with the place.

    Examples
    --------
    A flat tappet on an eccentric disc with a return spring:

    >>> import numpy as np
    >>> import dalembert as da
    >>> disc = da.Curve.path([da.Arc((0.01, 0), 0.03, 0.0, 2 * np.pi)])
    >>> s = da.System("tappet", gravity=(0, 0, 0))
    >>> cam, tappet = (s.body(name, mass=0.2, inertia=(1e-3, 1e-3, 1e-3)) for name in ("cam", "tappet"))
    >>> _ = s.connect("shaft", da.Revolute("z"), s.ground, cam)
    >>> _ = s.connect("guide", da.Prismatic("y"), s.ground, tappet)
    >>> _ = s.connect("contact", da.CamContact(disc, "flat", 1e7, restitution=0.6), cam, tappet)
    >>> _ = s.connect("spring", da.JointSpring(2000.0, 0.0, -0.02), "guide")
    >>> s.initial("guide", position=0.03, speed=0.5)
    >>> _ = s.drive("shaft", speed=50.0)
    >>> result = da.simulate(s, 0.05)
    >>> lift = 0.03 + 0.01 * np.sin(50.0 * result.t)
    >>> bool(abs(result["guide.position"] - lift).max() < 2e-5)
    True
    """

    is_smooth_at_half_turn: ClassVar[bool] = True
    shape: CamFollower

    def __init__(
        self,
        profile: Any,
        follower: str,
        stiffness: float,
        *,
        radius: float = 0.0,
        lash: float = 0.0,
        dissipation: float = 0.0,
        restitution: float | None = None,
        at_speed: float = 1.0,
        exponent: float = 1.0,
        friction: float = 0.0,
        slip_speed: float = 1e-2,
        inside: bool = False,
    ) -> None:
        item = self.kind
        numbers = positive(item, stiffness=stiffness, slip_speed=slip_speed) | finite(item, lash=lash)
        numbers |= at_least_one(item, exponent=exponent) | not_negative(item, friction=friction)
        numbers["dissipation"] = contact_dissipation(item, dissipation, restitution, at_speed)
        shape = CamFollower(profile, follower, radius, inside)
        line = _Line.of(shape.profile)
        tables = _support(item, line) if follower == "flat" else _pitch(item, line, shape)
        parts = _FLAT if follower == "flat" else _ROUND
        sign = "-1" if inside else "1"
        definitions = marker_axis("y", "n") | {"side": sign, "reach": repr(shape.radius)} | parts | _CONTACT
        moments = _FLAT_MOMENTS if follower == "flat" else _ROUND_MOMENTS
        super().__init__(
            "pose",
            ("N*gx + f*tx", "N*gy + f*ty", "0", *moments),
            numbers,
            energy="stiffness*d**(exponent + 1)/(exponent + 1)",
            definitions=definitions,
            signals={"force": "N", "gap": "-overlap", "sliding": "v"},
            tables=tables,
        )
        set_fields(self, shape=shape)


# g: minus the gradient of the overlap by p; arm: its derivative by the angle of the follower
_FLAT = {
    "alpha": "atan2(ny, nx)",
    "size": "sqrt(nx*nx + ny*ny)",
    "gx": "nx/size",
    "gy": "ny/size",
    "tx": "-gy",
    "ty": "gx",
    "overlap": "support(alpha) - gx*x - gy*y - lash",
    "arm": "support_slope(alpha) - (tx*x + ty*y)",
    "tilt": "nz/(size*size)",
    "rate": "arm*(wz - tilt*(nx*wx + ny*wy)) - gx*vx - gy*vy",
    "v": "tx*vx + ty*vy",
}
_FLAT_MOMENTS = ("N*arm*tilt*nx", "N*arm*tilt*ny", "-N*arm")
_ROUND = {
    "r": "sqrt(x*x + y*y)",
    "phi": "atan2(y, x)",
    "R": "pitch(phi)",
    "c": "lean(phi)",
    "over": "(R - r)",
    "overlap": "side*over*c - lash",
    "slope": "side*(pitch_slope(phi)*c + over*lean_slope(phi))/r",
    "gx": "(side*c*x + slope*y)/r",
    "gy": "(side*c*y - slope*x)/r",
    "tx": "-gy",
    "ty": "gx",
    "rate": "-gx*vx - gy*vy",
    "v": "tx*vx + ty*vy - wz*reach",
}
_ROUND_MOMENTS = ("0", "0", "-f*reach")
_CONTACT = {
    "d": "max(overlap, 0)",
    "N": "stiffness*d**exponent*max(1 + 1.5*dissipation*rate, 0)",
    "f": "-friction*N*v/sqrt(v*v + slip_speed*slip_speed)",
}


class _Line(NamedTuple):
    """Points of a profile, counterclockwise: places, unit tangents (n, 2), curvatures (n,), positive where convex."""

    points: Array
    tangents: Array
    curvatures: Array

    @classmethod
    def of(cls, profile: Curve) -> _Line:
        u = (np.arange(_PER_PIECE) + 0.5) / _PER_PIECE
        c, c1, c2 = (profile.pieces.at(u, order).reshape(-1, 3)[:, :2] for order in (0, 1, 2))
        speed = np.hypot(*c1.T)
        tangents, curvatures = c1 / speed[:, None], (c1[:, 0] * c2[:, 1] - c1[:, 1] * c2[:, 0]) / speed**3
        area = float(np.sum(c[:, 0] * c1[:, 1] - c[:, 1] * c1[:, 0]))
        return cls(c, tangents, curvatures) if area > 0 else cls(c[::-1], -tangents[::-1], -curvatures[::-1])

    @property
    def normals(self) -> Array:
        """Outward."""
        return np.column_stack([self.tangents[:, 1], -self.tangents[:, 0]])

    def place(self, k: int) -> str:
        """Return a point in words."""
        x, y = self.points[k]
        return f"({x:.4g}, {y:.4g}) m, {math.degrees(math.atan2(y, x)):.4g} degrees"


def _support(item: str, line: _Line) -> dict[str, Table]:
    """Return the support function and its derivative."""
    size = float(np.ptp(line.points, axis=0).max())
    worst = int(line.curvatures.argmin())
    if line.curvatures[worst] < -1e-6 / size:
        raise ModelError(
            item,
            "profile",
            f"concave at {line.place(worst)}",
            "a flat face bridges hollows: use a roller, or a profile that is convex everywhere",
        )
    normals = line.normals
    alpha = np.unwrap(np.arctan2(normals[:, 1], normals[:, 0]))
    values = np.sum(normals * line.points, axis=1)
    slopes = np.sum(line.tangents * line.points, axis=1)
    support = _periodic(alpha, values, slopes)
    return {"support": support, "support_slope": support.slope(0)}


def _pitch(item: str, line: _Line, shape: CamFollower) -> dict[str, Table]:
    """Return the radius of the pitch curve, and the cosine of its angle to the circle; with derivatives."""
    sign, radius = (-1.0 if shape.inside else 1.0), shape.radius
    turn = 1.0 + sign * radius * line.curvatures
    worst = int(turn.argmin())
    if turn[worst] < 1e-3:
        raise ModelError(
            item,
            "radius",
            radius,
            f"undercut: the radius of curvature of the profile is {1 / abs(line.curvatures[worst]):.4g} m at "
            f"{line.place(worst)}; give a smaller roller",
        )
    pitch = line.points + sign * radius * line.normals
    around = pitch[:, 0] * line.tangents[:, 1] - pitch[:, 1] * line.tangents[:, 0]
    R = np.hypot(*pitch.T)
    worst = int(around.argmin())
    if around[worst] < 1e-3 * R[worst]:
        raise ModelError(
            item,
            "profile",
            f"turned back at {line.place(worst)}",
            "seen from the origin of the cam's marker, each direction must meet the profile once, at an angle",
        )
    phi = np.unwrap(np.arctan2(pitch[:, 1], pitch[:, 0]))
    along = np.sum(pitch * line.tangents, axis=1)
    radii = _periodic(phi, R, R * along / around)
    lean = np.hypot(1.0, along / around) ** -1
    grid = radii.axes[0]
    values = np.interp(grid, *_around(phi, lean))
    values[-1] = values[0]
    cosine = Table(grid, values=values, outside="repeat")
    return {"pitch": radii, "pitch_slope": radii.slope(0), "lean": cosine, "lean_slope": cosine.slope(0)}


def _around(angles: Array, values: Array) -> tuple[Array, Array]:
    """Return increasing angles and values over more than one turn about -pi to pi."""
    turns = 2 * np.pi * np.arange(-2, 3)
    first = angles - 2 * np.pi * np.round(angles[0] / (2 * np.pi))
    return (turns[:, None] + first).ravel(), np.tile(values, len(turns))


def _periodic(angles: Array, values: Array, slopes: Array) -> Table:
    """Return the table of a function of an angle, given at increasing angles of one turn with its slopes."""
    from scipy.interpolate import CubicHermiteSpline

    x, y = _around(angles, values)
    _, dy = _around(angles, slopes)
    keep = np.concatenate([[True], np.diff(x) > 1e-12])
    spline = CubicHermiteSpline(x[keep], y[keep], dy[keep])
    grid = np.linspace(-np.pi, np.pi, _SAMPLES + 1)
    found = spline(grid)
    found[-1] = found[0]
    return Table(grid, values=found, outside="repeat")
