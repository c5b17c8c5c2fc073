"""Results as tables for other programs: names, units and numbers come back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import FileError, ModelError
from dalembert.io import read_table

ODD = "=Gelenk „β“, 1.2 [x]"


@pytest.fixture(scope="module")
def result() -> da.Result:
    s = da.System("pendulum")
    bob = s.body("bob", da.rod(length=1.0, mass=2.0))
    s.connect(ODD, da.Revolute("y"), s.ground, bob)
    return da.simulate(s, 0.2)


@pytest.mark.parametrize("ending", ["csv", "xlsx", "mat"])
def test_columns_and_units_come_back(result: da.Result, ending: str, tmp_path: Path) -> None:
    if ending == "xlsx":
        pytest.importorskip("openpyxl")
    file = tmp_path / f"run.{ending}"
    names = [f"{ODD}.position", "bob.velocity", "energy.total"]
    if ending == "csv":
        result.to_csv(file, names, units=True)
    else:
        {"xlsx": result.to_excel, "mat": result.to_mat}[ending](file, names)
    columns, units = read_table(file)
    assert list(columns) == ["t", f"{ODD}.position", *(f"bob.velocity.{axis}" for axis in "xyz"), "energy.total"]
    assert list(units.values()) == ["s", "rad", "m/s", "m/s", "m/s", "J"]
    assert np.array_equal(columns["t"], result.t)
    assert np.array_equal(columns[f"{ODD}.position"], result[f"{ODD}.position"])
    assert np.array_equal(columns["bob.velocity.z"], result["bob.velocity"][:, 2])


def test_all_states_are_written_if_nothing_is_named(result: da.Result, tmp_path: Path) -> None:
    result.to_mat(tmp_path / "run.mat")
    columns, units = read_table(tmp_path / "run.mat")
    assert list(units.values()) == ["s", "rad", "rad/s"] and list(columns)[1:] == [f"{ODD}.position", f"{ODD}.speed"]


def test_names_that_matlab_does_not_take_are_reported(result: da.Result, tmp_path: Path) -> None:
    from scipy.io import loadmat

    result.to_mat(tmp_path / "run.mat")
    data = loadmat(tmp_path / "run.mat")
    variable, name, unit = (str(word[0]) for word in data["columns"][1])
    assert name == f"{ODD}.position" and unit == "rad" and variable.isidentifier() and variable.isascii()
    assert np.array_equal(data[variable][:, 0], result[f"{ODD}.position"])


def test_what_is_no_number_survives(tmp_path: Path) -> None:
    from dalembert.result.storage.tables import write_excel, write_mat, write_units_csv

    pytest.importorskip("openpyxl")
    table = ({"a": np.array([1.0, np.nan, np.inf, -np.inf])}, {"a": "m"})
    for write, name in ((write_units_csv, "t.csv"), (write_excel, "t.xlsx"), (write_mat, "t.mat")):
        write(tmp_path / name, table)
        assert np.array_equal(read_table(tmp_path / name)[0]["a"], table[0]["a"], equal_nan=True)


def test_tables_that_cannot_be_read_are_named(result: da.Result, tmp_path: Path) -> None:
    for name, text, words in (
        ("a.csv", "t [s],x [m]\n0,1\n1\n", r"line 3.*it has 1 entries, and the heading 2"),
        ("b.csv", "t,x\n0,one\n", "line 2.*could not convert"),
        ("c.csv", "t,t\n0,1\n", "a unique name"),
        ("d.xlsx", "no book", "not such a table"),
        ("e.mat", "no file of MATLAB", "not such a table"),
        ("f.txt", "", r"ends in \.csv"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(FileError, match=words):
            read_table(tmp_path / name)
    with pytest.raises(FileError, match="no such file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(ModelError, match=r"result\.to_excel"):
        result.save(tmp_path / "run.xlsx")
