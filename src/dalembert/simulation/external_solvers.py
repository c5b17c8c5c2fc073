"""Integrators of SciPy and SUNDIALS, for comparison with our own.

SciPy's methods and CVODE solve the explicit equations of y = (q, v, x),

    q' = N(q) v,    v' = a(t, q, v, x),    x' = dx(t, q, v, x),                                   (1)

with loops and drives at the level of accelerations. IDA solves the implicit ones of y = (q, v, x, lambda),

    q' - N(q) v = 0,    M v' + h - tau - P^T lambda = 0,    P v' + bias = P'',    x' - dx = 0,    (2)

with the mass matrix and as many constraint rows P as are independent at the start (index 1); at driven joints v' = a(t)
stands in place of the equation of motion. Quaternions are normalized inside both. Loops drift by the error of the
method; every recorded state is projected onto loops and drives.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, BoolArray
from ..errors import DalembertError, IntegrationError, MissingPackageError, ModelError
from ..model import Conditions, Model, SampledControl, State
from ..model.drive_targets import constraint_targets, drive_targets
from ..model.interpolation import interpolate
from ..numerics.rank import independent_rows
from ..result import Motion, Result, Stats, single_period
from .absolute_tolerances import of_states
from .diagnostics.discontinuities import CHECK_INTERVAL, SLOW_STEP_COUNT, find_discontinuity, missed_discontinuities
from .diagnostics.loop_drift import check_loops_closed
from .diagnostics.motion_notes import motion_notes
from .diagnostics.run_diagnostics import find_result_error
from .diagnostics.unmonitored_switching import unmonitored_note
from .events.control_sampling import ControlSampler
from .events.discontinuity_times import discontinuity_times_until
from .events.drive_velocity_jumps import check_no_jumps
from .interrupts import Interrupt, defer_interrupt
from .options import SUNDIALS_METHODS, Options
from .progress import Progress
from .request import SimulationRequest
from .start import start_state

__all__ = ["run_external_solver"]


SCIPY = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")
UNCONTROLLED_TOL = 1e30  # of multipliers, which IDA excludes from error control by it


def run_external_solver(method: str, request: SimulationRequest) -> Result:
    """Execute one run with a method of SciPy or SUNDIALS.

    Parameters
    ----------
    method : str
        ``"scipy:RK45"`` and so on, ``"cvode"`` (backward differences), ``"ida"``.
    request : SimulationRequest

    Raises
    ------
    MissingPackageError
        Without scikit-sundae.
    IntegrationError
        Where the method fails; with the partial result.
    """
    check_no_jumps(request.drive_jumps, f"method {method!r} does not support velocity jumps")
    start = start_state(request.model, request.state, request.t_start, limits=request.joint_limits)
    interrupt = Interrupt()
    try:
        with interrupt:
            result = _execute(method, request, start, request.notes + start.notes, interrupt)
    except DalembertError as error:
        if request.on_error == "raise" or error.result is None:
            raise
        return error.result
    if request.on_error != "return":
        defer_interrupt(interrupt)
    return result


def _execute(method: str, request: SimulationRequest, start: State, notes: list[str], interrupt: Interrupt) -> Result:
    """Take steps from the start to the end, and return the result."""
    began, conditions, t_end = time.perf_counter(), request.conditions, request.t_end
    run = _ExternalRun(method, request, start)
    progress = Progress(request.t_start, t_end, request.progress)
    status, caught = "finished", None
    try:
        while run.t[-1] < t_end and not interrupt.pressed:
            run.step()
            run.check_progress(t_end)
            progress.show(run.t[-1])
        if run.t[-1] < t_end:
            status = "interrupted"
        else:
            check_loops_closed(conditions, run.rows[-1])
    except DalembertError as error:
        status, caught = "failed", run.explained(error)
    finally:
        progress.close()
    evaluations, jacobians, factorizations = run.counts()
    stats = Stats(
        method=method,
        steps=len(run.t) - 1,
        evaluations=evaluations,
        jacobians=jacobians,
        factorizations=factorizations,
        wall_time=time.perf_counter() - began,
        rtol=request.options.rtol,
        atol=request.options.atol,
        notes=notes,
    )
    result = run.result(request.times, stats, status, "" if caught is None else str(caught))
    if caught is None:
        caught = find_result_error(result)
        if caught is not None:
            result.status, result.message = "failed", str(caught)
    if caught is not None:
        caught.result = result
        raise caught
    return result


class Equations:
    """Equations of motion in the form of other packages."""

    def __init__(self, options: Options, conditions: Conditions) -> None:
        self.model, self.conditions = conditions.model, conditions
        self.options = replace(options, method="dop853", detect_stiffness=False, project=True)
        self.integrator = self.options.integrator(conditions)
        self.interval = (-np.inf, np.inf)

    def set_interval(self, begin: float, end: float) -> None:
        """Limit the times of evaluation to the interval between two discontinuity times, as the core does."""
        self.interval = begin + 2e-15 * abs(begin), end - 2e-15 * abs(end)

    def split(self, y: Array) -> tuple[Array, Array, Array]:
        """Return q with normalized quaternions, v and x from y (..., nq + nv + nx and more)."""
        nq, nv, nx = self.model.nq, self.model.nv, self.model.nx
        q = self.model.integrate(y[..., :nq], np.zeros((*y.shape[:-1], nv)))
        return q, np.array(y[..., nq : nq + nv]), np.array(y[..., nq + nv : nq + nv + nx])

    def rates(self, t: float, y: Array) -> Array:
        """Return y' by (1)."""
        if not np.isfinite(y).all():
            raise IntegrationError(f"at t = {t:.9g} s the state is not finite: give smaller tolerances or max_step")
        q, v, x = self.split(y)
        t = min(max(t, self.interval[0]), self.interval[1])
        found = self.model.dynamics(t, q, v, x, conditions=self.conditions)
        return np.concatenate([self.model.coordinate_rates(q, v), found.a, found.dx])

    def projected(self, t: float, y: Array) -> State:
        """Return y projected onto loops and drives."""
        outcome = self.integrator.start(t, *self.split(y))
        if outcome:
            raise IntegrationError(f"at t = {t:.9g} s the loops have drifted too far: give smaller tolerances")
        t, q, v, x = self.integrator.motion()
        return State(q=q, v=v, t=t, x=x)


