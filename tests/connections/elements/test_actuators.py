"""Active elements against closed forms, and the balance of their energy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError


def wheel(element: Any, *, mass: float = 2.0, speed: float = 0.0) -> da.System:
    """Return a body of a moment of inertia of mass/2 about its axle, with an element at it."""
    system = da.System("wheel", gravity=(0, 0, 0))
    disc = system.body("disc", mass=mass, inertia=np.eye(3) * mass / 2)
    system.connect("axle", da.Revolute("z"), system.ground, disc)
    system.connect("drive", element, "axle")
    system.initial("axle", speed=speed)
    return system


def slider(element: Any, *, position: float, mass: float = 2.0, speed: float = 0.0) -> da.System:
    """Return a mass on a slide with an element between ground and mass."""
    system = da.System("slider", gravity=(0, 0, 0))
    block = system.body("block", da.box(0.1, 0.1, 0.1, mass=mass))
    system.connect("slide", da.Prismatic("x"), system.ground, block)
    system.connect("drive", element, system.ground, block)
    system.initial("slide", position=position, speed=speed)
    return system


def assert_balanced(result: Any) -> None:
    scale = 1.0 + np.abs(result["energy.kinetic"]).max() + np.abs(result["energy.potential"]).max()
    assert np.abs(result["energy.balance"]).max() < 1e-6 * scale


MOTOR = {"resistance": 2.0, "constant": 0.1, "inductance": 0.05}


def test_locked_shaft_current_is_the_exponential() -> None:
    system = wheel(da.DCMotor(12.0, **MOTOR))
    system.drive("axle", position=0.0)
    result = da.simulate(system, 0.2)
    assert result.x[:, 0] == pytest.approx(6.0 * (1 - np.exp(-result.t * 2.0 / 0.05)), abs=1e-7)
    assert result["drive.effort"] == pytest.approx(0.1 * result.x[:, 0])
    assert_balanced(result)


def test_motor_runs_up_to_voltage_over_constant() -> None:
    result = da.simulate(wheel(da.DCMotor("12", **MOTOR, gear=4.0)), 400.0)
    assert result["axle.speed"][-1] == pytest.approx(12.0 / 0.4, rel=1e-6)
    assert_balanced(result)


def test_position_servo_is_an_oscillator() -> None:
    result = da.simulate(wheel(da.PositionServo(0.5, 4.0, 1.0)), 5.0)
    # 1 kg m^2, w0 = 2, decay 1/2
    w = math.sqrt(4 - 0.25)
    t = result.t
    exact = 0.5 * (1 - np.exp(-t / 2) * (np.cos(w * t) + 0.5 / w * np.sin(w * t)))
    assert result["axle.position"] == pytest.approx(exact, abs=1e-7)
    assert_balanced(result)


def test_integral_takes_away_what_a_load_leaves() -> None:
    system = wheel(da.PositionServo("0.3 + 0*t", 40.0, 12.0, 30.0))
    system.connect("load", da.Effort(-5.0), "axle")
    result = da.simulate(system, 30.0)
    assert result["axle.position"][-1] == pytest.approx(0.3, abs=1e-6)
    assert result.x[-1, 0] == pytest.approx(5.0 / 30.0, abs=1e-6)
    assert_balanced(result)


def test_limit_holds_and_the_integral_does_not_wind_up() -> None:
    system = wheel(da.PositionServo(1.0, 40.0, 12.0, 30.0, limit=2.0))
    system.drive("axle", position=0.0)
    result = da.simulate(system, 2.0)
    assert np.abs(result["drive.effort"]).max() == pytest.approx(2.0)
    assert result.x[-1, 0] == 0.0  # never moved: the error alone asks for more than the limit


def test_velocity_servo_follows_the_exponential() -> None:
    result = da.simulate(wheel(da.VelocityServo(3.0, 2.0)), 3.0)
    assert result["axle.speed"] == pytest.approx(3.0 * (1 - np.exp(-2.0 * result.t)), abs=1e-7)
    assert_balanced(result)
    loaded = wheel(da.VelocityServo(3.0, 4.0, 8.0, limit=50.0))
    loaded.connect("load", da.Effort(-5.0), "axle")
    assert da.simulate(loaded, 20.0)["axle.speed"][-1] == pytest.approx(3.0, abs=1e-6)


def test_muscle_has_its_isometric_force() -> None:
    muscle = da.HillMuscle(1.0, 500.0, 0.1, slack_length=0.2, start=1.0)
    for length, wanted in ((0.3, 500.0), (0.25, 500.0 * math.exp(-0.25 / 0.45))):
        assert muscle.evaluate([[0.0, length, 0.0, 1.0, *muscle.parameters.values()]])[0, 0] == pytest.approx(-wanted)
    stretched = muscle.evaluate([[0.0, 0.36, 0.0, 0.0, *muscle.parameters.values()]])[0, 0]
    assert stretched == pytest.approx(-500.0)  # passive force F0 at a strain of 0.6
    shortening = muscle.evaluate([[0.0, 0.3, -0.5, 1.0, *muscle.parameters.values()]])[0, 0]
    assert shortening == pytest.approx(-500.0 * 0.5 / 3.0)
    assert muscle.evaluate([[0.0, 0.3, -1.0, 1.0, *muscle.parameters.values()]])[0, 0] == pytest.approx(0.0)
    assert muscle.evaluate([[0.0, 0.3, 1e6, 1.0, *muscle.parameters.values()]])[0, 0] == pytest.approx(-700.0, rel=1e-4)


def test_muscle_force_and_speed_are_those_of_thelens_equation() -> None:
    """(6) of his paper, from the force to the speed, with (7) for shortening and lengthening."""
    muscle = da.HillMuscle(1.0, 500.0, 0.1)
    for a in (0.05, 0.4, 1.0):
        for speed in (-0.2, -0.02, 0.02, 0.3):
            tension = -muscle.evaluate([[0.0, 0.08, speed, a, *muscle.parameters.values()]])[0, 0]
            isometric = a * math.exp(-0.04 / 0.45)
            f = tension / 500.0  # no passive force below the optimal length
            b = isometric + f / 0.25 if f <= isometric else (2 + 2 / 0.25) * (isometric * 1.4 - f) / (1.4 - 1)
            assert (0.25 + 0.75 * a) * 10.0 * (f - isometric) / b == pytest.approx(speed / 0.1, rel=1e-12)


def test_muscle_activation_follows_its_equation() -> None:
    system = slider(da.HillMuscle(0.01, 500.0, 0.1, slack_length=0.2, start=1.0), position=0.3)
    system.drive("slide", position=0.3)
    result = da.simulate(system, 0.3)
    # t = fall * integral of da / ((a - u)(1/2 + 3/2 a))
    a = result.x[:, 0]
    exact = 0.05 / (0.5 + 0.015) * (np.log((0.5 + 1.5 * a) / (a - 0.01)) - math.log(2.0 / 0.99))
    assert result.t[1:] == pytest.approx(exact[1:], rel=1e-4)
    assert_balanced(result)


def test_muscle_moves_a_mass_and_energy_balances() -> None:
    muscle = da.HillMuscle("0.5 + 0.5*sin(20*t)", 200.0, 0.1, slack_length=0.2)
    system = slider(muscle, position=0.33)
    system.connect("back", da.SpringDamper(2000.0, 5.0, 0.3), system.ground, system.bodies["block"])
    assert_balanced(da.simulate(system, 1.0))


CYLINDER = {"area": 1e-3, "rod_area": 4e-4, "stroke": (0.5, 0.9), "bulk_modulus": 1e9, "dead_volume": 1e-5}


def test_locked_cylinder_pressure_rises_with_the_flow() -> None:
    system = slider(da.HydraulicCylinder(1e-6, 0.0, **CYLINDER, rod_pressure=2e5), position=0.7)
    system.drive("slide", position=0.7)
    result = da.simulate(system, 0.1)
    volume = 1e-3 * 0.2 + 1e-5
    assert result.x[:, 0] == pytest.approx(1e9 * 1e-6 / volume * result.t, abs=1e-3)
    assert result["drive.force"][-1, 0] == pytest.approx(1e-3 * result.x[-1, 0] - 6e-4 * 2e5)


def test_cylinder_moves_by_its_flow() -> None:
    element = da.HydraulicCylinder(1e-4, 6e-5, **CYLINDER, friction=2000.0)
    result = da.simulate(slider(element, position=0.6, mass=50.0), 1.0, rtol=1e-9)
    assert result["slide.position"][-1] == pytest.approx(0.7, abs=1e-3)
    assert result["slide.speed"][-1] == pytest.approx(0.1, rel=1e-6)
    assert_balanced(result)


def test_closed_cylinder_keeps_its_energy() -> None:
    """Without flow and friction it is a spring."""
    element = da.HydraulicCylinder(0.0, 0.0, **CYLINDER)
    result = da.simulate(slider(element, position=0.7, mass=50.0, speed=0.01), 0.2)
    assert_balanced(result)
    total = result["energy.total"]
    assert np.abs(total - total[0]).max() < 1e-7 * np.abs(total).max()
    stiffness = 1e9 * (1e-6 / (1e-3 * 0.2 + 1e-5) + 3.6e-7 / (6e-4 * 0.2 + 1e-5))
    w = math.sqrt(stiffness / 50.0)
    assert result["slide.position"] == pytest.approx(0.7 + 0.01 / w * np.sin(w * result.t), abs=1e-6)


def test_state_space_is_its_transfer_function() -> None:
    # first-order lag 3/(0.5 p + 1) of a unit step, at a locked joint
    system = wheel(da.StateSpace([[-2.0]], [[2.0]], [3.0], [0.0], ["1"]))
    system.drive("axle", position=0.0)
    result = da.simulate(system, 2.0)
    assert result["drive.effort"] == pytest.approx(3.0 * (1 - np.exp(-2 * result.t)), abs=1e-7)


def test_state_space_without_states_is_a_gain() -> None:
    element = da.StateSpace(np.zeros((0, 0)), np.zeros((0, 2)), np.zeros((1, 0)), [4.0, 1.0], ["0.5 - s", "-ds"])
    one, two = (da.simulate(wheel(e), 2.0) for e in (element, da.PositionServo(0.5, 4.0, 1.0)))
    assert one["axle.position"][-1] == pytest.approx(two["axle.position"][-1], abs=1e-9)
    assert_balanced(one)


def test_state_space_starts_as_given_and_acts_in_space() -> None:
    system = wheel(da.StateSpace([[-2.0]], [[0.0]], [[3.0]], [[0.0]], start=[0.5]))
    system.drive("axle", position=0.0)
    result = da.simulate(system, 2.0)
    assert result["drive.effort"] == pytest.approx(1.5 * np.exp(-2 * result.t), abs=1e-7)
    # a skyhook: low-passed velocities, three at once
    lag, gain = -10.0 * np.eye(3), -4.0 * np.eye(3)
    hook = da.StateSpace(lag, 10.0 * np.eye(3), gain, np.zeros((3, 3)), ["vx", "vy", "vz"], measure="place")
    s = da.System("float", gravity=(0, 0, 0))
    body = s.body("body", mass=1.0, inertia=(1, 1, 1))
    s.connect("free", da.Free(), s.ground, body)
    s.connect("hook", hook, s.ground, body)
    s.initial("free", speed=(0, 0, 0, 1.0, -2.0, 0.5))
    result = da.simulate(s, 2.0)
    # v'' + 10 v' + 40 v = 0, v'(0) = 0
    w, t = math.sqrt(15.0), result.t
    exact = np.exp(-5 * t) * (np.cos(w * t) + 5 / w * np.sin(w * t))
    assert result["body.velocity"] == pytest.approx(exact[:, None] * [1.0, -2.0, 0.5], abs=1e-7)
    assert_balanced(result)


def test_transfer_function_answers_a_step_as_scipy_says() -> None:
    signal = pytest.importorskip("scipy.signal")
    above, below = [2.0, 3.0, 1.0, 4.0], [0.5, 2.0, 7.0, 5.0]
    system = wheel(da.TransferFunction(above, below, "1.5"))
    system.drive("axle", position=0.0)
    t = np.linspace(0, 4, 41)
    result = da.simulate(system, 4.0, times=t)
    assert result["drive.effort"] == pytest.approx(1.5 * signal.step((above, below), T=t)[1], abs=1e-6)


def test_a_lead_controller_moves_its_joint_as_the_closed_loop_does() -> None:
    signal = pytest.importorskip("scipy.signal")
    # 1 kg m^2: theta = C/(p^2 + C) of the setpoint
    result = da.simulate(
        wheel(da.TransferFunction([2.0, 10.0], [0.05, 1.0], "0.3 - s")), 4.0, times=np.linspace(0, 4, 41)
    )
    closed = ([2.0, 10.0], [0.05, 1.0, 2.0, 10.0])
    assert result["axle.position"] == pytest.approx(0.3 * signal.step(closed, T=result.t)[1], abs=1e-6)
    assert_balanced(result)


def test_blocks_feed_each_other() -> None:
    """A filter of one joint's speed brakes another; its output is a signal."""
    system = da.System("two", gravity=(0, 0, 0))
    for name in ("one", "two"):
        disc = system.body(f"disc {name}", mass=1.0, inertia=(1, 1, 1))
        system.connect(name, da.Revolute("z"), system.ground, disc)
    system.connect("filter", da.TransferFunction([0.0], [1.0], "rate", sources={"rate": "one.speed"}), "two")
    lag = da.StateSpace([[-2.0]], [[2.0]], [[3.0]], [[0.0]], ["rate"], sources={"rate": "one.speed"})
    system.connect("lag", lag, "two")
    system.initial("one", speed=1.0)
    result = da.simulate(system, 2.0)
    t = result.t
    assert result["lag.y"] == pytest.approx(3 * (1 - np.exp(-2 * t)), abs=1e-7)
    assert result["two.speed"] == pytest.approx(3 * t - 1.5 * (1 - np.exp(-2 * t)), abs=1e-7)


