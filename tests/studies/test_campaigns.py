"""Campaigns: stores that other tools open, provenance, single cases run again, comparison."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import xarray
from dataset_equality import same_data
from systems.pendulums import sprung_pendulum

import dalembert as da
from dalembert.errors import ModelWarning

OVER = {"k.stiffness": np.linspace(10, 30, 5), "A": [0.1, 0.2, 0.3]}
OUTPUTS = {"peak": ("A.speed", "peak"), "angle": "A.position", "tip": "bob.position"}


def campaign(**more: Any) -> xarray.Dataset:
    given = {"over": OVER, "outputs": OUTPUTS, "t_end": 0.5, "times": [0.0, 0.25, 0.5], **more}
    return da.sweep(sprung_pendulum(), given.pop("over"), **given)


def failing(model: da.Model, case: da.studies.Case) -> dict[str, Any]:
    if case["n"] == 2:
        raise ValueError("too much")
    return {"square": case["n"] ** 2, "series": np.arange(case["n"] + 1.0)}


# stores that xarray opens


def test_xarray_opens_a_store_lazily_with_names_units_coordinates_and_attributes(tmp_path: Path) -> None:
    found = campaign(store=tmp_path / "study.zarr")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        there = xarray.open_zarr(tmp_path / "study.zarr")
    assert there["angle"].dims == ("k.stiffness", "A", "time") and there["tip"].dims[-1] == "axis"
    assert there["angle"].chunks is not None  # Dask arrays: nothing is read
    for name in ("k.stiffness", "A", "time"):
        assert np.array_equal(there[name].values, found[name].values)
    assert there["angle"].attrs["units"] == "rad"
    for name in OUTPUTS:
        assert np.array_equal(there[name].values, found[name].values)
    assert (there["status"].values == 1).all() and there["status"].attrs["flag_meanings"].split()[1] == "finished"
    assert there.attrs["dalembert"] == da.__version__ and there.attrs["isa"] == da.isa


def test_chunks_are_of_consecutive_cases() -> None:
    from dalembert.studies.sweeps.store_arrays import chunk_shape, rows_by_chunk

    assert chunk_shape((9, 2), 8) == (9, 2)
    assert chunk_shape((100_000,), 8) == (1024,)
    assert chunk_shape((10, 10, 3000), 8) == (1, 1, 1024)
    assert chunk_shape((1000, 100), 8) == (10, 100)
    assert chunk_shape((5, 7), 1 << 30) == (1, 1)
    for shape, chunks in (((7, 5, 4), (1, 2, 4)), ((11,), (4,))):
        seen = []
        for chunk, region, local, rows in rows_by_chunk(shape, chunks, range(int(np.prod(shape)))):
            numbers = np.arange(np.prod(shape)).reshape(shape)[region][local]
            assert numbers.tolist() == rows.tolist()
            assert all(part.start == k * size for part, k, size in zip(region, chunk, chunks, strict=True))
            seen += rows.tolist()
        assert sorted(seen) == list(range(int(np.prod(shape))))


def test_loaded_values_stay_in_the_store_until_they_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dalembert.studies.sweeps import lazy_data

    found = campaign(store=tmp_path / "study.zarr").load()
    reads: list[int] = []
    read = lazy_data.read_values

    def counted(*given: Any) -> Any:
        values = read(*given)
        reads.append(np.size(values))
        return values

    monkeypatch.setattr(lazy_data, "read_values", counted)
    loaded = da.load_sweep(tmp_path / "study.zarr")
    assert not reads
    assert loaded.angle[2, 1].values.tolist() == found.angle.values[2, 1].tolist()
    assert set(reads) == {3}  # of 45
    assert da.load_sweep(tmp_path / "study.zarr", chunks={}).angle.chunks is not None
    assert same_data(da.load_sweep(tmp_path / "study.zarr", chunks={}).compute(), found)


def test_values_that_are_damaged_are_named_when_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "study.zarr"
    found = campaign(store=path)
    chunk = next(p for p in sorted((path / "tip" / "c").rglob("*")) if p.is_file())
    data = bytearray(chunk.read_bytes())
    data[len(data) // 2] ^= 1
    chunk.write_bytes(bytes(data))
    loaded = da.load_sweep(path)
    assert np.array_equal(loaded.peak, found.peak)  # the others can be read
    with pytest.raises(da.FileError, match="'tip' is damaged"):
        loaded.tip.load()
    assert same_data(campaign(store=path), found)


def test_workers_write_to_the_store_themselves(tmp_path: Path) -> None:
    path = tmp_path / "study.zarr"
    found = da.sweep(sprung_pendulum(), {"n": list(range(9))}, task=failing, workers=2, store=path)
    writers = {file.name.split("-")[-2] for file in (path / "log").iterdir()}
    assert str(os.getpid()) not in writers
    assert found.status.values.tolist() == ["failed" if n == 2 else "finished" for n in range(9)]
    assert found.series.shape == (9, 9) and np.isnan(found.series.values[1, 2:]).all()
    there = xarray.open_zarr(path)
    assert there.series.shape == (9, 9) and "too much" in str(there.message.values[2])
    alone = da.sweep(sprung_pendulum(), {"n": list(range(9))}, task=failing, workers=1)
    assert np.array_equal(found.series, alone.series, equal_nan=True)


@pytest.mark.slow
def test_workers_of_dask_write_to_the_store_themselves(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None, host="127.0.0.1") as made,
        distributed.Client(made) as client,
    ):
        path = tmp_path / "study.zarr"
        found = campaign(client=client, store=path)
        assert str(os.getpid()) not in {file.name.split("-")[-2] for file in (path / "log").iterdir()}
    assert same_data(found, campaign())


def test_labels_that_no_folder_may_have_are_kept(tmp_path: Path) -> None:
    outputs = {"a/b": ("A.speed", "peak"), "Peak": ("A.speed", "max"), "peak": ("A.speed", "min")}
    found = campaign(outputs=outputs, store=tmp_path / "study.zarr")
    assert {"a/b", "Peak", "peak"} <= set(found.data_vars)
    assert same_data(found, campaign(outputs=outputs))
    there = xarray.open_zarr(tmp_path / "study.zarr")
    assert any(v.attrs.get("long_name") == "a/b" for v in there.data_vars.values())


def test_rows_of_values_and_text_are_coordinates(tmp_path: Path) -> None:
    over = {("k.stiffness", "bob.mass"): [(10.0, 1.0), (20.0, 2.0)], "kind": ["soft", "hard"]}
    found = da.sweep(
        sprung_pendulum(), over, task=lambda m, c: float(len(c["kind"])), store=tmp_path / "study.zarr", workers=1
    )
    there = xarray.open_zarr(tmp_path / "study.zarr")
    assert there["kind"].values.tolist() == ["soft", "hard"]
    assert there["bob.mass"].values.tolist() == [1.0, 2.0]
    assert da.load_sweep(tmp_path / "study.zarr").equals(found)


# provenance


def test_attributes_tell_what_was_run_where_and_when(tmp_path: Path) -> None:
    found = campaign(rtol=1e-8, seed=4)
    for data in (
        found,
        campaign(rtol=1e-8, seed=4, store=tmp_path / "study.zarr"),
        da.load_sweep(tmp_path / "study.zarr"),
    ):
        attrs = data.attrs
        assert attrs["dalembert"] == da.__version__ and attrs["isa"] == da.isa and attrs["numpy"] == np.__version__
        assert attrs["date"][:2] == "20" and attrs["platform"] and attrs["python"]
        assert attrs["task"] == "simulate" and attrs["seed"] == 4
        settings = json.loads(attrs["settings"])
        assert settings["rtol"] == 1e-8 and settings["t_end"] == 0.5 and settings["times"] == [0.0, 0.25, 0.5]
        assert json.loads(attrs["outputs"])["peak"] == ["A.speed", "peak"]
        assert json.loads(attrs["varied"]) == {"k.stiffness": [["k.stiffness"], 5], "A": [["A"], 3]}
        (tmp_path / "model.yaml").write_text(attrs["model"])
        assert da.load(tmp_path / "model.yaml").bodies["bob"].mass == sprung_pendulum().bodies["bob"].mass


def test_parameters_of_a_changed_model_are_kept(tmp_path: Path) -> None:
    model = sprung_pendulum().compile().with_parameters({"bob.mass": 3.0})
    found = da.sweep(model, {"A": [0.1, 0.2]}, t_end=0.2, outputs=("A.speed", "peak"), store=tmp_path / "a.zarr")
    assert json.loads(found.attrs["parameters"]) == {"bob.mass": 3.0}
    assert abs(da.Study(found).rerun(1)["A.speed"]).max() == pytest.approx(found["A.speed peak"].values[1], rel=1e-13)
    with pytest.raises(da.FileError, match=r"different parameters, bob\.mass: 3\.0 in the store, none here"):
        da.sweep(
            sprung_pendulum(), {"A": [0.1, 0.2]}, t_end=0.2, outputs=("A.speed", "peak"), store=tmp_path / "a.zarr"
        )


@pytest.mark.parametrize(
    "change, said",
    [
        ({"rtol": 1e-6}, r"different settings, rtol: none in the store, 1e-06 here"),
        ({"t_end": 0.6}, r"different settings, t_end: 0.5 in the store, 0.6 here"),
        ({"seed": 7}, r"different seed: 0 in the store, 7 here"),
        ({"outputs": {**OUTPUTS, "peak": ("A.speed", "max")}}, r"different outputs, peak: A.speed, peak in the store"),
        ({"over": {**OVER, "A": [0.1, 0.25, 0.3]}}, r"different over, A: 0.2 in the store, 0.25 here"),
        ({"over": {**OVER, "A": [0.1, 0.2]}}, r"different over, A: 3 values in the store, 2 values here"),
    ],
)
def test_a_refused_store_names_what_differs_with_both_values(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    campaign(store=tmp_path / "study.zarr")
    with pytest.raises(da.FileError, match=said):
        campaign(store=tmp_path / "study.zarr", **change)


def test_a_refused_store_names_the_part_of_the_model_that_differs(tmp_path: Path) -> None:
    def swept(mass: float) -> xarray.Dataset:
        s = da.System("pendulum")
        s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=mass)))
        return da.sweep(s, {"A": [0.1]}, t_end=0.1, outputs="A.position", store=tmp_path / "study.zarr")

    swept(2.0)
    with pytest.raises(da.FileError, match=r"different model, body 'bob', mass: 2.0 in the store, 2.5 here"):
        swept(2.5)


def test_a_store_of_another_version_is_refused_by_version(tmp_path: Path) -> None:
    from dalembert.studies.sweeps.store_arrays import read_sealed, write_sealed

    path = tmp_path / "study.zarr"
    campaign(store=path)
    note = read_sealed(path / "study.json", path)
    note["format"], note["attributes"]["dalembert"] = 9, "7.1"
    write_sealed(path / "study.json", note)
    for act in (lambda: campaign(store=path), lambda: da.load_sweep(path)):
        with pytest.raises(da.FileError, match=r"format is 9, written by dalembert 7\.1; this version reads 3"):
            act()


def test_a_store_continued_with_another_instruction_set_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "study.zarr"
    campaign(store=path)
    sessions = path / "sessions.jsonl"
    sessions.write_text(sessions.read_text().replace(f'"{da.isa}"', '"sse2"'))
    with pytest.warns(ModelWarning, match=f"begun with isa sse2, this is {da.isa}"):
        campaign(store=path)


def test_a_worker_with_another_version_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from dalembert.studies.sweeps import jobs
    from dalembert.studies.sweeps.cases import Cases

    job = jobs.Job(sprung_pendulum().compile(), failing, {}, ())
    sent = jobs.packed(job)
    monkeypatch.setattr(jobs, "package_version", lambda: "0.0.9")
    with pytest.raises(da.ModelError, match=r"the client has dalembert .*, this worker 0\.0\.9"):
        jobs.carry_out(sent, Cases.of([{"n": 1}]))


# single cases, failures, tables


def test_a_case_is_run_again_with_its_full_result(tmp_path: Path) -> None:
    found = campaign(store=tmp_path / "study.zarr")
    for study in (da.Study(found), da.Study(tmp_path / "study.zarr")):
        number = study.number({"A": 0.2, "k.stiffness": 20.0})
        assert number == 7 and study.case(7) == {"k.stiffness": 20.0, "A": 0.2}
        run = study.rerun(number)
        assert isinstance(run, da.Result)
        assert np.allclose(run["A.position"], found.angle.values[2, 1], rtol=1e-13, atol=0)
        assert len(study.rerun(number, times=np.linspace(0, 0.5, 11)).t) == 11
        assert study.success and "15 finished" in study.message
    with pytest.raises(da.ModelError, match="no value of 'A' fit"):
        study.rerun({"A": 0.4, "k.stiffness": 20.0})
    with pytest.raises(da.ModelError, match="from 0 to 14"):
        study.rerun(15)


def test_case_numbers_hold_for_samples_and_tasks_of_the_user() -> None:
    import scipy.stats

    over = {"k.stiffness": scipy.stats.norm(20.0, 1.0), "n": [1, 3]}
    found = da.sweep(sprung_pendulum(), over, samples=4, task=drawn, seed=5, workers=1)
    with pytest.raises(da.ModelError, match=r"task=drawn"):
        da.Study(found).rerun(3)
    study = da.Study(found, task=drawn)
    assert study.rerun(5) == found.answer.values[2, 1]


def drawn(model: da.Model, case: da.studies.Case) -> float:
    return float(case["n"] * case.rng.uniform())


def test_tracebacks_of_failed_cases_are_kept(tmp_path: Path) -> None:
    for workers in (1, 2):
        path = tmp_path / f"{workers}.zarr"
        found = da.sweep(sprung_pendulum(), {"n": [1, 2, 3]}, task=failing, workers=workers, store=path)
        for data in (found, da.load_sweep(path)):
            failures = da.Study(data).failures
            assert failures.index.tolist() == [1] and failures.n.tolist() == [2]
            assert 'raise ValueError("too much")' in failures.traceback[1] and "in failing" in failures.traceback[1]
    assert "traceback" not in da.sweep(sprung_pendulum(), {"n": [1]}, task=failing, workers=1)


def test_scalars_go_to_a_table_and_to_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    study = da.Study(campaign())
    assert list(study.table.columns) == ["k.stiffness", "A", "peak", "status", "message"]
    assert np.array_equal(study.table.peak, study.data.peak.values.ravel())
    study.save_table(tmp_path / "cases.parquet")
    assert pandas.read_parquet(tmp_path / "cases.parquet").equals(study.table)
    import pyarrow.parquet

    meta = json.loads(pyarrow.parquet.read_schema(tmp_path / "cases.parquet").metadata[b"dalembert_sweep"])
    assert meta["settings"]["t_end"] == 0.5
    study.save_table(tmp_path / "cases.csv")
    assert np.array_equal(pandas.read_csv(tmp_path / "cases.csv").peak, study.table.peak)
    with pytest.raises(da.ModelError, match=r"\.parquet or \.csv"):
        study.save_table(tmp_path / "cases.txt")


def test_a_study_needs_what_its_campaign_could_not_keep() -> None:
    def build(case: da.studies.Case) -> da.System:
        assert case["n"] > 0
        return sprung_pendulum()

    found = da.sweep(build, {"n": [1, 2]}, task="modes")
    with pytest.raises(da.ModelError, match="made by a function"):
        da.Study(found).rerun(0)
    assert np.array_equal(da.Study(found, build).rerun(1).frequencies, found.frequencies.values[1])
    other = da.sweep(sprung_pendulum(), {"k.stiffness": [1.0]}, task="modes")
    s = sprung_pendulum()
    s.connect("more", da.TorsionSpring(stiffness=1.0), "A")
    with pytest.raises(da.ModelError, match="checksums differ"):
        da.Study(other, s).rerun(0)
    with pytest.raises(da.ModelError, match="give a Dataset"):
        da.Study(xarray.Dataset())


# two campaigns


def test_two_campaigns_are_compared_case_by_case(tmp_path: Path) -> None:
    first = campaign(store=tmp_path / "a.zarr")
    second = campaign(rtol=1e-5, over={**OVER, "A": [0.2, 0.3, 0.4]})
    found = da.compare(tmp_path / "a.zarr", second, rtol=1e-2)
    assert found.success and found.compared == 10
    assert found.only_first == {"A": 1} and found.only_second == {"A": 1}
    assert set(found.attributes) == {"settings"}
    gap = np.abs(first.peak.values[:, 1:] - second.peak.values[:, :2])
    assert found.table.largest["peak"] == gap.max() > 0
    k = np.unravel_index(gap.argmax(), gap.shape)
    assert found.table.loc["peak", "case"] == {"k.stiffness": OVER["k.stiffness"][k[0]], "A": [0.2, 0.3][k[1]]}
    strict = da.compare(first, second)
    assert not strict.success and strict.table.differing["peak"] == (gap > 0).sum()
    assert "peak" in str(strict) and "settings" in strict.message


def test_a_comparison_reads_large_campaigns_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    from dalembert.studies.sweeps import comparison

    first, second = campaign(), campaign(rtol=1e-6)
    whole = da.compare(first, second).table
    for size in (1, 2, 7, 40):
        monkeypatch.setattr(comparison, "MAX_PART_NUMBERS", size)
        assert da.compare(first, second).table.equals(whole)


def test_a_comparison_counts_outcomes_and_refuses_other_axes() -> None:
    def other(model: da.Model, case: da.studies.Case) -> dict[str, Any]:
        return {"square": float(case["n"] ** 2)}

    first = da.sweep(sprung_pendulum(), {"n": [1, 2, 3]}, task=failing, workers=1)
    second = da.sweep(sprung_pendulum(), {"n": [1, 2, 3]}, task=other, workers=1)
    found = da.compare(first, second)
    assert found.status == {("failed", "finished"): 1, ("finished", "finished"): 2}
    assert not found.success and found.only_first == {"series": "output"}
    with pytest.raises(da.ModelError, match="different axes"):
        da.compare(first, campaign())
