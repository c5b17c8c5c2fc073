"""Every example runs, is short, writes its picture, and computes what mechanics says."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy.integrate import trapezoid
from scipy.spatial.transform import Rotation

from dalembert.oracles.kane import Kane
from dalembert.rotation import quaternion_from_matrix

FOLDER = Path(__file__).parents[2] / "examples"
PICTURES = {
    "pendulum": "pendulum.png",
    "double_pendulum": "double_pendulum.gif",
    "slider_crank": "slider_crank.png",
    "four_bar": "four_bar.png",
    "andrews": "andrews.png",
    "bricard": "bricard.png",
    "spinning_top": "spinning_top.gif",
    "chain": "chain.gif",
    "lifting_robot": "",
    "stick_slip": "stick_slip.png",
    "woodpecker": "woodpecker.png",
    "muscle_arm": "muscle_arm.png",
    "dc_servo": "dc_servo.png",
    "hanging_chain": "hanging_chain.png",
    "cantilever": "cantilever.png",
    "snap_through": "snap_through.png",
    "fuel_injection_pump": "fuel_injection_pump.png",
    "flexible_spacecraft": "flexible_spacecraft.png",
    "space_manipulator": "space_manipulator.png",
    "free_fall": "free_fall.png",
    "bicycle": "bicycle.png",
    "nine_points": "nine_points.png",
    "swing_up": "swing_up.png",
    "function_generator": "function_generator.png",
    "balancing": "balancing.png",
    "arm_identification": "arm_identification.png",
    "ball_run": "ball_run.png",
    "bounce_throw": "bounce_throw.png",
    "quadruped": "quadruped.png",
    "rimless_wheel": "rimless_wheel.png",
    "biped": "biped.png",
    "gripper": "gripper.png",
    "lane_change": "lane_change.png",
    "gear_pair": "gear_pair.png",
    "hoist": "hoist.png",
    "belt_drive": "belt_drive.png",
    "valve_float": "valve_float.png",
    "geneva_drive": "geneva_drive.png",
    "escapement": "escapement.png",
}


def numbers_of(name: str) -> dict[str, Any]:
    """Return the numbers that an example computed, without its pictures."""
    return runpy.run_path(str(FOLDER / f"{name}.py"), run_name=name)


def test_all_examples_are_known() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == set(PICTURES)


@pytest.mark.parametrize("name", PICTURES)
def test_an_example_is_short_prints_something_and_writes_its_picture(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len((FOLDER / f"{name}.py").read_text().splitlines()) < 60
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) >= 3
    assert [path.name for path in tmp_path.iterdir()] == [PICTURES[name]] * bool(PICTURES[name])


def test_a_pendulum_has_the_period_of_the_elliptic_integral() -> None:
    found = numbers_of("pendulum")
    assert len(found["moments"]) == 8
    assert abs(found["period"] - found["exact"]) < 1e-9 and abs(found["exact"] - 2.2487049289) < 1e-9


def test_two_double_pendulums_part_but_keep_their_energy() -> None:
    found = numbers_of("double_pendulum")
    assert found["apart"][0] < 1e-8 and found["apart"].max() > 0.1
    for result in (found["result"], found["other"]):
        assert np.abs(result["energy.balance"]).max() < 1e-8


def test_a_slider_follows_its_closed_form_and_its_torque_does_the_work() -> None:
    found = numbers_of("slider_crank")
    result = found["result"]
    assert np.abs(result["D.position"] - found["exact"]).max() < 1e-14
    # over a turn the drive works against the gas alone: 300 sin(x) along -50 sin(x) mm and its harmonics
    work = np.mean(result["A.effort"][1:]) * 2 * np.pi
    gas = -trapezoid(300 * np.sin(result["A.position"]) - 500, result["D.position"])
    assert abs(work - gas) < 1e-3 * abs(gas)
    assert abs(result["energy.balance"][-1]) < 1e-6


def test_a_four_bar_swings_between_its_dead_points() -> None:
    found = numbers_of("four_bar")
    swing = found["result"].output("rocker.angle", np.linspace(0, 10, 20001))
    # crank and coupler in line: a triangle with the sides 0.4 - 0.1 or 0.4 + 0.1, 0.3 and 0.35
    dead = [-np.pi + np.arccos((0.3**2 + 0.35**2 - side**2) / (2 * 0.3 * 0.35)) for side in (0.3, 0.5)]
    assert np.allclose(sorted([swing.min(), swing.max()]), sorted(dead), atol=1e-6)
    assert np.abs(found["result"]["energy.balance"]).max() < 1e-7


def test_andrews_mechanism_meets_its_reference() -> None:
    found = numbers_of("andrews")
    assert np.abs(np.subtract(found["angles"], found["reference"])).max() < 1e-10


def test_bricards_mechanism_moves_as_it_must() -> None:
    found = numbers_of("bricard")
    assert (found["report"].mobility, found["report"].gruebler) == (1, 0)
    assert abs(found["period"] - 4.99171151) < 2e-8  # eight digits are given
    assert np.abs(found["invariant"] - 1).max() < 1e-13
    assert np.abs(found["result"]["energy.balance"]).max() < 1e-9


def test_a_top_precesses_steadily() -> None:
    found = numbers_of("spinning_top")
    assert np.ptp(found["angle"]) < 1e-8
    assert abs(np.ptp(found["turned"]) / 2.0 - found["rate"]) < 1e-6
    roots = Polynomial([found["c"], found["b"], found["a"]]).roots()
    assert np.isclose(found["rate"], roots.min())


def test_a_human_in_free_fall_turns_by_circling_its_legs() -> None:
    """The rotation from angular momentum zero alone: the mass matrix of Kane's arrays, integrated by fixed steps."""
    found = numbers_of("free_fall")
    result = found["result"]
    assert found["momentum"] < 1e-5 and 130 < found["turn"][-1, 2] < 140
    assert np.abs(result["center_of_mass"][:, 2] - result["center_of_mass"][0, 2] + 9.81 / 2 * result.t**2).max() < 1e-7
    s = found["falling"]()
    joints = s.forest().joints
    legs = {6 + k - 1: found["angles"].get(joint.name.partition("_")[2]) for k, joint in enumerate(joints) if k}

    def angular_velocity(t: float, R: np.ndarray) -> np.ndarray:
        """Return that of the pelvis, its axes, at which the momentum of the whole is zero."""
        q, v = np.zeros(7 + len(joints) - 1), np.zeros(6 + len(joints) - 1)
        q[:4] = quaternion_from_matrix(R)
        for place, angle in legs.items():
            if angle is not None:
                q[place + 1], v[place] = angle(t)[:2]
        A = Kane(s, q, v).mass_matrix()
        return np.linalg.solve(A[:6, :6], -A[:6] @ v)[:3]

    R, steps = np.eye(3), 60
    h = 0.8 / steps
    for k in range(steps):  # midpoint rule on the rotation: the error falls with its square
        half = R @ Rotation.from_rotvec(h / 2 * angular_velocity(k * h, R)).as_matrix()
        R = R @ Rotation.from_rotvec(h * angular_velocity((k + 0.5) * h, half)).as_matrix()
    apart = Rotation.from_matrix(R.T @ result["pelvis.rotation"][-1]).magnitude()
    assert apart < 2e-3  # of 2.3 rad; 60 steps leave 1e-3


