"""Motion along drives: closed forms, no masses, no change of branch, ends that are named."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.closure import RelativeEquations
from dalembert.library import windows
from dalembert.library.mechanisms import (
    andrews,
    bennett,
    bricard,
    four_bar,
    parallelogram,
    slider_crank,
    spherical_four_bar,
)


def crank_and_slider(crank: float = 1.0, rod: float = 3.0, axis: str = "z") -> da.System:
    """Bodies without mass."""
    s = da.System("crank and slider")
    a, b, c = s.body("crank"), s.body("rod"), s.body("block")
    s.connect("A", da.Revolute(axis), s.ground, a)
    s.connect("B", da.Revolute(axis), a.at(crank, 0, 0), b)
    s.connect("C", da.Revolute(axis), b.at(rod, 0, 0), c)
    s.connect("D", da.Prismatic("x"), s.ground, c)
    return s


def five_bar() -> da.System:
    s = da.System("five-bar")
    bodies = [s.body(name) for name in ("a", "b", "c", "d")]
    s.connect("A", da.Revolute("z"), s.ground, bodies[0])
    s.connect("B", da.Revolute("z"), bodies[0].at(1.5, 0, 0), bodies[1])
    s.connect("C", da.Revolute("z"), bodies[1].at(2.5, 0, 0), bodies[2].at(2.4, 0, 0))
    s.connect("D", da.Revolute("z"), bodies[3].at(1.4, 0, 0), bodies[2])
    s.connect("E", da.Revolute("z"), s.ground.at(2.5, 0, 0), bodies[3])
    s.initial("A", position=2.0)
    s.initial("E", position=1.0)
    return s


# ---- against closed forms


def test_slider_without_mass_follows_the_closed_form() -> None:
    motion = da.kinematics(crank_and_slider(), drive="A", values=np.linspace(0, 2 * np.pi, 361))
    t = motion.t
    w = np.sqrt(9 - np.sin(t) ** 2)
    speed = -np.sin(t) - np.sin(t) * np.cos(t) / w
    acceleration = -np.cos(t) - np.cos(2 * t) / w - np.sin(2 * t) ** 2 / (4 * w**3)
    assert np.allclose(motion["D.position"], np.cos(t) + w, atol=1e-13)
    assert np.allclose(motion["D.speed"], speed, atol=1e-13)
    assert np.allclose(motion["D.acceleration"], acceleration, atol=1e-12)
    jerk = motion["D.jerk"]
    h = t[1] - t[0]
    differences = (acceleration[:-4] - 8 * acceleration[1:-3] + 8 * acceleration[3:-1] - acceleration[4:]) / (12 * h)
    assert np.allclose(jerk[2:-2], differences, atol=1e-6)
    assert np.allclose(motion["rod.at(3, 0, 0).jerk.x"], jerk, atol=1e-9)


@pytest.mark.parametrize("build", [four_bar, slider_crank, spherical_four_bar, andrews, bricard, bennett])
def test_rates_obey_the_equations_and_agree_with_assembly(build) -> None:
    s = build()
    crank = next(iter(s.connections))
    start = float(da.assemble(s).q[0])
    motion = da.kinematics(s, drive=crank, values=start + np.linspace(0.0, 0.6, 7))
    e = RelativeEquations(motion.model)
    for k in range(len(motion)):
        q, v, a, t = motion.q[k], motion.v[k], motion.a[k], float(motion.t[k])
        assert np.abs(e.residual(q, t)).max() < 1e-12
        assert np.allclose(e.jacobian(q, t) @ v, e.velocity_terms(q, t), atol=1e-11)
        assert np.allclose(e.jacobian(q, t) @ a, e.acceleration_terms(q, v, t), atol=1e-9)
    fine = da.kinematics(s, drive=crank, values=start + np.linspace(0.0, 0.6, 601))
    h = float(fine.t[1] - fine.t[0])
    a, j = fine.a, fine._motion.jerk
    rates = (a[:-4] - 8 * a[1:-3] + 8 * a[3:-1] - a[4:]) / (12 * h)
    assert np.allclose(rates, j[2:-2], atol=1e-6 * np.abs(j).max())


def test_laws_of_every_level_and_of_python() -> None:
    times = np.linspace(0.0, 1.0, 6)
    s = crank_and_slider()
    s.initial("A", position=0.4, speed=2.0)
    for laws in (
        {"position": da.Polynomial((0.4, 2.0, 1.5))},
        {"speed": da.Polynomial((2.0, 3.0))},
        {"acceleration": 3.0},
        {"position": lambda t: 0.4 + 2.0 * t + 1.5 * t * t},
        {"speed": lambda t: 2.0 + 3.0 * t},
    ):
        s.drive("A", **laws)
        motion = da.kinematics(s, times=times)
        angle = 0.4 + 2.0 * times + 1.5 * times**2
        assert np.allclose(motion["A.position"], angle, atol=1e-9)
        assert np.allclose(motion["D.position"], np.cos(angle) + np.sqrt(9 - np.sin(angle) ** 2), atol=1e-9)
        assert np.allclose(motion["A.acceleration"], 3.0, atol=1e-5)


def test_several_drives_and_a_cut_joint() -> None:
    s = five_bar()
    angles = np.linspace(2.0, 2.4, 9)
    motion = da.kinematics(s, drive={"A": angles, "E": 1.0})
    assert np.allclose(motion["A.position"], angles) and np.allclose(motion["E.position"], 1.0)
    assert "rates are per row" in motion.stats.notes[0]
    timed = da.kinematics(s, drive={"A": angles, "E": 1.0}, times=np.linspace(0.0, 4.0, 9))
    assert np.allclose(timed["C.speed"] * 0.5, motion["C.speed"], atol=1e-9)
    for name in "ABCD":
        values = da.kinematics(crank_and_slider(), drive="A", values=np.linspace(0.3, 0.9, 4))[f"{name}.position"]
        again = da.kinematics(crank_and_slider(), drive=name, values=values)
        assert np.allclose(again["A.position"], np.linspace(0.3, 0.9, 4), atol=1e-9)


def test_an_open_chain_and_a_ball_joint_that_are_driven() -> None:
    s = da.System("arm")
    end = s.ground
    for k in range(3):
        body = s.body(f"b{k}")
        s.connect(f"h{k}", da.Revolute("y") if k < 2 else da.Spherical(), end, body)
        end = body.at(1.0, 0, 0)
    s.drive("h0", position=da.Harmonic(1.0, 2.0))
    s.drive("h1", position=da.Harmonic(0.5, 3.0))
    s.drive("h2", rotation=da.attitudes.BryantAngles(da.Polynomial((0.0, 1.0)), 0.2, 0.3))
    motion = da.kinematics(s, times=np.linspace(0.0, 1.0, 11))
    assert np.allclose(motion["h1.speed"], 1.5 * np.cos(3 * motion.t))
    tip, h = "b2.at(1, 0, 0)", 1e-4
    near = da.kinematics(s, times=[0.5 - h, 0.5, 0.5 + h])
    position, velocity = near[f"{tip}.position"], near[f"{tip}.velocity"]
    assert np.allclose((position[2] - position[0]) / (2 * h), velocity[1], atol=1e-6)
    acceleration, jerk = near[f"{tip}.acceleration"], near[f"{tip}.jerk"]
    assert np.allclose((velocity[2] - velocity[0]) / (2 * h), acceleration[1], atol=1e-6)
    assert np.allclose((acceleration[2] - acceleration[0]) / (2 * h), jerk[1], atol=1e-5)


def test_a_wheel_that_is_driven_rolls() -> None:
    s = da.System("coin")
    disc = s.body("disc")
    s.connect("move", da.Planar("z"), s.ground, disc)
    s.connect("skate", da.KnifeEdge(), s.ground, disc)
    s.drive("move.angle", position=da.Polynomial((0.0, 0.5)))
    s.drive("move.x", speed=1.0)
    motion = da.kinematics(s, times=np.linspace(0.0, 1.0, 5))
    slope = motion["move.y.speed"] / motion["move.x.speed"]
    assert np.allclose(slope, np.tan(0.5 * motion.t), atol=1e-9)


# ---- branches


MECHANISMS = {
    "crank-rocker": lambda: four_bar(),
    "slider-crank": slider_crank,
    "spherical": spherical_four_bar,
    "Bennett": bennett,
    "Andrews": andrews,
    "slider": lambda: crank_and_slider(1.0, 1.2),
    "wide slider": lambda: crank_and_slider(1.0, 1.02, axis="y"),
    "five-bar": five_bar,
    "parallelogram": parallelogram,
    "Bricard": bricard,
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_random_jumps_do_not_change_the_branch(name: str) -> None:
    """A hundred jumps of up to the whole range, on each of ten mechanisms."""
    s = MECHANISMS[name]()
    crank = next(iter(s.connections))
    held = {"E": 1.0} if name == "five-bar" else {}
    start = float(da.assemble(s).q[0]) if name != "five-bar" else 2.0
    values = start + np.linspace(0.0, 0.9 if name in ("five-bar", "Bricard") else 2 * np.pi, 361)

    def sweep(points: np.ndarray, q: np.ndarray | None = None) -> da.Result:
        drive = {crank: points, **held} if held else crank
        return da.kinematics(s, drive=drive, values=None if held else points, state=q, on_error="return")

    whole = sweep(values)
    random = np.random.default_rng(5)
    refused = 0
    for _ in range(100):
        i, j = random.integers(0, len(whole), 2)
        if i == j:
            continue
        jump = sweep(values[[i, j]], whole.q[i])
        if jump.status == "failed":
            refused += 1
            assert "ends at" in jump.message
            continue
        assert np.allclose(jump.q[-1], whole.q[j], atol=1e-8)
    assert refused < 5


def test_a_motion_passes_straight_through_a_crossing() -> None:
    s = parallelogram()
    crank = next(iter(s.connections))
    for count in (20, 21, 22, 3):
        motion = da.kinematics(s, drive=crank, values=np.linspace(-1.0, 1.0, count))
        middle = motion.t
        assert np.allclose(motion.q[:, 0], middle)
        assert np.allclose(motion.v, motion.v[0], atol=1e-8) and np.allclose(motion.a, 0.0, atol=1e-5)
        assert ("singular positions at" if count in (21, 3) else "between rows") in motion.stats.notes[0]
    equal = crank_and_slider(1.0, 1.0)
    equal.initial("A", position=0.5)
    equal.initial("B", position=-1.0)
    motion = da.kinematics(equal, drive="A", values=np.linspace(0.5, np.pi - 0.5, 11))
    assert np.allclose(motion["D.position"], 2 * np.cos(motion.t), atol=1e-12)
    assert np.allclose(motion["D.acceleration"], -2 * np.cos(motion.t), atol=1e-6)


@pytest.mark.parametrize("number", [1, 2, 3, 6])
def test_a_motion_lands_where_all_loops_are_singular_at_once(number: int) -> None:
    s = windows(number)  # with its uprights level, every loop loses rank
    for values in ([0.3, np.pi / 2], [0.5, np.pi / 2, 2.0], [0.5, 1.0, np.pi / 2, 3 * np.pi / 2, 5.0]):
        motion = da.kinematics(s, drive="A0", values=values)
        # the uprights stay parallel; rows that lost rank leave half the digits, here to the square of a small way
        assert np.allclose(motion.q[:, ::2], np.array(values)[:, None], atol=1e-9)
        assert np.allclose(np.abs(motion.v), 1.0, atol=1e-6)
        assert "singular positions at A0 = 1.5708" in motion.stats.notes[0]


def test_every_first_position_is_found_also_a_singular_one() -> None:
    s = windows(3)
    for value in np.linspace(0.0, 2 * np.pi, 29):  # a quarter and three quarters of a turn are singular
        assert da.kinematics(s, drive="A0", values=[value]).q[0, 0] == value
    for first in (0.0, np.pi):
        motion = da.kinematics(four_bar(1.0, 2.0, 1.0, 2.0), drive="A", values=[first, first + 0.5])
        assert np.allclose(motion["D.position"], [first, first + 0.5], atol=1e-9)  # the parallelogram that it starts as
        assert np.allclose(motion.v, [[1.0, -1.0, 1.0]], atol=1e-6)
        back = da.kinematics(four_bar(1.0, 2.0, 1.0, 2.0), drive="A", values=[first, first - 0.5])
        assert np.allclose(back.v, [[-1.0, 1.0, -1.0]], atol=1e-6)


def test_a_singular_start_that_leaves_the_branch_open_is_refused_as_such() -> None:
    with pytest.raises(da.SingularityError, match="the start is a singular position: start beside it"):
        da.kinematics(four_bar(1.0, 2.0, 1.0, 2.0, angle=0.0), drive="A", values=[0.0, 0.5])


# ---- ends and errors


def test_an_end_is_named_with_the_motion_so_far() -> None:
    with pytest.raises(da.SingularityError, match=r"'D' cannot go beyond 4 m.*Drive 'B' or 'A' instead") as caught:
        da.kinematics(crank_and_slider(), drive="D", values=np.linspace(3.5, 4.5, 8))
    so_far = caught.value.result
    assert len(so_far) == 4 and so_far.status == "failed" and np.allclose(so_far["D.position"], so_far.t)
    kept = da.kinematics(crank_and_slider(), drive="D", values=np.linspace(3.5, 4.5, 8), on_error="return")
    assert np.array_equal(kept.q, so_far.q) and "ends at D = 4 m" in kept.message


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "give times="),
        ({"values": [1.0]}, "name its coordinate: drive="),
        ({"drive": "A"}, "give the values of 'A'"),
        ({"drive": "A", "values": [0.0, 0.0]}, "two values in a row are the same"),
        ({"drive": "A", "values": [0.0, np.nan]}, "finite numbers"),
        ({"drive": "A", "values": [0.0, 1.0], "speed": -1.0}, "give a positive number"),
        ({"drive": "A", "values": [0.0, 1.0], "times": [0.0]}, "one for each of the 2 values"),
        ({"drive": {"A": [0.0, 1.0], "B": [0.0]}}, "as many values of each"),
        ({"times": [1.0, 0.0]}, "times that increase"),
        ({"drive": "A", "values": [0.0], "on_error": "ignore"}, "'raise' or 'return'"),
        ({"drive": "Z", "values": [0.0, 1.0]}, "Z"),
    ],
)
def test_bad_requests_are_refused_by_name(options, said) -> None:
    with pytest.raises(da.ModelError, match=said):
        da.kinematics(crank_and_slider(), **options)


def test_dofs_that_drives_leave_are_named() -> None:
    with pytest.raises(da.SingularityError, match=r"leave 1 DOF .*'A', 'B', 'C' can still move"):
        da.kinematics(crank_and_slider(), times=[0.0, 1.0])
    with pytest.raises(da.SingularityError, match="leave 1 DOF"):
        da.kinematics(five_bar(), drive="A", values=[2.0, 2.1])


# ---- what a result of it can do


def test_loads_need_masses_and_agree_with_a_simulation() -> None:
    motion = da.kinematics(crank_and_slider(), drive="A", values=[0.1, 0.2])
    with pytest.raises(da.ModelError, match="no mass"):
        motion["C.force"]
    s = slider_crank()
    crank = next(iter(s.connections))
    s.drive(crank, position=da.Polynomial((0.3, 4.0)))
    times = np.linspace(0.0, 0.5, 11)
    run, motion = da.simulate(s, 0.5, times=times, rtol=1e-11, atol=1e-13), da.kinematics(s, times=times)
    for name in (f"{crank}.effort", "C.force", "D.force", "energy.kinetic", "rod.acceleration"):
        if name.split(".")[0] in (*s.bodies, *s.connections, "energy"):
            assert np.allclose(motion[name], run[name], atol=1e-6 * (1 + np.abs(run[name]).max())), name


def test_loads_of_a_massless_linkage_with_a_mass_at_its_end() -> None:
    """A block of 2 kg on massless links: the force at D is that of the closed form, the limit of light links."""
    loads = {}
    for mass in (0.0, 1e-7):
        s = crank_and_slider(axis="z")
        s.bodies["block"].mass = 2.0
        s.bodies["block"].inertia[:] = np.eye(3)
        for name in ("crank", "rod"):
            s.bodies[name].mass = mass
            s.bodies[name].inertia[:] = mass * np.eye(3)
        motion = da.kinematics(s, drive="A", values=np.linspace(0.2, 1.2, 5), speed=3.0)
        loads[mass] = {name: motion[name] for name in ("A.effort", "C.force", "B.force", "D.force")}
        assert np.allclose(motion["C.force.x"], 2.0 * motion["D.acceleration"], atol=1e-4)
    for name, values in loads[0.0].items():
        assert np.allclose(values, loads[1e-7][name], atol=1e-4), name


def test_states_between_rows_are_exact_and_results_can_be_kept(tmp_path: Path) -> None:
    motion = da.kinematics(crank_and_slider(), drive="A", values=np.linspace(0.0, 6.0, 7))
    t = np.array([0.55, 2.31, 2.32, 5.9])
    between = motion.at(t)
    assert np.allclose(between["D.position"], np.cos(t) + np.sqrt(9 - np.sin(t) ** 2), atol=1e-13)
    assert np.allclose(between["A.acceleration"], 0.0)
    assert np.array_equal(pickle.loads(pickle.dumps(motion))["D.speed"], motion["D.speed"])
    motion.save(tmp_path / "motion.nc")
    back = da.Result.load(tmp_path / "motion.nc", motion.model)
    assert np.array_equal(back["D.speed"], motion["D.speed"])
    assert np.array_equal(back["C.jerk"], motion["C.jerk"])


def test_driven_motion_refuses_a_singular_position() -> None:
    s = parallelogram()
    s.drive(next(iter(s.connections)), position=da.Polynomial((0.0, 1.0)))
    for t in (0.0, 1e-9, 1e-7):
        with pytest.raises(da.SingularityError, match="follow the motion through it with"):
            da.driven_motion(s, t)
    assert np.allclose(da.driven_motion(s, 1e-2).v[0], 1.0)


@pytest.mark.parametrize("step", [0.05, 0.3, 1.0])
def test_driven_motion_stays_on_its_branch_through_a_flat_position(step: float) -> None:
    s = four_bar(1.0, 2.0, 1.0, 2.0)  # a parallelogram; beyond its flat position the crossed one is as near
    s.drive("A", position=da.Polynomial((1.0, 1.0)))
    before = None
    for t in np.arange(0.0, 6.5, step):
        for motion in (da.driven_motion(s, t), da.driven_motion(s, t, state=before)):
            assert np.allclose(motion.v, [1.0, -1.0, 1.0], atol=1e-6) and motion.notes == ()
        before = motion.q
    many = windows(3)
    many.drive("A0", position=da.Polynomial((0.0, 1.0)))
    assert np.allclose(da.driven_motion(many, 2.0 + step).q[::2], 2.0 + step, atol=1e-9)


def test_a_parallelogram_with_a_flexible_coupler_stays_on_its_branch() -> None:
    s = da.System("flexible parallelogram", gravity=(0, 0, 0))
    beam = da.beam(2.0, da.Section.circle(0.02), da.materials.steel, elements=4, modes=da.CraigBampton((0, 4), 2))
    crank, coupler, rocker = (
        s.body("crank", da.rod(1.0, 1.0)),
        s.body("coupler", beam),
        s.body("rocker", da.rod(1.0, 1.0)),
    )
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Revolute("z"), crank.at(1, 0, 0), coupler.at(0, 0, 0))
    s.connect("D", da.Revolute("z"), s.ground.at(2, 0, 0), rocker)
    s.connect("C", da.Revolute("z"), coupler.at(2, 0, 0), rocker.at(1, 0, 0))
    for name, start in (("A", 1.0), ("B", -1.0), ("D", 1.0)):
        s.initial(name, position=start, guess=name != "A")
    assert da.kinematics(s, drive="A", values=[np.pi])["D.position"][0] == pytest.approx(np.pi, abs=1e-9)
    s.drive("A", position=da.Polynomial((1.0, 1.0)))
    before = None
    for t in np.arange(0.0, 6.5, 0.5):
        for motion in (da.driven_motion(s, t), da.driven_motion(s, t, state=before)):
            assert motion.q[motion.model.q_slice("D")] == pytest.approx(1.0 + t, abs=1e-8)
        before = motion.q


def test_driven_motion_is_on_the_branch_that_kinematics_follows() -> None:
    s = four_bar()
    s.drive("A", position=da.Polynomial((1.0, 1.0)))
    followed = da.kinematics(s, times=np.linspace(0.0, 7.0, 15))
    for t, q in zip(followed.t, followed.q, strict=True):
        assert da.driven_motion(s, t).q == pytest.approx(q, abs=1e-9)


def test_a_branch_that_ends_before_the_time_is_noted_with_its_place() -> None:
    s = four_bar(1.0, 1.5, 1.0, 3.0)  # the crank of a double rocker cannot go beyond a dead point
    s.initial("A", position=0.5)
    s.drive("A", position=da.Polynomial((0.5, 1.0)))
    dead = np.arccos((1.0 + 9.0 - 2.5**2) / 6.0)
    full = 2 * np.pi
    motion = da.driven_motion(s, full)
    assert f"it ends at A = {dead:.4f}"[:-1] in motion.notes[0]
    assert np.abs(motion.model.constraint_residual(motion.q)).max() < 1e-11


def rod_between_balls(kind: str) -> da.System:
    """A spatial four-bar whose rod is a row, a massless chain, or a body."""
    s = da.System("RSSR")
    crank, rocker = s.body("crank"), s.body("rocker")
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("D", da.Revolute("x"), s.ground.at(3, 0.5, 0.2), rocker)
    first, second, length = crank.at(1, 0, 0), rocker.at(0, 1.5, 0), 2.6
    if kind == "row":
        s.connect("rod", da.Distance(length), first, second)
    elif kind == "chain":
        s.connect("rod", da.KinematicChain((da.Spherical(), da.Offset((length, 0, 0)), da.Spherical())), first, second)
    else:
        rod = s.body("rod")
        s.connect("S", da.Spherical(), first, rod)
        s.connect("U", da.Universal("y", "z"), rod.at(length, 0, 0), second)
    s.initial("D", position=0.5, guess=True)
    return s


def test_a_rod_is_the_same_as_a_row_a_chain_and_a_body() -> None:
    motions = [
        da.kinematics(rod_between_balls(kind), drive="A", values=np.linspace(0, 0.5, 7))
        for kind in ("row", "chain", "body")
    ]
    for name in ("D.position", "D.speed", "D.acceleration", "D.jerk"):
        for other in motions[1:]:
            assert np.allclose(other[name], motions[0][name], rtol=1e-8), name


def test_a_cylinder_between_links_drives_a_four_bar() -> None:
    """Garcia de Jalon and Bayo 1994, example 3.12, with the numbers of the instance A = 0, B = 4, links 2, 4, 3."""
    s = da.System("hydraulic four-bar")
    crank, coupler, rocker = s.body("crank"), s.body("coupler"), s.body("rocker")
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("1", da.Revolute("z"), crank.at(2, 0, 0), coupler)
    s.connect("2", da.Revolute("z"), coupler.at(4, 0, 0), rocker.at(3, 0, 0))
    s.connect("B", da.Revolute("z"), s.ground.at(4, 0, 0), rocker)
    s.connect("cylinder", da.Distance(2 * np.sqrt(3)), crank.at(2, 0, 0), s.ground.at(4, 0, 0))
    s.initial("A", position=np.pi / 3)
    s.initial("B", position=1.3)
    motion = da.kinematics(s, drive="cylinder", values=2 * np.sqrt(3) + np.array([0.0, 0.1]), speed=0.5)
    first, second = "coupler", "coupler.at(4, 0, 0)"
    v = [motion[f"{point}.velocity"][0, :2] for point in (first, second)]
    a = [motion[f"{point}.acceleration"][0, :2] for point in (first, second)]
    assert np.allclose(v, [[-0.433012701892, 0.25], [-0.391853547044, 0.112956414060]], atol=1e-11)
    assert np.allclose(a, [[-0.0625, -0.108253175473], [-0.090899209276, -0.031490619321]], atol=1e-11)
    with pytest.raises(da.SingularityError, match=r"\('cylinder' 2 m\)\. Drive"):
        da.kinematics(s, drive="cylinder", values=[3.4, 2.5, 1.5])


def four_links(crank: float, coupler: float, rocker: float, base: float) -> da.System:
    s = da.System("four links")
    a, b, c = s.body("a"), s.body("b"), s.body("c")
    s.connect("A", da.Revolute("z"), s.ground, a)
    s.connect("B", da.Revolute("z"), a.at(crank, 0, 0), b)
    s.connect("C", da.Revolute("z"), b.at(coupler, 0, 0), c.at(rocker, 0, 0))
    s.connect("D", da.Revolute("z"), s.ground.at(base, 0, 0), c)
    b.marker("end", coupler, 0, 0)
    return s


def side(motion: da.Result, base: float) -> np.ndarray:
    """Return on which side of B to D the joint C is: a four-bar that is no change point cannot change it."""
    B, C = motion["b.position"], motion["b.end.position"]
    u, w = C - B, np.array([base, 0.0, 0.0]) - B
    return np.sign(u[:, 0] * w[:, 1] - u[:, 1] * w[:, 0])


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6, 1e-8])
def test_branches_that_nearly_meet_are_distinguished(gap: float) -> None:
    """Crank-rockers that miss a change point by a gap; jumps of up to a turn, checked by the sign of a triangle."""
    random = np.random.default_rng(3)
    for stretched in (True, False, True, False):
        coupler, rocker = random.uniform(2.0, 4.0, 2)
        base = coupler + rocker - 1.0 - gap if stretched else abs(coupler - rocker) + 1.0 + gap
        s = four_links(1.0, coupler, rocker, base)
        start = da.kinematics(s, drive="A", values=[1.0, 1.2])
        for jump in random.uniform(-6.3, 6.3, 8):
            motion = da.kinematics(s, drive="A", values=[1.0, 1.0 + jump], state=start.q[0])
            assert (side(motion, base) == side(start, base)[0]).all()


def test_values_that_turn_back_have_the_speed_with_which_they_go_on() -> None:
    motion = da.kinematics(crank_and_slider(), drive="A", values=[0.1, 0.5, 0.3, 0.9])
    assert np.allclose(motion["A.position"], [0.1, 0.5, 0.3, 0.9]) and np.allclose(motion.t, [0.0, 0.4, 0.6, 1.2])
    assert np.allclose(motion["A.speed"], [1.0, -1.0, 1.0, 1.0])
    plain = da.kinematics(crank_and_slider(), drive="A", values=[0.1, 0.3, 0.5, 0.9])
    assert np.allclose(motion["D.speed"], plain["D.speed"][[0, 2, 1, 3]] * [1.0, -1.0, 1.0, 1.0])
    assert motion.stats.steps < 10


def test_a_dead_point_is_no_crossing() -> None:
    near = da.kinematics(crank_and_slider(), drive="D", values=[3.0, 4 - 1e-8])
    assert near["A.position"][-1] == pytest.approx(np.arccos(((4 - 1e-8) ** 2 - 8) / (2 * (4 - 1e-8))), rel=1e-6)
    for value in (4 - 1e-11, 4.0, 4 + 1e-12):
        with pytest.raises(da.SingularityError, match="'D' cannot go beyond 4 m"):
            da.kinematics(crank_and_slider(), drive="D", values=[3.0, value])


def test_states_around_a_crossing_can_be_read() -> None:
    motion = da.kinematics(four_bar(1.0, 2.0, 1.0, 2.0), drive="A", values=[1.0, np.pi, 5.0])
    assert np.allclose(motion["D.position"], [1.0, np.pi, 5.0], atol=1e-9)
    assert np.allclose(motion.at(4.0).q[0], 4.0)
    assert "branches cross" in da.kinematics(four_bar(1.0, 2.0, 1.0, 2.0), drive="A", values=[1.0, 4.0]).stats.notes[0]


def test_a_loop_may_rest_on_a_base_that_moves() -> None:
    for law in (0.7, da.Polynomial((0.7, 1e-9)), da.Ramp(0.7, 1.0, 1.0)):
        s = da.System("carried")
        arm = s.body("arm")
        s.connect("base", da.Revolute((1, 2, 3)), s.ground, arm)
        bodies = [s.body(name) for name in "abc"]
        s.connect("A", da.Revolute("z"), arm, bodies[0])
        s.connect("B", da.Revolute("z"), bodies[0].at(1, 0, 0), bodies[1])
        s.connect("C", da.Revolute("z"), bodies[1].at(3, 0, 0), bodies[2].at(2.5, 0, 0))
        s.connect("D", da.Revolute("z"), arm.at(3, 0, 0), bodies[2])
        s.drive("base", position=da.Polynomial((0.3, 1.0)))
        s.drive("A", position=law)
        motion = da.kinematics(s, times=np.linspace(0.0, 1.0, 5))
        assert np.abs(motion["constraints.residual"]).max() < 1e-12


def test_jerks_keep_their_digits_at_any_pace() -> None:
    found = [
        da.kinematics(crank_and_slider(), drive="A", values=[0.3, 0.5], speed=speed)["D.jerk"] / speed**3
        for speed in (1.0, 1e-6, 1e6)
    ]
    assert np.allclose(found[1:], found[0], rtol=1e-9)


def test_what_is_no_system_is_refused() -> None:
    with pytest.raises(da.ModelError, match="give a System"):
        da.kinematics("crank", times=[0.0])


def test_states_between_rows_of_a_rolling_motion() -> None:
    s = da.System("skate")
    board = s.body("board")
    s.connect("move", da.Planar("z"), s.ground, board)
    s.connect("wheel", da.KnifeEdge(), s.ground, board)
    s.drive("move.angle", position=da.Polynomial((0.2, 0.8)))
    s.drive("move.x", position=da.Polynomial((0.0, 1.0)))
    between = da.kinematics(s, times=[0.0, 0.5, 1.0]).at([0.3, 0.8])
    angle = 0.2 + 0.8 * between.t
    assert np.allclose(between["move.y.position"], (np.log(np.cos(0.2)) - np.log(np.cos(angle))) / 0.8, atol=1e-9)
