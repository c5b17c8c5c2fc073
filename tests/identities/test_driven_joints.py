"""Random mechanisms under drives of joints and of constraints: efforts, loads and power agree."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles.newton_euler import unexplained
from systems.random_loops import ClosedSystem, isolated_loops, planar_loop, random_closed_system
from systems.random_trees import derivative, random_marker

import dalembert as da
from dalembert.connections.joints import Cylindrical, Planar, Prismatic, Revolute, Screw, Spherical, Universal
from dalembert.model.drive_targets import constraint_targets

Array = NDArray[np.float64]

# two formulations in double precision; rows and mass matrix together reach condition 1e5
AGREEMENT = 1e-8
CHAIN = (Revolute, Prismatic, Screw, Universal, Cylindrical, Planar)


class Driven:
    """A closed system in motion with drives that agree with its state at t = 0 and ask for random accelerations.

    Attributes
    ----------
    wanted : dict of str to float
        Second rate that each drive asks for.
    speeds : dict of str to float
        Its speed at t = 0.
    """

    def __init__(self, closed: ClosedSystem, rng: np.random.Generator, joints: int, constraints: int) -> None:
        self.system, self.rng = closed.system, rng
        self.wanted: dict[str, float] = {}
        self.speeds: dict[str, float] = {}
        for k in range(constraints):
            self._drive_constraint(closed, f"r{k}", da.AxisAngle("x", "z", 1.0) if k % 2 else da.Distance(1.0))
        self._drive_joints(closed, joints)
        self.model = self.system.compile()
        self.q, self.v = closed.state(self.model)
        self.tau = rng.normal(size=self.model.nv)
        self.loads = rng.normal(size=(self.model.nb, 6))

    def _drive_constraint(self, closed: ClosedSystem, name: str, element: da.Constraint) -> None:
        """Connect two bodies, one of which may be ground, and drive what the constraint holds there."""
        bodies = [self.system.ground, *self.system.bodies.values()]
        i, j = self.rng.choice(len(bodies), 2, replace=False)
        ends = [random_marker(bodies[i], self.rng), random_marker(bodies[j], self.rng)]
        self.system.connect(name, element, *ends)
        model = self.system.compile()
        q, v = closed.state(model)
        row = model.constraint_connections.index(name)
        value, rate = float(model.constraint_residual(q)[row]), float(model.constraint_jacobian(q)[row] @ v)
        if isinstance(element, da.AxisAngle):
            angle = float(np.arccos(value + np.cos(1.0)))
            value, rate = angle, -rate / np.sin(angle)
        else:
            value += 1.0
        self._drive(name, value, rate)

    def _drive_joints(self, closed: ClosedSystem, count: int) -> None:
        """Drive coordinates that the loops and the drives so far leave free, as many as there are."""
        model = self.system.compile()
        q, v = closed.state(model)
        rows = model.constraint_jacobian(q)
        candidates = [
            (joint, place)
            for joint in model.forest.joints
            if joint.connection is not None and joint.element.nq == joint.element.nv
            for place in range(joint.element.nv)
        ]
        for k in self.rng.permutation(len(candidates)):
            joint, place = candidates[k]
            column = model.v_slice(joint.name).start + place
            _, s, Vt = np.linalg.svd(rows)
            left = Vt[int((s > 1e-8).sum()) :]  # motions that are still free
            if not count or not len(left):
                return
            if np.linalg.norm(left[:, column]) > 0.1:
                rows, count = np.vstack([rows, np.eye(model.nv)[column]]), count - 1
                value = float(q[model.q_slice(joint.name).start + place])
                self._drive(model.speed_names[column], value, float(v[column]))

    def _drive(self, name: str, value: float, rate: float) -> None:
        self.wanted[name], self.speeds[name] = float(self.rng.normal() * 3), rate
        self.system.drive(name, position=da.Polynomial((value, rate, self.wanted[name] / 2)))


def mechanisms(seed: int) -> ClosedSystem:
    rng = np.random.default_rng(seed)
    return random_closed_system(
        rng, 9, 2, joints=CHAIN, loop_constraint_joints=(Universal, Cylindrical, Spherical, Planar)
    )


CASES = {
    **{f"joints {seed}": lambda seed=seed: (mechanisms(seed), 3, 0) for seed in range(5)},
    **{f"constraints {seed}": lambda seed=seed: (mechanisms(seed), 0, 2) for seed in range(5)},
    **{f"both {seed}": lambda seed=seed: (mechanisms(seed), 2, 2) for seed in range(5)},
    "a four-bar": lambda: (planar_loop(np.random.default_rng(7)), 1, 0),
    "a five-bar and its diagonal": lambda: (planar_loop(np.random.default_rng(8), 5), 1, 1),
    "isolated loops": lambda: (
        isolated_loops(np.random.default_rng(6), [[Universal, Cylindrical, Cylindrical, Universal, Universal]] * 2),
        3,
        2,
    ),
}


def make(name: str) -> Driven:
    closed, joints, constraints = CASES[name]()
    driven = Driven(closed, np.random.default_rng(11), joints, constraints)
    assert len(driven.wanted) == joints + constraints
    return driven


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> Driven:
    return make(request.param)


def test_drives_are_obeyed_and_loops_stay_closed(case: Driven) -> None:
    model, q, v = case.model, case.q, case.v
    a = model.dynamics(0.0, q, v, tau=case.tau, loads=case.loads).a
    size = max(1.0, np.abs(a).max())
    for name, second in case.wanted.items():
        if name in model.speed_names:
            assert a[model.speed_names.index(name)] == pytest.approx(second, abs=1e-12 * size)
    gap = model.constraint_jacobian(q) @ a + model.constraint_bias(q, v) - constraint_targets(model, 0.0)[2]
    assert np.abs(gap).max() <= AGREEMENT * size * max(1.0, np.abs(model.constraint_jacobian(q)).max())


def test_the_state_is_the_driven_motion(case: Driven) -> None:
    motion = da.driven_motion(case.model, 0.0, state=da.State(case.q, case.v))
    assert np.abs(case.model.difference(case.q, motion.q)).max() < 1e-9
    assert np.allclose(motion.v, case.v, atol=1e-7 * max(1.0, np.abs(case.v).max()))


def test_efforts_make_the_motion_happen(case: Driven) -> None:
    """Without their drives, joints under the same efforts move the same; constraints need theirs."""
    model, q, v = case.model, case.q, case.v
    found = model.dynamics(0.0, q, v, tau=case.tau, loads=case.loads)
    a, tau = found.a, found.tau
    efforts = model.drive_efforts(0.0, q, v, case.tau, loads=case.loads)
    assert set(efforts) == set(case.wanted)
    for name, effort in efforts.items():
        if name in model.speed_names:
            assert effort == pytest.approx(tau[model.speed_names.index(name)], rel=1e-9, abs=1e-9)
    M, P = model.mass_matrix(q), model.constraint_jacobian(q)
    K = np.block([[M, -P.T], [P, np.zeros((model.nc, model.nc))]])
    forces = tau - model.bias_forces(q, v, loads=case.loads)
    rates = constraint_targets(model, 0.0)[2] - model.constraint_bias(q, v)
    free = np.linalg.lstsq(K, np.concatenate([forces, rates]), rcond=1e-12)[0][: model.nv]
    assert np.abs(free - a).max() <= 1e-7 * max(1.0, np.abs(a).max())


def test_power_of_drives_and_loads_is_the_rate_of_energy(case: Driven) -> None:
    model, q, v = case.model, case.q, case.v
    found = model.dynamics(0.0, q, v, tau=case.tau, loads=case.loads)
    a, tau = found.a, found.tau
    efforts = model.drive_efforts(0.0, q, v, case.tau, loads=case.loads)

    def energy(t: float) -> Array:
        steps, x = 64, q
        for k in range(steps):  # midpoint rule: error t^3 / steps^2
            x = model.integrate(x, t / steps * (v + (k + 0.5) * t / steps * a))
        return np.array(model.energy(x, v + t * a).total)

    driven = np.array([name in efforts for name in model.speed_names])
    power = sum(effort * case.speeds[name] for name, effort in efforts.items())
    power += tau[~driven] @ v[~driven] + (case.loads * model.velocities(q, v)).sum()
    size = max(1.0, abs(power), model.energy(q, v).kinetic, np.abs(a).max() ** 2)
    assert abs(derivative(energy, 1e-4) - power) <= 1e-6 * size


def test_loads_hold_every_body_and_joints_carry_their_efforts(case: Driven) -> None:
    model, q, v = case.model, case.q, case.v
    found = model.dynamics(0.0, q, v, tau=case.tau, loads=case.loads)
    a, tau = found.a, found.tau
    F = model.connection_loads(q, v, case.tau, loads=case.loads, t=0.0)
    assert unexplained(model, q, v, a, F, case.loads) <= 1e-7
    size = max(np.abs(x).max() for x in F.values())
    for joint in model.forest.joints:
        if joint.connection is None:
            continue
        R = model.pose(joint.connection.first, q).rotation
        H = joint.element.motion(q[model.q_slice(joint.name)])
        local = np.concatenate([R.T @ F[joint.name][:3], R.T @ F[joint.name][3:]])
        assert np.allclose(H.T @ local, tau[model.v_slice(joint.name)], atol=1e-7 * size)


@pytest.mark.parametrize("name", ["a four-bar", "a five-bar and its diagonal"])
def test_with_all_dofs_driven_efforts_follow_from_the_motion(name: str) -> None:
    case = make(name)
    model = case.model
    motion = da.driven_motion(model, 0.0, state=da.State(case.q, case.v))
    joints = [name for name in case.wanted if name in model.speed_names]
    found = da.inverse_dynamics(model, motion.q, motion.v, motion.a, actuators=joints, loads=case.loads)
    efforts = model.drive_efforts(0.0, motion.q, motion.v, loads=case.loads)
    size = max(1.0, *map(abs, efforts.values()))
    for name in joints:
        assert found[name] == pytest.approx(efforts[name], abs=1e-7 * size)
    lam = model.multipliers(motion.q, motion.v, loads=case.loads, t=0.0)
    assert np.allclose(found.multipliers, lam, atol=1e-7 * size)
