"""Beads on wires and cams with followers: motion and forces against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.random_trees import derivative

import dalembert as da

Array = NDArray[np.float64]

G = 9.81


# ---- a bead on a wire


def bead(wire: da.Curve) -> da.Model:
    """A point-like body on a wire fixed in ground."""
    s = da.System()
    s.connect("wire", da.PointOnCurve(wire), s.ground, s.body("bead", da.sphere(0.01, 2.0)))
    return s.compile()


def accelerate(model: da.Model, p: Array, velocity: Array) -> Array:
    """Return the acceleration of the bead at p with a velocity along the wire, after closing the last of the gap."""
    guess = np.concatenate([[1, 0, 0, 0], p])
    q = da.assemble(model, state=guess).q
    assert np.abs(q - guess).max() < 1e-6
    v = da.consistent_velocities(model, q, np.concatenate([np.zeros(3), velocity]))
    a: Array = model.acceleration("bead", q, v, model.forward_dynamics(q, v))[3:]
    return a


@pytest.mark.parametrize("speed", [0.0, 1.5])
def test_a_bead_slides_down_a_helix(speed: float) -> None:
    """Along the wire g sin(climb); across it speed^2 / radius of curvature, towards the axis."""
    R, climb, x = 0.5, 0.2, 3.1
    model = bead(da.Curve.from_function(lambda x: (R * np.cos(x), R * np.sin(x), climb * x), 0, 6, 601))
    length = np.hypot(R, climb)
    tangent = np.array([-R * np.sin(x), R * np.cos(x), climb]) / length
    inward = -np.array([np.cos(x), np.sin(x), 0])
    a = accelerate(model, np.array([R * np.cos(x), R * np.sin(x), climb * x]), speed * tangent)
    expected = -G * climb / length * tangent + speed**2 * R / length**2 * inward
    # curvature of a spline with knots 0.01 rad apart is good to 1e-5
    assert np.allclose(a, expected, atol=1e-5 if speed else 1e-7)


@pytest.mark.parametrize("x, rate", [(0.4, 0.0), (-0.7, 1.2), (0.05, -2.0)])
def test_a_bead_in_a_parabola(x: float, rate: float) -> None:
    """z = k x^2: (1 + 4 k^2 x^2) x'' + 4 k^2 x x'^2 + 2 k g x = 0."""
    k = 0.8
    model = bead(da.Curve.from_function(lambda x: (x, 0, k * x * x), -1, 1, 1601))
    a = accelerate(model, np.array([x, 0, k * x * x]), rate * np.array([1, 0, 2 * k * x]))
    second = -(4 * k**2 * x * rate**2 + 2 * k * G * x) / (1 + 4 * k**2 * x**2)
    assert np.allclose(a, [second, 0, 2 * k * (rate**2 + x * second)], atol=2e-5)  # 1.3 mm apart


def test_curvature_converges_with_the_square_of_the_spacing() -> None:
    errors = []
    for n in (30, 60, 120):
        model = bead(da.Curve.from_function(lambda x: (np.cos(x), np.sin(x), 0), 0, 2 * np.pi, n + 1, closed=True))
        v = np.array([0, 1.0, 0])
        errors.append(abs(accelerate(model, np.array([1.0, 0, 0]), v)[0] + 1))
    assert np.allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 2, atol=0.01)


def test_a_straight_wire_is_a_line() -> None:
    s, t = da.System(), da.System()
    for system, element in ((s, da.PointOnCurve([(0, 0, 0), (0, 0, 1)])), (t, da.PointOnLine("z"))):
        body = system.body("box", da.box(1.0, 0.2, 0.1, 2.0))
        system.connect("on", element, system.ground, body.at(0.3))
    a, b = s.compile(), t.compile()
    q = da.assemble(b, state=b.random_state(0).q).q
    v = da.consistent_velocities(b, q, b.random_state(1).v)
    assert np.allclose(a.constraint_residual(q), 0, atol=1e-12)
    assert np.allclose(a.forward_dynamics(q, v), b.forward_dynamics(q, v), atol=1e-10)


