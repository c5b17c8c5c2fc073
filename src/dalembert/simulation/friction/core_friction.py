"""Friction and stops determined by the core: tables of rows and modes for it, and the changes that it reports.

The core locates and makes changes of modes itself while rows have scalar friction that depends on no load, laws have no
discontinuities, and dependent rows depend on one locked row each. `FrictionState` determines the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model import Conditions, State
from .friction import FrictionState
from .holding_margin import HoldingLimits
from .load_limits import with_modes
from .messages import Change, StopImpact, describe_change
from .modes import Modes

__all__ = ["CoreChange", "friction_table", "is_decided_in_core", "passed_events", "take_change"]

Array = NDArray[np.float64]

SWITCH_KINDS = ("rest", "lower", "upper")  # numbers of the core


def is_decided_in_core(friction: FrictionState) -> bool:
    """Return whether the core determines changes of the present modes."""
    rows = friction.rows
    scalar = rows.has_scalar_friction.all() and not rows.has_load_friction.any() and not friction.model.switching_functions
    separate = friction.holding is None or friction.holding.is_separate
    return bool(scalar) and separate and not np.isfinite(friction.next_review)


def friction_table(friction: FrictionState, max_step: float, stuck_step: float) -> dict[str, Any]:
    """Return rows and modes for `Integrator.set_friction`.

    Parameters
    ----------
    max_step, stuck_step : float, s
        Longest step; longest step while a row sticks.
    """
    rows, modes, holding = friction.rows, friction.modes, friction.holding
    n = len(rows)
    system = friction.model.system
    mass = sum(body.mass for body in system.bodies.values())
    none = np.zeros(n, dtype=bool)
    below, above = (none, none) if holding is None else (holding.unbounded_below, holding.unbounded_above)
    integers = {
        "indices": np.column_stack([rows.indices, rows.coordinates, rows.friction, rows.mode]),
        "switches": np.array([(SWITCH_KINDS.index(kind), k) for kind, k in friction.watched_rows]).reshape(-1, 2),
        "stuck": modes.stuck,
        "immobile": modes.immobile,
        "locked": modes.locked,
        "dependent": [] if holding is None else holding.dependent,
        "unbounded_below": below,
        "unbounded_above": above,
    }
    numbers = {
        "numbers": np.column_stack(
            [
                rows.sliding_friction,
                rows.static_friction,
                rows.lower,
                rows.upper,
                rows.restitution,
                friction.rest_tol,
            ]
        ),
        "sign": modes.sign,
        "side": modes.side,
        "coupling": np.zeros(0) if holding is None else holding.coupling,
        "scale": np.zeros(n) if holding is None else holding.scale,
        "change_times": friction.recent_times,
    }
    return {
        **{name: np.ascontiguousarray(part, dtype=np.int64) for name, part in integers.items()},
        **{name: np.ascontiguousarray(part, dtype=float) for name, part in numbers.items()},
        "position_tol": friction.position_tol,
        "span": friction.span,
        "weight": float(np.linalg.norm(system.gravity) * np.sqrt(mass)),
        "max_step": max_step,
        "stuck_step": stuck_step,
        "rest_tol_factor": friction.rest_tol_factor,
    }


def passed_events(friction: FrictionState, passed: list[int]) -> list[int]:
    """Return the internal events of switching functions of the core."""
    watched = len(friction.watched_rows)
    return [k if k < watched else len(friction.events) - 1 for k in passed]


class CoreChange:
    """A change of modes made by the core.

    Attributes
    ----------
    t : float, s
    before, after : State
    conditions : Conditions
        After the change.
    change : Change
    """

    def __init__(self, friction: FrictionState, found: dict[str, Any], conditions: Conditions) -> None:
        nq, nv = friction.model.nq, friction.model.nv
        self.t = float(found["t"])
        self.before, self.after = (
            State(q=part[:nq], v=part[nq : nq + nv], x=part[nq + nv :], t=self.t)
            for part in (found["before"], found["after"])
        )
        self.change = Change(
            impacts=[StopImpact(*impact) for impact in found["impacts"]],
            velocities_jumped=bool(found["velocities_jumped"]),
        )
        self.conditions = conditions


def take_change(friction: FrictionState, found: dict[str, Any], conditions: Conditions) -> CoreChange:
    """Set the modes after a change of the core, and return it.

    Parameters
    ----------
    found : dict
        From `Integrator.take_changes`.
    conditions : Conditions
        Before the change.
    """
    rows, before = friction.rows, friction.modes
    movable = friction.movable(conditions)
    base = friction.release(conditions)
    modes = Modes(
        found["sign"],
        found["stuck"].astype(bool),
        found["locked"].astype(int).tolist(),
        found["side"],
        found["immobile"].astype(bool),
    )
    holding = None
    if modes.locked:
        below, above = (found[name].astype(bool) for name in ("unbounded_below", "unbounded_above"))
        coupling = found["coupling"].reshape(len(modes.locked), -1)
        dependent = found["dependent"].astype(int).tolist()
        holding = HoldingLimits(modes.locked, dependent, below, above, coupling, found["scale"], [])
    made = CoreChange(friction, found, with_modes(rows, base, modes, movable, friction.rest_tol))
    friction.set_modes(before, modes, holding, made.t, [impact.row for impact in made.change.impacts])
    describe_change(rows, before, modes, made.change)
    friction.note_unloaded([rows.names[int(k)] for k in found["unloaded"]])
    return made
