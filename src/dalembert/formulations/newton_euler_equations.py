"""Newton-Euler equations in maximal coordinates, with all constraint forces.

Every body has six velocities and its modal velocities, U = [eta'; omega; velocity of its origin], world axes. Every
connection, in the tree or closing a loop, is a constraint. A joint between the markers 1 and 2 permits its motion H v
and constrains the orthonormal complement N of H (Sol 1983, section 3.3). With r from marker 1 to marker 2,

    V_rel = [w2 - w1; v2 - v1 - w1 x r] = H v                                                                      (1)
    A_rel = [w2' - w1' - w1 x w_rel; a2 - a1 - w1' x r - w1 x (w1 x r) - 2 w1 x v_rel] = H v' + bias               (2)
    N^T V_rel = 0,    N^T (A_rel - bias) = 0                                                                       (3)
    M U' + b = F + G^T lam,    G U' + g = 0                                                                        (4)

in axes of marker 1. A_rel is the rate of V_rel seen from marker 1; erratum: Sol's lacks w1 x w_rel. A drive prescribes
components of v = H^+ V_rel, a coupling constrains some. The rows of other constraints come from a model with free
bodies. (4) has 6 nb + modes + rows unknowns; for redundant rows, lam has minimum norm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..bodies.markers import Marker
from ..checks import checked
from ..connections.connection import Connection
from ..connections.joints import Free, Joint
from ..model import Model, State
from ..model.drive_targets import constraint_targets
from ..oracles.flexible_operators import body_inertia, node_motion, turned
from ..rotation import skew, to_quaternion
from ..system import System
from .constrained_solution import constrained
from .setting import ModelAtState, setting

__all__ = ["NewtonEuler", "newton_euler"]


@dataclass(frozen=True, eq=False)
class _Relation:
    """Relative motion of a joint in axes of its first marker: V_rel = J U, A_rel = J U' + rest."""

    J: Array  # (6, N)
    rest: Array  # (6,)
    H: Array  # (6, nv)
    bias: Array
    N: Array  # (6, 6 - nv)
    R: Array  # axes of the first marker in the world

    @property
    def speeds(self) -> tuple[Array, Array]:
        """S and s: v = S U, v' = S U' + s."""
        inverse = np.linalg.pinv(self.H)
        return inverse @ self.J, inverse @ (self.rest - self.bias)


@dataclass(frozen=True, eq=False)
class NewtonEuler:
    """Equations (4) of a system at one state, and their solution.

    Attributes
    ----------
    speed_names : tuple of str, (N,)
        Names of U: ``"crank.wx"``, ``"crank.vz"``, ``"arm.eta[0]"``.
    row_names : tuple of str, (n,)
        Rows of joints, ``"A.closure_1"``, then of other constraints, couplings and drives.
    M : (N, N), b, F : (N,)
        Masses, gyroscopic and elastic loads, applied loads with weights.
    G : (n, N), g : (n,)
    U, U_dot : (N,)
        Velocities and accelerations.
    lam : (n,)
        Multipliers of the rows.
    loads : dict of str to (6,) N m and N
        [moment; force] of each joint on its second marker, world axes, including its drives and elements.
    body_names : tuple of str
    """

    setting: ModelAtState
    speed_names: tuple[str, ...]
    row_names: tuple[str, ...]
    M: Array
    b: Array
    F: Array
    G: Array
    g: Array
    U: Array
    U_dot: Array
    lam: Array
    loads: dict[str, Array]

    def __repr__(self) -> str:
        rank = int(np.linalg.matrix_rank(self.G)) if len(self.G) else 0
        system = self.setting.model.system.name
        return f"<Newton-Euler of {system!r}: {len(self.M)} accelerations, {len(self.G)} rows of rank {rank}>"

    def accelerations(self) -> dict[str, Array]:
        """Return [angular acceleration; acceleration of the origin] (6,) of each body, world axes."""
        starts = _starts(self.setting)
        names = self.setting.model.body_names
        return {name: self.U_dot[at + nm : at + nm + 6] for name, (at, nm) in zip(names, starts, strict=True)}

    @property
    def v_dot(self) -> Array:
        """Joint accelerations (nv,): U' = J v' + J' v solved for v'."""
        kane, starts = self.setting.kane, _starts(self.setting)
        J, rest = np.zeros((len(self.U), kane.nv)), np.zeros(len(self.U))
        for frame, (at, nm), k in zip(kane.frames[1:], starts, range(1, kane.nb + 1), strict=True):
            J[at : at + nm] = np.eye(kane.nv)[kane.modal(k)[2]]
            J[at + nm : at + nm + 6], rest[at + nm : at + nm + 6] = frame.J, frame.J_dot @ kane.v
        return np.asarray(np.linalg.lstsq(J, self.U_dot - rest, rcond=None)[0], dtype=float)


