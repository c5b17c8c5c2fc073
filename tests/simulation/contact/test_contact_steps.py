"""Rigid contact by steps against closed forms, and the laws of momentum and energy."""

from __future__ import annotations

import numpy as np
import pytest
from systems.contacts.scenes import G, box_stack, on_slope, one_body, spheres_in_a_box

import dalembert as da

STEP = 1e-3  # s: default


def test_a_box_at_rest_stays_where_it_is() -> None:
    result = da.simulate(one_body(da.box(0.2, 0.2, 0.2, mass=2.0), (0, 0, 0.1), friction=0.4), 1.0, contact="steps")
    assert np.abs(result.q - result.q[0]).max() < 1e-12
    # the residual of a cone problem, 1e-12 m/s, is 2e-9 N over a step of 1 ms
    assert result["floor.force"] == pytest.approx(np.tile([0, 0, 2 * G], (len(result), 1)), abs=1e-6)
    assert (result["floor.points"] == 4).all() and (result["floor.state"] == 1).all()
    assert np.abs(result["body.acceleration"]).max() < 1e-6
    assert np.abs(result["energy.balance"]).max() < 1e-12


def test_a_bouncing_ball_meets_the_floor_in_time() -> None:
    """Impacts with restitution are located: from 1 m, e = 0.8."""
    result = da.simulate(one_body(da.sphere(0.1, mass=1.0), (0, 0, 1.1), restitution=0.8), 5.0, contact="steps")
    first, second = result.events[:2]
    assert first.t == pytest.approx(0.4515236409857309, abs=1e-12)
    assert second.t == pytest.approx(first.t * (1 + 2 * 0.8), abs=1e-11)
    assert first.name == "floor/body: impact" and first.dissipated == pytest.approx(0.36 * G, rel=1e-12)
    assert result["energy.impacts"][-1] == pytest.approx(G, rel=1e-9)
    z = result["body.position.z"] - 0.1
    assert abs(z[-1]) < 1e-9 and z.min() > -1e-9
    assert np.abs(result["energy.balance"]).max() < 1e-9


@pytest.mark.parametrize("friction", [0.25, 0.35])
def test_a_block_thrown_up_a_slope(friction: float) -> None:
    """0.3 rad: it turns and comes back for 0.25, and sticks at the top for 0.35 without creep."""
    slope = one_body(
        da.box(0.2, 0.2, 0.1, mass=1.0), (0, 0, 0.05), gravity=on_slope(0.3), velocity=(-2, 0, 0), friction=friction
    )
    result = da.simulate(slope, 10.0 if friction > 0.3 else 1.6, contact="steps")
    x, v = result["body.position.x"], result["body.velocity.x"]
    decelerated = G * (np.sin(0.3) + friction * np.cos(0.3))
    # a change of direction within a step is as if it lay at one of its ends
    assert -x.min() == pytest.approx(2 / decelerated, abs=2 * STEP**2 * G)
    if friction > 0.3:
        top = result.t > 2 / decelerated + STEP
        assert np.ptp(x[top]) < 1e-11
        assert np.abs(v[top]).max() < 1e-11
    else:
        assert np.interp(1.552940353089146, result.t, x) == pytest.approx(0.0, abs=1e-3)
        assert np.interp(1.552940353089146, result.t, v) == pytest.approx(0.6514087067850279, abs=STEP * G)
    assert np.abs(result["energy.balance"]).max() < 1e-10


def test_a_sliding_sphere_comes_to_roll() -> None:
    sphere = one_body(da.sphere(0.1, mass=1.0), (0, 0, 0.1), velocity=(5, 0, 0), friction=0.2)
    result = da.simulate(sphere, 1.0, contact="steps")
    x = np.interp(0.72811999417504, result.t, result["body.position.x"])
    assert x == pytest.approx(3.120514260750172, abs=1e-7)
    assert result["body.velocity.x"][-1] == pytest.approx(25 / 7, rel=1e-9)
    assert result["energy.friction"][-1] == pytest.approx(12.5 * 2 / 7, rel=1e-9)
    assert result["floor.state"][100] == 2 and result["floor.state"][-1] == 1
    assert result["floor.friction.x"][100] == pytest.approx(-0.2 * G, rel=1e-6)


