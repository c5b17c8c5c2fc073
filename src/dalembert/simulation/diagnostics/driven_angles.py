"""Driven angles between axes at 0 or 180 degrees, where the constraint row does not determine the branch."""

from __future__ import annotations

import numpy as np

from ...connections.connection import Connection
from ...connections.constraints.geometric import AxisAngle
from ...connections.drives import Drive
from ...model import Model
from ...result import Motion, Output

__all__ = ["angle_notes", "find_parallel_driven_axes", "has_driven_axis_angles"]

PARALLEL_TOL = 1e-3  # rad


def has_driven_axis_angles(model: Model) -> bool:
    """Return whether a drive prescribes an angle between two axes without a reference axis."""
    return any(_is_axis_angle(drive) for drive in model.drives)


def _is_axis_angle(drive: Drive) -> bool:
    element = drive.connection.element
    return isinstance(element, AxisAngle) and element.about is None


def find_parallel_driven_axes(model: Model, t: float) -> str:
    """Return a message on a drive that makes two axes parallel, where its row is singular; empty if there is none."""
    for drive in model.drives:
        if _is_axis_angle(drive):
            angle = drive.law(t)[0]
            if abs(angle - np.pi * np.round(angle / np.pi)) < PARALLEL_TOL:
                return (
                    f"drive {drive.name!r} drives an angle between two axes to {angle:.6g} rad: the axes are parallel "
                    "there, and its row does not determine the branch. Give the axis of rotation, AxisAngle(..., "
                    "about=...), or keep the angle clear of 0 and half a turn"
                )
    return ""


def angle_notes(motion: Motion) -> list[str]:
    """Return notes on driven angles that reversed where they should continue."""
    notes = []
    for drive in motion.model.drives:
        connection = drive.connection
        if not _is_axis_angle(drive) or not isinstance(connection, Connection) or len(motion) < 2:
            continue
        values = np.array([drive.law(t)[:2] for t in motion.t.tolist()])
        half_turns = np.floor(values[:, 0] / np.pi)
        passed = np.flatnonzero((np.abs(np.diff(half_turns)) == 1) & (values[1:, 1] * values[:-1, 1] > 0))
        if not len(passed):
            continue
        spin = np.zeros((len(motion), 3)) + sum(
            way * np.asarray(Output.of(motion.model, f"{marker.body.name}.angular_velocity").value(motion))
            for way, marker in ((1.0, connection.second), (-1.0, connection.first))
            if marker.body is not motion.model.system.ground
        )
        back = [int(k) for k in passed if float(spin[k] @ spin[k + 1]) < 0]
        if back:
            angle = np.pi * half_turns[back[0] : back[0] + 2].max()
            notes.append(
                f"t = {motion.t[back[0] + 1]:.6g} s: drive {drive.name!r} drives the angle past {angle:.6g} rad, and "
                "the motion reversed there, which its row permits; give the axis of rotation: "
                "AxisAngle(..., about=...)"
            )
    return notes
