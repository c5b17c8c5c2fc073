"""Motions of mechanisms in natural coordinates are results: outputs, states between rows, pictures, files."""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.connections.laws import LinearInterpolation, third_rate

NaturalMotion = da.natural.NaturalMotion
ANGLES = np.linspace(math.pi / 3, math.pi / 3 + 2.0, 11)


def by_points() -> da.natural.Mechanism:
    """Return a four-bar with a triangular coupler, by points."""
    m = da.natural.Mechanism(2, "four-bar")
    m.point("A", 0, 0, fixed=True), m.point("B", 4, 0, fixed=True)
    m.point("1", 1, 1.7), m.point("2", 4.8, 2.9), m.point("3", 3.2, 3.4)
    m.link("crank", "A", "1", length=2)
    m.body("coupler", {"1": (0, 0), "2": (4, 0), "3": (2, 1.2)})
    m.link("rocker", "2", "B", length=3)
    m.vector("x", 1, 0, fixed=True)
    m.angle("psi", "x", ("A", "1"))
    return m


def by_joints() -> da.System:
    """Return the same by bodies and joints."""
    s = da.System("four-bar")
    crank, coupler, rocker = s.body("crank"), s.body("coupler"), s.body("rocker")
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Revolute("z"), crank.at(2, 0, 0), coupler)
    s.connect("C", da.Revolute("z"), coupler.at(4, 0, 0), rocker)
    s.connect("D", da.Revolute("z"), s.ground.at(4, 0, 0), rocker.at(3, 0, 0))
    s.initial("B", position=-0.75, guess=True)
    s.initial("C", position=-2.1, guess=True)
    return s


def test_both_forms_answer_to_one_call() -> None:
    """Positions, speeds, accelerations and jerks of points, turns of bodies: by points as by joints."""
    natural = da.kinematics(by_points(), drive="psi", values=ANGLES)
    jointed = da.kinematics(by_joints(), drive="A", values=ANGLES)
    assert isinstance(natural, da.Result)
    assert natural.t == pytest.approx(jointed.t, abs=1e-15)
    # rounding of positions grows by the condition of J, about 10 near the last of them, with every rate
    for quantity, size in (("position", 1.0), ("velocity", 1.0), ("acceleration", 10.0), ("jerk", 100.0)):
        wanted = jointed[f"coupler.at(2, 1.2, 0).{quantity}"][:, :2]
        for name in ("3", "coupler.at(2, 1.2)"):
            assert natural[f"{name}.{quantity}"] == pytest.approx(wanted, abs=1e-12 * size)
    assert natural["3.velocity.norm"] == pytest.approx(np.hypot(*natural["3.velocity"].T), abs=1e-15)
    assert natural["psi.speed"] == pytest.approx(jointed["A.speed"], abs=1e-14)
    for body in ("crank", "coupler"):
        assert natural[f"{body}.angular_velocity"] == pytest.approx(
            jointed[f"{body}.angular_velocity"][:, 2], abs=1e-13
        )
        wanted = jointed[f"{body}.angular_acceleration"][:, 2]
        assert natural[f"{body}.angular_acceleration"] == pytest.approx(wanted, abs=1e-12)
    assert natural["coupler.angle"] == pytest.approx(jointed["coupler.angle"], abs=1e-13)


def test_turns_of_bodies_in_space() -> None:
    """A body that roll, pitch and yaw lead turns as joints in a row do."""
    laws = [da.Harmonic(0.4, 1.3), da.Polynomial((0.2, 0.5)), da.Polynomial((0.1, -0.7, 0.3))]
    m = da.natural.Mechanism(3)
    m.point("P", 0, 0, 0), m.vector("u", 1, 0, 0), m.vector("v", 0, 1, 0), m.point("T", 0.3, 0.2, 0.6)
    m.body("plane", {"P": (0, 0, 0), "T": (0.3, 0.2, 0.6)}, {"u": (1, 0, 0), "v": (0, 1, 0)})
    m.drive_frame("led", "P", ("u", "v"), position=(0, 0, 0), angles=laws)
    times = np.linspace(0.0, 1.0, 6)
    motion = da.kinematics(m, times=times)
    s = da.System("gimbals")
    frames = [s.body("yaw"), s.body("pitch"), s.body("plane")]
    for name, axis, law, first, second in zip(
        "ZYX", ("z", "y", "x"), laws[::-1], [s.ground, *frames], frames, strict=False
    ):
        s.connect(name, da.Revolute(axis), first, second)
        s.drive(name, position=law)
    jointed = da.kinematics(s, times=times)
    assert motion["plane.angular_velocity"] == pytest.approx(jointed["plane.angular_velocity"], abs=1e-12)
    assert motion["plane.angular_acceleration"] == pytest.approx(jointed["plane.angular_acceleration"], abs=1e-12)
    for quantity in ("position", "velocity", "acceleration", "jerk"):
        wanted = jointed[f"plane.at(0.1, -0.4, 0.2).{quantity}"]
        assert motion[f"plane.at(0.1, -0.4, 0.2).{quantity}"] == pytest.approx(wanted, abs=1e-9)
    with pytest.raises(da.ModelError, match=r"plane\.angle"):
        motion["plane.angle"]


