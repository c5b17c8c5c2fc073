"""Searches from one or many starts, and selection of the best point."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ...arrays import Array
from ...model import Model
from ..sweeps.jobs import StudyInterrupted
from .design_variables import Variables
from .evaluator import Evaluation, EvaluationRecord, Evaluator
from .failure_recovery import GuardedProgram
from .optimum import FEASIBLE_TOL, Optimum, Trial
from .solvers import solve

__all__ = ["searches"]


MAX_OTHER_STARTS = 32  # points tried in place of a start that fails
_IMPROVEMENT_TOL = (
    1e-9  # relative improvement of an intermediate point over the final one, below which the final one is kept
)


def searches(
    evaluator: Evaluator, points: Array, method: str, tolerance: float, most: int, seed: int, model: Model | None
) -> Optimum:
    """Search from all points (k, n), and return the best design."""
    trials: list[Trial] = []
    interruption = ""
    for number, point in enumerate(points):
        evaluator.trial = number
        try:
            trials.append(_search(evaluator, point, method, tolerance, most, seed + number))
        except (KeyboardInterrupt, StudyInterrupted):
            if not evaluator.history:
                raise
            interruption = "interrupted by Ctrl-C"
            break
    return _answer(evaluator, trials, interruption, method, model)


def _begin(ev: Evaluator, point: Array, seed: int) -> tuple[Array, Evaluation, list[str]]:
    """Return a start that can be evaluated, and the errors of those before it, (k,).

    A start that fails is left for points of a Latin hypercube over the bounds; for unbounded variables it reaches one
    scale to each side of the start. If they all fail, the last one is returned.
    """
    here, errors = ev.at(point), []
    others = _others(ev.variables, seed) if here.error else np.zeros((0, len(point)))
    for other in others:
        errors.append(here.error)
        point, here = other, ev.at(other)
        if not here.error:
            break
    return point, here, errors


def _others(variables: Variables, seed: int) -> Array:
    from scipy.stats import qmc

    low = np.where(np.isfinite(variables.lower), variables.lower, variables.start - variables.scale)
    high = np.where(np.isfinite(variables.upper), variables.upper, variables.start + variables.scale)
    drawn = qmc.LatinHypercube(len(variables), seed=np.random.default_rng([seed, 1])).random(MAX_OTHER_STARTS)
    return np.asarray(low + drawn * (high - low))


def _search(ev: Evaluator, point: Array, method: str, tolerance: float, most: int, seed: int) -> Trial:
    first = len(ev.history)
    point, here, errors = _begin(ev, point, seed)
    if here.error:
        errors.append(here.error)
        message = f"the evaluation of the start failed, and at {len(errors) - 1} other points: {errors[0]}"
        return Trial(point, point, np.nan, np.nan, False, message, len(errors), tuple(errors))
    solved = solve(GuardedProgram(ev, here).program(), ev.variables.to_unit(point), method, tolerance, most, seed)
    x, message = ev.variables.from_unit(solved.z), solved.message
    ev.at(x)
    mine = ev.history[first:]
    end, best = next(r for r in reversed(mine) if np.array_equal(r.x, x)), _best(mine, ev.sign)
    assert best is not None
    if end.error or _merit(best, ev.sign) < _merit(end, ev.sign, _IMPROVEMENT_TOL):
        end, message = best, f"{message}; an intermediate point is better and is returned"
    return Trial(point, end.x, end.objective, end.violation, solved.success, message, len(mine), tuple(errors))


def _left_starts(trials: Sequence[Trial]) -> str:
    """Return how many starts failed and why; empty if none did."""
    errors = [error for trial in trials for error in trial.failures]
    if not errors:
        return ""
    reason, count = Counter(errors).most_common(1)[0]
    share = f", {count} of them as" if count < len(errors) else ":"
    return f"; {len(errors)} starts failed and were left for others{share} {reason}"


def _merit(record: EvaluationRecord, sign: float, leave: float = 0.0) -> tuple[float, float]:
    """Return a sort key, smaller for a better point: constraint violation first, then objective."""
    if record.violation > FEASIBLE_TOL:
        return 1.0, record.violation * (1 - leave)
    cost = sign * record.objective
    return 0.0, cost - leave * abs(cost)


def _best(records: Sequence[EvaluationRecord], sign: float) -> EvaluationRecord | None:
    """Return the best of all points that did not fail; None if all failed."""
    good = [record for record in records if not record.error]
    return min(good, key=lambda record: _merit(record, sign)) if good else None


def _answer(ev: Evaluator, trials: list[Trial], interruption: str, method: str, model: Model | None) -> Optimum:
    known = [t for t in trials if np.isfinite(t.objective)]
    best = min(known, key=lambda t: (max(0.0, t.violation - FEASIBLE_TOL), ev.sign * t.objective), default=None)
    seen = _best(ev.history, ev.sign)
    if seen is None:
        status, message, x = "failed", ev.history[0].error, ev.variables.start
    elif best is None:
        status, message, x = "interrupted", interruption, seen.x
    elif best.violation > FEASIBLE_TOL:
        status, message, x = "infeasible", f"constraints are violated; {best.message}", best.x
    else:
        status, message, x = ("optimal" if best.success else "stopped"), best.message, best.x
    message += _left_starts(trials) if seen is not None else ""
    if interruption:
        status, message = "interrupted", interruption
    here = ev.at(x)
    least = ev.sign * here.cost if not here.error else np.nan
    missed = max((g.violation(v) for g, v in zip(ev.constraints, here.constraints, strict=False)), default=0.0)
    kinds = sorted(set(ev.kinds.values()))
    return Optimum(
        variables=ev.variables,
        goal=ev.goal,
        constraints=tuple(ev.constraints),
        x=x,
        objective=least,
        outputs={label: value for label, value in here.outputs.items() if label not in ev.variables.names},
        status=status,
        message=message,
        violation=missed,
        trials=tuple(trials),
        records=ev.history,
        gradient=" and ".join(kinds) if kinds else "none",
        evaluations=ev.runs,
        method=method,
        notes=list(dict.fromkeys(ev.notes)),
        model=model,
        evaluator=ev,
    )
