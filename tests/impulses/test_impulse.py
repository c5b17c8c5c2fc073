"""Impulses with known answers, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.linkages import slaats_four_bar

import dalembert as da
from dalembert.impulses.contact import collide
from dalembert.library.mechanisms import slider_crank

Array = NDArray[np.float64]


def closed_four_bar(**drives: Any) -> tuple[da.Model, Array]:
    s = slaats_four_bar()
    for name, law in drives.items():
        s.drive(name, **law)
    model = s.compile()
    guess = {"A": 1.0, "B": -0.6, "C": -2.1}
    return model, da.assemble(model, state=[guess.get(name, 1.0) for name in model.coordinate_names], hold="A").q


def ball(radius: float = 0.1, mass: float = 2.0) -> tuple[da.Model, da.Marker]:
    s = da.System("ball")
    body = s.body("ball", da.sphere(radius, mass))
    return s.compile(), body.marker("foot", 0, 0, -radius)


REST = np.array([1.0, 0, 0, 0, 0, 0, 0.1])


def test_weight_does_not_act_in_no_time() -> None:
    s = da.System(gravity=(0, 0, -1e6))
    body = s.body("b", mass=3.0, inertia=(1, 2, 3))
    tiny = da.impulse(s, REST, np.zeros(6), {body: [0, 0, 3e-12]})
    assert tiny.v[5] == pytest.approx(1e-12, rel=1e-14) and (tiny.v[:5] == 0).all()
    nothing = da.impulse(s, REST, np.ones(6))
    assert (nothing.v == 1).all() and nothing.energy_loss == 0 and not nothing.reactions["b.free"].any()


def test_axes_of_the_marker_and_several_impulses_add_up() -> None:
    s = da.System()
    body = s.body("b", mass=2.0, com=(0.1, 0.2, 0.3), inertia=(1, 2, 3))
    tip = body.marker("tip", 0.4, 0, 0.1, rotation=("x", 0.7))
    model = s.compile()
    q = np.concatenate([[0.5, 0.5, -0.5, 0.5], [1, 2, 3]])
    R = model.pose(tip, q).rotation
    load = np.array([1.0, 2, 3, 4, 5, 6])
    turned = np.concatenate([R @ load[:3], R @ load[3:]])
    own = da.impulse(model, q, np.zeros(6), {"b.tip": load}, axes="marker")
    world = da.impulse(model, q, np.zeros(6), {tip: turned})
    np.testing.assert_allclose(own.v, world.v, atol=1e-13)
    split = da.impulse(model, q, np.zeros(6), {"b.tip": turned[3:], tip: [*turned[:3], 0, 0, 0]})
    np.testing.assert_allclose(split.v, world.v, atol=1e-13)
    by_tau = da.impulse(model, q, np.zeros(6), tau=model.jacobian(tip, q).T @ turned)
    np.testing.assert_allclose(by_tau.v, world.v, atol=1e-13)
    by_name = da.impulse(model, q, np.zeros(6), {"b.free": by_tau.impulse})
    np.testing.assert_allclose(by_name.v, world.v, atol=1e-13)


def test_reactions_in_marker_axes_are_turned() -> None:
    model, q = closed_four_bar()
    hit = da.impulse(model, q, np.zeros(3), {"link1": [3.0, 1.0, 2.0]}, lock="D")
    for joint in "ABCD":
        second = model.system[joint].second
        R = model.pose(second, q).rotation
        own, world = hit.marker_reactions[joint], hit.reactions[joint]
        np.testing.assert_allclose(np.concatenate([R @ own[:3], R @ own[3:]]), world, atol=1e-12)


def test_a_locked_loop_stands_whichever_joint_is_locked() -> None:
    model, q = closed_four_bar()
    v = da.consistent_velocities(model, q, [2.0, 0, 0], hold="A")
    for lock in ("A", "B", "C", "D", ["A", "D"], ["A", "B", "C", "D"], [model.system["B"]]):
        hit = da.impulse(model, q, v, lock=lock)
        assert np.abs(hit.v).max() < 1e-12
        assert hit.energy_after < 1e-20 and hit.energy_loss == pytest.approx(model.energy(q, v).kinetic)
    # one degree of freedom, four locks: they share the effort by least norm, and the work is the same
    single, shared = da.impulse(model, q, v, lock="A"), da.impulse(model, q, v, lock=list("ABCD"))
    speeds = dict(zip("ABC", v, strict=True)) | {"D": v[0] + v[1] + v[2]}
    assert single.efforts["A"] * v[0] == pytest.approx(-2 * single.energy_loss)
    assert sum(shared.efforts[n][0] * speeds[n] for n in "ABCD") == pytest.approx(-2 * shared.energy_loss)
    assert abs(shared.efforts["A"][0]) < abs(single.efforts["A"][0])


def test_a_driven_joint_keeps_its_speed() -> None:
    s = slider_crank()
    crank = next(iter(s.connections))
    s.drive(crank, position=da.Polynomial((0.4, 12.0)))
    model = s.compile()
    motion = da.driven_motion(model, 0.0)
    slider = model.body_names[-1]
    hit = da.impulse(model, motion.q, motion.v, {slider: [5.0, 0, 0]})
    # one degree of freedom, and it is driven: nothing moves, and the drive takes the blow by the power of the slider
    np.testing.assert_allclose(hit.v, motion.v, atol=1e-11)
    slide = model.velocity(slider, motion.q, motion.v)[3]
    assert hit.efforts[crank][0] * 12.0 == pytest.approx(-5.0 * slide)
    # from any speeds before, those of the drive
    start = da.impulse(model, motion.q, np.zeros(model.nv))
    np.testing.assert_allclose(start.v, motion.v, atol=1e-11)
    assert start.efforts[crank][0] * 12.0 == pytest.approx(2 * start.energy_after)


def test_a_drive_of_the_acceleration_lets_no_speed_jump() -> None:
    s = slider_crank()
    crank = next(iter(s.connections))
    s.drive(crank, acceleration=3.0)
    model = s.compile()
    q = da.assemble(model).q
    v = da.consistent_velocities(model, q, [7.0] + [0.0] * (model.nv - 1), hold=crank)
    hit = da.impulse(model, q, v, {model.body_names[-1]: [5.0, 0, 0]})
    np.testing.assert_allclose(hit.v, v, atol=1e-11)
    assert hit.efforts[crank][0] != 0


def test_a_driven_constraint_starts_its_bodies() -> None:
    """Two point masses on a line; the bar between them begins to grow at 3 m/s."""
    s = da.System(gravity=(0, 0, 0))
    a, b = (s.body(n, mass=m, inertia=(1, 1, 1)) for n, m in (("a", 1.0), ("b", 2.0)))
    s.connect("rail_a", da.Prismatic("x"), s.ground, a)
    s.connect("rail_b", da.Prismatic("x"), s.ground, b)
    s.connect("bar", da.Distance(1.0), a, b)
    s.drive("bar", position=da.Polynomial((1.0, 3.0)))
    hit = da.impulse(s, [0.0, 1.0], [0.0, 0.0])
    np.testing.assert_allclose(hit.v, [-2.0, 1.0], atol=1e-13)
    np.testing.assert_allclose(hit.efforts["bar"], [2.0], atol=1e-13)
    np.testing.assert_allclose(hit.multipliers, [2.0], atol=1e-13)
    np.testing.assert_allclose(hit.reactions["bar"], [0, 0, 0, 2, 0, 0], atol=1e-12)


def test_a_hand_catches_a_ball() -> None:
    s = da.System(gravity=(0, 0, 0))
    hand, thrown = s.body("hand", mass=3.0, inertia=(1, 1, 1)), s.body("thrown", mass=1.0, inertia=(1, 1, 1))
    grip = da.Connection("grip", da.Fixed(), hand.at(1, 0, 0), thrown.origin)
    model = s.compile()
    q = np.concatenate([[1, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 1, 0, 0]])
    v = np.concatenate([np.zeros(6), [0, 0, 0, 0, 4, 0]])
    hit = da.impulse(model, q, v, close=grip)
    # L = 4 * 3/4 about the common centre, where the inertia is 2 + 3/4
    np.testing.assert_allclose(hit.v[[2, 8]], 3.0 / 2.75)
    np.testing.assert_allclose(model.momentum(q, hit.v), model.momentum(q, v), atol=1e-13)
    np.testing.assert_allclose(hit.reactions["grip"][3:], [0, hit.delta_v[10], 0], atol=1e-13)
    with pytest.raises(da.ModelError, match=r"close 'grip': gap is .*0\.1"):
        da.impulse(model, q + 0.1 * np.eye(14)[11], v, close=grip)


# ---- contacts


@pytest.mark.parametrize("e", [0.0, 0.6, 1.0])
def test_a_ball_bounces(e: float) -> None:
    model, foot = ball()
    hit = da.impulse(model, REST, [0, 0, 0, 1.0, 0, -3.0], contact=da.Contact("ground", foot, "z", restitution=e))
    np.testing.assert_allclose(hit.v, [0, 0, 0, 1, 0, 3 * e], atol=1e-13)
    touch = hit.contacts["ball.foot on ground"]
    assert touch.state == "smooth" and touch.normal_impulse == pytest.approx(2 * 3 * (1 + e))
    assert touch.approach == pytest.approx(-3) and touch.departure == pytest.approx(3 * e, abs=1e-13)
    assert hit.energy_loss == pytest.approx(0.5 * 2 * 9 * (1 - e * e), abs=1e-12)
    away = da.impulse(model, REST, [0, 0, 0, 1.0, 0, 3.0], contact=da.Contact("ground", foot, "z", restitution=e))
    assert away.contacts["ball.foot on ground"].state == "open" and not away.delta_v.any()


@pytest.mark.parametrize("friction", [0.05, 0.2, 5.0])
def test_a_sliding_ball_starts_to_turn(friction: float) -> None:
    """A homogeneous sphere: it sticks if 2/7 of the slip needs no more than friction times the normal impulse."""
    radius, mass, e, down, along = 0.1, 2.0, 0.5, 3.0, np.array([1.2, -0.9])
    model, foot = ball(radius, mass)
    v = np.array([0, 0, 0, *along, -down])
    hit = da.impulse(model, REST, v, contact=da.Contact("ground", foot, restitution=e, friction=friction))
    touch = hit.contacts["ball.foot on ground"]
    normal = mass * (1 + e) * down
    full = 2 / 7 * mass * along
    sticks = np.linalg.norm(full) <= friction * normal
    expected = -full if sticks else -friction * normal * along / np.linalg.norm(along)
    np.testing.assert_allclose(touch.impulse, [*expected, normal], atol=1e-12)
    assert touch.state == ("sticking" if sticks else "sliding")
    if sticks:
        np.testing.assert_allclose(touch.slip, 0, atol=1e-12)
    inertia = 0.4 * mass * radius**2
    np.testing.assert_allclose(hit.v[:2], np.array([expected[1], -expected[0]]) * radius / inertia, atol=1e-11)


def test_a_falling_rod_strikes_with_its_end() -> None:
    """A uniform rod at an angle: impulse (1 + e) m v / (1 + 3 cos^2)."""
    length, mass, angle, e, speed = 1.6, 2.0, 0.4, 0.3, 5.0
    s = da.System()
    rod = s.body("rod", mass=mass, inertia=(1e-3, mass * length**2 / 12, mass * length**2 / 12))
    s.connect("free", da.Planar("y"), s.ground, rod)
    model = s.compile()
    q = np.zeros(3)
    q[2] = angle  # about y: the end at +x goes down
    end = rod.at(length / 2, 0, 0)
    v = np.zeros(3)
    v[:2] = model.jacobian("rod", q)[3:, :2].T @ [0, 0, -speed]
    hit = da.impulse(model, q, v, contact=da.Contact("ground", end, restitution=e, name="tip"))
    assert hit.contacts["tip"].normal_impulse == pytest.approx((1 + e) * mass * speed / (1 + 3 * np.cos(angle) ** 2))
    # a blow on top of it, with the contact at rest: the floor gives the blow back, e times
    down = da.impulse(
        model, q, 0 * v, {end: [0, 0, -4.0]}, contact=da.Contact("ground", end, restitution=e, name="tip")
    )
    assert down.contacts["tip"].normal_impulse == pytest.approx(4.0 * (1 + e))


def test_a_struck_row_of_balls_keeps_momentum_and_energy() -> None:
    """Three balls with gaps in speed: the second contact opens first and is struck afterwards."""
    s = da.System(gravity=(0, 0, 0))
    balls = [s.body(f"b{k}", da.sphere(0.1, 1.0)) for k in range(3)]
    for k, b in enumerate(balls):
        s.connect(f"rail{k}", da.Prismatic("x"), s.ground, b)
    contacts = [da.Contact(balls[k].at(0.1), balls[k + 1].at(-0.1), "x", restitution=1.0) for k in range(2)]
    hit = da.impulse(s, [0, 0.2, 0.4], [3.0, 0.0, 1.0], contact=contacts)
    # b0 gives its speed to b1, which gives it to b2
    np.testing.assert_allclose(hit.v, [0, 1, 3], atol=1e-12)
    assert hit.energy_loss == pytest.approx(0, abs=1e-12)


def test_restitution_that_creates_energy_is_refused() -> None:
    """Kane's paradox: with friction the normal speed alone does not bound the energy."""
    D = np.array([[2.0, 0, 0.9], [0, 1, 0], [0.9, 0, 0.6]])
    u = np.array([[-0.9, 0, -1.1]])
    plastic = da.Contact("a", "b", friction=1.9, name="k")
    lam = collide(D, u, [plastic], 1e-12)
    assert (lam * (2 * u + (D @ lam.ravel()).reshape(1, 3))).sum() < 0
    bouncing = da.Contact("a", "b", friction=1.9, restitution=0.8, name="k")
    with pytest.raises(da.ModelError, match=r"contact 'k': restitution is 0\.8; with friction it would create"):
        collide(D, u, [bouncing], 1e-12)


