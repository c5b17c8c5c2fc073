"""Hinges as rows of plain moves, as files of robots have them: turns about axes, slides along axes.

Walked outward from the first end, a hinge is the product of its moves; from its second end, the product of their
inverses in the opposite order, which are the same moves about and along opposite axes:

    (J_1 J_2 ... J_n)^-1 = J_n^-1 ... J_1^-1,    exp(a q)^-1 = exp(-a q)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..connections.connection import Connection
from ..connections.joints import (
    Cylindrical,
    Fixed,
    Free,
    Hinge,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from ..system import System
from ..system.topology import TreeHinge

__all__ = ["Move", "moves_of", "outward_hinges"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Move:
    """A turn or slide by one coordinate, or a ball or free joint.

    Attributes
    ----------
    kind : str
        ``"turn"``, ``"slide"``, ``"ball"`` or ``"free"``.
    axis : (3,)
        In axes of the marker.
    label : str
        Name of the coordinate; empty where the hinge has one only.
    number : int
        Of the speed among those of the hinge; the first, for a ball.
    pitch : float
        What the slide of a screw advances with a radian of the turn before it, m; zero of others.
    """

    kind: str
    axis: Array
    label: str = ""
    number: int = 0
    pitch: float = 0.0


def moves_of(hinge: Hinge, *, backward: bool = False) -> list[Move] | None:
    """Return the moves of a hinge from its inboard end, or `backward` from its second; None if it has no such form."""
    moves = _forward(hinge)
    if moves is None or not backward:
        return moves
    return [replace(move, axis=-move.axis) for move in reversed(moves)]


def _forward(hinge: Hinge) -> list[Move] | None:
    zero = np.zeros(3)
    if isinstance(hinge, Fixed):
        return []
    if isinstance(hinge, Revolute):
        return [Move("turn", hinge.axis)]
    if isinstance(hinge, Prismatic):
        return [Move("slide", hinge.axis)]
    if isinstance(hinge, Spherical):
        return [Move("ball", zero)]
    if isinstance(hinge, Free):
        return [Move("free", zero)]
    if isinstance(hinge, Screw):
        return [Move("turn", hinge.axis), Move("slide", hinge.axis, "advance", -1, hinge.parameter)]
    if isinstance(hinge, Cylindrical):
        kinds = {"angle": "turn", "slide": "slide"}
        return [Move(kinds[label], hinge.axis, label, k) for k, label in enumerate(hinge.speeds)]
    if isinstance(hinge, Universal):
        return [Move("turn", axis, f"angle_{k + 1}", k) for k, axis in enumerate((hinge.axis_1, hinge.axis_2))]
    if isinstance(hinge, Planar):
        x, y, _ = hinge.frame().T
        return [Move("slide", x, "x", 0), Move("slide", y, "y", 1), Move("turn", hinge.normal, "angle", 2)]
    return None


def outward_hinges(system: System, cut_first: Callable[[Hinge], bool]) -> tuple[list[TreeHinge], list[Connection]]:
    """Return the hinges of spanning trees, parents before children, and the connections that are left over.

    Parameters
    ----------
    system : System
    cut_first : function of a hinge
        Whether a format can say of a hinge that it closes a loop; such hinges are cut before others.
    """
    hinges = [c for c in system.connections.values() if isinstance(c.element, Hinge)]
    hinges.sort(key=lambda c: isinstance(c.element, Hinge) and cut_first(c.element))  # the others first
    root = {name: name for name in (system.ground.name, *system.bodies)}

    def top(name: str) -> str:
        while root[name] != name:
            root[name] = root[root[name]]
            name = root[name]
        return name

    kept: set[str] = set()
    for c in hinges:
        a, b = top(c.first.body.name), top(c.second.body.name)
        if a != b:
            root[a] = b
            kept.add(c.name)
    branches = [c for c in system.connections.values() if c.name in kept]
    chords = [c for c in system.connections.values() if c.name not in kept]
    return _walked(system, branches), chords


def _walked(system: System, branches: list[Connection]) -> list[TreeHinge]:
    ends: dict[str, list[TreeHinge]] = {name: [] for name in (system.ground.name, *system.bodies)}
    for c in branches:
        assert isinstance(c.element, Hinge)
        ends[c.first.body.name].append(TreeHinge(c.name, c.element, c.first, c.second, False, c))
        ends[c.second.body.name].append(TreeHinge(c.name, c.element, c.second, c.first, True, c))
    seen = {system.ground.name}
    found: list[TreeHinge] = []
    for start in (system.ground.name, *system.bodies):
        if start not in seen:  # what floats, floats freely
            body = system.bodies[start]
            found.append(TreeHinge(f"{start}.free", Free(), system.ground.origin, body.origin, False))
            seen.add(start)
        elif start != system.ground.name:
            continue
        waiting = [start]
        while waiting:
            for hinge in ends[waiting.pop()]:
                name = hinge.outboard.body.name
                if name not in seen:
                    seen.add(name)
                    found.append(hinge)
                    waiting.append(name)
    return found
