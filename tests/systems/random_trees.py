"""Random trees of rigid bodies and random states, for tests of identities.

Everything that the description allows is random: which body hangs on which, in which direction the
user named the two markers, where the markers are and how they are turned, the joints' axes, the
bodies' inertias. Nothing here uses the compiled core.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dalembert.bodies.body import Body
from dalembert.bodies.markers import Marker
from dalembert.connections.joints import (
    Cylindrical,
    Fixed,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from dalembert.rotation import quaternion
from dalembert.system import System

Array = NDArray[np.float64]

JOINTS: tuple[type[Joint], ...] = (
    Fixed,
    Revolute,
    Prismatic,
    Screw,
    Cylindrical,
    Universal,
    Planar,
    Spherical,
    Free,
)
"""Every joint of the library."""

COORDINATE_JOINTS: tuple[type[Joint], ...] = (Fixed, Revolute, Prismatic, Screw, Cylindrical, Universal, Planar)
"""Those whose speeds are the rates of their coordinates."""


def random_system(
    rng: np.random.Generator,
    nb: int,
    *,
    joints: Sequence[type[Joint]] = JOINTS,
    reversed_allowed: bool = True,
    isolated: int = 0,
    gravity: bool = True,
) -> System:
    """Return a tree of `nb` bodies with random joints of the given types.

    Parameters
    ----------
    rng : numpy.random.Generator
    nb : int
        Number of bodies, the isolated ones not counted.
    joints : sequence of Joint types
        One is drawn for every body. A root gets one of them too, so the base need not be free.
    reversed_allowed : bool
        Whether the user may have named the outer marker first.
    isolated : int
        Bodies without a path to ground; they hang on one another, the forest adds the free joint.
    gravity : bool
        Random gravity, or none.
    """
    system = System("random", gravity=rng.normal(size=3) * 5 if gravity else (0, 0, 0))
    placed = [system.ground]
    for k in range(nb):
        kind = joints[int(rng.integers(len(joints)))]
        parent = placed[int(rng.integers(len(placed)))]
        placed.append(hang_on(system, parent, f"b{k}", kind, rng, backwards=reversed_allowed and coin(rng)))
    floating: list[Body] = []
    for k in range(isolated):
        name = f"f{k}"
        if floating:
            kind = joints[int(rng.integers(len(joints)))]
            hang_on(system, floating[int(rng.integers(len(floating)))], name, kind, rng, backwards=coin(rng))
        else:
            random_body(system, name, rng)
        floating.append(system.bodies[name])
    return system


def hang_on(
    system: System, parent: Body, name: str, kind: type[Joint], rng: np.random.Generator, *, backwards: bool
) -> Body:
    """Add a random body to `parent` by a random joint of type `kind`; `backwards` names the new body first."""
    body = random_body(system, name, rng)
    ends = [random_marker(parent, rng), random_marker(body, rng)]
    if backwards:
        ends.reverse()
    system.connect(f"h_{name}", random_joint(kind, rng), ends[0], ends[1])
    return body


def random_body(system: System, name: str, rng: np.random.Generator) -> Body:
    """Add a body with random mass, mass centre and inertia tensor."""
    # the inertia of a cloud of mass: trace(S) 1 - S for a positive S, so the triangle inequality holds
    A = rng.normal(size=(3, 3))
    S = 0.1 * (A @ A.T + 0.2 * np.eye(3))
    return system.body(
        name, mass=float(rng.uniform(0.5, 3.0)), com=0.4 * rng.normal(size=3), inertia=np.trace(S) * np.eye(3) - S
    )


def random_marker(body: Body, rng: np.random.Generator) -> Marker:
    """Return a marker anywhere on a body, turned anyhow."""
    return body.at(*(0.6 * rng.normal(size=3)), rotation=quaternion(*rng.normal(size=4)))


def random_joint(kind: type[Joint], rng: np.random.Generator) -> Joint:
    """Return a joint of the given type with random axes."""
    axis = rng.normal(size=3)
    if kind is Screw:
        return Screw(axis, float(rng.normal()))
    if kind is Universal:
        return Universal(axis, np.cross(axis, rng.normal(size=3)))
    if kind is Planar:
        return Planar(axis)
    if kind in (Revolute, Prismatic, Cylindrical):
        return kind(axis)
    return kind()


def random_state(system: System, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return coordinates q (nq,) and speeds v (nv,) in tree order; quaternions have unit length."""
    elements = [joint.element for joint in system.forest().joints]
    q = [np.zeros(0)]
    for element in elements:
        x = rng.normal(size=element.nq)
        if "qw" in element.coordinates:
            x[:4] /= np.linalg.norm(x[:4])
        q.append(x)
    return np.concatenate(q), rng.normal(size=sum(element.nv for element in elements))


def coordinate_rates(system: System, q: Array, v: Array) -> Array:
    """Return q' = N(q) v, (nq,)."""
    rates, i, j = [np.zeros(0)], 0, 0
    for joint in system.forest().joints:
        element = joint.element
        rates.append(element.rates(q[i : i + element.nq], v[j : j + element.nv]))
        i, j = i + element.nq, j + element.nv
    return np.concatenate(rates)


def coin(rng: np.random.Generator) -> bool:
    """Toss."""
    return bool(rng.random() < 0.5)


def every_joint_both_ways(rng: np.random.Generator, *, joints: Sequence[type[Joint]] = JOINTS) -> System:
    """Return a random tree that holds each joint type twice: as the user named it, and walked backwards."""
    system = System("every joint", gravity=rng.normal(size=3) * 5)
    placed = [system.ground]
    for number in rng.permutation(2 * len(joints)):
        kind, backwards = joints[number // 2], bool(number % 2)
        parent = placed[int(rng.integers(len(placed)))]
        placed.append(hang_on(system, parent, f"{kind.__name__}{'_back' * backwards}", kind, rng, backwards=backwards))
    return system


def derivative(f: Callable[[float], Array], h: float = 1e-3) -> Array:
    """Return f'(0) by the five-point rule; error h^4 f'''''/30, rounding about 1e-16 |f|/h."""
    result: Array = (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)
    return result