def test_a_contact_between_held_bodies_is_refused() -> None:
    s = da.System(gravity=(0, 0, 0))
    body = s.body("b", da.sphere(0.1, 1.0))
    s.connect("rail", da.Prismatic("z"), s.ground, body)
    s.drive("rail", speed=-2.0)
    for mu in (0.0, 0.3):
        with pytest.raises(da.SingularityError, match=r"contact 'b on ground': .* no impulse can\s+stop"):
            da.impulse(s, [0.0], [-2.0], contact=da.Contact("ground", "b", friction=mu))


def test_the_report_reads_well() -> None:
    model, foot = ball()
    hit = da.impulse(model, REST, [0, 0, 0, 0, 0, -3.0], contact=da.Contact("ground", foot, restitution=0.5))
    assert repr(hit) == "<Impact 'ball': largest velocity jump 4.5 rad/s or m/s, energy lost 6.75 J, 1 contact>"
    assert str(hit) == (
        "impact on 'ball'\n"
        "  speeds  ball.free.vz -3 -> 1.5\n"
        "  energy  9 -> 2.25 J, lost 6.75 J\n"
        "  contact ball.foot on ground: smooth, -3 -> 1.5 m/s, impulse 9 N s"
    )
    many = da.impulse(model, REST, np.zeros((4, 6)))
    assert "4 states" in repr(many)


