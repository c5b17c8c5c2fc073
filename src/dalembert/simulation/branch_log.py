"""Which branches laws were on, and when the motion slid between two of them: the log of a run.

Within a step every law keeps the branch it was on where the step began. Steps that are taken again, for states between
those on record, need to know them; and outputs need to know where the motion slid.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import _core

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["BranchLog", "owner_of"]

Array = NDArray[np.float64]


def owner_of(model: Model, threshold: int) -> str:
    """Return what a switching function belongs to, as it is named in messages."""
    row = model.thresholds[threshold][0]
    name = next((name for name, place in model.compiled.elements.places.items() if place.row == row), "")
    return f"element {name!r}" if name else "a signal"


class BranchLog:
    """The sides of thresholds, from times on.

    A side is -1 or 1, a whole number, or the number of a piece of a table; 0 where the motion slides, unless the
    threshold has many levels; not a number where no branch is held.

    Parameters
    ----------
    whole : (n,) bool
        Which thresholds have many levels.
    """

    def __init__(self, whole: NDArray[np.bool_]) -> None:
        self.whole = whole
        self.parts: list[tuple[Array, Array]] = []
        self.told: set[str] = set()

    def take(self, integrator: _core.Integrator) -> Iterator[tuple[float, frozenset[int], Array]]:
        """Take what an integrator has passed; give times, thresholds along which the motion slides then, and sides."""
        if not len(self.whole):
            return
        times, sides = integrator.take_switches()
        if len(times):
            self.parts.append((times, sides))
        slides = (sides == 0) & ~self.whole
        for t, row, side in zip(times.tolist(), slides, sides, strict=True):
            yield t, frozenset(np.flatnonzero(row).tolist()), side

    def notes(self, model: Model, t: float, slides: frozenset[int]) -> list[str]:
        """Return what is said the first time that a law holds the motion where it jumps."""
        owners = sorted({owner_of(model, k) for k in slides} - self.told)
        self.told.update(owners)
        return [
            f"t = {t:.6g} s: {f'the law of {owner}' if owner != 'a signal' else owner} jumps there and drives the "
            "motion back to the jump from both sides: it sticks or slides, held by the mixture of both that keeps it so"
            for owner in owners
        ]

    def arrays(self) -> tuple[Array, Array]:
        """Return times (n,) and sides (n, thresholds)."""
        if len(self.parts) > 1:
            self.parts = [(np.concatenate([t for t, _ in self.parts]), np.vstack([sides for _, sides in self.parts]))]
        return self.parts[0] if self.parts else (np.zeros(0), np.zeros((0, len(self.whole))))

    def fill(self, times: Array, sides: Array) -> None:
        """Put others in place of what there is."""
        self.parts = [(times, sides)] if len(times) else []

    def drop_after(self, t: float) -> None:
        """Forget what was passed later than a time."""
        while self.parts and self.parts[-1][0][-1] > t:
            times, sides = self.parts.pop()
            kept = times <= t
            if kept.any():
                self.parts.append((times[kept], sides[kept]))

    def tell(self, integrator: _core.Integrator) -> None:
        """Let an integrator know them, which takes steps again."""
        if len(self.whole):
            integrator.set_switches(*self.arrays())