def test_a_space_manipulator_turns_itself_and_is_held() -> None:
    found = numbers_of("space_manipulator")
    flight = found["flight"]
    assert np.abs(flight["momentum.angular"]).max() < 1e-5 * 10.0  # moving arms have about 10 kg m2/s
    assert np.allclose(np.degrees(flight["main.bryant"][-1]), [-14.22166, 10.98074, 12.94924], atol=1e-4)
    assert np.allclose(found["holding"][50], [-10.46830, -20.93659, 10.46830, -125.61956, -314.04889, 0], atol=1e-4)
    assert np.allclose(found["after"]["main"], [0, 1.990262, 0, 112.038952, 0, 0], atol=1e-6)


def test_the_end_of_a_chain_outruns_a_ball() -> None:
    found = numbers_of("chain")
    assert found["speed"].max() > 2 * found["ball"]
    assert np.abs(found["result"]["energy.balance"]).max() < 1e-8


def test_a_fuel_injection_pump_has_films_as_the_thesis_prints_them() -> None:
    found = numbers_of("fuel_injection_pump")
    assert abs(found["spin"].max() - 360) < 0.5
    ratio = found["films"].eccentricity[found["settled"]]
    assert ratio.min() > 0.1 and ratio.max() < 0.5
    assert abs(found["mean"] - 0.26e-6) < 0.04e-6 and abs(found["under_pressure"] - 975e6) < 20e6


