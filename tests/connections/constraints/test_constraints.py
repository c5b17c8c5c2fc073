"""Constraint and coupling elements: rows, motion and forces against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.contacts.random_contacts import CONTACTS
from systems.linkages import four_bar
from systems.random_trees import derivative

import dalembert as da

Array = NDArray[np.float64]

RNG = np.random.default_rng(3)
ELEMENTS = {
    "distance": da.Distance(1.3),
    "point on point": da.PointOnPoint(),
    "point on line": da.PointOnLine((1, 2, 3)),
    "point on plane": da.PointOnPlane((1, -2, 3)),
    "parallel": da.Parallel((1, 2, 3), (0, 1, -1)),
    "perpendicular": da.Perpendicular((1, 2, 0), "-z"),
    "angle": da.AxisAngle("x", (1, 1, 1), 0.7),
    "turn": da.AxisAngle("x", (1, 1, 1), 0.7, about=(0, 0.2, 1)),
    "skate": da.KnifeEdge((1, 1, 0)),
    "rolling sphere": da.RollingSphere(0.4, "-y"),
    "rolling disc": da.RollingDisc(0.4, "x", (0, 1, 1)),
    **{name: contact(RNG) for name, contact in CONTACTS.items()},
    "roller without slip": da.RollingCam(da.Curve.path([da.Arc((0.1, 0.05), 0.5, 0.0, 2 * np.pi)]), 0.3),
}


def two_bodies(element: da.Constraint, seed: int = 0) -> da.Model:
    """Two free bodies joined by nothing but the constraint, at random markers."""
    rng = np.random.default_rng(seed)
    s = da.System(gravity=(0, 0, 0))
    a, b = s.body("a", da.box(1, 2, 3, 4.0)), s.body("b", da.box(3, 1, 2, 5.0))
    markers = [x.at(*rng.normal(size=3), rotation=da.quaternion(*rng.normal(size=4))) for x in (a, b)]
    s.connect("E", element, *markers)
    return s.compile()


@pytest.mark.parametrize("name", ELEMENTS)
@pytest.mark.parametrize("seed", range(3))
def test_rows_are_rates_of_residuals(name: str, seed: int) -> None:
    element = ELEMENTS[name]
    model = two_bodies(element, seed)
    state = model.random_state(seed)
    q, v, a = state.q, state.v, np.random.default_rng(seed).normal(size=model.nv)

    def at(t: float) -> tuple[Array, Array]:
        x, steps = q, 32
        for k in range(steps):
            x = model.integrate(x, t / steps * (v + (k + 0.5) * t / steps * a))
        return x, v + t * a

    P = model.constraint_jacobian(q)
    rate = derivative(lambda t: model.constraint_residual(at(t)[0]))
    holonomic = model.holonomic
    assert np.allclose((P @ v)[holonomic], rate[holonomic], atol=1e-8)
    second = derivative(lambda t: model.constraint_jacobian(at(t)[0]) @ at(t)[1])
    # five-point differences of rows that turn at a few rad/s
    assert np.allclose(P @ a + model.constraint_bias(q, v), second, atol=1e-6 * (1 + np.abs(second).max()))
    assert (model.constraint_residual(q)[~holonomic] == 0).all()


@pytest.mark.parametrize("name", ELEMENTS)
def test_reactions_are_internal_and_do_no_work(name: str) -> None:
    """Whatever the constraint does, it changes neither momentum nor, without drives, energy."""
    model = two_bodies(ELEMENTS[name], 5)
    q = da.assemble(model, state=model.random_state(5).q, starts=20, seed=1).q
    v = da.consistent_velocities(model, q, np.random.default_rng(1).normal(size=model.nv))
    assert np.abs(model.constraint_jacobian(q) @ v).max() < 1e-10
    a = model.forward_dynamics(q, v)
    assert np.allclose(model.constraint_jacobian(q) @ a, -model.constraint_bias(q, v), atol=1e-9)
    # both bodies are free: momentum stays, and the power of the multipliers P v . lam vanishes
    if not name.startswith("rolling"):
        rate = derivative(
            lambda t: model.momentum(model.integrate(q, t * v + t * t / 2 * a), v + t * a, about=(0, 0, 0))
        )
        assert np.abs(rate).max() < 1e-6
    power = model.multipliers(q, v) @ (model.constraint_jacobian(q) @ v)
    assert abs(power) < 1e-8


def test_a_massless_bar_carries_the_weight() -> None:
    s = da.System()
    ball = s.body("ball", da.sphere(0.1, 2.0))
    s.connect("bar", da.Distance(1.0), s.ground, ball)
    model = s.compile()
    q = model.zero_configuration()
    q[6] = -1.0  # hanging
    a = model.forward_dynamics(q, np.zeros(6))
    assert np.abs(a).max() < 1e-12
    assert model.multipliers(q, np.zeros(6))[0] == pytest.approx(-2.0 * 9.81)  # it pulls
    load = model.connection_loads(q, np.zeros(6))["bar"]
    assert np.allclose(load, [0, 0, 0, 0, 0, 2.0 * 9.81])


def test_loads_come_in_world_or_marker_axes() -> None:
    s = da.System()
    ball = s.body("ball", da.sphere(0.1, 2.0))
    arm = s.body("arm", da.rod(1.0, 1.0, radius=0.01))
    s.connect("pin", da.Fixed(), arm, s.ground.at(rotation=("x", np.pi / 2)))  # named backwards: ground is second
    s.connect("bar", da.Distance(1.0), arm, ball.at(rotation=("y", np.pi / 2)))
    model = s.compile()
    guess = model.zero_configuration()
    guess[model.coordinate_names.index("ball.free.z")] = -1.0
    q = da.assemble(model, state=guess).q
    world, marker = (model.connection_loads(q, np.zeros(6), axes=x) for x in ("world", "marker"))
    for name, end in (("pin", s["pin"].second), ("bar", s["bar"].second)):
        R = model.pose(end, q).rotation
        assert np.allclose(R @ marker[name][:3], world[name][:3]) and np.allclose(R @ marker[name][3:], world[name][3:])
    # ground carries the weight of both; the moment is that of the arm's weight about the pin
    arm_centre = model.pose(arm.at(0.5), q).position
    assert np.allclose(world["pin"][3:], [0, 0, -3.0 * 9.81])
    assert np.allclose(world["pin"][:3], np.cross(arm_centre, [0, 0, -9.81]))
    with pytest.raises(da.ModelError, match="axes"):
        model.connection_loads(q, np.zeros(6), axes="body")


def test_a_pendulum_on_a_bar_falls_as_one_on_a_joint() -> None:
    s = da.System()
    ball = s.body("ball", mass=2.0, inertia=(1, 1, 1))
    s.connect("bar", da.Distance(1.0), s.ground, ball)
    model = s.compile()
    q = model.zero_configuration()
    q[4] = 1.0  # level
    a = model.acceleration("ball", q, np.zeros(6), model.forward_dynamics(q, np.zeros(6)))
    assert np.allclose(a, [0, 0, 0, 0, 0, -9.81])
    v = np.array([0, 0, 0, 0, 0, 3.0])  # upwards: centripetal acceleration v^2 / l
    a = model.acceleration("ball", q, v, model.forward_dynamics(q, v))
    assert np.allclose(a[3:], [-9.0, 0, -9.81])


def rolling(element: da.Constraint, body: tuple[float, float]) -> da.Model:
    """A body (mass, moment of inertia about its axis) on a slope of 30 degrees along x."""
    s = da.System()
    mass, moment = body
    wheel = s.body("wheel", mass=mass, inertia=(moment, moment, moment))
    s.connect("road", element, s.ground.at(rotation=("y", np.pi / 6)), wheel)
    return s.compile()


@pytest.mark.parametrize("element", [da.RollingSphere(0.5), da.RollingDisc(0.5, "y")])
def test_a_wheel_rolls_down_a_slope(element: da.Constraint) -> None:
    m, J, r, slope = 3.0, 0.2, 0.5, np.pi / 6
    model = rolling(element, (m, J))
    normal, down = np.array([np.sin(slope), 0, np.cos(slope)]), np.array([np.cos(slope), 0, -np.sin(slope)])
    q = model.zero_configuration()
    q[4:7] = r * normal
    assert np.abs(model.constraint_residual(q)).max() < 1e-15
    a = model.acceleration("wheel", q, np.zeros(6), model.forward_dynamics(q, np.zeros(6)))
    expected = 9.81 * np.sin(slope) / (1 + J / (m * r * r))
    assert np.allclose(a[3:], expected * down)
    assert np.allclose(a[:3], [0, expected / r, 0])
    force = model.connection_loads(q, np.zeros(6))["road"][3:]
    assert force @ normal == pytest.approx(m * 9.81 * np.cos(slope))
    assert force @ down == pytest.approx(m * (expected - 9.81 * np.sin(slope)))


def test_rows_of_a_rolling_disc_keep_their_rank_in_every_heading() -> None:
    model = rolling(da.RollingDisc(0.5, "y"), (1.0, 0.1))
    rng = np.random.default_rng(0)
    least = min(
        np.linalg.svd(model.constraint_jacobian(model.random_state(rng).q), compute_uv=False)[-1] for _ in range(200)
    )
    assert least > 0.5  # the velocity of the centre alone gives rank three, with singular values of at least about one


def test_a_skate_glides_in_circles() -> None:
    """A blade with its mass centre above it keeps speed and spin: it moves on a circle of radius v / omega."""
    s = da.System(gravity=(0, 0, 0))
    blade = s.body("blade", mass=2.0, inertia=(0.1, 0.1, 0.1))
    s.connect("ice", da.Planar("z"), s.ground, blade)
    s.connect("edge", da.KnifeEdge("y"), s.ground, blade)
    model = s.compile()
    q = np.array([0.3, -0.2, 0.7])
    speed, spin = 2.0, 1.5
    v = np.array([speed * np.cos(q[2]), speed * np.sin(q[2]), spin])
    a = model.forward_dynamics(q, v)
    assert np.allclose(a, [-speed * spin * np.sin(q[2]), speed * spin * np.cos(q[2]), 0])
    assert abs(model.multipliers(q, v)[0]) == pytest.approx(2.0 * speed * spin)
    report = da.mobility(model, q)
    assert report.mobility == 2


def test_a_gear_pair_turns_in_its_ratio() -> None:
    s = da.System(gravity=(0, 0, 0))
    J1, J2 = 0.3, 0.8
    for name, J in (("one", J1), ("two", J2)):
        s.body(name, mass=1.0, inertia=(J, J, J))
    s.connect("A", da.Revolute("z"), s.ground, s["one"])
    s.connect("B", da.Revolute("z"), s.ground.at(1), s["two"])
    s.connect("mesh", da.gear(20, 40), "A", "B")
    model = s.compile()
    assert model.constraint_names == ("mesh.ratio",)
    torque = 2.0
    a = model.forward_dynamics([0.4, -0.2], [1.0, -0.5], [torque, 0.0])
    expected = torque / (J1 + J2 / 4)
    assert np.allclose(a, [expected, -expected / 2])
    assert np.allclose(model.constraint_residual([0.4, -0.2]), 0)
    assert model.multipliers([0.4, -0.2], [1.0, -0.5], [torque, 0.0])[0] == pytest.approx(J2 * -expected / 2)
    assert "coupling mesh: B = -0.5 A" in model.forest.chart()
    report = da.mobility(model)
    assert (report.mobility, report.gruebler) == (1, 1)


def test_couplings_of_angles_and_slides() -> None:
    s = da.System(gravity=(0, 0, 0))
    for name in ("wheel", "bar", "nut"):
        s.body(name, mass=2.0, inertia=(0.1, 0.1, 0.1))
    s.connect("A", da.Revolute("z"), s.ground, s["wheel"])
    s.connect("R", da.Prismatic("x"), s.ground.at(0, 1), s["bar"])
    s.connect("N", da.Cylindrical("z"), s.ground.at(1), s["nut"])
    s.connect("rack", da.rack_and_pinion(0.2), "A", s["R"])
    s.connect("thread", da.screw_coupling(0.01), "A", "N.slide")
    s.connect("strap", da.belt(0.1, 0.3), "A", "N.angle")
    model = s.compile()
    a = model.forward_dynamics(np.zeros(4), np.zeros(4), [1.0, 0, 0, 0])
    alpha = 1.0 / (0.1 + 2.0 * 0.2**2 + 2.0 * (0.01 / (2 * np.pi)) ** 2 + 0.1 / 9)
    assert np.allclose(a, [alpha, 0.2 * alpha, alpha / 3, 0.01 / (2 * np.pi) * alpha])


def test_a_coupled_joint_is_never_cut() -> None:
    s = da.System()
    a, b = s.body("a", da.rod(1, 1)), s.body("b", da.rod(1, 1))
    s.connect("A", da.Revolute("y"), s.ground, a)
    s.connect("B", da.Revolute("y"), a.at(1), b)
    s.connect("C", da.Revolute("y"), s.ground.at(1), b.at(1))
    s.connect("g", da.Coupling(-1.0), "A", "C")
    assert [loop_constraint.name for loop_constraint in s.forest().loop_constraints] == ["B"]
    s.connect("h", da.Coupling(1.0), "B", "C")  # then a weld beside one of them is
    assert [loop_constraint.name for loop_constraint in s.compile().forest.loop_constraints] == ["C.weld"]


@pytest.mark.parametrize("wheels", ["ABCD", "DCBA", "BADC"])
def test_wheels_geared_to_every_joint_of_a_loop(wheels: str) -> None:
    """A wheel on the frame geared to a joint is an armature of it; on a moving link it spins with that too."""

    def geared_four_bar(geared: str, armature: float | None) -> da.System:
        s = four_bar((1.0, 1.5, 1.2), 2.0, masses=(1.0, 1.0, 1.0), joints={"D": {"armature": armature}})
        carriers = {"A": s.ground, "B": s.bodies["crank"], "C": s.bodies["coupler"], "D": s.ground}
        for name in geared:
            wheel = s.body(f"wheel_{name}", mass=0.2, inertia=(0.01, 0.02, 0.01))
            s.connect(f"axle_{name}", da.Revolute("y"), carriers[name].at(0, 0, 0.3), wheel)
            s.connect(f"gear_{name}", da.Coupling(2.0), name, f"axle_{name}")
        s.initial("A", position=-1.2)
        s.initial("D", position=-1.5, guess=True)
        return s

    result = da.simulate(geared_four_bar(wheels, None), 1.0, rtol=1e-10, atol=1e-12)
    twin = da.simulate(geared_four_bar(wheels.replace("D", ""), 0.02 * 2.0**2), 1.0, rtol=1e-10, atol=1e-12)
    for name in "ABCD":
        assert result[f"{name}.position"][-1] == pytest.approx(twin[f"{name}.position"][-1], abs=1e-8)
        assert np.ptp(result[f"axle_{name}.position"] - 2.0 * result[f"{name}.position"]) < 1e-10
    assert abs(result["energy.balance"]).max() < 1e-8 and not result.stats.notes
    assert result["gear_D.effort"][-1] == pytest.approx(0.02 * result["axle_D.acceleration"][-1], abs=1e-6)


def test_constraints_survive_copies_and_go_with_their_joints() -> None:
    s = da.System()
    a, b = s.body("a", da.rod(1, 1)), s.body("b", da.rod(1, 1))
    s.connect("A", da.Revolute("y"), s.ground, a)
    s.connect("B", da.Revolute("y"), a.at(1), b)
    s.connect("g", da.Coupling(-1.0), "A", "B")
    s.connect("d", da.PointOnPlane("y"), s.ground, b)
    t = s.copy()
    assert t["g"].first is t["A"] and t.compile().nc == 2
    s.remove("B")
    assert "g" not in s and "d" in s


BAD = {
    "length": (lambda s: da.Distance(0.0), "length"),
    "radius": (lambda s: da.RollingSphere(-1.0), "radius"),
    "angle": (lambda s: da.AxisAngle("x", "y", 0.0), "Parallel"),
    "axis": (lambda s: da.PointOnLine((0, 0, 0)), "axis"),
    "ratio": (lambda s: da.Coupling(0.0), "ratio"),
    "teeth": (lambda s: da.gear(0, 3), "teeth_1"),
    "markers": (lambda s: s.connect("g", da.Coupling(1.0), s.ground, s["a"]), "give a joint's connection"),
    "itself": (lambda s: s.connect("g", da.Coupling(1.0), "A", "A"), "two different coordinates"),
    "which coordinate": (lambda s: s.connect("g", da.Coupling(1.0), "A", "U"), r"U\.angle_1"),
    "quaternion": (lambda s: s.connect("g", da.Coupling(1.0), "A", "S"), "no coordinate of its own"),
    "initial": (lambda s: s.initial("d", position=1.0), "no coordinates"),
    "same body": (
        lambda s: s.connect("x", da.Distance(1.0), s["a"], s["a"].at(1)),
        "is on 'a' too.*two different bodies",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_constraints_are_refused(case: str) -> None:
    s = da.System()
    a, b, c = (s.body(n, da.box(1, 1, 1, 1)) for n in "abc")
    s.connect("A", da.Revolute("y"), s.ground, a)
    s.connect("U", da.Universal(), a, b)
    s.connect("S", da.Spherical(), b, c)
    s.connect("d", da.PointOnPlane(), s.ground, c)
    action, pattern = BAD[case]
    with pytest.raises(da.ModelError, match=pattern):
        action(s)
