"""Tangent space of states under loops, drives and velocity constraints, in independent coordinates.

A neighbour of the state (q, v, x) has q moved by small motions xi (nv), as by `Model.integrate`, velocities v + dv and
element states x + dx. With P_h the rows that constrain positions, P all rows, w the rates P v + drift of rows,

    P_h xi = 0,   xi = 0 where positions are prescribed                                                      (1)
    P dv + w_q xi = 0,   dv = 0 where velocities are prescribed                                              (2)
    xi = Q y,   dv = V z + U y                                                                               (3)

y are the xi of independent coordinates, z the dv of independent velocities, which are among them. In holonomic systems
they are the same; with nonholonomic rows (skates, wheels) or driven velocities there are fewer z. Along the motion

    y' = E_q (V z + (U + K Q) y),   z' = E_v da,   x' = d(dx)                                                 (4)

with E_q, E_v that select the independent ones and K of `Joint.bracket`: small rotations of ball joints do not commute.
w_q xi of rows that constrain positions is exact without derivatives of P: gamma, the part of the second rates of rows
without accelerations, is quadratic in v, and P_h xi = 0 holds along the whole motion, so that

    w_q xi = [(gamma(v + xi) - gamma(v - xi)) / 2 + P K xi] / 2                                              (5)

Rows that constrain velocities only are differentiated by fourth-order central differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, BoolArray, IndexArray
from ..checks import checked
from ..closure.nearby_configurations import general_mobility
from ..closure.projection import project
from ..errors import AssemblyError, ModelError, SingularityError
from ..model import Conditions, DynamicsDerivatives, Model, State
from ..model.drive_targets import drive_targets
from ..numerics.rank import ROW_RANK_TOL, numerical_rank, pivoted_columns, singular_values, truncated_svd
from .small_motions import brackets, small_motion_names
from .state_constraints import StateConstraints

__all__ = ["Tangent", "tangent_space"]


CLOSED_SINGULAR_TOL = (
    2e-6  # of scaled rows: with loops closed to 1e-12, a zero singular value may appear as large as this
)
DRIVEN_WEIGHT = 1e-5  # weight of driven coordinates: independent wherever they determine the position
DIFFERENCE_STEP = 1e-3  # fourth-order central differences, relative error 1e-13


@dataclass(frozen=True, eq=False)
class Tangent:
    """Small changes of a state that loops, drives and velocity constraints permit.

    Attributes
    ----------
    model : Model
    conditions : Conditions or None
    state : State
    positions : (nq,) int
        Indices of the independent small motions among the velocities of the model; nq of them.
    speeds : (nz,) int
        Indices of the independent velocities, among `positions`.
    Q : (nv, nq), V : (nv, nz), U : (nv, nq)
        Of (3): xi = Q y, dv = V z + U y.
    K : (nv, nv) or None
        Of (4); None if zero for every joint.
    inputs : array or None
        In place of time laws, as returned by `Model.input_values`.
    """

    model: Model
    conditions: Conditions | None
    state: State
    positions: IndexArray
    speeds: IndexArray
    Q: Array
    V: Array
    U: Array
    K: Array | None
    inputs: Array | None = None

    @property
    def ny(self) -> int:
        """Number of independent coordinates."""
        return len(self.positions)

    @property
    def nz(self) -> int:
        """Number of independent velocities."""
        return len(self.speeds)

    @property
    def size(self) -> int:
        """Number of independent states: y, z and x."""
        return self.ny + self.nz + self.model.nx

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of y: coordinates, or small rotations and translations of joints with quaternions."""
        names = small_motion_names(self.model)
        return tuple(names[k] for k in self.positions)

    @property
    def speed_names(self) -> tuple[str, ...]:
        """Names of z: ``"A.speed"``."""
        return tuple(f"{self.model.speed_names[k]}.speed" for k in self.speeds)

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of y, z and x, in order."""
        return (*self.coordinate_names, *self.speed_names, *self.model.state_names)

    @property
    def directions(self) -> tuple[Array, Array, Array]:
        """Changes per unit of each independent state: xi (nv, size), dv (nv, size), dx (nx, size)."""
        n, nz, nx = self.ny, self.nz, self.model.nx
        nv = self.model.nv
        xi = np.hstack([self.Q, np.zeros((nv, nz + nx))])
        dv = np.hstack([self.U, self.V, np.zeros((nv, nx))])
        return xi, dv, np.hstack([np.zeros((nx, n + nz)), np.eye(nx)])

    def derivatives(self, parameters: Sequence[str] = (), **more: Any) -> DynamicsDerivatives:
        """Return `Model.d_dynamics` at the state under the conditions and inputs, without those of multipliers."""
        s, how = self.state, {**self.under, "multipliers": False}
        return self.model.d_dynamics(s.t, s.q, s.v, s.x, parameters=parameters, **{**how, **more})

    @property
    def under(self) -> dict[str, Any]:
        """Keyword arguments of kernels besides the state: conditions and inputs."""
        return {"conditions": self.conditions, "inputs": self.inputs}

    def kinematics(self) -> tuple[Array, Array]:
        """Return the derivatives of y' in (4): by y (nq, nq), and by z (nq, nz)."""
        by_y = self.U if self.K is None else self.U + self.K @ self.Q
        return by_y[self.positions], self.V[self.positions]

    def reduce(self, d: DynamicsDerivatives) -> Array:
        """Return A (size, size) of the independent states, (4), from derivatives at the state."""
        n, m = self.ny, self.ny + self.nz
        A = np.zeros((self.size, self.size))
        A[:n, :n], A[:n, n:m] = self.kinematics()
        for rows, by, places in ((slice(n, m), d.a, self.speeds), (slice(m, None), d.dx, slice(None))):
            q, v = by.q[places], by.v[places]
            A[rows, :n] = q @ self.Q + v @ self.U
            A[rows, n:m] = v @ self.V
            A[rows, m:] = by.x[places]
        return A

    def mass_matrix(self) -> Array:
        """Return V^T M V (nz, nz), the mass matrix in the independent velocities."""
        M = self.V.T @ self.model.mass_matrix(self.state.q) @ self.V
        return np.asarray((M + M.T) / 2)

    # ---- neighbours

    def neighbour(self, y: ArrayLike = 0.0, z: ArrayLike = 0.0, x: ArrayLike = 0.0) -> State:
        """Return a consistent state with independent coordinates changed by y, velocities by z, states by x.

        Position rows are solved by Newton's method at fixed independent coordinates; then velocity rows for velocities.

        Raises
        ------
        AssemblyError
            If the loops do not close.
        """
        model, s = self.model, self.state
        y, z = (np.broadcast_to(np.asarray(part, dtype=float), (n,)) for part, n in ((y, self.ny), (z, self.nz)))
        place, pace, _ = drive_targets(model, float(s.t))
        q = model.integrate(s.q, self.Q @ y)
        q = np.where(np.isnan(place), q, place)
        rows = StateConstraints.of(model, self.conditions, s.t)
        if rows.placing.any():
            q = self._closed(q, rows, y)
        v = np.where(np.isnan(pace), s.v, pace)
        v[self.speeds] += z
        loose = ~rows.paced
        loose[self.speeds] = False
        v = rows.project_velocities(q, v, loose)
        return State(q=q, v=v, t=s.t, x=s.x + np.broadcast_to(np.asarray(x, dtype=float), (model.nx,)))

    def _closed(self, q: Array, rows: StateConstraints, y: Array) -> Array:
        """Return q (nq,) that satisfies the position rows at fixed independent coordinates."""
        loose = ~rows.placed
        loose[self.positions] = False
        found = project(rows.of_positions, q, loose, tolerance=10 * rows.loops.floor)
        if found is not None:
            return found.q
        raise AssemblyError(
            f"no neighbour with {dict(zip(self.coordinate_names, y.tolist(), strict=True))}: the loops do not close at "
            "these values of the independent coordinates"
        )


