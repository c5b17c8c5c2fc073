"""All isolated closed configurations, from many starts at once.

A batch of starts goes down |r|^2 together, each by steps of Levenberg and Marquardt with its own mu,

    (J^T J + mu 1) x = -J^T r,      r and J scaled (see `scales`)                                                    (1)

Loops that can be closed before others are closed before them: rows are grouped by connection, and a group (or a few
together) whose rows have the rank of the columns that are still open is a block. A dyad of a linkage is one: two
columns, two ways to close. What is found for a block is where the search for the next one starts, so that the starts
needed grow with the ways to close, not with their number to the power of the blocks.

A block has been searched enough when a further round of starts finds nothing that is new, and everything that was
found was found at least twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "EquationBlock",
    "ScaledRows",
    "all_closed_configurations",
    "block_solutions",
    "blocks_of",
    "distinct_configurations",
    "levenberg_marquardt",
    "solve_small_systems",
    "spread_starts",
]

Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IndexArray = NDArray[np.intp]

DUPLICATE_TOL = (
    1e-6  # scaled distance: the same root from two starts agrees to the square root of rounding, also a double one
)
MAX_ROUNDS = 12
MAX_BLOCK_CONNECTIONS = 4  # connections that are looked at together, when blocks are sought
MAX_ISOLATED_SINGLES = 40  # if most of more than so many ways were found once only, they are not isolated
MAX_BATCH_SIZE = 20000  # states in a batch


class ScaledRows(Protocol):
    """Closure equations made dimensionless, for batches of configurations.

    Attributes
    ----------
    nv : int
    groups : sequence of int arrays
        Rows that belong together: those of a connection.
    """

    nv: int

    @property
    def groups(self) -> Sequence[IndexArray]:
        """Rows that belong together."""
        ...

    def residual(self, q: Array) -> Array:
        """Return r (B, rows) at q (B, nq)."""
        ...

    def jacobian(self, q: Array) -> Array:
        """Return J (B, rows, nv)."""
        ...

    def moved(self, q: Array, x: Array) -> Array:
        """Return where scaled steps x (B, nv) lead, (B, nq)."""
        ...

    def between(self, q0: Array, q1: Array) -> Array:
        """Return the scaled steps (B, nv) from q0 to q1, by the shorter way around."""
        ...


@dataclass(frozen=True, eq=False)
class EquationBlock:
    """Rows and columns that are closed together.

    Attributes
    ----------
    rows, columns : (k,) int
    after : (j,) int
        Columns of blocks before it that its rows depend on.
    determined : bool
        Whether its ways to close are isolated.
    """

    rows: IndexArray
    columns: IndexArray
    after: IndexArray
    determined: bool = True


def levenberg_marquardt(
    system: ScaledRows,
    q: Array,
    blocks: Sequence[tuple[IndexArray, IndexArray]],
    *,
    tolerance: float = 1e-10,
    iterations: int = 60,
) -> tuple[Array, Array]:
    """Return where starts q (B, nq) lead by (1), and the largest residual (B, blocks) of each block.

    Starts that come to rest where nothing closes better are given up.

    Parameters
    ----------
    blocks : sequence of (rows, columns)
        What moves to close what; blocks that do not depend on each other go side by side, each with its own steps.
    """
    q = q.copy()
    B, nb = len(q), len(blocks)
    r = system.residual(q)
    worst = np.zeros((B, nb))
    norm, mu, idle = np.zeros((B, nb)), np.zeros((B, nb)), np.zeros((B, nb), dtype=np.intp)
    for k, (rows, columns) in enumerate(blocks):
        mine = r[:, rows]
        worst[:, k], norm[:, k] = np.abs(mine).max(1, initial=0.0), np.sqrt((mine * mine).sum(1))
        if not len(columns):
            idle[:, k] = 9
    going = (worst > tolerance) & (idle < 2)
    left = np.flatnonzero(going.any(1))
    for _ in range(iterations):
        if not len(left):
            break
        J = system.jacobian(q[left])
        here = r[left]
        step = np.zeros((len(left), system.nv))
        promised, flat = np.zeros((len(left), nb)), np.zeros((len(left), nb), dtype=bool)
        for k, (rows, columns) in enumerate(blocks):
            if len(columns):
                part, mine = J[:, rows[:, None], columns], here[:, rows]
                x, promised[:, k], flat[:, k] = _marquardt(part, mine, mu[left, k], norm[left, k])
                step[:, columns] = x * going[left, k, None]
        trial = system.moved(q[left], step)
        r_trial = system.residual(trial)
        good = np.zeros((len(left), nb), dtype=bool)
        for k, (rows, columns) in enumerate(blocks):
            mine = r_trial[:, rows]
            after = np.sqrt((mine * mine).sum(1))
            gained, hoped = norm[left, k] - after, norm[left, k] - promised[:, k]
            better = going[left, k] & (gained > 1e-3 * np.maximum(hoped, 0.0))
            good[:, k] = better
            taken = left[better]
            norm[taken, k], worst[taken, k] = after[better], np.abs(mine[better]).max(1, initial=0.0)
            size = mu[left, k]
            size = np.where(better & (gained > 0.75 * hoped), np.where(size < 1e-3, 0.0, 0.1 * size), size)
            mu[left, k] = np.where(better & (gained >= 0.25 * hoped), size, np.maximum(4 * size, 1e-4))
            still = flat[:, k] | ~np.isfinite(after) | (np.abs(step[:, columns]).max(1, initial=0.0) < 1e-13)
            idle[left, k] = np.where(still, idle[left, k] + 1, 0)
            r[np.ix_(taken, rows)] = mine[better]
        whole = (good | ~going[left]).all(1)
        q[left[whole]] = trial[whole]
        mixed = np.flatnonzero(~whole & good.any(1))
        if len(mixed):
            for k, (_, columns) in enumerate(blocks):
                step[np.ix_(mixed, columns)] *= good[mixed, k, None]
            q[left[mixed]] = system.moved(q[left[mixed]], step[mixed])
        going[left] = (worst[left] > tolerance) & (idle[left] < 2) & (mu[left] < 1e8)
        left = left[going[left].any(1)]
    return q, worst


def _marquardt(J: Array, r: Array, mu: Array, norm: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return the steps (B, n) of (1), the norms (B,) of r that they promise, and where the gradient vanishes."""
    n = J.shape[2]
    Jt = J.transpose(0, 2, 1)
    H = Jt @ J
    size = np.trace(H, axis1=1, axis2=2)
    H[:, range(n), range(n)] += ((mu + 1e-13) * size + 1e-30)[:, None]
    gradient = Jt @ r[:, :, None]
    x = -solve_small_systems(H, gradient)[:, :, 0]
    x /= np.maximum(1.0, np.abs(x).max(1))[:, None]
    left = r + (J @ x[:, :, None])[:, :, 0]
    return x, np.sqrt((left * left).sum(1)), (gradient[:, :, 0] ** 2).sum(1) < 1e-16 * size * norm**2


