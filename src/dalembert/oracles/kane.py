"""Kane's equations: partial velocities, one dense array per body.

Passerello & Huston 1972 (NASA N72-30352), chapters II to IV, for any hinge of the library. The
angular velocity of body i and the velocity of its mass centre are linear in the speeds,

    omega_i = omega[i, j] v_j        v_i = V[i, j] v_j                                   (2.3), (2.27)

(sum over j), and the arrays omega[i, j, k], V[i, j, k] and their time rates are all that the
equations of motion need:

    A_rj v'_j = f_r + F_r                                                                (3.27)
    A_rj = sum_i  m_i V[i, j] . V[i, r] + omega[i, j] . I_i omega[i, r]                  (3.28)
    f_r  = - sum_i  m_i V[i, r] . a_i + omega[i, r] . (I_i alpha_i + omega_i x I_i omega_i)   (3.29)

with a_i = V_dot[i, j] v_j and alpha_i = omega_dot[i, j] v_j. Forces that do no work never appear.
The source has ball joints and dextral angles; here every hinge contributes the columns of its own
motion, and its speeds need not be rates of coordinates.

Everything is in world axes. This module shares no dynamics with `operators` and does not use the
compiled core: the three are checked against one another. Cost O(nb nv^2), and O(nv^3) to solve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..bodies.markers import Marker
from ..checks import finite_array
from ..compile.flexible import refuse_flexible
from ..connections.hinges import (
    Cylindrical,
    Fixed,
    Free,
    Hinge,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from ..errors import ModelError, SingularityError

if TYPE_CHECKING:
    from ..system import System
    from ..topology import TreeHinge

__all__ = ["Kane", "motion_rate"]

Array = NDArray[np.float64]

# smallest eigenvalue of the mass matrix, scaled to unit diagonal, that is not rounding error
_SINGULAR = 1e-13


def motion_rate(hinge: Hinge, q: Array, v: Array) -> Array:
    """Return dH/dt (6, nv) of a hinge, column by column, seen from its first marker.

    A column of H belongs to an axis that is fixed in the first marker (rate zero), in the second
    marker, or in the cross of a universal joint; it turns with what it is fixed in. The sum
    ``motion_rate(q, v) @ v`` is the hinge's ``bias(q, v)``.
    """
    H = hinge.motion(q)
    rate = np.zeros_like(H)
    match hinge:
        case Spherical() | Free():
            w = H[:3] @ v
            rate[:3] = np.cross(w, H[:3], axisb=0, axisc=0)
            rate[3:] = np.cross(w, H[3:], axisb=0, axisc=0)
        case Universal():
            rate[:3, 1] = np.cross(H[:3, 0] * v[0], H[:3, 1])
        case Fixed() | Revolute() | Prismatic() | Screw() | Cylindrical() | Planar():
            pass
        case _:
            raise ModelError("Kane's equations", "hinge", hinge.kind, "only the hinges of the library are known here")
    return rate


@dataclass(frozen=True, eq=False)
class _Frame:
    """A moving frame: pose, partial velocities of its origin, and their rates; world axes."""

    R: Array  # (3, 3)
    p: Array  # (3,)
    omega: Array  # (nv, 3)
    V: Array
    omega_dot: Array
    V_dot: Array

    @classmethod
    def at_rest(cls, nv: int) -> _Frame:
        return cls(np.eye(3), np.zeros(3), *np.zeros((4, nv, 3)))

    def fixed(self, position: Array, rotation: Array, v: Array) -> _Frame:
        """Return the frame that is fixed in this one at `position`, `rotation` (2.18), (2.22)."""
        r = self.R @ position
        r_dot = np.cross(v @ self.omega, r)
        V = self.V + np.cross(self.omega, r)
        V_dot = self.V_dot + np.cross(self.omega_dot, r) + np.cross(self.omega, r_dot)
        return _Frame(self.R @ rotation, self.p + r, self.omega, V, self.omega_dot, V_dot)


class Kane:
    """Kane's arrays and equations of a system's spanning trees at one state.

    Parameters
    ----------
    system : System
        Chords are ignored: the equations are those of the tree.
    q : (nq,) rad or m
        Coordinates, hinge by hinge in the order of ``system.forest().hinges``.
    v : (nv,) rad/s or m/s
        Speeds; default at rest.

    Attributes
    ----------
    omega, omega_dot : (nb, nv, 3)
        Partial angular velocities of the bodies, and their time rates: (2.4), (2.6).
    V, V_dot : (nb, nv, 3)
        Partial velocities of the mass centres, and their time rates: (2.18), (2.22).
    R : (nb, 3, 3), origins, centers : (nb, 3) m
        Rotations, origins and mass centres of the bodies, in tree order.
    m : (nb,) kg, I : (nb, 3, 3) kg m2
        Masses, and inertias about the mass centres in world axes (3.24).

    Examples
    --------
    >>> from dalembert import Revolute, System, rod
    >>> s = System("pendulum")
    >>> hinge = s.connect("A", Revolute("y"), s.ground, s.body("bob", rod(length=1.0, mass=3.0)))
    >>> pendulum = Kane(s, [0.0], [2.0])
    >>> pendulum.V[0, 0]
    array([ 0. ,  0. , -0.5])
    >>> pendulum.forward_dynamics()
    array([14.715])
    """

    def __init__(self, system: System, q: ArrayLike, v: ArrayLike | None = None) -> None:
        self.system = system
        self.forest = system.forest()
        refuse_flexible(system, "Kane")
        hinges = self.forest.hinges
        self.nb = self.forest.nb
        self.nq, self.nv = sum(h.element.nq for h in hinges), sum(h.element.nv for h in hinges)
        self.q = finite_array(q, (self.nq,), item=f"system {system.name!r}", field="q")
        self.v = np.zeros(self.nv) if v is None else self._speeds(v, "v")

        frames = [_Frame.at_rest(self.nv)]  # ground, then the bodies' own
        first_q = first_v = 0
        for hinge, parent in zip(hinges, self.forest.parent, strict=True):
            q_slice = slice(first_q, first_q + hinge.element.nq)
            v_slice = slice(first_v, first_v + hinge.element.nv)
            frames.append(self._outboard_frame(hinge, frames[parent], q_slice, v_slice))
            first_q, first_v = q_slice.stop, v_slice.stop

        bodies = [system.bodies[name] for name in self.forest.bodies[1:]]
        centers = [f.fixed(b.com, np.eye(3), self.v) for f, b in zip(frames[1:], bodies, strict=True)]
        self.origins = np.array([f.p for f in frames[1:]])
        self.centers = np.array([f.p for f in centers])
        self.R = np.array([f.R for f in centers])
        self.omega, self.omega_dot = np.array([f.omega for f in centers]), np.array([f.omega_dot for f in centers])
        self.V, self.V_dot = np.array([f.V for f in centers]), np.array([f.V_dot for f in centers])
        self.m = np.array([b.mass for b in bodies])
        self.I = np.array([f.R @ b.inertia @ f.R.T for f, b in zip(centers, bodies, strict=True)])

    def _outboard_frame(self, hinge: TreeHinge, parent: _Frame, q_slice: slice, v_slice: slice) -> _Frame:
        """Return the frame of the body that a hinge carries, given its parent's.

        One relation joins the user's first marker F and second marker S, with d from F to S:

            omega_S = omega_F + w           V_S = V_F + omega_F x d + u

        and w, u, d the hinge's own in axes that turn with F. It is solved for whichever is unknown.
        """
        element, q, v = hinge.element, self.q[q_slice], self.v[v_slice]
        C, c = element.pose(q)
        known = parent.fixed(hinge.inboard.position, hinge.inboard.rotation, self.v)
        R_F = known.R @ C.T if hinge.reversed else known.R
        d = R_F @ c
        w, u, w_local, u_local = np.zeros((4, self.nv, 3))
        w[v_slice], u[v_slice] = _rows(R_F, element.motion(q))
        w_local[v_slice], u_local[v_slice] = _rows(R_F, motion_rate(element, q, v))

        sign = -1.0 if hinge.reversed else 1.0
        omega = known.omega + sign * w
        omega_F = known.omega if not hinge.reversed else omega
        w_F = self.v @ omega_F
        w_dot = np.cross(w_F, w) + w_local
        omega_dot = known.omega_dot + sign * w_dot
        omega_dot_F = known.omega_dot if not hinge.reversed else omega_dot
        d_dot = np.cross(w_F, d) + self.v @ u
        V = known.V + sign * (np.cross(omega_F, d) + u)
        V_dot = known.V_dot + sign * (np.cross(omega_dot_F, d) + np.cross(omega_F, d_dot) + np.cross(w_F, u) + u_local)
        R = R_F if hinge.reversed else R_F @ C
        return _body_of(hinge.outboard, _Frame(R, known.p + sign * d, omega, V, omega_dot, V_dot), self.v)

    # ---- arrays of the equations of motion

    def mass_matrix(self) -> Array:
        """Return A (nv, nv), (3.28)."""
        translation = np.einsum("i,ijk,irk->rj", self.m, self.V, self.V)
        rotation = np.einsum("ikn,ijn,irk->rj", self.I, self.omega, self.omega)
        A: Array = translation + rotation
        return A

    def inertia_forces(self) -> Array:
        """Return f (nv,), the generalized inertia forces at v' = 0.

        erratum: (3.29) is printed without its leading minus sign and with omega_iml for omega_ijl.
        """
        a = np.einsum("ijk,j->ik", self.V_dot, self.v)
        alpha = np.einsum("ijk,j->ik", self.omega_dot, self.v)
        w = np.einsum("ijk,j->ik", self.omega, self.v)
        Iw, I_alpha = np.einsum("ikn,in->ik", self.I, w), np.einsum("ikn,in->ik", self.I, alpha)
        forces = np.einsum("irk,i,ik->r", self.V, self.m, a)
        moments = np.einsum("irk,ik->r", self.omega, I_alpha + np.cross(w, Iw))
        f: Array = -(forces + moments)
        return f

    def active_forces(self, loads: ArrayLike | None = None) -> Array:
        """Return the generalized forces (nv,) of gravity and of `loads` (nb, 6), (3.7).

        erratum: (3.7) prints V_irk with F_jk; both belong to the same body.
        """
        force, moment = self.m[:, None] * self.system.gravity, np.zeros((self.nb, 3))
        if loads is not None:
            at_center = self._reduce(loads)
            force, moment = force + at_center[:, 3:], moment + at_center[:, :3]
        return self._generalized(force, moment)

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
        result: Array = np.einsum("irk,ik->r", self.V, force) + np.einsum("irk,ik->r", self.omega, moment)
        return result

    # ---- the problems

    def bias(self, loads: ArrayLike | None = None) -> Array:
        """Return the generalized forces that give v' = 0, (nv,)."""
        return -(self.inertia_forces() + self.active_forces(loads))

    def inverse_dynamics(self, v_dot: ArrayLike, loads: ArrayLike | None = None) -> Array:
        """Return the generalized forces (nv,) that give the motion v' (nv,)."""
        tau: Array = self.mass_matrix() @ self._speeds(v_dot, "v_dot") + self.bias(loads)
        return tau

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

    def impulse_response(self, impulse: ArrayLike) -> Array:
        """Return the jump of the speeds (nv,) under a generalized impulse (nv,), (4.9)."""
        return self._solve(self.mass_matrix(), self._speeds(impulse, "impulse"), np.arange(self.nv))

    def momenta(self) -> Array:
        """Return the generalized momenta A v, (nv,), (4.8)."""
        p: Array = self.mass_matrix() @ self.v
        return p

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
        """Solve A x = rhs, or say which speeds have no inertia of their own."""
        if not len(rhs):
            return rhs
        scale = np.sqrt(np.diagonal(A))
        if (scale > 0).all():
            values, vectors = np.linalg.eigh(A / np.outer(scale, scale))
            if values[0] > _SINGULAR:
                return np.linalg.solve(A, rhs).astype(np.float64)
            involved = np.abs(vectors[:, 0]) > 0.1
        else:
            involved = scale == 0
        names = [f"{h.name}.{name}" for h in self.forest.hinges for name in h.element.speeds]
        raise SingularityError(
            f"the mass matrix of system {self.system.name!r} is singular: "
            f"{', '.join(names[r] for r in speeds[involved])} can change without moving any inertia"
        )


def _rows(R: Array, columns: Array) -> tuple[Array, Array]:
    """Return the angular and the linear parts of (6, n) columns as rows (n, 3), turned by R."""
    return (R @ columns[:3]).T, (R @ columns[3:]).T


def _body_of(marker: Marker, frame: _Frame, v: Array) -> _Frame:
    """Return the frame of the body whose marker moves as `frame`."""
    return frame.fixed(-marker.rotation.T @ marker.position, marker.rotation.T, v)
