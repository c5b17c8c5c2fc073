"""Dragging of a mechanism: bodies are pulled and coordinates set while its loops stay closed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array, BoolArray
from ...checks import finite_array, finite_number
from ...closure.assembly import assemble
from ...closure.driven.driven_state import start_positions
from ...closure.loop_equations import LoopEquations
from ...closure.loop_solver import LoopSolver
from ...errors import ModelError
from ...model import Model
from ...numerics.rank import STEP_RANK_TOL, null_space

__all__ = ["DragSolver"]


CLOSURE_TOL = 1e-11  # scaled residual of the loops: a hundredth of the guaranteed one
MAX_ITERATIONS = 30  # of Newton's method
MAX_PULL_STEPS = 6  # of one pull
MAX_SET_STEPS = 200  # steps of at most 0.35 rad, or that share of the system's length, to a value

REACHED_TOL = 1e-7  # of the characteristic length: closer targets are reached
REGULARIZATION = 1e-3  # weight of coordinates relative to the motion of the pulled point


class DragSolver:
    """Configuration of a model that the user drags.

    Joint drives let go, because a hand that turns a crank is a drive of its own; drives of constraints, loops,
    couplings and limits of joints hold.

    Attributes
    ----------
    model : Model
    q : (nq,) rad or m
        With closed loops.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library.mechanisms import four_bar
    >>> puppet = DragSolver(four_bar().compile())
    >>> gone = puppet.pull("crank", (0.0, 0.0, 0.0), (5.0, 5.0, 0.0))  # its own pivot does not follow
    >>> puppet.set("A", 1.2)
    True
    >>> bool(np.abs(puppet.model.constraint_residual(puppet.q)).max() < 1e-9)
    True
    """

    def __init__(self, model: Model, q: ArrayLike | None = None, *, t: float = 0.0) -> None:
        self.model = model
        self._closure = LoopSolver(LoopEquations.of(model, t=t), CLOSURE_TOL, MAX_ITERATIONS)
        self.start: Array = start_positions(model, t) if q is None else assemble(model, state=q, t=t).q
        self.q: Array = self.start.copy()
        self._all = np.ones(model.nv, dtype=bool)
        self.low, self.high = _limits(model)

    def reset(self) -> None:
        """Return to the initial configuration."""
        self.q = self.start.copy()

    # ---- by a point

    def pull(self, body: str, local: ArrayLike, target: ArrayLike) -> float:
        """Move a point of a body as near to a target as the mechanism allows; return the remaining distance, m.

        Parameters
        ----------
        body : str
        local : (3,) m
            The point, in body axes.
        target : (3,) m
            In the world.

        Steps of least squares along the motions that keep the loops closed: minimise |J N y - e|^2 + slack^2 |y|^2,
        with N a basis of the null space of the rows, then close again.
        """
        model = self.model
        where = finite_array(local, (3,), item="pull", field="local")
        wanted = finite_array(target, (3,), item="pull", field="target")
        if body not in model.system.bodies:
            raise ModelError("pull", "body", body, f"there are {', '.join(map(repr, model.body_names))}")
        marker = model.system.bodies[body].at(*where)
        gap = wanted - model.pose(marker, self.q).position
        for _ in range(MAX_PULL_STEPS):
            away = float(np.linalg.norm(gap))
            if away < REACHED_TOL * model.length:
                break
            trial = self._towards(marker, gap)
            if trial is None:
                break
            left = wanted - model.pose(marker, trial).position
            if np.linalg.norm(left) > (1 - 1e-4) * away:
                break
            self.q, gap = trial, left
        return float(np.linalg.norm(gap))

    def _towards(self, marker: Any, gap: Array) -> Array | None:
        """Return a closed configuration with the point moved along a gap, or None."""
        model = self.model
        free = self._all.copy()
        J = model.jacobian(marker, self.q)[3:]
        for _ in range(3):
            step = self._step(J, gap, free)
            stopped = free & self._leaving(step)
            if not stopped.any():
                break
            free &= ~stopped
        share = min(1.0, 0.5 / max(float(np.abs(step / self._closure.loops.column_scales).max(initial=0.0)), 1e-300))
        for _ in range(5):
            found = self._closure.iterate(model.integrate(self.q, share * step), free)
            if found.closed and self._within(found.q):
                return found.q
            share *= 0.3
        return None

    def _step(self, J: Array, gap: Array, free: BoolArray) -> Array:
        columns = self._closure.loops.column_scales[free]
        basis = np.eye(len(columns))
        if self.model.nc:
            basis = null_space(self._closure.jacobian(self.q)[:, free], STEP_RANK_TOL, 0.0)
        G = J[:, free] * columns @ basis
        slack = REGULARIZATION * float(np.abs(G).max(initial=0.0)) + 1e-300
        y = np.linalg.lstsq(np.vstack([G, slack * np.eye(G.shape[1])]), np.r_[gap, np.zeros(G.shape[1])])[0]
        step = np.zeros(self.model.nv)
        step[free] = columns * (basis @ y)
        return step

    def _leaving(self, step: Array) -> BoolArray:
        """Return which velocities violate limits that have been reached."""
        values = self._values(self.q)
        slack = 1e-9 * (1 + np.abs(values))
        return ((values <= self.low + slack) & (step < 0)) | ((values >= self.high - slack) & (step > 0))

    def _within(self, q: Array) -> bool:
        values, before = self._values(q), self._values(self.q)
        slack = 1e-9 * (1 + np.abs(values))
        outside = (values < self.low - slack) | (values > self.high + slack)
        worse = (np.maximum(self.low - values, values - self.high)) > np.maximum(self.low - before, before - self.high)
        return not bool((outside & worse).any())

    def _values(self, q: Array) -> Array:
        """Return the coordinate of each velocity that is its rate, zero for others, (nv,)."""
        values = np.zeros(self.model.nv)
        for speed, place in _places(self.model).items():
            values[speed] = q[place]
        return values

    def motions(self) -> tuple[Array, int]:
        """Return small motions (nv, DOF) that keep the loops closed, and how many rows are independent."""
        columns = self._closure.loops.column_scales
        if not self.model.nc:
            return np.diag(columns), 0
        N = null_space(self._closure.jacobian(self.q), STEP_RANK_TOL, 0.0)
        return columns[:, None] * N, len(N) - N.shape[1]

    # ---- by a coordinate

    def set(self, coordinate: str, value: float) -> bool:
        """Set a coordinate to a value, or as near as the loops allow; return whether it was reached.

        Raises
        ------
        ModelError
            If it is no coordinate, or the value is further away than `MAX_SET_STEPS` steps lead.
        """
        model = self.model
        names = {model.coordinate_names[place]: (speed, place) for speed, place in _places(model).items()}
        if coordinate not in names:
            raise ModelError("set", "coordinate", coordinate, f"there are {', '.join(map(repr, list(names)[:8]))}")
        speed, place = names[coordinate]
        wanted = float(np.clip(finite_number(value, item="set", field=coordinate), self.low[speed], self.high[speed]))
        free = self._all.copy()
        free[speed] = False
        longest = 0.35 * float(self._closure.loops.column_scales[speed])
        here = float(self.q[place])
        if abs(wanted - here) > MAX_SET_STEPS * longest:
            remedy = f"it is at {here:.6g}: give a value at most {MAX_SET_STEPS * longest:.3g} from there"
            raise ModelError("set", coordinate, value, remedy)
        for _ in range(20 * MAX_SET_STEPS):
            if self.q[place] == wanted:
                return True
            step = float(np.clip(wanted - self.q[place], -longest, longest))
            trial = self.q.copy()
            trial[place] = wanted if abs(step) == abs(wanted - self.q[place]) else self.q[place] + step
            found = self._closure.iterate(trial, free)
            if found.closed:
                self.q = found.q
            elif longest > 1e-4 * float(self._closure.loops.column_scales[speed]):
                longest *= 0.25
            else:
                return False
        return bool(self.q[place] == wanted)

    def coordinates(self, reach: float) -> list[dict[str, Any]]:
        """Return name, range and value of the coordinates; displacements without limits have the range `reach` (m)."""
        model = self.model
        kinds, found = model.compiled.names.coordinate_units, []
        for speed, place in _places(model).items():
            value = float(self.q[place])
            span = np.pi if kinds[place] == "rad" else reach
            low = self.low[speed] if np.isfinite(self.low[speed]) else value - span
            high = self.high[speed] if np.isfinite(self.high[speed]) else value + span
            found.append({"name": model.coordinate_names[place], "low": low, "high": high, "value": value})
        return found


def _places(model: Model) -> dict[int, int]:
    """Return the coordinate index of every velocity that is the rate of a joint coordinate."""
    names = {name: k for k, name in enumerate(model.coordinate_names)}
    flexible = {k for name in model.flexible_names for k in range(*model.v_slice(name).indices(model.nv))}
    return {k: names[name] for k, name in enumerate(model.speed_names) if name in names and k not in flexible}


def _limits(model: Model) -> tuple[Array, Array]:
    """Return the joint limits for each velocity, (nv,) rad or m; infinite without a limit."""
    low, high = np.full(model.nv, -np.inf), np.full(model.nv, np.inf)
    for name in model.joint_names:
        element = model.system.connections[name].element if name in model.system.connections else None
        span = model.v_slice(name)
        for bound, values in (("lower", low), ("upper", high)):
            given = getattr(element, bound, None)
            if given is not None and span.stop > span.start:
                values[span] = np.broadcast_to(np.asarray(given, dtype=float), span.stop - span.start)
    return low, high
