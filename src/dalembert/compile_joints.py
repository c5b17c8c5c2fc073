"""From custom hinges, custom constraints and chains to the flat arrays of core/bind/build.cpp."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .connections.chains import KinematicChain
from .connections.constraints import Constraint
from .connections.custom import CustomConstraint, CustomHinge, PfaffConstraint
from .connections.expressions import Program
from .connections.hinges import Hinge

__all__ = ["CHAIN", "JointTables"]

CHAIN = KinematicChain.code  # core/model.hpp: Closure::chain


@dataclass
class JointTables:
    """Programs of all joints, and the sets of inner coordinates that chains are searched from."""

    programs: list[list[int]] = field(default_factory=list)
    instructions: list[tuple[int, ...]] = field(default_factory=list)
    constants: list[float] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    _known: dict[int, int] = field(default_factory=dict)

    def add(self, *programs: Program) -> int:
        """Take programs that belong together, once; return the number of the first."""
        key = id(programs[0])
        if key not in self._known:
            self._known[key] = len(self.programs)
            for program in programs:
                self._take(program)
        return self._known[key]

    def _take(self, program: Program) -> None:
        shift = len(self.constants)
        self.programs.append(
            [len(self.instructions), len(program.instructions), len(self.outputs), len(program.outputs)]
        )
        for code, a, *rest in program.instructions:
            self.instructions.append((code, a + shift if code == 0 else a, *rest))
        self.constants += program.constants
        self.outputs += program.outputs

    def of_hinge(self, hinge: CustomHinge, *, reversed: bool) -> tuple[int, int]:
        """Return the first program of a tree's hinge, and its number of freedoms."""
        programs = hinge.programs[int(reversed)]
        return self.add(programs.pose, programs.bias), hinge.nv

    def of_chord(self, element: Hinge | Constraint) -> tuple[int, int, int, int]:
        """Return the first program of a chord, its inner coordinates, where its starts begin, and their number."""
        if isinstance(element, (CustomConstraint, PfaffConstraint)):
            return self.add(*element.programs), 0, 0, 0
        if not isinstance(element, (KinematicChain, CustomHinge)):
            return 0, 0, 0, 0
        programs = element.programs if isinstance(element, KinematicChain) else element.programs[0]
        first = len(self.starts)
        self.starts += element.starts.ravel().tolist()
        return self.add(programs.pose, programs.bias), programs.n, first, len(element.starts)

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the last arguments of ``_core.Model``."""
        return (
            np.array(self.programs, dtype=np.int32).reshape(-1, 4),
            np.array(self.instructions, dtype=np.int32).reshape(-1, 5),
            np.array(self.constants, dtype=float),
            np.array(self.outputs, dtype=np.int32),
            np.array(self.starts, dtype=float),
        )
