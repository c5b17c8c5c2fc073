"""Ensembles go to files and to xarray, and come back to the last bit."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from systems.bad_input.damaged_files import mutations

import dalembert as da
from dalembert.errors import ModelError
from dalembert.library import chain
from dalembert.library.mechanisms import four_bar

every_format = pytest.mark.parametrize("suffix", [".nc", ".zarr"])


def springy(mass: float = 1.0) -> da.System:
    s = chain(2, axes="y")
    s.bodies["link_2"].mass = mass
    s.connect("k", da.TorsionSpring(5.0), "joint_2")
    s.connect("wall", da.Element("joint", "-k/(0.9 - s)**2", {"k": 0.0}), "joint_1")
    return s


@pytest.fixture(scope="module")
def runs() -> da.Ensemble:
    numbers = {"k.stiffness": np.linspace(1, 20, 4), "wall.k": np.array([0.0, 0.0, -1e3, 0.0])}
    found = da.simulate(springy(), 0.5, times=np.linspace(0, 0.5, 6), parameters=numbers)
    assert isinstance(found, da.Ensemble)
    return found


def same(a: da.Ensemble, b: da.Ensemble) -> None:
    for one, other in ((a.t, b.t), (a.q, b.q), (a.v, b.v), (a.x, b.x)):
        assert np.array_equal(one, other, equal_nan=True)
    assert a.status == b.status and repr(a.stats) == repr(b.stats)
    for name in ("k.effort", "energy.total", "link_2.velocity"):
        assert np.array_equal(a[name], b[name], equal_nan=True)


@every_format
def test_ensembles_come_back_to_the_last_bit(suffix: str, runs: da.Ensemble, tmp_path: Path) -> None:
    path = tmp_path / f"runs{suffix}"
    runs.save(path, ["k.effort", "link_2.velocity"])
    back = da.Ensemble.load(path, springy())
    same(back, runs)
    assert np.array_equal(back[3].at(0.123).q, runs[3].at(0.123).q)
    assert back[1].status == runs[1].status and back[1].message == runs[1].message


@every_format
def test_what_changed_on_the_way_comes_back(suffix: str, tmp_path: Path) -> None:
    s = da.System("rough")
    s.connect("A", da.Revolute("y", friction=1.0, upper=1.2), s.ground, s.body("a", da.rod(1.0, 1.0)))
    control = da.SampledControl(lambda state: {"A": float(np.sign(state.v[0]))}, period=0.1)
    runs = da.simulate(s, 2.0, state={"A": np.array([0.3, 0.8])}, times=np.linspace(0, 2, 11), control=control)
    runs.save(tmp_path / f"runs{suffix}")
    back = da.Ensemble.load(tmp_path / f"runs{suffix}", s)
    for name in ("A.stuck", "A.stop", "A.acceleration", "tau", "energy.dissipated", "energy.balance"):
        assert np.array_equal(back[name], runs[name]), name
    assert runs["A.stop"][:, -1].all()
    assert [event.name for event in back[1].events] == [event.name for event in runs[1].events]


@every_format
def test_energies_of_ensembles_come_back(suffix: str, runs: da.Ensemble, tmp_path: Path) -> None:
    runs.save(tmp_path / f"runs{suffix}")
    back = da.Ensemble.load(tmp_path / f"runs{suffix}", springy())
    assert np.array_equal(back["energy.balance"], runs["energy.balance"], equal_nan=True)


@every_format
def test_ensembles_with_loops_states_and_failures(suffix: str, tmp_path: Path) -> None:
    s = four_bar()
    s.connect("lag", da.Element("joint", "-z", states={"z": (0.1, "s - z")}), "A")
    model = s.compile()
    first = da.simulate(model, 0.01).final_state
    v = np.array([first.v, 3 * first.v, -first.v])
    runs = da.simulate(model, 0.2, t_start=0.0, state=da.State(np.tile(first.q, (3, 1)), v))
    runs.q[1, 50:] = runs.v[1, 50:] = runs.x[1, 50:] = np.nan
    runs.save(tmp_path / f"runs{suffix}")
    back = da.Ensemble.load(tmp_path / f"runs{suffix}", model)
    for one, other in ((back.q, runs.q), (back.v, runs.v), (back.x, runs.x)):
        assert np.array_equal(one, other, equal_nan=True)
    assert np.array_equal(back["D.force"], runs["D.force"], equal_nan=True)


def test_a_dataset_of_all_runs(runs: da.Ensemble) -> None:
    data = runs.to_xarray(["link_2.position", "a"])
    assert data["q"].dims == ("run", "time", "coordinate")
    assert np.array_equal(data["q"].sel(coordinate="joint_2"), runs.q[..., 1], equal_nan=True)
    assert np.array_equal(data["link_2.position"].sel(axis="z"), runs["link_2.position"][..., 2], equal_nan=True)
    assert data["link_2.position"].attrs["units"] == "m" and data["a"].dims == ("run", "time", "speed")
    assert np.array_equal(data["parameters"].sel(parameter="k.stiffness"), np.linspace(1, 20, 4))
    assert list(data["status"].values) == list(runs.status)


@every_format
def test_damaged_ensembles_and_those_of_another_model_are_refused(
    suffix: str, runs: da.Ensemble, tmp_path: Path
) -> None:
    path, model = tmp_path / f"runs{suffix}", springy().compile()
    runs.save(path)
    with pytest.raises(da.ModelError, match=r"body 'link_2', mass.*2\.0"):
        da.Ensemble.load(path, springy(2.0))
    refused = 0
    for _ in mutations(path, 60, random.Random(3)):
        try:
            same(da.Ensemble.load(path, model), runs)
        except da.FileError:
            refused += 1
    assert refused > 20


def test_single_values_and_batches_are_distinguished(runs: da.Ensemble, tmp_path: Path) -> None:
    runs.save(tmp_path / "many.nc")
    runs[0].save(tmp_path / "one.nc")
    with pytest.raises(da.FileError, match=r"da\.Ensemble\.load"):
        da.Result.load(tmp_path / "many.nc")
    with pytest.raises(da.FileError, match=r"da\.Result\.load"):
        da.Ensemble.load(tmp_path / "one.nc", springy())
    with pytest.raises(da.ModelError, match=r"\.nc or \.zarr"):
        runs.save(tmp_path / "many.csv")


def dropped(**how) -> da.Ensemble:
    s = da.System("ball")
    s.connect("P", da.Prismatic("z"), s.ground, s.body("ball", da.sphere(0.1, mass=1.0)))
    heights = np.array([0.5, 1.0, 2.0, 50.0])
    return da.simulate(s, 2.0, times=np.linspace(0, 2, 11), state={"P": heights}, **how)


def test_events_happen_in_every_run(tmp_path: Path) -> None:
    hit = da.Event("hit", "P.position", 0.0, direction=-1, terminal=True)
    runs = dropped(events=hit, parameters={"ball.mass": [1.0, 2.0, 3.0, 4.0]})
    fall = np.sqrt(2 * np.array([0.5, 1.0, 2.0]) / 9.81)
    assert runs.status == ("event", "event", "event", "finished")
    assert np.allclose(runs.reached, [*fall, 2.0], atol=1e-6)
    assert [len(each) for each in runs.events] == [1, 1, 1, 0]
    assert "3 ended by an event" in repr(runs)
    runs.save(tmp_path / "runs.nc")
    again = da.Ensemble.load(tmp_path / "runs.nc", runs.model)
    assert again.status == runs.status
    assert again.events[1][0].t == runs.events[1][0].t

    bounces = dropped(events=da.Event("hit", "P.position", 0.0, -1, action=lambda now: now.bounce("ball", (0, 0, 1))))
    first, second = (each.t for each in bounces.events[0][:2])
    assert abs(second - 3 * first) < 1e-6  # up and down again
    assert not bounces.events[3]


def test_statistics_are_those_of_the_runs_that_got_so_far() -> None:
    runs = dropped(events=da.Event("hit", "P.position", 0.0, direction=-1, terminal=True))
    found = runs.statistics(["P.position", "ball.velocity"], quantiles=(0.5,))
    assert found["runs"].values.tolist() == [4, 4, 3, 2, 1, 1, 1, 1, 1, 1, 1]
    third = runs["P.position"][1:, 2]
    assert np.allclose(found["P.position"].isel(time=2), [third.mean(), third.std(), *third[[0, 2, 1]]])
    assert found["P.position"].attrs["units"] == "m"
    assert found["ball.velocity"].dims == ("statistic", "time", "axis")
    with pytest.raises(ModelError, match=r"quantiles is 5\.0; give numbers from 0 to 1"):
        runs.statistics("P.position", quantiles=(5,))
