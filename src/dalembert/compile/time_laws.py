"""Rows of the core for time laws and drives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..connections.constraints.couplings import CustomCoupling
from ..connections.constraints.geometric import AxisAngle, Constraint
from ..connections.drives import Drive, PoseDrive
from ..connections.joints import Joint
from ..connections.laws import Constant, Harmonic, Law, Polynomial, Ramp, Spline
from ..connections.piecewise_laws import Piecewise
from .names import Names
from .schema import Rows, number

__all__ = ["LawTables", "flatten_drives"]


class LawTables:
    """Collected time laws for the core.

    Attributes
    ----------
    laws : list
        All of them.
    callback_laws : list
        Laws that the core cannot evaluate, in its order.
    """

    def __init__(self) -> None:
        self.rows = Rows("laws")
        self.numbers: list[float] = []
        self.callback_laws: list[Any] = []
        self.laws: list[Any] = []

    def add(self, law: Law | Any) -> int:
        """Return the number of a law."""
        count = degree = 0
        numbers: Iterable[float] = (0.0,)  # a law without numbers still points into them
        match law:
            case Constant():
                kind, numbers = "constant", (law.value,)
            case Polynomial():
                kind, numbers, count = "polynomial", law.coefficients, len(law.coefficients)
            case Harmonic():
                kind, numbers = "harmonic", (law.amplitude, law.frequency, law.phase, law.offset)
            case Ramp():
                kind, numbers = "ramp", (law.start, law.end, law.duration, law.begin)
            case Spline() | Piecewise():
                ends, pieces = law.pieces()
                kind, count, degree = "table", len(pieces), pieces.shape[1] - 1
                numbers = (*ends, *pieces.ravel())
            case _:
                kind = "callback"
                self.callback_laws.append(law)
        self.laws.append(law)
        first = len(self.numbers)
        self.numbers += [float(x) for x in numbers]
        return self.rows.add(kind=number("law", kind), first=first, count=count, degree=degree)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the tables."""
        return {"laws": self.rows.array(), "law_values": np.array(self.numbers, dtype=float)}


def flatten_drives(drives: Iterable[Drive], names: Names, laws: LawTables, firsts: dict[str, int]) -> NDArray[Any]:
    """Return the table of drives, in order; `firsts` receives the first law of each."""
    rows = Rows("drives")
    for drive in drives:
        element, name = drive.connection.element, drive.connection.name
        law, *_ = [laws.add(law) for law in drive.laws]
        firsts[drive.name] = law
        if isinstance(drive, PoseDrive):
            axes = drive.attitude.axes
            rows.add(
                row=-1,
                dof=names.v[name].start,
                coordinate=names.q[name].start,
                law=law,
                turns=len(drive.attitude.laws),
                axes=axes or (0, 0, 0),
                moves=len(drive.place),
            )
        elif not isinstance(element, Joint):
            assert isinstance(element, (Constraint, CustomCoupling))
            # the law's value less the residual for it
            wraps = isinstance(element, AxisAngle) and element.about is not None
            cosine = isinstance(element, AxisAngle) and not wraps
            offset = np.cos(1.0) - element.target(1.0, 0.0, 0.0)[0] if cosine else -element.target(0.0, 0.0, 0.0)[0]
            row = names.row_connections.index(name) + drive.coordinate
            how = {"cosine": cosine, "wraps": wraps, "offset": float(offset)}
            rows.add(row=row, dof=-1, coordinate=-1, law=law, level=drive.level, **how)
        else:
            dof = names.v[name].start + drive.coordinate
            coordinate = names.q[name].start + drive.coordinate if element.nq == element.nv else -1
            rows.add(row=-1, dof=dof, coordinate=coordinate, law=law, level=drive.level)
    return rows.array()
