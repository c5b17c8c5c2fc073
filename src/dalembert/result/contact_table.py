"""Table of the contact points at one time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..model import Model
from .contact_points import ContactPoints

__all__ = ["ContactRow", "ContactTable", "table_of_points"]

STATE_NAMES = {1: "sticks", 2: "slides"}


@dataclass(frozen=True, eq=False)
class ContactRow:
    """One contact point.

    Attributes
    ----------
    pair : str
        Contact and bodies, ``"floor/crate"``.
    state : str
        ``"sticks"`` or ``"slides"``.
    position : (3,) m
    normal : (3,)
        From the first to the second side.
    force : (3,) N
        On the second side; world axes.
    normal_force, friction : float, N
        Its part along the normal, and the size of the tangential one.
    gap : float, m
    slip : float, m/s
    """

    pair: str
    state: str
    position: Array
    normal: Array
    force: Array
    gap: float
    slip: float

    @property
    def normal_force(self) -> float:
        """Part of the force along the normal, N."""
        return float(self.force @ self.normal)

    @property
    def friction(self) -> float:
        """Size of the tangential force, N."""
        return float(np.linalg.norm(self.force - self.normal_force * self.normal))


class ContactTable:
    """Contact points at one time, as a sequence of `ContactRow`; printed as a table.

    Parameters
    ----------
    t : float, s
    rows : list of ContactRow
    """

    def __init__(self, t: float, rows: list[ContactRow]) -> None:
        self.t, self.rows = t, rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, k: int) -> ContactRow:
        return self.rows[k]

    def __iter__(self) -> Iterator[ContactRow]:
        return iter(self.rows)

    def __repr__(self) -> str:
        if not self.rows:
            return f"<ContactTable: no points at t = {self.t:.6g} s>"
        head = ("contact", "state", "x", "y", "z [m]", "normal", "friction [N]", "gap [m]", "slip [m/s]")
        lines = [head, *(_texts(row) for row in self.rows)]
        widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
        texts = ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([f"contact points at t = {self.t:.6g} s", *(text.rstrip() for text in texts)])

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame."""
        import pandas

        columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in self.rows] for name in ("pair", "state")}
        for name in ("position", "normal", "force"):
            for k, axis in enumerate("xyz"):
                columns[f"{name}.{axis}"] = [float(getattr(row, name)[k]) for row in self.rows]
        for name in ("normal_force", "friction", "gap", "slip"):
            columns[name] = [getattr(row, name) for row in self.rows]
        return pandas.DataFrame(columns)


def _texts(row: ContactRow) -> tuple[str, ...]:
    numbers = (*row.position.tolist(), row.normal_force, row.friction, row.gap, row.slip)
    return (row.pair, row.state, *(f"{number:.4g}" for number in numbers))


def table_of_points(model: Model, t: float, points: ContactPoints) -> ContactTable:
    """Return the table of the contact points at one time."""
    tables = model.contacts
    if tables is None:
        return ContactTable(t, [])
    bodies = tables.bodies
    rows = []
    for k in range(len(points)):
        one, two = bodies[points.shapes[k]].tolist()
        rows.append(
            ContactRow(
                tables.pair_name(int(points.contact[k]), one, two),
                STATE_NAMES[int(points.state[k])],
                points.position[k],
                points.normal[k],
                points.force[k],
                float(points.gap[k]),
                float(points.slip[k]),
            )
        )
    return ContactTable(t, rows)
