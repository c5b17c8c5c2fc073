"""Rigid contact by events against closed forms, and identities that hold whatever the motion."""

import pickle

import numpy as np
import pytest

import dalembert as da
from dalembert.rotation import axis_angle, quaternion_from_matrix

G = 9.81  # m/s2
REL = 1e-7  # asked for at rtol 1e-8


def free_body(
    system: da.System,
    name: str,
    shape: object,
    position: object,
    *,
    velocity: object = (0, 0, 0),
    spin: object = (0, 0, 0),
    rotation: object = None,
    **numbers: object,
) -> da.Body:
    """Add a free body; velocity and spin in world axes."""
    body = system.body(name, shape, **numbers)
    R = np.eye(3) if rotation is None else np.asarray(rotation)
    system.connect(f"{name}_joint", da.Free(), system.ground.origin, body.origin)
    start = [*quaternion_from_matrix(R), *position]
    system.initial(f"{name}_joint", position=start, speed=[*(R.T @ np.asarray(spin)), *(R.T @ np.asarray(velocity))])
    return body


def on_floor(
    shape: object, position: object, *, gravity: object = (0, 0, -G), contact: dict[str, float], **start: object
) -> da.System:
    """Return a system of one free body over the plane z = 0."""
    system = da.System("floor", gravity=gravity)
    system.contact("floor", da.plane(), free_body(system, "body", shape, position, **start), **contact)
    return system


def times(result: da.Result, word: str) -> np.ndarray:
    """Return the times of events whose names end with a word, (n,) s."""
    return np.array([event.t for event in result.events if event.name.endswith(word)])


def slope(angle: float) -> tuple[float, float, float]:
    return (G * np.sin(angle), 0.0, -G * np.cos(angle))


# ---- closed forms of the specification, by number


def test_1_a_ball_bounces_to_rest() -> None:
    s = on_floor(da.sphere(0.1, mass=1.0), (0, 0, 1.1), contact={"restitution": 0.8})
    result = da.simulate(s, 6.0, contact="events")
    impacts = times(result, "impact")
    assert impacts[0] == pytest.approx(0.4515236409857309, rel=1e-9)
    assert times(result, "slides")[-1] == pytest.approx(4.063712768871578, abs=5e-4)  # hops below 1e-9 m are none
    assert np.abs(np.diff(impacts[:20]) - 2 * 0.4515236409857309 * 0.8 ** np.arange(1, 20)).max() < 1e-8
    assert result["floor.normal"][-1] == pytest.approx(G, rel=1e-12)
    assert np.abs(result["energy.balance"]).max() < 1e-6
    assert result["energy.impacts"][-1] == pytest.approx(G, rel=1e-7)


@pytest.mark.parametrize("turned", [0.0, 0.4])  # of the box about the normal
def test_2_a_block_turns_on_a_slope_or_sticks(turned: float) -> None:
    start = {"velocity": (2.0, 0, 0), "gravity": slope(-0.3), "rotation": axis_angle((0, 0, 1), turned)}
    s = on_floor(da.box(0.2, 0.2, 0.1, mass=1.0), (0, 0, 0.05), contact={"friction": 0.25}, **start)
    result = da.simulate(s, 1.552940353089146, contact="events")
    assert times(result, "reverses") == pytest.approx([0.381532603604784], rel=REL)
    assert result.at([0.381532603604784])["body.position"][0, 0] == pytest.approx(0.381532603604784, rel=REL)
    assert result["body.position"][-1, 0] == pytest.approx(0.0, abs=REL)
    assert result["body.velocity"][-1] == pytest.approx([-0.6514087067850279, 0, 0], abs=REL)
    s = on_floor(da.box(0.2, 0.2, 0.1, mass=1.0), (0, 0, 0.05), contact={"friction": 0.35}, **start)
    result = da.simulate(s, 3.0, contact="events")
    assert len(times(result, "sticks")) == 1
    assert np.abs(result.v[-1]).max() < 1e-14


