"""Islands of a workspace that a grid sweep misses, and cells at which a leg turns freely."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array, BoolArray, IndexArray
from ...numerics.least_squares import levenberg_marquardt

if TYPE_CHECKING:
    from .grid_sweep import CellSolutions, WorkspaceSweep

__all__ = ["freely_turning_cells", "seed_islands"]


_N_SEEDS = 240  # random assemblies
SINGULAR_TOL = 1e-3  # least singular value of an isolated solution; closing leaves the root of a tolerance
MAX_CELL_STEP = 0.5  # rad or lengths between neighbouring cells
FREE_TURN_STEP = 0.3  # rad or lengths; step along a possible free rotation


def seed_islands(reach: WorkspaceSweep, solutions: CellSolutions, poses: Array) -> bool:
    """Store solutions in cells next to random assemblies that no solution reached; return True if there were any.

    The platform starts at random cells and moves along the grid to where the mechanism can be assembled. Infeasible
    starts converge to the boundary of the region.
    """
    spans = np.ptp(poses, axis=0)
    axes = reach.places[spans[reach.places] > 0.0]
    if not len(axes) or not reach.blocks:
        return False
    closed, count = reach.closed, min(_N_SEEDS, 4 * len(poses))
    columns = _columns_of(reach, poses, axes)
    cells = reach.random.integers(0, len(poses), count)
    moving = np.unique(np.concatenate([*(c for _, c in reach.pairs), columns]))
    kicks = np.zeros((count, closed.nv))
    owned = np.setdiff1d(moving, columns)
    kicks[:, owned] = reach.random.uniform(-np.pi, np.pi, (count, len(owned)))
    starts = closed.retract(reach.put(reach.q0, poses[cells]), kicks)
    rows = np.unique(np.concatenate([r for r, _ in reach.pairs]))
    found, worst = levenberg_marquardt(reach.system, starts, [(rows, moving)], tolerance=1e-8, iterations=40)
    found = found[(worst[:, 0] <= 1e-8) & reach.closed.genuine(found)]
    near = _nearest(found[:, axes], poses[:, axes])
    reached: BoolArray = np.all(np.any(solutions.closed, axis=1), axis=1)
    new = np.flatnonzero((near >= 0) & ~reached[np.maximum(near, 0)])
    if not len(new):
        return False
    q, good = reach.close(reach.put(found[new], poses[near[new]]))
    return reach.add(solutions, near[new], q, good)


def _columns_of(reach: WorkspaceSweep, poses: Array, axes: IndexArray) -> IndexArray:
    """Return the velocities that move a platform along the grid."""
    ends = poses[[0, -1]].copy()
    step = reach.closed.difference(reach.put(reach.q0, ends[:1]), reach.put(reach.q0, ends[1:]))[0]
    found: IndexArray = np.flatnonzero(np.abs(step) > 1e-12)
    return found[reach.held[found]]


def _nearest(points: Array, cells: Array) -> IndexArray:
    """Return the cells next to points, both (n, axes); -1 for points beyond the grid."""
    found = np.zeros(len(points), dtype=np.intp)
    outside = np.zeros(len(points), dtype=bool)
    for k in range(points.shape[1]):
        values = np.unique(cells[:, k])
        at = np.abs(values[None] - points[:, k, None]).argmin(1)
        width = np.gradient(values)[at]
        outside |= np.abs(values[at] - points[:, k]) > width
        stride = int(np.prod([len(np.unique(cells[:, j])) for j in range(k + 1, points.shape[1])]))
        found += at * stride
    return np.where(outside, -1, found)


def freely_turning_cells(reach: WorkspaceSweep, solutions: CellSolutions, shape: tuple[int, ...]) -> BoolArray:
    """Return the mask (cells,) of cells at which a leg with coincident ends turns freely.

    Only cells with a solution far from that of a neighbour are checked: around such a cell solutions form a circle.
    """
    marks = np.zeros(int(np.prod(shape)), dtype=bool)
    numbers = np.arange(len(marks)).reshape(shape)
    for slot in range(solutions.closed.shape[1]):
        suspect = np.zeros(solutions.closed[:, slot].shape, dtype=bool)
        for axis in range(len(shape)):
            one, two = (
                np.take(numbers, range(*ends), axis).ravel() for ends in ((0, shape[axis] - 1), (1, shape[axis]))
            )
            both = (solutions.closed[one, slot] & solutions.closed[two, slot]).any(1)
            one, two = one[both], two[both]
            away = np.abs(reach.closed.difference(solutions.q[one, slot], solutions.q[two, slot]))
            for k, (_, columns) in enumerate(reach.pairs):
                far = away[:, columns].max(1, initial=0.0) > MAX_CELL_STEP
                suspect[one[far], k] = suspect[two[far], k] = True
        for k in range(len(reach.pairs)):
            cells = np.flatnonzero(suspect[:, k] & solutions.closed[:, slot, k])
            if len(cells):
                marks[cells] |= _turns_freely(reach, k, solutions.q[cells, slot])
    return marks


def _turns_freely(reach: WorkspaceSweep, k: int, q: Array) -> BoolArray:
    """Return the mask of q (B, nq) at which a block moves by itself: it closes again along its null vector."""
    rows, columns = reach.pairs[k]
    free = np.zeros(len(q), dtype=bool)
    s, Vt = np.linalg.svd(reach.closed.jacobian(q)[:, rows[:, None], columns])[1:]
    some = np.flatnonzero(s[:, -1] < SINGULAR_TOL * np.maximum(s[:, 0], 1.0))
    if not len(some):
        return free
    for sign in (1.0, -1.0):
        x = np.zeros((len(some), reach.closed.nv))
        x[:, columns] = sign * FREE_TURN_STEP * Vt[some, -1]
        moved, good = reach.close(reach.closed.retract(q[some], x))
        away = np.abs(reach.closed.difference(q[some], moved)[:, columns]).max(1)
        again = np.linalg.svd(reach.closed.jacobian(moved)[:, rows[:, None], columns], compute_uv=False)[:, -1]
        free[some] |= good[:, k] & (away > 0.3 * FREE_TURN_STEP) & (again < SINGULAR_TOL)
    return free
