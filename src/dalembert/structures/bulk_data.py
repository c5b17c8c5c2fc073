"""Nastran bulk data cards as text: free, small and large fields, continuations."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

from ..errors import ModelError

__all__ = ["Card", "read_cards"]

# 2.5-8 and 1.+3 are numbers there: a sign after a digit or a point starts the exponent
_BARE_EXPONENT = re.compile(r"^([+-]?[\d.]+)([+-]\d+)$")


@dataclass(frozen=True)
class Card:
    """Bulk data card: its name, its fields from the second on, and its first line number."""

    name: str
    fields: tuple[str, ...]
    line: int

    @property
    def item(self) -> str:
        """Name of the card in error messages."""
        return f"nastran, line {self.line}: {self.name}"

    def text(self, place: int) -> str:
        """Return a field, empty if missing; the first after the name is 1."""
        return self.fields[place - 1] if place <= len(self.fields) else ""

    def whole(self, place: int, default: int | None = None) -> int:
        """Return an integer field."""
        text = self.text(place)
        if not text and default is not None:
            return default
        try:
            return int(text)
        except ValueError:
            raise ModelError(self.item, f"field {place}", text, "give an integer") from None

    def number(self, place: int, default: float | None = None) -> float:
        """Return a real field."""
        text = self.text(place)
        if not text and default is not None:
            return default
        try:
            found = float(_BARE_EXPONENT.sub(r"\1e\2", text.upper().replace("D", "E")))
            if not math.isfinite(found):
                raise ValueError
            return found
        except ValueError:
            raise ModelError(self.item, f"field {place}", text, "give a number") from None


def read_cards(path: Path) -> list[Card]:
    """Return the cards of a file: those of its bulk data section, or all without one.

    Raises
    ------
    ModelError
        If the file includes others, or starts with a continuation.
    """
    lines = path.read_text(errors="replace").splitlines()
    starts = [k for k, line in enumerate(lines) if line.strip().upper().startswith("BEGIN")]
    cards: list[tuple[str, list[str], int]] = []
    for number, raw in enumerate(lines[starts[0] + 1 if starts else 0 :], start=(starts[0] + 2 if starts else 1)):
        line = raw.split("$")[0].rstrip()
        if not line.strip():
            continue
        name, fields, continues = _split(line)
        if name.upper().startswith("ENDDATA"):
            break
        if name.upper().startswith("INCLUDE"):
            raise ModelError(f"nastran, line {number}", "INCLUDE", raw.strip(), "put the files into one")
        if not continues:
            cards.append((name.upper(), fields, number))
        elif cards:
            cards[-1][1].extend(fields)
        else:
            raise ModelError(f"nastran, line {number}", "continuation", raw.strip(), "no card comes before it")
    return [Card(name, tuple(fields), number) for name, fields, number in cards]


def _split(line: str) -> tuple[str, list[str], bool]:
    """Return name, fields, and whether a line continues the card before it."""
    if "," in line:
        parts = [part.strip() for part in line.split(",")]
        head, count = parts[0], 4 if parts[0].endswith("*") or parts[0].startswith("*") else 8
        fields = parts[1 : count + 1]
        fields += [""] * (count - len(fields))
    else:
        line = line.expandtabs(8)
        head = line[:8].strip()
        wide = "*" in head
        width, count = (16, 4) if wide else (8, 8)
        fields = [line[8 + width * k : 8 + width * (k + 1)].strip() for k in range(count)]
    continues = not head or head[0] in "+*"
    return head.rstrip("*").strip(), fields, continues
