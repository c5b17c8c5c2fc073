"""Every task gives the same bits in every place; what is lost half-way is named, and all else goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
import xarray
from dataset_equality import same_data
from systems.pendulums import rod_chain, sprung_pendulum

import dalembert as da
from dalembert.library.mechanisms import four_bar


def chain(case: da.studies.Case) -> da.System:
    return rod_chain(case["links"], damping=0.1)


def hanging(model: da.Model, case: da.studies.Case) -> dict[str, Any]:
    return {"frequencies": da.modes(model, da.equilibrium(model)).frequencies, "draw": case.rng.random()}


def sprung() -> da.System:
    return sprung_pendulum(damping=0.1)


def spring(**more: Any) -> dict[str, Any]:
    return {"system": sprung(), "over": {"k.stiffness": np.linspace(5, 30, 12)}, **more}


STUDIES: dict[str, dict[str, Any]] = {
    "simulate": {
        "system": four_bar(),
        "over": {"A.speed": np.linspace(0.5, 3.0, 12)},
        "t_end": 0.3,
        "times": [0.0, 0.3],
        "outputs": ["D.position", "D.force", ("A.speed", "rms")],
    },
    "kinematics": {
        "system": four_bar(),
        "over": {"coupler.mass": [1.0, 2.0]},
        "task": "kinematics",
        "drive": "A",
        "values": np.linspace(0.5, 1.0, 4),
        "outputs": "D.position",
    },
    "equilibrium": spring(task="equilibrium", outputs=["stable", "A"]),
    "modes": spring(task="modes"),
    "linearize": spring(task="linearize", outputs=["eigenvalues", "A"]),
    "a function of the case, several topologies": {
        "system": chain,
        "over": {"links": [1, 3, 2], "b0.mass": [1.0, 2.0]},
        "task": hanging,
        "seed": 7,
    },
    "drawn": {
        "system": sprung(),
        "over": {"k.stiffness": scipy.stats.norm(20, 1), "bob.mass": scipy.stats.uniform(1, 1), "A": [0.1, 0.2]},
        "samples": 8,
        "design": "sobol",
        "t_end": 0.2,
        "outputs": ("A.speed", "peak"),
    },
}


def run(name: str, **where: Any) -> xarray.Dataset:
    study = dict(STUDIES[name])
    found = da.sweep(study.pop("system"), study.pop("over"), **study, **where)
    assert (found.status == "finished").all()
    return found


@pytest.fixture(scope="module")
def pools() -> Iterator[dict[str, Any]]:
    joblib = pytest.importorskip("joblib")
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2) as processes:
        yield {"threads": threads, "processes": processes, "joblib": joblib.Parallel(n_jobs=2, backend="loky")}


@pytest.mark.parametrize("name", STUDIES)
def test_every_task_gives_the_same_bits_everywhere(name: str, pools: dict[str, Any], cluster: Any) -> None:
    here = run(name, workers=1)
    assert same_data(run(name), here), "chosen automatically"
    assert same_data(run(name, workers=2), here), "processes of our own"
    for kind, pool in pools.items():
        assert same_data(run(name, executor=pool), here), kind
    assert same_data(run(name, client=cluster), here), "Dask"


def test_an_address_is_as_good_as_a_client(cluster: Any) -> None:
    found = run("modes", client=cluster.scheduler.address)
    assert same_data(found, run("modes", workers=1))


@pytest.mark.parametrize(
    ("client", "said"), [("tcp://127.0.0.1:9", "no scheduler responds"), (7, "address of a scheduler")]
)
def test_a_scheduler_that_cannot_be_reached_is_named(client: Any, said: str) -> None:
    dask = pytest.importorskip("dask")
    pytest.importorskip("distributed")
    with dask.config.set({"distributed.comm.timeouts.connect": "500ms"}), pytest.raises(da.ModelError, match=said):
        run("modes", client=client)


_SCRIPT = """
import sys
import dalembert as da

def arm(case):
    s = da.System("arm")
    end = s.ground
    for k in range(case["links"]):
        link = s.body(f"link{k}", da.rod(1.0, 1.0))
        s.connect(f"j{k}", da.Revolute("y"), end, link)
        end = link.at(1.0, 0, 0)
    return s

def reach(model, case):
    return float(model.nv) + case["more"]

if __name__ == "__main__":
    over = {"links": [1, 2, 3], "more": [0.5, 0.25]}
    found = da.sweep(arm, over, task=reach, client=sys.argv[1])
    scaled = da.sweep(arm, over, task=lambda model, case: 2 * reach(model, case), client=sys.argv[1])
    right = found.answer.values.tolist() == [[1.5, 1.25], [2.5, 2.25], [3.5, 3.25]]
    print(right, bool((scaled.answer == 2 * found.answer).all()))
