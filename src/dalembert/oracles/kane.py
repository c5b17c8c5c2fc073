"""Kane's equations with dense partial velocities, readable reference.

Passerello & Huston 1972 (NASA N72-30352), chapters II to IV, for any joint of the library. The
angular velocity of body i and the velocity of its mass centre are linear in the velocities v,

    omega_i = omega[i, j] v_j        v_i = V[i, j] v_j                                   (2.3), (2.27)

(sum over j). The arrays omega[i, j, k], V[i, j, k] and their time rates determine the
equations of motion:

    A_rj v'_j = f_r + F_r                                                                (3.27)
    A_rj = sum_i  m_i V[i, j] . V[i, r] + omega[i, j] . I_i omega[i, r]                  (3.28)
    f_r  = - sum_i  m_i V[i, r] . a_i + omega[i, r] . (I_i alpha_i + omega_i x I_i omega_i)   (3.29)

with a_i = V_dot[i, j] v_j and alpha_i = omega_dot[i, j] v_j. Forces that do no work never appear.
The source has ball joints and dextral angles; here every joint contributes the columns of its own
motion, and its velocities need not be rates of coordinates. A flexible body adds its modal velocities, and more rows:

    V_m = J v, J = [modal rows; omega; V],    A += J^T M J,    f -= J^T (M J' v + b + K eta + D eta')

with its mass matrix M and gyroscopic loads b (Jain & Rodriguez 1990, section 3; `oracles.flexible_operators`).

Everything is in world axes. This module shares no dynamics with `operators` and does not use the
compiled core: the three are checked against one another. Cost O(nb nv^2), and O(nv^3) to solve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..checks import finite_array
from ..compile.body_layout import modes_of
from ..errors import SingularityError
from .block_operators import consecutive
from .flexible_operators import body_inertia, turned
from .moving_frames import MovingFrame, Relative, motion_rate, node_relative

if TYPE_CHECKING:
    from ..bodies.markers import Marker
    from ..system import System
    from ..system.topology import Forest, TreeJoint

__all__ = ["Kane", "motion_rate"]


# smallest eigenvalue of the mass matrix, scaled to unit diagonal, above round-off
SINGULAR_TOL = 1e-13


class Kane:
    """Kane's arrays and equations of a system's spanning trees at one state.

    Parameters
    ----------
    system : System
        Loop constraints are ignored: the equations are those of the tree.
    q : (nq,) rad or m
        Coordinates, joint by joint in the order of ``system.forest().joints``; the modal coordinates of a flexible body
        after its joint's.
    v : (nv,) rad/s or m/s
        Velocities; default at rest.
    forest : Forest
        Forest of the system; default computed.

    Attributes
    ----------
    omega, omega_dot : (nb, nv, 3)
        Partial angular velocities of the bodies, and their time rates: (2.4), (2.6).
    V, V_dot : (nb, nv, 3)
        Partial velocities of the mass centres (of flexible bodies: of the origins), and their time rates: (2.18),
        (2.22).
    R : (nb, 3, 3), origins, centers : (nb, 3) m
        Rotations, origins and mass centres of the bodies, in tree order.
    m : (nb,) kg, I : (nb, 3, 3) kg m2
        Masses, and inertias about the mass centres in world axes (3.24).

    Examples
    --------
    >>> from dalembert import Revolute, System, rod
    >>> s = System("pendulum")
    >>> joint = s.connect("A", Revolute("y"), s.ground, s.body("bob", rod(length=1.0, mass=3.0)))
    >>> pendulum = Kane(s, [0.0], [2.0])
    >>> pendulum.V[0, 0]
    array([ 0. ,  0. , -0.5])
    >>> pendulum.forward_dynamics()
    array([14.715])
    """

    def __init__(
        self, system: System, q: ArrayLike, v: ArrayLike | None = None, *, forest: Forest | None = None
    ) -> None:
        self.system = system
        self.forest = system.forest() if forest is None else forest
        system = self.forest.system
        joints, bodies = self.forest.joints, [system.bodies[name] for name in self.forest.bodies[1:]]
        self.nb, self.modes = self.forest.nb, [modes_of(body) for body in bodies]
        sizes = [(h.element.nq + nm, h.element.nv + nm) for h, nm in zip(joints, self.modes, strict=True)]
        self.q_spans, self.v_spans = (consecutive([size[k] for size in sizes]) for k in (0, 1))
        self.nq, self.nv = (sum(size[k] for size in sizes) for k in (0, 1))
        self.q = finite_array(q, (self.nq,), item=f"system {system.name!r}", field="q")
        self.v = np.zeros(self.nv) if v is None else self._speeds(v, "v")
        self.bodies = bodies

        self.frames = [MovingFrame.at_rest(self.nv)]  # ground, then the bodies' own
        for k, joint in enumerate(joints):
            self.frames.append(self._outboard_frame(k, joint, self.frames[self.forest.parent[k]]))
        own = self.frames[1:]
        # of flexible bodies the origin
        centers = [f if b.flexible else f.fixed(b.com, np.eye(3), self.v) for f, b in zip(own, bodies, strict=True)]
        self.origins = np.array([f.p for f in own])
        self.centers = np.array([f.p for f in centers])
        self.R = np.array([f.R for f in centers])
        self.omega, self.omega_dot = np.array([f.omega for f in centers]), np.array([f.omega_dot for f in centers])
        self.V, self.V_dot = np.array([f.V for f in centers]), np.array([f.V_dot for f in centers])
        self.m = np.array([b.mass for b in bodies])
        self.I = np.array([f.R @ b.inertia @ f.R.T for f, b in zip(centers, bodies, strict=True)])
        rigid = np.array([not b.flexible for b in bodies], dtype=float)
        # terms of the sums (3.28), (3.29); flexible bodies add theirs
        self._m, self._I = self.m * rigid, self.I * rigid[:, None, None]

    # ---- frames

    def modal(self, body: int) -> tuple[Array, Array, slice]:
        """Return modal coordinates, velocities and the slice of the velocities of a body by number; ground is 0."""
        if body == 0 or not self.modes[body - 1]:
            return np.zeros(0), np.zeros(0), slice(0, 0)
        q, v, nm = self.q_spans[body - 1], self.v_spans[body - 1], self.modes[body - 1]
        span = slice(v.stop - nm, v.stop)
        return self.q[q.stop - nm : q.stop], self.v[span], span

    def marker(self, marker: Marker) -> MovingFrame:
        """Return the moving frame of a marker."""
        number = self.forest.number[marker.body.name]
        node = self.frames[number].beyond(node_relative(marker, *self.modal(number)), self.v)
        return node.fixed(np.zeros(3), marker.rotation, self.v)

    def _outboard_frame(self, k: int, joint: TreeJoint, parent: MovingFrame) -> MovingFrame:
        """Return the frame of the outboard body of a joint: parent, its node, joint, own node, own frame."""
        element = joint.element
        q_span, v_span = self.q_spans[k], self.v_spans[k]
        q, span = self.q[q_span][: element.nq], slice(v_span.start, v_span.start + element.nv)
        C, c = element.pose(q)
        motion = Relative(C, c, element.motion(q), motion_rate(element, q, self.v[span]), span)
        node = node_relative(joint.inboard, *self.modal(int(self.forest.parent[k])))
        known = parent.beyond(node, self.v).fixed(np.zeros(3), joint.inboard.rotation, self.v)
        found = known.before(motion, self.v) if joint.reversed else known.beyond(motion, self.v)
        own = found.fixed(np.zeros(3), joint.outboard.rotation.T, self.v)
        return own.before(node_relative(joint.outboard, *self.modal(k + 1)), self.v)

    def flexible(self) -> list[tuple[Array, Array, Array, Array]]:
        """Return J, J' (nm + 6, nv), M (nm + 6, nm + 6) and loads without accelerations (nm + 6,), of flexible bodies.

        About the origins of their frames, world axes.
        """
        found = []
        for k, body in enumerate(self.bodies, start=1):
            if not body.flexible:
                continue
            eta, rate, span = self.modal(k)
            frame, rows = self.frames[k], np.eye(self.nv)[span]
            M, b, elastic = body_inertia(body, eta, rate, frame.R.T @ (self.v @ frame.omega))
            X = np.eye(len(eta) + 6)
            X[len(eta) :, len(eta) :] = turned(frame.R)
            J, J_dot = np.vstack([rows, frame.J]), np.vstack([np.zeros_like(rows), frame.J_dot])
            found.append((J, J_dot, X @ M @ X.T, X @ (b + elastic)))
        return found

    # ---- arrays of the equations of motion

    def mass_matrix(self) -> Array:
        """Return A (nv, nv), (3.28)."""
        translation = np.einsum("i,ijk,irk->rj", self._m, self.V, self.V)
        rotation = np.einsum("ikn,ijn,irk->rj", self._I, self.omega, self.omega)
        A: Array = translation + rotation + self.armature()
        return A + sum((J.T @ M @ J for J, _, M, _ in self.flexible()), np.zeros_like(A))

    @property
    def inertias(self) -> tuple[Array, Array]:
        """Masses (nb,) and inertias (nb, 3, 3) about mass centres, world axes; zero where bodies are flexible."""
        return self._m, self._I

    def armature(self) -> Array:
        """Return the inertias of drive trains (nv, nv), at the velocities of their joints."""
        diagonal = np.zeros(self.nv)
        for joint, span in zip(self.forest.joints, self.v_spans, strict=True):
            if joint.element.armature is not None:
                diagonal[span.start : span.start + joint.element.nv] = joint.element.armature
        return np.diag(diagonal)

    def inertia_forces(self) -> Array:
        """Return f (nv,), the generalized inertia forces at v' = 0.

        erratum: (3.29) is printed without its leading minus sign and with omega_iml for omega_ijl.
        """
        a = np.einsum("ijk,j->ik", self.V_dot, self.v)
        alpha = np.einsum("ijk,j->ik", self.omega_dot, self.v)
        w = np.einsum("ijk,j->ik", self.omega, self.v)
        Iw, I_alpha = np.einsum("ikn,in->ik", self._I, w), np.einsum("ikn,in->ik", self._I, alpha)
        forces = np.einsum("irk,i,ik->r", self.V, self._m, a)
        moments = np.einsum("irk,ik->r", self.omega, I_alpha + np.cross(w, Iw))
        f: Array = -(forces + moments)
        return f - sum((J.T @ (M @ (J_dot @ self.v) + b) for J, J_dot, M, b in self.flexible()), np.zeros_like(f))

    def active_forces(self, loads: ArrayLike | None = None) -> Array:
        """Return the generalized forces (nv,) of gravity and of `loads` (nb, 6), (3.7).

        erratum: (3.7) prints V_irk with F_jk; both belong to the same body.
        """
        force, moment = self._m[:, None] * self.system.gravity, np.zeros((self.nb, 3))
        weights = np.zeros(self.nv)
        for J, _, M, _ in self.flexible():
            weights += J.T @ M[:, -3:] @ self.system.gravity
        if loads is not None:
            at_center = self._reduce(loads)
            force, moment = force + at_center[:, 3:], moment + at_center[:, :3]
        return self._generalized(force, moment) + weights

    def generalized_impulse(self, impulses: ArrayLike) -> Array:
        """Return the generalized impulse (nv,) of impulses [moment; force] (nb, 6) at body origins, (4.4).

        erratum: (4.1), (4.4) print mixed limits of integration and the external impulse twice.
        """
        at_center = self._reduce(impulses)
        return self._generalized(at_center[:, 3:], at_center[:, :3])

    def _reduce(self, loads: ArrayLike) -> Array:
        """Return loads (nb, 6) at body origins as moments and forces at the mass centres."""
        given = finite_array(loads, (self.nb, 6), item=f"system {self.system.name!r}", field="loads")
        moment = given[:, :3] + np.cross(self.origins - self.centers, given[:, 3:])
        return np.hstack([moment, given[:, 3:]])

    def _generalized(self, force: Array, moment: Array) -> Array:
        return np.einsum("irk,ik->r", self.V, force) + np.einsum("irk,ik->r", self.omega, moment)

    # ---- inverse, forward and mixed dynamics

    def bias(self, loads: ArrayLike | None = None) -> Array:
        """Return the generalized forces that give v' = 0, (nv,)."""
        return -(self.inertia_forces() + self.active_forces(loads))

    def inverse_dynamics(self, v_dot: ArrayLike, loads: ArrayLike | None = None) -> Array:
        """Return the generalized forces (nv,) that give the motion v' (nv,)."""
        return self.mass_matrix() @ self._speeds(v_dot, "v_dot") + self.bias(loads)

    def forward_dynamics(self, tau: ArrayLike | None = None, loads: ArrayLike | None = None) -> Array:
        """Return v' (nv,) under generalized forces `tau` (nv,) and `loads` (nb, 6) at body origins.

        Raises
        ------
        SingularityError
            If the mass matrix is singular.
        """
        applied = np.zeros(self.nv) if tau is None else self._speeds(tau, "tau")
        return self._solve(self.mass_matrix(), applied - self.bias(loads), np.arange(self.nv))

    def mixed_dynamics(
        self, tau: ArrayLike, v_dot: ArrayLike, given: ArrayLike, loads: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Solve the mixed problem: where `given` is true v' is known, elsewhere tau; (3.30), (3.31).

        Returns
        -------
        v_dot, tau : (nv,)
            Complete.
        """
        mask = np.asarray(given, dtype=bool)
        P, U = np.flatnonzero(mask), np.flatnonzero(~mask)
        A, rest = self.mass_matrix(), -self.bias(loads)
        found, effort = self._speeds(v_dot, "v_dot"), self._speeds(tau, "tau")
        found[U] = self._solve(A[np.ix_(U, U)], rest[U] + effort[U] - A[np.ix_(U, P)] @ found[P], U)
        # erratum: (3.31) is printed with the opposite sign, which gives minus the driving force
        effort[P] = A[P] @ found - rest[P]
        return found, effort

    def impulse_response(self, impulse: ArrayLike, *, least: bool = False) -> Array:
        """Return the velocity jump (nv,) under a generalized impulse (nv,), (4.9).

        With `least`, the minimum-norm jump if the mass matrix is singular: two angles about the same axis share the
        rotation about it; motions of bodies are unique nevertheless (see `undetermined`).
        """
        A, given = self.mass_matrix(), self._speeds(impulse, "impulse")
        if least:
            return np.linalg.lstsq(A, given, rcond=SINGULAR_TOL)[0].astype(np.float64)
        return self._solve(A, given, np.arange(self.nv))

    def undetermined(self) -> Array:
        """Return orthonormal velocity jumps (k, nv) that move no body: the null space of A."""
        values, vectors = np.linalg.eigh(self.mass_matrix())
        return np.asarray(vectors.T[values < SINGULAR_TOL * values[-1]], dtype=np.float64)

    def momenta(self) -> Array:
        """Return the generalized momenta A v, (nv,), (4.8)."""
        return self.mass_matrix() @ self.v

    # ---- motion of the bodies

    def velocities(self) -> Array:
        """Return [omega; v] of the body origins, (nb, 6)."""
        w = np.einsum("ijk,j->ik", self.omega, self.v)
        v = np.einsum("ijk,j->ik", self.V, self.v) + np.cross(w, self.origins - self.centers)
        return np.hstack([w, v])

    def accelerations(self, v_dot: ArrayLike) -> Array:
        """Return classical [omega'; v'] of the body origins, (nb, 6): (2.25), (2.28)."""
        u = self._speeds(v_dot, "v_dot")
        r = self.origins - self.centers
        w = np.einsum("ijk,j->ik", self.omega, self.v)
        alpha = np.einsum("ijk,j->ik", self.omega, u) + np.einsum("ijk,j->ik", self.omega_dot, self.v)
        a = np.einsum("ijk,j->ik", self.V, u) + np.einsum("ijk,j->ik", self.V_dot, self.v)
        return np.hstack([alpha, a + np.cross(alpha, r) + np.cross(w, np.cross(w, r))])

    # ---- input and linear algebra

    def _speeds(self, value: ArrayLike, field: str) -> Array:
        return finite_array(value, (self.nv,), item=f"system {self.system.name!r}", field=field)

    def _solve(self, A: Array, rhs: Array, speeds: NDArray[np.int_]) -> Array:
        """Solve A x = rhs; raise with the names of velocities without inertia if singular."""
        if not len(rhs):
            return rhs
        scale = np.sqrt(np.diagonal(A))
        if (scale > 0).all():
            values, vectors = np.linalg.eigh(A / np.outer(scale, scale))
            if values[0] > SINGULAR_TOL:
                return np.linalg.solve(A, rhs).astype(np.float64)
            involved = np.abs(vectors[:, 0]) > 0.1
        else:
            involved = scale == 0
        names = [
            name
            for joint, body, nm in zip(self.forest.joints, self.bodies, self.modes, strict=True)
            for name in (
                *(f"{joint.name}.{speed}" for speed in joint.element.speeds),
                *(f"{body.name}.eta[{k}]" for k in range(nm)),
            )
        ]
        raise SingularityError(
            f"the mass matrix of system {self.system.name!r} is singular: "
            f"{', '.join(names[r] for r in speeds[involved])} can change without moving any inertia"
        )
