"""Largest and smallest distance between the ends of a kinematic chain.

Joints that rotate about the first centre A, or about the last one B, do not change the distance of A and B. If all
those between them are parallel pins, with links d_k across their axis from one to the next and h along it in all, then

    |AB|^2 = h^2 + s^2,     s between max(0, 2 max d_k - sum d_k) and sum d_k                                        (1)

and at both ends of this range the chain is stretched or folded: its joints no longer move along AB.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array
from ..joints import Joint, Revolute, Spherical, Universal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..connection import Connection
    from .chains import KinematicChain

__all__ = ["ChainReach", "is_chain_limit", "reach_of"]


COINCIDENCE_TOL = 1e-9  # of the length of the chain: centres closer than this coincide; likewise axes
STRETCH_MARGIN = (
    1e-6  # of the reach: margin before its end at which a chain counts as stretched, where its equations are regular
)


@dataclass(frozen=True, eq=False)
class ChainReach:
    """Range of the distance of two points of a chain.

    Attributes
    ----------
    first, second : (3,) m
        Points, in axes of the first and of the second marker.
    least, most : float, m
        Upper and lower bound of the distance, with a small margin; `least` is 0 if the points can meet.
    """

    first: Array
    second: Array
    least: float
    most: float


def is_chain_limit(connection: Connection, connections: Mapping[str, Connection]) -> bool:
    """Return whether a connection is a rope that limits a chain at its stretched or folded position."""
    chain, _, ending = connection.name.rpartition(".")
    return ending in ("reach", "fold") and chain in connections and connections[chain].element.kind == "KinematicChain"


def reach_of(chain: KinematicChain) -> ChainReach | None:
    """Return the distance range of a chain, by (1); None if (1) does not apply."""
    joints: list[tuple[Joint, Array, Array]] = []  # each with its position and axes at zero coordinates
    R, p = np.eye(3), np.zeros(3)
    for part in chain.parts:
        if isinstance(part, Joint):
            if type(part) not in (Revolute, Spherical, Universal):
                return None
            joints.append((part, p.copy(), R.copy()))
            C, c = part.pose(part.zero)
        else:
            C, c = part.rotation, part.position
        R, p = R @ C, p + R @ c
    size = COINCIDENCE_TOL * chain.length
    centres = [place for _, place, _ in joints]
    first, last = 0, len(joints) - 1
    while first < last and np.linalg.norm(centres[first + 1] - centres[0]) < size:
        first += 1
    while last > first and np.linalg.norm(centres[last - 1] - centres[-1]) < size:
        last -= 1
    knees = joints[first + 1 : last]
    if not knees or any(not isinstance(joint, Revolute) for joint, _, _ in knees):
        return None
    axes = [turned @ joint.axis for joint, _, turned in knees if isinstance(joint, Revolute)]
    if any(np.linalg.norm(np.cross(axis, axes[0])) > COINCIDENCE_TOL for axis in axes):
        return None
    links = np.diff([centres[0], *(place for _, place, _ in knees), centres[-1]], axis=0)
    along = links @ axes[0]
    across = np.linalg.norm(links - np.outer(along, axes[0]), axis=1)
    across = across[across > size]
    if len(across) < 2:
        return None
    whole, gap = float(across.sum()), max(0.0, 2.0 * float(across.max()) - float(across.sum()))
    h = float(along.sum())
    least = math.hypot(h, gap * (1.0 + STRETCH_MARGIN)) if gap > size else 0.0
    return ChainReach(centres[0], R.T @ (centres[-1] - p), least, math.hypot(h, whole * (1.0 - STRETCH_MARGIN)))
