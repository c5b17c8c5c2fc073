"""First-order change of positions with deviations of a mechanism, by its closure equations.

A deviation p moves the frames of some joints in their bodies. With the hinge coordinates as they are, it displaces
everything beyond a joint of the tree as one: by the displacement of the joint's inner frame, less that of its outer
one. The rows of a loop see their own ends move as well. A row is a wrench W between the two ends, so that

    Phi_p = W . (D_2 - D_1)                                                                                         (1)

with D the displacements [rotation; translation] of the two frames at the second. Held coordinates stay, so that

    [J; C] dq = -[Phi_p; C_p] dp                                                                                    (2)

and an output follows by its Jacobian and by its own displacement at fixed q. No differences are taken. `deviated`
systems that are assembled again agree to first order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..analysis.freedoms import Freedoms
from ..analysis.relative import hinge_speeds
from ..analysis.scales import Scales, closure_rank
from ..bodies.markers import Marker
from ..connections.hinges import Hinge
from ..errors import ModelError
from ..model import Model
from ..model.loads import weightless_loads
from .deviations import Deviation

__all__ = ["Displacements", "solve"]

Array = NDArray[np.float64]


class Displacements:
    """What deviations displace at one configuration, hinge coordinates as they are.

    Parameters
    ----------
    model : Model
    q : (nq,) rad or m
    deviations : list of Deviation, (k,)
        Of the model's own system.
    """

    def __init__(self, model: Model, q: Array, deviations: list[Deviation]) -> None:
        self.model, self.q, self.deviations = model, q, deviations
        k = len(deviations)
        self._own = [self._twist(d) for d in deviations]
        forest = model.forest
        bodies = np.zeros((forest.nb + 1, k, 6))  # [rotation; displacement of what is at the world's origin]
        for j, hinge in enumerate(forest.hinges, start=1):
            bodies[j] = bodies[forest.parent[j - 1]]
            inner, outer = (0, 1) if not hinge.reversed else (1, 0)
            for i, deviation in enumerate(deviations):
                if (hinge.name, inner) in deviation.ends:
                    bodies[j, i] += self._own[i]
                if (hinge.name, outer) in deviation.ends:
                    bodies[j, i] -= self._own[i]
        self._bodies = bodies

    def of(self, marker: Marker, end: tuple[str, int] | None = None) -> Array:
        """Return the displacements (k, 6) [rotation; translation] of a marker, or of an end of a connection there."""
        twists = self._bodies[self.model.forest.number[marker.body.name]].copy()
        for i, deviation in enumerate(self.deviations):
            if (end in deviation.ends) if end is not None else deviation.moves(marker):
                twists[i] += self._own[i]
        return _at(twists, self.model.pose(marker, self.q).position)

    def between(self, name: str) -> Array:
        """Return the displacements (k, 6) of the second end of a connection relative to the first, at the second."""
        c = self.model.system.connections[name]
        first, second = self.of(c.first, (name, 0)), self.of(c.second, (name, 1))
        one, two = (self.model.pose(end, self.q).position for end in (c.first, c.second))
        first[:, 3:] += np.cross(first[:, :3], two - one)
        return second - first

    def _twist(self, deviation: Deviation) -> Array:
        """Return what a unit deviates, (6,), as the displacement at the world's origin."""
        R, p = self.model.pose(deviation.body.at(*deviation.place), self.q)
        turn, shift = R @ deviation.twist[:3], R @ deviation.twist[3:]
        return np.concatenate([turn, shift - np.cross(turn, p)])


def solve(model: Model, q: Array, t: float, held: Freedoms, moved: Displacements, item: str) -> Array:
    """Return dq (nv, k) of (2), in the tangent space.

    Raises
    ------
    ModelError
        If what is held leaves the mechanism free to move, or if it cannot take up a deviation.
    """
    scales = Scales.of(model, t=t, positions_only=True, prescribed=False)
    P, right = model.constraint_jacobian(q, t=t), np.zeros((model.nc, len(moved.deviations)))
    if model.nc:
        lam = np.eye(model.nc)
        loads = weightless_loads(model, np.tile(q, (model.nc, 1)), np.zeros((model.nc, model.nv)), lam, t=t)
        for row, name in enumerate(model.constraint_connections):
            if name in model.system.connections:
                right[row] = moved.between(name) @ loads[row, model.connection_names.index(name)]
    C, at_cut = held.rows(q), np.zeros((len(held), len(moved.deviations)))
    at_cut[len(held.columns) :] = _cut_shifts(model, q, moved)[held.cut]
    units = np.concatenate([1.0 / scales.columns[held.columns], held.cut_scales])
    A = np.vstack([scales.rows[:, None] * P, units[:, None] * C]) * scales.columns
    b = -np.vstack([scales.rows[:, None] * right, units[:, None] * at_cut])
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    rank = closure_rank(s)
    if rank < model.nv:
        free = np.linalg.svd(A)[2][rank:]
        names = [model.speed_names[k] for k in np.argsort(-np.abs(free).max(axis=0))[:3]]
        raise ModelError(
            item,
            "held",
            held.names,
            f"the mechanism can still move in {model.nv - rank} ways ({', '.join(names)}, ...): hold as many "
            "coordinates as it has freedoms, held='A'; where it is held it must not be at a dead point",
        )
    x = Vt.T @ ((U.T @ b) / s[:, None])
    missing = np.abs(A @ x - b).max(axis=0, initial=0.0)
    for k, deviation in enumerate(moved.deviations):
        if missing[k] > 1e-7 * max(float(np.abs(b[:, k]).max(initial=0.0)), 1e-300):
            raise ModelError(
                item,
                "deviation",
                deviation.name,
                "the loops cannot take it up: the mechanism is over-constrained and would be strained; leave it out, "
                "or give joints the freedom to follow (Spherical or Cylindrical for Revolute)",
            )
    return np.asarray(scales.columns[:, None] * x)


def _cut_shifts(model: Model, q: Array, moved: Displacements) -> Array:
    """Return how the coordinates of all cut hinges change at fixed q, (speeds of cut hinges, k)."""
    spans = model.compiled.names.cut_v
    shifts = np.zeros((max((span.stop for span in spans.values()), default=0), len(moved.deviations)))
    for chord in model.forest.chords:
        if isinstance(chord.element, Hinge) and chord.name in spans:
            shifts[spans[chord.name]] = cut_change(model, q, chord.name, moved.between(chord.name))
    return shifts


def cut_change(model: Model, q: Array, name: str, between: Array) -> Array:
    """Return how the coordinates of a cut hinge change (nv, k) when its second end moves by (k, 6), world axes."""
    chord = model.system.connections[name]
    assert isinstance(chord.element, Hinge)
    still = np.zeros(model.nv)
    at = model.cut_motion(q, still, still)[0][model.compiled.names.cut_q[name]]
    R = model.pose(chord.first, q).rotation
    local = np.concatenate([between[:, :3] @ R, between[:, 3:] @ R], axis=1)
    return np.asarray(hinge_speeds(chord.element, at) @ local.T)


def _at(twists: Array, point: Array) -> Array:
    """Return displacements (k, 6) given at the world's origin at a point (3,) m."""
    moved = twists.copy()
    moved[:, 3:] += np.cross(twists[:, :3], point)
    return moved
