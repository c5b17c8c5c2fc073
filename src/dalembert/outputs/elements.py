"""What a single force element gives at many states, in NumPy; the core adds up all of them (core/forces.hpp)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..bodies.markers import Marker
from ..connections.energetic import Effort, ForceConnection, HingeSpring, Limits, Load, SpringDamper
from ..connections.laws import Law

if TYPE_CHECKING:
    from .motion import Motion

__all__ = ["element_load"]

Array = NDArray[np.float64]


def element_load(motion: Motion, force: ForceConnection) -> Array:
    """Return [moment; force] on the second marker (n, 6) N m and N, world axes, or the effort (n,) at a coordinate."""
    numbers = {field: motion.number(f"{force.name}.{field}") for field in force.element.fields}
    match force.element:
        case SpringDamper():
            assert force.first is not None and force.second is not None
            return _spring(motion, numbers, force.first, force.second)
        case Load() as load:
            assert force.second is not None
            return _load(motion, load, force.second)
        case HingeSpring():
            place, speed = _coordinate(motion, force)
            return -numbers["stiffness"] * (place - numbers["rest"]) - numbers["damping"] * speed
        case Limits():
            return _limits(numbers, *_coordinate(motion, force))
        case Effort() as effort:
            return _values(effort.law, motion)
    raise NotImplementedError(f"the load of a {force.element.kind}")


def _spring(motion: Motion, numbers: dict[str, Array], first: Marker, second: Marker) -> Array:
    model, q = motion.model, motion.q
    r = model.pose(second, q).position - model.pose(first, q).position
    rate = motion.velocity(second)[1] - motion.velocity(first)[1]
    length = np.linalg.norm(r, axis=1, keepdims=True)
    e = np.divide(r, length, out=np.zeros_like(r), where=length > 0)  # no direction: no force
    k, c, rest = (numbers[field][:, None] for field in ("stiffness", "damping", "length"))
    tension = k * (length - rest) + c * (e * rate).sum(axis=1, keepdims=True)
    return np.concatenate([np.zeros_like(r), -tension * e], axis=1)


def _load(motion: Motion, load: Load, marker: Marker) -> Array:
    values = np.stack([_values(law, motion) for law in load.laws], axis=1)
    if load.axes == "world":
        return values
    R = motion.model.pose(marker, motion.q).rotation
    turned: Array = np.einsum("nij,nkj->nki", R, values.reshape(-1, 2, 3)).reshape(-1, 6)
    return turned


def _limits(numbers: dict[str, Array], place: Array, speed: Array) -> Array:
    lower, upper, stiffness, damping = (numbers[field] for field in ("lower", "upper", "stiffness", "damping"))
    below = np.maximum(0.0, stiffness * (lower - place) - damping * speed)
    above = np.minimum(0.0, stiffness * (upper - place) - damping * speed)
    effort: Array = np.where(place < lower, below, np.where(place > upper, above, 0.0))
    return effort


def _coordinate(motion: Motion, force: ForceConnection) -> tuple[Array, Array]:
    """Return position and speed (n,) of the coordinate that an element acts at."""
    hinge, k = force.hinge, force.coordinate
    assert hinge is not None
    model = motion.model
    if hinge.name in model.hinge_names:
        q, v = model.q_slice(hinge.name).start, model.v_slice(hinge.name).start
        return motion.q[:, q + k], motion.v[:, v + k]
    return motion.chord_position(hinge)[:, k], motion.chord_speed(hinge)[:, k]


def _values(law: Law, motion: Motion) -> Array:
    return np.array([law(t)[0] for t in motion.t.tolist()])
