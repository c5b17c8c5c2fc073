"""Outputs of frames: bodies, markers and points of bodies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array
from ...bodies.markers import Marker
from ...connections.joints.joint import frame_with_z
from ...errors import ModelError
from ...model import Model
from ...rotation import quaternions
from .attitude_angles import Attitudes, angles_output
from .motion import Motion
from .output import Output, Source, vector

if TYPE_CHECKING:
    from ..result import Result

__all__ = ["FRAME_OUTPUTS", "frame_angles", "frame_of", "jerk_of_point", "planar_angle", "turning_axis"]

Maker = Callable[[Model, Marker, str], Output]


def frame_of(model: Model, owner: str) -> Marker | None:
    """Return the frame of ``"body"``, ``"body.label"`` or either with ``".at(x, y, z)"``; None if there is none."""
    try:
        found = model.system.marker(owner)
    except ModelError as error:
        if error.field == "point":
            raise ModelError("output", "point", owner, error.remedy) from None
        return None
    return found if found.body.name in model.forest.number else None


def turning_axis(model: Model, marker: Marker) -> Array | None:
    """Return the unit vector (3,) parallel to every angular velocity of a frame, or None if there is none.

    It follows from the Jacobian of the tree at a few random configurations.
    """
    q = model.random_state(3, size=3).q
    J = model.jacobian(marker, q)[:, :3]
    return common_axis(J.transpose(0, 2, 1).reshape(-1, 3), 1e-12)


def common_axis(vectors: Array, tolerance: float) -> Array | None:
    """Return the unit vector parallel to all vectors (k, 3), largest component positive; None if there is none."""
    if not vectors.any():
        return None
    s, axes = np.linalg.svd(vectors, full_matrices=False)[1:]
    if s[1:].max(initial=0.0) > tolerance * s[0]:
        return None
    axis: Array = axes[0] * np.sign(axes[0][np.abs(axes[0]).argmax()])
    axis[np.abs(axis) < 1e-14] = 0.0
    return axis


def planar_angle(marker: Marker, name: str, axis: Array) -> Output:
    """Return the angle of a frame about its fixed axis (3,) of rotation, as an output."""
    direction = ", ".join(f"{c:.6g}" for c in axis)
    return Output(
        name,
        "rad",
        (),
        f"angle of {marker.name!r} from the world's axes, about ({direction})",
        lambda m: _angles(_rotations(m, marker), axis),
        branch=("turn",),
        rate=lambda m: (m.velocity(marker)[0] @ axis)[:, None],
        start=np.zeros(1),
    )


def _angles(R: Array, axis: Array) -> Array:
    """Return the angles (n,) of rotations (n, 3, 3) about `axis`: of a frame's x axis from the world's.

    If x is close to `axis`, in the world or in the frame, y or z is used.
    """
    plane = frame_with_z(axis)[:, :2]
    k = next(k for k in range(3) if abs(axis[k]) < 0.95 and abs(axis @ R[0, :, k]) < 0.95)
    at, start = R[:, :, k] @ plane, plane[k]
    return np.asarray(np.arctan2(start[0] * at[:, 1] - start[1] * at[:, 0], at @ start))


def _rotations(m: Motion, marker: Marker) -> Array:
    return m.pose(marker).rotation


def _vector(
    quantity: str, unit: str, needs: str, value: Callable[[Motion, Marker], Array], source: Source | None = None
) -> Maker:
    return lambda model, marker, name: vector(
        name,
        unit,
        f"{quantity} of {marker.name!r}",
        lambda m: value(m, marker).copy(),
        needs,
        None if source is None else replace(source, marker=marker),
    )


def _rotation(model: Model, marker: Marker, name: str) -> Output:
    labels = tuple(row + column for row in "xyz" for column in "xyz")
    meaning = f"axes of {marker.name!r} as columns, world axes"
    return Output(name, "1", (3, 3), meaning, lambda m: _rotations(m, marker), labels=labels)


def _quaternion(model: Model, marker: Marker, name: str) -> Output:
    return Output(
        name,
        "1",
        (4,),
        f"orientation of {marker.name!r} in the world, scalar first",
        lambda m: quaternions(_rotations(m, marker)),
        labels=("w", "x", "y", "z"),
        branch=("sign",) * 4,
        start=np.array([1.0, 0.0, 0.0, 0.0]),
    )


def frame_angles(marker: Marker, quantity: str, name: str) -> Output:
    """Return angles of a frame in the world, or their rates, as an output."""
    attitudes = Attitudes(
        f"{marker.name!r} in the world",
        lambda m: _rotations(m, marker),
        lambda m: m.velocity(marker)[0],
        lambda m: m.acceleration(marker)[0],
        "fixed",
    )
    return angles_output(attitudes, quantity, name)


def _angle(model: Model, marker: Marker, name: str) -> Output:
    axis = turning_axis(model, marker)
    if axis is not None:
        return planar_angle(marker, name, axis)

    def refuse(m: Motion) -> Array:
        raise _no_axis(name)

    def history(result: Result) -> Array:
        found = common_axis(result._motion.velocity(marker)[0], 1e-6)
        if found is None:
            raise _no_axis(name)
        return result.output(planar_angle(marker, name, found))

    meaning = f"angle of {marker.name!r} about the one axis of its rotation in this motion"
    return Output(name, "rad", (), meaning, refuse, needs="history", history=history)


def _no_axis(name: str) -> ModelError:
    remedy = "it does not turn about one fixed axis: use 'rotation', 'quaternion' or the position of a joint"
    return ModelError("output", "name", name, remedy)


def jerk_of_point(model: Model, owner: str, name: str) -> Output | None:
    """Return the jerk of a body, marker or point as an output; None if there is none of that name."""
    marker = frame_of(model, owner)
    if marker is None:
        return None

    def value(m: Motion) -> Array:
        return m.along(lambda q, v, a: model.acceleration(marker, q, v, a)[:, 3:])

    return vector(name, "m/s3", f"jerk of {owner!r}, world axes", value, "dynamics")


FRAME_OUTPUTS: dict[str, Maker] = {
    "position": _vector(
        "position", "m", "position", lambda m, marker: m.pose(marker).position, Source("position", (0, 1, 2))
    ),
    "rotation": _rotation,
    "quaternion": _quaternion,
    "angle": _angle,
    "velocity": _vector(
        "velocity", "m/s", "speed", lambda m, marker: m.velocity(marker)[1], Source("velocity", (3, 4, 5))
    ),
    "angular_velocity": _vector(
        "angular velocity", "rad/s", "speed", lambda m, marker: m.velocity(marker)[0], Source("velocity", (0, 1, 2))
    ),
    "acceleration": _vector("acceleration", "m/s2", "dynamics", lambda m, marker: m.acceleration(marker)[1]),
    "angular_acceleration": _vector(
        "angular acceleration", "rad/s2", "dynamics", lambda m, marker: m.acceleration(marker)[0]
    ),
}
"""Outputs of a frame, by suffix."""