class Residual:
    """The implicit equations (2), with the rows that are independent at the start."""

    def __init__(self, equations: Equations, start: State) -> None:
        self.equations, model = equations, equations.model
        self.model = model
        self.driven = equations.conditions.acceleration_prescribed
        self.rows = _independent(model, start.q, start.t, ~self.driven) if model.nc else np.zeros(0, dtype=np.int64)
        self.size = model.nq + model.nv + model.nx + len(self.rows)

    def start(self, state: State) -> tuple[Array, Array]:
        """Return y and y' at the start."""
        motion = self.model.dynamics(state.t, state.q, state.v, state.x, conditions=self.equations.conditions)
        y = np.concatenate([state.q, state.v, state.x])
        lam: Array = np.zeros(len(self.rows))
        slope = self.equations.rates(state.t, y)
        if len(self.rows):
            P = self.model.constraint_jacobian(state.q, t=state.t)[:, ~self.driven]
            lam = np.asarray(np.linalg.lstsq(P[self.rows].T, P.T @ motion.lam, rcond=None)[0], dtype=np.float64)
        return np.concatenate([y, lam]), np.concatenate([slope, 0.0 * lam])

    def __call__(self, t: float, y: Array, slope: Array) -> Array:
        """Return the residual of (2)."""
        model, nq, nv, nx = self.model, self.model.nq, self.model.nv, self.model.nx
        t = min(max(t, self.equations.interval[0]), self.equations.interval[1])
        q, v, x = self.equations.split(y)
        a, lam = np.array(slope[nq : nq + nv]), np.zeros(model.nc)
        lam[self.rows] = y[nq + nv + nx :]
        conditions = self.equations.conditions
        motion = model._required_forces(q, v, a, lam=lam, t=t, x=x, conditions=conditions)
        dx = model.report(["dx"], t, q, v, x, conditions=conditions)["dx"] if nx else x
        closure = np.zeros(0)
        if len(self.rows):
            P = model.constraint_jacobian(q, t=t)
            closure = (P @ a + model.constraint_bias(q, v, t=t) - constraint_targets(model, t)[2])[self.rows]
        motion[self.driven] = (a - drive_targets(model, t)[2])[self.driven]
        return np.concatenate(
            [slope[:nq] - model.coordinate_rates(q, v), motion, slope[nq + nv : nq + nv + nx] - dx, closure]
        )


