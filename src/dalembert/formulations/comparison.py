"""Comparison of formulations: number of unknowns, time, agreement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..answer import Answer, count_text
from ..checks import checked
from ..model import Model, State
from ..system import System
from .kane_equations import kane
from .lagrange_equations import lagrange
from .newton_euler_equations import newton_euler
from .setting import setting

__all__ = ["ComparedFormulation", "Comparison", "compare", "deviations"]


AGREEMENT_TOL = (
    1e-6  # relative to the largest acceleration: above the errors of eighth-order differences and redundant rows
)


@dataclass(frozen=True)
class ComparedFormulation:
    """Result of one formulation in a comparison.

    Attributes
    ----------
    name : str
    unknowns : int
        Number of accelerations and multipliers solved for together.
    seconds : float
        Processor time of one evaluation.
    difference : float
        Difference of its accelerations from those of the kernels, relative to the largest.
    """

    name: str
    unknowns: int
    seconds: float
    difference: float


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Answer):
    """Comparison of formulations of one system at one state.

    Attributes
    ----------
    system : str
    rows : tuple of ComparedFormulation
    notes : tuple of str
        Formulations that differ from the kernels by more than round-off and difference errors.
    """

    system: str
    rows: tuple[ComparedFormulation, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{'formulation':14s} {'unknowns':>8s} {'time':>10s} {'difference':>10s}"]
        for row in self.rows:
            lines.append(f"{row.name:14s} {row.unknowns:8d} {row.seconds * 1e3:7.3f} ms {row.difference:10.1e}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    @property
    def success(self) -> bool:
        """Whether all formulations agree."""
        return not self.notes

    def _subject(self) -> str:
        return self.system

    def _headline(self) -> str:
        worst = max((row.difference for row in self.rows), default=0.0)
        return f"{count_text(len(self.rows), 'formulation')}, differences up to {worst:.1e}"


@checked("state")
def compare(
    system: System | Model,
    state: State | Mapping[str, Any] | None = None,
    *,
    speeds: Any = None,
    tau: ArrayLike | None = None,
    loads: ArrayLike | None = None,
) -> Comparison:
    """Compare the recursive kernels with Kane's, Newton-Euler and Lagrange's equations.

    Parameters
    ----------
    system, state, tau, loads
        As in `newton_euler`.
    speeds
        As in `kane`.

    The kernels are compiled; the others are readable Python. Compare unknowns for the cost of a method, not times.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library.mechanisms import four_bar
    >>> table = da.formulations.compare(four_bar(), {"A.speed": 3.0})
    >>> [(row.name, row.unknowns) for row in table.rows]
    [('recursive', 8), ('Kane', 1), ('Newton-Euler', 38), ('Lagrange', 8)]
    """
    here = setting(system, state, tau=tau, loads=loads)
    model, at = here.model, State(here.q, here.v, here.t, here.x)
    given: dict[str, Any] = {"tau": here.tau, "loads": here.loads}
    reference, spent = _timed(lambda: model.dynamics(here.t, here.q, here.v, here.x, **given), 20)
    scale = max(float(np.abs(reference.a).max(initial=0.0)), 1e-12)
    rows = [ComparedFormulation("recursive", model.nv + len(here.rows[0]), spent, 0.0)]

    def add(name: str, make: Callable[[], Any], unknowns: Callable[[Any], int]) -> None:
        found, seconds = _timed(make, 1)
        difference = float(np.abs(found.v_dot - reference.a).max(initial=0.0)) / scale
        rows.append(ComparedFormulation(name, unknowns(found), seconds, difference))

    add("Kane", lambda: kane(model, at, speeds=speeds, **given), lambda found: len(found.names))
    add("Newton-Euler", lambda: newton_euler(model, at, **given), lambda found: len(found.U) + len(found.lam))
    add("Lagrange", lambda: lagrange(model, at, **given), lambda found: len(found.v_dot) + len(found.lam))
    return Comparison(model.system.name, tuple(rows), tuple(deviations(rows)))


def deviations(rows: list[ComparedFormulation]) -> list[str]:
    """Return a note for each formulation that differs by more than round-off."""
    return [
        f"{row.name} differs from the kernels by {row.difference:.1e} of the largest acceleration, more than the "
        f"{AGREEMENT_TOL:.0e} expected from round-off: the state is nearly singular, or a formulation is wrong"
        for row in rows
        if not row.difference <= AGREEMENT_TOL
    ]


def _timed(make: Callable[[], Any], times: int) -> tuple[Any, float]:
    """Return the result of a function, and the processor time of one call."""
    start = process_time()
    for _ in range(times):
        found = make()
        getattr(found, "v_dot", None)
    return found, (process_time() - start) / times
