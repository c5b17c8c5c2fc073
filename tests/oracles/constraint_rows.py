"""The constraint form of every joint, and of contacts, in slow and obvious NumPy: the oracle of the compiled rows.

Frame A is the first marker turned by ``joint.frame()``, frame B the second one turned likewise. With R = R_AB and
p = p_AB, both in axes of A, the motion of B seen from A is

    w  = R_WA^T (w_B - w_A)                                             R' = w x R
    p' = R_WA^T (v_B - v_A - w_A x d),   d = p_WB - p_WA
    w' = R_WA^T (alpha_B - alpha_A - w_A x w_B)
    p'' = R_WA^T (a_B - a_A - alpha_A x d - 2 w_A x (v_B - v_A) + w_A x (w_A x d))

and each row is a function of R and p, differentiated by hand. Only poses, Jacobians and bias accelerations of markers
are taken from the model.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from oracles import contacts

from dalembert.connections.connection import Connection
from dalembert.connections.constraints.cams import CamFollower, PointOnCurve
from dalembert.model import Model
from dalembert.rotation import quaternion_from_matrix

Array = NDArray[np.float64]

ROWS: dict[str, tuple[str, ...]] = {
    "Fixed": ("x", "y", "z", "rx", "ry", "rz"),
    "Revolute": ("x", "y", "z", "tilt_x", "tilt_y"),
    "Prismatic": ("x", "y", "rx", "ry", "rz"),
    "Screw": ("x", "y", "tilt_x", "tilt_y", "advance"),
    "Cylindrical": ("x", "y", "tilt_x", "tilt_y"),
    "Universal": ("x", "y", "z", "skew"),
    "Planar": ("z", "tilt_x", "tilt_y"),
    "Spherical": ("x", "y", "z"),
    "Free": (),
    **contacts.ROWS,
}
"""Names of the rows of each element, in order."""


class Rows(NamedTuple):
    """Residual (nc,), P (nc, nv) and, if speeds were given, bias P' v (nc,)."""

    residual: Array
    jacobian: Array
    bias: Array


def names(model: Model) -> tuple[str, ...]:
    """Return the names of all rows, loop constraint by loop constraint."""
    return tuple(
        f"{loop_constraint.name}.{row}"
        for loop_constraint in model.forest.loop_constraints
        for row in ROWS[loop_constraint.element.kind]
    )


def rows(model: Model, q: Array, v: Array | None = None) -> Rows:
    """Return residual, Jacobian and bias of all loop constraints of a model."""
    speeds = np.zeros(model.nv) if v is None else v
    parts = [
        _loop_constraint_rows(model, loop_constraint, q, speeds) for loop_constraint in model.forest.loop_constraints
    ]
    return Rows(
        np.concatenate([np.zeros(0), *(p.residual for p in parts)]),
        np.vstack([np.zeros((0, model.nv)), *(p.jacobian for p in parts)]),
        np.concatenate([np.zeros(0), *(p.bias for p in parts)]),
    )


