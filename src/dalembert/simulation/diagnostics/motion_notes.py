"""Notes on a motion: spins beyond the theory, limits exceeded, efforts clipped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...arrays import Array
from ...compile.names import full_names
from ...connections.constraints.ropes import Rope
from ...connections.elements.built_in import ForceConnection
from ...connections.joints import Joint
from ...model import Conditions, Model
from ...model.cache import cached_per_model
from ...result import Motion
from .discontinuities import find_stateful_control
from .driven_angles import angle_notes, has_driven_axis_angles
from .flexible_bodies import deformation_notes, flexible_load_notes, spin_notes

__all__ = ["has_checked_parts", "motion_notes"]


LIMIT_TOL = 1e-6  # rad or m: a coordinate beyond a limit by less is on it


@cached_per_model
def has_checked_parts(model: Model) -> bool:
    """Return whether a model has flexible bodies, joint data, ropes or driven angles, on which there may be notes."""
    data = _joints_with_data(model) or model.compiled.names.ropes
    return bool(model.flexible_names or data or has_driven_axis_angles(model))


def motion_notes(motion: Motion, conditions: Sequence[Conditions], *, call_control: bool = True) -> list[str]:
    """Return notes on a motion; states that are not finite are left out.

    Parameters
    ----------
    motion : Motion
    conditions : sequence of Conditions
        All conditions of the motion.
    call_control : bool
        Whether the control may be called again.
    """
    model = motion.model
    if not model.nv:
        return []
    finite = np.isfinite(motion.q).all(axis=1) & np.isfinite(motion.v).all(axis=1)
    if not finite.all():
        t, q, v, x = (np.ascontiguousarray(part[finite]) for part in (motion.t, motion.q, motion.v, motion.x))
        motion = Motion(model, t, q, v, x, conditions=motion.conditions)
    if not len(motion):
        return []
    notes = [*spin_notes(model, motion.q, motion.v), *deformation_notes(model, motion.q)]
    notes += [*_joint_notes(model, motion.q, motion.v), *angle_notes(motion)]
    notes += [*find_stateful_control(conditions), *flexible_load_notes(motion)] if call_control else []
    joints = {name: h for name, h in _joints_with_data(model).items() if h.max_effort is not None}
    if joints:
        notes += [*_actuator_notes(motion, conditions), *_drive_notes(motion, joints)]
    return notes


@cached_per_model
def _joints_with_data(model: Model) -> dict[str, Joint]:
    """Return the joints that have limits of position, speed or effort, by name."""
    kept = ("lower", "upper", "max_speed", "max_effort")
    joints = {c.name: c.element for c in model.system.connections.values() if isinstance(c.element, Joint)}
    return {name: joint for name, joint in joints.items() if any(getattr(joint, field) is not None for field in kept)}


def _joint_notes(model: Model, q: Array, v: Array) -> Iterator[str]:
    """Yield notes on exceeded limits of position and velocity."""
    joints, ropes = _joints_with_data(model), model.compiled.names.ropes
    if not joints and not ropes:
        return
    cut_q, cut_v, _ = model.cut_motion(q, v, np.zeros_like(v))
    names = model.compiled.names
    for name, joint in joints.items():
        cut = name in names.cut_v
        speeds = cut_v[:, names.cut_v[name]] if cut else v[:, model.v_slice(name)]
        positions = cut_q[:, names.cut_q[name]] if cut else q[:, model.q_slice(name)]
        yield from _exceeded(name, joint, positions, speeds)
    for name, (place, *_) in ropes.items():
        rope = model.system.connections[name].element
        if isinstance(rope, Rope) and cut_q[:, place].max() > rope.upper + LIMIT_TOL:
            yield _limit_note(name, "length", rope.upper, cut_q[:, place].max(), "m")


def _exceeded(name: str, joint: Joint, positions: Array, speeds: Array) -> Iterator[str]:
    """Yield notes on exceeded limits of one joint."""
    for k, coordinate in enumerate(full_names(name, joint.speeds)):
        unit = joint.speed_units[k]
        if joint.lower is not None and positions[:, k].min() < joint.lower[k] - LIMIT_TOL:
            yield _limit_note(coordinate, "lower limit", joint.lower[k], positions[:, k].min(), unit)
        if joint.upper is not None and positions[:, k].max() > joint.upper[k] + LIMIT_TOL:
            yield _limit_note(coordinate, "upper limit", joint.upper[k], positions[:, k].max(), unit)
        fastest = np.abs(speeds[:, k]).max()
        if joint.max_speed is not None and fastest > joint.max_speed[k]:
            yield f"{coordinate} exceeded its max_speed {joint.max_speed[k]:.6g} {unit}/s and reached {fastest:.6g}"


def _limit_note(coordinate: str, what: str, limit: float, reached: float, unit: str) -> str:
    return (
        f"{coordinate} exceeded its {what} {limit:.6g} {unit} and reached {reached:.6g} {unit}: it is driven or locked "
        "there, or stops are off or soft"
    )


def _actuator_notes(motion: Motion, conditions: Sequence[Conditions]) -> Iterator[str]:
    """Yield notes on actuators clipped to `max_effort`."""
    model = motion.model
    controlled = any(c.control is not None for c in conditions)
    excess: dict[int, tuple[float, float]] = {}  # requested by the control between the states
    for host in (host for c in conditions for host in (c.callback, c.sampled_forces) if host is not None):
        for f, (first, most) in host.excess_efforts.items():
            before = excess.get(f, (first, most))
            excess[f] = min(before[0], first), max(before[1], most)
    for (joint, part), number in model.compiled.elements.actuated.items():
        element = model.system.connections[joint].element
        assert isinstance(element, Joint)
        bound, tree = float(element.max_effort[part]), joint not in model.compiled.names.cut_v
        actuators = [f.name for f in model.system.forces.values() if f.actuates and (joint, part) in _places(f)]
        actuators += ["control"] if controlled and tree else []
        if not actuators:
            continue
        requested = np.abs(motion.part("requested_effort")[:, number])
        found = [excess[f] for f in [model.v_slice(joint).start + part if tree else -1] if f in excess]
        if (requested > bound).any():
            found.append((float(motion.t[int((requested > bound).argmax())]), float(requested.max())))
        if not found:
            continue
        first, most = min(f for f, _ in found), max(m for _, m in found)
        name = full_names(joint, element.speeds)[part]
        single = len(actuators) == 1
        yield (
            f"{name}: {', '.join(actuators)} {'was' if single else 'were'} clipped to its max_effort {bound:.6g} from "
            f"t = {first:.6g} s on; {'the request was' if single else 'together they requested'} up to {most:.6g}"
            + ("" if single else ", and each was scaled by the same factor")
        )


def _places(force: ForceConnection) -> list[tuple[str, int]]:
    return [(joint.name, part) for joint, part in force.joint_coordinates]


def _drive_notes(motion: Motion, joints: dict[str, Joint]) -> Iterator[str]:
    """Yield notes on drives whose effort exceeds that of their joint."""
    for drive in motion.model.joint_drives:
        if drive.connection.name in joints:
            bound = float(joints[drive.connection.name].max_effort[drive.coordinate])
            most = float(np.abs(motion.effort(drive)).max())
            if most > bound:
                yield f"drive {drive.name!r} needs up to {most:.6g}, more than its max_effort {bound:.6g}"
