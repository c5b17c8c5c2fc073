"""Elements with user-written laws: forces, rates of states and signals as functions of measures.

An element has measures between two markers, or at a joint, and returns a force for every measure, conjugate to its
rate. It may have states, which are integrated with the motion, and a stored energy:

    measure     names of what is measured            forces on the second marker, in axes of the first
    joint       s, ds                                effort at the coordinate
    distance    s, ds                                force along the line, positive if it pushes apart
    place       x y z, vx vy vz                      force
    pose        x y z rx ry rz, vx vy vz wx wy wz    force and moment

The first marker's axes are the frame of reference: rates are relative to them, (rx, ry, rz) is the rotation vector of
the second marker, (wx, wy, wz) its angular velocity. Work that an element does not store is dissipated, or, for an
active element, external work; so the power balance closes.
"""

from __future__ import annotations

import ctypes
import keyword
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ... import _core
from ...arrays import Array
from ...checks import checked, finite_number, set_fields
from ...errors import ModelError
from ...parameters import Expression, plain_value as number_of
from ..formulas.compiled_functions import NumbaLaw
from ..formulas.expressions import Program, is_symbolic
from ..formulas.tables import Table
from ..laws import check_discontinuity_times
from .built_in import ForceElement
from .element_program import law_program
from .implicit_laws import solve_unknowns
from .signals import MEASURES, Sensor, Source, as_source

if TYPE_CHECKING:
    from ...bodies.markers import Marker

__all__ = ["MEASURES", "Element", "SignalBlock"]


