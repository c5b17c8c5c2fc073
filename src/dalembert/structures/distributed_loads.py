"""Distributed loads: along lines and on surfaces, of flexible and of rigid bodies.

On flexible bodies they become `Load`s with the virtual work of the distributed load for the element shapes: along
beams, forces at two Gauss points in each element (a constant load times cubic shapes is integrated exactly); on
surfaces, the consistent nodal loads. They act in every analysis, deform the body, and appear in nodal balances.

On rigid bodies, lines and surfaces are given. Loads in axes of the body become one `Load` with their resultant,

    F = int f ds,    M = int r x f ds        on a surface with normal n: f = -p n                                (1)

and forces in world axes `Load`s at the points of integration, as their resultant moment follows the rotation of the
body. Pieces of lines have four Gauss points, which are exact for forces up to degree 6 along a piece. Triangles have
six points, exact for pressures up to degree 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..bodies.body import Body
from ..bodies.markers import Marker
from ..checks import checked, finite_array, finite_number, one_of
from ..connections.elements import Load
from ..connections.laws import scaled
from ..errors import ModelError
from .beam_elements import Beams
from .cables import SlenderBody
from .plate_elements import PlateElements
from .solid_elements import SolidElements
from .structure import Structure

if TYPE_CHECKING:
    from ..system import System

__all__ = ["SpreadLoad", "line_load", "pressure_load"]


_POINTS = np.array([-1.0, 1.0]) / np.sqrt(3)
_GAUSS = np.polynomial.legendre.leggauss(4)
# six points on a triangle, of degree 4: barycentric coordinates (a, a, 1 - 2 a), and weights
_TRIANGLE = ((0.445948490915965, 0.223381589678011), (0.091576213509771, 0.109951743655322))


@dataclass(frozen=True, eq=False)
class SpreadLoad:
    """Distributed load, returned by `line_load` and `pressure_load`.

    Attributes
    ----------
    name : str
    loads : tuple of str
        Names of the loads that it consists of.
    total : (3,) N
        Their sum for a law value of one, at rest; in axes of the body, or of the world if `axes` is ``"world"``.
    """

    name: str
    loads: tuple[str, ...]
    total: Array


@checked("axes")
def line_load(
    system: System,
    name: str,
    body: Body | SlenderBody,
    force: ArrayLike | Callable[[Array], ArrayLike],
    *,
    law: Any = 1.0,
    axes: str = "world",
    where: Callable[[Array], bool] | None = None,
    along: ArrayLike | None = None,
) -> SpreadLoad:
    """Distribute a force along the beam elements of a flexible body, along a slender one, or a line of a rigid one.

    Parameters
    ----------
    system : System
    name : str
        The loads become ``"name_0"``, ``"name_1"``, ...
    body : Body or SlenderBody
    force : (3,) N/m, or a function of the position (3,) m that returns it
        Positions are those of the undeformed body, in its axes; along a slender body, of its line.
    law : number, function of t or law
        Factor of the force.
    axes : "world" or "body"
        Of the force: fixed, or rotating with the material (a follower load).
    where : function of the position (3,) m
        True where the load acts; default everywhere. It is evaluated at the integration points.
    along : (k, 3) m
        Of a rigid body: the points of a polyline, in axes of the body.

    Examples
    --------
    >>> import dalembert as da
    >>> steel = da.Material(E=210e9, nu=0.3, density=7850)
    >>> s = da.System("wing", gravity=(0, 0, 0))
    >>> wing = s.body("wing", da.beam(1.0, da.Section.rectangle(0.05, 0.005), steel, elements=8))
    >>> root = s.connect("root", da.Fixed(), s.ground, wing)
    >>> da.line_load(s, "lift", wing, lambda x: (0, 0, 30 * (1 - x[0] ** 2)), axes="body").total.round(6)
    array([ 0.,  0., 20.])
    """
    item = f"line load {name!r}"
    one_of(item, "axes", axes, ("world", "body"))
    loads: list[str] = []
    total = np.zeros(3)
    if along is not None or _is_rigid(body):
        pieces = _polyline(item, body, along)
        moment = np.zeros(3)
        for place, length in pieces:
            if where is not None and not where(place):
                continue
            each = finite_array(force(place) if callable(force) else force, (3,), item=item, field="force") * length
            total, moment = total + each, moment + np.cross(place, each)
            loads.append(f"{name}_{len(loads)}")
            if axes == "world":
                system.connect(loads[-1], Load(force=[scaled(law, c) for c in each]), body.at(*place))
        if axes == "body":
            return _resultant(system, item, name, body, total, moment, law, bool(loads))
        return _made(item, name, loads, total)
    for place, marker, length in _line(item, body):
        if where is not None and not where(place):
            continue
        each = finite_array(force(place) if callable(force) else force, (3,), item=item, field="force") * length
        loads.append(f"{name}_{len(loads)}")
        system.connect(loads[-1], Load(force=[scaled(law, c) for c in each], axes=axes), marker)
        total += each
    return _made(item, name, loads, total)


def pressure_load(
    system: System,
    name: str,
    body: Body,
    pressure: float | Callable[[Array], float],
    *,
    law: Any = 1.0,
    where: Callable[[Array], bool] | None = None,
    faces: ArrayLike | None = None,
) -> SpreadLoad:
    """Apply a pressure to the surface of a solid flexible body, to the upper face of a plate, or to a rigid body.

    The pressure follows the material: it rotates with the nodes. Changes of area are neglected.

    Parameters
    ----------
    system : System
    name : str
        The loads become ``"name_0"``, ``"name_1"``, ...
    body : Body
    pressure : float, Pa, or a function of the position (3,) m that returns it
        Positive against the outward normal; on a plate, against its z axis. Negative: suction, or the lower face.
    law : number, function of t or law
        Factor of the pressure.
    where : function of the position (3,) m
        True where it acts; evaluated at the middle of each element face, in body axes. Default: everywhere.
    faces : (k, 3, 3) m
        Of a rigid body: corners of triangles in axes of the body, counterclockwise seen from outside.

    Examples
    --------
    >>> import dalembert as da
    >>> steel = da.Material(E=210e9, nu=0.3, density=7850)
    >>> plate = da.plate_structure(0.4, 0.2, 0.002, steel, elements=(4, 2))
    >>> plate = plate.rigid_region(plate.nodes[:, 0] < -0.199)  # one edge, tied to a new node, number 15
    >>> s = da.System("flap")
    >>> flap = s.body("flap", plate.reduce(da.CantileverModes(4, at=15)))
    >>> root = s.connect("root", da.Fixed(), s.ground, flap.at(node=15))
    >>> da.pressure_load(s, "p", flap, 100.0, law=da.Ramp(0.0, 1.0, 0.1)).total.round(9)
    array([ 0.,  0., -8.])
    """
    item = f"pressure load {name!r}"
    if faces is not None or _is_rigid(body):
        total, moment, found = _on_faces(item, body, pressure, where, faces)
        return _resultant(system, item, name, body, total, moment, law, found)
    structure = _structure(item, body)
    elements = structure.elements
    if not isinstance(elements, (PlateElements, SolidElements)):
        raise ModelError(item, "body", body.name, "it has no surface: it needs plates or solids; beams take line_load")

    def value(place: Array) -> float:
        given = pressure(place) if callable(pressure) else pressure
        return finite_number(given, item=item, field="pressure")

    nodal = elements.pressure_loads(structure.nodes, value, where).reshape(-1, 6)
    size = np.abs(nodal[:, :3]).max(initial=0.0)
    loads: list[str] = []
    for node, (*force, mx, my, mz) in enumerate(nodal):
        if np.abs(force).max() > 1e-12 * size or np.abs((mx, my, mz)).max() > 0:
            loads.append(f"{name}_{len(loads)}")
            given = [[scaled(law, c) for c in part] for part in (force, (mx, my, mz))]
            system.connect(loads[-1], Load(force=given[0], moment=given[1], axes="body"), body.at(node=node))
    return _made(item, name, loads, nodal[:, :3].sum(axis=0))


def _is_rigid(body: Any) -> bool:
    return isinstance(body, Body) and body.flexible is None


def _polyline(item: str, body: Any, along: ArrayLike | None) -> list[tuple[Array, float]]:
    """Return positions (3,) m in a rigid body and their tributary lengths, m."""
    if not _is_rigid(body):
        raise ModelError(item, "along", along, "lines are given for rigid bodies; this one has its own: leave it out")
    if along is None:
        raise ModelError(item, "along", None, f"{body.name!r} is rigid: give the points (k, 3) of a line, in its axes")
    points = finite_array(along, (len(np.atleast_1d(np.asarray(along, dtype=object))), 3), item=item, field="along")
    sizes = np.linalg.norm(np.diff(points, axis=0), axis=1)
    if not (sizes > 0.0).any():
        raise ModelError(item, "along", along, "the line has no length: give two different points or more")
    return [
        ((start + end) / 2 + x / 2 * (end - start), float(w * h / 2))
        for (start, end), h in zip(pairwise(points), sizes, strict=True)
        for x, w in zip(*_GAUSS, strict=True)
        if h > 0.0
    ]


def _on_faces(
    item: str,
    body: Any,
    pressure: float | Callable[[Array], float],
    where: Callable[[Array], bool] | None,
    faces: ArrayLike | None,
) -> tuple[Array, Array, bool]:
    """Return force, moment (3,) about the origin of a rigid body, its axes, and whether any face is loaded."""
    if not _is_rigid(body):
        raise ModelError(item, "faces", "given", "faces are for rigid bodies; this one has its own: leave them out")
    if faces is None:
        raise ModelError(item, "faces", None, f"{body.name!r} is rigid: give triangles (k, 3, 3), in its axes")
    corners = finite_array(faces, (len(np.atleast_1d(np.asarray(faces, dtype=object))), 3, 3), item=item, field="faces")
    force, moment, found = np.zeros(3), np.zeros(3), False
    for triangle in corners:
        area = np.cross(triangle[1] - triangle[0], triangle[2] - triangle[0]) / 2
        if where is not None and not where(triangle.mean(axis=0)):
            continue
        found = True
        for a, weight in _TRIANGLE:
            for k in range(3):
                shares = np.full(3, a)
                shares[k] = 1 - 2 * a
                place = shares @ triangle
                p = finite_number(pressure(place) if callable(pressure) else pressure, item=item, field="pressure")
                each = -p * weight * area
                force, moment = force + each, moment + np.cross(place, each)
    return force, moment, found


def _resultant(
    system: System, item: str, name: str, body: Any, force: Array, moment: Array, law: Any, found: bool
) -> SpreadLoad:
    """Add the resultant of loads in axes of a rigid body, at its origin."""
    loads = [f"{name}_0"] if found else []
    if found:
        given = [[scaled(law, float(c)) for c in part] for part in (force, moment)]
        system.connect(loads[0], Load(force=given[0], moment=given[1], axes="body"), body.origin)
    return _made(item, name, loads, force)


def _made(item: str, name: str, loads: list[str], total: Array) -> SpreadLoad:
    if not loads:
        raise ModelError(
            item, "where", "nowhere", "it acts on no part of the body: check units and axes (body axes, m)"
        )
    return SpreadLoad(name, tuple(loads), total)


def _line(item: str, body: Body | SlenderBody) -> Iterator[tuple[Array, Marker, float]]:
    """Yield positions (3,) m along a body, their markers, and their tributary lengths, m."""
    if isinstance(body, SlenderBody):
        begin = 0.0
        for start, end in zip(body.points[:-1], body.points[1:], strict=True):
            h = float(np.linalg.norm(end - start))
            for s in (1 + _POINTS) / 2:
                yield start + s * (end - start), body.at(begin + s * h), h / 2
            begin += h
        return
    structure = _structure(item, body)
    if not isinstance(structure.elements, Beams):
        raise ModelError(
            item, "body", body.name, "it has no lines: it needs beam elements; surfaces take pressure_load"
        )
    for first, second in structure.elements.ends:
        start, end = structure.nodes[first], structure.nodes[second]
        for s in (1 + _POINTS) / 2:
            place = start + s * (end - start)
            yield place, body.at(*place), float(np.linalg.norm(end - start)) / 2


def _structure(item: str, body: Any) -> Structure:
    flexible = body.flexible if isinstance(body, Body) else None
    if flexible is None or flexible.structure is None:
        remedy = "give a flexible body whose elements are known: of beams, plates or solids, or a slender one"
        raise ModelError(item, "body", getattr(body, "name", body), remedy)
    if flexible.nodes_removed:
        remedy = "its reduction removed nodes that are loaded: use CraigBampton or CantileverModes"
        raise ModelError(item, "body", body.name, remedy)
    return flexible.structure