def test_a_spacecraft_keeps_its_momentum_while_its_panels_shake() -> None:
    found = numbers_of("flexible_spacecraft")
    result, bending = found["result"], found["bending"]
    assert found["linear"] < 1e-8 * found["carried"] and found["angular"] < 1e-8 * found["carried"]
    assert np.ptp(result["center_of_mass"], axis=0).max() < 1e-8
    assert np.abs(result["energy.balance"]).max() < 1e-7
    assert np.abs(bending["port"]).max() > 0.01 and np.ptp(result["hub.position"], axis=0).max() > 0.01
    # a panel on a hub that gives way swings faster than a clamped one
    after = result.t > 3.5
    crossings = np.flatnonzero(np.diff(np.sign(bending["port"][after])))
    rate = np.pi * (len(crossings) - 1) / (np.diff(result.t[after][crossings[[0, -1]]])[0])
    assert found["panel"].frequencies[0] < rate < 2 * found["panel"].frequencies[0]


def test_a_coupler_point_passes_nine_points() -> None:
    found = numbers_of("nine_points")["found"]
    assert found.exact and found[0].error < 1e-8
    assert not found[0].defects


def test_a_four_bar_computes_a_logarithm() -> None:
    """The error of five exact pairs changes its sign at each of them, and is a few parts in ten thousand."""
    n = numbers_of("function_generator")
    assert n["found"].exact and not n["found"][0].defects
    assert np.abs(n["error"]).max() < 60 * 3e-4
    assert np.count_nonzero(np.diff(np.sign(n["error"]))) == 5


def test_counterweights_take_the_shaking_force() -> None:
    n = numbers_of("balancing")
    for name, value in n["exact"].items():
        assert n["found"][name] == pytest.approx(value, abs=1e-7)
    assert np.abs(n["before"]).max() > 1000 and np.abs(n["after"]).max() < 1e-2
    # at the ends of the stroke: masses times accelerations, of the piston w^2 r (1 +- r / l), of the rod half of both
    w2r, part = (20 * np.pi) ** 2 * 0.1, 0.1 / 0.4
    ends = [w2r * (2.0 / 2 + 1.0 * (1 + 0.5 * side * part) + 0.5 * (1 + side * part)) for side in (1, -1)]
    assert np.abs(n["before"][[0, 36], 0]) == pytest.approx(ends, rel=1e-6)


def test_identifiable_inertia_parameters_of_an_arm_are_found() -> None:
    n = numbers_of("arm_identification")
    found, truth = n["found"], n["truth"]
    assert len(found.names) == 15
    assert found.noise == pytest.approx(n["NOISE"], rel=0.1)  # an estimate from random samples
    assert np.abs(found.values - truth).max() < 0.01
    clean = n["Y"] @ n["da"].inertial_parameters(n["s"])
    draws = [np.random.default_rng(k).standard_normal(clean.shape) for k in range(40)]
    each = [n["da"].identify(n["Y"], clean + n["NOISE"] * draw) for draw in draws]
    squares = np.mean([((one.values - truth) / one.errors) ** 2 for one in each])
    assert squares == pytest.approx(1.0, abs=0.25)  # errors are as large as said: over 40 draws, not in each


def test_a_double_pendulum_swings_up_with_full_torques() -> None:
    """Efforts are at their bounds but for switches, and another integration ends upright."""
    found = numbers_of("swing_up")["found"]
    full = np.abs(np.stack(list(found.efforts.values()))) > 8 - 1e-6
    assert found.status == "optimal" and full.mean() > 0.9
    assert found.target_errors < 0.01 and found.time < 1.3


def test_the_toggle_snaps_at_the_load_of_virtual_work() -> None:
    n = numbers_of("snap_through")
    assert n["snaps"] == pytest.approx(n["exact"], rel=1e-9)
    assert n["error"] < 1e-6


def test_balls_run_over_hills_without_falling_through() -> None:
    found = numbers_of("ball_run")
    for x, y, z in found["ends"]:
        above = z - found["height"](x, y) - found["RADIUS"]
        assert -2e-3 < above < 0.5  # 2 mm: the surface between nodes 5 cm apart
    assert min(found["travelled"]) > 1.0


def test_a_throw_over_a_bounce_is_found_by_newtons_method() -> None:
    found = numbers_of("bounce_throw")
    assert found["misses"][-1] < 1e-9
    assert found["misses"][-2] < 1e-4  # quadratic: the derivatives are exact
    assert len(found["bounces"]) == 1
    position = found["result"]["ball.position"][-1]
    assert position[[0, 2]] == pytest.approx(found["HOOP"], abs=1e-8)


