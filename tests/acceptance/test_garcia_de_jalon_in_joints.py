"""Garcia de Jalon and Bayo, chapter 3, in joint coordinates: twins of test_garcia_de_jalon_in_points.py.

Three parts of the pack speak of natural coordinates alone and have no twin: that the Jacobian is affine (T5), the
singular values and conditions of particular sets of rows (in T7, T8, T9), and the operations of a Jacobian (in T23).
Mass matrices in joint coordinates (T21) depend on the position; their twin is the kinetic energy.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from systems.linkages import bar_chain, marked_four_bar, rscr
from systems.natural_chapter import (
    CROSSED,
    OPEN,
    RHO,
    coin,
    five_bar_of_points,
    four_bar_at,
    r,
    rates_of,
    robot_of_points,
    rolled,
    rotated,
)

import dalembert as da
from dalembert.closure import RelativeEquations, find_position, find_rates
from dalembert.motion import predict_position

FIVE = [(0.0, 0.0), (-0.5, 1.8), (1.6, 3.2), (4.3, 1.9), (4.0, 0.0)]


# ---- positions


@pytest.mark.parametrize("guess", [(1.5, -2.8), (-1.0, 2.0), (0.3, -0.4), (2.9, -3.0)])
def test_damping_never_lets_the_residual_grow(guess: tuple[float, float]) -> None:
    """T22: the crank stands at 60 degrees, guesses of B and C are poor; both ways end in one of the two assemblies."""
    s = marked_four_bar()
    s.drive("A", position=math.pi / 3)
    model = s.compile()
    e = RelativeEquations(model)
    start = np.array([math.pi / 3, *guess])[: e.nq]
    for damped in (False, True):
        found = find_position(e, start, 0.0, line_search=damped, scaled=False, max_iterations=200, check=damped)
        if not found.success:
            continue  # without damping Newton's method may wander
        end = model.pose("coupler.2", found.q).position[:2]
        assert min(np.abs(end - OPEN[2:]).max(), np.abs(end - CROSSED).max()) < 1e-10
        if damped:
            assert all(b < a for a, b in zip(found.history, found.history[1:], strict=False))


@pytest.mark.parametrize("degrees", [5, 10, 20, 40])
def test_predictors_of_higher_order_begin_closer(degrees: float) -> None:
    """T16: in joint coordinates each order is closer than the one before, and modified Newton's method needs less."""
    step = math.radians(degrees)
    s = marked_four_bar()
    s.drive("A", position=da.Polynomial((math.pi / 3, step)))
    e = RelativeEquations(s.compile())
    q = find_position(e, da.assemble(s).q, 0.0).q
    exact = find_position(e, predict_position(e, q, find_rates(e, q, 0.0), 1.0, 2), 1.0).q
    end = s.compile().pose("coupler.2", exact).position[:2]
    assert end == pytest.approx(four_bar_at(math.pi / 3 + step)[2:], abs=1e-11)
    rates = find_rates(e, q, 0.0, jerk=False)
    errors, tries = [], []
    for order in (0, 1, 2):
        start = predict_position(e, q, rates, 1.0, order)
        errors.append(float(np.linalg.norm(e.difference(start, exact)[1:])))
        found = find_position(e, start, 1.0, method="modified", line_search=False, max_iterations=200)
        assert found.q == pytest.approx(exact, abs=1e-10) and found.factorisations == 1
        tries.append(found.iterations)
    assert errors[0] > errors[1] > errors[2] and tries[0] >= tries[1] >= tries[2]


def test_jacobians_of_loops_agree_with_differences() -> None:
    """T6: rows of the four-bar, the five-bar and the RSCR away from closed positions, along every degree of freedom."""
    random = np.random.default_rng(2)
    for s in (marked_four_bar(), bar_chain(FIVE, closed=True), rscr()):
        e = RelativeEquations(s.compile())
        q = e.retract(da.assemble(s).q, 0.3 * random.standard_normal(e.nv))
        h = 1e-6
        sides = [[e.residual(e.retract(q, k * h * x), 0.0) for x in np.eye(e.nv)] for k in (1, -1)]
        assert (np.array(sides[0]) - np.array(sides[1])).T / (2 * h) == pytest.approx(e.jacobian(q, 0.0), abs=1e-8)