@checked("model", "state", "independent_coordinates", "prefer", "conditions")
def tangent_space(
    model: Model,
    state: State,
    *,
    independent_coordinates: Sequence[str] | None = None,
    independent_velocities: Sequence[str] | None = None,
    prefer: Sequence[str] = (),
    conditions: Conditions | None = None,
    inputs: Array | None = None,
    item: str = "linearize",
) -> Tangent:
    """Return the tangent space at a state that satisfies the loops.

    Parameters
    ----------
    model : Model
    state : State
        As returned by `start_state`.
    independent_coordinates : names of coordinates
        All of them; default those with driven velocities, then those chosen by pivoting.
    independent_velocities : names of velocities
        The independent ones among them, if rows constrain velocities only; default by pivoting.
    prefer : names of coordinates
        Independent if possible; the others by pivoting.
    conditions : Conditions
        Locked joints, open loops, parameters.
    inputs : array
        In place of time laws, as returned by `Model.input_values`.

    Raises
    ------
    AssemblyError
        If the state violates loops or drives.
    SingularityError
        If the configuration is singular, or the named coordinates are not independent.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library.mechanisms import four_bar
    >>> from dalembert.linear import tangent_space
    >>> model = four_bar().compile()
    >>> state = da.start_state(model)
    >>> space = tangent_space(model, state, independent_coordinates=["A"])
    >>> space.state_names, space.Q.shape
    (('A', 'A.speed'), (3, 1))
    """
    q, v, t = state.q, state.v, float(state.t)
    rows = StateConstraints.of(model, conditions, t)
    rows.check(state)
    K = brackets(model, v)
    D = rows.loops.column_scales
    J = rows.loops.jacobian(q) if model.nc else np.zeros((0, model.nv))
    free = np.flatnonzero(~rows.placed)
    wanted = None if independent_coordinates is None else _named(model, independent_coordinates, item)
    at_once = bool((rows.held == rows.placing).all() and (rows.paced == rows.placed).all())
    weight = np.ones(model.nv)
    weight[_named(model, prefer, item, "free")] = 1e-3  # pivots last
    weight[rows.paced & ~rows.placed] = DRIVEN_WEIGHT
    positions, Q = _split(model, J[rows.placing], D, free, wanted, weight, item)
    if len(positions) > _expected(model, rows, len(free)):
        _check_singular(model, state, rows, positions, Q)
    _check_nearly_singular(model, J[rows.placing][:, free], free)
    paces, V = positions, Q
    if not at_once:
        requested = (
            None
            if independent_velocities is None
            else _named(model, independent_velocities, item, "independent_velocities")
        )
        paces, V = _fewer(model, J[rows.held & ~rows.placing], D, rows.paced, positions, Q, requested, item)
    U = _following(model, state, rows, J, paces, Q, K)
    return Tangent(model, conditions, state, positions, paces, Q, V, U, K, inputs)


