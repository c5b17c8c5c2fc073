"""Kane's arrays of random trees are what they claim to be, and agree with the spatial operators."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.random_trees import (
    JOINTS,
    coordinate_rates,
    derivative,
    every_joint_both_ways,
    random_joint,
    random_state,
    random_system,
)

import dalembert as da
from dalembert.bodies.shapes import rod
from dalembert.connections.joints import Joint, Revolute, Spherical
from dalembert.errors import ModelError, SingularityError
from dalembert.oracles.kane import Kane, motion_rate
from dalembert.oracles.operators import Operators
from dalembert.system import System

Array = NDArray[np.float64]

# two formulations in double precision; condition numbers of the mass matrices reach 1e4
AGREEMENT = 1e-10
# five-point differences with h = 1e-3 of motions whose fifth derivatives are about 1e3
DIFFERENCES = 1e-8


def close(x: Array, y: Array, tolerance: float) -> bool:
    """Equal to within `tolerance` of the larger magnitude (at least one)."""
    size = max(1.0, float(np.abs(x).max(initial=0.0)), float(np.abs(y).max(initial=0.0)))
    return bool(np.abs(np.asarray(x) - np.asarray(y)).max(initial=0.0) <= tolerance * size)


@pytest.fixture(params=range(10))
def tree(request: pytest.FixtureRequest) -> tuple[System, Array, Array]:
    """A random state of a random tree; the first two hold every joint type, walked both ways."""
    rng = np.random.default_rng(100 + request.param)
    system = every_joint_both_ways(rng) if request.param < 2 else random_system(rng, 9, isolated=request.param % 4)
    return system, *random_state(system, rng)


@pytest.fixture
def kane(tree: tuple[System, Array, Array]) -> Kane:
    return Kane(*tree)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(42)


# ---- the arrays


@pytest.mark.parametrize("kind", JOINTS)
def test_columns_of_a_joint_turn_as_their_axes_do(kind: type[Joint], rng: np.random.Generator) -> None:
    joint = random_joint(kind, rng)
    q, v = rng.normal(size=joint.nq), rng.normal(size=joint.nv)
    if "qw" in joint.coordinates:
        q[:4] /= np.linalg.norm(q[:4])
    rates = joint.rates(q, v)
    assert close(motion_rate(joint, q, v), derivative(lambda t: joint.motion(q + t * rates)), DIFFERENCES)
    assert close(motion_rate(joint, q, v) @ v, joint.bias(q, v), 1e-14)  # a few roundings


def test_a_joint_of_unknown_kind_is_refused() -> None:
    class Strange(Joint):
        def motion(self, q: Array) -> Array:
            return np.zeros((6, 0))

    with pytest.raises(ModelError, match="Strange"):
        motion_rate(Strange(), np.zeros(0), np.zeros(0))


def test_partial_velocities_make_up_the_velocities_of_the_mass_centres(tree: tuple[System, Array, Array]) -> None:
    system, q, v = tree
    kane = Kane(system, q, v)
    rates = coordinate_rates(system, q, v)
    centers_dot = derivative(lambda t: Kane(system, q + t * rates).centers)
    R_dot = derivative(lambda t: Kane(system, q + t * rates).R)
    assert close(np.einsum("ijk,j->ik", kane.V, v), centers_dot, DIFFERENCES)
    for w, R, dR in zip(np.einsum("ijk,j->ik", kane.omega, v), kane.R, R_dot, strict=True):
        assert close(np.cross(w, R, axisb=0, axisc=0), dR, DIFFERENCES)


def test_rates_of_partial_velocities_are_their_derivatives_entry_by_entry(tree: tuple[System, Array, Array]) -> None:
    system, q, v = tree
    kane = Kane(system, q, v)
    rates = coordinate_rates(system, q, v)
    assert close(kane.omega_dot, derivative(lambda t: Kane(system, q + t * rates).omega), DIFFERENCES)
    assert close(kane.V_dot, derivative(lambda t: Kane(system, q + t * rates).V), DIFFERENCES)


def test_only_joints_between_ground_and_a_body_move_it(kane: Kane) -> None:
    """The pattern of (2.4): exact zeros for every speed that is not on the body's path."""
    joint_of_speed = np.repeat(np.arange(1, kane.nb + 1), [h.element.nv for h in kane.forest.joints])
    for i in range(kane.nb):
        off_path = ~np.isin(joint_of_speed, kane.forest.path(i + 1))
        for array in (kane.omega, kane.omega_dot, kane.V, kane.V_dot):
            assert not array[i, off_path].any()


# ---- agreement with the spatial operators


def test_kane_and_the_spatial_operators_agree(tree: tuple[System, Array, Array], rng: np.random.Generator) -> None:
    kane, ops = Kane(*tree), Operators(*tree)
    tau, v_dot, loads = rng.normal(size=kane.nv), rng.normal(size=kane.nv), rng.normal(size=(kane.nb, 6))
    given = rng.random(kane.nv) < 0.5
    assert close(kane.origins, ops.p, AGREEMENT)
    assert close(kane.R, ops.R, AGREEMENT)
    assert close(kane.velocities(), ops.velocities(), AGREEMENT)
    assert close(kane.accelerations(v_dot), ops.accelerations(v_dot), AGREEMENT)
    assert close(kane.mass_matrix(), ops.mass_matrix(), AGREEMENT)
    assert close(kane.bias(loads), ops.bias(loads), AGREEMENT)
    assert close(kane.inverse_dynamics(v_dot, loads), ops.inverse_dynamics(v_dot, loads), AGREEMENT)
    assert close(kane.forward_dynamics(tau, loads), ops.forward_dynamics(tau, loads), AGREEMENT)
    for one, other in zip(
        kane.mixed_dynamics(tau, v_dot, given, loads), ops.mixed_dynamics(tau, v_dot, given, loads), strict=True
    ):
        assert close(one, other, AGREEMENT)


