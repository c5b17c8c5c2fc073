"""Newton's method for equilibria and steady motions with unknown velocities, inputs or parameters.

The unknowns are motions y along B, velocities w, element states x and inputs or parameters u. The equations are force
balance, velocity constraints, and stationary element states:

    g(q, w, x, u) = 0,     P (v + w) = rates,     dx = 0                                                          (1)

Steps are minimum-norm in scaled columns, with Levenberg-Marquardt damping if (1) does not decrease. Without unknowns
the method finds the nearest equilibrium, stable or not.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Array
from ..closure.loop_equations import LoopEquations
from ..linear.small_motions import brackets
from ..linear.tangent import rate_slopes
from ..model import State
from ..numerics.least_squares import shortest_step
from ..numerics.rank import STEP_RANK_TOL, null_space
from .force_balance import BalanceEvaluation, ForceBalance
from .request import EquilibriumRequest

__all__ = ["Trim", "trim"]


BALANCE_TOL = 1e-9  # residual relative to the largest force
MAX_STEP_SIZE = 0.4  # rad or lengths
MAX_STEPS = 200


class Trim:
    """Iterate of Newton's method.

    Attributes
    ----------
    evaluation : BalanceEvaluation
    u : (n,)
        Values of the unknown inputs and parameters.
    residual : (rows,)
        Scaled residual of (1).
    rank : int
        Rank of the Jacobian; `free` (columns,) is the mask of undetermined unknowns.
    """

    def __init__(self, request: EquilibriumRequest, look: BalanceEvaluation, u: Array, size: float) -> None:
        self.request, self.evaluation, self.u, self.size = request, look, u, size
        balance = look.balance
        self.state = State(q=look.q, v=balance.v, t=balance.t, x=look.x)
        model = balance.model
        self.rows = np.flatnonzero(np.asarray(model.compiled.names.closing)) if balance.v.any() and model.nc else None
        self.loops = LoopEquations.of(model, t=balance.t)
        parts = [look.g / size, *([] if self.rows is None else [self._rates()]), look.dx]
        self.residual = np.concatenate(parts)
        self.norm = float(np.linalg.norm(self.residual))
        self.rank, self.loose = 0, np.zeros((0, 0))

    def _rates(self) -> Array:
        assert self.rows is not None
        model, q, pace = self.evaluation.balance.model, self.evaluation.q, self._pace
        gap = model.constraint_jacobian(q, t=self.state.t) @ self.state.v - self.loops.velocity_terms(q)
        found: Array = (self.loops.row_scales * gap)[self.rows] / pace
        return found

    @property
    def _pace(self) -> float:
        return float(max(1.0, np.abs(self.state.v).max(initial=0.0)))

    def jacobian(self) -> Array:
        """Return the derivatives of (1) by y, w, x and u."""
        look, request = self.evaluation, self.request
        balance, model, D = look.balance, look.balance.model, look.balance.scales
        numbers = tuple(name for name in request.unknown if name not in model.input_names)
        by, states = look.slopes(numbers)
        B, F, w = D[:, None] * look.B, look.F.T * D / self.size, request.paced
        columns = [_column(model.input_names, numbers, name) for name in request.unknown]
        blocks = [F @ by.q @ B]
        blocks += [F @ by.v[:, w], F @ by.x, F @ _named(by, columns)] if model.nx or request.trims else []
        J = [np.hstack(blocks)]
        if self.rows is not None:
            holonomic = np.asarray(model.holonomic, dtype=bool)
            slopes = np.zeros((model.nc, 0))
            if B.shape[1]:
                slopes = rate_slopes(model, self.state, holonomic, B, brackets(model, self.state.v))
            P = model.constraint_jacobian(look.q, t=balance.t)[:, w]
            S = self.loops.row_scales[self.rows, None] / self._pace
            rest = np.zeros((len(self.rows), model.nx + len(columns)))
            J.append(np.hstack([S * slopes[self.rows], S * P[self.rows], rest]))
        if model.nx:
            J.append(np.hstack([states.q @ B, states.v[:, w], states.x, _named(states, columns)]))
        return np.vstack(J)

    def moved(self, z: Array) -> Trim | None:
        """Return the iterate after a step z; None if loops do not close."""
        request, look = self.request, self.evaluation
        n, k, nx = look.B.shape[1], len(request.paced), len(look.x)
        q = look.balance.retract(look.q, look.B @ z[:n])
        if q is None:
            return None
        u = self.u + z[n + k + nx :]
        v = look.balance.v.copy()
        v[request.paced] += z[n : n + k]
        balance: ForceBalance = replace(request.with_unknown(u), v=v)
        return Trim(request, balance.evaluate(q, look.x + z[n + k : n + k + nx]), u, self.size)


def _column(inputs: tuple[str, ...], numbers: tuple[str, ...], name: str) -> tuple[str, int]:
    return ("inputs", inputs.index(name)) if name in inputs else ("parameters", numbers.index(name))


def _named(by: object, columns: list[tuple[str, int]]) -> Array:
    """Return the columns of derivatives by inputs and parameters as one matrix."""
    parts = [getattr(by, kind)[:, [k]] for kind, k in columns]
    rows = len(by.q)  # type: ignore[attr-defined]
    return np.hstack([np.zeros((rows, 0)), *parts])


def _paced(balance: ForceBalance, request: EquilibriumRequest) -> ForceBalance:
    """Return the balance with a nonzero guess of unknown velocities, in which forces are quadratic."""
    v, places = balance.v.copy(), request.paced
    if not len(places) or v[places].any():
        return balance
    look, model = balance.evaluate(request.q, request.x), balance.model
    inertia = np.maximum(model.composite_inertias(request.q)[places], 1e-300) * balance.scales[places] ** 2
    v[places] = balance.scales[places] * np.sqrt(max(look.size, 1e-300) / inertia)
    return replace(balance, v=v)


def trim(request: EquilibriumRequest) -> tuple[Trim, bool]:
    """Run Newton's method; return the last iterate, and whether (1) holds."""
    balance = request.with_unknown(request.guesses) if request.unknown else request.balance
    look = _paced(balance, request).evaluate(request.q, request.x)
    here = Trim(request, look, request.guesses, max(look.size, 1e-300))
    mu, last = 0.0, np.inf
    for _ in range(MAX_STEPS):
        J = here.jacobian()
        columns = np.linalg.norm(J, axis=0)
        n = here.evaluation.B.shape[1]
        scale = 1.0 / np.where(columns > 0, columns, 1.0)
        loose = null_space(J * scale, STEP_RANK_TOL, 0.0)
        here.rank, here.loose = len(loose) - loose.shape[1], scale[:, None] * loose
        solve = shortest_step(J * scale, here.residual)[0]
        if here.norm <= BALANCE_TOL and (last < 1e-12 or here.norm < 1e-15):
            return here, True
        for _ in range(40):
            z = scale * solve(mu)
            z /= max(1.0, float(np.abs(z[:n]).max(initial=0.0)) / MAX_STEP_SIZE)
            trial = here.moved(z)
            if trial is not None and trial.norm < (1 - 1e-4) * here.norm:
                break
            mu = max(4 * mu, 1e-6)
        else:
            return here, here.norm <= 1e-7
        last = float(np.abs(z / np.maximum(scale, 1e-300)).max(initial=0.0))
        mu = 0.0 if mu < 1e-5 else 0.1 * mu
        trial.rank, trial.loose = here.rank, here.loose
        here = trial
    return here, here.norm <= 1e-7
