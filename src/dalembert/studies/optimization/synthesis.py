"""`synthesize`: dimensional synthesis of linkages for path, function and motion generation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...answer import Answer, ArrayAnswer, count_text, list_text
from ...arrays import Array
from ...checks import checked
from ...closure.loop_equations import LoopEquations
from ...closure.projection import project_batch
from ...errors import ModelError, SingularityError
from ...model import Model, as_model
from ...system import System
from .design_variables import Variables, make_variables, spread
from .four_bar_seeds import recognised
from .levenberg_marquardt import PositionFit, fit_positions, settled
from .linkage_defects import find_defects
from .linkage_positions import Positions, TargetPoses, as_wanted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Linkage", "Synthesis", "synthesize"]


_ITEM = "synthesize"
_EXACT_TOL = 1e-9  # error in units of the extent of the targets, below which they are met exactly
DUPLICATE_TOL = 1e-5  # difference of parameters, in units of their bounds, below which two linkages are equal
_WEIGHTS = (10.0, 100.0, 1e3)  # successive weights of loop rows if not all targets can be met


@dataclass(frozen=True, eq=False, repr=False)
class Linkage(ArrayAnswer):
    """Linkage found by synthesis.

    Attributes
    ----------
    values : dict of str to float
    q : (N, nq) rad or m
        Coordinates of all positions, loops closed.
    errors : dict of str to (N,) m or rad
        Error of each target.
    defects : tuple of str
        Circuit, branch and order defects; empty if it passes all positions in order.
    model : Model
        With these values.
    """

    values: dict[str, float]
    q: Array
    errors: dict[str, Array]
    defects: tuple[str, ...]
    model: Model = field(repr=False)
    wanted: tuple[TargetPoses, ...] = field(repr=False)
    plane: tuple[int, int] = field(repr=False)
    _arrays: ClassVar = {"q": (("position", "coordinate"), "")}

    @property
    def success(self) -> bool:
        """Whether the linkage has no defects."""
        return not self.defects

    def __getitem__(self, name: str) -> float:
        """Return a parameter by name."""
        if name not in self.values:
            raise ModelError(_ITEM, "name", name, f"it has {', '.join(map(repr, self.values))}")
        return self.values[name]

    @property
    def error(self) -> float:
        """Largest error, m or rad."""
        return max(float(np.abs(off).max()) for off in self.errors.values())

    def plot(self, *, ax: Any = None, path: Any = None) -> Axes:
        """Draw the linkage in its first position with path and target points; return the axes."""
        from ...view.plots.optimization import plot_linkage

        return plot_linkage(self, ax=ax, path=path)

    def _headline(self) -> str:
        short = ", ".join(defect.partition(":")[0] for defect in self.defects) or "no"
        values = list_text((f"{n} {x:.4g}" for n, x in self.values.items()), 6)
        return f"error {self.error:.1e}, {short} defects; {values}"

    def __str__(self) -> str:
        wide = max(map(len, self.values))
        lines = [f"{name:{wide}}  {value:>13.8g}" for name, value in self.values.items()]
        lines += [f"{name}: largest error {np.abs(off).max():.3g}" for name, off in self.errors.items()]
        return "\n".join([*lines, *(self.defects or ("no defects",))])


class Synthesis(Answer, Sequence[Linkage]):
    """Linkages found by synthesis, those without defects first, then by error.

    Attributes
    ----------
    starts : int
        Number of starts used.
    exact : bool
        Whether the first linkage meets all targets.
    """

    def __init__(self, linkages: list[Linkage], starts: int, exact: bool) -> None:
        self._linkages, self.starts, self.exact = linkages, starts, exact

    def __len__(self) -> int:
        return len(self._linkages)

    def __getitem__(self, number: Any) -> Any:
        return self._linkages[number]

    def __iter__(self) -> Iterator[Linkage]:
        return iter(self._linkages)

    @property
    def success(self) -> bool:
        """Whether a linkage without defects was found."""
        return any(not one.defects for one in self)

    def _headline(self) -> str:
        good = sum(not one.defects for one in self)
        error = f", error {self[0].error:.1e}" if len(self) else ""
        return f"{count_text(len(self), 'linkage')}, {good} without defects{error}, {count_text(self.starts, 'start')}"

    def plot(self, *, ax: Any = None, path: Any = None) -> Axes:
        """Draw the first linkage in its first position, and return the axes."""
        first: Linkage = self[0]
        return first.plot(ax=ax, path=path)

    def __str__(self) -> str:
        names = list(self[0].values) if len(self) else []
        lines = [repr(self), "  ".join([*(f"{name:>10}" for name in names), f"{'error':>8}", "defects"])]
        for one in self:
            row = [f"{value:>10.5g}" for value in one.values.values()]
            short = ", ".join(defect.partition(":")[0] for defect in one.defects) or "none"
            lines.append("  ".join([*row, f"{one.error:>8.1e}", short]))
        return "\n".join(lines)


@checked("start")
def synthesize(
    system: System | Model,
    over: Mapping[str, tuple[float, float]],
    through: Mapping[str, Any],
    *,
    plane: str = "xy",
    drive: str | None = None,
    solutions: int = 1,
    starts: int = 200,
    seed: int = 0,
    start: Mapping[str, float] | None = None,
    defects: bool | str = True,
    max_iterations: int = 80,
) -> Synthesis:
    """Find the dimensions of a linkage that passes prescribed positions.

    Loops need not close at the start: parameters, and coordinates of all positions, are solved together from random
    starts. Targets are met to rounding if possible. With more targets than parameters, their squared errors are
    minimized with closed loops. For a four-bar with revolute joints and all dimensions free, with coupler points or
    angles of the other links as targets, solutions of its polynomial equations are tried first.

    Parameters
    ----------
    system : System or Model
        Any planar or spatial linkage.
    over : dict of name to (lower, upper)
    through : dict of name to values
        Path generation: a marker and the points of its path, ``{"coupler.P": points}``, (N, 2) in the plane, or (N, 3).
        Function generation: matching angles of links or coordinates of joints,
        ``{"crank.angle": phi, "rocker.angle": psi}``, (N,) rad. Motion generation: both, ``{"coupler.P": points,
        "coupler.angle": angles}``. An angle is that of a body about the normal of the plane.
    plane : str
        ``"xy"``, ``"xz"`` or ``"yz"``.
    drive : str
        The driven coordinate, for branch defects: it must not pass a dead point between positions.
    solutions : int
        Number of different linkages to find that meet all targets.
    starts : int
        Maximum number of starts; every solution of the polynomial equations of a four-bar counts as one.
    seed : int
    start : dict of name to float
        Values of the first start; default the values of the system, if within their bounds.
    defects : bool or str
        Whether circuit, branch and order defects are checked. ``"avoid"``: the search continues until `solutions`
        linkages have no defect.
    max_iterations : int
        Maximum iterations from each start.

    Returns
    -------
    Synthesis

    Raises
    ------
    ModelError
        If no start gave a linkage, not even an approximate one.

    Examples
    --------
    Lengths of a four-bar, its ground 1 m, from three pairs of angles:

    >>> import dalembert as da
    >>> s = da.System("four-bar", gravity=(0, 0, 0))
    >>> a, b, c = (s.parameter(name, 1.0) for name in "abc")
    >>> crank, coupler, rocker = (s.body(name) for name in ("crank", "coupler", "rocker"))
    >>> _ = s.connect("A", da.Revolute("z"), s.ground, crank)
    >>> _ = s.connect("B", da.Revolute("z"), crank.at(a, 0, 0), coupler)
    >>> _ = s.connect("D", da.Revolute("z"), s.ground.at(1, 0, 0), rocker)
    >>> _ = s.connect("C", da.Revolute("z"), coupler.at(b, 0, 0), rocker.at(c, 0, 0))
    >>> angles = {"crank.angle": [1.0, 1.5, 2.0], "rocker.angle": [1.151686, 1.451884, 1.770338]}
    >>> found = da.synthesize(s, dict.fromkeys("abc", (0.1, 5.0)), angles)
    >>> found.exact, [round(found[0][name], 3) for name in "abc"]
    (True, [0.5, 1.1, 0.8])
    """
    model = as_model(system)
    variables = make_variables(_ITEM, over, start, model)
    unknown = [name for name in variables.names if name not in model.parameter_names]
    if unknown:
        raise ModelError(_ITEM, "over", unknown[0], "it is no parameter of the system: s.parameters lists them")
    wanted = as_wanted(_ITEM, model, through)
    positions = Positions(model, variables.names, variables.scale, wanted, plane)
    points = spread(_ITEM, variables, max(2, starts), seed)[: int(starts)]
    rng = np.random.default_rng([int(seed), 1])
    if defects not in (True, False, "avoid"):
        raise ModelError(_ITEM, "defects", defects, "use True, False or 'avoid'")
    search = _search(positions, variables, points, rng, drive, max_iterations, clean=defects == "avoid")
    exact: list[PositionFit] = []
    found: list[Linkage] = []
    best: PositionFit | None = None
    tried = 0
    for fit in itertools.islice(search, int(starts)):
        tried += 1
        if fit is None:
            continue
        if fit.cost < _EXACT_TOL**2:
            if all(np.abs((fit.p - other.p) / variables.scale).max() > DUPLICATE_TOL for other in exact):
                exact.append(fit)
                found.append(_linkage(positions, fit, drive, bool(defects)))
        elif best is None or fit.cost < best.cost:
            best = fit
        if sum(defects != "avoid" or not one.defects for one in found) >= solutions:
            break
    if not found and best is not None:
        found = [_linkage(positions, _nearest(positions, variables, best, max_iterations), drive, bool(defects))]
    if not found:
        raise ModelError(_ITEM, "starts", starts, "the linkage could not be assembled from any of them")
    found.sort(key=lambda one: (len(one.defects) > 0, 0.0 if exact else one.error))
    return Synthesis(found, tried, bool(exact))


def _search(
    positions: Positions,
    v: Variables,
    points: Array,
    rng: np.random.Generator,
    drive: str | None,
    most: int,
    clean: bool,
) -> Iterator[PositionFit | None]:
    """Yield the fit from each start in turn; None if a matrix became singular."""
    bar = recognised(positions)
    if bar is not None:
        for begin in bar.begins(v, rng, drive, clean):
            yield begin and fit_positions(positions, begin, (v.lower, v.upper), 1.0, most)
    for point in points:
        yield _fitted(positions, v, point, rng, most)


def _fitted(
    positions: Positions, v: Variables, point: Array, rng: np.random.Generator, most: int
) -> PositionFit | None:
    """Return the fit from one start; None if a matrix became singular."""
    state = positions.model.random_state(rng)
    q = np.tile(state.q, (positions.count, 1))
    try:
        q = settled(positions, point, q)
        return fit_positions(positions, PositionFit(point, q, np.inf), (v.lower, v.upper), 1.0, most)
    except (np.linalg.LinAlgError, SingularityError):
        return None


def _nearest(positions: Positions, v: Variables, fit: PositionFit, most: int) -> PositionFit:
    """Return a fit with closed loops, by increasing weights of the loop rows."""
    for weight in _WEIGHTS:
        fit = fit_positions(positions, fit, (v.lower, v.upper), weight, most)
    loops = LoopEquations.of(positions.model_at(fit.p), prescribed=False)
    return PositionFit(fit.p, project_batch(replace(loops, row_scales=positions.row_scales), fit.q), fit.cost)


def _linkage(positions: Positions, fit: PositionFit, drive: str | None, defects: bool) -> Linkage:
    model = positions.model_at(fit.p)
    off, errors, at = positions.off(model, fit.q), {}, 0
    for w in positions.wanted:
        own = off[:, at : at + w.values.shape[1]]
        at += w.values.shape[1]
        errors[w.name] = np.linalg.norm(own, axis=1) * (positions.length if w.kind == "point" else 1.0)
    texts = find_defects(model, fit.q, drive) if defects else ()
    gaps = float(np.abs(positions.closure(model, fit.q)).max(initial=0.0))
    if gaps > 1e-8:
        texts = (f"closure: loops are open by {gaps:.3g} of the extent", *texts)
    values = dict(zip(positions.names, map(float, fit.p), strict=True))
    return Linkage(values, fit.q, errors, texts, model, tuple(positions.wanted), positions.plane)
