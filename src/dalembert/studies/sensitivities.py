"""`sensitivity`: derivatives of a run by numbers of the model and by start values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import IntegrationError, ModelError
from ..model import Model, Sampled, as_model
from ..result import Result
from ..simulation import Event, simulate
from ..simulation.breaks import breaks_until, timetable
from ..system import System
from .changes import Changes, Direction, directions_of
from .readings import Reading, as_readings, reduced
from .switches import across, windows
from .tangents import pieces_of

if TYPE_CHECKING:
    import xarray

__all__ = ["Sensitivity", "sensitivity"]

Array = NDArray[np.float64]

_CHAOS = 1e-3  # growth times tolerance, from where a gradient says little of finite changes
_OURS = ("times", "parameters", "state", "t_start", "on_error", "stream", "resume")


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Outputs of a run and their derivatives.

    Attributes
    ----------
    by : tuple of str, (m,)
        By what.
    t : (k,) s
        Times of outputs that are not reduced.
    values : dict of str to (k, ...) or (...)
    derivatives : dict of str to (k, ..., m) or (..., m)
    units : dict of str to str
        Of the values.
    result : Result
        The run.
    over_time : frozenset of str
        Outputs that are not reduced.
    growth : float
        By how much small changes of the state grew at most, over what they were at the start.
    notes : list of str
    """

    by: tuple[str, ...]
    t: Array
    values: dict[str, Array]
    derivatives: dict[str, Array]
    units: dict[str, str]
    result: Result
    over_time: frozenset[str]
    growth: float
    notes: list[str]

    def __getitem__(self, label: str) -> Array:
        """Return the derivatives of an output."""
        try:
            return self.derivatives[label]
        except KeyError:
            raise ModelError("sensitivity", "output", label, f"it has {', '.join(map(repr, self.values))}") from None

    def __repr__(self) -> str:
        shown = ", ".join(f"{label} {values.shape}" for label, values in self.derivatives.items())
        return f"<Sensitivity of {self.result.labels.system!r} by {len(self.by)}: {shown}>"

    def to_xarray(self) -> xarray.Dataset:
        """Return an xarray Dataset: each output, and ``"d <output>"`` by what it varies with."""
        import xarray

        data = xarray.Dataset(coords={"by": list(self.by), "time": ("time", self.t, {"units": "s"})})
        for label, values in self.values.items():
            over_time = label in self.over_time
            inner = values.shape[1:] if over_time else values.shape
            dims = (*(("time",) if over_time else ()), *(f"{label} [{k}]" for k in range(len(inner))))
            data[label] = (dims, values, {"units": self.units[label]})
            data[f"d {label}"] = ((*dims, "by"), self.derivatives[label])
        return data


def sensitivity(
    system: System | Model,
    outputs: Any,
    by: str | Sequence[str],
    t_end: float,
    *,
    times: ArrayLike | None = None,
    t_start: float = 0.0,
    state: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    rtol: float = 1e-9,
    **settings: Any,
) -> Sensitivity:
    """Return a run and the derivatives of its outputs.

    Small changes are carried along the run with exact derivatives of accelerations, loops, elements, their states and
    flexible bodies included. What a switch makes of them (a bounce, a stop, friction that begins to stick, an event of
    your own) is found by short runs across it, which differ by little.

    Parameters
    ----------
    system : System or Model
    outputs : names, or dict of label to name
        As in `sweep`: outputs over time, ``"A.position"``, or reduced, ``("A.effort", "peak")``.
    by : names
        Numbers of the system (``"coupler.mass"``, ``"C.first.x"``, parameters of your own), and start values
        (``"A"``, ``"A.speed"``, ``"motor.current"``).
    t_end : float, s
    times : (k,) s
        Of the outputs; 101 from start to end if left out, or these two if no more is asked for.
    t_start : float, s
    state : dict of name to value
        Start values, as in `simulate`.
    parameters : dict of name to float
    rtol : float
    settings
        Others of `simulate`: ``events``, ``friction``, ``control``, ``method``, ...

    Returns
    -------
    Sensitivity

    Raises
    ------
    GradientError
        Where no derivative exists: an event that is grazed, or whose order changes with the slightest change.

    Notes
    -----
    How starts follow (loops closed, speeds made consistent), and what outputs make of changes, is varied by central
    differences of fourth order, to about 1e-10.

    Examples
    --------
    A pendulum, by its length and by where it starts:

    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> length = s.parameter("length", 1.0)
    >>> bob = s.body("bob", da.rod(length=length, mass=2.0))
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, bob)
    >>> found = da.sensitivity(s, {"angle": ("A.position", "final")}, ["length", "A"], 1.0, state={"A": 1.4})
    >>> [round(float(d), 6) for d in found["angle"]]
    [0.207393, -0.782318]
    """
    model = as_model(system)
    given = [name for name in _OURS if name in settings]
    if given:
        raise ModelError("sensitivity", given[0], settings[given[0]], "it is not taken here")
    names = (by,) if isinstance(by, str) else tuple(by)
    _mind_memory(model, settings)
    readings = _readings(outputs)
    if state is not None and not isinstance(state, Mapping):
        raise ModelError("sensitivity", "state", type(state).__name__, "give start values by name")
    ends = all(reading.reduce in ("first", "final") for reading in readings)
    wanted = np.linspace(t_start, t_end, 2 if ends else 101) if times is None else np.array(times, dtype=float)
    result = simulate(model, t_end, t_start=t_start, state=state, parameters=parameters, rtol=rtol, **settings)
    _mind(result, t_end, settings)
    directions = directions_of(result, model, names, state, parameters or {}, t_start)
    _mind_breaks(model, directions)
    fixed = _fixed_breaks(result, settings, t_start, t_end)
    kept, growth, held = _carried(result, directions, wanted, fixed, settings)
    notes = list(result.stats.notes)
    if growth * rtol > _CHAOS:
        notes.append(
            f"small changes grew by {growth:.3g}: derivatives are of this motion, and say little of finite changes"
        )
    if held:
        notes.append("changes that the motion damps out within its steps are not resolved")
    values, derivatives, units = {}, {}, {}
    for reading in readings:
        assert reading.name is not None
        output, y, dy = kept.output(reading.name)
        label = reading.label
        values[label], derivatives[label] = reduced(reading, wanted, y, dy)
        units[label] = output.unit
    over_time = frozenset(reading.label for reading in readings if reading.reduce is None)
    return Sensitivity(names, wanted, values, derivatives, units, result, over_time, growth, notes)