@checked("state")
def newton_euler(
    system: System | Model,
    state: State | Mapping[str, Any] | None = None,
    *,
    tau: ArrayLike | None = None,
    loads: ArrayLike | None = None,
) -> NewtonEuler:
    """Assemble the Newton-Euler equations of all bodies with their constraints, and solve them.

    Parameters
    ----------
    system : System or Model
        Rigid and flexible bodies, all joints and constraints, loops, drives, elements.
    state : State, or dict of name to value
        Default the described start values.
    tau : (nv,) N m or N
        Additional joint forces.
    loads : (nb, 6) N m and N
        Additional [moment; force] on each body, at its origin, world axes.

    Returns
    -------
    NewtonEuler

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=3.0)))
    >>> found = da.formulations.newton_euler(s)
    >>> found
    <Newton-Euler of 'pendulum': 6 accelerations, 5 rows of rank 5>
    >>> found.v_dot.round(9), found.loads["A"].round(6)[3:]
    (array([14.715]), array([0.    , 0.    , 7.3575]))
    """
    here = setting(system, state, tau=tau, loads=loads)
    model, kane = here.model, here.kane
    U, M, b, F = _inertia(here)
    relations = {h.name: _relation(here, h.connection or _added(h), kane.q[span][: h.element.nq], U)
                 for h, span in zip(model.forest.joints, kane.q_spans, strict=True)}  # fmt: skip
    cut = model._cut_motion(here.q, here.v, np.zeros(model.nv))[0] if model.forest.loop_constraints else np.zeros(0)
    for loop_constraint in model.forest.loop_constraints:
        if isinstance(loop_constraint.element, Joint):
            relations[loop_constraint.name] = _relation(
                here, loop_constraint, cut[model.compiled.names.cut_q[loop_constraint.name]], U
            )

    # efforts at joints, inertia of drive trains
    efforts = _efforts(here, relations)
    for name, (x, effort) in efforts.items():
        S, s = x.speeds
        if name not in {
            loop_constraint.name for loop_constraint in model.forest.loop_constraints
        }:  # efforts at cut joints are included in the body loads
            F += S.T @ effort
        armature = _armature(model, name)
        if armature is not None:
            M = M + S.T @ np.diag(armature) @ S
            b = b + S.T @ (armature * s)

    names, G, g = _rows(here, relations, U)
    assert len(names) == len(G)
    U_dot, lam = constrained(M, F - b, G, g)
    return NewtonEuler(
        here,
        _speed_names(here),
        names,
        M,
        b,
        F,
        G,
        g,
        U,
        U_dot,
        lam,
        _loads(names, relations, efforts, U_dot, lam, here),
    )


# ---- bodies


def _starts(here: ModelAtState) -> list[tuple[int, int]]:
    """Return the index of each body's velocities in U, and the number of its modes, which come first."""
    ends = np.cumsum([0, *(nm + 6 for nm in here.kane.modes)])
    return [(int(at), nm) for at, nm in zip(ends, here.kane.modes, strict=False)]


def _speed_names(here: ModelAtState) -> tuple[str, ...]:
    parts = ("wx", "wy", "wz", "vx", "vy", "vz")
    return tuple(
        f"{body.name}.{part}"
        for body, nm in zip(here.kane.bodies, here.kane.modes, strict=True)
        for part in (*(f"eta[{k}]" for k in range(nm)), *parts)
    )


def _inertia(here: ModelAtState) -> tuple[Array, Array, Array, Array]:
    """Return U, M, b and F of (4), F without joint efforts."""
    kane, starts = here.kane, _starts(here)
    N = sum(nm + 6 for nm in kane.modes)
    U, M, b, F = np.zeros(N), np.zeros((N, N)), np.zeros(N), np.zeros(N)
    for k, (body, (at, nm)) in enumerate(zip(kane.bodies, starts, strict=True), start=1):
        eta, rate, span = kane.modal(k)
        frame, own = kane.frames[k], slice(at, at + nm + 6)
        U[own] = np.concatenate([rate, frame.J @ kane.v])
        X = np.eye(nm + 6)
        X[nm:, nm:] = turned(frame.R)
        M_k, b_k, elastic = body_inertia(body, eta, rate, frame.R.T @ (kane.v @ frame.omega))
        M[own, own], b[own] = X @ M_k @ X.T, X @ (b_k + elastic)
        F[own] = M[own, own][:, -3:] @ here.model.system.gravity
        F[at + nm : own.stop] += here.body_loads[k - 1]
        F[at : at + nm] += here.joint_forces[span]
    return U, M, b, F


