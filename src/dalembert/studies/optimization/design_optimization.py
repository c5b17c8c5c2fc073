"""`optimize`: design optimization within bounds and under constraints."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...checks import checked, one_of
from ...errors import ModelError
from ...model import Model, as_model
from ...system import System
from ..sweeps.cases import Case
from ..sweeps.jobs import TASKS, Job, sorted_names
from ..sweeps.recorded_outputs import as_readings, is_reduction
from .design_variables import Variables, make_variables, spread
from .evaluator import Evaluator
from .multistart import searches
from .objectives import as_goals
from .optimum import Optimum
from .scatter import make_scatter
from .solvers import check_method

__all__ = ["check_names", "make_job", "optimize"]

_ITEM = "optimize"
_N_TIMES = 101  # default number of output times of runs, as in `sweep`
_RTOL = 1e-9  # default of runs: the integration error must stay below the descent that solvers detect


@checked("task", "start", "starts", "max_iterations", "tolerance", "subject_to", "gradient")
def optimize(
    system: System | Model | Callable[[Case], System],
    over: Mapping[str, tuple[float | None, float | None]],
    minimize: Any = None,
    *,
    maximize: Any = None,
    subject_to: Mapping[str, Any] | None = None,
    outputs: Any = None,
    task: str | Callable[..., Any] | Mapping[str, Mapping[str, Any]] = "simulate",
    start: Mapping[str, float] | None = None,
    starts: int = 1,
    seed: int = 0,
    method: str = "auto",
    gradient: str = "auto",
    tolerance: float = 1e-8,
    max_iterations: int = 200,
    scatter: Mapping[str, Any] | None = None,
    samples: int = 32,
    measure: str | Mapping[str, str] = "mean",
    **settings: Any,
) -> Optimum:
    """Optimize design variables within bounds and under constraints.

    Parameters
    ----------
    system : System, Model, or function of a Case that returns a System
    over : dict of name to (lower, upper), range or set
        Design variables: parameters of the system, start values, or names that a function reads from its case, as in
        `sweep`. None for no bound. ``range(2, 9)`` for integers, ``{0.01, 0.016, 0.025}`` for discrete values, which
        are searched by ``"differential_evolution"``.
    minimize, maximize : label of an output, output, or function of a dict
        Give exactly one. An output as in `outputs`, or a function of a dict that has all outputs and variables by name.
        An array stands for the sum of its squares.
    subject_to : dict of label to bounds
        ``{"stress": (None, 2e8)}``, a single number for equality, or ``(function, lower, upper)`` with a function of
        outputs and variables. Bounds of an array hold for every entry.
    outputs : names, or dict of label to output
        As in `sweep`: ``{"peak": ("A.effort", "peak"), "tip": "arm.tip.position"}``.
    task : str, function, or dict
        As in `sweep`. A dict of several tasks with the settings of each, ``{"simulate": {"t_end": 2.0}, "modes": {}}``,
        requires a dict of their outputs, ``{"simulate": {...}, "modes": {...}}``.
    start : dict of name to float
        Initial values of the search; default the values of the system, or the middle of the bounds.
    starts : int
        Number of searches: the first from `start`, others from points spread over the bounds. The best is returned.
    seed : int
        Of the random starts.
    method : str
        ``"auto"`` (SLSQP; least squares for an array without constraints), ``"SLSQP"``, ``"trust-constr"``,
        ``"least_squares"``, ``"L-BFGS-B"``; without derivatives ``"COBYLA"``, ``"Nelder-Mead"``,
        ``"Powell"``, ``"differential_evolution"``; with the extra ``optimize``, ``"ipopt"`` and ``"nlopt:LD_SLSQP"``,
        ``"nlopt:GN_DIRECT"``, ...
    gradient : str
        ``"auto"``: exact derivatives by `sensitivity` where available, else finite differences, with a note;
        ``"exact"``: an error where exact derivatives are unavailable; ``"differences"``.
    tolerance : float
        Relative tolerance of the objective.
    max_iterations : int
        Maximum iterations of one search.
    scatter : dict of name to distribution of ``scipy.stats``
        For robust and reliable designs: random deviations, added to design variables of these names, and random values
        of other parameters. Outputs are then statistics over them; derivatives are differences.
    samples : int
        Number of samples of the scatter, the same standard ones at every design.
    measure : str, or dict of output to str
        Statistic of an output: ``"mean"``, ``"mean + 3 std"``, ``"std"``, ``"min"``, ``"max"``, ``"quantile 0.99"``
        (bounds of which are constraints of reliability).
    settings
        Settings of the task: ``t_end=2.0``. Runs have 101 output times and ``rtol=1e-9`` by default.

    Returns
    -------
    Optimum
        Points at which a task fails, or the objective is not finite, are recorded; the search avoids them. A start that
        fails is left for other points within the bounds; the message counts them, with the most frequent reason.

    Examples
    --------
    The softest spring with which a pendulum, released at rest, turns by at most half a radian:

    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    >>> _ = s.connect("k", da.TorsionSpring(stiffness=10.0), "A")
    >>> found = da.optimize(
    ...     s, {"k.stiffness": (5.0, 50.0)}, "k.stiffness", subject_to={"swing": (None, 0.5)},
    ...     outputs={"swing": ("A.position", "peak")}, t_end=2.0)
    >>> found.status, round(found["k.stiffness"], 2)
    ('optimal', 37.62)
    """
    jobs = _jobs(system, task, outputs, minimize, maximize, settings)
    model = jobs[0].source if isinstance(jobs[0].source, Model) else None
    variables = make_variables(_ITEM, over, start, model)
    check_names(jobs, variables)
    labels = tuple(reading.label for job in jobs for reading in job.readings)
    wanted = _wanted(minimize, maximize, labels, jobs)
    free = not any(job.readings for job in jobs)  # results of a function have labels of their own
    known = (*labels, *variables.names, *(_named(wanted, subject_to) if free else ()))
    goal, constraints = as_goals(_ITEM, known, wanted, subject_to)
    if variables.discrete.any():
        if method not in ("auto", "differential_evolution"):
            remedy = "integer and discrete variables need 'differential_evolution'; da.pareto has genetic searches"
            raise ModelError(_ITEM, "method", method, remedy)
        method = "differential_evolution"
    check_method(_ITEM, method, bool(constraints))
    one_of(_ITEM, "gradient", gradient, ("auto", "exact", "differences"))
    evaluator = Evaluator(jobs, variables, goal, constraints, 1.0 if maximize is None else -1.0, gradient)
    own_names = model if all(isinstance(job.task, str) for job in jobs) else None  # a user task reads any name
    points = spread(_ITEM, variables, starts, seed)
    evaluator.scatter = make_scatter(_ITEM, scatter, samples, measure, int(seed), variables.names, own_names)
    if evaluator.scatter is not None and gradient == "exact":
        raise ModelError(_ITEM, "gradient", gradient, "statistics have no exact derivatives: use 'auto'")
    return searches(evaluator, points, method, float(tolerance), int(max_iterations), int(seed), model)


def check_names(jobs: list[Job], variables: Variables, aside: frozenset[str] = frozenset(), item: str = _ITEM) -> None:
    """Raise for names that are no parameters, start values or outputs, before anything runs."""
    for job in jobs:
        if isinstance(job.source, Model):
            try:
                values = variables.named(variables.start).items()
                taken = {name: value for name, value in values if name not in aside}
                sorted_names(job.source, job.task, Case(0, taken))
            except ModelError as error:
                raise ModelError(item, error.field, error.value, error.remedy) from None


def _named(wanted: Any, subject_to: Mapping[str, Any] | None) -> tuple[str, ...]:
    return (*((wanted,) if isinstance(wanted, str) else ()), *(subject_to or {}))


def _wanted(minimize: Any, maximize: Any, labels: tuple[str, ...], jobs: list[Job]) -> Any:
    wanted = minimize if maximize is None else maximize
    if callable(wanted) or (isinstance(wanted, str) and wanted in labels):
        return wanted
    if isinstance(wanted, (tuple, list)):  # (name, reduction) became the first output
        return jobs[0].readings[0].label
    return wanted


def _jobs(system: Any, task: Any, outputs: Any, minimize: Any, maximize: Any, settings: dict[str, Any]) -> list[Job]:
    """Return the jobs that are run at every point."""
    if (minimize is None) == (maximize is None):
        raise ModelError(_ITEM, "minimize", minimize, "give one of `minimize` and `maximize`")
    if isinstance(system, (System, Model)):
        source: Any = as_model(system)
    elif callable(system):
        source = system
    else:
        raise ModelError(_ITEM, "system", system, "give a System, a Model, or a function of a case")
    wanted = minimize if maximize is None else maximize
    if isinstance(task, Mapping):
        if settings:
            raise ModelError(
                _ITEM, "settings", sorted(settings), "give them to each task: {'simulate': {'t_end': 2.0}}"
            )
        if not isinstance(outputs, Mapping) or set(outputs) != set(task):
            raise ModelError(_ITEM, "outputs", outputs, "give those of each task, by the names of the tasks")
        return [make_job(source, name, outputs[name], dict(given)) for name, given in task.items()]
    if isinstance(wanted, (tuple, list)):
        if not (len(wanted) == 2 and is_reduction(wanted[1])):
            remedy = "it is one objective, an output or a function: da.pareto takes several"
            raise ModelError(_ITEM, "minimize" if maximize is None else "maximize", list(wanted), remedy)
        outputs = {" ".join(map(str, wanted)): tuple(wanted), **_as_dict(outputs)}
    elif outputs is None and isinstance(wanted, str) and not callable(task):
        outputs = [wanted]
    return [make_job(source, task, outputs, settings)]


def _as_dict(outputs: Any) -> dict[str, Any]:
    if outputs is None:
        return {}
    if isinstance(outputs, Mapping):
        return dict(outputs)
    raise ModelError(_ITEM, "outputs", outputs, "give a dict of label to output")


def make_job(source: Any, task: Any, outputs: Any, settings: dict[str, Any]) -> Job:
    """Return the job of one task, after checks of its task, outputs and settings."""
    source = as_model(source) if isinstance(source, System) else source
    if not callable(task) and task not in TASKS:
        raise ModelError(_ITEM, "task", task, f"use {', '.join(map(repr, TASKS))}, or a function")
    try:
        readings = as_readings(outputs, task)
    except ModelError as error:
        raise ModelError(_ITEM, error.field, error.value, error.remedy) from None
    if not callable(task):
        try:
            inspect.signature(TASKS[task]).bind(None, **settings)
        except TypeError as error:
            raise ModelError(_ITEM, f"settings of {task!r}", sorted(settings), str(error)) from None
    if task == "simulate":
        begin = float(settings.get("t_start") or 0.0)
        times = settings.get("times")
        times = np.linspace(begin, float(settings["t_end"]), _N_TIMES) if times is None else np.asarray(times, float)
        settings = {"rtol": _RTOL, **settings, "times": times}
    return Job(source, task, settings, readings)
