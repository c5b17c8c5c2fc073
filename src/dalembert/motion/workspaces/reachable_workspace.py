"""Reachable workspace of a point or platform, with condition maps.

For poses on a grid all assemblies of the mechanism are counted (see `grid_sweep`). At a pose with sensitivity G
(dr = G dp of all other coordinates to the platform), actuated velocities follow from those of the platform,

    u = K p,     K = C [1; G],     p in rad/s and in lengths per second                                             (1)

Its condition number measures how unevenly motions of the actuators become motions of the platform. K is singular where
the platform can move with locked actuators (second kind of Gosselin and Angeles 1990). K is unbounded where a leg is
stretched or folded (first kind), at the boundary of the workspace of an assembly.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...answer import ArrayAnswer
from ...arrays import Array, BoolArray, IndexArray
from ...closure.scaled_equations import CoordinateMeasure
from ...errors import ModelError
from ...model import Model
from ...numerics.contours import outline
from ...numerics.roots import bisect
from .grid_sweep import CellSolutions, WorkspaceSweep
from .islands import freely_turning_cells

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

__all__ = ["Workspace"]


BOUNDARY_BISECTIONS = 12  # of the distance of two grid points, which leaves 1/4096 of it


class Workspace(ArrayAnswer):
    """Poses of a platform on a grid: reachability, number of assemblies, conditioning.

    Attributes
    ----------
    target : str
    axes : tuple of str
        Coordinates of the grid: ``("x", "y")``.
    grid : tuple of arrays
        Their values, m.
    reachable : (nx, ny) or (nx, ny, nz) bool
    ways : the same shape, int
        Number of assemblies; -1 for infinitely many. Assemblies with equal poses of all bodies count once, though
        joints may differ (a universal joint has two such).
    modes : tuple of tuple of int
        Working modes: for each leg (each block of loops that closes by itself) the index of its solution.
    mode : tuple of int
        That of the start configuration.
    model : Model
        The mechanism with a free joint from ground to the platform.
    """

    def __init__(
        self,
        target: str,
        axes: tuple[str, ...],
        grid: tuple[Array, ...],
        reach: WorkspaceSweep,
        ways: CellSolutions,
        poses: Array,
        model: Model,
        actuated: Sequence[CoordinateMeasure],
        columns: IndexArray,
        mobility: int,
        length: float,
    ) -> None:
        self.target, self.axes, self.grid, self.model = target, axes, grid, model
        self._reach, self._ways, self._poses, self._actuated = reach, ways, poses, tuple(actuated)
        self._columns, self._mobility, self._length = columns, mobility, length
        shape = tuple(len(g) for g in grid)
        counts = ways.closed.sum(1)
        number = counts.prod(1) if reach.independent else counts[:, 0] if counts.shape[1] else np.ones(len(poses), int)
        self.reachable = (number > 0).reshape(shape)
        endless = freely_turning_cells(reach, ways, shape) if reach.isolated else number > 0
        self.ways = np.where(endless, -1, number).reshape(shape)

    @property
    def size(self) -> float:
        """Reachable area (m2) or volume (m3): sum of the reachable cells."""
        cell = [np.gradient(g) if len(g) > 1 else np.ones(1) for g in self.grid]
        weights = cell[0]
        for other in cell[1:]:
            weights = weights[..., None] * other
        return float((weights * self.reachable).sum())

    # ---- working modes

    @cached_property
    def modes(self) -> tuple[tuple[int, ...], ...]:
        """Working modes with reachable poses."""
        some = np.asarray(self._ways.closed.any(0))  # slots, blocks
        if not self._reach.independent:
            return tuple((int(k),) for k in np.flatnonzero(some[:, 0])) if some.size else ((),)
        found: list[tuple[int, ...]] = [()]
        for k in range(some.shape[1]):
            found = [(*mode, int(slot)) for mode in found for slot in np.flatnonzero(some[:, k])]
        return tuple(found)

    @cached_property
    def mode(self) -> tuple[int, ...]:
        """Working mode of the start configuration."""
        q0 = self._reach.q0[None]
        pattern = tuple(int(self._reach.pattern(k, q0)[0][0]) for k in range(len(self._reach.blocks)))
        return pattern if pattern in self.modes or not self.modes else self.modes[0]

    def configurations(self, mode: Sequence[int] | None = None) -> tuple[Array, BoolArray]:
        """Return the configurations of `model` in a working mode (cells..., nq), and their mask (cells...)."""
        shape = self.reachable.shape
        q, closed = self._of_mode(mode)
        return q.reshape(*shape, -1), closed.reshape(shape)

    def _of_mode(self, mode: Sequence[int] | None) -> tuple[Array, BoolArray]:
        chosen = self.mode if mode is None else tuple(mode)
        if chosen not in self.modes:
            raise ModelError("workspace", "mode", mode, f"choose among {', '.join(map(str, self.modes[:12]))}")
        q, closed = self._ways.q, self._ways.closed
        if not chosen:
            return q[:, 0], np.ones(len(q), dtype=bool)
        base = q[:, chosen[0]]
        there = np.asarray(np.stack([closed[:, slot, k] for k, slot in enumerate(chosen)], 1).all(1))
        if len(set(chosen)) > 1:
            x = np.zeros((len(q), self._reach.closed.nv))
            for block, slot in zip(self._reach.blocks, chosen, strict=True):
                x[:, block.columns] = self._reach.closed.difference(base, q[:, slot])[:, block.columns]
            base = self._reach.closed.retract(base, x)
        return base, there

    # ---- conditioning

    def jacobians(self, mode: Sequence[int] | None = None) -> Array:
        """Return K of (1), (cells..., actuated, motions), in a working mode; NaN where it is not reachable.

        Motions are those of the platform: along the axes of the grid (per length), then about the normal of the plane,
        or about x, y, z, if its rotation is a degree of freedom. Velocities of actuated slides are per length, too.
        """
        columns = self._motions()
        q, there = self._of_mode(mode)
        K = np.full((len(q), len(self._actuated), len(columns)), np.nan)
        if there.any():
            K[there] = self._speeds(q[there], columns)
        return K.reshape(*self.reachable.shape, *K.shape[1:])

    def _motions(self) -> IndexArray:
        """Return the velocities of the platform that are degrees of freedom."""
        if not self._actuated:
            raise ModelError("workspace", "actuated", (), "name the actuated coordinates: actuated=('A', 'B')")
        translations, rotations = len(self.grid), len(self._columns) - len(self.grid)
        if self._mobility not in (translations, translations + rotations):
            here = f"the platform has {translations} translations and {rotations} rotations on this grid"
            remedy = f"{here}, the mechanism {self._mobility} DOF: give rotation=..., or hold idle coordinates"
            raise ModelError("workspace", "condition", None, remedy)
        if len(self._actuated) < self._mobility:
            names = ", ".join(m.name for m in self._actuated)
            raise ModelError(
                "workspace", "actuated", names, f"the mechanism has {self._mobility} degrees of freedom: name as many"
            )
        return self._columns[: self._mobility]

    def _speeds(self, q: Array, columns: IndexArray) -> Array:
        """Return K of (1) at states q (B, nq)."""
        reach, closed = self._reach, self._reach.closed
        G = reach.sensitivity(q)
        index = np.cumsum(reach.held) - 1
        scale = np.where(np.isin(columns, self._columns[: len(self.grid)]), self._length / closed.scales[columns], 1.0)
        K = np.empty((len(q), len(self._actuated), len(columns)))
        for j, column in enumerate(columns):
            x = G[:, :, index[column]].copy()
            x[:, column] = 1.0
            v = x * closed.scales * scale[j]
            for k, measure in enumerate(self._actuated):
                K[:, k, j] = measure.rates(q, v) / (self._length if measure.unit == "m" else 1.0)
        return K

    def condition(self, mode: Sequence[int] | None = None) -> Array:
        """Return the condition number of K (1) over the grid in a working mode; NaN outside.

        Lengths are measured in that given to `workspace`, the characteristic length of the mechanism by default.
        """
        K = self.jacobians(mode)
        out = np.full(K.shape[:-2], np.nan)
        there = np.isfinite(K).all((-1, -2))
        s = np.linalg.svd(K[there], compute_uv=False)
        with np.errstate(divide="ignore"):
            out[there] = s[:, 0] / s[:, -1]
        return out

    def determinant(self, mode: Sequence[int] | None = None) -> Array:
        """Return det K over the grid in a working mode; zero where locked actuators leave mobility."""
        K = self.jacobians(mode)
        if K.shape[-1] != K.shape[-2]:
            remedy = f"there are {K.shape[-2]} actuated coordinates and {K.shape[-1]} DOF: only as many have one"
            raise ModelError("workspace", "determinant", None, remedy)
        out = np.full(K.shape[:-2], np.nan)
        there = np.isfinite(K).all((-1, -2))
        out[there] = np.linalg.det(K[there])
        return out

    # ---- boundary

    @cached_property
    def boundary(self) -> list[Array]:
        """Boundary curves (k, 2) m of the reachable set, located between grid points.

        The last point of a closed one is its first. Of a grid in space: one array (k, 3) of points on the boundary.
        """
        return outline(self.grid, self.reachable, self._between)

    def _between(self, inside: IndexArray, outside: IndexArray) -> Array:
        """Return the reachable fraction (k,) of the segments from cells inside to cells outside."""
        reach, slots = self._reach, self._ways.q.shape[1]
        q, poses = self._ways.q[inside].copy(), self._poses
        alive = self._ways.closed[inside]

        def closes(middle: Array) -> BoolArray:
            good = np.zeros(alive.shape, dtype=bool)
            trial = np.empty_like(q)
            for slot in range(slots):
                there = poses[inside] + middle[:, None] * (poses[outside] - poses[inside])
                trial[:, slot], good[:, slot] = reach.close(reach.put(q[:, slot], there))
                good[:, slot] &= reach.within(trial[:, slot])
            good &= alive
            number: BoolArray = np.all(np.any(good, axis=1), axis=1)
            q[number], alive[number] = trial[number], good[number]
            return number

        low, high = bisect(closes, np.zeros(len(inside)), np.ones(len(inside)), BOUNDARY_BISECTIONS)
        return 0.5 * (low + high)

    def plot(
        self, what: str = "reachable", *, mode: Sequence[int] | None = None, ax: Any = None, path: Any = None
    ) -> Axes:
        """Plot ``"reachable"``, ``"ways"`` or ``"condition"``, with the boundary; see `view.workspace`."""
        from ...view.plots.workspaces import plot_workspace

        return plot_workspace(self, what, mode=mode, ax=ax, path=path)

    def _subject(self) -> str:
        return self.target

    def _headline(self) -> str:
        unit = "m2" if len(self.grid) == 2 else "m3"
        return f"{self.reachable.sum()} of {self.reachable.size} poses, {self.size:.4g} {unit}"

    def to_xarray(self) -> xarray.Dataset:
        """Return an xarray Dataset over the grid: `reachable`, `ways`; with actuated joints also `condition`."""
        import xarray

        dims = self.axes
        data = {"reachable": (dims, self.reachable), "ways": (dims, self.ways)}
        if self._actuated and self._reach.isolated:
            data["condition"] = (dims, self.condition())
        coords = {name: (name, values, {"units": "m"}) for name, values in zip(dims, self.grid, strict=True)}
        return xarray.Dataset(data, coords, {"title": self.target, "message": self.message})

    def __str__(self) -> str:
        unit = "m2" if len(self.grid) == 2 else "m3"
        spans = ", ".join(
            f"{a} {g[0]:.4g} to {g[-1]:.4g} m ({len(g)})" for a, g in zip(self.axes, self.grid, strict=True)
        )
        share = f"{int(self.reachable.sum())} of {self.reachable.size} poses can be reached, {self.size:.4g} {unit}"
        lines = [f"workspace of {self.target!r} over {spans}", share]
        if self._reach.isolated:
            numbers, counts = np.unique(self.ways[self.reachable], return_counts=True)
            parts = [f"{n if n > 0 else 'infinitely many'} at {c}" for n, c in zip(numbers, counts, strict=True)]
            lines.append(f"ways to assemble: {', '.join(parts)}")
        else:
            lines.append("infinitely many ways to assemble")
        if self._actuated and self._reach.isolated:
            c = self.condition()
            good = c[np.isfinite(c)]
            if len(good):
                names = ", ".join(m.name for m in self._actuated)
                spread = f"{good.min():.4g} to {good.max():.4g}, median {np.median(good):.4g}"
                lines.append(f"condition number with {names} actuated: {spread}")
        return "\n".join(lines)
