"""Unbalanced generalized forces and their derivatives, along the motions that constraints permit.

With f the joint forces required for zero accelerations (inertia of a steady motion, weights, minus forces of elements),
P the rows of loops, H the rows of held coordinates:

    f = P^T lam + H^T mu + r          lam, mu by least squares                                                    (1)
    g = F^T f = F^T r                 F: virtual motions, P F = 0                                                 (2)
    dg = F^T (f_q - (P^T lam)_q) B dy = -F^T M a_q B dy                                                           (3)

g vanishes in equilibrium. In (3) a are the accelerations of `Model.dynamics` under joint forces r and those of holds.
They are zero, so that the derivative of M does not enter and lam are the multipliers. The derivatives of the core,
exact for trees and loops, give the stiffness of springs, of weights, and of loads that turn with rows and bodies.
Derivatives by velocities, element states, inputs and parameters are computed in the same way. y are motions along B, an
orthonormal basis in rad and lengths of the system.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .. import _core
from ..arrays import Array, BoolArray, IndexArray
from ..closure.equations import RelativeEquations
from ..closure.loop_equations import LoopEquations
from ..closure.projection import project
from ..closure.scaled_equations import CoordinateMeasure, ScaledEquations
from ..connections.joints import Free
from ..errors import AssemblyError, ModelError, SingularityError
from ..model import Conditions, Derivatives, Model
from ..numerics.rank import ROUNDOFF_RANK_TOL, ROW_RANK_TOL, null_space
from ..rotation import skew

__all__ = ["BalanceEvaluation", "ForceBalance", "flat", "straight"]


_FORCES = _core.report_parts.index("forces")
SYMMETRY_TOL = 1e-7  # of the stiffness of forces with a potential
FLAT_TOL = 1e-9  # stiffness relative to the largest, below which it counts as zero
MAX_EIGENVALUES = 60  # degrees of freedom above which a Cholesky factor is tried before eigenvalues
DIFFERENCE_STEP = 1e-6  # rad or lengths: central differences, used if massless bodies have no accelerations


@dataclass(frozen=True, eq=False)
class ForceBalance:
    """Equations of equilibrium or steady motion under given conditions.

    Attributes
    ----------
    model : Model
    t : float, s
    conditions : Conditions
        Conditions of the evaluation of elements.
    inputs : dict of str to float
        In place of time laws.
    fixed : (nv,) bool
        Mask of small motions that are fixed: driven and held ones, and those with steady velocities.
    prescribed : (nv,) bool
        Mask of those with efforts of drives or holds.
    held : dict of CoordinateMeasure to float
        Coordinates held by rows with the required efforts, and their values, rad or m.
    trimmed : dict of CoordinateMeasure to float
        Coordinates with required values but without efforts: unknowns have to provide them.
    v : (nv,) rad/s or m/s
        Steady velocities.
    idle : (nx,) bool
        Element states that affect nothing: they need not be stationary.
    """

    model: Model
    t: float
    conditions: Conditions
    inputs: Mapping[str, float]
    fixed: BoolArray
    prescribed: BoolArray
    v: Array
    held: Mapping[CoordinateMeasure, float] = field(default_factory=dict)
    trimmed: Mapping[CoordinateMeasure, float] = field(default_factory=dict)
    idle: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))

    # ---- configurations

    @cached_property
    def closed(self) -> ScaledEquations:
        """Closure equations with held coordinates."""
        equations = RelativeEquations(self.model)
        return ScaledEquations(equations, {**self.held, **self.trimmed}, self.t, self.fixed)

    @cached_property
    def _open(self) -> ScaledEquations:
        """The same with a column for every small motion, also fixed ones, because virtual motions may use them."""
        return ScaledEquations(RelativeEquations(self.model), {**self.held, **self.trimmed}, self.t)

    @cached_property
    def _rolling(self) -> IndexArray:
        """Indices of rows that constrain velocities only."""
        model = self.model
        closing = np.asarray(model.compiled.names.closing, dtype=bool)
        return np.flatnonzero(closing & ~np.asarray(model.holonomic, dtype=bool))

    @cached_property
    def loops_within_trees(self) -> LoopEquations | None:
        """Equations of many coupled loops that the core eliminates; None if these are not all."""
        if len(self._rolling) or self.model.compiled.elements.feedbacks.array().size:
            return None
        return self._open.loops

    @cached_property
    def scales(self) -> Array:
        """Scales of small motions (nv,): 1 rad, or the length of the system."""
        return self.closed.scales

    def with_held(self, held: Mapping[CoordinateMeasure, float]) -> ForceBalance:
        """Return the balance with further coordinates held."""
        return replace(self, held={**self.held, **held})

    def retract(self, q: Array, step: Array) -> Array | None:
        """Return the closed configuration after a scaled step (nv,) from q; None if loops do not close."""
        return self.retracted(self.closed.retract(q, step))

    def retracted(self, q: Array) -> Array | None:
        """Return the closed configuration nearest to q; None if loops do not close nearby."""
        if not self.closed.rows:
            return q
        found = project(self.closed, q, ~self.fixed, max_step=1.0)
        return None if found is None else found.q

    # ---- evaluation

    @cached_property
    def input_values(self) -> Array | None:
        """Inputs of elements as one array; None if none are given."""
        return self.model.input_values(self.inputs) if self.inputs else None

    @property
    def held_indices(self) -> set[int]:
        """Indices of held coordinates, as locked by conditions."""
        return {m.column if m.column >= 0 else self.model.nv + m.place for m in self.held}

    @cached_property
    def locking(self) -> Conditions:
        """Conditions with locks of held cut joints, whose rows may turn."""
        nv = self.model.nv
        cut = {nv + m.place for m in (*self.held, *self.trimmed) if m.column < 0}
        return self.conditions.changed(locked=self.conditions.locked | cut) if cut else self.conditions

    def rows(self, q: Array) -> tuple[Array, Array, Array]:
        """Return scaled rows (k, nv): of loops and wheels, of held coordinates, of trimmed coordinates."""
        J = self._open.jacobian(q) if self._open.rows else np.zeros((0, self.model.nv))
        n = len(self.held) + len(self.trimmed)
        loops, rest = J[: len(J) - n], J[len(J) - n :]
        if len(self._rolling):
            P = self.model.constraint_jacobian(q, t=self.t)[self._rolling]
            scale = np.asarray(self.model.compiled.tables["row_scale"])[self._rolling, None]
            loops = np.vstack([loops, scale * P * self.scales])
        return loops, rest[: len(self.held)], rest[len(self.held) :]

    def supplied(self, q: Array, x: Array, lam: Array | None = None) -> Array:
        """Return f of (1), (nv,) or (B, nv) N m or N."""
        model, still = self.model, np.zeros(self.model.nv)
        v = self.v if q.ndim == 1 else np.broadcast_to(self.v, (len(q), model.nv))
        how: dict[str, Any] = {
            "t": self.t if q.ndim == 1 else np.full(len(q), self.t),
            "x": x,
            "inputs": self.input_values,
        }
        if q.ndim > 1 and self.input_values is not None:
            how["inputs"] = np.broadcast_to(self.input_values, (len(q), len(self.input_values)))
        if lam is not None and model.compiled.elements.feedbacks.array().size:
            how["lam"] = lam
        return model._required_forces(q, v, still, conditions=self.conditions, **how)

    def evaluate(self, q: Array, x: Array) -> BalanceEvaluation:
        """Evaluate the balance at a closed configuration."""
        return BalanceEvaluation(self, q, x)


class BalanceEvaluation:
    """Force balance at a configuration q (nq,) with element states x (nx,)."""

    def __init__(self, balance: ForceBalance, q: Array, x: Array) -> None:
        self.balance, self.q, self.x = balance, q, x
        model, D = balance.model, balance.scales
        moving = ~balance.fixed
        allowed = ~balance.prescribed
        same = not balance.trimmed and bool((moving == allowed).all())
        within_trees = balance.loops_within_trees
        if within_trees is None:
            loops, held, trimmed = balance.rows(q)
            self.B = null_space(np.vstack([loops, held, trimmed]), free=moving)
            self.F = self.B if same else null_space(np.vstack([loops, held]), free=allowed)
            self._shares(loops, held, allowed, None)
            if model.nc and model.compiled.elements.feedbacks.array().size:
                self._shares(loops, held, allowed, self.lam)
        else:
            self.B = within_trees.null_space(q, moving)
            self.F = self.B if same else within_trees.null_space(q, allowed)
            self._shares_within_trees()
        self._unconstrained = same and self.B.shape[1] == model.nv
        self.g = D * self.f if self._unconstrained else self.F.T @ (D * self.f)

    def _shares(self, loops: Array, held: Array, allowed: BoolArray, lam: Array | None) -> None:
        """Compute f, lam, mu and r of (1), and the joint forces tau for zero accelerations.

        tau contains r and the efforts of drives and holds at tree coordinates; those at cut joints are multipliers.
        """
        balance, model = self.balance, self.balance.model
        D = balance.scales
        self.f = balance.supplied(self.q, self.x, lam)
        rows = np.vstack([loops, held])
        self.lam, self.mu, self.r = np.zeros(model.nc), np.zeros(len(held)), self.f.copy()
        self.tau = self.f.copy()
        if len(rows):
            y: Array = np.linalg.lstsq(rows[:, allowed].T, (D * self.f)[allowed], rcond=ROW_RANK_TOL)[0].astype(float)
            P = model.constraint_jacobian(self.q, t=balance.t)
            self.lam = self._multipliers(y[: len(loops)])
            self.mu = y[len(loops) :]
            of_tree = np.array([m.column >= 0 for m in balance.held], dtype=bool)
            self.r = self.f - P.T @ self.lam - (held.T @ self.mu) / D
            self.tau = self.r + (held[of_tree].T @ self.mu[of_tree]) / D
        self.r[~allowed] = 0.0

    def _shares_within_trees(self) -> None:
        """Compute the same by elimination within the trees: r = F F^T f, and lam with which r accelerates nothing."""
        balance, model, D = self.balance, self.balance.model, self.balance.scales
        self.f = balance.supplied(self.q, self.x)
        self.r = (self.F @ (self.F.T @ (D * self.f))) / D
        self.tau, self.mu = self.r, np.zeros(0)
        how: dict[str, Any] = {"inputs": balance.input_values, "conditions": balance.locking}
        self.lam = model.dynamics(balance.t, self.q, balance.v, self.x, tau=self.r, **how).lam

    def _multipliers(self, y: Array) -> Array:
        """Return lam (nc,) from multipliers of the evaluated scaled rows."""
        balance, model = self.balance, self.balance.model
        lam, scale = np.zeros(model.nc), np.asarray(model.compiled.tables["row_scale"])
        places = [k for k in balance.closed._rows if k < model.nc]
        lam[places] = y[: len(places)]
        # rows of driven joints follow them, and constrain no free motion
        lam[balance._rolling] = y[len(y) - len(balance._rolling) :]
        return np.asarray(lam * scale)

    # ---- magnitudes and derivatives

    @cached_property
    def size(self) -> float:
        """Magnitude of the balanced loads of connections and elements, J, in rad and lengths."""
        balance, model, loads = self.balance, self.balance.model, self.loads
        scaled = [loads[:, :3], model.length * loads[:, 3:], balance.scales * self.f]
        if model.compiled.elements.elements:
            scaled.append(model.length * model._report([_FORCES], self.q, balance.v, **self._under)[0])
        return max(float(np.abs(part).max(initial=0.0)) for part in scaled)

    @property
    def _under(self) -> dict[str, Any]:
        balance = self.balance
        return {"t": balance.t, "x": self.x, "inputs": balance.input_values, "conditions": balance.conditions}

    @cached_property
    def loads(self) -> Array:
        """Loads of connections on their second markers at constant velocities, (n, 6) N m and N."""
        model = self.balance.model
        return model._loads_of_motion(self.q, self.balance.v, np.zeros(model.nv), lam=self.lam, **self._under)

    @property
    def lacking(self) -> Array:
        """Forces that loops do not supply, f - P^T lam, (nv,) N m or N."""
        P = self.balance.model.constraint_jacobian(self.q, t=self.balance.t)
        return self.f - P.T @ self.lam

    @property
    def loose(self) -> Array:
        """Scaled motions without stiffness, (nv, k)."""
        if len(self.g) > MAX_EIGENVALUES and self.is_definite:
            return np.zeros((len(self.B), 0))
        k, E = np.linalg.eigh((self.stiffness + self.stiffness.T) / 2)
        return np.asarray(self.B @ E[:, np.abs(k) <= flat(k, self.size)])

    @cached_property
    def dx(self) -> Array:
        """Rates of the element states, (nx,)."""
        balance, model = self.balance, self.balance.model
        if not model.nx:
            return np.zeros(0)
        how: dict[str, Any] = {"inputs": balance.input_values, "conditions": balance.locking}
        found = model.report(["dx"], balance.t, self.q, balance.v, self.x, tau=self.tau, **how)
        rates = np.asarray(found["dx"])
        return np.where(balance.idle, 0.0, rates) if len(balance.idle) else rates

    def slopes(self, parameters: tuple[str, ...] = ()) -> tuple[Derivatives, Derivatives]:
        """Return derivatives of f (nv, ...) by (3), and of dx; by differences if accelerations are undefined."""
        balance, model = self.balance, self.balance.model
        how: dict[str, Any] = {"inputs": balance.input_values, "conditions": balance.locking, "multipliers": False}
        try:
            d = model.d_dynamics(balance.t, self.q, balance.v, self.x, tau=self.tau, parameters=parameters, **how)
        except (SingularityError, ModelError):
            if parameters or model.nx or self.balance.v.any():
                raise
            return self._differences(), Derivatives(*[np.zeros((0, 0))] * 7)
        M = model.mass_matrix(self.q)
        states = d.dx
        if balance.idle.any():
            states = Derivatives(*(_without(part, balance.idle) for part in states))
        return Derivatives(*(-M @ part for part in d.a)), states

    def _differences(self) -> Derivatives:
        """Return the derivatives by q of f - P^T lam - H^T mu, by central differences along every free motion."""
        balance, model = self.balance, self.balance.model
        n, steps = model.nv, DIFFERENCE_STEP * np.diag(balance.scales)
        near = model.integrate(np.repeat(self.q[None], 2 * n, axis=0), np.vstack([steps, -steps]))
        x = np.zeros((2 * n, model.nx))
        f = balance.supplied(near, x)
        if model.nc:
            P = model.constraint_jacobian(near, t=np.full(2 * n, balance.t))
            f = f - np.einsum("kcv,c->kv", P, self.lam)
        for measure, mu in zip(balance.held, self.mu, strict=True):
            if measure.column < 0:
                f = f - mu / measure.scale * measure.row(near)
        by_q = ((f[:n] - f[n:]) / (2 * DIFFERENCE_STEP)).T / balance.scales
        none = np.zeros((n, 0))
        return Derivatives(by_q, none, none, none, none, none, none)

    @cached_property
    def stiffness(self) -> Array:
        """Stiffness dg/dy of (3), F^T K B, J; element states with a stationary value follow (dx = 0)."""
        return self._stiffness(self.B)

    @cached_property
    def virtual_stiffness(self) -> Array:
        """Stiffness by virtual motions, F^T K F, J, which determines stability."""
        return self.stiffness if self.F is self.B else self._stiffness(self.F)

    def _stiffness(self, basis: Array) -> Array:
        D, model = self.balance.scales, self.balance.model
        if not model.nc and not model.nx:
            K = D[:, None] * straight(model, self._force_slopes, self.r) * D
            return K if self._unconstrained else np.asarray(self.F.T @ K @ basis)
        by, states = self._slopes
        K = (self.F.T * D) @ straight(model, by.q, self.r) @ (D[:, None] * basis)
        if model.nx:
            X = np.linalg.lstsq(states.x, states.q @ (D[:, None] * basis), rcond=None)[0]
            K = K - (self.F.T * D) @ by.x @ X
        return K

    @property
    def _force_slopes(self) -> Array:
        """Derivatives of f by q in a tree (nv, nv)."""
        balance = self.balance
        still = np.zeros(balance.model.nv)
        how: dict[str, Any] = {"inputs": balance.input_values, "conditions": balance.locking}
        return balance.model.d_inverse_dynamics(self.q, balance.v, still, t=balance.t, x=self.x, **how)[0]

    @cached_property
    def is_definite(self) -> bool:
        """Whether the virtual stiffness is that of a potential energy with a strict minimum."""
        K = self.virtual_stiffness
        if np.abs(K - K.T).max(initial=0.0) > SYMMETRY_TOL * max(float(np.abs(K).max(initial=0.0)), self.size):
            return False
        return definite_factor(K, self.size) is not None

    @cached_property
    def _slopes(self) -> tuple[Derivatives, Derivatives]:
        return self.slopes()

    def settled(self) -> BalanceEvaluation:
        """Return the evaluation with stationary element states, dx = 0, where they exist."""
        look = self
        for _ in range(20):
            _, states = look._slopes
            step = np.linalg.lstsq(states.x, -look.dx, rcond=ROUNDOFF_RANK_TOL)[0]
            look = BalanceEvaluation(self.balance, self.q, look.x + step)
            size = np.abs(look.x).max(initial=0.0) + np.abs(self.x).max(initial=0.0)
            if np.abs(step).max(initial=0.0) <= 1e-12 * size:
                return look
        raise AssemblyError("element states have no stationary value")


def definite_factor(K: Array, size: float) -> Array | None:
    """Return the Cholesky factor (n, n) of the symmetric part of K; None if a stiffness is zero or negative.

    The level below which stiffnesses count as zero is subtracted.
    """
    symmetric = (K + K.T) / 2
    symmetric.flat[:: len(K) + 1] -= flat(np.abs(symmetric).sum(axis=1), size)  # row sums bound the eigenvalues
    try:
        return np.asarray(np.linalg.cholesky(symmetric), dtype=float)
    except np.linalg.LinAlgError:
        return None


def flat(k: Array, size: float) -> float:
    """Return the level below which stiffnesses k (n,) J count as zero, for forces of a given size, J."""
    return FLAT_TOL * max(float(np.abs(k).max(initial=0.0)), 1e-3 * size, 1e-300)


def _without(part: Array, idle: BoolArray) -> Array:
    """Return derivatives with zero rows for idle states."""
    kept = part.copy()
    kept[idle] = 0.0
    return kept


def straight(model: Model, by_q: Array, r: Array) -> Array:
    """Return the stiffness (nv, nv) of forces r (nv,) in axes that do not turn with free bodies.

    Steps translate a body along a line and rotate it about itself (`Model.integrate`); the rotation of body axes is no
    change of a force.
    """
    free = [model.v_slice(h.name).start for h in model.forest.joints if isinstance(h.element, Free)]
    if not free:
        return by_q
    slopes = by_q.copy()
    for k in free:
        slopes[k + 3 : k + 6, k : k + 3] -= skew(r[k + 3 : k + 6])
    return slopes
