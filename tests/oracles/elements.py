"""Measures and forces of a single element at many states, in NumPy; the core does all of them at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.bodies.markers import Marker
from dalembert.connections.connection import Connection
from dalembert.connections.elements.built_in import (
    Effort,
    ForceConnection,
    JointSpring,
    Limits,
    Load,
    SpringDamper,
)
from dalembert.connections.elements.element import MEASURES, Element
from dalembert.connections.elements.signals import Reaction, Sensor, Source
from dalembert.connections.laws import Law
from dalembert.model.connection_loads import second_markers
from dalembert.result import Motion, Output

Array = NDArray[np.float64]


def element_load(motion: Motion, force: ForceConnection, port: int = 0) -> Array:
    """Return [moment; force] on the second marker (n, 6) N m and N, world axes, or the effort (n,) at a coordinate.

    Of an element with several ports: on the marker, or at the coordinate, of one of them.
    """
    numbers = {field: number(motion, f"{force.name}.{field}") for field in force.element.fields}
    match force.element:
        case SpringDamper():
            assert force.first is not None and force.second is not None
            return _spring(motion, numbers, force.first, force.second)
        case Load() as load:
            assert force.second is not None
            return _load(motion, load, force.second)
        case JointSpring():
            place, speed = _coordinate(motion, *force.joint_coordinates[0])
            return -numbers["stiffness"] * (place - numbers["rest"]) - numbers["damping"] * speed
        case Limits():
            return _limits(numbers, *_coordinate(motion, *force.joint_coordinates[0]))
        case Effort() as effort:
            return _values(effort.law, motion)
        case Element() as element:
            return _own_law(motion, element, force, port)
    raise NotImplementedError(f"the load of a {force.element.kind}")


def element_inputs(motion: Motion, force: ForceConnection) -> Array:
    """Return what the law of an `Element` takes at every state, (n, len(element.takes))."""
    element, model = force.element, motion.model
    assert isinstance(element, Element)
    names = [f"{force.name}.{state}" for state in element.states]
    states = motion.x[:, [model.state_names.index(name) for name in names]]
    parameters = [number(motion, f"{force.name}.{name}") for name in element.parameters]
    measured = [_port(motion, force, k) for k in range(len(element.each_measure))]
    columns = [*(s for s, _ in measured), *(rate for _, rate in measured)]
    inputs = [_input(motion, source) for source in element.sources.values()]
    return np.column_stack([motion.t, *columns, states, *parameters, *inputs])


def _input(motion: Motion, source: Source) -> Array:
    """Return an input of an element at every state, (n,)."""
    match source:
        case Sensor():
            s, rate = _between(motion, source.measure, source.first, source.second)
            return np.concatenate([s, rate], axis=1)[:, source.part]
        case Reaction():
            return _reaction(motion, source)
        case str():
            return Output.of(motion.model, source).value(motion)
        case law:
            return _values(law, motion)


def _reaction(motion: Motion, reaction: Reaction) -> Array:
    model = motion.model
    load = motion.part("loads")[:, model.connection_names.index(reaction.connection)].reshape(-1, 2, 3)
    R = model.pose(second_markers(model)[reaction.connection], motion.q).rotation
    turned: Array = np.einsum("nji,nkj->nki", R, load).reshape(-1, 6)[:, reaction.number]
    return turned


def _port(motion: Motion, force: ForceConnection, k: int) -> tuple[Array, Array]:
    """Return what an element measures at one of its ports, and its rates, (n, measures) each."""
    element = force.element
    assert isinstance(element, Element)
    if element.at_joint:
        place, speed = _coordinate(motion, *force.joint_coordinates[k])
        return place[:, None], speed[:, None]
    return _between(motion, element.each_measure[k], force.ends[0], force.ends[k + 1])


def _between(motion: Motion, measure: str, A: Marker, B: Marker) -> tuple[Array, Array]:
    """Return the measures between two markers and their rates, (n, measures) each; see core/elements/measures.hpp."""
    first, second = (motion.model.pose(end, motion.q) for end in (A, B))
    (w_A, u_A), (w_B, u_B) = motion.velocity(A), motion.velocity(B)
    r = second.position - first.position
    if measure == "distance":
        e, length = _direction(r)
        return length, (e * (u_B - u_A)).sum(axis=1, keepdims=True)
    R = first.rotation
    into = [np.einsum("nji,nj->ni", R, part) for part in (r, u_B - u_A - np.cross(w_A, r), w_B - w_A)]
    if measure == "place":
        return into[0], into[1]
    turn = rotation_vectors(np.einsum("nji,njk->nik", R, second.rotation))
    return np.concatenate([into[0], turn], axis=1), np.concatenate([into[1], into[2]], axis=1)


def rotation_vectors(R: Array) -> Array:
    """Return the rotation vectors (n, 3) rad of rotation matrices (n, 3, 3), shorter than half a turn."""
    w = 0.5 * np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1)
    sine, cosine = np.linalg.norm(w, axis=1, keepdims=True), 0.5 * (np.trace(R, axis1=1, axis2=2)[:, None] - 1.0)
    ratio = np.divide(np.arctan2(sine, cosine), sine, out=np.ones_like(sine), where=sine > 1e-150)
    turned: Array = ratio * w
    return turned


def element_answers(motion: Motion, force: ForceConnection) -> Array:
    """Return what the law of an `Element` gives at every state, (n, element.gives)."""
    assert isinstance(force.element, Element)
    return force.element.evaluate(element_inputs(motion, force))


def _own_law(motion: Motion, element: Element, force: ForceConnection, port: int) -> Array:
    measure = element.each_measure[port]
    first_place = sum(len(MEASURES[m][0]) for m in element.each_measure[:port])
    size = len(MEASURES[measure][0])
    answer = element_answers(motion, force)[:, first_place : first_place + size]
    if element.at_joint:
        return answer[:, 0]
    first, second = (motion.model.pose(end, motion.q) for end in (force.ends[0], force.ends[port + 1]))
    if measure == "distance":
        along = answer * _direction(second.position - first.position)[0]
        return np.concatenate([np.zeros_like(along), along], axis=1)
    push = np.einsum("nij,nj->ni", first.rotation, answer[:, :3])
    twist = np.einsum("nij,nj->ni", first.rotation, answer[:, 3:]) if measure == "pose" else np.zeros_like(push)
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
    values = np.stack([_values(law, motion) for law in (*load.moment, *load.force)], axis=1)
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


def _coordinate(motion: Motion, joint: Connection, k: int) -> tuple[Array, Array]:
    """Return position and speed (n,) of a coordinate of a joint of the tree."""
    q, v = motion.model.q_slice(joint.name).start, motion.model.v_slice(joint.name).start
    return motion.q[:, q + k], motion.v[:, v + k]


def number(motion: Motion, name: str) -> Array:
    """Return a number of an element for each state, (n,)."""
    model = motion.model
    return np.full(len(motion), model.parameters[model.parameter_names[name]])


def _values(law: Law, motion: Motion) -> Array:
    return np.array([law(t)[0] for t in motion.t.tolist()])
