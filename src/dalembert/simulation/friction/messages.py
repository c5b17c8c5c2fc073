"""Texts on changes of friction and stops: names of events, and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...arrays import BoolArray
from ...errors import SingularityError
from .modes import Modes
from .rows import FrictionRows

__all__ = [
    "Change",
    "StopImpact",
    "StopImpactLog",
    "change_texts",
    "gain_note",
    "jam_note",
    "no_consistent_modes",
    "unloaded_stops",
]


@dataclass
class StopImpact:
    """Impact of a row on a stop: side -1 or 1, speed of approach in rad/s or m/s."""

    row: int
    side: int
    speed: float


@dataclass
class Change:
    """Change of modes: texts for events, impacts, and whether velocities jumped."""

    texts: list[str] = field(default_factory=list)
    impacts: list[StopImpact] = field(default_factory=list)
    velocities_jumped: bool = False


def change_texts(
    rows: FrictionRows,
    before: Modes,
    modes: Modes,
    impacts: Sequence[StopImpact],
    movable: BoolArray | None = None,
) -> list[str]:
    """Return the texts of impacts and of changed modes; rows driven or locked by the user (not `movable`) have none.

    Such a row has no mode: it ceases to stick, but it does not slip.
    """
    texts = []
    for impact in impacts:
        which, limit = ("lower", rows.lower) if impact.side < 0 else ("upper", rows.upper)
        name, unit = rows.names[impact.row], rows.units[impact.row]
        speed = f"{impact.speed:.6g} {unit}/s"
        texts.append(f"{name} reaches its {which} limit {limit[impact.row]:.6g} {unit} with {speed}")
    named = set()
    scalar = rows.has_scalar_friction
    reverses = scalar & (before.sign * modes.sign < 0)
    chosen = (modes.stuck != before.stuck) | reverses | ~scalar
    for k in np.flatnonzero(chosen if movable is None else chosen & movable).tolist():
        name = rows.names[k]
        if not scalar[k] and not modes.side[k] and not before.side[k]:  # one text for a vector group
            name = name.rpartition(".")[0]
            if name in named:
                continue
            named.add(name)
        if modes.stuck[k] and not before.stuck[k]:
            texts.append(f"{name} {'rests on its stop' if modes.side[k] else 'sticks'}")
        elif before.stuck[k] and not modes.stuck[k]:
            texts.append(f"{name} {'leaves its stop' if before.side[k] else 'slips'}")
        elif reverses[k]:
            texts.append(f"{name} reverses")
    return texts


def unloaded_stops(names: Sequence[str]) -> str:
    """Return the note on stops without friction whose load is zero within rounding."""
    return f"{', '.join(names)}: the load on the stop is zero within rounding; held there until a force pulls it away"


def jam_note(names: Sequence[str], t: float, gain: float) -> str:
    """Return the note on sliding rows that jam."""
    return (
        f"{', '.join(names)} jammed at t = {t:.6g} s: friction depends on its own load with a gain of {gain:.3g}, and "
        "no solution exists; stopped at once by an impulse. Give a longer guide, a larger half_length, or less friction"
    )


def gain_note(names: Sequence[str], t: float, gain: float) -> str:
    """Return the note on sliding rows whose accelerations may not be unique."""
    return (
        f"friction of {', '.join(names)} depends on its own load with a gain of {gain:.3g} from t = {t:.6g} s on: "
        "accelerations are not unique, or none exists; the one nearest to that without friction is used"
    )


def no_consistent_modes(names: Sequence[str], t: float) -> SingularityError:
    """Return the error of rows at rest whose load-dependent friction has no solution."""
    listed = ", ".join(repr(name) for name in names)
    return SingularityError(
        f"at t = {t:.9g} s friction of {listed} depends on loads so strongly that no solution exists: neither stick "
        "nor slip in any direction is consistent with its loads; give longer guides, a larger half_length, or "
        "less friction"
    )


class StopImpactLog:
    """Impacts of a run by row and side: time of the first, largest speed, count."""

    def __init__(self) -> None:
        self.entries: dict[tuple[int, int], tuple[float, float, int]] = {}

    def add(self, row: int, side: int, speed: float, t: float) -> None:
        """Add an impact at a time t, s."""
        first, most, count = self.entries.get((row, side), (t, 0.0, 0))
        self.entries[row, side] = first, max(most, speed), count + 1

    def notes(self, rows: FrictionRows) -> list[str]:
        """Return the notes on stops reached."""
        notes = []
        for (row, side), (first, most, count) in sorted(self.entries.items()):
            which, limit = ("lower", rows.lower) if side < 0 else ("upper", rows.upper)
            unit, times = rows.units[row], "once" if count == 1 else f"{count} times"
            notes.append(
                f"{rows.names[row]} reached its {which} limit {limit[row]:.6g} {unit} {times}, first at "
                f"t = {first:.6g} s, with up to {most:.6g} {unit}/s"
            )
        return notes

    def to_plain(self) -> list[list[Any]]:
        """Return the log as lists."""
        return [[*key, *value] for key, value in self.entries.items()]

    def restore(self, kept: list[list[Any]]) -> None:
        """Set the log from lists."""
        self.entries = {(int(row), int(which)): (t, most, int(n)) for row, which, t, most, n in kept}
