"""Smooth motions of systems of every kind, for tests of integrators: a system, a state to start from, a time span."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import dalembert as da
from dalembert.library.mechanisms import andrews, bennett, four_bar, spherical_four_bar
from systems.random_loops import random_loop
from systems.random_trees import every_joint_both_ways, random_state


@dataclass(frozen=True)
class Motion:
    """A model and where it starts; `step` is a time in which it moves by a good part of a radian."""

    model: da.Model
    state: da.State | None
    span: float
    step: float


def top() -> Motion:
    """Return a heavy top on a ball joint, tilted and spinning."""
    s = da.System("top")
    top = s.body("top", mass=1.0, com=(0, 0, 0.3), inertia=(0.12, 0.11, 0.05))
    s.connect("O", da.Spherical(), s.ground, top)
    q = np.array([math.cos(0.3), math.sin(0.3), 0.0, 0.0])
    return Motion(s.compile(), da.State(q, np.array([0.3, -0.2, 9.0])), 1.6, 0.1)


def reversed_chain() -> Motion:
    """Return a free body with ball joints, named from the outside and from the inside, and a slide on it."""
    s = da.System("reversed chain", gravity=(0.3, -0.5, -2.0))
    bodies = [s.body(f"b{k}", mass=1.0 + 0.3 * k, com=(0.1, 0.2, -0.1), inertia=(0.5, 0.6, 0.7)) for k in range(4)]
    s.connect("F", da.Free(), bodies[0], s.ground)
    s.connect("S", da.Spherical(), bodies[1].at(0.3, 0.1, 0, rotation=("x", 0.4)), bodies[0].at(-0.2, 0.3, 0.1))
    s.connect("T", da.Spherical(), bodies[1].at(0, -0.4, 0), bodies[2].at(0.2, 0.2, 0.2, rotation=("y", 1.0)))
    s.connect("P", da.Prismatic("x"), bodies[3], bodies[2].at(0, 0, 0.3))
    model = s.compile()
    rng = np.random.default_rng(3)
    q, v = random_state(s, rng)
    return Motion(model, da.State(q, 0.8 * v), 3.0, 0.3)


def every_joint() -> Motion:
    """Return a tree with every joint of the library, as named and backwards."""
    rng = np.random.default_rng(5)
    s = every_joint_both_ways(rng)
    q, v = random_state(s, rng)
    return Motion(s.compile(), da.State(q, 0.3 * v), 1.5, 0.2)


def planar_loop() -> Motion:
    """Return a four-bar of spatial revolutes, turning: three of its rows repeat others."""
    s = four_bar(angle=0.7)
    s.initial("A", speed=8.0)
    return Motion(s.compile(), None, 0.8, 0.05)


def bennetts_loop() -> Motion:
    """Return Bennett's linkage, which counting calls immobile, turning."""
    s = bennett()
    s.initial("A", speed=1.875)
    return Motion(s.compile(), None, 0.8, 0.05)


def spherical_loop() -> Motion:
    """Return a spherical four-bar, turning."""
    s = spherical_four_bar()
    s.initial("A", speed=2.0)
    return Motion(s.compile(), None, 3.0, 0.05)


def spatial_loop() -> Motion:
    """Return a random loop of a revolute, a universal, a ball and another revolute, one degree of freedom."""
    rng = np.random.default_rng(11)
    closed = random_loop(rng, [da.Revolute, da.Spherical, da.Universal, da.Revolute])
    model = closed.system.compile()
    q, v = closed.state(model)
    return Motion(model, da.State(q, v), 3.0, 0.05)


def squeezer() -> Motion:
    """Return Andrews' mechanism: three loops, a spring and a torque."""
    return Motion(andrews().compile(), None, 0.008, 0.0005)


def rolling_disc() -> Motion:
    """Return a disc that rolls on a plane without slip, wobbling."""
    s = da.System("disc")
    disc = s.body("disc", mass=1.0, inertia=(0.02, 0.02, 0.04))
    s.connect("roll", da.RollingDisc(0.3), s.ground, disc)
    model = s.compile()
    q = da.assemble(model, state=[math.cos(0.65), math.sin(0.65), 0, 0, 0, 0, 0.3]).q
    v = da.consistent_velocities(model, q, [0.3, 0.5, 6.0, 0.0, 0.0, 0.0])
    return Motion(model, da.State(q, v), 0.8, 0.05)


