"""Sweeps give the same bits wherever they run, and outlive what dies on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import types
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from dataset_equality import same_data

import dalembert as da
from dalembert.errors import ModelWarning
from dalembert.library.mechanisms import four_bar

COUNT = 40


def swings(**more: Any) -> xarray.Dataset:
    speeds = np.linspace(0.5, 3.0, COUNT)
    times = np.linspace(0, 0.5, 6)
    return da.sweep(four_bar(), {"A.speed": speeds}, t_end=0.5, times=times, outputs=["D.position", "D.force"], **more)


@pytest.fixture(scope="module")
def here() -> xarray.Dataset:
    return swings()


def test_the_same_bits_on_one_thread(here: xarray.Dataset) -> None:
    before = da.threads()
    da.set_threads(1)
    try:
        assert same_data(swings(), here)
    finally:
        da.set_threads(before)


def test_the_same_bits_in_processes(here: xarray.Dataset) -> None:
    assert same_data(swings(workers=2), here)


def test_the_same_bits_on_executors(here: xarray.Dataset) -> None:
    with ThreadPoolExecutor(2) as pool:
        assert same_data(swings(executor=pool), here)
    with ProcessPoolExecutor(2) as other:
        assert same_data(swings(executor=other), here)


def test_the_same_bits_by_joblib(here: xarray.Dataset) -> None:
    joblib = pytest.importorskip("joblib")
    assert same_data(swings(executor=joblib.Parallel(n_jobs=2, prefer="threads")), here)


def test_the_same_bits_in_two_sittings(here: xarray.Dataset, tmp_path: Path) -> None:
    path = tmp_path / "study.zarr"
    swings(store=path, workers=2)
    logs = sorted((path / "log").iterdir())
    assert len(logs) == 2  # a file for each worker
    lines = logs[0].read_bytes().splitlines(keepends=True)
    logs[0].write_bytes(b"".join(lines[: len(lines) // 2]))  # as if it had been stopped half-way
    assert (da.load_sweep(path).status == "not run").any()
    assert same_data(swings(store=path), here)


def deadly(model: da.Model, case: da.studies.Case, marks: str, always: bool) -> float:
    mark = Path(marks) / f"{case['n']}"
    if case["n"] == 7 and (always or not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return float(case["n"] ** 2)


def test_a_process_that_dies_once_costs_nothing(tmp_path: Path) -> None:
    found = da.sweep(four_bar(), {"n": list(range(20))}, task=deadly, workers=2, marks=str(tmp_path), always=False)
    assert (found.status == "finished").all()
    assert found.answer.values.tolist() == [n**2 for n in range(20)]


def test_a_case_that_kills_its_process_fails_alone(tmp_path: Path) -> None:
    found = da.sweep(four_bar(), {"n": list(range(20))}, task=deadly, workers=2, marks=str(tmp_path), always=True)
    assert found.status.values.tolist() == ["failed" if n == 7 else "finished" for n in range(20)]
    assert "died" in found.message.values[7]


def test_an_executor_that_dies_leaves_what_is_finished(tmp_path: Path) -> None:
    store = tmp_path / "study.zarr"
    settings = {"task": deadly, "marks": str(tmp_path), "store": store}
    with ProcessPoolExecutor(1) as pool, pytest.warns(ModelWarning, match="the executor is lost"):
        found = da.sweep(four_bar(), {"n": list(range(40))}, executor=pool, always=True, **settings)
    assert (found.status == "not run").any()


def test_what_cannot_be_sent_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(da.ModelError, match=r"cannot be sent to another process.*top of a module"):
        da.sweep(four_bar(), {"n": [1, 2]}, task=lambda model, case: case["n"], workers=2)


# Dask


def test_the_same_bits_on_a_cluster(here: xarray.Dataset, cluster: Any) -> None:
    assert same_data(swings(client=cluster), here)


def test_what_a_worker_cannot_unpack_is_named(cluster: Any) -> None:
    made = types.ModuleType("only_here")
    exec("def task(model, case):\n    return 1.0", made.__dict__)
    sys.modules["only_here"] = made
    try:
        with pytest.raises(da.ModelError, match=r"workers cannot unpickle it.*only_here"):
            da.sweep(four_bar(), {"n": [1, 2]}, task=made.task, client=cluster)
    finally:
        del sys.modules["only_here"]


def test_a_worker_that_is_killed_half_way_costs_nothing(cluster: Any, tmp_path: Path) -> None:
    found = da.sweep(four_bar(), {"n": list(range(30))}, task=deadly, client=cluster, marks=str(tmp_path), always=False)
    assert (tmp_path / "7").exists()
    assert (found.status == "finished").all()
    assert found.answer.values.tolist() == [n**2 for n in range(30)]


_ELSEWHERE = """
import sys, time
from distributed import LocalCluster
if __name__ == "__main__":
    made = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, host="127.0.0.1", memory_limit=0)
    print(made.scheduler_address, flush=True)
    time.sleep(60)
"""


def slow(model: da.Model, case: da.studies.Case, marks: str) -> float:
    (Path(marks) / f"{case['n']}").touch()
    time.sleep(0.02)
    return float(case["n"] ** 2)


def test_a_scheduler_that_goes_away_leaves_what_is_finished(tmp_path: Path) -> None:
    distributed, dask = pytest.importorskip("distributed"), pytest.importorskip("dask")
    script, marks = tmp_path / "elsewhere.py", tmp_path / "marks"
    script.write_text(_ELSEWHERE)
    marks.mkdir()
    known = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        subprocess.Popen(
            [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, start_new_session=True, env=known
        ) as process,
    ):
        assert process.stdout is not None
        client = distributed.Client(process.stdout.readline().strip())
        client.wait_for_workers(1)

        def end() -> None:
            while len(list(marks.iterdir())) < 100:
                time.sleep(0.02)
            os.killpg(process.pid, signal.SIGKILL)

        thread = threading.Thread(target=end)
        thread.start()
        with pytest.warns(ModelWarning, match="the scheduler is lost"):
            found = da.sweep(four_bar(), {"n": list(range(200))}, task=slow, client=client, marks=str(marks))
        thread.join()
        client.close(timeout=1)
    assert (found.status == "finished").any()
    assert (found.status == "not run").any()
    done = found.answer.values[found.status.values == "finished"]
    assert np.array_equal(done, found.n.values[found.status.values == "finished"] ** 2)
