"""Conditions of a run with modes of friction; friction by loads that are not unique."""

from __future__ import annotations

import numpy as np

from ...arrays import Array, BoolArray
from ...compile.joint_elements import SIGN_MODE
from ...connections.elements.signals import Reaction, parts_in
from ...connections.joints import Joint
from ...model import Conditions, SelfStress
from ...model.connection_loads import second_markers
from ..events.events import EventContext
from .modes import Modes
from .rows import FrictionRows

__all__ = [
    "undetermined_friction",
    "with_fixed_friction",
    "with_modes",
    "with_signs",
]


ONSET_SPEED = 1e-6  # of the rest tolerance: speed along the slip direction of a vector group at its onset


def with_signs(rows: FrictionRows, conditions: Conditions, sign: Array, rest: Array) -> Conditions:
    """Return conditions with signs or directions of slip (n,); rows with zero have no friction.

    `rest` (n,) is the rest tolerance, rad/s or m/s.
    """
    return conditions.changed(parameters=_parameters_with_signs(rows, conditions, sign, rest))


def _parameters_with_signs(rows: FrictionRows, conditions: Conditions, sign: Array, rest: Array) -> Array:
    parameters = conditions.parameters.copy()
    given = np.where(rows.has_scalar_friction | (sign > 1.0), sign, ONSET_SPEED * rest * sign)
    parameters[rows.mode[rows.has_friction]] = given[rows.has_friction]
    return parameters


def with_modes(rows: FrictionRows, base: Conditions, modes: Modes, movable: BoolArray, rest: Array) -> Conditions:
    """Return conditions with modes; rows that are not movable have friction by the sign of their velocities.

    Parameters
    ----------
    base : Conditions
        Without locks of stuck rows.
    movable : (n,) bool
        Rows that are neither driven nor locked by the user.
    rest : (n,) rad/s or m/s
        Rest tolerance.
    """
    has_mode = movable.copy()
    for group in rows.vector_groups:
        has_mode[group] = movable[group].any()
    parameters = _parameters_with_signs(rows, base, np.where(has_mode, modes.sign, SIGN_MODE), rest)
    places = {int(place) for place in rows.indices[modes.locked]}
    if not places and not modes.sliding_laws:
        return base.changed(parameters=parameters)
    return base.changed(parameters=parameters, locked=base.locked | places, **modes.law_conditions)


def with_fixed_friction(rows: FrictionRows, conditions: Conditions, friction: Array) -> Conditions:
    """Return conditions with constant friction (n,) N m or N in place of load-dependent friction."""
    if not rows.has_load_friction.any():
        return conditions
    parameters = conditions.parameters.copy()
    parameters[rows.coefficient[rows.has_load_friction]] = 0.0
    parameters[rows.friction[rows.has_load_friction]] = friction[rows.has_load_friction]
    return conditions.changed(parameters=parameters)


def undetermined_friction(rows: FrictionRows, now: EventContext) -> list[str]:
    """Return the joints whose friction depends on loads that the motion does not determine."""
    model = rows.model
    if not model.nc or not rows.has_load_friction.any():
        return []
    markers = second_markers(model)
    varies = SelfStress(model, now.q, t=now.t).varies(
        np.array([model.pose(m, now.q).rotation for m in markers.values()])
    )
    found = []
    for joint, marks in zip(markers, varies, strict=True):
        element = model.system.connections[joint].element if joint in model.system.connections else None
        law = getattr(element, "load_friction", None)
        if law is None or not isinstance(element, Joint):
            continue
        efforts = [
            law.effort(element.friction_load, element.frame(), turns=unit == "rad") for unit in element.speed_units
        ]
        if any(marks[Reaction(joint, part).number] for effort in efforts for part in parts_in(effort).values()):
            found.append(joint)
    return found
