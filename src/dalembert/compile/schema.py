"""The contract with the core: tables with fields by name, and the numbers behind names. Both are the core's own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core

__all__ = ["Rows", "number", "table"]


def number(enumeration: str, name: str) -> int:
    """Return the number behind a name, ``number("measure", "distance")``."""
    found: int = _core.numbers[enumeration][name]
    return found


def table(name: str, count: int = 0) -> NDArray[Any]:
    """Return rows of a table, all zero, to be filled by field."""
    return np.zeros(count, dtype=_core.tables[name])


class Rows:
    """Rows of a table that come one by one.

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
        """Add a row; fields that are left out are zero. Return its number."""
        self._rows.append(fields)
        return len(self._rows) - 1

    def array(self) -> NDArray[Any]:
        """Return the rows as the core takes them."""
        rows = table(self.name, len(self._rows))
        for row, fields in zip(rows, self._rows, strict=True):
            for field, value in fields.items():
                row[field] = np.ravel(value) if np.ndim(value) else value
        return rows
