"""How dry friction and stops of joints are to act in a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ModelError
from ...model import Conditions
from .friction import FrictionState
from .rows import FrictionRows, friction_rows

__all__ = ["make_friction_state"]


def make_friction_state(
    conditions: Conditions, friction: str, stops: str, *, atol: float, span: float
) -> tuple[Conditions, FrictionState | None]:
    """Return conditions with friction as asked for, and what minds its changes, if there is anything to mind.

    Parameters
    ----------
    conditions : Conditions
    friction : str
        ``"events"``, ``"smooth"``, ``"smooth:0.01"`` with a slip speed, or ``"off"``.
    stops : str
        ``"rigid"``, or ``"off"``.
    atol : float
        Tolerance of positions and speeds.
    span : float, s
        How long the run lasts.
    """
    model = conditions.model
    rows = friction_rows(model)
    kind, _, slip = friction.partition(":") if isinstance(friction, str) else ("", "", "")
    if kind not in ("events", "smooth", "off") or (slip and kind != "smooth"):
        raise ModelError("simulate", "friction", friction, "use 'events', 'smooth', 'smooth:<slip speed>' or 'off'")
    if stops not in ("rigid", "soft", "off"):
        raise ModelError("simulate", "stops", stops, "use 'rigid', 'soft' or 'off'")
    if not len(rows):
        return conditions, None
    parameters = conditions.parameters.copy()
    if kind == "smooth":
        parameters[rows.slip[rows.rubs]] = _slip_speed(slip)
    elif kind == "off":
        parameters[rows.friction[rows.rubs]] = 0.0
        parameters[rows.coefficient[rows.rubs]] = 0.0
    rubs = bool(rows.rubs.any())
    rows = _chosen(rows, friction=kind == "events", stops=stops == "rigid")
    conditions = conditions.changed(parameters=parameters) if kind != "events" and rubs else conditions
    return conditions, FrictionState(rows, atol, span) if len(rows) else None


def _slip_speed(text: str) -> float:
    try:
        slip = float(text) if text else 1e-3
    except ValueError:
        slip = np.nan
    if not 0.0 < slip < np.inf:
        raise ModelError("simulate", "friction", f"smooth:{text}", "give a slip speed, rad/s or m/s: 'smooth:0.001'")
    return slip


def _chosen(rows: FrictionRows, *, friction: bool, stops: bool) -> FrictionRows:
    """Return the rows with what acts by changes: friction, stops, or both."""
    kept = np.zeros(len(rows), dtype=bool)
    kept |= friction & rows.rubs
    kept |= stops & (np.isfinite(rows.lower) | np.isfinite(rows.upper))
    some = np.flatnonzero(kept)
    changes: dict[str, Any] = {}
    if not friction:
        changes |= {name: np.full(len(some), -1) for name in ("friction", "mode", "coefficient", "slip", "load")}
    if not stops:
        changes |= {"lower": np.full(len(some), -np.inf), "upper": np.full(len(some), np.inf)}
    return rows.chosen(some, **changes)
