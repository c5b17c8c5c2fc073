"""Structures from Nastran bulk data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da

BARS = """\
SOL 103
CEND
BEGIN BULK
$ a comment
GRID,1,,0.0,0.0,0.0
GRID,2,,0.5,0.0,0.0
GRID*                  5                             1.0             0.0
*                    0.0
GRID,7,,1.0,0.2,0.0
GRID,9,,0.0,0.0,4.0
CBAR,1,10,1,2,9
CBAR           2      10       2       5     0.0     0.0     1.0
PBAR,10,20,8.0E-4,2.6666667-8,1.0666667-7,7.32-8,,,+P1
+P1,,,,,,,,,+P2
+P2,0.85,0.85
MAT1,20,2.1E11,,0.3,7850.0
{more}
ENDDATA
"""


def written(tmp_path: Path, text: str, name: str = "model.bdf") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_bars_become_beams(tmp_path: Path) -> None:
    text = BARS.format(more="RBE2,3,5,123456,7")
    structure, places = da.read_nastran(written(tmp_path, text))
    assert places == {1: 0, 2: 1, 5: 2, 7: 3}  # grid 9 only orients a bar
    section = da.Section(8e-4, 2.6666667e-8, 1.0666667e-7, 7.32e-8, 0.85, 0.85)
    own = da.frame_structure([da.Member(1.0, section, da.Material(E=2.1e11, nu=0.3, density=7850), elements=2)])
    body, wanted = structure.reduce(da.CantileverModes(4)), own.reduce(da.CantileverModes(4))
    assert np.allclose(body.frequencies, wanted.frequencies, rtol=1e-9)
    assert body.mass == pytest.approx(wanted.mass)
    # the tied grid follows rigidly
    arm = np.array([0, 0.2, 0])
    assert np.allclose(body.shapes[3, 3:], body.shapes[2, 3:] + np.cross(body.shapes[2, :3], arm, axis=0))


def test_concentrated_masses_are_added(tmp_path: Path) -> None:
    text = BARS.format(more="CONM2,9,5,,3.0,0.1,0.0,0.0\n,0.01,,0.02,,,0.03\nRBE2,3,5,123456,7")
    structure, _ = da.read_nastran(written(tmp_path, text))
    plain, _ = da.read_nastran(written(tmp_path, BARS.format(more="RBE2,3,5,123456,7"), "plain.bdf"))
    added = structure.rigid_mass() - plain.rigid_mass()
    assert added[3, 3] == pytest.approx(3.0)
    assert np.allclose(np.diag(added)[:3], [0.01, 0.02 + 3 * 1.1**2, 0.03 + 3 * 1.1**2])


def test_matrices_of_nastran_are_read(tmp_path: Path) -> None:
    own = da.frame_structure(
        [da.Member(1.0, da.Section.circle(0.02), da.Material(E=2e11, nu=0.3, density=7850), elements=1)]
    )
    lines = ["GRID,3,,0.0,0.0,0.0", "GRID,4,,1.0,0.0,0.0"]
    for name, matrix in (("KAAX", own.stiffness.toarray()), ("MAAX", own.mass.toarray())):
        lines.append(f"DMIG,{name},0,6,2,0")
        for column in range(12):
            for row in range(column, 12):
                if matrix[row, column]:
                    a, b = (f"{3 + k // 6},{k % 6 + 1}" for k in (column, row))
                    lines += [f"DMIG*,{name},{a},", f"*,{b},{matrix[row, column]:.9E}"]
    structure, places = da.read_nastran(written(tmp_path, "\n".join(lines) + "\n", "matrices.pch"),
                                        mass="MAAX", stiffness="KAAX")  # fmt: skip
    assert places == {3: 0, 4: 1}
    assert np.allclose(structure.stiffness.toarray(), own.stiffness.toarray(), rtol=1e-8)
    assert np.allclose(structure.mass.toarray(), own.mass.toarray(), rtol=1e-8)
    with pytest.raises(da.ModelError, match="KAAX"):
        da.read_nastran(tmp_path / "matrices.pch", mass="MAAX", stiffness="K2GG")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("CTRIA3,30,40,1,2,7\nPSHELL,40,20,0.01\nRBE2,3,5,123456,7", "CTRIA3.*DMIG"),
        ("RBE2,3,5,123,7", "123456"),
        ("RBE2,3,5,123456,99", "line 17: RBE2: GRID is 99"),
        ("CONM2,9,5,1,3.0", r"basic system \(0\)"),
        ("GRID,8,1,0.,0.,0.", "basic system"),
        ("CBAR,4,11,5,7,0.0,0.0,1.0", "no PBAR of that number"),
        ("CBAR,4,10,5,7,0.0,1.0,0.0", "lies along it"),
        ("CBAR,4,10,5,7,0.0,0.0,1.0,,\n,,,0.1", "offset or pin flag"),
        ("PBAR,11,21,1.,1.,1.,1.", "no MAT1"),
        ("MAT1,22,x,,0.3", "field 2 is 'x'; give a number"),
        ("INCLUDE 'other.bdf'", "into one"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path: Path, more: str, words: str) -> None:
    with pytest.raises(da.ModelError, match=words):
        da.read_nastran(written(tmp_path, BARS.format(more=more)))


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(da.ModelError, match="no such file"):
        da.read_nastran(tmp_path / "missing.bdf")
    with pytest.raises(da.ModelError, match="line 2: GRID: field 1 is 'one'; give an integer"):
        da.read_nastran(written(tmp_path, "BEGIN BULK\nGRID,one,,x\nENDDATA\n"))
    with pytest.raises(da.ModelError, match="no card comes before"):
        da.read_nastran(written(tmp_path, "+,1.0\n"))
    with pytest.raises(da.ModelError, match="no bars"):
        da.read_nastran(written(tmp_path, "GRID,1,,0.,0.,0.\n"))
    with pytest.raises(da.ModelError, match="both matrices"):
        da.read_nastran(written(tmp_path, "GRID,1,,0.,0.,0.\n"), mass="MAAX")
    with pytest.raises(da.ModelError, match="no GRID"):
        da.read_nastran(written(tmp_path, "BEGIN BULK\nMAT1,20,2.1E11,,0.3,7850.0\nENDDATA\n"))


def test_damaged_files_give_no_other_errors(tmp_path: Path) -> None:
    """Fields removed, repeated and replaced at random: a structure, or an error that names what is wrong."""
    rng = np.random.default_rng(0)
    lines = BARS.format(more="CONM2,9,5,,3.0,0.1,0.0,0.0\n,0.01,,0.02,,,0.03\nRBE2,3,5,123456,7").splitlines()
    outcomes = {"read": 0, "refused": 0}
    for _ in range(300):
        changed = list(lines)
        for _ in range(rng.integers(1, 4)):
            k = int(rng.integers(2, len(changed)))
            fields = changed[k].split(",")
            place = int(rng.integers(0, len(fields)))
            fields[place] = str(rng.choice(["", "0", "-1", "1.0", "x", "1e400", "nan", "99", "*", "+", "DMIG"]))
            changed[k] = ",".join(fields) if rng.random() < 0.8 else changed[int(rng.integers(2, len(changed)))]
        try:
            structure, _ = da.read_nastran(written(tmp_path, "\n".join(changed)))
            structure.reduce(da.CantileverModes(2))
            outcomes["read"] += 1
        except da.ModelError:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 20


SQUARE = """\
GRID,1,,0.0,0.0,0.0
GRID,2,,1.0,0.0,0.0
GRID,3,,1.0,1.0,0.0
GRID,4,,0.0,1.0,0.0
GRID,8,,0.4,0.5,0.3
CBAR,1,10,1,2,0.0,0.0,1.0
CBAR,2,10,2,3,0.0,0.0,1.0
CBAR,3,10,3,4,0.0,0.0,1.0
CBAR,4,10,4,1,0.0,0.0,1.0
PBAR,10,20,8.0E-4,2.6666667-8,1.0666667-7,7.32-8
MAT1,20,2.1E11,,0.3,7850.0
{more}
"""


def test_a_grid_of_an_rbe3_follows_the_mean_of_others_and_hands_its_mass_to_them(tmp_path: Path) -> None:
    more = "CONM2,9,8,,3.0\nRBE3,5,,8,123456,1.0,123,1,2\n,3,2.0,123,4"
    found, places = da.read_nastran(written(tmp_path, SQUARE.format(more=more)))
    plain, before = da.read_nastran(written(tmp_path, SQUARE.format(more=""), "plain.bdf"))
    assert before == {1: 0, 2: 1, 3: 2, 4: 3} and places == before | {8: 4}
    own = plain.mean_region([0, 1, 2, 3], (0.4, 0.5, 0.3), weights=[1, 1, 1, 2]).with_mass(4, 3.0)
    assert np.allclose(found.rigid_mass(), own.rigid_mass())
    body, wanted = (structure.reduce(da.FreeModes(4)) for structure in (found, own))
    assert np.allclose(body.frequencies, wanted.frequencies, rtol=1e-9)
    assert body.mass == pytest.approx(plain.rigid_mass()[3, 3] + 3.0)
    # a mass that hangs at the mean slows the frame, and does not stiffen it
    assert body.frequencies[0] < plain.reduce(da.FreeModes(4)).frequencies[0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("RBE3,5,,8,123,1.0,123,1,2,\n,3,4", "REFC is '123'"),
        ("RBE3,5,,8,123456,1.0,123456,1,2,\n,3,4", "components is '123456'"),
        ("RBE3,5,,8,123456,1.0,123,1,2,\n,3,UM,1,12", "UM"),
        ("RBE3,5,,2,123456,1.0,123,1,3,4", "REFGRID is 2"),
        ("RBE3,5,,8,123456,1.0,123,1,2", "RBE3: nodes"),
        ("RBAR,5,1,3,123456", "RBAR"),
        ("MPC,1,1,1,1.0,2,1,-1.0", "MPC"),
        ("PARAM,WTMASS,0.0", "WTMASS is 0.0"),
    ],
)
def test_what_joins_grids_is_read_or_refused_by_name(more: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(da.ModelError, match=message):
        da.read_nastran(written(tmp_path, SQUARE.format(more=more)))


def test_wtmass_multiplies_all_masses(tmp_path: Path) -> None:
    more = "CONM2,9,3,,3.0\n,0.01,,0.02,,,0.03"
    plain, _ = da.read_nastran(written(tmp_path, SQUARE.format(more=more)))
    heavy, _ = da.read_nastran(written(tmp_path, SQUARE.format(more=more + "\nPARAM,WTMASS,0.25"), "scaled.bdf"))
    assert np.allclose(heavy.rigid_mass(), 0.25 * plain.rigid_mass())
    assert np.allclose(heavy.mass.toarray(), 0.25 * plain.mass.toarray())
    assert np.allclose(heavy.stiffness.toarray(), plain.stiffness.toarray())