@pytest.mark.parametrize(("friction", "way"), [(0.15, 2.162330653332853), (0.25, 1.978265237144749)])
def test_a_sphere_rolls_or_slides_down_a_slope(friction: float, way: float) -> None:
    sphere = one_body(da.sphere(0.1, mass=1.0), (0, 0, 0.1), gravity=on_slope(0.6), friction=friction)
    result = da.simulate(sphere, 1.0, contact="steps")
    assert result["body.position.x"][-1] == pytest.approx(way, abs=1e-10)
    if friction < 0.1954676595261978:
        assert result["body.angular_velocity.y"][-1] == pytest.approx(30.36203393348979, rel=1e-10)


def test_an_oblique_bounce_slides_through() -> None:
    ball = one_body(
        da.sphere(0.1, mass=1.0), (0, 0, 0.3), gravity=(0, 0, 0), velocity=(3, 0, -2), friction=0.2, restitution=0.6
    )
    result = da.simulate(ball, 0.5, contact="steps")
    assert result["body.velocity"][-1] == pytest.approx([2.36, 0, 1.2], abs=1e-12)
    assert result["body.angular_velocity"][-1] == pytest.approx([0, 16, 0], abs=1e-11)


def test_a_stack_of_ten_boxes_neither_sinks_nor_drifts() -> None:
    result = da.simulate(box_stack(10), 5.0, contact="steps:0.01")
    assert result["floor.normal"][-1] == pytest.approx(98.1, rel=1e-9)
    assert np.abs(result.q[-1] - result.q[0]).max() < 1e-10
    assert result["boxes.gap"].min() > -1e-10
    assert result["boxes/box0/box1.normal"][-1] == pytest.approx(88.29, rel=1e-8)


def test_a_cradle_keeps_momentum_and_energy() -> None:
    """All contacts at once: -0.6 and four times 0.4."""
    s = da.System("cradle", gravity=(0, 0, 0))
    balls = [s.body(f"b{k}", da.sphere(0.1, mass=1.0)) for k in range(5)]
    for k, ball in enumerate(balls):
        s.place(ball, position=(0.2 * k - 0.1 * (k == 0), 0, 0), velocity=(float(k == 0), 0, 0))
    s.contact("balls", balls, balls, restitution=1.0)
    result = da.simulate(s, 0.3, contact="steps")
    assert [result[f"b{k}.velocity.x"][-1] for k in range(5)] == pytest.approx([-0.6, 0.4, 0.4, 0.4, 0.4], abs=1e-10)
    assert result["energy.kinetic"][-1] == pytest.approx(0.5, abs=1e-12)


def test_a_box_that_lands_on_a_corner_comes_to_rest() -> None:
    """Without spin about the vertical nor overlap; the error of the place is of first order."""
    ends = []
    for step in (1e-3, 1e-4):
        box = one_body(
            da.box(0.2, 0.2, 0.2, mass=1.0), (0, 0, 0.4), bryant=(0.5, 0.4, 0.3), friction=0.4, restitution=0.2
        )
        result = da.simulate(box, 3.0, contact=f"steps:{step}")
        assert result["floor.gap"].min() > -1e-7
        assert np.abs(result.v[-1]).max() < 1e-8
        assert result["floor.normal"][-1] == pytest.approx(G, rel=1e-6)
        assert np.abs(result["energy.balance"]).max() < 1e-3  # of 3.9 J; rotations are of second order
        ends.append(result["body.position"][-1])
    assert ends[0] == pytest.approx(ends[1], abs=2e-3)


