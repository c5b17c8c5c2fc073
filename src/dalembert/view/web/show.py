"""Display of scenes in a browser or a notebook, and export to files."""

from __future__ import annotations

import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...checks import one_of
from ...errors import ModelError
from ...model import Model, as_model
from ...system import System
from ..style import written
from .capture import write_scene
from .drag_requests import DragSession
from .drag_solver import DragSolver
from .gltf import gltf_of
from .page import standing_page
from .real_time_player import RealTimePlayer
from .scene_bytes import pack
from .scenes import SceneOptions, scene_of_modes, scene_of_result, scene_of_system
from .server import Viewer

if TYPE_CHECKING:
    from anywidget import AnyWidget

__all__ = ["export", "play_system", "view_modes", "view_result", "view_system"]

MAX_MODES = 12  # shown if none are selected
_PICTURES = (".gif", ".mp4", ".png")


def view_result(
    result: Any, options: SceneOptions, *, open_browser: bool | None = None, port: int = 0
) -> Viewer | AnyWidget:
    """Show a motion; return the `Viewer`, or in a notebook the widget."""
    description = scene_of_result(result, options)
    return _shown(result.model.system.name, description, None, open_browser, port)


def view_modes(
    modes: Any,
    which: Any,
    size: float | None,
    options: SceneOptions,
    *,
    path: Any = None,
    open_browser: bool | None = None,
    port: int = 0,
) -> Viewer | AnyWidget | Path:
    """Show modes of vibration, or write them to a page; return the `Viewer`, the widget or the path."""
    numbers = list(range(min(len(modes), MAX_MODES))) if which is None else [int(k) for k in np.atleast_1d(which)]
    if not numbers:
        raise ModelError("modes", "which", which, "there is no mode to show")
    description = scene_of_modes(modes, numbers, size, options)
    title = f"modes of {modes.space.model.system.name}"
    if path is None:
        return _shown(title, description, None, open_browser, port)

    def write(name: Path) -> None:
        name.write_text(standing_page(title, pack(description)), encoding="utf-8")

    return written(path, (".html",), "export", write)


def view_system(
    system: System | Model,
    q: Any = None,
    *,
    options: SceneOptions,
    parameters: Mapping[str, tuple[float, float]] | None = None,
    open_browser: bool | None = None,
    port: int = 0,
) -> Viewer | AnyWidget:
    """Show a system whose bodies can be dragged; return the `Viewer`, or in a notebook the widget."""
    model = as_model(system)
    puppet = DragSolver(model, None if q is None else np.asarray(q, dtype=float))
    stage, description = scene_of_system(model, puppet.q, options=options)
    hand = DragSession(puppet, stage, parameters or {}, lambda other, at: scene_of_system(other, at, options=options))
    description["controls"] = hand.controls()
    return _shown(model.system.name, description, hand, open_browser, port)


def play_system(
    system: System | Model,
    inputs: Mapping[str, tuple[float, float]],
    *,
    options: SceneOptions,
    keys: Mapping[str, tuple[str, str]] | None = None,
    open_browser: bool | None = None,
    port: int = 0,
    **run: Any,
) -> Viewer:
    """Simulate a system in real time in a browser; return the `Viewer`, whose `close` ends the run."""
    model = as_model(system)
    stage, description = scene_of_system(model, options=options)
    player = RealTimePlayer(model, stage, inputs, options.speed, keys=keys or {}, **run)
    description["controls"] = player.controls()
    viewer = Viewer(model.system.name, pack(description), answer=player, frames=player.frames, port=port)
    viewer.at_close(player.close)
    player.start()
    return _opened(viewer, open_browser)


def _shown(
    title: str, description: dict[str, Any], answer: Any, open_browser: bool | None, port: int
) -> Viewer | AnyWidget:
    scene = pack(description)
    if open_browser is None and in_notebook():
        from .widget import widget

        return widget(title, scene, answer)
    return _opened(Viewer(title, scene, answer=answer, port=port), open_browser)


def _opened(viewer: Viewer, open_browser: bool | None) -> Viewer:
    opened = webbrowser.open(viewer.address) if open_browser is not False else True
    if not opened:
        print(f"No browser could be opened. The scene is at {viewer.address}")
    return viewer


def in_notebook() -> bool:
    """Return whether this runs in a Jupyter kernel."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    shell = get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def export(result: Any, path: Any, options: SceneOptions, by: str = "auto") -> Path:
    """Write a motion to a file: ``.html``, a page that plays offline, ``.glb``, or pictures of scene or drawing."""
    suffix = Path(str(path)).suffix.lower()
    extra = [name for name in ("plots", "arrows", "compare", "colors") if getattr(options, name)]
    one_of("export", "by", by, ("auto", "scene", "drawing"))
    if suffix in _PICTURES and (by == "scene" or (by == "auto" and extra)):
        description = scene_of_result(result, options)
        page = standing_page(result.model.system.name, pack(description))
        times = np.asarray(description["motion"]["times"], dtype=float)
        return written(path, _PICTURES, "export", lambda name: write_scene(name, page, times, options.fps))
    if suffix in _PICTURES:
        if extra:
            remedy = f"a drawing does not show it: leave it out, write .html, or {suffix} by='scene'"
            raise ModelError("export", extra[0], getattr(options, extra[0]), remedy)
        look = {
            "view": options.view,
            "trace": options.trace,
            "inertia": options.inertia,
            "exaggerate": options.exaggerate,
        }
        if suffix == ".png":
            result.draw(path=path, **look)
            return Path(str(path))
        film: Path = result.animate(path, fps=options.fps, speed=options.speed, **look)
        return film
    description = scene_of_result(result, options)
    title = result.model.system.name

    def write(name: Path) -> None:
        if name.suffix.lower() == ".glb":
            name.write_bytes(gltf_of(description))
        else:
            name.write_text(standing_page(title, pack(description)), encoding="utf-8")

    return written(path, (".html", ".glb", *_PICTURES), "export", write)