def test_states_between_rows_are_exact() -> None:
    """A coarse motion asked in between is the fine one."""
    m = by_points()
    coarse = da.kinematics(m, drive="psi", values=ANGLES[[0, 5, 10]])
    fine = da.kinematics(m, drive="psi", values=ANGLES)
    between = coarse.at(fine.t)
    assert between["3"] == pytest.approx(fine["3"], abs=1e-12)
    assert between["3.jerk"] == pytest.approx(fine["3.jerk"], abs=1e-10)
    assert coarse.at(float(fine.t[3])).q == pytest.approx(fine.q[3], abs=1e-12)
    assert coarse.output("psi", [float(fine.t[3])]) == pytest.approx([ANGLES[3]], abs=1e-14)
    with pytest.raises(da.ModelError, match=r"give values of psi from"):
        coarse.at([99.0])


def test_drives_are_replaced_and_given_by_rows_of_values() -> None:
    """What the description drives may go through values instead; the description does not change."""
    m = by_points()
    m.drive("psi", da.Polynomial((0.0, 1.0)), by="row")
    before = len(m.rows)
    motion = da.kinematics(m, drive="psi", values=ANGLES[::-1])
    assert motion["psi"] == pytest.approx(ANGLES[::-1], abs=1e-14)
    assert motion["psi.speed"] == pytest.approx(np.full(11, -1.0), abs=1e-14)
    assert len(m.rows) == before
    there_and_back = np.concatenate([ANGLES, ANGLES[-2::-1]])
    motion = da.kinematics(m, drive="psi", values=there_and_back)
    assert motion["psi"] == pytest.approx(there_and_back, abs=1e-12)
    assert motion["3"][0] == pytest.approx(motion["3"][-1], abs=1e-12)
    assert motion["psi.speed"][[9, 11]] == pytest.approx([1.0, -1.0], abs=1e-12)
    five = da.natural.Mechanism(2)
    five.point("A", 0, 0, fixed=True), five.point("B", 4, 0, fixed=True)
    five.point("1", -0.5, 1.8), five.point("2", 1.6, 3.2), five.point("3", 4.3, 1.9)
    for name, ends in {"a": "A1", "b": "12", "c": "23", "d": "3B"}.items():
        five.link(name, *ends)
    x, y = np.linspace(1.6, 1.9, 7), np.linspace(3.2, 3.0, 7)
    motion = da.kinematics(five, drive={"2.x": x, "2.y": y}, times=np.linspace(0, 1, 7))
    assert motion["2"] == pytest.approx(np.column_stack([x, y]), abs=1e-14)


def test_where_a_branch_ends_the_motion_so_far_is_a_result() -> None:
    """Out of reach: raised with what was reached, or returned as failed."""
    m = da.natural.Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("B", 4, 0, fixed=True), m.point("1", 1, 1.7), m.point("2", 4, 2)
    m.link("crank", "A", "1", 2), m.link("coupler", "1", "2", 2.5), m.link("rocker", "2", "B", 2)
    m.vector("x", 1, 0, fixed=True), m.angle("psi", "x", ("A", "1"))
    with pytest.raises(da.DalembertError) as caught:
        da.kinematics(m, drive="psi", values=np.linspace(1.0, 3.0, 21))
    reached = caught.value.__dict__["result"]
    assert isinstance(reached, NaturalMotion) and reached.status == "failed" and 3 < len(reached) < 20
    returned = da.kinematics(m, drive="psi", values=np.linspace(1.0, 3.0, 21), on_error="return")
    assert returned.status == "failed" and returned["2"] == pytest.approx(reached["2"], abs=0)
    assert "branch ends" in returned.message


@pytest.mark.parametrize("ending", [".nc", ".csv", ".parquet", ".zarr"])
def test_files_and_pickles_give_the_motion_back(tmp_path: Path, ending: str) -> None:
    """Every format keeps all numbers; with the mechanism, all outputs come back."""
    m = by_points()
    motion = da.kinematics(m, drive="psi", values=ANGLES)
    motion.save(tmp_path / f"motion{ending}", ["3.velocity"])
    plain = da.Result.load(tmp_path / f"motion{ending}")
    assert (plain["psi.position"] == motion["psi"]).all() and (plain["3.velocity"] == motion["3.velocity"]).all()
    back = NaturalMotion.load(tmp_path / f"motion{ending}", motion.mechanism)
    assert isinstance(back, NaturalMotion)
    assert (back["3.jerk"] == motion["3.jerk"]).all() and (back["coupler.angle"] == motion["coupler.angle"]).all()
    other = by_points()
    other.point("4", 1, 1)
    with pytest.raises(da.ModelError, match="differ from those of the file"):
        NaturalMotion.load(tmp_path / f"motion{ending}", other)
    again = pickle.loads(pickle.dumps(motion))
    assert (again.at([1.5])["3"] == motion.at([1.5])["3"]).all()
    copied = pickle.loads(pickle.dumps(m))
    assert copied.count() == m.count()


