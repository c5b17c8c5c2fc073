"""How much work forward dynamics is: the operation counts of Jain and Rodriguez (1990), chapter 8.

Two ways to accelerations: the mass matrix from composite bodies, solved as a dense system, and the articulated-body
recursion. The counts are those of the source for hinges with one freedom and bodies in the middle of a chain whose
inertia does not follow the deformation; bodies at the ends cost less, so they are upper bounds, and a measure of growth
rather than of time. Errata: additions for the composite inertia have n^2 / 2 where n^2 is printed (odd n would give
halves); table 1 has 19591 for 19959 multiplications at 9 bodies of 5 modes; the velocity stage, n^2 + 24 n + 100 and
n^2 + 20 n + 59, is in the table and not among the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ..compile.flexible import modes_of
from ..model import as_model

if TYPE_CHECKING:
    from ..model import Model
    from ..system import System

__all__ = ["Count", "Flops", "articulated_count", "composite_count", "crossover", "flops"]

_EXPLICIT = 7  # up to this many modes their block is inverted directly


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


@dataclass(frozen=True)
class Flops:
    """Operation counts of one evaluation of forward dynamics.

    Attributes
    ----------
    composite, articulated : Count
        By the mass matrix of composite bodies, and by the articulated-body recursion, which is what the kernels do.
    bodies, modes, freedoms : int
    """

    composite: Count
    articulated: Count
    bodies: int
    modes: int
    freedoms: int

    @property
    def ratio(self) -> float:
        """Composite over articulated count: above 1 the recursion is less work."""
        return self.composite.total / self.articulated.total

    def __str__(self) -> str:
        lines = [f"{self.bodies} bodies, {self.modes} modes, {self.freedoms} freedoms"]
        for name in ("articulated", "composite"):
            m, a = getattr(self, name)
            lines.append(f"{name:11} {m:12.0f} multiplications {a:12.0f} additions")
        return "\n".join([*lines, f"composite / articulated: {self.ratio:.2f}"])


def composite_count(modes: list[int], hinge_freedoms: list[int], depths: list[int]) -> Count:
    """Return the count of the composite-body way, section 8.1.

    Parameters
    ----------
    modes, hinge_freedoms : of each body
    depths : of each body, the number of bodies from ground to it, itself included
    """
    count = Count(0.0, 0.0)
    for n, depth in zip(modes, depths, strict=True):
        count = count.plus(Count(48 * n + 90, n * n / 2 + 97 * n / 2 + 116))
        count = count.plus(Count(12 * n * n + 34 * n + 13, 11 * n * n + 24 * n + 13), depth)
        count = count.plus(Count(2 * n * n + 54 * n + 206, 2 * n * n + 50 * n + 143))
    N = sum(modes) + sum(hinge_freedoms)
    solve = Count(N**3 / 6 + 3 * N * N / 2 - 2 * N / 3, N**3 / 6 + N * N - 7 * N / 6)
    return count.plus(solve).plus(Count(0.0, N))


def articulated_count(modes: list[int]) -> Count:
    """Return the count of the articulated-body way, section 8.2 with the velocity stage of table 1."""
    count = Count(0.0, 0.0)
    for n in modes:
        if n <= _EXPLICIT:
            m, a = 5 * n**3 / 6 + 25 * n * n / 2 + 764 * n / 3 + 180, 5 * n**3 / 6 + 21 * n * n / 2 + 548 * n / 3 + 164
        else:
            m, a = 12 * n * n + 255 * n + 572, 13 * n * n + 182 * n + 445
        count = count.plus(Count(m, a))
        count = count.plus(Count(n * n + 25 * n + 49, n * n + 24 * n + 50))
        count = count.plus(Count(18 * n + 52, 19 * n + 42))
        count = count.plus(Count(n * n + 24 * n + 100, n * n + 20 * n + 59))
    return count


def crossover(modes: int) -> int:
    """Return the number of bodies of a chain, with so many modes each, from which the recursion is less work."""
    bodies = 1
    while True:
        chain = [modes] * bodies
        composite = composite_count(chain, [1] * bodies, list(range(1, bodies + 1)))
        if articulated_count(chain).total < composite.total:
            return bodies
        bodies += 1


def flops(system: System | Model) -> Flops:
    """Return the operation counts of forward dynamics for a system's tree.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library import chain
    >>> count = da.flops(chain(12))
    >>> count.bodies, count.ratio > 1.0
    (12, True)
    """
    forest = as_model(system).forest
    modes = [modes_of(forest.system.bodies[name]) for name in forest.bodies[1:]]
    hinges = [hinge.element.nv for hinge in forest.hinges]
    depths = [len(forest.path(k)) for k in range(1, forest.nb + 1)]
    freedoms = sum(modes) + sum(hinges)
    return Flops(composite_count(modes, hinges, depths), articulated_count(modes), forest.nb, sum(modes), freedoms)
