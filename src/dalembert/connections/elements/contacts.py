"""Compliant contacts of points, spheres and cylinders, with damping and friction.

The normal force follows Hunt and Crossley: with the depth d and its rate d'

    N = stiffness d^exponent (1 + 3/2 dissipation d'),   never below zero

so that it is continuous at contact and does not pull at release. The coefficient of restitution e of an approach at the
speed v follows from x (1 + e) = ln((1 + x) / (1 - e x)), x = 3/2 dissipation v, whatever masses, stiffness and exponent
are; `restitution` with `at_speed` gives it in place of the dissipation. It stores
stiffness d^(exponent + 1) / (exponent + 1).

Friction is that of bristles (`bristles`): it holds below friction * N; nothing creeps. Its states are the deflections
of one bristle for each point of contact, m. The elements know no masses: bristles have the damping of a time of 1 ms,
and the tangential stiffness `tangential_stiffness`, by default that of Mindlin at a depth of 0.1 mm, 0.82 exponent
stiffness (0.1 mm)^(exponent - 1). With `slip_speed` there are no bristles: friction is friction * N against the sliding
velocity u, times |u| / sqrt(|u|^2 + slip_speed^2), and creeps below the slip speed. So it is, too, without friction at
first, for a coefficient that is set later. `System.contact` has shapes, static friction, and bristles by masses.

Sources: K. H. Hunt, F. R. E. Crossley, J. Appl. Mech. 42 (1975) 440-445; H. Hertz, J. reine angew. Math. 92 (1882)
156-171: exponent 3/2 and stiffness 4/3 E sqrt(R) with 1/R = 1/r1 + 1/r2 and 1/E = (1 - nu1^2)/E1 + (1 - nu2^2)/E2.
"""

from __future__ import annotations

from ...checks import at_least_one, not_negative, positive
from ...errors import ModelError
from ..contacts.normal_law import LEAST_RESTITUTION, dissipation_at, tangential_ratio
from ..formulas.marker_axes import marker_axis
from .bristles import Bristle, regularized
from .element import Element

__all__ = [
    "CONTACTS",
    "CylinderPlaneContact",
    "PointPlaneContact",
    "SpherePlaneContact",
    "SphereSphereContact",
    "contact_depth",
    "contact_dissipation",
]

_PUSH = "stiffness*d**exponent*max(1 + 1.5*dissipation*rate, 0)"
_STORED = "stiffness*d**(exponent + 1)/(exponent + 1)"
_MINDLIN, _DEPTH = tangential_ratio(None), 1e-4  # of the tangential stiffness; m


class PointPlaneContact(Element):
    """Contact of the second marker's origin with the plane z = 0 of the first; free for z > 0.

    Parameters
    ----------
    stiffness : float, N/m^exponent
    dissipation : float, s/m
    restitution, at_speed : float, 1 and m/s
        In place of the dissipation: coefficient of restitution at this speed of approach, exactly.
    exponent : float
        1 or more.
    friction : float
        Coefficient of friction.
    slip_speed : float, m/s
        Of friction that creeps, in place of bristles.
    tangential_stiffness : float, N/m
        Of bristles.

    See `connections.elements.contacts` for the law.

    Examples
    --------
    >>> import dalembert as da
    >>> da.PointPlaneContact(1e5, dissipation=0.2, friction=0.4).measure
    'place'
    """

    def __init__(
        self,
        stiffness: float,
        *,
        dissipation: float = 0.0,
        exponent: float = 1.0,
        friction: float = 0.0,
        slip_speed: float | None = None,
        tangential_stiffness: float | None = None,
        restitution: float | None = None,
        at_speed: float = 1.0,
    ) -> None:
        dissipation = contact_dissipation(self.kind, dissipation, restitution, at_speed)
        numbers = _numbers(self.kind, stiffness, dissipation, exponent, friction, slip_speed, tangential_stiffness)
        parts = {
            "d": "max(-z, 0)",
            "rate": "-vz",
            "push": _PUSH,
        }
        rub = _friction(numbers, ("vx", "vy"))
        super().__init__(
            "place",
            (*rub.force, "push"),
            numbers,
            energy=f"{_STORED}{rub.energy}",
            definitions=parts | rub.definitions,
            states=rub.states,
        )


