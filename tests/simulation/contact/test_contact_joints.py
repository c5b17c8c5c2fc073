"""Stops and dry friction of joints beside rigid contact by events: one set of modes for rows of all kinds.

Systems whose contact never closes move as friction and stops alone let them: a second implementation.
"""

import numpy as np
import pytest

import dalembert as da

G = 9.81  # m/s2
TIGHT = {"rtol": 1e-10, "atol": 1e-11}


def both(make: object, t_end: float, **options: object) -> tuple[da.Result, da.Result]:
    """Return results of a system without contact, and with one that stays open."""
    alone, beside = make(), make()  # type: ignore[operator]
    last = list(beside.bodies.values())[-1]
    beside.contact("far", beside.ground.at(0, 0, -50.0), last, friction=0.5)
    grid = np.linspace(0.0, t_end, 41)
    return tuple(
        da.simulate(system, t_end, times=grid, **TIGHT, **more, **options)
        for system, more in ((alone, {}), (beside, {"contact": "events"}))
    )


def assert_same(one: da.Result, other: da.Result, joints: tuple[str, ...], tol: float = 1e-8) -> None:
    """Assert equal motion, events and efforts of joints."""
    assert one.q == pytest.approx(other.q, abs=tol)
    assert [event.name for event in one.events] == [event.name for event in other.events]
    assert [event.t for event in one.events] == pytest.approx([event.t for event in other.events], abs=1e2 * tol)
    for joint in joints:
        assert one[f"{joint}.friction"] == pytest.approx(other[f"{joint}.friction"], abs=1e3 * tol)
        assert np.array_equal(one[f"{joint}.stuck"], other[f"{joint}.stuck"])
    assert one["energy.dissipated"][-1] == pytest.approx(other["energy.dissipated"][-1], abs=1e-7)
    assert abs(other["energy.balance"]).max() < 1e-7


def chain() -> da.System:
    s = da.System("chain")
    last = s.ground.origin
    limits = ({}, {"lower": -0.6, "upper": 0.9, "restitution": 0.3}, {})
    for k, (friction, stops) in enumerate(zip((0.3, 0.2, 0.05), limits, strict=True)):
        body = s.body(f"b{k}", da.capsule(0.5, 0.02, mass=1.0, axis="z"))
        joint = da.Revolute("y", friction=friction, static_friction=1.3 * friction, **stops)
        s.connect(f"J{k}", joint, last, body.at(0, 0, 0.25))
        s.initial(f"J{k}", position=0.5 * (k + 1) - 0.3, speed=1.0 - k)
        last = body.at(0, 0, -0.25)
    return s


def test_a_chain_that_touches_nothing() -> None:
    assert_same(*both(chain, 3.0), ("J0", "J1", "J2"))


def test_a_spatial_chain_that_touches_nothing() -> None:
    def make() -> da.System:
        s = da.System("spatial")
        arm = s.body("arm", da.box(0.1, 0.2, 0.6, mass=2.0))
        s.connect("U", da.Universal(friction=[0.4, 0.3]), s.ground.origin, arm.at(0, 0, 0.3))
        s.initial("U", position=[0.4, -0.7], speed=[1.0, 2.0])
        tip = s.body("tip", da.box(0.1, 0.05, 0.4, mass=0.7))
        s.connect("C", da.Revolute("z", friction=0.05), arm.at(0, 0.1, -0.3), tip.at(0.2, 0, 0.1))
        return s

    assert_same(*both(make, 3.0), ("U", "C"))


def test_stops_that_bounce() -> None:
    def make() -> da.System:
        s = da.System("stops")
        bob = s.body("bob", da.rod(length=1.0, mass=1.0, radius=0.01))
        s.connect("A", da.Revolute("y", lower=-0.2, upper=2.0, restitution=0.6), s.ground, bob)
        return s

    one, other = both(make, 3.0)
    assert one.q == pytest.approx(other.q, abs=1e-8)
    hits = [[e for e in result.events if "reaches" in e.name] for result in (one, other)]
    assert len(hits[0]) >= 3
    for first, second in zip(*hits, strict=False):
        assert (first.name, first.t) == (second.name, pytest.approx(second.t, abs=1e-8))
        assert first.dissipated == pytest.approx(second.dissipated, abs=1e-7)


