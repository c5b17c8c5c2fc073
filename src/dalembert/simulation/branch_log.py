"""Log of the branches of discontinuous laws along a run, with sliding modes.

Within a step every law keeps the branch of the beginning of the step. Dense output repeats steps and needs these
branches; outputs need the sliding modes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from ..arrays import Array, BoolArray

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["BranchLog", "owner_of"]


def owner_of(model: Model, function: int) -> str:
    """Return the owner of a switching function, as named in messages."""
    row = model.switching_functions[function][0]
    name = next((name for name, place in model.compiled.elements.indices.items() if place.row == row), "")
    return f"element {name!r}" if name else "a signal"


@dataclass
class BranchLog:
    """Sides of switching functions from times on.

    A side is -1 or 1, an integer level, or the number of a piece of a table. It is 0 in a sliding mode, unless the
    switching function has many levels, and NaN where no branch is held.

    Attributes
    ----------
    whole : (n,) bool
        Switching functions with many levels.
    parts : list of (times (k,), sides (k, n))
    noted : set of str
        Owners of switching functions whose sliding mode has a note.
    """

    whole: BoolArray
    parts: list[tuple[Array, Array]] = field(default_factory=list)
    noted: set[str] = field(default_factory=set)

    def take(self, integrator: _core.Integrator) -> Iterator[tuple[float, frozenset[int], Array]]:
        """Record the branch changes of an integrator; yield times, sliding switching functions, and sides."""
        if not len(self.whole):
            return
        times, sides = integrator.take_branches()
        if len(times):
            self.parts.append((times, sides))
        slides = (sides == 0) & ~self.whole
        for t, row, side in zip(times.tolist(), slides, sides, strict=True):
            yield t, frozenset(np.flatnonzero(row).tolist()), side

    def notes(self, model: Model, t: float, slides: frozenset[int]) -> list[str]:
        """Return the note on the first sliding mode of each law."""
        owners = sorted({owner_of(model, k) for k in slides} - self.noted)
        self.noted.update(owners)
        return [
            f"t = {t:.6g} s: {f'the law of {owner}' if owner != 'a signal' else owner} jumps there and drives the "
            "motion back to the jump from both sides: a sliding mode, in which a mixture of both branches acts"
            for owner in owners
        ]

    def arrays(self) -> tuple[Array, Array]:
        """Return times (n,) and sides (n, switching functions)."""
        if len(self.parts) > 1:
            self.parts = [(np.concatenate([t for t, _ in self.parts]), np.vstack([sides for _, sides in self.parts]))]
        return self.parts[0] if self.parts else (np.zeros(0), np.zeros((0, len(self.whole))))

    def fill(self, times: Array, sides: Array) -> None:
        """Replace the log."""
        self.parts = [(times, sides)] if len(times) else []

    def drop_after(self, t: float) -> None:
        """Drop changes later than a time, s."""
        while self.parts and self.parts[-1][0][-1] > t:
            times, sides = self.parts.pop()
            kept = times <= t
            if kept.any():
                self.parts.append((times[kept], sides[kept]))

    def set_on(self, integrator: _core.Integrator) -> None:
        """Set the log on an integrator that repeats steps."""
        if len(self.whole):
            integrator.set_branches(*self.arrays())