class SpherePlaneContact(Element):
    """Contact of a sphere about the second marker's origin with the plane z = 0 of the first.

    It is free for z > radius.

    Parameters
    ----------
    radius : float, m
    stiffness : float, N/m^exponent
        4/3 E sqrt(radius) of Hertz.
    dissipation : float, s/m
    restitution, at_speed : float, 1 and m/s
        In place of the dissipation: coefficient of restitution at this speed of approach, exactly.
    exponent : float
        3/2 of Hertz.
    friction : float
        Coefficient of friction; it acts at the plane, below the centre of the sphere, and causes rolling.
    slip_speed : float, m/s
        Of friction that creeps, in place of bristles.
    tangential_stiffness : float, N/m
        Of bristles.

    See `connections.elements.contacts` for the law.
    """

    def __init__(
        self,
        radius: float,
        stiffness: float,
        *,
        dissipation: float = 0.0,
        exponent: float = 1.5,
        friction: float = 0.0,
        slip_speed: float | None = None,
        tangential_stiffness: float | None = None,
        restitution: float | None = None,
        at_speed: float = 1.0,
    ) -> None:
        dissipation = contact_dissipation(self.kind, dissipation, restitution, at_speed)
        numbers = _numbers(self.kind, stiffness, dissipation, exponent, friction, slip_speed, tangential_stiffness)
        numbers |= positive(self.kind, radius=radius)
        parts = {
            "d": "max(radius - z, 0)",
            "rate": "-vz",
            "push": _PUSH,
            "ux": "vx - z*wy",
            "uy": "vy + z*wx",
        }
        rub = _friction(numbers, ("ux", "uy"))
        fx, fy = rub.force
        super().__init__(
            "pose",
            (fx, fy, "push", f"z*{fy}", f"-z*{fx}", 0.0),
            numbers,
            energy=f"{_STORED}{rub.energy}",
            definitions=parts | rub.definitions,
            states=rub.states,
        )


