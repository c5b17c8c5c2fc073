"""Accelerations of all nodes, their balance, stresses with inertia."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError

STEEL = da.Material(E=210e9, nu=0.3, density=7850)
SECTION = da.Section.rectangle(0.02, 0.01)


def swinging(modes: object, mass: str = "consistent") -> da.Result:
    s = da.System("arm")
    arm = s.body("arm", da.beam(1.0, SECTION, STEEL, elements=8, modes=modes, mass=mass))
    for k in (0, 4, 8):
        arm.marker(f"n{k}", node=k)
    load = s.body("load", mass=0.3, inertia=(1e-3,) * 3)
    s.connect("A", da.Universal("y", "z"), s.ground, arm)
    s.connect("B", da.Fixed(), arm.at(0.05, 0, 0.02, node=8), load)
    s.connect("S", da.SpringDamper(200.0, 1.0, 0.3), s.ground.at(0.5, 0, 0.4), arm.at(0.5, 0, 0))
    s.initial("A", speed=(1.0, 2.0))
    return da.simulate(s, 0.2, times=np.linspace(0, 0.2, 9))


@pytest.fixture(scope="module")
def run() -> da.Result:
    return swinging(da.CantileverModes(4))


def test_accelerations_of_nodes_are_those_of_markers(run: da.Result) -> None:
    found = da.nodal_accelerations(run, "arm")
    assert found.shape == (9, 9, 3)
    for k in (0, 4, 8):
        assert np.allclose(found[:, k], run[f"arm.n{k}.acceleration"], rtol=0, atol=1e-9 * np.abs(found).max())


def test_bare_states_have_nodal_motion_with_angular_rates(run: da.Result) -> None:
    model = run.model
    moved = da.nodal_motion(model, "arm", run.q, run.v)
    assert moved.velocity is not None and moved.acceleration is None
    assert np.allclose(moved.velocity[:, 4, :3], run["arm.n4.angular_velocity"], rtol=0, atol=1e-12)
    assert np.allclose(moved.rotation[:, 4], run["arm.n4.rotation"], rtol=0, atol=1e-13)
    one = da.nodal_motion(run.model.system, "arm", run.q[3])
    assert np.allclose(one.position, moved.position[3], rtol=0, atol=1e-14) and one.velocity is None
    with pytest.raises(ModelError, match="give v too"):
        da.nodal_motion(model, "arm", run.q[0], None, run.v[0])


@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_loads_of_nodes_add_up_to_those_of_connections(mass: str) -> None:
    """Over all nodes, inertia and elastic forces are what joint, load and spring do to the body."""
    run = swinging(da.CantileverModes(4), mass)
    R = run["arm.rotation"]
    found = np.einsum("nij,nkj->nki", R, da.nodal_loads(run, "arm")[..., 3:])  # forces, world axes
    acting = run["A.force"] - run["B.force"] + run["S.force"]
    # a consistent mass keeps the direction of displacements; what turns with nodes is of second order
    assert np.abs(found.sum(axis=1) - acting).max() < 2e-3 * np.abs(acting).max()


def test_loads_of_nodes_do_no_work_on_the_modes() -> None:
    """Without anything attached but the joint, what is left at nodes is orthogonal to every mode."""
    s = da.System("free arm")
    arm = s.body("arm", da.beam(1.0, SECTION, STEEL, elements=8, modes=da.CantileverModes(3)))
    s.connect("A", da.Revolute("y"), s.ground, arm)
    run = da.simulate(s, 0.1, times=[0.05, 0.1])
    left = da.nodal_loads(run, "arm")[..., [3, 4, 5, 0, 1, 2]].reshape(2, -1)
    flexible = arm.flexible
    assert flexible is not None
    work, scale = left @ flexible.modes, np.abs(left) @ np.abs(flexible.modes)
    assert np.abs(work).max() < 1e-4 * scale.max()  # terms that follow the deformation are of second order


def test_one_mode_is_enough_for_section_forces_in_balance_with_the_load() -> None:
    """A static load at the tip: bending moments are linear, with modes and without."""
    s = da.System("cantilever", gravity=(0, 0, 0))
    arm = s.body("arm", da.beam(1.0, SECTION, STEEL, elements=8, modes=da.CantileverModes(2)))
    s.connect("A", da.Fixed(), s.ground, arm)
    s.connect("F", da.Load(force=(0, 0, -20.0)), arm.at(node=8))
    found = da.equilibrium(s)
    run = da.simulate(s, 1e-3, state=found.state(), times=[0.0])
    flexible = arm.flexible
    assert flexible is not None
    exact = 20.0 * (1 - np.linspace(0, 1, 9)[:-1])
    moments = da.section_forces(flexible, displacements=da.mode_acceleration(run, "arm"))[0, :, 0, 4]
    assert np.allclose(np.abs(moments), exact, rtol=1e-6, atol=1e-6 * 20)
    by_modes = np.abs(da.section_forces(flexible, run["arm.eta"])[0, :, 0, 4])
    assert np.abs(by_modes - exact).max() > 0.05 * 20


def test_section_forces_with_inertia_are_what_the_joint_carries(run: da.Result) -> None:
    """At the root of a swinging arm: force and moment of the joint, whatever the modes miss."""
    arm = run.model.system["arm"].flexible
    forces = da.section_forces(arm, displacements=da.mode_acceleration(run, "arm"))[:, 0, 0]  # root
    R = run["arm.rotation"]
    held = np.einsum("nji,nj->ni", R, run["A.force"])
    # the part of the beam beyond the section acts on what is before it: minus what the joint does to the beam; the
    # first node's own share of the mass, half an element's, stands between the two
    assert np.abs(forces[:, :3] + held).max() < 0.12 * np.abs(held).max()
    moment = np.einsum("nji,nj->ni", R, run["A.moment"])
    scale = max(np.abs(forces[:, 3:]).max(), 1.0)
    assert np.abs(forces[:, 3:] + moment)[:, 1].max() < 0.05 * scale


def test_a_deformation_that_is_not_small_is_reported_in_every_kind_of_run() -> None:
    s = da.System("soft")
    soft = da.Material(E=2e9, nu=0.3, density=1000)
    arm = s.body("arm", da.beam(0.6, da.Section.rectangle(0.02, 0.002), soft, elements=6, modes=da.CantileverModes(3)))
    s.connect("A", da.Fixed(), s.ground, arm)
    s.connect("F", da.Load(force=(0, 0, -0.4)), arm.at(node=6))
    for how in ({}, {"method": "scipy:RK45"}):
        with pytest.warns(da.errors.DeformationWarning, match=r"'arm' deforms by up to .* m .* rad"):
            run = da.simulate(s, 0.3, **how)
        assert any("da.cable" in note for note in run.stats.notes)
    with pytest.warns(da.errors.DeformationWarning):
        da.simulate(s, 0.3, parameters={"arm.stiffness_factor": [0.9, 1.0]})