"""


def test_functions_of_a_script_run_on_a_cluster_that_cannot_import_it(cluster: Any, tmp_path: Path) -> None:
    script = tmp_path / "study.py"
    script.write_text(_SCRIPT)
    known = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(script), cluster.scheduler.address]
    told = subprocess.run(command, env=known, capture_output=True, text=True, check=True).stdout
    assert told.split() == ["True", "True"]


# lost half-way


def watched_run(model: da.Model, case: da.studies.Case, marks: str) -> np.ndarray[Any, Any]:
    """Return a run whose start is drawn; it leaves a mark, and time to be killed."""
    (Path(marks) / f"{case.number} of {os.getpid()}").touch()
    time.sleep(0.03)
    return da.simulate(model, 0.2, times=[0.1, 0.2], state={"A.speed": case.rng.uniform(0.5, 3)})["D.position"]


def watched(marks: Path, **where: Any) -> xarray.Dataset:
    marks.mkdir()
    over = {"coupler.mass": np.linspace(1, 2, 60).tolist()}
    return da.sweep(four_bar(), over, task=watched_run, marks=str(marks), seed=3, **where)


def soon(marks: Path, count: int, act: Any) -> threading.Thread:
    """Do something once so many cases have begun."""

    def waiting() -> None:
        while not marks.exists() or len(list(marks.iterdir())) < count:
            time.sleep(0.005)
        act()

    thread = threading.Thread(target=waiting)
    thread.start()
    return thread


@pytest.mark.slow
def test_a_worker_of_three_that_is_killed_half_way_changes_no_bit(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    alone = watched(tmp_path / "alone", workers=1)
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, dashboard_address=None, host="127.0.0.1", memory_limit=0
        ) as made,
        distributed.Client(made) as client,
    ):
        victim = next(iter(client.run(os.getpid).values()))
        killer = soon(tmp_path / "there", 20, lambda: os.kill(victim, signal.SIGKILL))
        found = watched(tmp_path / "there", client=client)
        killer.join()
    ran = {mark.name.partition(" of ")[2] for mark in (tmp_path / "there").iterdir()}
    assert str(victim) in ran and len(ran) >= 3
    assert same_data(found, alone)


_ELSEWHERE = """
import sys
from pathlib import Path
from test_sweep_executors import watched
watched(Path(sys.argv[1]), workers=int(sys.argv[3]), store=sys.argv[2])
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_study_whose_process_is_killed_goes_on_with_the_same_bits(workers: int, tmp_path: Path) -> None:
    alone = watched(tmp_path / "alone", workers=1)
    store = tmp_path / "study.zarr"
    known = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    command = [sys.executable, "-c", _ELSEWHERE, str(tmp_path / "first"), str(store), str(workers)]
    with subprocess.Popen(command, env=known) as process:
        soon(tmp_path / "first", 30, process.kill).join()  # it alone: workers of it end by themselves
        assert process.wait() == -signal.SIGKILL
    mine = {int(mark.name.partition(" of ")[2]) for mark in (tmp_path / "first").iterdir()}
    while any(Path(f"/proc/{worker}").exists() for worker in mine):
        time.sleep(0.05)
    kept = int((da.load_sweep(store).status == "finished").sum())
    assert 0 < kept < 60
    found = da.sweep(
        four_bar(),
        {"coupler.mass": np.linspace(1, 2, 60).tolist()},
        task=watched_run,
        marks=str(tmp_path / "first"),
        seed=3,
        store=store,
        workers=1,
    )
    assert same_data(found, alone)
    ran_here = [m for m in (tmp_path / "first").iterdir() if m.name.endswith(f" of {os.getpid()}")]
    assert len(ran_here) == 60 - kept


_FULL = """
import resource, sys, warnings
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
import numpy as np, dalembert as da
from test_sweep_executors import sprung
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    found = da.sweep(sprung(), {"A": np.linspace(0, 1, 600)}, t_end=0.1, outputs="A.position", store=sys.argv[1])
print(int((found.status == "finished").sum()), int(np.isfinite(found["A.position"]).all()))
print(*(w.message for w in said))
"""


def test_a_disk_that_is_full_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    """Files may not grow beyond some bytes: what a full disk says, it says too."""
    pytest.importorskip("resource")
    known = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    store = tmp_path / "study.zarr"
    script = [sys.executable, "-c", _FULL, str(store), "30000"]
    told = subprocess.run(script, env=known, capture_output=True, text=True, check=True).stdout
    assert told.splitlines()[0] == "600 1"
    assert "the store lacks results" in told and "File too large" in told
    over = {"A": np.linspace(0, 1, 600)}
    again = da.sweep(sprung(), over, t_end=0.1, outputs="A.position", store=store)  # with room: what lacks runs
    assert (da.load_sweep(store).status == "finished").all()
    assert same_data(again, da.sweep(sprung(), over, t_end=0.1, outputs="A.position"))


# what cannot be


@pytest.mark.parametrize("task", ["simulate", "kinematics", "modes"])
def test_a_case_that_cannot_be_assembled_fails_alone(task: str) -> None:
    """A four-bar whose ground is longer than all other bars together."""
    s = da.System("four-bar", gravity=(0, 0, -9.81))
    base = s.parameter("base", 2.0)
    lengths = {"crank": 0.5, "coupler": 2.0, "rocker": 1.5}
    crank, coupler, rocker = (s.body(name, da.rod(length, 1.0)) for name, length in lengths.items())
    s.connect("A", da.Revolute("y"), s.ground, crank)
    s.connect("B", da.Revolute("y"), crank.at(0.5, 0, 0), coupler)
    s.connect("D", da.Revolute("y"), s.ground.at(base, 0, 0), rocker)
    s.connect("C", da.Revolute("y"), coupler.at(2, 0, 0), rocker.at(1.5, 0, 0))
    settings: dict[str, Any] = {
        "simulate": {"t_end": 0.05, "outputs": "A.position"},
        "kinematics": {"drive": "A", "values": [0.0, 0.1], "outputs": "D.position"},
        "modes": {},
    }[task]
    over = {"base": [2.0, 2.1, 9.0, 2.2, 2.3]}
    found = da.sweep(s, over, task=task, workers=1, **settings)
    assert found.status.values.tolist() == ["finished", "finished", "failed", "finished", "finished"]
    assert "Error" in found.message.values[2]
    good = da.sweep(s, {"base": [2.0, 2.1, 2.2, 2.3]}, task=task, workers=1, **settings)
    label = next(iter(good.data_vars))
    assert np.array_equal(found[label].values[[0, 1, 3, 4]], good[label].values)
