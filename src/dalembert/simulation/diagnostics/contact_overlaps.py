"""Contacts that overlap where a run begins."""

from __future__ import annotations

from ...connections.elements.contacts import CONTACTS, contact_depth
from ...errors import listed
from ...model import Conditions, State

__all__ = ["overlap_notes"]

_SHOWN = 4  # contacts that a note names
_DEPTH = 1e-12  # m: less is rounding


def overlap_notes(conditions: Conditions, state: State) -> list[str]:
    """Return a note if compliant contacts overlap at the start, with their depths in m."""
    model = conditions.model
    contacts = {name: c.element for name, c in model.system.forces.items() if isinstance(c.element, CONTACTS)}
    if not contacts:
        return []
    report = model.report(["energies"], state.t, state.q, state.v, state.x, conditions=conditions)
    energies, rows = report["energies"], model.compiled.elements.places
    depths = [(contact_depth(element, float(energies[rows[name].row])), name) for name, element in contacts.items()]
    deep = sorted((pair for pair in depths if pair[0] > _DEPTH), reverse=True)
    if not deep:
        return []
    shown = listed((f"{name!r} by {depth:.3g} m" for depth, name in deep), _SHOWN, str)
    return [f"contacts overlap at the start, and push from there on: {shown}"]
