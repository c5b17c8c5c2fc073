"""Nodes of flexible bodies along a result: as markers at these nodes move."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError

STEEL = da.Material(E=210e9, nu=0.3, density=7850)


@pytest.fixture(scope="module", params=[False, True], ids=["linear", "stiffened"])
def swung(request: pytest.FixtureRequest) -> da.Result:
    """A heavy load on a thin arm in space, markers at all of its nodes."""
    more = {"stiffening": True, "load_nodes": (6,)} if request.param else {}
    arm = da.beam(1.2, da.Section.tube(outer=0.012, inner=0.01), STEEL, elements=6, modes=da.CantileverModes(4), **more)
    s = da.System("arm")
    body = s.body("arm", arm)
    for k in range(7):
        body.marker(f"node_{k}", node=k)
    s.connect("A", da.Universal("y", "z"), s.ground, body)
    s.connect("B", da.Fixed(), body.at(node=6), s.body("load", mass=1.0, inertia=(0.01, 0.02, 0.015)))
    s.initial("A", speed=(1.0, 2.0))
    return da.simulate(s, 0.5, times=np.linspace(0, 0.5, 21))


def test_displacements_of_nodes_are_those_of_markers_at_them(swung: da.Result) -> None:
    found = da.nodal_displacements(swung, "arm")
    assert found.shape == (21, 7, 3) and np.abs(found).max() > 1e-4
    R, p, nodes = swung["arm.rotation"], swung["arm.position"], swung.model.system["arm"].flexible.nodes
    for k in range(7):
        local = np.einsum("nji,nj->ni", R, swung[f"arm.node_{k}.position"] - p) - nodes[k]
        assert np.allclose(found[:, k], local, rtol=0, atol=1e-13)
    assert (da.nodal_displacements(swung, swung.model.system["arm"]) == found).all()


def test_velocities_of_nodes_are_those_of_markers_at_them(swung: da.Result) -> None:
    found = da.nodal_velocities(swung, "arm")
    assert found.shape == (21, 7, 3)
    for k in range(7):
        assert np.allclose(found[:, k], swung[f"arm.node_{k}.velocity"], rtol=0, atol=1e-12)


def test_other_times_have_their_own_nodes(swung: da.Result) -> None:
    times = [0.1, 0.2]
    found = da.nodal_displacements(swung.at(times), "arm")
    assert found.shape == (2, 7, 3)
    assert np.allclose(found, da.nodal_displacements(swung, "arm")[[4, 8]], atol=1e-12)


def test_stresses_and_participation_follow_from_the_modal_coordinates_of_a_result(swung: da.Result) -> None:
    arm, eta = swung.model.system["arm"].flexible, swung["arm.eta"]
    assert (eta[:, 0] == swung["arm.eta[0]"]).all()
    stresses = da.beam_stresses(arm, eta)
    assert stresses.bending.shape == (21, 6, 2) == stresses.axial.shape == stresses.torsion.shape
    energy = swung["arm.strain_energy"]
    assert np.allclose(arm.participation(eta)[energy > 0].sum(axis=1), 1)
    # forces and moments are linear along an element, and hold the strain energy
    forces, beams = da.section_forces(arm, eta), arm.structure.beams
    a, b = forces[:, :, 0], forces[:, :, 1]
    held = (beams.lengths[:, None] / 6 * (a * a + a * b + b * b) / beams.rigidities).sum(axis=(1, 2))
    assert np.allclose(held, energy, rtol=1e-9, atol=1e-15)
    radius, inertia = 0.012, np.pi / 4 * (0.012**4 - 0.01**4)
    moment = np.hypot(forces[..., 4], forces[..., 5])
    assert (stresses.bending <= moment * radius / inertia * (1 + 1e-12)).all()
    assert (stresses.bending >= 0.9 * moment * radius / inertia).all()  # points of the section lie around its rim
    assert np.allclose(stresses.torsion, np.abs(forces[..., 3]) * radius / (2 * inertia))


@pytest.mark.parametrize("function", [da.nodal_displacements, da.nodal_velocities])
def test_only_flexible_bodies_have_nodes(function: object, swung: da.Result) -> None:
    for bad in ("load", "nobody", 3, None):
        with pytest.raises(ModelError, match=r"give the name of a flexible body: 'arm'"):
            function(swung, bad)  # type: ignore[operator]
