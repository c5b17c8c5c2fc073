"""Velocities and rows prescribed by time: clocks of rheonomic joints, drives of joints and of constraints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array, BoolArray, IndexArray
from ...connections.drives import Drive
from ...model import Model
from ...model.drive_targets import driven_dof, driven_row
from ..loop_equations import LoopEquations

__all__ = ["Prescribed"]


@dataclass(frozen=True, eq=False)
class Prescribed:
    """Velocities and rows that follow time laws.

    Attributes
    ----------
    drives : tuple of Drive
        Drives of the system.
    clock_drives : tuple of Drive
        Time itself, as a coordinate of a joint.
    clocks : (nv,) bool
        Mask of velocities that are clocks.
    columns : (len(drives),) of list of int
        The velocities that each drive prescribes; none for a drive of a constraint.
    row_numbers : (len(drives),) int
        The row that each drive prescribes; -1 for a drive of a joint.
    rows : (nc,) bool
        Rows that drives prescribe.
    """

    drives: tuple[Drive, ...]
    clock_drives: tuple[Drive, ...]
    clocks: BoolArray
    columns: tuple[tuple[int, ...], ...]
    row_numbers: IndexArray
    rows: BoolArray

    @classmethod
    def of(cls, model: Model) -> Prescribed:
        """Return the prescribed velocities and rows of a model."""
        clocks = np.array([unit == "s" for unit in model.compiled.names.speed_units], dtype=bool)
        joints = set(model.joint_drives)
        indices = {d: tuple(int(f) for f in driven_dof(model, d)) for d in model.joint_drives}
        drives = tuple(d for d in model.drives if d not in joints or not clocks[list(indices[d])].any())
        columns = tuple(indices.get(d, ()) for d in drives)
        numbers = np.array([-1 if d in joints else driven_row(model, d) for d in drives], dtype=np.intp)
        rows = np.zeros(model.nc, dtype=bool)
        rows[numbers[numbers >= 0]] = True
        time = tuple(d for d in model.joint_drives if clocks[list(indices[d])].any())
        return cls(drives, time, clocks, columns, numbers, rows)

    def leave(self, loops: LoopEquations, q: Array) -> tuple[int, tuple[str, ...]]:
        """Return the number of motions left by loops and drives at q (nq,), and the idle drives.

        A drive is idle if the number does not grow without it.
        """

        def left(without: int | None) -> int:
            free, let_go = ~self.clocks, np.zeros(loops.model.nc, dtype=bool)
            for k, (columns, row) in enumerate(zip(self.columns, self.row_numbers, strict=True)):
                if k != without:
                    free[list(columns)] = False
                if row >= 0 and k == without:
                    let_go[row] = True
            return int(free.sum()) - loops.without(let_go).rank(q, free)

        number = left(None)
        return number, tuple(d.name for k, d in enumerate(self.drives) if left(k) == number)
