"""Motion of a mechanism in natural coordinates: a `Result` with outputs of points, vectors and bodies."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, BoolArray
from ..checks import finite_number
from ..closure import find_position
from ..errors import ModelError
from ..model import State
from ..model.interpolation import Quintic
from ..motion import FollowedMotion, follow_branch
from ..result import TIME, Axis, Labels, Output, Result, Stats
from .equations import NaturalEquations
from .outputs import find_output, output_names

if TYPE_CHECKING:
    from pathlib import Path

    import pandas
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes

    from .mechanism import Mechanism

__all__ = ["UNITS", "NaturalMotion"]


UNITS = {"point": "m", "distance": "m", "angle": "rad", "vector": "1"}


class NaturalMotion(Result):
    """Positions, velocities, accelerations and jerks over time, with outputs by name.

    A `Result` like that of `da.kinematics` of a system, with plots, animations, tables and files. Outputs are those of
    points and vectors (``"2"``, ``"2.x"``, ``"2.velocity"``, ``"2.acceleration.norm"``, ``"2.jerk"``), of angles and
    distances (``"psi"``, ``"psi.speed"``), of bodies (``"coupler.angle"``, ``"coupler.angular_velocity"``), of any
    points of bodies (``"coupler.at(2, 0.5).velocity"``), and of wheels (``"wheel.contact"``).

    Attributes
    ----------
    mechanism : Mechanism
        Copy of the mechanism.
    equations : NaturalEquations
    followed : FollowedMotion
        Unknown coordinates and their rates, with numbers of iterations.
    values : (4, k, N)
        All coordinates, fixed and driven ones too, and their rates; jerks are NaN if they were not requested.
    q, v, a : (k, n)
        Unknown coordinates, their rates and second rates.
    """

    _may_fall = True

    def __init__(
        self,
        mechanism: Mechanism,
        followed: FollowedMotion,
        *,
        stats: Stats | None = None,
        status: str = "finished",
        message: str = "",
        prescribed: bool = True,
        axis: Axis = TIME,
        states: Array | None = None,
    ) -> None:
        self.mechanism = mechanism.copy()
        self.equations: NaturalEquations = mechanism.equations()
        self.followed = followed
        super().__init__(
            None, followed.t, followed.q, followed.v, states, stats=stats, status=status, message=message,
            labels=_labels(mechanism.name, self.equations), prescribed=prescribed, axis=axis,
        )  # fmt: skip
        jerks = np.full_like(followed.a, np.nan) if followed.j is None else followed.j
        driven = self.equations.known_over(followed.t, third=followed.j is not None)
        levels = (followed.q, followed.v, followed.a, jerks)
        self.values = np.array([self.equations.filled(x, driven[:, rate], rate) for rate, x in enumerate(levels)])
        self._stored = {"a": followed.a}
        self._kept = {"model": _fingerprint(mechanism)}

    # -- outputs

    def find_output(self, what: Any) -> Output | None:
        """Return unit, shape and meaning of an output."""
        return find_output(self, what) if isinstance(what, str) else None

    def output(self, what: str | Callable[[State], ArrayLike] | Output, times: ArrayLike | None = None) -> Array:
        """Return an output at all times, or at given times, (k, ...); see `Result.output`."""
        if times is not None:
            return self.at(np.array(times, dtype=float)).output(what)
        whole = {"q": self.followed.q, "v": self.followed.v, "a": self.followed.a, "x": self.x}
        if isinstance(what, str) and what in whole and what not in self.mechanism.coordinates:
            return whole[what].copy()
        if isinstance(what, Output):
            found: Any = what
        elif callable(what):
            rows = zip(self.t.tolist(), self.q, self.v, self.x, strict=True)
            return np.array([np.asarray(what(State(q.copy(), v.copy(), t, x)), dtype=float) for t, q, v, x in rows])
        else:
            found = find_output(self, what)
        return found.value(self)

    def names(self) -> list[str]:
        """Return the names of all outputs, without components and points of bodies."""
        return output_names(self.mechanism)

    def describe(self, name: str) -> str:
        """Return unit, shape and meaning of an output on one line."""
        return find_output(self, name).describe()

    def is_determined(self, name: str) -> BoolArray:
        """Return at which times the motion determines an output: at all."""
        return np.ones(np.shape(self.output(name)), dtype=bool)

    def velocity(self, name: str) -> Array:
        """Return the rate of a coordinate or of a component of it, per s."""
        return self.rate(name, 1)

    def acceleration(self, name: str) -> Array:
        """Return the second rate of a coordinate or of a component of it, per s2."""
        return self.rate(name, 2)

    def jerk(self, name: str) -> Array:
        """Return the third rate of a coordinate or of a component of it, per s3."""
        return self.rate(name, 3)

    def rate(self, name: str, order: int) -> Array:
        """Return a coordinate (order 0) or its rate of an order up to 3; (k, dim), or (k,) of a scalar."""
        for c in self.equations.coordinates:
            if name == c.name:
                start = self.equations.place(name)
                found: Array = self.values[order][:, start : start + len(c.value)]
                return found if len(c.value) > 1 else found[:, 0]
            if name in c.names:
                return self.values[order][:, self.equations.place(c.name, c.names.index(name))]
        raise ModelError("motion", "name", name, "name a point, a vector, an angle, a distance, or a component: '1.x'")

    # -- states between rows

    @overload
    def at(self, t: float) -> State: ...
    @overload
    def at(self, t: Sequence[float] | NDArray[Any]) -> NaturalMotion: ...
    def at(self, t: ArrayLike) -> State | NaturalMotion:
        """Return the state at a time, as a `State`; or at many times in order, as a motion at these.

        Driven motions are followed from the row before. Simulated motions are interpolated by polynomials through
        positions, velocities and accelerations, and projected onto the constraints.
        """
        if np.ndim(t) == 0:
            one = self._between(np.array([finite_number(t, item="motion.at", field="t")]))
            return one.final_state
        return self._between(np.array(t, dtype=float))

    def with_times(self, times: ArrayLike) -> NaturalMotion:
        """Return the motion with rows at further times (k,) s."""
        return self._between(np.union1d(self.t, self._within(np.array(times, dtype=float))))

    def _between(self, times: Array) -> NaturalMotion:
        if times.ndim != 1 or not len(times):
            raise ModelError("motion.at", "t", times, "give one or more times")
        backwards = len(self.t) > 1 and bool(self.t[-1] < self.t[0])
        low, high = sorted((float(self.t[0]), float(self.t[-1])))
        slack = 1e-12 * (high - low)
        if not ((times >= low - slack) & (times <= high + slack)).all():
            raise ModelError(
                "motion.at", "t", times, f"give values of {self.axis.name} from {self.axis.span(low, high)}"
            )
        requested = np.clip(times, low, high)
        f = self.followed
        if not self.prescribed:
            found = self._interpolated(requested)
        else:
            everything = np.union1d(self.t, requested)
            everything = everything[::-1] if backwards else everything
            way = follow_branch(self.equations, everything, self.q[0], jerk=f.j is not None)
            order = np.searchsorted(-everything if backwards else everything, -requested if backwards else requested)
            jerks = None if way.j is None else way.j[order]
            found = replace(f, t=requested, q=way.q[order], v=way.v[order], a=way.a[order], j=jerks)
        return self._with(found)

    def _with(self, followed: FollowedMotion) -> NaturalMotion:
        other = object.__new__(type(self))
        other.__init__(  # type: ignore[misc]
            self.mechanism, followed, stats=self.stats, status=self.status, message=self.message,
            prescribed=self.prescribed, axis=self.axis,
        )  # fmt: skip
        return other

    def _interpolated(self, times: Array) -> FollowedMotion:
        """Return states by Hermite's quintic between rows, closed again; accelerations are those of the quintic."""
        e, f = self.equations, self.followed
        rows = np.clip(np.searchsorted(f.t, times), 0, len(f.t) - 1)
        q, v, a = f.q[rows], f.v[rows], f.a[rows]
        between = np.flatnonzero((f.t[rows] != times) & (len(f.t) > 1))
        curve = Quintic(f.t, f.q, f.v, f.a)
        for k in between:
            t = float(times[k])
            near, rate, a[k] = (curve(times[[k]], order)[0] for order in range(3))
            q[k] = find_position(e, near, t).q
            v[k] = e.project_velocities(q[k], rate, t)
        return replace(f, t=times, q=q, v=v, a=a, j=None)

    # -- pictures

    def draw(self, t: float | None = None, **options: Any) -> Axes:
        """Draw the mechanism at a time, the last if left out, and return the axes (see `view.draw_points`).

        Options: ``velocities`` and ``accelerations`` (points that get an arrow, or True for all), ``trace`` (points
        whose paths are drawn), ``view``, ``ax``, ``labels``, ``ghosts``, ``path``.
        """
        from ..view.drawing.natural_drawing import draw_points

        return draw_points(self, float(self.t[-1]) if t is None else t, **options)

    def animate(self, path: Any = None, **options: Any) -> FuncAnimation | Path:
        """Animate the motion: as a ``.gif``, ``.html`` or ``.mp4`` file, or without a path for a notebook.

        Options: ``view``, ``fps``, ``speed``, ``trace``, ``size`` as in `Result.animate`.
        """
        from ..view.drawing.natural_drawing import animate_points

        return animate_points(self, path, **options)

    # -- tables and files

    def _listed(self) -> list[str]:
        """Return the default outputs of tables: all coordinates that move, then their velocities."""
        moving = [name for c in self.equations.coordinates if not c.fixed for name in c.names]
        return [f"{name}.position" for name in moving] + [f"{name}.speed" for name in moving]

    def to_pandas(self, names: Sequence[str] | None = None) -> pandas.DataFrame:
        """Return a pandas DataFrame over t; positions and speeds of all coordinates that move if no names are given."""
        return super().to_pandas(self._listed() if names is None else names)

    def to_csv(self, path: str | os.PathLike[str], names: Sequence[str] | None = None, *, units: bool = False) -> None:
        """Write a table with a heading, t first, to a CSV file; numbers in full. `names` as in `to_pandas`."""
        super().to_csv(path, self._listed() if names is None else names, units=units)

    def to_excel(self, path: str | os.PathLike[str], names: Sequence[str] | None = None) -> None:
        """Write a sheet for Excel (see `Result.to_excel`). `names` as in `to_pandas`."""
        super().to_excel(path, self._listed() if names is None else names)

    def to_mat(self, path: str | os.PathLike[str], names: Sequence[str] | None = None) -> None:
        """Write a MAT file (see `Result.to_mat`). `names` as in `to_pandas`."""
        super().to_mat(path, self._listed() if names is None else names)

    def save(self, path: str | os.PathLike[str], names: Sequence[str] = ()) -> None:
        """Write the motion to a file (see `Result.save`), driven coordinates and jerks included."""
        listed = [names] if isinstance(names, str) else list(names)
        driven = [f"{name}.{level}" for name in self.equations.driven_names for level in ("position", "speed")]
        jerks = [f"{name}.jerk" for name in self.equations.speed_names] if self.followed.j is not None else []
        super().save(path, [*listed, *(name for name in (*driven, *jerks) if name not in listed)])

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: Any = None) -> Result:
        """Read a motion that `save` wrote.

        Parameters
        ----------
        path : str or path
        model : Mechanism
            The mechanism of the motion, for all outputs. Without it there are the stored columns.

        Raises
        ------
        ModelError
            If the mechanism is not the one of the file.
        """
        found = Result.load(path)
        if model is None:
            return found
        there, here = found._kept.get("model"), _fingerprint(model)
        if there != here:
            differ = [key for key in here if not isinstance(there, dict) or there.get(key) != here[key]]
            raise ModelError(
                "load", f"the mechanism's {', '.join(differ)}", model.name,
                "they differ from those of the file: give the mechanism of the motion, or none",
            )  # fmt: skip
        jerks = [f"{name}.jerk" for name in model.equations().speed_names]
        stored = found._stored
        j = np.column_stack([stored[name] for name in jerks]) if jerks and jerks[0] in stored else None
        followed = FollowedMotion(found.t, found.q, found.v, stored["a"], j, 0, 0, 0)
        return cls(
            model, followed, stats=found.stats, status=found.status, message=found.message,
            prescribed=found.prescribed, axis=found.axis,
        )  # fmt: skip


def _labels(name: str, equations: NaturalEquations) -> Labels:
    kinds = {number: UNITS[c.kind] for c in equations.coordinates for number in c.names}
    units = tuple(kinds[name] for name in equations.speed_names)
    rates = tuple("1/s" if unit == "1" else f"{unit}/s" for unit in units)
    powers = {0: "1", 1: "m", 2: "m2"}
    rows = tuple(powers.get(power, f"m{power}") for power in equations.row_powers)
    return Labels(name, equations.speed_names, equations.speed_names, equations.row_names, units, rates, rows)


def _fingerprint(mechanism: Mechanism) -> dict[str, Any]:
    """Return coordinates, fixed values and rows with their constants, which identify a mechanism."""
    e = mechanism.equations()
    return {
        "natural": mechanism.dimension,
        "coordinates": [[c.name, c.kind] for c in e.coordinates],
        "fixed": {c.name: [float(x) for x in c.value] for c in e.coordinates if c.fixed},
        "rows": {row.name: [float(term.factor) for term in row.terms] for row in e.table},
        "wheels": [list(rows.names) for rows in mechanism.speed_rows],
    }