# ---- forces, mixed problems, impulses


def test_generalized_forces_do_the_work_of_the_loads(kane: Kane, rng: np.random.Generator) -> None:
    loads = rng.normal(size=(kane.nb, 6))
    power = float((loads * kane.velocities()).sum())
    weight = float(np.einsum("i,ijk,j,k->", kane.m, kane.V, kane.v, kane.system.gravity))
    assert math.isclose(kane.active_forces(loads) @ kane.v, power + weight, rel_tol=1e-11, abs_tol=1e-10)


def test_a_moment_between_neighbours_is_felt_by_their_joint_alone(kane: Kane, rng: np.random.Generator) -> None:
    """(3.13) and (3.18): only the joint on which the moment acts sees it."""
    stops = np.cumsum([h.element.nv for h in kane.forest.joints])
    for k, (joint, stop) in enumerate(zip(kane.forest.joints, stops, strict=True)):
        moment, loads = rng.normal(size=3), np.zeros((kane.nb, 6))
        loads[k, :3] = moment
        parent = int(kane.forest.parent[k])
        if parent:
            loads[parent - 1, :3] = -moment
        felt = kane.generalized_impulse(loads)
        own = slice(stop - joint.element.nv, stop)
        relative = kane.omega[k, own] - (kane.omega[parent - 1, own] if parent else 0.0)
        assert close(felt[own], relative @ moment, 1e-13)  # a few roundings
        felt[own] = 0.0
        # what is left are differences of equal numbers: rounding of omega . moment
        assert close(felt, np.zeros(kane.nv), 1e-13)


def test_mixed_problem_recovers_the_moment_that_was_applied(kane: Kane, rng: np.random.Generator) -> None:
    """(3.30), then (3.31); with the printed sign of (3.31) the moment comes out reversed."""
    tau, loads = rng.normal(size=kane.nv), rng.normal(size=(kane.nb, 6))
    v_dot = kane.forward_dynamics(tau, loads)
    given = rng.random(kane.nv) < 0.5
    found, effort = kane.mixed_dynamics(np.where(given, 0.0, tau), np.where(given, v_dot, 0.0), given, loads)
    assert close(found, v_dot, AGREEMENT)
    assert close(effort, tau, AGREEMENT)


def test_an_impulse_changes_the_generalized_momenta_by_itself(
    tree: tuple[System, Array, Array], rng: np.random.Generator
) -> None:
    system, q, v = tree
    before = Kane(system, q, v)
    impulse = before.generalized_impulse(rng.normal(size=(before.nb, 6)))
    after = Kane(system, q, v + before.impulse_response(impulse))
    assert close(after.momenta() - before.momenta(), impulse, AGREEMENT)


def test_a_system_struck_at_rest_takes_half_the_impulse_times_the_speed(kane: Kane, rng: np.random.Generator) -> None:
    impulse = rng.normal(size=kane.nv)
    dv = kane.impulse_response(impulse)
    struck = Kane(kane.system, kane.q, dv)
    w, v = np.einsum("ijk,j->ik", struck.omega, dv), np.einsum("ijk,j->ik", struck.V, dv)
    energy = float(np.einsum("i,ik,ik->", struck.m, v, v) + np.einsum("ik,ikn,in->", w, struck.I, w)) / 2
    assert math.isclose(energy, impulse @ dv / 2, rel_tol=1e-11)


def test_speeds_without_inertia_are_named() -> None:
    system = System("needle")
    needle = system.body("needle", rod(1.0, 1.0))  # slender: no inertia about its own axis
    system.connect("ball", Spherical(), system.ground, needle)
    with pytest.raises(SingularityError, match=r"ball\.wx can change"):
        Kane(system, [1.0, 0, 0, 0]).forward_dynamics()
    system.connect("tail", Revolute("x"), needle.at(1.0), system.body("tail_body", rod(1.0, 1.0)))
    with pytest.raises(SingularityError, match=r"ball\.wx, tail\.angle"):
        Kane(system, [1.0, 0, 0, 0, 0.3]).forward_dynamics()


def test_speeds_in_axes_of_a_body_are_named_as_outputs_are() -> None:
    s = da.System("top")
    s.connect("S", da.Spherical(), s.ground, s.body("bob", da.box(1, 0.5, 0.3, mass=1.0)).at(0, 0, 0.5))
    names = [f"bob.angular_velocity.{axis} in bob" for axis in "xyz"]
    pairs = [(f"bob.angular_velocity.{axis}", "bob") for axis in "xyz"]
    by_name, by_pair = (
        da.formulations.kane(s, {"S.speed": (0.1, 0.2, 0.3)}, speeds=speeds) for speeds in (names, pairs)
    )
    assert by_name.names == by_pair.names == tuple(names)
    np.testing.assert_array_equal(by_name.Y, by_pair.Y)
    np.testing.assert_array_equal(by_name.bias, by_pair.bias)
