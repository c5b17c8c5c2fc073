"""Cached outputs and derivatives at points of a search; failures are recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...arrays import Array
from ...errors import DalembertError, GradientError, ModelError
from ...model import Model
from ..sensitivities.sensitivity import sensitivity
from ..sweeps.cases import Cases
from ..sweeps.jobs import Job
from .design_variables import Variables
from .objectives import Goal, slopes
from .scatter import Scatter

__all__ = ["Evaluation", "EvaluationRecord", "Evaluator"]


_STEPS = {"simulate": 1e-4}  # relative steps of central differences: runs are accurate to 1e-9
DIFFERENCE_STEP = 1e-5


@dataclass
class EvaluationRecord:
    """Record of one evaluated point of a search."""

    trial: int
    x: Array
    objective: float
    violation: float
    error: str


@dataclass
class Evaluation:
    """Outputs, objective and constraints at a point; `error` is empty unless the evaluation failed."""

    x: Array
    outputs: dict[str, Array]
    objective: Array
    constraints: list[Array]
    error: str = ""
    by: dict[str, Array] | None = None

    @property
    def squares(self) -> bool:
        """Whether the objective is the sum of squares of an array."""
        return self.objective.size > 1

    @property
    def cost(self) -> float:
        """The objective as one number."""
        return float(self.objective @ self.objective) if self.squares else float(self.objective[0])


@dataclass
class Evaluator:
    """Evaluator of objective and constraints at values of the design variables.

    Attributes
    ----------
    jobs : sequence of Job
    variables : Variables
    goal : Goal
    constraints : list of Goal
    sign : float
        -1 if the objective is maximized.
    gradient : str
        ``"auto"``, ``"exact"``, ``"differences"``.
    history : list of EvaluationRecord
    notes : list of str
    aside : set of str
        Variables of the objective only, which no job takes.
    scatter : Scatter or None
        Random deviations, over which outputs are reduced to statistics.
    """

    jobs: Sequence[Job]
    variables: Variables
    goal: Goal
    constraints: list[Goal]
    sign: float = 1.0
    gradient: str = "auto"
    trial: int = 0
    history: list[EvaluationRecord] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    runs: int = 0
    kinds: dict[int, str] = field(default_factory=dict)
    seen: Callable[[Evaluation], None] | None = None
    aside: frozenset[str] = frozenset()
    scatter: Scatter | None = None
    _last: dict[bytes, Evaluation] = field(default_factory=dict)

    def at(self, x: Array) -> Evaluation:
        """Evaluate outputs, objective and constraints at a point (n,)."""
        key = x.tobytes()
        if key not in self._last:
            found = self._evaluated(x)
            if len(self._last) > 8:
                del self._last[next(iter(self._last))]
            self._last[key] = found
            worst = max((g.violation(v) for g, v in zip(self.constraints, found.constraints, strict=False)), default=0)
            cost = np.nan if found.error else self.sign * found.cost
            self.history.append(
                EvaluationRecord(self.trial, x.copy(), cost, np.nan if found.error else worst, found.error)
            )
            if self.seen is not None:
                self.seen(found)
        return self._last[key]

    def _evaluated(self, x: Array) -> Evaluation:
        outputs, error = self._outputs(x[None])[0]
        if error:
            return Evaluation(x, {}, np.zeros(0), [], error)
        try:
            objective = self.sign * self.goal.value(outputs)
            constraints = [goal.value(outputs) for goal in self.constraints]
        except DalembertError as failed:
            return Evaluation(x, {}, np.zeros(0), [], str(failed))
        for goal, values in zip((self.goal, *self.constraints), (objective, *constraints), strict=True):
            if not values.size or not np.isfinite(values).all():
                what = "nothing" if not values.size else "not a finite number"
                return Evaluation(x, outputs, np.zeros(0), [], f"{goal.label!r} is {what}")
        return Evaluation(x, outputs, objective, constraints)

    def outputs(self, points: Sequence[Array]) -> list[tuple[dict[str, Array], str]]:
        """Return outputs and error message at each of the points, (B, n)."""
        return self._outputs(np.array(points))

    def _outputs(self, points: Array) -> list[tuple[dict[str, Array], str]]:
        """Return outputs and error message at each of the points (B, n), as an ensemble where the task supports it."""
        if self.scatter is not None:
            return self._statistics(points, self.scatter)
        named = [self.variables.named(x) for x in points]
        found: list[tuple[dict[str, Array], str]] = [
            ({name: np.asarray(value) for name, value in values.items()}, "") for values in named
        ]
        taken = [{name: value for name, value in row.items() if name not in self.aside} for row in named]
        for job in self.jobs:
            block = job.run(Cases.of(taken))
            self.runs += len(points)
            for row, error in zip(block.numbers, block.errors, strict=True):
                if error:
                    found[row] = ({}, found[row][1] or error)
                elif not found[row][1]:
                    values = {label: np.asarray(c.values[row]) for label, c in block.columns.items()}
                    found[row][0].update(values)
        return found

    def _statistics(self, points: Array, scatter: Scatter) -> list[tuple[dict[str, Array], str]]:
        """Return statistics of outputs over the scatter of each of the points, (B, n)."""
        count = len(scatter)
        found: list[tuple[dict[str, Array], str]] = []
        designs = [self.variables.named(x) for x in points]
        rows = [row for design in designs for row in scatter.cases(design)]
        columns: list[tuple[dict[str, Array], str]] = [({}, "") for _ in rows]
        for job in self.jobs:
            block = job.run(Cases.of(rows))
            self.runs += len(rows)
            for k, error in zip(block.numbers, block.errors, strict=True):
                values = {label: np.asarray(c.values[k]) for label, c in block.columns.items()}
                columns[k] = ({**columns[k][0], **values}, columns[k][1] or error)
        for k, design in enumerate(designs):
            mine = columns[k * count : (k + 1) * count]
            failed = [error for _, error in mine if error]
            if failed:
                found.append(({}, f"{len(failed)} of {count} samples of the scatter fail: {failed[0]}"))
                continue
            own = {name: np.asarray(value) for name, value in design.items()}
            found.append(({**own, **scatter.reduced([values for values, _ in mine])}, ""))
        return found

    def slopes(self, x: Array) -> tuple[Array, list[Array]] | None:
        """Return derivatives of the objective (k, n) and of each constraint (k, n); None if unavailable."""
        here = self.at(x)
        if here.error:
            return None
        if here.by is None:
            here.by = self.derivatives(x, here)
        if here.by is None:
            return None
        n, by = len(self.variables), here.by
        try:
            own = self.sign * slopes(self.goal, here.outputs, by, n)
            others = [slopes(goal, here.outputs, by, n) for goal in self.constraints]
        except DalembertError:
            return None
        return (own, others) if all(np.isfinite(part).all() for part in (own, *others)) else None

    def derivatives(self, x: Array, here: Evaluation) -> dict[str, Array] | None:
        """Return derivatives of all outputs, (..., n) by label; None if a difference point fails."""
        n = len(self.variables)
        by = {name: np.eye(n)[k] for k, name in enumerate(self.variables.names)}
        for number, job in enumerate(self.jobs):
            found = self._exact(number, job, x) if self._may_be_exact(number) else None
            if found is None:
                found = self._differences(job, x, here)
            if found is None:
                return None
            by |= found
        return by

    def _may_be_exact(self, number: int) -> bool:
        return self.scatter is None and self.gradient != "differences" and self.kinds.get(number) != "differences"

    def _exact(self, number: int, job: Job, x: Array) -> dict[str, Array] | None:
        """Return exact derivatives, (..., n) by label; None, with a note, if unavailable."""
        why = _explain_not(job)
        if not why:
            assert isinstance(job.source, Model)
            given = dict(job.settings)
            values, names = self.variables.named(x), job.source.parameter_names
            own = [name for name in values if name not in self.aside]
            values = {name: values[name] for name in own}
            numbers = {name: value for name, value in values.items() if name in names}
            starts = {name: value for name, value in values.items() if name not in names}
            given["parameters"] = {**given.get("parameters", {}), **numbers}
            if starts or given.get("state") is not None:
                given["state"] = {**(given.get("state") or {}), **starts}
            outputs = {r.label: r.name if r.reduce is None else (r.name, r.reduce) for r in job.readings}
            try:
                found = sensitivity(job.source, outputs, tuple(own), task=str(job.task), **given)
                self.runs += 1
                self.kinds[number] = "exact"
                return {label: self._widened(slope, own) for label, slope in found.derivatives.items()}
            except (ModelError, GradientError) as error:
                why = str(error)
            except DalembertError:
                return None
        if self.gradient == "exact":
            raise ModelError("optimize", "gradient", "exact", f"unavailable: {why}; use 'auto' or 'differences'")
        self.kinds[number] = "differences"
        self.notes.append(f"derivatives of {_task(job)} by differences: {why}")
        return None

    def _widened(self, slope: Array, own: Sequence[str]) -> Array:
        """Return derivatives by all variables from those by its own ones."""
        if len(own) == len(self.variables):
            return slope
        wide = np.zeros((*slope.shape[:-1], len(self.variables)))
        wide[..., [self.variables.names.index(name) for name in own]] = slope
        return wide

    def _differences(self, job: Job, x: Array, here: Evaluation) -> dict[str, Array] | None:
        """Return derivatives by central differences, at bounds by one-sided differences of the same order."""
        self.kinds.setdefault(self.jobs.index(job), "differences")
        own = Evaluator([job], self.variables, self.goal, [], aside=self.aside, scatter=self.scatter)
        low, high = self.variables.lower, self.variables.upper
        steps = _STEPS.get(str(job.task), DIFFERENCE_STEP) * np.maximum(np.abs(x), 0.1 * self.variables.scale)
        stencils = [_stencil(x[k], h, low[k], high[k]) for k, h in enumerate(steps)]
        points = np.array(
            [x + factor * h * axis for axis, h, stencil in _each(stencils, steps) for factor, _ in stencil]
        )
        values = own._outputs(points)
        self.runs += len(points)
        if any(error for _, error in values):
            self.notes.append("some difference points failed; derivatives there were skipped")
            return None
        labels = [label for label in values[0][0] if label not in self.variables.names]
        found: dict[str, list[Array]] = {label: [] for label in labels}
        row = 0
        for _, h, stencil in _each(stencils, steps):
            for label in labels:
                parts = [weight * values[row + j][0][label] for j, (_, weight) in enumerate(stencil)]
                rest = -sum(weight for _, weight in stencil) * here.outputs[label]
                found[label].append((sum(parts) + rest) / h)
            row += len(stencil)
        return {label: np.stack(columns, axis=-1) for label, columns in found.items()}


def _each(stencils: list[Any], steps: Array) -> list[tuple[Array, float, Any]]:
    return list(zip(np.eye(len(stencils)), map(float, steps), stencils, strict=True))


def _stencil(x: float, h: float, low: float, high: float) -> list[tuple[float, float]]:
    """Return (offset in steps, weight) of second-order differences that stay within the bounds."""
    if low <= x - h and x + h <= high:
        return [(1.0, 0.5), (-1.0, -0.5)]
    side = 1.0 if x + 2 * h <= high else -1.0
    if not low <= x + 2 * side * h <= high:  # bounds closer than a step
        return [(1.0, 0.5), (-1.0, -0.5)]
    return [(side, 2.0 * side), (2 * side, -0.5 * side)]


def _explain_not(job: Job) -> str:
    """Return the reason why a job has no exact derivatives; empty if it may have them."""
    if job.task not in ("simulate", "kinematics"):
        return f"{_task(job)} has no exact derivatives"
    if not isinstance(job.source, Model):
        return "the system is made by a function"
    for reading in job.readings:
        if reading.name is None or callable(reading.reduce):
            return f"{reading.label!r} is a user function"
    return ""


def _task(job: Job) -> str:
    return job.task if isinstance(job.task, str) else str(getattr(job.task, "__name__", "the task"))
