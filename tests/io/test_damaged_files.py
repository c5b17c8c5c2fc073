"""A damaged file is refused by name, or reads as it was: never as other numbers, never with an error of a library."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from systems.bad_input.damaged_files import mutations

import dalembert as da
from dalembert.simulation.storage.stream import read_stream

SUFFIXES = [".nc", ".zarr", ".parquet", ".csv"]


def bouncer() -> da.System:
    """Return a body that bounces on a weak spring."""
    s = da.System("bouncer")
    s.connect("P", da.Prismatic("z"), s.ground, s.body("body", mass=1.0, inertia=(1, 1, 1)))
    s.connect("k", da.JointSpring(5.0, 0.01), "P")
    s.initial("P", position=1.0)
    return s


def bounce(now: Any) -> None:
    now.bounce("body", (0, 0, 1), 0.9)


FLOOR = da.Event("floor", "P.position", direction=-1, action=bounce)


@pytest.fixture(scope="module")
def result() -> da.Result:
    return da.simulate(bouncer(), 2.0, events=FLOOR)


def everything(r: da.Result) -> list[Any]:
    """Return all that a result read without its model holds."""
    numbers = [r.t, r.q, r.v, r.x, *(r[name] for name in ("a", "tau", "k.effort"))]
    events = [(e.name, e.t, *e.q, *e.v, e.energy, e.message) for e in r.events]
    return [*(part.tobytes() for part in numbers), events, r.status, r.message, repr(r.stats), r.labels]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_of_many_mutations_none_is_read_as_other_numbers(suffix: str, result: da.Result, tmp_path: Path) -> None:
    path = tmp_path / f"run{suffix}"
    result.save(path, ["k.effort"])
    expected, seen = everything(da.Result.load(path)), Counter[str]()
    for _ in mutations(path, 300, random.Random(1)):
        try:
            found = da.Result.load(path)
        except da.FileError as error:
            assert path.name in str(error)
            seen["refused"] += 1
        else:
            assert everything(found) == expected
            seen["unharmed"] += 1
    assert seen["refused"] > 100
    assert everything(da.Result.load(path)) == expected


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_numbers_that_are_none_are_sealed_too(suffix: str, tmp_path: Path) -> None:
    """NaN has many bit patterns, of which text keeps one."""
    model = bouncer().compile()
    v = np.array([[0.0], [1.0]])
    odd = np.array([np.nan, -np.nan]).view(np.uint64) ^ np.uint64(5)
    stored = {"a": odd.view(float).reshape(2, 1)}
    da.Result(None, [0.0, 1.0], v, v, labels=da.Result(model, [0.0], [[0.0]], [[0.0]]).labels, stored=stored).save(
        tmp_path / f"run{suffix}"
    )
    assert np.isnan(da.Result.load(tmp_path / f"run{suffix}")["a"]).all()


def test_a_table_changed_by_hand_is_refused(result: da.Result, tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    result.save(path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:-1], lines[-1].replace("1", "2", 1)]))
    with pytest.raises(da.FileError, match=r"run\.csv.*damaged, or was changed.*another copy"):
        da.Result.load(path)


def test_a_table_with_other_line_ends_is_the_same_table(result: da.Result, tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    result.save(path)
    path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n"))
    assert np.array_equal(da.Result.load(path).q, result.q)


def test_a_table_is_read_by_others(result: da.Result, tmp_path: Path) -> None:
    import pandas

    result.save(tmp_path / "run.csv")
    table = pandas.read_csv(tmp_path / "run.csv", skiprows=1)
    assert np.array_equal(table["P.position"], result.q[:, 0]) and np.array_equal(table["t"], result.t)


@pytest.mark.parametrize("suffix", [".csv", ".zarr"])
def test_files_of_the_first_format_are_read_with_a_note(suffix: str, result: da.Result, tmp_path: Path) -> None:
    path = tmp_path / f"run{suffix}"
    result.save(path)

    def older(note: dict[str, Any]) -> str:
        return json.dumps({k: v for k, v in note.items() if k not in ("seal", "model", "periods")} | {"format": 1})

    if suffix == ".csv":
        first, rest = path.read_text().split("\n", 1)
        path.write_text(f"# dalembert {older(json.loads(first[12:]))}\n{rest}")
    else:
        root = json.loads((path / "zarr.json").read_text())
        root["attributes"]["dalembert"] = older(json.loads(root["attributes"]["dalembert"]))
        (path / "zarr.json").write_text(json.dumps(root))
    found = da.Result.load(path, bouncer())
    assert np.array_equal(found.q, result.q)
    assert any("without a checksum" in note for note in found.stats.notes)


def test_a_file_without_its_seal_is_refused(result: da.Result, tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    result.save(path)
    path.write_text(path.read_text().replace('"seal"', '"sael"', 1))
    with pytest.raises(da.FileError, match="checksum"):
        da.Result.load(path)


def test_a_folder_and_a_file_that_may_not_be_read_are_not_called_damaged(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(da.FileError, match="cannot be read"):
        da.Result.load(tmp_path / "folder.csv")


# ---- streams


def press(after: float) -> Any:
    """Return a control that ends the run like Ctrl-C."""
    import signal

    armed = [True]

    def control(state: da.State) -> None:
        if armed[0] and state.t > after:
            armed[0] = False
            signal.raise_signal(signal.SIGINT)

    return control


def test_of_many_mutations_of_a_stream_none_is_read_as_other_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dalembert.simulation.run.MAX_CHUNK_STEPS", 4)
    model, folder = bouncer().compile(), tmp_path / "run"
    options: dict[str, Any] = {"events": FLOOR, "max_step": 0.02}
    whole = da.simulate(model, 2.0, control=press(9.0), **options)
    part = da.simulate(model, 2.0, control=press(1.0), stream=folder, **options)
    assert part.status == "interrupted"
    seen = Counter[str]()
    rng, spare = random.Random(2), tmp_path / "spare"
    for k in range(120):
        damaged = tmp_path / f"damaged{k}"
        shutil.copytree(folder, spare)
        next(mutations(spare, 1, rng))
        spare.rename(damaged)
        try:
            t, q, v, x = read_stream(damaged, model)
            assert np.array_equal(t, part.t) and np.array_equal(q, part.q) and np.array_equal(v, part.v) and x.size == 0
            done = da.simulate(model, 2.0, control=press(9.0), stream=damaged, resume=True, **options)
            assert np.array_equal(done.q, whole.q) and np.array_equal(done.t, whole.t)
            seen["unharmed"] += 1
        except da.FileError as error:
            assert f"damaged{k}" in str(error)
            seen["refused"] += 1
        shutil.rmtree(damaged)
    assert seen["refused"] > 60 and seen.total() == 120


def test_a_stream_that_was_cut_is_refused(tmp_path: Path) -> None:
    model, folder = bouncer().compile(), tmp_path / "run"
    da.simulate(model, 1.0, stream=folder)
    for name in ("rows.bin", "seals.bin"):
        blob = (folder / name).read_bytes()
        (folder / name).write_bytes(blob[: len(blob) // 2])
        with pytest.raises(da.FileError, match=r"rows up to its checkpoint.*another copy"):
            read_stream(folder, model)
        (folder / name).write_bytes(blob)
    assert len(read_stream(folder, model)[0])
