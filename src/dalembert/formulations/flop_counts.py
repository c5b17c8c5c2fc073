"""Operation counts of forward dynamics: Jain and Rodriguez (1990), chapter 8, and the kernels.

Two methods: the composite-body mass matrix, solved as a dense system, and the articulated-body recursion. The counts of
the source are for joints with one degree of freedom and bodies whose inertia does not depend on the deformation.
Errata: additions for the composite inertia have n^2 / 2 where n^2 is printed (odd n would give halves); table 1 has
19591 for 19959 multiplications at 9 bodies of 5 modes; the velocity stage, n^2 + 24 n + 100 and n^2 + 20 n + 59, is in
the table and not among the formulas; nor are the savings at the ends of a chain. All nine entries of the table are N
times a body in the middle, less

    (7.10) once, since what the tip carries is constant, and 30 n + 125 multiplications, 31 n + 86 additions   (1)

which is how ends are counted here; for a tree, (7.10) once for each tip, and the rest once.

The kernels use the inertia of the deformed body, low-rank elimination of modes where it is cheaper
(core/flexible/low_rank_modes.hpp), and body axes. `kernel` counts the loops over modes of core/flexible and 400
multiplications and additions each for the 6 by 6 operations of a body and its joint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ..answer import Answer
from ..compile.body_layout import modes_of
from ..model import as_model

if TYPE_CHECKING:
    from ..model import Model
    from ..system import System

__all__ = [
    "Count",
    "OperationCounts",
    "articulated_count",
    "composite_count",
    "crossover",
    "kernel_count",
    "operation_counts",
]

MAX_EXPLICIT_MODES = 7  # modes up to which their block is inverted directly


class Count(NamedTuple):
    """Numbers of multiplications and additions."""

    multiplications: float
    additions: float

    @property
    def total(self) -> float:
        """Sum of both."""
        return self.multiplications + self.additions

    def plus(self, other: Count, times: float = 1.0) -> Count:
        """Return the sum with a multiple of another count."""
        m, a = other
        return Count(self.multiplications + times * m, self.additions + times * a)


@dataclass(frozen=True, repr=False)
class OperationCounts(Answer):
    """Operation counts of one evaluation of forward dynamics.

    Attributes
    ----------
    composite, articulated : Count
        Counts of the source: composite-body mass matrix, and articulated-body recursion.
    kernel : Count
        Count of the recursion in the kernels.
    bodies, modes, dofs : int
    """

    composite: Count
    articulated: Count
    kernel: Count
    bodies: int
    modes: int
    dofs: int

    @property
    def ratio(self) -> float:
        """Ratio of composite to articulated count; above 1 the recursion is cheaper."""
        return self.composite.total / self.articulated.total

    def _headline(self) -> str:
        counts = (f"{name} {getattr(self, name).total:.0f}" for name in ("articulated", "composite", "kernel"))
        return f"{self.dofs} dof, {', '.join(counts)} operations"

    def __str__(self) -> str:
        lines = [f"{self.bodies} bodies, {self.modes} modes, {self.dofs} degrees of freedom"]
        for name in ("articulated", "composite", "kernel"):
            m, a = getattr(self, name)
            lines.append(f"{name:11} {m:12.0f} multiplications {a:12.0f} additions")
        return "\n".join([*lines, f"composite / articulated: {self.ratio:.2f}"])


def composite_count(modes: list[int], joint_dofs: list[int], depths: list[int]) -> Count:
    """Return the count of the composite-body method, section 8.1.

    Parameters
    ----------
    modes, joint_dofs : of each body
    depths : of each body, the number of bodies from ground to it, itself included
    """
    count = Count(0.0, 0.0)
    for n, depth in zip(modes, depths, strict=True):
        count = count.plus(Count(48 * n + 90, n * n / 2 + 97 * n / 2 + 116))
        count = count.plus(Count(12 * n * n + 34 * n + 13, 11 * n * n + 24 * n + 13), depth)
        count = count.plus(Count(2 * n * n + 54 * n + 206, 2 * n * n + 50 * n + 143))
    N = sum(modes) + sum(joint_dofs)
    solve = Count(N**3 / 6 + 3 * N * N / 2 - 2 * N / 3, N**3 / 6 + N * N - 7 * N / 6)
    return count.plus(solve).plus(Count(0.0, N))


def articulated_count(modes: list[int], tips: list[int] | None = None) -> Count:
    """Return the count of the articulated-body method, section 8.2 with the velocity stage of table 1, ends by (1).

    Parameters
    ----------
    modes : of each body, from the base of a chain to its tip
    tips : indices of the bodies without children; default the last
    """
    count = Count(0.0, 0.0)
    for n in modes:
        count = count.plus(_elimination(n))
        count = count.plus(Count(n * n + 25 * n + 49, n * n + 24 * n + 50))
        count = count.plus(Count(18 * n + 52, 19 * n + 42))
        count = count.plus(Count(n * n + 24 * n + 100, n * n + 20 * n + 59))
    if not modes:
        return count
    for tip in [len(modes) - 1] if tips is None else tips:
        count = count.plus(_elimination(modes[tip]), -1.0)
    return count.plus(Count(30 * modes[0] + 125, 31 * modes[0] + 86), -1.0)


def _elimination(n: int) -> Count:
    """Return the count of (7.10) for a body of n modes."""
    if n <= MAX_EXPLICIT_MODES:
        return Count(
            5 * n**3 / 6 + 25 * n * n / 2 + 764 * n / 3 + 180, 5 * n**3 / 6 + 21 * n * n / 2 + 548 * n / 3 + 164
        )
    return Count(12 * n * n + 255 * n + 572, 13 * n * n + 182 * n + 445)


def kernel_count(modes: list[int], children: list[int], *, second: bool = False, ruthless: bool = False) -> Count:
    """Return the count of the loops over modes in the kernels, for bodies clamped at their joint.

    Parameters
    ----------
    modes, children : of each body, number of modes and of bodies attached to its nodes
    second, ruthless : bool
        With geometric stiffening; with the inertia of the undeformed body.
    """
    total = 0.0
    for n, c in zip(modes, children, strict=True):
        total += 400.0
        if not n:
            continue
        inertia = 0 if ruthless else (9 + 3 * second) + (14 + 3 * second)  # J2, F1, E1: modal_inertia, modal_bias
        r = 6 * c
        if r and 4 * r < n and r <= 30:
            factor = float(n * (2 * r * r + 20 * r) + 4 * n * r)
        else:
            factor = n**3 / 6 + n * n * (3 * c + 3) + n * n
        total += (inertia + 2) * n * n + factor + n * (60 + 70 * c)
    return Count(total, total)


def crossover(modes: int) -> int:
    """Return the number of bodies of a chain from which on the recursion is cheaper, for a number of modes each.

    Every body counts as one in the middle in both methods: the formulas of the composite-body method have no savings at
    the ends.
    """
    middle = articulated_count([modes] * 2).plus(articulated_count([modes]), -1.0)
    bodies = 1
    while True:
        composite = composite_count([modes] * bodies, [1] * bodies, list(range(1, bodies + 1)))
        if bodies * middle.total < composite.total:
            return bodies
        bodies += 1


def operation_counts(system: System | Model) -> OperationCounts:
    """Return the operation counts of forward dynamics for a system's tree.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library import chain
    >>> count = da.operation_counts(chain(12))
    >>> count.bodies, count.ratio > 1.0
    (12, True)
    """
    forest = as_model(system).forest
    modes = [modes_of(forest.system.bodies[name]) for name in forest.bodies[1:]]
    joints = [joint.element.nv for joint in forest.joints]
    depths = [len(forest.path(k)) for k in range(1, forest.nb + 1)]
    dofs = sum(modes) + sum(joints)
    children = [0] * forest.nb
    for parent in forest.parent:
        if parent:
            children[int(parent) - 1] += 1
    tips = [k for k, count in enumerate(children) if not count]
    bodies = [forest.system.bodies[name].flexible for name in forest.bodies[1:]]
    second = any(body is not None and body.stiffening is not None for body in bodies)
    ruthless = all(body is None or body.order == "ruthless" for body in bodies)
    return OperationCounts(
        composite_count(modes, joints, depths),
        articulated_count(modes, tips),
        kernel_count(modes, children, second=second, ruthless=ruthless),
        forest.nb,
        sum(modes),
        dofs,
    )
