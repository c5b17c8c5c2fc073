"""Drawing of a system at one configuration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...bodies.body import Body
from ...bodies.markers import Marker
from ...checks import finite_number
from ...closure.assembly import given_coordinates, given_time
from ...closure.driven.driven_state import start_positions
from ...errors import ModelError
from ...model import Model, as_model
from ...model.state import StateLike
from ...system import System
from ...system.display_options import DrawKeywords, DrawOptions, PictureKeywords, deformation_factor, keywords_of
from .. import style
from ..scene.projection import Placement, choose_view, paths_of
from ..scene.scene import Scene, find_marker
from . import annotations as notes
from .axes import page_size, spread
from .planar_picture import PlanarPicture
from .spatial_picture import SpatialPicture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["configurations", "draw", "draw_motion", "markers_of", "new_picture"]


MAX_NAMED_BODIES = 14  # more names would hide the picture
MAX_FITTED = 60  # placements that determine the limits
N_GHOSTS = 5


@keywords_of(DrawOptions)
def draw(
    system: System | Model, state: StateLike | None = None, *, t: float | None = None, **options: Unpack[DrawKeywords]
) -> Axes:
    """Draw a system and return the matplotlib axes.

    Parameters
    ----------
    system : System or Model
    state : State, dict of name to value, or (nq,) or (n, nq) rad or m
        Configuration; the initial one, with drives, if left out. Of several, the last is drawn in full and a few of
        the others faintly.
    t : float, s
        Time of loads that follow time laws; default that of a `State`, else 0.
    {options}

    Raises
    ------
    ModelError
        If a view, a point or a file is invalid.
    AssemblyError
        If no `state` is given and the loops do not close; the error has the nearest `q`, which can be drawn.
    MissingPackageError
        Without matplotlib.
    """
    style.matplotlib()
    chosen = DrawOptions(**options)
    model = as_model(system)
    t = given_time(state, t, item="draw")
    rows = configurations(model, given_coordinates(model, state, item="draw", t=t))
    factor = deformation_factor(chosen.exaggerate)
    marked, traced = markers_of(model, chosen.markers, "markers"), markers_of(model, chosen.trace, "trace")
    given = {"forces": chosen.forces, "velocities": chosen.velocities, "accelerations": chosen.accelerations}
    vectors = {
        kind: {_point(model, point, kind): vector for point, vector in (some or {}).items()}
        for kind, some in given.items()
    }
    shown = rows[spread(len(rows), MAX_FITTED)]
    placements = [Placement.of(model, row, factor, t=t) for row in shown[::-1]]
    paths = paths_of(model, rows, traced, factor)
    with style.styled():
        picture = new_picture(
            model, placements, chosen.view, chosen.ax, chosen.path, paths, marked + traced, inertia=chosen.inertia
        )
        for k in spread(len(placements), N_GHOSTS + 1)[1:]:
            picture.add_ghost(placements[k])
        for k, line in enumerate(paths):
            notes.add_trace(picture, line, k)
        notes.add_points(picture, placements[0], marked + traced)
        arrows = [
            line for kind, some in vectors.items() for line in notes.add_arrows(picture, placements[0], some, kind)
        ]
        if chosen.labels or (chosen.labels is None and len(picture.scene.bodies) <= MAX_NAMED_BODIES):
            notes.add_names(picture, placements[0], marked, [*paths, *arrows])
        if chosen.path is not None:
            style.save(picture.ax.figure, chosen.path)
    axes: Axes = picture.ax
    return axes


def draw_motion(
    result: Any,
    t: float | None,
    velocities: Iterable[Any],
    accelerations: Iterable[Any],
    *,
    ghosts: bool = False,
    **options: Unpack[PictureKeywords],
) -> Axes:
    """Draw a result at a time with arrows of velocities and accelerations; see `Result.draw`."""
    model: Model = result.require_model()
    time = float(result.t[-1]) if t is None else finite_number(t, item="draw", field="t")
    times = np.append(result.t[result.t < time], time)
    rows = result.at(times).q if ghosts or DrawOptions(**options).trace else result.at(time).q[None]
    arrows = [
        {m: result.output(f"{m.name}.{quantity}", [time])[0] for m in markers_of(model, points, kind)}
        for kind, quantity, points in (
            ("velocities", "velocity", velocities), ("accelerations", "acceleration", accelerations)
        )
    ]  # fmt: skip
    return draw(model, rows, t=time, velocities=arrows[0], accelerations=arrows[1], **options)


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
    """Return the picture of a model at the first placement, on axes that fit all placements.

    Parameters
    ----------
    paths : list of (n, 3) m
        Further lines to fit.
    points : list of Marker
        Points that are drawn as parts of their bodies.
    size : (2,) inches
        Of a new figure; determined by the system if left out.
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
    """Return q as rows (n, nq); the initial configuration if it is None."""
    if q is None:
        return start_positions(model)[None]
    try:
        rows = np.atleast_2d(np.asarray(q, dtype=np.float64))
    except (TypeError, ValueError):
        rows = np.zeros((0, 0))
    if rows.ndim != 2 or rows.shape[1] != model.nq or not len(rows) or not np.isfinite(rows).all():
        raise ModelError("draw", "state", q, f"give finite numbers of shape ({model.nq},) or (n, {model.nq})")
    return rows


def markers_of(model: Model, specs: Any, field: str) -> list[Marker]:
    """Return the markers that the user gives: one, several, or True for all named ones."""
    if specs is True:
        bodies = (model.system.ground, *model.system.bodies.values())
        return [marker for body in bodies for marker in body.markers.values()]
    if specs is None or specs is False:
        return []
    items = [specs] if isinstance(specs, (str, Marker, Body)) else list(specs)
    return [_point(model, spec, field) for spec in items]


def _point(model: Model, spec: Any, field: str) -> Marker:
    return find_marker(model.system, spec, item="picture", field=field)
