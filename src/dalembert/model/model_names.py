"""Names of a compiled model: bodies, joints, coordinates, inputs, parameters, drives, and their indices in arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, cast
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array, BoolArray
from ..bodies.body import Body
from ..bodies.markers import Marker
from ..checks import checked, did_you_mean, random_generator, shape_of
from ..compile import Compiled, compile_system
from ..compile.compiler import random_coordinates
from ..compile.contacts import ContactTables
from ..compile.memory_limit import check_memory
from ..compile.signal_graph import OutputInput
from ..errors import ModelError
from ..system import System
from ..system.system import Initial
from . import argument_errors as refusals
from .argument_errors import checked_marker
from .cache import cached_per_model
from .callbacks import CallbackHost, OutputInputCallback
from .parameter_table import ParameterTable
from .state import State
from .variants import DERIVED, complete_variant

if TYPE_CHECKING:
    from .model import Model

__all__ = ["NamedModel"]


class NamedModel(_core.Model):
    """Compiled system and its names; `Model` adds the kernels, and lists the attributes."""

    is_recompiled = False  # a variant whose tables follow from its own description, not from those of its family

    def __init__(self, description: System | Compiled) -> None:
        made = compile_system(description) if isinstance(description, System) else description
        # the present system, for messages on items added since
        self.present_system: Callable[[], System | None] = (
            ref(description) if isinstance(description, System) else lambda: None
        )
        elements, names = made.elements, made.names
        self.compiled = made
        me = cast("Model", self)
        callback = CallbackHost(me)
        super().__init__(
            made.tables,
            np.array(elements.starts, dtype=float),
            list(elements.functions),
            list(elements.function_sizes),
            callback if made.callback_laws else None,
            list(elements.solids),
        )
        check_memory(me, made.system.name)
        self.system, self.forest, self.frames = made.system, made.forest, made.frames
        self.drives = made.drives
        self.joint_drives = tuple(d for d in self.drives if d.of_joint)
        self.body_names, self.joint_names = names.bodies, names.joints
        self.coordinate_names, self.speed_names = names.coordinates, names.speeds
        self.coordinate_kinds, self.speed_kinds = names.coordinate_kinds, names.speed_kinds
        self.flexible_names, self.closure_names = names.flexible, names.loop_constraints
        self.connection_names = names.connections
        self.constraint_names, self.constraint_connections = names.rows, names.row_connections
        self.holonomic = names.holonomic
        self.independent_rows = tuple(
            name for name, independent in zip(names.rows, made.independent, strict=True) if independent
        )
        self.length = float(made.tables["length"][0])
        self.state_names = tuple(elements.state_names)
        self.input_names = tuple(dict.fromkeys(elements.inputs_by_law))
        self.family = me
        self.mapped_parameters = made.numbers.values
        self.n_element_parameters = len(elements.parameters)
        self.parameters = np.concatenate([np.array(elements.parameters, dtype=float), self.mapped_parameters])
        self.parameters.flags.writeable = False
        self._points: dict[Any, _core.Points] = {}
        self.callback_laws: tuple[Any, ...] = ()
        self.callback_laws = tuple(
            OutputInputCallback(me, law) if isinstance(law, OutputInput) else law for law in made.callback_laws
        )

    def __getattr__(self, name: str) -> Any:
        """Compute the attributes of a model with other parameter values on first access."""
        if name in DERIVED and "family" in self.__dict__ and self.__dict__["family"] is not self:
            complete_variant(cast("Model", self))
            return self.__dict__[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def parameter_names(self) -> dict[str, int]:
        """Index of each parameter in `parameters`, by name: ``"k.stiffness"``, ``"crank.mass"``."""
        return _parameter_names(self.family)

    @property
    def parameter_table(self) -> ParameterTable:
        """All parameters with their values, units and expressions, as a printable table."""
        return ParameterTable.of(cast("Model", self))

    @property
    def contacts(self) -> ContactTables | None:
        """Shapes, pairs and materials of the contacts; None if the system has none."""
        return self.family.compiled.contacts

    def __repr__(self) -> str:
        loops = len(self.forest.loop_constraints)
        return f"<Model {self.system.name!r}: {self.nb} bodies, {self.nv} DOF, {loops} loop constraints>"

    # ---- names and states

    def q_slice(self, joint: str) -> slice:
        """Return the indices in q of the coordinates of a joint, or of the modes of a flexible body."""
        return self._slice(self.compiled.names.q, joint)

    def v_slice(self, joint: str) -> slice:
        """Return the indices in v and tau of the velocities of a joint, or of the modes of a flexible body."""
        return self._slice(self.compiled.names.v, joint)

    @checked("joint")
    def cut_joint_slice(self, joint: str) -> slice:
        """Return the indices of the velocities of a cut joint in the result of `cut_motion`."""
        found = self.compiled.names.cut_v
        if joint not in found:
            known = did_you_mean(joint, found) or f"there are {', '.join(map(repr, found)) or 'none'}"
            raise ModelError("cut_slice", "joint", joint, f"it is not a cut joint; {known}")
        return found[joint]

    def zero_configuration(self) -> Array:
        """Return the q at which the two markers of every joint coincide, (nq,)."""
        return self._zero.copy()

    @cached_property
    def _zero(self) -> Array:
        q = np.zeros(self.nq)
        for joint in self.forest.joints:
            q[self.compiled.names.q[joint.name]] = joint.element.zero
        return q

    @checked("initials")
    def initial_state(self, initials: Mapping[str, Initial] | None = None) -> State:
        """Return the start values that ``System.initial`` set, or others; zero where it did not."""
        q, v, names = self.zero_configuration(), np.zeros(self.nv), self.compiled.names
        for name, initial in (self.system.initials if initials is None else initials).items():
            if name not in names.q:
                continue
            if not isinstance(initial, Initial):
                raise ModelError("initial_state", name, initial, "give a da.system.Initial")
            for values, span, given in ((q, names.q[name], initial.position), (v, names.v[name], initial.speed)):
                if given is not None:
                    values[span] = np.where(np.isnan(given), values[span], given)
        return State(q=self.integrate(q, np.zeros(self.nv)), v=v, x=self.element_start_values())

    def element_start_values(self) -> Array:
        """Return the start values of the element states, (nx,)."""
        return np.array(self.compiled.elements.starts, dtype=float)

    @checked("seed", "size")
    def random_state(self, seed: np.random.Generator | int | None = None, size: int | None = None) -> State:
        """Return a random state: angles within +-pi, lengths within +-1 m, normal velocities.

        Orientations are random. Flexible bodies are undeformed, but their modes have velocities.

        Parameters
        ----------
        seed : numpy Generator, seed or None
        size : int
            Number of states; None for one without a batch axis.
        """
        random = random_generator(seed, item="random_state", field="seed")
        if size is not None and size < 0:
            raise ModelError("random_state", "size", size, "give the number of states, 0 or more")
        shape = () if size is None else (size,)
        q = random_coordinates(self.forest, self.compiled.names, random, shape)
        v = random.normal(size=(*shape, self.nv))
        return State(q=self.integrate(q, np.zeros(self.nv)), v=v)

    # ---- inputs

    @checked("given")
    def input_values(self, given: Mapping[str, ArrayLike]) -> Array:
        """Return the argument `inputs` of kernels: numbers, or (B,) of them, in place of the laws of inputs.

        Examples
        --------
        >>> import dalembert as da
        >>> s = da.System("motor", gravity=(0, 0, 0))
        >>> _ = s.connect("axle", da.Revolute("z"), s.ground, s.body("disc", mass=1.0, inertia=(1, 1, 2)))
        >>> _ = s.connect("motor", da.Effort(lambda t: 3 * t), "axle")
        >>> model = s.compile()
        >>> model.forward_dynamics([0.0], [0.0], inputs=model.input_values({"motor.effort": 5.0}))
        array([2.5])
        """
        laws = self.compiled.elements.inputs_by_law
        columns: dict[str, Array] = {}
        for key, value in given.items():
            name = key.removesuffix(".value") if isinstance(key, str) and key not in laws else key
            if name not in laws:
                known = ", ".join(map(repr, self.input_names[:12])) or "this model has none"
                raise ModelError("input_values", "input", name, f"known are: {known}")
            try:
                columns[name] = np.asarray(value, dtype=float)
            except (TypeError, ValueError):
                columns[name] = np.array(np.nan)
            if not np.isfinite(columns[name]).all() or columns[name].ndim > 1:
                raise ModelError("input_values", f"input {name!r}", value, "give a finite number, or (B,) of them")
        sizes = {name: column.shape for name, column in columns.items() if column.ndim}
        if len(set(sizes.values())) > 1:
            raise ModelError(
                "input_values", "numbers of states", sizes, "give all inputs for the same number of states"
            )
        values: Array = np.full((*next(iter(sizes.values()), ()), len(laws)), np.nan)
        for k, name in enumerate(laws):
            if name in columns:
                values[..., k] = columns[name]
        return values

    # ---- drives

    # ---- from names to numbers

    def _slice(self, slices: dict[str, slice], joint: str) -> slice:
        try:
            return slices[joint]
        except (KeyError, TypeError):
            remedy = (
                "it is a cut joint"
                if isinstance(joint, str) and joint in self.compiled.names.cut_v
                else f"the tree has {', '.join(map(repr, self.joint_names[:8]))}"
            )
            raise ModelError(f"model of {self.system.name!r}", "joint", joint, remedy) from None

    def _marks(self, given: Any) -> BoolArray:
        names = [given] if isinstance(given, str) else given
        if isinstance(names, (list, tuple)) and names and all(isinstance(n, str) for n in names):
            marks = np.zeros(self.nv, dtype=bool)
            for name in names:
                if name in self.speed_names:
                    marks[self.speed_names.index(name)] = True
                else:
                    marks[self.v_slice(name)] = True
        else:
            marks = np.empty(0) if shape_of(given) is None else np.asarray(given)
            if marks.dtype != bool or marks.shape != (self.nv,):
                raise ModelError("mixed_dynamics", "given", given, f"give ({self.nv},) booleans, or names of joints")
        for name in self.flexible_names:
            if marks[self.v_slice(name)].any():
                raise ModelError("mixed_dynamics", "given", name, "the accelerations of modes cannot be prescribed")
        return marks

    def _point(self, kernel: str, marker: Marker | Body | str) -> _core.Points:
        """Return the data of a marker for the core; cached, because markers do not change."""
        try:
            return self._points[marker]
        except (KeyError, TypeError):
            pass
        point = self.points([checked_marker(cast("Model", self), kernel, marker)], single=True)
        if len(self._points) > 4096:  # of users who make a marker for every call
            self._points.clear()
        self._points[marker] = point
        return point

    @checked("markers", "single", "loose")
    def points(self, markers: Sequence[Marker], *, single: bool = False, loose: bool = False) -> _core.Points:
        """Return the data of markers on one body for the point kernels of the core.

        Parameters
        ----------
        markers : sequence of Marker
            Markers of the model's own system: all on one frame of the core, or all points of one flexible body.
        single : bool
            Results without an axis for points.
        loose : bool
            The markers are points of a flexible body, whether or not the core has frames there.
        """
        return _core.Points(*self.point_arrays(markers, loose=loose), single)

    def point_arrays(self, markers: Sequence[Marker], *, loose: bool = False) -> tuple[int, Array, Array | None]:
        """Return the data of `points`: slot in the core's list, frames (n, 12), and numbers of nodes (n, k) or None."""
        if isinstance(markers, str) or not isinstance(markers, Sequence) or not len(markers):
            raise ModelError("points", "markers", markers, "give a sequence of one or more")
        if loose and markers[0].body.flexible is None:
            raise ModelError("points", "loose", loose, f"{markers[0].body.name!r} is not a flexible body")
        places = self.frames.layout
        if not loose and places.follows(markers[0]):
            found = [self.frames.place(marker) for marker in markers]
            frames = np.array([np.concatenate([R.ravel(), p]) for _, R, p in found])
            return int(found[0][0]), frames, None
        body = int(places.frame[self.forest.number[markers[0].body.name]])
        frames = np.array(
            [np.concatenate([m.rotation.ravel(), np.zeros(3) if m.arm is None else m.arm]) for m in markers]
        )
        return body, frames, np.array([places.shapes_of(marker) for marker in markers])

    @checked("body")
    def nodes(self, body: str) -> _core.Points:
        """Return the data of all nodes of a flexible body for the point kernels of the core."""
        if ("nodes", body) not in self._points:
            part = self.system.bodies.get(body)
            flexible = None if part is None else part.flexible
            if part is None or flexible is None:
                known = ", ".join(map(repr, self.flexible_names)) or "this system has none"
                raise ModelError("nodes", "body", body, f"give the name of a flexible body: {known}")
            places = zip(flexible.nodes, flexible.shapes, strict=True)
            markers = [Marker(part, place, np.eye(3), shape=shape) for place, shape in places]
            self._points["nodes", body] = self.points(markers, loose=True)
        return self._points["nodes", body]

    def _checked(self, kernel: str, argument: str, value: ArrayLike) -> Array:
        """Return numbers for each velocity, (nv,) or (B, nv)."""
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            array = np.empty(0)
        if array.shape[-1:] != (self.nv,) or not np.isfinite(array).all():
            self._refuse(kernel, argument, value)
        return array

    # ---- called by the core when it cannot continue

    def _refuse(self, kernel: str, argument: str, value: Any) -> NoReturn:
        refusals.raise_argument_error(cast("Model", self), kernel.lstrip("_"), argument, value)

    def _refuse_result(self, kernel: str, argument: str, value: Any) -> NoReturn:
        refusals.raise_result_error(cast("Model", self), kernel.lstrip("_"), value)


class ParameterNames(dict[str, int]):
    """Indices of parameters by name. A constant input, ``"P.fz"``, stands for ``"P.fz.value"``.

    Parameters
    ----------
    names : dict of str to int
    aliases : dict of str to str
        Further names, which are not listed.
    """

    def __init__(self, names: Mapping[str, int], aliases: Mapping[str, str]) -> None:
        super().__init__(names)
        self.aliases = dict(aliases)

    def __missing__(self, name: str) -> int:
        return self[self.aliases[name]]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self.aliases

    def get(self, name: str, default: Any = None) -> Any:
        """Return the index of a parameter."""
        return super().get(self.aliases.get(name, name), default)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self), self.aliases)


@cached_per_model
def _parameter_names(model: Model) -> dict[str, int]:
    """Return the index of each parameter by name: element parameters, then mapped parameters."""
    elements = model.compiled.elements
    first = len(elements.parameters)
    own = {name: first + k for name, k in model.compiled.numbers.names.items()}
    names = {**elements.parameter_names, **{name: k for name, k in own.items() if name not in elements.parameter_names}}
    inputs = [name for name in elements.inputs_by_law if name not in names and f"{name}.value" in names]
    return ParameterNames(names, {name: f"{name}.value" for name in inputs})
