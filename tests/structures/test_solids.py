"""Solids by scikit-fem, against beams."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import MissingPackageError
from dalembert.structures.supported_structure import free_modes

skfem = pytest.importorskip("skfem")

STEEL = da.Material(E=210e9, nu=0.3, density=7850)


def bar(nx: int = 8) -> object:
    lines = np.linspace(0, 1, nx + 1), np.linspace(-0.02, 0.02, 2), np.linspace(-0.01, 0.01, 2)
    return skfem.MeshHex.init_tensor(*lines)


def test_a_solid_has_the_mass_of_its_volume() -> None:
    body = da.solid_structure(bar(), STEEL).reduce(da.FreeModes(2))
    m = 7850 * 0.04 * 0.02
    assert body.mass == pytest.approx(m) and np.allclose(body.com, [0.5, 0, 0], atol=1e-9)
    about = m / 12 * np.array([0.04**2 + 0.02**2, 1 + 0.02**2, 1 + 0.04**2]) + m / 4 * np.array([0, 1, 1])
    assert np.allclose(body.inertia, np.diag(about), atol=1e-6 * m)
    with pytest.raises(da.ModelError, match="kg declared"):
        da.solid_structure(bar(2), STEEL, total_mass=1.0)


@pytest.mark.parametrize("kind", ["hexahedra", "tetrahedra"])
def test_constant_strain_is_exact(kind: str) -> None:
    """The patch test: a linear displacement field raises no forces inside, and the energy of its strain."""
    mesh = (
        skfem.MeshHex.init_tensor(*(np.linspace(0, 1, 3),) * 3) if kind == "hexahedra" else skfem.MeshTet().refined(2)
    )
    rng = np.random.default_rng(0)
    D = rng.normal(size=(3, 3))
    strain = (D + D.T) / 2
    G, nu = float(STEEL.G or 0), 0.3
    stress = 2 * G * strain + 2 * G * nu / (1 - 2 * nu) * np.trace(strain) * np.eye(3)
    for order in (1, 2):
        s = da.solid_structure(mesh, STEEL, order=order)
        u = np.zeros((len(s.nodes), 6))
        u[:, :3] = s.nodes @ D.T
        forces = (s.stiffness @ u.ravel()).reshape(-1, 6)
        inside = ((s.nodes > 1e-9) & (s.nodes < 1 - 1e-9)).all(1)
        assert inside.any() and np.abs(forces[inside]).max() < 1e-8 * np.abs(forces).max()
        assert u.ravel() @ forces.ravel() == pytest.approx((stress * strain).sum(), rel=1e-9)


def test_a_slender_solid_vibrates_like_a_beam() -> None:
    solid = da.solid_structure(bar(), STEEL)
    ends = [np.flatnonzero(np.abs(solid.nodes[:, 0] - x) < 1e-9) for x in (0.0, 1.0)]
    held = solid.rigid_region(ends[0]).rigid_region(ends[1])
    root, tip = len(solid.nodes), len(solid.nodes) + 1
    body = held.reduce(da.CantileverModes(4, at=root))
    beam = da.beam(1.0, da.Section.rectangle(0.04, 0.02), STEEL, elements=20, modes=da.CantileverModes(4))
    # eight quadratic elements, and an end that cannot contract sideways: a little too stiff
    assert np.allclose(body.frequencies, beam.frequencies, rtol=0.03) and (body.frequencies > beam.frequencies).all()
    assert np.allclose(np.abs(body.shapes[tip, 3:]), np.abs(beam.shapes[-1, 3:]), atol=0.01)
    slope = np.abs(beam.shapes[-1, :3])
    assert np.allclose(np.abs(body.shapes[tip, :3]), slope, atol=0.03 * slope.max())
    # inside the solid, rotations come from the nodes around
    middle, near = solid.node((0.5, 0.0, 0.0)), 10
    assert np.allclose(np.abs(body.shapes[middle, :3]), np.abs(beam.shapes[near, :3]), atol=0.05 * slope.max())


def test_linear_elements_are_too_stiff() -> None:
    stiff, fine = (np.sqrt(free_modes(da.solid_structure(bar(), STEEL, order=k), 1)[0][0]) for k in (1, 2))
    assert stiff > 1.5 * fine


def test_rotations_of_solid_nodes_are_those_of_the_material() -> None:
    """Under pure twist of a cube every inner node turns by its share."""
    mesh = skfem.MeshHex.init_tensor(*(np.linspace(-1, 1, 5),) * 3)
    s = da.solid_structure(mesh, STEEL, order=1)
    x, y, z = s.nodes.T
    mode = np.zeros((len(s.nodes), 6))
    mode[:, 0], mode[:, 1] = -y * z, x * z  # each layer turns about z by an angle z
    body = s.reduce(da.GivenModes(mode.reshape(-1, 1)))
    inside = (np.abs(s.nodes) < 0.99).all(1)
    assert np.allclose(body.shapes[inside, 2, 0], z[inside], atol=1e-9)


def test_a_spinning_solid_is_stiffened_like_a_beam() -> None:
    solid = da.solid_structure(bar(10), da.Material(E=210e9, nu=0.0, density=7850))
    held = solid.rigid_region(solid.nodes[:, 0] < 1e-9, at=(0.0, 0.0, 0.0))
    body = held.reduce(
        da.CantileverModes(3, at=len(solid.nodes)), stiffening=True, load_nodes=[solid.node((1.0, 0, 0))]
    )
    s = body.stiffening
    assert s is not None and s.loads is not None
    ratio = np.diag(s.spin[2]) / np.diag(body.modal_mass)
    # Southwell's numbers of the first flap and lag; the third mode is the second flap
    assert np.allclose(ratio, [1.193, 1.193, 6.48], rtol=0.01)
    pull = np.diag(s.loads[0, 3])  # per unit force at the tip: integral of w'2
    slope = body.shapes[:, 1:3, 0]
    middle = np.abs(solid.nodes[:, 1:]).max(1) < 1e-9
    x = solid.nodes[middle, 0]
    order = np.argsort(x)
    wanted = np.trapezoid((slope[: len(solid.nodes)][middle] ** 2).sum(1)[order], x[order])
    assert pull[0] == pytest.approx(wanted, rel=2e-3)  # trapezoids over the nodes


def test_mesh_files_are_read(tmp_path: Path) -> None:
    meshio = pytest.importorskip("meshio")
    mesh = skfem.MeshTet().refined(1)
    tetrahedra = meshio.Mesh(np.vstack([[[9, 9, 9]], mesh.p.T]), [("tetra", mesh.t.T + 1), ("triangle", [[0, 1, 2]])])
    meshio.write(tmp_path / "cube.vtk", tetrahedra)
    own = da.solid_structure(mesh, STEEL)
    for source in (tmp_path / "cube.vtk", str(tmp_path / "cube.vtk"), tetrahedra):
        found = da.solid_structure(source, STEEL)
        assert len(found.nodes) == len(own.nodes) and np.allclose(found.rigid_mass(), own.rigid_mass())
    meshio.write(tmp_path / "flat.vtk", meshio.Mesh(mesh.p.T, [("triangle", mesh.t.T[:, :3])]))
    (tmp_path / "text.msh").write_text("no mesh")
    for source, words in (
        (tmp_path / "missing.vtk", "no such file"),
        (tmp_path / "flat.vtk", "tetrahedra, or hexahedra"),
        (tmp_path / "text.msh", "meshio cannot read it"),
        (3.0, "give a mesh"),
    ):
        with pytest.raises(da.ModelError, match=words):
            da.solid_structure(source, STEEL)


def test_impossible_solids_are_refused() -> None:
    for make, words in (
        (lambda: da.solid_structure(bar(2), "steel"), "give a Material"),
        (lambda: da.solid_structure(bar(2), STEEL, order=3), "1 or 2"),
        (lambda: da.solid_structure(skfem.MeshTri(), STEEL), "mesh of the volume"),
    ):
        with pytest.raises(da.ModelError, match=words):
            make()


def test_missing_packages_name_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skfem", None)
    with pytest.raises(MissingPackageError, match=r'pip install "dalembert\[fem\]"'):
        da.solid_structure("x.msh", STEEL)
