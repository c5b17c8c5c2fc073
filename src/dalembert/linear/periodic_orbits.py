"""Periodic motions: monodromy matrix, Floquet multipliers, orbits by shooting.

Small changes of the independent states satisfy s' = A(t) s along a motion. Over a step h they are propagated by

    s(t + h) = exp(h (A1 + A2) / 2 - h^2 sqrt(3) / 12 [A1, A2]) s(t)                                          (1)

with A1, A2 at Gauss's two points of the step (Magnus's expansion to fourth order; Blanes et al. 2009, (253)); the
derivatives A are exact. Steps are halved until the product over a period converges. If the independent coordinates
become ill-conditioned (a crank at a dead point), others of the same tangent space replace them.

An orbit is found by Newton's method on start state and period,

    (Phi - 1) ds + f dT = -r                                                                                 (2)

with r the difference of end and start, in the least-squares sense, so that the parameters of a family of orbits (phase,
energy) stay near the guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..answer import Answer, ArrayAnswer, list_text
from ..arrays import Array, BoolArray, ComplexArray
from ..checks import at_least_one, checked, finite_number, positive
from ..errors import DalembertError, IntegrationError, ModelError
from ..model import Conditions, Model, State, as_model
from ..result import Result
from ..simulation import simulate
from ..system import System
from .eigenvalue_loci import state_matrices
from .operating_point import OperatingPoint, as_plain_state, check_conditions, operating_point, same_coordinates
from .tangent import Tangent, tangent_space

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

__all__ = ["Floquet", "PeriodicOrbit", "floquet", "periodic_orbit"]


MAX_DEPENDENCE_RATIO = 30.0  # ratio of dependent to independent scaled motions beyond which coordinates are replaced
STEPS, MAX_STEPS = 32, 4096
MONODROMY_TOL = 1e-7  # relative change of the monodromy matrix when steps are halved; the finer is 16 times better
ORBIT_TOL = 1e-9  # scaled distance from end to start below which an orbit is closed


@dataclass(frozen=True, eq=False, repr=False)
class Floquet(ArrayAnswer):
    """Monodromy matrix and Floquet multipliers of a periodic motion.

    Attributes
    ----------
    space : Tangent
        At the start; names of states as in `LinearSystem`.
    period : float, s
    monodromy : (n, n)
        Maps changes of the independent states over one period.
    result : Result
        The motion.
    error : float
        Relative change of the matrix at the last halving of steps, over 15.
    """

    space: Tangent
    period: float
    monodromy: Array
    result: Result
    error: float
    _arrays: ClassVar = {
        "monodromy": (("state", "state_of"), ""),
        "multipliers": (("multiplier",), ""),
        "exponents": (("multiplier",), "1/s"),
    }

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the independent states."""
        return self.space.state_names

    @property
    def multipliers(self) -> ComplexArray:
        """Eigenvalues of the monodromy matrix, largest first."""
        values = np.linalg.eigvals(self.monodromy).astype(np.complex128)
        return np.asarray(values[np.argsort(-np.abs(values), kind="stable")])

    @property
    def exponents(self) -> ComplexArray:
        """log(multipliers) / period, 1/s."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.multipliers) / self.period)

    @property
    def stable(self) -> bool:
        """Whether no multiplier lies outside the unit circle by more than the error of the matrix."""
        # a double multiplier splits by the square root of the error
        slack = 10 * np.sqrt(max(self.error, 1e-14))
        return bool((np.abs(self.multipliers) <= 1.0 + slack).all())

    def __str__(self) -> str:
        lines = [
            f"{self.space.model.system.name!r}: period {self.period:.9g} s, {'stable' if self.stable else 'unstable'}"
        ]
        lines.append("  multiplier                     |.|")
        for value in self.multipliers:
            pair = f"{value.real:+.6g}" + (f" {value.imag:+.6g} i" if value.imag else "")
            lines.append(f"  {pair:<28} {abs(value):.6g}")
        return "\n".join(lines)

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return {"state": (list(self.states), ""), "state_of": (list(self.states), "")}

    def _headline(self) -> str:
        verdict = "stable" if self.stable else "unstable"
        sizes = [f"{abs(value):.4g}" for value in self.multipliers]
        return f"period {self.period:.6g} s, {verdict}, |multipliers| {list_text(sizes)}"

    def plot(self, *, ax: Any = None, path: Any = None) -> Axes:
        """Draw the multipliers and the unit circle in the complex plane; return the axes."""
        from ..view.plots.linear import plot_multipliers

        return plot_multipliers(self, ax=ax, path=path)


@dataclass(frozen=True, eq=False, repr=False)
class PeriodicOrbit(Answer):
    """Periodic orbit; `print` shows a summary.

    Attributes
    ----------
    period : float, s
    floquet : Floquet
        Monodromy matrix and multipliers.
    residual : float
        Scaled difference of end and start.
    iterations : int
    notes : tuple of str
    """

    period: float
    floquet: Floquet
    residual: float
    iterations: int
    notes: tuple[str, ...] = field(default=())

    def state(self) -> State:
        """Return the start state."""
        return self.floquet.space.state

    @property
    def conditions(self) -> Conditions:
        """Conditions of the orbit; linear analyses about it take them over."""
        space = self.floquet.space
        return space.model.conditions() if space.conditions is None else space.conditions

    @property
    def result(self) -> Result:
        """Motion over one period."""
        return self.floquet.result

    @property
    def multipliers(self) -> ComplexArray:
        """Floquet multipliers."""
        return self.floquet.multipliers

    @property
    def stable(self) -> bool:
        """Whether the orbit is stable; see `Floquet.stable`."""
        return self.floquet.stable

    def __str__(self) -> str:
        return "\n".join([str(self.floquet), *(f"  note: {note}" for note in self.notes)])

    def _subject(self) -> str:
        return self.floquet._subject()

    def _headline(self) -> str:
        verdict = "stable" if self.stable else "unstable"
        return f"period {self.period:.6g} s, {verdict}, residual {self.residual:.1e} in {self.iterations} iterations"

    def plot(self, *names: str, **options: Any) -> list[Axes]:
        """Plot outputs over one period and return the axes; see `Result.plot`."""
        return self.result.plot(*names, **options)

    def to_xarray(self, names: Sequence[str] = ()) -> xarray.Dataset:
        """Return the motion over one period as an xarray Dataset; see `Result.to_xarray`."""
        return self.result.to_xarray(names)


@checked("rtol", "independent_coordinates")
def floquet(
    system: System | Model,
    period: float,
    state: Any = None,
    *,
    t: float | None = None,
    rtol: float = 1e-10,
    independent_coordinates: Sequence[str] | None = None,
    independent_velocities: Sequence[str] | None = None,
    **options: Any,
) -> Floquet:
    """Compute the monodromy matrix and Floquet multipliers of a motion over a period.

    Parameters
    ----------
    system : System or Model
    period : float, s
    state : State, dict, Result, or a periodic orbit
        Start of the motion. It is not checked whether the motion returns to it.
    t : float, s
    rtol : float
        Tolerance of the simulation.
    independent_coordinates, independent_velocities
        As in `linearize`, at the start.
    options
        Settings of `simulate`.

    Examples
    --------
    Mathieu's equation, a pendulum on an oscillating support:

    >>> import dalembert as da
    >>> s = da.System("shaken")
    >>> cart, bob = s.body("cart", da.box(1, 1, 1, mass=1.0)), s.body("bob", mass=1.0, inertia=(1e-9, 1e-9, 1e-9))
    >>> _ = s.connect("lift", da.Prismatic("z"), s.ground, cart)
    >>> _ = s.connect("P", da.Revolute("y"), cart, bob.at(0, 0, 9.81))
    >>> _ = s.drive("lift", position=da.Harmonic(0.5, 2.0))
    >>> found = da.floquet(s, np.pi)
    >>> found.stable, round(float(abs(np.linalg.det(found.monodromy))), 6)
    (False, 1.0)
    """
    at = _begun(system, state, t, options, "floquet")
    positive("floquet", period=finite_number(period, item="floquet", field="period"))
    space = tangent_space(
        at.model, at.state, independent_coordinates=independent_coordinates,
        independent_velocities=independent_velocities, conditions=at.conditions, item="floquet",
    )  # fmt: skip
    result = _motion(at.model, at.state, period, rtol, options)
    return _carried(space, result, float(period))


def _begun(system: System | Model, state: Any, t: float | None, options: dict[str, Any], item: str) -> OperatingPoint:
    """Return the operating point at the start, with the parameters and control of the options or of a run."""
    model = as_model(system)
    parameters = options.pop("parameters", None)
    if parameters:  # override those of a run
        model = model.with_parameters(parameters)
        if isinstance(state, Result):
            state = state.final_state if t is None else state.at(finite_number(t, item=item, field="t"))
        state = as_plain_state(state)
    at = operating_point(model, state, t, None, item=item)
    if at.inputs is not None:
        remedy = "it has inputs in place of time laws, which a motion does not support: describe them by constants"
        raise ModelError(item, "state", type(state).__name__, remedy)
    if at.conditions is not None:
        if at.conditions.locked or at.conditions.off:
            remedy = "joints are locked or loops open there: describe the system in that form, or give the plain state"
            raise ModelError(item, "state", type(state).__name__, remedy)
        options.setdefault("control", at.conditions.control)
        at.model = at.model.with_parameters(at.conditions.parameters)
    control = options.get("control")
    if control is not None:
        at.conditions = at.model.conditions(control=control)
        check_conditions(at.model, at.conditions, item)
    else:
        at.conditions = None
    return at


def _motion(model: Model, state: State, period: float, rtol: float, options: dict[str, Any]) -> Result:
    more = {"rtol": rtol, "atol": 1e-2 * rtol, **options}
    result = simulate(model, float(state.t) + period, state=state, t_start=float(state.t), **more)
    assert isinstance(result, Result)  # of one state
    if result.status != "finished":
        raise IntegrationError(f"floquet: the motion ended before one period: {result.status} {result.message}")
    jumps = np.flatnonzero(np.diff(result.t) == 0.0)
    if len(jumps):
        where = float(result.t[jumps[0]])
        raise ModelError("floquet", f"motion at t = {where:.6g} s", "a jump", "impacts and switches are not supported")
    return result


def _carried(space: Tangent, result: Result, period: float) -> Floquet:
    """Return the product of (1) over a period, with steps halved until convergence."""
    last: Array | None = None
    steps = STEPS
    while True:
        Phi = _product(space, result, period, steps)
        if last is not None:
            change = float(np.abs(Phi - last).max(initial=0.0)) / max(1.0, float(np.abs(Phi).max(initial=0.0)))
            if change < MONODROMY_TOL or steps >= MAX_STEPS:
                # halved steps reduce the error by 2^4
                return Floquet(space, period, (16 * Phi - last) / 15, result, change / 15)
        last, steps = Phi, 2 * steps


def _product(space: Tangent, result: Result, period: float, steps: int) -> Array:
    """Return the monodromy matrix for a given number of steps."""
    from scipy.linalg import expm

    h = period / steps
    begin = float(space.state.t) + h * np.arange(steps + 1)
    root = np.sqrt(3.0) / 6
    times = np.concatenate([begin, begin[:-1] + (0.5 - root) * h, begin[:-1] + (0.5 + root) * h])
    q, v, x = result._states(np.clip(times, result.t[0], result.t[-1]))

    def at(k: int) -> State:
        return State(q[k], v[k], float(times[k]), x[k])

    names = same_coordinates(space)
    spaces: list[Tangent] = []
    turns: list[Array | None] = [None] * (steps + 1)
    for k in range(steps):
        gauss = [at(steps + 1 + k), at(2 * steps + 1 + k)]
        pair = [_kept(space, state, names) for state in gauss]
        if any(each is None for each in pair):
            old = _here(space, at(k), names) if k else space
            fresh = tangent_space(space.model, old.state, conditions=space.conditions, item="floquet")
            turns[k], names = _turn(old, fresh), same_coordinates(fresh)
            pair = [_here(space, state, names) for state in gauss]
        spaces += [each for each in pair if each is not None]
    end = _here(space, at(steps), names)
    home = _here(space, at(steps), same_coordinates(space))
    turns[steps] = _turn(end, home) if same_coordinates(space) != names else None
    A = state_matrices(spaces)
    Phi = np.eye(space.size)
    for k in range(steps):
        turn = turns[k]
        if turn is not None:
            Phi = turn @ Phi
        A1, A2 = A[2 * k], A[2 * k + 1]
        Phi = expm(h * (A1 + A2) / 2 - h * h * np.sqrt(3.0) / 12 * (A1 @ A2 - A2 @ A1)) @ Phi
    last = turns[steps]
    return np.asarray(Phi if last is None else last @ Phi)


def _here(first: Tangent, state: State, chosen: dict[str, Any]) -> Tangent:
    return tangent_space(first.model, state, **chosen, conditions=first.conditions, item="floquet")


def _kept(first: Tangent, state: State, names: dict[str, Any]) -> Tangent | None:
    """Return the tangent space in given coordinates; None if they are ill-conditioned."""
    try:
        space = _here(first, state, names)
    except DalembertError:
        return None
    D = first.model.compiled.tables["column_scale"]
    Q = np.abs(space.Q) * D[space.positions] / D[:, None]
    V = np.abs(space.V) * D[space.speeds] / D[:, None]
    return space if max(Q.max(initial=0.0), V.max(initial=0.0)) < MAX_DEPENDENCE_RATIO else None


def _turn(old: Tangent, new: Tangent) -> Array:
    """Return the coordinate transformation (n, n) between two sets of independent states at the same state."""
    xi, dv, dx = old.directions
    return np.vstack([xi[new.positions], dv[new.speeds], dx])


@checked("free_period", "free_coordinates", "rtol", "max_iterations")
def periodic_orbit(
    system: System | Model,
    period: float,
    state: Any = None,
    *,
    free_period: bool | None = None,
    free_coordinates: Sequence[str] = (),
    t: float | None = None,
    rtol: float = 1e-10,
    max_iterations: int = 25,
    **options: Any,
) -> PeriodicOrbit:
    """Find a periodic orbit near a guess by shooting, with loops and drives.

    Parameters
    ----------
    system : System or Model
    period : float, s
        Period of the motion, or a guess.
    state : State, dict, Result
        Guess of the start; default the start state of the system.
    free_period : bool
        Whether the period is unknown. Default yes, unless drives, loads or other laws depend on time.
    free_coordinates : names of coordinates
        Coordinates that need not return, such as the path of a vehicle. Angles may differ by full turns.
    t, rtol, options
        As in `floquet`.
    max_iterations : int
        Maximum steps of Newton's method.

    Raises
    ------
    IntegrationError
        If no orbit is found near the guess.
    """
    at = _begun(system, state, t, options, "periodic_orbit")
    model, here, T = at.model, at.state, finite_number(period, item="periodic_orbit", field="period")
    positive("periodic_orbit", period=T)
    at_least_one("periodic_orbit", max_iterations=max_iterations)
    d = model.d_dynamics(here.t, here.q, here.v, here.x, conditions=at.conditions, multipliers=False)
    timed = bool(model.drives) or bool(np.abs(d.a.t).max(initial=0.0) > 1e-12)
    seek = not timed if free_period is None else bool(free_period)
    away = np.inf
    for count in range(max_iterations + 1):
        space = tangent_space(model, here, prefer=free_coordinates, conditions=at.conditions, item="periodic_orbit")
        result = _motion(model, here, T, rtol, options)
        r, scale, kept = _missed(space, result, free_coordinates)
        size = float(np.abs((r / scale)[kept]).max(initial=0.0))
        found = _carried(space, result, T)
        if size <= max(ORBIT_TOL, 30 * rtol):
            return PeriodicOrbit(T, found, size, count, tuple(at.notes))
        if count and size > 4 * away:
            break
        away = min(size, away)
        step, dT = _newton(space, result, found.monodromy, r, scale, kept, seek)
        T = float(np.clip(T + dT, 0.5 * T, 2 * T))
        n, m = space.ny, space.ny + space.nz
        here = space.neighbour(step[:n], step[n:m], step[m:])
    raise IntegrationError(
        f"no periodic orbit near the guess: after {count} steps of Newton's method end and start differ by {size:.3g} "
        f"(scaled), period {T:.6g} s; use a closer guess, or name coordinates that need not return (free_coordinates=)"
    )


def _missed(space: Tangent, result: Result, free: Sequence[str]) -> tuple[Array, Array, BoolArray]:
    """Return the difference of end and start (n,), scales, and the mask of components that count."""
    model, s = space.model, space.state
    units = np.array(model.compiled.names.speed_units)
    xi = model.difference(s.q, result.q[-1])
    whole = np.array([name in model.coordinate_names for name in model.speed_names]) & (units == "rad")
    xi = np.where(whole, xi - 2 * np.pi * np.round(xi / (2 * np.pi)), xi)
    r = np.concatenate([xi[space.positions], (result.v[-1] - s.v)[space.speeds], result.x[-1] - s.x])
    D = model.compiled.tables["column_scale"]
    scale = np.concatenate([D[space.positions], D[space.speeds], np.maximum(1.0, np.abs(s.x))])
    kept = np.ones(len(r), dtype=bool)
    for name in free:
        if name not in space.coordinate_names:
            known = ", ".join(map(repr, space.coordinate_names))
            raise ModelError("periodic_orbit", "free_coordinates", name, f"independent coordinates are {known}")
        kept[space.coordinate_names.index(name)] = False
    return r, scale, kept


def _newton(
    space: Tangent, result: Result, Phi: Array, r: Array, scale: Array, kept: BoolArray, seek: bool
) -> tuple[Array, float]:
    """Solve (2) for the changes of the start (n,) and of the period."""
    model = space.model
    end = result.final_state
    found = model.dynamics(end.t, end.q, end.v, end.x, conditions=space.conditions)
    f = np.concatenate([end.v[space.positions], found.a[space.speeds], found.dx])
    J = (Phi - np.eye(len(r))) * scale / scale[:, None]
    if seek:
        J = np.column_stack([J, f / scale])
    moves = np.ones(J.shape[1], dtype=bool)
    moves[: len(kept)] = kept  # free coordinates are not changed
    x = np.zeros(J.shape[1])
    x[moves] = np.linalg.lstsq(J[kept][:, moves], -(r / scale)[kept], rcond=1e-7)[0]
    return x[: len(r)] * scale, float(x[-1]) if seek else 0.0
