"""Sweeps: every combination is a case, and every case is what its task gives by itself."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
import xarray
from dataset_equality import same_data
from systems.pendulums import rod_chain, sprung_pendulum

import dalembert as da
from dalembert.errors import ModelWarning


def chain(case: da.studies.Case) -> da.System:
    return rod_chain(case["links"])


def hanging(model: da.Model, case: da.studies.Case) -> dict[str, Any]:
    return {"frequencies": da.modes(model, da.equilibrium(model)).frequencies, "draw": case.rng.random()}


def touchy(model: da.Model, case: da.studies.Case) -> float:
    if case["load"] > 2:
        raise ValueError("too much")
    return float("nan") if case["load"] == 2 else case["load"]


def test_every_combination_is_the_run_by_itself() -> None:
    s = sprung_pendulum()
    found = da.sweep(
        s,
        {"k.stiffness": [20.0, 40.0], "A": [0.1, 0.2, 0.3], "bob.mass": [1.0, 2.0]},
        t_end=1.0,
        times=np.linspace(0, 1, 11),
        outputs={"angle": "A.position", "tip": "bob.position", "peak": ("A.speed", "peak"), "last": lambda r: r.t[-1]},
    )
    assert dict(found.sizes) == {"k.stiffness": 2, "A": 3, "bob.mass": 2, "time": 11, "axis": 3}
    assert (found.status == "finished").all()
    one = found.sel({"k.stiffness": 40.0, "A": 0.2, "bob.mass": 1.0})
    result = da.simulate(
        s, 1.0, times=np.linspace(0, 1, 11), state={"A": [0.2]}, parameters={"k.stiffness": 40.0, "bob.mass": 1.0}
    )[0]
    assert np.array_equal(one.angle, result["A.position"])
    assert np.array_equal(one.tip, result["bob.position"])
    assert one.peak == abs(result["A.speed"]).max()
    assert one["last"] == 1.0
    assert found.angle.attrs["units"] == "rad"
    assert np.array_equal(found.time, np.linspace(0, 1, 11))


def test_rows_of_values_go_together() -> None:
    found = da.sweep(
        sprung_pendulum(), {("k.stiffness", "bob.mass"): [(1.0, 2.0), (3.0, 4.0)]}, task="modes", outputs="frequencies"
    )
    assert dict(found.sizes) == {"k.stiffness, bob.mass": 2, "mode": 1}
    assert found["bob.mass"].values.tolist() == [2.0, 4.0]
    expected = [
        da.modes(sprung_pendulum().compile().with_parameters({"k.stiffness": k, "bob.mass": m})).frequencies
        for k, m in ((1.0, 2.0), (3.0, 4.0))
    ]
    assert np.array_equal(found.frequencies, expected)


@pytest.mark.parametrize("design", ["latin", "sobol", "random"])
def test_samples_follow_their_distributions_and_their_seed(design: str) -> None:
    over = {"k.stiffness": scipy.stats.norm(20.0, 2.0), "bob.mass": scipy.stats.uniform(1.0, 1.0)}
    keep = {"w": lambda modes: 2 * np.pi * modes.frequencies[0]}
    found = da.sweep(sprung_pendulum(), over, task="modes", samples=48, design=design, seed=3, outputs=keep, workers=1)
    again = da.sweep(sprung_pendulum(), over, task="modes", samples=48, design=design, seed=3, outputs=keep, workers=1)
    other = da.sweep(sprung_pendulum(), over, task="modes", samples=48, design=design, seed=4, outputs=keep, workers=1)
    assert same_data(found, again)
    assert not np.array_equal(found["k.stiffness"], other["k.stiffness"])
    u = scipy.stats.norm(20.0, 2.0).cdf(found["k.stiffness"])
    assert scipy.stats.kstest(u, "uniform").pvalue > 1e-3
    assert ((found["bob.mass"] >= 1) & (found["bob.mass"] <= 2)).all()
    if design == "latin":  # one in each of as many strips
        assert sorted((u * 48).astype(int)) == list(range(48))


def test_numbers_that_depend_on_each_other_are_drawn_together() -> None:
    law = scipy.stats.multivariate_normal([20.0, 2.0], [[1.0, 0.09], [0.09, 0.01]])
    found = da.sweep(sprung_pendulum(), {("k.stiffness", "bob.mass"): law}, samples=200, task=_nothing, workers=1)
    assert np.corrcoef(found["k.stiffness"], found["bob.mass"])[0, 1] > 0.8


def _nothing(model: da.Model, case: da.studies.Case) -> float:
    return 0.0


def test_topology_may_vary_and_shorter_answers_are_filled_up() -> None:
    found = da.sweep(chain, {"links": [1, 2, 3]}, task=hanging, seed=5)
    assert found.links.dtype.kind == "i"
    assert np.isnan(found.frequencies.values[0, 1:]).all()
    assert np.isfinite(found.frequencies.values[2]).all()
    assert found.frequencies.values[0, 0] == pytest.approx(np.sqrt(1.5 * 9.81) / (2 * np.pi))
    alone = da.sweep(chain, {"links": [1, 2, 3]}, task=hanging, seed=5)
    assert same_data(found, alone)
    assert len(set(found.draw.values)) == 3


def test_names_that_a_function_does_not_read_are_numbers_of_its_system() -> None:
    found = da.sweep(chain, {"links": [2], "b1.mass": [1.0, 5.0]}, task="equilibrium", outputs=["stable"])
    assert found.stable.all()
    with pytest.warns(ModelWarning, match="all 1 cases failed.*'b7.mass'.*no parameter of 'chain'"):
        da.sweep(chain, {"links": [2], "b7.mass": [1.0]}, task="equilibrium")


@pytest.mark.parametrize("workers", [1, 2])
def test_what_fails_is_recorded_and_stops_nothing(workers: int) -> None:
    found = da.sweep(sprung_pendulum(), {"load": [1.0, 2.0, 3.0, 0.5]}, task=touchy, workers=workers)
    assert found.status.values.tolist() == ["finished", "finished", "failed", "finished"]
    assert found.message.values[2] == "ValueError: too much"
    assert np.array_equal(found.answer, [1.0, np.nan, np.nan, 0.5], equal_nan=True)


def test_runs_that_cannot_begin_or_end_are_recorded_among_others() -> None:
    s = sprung_pendulum()
    s.connect("x", da.Element("joint", "where(s > a, 1/(s - s), 0)", parameters={"a": 10.0}), "A")
    over = {"bob.mass": [1.0, -1.0], "x.a": [10.0, 0.05]}
    found = da.sweep(s, over, t_end=1.0, outputs=("A.position", "final"), state={"A": 0.01})
    assert found.status.values.tolist() == [["finished", "failed"], ["failed", "failed"]]
    assert "must not be negative" in found.message.values[1, 0]
    assert "IntegrationError" in found.message.values[0, 1]
    assert np.isfinite(found["A.position final"].values[0, 0])


def test_means_are_over_time_however_unevenly_it_is_stored() -> None:
    """A coordinate that grows evenly, 3 t: mean 3/2, root mean square sqrt(3), at times most of which lie early."""
    s = da.System("slide", gravity=(0, 0, 0))
    s.connect("P", da.Prismatic("x"), s.ground, s.body("block", da.box(1, 1, 1, mass=1.0)))
    keep = {how: ("P.position", how) for how in ("mean", "rms", "integral")}
    times = np.linspace(0, 1, 400) ** 3
    found = da.sweep(s, {"P.speed": [3.0]}, t_end=1.0, times=times, outputs=keep)
    assert found["mean"].item() == pytest.approx(1.5)
    assert found.integral.item() == pytest.approx(1.5)
    assert found.rms.item() == pytest.approx(np.sqrt(3), rel=1e-5)
    best = da.optimize(s, {"P.speed": (0.5, 5.0)}, "rms", outputs=keep, t_end=1.0, times=times, start={"P.speed": 3.0})
    assert best.slopes() == pytest.approx(1 / np.sqrt(3), rel=1e-5)
    assert best.gradient == "exact"


def test_notes_name_the_case() -> None:
    from dalembert.library.mechanisms import slider_crank

    found = da.sweep(slider_crank(), {"D": [0.3, 0.35, 50.0]}, t_end=0.01, outputs="A.position", workers=2)
    assert [note for note in found.attrs["notes"] if note.startswith("case 2: D was to start at 50 m")]


def test_kinematics_and_linear_tasks() -> None:
    from dalembert.library.mechanisms import four_bar

    s = four_bar()
    coupler = next(name for name in s.parameters if name.endswith(".x") and s.parameters[name].value > 0)
    value = s.parameters[coupler].value
    found = da.sweep(
        s,
        {coupler: [value, 1.01 * value]},
        task="kinematics",
        drive="A",
        values=np.linspace(0.5, 1.0, 6),
        outputs="D.position",
    )
    alone = da.kinematics(
        s.compile().with_parameters({coupler: 1.01 * value}), drive="A", values=np.linspace(0.5, 1, 6)
    )
    assert np.array_equal(found["D.position"].values[1], alone["D.position"])
    linear = da.sweep(sprung_pendulum(), {"k.stiffness": [10.0, 20.0]}, task="linearize", outputs=["eigenvalues", "A"])
    assert linear.A.shape == (2, 2, 2)
    assert linear.eigenvalues.dtype.kind == "c"


@pytest.mark.parametrize(
    ("over", "more", "said"),
    [
        ({}, {}, "give a dict of name to values"),
        ({"bob.mass": []}, {}, "one value at least"),
        ({"bob.mass": 2.0}, {}, "give a list"),
        ({"bob.mass": [np.nan]}, {}, "finite"),
        ({"bob.mas": [1.0]}, {}, "similar names: 'bob.mass'"),
        ({"bob.mass": scipy.stats.norm()}, {}, "give the number of samples"),
        ({"bob.mass": [1.0]}, {"samples": 3}, "nothing is drawn"),
        ({"bob.mass": [1.0]}, {"outputs": None}, "give the outputs to record"),
        ({"bob.mass": [1.0]}, {"outputs": "A.positio"}, "A.position"),
        ({"bob.mass": [1.0]}, {"outputs": ("A.position", "median")}, "A.position"),
        ({"bob.mass": [1.0]}, {"outputs": [("A.position", "middle")]}, "'peak'"),
        ({"A.speed": [1.0]}, {"outputs": "A.speed"}, "another label"),
        ({"bob.mass": [1.0]}, {"t_emd": 1.0}, "t_emd"),
        ({"bob.mass": [1.0]}, {"task": "dance"}, "'modes'"),
        ({("bob.mass", "A"): [1.0, 2.0]}, {}, "rows of 2 values"),
        ({"bob.mass": [1.0]}, {"design": "grid"}, "latin"),
        ({"bob.mass": [1.0]}, {"workers": 0}, "1 or more"),
        ({"bob.mass": [1.0]}, {"executor": 7}, "joblib"),
    ],
)
def test_errors_of_all_cases_are_reported_before_the_first_run(over: Any, more: dict[str, Any], said: str) -> None:
    with pytest.raises(da.ModelError, match=said):
        da.sweep(sprung_pendulum(), over, **{"t_end": 1.0, "outputs": "A.position", **more})


# stores


def _stored(path: Path, **more: Any) -> xarray.Dataset:
    over = {"k.stiffness": np.linspace(10, 30, 9), "A": [0.1, 0.2]}
    settings = {"outputs": {"peak": ("A.speed", "peak"), "angle": "A.position"}, **more}
    return da.sweep(sprung_pendulum(), over, t_end=0.5, times=[0.0, 0.25, 0.5], store=path, **settings)


def test_a_store_gives_back_what_was_found(tmp_path: Path) -> None:
    found = _stored(tmp_path / "study.zarr")
    assert da.load_sweep(tmp_path / "study.zarr").equals(found)
    assert same_data(_stored(tmp_path / "study.zarr"), found)


def test_finished_cases_are_not_run_again(tmp_path: Path) -> None:
    path, marks = tmp_path / "study.zarr", tmp_path / "marks"
    marks.mkdir()
    with pytest.warns(ModelWarning, match="9 cases were not run"):
        first = da.sweep(
            sprung_pendulum(), {"n": list(range(12))}, task=_marking, store=path, folder=str(marks), stop=3
        )
    assert (first.status == "finished").sum() == 3
    assert len(list(marks.iterdir())) == 3
    (marks / "go").touch()
    second = da.sweep(sprung_pendulum(), {"n": list(range(12))}, task=_marking, store=path, folder=str(marks), stop=3)
    assert (second.status == "finished").all()
    assert second.answer.values.tolist() == [n**2 for n in range(12)]
    assert sorted(p.name for p in marks.iterdir() if p.name != "go") == sorted(f"{n} 1" for n in range(12))


def _marking(model: da.Model, case: da.studies.Case, folder: str, stop: int) -> float:
    if case["n"] >= stop and not (Path(folder) / "go").exists():
        raise KeyboardInterrupt
    times = len(list(Path(folder).glob(f"{case['n']} *"))) + 1
    (Path(folder) / f"{case['n']} {times}").touch()
    return float(case["n"] ** 2)


def test_another_study_is_refused_by_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "study.zarr"
    _stored(path)
    with pytest.raises(da.FileError, match="different outputs"):
        _stored(path, outputs=("A.speed", "max"))
    with pytest.raises(da.FileError, match="different settings"):
        _stored(path, rtol=1e-6)
    with pytest.raises(da.FileError, match="different model"):
        s = sprung_pendulum()
        s.connect("extra", da.TorsionSpring(stiffness=1.0), "A")
        da.sweep(
            s,
            {"k.stiffness": np.linspace(10, 30, 9), "A": [0.1, 0.2]},
            t_end=0.5,
            times=[0.0, 0.25, 0.5],
            store=path,
            outputs={"peak": ("A.speed", "peak"), "angle": "A.position"},
        )


def test_a_folder_of_others_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "text.txt").write_text("years of work")
    with pytest.raises(da.FileError, match="was not written by da"):
        _stored(folder)
    assert (folder / "text.txt").read_text() == "years of work"
    (tmp_path / "file").write_text("here")
    with pytest.raises(da.FileError):
        _stored(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "here"


def test_damaged_values_are_noticed_and_run_again(tmp_path: Path) -> None:
    path = tmp_path / "study.zarr"
    found = _stored(path)
    chunk = next(p for p in sorted((path / "peak" / "c").rglob("*")) if p.is_file())
    (tmp_path / "away").write_bytes(chunk.read_bytes())
    chunk.unlink()  # a chunk that is missing reads as NaN
    with pytest.raises(da.FileError, match="do not match their checksum"):
        da.load_sweep(path)
    assert _stored(path).equals(found)


@pytest.mark.parametrize("place", ["peak/c", "peak/zarr.json", "variables.json", "study.json", "zarr.json"])
def test_a_flipped_bit_is_refused_by_name_or_its_cases_run_again(place: str, tmp_path: Path) -> None:
    whole, path = tmp_path / "whole.zarr", tmp_path / "study.zarr"
    found, rng = _stored(whole), np.random.default_rng(3)
    for _ in range(6):
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(whole, path)
        file = next(p for p in [path / place, *sorted((path / place).rglob("*"))] if p.is_file())
        data = bytearray(file.read_bytes())
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
        file.write_bytes(bytes(data))
        try:
            assert da.load_sweep(path).equals(found)
        except da.FileError as error:
            assert "study.zarr" in str(error)
        try:
            assert _stored(path).equals(found)
        except da.FileError as error:
            assert place in ("variables.json", "study.json"), error  # values can be had again


@pytest.mark.parametrize("damage", [lambda data: data[:-20], lambda data: data[:40] + b"7" + data[41:]])
def test_a_line_that_is_cut_off_or_damaged_counts_as_not_run(damage: Any, tmp_path: Path) -> None:
    path = tmp_path / "study.zarr"
    found = _stored(path)
    log = next((path / "log").iterdir())
    log.write_bytes(damage(log.read_bytes()))
    assert (da.load_sweep(path).status == "not run").all()
    assert _stored(path).equals(found)


def _lines(path: Path) -> int:
    return sum(log.read_text().count("\n") for log in (path / "log").iterdir())


def test_failures_are_kept_unless_they_are_to_be_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "study.zarr"
    over = {"load": [1.0, 3.0]}
    da.sweep(sprung_pendulum(), over, task=touchy, store=path)
    assert da.load_sweep(path).message.values[1] == "ValueError: too much"
    before = _lines(path)
    da.sweep(sprung_pendulum(), over, task=touchy, store=path)
    assert _lines(path) == before
    da.sweep(sprung_pendulum(), over, task=touchy, store=path, retry=True)
    assert _lines(path) == before + 1


def test_answers_that_the_disk_does_not_take_are_in_the_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dalembert.studies.sweeps.store import Store

    def full(self: Store, block: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, "_keep", full)
    with pytest.warns(ModelWarning, match="No space left on device"):
        found = _stored(tmp_path / "study.zarr")
    assert (found.status == "finished").all()
    assert np.isfinite(found.peak).all()


def test_two_writers_of_one_store_are_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "study.zarr")
    found = da.sweep(sprung_pendulum(), {"n": [1]}, task=_beside_another, store=path, path=path)
    assert "is writing to it" in found.message.values[0]


def _beside_another(model: da.Model, case: da.studies.Case, path: str) -> float:
    da.sweep(sprung_pendulum(), {"n": [1]}, task=_beside_another, store=path, path=path)
    return 0.0