def _independent(model: Model, q: Array, t: float, free: BoolArray) -> NDArray[np.int64]:
    """Return an independent set of constraint rows for the free velocities at q."""
    return independent_rows(model.constraint_jacobian(q, t=t)[:, free] / np.sqrt(model.composite_inertias(q)[free]))


# ---- steppers


class _ScipySteps:
    """A method of scipy.integrate."""

    def __init__(self, name: str, equations: Equations, start: State, t_end: float) -> None:
        integrate: Any = importlib.import_module("scipy.integrate")
        options = equations.options
        self.equations, self.t_end = equations, t_end
        self.interpolants: list[Any] = []
        self.solver = getattr(integrate, name)(
            equations.rates,
            start.t,
            np.concatenate([start.q, start.v, start.x]),
            t_end,
            rtol=max(options.rtol, 100 * np.finfo(float).eps),
            atol=of_states(equations.model, options.tolerances),
            max_step=options.max_step,
        )

    def step(self) -> tuple[float, Array]:
        """Take a step; return t and y."""
        message = self.solver.step()
        if self.solver.status == "failed":
            raise IntegrationError(
                f"at t = {self.solver.t:.9g} s SciPy's {type(self.solver).__name__} ended: {message}"
            )
        self.interpolants.append(self.solver.dense_output())
        return float(self.solver.t), np.array(self.solver.y)

    def counts(self) -> tuple[int, int, int]:
        """Return evaluations, Jacobians and factorizations."""
        return int(self.solver.nfev), int(self.solver.njev), int(self.solver.nlu)

    @staticmethod
    def dense(steppers: list[Any], run: _ExternalRun) -> Callable[[Array], tuple[Array, Array, Array]]:
        """Return the method's own interpolation, projected."""
        curves = [curve for stepper in steppers for curve in stepper.interpolants]

        def states(times: Array) -> tuple[Array, Array, Array]:
            place = np.clip(np.searchsorted(run.t, times, side="right") - 1, 0, len(curves) - 1)
            return run.projected(times, np.array([curves[k](t) for k, t in zip(place, times, strict=True)]))

        return states


