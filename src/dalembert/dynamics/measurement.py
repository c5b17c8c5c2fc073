"""Motions from measurements: coordinates, bodies or markers over time, smoothed, with loops closed.

Samples of all coordinates, or of markers by inverse kinematics (weighted least squares), are fitted by splines. Their
positions, velocities and accelerations are projected onto the loops by shortest steps,

    q <- q + D (S P D)^+ S r,   v <- v - D (S P D)^+ S (P v - c),   a likewise                                       (1)

If some coordinates are not given, those given become drives. If these and the loops leave no degree of freedom, the
others follow; otherwise they are integrated under the forces of the description (Passerello and Huston 1972, (3.30);
Sol 1983, chapter 6).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..closure.assembly import given_coordinates
from ..closure.loop_equations import LoopEquations
from ..closure.projection import STALLED_TOL, project_batch
from ..errors import ModelError
from ..model import Model, as_model
from ..model.drive_targets import driven_speeds
from ..model.state import StateLike
from ..motion import inverse_kinematics
from ..numerics.rank import null_space, pseudo_inverse
from ..result import Motion, Result, Stats
from ..system import System
from .actuators import StateSamples
from .motion_samples import MotionSamples
from .partial_motion import driven_motion_of
from .smoothing_splines import Smoothing, times_of

__all__ = ["measured_motion"]


_ITEM = "measured_motion"
_FORCES = ("tau", "lam", "loads", "constraint_effort", "unique", "energy")


def measured_motion(
    system: System | Model,
    times: ArrayLike,
    coordinates: Mapping[str, Any] | None = None,
    *,
    markers: Mapping[Any, Any] | None = None,
    cutoff: float | None = None,
    residual: float | None = None,
    bridge: float = 0.0,
    state: StateLike | None = None,
    **options: Any,
) -> Result:
    """Return a smooth motion from samples of coordinates, or from measured markers and poses of bodies.

    Parameters
    ----------
    system : System or Model
    times : (n,) s
        In order; they need not be uniform.
    coordinates : dict of name to samples
        Joints or single coordinates: (n,), or (n, nq) of a joint with several (quaternions first); or a number, a law
        or a function of time, as for drives. NaN for a missing sample. Coordinates that are not given follow from the
        loops, or are integrated under the forces of the description.
    markers : dict of marker to positions
        As for `inverse_kinematics`: positions (n, 3) in the world, poses, `da.Target` with weights. NaN for a marker
        that was not seen. All coordinates are fitted to them, sample by sample.
    cutoff : float, Hz
        Smooth the samples so that this frequency is halved, as by a Butterworth filter of order three run forwards and
        backwards.
    residual : float, rad or m
        Instead: smooth the samples so that the change has this root mean square.
        With neither, the motion passes through the samples.
    bridge : float, s
        Gaps up to this length are bridged; longer ones raise an error.
    state : State, dict of name to value, or (nq,) rad or m
        Guess of the first configuration.
    options
        Of `inverse_kinematics` (markers), or of `simulate` (integrated coordinates).

    Returns
    -------
    Result
        Positions, velocities and accelerations. `result.stats.notes` lists the smoothing and the errors of samples and
        markers. Forces follow by `inverse_dynamics`.

    Raises
    ------
    ModelError
        If samples have gaps, are too few or too far apart for the cut-off, or a name is unknown.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System()
    >>> arm = s.body("arm", da.rod(length=2.0, mass=3.0))
    >>> _ = s.connect("A", da.Revolute("-y"), s.ground, arm)
    >>> t = np.linspace(0.0, 1.0, 101)
    >>> motion = measured_motion(s, t, {"A": 0.5 * t**2}, cutoff=10.0)
    >>> motion["A.acceleration"][50].round(6)
    np.float64(1.0)
    >>> da.inverse_dynamics(s, motion)["A"][0].round(2)  # m l^2/3 + m g l/2
    np.float64(33.43)
    """
    model = as_model(system)
    t = times_of(times, _ITEM)
    smoothing = Smoothing.of(cutoff, residual, bridge, _ITEM)
    if (coordinates is None) == (markers is None):
        raise ModelError(_ITEM, "coordinates", None, "give coordinates= or markers=, one of them")
    if markers is not None:
        placed = _by_markers(model, t, markers, state, options)
        columns = {name: placed.q[:, model.q_slice(name)] for name in (*model.joint_names, *model.flexible_names)}
        given = MotionSamples.of(model, t, {name: c for name, c in columns.items() if c.shape[1]}, smoothing)
        return _settled(given, placed.notes)
    assert coordinates is not None
    given = MotionSamples.of(model, t, coordinates, smoothing)
    if given.complete:
        if options:
            raise ModelError(_ITEM, next(iter(options)), options, "all coordinates are given: leave options out")
        return _settled(given, [])
    q = given_coordinates(model, state, item=_ITEM)
    return driven_motion_of(model, t, given.laws(), q, given.notes, options, _ITEM)


# ---- markers


@dataclass(frozen=True, eq=False)
class _Placed:
    q: Array
    notes: list[str]


def _by_markers(
    model: Model, t: Array, markers: Mapping[Any, Any], state: StateLike | None, options: dict[str, Any]
) -> _Placed:
    """Return configurations (n, nq) that fit markers, one after another."""
    found = inverse_kinematics(model, markers, state=state, path=True, fit=True, **options)
    rows = np.atleast_2d(found.q)
    if len(rows) != len(t):
        raise ModelError(_ITEM, "markers", f"{len(rows)} positions", f"give one for each of the {len(t)} times")
    missed = np.atleast_1d(found.residual.position)
    notes = [f"the largest marker error was up to {missed.max():.3g} m, {missed.mean():.3g} m in the mean"]
    return _Placed(rows, [*notes, *found.notes, *_untold(model, markers, rows[0], float(t[0]))])


def _untold(model: Model, markers: Mapping[Any, Any], q: Array, t: float) -> list[str]:
    """Return a note on DOF that marker positions leave undetermined; other targets count as whole poses."""
    rows = []
    for marker, target in markers.items():
        is_position = not hasattr(target, "position") and np.shape(target)[-1:] == (3,)
        rows.append(model.jacobian(marker, q)[3 if is_position else 0 :])
    free = ~driven_speeds(model)
    J = np.vstack([np.vstack(rows) / model.length, model.constraint_jacobian(q, t=t)])[:, free]
    loose = null_space(J * model.compiled.tables["column_scale"][free]).T
    if not len(loose):
        return []
    moving = np.flatnonzero(free)[np.abs(loose).max(axis=0) > 0.1]
    shown = ", ".join(repr(model.speed_names[k]) for k in moving[:6])
    count = f"{len(loose)} DOF"
    return [f"the markers leave {count} undetermined, along {shown}: the posture nearest to the start is used"]


# ---- loops and results


def _settled(given: MotionSamples, notes: list[str]) -> Result:
    """Return the motion with its loops closed."""
    model, t = given.model, given.t
    q, v, a = given.speeds()
    if model.nc:
        q, v, a, moved = _closed(model, t, q, v, a)
        size = f"{moved:.3g} rad or characteristic lengths"
        notes = [*notes, f"projected onto the loops: coordinates changed by up to {size}"]
    samples = StateSamples(model, t, q, v, a, np.tile(model.element_start_values(), (len(t), 1)))
    notes = [*given.notes, *notes]
    if model.nx:
        samples, note = _with_states(samples)
        notes.append(note)
    return MeasuredResult(samples, notes)


def _closed(model: Model, t: Array, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array, float]:
    """Return (1)."""
    loops = LoopEquations.of(model, t=t)
    start, q = q, project_batch(loops, q)
    r = loops.residual(q)
    if np.abs(r).max() > STALLED_TOL:
        k, row = np.unravel_index(int(np.argmax(np.abs(r))), r.shape)
        remedy = "the samples are too far from a closed configuration; give independent coordinates only"
        raise ModelError(_ITEM, f"{model.constraint_names[row]} at t = {t[k]:.6g} s", float(r[k, row]), remedy)
    P, inverse = model.constraint_jacobian(q, t=t), pseudo_inverse(loops.jacobian(q))

    def corrected(rate: Array, wanted: Array) -> Array:
        gap = loops.row_scales * (wanted - np.einsum("ncv,nv->nc", P, rate))
        return np.asarray(rate + loops.column_scales * np.einsum("nvc,nc->nv", inverse, gap))

    v = corrected(v, loops.velocity_terms(q))
    a = corrected(a, loops.acceleration_terms(q, v))
    return q, v, a, float(np.abs(loops.difference(start, q)).max())


def _with_states(s: StateSamples) -> tuple[StateSamples, str]:
    """Return the samples with states of elements integrated along the motion, from their start values."""
    from scipy.integrate import solve_ivp

    model, between = s.model, MeasuredResult(s, [])

    def rates(t: float, x: Array) -> Array:
        q, v, _ = between._states(np.array([t]))
        return model.report(["dx"], np.array([t]), q, v, x[None])["dx"][0]

    span = (float(s.t[0]), float(s.t[-1]))
    found = solve_ivp(rates, span, model.element_start_values(), "LSODA", t_eval=s.t, rtol=1e-7, atol=1e-9)
    if not found.success:
        raise ModelError(_ITEM, "states of elements", found.message, "give them: da.inverse_dynamics(..., x=)")
    listed = ", ".join(map(repr, model.state_names[:6])) + (", ..." if model.nx > 6 else "")
    note = f"states of elements integrated along the motion from their start values: {listed}"
    return StateSamples(model, s.t, s.q, s.v, s.a, np.ascontiguousarray(found.y.T), s.loads, s.bare), note


class MeasuredMotion(Motion):
    """States with known accelerations and unknown forces."""

    def part(self, name: str) -> Array:
        """Return one part of the core's report, (n, ...), if it is not a force."""
        if name in _FORCES:
            remedy = "a measured motion has no forces yet: use da.inverse_dynamics(system, motion).result"
            raise ModelError(f"motion of {self.model.system.name!r}", "forces", "none", remedy)
        if name == "cut_a" and name not in self._parts:
            self._parts = {**self._parts, name: self.model.cut_motion(self.q, self.v, self.part("a"))[2]}
        return super().part(name)


class MeasuredResult(Result):
    """Motion without forces."""

    def __init__(self, samples: StateSamples, notes: list[str], dense: Callable[..., Any] | None = None) -> None:
        s = samples
        stats = Stats(method="measured motion", notes=notes)
        super().__init__(s.model, s.t, s.q, s.v, s.x, stats=stats, stored={"a": s.a}, dense=dense)

    @property
    def _kind(self) -> type[Motion]:
        return MeasuredMotion

    def _motion_at(self, times: Array) -> Motion:
        a = np.array([np.interp(times, self.t, column) for column in self._stored["a"].T]).reshape(-1, len(times)).T
        return MeasuredMotion(self.require_model(), times, *self._states(times), known={"a": np.ascontiguousarray(a)})

    def _like(self, t: Array, q: Array, v: Array, x: Array) -> Result:
        a = self._motion_at(t).part("a")
        return MeasuredResult(
            StateSamples(self.require_model(), t, q, v, a, x), self.stats.notes, self.dense or self._states
        )
