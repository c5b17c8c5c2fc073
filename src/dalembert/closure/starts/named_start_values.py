"""Start values by name: ``{"A": 0.3, "B.speed": 2.0, "ice.x": 1.0, "crank.velocity": (1, 0, 0), "lag.z": 5.0}``.

The names are those of outputs, angles among them: ``{"ball.bryant": (0.1, 0.2, 0.3), "ball.bryant_rates": (0, 0, 1)}``.
Values without a name are those of the description.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays import Array
from ...connections.constraints.chains import KinematicChain
from ...connections.drive_builder import turns_freely
from ...connections.joints import Joint
from ...errors import ModelError
from ...model import Model
from ...result.outputs.attitude_angles import angles_named, is_angles
from ...system import System
from .start_values import StartValues

__all__ = ["named_count", "named_starts", "tree_columns"]


_POSE_FIELDS = {"position": (3,), "rotation": None, "velocity": (3,), "angular_velocity": (3,)}
_MODES = re.compile(r"^eta(?:\[(?P<mode>\d+)\])?(?:\.(?P<level>speed))?$")


@dataclass(frozen=True)
class _Target:
    """Target of a name: kind of start value, owner, part, and shape of one value."""

    kind: str  # state, place, modes, joint, chain, angles
    owner: str
    part: str
    field: str
    shape: tuple[int, ...] | None  # None: any form of a rotation


def named_count(model: Model, values: Mapping[str, Any]) -> int | None:
    """Return the number of runs, from arrays with one axis more than a value; None for one run."""
    sizes = {}
    for name, value in values.items():
        shape = _target(model, name).shape
        if shape is not None and np.ndim(value) == len(shape) + 1:
            sizes[f"state[{name!r}]"] = len(value)
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{name} {count}" for name, count in sizes.items())
        raise ModelError("start values", "number of runs", counts, "give arrays of the same length")
    return next(iter(sizes.values()), None)


def named_starts(model: Model, values: Mapping[str, Any], run: int | None = None) -> StartValues:
    """Return the start values of a model with some given by name; of one run, if given for many."""
    merged, alone = _copy_sharing_parts(model.system), _copy_sharing_parts(model.system)
    alone.initials, alone.placements = {}, {}
    x = model.element_start_values()
    claimed: dict[tuple[str, str, str], str] = {}
    for name, value in _angles_first(model, values):
        target = _target(model, name)
        whole, mine = (target.owner, target.field, ""), (target.owner, target.field, target.part)
        clash = claimed.get(mine) or claimed.get(whole)
        clash = clash or next(
            (other for key, other in claimed.items() if not target.part and key[:2] == mine[:2]), None
        )
        if clash is not None:
            raise ModelError("start values", "name", name, f"{clash!r} gives the same: leave one of them out")
        claimed[mine] = name
        if target.kind != "angles" and target.shape is not None and np.ndim(value) == len(target.shape) + 1:
            value = np.asarray(value)[0 if run is None else run]
        if target.kind == "state":
            x[model.state_names.index(name)] = _number(name, value)
            continue
        for system in (merged, alone):
            _set_value(system, target, name, value, run)
    first = StartValues(alone.initials, alone.placements, x)
    return StartValues(merged.initials, merged.placements, x, first)


def tree_columns(model: Model, values: Mapping[str, Any]) -> list[tuple[str, int, Array]] | None:
    """Return part (``"q"`` or ``"v"``), index and values of start values by name, each a number or (B,).

    None if one is not a finite number for a coordinate or a velocity of a tree joint, or if two name the same.
    """
    found: list[tuple[str, int, Array]] = []
    for name, value in values.items():
        target = _target(model, name)
        if target.kind != "joint" or target.shape != () or target.owner not in model.joint_names:
            return None
        whole = f"{target.owner}.{target.part}" if target.part else target.owner
        part, names = ("q", model.coordinate_names) if target.field == "position" else ("v", model.speed_names)
        try:
            numbers = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            return None
        if whole not in names or numbers.ndim > 1 or not np.isfinite(numbers).all():
            return None
        found.append((part, names.index(whole), numbers))
    return found if len({place[:2] for place in found}) == len(found) else None


def _copy_sharing_parts(system: System) -> System:
    """Return a system that shares everything with another except its start values."""
    twin = object.__new__(System)
    twin.__dict__.update(system.__dict__)
    twin.initials, twin.placements = copy(system.initials), copy(system.placements)
    return twin


def _angles_first(model: Model, values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return names and values; rates of angles are joined with their angles to one value, (angles, rates)."""
    ready, joined = [], {}
    for name, value in values.items():
        target = _target(model, name)
        if target.kind == "angles" and angles_named(target.part)[1]:
            of = name.removesuffix("_rates")
            if of not in values:
                raise ModelError("start values", "name", name, f"give the angles too, as {of!r}")
            joined[of] = value
        else:
            ready.append((name, value))
    return [(name, _AngleValues(value, joined[name]) if name in joined else value) for name, value in ready]


@dataclass(frozen=True, eq=False)
class _AngleValues:
    """Angles and their rates."""

    angles: Any
    rates: Any


