"""Chunks of cases for workers, sized by measured duration.

Sending a chunk costs some milliseconds. Chunks are sized by the measured time per case: long enough to make this cost
negligible, short enough to keep all workers busy to the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from .blocks import CaseBlock
from .cases import Cases, Design

__all__ = ["CaseChunks"]

MAX_CHUNK_DURATION = 0.5  # s: the work lost when a worker dies
MIN_CHUNK_DURATION = 0.05  # s: below, sending a chunk costs more than running it
MIN_CHUNKS_PER_WORKER = 2  # of the remaining work, so that workers finish together


class CaseChunks(Iterator[Cases]):
    """Iterator over chunks of the remaining cases.

    Parameters
    ----------
    design : Design
    left : list of int
        Numbers of cases.
    workers : int
        Number of workers that share the cases.
    abreast : int
        Number of cases run at once: the size of the first chunks, before durations are known.
    adaptive : bool
        Whether later chunks are sized by duration.
    """

    def __init__(
        self, design: Design, left: Sequence[int], workers: int, abreast: int = 1, *, adaptive: bool = True
    ) -> None:
        self.design, self.left, self.workers = design, left, workers
        self.abreast, self.adaptive = abreast, adaptive
        self.sent, self.answered, self.seconds = 0, 0, 0.0

    def record_duration(self, block: CaseBlock) -> None:
        """Record the duration of a chunk."""
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
