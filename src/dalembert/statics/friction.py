"""Dry friction in equilibrium: rows held at rest, rows that slide, and where they come to rest.

Friction balances any effort within its limits, so that equilibria form a band, and the one found depends on the start.
All rows are held at the start; if efforts within the limits,

    F^T (f - H^T mu) = 0,    |mu_i| <= s_i                                                                        (1)

exist, the start is the equilibrium. Otherwise the rows at their limits slide together in the direction of the
unbalanced efforts, against friction f_i, quasi-statically: a row that would reverse sticks there. At rest (1) is
checked again, until it holds. Load-dependent friction uses the loads of the configuration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array, BoolArray
from ..closure.equations import RelativeEquations
from ..closure.scaled_equations import CoordinateMeasure, measures_of
from ..errors import EquilibriumError, ModelError
from ..numerics.quadratic_programs import solve_bounded_qp
from ..simulation.friction.load_limits import with_fixed_friction
from ..simulation.friction.rows import FrictionRows
from .energy_descent import EquilibriumDescent, descend
from .force_balance import BalanceEvaluation, ForceBalance
from .request import EquilibriumRequest

__all__ = ["FrictionHold", "StaticFriction", "rest_with_friction"]


MAX_ROUNDS = 200  # changes of the set of sliding rows
RUNAWAY_SLIP = 300.0  # rad or lengths: a row that slid further has no equilibrium


@dataclass(frozen=True)
class FrictionHold:
    """Friction of one coordinate in equilibrium.

    Attributes
    ----------
    name, unit : str
    effort : float, N m or N
        Of friction.
    limit : float, N m or N
        Largest effort of friction.
    slid : bool
        Whether the coordinate slid to its position.
    """

    name: str
    unit: str
    effort: float
    limit: float
    slid: bool

    @property
    def margin(self) -> float:
        """Distance of the effort from its limit, N m or N."""
        return self.limit - abs(self.effort)

    @property
    def band(self) -> tuple[float, float]:
        """Change of the other efforts along the coordinate, down and up, that friction balances, N m or N.

        The friction of other coordinates is taken as constant.
        """
        return self.effort - self.limit, self.effort + self.limit


class StaticFriction:
    """Friction rows of a request, their limits, and the sliding ones."""

    def __init__(self, request: EquilibriumRequest) -> None:
        self.request, self.rows = request, _movable_rows(request)
        known = measures_of(RelativeEquations(request.model))
        self.measures: list[CoordinateMeasure] = []
        for name, row in zip(self.rows.names, range(len(self.rows)), strict=True):
            if name not in known:
                raise ModelError(
                    "equilibrium", f"friction of {name!r}", float(self.rows.sliding_friction[row]),
                    "friction of a ball joint is not supported in equilibrium: use friction='off', or describe the "
                    "joint by revolute joints",
                )  # fmt: skip
            self.measures.append(known[name])
        self.sign = np.zeros(len(self.rows))
        self.start = self.coordinate_values(request.q)

    def balance(self, friction: Array) -> ForceBalance:
        """Return the balance with friction (n,), N m or N, of sliding rows, and the others held."""
        base, rows = self.request.balance, self.rows
        parameters = with_fixed_friction(rows, base.conditions, friction).parameters.copy()
        parameters[rows.friction] = friction
        parameters[rows.mode] = self.sign
        held = {m: value for m, value, sign in zip(self.measures, self.start, self.sign, strict=True) if sign == 0.0}
        return replace(base, conditions=base.conditions.changed(parameters=parameters), held={**base.held, **held})

    def coordinate_values(self, q: Array) -> Array:
        """Return the coordinates of the rows, (n,) rad or m."""
        return np.array([float(m.values(q)) for m in self.measures])

    def bounds(self, look: BalanceEvaluation) -> tuple[Array, Array]:
        """Return sliding and static friction (n,) N m or N for the loads of an equilibrium."""
        rows, model, balance = self.rows, self.request.model, look.balance
        if not rows.has_load_friction.any():
            return rows.friction_limits(self.request.balance.conditions, np.zeros(len(rows)))
        locked = balance.conditions.changed(locked=balance.conditions.locked | balance.held_indices)
        how = {"inputs": balance.input_values, "conditions": locked}
        signals = model.report(["signals"], balance.t, look.q, balance.v, look.x, **how)["signals"]  # type: ignore[arg-type]
        return rows.friction_limits(self.request.balance.conditions, rows.loads(signals))

    def efforts(self, look: BalanceEvaluation, static: Array) -> tuple[Array, Array]:
        """Return efforts (n,) within static friction closest to (1), and the slip directions (n,) of released rows.

        The unbalanced efforts move all rows together; rows that move have 1 or -1, others 0.
        """
        balance, n = look.balance, len(self.rows)
        others = {m: value for m, value in balance.held.items() if m not in self.measures}
        free = replace(balance, held=others).evaluate(look.q, look.x)
        scale = np.array([m.scale for m in self.measures])
        rows = np.array([m.row(look.q) for m in self.measures]).reshape(n, balance.model.nv)
        H = rows * balance.scales / scale[:, None]
        stuck = self.sign == 0.0
        A = free.F.T @ H[stuck].T
        mu = -self.sign * static * scale
        bound = (static * scale)[stuck]
        solution = solve_bounded_qp(A.T @ A, -A.T @ free.g, -bound, bound)
        missing = free.g - A @ solution.x
        way = np.zeros(n)
        if float(np.abs(missing).max(initial=0.0)) > 1e-8 * max(free.size, 1e-300):
            on = np.abs(np.abs(solution.x) - bound) <= 1e-12 * np.maximum(bound, 1e-300)
            rate = -A.T @ missing
            slides = on & (np.abs(rate) > 1e-9 * free.size)
            way[np.flatnonzero(stuck)[slides]] = np.sign(rate[slides])
        mu[stuck] = solution.x
        return mu / scale, way


def rest_with_friction(request: EquilibriumRequest, *, most: int) -> tuple[EquilibriumDescent, list[FrictionHold]]:
    """Return the end of a descent with friction, and the friction of all rows there."""
    static_friction = StaticFriction(request)
    q, x, slid = request.q, request.x, np.zeros(len(static_friction.rows), dtype=bool)
    for _ in range(MAX_ROUNDS):
        static_friction.sign[:] = 0.0
        held = descend(static_friction.balance(static_friction.rows.sliding_friction), q, x, request.stops, most=most)
        if not held.found:
            return held, []
        q, x = held.evaluation.q, held.evaluation.x
        friction, static = static_friction.bounds(held.evaluation)
        efforts, static_friction.sign = static_friction.efforts(held.evaluation, np.where(slid, friction, static))
        if not static_friction.sign.any():
            return held, _friction_holds(static_friction, efforts, slid, static)
        slid |= static_friction.sign != 0.0
        found = _slide(request, static_friction, friction, q, x, most)
        if found.falls is not None:
            return found, []
        q, x = found.evaluation.q, found.evaluation.x
        gone = request.balance.closed.equations.difference(request.q, q) / request.balance.scales
        if float(np.abs(gone).max(initial=0.0)) > RUNAWAY_SLIP:
            found.found, found.falls = False, gone
            return found, []
    raise EquilibriumError("the sliding joints keep changing without an equilibrium: use another start")


def _slide(
    request: EquilibriumRequest, static_friction: StaticFriction, friction: Array, q: Array, x: Array, most: int
) -> EquilibriumDescent:
    """Let rows slide in their directions to rest; a row that would reverse sticks."""
    while True:
        directions = {
            m: sign for m, sign in zip(static_friction.measures, static_friction.sign, strict=True) if sign != 0.0
        }
        found = descend(static_friction.balance(friction), q, x, request.stops, most=most, directions=directions)
        q, x = found.evaluation.q, found.evaluation.x
        static_friction.start = static_friction.coordinate_values(q)
        if found.turned is None or len(directions) == 1:
            return found
        static_friction.sign[static_friction.measures.index(found.turned)] = 0.0


def _friction_holds(
    static_friction: StaticFriction, efforts: Array, slid: BoolArray, static: Array
) -> list[FrictionHold]:
    units = ["N m" if unit == "rad" else "N" for unit in static_friction.rows.units]
    return [
        FrictionHold(name, units[k], float(efforts[k]), float(static[k]), bool(slid[k]))
        for k, name in enumerate(static_friction.rows.names)
    ]


def _movable_rows(request: EquilibriumRequest) -> FrictionRows:
    """Return the rows with friction that may move."""
    rows, balance = request.rows, request.balance
    tree = rows.indices < request.model.nv
    fixed = tree & balance.fixed[np.where(tree, rows.indices, 0)]
    taken = {m.name for m in balance.held}
    kept = np.flatnonzero(rows.has_friction & ~fixed & ~np.array([name in taken for name in rows.names], dtype=bool))
    return rows.select(kept)
