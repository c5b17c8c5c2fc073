"""Interface to the core: tables with named fields, and enumerations. Both are defined by the core."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core

__all__ = ["Rows", "number", "table"]


def number(enumeration: str, name: str) -> int:
    """Return the enumeration value of a name, ``number("measure", "distance")``."""
    return _core.enumerations[enumeration][name]


def table(name: str, count: int = 0) -> NDArray[Any]:
    """Return zero rows of a table, to be filled by field."""
    return np.zeros(count, dtype=_core.tables[name])


class Rows:
    """Rows of a table, added one by one.

    Parameters
    ----------
    name : str
        Of the table.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._rows: list[dict[str, Any]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, **fields: Any) -> int:
        """Add a row; omitted fields are zero. Return its number."""
        self._rows.append(fields)
        return len(self._rows) - 1

    def array(self) -> NDArray[Any]:
        """Return the rows as an array for the core."""
        rows = table(self.name, len(self._rows))
        names = list(self._rows[0]) if self._rows else []
        if all(list(fields) == names for fields in self._rows):  # by field: one by one takes five times as long
            for name in names:
                rows[name] = np.array([np.ravel(fields[name]) for fields in self._rows]).reshape(rows[name].shape)
            return rows
        for row, fields in zip(rows, self._rows, strict=True):
            for field, value in fields.items():
                row[field] = np.ravel(value) if np.ndim(value) else value
        return rows
