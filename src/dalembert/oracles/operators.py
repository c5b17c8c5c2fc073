"""Spatial operators for trees of rigid bodies, readable reference.

Jain & Rodriguez 1990 (JPL 90-26), sections 3 to 7, for rigid bodies (no modes). Velocities and
forces of all bodies are stacked into columns of length 6 nb, angular part first, and a few
operators describe the whole tree:

    V     = Phi* H* v                                 velocities                         (3.22)
    alpha = Phi* (H* v' + a)                          accelerations                      (3.28)
    f     = Phi (M alpha + b)                         forces through the joints          (3.42)
    tau   = H f = mass v' + bias                      generalized forces                 (3.43)
    mass  = H Phi M Phi* H*                           Newton-Euler factorisation         (3.45)
          = (1 + H Phi K) D (1 + H Phi K)*            Innovations factorisation          (6.3)
    mass^-1 = (1 - H Psi K)* D^-1 (1 - H Psi K)                                          (6.6)

with Phi = (1 - E_Phi)^-1, where E_Phi carries a force from each body to its parent, and
Psi = (1 - E_Psi)^-1 the same for the tree with free joints. Every operator is a
`scipy.sparse.linalg.LinearOperator` that is applied by one sweep over the tree; Phi and Psi are
never formed. `dense` converts any of them, or any product, to a matrix.

All components are in world axes. Body velocities, accelerations and forces refer to the *origin* of
the body frame. Accelerations are classical time derivatives of velocities, as in the source.

Numbering. The source counts a chain from the tip (1) to the base (N), so its Phi is lower
triangular. Here a parent has a smaller number than its children, so Phi is upper triangular: the
source's k + 1 is our parent(k), its inward sweep k = 1..N is our k = nb..1, and where a body has
several children the inward sweeps sum over them (section 9 of the source). Nothing else changes.

Loops: loop constraints are not part of these operators, which describe the spanning tree only.

This module is an oracle: it does not use the compiled core, and the compiled core is tested
against it.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator

from ..arrays import Array, BoolArray
from ..checks import finite_array
from ..compile.body_layout import refuse_flexible
from ..errors import SingularityError
from ..rotation import skew
from ..system.topology import TreeJoint
from .block_operators import block_diagonal, consecutive, identity, resolvent, transport

if TYPE_CHECKING:
    from ..system import System

__all__ = ["JointMotion", "Operators", "dense", "joint_motion"]


# articulated inertia relative to the composite one below which it is round-off
SINGULAR_TOL = 1e-13


def phi(x_to_y: Array) -> Array:
    """Return phi(x, y) = [[1, l~], [0, 1]], (6, 6), for the vector l from point x to point y.

    phi(x, y) carries a force from y to x; its transpose carries a velocity from x to y.
    """
    transport = np.eye(6)
    transport[:3, 3:] = skew(x_to_y)
    return transport


def dense(operator: LinearOperator) -> Array:
    """Return the matrix of a linear operator by applying it to every unit vector."""
    return np.asarray(operator @ np.eye(operator.shape[1]), dtype=np.float64)


# ---- joint motion, outward


class JointMotion(NamedTuple):
    """Motion of the outboard marker relative to the inboard one, in axes of the inboard marker.

    Attributes
    ----------
    rotation : (3, 3)
    displacement : (3,) m
    H : (6, nv)
        Columns [omega; v] per unit of each velocity.
    bias : (6,)
        Rate of [omega; v], seen from the inboard marker, at v' = 0.
    """

    rotation: Array
    displacement: Array
    H: Array
    bias: Array


def joint_motion(joint: TreeJoint, q: Array, v: Array) -> JointMotion:
    """Return the motion across a joint of the forest in the direction of the outward walk.

    The element defines the motion of the user's second marker seen from the first: rotation C,
    displacement c, angular velocity w and velocity u, all in axes of the first. If the forest walks
    the joint from the second marker to the first (`joint.reversed`), the inverse motion is needed.
    With C' = w~ C, differentiating the pose (C*, -C* c) of the first in the second once and twice
    gives, in axes of the second,

        angular velocity    -C* w
        velocity            -C* (u - w x c)
        their rates         -C* w'   and   -C* (u' - w' x c - 2 w x u + w x (w x c)).
    """
    element = joint.element
    C, c = element.pose(q)
    H, bias = element.motion(q), element.bias(q, v)
    if not joint.reversed:
        return JointMotion(C, c, H, bias)
    (w, u), (w_rate, u_rate) = np.split(H @ v, 2), np.split(bias, 2)
    H_back = -np.vstack([C.T @ H[:3], C.T @ (H[3:] + skew(c) @ H[:3])])
    u_back = u_rate - np.cross(w_rate, c) - 2 * np.cross(w, u) + np.cross(w, np.cross(w, c))
    return JointMotion(C.T, -C.T @ c, H_back, -np.concatenate([C.T @ w_rate, C.T @ u_back]))


# ---- the tree


class _Articulated(NamedTuple):
    """Blocks of the articulated-body operators for one body (6.1)."""

    P: Array
    D: Array
    D_inverse: Array
    G: Array
    tau_bar: Array
    P_plus: Array


def _articulated(field: str, meaning: str) -> cached_property[LinearOperator]:
    """Return the operator whose blocks are a field of `_Articulated`, as a property of `Operators`."""

    def operator(self: Operators) -> LinearOperator:
        return block_diagonal([getattr(body, field) for body in self._innovations])

    operator.__doc__ = meaning
    return cached_property(operator)


class Operators:
    """Spatial operators of a system's spanning trees at one state.

    Parameters
    ----------
    system : System
    q : (nq,) rad or m
        Coordinates, joint by joint in the order of ``system.forest().joints``.
    v : (nv,) rad/s or m/s
        Velocities; default at rest.

    Attributes
    ----------
    forest : Forest
    nb, nq, nv : int
    R : (nb, 3, 3), p : (nb, 3) m
        Rotations and origins of the body frames, in tree order.
    V : (6 nb,) rad/s and m/s
        Velocities Phi* H* v of the body origins.
    a : (6 nb,) rad/s2 and m/s2
        Coriolis and centrifugal accelerations (3.27), nonzero only where the tree moves.
    a_gravity : (6 nb,) m/s2
        Upward acceleration of ground in place of gravity: [0; -g] at bodies whose parent is ground.
    b : (6 nb,) N m and N
        Gyroscopic forces (3.33).
    H, E_Phi, Phi, M : LinearOperator
        (nv, 6 nb), and three times (6 nb, 6 nb): joints, transport to the parent, to all
        ancestors, and the block-diagonal inertia.
    P, D, D_inverse, G, K, tau_bar, P_plus, E_Psi, Psi : LinearOperator
        Articulated-body quantities (6.1), (6.2), computed at first use.
    mass, factor, inverse_factor, mass_inverse : LinearOperator
        The mass matrix, its factor 1 + H Phi K, and the inverses of both.

    Raises
    ------
    ModelError
        If `q` or `v` has the wrong length or is not finite.

    Examples
    --------
    >>> from dalembert import Revolute, System, rod
    >>> s = System("pendulum")
    >>> joint = s.connect("A", Revolute("y"), s.ground, s.body("bob", rod(length=1.0, mass=3.0)))
    >>> pendulum = Operators(s, [0.0], [0.0])
    >>> pendulum.mass_matrix()
    array([[1.]])
    >>> dense(pendulum.H @ pendulum.Phi @ pendulum.M @ pendulum.Phi.T @ pendulum.H.T)
    array([[1.]])
    >>> pendulum.forward_dynamics([0.0])
    array([14.715])
    """

    def __init__(self, system: System, q: ArrayLike, v: ArrayLike | None = None) -> None:
        self.system = system
        self.forest = forest = system.forest()
        refuse_flexible(system, "Operators")
        self.q_slices = consecutive([joint.element.nq for joint in forest.joints])
        self.v_slices = consecutive([joint.element.nv for joint in forest.joints])
        self.nb, self.nq, self.nv = forest.nb, self.q_slices[-1].stop, self.v_slices[-1].stop
        item = f"system {system.name!r}"
        self.q = finite_array(q, (self.nq,), item=item, field="q")
        self.v = np.zeros(self.nv) if v is None else finite_array(v, (self.nv,), item=item, field="v")
        self._walk_outward()
        self._weigh_bodies()

    def _walk_outward(self) -> None:
        """Compute poses, velocities and the blocks of H, E_Phi and a: (3.7) to (3.15), (3.27)."""
        forest, nb = self.forest, self.nb
        R, p, V = np.zeros((nb + 1, 3, 3)), np.zeros((nb + 1, 3)), np.zeros((nb + 1, 6))
        R[0] = np.eye(3)
        a = np.zeros((nb, 6))
        self._H: list[Array] = []  # H(k), (nv_k, 6), at the body's origin
        self._phi: list[Array] = []  # phi(parent, k)
        for k, (joint, parent) in enumerate(zip(forest.joints, forest.parent, strict=True), start=1):
            v = self.v[self.v_slices[k - 1]]
            motion = joint_motion(joint, self.q[self.q_slices[k - 1]], v)

            # pose: parent's origin -> inboard marker -> outboard marker (point O) -> body's origin
            R_WI = R[parent] @ joint.inboard.rotation
            p_WO = p[parent] + R[parent] @ joint.inboard.position + R_WI @ motion.displacement
            R[k] = R_WI @ motion.rotation @ joint.outboard.rotation.T
            p[k] = p_WO - R[k] @ joint.outboard.position
            parent_to_O, O_to_body = p_WO - p[parent], p[k] - p_WO

            # velocity (3.12): carried along by the parent, plus the joint's own motion seen at the origin
            to_world = np.kron(np.eye(2), R_WI)
            H_star = phi(O_to_body).T @ to_world @ motion.H
            transport = phi(p[k] - p[parent])
            V[k] = transport.T @ V[parent] + H_star @ v

            # Coriolis terms. erratum: the printed (B.11) has swapped indices and a factor 2 too many; this is
            # the time derivative of (3.12), with the rate of H as seen from the inboard marker in `bias`
            w_parent, w = V[parent, :3], V[k, :3]
            slip_w, slip_v = np.split(to_world @ motion.H @ v, 2)
            at_O = to_world @ motion.bias + np.concatenate(
                [
                    np.cross(w_parent, slip_w),
                    np.cross(w_parent, np.cross(w_parent, parent_to_O)) + 2 * np.cross(w_parent, slip_v),
                ]
            )
            a[k - 1] = phi(O_to_body).T @ at_O
            a[k - 1, 3:] += np.cross(w, np.cross(w, O_to_body))

            self._H.append(H_star.T)
            self._phi.append(transport)
        self.R, self.p, self.V, self.a = R[1:], p[1:], V[1:].ravel(), a.ravel()

    def _weigh_bodies(self) -> None:
        """Compute the blocks of M (3.1), the gyroscopic forces b (3.33) and the gravity term."""
        self._M: list[Array] = []
        b, a_gravity = np.zeros((self.nb, 6)), np.zeros((self.nb, 6))
        for k, name in enumerate(self.forest.bodies[1:]):
            body = self.system.bodies[name]
            m, c = body.mass, self.R[k] @ body.com
            J = self.R[k] @ body.inertia @ self.R[k].T - m * skew(c) @ skew(c)  # about the origin
            w = self.V[6 * k : 6 * k + 3]
            self._M.append(np.block([[J, m * skew(c)], [-m * skew(c), m * np.eye(3)]]))
            b[k] = np.concatenate([np.cross(w, J @ w), m * np.cross(w, np.cross(w, c))])
            if self.forest.parent[k] == 0:
                a_gravity[k, 3:] = -self.system.gravity
        self.b, self.a_gravity = b.ravel(), a_gravity.ravel()

    # ---- operators

    @cached_property
    def H(self) -> LinearOperator:
        """Joint operator (nv, 6 nb): H* v are the velocities across the joints, at body origins."""
        return block_diagonal(self._H)

    @cached_property
    def E_Phi(self) -> LinearOperator:
        """Transport of a force from each body to its parent, (6 nb, 6 nb), (3.20)."""
        return transport(self.forest.parent, self._phi)

    @cached_property
    def Phi(self) -> LinearOperator:
        """Transport of forces to all ancestors, (1 - E_Phi)^-1, (6 nb, 6 nb), (3.21)."""
        return resolvent(self.forest.parent, self._phi)

    @cached_property
    def M(self) -> LinearOperator:
        """Inertia of the bodies about their origins, (6 nb, 6 nb), (3.1)."""
        return block_diagonal(self._M)

    @cached_property
    def R_composite(self) -> LinearOperator:
        """Inertia of each body with everything outboard of it frozen, (6 nb, 6 nb), (5.2)."""
        return block_diagonal(self._composite)

    P = _articulated("P", "Articulated inertia of each body with everything outboard of it, (6 nb, 6 nb), (6.1).")
    P_plus = _articulated("P_plus", "Articulated inertia transmitted through the joint, tau_bar P, (6 nb, 6 nb).")
    D = _articulated("D", "Articulated inertia along the joints' degrees of freedom, H P H*, (nv, nv).")
    D_inverse = _articulated("D_inverse", "Inverse of D, (nv, nv).")
    G = _articulated("G", "Gain P H* D^-1, (6 nb, nv).")
    tau_bar = _articulated(
        "tau_bar", "Projection 1 - G H of a force onto the part transmitted by the joint, (6 nb, 6 nb)."
    )

    @cached_property
    def K(self) -> LinearOperator:
        """Gain carried to the parent, E_Phi G, (6 nb, nv)."""
        return self.E_Phi @ self.G

    @cached_property
    def E_Psi(self) -> LinearOperator:
        """Transport to the parent through a free joint, E_Phi tau_bar, (6 nb, 6 nb)."""
        return transport(self.forest.parent, self._psi)

    @cached_property
    def Psi(self) -> LinearOperator:
        """Transport to all ancestors through free joints, (1 - E_Psi)^-1, (6 nb, 6 nb)."""
        return resolvent(self.forest.parent, self._psi)

    @cached_property
    def mass(self) -> LinearOperator:
        """Mass matrix in its Newton-Euler factorisation H Phi M Phi* H*, (nv, nv), (3.45)."""
        return self.H @ self.Phi @ self.M @ self.Phi.T @ self.H.T

    @cached_property
    def factor(self) -> LinearOperator:
        """Factor 1 + H Phi K of the mass matrix, (nv, nv), lemma 6.1."""
        return identity(self.nv) + self.H @ self.Phi @ self.K

    @cached_property
    def inverse_factor(self) -> LinearOperator:
        """Inverse 1 - H Psi K of the factor, (nv, nv), lemma 6.2."""
        return identity(self.nv) - self.H @ self.Psi @ self.K

    @cached_property
    def mass_inverse(self) -> LinearOperator:
        """Inverse of the mass matrix, (1 - H Psi K)* D^-1 (1 - H Psi K), (nv, nv), lemma 6.3."""
        return self.inverse_factor.T @ self.D_inverse @ self.inverse_factor

    # ---- kinematics, inertia and energy

    def poses(self) -> tuple[Array, Array]:
        """Return rotations (nb, 3, 3) and origins (nb, 3) m of the body frames."""
        return self.R, self.p

    def velocities(self) -> Array:
        """Return [omega; v] of the body origins, (nb, 6) rad/s and m/s."""
        return self.V.reshape(self.nb, 6)

    def accelerations(self, v_dot: ArrayLike) -> Array:
        """Return classical [omega'; v'] of the body origins, (nb, 6), without gravity, (3.28)."""
        alpha: Array = self.Phi.T @ (self.H.T @ self._speeds(v_dot, "v_dot") + self.a)
        return alpha.reshape(self.nb, 6)

    def mass_matrix(self) -> Array:
        """Return the mass matrix, (nv, nv)."""
        return dense(self.mass)

    def bias(self, loads: ArrayLike | None = None) -> Array:
        """Return the generalized forces at v' = 0: Coriolis, gyroscopic, gravity, minus `loads`; (nv,).

        erratum: the third line of (3.44) lacks the elastic force; rigid bodies have none.
        """
        forces = self.M @ self.Phi.T @ (self.a + self.a_gravity) + self.b - self._loads(loads)
        return self.H @ self.Phi @ forces

    def kinetic_energy(self) -> float:
        """Return V* M V / 2, J."""
        return float(self.V @ (self.M @ self.V)) / 2

    def potential_energy(self) -> float:
        """Return the energy of the weights, zero when the centre of mass is at the world's origin, J."""
        return -float(self.total_mass * self.center_of_mass() @ self.system.gravity)

    @property
    def total_mass(self) -> float:
        """Mass of all bodies, kg."""
        return sum(body.mass for body in self.system.bodies.values())

    def center_of_mass(self) -> Array:
        """Return the centre of mass of all bodies, (3,) m."""
        bodies = [self.system.bodies[name] for name in self.forest.bodies[1:]]
        moment = sum(b.mass * (p + R @ b.com) for b, R, p in zip(bodies, self.R, self.p, strict=True))
        return np.asarray(moment, dtype=np.float64) / self.total_mass

    def momentum(self) -> Array:
        """Return [angular about the centre of mass; linear] momentum of all bodies, (6,)."""
        center = self.center_of_mass()
        each = (self.M @ self.V).reshape(self.nb, 6)
        return sum((phi(p - center) @ h for p, h in zip(self.p, each, strict=True)), np.zeros(6))

    # ---- recursions

    def inverse_dynamics(self, v_dot: ArrayLike, loads: ArrayLike | None = None) -> Array:
        """Return the generalized forces that give the motion, (nv,) N m or N, by the sweeps (4.1).

        Parameters
        ----------
        v_dot : (nv,) rad/s2 or m/s2
        loads : (nb, 6) N m and N
            [moment; force] on each body in tree order, at its origin, in world axes.
        """
        f = self._joint_forces(self._speeds(v_dot, "v_dot"), self._loads(loads))
        return np.concatenate([H @ f[k] for k, H in enumerate(self._H)])

    def forward_dynamics(self, tau: ArrayLike | None = None, loads: ArrayLike | None = None) -> Array:
        """Return v' (nv,) under generalized forces `tau` (nv,) and `loads` (nb, 6), by (7.2) and (7.3).

        Raises
        ------
        SingularityError
            If a joint moves no inertia.
        """
        none = np.zeros(self.nv, dtype=bool)
        return self._articulated_sweeps(self._innovations, tau, np.zeros(self.nv), none, loads)

    def mixed_dynamics(
        self, tau: ArrayLike, v_dot: ArrayLike, given: ArrayLike, loads: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Solve the mixed problem: some accelerations are given, elsewhere the generalized forces.

        A given acceleration is known, as the Coriolis one is, so its degree of freedom drops out of the joint's
        elimination and joins `a` (Slaats 1991, (4.3), (4.4), extended to partly driven joints).

        Parameters
        ----------
        tau, v_dot : (nv,)
            `tau` counts where `given` is false, `v_dot` where it is true.
        given : (nv,) bool
        loads : (nb, 6)

        Returns
        -------
        v_dot, tau : (nv,)
            Complete.
        """
        mask = np.asarray(given, dtype=bool)
        known = np.where(mask, self._speeds(v_dot, "v_dot"), 0.0)
        found = self._articulated_sweeps(self._eliminate(mask), tau, known, mask, loads)
        return found, np.where(mask, self.inverse_dynamics(found, loads), self._speeds(tau, "tau"))

    def reactions(self, v_dot: ArrayLike, loads: ArrayLike | None = None) -> Array:
        """Return the load of each joint on its user's second marker, (nb, 6) N m and N.

        [moment; force] at that marker's origin, world axes, including drive efforts.
        """
        f = self._joint_forces(self._speeds(v_dot, "v_dot"), self._loads(loads))
        R = np.concatenate([np.eye(3)[None], self.R])
        p = np.concatenate([np.zeros((1, 3)), self.p])
        reactions = np.zeros((self.nb, 6))
        for k, (joint, parent) in enumerate(zip(self.forest.joints, self.forest.parent, strict=True)):
            # f(k) acts on the outboard body at its origin, and -f(k) on the inboard body
            carrier, marker, sign = (parent, joint.inboard, -1.0) if joint.reversed else (k + 1, joint.outboard, 1.0)
            point = p[carrier] + R[carrier] @ marker.position
            reactions[k] = sign * phi(self.p[k] - point) @ f[k]
        return reactions

    def _joint_forces(self, v_dot: Array, loads: Array) -> Array:
        """Return the load f (nb, 6) of each joint on its outboard body at the origin (4.1)."""
        parent = self.forest.parent
        alpha, f = np.zeros((self.nb, 6)), np.zeros((self.nb, 6))
        for k in range(self.nb):
            block = slice(6 * k, 6 * k + 6)
            carried = self._phi[k].T @ alpha[parent[k] - 1] if parent[k] else np.zeros(6)
            joint = self._H[k].T @ v_dot[self.v_slices[k]]
            alpha[k] = carried + joint + self.a[block] + self.a_gravity[block]
        for k in reversed(range(self.nb)):
            block = slice(6 * k, 6 * k + 6)
            f[k] += self._M[k] @ alpha[k] + self.b[block] - loads[block]
            if parent[k]:
                f[parent[k] - 1] += self._phi[k] @ f[k]
        return f

    def _articulated_sweeps(
        self,
        bodies: list[_Articulated],
        tau: ArrayLike | None,
        given_v_dot: Array,
        given: BoolArray,
        loads: ArrayLike | None,
    ) -> Array:
        """Return all of v' by the residual sweep (7.2) and the acceleration sweep (7.3)."""
        parent = self.forest.parent
        T = np.zeros(self.nv) if tau is None else self._speeds(tau, "tau")
        load = self._loads(loads)
        a = self.a + self.H.T @ given_v_dot
        v_dot = given_v_dot.copy()
        nu: list[Array] = [np.zeros(0)] * self.nb
        z = np.zeros((self.nb, 6))
        for k in reversed(range(self.nb)):
            block, free = slice(6 * k, 6 * k + 6), ~given[self.v_slices[k]]
            z[k] += bodies[k].P @ a[block] + self.b[block] - load[block]
            epsilon = T[self.v_slices[k]][free] - self._H[k][free] @ z[k]
            nu[k] = bodies[k].D_inverse @ epsilon
            if parent[k]:
                z[parent[k] - 1] += self._phi[k] @ (z[k] + bodies[k].G @ epsilon)
        alpha = np.zeros((self.nb, 6))
        for k in range(self.nb):
            block, free = slice(6 * k, 6 * k + 6), ~given[self.v_slices[k]]
            alpha_plus = self._phi[k].T @ alpha[parent[k] - 1] if parent[k] else self.a_gravity[block]
            found = nu[k] - bodies[k].G.T @ alpha_plus
            v_dot[self.v_slices[k]][free] = found
            alpha[k] = alpha_plus + self._H[k][free].T @ found + a[block]
        return v_dot

    # ---- inertias seen from inboard

    @cached_property
    def _composite(self) -> list[Array]:
        """Return R(k) of (5.2), all joints frozen."""
        R = [M.copy() for M in self._M]
        for k in reversed(range(self.nb)):
            parent = self.forest.parent[k]
            if parent:
                R[parent - 1] += self._phi[k] @ R[k] @ self._phi[k].T
        return R

    @cached_property
    def _innovations(self) -> list[_Articulated]:
        return self._eliminate(np.zeros(self.nv, dtype=bool))

    @cached_property
    def _psi(self) -> list[Array]:
        return [phi @ body.tau_bar for phi, body in zip(self._phi, self._innovations, strict=True)]

    def _eliminate(self, given: BoolArray) -> list[_Articulated]:
        """Return the articulated-body quantities (6.1) with the degrees of freedom in `given` prescribed."""
        bodies: list[_Articulated] = []
        P_all = [M.copy() for M in self._M]
        for k in reversed(range(self.nb)):
            H, P = self._H[k][~given[self.v_slices[k]]], P_all[k]
            D = H @ P @ H.T
            self._check_regular(k, D, H)
            D_inverse: Array = np.linalg.inv(D).astype(np.float64)
            G = P @ H.T @ D_inverse
            tau_bar = np.eye(6) - G @ H
            P_plus = tau_bar @ P
            parent = self.forest.parent[k]
            if parent:
                P_all[parent - 1] += self._phi[k] @ P_plus @ self._phi[k].T
            bodies.insert(0, _Articulated(P, D, D_inverse, G, tau_bar, P_plus))
        return bodies

    def _check_regular(self, k: int, D: Array, H: Array) -> None:
        # freezing joints can only add inertia: H R H* bounds D from above and has no cancellation in it
        scale = np.sqrt(np.diagonal(H @ self._composite[k] @ H.T))
        if (scale > 0).all() and (not len(D) or np.linalg.eigvalsh(D / np.outer(scale, scale))[0] > SINGULAR_TOL):
            return
        joint = self.forest.joints[k]
        raise SingularityError(
            f"joint {joint.name!r} ({joint.element.kind}) can move without moving any inertia: "
            f"give body {self.forest.bodies[k + 1]!r} or a body it carries more mass or inertia, or fix the joint"
        )

    # ---- input

    def _speeds(self, value: ArrayLike, field: str) -> Array:
        return finite_array(value, (self.nv,), item=f"system {self.system.name!r}", field=field)

    def _loads(self, loads: ArrayLike | None) -> Array:
        if loads is None:
            return np.zeros(6 * self.nb)
        return finite_array(loads, (self.nb, 6), item=f"system {self.system.name!r}", field="loads").ravel()