@pytest.mark.parametrize(
    ("kind", "arguments", "keywords"),
    [
        (da.PositionServo, ("q", 1.0), {}),
        (da.PositionServo, (1.0, -1.0), {}),
        (da.PositionServo, (1.0, 1.0), {"limit": 0.0}),
        (da.VelocityServo, ("s", 1.0), {}),
        (da.VelocityServo, (1.0, math.nan), {}),
        (da.DCMotor, (12.0, 0.0, 0.1, 0.1), {}),
        (da.DCMotor, (12.0, 1.0, 0.1, 0.1), {"gear": 0.0}),
        (da.DCMotor, ("volt", 1.0, 0.1, 0.1), {}),
        (da.HillMuscle, (1.0, 0.0, 0.1), {}),
        (da.HillMuscle, (1.0, 10.0, 0.1), {"start": 2.0}),
        (da.HydraulicCylinder, (0.0, 0.0, 1e-3, 2e-3, (0.1, 0.2)), {}),
        (da.HydraulicCylinder, (0.0, 0.0, 1e-3, 1e-4, (0.3, 0.2)), {}),
        (da.HydraulicCylinder, (0.0, 0.0, 1e-3, 1e-4, 0.3), {}),
        (da.StateSpace, ([[1.0]], [[1.0]], [1.0, 2.0], [0.0], ["t"]), {}),
        (da.StateSpace, ([[math.nan]], [[1.0]], [1.0], [0.0], ["t"]), {}),
        (da.StateSpace, ([[1.0]], [[1.0]], [1.0], [0.0], ["x"]), {}),
        (da.StateSpace, ([[1.0]], [[1.0]], [1.0], [0.0], ["t"]), {"measure": "pose"}),
        (da.StateSpace, ([[1.0]], [[1.0]], [1.0], [0.0], ["t"]), {"measure": "angle"}),
        (da.StateSpace, ([[1.0]], [[1.0]], [1.0], [0.0], "t"), {}),
        (da.StateSpace, ([[1.0]], [[1.0]], [1.0], [0.0], ["t"]), {"start": [1.0, 2.0]}),
        (da.TransferFunction, ([1.0, 2.0], [1.0]), {}),
        (da.TransferFunction, ([1.0], [0.0]), {}),
        (da.TransferFunction, ([1.0], [1.0, 2.0], "u"), {}),
    ],
)
def test_bad_numbers_are_named(kind: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match=kind.__name__):
        kind(*arguments, **keywords)


