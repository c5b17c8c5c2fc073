"""Dynamics in maximal coordinates: every body free, every joint a constraint. Plain NumPy, no compiled core.

Each body has six speeds U = [omega; velocity of its mass centre] in world axes. A connection between
the markers 1 and 2 allows the relative motion H v of its joint and forbids the orthogonal complement N
of H (Sol 1983, section 3.3). With r from marker 1 to marker 2, and everything in axes of marker 1,

    V_rel = [w2 - w1; v2 - v1 - w1 x r]                                                         (1)
    A_rel = [w2' - w1' - w1 x w_rel; a2 - a1 - w1' x r - w1 x (w1 x r) - 2 w1 x v_rel]           (2)
    V_rel = H v,   A_rel = H v' + bias   gives   N^T V_rel = 0,   N^T (A_rel - bias) = 0          (3)
    M U' = f + G^T mu,   G U' + g = 0                                                          (4)

A_rel is the rate of V_rel seen from marker 1. erratum: Sol's relative angular acceleration lacks w1 x w_rel.
A contact along a curve has rows phi of its own (see `contacts`): N^T are their gradients, -bias what is left of phi''.

Rows may repeat each other. The accelerations are unique all the same, the multipliers those of least norm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from oracles import contacts

from dalembert.bodies.markers import Marker
from dalembert.connections.connection import Connection
from dalembert.connections.constraints.cams import CamFollower, PointOnCurve
from dalembert.connections.joints import (
    Cylindrical,
    Fixed,
    Free,
    Joint,
    Planar,
    Prismatic,
    Screw,
    Spherical,
    Universal,
)
from dalembert.rotation import quaternion_from_matrix
from dalembert.system import System

__all__ = ["Maximal", "joint_coordinates"]

Array = NDArray[np.float64]

# singular values below this share of the largest are those of rows that repeat others
RANK = 1e-9


def joint_coordinates(joint: Joint, C: Array, c: Array) -> Array:
    """Return the q (nq,) at which ``joint.pose(q)`` is C (3, 3), c (3,): the inverse of `pose`.

    Angles are within +-pi, except a screw's, whose whole turns follow from the displacement. Parts of
    C and c that the joint does not allow are left out of account.
    """
    F = joint.frame()
    R, r = F.T @ C @ F, F.T @ c
    angle = np.arctan2(R[1, 0] - R[0, 1], R[0, 0] + R[1, 1])
    match joint:
        case Fixed():
            return np.zeros(0)
        case Prismatic():
            return np.array([r[2]])
        case Screw():
            turns = np.round(r[2] / joint.pitch - angle / (2 * np.pi)) if joint.pitch else 0.0
            return np.array([angle + 2 * np.pi * turns])
        case Cylindrical():
            return np.array([angle, r[2]])
        case Universal():
            return np.array([np.arctan2(R[2, 1], R[1, 1]), np.arctan2(R[0, 2], R[0, 0])])
        case Planar():
            return np.array([r[0], r[1], angle])
        case Spherical():
            return quaternion_from_matrix(C)
        case Free():
            return np.concatenate([quaternion_from_matrix(C), c])
    return np.array([angle])


@dataclass(frozen=True, eq=False)
class _Point:
    """A marker in motion: pose, velocity [w; v] = J U, acceleration J U' + [0; w x (w x d)], world axes."""

    R: Array
    p: Array
    V: Array
    J: Array
    convective: Array


@dataclass(frozen=True, eq=False)
class Relation:
    """One connection in axes of its first marker.

    Attributes
    ----------
    q, v : (nq,), (nv,)
        Coordinates and speeds of the joint; a contact has none.
    gap : float
        Largest entry by which the markers' relative pose and ``joint.pose(q)`` differ.
    H, N : (6, nv), (6, 6 - nv)
        What the joint allows, and the orthonormal rest.
    J : (6, 6 nb)
        V_rel = J U; also the load on the second marker about its origin acts on the bodies by J^T.
    G, g : (6 - nv, 6 nb), (6 - nv,)
        Its rows of (4).
    R : (3, 3)
        Axes of the first marker in the world.
    """

    q: Array
    v: Array
    gap: float
    H: Array
    N: Array
    J: Array
    G: Array
    g: Array
    R: Array


