"""Scenes in three dimensions: in a browser, in a notebook, as a page or a model file that plays by itself.

`document` says what is seen and how it moves, `bundle` makes bytes of it, which one small page (``web/`` of the
sources, bundled with three.js when the package is built) shows wherever it stands.
"""

from .scenes import SceneOptions
from .show import export, play_system, view_modes, view_result, view_system

__all__ = ["SceneOptions", "export", "play_system", "view_modes", "view_result", "view_system"]
