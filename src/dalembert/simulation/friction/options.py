"""Friction and stop options of a run: by events, smooth, or off."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...checks import one_of
from ...errors import ModelError
from ...model import Conditions
from ..options import Options
from .friction import FrictionState
from .rows import FrictionRows, friction_rows

__all__ = ["make_friction_state"]


def make_friction_state(
    conditions: Conditions, friction: str, stops: str, options: Options, *, span: float, beside_contact: bool = False
) -> tuple[Conditions, FrictionState | None]:
    """Return conditions with the chosen friction, and the friction state of the run if any row has stick or stops.

    Parameters
    ----------
    conditions : Conditions
    friction : str
        ``"events"``, ``"smooth"``, ``"smooth:0.01"`` with a slip speed, or ``"off"``.
    stops : str
        ``"rigid"``, or ``"off"``.
    options : Options
        With the tolerance of positions and velocities.
    span : float, s
        Length of the run.
    beside_contact : bool
        Whether friction ``"events"`` and stops are rows of rigid contact: laws of friction have no effort.
    """
    model = conditions.model
    rows = friction_rows(model)
    kind, _, slip = friction.partition(":") if isinstance(friction, str) else ("", "", "")
    if kind not in ("events", "smooth", "off") or (slip and kind != "smooth"):
        raise ModelError("simulate", "friction", friction, "use 'events', 'smooth', 'smooth:<slip speed>' or 'off'")
    one_of("simulate", "stops", stops, ("rigid", "soft", "off"))
    if not rows.names:
        return conditions, None
    parameters = conditions.parameters.copy()
    if kind == "smooth":
        parameters[rows.slip[rows.has_friction]] = _slip_speed(slip)
    elif kind == "off":
        parameters[rows.friction[rows.has_friction]] = 0.0
        parameters[rows.coefficient[rows.has_friction]] = 0.0
    elif beside_contact:
        parameters[rows.mode[rows.has_friction]] = 0.0
    any_friction = bool(rows.has_friction.any())
    by_events = not beside_contact
    rows = _chosen(rows, friction=kind == "events" and by_events, stops=stops == "rigid" and by_events)
    changed = any_friction and (kind != "events" or beside_contact)
    conditions = conditions.changed(parameters=parameters) if changed else conditions
    return conditions, FrictionState(rows, options.smallest_atol, span) if len(rows) else None


def _slip_speed(text: str) -> float:
    try:
        slip = float(text) if text else 1e-3
    except ValueError:
        slip = np.nan
    if not 0.0 < slip < np.inf:
        raise ModelError("simulate", "friction", f"smooth:{text}", "give a slip speed, rad/s or m/s: 'smooth:0.001'")
    return slip


def _chosen(rows: FrictionRows, *, friction: bool, stops: bool) -> FrictionRows:
    """Return the rows that act by events: with friction, with stops, or both."""
    kept = np.zeros(len(rows), dtype=bool)
    kept |= friction & rows.has_friction
    kept |= stops & (np.isfinite(rows.lower) | np.isfinite(rows.upper))
    some = np.flatnonzero(kept)
    changes: dict[str, Any] = {}
    if not friction:
        changes |= {name: np.full(len(some), -1) for name in ("friction", "mode", "coefficient", "slip", "load")}
    if not stops:
        changes |= {"lower": np.full(len(some), -np.inf), "upper": np.full(len(some), np.inf)}
    return rows.select(some, **changes)
