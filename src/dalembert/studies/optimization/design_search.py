"""`DesignSearch`: search over designs that asks for points and is told their outcomes (ask and tell).

Methods are those of other packages: NSGA-II of pymoo (Deb et al. 2002), a genetic algorithm for one or several
objectives with constraints; samplers of Optuna, of which ``"tpe"`` is Bayesian optimization (Bergstra et al. 2011),
for few and costly evaluations. All search in the unit cube: integer and discrete variables are the parts of an edge.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ...checks import whole_number
from ...errors import MissingPackageError, ModelError
from .design_variables import Variables, make_variables
from .objectives import Goal, as_goals
from .pareto_front import ParetoFront

__all__ = ["DesignSearch", "Objectives", "as_objectives"]

METHODS = ("nsga2", "tpe", "random", "qmc")
_ITEM = "DesignSearch"


@dataclass(frozen=True)
class Objectives:
    """Objectives and constraints of a search: labels, functions, and signs (-1 for a maximum)."""

    goals: tuple[Goal, ...]
    signs: tuple[float, ...]
    constraints: tuple[Goal, ...]

    def values(self, outputs: Mapping[str, Any]) -> Array:
        """Return the objectives as they are, (m,)."""
        return np.array([float(goal.value(outputs).sum()) for goal in self.goals])

    def violation(self, outputs: Mapping[str, Any]) -> float:
        """Return the largest violation of the constraints, relative to their bounds; zero if there is none."""
        return max((goal.violation(goal.value(outputs)) for goal in self.constraints), default=0.0)


def as_objectives(
    item: str, minimize: Any, maximize: Any, subject_to: Mapping[str, Any] | None, labels: tuple[str, ...]
) -> Objectives:
    """Return objectives from user arguments: labels, or functions of a dict of outputs and variables."""
    goals: list[Goal] = []
    signs: list[float] = []
    for given, sign in ((minimize, 1.0), (maximize, -1.0)):
        for wanted in [given] if isinstance(given, str) or callable(given) else list(given or ()):
            goal = as_goals(item, labels, wanted, {})[0]
            label = getattr(wanted, "__name__", "objective") if callable(wanted) else str(wanted)
            if label in [g.label for g in goals]:
                label = f"{label} {len(goals) + 1}"
            goals.append(Goal(label, goal.function) if callable(wanted) else goal)
            signs.append(sign)
    if not goals:
        raise ModelError(item, "minimize", minimize, "give objectives: minimize=['mass', 'peak']")
    constraints = as_goals(item, labels, goals[0].function or goals[0].label, subject_to)[1]
    return Objectives(tuple(goals), tuple(signs), tuple(constraints))


class DesignSearch:
    """Search that asks for designs and is told their outputs, for evaluations anywhere.

    Parameters
    ----------
    over : dict of name to (lower, upper), range or set
        Design variables: real numbers within bounds, integers of a range, or discrete values of a set.
    minimize, maximize : label, function, or list of these
        Objectives: outputs that are told, variables, or functions of a dict of both. One or several.
    subject_to : dict of label to bounds
        As in `optimize`.
    method : str
        ``"nsga2"`` (extra ``pareto``); ``"tpe"``, ``"random"``, ``"qmc"`` (extra ``bayesian``).
    population : int
        Points of one generation of ``"nsga2"``.
    seed : int

    Examples
    --------
    >>> import dalembert as da
    >>> search = da.DesignSearch({"x": (0.0, 2.0), "n": range(1, 4)}, minimize=["a", "b"], population=12)
    >>> for generation in range(10):
    ...     points = search.ask()
    ...     search.tell(points, [{"a": p["x"] ** 2 + p["n"], "b": (p["x"] - 1) ** 2} for p in points])
    >>> front = search.front
    >>> bool((front.table["n"] == 1).all()), front.evaluations
    (True, 120)
    """

    def __init__(
        self,
        over: Mapping[str, Any],
        minimize: Any = None,
        *,
        maximize: Any = None,
        subject_to: Mapping[str, Any] | None = None,
        method: str = "nsga2",
        population: int = 40,
        seed: int = 0,
        _variables: Variables | None = None,
        _objectives: Objectives | None = None,
    ) -> None:
        if method not in METHODS:
            raise ModelError(_ITEM, "method", method, f"use {', '.join(map(repr, METHODS))}")
        self.variables = make_variables(_ITEM, over, None, None) if _variables is None else _variables
        for name, low, high in zip(self.variables.names, self.variables.lower, self.variables.upper, strict=True):
            if not np.isfinite(high - low):
                raise ModelError(_ITEM, f"bounds of {name!r}", (low, high), "give finite bounds")
        wanted = [*_labels_of(minimize), *_labels_of(maximize), *(subject_to or {}), *self.variables.names]
        self.objectives = (
            as_objectives(_ITEM, minimize, maximize, subject_to, tuple(wanted)) if _objectives is None else _objectives
        )
        population = whole_number(population, item=_ITEM, field="population", least=4)
        seed = whole_number(seed, item=_ITEM, field="seed", least=0)
        count, several = len(self.variables), len(self.objectives.goals)
        constrained = bool(self.objectives.constraints)
        self._engine: Any = (
            _Genetic(count, several, constrained, population, seed)
            if method == "nsga2"
            else _Sampler(count, several, constrained, method, seed)
        )
        self._asked: list[tuple[dict[str, Any], Array]] = []
        self._points: list[dict[str, Any]] = []
        self._values: list[Array] = []
        self._violations: list[float] = []
        self._errors: list[str] = []
        self._outputs: list[dict[str, Any]] = []

    def ask(self, count: int | None = None) -> list[dict[str, Any]]:
        """Return designs to be evaluated, as dicts of name to value: a generation, or some number of points.

        A genetic search always asks for a whole generation.
        """
        if self._asked:
            raise ModelError(_ITEM, "ask", f"{len(self._asked)} points", "tell the outcomes of these points first")
        units = self._engine.ask(count)
        self._asked = [(self.variables.named(self.variables.of_unit_cube(u)), u) for u in units]
        return [dict(point) for point, _ in self._asked]

    def tell(self, points: Sequence[Mapping[str, Any]], outputs: Sequence[Mapping[str, Any] | str | None]) -> None:
        """Take the outputs of all points that were asked for; for a failed one None, or the reason as text."""
        if [dict(p) for p in points] != [p for p, _ in self._asked] or len(outputs) != len(points):
            raise ModelError(_ITEM, "tell", f"{len(points)} points", f"tell all {len(self._asked)} that were asked for")
        values, violations = [], []
        for (point, _), given in zip(self._asked, outputs, strict=True):
            found, missed, error = self._judged(point, given)
            values.append(found)
            violations.append(missed)
            self._errors.append(error)
            self._outputs.append({} if error or not isinstance(given, Mapping) else dict(given))
        self._points += [point for point, _ in self._asked]
        self._values += values
        self._violations += violations
        signed = np.array(values) * self.objectives.signs
        self._engine.tell(signed, np.array(violations), np.isfinite(signed).all(axis=1))
        self._asked = []

    def _judged(self, point: Mapping[str, Any], given: Any) -> tuple[Array, float, str]:
        none = np.full(len(self.objectives.goals), np.nan)
        if given is None or isinstance(given, str):
            return none, np.nan, given or "failed"
        known = {**point, **given}
        missing = [g.label for g in (*self.objectives.goals, *self.objectives.constraints)
                   if g.function is None and g.label not in known]  # fmt: skip
        if missing:
            raise ModelError(_ITEM, "tell", sorted(given), f"the output {missing[0]!r} is missing")
        found = self.objectives.values(known)
        if not np.isfinite(found).all():
            return none, np.nan, "an objective is not a finite number"
        return found, self.objectives.violation(known), ""

    @property
    def front(self) -> ParetoFront:
        """Designs that no other one beats in all objectives, among those that keep the constraints."""
        return ParetoFront.of(
            self.variables.names,
            self.objectives,
            self._points,
            np.array(self._values).reshape(len(self._points), -1),
            np.array(self._violations),
            self._errors,
            self._outputs,
        )


def _labels_of(wanted: Any) -> list[str]:
    if isinstance(wanted, str):
        return [wanted]
    return [one for one in wanted if isinstance(one, str)] if isinstance(wanted, (list, tuple)) else []


class _Genetic:
    """NSGA-II of pymoo in the unit cube."""

    def __init__(self, count: int, several: int, constrained: bool, population: int, seed: int) -> None:
        try:
            from pymoo.algorithms.moo.nsga2 import NSGA2
            from pymoo.core.problem import Problem
        except ImportError:
            raise MissingPackageError("NSGA-II", "pymoo", "pip install 'dalembert[pareto]'") from None
        rows = 1 if constrained else 0
        self._problem = Problem(n_var=count, n_obj=several, n_ieq_constr=rows, xl=0.0, xu=1.0)
        self._algorithm = NSGA2(pop_size=population)
        self._algorithm.setup(self._problem, termination=("n_gen", 10**9), seed=seed, verbose=False)
        self._constrained, self._infills = constrained, None

    def ask(self, count: int | None) -> list[Array]:
        self._infills = self._algorithm.ask()
        return [np.array(x, dtype=float) for x in self._infills.get("X")]  # type: ignore[attr-defined]

    def tell(self, values: Array, violations: Array, good: Array) -> None:
        from pymoo.core.evaluator import Evaluator
        from pymoo.problems.static import StaticProblem

        worst = np.abs(values[good]).max(axis=0) if good.any() else np.ones(values.shape[1])
        filled = np.where(good[:, None], values, 10.0 * worst + 1e6)  # failed points lose every comparison
        given: dict[str, Any] = {"F": filled}
        if self._constrained:
            given["G"] = np.where(good, violations, 1e6)[:, None]
        Evaluator().eval(StaticProblem(self._problem, **given), self._infills)
        self._algorithm.tell(infills=self._infills)


class _Sampler:
    """Sampler of Optuna in the unit cube."""

    def __init__(self, count: int, several: int, constrained: bool, method: str, seed: int) -> None:
        try:
            import optuna
        except ImportError:
            raise MissingPackageError(f"the method {method!r}", "optuna", "pip install 'dalembert[bayesian]'") from None
        self._optuna, self._count, self._constrained = optuna, count, constrained
        names = {"tpe": "TPESampler", "random": "RandomSampler", "qmc": "QMCSampler"}
        given: dict[str, Any] = {"seed": seed}
        if constrained and method == "tpe":
            given["constraints_func"] = lambda trial: trial.user_attrs.get("violation", (1e6,))
        if method == "qmc":
            given["scramble"] = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # experimental options
            sampler = getattr(optuna.samplers, names[method])(**given)
        level = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._study = optuna.create_study(directions=["minimize"] * several, sampler=sampler)
        optuna.logging.set_verbosity(level)
        self._trials: list[Any] = []

    def ask(self, count: int | None) -> list[Array]:
        space: dict[str, Any] = {
            f"u{k}": self._optuna.distributions.FloatDistribution(0.0, 1.0) for k in range(self._count)
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._trials = [self._study.ask(space) for _ in range(count or 1)]
        return [np.array([trial.params[f"u{k}"] for k in range(self._count)]) for trial in self._trials]

    def tell(self, values: Array, violations: Array, good: Array) -> None:
        for trial, own, missed, fine in zip(self._trials, values, violations, good, strict=True):
            if fine:
                trial.set_user_attr("violation", (float(missed),))
                self._study.tell(trial, own.tolist())
            else:
                self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
