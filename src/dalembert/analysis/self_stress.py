"""States of self-stress: loads with which connections press against each other while nothing moves.

A combination y of closure rows that vanishes for every motion, y^T P = 0, loads the chords and, through the bodies, the
hinges of the tree, and no effort or inertia notices. So where there are such states the loads of a motion are not
unique: any of them may be added. A component of a load is unique if it is zero in all of them; connections that appear
in one state share what they carry. Of all loads that fit a motion, those are given for which

    sum over connections of |moment|^2 + |L force|^2,    moments about the second markers                            (1)

is least, L the characteristic length of the system (see `scales`). None of this depends on where loops were cut, nor on
units.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..connections.hinges import Hinge
from ..model import Model
from ..reactions import second_markers
from .redundancy import independent_rows
from .scales import Scales, closure_rank, singular_values

__all__ = ["SelfStress", "self_stress"]

Array = NDArray[np.float64]
Marks = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SelfStress:
    """A basis of k states, each with as few connections as can be.

    Attributes
    ----------
    multipliers : (k, nc) N or N m
    loads : (k, number of hinges and chords, 6) N m and N
        [moment; force] on the second marker of each hinge of the tree, then of each chord, world axes.
    leaks : (k, freedoms that are not driven)
        What the scaled rows leave of y^T P, rounding.
    scales : Scales
    cutoff : float
        Part of a state's largest load below which a load is rounding.
    """

    model: Model
    multipliers: Array
    loads: Array
    leaks: Array
    scales: Scales
    cutoff: float

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the connections that `loads` has, in its order."""
        return (*self.model.hinge_names, *(chord.name for chord in self.model.forest.chords))

    def least(self, loads: Array, lam: Array) -> tuple[Array, Array]:
        """Return loads and multipliers (nc,) with the states taken out of them that make (1) larger than it need be.

        Parameters
        ----------
        loads : (number of hinges and chords, 6) N m and N
            Of a motion, world axes.
        lam : (nc,) N or N m
        """
        if not len(self.loads):
            return loads, lam
        count = len(self.model.forest.couplings)  # their rows come last
        coupled = slice(self.model.nc - count, None)
        per_row = self.scales.rows[coupled]
        states = np.hstack(
            [self._moments(self.loads).reshape(len(self.loads), -1), self.multipliers[:, coupled] / per_row]
        )
        present = np.concatenate([self._moments(loads).ravel(), lam[coupled] / per_row])
        Q, R = np.linalg.qr(states.T)  # the states are independent
        share = np.linalg.solve(R, Q.T @ present)
        shorter: Array = lam - share @ self.multipliers
        # close to a singular position a state may still hold something: what it holds must not be lost
        lost = float(np.abs(share @ self.leaks).max(initial=0.0))
        if lost > 10 * self.cutoff * float(np.abs(shorter / self.scales.rows).max()):
            return loads, lam
        return loads - np.tensordot(share, self.loads, 1), shorter

    def varies(self, rotations: Array | None = None) -> Marks:
        """Return which components of the loads the states change, (number of hinges and chords, 6).

        Parameters
        ----------
        rotations : (number of hinges and chords, 3, 3)
            Axes in which components are taken, as columns; the world's if left out.
        """
        scaled = self._scaled
        if rotations is not None:
            parts = scaled.reshape(*scaled.shape[:2], 2, 3)
            scaled = np.einsum("nji,knpj->knpi", rotations, parts).reshape(scaled.shape)
        return np.asarray((np.abs(scaled) > self.cutoff).any(axis=0))

    @cached_property
    def shared(self) -> dict[str, tuple[str, ...]]:
        """For each connection with a load that is not unique, the others that share it, in the user's order."""
        model, names = self.model, self.names
        closing = set(names)
        owners = np.array([name if name not in closing else "" for name in model.constraint_connections])
        everyone = [*model.system.connections, *(coupling.name for coupling in model.forest.couplings)]
        order = {name: k for k, name in enumerate(everyone)}
        groups: list[set[str]] = []
        for loads, lam in zip(self._scaled, self.multipliers, strict=True):
            members = {name for name, load in zip(names, np.abs(loads).max(1), strict=True) if load > self.cutoff}
            acting = np.abs(lam) > self.cutoff * float(np.abs(lam).max(initial=0.0))
            members |= {str(name) for name in owners[acting] if name}
            apart = [group for group in groups if not group & members]
            groups = [*apart, members.union(*(group for group in groups if group & members))]
        result = {}
        for group in groups:
            ordered = sorted(group, key=lambda name: order.get(name, len(order)))
            result.update({name: tuple(other for other in ordered if other != name) for name in ordered})
        return dict(sorted(result.items(), key=lambda item: order.get(item[0], len(order))))

    @cached_property
    def _scaled(self) -> Array:
        """The loads without dimension, the largest component of each state 1."""
        scaled = self._moments(self.loads)
        largest = np.abs(scaled).max(axis=(1, 2), initial=0.0)
        # where only couplings act, hinges carry nothing
        acting = np.abs(self.multipliers).max(axis=1, initial=0.0)
        result: Array = scaled / np.maximum(largest, 1e-12 * acting)[:, None, None]
        return result

    def _moments(self, loads: Array) -> Array:
        """Return loads with forces multiplied by the characteristic length, N m."""
        result: Array = loads * np.array([1.0] * 3 + [self.scales.length] * 3)
        return result


