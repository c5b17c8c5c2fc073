"""Moving frames with their partial velocities, and the column rates of these.

The velocity of a frame is linear in the velocities v, omega = omega_j v_j, V = V_j v_j (sum over j). Two frames F and
S, with d from F to S, and w, u the relative motion of S in axes that turn with F, are related by

    omega_S = omega_F + w           V_S = V_F + omega_F x d + u                                                    (1)

It holds for joints, for nodes of flexible bodies (F the frame of the body) and for points of rigid ones (w = u = 0),
and can be solved for either frame. The columns of w = H v, u = H v depend on the coordinates. Their rate without
accelerations is one vector, the bias b(v) = H' v, quadratic in v. The rates of single columns follow from it, because
both parts derive from a pose that depends on the coordinates: second derivatives of a position commute, those of a
rotation do not, dw_j/dq_i - dw_i/dq_j = w_i x w_j (erratum: Sol 1983, (2.2.13), lost the sign). So

    H'_j = 1/2 [b(v + e_j) - b(v) - b(e_j)] + 1/2 [omega x w_j; 0]                                                  (2)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..bodies.markers import Marker
from ..connections.joints import Free, Joint, Spherical
from .flexible_operators import NodeMotion, node_motion

__all__ = ["MovingFrame", "Relative", "motion_rate", "node_relative"]


@dataclass(frozen=True, eq=False)
class Relative:
    """Motion of a frame S relative to a frame F, in axes of F.

    Attributes
    ----------
    C, c : (3, 3), (3,) m
        Rotation and displacement.
    H, H_dot : (6, n)
        [omega; v] of S per velocity, and their rates.
    span : slice
        Indices of these velocities.
    """

    C: Array
    c: Array
    H: Array
    H_dot: Array
    span: slice


def motion_rate(joint: Joint, q: Array, v: Array) -> Array:
    """Return dH/dt (6, nv) of a joint, column by column, seen from its first marker.

    The velocities of ball joints and free joints refer to axes of the second marker, which turn with it; those of all
    other joints, library or custom, are rates of coordinates: (2). ``motion_rate(q, v) @ v`` is ``joint.bias(q, v)``.
    """
    H = joint.motion(q)
    if isinstance(joint, (Spherical, Free)):
        w = H[:3] @ v
        return np.vstack([np.cross(w, H[:3], axisb=0, axisc=0), np.cross(w, H[3:], axisb=0, axisc=0)])
    return column_rates(H, lambda u: joint.bias(q, u), v)


def column_rates(H: Array, bias: Callable[[Array], Array], v: Array, *, turns: bool = True) -> Array:
    """Return the rates of the columns of H (6, n), (2); `turns`: whether its angular part is that of a rotation."""
    rate, b = np.zeros_like(H), bias(v)
    for j, e in enumerate(np.eye(len(v))):
        rate[:, j] = (bias(v + e) - b - bias(e)) / 2
    if turns:
        rate[:3] += np.cross(H[:3] @ v, H[:3], axisb=0, axisc=0) / 2
    return rate


def node_relative(marker: Marker, eta: Array, rate: Array, span: slice) -> Relative:
    """Return the motion of the node of a marker relative to its body frame; no motion for a rigid body."""
    n: NodeMotion = node_motion(marker, eta, rate)
    flexible = marker.body.flexible
    turns = flexible is not None and flexible.order != "source"  # the source omits second-order rotations
    H_dot = column_rates(n.Pi, lambda u: node_motion(marker, eta, u).bias, rate, turns=turns)
    return Relative(n.R, n.p, n.Pi, H_dot, span)


@dataclass(frozen=True, eq=False)
class MovingFrame:
    """Moving frame: pose, partial velocities of its origin, and their rates; world axes, rows by velocity."""

    R: Array  # (3, 3)
    p: Array  # (3,)
    omega: Array  # (nv, 3)
    V: Array
    omega_dot: Array
    V_dot: Array

    @classmethod
    def at_rest(cls, nv: int) -> MovingFrame:
        """Return the world frame."""
        return cls(np.eye(3), np.zeros(3), *np.zeros((4, nv, 3)))

    @property
    def J(self) -> Array:
        """[omega; V] per velocity, (6, nv)."""
        return np.hstack([self.omega, self.V]).T

    @property
    def J_dot(self) -> Array:
        """Rates of J, (6, nv)."""
        return np.hstack([self.omega_dot, self.V_dot]).T

    def fixed(self, position: Array, rotation: Array, v: Array) -> MovingFrame:
        """Return the frame fixed in this one at `position`, `rotation`; P-H (2.18), (2.22)."""
        r = self.R @ position
        r_dot = np.cross(v @ self.omega, r)
        V = self.V + np.cross(self.omega, r)
        V_dot = self.V_dot + np.cross(self.omega_dot, r) + np.cross(self.omega, r_dot)
        return MovingFrame(self.R @ rotation, self.p + r, self.omega, V, self.omega_dot, V_dot)

    def beyond(self, motion: Relative, v: Array) -> MovingFrame:
        """Return S of (1), this frame being F."""
        return self._across(motion, v, self.R, 1.0)

    def before(self, motion: Relative, v: Array) -> MovingFrame:
        """Return F of (1), this frame being S."""
        return self._across(motion, v, self.R @ motion.C.T, -1.0)

    def _across(self, motion: Relative, v: Array, R_F: Array, sign: float) -> MovingFrame:
        out, span = sign > 0, motion.span
        d = R_F @ motion.c
        w, u, w_local, u_local = np.zeros((4, *self.omega.shape))
        w[span], u[span] = _rows(R_F, motion.H)
        w_local[span], u_local[span] = _rows(R_F, motion.H_dot)
        omega = self.omega + sign * w
        omega_F = self.omega if out else omega
        w_F = v @ omega_F
        omega_dot = self.omega_dot + sign * (np.cross(w_F, w) + w_local)
        omega_dot_F = self.omega_dot if out else omega_dot
        d_dot = np.cross(w_F, d) + v @ u
        V = self.V + sign * (np.cross(omega_F, d) + u)
        V_dot = self.V_dot + sign * (np.cross(omega_dot_F, d) + np.cross(omega_F, d_dot) + np.cross(w_F, u) + u_local)
        R = R_F @ motion.C if out else R_F
        return MovingFrame(R, self.p + sign * d, omega, V, omega_dot, V_dot)


def _rows(R: Array, columns: Array) -> tuple[Array, Array]:
    """Return the angular and the linear parts of (6, n) columns as rows (n, 3), turned by R."""
    return (R @ columns[:3]).T, (R @ columns[3:]).T