def test_a_four_bar_with_friction_of_its_joints() -> None:
    def make() -> da.System:
        s = da.System("four-bar")
        crank = s.body("crank", da.rod(length=0.3, mass=1.0, radius=0.01))
        coupler = s.body("coupler", da.rod(length=0.8, mass=1.5, radius=0.01))
        rocker = s.body("rocker", da.rod(length=0.6, mass=1.0, radius=0.01))
        s.connect("A", da.Revolute("y", friction=0.2, static_friction=0.3), s.ground, crank)
        s.connect("B", da.Revolute("y", friction=0.1), crank.at(0.3), coupler)
        s.connect("D", da.Revolute("y"), s.ground.at(0.7), rocker)
        s.connect("C", da.Revolute("y"), coupler.at(0.8), rocker.at(0.6))
        s.initial("A", position=0.4, speed=2.0)
        return s

    assert_same(*both(make, 2.0), ("A", "B"))


def test_a_driven_joint_has_the_effort_of_its_friction() -> None:
    def make() -> da.System:
        s = da.System("driven")
        base = s.body("base", da.rod(length=0.5, mass=1.0, radius=0.01))
        s.connect("A", da.Revolute("z", friction=0.7), s.ground, base)
        s.drive("A", position=da.Harmonic(1.0, 3.0))
        bob = s.body("bob", da.rod(length=0.5, mass=1.0, radius=0.01))
        s.connect("B", da.Revolute("y", friction=0.1), base.at(0.5), bob)
        return s

    one, other = both(make, 2.0)
    assert one.q == pytest.approx(other.q, abs=1e-8)
    moving = np.abs(one["A.speed"]) > 1e-3
    assert one["A.effort"][moving] == pytest.approx(other["A.effort"][moving], abs=1e-6)


def test_a_joint_at_rest_slips_when_a_slow_load_leaves_its_bound() -> None:
    """Nothing moves before: no error estimate shortens the steps."""

    def make() -> da.System:
        s = da.System("rest")
        block = s.body("block", da.box(0.1, 0.1, 0.1, mass=1.0))
        s.connect("X", da.Prismatic("x", friction=2.0), s.ground, block)
        s.connect("F", da.Effort(lambda t: 2.1 * np.sin(t) ** 9), "X")
        return s

    one, other = both(make, 12.0)
    assert len(one.events) > 3
    assert_same(one, other, ("X",), tol=1e-7)


def gripper(push: float = 8.0) -> da.System:
    """Fingers with friction and stops on a hand that is driven upwards; a ball between them."""
    s = da.System("gripper")
    hand = s.body("hand", da.box(0.3, 0.1, 0.05, mass=1.0))
    s.connect("Z", da.Prismatic("z"), s.ground.origin, hand)
    s.drive("Z", position=da.Polynomial([0, 0, 0, 0.3]))
    ball = s.body("ball", da.sphere(0.05, mass=0.2))
    for name, side in (("L", -1), ("R", 1)):
        finger = s.body(name, da.box(0.02, 0.06, 0.12, mass=0.3))
        slide = da.Prismatic("x", friction=1.0, static_friction=1.2, lower=-0.04, upper=0.04)
        s.connect(f"J{name}", slide, hand.at(side * 0.08, 0, -0.085), finger)
        s.initial(f"J{name}", position=side * 0.01)
        s.connect(f"S{name}", da.Effort(-side * push), f"J{name}")
    s.place(ball, position=(0, 0, -0.1))
    s.contact("grip", [s.bodies["L"], s.bodies["R"]], ball, friction=0.6)
    return s


def test_a_gripper_holds_a_ball_exactly() -> None:
    result = da.simulate(gripper(), 1.0, **TIGHT)
    grasp = next(event.t for event in result.events if event.name == "grip/L/ball: sticks")
    # 7 N on 0.3 kg over 20 mm of way
    assert grasp == pytest.approx(np.sqrt(2 * 0.03 * 0.3 / 7.0), rel=1e-9)
    after = result.at(np.linspace(grasp + 1e-6, 1.0, 30))
    assert after["grip.slip"].max() == 0.0
    lifted = after["ball.position"][:, 2] - after["Z.position"].ravel()
    assert np.ptp(lifted) < 1e-11
    assert np.abs(after["JL.friction"]).max() <= 1.2 * (1.0 + 1e-8)
    load = after["grip.force"][:, 2]
    assert load == pytest.approx(0.2 * (G + 1.8 * after.t), abs=1e-7)
    assert abs(result["energy.balance"]).max() < 1e-9