def test_a_quadruped_stands_without_slip_and_trots() -> None:
    found = numbers_of("quadruped")
    assert found["slip"] < 1e-9
    assert found["standing"]["floor.normal"][-1] == pytest.approx(found["weight"], rel=0.05)  # it still settles
    assert found["way"][-1] > 0.8
    assert found["result"]["trunk.position"][:, 2].min() > 0.2


def test_a_rimless_wheel_turns_as_mcgeer_says() -> None:
    found = numbers_of("rimless_wheel")
    assert len(found["landings"]) >= 7
    assert found["after"][-1] == pytest.approx(found["steady"], rel=1e-2)  # 2 ms after the impact it is slower


def test_a_biped_stands_on_one_leg_and_squats() -> None:
    found = numbers_of("biped")
    assert found["one_leg"]["floor/right foot.gap"].min() > 0.05
    assert found["pressure"] < 0.0500001  # within the sole
    assert found["lean"] < 2.0
    assert found["result"]["floor.normal"][-1] == pytest.approx(found["weight"], rel=1e-3)


def test_a_gripper_lifts_a_crate_by_friction() -> None:
    found = numbers_of("gripper")
    assert found["height"][-1] > 0.14
    assert found["held"]["grip.force"][-1, 2] == pytest.approx(9.81 * found["MASS"], rel=1e-6)
    assert found["held"]["grip.slip"].max() < 1e-8


def test_a_gentle_lane_change_is_that_of_the_single_track_model() -> None:
    found = numbers_of("lane_change")
    assert abs(found["rate"] - found["linear"]).max() < 0.1 * abs(found["linear"]).max()


def test_the_teeth_of_a_gear_pair_part_below_the_linear_resonance() -> None:
    """Parting makes the mesh softer: the jump lies below the resonance of the linear system."""
    found = numbers_of("gear_pair")
    jump = found["speed"][found["force"].argmax()]
    assert 0.75 * found["resonance"] < jump < 0.95 * found["resonance"]
    assert found["force"].max() > 4 * found["LOAD"] / found["mesh"].base_radii[0] and found["force"].min() == 0.0
    work = found["LOAD"] * found["result"]["P.position"][-1]
    assert abs(found["result"]["energy.balance"]).max() < 1e-6 * work


def test_a_hoist_lifts_at_half_of_the_speed_of_its_rope() -> None:
    found = numbers_of("hoist")
    assert found["lifted"][-1] == pytest.approx(1.5, rel=1e-3)
    assert found["work"] == pytest.approx(found["LOAD"] * 9.81 * 1.5, rel=2e-3)
    assert found["result"]["rope.tension2"][-1] == pytest.approx(found["LOAD"] * 9.81 / 2, rel=1e-3)


def test_a_belt_creeps_before_it_slips() -> None:
    """Creep is the difference of the strains of both sides; slip begins at the limit of Euler and Eytelwein."""
    found = numbers_of("belt_drive")
    result, before = found["result"], found["result"].t < found["slips"][0]
    strain = np.stack([result["belt.tension1"], result["belt.tension2"]]) / found["EA"]
    creep = np.abs(np.diff(strain, axis=0)[0]) / (1 + strain.max(axis=0))
    assert found["loss"][before][20:] == pytest.approx(
        creep[before][20:], abs=4e-4
    )  # strains of spans change as it passes
    assert found["ratio"][before].max() == pytest.approx(found["limit"][0], rel=1e-2)


def test_a_valve_floats_above_the_speed_of_its_spring() -> None:
    """The valve leaves the cam where the spring no longer supplies the deceleration of the lift."""
    found = numbers_of("valve_float")
    assert found["floats"][0] > found["limit"] > found["holds"][-1]
    assert found["flight"][-1] > 1e-4


def test_a_geneva_drive_indexes_a_table() -> None:
    found = numbers_of("geneva_drive")
    assert np.ptp(found["result"]["axle.position"]) == pytest.approx(np.pi, abs=2e-3)
    assert np.abs(found["error"]).max() < 3e-3


def test_an_escapement_lets_one_tooth_pass_for_each_period() -> None:
    found = numbers_of("escapement")
    assert len(found["teeth"]) >= 6 and found["teeth"] == pytest.approx(1.0, abs=3e-3)
    assert found["period"][-1] == pytest.approx(found["free"], rel=0.02)
    assert np.abs(found["swing"][-600:]).max() > 0.04  # the wheel replaces what the air takes
    assert abs(found["result"]["energy.balance"]).max() < 1e-5
