"""`sensitivity`: derivatives of outputs by model parameters and start values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ...answer import Answer, list_text, range_text
from ...arrays import Array
from ...checks import checked
from ...errors import GradientError, IntegrationError, ModelError
from ...model import Model, SampledControl, as_model
from ...model.callbacks import shortest_delay
from ...result import Result
from ...simulation import Event, simulate
from ...simulation.contact.contact_steps import StepContacts
from ...simulation.events.discontinuity_times import discontinuity_sources, discontinuity_times_until
from ...system import System
from ..sweeps.recorded_outputs import RecordedOutput, as_readings, reduced
from .closed_contacts import closed_contacts
from .contact_runs import check_contact_output, contact_source, step_changes
from .directions import ParameterDirection, StateDerivatives, directions_of
from .equilibrium import equilibrium_slopes, mode_slopes
from .kinematic import KinematicDerivatives
from .propagation import LinearizedRun
from .saltation import windows

if TYPE_CHECKING:
    import xarray

__all__ = ["Sensitivity", "sensitivity"]


CHAOS_TOL = 1e-3  # growth times tolerance beyond which a gradient does not predict finite changes
ADJOINT_RATIO = 8  # directions per output from which on the adjoint method is cheaper
RESERVED_SETTINGS = ("times", "parameters", "state", "t_start", "on_error", "stream", "resume")


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(Answer):
    """Outputs of a run and their derivatives.

    Attributes
    ----------
    by : tuple of str, (m,)
        Names of the parameters and start values.
    t : (k,) s
        Times of outputs without reduction.
    values : dict of str to (k, ...) or (...)
    derivatives : dict of str to (k, ..., m) or (..., m)
    units : dict of str to str
        Of the values.
    result : Result
        The run.
    over_time : frozenset of str
        Outputs without reduction.
    growth : float
        Largest growth of small changes of the state since the start.
    notes : list of str
    mode : str
        ``"forward"`` or ``"adjoint"``; ``"implicit"`` for equilibria and driven motions.
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
    mode: str = "forward"

    def __getitem__(self, label: str) -> Array:
        """Return the derivatives of an output."""
        try:
            return self.derivatives[label]
        except KeyError:
            raise ModelError("sensitivity", "output", label, f"it has {', '.join(map(repr, self.values))}") from None

    def _subject(self) -> str:
        return str(self.result.labels.system)

    def _headline(self) -> str:
        shown = (f"{label} {range_text(values)}" for label, values in self.derivatives.items())
        return f"derivatives by {list_text(self.by, 3)}: {list_text(shown, 3)}"

    def __str__(self) -> str:
        """Return a table with a line per parameter and a column per output; for outputs over time, the last value."""
        columns = {}
        for label, values in self.values.items():
            over_time = label in self.over_time
            last, slopes = (values[-1], self.derivatives[label][-1]) if over_time else (values, self.derivatives[label])
            for place in np.ndindex(last.shape):
                name = label + "".join(f"[{k}]" for k in place) + (" (last)" if over_time else "")
                unit = self.units[label]
                value = f"{last[place]:.6g} {unit}".rstrip()
                columns[name] = [value, *(f"{slope:.6g}" for slope in slopes[place])]
        first = ["value", *(f"by {name}" for name in self.by)]
        rows = [
            ["", *columns],
            *([head, *row] for head, row in zip(first, zip(*columns.values(), strict=True), strict=True)),
        ]
        wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(wide[0]), *(cell.rjust(n) for cell, n in zip(row[1:], wide[1:], strict=True))])
            for row in rows
        ]
        title = f"sensitivities of {self.result.labels.system!r}, {self.mode}"
        return "\n".join([title, *(f"  {line}" for line in lines), *(f"  note: {note}" for note in self.notes)])

    def to_xarray(self) -> xarray.Dataset:
        """Return an xarray Dataset with each output, and its derivatives ``"d <output>"``."""
        import xarray

        axis = self.result.axis
        over = "time" if axis.is_time else axis.name
        data = xarray.Dataset(coords={"by": list(self.by), over: (over, self.t, {"units": axis.unit})})
        for label, values in self.values.items():
            over_time = label in self.over_time
            inner = values.shape[1:] if over_time else values.shape
            dims = (*((over,) if over_time else ()), *(f"{label} [{k}]" for k in range(len(inner))))
            data[label] = (dims, values, {"units": self.units[label]})
            data[f"d {label}"] = ((*dims, "by"), self.derivatives[label])
        return data


