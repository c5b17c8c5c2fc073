"""Equilibria with dry joint friction: sticking and sliding joints.

Friction holds any effort within its bounds, so that rest is a band, and which rest of it is found depends on the start.
Everything is held where it starts; if efforts within the bounds,

    F^T (f - H^T mu) = 0,    |mu_i| <= s_i                                                                        (1)

can do that, the start is the answer. Else those rows that are on their bounds slide together, the way that what is
missing moves them, against friction f_i, slowly: nothing swings over, and a row that would turn back sticks there. At
rest (1) is asked anew, until it holds. Friction that follows loads takes those of the
place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

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

Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

MAX_MODE_CHANGES = 200  # changes between stick and slip
RUNAWAY_SLIP = 300.0  # rad or lengths: what slid so far slides for ever


@dataclass(frozen=True)
class FrictionHold:
    """What friction of a coordinate does at rest.

    Attributes
    ----------
    name, unit : str
    effort : float, N m or N
        That friction exerts.
    limit : float, N m or N
        The most that it can.
    slid : bool
        Whether the coordinate slid to where it is.
    """

    name: str
    unit: str
    effort: float
    limit: float
    slid: bool

    @property
    def margin(self) -> float:
        """How much more it could hold, N m or N."""
        return self.limit - abs(self.effort)

    @property
    def band(self) -> tuple[float, float]:
        """By how much the effort of others along the coordinate may change, down and up, without moving it, N m or N.

        Others that friction holds are taken to go on as they are.
        """
        return self.effort - self.limit, self.effort + self.limit


class StaticFriction:
    """Friction of joints: rows, their bounds, and which of them slide."""

    def __init__(self, request: EquilibriumRequest) -> None:
        self.request, self.rows = request, _rubbing(request)
        known = measures_of(RelativeEquations(request.model))
        self.measures: list[CoordinateMeasure] = []
        for name, row in zip(self.rows.names, range(len(self.rows)), strict=True):
            if name not in known:
                raise ModelError(
                    "equilibrium", f"friction of {name!r}", float(self.rows.sliding_friction[row]),
                    "the attitude of a ball joint cannot be held by friction at rest: leave its friction out by "
                    "friction='off', or describe it by revolute joints",
                )  # fmt: skip
            self.measures.append(known[name])
        self.sign = np.zeros(len(self.rows))
        self.start = self.places(request.q)

    def balance(self, friction: Array) -> ForceBalance:
        """Return the balance with rows that slide against friction (n,), N m or N, and others held."""
        base, rows = self.request.balance, self.rows
        parameters = with_fixed_friction(rows, base.conditions, friction).parameters.copy()
        parameters[rows.friction] = friction
        parameters[rows.mode] = self.sign
        held = {m: value for m, value, sign in zip(self.measures, self.start, self.sign, strict=True) if sign == 0.0}
        return replace(base, conditions=base.conditions.changed(parameters=parameters), held={**base.held, **held})

    def places(self, q: Array) -> Array:
        """Return where the rows are, (n,) rad or m."""
        return np.array([float(m.values(q)) for m in self.measures])

    def bounds(self, look: BalanceEvaluation) -> tuple[Array, Array]:
        """Return friction and static friction (n,) N m or N under the loads of a rest."""
        rows, model, balance = self.rows, self.request.model, look.balance
        if not rows.has_load_friction.any():
            return rows.friction_limits(self.request.balance.conditions, np.zeros(len(rows)))
        locked = balance.conditions.changed(locked=balance.conditions.locked | _places(look))
        how = {"inputs": balance.input_values, "conditions": locked}
        signals = model.report(["signals"], balance.t, look.q, balance.v, look.x, **how)["signals"]  # type: ignore[arg-type]
        return rows.friction_limits(self.request.balance.conditions, rows.loads(signals))

    def efforts(self, look: BalanceEvaluation, static: Array) -> tuple[Array, Array]:
        """Return efforts (n,) within static friction that come nearest to (1), and which way rows go that they let go.

        What is missing moves all of them together; rows that it would move slide, 1 or -1, others have 0.
        """
        balance, n = look.balance, len(self.rows)
        others = {m: value for m, value in balance.held.items() if m not in self.measures}
        free = replace(balance, held=others).look(look.q, look.x)
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
    """Return where a descent with friction led, and what friction holds there."""
    rub = StaticFriction(request)
    q, x, slid = request.q, request.x, np.zeros(len(rub.rows), dtype=bool)
    for _ in range(MAX_MODE_CHANGES):
        rub.sign[:] = 0.0
        held = descend(rub.balance(rub.rows.sliding_friction), q, x, request.stops, most=most)
        if not held.found:
            return held, []
        q, x = held.look.q, held.look.x
        friction, static = rub.bounds(held.look)
        efforts, rub.sign = rub.efforts(held.look, np.where(slid, friction, static))
        if not rub.sign.any():
            return held, _friction_holds(rub, efforts, slid, static)
        slid |= rub.sign != 0.0
        found = _slide(request, rub, friction, q, x, most)
        if found.falls is not None:
            return found, []
        q, x = found.look.q, found.look.x
        gone = request.balance.closed.equations.difference(request.q, q) / request.balance.scales
        if float(np.abs(gone).max(initial=0.0)) > RUNAWAY_SLIP:
            found.found, found.falls = False, gone
            return found, []
    raise EquilibriumError("friction of joints goes from one to the other without rest: start elsewhere")


def _slide(
    request: EquilibriumRequest, rub: StaticFriction, friction: Array, q: Array, x: Array, most: int
) -> EquilibriumDescent:
    """Let rows slide the way they go, to rest; one that would turn back sticks where it is."""
    while True:
        ways = {m: sign for m, sign in zip(rub.measures, rub.sign, strict=True) if sign != 0.0}
        found = descend(rub.balance(friction), q, x, request.stops, most=most, ways=ways)
        q, x = found.look.q, found.look.x
        rub.start = rub.places(q)
        if found.turned is None or len(ways) == 1:
            return found
        rub.sign[rub.measures.index(found.turned)] = 0.0


def _friction_holds(rub: StaticFriction, efforts: Array, slid: BoolArray, static: Array) -> list[FrictionHold]:
    units = ["N m" if unit == "rad" else "N" for unit in rub.rows.units]
    return [
        FrictionHold(name, units[k], float(efforts[k]), float(static[k]), bool(slid[k]))
        for k, name in enumerate(rub.rows.names)
    ]


def _places(look: BalanceEvaluation) -> set[int]:
    """Return the places of held coordinates, as conditions lock them."""
    nv = look.balance.model.nv
    return {m.column if m.column >= 0 else nv + m.place for m in look.balance.held}


def _rubbing(request: EquilibriumRequest) -> FrictionRows:
    """Return the rows that rub and may move."""
    rows, balance = request.rows, request.balance
    tree = rows.places < request.model.nv
    fixed = tree & balance.fixed[np.where(tree, rows.places, 0)]
    taken = {m.name for m in balance.held}
    kept = np.flatnonzero(rows.has_friction & ~fixed & ~np.array([name in taken for name in rows.names], dtype=bool))
    return rows.select(kept)
