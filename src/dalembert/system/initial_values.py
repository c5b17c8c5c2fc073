"""Initial values of a system: joints and their components, kinematic chains, modes, bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..argument_units import in_si
from ..arrays import Array
from ..bodies.body import Body
from ..checks import finite_array, finite_number, one_of, shape_of
from ..connections.attitudes import attitude_start, with_attitude
from ..connections.connection import Connection
from ..connections.constraints.chains import KinematicChain
from ..connections.drive_builder import turns_freely
from ..connections.joints import Joint
from ..connections.joints.custom import CustomJoint
from ..errors import ModelError
from ..rotation import quaternion
from .lookup import connection_and_part, inner_coordinate, own_connection

if TYPE_CHECKING:
    from .system import System

__all__ = ["AttitudeInput", "BodyPlacement", "Initial", "set_body_start", "set_joint_start"]


@dataclass(frozen=True, eq=False)
class Initial:
    """Start values of one connection: position (nq,) and velocity (nv,), None or NaN where not given.

    guess: the position is only an initial guess.
    """

    position: Array | None = None
    speed: Array | None = None
    guess: bool = False

    @property
    def target(self) -> Array | None:
        """Position, unless it is only a guess."""
        return None if self.guess else self.position


@dataclass(frozen=True, eq=False)
class BodyPlacement:
    """Start pose and velocity of a body: position (3,), rotation (3, 3), rates (3,); None where not given."""

    position: Array | None = None
    rotation: Array | None = None
    velocity: Array | None = None
    angular_velocity: Array | None = None


class AttitudeInput(NamedTuple):
    """Orientation in the user's form, and the rates of its angles (3,) rad/s; None where not given."""

    rotation: Any
    bryant: ArrayLike | None
    euler: Any
    angle_rates: ArrayLike | None


def set_joint_start(
    system: System, connection: str | Connection | Body, position: Any, speed: Any, guess: bool, turned: AttitudeInput
) -> None:
    """Set the initial values of a joint, a component, a kinematic chain or modes: see `System.initial`."""
    body = system.bodies.get(connection) if isinstance(connection, str) else connection
    if any(given is not None for given in turned):
        name = getattr(connection, "name", connection)
        if name not in system.connections or not turns_freely(system.connections[name].element):
            remedy = "only Spherical and Free joints have an orientation; for a body use place(...)"
            raise ModelError(f"initial {name!r}", "rotation, bryant or euler", name, remedy)
    if isinstance(body, Body) and system.bodies.get(body.name) is body:
        _start_modes(system, body, position, speed, bool(guess))
        return
    if isinstance(connection, Body):
        raise ModelError(f"system {system.name!r}", "body", connection.name, "it is not a body of this system")
    chain, inner = inner_coordinate(system, connection)
    if chain is not None:
        places, rates = (None if value is None else {inner: value} for value in (position, speed))
        _start_chain(system, chain, places, rates, bool(guess))
        return
    owner, part = connection_and_part(system, connection)
    if part is not None and owner is not None and isinstance(owner.element, Joint):
        _start_part(system, owner, part, position, speed, bool(guess))
        return
    found = own_connection(system, connection)
    item = f"initial {found.name!r}"
    joint = found.element
    if isinstance(joint, KinematicChain):
        _start_chain(system, found, position, speed, bool(guess))
        return
    if not isinstance(joint, Joint):
        raise ModelError(item, "element", joint.kind, "a constraint has no coordinates to set")
    new_position = _numbers_of(joint, position, joint.nq, item, "position")
    new_speed = _numbers_of(joint, speed, joint.nv, item, "speed")
    attitude, turning = attitude_start(item, *turned, axes="turned")
    old = system.initials.get(found.name, Initial())
    if attitude is not None:  # displacements given before are kept
        if new_position is None and old.position is not None:
            new_position = old.position.copy()
        if new_speed is None and old.speed is not None:
            new_speed = old.speed.copy()
        new_position, new_speed = with_attitude(joint, new_position, new_speed, attitude, turning)
    system.initials[found.name] = Initial(
        old.position if new_position is None else new_position,
        old.speed if new_speed is None else new_speed,
        old.guess if new_position is None else bool(guess),
    )