@checked("by", "t_end", "task", "times", "t_start", "parameters", "mode")
def sensitivity(
    system: System | Model,
    outputs: Any,
    by: str | Sequence[str],
    t_end: float | None = None,
    *,
    task: str = "simulate",
    times: ArrayLike | None = None,
    t_start: float = 0.0,
    state: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    rtol: float = 1e-9,
    mode: str = "auto",
    **settings: Any,
) -> Sensitivity:
    """Compute the derivatives of outputs by parameters and start values.

    Small changes are propagated along the run with exact derivatives of accelerations, including loops, elements, their
    states and flexible bodies. The effect of a switch (impact, stop, onset of sticking, user event) is found by short
    perturbed runs across it.

    Parameters
    ----------
    system : System or Model
    outputs : names, or dict of label to name
        As in `sweep`: outputs over time, ``"A.position"``, or reduced, ``("A.effort", "peak")``.
    by : names
        Parameters of the system (``"coupler.mass"``, ``"C.first.x"``, user parameters), start values
        (``"A"``, ``"A.speed"``, ``"motor.current"``), and friction and restitution of rigid contacts
        (``"floor.friction"``, ``"floor.restitution"``).
    t_end : float, s
        End of the run.
    task : str
        ``"simulate"``; ``"kinematics"``, with its settings ``times=`` or ``drive=`` and ``values=``: all outputs of a
        driven motion, also efforts of drives; ``"equilibrium"``, with outputs at the equilibrium, ``"A.position"``; or
        ``"modes"`` about it: ``"eigenvalues"``, ``"frequencies"``, ``"natural_frequencies"``, ``"damping_ratios"``.
        The last two have derivatives by parameters of the system only; settings are those of `equilibrium`. A
        kinematic motion has derivatives by parameters, by the coordinate of ``drive=`` (a shift of all its values), and
        by start values of drives that prescribe velocities or accelerations. Other start values only select the branch.
    times : (k,) s
        Output times; default 101 from start to end, or only these two if all outputs are reduced.
    t_start : float, s
    state : dict of name to value
        Start values, as in `simulate`.
    parameters : dict of name to float
    rtol : float
    mode : str
        ``"forward"``: changes are propagated forward along the run. ``"adjoint"``: output derivatives are propagated
        backward; the cost grows with the number of outputs, hardly with the number of names. ``"auto"``: chosen by
        these numbers. Both give the same derivatives to rounding. The adjoint of a switch needs a few short runs for
        every entry of the state. If a switch has no derivative by one of them, as at a stop, the forward mode is used,
        with a note.
    settings
        Other settings of `simulate`: ``events``, ``friction``, ``control``, ``method``, ...

    Returns
    -------
    Sensitivity

    Raises
    ------
    GradientError
        If no derivative exists: a grazed event or impact, or events whose order changes with a small change.

    Notes
    -----
    Derivatives of the initial state (closed loops, consistent velocities), and of outputs by the state, use
    fourth-order central differences, accurate to about 1e-10. With rigid contact by events, rates with closed points
    are differentiated so, too; runs by steps are differentiated step by step, and step ends are put at output times.

    Examples
    --------
    A pendulum, by its length and by its initial angle:

    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> length = s.parameter("length", 1.0)
    >>> bob = s.body("bob", da.rod(length=length, mass=2.0))
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, bob)
    >>> found = da.sensitivity(s, {"angle": ("A.position", "final")}, ["length", "A"], 1.0, state={"A": 1.4})
    >>> [round(float(d), 6) for d in found["angle"]]
    [0.207393, -0.782318]
    """
    model, names = as_model(system), (by,) if isinstance(by, str) else tuple(by)
    if not names or len(set(names)) < len(names):
        raise ModelError("sensitivity", "by", names, "give names, each once")
    if task == "kinematics":
        return _prescribed(model, outputs, names, {"times": times, "parameters": parameters, **settings}, t_end, state)
    if task != "simulate":
        return _at_rest(model, outputs, names, task, {"state": state, "parameters": parameters, **settings}, t_end)
    if t_end is None:
        raise ModelError("sensitivity", "t_end", None, "give the end time of the run")
    given = [name for name in RESERVED_SETTINGS if name in settings]
    if given:
        raise ModelError(
            "sensitivity", given[0], settings[given[0]], "it is not a setting of sensitivity: leave it out"
        )
    _check_memory(model, settings)
    readings = _readings(outputs)
    if state is not None and not isinstance(state, Mapping):
        raise ModelError("sensitivity", "state", type(state).__name__, "give start values by name")
    ends = all(reading.reduce in ("first", "final") for reading in readings)
    wanted = np.linspace(t_start, t_end, 2 if ends else 101) if times is None else np.array(times, dtype=float)
    if wanted.ndim != 1:
        raise ModelError("sensitivity", "times", times, "give one or more times in increasing order")
    given_settings = settings
    if str(settings.get("contact", "auto")).startswith("steps") or settings.get("error") is not None:
        breaks = np.union1d(settings.get("discontinuity_times", ()), wanted[(wanted > t_start) & (wanted < t_end)])
        given_settings = {**settings, "discontinuity_times": breaks}
    result = simulate(model, t_end, t_start=t_start, state=state, parameters=parameters, rtol=rtol, **given_settings)
    _check_values(result, t_end, settings)
    source = contact_source(result)
    if source is not None:
        for reading in readings:
            check_contact_output(result, str(reading.name))
    directions = directions_of(result, model, names, state, parameters or {}, t_start)
    _check_discontinuity_times(model, directions)
    if isinstance(source, StepContacts):
        by_steps = _by_steps(result, source, directions, readings, wanted, names)
        if _backwards(mode, directions, readings, wanted, False):
            by_steps.notes.append("mode='forward' was used: runs with contact by steps have no adjoint here")
        return by_steps
    fixed = _fixed_discontinuity_times(result, settings, t_start, t_end)
    contacts = closed_contacts(result)
    start_notes: list[str] = []
    if contacts is not None:
        directions, start_notes = contacts.on_closed_points(directions)
    order = sorted(range(len(names)), key=lambda k: directions[k].number is None)  # parameters first
    switches = windows(result, fixed, wanted, _noted(settings))
    backwards = _backwards(mode, directions, readings, wanted, not switches)
    sorted_directions = [directions[k] for k in order]

    def linearized(backwards: bool) -> LinearizedRun:
        return LinearizedRun.of(result, sorted_directions, wanted, switches, settings, rtol, backwards)

    course = linearized(backwards)
    notes = [*result.stats.notes, *start_notes]
    found = None
    if backwards:
        try:
            found = _by_outputs(course, readings)
        except GradientError as error:  # for a change of the state outside the requested directions, as off a stop
            notes.append(f"mode='forward' was used, because the adjoint failed: {error}")
            backwards = False
            course = linearized(backwards)
    values, sorted_ones, units, growth = found or _by_directions(course, readings)
    derivatives = {label: d[..., np.argsort(order)] for label, d in sorted_ones.items()}
    if growth * rtol > CHAOS_TOL:
        notes.append(
            f"small changes grew by {growth:.3g}: derivatives are valid for this motion, but predict no finite changes"
        )
    if course.held:
        notes.append("changes that decay within one step were not resolved")
    over_time = frozenset(reading.label for reading in readings if reading.reduce is None)
    done = "adjoint" if backwards else "forward"
    return Sensitivity(names, wanted, values, derivatives, units, result, over_time, growth, notes, done)


