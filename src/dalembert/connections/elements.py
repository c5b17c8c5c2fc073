"""Elements with laws of their own: users write what an element answers to what it measures.

An element measures something between two markers, or at a hinge, and answers with a force for every measure, conjugate
to its rate. It may have states of its own, which are integrated with the motion, and it says what it stores:

    measure     names of what is measured            forces on the second marker, in axes of the first
    hinge       s, ds                                effort at the coordinate
    distance    s, ds                                force along the line, positive if it pushes apart
    place       x y z, vx vy vz                      force
    pose        x y z rx ry rz, vx vy vz wx wy wz    force and moment

The first marker's axes are the frame of reference: rates are seen from them, (rx, ry, rz) is the rotation vector of the
second marker, (wx, wy, wz) its angular velocity. What an element does not store it dissipates, or, if it is active,
brings from outside; so the power balance closes without another word.
"""

from __future__ import annotations

import ctypes
import keyword
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..rotation import finite_number
from .energetic import ForceElement
from .expressions import Program, compile_expressions, is_symbolic

__all__ = ["MEASURES", "Element"]

Array = NDArray[np.float64]

_POSE = ("x", "y", "z", "rx", "ry", "rz"), ("vx", "vy", "vz", "wx", "wy", "wz")
# in the order of core/model.hpp: Measure
MEASURES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "hinge": (("s",), ("ds",)),
    "distance": (("s",), ("ds",)),
    "place": (_POSE[0][:3], _POSE[1][:3]),
    "pose": _POSE,
}


@dataclass(frozen=True, eq=False)
class Element(ForceElement):
    """An element with a law of its own.

    Parameters
    ----------
    measure : str
        ``"hinge"``, ``"distance"``, ``"place"`` or ``"pose"``.
    force : expression, or one for each measure, or a function
        Text such as ``"-k*(s - l)**3 - c*ds"``, SymPy expressions, or numbers. A Python function
        ``f(t, *measures, *rates, *states, *parameters)`` returns the forces, then the rates of the states, then the
        energy (left out: zero); an object with an ``address`` (a Numba ``cfunc`` of signature
        ``void(double*, double*)``) is called directly.
    parameters : dict of str to float
        Numbers that expressions use by name; events and ensembles may change them (``"k1.k"``).
    states : dict of str to (float, expression)
        Start value and rate of each state.
    energy : expression
        What the element stores, J: of measures, states and parameters.
    definitions : dict of str to expression
        Named parts that other expressions use.
    active : bool
        What it does not store counts as work from outside instead of as dissipated.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("hardening", gravity=(0, 0, 0))
    >>> block = s.body("block", da.box(0.1, 0.1, 0.1, mass=1.0))
    >>> _ = s.connect("slide", da.Prismatic("x"), s.ground, block)
    >>> law = da.Element("hinge", "-k*s**3", {"k": 4.0}, energy="k*s**4/4")
    >>> _ = s.connect("spring", law, "slide")
    >>> s.initial("slide", position=1.0)
    >>> result = da.simulate(s, 5.0)
    >>> bool(abs(result["energy.total"] - 1.0).max() < 1e-7)
    True
    """

    measure: str = "hinge"
    force: Any = 0.0
    parameters: Mapping[str, float] = field(default_factory=dict)
    states: Mapping[str, tuple[float, Any]] = field(default_factory=dict)
    energy: Any = 0.0
    definitions: Mapping[str, Any] = field(default_factory=dict)
    active: bool = False
    program: Program | None = field(init=False, default=None, repr=False)
    starts: dict[str, float] = field(init=False, default_factory=dict, repr=False)
    most_inputs: ClassVar[int] = 64  # core/elements.hpp
    most_outputs: ClassVar[int] = 32

    def __post_init__(self) -> None:
        item = self.kind
        if not isinstance(self.measure, str) or self.measure not in MEASURES:
            known = ", ".join(map(repr, MEASURES))
            raise ModelError(item, "measure", self.measure, f"use one of {known}")
        object.__setattr__(self, "parameters", _numbers(item, "parameter", self.parameters))
        if not isinstance(self.states, Mapping):
            raise ModelError(item, "states", self.states, "give a dict of start value and rate by name")
        starts = {name: start[0] if isinstance(start, tuple) else start for name, start in self.states.items()}
        object.__setattr__(self, "starts", _numbers(item, "state", starts))
        inputs = self.inputs
        if len(set(inputs)) < len(inputs) or not all(map(_is_name, inputs)):
            raise ModelError(item, "names", inputs, "parameters, states and measures need different names")
        if len(inputs) > self.most_inputs:
            raise ModelError(item, "names", len(inputs), f"a law takes up to {self.most_inputs} numbers")
        if self.outputs > self.most_outputs:
            raise ModelError(item, "states", len(self.states), f"a law gives up to {self.most_outputs} numbers")
        if hasattr(self.force, "address") or (callable(self.force) and not is_symbolic(self.force)):
            return
        forces = self.force if isinstance(self.force, (tuple, list)) else (self.force,)
        if len(forces) != self.measures:
            raise ModelError(
                item, "force", self.force, f"a {self.measure} takes {self.measures}: one for each of {self.measured[0]}"
            )
        for name, state in self.states.items():
            if not isinstance(state, tuple) or len(state) != 2:
                raise ModelError(item, f"state {name!r}", state, "give its start value and the expression of its rate")
        rates = [rate for _, rate in self.states.values()]
        program = compile_expressions(
            [*forces, *rates, self.energy], inputs, definitions=dict(self.definitions), item=item
        )
        object.__setattr__(self, "program", program)

    @property
    def measured(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of what is measured and of the rates."""
        return MEASURES[self.measure]

    @property
    def measures(self) -> int:
        """How many numbers are measured."""
        return len(self.measured[0])

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of what the law takes, in order."""
        return ("t", *self.measured[0], *self.measured[1], *self.states, *self.parameters)

    @property
    def outputs(self) -> int:
        """How many numbers the law gives: forces, rates of states, energy."""
        return self.measures + len(self.states) + 1

    @property
    def function(self) -> Callable[..., Any] | Any | None:
        """The function that is the law, if it is one."""
        return None if self.program is not None else self.force

    def answers(self, inputs: Array) -> Array:
        """Return what the law gives, (n, outputs), for inputs (n, len(element.inputs)); in Python, one by one."""
        inputs = np.atleast_2d(np.asarray(inputs, dtype=float))
        if self.program is not None:
            columns = self.program.evaluate(list(inputs.T))
            return np.stack([np.broadcast_to(column, len(inputs)) for column in columns], axis=1)
        result = np.zeros((len(inputs), self.outputs))
        for row, given in zip(result, inputs, strict=True):
            numbers = _call_compiled(self.force, given, self.outputs) if hasattr(self.force, "address") else None
            numbers = np.atleast_1d(self.force(*given.tolist())) if numbers is None else numbers
            row[: len(numbers)] = numbers
        return result

    @property
    def at_hinge(self) -> bool:
        """Whether it acts at the coordinate of a hinge."""
        return self.measure == "hinge"


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
