"""Contours of a mask on a grid, with crossings located between grid points.

Marching squares: every square of four grid points contributes the segments that separate masked corners from others.
The crossings on its sides are located by the caller's search.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Array, BoolArray, IndexArray

__all__ = ["convex_hull", "outline"]

Key = tuple[int, int]


def outline(grid: tuple[Array, ...], marked: BoolArray, part: Callable[[IndexArray, IndexArray], Array]) -> list[Array]:
    """Return curves (k, 2) around masked grid points; the last point of a closed one is its first.

    In three dimensions, one array (k, 3) of points between masked points and others.

    Parameters
    ----------
    grid : arrays
        Coordinates of the grid points along the axes.
    marked : (nx, ny) or (nx, ny, nz) bool
    part : callable
        From indices (k,) of masked cells and of their unmasked neighbours to the fraction (k,) of the distance inside.
    """
    numbers = np.arange(marked.size).reshape(marked.shape)
    pairs: list[tuple[int, int]] = []
    for axis in range(marked.ndim):
        a, b = (
            np.take(numbers, range(*ends), axis).ravel()
            for ends in ((0, marked.shape[axis] - 1), (1, marked.shape[axis]))
        )
        differ = marked.flat[a] != marked.flat[b]
        pairs += list(zip(a[differ].tolist(), b[differ].tolist(), strict=True))
    if not pairs:
        return []
    sides = np.array(pairs)
    first = marked.flat[sides[:, 0]]
    inside, outside = np.where(first, sides[:, 0], sides[:, 1]), np.where(first, sides[:, 1], sides[:, 0])
    points = np.stack(np.meshgrid(*grid, indexing="ij"), -1).reshape(-1, marked.ndim)
    share = part(inside, outside)[:, None]
    crossings = points[inside] + share * (points[outside] - points[inside])
    if marked.ndim != 2:
        return [crossings]
    return _linked(marked, dict(zip(pairs, crossings, strict=True)))


def _linked(marked: BoolArray, crossings: dict[Key, Array]) -> list[Array]:
    """Return the crossings on the sides of squares as curves."""
    ny = marked.shape[1]
    neighbours: dict[Key, list[Key]] = {key: [] for key in crossings}
    for i, j in {(a // ny - di, a % ny - dj) for a, b in crossings for di, dj in _squares(a, b, ny)}:
        if not (0 <= i < marked.shape[0] - 1 and 0 <= j < ny - 1):
            continue
        a, b, c, d = i * ny + j, (i + 1) * ny + j, (i + 1) * ny + j + 1, i * ny + j + 1
        around = [side for side in ((a, b), (b, c), (d, c), (a, d)) if side in crossings]
        if len(around) == 4 and marked.flat[a]:  # opposite corners: keep masked corners separate
            ends = [((a, b), (a, d)), ((b, c), (d, c))]
        elif len(around) == 4:
            ends = [((a, b), (b, c)), ((a, d), (d, c))]
        else:
            ends = [(around[0], around[1])]
        for one, two in ends:
            neighbours[one].append(two)
            neighbours[two].append(one)
    curves, left = [], dict(neighbours)
    # open curves first, from their ends
    for start in [*(key for key, near in neighbours.items() if len(near) < 2), *neighbours]:
        if start not in left:
            continue
        curve = [start]
        del left[start]
        while True:
            ahead = [key for key in neighbours[curve[-1]] if key in left]
            if not ahead:
                break
            curve.append(ahead[0])
            del left[ahead[0]]
        if len(curve) > 2 and start in neighbours[curve[-1]]:
            curve.append(start)
        curves.append(np.array([crossings[key] for key in curve]))
    return sorted(curves, key=len, reverse=True)


def _squares(a: int, b: int, ny: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the offsets of the two squares beside a side from its first point."""
    return ((0, 0), (1, 0)) if b - a == 1 else ((0, 0), (0, 1))


def convex_hull(points: Array, slack: float = 0.0) -> IndexArray:
    """Return the indices of the corners of the convex hull of points (n, 2), counterclockwise.

    Andrew's monotone chain. Corners whose triangle with their neighbours has twice an area of `slack` or less are left
    out.
    """
    order = np.lexsort((points[:, 1], points[:, 0]))

    def half(numbers: IndexArray) -> list[int]:
        chain: list[int] = []
        for n in numbers:
            while len(chain) > 1:
                (ax, ay), (bx, by), (cx, cy) = points[chain[-2]], points[chain[-1]], points[n]
                if (bx - ax) * (cy - ay) - (by - ay) * (cx - ax) > slack:
                    break
                chain.pop()
            chain.append(int(n))
        return chain[:-1]

    return np.array(half(order) + half(order[::-1]), dtype=np.intp)