def test_tables_name_all_that_moves() -> None:
    """Driven coordinates are among the columns, and every column is an output."""
    motion = da.kinematics(by_points(), drive="psi", values=ANGLES)
    table = motion.to_pandas()
    assert {"1.x.position", "psi.position", "psi.speed"} <= set(table.columns)
    for name in table.columns:
        assert (motion[name] == table[name].to_numpy()).all()
    data = motion.to_xarray(["3.velocity"])
    assert data["3.velocity"].attrs["units"] == "m/s"
    assert "3.jerk" in motion.names() and motion.describe("3.jerk").startswith("3.jerk [m/s3, (2,)]")
    with pytest.raises(da.ModelError, match=r"3\.velocity"):
        motion["3.velocty"]


def test_pictures_of_points(tmp_path: Path) -> None:
    """Drawings carry links, plates, bearings, arrows and paths; animations are written."""
    motion = da.kinematics(by_points(), drive="psi", values=ANGLES)
    ax = motion.draw(1.8, velocities=True, accelerations=["3"], trace=["coupler.at(1, 0.5)"], ghosts=True)
    kinds = [artist.get_gid() for artist in ax.get_children()]
    assert {"bar", "plate", "ground", "trace", "velocities", "accelerations", "scale"} <= set(kinds)
    assert kinds.count("velocities") == 3 and kinds.count("accelerations") == 1
    longest = max(float(np.linalg.norm(motion.output(f"{p}.velocity", [1.8])[0])) for p in "123")
    assert any(f"velocities, longest {longest:.3g} m/s" in text.get_text() for text in ax.texts)
    motion.animate(tmp_path / "motion.gif", fps=5, trace=["3"])
    assert (tmp_path / "motion.gif").stat().st_size > 1000
    motion.plot("3", "psi", path=tmp_path / "plot.png")
    by_points().draw(path=tmp_path / "mechanism.png")
    with pytest.raises(da.ModelError, match="at rest"):
        by_points().draw(velocities=True)
    with pytest.raises(da.ModelError, match="name a point"):
        motion.draw(trace=["psi"])


def test_arrows_at_points_of_systems() -> None:
    """`Result.draw` shows what points do: arrows along their velocities, to one scale."""
    result = da.kinematics(by_joints(), drive="A", values=ANGLES)
    t = float(ANGLES[4])
    ax = result.draw(t, velocities=["crank.at(2, 0, 0)", "coupler.at(2, 1.2, 0)"], accelerations=["coupler"])
    arrows = [note for note in ax.texts if note.get_gid() == "velocities"]
    assert len(arrows) == 2
    for note, name in zip(arrows, ("crank.at(2, 0, 0)", "coupler.at(2, 1.2, 0)"), strict=True):
        way = np.array(note.xy) - np.array(note.xyann)
        v = result.output(f"{name}.velocity", [t])[0][:2]
        assert way[0] * v[1] == pytest.approx(way[1] * v[0], abs=1e-12) and float(way @ v) > 0
        place = result.output(f"{name}.position", [t])[0][:2]
        assert np.array(note.xyann) == pytest.approx(place, abs=1e-12)


@pytest.mark.parametrize(
    "law",
    [
        da.Polynomial((1.0, 2.0, -3.0, 0.7, 0.2)),
        da.Harmonic(0.4, 3.0, 0.2),
        da.Ramp(0.0, 2.0, 3.0),
        da.Spline(np.linspace(0, 3, 9), np.sin(np.linspace(0, 3, 9)), 5),
        LinearInterpolation([0.0, 1.0, 3.0], [0.0, 2.0, 1.0]),
        da.Integral(da.Harmonic(0.4, 3.0)),
        da.SmoothedLaw(da.Harmonic(0.4, 3.0), 0.3),
    ],
    ids=lambda law: type(law).__name__,
)
def test_time_laws_have_third_derivatives(law: object) -> None:
    """Differences of the second rate, of eighth order, find the same."""
    h, t = 1e-2, 1.37
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    slope = sum(w * (law(t + k * h)[2] - law(t - k * h)[2]) for k, w in weights.items()) / h  # type: ignore[operator]
    assert third_rate(law, t) == pytest.approx(slope, abs=2e-9)  # type: ignore[arg-type]


def test_third_rates_of_functions_are_taken_where_they_are_known() -> None:
    """Jerks of a mechanism driven by a function whose derivatives are given are exact."""
    functions = (math.sin, math.cos, lambda t: -math.sin(t))
    exact = da.FunctionLaw(*functions, third=lambda t: -math.cos(t))
    m = by_points()
    given = [m.copy(), m.copy()]
    given[0].drive("psi", exact)
    given[1].drive("psi", da.Harmonic(1.0, 1.0))
    jerks = [da.kinematics(one, times=[0.6, 0.9])["3.jerk"] for one in given]
    assert jerks[0] == pytest.approx(jerks[1], abs=1e-11)
