"""Random systems with closed loops, closed at a known configuration, for tests of identities.

A random tree is put into a random configuration; loop constraints are then added whose second marker is placed
where the joint, at random coordinates, wants it. So every loop is closed exactly, whichever of its
joints the forest cuts later. Velocities are random ones with the part removed that a joint forbids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from oracles.contacts import Contact
from oracles.maximal import Maximal, joint_coordinates

import dalembert as da
from dalembert.bodies.body import Body
from dalembert.bodies.markers import Marker
from dalembert.connections.joints import Fixed, Joint, Revolute, Spherical
from dalembert.model import Model
from dalembert.system import System
from dalembert.system.lookup import body_called
from dalembert.system.topology import Forest
from systems.contacts.random_contacts import CONTACTS, contact_pose
from systems.random_trees import (
    JOINTS,
    coin,
    hang_on,
    random_body,
    random_joint,
    random_marker,
    random_state,
    random_system,
)

Array = NDArray[np.float64]

__all__ = [
    "ClosedSystem",
    "close",
    "isolated_loops",
    "joint_coordinates",
    "planar_loop",
    "random_closed_system",
    "random_contacts",
    "random_coordinates",
    "random_loop",
]


@dataclass(frozen=True, eq=False)
class ClosedSystem:
    """A system with loops and a state at which all its connections hold.

    Attributes
    ----------
    system : System
    R, p : (nb, 3, 3), (nb, 3) m
        Poses of the body frames, in the order of ``system.bodies``.
    V : (nb, 6) rad/s and m/s
        [omega; velocity of the origin] of each body, world axes; no connection forbids it.
    """

    system: System
    R: Array
    p: Array
    V: Array

    def maximal(self) -> Maximal:
        """Return the oracle at this state."""
        return Maximal(self.system, self.R, self.p, self.V)

    def order(self, model: Model) -> list[int]:
        """Return for each body of the tree, in tree order, its place in the description."""
        names = list(self.system.bodies)
        return [names.index(name) for name in model.body_names]

    def state(self, model: Model) -> tuple[Array, Array]:
        """Return the model's coordinates q (nq,) and speeds v (nv,) at this state, by relative motion in each joint."""
        return tree_state(self.system, model.forest, self.R, self.p, self.V)

    def moving(self, rng: np.random.Generator) -> ClosedSystem:
        """Return the same configuration with other random velocities."""
        return replace(self, V=self.maximal().allowed(rng.normal(size=self.V.shape)))

    def of(self, system: System) -> ClosedSystem:
        """Return the same state of another description with the same bodies, in any order, closed there too."""
        names = list(self.system.bodies)
        order = [names.index(name) for name in system.bodies]
        return ClosedSystem(system, self.R[order], self.p[order], self.V[order])


def tree_state(system: System, forest: Forest, R: Array, p: Array, V: Array) -> tuple[Array, Array]:
    """Return q (nq,) and v (nv,) of the forest's joints for given poses and velocities of the bodies.

    The relative motion of a connection's second marker is looked at from its first one, whichever of
    them the tree has inboard. Bodies are in the order of ``system.bodies``.
    """
    # a system whose only connections are the tree's, those that the forest added included
    twin = system.copy()
    twin.connections = {}
    for joint in forest.joints:
        ends = [
            body_called(twin, m.body.name).at(*m.position, rotation=m.rotation) for m in (joint.inboard, joint.outboard)
        ]
        twin.connect(f"tree {joint.name}", joint.element, *(reversed(ends) if joint.reversed else ends))
    relations = Maximal(twin, R, p, V).relations.values()
    return np.concatenate([np.zeros(0), *(x.q for x in relations)]), np.concatenate(
        [np.zeros(0), *(x.v for x in relations)]
    )


def random_coordinates(joint: Joint, rng: np.random.Generator) -> Array:
    """Return random coordinates (nq,) of a joint; a quaternion has unit length."""
    q = rng.normal(size=joint.nq)
    if "qw" in joint.coordinates:
        q[:4] /= np.linalg.norm(q[:4])
    return q


def close(
    system: System,
    pairs: Iterable[tuple[Body | Marker, Body, Joint | Contact]],
    rng: np.random.Generator,
) -> ClosedSystem:
    """Add loop constraints to a tree so that it is closed at a random configuration, and return it with a state there.

    Parameters
    ----------
    system : System
        A tree; it is changed.
    pairs : iterable of (first body or marker, second body, joint or contact)
        One for each loop constraint; called ``c0``, ``c1`` ... A body stands for a random marker on it.
    """
    model = system.compile()
    q, _ = random_state(system, rng)
    poses = model.poses(q)
    order = [model.body_names.index(name) for name in system.bodies]
    R, p = poses.rotation[order], poses.position[order]
    names = list(system.bodies)

    def pose(body: Body) -> tuple[Array, Array]:
        k = names.index(body.name) if body.name != "ground" else None
        return (np.eye(3), np.zeros(3)) if k is None else (R[k], p[k])

    for number, (first, second, joint) in enumerate(pairs):
        marker = first if isinstance(first, Marker) else random_marker(first, rng)
        C, c = joint.pose(random_coordinates(joint, rng)) if isinstance(joint, Joint) else contact_pose(joint, rng)
        (R1, p1), (R2, p2) = pose(marker.body), pose(second)
        attitude, place = R1 @ marker.rotation @ C, p1 + R1 @ (marker.position + marker.rotation @ c)
        other = second.at(*(R2.T @ (place - p2)), rotation=R2.T @ attitude)
        system.connect(f"c{number}", joint, marker, other)
    return ClosedSystem(system, R, p, np.zeros((len(names), 6))).moving(rng)


