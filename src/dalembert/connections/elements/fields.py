"""Force fields and media: general fields, drag, and inverse-square attraction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from ...checks import checked, finite, finite_array, not_negative
from ...errors import ModelError
from .element import Element

__all__ = ["Drag", "Field", "InverseSquare"]


@checked("force", "moment", "parameters")
class Field(Element):
    """Force field: a force on a marker from its position, its velocity and the time.

    Parameters
    ----------
    force : three expressions, N
        Of the position x, y, z, m, the velocity vx, vy, vz, m/s, and the time t, in axes of the first marker. With the
        ground's own marker first these are axes of the world: ``s.connect("wind", field, s.ground, sail)``.
    moment : three expressions, N m
        Likewise; with a moment also of the rotation vector rx, ry, rz and the angular velocity wx, wy, wz.
    parameters : dict of str to float
    energy : expression, J
        Potential energy, of the position: force and moment include its negative gradient. Other work is dissipated and
        must resist the motion. Without an energy, all work counts as external.

    Examples
    --------
    A charge in a uniform magnetic field of 0.5 T along z, which does no work:

    >>> import dalembert as da
    >>> s = da.System("charge", gravity=(0, 0, 0))
    >>> bead = s.body("bead", mass=1.0, inertia=(1, 1, 1))
    >>> _ = s.connect("free", da.Free(), s.ground, bead)
    >>> field = da.Field(("q*vy*B", "-q*vx*B", 0), parameters={"q": 2.0, "B": 0.5}, energy=0)
    >>> _ = s.connect("field", field, s.ground, bead)
    >>> s.initial("free", speed=(0, 0, 0, 1, 0, 0))
    >>> print(da.simulate(s, 3.141592653589793)["bead.position"][-1].round(6) + 0.0)
    [ 0. -2.  0.]
    """

    def __init__(
        self,
        force: Sequence[Any],
        moment: Sequence[Any] | None = None,
        *,
        parameters: Mapping[str, float] | None = None,
        energy: Any = None,
    ) -> None:
        for field, given in (("force", force), ("moment", moment)):
            if isinstance(given, str) or (given is not None and len(given) != 3):
                raise ModelError(self.kind, field, given, "give three expressions, along x, y and z")
        measure, laws = ("place", (*force,)) if moment is None else ("pose", (*force, *moment))
        stored = 0.0 if energy is None else energy
        super().__init__(measure, laws, parameters or {}, energy=stored, active=energy is None)


class Drag(Element):
    """Drag of a marker in a fluid at rest or streaming, in axes of the first marker (usually ground).

    Parameters
    ----------
    linear : float, N s/m
        6 pi mu r of a sphere at small Reynolds numbers (Stokes).
    quadratic : float, N s^2/m^2
        c_d rho A / 2 at large ones (Newton).
    stream : (3,) m/s
        Velocity of the fluid, axes of the first marker.

    The force on the second marker is -(linear + quadratic |w|) w, with w its velocity relative to the fluid. In a
    stream the fluid may supply energy, which counts as external work. Parameters: linear, quadratic, ux, uy, uz.

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
        # below 1e-15 m/s the velocity has no direction, and no slope
        parts["factor"] = "linear + quadratic*sqrt(max(wx*wx + wy*wy + wz*wz, 1e-30))"
        force = tuple(f"-factor*w{i}" for i in "xyz")
        super().__init__("place", force, numbers, definitions=parts, active=bool(u.any()))


class InverseSquare(Element):
    """Inverse-square attraction of two markers: gravitation, or electric charges.

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
