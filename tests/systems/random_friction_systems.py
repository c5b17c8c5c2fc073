"""Random systems with dry friction, stops, ropes and couplings, by seed.

Trees, planar and spatial loops, geared trees, flexible trees and bodies on ropes, in turn. Joints have friction
(constant, static above sliding, by load, of balls) and stops with any restitution; springs, dampers, motors,
discontinuous laws and drives act on them. Systems start in motion, at rest, or on their stops, also towards them.
Masses are between 1 g and 1 t, in one system up to a factor of 1000 apart; gravity has any direction, or is absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dalembert as da
from dalembert.bodies.body import Body
from dalembert.connections.joints import Joint
from systems.flexible_systems import random_flexible
from systems.random_loops import ClosedSystem, close, random_loop
from systems.random_machines import LAWS, start_closed
from systems.random_trees import coin, hang_on, random_body, random_joint, random_marker

Array = NDArray[np.float64]

__all__ = ["KINDS", "LockAt", "RandomFrictionSystem", "random_friction_system"]

KINDS = ("tree", "planar loop", "spatial loop", "gears", "flexible tree", "ropes")
STARTS = ("moving", "at rest", "on stops", "towards stops")
TREE = (da.Revolute, da.Prismatic, da.Cylindrical, da.Universal, da.Spherical, da.Screw, da.Planar)
SPATIAL = (
    (da.Revolute, da.Spherical, da.Revolute, da.Universal, da.Revolute, da.Revolute),
    (da.Prismatic, da.Spherical, da.Cylindrical, da.Revolute, da.Universal, da.Revolute),
    (da.Revolute, da.Cylindrical, da.Spherical, da.Prismatic, da.Universal),
)
ARM = 0.5  # m: typical lever of the bodies


@dataclass(frozen=True)
class LockAt:
    """Event that locks a joint at a time; a class, so that it can be pickled."""

    joint: str
    t: float

    def __call__(self, state: da.State) -> float:
        return float(state.t) - self.t

    def act(self, now: Any) -> None:
        """Lock the joint."""
        now.lock(self.joint)

    def event(self) -> da.Event:
        """Return the event."""
        return da.Event(f"lock {self.joint}", self, action=self.act)


@dataclass(frozen=True, eq=False)
class RandomFrictionSystem:
    """A system, the length of its run in s, and the events of the run."""

    seed: int
    kind: str
    start: str
    system: da.System
    t_end: float
    locks: tuple[LockAt, ...] = field(default=())

    def options(self) -> dict[str, Any]:
        """Return further keywords of its runs."""
        return {"events": [lock.event() for lock in self.locks]} if self.locks else {}


def random_friction_system(seed: int) -> RandomFrictionSystem:
    """Return the system of a seed; its kind is ``KINDS[seed % 6]``."""
    rng = np.random.default_rng([seed, 26])
    kind, start = KINDS[seed % len(KINDS)], str(rng.choice(STARTS))
    size = float(rng.choice([0.0, 1.0, 9.81, 20.0], p=[0.15, 0.15, 0.5, 0.2]))
    direction = rng.normal(size=3)
    system = da.System(f"{kind} {seed}", gravity=size * direction / np.linalg.norm(direction))
    _BUILDERS[kind](system, rng)
    _scale_masses(system, rng)
    force = sum(body.mass for body in system.bodies.values()) * max(size, 3.0)
    # a drive must not stretch ropes, nor move stops of a loop with one degree of freedom
    movable = kind != "ropes" and (kind != "planar loop" or len(system.connections) > 4)
    driven = _drive(system, rng, start) if rng.random() < 0.25 and movable else ""
    _give_friction_and_stops(system, rng, start, force, driven)
    _give_speeds(system, rng, start, driven)
    _add_elements(system, rng, force, driven)
    t_end = float(rng.uniform(0.2, 0.5))
    free = [name for name in _scalar_joints(system) if name != driven]
    locks = (LockAt(str(rng.choice(free)), 0.5 * t_end),) if free and not driven and rng.random() < 0.1 else ()
    return RandomFrictionSystem(seed, kind, start, system, t_end, locks)


# ---- what is connected


def _tree(system: da.System, rng: np.random.Generator, kinds: Sequence[type[Joint]] = TREE, bodies: int = 0) -> None:
    placed: list[Body] = [system.ground]
    for k in range(bodies or int(rng.integers(2, 5))):
        parent = placed[int(rng.integers(len(placed)))]
        placed.append(hang_on(system, parent, f"b{k}", kinds[int(rng.integers(len(kinds)))], rng, backwards=coin(rng)))
    for name, connection in system.connections.items():
        if isinstance(connection.element, Joint) and connection.element.nq == connection.element.nv:
            system.initial(name, position=0.3 * rng.normal(size=connection.element.nq))


def _planar_loop(system: da.System, rng: np.random.Generator) -> None:
    """Four or five joints with parallel axes; one of them may be a slider in the plane."""

    def pin(body: Body) -> Any:
        return body.at(*rng.normal(size=3), rotation=("z", float(rng.normal())))

    body: Body = system.ground
    joints: list[Joint] = [da.Revolute("z") for _ in range(int(rng.integers(4, 6)))]
    if coin(rng):
        joints[int(rng.integers(len(joints)))] = da.Prismatic("x")
    for k, joint in enumerate(joints[:-1]):
        inner, body = body, random_body(system, f"b{k}", rng)
        system.connect(f"h_b{k}", joint, pin(inner), pin(body))
    start_closed(system, close(system, [(pin(body), system.ground, joints[-1])], rng))


def _spatial_loop(system: da.System, rng: np.random.Generator) -> None:
    kinds = SPATIAL[int(rng.integers(len(SPATIAL)))]
    turn = int(rng.integers(len(kinds)))
    closed: ClosedSystem = random_loop(rng, [*kinds[turn:], *kinds[:turn]])
    system.bodies, system.connections = closed.system.bodies, {}
    for body in system.bodies.values():
        body.system = system
    for name, connection in closed.system.connections.items():
        ends = [
            (system.ground if m.body.name == "ground" else m.body).at(*m.position, rotation=m.rotation)
            for m in (connection.first, connection.second)
        ]
        system.connect(name, connection.element, *ends)
    start_closed(system, replace(closed, system=system))


def _gears(system: da.System, rng: np.random.Generator) -> None:
    """A tree of pins and slides, some of them coupled: gears, and racks with pinions."""
    _tree(system, rng, (da.Revolute, da.Revolute, da.Prismatic), int(rng.integers(3, 6)))
    names = list(system.connections)
    rng.shuffle(names)
    for k, (first, second) in enumerate(zip(names[:-1:2], names[1::2], strict=False)):
        if k and coin(rng):
            continue
        ratio = float(rng.choice([-1.0, 1.0]) * rng.uniform(0.3, 2.5))
        s1, s2 = (float(np.ravel(system.initials[name].position)[0]) for name in (first, second))
        system.connect(f"mesh{k}", da.Coupling(ratio, s2 - ratio * s1), first, second)


def _flexible_tree(system: da.System, rng: np.random.Generator) -> None:
    """A chain of pins, slides and balls with one or two flexible bodies in it."""
    body: Body = system.ground
    flexible = int(rng.integers(3))
    for k in range(3):
        kind = (da.Revolute, da.Prismatic, da.Universal, da.Spherical)[int(rng.integers(4))]
        if k == flexible or rng.random() < 0.2:
            new = system.body(f"b{k}", random_flexible(rng, nm=2, clamped=True, damping=0.05))
            ends = [_place(body, rng), new.at(node=0)]
            name = f"h_b{k}"
            system.connect(name, random_joint(kind, rng), *ends)
        else:
            new = random_body(system, f"b{k}", rng)
            system.connect(f"h_b{k}", random_joint(kind, rng), _place(body, rng), random_marker(new, rng))
        body = new
    for name, connection in system.connections.items():
        if connection.element.nq == connection.element.nv:
            system.initial(name, position=0.2 * rng.normal(size=connection.element.nq))


def _place(body: Body, rng: np.random.Generator) -> Any:
    return random_marker(body, rng) if body.flexible is None else body.at(node=int(rng.integers(1, 5)))


def _ropes(system: da.System, rng: np.random.Generator) -> None:
    """A tree whose bodies hang on ropes, slack or just taut at the start."""
    _tree(system, rng, (da.Revolute, da.Prismatic, da.Cylindrical, da.Universal, da.Planar), int(rng.integers(2, 4)))
    model = system.compile()
    start = da.start_state(model)
    poses = model.poses(start.q)
    names = [*system.bodies]
    for k in range(int(rng.integers(1, 3))):
        body = system.bodies[names[int(rng.integers(len(names)))]]
        tip = body.at(*(0.5 * rng.normal(size=3)))
        at = model.body_names.index(body.name)
        p = poses.position[at] + poses.rotation[at] @ tip.position
        post = p + rng.normal(size=3)
        length = float(np.linalg.norm(p - post)) * float(rng.choice([1.0, 1.02, 1.2]))
        restitution = float(rng.choice([0.0, 0.3]))
        system.connect(f"rope{k}", da.Rope(length, restitution=restitution), system.ground.at(*post), tip)


_BUILDERS = {
    "tree": _tree,
    "planar loop": _planar_loop,
    "spatial loop": _spatial_loop,
    "gears": _gears,
    "flexible tree": _flexible_tree,
    "ropes": _ropes,
}


def _scale_masses(system: da.System, rng: np.random.Generator) -> None:
    """Scale all bodies by one factor, and those of every third system by factors of their own, too."""
    common = 10.0 ** rng.uniform(-2.5, 2.5) if rng.random() < 0.6 else 1.0
    for body in system.bodies.values():
        own = 10.0 ** rng.uniform(-1.5, 1.5) if rng.random() < 0.15 else 1.0
        if body.flexible is None:
            body.mass, body.inertia = common * own * body.mass, common * own * body.inertia


# ---- what acts


def _scalar_joints(system: da.System) -> list[str]:
    return [n for n, c in system.connections.items() if isinstance(c.element, Joint) and c.element.nv == 1]


def _start_of(system: da.System, name: str, n: int) -> Array | None:
    start = system.initials.get(name)
    if start is None or start.position is None:
        return None
    position = np.ravel(np.asarray(start.position, dtype=float))
    return position if len(position) == n else None


def _drive(system: da.System, rng: np.random.Generator, start: str) -> str:
    """Drive one joint of the tree by a velocity that begins at zero; return its name."""
    coupled = {name for coupling in system.couplings.values() for name in (coupling.first.name, coupling.second.name)}
    known = [n for n in _scalar_joints(system) if n in system.initials and n not in coupled and n != "c0"]
    if not known:
        return ""
    name = str(rng.choice(known))
    laws = (
        da.Harmonic(float(rng.uniform(0.2, 1.0)), float(rng.uniform(2.0, 12.0))),
        da.Ramp(0.0, float(rng.uniform(-0.8, 0.8)), 0.3),
    )
    system.drive(name, speed=laws[int(rng.integers(2))])
    return name


def _give_friction_and_stops(
    system: da.System, rng: np.random.Generator, start: str, force: float, driven: str
) -> None:
    for name, connection in list(system.connections.items()):
        joint = connection.element
        if not isinstance(joint, Joint) or not joint.nv:
            continue
        data: dict[str, Any] = {}
        scale = np.array([force if unit == "m" else ARM * force for unit in joint.speed_units])
        if rng.random() < 0.8:
            level = float(rng.choice([1e-9, 0.02, 0.1, 0.3, 3.0, 1e6], p=[0.04, 0.26, 0.3, 0.3, 0.06, 0.04]))
            one = joint.nq != joint.nv and coin(rng)
            data["friction"] = level * (float(scale.mean()) if one else scale * rng.uniform(0.5, 1.5, joint.nv))
            if rng.random() < 0.35:
                data["static_friction"] = 1.4 * data["friction"]
        if joint.friction_load and rng.random() < 0.2 and name != driven:
            mu = float(rng.uniform(0.03, 0.2))
            radius = float(rng.uniform(0.01, 0.05)) if "rad" in joint.speed_units else None
            more = {"static_coefficient": 1.3 * mu} if coin(rng) else {}
            data["load_friction"] = da.LoadFriction(mu, radius=radius, **more)
        if rng.random() < 0.3:
            data["damping"] = 0.1 * scale * rng.uniform(0.0, 1.0, joint.nv)
        position = _start_of(system, name, joint.nv) if joint.nq == joint.nv else None
        forced = driven and "c0" in system.connections  # a drive would press one stop of a loop against another
        if position is not None and name != driven and not forced and rng.random() < 0.7:
            below, above = rng.uniform(0.02, 0.4, joint.nv), rng.uniform(0.02, 0.4, joint.nv)
            if start.endswith("stops") and rng.random() < 0.6:
                below[0] = 0.0
            elif start.endswith("stops") and coin(rng):
                above[-1] = 0.0
            data |= {"lower": position - below, "upper": position + above}
            data["restitution"] = float(rng.choice([0.0, rng.uniform(0.05, 0.8), 1.0], p=[0.55, 0.4, 0.05]))
        if data:
            system.connections[name] = replace(connection, element=replace(joint, **data))


def _give_speeds(system: da.System, rng: np.random.Generator, start: str, driven: str) -> None:
    """Give speeds to joints, in systems on stops towards them; those of loops and couplings follow."""
    if start in ("at rest", "on stops"):
        return
    closed = any(not isinstance(c.element, Joint) or name == "c0" for name, c in system.connections.items())
    names = [n for n, c in system.connections.items() if isinstance(c.element, Joint) and c.element.nv and n != driven]
    for name in names[: 2 if closed else None]:
        joint = system.connections[name].element
        if name == "c0" or name not in system.initials:
            continue
        speed = rng.uniform(-1.0, 1.0, joint.nv)
        position = _start_of(system, name, joint.nv)
        if start == "towards stops" and position is not None and joint.lower is not None and not closed:
            speed = np.where(position == np.ravel(joint.lower), -abs(speed), speed)
            speed = np.where(position == np.ravel(joint.upper), abs(speed), speed)
        system.initial(name, position=system.initials[name].position, speed=speed)


def _add_elements(system: da.System, rng: np.random.Generator, force: float, driven: str) -> None:
    joints = [n for n in _scalar_joints(system) if n != driven and n in system.initials]
    for k, name in enumerate(joints):
        slides = system.connections[name].element.speed_units[0] == "m"
        F = force if slides else ARM * force
        S = float(np.ravel(system.initials[name].position)[0])
        choice = rng.random()
        if choice < 0.15:
            system.connect(f"k{k}", da.JointSpring(float(F * rng.uniform(0.5, 20)), 0.05 * F, S), name)
        elif choice < 0.30:
            motor = da.Harmonic(float(F * rng.uniform(0.05, 1.0)), float(rng.uniform(3, 20)), float(rng.uniform(0, 6)))
            system.connect(f"motor{k}", da.Effort(motor), name)
        elif choice < 0.40:
            pulse = da.laws.Pulse(float(rng.uniform(0.05, 0.3)), 0.05, float(F * rng.normal()))
            system.connect(f"kick{k}", da.Effort(pulse), name)
        elif choice < 0.55:
            law = LAWS[int(rng.integers(len(LAWS)))]
            parameters = {"F": 0.05 * F} | ({"S": S} if "S" in law else {})
            system.connect(f"law{k}", da.Element("joint", f"F*({law})", parameters, active=True), name)
    if coin(rng) and len(system.bodies) > 1:
        first, second = rng.choice(list(system.bodies.values()), 2, replace=False)
        if first.flexible is None and second.flexible is None:
            spring = da.SpringDamper(float(force * rng.uniform(0.5, 5)), 0.05 * force, float(rng.uniform(0.5, 2)))
            system.connect("spring", spring, random_marker(first, rng), random_marker(second, rng))