def _split(
    model: Model, J: Array, D: Array, free: IndexArray, wanted: IndexArray | None, weight: Array, item: str
) -> tuple[IndexArray, Array]:
    """Return independent columns among the free ones of scaled rows J, and the unit motions (nv, n) of each."""
    columns = free if wanted is None else np.array([k for k in free if k not in set(wanted.tolist())], dtype=np.intp)
    dependent, left = (columns[some] for some in pivoted_columns(J[:, columns] * weight[columns])[:2])
    if wanted is not None:
        _check_chosen(model, J, wanted, free, left, item)
    positions = np.sort(left) if wanted is None else wanted
    Q = np.zeros((model.nv, len(positions)))
    Q[positions, np.arange(len(positions))] = 1.0
    if len(dependent) and len(positions):
        X = np.linalg.lstsq(J[:, dependent], J[:, positions], rcond=None)[0]
        Q[dependent] = -D[dependent, None] * X / D[positions]
    return positions, Q


def _fewer(
    model: Model,
    J: Array,
    D: Array,
    paced: BoolArray,
    positions: IndexArray,
    Q: Array,
    requested: IndexArray | None,
    item: str,
) -> tuple[IndexArray, Array]:
    """Return the independent motions with independent velocities, and V (nv, nz), for velocity rows."""
    held = np.flatnonzero(paced)
    size = D[positions]
    scaled = Q * size / D[:, None]
    rows = np.vstack([J @ scaled, scaled[held]])
    following, others, _ = pivoted_columns(rows)
    rank, kept = len(following), np.sort(others)
    if requested is not None:
        kept = np.array([k for k, place in enumerate(positions) if place in set(requested.tolist())], dtype=np.intp)
        if len(kept) != len(positions) - rank or len(kept) != len(requested):
            given = tuple(model.speed_names[k] for k in requested)
            few = f"name {len(positions) - rank} of {', '.join(repr(model.speed_names[k]) for k in positions)}"
            raise ModelError(item, "independent_velocities", given, few)
    rest = np.setdiff1d(np.arange(len(positions)), kept)
    W = np.zeros((len(positions), len(kept)))
    W[kept, np.arange(len(kept))] = 1.0
    if rank:
        X, _, found, _ = np.linalg.lstsq(rows[:, rest], rows[:, kept], rcond=ROW_RANK_TOL)
        if found < rank:
            names = ", ".join(repr(model.speed_names[k]) for k in positions[kept])
            raise SingularityError(
                f"{names} do not determine the other velocities: use others in independent_velocities="
            )
        W[rest] = -size[rest, None] * X / size[kept]
    V = Q @ W
    V[held] = 0.0
    return positions[kept], V


