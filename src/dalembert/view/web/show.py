"""Display of scenes in a browser or a notebook, and export to files."""

from __future__ import annotations

import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...checks import one_of
from ...closure.assembly import given_coordinates
from ...errors import ModelError
from ...model import Model, as_model
from ...model.state import StateLike
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
    page = standing_page(title, pack(description))
    return written(path, (".html",), "export", lambda name: name.write_text(page, encoding="utf-8"))


def view_system(
    system: System | Model,
    state: StateLike | None = None,
    *,
    options: SceneOptions,
    parameters: Mapping[str, tuple[float, float]] | None = None,
    open_browser: bool | None = None,
    port: int = 0,
) -> Viewer | AnyWidget:
    """Show a system whose bodies can be dragged; return the `Viewer`, or in a notebook the widget."""
    model = as_model(system)
    solver = DragSolver(model, given_coordinates(model, state, item="view"))
    builder, description = scene_of_system(model, solver.q, options=options)
    session = DragSession(
        solver, builder, parameters or {}, lambda other, at: scene_of_system(other, at, options=options)
    )
    description["controls"] = session.controls()
    return _shown(model.system.name, description, session, open_browser, port)


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
    builder, description = scene_of_system(model, options=options)
    player = RealTimePlayer(model, builder, inputs, options.speed, keys=keys or {}, **run)
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
    if open_browser is not False and not webbrowser.open(viewer.address):
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
    if suffix in _PICTURES and (by == "drawing" or (by == "auto" and not extra)):
        if extra:
            remedy = f"a drawing does not show it: leave it out, write .html, or {suffix} by='scene'"
            raise ModelError("export", extra[0], getattr(options, extra[0]), remedy)
        look = {name: getattr(options, name) for name in ("view", "trace", "inertia", "exaggerate")}
        if suffix == ".png":
            result.draw(path=path, **look)
        else:
            result.animate(path, fps=options.fps, speed=options.speed, **look)
        return Path(str(path))
    description = scene_of_result(result, options)

    def write(name: Path) -> None:
        if suffix == ".glb":
            name.write_bytes(gltf_of(description))
            return
        page = standing_page(result.model.system.name, pack(description))
        if suffix == ".html":
            name.write_text(page, encoding="utf-8")
        else:
            write_scene(name, page, np.asarray(description["motion"]["times"], dtype=float), options.fps)

    return written(path, (".html", ".glb", *_PICTURES), "export", write)
