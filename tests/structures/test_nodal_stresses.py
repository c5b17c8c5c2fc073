"""Stresses at nodes are those of known states of strain."""

import numpy as np
import pytest

import dalembert as da
from dalembert.bodies.flexible_body import FlexibleBody
from dalembert.structures import beam_stresses, nodal_mises, nodal_stresses, plate_structure, solid_structure

_STEEL = da.Material(E=210e9, nu=0.3, density=7850)


def _strained(structure: da.Structure, displacements: np.ndarray) -> FlexibleBody:
    """Return a body whose single mode is a given displacement (n, 6) of its nodes."""
    body = object.__new__(FlexibleBody)
    for name, value in (("structure", structure), ("modes", displacements.reshape(-1, 1)), ("nodes", structure.nodes)):
        object.__setattr__(body, name, value)
    return body


def test_a_plate_bent_to_a_cylinder_has_the_stresses_of_kirchhoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FlexibleBody, "nodes_removed", False, raising=False)
    structure = plate_structure(1.0, 0.5, 0.01, _STEEL, elements=(6, 4))
    x, curved = structure.nodes[:, 0], 0.01
    moved = np.zeros((len(x), 6))
    moved[:, 2], moved[:, 4] = curved / 2 * x**2, -curved * x
    along = 210e9 * 0.005 * curved / (1 - 0.3**2)  # and nu times that across
    np.testing.assert_allclose(nodal_mises(_strained(structure, moved), [1.0]), along * np.sqrt(1 - 0.3 + 0.3**2))


def test_a_pulled_plate_and_a_pulled_solid_have_the_stress_of_hooke(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FlexibleBody, "nodes_removed", False, raising=False)
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


_LENGTH, _WIDTH, _HEIGHT, _BENDING = 1.0, 0.1, 0.1, 6.667e6


def _bent_bar(kind: str, order: int, through: int, along: int, across: int = 1) -> tuple[da.Structure, np.ndarray]:
    """Return a bar of solid elements and its displacements (n, 6) in pure bending by tractions on its ends."""
    skfem = pytest.importorskip("skfem")
    from scipy.sparse.linalg import spsolve

    axes = (
        np.linspace(0, _LENGTH, along + 1),
        np.linspace(0, _WIDTH, across + 1),
        np.linspace(-_HEIGHT / 2, _HEIGHT / 2, through + 1),
    )
    mesh = getattr(skfem, kind).init_tensor(*axes)
    structure = solid_structure(mesh, _STEEL, order=order)
    loads = np.zeros((len(structure.nodes), 6))
    for end, sign in ((0.0, -1.0), (_LENGTH, 1.0)):
        faces = mesh.facets_satisfying(lambda x, end=end: np.abs(x[0] - end) < 1e-9)
        skin = skfem.FacetBasis(mesh, structure.elements.basis.elem, facets=faces, intorder=5)
        traction = skfem.LinearForm(lambda v, w: _BENDING * w.x[2] / (_HEIGHT / 2) * v)
        loads[:, 0] += sign * traction.assemble(skin)
    free = structure.active & ~structure.support()
    moved = np.zeros(structure.size)
    moved[free] = spsolve(structure.stiffness.tocsc()[free][:, free], loads.ravel()[free])
    return structure, moved.reshape(-1, 6)


def _skin(structure: da.Structure) -> np.ndarray:
    return np.abs(np.abs(structure.nodes[:, 2]) - _HEIGHT / 2) < 1e-9


@pytest.mark.parametrize("kind", ["MeshHex", "MeshTet"])
def test_quadratic_solids_in_pure_bending_have_the_exact_stress_with_one_element_through_the_height(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FlexibleBody, "nodes_removed", False, raising=False)
    structure, moved = _bent_bar(kind, 2, 1, 6)
    # such displacements are quadratic: the elements hold them exactly
    found = nodal_mises(_strained(structure, moved), [1.0])[0]
    np.testing.assert_allclose(found, np.abs(structure.nodes[:, 2]) / (_HEIGHT / 2) * _BENDING, atol=1e-6 * _BENDING)
    stresses = nodal_stresses(_strained(structure, moved), [[1.0], [2.0]])
    exact = np.zeros((len(moved), 3, 3))
    exact[:, 0, 0] = structure.nodes[:, 2] / (_HEIGHT / 2) * _BENDING
    np.testing.assert_allclose(stresses.tensor[1, 0], 2 * exact, atol=1e-6 * _BENDING)
    np.testing.assert_allclose(stresses.principal[0, 0].max(), _BENDING)
    assert (stresses.error < 1e-6).all()