def _arm(name: str, links: int = 4) -> da.System:
    s = da.System(name)
    before: da.Body = s.ground
    for k in range(links):
        link = s.body(f"b{k}", da.rod(length=0.6, mass=1.0, radius=0.05))
        end = before.at(0.6, 0, 0) if k else before.origin
        s.connect(f"J{k}", da.Revolute("zyxy"[k % 4]), end, link)
        s.initial(f"J{k}", position=0.3 * (k + 1), speed=0.5)
        before = link
    return s


def driven_joints() -> Motion:
    """Return an arm with joints driven in position, speed and acceleration, by a library law, a table, a function."""
    s = _arm("driven arm", 5)
    times = np.linspace(-0.5, 2.5, 13)
    s.drive("J0", position=da.Harmonic(0.7, 3.0, phase=0.4))
    s.drive("J1", speed=da.Spline(times, 0.5 * times**3 - 0.2 * times**4, degree=5))
    s.drive("J2", acceleration=da.Polynomial((1.0, -2.0, 1.0)))
    s.drive("J3", position=da.FunctionLaw(lambda t: math.sin(2 * t), lambda t: 2 * math.cos(2 * t), _minus_four_sin))
    return Motion(s.compile(), None, 1.6, 0.1)


def _minus_four_sin(t: float) -> float:
    return -4 * math.sin(2 * t)


def driven_loop() -> Motion:
    """Return a four-bar whose crank follows a ramp, with a pendulum on its coupler."""
    s = four_bar(angle=0.7)
    bob = s.body("bob", mass=0.5, com=(0.4, 0, 0), inertia=(0.01, 0.02, 0.02))
    s.connect("E", da.Spherical(), s.bodies["coupler"].at(1.2, 0.3, 0), bob)
    s.drive("A", position=da.Ramp(0.7, 3.7, 2.0, begin=-0.3))
    return Motion(s.compile(), None, 1.2, 0.075)


def driven_rows() -> Motion:
    """Return two free bodies whose distance and the angle between whose axes follow laws."""
    s = da.System("driven rows")
    one = s.body("one", mass=1.0, inertia=(0.3, 0.4, 0.5))
    two = s.body("two", mass=2.0, inertia=(0.6, 0.5, 0.4))
    s.connect("U", da.Universal("x", "y"), s.ground, one)
    s.connect("F", da.Free(), s.ground, two)
    s.connect("rod", da.Distance(1.0), one.at(0.3, 0.2, -0.5), two.at(0, 0.1, 0.2))
    s.connect("cone", da.AxisAngle("z", "z", 0.8), one, two)
    s.drive("rod", position=da.Harmonic(0.3, 3.0, offset=1.0))
    s.drive("cone", position=da.Polynomial((0.8, 0.3, 0.2)))
    s.initial("F", position=(0.95, 0.3, 0.1, 0.0, 0.5, 0.2, -1.2))
    return Motion(s.compile(), None, 0.8, 0.05)


def springs_and_loads() -> Motion:
    """Return an arm and a free body with springs, dampers, loads in both axes, efforts by laws and by a function."""
    s = _arm("springs and loads")
    ball = s.body("ball", mass=1.0, com=(0.1, 0, 0), inertia=(0.2, 0.25, 0.3))
    s.connect("F", da.Free(), s.ground, ball)
    s.initial("F", position=(1, 0, 0, 0, 2.0, 1.0, 0.5))
    s.connect("spring", da.SpringDamper(20.0, 1.5, length=0.7), s.bodies["b3"].at(0.6, 0, 0), ball.at(0, 0.2, 0.1))
    s.connect("torsion", da.TorsionSpring(4.0, 0.3, rest=0.5), "J1")
    s.connect("effort", da.Effort(lambda t: math.exp(-t) * math.cos(3 * t)), "J2")
    s.connect("world", da.Load(force=(da.Harmonic(2.0, 4.0), 0.5, da.Polynomial((0.0, 1.0)))), ball.at(0.1, 0.1, 0))
    s.connect("body", da.Load(moment=(0, da.Harmonic(0.5, 5.0), 0), force=(0, 0, 9.0), axes="body"), ball.at(0, 0, 0.3))
    s.connect("stop", da.JointSpring(1.0, 0.2), "J0")
    return Motion(s.compile(), None, 0.7, 0.02)


MOTIONS: dict[str, Callable[[], Motion]] = {
    f.__name__: f
    for f in (
        top,
        reversed_chain,
        every_joint,
        planar_loop,
        bennetts_loop,
        spherical_loop,
        spatial_loop,
        squeezer,
        rolling_disc,
        driven_joints,
        driven_loop,
        driven_rows,
        springs_and_loads,
    )
}
