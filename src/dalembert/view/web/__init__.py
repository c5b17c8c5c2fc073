"""Scenes in space: in a browser, in a notebook, as an offline page or a model file.

`scene_document` describes a scene and its motion, and `scene_bytes` converts it to bytes. One small page (``web/`` of
the sources, bundled with three.js when the package is built) shows them in all cases.
"""

from .scenes import SceneOptions
from .show import export, play_system, view_modes, view_result, view_system

__all__ = ["SceneOptions", "export", "play_system", "view_modes", "view_result", "view_system"]
