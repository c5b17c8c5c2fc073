"""Results: states between steps, tables, files."""

from __future__ import annotations

import csv
import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from systems.pendulums import rod_pendulum
from systems.reference_trajectories import trajectory

import dalembert as da
from dalembert.connections.elements.built_in import Load, SpringDamper
from dalembert.files.safe_files import replacing
from dalembert.library import chain
from dalembert.library.mechanisms import four_bar
from dalembert.model.interpolation import attitudes
from dalembert.numerics.quadrature import over_intervals
from dalembert.result import single_period

Array = NDArray[np.float64]

SUFFIXES = [".nc", ".zarr", ".parquet", ".csv"]


def spinning_system() -> da.System:
    """A top on a ball joint, a free box, and a slider: quaternions of both kinds among plain coordinates."""
    s = da.System("top, box/slider é")
    top = s.body("top", mass=1.0, com=(0, 0, 0.3), inertia=(0.05, 0.05, 0.08))
    s.connect("slide/é", da.Prismatic("x"), s.ground, s.body("block", mass=2.0, inertia=(1, 1, 1)))
    s.connect("ball", da.Spherical(), s.bodies["block"], top)
    s.body("box", da.box(0.2, 0.3, 0.5, mass=1.5))
    s.initial("ball", position=(0.9, 0.3, 0.1, 0.2), speed=(0.5, -0.3, 12.0))
    return s


def spinning_start(model: Any) -> tuple[Array, Array]:
    state = model.initial_state()
    state.v[model.v_slice("box.free")] = [3.0, 0.1, -2.0, 1.0, 2.0, -0.5]
    return state.q, state.v


@pytest.fixture(scope="module")
def spinning() -> da.Result:
    model = spinning_system().compile()
    result = trajectory(model, np.linspace(0.0, 1.0, 21), *spinning_start(model))
    result.stats = da.Stats("dop853", 20, 1, 250, 2, 3, 0.01, 1e-11, 1e-12, ["chosen by hand: é"])
    result.events = [da.EventRecord("top.hits", 0.25, result.q[5].copy(), result.v[5].copy(), message="nothing")]
    return result


@pytest.fixture(scope="module")
def loop() -> da.Result:
    model = four_bar().compile()
    q = da.assemble(model).q
    v = da.consistent_velocities(model, q, [4.0, 0, 0], hold="A")
    return trajectory(model, np.linspace(0.0, 0.5, 11), q, v)


# ---- states


def test_states_by_time(spinning: da.Result) -> None:
    assert len(spinning) == 21 and spinning.final_state.t == 1.0
    assert np.array_equal(spinning.final_state.q, spinning.q[-1])
    state = spinning.at(0.5)
    assert isinstance(state, da.State) and np.array_equal(state.q, spinning.q[10])  # stored: to the bit
    assert spinning.dense is not None
    assert np.array_equal(spinning.at(0.512).v, spinning.dense(np.array([0.512]))[1][0])
    many = spinning.at([0.1, 0.512, 1.0])
    assert np.array_equal(many.t, [0.1, 0.512, 1.0]) and np.array_equal(many.v[1], spinning.at(0.512).v)
    assert np.array_equal(many["box.position"][1], spinning.output("box.position", [0.512])[0])
    assert many.at(0.2).q.shape == (12,)
    for wrong in (-0.1, 1.1, [0.1, 2.0], np.nan, "x", [[0.1]]):
        with pytest.raises(da.ModelError):
            spinning.at(wrong)


def test_states_cannot_be_changed_by_accident(spinning: da.Result) -> None:
    for array in (spinning.t, spinning.q, spinning.v, spinning.x):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0
    spinning.final_state.q[:] = 0.0
    spinning.at(0.5).q[:] = 0.0
    assert spinning.q[-1].any() and spinning.q[10].any()