def test_an_open_wire_goes_on_straight_beyond_its_ends() -> None:
    quarter = da.Curve.path([da.Arc((0, 0), 1.0, 0.0, np.pi / 2)], closed=False)
    model = bead(quarter)
    q = np.array([1, 0, 0, 0, -0.8, 1.0, 0])  # past the end at (0, 1), which heads along -x
    assert np.allclose(model.constraint_residual(q), 0, atol=1e-12)
    v = np.array([0, 0, 0, -1.0, 0, 0])
    a = model.acceleration("bead", q, v, model.forward_dynamics(q, v))
    assert np.allclose(a, 0, atol=1e-9)  # no curvature, and a level wire carries the weight


def test_a_distant_bead_finds_the_wire() -> None:
    wire = da.Curve.from_function(lambda x: (np.cos(x), np.sin(x), 0.4 * np.sin(2 * x)), 0, 2 * np.pi, 61, closed=True)
    model = bead(wire)
    samples = wire(np.linspace(*wire.knots[[0, -1]], 20001))
    rng = np.random.default_rng(0)
    for distance in (0.1, 1.0, 30.0):
        guess = np.concatenate([[1, 0, 0, 0], distance * rng.normal(size=3)])
        found = da.assemble(model, state=guess)
        assert found.residual < 1e-11 * distance + 1e-12
        assert np.linalg.norm(samples - found.q[4:], axis=1).min() < 3e-4
        # it goes to the nearest point: no part of the wire was nearer to the guess
        nearest = np.linalg.norm(samples - guess[4:], axis=1).min()
        assert np.linalg.norm(found.q[4:] - guess[4:]) == pytest.approx(nearest, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_point_of_contact_is_the_nearest_of_all(seed: int) -> None:
    """On tangled wires, where many points are nearer than their neighbours."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(12, 3))
    points[-1] = points[0]
    wire = da.Curve(points, closed=True)
    model = bead(wire)
    samples = wire(np.linspace(*wire.knots[[0, -1]], 20001))
    for p in rng.normal(size=(200, 3)) * rng.choice([0.3, 1, 10], size=(200, 1)):
        gap = float(np.linalg.norm(model.constraint_residual([1, 0, 0, 0, *p])))
        nearest = float(np.linalg.norm(samples - p, axis=1).min())
        assert nearest - 1e-3 < gap < nearest + 1e-12  # samples are less than 2 mm apart


def test_the_reaction_of_a_wire_is_across_it() -> None:
    wire = da.Curve.from_function(lambda x: (x, 0, x * x), -1, 1)
    model = bead(wire)
    q = da.assemble(model, state=[1, 0, 0, 0, 0.5, 0, 0.25]).q
    load = model.connection_loads(q, np.zeros(6))["wire"]
    tangent = np.array([1, 0, 2 * q[4]]) / np.hypot(1, 2 * q[4])
    normal = np.array([-tangent[2], 0, tangent[0]])
    assert np.abs(load[:3]).max() < 1e-12
    assert np.allclose(load[3:], 2.0 * G * normal[2] * normal, atol=1e-6)


# ---- cams

RADIUS, ECCENTRICITY, ROLLER = 0.05, 0.02, 0.012
MASS, SPEED = 0.3, 30.0


def mechanism(element: da.CamFollower, *, offset: float = 0.0) -> da.Model:
    """A cam on a shaft along z, and a follower that slides along y, away from the cam."""
    s = da.System("cam", gravity=(0, -G, 0))
    cam, follower = s.body("cam", da.cylinder(0.05, 0.02, 1.0)), s.body("follower", mass=MASS, inertia=(1, 1, 1))
    s.connect("shaft", da.Revolute("z"), s.ground, cam)
    s.connect("guide", da.Prismatic("y"), s.ground.at(offset), follower)
    s.connect("touch", element, cam, follower)
    return s.compile()


def eccentric(follower: str) -> da.Model:
    """A circle about a point on the cam's x axis."""
    profile = da.Curve.path([da.Arc((ECCENTRICITY, 0), RADIUS, 0, 2 * np.pi)])
    return mechanism(da.CamFollower(profile, follower, radius=ROLLER if follower == "roller" else 0.0))


def lift(follower: str, angle: float) -> tuple[float, float, float]:
    """Return the follower's position and its first and second derivative by the angle of the eccentric."""
    e, s, c = ECCENTRICITY, np.sin(angle), np.cos(angle)
    if follower == "flat":
        return RADIUS + e * s, e * c, -e * s
    reach = RADIUS + (ROLLER if follower == "roller" else 0.0)
    root = np.sqrt(reach**2 - e**2 * c**2)
    bend = e**2 * (c * c - s * s) / root - e**4 * s * s * c * c / root**3
    return e * s + root, e * c + e**2 * s * c / root, -e * s + bend


def moving(model: da.Model, angle: float, guess: float = 0.2) -> tuple[Array, Array, Array]:
    """Return q, v, a with the shaft at constant speed."""
    q = da.assemble(model, state=[angle, guess], hold="shaft").q
    v = da.consistent_velocities(model, q, [SPEED, 0.0], hold="shaft")
    return q, v, da.consistent_accelerations(model, q, v, [0.0, 0.0], hold="shaft")


@pytest.mark.parametrize("follower", ["roller", "knife", "flat"])
@pytest.mark.parametrize("angle", np.linspace(-3.0, 3.0, 7))
def test_an_eccentric_lifts_its_follower(follower: str, angle: float) -> None:
    model = eccentric(follower)
    q, v, a = moving(model, angle)
    position, slope, second = lift(follower, angle)
    assert q[1] == pytest.approx(position, abs=1e-13)
    assert v[1] == pytest.approx(SPEED * slope, abs=1e-10)
    assert a[1] == pytest.approx(SPEED**2 * second, abs=1e-5)  # pieces of 0.05 rad: curvature good to 1e-8

    # the power of the shaft moves the follower; the contact itself takes none
    efforts = da.inverse_dynamics(model, q, v, a, actuators="shaft")
    weight = MASS * (a[1] + G)
    assert efforts["shaft"] == pytest.approx(weight * v[1] / SPEED, abs=1e-9)
    # the normal force, through the centre of the circle or along the slide
    centre = ECCENTRICITY * np.array([np.cos(angle), np.sin(angle)])
    normal = np.array([0.0, 1.0]) if follower == "flat" else (np.array([0, q[1]]) - centre)
    normal /= np.linalg.norm(normal)
    force = efforts.connection_loads()["touch"]
    assert np.allclose(force[3:5], weight / normal[1] * normal, atol=1e-9)
    assert force[5] == 0
    # a face carries the force where it touches, which is off the slide
    assert force[2] == pytest.approx(weight * centre[0] if follower == "flat" else 0.0, abs=1e-10)
    assert np.sign(model.multipliers(q, v, efforts.tau)[0]) == np.sign(weight)


@pytest.mark.parametrize("follower", ["roller", "knife", "flat"])
def test_a_free_cam_keeps_its_energy(follower: str) -> None:
    model = eccentric(follower)
    q, v, _ = moving(model, 0.4)
    a = model.forward_dynamics(q, v)

    def energy(t: float) -> Array:
        return np.array(model.energy(q + t * v + t * t / 2 * a, v + t * a).total)

    assert abs(derivative(energy, 1e-5)) < 1e-6 * float(model.energy(q, v).kinetic)


@pytest.mark.parametrize("follower", ["roller", "flat"])
def test_a_spline_through_points_serves_as_well(follower: str) -> None:
    angle = np.linspace(0, 2 * np.pi, 361)
    points = np.column_stack([ECCENTRICITY + RADIUS * np.cos(angle), RADIUS * np.sin(angle)])
    points[-1] = points[0]
    for given in (points, points[::-1]):  # run either way
        model = mechanism(da.CamFollower(given, follower, radius=ROLLER if follower == "roller" else 0.0))
        q, v, a = moving(model, 0.7)
        position, slope, second = lift(follower, 0.7)
        assert q[1] == pytest.approx(position, abs=1e-9)
        assert v[1] == pytest.approx(SPEED * slope, abs=1e-6)
        assert a[1] == pytest.approx(SPEED**2 * second, rel=1e-4)


def test_a_knife_on_a_polar_cam_follows_its_laws() -> None:
    rise = da.Ramp(0.03, 0.05, 1.2)
    cam = da.Curve.polar(
        [(1.2, rise), (1.0, 0.05), (1.2, da.Ramp(0.05, 0.03, 1.2)), (2 * np.pi - 3.4, 0.03)], start=np.pi / 2
    )
    model = mechanism(da.CamFollower(cam))
    for angle in (0.1, 0.5, 0.9):
        # the shaft turns backwards: the follower then runs through the profile from its start
        q, v, a = moving(model, -angle, 0.06)
        r, r1, r2 = rise(angle)
        assert np.allclose([q[1], v[1], a[1]], [r, -SPEED * r1, SPEED**2 * r2], rtol=1e-6)
    q, v, a = moving(model, -1.7)
    assert np.allclose([q[1], v[1], a[1]], [0.05, 0, 0], atol=1e-7)  # dwell


def test_a_driven_cam() -> None:
    model = eccentric("roller")
    s = model.system.copy()
    s.drive("shaft", position=da.Polynomial([0.3, SPEED]))
    s.initial("guide", position=0.1)
    driven = s.compile()
    motion = da.driven_motion(driven, t=0.02)
    position, slope, second = lift("roller", 0.3 + SPEED * 0.02)
    assert np.allclose([motion.q[1], motion.v[1], motion.a[1]], [position, SPEED * slope, SPEED**2 * second], atol=1e-5)


def test_a_report_on_a_cam_reads_well() -> None:
    model = eccentric("flat")
    report = model.system.check()
    assert (report.mobility, report.gruebler, report.redundant) == (1, 1, {})
    assert report.permanent
    assert "loop closed by touch: shaft, guide, touch" in str(report)
    assert "loop constraint touch: CamFollower, cam → follower" in model.forest.chart()
    assert model.constraint_names == ("touch.contact",)


def test_planar_rows_that_a_plane_already_holds_are_redundant() -> None:
    """A bead that a planar joint keeps in the plane of its wire: the wire's row out of the plane repeats it."""
    s = da.System()
    body = s.body("bead", da.sphere(0.1, 1.0))
    s.connect("plane", da.Planar("z"), s.ground, body)
    angle = np.linspace(0, 2 * np.pi, 25)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    ring[-1] = ring[0]
    s.connect("wire", da.PointOnCurve(da.Curve(ring, closed=True)), s.ground, body)
    s.initial("plane", position=[0.9, 0.5, 0.0])
    report = s.check()
    assert (report.mobility, report.redundant_rows) == (2, {"wire": ("height",)})
    assert report.model.independent_rows == ("wire.side",)


def test_a_far_follower_comes_to_the_cam() -> None:
    for follower in ("roller", "knife", "flat"):
        model = eccentric(follower)
        for guess in (-0.01, 0.01, 3.0):
            found = da.assemble(model, state=[0.7, guess], hold="shaft")
            assert found.residual < 1e-12
            if guess > 0.05:  # from outside; from inside there are two ways out
                assert found.q[1] == pytest.approx(lift(follower, 0.7)[0], abs=1e-12)


def kidney() -> da.Curve:
    """A profile with a hollow of radius 0.02 on top, between two lobes; lines of symmetry x = 0."""
    lobe, hollow, half = 0.03, 0.02, 0.04
    a = np.arccos(half / (lobe + hollow))  # direction from a lobe to the centre of the hollow
    depth = (lobe + hollow) * np.sin(a)
    return da.Curve.path(
        [
            da.Arc((half, 0), lobe, -np.pi / 2, np.pi - a),
            da.Arc((0, depth), hollow, -a, a - np.pi),
            da.Arc((-half, 0), lobe, a, 3 * np.pi / 2),
            da.Line((-half, -lobe), (half, -lobe)),
        ]
    )


def test_a_roller_larger_than_a_hollow_bridges_it() -> None:
    """It rests on both lobes; moving aside, it rolls over one of them, with a kink and no gap in between."""
    r = 0.035
    model = mechanism(da.CamFollower(kidney(), "roller", radius=r))
    top = np.sqrt((0.03 + r) ** 2 - 0.04**2)
    assert da.assemble(model, state=[0.0, 0.1], hold="shaft").q[1] == pytest.approx(top, abs=1e-10)
    residuals = [model.constraint_residual([x, top])[0] for x in (-1e-9, 0.0, 1e-9)]
    assert np.abs(residuals).max() < 1e-9
    slopes = [model.constraint_jacobian([x, top])[0, 0] for x in (-1e-6, 1e-6)]
    assert slopes[0] == pytest.approx(-slopes[1], rel=1e-3) and abs(slopes[0]) > 0.01
    small = mechanism(da.CamFollower(kidney(), "roller", radius=0.015))
    bottom = da.assemble(small, state=[0.0, 0.06], hold="shaft").q[1]
    assert bottom == pytest.approx(0.03 - 0.02 + 0.015, abs=1e-10)  # in the hollow


def test_a_flat_face_bridges_hollows() -> None:
    model = mechanism(da.CamFollower(kidney(), "flat"))
    for angle in (-0.2, 0.0, 0.3):
        q = da.assemble(model, state=[angle, 0.2], hold="shaft").q
        assert q[1] == pytest.approx(0.03 + 0.04 * abs(np.sin(angle)), abs=1e-12)


def test_contacts_survive_copies_and_hold_no_coordinates() -> None:
    model = eccentric("roller")
    copy = model.system.copy().compile()
    assert np.array_equal(copy.constraint_residual([0.3, 0.1]), model.constraint_residual([0.3, 0.1]))
    with pytest.raises(da.ModelError, match="no coordinates"):
        model.system.initial("touch", position=0.0)
    with pytest.raises(da.ModelError):
        model.system.drive("touch", position=0.0)


@pytest.mark.parametrize("radius", [0.002, 0.012])
def test_the_contact_passes_from_one_segment_to_the_next_without_noise(radius: float) -> None:
    """Near a joint distances to both segments differ by less than rounding, but the normals must not."""
    profile = da.library.PumpData().profile()
    s = da.System("bare", gravity=(0, 0, 0))
    s.connect(
        "touch", da.CamFollower(da.Curve.path(profile), "roller", radius), s.ground, s.body("b", da.sphere(0.1, 1))
    )
    model = s.compile()
    line = profile[0]
    along = (line.end - line.start) / np.linalg.norm(line.end - line.start)
    out = np.array([along[1], -along[0]])
    offsets = np.concatenate([-np.geomspace(1e-13, 1e-7, 40), np.geomspace(1e-13, 1e-7, 40)])
    for joint, bends in ((line.start, (1 / 0.016, 0.0)), (line.end, (0.0, 1 / 0.00245))):
        for offset in offsets:
            p = joint + radius * out + offset * along
            normal = model.constraint_jacobian([1, 0, 0, 0, *p, 0])[0, 3:5]
            bend = bends[int(offset > 0)]
            # the normal turns by the curvature of the offset curve; rounding of p is 4e-18 m
            turn = bend / (1 + bend * radius) * offset
            assert normal @ along == pytest.approx(turn, abs=1e-14 + 1e-6 * abs(turn))
