"""Control channels of rollouts: values by name as one array, and the joint forces and inputs that they set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...checks import did_you_mean
from ...errors import ModelError
from ...model import ControlSequence, Model
from ...model.drive_targets import driven_dof

__all__ = ["Channels", "control_channels"]

HOLDS = ("zero", "linear")


@dataclass(frozen=True, eq=False)
class Channels:
    """Control values of all runs, and the quantities that they set.

    Attributes
    ----------
    names : tuple of str, (m,)
        Velocities, whose joint forces they are, and inputs and parameters of elements.
    values : (K, m) or (B, K, m); with linear hold K + 1 values
        N m or N for joint forces.
    linear : bool
    """

    names: tuple[str, ...]
    values: Array
    linear: bool

    @property
    def n_intervals(self) -> int:
        """Number of control intervals K."""
        return int(self.values.shape[-2]) - self.linear

    def sequence(self, model: Model, times: Array) -> ControlSequence:
        """Return the sequence of the first run in the core, for times (K + 1,) s."""
        places = {name: k for k, name in enumerate(self.names)}
        force = [places.get(name, -1) for name in model.speed_names]
        given = [places.get(name, -1) for name in model.compiled.elements.inputs_by_law]
        first = self.values if self.values.ndim == 2 else self.values[0]
        numbers = [-1] * model.n_element_parameters
        for name, channel in places.items():
            if name not in model.speed_names and name not in model.compiled.elements.inputs_by_law:
                numbers[model.parameter_names[name]] = channel
        return ControlSequence(times, self.linear, force, given, numbers, np.ascontiguousarray(first))


def control_channels(
    model: Model, controls: Mapping[str, ArrayLike] | ArrayLike, inputs: Sequence[str] | None, hold: str
) -> Channels:
    """Return the channels of `rollout`, checked.

    Parameters
    ----------
    model : Model
    controls : dict of name to (K,) or (B, K), or an array (K, m) or (B, K, m)
    inputs : sequence of str, (m,)
        Names of the columns of an array; all velocities if left out.
    hold : str
        ``"zero"`` or ``"linear"``.
    """
    if hold not in HOLDS:
        raise ModelError("rollout", "hold", hold, "use 'zero' (constant in each interval) or 'linear'")
    if isinstance(controls, Mapping):
        if inputs is not None:
            raise ModelError("rollout", "inputs", inputs, "controls by name have names already: leave inputs out")
        names, values = _by_name(model, controls)
    else:
        names, values = _by_column(model, controls, inputs)
    if values.ndim == 3 and not len(values):
        raise ModelError("rollout", "number of runs", 0, "give controls for one run or more")
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise ModelError("rollout", "controls", sorted(repeated), "give each velocity and each input once")
    if values.shape[-2] < 1 + (hold == "linear"):
        remedy = (
            "give one value or more" if hold == "zero" else "linear hold takes a value at both ends of each interval"
        )
        raise ModelError("rollout", "number of control values", values.shape[-2], remedy)
    return Channels(tuple(names), np.ascontiguousarray(values), hold == "linear")


def _by_name(model: Model, controls: Mapping[str, ArrayLike]) -> tuple[list[str], Array]:
    """Return names and values of controls by name; a joint of several velocities takes (..., K, n)."""
    names: list[str] = []
    columns: dict[str, Array] = {}
    for name, value in controls.items():
        mine = _targets(model, name)
        array = _numbers(value, f"controls[{name!r}]")
        if len(mine) > 1 and (array.ndim < 2 or array.shape[-1] != len(mine)):
            remedy = f"give (K, {len(mine)}) or (B, K, {len(mine)}): a column for each of {', '.join(map(repr, mine))}"
            raise ModelError("rollout", f"the shape of controls[{name!r}]", array.shape, remedy)
        array = array if len(mine) > 1 else array[..., None]
        if array.ndim not in (2, 3):
            raise ModelError("rollout", f"the shape of controls[{name!r}]", array.shape[:-1], "give (K,) or (B, K)")
        names += mine
        columns[name] = array
    if not columns:
        raise ModelError("rollout", "controls", controls, "give one control or more")
    lengths = {name: array.shape[-2] for name, array in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ModelError("rollout", "numbers of control values", lengths, "give as many values for each name")
    counts = {name: len(array) for name, array in columns.items() if array.ndim == 3}
    if len(set(counts.values()) - {1}) > 1:
        raise ModelError("rollout", "numbers of runs", counts, "give controls for the same number of runs, or for one")
    shape = (0 if 0 in counts.values() else max(counts.values()),) if counts else ()
    rows = next(iter(lengths.values()))
    parts = [np.broadcast_to(array, (*shape, rows, array.shape[-1])) for array in columns.values()]
    return names, np.concatenate(parts, axis=-1)


def _by_column(model: Model, controls: Any, inputs: Sequence[str] | None) -> tuple[list[str], Array]:
    """Return names and values of an array of controls."""
    values = _numbers(controls, "controls")
    given = model.speed_names if inputs is None else [inputs] if isinstance(inputs, str) else inputs
    names = [target for name in given for target in _targets(model, name)]
    if values.ndim not in (2, 3) or values.shape[-1] != len(names):
        m = len(names)
        remedy = f"give (K, {m}) or (B, K, {m}), a column for each of {', '.join(map(repr, names[:6]))}"
        raise ModelError("rollout", "the shape of controls", values.shape, remedy)
    return names, values


def _numbers(value: Any, field: str) -> Array:
    """Return an array of numbers; NaN is allowed, it ends the run."""
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError("rollout", field, value, "give an array of numbers") from None


def _targets(model: Model, name: Any) -> list[str]:
    """Return the velocities, or the input or parameter of an element, that a name stands for.

    An input that was given as a number, ``inputs={"u": 0.0}``, is a parameter.
    """
    if not isinstance(name, str):
        raise ModelError("rollout", "control", name, "give the name of a velocity, joint, input or parameter")
    laws = model.compiled.elements.inputs_by_law
    label = name if name in laws else name.removesuffix(".value")
    if label in laws:
        return [label]
    spans, count = model.compiled.names.v, model.n_element_parameters
    if name in model.speed_names:
        found = [name]
    elif model.parameter_names.get(name, count) < count:
        expression = model.family.compiled.numbers.follows.get(model.parameter_names[name])
        if expression is not None:
            raise ModelError("rollout", "control", name, f"it is {expression}: it follows from other parameters")
        return [name]
    elif name in spans:
        found = list(model.speed_names[spans[name]])
    else:
        of_elements = [key for key, k in model.parameter_names.items() if k < count]
        known = [*model.speed_names, *model.input_names, *of_elements]
        cut = name in model.compiled.names.cut_v
        remedy = (
            "it closes a loop: connect an element with an input there, as da.Element('joint', 'u', inputs={'u': 0})"
        )
        near = did_you_mean(name, known) or f"known are: {', '.join(map(repr, known[:12])) or 'none'}"
        raise ModelError("rollout", "control", name, remedy if cut else near)
    driven = {model.speed_names[dof] for drive in model.joint_drives for dof in driven_dof(model, drive)} & set(found)
    if driven:
        raise ModelError(
            "rollout", "control", name, f"{sorted(driven)[0]!r} is driven: a joint force has no effect there"
        )
    return found