class CylinderPlaneContact(Element):
    """Contact of a cylinder about the z axis of the second marker with the plane z = 0 of the first.

    Parameters
    ----------
    length, radius : float, m
        As of `cylinder`. The origin of the second marker is the middle of the cylinder.
    stiffness : float, N/m^exponent
        Of the whole line, for a cylinder lying flat.
    dissipation : float, s/m
    restitution, at_speed : float, 1 and m/s
        In place of the dissipation: coefficient of restitution at this speed of approach, exactly.
    exponent : float
        1 for a line on an elastic bed.
    friction : float
        Coefficient of friction.
    slip_speed : float, m/s
        Of friction that creeps, in place of bristles.
    tangential_stiffness : float, N/m
        Of bristles.

    The lowest line of the mantle carries springs with the shares 1/6, 4/6 and 1/6 of the stiffness at its two ends and
    in the middle (Simpson's rule): lying, the cylinder has stiffness d^exponent for the depth d, and with exponent 1 it
    resists tilting by stiffness * length^2/12, as a line on an elastic bed does as long as all of it touches.
    Tilted, it stands on the lowest point of one rim. Each point has the law and the friction of
    `connections.elements.contacts` by its own depth and velocity, so that the cylinder rolls, skids, spins and rocks.

    The mantle has no lowest line when the axis is upright: within some thousandths of a radian of it the contact point
    moves smoothly from the rim to the middle of the face. For a cylinder that stands on its face, use several
    `PointPlaneContact` at its rim.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("roll", gravity=(0, -9.81, 0))  # the plane of the ground's marker is upright here: turn it
    >>> roll = s.body("roll", da.cylinder(0.4, 0.1, mass=2.0))
    >>> _ = s.connect("free", da.Free(), s.ground, roll)
    >>> floor = s.ground.at(0, 0, 0, rotation=da.bryant(-1.5707963267948966, 0, 0))
    >>> _ = s.connect("floor", da.CylinderPlaneContact(0.4, 0.1, 1e5, dissipation=1.0, friction=0.3), floor, roll)
    >>> s.initial("free", position=(1, 0, 0, 0, 0, 0.1, 0))
    >>> round(float(da.simulate(s, 2.0)["roll.position.y"][-1]), 6)  # weight over stiffness deeper
    0.099804
    """

    def __init__(
        self,
        length: float,
        radius: float,
        stiffness: float,
        *,
        dissipation: float = 0.0,
        exponent: float = 1.0,
        friction: float = 0.0,
        slip_speed: float | None = None,
        tangential_stiffness: float | None = None,
        restitution: float | None = None,
        at_speed: float = 1.0,
    ) -> None:
        dissipation = contact_dissipation(self.kind, dissipation, restitution, at_speed)
        numbers = _numbers(self.kind, stiffness, dissipation, exponent, friction, slip_speed, tangential_stiffness)
        numbers |= positive(self.kind, length=length, radius=radius)
        parts = {
            **marker_axis("z"),
            # from the axis to the lowest line: radius times (a_z a - e_z)/sin(tilt)
            "level": "sqrt(max(1 - az*az, 0) + 1e-6)",
            "bx": "radius*az*ax/level",
            "by": "radius*az*ay/level",
            "bz": "radius*(az*az - 1)/level",
        }
        force, moment, stored = ["0"] * 3, ["0"] * 3, "0"
        states: dict[str, tuple[float, str]] = {}
        for k, (place, share) in enumerate(((-0.5, "1/6"), (0.0, "2/3"), (0.5, "1/6"))):
            lever = {i: f"l{i}{k}" for i in "xyz"}
            parts |= {lever[i]: f"b{i} + {place!r}*length*a{i}" for i in "xyz"}
            parts |= {
                f"ux{k}": f"vx + wy*{lever['z']} - wz*{lever['y']}",
                f"uy{k}": f"vy + wz*{lever['x']} - wx*{lever['z']}",
                f"rate{k}": f"-(vz + wx*{lever['y']} - wy*{lever['x']})",
                f"d{k}": f"max(radius*level - z - {place!r}*length*az, 0)",
                f"push{k}": f"{share}*stiffness*d{k}**exponent*max(1 + 1.5*dissipation*rate{k}, 0)",
            }
            rub = _friction(numbers, (f"ux{k}", f"uy{k}"), str(k), share)
            parts |= rub.definitions
            states |= rub.states
            stored += rub.energy
            on = dict(zip("xyz", (*rub.force, f"push{k}"), strict=True))
            force = [f"{sum_} + {on[i]}" for sum_, i in zip(force, "xyz", strict=True)]
            turned = (("y", "z"), ("z", "x"), ("x", "y"))
            moment = [
                f"{sum_} + {lever[i]}*{on[j]} - {lever[j]}*{on[i]}" for sum_, (i, j) in zip(moment, turned, strict=True)
            ]
            stored += f" + {share}*stiffness*d{k}**(exponent + 1)/(exponent + 1)"
        super().__init__("pose", (*force, *moment), numbers, energy=stored, definitions=parts, states=states)


