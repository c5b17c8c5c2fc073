"""Row of coupled four-bars, problem A02 of the IFToMM library of computational benchmarks."""

from __future__ import annotations

from ..bodies import rod
from ..checks import checked
from ..connections.joints import Revolute
from ..system import System

__all__ = ["windows"]


@checked("n")
def windows(n: int) -> System:
    """Return `n` square windows of rods in the xy-plane: n + 1 pivoted upright rods, n level rods between their tops.

    Rods are 1 m and 1 kg, gravity is 9.81 m/s2 along -y. All coordinates zero is the upright
    position, closed. The mechanism has one degree of freedom, and n more each time the cranks lie level.

    Joints: ``"A0"`` ... ``"An"`` at the ground, ``"B0"`` ... at the left and ``"C0"`` ... at the right end of the
    level rods, all about z.

    Examples
    --------
    >>> model = windows(2).compile()
    >>> model.nv, model.nc
    (5, 10)
    """
    system = System(f"{n} windows", gravity=(0.0, -9.81, 0.0))
    uprights = [system.body(f"upright{k}", rod(1.0, 1.0, "y")) for k in range(n + 1)]
    levels = [system.body(f"level{k}", rod(1.0, 1.0, "x")) for k in range(n)]
    for k, body in enumerate(uprights):
        system.connect(f"A{k}", Revolute("z"), system.ground.at(k), body)
    for k, body in enumerate(levels):
        system.connect(f"B{k}", Revolute("z"), uprights[k].at(0.0, 1.0), body)
    for k, body in enumerate(levels):
        system.connect(f"C{k}", Revolute("z"), body.at(1.0), uprights[k + 1].at(0.0, 1.0))
    return system
