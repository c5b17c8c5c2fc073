"""Cells of a grid and their neighbours."""

from __future__ import annotations

import numpy as np

from ...arrays import BoolArray, IndexArray

__all__ = ["enclosed_cells", "neighbour_cells", "strides"]


_MIN_COARSE_CELLS = 8  # cells along an axis of the first grid, at least


def strides(shape: tuple[int, ...]) -> list[int]:
    """Return the strides of the first grid, so that it has about a dozen cells along an axis."""
    most = _MIN_COARSE_CELLS if len(shape) == 2 else 6
    return [int(np.ceil(n / (1.5 * most))) for n in shape]


def neighbour_cells(closed: BoolArray, shape: tuple[int, ...], *, turn: int = 0) -> IndexArray:
    """Return for each cell its own index if it is masked, else that of a masked neighbour; -1 for none.

    The choice among several neighbours depends on `turn`.
    """
    found = np.where(closed, np.arange(len(closed)), -1).reshape(shape)
    sides = _sides(shape)
    for k in range(len(sides)):
        here, there = sides[(k + turn) % len(sides)]
        target, source = found[here], found[there].copy()
        np.copyto(target, source, where=(target < 0) & (source >= 0))
    return found.ravel()


def enclosed_cells(closed: BoolArray, shape: tuple[int, ...]) -> BoolArray:
    """Return the mask of cells with masked neighbours on all sides except at most one."""
    number = np.zeros(shape, dtype=int)
    for here, there in _sides(shape):
        number[here] += closed.reshape(shape)[there]
    return (number >= 2 * len(shape) - 1).ravel()


def _sides(shape: tuple[int, ...]) -> list[tuple[tuple[slice, ...], tuple[slice, ...]]]:
    """Return slices of cells and of their neighbours, for each side."""
    whole, sides = [slice(None)] * len(shape), []
    for axis in range(len(shape)):
        for ends in ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))):
            here, there = whole.copy(), whole.copy()
            here[axis], there[axis] = ends
            sides.append((tuple(here), tuple(there)))
    return sides