def test_a_gripper_without_force_lets_the_ball_fall() -> None:
    result = da.simulate(gripper(push=1.1), 0.3, **TIGHT)  # static friction holds the fingers
    assert result["JL.stuck"].min() == 1.0
    assert result["ball.position"][-1, 2] == pytest.approx(-0.1 - 0.5 * G * 0.09, abs=1e-9)


def leg() -> da.System:
    """A hip on a rail, thigh and shank; the knee has stops."""
    s = da.System("leg")
    hip = s.body("hip", da.box(0.1, 0.1, 0.1, mass=2.0))
    s.connect("Z", da.Prismatic("z", friction=0.5), s.ground.at(0, 0, 0.86), hip)
    thigh = s.body("thigh", da.capsule(0.4, 0.03, mass=0.8, axis="z"))
    shank = s.body("shank", da.capsule(0.4, 0.025, mass=0.5, axis="z"))
    s.connect("H", da.Revolute("y", friction=0.2, lower=-1.2, upper=1.2), hip.origin, thigh.at(0, 0, 0.2))
    knee = da.Revolute("y", friction=0.2, static_friction=0.3, lower=0.1, upper=1.0, restitution=0.2)
    s.connect("K", knee, thigh.at(0, 0, -0.2), shank.at(0, 0, 0.2))
    s.initial("H", position=-0.5)
    s.initial("K", position=0.8)
    s.contact("floor", da.plane(), shank, friction=0.7, restitution=0.1)
    return s


def test_a_knee_meets_its_stop_while_the_foot_is_on_the_floor() -> None:
    result = da.simulate(leg(), 1.0, contact="events", **TIGHT)
    steps = da.simulate(leg(), 1.0, contact="steps:1e-4")
    assert result.q[-1] == pytest.approx(steps.q[-1], abs=2e-4)  # steps are of first order
    names = [event.name for event in result.events]
    assert any(name.startswith("K reaches its upper limit") for name in names)
    assert result["K.stop"][-1] == 1.0
    assert result["floor.normal"][-1] == pytest.approx(3.3 * G - result["Z.friction"][-1], abs=1e-6)
    assert abs(result["energy.balance"]).max() < 1e-7
    assert np.abs(result.v[-1]).max() < 1e-12


def test_a_chain_that_falls_onto_the_floor() -> None:
    def make() -> da.System:
        s = chain()
        s.contact("floor", s.ground.at(0, 0, -1.2), s.bodies["b2"], friction=0.3, restitution=0.2)
        return s

    result, steps = da.simulate(make(), 3.0, **TIGHT), da.simulate(make(), 3.0, contact="steps:1e-4")
    assert result.stats.method == "dop853"  # auto takes events
    assert result.q[-1] == pytest.approx(steps.q[-1], abs=2e-4)
    assert abs(result["energy.balance"]).max() < 1e-6


def loop(friction: dict[str, float], stops: dict[str, dict[str, float]] | None = None) -> da.System:
    """Return a four-bar with friction and stops at joints A to D by name; one of them is cut."""
    s = da.System("loop")
    rods = {"crank": (0.3, 1.0), "coupler": (0.7, 2.0), "rocker": (0.5, 3.0)}
    crank, coupler, rocker = (
        s.body(name, da.rod(length=length, mass=mass, radius=0.02)) for name, (length, mass) in rods.items()
    )
    ends = {
        "A": (s.ground, crank.at(-0.15, 0, 0)),
        "B": (crank.at(0.15, 0, 0), coupler.at(-0.35, 0, 0)),
        "D": (s.ground.at(0.8, 0, 0), rocker.at(-0.25, 0, 0)),
        "C": (coupler.at(0.35, 0, 0), rocker.at(0.25, 0, 0)),
    }
    for name, markers in ends.items():
        s.connect(name, da.Revolute("y", friction=friction.get(name), **(stops or {}).get(name, {})), *markers)
    s.initial("A", position=-0.5, speed=3.0)
    return s


def test_friction_of_a_cut_joint_and_dead_points_of_others() -> None:
    """Joints reverse where their angle has an extremum: no effort along them moves the loop there."""
    friction = {"A": 0.3, "B": 0.02, "C": 0.3, "D": 0.1}
    assert_same(*both(lambda: loop(friction), 1.5), ("A", "B", "C", "D"))


