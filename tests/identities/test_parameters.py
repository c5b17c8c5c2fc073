"""Numbers of a system by name: other values without compiling again, and exact derivatives by them."""

from __future__ import annotations

import numpy as np
import pytest
from systems.flexible_systems import random_deformed_state, random_flexible_tree
from systems.random_elements import add_random_elements
from systems.random_loops import random_closed_system
from systems.random_trees import random_state, random_system

import dalembert as da


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


def moved(model, rng):
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


def with_elements(system, model, values):
    """The description with the numbers of elements that conditions have, too."""
    new = system.copy()
    for name, force in list(new.forces.items()):
        numbers = {}
        for label in (*force.element.fields, *getattr(force.element, "parameters", {})):
            numbers[label] = float(values[model.parameter_names[f"{name}.{label}"]])
        if numbers and force.element.fields:
            object.__setattr__(force, "element", type(force.element)(**numbers))
        elif numbers:
            force.element.__dict__["parameters"] = numbers
    return new


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_with_other_numbers_is_that_of_the_description_which_has_them(kind):
    rng = np.random.default_rng(3)
    s, q, v = kind(rng)
    model = s.compile()
    values = moved(model, rng)
    other = model.with_parameters(values)
    fresh = with_elements(other.system, model, values).compile()
    fresh_damping = fresh.conditions(np.append(values[: model.n_element_parameters], fresh.mapped_parameters))
    ours, theirs = other.dynamics(0.4, q, v), fresh.dynamics(0.4, q, v, conditions=fresh_damping)
    scale = 1.0 + np.abs(theirs.a).max()
    np.testing.assert_allclose(ours.a, theirs.a, atol=1e-10 * scale)
    np.testing.assert_allclose(ours.tau, theirs.tau, atol=1e-10 * (1.0 + np.abs(theirs.tau).max()))
    np.testing.assert_allclose(other.energy(q, v), fresh.energy(q, v, conditions=None), rtol=1e-12)
    np.testing.assert_allclose(other.constraint_residual(q), fresh.constraint_residual(q), atol=1e-12)
    np.testing.assert_allclose(other.poses(q).position, fresh.poses(q).position, atol=1e-12)
    again = model.dynamics(0.4, q, v, conditions=model.conditions(values))
    np.testing.assert_array_equal(again.a, ours.a)


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_by_all_numbers_are_those_of_differences(kind):
    rng = np.random.default_rng(11)
    s, q, v = kind(rng)
    model = s.compile().with_parameters(moved(s.compile(), rng))  # bodies that may take a step to either side
    chosen = [n for n in model.parameter_names if not n.endswith((".lower", ".upper"))]
    names = sorted(rng.choice(chosen, size=min(60, len(chosen)), replace=False))
    exact = model.d_dynamics(0.4, q, v, parameters=names)
    assert exact.a.parameters.shape == (model.nv, len(names))
    scale = 1.0 + np.abs(model.dynamics(0.4, q, v).a).max()

    def at(name, shift):
        value = model.parameters[model.parameter_names[name]]
        value = np.arccos(value) if name == "lean.angle" else value
        changed = model.conditions({name: value + shift})
        found = model.dynamics(0.4, q, v, conditions=changed)
        return np.concatenate([found.a, found.dx])

    h = 1e-4  # five points: off by h^4, below round-off over h
    for k, name in enumerate(names):
        a, b, c, d = (at(name, step * h) for step in (-2, -1, 1, 2))
        slope = (a - 8 * b + 8 * c - d) / (12 * h)
        ours = np.concatenate([exact.a.parameters[:, k], exact.dx.parameters[:, k]])
        np.testing.assert_allclose(ours, slope, atol=2e-8 * scale * (1.0 + np.abs(slope).max()), err_msg=name)