class Maximal:
    """A system in maximal coordinates at one state.

    Parameters
    ----------
    system : System
    R, p : (nb, 3, 3), (nb, 3) m
        Poses of the body frames in the world.
    V : (nb, 6) rad/s and m/s
        [omega; velocity of the body's origin], world axes; zero if left out.

    Bodies are in the order of ``system.bodies`` throughout, and quantities that go in or come out refer
    to the bodies' origins, as those of the compiled model do; mass centres are used inside only.
    """

    def __init__(self, system: System, R: Array, p: Array, V: Array | None = None) -> None:
        self.system = system
        self.names = tuple(system.bodies)
        self.nb = len(self.names)
        self.R, self.p = np.asarray(R), np.asarray(p)
        bodies = list(system.bodies.values())
        self.centre = np.stack([self.R[k] @ body.com for k, body in enumerate(bodies)])  # from the origin
        self.U = self._shift(np.zeros((self.nb, 6)) if V is None else np.asarray(V), self.centre)
        self.mass = np.array([body.mass for body in bodies])
        self.inertia = np.stack([self.R[k] @ body.inertia @ self.R[k].T for k, body in enumerate(bodies)])
        self.relations = {c.name: self._relation(c) for c in system.connections.values()}
        rows = self.relations.values()
        self.G = np.vstack([np.zeros((0, 6 * self.nb)), *(x.G for x in rows)])
        self.g = np.concatenate([np.zeros(0), *(x.g for x in rows)])

    # ---- kinematics

    @property
    def rank(self) -> int:
        """Number of independent rows."""
        return _rank(np.linalg.svd(self.G, compute_uv=False))

    @property
    def mobility(self) -> int:
        """Number of independent velocities that all connections allow."""
        return 6 * self.nb - self.rank

    @property
    def gap(self) -> float:
        """Largest distance from closure over all connections, 1 or m."""
        return max((x.gap for x in self.relations.values()), default=0.0)

    def allowed(self, V: Array) -> Array:
        """Return the velocities (nb, 6) nearest to V that no connection forbids, at the bodies' origins."""
        U = self._shift(V, self.centre).ravel()
        _, s, W = np.linalg.svd(self.G)
        W = W[_rank(s) :]
        return self._shift((W.T @ (W @ U)).reshape(self.nb, 6), -self.centre)

    # ---- dynamics

    def accelerations(self, loads: Array | None = None, efforts: Mapping[str, Array] | None = None) -> Array:
        """Return [angular acceleration; acceleration of the origin] (nb, 6), world axes.

        Parameters
        ----------
        loads : (nb, 6) N m and N
            [moment; force] on each body at its origin, world axes.
        efforts : mapping of connection names to (nv,) N m or N
            Joint forces along the joint's speeds.
        """
        A = self._solve(loads, efforts)[0].copy()
        w = self.U[:, :3]
        A[:, 3:] -= np.cross(A[:, :3], self.centre) + np.cross(w, np.cross(w, self.centre))
        return A

    def joint_loads(self, loads: Array | None = None, efforts: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Return [moment; force] (6,) of each joint on its second marker, at its origin, world axes.

        It holds the effort too: H^T of it is the effort. Unique if no row repeats another.
        """
        mu = self._solve(loads, efforts)[1]
        result, start = {}, 0
        for name, x in self.relations.items():
            n = x.N.shape[1]
            F = x.N @ mu[start : start + n] + _effort(x, (efforts or {}).get(name))
            result[name] = np.concatenate([x.R @ F[:3], x.R @ F[3:]])
            start += n
        return result

    def _solve(self, loads: Array | None, efforts: Mapping[str, Array] | None) -> tuple[Array, Array]:
        """Return accelerations at the mass centres (nb, 6) and multipliers; (4)."""
        nb, w = self.nb, self.U[:, :3]
        f = np.zeros((nb, 6)) if loads is None else np.array(loads, dtype=float)
        f[:, :3] -= np.cross(self.centre, f[:, 3:])
        f[:, :3] -= np.cross(w, np.einsum("kij,kj->ki", self.inertia, w))
        f[:, 3:] += self.mass[:, None] * self.system.gravity
        force = f.ravel()
        for name, effort in (efforts or {}).items():
            force = force + self.relations[name].J.T @ _effort(self.relations[name], effort)

        # x = L^T U' with M = L L^T: the x nearest to the free motion that meets the rows
        L = np.zeros((6 * nb, 6 * nb))
        for k in range(nb):
            L[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = np.linalg.cholesky(self.inertia[k])
            L[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = np.sqrt(self.mass[k]) * np.eye(3)
        B = np.linalg.solve(L, self.G.T)  # (6 nb, rows)
        free = np.linalg.solve(L, force)
        push = np.linalg.lstsq(B.T, -(B.T @ free + self.g), rcond=RANK)[0]
        mu = np.linalg.lstsq(B, push, rcond=RANK)[0]
        return np.linalg.solve(L.T, free + push).reshape(nb, 6), mu

    # ---- connections

    def _relation(self, connection: Connection) -> Relation:
        joint = connection.element
        one, two = self._point(connection.first), self._point(connection.second)
        to_one = np.kron(np.eye(2), one.R.T)
        r, w1 = two.p - one.p, one.V[:3]
        J = two.J - one.J
        J[3:] += _cross(r) @ one.J[:3]
        V_rel = two.V - one.V
        V_rel[3:] -= np.cross(w1, r)
        C, c = one.R.T @ two.R, one.R.T @ r
        # what remains of (2) without accelerations
        rest = np.concatenate(
            [
                -np.cross(w1, V_rel[:3]),
                two.convective - one.convective - np.cross(w1, np.cross(w1, r)) - 2 * np.cross(w1, V_rel[3:]),
            ]
        )
        J, rest = to_one @ J, to_one @ rest
        if isinstance(joint, (PointOnCurve, CamFollower)):
            N = contacts.gradient(joint, C, c).T
            H = np.linalg.qr(N, mode="complete")[0][:, N.shape[1] :]
            gap = float(np.abs(contacts.residual(joint, C, c)).max())
            g = N.T @ rest + contacts.bias(joint, C, c, to_one @ V_rel)
            return Relation(np.zeros(0), np.zeros(0), gap, H, N, J, N.T @ J, g, one.R)
        q = joint_coordinates(joint, C, c)
        H = joint.motion(q)
        v = np.linalg.lstsq(H, to_one @ V_rel, rcond=None)[0]
        N = np.linalg.qr(H, mode="complete")[0][:, joint.nv :] if joint.nv else np.eye(6)
        C_joint, c_joint = joint.pose(q)
        gap = float(max(np.abs(C - C_joint).max(), np.abs(c - c_joint).max()))
        return Relation(q, v, gap, H, N, J, N.T @ J, N.T @ (rest - joint.bias(q, v)), one.R)

    def _point(self, marker: Marker) -> _Point:
        J = np.zeros((6, 6 * self.nb))
        if marker.body.name == "ground":
            return _Point(marker.rotation, marker.position, np.zeros(6), J, np.zeros(3))
        k = self.names.index(marker.body.name)
        d = self.R[k] @ marker.position - self.centre[k]  # from the mass centre
        J[:, 6 * k : 6 * k + 6] = np.eye(6)
        J[3:, 6 * k : 6 * k + 3] = -_cross(d)
        w = self.U[k, :3]
        p = self.p[k] + self.R[k] @ marker.position
        return _Point(self.R[k] @ marker.rotation, p, J @ self.U.ravel(), J, np.cross(w, np.cross(w, d)))

    @staticmethod
    def _shift(V: Array, arm: Array) -> Array:
        """Return the velocities (nb, 6) of the points at `arm` (nb, 3) from those that V refers to."""
        return np.hstack([V[:, :3], V[:, 3:] + np.cross(V[:, :3], arm)])


def _effort(x: Relation, effort: Array | None) -> Array:
    """Return a load F (6,) with H^T F = effort, axes of the first marker."""
    return np.zeros(6) if effort is None else np.linalg.lstsq(x.H.T, np.asarray(effort), rcond=None)[0]


def _rank(singular_values: Array) -> int:
    return int((singular_values > RANK * max(1.0, singular_values.max(initial=0.0))).sum())


def _cross(x: Array) -> Array:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])