@checked("definitions")
@dataclass(frozen=True, eq=False)
class Element(ForceElement):
    """Force element with a user-written law.

    Parameters
    ----------
    measure : str, or several
        ``"joint"``, ``"distance"``, ``"place"`` or ``"pose"``. Several, ``("place", "place")``, make an element with
        more ends: each measures another marker relative to the same first one, or another joint, and names get the
        number of the measure: ``x1 ... vz1, x2 ... vz2``. Several markers may be on one body. None, ``()``: see
        `SignalBlock`.
    force : expression, or one for each measure, or a function, or None
        Text such as ``"-k*(s - l)**3 - c*ds"``, SymPy expressions, or numbers. A Python function
        ``f(t, *measures, *rates, *states, *parameters, *inputs)`` returns the forces, then the rates of the states,
        then the energy (left out: zero), then the signals; decorated with `law` it is compiled; an object with an
        ``address`` (of signature ``void(double*, double*)``) is called directly. None: minus the gradient of the
        energy.
    parameters : dict of str to float
        Numbers used by name in expressions; events and ensembles may change them (``"k1.k"``).
    states : dict of str to (float, expression)
        Start value and rate of each state.
    energy : expression
        Stored energy, J: of measures, states and parameters.
    definitions : dict of str to expression
        Named subexpressions.
    active : bool
        Work that is not stored counts as external work instead of dissipation.
    inputs : dict of str to source
        Further names: a number (which may be changed as a parameter), a law or function of time, the name of an output
        (``"joint.speed"``, ``"controller.u"``), a `Sensor`, a `Reaction` or a `Delay`.
    signals : dict of str to expression
        Outputs that other elements may take as inputs; in a `Result` as ``"name.signal"``.
    unknowns : dict of str to (start, residual)
        Unknowns of the law: the residuals are zero, by Newton's method from the starts. All are expressions; residuals
        and everything else may use the unknowns by name.
    strains : dict of str to expression
        Functions of the measures. Then `force` gives a force for each strain, conjugate to its rate, which has the name
        of the strain with a ``d`` before it; forces on the ends follow from the derivatives of the strains.
    tables : dict of str to Table
        Functions of one to three variables that expressions call by name.
    discontinuity_times : (k,) s
        Times at which a law that is a function jumps or has a kink, in order: no step passes over them. For
        expressions, discontinuity times that depend on time alone are found automatically.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("hardening", gravity=(0, 0, 0))
    >>> block = s.body("block", da.box(0.1, 0.1, 0.1, mass=1.0))
    >>> _ = s.connect("slide", da.Prismatic("x"), s.ground, block)
    >>> law = da.Element("joint", "-k*s**3", {"k": 4.0}, energy="k*s**4/4")
    >>> _ = s.connect("spring", law, "slide")
    >>> s.initial("slide", position=1.0)
    >>> result = da.simulate(s, 5.0)
    >>> bool(abs(result["energy.total"] - 1.0).max() < 1e-7)
    True
    """

    measure: str | tuple[str, ...] = "joint"
    force: Any = 0.0
    parameters: Mapping[str, float] = field(default_factory=dict)
    states: Mapping[str, tuple[float, Any]] = field(default_factory=dict)
    energy: Any = 0.0
    definitions: Mapping[str, Any] = field(default_factory=dict)
    active: bool = False
    inputs: Mapping[str, Any] = field(default_factory=dict)
    signals: Mapping[str, Any] = field(default_factory=dict)
    unknowns: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    strains: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    discontinuity_times: Any = ()
    program: Program | None = field(init=False, default=None, repr=False)
    written: Callable[..., Any] | None = field(init=False, default=None, repr=False)
    """The Python function that is the law, compiled or not."""
    starts: dict[str, float] = field(init=False, default_factory=dict, repr=False)
    sources: dict[str, Source] = field(init=False, default_factory=dict, repr=False)
    is_smooth_at_half_turn: ClassVar[bool] = False
    """True of laws that use the rotation vector by its rotation alone, which is the same for half a turn either way."""
    most_inputs: ClassVar[int] = _core.enumerations["limit"]["inputs"]
    most_outputs: ClassVar[int] = _core.enumerations["limit"]["outputs"]
    most_ports: ClassVar[int] = _core.enumerations["limit"]["ports"]
    most_unknowns: ClassVar[int] = _core.enumerations["limit"]["unknowns"]

    def __post_init__(self) -> None:
        item = self.kind
        set_fields(self, discontinuity_times=check_discontinuity_times(self.discontinuity_times, item=item))
        if isinstance(self.measure, list):
            set_fields(self, measure=tuple(self.measure))
        self._check_measures()
        self._take_inputs()
        if not isinstance(self.states, Mapping):
            raise ModelError(item, "states", self.states, "give a dict of start value and rate by name")
        starts = {name: start[0] if isinstance(start, tuple) else start for name, start in self.states.items()}
        set_fields(self, starts=_numbers(item, "state", starts))
        names = (*self.input_names, *self.signals, *self.strains, *self.unknowns)
        if len(set(names)) < len(names) or not all(map(_is_name, names)):
            raise ModelError(
                item, "names", names, "measures, states, parameters, inputs and others need different names"
            )
        if len(self.input_names) + len(self.unknowns) > self.most_inputs:
            raise ModelError(item, "names", len(self.input_names), f"a law takes up to {self.most_inputs} numbers")
        if self.output_count + len(self.unknowns) * (len(self.unknowns) + 2) > self.most_outputs:
            raise ModelError(item, "states", len(self.states), f"a law gives up to {self.most_outputs} numbers")
        if len(self.unknowns) > self.most_unknowns:
            raise ModelError(item, "unknowns", len(self.unknowns), f"a law may have up to {self.most_unknowns}")
        for name, table in self.tables.items():
            if not isinstance(table, Table):
                raise ModelError(item, f"table {name!r}", table, "give a da.Table")
        if callable(self.force) and not is_symbolic(self.force) and not hasattr(self.force, "address"):
            set_fields(self, written=getattr(self.force, "function", self.force))
        if isinstance(self.force, NumbaLaw):
            set_fields(self, force=self.force.bound(len(self.input_names), self.output_count))
        if not getattr(self.force, "address", 1):
            raise ModelError(item, "force", self.force, "its address is 0: give a compiled function that exists")
        if hasattr(self.force, "address") or (callable(self.force) and not is_symbolic(self.force)):
            if self.unknowns or self.strains:
                what = "unknowns" if self.unknowns else "strains"
                raise ModelError(item, what, list(getattr(self, what)), "they need a law that is an expression")
            return
        for name, state in self.states.items():
            if not isinstance(state, tuple) or len(state) != 2:
                raise ModelError(item, f"state {name!r}", state, "give its start value and the expression of its rate")
        set_fields(self, program=law_program(self))

    def _check_measures(self) -> None:
        item, known = self.kind, ", ".join(map(repr, MEASURES))
        for measure in self.each_measure:
            if not isinstance(measure, str) or measure not in MEASURES:
                raise ModelError(item, "measure", self.measure, f"use one of {known}, or several")
        if len(self.each_measure) > self.most_ports:
            raise ModelError(item, "measure", self.measure, f"an element has up to {self.most_ports}")
        if "joint" in self.each_measure and set(self.each_measure) != {"joint"}:
            raise ModelError(item, "measure", self.measure, "an element acts at joints or between markers, not both")

    def _take_inputs(self) -> None:
        """Sort inputs; numbers become parameters that can be changed during a run."""
        item = self.kind
        for label in ("inputs", "signals", "unknowns", "strains", "tables", "definitions"):
            if not isinstance(getattr(self, label), Mapping):
                raise ModelError(item, label, getattr(self, label), "give a dict by name")
        for name, unknown in self.unknowns.items():
            if not isinstance(unknown, tuple) or len(unknown) != 2:
                raise ModelError(item, f"unknown {name!r}", unknown, "give where to begin and the residual")
        numbers = {
            k: value for k, value in self.inputs.items() if isinstance(value, (int, float, np.number, Expression))
        }
        own = self.parameters if isinstance(self.parameters, Mapping) else {}
        kept = {k: x for k, x in {**own, **numbers}.items() if isinstance(x, Expression)}
        if kept:
            set_fields(self, expressions=kept)
        given = {name: value for name, value in self.inputs.items() if name not in numbers}
        plain = {k: number_of(x) for k, x in own.items()} if isinstance(self.parameters, Mapping) else self.parameters
        parameters = _numbers(item, "parameter", plain)
        parameters |= _numbers(item, "input", {k: number_of(x) for k, x in numbers.items()})
        sources = {str(name): as_source(value, item=item, name=str(name)) for name, value in given.items()}
        set_fields(self, parameters=parameters, inputs=given, sources=sources)

    @property
    def core_law(self) -> tuple[str, int] | None:
        """Equivalent compiled law (core/elements/built_in_laws.hpp) and its number, if any."""
        return None

    @property
    def each_measure(self) -> tuple[str, ...]:
        """Kinds of measures, in order."""
        return self.measure if isinstance(self.measure, tuple) else (self.measure,)

    @property
    def measured(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the measured quantities and of their rates."""
        numbered = isinstance(self.measure, tuple)
        names: tuple[list[str], list[str]] = ([], [])
        for k, measure in enumerate(self.each_measure):
            for into, plain in zip(names, MEASURES[measure], strict=True):
                into += [f"{name}{k + 1}" if numbered else name for name in plain]
        return tuple(names[0]), tuple(names[1])

    @property
    def measures(self) -> int:
        """Number of measured quantities."""
        return len(self.measured[0])

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs of the law, in order."""
        return ("t", *self.measured[0], *self.measured[1], *self.states, *self.parameters, *self.sources)

    @property
    def output_count(self) -> int:
        """Number of results of the law: forces, rates of states, energy, signals."""
        return self.measures + len(self.states) + 1 + len(self.signals)

    @property
    def function(self) -> Callable[..., Any] | Any | None:
        """Python function of the law, or None."""
        return None if self.program is not None else self.force

    def evaluate(self, inputs: Array) -> Array:
        """Return the results of the law (n, gives) for inputs (n, len(element.input_names)); in Python."""
        inputs = np.atleast_2d(np.asarray(inputs, dtype=float))
        if self.program is not None:
            if self.unknowns:
                inputs = solve_unknowns(self, inputs)
            columns = self.program.evaluate(list(inputs.T))[: self.output_count]
            return np.stack([np.broadcast_to(column, len(inputs)) for column in columns], axis=1)
        result = np.zeros((len(inputs), self.output_count))
        for row, given in zip(result, inputs, strict=True):
            numbers = _call_compiled(self.force, given, self.output_count) if hasattr(self.force, "address") else None
            numbers = np.atleast_1d(self.force(*given.tolist())) if numbers is None else numbers
            row[: len(numbers)] = numbers
        return result

    def cause_of_failure(self, numbers: Mapping[str, float]) -> str:
        """Return why the law is not finite for its inputs by name, as the end of a sentence; empty if not known."""
        return ""

    def between(self, twin: Callable[[Marker], Marker]) -> Element:
        """Return the same element for a copy of its system, whose markers `twin` returns."""
        sensed = {
            k: source.between(twin) if isinstance(source, Sensor) else source for k, source in self.inputs.items()
        }
        made = object.__new__(type(self))
        own = {key: dict(value) if isinstance(value, dict) else value for key, value in self.__dict__.items()}
        made.__dict__.update(own, inputs=sensed, sources={**self.sources, **sensed})
        return made

    @property
    def at_joint(self) -> bool:
        """True if the element acts at joint coordinates."""
        return self.each_measure[:1] == ("joint",)


@checked("inputs", "states", "parameters", "definitions", "unknowns", "tables")
class SignalBlock(Element):
    """Element without forces: a controller, a filter, a source of signals.

    Parameters
    ----------
    signals : dict of str to expression
        Signals: of t, states, parameters and inputs.
    inputs, states, parameters, definitions, unknowns, tables
        As in `Element`.
    function : callable
        In place of expressions: ``f(t, *states, *parameters, *inputs)`` returns the rates of the states, zero (it
        stores nothing), then the signals.

    Examples
    --------
    A PI controller with a filtered measurement, whose signal drives a motor:

    >>> import dalembert as da
    >>> s = da.System("controlled", gravity=(0, 0, 0))
    >>> disc = s.body("disc", mass=0.5, inertia=[1e-3, 1e-3, 2e-3])
    >>> _ = s.connect("axle", da.Revolute("z"), s.ground, disc)
    >>> controller = da.SignalBlock(
    ...     {"u": "0.5*(wanted - y) + 0.4*I"},
    ...     inputs={"speed": "axle.speed", "wanted": 20.0},
    ...     states={"y": (0.0, "(speed - y)/0.01"), "I": (0.0, "wanted - y")},
    ... )
    >>> _ = s.connect("controller", controller)
    >>> _ = s.connect("motor", da.Element("joint", "0.1*u", inputs={"u": "controller.u"}, active=True), "axle")
    >>> round(float(da.simulate(s, 10.0)["axle.speed"][-1]), 3)
    20.0
    """

    def __init__(
        self,
        signals: Mapping[str, Any],
        *,
        inputs: Mapping[str, Any] | None = None,
        states: Mapping[str, tuple[float, Any]] | None = None,
        parameters: Mapping[str, float] | None = None,
        definitions: Mapping[str, Any] | None = None,
        unknowns: Mapping[str, tuple[Any, Any]] | None = None,
        tables: Mapping[str, Table] | None = None,
        function: Any = (),
    ) -> None:
        if not isinstance(signals, Mapping) or not signals:
            raise ModelError("SignalBlock", "signals", signals, "give at least one, as a dict of expressions by name")
        super().__init__(
            (),
            function,
            parameters or {},
            states or {},
            definitions=definitions or {},
            active=True,
            inputs=inputs or {},
            signals=signals,
            unknowns=unknowns or {},
            tables=tables or {},
        )


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)


def _call_compiled(function: Any, given: Array, outputs: int) -> Array:
    numbers = ctypes.POINTER(ctypes.c_double)
    given, result = np.ascontiguousarray(given), np.zeros(outputs)
    call = ctypes.CFUNCTYPE(None, numbers, numbers)(int(function.address))
    call(given.ctypes.data_as(numbers), result.ctypes.data_as(numbers))
    return result


def _numbers(item: str, field: str, given: Mapping[str, Any]) -> dict[str, float]:
    if not isinstance(given, Mapping):
        raise ModelError(item, f"{field}s", given, "give a dict of numbers by name")
    return {name: finite_number(value, item=item, field=f"{field} {name!r}") for name, value in given.items()}