def set_body_start(
    system: System,
    body: str | Body,
    position: ArrayLike | None,
    velocity: ArrayLike | None,
    angular_velocity: ArrayLike | None,
    turned: AttitudeInput,
    axes: str,
) -> None:
    """Set the initial pose and velocity of a body in the world: see `System.place`."""
    found = system.bodies.get(body.name if isinstance(body, Body) else body)
    if found is None or (isinstance(body, Body) and found is not body):
        name = getattr(body, "name", body)
        raise ModelError(f"system {system.name!r}", "body", name, "it is not a body of this system")
    item = f"place {found.name!r}"
    attitude, turning = attitude_start(item, *turned, axes="fixed")
    if turning is not None and angular_velocity is not None:
        raise ModelError(item, "angle_rates", turned.angle_rates, "angular_velocity is given too: leave one out")
    old = system.placements.get(found.name, BodyPlacement())
    if one_of(item, "axes", axes, ("world", "body")) == "body":
        R = old.rotation if attitude is None else attitude
        if R is None:
            raise ModelError(item, "axes", axes, "give the orientation of the body too: rotation, bryant or euler")
        velocity, angular_velocity = (
            None if given is None else R @ finite_array(given, (3,), item=item, field=field)
            for given, field in ((velocity, "velocity"), (angular_velocity, "angular_velocity"))
        )
    angular_velocity = angular_velocity if turning is None else turning

    def vector(value: ArrayLike | None, field: str, before: Array | None) -> Array | None:
        return before if value is None else finite_array(value, (3,), item=item, field=field)

    system.placements[found.name] = BodyPlacement(
        vector(position, "position", old.position),
        old.rotation if attitude is None else attitude,
        vector(velocity, "velocity", old.velocity),
        vector(angular_velocity, "angular_velocity", old.angular_velocity),
    )


def _numbers_of(joint: Joint, value: Any, size: int, item: str, field: str) -> Array | None:
    """Return positions or velocities of a joint as given; the time of a joint with a clock is optional."""
    clocked = isinstance(joint, CustomJoint) and joint.clock is not None
    if value is None:
        return None
    if shape_of(value) == () and (size == 1 or (size == 2 and clocked)):
        value = [value]
    if clocked and shape_of(value) == (size - 1,):
        value = [*value, 0.0 if field == "position" else 1.0]
    if isinstance(value, (list, tuple)) and len(value) == size:
        units = start_units(joint, field)
        value = [in_si(each, unit, item=item, field=field) for each, unit in zip(value, units, strict=True)]
    array = finite_array(value, (size,), item=item, field=field)
    if field == "position" and "qw" in joint.coordinates:
        quaternion(*array[:4])  # raises an error for a quaternion of length zero
    return array


def start_units(joint: Joint, field: str) -> tuple[str, ...]:
    """Return the units of the positions or speeds of a joint, ``"rad"`` or ``"m/s"``."""
    return joint.coordinate_units if field == "position" else tuple(f"{unit}/s" for unit in joint.speed_units)


def _start_part(system: System, found: Connection, part: str, position: Any, speed: Any, guess: bool) -> None:
    """Set the initial values of one coordinate of a joint."""
    joint, item = found.element, f"initial {found.name}.{part}"
    assert isinstance(joint, Joint)
    old = system.initials.get(found.name, Initial())
    places = joint.coordinates if joint.nq == joint.nv else ()
    values = []
    for value, field, names, before in (
        (position, "position", places, old.position),
        (speed, "speed", joint.speeds, old.speed),
    ):
        if value is not None:
            if part not in names:
                known = ", ".join(f"{found.name}.{name}" for name in names) or f"name {found.name!r} as a whole"
                raise ModelError(item, field, value, f"there is no such coordinate: {known}")
            unit = start_units(joint, field)[names.index(part)]
            number = finite_number(in_si(value, unit, item=item, field=field), item=item, field=field)
            before = np.full(len(names), np.nan) if before is None else before.copy()
            before[names.index(part)] = number
        values.append(before)
    system.initials[found.name] = Initial(values[0], values[1], old.guess if position is None else guess)


def _start_chain(system: System, found: Connection, position: Any, speed: Any, guess: bool) -> None:
    """Set initial values of inner coordinates of a kinematic chain: by name, or all of them."""
    chain, item = found.element, f"initial {found.name!r}"
    assert isinstance(chain, KinematicChain)
    old = system.initials.get(found.name, Initial())
    values = old.position if position is None else chain.inner_targets(item, position, old.position)
    rates = old.speed if speed is None else chain.rate_targets(item, speed, old.speed)
    system.initials[found.name] = Initial(values, rates, old.guess if position is None else guess)


def _start_modes(system: System, body: Body, position: Any, speed: Any, guess: bool) -> None:
    """Set initial values of the modal coordinates of a flexible body, and of their velocities."""
    item = f"initial {body.name!r}"
    if body.flexible is None:
        raise ModelError(item, "body", body.name, "it is rigid: name a connection, or place it with system.place")
    nm = body.flexible.nm
    old = system.initials.get(body.name, Initial())
    values = [
        before if value is None else finite_array(value, (nm,), item=item, field=field)
        for value, before, field in ((position, old.position, "position"), (speed, old.speed, "speed"))
    ]
    system.initials[body.name] = Initial(values[0], values[1], old.guess if position is None else guess)
