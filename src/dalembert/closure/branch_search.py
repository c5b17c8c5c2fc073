"""All isolated closed configurations, from batched starts.

A batch of starts is solved together by `numerics.least_squares`.

Loops are closed block by block. Rows are grouped by connection. A group (or a few together) whose rows have the rank
of the columns that are still open is a block. A dyad of a linkage is one: two columns, two solutions. The solutions of
a block are the starts for the next one. The number of starts therefore grows with the number of solutions, not with
their number to the power of the blocks.

The search of a block ends when a further round of starts finds nothing new and every solution was found at least
twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..arrays import Array, BoolArray, IndexArray
from ..numerics.least_squares import levenberg_marquardt
from .equations import ScaledRows

__all__ = [
    "EquationBlock",
    "all_closed_configurations",
    "block_solutions",
    "blocks_of",
    "distinct_configurations",
    "spread_starts",
]


DUPLICATE_TOL = (
    1e-6  # scaled distance: the same root from two starts agrees to the square root of rounding, also a double one
)
BLOCK_RANK_TOL = 1e-7  # of scaled rows: a smaller singular value leaves the solutions of a block undetermined
MAX_ROUNDS = 12
MAX_BLOCK_CONNECTIONS = 4  # connections combined in the search for a block
MAX_ISOLATED_SINGLES = 40  # more solutions than this, most found once only, are not isolated
MAX_BATCH_SIZE = 20000  # states in a batch


@dataclass(frozen=True, eq=False)
class EquationBlock:
    """Rows and columns that are solved together.

    Attributes
    ----------
    rows, columns : (k,) int
    after : (j,) int
        Columns of earlier blocks that its rows depend on.
    determined : bool
        True if its solutions are isolated.
    """

    rows: IndexArray
    columns: IndexArray
    after: IndexArray
    determined: bool = True


def distinct_configurations(
    system: ScaledRows, q: Array, columns: IndexArray | None = None
) -> tuple[IndexArray, IndexArray]:
    """Return the indices of the distinct configurations among q (B, nq), and for each of q its index among them."""
    chosen = np.arange(system.nv) if columns is None else columns
    first: list[int] = []
    like = np.full(len(q), -1, dtype=np.intp)
    for k in range(len(q)):
        if like[k] >= 0:
            continue
        others = np.flatnonzero(like < 0)
        away = np.abs(system.difference(np.broadcast_to(q[k], (len(others), q.shape[1])), q[others])[:, chosen])
        same = others[away.max(1, initial=0.0) < DUPLICATE_TOL]
        like[same] = len(first)
        first.append(k)
    return np.array(first, dtype=np.intp), like


def blocks_of(system: ScaledRows, q: Array, held: BoolArray, random: np.random.Generator) -> list[EquationBlock]:
    """Return the blocks that can be closed one after the other, in that order, near q (nq,).

    Rows without a moving column are left out. Undetermined rows form the last block.
    """
    kicks = random.uniform(-np.pi, np.pi, (3, system.nv)) * ~held
    J = system.jacobian(system.retract(np.broadcast_to(q, (3, len(q))), kicks))
    touched = (np.abs(J) > 1e-9).any(0) & ~held
    groups = [rows for group in system.groups if len(rows := group[touched[group].any(1)])]
    solved, blocks = held.copy(), []

    def block(chosen: Sequence[IndexArray]) -> EquationBlock | None:
        rows = np.concatenate(chosen)
        seen = touched[rows].any(0)
        columns = np.flatnonzero(seen & ~solved)
        if np.linalg.matrix_rank(J[:, rows[:, None], columns], tol=BLOCK_RANK_TOL).max() < len(columns):
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
    """Return the distinct closed configurations (B, nq) of each parent (P, nq).

    Parameters
    ----------
    parents : (P, nq) rad or m
        Each with its own values of held coordinates.
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
    """Return the solutions (B, nq) of a block, and the index of the parent (P, nq) of each."""
    n = len(block.columns)
    if not n:  # no column moves: only check the residual
        closes = np.flatnonzero(np.abs(system.residual(parents)[:, block.rows]).max(1) < 1e3 * tolerance)
        return parents[closes], closes
    each = max(starts, 16 if n <= 2 else min(240, 24 * n))
    solutions = np.empty((0, parents.shape[1]))
    owners, seen = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    searched = np.arange(len(parents))
    for number in range(MAX_ROUNDS):
        owner = np.repeat(searched, each)
        kicks = np.zeros((len(owner), system.nv))
        kicks[:, block.columns] = spread_starts(n, each, len(searched), random)
        new = []
        for part in np.array_split(np.arange(len(owner)), 1 + len(owner) // MAX_BATCH_SIZE):
            begin = system.retract(parents[owner[part]], kicks[part])
            q, worst = levenberg_marquardt(system, begin, [(block.rows, block.columns)], tolerance=tolerance)
            closed = worst[:, 0] <= tolerance
            new.append((q[closed], owner[part][closed]))
        q = np.concatenate([solutions, *(item[0] for item in new)])
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
            return solutions[:0], owners[:0]
        solutions, owners, seen = np.concatenate(kept_q), np.concatenate(kept_owner), np.concatenate(kept_seen)
        searched = np.array(unsure, dtype=np.intp)
        if not len(searched):
            break
    return solutions, owners


def spread_starts(n: int, each: int, parents: int, random: np.random.Generator) -> Array:
    """Return starts (parents * each, n) within 180°: evenly spread for few unknowns, random for many."""
    if n > 2:
        return random.uniform(-np.pi, np.pi, (parents * each, n))
    side = int(np.ceil(each ** (1 / n)))
    grid = np.stack(np.meshgrid(*[np.arange(side)] * n, indexing="ij"), -1).reshape(-1, n)[:each]
    shift = random.uniform(0, 1, (parents, 1, n))
    return (2 * np.pi * ((grid[None] + shift) / side) - np.pi).reshape(-1, n)
