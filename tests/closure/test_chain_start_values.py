"""Start values of coordinates inside kinematic chains: met exactly where chain and loops permit, else said."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.closure.relative_pose import relative

PIN = da.Revolute("z")


def puck(lengths: tuple[float, ...] = (0.5, 0.4), guess: tuple[float, ...] = (0.6, 0.3, 0.1)) -> da.System:
    s = da.System("puck", gravity=(0, 0, 0))
    body = s.body("puck", mass=1.0, inertia=(0.1, 0.1, 0.1))
    s.connect("P", da.Planar("z"), s.ground, body)
    parts = [part for length in lengths for part in (PIN, da.bar(length))]
    s.connect("chain", da.KinematicChain([*parts, PIN]), s.ground, body)
    s.initial("P", position=guess, guess=True)
    return s


def inner_of(s: da.System, q: np.ndarray, name: str) -> dict[str, float]:
    model = s.compile()
    loop_constraint = model.system.connections[name]
    seen = relative(model, loop_constraint.first, loop_constraint.second, q)
    return loop_constraint.element.inner(seen.rotation, seen.position)


@pytest.mark.parametrize("elbow", [0.9, -0.9])
def test_both_angles_of_an_arm_say_where_its_end_is_and_which_elbow_it_has(elbow: float) -> None:
    s = puck()
    s.initial("chain.0.angle", position=0.3)
    s.initial("chain.2.angle", position=elbow)
    state = da.start_state(s)
    notes = state.notes
    place = 0.5 * np.exp(0.3j) + 0.4 * np.exp(1j * (0.3 + elbow))
    assert not notes and np.abs(state.q[:2] - [place.real, place.imag]).max() < 1e-11
    found = inner_of(s, state.q, "chain")
    assert found["0.angle"] == pytest.approx(0.3, abs=1e-9) and found["2.angle"] == pytest.approx(elbow, abs=1e-9)
    result = da.simulate(s, 0.1)
    assert not result.stats.notes


@pytest.mark.parametrize("elbow", [0.9, -0.9])
def test_one_angle_beside_a_given_place_only_chooses_the_elbow(elbow: float) -> None:
    """The place leaves two elbows; the shoulder that is asked for is that of one of them."""
    place = 0.5 * np.exp(0.3j) + 0.4 * np.exp(1j * (0.3 + elbow))
    s = puck(guess=(0.1, 0.1, 0.0))
    s.initial("P.x", position=place.real)
    s.initial("P.y", position=place.imag)
    s.initial("chain", position={"2.angle": elbow})
    state = da.start_state(s)
    notes = state.notes
    assert not notes and np.abs(state.q[:2] - [place.real, place.imag]).max() < 1e-12
    assert inner_of(s, state.q, "chain")["0.angle"] == pytest.approx(0.3, abs=1e-8)


def test_redundant_dof_meets_what_is_asked_without_moving_the_end() -> None:
    s = puck((0.3, 0.3, 0.3))
    s.initial("P", position=(0.5, 0.2, 0.1))
    s.initial("chain.0.angle", position=0.7)
    state = da.start_state(s)
    notes = state.notes
    assert not notes and np.abs(state.q - [0.5, 0.2, 0.1]).max() < 1e-12
    found = np.cumsum([inner_of(s, state.q, "chain")[f"{k}.angle"] for k in (0, 2, 4)])
    assert found[0] == pytest.approx(0.7, abs=1e-12)
    assert abs(0.3 * np.exp(1j * found).sum() - (0.5 + 0.2j)) < 1e-9


def test_more_than_can_be_met_is_changed_least_and_reported() -> None:
    """With the end driven to its place three pins are left one DOF: two wishes, by the least squares of both."""
    s = puck((0.3, 0.3, 0.3))
    for name, value in (("P.x", 0.5), ("P.y", 0.2), ("P.angle", 0.1)):
        s.drive(name, position=value)
    s.initial("chain", position={"0.angle": 0.3, "2.angle": 1.2})
    notes = da.start_state(s).notes

    def missed(a: float) -> float:
        rest = 0.5 + 0.2j - 0.3 * np.exp(1j * a)
        bend = np.arccos(np.clip(abs(rest) / 0.6, -1, 1))
        return min(
            (a - 0.3) ** 2 + (np.angle(np.exp(1j * (np.angle(rest) + sign * bend - a - 1.2)))) ** 2 for sign in (1, -1)
        )

    best = min(
        (minimize(lambda a: missed(a[0]), [a], method="Nelder-Mead", tol=1e-14) for a in (-0.5, 0.0, 0.3)),
        key=lambda m: m.fun,
    )
    used = float(notes[0].split("starts at ")[1].split()[0])
    assert len(notes) == 2 and "chain.0.angle was to start at 0.3 rad" in notes[0] and "chain.2.angle" in notes[1]
    assert used == pytest.approx(best.x[0], abs=2e-6)


@pytest.mark.parametrize("elbow", [0.7, -0.7])
def test_a_spatial_leg_starts_with_the_angles_that_are_asked_for(elbow: float) -> None:
    s = da.System("leg", gravity=(0, 0, 0))
    body = s.body("body", mass=1.0, inertia=(0.1, 0.1, 0.1))
    s.connect("F", da.Free(), s.ground, body)
    parts = [da.Universal("x", "y"), da.bar(0.5, "z"), da.Revolute("x"), da.bar(0.3, "z"), da.Universal("x", "y")]
    s.connect("leg", da.KinematicChain(parts), s.ground, body.at(0.1, 0, 0))
    s.initial("F", position=(1, 0, 0, 0, 0.5, 0.2, 0.3), guess=True)
    s.initial("leg", position={"0.angle_1": 0.2, "0.angle_2": 0.4, "2.angle": elbow})
    state = da.start_state(s)
    notes = state.notes
    turn = Rotation.from_euler("XY", [0.2, 0.4])
    foot = turn.apply([0, 0, 0.5]) + (turn * Rotation.from_euler("X", elbow)).apply([0, 0, 0.3])
    pose = s.compile().pose("body", state.q)
    assert not notes
    assert np.abs(pose.position + pose.rotation @ [0.1, 0, 0] - foot).max() < 1e-10


def test_a_ball_inside_a_chain_takes_its_quaternion_as_a_whole() -> None:
    s = da.System("rod", gravity=(0, 0, 0))
    body = s.body("body", mass=1.0, inertia=(0.1, 0.1, 0.1))
    s.connect("F", da.Free(), s.ground, body)
    s.connect("rod", da.KinematicChain([da.Spherical(), da.bar(0.5), da.Spherical()]), s.ground, body)
    with pytest.raises(da.ModelError, match="give a quaternion as a whole"):
        s.initial("rod.0.qw", position=1.0)
    q = np.array([0.9, 0.1, -0.3, 0.2]) / np.linalg.norm([0.9, 0.1, -0.3, 0.2])
    s.initial(
        "rod", position={f"0.{name}": 2.0 * value for name, value in zip(("qw", "qx", "qy", "qz"), q, strict=True)}
    )
    state = da.start_state(s)
    notes = state.notes
    end = Rotation.from_quat(q, scalar_first=True).apply([0.5, 0, 0])
    assert not notes and np.abs(s.compile().pose("body", state.q).position - end).max() < 1e-10


def test_inner_coordinates_go_by_name_in_states_and_assemblies_too() -> None:
    model = puck().compile()
    place = 0.5 * np.exp(0.3j) + 0.4 * np.exp(-0.2j)
    state = da.start_state(model, {"chain.0.angle": 0.3, "chain.2.angle.position": -0.5})
    notes = state.notes
    assert not notes and abs(complex(*state.q[:2]) - place) < 1e-11
    held = da.assemble(model, hold={"chain.0.angle": 0.3, "P.angle": 0.0})
    away = complex(*held.q[:2]) - 0.5 * np.exp(0.3j)
    assert abs(away) == pytest.approx(0.4, abs=1e-10)


def test_what_a_chain_cannot_be_given_is_refused() -> None:
    s = puck()
    with pytest.raises(da.ModelError, match=r"there are 0\.angle, 2\.angle, 4\.angle"):
        s.initial("chain.1.angle", speed=1.0)
    with pytest.raises(da.ModelError, match=r"there are 0\.angle, 2\.angle, 4\.angle"):
        s.initial("chain.0.angel", position=1.0)


def test_angles_that_no_position_of_a_loop_has_are_reported() -> None:
    """The coupler of a four-bar as a chain: one of its angles moves the mechanism, both are too many."""
    s = da.System("four-bar")
    crank, rocker = s.body("crank", da.rod(length=0.1, mass=0.5)), s.body("rocker", da.rod(length=0.3, mass=0.8))
    s.connect("A", da.Revolute("y"), s.ground, crank)
    s.connect("D", da.Revolute("y"), s.ground.at(0.35, 0, 0), rocker)
    coupler = da.KinematicChain([da.Revolute("y"), da.bar(0.4), da.Revolute("y")])
    s.connect("coupler", coupler, crank.at(0.1, 0, 0), rocker.at(0.3, 0, 0))
    s.initial("A", position=-0.5, guess=True)
    s.initial("D", position=-1.2, guess=True)
    s.initial("coupler.0.angle", position=0.4)
    state = da.start_state(s)
    notes = state.notes
    assert not notes and inner_of(s, state.q, "coupler")["0.angle"] == pytest.approx(0.4, abs=1e-9)
    s.initial("coupler.2.angle", position=2.0)
    notes = da.start_state(s).notes
    assert any("coupler.2.angle was to start at 2 rad" in note for note in notes)


def test_what_is_named_and_what_is_described_of_one_chain_fit_each_other() -> None:
    s = puck()
    s.initial("chain.0.angle", position=0.3)
    for elbow in (0.5, -0.5):
        state = da.start_state(s.compile(), {"chain.2.angle": elbow})
        notes = state.notes
        place = 0.5 * np.exp(0.3j) + 0.4 * np.exp(1j * (0.3 + elbow))
        assert not notes and abs(complex(*state.q[:2]) - place) < 1e-11


# ---- rates


def test_rates_of_an_arm_are_those_of_its_end() -> None:
    s = puck()
    s.initial("chain", position={"0.angle": 0.3, "2.angle": 0.9}, speed={"0.angle": 2.0, "2.angle": -0.7})
    state = da.start_state(s)
    notes = state.notes
    upper, lower = 0.5j * np.exp(0.3j), 0.4j * np.exp(1.2j)
    assert not notes
    assert complex(*state.v[:2]) == pytest.approx(2.0 * upper + 1.3 * lower, abs=1e-10)
    assert not da.simulate(s, 0.1).stats.notes
    named = da.start_state(
        puck(), {"chain.0.angle": 0.3, "chain.2.angle": 0.9, "chain.0.angle.speed": 2.0, "chain.2.angle.speed": -0.7}
    )
    notes = named.notes
    assert not notes and np.abs(named.v - state.v).max() < 1e-10


def test_rates_follow_the_motion_by_differences() -> None:
    """The rate that was asked for is the change of the coordinate along the motion."""
    s = puck()
    s.initial("chain", position={"0.angle": 0.3, "2.angle": 0.9}, speed={"0.angle": 2.0})
    model = s.compile()
    state = da.start_state(model)
    notes = state.notes
    h, loop_constraint = 1e-5, model.system.connections["chain"]
    angles = []
    for side in (1.0, -1.0):
        seen = relative(
            model, loop_constraint.first, loop_constraint.second, model.integrate(state.q, side * h * state.v)
        )
        angles.append(loop_constraint.element.inner(seen.rotation, seen.position)["0.angle"])
    assert not notes and (angles[0] - angles[1]) / (2 * h) == pytest.approx(2.0, abs=1e-7)


def test_a_redundant_arm_turns_within_itself_as_asked() -> None:
    """The end is given at rest: three pins can turn all the same, and what is asked of one of them is had."""
    s = puck((0.3, 0.3, 0.3))
    s.initial("P", position=(0.5, 0.2, 0.1), speed=(0.0, 0.0, 0.0))
    s.initial("chain.0.angle", position=0.7, speed=1.5)
    state = da.start_state(s)
    notes = state.notes
    assert not notes and np.abs(state.v).max() < 1e-12


def test_rates_that_a_loop_does_not_permit_are_changed_least_and_reported() -> None:
    s = puck()
    for name, value in (("P.x", 0.5), ("P.y", 0.2)):
        s.drive(name, position=value)
    s.initial("chain.0.angle", speed=1.5)
    state = da.start_state(s)
    notes = state.notes
    assert np.abs(state.v[:2]).max() < 1e-12
    assert any("chain.0.angle was to start at 1.5 rad/s and starts at" in note for note in notes)


def test_a_ball_joint_within_a_chain_has_no_speeds_to_give() -> None:
    s = da.System("bar")
    s.connect("F", da.Free(), s.ground, s.body("b", mass=1.0, inertia=(1, 1, 1)))
    s.connect("bar", da.KinematicChain([da.Spherical(), da.bar(1.0), da.Spherical()]), s.ground, s["b"])
    with pytest.raises(da.ModelError, match="velocities of a ball joint"):
        s.initial("bar.0.qx", speed=1.0)