class SphereSphereContact(Element):
    """Contact of two spheres about the origins of two markers.

    Parameters
    ----------
    radius_1, radius_2 : float, m
        Of the spheres at the first and at the second marker.
    stiffness : float, N/m^exponent
    dissipation : float, s/m
    restitution, at_speed : float, 1 and m/s
        In place of the dissipation: coefficient of restitution at this speed of approach, exactly.
    exponent : float
        3/2 of Hertz.
    friction : float
        Coefficient of friction; it acts on the line of the centres, half the depth below both surfaces.
    slip_speed : float, m/s
        Of friction that creeps, in place of bristles.
    tangential_stiffness : float, N/m
        Of bristles.

    See `connections.elements.contacts` for the law.
    """

    def __init__(
        self,
        radius_1: float,
        radius_2: float,
        stiffness: float,
        *,
        dissipation: float = 0.0,
        exponent: float = 1.5,
        friction: float = 0.0,
        slip_speed: float | None = None,
        tangential_stiffness: float | None = None,
        restitution: float | None = None,
        at_speed: float = 1.0,
    ) -> None:
        dissipation = contact_dissipation(self.kind, dissipation, restitution, at_speed)
        numbers = _numbers(self.kind, stiffness, dissipation, exponent, friction, slip_speed, tangential_stiffness)
        numbers |= positive(self.kind, radius_1=radius_1, radius_2=radius_2)
        parts = {
            "s": "sqrt(max(x*x + y*y + z*z, 1e-30))",
            "nx": "x/s",
            "ny": "y/s",
            "nz": "z/s",
            "rate": "-(nx*vx + ny*vy + nz*vz)",
            "d": "max(radius_1 + radius_2 - s, 0)",
            "push": _PUSH,
            # from the second centre to the point of contact: -arm n
            "arm": "radius_2 - d/2",
            "ux": "vx + rate*nx - arm*(wy*nz - wz*ny)",
            "uy": "vy + rate*ny - arm*(wz*nx - wx*nz)",
            "uz": "vz + rate*nz - arm*(wx*ny - wy*nx)",
            "cx": "(vx + rate*nx)/s",  # the rate of the normal
            "cy": "(vy + rate*ny)/s",
            "cz": "(vz + rate*nz)/s",
        }
        rub = _friction(numbers, ("ux", "uy", "uz"), normal=("nx", "ny", "nz"), turn=("cx", "cy", "cz"))
        fx, fy, fz = rub.force
        super().__init__(
            "pose",
            (
                *(f"push*n{i} + {f}" for i, f in zip("xyz", rub.force, strict=True)),
                f"-arm*(ny*{fz} - nz*{fy})",
                f"-arm*(nz*{fx} - nx*{fz})",
                f"-arm*(nx*{fy} - ny*{fx})",
            ),
            numbers,
            energy=f"{_STORED}{rub.energy}",
            definitions=parts | rub.definitions,
            states=rub.states,
        )


def contact_dissipation(item: str, dissipation: float, restitution: float | None, at_speed: float) -> float:
    """Return the dissipation, s/m, of a contact that is given by it or by its restitution."""
    speed = positive(item, at_speed=at_speed)["at_speed"]
    if restitution is None:
        return dissipation
    e = not_negative(item, restitution=restitution)["restitution"]
    if dissipation:
        raise ModelError(item, "restitution", e, "give either the dissipation or the restitution")
    if not LEAST_RESTITUTION <= e <= 1.0:
        raise ModelError(item, "restitution", e, f"it lies between {LEAST_RESTITUTION} and 1 in compliant contact")
    return dissipation_at(e, speed) / 1.5


def _numbers(
    item: str,
    stiffness: float,
    dissipation: float,
    exponent: float,
    friction: float,
    slip_speed: float | None,
    tangential: float | None,
) -> dict[str, float]:
    """Return the parameters of a contact; those of bristles among them if friction has bristles."""
    if slip_speed is not None and tangential is not None:
        remedy = "friction with a slip_speed has no bristles: give one of both"
        raise ModelError(item, "tangential_stiffness", tangential, remedy)
    numbers = (
        positive(item, stiffness=stiffness)
        | not_negative(item, dissipation=dissipation, friction=friction)
        | at_least_one(item, exponent=exponent)
    )
    rubs = bool(numbers["friction"]) or tangential is not None
    if slip_speed is not None or not rubs:
        return numbers | positive(item, slip_speed=1e-3 if slip_speed is None else slip_speed)
    if tangential is None:
        n = numbers["exponent"]
        tangential = _MINDLIN * n * numbers["stiffness"] * _DEPTH ** (n - 1.0)
    return numbers | positive(item, tangential_stiffness=tangential)


def _friction(
    numbers: dict[str, float],
    velocity: tuple[str, ...],
    number: str = "",
    share: str = "1",
    normal: tuple[str, ...] = (),
    turn: tuple[str, ...] = (),
) -> Bristle:
    """Return the friction of one point of contact, by bristles or regularised."""
    if "slip_speed" in numbers:
        return regularized(velocity, number)
    return Bristle.of_point(velocity, number, share, normal, turn)


CONTACTS = (PointPlaneContact, SpherePlaneContact, CylinderPlaneContact, SphereSphereContact)


def contact_depth(contact: Element, energy: float) -> float:
    """Return the depth, m, at which a contact stores an energy, J; for a tilted cylinder that of a flat one."""
    power = contact.parameters["exponent"] + 1.0
    return (power * max(energy, 0.0) / contact.parameters["stiffness"]) ** (1.0 / power)