class _SundialsSteps:
    """CVODE or IDA."""

    def __init__(self, name: str, equations: Equations, start: State, t_end: float) -> None:
        try:
            package: Any = importlib.import_module(f"sksundae.{name}")
        except ImportError as error:
            remedy = 'pip install "dalembert[sundials]"'
            raise MissingPackageError("methods 'cvode' and 'ida'", "scikit-sundae", remedy) from error
        options = equations.options
        self.name, self.t_end = name, t_end
        self.error: Exception | None = None
        longest = 0.0 if np.isinf(options.max_step) else options.max_step
        common: dict[str, Any] = {"rtol": options.rtol, "max_step": longest}
        if name == "cvode":

            def rates(t: float, y: Array, slope: Array) -> None:
                self._fill(slope, lambda: equations.rates(t, np.array(y)))

            self.solver = package.CVODE(rates, atol=of_states(equations.model, options.tolerances), **common)
            self.last = self.solver.init_step(start.t, np.concatenate([start.q, start.v, start.x]))
        else:
            residual = Residual(equations, start)
            algebraic = np.arange(residual.size - len(residual.rows), residual.size)
            atol = np.concatenate(
                [of_states(equations.model, options.tolerances), np.full(len(algebraic), UNCONTROLLED_TOL)]
            )

            def defect(t: float, y: Array, slope: Array, out: Array) -> None:
                self._fill(out, lambda: residual(t, np.array(y), np.array(slope)))

            self.solver = package.IDA(defect, atol=atol, algebraic_idx=algebraic if len(algebraic) else None, **common)
            self.last = self.solver.init_step(start.t, *residual.start(start))

    def _fill(self, out: Array, function: Callable[[], Array]) -> None:
        """Set an array of SUNDIALS; an exception is raised after SUNDIALS has returned."""
        try:
            out[:] = function()
        except Exception as error:
            self.error = self.error or error
            out[:] = np.nan

    def step(self) -> tuple[float, Array]:
        """Take a step; return t and y."""
        self.last = self.solver.step(self.t_end, method="onestep", tstop=self.t_end)
        if self.error is not None:
            raise self.error
        t, y = float(np.ravel(self.last.t)[-1]), np.array(self.last.y).reshape(-1, np.shape(self.last.y)[-1])[-1]
        if not self.last.success:
            raise IntegrationError(f"at t = {t:.9g} s SUNDIALS' {self.name.upper()} ended: {self.last.message}")
        return t, y

    def counts(self) -> tuple[int, int, int]:
        """Return evaluations, Jacobians and factorizations."""
        return int(self.last.nfev), int(self.last.njev), 0

    @staticmethod
    def dense(steppers: list[Any], run: _ExternalRun) -> Callable[[Array], tuple[Array, Array, Array]]:
        """Return quintic interpolation of positions, velocities and accelerations at the steps, projected."""
        kept: list[Any] = []

        def states(times: Array) -> tuple[Array, Array, Array]:
            if not kept:
                t = np.array(run.t)
                q, v, x = run.states()
                kept.extend((t, q, v, x, run.model.report(["a"], t, q, v, x, conditions=run.equations.conditions)["a"]))
            t, q, v, x, a = kept
            names = run.model.coordinate_names, run.model.speed_names
            between = interpolate(t, q, v, a, times, *names)
            x_between = np.array([np.interp(times, t, column) for column in x.T]).reshape(-1, len(times)).T
            return run.projected(times, np.column_stack([*between, x_between]))

        return states


def _stepper(method: str, equations: Equations, start: State, t_end: float) -> _ScipySteps | _SundialsSteps:
    if method in SUNDIALS_METHODS:
        return _SundialsSteps(method, equations, start, t_end)
    name = method.removeprefix("scipy:")
    if name not in SCIPY:
        known = ", ".join(f"'scipy:{each}'" for each in SCIPY)
        raise ModelError("simulate", "method", method, f"SciPy has {known}")
    return _ScipySteps(name, equations, start, t_end)


