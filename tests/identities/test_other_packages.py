"""Pinocchio and MuJoCo compute the same mechanics: accelerations, forces, inertia, energy, places, Jacobians.

The peers' models are built by bench/peers from the same `System`, on random trees of all joints
that a peer knows, walked in either direction, and on the library's systems.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.random_trees import JOINTS, hang_on, random_system

from dalembert.connections.joints import Free, Joint, Revolute, Screw
from dalembert.library import binary_tree, chain, humanoid
from dalembert.system import System

Array = NDArray[np.float64]

# Trees of up to a dozen bodies: each side rounds to about 1e-14 of the largest component, and the
# mass matrices have conditions up to 1e4, which leaves 1e-10 for the accelerations (3e-13 in 600 trials).
TOLERANCE = 1e-10

PACKAGES = {"Pinocchio": ("pinocchio", "3.0"), "Mujoco": ("mujoco", "4.0")}
JOINTS_OF: dict[str, tuple[type[Joint], ...]] = {
    "Pinocchio": JOINTS,
    "Mujoco": tuple(joint for joint in JOINTS if joint is not Screw),
}
LIBRARY: dict[str, Callable[[], System]] = {
    "chain": lambda: chain(7),
    "floating chain": lambda: chain(5, floating=True),
    "tree": lambda: binary_tree(15),
    "humanoid": humanoid,
}


@pytest.fixture(params=PACKAGES)
def peer_class(request: pytest.FixtureRequest) -> Any:
    package, version = PACKAGES[request.param]
    pytest.importorskip(package, minversion=version)
    return getattr(import_module(f"peers.{package}"), request.param)


@pytest.mark.parametrize("seed", range(25))
def test_peers_agree_on_random_trees(peer_class: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = random_system(rng, int(rng.integers(1, 11)), joints=JOINTS_OF[peer_class.__name__])
    hang_on(system, system.ground, "last", Revolute, rng, backwards=bool(seed % 2))  # something moves
    assert_same_mechanics(system, peer_class(system), rng)


@pytest.mark.parametrize("joint", JOINTS, ids=lambda joint: joint.__name__)
@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
def test_peers_agree_on_each_joint(peer_class: Any, joint: type[Joint], backwards: bool) -> None:
    if joint not in JOINTS_OF[peer_class.__name__]:
        pytest.skip(f"{peer_class.name} has no {joint.__name__.lower()} joint")
    rng = np.random.default_rng(JOINTS.index(joint))
    system = System("three", gravity=rng.normal(size=3))
    base = hang_on(system, system.ground, "base", Free, rng, backwards=backwards)
    middle = hang_on(system, base, "middle", joint, rng, backwards=backwards)
    hang_on(system, middle, "tip", joint, rng, backwards=not backwards)
    assert_same_mechanics(system, peer_class(system), rng)


@pytest.mark.parametrize("name", LIBRARY)
def test_peers_agree_on_the_library(peer_class: Any, name: str) -> None:
    system = LIBRARY[name]()
    assert_same_mechanics(system, peer_class(system), np.random.default_rng(3))


@pytest.mark.parametrize("name", LIBRARY)
def test_pinocchio_agrees_on_derivatives(name: str) -> None:
    pytest.importorskip("pinocchio", minversion="3.0")
    system = LIBRARY[name]()
    model, peer = system.compile(), import_module("peers.pinocchio").Pinocchio(system)
    rng = np.random.default_rng(4)
    state = model.random_state(rng)
    tau = rng.normal(size=model.nv)
    derivatives = zip(
        model.d_forward_dynamics(state.q, state.v, tau), peer.d_forward_dynamics(state.q, state.v, tau), strict=True
    )
    for ours, theirs in derivatives:
        assert_same(ours, theirs)


def assert_same_mechanics(system: System, peer: Any, rng: np.random.Generator) -> None:
    model = system.compile()
    (q, q_other), (v, tau, a) = model.random_state(rng, 2).q, rng.normal(size=(3, model.nv))

    assert_same(model.forward_dynamics(q, v, tau), peer.forward_dynamics(q, v, tau))
    assert_same(model.inverse_dynamics(q, v, a), peer.inverse_dynamics(q, v, a))
    assert_same(model.mass_matrix(q), peer.mass_matrix(q))

    R, p = peer.poses(q)
    assert_same(model.poses(q).rotation, R)
    assert_same(model.poses(q).position, p)
    for number, body in enumerate(model.body_names):
        assert_same(model.jacobian(body, q), peer.jacobian(number, q))

    # Pinocchio leaves bodies fixed to ground out of the potential energy, so only differences compare
    energy, other = model.energy(q, v), model.energy(q_other, v)
    kinetic, potential = peer.energy(q, v)
    fall = peer.energy(q_other, v)[1] - potential
    assert energy.kinetic == pytest.approx(kinetic, rel=TOLERANCE)
    scale = abs(energy.potential) + abs(other.potential)
    assert other.potential - energy.potential == pytest.approx(fall, abs=TOLERANCE * scale)


def assert_same(ours: Array, theirs: Array) -> None:
    """Compare relative to the largest component."""
    scale = float(np.abs(theirs).max(initial=0.0)) or 1.0
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOLERANCE * scale)