def test_sources_feed_active_elements() -> None:
    """The same servo by an expression of t, by a law as a source, and by a block that gives the setpoint."""
    wanted = "0.3*sin(2*t)"
    servos = [
        da.PositionServo(wanted, 50.0, 5.0, 10.0, limit=20.0),
        da.PositionServo("0.3*w", 50.0, 5.0, 10.0, limit=20.0, sources={"w": da.Harmonic(1.0, 2.0)}),
        da.PositionServo("w", 50.0, 5.0, 10.0, limit=20.0, sources={"w": "guide.w"}),
    ]
    ends = []
    for servo in servos:
        s = da.System("arm")
        arm = s.body("arm", da.rod(length=0.5, mass=1.0))
        s.connect("A", da.Revolute("y"), s.ground, arm)
        s.connect("guide", da.SignalBlock({"w": wanted}))
        s.connect("servo", servo, "A")
        ends.append(da.simulate(s, 2.0, rtol=1e-10).q[-1])
    np.testing.assert_allclose(ends[1:], [ends[0]] * 2, atol=1e-8)


def test_a_motor_takes_its_voltage_from_a_signal() -> None:
    s = da.System("spindle", gravity=(0, 0, 0))
    disc = s.body("disc", mass=0.5, inertia=[1e-3, 1e-3, 2e-3])
    s.connect("axle", da.Revolute("z"), s.ground, disc)
    s.connect("pwm", da.SignalBlock({"u": "gain*(20 - w)"}, inputs={"w": "axle.speed", "gain": 2.0}))
    motor = da.DCMotor("min(12, max(-12, u))", 1.0, 0.1, 1e-3, sources={"u": "pwm.u"})
    s.connect("motor", motor, "axle")
    speed = da.simulate(s, 20.0)["axle.speed"][-1]
    assert speed == pytest.approx(40.0 / 2.1, rel=1e-6)  # u = 2 (20 - w) = k w