def _by_steps(
    result: Result,
    source: StepContacts,
    directions: Sequence[ParameterDirection],
    readings: Sequence[RecordedOutput],
    wanted: Array,
    names: tuple[str, ...],
) -> Sensitivity:
    """Return derivatives of a run with rigid contact by steps."""
    found, growth, notes = step_changes(result, source, directions, wanted)
    kept = StateDerivatives(result, tuple(directions), wanted, found)
    values, derivatives, units = _reduced_outputs(kept, readings, wanted)
    over_time = frozenset(reading.label for reading in readings if reading.reduce is None)
    every = [*result.stats.notes, *notes]
    return Sensitivity(names, wanted, values, derivatives, units, result, over_time, growth, every)


def _at_rest(
    model: Model, outputs: Any, names: tuple[str, ...], task: str, settings: Mapping[str, Any], t_end: float | None
) -> Sensitivity:
    """Return derivatives of an equilibrium, or of the modes about it."""
    tasks = {"equilibrium": equilibrium_slopes, "modes": mode_slopes}
    if task not in tasks:
        raise ModelError("sensitivity", "task", task, "use 'simulate', 'kinematics', 'equilibrium' or 'modes'")
    if t_end is not None:
        raise ModelError("sensitivity", "t_end", t_end, f"{task} has no end: leave it out, or give t=")
    readings = _readings(outputs)
    requested = {}
    for reading in readings:
        if reading.reduce is not None:
            raise ModelError(
                "sensitivity",
                f"reduction of {reading.name!r}",
                reading.reduce,
                "this task has no time axis: leave it out",
            )
        requested[reading.label] = str(reading.name)
    result, values, derivatives, units = tasks[task](model, requested, names, settings)
    return Sensitivity(names, result.t, values, derivatives, units, result, frozenset(), 1.0, [], "implicit")