def test_jerks_with_the_angle_between_crank_and_coupler_driven() -> None:
    """T4: jerks of points 1 and 2."""
    for rate in (1.0, -2.0):
        s = marked_four_bar()
        s.drive("B", position=da.Polynomial((-0.7554323113484813, -rate)))
        motion = da.kinematics(s, times=[0.0, 0.01])
        found = np.concatenate([motion[f"{end}.jerk"][0, :2] for end in ("crank.1", "coupler.2")])
        wanted = np.array([0.869847604963, -1.828109367884, 1.371206889325, -2.355004565517])
        assert found == pytest.approx(rate**3 * wanted, abs=1e-9)


# ---- the robot


def arm() -> da.System:
    """The robot of example 3.7 by six joints, its frames parallel to the world at the start."""
    s = da.System("arm")
    r1 = np.array([math.cos(1.1), 0, math.sin(1.1)])
    fore = 0.9 * np.array([math.cos(-0.5), 0, math.sin(-0.5)])
    wrist = np.array([math.cos(-0.9), 0, math.sin(-0.9)])
    turret, upper, lower, sleeve, hub, hand = (s.body(n) for n in ("turret", "upper", "fore", "sleeve", "hub", "hand"))
    s.connect("J1", da.Revolute("z"), s.ground, turret)
    s.connect("J2", da.Revolute("y"), turret, upper)
    s.connect("J3", da.Revolute("y"), upper.at(*r1), lower)
    s.connect("J4", da.Revolute(fore), lower, sleeve)
    s.connect("J5", da.Revolute("y"), sleeve.at(*fore), hub)
    s.connect("J6", da.Revolute(wrist), hub, hand)
    return s


def test_example_3_7_the_robot_goes_round_an_ellipse_by_joints() -> None:
    """T18: 1000 displacements of the hand; it returns, its elbow goes where the points of the natural form go."""
    s = arm()
    begin = s.compile().pose("hand", np.zeros(6)).position
    w = 2 * math.pi / 1000
    side = da.Harmonic(0.25, w, offset=float(begin[1]))
    up = da.Harmonic(0.15, w, phase=-math.pi / 2, offset=float(begin[2]) + 0.15)
    s.drive("hand", position=(float(begin[0]), side, up), rotation=np.eye(3))
    motion = da.kinematics(s, times=np.arange(1001.0))
    assert motion.q[-1] == pytest.approx(motion.q[0], abs=1e-10)
    m = robot_of_points()
    for name in "234":
        x, y, z = (float(c) for c in m.coordinates[name].value)
        m.drive(name, (x, replace(side, offset=y), replace(up, offset=z + 0.15)))
    m.drive("u3", (0.0, 1.0, 0.0))
    points = m.motion(np.arange(1001.0), jerk=False)
    assert motion["fore.position"] == pytest.approx(points["1"], abs=1e-9)
    assert motion["fore.acceleration"] == pytest.approx(points.acceleration("1"), abs=1e-10)
    e = RelativeEquations(motion.model)
    counts = {}
    for way in ("full", "modified", "predicted"):
        q, tally = motion.q[0], np.zeros(2, dtype=int)
        for k in range(1, 101):
            start = q if way != "predicted" else predict_position(e, q, find_rates(e, q, k - 1.0, jerk=False), 1.0, 1)
            method = "full" if way == "full" else "modified"
            found = find_position(e, start, float(k), method=method, line_search=False, tolerance=1e-9)
            q, tally = found.q, tally + np.array([found.iterations, found.factorisations])
        assert q == pytest.approx(motion.q[100], abs=1e-8)
        counts[way] = tally
    assert counts["predicted"][0] <= counts["full"][0] <= counts["modified"][0]
    assert counts["modified"][1] == 100 < counts["full"][1]


# ---- the subspace of motions


