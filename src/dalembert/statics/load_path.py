"""`equilibrium_path`: continuation of equilibria over a load, through limit points and bifurcations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..answer import ArrayAnswer, list_text, model_axes
from ..arrays import Array, BoolArray
from ..checks import checked, finite_number, positive
from ..closure.continuation.arclength import PathTracer
from ..closure.continuation.bifurcation import locate_bifurcation
from ..closure.continuation.solution_path import Path
from ..errors import ModelError
from ..linear.inputs import check_fixed_rows
from ..model import Model, State, as_model
from ..result import Output
from ..system import System
from .equilibrium_result import EquilibriumState
from .equilibrium_search import locked, solved
from .force_balance import BalanceEvaluation
from .load_continuation import LoadedEquations, PathLimit, VariedLoad
from .request import EquilibriumRequest, make_request
from .stability import assess_stability, named_motion

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EquilibriumPath", "PathPoint", "equilibrium_path"]


LIMIT_POINT_TOL = 1e-4  # load component of the unit tangent below which the load has an extremum


@dataclass(frozen=True, eq=False)
class PathPoint:
    """Limit point or bifurcation of a path.

    Attributes
    ----------
    kind : str
        ``"limit"``: extremum of the load (snap-through); ``"bifurcation"``: branches meet.
    value : float
        Load parameter.
    state : State
    motion : str
        Names of the coordinates that lose their stiffness.
    """

    kind: str
    value: float
    state: State = field(repr=False)
    motion: str

    def __str__(self) -> str:
        return f"{self.kind} at {self.value:.6g}, along {self.motion}"


@dataclass(eq=False, repr=False)
class EquilibriumPath(ArrayAnswer):
    """Path of equilibria over a load parameter; `print` shows a summary.

    Attributes
    ----------
    model : Model
    name : str
        Varied load.
    values : (n,)
    q, v, x : (n, nq), (n, nv), (n, nx)
    s : (n,)
        Arclength, rad, lengths of the system and parts of the range.
    stable : (n,) bool
    special : list of PathPoint
        Limit points and bifurcations, in order.
    branches : list of EquilibriumPath
        Branches from bifurcations, two from each.
    message : str
        Reason for the end of the path.
    notes : list of str
    """

    model: Model
    name: str
    values: Array
    q: Array
    v: Array
    x: Array
    s: Array
    stable: BoolArray
    special: list[PathPoint]
    message: str
    t: float = 0.0
    branches: list[EquilibriumPath] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    loading: LoadedEquations | None = field(default=None, repr=False)
    path: Path | None = field(default=None, repr=False)
    _arrays: ClassVar = {
        "q": (("load", "coordinate"), ""),
        "v": (("load", "speed"), ""),
        "x": (("load", "state"), ""),
        "s": (("load",), ""),
        "stable": (("load",), ""),
    }

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return {**model_axes(self.model), "load": (self.values, "")}

    def __len__(self) -> int:
        return len(self.values)

    @property
    def limit_points(self) -> list[PathPoint]:
        """Limit points of the load."""
        return [point for point in self.special if point.kind == "limit"]

    @property
    def bifurcations(self) -> list[PathPoint]:
        """Bifurcation points, where branches meet."""
        return [point for point in self.special if point.kind == "bifurcation"]

    def __getitem__(self, name: str) -> Array:
        """Return an output of a `Result` along the path, ``"A.position"``, ``"tip.position.z"``; or the varied load."""
        if name == self.name:
            return self.values
        output = Output.of(self.model, name)
        if output.needs == "dynamics":
            remedy = "it depends on the load: use da.equilibrium(..., state=path.state(k)) under the load for reactions"
            raise ModelError("equilibrium_path", "output", name, remedy)
        if self.loading is None or not self.loading.load.numbers(self.model):
            return output.evaluate(self.model, self.t, self.q, self.v, self.x)
        models = [
            self.loading.under(float(value)).model for value in self.values
        ]  # positions depend on mapped parameters
        rows = zip(models, self.q, self.v, self.x, strict=True)
        return np.concatenate([output.evaluate(m, self.t, q[None], v[None], x[None]) for m, q, v, x in rows])

    def state(self, k: int) -> EquilibriumState:
        """Return the k-th state, with its parameters and inputs."""
        return _rest(self.loading, self.q[k].copy(), self.v[k].copy(), self.x[k].copy(), self.t, float(self.values[k]))

    def at(self, value: float) -> list[EquilibriumState]:
        """Return the states of the path at a load parameter, in order, each converged."""
        assert self.loading is not None and self.path is not None
        tracer = PathTracer(self.loading)  # type: ignore[arg-type]
        number = finite_number(value, item="equilibrium_path", field="value")
        found = []
        ahead = self.values - number
        for k in np.flatnonzero(ahead[:-1] * ahead[1:] <= 0):
            if k and ahead[k] == 0.0:
                continue  # already included as the end of the previous segment
            place = tracer.refined(self.path, int(k), lambda p: float(p.q[-1]) - number)
            if place is not None:
                q, x, _ = self.loading.parts(place.q)
                found.append(_rest(self.loading, q, self.v[k].copy(), x, self.t, number))
        return found

    def _headline(self) -> str:
        special = list_text((f"{point.kind} at {point.value:.4g}" for point in self.special), 2)
        span = f"{self.name} {self.values[0]:.4g} to {self.values[-1]:.4g}"
        stable = f"{int(self.stable.sum())} stable"
        return f"{len(self)} equilibria, {span}, {stable}{', ' * bool(special)}{special}"

    def __str__(self) -> str:
        low, high = float(self.values.min()), float(self.values.max())
        lines = [f"{len(self)} equilibria of {self.model.system.name!r} with {self.name} from {low:.6g} to {high:.6g}"]
        runs = np.flatnonzero(np.diff(self.stable.astype(int)))
        first = "stable" if self.stable[0] else "unstable"
        lines.append(f"  begins {first} at {self.values[0]:.6g}, ends at {self.values[-1]:.6g}: {self.message}")
        lines += [f"  {point}" for point in self.special]
        lines += [f"  {'stable' if self.stable[k + 1] else 'unstable'} from {self.values[k + 1]:.6g} on" for k in runs]
        for branch in self.branches:
            kind = (
                "stable" if branch.stable[1:].all() else "unstable" if not branch.stable[1:].any() else "partly stable"
            )
            lines.append(f"  branch to {branch.values[-1]:.6g}, {kind}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def plot(self, output: str | None = None, *, ax: Any = None, path: Any = None) -> Axes:
        """Plot the load over an output, stable parts as solid lines, and return the matplotlib axes.

        Parameters
        ----------
        output : str
            Output of `Result` on the horizontal axis; default the coordinate that moves most.
        ax : matplotlib axes
        path : str or Path
            File to write: .png, .pdf, .svg, ...
        """
        from ..view.plots.equilibrium_paths import plot_path

        return plot_path(self, output, ax=ax, path=path)


@checked("hold", "velocities", "parameters", "limits", "nearest", "branches")
def equilibrium_path(
    system: System | Model,
    vary: str | Mapping[str, float],
    start: float,
    stop: float,
    *,
    state: State | Mapping[str, Any] | None = None,
    t: float = 0.0,
    hold: str | Iterable[str] | Mapping[str, Any] = (),
    velocities: Mapping[str, float | None] | None = None,
    inputs: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    control: Callable[[State], Any] | None = None,
    limits: tuple[float, float] | None = None,
    nearest: bool = False,
    branches: bool = True,
    max_arclength: float = 100.0,
    max_step: float = 0.06,
) -> EquilibriumPath:
    """Follow an equilibrium over an input, a parameter, a load factor or a steady velocity.

    Pseudo-arclength continuation passes limit points (snap-through) and bifurcations, whose branches are followed as
    well.

    Parameters
    ----------
    system : System or Model
    vary : str, or dict of str to float
        An input (``"load.fz"``), any parameter of the system (``"k.stiffness"``, ``"bob.mass"``, ``"crank.tip.x"``;
        loops are closed at every point), a steady velocity (``"spin.speed"``); or several with factors,
        ``{"load.fz": -10.0, "wind.fx": 2.0}``, all proportional to the load factor.
    start, stop : float
        Range of the load. The equilibrium at the start is that of `equilibrium`.
    state, t, hold, velocities, inputs, parameters, control, nearest
        As in `equilibrium`; friction of joints is ignored.
    limits : (float, float)
        Bounds of the load along the path; default the range from start to stop, extended beyond the start by its
        length.
    branches : bool
        Whether to follow branches at bifurcations.
    max_arclength : float
        Maximum arclength, rad, lengths of the system and parts of the range.
    max_step : float
        Largest change of any coordinate between two points, in the same units.

    Returns
    -------
    EquilibriumPath

    Examples
    --------
    A column of two links with a spring between them buckles under 4 c / l.

    >>> import dalembert as da
    >>> s = da.System("column", gravity=(0, 0, 0))
    >>> low, high = (s.body(name, da.rod(0.5, 1.0, axis="z")) for name in ("low", "high"))
    >>> _ = s.connect("foot", da.Revolute("y"), s.ground, low)
    >>> _ = s.connect("knee", da.Revolute("y"), low.at(0, 0, 0.5), high)
    >>> _ = s.connect("head", da.PointOnLine("z"), s.ground, high.at(0, 0, 0.5))
    >>> _ = s.connect("c", da.TorsionSpring(stiffness=3.0), "knee")
    >>> _ = s.connect("load", da.Load(force=(0, 0, -1.0)), high.at(0, 0, 0.5))
    >>> path = da.equilibrium_path(s, {"load.fz": -1.0}, 0.0, 14.0)
    >>> [round(point.value, 6) for point in path.bifurcations], len(path.branches)
    ([12.0], 2)
    """
    item = "equilibrium_path"
    model = as_model(system)
    load = VariedLoad.of(model, vary, item=item)
    begin, end = (finite_number(x, item=item, field=name) for x, name in ((start, "start"), (stop, "stop")))
    if begin == end:
        raise ModelError(item, "stop", stop, f"it must differ from start, {begin:.6g}")
    span = abs(end - begin)
    if limits is not None and np.shape(limits) != (2,):
        raise ModelError(item, "limits", limits, "give (lowest, highest)")
    positive(item, max_step=max_step, max_arclength=max_arclength)
    low, high = limits if limits is not None else (min(end, 2 * begin - end), max(end, 2 * begin - end))
    moving = {model.speed_names[k]: factor * begin for k, factor in load.speeds(model).items()}
    numbers = {**(parameters or {}), **{name: begin * load.factors[name] for name in load.numbers(model)}}
    how: dict[str, Any] = {"t": t, "hold": hold, "inputs": inputs, "parameters": numbers, "control": control}
    request = make_request(model, state=state, speeds={**(velocities or {}), **moving}, item=item, **how)
    if request.trims:
        raise ModelError(item, "velocities", velocities, "unknown velocities are not supported: give them values")
    at = request.q, request.balance.t, f"{item}: vary"
    check_fixed_rows(request.model, load.numbers(request.model), *at, loops=False)
    request.balance = load.at(request.balance, begin)
    first = solved(request, friction="off", nearest=nearest)
    far = load.at(request.balance, end).evaluate(first.q, first.x)
    size = max(first.evaluation.size, far.size, float(np.abs(first.evaluation.virtual_stiffness).max(initial=0.0)))
    states = np.maximum(np.abs(first.x), 1.0) if model.nx else np.zeros(0)
    loading = LoadedEquations(request.balance, load, span, size, states)
    stops = [PathLimit(load.name, "", loading.nq - 1, span, min(low, high), max(low, high))]
    stops += [PathLimit(m.name, m.unit, 0, m.scale, m.lower, m.upper, m, model.nq) for m in request.stops]
    tracer = PathTracer(loading, stops, largest=max_step, length=max_arclength)  # type: ignore[arg-type]
    along = np.zeros(loading.nv)
    along[-1] = np.sign(end - begin)
    way = tracer.follow(loading.point(first.q, first.x, begin), along)
    found = _path(tracer, request, load, way)
    if request.rows.has_friction.any():
        found.notes.append("friction of joints was ignored")
    found.notes = [*request.notes, *found.notes]
    if branches:
        _add_branches(tracer, request, load, way, found)
    return found


def _path(tracer: PathTracer, request: EquilibriumRequest, load: VariedLoad, way: Path) -> EquilibriumPath:
    """Return the equilibrium path of a traced path."""
    loading: LoadedEquations = tracer.closed  # type: ignore[assignment]
    model, nq = request.model, request.model.nq
    evaluations = [loading.evaluate(Q) for Q in way.q]
    stable = np.array([_stable(request, look) for look in evaluations])
    special = []
    slope = way.tangents[:, -1]
    for k in np.flatnonzero(slope[:-1] * slope[1:] < 0):
        place = tracer.refined(way, int(k), lambda p: float(p.tangent[-1]))
        if place is not None:
            special.append((float(way.s[k]), _point("limit", loading, place.q)))
    for near in way.singular:
        if abs(near.tangent[-1]) < LIMIT_POINT_TOL:
            continue  # a limit point: the rank along the path is full
        met = locate_bifurcation(tracer, near)
        if met is not None:
            before = int(np.argmin(np.linalg.norm(loading.difference(way.q, met.q), axis=1)))
            special.append((float(way.s[before]), _point("bifurcation", loading, met.q)))
    special.sort(key=lambda item: item[0])
    v = np.array([look.balance.v for look in evaluations]).reshape(len(way), model.nv)
    parts = way.q[:, :nq], v, way.q[:, nq:-1]
    return EquilibriumPath(
        model, load.name, way.q[:, -1], *parts, way.s, stable, [point for _, point in special], way.ends[1],
        request.balance.t, loading=loading, path=way,
    )  # fmt: skip


def _rest(loading: LoadedEquations | None, q: Array, v: Array, x: Array, t: float, value: float) -> EquilibriumState:
    """Return the equilibrium state under the load."""
    if loading is None:
        return EquilibriumState(q=q, v=v, t=t, x=x)
    balance = loading.under(value)
    return EquilibriumState(q=q, v=v, t=t, x=x, conditions=balance.conditions, inputs=dict(balance.inputs))


def _stable(request: EquilibriumRequest, look: BalanceEvaluation) -> bool:
    balance = look.balance
    state = State(q=look.q, v=balance.v, t=balance.t, x=look.x)
    return bool(
        assess_stability(look, state, locked(request, balance), balance.input_values, balance.fixed & (balance.v != 0))
    )


def _point(kind: str, loading: LoadedEquations, Q: Array) -> PathPoint:
    look = loading.evaluate(Q)
    K = look.virtual_stiffness
    k, E = np.linalg.eigh((K + K.T) / 2)
    motion = named_motion(look.balance.model, look.F @ E[:, [int(np.abs(k).argmin())]])
    state = _rest(loading, look.q, look.balance.v.copy(), look.x, look.balance.t, float(Q[-1]))
    return PathPoint(kind, float(Q[-1]), state, motion)


def _add_branches(
    tracer: PathTracer, request: EquilibriumRequest, load: VariedLoad, way: Path, found: EquilibriumPath
) -> None:
    """Follow the branches at bifurcations of a path."""
    loading: LoadedEquations = tracer.closed  # type: ignore[assignment]
    for near in way.singular:
        met = locate_bifurcation(tracer, near) if abs(near.tangent[-1]) > LIMIT_POINT_TOL else None
        for direction in [] if met is None else met.directions:
            assert met is not None
            if abs(abs(float(direction @ near.tangent)) - 1.0) < 1e-3:
                continue  # the path itself
            ahead = tracer.correct(loading.retract(met.q, 0.02 * direction), direction)
            if ahead is None:
                found.notes.append(f"a branch at {float(met.q[-1]):.6g} could not be followed")
                continue
            found.branches.append(_path(tracer, request, load, tracer.follow(ahead[0], direction)))