def _prescribed(
    model: Model, outputs: Any, names: tuple[str, ...], settings: dict[str, Any], t_end: float | None, state: Any
) -> Sensitivity:
    """Return derivatives of a kinematic motion."""
    for name, given in (("t_end", t_end), ("state", state)):
        if given is not None:
            remedy = "give times=, or drive= and values=, for a kinematic motion"
            raise ModelError("sensitivity", name, given, remedy)
    if settings.pop("on_error", "raise") != "raise":
        raise ModelError(
            "sensitivity",
            "on_error",
            "return",
            "a motion that ends early has no derivatives after its end: leave it out",
        )
    parameters = settings.pop("parameters")
    readings = _readings(outputs)
    found = KinematicDerivatives(model.with_parameters(dict(parameters)) if parameters else model, names, settings)
    values, derivatives, units = _reduced_outputs(found, readings, found.t)
    over_time = frozenset(reading.label for reading in readings if reading.reduce is None)
    notes = list(found.result.stats.notes)
    return Sensitivity(names, found.t, values, derivatives, units, found.result, over_time, 1.0, notes, "implicit")


def _readings(outputs: Any) -> tuple[RecordedOutput, ...]:
    readings = as_readings(outputs, "simulate")
    for reading in readings:
        if reading.name is None:
            raise ModelError("sensitivity", "outputs", reading.label, "give names of outputs, reduced or not")
    return readings


def _check_values(result: Result, t_end: float, settings: Mapping[str, Any]) -> None:
    if result.status != "finished" or result.t[-1] < t_end:
        raise IntegrationError(f"the run did not reach t_end = {t_end:.6g} s: {result.status} {result.message}")
    method = str(settings.get("method", "auto"))
    if method.startswith(("scipy:", "cvode", "ida")):
        raise ModelError("sensitivity", "method", method, "use a built-in method, such as 'auto'")


def _check_memory(model: Model, settings: Mapping[str, Any]) -> None:
    """Raise for sampled control and delays: derivatives by past states are not propagated."""
    if settings.get("control_period") is not None or isinstance(settings.get("control"), SampledControl):
        remedy = "derivatives of sampled values are not supported: use continuous control, or da.sweep"
        raise ModelError("sensitivity", "control", "sampled", remedy)
    if np.isfinite(shortest_delay(model)):
        remedy = "derivatives of past states are not supported: replace the delay by a lag state, or use da.sweep"
        raise ModelError("sensitivity", "inputs with a da.Delay", f"{shortest_delay(model):.6g} s", remedy)


def _check_discontinuity_times(model: Model, directions: Sequence[ParameterDirection]) -> None:
    """Raise for parameters that move discontinuity times of a law: the jump there has no derivative."""
    uses = discontinuity_sources(model).uses
    for direction in directions:
        if direction.number in model.parameter_names and model.parameter_names[direction.number] in uses:
            remedy = "it moves a discontinuity time of a law, which is not supported: use da.sweep"
            raise ModelError("sensitivity", "by", direction.name, remedy)