@pytest.mark.parametrize(("measure", "n", "m", "k"), [("place", 2, 4, 3), ("place", 5, 2, 3), ("pose", 4, 3, 6)])
def test_a_linear_system_of_any_size_acts_on_places_and_poses(measure: str, n: int, m: int, k: int) -> None:
    rng = np.random.default_rng(n)
    A, B, C, D = -np.eye(n), rng.normal(size=(n, m)), rng.normal(size=(k, n)), rng.normal(size=(k, m))
    inputs = ["x", "vz", "y - 0.1", "t"][:m]
    element = da.StateSpace(A, B, C, D, inputs, measure=measure)
    given = rng.normal(size=1 + 2 * k + n)
    names = dict(zip(element.input_names, given, strict=True))
    u = np.array([names["x"], names["vz"], names["y"] - 0.1, names["t"]][:m])
    answer = element.evaluate([given])[0]
    np.testing.assert_allclose(answer[:k], C @ given[1 + 2 * k :] + D @ u, rtol=1e-12)
    np.testing.assert_allclose(answer[k : k + n], A @ given[1 + 2 * k :] + B @ u, rtol=1e-12)
    with pytest.raises(da.ModelError, match="shape of C"):
        da.StateSpace(A, B, C.T, D, inputs, measure=measure)