def self_stress(
    model: Model, q: Array, *, given: Marks | None = None, acting: Marks | None = None, t: float = 0.0
) -> SelfStress:
    """Return the states of self-stress at q.

    Parameters
    ----------
    model : Model
    q : (nq,) rad or m
    given : (nv,) bool
        Freedoms that drives prescribe: what acts along them is no load that has to vanish, but an effort of the drive.
    acting : (nc,) bool
        Rows that are not switched off; all if left out.
    t : float, s
        Time, for rows that depend on it by themselves.
    """
    scales, places = Scales.of(model, t=t, prescribed=False), len(model.hinge_names) + len(model.forest.chords)
    none = SelfStress(model, np.zeros((0, model.nc)), np.zeros((0, places, 6)), np.zeros((0, model.nv)), scales, 0.0)
    if not model.nc:
        return none
    rows = np.arange(model.nc) if acting is None else np.flatnonzero(acting)
    J = scales.jacobian(model, q)
    if given is not None:
        J = J[:, ~given]
    tolerance = _tolerance(model, q, scales)
    rank = closure_rank(singular_values(J[rows]), tolerance)
    if rank == len(rows):
        return none
    combinations = independent_rows(J[rows], rank)[2]
    y = np.zeros((len(combinations), model.nc))
    y[:, rows] = combinations
    lam = y * scales.rows
    return SelfStress(model, lam, _carried(model, q, lam, t), y @ J, scales, 10 * tolerance)


def _tolerance(model: Model, q: Array, scales: Scales) -> float:
    """Return the singular value below which rows repeat others: more than what open loops bring about."""
    hinges = {chord.name for chord in model.forest.chords if isinstance(chord.element, Hinge)}
    mine = np.array([name in hinges for name in model.constraint_connections], dtype=bool)
    opening = float(np.abs(scales.rows * model.constraint_residual(q, t=scales.t))[mine].max(initial=0.0))
    return min(max(30.0 * opening, 1e-8), 1e-5)


def _carried(model: Model, q: Array, lam: Array, t: float) -> Array:
    """Return the loads of hinges and chords, (k, number of both, 6), that multipliers (k, nc) without effect bring."""
    forest = model.forest
    chords = np.stack([model._chord_loads(q, state, t=t)[: len(forest.chords)] for state in lam])
    origin = np.vstack([np.zeros(3), model.poses(q).position])  # of ground and bodies
    points = second_markers(model, q).position
    on_bodies = np.zeros((len(lam), model.nb + 1, 6))
    for k, chord in enumerate(forest.chords):
        for marker, sign in ((chord.first, -1.0), (chord.second, 1.0)):
            body = forest.number[marker.body.name]
            on_bodies[:, body] += sign * _moved(chords[:, k], points[model.nb + k], origin[body])
    hinges = np.zeros((len(lam), model.nb, 6))
    for j in range(model.nb, 0, -1):
        hinge, parent = forest.hinges[j - 1], int(forest.parent[j - 1])
        # the hinge holds what acts on all that it carries
        load = _moved(on_bodies[:, j], origin[j], points[j - 1])
        hinges[:, j - 1] = load if hinge.reversed else -load
        on_bodies[:, parent] += _moved(on_bodies[:, j], origin[j], origin[parent])
    return np.concatenate([hinges, chords], axis=1)


def _moved(loads: Array, point: Array, to: Array) -> Array:
    """Return loads (k, 6) about another point."""
    x, y, z = point - to
    arm = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    moved = loads.copy()
    moved[:, :3] += loads[:, 3:] @ arm.T
    return moved
