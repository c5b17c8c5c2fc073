"""Eigenvalues are those of small motions that are simulated, on random systems of every kind with element states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.flexible_systems import random_flexible_tree
from systems.random_loops import random_closed_system
from systems.random_trees import random_marker, random_system

import dalembert as da
from dalembert.connections.joints import Prismatic, Revolute

Array = NDArray[np.float64]
Number = Callable[[float, float], float]

SMALL = 1e-4  # of the largest component; the next order is odd: 1e-8

WITH_STATES: tuple[Callable[[Number], Any], ...] = (
    lambda u: da.Maxwell(u(5, 30), u(0.5, 2)),
    lambda u: da.Zener(u(5, 30), u(5, 30), u(0.5, 2)),
    lambda u: da.GeneralizedMaxwell(u(5, 20), [(u(5, 20), u(0.1, 1)), (u(5, 20), u(0.1, 1))]),
    lambda u: da.StateSpace([[-u(1, 3)]], [[u(1, 3)]], [[u(1, 3)]], [[u(0, 1)]], ["0.3 - s"]),
    lambda u: da.TransferFunction([u(1, 2), u(1, 5)], [u(0.1, 0.5), 1.0], "0.2 - s"),
    lambda u: da.DCMotor("2 - 2*s", u(0.5, 2), u(0.1, 0.5), u(0.05, 0.2), gear=u(1, 3)),
)


def held_by_springs(s: da.System, rng: np.random.Generator) -> da.System:
    """Return a system with springs from every body to the ground and elements that have states, so that it rests."""

    def u(low: float, high: float) -> float:
        return float(rng.uniform(low, high))

    for body in list(s.bodies.values()):
        for k in range(3):
            spring = da.SpringDamper(u(100, 400), u(0.5, 2), u(0.5, 1.5))
            s.connect(f"{body.name}_{k}", spring, s.ground.at(*rng.normal(size=3)), random_marker(body, rng))
    one = [c.name for c in s.connections.values() if isinstance(c.element, (Revolute, Prismatic))]
    for k, name in enumerate(one):
        s.connect(f"state{k}", WITH_STATES[k % len(WITH_STATES)](u), name)
    body = rng.choice(list(s.bodies))
    s.connect(
        "line", da.Maxwell(u(20, 60), u(5, 20), measure="distance"), s.ground.at(*rng.normal(size=3)), s.bodies[body]
    )
    return s


def measured(found: da.Modes, k: int) -> complex:
    """Return the eigenvalue of mode k as two motions from either side of rest tell it, over a part of a cycle."""
    space, value = found.space, found.eigenvalues[k]
    model, rest = space.model, space.state
    n, m = space.ny, space.ny + space.nz
    shape = found.changes[:, k] / abs(found.changes[:, k]).max()
    span = 1.0 / abs(value)

    def after(change: Array) -> Array:
        start = space.neighbour(change[:n], change[n:m], change[m:])
        end = da.simulate(model, span, state=start, times=[0.0, span], rtol=1e-11, atol=1e-13).final_state
        moved = model.difference(rest.q, end.q)[space.positions]
        return np.concatenate([moved, end.v[space.speeds] - rest.v[space.speeds], end.x - rest.x])

    real, imaginary = ((after(SMALL * part) - after(-SMALL * part)) / (2 * SMALL) for part in (shape.real, shape.imag))
    return complex(np.log(np.vdot(shape, real + 1j * imaginary) / np.vdot(shape, shape)) / span)


def agrees(s: da.System, rng: np.random.Generator, state: Any = None) -> None:
    eq = da.equilibrium(s, state=state)
    found = da.modes(s, eq)
    assert not any("no equilibrium" in note for note in found.notes)
    swinging = np.flatnonzero(found.frequencies > 0.0)
    for k in rng.choice(swinging, size=min(2, len(swinging)), replace=False):
        value = found.eigenvalues[k]
        assert abs(measured(found, int(k)) - value) < 1e-5 * abs(value)
    overdamped = np.flatnonzero((found.frequencies == 0.0) & (np.abs(found.eigenvalues) > 0.1))
    for k in overdamped[:1]:
        value = found.eigenvalues[k]
        assert abs(measured(found, int(k)) - value) < 1e-5 * abs(value)
    assert s.compile().nx


@pytest.mark.parametrize("seed", [11, 12])
def test_trees_with_element_states(seed: int) -> None:
    rng = np.random.default_rng(seed)
    agrees(held_by_springs(random_system(rng, 4), rng), rng)


@pytest.mark.parametrize("seed", [21, 22])
def test_loops_with_element_states(seed: int) -> None:
    rng = np.random.default_rng(seed)
    closed = random_closed_system(rng, 4, 1)
    model = closed.system.compile()
    q, _ = closed.state(model)
    s = held_by_springs(closed.system, rng)
    agrees(s, rng, da.State(q, np.zeros(model.nv)))


def skate() -> da.System:
    """Return a blade that slides along its edge only, and a rider who swings on it."""
    s = da.System("skate")
    blade, rider = s.body("blade", da.box(0.4, 0.1, 0.1, mass=2.0)), s.body("rider", da.box(0.1, 0.1, 1.0, mass=5.0))
    s.connect("ice", da.Planar(), s.ground, blade)
    s.connect("edge", da.constraints.KnifeEdge("x"), s.ground, blade.at(0.1, 0, 0))
    s.connect("swing", da.Revolute("x"), blade.at(0, 0, 0.2), rider.at(0, 0, 0.3))
    return s


@pytest.mark.parametrize("seed", [31, 32])
def test_rows_on_speeds_alone_with_element_states(seed: int) -> None:
    rng = np.random.default_rng(seed)
    s = held_by_springs(skate(), rng)
    agrees(s, rng)
    space = da.linearize(s).space
    assert space.nz < space.ny


@pytest.mark.parametrize("seed", [41])
def test_flexible_bodies_with_element_states(seed: int) -> None:
    rng = np.random.default_rng(seed)
    s = random_flexible_tree(rng, 2, joints=(Revolute,), gravity=False)
    for k, name in enumerate(c.name for c in list(s.connections.values())):
        s.connect(f"spring{k}", da.JointSpring(float(rng.uniform(20, 80)), 0.3), name)
        s.connect(f"state{k}", WITH_STATES[k % len(WITH_STATES)](lambda low, high: float(rng.uniform(low, high))), name)
    agrees(s, rng)


def test_linearization_refuses_delays() -> None:
    s = da.System("late")
    s.connect("X", da.Prismatic("x"), s.ground, s.body("block", da.box(1, 1, 1, mass=1.0)))
    late = da.Delay("X.position", 0.1)
    s.connect("k", da.Element("joint", "-20*u - ds", inputs={"u": late}), "X")
    for ask in (da.linearize, da.modes):
        with pytest.raises(da.ModelError, match="delay"):
            ask(s)
