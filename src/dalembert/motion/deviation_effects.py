"""First-order change of positions with deviations of a mechanism, by its closure equations.

A deviation p moves the frames of some joints in their bodies. At fixed joint coordinates, it displaces everything
beyond a joint of the tree as one body: by the displacement of the joint's inner frame, less that of its outer one. The
ends of a loop row move as well. A row is a load W between the two ends, so that

    Phi_p = W . (D_2 - D_1)                                                                                         (1)

with D the displacements [rotation; translation] of the two frames at the second. Held coordinates do not change, so
that

    [J; C] dq = -[Phi_p; C_p] dp                                                                                    (2)

and an output follows by its Jacobian and by its own displacement at fixed q. No finite differences are used. `deviated`
systems that are assembled again agree to first order.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..bodies.markers import Marker
from ..closure.joint_velocities import cut_speeds_of_twist, speed_rows
from ..closure.loop_equations import LoopEquations
from ..closure.named_velocities import NamedVelocities
from ..errors import ModelError
from ..model import Model
from ..model.connection_loads import weightless_loads
from ..numerics.rank import significant
from .deviations import Deviation

__all__ = ["Displacements", "solve"]


class Displacements:
    """Displacements due to deviations at many configurations, at fixed joint coordinates.

    Parameters
    ----------
    model : Model
    q : (n, nq) rad or m
    deviations : list of Deviation, (k,)
        Of the system of the model.
    """

    def __init__(self, model: Model, q: Array, deviations: list[Deviation]) -> None:
        self.model, self.q, self.deviations = model, q, deviations
        self._own = [self._twist(d) for d in deviations]
        forest = model.forest
        # [rotation; displacement of the point at the world's origin]
        bodies = np.zeros((forest.nb + 1, len(q), len(deviations), 6))
        for j, joint in enumerate(forest.joints, start=1):
            bodies[j] = bodies[forest.parent[j - 1]]
            inner, outer = (0, 1) if not joint.reversed else (1, 0)
            for i, deviation in enumerate(deviations):
                if (joint.name, inner) in deviation.ends:
                    bodies[j, :, i] += self._own[i]
                if (joint.name, outer) in deviation.ends:
                    bodies[j, :, i] -= self._own[i]
        self._bodies = bodies

    def of(self, marker: Marker, end: tuple[str, int] | None = None) -> Array:
        """Return the displacements (n, k, 6) [rotation; translation] of a marker, or of a connection's end."""
        twists: Array = self._bodies[self.model.forest.number[marker.body.name]].copy()
        for i, deviation in enumerate(self.deviations):
            if (end in deviation.ends) if end is not None else deviation.moves(marker):
                twists[:, i] += self._own[i]
        twists[..., 3:] += np.cross(twists[..., :3], self.model.pose(marker, self.q).position[:, None])
        return twists

    def between(self, name: str) -> Array:
        """Return the displacements (n, k, 6) of a connection's second end relative to the first, at the second."""
        c = self.model.system.connections[name]
        first, second = self.of(c.first, (name, 0)), self.of(c.second, (name, 1))
        one, two = (self.model.pose(end, self.q).position for end in (c.first, c.second))
        first[..., 3:] += np.cross(first[..., :3], (two - one)[:, None])
        return np.asarray(second - first)

    def of_cut_joint(self, name: str) -> Array:
        """Return the change of the coordinates of a cut joint at fixed q, (n, nv of it, k)."""
        return np.asarray(cut_speeds_of_twist(self.model, self.q, name) @ self.between(name).swapaxes(1, 2))

    def _twist(self, deviation: Deviation) -> Array:
        """Return the twist of a unit deviation, (n, 6), as the displacement at the world's origin."""
        if deviation.bar:
            c = self.model.system.connections[deviation.bar]
            line = self.model.pose(c.second, self.q).position - self.model.pose(c.first, self.q).position
            return np.concatenate([0 * line, -line / np.linalg.norm(line, axis=1, keepdims=True)], axis=1)
        R, p = self.model.pose(deviation.body.at(*deviation.place), self.q)
        turn, shift = R @ deviation.twist[:3], R @ deviation.twist[3:]
        return np.concatenate([turn, shift - np.cross(turn, p)], axis=1)


