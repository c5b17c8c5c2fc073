"""Compliant contacts: a point or a sphere on a plane, and two spheres, with damping and friction.

The push is that of Hunt and Crossley: with the depth d and its rate d'

    N = stiffness d^exponent (1 + 3/2 dissipation d'),   never below zero

so that it neither jumps at the touch nor pulls at the release. For an approach at a speed v that is not too high the
coefficient of restitution is about 1 - dissipation v. It stores stiffness d^(exponent + 1) / (exponent + 1).

Friction, if wanted, is friction * N against the sliding velocity u at the point of contact, regularised by
u / sqrt(|u|^2 + slip_speed^2): below the slip speed it creeps.

Sources: K. H. Hunt, F. R. E. Crossley, J. Appl. Mech. 42 (1975) 440-445; H. Hertz, J. reine angew. Math. 92 (1882)
156-171: exponent 3/2 and stiffness 4/3 E sqrt(R) with 1/R = 1/r1 + 1/r2 and 1/E = (1 - nu1^2)/E1 + (1 - nu2^2)/E2.
"""

from __future__ import annotations

from .checked import at_least_one, not_negative, positive
from .elements import Element

__all__ = ["PointPlaneContact", "SpherePlaneContact", "SphereSphereContact"]

_PUSH = "stiffness*d**exponent*max(1 + 1.5*dissipation*rate, 0)"
_STORED = "stiffness*d**(exponent + 1)/(exponent + 1)"


class PointPlaneContact(Element):
    """A point, the origin of the second marker, on the plane z = 0 of the first; free where z > 0.

    Parameters
    ----------
    stiffness : float, N/m^exponent
    dissipation : float, s/m
        The coefficient of restitution is about 1 - dissipation * speed of approach.
    exponent : float
        1 or more.
    friction : float
        Coefficient of friction.
    slip_speed : float, m/s

    See `connections.contact` for the law.

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
        slip_speed: float = 1e-3,
    ) -> None:
        numbers = _numbers(self.kind, stiffness, dissipation, exponent, friction, slip_speed)
        parts = {
            "d": "max(-z, 0)",
            "rate": "-vz",
            "push": _PUSH,
            "drag": "friction*push/sqrt(vx*vx + vy*vy + slip_speed*slip_speed)",
        }
        super().__init__("place", ("-drag*vx", "-drag*vy", "push"), numbers, energy=_STORED, definitions=parts)


class SpherePlaneContact(Element):
    """A sphere about the origin of the second marker on the plane z = 0 of the first; free where z > radius.

    Parameters
    ----------
    radius : float, m
    stiffness : float, N/m^exponent
        4/3 E sqrt(radius) of Hertz.
    dissipation : float, s/m
        The coefficient of restitution is about 1 - dissipation * speed of approach.
    exponent : float
        3/2 of Hertz.
    friction : float
        Coefficient of friction; it acts where the plane is, below the centre of the sphere, so that it makes it roll.
    slip_speed : float, m/s

    See `connections.contact` for the law.
    """

    def __init__(
        self,
        radius: float,
        stiffness: float,
        *,
        dissipation: float = 0.0,
        exponent: float = 1.5,
        friction: float = 0.0,
        slip_speed: float = 1e-3,
    ) -> None:
        numbers = _numbers(self.kind, stiffness, dissipation, exponent, friction, slip_speed)
        numbers |= positive(self.kind, radius=radius)
        parts = {
            "d": "max(radius - z, 0)",
            "rate": "-vz",
            "push": _PUSH,
            "ux": "vx - z*wy",
            "uy": "vy + z*wx",
            "drag": "friction*push/sqrt(ux*ux + uy*uy + slip_speed*slip_speed)",
        }
        force = ("-drag*ux", "-drag*uy", "push", "-z*drag*uy", "z*drag*ux", 0.0)
        super().__init__("pose", force, numbers, energy=_STORED, definitions=parts)


class SphereSphereContact(Element):
    """Two spheres about the origins of two markers.

    Parameters
    ----------
    radius_1, radius_2 : float, m
        Of the spheres at the first and at the second marker.
    stiffness : float, N/m^exponent
    dissipation : float, s/m
        The coefficient of restitution is about 1 - dissipation * speed of approach.
    exponent : float
        3/2 of Hertz.
    friction : float
        Coefficient of friction; it acts on the line of the centres, half the depth below both surfaces.
    slip_speed : float, m/s

    See `connections.contact` for the law.
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
        slip_speed: float = 1e-3,
    ) -> None:
        numbers = _numbers(self.kind, stiffness, dissipation, exponent, friction, slip_speed)
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
            "drag": "friction*push/sqrt(ux*ux + uy*uy + uz*uz + slip_speed*slip_speed)",
        }
        force = tuple(f"push*n{i} - drag*u{i}" for i in "xyz")
        moment = ("arm*drag*(ny*uz - nz*uy)", "arm*drag*(nz*ux - nx*uz)", "arm*drag*(nx*uy - ny*ux)")
        super().__init__("pose", (*force, *moment), numbers, energy=_STORED, definitions=parts)


def _numbers(
    item: str, stiffness: float, dissipation: float, exponent: float, friction: float, slip_speed: float
) -> dict[str, float]:
    return (
        positive(item, stiffness=stiffness, slip_speed=slip_speed)
        | not_negative(item, dissipation=dissipation, friction=friction)
        | at_least_one(item, exponent=exponent)
    )