def _put_angles(system: System, target: _Target, value: Any, run: int | None) -> None:
    """Set an orientation by angles, and optionally their rates, of one run if given for many."""
    angles, rates = (value.angles, value.rates) if isinstance(value, _AngleValues) else (value, None)
    k = 0 if run is None else run
    angles, rates = (x if x is None or np.ndim(x) < 2 else np.asarray(x)[k] for x in (angles, rates))
    given = (angles, angles_named(target.part)[0])
    if target.owner in system.connections:
        system.initial(target.owner, euler=given, angle_rates=rates)
    else:
        system.place(target.owner, euler=given, angle_rates=rates)


def _set_value(system: System, target: _Target, name: str, value: Any, run: int | None) -> None:
    """Set a start value of a system through its public methods."""
    if target.kind == "angles":
        _put_angles(system, target, value, run)
    elif target.kind == "place":
        system.place(target.owner, **{target.field: value})
    elif target.kind in ("joint", "chain"):
        whole = f"{target.owner}.{target.part}" if target.part else target.owner
        system.initial(whole, **{target.field: value})
    elif not target.part:
        system.initial(target.owner, **{target.field: value})
    else:
        flexible = system.bodies[target.owner].flexible
        assert flexible is not None
        old = system.initials.get(target.owner)
        before = getattr(old, target.field) if old is not None else None
        numbers = np.zeros(flexible.nm) if before is None else before.copy()
        numbers[int(target.part)] = _number(name, value)
        _set_value(system, replace(target, part=""), name, numbers, run)


def _target(model: Model, name: str) -> _Target:
    """Return the target of a name."""
    if not isinstance(name, str):
        raise ModelError("start values", "name", name, "give names, as strings")
    if name in model.state_names:
        return _Target("state", name, "", "state", ())
    system = model.system
    owner, rest = name, ""
    while True:
        connection, body = system.connections.get(owner), system.bodies.get(owner)
        found = None
        if connection is not None and isinstance(connection.element, KinematicChain):
            field = "speed" if rest.endswith(".speed") else "position"
            ending = rest.removesuffix(f".{field}")
            found = _Target("chain", owner, ending, field, ()) if ending in connection.element.inner_names else None
        elif connection is not None and isinstance(connection.element, Joint):
            found = _of_joint(owner, connection.element, rest)
        elif body is not None:
            found = _of_body(model, owner, rest)
        if found is not None:
            return found
        owner, dot, last = owner.rpartition(".")
        if not dot:
            raise ModelError("start values", "name", name, _remedy(model, name))
        rest = f"{last}.{rest}" if rest else last


def _of_joint(owner: str, joint: Joint, rest: str) -> _Target | None:
    """Return the target of the ending of a name at a joint."""
    if rest in ("", "position") and joint.nv:
        return _Target("joint", owner, "", "position", _shape(joint.nq))
    if rest == "speed" and joint.nv:
        return _Target("joint", owner, "", "speed", _shape(joint.nv))
    if turns_freely(joint) and _is_start_of_angles(rest):
        return _Target("angles", owner, rest, "position", (3,))
    part, _, level = rest.partition(".")
    alone = joint.nq == joint.nv  # no component of a quaternion can be given by itself
    if part in joint.coordinates and alone and level in ("", "position"):
        return _Target("joint", owner, part if joint.nq > 1 else "", "position", ())
    if part in joint.speeds and (level == "speed" or (not level and part not in joint.coordinates)):
        return _Target("joint", owner, part if joint.nv > 1 else "", "speed", ())
    return None


def _is_start_of_angles(ending: str) -> bool:
    return is_angles(ending) and not ending.endswith("_accelerations")


def _of_body(model: Model, owner: str, rest: str) -> _Target | None:
    """Return the target of the ending of a name at a body."""
    if rest in _POSE_FIELDS:
        return _Target("place", owner, "", rest, _POSE_FIELDS[rest])
    if _is_start_of_angles(rest):
        return _Target("angles", owner, rest, "rotation", (3,))
    modes = _MODES.match(rest)
    if modes is None or owner not in model.flexible_names:
        return None
    number = model.v_slice(owner).stop - model.v_slice(owner).start
    if modes["mode"] is not None and int(modes["mode"]) >= number:
        return None
    field = modes["level"] or "position"
    return _Target("modes", owner, modes["mode"] or "", field, (number,) if modes["mode"] is None else ())


def _shape(size: int) -> tuple[int, ...]:
    return () if size == 1 else (size,)


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise ModelError("start values", name, value, "give a finite number")
    return number


def _remedy(model: Model, name: str) -> str:
    import difflib

    if name in ("q", "v", "x", "t"):
        return "for whole arrays give a da.State(q=..., v=...)"
    joints = [c.name for c in model.system.connections.values() if isinstance(c.element, Joint) and c.element.nv]
    known = [*joints, *(f"{h}.speed" for h in joints), *model.coordinate_names, *model.state_names]
    known += [f"{body}.{field}" for body in model.system.bodies for field in _POSE_FIELDS]
    known += [f"{body}.eta" for body in model.flexible_names]
    known = list(dict.fromkeys(known))
    close = difflib.get_close_matches(name, known, n=3)
    if close:
        return "did you mean " + " or ".join(map(repr, close)) + "?"
    return f"choose among joints, bodies and element states, such as {', '.join(map(repr, known[:6]))}"