def solve_small_systems(H: Array, b: Array) -> Array:
    """Return the solutions (B, n, k) of H (B, n, n), with short formulas for one and two unknowns."""
    n = H.shape[1]
    if n == 1:
        return b / H
    if n == 2:
        p, s, u, w = H[:, 0, 0], H[:, 0, 1], H[:, 1, 0], H[:, 1, 1]
        det = (p * w - s * u)[:, None]
        return (
            np.stack([w[:, None] * b[:, 0] - s[:, None] * b[:, 1], p[:, None] * b[:, 1] - u[:, None] * b[:, 0]], 1)
            / (det[:, None])
        )
    return np.asarray(np.linalg.solve(H, b))


def distinct_configurations(
    system: ScaledRows, q: Array, columns: IndexArray | None = None
) -> tuple[IndexArray, IndexArray]:
    """Return the places of configurations among q (B, nq) that differ, and for each of q which of them it is like."""
    chosen = np.arange(system.nv) if columns is None else columns
    first: list[int] = []
    like = np.full(len(q), -1, dtype=np.intp)
    for k in range(len(q)):
        if like[k] >= 0:
            continue
        others = np.flatnonzero(like < 0)
        away = np.abs(system.between(np.broadcast_to(q[k], (len(others), q.shape[1])), q[others])[:, chosen])
        same = others[away.max(1, initial=0.0) < DUPLICATE_TOL]
        like[same] = len(first)
        first.append(k)
    return np.array(first, dtype=np.intp), like


def blocks_of(system: ScaledRows, q: Array, held: BoolArray, random: np.random.Generator) -> list[EquationBlock]:
    """Return what can be closed by itself, in the order in which it can be closed; around q (nq,).

    Rows that nothing moves are left out. What is not determined stands last, as one block.
    """
    kicks = random.uniform(-np.pi, np.pi, (3, system.nv)) * ~held
    J = np.abs(system.jacobian(system.moved(np.broadcast_to(q, (3, len(q))), kicks)))
    signed = system.jacobian(system.moved(np.broadcast_to(q, (3, len(q))), kicks))
    touched = (J > 1e-9).any(0) & ~held
    groups = [rows for group in system.groups if len(rows := group[touched[group].any(1)])]
    solved, blocks = held.copy(), []

    def block(chosen: Sequence[IndexArray]) -> EquationBlock | None:
        rows = np.concatenate(chosen)
        seen = touched[rows].any(0)
        columns = np.flatnonzero(seen & ~solved)
        rank = max(np.linalg.matrix_rank(one[np.ix_(rows, columns)], tol=1e-7) for one in signed)
        if rank < len(columns):
            return None
        return EquationBlock(rows, columns, np.flatnonzero(seen & solved))

    def next_block() -> tuple[EquationBlock, tuple[int, ...]] | None:
        for size in range(1, min(MAX_BLOCK_CONNECTIONS, len(groups)) + 1):
            for chosen in combinations(range(len(groups)), size):
                found = block([groups[k] for k in chosen])
                if found is not None:
                    return found, chosen
        return None

    while groups:
        found = next_block() if len(groups) <= 24 else None
        if found is None:
            rows = np.concatenate(groups)
            seen = touched[rows].any(0)
            columns = np.flatnonzero(seen & ~solved)
            blocks.append(EquationBlock(rows, columns, np.flatnonzero(seen & solved), False))
            break
        blocks.append(found[0])
        solved[found[0].columns] = True
        groups = [group for k, group in enumerate(groups) if k not in found[1]]
    return blocks