# ---- joints


def _added(joint: Any) -> Connection:
    """Return the connection of a joint that the forest added for a free body."""
    return Connection(joint.name, joint.element, joint.inboard, joint.outboard)


def _point(here: ModelAtState, marker: Marker, U: Array) -> tuple[Array, Array, Array, Array]:
    """Return R, p of a marker, J (6, N) with [w; v] = J U, and the bias of their rates (6,)."""
    J = np.zeros((6, len(U)))
    number = here.model.forest.number[marker.body.name]
    if not number:
        return marker.rotation, marker.position, J, np.zeros(6)
    (at, nm), frame = _starts(here)[number - 1], here.kane.frames[number]
    eta, rate, _ = here.kane.modal(number)
    node = node_motion(marker, eta, rate)
    d, w = frame.R @ node.p, U[at + nm : at + nm + 3]
    Pi, bias = turned(frame.R) @ node.Pi, turned(frame.R) @ node.bias
    J[:, at : at + nm] = Pi
    J[:, at + nm : at + nm + 6] = np.eye(6)
    J[3:, at + nm : at + nm + 3] = -skew(d)
    of_node = Pi @ rate
    left = np.concatenate(
        [np.cross(w, of_node[:3]) + bias[:3], np.cross(w, np.cross(w, d) + 2 * of_node[3:]) + bias[3:]]
    )
    return frame.R @ node.R @ marker.rotation, frame.p + d, J, left


def _relation(here: ModelAtState, connection: Connection, q: Array, U: Array) -> _Relation:
    """Return the relative motion of a joint by (1) and (2)."""
    joint = connection.element
    assert isinstance(joint, Joint)
    (R, p1, J1, left1), (_, p2, J2, left2) = (
        _point(here, marker, U) for marker in (connection.first, connection.second)
    )
    r, to_one = p2 - p1, turned(R.T)
    J = J2 - J1
    J[3:] += skew(r) @ J1[:3]
    V, w1 = J @ U, J1[:3] @ U
    rest = left2 - left1
    rest[:3] -= np.cross(w1, V[:3])
    rest[3:] -= np.cross(left1[:3], r) + np.cross(w1, np.cross(w1, r)) + 2 * np.cross(w1, V[3:])
    H = joint.motion(q)
    v = np.asarray(np.linalg.lstsq(H, to_one @ V, rcond=None)[0], dtype=float)
    N = np.linalg.qr(H, mode="complete")[0][:, joint.nv :] if joint.nv else np.eye(6)
    return _Relation(to_one @ J, to_one @ rest, H, joint.bias(q, v), N, R)


def _efforts(here: ModelAtState, relations: Mapping[str, _Relation]) -> dict[str, tuple[_Relation, Array]]:
    """Return the efforts along the velocities of each joint."""
    model, found = here.model, {}
    for joint, span in zip(model.forest.joints, here.kane.v_spans, strict=True):
        found[joint.name] = (relations[joint.name], here.joint_forces[span][: joint.element.nv])
    for loop_constraint in model.forest.loop_constraints:
        if loop_constraint.name in relations:
            effort = here.reported["cut_effort"][model.compiled.names.cut_v[loop_constraint.name]]
            found[loop_constraint.name] = (relations[loop_constraint.name], effort)
    return found


def _armature(model: Model, name: str) -> Array | None:
    joint = next((h.element for h in model.forest.joints if h.name == name), None)
    return None if joint is None else joint.armature


# ---- rows


def _rows(here: ModelAtState, relations: Mapping[str, _Relation], U: Array) -> tuple[tuple[str, ...], Array, Array]:
    """Return names, G and g of (4)."""
    names: list[str] = []
    G, g = [np.zeros((0, len(U)))], [np.zeros(0)]
    for name, x in relations.items():
        names += [f"{name}.closure_{k + 1}" for k in range(x.N.shape[1])]
        G.append(x.N.T @ x.J)
        g.append(x.N.T @ (x.rest - x.bias))
    flying = _flying_rows(here, U)
    names += flying[0]
    G.append(flying[1])
    g.append(flying[2])
    # rows of couplings and drives, in velocities of joints and modes
    S, s = _joint_speeds(here, relations, U)
    rows, _, c = here.rows
    coupled = {coupling.name for coupling in here.model.forest.couplings}
    for k, (name, owner) in enumerate(zip(here.row_names, here.row_owners, strict=True)):
        if not owner or owner in coupled:
            names.append(name)
            G.append(rows[k : k + 1] @ S)
            g.append(np.array([c[k] + rows[k] @ s]))
    return tuple(names), np.vstack(G), np.concatenate(g)


