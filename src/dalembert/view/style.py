"""How our pictures look."""

from __future__ import annotations

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

__all__ = ["figure"]


def figure(width: float, height: float) -> Figure:
    """Return an empty figure (inches) that draws into a file, without touching the user's pyplot state."""
    picture = Figure(figsize=(width, height))
    FigureCanvasAgg(picture)
    return picture
