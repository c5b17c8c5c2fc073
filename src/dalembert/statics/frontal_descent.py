"""Descent of large systems towards balance, by the Newton fronts of the core, without matrices.

With a the accelerations from rest under the constraints, the unbalanced forces are r = -M a. The step of

    (K + mu C + mu^2 M) s = -r,   P s = 0                                                                       (1)

is solved within the trees at the cost of a few evaluations, also with many loops. mu is never zero, since single joints
may lack stiffness where the whole system has it; it falls with the accelerations. It grows until the step is within the
trust region and the forces do work along it, which is compared with its prediction as in `energy_descent`. The end of
the descent is checked there, by the stiffness along all permitted motions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..closure.scaled_equations import CoordinateMeasure
from ..errors import DalembertError
from .force_balance import MAX_EIGENVALUES, BalanceEvaluation, ForceBalance

__all__ = ["FIRST_TRUST_RADIUS", "STEP_TOL", "FrontalDescent", "descend_by_fronts", "work_between"]


STEP_TOL = 1e-10  # rad or lengths: length of the last step at convergence
SETTLED_TOL = 1e-12  # the same of a descent by fronts, which goes on while steps gain
FIRST_TRUST_RADIUS = 0.3  # rad or lengths
# mu, by the root of accelerations
RELATIVE_SHIFTS = (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3)
NEWTON_SHIFT = 1e-3  # up to which steps are those of Newton's method
MAX_TURN = 0.5  # rad in one step
SMALL_STEP = 1e-4  # rad or lengths: shorter steps of Newton's method have to halve the forces, as work is round-off
LEAST_RADIUS = 1e-9  # rad or lengths: shorter steps make no progress


class FrontalDescent(NamedTuple):
    """End of a descent by fronts.

    Attributes
    ----------
    q : (nq,) rad or m
    steps : int
    settled : bool
        Whether the last step was below `STEP_TOL`.
    """

    q: Array
    steps: int
    settled: bool


class _Rest:
    """Unbalanced forces r (nv,) at a closed configuration q (nq,), with the accelerations a (nv,) from rest."""

    def __init__(self, balance: ForceBalance, q: Array) -> None:
        self.balance, self.q = balance, q
        model, still = balance.model, np.zeros(balance.model.nv)
        self.a = model.forward_dynamics(q, still, t=balance.t)
        f, demanded = (model._required_forces(q, still, a, t=balance.t) for a in (still, self.a))
        self.r = f - demanded
        self.pull = balance.scales * self.r  # J

    def step(self, shift: float) -> Array | None:
        """Return the scaled step (nv,) of (1), mu by the root of the largest acceleration; None if there is none."""
        model, D = self.balance.model, self.balance.scales
        still = np.zeros(model.nv)
        mu = shift * float(np.sqrt(np.abs(self.a / D).max()))
        if mu == 0.0:
            return still
        found, _, _ = model._newton_step(self.q, still, still, self.a, np.zeros(0), mu, t=self.balance.t, x=np.zeros(0))
        return found / D if np.isfinite(found).all() else None


def descend_by_fronts(balance: ForceBalance, q: Array, stops: Sequence[CoordinateMeasure], most: int) -> FrontalDescent:
    """Return the configuration next to balance that is reached from q (nq,) without passing a stop.

    It is q itself for small systems, for steady motions, element states, and conditions that the fronts do not take.
    """
    start = FrontalDescent(q, 0, False)
    if not _is_available(balance):
        return start
    try:
        look = _Rest(balance, q)
    except DalembertError:  # bodies without mass
        return start
    turns = np.array([k.startswith("angle") or k in ("wx", "wy", "wz") for k in balance.model.speed_kinds])
    radius, least, count = FIRST_TRUST_RADIUS, 1, 0
    while count < most and radius > LEAST_RADIUS and np.isfinite(look.pull).all():
        first = max(least - 2, 0)
        for number in range(first, len(RELATIVE_SHIFTS)):
            way = look.step(RELATIVE_SHIFTS[number])
            if way is None or float(look.pull @ way) > 0.0:
                continue
            size, turn = float(np.linalg.norm(way)), float(np.abs(way[turns]).max(initial=0.0))
            if size <= radius and turn <= MAX_TURN:
                break
        else:
            break
        last = float(np.abs(way).max(initial=0.0))
        by_newton = last < SMALL_STEP and RELATIVE_SHIFTS[number] <= NEWTON_SHIFT
        there = _taken(balance, look, way, stops, by_newton)
        if there is None:
            if last < STEP_TOL:
                return FrontalDescent(look.q, count, count > 0)
            radius, least = 0.25 * size, number
            continue
        good, there_look = there
        count += 1
        look, least = there_look, number
        if last < SETTLED_TOL:
            return FrontalDescent(look.q, count, True)
        if good and size > 0.5 * radius:
            radius *= 2.0
    return FrontalDescent(look.q, count, False)


def _taken(
    balance: ForceBalance, look: _Rest, way: Array, stops: Sequence[CoordinateMeasure], by_newton: bool
) -> tuple[bool, _Rest] | None:
    """Return whether a scaled step fulfils its prediction, and the forces at its end; None if it is rejected."""
    trial = balance.retract(look.q, way)
    if trial is None or any(not m.lower <= float(m.values(trial)) <= m.upper for m in stops):
        return None
    there = _Rest(balance, trial)
    if by_newton:
        gains = float(np.linalg.norm(there.pull)) < 0.5 * float(np.linalg.norm(look.pull))
        return (True, there) if gains else None
    middle = balance.retract(look.q, 0.5 * way)
    if middle is None:
        return None
    half = _Rest(balance, middle)
    work = (4 * (work_between(look, half) + work_between(half, there)) - work_between(look, there)) / 3
    hoped = 0.5 * float(look.pull @ way)
    return (work < 0.7 * hoped, there) if work < 0.1 * hoped else None


def work_between(one: _Rest | BalanceEvaluation, two: _Rest | BalanceEvaluation) -> float:
    """Return the work against forces along the straight path between two configurations, J, from both ends."""
    there, back = one.balance.closed.difference(one.q, two.q), one.balance.closed.difference(two.q, one.q)
    D = one.balance.scales
    return 0.5 * float(there @ (D * one.r) - back @ (D * two.r))


def _is_available(balance: ForceBalance) -> bool:
    """Return whether the fronts solve (1) for a balance, and it is large enough for them."""
    model = balance.model
    if model.nv <= MAX_EIGENVALUES or model.nx or balance.v.any() or balance.fixed.any():
        return False
    if balance.inputs or balance.held or balance.trimmed or not balance.locking.is_default:
        return False
    closing = bool(np.all(model.compiled.names.closing)) and bool(np.all(model.holonomic))
    return closing and not model.compiled.elements.feedbacks.array().size
