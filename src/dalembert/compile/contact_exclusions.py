"""Pairs of bodies that do not touch: fixed to each other, joined by a joint, or left out by the user or a model file.

Bodies that `Fixed` joints connect form one rigid group. Groups are neighbours if a joint connects them, other than a
free one; bodies with neither mass nor shape between two groups, as in chains of joints, do not separate them. Ground
has no neighbours: a pendulum may touch the floor below its joint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from ..arrays import IndexArray
from ..bodies.convex_hulls import geometry_of
from ..connections.joints import Fixed, Free, Joint
from ..system.lookup import GROUND
from ..system.topology import Forest

__all__ = ["excluded_pairs"]

MAX_NAMED_PAIRS = 4  # in a note


def excluded_pairs(forest: Forest, sides: Sequence[tuple[IndexArray, IndexArray]]) -> tuple[IndexArray, list[str]]:
    """Return rows (contact, body, body) of pairs that do not touch, (k, 3), and notes.

    Parameters
    ----------
    forest : Forest
    sides : pairs of arrays of int
        Numbers of the bodies of both sides of each contact.
    """
    system, number = forest.system, forest.number
    groups = _RigidGroups(forest)
    adjacent = groups.neighbours()
    rows: list[tuple[int, int, int]] = []
    notes: list[str] = []
    for c, (contact, (one, two)) in enumerate(zip(system.contacts.values(), sides, strict=True)):
        first, second = set(one.tolist()), set(two.tolist())
        members: dict[int, list[int]] = {}
        for body in sorted(first | second):
            members.setdefault(groups.of[body], []).append(body)
        pairs = {pair for bodies in members.values() for pair in combinations(bodies, 2)}
        if not contact.neighbours:
            joined = {
                (min(i, j), max(i, j))
                for a, b in adjacent
                for i in members.get(a, ())
                for j in members.get(b, ())
                if (i in first and j in second) or (j in first and i in second)
            }
            if joined and not contact.has_all_bodies:
                names = [f"{forest.bodies[i]} and {forest.bodies[j]}" for i, j in sorted(joined)[:MAX_NAMED_PAIRS]]
                more = f" and {len(joined) - len(names)} more" if len(joined) > len(names) else ""
                listed = ", ".join(names) + more
                rule = "joined bodies do not touch without neighbours=True"
                notes.append(f"contact {contact.name!r}: {rule}: {listed}")
            pairs |= joined
        named = [*contact.without, *(system.untouched if contact.has_all_bodies else ())]
        pairs |= {(min(number[a], number[b]), max(number[a], number[b])) for a, b in named}
        rows += [(c, i, j) for i, j in sorted(pairs)]
    return np.array(rows, dtype=np.int64).reshape(-1, 3), notes


class _RigidGroups:
    """Groups of bodies that do not move relative to each other; `of` has the group of each body by its number."""

    def __init__(self, forest: Forest) -> None:
        self.forest = forest
        self.of = list(range(forest.nb + 1))
        for joint, i, j in self._joints():
            if isinstance(joint, Fixed):
                a, b = self.of[i], self.of[j]
                self.of = [min(a, b) if group in (a, b) else group for group in self.of]

    def _joints(self) -> Iterator[tuple[Joint, int, int]]:
        number = self.forest.number
        for connection in self.forest.system.connections.values():
            if isinstance(connection.element, Joint):
                yield connection.element, number[connection.first.body.name], number[connection.second.body.name]

    def neighbours(self) -> set[tuple[int, int]]:
        """Return pairs of groups joined by a joint, directly or across groups with neither mass nor shape."""
        ground = self.of[self.forest.number[GROUND]]
        adjacent: dict[int, set[int]] = {}
        for joint, i, j in self._joints():
            a, b = self.of[i], self.of[j]
            if a != b and ground not in (a, b) and not isinstance(joint, Free):
                adjacent.setdefault(a, set()).add(b)
                adjacent.setdefault(b, set()).add(a)
        bodies = self.forest.system.bodies
        bare = set(self.of)
        for name, body in bodies.items():
            if body.mass or geometry_of(body):
                bare.discard(self.of[self.forest.number[name]])
        found = set()
        for start in set(adjacent) - bare:
            seen, stack = {start}, [start]
            while stack:
                for group in adjacent[stack.pop()] - seen:
                    seen.add(group)
                    if group in bare:
                        stack.append(group)
                    else:
                        found.add((min(start, group), max(start, group)))
        return found
