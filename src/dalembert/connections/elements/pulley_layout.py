"""Path of a rope over pulleys at given positions: lengths, angles of contact, faults by name."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...arrays import Array
from .pulley_formulas import MARGIN, Node

__all__ = ["Layout", "layout_of"]


class Layout(NamedTuple):
    """Path of a rope.

    Attributes
    ----------
    length : float, m
        With all arcs.
    tangents : (n, 2, 2) m
        Ends of the spans in the plane.
    fault : str
        Why there is no path; empty if there is one.
    """

    length: float
    tangents: Array
    fault: str


def layout_of(
    nodes: Sequence[Node], closed: bool, positions: Array, radii: Mapping[str, float] | None = None
) -> Layout:
    """Return the path over parts at positions (n, 2) or (n, 3) m.

    Parameters
    ----------
    nodes : sequence of Node
    closed : bool
    positions : (n, 2) or (n, 3) m
    radii : dict of str to float
        That differ from those of the nodes, by parameter.
    """
    places = np.column_stack([positions, np.zeros((len(positions), 3 - positions.shape[1]))])
    size = [(radii or {}).get(f"radius{node.number}", node.radius) for node in nodes]
    pairs = list(itertools.pairwise(range(len(nodes)))) + ([(len(nodes) - 1, 0)] if closed else [])
    tangents, ways, total = [], [], 0.0
    for i, j in pairs:
        fault = _overlap(nodes[i], nodes[j], places[[i, j]], size[i], size[j])
        if fault:
            return Layout(math.nan, np.zeros((0, 2, 2)), fault)
        d, r1, r2 = (places[j] - places[i])[:2], nodes[i].side * size[i], nodes[j].side * size[j]
        rho, square = r2 - r1, float(d @ d)
        flat = math.sqrt(square - rho * rho)
        across = np.array([-d[1], d[0]])
        e = (flat * d - rho * across) / square if square else np.zeros(2)
        m = np.array([-e[1], e[0]])
        tangents.append([places[i, :2] - r1 * m, places[j, :2] - r2 * m])
        ways.append(e)
        total += math.hypot(flat, places[j, 2] - places[i, 2])
    for k, (_, j) in enumerate(pairs[: None if closed else -1]):
        if nodes[j].side:
            e, f = ways[k], ways[(k + 1) % len(ways)]
            raw = nodes[j].side * math.atan2(e[0] * f[1] - e[1] * f[0], float(e @ f))
            total += size[j] * (nodes[j].least + (raw - nodes[j].least) % (2 * math.pi)) * nodes[j].arc_ratio
    return Layout(total, np.array(tangents), "")


def _overlap(one: Node, two: Node, places: Array, r1: float, r2: float) -> str:
    """Return the fault of two neighbours between which there is no tangent."""
    away = math.hypot(*(places[1] - places[0])[:2])
    beside = abs(places[1, 2] - places[0, 2]) > 0.0 and one.side == two.side
    least = abs(r1 - r2) if beside else r1 + r2
    if away > MARGIN * least or (not one.side and not two.side and np.ptp(places, axis=0).any()):
        return ""
    names = " and ".join(f"{node.number} ({node.label})" for node in (one, two))
    return f"parts {names} overlap: their centers are {away:.6g} m apart, they need more than {least:.6g} m"