def test_without_dense_output_states_are_interpolated_with_order_six(spinning: da.Result) -> None:
    at = np.linspace(0.2, 0.8, 101)
    exact = spinning.at(at)
    errors = []
    for step in (0.1, 0.05, 0.025):
        coarse = spinning.at(np.linspace(0.0, 1.0, round(1 / step) + 1))
        plain = da.Result(spinning.model, coarse.t, coarse.q, coarse.v)
        between = plain.at(at)
        lengths = [np.linalg.norm(between.q[:, k.place : k.place + 4], axis=1) for k in _attitudes(plain)]
        assert np.allclose(lengths, 1.0, atol=1e-14)
        errors.append([np.abs(between.q - exact.q).max(), np.abs(between.v - exact.v).max()])
    rates = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    assert rates[-1, 0] > 5.5 and rates[-1, 1] > 4.5
    assert errors[-1][0] < 1e-5


def _attitudes(result: da.Result) -> Any:
    return attitudes(result.labels.coordinates, result.labels.speeds)


def test_quaternions_of_either_sign_are_interpolated(spinning: da.Result) -> None:
    q = spinning.q.copy()
    for at in _attitudes(spinning):
        q[::2, at.place : at.place + 4] *= -1
    flipped = da.Result(spinning.model, spinning.t, q, spinning.v)
    plain = da.Result(spinning.model, spinning.t, spinning.q, spinning.v)
    at = np.linspace(0.01, 0.99, 37)
    assert np.allclose(flipped.output("top.rotation", at), plain.output("top.rotation", at), atol=1e-13)
    assert np.allclose(flipped.at(at).v, plain.at(at).v, atol=1e-12)


def test_a_joint_may_be_named_like_a_quaternion() -> None:
    s = da.System()
    s.connect("odd.qw", da.Revolute("z"), s.ground, s.body("rod", da.rod(1.0, 1.0, radius=0.1)))
    model = s.compile()
    t = np.array([0.0, 1.0])
    result = da.Result(model, t, 3.0 * t[:, None], np.full((2, 1), 3.0))
    assert np.isclose(result.at(0.5).q[0], 1.5) and result["odd.qw.position"][1] == 3.0


def test_where_a_state_jumps_the_later_one_counts() -> None:
    s = da.System(gravity=(0, 0, 0))
    s.connect("A", da.Prismatic("x"), s.ground, s.body("block", mass=2.0, inertia=(1, 1, 1)))
    model = s.compile()
    t = np.array([0.0, 1.0, 1.0, 2.0])
    q, v = np.array([0.0, 1.0, 1.0, 4.0]), np.array([1.0, 1.0, 3.0, 3.0])
    hit = da.EventRecord("hit", 1.0, q[1:2], v[1:2], energy=2.0 * (9 - 1) / 2)
    result = da.Result(model, t, q[:, None], v[:, None], events=[hit])
    assert result.at(1.0).v[0] == 3.0 and result.at(0.999).v[0] == 1.0 and np.isclose(result.at(1.5).q[0], 2.5)
    assert np.array_equal(result["energy.work"], [0.0, 0.0, 8.0, 8.0])
    assert np.array_equal(result["energy.balance"], np.zeros(4))
    assert np.array_equal(result.output("energy.work", [0.5, 1.0, 1.5]), [0.0, 8.0, 8.0])


def test_one_time_is_a_result_too(loop: da.Result) -> None:
    one = da.Result(loop.model, loop.t[:1], loop.q[:1], loop.v[:1])
    assert one["D.position"].shape == (1,) and one["energy.work"].tolist() == [0.0]
    assert np.array_equal(one.at(0.0).q, loop.q[0])
    assert repr(one) == "<Result 'four-bar': 1 time, 0 s, finished>"


