"""What friction and stops did, in words: for the events and the notes of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .modes import Modes
from .rows import FrictionRows

__all__ = ["Change", "StopImpact", "StopImpactLog", "describe_change"]


@dataclass
class StopImpact:
    """A stop that was reached."""

    row: int
    side: int
    speed: float


@dataclass
class Change:
    """What a decision did, in words and numbers; `loses`: speeds have jumped."""

    words: list[str] = field(default_factory=list)
    hits: list[StopImpact] = field(default_factory=list)
    loses: bool = False


def describe_change(rows: FrictionRows, before: Modes, modes: Modes, change: Change) -> None:
    """Add to a change what it did to the modes."""
    for hit in change.hits:
        which, limit = ("lower", rows.lower) if hit.side < 0 else ("upper", rows.upper)
        name, unit = rows.names[hit.row], rows.units[hit.row]
        speed = f"{hit.speed:.6g} {unit}/s"
        change.words.append(f"{name} reaches its {which} limit {limit[hit.row]:.6g} {unit} with {speed}")
    said = set()
    for k, name in enumerate(rows.names):
        if not rows.alone[k] and not modes.side[k] and not before.side[k]:  # one friction, one word
            name = name.rpartition(".")[0]
            if name in said:
                continue
            said.add(name)
        if modes.stuck[k] and not before.stuck[k]:
            change.words.append(f"{name} {'rests on its stop' if modes.side[k] else 'sticks'}")
        elif before.stuck[k] and not modes.stuck[k]:
            change.words.append(f"{name} {'leaves its stop' if before.side[k] else 'slips'}")
        elif rows.alone[k] and before.sign[k] * modes.sign[k] < 0:
            change.words.append(f"{name} reverses")


class StopImpactLog:
    """Stops that were reached in a run: by row and side, when first, how fast at most, how often."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, int], tuple[float, float, int]] = {}

    def add(self, change: Change, t: float) -> None:
        """Count those of a change."""
        for hit in change.hits:
            first, most, count = self.known.get((hit.row, hit.side), (t, 0.0, 0))
            self.known[hit.row, hit.side] = first, max(most, hit.speed), count + 1

    def notes(self, rows: FrictionRows) -> list[str]:
        """Return what the run should say about its stops."""
        said = []
        for (row, side), (first, most, count) in sorted(self.known.items()):
            which, limit = ("lower", rows.lower) if side < 0 else ("upper", rows.upper)
            unit, times = rows.units[row], "once" if count == 1 else f"{count} times"
            said.append(
                f"{rows.names[row]} reached its {which} limit {limit[row]:.6g} {unit} {times}, first at "
                f"t = {first:.6g} s, with up to {most:.6g} {unit}/s"
            )
        return said

    def plain(self) -> list[list[Any]]:
        """Return them as lists."""
        return [[*key, *value] for key, value in self.known.items()]

    def restore(self, kept: list[list[Any]]) -> None:
        """Take up what `plain` gave."""
        self.known = {(int(row), int(which)): (t, most, int(n)) for row, which, t, most, n in kept}
