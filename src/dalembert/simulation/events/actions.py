"""Actions of events by description: bounce, lock, release, switch, set, stop.

They act exactly as the methods of `EventContext` of the same names, and the core applies them without Python where it
can.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...checks import finite_array, finite_number
from ...connections.joints import Joint
from ...errors import ModelError
from ...model import Model
from ...model.argument_errors import checked_marker
from ...model.conditions import check_closure, checked_parameter, locked_dof

if TYPE_CHECKING:
    from ...result import Output
    from .events import EventContext

__all__ = ["Action", "Bounce", "Lock", "Release", "Set", "Stop", "Switch", "as_actions", "coordinate_dof"]


@dataclass(frozen=True)
class Bounce:
    """Multiply a velocity by -restitution, by an impulse along it; loops and locks are satisfied.

    Parameters
    ----------
    item : str
        A marker or body, whose velocity along `normal` is meant, if it approaches; or a coordinate of a tree joint,
        ``"P"`` or ``"C.slide"``. Default the coordinate that is the output of the event.
    normal : (3,)
        Of the plane that a marker bounces off, world axes.
    restitution : float
        0 to 1.
    """

    item: str = ""
    normal: tuple[float, float, float] | None = None
    restitution: float = 1.0

    def __post_init__(self) -> None:
        e = finite_number(self.restitution, item="bounce", field="restitution")
        if not 0 <= e <= 1:
            raise ModelError("bounce", "restitution", e, "use a number from 0 to 1")
        if self.normal is not None:
            n = finite_array(self.normal, (3,), item="bounce", field="normal")
            if not n.any():
                raise ModelError("bounce", "normal", self.normal, "give a direction that is not zero")
            object.__setattr__(self, "normal", tuple(n.tolist()))

    def resolved(self, model: Model, output: Output, owner: str) -> Bounce:
        """Return the action with its names checked, and the coordinate of the output where none is given."""
        if self.normal is not None:
            if not self.item:
                raise ModelError(owner, "bounce", "a normal", "name the marker or body that bounces")
            try:
                checked_marker(model, "bounce", self.item)
            except ModelError as error:
                raise ModelError(owner, "bounce", self.item, error.remedy) from None
            return self
        item = self.item or _coordinate_of(model, output, owner, "bounce")
        coordinate_dof(model, item, owner)
        return replace(self, item=item)

    def act(self, now: EventContext) -> None:
        """Apply the action."""
        now.bounce(self.item, self.normal, self.restitution)


@dataclass(frozen=True)
class Lock:
    """Lock a tree joint; its velocity becomes zero at once, by an impulse.

    Parameters
    ----------
    joint : str
        Default the joint whose coordinate or velocity is the output of the event.
    """

    joint: str = ""

    def resolved(self, model: Model, output: Output, owner: str) -> Lock:
        """Return the action with its names checked, and the joint of the output where none is given."""
        joint = self.joint or _coordinate_of(model, output, owner, "lock").partition(".")[0]
        _check_tree_joint(model, joint, owner, "lock")
        locked_dof(model, [joint], owner)
        return replace(self, joint=joint)

    def act(self, now: EventContext) -> None:
        """Apply the action."""
        now.lock(self.joint)


@dataclass(frozen=True)
class Release:
    """Unlock a tree joint.

    Parameters
    ----------
    joint : str
    """

    joint: str

    def resolved(self, model: Model, output: Output, owner: str) -> Release:
        """Return the action with its name checked."""
        _check_tree_joint(model, self.joint, owner, "release")
        return self

    def act(self, now: EventContext) -> None:
        """Apply the action."""
        now.release(self.joint)


@dataclass(frozen=True)
class Switch:
    """Switch a constraint or a cut joint on or off; velocities satisfy it at once, by an impulse.

    Parameters
    ----------
    connection : str
    on : bool
    """

    connection: str
    on: bool

    def resolved(self, model: Model, output: Output, owner: str) -> Switch:
        """Return the action with its name checked."""
        check_closure(model, self.connection, owner)
        return self

    def act(self, now: EventContext) -> None:
        """Apply the action."""
        now.switch(self.connection, self.on)


@dataclass(frozen=True)
class Set:
    """Change a parameter of the system.

    Parameters
    ----------
    parameter : str
        ``"k.stiffness"``, ``"load.mass"``.
    value : float
    """

    parameter: str
    value: float

    def resolved(self, model: Model, output: Output, owner: str) -> Set:
        """Return the action with its name and value checked."""
        checked_parameter(model, self.parameter, self.value, owner)
        return replace(self, value=float(self.value))

    def act(self, now: EventContext) -> None:
        """Apply the action."""
        now.set(self.parameter, self.value)


@dataclass(frozen=True)
class Stop:
    """End the simulation."""

    def resolved(self, model: Model, output: Output, owner: str) -> Stop:
        """Return the action."""
        return self

    def act(self, now: EventContext) -> None:
        """Apply the action."""
        now.stop()


Action = Bounce | Lock | Release | Switch | Set | Stop

_FORMS = "'stop', 'bounce', 'bounce 0.5', 'lock', 'lock A', 'release A', 'switch B off' or 'set k.stiffness = 200'"


def as_actions(given: Any, owner: str) -> tuple[Action, ...]:
    """Return actions from one or several objects or texts.

    Examples
    --------
    >>> as_actions(["lock A", "set k.stiffness = 200"], "event 'hit'")
    (Lock(joint='A'), Set(parameter='k.stiffness', value=200.0))
    """
    several = given if isinstance(given, (list, tuple)) else (given,)
    if not several:
        raise ModelError(owner, "action", given, f"give {_FORMS}, objects such as da.Lock('A'), or a function")
    return tuple(_from_text(each, owner) if isinstance(each, str) else _checked(each, owner) for each in several)


def _checked(given: Any, owner: str) -> Action:
    if isinstance(given, (Bounce, Lock, Release, Switch, Set, Stop)):
        return given
    raise ModelError(owner, "action", given, f"give {_FORMS}, objects such as da.Lock('A'), or a function")


def _from_text(text: str, owner: str) -> Action:
    """Return the action of a text such as ``"lock A"``."""
    verb, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    try:
        if verb == "stop" and not rest:
            return Stop()
        if verb == "bounce":
            return Bounce(restitution=float(rest or 1.0))
        if verb == "lock":
            return Lock(rest)
        if verb == "release" and rest:
            return Release(rest)
        name, _, state = rest.rpartition(" ")
        if verb == "switch" and name and state in ("on", "off"):
            return Switch(name.strip(), state == "on")
        name, equals, value = rest.partition("=")
        if verb == "set" and equals:
            return Set(name.strip(), float(value))
    except ValueError:
        pass
    raise ModelError(owner, "action", text, f"use {_FORMS}, or a function")


def _check_tree_joint(model: Model, joint: str, owner: str, what: str) -> None:
    if joint not in (each.name for each in model.forest.joints):
        cut = joint in model.closure_names
        known = ", ".join(repr(each.name) for each in model.forest.joints)
        remedy = "it is a cut joint or a constraint: switch it on or off" if cut else f"tree joints are {known}"
        raise ModelError(owner, what, joint, remedy)


def _coordinate_of(model: Model, output: Output, owner: str, what: str) -> str:
    """Return the name of the coordinate of a tree joint that an output is, or whose velocity it is."""
    source = output.source if output.base is None else output.base.source
    part = None if source is None or source.combined else source.part
    if source is not None and part in ("q", "v"):
        for joint in model.forest.joints:
            span = model.q_slice(joint.name) if part == "q" else model.v_slice(joint.name)
            labels = joint.element.coordinates if part == "q" else joint.element.speeds
            if span.start <= source.indices[0] < span.stop:
                return f"{joint.name}.{labels[source.indices[0] - span.start]}"
    raise ModelError(owner, what, output.name, "it is no coordinate of a tree joint: name what the action is for")


def coordinate_dof(model: Model, item: str, owner: str) -> int:
    """Return the index of the velocity of a coordinate of a tree joint, ``"P"`` or ``"C.slide"``."""
    for joint in model.forest.joints:
        element = joint.element
        if isinstance(element, Joint) and (item == joint.name or item.startswith(f"{joint.name}.")):
            label = item[len(joint.name) + 1 :]
            speeds = element.speeds
            if not label and len(speeds) == 1:
                return int(model.v_slice(joint.name).start)
            if label in speeds:
                return int(model.v_slice(joint.name).start) + speeds.index(label)
            if label in element.coordinates and len(element.coordinates) == len(speeds):
                return int(model.v_slice(joint.name).start) + element.coordinates.index(label)
            remedy = f"name one velocity: {', '.join(repr(f'{joint.name}.{each}') for each in speeds)}"
            raise ModelError(owner, "bounce", item, remedy)
    remedy = "give a coordinate of a tree joint, or a marker and a normal: da.Bounce('ball', (0, 0, 1), 0.5)"
    raise ModelError(owner, "bounce", item, remedy)


def unit_row(model: Model, item: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the row (nv,) of the velocity of a coordinate."""
    row = np.zeros(model.nv)
    row[coordinate_dof(model, item, "bounce")] = 1.0
    return row
