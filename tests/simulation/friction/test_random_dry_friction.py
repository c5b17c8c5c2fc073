"""Random systems with friction, stops, armatures: Coulomb's law holds at every moment, power balances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles.coulomb import check_friction_law
from systems.random_loops import planar_loop, random_loop
from systems.random_trees import random_state, random_system

import dalembert as da

Array = NDArray[np.float64]

JOINTS = (da.Revolute, da.Prismatic, da.Cylindrical, da.Universal, da.Screw, da.Planar)


def roughened(
    system: da.System, rng: np.random.Generator, *, stops: bool = True, armature: bool = True, loads: float = 0.0
) -> da.System:
    """Give most joints friction, some of them stops around zero, armature and damping, and friction by load."""
    for name, connection in system.connections.items():
        joint = connection.element
        n = joint.nv
        data: dict[str, Array | float] = {"friction": rng.uniform(0.0, 2.0, n) * (rng.random(n) < 0.8)}
        if rng.random() < 0.4:
            data["static_friction"] = data["friction"] * 1.4
        if armature and rng.random() < 0.4:
            data["armature"] = rng.uniform(0.0, 0.5, n)
        if rng.random() < 0.4:
            data["damping"] = rng.uniform(0.0, 0.3, n)
        if stops and joint.nq == joint.nv and rng.random() < 0.5:
            data |= {"lower": -rng.uniform(0.1, 0.6, n), "upper": rng.uniform(0.1, 0.6, n)}
            data["restitution"] = rng.uniform(0.0, 0.7)
        if joint.friction_load and rng.random() < loads:
            mu = rng.uniform(0.05, 0.25)
            radius = rng.uniform(0.01, 0.05) if "rad" in joint.speed_units else None
            more = {"static_coefficient": 1.3 * mu} if rng.random() < 0.4 else {}
            data["load_friction"] = da.LoadFriction(mu, radius=radius, **more)
        system.connections[name] = replace(connection, element=replace(joint, **data))
    return system


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_with_friction_and_stops(seed: int) -> None:
    rng = np.random.default_rng(300 + seed)
    system = roughened(random_system(rng, 4, joints=JOINTS), rng)
    model = system.compile()
    _, v = random_state(system, rng)
    start = da.State(q=np.zeros(model.nq), v=0.5 * v)
    result = da.simulate(model, 1.5, state=start, rtol=1e-9, atol=1e-11)
    assert result.status == "finished"
    scale = 1.0 + np.abs(result["energy.kinetic"]).max() + np.ptp(result["energy.potential"])
    assert np.abs(result["energy.balance"]).max() < 1e-6 * scale
    check_friction_law(result)


@pytest.mark.parametrize("seed", range(8))
def test_random_loops_with_friction(seed: int) -> None:
    rng = np.random.default_rng(seed)
    if seed % 2:
        closed = planar_loop(rng, 5)
    else:
        closed = random_loop(rng, [da.Revolute, da.Spherical, da.Revolute, da.Universal, da.Revolute, da.Revolute])
    closed = replace(closed, system=roughened(closed.system, rng, stops=False, armature=False))
    model = closed.system.compile()
    q, v = closed.state(model)
    result = da.simulate(model, 1.0, state=da.State(q=q, v=0.3 * v), rtol=1e-9, atol=1e-11)
    assert result.status == "finished"
    scale = 1.0 + np.abs(result["energy.kinetic"]).max() + np.ptp(result["energy.potential"])
    assert np.abs(result["energy.balance"]).max() < 1e-6 * scale
    assert result["constraints.residual"].max() < 1e-9
    check_friction_law(result)


LOADED = (*JOINTS, da.Spherical)


@pytest.mark.parametrize("seed", [*range(8), 4403])
def test_random_trees_with_friction_by_load(seed: int) -> None:
    rng = np.random.default_rng(700 + seed)
    system = roughened(random_system(rng, 4, joints=LOADED), rng, stops=seed % 2 == 0, loads=0.8)
    model = system.compile()
    _, v = random_state(system, rng)
    start = da.State(q=da.start_state(model).q, v=0.5 * v)
    result = da.simulate(model, 1.0, state=start, rtol=1e-9, atol=1e-11)
    assert result.status == "finished"
    scale = 1.0 + np.abs(result["energy.kinetic"]).max() + np.ptp(result["energy.potential"])
    assert np.abs(result["energy.balance"]).max() < 1e-6 * scale
    check_friction_law(result)


def test_friction_of_others_presses_a_row_on_its_stop() -> None:
    """Flights end that friction of moving rows makes ever shorter; without it the row would leave its stop."""
    rng = np.random.default_rng(5213)
    system = roughened(random_system(rng, 4, joints=LOADED), rng, loads=0.8)
    model = system.compile()
    _, v = random_state(system, rng)
    start = da.State(q=da.start_state(model).q, v=0.5 * v)
    result = da.simulate(model, 0.48, state=start, rtol=1e-9, atol=1e-11)
    scale = 1.0 + np.abs(result["energy.kinetic"]).max() + np.ptp(result["energy.potential"])
    assert np.abs(result["energy.balance"]).max() < 1e-6 * scale
    check_friction_law(result)


@pytest.mark.parametrize("seed", range(6))
def test_random_loops_with_friction_by_load(seed: int) -> None:
    rng = np.random.default_rng(60 + seed)
    if seed % 2:
        closed = planar_loop(rng, 5)
    else:
        closed = random_loop(rng, [da.Revolute, da.Spherical, da.Revolute, da.Cylindrical, da.Revolute, da.Revolute])
    closed = replace(closed, system=roughened(closed.system, rng, stops=False, armature=False, loads=0.8))
    model = closed.system.compile()
    q, v = closed.state(model)
    result = da.simulate(model, 0.6, state=da.State(q=q, v=0.3 * v), rtol=1e-9, atol=1e-11)
    assert result.status == "finished"
    scale = 1.0 + np.abs(result["energy.kinetic"]).max() + np.ptp(result["energy.potential"])
    assert np.abs(result["energy.balance"]).max() < 1e-6 * scale
    assert result["constraints.residual"].max() < 1e-9
    check_friction_law(result)


@pytest.mark.parametrize("loads", [0.0, 0.9])
@pytest.mark.parametrize("seed", range(4))
def test_methods_agree(seed: int, loads: float) -> None:
    rng = np.random.default_rng(40 + seed)
    system = roughened(random_system(rng, 3, joints=(da.Revolute, da.Prismatic)), rng, loads=loads)
    model = system.compile()
    _, v = random_state(system, rng)
    start = da.State(q=np.zeros(model.nq), v=0.3 * v)
    ends = {m: da.simulate(model, 0.8, state=start, method=m, rtol=1e-10, atol=1e-12) for m in ("dop853", "radau")}
    assert [e.name.split(" with")[0] for e in ends["radau"].events] == [
        e.name.split(" with")[0] for e in ends["dop853"].events
    ]
    assert ends["radau"].q[-1] == pytest.approx(ends["dop853"].q[-1], abs=1e-6)
