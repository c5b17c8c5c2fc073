"""Soft stops: limits of joints as springs and dampers."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...closure.starts.named_start_values import named_count
from ...connections.constraints.chain_reach import is_chain_limit
from ...connections.elements.built_in import Limits
from ...errors import ModelError
from ...model import Model, State, as_model
from ..start import start_state
from .rows import Response, friction_rows

__all__ = ["with_soft_stops"]

CONTACT_TIME = 0.01  # s: half a period of the inertia on the spring of the stop
MIN_RESTITUTION = 0.01  # of a soft stop: less needs unlimited damping


def with_soft_stops(model: Model, state: State | Mapping[str, Any] | None, t: float) -> Model:
    """Return the model with a `Limits` named ``"A.stop"`` at every coordinate that has a limit.

    Its stiffness is m (pi / 0.01 s)^2, with m the inertia of the coordinate at the start, loops included. Its damping
    follows from the restitution of the joint.
    """
    rows = friction_rows(model)
    limited = np.flatnonzero(np.isfinite(rows.lower) | np.isfinite(rows.upper))
    ties = [is_chain_limit(owner, model.system.connections) for owner in rows.owners()]
    limited = limited[~np.array(ties, dtype=bool)[limited]]
    ropes = [rows.names[k] for k in limited if rows.names[k] in model.compiled.names.ropes]
    if ropes:
        remedy = "ropes have rigid stops only; for a soft one use a SpringDamper with a law that never pushes"
        raise ModelError("simulate", "stops", f"soft, with ropes {', '.join(ropes)}", remedy)
    if not len(limited):
        return model
    many = np.ndim(state.q) == 2 if isinstance(state, State) else bool(state and named_count(model, state) is not None)
    start = start_state(model, None if many else state, t)
    conditions = model.conditions()
    response = Response(rows, conditions, start.q, t, conditions.acceleration_prescribed)
    system = copy.deepcopy(model.system)
    for k in limited:
        yields = float(response.A[k, k])
        mass = 1.0 / yields if yields > 0 else 1.0
        ratio = _damping_ratio(float(rows.restitution[k]))
        stiffness = mass * (np.pi / CONTACT_TIME) ** 2
        stop = Limits(
            float(rows.lower[k]),
            float(rows.upper[k]),
            stiffness=stiffness,
            damping=2.0 * ratio * float(np.sqrt(stiffness * mass)),
        )
        system.connect(f"{rows.names[k]}.stop", stop, rows.names[k])
    return as_model(system)


def _damping_ratio(restitution: float) -> float:
    """Return the damping ratio of a spring that never pulls, for a restitution of at least 0.01."""
    from scipy.optimize import brentq

    target = min(max(restitution, MIN_RESTITUTION), 1.0)
    return 0.0 if target == 1.0 else float(brentq(lambda z: _restitution(z) - target, 0.0, 10.0))


def _restitution(z: float) -> float:
    """Return the restitution of a spring with damping ratio z that never pulls (Schwager, Poeschel 2007)."""
    root = np.sqrt(abs(1.0 - z * z))
    if z < 1.0:
        turn = np.pi - np.arctan2(2 * z * root, 1 - 2 * z * z) if z > 0 else np.pi
        return float(np.exp(-z * turn / root)) if root > 1e-6 else float(np.exp(-2.0))
    return float(np.exp(-z / root * np.log((z + root) / (z - root)))) if root > 1e-6 else float(np.exp(-2.0))
