"""Printable table of the parameters of a system: name, value, unit, expression."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .model import Model

__all__ = ["ParameterRow", "ParameterTable"]

MAX_ROWS = 60  # rows printed


@dataclass(frozen=True)
class ParameterRow:
    """One parameter: name, value, unit, and the expression that gives the value, if there is one."""

    name: str
    value: float
    unit: str
    follows: str = ""


class ParameterTable(Mapping[str, ParameterRow]):
    """All parameters of a system by name; those that the user named first.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> length = s.parameter("length", 1.0, unit="m")
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=length, mass=2.0)))
    >>> s.parameters["bob.com.x"]
    ParameterRow(name='bob.com.x', value=0.5, unit='m', follows='length / 2')
    """

    def __init__(self, title: str, rows: dict[str, ParameterRow]) -> None:
        self.title, self._rows = title, rows

    @classmethod
    def of(cls, model: Model) -> ParameterTable:
        """Return the parameters of a model."""
        own, count = model.family.compiled.numbers, model.n_element_parameters
        rows: dict[str, ParameterRow] = {}
        angles = {group.first for group in own.groups if group.what == "constraint" and group.key[1] == "angle"}
        names = model.parameter_names
        for name in (*own.named, *(name for name in names if name not in own.named)):
            place = names[name]
            value, unit = float(model.parameters[place]), "" if place < count else own.units[place - count]
            value = math.acos(value) if place - count in angles else value
            follows = own.follows.get(place)
            rows[name] = ParameterRow(name, value, unit, "" if follows is None else str(follows))
        return cls(model.system.name, rows)

    def __getitem__(self, name: str) -> ParameterRow:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        rows = list(self._rows.values())
        shown = rows[:MAX_ROWS]
        width = max((len(row.name) for row in shown), default=0)
        lines = [f"{len(rows)} parameters of {self.title!r}"]
        for row in shown:
            follows = f"  = {row.follows}" if row.follows else ""
            lines.append(f"  {row.name:<{width}}  {row.value:>12.6g} {row.unit}{follows}".rstrip())
        if len(rows) > MAX_ROWS:
            lines.append(f"  and {len(rows) - MAX_ROWS} more: look them up by name")
        return "\n".join(lines)