def test_bad_columns_are_refused(loop: da.Result) -> None:
    model, t, q, v = loop.model, loop.t, loop.q, loop.v
    bad: list[tuple[Any, ...]] = [(None, t, q, v), (model, t[::-1], q, v), (model, [], q[:0], v[:0])]
    bad += [(model, t, q[:-1], v), (model, t, q[:, :-1], v), (model, t, q, v[0]), (model, t, q, "v")]
    bad += [(model, [0.0, np.nan], q[:2], v[:2]), (model, t, q, v, np.zeros((11, 2)))]
    for arguments in bad:
        with pytest.raises(da.ModelError, match="result"):
            da.Result(*arguments)
    with pytest.raises(da.ModelError, match="'finished', 'event'"):
        da.Result(model, t, q, v, status="done")


def test_names_of_outputs_can_be_looked_up(tmp_path: Path) -> None:
    result = da.simulate(rod_pendulum(), 0.1)
    result.save(tmp_path / "run.nc")
    stored = da.Result.load(tmp_path / "run.nc")
    name = next(name for name in result.names() if name.endswith(".position"))
    assert name in result and "energy.total" in result and "q" in stored
    assert f"{name}x" not in result and "nothing" not in stored and 0 not in result


def test_statistics_read_as_a_table(spinning: da.Result) -> None:
    text = repr(spinning.stats)
    assert "steps           20 (1 rejected)" in text and "chosen by hand: é" in text and text.count("\n") == 7
    assert "dop853, 20 steps" in repr(spinning)


# ---- sums over time


def test_integrals_are_refined_where_they_must_be() -> None:
    def over(rate: Callable[[Array], Array], *ends: ArrayLike) -> Array:
        a, b = (np.asarray(end, dtype=float) for end in ends)
        columns = lambda t: np.column_stack([rate(t), 2 * rate(t)])  # noqa: E731
        both = over_intervals(columns, a, b, (columns(a), columns(b)))
        assert np.allclose(both[:, 1], 2 * both[:, 0], rtol=1e-15)
        return both[:, 0]

    a, b = np.array([0.0, 1.0, 3.0]), np.array([1.0, 3.0, 3.0])
    assert np.allclose(over(np.exp, a, b), np.exp(b) - np.exp(a), rtol=1e-11)
    assert np.isclose(over(lambda t: t**9, [-0.5], [2.0])[0], (2**10 - 0.5**10) / 10, rtol=1e-14)
    assert np.isclose(over(lambda t: np.abs(np.sin(9 * t)), [0.0], [np.pi])[0], 2.0, atol=1e-8)
    assert np.isclose(over(lambda t: np.where(t < 0.3, 1.0, -2.0), [0.0], [1.0])[0], 0.3 - 1.4, atol=1e-3)
    assert over(np.exp, np.zeros(0), np.zeros(0)).shape == (0,)


def test_work_does_not_depend_on_where_states_are_stored() -> None:
    s = chain(3)
    last = s.bodies[list(s.bodies)[-1]]
    s.connect("push", Load(force=(5.0, da.Polynomial((0.0, 1.0)), 2.0)), last.at(0, 0, -0.1))
    s.connect("k", SpringDamper(30.0, 1.0, 0.2), s.ground.at(1, 0, 0), last)
    model = s.compile()
    fine = trajectory(model, np.linspace(0, 2, 81))
    assert np.abs(fine["energy.balance"]).max() < 1e-7
    coarse = fine.at(np.array([0.0, 1.1, 2.0]))
    for name in ("energy.work", "energy.dissipated", "energy.balance"):
        assert np.allclose(coarse[name][[0, 2]], fine[name][[0, -1]], atol=1e-8), name
    # stored at three times only, with dense output between them: the same account
    alone = da.Result(model, coarse.t, coarse.q, coarse.v, dense=fine.dense)
    assert np.abs(alone["energy.balance"]).max() < 1e-7 and abs(alone["energy.work"][-1]) > 0.1


