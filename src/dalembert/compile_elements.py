"""From elements with laws of their own to the flat arrays of core/bind/build.cpp."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .connections.elements import MEASURES, Element
from .errors import TopologyError, UserFunctionError

if TYPE_CHECKING:
    from .compile_forces import ForceTables
    from .connections.energetic import ForceConnection
    from .model import Model

__all__ = ["ElementTables", "flatten_elements", "guarded_law"]


@dataclass
class ElementTables:
    """What the core needs, row by row, and what Python keeps of it.

    Attributes
    ----------
    functions : list
        Laws that are functions: addresses of compiled ones, or Python functions, in the order of the core.
    function_sizes : list of (int, int)
        How many numbers each takes and gives.
    state_names : list of str
    starts : list of float
        Start values of the states.
    """

    numbers: list[NDArray[np.float64]] = field(default_factory=list)
    integers: list[list[int]] = field(default_factory=list)
    programs: list[list[int]] = field(default_factory=list)
    instructions: list[tuple[int, ...]] = field(default_factory=list)
    constants: list[float] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    functions: list[Any] = field(default_factory=list)
    function_sizes: list[tuple[int, int]] = field(default_factory=list)
    state_names: list[str] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)

    def arrays(self) -> tuple[Any, ...]:
        """Return the arguments of ``_core.Model._set_elements``."""
        return (
            np.array(self.numbers, dtype=float).reshape(-1, 24),
            np.array(self.integers, dtype=np.int32).reshape(-1, 11),
            np.array(self.programs, dtype=np.int32).reshape(-1, 4),
            np.array(self.instructions, dtype=np.int32).reshape(-1, 5),
            np.array(self.constants, dtype=float),
            np.array(self.outputs, dtype=np.int32),
        )

    def add_program(self, element: Element) -> int:
        """Return the number of an element's program."""
        program = element.program
        assert program is not None
        shift = len(self.constants)
        first = len(self.instructions)
        for code, a, *rest in program.instructions:
            self.instructions.append((code, a + shift if code == 0 else a, *rest))
        self.constants += program.constants
        self.programs.append([first, len(program.instructions), len(self.outputs), len(program.outputs)])
        self.outputs += program.outputs
        return len(self.programs) - 1

    def add_function(self, name: str, element: Element) -> int:
        """Return the number of an element's function."""
        function: Any = element.function
        compiled = hasattr(function, "address")
        self.functions.append(int(function.address) if compiled else guarded_law(name, function, element.outputs))
        self.function_sizes.append((len(element.inputs), element.outputs))
        return len(self.functions) - 1


def guarded_law(name: str, function: Callable[..., Any], outputs: int) -> Callable[..., Any]:
    """Return a law in Python that names its element and the time if it fails or gives what is no answer."""
    alone = outputs == 2

    def checked(t: float, given: Any) -> tuple[float, ...]:
        try:
            numbers = given if given.__class__ is tuple else tuple(np.ravel(given).tolist())
            if len(numbers) in (outputs - 1, outputs) and isfinite(sum(numbers)):
                return numbers
        except (TypeError, ValueError):
            pass
        raise UserFunctionError(
            f"the law of element {name!r} returned {given!r} at t = {t:.6g} s; it gives forces and rates of states, "
            f"{outputs - 1} finite number{'s' * (not alone)}, and the energy if it stores any"
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


def flatten_elements(model: Model, forces: ForceTables) -> ElementTables:
    """Return the tables of a model's elements with laws of their own; their parameters join those of the forces."""
    tables = ElementTables()
    for connection in model.system.forces.values():
        if isinstance(connection.element, Element):
            _add(tables, forces, model, connection, connection.element)
    return tables


def _add(
    tables: ElementTables, forces: ForceTables, model: Model, connection: ForceConnection, element: Element
) -> None:
    from .compile_forces import ends_in_kernel_frames

    name = connection.name
    bodies, place, numbers = (0, 0), (-1, -1), np.zeros(24)
    if element.at_hinge:
        assert connection.hinge is not None
        hinge = connection.hinge.name
        if hinge not in model.hinge_names:
            raise TopologyError(
                f"{element.kind} {name!r}: every hinge of its loop is driven, coupled or bears a force element, so "
                f"that {hinge!r} has to be cut and has no coordinate; leave one hinge of each loop free"
            )
        place = (
            model.v_slice(hinge).start + connection.coordinate,
            model.q_slice(hinge).start + connection.coordinate,
        )
    else:
        assert connection.first is not None and connection.second is not None
        frames, bodies = ends_in_kernel_frames(model, connection.first, connection.second)
        numbers = np.concatenate(frames)
    program, function = (
        (tables.add_program(element), -1) if element.program else (-1, tables.add_function(name, element))
    )
    first = forces.add_parameters(name, tuple(element.parameters), element.parameters.values())
    measure = list(MEASURES).index(element.measure)
    sizes = (first, len(element.parameters), len(element.states), int(element.active))
    tables.numbers.append(numbers)
    tables.integers.append([measure, *bodies, *place, program, function, *sizes])
    tables.state_names += [f"{name}.{state}" for state in element.states]
    tables.starts += list(element.starts.values())
