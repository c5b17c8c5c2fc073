"""Attachments of figures: markers by the frames that carry them, and midpoints of several."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Array
from ...bodies.markers import Marker
from ...model import Model
from .projection import Placement, node_frames
from .solids import of_body

__all__ = ["Attachment", "AttachmentMidpoint", "anchor"]


@dataclass(frozen=True, eq=False)
class Attachment:
    """Marker with the number of its body and the frame that carries the figure.

    That frame is the body's own or, on a flexible body, that of the nearest node; `offset` (3,) m: position in it.
    """

    number: int
    marker: Marker
    frame: int
    offset: Array

    @classmethod
    def of(cls, model: Model, marker: Marker) -> Attachment:
        """Return the attachment at a marker of a model."""
        name = marker.body.name
        number = model.forest.number[name]
        flexible = marker.body.flexible
        if flexible is None or (marker.shape is not None and not marker.shape.any()):
            return cls(number, marker, number, marker.position)
        nearest = int(np.linalg.norm(flexible.nodes - marker.position, axis=1).argmin())
        return cls(number, marker, node_frames(model)[name] + nearest, marker.position - flexible.nodes[nearest])

    @property
    def markers(self) -> tuple[Marker, ...]:
        """The marker alone: see `AttachmentMidpoint`."""
        return (self.marker,)

    def point(self, placement: Placement) -> Array:
        """Return the position in the world, (3,) m."""
        return placement.marker(self.number, self.marker)[1]

    def direction(self, placement: Placement, local: Array) -> Array:
        """Return a direction (3,), given in marker axes, in the world."""
        return placement.marker(self.number, self.marker)[0] @ local


@dataclass(frozen=True, eq=False)
class AttachmentMidpoint:
    """Midpoint of several attachments, for figures without a marker."""

    ends: tuple[Attachment, ...]
    number: int = -1

    @property
    def markers(self) -> tuple[Marker, ...]:
        """The attachments around it."""
        return tuple(end.marker for end in self.ends)

    def point(self, placement: Placement) -> Array:
        """Return the position in the world, (3,) m."""
        return np.asarray(np.mean([end.point(placement) for end in self.ends], axis=0))


def anchor(first: Marker, second: Marker, axis: Array, rest: float) -> Marker:
    """Return the marker from which a spring at a sliding joint is drawn to its second marker.

    That is the first one, unless the two are together where the spring is relaxed: then the spring begins as far behind
    the body that slides as that is long, or it would vanish where it rests.

    Parameters
    ----------
    axis : (3,)
        Of the joint, in axes of either marker.
    rest : float, m
        Position at which the spring is relaxed.
    """
    along = second.rotation @ axis
    solids = () if second.body.name == "ground" else of_body(second.body, around=8)
    travel = [(solid.corners - second.position) @ along for solid in solids]
    if not travel:
        return first
    behind, ahead = min(float(t.min()) for t in travel), max(float(t.max()) for t in travel)
    length = ahead - behind
    if abs(rest) > max(-behind, 0.0) + 0.3 * length:
        return first
    back = length + max(-behind, 0.0)
    return replace(first, position=first.position - back * (first.rotation @ axis), label=None)
