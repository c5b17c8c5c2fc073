"""`optimal_motion`: minimum-time and minimum-effort motions between two states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...answer import Answer
from ...arrays import Array, IndexArray
from ...checks import checked, finite_number, one_of, random_generator, whole_number
from ...errors import ModelError
from ...model import Model, as_model
from ...result import Result
from ...simulation import start_state
from ...system import System
from .collocation import Transcription
from .design_variables import as_bounds
from .solvers import NonlinearProgram, SolverResult, check_method, solve

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

__all__ = ["OptimalMotion", "optimal_motion"]


_ITEM = "optimal_motion"
_MAX_DENSE = 150  # unknowns beyond which a sparse solver is faster than a dense one
_MAX_QUASI_NEWTON = 300  # unknowns beyond which second derivatives are taken
_DEFECT_TOL = 1e-7  # scaled defect below which the equations hold


@dataclass(frozen=True, eq=False, repr=False)
class OptimalMotion(Answer):
    """Optimal motion; `print` shows a summary.

    Attributes
    ----------
    t : (K + 1,) s
    q, v : (K + 1, nq), (K + 1, nv)
    efforts : dict of str to (K + 1,) N m or N
        Piecewise linear in time.
    time : float, s
    cost : float
    status : str
        ``"optimal"``, ``"stopped"`` (equations hold, no convergence), ``"infeasible"`` (equations do not hold).
    message : str
    target_errors : float
        Largest difference of the final state from a simulation with these efforts, rad or m and per s.
    iterations : int
    result : Result
        The motion as a `Result`, with outputs, plots and animations.
    """

    t: Array
    q: Array
    v: Array
    efforts: dict[str, Array]
    time: float
    cost: float
    status: str
    message: str
    target_errors: float
    iterations: int
    result: Result = field(repr=False)

    def plot(self, *, path: Any = None) -> tuple[Axes, Axes]:
        """Plot coordinates and efforts over time, and return the matplotlib axes."""
        from ...view.plots.optimization import plot_motion

        return plot_motion(self, path=path)

    @property
    def success(self) -> bool:
        """Whether the status is ``"optimal"``."""
        return self.status == "optimal"

    def _subject(self) -> str:
        return str(self.result.labels.system)

    def _headline(self) -> str:
        return f"{self.status}, {self.time:.6g} s, cost {self.cost:.6g}, {self.iterations} iterations"

    def to_xarray(self, names: Sequence[str] = ()) -> xarray.Dataset:
        """Return the motion as an xarray Dataset; see `Result.to_xarray`."""
        return self.result.to_xarray(names)

    def __str__(self) -> str:
        lines = [f"{self.status}: {self.message}", f"time {self.time:.6g} s, cost {self.cost:.6g}"]
        lines += [f"{name}: {u.min():.6g} to {u.max():.6g}" for name, u in self.efforts.items()]
        lines.append(
            f"{len(self.t) - 1} steps, {self.iterations} iterations; end error of a simulation {self.target_errors:.3g}"
        )
        return "\n".join(lines)


@checked(
    "end", "efforts", "time", "minimize", "state", "limits", "steps", "guess", "seed", "tolerance", "max_iterations"
)
def optimal_motion(
    system: System | Model,
    end: Mapping[str, float],
    efforts: Mapping[str, tuple[float, float]],
    time: float | tuple[float, float],
    *,
    minimize: str = "time",
    state: Mapping[str, Any] | None = None,
    limits: Mapping[str, tuple[float | None, float | None]] | None = None,
    steps: int = 20,
    guess: OptimalMotion | None = None,
    seed: int = 0,
    method: str = "auto",
    tolerance: float = 1e-7,
    max_iterations: int = 300,
) -> OptimalMotion:
    """Find the efforts that move a system between two states in least time or with least effort.

    Uses direct collocation with exact derivatives of the equations of motion, including loops, elements and their
    states.

    Parameters
    ----------
    system : System or Model
    end : dict of name to value
        Final values: coordinates ``"A"`` and velocities ``"A.speed"`` of joints; all others are free. With loops give
        as many as there are degrees of freedom.
    efforts : dict of joint to (lower, upper), N m or N
        Actuated tree joints and their bounds; cut joints are not allowed.
    time : float, or (lower, upper), s
        Duration, or its bounds.
    minimize : str
        ``"time"``, or ``"effort"``: the integral of the sum of squares of efforts over their largest values.
    state : dict of name to value
        Start values, as in `simulate`.
    limits : dict of name to (lower, upper)
        Bounds of coordinates and velocities during the whole motion.
    steps : int
        Number of equal time steps.
    guess : OptimalMotion
        Start of the search; default linear interpolation of the states and small random efforts, for many unknowns
        the motion with fewer steps.
    seed : int
        Of the random efforts.
    method : str
        As in `optimize`. ``"auto"`` is ``"ipopt"`` for more than 150 unknowns if the extra ``optimize`` is installed,
        else ``"SLSQP"``, whose time grows with the cube of their number; `message` names IPOPT where it was used. For
        more than 300 unknowns IPOPT takes second derivatives of the collocation and begins, without `guess`, with the
        motion of a fourth of the steps; else it takes BFGS approximations. Where one fails, it takes the other.
    tolerance : float
    max_iterations : int
        Iterations.

    Examples
    --------
    A mass of 1 kg moves by 1 m from rest to rest in least time, with at most 1 N: it accelerates for 1 s and brakes for
    1 s.

    >>> import dalembert as da
    >>> s = da.System("block", gravity=(0, 0, 0))
    >>> _ = s.connect("P", da.Prismatic("x"), s.ground, s.body("block", da.box(1, 1, 1, mass=1.0)))
    >>> found = da.optimal_motion(s, {"P": 1.0, "P.speed": 0.0}, {"P": (-1.0, 1.0)}, (0.5, 5.0))
    >>> found.status, round(found.time, 2)
    ('optimal', 2.0)
    """
    model = as_model(system)
    _check_values(model)
    check_method(_ITEM, method, True)
    one_of(_ITEM, "minimize", minimize, ("time", "effort"))
    steps = whole_number(steps, item=_ITEM, field="steps", least=2)
    begin = start_state(model, dict(state or {}))
    start = np.concatenate([begin.q, begin.v, begin.x])
    given = _places(model, end, "end")
    if not given:
        raise ModelError(_ITEM, "end", end, "give final values: {'A': 1.0, 'A.speed': 0.0}")
    span = _time(time)
    columns, bounds = _efforts(model, efforts)
    edges = np.stack([np.full(len(start), -np.inf), np.full(len(start), np.inf)])
    for name, (place, (low, high)) in _limits(model, limits).items():
        edges[:, place] = low, high
        if not low <= start[place] <= high:
            raise ModelError(_ITEM, f"limits of {name!r}", (low, high), f"the start, {start[place]:.6g}, lies outside")
    if span[0] < span[1]:
        _check_clock(model, start)
    ends, values = np.array(list(given.values())), np.array([float(end[name]) for name in given])
    size = np.maximum(1.0, np.abs(np.where(np.isin(np.arange(len(start)), ends), 0.0, start)))
    size[ends] = np.maximum(size[ends], np.abs(values))
    efforts_size = np.abs(bounds).max(axis=0)
    program = Transcription(
        model,
        columns,
        steps,
        start,
        ends,
        values,
        edges,
        bounds,
        np.array(span),
        1.0 if minimize == "time" else 0.0,
        0.0 if minimize == "time" else 1.0,
        size,
        efforts_size,
    )
    z = _first(program, guess, end, seed)
    whole = program.program()
    method = _chosen(method, len(z))
    if method == "ipopt" and guess is None and len(z) > _MAX_QUASI_NEWTON:
        z = _coarse(program, end, seed, tolerance, int(max_iterations), z)
    solved = _solved(whole, np.clip(z, whole.lower, whole.upper), method, tolerance, int(max_iterations))
    return _answer(program, np.clip(solved.z, whole.lower, whole.upper), solved, tuple(efforts))


def _solved(program: NonlinearProgram, z: Array, method: str, tolerance: float, most: int) -> SolverResult:
    """Solve; IPOPT with second derivatives where unknowns are many, and in the other way where one has failed."""
    if method != "ipopt":
        return solve(program, z, method, tolerance, most)
    ways = [program, replace(program, curvature=None)]
    solved = None
    for way in ways if len(z) > _MAX_QUASI_NEWTON else reversed(ways):
        found = solve(way, z, method, tolerance, most)
        if solved is None or found.success:
            solved = found
        if solved.success:
            break
    assert solved is not None
    return solved


def _coarse(
    program: Transcription, end: Mapping[str, float], seed: int, tolerance: float, most: int, otherwise: Array
) -> Array:
    """Return the start of a large program: the motion with a fourth of the steps, or what is given if that fails.

    Without second derivatives searches leave poor local optima more often; with them large programs take far fewer
    iterations.
    """
    few = replace(program, steps=max(4, program.steps // 4))
    part = replace(few.program(), curvature=None)
    z = np.clip(_first(few, None, end, seed), part.lower, part.upper)
    found = solve(part, z, "ipopt", tolerance, most)
    if not found.success:
        return otherwise
    y, u, T = few.unpacked(np.clip(found.z, part.lower, part.upper))
    return _spread(program, np.linspace(0, 1, len(y)), y, u, T)


def _chosen(method: str, count: int) -> str:
    """Return the solver of a program with that many unknowns."""
    sparse = count > _MAX_DENSE and find_spec("casadi") is not None
    return "ipopt" if method == "auto" and sparse else method


def _check_values(model: Model) -> None:
    if model.nq != model.nv:
        remedy = "coordinates with quaternions are not supported: use joints with angles, such as Universal or Revolute"
        raise ModelError(_ITEM, "system", model.system.name, remedy)
    if model.drives:
        raise ModelError(_ITEM, "system", model.system.name, "it has drives, which prescribe coordinates: remove them")


def _check_clock(model: Model, start: Array) -> None:
    """Raise for time-dependent forces if the duration is free: their derivative by the duration is not computed."""
    n = model.nv
    parts = start[:n], start[n : 2 * n], start[2 * n :]
    early, late = (np.concatenate(model.dynamics(t, *parts)[:2]) for t in (0.0, 0.7310585))
    if np.abs(early - late).max(initial=0.0) > 1e-12 * (1 + np.abs(early).max(initial=0.0)):
        raise ModelError(_ITEM, "time", "free", "forces of the system depend on time: give a fixed duration")


def _time(time: Any) -> tuple[float, float]:
    span = (time, time) if np.ndim(time) == 0 else tuple(time)
    if len(span) != 2:
        raise ModelError(_ITEM, "time", time, "give seconds, or (lower, upper)")
    low, high = (finite_number(value, item=_ITEM, field="time") for value in span)
    if not 0 < low <= high:
        raise ModelError(_ITEM, "time", time, "bounds must be positive and must not cross")
    return low, high


def _places(model: Model, names: Mapping[str, Any], field: str) -> dict[str, int]:
    """Return the state indices of coordinates and velocities by name."""
    found = {}
    for name in names:
        owner, _, last = str(name).rpartition(".")
        if last == "speed" and owner in model.speed_names:
            found[name] = model.nv + model.speed_names.index(owner)
        elif str(name) in model.speed_names:
            found[name] = model.speed_names.index(str(name))
        else:
            known = ", ".join(map(repr, model.speed_names))
            raise ModelError(_ITEM, field, name, f"give coordinates of the trees ({known}), or their '.speed'")
    return found


def _limits(model: Model, limits: Mapping[str, Any] | None) -> dict[str, tuple[int, tuple[float, float]]]:
    places, found = _places(model, limits or {}, "limits"), {}
    for name, given in (limits or {}).items():
        found[name] = places[name], as_bounds(_ITEM, f"limits of {name!r}", given)
    return found


def _efforts(model: Model, efforts: Mapping[str, Any]) -> tuple[IndexArray, Array]:
    if not isinstance(efforts, Mapping) or not efforts:
        raise ModelError(_ITEM, "efforts", efforts, "give joints and bounds: {'A': (-10.0, 10.0)}")
    places = _places(model, efforts, "efforts")
    for name, place in places.items():
        if place >= model.nv:
            raise ModelError(_ITEM, "efforts", name, "efforts act along coordinates: name a joint")
    bounds = np.array([as_bounds(_ITEM, f"efforts of {name!r}", given) for name, given in efforts.items()]).T
    if not np.isfinite(bounds).all() or (bounds[0] >= bounds[1]).any():
        raise ModelError(_ITEM, "bounds of efforts", efforts, "give finite (lower, upper) that do not cross")
    return np.array(list(places.values())), bounds


def _first(program: Transcription, guess: OptimalMotion | None, end: Mapping[str, float], seed: int) -> Array:
    """Return the start of the search: a given motion, or interpolated states and small random efforts."""
    part = np.linspace(0, 1, program.steps + 1)
    if guess is not None:
        y = np.concatenate([guess.q, guess.v], axis=1)
        y = np.concatenate([y, np.tile(program.start[y.shape[1] :], (len(y), 1))], axis=1)
        return _spread(program, guess.t / guess.time, y, np.stack(list(guess.efforts.values()), axis=1), guess.time)
    last = program.start.copy()
    if program.model.nc:  # close the loops at the end
        there = start_state(program.model, dict(end))
        last = np.concatenate([there.q, there.v, program.start[2 * program.model.nv :]])
    last[program.ends] = program.end
    nv, T = program.model.nv, program.time_scale
    y = program.start + part[:, None] * (last - program.start)
    y[1:-1, nv : 2 * nv] = (last[:nv] - program.start[:nv]) / T
    rng = random_generator(seed, item="optimal_motion", field="seed")
    u = 0.01 * program.effort_scale * rng.standard_normal((len(part), program.nu))
    return program.packed(y, u, T)


def _spread(program: Transcription, old: Array, y: Array, u: Array, T: float) -> Array:
    """Return the unknowns of a motion that is given at other parts `old` of its duration."""
    part = np.linspace(0, 1, program.steps + 1)
    y, u = (np.stack([np.interp(part, old, column) for column in each.T], axis=1) for each in (y, u))
    return program.packed(y, u, T)


def _answer(program: Transcription, z: Array, solved: Any, names: tuple[str, ...]) -> OptimalMotion:
    y, u, T = program.unpacked(z)
    t = np.linspace(0, T, len(y))
    worst = float(np.abs(program.defects(z)).max(initial=0.0))
    status = "infeasible" if not worst <= _DEFECT_TOL * 10 else "optimal" if solved.success else "stopped"
    nv = program.model.nv
    result = Result(program.model, t, y[:, :nv], y[:, nv : 2 * nv])
    return OptimalMotion(
        t,
        y[:, :nv],
        y[:, nv : 2 * nv],
        {name: u[:, k] for k, name in enumerate(names)},
        T,
        program.cost(z),
        status,
        solved.message if status != "infeasible" else f"equations are violated by {worst:.3g}; {solved.message}",
        _missed(program, t, y, u),
        solved.iterations,
        result,
    )


def _missed(program: Transcription, t: Array, y: Array, u: Array) -> float:
    """Return the difference of the final state from an independent simulation with these efforts."""
    from scipy.integrate import solve_ivp

    def rates(now: float, at: Array) -> Array:
        effort = np.array([np.interp(now, t, column) for column in u.T])
        return np.asarray(program.rates(np.array([now]), at[None], effort[None])[0])

    at = y[0]
    for begin, stop in pairwise(t):
        found = solve_ivp(rates, (begin, stop), at, rtol=1e-8, atol=1e-9)
        if not found.success:
            return float("nan")
        at = found.y[:, -1]
    return float(np.abs(at - y[-1]).max())
