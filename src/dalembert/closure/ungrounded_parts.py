"""Parts of a system that nothing holds: meant, or a connection to ground that was forgotten."""

from __future__ import annotations

from ..errors import listed
from ..system import System
from ..system.topology import Graph

__all__ = ["find_ungrounded_parts"]


def find_ungrounded_parts(system: System) -> list[str]:
    """Say which parts of a system fall freely though nobody said so.

    Such a part has no joint, constraint or force element between it and anything else, and no place
    (`System.place`) or load of its own, under gravity. A body that is to fly is connected to ground by `Free`, or
    placed.
    """
    if not system.gravity.any():
        return []
    return [_message(part) for part in Graph.of(system).parts()[1:] if not _is_intended(system, set(part))]


def _is_intended(system: System, part: set[str]) -> bool:
    """Return whether something else than joints acts on a part, or someone said where it starts."""
    if part & set(system.places):
        return True
    ends = [{c.first.body.name, c.second.body.name} for c in system.connections.values()]
    ends += [{marker.body.name for marker in force.ends} for force in system.forces.values()]
    # a spring within the part holds nothing; a load on one body does
    return any(bodies & part and (len(bodies) == 1 or bodies - part) for bodies in ends)


def _message(part: list[str]) -> str:
    verb, s = ("is", "s") if len(part) == 1 else ("are", "")
    return (
        f"{listed(part, 6)} {verb} not connected to ground by anything and fall{s} freely; if that is "
        f"meant, say so: system.connect(..., da.Free(), system.ground, {part[0]!r}), or system.place({part[0]!r}, ...)"
    )
