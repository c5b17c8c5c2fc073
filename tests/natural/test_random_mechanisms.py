"""Random mechanisms in the plane and in space: relative and natural forms agree in all that kinematics can ask."""

from __future__ import annotations

import numpy as np
import pytest
from systems.random_loops import planar_loop, random_loop

import dalembert as da
from dalembert.closure import RelativeEquations, find_position, find_rates
from dalembert.connections.joints import Cylindrical, Joint, Prismatic, Revolute, Spherical, Universal
from dalembert.model.driven_kinematics import rates_at
from dalembert.natural import natural_model

LOOPS: dict[str, tuple[type[Joint], ...]] = {
    "RSCR": (Revolute, Spherical, Cylindrical, Revolute),
    "RUSR": (Revolute, Universal, Spherical, Revolute),
    "RCCC": (Revolute, Cylindrical, Cylindrical, Cylindrical),
    "RSUP": (Revolute, Spherical, Universal, Prismatic),
}


def driven(system: da.System, q: np.ndarray) -> tuple[da.System, np.ndarray]:
    """Return the system with its first joint of one coordinate driven on from q, and q in its coordinates."""
    model = system.compile()
    name = next(h.name for h in model.forest.joints if isinstance(h.element, (Revolute, Prismatic)))
    at = float(q[model.q_slice(name)][0])
    system.drive(name, position=da.Polynomial((at, 0.8, -0.3, 0.2)))
    again = system.compile()
    return system, da.assemble(again, state=q).q if again.coordinate_names == model.coordinate_names else _moved(
        model, again, q
    )


def _moved(old: da.Model, new: da.Model, q: np.ndarray) -> np.ndarray:
    """Return a position in the coordinates of another spanning tree."""
    poses = {name: old.pose(name, q) for name in old.body_names}
    found = np.empty(new.nq)
    for joint in new.forest.joints:
        ends = (joint.inboard, joint.outboard) if not joint.reversed else (joint.outboard, joint.inboard)
        frames = []
        for m in ends:
            R, p = (np.eye(3), np.zeros(3)) if m.body.name == "ground" else poses[m.body.name]
            frames.append((R @ m.rotation, p + R @ m.position))
        (R1, p1), (R2, p2) = frames
        found[new.q_slice(joint.name)] = joint.element.coordinates_of(R1.T @ R2, R1.T @ (p2 - p1))
    return found


def agree(system: da.System, q: np.ndarray, dimension: int | None) -> None:
    """Positions a step on, speeds, accelerations, jerks and rank."""
    system, q = driven(system, q)
    model = system.compile()
    joints, natural = RelativeEquations(model), natural_model(system, state=q, dimension=dimension)
    e = natural.equations()
    t = 0.01
    at = find_position(joints, q, t).q
    X = find_position(e, natural.coordinates_of(q), t).q
    rates, found = find_rates(joints, at, t), find_rates(e, X, t)
    size = max(1.0, float(np.abs(found.a).max()), float(np.abs(found.v).max()) ** 2)
    assert pytest.approx(natural.coordinates_of(at), abs=1e-9 * size) == X
    assert found.v == pytest.approx(natural.coordinates_of(at, rates.v), abs=1e-9 * size)
    assert found.a == pytest.approx(natural.coordinates_of(at, rates.v, rates.a), abs=1e-8 * size)
    assert (joints.nv - rates.rank, rates.free) == (e.nv - found.rank, found.free) == (0, 0)
    # jerks of joints move the accelerations of points: along a step, differences of fourth order find those of points
    j = rates_at(model, np.array([t]), at[None], jerk=True).jerk
    assert j is not None and found.j is not None
    h, around = 1e-3 / max(1.0, float(np.abs(rates.v).max())), []
    for k in (-2, -1, 1, 2):
        s = k * h
        there = model.integrate(at, s * rates.v + s**2 / 2 * rates.a + s**3 / 6 * j[0])
        there = find_position(joints, there, t + s).q
        r = find_rates(joints, there, t + s, jerk=False)
        around.append(natural.coordinates_of(there, r.v, r.a))
    slope = (around[0] - 8 * around[1] + 8 * around[2] - around[3]) / (12 * h)
    assert found.j == pytest.approx(slope, abs=1e-5 * max(1.0, float(np.abs(slope).max())))


@pytest.mark.parametrize("seed", range(6))
def test_random_planar_mechanisms(seed: int) -> None:
    closed = planar_loop(np.random.default_rng(300 + seed), 4)
    q, _ = closed.state(closed.system.compile())
    agree(closed.system, q, 2 + seed % 2)


@pytest.mark.parametrize("kinds", LOOPS)
@pytest.mark.parametrize("seed", range(2))
def test_random_spatial_mechanisms(kinds: str, seed: int) -> None:
    closed = random_loop(np.random.default_rng(500 + seed), LOOPS[kinds])
    model = closed.system.compile()
    q, _ = closed.state(model)
    assert da.mobility(model, q).mobility == 1
    agree(closed.system, q, None)


@pytest.mark.parametrize("seed", range(4))
def test_random_mechanisms_close_in_as_many_ways(seed: int) -> None:
    """Branches: the same positions of all bodies, found in either form."""
    rng = np.random.default_rng(700 + seed)
    closed = planar_loop(rng, 4) if seed % 2 else random_loop(rng, LOOPS["RSCR"])
    q, _ = closed.state(closed.system.compile())
    system, q = driven(closed.system, q)
    model = system.compile()
    name = next(iter(system.drives.values())).connection.name
    wanted = da.assemble(model, state=q, hold=[name], branches=True).branches
    natural = natural_model(system, state=q)
    found = natural.mechanism.assemblies()
    pictures = [natural.coordinates_of(each) for each in wanted]
    assert len(found) == len(pictures)
    for X in found:
        away = min(float(np.abs((X - other + np.pi) % (2 * np.pi) - np.pi).max()) for other in pictures)
        assert away < 1e-7
