"""Result of a design optimization."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...answer import Answer, list_text
from ...errors import GradientError, ModelError
from ...model import Model
from .design_variables import Variables
from .evaluator import EvaluationRecord, Evaluator
from .objectives import Goal

if TYPE_CHECKING:
    import pandas
    import xarray

__all__ = ["FEASIBLE_TOL", "Optimum", "Trial"]

Array = NDArray[np.float64]

FEASIBLE_TOL = 1e-6  # relative violation below which a constraint counts as satisfied


@dataclass(frozen=True, eq=False)
class Trial:
    """One search, from one start.

    Attributes
    ----------
    start, x : (n,)
        Where it began and where it ended.
    objective : float
        NaN if it came to nothing.
    violation : float
        By how much constraints are missed there at most, relative to the size of their bounds.
    success : bool
        Whether its method says that this is an optimum.
    message : str
    evaluations : int
        Points that it looked at.
    """

    start: Array
    x: Array
    objective: float
    violation: float
    success: bool
    message: str
    evaluations: int


@dataclass(frozen=True, eq=False, repr=False)
class Optimum(Answer):
    """The best design that was found; print it to read it as a table.

    Attributes
    ----------
    x : (n,)
        Values, in the order of `names`.
    objective : float
        A sum of squares, if the objective is an array.
    outputs : dict of str to array
        All outputs there, also those that are neither objective nor constraint.
    status : str
        ``"optimal"``, ``"stopped"`` (the method gave up or was cut short), ``"infeasible"`` (no search ended where all
        constraints are kept: this point misses them least), ``"interrupted"``, ``"failed"`` (no point has an answer).
    message : str
    violation : float
        By how much constraints are missed at most, relative to the size of their bounds.
    trials : tuple of Trial
        Every search, in the order of starts.
    records : list of Record
        Every point that was looked at.
    gradient : str
        ``"exact"``, ``"differences"``, ``"exact and differences"`` or ``"none"``: where derivatives came from.
    evaluations : int
        How often a task was carried out, neighbours for differences included.
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
        """What was chosen."""
        return self.variables.names

    @property
    def values(self) -> dict[str, float]:
        """What was chosen, by name: to be given as ``parameters``."""
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
        """Every point that was looked at, as a table: search, variables, objective, violation, what went wrong."""
        import pandas

        rows = [
            {"search": r.trial, **self.variables.named(r.x), "objective": r.objective}
            | {"violation": r.violation, "error": r.error}
            for r in self.records
        ]
        return pandas.DataFrame(rows)

    def best_model(self) -> Model:
        """Return the model with the numbers that were found, which every analysis takes."""
        if self.model is None:
            raise ModelError("optimize", "model", None, "the system was made by a function: call it with `values`")
        names = self.model.parameter_names
        return self.model.with_parameters({name: value for name, value in self.values.items() if name in names})

    def slopes(self) -> Array:
        """Return derivatives (k, n) of the objective, or of all that is squared in it, by the variables."""
        found = self.evaluator.slopes(self.x)
        if found is None:
            raise GradientError("the best point has no derivatives: neighbours of it fail")
        return self.evaluator.sign * found[0]

    def plot(self, *, ax: Any = None, path: Any = None) -> Any:
        """Plot how the objective came down, and return the matplotlib axes."""
        from ...view.plots.optimization import plot_optimum

        return plot_optimum(self, ax=ax, path=path)

    @property
    def success(self) -> bool:
        """Whether the status is ``"optimal"``."""
        return self.status == "optimal"

    def _headline(self) -> str:
        values = list_text(f"{name} {value:.4g}" for name, value in self.values.items())
        return f"{self.status}, objective {self.objective:.6g} at {values}"

    def to_xarray(self) -> xarray.Dataset:
        """Return an xarray Dataset over all points that were evaluated; columns as in `history`."""
        found: xarray.Dataset = self.history.rename_axis("evaluation").to_xarray()
        return found

    def __str__(self) -> str:
        v = self.variables
        wide = max(len(name) for name in (*self.names, *(g.label for g in self.constraints), "objective"))
        lines = [f"{self.status}: {self.message}", f"{'objective':{wide}}  {self.objective:>13.6g}"]
        for name, x, low, high, size in zip(self.names, self.x, v.lower, v.upper, v.scale, strict=True):
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
        told = f"missed by {missed:.3g}" if missed > tolerance else "active" if slack <= tolerance else ""
        return f"{shown}  {_span(goal.lower, goal.upper)}  {told}"


def _span(low: float, high: float) -> str:
    if low == high:
        return f"= {low:.6g}"
    if not np.isfinite(low) and not np.isfinite(high):
        return "free"
    if not np.isfinite(low):
        return f"<= {high:.6g}"
    return f">= {low:.6g}" if not np.isfinite(high) else f"{low:.6g} to {high:.6g}"
