"""Recorded outputs of a case: by name, reduced over time, or functions of the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DalembertError, ModelError, UserFunctionError
from ...result import Output, Result
from ...result.outputs.motion import Motion
from ...simulation import Ensemble
from ...statics import Stability

__all__ = [
    "Column",
    "RecordedOutput",
    "as_readings",
    "blank",
    "is_reduction",
    "read",
    "read_runs",
    "reduced",
    "rows_of",
    "scattered",
    "to_its_end",
    "together",
    "value_over_time",
]

Array = NDArray[Any]
TIME = "time"


@dataclass(frozen=True)
class Column:
    """Values of one variable for one case, or for several cases along the first axis."""

    dims: tuple[str, ...]  # of the values of one case
    values: Array
    unit: str = ""
    coords: dict[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordedOutput:
    """Recorded variable: its source, and its reduction over time."""

    label: str
    name: str | None = None  # of an output, or an attribute of the result
    reduce: str | Callable[[Array, Array], Any] | None = None
    function: Callable[[Any], Any] | None = None


def _mean(t: Array, y: Array) -> Array:
    return np.asarray(np.trapezoid(y, t, axis=0) / (t[-1] - t[0])) if len(t) > 1 else y[0]


_REDUCTIONS: dict[str, Callable[[Array, Array], Array]] = {  # of values (n, ...) at times (n,)
    "first": lambda t, y: y[0],
    "final": lambda t, y: y[-1],
    "max": lambda t, y: y.max(axis=0),
    "min": lambda t, y: y.min(axis=0),
    "peak": lambda t, y: np.abs(y).max(axis=0),
    "range": lambda t, y: np.ptp(y, axis=0),
    "mean": _mean,
    "rms": lambda t, y: np.sqrt(_mean(t, y * y)),
    "integral": lambda t, y: np.asarray(np.trapezoid(y, t, axis=0)),
}

_DEFAULTS = {
    "equilibrium": ("stable",),
    "modes": ("frequencies", "damping_ratios"),
    "linearize": ("eigenvalues",),
}
_DIMENSIONS = dict.fromkeys(("frequencies", "damping_ratios", "eigenvalues"), ("mode",))
_UNITS = {"frequencies": "Hz", "eigenvalues": "1/s"}


def as_readings(outputs: Any, task: str | Callable[..., Any]) -> tuple[RecordedOutput, ...]:
    """Return the recorded outputs from user arguments; see `sweep`."""
    if outputs is None:
        if callable(task):
            return ()
        outputs = _DEFAULTS.get(task)
        if outputs is None:
            remedy = "give the outputs to record: ['A.position'], {'peak': ('A.effort', 'peak')}"
            raise ModelError("sweep", "outputs", None, remedy)
    if isinstance(outputs, str) or callable(outputs):
        outputs = [outputs]
    if isinstance(outputs, Mapping):
        pairs = [(label, what) for label, what in outputs.items()]
    elif isinstance(outputs, tuple) and len(outputs) == 2 and is_reduction(outputs[1]):
        pairs = [(None, outputs)]
    elif isinstance(outputs, Sequence):
        pairs = [(None, what) for what in outputs]
    else:
        raise ModelError("sweep", "outputs", outputs, "give names, or a dict of label to name")
    readings = tuple(_reading(label, what) for label, what in pairs)
    labels = [reading.label for reading in readings]
    if len(set(labels)) < len(labels) or not labels:
        raise ModelError("sweep", "outputs", labels, "give each a label of its own, as a dict of label to name")
    return readings


def is_reduction(what: Any) -> bool:
    """Return whether a value reduces an output over time: a name of a reduction, or a function."""
    return callable(what) or (isinstance(what, str) and what in _REDUCTIONS)


def _reading(label: Any, what: Any) -> RecordedOutput:
    if label is not None and (not isinstance(label, str) or not label):
        raise ModelError("sweep", "outputs", label, "labels are names")
    if isinstance(what, str):
        return RecordedOutput(label or what, what)
    if callable(what):
        return RecordedOutput(label or str(getattr(what, "__name__", "output")), function=what)
    if isinstance(what, (tuple, list)) and len(what) == 2 and isinstance(what[0], str):
        name, reduction = what
        if not is_reduction(reduction):
            known = ", ".join(map(repr, _REDUCTIONS))
            raise ModelError("sweep", f"reduction of {name!r}", reduction, f"use {known}, or a function of (t, values)")
        shown = reduction if isinstance(reduction, str) else getattr(reduction, "__name__", "reduced")
        return RecordedOutput(label or f"{name} {shown}", name, reduction)
    raise ModelError("sweep", "outputs", what, "give a name, (name, reduction), or a function of the result")


def read(answer: Any, readings: Sequence[RecordedOutput]) -> dict[str, Column]:
    """Return the recorded outputs of one case."""
    if not readings:  # the unchanged result of a user function
        if not isinstance(answer, Mapping):
            answer = {"answer": answer}
        return {str(name): _plain(str(name), value) for name, value in answer.items()}
    return {reading.label: _one(answer, reading) for reading in readings}


def _one(answer: Any, reading: RecordedOutput) -> Column:
    if reading.function is not None:
        return _plain(reading.label, reading.function(answer))
    assert reading.name is not None
    if isinstance(answer, Result):
        values = answer.output(reading.name)
        rows = slice(len(answer) - 1 if reading.reduce is None and answer.ends_between else len(answer))
        return _over_time(answer.t[rows], values[rows], answer.find_output(reading.name), reading)
    if isinstance(answer, Mapping) and reading.name in answer:
        value = answer[reading.name]
    elif hasattr(answer, reading.name):
        value = getattr(answer, reading.name)
    else:
        try:
            value = answer[reading.name]
        except (KeyError, TypeError, IndexError):
            kind = type(answer).__name__
            raise ModelError(
                "sweep", "output", reading.name, f"the result, {kind}, has no output of this name"
            ) from None
    if reading.reduce is not None:
        remedy = "only outputs over time can be reduced: give a function of the result instead"
        raise ModelError("sweep", f"reduction of {reading.name!r}", reading.reduce, remedy)
    column = _plain(reading.label, value)
    dims = _DIMENSIONS.get(reading.name, ())
    known = len(dims) == column.values.ndim
    return Column(dims if known else column.dims, column.values, _UNITS.get(reading.name, column.unit), column.coords)


def to_its_end(answer: Any) -> Any:
    """Return a run that an event ended between output times, extended by its last state.

    Reductions and functions use the last state; outputs over time keep the times common to all cases.
    """
    if not isinstance(answer, Result) or answer.status != "event" or answer.dense is None or not answer.events:
        return answer
    end = answer.events[-1].t
    if not end > answer.t[-1]:
        return answer
    own = (answer.t, answer.q, answer.v, answer.x)
    last = (np.array([end]), *answer.dense(np.array([end])))
    whole = answer._like(*(np.concatenate(pair) for pair in zip(own, last, strict=True)))
    whole.stats, whole.status, whole.message = answer.stats, answer.status, answer.message
    whole.ends_between = True
    return whole


def value_over_time(motion: Motion, output: Output, reading: RecordedOutput) -> Array:
    """Return the values of one output of a motion, reduced as requested."""
    values = output.value(motion)
    if reading.reduce is None:
        return values
    reduce = _REDUCTIONS[reading.reduce] if isinstance(reading.reduce, str) else reading.reduce
    return np.asarray(reduce(motion.t, values))


def _over_time(t: Array, values: Array, output: Output | None, reading: RecordedOutput) -> Column:
    """Return an output (n, ...) of one run."""
    unit = output.unit if output is not None else ""
    dims = _component_dims(reading.label, values.shape[1:])
    if reading.reduce is None:
        return Column((TIME, *dims), values, unit, {TIME: t})
    if isinstance(reading.reduce, str):
        return Column(dims, np.asarray(_REDUCTIONS[reading.reduce](t, values)), _reduced_unit(unit, reading.reduce))
    return _plain(reading.label, reading.reduce(t, values))


def _reduced_unit(unit: str, reduction: str) -> str:
    return f"{unit} s".strip() if reduction == "integral" else unit


def read_runs(ensemble: Ensemble, readings: Sequence[RecordedOutput]) -> dict[str, Column]:
    """Return the recorded outputs of an ensemble, (B, ...); NaN where a run ended early."""
    return {reading.label: _of_runs(ensemble, reading) for reading in readings}


def _of_runs(ensemble: Ensemble, reading: RecordedOutput) -> Column:
    done = [k for k, status in enumerate(ensemble.status) if status == "finished"]
    if reading.function is not None or callable(reading.reduce):
        try:
            each = [_one(ensemble.run(k), reading) for k in done]
        except DalembertError:
            raise
        except Exception as error:
            raise UserFunctionError(f"the output {reading.label!r} failed: {error!r}") from error
    else:
        assert reading.name is not None
        output = ensemble.find_output(reading.name)
        values = ensemble.output(reading.name)[done]
        unit = output.unit if output is not None else ""
        dims = _component_dims(reading.label, values.shape[2:])
        if reading.reduce is None:
            got = Column((TIME, *dims), values, unit, {TIME: ensemble.t})
        else:
            assert isinstance(reading.reduce, str)
            reduced = _REDUCTIONS[reading.reduce](ensemble.t, np.moveaxis(values, 1, 0))
            got = Column(dims, np.asarray(reduced), _reduced_unit(unit, reading.reduce))
        return scattered(got, done, len(ensemble))
    return (
        scattered(together([(rows_of(column), 1) for column in each]), done, len(ensemble))
        if each
        else Column((), np.full(len(ensemble), np.nan))
    )


def rows_of(column: Column) -> Column:
    """Return the values of one case with a leading axis of cases."""
    return Column(column.dims, column.values[None], column.unit, column.coords)


def scattered(column: Column, numbers: Sequence[int], count: int) -> Column:
    """Return the values of some cases as those of all `count` cases; the others are blank."""
    if list(numbers) == list(range(count)):
        return column
    kind = _roomy(column.values.dtype)
    values = np.full((count, *column.values.shape[1:]), blank(kind), dtype=kind)
    values[list(numbers)] = column.values
    return Column(column.dims, values, column.unit, column.coords)


def together(parts: Sequence[tuple[Column | None, int]]) -> Column:
    """Concatenate parts, each with its number of cases, into one column.

    Shorter values, and cases of a part without values, are padded.
    """
    known = [column for column, _ in parts if column is not None]
    first = known[0]
    shapes = [column.values.shape[1:] for column in known]
    shape = tuple(np.max(shapes, axis=0).astype(int)) if first.dims else ()
    kind = np.result_type(*[column.values.dtype for column in known])
    if len(known) < len(parts) or any(other != shape for other in shapes):
        kind = _roomy(kind)
    values = np.full((sum(count for _, count in parts), *shape), blank(kind), dtype=kind)
    begin = 0
    for column, count in parts:
        if column is not None:
            values[(slice(begin, begin + count), *map(slice, column.values.shape[1:]))] = column.values
        begin += count
    longest = max(known, key=lambda column: column.values[:1].size)
    return Column(first.dims, values, first.unit, _shared(known, longest))


def _shared(known: Sequence[Column], longest: Column) -> dict[str, Array]:
    """Return coordinates common to all cases, up to the length of each."""
    return {
        name: place
        for name, place in longest.coords.items()
        if all(np.array_equal(place[: len(c.coords.get(name, ()))], c.coords.get(name, ())) for c in known)
    }


def _roomy(kind: np.dtype[Any]) -> np.dtype[Any]:
    """Return a dtype that can represent missing values."""
    return np.dtype(float) if kind.kind in "iub" else np.dtype(object) if kind.kind in "US" else kind


def blank(kind: np.dtype[Any]) -> Any:
    """Return the fill value of a dtype for missing values."""
    return np.nan if kind.kind in "fc" else "" if kind.kind in "US" else None if kind.kind == "O" else 0


def _plain(label: str, value: Any) -> Column:
    """Convert the result of a user function: a number, an array, a string, or an xarray DataArray."""
    if hasattr(value, "dims") and hasattr(value, "coords"):
        coords = {str(d): np.asarray(value.coords[d]) for d in value.dims if d in value.coords}
        return Column(tuple(map(str, value.dims)), np.asarray(value), str(value.attrs.get("units", "")), coords)
    values = np.asarray(bool(value) if isinstance(value, Stability) else value)
    if values.dtype.kind not in "fciubUS":
        remedy = "return numbers, strings, arrays of them, or a dict of these"
        raise ModelError("sweep", f"output {label!r}", type(value).__name__, remedy)
    return Column(tuple(f"{label} [{k}]" for k in range(values.ndim)), values)


def _component_dims(label: str, shape: Sequence[int]) -> tuple[str, ...]:
    """Return names of the dimensions of an output besides time."""
    return ("axis",) if tuple(shape) == (3,) else tuple(f"{label} [{k}]" for k in range(len(shape)))


def reduced(reading: RecordedOutput, t: Array, y: Array, dy: Array) -> tuple[Array, Array]:
    """Reduce an output (n, ...) and its derivatives (n, ..., m) over time."""
    reduce = reading.reduce
    if reduce is None:
        return y, dy
    if not isinstance(reduce, str):
        remedy = "its derivative is not available: request the output over time, and reduce it afterwards"
        raise ModelError("sensitivity", f"reduction of {reading.name!r}", reduce, remedy)
    value = np.asarray(_REDUCTIONS[reduce](t, y))
    if reduce in ("first", "final", "mean", "integral"):
        return value, np.asarray(_REDUCTIONS[reduce](t, dy))
    if reduce == "rms":
        with np.errstate(invalid="ignore", divide="ignore"):
            return value, _mean(t, y[..., None] * dy) / value[..., None]
    top, low = _at(dy, y.argmax(axis=0)), _at(dy, y.argmin(axis=0))
    if reduce == "peak":
        return value, np.where((y.max(axis=0) >= -y.min(axis=0))[..., None], top, -low)
    return value, {"max": top, "min": low, "range": top - low}[reduce]


def _at(dy: Array, place: Array) -> Array:
    """Return derivatives (..., m) at the time index of each component."""
    return np.asarray(np.take_along_axis(dy, place[None, ..., None], axis=0)[0])