def all_closed_configurations(
    system: ScaledRows,
    parents: Array,
    held: BoolArray,
    random: np.random.Generator,
    *,
    starts: int = 0,
    blocks: Sequence[EquationBlock] | None = None,
    tolerance: float = 1e-10,
) -> Array:
    """Return the closed configurations (B, nq) that differ from each other, of each parent (P, nq).

    Parameters
    ----------
    parents : (P, nq) rad or m
        Each with its own values of what is held.
    held : (nv,) bool
    starts : int
        Least number of starts per block and parent.
    """
    blocks = blocks_of(system, parents[0], held, random) if blocks is None else blocks
    found = parents
    for block in blocks:
        if not len(found):
            break
        found = block_solutions(system, found, block, random, starts=starts, tolerance=tolerance)[0]
    return found


def block_solutions(
    system: ScaledRows,
    parents: Array,
    block: EquationBlock,
    random: np.random.Generator,
    *,
    starts: int = 0,
    tolerance: float = 1e-10,
) -> tuple[Array, IndexArray]:
    """Return the ways (B, nq) to close a block, and of which parent (P, nq) each is."""
    n = len(block.columns)
    if not n:  # nothing moves: what remains is whether it closes
        closes = np.flatnonzero(np.abs(system.residual(parents)[:, block.rows]).max(1) < 1e3 * tolerance)
        return parents[closes], closes
    each = max(starts, 16 if n <= 2 else min(240, 24 * n))
    ways = np.empty((0, parents.shape[1]))
    owners, seen = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    searched = np.arange(len(parents))
    for number in range(MAX_ROUNDS):
        owner = np.repeat(searched, each)
        kicks = np.zeros((len(owner), system.nv))
        kicks[:, block.columns] = spread_starts(n, each, len(searched), random)
        new = []
        for part in np.array_split(np.arange(len(owner)), 1 + len(owner) // MAX_BATCH_SIZE):
            begin = system.moved(parents[owner[part]], kicks[part])
            q, worst = levenberg_marquardt(system, begin, [(block.rows, block.columns)], tolerance=tolerance)
            closed = worst[:, 0] <= tolerance
            new.append((q[closed], owner[part][closed]))
        q = np.concatenate([ways, *(item[0] for item in new)])
        owner = np.concatenate([owners, *(item[1] for item in new)])
        weight = np.concatenate([seen, np.ones(len(q) - len(seen), dtype=np.intp)])
        kept_q, kept_owner, kept_seen, unsure = [], [], [], []
        again = set(searched.tolist())
        before = np.bincount(owners, minlength=len(parents))
        for parent in range(len(parents)):
            mine = np.flatnonzero(owner == parent)
            if parent not in again:
                kept_q.append(q[mine])
                kept_owner.append(owner[mine])
                kept_seen.append(weight[mine])
                continue
            first, like = distinct_configurations(system, q[mine], block.columns)
            count = np.bincount(like, weights=weight[mine], minlength=len(first)).astype(np.intp)
            if len(first) > MAX_ISOLATED_SINGLES and (count < 2).mean() > 0.5:
                first, count = first[:MAX_ISOLATED_SINGLES], np.full(MAX_ISOLATED_SINGLES, 2)
            kept_q.append(q[mine[first]])
            kept_owner.append(owner[mine[first]])
            kept_seen.append(count)
            if (count < 2).any() or (n > 2 and number and len(first) > before[parent]) or (n > 2 and not number):
                unsure.append(parent)
        if not kept_q:
            return ways[:0], owners[:0]
        ways, owners, seen = np.concatenate(kept_q), np.concatenate(kept_owner), np.concatenate(kept_seen)
        searched = np.array(unsure, dtype=np.intp)
        if not len(searched):
            break
    return ways, owners


def spread_starts(n: int, each: int, parents: int, random: np.random.Generator) -> Array:
    """Return starts (parents * each, n) within half a turn: evenly spread for few unknowns, at random for many."""
    if n > 2:
        return random.uniform(-np.pi, np.pi, (parents * each, n))
    side = int(np.ceil(each ** (1 / n)))
    grid = np.stack(np.meshgrid(*[np.arange(side)] * n, indexing="ij"), -1).reshape(-1, n)[:each]
    shift = random.uniform(0, 1, (parents, 1, n))
    return (2 * np.pi * ((grid[None] + shift) / side) - np.pi).reshape(-1, n)