def _fixed_discontinuity_times(result: Result, settings: Mapping[str, Any], t_start: float, t_end: float) -> Array:
    """Return discontinuity times that do not depend on the state."""
    model = result.model
    assert model is not None
    pairs = [(None, model.conditions())] if result.conditions is None else result.conditions(np.array([t_start]))
    return discontinuity_times_until(pairs[0][1], t_start, t_end, also=settings.get("discontinuity_times", ()))


def _noted(settings: Mapping[str, Any]) -> set[str]:
    """Return the names of events without effect."""
    events = settings.get("events", ())
    every = [events] if isinstance(events, Event) else events
    return {event.name for event in every if event.action is None and not event.terminal}


def _backwards(
    way: str, directions: Sequence[ParameterDirection], readings: Sequence[RecordedOutput], wanted: Array, smooth: bool
) -> bool:
    """Return whether the adjoint mode is used."""
    if way not in ("auto", "forward", "adjoint"):
        raise ModelError("sensitivity", "mode", way, "use 'auto', 'forward' or 'adjoint'")
    if way != "auto":
        return way == "adjoint"
    many = sum(len(wanted) if reading.reduce is None else 1 for reading in readings)
    return smooth and len(directions) > ADJOINT_RATIO and many * ADJOINT_RATIO <= len(directions)


def _by_outputs(
    course: LinearizedRun, readings: Sequence[RecordedOutput]
) -> tuple[dict[str, Array], dict[str, Array], dict[str, str], float]:
    """Return values, derivatives and units of outputs by the adjoint mode, and the growth."""
    result, wanted, directions = course.result, course.wanted, course.directions
    n = len(directions[0].start)
    units = [ParameterDirection(f"change {k} of the state", None, 1.0, row) for k, row in enumerate(np.eye(n))]
    numbers = [direction for direction in directions if direction.number is not None]
    change = np.concatenate([np.eye(n), np.zeros((n, len(numbers)))], axis=1)
    local = StateDerivatives(result, (*units, *numbers), wanted, np.broadcast_to(change, (len(wanted), *change.shape)))
    values, derivatives, words, seeds, spans, direct = {}, {}, {}, [], [], []
    for reading in readings:
        assert reading.name is not None
        output, y, dy = local.output(reading.name)
        label, count = reading.label, len(wanted)
        one_hot = np.zeros((*y.shape, count))
        one_hot[np.arange(count), ..., np.arange(count)] = 1.0
        values[label], weights = reduced(reading, wanted, y, one_hot)
        inner = y[0].size
        weights = weights.reshape(-1, inner, count)  # of each requested value, by component and time
        over = count if reading.reduce is None else 1
        slopes = dy.reshape(count, inner, -1)
        seeds.append(np.einsum("oik,kin->knoi", weights, slopes[..., :n]).reshape(count, n, over * inner))
        direct.append(np.einsum("oik,kim->moi", weights, slopes[..., n:]).reshape(-1, over * inner))
        spans.append((label, values[label].shape))
        words[label] = output.unit
    every, growth = course.backward(np.concatenate(seeds, axis=2))
    every[: len(numbers)] += np.concatenate(direct, axis=1)
    place = 0
    for label, shape in spans:
        size = int(np.prod(shape, dtype=int))
        derivatives[label] = every[:, place : place + size].T.reshape(*shape, len(directions))
        place += size
    return values, derivatives, words, growth


def _by_directions(
    course: LinearizedRun, readings: Sequence[RecordedOutput]
) -> tuple[dict[str, Array], dict[str, Array], dict[str, str], float]:
    """Return values, derivatives and units of outputs by the forward mode, and the growth."""
    found, growth = course.forward()
    kept = StateDerivatives(course.result, course.directions, course.wanted, found)
    return *_reduced_outputs(kept, readings, course.wanted), growth


def _reduced_outputs(
    source: StateDerivatives | KinematicDerivatives, readings: Sequence[RecordedOutput], t: Array
) -> tuple[dict[str, Array], dict[str, Array], dict[str, str]]:
    """Return values, derivatives and units of outputs by label, reduced over the times (k,)."""
    values, derivatives, units = {}, {}, {}
    for reading in readings:
        assert reading.name is not None
        output, y, dy = source.output(reading.name)
        values[reading.label], derivatives[reading.label] = reduced(reading, t, y, dy)
        units[reading.label] = output.unit
    return values, derivatives, units
