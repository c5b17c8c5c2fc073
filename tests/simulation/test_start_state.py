"""Start states: given values, placed bodies, notes on values that cannot be met."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from systems.random_loops import random_loop

import dalembert as da
from dalembert.connections.joints import Revolute, Spherical, Universal
from dalembert.library import chain, stewart, watt_six_bar, windows
from dalembert.library.mechanisms import bennett, four_bar, slider_crank
from dalembert.rotation import from_rotation_vector, rotation_vectors


def five_bar(a: float, b: float) -> da.System:
    s = da.System("five-bar")
    rods = [s.body(name, da.rod(1.5, 1.0)) for name in "abcd"]
    pin = da.Revolute("z")
    s.connect("A", pin, s.ground, rods[0])
    s.connect("C", pin, rods[0].at(1.5, 0, 0), rods[1])
    s.connect("B", pin, s.ground.at(2.5, 0, 0), rods[2])
    s.connect("E", pin, rods[2].at(1.5, 0, 0), rods[3])
    s.connect("D", pin, rods[1].at(1.5, 0, 0), rods[3].at(1.5, 0, 0))
    s.initial("A", position=a)
    s.initial("B", position=b)
    return s


# ---- joints


def test_a_five_bar_closes_from_everywhere_and_keeps_what_it_can() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        a, b = rng.uniform(-np.pi, np.pi, 2)
        found = da.assemble(five_bar(a, b))
        met = [found.q[found.model.q_slice(name)][0] for name in "AB"]
        tips = np.array([[1.5 * np.cos(a), 1.5 * np.sin(a)], [2.5 + 1.5 * np.cos(b), 1.5 * np.sin(b)]])
        within_reach = np.linalg.norm(tips[0] - tips[1]) <= 3.0
        assert found.residual < 1e-12
        assert (np.abs(np.array(met) - [a, b]).max() < 1e-12) == within_reach


@pytest.mark.parametrize("seed", range(6))
def test_spatial_loops_close_from_far_with_a_wish_kept(seed: int) -> None:
    rng = np.random.default_rng(seed)
    closed = random_loop(rng, [Revolute, Spherical, Universal, Universal])
    model = closed.system.compile()
    q, _ = closed.state(model)
    joint = next(name for name in model.joint_names if len(range(*model.q_slice(name).indices(model.nq))) == 1)
    far = model.integrate(q, rng.uniform(-0.8, 0.8, model.nv))
    value = float(q[model.q_slice(joint)][0])
    found = da.assemble(model, state=far, prefer={joint: value})
    assert found.residual < 1e-10
    assert found.q[model.q_slice(joint)][0] == value


def test_speeds_that_loops_permit_are_met() -> None:
    s = slider_crank()
    s.initial("A", speed=20.0)
    result = da.simulate(s, 0.01)
    assert result["A.speed"][0] == 20.0
    assert result.stats.notes == []


def test_speeds_that_loops_do_not_permit_are_changed_least_and_reported() -> None:
    s = slider_crank()
    s.initial("A", speed=3.0)
    s.initial("D", speed=3.0)
    result = da.simulate(s, 0.01)
    notes = "\n".join(result.stats.notes)
    assert "A was to start at 3 rad/s and starts at" in notes
    assert "D was to start at 3 m/s and starts at" in notes
    model, q, v = result.model, result.q[0], result.v[0]
    # no other speed of the one degree of freedom comes nearer, in the scales of the system
    unit = da.consistent_velocities(model, q, np.zeros(model.nv), hold={"A": 1.0})
    rates = np.array([1.0, float(model.cut_motion(q, unit, 0 * unit)[1][0]) / model.length])
    best = rates @ np.array([3.0, 3.0 / model.length]) / (rates @ rates)
    assert v[model.v_slice("A")][0] == pytest.approx(best, rel=1e-9)


def test_a_guess_changes_without_a_note() -> None:
    s = four_bar()
    s.initial("B", position=1.0, guess=True)
    assert da.simulate(s, 0.01).stats.notes == []
    s.initial("B", position=1.0)
    assert len(da.simulate(s, 0.01).stats.notes) == 2  # A and B together are too many


def test_a_drive_overrides_a_start_value_with_a_note() -> None:
    s = slider_crank()
    s.drive("A", position=da.Polynomial((0.3, 2.0)))
    s.initial("A", position=0.7, speed=5.0)
    notes = "\n".join(da.simulate(s, 0.01).stats.notes)
    assert "A was to start at 0.7 rad and starts at 0.3 rad" in notes
    assert "A was to start at 5 rad/s and starts at 2 rad/s" in notes


# ---- bodies


def test_a_free_body_starts_where_it_is_placed() -> None:
    s = da.System("thrown", gravity=(0, 0, 0))
    s.body("stone", da.box(0.1, 0.2, 0.3, mass=1.0))
    turn = da.bryant(0.3, 0.5, -0.2)
    s.place("stone", position=(1.0, 2.0, 3.0), rotation=turn)
    s.place("stone", velocity=(0.3, 0.0, 0.1), angular_velocity=(0.5, 1.0, -2.0))
    model = s.compile()
    result = da.simulate(model, 0.5)
    assert result["stone.position"][0] == pytest.approx([1.0, 2.0, 3.0], abs=1e-12)
    assert model.pose("stone", result.q[0]).rotation == pytest.approx(turn, abs=1e-12)
    rates = model.velocity("stone", result.q[0], result.v[0])
    assert rates == pytest.approx([0.5, 1.0, -2.0, 0.3, 0.0, 0.1], abs=1e-12)
    assert result.stats.notes == []


def test_the_end_of_an_arm_starts_where_it_is_placed() -> None:
    s = chain(7)
    tip = s.bodies["link_7"]
    model = s.compile()
    wanted = model.pose("link_7", model.random_state(3).q)
    s.place(tip, position=wanted.position, rotation=wanted.rotation, velocity=(0.1, 0.2, 0.3))
    result = da.simulate(s, 0.01)
    assert np.abs(result["link_7.position"][0] - wanted.position).max() < 1e-10
    assert result["link_7.velocity"][0] == pytest.approx([0.1, 0.2, 0.3], abs=1e-10)
    assert result.stats.notes == []


def test_a_place_that_joints_do_not_permit_is_reported() -> None:
    s = four_bar()
    s.initial("A", position=1.0, guess=True)
    s.place("coupler", position=(np.cos(2.0), np.sin(2.0), 0.0))  # the end of the crank
    assert da.simulate(s, 0.01)["A.position"][0] == pytest.approx(2.0, abs=1e-9)
    s.place("coupler", position=(1.2, 0.0, 0.5))
    notes = da.simulate(s, 0.01).stats.notes
    assert len(notes) == 1
    assert "'coupler' was to start with position (1.2, 0, 0.5) m and has (" in notes[0]


def rssr(cut: int) -> da.System:
    """Return a spatial four-bar whose joints are named from another one on: its loop is cut elsewhere."""
    s = da.System("rssr")
    crank, link, rocker = (s.body(n, da.box(x, 0.1, 0.1, mass=1.0)) for n, x in (("a", 1.0), ("b", 3.0), ("c", 2.0)))
    joints = [
        ("A", da.Revolute("z"), s.ground, crank),
        ("B", da.Spherical(), crank.at(1, 0, 0), link),
        ("C", da.Spherical(), link.at(3, 0, 0), rocker.at(2, 0, 0)),
        ("D", da.Revolute((0.3, 1.0, 0.2)), s.ground.at(2, 1, 0.5), rocker),
    ]
    for k in range(4):
        s.connect(*joints[(k + cut) % 4])
    return s


def beam_four_bar() -> da.System:
    """Return a four-bar with a flexible coupler."""
    s = da.System("beam four-bar")
    beam = da.beam(2.5, da.Section.circle(0.02), da.materials.steel, elements=4, modes=da.CraigBampton((0, 4), 2))
    crank, coupler, rocker = s.body("a", da.rod(1.0, 1.0)), s.body("b", beam), s.body("c", da.rod(2.0, 1.0))
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Revolute("z"), crank.at(1, 0, 0), coupler.at(0, 0, 0))
    s.connect("D", da.Revolute("z"), s.ground.at(2, 0, 0), rocker)
    s.connect("C", da.Revolute("z"), coupler.at(2.5, 0, 0), rocker.at(2, 0, 0))
    return s


PLACED = {
    "four-bar": four_bar,
    "Bennett": bennett,
    "Stewart": stewart,
    "six-bar": watt_six_bar,
    "windows": lambda: windows(2),
    "spatial four-bar": lambda: rssr(0),
    "spatial four-bar cut elsewhere": lambda: rssr(2),
    "beam": beam_four_bar,
}


def poses_off(s: da.System, seed: int, noise: float) -> tuple[da.Model, np.ndarray, float]:
    """Place the bodies of a system near a random closed configuration; return it and its distance from the poses."""
    s.initials.clear()
    model, rng = s.compile(), np.random.default_rng(seed)
    guess = model.random_state(rng).q
    for name in model.flexible_names:
        guess[model.q_slice(name)] = 0.0
    q = da.assemble(model, state=guess, starts=20).q
    away, (R, p) = 0.0, model.poses(q)
    for k, name in enumerate(model.body_names):
        turn, shift = noise * rng.normal(size=(2, 3))
        s.place(name, position=p[k] + model.length * shift, rotation=R[k] @ from_rotation_vector(turn))
        away += shift @ shift + turn @ turn
    return model, q, away


@pytest.mark.parametrize("noise", [1e-3, 0.02, 0.1])
@pytest.mark.parametrize("name", PLACED)
def test_bodies_placed_a_little_off_start_at_the_nearest_closed_configuration(name: str, noise: float) -> None:
    s = PLACED[name]()
    model, q, away = poses_off(s, 3, noise)
    state = da.start_state(s)
    notes = state.notes
    assert np.abs(model.constraint_residual(state.q)).max() < 1e-11
    # the configuration that the poses were taken from is closed: the nearest one is not farther from them
    (R, p), least = model.poses(state.q), 0.0
    for k, place in enumerate(s.placements.values()):
        turn = np.linalg.norm(rotation_vectors((place.rotation.T @ R[k])[None]))
        least += turn**2 + np.sum((place.position - p[k]) ** 2) / model.length**2
    assert least <= away * (1 + 1e-9)
    # nor is it on another branch: two errors of the size of `noise`, and what lever arms make of them
    assert np.abs(R - model.poses(q).rotation).max() < 10 * noise
    for flexible in model.flexible_names:  # an error of placement is no deflection
        assert (state.q[model.q_slice(flexible)] == 0.0).all()
    assert len(notes) == 1
    found = re.search(r"moved by at most (\S+) m \('.*'\) and turned by at most (\S+) rad", notes[0])
    assert found is not None
    shifts = [np.linalg.norm(place.position - p[k]) for k, place in enumerate(s.placements.values())]
    assert float(found[1]) == pytest.approx(max(shifts), rel=6e-3)  # three digits


def test_a_start_value_beside_placed_bodies_is_changed_with_its_reason() -> None:
    s = four_bar()
    _, q, _ = poses_off(s, 5, 0.02)
    s.initial("A", position=q[0])
    notes = da.start_state(s).notes
    assert f"A was to start at {q[0]:.6g} rad" in notes[0]
    assert "loops and drives and placed bodies permit no more" in notes[0]


def test_drives_are_met_exactly_beside_placed_bodies() -> None:
    s = four_bar()
    model, q, _ = poses_off(s, 5, 0.02)
    s.drive("A", position=da.Polynomial((q[0] + 0.05, 1.0)))
    state = da.start_state(s)
    assert state.q[0] == q[0] + 0.05
    assert np.abs(model.poses(state.q).rotation - model.poses(q).rotation).max() < 0.2


def test_bad_places_are_refused() -> None:
    s = four_bar()
    with pytest.raises(da.ModelError, match="'nobody'; it is not a body"):
        s.place("nobody", position=(0, 0, 0))
    with pytest.raises(da.ModelError, match="place 'crank': position"):
        s.place("crank", position=(0, 0))
    with pytest.raises(da.ModelError, match="place 'crank'"):
        s.place("crank", rotation=np.ones((3, 3)))
    s.place("crank", velocity=(1, 0, 0))
    assert "crank" in s.copy().placements
    s.remove("crank")
    assert "crank" not in s.placements


def free_beside(other: str) -> da.System:
    """Return a body with a free joint to ground and another connection, so that the free joint is cut without a row."""
    s = da.System("held twice")
    block = s.body("block", da.box(0.1, 0.2, 0.3, mass=1.0))
    s.connect("F", da.Free(), s.ground, block)
    if other == "ball":
        s.connect("S", da.Spherical(), s.ground.at(1, 0, 0), block.at(0.5, 0, 0))
    else:
        s.connect("S", da.Revolute("z"), s.ground.at(1, 0, 0), block.at(0.5, 0, 0))
    return s


@pytest.mark.parametrize("other", ["ball", "pin"])
@pytest.mark.parametrize("by_name", [False, True])
def test_a_free_joint_beside_another_connection_has_start_values(other: str, by_name: bool) -> None:
    a = 0.4
    position = np.array([np.cos(a / 2), 0, 0, np.sin(a / 2), 1 - 0.5 * np.cos(a), -0.5 * np.sin(a), 0])
    speed = np.array([0, 0, 2.0, 0, -1.0, 0])  # body axes: the pin is half a metre off
    s = free_beside(other)
    if not by_name:
        s.initial("F", position=position, speed=speed)
    result = da.simulate(s, 0.01, state={"F": position, "F.speed": speed} if by_name else None)
    assert result["F.position"][0] == pytest.approx(position, abs=1e-10)
    assert result["F.speed"][0] == pytest.approx(speed, abs=1e-9)
    assert result.stats.notes == []


def test_an_attitude_alone_of_a_free_joint_beside_another_connection_is_met() -> None:
    s = free_beside("ball")
    turn = da.bryant(0.1, 0.2, 0.3)
    for state in ({"F.bryant": (0.1, 0.2, 0.3)}, None):
        if state is None:
            s.initial("F", bryant=(0.1, 0.2, 0.3))
        start = da.start_state(s, state)
        notes = start.notes
        assert s.compile().pose("block", start.q).rotation == pytest.approx(turn, abs=1e-10) and notes == []


def test_an_attitude_given_later_keeps_the_displacement_given_before() -> None:
    s = da.System("free", gravity=(0, 0, 0))
    s.connect("F", da.Free(), s.ground, s.body("block", da.box(0.1, 0.2, 0.3, mass=1.0)))
    s.initial("F", position=(1, 0, 0, 0, 0.5, 0.2, 0.3))
    s.initial("F", bryant=(0.1, 0.2, 0.3))
    assert da.start_state(s).q[4:] == pytest.approx([0.5, 0.2, 0.3])


def test_a_free_joint_that_another_connection_holds_elsewhere_is_reported() -> None:
    s = free_beside("pin")
    s.initial("F", position=(1, 0, 0, 0, 0.5, 0.2, 0.3), speed=(1.0, 0, 0, 0, 0, 0))
    notes = " ".join(da.start_state(s).notes)
    assert "F.z was to start at 0.3 m and starts at 0 m" in notes
    assert "F.wx was to start at 1 rad/s and starts at 0 rad/s" in notes


# ---- what cannot be


def test_a_drive_whose_position_jumps_is_refused() -> None:
    s = da.System("jump")
    s.connect("A", da.Revolute("y"), s.ground, s.body("a", da.rod(1.0, 1.0)))
    s.drive("A", position=da.FunctionLaw(lambda t: 0.2 * t if t < 0.5 else 1.0))
    with pytest.raises(da.ModelError, match=r"drive 'A': position at t = 0\.5 s is '0\.1 then 1'; it jumps"):
        da.simulate(s, 1.0)
    s.drive("A", position=da.FunctionLaw(lambda t: np.tanh(50 * (t - 0.5))))  # steep, but no jump
    assert da.simulate(s, 1.0).status == "finished"


def test_a_run_that_ends_with_a_loop_open_is_not_finished() -> None:
    s = four_bar()
    s.bodies["rocker"].mass = 1e-15
    s.bodies["rocker"].inertia *= 1e-15
    try:
        result = da.simulate(s, 2.0)
    except da.IntegrationError as error:
        assert "too light relative to the others" in str(error)
        assert error.result.status == "failed"
    else:
        assert np.abs(result.model.constraint_residual(result.final_state.q)).max() < 1e-6


def test_one_number_from_a_control_of_several_joints_is_refused() -> None:
    with pytest.raises(da.UserFunctionError, match=r"returned 5\.0 .* give \(3,\) finite numbers"):
        da.simulate(chain(3), 0.1, control=lambda state: 5.0)
    assert da.simulate(chain(1), 0.1, control=lambda state: 5.0).status == "finished"


def test_a_lock_takes_no_values() -> None:
    model = slider_crank().compile()
    q = da.assemble(model).q
    v = da.consistent_velocities(model, q, np.zeros(model.nv), hold={"A": 2.0})
    with pytest.raises(da.ModelError, match="a lock sets velocities to zero"):
        da.impulse(model, q, v, lock={"A": 5.0})
    assert np.abs(da.impulse(model, q, v, {"slider": [1.0, 0, 0]}, lock="D").v).max() < 1e-12


# ---- within limits


def calf(**start: object) -> da.System:
    s = da.System("calf", gravity=(0, 0, 0))
    thigh, calf = s.body("thigh", da.rod(0.2, 1.0)), s.body("calf", da.rod(0.2, 0.5))
    s.connect("hip", da.Revolute("y", lower=-1.0, upper=1.0), s.ground, thigh)
    s.connect("knee", da.Revolute("y", lower=-2.7, upper=-0.9), thigh.at(0.2, 0, 0), calf)
    if start:
        s.initial("knee", **start)
    return s


def test_a_default_start_is_moved_within_limits_with_a_note() -> None:
    s = calf()
    result = da.simulate(s, 0.1)
    assert result["knee.position"][0] == -0.9 and result["hip.position"][0] == 0.0
    said = "knee starts at its limit, -0.9 rad: no start was given, and 0 is outside its limits"
    assert result.stats.notes == [said]
    assert da.Live(s).state.q[1] == -0.9
    many = da.simulate(s, 0.1, times=[0.0, 0.1], state={"hip": np.array([0.1, 0.2])})
    assert (many.q[:, 0, 1] == -0.9).all() and any(said in note for note in many.stats.notes)
    assert da.simulate(calf(position=0.0, guess=True), 0.1)["knee.position"][0] == -0.9
    assert da.simulate(s, 0.1, stops="off")["knee.position"][0] == 0.0  # limits that do not act move nothing


def test_a_start_that_was_given_outside_limits_is_refused() -> None:
    with pytest.raises(da.ModelError, match=r"'knee': start is '0 rad'; it is outside its limits, -2\.7 to"):
        da.simulate(calf(position=0.0), 0.1)


def test_of_a_joint_with_several_coordinates_only_those_not_given_move() -> None:
    s = da.System("plate", gravity=(0, 0, 0))
    joint = da.Planar("z", lower=(0.2, -1.0, 0.3), upper=(2.0, 1.0, 0.5))
    s.connect("ice", joint, s.ground, s.body("plate", da.box(0.1, 0.1, 0.1, mass=1.0)))
    s.initial("ice.x", position=1.5)
    result = da.simulate(s, 0.1)
    assert result.q[0] == pytest.approx([1.5, 0.0, 0.3], abs=1e-15)
    assert [note.split(" starts")[0] for note in result.stats.notes] == ["ice.angle"]


def limit_pin(s: da.System, name: str, lower: float, upper: float) -> None:
    s.connections[name] = replace(s.connections[name], element=da.Revolute("z", lower=lower, upper=upper))


def within_limits(s: da.System, state: da.State) -> bool:
    """Return whether every joint is within its limits, cut ones too."""
    model = s.compile()
    cut = model.cut_motion(state.q, state.v, np.zeros(model.nv))[0] if model.nc else np.zeros(0)
    for name, connection in s.connections.items():
        joint = connection.element
        tree = name in model.joint_names
        if isinstance(joint, da.Revolute) and joint.lower is not None:
            at = state.q[model.q_slice(name)] if tree else cut[model.compiled.names.cut_q[name]]
            if not (joint.lower - 1e-11 <= at).all() or not (at <= joint.upper + 1e-11).all():
                return False
    return True


@pytest.mark.parametrize("limited", ["A", "D", "AD", "BC", "ABCD"])
def test_loops_close_within_limits_of_tree_and_cut_joints(limited: str) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        s = four_bar()
        s.initials.clear()
        model = s.compile()
        q = da.assemble(model, state=rng.uniform(-3, 3, 3), starts=20).q
        at = dict(zip("ABCD", [*q, *model.cut_motion(q, np.zeros(3), np.zeros(3))[0]], strict=True))
        for name in limited:
            below, width = rng.uniform(0, 1), rng.choice([0.1, 1.0])
            value = (at[name] + np.pi) % (2 * np.pi) - np.pi
            limit_pin(s, name, value - below * width - 0.01, value + (1 - below) * width + 0.01)
        state = da.start_state(s)
        assert np.abs(s.compile().constraint_residual(state.q)).max() < 1e-11
        assert within_limits(s, state)
        assert within_limits(s, da.assemble(s).state())


def test_several_couplings_start_within_the_limits_of_their_joints() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        values = rng.uniform(-1.0, 1.0, 5)
        s = da.System("coupled", gravity=(0, 0, 0))
        for k, value in enumerate(values):
            below, width = rng.uniform(0, 1), rng.choice([0.1, 1.0])
            pin = da.Revolute("z", lower=value - below * width, upper=value + (1 - below) * width)
            s.connect(f"j{k}", pin, s.ground, s.body(f"b{k}", da.rod(1.0, 1.0)))
        for k, ratio in enumerate(rng.choice([-2.0, -1.0, 0.5, 3.0], 4)):
            s.connect(f"c{k}", da.Coupling(ratio, values[k + 1] - ratio * values[k]), f"j{k}", f"j{k + 1}")
        assert within_limits(s, da.start_state(s))


def test_placed_bodies_keep_limits() -> None:
    s = four_bar()
    model, q, _ = poses_off(s, 5, 0.02)
    least = da.start_state(s)
    limit_pin(s, "A", least.q[0] + 0.01, least.q[0] + 1.0)
    state = da.start_state(s)
    assert state.q[0] == pytest.approx(least.q[0] + 0.01, abs=1e-9)  # the nearest within the limits is at one
    assert np.abs(model.poses(state.q).rotation - model.poses(q).rotation).max() < 0.2


def test_free_bodies_start_where_they_are_placed_without_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Placed by position, orientation or both; the part that is not given stays at its default."""
    from dalembert.closure.loop_solver import LoopSolver

    s, rng = da.System("many"), np.random.default_rng(0)
    expected = {}
    for k in range(30):
        body = s.body(f"b{k}", da.box(0.1, 0.2, 0.3, mass=1.0))
        p, R = rng.normal(size=3), da.rotation.axis_angle(rng.normal(size=3), 1.0)
        given = {"position": p} if k % 3 == 0 else {"rotation": R} if k % 3 == 1 else {"position": p, "rotation": R}
        s.place(body, **given, velocity=rng.normal(size=3))
        expected[body.name] = given.get("position", np.zeros(3)), given.get("rotation", np.eye(3))
    calls = []
    evaluate = LoopSolver.jacobian
    monkeypatch.setattr(LoopSolver, "jacobian", lambda self, q: calls.append(0) or evaluate(self, q))
    model = s.compile()
    state = da.start_state(model)
    assert len(calls) <= 1
    for name, (p, R) in expected.items():
        pose = model.pose(s.bodies[name].origin, state.q)
        assert pose.position == pytest.approx(p, abs=1e-14)
        assert pose.rotation == pytest.approx(R, abs=1e-14)
        moving = model.velocity(s.bodies[name].origin, state.q, state.v)[3:]
        assert moving == pytest.approx(s.placements[name].velocity, abs=1e-13)
