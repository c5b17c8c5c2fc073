"""Structures from matrices in files and arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_array, save_npz

import dalembert as da

OWN = da.frame_structure(
    [da.Member(1.0, da.Section.tube(0.02, 0.018), da.Material(E=70e9, nu=0.33, density=2700), elements=3)]
)


def same(found: da.Structure) -> bool:
    pairs = ((found.nodes, OWN.nodes), (found.mass.toarray(), OWN.mass.toarray()))
    pairs += ((found.stiffness.toarray(), OWN.stiffness.toarray()),)
    return all(np.allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(b).max()) for a, b in pairs)


def test_matrix_market_and_text(tmp_path: Path) -> None:
    mmwrite(tmp_path / "M.mtx", coo_array(OWN.mass), symmetry="symmetric", precision=17)
    mmwrite(tmp_path / "K.mtx", coo_array(OWN.stiffness), symmetry="symmetric", precision=17)
    np.savetxt(tmp_path / "nodes.csv", OWN.nodes, delimiter=",", fmt="%.17g")
    np.savetxt(tmp_path / "nodes.txt", OWN.nodes, fmt="%.17g")
    for nodes in ("nodes.csv", "nodes.txt"):
        assert same(da.read_structure(tmp_path / nodes, tmp_path / "M.mtx", str(tmp_path / "K.mtx")))


def test_numpy_and_scipy_files(tmp_path: Path) -> None:
    np.save(tmp_path / "nodes.npy", OWN.nodes)
    np.save(tmp_path / "M.npy", OWN.mass.toarray())
    save_npz(tmp_path / "K.npz", OWN.stiffness)
    assert same(da.read_structure(tmp_path / "nodes.npy", tmp_path / "M.npy", tmp_path / "K.npz"))
    assert same(da.read_structure(OWN.nodes, OWN.mass, OWN.stiffness.toarray(), total_mass=OWN.rigid_mass()[3, 3]))


def test_dofs_by_component() -> None:
    order = np.arange(24).reshape(4, 6).T.ravel()  # ux of all nodes, uy of all, ...
    found = da.read_structure(
        OWN.nodes, OWN.mass[order][:, order], OWN.stiffness[order][:, order], numbering="components"
    )
    assert same(found)


def test_displacements_alone() -> None:
    """Four masses at the corners of a tetrahedron, springs along its edges."""
    nodes = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    K = np.zeros((12, 12))
    for i in range(4):
        for j in range(i):
            d = nodes[i] - nodes[j]
            d /= np.linalg.norm(d)
            row = np.zeros(12)
            row[3 * i : 3 * i + 3], row[3 * j : 3 * j + 3] = d, -d
            K += 100 * np.outer(row, row)
    structure = da.read_structure(nodes, 2 * np.eye(12), K, dofs=3)
    body = structure.reduce(da.FreeModes(6))
    exact = np.sqrt(np.linalg.eigvalsh(K / 2)[6:])
    assert np.allclose(body.frequencies, exact)
    assert body.mass == pytest.approx(8)
    with pytest.raises(da.ModelError, match=r"no rotations of its own.*rigid region"):
        structure.reduce(da.CantileverModes(2))
    with pytest.raises(da.ModelError, match="elastic modes; request fewer"):
        structure.reduce(da.FreeModes(7))


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "K.mtx").write_text("no matrix")
    (tmp_path / "K.bin").write_text("no matrix")
    (tmp_path / "K.npy").write_text("no matrix")
    for stiffness, words in (
        (tmp_path / "missing.mtx", "no such file"),
        (tmp_path / "K.bin", "its format is unknown; use .npy"),
        (tmp_path / "K.mtx", "cannot be read"),
        (tmp_path / "K.npy", "cannot be read"),
        (np.eye(12), r"4 nodes with 6 degrees of freedom each need \(24, 24\)"),
    ):
        with pytest.raises(da.ModelError, match=words):
            da.read_structure(OWN.nodes, OWN.mass, stiffness)
    with pytest.raises(da.ModelError, match="6, or 3"):
        da.read_structure(OWN.nodes, OWN.mass, OWN.stiffness, dofs=2)
    with pytest.raises(da.ModelError, match="'components'"):
        da.read_structure(OWN.nodes, OWN.mass, OWN.stiffness, numbering="rows")
    with pytest.raises(da.ModelError, match="three columns"):
        da.read_structure(OWN.nodes[:, :2], OWN.mass, OWN.stiffness)
    with pytest.raises(da.ModelError, match="kg declared"):
        da.read_structure(OWN.nodes, OWN.mass, OWN.stiffness, total_mass=1000.0)


# ---- regions


def test_a_rigid_region_moves_as_one() -> None:
    s = da.frame_structure(
        [
            da.Member(
                [(0, 0, 0), (1, 0, 0), (1, 0.5, 0)], da.Section.circle(0.02), da.Material(7e10, 0.3, 2700), elements=6
            )
        ]
    )
    tied = s.rigid_region([3, 4, 5], at=(0.9, 0.1, 0.0))
    new = len(s.nodes)
    assert tied.nodes[-1].tolist() == [0.9, 0.1, 0.0] and len(tied.nodes) == new + 1
    assert np.allclose(tied.rigid_mass(), s.rigid_mass())
    body = tied.reduce(da.CantileverModes(5))
    for node in (3, 4, 5):
        arm = tied.nodes[node] - tied.nodes[new]
        assert np.allclose(body.shapes[node, :3], body.shapes[new, :3])
        assert np.allclose(body.shapes[node, 3:], body.shapes[new, 3:] + np.cross(body.shapes[new, :3], arm, axis=0))
    assert body.frequencies[0] > s.reduce(da.CantileverModes(5)).frequencies[0]
    # the same by huge stiffness between the nodes, in the limit
    to_existing = s.rigid_region([4, 5], at=3)
    assert len(to_existing.nodes) == new
    assert np.allclose(to_existing.reduce(da.CantileverModes(5)).frequencies, body.frequencies, rtol=1e-7)
    forces = da.section_forces(to_existing.reduce(da.CantileverModes(5)), np.ones(5))
    assert np.abs(forces[0, 3]).max() < 1e-6 * np.abs(forces[0, 0]).max()  # no strain inside the region


def test_a_mean_region_follows_without_stiffening() -> None:
    square = da.frame_structure(
        [da.Member([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 0)], da.Section.circle(0.02),
                   da.Material(7e10, 0.3, 2700), elements=8)]
    )  # fmt: skip
    middle = square.mean_region([0, 2, 4, 6])
    node = len(square.nodes)
    assert np.allclose(middle.nodes[node], [0.5, 0.5, 0])
    body, plain = middle.reduce(da.FreeModes(6)), square.reduce(da.FreeModes(6))
    assert np.allclose(body.frequencies, plain.frequencies, rtol=1e-7)
    assert np.allclose(body.shapes[node, 3:], body.shapes[[0, 2, 4, 6], 3:].mean(0), atol=1e-9)
    arms = middle.nodes[[0, 2, 4, 6]] - middle.nodes[node]
    turned = np.cross(arms[:, :, None], body.shapes[[0, 2, 4, 6], 3:], axis=1).sum(0)
    wanted = np.linalg.solve((arms**2).sum() * np.eye(3) - arms.T @ arms, turned)
    assert np.allclose(body.shapes[node, :3], wanted, atol=1e-9)
    # a weight of nothing leaves a node out
    weighted = square.mean_region([0, 2, 4, 6], weights=[1, 1, 1, 0], at=(0.5, 0.5, 0)).reduce(da.FreeModes(6))
    three = square.mean_region([0, 2, 4], at=(0.5, 0.5, 0)).reduce(da.FreeModes(6))
    assert np.allclose(weighted.shapes[node], three.shapes[node], atol=1e-9)
    with pytest.raises(da.ModelError, match="rigid region"):
        middle.reduce(da.CantileverModes(3, at=node))
    with pytest.raises(da.ModelError, match="only follows other nodes"):
        middle.reduce(da.CraigBampton((0, node), 3))


def test_impossible_regions_are_refused() -> None:
    s = OWN
    for make, words in (
        (lambda: s.rigid_region([]), "at least 1 node"),
        (lambda: s.rigid_region([0, 99]), "0 to 3"),
        (lambda: s.rigid_region([0, 0]), "each once"),
        (lambda: s.rigid_region([2], at=3).rigid_region([2], at=0), "follow other nodes already"),
        (lambda: s.rigid_region([2], at=3).mean_region([0, 1, 2]), "follow other nodes already"),
        (lambda: s.mean_region([0, 1]), "at least 3 nodes"),
        (lambda: s.mean_region([0, 1, 2]), "on a line"),
        (lambda: s.mean_region([0, 1, 2], weights=[-1, 1, 1]), "negative"),
        (lambda: s.mean_region([0, 1, 2], weights=[1, 1]), "weights"),
    ):
        with pytest.raises(da.ModelError, match=words):
            make()


def test_nodes_that_carry_nothing_are_refused() -> None:
    from scipy.sparse import block_diag, csr_array

    nodes = np.vstack([OWN.nodes, [5, 5, 5]])
    loose = da.Structure(
        nodes,
        csr_array(block_diag([OWN.mass, csr_array((6, 6))])),
        csr_array(block_diag([OWN.stiffness, csr_array((6, 6))])),
    )
    with pytest.raises(da.ModelError, match=r"the first is 4.*by a region"):
        loose.reduce(da.CantileverModes(2))
    assert loose.rigid_region([4], at=3).reduce(da.CantileverModes(2)).n == 5
