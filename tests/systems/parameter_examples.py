"""Random systems with named parameters of every kind."""

from __future__ import annotations

import numpy as np

import dalembert as da
from systems.flexible_systems import random_deformed_state, random_flexible_tree
from systems.random_elements import add_random_elements
from systems.random_loops import random_closed_system
from systems.random_trees import random_state, random_system


def tree(rng):
    """Bodies on all kinds of joints with elements, laws of time and a drive."""
    s = random_system(rng, 6)
    q, v = random_state(s, rng)
    add_random_elements(s, s.compile(), q, rng, 3)
    first, last = list(s.bodies.values())[:: len(s.bodies) - 1]
    last.marker("tip", 0.2, -0.1, 0.3, rotation=da.axis_angle("x", 0.4))
    force = (da.Harmonic(2.0, 3.0, 0.1, 0.2), da.Ramp(0.0, 2.0, 0.9, 0.1), 1.0)
    s.connect("pull", da.Load(force, (da.Polynomial((1.0, 0.5, -0.3)), 0, 0), axes="body"), last.markers["tip"])
    s.connect("k", da.SpringDamper(20.0, 0.3, 0.4), s.ground.at(0.1, 0.2, 0.3), first.at(0.3, 0, 0.1))
    return s, q, v


def driven(rng):
    """A tree with a screw, an armature, and a driven joint."""
    s = random_system(rng, 3)
    arm = s.body("arm", da.box(0.4, 0.1, 0.2, mass=1.5))
    s.connect("S", da.Screw("x", pitch=0.3, armature=0.2), s.bodies["b0"].at(0.1, 0, 0), arm.at(-0.2, 0.05, 0))
    tip = s.body("tip", da.box(0.1, 0.2, 0.1, mass=0.4))
    s.connect("T", da.Revolute("z", damping=0.1), arm.at(0.2, 0, 0), tip)
    s.drive("T", position=da.Harmonic(0.7, 2.0, 0.3, 0.1))
    q, v = random_state(s, rng)
    return s, q, v


def loops(rng):
    """A tree that joints of all kinds close."""
    closed = random_closed_system(rng, 6, 3)
    q, v = closed.state(closed.system.compile())
    return closed.system, q, v


def held(rng):
    """Constraints with a length, a radius, an angle; one of them driven; a coupling."""
    s = random_system(rng, 4, joints=(da.Free, da.Spherical, da.Revolute))
    a, b, c, d = s.bodies.values()
    s.connect("bar", da.Distance(1.3), a.at(0.2, 0, 0), b.at(0, 0.1, 0))
    s.connect("rod", da.Distance(0.8), s.ground.at(0, 0, 1), c.at(0, 0, 0.2))
    s.drive("rod", position=da.Polynomial((0.8, 0.2, 0.1)))
    s.connect("lean", da.AxisAngle("x", "y", 1.1), a, d)
    turn, slide = s.body("turn", da.box(1, 1, 1, mass=1.0)), s.body("slide", da.box(1, 1, 1, mass=2.0))
    s.connect("R", da.Revolute("z"), s.ground, turn)
    s.connect("P", da.Prismatic("x"), turn, slide)
    s.connect("gear", da.Coupling(0.4, 0.1), "R", "P")
    ball = s.body("ball", da.sphere(0.3, mass=1.0))
    s.connect("roll", da.RollingSphere(0.3), s.ground, ball)
    q, v = random_state(s, rng)
    return s, q, v


def flexible(rng):
    """Rigid and flexible bodies, jointed at nodes."""
    s = random_flexible_tree(rng, 4)
    return s, *random_deformed_state(s.compile(), rng)


KINDS = (tree, driven, loops, held, flexible)


def shifted_parameters(model, rng):
    """All numbers, shifted a little so that they stay those of possible bodies."""
    own, values = model.compiled.numbers, model.parameters.copy()
    values[: model.n_element_parameters] *= rng.uniform(1.0, 1.1, model.n_element_parameters)
    numbers = values[model.n_element_parameters :]
    for group in own.groups:
        span = group.span
        if group.what == "body":
            body = model.system.bodies[group.key[0]]
            grown = body.inertia + 0.1 * np.trace(body.inertia) * np.eye(3)
            numbers[span] = body.mass * 1.2, *(body.com + rng.normal(0, 0.05, 3)), *grown[np.triu_indices(3)]
        elif group.what in ("marker", "gravity"):
            numbers[span] += rng.normal(0, 0.1, len(group.names))
        else:
            numbers[span] *= rng.uniform(1.01, 1.1, len(group.names))
            numbers[span] += 0.01 * (group.what == "modes")
    return values
