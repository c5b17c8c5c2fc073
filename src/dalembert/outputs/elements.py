"""What a single force element gives at many states, in NumPy; the core adds up all of them (core/forces.hpp)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..bodies.markers import Marker
from ..connections.elements import Element
from ..connections.energetic import Effort, ForceConnection, HingeSpring, Limits, Load, SpringDamper
from ..connections.laws import Law

if TYPE_CHECKING:
    from .motion import Motion

__all__ = ["element_inputs", "element_load", "rotation_vectors"]

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
        case Element() as element:
            return _own_law(motion, element, force)
    raise NotImplementedError(f"the load of a {force.element.kind}")


def element_inputs(motion: Motion, force: ForceConnection) -> Array:
    """Return what the law of an `Element` takes at every state, (n, len(element.inputs))."""
    element, model = force.element, motion.model
    assert isinstance(element, Element)
    names = [f"{force.name}.{state}" for state in element.states]
    states = motion.x[:, [model.state_names.index(name) for name in names]]
    parameters = [motion.number(f"{force.name}.{name}") for name in element.parameters]
    return np.column_stack([motion.t, *_measured(motion, element, force), states, *parameters])


def _measured(motion: Motion, element: Element, force: ForceConnection) -> tuple[Array, Array]:
    """Return what an element measures and its rates, (n, measures) each; as in core/elements.hpp."""
    if element.at_hinge:
        place, speed = _coordinate(motion, force)
        return place[:, None], speed[:, None]
    assert force.first is not None and force.second is not None
    first, second = (motion.model.pose(end, motion.q) for end in (force.first, force.second))
    (w_A, u_A), (w_B, u_B) = motion.velocity(force.first), motion.velocity(force.second)
    r = second.position - first.position
    if element.measure == "distance":
        e, length = _direction(r)
        return length, (e * (u_B - u_A)).sum(axis=1, keepdims=True)
    R = first.rotation
    into = [np.einsum("nji,nj->ni", R, part) for part in (r, u_B - u_A - np.cross(w_A, r), w_B - w_A)]
    if element.measure == "place":
        return into[0], into[1]
    turn = rotation_vectors(np.einsum("nji,njk->nik", R, second.rotation))
    return np.concatenate([into[0], turn], axis=1), np.concatenate([into[1], into[2]], axis=1)


def rotation_vectors(R: Array) -> Array:
    """Return the rotation vectors (n, 3) rad of rotation matrices (n, 3, 3), shorter than half a turn."""
    w = 0.5 * np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1)
    sine, cosine = np.linalg.norm(w, axis=1, keepdims=True), 0.5 * (np.trace(R, axis1=1, axis2=2)[:, None] - 1.0)
    ratio = np.divide(np.arctan2(sine, cosine), sine, out=np.ones_like(sine), where=sine > 1e-9)
    turned: Array = ratio * w
    return turned


def _own_law(motion: Motion, element: Element, force: ForceConnection) -> Array:
    answer = element.answers(element_inputs(motion, force))[:, : element.measures]
    if element.at_hinge:
        return answer[:, 0]
    assert force.first is not None and force.second is not None
    first, second = (motion.model.pose(end, motion.q) for end in (force.first, force.second))
    if element.measure == "distance":
        along = answer * _direction(second.position - first.position)[0]
        return np.concatenate([np.zeros_like(along), along], axis=1)
    push = np.einsum("nij,nj->ni", first.rotation, answer[:, :3])
    twist = np.einsum("nij,nj->ni", first.rotation, answer[:, 3:]) if element.measure == "pose" else np.zeros_like(push)
    return np.concatenate([twist, push], axis=1)


def _direction(r: Array) -> tuple[Array, Array]:
    """Return unit vectors (n, 3), zero without a direction, and lengths (n, 1)."""
    length = np.linalg.norm(r, axis=1, keepdims=True)
    return np.divide(r, length, out=np.zeros_like(r), where=length > 0), length


def _spring(motion: Motion, numbers: dict[str, Array], first: Marker, second: Marker) -> Array:
    model, q = motion.model, motion.q
    r = model.pose(second, q).position - model.pose(first, q).position
    rate = motion.velocity(second)[1] - motion.velocity(first)[1]
    e, length = _direction(r)  # no direction: no force
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
