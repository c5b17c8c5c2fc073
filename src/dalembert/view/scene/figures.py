"""Figures of force elements, constraints, couplings and drives: lines, patches, curves, arrows.

`scene.connection_figures` makes them. Joints have their own figures (`scene.JointFigure`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from .attachments import Attachment, AttachmentMidpoint
from .projection import Placement
from .solids import Solid

__all__ = ["ARROW_LENGTH", "ArrowFigure", "CurveFigure", "LineFigure", "PatchFigure"]


ARROW_LENGTH = 0.16  # of the largest load, of the size of the picture


@dataclass(frozen=True, eq=False)
class LineFigure:
    """Line symbol between two attachments.

    Attributes
    ----------
    name : str
    symbol : str
        ``"spring"``, ``"damper"``, ``"both"``, ``"series"``, ``"bumper"``, ``"cylinder"``, ``"cable"``, ``"muscle"``,
        ``"bar"``, ``"beam"``, ``"line"`` or, for what acts from afar, ``"link"``.
    first, second : End or Middle
    """

    name: str
    symbol: str
    first: Attachment | AttachmentMidpoint
    second: Attachment | AttachmentMidpoint


@dataclass(frozen=True, eq=False)
class PatchFigure:
    """Patch symbol at one attachment; `symbol_shapes` has the shape of each look.

    Attributes
    ----------
    name : str
    symbol : str
    end : End
    axes : (3, 3)
        In the body that carries it; z is the axis or normal.
    size : (2,) m
        Radius and length where the element has them; zero: as large as the picture makes a symbol.
    span : (2,) rad or m
        From where to where, of stops.
    outline : (k, 2) m or None
        Of a cam or a wheel with teeth.
    lift : float, m
        How far along its axis it stands away, to be seen outside of a body.
    solid : Solid or None
        Of a shape of a contact, in its axes.
    """

    name: str
    symbol: str
    end: Attachment
    axes: Array
    size: tuple[float, float] = (0.0, 0.0)
    span: tuple[float, float] = (0.0, 0.0)
    outline: Array | None = None
    lift: float = 0.0
    solid: Solid | None = None


@dataclass(frozen=True, eq=False)
class CurveFigure:
    """Curve (k, 3) m in the frame of an attachment."""

    name: str
    end: Attachment
    points: Array


@dataclass(frozen=True, eq=False)
class ArrowFigure:
    """Load on a marker, ``"force"`` or ``"moment"``, by time laws, in axes of the world or of its marker."""

    name: str
    kind: str
    end: Attachment
    laws: tuple[Any, ...]
    turning: bool

    def vector(self, t: float) -> Array:
        """Return the load (3,) at a time, in axes of the world, or of its body if it turns with the body."""
        local = np.array([law(t)[0] for law in self.laws], dtype=float)
        return self.end.marker.rotation @ local if self.turning else local

    def seen(self, placement: Placement) -> Array:
        """Return the load (3,) at the time of a placement, in axes of the world."""
        vector = self.vector(placement.t)
        return placement.rotation[self.end.number] @ vector if self.turning else vector