@pytest.mark.parametrize(("kind", "coarse", "fine"), [("MeshHex", 0.12, 0.06), ("MeshTet", 0.4, 0.2)])
def test_linear_solids_in_bending_converge_and_their_error_estimate_is_that_of_the_energy(
    kind: str, coarse: float, fine: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FlexibleBody, "nodes_removed", False, raising=False)
    off, effectivity = [], []
    for n in (4, 8):
        structure, moved = _bent_bar(kind, 1, n, 5 * n, n)
        stresses = nodal_stresses(_strained(structure, moved), [1.0])
        off.append(np.abs(stresses.mises[0, _skin(structure)] / _BENDING - 1).max())
        # tractions do work: the energy of elements is below the exact one by that of the error
        exact = _BENDING**2 / _STEEL.E / 3 * _LENGTH * _WIDTH * _HEIGHT
        energy = moved.ravel() @ (structure.stiffness @ moved.ravel())
        effectivity.append(stresses.error[0] / np.sqrt(1 - energy / exact))
    assert off[0] < coarse and off[1] < fine
    np.testing.assert_allclose(effectivity, 1.0, atol=0.15)  # effectivity of an estimate, asymptotically 1


def test_the_largest_stress_of_a_cantilever_of_solids_agrees_with_the_beam() -> None:
    skfem = pytest.importorskip("skfem")
    axes = (np.linspace(0, 1.0, 13), np.linspace(-0.02, 0.02, 2), np.linspace(-0.03, 0.03, 2))
    solid = solid_structure(skfem.MeshHex.init_tensor(*axes), da.Material(E=210e9, nu=0.0, density=7850))
    for end in (0.0, 1.0):
        solid = solid.rigid_region(np.abs(solid.nodes[:, 0] - end) < 1e-9)
    foot, tip = len(solid.nodes) - 2, len(solid.nodes) - 1
    body = solid.reduce(da.CraigBampton((foot, tip), 0))
    stiffness = body.modes.T @ (body.stiffness @ body.modes)
    force = np.zeros(6 * body.n)
    force[6 * tip + 2] = 100.0
    eta = np.linalg.lstsq(stiffness, body.modes.T @ force, rcond=None)[0]
    found = nodal_mises(body, eta)[0]
    middle = np.abs(body.nodes[:, 0] - 0.5) < 1e-9
    # 100 N times 0.5 m over the section modulus
    np.testing.assert_allclose(found[middle].max(), 50.0 / (0.04 * 0.06**2 / 6), rtol=0.01)


def test_averaging_between_coarse_plate_elements_shows_in_the_error_estimate() -> None:
    errors = []
    for n in (4, 8, 16):
        body = plate_structure(1.0, 0.6, 0.01, _STEEL, elements=(n, n)).reduce(da.FreeModes(1))
        stresses = nodal_stresses(body, [1.0])
        assert stresses.element_errors.shape == (1, n * n)
        errors.append(float(stresses.error[0]))
    assert errors[0] > 1.7 * errors[1] > 2.8 * errors[2] > 0.0


def test_modal_coordinates_of_another_number_are_refused() -> None:
    body = plate_structure(1.0, 0.6, 0.01, _STEEL, elements=(3, 3)).reduce(da.FreeModes(2))
    with pytest.raises(da.ModelError, match=r"give \(k, 2\) modal coordinates"):
        nodal_mises(body, [1.0])
    arm = da.beam(1.0, da.Section.rectangle(0.03, 0.01), _STEEL, elements=4)
    with pytest.raises(da.ModelError, match="use beam_stresses or nodal_mises"):
        nodal_stresses(arm, np.zeros(arm.nm))
