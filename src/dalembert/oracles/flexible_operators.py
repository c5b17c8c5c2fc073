"""Spatial operators for trees of rigid and flexible bodies, readable reference.

Jain & Rodriguez 1990 (JPL 90-26), sections 3 to 7. Velocities of the modes and of the body frame are stacked into one
column of nm + 6 numbers per body, V_m = [eta'; omega; v], and the flexible tree takes the form of a rigid one:

    V_m  = Phi* H* v                                  velocities                         (3.22)
    mass = H Phi M_m Phi* H*                          Newton-Euler factorisation         (3.45)
         = (1 + H Phi K) D (1 + H Phi K)*             Innovations factorisation          (6.3)
    mass^-1 = (1 - H Psi K)* D^-1 (1 - H Psi K)                                          (6.6)

as in `operators`, with the same numbering and directions. For one body, with d the node of its joint, t the node of a
child's joint, Pi their motion per modal velocity, phi the rigid transport:

    H(k)       = [[0, H_F], [1, -Pi_F*]]        rows: joint, modes;   Pi_F = phi*(d, k) Pi_d     (3.15)
    Phi(k, i)  = [[Pi_t*], [phi(k, t)]] [0, phi(t, i)]                                           (3.14)

erratum: (3.11) to (3.19) and (4.2) have Pi_d, which is Pi_F only for modes of a cantilever. The two sweeps (7.11) and
(7.12), lost in print, are `forward_dynamics`, with the modes eliminated before the joint, so that 6 by 6 matrices pass
between bodies; erratum: (7.6) has the two in reverse order, and (7.7) to (7.10) use Gamma^-1, which never exists.

All matrices are dense, all components are in world axes. This module is an oracle: it does not use the compiled core.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..bodies.markers import Marker
from ..bodies.modal_integrals import ModalIntegrals, modal_integrals, source_integrals
from ..checks import finite_array
from ..compile.body_layout import modes_of, second_order
from ..rotation import skew
from .block_operators import consecutive
from .operators import joint_motion, phi

if TYPE_CHECKING:
    from ..bodies.body import Body
    from ..system import System

__all__ = ["FlexibleOperators", "NodeMotion", "Precomputed", "body_inertia", "node_motion", "turned"]


@dataclass
class NodeMotion:
    """Motion of a node relative to the frame of its body, in axes of that frame.

    R, p : rotation (3, 3) and position (3,) m
    Pi : (6, nm)
        [omega; v] per modal velocity.
    bias : (6,)
        Their rates, seen from the body frame, at eta'' = 0.
    """

    R: Array
    p: Array
    Pi: Array
    bias: Array


def node_motion(marker: Marker, eta: Array, rate: Array) -> NodeMotion:
    """Return the motion of the node at a marker, core/flexible/body.hpp, (1)."""
    flexible = marker.body.flexible
    if flexible is None or marker.shape is None:
        return NodeMotion(np.eye(3), marker.position, np.zeros((6, len(eta))), np.zeros(6))
    lam, gam = marker.shape[:3], marker.shape[3:]
    turn, bend = np.split(second_order(flexible, marker.foot), 2)

    def twice(g: Array, a: Array, b: Array) -> Array:
        return np.einsum("irs,r,s->i", g, a, b)

    p = marker.foot + gam @ eta + twice(bend, eta, eta) / 2
    slopes = lam + turn @ eta
    x, u = lam @ eta + twice(turn, eta, eta) / 2, slopes @ rate
    R, J, J_rate = _turn(x, u)
    Pi = np.vstack([slopes, gam + bend @ eta])
    bias = np.concatenate([twice(turn, rate, rate), twice(bend, rate, rate)])
    if flexible.order != "source":
        Pi[:3] = J @ slopes
        bias[:3] = J @ bias[:3] + J_rate @ u
    if marker.arm is not None:  # rigid arm from the node
        r, w = R @ marker.arm, Pi[:3] @ rate
        p = p + r
        Pi[3:] -= skew(r) @ Pi[:3]
        bias[3:] += np.cross(bias[:3], r) + np.cross(w, np.cross(w, r))
    return NodeMotion(R, p, Pi, bias)


def _turn(x: Array, u: Array) -> tuple[Array, Array, Array]:
    """Return exp(x~), J with omega = J x', and its rate when x' = u."""
    s, S, U = float(x @ x), skew(x), skew(u)
    phi_ = np.sqrt(s)
    if phi_ < 1e-2:
        a, a1 = 0.5 - s / 24 + s * s / 720, -1 / 24 + s / 360 - s * s / 13440
        b, b1 = 1 / 6 - s / 120 + s * s / 5040, -1 / 120 + s / 2520 - s * s / 120960
    else:
        c, sine = np.cos(phi_), np.sin(phi_)
        a, b = (1 - c) / s, (phi_ - sine) / phi_**3
        a1 = (sine / (2 * phi_) - a) / s
        b1 = ((1 - c) / (2 * phi_**2) - 1.5 * b) / s
    R = np.eye(3) + (1 - s * b) * S + a * S @ S
    s1 = 2 * x @ u
    J_rate = a1 * s1 * S + a * U + b1 * s1 * S @ S + b * (U @ S + S @ U)
    return R, np.eye(3) + a * S + b * S @ S, J_rate


@dataclass
class _Body:
    """Contribution of one body, world axes, about the origin of its frame."""

    nm: int
    H_F: Array  # (nr, 6)
    Pi_F: Array  # (6, nm)
    A: Array  # (parent's nm + 6, 6): loads from the parent's node t to the parent
    transport: Array  # (6, 6): loads from this body's frame to t
    M: Array
    a: Array  # (6,): acceleration of the frame at zero accelerations of the parent's frame and of all velocities
    b: Array
    elastic: Array
    H: Array = field(init=False)
    Phi: Array = field(init=False)

    def __post_init__(self) -> None:
        nr, nm = len(self.H_F), self.nm
        self.H = np.zeros((nr + nm, nm + 6))
        self.H[:nr, nm:], self.H[nr:, :nm], self.H[nr:, nm:] = self.H_F, np.eye(nm), -self.Pi_F.T
        self.Phi = self.A @ np.hstack([np.zeros((6, nm)), self.transport])


class FlexibleOperators:
    """Spatial operators of a system's spanning trees at one state; bodies may be flexible.

    Parameters
    ----------
    system : System
    q : (nq,) rad, m and modal coordinates
        Joint by joint in the order of ``system.forest().joints``, the modal coordinates of a body after its joint's.
    v : (nv,)

    Attributes
    ----------
    H, E_Phi, Phi, M : (nv, N), (N, N), (N, N), (N, N)
        With N the sum of nm + 6 over the bodies.
    P, D, G, K, tau_bar, E_Psi, Psi
        Articulated-body quantities (6.1), (6.2).
    a, b, elastic : (N,)
        Coriolis accelerations, gyroscopic loads, elastic and damping loads.
    V : (N,)
        Velocities.
    """

    def __init__(self, system: System, q: ArrayLike, v: ArrayLike | None = None) -> None:
        self.system, self.forest = system, system.forest()
        sizes = [modes_of(system.bodies[name]) for name in self.forest.bodies[1:]]
        nq = [joint.element.nq + nm for joint, nm in zip(self.forest.joints, sizes, strict=True)]
        nv = [joint.element.nv + nm for joint, nm in zip(self.forest.joints, sizes, strict=True)]
        self.nb, self.nq, self.nv = self.forest.nb, sum(nq), sum(nv)
        item = f"system {system.name!r}"
        self.q = finite_array(q, (self.nq,), item=item, field="q")
        self.v = np.zeros(self.nv) if v is None else finite_array(v, (self.nv,), item=item, field="v")
        self.rows = consecutive(nv)
        self.blocks = consecutive([nm + 6 for nm in sizes])
        self.bodies: list[_Body] = []
        self.poses: list[tuple[Array, Array]] = [(np.eye(3), np.zeros(3))]
        self._place(sizes, consecutive(nq))
        N = sum(nm + 6 for nm in sizes)
        self.H, self.E_Phi, self.M = np.zeros((self.nv, N)), np.zeros((N, N)), np.zeros((N, N))
        self.a, self.a_gravity = np.zeros(N), np.zeros(N)
        for k, body in enumerate(self.bodies):
            own, parent = self.blocks[k], int(self.forest.parent[k])
            self.H[self.rows[k], own], self.M[own, own] = body.H, body.M
            self.a[own.stop - 6 : own.stop] = body.a
            if parent:
                self.E_Phi[self.blocks[parent - 1], own] = body.Phi
            else:
                self.a_gravity[own.stop - 3 : own.stop] = -system.gravity
        self.b = np.concatenate([np.zeros(0), *(body.b for body in self.bodies)])
        self.elastic = np.concatenate([np.zeros(0), *(body.elastic for body in self.bodies)])
        self.Phi = np.linalg.inv(np.eye(N) - self.E_Phi)
        self.V = self.Phi.T @ (self.H.T @ self.v)

    def _place(self, sizes: list[int], coordinates: list[slice]) -> None:
        etas, rates, V = [np.zeros(0)], [np.zeros(0)], [np.zeros(6)]
        self.etas = etas  # of ground and the bodies
        for k, joint in enumerate(self.forest.joints):
            parent, nm, element = int(self.forest.parent[k]), sizes[k], joint.element
            q, v = self.q[coordinates[k]], self.v[self.rows[k]]
            eta, rate, own = q[element.nq :], v[element.nv :], v[: element.nv]
            motion = joint_motion(joint, q[: element.nq], own)
            t = node_motion(joint.inboard, etas[parent], rates[parent])
            d = node_motion(joint.outboard, eta, rate)
            # poses: parent's frame, node t, inboard marker, outboard marker, own frame
            R_P, p_P = self.poses[parent]
            R_I, p_I = R_P @ t.R @ joint.inboard.rotation, p_P + R_P @ t.p
            R_O, p_O = R_I @ motion.rotation, p_I + R_I @ motion.displacement
            R = R_O @ joint.outboard.rotation.T @ d.R.T
            p = p_O - R @ d.p
            self.poses.append((R, p))
            Pi_t, Pi_d = turned(R_P) @ t.Pi, turned(R) @ d.Pi
            H = (turned(R_I) @ motion.H).T  # at the outboard marker
            H_F = H @ phi(p - p_O)
            Pi_F = phi(p - p_O).T @ Pi_d
            A = np.vstack([Pi_t.T, phi(p_I - p_P)])
            V_t = phi(p_I - p_P).T @ V[parent] + Pi_t @ rates[parent]
            V.append(phi(p - p_I).T @ V_t + H_F.T @ own - Pi_F @ rate)
            # a(k), 4.12 of the report on the source: node t, across the joint, and back from node d
            w_P, w_t, w = V[parent][:3], V_t[:3], V[-1][:3]
            alpha, acc = _seen(w_P, R_P @ t.p, Pi_t @ rates[parent], turned(R_P) @ t.bias)
            r, relative, bias = p_O - p_I, H.T @ own, turned(R_I) @ motion.bias
            acc = acc + np.cross(alpha, r)
            more = _seen(w_t, r, relative, bias)
            alpha_O, acc_O = alpha + more[0], acc + more[1]
            of_d = _seen(w, p_O - p, Pi_d @ rate, turned(R) @ d.bias)
            alpha_k = alpha_O - of_d[0]
            a = np.concatenate([alpha_k, acc_O - of_d[1] - np.cross(alpha_k, p_O - p)])
            body = self.system.bodies[self.forest.bodies[k + 1]]
            M, b, elastic = body_inertia(body, eta, rate, R.T @ V[-1][:3])
            X = np.eye(nm + 6)
            X[nm:, nm:] = turned(R)
            self.bodies.append(_Body(nm, H_F, Pi_F, A, phi(p - p_I), X @ M @ X.T, a, X @ b, elastic))
            etas.append(eta)
            rates.append(rate)

    # ---- operators

    @cached_property
    def _articulated(self) -> tuple[Array, Array, Array, Array]:
        """Return P, D, G and tau_bar of (6.1), block diagonal."""
        N = len(self.M)
        P, D, G, tau_bar = np.zeros((N, N)), np.zeros((self.nv, self.nv)), np.zeros((N, self.nv)), np.eye(N)
        P_all = [body.M.copy() for body in self.bodies]
        for k in reversed(range(self.nb)):
            body, own, rows, parent = self.bodies[k], self.blocks[k], self.rows[k], int(self.forest.parent[k])
            D_k = body.H @ P_all[k] @ body.H.T
            G_k = P_all[k] @ body.H.T @ np.linalg.inv(D_k)
            tau = np.eye(len(G_k)) - G_k @ body.H
            P[own, own], D[rows, rows], G[own, rows], tau_bar[own, own] = P_all[k], D_k, G_k, tau
            if parent:
                P_all[parent - 1] += body.Phi @ tau @ P_all[k] @ body.Phi.T
        return P, D, G, tau_bar

    @property
    def P(self) -> Array:
        """Articulated inertia of each body, (N, N), (6.1)."""
        return self._articulated[0]

    @property
    def D(self) -> Array:
        """Articulated inertia along joints and modes, H P H*, (nv, nv)."""
        return self._articulated[1]

    @property
    def G(self) -> Array:
        """Gain P H* D^-1, (N, nv)."""
        return self._articulated[2]

    @property
    def tau_bar(self) -> Array:
        """Projection 1 - G H, (N, N)."""
        return self._articulated[3]

    @cached_property
    def K(self) -> Array:
        """Gain carried to the parent, E_Phi G, (N, nv)."""
        return self.E_Phi @ self.G

    @cached_property
    def E_Psi(self) -> Array:
        """Transport through free joints and modes, E_Phi tau_bar, (N, N)."""
        return self.E_Phi @ self.tau_bar

    @cached_property
    def Psi(self) -> Array:
        """(1 - E_Psi)^-1, (N, N)."""
        inverse = np.linalg.inv(np.eye(len(self.M)) - self.E_Psi)
        return np.asarray(inverse, dtype=np.float64)

    def mass_matrix(self) -> Array:
        """Return H Phi M Phi* H*, (nv, nv), (3.45)."""
        return self.H @ self.Phi @ self.M @ self.Phi.T @ self.H.T

    def composite_mass_matrix(self) -> Array:
        """Return the mass matrix from composite bodies, (nv, nv), (5.2) to (5.5)."""
        R = self.composites
        mass = np.zeros((self.nv, self.nv))
        for k in reversed(range(self.nb)):
            j, X = k, R[k] @ self.bodies[k].H.T
            mass[self.rows[k], self.rows[k]] = self.bodies[k].H @ X
            while self.forest.parent[j]:
                X = self.bodies[j].Phi @ X
                j = int(self.forest.parent[j]) - 1
                mass[self.rows[j], self.rows[k]] = self.bodies[j].H @ X
                mass[self.rows[k], self.rows[j]] = mass[self.rows[j], self.rows[k]].T
        return mass

    @cached_property
    def composites(self) -> list[Array]:
        """R(k) (nm + 6, nm + 6) of each body, (5.2): inertia with all outboard bodies, their DOF frozen."""
        R = [body.M.copy() for body in self.bodies]
        for k in reversed(range(self.nb)):
            parent = int(self.forest.parent[k])
            if parent:
                R[parent - 1] += self.bodies[k].Phi @ R[k] @ self.bodies[k].Phi.T
        return R

    def conjugate_gradients(self, tau: ArrayLike, *, tolerance: float = 1e-12) -> tuple[Array, int]:
        """Return v' (nv,) by conjugate gradients, and the number of products with the mass matrix.

        The mass matrix is never formed: its product with a vector is inverse dynamics without velocities (Walker and
        Orin 1982, method 4), here H Phi M Phi* H* x from the right. Steps are scaled by the diagonal of D.
        """
        right = np.asarray(tau, dtype=float) - self.bias()
        scale = 1 / np.diag(self.D)
        x, left = np.zeros(self.nv), right.copy()
        y = scale * left
        direction, size = y.copy(), float(left @ y)
        products, aim = 0, tolerance**2 * size
        while size > aim and products < 20 * self.nv:
            product = self.H @ (self.Phi @ (self.M @ (self.Phi.T @ (self.H.T @ direction))))
            products += 1
            step = size / float(direction @ product)
            x, left = x + step * direction, left - step * product
            y = scale * left
            size, before = float(left @ y), size
            direction = y + size / before * direction
        return x, products

    def factor(self) -> Array:
        """Return 1 + H Phi K, (nv, nv), lemma 6.1."""
        return np.eye(self.nv) + self.H @ self.Phi @ self.K

    def inverse_factor(self) -> Array:
        """Return 1 - H Psi K, (nv, nv), lemma 6.2."""
        return np.eye(self.nv) - self.H @ self.Psi @ self.K

    def mass_inverse(self) -> Array:
        """Return (1 - H Psi K)* D^-1 (1 - H Psi K), (nv, nv), lemma 6.3."""
        return self.inverse_factor().T @ np.linalg.inv(self.D) @ self.inverse_factor()

    def bias(self) -> Array:
        """Return the generalized forces at v' = 0, (nv,): Coriolis, gyroscopic, gravity, elastic, damping."""
        loads = self.M @ self.Phi.T @ (self.a + self.a_gravity) + self.b + self.elastic
        return self.H @ self.Phi @ loads

    def kinetic_energy(self) -> float:
        """Return V* M V / 2, J."""
        return float(self.V @ self.M @ self.V) / 2

    def operator_dynamics(self, tau: ArrayLike) -> Array:
        """Return v' (nv,) by lemma 7.1."""
        T, a = np.asarray(tau, dtype=float), self.a + self.a_gravity
        inner = T - self.H @ self.Psi @ (self.K @ T + self.P @ a + self.b + self.elastic)
        return self.inverse_factor().T @ np.linalg.solve(self.D, inner) - self.K.T @ self.Psi.T @ a

    def forward_dynamics(self, tau: ArrayLike, *, indirect: bool = False) -> Array:
        """Return v' (nv,) by the sweeps (7.10) to (7.12), modes first, then joints.

        Parameters
        ----------
        tau : (nv,)
        indirect : bool
            D_f^-1 by Woodbury's formula, Lambda - Upsilon Gamma (1 + Omega Gamma)^-1 Upsilon*.
        """
        T = np.asarray(tau, dtype=float)
        parent = self.forest.parent
        Gamma: list[list[tuple[Array, Array]]] = [[] for _ in self.bodies]
        z_in = [np.zeros(body.nm + 6) for body in self.bodies]
        kept = []
        for k in reversed(range(self.nb)):
            body, nm = self.bodies[k], self.bodies[k].nm
            nr = len(body.H_F)
            own, rows = self.blocks[k], self.rows[k]
            H_f = body.H[nr:]
            P = body.M + sum((A @ g @ A.T for A, g in Gamma[k]), np.zeros_like(body.M))
            D_f = H_f @ P @ H_f.T
            D_f_inverse = self._indirect(body, Gamma[k]) if indirect and nm else np.linalg.inv(D_f)
            mu = P[nm:] @ H_f.T
            g = mu @ D_f_inverse
            P_R = P[nm:, nm:] - g @ mu.T
            D_R_inverse = np.linalg.inv(body.H_F @ P_R @ body.H_F.T)
            G_R = P_R @ body.H_F.T @ D_R_inverse
            a = (self.a + self.a_gravity)[own][nm:]
            z = z_in[k] + self.b[own] + self.elastic[own]
            epsilon_f = T[rows][nr:] - H_f @ z
            z_R = z[nm:] + g @ epsilon_f + P_R @ a
            epsilon_R = T[rows][:nr] - body.H_F @ z_R
            kept.append((D_f_inverse @ epsilon_f, g, D_R_inverse @ epsilon_R, G_R))
            if parent[k]:
                P_plus = P_R - G_R @ body.H_F @ P_R
                at_t = body.transport @ P_plus @ body.transport.T
                Gamma[parent[k] - 1].append((body.A, at_t))
                z_in[parent[k] - 1] += body.A @ body.transport @ (z_R + G_R @ epsilon_R)
        result = np.zeros(self.nv)
        alphas: list[Array] = []
        for k, (nu_f, g, nu_R, G_R) in enumerate(reversed(kept)):
            body, nr = self.bodies[k], len(self.bodies[k].H_F)
            a = (self.a + self.a_gravity)[self.blocks[k]][body.nm :]
            carried = np.zeros(6) if not parent[k] else body.transport.T @ body.A.T @ alphas[parent[k] - 1]
            beta = nu_R - G_R.T @ carried
            alpha_R = carried + body.H_F.T @ beta + a
            eta = nu_f - g.T @ alpha_R
            alphas.append(np.concatenate([eta, alpha_R - body.Pi_F @ eta]))
            result[self.rows[k]] = np.concatenate([beta, eta])
        return result

    def precomputed(self) -> list[Precomputed]:
        """Return Lambda, zeta, Upsilon, Omega of every body, (7.8).

        With the frame clamped to a node, Lambda is the inverse of the modal mass, whatever the deformation. The source
        keeps zeta as well, since in its ruthless model nodes move by the slopes of the undeformed body; here the
        rotation of nodes is exact to all orders, and zeta depends on it.
        """
        parent = self.forest.parent
        found = []
        for k, body in enumerate(self.bodies):
            carried = [self.bodies[j].A for j in reversed(range(self.nb)) if parent[j] == k + 1]
            found.append(_precomputed(body, carried))
        return found

    @staticmethod
    def _indirect(body: _Body, Gamma: list[tuple[Array, Array]]) -> Array:
        made = _precomputed(body, [A for A, _ in Gamma])
        if not Gamma:
            return made.Lambda
        whole = np.zeros_like(made.Omega)
        for j, (_, g) in enumerate(Gamma):
            whole[6 * j : 6 * j + 6, 6 * j : 6 * j + 6] = g
        solved = np.linalg.solve(np.eye(len(whole)) + made.Omega @ whole, made.Upsilon.T)
        return made.Lambda - made.Upsilon @ whole @ solved


