"""Driven angles between axes of bodies with one relative rotation, as rotations about that axis.

From the body of one marker, joints are followed that do not rotate, or rotate about one common axis n. All of them
leave n fixed in either body. If they lead to the other body, an axis perpendicular to n has a rotation angle about n
that every motion changes smoothly. The angle between two axes, in contrast, has a kink at 0 and at 180 degrees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..arrays import Array
from ..connections.connection import Connection
from ..connections.constraints.geometric import AxisAngle
from ..connections.joints import Joint
from ..system import System

__all__ = ["replace_driven_angles"]


PARALLEL_TOL = 1e-9  # components of unit vectors


def replace_driven_angles(system: System) -> System:
    """Replace driven angles by rotations where possible; changes the system."""
    for key, drive in system.drives.items():
        connection, element = drive.connection, drive.connection.element
        if not isinstance(connection, Connection) or not isinstance(element, AxisAngle) or element.about is not None:
            continue
        found = _turned(system, connection)
        if found is None:
            continue
        n, R = found
        if max(abs(float(n @ element.axis_1)), abs(float(n @ R @ element.axis_2))) > PARALLEL_TOL:
            continue
        b = R @ element.axis_2
        at, wanted = float(np.arctan2(np.cross(n, element.axis_1) @ b, element.axis_1 @ b)), float(drive.law(0.0)[0])
        away = [abs(np.angle(np.exp(1j * (side * at - wanted)))) for side in (1.0, -1.0)]
        about = -n if away[1] < away[0] - PARALLEL_TOL else n
        system.connections[connection.name] = new = replace(connection, element=element.turning(about))
        system.drives[key] = replace(drive, connection=new)
    return system


def _turned(system: System, connection: Connection) -> tuple[Array, Array] | None:
    """Return the rotation axis of the second marker and its initial orientation, in axes of the first."""
    first, second = connection.first, connection.second
    if first.shape is not None or second.shape is not None:
        return None
    joints = [c for c in system.connections.values() if isinstance(c.element, Joint)]
    axes = {c.name: _axis(c.element) for c in joints if isinstance(c.element, Joint)}
    paths: list[tuple[str, Array, Array | None]] = [(first.body.name, first.rotation.T, None)]
    seen = set()
    for body, R, n in paths:  # extended within the loop
        key = body, None if n is None else tuple(np.round(n if n[np.abs(n).argmax()] > 0 else -n, 6).tolist())
        if key in seen:
            continue
        seen.add(key)
        if body == second.body.name and n is not None:
            return n, R @ second.rotation
        paths += _onward(system, joints, axes, (body, R, n))
    return None


def _onward(
    system: System, joints: list[Connection], axes: dict[str, Array | None], path: tuple[str, Array, Array | None]
) -> Iterator[tuple[str, Array, Array | None]]:
    """Yield bodies behind joints at a body, their orientation, and the rotation axis along the path."""
    body, R, n = path
    for c in joints:
        axis, ends = axes[c.name], (c.first, c.second)
        if (
            axis is None
            or any(end.shape is not None for end in ends)
            or body not in (c.first.body.name, c.second.body.name)
        ):
            continue
        C = _attitude(system, c)
        forward = c.first.body.name == body
        here, there, turn = (c.first, c.second, C) if forward else (c.second, c.first, C.T)
        beyond = R @ here.rotation @ turn @ there.rotation.T
        if not axis.any():
            yield there.body.name, beyond, n
            continue
        along = (R if forward else beyond) @ c.first.rotation @ axis * (1.0 if forward else -1.0)
        if n is None or np.linalg.norm(np.cross(n, along)) < PARALLEL_TOL:
            yield there.body.name, beyond, along if n is None else n


def _axis(joint: Joint) -> Array | None:
    """Return the rotation axis (3,) of a joint in its first marker, zero without rotation; None if several."""
    if joint.nq != joint.nv:
        return None
    zero, rng = joint.zero, np.random.default_rng(0)
    start = joint.pose(zero)[0]
    moved = [*(zero + 0.1 * row for row in np.eye(joint.nq)), *(zero + rng.uniform(0.2, 1.2, (3, joint.nq)))]
    found = None
    for q in moved:
        D = np.asarray(joint.pose(q)[0] @ start.T, dtype=float)
        axis = np.array([D[2, 1] - D[1, 2], D[0, 2] - D[2, 0], D[1, 0] - D[0, 1]])
        size = np.linalg.norm(axis)
        if size < PARALLEL_TOL:
            continue
        if found is not None and np.linalg.norm(np.cross(found, axis / size)) > PARALLEL_TOL:
            return None
        found = axis / size if found is None else found
    return np.zeros(3) if found is None else found


def _attitude(system: System, connection: Connection) -> Array:
    """Return the initial orientation (3, 3) of the second marker of a joint."""
    joint, initial = connection.element, system.initials.get(connection.name)
    assert isinstance(joint, Joint)
    q = joint.zero
    if initial is not None and initial.position is not None:
        q = np.where(np.isnan(initial.position), q, initial.position)
    return np.asarray(joint.pose(q)[0], dtype=float)