def solve(moved: Displacements, t: Array, held: NamedVelocities, item: str) -> Array:
    """Return dq (n, nv, k) of (2) at times (n,) s, in the tangent space.

    Raises
    ------
    ModelError
        If the held coordinates do not determine the motion, or if the mechanism cannot accommodate a deviation.
    """
    model, q, n = moved.model, moved.q, len(moved.q)
    loops = LoopEquations.of(model, positions_only=True, prescribed=False)
    units = np.concatenate([1.0 / loops.column_scales[held.columns], held.cut_scales])
    rows = np.concatenate([loops.row_scales, units])[:, None]
    P, C = model.constraint_jacobian(q, t=t), speed_rows(held, q)
    A = rows * np.concatenate([P.reshape(n, model.nc, model.nv), C], axis=1) * loops.column_scales
    b = -rows * np.concatenate([_closure_changes(moved, t), _held_changes(moved, held)], axis=1)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    free = ~significant(s)
    left = model.nv - s.shape[1] + free.sum(axis=1)
    if left.any():
        k = int(left.argmax())
        directions = np.linalg.svd(A[k])[2][model.nv - int(left[k]) :]
        names = [model.speed_names[i] for i in np.argsort(-np.abs(directions).max(axis=0))[:3]]
        raise ModelError(
            item,
            "hold",
            held.names,
            f"the mechanism still has {left[k]} DOF at t = {t[k]:.6g} s ({', '.join(names)}, ...): hold as "
            "many coordinates as it has degrees of freedom, hold='A'; the held coordinate must not be at a dead point",
        )
    x = Vt.swapaxes(1, 2) @ ((U.swapaxes(1, 2) @ b) / s[:, :, None])
    missing = np.abs(A @ x - b).max(axis=1, initial=0.0) > 1e-7 * np.abs(b).max(axis=1, initial=0.0)
    for deviation, contradicts in zip(moved.deviations, missing.any(axis=0), strict=True):
        if contradicts:
            raise ModelError(
                item,
                "deviation",
                deviation.name,
                "the loops cannot accommodate it: the mechanism is over-constrained and would be strained; leave it "
                "out, or give joints the degree of freedom to follow (Spherical or Cylindrical for Revolute)",
            )
    return np.asarray(loops.column_scales[:, None] * x)


def _closure_changes(moved: Displacements, t: Array) -> Array:
    """Return Phi_p of (1), (n, nc, k)."""
    model, q, n, nc = moved.model, moved.q, len(moved.q), moved.model.nc
    changes = np.zeros((n, nc, len(moved.deviations)))
    if not nc:
        return changes
    lam, still = np.tile(np.eye(nc), (n, 1)), np.zeros((n * nc, model.nv))
    loads = weightless_loads(model, np.repeat(q, nc, axis=0), still, lam, t=np.repeat(t, nc)).reshape(n, nc, -1, 6)
    between = {name: moved.between(name) for name in {*model.constraint_connections} & {*model.system.connections}}
    for row, name in enumerate(model.constraint_connections):
        if name in between:
            wrench = loads[:, row, model.connection_names.index(name)]
            changes[:, row] = (between[name] @ wrench[:, :, None])[:, :, 0]
    return changes


def _held_changes(moved: Displacements, held: NamedVelocities) -> Array:
    """Return C_p of (2), (n, held, k): only coordinates of cut joints change at fixed q."""
    model = moved.model
    spans = model.compiled.names.cut_v
    every = np.zeros((len(moved.q), max((span.stop for span in spans.values()), default=0), len(moved.deviations)))
    for name, span in spans.items():
        if any(span.start <= index < span.stop for index in held.cut):
            every[:, span] = moved.of_cut_joint(name)
    still = np.zeros((len(moved.q), len(held.columns), len(moved.deviations)))
    return np.concatenate([still, every[:, held.cut]], axis=1)