def test_what_control_did_counts_as_work() -> None:
    """A run whose joint forces came from outside the system has conditions of its own."""
    s = da.System(gravity=(0, 0, 0))
    s.connect("A", da.Revolute("z", damping=0.5), s.ground, s.body("wheel", mass=1.0, inertia=(1, 1, 2.0)))
    model = s.compile()

    controlled = model.conditions(control=lambda state: 2.0 * 3.0 + 0.5 * state.v)  # accelerates by 3
    t = np.linspace(0, 2, 5)[:, None]
    result = da.Result(model, t[:, 0], 1.5 * t**2, 3.0 * t, conditions=single_period(controlled))
    assert np.allclose(result["A.acceleration"], 3.0)
    assert np.allclose(result["energy.dissipated"], 0.5 * 9 * t[:, 0] ** 3 / 3)
    assert np.allclose(result["energy.balance"], 0.0, atol=1e-12) and result["energy.work"][-1] > 36.0
    assert np.allclose(result.at([0.3, 1.7])["power"], 3.0 * (6.0 + 1.5 * np.array([0.3, 1.7])) * [0.3, 1.7])


# ---- tables


def test_pandas_tables_have_a_column_for_each_number(loop: da.Result, spinning: da.Result) -> None:
    table = loop.to_pandas(["A.position", "rocker.velocity", "crank.rotation", "D.force.x", "B.speed"])
    assert list(table.columns[:4]) == ["A.position", "rocker.velocity.x", "rocker.velocity.y", "rocker.velocity.z"]
    assert table.shape == (11, 15) and table.index.name == "t" and np.array_equal(table.index, loop.t)
    assert np.array_equal(table["crank.rotation.xy"], loop["crank.rotation"][:, 0, 1])
    for column in table.columns:  # every heading is the name of an output
        assert np.array_equal(table[column], loop[column])
    table = spinning.to_pandas()
    assert np.array_equal(table["ball.qw.position"], spinning["ball.qw"]) and table.shape == (21, 12 + 10)
    for column in table.columns:
        assert np.array_equal(table[column], spinning[column])
    assert list(loop.to_pandas("q").columns) == ["A.position", "B.position", "C.position"]


def test_datasets_carry_names_and_units(loop: da.Result) -> None:
    names = ["rocker.velocity", "crank.rotation", "D.position", "rocker.quaternion", "q", "energy.total"]
    data = loop.to_xarray(names)
    sizes = {"time": 11, "coordinate": 3, "speed": 3, "row": 5, "axis": 3}
    assert {dimension: data.sizes[dimension] for dimension in sizes} == sizes
    assert np.array_equal(data["q"].sel(coordinate="B"), loop.q[:, 1])
    assert np.array_equal(data["a"].sel(speed="C"), loop.a[:, 2])
    assert np.array_equal(data["lam"].sel(row="D.tilt_x"), loop["D.tilt_x"])
    assert np.array_equal(data["rocker.velocity"].sel(axis="y"), loop["rocker.velocity.y"])
    assert np.array_equal(data["crank.rotation"].sel(axis="x", frame_axis="y"), loop["crank.rotation.xy"])
    assert data["rocker.velocity"].attrs["units"] == "m/s" and data["time"].attrs["units"] == "s"
    assert list(data["coordinate_unit"].values) == ["rad"] * 3 and data["row_unit"].sel(row="D.tilt_x") == "N m"
    assert data.attrs["title"] == "four-bar" and data.attrs["status"] == "finished"


def test_a_csv_table_holds_all_digits(loop: da.Result, tmp_path: Path) -> None:
    loop.to_csv(tmp_path / "table.csv", ["A.position", "rocker.at(0.1,0,0).velocity"])
    lines = (tmp_path / "table.csv").read_text().splitlines()
    assert lines[0].startswith('t,A.position,"rocker.at(0.1,0,0).velocity.x"') and len(lines) == 12
    table = list(csv.DictReader(lines))
    z = [float(row["rocker.at(0.1,0,0).velocity.z"]) for row in table]
    assert z == loop["rocker.at(0.1,0,0).velocity.z"].tolist() and [float(row["t"]) for row in table] == loop.t.tolist()


# ---- files


def same_bits(a: Array, b: Array) -> bool:
    return a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("which", ["spinning", "loop"])