def test_a_table_of_four_legs_has_the_right_sums() -> None:
    """100 N at (0.2, 0.1): legs that carry less than nothing do not; resultant and centre of pressure are unique."""
    s = da.System("table")
    top = s.body("top", mass=100 / G, inertia=(1, 1, 1), com=(0.2, 0.1, 0.2))
    for x in (-0.5, 0.5):
        for y in (-0.5, 0.5):
            top.decorate(da.sphere(0.02), x, y, 0.02)
    s.contact("floor", da.plane(), top, friction=0.3)
    result = da.simulate(s, 0.2, contact="steps")
    assert result["floor.normal"][-1] == pytest.approx(100.0, rel=1e-6)
    assert result["floor.point"][-1] == pytest.approx([0.2, 0.1, 0.0], abs=1e-6)
    assert [row.normal_force for row in sorted(result.touching(0.2), key=lambda row: tuple(row.position[:2]))] == (
        pytest.approx([10.0, 20.0, 30.0, 40.0], rel=1e-5)
    )


def test_a_driven_table_carries_a_box_by_friction() -> None:
    """Acceleration 2 m/s2: the drive moves both masses."""
    s = da.System("table")
    table, box = s.body("table", da.box(2, 2, 0.1, mass=1.0)), s.body("box", da.box(0.2, 0.2, 0.2, mass=2.0))
    s.connect("X", da.Prismatic("x"), s.ground, table)
    s.drive("X", position=da.Polynomial([0, 0, 1.0]))
    s.place(box, position=(0, 0, 0.15))
    s.contact("top", table, box, friction=0.5)
    result = da.simulate(s, 1.0, contact="steps")
    assert result["box.position.x"][-1] == pytest.approx(1.0, abs=1e-10)
    assert result["top.friction.x"] == pytest.approx(np.full(len(result), 4.0), abs=1e-6)
    assert result["X.effort"][-1] == pytest.approx(6.0, abs=1e-6)
    assert result["energy.work"][-1] == pytest.approx(6.0, rel=1e-6)
    assert np.abs(result["energy.balance"]).max() < 1e-6


def test_impulses_are_the_change_of_momentum() -> None:
    box = one_body(da.box(0.2, 0.2, 0.2, mass=1.5), (0, 0, 0.4), bryant=(0.5, 0.4, 0.3), friction=0.4, restitution=0.3)
    result = da.simulate(box, 1.0, contact="steps")
    gained = 1.5 * (result["body.velocity"] - result["body.velocity"][0])
    weight = 1.5 * np.array([0, 0, -G]) * result.t[:, None]
    # overlaps of 1e-8 m are removed by turning the body, and its velocity with it
    assert result["floor.impulse"] == pytest.approx(gained - weight, abs=1e-6)
    lost = result["energy.friction"] + result["energy.impacts"]
    assert result["floor.lost"] == pytest.approx(lost, abs=1e-10)
    assert result["energy.dissipated"] == pytest.approx(lost, abs=1e-10)


def test_a_stop_acts_as_it_does_by_events() -> None:
    def system() -> da.System:
        s = da.System("arm")
        arm, ball = s.body("arm", da.rod(length=1.0, mass=1.0)), s.body("ball", da.sphere(0.1, mass=1.0))
        s.connect("A", da.Revolute("y", lower=-0.5, upper=0.5, restitution=0.5), s.ground, arm)
        s.place(ball, position=(5, 0, 0.1))
        s.contact("floor", da.plane(), ball)
        return s

    by_steps, by_events = da.simulate(system(), 2.0, contact="steps"), da.simulate(system(), 2.0, contact="off")
    pairs = list(zip(by_steps.events, by_events.events, strict=False))[:3]
    assert [one.t for one, _ in pairs] == pytest.approx([two.t for _, two in pairs], abs=1e-5)
    assert by_steps["A.position"][-1] == pytest.approx(0.5, abs=1e-9)
    assert abs(by_steps["A.acceleration"][-1]) < 1e-9
    assert np.abs(by_steps["energy.balance"]).max() < 1e-4


