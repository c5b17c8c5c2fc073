"""No step passes over a contact, a branch of a formula or a tooth of a table that begins and ends within it."""

from __future__ import annotations

from math import acos, pi

import numpy as np
import pytest
from systems.switching_systems import switching_system

import dalembert as da

ADAPTIVE = ("dop853", "dopri5", "radau", "alpha")


def billiard() -> da.System:
    s = da.System("billiard", gravity=(0, 0, 0))
    a, b = s.body("a", da.sphere(0.03, mass=0.2)), s.body("b", da.sphere(0.03, mass=0.2))
    s.place("a", position=(-2, 0, 0), velocity=(2, 0, 0))
    s.place("b", position=(0, 0, 0))
    s.connect("hit", da.SphereSphereContact(0.03, 0.03, 1e7), a, b)
    return s


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("t_end", [2.0, 3.0, 5.0, 10.0])
def test_a_ball_hits_another_however_long_the_run_is(method: str, t_end: float) -> None:
    """Equal balls exchange their velocities; steps of free flight would pass through the contact."""
    result = da.simulate(billiard(), t_end, method=method)
    assert result["b.velocity.x"][-1] == pytest.approx(2.0, abs=1e-6)
    assert result["a.velocity.x"][-1] == pytest.approx(0.0, abs=1e-6)


def test_runs_of_an_ensemble_hit_as_single_runs_do() -> None:
    stiffness = [1e7, 1e6, 3e6, 2e5, 1e7, 1e6, 3e6, 2e5, 5e6]
    runs = da.simulate(billiard(), 3.0, parameters={"hit.stiffness": stiffness})
    np.testing.assert_allclose(runs["b.velocity.x"][:, -1], 2.0, atol=1e-6)


def pushed(law: da.Element, speed: float = 1.0) -> da.System:
    """Return a block that a force pushes in a part of each turn of a driven shaft."""
    s = da.System("shaft", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("z"), s.ground, s.body("wheel", da.cylinder(0.1, 0.1, mass=1.0)))
    s.drive("A", speed=speed)
    s.connect("P", da.Prismatic("x"), s.ground, s.body("block", da.box(0.1, 0.1, 0.1, mass=1.0)))
    s.connect("push", law, "P")
    return s


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("level", [0.9, 0.99, 0.999])
def test_a_branch_of_a_driven_angle_acts_in_every_turn(method: str, level: float) -> None:
    law = da.Element("joint", f"where(cos(phi) < -{level}, 10.0, 0.0)", inputs={"phi": "A.position"}, active=True)
    result = da.simulate(pushed(law), 20 * pi, method=method)
    impulse = 10 * 2 * acos(level) * 10.0
    error = 1e-5 if method == "alpha" else 1e-9  # of second order: its tolerance is not that of others
    assert result["P.speed"][-1] == pytest.approx(impulse, rel=error)
    assert result["energy.work"][-1] == pytest.approx(0.5 * impulse**2, rel=error)


@pytest.mark.parametrize("method", ADAPTIVE)
# within steps that pass knots of a cubic table, jumps of the third derivative are seen by error estimates only in part
@pytest.mark.parametrize(("kind", "error"), [("linear", 1e-9), ("cubic", 5e-6)])
def test_a_tooth_of_a_table_acts_in_every_turn(method: str, kind: str, error: float) -> None:
    """Its impulse is the area under the table over the angular speed."""
    knots = np.concatenate([[0.0], np.linspace(2.9, 3.1, 9), [2 * pi]])
    values = np.concatenate([[0.0], 20 * np.sin(np.linspace(0, pi, 9)) ** 2, [0.0]])
    values[[1, -2]] = 0.0
    tooth = da.Table(knots, values=values, kind=kind, outside="repeat")
    fine = knots if kind == "linear" else np.linspace(0.0, 2 * pi, 200_001)
    area = np.trapezoid(tooth.evaluate(fine), fine)
    law = da.Element("joint", "tooth(phi)", inputs={"phi": "A.position"}, tables={"tooth": tooth}, active=True)
    result = da.simulate(pushed(law, speed=3.0), 8 * pi / 3, method=method)
    assert result["P.speed"][-1] == pytest.approx(4 * area / 3.0, rel=1e-5 if method == "alpha" else error)


