"""Scene in a notebook, by anywidget; messages use the channel of the kernel, without a port."""

from __future__ import annotations

import html
import importlib
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from ...errors import MissingPackageError
from .page import code, standing_page
from .scene_bytes import answered

if TYPE_CHECKING:
    from anywidget import AnyWidget

__all__ = ["widget"]

_HEIGHT = 480  # pixels


def widget(title: str, scene: bytes, answer: Callable[[dict[str, Any]], dict[str, Any]] | None) -> AnyWidget:
    """Return a widget that shows a scene and handles its messages.

    Saved notebooks keep a copy that plays without a kernel.

    Raises
    ------
    MissingPackageError
        If anywidget is not installed.
    """
    shown = _widget_class()(scene=scene, height=_HEIGHT)
    shown.still = standing_frame(title, scene)
    if answer is not None:
        shown.on_msg(lambda _, question, __: shown.send({"kind": "answer"}, [answered(answer, question)]))
    scene_widget: AnyWidget = shown
    return scene_widget


def standing_frame(title: str, scene: bytes) -> str:
    """Return a page of the scene as an element of another page."""
    page = html.escape(standing_page(title, scene), quote=True)
    look = f'style="width: 100%; height: {_HEIGHT}px; border: 0"'
    return f'<div><iframe srcdoc="{page}" {look} sandbox="allow-scripts"></iframe></div>'


@cache
def _widget_class() -> Any:
    try:
        anywidget, traitlets = (importlib.import_module(name) for name in ("anywidget", "traitlets"))
    except ImportError as error:
        raise MissingPackageError("scenes in notebooks", "anywidget", "pip install 'dalembert[notebook]'") from error

    class SceneWidget(anywidget.AnyWidget):  # type: ignore[misc, name-defined]
        _esm = code("widget")
        scene = traitlets.Bytes().tag(sync=True)
        height = traitlets.Int(_HEIGHT).tag(sync=True)
        still = ""

        def _repr_mimebundle_(self, **kwargs: Any) -> Any:
            """Return the widget, and a complete page for saved notebooks."""
            found = super()._repr_mimebundle_(**kwargs)
            data, metadata = found if isinstance(found, tuple) else (found or {}, {})
            return {**data, "text/html": self.still}, metadata

    return SceneWidget
