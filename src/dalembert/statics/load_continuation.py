"""Equilibrium equations with a load parameter, for continuation by `PathTracer`.

The unknowns are the configuration q, element states x and the load parameter p, together Q. The residuals are those of
loops and held coordinates, unbalanced forces, and rates of states:

    r = [phi(q), F F^T f(q, x, p) / size, dx(q, x, p)]                                                            (1)

F F^T projects onto the virtual motions. It is independent of the choice of a basis and admits redundant rows. Its
derivative is F F^T (f_q - (P^T lam)_q), up to terms along the rows that vanish in equilibrium.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array
from ..checks import finite_number
from ..closure.scaled_equations import CoordinateMeasure
from ..errors import ModelError
from ..model import Derivatives, Model
from .force_balance import BalanceEvaluation, ForceBalance, straight
from .request import with_numbers

__all__ = ["LoadedEquations", "PathLimit", "VariedLoad"]


LOAD_STEP = 1e-5  # relative to the range: differences by the load, used by the predictor only
DIFFERENCE_STEP = 1e-4  # differences of second derivatives, used to select branches only


@dataclass(frozen=True, eq=False)
class VariedLoad:
    """Varied load: inputs, parameters or steady velocities, each a multiple of one load parameter.

    Attributes
    ----------
    name : str
    factors : dict of str to float
    """

    name: str
    factors: Mapping[str, float]

    @classmethod
    def of(cls, model: Model, vary: str | Mapping[str, float], *, item: str) -> VariedLoad:
        """Return the varied load from user arguments."""
        if not isinstance(vary, (str, Mapping)):
            raise ModelError(item, "vary", vary, "name an input, a parameter, or several with factors")
        named = {vary: 1.0} if isinstance(vary, str) else vary
        factors = {name: finite_number(value, item=item, field=f"vary[{name!r}]") for name, value in named.items()}
        speeds = [f"{name}.speed" for name in model.speed_names]
        for name in factors:
            if name not in model.input_names and name not in model.parameter_names and name not in speeds:
                known = ", ".join(map(repr, [*model.input_names, *model.parameter_names, *speeds][:12]))
                raise ModelError(item, "vary", name, f"inputs, parameters and velocities are: {known}")
        if not factors:
            raise ModelError(item, "vary", vary, "name an input, a parameter, or several with factors")
        return cls(vary if isinstance(vary, str) else "load factor", factors)

    def speeds(self, model: Model) -> dict[int, float]:
        """Return factors of steady velocities, by index."""
        names = {f"{name}.speed": k for k, name in enumerate(model.speed_names)}
        others = (*model.input_names, *model.parameter_names)
        return {names[name]: factor for name, factor in self.factors.items() if name not in others}

    def at(self, balance: ForceBalance, value: float) -> ForceBalance:
        """Return the balance under the load."""
        speeds = self.speeds(balance.model)
        v = balance.v.copy()
        for k, factor in speeds.items():
            v[k] = value * factor
        known = (*balance.model.input_names, *balance.model.parameter_names)
        numbers = {name: value * factor for name, factor in self.factors.items() if name in known}
        return with_numbers(replace(balance, v=v), numbers)

    def numbers(self, model: Model) -> tuple[str, ...]:
        """Return the names of the varied parameters."""
        return tuple(name for name in self.factors if name in model.parameter_names and name not in model.input_names)

    def slope(self, model: Model, by: Derivatives) -> Array:
        """Return the derivative by the load parameter, from derivatives with columns for `numbers`."""
        names = self.numbers(model)
        found = np.zeros(len(by.q))
        for name, factor in self.factors.items():
            if name in model.input_names:
                found += factor * by.inputs[:, model.input_names.index(name)]
            elif name in names:
                found += factor * by.parameters[:, names.index(name)]
        for k, factor in self.speeds(model).items():
            found += factor * by.v[:, k]
        return found


@dataclass(frozen=True, eq=False)
class PathLimit:
    """Bounds of the load parameter at which a path ends; interface of `CoordinateMeasure`."""

    name: str
    unit: str
    place: int
    scale: float
    lower: float
    upper: float
    measure: CoordinateMeasure | None = None
    width: int = 0

    def values(self, Q: Array) -> Array:
        """Return the load parameter (...) at Q (..., nQ)."""
        return self.measure.values(Q[..., : self.width]) if self.measure is not None else np.asarray(Q[..., self.place])


class LoadedEquations:
    """Equations (1), with the interface of `ScaledEquations`.

    Parameters
    ----------
    balance : ForceBalance
    load : VariedLoad
    span : float
        Range of the load parameter, for scaling.
    size : float, J
        Magnitude of forces.
    """

    def __init__(self, balance: ForceBalance, load: VariedLoad, span: float, size: float, states: Array) -> None:
        model = balance.model
        self.balance, self.load, self.size = balance, load, size
        self.nq, self.nv = model.nq + model.nx + 1, model.nv + model.nx + 1
        self.scales = np.concatenate([balance.scales, states, [span]])
        self.free = np.concatenate([~balance.fixed, ~balance.idle if model.nx else np.zeros(0, dtype=bool), [True]])
        self._states = states
        self._known: dict[float, ForceBalance] = {}  # the last balance only
        self._moves = any(model.parameter_names[name] >= model.n_element_parameters for name in load.numbers(model))
        self.rows = balance.closed.rows + model.nv + model.nx
        self.groups = [np.arange(self.rows)]

    # ---- points

    def parts(self, Q: Array) -> tuple[Array, Array, float]:
        """Return q, x and the load parameter of a point."""
        nq = self.balance.model.nq
        return Q[:nq], Q[nq:-1], float(Q[-1])

    def point(self, q: Array, x: Array, value: float) -> Array:
        """Return the point Q of q, x and a load parameter."""
        return np.concatenate([q, x, [value]])

    def under(self, value: float) -> ForceBalance:
        """Return the balance at a value of the load parameter."""
        if value not in self._known:
            self._known.clear()
            self._known[value] = self.load.at(self.balance, value)
        return self._known[value]

    def evaluate(self, Q: Array) -> BalanceEvaluation:
        """Evaluate the balance at a point."""
        q, x, value = self.parts(Q)
        return self.under(value).evaluate(q, x)

    def residual(self, Q: Array) -> Array:
        """Return r of (1), (..., rows)."""
        if Q.ndim > 1:
            return np.array([self.residual(one) for one in Q]).reshape(len(Q), -1)
        look = self.evaluate(Q)
        closed = look.balance.closed
        loops = closed.residual(look.q) if closed.rows else np.zeros(0)
        return np.concatenate([loops, look.F @ look.g / self.size, look.dx * self._states])

    def jacobian(self, Q: Array) -> Array:
        """Return the derivatives of r by scaled motions, (..., rows, nv)."""
        if Q.ndim > 1:
            return np.array([self.jacobian(one) for one in Q]).reshape(len(Q), self.rows, self.nv)
        look, model, D = self.evaluate(Q), self.balance.model, self.balance.scales
        moves = self._moves and bool(self.balance.closed.rows)
        by, states = look.slopes(() if moves else self.load.numbers(model))
        n, nx, loops = model.nv, model.nx, self.balance.closed.rows
        J = np.zeros((self.rows, self.nv))
        if loops:
            J[:loops, :n] = look.balance.closed.jacobian(look.q) / D
        project = (look.F @ look.F.T) * (D / self.size)
        J[loops : loops + n, :n] = project @ straight(model, by.q, look.r)
        J[loops : loops + n, n:-1] = project @ by.x
        if not moves:
            J[loops : loops + n, -1] = project @ self.load.slope(model, by)
        if nx:
            rest = self._states[:, None]
            J[loops + n :, :n], J[loops + n :, n:-1] = rest * states.q, rest * states.x
            if not moves:
                J[loops + n :, -1] = self._states * self.load.slope(model, states)
        if moves:
            J[:, -1] = self._by_number(Q)
        return np.asarray(J * (self.scales * self.free))

    def _by_number(self, Q: Array) -> Array:
        """Return the derivative of r by a load parameter that changes loops, (rows,), by central differences."""
        h = LOAD_STEP * self.scales[-1]
        near = [Q + shift * np.eye(len(Q))[-1] for shift in (h, -h)]
        ahead, behind = (self.residual(one) for one in near)
        return np.asarray((ahead - behind) / (2 * h))

    def quadratic(self, Q: Array, x: Array) -> Array:
        """Return the second derivative of r along scaled motions x (nv,), (rows,)."""
        ahead, behind = (self.jacobian(self.retract(Q, sign * DIFFERENCE_STEP * x)) for sign in (1.0, -1.0))
        return np.asarray((ahead - behind) @ x / (2 * DIFFERENCE_STEP))

    # ---- the manifold

    def retract(self, Q: Array, x: Array) -> Array:
        """Return the points after scaled steps x (..., nv)."""
        model = self.balance.model
        step = x * self.scales
        q = model.integrate(np.ascontiguousarray(Q[..., : model.nq]), np.ascontiguousarray(step[..., : model.nv]))
        return np.concatenate([q, Q[..., model.nq :] + step[..., model.nv :]], -1)

    def difference(self, Q0: Array, Q1: Array) -> Array:
        """Return the scaled steps (..., nv) from Q0 to Q1."""
        model = self.balance.model
        Q0, Q1 = np.broadcast_arrays(Q0, Q1)
        q = self.balance.closed.difference(Q0[..., : model.nq], Q1[..., : model.nq])
        rest = (Q1 - Q0)[..., model.nq :] / self.scales[model.nv :]
        return np.concatenate([q, rest], -1)

    def shift(self, Q: Array, near: Array) -> Array:
        """Return a point with full turns added to be near another."""
        return self.retract(near, self.difference(near, Q))
