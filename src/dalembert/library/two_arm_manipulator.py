"""Two-arm space manipulator of Passerello & Huston 1972, chapter V."""

from __future__ import annotations

from ..bodies.body import Body
from ..checks import checked, one_of
from ..connections.joints import CustomJoint, Fixed, Free, Revolute, Spherical
from ..system import System
from ..units import si

__all__ = ["POUND", "space_manipulator"]

POUND = 12.0
"""One pound-force in the units of the paper, slug in/s2: 1 lb s = 12 slug in/s."""


@checked("angles", "units")
def space_manipulator(*, angles: bool = False, units: str = "SI") -> System:
    """Return a weightless main body with two arms of two links, each carrying a disk.

    The numbers are those of the paper's Fig. 10, given there in slug and inch.

    Parameters
    ----------
    angles : bool
        Whether coordinates are the paper's angles; see below.
    units : str
        ``"SI"``: in kg and m, as everything else; ``"main.position [in]"`` then has the paper's numbers.
        ``"slug in"``: the bare numbers of the table. Outputs are then in slug and inch whatever their labels say:
        forces in slug in/s2, moments in slug in2/s2 (divide by `POUND` for lb and in lb).

    ========= ====== =============== ===================== ========================
    body      mass   mass centre     origin on its parent  inertia about mass centre
    ========= ====== =============== ===================== ========================
    main      10     (0, 0, 0)       free                  240, 240, 240
    upper_a   0.5    (0, 0, -18)     (0, 0, -6) of main    54, 54, 0
    lower_a   0.5    (0, 0, -18)     (0, 0, -36)           54, 54, 0
    disk_1    0.25   (0, 0, 0)       (0, 0, -36)           0.5, 0.5, 1
    upper_b   0.5    (0, 0, -18)     (0, 0, -6) of main    54, 54, 0
    lower_b   0.5    (0, 0, -18)     (0, 0, -36)           54, 54, 0
    disk_2    0.25   (0, 0, 0)       (0, 0, -36)           0.5, 0.5, 1
    ========= ====== =============== ===================== ========================

    Both arms hang on the same point. Shoulders are ball joints, elbows turn about y, the disks are
    fixed: 14 degrees of freedom. At the reference placement all axes are parallel and the arms point along -z.
    The links are slender, without inertia about their own axes; the disks supply it.

    With `angles`, coordinates are the paper's own, x1 to x14: the place of the main body and dextral (Bryant) angles in
    place of quaternions, ``"base.x"`` to ``"base.c"``, ``"shoulder_a.a"`` to ``"shoulder_a.c"``, and so on. They are
    singular where the second angle of a joint is a quarter turn, as in the paper's third problem.

    erratum: Fig. 10 prints a unit dyad of body 2 in the inertia of body 3.

    Examples
    --------
    >>> s = space_manipulator(units="slug in")
    >>> sum(body.mass for body in s.bodies.values())
    12.5
    >>> print(s.forest())
    ground
    └─ base: Free → main
       ├─ shoulder_a: Spherical → upper_a
       │  └─ elbow_a: Revolute → lower_a
       │     └─ grip_1: Fixed → disk_1
       └─ shoulder_b: Spherical → upper_b
          └─ elbow_b: Revolute → lower_b
             └─ grip_2: Fixed → disk_2
    """
    one_of("space_manipulator", "units", units, ("SI", "slug in"))
    mass, length = (1.0, 1.0) if units == "slug in" else (float(si(1.0, "slug")), float(si(1.0, "in")))
    inertia = mass * length**2
    system = System("space manipulator", gravity=(0.0, 0.0, 0.0))
    main = system.body("main", mass=10.0 * mass, inertia=(240.0 * inertia,) * 3)
    system.connect("base", _by_angles("x", "y", "z") if angles else Free(), system.ground, main)
    for arm, disk in (("a", 1), ("b", 2)):
        upper, lower = (_link(system, f"{which}_{arm}", mass, length) for which in ("upper", "lower"))
        plate = system.body(f"disk_{disk}", mass=0.25 * mass, inertia=(0.5 * inertia, 0.5 * inertia, inertia))
        system.connect(
            f"shoulder_{arm}", _by_angles() if angles else Spherical(), main.at(0.0, 0.0, -6.0 * length), upper
        )
        system.connect(f"elbow_{arm}", Revolute("y"), upper.at(0.0, 0.0, -36.0 * length), lower)
        system.connect(f"grip_{disk}", Fixed(), lower.at(0.0, 0.0, -36.0 * length), plate)
    return system


def _by_angles(*place: str) -> CustomJoint:
    """Return a ball joint, or a free one, by three dextral angles."""
    turns = [("x", "a"), ("y", "b"), ("z", "c")]
    return CustomJoint((*place, "a", "b", "c"), position=place or None, rotation=turns)


def _link(system: System, name: str, mass: float, length: float) -> Body:
    inertia = 54.0 * mass * length**2
    return system.body(name, mass=0.5 * mass, com=(0.0, 0.0, -18.0 * length), inertia=(inertia, inertia, 0.0))