# ---- bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": [0.0]}, r"impulse: the shape of q is \(1,\); give \(3,\)"),
        ({"q": [0.0, np.nan, 0.0]}, r"impulse: q\[1\] \(B\) is nan"),
        ({"q": "abc"}, "impulse: q is 'abc'; give real numbers"),
        ({"v": [0.0, 0.0, np.inf]}, r"impulse: v\[2\] \(C\) is inf"),
        ({"v": np.zeros((0, 3))}, "impulse: .*"),
        ({"tau": [1.0]}, r"impulse: the shape of tau is \(1,\)"),
        ({"t": np.nan}, "impulse: t is nan"),
        ({"impulses": [1, 2, 3]}, "impulse: impulses is .* give a dict"),
        ({"impulses": {"link7": [1, 2, 3]}}, "name is 'link7'; did you mean"),
        ({"impulses": {7: [1, 2, 3]}}, "impulse: target is 7"),
        ({"impulses": {"link1": [1, 2]}}, r"impulse at 'link1': shape is \(2,\); give \(3,\) or \(6,\)"),
        ({"impulses": {"link1": [1, 2, np.nan]}}, "impulse at 'link1': value is .* finite"),
        ({"impulses": {"A": [1, 2]}}, r"impulse at 'A': shape is \(2,\); give \(1,\)"),
        ({"impulses": {"ground": [1, 2, 3]}}, "impulse at 'ground': body is 'ground'; ground does not move"),
        ({"axes": "bodies"}, "impulse: axes is 'bodies'; use 'world' or 'marker'"),
        ({"lock": "E"}, "impulse: lock: name is 'E'; give a joint or one of its velocities: 'A', 'B', 'C', 'D'"),
        ({"lock": 3}, "impulse: lock: names is 3"),
        ({"lock": [3]}, "impulse: lock: name is 3"),
        ({"contact": "floor"}, r"impulse: contact is 'floor'; give Contact\("),
        ({"contact": [da.Contact("ground", "nobody")]}, "name is 'nobody'"),
        ({"contact": [da.Contact("link0", "link0")]}, "contact 'link0 on link0': second is 'link0'; .* two different"),
        ({"contact": [da.Contact("ground", "link0")] * 2}, "contact is 'link0 on ground'; two have that name"),
        ({"close": [da.Fixed()]}, r"impulse: close is Fixed.*give Connection\("),
        ({"impulses": {"link0": np.ones((2, 3))}, "v": np.zeros((3, 3))}, r"the batch sizes is \[2, 3\]"),
    ],
)
def test_bad_input_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    model, q = closed_four_bar()
    arguments: dict[str, Any] = {"q": q, "v": np.zeros(3)} | change
    with pytest.raises(da.ModelError, match=message):
        da.impulse(model, **arguments)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"restitution": 1.5}, "contact 'b on a': restitution is 1.5; it lies between"),
        ({"restitution": np.nan}, "restitution is nan"),
        ({"friction": -0.1}, "friction is -0.1; it must not be negative"),
        ({"normal": (0, 0, 0)}, "normal is"),
    ],
)
def test_impossible_contacts_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(da.ModelError, match=message):
        da.Contact("a", "b", **fields)