def test_files_bring_back_every_bit(suffix: str, which: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    result: da.Result = request.getfixturevalue(which)
    path = tmp_path / f"run{suffix}"
    body = "box" if which == "spinning" else "rocker"
    extra = [f"{body}.velocity", f"{body}.rotation", "energy.total", "energy.work"]
    extra += ["slide/é.position", "ball.position"] if which == "spinning" else ["D.position"]
    result.save(path, extra)
    alone = da.Result.load(path)
    for name in ("t", "q", "v", "x"):
        assert same_bits(getattr(alone, name), getattr(result, name)), name
    for name in ("a", "tau", "lam"):
        assert same_bits(alone[name], result[name]), name
    for name in extra:
        assert same_bits(alone[name], result[name]), name
    assert alone.labels == result.labels and alone.stats == result.stats and alone.status == result.status
    assert [e.name for e in alone.events] == [e.name for e in result.events]
    for got, kept in zip(alone.events, result.events, strict=True):
        assert same_bits(got.q, kept.q) and got.t == kept.t and got.message == kept.message
    coordinate = result.labels.coordinates[0]
    assert np.array_equal(alone[f"{coordinate}.position"], result.q[:, 0]) and alone.model is None
    with pytest.raises(da.ModelError, match="model="):
        alone["center_of_mass"]
    assert "rad" in alone.describe("q") or "m" in alone.describe("q")  # the file knows units

    again = da.Result.load(path, result.model)
    assert same_bits(again["center_of_mass"], result["center_of_mass"])
    at = np.linspace(result.t[0], result.t[-1], 17)
    assert np.allclose(again.at(at).q, result.at(at).q, atol=1e-4)
    assert np.allclose(alone.at(at).q, again.at(at).q, atol=1e-13)  # the file has the accelerations
    # what was read can be written again, in any format
    alone.save(tmp_path / "again.csv", extra)
    assert same_bits(da.Result.load(tmp_path / "again.csv")[extra[1]], result[extra[1]])
    assert alone.to_xarray(extra)["energy.total"].shape == (len(result),)
    assert sorted(os.listdir(tmp_path)) == sorted(["again.csv", f"run{suffix}"])


def test_special_numbers_survive(loop: da.Result, tmp_path: Path) -> None:
    q = loop.q.copy()
    q[3] = [-0.0, 5e-324, 1e308]
    v = loop.v.copy()
    v[-1] = np.nan  # what a failed run had last
    failed = da.Result(loop.model, loop.t, q, v, status="failed", message="it broke")
    for suffix in SUFFIXES:
        failed.save(tmp_path / f"x{suffix}")
        back = da.Result.load(tmp_path / f"x{suffix}")
        assert same_bits(back.q, q) and np.isnan(back.v[-1]).all() and same_bits(back.v[:-1], v[:-1])
        assert back.status == "failed" and back.message == "it broke" and "it broke" in repr(back)
        with pytest.raises(da.ModelError, match="the file holds"):
            back["a"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failed_write_keeps_the_old_file(
    suffix: str, loop: da.Result, spinning: da.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"run{suffix}"
    loop.save(path)

    def broken(*arguments: Any) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", broken)  # at the very last moment
        rename = os.rename

        def second_fails(a: Any, b: Any) -> None:
            if str(a).endswith(".new"):
                broken()
            rename(a, b)

        patch.setattr(os, "rename", second_fails)
        with pytest.raises(OSError, match="no space"):
            spinning.save(path)
    assert same_bits(da.Result.load(path).q, loop.q) and os.listdir(tmp_path) == [path.name]
    spinning.save(path)  # and over the old one when all is well
    assert same_bits(da.Result.load(path).q, spinning.q) and os.listdir(tmp_path) == [path.name]


def test_a_write_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "file.txt"
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(target) as new:
        new.write_text("ne")
        raise KeyboardInterrupt
    assert target.read_text() == "old" and os.listdir(tmp_path) == ["file.txt"]
    with pytest.raises(da.ModelError, match="no folder"), replacing(tmp_path / "absent" / "x"):
        pass


def test_saving_follows_the_usual_permissions(loop: da.Result, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    loop.save(tmp_path / "run.csv")
    assert (tmp_path / "run.csv").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_files_that_are_no_results_are_refused(loop: da.Result, tmp_path: Path) -> None:
    for name in ("run.hdf", "run", 3):
        with pytest.raises(da.ModelError, match=r"\.nc, \.zarr, \.parquet or \.csv"):
            loop.save(name)  # type: ignore[arg-type]
    for suffix in SUFFIXES:
        with pytest.raises(da.ModelError, match="no such file"):
            da.Result.load(tmp_path / f"absent{suffix}")
    for suffix in (".nc", ".parquet", ".csv"):
        path = tmp_path / f"junk{suffix}"
        path.write_bytes(b"something else entirely\n1,2,3\n")
        with pytest.raises(da.ModelError):
            da.Result.load(path)
    loop.to_csv(tmp_path / "table.csv")
    with pytest.raises(da.ModelError, match=r"not written by Result\.save"):
        da.Result.load(tmp_path / "table.csv")
    whole = tmp_path / "whole.csv"
    loop.save(whole)
    (tmp_path / "cut.csv").write_text(whole.read_text()[:-30])
    with pytest.raises(da.ModelError, match="damaged"):
        da.Result.load(tmp_path / "cut.csv")
    (tmp_path / "short.csv").write_text("".join(whole.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(da.ModelError, match="damaged"):
        da.Result.load(tmp_path / "short.csv")
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(da.ModelError, match="Zarr"):
        da.Result.load(tmp_path / "empty.zarr")


def test_a_model_with_other_coordinates_is_refused(loop: da.Result, tmp_path: Path) -> None:
    loop.save(tmp_path / "run.nc")
    with pytest.raises(da.ModelError, match="the model's coordinates"):
        da.Result.load(tmp_path / "run.nc", chain(5))
    assert da.Result.load(tmp_path / "run.nc", four_bar()).model is not None  # a system will do


@pytest.mark.parametrize(("suffix", "package"), [(".zarr", "zarr"), (".parquet", "pyarrow")])
def test_a_missing_package_names_the_package_to_install(
    suffix: str, package: str, loop: da.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.import_module

    def absent(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(da.ModelError, match=rf"{package}.*dalembert\[files\]"):
        loop.save(tmp_path / f"run{suffix}")
    assert os.listdir(tmp_path) == []


def test_netcdf_needs_nothing_but_scipy(loop: da.Result, tmp_path: Path) -> None:
    loop.save(tmp_path / "run.nc")
    assert (tmp_path / "run.nc").read_bytes()[:3] == b"CDF"  # the classic format
    import xarray

    data = xarray.load_dataset(tmp_path / "run.nc", engine="scipy")
    assert np.array_equal(data["q"].sel(coordinate="C"), loop.q[:, 2])


def test_extrema_are_those_of_the_motion_between_its_steps() -> None:
    s = rod_pendulum()
    result = da.simulate(s, 4.0)
    value, t = result.max("A.speed")
    assert value == pytest.approx(np.sqrt(3 * 9.81), rel=1e-7)  # it falls by half its length
    assert result["A.position"][np.searchsorted(result.t, t) - 1] < np.pi / 2 + 2 * np.pi
    assert result.output("A.speed", [t])[0] == value
    assert result.min("A.position").value == pytest.approx(0.0, abs=1e-6)
    few = da.simulate(s, 4.0, times=[0.0, 4.0])
    assert few.max("A.speed").value == pytest.approx(value, rel=1e-9)
    assert result.max("bob.velocity.norm [mm/s]").value == 0.0  # the frame of the rod is at its pin
    with pytest.raises(da.ModelError, match="name one"):
        result.max("bob.position")
