"""Number of cases sent to a worker at a time.

Sending a pack costs some milliseconds wherever it goes. Packs are sized by the time that cases were found to take: long
enough for that not to matter, short enough for all workers to have some up to the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from .cases import Cases, Design
from .jobs import CaseBlock

__all__ = ["CaseChunks"]

MAX_CHUNK_DURATION = 0.5  # s: the work lost when a worker dies
MIN_CHUNK_DURATION = 0.05  # s: below, sending a chunk costs more than running it
MIN_CHUNKS_PER_WORKER = 2  # of the remaining work, so that workers finish together


class CaseChunks(Iterator[Cases]):
    """Cases that are left, a pack at a time.

    Parameters
    ----------
    design : Design
    left : list of int
        Numbers of cases.
    workers : int
        That share them.
    abreast : int
        How many cases are run at once: those of the first packs, before anything is known.
    adaptive : bool
        Whether later packs are sized by time.
    """

    def __init__(
        self, design: Design, left: Sequence[int], workers: int, abreast: int = 1, *, adaptive: bool = True
    ) -> None:
        self.design, self.left, self.workers = design, left, workers
        self.abreast, self.adaptive = abreast, adaptive
        self.sent, self.answered, self.seconds = 0, 0, 0.0

    def record_duration(self, block: CaseBlock) -> None:
        """Take note of how long a pack took."""
        self.answered += len(block.numbers)
        self.seconds += block.seconds

    def __next__(self) -> Cases:
        if self.sent >= len(self.left):
            raise StopIteration
        begin = self.sent
        self.sent = min(len(self.left), begin + self._size(len(self.left) - begin))
        return self.design.cases(self.left[begin : self.sent])

    def _size(self, rest: int) -> int:
        if not self.adaptive:
            return self.abreast
        share = math.ceil(rest / (MIN_CHUNKS_PER_WORKER * self.workers))
        if not self.seconds:
            return min(self.abreast, share)
        pace = self.seconds / self.answered
        return max(1, min(int(MAX_CHUNK_DURATION / pace), max(share, math.ceil(MIN_CHUNK_DURATION / pace))))
