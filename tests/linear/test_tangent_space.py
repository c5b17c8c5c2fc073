"""Tangent spaces: what the linear equations along a motion say, motions of neighbours do."""

from __future__ import annotations

import numpy as np
import pytest
from systems.random_loops import planar_loop, random_closed_system, redundant
from systems.random_trees import random_system
from systems.variations import carried, differed

import dalembert as da
from dalembert.library.mechanisms import four_bar
from dalembert.linear import tangent_space


def agrees(model: da.Model, state: da.State, rng: np.random.Generator, duration: float = 0.2) -> None:
    size = tangent_space(model, state).size
    change = rng.normal(size=size)
    linear, space = carried(model, state, change, duration)
    # differences of motions to 1e-12 over 1e-4, extrapolated; steps of 1/60 of a short time
    np.testing.assert_allclose(linear, differed(space, state, change, duration), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("seed", range(3))
def test_trees_of_all_joints(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = random_system(rng, 4).compile()
    state = model.random_state(rng)
    agrees(model, da.State(state.q, 0.5 * state.v, 0.0, model.element_start_values()), rng)


@pytest.mark.parametrize("seed", range(3))
def test_spatial_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    closed = random_closed_system(rng, 5, 1)
    model = closed.system.compile()
    q, v = closed.state(model)
    agrees(model, da.State(q, 0.4 * v, 0.0, model.element_start_values()), rng)


def test_a_planar_loop_with_redundant_rows() -> None:
    rng = np.random.default_rng(3)
    closed = planar_loop(rng, 5)
    model = closed.system.compile()
    q, v = closed.state(model)
    agrees(model, da.State(q, v, 0.0, model.element_start_values()), rng)


def test_loops_that_repeat_each_other() -> None:
    rng = np.random.default_rng(4)
    closed = redundant(1)
    model = closed.system.compile()
    q, v = closed.state(model)
    agrees(model, da.State(q, v, 0.0, model.element_start_values()), rng)


def skate(speed_driven: bool = False) -> da.System:
    s = da.System("skate", gravity=(0, 0, -9.81))
    blade = s.body("blade", da.box(0.4, 0.1, 0.1, mass=2.0))
    rider = s.body("rider", da.box(0.1, 0.1, 1.0, mass=5.0))
    s.connect("ice", da.Planar(), s.ground, blade)
    s.connect("edge", da.constraints.KnifeEdge("x"), s.ground, blade.at(0.1, 0, 0))
    s.connect("swing", da.Revolute("x"), blade.at(0, 0, 0.2), rider.at(0, 0, 0.3))
    s.initial("ice", speed=(1.0, 0.0, 0.7) if not speed_driven else None)
    s.initial("swing", position=0.3)
    if speed_driven:
        s.drive("ice.angle", speed=lambda t: 0.5 + 0.1 * t)
    return s


@pytest.mark.parametrize("driven", [False, True])
def test_a_skate_binds_speeds_alone(driven: bool) -> None:
    model = skate(driven).compile()
    state = da.start_state(model)
    space = tangent_space(model, state)
    assert (space.ny, space.nz) == ((4, 2) if driven else (4, 3))
    agrees(model, state, np.random.default_rng(5))


def test_a_disc_that_rolls() -> None:
    s = da.System("disc", gravity=(0, 0, -9.81))
    disc = s.body("disc", mass=2.0, inertia=(0.1, 0.05, 0.05))
    s.connect("F", da.Free(), s.ground, disc)
    s.connect("roll", da.constraints.RollingDisc(0.3, axis="x"), s.ground, disc)
    s.place("disc", position=(0, 0, 0.29), angular_velocity=(4.0, 0.2, 0.1))
    model = s.compile()
    state = da.start_state(model)
    space = tangent_space(model, state)
    assert (space.ny, space.nz) == (5, 3)
    agrees(model, state, np.random.default_rng(6))


def test_a_driven_loop() -> None:
    s = four_bar()
    s.drive("A", speed=lambda t: 3.0 + t)
    model = s.compile()
    state = da.start_state(model, {"A": 0.7})
    space = tangent_space(model, state)
    assert (space.coordinate_names, space.nz) == ((space.coordinate_names[0],), 0)
    agrees(model, state, np.random.default_rng(7))
