"""Figures of contacts: planes, height fields and other shapes that contacts place, and those of the ground."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...bodies.markers import Marker
from ...bodies.visuals import Visual, visual_of_shape
from ...connections.contacts import PlacedShape
from ...system import System
from . import solids
from .figure_builder import FigureBuilder
from .figures import PatchFigure

__all__ = ["add_contact_shapes"]


def add_contact_shapes(sketch: FigureBuilder, system: System) -> None:
    """Add the shapes of contacts that are no parts of bodies."""
    for contact in system.contacts.values():
        for member in dict.fromkeys((*contact.first, *contact.second)):
            if isinstance(member, PlacedShape) and (look := visual_of_shape(member.shape)) is not None:
                _add(sketch, contact.name, look, member.marker)
    for look in system.ground.visuals:
        at = system.ground.at(*look.position, rotation=look.rotation)
        _add(sketch, look.name or system.ground.name, replace(look, position=0 * look.position, rotation=np.eye(3)), at)


def _add(sketch: FigureBuilder, name: str, look: Visual, marker: Marker) -> None:
    if look.kind == "plane":
        sketch.patch(name, "plane", marker)
        return
    symbol = "land" if look.kind == "height field" else "obstacle"
    for solid in solids.of_look(look):
        sketch.patches.append(PatchFigure(name, symbol, sketch.end(marker), marker.rotation, solid=solid))
