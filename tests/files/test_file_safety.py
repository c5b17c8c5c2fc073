"""File safety: never delete foreign files, run file contents, crash or return wrong numbers."""

from __future__ import annotations

import base64
import errno
import json
import os
import pickle
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.files import safe_files as atomic
from dalembert.library import chain
from dalembert.library.mechanisms import four_bar


@pytest.fixture(scope="module")
def result() -> da.Result:
    return da.simulate(chain(2), 0.1)


# ---- files


@pytest.mark.parametrize("write", ["to_csv", "save"])
def test_a_folder_is_never_replaced_by_a_file(write: str, result: da.Result, tmp_path: Path) -> None:
    folder = tmp_path / "results.csv"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    with pytest.raises(da.ModelError, match=r"results\.csv.*is a folder.*another name"):
        getattr(result, write)(folder)
    assert (folder / "thesis.txt").read_text() == "years of work" and os.listdir(tmp_path) == ["results.csv"]


def test_only_a_store_of_ours_is_replaced_by_a_store(result: da.Result, tmp_path: Path) -> None:
    foreign = tmp_path / "old.zarr"
    foreign.mkdir()
    (foreign / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    with pytest.raises(da.ModelError, match=r"not written by Result\.save"):
        result.save(foreign)
    assert os.listdir(foreign) == ["zarr.json"]
    file = tmp_path / "file.zarr"
    file.write_text("mine")
    with pytest.raises(da.ModelError, match="not a folder"):
        result.save(file)
    assert file.read_text() == "mine"
    own = tmp_path / "own.zarr"
    result.save(own)
    da.simulate(chain(3), 0.1).save(own)  # one of ours: replaced
    assert da.Result.load(own).q.shape[1] == 3


def test_a_link_stays_a_link_and_what_it_points_to_keeps_its_mode(result: da.Result, tmp_path: Path) -> None:
    elsewhere = tmp_path / "archive"
    elsewhere.mkdir()
    private = elsewhere / "private.csv"
    private.write_text("old")
    private.chmod(0o600)
    link = tmp_path / "run.csv"
    link.symlink_to(private)
    result.to_csv(link)
    assert link.is_symlink() and private.read_text().startswith("t,")
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert sorted(os.listdir(tmp_path)) == ["archive", "run.csv"] and os.listdir(elsewhere) == ["private.csv"]


def test_what_is_written_to_a_pipe_or_device_goes_into_it(result: da.Result, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDWR)  # so that nobody waits for the other end
    try:
        result.to_csv(pipe)
        assert len(os.read(end, 1 << 16).splitlines()) == len(result) + 1
    finally:
        os.close(end)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_may_not_be_written_to_is_named(result: da.Result, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(da.ModelError, match=r"run\.csv.*may not be written"):
            result.to_csv(tmp_path / "run.csv")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("name", ["run.csv", "run.nc", "model.yaml", "drawing.png"])
def test_a_full_disk_is_reported_with_the_file_and_nothing_is_lost(
    name: str, result: da.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / name
    path.write_text("years of work")
    monkeypatch.setattr(atomic, "_flush", full)
    write = {"run.csv": result.to_csv, "run.nc": result.save, "drawing.png": lambda p: result.draw(path=p)}
    with pytest.raises(da.FileError, match=rf"{name}.*cannot be written: No space left on device"):
        write.get(name, lambda p: da.save(result.model.system, p))(path)
    assert path.read_text() == "years of work" and os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["run.csv", "drawing.png"])
def test_a_private_file_stays_private_while_it_is_written(
    name: str, result: da.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = []

    def look(path: Path) -> None:
        modes.extend(stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir())

    (tmp_path / name).write_text("old")
    (tmp_path / name).chmod(0o600)
    monkeypatch.setattr(atomic.os, "chmod", lambda path, mode: look(Path(path)))  # before it gets its own
    result.to_csv(tmp_path / name) if name == "run.csv" else result.draw(path=tmp_path / name)
    assert modes == [0o600, 0o600]


def test_what_a_killed_writer_left_is_removed_a_day_later(result: da.Result, tmp_path: Path) -> None:
    left, other, foreign = (tmp_path / f".run.csv.{k * 32}.new" for k in "abz")
    for path in (left, other, foreign):
        path.write_text("half")
    os.utime(left, (0, 0))
    os.utime(foreign, (0, 0))
    result.to_csv(tmp_path / "run.csv")
    assert sorted(os.listdir(tmp_path)) == sorted([other.name, foreign.name, "run.csv"])  # one may still be written to


# ---- code in files


class Payload:
    """Runs a command when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def hostile(store: Path, name: str, change: dict[str, Any], chunk: bytes | None = None) -> None:
    """Change metadata of an array of a store, and its only chunk."""
    metadata = json.loads((store / name / "zarr.json").read_text())
    metadata.update(change)
    (store / name / "zarr.json").write_text(json.dumps(metadata))
    if chunk is not None:
        for file in (store / name / "c").rglob("*"):
            if file.is_file():
                file.write_bytes(chunk)


def test_a_store_runs_no_code(result: da.Result, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    blob = pickle.dumps(np.array([Payload(mark)], dtype=object))
    encoded = base64.b64encode(blob).decode()
    pickled = {"codecs": [{"name": "numcodecs.pickle", "configuration": {}}]}
    changes: list[dict[str, Any]] = [
        pickled,
        {"codecs": [{"name": "vlen-utf8"}], "data_type": "string"},
        {"data_type": {"name": "null_terminated_bytes", "configuration": {"length_bytes": 8}}},
        {"data_type": "object", "fill_value": encoded},
        {"storage_transformers": [{"name": "pickle"}]},
    ]
    for k, change in enumerate(changes):
        for name in ("q", "speed"):  # an array that is read, and one that is not
            store = tmp_path / f"hostile_{k}_{name}.zarr"
            result.save(store)
            hostile(store, name, change, blob)
            if name == "q":
                with pytest.raises(da.ModelError, match="'q'"):
                    da.Result.load(store)
            else:
                assert np.array_equal(da.Result.load(store).q, result.q)
            assert not mark.exists()


def test_a_store_leads_nowhere_else(result: da.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "other.zarr")
    store = tmp_path / "run.zarr"
    result.save(store)
    root = json.loads((store / "zarr.json").read_text())
    note = json.loads(root["attributes"]["dalembert"])
    note["places"]["q"] = "../other.zarr/q"
    root["attributes"]["dalembert"] = json.dumps(note)
    (store / "zarr.json").write_text(json.dumps(root))
    with pytest.raises(da.ModelError, match="no array"):
        da.Result.load(store)


# ---- laws with many inputs

MANY = """
import numpy as np, dalembert as da
n = {n}
s = da.System("many", gravity=(0, 0, 0))
block = s.body("block", da.box(0.1, 0.1, 0.1, mass=2.0))
s.connect("slide", da.Prismatic("x"), s.ground, block)
law = lambda t, s, ds, *rest: -sum(rest) * s
parameters = {{f"k{{k}}": 1.0 for k in range(n - 3)}}
s.connect("spring", da.Element("joint", law, parameters), "slide")
s.initial("slide", position=0.1)
print(da.simulate(s, 1.0)["slide.position"][-1] - 0.1 * np.cos(np.sqrt((n - 3) / 2)))
"""


@pytest.mark.parametrize("n", [64, 65, 192])
def test_a_python_law_takes_as_many_inputs_as_it_may(n: int) -> None:
    run = subprocess.run([sys.executable, "-c", MANY.format(n=n)], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert abs(float(run.stdout)) < 1e-7


def test_a_law_with_more_inputs_than_it_may_have_is_refused() -> None:
    with pytest.raises(da.ModelError, match="up to 192"):
        da.Element("joint", lambda *x: 0.0, {f"k{k}": 1.0 for k in range(190)})


# ---- threads


def test_a_result_read_by_many_threads_gives_the_same_states() -> None:
    swinging = da.simulate(chain(3), 2.0)
    loop = da.simulate(four_bar(), 0.5, times=np.linspace(0, 0.5, 11))
    times = np.linspace(0.0, 0.5, 57)
    for result in (swinging, loop):
        alone = result.at(times)
        with ThreadPoolExecutor(8) as pool:
            for read in pool.map(lambda _, r=result: r.at(times), range(64)):
                assert np.array_equal(read.q, alone.q) and np.array_equal(read.v, alone.v)