def test_stops_of_each_joint_of_a_loop() -> None:
    free = da.simulate(loop({}), 0.15)
    for name in "ABCD":
        limit, way = float(free[name][-1]), float(free[name][-1] - free[name][0])
        stops = {name: {"upper" if way > 0 else "lower": limit, "restitution": 0.4}}
        one, other = both(lambda: loop({"B": 0.02}, stops), 0.4)  # noqa: B023
        assert one.q == pytest.approx(other.q, abs=1e-8)
        hits = [[e.t for e in result.events if f"{name} reaches" in e.name] for result in (one, other)]
        assert len(hits[0]) >= 1 and hits[0] == pytest.approx(hits[1], abs=1e-8)
        assert one["energy.dissipated"][-1] == pytest.approx(other["energy.dissipated"][-1], abs=1e-8)
        assert abs(other["energy.balance"]).max() < 1e-8


def conical(restitution: float = 0.6) -> da.System:
    s = da.System("rope")
    bob = s.body("bob", da.sphere(0.05, mass=1.0))
    s.connect("base", da.Free(), s.ground, bob)
    s.initial("base", position=[1, 0, 0, 0, 0.3, 0.1, -0.2], speed=[0, 0, 0, 1.0, 0.5, 0.0])
    s.connect("rope", da.Rope(0.5, restitution=restitution), s.ground, bob)
    return s


def test_a_rope() -> None:
    one, other = both(conical, 1.5)
    assert one.q == pytest.approx(other.q, abs=1e-8)
    assert [event.t for event in one.events] == pytest.approx([event.t for event in other.events], abs=1e-7)
    assert abs(other["energy.balance"]).max() < 1e-8


@pytest.mark.parametrize("contact", ["events", "steps:5e-4"])
def test_a_ball_hangs_on_a_rope_against_a_wall(contact: str) -> None:
    """Tension and normal force of a ball of radius r on a rope of length l at a smooth wall, at a distance d."""
    d, length, radius = 0.15, 0.5, 0.2
    s = da.System("hanging")
    ball = s.body("ball", da.sphere(radius, mass=2.0))
    s.connect("base", da.Free(), s.ground, ball)
    down = -np.sqrt(length**2 - (d + radius) ** 2)
    s.initial("base", position=[1, 0, 0, 0, d + radius, 0, down])
    s.connect("rope", da.Rope(length), s.ground, ball)
    wall = s.ground.at(d, 0, 0, rotation=da.rotation.bryant(0, np.pi / 2, 0))
    s.contact("wall", wall, ball)
    result = da.simulate(s, 0.5, contact=contact)
    assert result["ball.position"][-1] == pytest.approx([d + radius, 0.0, down], abs=1e-6)
    tangent = (d + radius) / -down
    assert result["wall.normal"][-1] == pytest.approx(2.0 * G * tangent, rel=1e-6)
    assert abs(result["ball.acceleration"][-1]).max() < 1e-6


@pytest.mark.parametrize("contact", ["events", "steps:2e-4"])
def test_a_stopped_loop_holds_what_lies_on_it(contact: str) -> None:
    """A parallel linkage whose cut joint rests on its stop carries a block: statics of the loop."""
    s = da.System("table")
    left = s.body("left", da.box(0.02, 0.02, 0.4, mass=0.5))
    right = s.body("right", da.box(0.02, 0.02, 0.4, mass=0.5))
    top = s.body("top", da.box(1.0, 0.3, 0.02, mass=1.0))
    block = s.body("block", da.box(0.1, 0.1, 0.1, mass=2.0))
    s.connect("D", da.Revolute("y"), s.ground.at(0.8, 0, 0), right.at(0, 0, -0.2))
    s.connect("A", da.Revolute("y", upper=0.3), s.ground, left.at(0, 0, -0.2))
    s.connect("B", da.Revolute("y"), left.at(0, 0, 0.2), top.at(-0.4, 0, 0))
    s.connect("C", da.Revolute("y"), right.at(0, 0, 0.2), top.at(0.4, 0, 0))
    s.initial("A", position=0.3)
    height = 0.4 * np.cos(0.3)
    s.place(block, position=(0.4 + 0.4 * np.sin(0.3), 0, height + 0.06))
    s.contact("load", top, block, friction=0.5)
    result = da.simulate(s, 0.3, contact=contact)
    # power of the weights against that of the stop: bars 0.2 sin, top and block 0.4 sin
    moment = -(2 * 0.5 * 0.2 + 3.0 * 0.4) * G * np.sin(0.3)
    assert result["A"][-1] == pytest.approx(0.3, abs=1e-7)
    assert result["A.friction"][-1] == pytest.approx(moment, rel=1e-6)
    assert result["load.normal"][-1] == pytest.approx(2.0 * G, rel=1e-6)
