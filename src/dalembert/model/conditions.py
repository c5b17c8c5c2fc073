"""Conditions of an evaluation: parameters, locks, open constraints, control."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array, BoolArray
from ..checks import finite_array, finite_number
from ..connections.constraints.geometric import AxisAngle
from ..errors import ModelError
from .cache import cached_per_model
from .callbacks import CallbackHost
from .compiled_control import CompiledControl, as_compiled_control
from .control_sequence import ControlSequence
from .drive_targets import driven_dof
from .history import History
from .sampled_control import SampledControl, SampledForces, SampledLoads
from .variants import make_variant

if TYPE_CHECKING:
    from .model import Model

__all__ = ["Conditions"]

_NOT_NEGATIVE = ("stiffness", "damping", "length", "friction", "coefficient", "radius", "collar", "half_length")


class Conditions(_core.Conditions):
    """Conditions under which a model is evaluated; constant, made by `Model.conditions`.

    Attributes
    ----------
    model : Model
        Model with the parameter values of the conditions, for functions that take no conditions.
    parameters : (n,)
        All parameters of the system, at the indices of ``model.parameter_names``.
    locked : frozenset of int
        Locked degrees of freedom: indices of the velocities of the trees, then of those of cut joints, from nv on.
    off : frozenset of str
        Loop constraints that are open.
    control : callable, CompiledControl, SampledControl or None
        From a `State` to joint forces.
    sampled_forces : SampledForces or None
        Results of a sampled control, in a run.
    history : History or None
        States of a run, for delayed inputs.
    sequence : ControlSequence or None
        Joint forces and inputs of elements over time.
    run : int
        Number of the run in its ensemble, for controls.
    sampled_loads : SampledLoads or None
        Loads on bodies over time, of contacts.
    sliding : frozenset of int
        Numbers of switching functions in sliding mode: the mixture of both branches keeps the motion on the surface.
    branches : mapping of int to float
        Numbers of switching functions with a held branch, whatever their values: -1, 1, or a mixture.
    stabilization : (float, float)
        Baumgarte's 2 alpha and beta^2; zero: none.
    acceleration_prescribed, velocity_prescribed, position_prescribed : (nv,) bool
        Degrees of freedom whose acceleration, velocity or position is prescribed by drives and locks.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("swing")
    >>> bob = s.body("bob", da.rod(length=1.0, mass=2.0))
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, bob)
    >>> _ = s.connect("k", da.TorsionSpring(stiffness=10.0), "A")
    >>> model = s.compile()
    >>> softer = model.conditions(parameters={"k.stiffness": 5.0})
    >>> model.forward_dynamics([0.2], [0.0]) - model.forward_dynamics([0.2], [0.0], conditions=softer)
    array([-1.5])
    """

    def __init__(
        self,
        model: Model,
        parameters: Array,
        locked: frozenset[int] = frozenset(),
        off: frozenset[str] = frozenset(),
        *,
        control: Callable[..., Any] | SampledControl | None = None,
        history: History | None = None,
        stabilization: tuple[float, float] = (0.0, 0.0),
        sampled_forces: SampledForces | None = None,
        sliding: frozenset[int] = frozenset(),
        branches: Mapping[int, float] | None = None,
        sequence: ControlSequence | None = None,
        run: int = 0,
        sampled_loads: SampledLoads | None = None,
    ) -> None:
        parameters = np.atleast_1d(np.ascontiguousarray(parameters, dtype=float))
        count = model.n_element_parameters
        if parameters.shape not in ((count,), (len(model.parameters),)):
            remedy = f"give {count} of elements, or {len(model.parameters)} with those of bodies and joints"
            raise ModelError("conditions", "the shape of parameters", parameters.shape, remedy)
        if len(parameters) == count:  # element parameters alone: mapped parameters stay
            parameters = np.concatenate([parameters, model.mapped_parameters])
        if not np.array_equal(parameters[count:], model.mapped_parameters):
            model = make_variant(model.family, parameters)
        if isinstance(control, SampledControl):
            sampled_forces = SampledForces(model.nv) if sampled_forces is None else sampled_forces
        control = as_compiled_control(control)
        compiled = control if isinstance(control, CompiledControl) and not model.family.callback_laws else None
        function = None if compiled is not None or isinstance(control, SampledControl) else control
        active = [name not in off for name in model.closure_names] if off else []
        callback = (
            CallbackHost(model, function, history, run) if function is not None or model.family.callback_laws else None
        )
        delayed = history.core if history is not None and function is None else None
        super().__init__(
            model,
            np.ascontiguousarray(parameters[:count]),
            sorted(locked),
            active,
            callback if delayed is None else delayed,
            function is not None,
            *stabilization,
            sampled_forces,
            sorted(sliding),
            list(branches or ()),
            list((branches or {}).values()),
            sequence,
            compiled,
            run,
            sampled_loads,
        )
        self.model, self.parameters, self.locked, self.off = model, parameters, locked, off
        self.control, self.history, self.stabilization, self.sampled_forces = (
            control,
            history,
            stabilization,
            sampled_forces,
        )
        self.callback, self.sliding, self.branches = callback, sliding, dict(branches or {})
        self.sequence, self.run, self.sampled_loads = sequence, run, sampled_loads

    @property
    def _how(self) -> dict[str, Any]:
        forces = ("control", "history", "stabilization", "sampled_forces", "sampled_loads")
        names = (*forces, "sliding", "branches", "sequence", "run")
        return {name: getattr(self, name) for name in names}

    def changed(self, **changes: Any) -> Conditions:
        """Return the conditions with other parameters, locks, open constraints, and so on."""
        given = {"parameters": self.parameters, "locked": self.locked, "off": self.off}
        return Conditions(self.model, **{**given, **self._how, **changes})

    def with_parameter(self, name: str, value: float, *, item: str = "conditions") -> Conditions:
        """Return the conditions with one parameter changed: ``"k.stiffness"``."""
        return self.changed(parameters=with_values(self.model, self.parameters, {name: value}, item))

    def perturbed(self, name: str, change: float) -> Conditions:
        """Return the conditions with one parameter changed slightly, for differences, unchecked."""
        value = parameter_value(self.model, name, self.parameters)
        moved = with_values(self.model, self.parameters, {name: value + change}, "conditions")
        model = make_variant(self.model.family, moved, physical=False)
        return Conditions(model, moved, self.locked, self.off, **self._how)

    def with_lock(self, joint: str, on: bool, *, item: str = "conditions") -> Conditions:
        """Return the conditions with a joint locked, or unlocked."""
        dofs = locked_dof(self.model, [joint], item) if on else frozenset(_dof(self.model, joint))
        return self.changed(locked=self.locked | dofs if on else self.locked - dofs)

    def with_constraint(self, connection: str, on: bool, *, item: str = "conditions") -> Conditions:
        """Return the conditions with a constraint or a cut joint switched on or off."""
        check_closure(self.model, connection, item)
        return self.changed(off=self.off - {connection} if on else self.off | {connection})

    @property
    def is_default(self) -> bool:
        """True if the conditions are those of the description."""
        laws = self.sliding or self.branches
        plain = not (self.locked or self.off or self.control or self.history or laws or any(self.stabilization))
        plain = plain and self.sequence is None
        described = self.model.family.parameters
        return plain and (self.parameters is described or np.array_equal(self.parameters, described))

    def changed_parameters(
        self, model: Model | None = None, parameters: Array | None = None
    ) -> dict[str, tuple[float, float]]:
        """Return the parameters by name that differ from those of a model or of its variant.

        Parameters
        ----------
        model : Model
            Model with parameters of the same names; as described if left out.
        parameters : (n,)
            Parameters of that model, if they differ from its own.
        """
        other = self.model.family if model is None else model
        numbers = other.parameters if parameters is None else parameters
        places, follows = other.parameter_names, other.family.compiled.numbers.follows
        return {
            name: (parameter_value(self.model, name, self.parameters), parameter_value(other, name, numbers))
            for name, k in self.model.parameter_names.items()
            if name in places and self.parameters[k] != numbers[places[name]] and places[name] not in follows
        }

    def active_rows(self) -> BoolArray:
        """Return which constraint rows are active, (nc,)."""
        return np.array([name not in self.off for name in self.model.constraint_connections], dtype=bool)

    def to_plain(self) -> tuple[list[Any], ...]:
        """Return parameters, locked DOF, open constraints and, if any, sliding or held switching functions."""
        always = [float(p) for p in self.parameters], sorted(self.locked), sorted(self.off)
        held = [[k, side] for k, side in self.branches.items()]
        return (*always, sorted(self.sliding), *([held] if held else [])) if self.sliding or held else always

    def with_plain(self, plain: Sequence[Any]) -> Conditions:
        """Return the conditions with the data of `plain` of others; control and history are kept."""
        parameters, *marks = plain
        parts: list[Any] = [*marks, *[()] * (4 - len(marks))]
        locked, off, sliding = map(frozenset, parts[:3])
        numbers = np.array(parameters, dtype=float)
        branches = {int(k): float(side) for k, side in parts[3]}
        return self.changed(parameters=numbers, locked=locked, off=off, sliding=sliding, branches=branches)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.model, self.parameters, self.locked, self.off, self._how)


@cached_per_model
def described_conditions(model: Model) -> Conditions:
    """Return the conditions of the description; the same object for all users, as nothing in it changes.

    Not for models that call functions of the user, which are recorded in the conditions of a run.
    """
    return Conditions(model, model.parameters)


def _restored(model: Model, *given: Any) -> Conditions:
    *plain, how = given
    return Conditions(model, *plain, **how)


def _dof(model: Model, joint: str) -> range:
    span = model.v_slice(joint)
    return range(span.start, span.stop)


def parameter_place(model: Model, name: str, item: str) -> int:
    """Return the index of a parameter; raise an error that lists similar names."""
    places = model.parameter_names
    if name not in places:
        owner = str(name).rpartition(".")[0]
        near = get_close_matches(str(name), places, 4) + [other for other in places if other.startswith(f"{owner}.")]
        known = ", ".join(map(repr, list(dict.fromkeys(near or places))[:12])) or "this model has none"
        raise ModelError(item, "parameter", name, f"known are: {known}")
    return places[name]


def is_angle(model: Model, name: str) -> bool:
    """Return whether a parameter is an angle that the core stores as a cosine."""
    owner, _, label = name.rpartition(".")
    connection = model.family.system.connections.get(owner) if label == "angle" else None
    element = None if connection is None else connection.element
    return isinstance(element, AxisAngle) and element.about is None


def slot_slope(model: Model, name: str, slot: float) -> float:
    """Return the derivative of the value in the core by the named parameter."""
    return -math.sqrt(max(1.0 - slot * slot, 0.0)) if is_angle(model, name) else 1.0


def parameter_slot(model: Model, name: str, value: float) -> float:
    """Return the value in the core of a named parameter."""
    return math.cos(value) if is_angle(model, name) else value


def parameter_value(model: Model, name: str, parameters: Array) -> float:
    """Return a named parameter from its value in the core."""
    slot = float(parameters[parameter_place(model, name, "parameter")])
    return math.acos(slot) if is_angle(model, name) else slot


def checked_parameter(model: Model, name: str, value: Any, item: str) -> float:
    """Return a checked value of a parameter, as stored in the core."""
    number = finite_number(value, item=item, field=f"parameter {name!r}")
    expression = model.family.compiled.numbers.follows.get(parameter_place(model, name, item))
    if expression is not None:
        of = ", ".join(map(repr, sorted(expression.names)))
        raise ModelError(item, f"parameter {name!r}", value, f"it depends on {of}: it is {expression}; change that")
    if is_angle(model, name):
        return parameter_slot(model, name, number)
    if number < least_value(model, name):
        raise ModelError(item, f"parameter {name!r}", value, "it must not be negative")
    return number


def least_value(model: Model, name: str) -> float:
    """Return the least value that a parameter may have: 0 of stiffnesses, lengths and so on, else none."""
    owner, _, label = name.rpartition(".")
    force = model.family.system.forces.get(owner)
    plain = force is None or bool(force.element.law_form)  # a user-written law may take any number
    return 0.0 if plain and label in _NOT_NEGATIVE else -math.inf


def locked_dof(model: Model, joints: Iterable[str], item: str) -> frozenset[int]:
    """Return the degrees of freedom of joints to be locked."""
    driven = {dof for drive in model.joint_drives for dof in driven_dof(model, drive)}
    dofs: set[int] = set()
    for joint in joints:
        mine = set(_dof(model, joint))
        if mine & driven:
            raise ModelError(item, "lock", joint, "it is driven: a drive and a lock contradict each other")
        dofs |= mine
    return frozenset(dofs)


def check_closure(model: Model, connection: str, item: str) -> None:
    """Refuse a name that is not a loop constraint."""
    if connection in model.closure_names:
        return
    remedy = f"only loop constraints can be switched: {', '.join(map(repr, model.closure_names)) or 'there is none'}"
    if connection in model.joint_names:
        remedy += "; a tree joint can be locked and unlocked"
    raise ModelError(item, "switch", connection, remedy)


def with_values(model: Model, parameters: Array, given: Mapping[str, Any], item: str) -> Array:
    """Return parameters (n,) with some changed by name, and those that depend on them."""
    new = parameters.copy()
    for name, value in given.items():
        new[parameter_place(model, name, item)] = checked_parameter(model, name, value, item)
    return followed(model, new, given, item)


def followed(model: Model, parameters: Array, names: Iterable[str], item: str) -> Array:
    """Update parameters that depend on changed named parameters, in place."""
    own = model.family.compiled.numbers
    changed = own.named.keys() & set(names)
    if not changed:
        return parameters
    values = {name: float(parameters[model.parameter_names[name]]) for name in own.named}
    for place, expression in own.follows.items():
        if expression.names & changed:
            try:
                parameters[place] = expression.at(values)
            except (ArithmeticError, ValueError):
                remedy = f"{expression} has no value there"
                raise ModelError(item, f"parameters {sorted(expression.names)}", values, remedy) from None
    return parameters


def parameter_vector(model: Model, given: Any, item: str) -> Array:
    """Return parameters (n,) of the description, with some changed by name."""
    if given is None:
        return model.parameters.copy()
    if isinstance(given, dict):
        return with_values(model, model.parameters, given, item)
    array: ArrayLike = given
    return finite_array(array, (len(model.parameters),), item=item, field="parameters")


def parameter_directions(model: Model, names: Sequence[str], values: Array, item: str) -> Array:
    """Return the derivatives (k, n) of all parameters by the named ones."""
    directions, own = np.zeros((len(names), len(values))), model.family.compiled.numbers
    for row, name in zip(directions, names, strict=True):
        place = parameter_place(model, name, item)
        row[place] = slot_slope(model, name, values[place])
        if name in own.named:
            now = {other: float(values[model.parameter_names[other]]) for other in own.named}
            for follower, expression in own.follows.items():
                if name in expression.names:
                    row[follower] = expression.slope(now, {name: 1.0})[1]
    return directions
