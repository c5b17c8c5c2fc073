"""Systems and results as scenes: what a viewer is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...bodies.markers import Marker
from ...errors import ModelError
from ...model import Model, as_model
from ...result import Output
from ...system import System
from ..drawing.animation import frame_times
from ..drawing.system_drawing import checked_factor, configurations, markers_of
from ..scene.scene import find_marker
from ..style import PALETTE
from .scene_document import SceneBuilder

__all__ = ["SceneOptions", "scene_of_modes", "scene_of_result", "scene_of_system"]

Array = NDArray[np.float64]

_PHASES = 32  # of a mode
_TRACKS = 24  # coordinates that can be plotted without being asked for
_KINDS = {"force": "force", "moment": "moment", "velocity": "velocity", "momentum": "velocity"}


@dataclass(frozen=True)
class SceneOptions:
    """How a motion is to be shown.

    Attributes
    ----------
    view : str
        As for `draw`.
    fps : float, 1/s
        Poses kept for each second shown; between them the page interpolates.
    speed : float
        Seconds of motion shown in a second.
    trace : points
        Whose paths are drawn.
    plots : names
        Outputs plotted under the scene.
    arrows : names
        Vectors shown where they act: ``"D.force"``, ``"coupler.velocity"``.
    beside : mapping of name to Result
        Further motions of systems with the same bodies, shown faintly.
    inertia : bool
        As for `draw`.
    exaggerate : float
        Factor of deformations.
    colors : str
        What flexible bodies are coloured by: ``"stress"``, ``"displacement"``.
    """

    view: str = "auto"
    fps: float = 30.0
    speed: float = 1.0
    trace: Iterable[Any] = ()
    plots: Sequence[str] = ()
    arrows: Sequence[str] = ()
    beside: Mapping[str, Any] = field(default_factory=dict)
    inertia: bool = False
    exaggerate: float = 1.0
    colors: str = ""

    def stage(self, model: Model, q: Array) -> SceneBuilder:
        """Return the stage of a model that is seen at configurations (n, nq)."""
        factor = checked_factor(self.exaggerate)
        return SceneBuilder(model, q, view=self.view, inertia=self.inertia, exaggerate=factor, colors=self.colors)


def scene_of_system(
    system: System | Model, q: Any = None, *, controls: dict[str, Any] | None = None, wanted: SceneOptions | None = None
) -> tuple[SceneBuilder, dict[str, Any]]:
    """Return the stage and the description of a system at one configuration, or at rows of them."""
    model = as_model(system)
    wanted = wanted or SceneOptions()
    rows = configurations(model, q)
    stage = wanted.stage(model, rows)
    scene = stage.description() | {"motion": stage.motion(np.zeros(1), rows[-1:]), "panel": True}
    scene["arrows"] = stage.loads(np.zeros(1))
    return stage, scene | ({"controls": controls} if controls else {})


def scene_of_result(result: Any, wanted: SceneOptions | None = None) -> dict[str, Any]:
    """Return the description of a motion, ready to be packed."""
    wanted = wanted or SceneOptions()
    model = result.model
    times = frame_times(np.asarray(result.t, dtype=float), wanted.fps, wanted.speed)
    shown = result.at(times) if len(result.t) > 1 else result
    q = np.atleast_2d(shown.q)
    stage = wanted.stage(model, q)
    overlays = [
        {"name": name, "color": PALETTE[(k + 1) % len(PALETTE)], "motion": _beside(stage, other, times)}
        for k, (name, other) in enumerate(wanted.beside.items())
    ]
    return stage.description() | {
        "motion": stage.motion(shown.t, q),
        "traces": stage.traces(markers_of(model, wanted.trace, "trace")),
        "tracks": _tracks(shown, wanted.plots),
        "arrows": [*stage.loads(shown.t), *(_arrow(stage, shown, name) for name in wanted.arrows)],
        "overlays": overlays,
        "speed": wanted.speed,
        "play": True,
        "panel": bool(wanted.plots or wanted.arrows or overlays or wanted.colors),
    }


def scene_of_modes(modes: Any, numbers: Sequence[int], size: float | None, wanted: SceneOptions) -> dict[str, Any]:
    """Return the description of modes of vibration, each a motion that goes round in a second."""
    phases = np.linspace(0.0, 2 * np.pi, _PHASES + 1)
    rows = {k: np.array([state.q for state in modes.states(k, phases, size)]) for k in numbers}
    stage = wanted.stage(modes.space.model, np.concatenate([*rows.values(), modes.state.q[None]]))
    cycles = [{"name": modes.describe(k), "motion": stage.motion(phases / (2 * np.pi), q)} for k, q in rows.items()]
    return stage.description() | {
        "motion": cycles[0]["motion"],
        "cycles": cycles,
        "traces": stage.traces(markers_of(stage.model, wanted.trace, "trace")),
        "speed": wanted.speed,
        "play": True,
        "panel": True,
    }


def _beside(stage: SceneBuilder, other: Any, times: Array) -> dict[str, Any]:
    """Return the motion of another result at the same times, as far as it goes."""
    if not hasattr(other, "at") or getattr(other, "model", None) is None:
        raise ModelError("view", "beside", other, "give results by name: {'stiffer': result}")
    if other.model.body_names != stage.model.body_names or other.model.coordinate_names != stage.model.coordinate_names:
        remedy = "results can be shown over each other if their systems have the same bodies and joints"
        raise ModelError("view", "beside", other.model.system.name, remedy)
    within = np.clip(times, other.t[0], other.t[-1])
    return stage.motion(times, np.atleast_2d(other.at(within).q))


def _tracks(shown: Any, plots: Sequence[str]) -> list[dict[str, Any]]:
    """Return the outputs that are plotted, then coordinates that can be."""
    found = []
    for name in plots:
        output = Output.of(shown.model, name)
        values = shown[name]
        parts = {name: values} if values.ndim == 1 else _components(name, values)
        found += [{"name": part, "unit": output.unit, "values": each, "shown": True} for part, each in parts.items()]
    known = {track["name"] for track in found}
    labels = shown.labels
    for k, name in enumerate(labels.coordinates[:_TRACKS]):
        if name not in known and f"{name}.position" not in known:
            found.append({"name": name, "unit": labels.coordinate_units[k], "values": np.array(shown.q[:, k])})
    return found


def _components(name: str, values: Array) -> dict[str, Array]:
    if values.ndim != 2 or values.shape[1] > 6:
        raise ModelError("view", "plots", name, "plot numbers or vectors; name a component of anything larger")
    letters = "xyz" if values.shape[1] == 3 else range(values.shape[1])
    return {f"{name}.{letter}": values[:, k] for k, letter in enumerate(letters)}


def _arrow(stage: SceneBuilder, shown: Any, name: str) -> dict[str, Any]:
    """Return a vector over time, and where it acts."""
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
        "at": stage.place(_where(stage.model, owner)),
        "values": values,
    }


def _where(model: Model, owner: str) -> Marker:
    """Return the marker at which an output of a connection, body or marker acts."""
    system = model.system
    connection = system.connections.get(owner) or system.forces.get(owner)
    second = getattr(connection, "second", None)
    return second if isinstance(second, Marker) else find_marker(system, owner, item="view", field="arrows")