def _following(
    model: Model, state: State, rows: StateConstraints, J: Array, speeds: IndexArray, Q: Array, K: Array | None
) -> Array:
    """Return U (nv, nq) of (3): derivatives of velocities by positions at fixed independent velocities, (2)."""
    U = np.zeros_like(Q)
    if not rows.held.any() or not Q.shape[1]:
        return U
    held, S, D = rows.held, rows.loops.row_scales, rows.loops.column_scales
    W = S[held, None] * rate_slopes(model, state, rows.placing, Q, K)[held]
    if not W.any():
        return U
    loose = ~rows.paced
    loose[speeds] = False
    X, _, _, _ = np.linalg.lstsq(J[held][:, loose], -W, rcond=ROW_RANK_TOL)
    missed = np.abs(J[held][:, loose] @ X + W).max(initial=0.0)
    if missed > 1e-6 * (1.0 + np.abs(W).max(initial=0.0)):
        name = model.constraint_names[int(np.flatnonzero(held)[int(np.abs(J[held][:, loose] @ X + W).max(1).argmax())])]
        raise SingularityError(
            f"no velocities satisfy row {name!r} at neighbouring positions: the position is singular; use another one"
        )
    U[loose] = D[loose, None] * X
    return U


def rate_slopes(model: Model, state: State, holonomic: BoolArray, Q: Array, K: Array | None) -> Array:
    """Return derivatives (nc, n) of the rates P v + drift along small motions Q (nv, n) tangent to the rows."""
    q, v, t = state.q, state.v, float(state.t)
    n = Q.shape[1]
    slopes = np.zeros((model.nc, n))
    if holonomic.any():
        both = model.constraint_bias(
            np.broadcast_to(q, (2 * n, len(q))), np.vstack([v + Q.T, v - Q.T]), t=np.full(2 * n, t)
        )
        slopes = (both[:n] - both[n:]).T / 2
        if K is not None:
            slopes = slopes + model.constraint_jacobian(q, t=t) @ (K @ Q)
        slopes = slopes / 2
    if (~holonomic).any():
        slopes[~holonomic] = _differences(model, q, v, t, Q)[~holonomic]
    return slopes


def _differences(model: Model, q: Array, v: Array, t: float, Q: Array) -> Array:
    """Return derivatives (nc, n) of P v + drift along Q by central differences."""
    n = Q.shape[1]
    moves = np.concatenate([k * DIFFERENCE_STEP * Q.T for k in (1, -1, 2, -2)])
    near = model.integrate(np.broadcast_to(q, (4 * n, len(q))), moves)
    times = np.full(4 * n, t)
    rates = model.constraint_jacobian(near, t=times) @ v + model.constraint_drift(near, t=times)
    up, down, far_up, far_down = rates.reshape(4, n, -1)
    return np.asarray((8 * (up - down) - (far_up - far_down)).T / (12 * DIFFERENCE_STEP))


