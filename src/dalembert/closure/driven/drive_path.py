"""Drive paths: lead a mechanism from one configuration to another on one branch.

    s(tau) = s_0 + tau (s_1 - s_0),     0 <= tau <= 1                                                              (1)

takes driven coordinates from their values s_0 to those at a time, s_1. The kinematic sweep of the core follows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...arrays import Array
from ...connections.drives import PoseDrive
from ...connections.laws import Polynomial
from ...model import Conditions, Model
from ...model.driven_kinematics import KinematicSweep, sweep_kinematics
from ..loop_equations import LoopEquations

__all__ = ["follow_drives", "leads_positions", "led_model", "undeformed"]


def leads_positions(model: Model) -> bool:
    """Return True if drives give positions of single joint coordinates and all rows are holonomic."""
    plain = all(d.of_joint and not d.level and not isinstance(d, PoseDrive) for d in model.drives)
    return bool(model.drives) and plain and all(model.holonomic)


def led_model(model: Model, begins: Mapping[str, float], t: float) -> Model:
    """Return a model whose drives lead from given values, by name, to those at t (1), within 1 s."""
    described = model.system.copy()
    for name, old in list(described.drives.items()):
        begin, end = begins[old.name], float(old.law(t)[0])
        described.drives[name] = replace(old, law=Polynomial((begin, end - begin)), level=0)
    return described.compile()


def follow_drives(model: Model, times: Array, q: Array, held: Conditions | None) -> KinematicSweep:
    """Return the motion at times (n,) s from a configuration q (nq,) at the first of them."""
    return sweep_kinematics(model, times, q, floor=LoopEquations.of(model, prescribed=False).floor, conditions=held)


def undeformed(model: Model) -> Conditions | None:
    """Return conditions in which flexible bodies are undeformed; None without flexible bodies."""
    if not model.flexible_names:
        return None
    modes = [k for name in model.flexible_names for k in range(*model.v_slice(name).indices(model.nv))]
    return Conditions(model, model.conditions().parameters, frozenset(modes))