def _loop_constraint_rows(model: Model, loop_constraint: Connection, q: Array, v: Array) -> Rows:
    contact = loop_constraint.element if isinstance(loop_constraint.element, (PointOnCurve, CamFollower)) else None
    F = np.eye(3) if contact else loop_constraint.element.frame()
    A, B = model.pose(loop_constraint.first, q), model.pose(loop_constraint.second, q)
    to_A = (A.rotation @ F).T
    R, d = to_A @ B.rotation @ F, B.position - A.position
    p = to_A @ d
    J_A, J_B = model.jacobian(loop_constraint.first, q), model.jacobian(loop_constraint.second, q)
    b_A, b_B = (
        model.bias_acceleration(loop_constraint.first, q, v),
        model.bias_acceleration(loop_constraint.second, q, v),
    )
    V_A, V_B = J_A @ v, J_B @ v

    # relative motion, as matrices on v and as vectors for the bias
    W = to_A @ (J_B[:3] - J_A[:3])
    U = to_A @ (J_B[3:] - J_A[3:] + cross(d) @ J_A[:3])
    w = W @ v
    alpha = to_A @ (b_B[:3] - b_A[:3] - np.cross(V_A[:3], V_B[:3]))
    slip = np.cross(V_A[:3], np.cross(V_A[:3], d)) - 2 * np.cross(V_A[:3], V_B[3:] - V_A[3:])
    accel = to_A @ (b_B[3:] - b_A[3:] - np.cross(b_A[:3], d) + slip)

    if contact:
        rows = contacts.gradient(contact, R, p)
        rest = contacts.bias(contact, R, p, np.concatenate([w, U @ v])) + rows @ np.concatenate([alpha, accel])
        return Rows(contacts.residual(contact, R, p), rows @ np.vstack([W, U]), rest)
    residual, jacobian, bias = [], [], []
    for name in ROWS[loop_constraint.element.kind]:
        if name in ("x", "y", "z"):
            i = "xyz".index(name)
            value, row, rest = p[i], U[i], accel[i]
        elif name in ("rx", "ry", "rz"):
            i = "xyz".index(name[1])
            e = quaternion_from_matrix(R)  # scalar part not negative: sgn(q0) is inside
            value, row = 2 * e[1 + i], e[0] * W[i] + (-cross(e[1:]) @ W)[i]
            vector_rate = 0.5 * (e[0] * w + np.cross(w, e[1:]))
            scalar_rate = -0.5 * w @ e[1:]
            rest = (scalar_rate * w + e[0] * alpha + np.cross(alpha, e[1:]) + np.cross(w, vector_rate))[i]
        elif name == "advance":
            value, row, rest = _advance(
                float(getattr(loop_constraint.element, "pitch", 0.0)), R, p, W, U, w, alpha, accel
            )
        else:
            # x.(R z), y.(R z), or x.(R y): u' = w x u, u'' = w' x u + w x (w x u) for an axis u of B
            u = R[:, 1] if name == "skew" else R[:, 2]
            i = 1 if name == "tilt_y" else 0
            value, row = u[i], (-cross(u) @ W)[i]
            rest = (np.cross(alpha, u) + np.cross(w, np.cross(w, u)))[i]
        residual.append(value)
        jacobian.append(row)
        bias.append(rest)
    return Rows(np.array(residual), np.array(jacobian).reshape(-1, model.nv), np.array(bias))


def _advance(
    pitch: float, R: Array, p: Array, W: Array, U: Array, w: Array, alpha: Array, accel: Array
) -> tuple[float, Array, float]:
    """p_z - pitch theta / (2 pi), taken modulo the pitch to the nearest, with theta = atan2(s, c)."""
    s, c = R[1, 0] - R[0, 1], R[0, 0] + R[1, 1]
    r2 = s * s + c * c
    # s and c are linear in R, and R' = w x R: their rates as rows on w
    s_row = np.array([np.cross(unit, R[:, 0])[1] - np.cross(unit, R[:, 1])[0] for unit in np.eye(3)])
    c_row = np.array([np.cross(unit, R[:, 0])[0] + np.cross(unit, R[:, 1])[1] for unit in np.eye(3)])
    turn = (c * s_row - s * c_row) / r2
    R2 = cross(alpha) @ R + cross(w) @ cross(w) @ R
    s1, c1, s2, c2 = s_row @ w, c_row @ w, R2[1, 0] - R2[0, 1], R2[0, 0] + R2[1, 1]
    theta2 = (c * s2 - s * c2) / r2 - 2 * (c * s1 - s * c1) * (s * s1 + c * c1) / r2**2
    lead = pitch / (2 * math.pi)
    value = p[2] - lead * math.atan2(s, c)
    if pitch:
        value -= pitch * round(value / pitch)
    return value, U[2] - lead * (turn @ W), float(accel[2] - lead * theta2)


def cross(x: Array) -> Array:
    """Return the matrix with cross(x) @ y = x cross y."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])