def test_example_3_13_by_joints_the_choice_is_renewed_before_it_fails() -> None:
    """T13: the slide as z; its condition grows towards the dead point, there another coordinate takes over."""
    s = da.System("slider-crank")  # cut at A: the slide is a coordinate
    crank, rod, block = s.body("crank"), s.body("rod"), s.body("block")
    s.connect("D", da.Prismatic("x"), s.ground, block)
    s.connect("C", da.Revolute("z"), block, rod.at(3, 0, 0))
    s.connect("B", da.Revolute("z"), rod, crank.at(1, 0, 0))
    s.connect("A", da.Revolute("z"), s.ground, crank)
    model = s.compile()
    e = RelativeEquations(model)
    turned = []
    for angle in (1.2, 0.3, 0.03, 0.003, 0.0):  # in closed form
        lean = -math.asin(math.sin(angle) / 3)
        turned.append(np.array([math.cos(angle) + 3 * math.cos(lean), lean, angle - lean]))
        assert np.abs(e.residual(turned[-1], 0.0)).max() < 1e-12
    assert model.speed_names == ("D", "C", "B")
    space = da.motion_space(s, state=turned[0], independent_coordinates=["D"])
    conditions = []
    for q in turned[1:4]:
        there = space.at(q, limit=1e6)
        J = e.row_scales[:, None] * e.jacobian(q, 0.0) * e.column_scales
        rank = np.linalg.matrix_rank(J, tol=1e-9)
        assert rank == model.nv - 1 and not there.refreshed
        conditions.append(there.condition)
    # inversely proportional to the distance, in the limit
    assert conditions[1] / conditions[0] == pytest.approx(10, rel=0.2)
    assert conditions[2] / conditions[1] == pytest.approx(10, rel=1e-3)
    fresh = space.at(turned[4])
    assert fresh.refreshed and fresh.condition < 100 and fresh.independent != space.independent
    assert np.abs(e.jacobian(fresh.q, 0.0) @ fresh.R).max() < 1e-12


def test_gram_and_schmidt_s_basis_of_joints_can_be_differentiated() -> None:
    """T14: the five-bar by joints; R' against differences, and J R' z = c."""
    s = bar_chain(FIVE, closed=True)
    e = RelativeEquations(s.compile())
    first = da.motion_space(s)
    v = first.velocity([0.7, -0.4])
    space = da.motion_space(s, state=first.q, method="gram-schmidt", v=v)
    h = 1e-6
    ahead, behind = (space.at(e.retract(first.q, k * h * v), v=v).R for k in (1, -1))
    assert space.R_rate == pytest.approx((ahead - behind) / (2 * h), abs=5e-9)
    J, c = e.jacobian(first.q, 0.0), e.acceleration_terms(first.q, v, 0.0)
    assert J @ space.R_rate @ space.coordinates(v) == pytest.approx(c, abs=1e-8)


def test_identities_of_R_and_S_by_joints() -> None:
    """T11, T12: J R = 0, B R = 1, J S = 1 on independent rows, B S = 0; one subspace, that of the points."""
    s = bar_chain(FIVE, closed=True)
    e = RelativeEquations(s.compile())
    bases = []
    for method in ("gauss", "qr", "svd", "gram-schmidt"):
        space = da.motion_space(s, method=method)
        J = e.jacobian(space.q, 0.0)
        assert np.abs(J @ space.R).max() < 1e-12 and pytest.approx(np.eye(2), abs=1e-12) == space.B @ space.R
        assert pytest.approx(J, abs=1e-12) == J @ space.S @ J and np.abs(space.B @ space.S).max() < 1e-12
        bases.append(space.R)
        assert np.linalg.matrix_rank(np.hstack(bases), tol=1e-9) == 2
    assert five_bar_of_points().count().dofs == 2


# ---- wheels