@pytest.mark.parametrize("push", [2.5, 3.5])
def test_dry_friction_of_a_joint_sticks_up_to_static_friction(push: float) -> None:
    """Friction 2 N, static friction 3 N, mass 1 kg."""
    s = da.System("slider", gravity=(push, 0, -G))
    slider, ball = s.body("slider", da.box(0.1, 0.1, 0.1, mass=1.0)), s.body("ball", da.sphere(0.1, mass=1.0))
    s.connect("A", da.Prismatic("x", friction=2.0, static_friction=3.0), s.ground, slider)
    s.place(ball, position=(5, 0, 0.1))
    s.contact("floor", da.plane(), ball, friction=0.9)
    result = da.simulate(s, 1.0, contact="steps")
    moved = 0.0 if push < 3.0 else 0.5 * (push - 2.0)
    assert result["A.position"][-1] == pytest.approx(moved, abs=1e-10)
    assert np.abs(result["energy.balance"]).max() < 1e-9


def test_a_four_bar_linkage_falls_to_the_floor() -> None:
    """Loops and contacts are redundant together; the floor carries the weight and the loops stay closed."""
    s = da.System("four-bar")
    bars = [s.body(f"bar{k}", da.box(0.5, 0.04, 0.04, mass=1.0)) for k in range(4)]
    for k, bar in enumerate(bars):
        s.connect(f"H{k}", da.Revolute("y"), bar.at(0.25, 0, 0), bars[(k + 1) % 4].at(-0.25, 0, 0))
    s.place(bars[0], position=(0, 0, 0.3))
    s.initial("H0", position=-1.4)
    s.initial("H1", position=1.4 - np.pi)
    s.contact("floor", da.plane(), bars, friction=0.5)
    result = da.simulate(s, 1.5, contact="steps")
    assert result["floor.normal"][-1] == pytest.approx(4 * G, rel=1e-6)
    assert result["constraints.residual"].max() < 1e-12
    assert result["floor.gap"].min() > -1e-9


def test_spheres_in_a_box_come_to_rest() -> None:
    """The floor carries what the walls do not; energy is lost, never gained."""
    result = da.simulate(spheres_in_a_box(2, 2), 2.0, contact="steps:0.002")
    assert result["floor.gap"].min() > -1e-5
    total = result["energy.total"]
    assert (np.diff(total) < 1e-7 * total[0]).all()  # normals turn within a step: of third order
    vertical = sum(result[f"{name}.force.z"][-200:].mean() for name in ("floor", "west", "east", "south", "north"))
    assert vertical == pytest.approx(8 * 0.5 * G, rel=0.02)  # mean over 0.4 s while the last spheres still roll


@pytest.mark.parametrize("speed", [3.0, 100.0, 300.0, 400.0, 1000.0])
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_a_fast_ball_does_not_pass_through_a_plate(speed: float, restitution: float) -> None:
    """Of 10 mm, while it moves up to 1 m in a step."""
    s = da.System("shot", gravity=(0, 0, 0))
    plate, ball = s.body("plate", da.box(1, 1, 0.01, mass=1.0)), s.body("ball", da.sphere(0.02, mass=1.0))
    s.connect("held", da.Fixed(), s.ground, plate)
    s.place(ball, position=(0, 0, 1.0), velocity=(0, 0, -speed))
    s.contact("hit", plate, ball, restitution=restitution)
    result = da.simulate(s, 3.0 / speed, contact="steps")
    assert result["ball.position.z"].min() > 0.025 - 1e-9
    assert result["ball.velocity.z"][-1] == pytest.approx(restitution * speed, abs=1e-9 * speed)


def test_shares_of_redundant_points_are_of_least_norm() -> None:
    result = da.simulate(one_body(da.box(0.2, 0.4, 0.2, mass=1.0), (0, 0, 0.1), friction=0.4), 0.1, contact="steps")
    assert [row.normal_force for row in result.touching(0.1)] == pytest.approx([G / 4] * 4, rel=1e-9)
    assert any("not unique at the end: floor/body" in note for note in result.notes)


