"""Stresses at nodes are those of known states of strain."""

import numpy as np
import pytest

import dalembert as da
from dalembert.bodies.flexible import FlexibleBody
from dalembert.structures import beam_stresses, nodal_mises, plate_structure, solid_structure

_STEEL = da.Material(E=210e9, nu=0.3, density=7850)


def _strained(structure: da.Structure, displacements: np.ndarray) -> FlexibleBody:
    """Return a body whose single mode is a given displacement (n, 6) of its nodes."""
    body = object.__new__(FlexibleBody)
    for name, value in (("structure", structure), ("modes", displacements.reshape(-1, 1)), ("nodes", structure.nodes)):
        object.__setattr__(body, name, value)
    return body


def test_a_plate_bent_to_a_cylinder_has_the_stresses_of_kirchhoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FlexibleBody, "lacks_nodes", False, raising=False)
    structure = plate_structure(1.0, 0.5, 0.01, _STEEL, elements=(6, 4))
    x, curved = structure.nodes[:, 0], 0.01
    moved = np.zeros((len(x), 6))
    moved[:, 2], moved[:, 4] = curved / 2 * x**2, -curved * x
    along = 210e9 * 0.005 * curved / (1 - 0.3**2)  # and nu times that across
    np.testing.assert_allclose(nodal_mises(_strained(structure, moved), [1.0]), along * np.sqrt(1 - 0.3 + 0.3**2))


def test_a_pulled_plate_and_a_pulled_solid_have_the_stress_of_hooke(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FlexibleBody, "lacks_nodes", False, raising=False)
    skfem = pytest.importorskip("skfem")
    for structure in (
        plate_structure(1.0, 0.5, 0.01, _STEEL, elements=(4, 3)),
        solid_structure(skfem.MeshHex().refined(1), _STEEL, order=1),
    ):
        moved = np.zeros((len(structure.nodes), 6))
        moved[:, :3] = structure.nodes * np.array([1.0, -0.3, -0.3]) * 1e-4
        np.testing.assert_allclose(nodal_mises(_strained(structure, moved), [2.0]), 2 * 210e9 * 1e-4)


def test_nodes_of_a_beam_have_the_largest_stress_of_the_elements_that_meet() -> None:
    arm = da.beam(1.0, da.Section.rectangle(0.03, 0.01), _STEEL, elements=6)
    eta = np.random.default_rng(3).normal(size=(4, arm.nm)) * 1e-3
    mises = beam_stresses(arm, eta).mises
    found = nodal_mises(arm, eta)
    np.testing.assert_allclose(found[:, 0], mises[:, 0, 0])
    np.testing.assert_allclose(found[:, 3], np.maximum(mises[:, 2, 1], mises[:, 3, 0]))


def test_bodies_without_known_elements_are_refused() -> None:
    mode = np.zeros((12, 1))
    mode[7], mode[11] = 1.0, 1.5
    body = da.FlexibleBody([[0, 0, 0], [1, 0, 0]], mode, node_masses=[1, 2], modal_stiffness=[[32.0]])
    with pytest.raises(da.ModelError, match="beams, plates or solids"):
        nodal_mises(body, [0.1])