# ---- checks


def _named(model: Model, names: Sequence[str], item: str, field: str = "independent_coordinates") -> IndexArray:
    known, also = small_motion_names(model), model.speed_names
    requested = [names] if isinstance(names, str) else list(names)
    for name in requested:
        if name not in known and name not in also:
            shown = ", ".join(map(repr, known[:12]))
            raise ModelError(item, field, name, f"name coordinates of the tree: {shown}")
    places = [known.index(name) if name in known else also.index(name) for name in requested]
    if len(set(places)) < len(places):
        raise ModelError(item, field, tuple(requested), "give each name once")
    return np.array(places, dtype=np.intp)


def _check_chosen(model: Model, J: Array, wanted: IndexArray, free: IndexArray, left: IndexArray, item: str) -> None:
    """Raise for named coordinates that are prescribed, too few, too many or dependent."""
    names = small_motion_names(model)
    given = sorted(set(wanted.tolist()) - set(free.tolist()))
    if given:
        raise ModelError(item, "independent_coordinates", names[given[0]], "a drive or a lock prescribes it")
    whole = numerical_rank(singular_values(J[:, free]), ROW_RANK_TOL)
    count = len(free) - whole
    if len(wanted) != count:
        requested = tuple(names[k] for k in wanted)
        raise ModelError(
            item, "independent_coordinates", requested, f"give {count} coordinates, one for each independent one"
        )
    if len(left):
        raise SingularityError(
            f"{', '.join(repr(names[k]) for k in wanted)} do not determine the position of "
            f"{', '.join(repr(names[k]) for k in left)}: use others in independent_coordinates="
        )


def _expected(model: Model, rows: StateConstraints, free: int) -> int:
    """Return the number of independent coordinates in generic configurations, without redundant rows."""
    lean = set(model.independent_rows)
    return free - sum(1 for name, on in zip(model.constraint_names, rows.placing, strict=True) if on and name in lean)


def smallest_singular_pair(J: Array) -> tuple[float, Array]:
    """Return the smallest singular value of scaled rows (m, n) above round-off, and its motion (n,)."""
    if not J.size:
        return 1.0, np.zeros(J.shape[1])
    independent, _, pivots = pivoted_columns(J)
    last = pivots[max(len(independent) - 1, 0)]
    if last > 1e-2:  # pivots approximate singular values up to a small factor: far from singular
        return float(last), np.zeros(J.shape[1])
    _, s, Vt = truncated_svd(J, ROW_RANK_TOL, 1.0)
    return (float(s[-1]), Vt[-1]) if len(s) else (1.0, np.zeros(J.shape[1]))


def _check_nearly_singular(model: Model, J: Array, free: IndexArray) -> None:
    """Raise for a configuration that is singular within the closure error of the loops."""
    least, motion = smallest_singular_pair(J)
    if least >= CLOSED_SINGULAR_TOL:
        return
    names = small_motion_names(model)
    shown = ", ".join(repr(names[k]) for k in free[np.abs(motion) > 0.1][:8])
    raise SingularityError(
        f"the position is singular within the closure error of the loops: the singular value of the motion of {shown} "
        f"is {least:.1e}. The motion nearby is not linear in the state; linearize about another position"
    )


def _check_singular(model: Model, state: State, rows: StateConstraints, positions: IndexArray, Q: Array) -> None:
    """Raise for a configuration with more degrees of freedom than nearby ones."""
    here = len(positions)
    nearby = general_mobility(rows.of_positions, state.q, here, free=~rows.placed)
    if nearby == here:
        return
    names = small_motion_names(model)
    moving = np.flatnonzero(np.abs(Q / rows.loops.column_scales[:, None]).max(axis=1, initial=0.0) > ROW_RANK_TOL)
    shown = ", ".join(repr(names[k]) for k in moving[:8])
    raise SingularityError(
        f"the position is singular: {here} DOF here, {nearby} nearby, along {shown}. The motion "
        "nearby is not linear in the state; linearize about another position"
    )