def test_3_a_sliding_sphere_begins_to_roll() -> None:
    s = on_floor(da.sphere(0.1, mass=1.0), (0, 0, 0.1), velocity=(5.0, 0, 0), contact={"friction": 0.2})
    result = da.simulate(s, 1.5, contact="events")
    assert times(result, "sticks") == pytest.approx([0.72811999417504], rel=REL)
    assert result.at([0.72811999417504])["body.position"][0, 0] == pytest.approx(3.120514260750172, rel=REL)
    assert result["body.velocity"][-1, 0] == pytest.approx(25 / 7, rel=REL)
    assert result["energy.friction"][-1] == pytest.approx(12.5 * 2 / 7, rel=REL)
    assert result["floor.friction"][-1] == pytest.approx([0, 0, 0], abs=1e-9)


@pytest.mark.parametrize(("mu", "place"), [(0.15, 2.162330653332853), (0.25, 1.978265237144749)])
def test_4_a_sphere_on_a_slope_slides_or_rolls(mu: float, place: float) -> None:
    s = on_floor(da.sphere(0.1, mass=1.0), (0, 0, 0.1), gravity=slope(0.6), contact={"friction": mu})
    result = da.simulate(s, 1.0, contact="events")
    assert result["body.position"][-1, 0] == pytest.approx(place, rel=REL)
    spin = 30.36203393348979 if mu == 0.15 else 2 * place / 0.1
    assert result["body.angular_velocity"][-1, 1] == pytest.approx(spin, rel=REL)
    assert result["floor.state"][-1] == (2 if mu == 0.15 else 1)


def test_6_a_box_on_an_accelerated_floor_tips() -> None:
    s = on_floor(da.box(0.2, 0.2, 0.5, mass=1.0), (0, 0, 0.25), gravity=(-5.0, 0, -G), contact={"friction": 0.6})
    result = da.simulate(s, 0.4217793558261754, contact="events")
    assert 2 * np.arcsin(abs(result.q[-1, 2])) == pytest.approx(np.arctan(0.4), rel=REL)
    assert abs(result["body.angular_velocity"][-1, 1]) == pytest.approx(2.536940848944918, rel=REL)
    assert abs(result["body.angular_acceleration"][0, 1]) == pytest.approx(2.782758620689655, rel=1e-12)


def test_6_a_floor_that_is_driven() -> None:
    s = da.System("driven floor")
    floor = s.body("floor_body", da.box(4.0, 4.0, 0.2, mass=1.0))
    rail = s.connect("rail", da.Prismatic("x"), s.ground.at(0, 0, -0.1), floor.origin)
    s.drive(rail, position=da.Polynomial([0.0, 0.0, 2.5]))
    crate = free_body(s, "crate", da.box(0.2, 0.2, 0.5, mass=1.0), (0, 0, 0.25))
    s.contact("floor", floor, crate, friction=0.6)
    result = da.simulate(s, 0.3, contact="events")
    other = on_floor(da.box(0.2, 0.2, 0.5, mass=1.0), (0, 0, 0.25), gravity=(-5.0, 0, -G), contact={"friction": 0.6})
    twin = da.simulate(other, 0.3, contact="events")
    assert result["crate.angular_velocity"][-1] == pytest.approx(twin["body.angular_velocity"][-1], rel=REL, abs=1e-12)
    assert result["crate.position"][-1, 2] == pytest.approx(twin["body.position"][-1, 2], rel=REL)