def test_a_pair_of_bodies_that_are_on_both_sides_has_one_name() -> None:
    """The body added first comes first, whatever the order of the lists; forces act on the other."""
    s = da.System("stack")
    boxes = [s.body(f"b{k}", da.box(0.2, 0.2, 0.2, mass=1.0 + k)) for k in range(3)]
    for k, box in enumerate(boxes):
        s.place(box, position=(0, 0, 0.1 + 0.2 * k))
    s.contact("floor", da.plane(), boxes[::-1], friction=0.5)
    s.contact("boxes", boxes[::-1], boxes, friction=0.5)
    result = da.simulate(s, 0.05, contact="steps")
    assert result["boxes/b0/b1.force.z"] == pytest.approx(5 * G, abs=1e-6)
    assert result["boxes/b1/b2.force.z"] == pytest.approx(3 * G, abs=1e-6)
    assert result["boxes/b1/b2.impulse.z"][-1] == pytest.approx(3 * G * 0.05, abs=1e-9)
    with pytest.raises(da.ModelError, match="did you mean"):
        _ = result["boxes/b1/b0.force"]


@pytest.mark.parametrize("seed", range(8))
def test_restitution_with_friction_adds_no_energy(seed: int) -> None:
    """Rods that strike a rough floor obliquely (Kane and Levinson 1985): restitution is lowered, and noted."""
    rng = np.random.default_rng([seed, 7])
    s = da.System("rod")
    rod = s.body("rod", da.capsule(0.03, 0.8, mass=1.0))
    s.place(
        rod,
        position=(0, 0, 0.9),
        bryant=tuple(rng.uniform(-1.2, 1.2, 3)),
        velocity=(3.0 * rng.normal(), rng.normal(), -rng.uniform(1, 4)),
        angular_velocity=tuple(8.0 * rng.normal(size=3)),
    )
    s.contact("floor", da.plane(), rod, friction=float(rng.choice([0.3, 0.6, 1.0])), restitution=1.0)
    result = da.simulate(s, 0.5, contact="steps")
    energy = result["energy.total"]
    # a fast spin after an impact is integrated to third order
    assert np.diff(energy).max() < 1e-4 * np.abs(energy).max()


def test_restitution_that_was_lowered_is_noted() -> None:
    s = da.System("rod")
    rod = s.body("rod", da.box(1.0, 0.05, 0.05, mass=1.0))
    s.place(rod, position=(0, 0, 0.5), bryant=(0.0, 0.8, 0.0), velocity=(-1.0, 0.0, -1.0))
    s.contact("floor", da.plane(), rod, friction=0.6, restitution=1.0)
    result = da.simulate(s, 0.3, contact="steps")
    assert any("restitution was lowered" in note for note in result.notes)
    assert np.diff(result["energy.total"]).max() < 1e-6 * result["energy.kinetic"].max()
    smooth = da.System("ball")
    ball = smooth.body("ball", da.sphere(0.1, mass=1.0))
    smooth.place(ball, position=(0, 0, 0.5), velocity=(2, 0, 0))
    smooth.contact("floor", da.plane(), ball, friction=0.6, restitution=0.9)
    assert not any("lowered" in note for note in da.simulate(smooth, 0.5, contact="steps").notes)


@pytest.mark.parametrize("turn", [0.0, 0.3, 0.785])
def test_a_cylinder_that_spins_on_its_end_is_braked_evenly(turn: float) -> None:
    """It bears on its rim: the torque is mu m g r, whatever the angle, and it stays where it is."""
    s = da.System("cylinder")
    cylinder = s.body("cylinder", da.cylinder(0.2, 0.1, mass=1.0))
    s.place(cylinder, position=(0, 0, 0.1), bryant=(0, 0, turn), angular_velocity=(0, 0, 10.0))
    s.contact("floor", da.plane(), cylinder, friction=0.3)
    result = da.simulate(s, 0.2, contact="steps")
    rate = np.diff(result["cylinder.angular_velocity.z"][:100]) / STEP
    assert rate == pytest.approx(np.full(99, -0.3 * G * 0.1 / (0.5 * 0.1**2)), rel=1e-6)
    assert np.abs(result["cylinder.position"] - [0, 0, 0.1]).max() < 1e-12
    assert result["cylinder.angular_velocity.z"][-1] == pytest.approx(0.0, abs=1e-11)