@dataclass(frozen=True, eq=False)
class Precomputed:
    """Quantities (7.8) of a body that do not depend on its c outboard bodies.

    Lambda : (nm, nm), the inverse of H_f M H_f*
    zeta : (nm, 6 c), the motion of the nodes t of these joints per modal velocity, H_f A
    Upsilon, Omega : (nm, 6 c) and (6 c, 6 c), Lambda zeta and zeta* Lambda zeta
    """

    Lambda: Array
    zeta: Array
    Upsilon: Array
    Omega: Array


def _precomputed(body: _Body, carried: list[Array]) -> Precomputed:
    H_f = body.H[len(body.H_F) :]
    Lambda = np.asarray(np.linalg.inv(H_f @ body.M @ H_f.T), dtype=np.float64)
    zeta = np.hstack([np.zeros((body.nm, 0)), *(H_f @ A for A in carried)])
    Upsilon = Lambda @ zeta
    return Precomputed(Lambda, zeta, Upsilon, zeta.T @ Upsilon)


def _seen(w: Array, arm: Array, relative: Array, bias: Array) -> tuple[Array, Array]:
    """Return the relative acceleration of a frame at `arm` with velocity `relative` in a frame rotating with w.

    w x omega + bias, and w x (w x arm + 2 v) + bias.
    """
    return np.cross(w, relative[:3]) + bias[:3], np.cross(w, np.cross(w, arm) + 2 * relative[3:]) + bias[3:]


def body_inertia(body: Body, eta: Array, rate: Array, w: Array) -> tuple[Array, Array, Array]:
    """Return M (nm + 6, nm + 6), gyroscopic and elastic loads (nm + 6,), in body axes."""
    flexible = body.flexible
    if flexible is None or not flexible.nm:
        m, c = body.mass, body.com
        J = body.inertia - m * skew(c) @ skew(c)
        M = np.block([[J, m * skew(c)], [-m * skew(c), m * np.eye(3)]])
        return M, np.concatenate([np.cross(w, J @ w), m * np.cross(w, np.cross(w, c))]), np.zeros(6)
    integrals: ModalIntegrals = source_integrals(flexible) if flexible.order == "source" else modal_integrals(flexible)
    order = "ruthless" if flexible.order == "ruthless" else "full"
    elastic = np.zeros(flexible.nm + 6)
    elastic[: flexible.nm] = flexible.modal_stiffness @ eta + flexible.modal_damping @ rate
    return integrals.mass_matrix(eta, order), integrals.bias(eta, rate, w, order), elastic


def turned(R: Array) -> Array:
    """Return R twice on the diagonal, (6, 6)."""
    six = np.zeros((6, 6))
    six[:3, :3] = six[3:, 3:] = R
    return six