def test_markers_of_other_systems_are_refused() -> None:
    model, q = closed_four_bar()
    stranger = da.System().body("link0", da.rod(1.0, 1.0))
    for change in (
        {"impulses": {stranger: [1.0, 0, 0]}},
        {"contact": da.Contact(stranger, "link1")},
        {"close": da.Connection("x", da.Fixed(), stranger.origin, model.system["link1"].origin)},
    ):
        with pytest.raises(da.ModelError, match="marker"):
            da.impulse(model, q, np.zeros(3), **change)


def test_an_open_configuration_is_refused() -> None:
    model, q = closed_four_bar()
    with pytest.raises(da.ModelError, match=r"impulse: D\.. at q is .* m'; .*da.assemble"):
        da.impulse(model, q + np.array([0.1, 0, 0]), np.zeros(3))


def test_locks_and_drives_that_contradict_each_other_are_named() -> None:
    model, q = closed_four_bar(A={"speed": 2.0})
    with pytest.raises(da.ModelError, match="lock: name is 'A'; drive 'A' prescribes that velocity"):
        da.impulse(model, q, np.zeros(3), lock="A")
    for other in "BCD":
        with pytest.raises(da.SingularityError, match=f"'{other}', 'A' and the loops contradict each other: '"):
            da.impulse(model, q, np.zeros(3), lock=other)
    still, q = closed_four_bar(A={"position": 1.0})
    assert np.abs(da.impulse(still, q, np.ones(3), lock=["A", "B"]).v).max() < 1e-12
    with pytest.raises(da.ModelError, match="close 'A': name is 'A'"):
        da.impulse(model, q, np.zeros(3), close=model.system["A"])