class _ExternalRun:
    """Steps of a run by an external method, which is restarted at each discontinuity time."""

    def __init__(self, method: str, request: SimulationRequest, start: State) -> None:
        conditions = request.conditions
        self.method, self.model = method, conditions.model
        self.equations = Equations(request.options, conditions)
        sampled = isinstance(conditions.control, SampledControl)
        self.sampler = ControlSampler(conditions) if sampled else None
        if self.sampler is not None:
            self.sampler.take(start.copy())
        self.discontinuity_times = discontinuity_times_until(
            conditions, start.t, request.t_end, also=request.discontinuity_times
        )
        inner = self.discontinuity_times[
            (self.discontinuity_times > start.t) & (self.discontinuity_times < request.t_end)
        ]
        self.ends = np.append(inner, request.t_end).tolist()
        self.equations.integrator.set_discontinuities(self.discontinuity_times)
        self.t = [start.t]
        self.rows = [start]
        self.steppers: list[_ScipySteps | _SundialsSteps] = []
        self._restart(start)

    def _restart(self, start: State) -> None:
        """Make a new stepper up to the next discontinuity time."""
        end = self.ends[len(self.steppers)]
        self.equations.set_interval(start.t, end)
        self.steppers.append(_stepper(self.method, self.equations, start, end))

    def step(self) -> None:
        """Take one step; restart first at a discontinuity time."""
        if self.t[-1] >= self.steppers[-1].t_end:
            begin = self.rows[-1]
            if self.sampler is not None:
                self.sampler.take(begin.copy())
            self._restart(self.equations.projected(begin.t, np.concatenate([begin.q, begin.v, begin.x])))
        self.add(*self.steppers[-1].step())

    def counts(self) -> tuple[int, int, int]:
        """Return evaluations, Jacobians and factorizations of all steppers."""
        evaluations, jacobians, factorizations = zip(*(s.counts() for s in self.steppers), strict=True)
        return sum(evaluations), sum(jacobians), sum(factorizations)

    def add(self, t: float, y: Array) -> None:
        """Add a step, projected."""
        self.rows.append(self.equations.projected(t, y))
        self.t.append(t)

    def check_progress(self, t_end: float) -> None:
        """Raise an error if the run stagnates at a discontinuity."""
        number = len(self.t) - 1
        if number % CHECK_INTERVAL:
            return
        taken = self.t[-1] - self.t[-1 - CHECK_INTERVAL]
        if number and CHECK_INTERVAL * (t_end - self.t[-1]) > SLOW_STEP_COUNT * taken and self.find_discontinuity():
            raise IntegrationError(
                f"at t = {self.t[-1]:.9g} s the run stagnates, {CHECK_INTERVAL} steps for {taken:.2g} s"
            )

    def find_discontinuity(self) -> str:
        """Return a message on a discontinuity at the time reached; empty if there is none."""
        return find_discontinuity(self.equations.conditions, self.equations.options, self.rows[-1])

    def explained(self, error: DalembertError) -> DalembertError:
        """Return an error with its cause, if there is a discontinuity."""
        cause = self.find_discontinuity() if isinstance(error, IntegrationError) else ""
        return IntegrationError(f"{error}: {cause}") if cause else error

    def states(self) -> tuple[Array, Array, Array]:
        """Return q, v and x of all steps."""
        return tuple(np.array([getattr(row, part) for row in self.rows]) for part in "qvx")  # type: ignore[return-value]

    def projected(self, times: Array, rows: Array) -> tuple[Array, Array, Array]:
        """Return q, v and x of rows of y, each projected at its time."""
        found = [self.equations.projected(float(t), y) for t, y in zip(times, rows, strict=True)]
        return tuple(np.array([getattr(row, part) for row in found]) for part in "qvx")  # type: ignore[return-value]

    def result(self, times: Array | None, stats: Stats, status: str, message: str) -> Result:
        """Return the result at the steps, or at the output times that were reached."""
        dense = self.steppers[-1].dense(self.steppers, self)
        t, states = np.array(self.t), self.states()
        if times is not None and len(t) > 1:
            requested = times[times <= t[-1]]
            if len(requested):
                t, states = requested, dense(requested)
        conditions, options = self.equations.conditions, self.equations.options
        stats.notes.extend(unmonitored_note(self.model, stats.method))
        stats.notes.extend(
            missed_discontinuities(conditions, options, np.array(self.t), *self.states(), external=stats.method)
        )
        stats.notes.extend(
            motion_notes(Motion(self.model, t, *states, conditions=single_period(conditions)), [conditions])
        )
        return Result(
            self.model,
            t,
            *states,
            stats=stats,
            status=status,
            message=message,
            dense=dense if len(self.t) > 1 else None,
            conditions=None if conditions.is_default else single_period(conditions),
            step_times=self.t,
            discontinuity_times=self.discontinuity_times,
        )