def random_closed_system(
    rng: np.random.Generator,
    nb: int,
    loop_constraints: int,
    *,
    joints: Sequence[type[Joint]] = JOINTS,
    loop_constraint_joints: Sequence[type[Joint]] = JOINTS,
    isolated: int = 0,
    mobile: bool = True,
) -> ClosedSystem:
    """Return a random tree with up to `loop_constraints` random loop constraints, closed, in a random state.

    Parameters
    ----------
    nb, isolated : int
        Bodies of the tree with and without a path to ground; loop constraints are between bodies of the same part.
    joints, loop_constraint_joints : sequence of Joint types
    mobile : bool
        Leave out loop constraints that would demand more than the tree has degrees of freedom.
    """
    system = random_system(rng, nb, joints=joints, isolated=isolated)
    grounded = [system.ground, *(b for name, b in system.bodies.items() if name.startswith("b"))]
    floating = [b for name, b in system.bodies.items() if name.startswith("f")]
    left = sum(h.element.nv for h in system.forest().joints) - (6 if floating else 0)
    pairs = []
    for _ in range(loop_constraints):
        part = floating if len(grounded) == 1 or (len(floating) > 1 and rng.random() < 0.3) else grounded
        if len(part) < 2:
            continue
        i, j = rng.choice(len(part), 2, replace=False)
        joint = random_joint(loop_constraint_joints[int(rng.integers(len(loop_constraint_joints)))], rng)
        if mobile and 6 - joint.nv >= left:
            continue
        left -= 6 - joint.nv
        pairs.append((part[i], part[j], joint))
    return close(system, pairs, rng)


def random_contacts(rng: np.random.Generator, nb: int, contacts: int) -> ClosedSystem:
    """Return a random tree whose bodies touch each other and ground along curves and cams, with a few joints closed."""
    system = random_system(rng, nb)
    bodies = [system.ground, *system.bodies.values()]
    left = sum(h.element.nv for h in system.forest().joints)
    pairs: list[tuple[Body, Body, Joint | Contact]] = []
    for k in range(contacts + 1):
        kind = list(CONTACTS)[int(rng.integers(len(CONTACTS)))]
        element = CONTACTS[kind](rng) if k else Spherical()
        if 6 - element.nv < left:
            left -= 6 - element.nv
            i, j = rng.choice(len(bodies), 2, replace=False)
            pairs.append((bodies[i], bodies[j], element))
    return close(system, pairs, rng)


def random_loop(rng: np.random.Generator, kinds: Sequence[type[Joint]], *, floating: bool = False) -> ClosedSystem:
    """Return one closed loop with joints of the given types in this order, the last of them ``c0``.

    It starts and ends on ground, or if `floating` on a body that nothing holds.
    """
    system = random_system(rng, 0, isolated=int(floating))
    start = body = system.bodies["f0"] if floating else system.ground
    for k, kind in enumerate(kinds[:-1]):
        body = hang_on(system, body, f"b{k}", kind, rng, backwards=bool(rng.random() < 0.5))
    ends = [body, start]
    if rng.random() < 0.5:
        ends.reverse()
    return close(system, [(ends[0], ends[1], random_joint(kinds[-1], rng))], rng)


def planar_loop(rng: np.random.Generator, joints: int = 4) -> ClosedSystem:
    """Return a loop of revolute joints with parallel axes: it moves, though three of its rows repeat others."""
    system = System("planar loop", gravity=rng.normal(size=3) * 5)

    def pin(body: Body) -> Marker:
        return body.at(*rng.normal(size=3), rotation=("z", float(rng.normal())))

    body = system.ground
    for k in range(joints - 1):
        inner, body = body, random_body(system, f"b{k}", rng)
        system.connect(f"h_b{k}", Revolute("z"), pin(inner), pin(body))
    return close(system, [(pin(body), system.ground, Revolute("z"))], rng)


def isolated_loops(rng: np.random.Generator, loops: Sequence[Sequence[type[Joint]]]) -> ClosedSystem:
    """Return several loops on ground that share no moving body, with joints of the given types each."""
    system = System("isolated loops", gravity=rng.normal(size=3) * 5)
    pairs = []
    for number, kinds in enumerate(loops):
        body = system.ground
        for k, kind in enumerate(kinds[:-1]):
            body = hang_on(system, body, f"l{number}b{k}", kind, rng, backwards=bool(rng.random() < 0.5))
        pairs.append((body, system.ground, random_joint(kinds[-1], rng)))
    return close(system, pairs, rng)


def redundant(seed: int) -> ClosedSystem:
    """Return a random system with a weld, beside which stand other joints or welds; in some a loop with a twin."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, 3)
    outer = list(system.bodies.values())[-1]
    welded = hang_on(system, outer, "welded", Fixed, rng, backwards=coin(rng))
    tip = hang_on(system, welded, "tip", JOINTS[int(rng.integers(len(JOINTS)))], rng, backwards=coin(rng))
    kinds = [Fixed, Fixed, *JOINTS]
    pairs = [(outer, welded, random_joint(kinds[int(rng.integers(len(kinds)))], rng)) for _ in range(1 + seed % 2)]
    dofs = sum(joint.element.nv for joint in system.forest().joints)
    looped = seed % 3 == 0 and dofs > 3
    closed = close(system, [*pairs, *([(tip, system.ground, Spherical())] if looped else [])], rng)
    if looped:
        loop = system.connections[f"c{len(pairs)}"]
        system.connect("twin", loop.element, loop.first, loop.second)
    return closed


def gap(model: da.Model, a: da.Result, b: da.Result) -> float:
    """Return how far two motions end apart, rad and m."""
    return float(np.abs(model.difference(a.q[-1], b.q[-1])).max())
