"""Tables of elements for the core, and the data kept in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import Solid
from ..bodies.markers import Marker
from ..connections.elements.element import Element
from ..connections.laws import Law
from ..errors import UserFunctionError
from .contact_elements import SoftPair
from .joint_elements import FrictionSlot
from .program_tables import ProgramTables, table_arrays
from .schema import Rows, number
from .time_laws import LawTables

__all__ = ["ElementIndices", "ElementTables", "checked_python_law"]

_JOINT = number("measure", "joint")


@dataclass(frozen=True)
class ElementIndices:
    """Index ranges of one element in the tables of all elements.

    Attributes
    ----------
    row : int
        Index of the element.
    ports : range
        Indices of its ports.
    measures : slice
    inputs : slice
        Indices among the further inputs of all laws.
    """

    row: int
    ports: range
    measures: slice
    inputs: slice


@dataclass
class ElementTables:
    """Tables of elements for the core, row by row, and the data kept in Python.

    Attributes
    ----------
    laws : LawTables
    functions : list
        Laws that are functions: addresses of compiled ones, or Python functions, in the order of the core.
    function_sizes : list of (int, int)
        Number of arguments and results of each.
    parameters : list of float
    parameter_names : dict of str to int
        ``"k.stiffness"`` to its index among them.
    state_names : list of str
    starts : list of float
        Start values of the states.
    signals : dict of str to int
        ``"controller.u"`` to its index among the signals.
    inputs_by_law : list of str
        Names of the inputs given by time laws, in the order of the core; one may occur twice.
    indices : dict of str to ElementIndices
    friction_slots : dict of str to FrictionSlot
        Velocities with dry friction.
    actuated : dict of (str, int) to int
        Joints and their velocities at which actuators are bounded, in the order of the core.
    port_ends : dict of int to (Marker, Marker)
        Of ports between markers.
    drive_laws : dict of str to int
        First law of each drive.
    soft_pairs : list of SoftPair
        Compliant contacts of pairs of shapes, in the order of their elements.
    solids : list
        Solids of these, of the core.
    notes : list of str
    """

    laws: LawTables
    ports: Rows = field(default_factory=lambda: Rows("ports"))
    elements: Rows = field(default_factory=lambda: Rows("elements"))
    inputs: Rows = field(default_factory=lambda: Rows("inputs"))
    feedbacks: Rows = field(default_factory=lambda: Rows("feedbacks"))
    actuators: Rows = field(default_factory=lambda: Rows("actuators"))
    contact_pairs: Rows = field(default_factory=lambda: Rows("contact_pairs"))
    programs: ProgramTables = field(default_factory=ProgramTables)
    functions: list[Any] = field(default_factory=list)
    function_sizes: list[tuple[int, int]] = field(default_factory=list)
    parameters: list[float] = field(default_factory=list)
    parameter_names: dict[str, int] = field(default_factory=dict)
    state_names: list[str] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    signals: dict[str, int] = field(default_factory=dict)
    inputs_by_law: list[str] = field(default_factory=list)
    indices: dict[str, ElementIndices] = field(default_factory=dict)
    friction_slots: dict[str, FrictionSlot] = field(default_factory=dict)
    actuated: dict[tuple[str, int], int] = field(default_factory=dict)
    port_ends: dict[int, tuple[Marker, Marker]] = field(default_factory=dict)
    drive_laws: dict[str, int] = field(default_factory=dict)
    soft_pairs: list[SoftPair] = field(default_factory=list)
    solids: list[Solid] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _bounded: set[int] = field(default_factory=set)
    _feedback: dict[tuple[int, int], int] = field(default_factory=dict)
    measured: int = 0

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the tables."""
        return {
            **self.programs.arrays(),
            "elements": self.elements.array(),
            "ports": self.ports.array(),
            "inputs": self.inputs.array(),
            "feedbacks": self.feedbacks.array(),
            "actuators": self.actuators.array(),
            "contact_pairs": self.contact_pairs.array(),
            **table_arrays(self.programs.tables),
            "parameters": np.array(self.parameters, dtype=float),
        }

    def add_parameters(self, names: Iterable[str], values: Iterable[float]) -> int:
        """Return the index of the first parameter of an element; a name may be empty."""
        first = len(self.parameters)
        self.parameter_names.update({name: first + k for k, name in enumerate(names) if name})
        self.parameters += [float(x) for x in values]
        return first

    def add_function(self, name: str, element: Element) -> int:
        """Return the number of an element's function."""
        function: Any = element.function
        if hasattr(function, "address"):
            self.functions.append(int(function.address))
        else:
            self.functions.append(checked_python_law(name, function, element.output_count, bool(element.signals)))
        self.function_sizes.append((len(element.input_names), element.output_count))
        return len(self.functions) - 1

    def add_element(self, name: str, ports: list[int], measures: int, **fields: Any) -> None:
        """Add the row of an element; `name`: its name, or an empty string."""
        bounded = not self._bounded.isdisjoint(ports)
        row = self.elements.add(port=ports[0] if ports else 0, ports=len(ports), bounded=bounded, **fields)
        if name:
            span = slice(self.measured, self.measured + measures)
            taken = slice(fields.get("input", 0), fields.get("input", 0) + fields.get("inputs", 0))
            numbers = range(ports[0], ports[0] + len(ports)) if ports else range(0)
            self.indices[name] = ElementIndices(row, numbers, span, taken)
        self.measured += measures

    def add_joint_port(self, *, actuator: int = 0, **fields: Any) -> int:
        """Add a port at a velocity of a joint; `actuator`: number from 1 of the bound that applies there."""
        number = self.ports.add(measure=_JOINT, actuator=actuator, **fields)
        if actuator:
            self._bounded.add(number)
        return number

    def add_law_input(self, name: str, law: Law | Any) -> int:
        """Add an input given by a time law; return its number."""
        self.inputs_by_law.append(name)
        return self.inputs.add(source=number("source", "law"), place=self.laws.add(law))

    def feedback(self, connection: int, part: int) -> int:
        """Return the number of a transmitted load."""
        if (connection, part) not in self._feedback:
            self._feedback[connection, part] = self.feedbacks.add(connection=connection, part=part)
        return self._feedback[connection, part]


def checked_python_law(
    name: str, function: Callable[..., Any], gives: int, signals: bool = False
) -> Callable[..., Any]:
    """Return a Python law that names its element and the time if it fails or returns invalid values."""
    alone = gives == 2
    allowed = (gives,) if signals else (gives - 1, gives)

    def checked(t: float, given: Any) -> tuple[float, ...]:
        try:
            numbers = given if given.__class__ is tuple else tuple(np.ravel(given).tolist())
            if len(numbers) in allowed and isfinite(sum(numbers)):
                return numbers
        except (TypeError, ValueError):
            pass
        count = f"{gives - 1} finite number{'s' * (not alone)}, and the energy if it stores any"
        if signals:
            count = f"the energy and the signals, {gives} finite numbers"
        raise UserFunctionError(
            f"the law of element {name!r} returned {given!r} at t = {t:.6g} s; it gives forces and rates of states, "
            + count
        )

    def law(*inputs: float) -> Any:
        try:
            given = function(*inputs)
        except Exception as error:
            raise UserFunctionError(
                f"the law of element {name!r} failed at t = {inputs[0]:.6g} s: {error!r}"
            ) from error
        if alone and given.__class__ is float and given - given == 0.0:
            return given
        return checked(inputs[0], given)

    return law