@pytest.mark.parametrize("width", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("variable", ["t", "phi"])
def test_a_narrow_bump_of_time_or_of_an_angle_is_seen(variable: str, width: float) -> None:
    """Values and rates at the ends of a step tell nothing of it; bounds of the formula do."""
    law = f"where(exp(-(({variable} - 5.03)/{width})**2) > 0.5, 100, 0)"
    result = da.simulate(pushed(da.Element("joint", law, inputs={"phi": "A.position"}, active=True)), 10.0)
    assert result["P.speed"][-1] == pytest.approx(100 * 2 * width * np.sqrt(np.log(2)), rel=1e-8)


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau"])
def test_a_root_that_begins_and_ends_within_a_step_is_seen(method: str) -> None:
    """No branch is held where a law begins like a root; the monitor looks at it all the same."""
    law = da.Element("joint", "sqrt(max(cos(phi) - 0.99, 0))", inputs={"phi": "A.position"}, active=True)
    angle = np.linspace(-acos(0.99), acos(0.99), 200_001)
    area = np.trapezoid(np.sqrt(np.maximum(np.cos(angle) - 0.99, 0)), angle)
    result = da.simulate(pushed(law), 20 * pi, method=method)
    assert result["P.speed"][-1] == pytest.approx(10 * area, rel=2e-6)


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau"])
@pytest.mark.parametrize("speed", [0.7, 2.3, 17.0])
def test_a_driven_striker_meets_a_block_once_a_turn(method: str, speed: float) -> None:
    """Steps so short that none can pass over the contact give the same; so do work and losses."""
    s = da.System("striker", gravity=(0, 0, 0))
    wheel = s.body("wheel", da.cylinder(0.1, 0.1, mass=1.0))
    s.connect("A", da.Revolute("z"), s.ground, wheel)
    s.drive("A", speed=speed)
    block = s.body("block", mass=1.0, inertia=(1e-3, 1e-3, 1e-3))
    s.connect("P", da.Prismatic("y"), s.ground.at(0.2, 0.0, 0), block)
    s.initial("A", position=-1.0)
    s.connect("spring", da.JointSpring(50.0, damping=14.0), "P")
    s.connect("hit", da.SphereSphereContact(0.01, 0.01, 1e5, dissipation=0.3), wheel.at(0.195, 0, 0), block)
    t_end = 3 * 2 * pi / speed
    result = da.simulate(s, t_end, method=method)
    exact = da.simulate(s, t_end, method="dop853", max_step=0.01 / speed)
    for name in ("P.position", "energy.work", "energy.dissipated"):
        assert result[name][-1] == pytest.approx(exact[name][-1], rel=1e-5, abs=1e-7)
    assert abs(result["energy.balance"]).max() < 1e-5 * result["energy.work"][-1]


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_a_valve_with_lash_lifts_in_every_turn_of_its_cam(method: str) -> None:
    s = da.System("valve", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("z"), s.ground, s.body("cam", da.cylinder(0.05, 0.02, mass=1.0)))
    speed = 1000 * 2 * pi / 60
    s.drive("A", speed=speed)
    angle = np.linspace(0, 2 * pi, 73)
    lift = np.where(np.abs(angle - pi) < pi / 5, 0.008 * np.cos(2.5 * (angle - pi)) ** 2, 0.0)
    s.connect("V", da.Prismatic("x"), s.ground, s.body("valve", da.box(0.01, 0.01, 0.1, mass=0.1)))
    s.connect("spring", da.JointSpring(2e4, damping=5.0, rest=-0.002), "V")
    s.connect("seat", da.Element("joint", "where(s < 0, -1e7*s - 1e3*ds, 0)"), "V")
    law = da.Element(
        "joint",
        "where(d < 0, 0, k*d - c*ds)",
        {"k": 1e7, "c": 1e3, "lash": 0.0003},
        definitions={"d": "lift(phi) - lash - s"},
        inputs={"phi": "A.position"},
        tables={"lift": da.Table(angle, values=lift, outside="repeat")},
        active=True,
    )
    s.connect("cam_contact", law, "V")
    result = da.simulate(s, 5 * 2 * pi / speed, method=method)
    assert np.count_nonzero(np.diff((result["V.position"] > 0.004).astype(int)) == 1) == 5


def test_a_pin_with_clearance_turns_a_geneva_wheel_by_a_quarter_each_time() -> None:
    """The pin is in a slot for a quarter of a turn; three quarters of it nothing accelerates."""
    s = da.System("geneva", gravity=(0, 0, 0))
    radius, distance = 0.1, 0.1 * np.sqrt(2.0)
    driver = s.body("driver", da.cylinder(0.02, 0.01, mass=0.2))
    s.connect("A", da.Revolute("z"), s.ground, driver)
    s.drive("A", speed=2.0)
    s.initial("A", position=pi / 2)
    wheel = s.body("wheel", da.cylinder(0.1, 0.01, mass=0.5))
    s.connect("W", da.Revolute("z"), s.ground.at(distance, 0, 0), wheel)
    s.connect("brake", da.JointSpring(0.0, damping=0.02), "W")
    # slots along the diagonals of the wheel; the pin, seen from the wheel, is pushed out of the walls of the nearest
    inside = "where(x*x + y*y < 0.0101, 1, 0)"
    slot = "(floor(atan2(y, x)/q) + 0.5)*q"
    gap = "(-sin(a)*x + cos(a)*y)"
    depth = "max(d - 0.001, 0) - max(-d - 0.001, 0)"
    law = da.Element(
        "place",
        ("sin(a)*f", "-cos(a)*f", 0.0),
        {"k": 2e5, "q": pi / 2},
        definitions={"a": slot, "d": gap, "f": f"k*({inside})*({depth})"},
        active=True,
    )
    s.connect("pin", law, wheel, driver.at(radius, 0, 0))
    turns = da.simulate(s, 3.0 * pi + 0.6, method="dop853")
    short = da.simulate(s, 3.0 * pi + 0.6, method="dop853", max_step=1e-3)
    assert turns["W.position"][-1] == pytest.approx(short["W.position"][-1], abs=2e-4)
    assert abs(turns["W.position"][-1]) > 1.5


def test_fixed_steps_over_a_contact_are_noted() -> None:
    result = da.simulate(billiard(), 2.0, method="alpha", fixed_step=0.13)
    assert any(
        "'hit'" in note and "both changes were missed" in note and "t = 0.97" in note for note in result.stats.notes
    )
    runs = da.simulate(billiard(), 2.0, method="euler", fixed_step=0.13, parameters={"hit.stiffness": [1e7, 1e6]})
    assert any("in 2 runs" in note and "both changes were missed" in note for note in runs.stats.notes)
    fine = da.simulate(billiard(), 0.9, method="alpha", fixed_step=0.01)
    assert not any("both changes were missed" in note for note in fine.stats.notes)


def test_external_solvers_note_that_they_do_not_monitor() -> None:
    result = da.simulate(billiard(), 0.5, method="scipy:RK45")
    assert any("does not monitor" in note and "'hit'" in note for note in result.stats.notes)


def test_a_threshold_that_chatters_costs_a_bounded_number_of_steps() -> None:
    """A relay that switches ten thousand times in a second is passed through, not stepped up to for ever."""
    law = da.Element("joint", "1e-3*sign(sin(1e5*phi))", inputs={"phi": "A.position"}, active=True)
    result = da.simulate(pushed(law), 0.02)
    assert result.stats.steps < 5000
    assert abs(result["P.speed"][-1]) < 1e-5


def test_levels_that_pass_too_fast_are_let_go_with_a_note() -> None:
    """Ten million whole numbers a second: steps do not end at each of them."""
    law = da.Element("joint", "1e-6*mod(1e7*phi, 1)", inputs={"phi": "A.position"}, active=True)
    result = da.simulate(pushed(law), 1.0, rtol=1e-4, atol=1e-6)
    assert any("'push'" in note and "too often" in note for note in result.stats.notes)
    assert result.stats.steps < 5000


def test_contacts_that_overlap_at_the_start_are_named_with_their_depth() -> None:
    s = billiard()
    s.place("a", position=(-0.05, 0, 0))
    assert any("'hit' by 0.01 m" in note for note in da.simulate(s, 0.001).stats.notes)
    assert not any("overlap" in note for note in da.simulate(billiard(), 0.001).stats.notes)


def at_tolerance(seed: int, method: str) -> tuple[float, float]:
    """Return how far a run ends from one of steps too short to miss anything, and how far it may."""
    s, t_end = switching_system(seed)
    exact = da.simulate(s, t_end, method="dop853", rtol=1e-10, atol=1e-12, max_step=t_end / 1000)
    if method == "batch":
        stiffness = s.forces["k0"].element.stiffness
        found = da.simulate(s, t_end, parameters={"k0.stiffness": [stiffness, 1.1 * stiffness, stiffness]}).q[0, -1]
    elif method == "alpha":
        found = da.simulate(s, t_end, method=method, rtol=1e-6, atol=1e-8).q[-1]
    else:
        found = da.simulate(s, t_end, method=method).q[-1]
    # tolerances of a step, times what contacts make of errors in the course of a run
    return float(np.abs(found - exact.q[-1]).max()), 2e-3 if method == "alpha" else 1e-5


@pytest.mark.parametrize("first", range(0, 300, 25))
def test_random_systems_switch_as_with_short_steps(first: int) -> None:
    """Three hundred systems of one to five switching elements; each by two methods in turn."""
    methods = ("dop853", "dopri5", "radau", "alpha", "batch")
    for seed in range(first, first + 25):
        for method in (methods[seed % 5], methods[(seed // 5 + seed + 1) % 5]):
            error, most = at_tolerance(seed, method)
            assert error < most, (seed, method)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau", "alpha", "batch"])
def test_random_systems_switch_as_with_short_steps_by_every_method(method: str) -> None:
    for seed in range(300):
        error, most = at_tolerance(seed, method)
        assert error < most, (seed, method)