def planar_wheel(track: str) -> da.System:
    """A wheel of 0.5 m on a line, or carried by an arm around a circle of 2 m, outside or inside."""
    s = da.System(track)
    disc = s.body("disc")
    if track == "straight":
        hub = s.body("hub")
        s.connect("X", da.Prismatic("x"), s.ground.at(0, r, 0), hub)
        s.connect("H", da.Revolute("z"), hub, disc)
        s.connect("roll", da.Coupling(-1 / r), "X", "H")
        return s
    hub, inside = s.body("hub"), track == "concave"
    s.connect("X", da.Revolute("z"), s.ground, hub)
    s.connect("H", da.Revolute("z"), hub.at(RHO - r if inside else RHO + r, 0, 0), disc)
    s.connect("roll", da.Coupling(-RHO / r if inside else RHO / r), "X", "H")
    return s


@pytest.mark.parametrize("track", ["straight", "convex", "concave"])
def test_a_wheel_of_joints_rolls_along_its_track(track: str) -> None:
    """T19: rim point, speed and acceleration in closed form; centres of curvature; no rank is lost."""
    s = planar_wheel(track)
    way = da.Polynomial((0.4, 0.9, 0.3))  # along the track
    sign = {"straight": r, "convex": -1.0, "concave": 1.0}[track]
    if track == "straight":
        s.drive("X", position=way)
    else:
        turned = {"convex": math.pi / 2, "concave": -math.pi / 2}[track]
        s.drive("X", position=da.Polynomial((turned + sign * 0.4 / RHO, sign * 0.9 / RHO, sign * 0.3 / RHO)))
    motion = da.kinematics(s, times=np.linspace(0.0, 1.5, 7))
    # where on the disc the point is that stands at 0.3 rad when nothing has been rolled
    _, O, A = rolled(track, 0.4)  # noqa: E741
    local = motion["disc.rotation"][0].T @ np.append(A - O, 0.0)
    rim = f"disc.at({', '.join(repr(float(x)) for x in local)})"
    for k, t in enumerate(motion.t):
        place = way(float(t))[0]
        v, a = rates_of(lambda x: rolled(track, way(x)[0]), float(t))
        assert motion["disc.position"][k, :2] == pytest.approx(rolled(track, place)[1], abs=1e-12)
        assert motion[f"{rim}.position"][k, :2] == pytest.approx(rolled(track, place)[2], abs=1e-12)
        assert motion[f"{rim}.velocity"][k, :2] == pytest.approx(v[2], abs=1e-7)
        assert motion[f"{rim}.acceleration"][k, :2] == pytest.approx(a[2], abs=1e-6)
        assert da.mobility(s, motion.q[k]).mobility == 1
    v, a = (motion[f"{rim}.{rate}"][0, :2] for rate in ("velocity", "acceleration"))
    speed = float(np.linalg.norm(v))
    centre = A + np.array([-v[1], v[0]]) / speed * speed**3 / float(v[0] * a[1] - v[1] * a[0])
    wanted = {
        "straight": (-0.038791280945, -0.260287230698),
        "convex": (0.076168155564, 1.848183525481),
        "concave": (-0.35932849674, -2.644679526862),
    }
    assert centre == pytest.approx(wanted[track], abs=1e-10)


def coin_of_joints() -> da.System:
    """A disc on the floor: place, yaw, lean and spin."""
    s = da.System("coin")
    carrier, heading, leaning, disc = (s.body(name) for name in ("carrier", "heading", "leaning", "disc"))
    along = [s.body("along x"), s.body("along y"), carrier]
    for axis, before, after in zip("xyz", [s.ground, *along], along, strict=False):
        s.connect(axis, da.Prismatic(axis), before, after)
    s.connect("yaw", da.Revolute("z"), carrier, heading)
    s.connect("lean", da.Revolute("x"), heading, leaning)
    s.connect("spin", da.Revolute("y"), leaning, disc)
    s.connect("floor", da.RollingDisc(r), s.ground, disc)
    return s


