"""Multistart search for all equilibria of a system."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..answer import Answer, count_text
from ..arrays import Array
from ..checks import finite_number
from ..closure.loop_equations import LoopEquations
from ..closure.loop_solver import LoopSolver
from ..errors import DalembertError, ModelError
from .equilibrium_result import Equilibrium
from .request import EquilibriumRequest

if TYPE_CHECKING:
    import xarray

__all__ = ["Equilibria", "find_all_equilibria"]


MIN_STARTS = 40  # starts before the search may end
MAX_IDLE_STARTS = 30  # starts in a row without a new equilibrium that end the search
DUPLICATE_TOL = 1e-5  # rad or lengths: closer equilibria are the same


class Equilibria(Answer, list[Equilibrium]):
    """Several equilibria of one system, sorted by energy; `print` shows a table.

    Attributes
    ----------
    starts : int
        Number of starts used; more equilibria may exist.
    """

    def __init__(self, found: list[Equilibrium], starts: int) -> None:
        super().__init__(found)
        self.starts = starts

    @property
    def success(self) -> bool:
        """Whether any equilibrium was found."""
        return len(self) > 0

    def _subject(self) -> str:
        return str(self[0].model.system.name) if len(self) else ""

    def _headline(self) -> str:
        stable = sum(bool(eq.stable) for eq in self)
        count = count_text(len(self), "equilibrium", "equilibria")
        return f"{count}, {stable} stable, found from {count_text(self.starts, 'start')}"

    def to_xarray(self) -> xarray.Dataset:
        """Return an xarray Dataset over the equilibria: coordinates, energies, residuals, stability."""
        import xarray

        names = list(self[0].model.coordinate_names) if len(self) else []
        data = {
            "q": (("equilibrium", "coordinate"), np.array([eq.q for eq in self]).reshape(len(self), len(names))),
            "energy": ("equilibrium", [eq.energy for eq in self], {"units": "J"}),
            "residual": ("equilibrium", [eq.residual for eq in self]),
            "stable": ("equilibrium", [bool(eq.stable) for eq in self]),
        }
        return xarray.Dataset(data, {"coordinate": names}, {"title": self._subject(), "message": self.message})

    def __str__(self) -> str:
        lines = [self._headline()]
        for number, eq in enumerate(self):
            values = ", ".join(f"{name} {value:.4g}" for name, (value, _, _) in eq._coordinates()[:6])
            more = ", ..." * (len(eq._coordinates()) > 6)
            lines.append(f"  {number}: {eq.stable.verdict:8}  energy {eq.energy:.6g} J  {values}{more}")
        return "\n".join(lines)


def find_all_equilibria(
    request: EquilibriumRequest, solve: Callable[..., Equilibrium], count: int | None = None
) -> Equilibria:
    """Find equilibria by descent and by Newton's method from many starts, until no new ones are found.

    `solve` finds one equilibrium of a request, with the options `friction` and `nearest`.
    """
    if count is not None and (finite_number(count, item="equilibrium", field="count") < 1 or count != int(count)):
        raise ModelError("equilibrium", "count", count, "give a whole number from 1 on")
    random, found = np.random.default_rng(0), list[Equilibrium]()
    closed, idle, starts = request.balance.closed, 0, 0
    limit = np.inf if count is None else count
    while len(found) < limit and (starts < MIN_STARTS or idle < MAX_IDLE_STARTS) and starts < 2000:
        q = request.q if not starts else _random_start(request, random)
        starts += 1
        idle += 1
        if q is None:
            continue
        for nearest in (False, True):
            if not nearest and request.trims:
                continue
            try:
                eq = solve(replace(request, q=q, notes=list(request.notes)), friction="off", nearest=nearest)
            except DalembertError:
                continue
            beyond = any(not m.lower - 1e-9 <= float(m.values(eq.q)) <= m.upper + 1e-9 for m in request.stops)
            if beyond or any(_same(request, closed.difference(eq.q, other.q), eq, other) for other in found):
                continue
            found.append(eq)
            idle = 0
    if request.rows.has_friction.any():
        for eq in found:
            eq.notes.append("friction of joints was ignored")
    return Equilibria(sorted(found, key=lambda eq: eq.energy)[: None if count is None else int(count)], starts)


def _same(request: EquilibriumRequest, away: Array, one: Equilibrium, two: Equilibrium) -> bool:
    """Return whether two equilibria are equal up to motions without stiffness."""
    loose = [request.model.speed_names.index(name) for name in one.free if name in request.model.speed_names]
    away = away.copy()
    away[loose] = 0.0
    numbers = np.array([one.unknown[name] - two.unknown[name] for name in one.unknown])
    size = 1.0 + np.abs(np.array(list(one.unknown.values())))
    return bool(np.abs(away).max(initial=0.0) < DUPLICATE_TOL and (np.abs(numbers) < DUPLICATE_TOL * size).all())


def _random_start(request: EquilibriumRequest, random: np.random.Generator) -> Array | None:
    """Return a random closed configuration within stops; None if its loops do not close."""
    model, balance = request.model, request.balance
    closure = LoopSolver(LoopEquations.of(model, t=balance.t), max_iterations=60)
    q = closure.perturbed(request.q, balance.fixed, np.pi, random)
    for name in model.flexible_names:
        q[model.q_slice(name)] = request.q[model.q_slice(name)]
    for m in request.stops:
        if m.column >= 0:
            low, high = max(m.lower, q[m.place] - np.pi * m.scale), min(m.upper, q[m.place] + np.pi * m.scale)
            q[m.place] = random.uniform(low, high) if low < high else np.clip(q[m.place], m.lower, m.upper)
    if model.nc:
        outcome = closure.iterate(q, ~balance.fixed)
        if not outcome.closed:
            return None
        q = closure.unwrap_angles(outcome.q, request.q, balance.fixed)
    found = balance.retracted(q)
    inside = found is not None and all(m.lower <= float(m.values(found)) <= m.upper for m in request.stops)
    return found if inside else None
