"""A system at one configuration, as a drawing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...bodies.body import Body
from ...bodies.markers import Marker
from ...checks import finite_number
from ...closure.driven.driven_state import start_positions
from ...errors import ModelError
from ...model import Model, as_model
from ...system import System
from .. import style
from ..scene.projection import Placement, View, choose_view, paths_of
from ..scene.scene import Scene, find_marker
from . import annotations as notes
from .planar_picture import PlanarPicture
from .spatial_picture import SpatialPicture, page_of

__all__ = [
    "checked_factor",
    "configurations",
    "draw",
    "draw_motion",
    "markers_of",
    "new_picture",
    "page_size",
    "spread",
]

Array = NDArray[np.float64]

_MANY = 14  # bodies: with more of them names would hide the picture
_FITTED = 60  # placements that are looked at for the limits
_GHOSTS = 5


def draw(
    system: System | Model,
    q: ArrayLike | None = None,
    *,
    view: str = "auto",
    ax: Any = None,
    labels: bool | None = None,
    markers: bool | Iterable[Any] = (),
    trace: Iterable[Any] = (),
    forces: Mapping[Any, ArrayLike] | None = None,
    velocities: Mapping[Any, ArrayLike] | None = None,
    accelerations: Mapping[Any, ArrayLike] | None = None,
    inertia: bool = False,
    exaggerate: float = 1.0,
    path: Any = None,
    t: float = 0.0,
) -> Any:
    """Draw a system and return the matplotlib axes.

    Parameters
    ----------
    system : System or Model
    q : (nq,) or (n, nq) rad or m
        Configuration; where a run starts, drives included, if left out. Of several, the last is drawn in full and a few
        of the others faintly.
    view : str
        ``"xy"``, ``"xz"``, ``"yz"``, ``"3d"``; ``"auto"`` takes the plane in which everything moves, if there is one.
    ax : matplotlib axes
        Where to draw; a new figure if left out.
    labels : bool
        Write the names of bodies and joints; if left out, where there are not too many.
    markers : True or points
        Points to mark: markers, bodies, or names such as ``"coupler.at(0.2, 0, 0)"``; True for all named markers.
    trace : points
        Points whose path along the rows of `q` is drawn.
    forces : dict of point to (3,) N
    velocities, accelerations : dict of point to (3,) m/s, m/s2
        Arrows at points, in world axes, each kind to a common scale; `Result.draw` takes them from a motion.
    inertia : bool
        Draw bodies without a shape as the homogeneous boxes that have their mass and inertia, instead of as lines
        between their joints.
    exaggerate : float
        Factor of all deformations of flexible bodies. In trees what hangs on them moves along; where there are loops,
        joints stay in place. Thin grey lines show the bodies without deformation.
    path : str or Path
        File to write: .png, .pdf, .svg, ...
    t : float, s
        When: loads that follow laws of time are drawn as they are then.

    Raises
    ------
    ModelError
        If a view, a point or a file cannot be.
    AssemblyError
        If no `q` is given and the loops do not close; draw the error's own `q` to see how far they get.
    MissingPackageError
        Without matplotlib.
    """
    style.matplotlib()
    model = as_model(system)
    rows = configurations(model, q)
    factor = checked_factor(exaggerate)
    marked, traced = markers_of(model, markers, "markers"), markers_of(model, trace, "trace")
    given = {"forces": forces, "velocities": velocities, "accelerations": accelerations}
    vectors = {
        kind: {_point(model, point, kind): vector for point, vector in (some or {}).items()}
        for kind, some in given.items()
    }
    shown = rows[spread(len(rows), _FITTED)]
    placements = [Placement.of(model, row, factor, t=t) for row in shown[::-1]]
    paths = paths_of(model, rows, traced, factor)
    with style.styled():
        picture = new_picture(model, placements, view, ax, path, paths, marked + traced, inertia=inertia)
        for k in spread(len(placements), _GHOSTS + 1)[1:]:
            picture.add_ghost(placements[k])
        for k, line in enumerate(paths):
            notes.add_trace(picture, line, k)
        notes.add_points(picture, placements[0], marked + traced)
        arrows = [
            line for kind, some in vectors.items() for line in notes.add_arrows(picture, placements[0], some, kind)
        ]
        if labels or (labels is None and len(picture.scene.bodies) <= _MANY):
            notes.add_names(picture, placements[0], marked, [*paths, *arrows])
        if path is not None:
            style.save(picture.ax.figure, path)
    return picture.ax


def draw_motion(
    result: Any, t: float | None, velocities: Iterable[Any], accelerations: Iterable[Any], **options: Any
) -> Any:
    """Draw a result at a time with arrows of what points do then; see `Result.draw`."""
    model: Model = result.require_model()
    time = float(result.t[-1]) if t is None else finite_number(t, item="draw", field="t")
    times = np.append(result.t[result.t < time], time)
    rows = result.at(times).q if options.pop("ghosts", False) or options.get("trace") else result.at(time).q[None]
    arrows: dict[str, dict[Any, Array]] = {}
    for kind, quantity, points in (
        ("velocities", "velocity", velocities),
        ("accelerations", "acceleration", accelerations),
    ):
        markers = markers_of(model, points, kind)
        arrows[kind] = {m: result.output(f"{m.name}.{quantity}", [time])[0] for m in markers}
    return draw(model, rows, t=time, **arrows, **options)  # type: ignore[arg-type]


def new_picture(
    model: Model,
    placements: list[Placement],
    view: str,
    ax: Any,
    path: Any,
    paths: list[Array],
    points: list[Marker],
    *,
    inertia: bool = False,
    size: tuple[float, float] | None = None,
) -> PlanarPicture | SpatialPicture:
    """Return the artists of a model at the first placement, on axes that all of them fit on.

    Parameters
    ----------
    paths : list of (n, 3) m
        Lines that have to fit too.
    points : list of Marker
        Points that are shown as parts of their bodies.
    size : (2,) inches
        Of a new figure; to suit the system if left out.
    """
    chosen = choose_view(model, placements[0], view)
    scene = Scene(model, around=48 if chosen.flat else 24, inertia=inertia, points=points)
    low, high = scene.reach(placements)
    for line in paths:
        low, high = np.minimum(low, line.min(axis=0)), np.maximum(high, line.max(axis=0))
    width, height = page_size(chosen, low, high) if size is None else size
    ax = style.axes_for(ax, path, width, height, solid=not chosen.flat)
    kind = PlanarPicture if chosen.flat else SpatialPicture
    return kind(ax, scene, chosen, placements, low, high)


def configurations(model: Model, q: ArrayLike | None) -> Array:
    """Return q as rows (n, nq): what the user gives, or where a run starts."""
    if q is None:
        return start_positions(model)[None]
    try:
        rows = np.atleast_2d(np.asarray(q, dtype=np.float64))
    except (TypeError, ValueError):
        rows = np.zeros((0, 0))
    if rows.ndim != 2 or rows.shape[1] != model.nq or not len(rows) or not np.isfinite(rows).all():
        raise ModelError("draw", "q", q, f"give finite numbers of shape ({model.nq},) or (n, {model.nq})")
    return rows


def checked_factor(exaggerate: Any) -> float:
    """Return the factor of deformations, if it can be one."""
    factor = finite_number(exaggerate, item="picture", field="exaggerate")
    if factor < 0:
        raise ModelError("picture", "exaggerate", exaggerate, "it must not be negative: 1 shows what is")
    return factor


def page_size(view: View, low: Array, high: Array) -> tuple[float, float]:
    """Return width and height (inches) of a figure that suits what it shows."""
    if not view.flat:
        return page_of(view, low, high)
    width, height = np.maximum(view.project(high - low), 0.1 * float(view.project(high - low).max()) or 1.0)
    ratio = float(np.clip(height / width, 0.22, 1.6))
    return (6.2, 6.2 * ratio * 0.86 + 0.7) if ratio < 1 else (6.0 / ratio + 0.7, 6.0)


def spread(count: int, wanted: int) -> NDArray[np.int64]:
    """Return at most `wanted` numbers from 0 to count - 1, first and last among them, evenly spread."""
    return np.unique(np.linspace(0, count - 1, min(count, wanted)).round().astype(np.int64))


def markers_of(model: Model, specs: Any, field: str) -> list[Marker]:
    """Return the markers that the user names: one, several, or True for all that have a name."""
    if specs is True:
        bodies = (model.system.ground, *model.system.bodies.values())
        return [marker for body in bodies for marker in body.markers.values()]
    if specs is None or specs is False:
        return []
    items = [specs] if isinstance(specs, (str, Marker, Body)) else list(specs)
    return [_point(model, spec, field) for spec in items]


def _point(model: Model, spec: Any, field: str) -> Marker:
    return find_marker(model.system, spec, item="picture", field=field)