def _joint_speeds(here: ModelAtState, relations: Mapping[str, _Relation], U: Array) -> tuple[Array, Array]:
    """Return S (nv, N) and s (nv,): v = S U, v' = S U' + s."""
    kane = here.kane
    S, s = np.zeros((kane.nv, len(U))), np.zeros(kane.nv)
    for joint, span, (at, nm) in zip(here.model.forest.joints, kane.v_spans, _starts(here), strict=True):
        own = slice(span.start, span.start + joint.element.nv)
        S[own], s[own] = relations[joint.name].speeds
        S[own.stop : span.stop, at : at + nm] = np.eye(nm)
    return S, s


def _flying_rows(here: ModelAtState, U: Array) -> tuple[list[str], Array, Array]:
    """Return names, G and g of constraints other than joints, from a model with free bodies."""
    model, kane = here.model, here.kane
    loop_constraints = [
        loop_constraint
        for loop_constraint in model.forest.loop_constraints
        if not isinstance(loop_constraint.element, Joint)
    ]
    if not loop_constraints:
        return [], np.zeros((0, len(U))), np.zeros(0)
    free = model.system.copy()
    keep = {loop_constraint.name for loop_constraint in loop_constraints}
    for name in [*free.forces, *free.couplings, *free.mimics]:
        free.forces.pop(name, None)
        free.couplings.pop(name, None)
        free.mimics.pop(name, None)
    free.drives = {name: drive for name, drive in free.drives.items() if drive.connection.name in keep}
    free.connections = {name: c for name, c in free.connections.items() if name in keep}
    free.initials = {}
    flying = free.compile()
    q = np.zeros(flying.nq)
    to_U = np.zeros((len(U), flying.nv))
    for name, (at, nm) in zip(model.body_names, _starts(here), strict=True):
        number = model.forest.number[name]
        frame, joint = kane.frames[number], flying.forest.joints[flying.forest.number[name] - 1]
        assert isinstance(joint.element, Free)
        place, span = flying.q_slice(joint.name), flying.v_slice(joint.name)
        at_joint = np.concatenate([to_quaternion(frame.R), frame.p])
        q[place.start : place.start + 7], own = at_joint, slice(span.start, span.start + 6)
        to_U[at + nm : at + nm + 6, own] = joint.element.motion(at_joint)
        if nm:
            modes_q, modes_v = flying.q_slice(name), flying.v_slice(name)
            q[modes_q] = kane.modal(number)[0]
            to_U[at : at + nm, modes_v] = np.eye(nm)
    v = np.asarray(np.linalg.solve(to_U, U), dtype=float)
    # U' = to_U v' + left, with v' = 0 of the model with free bodies
    left = np.zeros(len(U))
    A = flying.accelerations(q, v, np.zeros(flying.nv))
    for name, (at, nm) in zip(model.body_names, _starts(here), strict=True):
        left[at + nm : at + nm + 6] = A[flying.forest.number[name] - 1]
    G = np.asarray(np.linalg.solve(to_U.T, flying.constraint_jacobian(q, t=here.t).T).T, dtype=float)
    g = flying.constraint_bias(q, v, t=here.t) - constraint_targets(flying, here.t)[2] - G @ left
    return list(flying.constraint_names), G, g


# ---- solution


def _loads(
    names: tuple[str, ...],
    relations: Mapping[str, _Relation],
    efforts: Mapping[str, tuple[_Relation, Array]],
    U_dot: Array,
    lam: Array,
    here: ModelAtState,
) -> dict[str, Array]:
    """Return the load of each joint on its second marker, world axes."""
    along = np.zeros(here.kane.nv)  # multipliers of couplings and drives, in joint velocities
    rows = here.rows[0]
    for k, name in enumerate(here.row_names):
        if name in names:
            along += rows[k] * lam[names.index(name)]
    spans = {joint.name: span for joint, span in zip(here.model.forest.joints, here.kane.v_spans, strict=True)}
    found, at = {}, 0
    for name, x in relations.items():
        n = x.N.shape[1]
        effort = efforts[name][1].copy()
        if name in spans:
            effort += along[spans[name]][: len(effort)]
        armature = _armature(here.model, name)
        if armature is not None:
            S, rest = x.speeds
            effort -= armature * (S @ U_dot + rest)
        F = x.N @ lam[at : at + n] + np.linalg.pinv(x.H).T @ effort
        found[name] = turned(x.R) @ F
        at += n
    return found
