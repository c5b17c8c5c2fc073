"""Programs of joints without a compiled kernel, custom constraints and chains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..connections.constraints.chains import KinematicChain
from ..connections.constraints.couplings import CustomCoupling
from ..connections.constraints.custom import CustomConstraint, PfaffianConstraint
from ..connections.constraints.geometric import Constraint
from ..connections.formulas.expressions import Program
from ..connections.formulas.tables import Table
from ..connections.joints import Joint
from .schema import Rows, number

__all__ = ["ConnectionProgramTables", "ProgramTables", "table_arrays"]

NONE: Mapping[int, int] = MappingProxyType({})


class ProgramTables:
    """Collected programs for the core.

    own : of programs, by number, the indices of constants that are numbers of the description, by name

    Parameters
    ----------
    prefix : str
        Of the names of their tables.
    """

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.programs, self.instructions = Rows(f"{prefix}programs"), Rows(f"{prefix}instructions")
        self.constants: list[float] = []
        self.outputs: list[int] = []
        self.tables: list[Any] = []
        self.own: dict[int, dict[str, int]] = {}

    def take(self, program: Program, switching_functions: Mapping[int, int] = NONE) -> int:
        """Add a program and the switching functions of its operations by index; return its number."""
        constant = number("operation", "constant")
        shifts = {
            constant: len(self.constants),
            number("operation", "lookup"): len(self.tables),
        }
        row = self.programs.add(
            first=len(self.instructions),
            count=len(program.instructions),
            output=len(self.outputs),
            outputs=len(program.outputs),
        )
        for place, (code, a, b, c, d) in enumerate(program.instructions):
            branch = switching_functions.get(place, 0)
            if code == constant and a in program.own:
                branch = 1
                self.own.setdefault(row, {})[program.own[a]] = a + shifts[code]
            self.instructions.add(operation=code, a=a + shifts.get(code, 0), b=b, c=c, d=d, branch=branch)
        self.constants += program.constants
        self.outputs += program.outputs
        self.tables += program.tables
        return row

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the tables."""
        return {
            f"{self.prefix}programs": self.programs.array(),
            f"{self.prefix}instructions": self.instructions.array(),
            f"{self.prefix}constants": np.array(self.constants, dtype=float),
            f"{self.prefix}outputs": np.array(self.outputs, dtype=np.int32),
        }


def table_arrays(tables: Sequence[Table]) -> dict[str, NDArray[Any]]:
    """Return the lookup tables of programs, those of joints first."""
    rows, numbers, first = Rows("tables"), [np.zeros(0)], 0
    for table in tables:
        rows.add(
            variables=table.variables,
            degree=table.degree,
            cells=[len(axis) - 1 for axis in table.axes] + [0] * (3 - table.variables),
            first=first,
            extrapolation=number("extrapolation", table.outside),
        )
        numbers.append(table.numbers)
        first += len(numbers[-1])
    return {"tables": rows.array(), "table_values": np.concatenate(numbers)}


class ConnectionProgramTables:
    """Programs of all joints, and the initial guesses of inner coordinates of chains.

    own : of each connection, the constants of programs that its numbers are, by name
    """

    def __init__(self) -> None:
        self.programs = ProgramTables("joint_")
        self.starts: list[float] = []
        self.own: dict[str, dict[str, list[int]]] = {}
        self._known: dict[tuple[int, str], int] = {}

    def _add(self, name: str, *programs: Program) -> int:
        """Add programs that belong together, once; return the number of the first.

        Parameters belong to a name.
        """
        own = any(program.own for program in programs)
        key = id(programs[0]), name if own else ""  # kept by its joint or constraint as long as the system
        if key not in self._known:
            rows = [self.programs.take(program) for program in programs]
            self._known[key] = rows[0]
            for row in rows:
                for label, place in self.programs.own.get(row, {}).items():
                    self.own.setdefault(name, {}).setdefault(label, []).append(place)
        return self._known[key]

    def of_joint(self, name: str, joint: Joint, *, reversed: bool) -> int:
        """Return the first program of a tree joint."""
        programs = joint.programs[int(reversed)]
        return self._add(name, programs.pose, programs.bias)

    def of_loop_constraint(self, name: str, element: Joint | Constraint | CustomCoupling) -> dict[str, int]:
        """Return the fields of a loop constraint with programs: the first program, inner coordinates, their start."""
        if isinstance(element, (CustomConstraint, PfaffianConstraint, CustomCoupling)):
            return {"program": self._add(name, *element.programs)}
        if isinstance(element, KinematicChain):
            programs = element.programs
        elif isinstance(element, Joint) and not element.kernel:
            programs = element.programs[0]
        else:
            return {}
        first = len(self.starts)
        self.starts += element.starts.ravel().tolist()
        return {
            "program": self._add(name, programs.pose, programs.bias),
            "inner": programs.n,
            "start": first,
            "starts": len(element.starts),
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the tables."""
        starts = {"inner_starts": np.array(self.starts, dtype=float)}
        return {**self.programs.arrays(), **table_arrays(self.programs.tables), **starts}
