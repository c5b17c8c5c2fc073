"""Ungrounded parts of a system: detection of a missing connection to ground."""

from __future__ import annotations

from ..errors import listed
from ..system import System
from ..system.topology import Graph

__all__ = ["find_ungrounded_parts"]


def find_ungrounded_parts(system: System) -> list[str]:
    """Return messages on parts of a system that fall freely without being declared free.

    Such a part has no joint, constraint, contact or force element to anything else, and no placement (`System.place`)
    or load of its own, under gravity. Declare a flying body by `Free` to ground, or place it.
    """
    if not system.gravity.any():
        return []
    return [_message(part) for part in Graph.of(system).parts()[1:] if not _is_intended(system, set(part))]


def _is_intended(system: System, part: set[str]) -> bool:
    """Return True if a force acts on a part, or its start is given."""
    if part & set(system.placements):
        return True
    ends = [{c.first.body.name, c.second.body.name} for c in system.connections.values()]
    ends += [{marker.body.name for marker in force.ends} for force in system.forces.values()]
    if any(contact.has_all_bodies for contact in system.contacts.values()):
        return True
    ends += [contact.body_names for contact in system.contacts.values()]
    # a spring within the part does not support it; a load on one body is intended
    return any(bodies & part and (len(bodies) == 1 or bodies - part) for bodies in ends)


def _message(part: list[str]) -> str:
    verb, s = ("is", "s") if len(part) == 1 else ("are", "")
    return (
        f"{listed(part, 6)} {verb} not connected to ground by anything and fall{s} freely; if that is intended, "
        f"declare it: system.connect(..., da.Free(), system.ground, {part[0]!r}), or system.place({part[0]!r}, ...)"
    )
