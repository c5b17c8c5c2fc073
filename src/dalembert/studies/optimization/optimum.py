"""Result of a design optimization."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...answer import Answer, list_text
from ...arrays import Array
from ...errors import GradientError, ModelError
from ...model import Model
from .design_variables import Variables
from .evaluator import EvaluationRecord, Evaluator
from .objectives import Goal

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes

__all__ = ["FEASIBLE_TOL", "Optimum", "Trial"]


FEASIBLE_TOL = 1e-6  # relative violation below which a constraint counts as satisfied


@dataclass(frozen=True, eq=False)
class Trial:
    """Result of one search from one start.

    Attributes
    ----------
    start, x : (n,)
        Start and end of the search.
    objective : float
        NaN if the search failed.
    violation : float
        Largest constraint violation there, relative to the magnitude of the bounds.
    success : bool
        Whether the solver reported an optimum.
    message : str
    evaluations : int
        Number of evaluated points.
    failures : tuple of str
        Errors of starts that failed and were left for others.
    """

    start: Array
    x: Array
    objective: float
    violation: float
    success: bool
    message: str
    evaluations: int
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Optimum(Answer):
    """Best design found by an optimization; `print` shows a table.

    Attributes
    ----------
    x : (n,)
        Values, in the order of `names`.
    objective : float
        The sum of squares, if the objective is an array.
    outputs : dict of str to array
        All outputs at the optimum, also those that are neither objective nor constraint.
    status : str
        ``"optimal"``, ``"stopped"`` (the solver stopped before convergence), ``"infeasible"`` (no search satisfied all
        constraints; this point violates them least), ``"interrupted"``, ``"failed"`` (every evaluation failed).
    message : str
    violation : float
        Largest constraint violation, relative to the magnitude of the bounds.
    trials : tuple of Trial
        Every search, in the order of starts.
    records : list of EvaluationRecord
        Every evaluated point.
    gradient : str
        ``"exact"``, ``"differences"``, ``"exact and differences"`` or ``"none"``: source of the derivatives.
    evaluations : int
        Number of evaluations of the task, including difference points.
    notes : list of str
    """

    variables: Variables
    goal: Goal
    constraints: tuple[Goal, ...]
    x: Array
    objective: float
    outputs: dict[str, Array]
    status: str
    message: str
    violation: float
    trials: tuple[Trial, ...]
    records: list[EvaluationRecord]
    gradient: str
    evaluations: int
    method: str
    notes: list[str]
    model: Model | None = field(repr=False)
    evaluator: Evaluator = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the design variables."""
        return self.variables.names

    @property
    def values(self) -> dict[str, Any]:
        """Design variables by name, usable as ``parameters``."""
        return self.variables.named(self.x)

    def __getitem__(self, name: str) -> Any:
        """Return a variable or an output by name."""
        if name in self.names:
            return self.values[name]
        if name in self.outputs:
            value = self.outputs[name]
            return value if value.ndim else value.item()
        known = ", ".join(map(repr, (*self.names, *self.outputs)))
        raise ModelError("optimize", "name", name, f"it has {known}")

    @property
    def history(self) -> pandas.DataFrame:
        """Table of all evaluated points: search, variables, objective, violation, error."""
        import pandas

        rows = [
            {"search": r.trial, **self.variables.named(r.x), "objective": r.objective}
            | {"violation": r.violation, "error": r.error}
            for r in self.records
        ]
        return pandas.DataFrame(rows)

    def best_model(self) -> Model:
        """Return the model with the optimal parameters, for use in any analysis."""
        if self.model is None:
            raise ModelError("optimize", "model", None, "the system was made by a function: call it with `values`")
        names = self.model.parameter_names
        return self.model.with_parameters({name: value for name, value in self.values.items() if name in names})

    def slopes(self) -> Array:
        """Return derivatives (k, n) of the objective, or of its residuals, by the variables."""
        found = self.evaluator.slopes(self.x)
        if found is None:
            raise GradientError("the best point has no derivatives: evaluations at difference points fail")
        return self.evaluator.sign * found[0]

    def plot(self, *, ax: Any = None, path: Any = None) -> Axes:
        """Plot the objective over the evaluations, and return the matplotlib axes."""
        from ...view.plots.optimization import plot_optimum

        return plot_optimum(self, ax=ax, path=path)

    @property
    def success(self) -> bool:
        """Whether the status is ``"optimal"``."""
        return self.status == "optimal"

    def _headline(self) -> str:
        values = list_text(
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in self.values.items()
        )
        return f"{self.status}, objective {self.objective:.6g} at {values}"

    def to_xarray(self) -> xarray.Dataset:
        """Return an xarray Dataset over all evaluated points; variables as in `history`."""
        return self.history.rename_axis("evaluation").to_xarray()

    def __str__(self) -> str:
        v = self.variables
        wide = max(len(name) for name in (*self.names, *(g.label for g in self.constraints), "objective"))
        lines = [f"{self.status}: {self.message}", f"{'objective':{wide}}  {self.objective:>13.6g}"]
        for name, x, low, high, size, listed in zip(
            self.names, self.x, v.lower, v.upper, v.scale, v.discrete, strict=True
        ):
            if listed:
                lines.append(f"{name:{wide}}  {self.values[name]!s:>13}")
                continue
            edge = "lower" if x - low <= FEASIBLE_TOL * size else "upper" if high - x <= FEASIBLE_TOL * size else ""
            at = f"at its {edge} bound" if edge else ""
            lines.append(f"{name:{wide}}  {x:>13.6g}  {_span(low, high)}  {at}".rstrip())
        for goal in self.constraints:
            lines.append(f"{goal.label:{wide}}  {self._constraint(goal)}".rstrip())
        failed = sum(bool(r.error) for r in self.records)
        lines.append(
            f"{len(self.trials)} searches by {self.method}, {len(self.records)} points, {failed} of them failed, "
            f"{self.evaluations} runs; derivatives: {self.gradient}"
        )
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _constraint(self, goal: Goal) -> str:
        if not self.outputs:
            return ""
        values = goal.value({**{name: np.asarray(x) for name, x in self.values.items()}, **self.outputs})
        low, high = float(values.min()), float(values.max())
        shown = f"{low:>13.6g}" if values.size == 1 else f"{low:.6g} to {high:.6g}"
        missed = goal.violation(values) * goal.size
        slack = min(low - goal.lower, goal.upper - high)
        tolerance = FEASIBLE_TOL * goal.size
        note = f"violated by {missed:.3g}" if missed > tolerance else "active" if slack <= tolerance else ""
        return f"{shown}  {_span(goal.lower, goal.upper)}  {note}"


def _span(low: float, high: float) -> str:
    if low == high:
        return f"= {low:.6g}"
    if not np.isfinite(low) and not np.isfinite(high):
        return "free"
    if not np.isfinite(low):
        return f"<= {high:.6g}"
    return f">= {low:.6g}" if not np.isfinite(high) else f"{low:.6g} to {high:.6g}"
