"""Columns of numbers from CSV files, for tables, splines and curves in model files."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

from ...errors import FileError
from ...units import Dimension, unit_of

__all__ = ["Columns"]

MAX_SIZE = 64 * 1024 * 1024  # bytes
_HEAD = re.compile(r"^(?P<name>.*?)\s*(?:[\[(](?P<unit>[^\])]*)[\])])?$")


class Columns:
    """A CSV file with one line of headings: ``time [s], lift [mm]``; numbers are given in SI units.

    Fields are separated by commas, semicolons or tabs; empty lines and those that begin with ``#`` are skipped.
    """

    def __init__(self, path: Path, place: str) -> None:
        self.path = path
        try:
            if path.stat().st_size > MAX_SIZE:
                raise FileError(place, "csv", str(path), f"it is too large: at most {MAX_SIZE} bytes")
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise FileError(place, "csv", str(path), f"it cannot be read: {reason}") from None
        lines = [
            (number, line)
            for number, line in enumerate(text.splitlines(), 1)
            if line.strip() and not line.startswith("#")
        ]
        if not lines:
            raise FileError(place, "csv", str(path), "it is empty")
        sign = next((sign for sign in ";\t" if sign in lines[0][1]), ",")
        self.rows = [
            (number, row)
            for number, row in zip(
                (n for n, _ in lines), csv.reader((x for _, x in lines), delimiter=sign), strict=False
            )
        ]
        heads = [_HEAD.match(head.strip()) for head in self.rows.pop(0)[1]]
        self.heads = {head["name"]: (k, head["unit"] or "") for k, head in enumerate(heads) if head is not None}

    def column(self, name: Any, unit: str | None, place: str) -> tuple[list[float], Dimension | None]:
        """Return the numbers of a column in SI units, and their dimension if the unit is known."""
        if name not in self.heads:
            raise FileError(place, "column", name, f"{self.path.name} has {', '.join(map(repr, self.heads))}")
        k, own = self.heads[name]
        unit_text = own if unit is None else unit
        known = unit_of(unit_text) if unit_text and unit_text != "-" else None
        if unit_text and unit_text != "-" and known is None:
            raise FileError(place, "unit", unit_text, "this unit is unknown")
        factor = 1.0 if known is None else known.value
        numbers = []
        for line, row in self.rows:
            try:
                numbers.append(float(row[k]) * factor)
            except (ValueError, IndexError):
                value = row[k] if k < len(row) else ""
                raise FileError(f"{self.path}:{line}", str(name), value, "give a number") from None
        return numbers, None if known is None else known.dimension
