"""Transmission angle, mechanical advantage, velocity ratios."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.library.mechanisms import andrews, four_bar, slider_crank


def turn(s: da.System, joint: str = "A", rows: int = 361) -> da.Result:
    s.drive(joint, speed=1.0)
    return da.simulate(s, 2 * np.pi, times=np.linspace(0, 2 * np.pi, rows))


def four_bar_angle(crank_angle: np.ndarray, a: float, b: float, c: float, d: float) -> np.ndarray:
    diagonal = a**2 + d**2 - 2 * a * d * np.cos(crank_angle)
    angle = np.arccos((b**2 + c**2 - diagonal) / (2 * b * c))
    return np.minimum(angle, np.pi - angle)


@pytest.mark.parametrize("lengths", [(1.0, 2.5, 2.0, 2.2), (0.6, 1.7, 1.5, 2.0), (1.0, 2.0, 2.2, 2.5)])
def test_transmission_angle_of_a_four_bar(lengths: tuple[float, float, float, float]) -> None:
    a, b, c, d = lengths
    result = turn(four_bar(*lengths))
    mu = da.transmission_angle(result, "C", output="D")
    assert mu.input == "A" and mu.body == "rocker"
    assert np.abs(mu.transmission - four_bar_angle(result["A"], *lengths)).max() < 1e-10
    ends = four_bar_angle(np.array([0.0, np.pi]), *lengths)
    assert mu.extremes.least == pytest.approx(ends.min(), abs=1e-5)
    crossing = np.arccos(np.clip((b**2 + c**2 - np.array([d - a, d + a]) ** 2) / (2 * b * c), -1, 1)) - np.pi / 2
    best = np.pi / 2 if np.prod(crossing) < 0 else ends.max()
    assert mu.extremes.greatest == pytest.approx(best, abs=1e-5)
    coupler = result["coupler.rotation"][:, :, 0]
    assert np.abs(np.cross(mu.force, coupler)).max() < 1e-9  # along the coupler


def test_it_does_not_matter_where_the_loop_is_cut() -> None:
    s = four_bar()
    other = da.System("same", gravity=(0, 0, 0))  # joints named in another order: the loop is cut at A
    bodies = [
        other.body(name, da.rod(length, 1.0)) for name, length in (("crank", 1.0), ("coupler", 2.5), ("rocker", 2.0))
    ]
    other.connect("D", da.Revolute("z"), other.ground.at(2.2, 0, 0), bodies[2])
    other.connect("C", da.Revolute("z"), bodies[1].at(2.5, 0, 0), bodies[2].at(2.0, 0, 0))
    other.connect("B", da.Revolute("z"), bodies[0].at(1.0, 0, 0), bodies[1])
    other.connect("A", da.Revolute("z"), other.ground, bodies[0])
    start = da.assemble(s)
    state = da.start_state(s.compile(), {"A": 1.0, "A.speed": 1.0})
    one = da.simulate(s, 0.5, state=state, times=np.linspace(0, 0.5, 11))
    for name in "ABCD":
        other.initial(name, position=float(one[f"{name}.position"][0]), guess=name != "A")
    other.initial("A", position=1.0, speed=1.0)
    two = da.simulate(other, 0.5, times=np.linspace(0, 0.5, 11))
    assert other.compile().forest.loop_constraints[0].name == "A" and start.model.forest.loop_constraints[0].name == "D"
    for result in (one, two):
        mu = da.transmission_angle(result, "C", output="D", input="A")
        assert np.abs(mu.transmission - four_bar_angle(result["A"], 1.0, 2.5, 2.0, 2.2)).max() < 1e-9


def test_transmission_angle_of_a_slider_crank() -> None:
    result = turn(slider_crank(0.2, 0.6))
    mu = da.transmission_angle(result, "C", output="D")
    assert mu.body == "slider"
    tilt = np.arcsin(0.2 * np.sin(result["A"]) / 0.6)
    assert np.abs(mu.pressure - np.abs(tilt)).max() < 1e-9
    assert mu.extremes.least == pytest.approx(np.pi / 2 - np.arcsin(1 / 3), abs=1e-5)
    assert mu.extremes.greatest == pytest.approx(np.pi / 2, abs=1e-9)
    back = da.transmission_angle(result, "B", output="A", input="D", body="crank")  # the slider drives the crank
    lever = np.abs(np.sin(result["A"] + tilt))  # sine of the angle between rod and crank
    assert np.abs(np.sin(back.transmission) - lever).max() < 1e-7


def test_transmission_angle_of_a_mechanism_with_several_loops() -> None:
    s = andrews()
    s.remove("torque")
    s.remove("spring")
    s.drive("O", speed=1.0)
    result = da.simulate(s, 0.5, times=np.linspace(0, 0.5, 21))
    mu = da.transmission_angle(result, "E3", output="B")
    # K3 turns about B and is pushed at E: power of the force is that of the load
    F, v = mu.force, mu.velocity
    assert np.allclose(np.abs((F * v).sum(1)), np.cos(mu.pressure) * np.linalg.norm(v, axis=1))
    assert np.isfinite(mu.transmission).all()
    assert np.allclose(np.linalg.norm(F, axis=1), 1.0)


def test_transmission_in_space() -> None:
    s = da.System("RSSR", gravity=(0, 0, 0))
    crank, rod, rocker = (
        s.body("crank", da.rod(0.3, 1.0)),
        s.body("rod", da.rod(1.0, 1.0)),
        s.body("rocker", da.rod(0.6, 1.0)),
    )
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Spherical(), crank.at(0.3, 0, 0), rod)
    s.connect("C", da.Universal("y", "z"), rod.at(1.0, 0, 0), rocker.at(0.6, 0, 0))
    s.connect("D", da.Revolute("y"), s.ground.at(0.8, 0.2, -0.1), rocker)
    s.initial("A", position=0.4)
    s.initial("D", position=-1.2, guess=True)
    s.drive("A", speed=1.0)
    result = da.simulate(s, 2.0, times=np.linspace(0, 2, 41))
    mu = da.transmission_angle(result, "C", output="D")
    assert np.isfinite(mu.transmission).all()
    ratio = da.velocity_ratio(result, "D", "A")
    gain = da.mechanical_advantage(result, "D", "A")
    assert np.allclose(ratio.values * gain.values, 1.0)
    # the ball at B and no load on the rod: the force passes through B, and through C but for the moment of the cross
    at_B = result["rod.position"] - mu.point
    assert np.abs(np.cross(at_B, mu.force)).max() < 1e-9


def test_mechanical_advantage_of_a_slider_crank() -> None:
    result = turn(slider_crank(0.2, 0.6))
    angle = result["A"]
    tilt = np.arcsin(0.2 * np.sin(angle) / 0.6)
    rate = -0.2 * (np.sin(angle) + np.cos(angle) * np.tan(tilt))
    gain = da.mechanical_advantage(result, "D", "A")
    assert np.abs(gain.values * rate - 1).max() < 1e-9
    assert gain.unit == "rad/m"
    dead = np.sort((np.array(gain.poles) + 0.7) % np.pi)
    assert len(dead) == 2 and np.allclose(np.minimum(dead, np.pi - dead), 0, atol=1e-7)
    same = da.mechanical_advantage(result, "slider.position.x", "crank.angle")
    assert np.allclose(same.values, gain.values)


def test_ratios_of_a_four_bar() -> None:
    result = turn(four_bar())
    ratio = da.velocity_ratio(result, "rocker.angle", "crank.angle")
    assert np.allclose(ratio.values, result["D.speed"] / result["A.speed"])
    assert ratio.unit == "1" and len(ratio.zeros) == 2
    lo, hi = ratio.extremes.least, ratio.extremes.greatest
    assert lo <= ratio.values.min() and hi >= ratio.values.max() and hi - ratio.values.max() < 1e-4
    # the rocker stands still where crank and coupler are in line
    for t in ratio.zeros:
        B = result.output("coupler.position", [t])[0]
        C = result.output("coupler.at(2.5, 0, 0).position", [t])[0]
        assert abs(np.cross(B, C)[2]) < 1e-5
    other = da.velocity_ratio(result, "coupler.at(1, 1, 0).velocity.x", "A")
    assert other.unit == "m/rad" and np.allclose(other.values, result["coupler.at(1, 1, 0).velocity.x"])


def test_ratios_where_a_mechanism_turns_back() -> None:
    s = four_bar()
    s.drive("A", position=da.Polynomial((1.0, 0.0, 0.5)))
    result = da.simulate(s, 0.5, times=np.linspace(0, 0.5, 51))
    ratio = da.velocity_ratio(result, "D", "A")
    mu = da.transmission_angle(result, "C", "D")
    assert abs(ratio.values[0] - ratio.values[1]) < 1e-3
    assert abs(mu.transmission[0] - four_bar_angle(np.array([1.0]), 1.0, 2.5, 2.0, 2.2)[0]) < 1e-9


def test_what_cannot_be_is_refused() -> None:
    result = turn(four_bar(), rows=5)
    with pytest.raises(da.ModelError, match="one of 'A', 'B', 'C', 'D'"):
        da.transmission_angle(result, "Z", "D")
    with pytest.raises(da.ModelError, match="give the driven one"):
        da.transmission_angle(result, "B", "D")
    with pytest.raises(da.ModelError, match="give one number"):
        da.velocity_ratio(result, "coupler.position", "A")
    with pytest.raises(da.ModelError, match="did you mean"):
        da.velocity_ratio(result, "coupler.potision", "A")
    s = da.System("arm")
    upper, lower = s.body("upper", da.rod(1.0, 1.0)), s.body("lower", da.rod(1.0, 1.0))
    s.connect("A", da.Revolute("y"), s.ground, upper)
    s.connect("B", da.Revolute("y"), upper.at(1, 0, 0), lower)
    free = da.simulate(s, 0.1, times=[0.0, 0.1])
    with pytest.raises(da.ModelError, match="other degrees of freedom"):
        da.transmission_angle(free, "B", output="B", input="A", body="lower")


def test_a_singular_row_is_not_a_number_and_the_others_are() -> None:
    """A parallelogram through the position in which its links are in line."""
    from dalembert.library.mechanisms import four_bar

    motion = da.kinematics(four_bar(1.0, 2.0, 1.0, 2.0), drive="A", values=np.linspace(0.5, 2 * np.pi - 0.5, 361))
    angle = da.transmission_angle(motion, "C", output="D").transmission
    middle = len(motion) // 2
    assert np.isnan(angle[middle]) and np.isfinite(np.delete(angle, middle)).all()


def test_at_a_dead_point_the_advantage_is_infinite() -> None:
    from dalembert.library.mechanisms import slider_crank

    motion = da.kinematics(slider_crank(1.0, 3.0), drive="A", values=np.linspace(0.0, np.pi, 181))
    assert np.isinf(da.mechanical_advantage(motion, output="D", input="A").values[[0, -1]]).all()