def _readings(outputs: Any) -> tuple[Reading, ...]:
    readings = as_readings(outputs, "simulate")
    for reading in readings:
        if reading.name is None:
            raise ModelError("sensitivity", "outputs", reading.label, "give names of outputs, reduced or not")
    return readings


def _mind(result: Result, t_end: float, settings: Mapping[str, Any]) -> None:
    if result.status != "finished" or result.t[-1] < t_end:
        raise IntegrationError(
            f"the run has no end at {t_end:.6g} s to differentiate: {result.status} {result.message}"
        )
    method = str(settings.get("method", "auto"))
    if method.startswith(("scipy:", "cvode", "ida")):
        raise ModelError("sensitivity", "method", method, "use one of our own, such as 'auto'")


def _mind_memory(model: Model, settings: Mapping[str, Any]) -> None:
    """Refuse what acts by states of the past: changes of those would have to be carried along, too."""
    if settings.get("period") is not None or isinstance(settings.get("control"), Sampled):
        remedy = "it acts by its samples, whose changes are not followed: ask it at all times, or use da.sweep"
        raise ModelError("sensitivity", "control", "sampled", remedy)
    if np.isfinite(model.shortest_delay):
        remedy = "changes of the past are not followed: take a state in its place, or use da.sweep"
        raise ModelError("sensitivity", "inputs with a da.Delay", f"{model.shortest_delay:.6g} s", remedy)


def _mind_breaks(model: Model, directions: Sequence[Direction]) -> None:
    """Refuse numbers that move times at which a law breaks: what jumps there would be left out."""
    uses = timetable(model).uses
    for direction in directions:
        if direction.number is not None and model.parameter_names[direction.number] in uses:
            remedy = "it moves a time at which a law jumps, and the jump has no derivative here: use da.sweep"
            raise ModelError("sensitivity", "by", direction.name, remedy)


def _fixed_breaks(result: Result, settings: Mapping[str, Any], t_start: float, t_end: float) -> Array:
    """Return times at which something breaks whatever the state is."""
    model = result.model
    assert model is not None
    pairs = [(None, model.conditions())] if result.conditions is None else result.conditions(np.array([t_start]))
    return breaks_until(pairs[0][1], t_start, t_end, also=settings.get("breaks", ()))


def _noted(settings: Mapping[str, Any]) -> set[str]:
    """Return the names of events that change nothing."""
    events = settings.get("events", ())
    every = [events] if isinstance(events, Event) else events
    return {event.name for event in every if event.action is None and not event.terminal}


def _carried(
    result: Result, directions: Sequence[Direction], wanted: Array, fixed: Array, settings: Mapping[str, Any]
) -> tuple[Changes, float, bool]:
    """Return the changes at all times that are wanted, by how much they grew, and whether some were too fast."""
    begin, end = float(result.t[0]), float(result.t[-1])
    order = sorted(range(len(directions)), key=lambda k: directions[k].number is None)  # numbers first
    numbers = [directions[k].number for k in order if directions[k].number is not None]
    probes = _probes(result)
    y = np.stack([*(directions[k].start for k in order), *probes.T], axis=1)
    found = np.zeros((len(wanted), *y.shape))
    found[wanted <= begin] = y
    growth, held, now = 1.0, False, begin
    for window in [*windows(result, fixed, wanted, _noted(settings)), None]:
        until = end if window is None else window.begin
        if until > now:
            pieces = pieces_of(result, numbers, now, until, wanted)
            every = pieces.forward(y)
            found[np.searchsorted(wanted, pieces.t[:-1])] = every[:-1]
            growth, held = max(growth, _growth(result, probes, every)), held or pieces.held
            y = every[-1]
            found[wanted == until] = y
        if window is not None:
            y = across(result, window, [*(directions[k] for k in order), *_states_only(len(probes.T))], y, settings)
            now = window.end
    found[wanted >= end] = y
    back = np.argsort(order)
    return Changes(result, tuple(directions), wanted, found[:, :, back]), growth, held


def _probes(result: Result) -> Array:
    """Return a few changes of the start (n, c), by which growth is seen."""
    model = result.model
    assert model is not None
    change = np.random.default_rng(0).normal(size=(2 * model.nv + model.nx, 2))
    change[2 * model.nv :] = 0.0
    return np.asarray(change)


def _growth(result: Result, probes: Array, every: Array) -> float:
    """Return by how much small motions, or speeds, have grown at most."""
    model = result.model
    assert model is not None
    most = 1.0
    for part in (slice(0, model.nv), slice(model.nv, 2 * model.nv)):
        size = np.abs(probes[part]).max(initial=0.0)
        most = max(most, float(np.abs(every[:, part, -probes.shape[1] :]).max(initial=0.0) / (size or 1.0)))
    return most


def _states_only(count: int) -> list[Direction]:
    return [Direction("a change of the start", None, 1.0, np.zeros(0))] * count
