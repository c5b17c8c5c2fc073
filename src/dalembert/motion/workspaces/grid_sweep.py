"""Grid sweep over platform poses: from coarse to fine, all cells of a level at once.

The pose p of the platform is given by a free joint from ground. The other coordinates, r, then fall into blocks (see
`branch_search`): the legs of a parallel robot are independent. On a coarse grid all solutions of every block are found;
each solution is followed to the next finer grid along the tangent,

    dr = G dp,    G = -(J_r^T J_r)^-1 J_r^T J_p                                                                      (1)

and closed again. A cell that fails and has a successful neighbour is tried once more from there. Solutions are assigned
to slots by the sign of the determinant of their block, which changes only where a leg is stretched or folded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import Array, BoolArray, IndexArray
from ...closure.branch_search import (
    EquationBlock,
    block_solutions,
    blocks_of,
    distinct_configurations,
    spread_starts,
)
from ...closure.equations import ScaledRows
from ...closure.scaled_equations import CoordinateMeasure, ScaledEquations
from ...numerics.least_squares import levenberg_marquardt, solve_small_systems
from .assembly_signature import AssemblySignature
from .grid_cells import enclosed_cells, neighbour_cells, strides
from .islands import seed_islands
from .limit_equations import with_stops

__all__ = ["CellSolutions", "WorkspaceSweep"]


_CLOSED_TOL = 1e-8
N_STARTS = 12  # of a block of two columns, at each cell of the first grid
MAX_BRANCH_STEP = 0.1  # rad or lengths; a longer step may change the branch
NEAR_SINGULAR_GAIN = 8.0  # G of (1) above which a leg is nearly stretched or folded
_REGULAR_TOL = 1e-3  # least singular value of a followed solution; stretched legs close to the root of the tolerance
MAX_CONTINUUM_SOLUTIONS = 4  # solutions kept of a continuum
_BATCH_SIZE = 16384  # states in a batch
POSE_TOL = 1e-6  # of poses; error due to the tolerance of closing


@dataclass(eq=False)
class CellSolutions:
    """Closed configurations over cells.

    Attributes
    ----------
    q : (cells, slots, nq)
    closed : (cells, slots, blocks) bool
    """

    q: Array
    closed: BoolArray


class WorkspaceSweep:
    """Closes all loops at given poses of a platform.

    Parameters
    ----------
    closed : ScaledEquations
        Of a model in which a free joint carries the platform.
    q : (nq,)
        A closed configuration.
    held : (nv,) bool
        Mask of given velocities of the platform.
    places : (k,) int
        Indices of given coordinates of the platform.
    stops : sequence of CoordinateMeasure
        Coordinates that have to stay within their stops.
    """

    def __init__(
        self,
        closed: ScaledEquations,
        q: Array,
        held: BoolArray,
        places: IndexArray,
        stops: Sequence[CoordinateMeasure],
        random: np.random.Generator,
    ) -> None:
        self.closed, self.q0, self.held, self.places = closed, q, held, places
        self.stops, self.random = tuple(stops), random
        held = held | ~closed.free
        self.steps = blocks = blocks_of(closed, q, held, random)
        open_columns = ~held
        for block in blocks:
            open_columns[block.columns] = False
        self.idle = np.flatnonzero(open_columns)  # columns without rows
        owned = np.concatenate([block.columns for block in blocks] or [np.zeros(0, dtype=np.intp)])
        self.isolated = all(block.determined for block in blocks) and not len(self.idle)
        self.independent = self.isolated and not any(np.isin(block.after, owned).any() for block in blocks)
        if not self.independent and blocks:
            rows = np.concatenate([block.rows for block in blocks])
            blocks = [EquationBlock(rows, np.sort(owned), np.zeros(0, dtype=np.intp), self.isolated)]
        self.blocks = blocks
        self.pairs = [(block.rows, np.append(block.columns, self.idle)) for block in self.blocks]
        # isolated solutions are followed beyond stops and checked at the end; others can be kept away from them
        self.system: ScaledRows = closed
        if self.stops and not self.isolated:
            self.system = with_stops(closed, self.stops)
            extra = np.arange(closed.rows, closed.rows + len(self.stops))
            self.pairs = [(np.append(rows, extra), columns) for rows, columns in self.pairs]
        model = getattr(closed.equations, "model", None)
        self._look = None if model is None else AssemblySignature.of(model)
        self._squares = [_square(closed, step, q, random) for step in self.steps]

    # ---- all cells

    def sweep(self, poses: Array, shape: tuple[int, ...]) -> CellSolutions:
        """Return the solutions at all cells; poses (cells, nq) are configurations with the platform in place."""
        numbers = np.arange(len(poses)).reshape(shape)
        spacing = strides(shape)
        at = [np.unique(np.append(np.arange(s // 2, n, s), n - 1)) for n, s in zip(shape, spacing, strict=True)]
        cells = numbers[np.ix_(*at)]
        solutions = self._coarse(poses[cells.ravel()])
        while any(len(a) < n for a, n in zip(at, shape, strict=True)):
            spacing = [max(1, s // 4) for s in spacing]
            finer = [
                np.unique(np.append(np.arange(s // 2, n, s), n - 1)) if s > 1 else np.arange(n)
                for n, s in zip(shape, spacing, strict=True)
            ]
            nearest = [np.abs(a[None] - f[:, None]).argmin(1) for a, f in zip(at, finer, strict=True)]
            source = np.arange(cells.size).reshape(cells.shape)[np.ix_(*nearest)].ravel()
            before, old = poses[cells.ravel()], cells.shape
            at, cells = finer, numbers[np.ix_(*finer)]
            solutions = self._refined(solutions, before, old, source, poses[cells.ravel()])
            if cells.size < len(poses):
                solutions = self._filled(solutions, poses[cells.ravel()], cells.shape)
        solutions = self._filled(solutions, poses, shape)
        if seed_islands(self, solutions, poses):
            solutions = self._filled(solutions, poses, shape)
        for slot in range(solutions.closed.shape[1] if self.stops else 0):
            for part in np.array_split(np.arange(len(poses)), 1 + len(poses) // _BATCH_SIZE):
                solutions.closed[part, slot] &= self.within(solutions.q[part, slot])
        return solutions

    def _coarse(self, poses: Array) -> CellSolutions:
        """Return all solutions at a few cells."""
        found = []  # for each block: solutions, owners, slots
        parents = self.put(self.q0, poses)
        if self.independent or not self.isolated:
            closing = self._all_at_once(parents)
        else:
            q, owner = parents, np.arange(len(parents))
            for step in self.steps:
                q, mine = block_solutions(self.closed, q, step, self.random, tolerance=_CLOSED_TOL)
                owner = owner[mine]
                unlike = self._unlike(q, owner, self.pattern(0, q)[0])
                q, owner = q[unlike], owner[unlike]
            single = self._single(0, q)
            closing = [(q[single], owner[single])] * len(self.blocks)
        for k, (q, owner) in enumerate(closing):
            real = self.closed.genuine(q, self.blocks[k].rows)
            q, owner = q[real], owner[real]
            if self.isolated:
                seen = self._seen(k, q, parents[owner], owner)
                q, owner = q[seen], owner[seen]
            found.append((q, owner, self._places(k, q, owner, len(parents))))
        slots = max([int(places.max(initial=0)) + 1 for _, _, places in found] or [1])
        if not self.isolated:
            slots = min(slots, MAX_CONTINUUM_SOLUTIONS)
        x = np.zeros((len(parents), slots, self.closed.nv))
        closed = np.zeros((len(parents), slots, len(self.blocks)), dtype=bool)
        for k, (q, owner, places) in enumerate(found):
            kept = places < slots
            q, owner, places = q[kept], owner[kept], places[kept]
            away = self.closed.difference(parents[owner], q)
            moving = self.pairs[k][1]
            x[owner[:, None], places[:, None], moving] = away[:, moving]
            closed[owner, places, k] = True
        flat = self.closed.retract(np.repeat(parents, slots, 0), x.reshape(-1, self.closed.nv))
        return CellSolutions(flat.reshape(len(parents), slots, -1), closed)

    def _single(self, k: int, q: Array) -> BoolArray:
        """Return the mask of isolated solutions of a block: a leg with coincident ends turns freely."""
        good = np.ones(len(q), dtype=bool)
        J = self.closed.jacobian(q)
        for rows, columns in self._of_block(k):
            if len(rows):
                good &= np.linalg.svd(J[:, rows[:, None], columns], compute_uv=False)[:, -1] > _REGULAR_TOL
        return good

    def _of_block(self, k: int) -> list[tuple[IndexArray, IndexArray]]:
        """Return rows and columns of a block whose determinants distinguish its solutions."""
        return [self._squares[k]] if self.independent else self._squares

    def _all_at_once(self, parents: Array) -> list[tuple[Array, IndexArray]]:
        """Return for each block its solutions and the indices of their parents; all blocks share the starts."""
        widest = max((len(block.columns) for block in self.blocks), default=0)
        each = N_STARTS if widest <= 2 else 16 * widest
        owner = np.repeat(np.arange(len(parents)), each)
        kicks = np.zeros((len(owner), self.closed.nv))
        for _, columns in self.pairs:
            kicks[:, columns] = spread_starts(len(columns), each, len(parents), self.random)
        starts = self.closed.retract(parents[owner], kicks)
        q, worst = levenberg_marquardt(self.system, starts, self.pairs, tolerance=_CLOSED_TOL, iterations=20)
        found = []
        for k, block in enumerate(self.blocks):
            good = np.flatnonzero(worst[:, k] <= _CLOSED_TOL)
            good = good[self._single(k, q[good])] if self.isolated else good
            kept = []
            for parent in np.unique(owner[good]):
                mine = good[owner[good] == parent]
                if self.isolated:
                    kept.append(mine[distinct_configurations(self.closed, q[mine], block.columns)[0]])
                else:
                    kept.append(mine[:MAX_CONTINUUM_SOLUTIONS])
            indices = np.concatenate(kept) if kept else np.zeros(0, dtype=np.intp)
            found.append((q[indices], owner[indices]))
        return found

    def _seen(self, k: int, q: Array, parents: Array, owner: IndexArray) -> IndexArray:
        """Return the indices of a block's solutions that differ by the pose of some body."""
        x = np.zeros((len(q), self.closed.nv))
        columns = self.pairs[k][1]
        x[:, columns] = self.closed.difference(parents, q)[:, columns]
        return self._unlike(self.closed.retract(parents, x), owner, self.pattern(k, q)[0])

    def _unlike(self, q: Array, owner: IndexArray, order: IndexArray) -> IndexArray:
        """Return the lowest indices of configurations of each owner that differ by the pose of some body."""
        if self._look is None or not len(q):
            return np.arange(len(q))
        poses = self._look(q)
        kept: list[int] = []
        for parent in np.unique(owner):
            mine = np.flatnonzero(owner == parent)
            left = mine[np.argsort(order[mine], kind="stable")]
            while len(left):
                kept.append(int(left[0]))
                left = left[np.abs(poses[left] - poses[left[0]]).max(1) > POSE_TOL]
        return np.array(sorted(kept), dtype=np.intp)

    def _places(self, k: int, q: Array, owner: IndexArray, parents: int) -> IndexArray:
        """Return the slot of each solution: one for each pattern of signs of determinants, then further ones."""
        code, patterns = self.pattern(k, q)
        slots = np.zeros(len(q), dtype=np.intp)
        for parent in range(parents):
            mine = np.flatnonzero(owner == parent)
            for value in np.unique(code[mine]):
                same = mine[code[mine] == value]
                slots[same] = value + patterns * np.arange(len(same))
        return slots

    def pattern(self, k: int, q: Array) -> tuple[IndexArray, int]:
        """Return the pattern of signs of a block (B,) as a number, and the number of patterns.

        A block that is closed in several stages has one sign per stage.
        """
        J = self.closed.jacobian(q)
        code, patterns = np.zeros(len(q), dtype=np.intp), 1
        for rows, columns in self._of_block(k):
            if len(rows):
                negative = np.linalg.slogdet(J[:, rows[:, None], columns])[0] < 0
                code, patterns = code + patterns * negative, 2 * patterns
        return code, patterns

    def _unchanged(self, slot: int, start: Array, q: Array, good: BoolArray, steep: BoolArray) -> BoolArray:
        """Return the mask of blocks (B, blocks) on the same solution; checked if far from the start or steep."""
        same = np.ones(good.shape, dtype=bool)
        if not self.isolated:
            return same
        far = (np.abs(self.closed.difference(start, q)) > MAX_BRANCH_STEP) | steep[:, None]
        for k, block in enumerate(self.blocks):
            suspects = np.flatnonzero(far[:, block.columns].any(1) & good[:, k])
            if len(suspects):
                code, patterns = self.pattern(k, q[suspects])
                same[suspects, k] = code == slot % patterns
        return same

    def put(self, q: Array, poses: Array) -> Array:
        """Return configurations like q (nq,) or (B, nq) with the platform at poses (B, nq)."""
        found = np.array(np.broadcast_to(q, poses.shape))
        found[:, self.places] = poses[:, self.places]
        return found

    def _refined(
        self, solutions: CellSolutions, before: Array, shape: tuple[int, ...], source: IndexArray, poses: Array
    ) -> CellSolutions:
        """Return the solutions at finer cells, from those at their source or its neighbour."""
        cells, slots, nb = solutions.closed.shape
        q = np.empty((len(poses), slots, poses.shape[1]))
        closed = np.zeros((len(poses), slots, nb), dtype=bool)
        donors_of = np.array(
            [[neighbour_cells(solutions.closed[:, slot, k], shape) for k in range(nb)] for slot in range(slots)]
        ).reshape(slots, nb, cells)
        hopeful = (donors_of >= 0).any(0).all(0)  # every block has a solution here or nearby
        for slot in range(slots):
            donors = donors_of[slot]
            some = (donors >= 0).any(0) & hopeful
            start = self._combined(solutions.q[:, slot], donors)
            G = np.zeros((cells, self.closed.nv, int(self.held.sum())))
            if some.any():
                G[some] = self.sensitivity(start[some])
            steep = np.abs(G).max((1, 2), initial=0.0) > NEAR_SINGULAR_GAIN
            chosen = np.flatnonzero(some[source])
            q[:, slot] = self.put(self.q0, poses)
            for part in np.array_split(chosen, 1 + len(chosen) // _BATCH_SIZE):
                if not len(part):
                    continue
                origin = source[part]
                there = self.put(start[origin], poses[part])
                x = self.closed.difference(start[origin], there)[:, self.held]
                step = np.einsum("bij,bj->bi", G[origin], x)
                step *= np.minimum(1.0, 0.5 / np.maximum(np.abs(step).max(1), 1e-12))[:, None]
                q[part, slot], good = self.close(self.closed.retract(there, step), iterations=5)
                closed[part, slot] = good & self._unchanged(slot, there, q[part, slot], good, steep[origin])
        return CellSolutions(q, closed)

    def _combined(self, q: Array, donors: IndexArray, cells: IndexArray | None = None) -> Array:
        """Return configurations at cells whose blocks come from donor cells (blocks, cells); -1 for none."""
        chosen = np.arange(len(q)) if cells is None else cells
        donors = donors[:, chosen]
        if len(donors) <= 1 or (donors == donors[0]).all():
            return q[np.where(donors.max(0, initial=-1) < 0, chosen, donors.max(0, initial=-1))]
        base, x = q[chosen], np.zeros((len(chosen), self.closed.nv))
        for block, donor in zip(self.blocks, donors, strict=True):
            there = np.flatnonzero((donor >= 0) & (donor != chosen))
            away = self.closed.difference(base[there], q[donor[there]])
            x[np.ix_(there, block.columns)] = away[:, block.columns]
        return self.closed.retract(base, x)

    def _filled(self, solutions: CellSolutions, poses: Array, shape: tuple[int, ...]) -> CellSolutions:
        """Try failed cells once more from successful neighbours, as long as that helps."""
        nb = len(self.blocks)
        for slot in range(solutions.closed.shape[1]):
            tried = np.zeros((len(poses), nb), dtype=np.intp)
            for turn in range(40):
                closed = solutions.closed[:, slot]
                donors = np.array([neighbour_cells(closed[:, k], shape, turn=turn) for k in range(nb)]).reshape(nb, -1)
                # nothing is gained where another block has no solution
                hopeful = np.all((donors.T >= 0) | solutions.closed.any(1), axis=1)
                # a hole within the reachable set is tried from all sides
                most = (
                    np.array([np.where(enclosed_cells(closed[:, k], shape), 4, 1) for k in range(nb)]).reshape(nb, -1).T
                )
                pending = (donors.T >= 0) & ~closed & (tried < most) & hopeful[:, None]
                new = np.flatnonzero(pending.any(1))
                if not len(new):
                    break
                tried[new] += pending[new]
                start = self._combined(solutions.q[:, slot], donors, new)
                start = self.put(start, poses[new])
                q, good = self.close(start, iterations=10)
                good &= pending[new]
                good &= self._unchanged(slot, start, q, good, np.ones(len(q), dtype=bool))
                self._take(solutions, slot, new, q, good)
        return solutions

    def add(self, solutions: CellSolutions, cells: IndexArray, q: Array, good: BoolArray) -> bool:
        """Store good blocks (k, blocks) of q (k, nq) in cells (k,) where they have a slot.

        Return True if any was.
        """
        any_new = False
        for k in range(len(self.blocks)):
            code = self.pattern(k, q)[0] if self.isolated else np.zeros(len(q), dtype=np.intp)
            for j in np.flatnonzero(good[:, k] & (code < solutions.closed.shape[1])):
                if not solutions.closed[cells[j], code[j], k]:
                    only = np.zeros((1, len(self.blocks)), dtype=bool)
                    only[0, k] = True
                    self._take(solutions, int(code[j]), cells[j : j + 1], q[j : j + 1], only)
                    any_new = True
        return any_new

    def _take(self, solutions: CellSolutions, slot: int, cells: IndexArray, q: Array, good: BoolArray) -> None:
        """Store the good blocks of q (k, nq) in the solutions at cells (k,)."""
        before = solutions.q[cells, slot]
        away, x = self.closed.difference(before, q), np.zeros((len(q), self.closed.nv))
        for k, (_, moving) in enumerate(self.pairs):
            x[:, moving] = np.where(good[:, k, None], away[:, moving], x[:, moving])
        solutions.q[cells, slot] = self.closed.retract(before, x)
        solutions.closed[cells, slot] |= good

    # ---- batches of states

    def close(self, q: Array, iterations: int = 14) -> tuple[Array, BoolArray]:
        """Return states (B, nq) closed except for the platform, and the mask (B, blocks) of closed blocks."""
        if not self.blocks:
            return q, np.ones((len(q), 0), dtype=bool)
        found, worst = levenberg_marquardt(self.system, q, self.pairs, tolerance=_CLOSED_TOL, iterations=iterations)
        return found, worst <= _CLOSED_TOL

    def within(self, q: Array) -> BoolArray:
        """Return the mask of blocks (B, blocks) with coordinates within their stops at states q (B, nq)."""
        return (
            np.stack([self._within(q, k) for k in range(len(self.blocks))], 1)
            if self.blocks
            else np.ones((len(q), 0), dtype=bool)
        )

    def _within(self, q: Array, k: int) -> BoolArray:
        """Return the mask of states in which the coordinates of a block are within their stops."""
        good = np.ones(len(q), dtype=bool)
        for measure in self.stops:
            if measure.column >= 0 and self.independent and measure.column not in self.blocks[k].columns:
                continue
            good &= np.abs(measure.violation(q)) <= 2 * _CLOSED_TOL * measure.scale
        return good

    def sensitivity(self, q: Array) -> Array:
        """Return G of (1), (B, nv, given velocities), scaled."""
        J = self.closed.jacobian(q)
        G = np.zeros((len(q), self.closed.nv, int(self.held.sum())))
        given = np.flatnonzero(self.held)
        for block in self.blocks:
            rows, columns = block.rows, block.columns
            Jr, Jp = J[:, rows[:, None], columns], J[:, rows[:, None], given]
            Jt = Jr.transpose(0, 2, 1)
            H = Jt @ Jr
            n = len(columns)
            H[:, range(n), range(n)] += (1e-14 * np.trace(H, axis1=1, axis2=2) + 1e-30)[:, None]
            G[:, columns] = -solve_small_systems(H, Jt @ Jp)
        return G


def _square(
    closed: ScaledEquations, block: EquationBlock, q: Array, random: np.random.Generator
) -> tuple[IndexArray, IndexArray]:
    """Return as many generically independent rows of a block as it has columns; none if there are too few."""
    from scipy.linalg import qr

    nothing = np.zeros(0, dtype=np.intp)
    if not block.determined or not len(block.columns):
        return nothing, nothing
    kick = np.zeros(closed.nv)
    kick[block.columns] = random.uniform(-1, 1, len(block.columns))
    J = closed.jacobian(closed.retract(q, kick))[np.ix_(block.rows, block.columns)]
    order = qr(J.T, mode="r", pivoting=True)[1][: len(block.columns)]
    return block.rows[np.sort(order)], block.columns
