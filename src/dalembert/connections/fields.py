"""Fields and media: drag, and attraction with the inverse square of a distance."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ..rotation import finite_array
from .checked import finite, not_negative
from .elements import Element

__all__ = ["Drag", "InverseSquare"]


class Drag(Element):
    """Drag of a marker in a fluid that is at rest, or streams, as seen from the first marker (ground, as a rule).

    Parameters
    ----------
    linear : float, N s/m
        6 pi mu r of a sphere at small Reynolds numbers (Stokes).
    quadratic : float, N s^2/m^2
        c_d rho A / 2 at large ones (Newton).
    stream : (3,) m/s
        Velocity of the fluid, axes of the first marker.

    The force on the second marker is -(linear + quadratic |w|) w, with w its velocity less that of the fluid. In a
    stream the fluid may bring energy; it then counts as work from outside. Parameters: linear, quadratic, ux, uy, uz.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("parachute")
    >>> jumper = s.body("jumper", mass=80.0, inertia=(10, 10, 2))
    >>> _ = s.connect("fall", da.Prismatic("z"), s.ground, jumper)
    >>> _ = s.connect("drag", da.Drag(quadratic=31.4), s.ground, jumper)
    >>> round(float(da.simulate(s, 20.0)["fall.speed"][-1]), 3)
    -4.999
    """

    def __init__(self, linear: float = 0.0, quadratic: float = 0.0, *, stream: ArrayLike = (0, 0, 0)) -> None:
        item = self.kind
        numbers = not_negative(item, linear=linear, quadratic=quadratic)
        u = finite_array(stream, (3,), item=item, field="stream")
        numbers |= dict(zip(("ux", "uy", "uz"), u.tolist(), strict=True))
        parts = {f"w{i}": f"v{i} - u{i}" for i in "xyz"}
        # below 1e-15 m/s the speed has no direction, and no slope
        parts["factor"] = "linear + quadratic*sqrt(max(wx*wx + wy*wy + wz*wz, 1e-30))"
        force = tuple(f"-factor*w{i}" for i in "xyz")
        super().__init__("place", force, numbers, definitions=parts, active=bool(u.any()))


class InverseSquare(Element):
    """Attraction of two markers with the inverse square of their distance: gravitation, or electric charges.

    Parameters
    ----------
    strength : float, N m^2
        G m1 m2 of masses (Newton); negative if they repel: -q1 q2 / (4 pi eps0) of charges (Coulomb).
    softening : float, m
        e: the energy is -strength / sqrt(s^2 + e^2), finite where the markers meet.

    The force along the line is -strength s / (s^2 + e^2)^(3/2).
    """

    def __init__(self, strength: float, *, softening: float = 0.0) -> None:
        item = self.kind
        numbers = finite(item, strength=strength) | not_negative(item, softening=softening)
        super().__init__(
            "distance",
            "-strength*s/far**3",
            numbers,
            energy="-strength/far",
            definitions={"far": "sqrt(s*s + softening*softening)"},
        )
