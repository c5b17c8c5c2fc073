"""Laws of time and the drives that follow them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from systems.random_trees import derivative

import dalembert as da
from dalembert.connections.laws import as_law
from dalembert.library.mechanisms import parallelogram, slider_crank
from dalembert.model.drive_targets import constraint_targets, drive_targets

LAWS = {
    "constant": (da.Constant(2.5), 1e-12),
    "polynomial": (da.Polynomial((1.0, -2.0, 0.5, 3.0)), 1e-10),
    "harmonic": (da.Harmonic(0.7, 3.0, 0.2, -1.0), 1e-9),
    "ramp": (da.Ramp(1.0, 4.0, 2.0, begin=-0.5), 1e-9),
    "cubic": (da.Spline(np.linspace(-1, 3, 30), np.sin(np.linspace(-1, 3, 30))), 1e-7),
    "quintic": (da.Spline(np.linspace(-1, 3, 30), np.sin(np.linspace(-1, 3, 30)), degree=5), 1e-7),
    "function": (da.FunctionLaw(np.sin), 1e-7),
    "function with rate": (da.FunctionLaw(np.sin, np.cos), 1e-9),
    "function with both": (da.FunctionLaw(np.sin, np.cos, lambda t: -np.sin(t)), 1e-9),
    "integral": (da.Integral(da.Harmonic(0.7, 3.0, 0.2, -1.0), 2.0), 1e-9),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("t", [0.0, 0.37, 1.21])
def test_rates_of_a_law_are_its_derivatives(name: str, t: float) -> None:
    law, tolerance = LAWS[name]
    step = 1e-3
    first = derivative(lambda h: np.array(law(t + h)[0]), step)
    second = derivative(lambda h: np.array(law(t + h)[1]), step)
    assert law(t)[1] == pytest.approx(float(first), abs=10 * tolerance)
    assert law(t)[2] == pytest.approx(float(second), abs=100 * tolerance)


def test_a_ramp_starts_and_ends_at_rest() -> None:
    ramp = da.Ramp(1.0, 4.0, 2.0)
    assert ramp(-1.0) == ramp(0.0) == (1.0, 0.0, 0.0) and ramp(2.0) == ramp(9.0) == (4.0, 0.0, 0.0)
    assert ramp(1.0)[0] == pytest.approx(2.5) and ramp(1.0)[1] == pytest.approx(3.0)


@pytest.mark.parametrize("s", [1e-300, 1e-100, 1e-9, 1e-5, 1e-3, 0.02, 0.0795, 0.0797])
def test_a_ramp_begins_to_the_last_digit(s: float) -> None:
    """rise (2 pi s)^3 / 12 pi and so on: differences of nearly the same numbers would lose what is left."""
    x = 2 * np.pi * s
    lag = sum((-1) ** k * x ** (2 * k + 3) / math.factorial(2 * k + 3) for k in reversed(range(9)))
    turn = sum((-1) ** k * x ** (2 * k + 2) / math.factorial(2 * k + 2) for k in reversed(range(9)))
    wanted = (3.0 * lag / (2 * np.pi), 3.0 * turn, 3.0 * 2 * np.pi * np.sin(x))
    ramp = da.Ramp(0.0, 3.0, 1.0)
    assert ramp(s) == pytest.approx(wanted, rel=4e-15, abs=0.0)
    system = da.System("driven")
    system.connect("A", da.Revolute("y"), system.ground, system.body("b", da.rod(1.0, 1.0)))
    system.drive("A", position=ramp)
    motion = da.driven_motion(system.compile(), t=s)
    assert (motion.q[0], motion.v[0], motion.a[0]) == pytest.approx(wanted, rel=4e-15, abs=1e-298)


def test_a_driven_run_begins_where_its_ramp_does() -> None:
    system = da.System("driven")
    system.connect("A", da.Revolute("y"), system.ground, system.body("b", da.rod(1.0, 1.0)))
    system.drive("A", position=da.Ramp(0.0, 3.0, 1.0))
    result = da.simulate(system, 0.1)
    assert result["A.position"][0] == 0.0 and result["A.speed"][0] == 0.0


def test_a_spline_goes_through_its_points() -> None:
    t, x = [0.0, 0.5, 1.1, 2.0, 2.2, 3.0], [1.0, 2.0, -1.0, 0.0, 0.5, 4.0]
    for degree in (3, 5):
        law = da.Spline(t, x, degree)
        assert np.allclose([law(s)[0] for s in t], x, atol=1e-12)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("t", [-0.8, 0.0, 0.37, 1.21, 2.9])
def test_an_integral_starts_as_given_and_grows_with_its_law(name: str, t: float) -> None:
    from scipy.integrate import quad

    law, _ = LAWS[name]
    value, rate, second = da.Integral(law, start=0.3)(t)
    expected, *_ = quad(lambda s: law(s)[0], 0.0, t, epsabs=1e-13, epsrel=1e-13, limit=500)
    assert value == pytest.approx(0.3 + expected, abs=1e-11)
    assert (rate, second) == law(t)[:2]


def test_an_integral_is_exact_over_ramps_and_slow_waves() -> None:
    # 1 s at rest, 2 s from 0 to 4 m/s with mean 2, 2 s at 4 m/s
    assert da.Integral(da.Ramp(0.0, 4.0, 2.0, begin=1.0), start=1.0)(5.0)[0] == pytest.approx(1 + 4 + 8)
    assert da.Integral(da.Harmonic(2.0, 0.0, np.pi / 2))(3.0)[0] == pytest.approx(6.0)
    assert da.Integral(da.Integral(3.0, start=1.0), start=0.5)(2.0) == pytest.approx((0.5 + 2 + 6, 1 + 6, 3.0))
    with pytest.raises(da.ModelError, match="from 1 s to 4 s"):
        da.Integral(da.Spline([1, 2, 3, 4], [0, 1, 2, 3]))(2.0)
    with pytest.raises(da.ModelError, match="too rough"):
        da.Integral(lambda t: np.sin(1e5 * t**2))(100.0)


def test_numbers_callables_and_triples_become_laws() -> None:
    assert as_law(3, item="x", field="y")(7.0) == (3.0, 0.0, 0.0)
    assert as_law(np.sin, item="x", field="y")(0.0)[1] == pytest.approx(1.0)

    def triple(t: float) -> tuple[float, float, float]:
        return t * t, 2 * t, 2.0

    assert as_law(triple, item="x", field="y")(3.0) == (9.0, 6.0, 2.0)


def driven_slider_crank(**law: object) -> tuple[da.System, str]:
    s = slider_crank()
    crank = next(iter(s.connections))
    s.drive(crank, **law)
    return s, crank


def test_a_driven_mechanism_moves_as_its_drive_says() -> None:
    s, crank = driven_slider_crank(position=da.Harmonic(0.8, 5.0, 0.3, 1.0))
    model = s.compile()
    h, t = 1e-4, 0.2
    motion = da.driven_motion(model, t)
    assert motion.q[model.q_slice(crank)][0] == 1.0 + 0.8 * np.sin(5.0 * t + 0.3)
    near = {k: da.driven_motion(model, t + k * h, state=motion.q) for k in (-2, -1, 1, 2)}

    def rate(of: str) -> np.ndarray:
        x = {k: getattr(m, of) for k, m in near.items()}
        return np.asarray((8 * (x[1] - x[-1]) - (x[2] - x[-2])) / (12 * h))

    assert np.allclose(rate("q"), motion.v, atol=1e-7)
    assert np.allclose(rate("v"), motion.a, atol=1e-5)


def test_the_effort_of_a_drive_is_that_of_inverse_dynamics() -> None:
    s, crank = driven_slider_crank(position=da.Polynomial((0.4, 12.0, -3.0)))
    model = s.compile()
    motion = da.driven_motion(model, 0.05)
    found = model.dynamics(0.05, motion.q, motion.v)
    a, tau = found.a, found.tau
    assert np.allclose(a, motion.a, atol=1e-8)
    efforts = da.inverse_dynamics(model, motion.q, motion.v, motion.a, actuators=crank)
    assert np.allclose(tau, efforts.tau, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("law", [{"speed": 3.0}, {"acceleration": 2.0}])
def test_speed_and_acceleration_drives_leave_the_position_open(law: dict[str, float]) -> None:
    s, crank = driven_slider_crank(**law)
    model = s.compile()
    q, v, a = (x[model.v_slice(crank)][0] for x in drive_targets(model, 1.0))
    assert np.isnan(q)
    assert (v == 3.0 and a == 0.0) if "speed" in law else (np.isnan(v) and a == 2.0)
    motion = da.driven_motion(model, 1.0, state=dict.fromkeys((f"{name}.speed" for name in model.joint_names), 0.1))
    assert np.abs(model.constraint_jacobian(motion.q) @ motion.v).max() < 1e-12


def test_an_open_chain_may_be_driven_too() -> None:
    from dalembert.library import chain

    s = chain(4)
    names = list(s.connections)
    s.drive(names[1], position=da.Harmonic(1.0, 2.0))
    model = s.compile()
    motion = da.driven_motion(model, 0.3)
    found = model.dynamics(0.3, motion.q, motion.v)
    a, tau = found.a, found.tau
    assert a[1] == motion.a[1] and tau[1] != 0 and (np.delete(tau, 1) == 0).all()
    assert np.allclose(model.inverse_dynamics(motion.q, motion.v, a), tau, atol=1e-9)


def test_a_driven_joint_is_never_cut() -> None:
    s = da.System()
    a, b = s.body("a", da.rod(1, 1)), s.body("b", da.rod(1, 1))
    s.connect("A", da.Revolute("y"), s.ground, a)
    s.connect("B", da.Revolute("y"), a.at(1), b)
    s.connect("C", da.Revolute("y"), s.ground.at(1), b.at(1))
    s.drive("C", position=0.1)
    assert [loop_constraint.name for loop_constraint in s.forest().loop_constraints] == ["B"]
    s.drive("A", position=0.1)
    s.drive("B", position=0.1)
    assert [loop_constraint.name for loop_constraint in s.forest().loop_constraints] == [
        "C.weld"
    ]  # all are driven: what ends on a link is cut


def led_parallelogram(driven: str, turn: float = 2.0, misfit: float = 0.0) -> da.System:
    """Return one of rods of 1 kg; joints of these names are driven, by laws that fit but for a misfit of C."""
    s = da.System("parallelogram")
    a, b, c = (s.body(name, da.rod(length, 1.0)) for name, length in (("a", 0.5), ("b", 1.0), ("c", 0.5)))
    s.connect("A", da.Revolute("y"), s.ground, a)
    s.connect("B", da.Revolute("y"), a.at(0.5, 0, 0), b)
    s.connect("C", da.Revolute("y"), b.at(1, 0, 0), c.at(0.5, 0, 0))
    s.connect("D", da.Revolute("y"), s.ground.at(1, 0, 0), c)
    for name, sign in (("A", 1), ("B", -1), ("C", 1), ("D", 1)):
        offset = misfit if name == "C" else 0.0
        if name in driven:
            s.drive(name, position=da.Polynomial((sign * 1.0 + offset, sign * turn)))
        else:
            s.initial(name, position=sign * 1.0)
    return s


def test_all_joints_of_a_loop_may_be_driven() -> None:
    s = led_parallelogram("ABCD")
    result = da.simulate(s, 0.5)
    alone = da.simulate(led_parallelogram("A"), 0.5)
    for name in ("A", "B", "C", "D"):
        assert result[f"{name}.position"][-1] == pytest.approx(alone[f"{name}.position"][-1], abs=1e-10)
    assert abs(result["energy.balance"]).max() < 1e-9
    # another share, the same power: all turn at the same rate
    signs = {"A": 1.0, "B": -1.0, "C": 1.0, "D": 1.0}
    together = sum(sign * result[f"{name}.effort"][-1] for name, sign in signs.items())
    assert together == pytest.approx(alone["A.effort"][-1], abs=1e-9)
    times = np.linspace(0, 0.5, 6)
    motion = da.kinematics(s, times=times)
    assert motion["D.position"] == pytest.approx(1.0 + 2.0 * times, abs=1e-12)
    assert da.mobility(s).driven_mobility == 0


def test_efforts_of_redundant_drives_are_reported_as_not_unique() -> None:
    for driven in ("AB", "ABCD"):
        result = da.simulate(led_parallelogram(driven), 0.1)
        assert any("efforts of 'A'" in note and "not unique" in note for note in result.stats.notes)
        assert not result.is_determined("A.effort").any()
        assert "several drives prescribe the same" in result.describe("A.effort")
    alone = da.simulate(led_parallelogram("A"), 0.1)
    assert alone.is_determined("A.effort").all() and alone.stats.notes == []


def test_drives_of_all_joints_that_contradict_each_other_are_named() -> None:
    s = led_parallelogram("ABCD", misfit=0.01)
    for way in (lambda: da.simulate(s, 0.5), lambda: da.kinematics(s, times=np.linspace(0, 0.5, 6))):
        with pytest.raises(da.AssemblyError, match=r"open by 0\.01 rad .* release one of A, B, C, D"):
            way()
    s = led_parallelogram("ABCD")
    s.drive("C", position=da.Polynomial((1.0, 2.1)))
    with pytest.raises(da.AssemblyError, match=r"'C' 2\.1 rad/s"):
        da.simulate(s, 0.5)


def test_contradictory_drives_are_named() -> None:
    s = slider_crank()
    crank, other, *_ = s.connections
    s.drive(crank, position=0.5)
    s.drive(other, position=0.5)
    with pytest.raises(
        da.AssemblyError, match=rf"drives at t = 0 s \('{crank}' 0\.5 rad, '{other}' 0\.5 rad\).*stays open by"
    ):
        da.driven_motion(s, 0.0)
    s = slider_crank()
    s.drive(crank, speed=1.0)
    s.drive(other, speed=1.0)
    with pytest.raises(
        da.AssemblyError, match=r"'A' 1 rad/s.*contradict.*would open at .* m/s.*1 DOF: prescribe fewer"
    ):
        da.driven_motion(s, 0.0)
    s = slider_crank()
    s.drive(crank, acceleration=1.0)
    s.drive(other, acceleration=1.0)
    with pytest.raises(da.SingularityError, match=r"'A' 1 rad/s2.*would open at .* m/s2.*1 DOF: prescribe fewer"):
        da.driven_motion(s, 0.0)


def lift(**high: object) -> da.System:
    """A plate on a rail whose height is driven twice, once 0.1 m and 1 m/s."""
    s = da.System("lift")
    plate = s.body("plate", da.box(1, 1, 1, 1))
    s.connect("rail", da.Prismatic("z"), s.ground, plate)
    s.connect("low", da.PointOnPlane("z"), s.ground, plate)
    s.connect("high", da.PointOnPlane("z"), s.ground.at(0, 0, 1), plate.at(0.3, 0, 1))
    s.drive("low", position=da.Polynomial((0.1, 1.0)))
    s.drive("high", **high)
    return s


def test_driven_constraints_that_contradict_each_other_are_named() -> None:
    text = r"'low' 0\.1 m, 'high' 0\.2 m\).*'rail', 'low' and 'high' contradict each other by 0\.05 m"
    with pytest.raises(da.AssemblyError, match=text):
        da.driven_motion(lift(position=0.2))
    with pytest.raises(
        da.AssemblyError, match=r"'low' 1 m/s, 'high' 2 m/s\).*rates of driven constraints contradict.*0\.5 m/s"
    ):
        da.driven_motion(lift(position=da.Polynomial((0.1, 2.0))))
    agreed = da.driven_motion(lift(position=da.Polynomial((0.1, 1.0))), 0.3)
    assert agreed.q[0] == pytest.approx(0.4) and agreed.v[0] == pytest.approx(1.0)


def test_a_drive_against_a_constraint_is_named() -> None:
    s = cylinder_crane(1.0)
    s.drive("pivot", position=1.0)
    with pytest.raises(da.AssemblyError, match=r"'pivot' 1 rad\).*'cylinder' stays open by 0\.342 m.*release pivot"):
        da.driven_motion(s)


def test_a_drive_at_a_dead_point_is_distinguished_from_a_singular_position() -> None:
    s = slider_crank(angle=0.0)
    s.drive("D", position=da.Polynomial((0.8, -0.1)))
    with pytest.raises(da.AssemblyError, match=r"'D' cannot move: a dead point; drive another coordinate, such as 'A'"):
        da.driven_motion(s)
    flat = parallelogram(angle=0.0)
    flat.drive("A", position=da.Polynomial((0.0, 1.0)))
    with pytest.raises(da.SingularityError, match=r"m/s2\. The position is singular: mobility 2 here, 1 nearby"):
        da.driven_motion(flat)


def test_drives_survive_copies_and_go_with_their_joints() -> None:
    s, crank = driven_slider_crank(speed=1.0)
    t = s.copy()
    assert t.drives[crank].connection is t[crank]
    t.remove(crank)
    assert not t.drives and s.drives


def broken(t: float) -> float:
    raise ZeroDivisionError("oops")


BAD = {
    "no law": (lambda s: s.drive("A"), da.ModelError, "exactly one"),
    "two laws": (lambda s: s.drive("A", position=1, speed=1), da.ModelError, "exactly one"),
    "unknown": (lambda s: s.drive("X", position=1), da.ModelError, "'X'"),
    "several coordinates": (lambda s: s.drive("C", position=1), da.ModelError, "C.angle, C.slide"),
    "quaternion": (lambda s: s.drive("S", speed=1), da.ModelError, "S.wx, S.wy, S.wz"),
    "text": (lambda s: s.drive("A", position="fast"), da.ModelError, "position"),
    "not monotonic": (
        lambda s: da.Spline([0, 1, 0.5, 2], [0, 1, 2, 3]),
        da.ModelError,
        r"times\[1:3\] is \[1.0, 0.5\]; they must increase strictly",
    ),
    "too short": (lambda s: da.Spline([0, 1], [0, 1]), da.ModelError, "4 points"),
    "degree": (lambda s: da.Spline([0, 1, 2, 3], [0, 1, 2, 3], 4), da.ModelError, "3 or 5"),
    "outside": (lambda s: da.Spline([0, 1, 2, 3], [0, 1, 2, 3])(4.0), da.ModelError, "from 0 s to 3 s"),
    "duration": (lambda s: da.Ramp(0, 1, 0), da.ModelError, "duration"),
    "empty": (lambda s: da.Polynomial(()), da.ModelError, "coefficients"),
    "raises": (lambda s: s.drive("A", position=broken), da.UserFunctionError, "broken.*oops"),
    "nan": (lambda s: da.FunctionLaw(lambda t: np.nan)(1.0), da.UserFunctionError, "finite"),
    "not callable": (lambda s: da.FunctionLaw(3.0), da.ModelError, "function of time"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_laws_are_refused(case: str) -> None:
    s = da.System()
    a, b, c = (s.body(n, da.box(1, 1, 1, 1)) for n in "abc")
    s.connect("A", da.Revolute("y"), s.ground, a)
    s.connect("C", da.Cylindrical("y"), a, b)
    s.connect("S", da.Spherical(), b, c)
    action, error, pattern = BAD[case]
    with pytest.raises(error, match=pattern):
        action(s)


def cylinder_crane(law: object) -> da.System:
    """A boom about y, raised by a cylinder of prescribed length."""
    s = da.System()
    boom = s.body("boom", da.rod(2.0, 10.0, radius=0.05))
    s.connect("pivot", da.Revolute("-y"), s.ground, boom)
    s.connect("cylinder", da.Distance(1.0), s.ground.at(0.5, 0, -0.5), boom.at(1.0, 0, 0))
    s.drive("cylinder", position=law)
    s.initial("pivot", position=0.4)
    return s


def test_a_constraint_may_be_driven() -> None:
    model = cylinder_crane(da.Harmonic(0.2, 3.0, 0.1, 1.0)).compile()
    h, t = 1e-4, 0.3
    motion = da.driven_motion(model, t)
    angle = motion.q[0]
    distance = np.hypot(np.cos(angle) - 0.5, np.sin(angle) + 0.5)
    assert distance == pytest.approx(1.0 + 0.2 * np.sin(3.0 * t + 0.1), abs=1e-12)
    near = {k: da.driven_motion(model, t + k * h, state=motion.q) for k in (-2, -1, 1, 2)}
    rate = {
        x: (8 * (getattr(near[1], x) - getattr(near[-1], x)) - (getattr(near[2], x) - getattr(near[-2], x))) / (12 * h)
        for x in "qv"
    }
    assert np.allclose(rate["q"], motion.v, atol=1e-8) and np.allclose(rate["v"], motion.a, atol=1e-7)
    a = model.dynamics(t, motion.q, motion.v).a
    assert np.allclose(a, motion.a, atol=1e-10)


def test_the_power_of_a_driven_constraint_is_the_rate_of_energy() -> None:
    model = cylinder_crane(da.Polynomial((0.9, 0.3, -0.2))).compile()
    t = 0.1
    motion = da.driven_motion(model, t)
    efforts = da.inverse_dynamics(model, motion.q, motion.v, motion.a, actuators=[], t=t)
    force, speed = efforts.multipliers[0], constraint_targets(model, t)[1, 0]

    def energy(h: float) -> np.ndarray:
        near = da.driven_motion(model, t + h, state=motion.q)
        return np.array(model.energy(near.q, near.v).total)

    assert force * speed == pytest.approx(float(derivative(energy, 1e-4)), rel=1e-6)


def test_a_driven_angle_and_height() -> None:
    s = da.System(gravity=(0, 0, 0))
    plate = s.body("plate", da.box(1, 1, 1, 1))
    s.connect("lift", da.PointOnPlane("z"), s.ground, plate)
    s.connect("lean", da.AxisAngle("x", "y", 1.2), s.ground, plate)
    s.drive("lift", position=da.Ramp(0.0, 0.5, 1.0))
    s.drive("lean", position=da.Polynomial((1.2, 0.3)))
    motion = da.driven_motion(s, 0.4)
    pose = motion.model.pose("plate", motion.q)
    assert pose.position[2] == pytest.approx(da.Ramp(0.0, 0.5, 1.0)(0.4)[0], abs=1e-12)
    assert np.arccos(pose.rotation[0, 1]) == pytest.approx(1.2 + 0.3 * 0.4, abs=1e-10)
    with pytest.raises(da.ModelError, match="'road'"):
        s.connect("road", da.RollingSphere(1.0), s.ground, plate)
        s.drive("road", position=1.0)


@pytest.mark.parametrize(
    ("law", "position"),
    [
        ({"speed": 0.3}, da.Polynomial((1.0, 0.3))),
        ({"speed": da.Polynomial((0.1, -0.4))}, da.Polynomial((1.0, 0.1, -0.2))),
        ({"speed": lambda t: 0.3 * np.cos(2 * t)}, da.Harmonic(0.15, 2.0, 0.0, 1.0)),
        ({"acceleration": -0.5}, da.Polynomial((1.0, 0.0, -0.25))),
    ],
)
def test_a_cylinder_driven_by_its_speed_starts_from_its_length(law: dict[str, object], position: object) -> None:
    one, other = cylinder_crane(position), cylinder_crane(position)
    other.drive("cylinder", **law)
    models = [s.compile() for s in (one, other)]
    t = 0.4
    a, b = (da.driven_motion(model, t) for model in models)
    for x in ("q", "v", "a"):
        assert np.allclose(getattr(a, x), getattr(b, x), atol=1e-10)
    assert models[0].drive_efforts(t, a.q, a.v) == pytest.approx(models[1].drive_efforts(t, b.q, b.v), rel=1e-8)


def test_an_angle_driven_by_its_speed_starts_from_its_own() -> None:
    s = da.System(gravity=(0, 0, 0))
    plate = s.body("plate", da.box(1, 1, 1, 1))
    s.connect("pin", da.Revolute("z"), s.ground, plate)
    s.connect("lean", da.AxisAngle("x", "y", 1.2), s.ground, plate)
    s.drive("lean", speed=da.Polynomial((0.5, 0.2)))
    s.initial("pin", position=-0.3)
    motion = da.driven_motion(s, 0.6)
    angle = 1.2 + 0.5 * 0.6 + 0.1 * 0.6**2
    # y of the plate is a right angle ahead of x
    assert motion.q[0] == pytest.approx(angle - np.pi / 2, abs=1e-10)
    assert motion.v[0] == pytest.approx(0.5 + 0.2 * 0.6) and motion.a[0] == pytest.approx(0.2)


def guided_arm() -> da.System:
    """An arm of two links whose tip is led around a circle."""
    s = da.System("guided", gravity=(0, 0, -9.81))
    upper, lower = s.body("upper", da.rod(1.0, 2.0, radius=0.02)), s.body("lower", da.rod(0.8, 1.0, radius=0.02))
    s.connect("shoulder", da.Revolute("-y"), s.ground, upper)
    s.connect("elbow", da.Revolute("-y"), upper.at(1.0), lower)
    s.connect("tip", da.PointOnLine("y"), s.ground, lower.at(0.8))
    # the rows of a line along y are z and x
    s.drive("tip.x", position=da.Harmonic(0.2, 3.0, 0.0, 0.5))
    s.drive("tip.y", position=da.Harmonic(0.2, 3.0, np.pi / 2, 1.0))
    s.initial("shoulder", position=1.2)
    s.initial("elbow", position=-1.2)
    return s


def test_a_point_follows_a_prescribed_path() -> None:
    model = guided_arm().compile()
    t = 0.3
    motion = da.driven_motion(model, t)
    tip = model.system["lower"].at(0.8)
    s, c = 0.2 * np.sin(0.9), 0.2 * np.cos(0.9)
    assert model.pose(tip, motion.q).position == pytest.approx([1.0 + c, 0.0, 0.5 + s], abs=1e-12)
    assert model.velocity(tip, motion.q, motion.v)[3:] == pytest.approx([-3 * s, 0.0, 3 * c], abs=1e-12)
    assert model.acceleration(tip, motion.q, motion.v, motion.a)[3:] == pytest.approx([-9 * c, 0.0, -9 * s], abs=1e-11)
    # the force at the tip does what joint torques would do
    free = model.system.copy()
    free.remove("tip")
    tau = free.compile().inverse_dynamics(motion.q, motion.v, motion.a)
    efforts = model.drive_efforts(t, motion.q, motion.v)
    force = np.array([efforts["tip.y"], 0.0, efforts["tip.x"]])
    assert model.jacobian(tip, motion.q)[3:].T @ force == pytest.approx(tau, rel=1e-9)
    assert model.connection_loads(motion.q, motion.v, t=t)["tip"][3:] == pytest.approx(force, rel=1e-9)


def test_a_point_may_be_led_through_space() -> None:
    s = da.System(gravity=(0, 0, -9.81))
    ball = s.body("ball", da.sphere(0.1, 2.0))
    s.connect("hand", da.PointOnPoint(), s.ground.at(1, 0, 0, rotation=("z", np.pi / 2)), ball)
    s.drive("hand.x", position=da.Polynomial((0.0, 1.0)))
    s.drive("hand.z", acceleration=2.0)
    model = s.compile()
    motion = da.driven_motion(model, 0.5)
    # x of the marker is y of the world
    assert model.pose("ball", motion.q).position == pytest.approx([1.0, 0.5, 0.25], abs=1e-12)
    assert model.velocity("ball", motion.q, motion.v)[3:] == pytest.approx([0.0, 1.0, 1.0], abs=1e-12)
    efforts = model.drive_efforts(0.5, motion.q, motion.v)
    assert efforts == pytest.approx({"hand.x": 0.0, "hand.z": 2.0 * (9.81 + 2.0)}, abs=1e-10)


def test_driven_values_without_meaning_are_named() -> None:
    model = cylinder_crane(da.Polynomial((1.0, -1.0))).compile()
    with pytest.raises(
        da.ModelError, match=r"drive 'cylinder': position at t = 2 s is -1\.0; a Distance needs.*0 and inf"
    ):
        da.driven_motion(model, 2.0)
    s = da.System()
    plate = s.body("plate", da.box(1, 1, 1, 1))
    s.connect("lean", da.AxisAngle("x", "y", 1.2), s.ground, plate)
    s.drive("lean", speed=1.0)
    motion = da.driven_motion(s, 3.0)  # past a half turn it goes on to the other side
    assert motion.model.pose("plate", motion.q).rotation[0, 1] == pytest.approx(np.cos(1.2 + 3.0), abs=1e-12)


def test_a_drive_winds_up_the_spring_beside_it() -> None:
    s = da.System(gravity=(0, 0, 0))
    wheel = s.body("wheel", da.cylinder(0.1, 0.1, 2.0))
    s.connect("axle", da.Revolute("z"), s.ground, wheel)
    s.connect("spring", da.JointSpring(stiffness=3.0, damping=0.5), "axle")
    s.drive("axle", position=da.Polynomial((0.4, 2.0, 1.5)))
    model = s.compile()
    inertia = model.mass_matrix([0.0])[0, 0]
    effort = model.drive_efforts(0.0, [0.4], [2.0])["axle"]
    assert effort == pytest.approx(inertia * 3.0 + 3.0 * 0.4 + 0.5 * 2.0)
    # the axle passes on both
    assert model.connection_loads([0.4], [2.0], t=0.0)["axle"][2] == pytest.approx(inertia * 3.0)