def test_7_a_block_rocks() -> None:
    b, h = 0.1, 0.3
    R = axis_angle((0, 1, 0), -np.arctan2(b, h) / 2)
    low = min((R @ [x, 0, -h])[2] for x in (-b, b))
    s = on_floor(da.box(2 * b, 0.2, 2 * h, mass=1.0), (0, 0, -low), rotation=R, contact={"friction": 0.8})
    result = da.simulate(s, 0.7, contact="events")
    impacts = times(result, "impact")
    assert impacts == pytest.approx([0.2738589747823516, 0.6668509650336913], rel=1e-8)
    rate = result["body.angular_velocity"][:, 1]
    before, after = np.flatnonzero(result.t == impacts[0])
    assert abs(rate[before]) == pytest.approx(1.336808708549887, rel=REL)
    assert rate[after] / rate[before] == pytest.approx(0.85, rel=1e-12)


def rod(system: da.System, angle: float, foot: tuple[float, float], **start: object) -> da.Body:
    """Add a rod of 2 m and 1 kg in the plane y = 0, its foot at x, z; its ends are balls of 0.1 um."""
    radius = 1e-7
    c, sine = np.cos(angle), np.sin(angle)
    place = (foot[0] + c, 0, foot[1] + sine)
    R = axis_angle((0, 1, 0), -angle)
    body = free_body(system, "rod", None, place, rotation=R, mass=1.0, inertia=(1e-6, 1 / 3, 1 / 3), **start)
    for x in (-1.0, 1.0):
        body.decorate(da.sphere(radius), x)
    return body


def test_8_a_ladder_leaves_the_wall() -> None:
    s = da.System("ladder")
    angle = np.radians(70)
    body = rod(s, np.pi - angle, (2 * np.cos(angle) + 1e-7, 1e-7))  # its foot is to the right of the wall
    s.contact("floor", da.plane(), body)
    s.contact("wall", s.ground.at(0, 0, 0, rotation=axis_angle((0, 1, 0), np.pi / 2)), body)
    result = da.simulate(s, 0.8, contact="events")
    left = [event for event in result.events if event.name == "wall/rod: opens"]
    assert [event.t for event in left] == pytest.approx([0.5975278060711656], rel=REL)
    state = result.at([0.5975278060711656])
    assert abs(state["rod.angular_velocity"][0, 1]) == pytest.approx(2.146902956576026, rel=REL)


def test_10_a_cradle_at_once() -> None:
    s = da.System("cradle", gravity=(0, 0, 0))
    balls = []
    for k in range(5):
        start = {"velocity": (1.0, 0, 0)} if k == 0 else {}
        balls.append(free_body(s, f"b{k}", da.sphere(0.1, mass=1.0), (0.2 * k - 0.05 * (k == 0), 0, 0), **start))
    for k in range(4):
        s.contact(f"c{k}", balls[k], balls[k + 1], restitution=1.0)
    result = da.simulate(s, 0.06, contact="events")
    assert times(result, "impact") == pytest.approx([0.05] * 4, rel=1e-8)  # overlaps of 1e-10 m are none
    assert [result[f"b{k}.velocity"][-1, 0] for k in range(5)] == pytest.approx([-0.6, 0.4, 0.4, 0.4, 0.4], rel=1e-9)
    assert any("at once" in note for note in result.stats.notes)


@pytest.mark.parametrize(("x", "y", "legs"), [(0.2, 0.1, (10, 20, 30, 40)), (0.4, 0.3, (0, 10, 20, 70))])
def test_12_legs_of_a_table_share_the_load(x: float, y: float, legs: tuple[int, ...]) -> None:
    s = da.System("table", gravity=(0, 0, -10))
    body = free_body(s, "table", None, (0, 0, 0.1), mass=10.0, com=(x, y, 0), inertia=(1.0, 1.0, 1.0))
    for sx in (-0.5, 0.5):
        for sy in (-0.5, 0.5):
            body.decorate(da.sphere(0.1), sx, sy)
    s.contact("floor", da.plane(), body, friction=0.5)
    result = da.simulate(s, 0.1, contact="events")
    force = {(round(p, 6), round(q, 6)): n for p, q, n in zip(*_columns(result, 0.05), strict=True)}
    places = [(-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)]
    assert [force.get(place, 0.0) for place in places] == pytest.approx(legs, abs=1e-9)
    assert any("not unique" in note for note in result.stats.notes)