@pytest.mark.parametrize("lean", [0.0, 0.3])
@pytest.mark.parametrize("spin", [0.0, 1.1, math.pi])
def test_a_rolling_disc_has_three_dofs_wherever_it_stands(lean: float, spin: float) -> None:
    """T20: rank 3 of 6 degrees of freedom, upright and leaning, turned anyhow."""
    model = coin_of_joints().compile()
    q = np.array([0.2, -0.1, r * math.cos(lean), 0.4, lean, spin])
    assert np.abs(model.constraint_residual(q)[[k for k, hold in enumerate(model.holonomic) if hold]]).max() < 1e-14
    assert np.linalg.matrix_rank(model.constraint_jacobian(q), tol=1e-9) == 3


def test_a_disc_of_joints_moves_as_the_exact_coin() -> None:
    """T20: yaw, lean and spin driven; places are integrated, speeds and accelerations those of the rolled path."""
    s = coin_of_joints()
    X = coin(0.0)
    for axis, place in zip("xyz", X, strict=False):
        s.initial(axis, position=float(place))
    s.drive("yaw", position=lambda t: (0.3 + 0.6 * t + 0.2 * math.sin(t), 0.6 + 0.2 * math.cos(t), -0.2 * math.sin(t)))
    s.drive("lean", position=da.Harmonic(0.1, 2.0, offset=0.25))
    times = np.linspace(0.0, 0.8, 5)
    s.drive("spin", position=da.Polynomial((0.0, 1.1, 0.15)))
    motion = da.kinematics(s, times=times)
    for k, t in enumerate(times):
        wanted = coin(float(t))
        v, a = rates_of(coin, float(t), 4e-3)
        assert motion["disc.position"][k] == pytest.approx(wanted[:3], abs=1e-9)
        assert motion["disc.velocity"][k] == pytest.approx(v[:3], abs=1e-8)
        assert motion["disc.acceleration"][k] == pytest.approx(a[:3], abs=1e-6)
        assert motion["disc.rotation"][k] @ np.array([0, 1.0, 0]) == pytest.approx(wanted[6:9], abs=1e-9)
        assert motion[f"disc.at(0, 0, {r}).position"][k] == pytest.approx(wanted[3:6], abs=1e-9)
        assert motion[f"disc.at(0, 0, {r}).acceleration"][k] == pytest.approx(a[3:6], abs=1e-6)


def test_kinetic_energy_of_particles() -> None:
    """T21: half v M v of a body on a ball joint is the energy of its particles."""
    random = np.random.default_rng(5)
    places, masses = random.standard_normal((40, 3)), random.random(40)
    g = masses @ places / masses.sum()
    away = places - g
    J = (masses @ (away**2).sum(axis=1)) * np.eye(3) - (away.T * masses) @ away
    s = da.System("cloud")
    s.connect("A", da.Spherical(), s.ground, s.body("b", mass=float(masses.sum()), com=g, inertia=J))
    model = s.compile()
    q = model.integrate(model.initial_state().q, random.standard_normal(3))
    v = random.standard_normal(3)
    pose, w = model.pose("b", q), model.velocity("b", q, v)[:3]
    energy = 0.5 * float(masses @ (np.cross(w, places @ pose.rotation.T) ** 2).sum(axis=1))
    assert 0.5 * v @ model.mass_matrix(q) @ v == pytest.approx(energy, rel=1e-13)


# ---- problems


def test_problem_3_13_geneva_wheel_by_joints() -> None:
    """Pin in slot: a block slides in the wheel."""
    a, b = 1.0, math.sqrt(2)
    s = da.System("Geneva")
    driver, block, wheel = s.body("driver"), s.body("block"), s.body("wheel")
    s.connect("A", da.Revolute("z"), s.ground, driver)
    s.connect("pin", da.Revolute("z"), driver.at(a, 0, 0), block)
    s.connect("slot", da.Prismatic("x"), wheel, block)
    s.connect("C", da.Revolute("z"), s.ground.at(b, 0, 0), wheel)
    s.initial("slot", position=-(b - a), guess=True)
    t = np.linspace(0, math.pi / 4 - 0.01, 20)
    motion = da.kinematics(s, drive="A", values=t)
    phi = np.arctan2(a * np.sin(t), b - a * np.cos(t))
    assert motion["C.position"] - motion["C.position"][0] == pytest.approx(-phi, abs=1e-12)
    rate = a * (b * np.cos(t) - a) / (a * a + b * b - 2 * a * b * np.cos(t))
    assert motion["C.speed"] == pytest.approx(-rate, abs=1e-11)


