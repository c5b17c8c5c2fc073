"""Pictures of modes of vibration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import style
from ..drawing.animation import animate_configurations
from ..drawing.system_drawing import draw

if TYPE_CHECKING:
    from ...linear.vibration_modes import Modes

__all__ = ["animate_mode", "draw_mode"]


def draw_mode(modes: Modes, k: int, size: float | None = None, **options: Any) -> Any:
    """Draw the two ends of mode k over the state; `size`: how far it goes, m or rad; others as `draw`."""
    ends = [state.q for state in modes.states(k, np.array([0.0, np.pi]), size)]
    path = options.pop("path", None)
    axes = draw(modes.space.model, np.array([*ends, modes.state.q]), **options)
    if hasattr(axes, "set_title"):
        axes.set_title(modes.describe(k), fontsize=9)
    if path is not None:
        style.save(axes.figure, path)
        if options.get("ax") is None:  # a notebook would show it once more
            from matplotlib import pyplot

            pyplot.close(axes.figure)
    return axes


def animate_mode(modes: Modes, k: int, size: float | None, frames: int, path: Any = None, **options: Any) -> Any:
    """Animate one cycle of mode k in one second; others as `animate`."""
    phases = np.linspace(0.0, 2 * np.pi, frames + 1)
    q = np.array([state.q for state in modes.states(k, phases, size)])
    return animate_configurations(modes.space.model, phases / (2 * np.pi), q, path, **{"fps": float(frames), **options})
