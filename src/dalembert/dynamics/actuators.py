"""Actuators of inverse dynamics: joint efforts, inputs of elements, states of elements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import finite_array
from ..closure.named_velocities import NamedVelocities, as_name_list, named_velocities
from ..connections.elements import AlongPath, HillMuscle
from ..errors import ModelError
from ..model import Model
from ..model.reduced_coordinates import independent_joints

__all__ = ["Actuators", "StateSamples"]


DIFFERENCE_STEP = 1e-6  # finite difference, relative to the magnitude of an input or a state


@dataclass(frozen=True, eq=False)
class StateSamples:
    """States of a motion: t (n,), q (n, nq), v and a (n, nv), x (n, nx), loads (n, nb, 6), (nb, 6) or None."""

    model: Model
    t: Array
    q: Array
    v: Array
    a: Array
    x: Array
    loads: Array | None = None
    bare: bool = False

    def __len__(self) -> int:
        return len(self.q)

    def row(self, k: int) -> StateSamples:
        """Return one sample."""
        one = slice(k, k + 1)
        loads = None if self.loads is None else self.loads[one] if self.loads.ndim == 3 else self.loads
        return StateSamples(
            self.model, self.t[one], self.q[one], self.v[one], self.a[one], self.x[one], loads, self.bare
        )


@dataclass(frozen=True, eq=False)
class Actuators:
    """Actuators in this order: joint velocities, inputs of elements, states of elements.

    Attributes
    ----------
    dofs : NamedVelocities
    inputs, states : tuple of str
    """

    dofs: NamedVelocities
    inputs: tuple[str, ...] = ()
    states: tuple[str, ...] = ()

    @classmethod
    def of(cls, model: Model, names: str | Iterable[str] | None, item: str) -> Actuators:
        """Find actuators by name; default every tree joint without a mimic rule. Modes act only if named."""
        if names is None:
            return cls(named_velocities(model, independent_joints(model), item=item))
        joints, inputs, states = [], [], []
        for name in as_name_list(names):
            if name in model.input_names:
                inputs.append(name)
            elif name in model.state_names:
                states.append(name)
            elif name in model.system.forces:
                _of_element(model, name, inputs, states, item)
            else:
                joints.append(name)
        return cls(
            named_velocities(model, joints, item=item), tuple(dict.fromkeys(inputs)), tuple(dict.fromkeys(states))
        )

    def __len__(self) -> int:
        return len(self.dofs) + len(self.inputs) + len(self.states)

    @property
    def names(self) -> list[str]:
        """Names of all actuators, in order."""
        return [*self.dofs.names, *self.inputs, *self.states]

    @property
    def further(self) -> int:
        """Number of actuators that act through elements."""
        return len(self.inputs) + len(self.states)

    @property
    def muscles(self) -> dict[str, HillMuscle]:
        """Muscles whose activations are among the states, by the name of the state."""
        forces = self.dofs.model.system.forces
        found = {}
        for state in self.states:
            muscle = _muscle_in(forces[state.rpartition(".")[0]].element)
            if muscle:
                found[state] = muscle
        return found

    # ---- values by name

    def values_of(self, given: Any, default: float, item: str, field: str) -> Array:
        """Return a number for each actuator, (m,), from numbers or a dict by actuator or owner."""
        if given is None:
            return np.full(len(self), default)
        if not isinstance(given, Mapping):
            return finite_array(given, (len(self),), item=item, field=field)
        values = np.full(len(self), default)
        for name, value in given.items():
            values[self.indices_of(name, item, field)] = value
        return finite_array(values, (len(self),), item=item, field=field)

    def bounds_of(self, given: Any, item: str) -> tuple[Array, Array]:
        """Return lower and upper bounds (m,): those given, 0.01 to 1 for muscle activations, else infinite."""
        low, high = np.full(len(self), -np.inf), np.full(len(self), np.inf)
        for name in self.muscles:
            low[self.names.index(name)], high[self.names.index(name)] = 0.01, 1.0
        if given is None:
            return low, high
        pairs = given.items() if isinstance(given, Mapping) else [(name, given) for name in self.names]
        for name, pair in pairs:
            try:
                ends = np.asarray(pair, dtype=float) if np.shape(pair) == (2,) else np.array([np.nan, np.nan])
            except (TypeError, ValueError):
                ends = np.array([np.nan, np.nan])
            if np.isnan(ends).any() or ends[0] > ends[1]:
                raise ModelError(item, f"bounds of {name!r}", pair, "give (lowest, highest)")
            indices = self.indices_of(name, item, "bounds")
            low[indices], high[indices] = ends
        return low, high

    def indices_of(self, name: str, item: str, field: str) -> list[int]:
        """Return the indices of an actuator, or of those of a joint or an element."""
        found = [k for k, known in enumerate(self.names) if name in (known, known.rpartition(".")[0])]
        if not found:
            raise ModelError(item, field, name, f"the actuators are {', '.join(map(repr, self.names[:12]))}")
        return found

    # ---- mechanics

    def rows(self, q: Array) -> Array:
        """Return C (n, k, nv) of the joint velocities at q (n, nq)."""
        model, dofs = self.dofs.model, self.dofs
        units = np.eye(model.nv)
        rows = np.zeros((len(q), len(dofs), model.nv))
        rows[:, : len(dofs.columns)] = units[dofs.columns]
        if dofs.cut:
            speeds = np.vstack([np.zeros(model.nv), units])
            every = np.repeat(q, len(speeds), axis=0)
            cut = model.cut_motion(every, np.tile(speeds, (len(q), 1)), np.zeros(model.nv))[1][:, dofs.cut]
            cut = cut.reshape(len(q), len(speeds), -1)
            rows[:, len(dofs.columns) :] = (cut[:, 1:] - cut[:, :1]).swapaxes(1, 2)
        return rows

    def needed(self, s: StateSamples, values: Array) -> Array:
        """Return the generalised forces (n, nv) needed in addition to elements with values (n, further)."""
        more: dict[str, Any] = {"t": s.t, "x": self.states_with(s.x, values), "loads": s.loads, "bare": s.bare}
        if self.inputs:
            more["inputs"] = s.model.input_values(dict(zip(self.inputs, values.T, strict=False)))
        return s.model._required_forces(s.q, s.v, s.a, **more)

    def states_with(self, x: Array, values: Array) -> Array:
        """Return element states (n, nx) with the actuated ones inserted."""
        if not self.states:
            return x
        x = x.copy()
        model = self.dofs.model
        x[:, [model.state_names.index(name) for name in self.states]] = values[:, len(self.inputs) :]
        return x

    def starts(self, s: StateSamples, low: Array, high: Array) -> Array:
        """Return initial inputs and states (n, further): within bounds, those of the motion if it has any."""
        model = s.model
        values = np.zeros((len(s), self.further))
        for k, name in enumerate(self.states):
            values[:, len(self.inputs) + k] = s.x[:, model.state_names.index(name)]
        return np.clip(values, low[len(self.dofs) :], high[len(self.dofs) :])

    def slopes(self, s: StateSamples, values: Array, force: Array, low: Array, high: Array) -> Array:
        """Return the derivatives of element forces, (n, nv, further), by inward finite differences."""
        low, high = low[len(self.dofs) :], high[len(self.dofs) :]
        columns = np.zeros((len(s), s.model.nv, self.further))
        for k in range(self.further):
            width = high[k] - low[k]
            size = width if np.isfinite(width) and width > 0.0 else np.maximum(1.0, np.abs(values[:, k]))
            step = np.where(
                values[:, k] + DIFFERENCE_STEP * size > high[k], -DIFFERENCE_STEP * size, DIFFERENCE_STEP * size
            )
            moved = values.copy()
            moved[:, k] += step
            step = moved[:, k] - values[:, k]
            columns[:, :, k] = (force - self.needed(s, moved)) / step[:, None]
        return columns


def _muscle_in(element: Any) -> HillMuscle | None:
    """Return the muscle that an element is, or that acts along its path."""
    law = element.law if isinstance(element, AlongPath) else element
    return law if isinstance(law, HillMuscle) else None


def _of_element(model: Model, name: str, inputs: list[str], states: list[str], item: str) -> None:
    """Append the actuator of an element: the activation of a muscle, or its only input."""
    element = model.system.forces[name].element
    if _muscle_in(element):
        states.append(f"{name}.a")
        return
    mine = [known for known in model.input_names if known.rpartition(".")[0] == name]
    if len(mine) != 1:
        remedy = (
            f"it has the inputs {', '.join(map(repr, mine))}: name those that act"
            if mine
            else ("it has no input with a time law: add one, inputs={'u': da.laws.Constant(0)}, or name a state")
        )
        raise ModelError(item, "actuator", name, remedy)
    inputs.append(mine[0])
