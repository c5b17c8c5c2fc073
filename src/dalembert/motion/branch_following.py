"""Branch following: a driven mechanism over time, position by position, on one branch.

From a closed position the next is predicted and corrected:

    order 0   q                                                                                                    (1)
    order 1   q + h v                                                                                              (2)
    order 2   q + h v + h^2 a / 2        (Garcia de Jalon and Bayo 1994, (3.9), (3.10))                              (3)

Driven coordinates are exact at once. A step is accepted if the second-order predictions from both ends meet within a
part of the step. If not, or if Newton's method fails, the step is split, so that a branch is never left unnoticed. With
rolling wheels, positions depend on the path: velocities are integrated, and positions are projected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..answer import ArrayAnswer, count_text
from ..arrays import Array
from ..checks import checked, finite_array, shape_of
from ..closure.equations import Equations
from ..closure.position_rates import RateResult, find_rates, speed_scales
from ..closure.position_solver import PositionResult, find_position
from ..errors import AssemblyError, DalembertError, ModelError, SingularityError
from ..model.driven_kinematics import MAX_STEPS, KinematicSweep
from ..numerics.factorization import factor
from ..result import TIME, Axis
from .kinematic_failure import step_too_long_message

__all__ = ["FollowedMotion", "follow_branch", "predict_position"]


MAX_PREDICTION_ERROR = 0.25  # of the length of a step; error of the predictions from either end
_SHORT = 0.01  # of a length; shorter steps need no accurate prediction if Newton's method converges
_N_FINE_TIMES = 2000  # times at which laws are evaluated on an interval that is split
MIN_STEP = 1e-7  # of the interval between two times; the shortest step


@dataclass(eq=False, repr=False)
class FollowedMotion(ArrayAnswer):
    """Positions and rates over time.

    Attributes
    ----------
    t : (k,) s
    q : (k, nq)
    v, a, j : (k, nv)
        `j` is None unless jerks were requested.
    iterations, factorisations, splits : int
        Of Newton's method; steps that were split.
    """

    t: Array
    q: Array
    v: Array
    a: Array
    j: Array | None
    iterations: int
    factorisations: int
    splits: int
    _arrays: ClassVar = {
        "q": (("time", "coordinate"), ""),
        "v": (("time", "speed"), ""),
        "a": (("time", "speed"), ""),
        "j": (("time", "speed"), ""),
    }

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return {"time": (self.t, "s")}

    def _headline(self) -> str:
        span = f"t = {self.t[0]:.6g} to {self.t[-1]:.6g} s" if len(self.t) else "no times"
        return f"{count_text(len(self.t), 'position')}, {span}, {self.iterations} iterations, {self.splits} splits"


@checked("equations", "q", "rates", "h", "order")
def predict_position(equations: Equations, q: Array, rates: RateResult, h: float, order: int) -> Array:
    """Return the configuration after a time h, (nq,), by (1), (2) or (3)."""
    step = (0.0, h, h)[order] * rates.v + (h * h / 2 if order == 2 else 0.0) * rates.a
    return equations.retract(q, step)


@checked("equations", "predictor")
def follow_branch(
    equations: Equations,
    times: ArrayLike,
    q: ArrayLike | None = None,
    *,
    predictor: int | None = None,
    jerk: bool = True,
    axis: Axis = TIME,
    **newton: Any,
) -> FollowedMotion:
    """Follow a driven mechanism through times (k,) s, from a guess q at the first of them.

    Parameters
    ----------
    equations : Equations
        With as many drives as degrees of freedom.
    times : (k,) s
        In order, rising or falling.
    q : (nq,)
        Guess at times[0].
    predictor : int
        0, 1 or 2: order of the prediction from which Newton's method starts, position by position in Python. If neither
        this nor options of Newton's method are given, mechanisms in natural coordinates are followed in the core.
    jerk : bool
        Compute jerks.
    axis : Axis
        Meaning of the times, for messages.
    **newton
        Options of `find_position`.

    Raises
    ------
    AssemblyError
        If the branch ends before the last time; ``error.result`` has the motion so far.
    """
    shape = shape_of(times)
    if shape is None or len(shape) != 1 or not shape[0]:
        raise ModelError("follow_branch", "times", times, "give one or more times, s")
    if predictor not in (None, 0, 1, 2):
        raise ModelError("follow_branch", "predictor", predictor, "use 0, 1 or 2")
    ts = finite_array(times, shape, item="follow_branch", field="times")
    if not (bool((np.diff(ts) >= 0.0).all()) or bool((np.diff(ts) <= 0.0).all())):
        raise ModelError("follow_branch", "times", times, "give increasing or decreasing times")
    run = _BranchFollower(equations, 2 if predictor is None else predictor, newton, axis)
    first = find_position(equations, q, float(ts[0]), **newton)
    run.count(first)
    if predictor is None and not newton and getattr(equations, "sweeps", False):
        return _in_core(equations, ts, first, jerk, axis)
    at, t = first.q, float(ts[0])
    kept: list[tuple[Array, RateResult]] = []
    rolling = bool((equations.row_scales <= 0.0).any())
    try:
        here = find_rates(equations, at, t, jerk=jerk)
        kept.append((at, here))
        for goal in ts[1:]:
            positions = run.roll(at, t, float(goal)) if rolling else run.steps(at, here, t, float(goal))
            *_, at = positions
            t = float(goal)
            here = find_rates(equations, at, t, jerk=jerk)
            kept.append((at, here))
    except (AssemblyError, ModelError, SingularityError) as error:
        error.result = run.collect(ts[: len(kept)], kept, jerk) if kept else None
        raise
    return run.collect(ts, kept, jerk)


def _in_core(equations: Any, times: Array, first: PositionResult, jerk: bool, axis: Axis) -> FollowedMotion:
    """Follow in the core, and raise an error with the reason if the motion ended early."""
    found = _swept(equations, times, first.q, jerk)
    splits = max(0, found.steps - (len(found.t) - 1))
    made = FollowedMotion(found.t, found.q, found.v, found.a, found.jerk, found.corrections, found.corrections, splits)
    if found.status == "finished":
        return made
    try:
        # undriven degrees of freedom, and contradicting rates
        find_rates(equations, found.q_last, found.t_last, jerk=False)
        if found.status == "far":
            raise _too_far(found.t_last, float(times[len(found.t)]), axis)
        nearest = find_position(equations, found.q_last, float(times[len(found.t)]), check=False)
        raise _ended(found.t_last, float(times[len(found.t)]), nearest, equations, axis)
    except DalembertError as error:
        error.result = made
        raise


def _swept(equations: Any, times: Array, q: Array, jerk: bool) -> KinematicSweep:
    """Follow in the core; where steps are split, evaluate laws at enough times for exact interpolation.

    Driven points that leave their circle between two times could not be followed.
    """
    found: KinematicSweep = equations.sweep(times, q, jerk=jerk)
    while found.status in ("ended", "contradicted") and found.t.size:
        row = len(found.t) - 1
        inner = np.linspace(times[row], times[row + 1], _N_FINE_TIMES + 1)
        fine: KinematicSweep = equations.sweep(inner, found.q[-1], jerk=False, most=_N_FINE_TIMES)
        if fine.status != "finished":
            return replace(found, status=fine.status, q_last=fine.q_last, v_last=fine.v_last, t_last=fine.t_last)
        rest: KinematicSweep = equations.sweep(times[row + 1 :], fine.q[-1], jerk=jerk)
        rows: dict[str, Any] = {
            name: np.concatenate([getattr(found, name), getattr(rest, name)])
            for name in ("t", "q", "v", "a", *(("jerk",) if jerk else ()), "slack")
        }
        sums = {
            name: sum(getattr(part, name) for part in (found, fine, rest))
            for name in ("steps", "corrections", "crossings")
        }
        found = replace(rest, **rows, **sums)
    return found


class _BranchFollower:
    """One pass through times, with its counts."""

    def __init__(self, equations: Equations, predictor: int, newton: dict[str, Any], axis: Axis) -> None:
        self.equations, self.predictor, self.newton, self.axis = equations, predictor, newton, axis
        self.iterations = self.factorisations = self.splits = 0

    def count(self, found: PositionResult) -> None:
        self.iterations += found.iterations
        self.factorisations += found.factorisations

    def steps(self, q: Array, here: RateResult, t: float, goal: float) -> Iterator[Array]:
        """Yield positions towards the goal, the last one there."""
        if t == goal:
            yield q
        whole = h = goal - t
        found: PositionResult | None = None
        tried = 0
        while t != goal:
            tried += 1
            if tried > MAX_STEPS:
                raise _too_far(t, goal, self.axis)
            end = goal if abs(goal - t) <= abs(h) * (1 + 1e-12) else t + h
            guess = predict_position(self.equations, q, here, end - t, self.predictor)
            found = find_position(self.equations, guess, end, **{"max_iterations": 20, **self.newton, "check": False})
            self.count(found)
            there = self._agrees(q, here, found, end - t) if found.success else None
            if there is None:
                self.splits += 1
                h = (end - t) / 2
                if abs(h) < MIN_STEP * abs(whole):
                    raise _ended(t, goal, found, self.equations, self.axis)
                continue
            q, here, t = found.q, there, end
            h *= 2
            yield q

    def _agrees(self, q: Array, here: RateResult, found: PositionResult, h: float) -> RateResult | None:
        """Return the rates at the end of a step if the predictions from both ends agree."""
        equations = self.equations
        try:
            there = find_rates(equations, found.q, found.t, jerk=False)
        except DalembertError:
            return None
        scale = equations.column_scales
        length = float(np.linalg.norm(equations.difference(q, found.q) / scale))
        for start, rates, span, end in ((q, here, h, found.q), (found.q, there, -h, q)):
            off = equations.difference(predict_position(equations, start, rates, span, 2), end) / scale
            if float(np.linalg.norm(off)) > MAX_PREDICTION_ERROR * length and not (
                length < _SHORT and found.iterations <= 3
            ):
                return None
        return there

    def roll(self, q: Array, t: float, goal: float) -> Iterator[Array]:
        """Integrate velocities to the goal, then project the position onto the holonomic rows."""
        from scipy.integrate import solve_ivp

        tried = 0

        def speed(s: float, x: Array) -> Array:
            nonlocal tried
            tried += 1
            if tried > MAX_STEPS:
                raise _too_far(s, goal, self.axis)
            # between steps positions deviate from the rows by the error of the integration, and so do velocities
            J = self.equations.jacobian(x, s)
            rows, columns = speed_scales(self.equations, J), self.equations.column_scales
            b = self.equations.velocity_terms(x, s)
            return columns * factor(rows[:, None] * J * columns).solve(rows * b)

        ran = solve_ivp(speed, (t, goal), q, method="DOP853", rtol=1e-11, atol=1e-12)
        if not ran.success:
            raise SingularityError(
                f"the motion from {self.axis.at(t)} cannot be integrated beyond {float(ran.t[-1]):.9g} "
                f"({ran.message}): velocities jump there; "
                "end the motion before it, or check the rank of the rows (Mechanism.mobility)"
            )
        found = find_position(self.equations, ran.y[:, -1], goal, **self.newton)
        self.count(found)
        yield found.q

    def collect(self, t: Array, kept: list[tuple[Array, RateResult]], jerk: bool) -> FollowedMotion:
        return FollowedMotion(
            t,
            np.array([q for q, _ in kept]),
            np.array([rates.v for _, rates in kept]),
            np.array([rates.a for _, rates in kept]),
            np.array([rates.j for _, rates in kept]) if jerk else None,
            self.iterations,
            self.factorisations,
            self.splits,
        )


def _too_far(t: float, goal: float, axis: Axis) -> SingularityError:
    return SingularityError(
        f"kinematics: the motion ends at {axis.at(t, '.9g')}: {step_too_long_message(axis, t, goal)}"
    )


def _ended(t: float, goal: float, found: PositionResult, equations: Equations, axis: Axis) -> AssemblyError:
    """Return the error for the end of a branch."""
    J = equations.row_scales[:, None] * equations.jacobian(found.q, t) * equations.column_scales
    s = np.linalg.svd(J, compute_uv=False)
    least = float(s[min(J.shape[1], len(s)) - 1]) if len(s) else 0.0
    missed = ", ".join(repr(name) for name in list(found.rows)[:3])
    why = f"beyond it {missed} cannot be met" if missed else "rates would have to be infinite there, a dead point"
    error = AssemblyError(
        f"the branch ends at {axis.at(t, '.9g')}, before {goal:.6g}{axis.ending}: {why} (smallest singular "
        f"value of J {least:.2g}); end the motion before it, drive another coordinate, or choose another assembly"
    )
    error.q, error.residuals = found.q, found.rows
    return error
