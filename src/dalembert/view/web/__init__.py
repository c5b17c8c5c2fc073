"""Scenes in space: in a browser, in a notebook, as an offline page or a model file.

`document` says what is seen and how it moves, `bundle` makes bytes of it, which one small page (``web/`` of the
sources, bundled with three.js when the package is built) shows wherever it stands.
"""

from .scenes import SceneOptions
from .show import export, play_system, view_modes, view_result, view_system

__all__ = ["SceneOptions", "export", "play_system", "view_modes", "view_result", "view_system"]
