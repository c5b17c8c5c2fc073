"""Compliant contacts: Hertz, Hunt and Crossley's restitution, rolling by friction."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import gamma

import dalembert as da

RADIUS, STIFFNESS, MASS = 0.1, 1e6, 0.5


def ball(
    element: da.Element, *, height: float = RADIUS, velocity: tuple[float, float, float], gravity: float = 0.0
) -> da.System:
    s = da.System("ball", gravity=(0, 0, -gravity))
    body = s.body("ball", da.sphere(RADIUS, mass=MASS))
    s.connect("free", da.Free(), s.ground, body)
    s.connect("contact", element, s.ground, body)
    s.initial("free", position=(1, 0, 0, 0, 0, 0, height), speed=(0, 0, 0, *velocity))
    return s


def pair(element: da.Element, velocity: tuple[float, float, float], offset: float = 0.0) -> da.System:
    """Return two free balls; the second comes along -x, shifted along y."""
    s = da.System("pair", gravity=(0, 0, 0))
    for name in ("one", "two"):
        s.connect(f"free_{name}", da.Free(), s.ground, s.body(name, da.sphere(RADIUS, mass=MASS)))
    s.connect("contact", element, s["one"], s["two"])
    gap = np.sqrt((2 * RADIUS) ** 2 - offset**2)
    s.initial("free_two", position=(1, 0, 0, 0, gap, offset, 0), speed=(0, 0, 0, *velocity))
    return s


def test_hertz_depth_and_time_of_contact() -> None:
    speed = 0.8
    result = da.simulate(
        ball(da.SpherePlaneContact(RADIUS, STIFFNESS), velocity=(0, 0, -speed)), 0.02, rtol=1e-10, atol=1e-12
    )
    most = (1.25 * MASS * speed**2 / STIFFNESS) ** 0.4
    assert RADIUS - result.min("ball.position.z").value == pytest.approx(most, rel=1e-7)
    duration = 2 * most / speed * np.sqrt(np.pi) * gamma(1.4) / gamma(0.9)
    left = brentq(lambda t: result.at(t).q[-1] - RADIUS, 0.6 * duration, 1.5 * duration, xtol=1e-14)
    assert left == pytest.approx(duration, rel=1e-7)
    assert result["ball.velocity.z"][-1] == pytest.approx(speed, rel=1e-6)
    assert abs(result["energy.balance"]).max() < 1e-7


@pytest.mark.parametrize("contact", ["point", "sphere"])
@pytest.mark.parametrize("speed", [0.05, 0.2])
def test_restitution_is_about_one_minus_dissipation_times_speed(contact: str, speed: float) -> None:
    alpha = 0.3
    element = (
        da.PointPlaneContact(1e4, dissipation=alpha)
        if contact == "point"
        else da.SpherePlaneContact(RADIUS, STIFFNESS, dissipation=alpha)
    )
    height = 0.0 if contact == "point" else RADIUS
    result = da.simulate(ball(element, height=height, velocity=(0, 0, -speed)), 0.1)
    restitution = result["ball.velocity.z"][-1] / speed
    assert restitution == pytest.approx(1 - alpha * speed, abs=2 * (alpha * speed) ** 2)
    lost = MASS * speed**2 * (1 - restitution**2) / 2
    assert result["energy.dissipated"][-1] == pytest.approx(lost, rel=1e-3)
    assert abs(result["energy.balance"]).max() < 1e-7


def test_two_spheres_exchange_their_speeds_and_lose_what_restitution_says() -> None:
    result = da.simulate(pair(da.SphereSphereContact(RADIUS, RADIUS, STIFFNESS), (-0.5, 0, 0)), 0.02)
    assert result["one.velocity.x"][-1] == pytest.approx(-0.5, rel=1e-6)
    assert abs(result["two.velocity"][-1]).max() < 1e-6
    element = da.SphereSphereContact(RADIUS, RADIUS, STIFFNESS, dissipation=0.2)
    result = da.simulate(pair(element, (-0.5, 0, 0)), 0.02)
    apart = result["two.velocity.x"][-1] - result["one.velocity.x"][-1]
    assert apart / 0.5 == pytest.approx(0.9, abs=0.01)  # 1 - alpha v to first order, (alpha v)^2 = 0.01
    assert abs(result["energy.balance"]).max() < 1e-7


def test_oblique_impact_of_spheres_with_friction_keeps_momentum() -> None:
    element = da.SphereSphereContact(RADIUS, RADIUS, STIFFNESS, dissipation=0.1, friction=0.3)
    result = da.simulate(pair(element, (-0.5, 0, 0.2), offset=0.1), 0.02)
    for name in ("momentum.linear", "momentum.angular"):
        assert abs(result[name] - result[name][0]).max() < 1e-9
    assert np.linalg.norm(result["one.angular_velocity"][-1]) > 0.1
    assert (np.diff(result["energy.dissipated"]) > -1e-12).all()
    assert abs(result["energy.balance"]).max() < 1e-7


def test_sliding_point_slows_down_by_coulomb_friction() -> None:
    element = da.PointPlaneContact(1e5, friction=0.3, slip_speed=1e-5)
    depth = MASS * 9.81 / 1e5
    result = da.simulate(ball(element, height=-depth, velocity=(2.0, 0, 0), gravity=9.81), 0.5)
    # the pull is at the origin of the marker, the centre of mass: nothing turns
    assert result["ball.velocity.x"][-1] == pytest.approx(2 - 0.3 * 9.81 * 0.5, rel=1e-6)
    assert abs(result["energy.balance"]).max() < 1e-6


def test_sliding_ball_begins_to_roll_at_five_sevenths_of_its_speed() -> None:
    element = da.SpherePlaneContact(RADIUS, STIFFNESS, friction=0.3, slip_speed=1e-4)
    depth = (MASS * 9.81 / STIFFNESS) ** (2 / 3)
    result = da.simulate(ball(element, height=RADIUS - depth, velocity=(2.0, 0, 0), gravity=9.81), 0.4)
    lever = RADIUS - depth
    share = 1 / (1 + lever**2 / (0.4 * RADIUS**2))
    assert result["ball.velocity.x"][-1] == pytest.approx(2 * (1 - share), rel=1e-5)
    assert result["ball.angular_velocity.y"][-1] * lever == pytest.approx(2 * (1 - share), rel=1e-5)
    assert 1 - share == pytest.approx(5 / 7, rel=1e-2)  # of a ball that is not pressed in
    assert abs(result["energy.balance"]).max() < 1e-5


CYLINDER, LENGTH = 0.1, 0.4


def log(
    element: da.Element,
    *,
    tilt: float = 0.0,
    height: float = CYLINDER,
    spin: float = 0.0,
    velocity: tuple[float, float, float] = (0, 0, 0),
    gravity: float = 9.81,
) -> da.System:
    """A cylinder whose axis is along y, tilted about x, and spins about its axis."""
    s = da.System("log", gravity=(0, 0, -gravity))
    body = s.body("log", da.cylinder(LENGTH, CYLINDER, mass=MASS))
    marker = s.ground.at(0, 0, 0, rotation=da.bryant(-np.pi / 2, 0, 0))
    s.connect("free", da.Free(), marker, body)
    s.connect("contact", element, s.ground, body)
    half = tilt / 2
    s.initial("free", position=(np.cos(half), np.sin(half), 0, 0, 0, -height, 0), speed=(0, 0, spin, *velocity))
    return s


def test_a_cylinder_lies_on_its_line_and_resists_tilting_as_a_line_does() -> None:
    element = da.CylinderPlaneContact(LENGTH, CYLINDER, 1e5)
    depth = MASS * 9.81 / 1e5
    flat = da.simulate(log(element, height=CYLINDER * np.sqrt(1 + 1e-6) - depth), 0.2)
    assert abs(flat["log.velocity"]).max() < 1e-9
    # rocking about x: a line on an elastic bed, k l^2/12, less the weight on top of its round side
    result = da.simulate(log(element, height=CYLINDER - depth, tilt=1e-4, gravity=9.81), 0.05, rtol=1e-10)
    across = MASS * (CYLINDER**2 / 4 + LENGTH**2 / 12)
    w = np.sqrt((1e5 * LENGTH**2 / 12 - MASS * 9.81 * CYLINDER) / across)
    rocked = 2 * result.q[:, 1]
    assert rocked == pytest.approx(1e-4 * np.cos(w * result.t), abs=2e-7)
    assert abs(result["energy.balance"]).max() < 1e-9


def test_a_tilted_cylinder_stands_on_one_rim() -> None:
    """The push of a rim is a sixth of the stiffness, below the lowest point of the rim."""
    element = da.CylinderPlaneContact(LENGTH, CYLINDER, 6e5)
    tilt, lower = 0.3, 1e-4
    height = CYLINDER * np.cos(tilt) + LENGTH / 2 * np.sin(tilt) - lower
    s = log(element, tilt=tilt, height=height)
    model = s.compile()
    q = model.initial_state().q
    load = model.applied_loads(0.0, q, np.zeros(6), np.zeros(0))[1][0]  # [moment; force] at the body's origin
    force, moment, R = load[3:], load[:3], model.pose("log", q).rotation
    assert force == pytest.approx([0, 0, 1e5 * lower], rel=1e-3, abs=1e-9)
    axis = R[:, 2]
    low = axis * (-LENGTH / 2 if axis[2] > 0 else LENGTH / 2)
    down = np.array([0, 0, -1.0]) + axis[2] * axis
    arm = low + CYLINDER * down / np.linalg.norm(down)
    assert moment == pytest.approx(np.cross(arm, force), rel=1e-5, abs=1e-9)


def test_a_skidding_cylinder_begins_to_roll_at_a_third_of_its_spin_and_goes_on_for_turns() -> None:
    element = da.CylinderPlaneContact(LENGTH, CYLINDER, 1e5, friction=0.3, slip_speed=1e-3)
    depth = MASS * 9.81 / 1e5
    result = da.simulate(log(element, height=CYLINDER * np.sqrt(1 + 1e-6) - depth, spin=30.0), 1.6, rtol=1e-6)
    speed = np.linalg.norm(result["log.velocity"][-1])
    assert speed == pytest.approx(30.0 * CYLINDER / 3, rel=3e-3)  # half m r^2 spins: v = r w/3
    assert np.linalg.norm(result["log.position"][-1, :2]) > 2 * np.pi * CYLINDER * 2
    assert abs(result["log.velocity.y"]).max() < 1e-6
    assert abs(result["energy.balance"]).max() < 1e-5
    assert result["energy.dissipated"][-1] == pytest.approx(2 / 3 * 0.25 * MASS * CYLINDER**2 * 900, rel=1e-6)


def test_a_dropped_cylinder_rocks_until_it_rolls() -> None:
    element = da.CylinderPlaneContact(LENGTH, CYLINDER, 1e5, dissipation=2.0, friction=0.4, slip_speed=1e-2)
    result = da.simulate(log(element, tilt=0.3, height=0.3, spin=2.0), 3.0)
    assert (np.diff(result["energy.dissipated"]) > -1e-9).all()
    assert abs(result["energy.balance"]).max() < 1e-5
    weight = MASS * 9.81
    depth = weight / 1e5  # of the line at rest; half of weight * depth is stored in it
    speed = np.linalg.norm(result["log.velocity"][-1])
    start = weight * 0.3 + 0.5 * (0.5 * MASS * CYLINDER**2) * 2.0**2
    end = weight * (CYLINDER - depth / 2) + 0.75 * MASS * speed**2
    assert result["energy.dissipated"][-1] == pytest.approx(start - end, abs=1e-5)
    assert da.check_element(element).success


@pytest.mark.parametrize(
    "make, field",
    [
        (lambda: da.CylinderPlaneContact(0, 1, 1), "length"),
        (lambda: da.CylinderPlaneContact(1, -1, 1), "radius"),
        (lambda: da.CylinderPlaneContact(1, 1, 0), "stiffness"),
        (lambda: da.PointPlaneContact(0), "stiffness"),
        (lambda: da.PointPlaneContact(1, exponent=0.9), "exponent"),
        (lambda: da.PointPlaneContact(1, dissipation=-1), "dissipation"),
        (lambda: da.SpherePlaneContact(0, 1), "radius"),
        (lambda: da.SpherePlaneContact(1, 1, friction=-0.1), "friction"),
        (lambda: da.SphereSphereContact(1, -1, 1), "radius_2"),
        (lambda: da.SphereSphereContact(1, 1, 1, slip_speed=0), "slip_speed"),
    ],
)
def test_bad_numbers_are_named(make: Callable[[], da.Element], field: str) -> None:
    with pytest.raises(da.ModelError, match=field):
        make()


def block_on_slope(angle: float, friction: float, exponent: float = 1.0) -> da.System:
    s = da.System("slope", gravity=(9.81 * np.sin(angle), 0, -9.81 * np.cos(angle)))
    block = s.body("block", da.box(0.2, 0.2, 0.1, mass=1.0))
    s.connect("free", da.Free(), s.ground, block)
    s.initial("free", position=(1, 0, 0, 0, 0, 0, 0.05 - 2e-5))
    element = da.PointPlaneContact(1e5, restitution=0.5, exponent=exponent, friction=friction)
    for k, (x, y) in enumerate([(-0.1, -0.1), (-0.1, 0.1), (0.1, -0.1), (0.1, 0.1)]):
        s.connect(f"corner{k}", element, s.ground, block.at(x, y, -0.05))
    return s


@pytest.mark.parametrize("exponent", [1.0, 1.5])
def test_block_below_the_friction_angle_does_not_creep_in_100_seconds(exponent: float) -> None:
    angle = 0.3
    result = da.simulate(block_on_slope(angle, np.tan(angle) / 0.88, exponent), 100.0, method="radau")
    assert np.ptp(result["block.position.x"][result.t > 10.0]) < 1e-8
    force = sum(result[f"corner{k}.force"][-1] for k in range(4))
    np.testing.assert_allclose(force, [-9.81 * np.sin(angle), 0, 9.81 * np.cos(angle)], atol=1e-5)


def test_block_beyond_the_friction_angle_slides_as_coulomb_says() -> None:
    angle, friction = 0.3, 0.2
    result = da.simulate(block_on_slope(angle, friction), 3.0)
    early, late = result.at(np.array([2.0, 3.0]))["block.velocity.x"]
    assert late - early == pytest.approx(9.81 * (np.sin(angle) - friction * np.cos(angle)), rel=1e-4)
    assert abs(result["energy.balance"]).max() < 1e-4


@pytest.mark.parametrize("shape", ["sphere", "cylinder"])
def test_round_bodies_with_bristles_do_not_creep_across_a_slope(shape: str) -> None:
    """A cylinder across the slope and a ball that is held by a spring stay where they are."""
    angle = 0.2
    s = da.System("slope", gravity=(9.81 * np.sin(angle), 0, -9.81 * np.cos(angle)))
    if shape == "cylinder":
        body = s.body("body", da.cylinder(0.4, 0.1, mass=1.0))
        element: da.Element = da.CylinderPlaneContact(0.4, 0.1, 1e5, restitution=0.5, friction=0.5)
        turned = da.bryant(0.0, np.pi / 2, 0.0)  # its axis along the slope
    else:
        body = s.body("body", da.sphere(0.1, mass=1.0))
        element, turned = da.SpherePlaneContact(0.1, 1e5, exponent=1.0, restitution=0.5, friction=0.5), np.eye(3)
    s.place(body, position=(0, 0, 0.1 - 9e-5), rotation=turned)
    s.connect("contact", element, s.ground, body)
    if shape == "sphere":  # rolling is prevented, so that friction has to hold it
        s.connect("upright", da.Bushing([0.0, 0, 0, 1e3, 1e3, 1e3], [0.0, 0, 0, 30.0, 30.0, 30.0]), s.ground, body)
    result = da.simulate(s, 30.0, method="radau")
    assert np.ptp(result["body.position.x"][result.t > 10.0]) < 1e-7
    assert abs(result["body.position.x"]).max() < 1e-2


def test_spheres_that_roll_over_each_other_keep_momentum_and_lose_energy() -> None:
    element = da.SphereSphereContact(RADIUS, RADIUS, STIFFNESS, dissipation=0.1, friction=0.3, tangential_stiffness=2e4)
    result = da.simulate(pair(element, (-0.5, 0, 0.2), offset=0.1), 0.02)
    for name in ("momentum.linear", "momentum.angular"):
        assert abs(result[name] - result[name][0]).max() < 1e-9
    assert abs(result["energy.balance"]).max() < 1e-7


def test_friction_has_bristles_or_a_slip_speed() -> None:
    assert len(da.PointPlaneContact(1e5, friction=0.3).states) == 2
    assert not da.PointPlaneContact(1e5, friction=0.3, slip_speed=1e-3).states
    assert not da.PointPlaneContact(1e5).states
    with pytest.raises(da.ModelError, match="tangential_stiffness"):
        da.PointPlaneContact(1e5, friction=0.3, slip_speed=1e-3, tangential_stiffness=1e5)
    report = da.check_element(da.SphereSphereContact(0.5, 0.5, 100.0, friction=0.3))
    assert not report.notes
