"""Scenes of systems, results and modes, as descriptions for the viewer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import Array
from ...bodies.markers import Marker
from ...errors import ModelError
from ...model import Model, as_model
from ...result import Output
from ...result.contact_points import ContactPoints
from ...system import System
from ...system.display_options import SceneOptions, deformation_factor
from ..drawing.animation import frame_times
from ..drawing.system_drawing import configurations, markers_of
from ..scene.scene import find_marker
from ..style import PALETTE
from .scene_document import SceneBuilder

__all__ = ["SceneOptions", "scene_of_modes", "scene_of_result", "scene_of_system"]


N_PHASES = 32  # of a mode
MAX_IMPACTS = 300  # marks on the time line
TYPICAL_FORCE = 0.9  # quantile of the forces of contact points that has the largest arrow
MAX_TRACKS = 24  # coordinates that the page can plot in addition to the requested outputs
_KINDS = {"force": "force", "moment": "moment", "velocity": "velocity", "momentum": "velocity"}


def _stage(options: SceneOptions, model: Model, q: Array) -> SceneBuilder:
    """Return the scene builder of a model at configurations (n, nq)."""
    return SceneBuilder(
        model, q, view=options.view, inertia=options.inertia, exaggerate=deformation_factor(options.exaggerate),
        colors=options.colors,
    )  # fmt: skip


def scene_of_system(
    system: System | Model,
    q: Any = None,
    *,
    options: SceneOptions | None = None,
) -> tuple[SceneBuilder, dict[str, Any]]:
    """Return scene builder and description of a system at q (nq,), or at the last of rows (n, nq)."""
    model = as_model(system)
    options = options or SceneOptions()
    rows = configurations(model, q)
    stage = _stage(options, model, rows)
    scene = stage.description() | {"motion": stage.motion(np.zeros(1), rows[-1:]), "panel": True}
    scene["arrows"] = stage.loads(np.zeros(1))
    return stage, scene


def scene_of_result(result: Any, options: SceneOptions | None = None) -> dict[str, Any]:
    """Return the description of a motion."""
    options = options or SceneOptions()
    model = result.model
    times = frame_times(np.asarray(result.t, dtype=float), options.fps, options.speed)
    shown = result.at(times) if len(result.t) > 1 else result
    q = np.atleast_2d(shown.q)
    stage = _stage(options, model, q)
    overlays = [
        {"name": name, "color": PALETTE[(k + 1) % len(PALETTE)], "motion": _compared_motion(stage, other, times)}
        for k, (name, other) in enumerate((options.compare or {}).items())
    ]
    return stage.description() | {
        "motion": stage.motion(shown.t, q),
        "traces": stage.traces(markers_of(model, options.trace, "trace")),
        "tracks": _tracks(shown, options.plots),
        "arrows": [*stage.loads(shown.t), *(_arrow(stage, shown, name) for name in options.arrows)],
        "overlays": overlays,
        "contacts": _contacts(shown),
        "impacts": _impacts(result),
        "speed": options.speed,
        "play": True,
        "panel": bool(options.plots or options.arrows or overlays or options.colors),
    }


def _contacts(shown: Any) -> dict[str, Any] | None:
    """Return the contact points that carry load: rows of each frame, positions, forces and states; None without any."""
    sources = getattr(shown, "contact_sources", ())
    if not sources or len(shown.t) < 2:
        return None
    states = shown.t, np.atleast_2d(shown.q), np.atleast_2d(shown.v), np.atleast_2d(shown.x)
    points = ContactPoints.joined([source.points(*states) for source in sources])
    begin = np.searchsorted(points.time, np.arange(len(shown.t) + 1)).astype(float)
    sizes = np.linalg.norm(points.force, axis=1)
    largest = float(np.quantile(sizes, TYPICAL_FORCE)) if len(points) else 0.0  # impacts would hide all others
    return {
        "begin": begin,
        "at": points.position,
        "force": points.force,
        "state": points.state.astype(float),
        "largest": largest,
    }


def _impacts(result: Any) -> Array:
    """Return the times of impacts, s; of many a part."""
    events = [event for event in getattr(result, "events", ()) if event.is_exchange or "impact" in event.name]
    times = np.array([event.t for event in events], dtype=float)
    kept = np.linspace(0, len(times) - 1, min(len(times), MAX_IMPACTS)).round().astype(int)
    return times[kept]


def scene_of_modes(modes: Any, numbers: Sequence[int], size: float | None, options: SceneOptions) -> dict[str, Any]:
    """Return the description of vibration modes, each a cycle of one second."""
    phases = np.linspace(0.0, 2 * np.pi, N_PHASES + 1)
    rows = {k: np.array([state.q for state in modes.states(k, phases, size)]) for k in numbers}
    stage = _stage(options, modes.space.model, np.concatenate([*rows.values(), modes.state.q[None]]))
    cycles = [{"name": modes.describe(k), "motion": stage.motion(phases / (2 * np.pi), q)} for k, q in rows.items()]
    return stage.description() | {
        "motion": cycles[0]["motion"],
        "cycles": cycles,
        "traces": stage.traces(markers_of(stage.model, options.trace, "trace")),
        "speed": options.speed,
        "play": True,
        "panel": True,
    }


def _compared_motion(stage: SceneBuilder, other: Any, times: Array) -> dict[str, Any]:
    """Return the motion of another result at the same times, constant beyond its end."""
    if not hasattr(other, "at") or getattr(other, "model", None) is None:
        raise ModelError("view", "compare", other, "give results by name: {'stiffer': result}")
    if other.model.body_names != stage.model.body_names or other.model.coordinate_names != stage.model.coordinate_names:
        remedy = "the systems of both results need the same bodies and joints"
        raise ModelError("view", "compare", other.model.system.name, remedy)
    within = np.clip(times, other.t[0], other.t[-1])
    return stage.motion(times, np.atleast_2d(other.at(within).q))


def _tracks(shown: Any, plots: Sequence[str]) -> list[dict[str, Any]]:
    """Return the requested outputs, then coordinates that the page can plot."""
    found = []
    for name in plots:
        output = Output.of(shown.model, name)
        values = shown[name]
        parts = {name: values} if values.ndim == 1 else _components(name, values)
        found += [{"name": part, "unit": output.unit, "values": each, "shown": True} for part, each in parts.items()]
    known = {track["name"] for track in found}
    labels = shown.labels
    for k, name in enumerate(labels.coordinates[:MAX_TRACKS]):
        if name not in known and f"{name}.position" not in known:
            found.append({"name": name, "unit": labels.coordinate_units[k], "values": np.array(shown.q[:, k])})
    return found


def _components(name: str, values: Array) -> dict[str, Array]:
    if values.ndim != 2 or values.shape[1] > 6:
        raise ModelError("view", "plots", name, "plot scalars or vectors; of larger outputs name a component")
    letters = "xyz" if values.shape[1] == 3 else range(values.shape[1])
    return {f"{name}.{letter}": values[:, k] for k, letter in enumerate(letters)}


def _arrow(stage: SceneBuilder, shown: Any, name: str) -> dict[str, Any]:
    """Return a vector over time with its point of action."""
    values = shown[name]
    owner, _, what = name.rpartition(".")
    if values.shape[1:] != (3,) or what not in _KINDS:
        remedy = "give vectors: '.force' and '.moment' of connections, '.velocity' of bodies and markers"
        raise ModelError("view", "arrows", name, remedy)
    unit = Output.of(shown.model, name).unit
    return {
        "name": name,
        "kind": _KINDS[what],
        "unit": unit,
        "at": stage.place(_action_marker(stage.model, owner)),
        "values": values,
    }


def _action_marker(model: Model, owner: str) -> Marker:
    """Return the marker at which an output of a connection, body or marker acts."""
    system = model.system
    connection = system.connections.get(owner) or system.forces.get(owner)
    second = getattr(connection, "second", None)
    return second if isinstance(second, Marker) else find_marker(system, owner, item="view", field="arrows")
