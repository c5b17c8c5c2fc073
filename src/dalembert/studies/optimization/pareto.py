"""`pareto`: designs of a system with several objectives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ...checks import checked, whole_number
from ...errors import ModelError
from ...model import Model, as_model
from ...system import System
from ..sweeps.cases import Case
from .design_optimization import check_names, make_job
from .design_search import DesignSearch, as_objectives
from .design_variables import make_variables
from .evaluator import Evaluator
from .objectives import Goal
from .pareto_front import ParetoFront
from .scatter import make_scatter

__all__ = ["pareto"]

_ITEM = "pareto"


@checked("task", "population", "evaluations")
def pareto(
    system: System | Model | Callable[[Case], System],
    over: Mapping[str, Any],
    minimize: Any = None,
    *,
    maximize: Any = None,
    subject_to: Mapping[str, Any] | None = None,
    outputs: Any = None,
    task: str | Callable[..., Any] = "simulate",
    method: str = "nsga2",
    population: int = 40,
    evaluations: int = 1600,
    seed: int = 0,
    scatter: Mapping[str, Any] | None = None,
    samples: int = 32,
    measure: str | Mapping[str, str] = "mean",
    **settings: Any,
) -> ParetoFront:
    """Find designs of which none is better than another in all objectives.

    Parameters
    ----------
    system : System, Model, or function of a Case that returns a System
    over : dict of name to (lower, upper), range or set
        Design variables as in `optimize`: real, integer or discrete.
    minimize, maximize : label of an output or variable, function of a dict, or list of these
    subject_to, outputs, task
        As in `optimize`.
    method : str
        As in `DesignSearch`: ``"nsga2"`` (extra ``pareto``), ``"tpe"`` (extra ``bayesian``).
    population : int
        Points that are evaluated together, as an ensemble where the task supports it.
    evaluations : int
        Number of evaluated points.
    seed : int
    scatter, samples, measure
        As in `optimize`: objectives and constraints by statistics over random deviations.
    settings
        Settings of the task.

    Returns
    -------
    ParetoFront
        Points at which the task fails are recorded; the message counts them, with the most frequent reason.

    Examples
    --------
    A stiffer spring moves less and stores more:

    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    >>> _ = s.connect("k", da.TorsionSpring(stiffness=10.0), "A")
    >>> front = da.pareto(
    ...     s, {"k.stiffness": (5.0, 50.0)}, ["k.stiffness", "swing"], outputs={"swing": ("A.position", "peak")},
    ...     t_end=2.0, population=8, evaluations=16)
    >>> len(front) >= 2
    True
    """
    job = make_job(as_model(system) if isinstance(system, System) else system, task, outputs, settings)
    model = job.source if isinstance(job.source, Model) else None
    variables = make_variables(_ITEM, over, None, model)
    check_names([job], variables, item=_ITEM)
    own = tuple(reading.label for reading in job.readings)
    free = () if own else tuple(one for one in _texts(minimize) + _texts(maximize) + list(subject_to or {}))
    objectives = as_objectives(_ITEM, minimize, maximize, subject_to, (*own, *free, *variables.names))
    search = DesignSearch(
        {}, method=method, population=population, seed=seed, _variables=variables, _objectives=objectives
    )
    evaluator = Evaluator([job], variables, Goal("outputs", lambda o: 0.0), [])
    own_names = model if isinstance(task, str) else None  # a user task reads any name
    evaluator.scatter = make_scatter(_ITEM, scatter, samples, measure, int(seed), variables.names, own_names)
    population = whole_number(population, item=_ITEM, field="population", least=4)
    left, interruption = whole_number(evaluations, item=_ITEM, field="evaluations", least=population), ""
    while left > 0:
        try:
            points = search.ask(min(population, left))
            found = evaluator.outputs([variables.position(point) for point in points])
        except KeyboardInterrupt:
            interruption = "interrupted by Ctrl-C"
            break
        search.tell(points, [error or values for values, error in found])
        left -= len(points)
    front = search.front
    if interruption and not front.evaluations:
        raise KeyboardInterrupt
    return replace(front, notes=[interruption]) if interruption else front


def _texts(wanted: Any) -> list[str]:
    given = [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, (list, tuple)) else []
    if not isinstance(wanted, (str, list, tuple, type(None))) and not callable(wanted):
        raise ModelError(_ITEM, "minimize", wanted, "give labels of outputs, functions, or a list of them")
    return [one for one in given if isinstance(one, str)]