def test_problems_3_15_and_3_16_by_joints() -> None:
    """A string turns a frame; a rod of sqrt(2) on two edges of a unit cube."""
    s = da.System("frame")
    frame = s.body("frame")
    s.connect("AB", da.Revolute("x"), s.ground, frame)
    start = float(np.linalg.norm([1, -1, -1.3]))
    s.connect("string", da.Distance(start), s.ground.at(1, 2, 1.5), frame.at(2, 1, 0.2))
    s.drive("string", position=da.Polynomial((start, -0.1)))
    motion = da.kinematics(s, times=np.linspace(0, 1, 11))
    d = motion["frame.at(2, 1, 0.2).position"] - np.array([1, 2, 1.5])
    assert np.linalg.norm(d, axis=1) == pytest.approx(start - 0.1 * motion.t, abs=1e-12)
    speeds = (d * motion["frame.at(2, 1, 0.2).velocity"]).sum(axis=1)
    assert speeds == pytest.approx(-0.1 * np.linalg.norm(d, axis=1), abs=1e-12)
    s = da.System("rod")
    first, second = s.body("first"), s.body("second")
    s.connect("s1", da.Prismatic("x"), s.ground, first)
    s.connect("s2", da.Prismatic("z"), s.ground.at(0, 1, 0), second)
    s.connect("rod", da.Distance(math.sqrt(2)), first, second)
    s.initial("s2", position=0.8, guess=True)
    motion = da.kinematics(s, drive="s1", values=np.linspace(0.6, 0.9, 16), speed=0.1)
    s1, s2 = motion["s1.position"], motion["s2.position"]
    assert s2 == pytest.approx(np.sqrt(1 - s1**2), abs=1e-12)
    assert s2 * motion["s2.speed"] == pytest.approx(-s1 * 0.1, abs=1e-12)


def test_problems_3_17_and_3_19_by_joints() -> None:
    """T23: an RSSR has one degree of freedom and the rod's idle spin; a body in a plane has three."""
    s = da.System("RSSR")
    crank, rod, rocker = s.body("crank"), s.body("rod"), s.body("rocker")
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("1", da.Spherical(), crank.at(0.6, 0.8, 0), rod)
    s.connect("2", da.Spherical(), rod.at(3.3, -0.8, 1.2), rocker.at(0.9, 0, 1.2))
    s.connect("B", da.Revolute("y"), s.ground.at(3, 0, 0), rocker)
    report = da.mobility(s)
    assert report.mobility == 2 == report.gruebler
    s = da.System("plane")
    s.connect("P", da.Planar("z"), s.ground.at(0, 0, 0.2), s.body("body"))
    assert da.mobility(s).mobility == 3


def test_problem_3_21_a_frame_is_led_by_joints() -> None:
    """Rz Ry Rx of yaw, pitch and roll; angular velocity in closed form."""
    s = da.System("hand")
    a, b, hand = s.body("a"), s.body("b"), s.body("hand")
    s.connect("yaw", da.Revolute("z"), s.ground, a)
    s.connect("pitch", da.Revolute("y"), a, b)
    s.connect("roll", da.Revolute("x"), b, hand)
    for name, law in (("yaw", (0.4, 0.7)), ("pitch", (0.3, -0.2)), ("roll", (-0.6, 1.1))):
        s.drive(name, position=da.Polynomial(law))
    motion = da.kinematics(s, times=[0.0, 2.0])
    assert motion["hand.angular_velocity"][0] == pytest.approx(
        [1.045799162371, 0.225015908336, 0.374927772673], abs=1e-11
    )
    t = 2.0
    there = rotated([0, 0, 1], 0.4 + 0.7 * t) @ rotated([0, 1, 0], 0.3 - 0.2 * t) @ rotated([1, 0, 0], -0.6 + 1.1 * t)
    assert motion["hand.rotation"][-1] == pytest.approx(there, abs=1e-12)