def _columns(result: da.Result, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    points = result._motion_at(np.array([t])).contact_points
    return points.position[:, 0], points.position[:, 1], (points.force * points.normal).sum(axis=1)


def groove(mu: float) -> da.System:
    """Return a ball of 1 kg on two planes of half angle 35 degrees, inclined by 0.4 rad."""
    angle, tilt = np.radians(35), 0.4
    s = da.System("groove", gravity=slope(tilt))
    ball = free_body(s, "ball", da.sphere(0.05, mass=1.0), (0, 0, 0.05 / np.sin(angle)))
    for k, sign in enumerate((-1.0, 1.0)):  # planes through the x axis, whose normals point inwards
        s.contact(
            f"side{k}",
            s.ground.at(0, 0, 0, rotation=axis_angle((1, 0, 0), sign * (np.pi / 2 - angle))),
            ball,
            friction=mu,
        )
    return s


def test_14_a_ball_rolls_in_a_groove() -> None:
    s, tilt = groove(0.2), 0.4
    result = da.simulate(s, 1.0, contact="events")
    assert result["ball.position"][-1, 0] == pytest.approx(1.724036617047958 / 2, rel=REL)
    # shares are not unique, as the sides may press against each other: all of them are within the cones
    total = result["side0.force"] + result["side1.force"]
    assert total[-1] == pytest.approx([1.724036617047958 - G * np.sin(tilt), 0, G * np.cos(tilt)], rel=1e-6, abs=1e-9)
    for side in ("side0", "side1"):
        excess = np.linalg.norm(result[f"{side}.friction"], axis=1) - 0.2 * result[f"{side}.normal"]
        assert excess.max() < 1e-8


@pytest.mark.parametrize("mu", [0.12, 0.13, 0.131, 0.1325])  # 0.1329: sides that press against each other let it roll
@pytest.mark.parametrize("contact", ["events", "steps"])
def test_14_a_ball_slides_in_a_groove(contact: str, mu: float) -> None:
    """Below the friction that rolling needs, 0.133063143009604, the sides carry 7.876551213165805 N each."""
    result = da.simulate(groove(mu), 1.0, contact=contact)
    for side in ("side0", "side1"):
        assert result[f"{side}.normal"][-1] == pytest.approx(7.876551213165805, rel=1e-9)
    wanted = G * np.sin(0.4) - 2 * mu * 7.876551213165805
    assert result["ball.velocity.x"][-1] == pytest.approx(wanted, rel=1e-7)


def test_16_a_wheel_slips_then_rolls() -> None:
    s = da.System("wheel")
    inertia = (0.3, 0.45, 0.3)
    body = free_body(s, "wheel", None, (0, 0, 0.3), mass=10.0, inertia=inertia)
    body.decorate(da.sphere(0.3))
    s.contact("floor", da.plane(), body, friction=0.5)
    result = da.simulate(
        s,
        2.0,
        contact="events",
        control=lambda state: {"wheel_joint": [0, 30.0 * (state.t < 1.0), 0, 0, 0, 0]},
        discontinuity_times=[1.0],
    )
    at = result.at([1.0])
    assert at["wheel.velocity"][0, 0] == pytest.approx(4.905, rel=REL)
    assert at["wheel.angular_velocity"][0, 1] == pytest.approx(33.96666666666667, rel=REL)
    assert times(result, "sticks") == pytest.approx([1.359157322460075], rel=REL)
    assert result["wheel.velocity"][-1, 0] == pytest.approx(20 / 3, rel=REL)


def test_17_a_capsule_rolls_on_two_points() -> None:
    r, length = 0.05, 0.2
    volumes = np.pi * r**2 * length, 4 / 3 * np.pi * r**3
    axial = (volumes[0] * r**2 / 2 + volumes[1] * 0.4 * r**2) / sum(volumes)
    s = da.System("capsule", gravity=slope(0.3))
    body = free_body(s, "capsule", None, (0, 0, r), mass=1.0, inertia=(0.01, axial, 0.01))
    for y in (-0.1, 0.1):  # the two ends of its axis
        body.decorate(da.sphere(r), 0, y)
    s.contact("floor", da.plane(), body, friction=0.2)
    result = da.simulate(s, 1.0, contact="events")
    assert result["capsule.position"][-1, 0] == pytest.approx(1.965459815151011 / 2, rel=REL)
    ratio = np.linalg.norm(result["floor.friction"][-1]) / result["floor.normal"][-1]
    assert ratio == pytest.approx(0.09961675834886172, rel=1e-6)
    normals = _columns(result, 0.5)[2]
    assert normals == pytest.approx([G * np.cos(0.3) / 2] * 2, rel=1e-9)


def test_21_an_oblique_bounce_slides_through() -> None:
    s = on_floor(
        da.sphere(0.1, mass=1.0), (0, 0, 0.1), velocity=(3.0, 0, -2.0), contact={"friction": 0.2, "restitution": 0.6}
    )
    result = da.simulate(s, 0.01, contact="events")
    assert result["body.velocity"][-1, 0] == pytest.approx(2.36, rel=1e-12)
    assert result["body.angular_velocity"][-1, 1] == pytest.approx(16.0, rel=1e-12)


# ---- Painleve's rod: 1 rad, friction 1.5; its end slides away from the side to which it leans


def painleve_rod(rate: float) -> da.System:
    s = da.System("rod")
    c, sine = np.cos(1.0), np.sin(1.0)
    # the foot slides at -3 m/s; a positive angle of the rod is a negative rotation about y
    velocity = (-3.0 - sine * rate, 0, c * rate)
    body = rod(s, 1.0, (0.0, 1e-7), velocity=velocity, spin=(0, -rate, 0))
    s.contact("floor", da.plane(), body, friction=1.5)
    return s


def test_9_a_rod_jams_where_no_force_lets_it_slide() -> None:
    result = da.simulate(painleve_rod(0.0), 0.01, contact="events")
    assert next(event.name for event in result.events) == "floor/rod: jams"
    # the foot stops at once: impulse from rest of the foot, J v = 0, mass matrix diag(1, 1, 1/3)
    c, sine = np.cos(1.0), np.sin(1.0)
    J = np.array([[1.0, 0.0, sine], [0.0, 1.0, -c]])
    W = np.diag([1.0, 1.0, 3.0])
    v = np.array([-3.0, 0.0, 0.0])
    after = v - W @ J.T @ np.linalg.solve(J @ W @ J.T, J @ v)
    lost = 0.5 * (v @ np.diag([1, 1, 1 / 3]) @ v - after @ np.diag([1, 1, 1 / 3]) @ after)
    assert result.events[0].dissipated == pytest.approx(lost, rel=1e-6)
    assert any("jams" in note for note in result.stats.notes)
    assert np.abs(result["energy.balance"]).max() < 1e-6


def test_9_a_rod_with_two_solutions_goes_on() -> None:
    result = da.simulate(painleve_rod(4.0), 0.01, contact="events")  # it lifts, or presses
    assert np.isfinite(result.v).all()
    assert np.abs(result["energy.balance"]).max() < 1e-6
    assert any("two solutions" in note for note in result.stats.notes)


@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_11_a_thin_disk_precesses_with_its_centre_at_rest(mu: float) -> None:
    r, tilt, thickness = 0.0375, 0.1, 1e-7
    precession = 2 * np.sqrt(G / (r * np.sin(tilt)))
    assert precession == pytest.approx(102.3790035512293, rel=1e-14)
    R, down = axis_angle((0, 1, 0), tilt), np.array([np.cos(tilt), 0, -np.sin(tilt)])
    s = da.System("disk")
    start = {"rotation": R, "spin": -precession * np.sin(tilt) * down}
    numbers = {"mass": 1.0, "inertia": (r**2 / 4, r**2 / 4, r**2 / 2)}
    body = free_body(s, "disk", None, (0, 0, r * np.sin(tilt) + thickness / 2 * np.cos(tilt)), **start, **numbers)
    body.decorate(da.cylinder(thickness, r))
    s.contact("floor", da.plane(), body, friction=mu)
    result = da.simulate(s, 0.1, contact="events", rtol=1e-10, atol=1e-11)
    w, x, y, z = result.q[-1, :4]
    axis = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
    turned = precession * 0.1
    error = (np.arctan2(axis[1], axis[0]) - turned + np.pi) % (2 * np.pi) - np.pi
    assert abs(error) < 3e-7 * turned  # the thickness is 3e-6 of the radius
    assert np.arccos(axis[2]) == pytest.approx(tilt, abs=2e-7)
    assert result["disk.position"][-1, :2] == pytest.approx([0, 0], abs=1e-8)
    assert result["floor.normal"][-1] == pytest.approx(G, rel=1e-5)


def test_15_an_eccentric_lifts_its_follower_off() -> None:
    """A ball of 0.1 m on an eccentric of 10 mm presses a follower with a flat face, held by a spring."""
    s = da.System("cam", gravity=(0, 0, 0))
    cam = s.body("cam", da.sphere(0.1, mass=1.0))
    s.connect("C", da.Revolute("y"), s.ground.origin, cam.at(0.01, 0, 0))  # its centre is at (-0.01 cos, ., 0.01 sin)
    s.drive("C", position=da.Polynomial([0.0, 100.0]))
    follower = s.body("follower", da.box(0.5, 0.1, 0.02, mass=0.5))
    s.connect("Z", da.Prismatic("z"), s.ground.at(0, 0, 0.11), follower)
    s.initial("Z", position=0.0, speed=1.0)
    # 5 N where the centre of the cam is lowest, 10 mm below
    s.connect("spring", da.JointSpring(1000.0, rest=-0.01 - 0.005), "Z")
    s.contact("touch", cam, follower)
    result = da.simulate(s, 0.07, contact="events", rtol=1e-10, atol=1e-11)
    # lift e sin(phi); measured from the lowest place the angle is phi + pi/2
    lifted = next(event.t for event in result.events if event.name.endswith("opens"))
    assert 100.0 * lifted + np.pi / 2 == pytest.approx(1.955193101290536, rel=1e-7)
    landed = next(event for event in result.events if event.name.endswith("impact"))
    assert landed.t + np.pi / 200 == pytest.approx(0.0681906410954467, rel=1e-7)
    assert float(landed.message.split()[2]) == pytest.approx(1.727368797998745, rel=1e-5)


# ---- identities


@pytest.mark.parametrize(("e", "rest"), [(0.0, 0.306814192763), (0.2, 0.364683257449), (0.5, None)])
def test_a_box_lands_on_a_corner_and_comes_to_rest(e: float, rest: float | None) -> None:
    # a plane motion; times of rest are those of an independent code in the plane
    start = {"velocity": (0.5, 0, 0), "rotation": axis_angle((0, 1, 0), -0.3)}
    s = on_floor(da.box(0.2, 0.2, 0.1, mass=1.0), (0, 0, 0.3), contact={"friction": 0.5, "restitution": e}, **start)
    result = da.simulate(s, 1.0, contact="events")
    if rest is not None:
        assert times(result, "sticks")[-1] == pytest.approx(rest, abs=1e-8)
    assert np.abs(result.v[-1]).max() < 1e-14
    assert result["floor.normal"][-1] == pytest.approx(G, rel=1e-9)
    assert np.abs(result["energy.balance"]).max() < 1e-7
    lost = result["energy.friction"][-1] + result["energy.impacts"][-1]
    assert lost == pytest.approx(result["energy.kinetic"][0] + G * (0.3 - 0.05), rel=1e-7)


def test_what_sticks_does_not_creep() -> None:
    mu = 0.5
    turned = {"rotation": axis_angle((0, 0, 1), 0.4), "gravity": slope(np.arctan(0.9 * mu))}
    s = on_floor(da.box(0.2, 0.2, 0.1, mass=1.0), (0, 0, 0.05), contact={"friction": mu}, **turned)
    result = da.simulate(s, 10.0, contact="events")
    assert np.abs(result["body.position"] - result["body.position"][0]).max() < 1e-11  # rounding of g over 10 s
    assert (result["floor.state"] == 1).all()


def test_static_friction_holds_until_it_breaks_away() -> None:
    s = on_floor(da.box(0.2, 0.2, 0.1, mass=1.0), (0, 0, 0.05), contact={"friction": 0.3, "static_friction": 0.5})
    push = {"control": lambda state: {"body_joint": [0, 0, 0, 2.0 * state.t, 0, 0]}}
    result = da.simulate(s, 3.0, contact="events", **push)
    begins = 0.5 * G / 2.0
    assert times(result, "slides") == pytest.approx([begins], rel=1e-8)
    v = (3.0**2 - begins**2) - 0.3 * G * (3.0 - begins)
    assert result["body.velocity"][-1, 0] == pytest.approx(v, rel=REL)


def test_results_are_pickled_with_their_contacts() -> None:
    s = on_floor(da.sphere(0.1, mass=1.0), (0, 0, 0.3), contact={"restitution": 0.5})
    result = da.simulate(s, 2.0, contact="events")
    other = pickle.loads(pickle.dumps(result))
    assert other["floor.normal"] == pytest.approx(result["floor.normal"], rel=1e-12)
    assert other["floor.impulse"][-1] == pytest.approx(result["floor.impulse"][-1], rel=1e-9)


# ---- other pairs of shapes, loops


def test_a_ball_rests_on_three_balls() -> None:
    s = da.System("pyramid")
    r, a = 0.1, 0.2
    low = [
        free_body(s, f"b{k}", da.sphere(r, mass=1.0), (a / np.sqrt(3) * np.cos(p), a / np.sqrt(3) * np.sin(p), r))
        for k, p in enumerate(2 * np.pi * np.arange(3) / 3)
    ]
    top = free_body(s, "top", da.sphere(r, mass=1.0), (0, 0, r + a * np.sqrt(2 / 3)))
    s.contact("floor", da.plane(), [*low, top], friction=0.6)
    s.contact("balls", [*low, top], [*low, top], friction=0.6)
    result = da.simulate(s, 1.0, contact="events")
    assert np.abs(result.v[-1]).max() < 1e-12
    assert result["floor.normal"][-1] == pytest.approx(4 * G, rel=1e-9)


def test_balls_without_friction_fall_apart_as_a_lagrangian_motion() -> None:
    # two balls side by side, a third between them from above, in a plane: one degree of freedom until they part
    s = da.System("three balls")
    r = 0.1
    angle = 0.8
    low = [
        free_body(s, f"b{k}", da.sphere(r, mass=1.0), (sign * 2 * r * np.sin(angle), 0, r))
        for k, sign in enumerate((-1, 1))
    ]
    top = free_body(s, "top", da.sphere(r, mass=1.0), (0, 0, r + 2 * r * np.cos(angle)))
    s.contact("floor", da.plane(), low)
    s.contact("balls", low, top)
    result = da.simulate(s, 0.15, contact="events")
    assert np.abs(result["energy.balance"]).max() < 1e-9
    opened = times(result, "opens")
    x, z = result["b1.position"][:, 0], result["top.position"][:, 2] - r
    before = result.t < (opened[0] if len(opened) else np.inf)
    assert np.abs(np.hypot(x, z)[before] - 2 * r).max() < 1e-9


def test_a_box_slides_off_a_table_and_tips() -> None:
    s = da.System("table")
    table = s.body("table", da.box(1.0, 1.0, 0.2, mass=1.0))
    s.connect("fixed", da.Fixed(), s.ground.at(0, 0, -0.1), table.origin)
    box = free_body(s, "box", da.box(0.2, 0.2, 0.1, mass=1.0), (0.3, 0, 0.05), velocity=(0.9, 0, 0))
    s.contact("top", table, box, friction=0.1)
    result = da.simulate(s, 1.0, contact="events")
    assert np.abs(result["energy.balance"]).max() < 1e-6
    # it slides until its centre is over the edge: half of it is then beyond
    x = result["box.position"][:, 0]
    flat = np.abs(result["box.angular_velocity"]).max(axis=1) < 1e-9
    assert x[flat].max() == pytest.approx(0.5, abs=0.02)
    assert result["box.position"][-1, 2] < -0.2


def test_a_four_bar_strikes_the_floor() -> None:
    s = da.System("four-bar")
    crank, coupler, rocker = (
        s.body(name, da.rod(length, 1.0, radius=0.01))
        for name, length in (("crank", 0.3), ("coupler", 0.8), ("rocker", 0.5))
    )
    s.connect("A", da.Revolute("y"), s.ground.at(0, 0, 0.3), crank.at(-0.15, 0, 0))
    s.connect("B", da.Revolute("y"), crank.at(0.15, 0, 0), coupler.at(-0.4, 0, 0))
    s.connect("C", da.Revolute("y"), coupler.at(0.4, 0, 0), rocker.at(0.25, 0, 0))
    s.connect("D", da.Revolute("y"), s.ground.at(0.7, 0, 0.3), rocker.at(-0.25, 0, 0))
    s.initial("A", position=-0.5, speed=0.0)
    s.contact("floor", da.plane(), [crank, coupler, rocker], friction=0.3, restitution=0.5)
    result = da.simulate(s, 2.0, contact="events")
    assert len(times(result, "impact")) > 0
    assert np.abs(result["energy.balance"]).max() < 1e-6
    assert result["floor.gap"].min() > -1e-9


def test_events_agree_with_short_steps() -> None:
    start = {"velocity": (0.5, 0.2, 0), "rotation": axis_angle((1, 2, 0.5), 0.4), "spin": (1.0, 2.0, 3.0)}
    s = on_floor(da.box(0.2, 0.3, 0.1, mass=1.0), (0, 0, 0.25), contact={"friction": 0.4}, **start)
    events = da.simulate(s, 1.0, contact="events")
    steps = da.simulate(s, 1.0, contact="steps:1e-4")
    assert steps["body.position"][-1] == pytest.approx(events["body.position"][-1], abs=5e-6)
    assert np.abs(events.v[-1]).max() < 1e-12


# ---- refusals and limits


def test_implicit_methods_are_refused() -> None:
    s = on_floor(da.sphere(0.1, mass=1.0), (0, 0, 1.0), contact={})
    with pytest.raises(da.ModelError, match="explicit method"):
        da.simulate(s, 1.0, contact="events", method="radau")


def test_a_crowded_scene_goes_on_in_steps_with_a_note() -> None:
    s = da.System("stack")
    boxes = [free_body(s, f"b{k}", da.box(0.2, 0.2, 0.1, mass=1.0), (0, 0, 0.05 + 0.1 * k)) for k in range(6)]
    s.contact("stack", [da.plane(), *boxes], boxes, friction=0.5)
    result = da.simulate(s, 0.1)
    assert any("goes on in steps" in note for note in result.stats.notes)
    assert result["stack.points"][-1] == 24
    with pytest.raises(da.IntegrationError, match="more than 16"):
        da.simulate(s, 0.1, contact="events")
