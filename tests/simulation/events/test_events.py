"""Events: when they happen, what they do, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from systems.blocks import sliding_block

import dalembert as da
from dalembert.library.mechanisms import four_bar, parallelogram

TIGHT = {"rtol": 1e-11, "atol": 1e-12}
FALL = math.sqrt(2 / 9.81)  # s, from 1 m


def ball(height: float = 1.0, speed: float = 0.0) -> da.System:
    """Return a ball that moves up and down, joint P."""
    s = da.System("ball")
    s.connect("P", da.Prismatic("z"), s.ground, s.body("ball", da.sphere(0.1, mass=2.0)))
    s.initial("P", position=height, speed=speed)
    return s


def oscillator(stiffness: float = 4.0, *, damping: float = 0.0) -> da.System:
    """Return a mass of 1 kg on a spring, joint P, released at 1 m."""
    s = da.System("oscillator", gravity=(0, 0, 0))
    s.connect("P", da.Prismatic("x"), s.ground, s.body("body", mass=1.0, inertia=(1, 1, 1)))
    s.connect("k", da.JointSpring(stiffness, damping), "P")
    s.initial("P", position=1.0)
    return s


def bounce(restitution: float = 1.0, name: str = "floor") -> da.Event:
    return da.Event(name, "P.position", direction=-1, action=lambda now: now.bounce("ball", (0, 0, 1), restitution))


def times(result: da.Result, name: str | None = None) -> np.ndarray:
    return np.array([event.t for event in result.events if name is None or event.name == name])


# ---- when


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau", "rk4"])
def test_a_ball_bounces_when_the_parabola_says(method: str) -> None:
    options = {"fixed_step": 0.01} if method == "rk4" else {}
    result = da.simulate(ball(), 4.0, method=method, events=bounce(), **options)
    assert np.abs(times(result) - FALL * np.array([1, 3, 5, 7])).max() < 1e-12
    assert result["energy.total"] == pytest.approx(2 * 9.81, rel=1e-11)
    assert (result["P.position"] > -1e-12).all()


def test_every_bounce_loses_its_part() -> None:
    e = 0.7
    result = da.simulate(ball(), 2.4, events=bounce(e))
    gaps = FALL * np.cumsum([1, *(2 * e ** np.arange(1, 20))])
    expected = gaps[gaps < 2.4]
    assert len(expected) > 5
    assert np.abs(times(result) - expected).max() < 1e-11
    for k, event in enumerate(result.events):
        before = 2 * 9.81 * e ** (2 * k)
        assert event.energy == pytest.approx(-(1 - e * e) * before, rel=1e-10)
    assert np.abs(result["energy.balance"]).max() < 1e-10


def test_direction_filters_passings() -> None:
    crossings = np.pi / 4 + np.pi / 2 * np.arange(6)
    for direction, part in ((0, slice(None)), (-1, slice(0, None, 2)), (1, slice(1, None, 2))):
        event = da.Event("middle", "P.position", direction=direction)
        result = da.simulate(oscillator(), 8.7, events=[event], **TIGHT)
        assert np.abs(times(result) - crossings[part]).max() < 1e-9


def test_a_value_other_than_zero() -> None:
    result = da.simulate(oscillator(), 1.5, events=da.Event("half", "P.position", 0.5), **TIGHT)
    assert times(result) == pytest.approx([math.pi / 6], abs=1e-10)


def test_a_terminal_event_ends_the_run() -> None:
    result = da.simulate(ball(), 3.0, events=da.Event("floor", "P.position", terminal=True))
    assert result.status == "event"
    assert result.t[-1] == pytest.approx(FALL, abs=1e-13)
    assert result.final_state.q[0] == pytest.approx(0.0, abs=1e-13)
    assert result.events[0].v[0] == pytest.approx(-9.81 * FALL, abs=1e-12)


def test_an_action_may_end_the_run() -> None:
    result = da.simulate(ball(), 3.0, events=da.Event("low", "P.position", 0.5, action=lambda now: now.stop()))
    assert result.status == "event"
    assert result.final_state.q[0] == pytest.approx(0.5, abs=1e-13)


def test_events_that_are_only_noted_change_no_bit() -> None:
    plain = da.simulate(oscillator(), 5.0)
    noted = da.simulate(oscillator(), 5.0, events=[da.Event("middle", "P.position"), da.Event("rest", "P.speed")])
    assert np.array_equal(plain.t, noted.t)
    assert np.array_equal(plain.q, noted.q)
    assert np.array_equal(plain.v, noted.v)
    assert len(times(noted, "middle")) == 3
    assert len(times(noted, "rest")) == 3  # not at its start, where it begins


def test_functions_of_the_state_may_be_watched() -> None:
    event = da.Event("angle", lambda state: math.atan2(state.v[0], 2 * state.q[0]) + 1.0)
    result = da.simulate(oscillator(), 1.0, events=[event], **TIGHT)
    assert times(result) == pytest.approx([0.5], abs=1e-10)


def test_an_output_that_begins_at_its_value_does_not_pass_it() -> None:
    result = da.simulate(ball(0.0, 3.0), 1.0, events=da.Event("floor", "P.position"))
    assert times(result) == pytest.approx([2 * 3.0 / 9.81], abs=1e-12)
    falling = da.simulate(ball(0.0), 0.5, events=da.Event("floor", "P.position", terminal=True))
    assert falling.status == "finished"
    assert not falling.events


def test_it_may_come_back_at_once() -> None:
    """A flight that is short as against the steps is not overlooked: the first step after a bounce may be long."""
    result = da.simulate(ball(0.0, 1e-3), 1.0, events=da.Event("floor", "P.position", terminal=True))
    assert result.t[-1] == pytest.approx(2e-3 / 9.81, rel=1e-9)


def test_a_short_visit_within_a_step_is_seen() -> None:
    # the parabola of a throw leaves 1 m by 1e-6 m, within one long step
    speed = math.sqrt(2 * 9.81 * (1 + 1e-6))
    result = da.simulate(ball(0.0, speed), 0.9, events=da.Event("top", "P.position", 1.0))
    half = math.sqrt(2e-6 / 9.81)
    assert times(result) == pytest.approx(speed / 9.81 + np.array([-half, half]), abs=1e-9)


def test_a_near_miss_is_none() -> None:
    speed = math.sqrt(2 * 9.81 * (1 - 1e-6))
    assert not da.simulate(ball(0.0, speed), 0.9, events=da.Event("top", "P.position", 1.0)).events


def test_grazing_ends_without_harm() -> None:
    speed = math.sqrt(2 * 9.81)
    result = da.simulate(ball(0.0, speed), 0.9, events=da.Event("top", "P.position", 1.0))
    assert result.status == "finished"
    assert len(result.events) in (0, 1, 2)
    assert all(abs(t - speed / 9.81) < 1e-6 for t in times(result))


def test_two_events_in_one_step_come_in_order() -> None:
    events = [da.Event("low", "P.position", 0.2), da.Event("high", "P.position", 0.9)]
    result = da.simulate(ball(), 0.44, events=events)
    assert [event.name for event in result.events] == ["high", "low"]
    assert times(result) == pytest.approx([math.sqrt(0.2 / 9.81), math.sqrt(1.6 / 9.81)], abs=1e-12)
    done: list[str] = []
    events = [
        da.Event("low", "P.position", 0.2, action=lambda now: done.append("low")),
        da.Event("high", "P.position", 0.9, action=lambda now: done.append("high")),
    ]
    acted = da.simulate(ball(), 0.44, events=events)
    assert done == ["high", "low"]
    assert times(acted) == pytest.approx(times(result), abs=1e-12)


def two_balls() -> da.System:
    s = da.System("two balls")
    for name in "ab":
        s.connect(f"P{name}", da.Prismatic("z"), s.ground, s.body(name, da.sphere(0.1, mass=1.0)))
        s.initial(f"P{name}", position=1.0)
    return s


def test_events_at_the_same_moment_all_happen() -> None:
    def event(name: str, restitution: float) -> da.Event:
        def act(now: da.EventContext) -> None:
            now.bounce(name, (0, 0, 1), restitution)

        return da.Event(name, f"P{name}.position", direction=-1, action=act)

    result = da.simulate(two_balls(), 1.2, events=[event("a", 1.0), event("b", 0.5)])
    assert np.abs(times(result, "a") - [FALL]).max() < 1e-12
    assert np.abs(times(result, "b") - FALL * np.array([1, 2, 2.5])).max() < 1e-11
    noted = da.Event("note", "Pb.position")
    both = da.simulate(two_balls(), 0.6, events=[event("a", 1.0), noted])
    assert [e.name for e in both.events] == ["note", "a"] or [e.name for e in both.events] == ["a", "note"]


def test_times_may_be_chosen_and_lie_around_jumps() -> None:
    wanted = np.linspace(0.0, 1.25, 81)
    result = da.simulate(ball(), 1.25, times=wanted, events=bounce(0.5))
    assert np.array_equal(result.t, wanted)
    moments, landing = FALL * np.array([0, 1, 2, 2.5, 2.75]), 9.81 * FALL
    for t, z in zip(wanted, result["P.position"], strict=True):
        k = int(np.searchsorted(moments, t, side="right")) - 1
        since, up = t - moments[k], landing * 0.5**k if k else 0.0
        start = 1.0 if k == 0 else 0.0
        assert z == pytest.approx(start + up * since - 9.81 / 2 * since**2, abs=1e-11)


def test_forces_may_be_watched() -> None:
    s = da.System("pendulum")
    bob = s.body("bob", mass=1.0, com=(0, 0, -1), inertia=(0, 0, 0))
    s.connect("A", da.Revolute("y"), s.ground, bob)
    s.initial("A", position=math.pi / 2)
    result = da.simulate(s, 2.0, events=da.Event("taut", "A.force.norm", 2 * 9.81, direction=1), **TIGHT)
    # tension 3 g cos(angle)
    assert math.cos(result.events[0].q[0]) == pytest.approx(2 / 3, abs=1e-10)


def test_loop_forces_may_be_watched() -> None:
    s = four_bar()
    s.initial("A", speed=4.0)
    free = da.simulate(s, 1.0, **TIGHT)
    force = free["D.force.norm"]
    level = float(np.median(force))
    result = da.simulate(s, 1.0, events=da.Event("heavy", "D.force.norm", level), **TIGHT)
    assert result.events
    at = result.at(times(result))["D.force.norm"]
    assert np.abs(at / level - 1).max() < 1e-8


def test_angles_of_bodies_are_passed_once_in_a_turn() -> None:
    s = da.System("rotor", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("z"), s.ground, s.body("body", mass=1.0, inertia=(1, 1, 1)))
    s.initial("A", speed=2 * math.pi)
    result = da.simulate(s, 3.2, events=da.Event("mark", "body.angle", 0.5), max_step=0.2)
    assert np.abs(times(result) - (0.5 / (2 * math.pi) + np.arange(4))).max() < 1e-11


def test_angles_of_cut_joints_are_passed_once_in_a_turn() -> None:
    s = parallelogram(angle=0.3)
    s.gravity = np.zeros(3)
    s.initial("A", speed=10.0)
    cut = s.compile().forest.loop_constraints[0].name
    result = da.simulate(s, 3.0, events=da.Event("mark", f"{cut}.position", 0.8), **TIGHT)
    place = result.at(times(result))[f"{cut}.position"]
    assert np.abs(np.sin((place - 0.8) / 2)).max() < 1e-9
    assert np.abs(np.diff(place)) == pytest.approx(2 * math.pi, abs=1e-8)
    turns = abs(np.ptp(result["A.position"])) / (2 * math.pi)
    assert abs(len(place) - turns) < 1
    assert turns > 3


# ---- what


def test_stiffness_that_changes_on_the_way() -> None:
    """At the middle, with speed 2, the spring becomes four times as stiff: half the amplitude, twice the frequency."""
    event = da.Event("middle", "P.position", direction=-1, action=lambda now: now.set("k.stiffness", 16.0))
    result = da.simulate(oscillator(), 2.0, events=event, **TIGHT)
    t = result.t
    first = np.pi / 4
    exact = np.where(t < first, np.cos(2 * t), -0.5 * np.sin(4 * (t - first)))
    assert np.abs(result["P.position"] - exact).max() < 1e-10
    assert np.abs(result["k.effort"] + np.where(t > first, 16.0, 4.0) * exact).max() < 1e-9
    assert "k.stiffness = 16" in result.events[0].message


def dropped(**slide: object) -> da.System:
    """A weight of 2 kg, 1 m above where it strikes with 19.62 J."""
    s = da.System("dropped")
    s.connect("Z", da.Prismatic("z", **slide), s.ground, s.body("weight", da.sphere(0.1, mass=2.0)))
    return s


@pytest.mark.parametrize("restitution", [0.0, 0.4, 1.0])
def test_energy_lost_at_a_stop_is_dissipated(restitution: float) -> None:
    result = da.simulate(dropped(lower=-1.0, restitution=restitution), 0.6, **TIGHT)
    assert result["energy.dissipated"][-1] == pytest.approx(19.62 * (1 - restitution**2), abs=1e-9)
    assert np.abs(result["energy.work"]).max() < 1e-12
    assert np.abs(result["energy.balance"]).max() < 1e-9
    assert (np.diff(result["energy.dissipated"]) >= -1e-12).all()


@pytest.mark.parametrize(
    ("act", "lost", "work"),
    [
        (lambda now: now.bounce("weight", (0, 0, 1), 0.3), 19.62 * (1 - 0.09), 0.0),
        (lambda now: now.lock("Z"), 19.62, 0.0),
        (lambda now: now.impulse("weight", (0, 0, 4.0)), 0.0, -4.0 * np.sqrt(19.62) + 4.0),
        (lambda now: setattr(now, "v", 2 * now.v), 0.0, 3 * 19.62),
    ],
    ids=["bounce", "lock", "impulse", "speeds of its own"],
)
def test_impacts_dissipate_and_actions_do_work(act: object, lost: float, work: float) -> None:
    result = da.simulate(dropped(), 0.6, events=da.Event("hit", "Z", -1.0, -1, action=act), **TIGHT)
    assert result["energy.dissipated"][-1] == pytest.approx(lost, abs=1e-8)
    assert result["energy.work"][-1] == pytest.approx(work, abs=1e-8)
    assert np.abs(result["energy.balance"]).max() < 1e-8


def test_an_impact_computed_by_an_action_reports_its_energy_loss() -> None:
    def strike(now: da.EventContext) -> None:
        hit = da.impulse(now.model, now.q, now.v, lock="Z", t=now.t)
        now.v = hit.v
        now.dissipated += hit.energy_loss

    result = da.simulate(dropped(), 0.6, events=da.Event("hit", "Z", -1.0, -1, action=strike, terminal=True), **TIGHT)
    assert result["energy.dissipated"][-1] == pytest.approx(19.62, abs=1e-8)
    assert np.abs(result["energy.work"]).max() < 1e-8


def test_a_drive_works_in_an_impact_and_the_rest_is_lost() -> None:
    """A striker driven at 3 m/s, restitution 0.5: momentum 2 (4.5 - 0) N s, work 27 J, kinetic energy 20.25 J."""
    s = da.System("striker", gravity=(0, 0, 0))
    striker, block = s.body("striker", da.sphere(0.1, mass=1.0)), s.body("block", da.sphere(0.1, mass=2.0))
    s.connect("A", da.Prismatic("x"), s.ground, striker)
    s.connect("B", da.Prismatic("x", lower=0.1, restitution=0.5), striker, block)
    s.drive("A", speed=3.0)
    s.initial("B", position=0.5, speed=-3.0)
    result = da.simulate(s, 1.0)
    assert result["energy.work"][-1] == pytest.approx(27.0)
    assert result["energy.dissipated"][-1] == pytest.approx(6.75)
    assert np.abs(result["energy.balance"]).max() < 1e-9


def test_losses_of_impacts_stay_known_in_files_ensembles_and_runs_that_go_on(tmp_path: Path) -> None:
    s = dropped(lower=-1.0, restitution=0.4)
    whole = da.simulate(s, 0.9)["energy.dissipated"][-1]
    runs = da.simulate(s, 0.9, state=da.State(q=[[0.0], [0.1]], v=[[0.0], [0.0]]), times=[0.0, 0.9])
    assert runs[0]["energy.dissipated"][-1] == pytest.approx(whole, rel=1e-9)
    da.simulate(s, 0.9).save(tmp_path / "run.nc")
    assert da.Result.load(tmp_path / "run.nc", model=s)["energy.dissipated"][-1] == pytest.approx(whole, rel=1e-9)


def test_energy_of_a_changed_spring_is_counted() -> None:
    event = da.Event("off", "P.position", 0.5, direction=-1, action=lambda now: now.set("k.stiffness", 12.0))
    result = da.simulate(oscillator(damping=0.2), 2.0, events=event, **TIGHT)
    assert result.events[0].energy == pytest.approx(0.5 * (12.0 - 4.0) * 0.25, abs=1e-9)
    assert np.abs(result["energy.balance"]).max() < 1e-9
    assert np.abs(result["energy.work"][-1] - 1.0) < 1e-9
    row = int(np.searchsorted(result.t, result.events[0].t))
    assert result.t[row] == result.t[row + 1]
    assert result["energy.total"][row + 1] - result["energy.total"][row] == pytest.approx(1.0, abs=1e-9)
    assert result["k.effort"][row + 1] - result["k.effort"][row] == pytest.approx(-8.0 * 0.5, abs=1e-9)


def double_pendulum() -> da.System:
    s = da.System("double pendulum")
    one = s.body("one", da.rod(length=1.0, mass=1.0, axis="x", radius=0.02))
    two = s.body("two", da.rod(length=0.8, mass=1.5, axis="x", radius=0.02))
    s.connect("A", da.Revolute("y"), s.ground, one)
    s.connect("B", da.Revolute("y"), one.at(1, 0, 0), two)
    return s


def test_locking_a_joint_is_an_impulse_and_then_a_lock() -> None:
    event = da.Event("lock", "A.position", 0.7, action=lambda now: now.lock("B"))
    result = da.simulate(double_pendulum(), 2.0, events=event, **TIGHT)
    model = result.model
    assert model is not None
    record = result.events[0]
    hit = da.impulse(model, record.q, record.v, lock="B")
    row = int(np.searchsorted(result.t, record.t)) + 1
    assert np.abs(result.v[row] - hit.v).max() < 1e-12
    assert record.energy == pytest.approx(-hit.energy_loss, abs=1e-11)
    later = result.t > record.t
    assert np.abs(result["B.position"][later] - record.q[1]).max() < 1e-13
    assert np.abs(result["B.speed"][later]).max() < 1e-13
    assert np.abs(result["energy.balance"]).max() < 1e-9
    # from there it moves as one body
    rigid = da.simulate(
        model, 2.0, t_start=record.t, state=da.State(record.q, hit.v), control=None, rtol=1e-11, atol=1e-12
    )
    assert np.abs(rigid["B.speed"]).max() > 0.1  # without the lock it would not
    total = result["energy.total"][later]
    assert np.abs(total - total[0]).max() < 1e-9


def test_a_released_joint_moves_again() -> None:
    events = [
        da.Event("lock", "A.position", 0.5, direction=1, action=lambda now: now.lock("B")),
        da.Event("release", "A.position", 1.2, direction=1, action=lambda now: now.release("B")),
    ]
    result = da.simulate(double_pendulum(), 1.5, events=events, **TIGHT)
    lock, release = (int(np.searchsorted(result.t, event.t)) for event in result.events)
    assert [event.name for event in result.events] == ["lock", "release"]
    assert np.abs(result["B.speed"][lock + 1 : release + 1]).max() < 1e-13
    assert np.abs(result["B.speed"][release + 4 :]).max() > 0.1
    assert result.events[1].energy == pytest.approx(0.0, abs=1e-12)
    assert np.abs(result["energy.balance"]).max() < 1e-9


def test_locking_a_ball_joint() -> None:
    s = da.System("ball joint")
    body = s.body("body", mass=1.0, com=(0.4, 0, 0), inertia=(0.1, 0.2, 0.3))
    s.connect("O", da.Spherical(), s.ground, body)
    result = da.simulate(
        s, 1.0, events=da.Event("low", "center_of_mass.z", -0.2, action=lambda now: now.lock("O")), **TIGHT
    )
    assert np.abs(result.final_state.v).max() == 0.0
    assert result["center_of_mass.z"][-1] == pytest.approx(-0.2, abs=1e-10)


def crank_and_latch() -> tuple[da.System, str]:
    """Return a four-bar that moves, and the name of what closes its loop."""
    s = four_bar()
    s.initial("A", speed=3.0)
    return s, s.compile().forest.loop_constraints[0].name


def test_a_loop_may_open_and_move_as_a_tree() -> None:
    s, cut = crank_and_latch()
    event = da.Event("open", lambda state: state.t - 0.2, action=lambda now: now.switch(cut, False))
    result = da.simulate(s, 0.6, events=event, **TIGHT)
    assert result["constraints.residual"][result.t <= 0.2].max() < 1e-13
    assert result["constraints.residual"].max() < 1e-13  # of what holds
    model = result.model
    assert model is not None
    loop_constraint = model.forest.loop_constraints[0]
    ends = [
        result.output(lambda state, end=end: model.pose(end, state.q).position)
        for end in (loop_constraint.first, loop_constraint.second)
    ]
    assert np.linalg.norm(ends[0] - ends[1], axis=1)[-1] > 0.01
    assert result.events[0].energy == pytest.approx(0.0, abs=1e-12)
    assert np.abs(result["energy.balance"]).max() < 1e-9
    later = result.t > 0.2
    assert np.abs(result[f"{cut}.force"][later]).max() < 1e-12  # what is open passes nothing
    # the tree alone, from the same state
    tree = s.copy()
    tree.remove(cut)
    model = tree.compile()
    moment = result.at(0.2)
    names = result.model.coordinate_names  # type: ignore[union-attr]
    order = [names.index(name) for name in model.coordinate_names]
    free = da.simulate(model, 0.6, t_start=0.2, state=da.State(moment.q[order], moment.v[order]), **TIGHT)
    assert np.abs(free.final_state.q - result.final_state.q[order]).max() < 1e-9


def test_a_loop_that_closes_is_an_impact() -> None:
    """A rod swings into a latch: a distance that holds from then on; the energy lost is that of an impulse."""
    s = da.System("latch")
    rod = s.body("rod", da.rod(length=1.0, mass=1.0, radius=0.02))
    arm = s.body("arm", da.rod(length=1.0, mass=2.0, radius=0.02))
    s.connect("A", da.Revolute("y"), s.ground, rod)
    s.connect("B", da.Revolute("y"), s.ground.at(1.5, 0, 0), arm)
    s.connect("link", da.Distance(1.2), rod.at(1, 0, 0), arm.at(0.5, 0, 0))
    s.initial("A", position=0.2)
    s.initial("B", position=1.0)
    model = s.compile()

    def gap(state: da.State) -> float:
        r = model.pose(arm.at(0.5, 0, 0), state.q).position - model.pose(rod.at(1, 0, 0), state.q).position
        return float(np.linalg.norm(r)) - 1.2 if state.t > 0.06 else -1.0

    def let_go(now: da.EventContext) -> None:
        now.switch("link", False)
        now.impulse("arm", (-0.6, 0, 0))  # towards the rod

    events = [
        da.Event("let go", lambda state: state.t - 0.05, action=let_go),
        da.Event("catch", gap, direction=1, action=lambda now: now.switch("link", True)),
    ]
    result = da.simulate(model, 1.5, events=events, **TIGHT)
    caught = [event for event in result.events if event.name == "catch"]
    assert caught, "the bodies never came apart"
    record = caught[0]
    row = int(np.searchsorted(result.t, record.t)) + 1
    hit = da.impulse(model, record.q, record.v)  # the model has the link: it closes
    assert np.abs(result.v[row] - hit.v).max() < 1e-10
    assert record.energy == pytest.approx(-hit.energy_loss, abs=1e-10)
    assert record.energy < -1e-6
    assert result["constraints.residual"][result.t > record.t].max() < 1e-12


def test_an_impulse_changes_speeds_as_impulse_does() -> None:
    event = da.Event("hit", "A.position", 0.5, action=lambda now: now.impulse("two", (0.3, 0, -0.4), (0, 0.1, 0)))
    result = da.simulate(double_pendulum(), 1.0, events=event, **TIGHT)
    record = result.events[0]
    model = result.model
    assert model is not None
    hit = da.impulse(model, record.q, record.v, {"two": [0, 0.1, 0, 0.3, 0, -0.4]})
    row = int(np.searchsorted(result.t, record.t)) + 1
    assert np.abs(result.v[row] - hit.v).max() < 1e-12
    assert record.energy == pytest.approx(hit.energy_loss * -1, abs=1e-11)


def test_bounce_in_a_loop_obeys_the_loop() -> None:
    s = four_bar()
    s.initial("A", speed=-3.0)
    tip = s.bodies["crank"].at(1, 0, 0)
    event = da.Event(
        "floor", "crank.at(1, 0, 0).position.y", 0.3, direction=-1, action=lambda now: now.bounce(tip, (0, 1, 0), 0.6)
    )
    result = da.simulate(s, 0.4, events=event, **TIGHT)
    row = int(np.searchsorted(result.t, result.events[0].t))
    v = result["crank.at(1, 0, 0).velocity.y"]
    assert v[row + 1] == pytest.approx(-0.6 * v[row], rel=1e-10)
    assert result["constraints.velocity_residual"].max() < 1e-11


def test_speeds_may_be_set_by_hand() -> None:
    def act(now: da.EventContext) -> None:
        now.v = -0.5 * now.v

    event = da.Event("floor", "P.position", direction=-1, action=act)
    result = da.simulate(ball(), 0.8, events=event)
    assert times(result) == pytest.approx([FALL], abs=1e-12)
    assert result.events[0].energy == pytest.approx(-0.75 * 2 * 9.81, rel=1e-10)
    assert np.abs(result["energy.balance"]).max() < 1e-10


# ---- too often


@pytest.mark.parametrize("restitution", [0.3, 0.5, 0.8])
def test_bounces_that_pile_up_are_refused_with_what_there_is(restitution: float) -> None:
    e = restitution
    end = FALL * (1 + 2 * e / (1 - e))
    with pytest.raises(da.IntegrationError, match="chatters") as caught:
        da.simulate(ball(), end + 1.0, events=bounce(e))
    result = caught.value.result
    assert result.t[-1] == pytest.approx(end, abs=1e-5)
    assert (result["P.position"] > -1e-9).all()
    assert len(result.events) > 8


def test_chatter_at_equal_times_is_refused() -> None:
    def back(now: da.EventContext) -> None:
        now.v = np.array([1e-9])

    with pytest.raises(da.IntegrationError, match="chatters") as caught:
        da.simulate(ball(), 2.0, events=da.Event("floor", "P.position", direction=-1, action=back))
    assert caught.value.result.t[-1] == pytest.approx(FALL, abs=1e-4)


def test_a_ball_that_is_locked_in_time_comes_to_rest() -> None:
    def land(now: da.EventContext) -> None:
        now.bounce("ball", (0, 0, 1), 0.5)
        if abs(now.v[0]) < 1e-3:
            now.lock("P")

    result = da.simulate(ball(), 3.0, events=da.Event("floor", "P.position", direction=-1, action=land))
    assert result.status == "finished"
    assert result.final_state.q[0] == pytest.approx(0.0, abs=1e-9)
    assert result.final_state.v[0] == 0.0


# ---- what is refused


def test_bad_events_are_refused_by_name() -> None:
    with pytest.raises(da.ModelError, match="direction"):
        da.Event("e", "P.position", direction=2)
    with pytest.raises(da.ModelError, match="value"):
        da.Event("e", "P.position", math.nan)
    with pytest.raises(da.ModelError, match="action"):
        da.Event("e", "P.position", action="jump")
    for output, message in (
        ("Q.position", "did you mean"),
        ("ball.position", "several numbers"),
        ("energy.work", "earlier states"),
    ):
        with pytest.raises(da.ModelError, match=message):
            da.simulate(ball(), 1.0, events=da.Event("e", output))
    with pytest.raises(da.ModelError, match="name of its own"):
        da.simulate(ball(), 1.0, events=[da.Event("e", "P.position"), da.Event("e", "P.speed")])
    with pytest.raises(da.ModelError, match="give an Event"):
        da.simulate(ball(), 1.0, events=["P.position"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda now: now.set("k.mass", 1.0), "k.stiffness"),
        (lambda now: now.set("k.stiffness", math.inf), "finite"),
        (lambda now: now.lock("Q"), "'P'"),
        (lambda now: now.switch("P", False), "locked and unlocked"),
        (lambda now: now.bounce("body", (1, 0, 0), 2.0), "from 0 to 1"),
        (lambda now: now.impulse("body", (1, 0)), "force"),
    ],
)
def test_actions_that_cannot_be_done_are_refused_with_what_there_is(action: object, message: str) -> None:
    event = da.Event("e", "P.position", action=action)  # type: ignore[arg-type]
    with pytest.raises(da.ModelError, match=message) as caught:
        da.simulate(oscillator(), 2.0, events=event)
    assert caught.value.result.t[-1] == pytest.approx(math.pi / 4, abs=1e-6)


def test_a_driven_joint_cannot_be_locked() -> None:
    s = double_pendulum()
    s.drive("B", position=da.Harmonic(0.3, 2.0))
    with pytest.raises(da.ModelError, match="driven"):
        da.simulate(s, 2.0, events=da.Event("e", "A.position", 0.5, action=lambda now: now.lock("B")))


def test_an_action_that_fails_is_named_and_chained() -> None:
    def fail(now: da.EventContext) -> None:
        raise KeyError("gone")

    with pytest.raises(da.UserFunctionError, match=r"'e' failed at t = 0\.785398") as caught:
        da.simulate(oscillator(), 2.0, events=da.Event("e", "P.position", action=fail))
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.result.t[-1] == pytest.approx(math.pi / 4, abs=1e-6)


def test_an_output_that_fails_is_named_and_chained() -> None:
    def broken(state: da.State) -> float:
        if state.t > 0.5:
            raise ValueError("no more")
        return 1.0

    with pytest.raises(da.UserFunctionError, match="broken") as caught:
        da.simulate(oscillator(), 2.0, events=da.Event("e", broken))
    assert isinstance(caught.value.__cause__, ValueError)
    assert 0 < caught.value.result.t[-1] <= 0.5
    with pytest.raises(da.UserFunctionError, match="must be finite"):
        da.simulate(oscillator(), 2.0, events=da.Event("e", lambda state: math.nan))


def test_an_event_whose_output_is_noise_is_noted_and_left_alone() -> None:
    """Its sign changes between any two times: after a first step full of them it is ignored."""
    s = sliding_block()
    s.connect("k", da.JointSpring(stiffness=1.0), "X")
    s.initial("X", position=0.1)
    asked: list[float] = []

    def noise(state: da.State) -> float:
        asked.append(state.t)
        return float(np.sin(1e18 * state.t + len(asked)))

    result = da.simulate(s, 20.0, events=[da.Event("noise", noise)])
    assert result.status == "finished" and len(asked) < 200_000
    assert sum("'noise'" in note and "is ignored from there" in note for note in result.stats.notes) == 1
