"""Circuits: paths, input range, dead points, bifurcations and assemblies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..answer import Answer, count_text, list_text
from ..arrays import Array
from ..checks import finite_array, finite_number
from ..closure.branch_search import distinct_configurations
from ..closure.continuation.arclength import PathTracer
from ..closure.continuation.solution_path import Path, SolutionPoint
from ..closure.driven.driving_coordinates import best_drives
from ..closure.scaled_equations import CoordinateMeasure, named
from ..errors import ModelError
from ..model import Model
from ..result import Axis, Result
from .special_configurations import Bifurcation, DeadPoint, Singularity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Circuit", "Circuits"]


STILL_TOL = 1e-9  # scaled rates below this are rounding


class Circuit(Answer):
    """Connected set of closed configurations.

    Attributes
    ----------
    paths : list of Path
        Its smooth paths.
    bifurcations : list of Bifurcation
        Configurations at which they meet.
    input : str
    """

    def __init__(
        self,
        tracer: PathTracer,
        paths: list[Path],
        bifurcations: list[Bifurcation],
        measure: CoordinateMeasure,
        measures: Mapping[str, CoordinateMeasure],
    ) -> None:
        self.paths, self.bifurcations = paths, bifurcations
        self._tracer, self._measure, self._measures = tracer, measure, dict(measures)

    @property
    def input(self) -> str:
        """Name of the input coordinate."""
        return self._measure.name

    def _headline(self) -> str:
        paths = count_text(len(self.paths), "path")
        how = "full rotation" if self.has_full_rotation else f"{_span(self._measure, self.range)}"
        return f"{self.input} {how}, {paths}"

    # ---- along the circuit

    @property
    def closed(self) -> bool:
        """True if all its paths return to their first point."""
        return all(path.closed for path in self.paths)

    def _path(self, path: int) -> Path:
        if not isinstance(path, (int, np.integer)) or not -len(self.paths) <= path < len(self.paths):
            raise ModelError("circuit", "path", path, f"there are {len(self.paths)}: give 0 to {len(self.paths) - 1}")
        return self.paths[path]

    def values(self, name: str, path: int = 0) -> Array:
        """Return a coordinate along a path, (n,) rad or m, without jumps by whole turns."""
        measure = named(self._measures, name, item="circuit", field="coordinate")
        return measure.continuous(measure.values(self._path(path).q))

    @cached_property
    def coordinates(self) -> dict[str, str]:
        """Coordinates that move along it, with their units."""
        scales = self._tracer.closed.scales
        return {
            name: m.unit
            for name, m in self._measures.items()
            if any(np.abs(m.rates(p.q, p.tangents * scales)).max() > STILL_TOL * m.scale for p in self.paths)
        }

    def value(self, name: str, q: ArrayLike) -> float:
        """Return a coordinate at a configuration q (nq,), rad or m; angles within 180°."""
        measure = named(self._measures, name, item="circuit", field="coordinate")
        return measure.wrap(float(measure.values(np.asarray(q, dtype=float))))

    @property
    def has_result(self) -> bool:
        """True for a circuit of a system, which has a `Result`."""
        return isinstance(getattr(self._tracer.closed.equations, "model", None), Model)

    def result(self, path: int = 0) -> Result:
        """Return the motion along one of its paths with unit velocity: times are arclengths, rad and lengths.

        Outputs, plots and animations are those of any `Result`.
        """
        model = getattr(self._tracer.closed.equations, "model", None)
        if not self.has_result:
            raise ModelError("circuit", "result", None, "only a circuit of a system has one; take paths[k].q")
        points = self._path(path)
        return Result(
            model, points.s, points.q, points.tangents * self._tracer.closed.scales, axis=Axis("arclength", "1")
        )

    # ---- input

    @cached_property
    def _input_values(self) -> list[Array]:
        """Values of the input along the paths and at its dead points, shifted by whole turns to be near each other."""
        found: list[Array] = []
        for k in range(len(self.paths)):
            w = self._measure.continuous(self._measure.values(self.paths[k].q))
            period = self._measure.period
            if period:
                middle = 0.5 * (w.min() + w.max())
                target = 0.0 if not found else 0.5 * (found[0].min() + found[0].max())
                w = w - period * np.round((middle - target) / period)
            found.append(w)
        return found

    @cached_property
    def has_full_rotation(self) -> bool:
        """True if the input can be driven through any number of full turns."""
        period = self._measure.period
        return bool(period) and any(
            path.closed and abs(w[-1] - w[0]) > 0.5 * period and not self._folds(self._measure, k)
            for k, (path, w) in enumerate(zip(self.paths, self._input_values, strict=True))
        )

    @cached_property
    def range(self) -> tuple[float, float]:
        """Least and greatest value of the input, rad or m; 2 pi apart for full rotation."""
        low = min(float(w.min()) for w in self._input_values)
        high = max(float(w.max()) for w in self._input_values)
        middle = 0.5 * (low + high)
        for point in self.dead_points.get(self.input, ()):
            value = middle + float(self._measure.wrapped_error(point.value, middle))
            period = self._measure.period
            low, high = min(low, value), max(high, value)
            if period and point.maximum and value < low + 1e-9:
                high = max(high, value + period)
        period = self._measure.period
        if period and high - low >= period - 1e-9:
            return -0.5 * period, 0.5 * period
        return low, high

    def at(self, value: float) -> Array:
        """Return the configurations (k, nq) of this circuit at a value of the input, rad or m.

        Empty if out of reach.
        """
        value = finite_number(value, item="circuit", field=self.input)
        measure, found = self._measure, []
        for path in self.paths:
            w = measure.continuous(measure.values(path.q))
            period = measure.period or np.inf
            low, high = (np.floor((x - value) / period) for x in (w.min(), w.max()))
            turns = np.arange(low, high + 2) if measure.period else np.zeros(1)
            for target in (value + turns * measure.period).tolist():
                off = w - target
                last = len(path) - 1
                for k in np.flatnonzero((off[:-1] * off[1:] < 0) | (off[:-1] == 0)):
                    point = None if off[k] == 0 else self._tracer.refined(path, int(k), _missing(measure, value))
                    found.append(path.q[k] if point is None else point.q)
                if off[last] == 0 and not path.closed:
                    found.append(path.q[last])
        if not found:
            return np.zeros((0, self._tracer.closed.nq))
        array = np.array(found)
        return array[distinct_configurations(self._tracer.closed, array)[0]]

    def contains(self, q: ArrayLike) -> bool:
        """Return True if a configuration (nq,) belongs to the circuit."""
        at = finite_array(q, (self._tracer.closed.nq,), item="circuit", field="q")
        return any(self._tracer.on(path, at) is not None for path in self.paths)

    def place(self, q: ArrayLike) -> tuple[int, float] | None:
        """Return the index of the path and the arclength of a configuration (nq,); None if it is on no path."""
        at = finite_array(q, (self._tracer.closed.nq,), item="circuit", field="q")
        for number, path in enumerate(self.paths):
            near = self._tracer.on(path, at)
            if near is not None:
                ahead = float(self._tracer.closed.difference(path.q[near], at) @ path.tangents[near])
                return number, float(path.s[near]) + ahead
        return None

    # ---- special points

    @cached_property
    def dead_points(self) -> dict[str, list[DeadPoint]]:
        """Dead points of each coordinate by name; coordinates without any are left out."""
        found = {
            name: [p for k in range(len(self.paths)) for p in self._folds(m, k)] for name, m in self._measures.items()
        }
        return {name: points for name, points in found.items() if points}

    def _folds(self, measure: CoordinateMeasure, number: int) -> list[DeadPoint]:
        """Return the turning points of a coordinate on a path."""
        kept = self.__dict__.setdefault("_known_folds", {})
        key = measure.name, number
        if key not in kept:
            kept[key] = self._find_folds(measure, number)
        return list(kept[key])

    def _find_folds(self, measure: CoordinateMeasure, number: int) -> list[DeadPoint]:
        path, closed = self.paths[number], self._tracer.closed
        rates = measure.rates(path.q, path.tangents * closed.scales) / measure.scale
        sign = np.where(np.abs(rates) > STILL_TOL, np.sign(rates), 0.0)
        moving = np.flatnonzero(sign)
        if path.closed and len(moving) and sign[0] == 0:
            moving = np.append(moving, len(path) - 1 + moving[0])  # a turning point at the seam
        found = []
        for a, b in pairwise(moving.tolist()):
            if sign[a] * sign[b % (len(path) - 1) if b >= len(path) else b] > 0 or b - a > 2:
                continue
            if b - a == 2:  # the point between them is a turning point
                k = (a + 1) % (len(path) - 1) if path.closed else a + 1
                point: SolutionPoint | None = self._tracer.evaluate(path.q[k], path.tangents[k])
            else:
                point = self._tracer.refined(path, int(a), _rate(measure, closed.scales))
            if point is None:
                continue
            s = float(path.s[a] + np.linalg.norm(closed.difference(path.q[a], point.q)))
            better = best_drives(closed, point.q, tuple(self._measures.values()))
            value = measure.wrap(float(measure.values(point.q)))
            found.append(DeadPoint(measure.name, value, bool(sign[a] > 0), point.q, number, s, better))
        return found

    def singularities(self, output: str) -> list[Singularity]:
        """Return the singularities of the motion from the input to an output, by kind; see `Singularity`."""
        measure = named(self._measures, output, item="circuit", field="output")
        ends = [("input", p) for p in self.dead_points.get(self.input, ())]
        ends += [("output", p) for p in self.dead_points.get(measure.name, ())]
        closed, found = self._tracer.closed, []
        for kind, point in ends:
            other = measure if kind == "input" else self._measure
            v = self._tracer.evaluate(point.q).tangent * closed.scales
            both = abs(float(other.rates(point.q, v))) < 1e-7 * other.scale
            if both and kind == "output":
                continue  # already listed
            found.append(self._singular("both" if both else kind, measure, point.q))
        found += [self._singular("both", measure, b.q) for b in self.bifurcations]
        return found

    def _singular(self, kind: str, output: CoordinateMeasure, q: Array) -> Singularity:
        driven, follows = (m.wrap(float(m.values(q))) for m in (self._measure, output))
        return Singularity(kind, driven, follows, q)

    def __str__(self) -> str:
        m = self._measure
        how = "turns fully" if self.has_full_rotation else f"from {_span(m, self.range)}"
        meeting = "" if len(self.paths) == 1 else f", {len(self.paths)} paths that meet"
        lines = [f"{m.name} {how}{meeting}"]
        lines += [f"  ends: {end}" for path in self.paths for end in path.ends if end]
        for name, points in self.dead_points.items():
            listed = ", ".join(f"{p.value:.6g}" for p in points[:6]) + ", ..." * (len(points) > 6)
            instead = f"; drive {points[0].drive[0]} through" if name == self.input and points[0].drive else ""
            lines.append(f"  dead points of {name} at {listed}{_unit(self._measures[name])}{instead}")
        for b in self.bifurcations:
            where = f"{m.name} = {b.value:.6g}{_unit(m)}"
            lines.append(f"  bifurcation at {where}: {b.mobility} motions, {len(b.directions)} directions")
        return "\n".join(lines)


class Circuits(Answer, Sequence[Circuit]):
    """All circuits of a mechanism, that of the start configuration first.

    Attributes
    ----------
    input : str
    isolated : list of Bifurcation
        Isolated closed configurations without a motion to or from them.
    wide : bool
        True if there are also closed configurations with several degrees of freedom, which are not followed.
    model : Model or None
    """

    def __init__(
        self,
        found: list[Circuit],
        measure: CoordinateMeasure,
        model: Model | None,
        tracer: PathTracer,
        isolated: list[Bifurcation],
        wide: bool = False,
    ) -> None:
        self._circuits, self._measure, self.model, self._tracer = found, measure, model, tracer
        self.isolated, self.wide = isolated, wide

    @property
    def input(self) -> str:
        """Name of the input coordinate."""
        return self._measure.name

    def __len__(self) -> int:
        return len(self._circuits)

    def __getitem__(self, number: Any) -> Any:
        return self._circuits[number]

    def __iter__(self) -> Iterator[Circuit]:
        return iter(self._circuits)

    def at(self, value: float) -> list[Array]:
        """Return the assemblies at a value of the input, rad or m, for each circuit (k, nq).

        Raises
        ------
        ModelError
            If no circuit reaches the value.
        """
        found = [circuit.at(value) for circuit in self]
        if not any(len(q) for q in found):
            spans = ", ".join(_span(self._measure, circuit.range) for circuit in self)
            raise ModelError("circuits", self.input, value, f"it is out of reach: the circuits go {spans}")
        return found

    def of(self, q: ArrayLike) -> int | None:
        """Return the index of the circuit of a configuration (nq,); None if it is on no circuit."""
        return next((k for k, circuit in enumerate(self) if circuit.contains(q)), None)

    def connected(self, q0: ArrayLike, q1: ArrayLike) -> bool:
        """Return True if the mechanism can be moved from one closed configuration to another."""
        first = self.of(q0)
        return first is not None and first == self.of(q1)

    def plot(self, output: str | None = None, *, ax: Any = None, path: Any = None) -> Axes:
        """Plot an output over the input, with dead points and bifurcations."""
        from ..view.plots.circuits import plot_circuits

        return plot_circuits(self, output, ax=ax, path=path)

    def _headline(self) -> str:
        ranges = [
            f"{'full rotation' if one.has_full_rotation else _span(self._measure, one.range)}" for one in self._circuits
        ]
        return f"{count_text(len(self), 'circuit')} of input {self.input}: {list_text(ranges)}"

    def __str__(self) -> str:
        name = repr(self.model.system.name) if self.model is not None else "mechanism"
        count = f"{len(self)} circuit{'s' * (len(self) != 1)}"
        lines = [f"{name}: {count}, input {self.input}"]
        for number, circuit in enumerate(self):
            first, *rest = str(circuit).split("\n")
            lines += [f"circuit {number}: {first}", *rest]
        if self.isolated:
            lines.append(f"{len(self.isolated)} isolated closed configurations")
        if self.wide:
            lines.append("there are also closed configurations with more degrees of freedom; they are not followed")
        return "\n".join(lines)


def _missing(measure: CoordinateMeasure, value: float) -> Any:
    return lambda place: float(measure.wrapped_error(measure.values(place.q), value))


def _rate(measure: CoordinateMeasure, scales: Array) -> Any:
    return lambda place: float(measure.rates(place.q, place.tangent * scales)) / measure.scale


def _unit(measure: CoordinateMeasure) -> str:
    return f" {measure.unit}" if measure.unit else ""


def _span(measure: CoordinateMeasure, ends: tuple[float, float]) -> str:
    if measure.period and ends[1] - ends[0] >= measure.period - 1e-6:
        return "all around"
    return f"{ends[0]:.6g} to {ends[1]:.6g}{_unit(measure)}"
