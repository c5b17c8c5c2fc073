"""Moment arms: derivatives of the lengths of cables, springs and muscles with respect to coordinates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..answer import ArrayAnswer, count_text, list_text, range_text
from ..arrays import Array
from ..checks import checked, finite_array
from ..closure.named_velocities import as_name_list
from ..connections.elements import AlongPath
from ..errors import ModelError, SingularityError
from ..model import Model, as_model
from ..numerics.rank import ROW_RANK_TOL
from ..system import System
from .actuators import Actuators, StateSamples
from .loop_multipliers import LoopProjection

__all__ = ["MomentArms", "moment_arms"]


_ITEM = "moment_arms"


@dataclass(frozen=True, eq=False, repr=False)
class MomentArms(ArrayAnswer):
    """Moment arms of line elements about coordinates; without the axis n at one configuration.

    Attributes
    ----------
    elements, coordinates : tuple of str
    arms : (n, elements, coordinates) m, or 1 about a displacement
        A tension T supplies the effort arm * T along the coordinate.
    lengths : (n, elements) m
    """

    elements: tuple[str, ...]
    coordinates: tuple[str, ...]
    arms: Array
    lengths: Array
    _arrays: ClassVar = {
        "arms": (("sample", "element", "coordinate"), "m"),
        "lengths": (("sample", "element"), "m"),
    }

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return {"element": (list(self.elements), ""), "coordinate": (list(self.coordinates), "")}

    def _headline(self) -> str:
        counts = f"{count_text(len(self.elements), 'element')}, {count_text(len(self.coordinates), 'coordinate')}"
        return f"{counts}, arms {range_text(self.arms, 'm')}, lengths {range_text(self.lengths, 'm')}"

    def __str__(self) -> str:
        width = max(map(len, self.elements), default=0)
        arms = self.arms.reshape(-1, len(self.elements), len(self.coordinates))
        lines = [self._headline()]
        for j, element in enumerate(self.elements):
            parts = (f"{name} {range_text(arms[:, j, k], 'm')}" for k, name in enumerate(self.coordinates))
            lines.append(f"  {element:{width}}  {list_text(parts, 8)}")
        return "\n".join(lines)

    def __getitem__(self, names: tuple[str, str]) -> Array:
        """Return the arm of an element about a coordinate: ``arms["biceps", "elbow"]``, (n,)."""
        element, coordinate = names
        for field, name, known in (("element", element, self.elements), ("coordinate", coordinate, self.coordinates)):
            if name not in known:
                raise ModelError(_ITEM, field, name, f"choose among {', '.join(map(repr, known[:12]))}")
        return self.arms[..., self.elements.index(element), self.coordinates.index(coordinate)]


@checked("q", "elements", "coordinates", "t")
def moment_arms(
    system: System | Model,
    q: ArrayLike,
    *,
    elements: str | Iterable[str] | None = None,
    coordinates: str | Iterable[str] | None = None,
    t: float = 0.0,
) -> MomentArms:
    """Return the moment arms -dl/dq of elements that act along lines or paths, with loops closed.

    Parameters
    ----------
    system : System or Model
    q : (nq,) or (n, nq) rad or m
        Closed configurations.
    elements : names
        Springs, cables, muscles, cylinders between two markers or along paths; default all.
    coordinates : names of joints or velocities
        Default those of the tree. With loops give as many as there are degrees of freedom, cut joints or others: one
        moves at a time, the others of them are fixed, and unnamed ones follow.
    t : float, s
        Time, for time-dependent loops.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System()
    >>> fore = s.body("forearm", da.rod(length=0.3, mass=1.0))
    >>> _ = s.connect("elbow", da.Revolute("-y"), s.ground, fore)
    >>> _ = s.connect("biceps", da.Cable(stiffness=1e4, length=0.2), s.ground.at(0, 0, 0.3), fore.at(0.04, 0, 0))
    >>> moment_arms(s, [0.0])["biceps", "elbow"].round(4)  # 0.04 * 0.3 / |(0.04, 0.3)|
    np.float64(0.0396)
    """
    model = as_model(system)
    many = np.ndim(q) == 2
    every = finite_array(q, (len(np.asarray(q)), model.nq) if many else (model.nq,), item=_ITEM, field="q")
    every = every.reshape(-1, model.nq)
    names = _lines(model, elements)
    zeros = np.zeros((len(every), model.nv))
    x = np.tile(model.element_start_values(), (len(every), 1))
    samples = StateSamples(model, np.full(len(every), float(t)), every, zeros, zeros, x)
    about = Actuators.of(model, coordinates, _ITEM)
    if about.further:
        raise ModelError(_ITEM, "coordinates", about.names[-1], "name joints or their velocities")
    lengths, slopes = _lengths(samples, names)
    arms = -slopes @ _motions(samples, about)
    return MomentArms(tuple(names), tuple(about.names), arms if many else arms[0], lengths if many else lengths[0])


def _lines(model: Model, given: str | Iterable[str] | None) -> list[str]:
    """Return elements that measure one distance, or act along a path."""
    places, forces = model.compiled.elements.indices, model.system.forces
    known = [
        name
        for name in places
        if getattr(forces[name].element, "each_measure", ()) == ("distance",)
        or isinstance(forces[name].element, AlongPath)
    ]
    names = known if given is None else as_name_list(given)
    for name in names:
        if name not in known:
            remedy = f"elements along lines are {', '.join(map(repr, known[:12])) or 'none of this system'}"
            raise ModelError(_ITEM, "element", name, remedy)
    return names


def _lengths(s: StateSamples, names: list[str]) -> tuple[Array, Array]:
    """Return lengths (n, k), and their derivatives with respect to velocities, (n, k, nv)."""
    model, n = s.model, len(s)
    speeds = np.vstack([np.zeros(model.nv), np.eye(model.nv)])
    times, every, states = (np.repeat(part, len(speeds), axis=0) for part in (s.t, s.q, s.x))
    found = model.report(["measures", "rates", "signals"], times, every, np.tile(speeds, (n, 1)), states)
    tables = model.compiled.elements

    def columns(part: str, signal: str) -> Array:
        """Return a number of each element, (n, 1 + nv, k): its measure, or the signal of a path."""
        picked = [
            found["signals"][:, tables.signals[f"{name}.{signal}"]]
            if f"{name}.{signal}" in tables.signals
            else found[part][:, tables.indices[name].measures.start]
            for name in names
        ]
        return np.stack(picked, axis=1).reshape(n, len(speeds), -1) if picked else np.zeros((n, len(speeds), 0))

    lengths, rates = columns("measures", "distance"), columns("rates", "distance_rate")
    return lengths[:, 0], (rates[:, 1:] - rates[:, :1]).swapaxes(1, 2)


def _motions(s: StateSamples, about: Actuators) -> Array:
    """Return the velocities (n, nv, k) with which each coordinate moves alone, with loops closed."""
    C, loops, model = about.rows(s.q), LoopProjection.of(s), s.model
    if not model.nc:
        return C.swapaxes(1, 2)
    dofs = int(loops.dofs.max())
    if len(about.names) != dofs:
        remedy = f"the loops leave {dofs} DOF: name as many coordinates"
        raise ModelError(_ITEM, "coordinates", len(about.names), remedy)
    N = loops.columns[:, None] * loops.projector
    found: Array = N @ np.linalg.pinv(C @ N, rcond=ROW_RANK_TOL)
    gap = np.abs(C @ found - np.eye(len(about.names))).max(axis=(1, 2))
    if gap.max() > 1e-6:
        worst = int(np.argmax(gap))
        raise SingularityError(
            f"{_ITEM}: at configuration {worst} {', '.join(map(repr, about.names))} do not determine the motion of the "
            "loops; name others"
        )
    return found
