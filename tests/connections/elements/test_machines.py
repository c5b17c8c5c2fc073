"""Controllers, gear motors, hydraulic circuits and pneumatic cylinders against closed forms."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.connections.elements.machines.hydraulics import orifice_conductance


def disc(inertia: float = 1.0) -> da.System:
    s = da.System("disc", gravity=(0, 0, 0))
    body = s.body("disc", mass=1.0, inertia=(inertia, inertia, inertia))
    s.connect("A", da.Revolute("z"), s.ground, body)
    return s


def slide(position: float, mass: float = 2.0) -> tuple[da.System, Any]:
    s = da.System("slide", gravity=(0, 0, 0))
    body = s.body("block", mass=mass)
    s.connect("A", da.Prismatic("x"), s.ground, body)
    s.initial("A", position=position)
    return s, body


def motored(s: da.System, controller: Any) -> da.System:
    s.connect("pid", controller)
    s.connect("motor", da.Element("joint", "u", inputs={"u": "pid.u"}, active=True), "A")
    return s


# ---- controllers


def test_pid_loop_is_its_linear_system() -> None:
    """Poles and step response of a double integrator with kp, ki, kd and a filtered derivative."""
    kp, ki, kd, Tf, b, c = 20.0, 12.0, 9.0, 0.05, 0.6, 0.3
    pid = da.PIDController("A.position", 0.5, kp, ki, kd, filter_time=Tf, setpoint_weight=b, derivative_weight=c)
    result = da.simulate(motored(disc(), pid), 4.0, rtol=1e-10, atol=1e-12)
    # x = (s, ds, z, I), of d = (c r - s - z)/Tf
    A = np.array(
        [
            [0, 1, 0, 0],
            [-kp - kd / Tf, 0, -kd / Tf, 1],
            [-1 / Tf, 0, -1 / Tf, 0],
            [-ki, 0, 0, 0],
        ]
    )
    B = np.array([0, kp * b + kd * c / Tf, c / Tf, ki]) * 0.5
    from scipy.linalg import expm

    both = np.zeros((5, 5))
    both[:4, :4], both[:4, 4] = A, B
    exact = np.array([expm(both * t)[:4, 4] for t in result.t])
    np.testing.assert_allclose(result["A.position"], exact[:, 0], atol=1e-8)
    np.testing.assert_allclose(result["pid.I"], exact[:, 3], atol=1e-8)


def test_integral_settles_with_the_tracking_time_at_the_limit() -> None:
    """Locked joint, constant error: I' = ki e + (u - v)/T, v = kp e + I, so I -> limit - kp e + ki e T."""
    s = motored(disc(), da.PIDController("A.position", 1.0, 4.0, 3.0, limits=2.0, tracking_time=0.2))
    s.drive("A", position=0.0)
    result = da.simulate(s, 2.0, rtol=1e-9)
    assert result["pid.u"].max() == pytest.approx(2.0, abs=1e-12)
    settled = 2.0 - 4.0 + 3.0 * 0.2
    np.testing.assert_allclose(result["pid.I"], settled * (1 - np.exp(-result.t / 0.2)), atol=1e-6)
    np.testing.assert_allclose(result["pid.excess"], 4.0 + result["pid.I"] - 2.0, atol=1e-12)


def test_anti_windup_lowers_the_overshoot() -> None:
    overshoot = {}
    for time in (0.3, 1e6):
        pid = da.PIDController("A.position", 2.0, 6.0, 4.0, 6.0, filter_time=0.02, limits=0.6, tracking_time=time)
        overshoot[time] = da.simulate(motored(disc(), pid), 12.0)["A.position"].max() - 2.0
    assert overshoot[0.3] < 0.35 * overshoot[1e6]


def test_state_feedback_places_the_poles_and_integrates_a_load_away() -> None:
    """Double integrator with I: poles -1, -2, -3 by K = (11, 6), K_I = 6."""
    law = da.StateFeedback([11.0, 6.0], ["A.position", "A.speed"], [0.4, 0.0], outputs=[0], integral=[[6.0]])
    s = disc()
    s.connect("law", law)
    s.connect("motor", da.Element("joint", "u", inputs={"u": "law.u"}, active=True), "A")
    s.connect("load", da.Effort(-2.0), "A")
    t = np.linspace(0, 6, 61)
    result = da.simulate(s, 6.0, times=t, rtol=1e-10, atol=1e-12)
    A = np.array([[0, 1, 0], [-11, -6, -6], [1, 0, 0]])
    np.testing.assert_allclose(np.sort(np.linalg.eigvals(A).real), [-3, -2, -1], atol=1e-12)
    from scipy.linalg import expm

    rest = np.array([0.4, 0.0, -2.0 / 6.0])
    exact = np.array([rest + expm(A * one) @ (np.zeros(3) - rest) for one in t])
    np.testing.assert_allclose(result["A.position"], exact[:, 0], atol=1e-8)
    limited = da.StateFeedback(
        [11.0, 6.0], ["A.position", "A.speed"], [0.4, 0.0], outputs=[0], integral=[[6.0]], limits=1.0, tracking_time=0.2
    )
    s = disc()
    s.connect("law", limited)
    s.connect("motor", da.Element("joint", "u", inputs={"u": "law.u"}, active=True), "A")
    s.drive("A", position=0.0)
    result = da.simulate(s, 3.0)
    # at rest beyond the limit: v = 1 + T (K_I e)
    assert result["law.u"][-1] == pytest.approx(1.0)
    assert 4.4 - 6.0 * result["law.I0"][-1] == pytest.approx(1.0 + 0.2 * 6.0 * 0.4, abs=1e-5)


def test_two_outputs_of_state_feedback() -> None:
    s = disc()
    gain = np.array([[4.0, 2.0], [1.0, 0.5]])
    s.connect("law", da.StateFeedback(gain, ["A.position", "A.speed"], offset=[0.1, 0.2], limits=[None, (-0.3, 0.3)]))
    s.connect("motor", da.Element("joint", "u", inputs={"u": "law.u0"}, active=True), "A")
    s.initial("A", position=1.0)
    result = da.simulate(s, 1.0)
    x = np.stack([result["A.position"], result["A.speed"]], axis=1)
    np.testing.assert_allclose(result["law.u0"], 0.1 - x @ gain[0], atol=1e-12)
    np.testing.assert_allclose(result["law.u1"], np.clip(0.2 - x @ gain[1], -0.3, 0.3), atol=1e-12)


# ---- gear motor

MOTOR: dict[str, Any] = {
    "resistance": 1.2, "constant": 0.05, "inductance": 2e-3, "rotor_inertia": 2e-5, "ratio": 40.0,
    "stiffness": 500.0, "damping": 2.0,
}  # fmt: skip


@pytest.mark.parametrize(("load", "efficiency"), [(-15.0, 0.7), (4.0, 0.7), (-15.0, 1.0)])
def test_steady_current_is_that_of_the_efficiency(load: float, efficiency: float) -> None:
    """Driving: k i = T/(n eta); driven: k i = -T (2 - 1/eta)/n."""
    s = disc(0.05)
    s.connect("motor", da.GearMotor(24.0, **MOTOR, efficiency=efficiency, friction=1e-5), "A")
    s.connect("load", da.Effort(load), "A")
    result = da.simulate(s, 4.0, rtol=1e-8)
    w = result["motor.w"][-1]
    part = 1.0 / efficiency if load < 0 else 2.0 - 1.0 / efficiency
    expected = -load * part / 40.0 + 1e-5 * w
    assert result["motor.motor_torque"][-1] == pytest.approx(expected, rel=1e-5)
    assert w == pytest.approx((24.0 - 1.2 * expected / 0.05) / 0.05, rel=1e-5)
    assert result["A.speed"][-1] == pytest.approx(w / 40.0, rel=1e-6)
    assert result["motor.losses"][-1] == pytest.approx(
        1.2 * (expected / 0.05) ** 2 + 1e-5 * w * w + abs(load) * (1 / efficiency - 1) * w / 40.0, rel=1e-4
    )
    assert abs(result["energy.balance"]).max() < 1e-4


def test_locked_gearbox_below_half_efficiency() -> None:
    """A worm gear of 40 %: the load does not turn the motor."""
    s = disc(0.05)
    s.connect("motor", da.GearMotor(0.0, **MOTOR, efficiency=0.4, slip_speed=1e-3), "A")
    s.connect("load", da.Effort(10.0), "A")
    result = da.simulate(s, 2.0)
    assert abs(result["A.speed"][-1]) < 1e-4
    assert result["A.position"][-1] == pytest.approx(10.0 / 500.0, rel=1e-2)


def test_torsional_frequency_and_play() -> None:
    """Free vibration of rotor and load on the gearbox; with backlash the load rattles within its play."""
    numbers = {**MOTOR, "damping": 0.0, "resistance": 1e6, "constant": 1e-9}
    motor = da.GearMotor(0.0, **numbers)
    s = disc(0.02)
    s.connect("motor", motor, "A")
    s.initial("A", speed=1.0)
    period = 2 * math.pi / motor.natural_frequency(0.02)
    t = np.linspace(0, 3 * period, 301)
    result = da.simulate(s, t[-1], times=t, rtol=1e-9, atol=1e-11)
    at_rest = 0.02 / (0.02 + 2e-5 * 1600)  # common velocity
    exact = at_rest + (1 - at_rest) * np.cos(2 * math.pi * t / period)
    np.testing.assert_allclose(result["A.speed"], exact, atol=1e-6)
    s = disc(0.02)
    s.connect("motor", da.GearMotor(0.0, **numbers, backlash=0.02), "A")
    s.initial("A", speed=1.0)
    result = da.simulate(s, 0.02, rtol=1e-9)
    free = result.t < 0.01  # 0.01 rad of play at 1 rad/s
    np.testing.assert_allclose(result["A.speed"][free], 1.0, atol=1e-12)
    assert result["A.speed"][-1] < 0.9
    stored = 0.5 * 0.02
    np.testing.assert_allclose(result["energy.total"], stored, rtol=1e-7)


def test_temperatures_settle_and_rise_as_the_network() -> None:
    """Stalled: u^2/R heats; T_h = T_a + P r_ha, T_w = T_h + P r_wh; with copper R depends on T_w."""
    thermal = {
        "winding_resistance": 2.0, "housing_resistance": 3.0, "winding_capacity": 0.5, "housing_capacity": 2.0,
        "ambient": 25.0,
    }  # fmt: skip
    s = disc()
    s.connect("motor", da.GearMotor(2.0, **MOTOR, **thermal), "A")
    s.drive("A", position=0.0)
    result = da.simulate(s, 60.0, method="radau", rtol=1e-8)
    power = 4.0 / 1.2
    assert result["motor.housing"][-1] == pytest.approx(25.0 + 3.0 * power, rel=1e-3)
    assert result["motor.winding"][-1] == pytest.approx(25.0 + 5.0 * power, rel=1e-3)
    slowest = np.linalg.eigvals(np.array([[-1 / 1.0, 1 / 1.0], [1 / 4.0, -1 / 4.0 - 1 / 6.0]])).real.max()
    late = result.t > 10
    rest = 25.0 + 5.0 * power - result["motor.winding"][late]
    slope = np.polyfit(result.t[late][rest > 1e-3], np.log(rest[rest > 1e-3]), 1)[0]
    assert slope == pytest.approx(slowest, rel=1e-2)
    s = disc()
    s.connect("motor", da.GearMotor(2.0, **MOTOR, **thermal, temperature_coefficient=0.00393), "A")
    s.drive("A", position=0.0)
    hot = da.simulate(s, 80.0, method="radau", rtol=1e-8)
    T = hot["motor.winding"][-1]
    assert pytest.approx(25.0 + 5.0 * 4.0 / (1.2 * (1 + 0.00393 * (T - 20))), rel=1e-3) == T


# ---- hydraulics


def test_orifice_and_spool_of_the_valve() -> None:
    """Flow at the nominal difference; root of the difference; spool of second order; limits and overlap."""
    assert orifice_conductance(1e-5, 35e5) == pytest.approx(0.62 * 1e-5 * math.sqrt(2 * 35e5 / 850.0))
    s = disc()
    s.connect("valve", da.ProportionalValve(0.8, 100e5, 0.0, 30e5, 65e5, flow=1e-3, frequency=200.0, overlap=0.1))
    result = da.simulate(s, 0.2, rtol=1e-9)
    assert result["valve.x"][-1] == pytest.approx(0.8, rel=1e-6)
    assert result["valve.qa"][-1] == pytest.approx(0.7e-3 * math.sqrt(70 / 35), rel=1e-5)
    assert result["valve.qb"][-1] == pytest.approx(0.7e-3 * math.sqrt(65 / 35), rel=1e-5)
    assert result["valve.qs"][-1] == result["valve.qa"][-1]
    zeta, damped = 0.8, 200.0 * 0.6
    exact = 0.8 * (
        1 - np.exp(-zeta * 200 * result.t) * (np.cos(damped * result.t) + zeta / 0.6 * np.sin(damped * result.t))
    )
    np.testing.assert_allclose(result["valve.spool"], exact, atol=1e-7)
    back = disc()
    back.connect("valve", da.ProportionalValve(-2.0, 100e5, 0.0, 30e5, 65e5, flow=1e-3, frequency=200.0, ratio=0.5))
    result = da.simulate(back, 0.2)
    assert result["valve.qa"][-1] == pytest.approx(-1e-3 * math.sqrt(30 / 35), rel=1e-4)
    assert result["valve.qb"][-1] == pytest.approx(-0.5e-3 * math.sqrt(35 / 35), rel=1e-4)


def test_accumulator_is_polytropic_and_relief_valve_holds() -> None:
    s = disc()
    s.connect("supply", da.HydraulicSupply(200e5, 0.0, 2e-3, precharge=120e5, load=1e-4, line_volume=1e-12))
    result = da.simulate(s, 3.0, rtol=1e-9)
    gas = 2e-3 * (120 / 200) ** (1 / 1.4) + 1e-4 * result.t
    p = 120e5 * (2e-3 / gas) ** 1.4
    np.testing.assert_allclose(result["supply.p"], p, rtol=1e-7)
    np.testing.assert_allclose(result["supply.gas"], gas, rtol=1e-7)
    # work of the gas on the oil that left
    stored = result["supply.stored"]
    work = np.concatenate([[0], np.cumsum(np.diff(result.t) * 1e-4 * (p[1:] + p[:-1]) / 2)])
    np.testing.assert_allclose(stored[0] - stored, work, rtol=1e-3, atol=0.05)
    s = disc()
    s.connect("supply", da.HydraulicSupply(100e5, 5e-4, relief=150e5, relief_conductance=1e-9, load=2e-4))
    result = da.simulate(s, 2.0)
    assert result["supply.p"][-1] == pytest.approx(150e5 + 3e-4 / 1e-9, rel=1e-6)
    assert result["supply.relief"][-1] == pytest.approx(3e-4, rel=1e-6)


def test_valve_controlled_cylinder_has_merritts_frequency_and_speed() -> None:
    """Closed valve: omega^2 = B (A1^2/V1 + A2^2/V2)/m; open: both orifices in series move the piston."""
    flows = {"qa": "valve.qa", "qb": "valve.qb"}
    area, mass, B = 2e-3, 300.0, 1.2e9

    def press(command: float) -> da.System:
        s, body = slide(0.5, mass)
        s.connect(
            "supply", da.HydraulicSupply(140e5, 1e-3, 1e-2, load="valve.qs", relief=140e5, relief_conductance=1e-8)
        )
        s.connect("valve", da.ProportionalValve(command, "supply.p", 0.0, "cyl.p1", "cyl.p2", flow=4e-4, laminar=1e3))
        cylinder = da.HydraulicCylinder(
            "qa", "qb", area, 0.0, (0.0, 1.0), bulk_modulus=B, pressure=50e5, rod_pressure=50e5, sources=flows
        )
        s.connect("cyl", cylinder, s.ground, body)
        return s

    s = press(0.0)
    s.initial("A", position=0.5, speed=1e-3)
    omega = math.sqrt(B * area**2 * 2 / ((area * 0.5 + 1e-5) * mass))
    t = np.linspace(0, 4 * math.pi / omega, 101)
    result = da.simulate(s, t[-1], times=t, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(result["A.speed"], 1e-3 * np.cos(omega * t), atol=2e-6)
    s = press(0.6)
    s.connect("drag", da.JointSpring(damping=2e4), "A")
    result = da.simulate(s, 1.5, rtol=1e-7)
    v, supply = result["A.speed"][-1], result["supply.p"][-1]
    load = 2e4 * v / area
    # equal areas: the drops over both edges are (p_s - load)/2
    assert area * v == pytest.approx(0.6 * 4e-4 * math.sqrt((supply - load) / 2 / 35e5), rel=2e-3)
    assert supply == pytest.approx(140e5 + (1e-3 - area * v) / 1e-8, rel=1e-2)


# ---- pneumatics


def chamber(valve: Any, time: float, **more: Any) -> da.Result:
    s, body = slide(0.5)
    s.drive("A", position=0.5)
    cylinder = da.PneumaticCylinder(valve, 0.0, 1e-3, 2e-4, (0.25, 0.75), **more)
    s.connect("cyl", cylinder, s.ground, body)
    return da.simulate(s, time, times=np.linspace(0, time, 201), rtol=1e-9, atol=1e-12)


def test_filling_is_sonic_first_and_warms_the_gas() -> None:
    """Adiabatic filling of a fixed volume: p' = kappa R T_s m'/V; T from the balance of energy."""
    result = chamber(1.0, 0.6, supply=8e5, conductance=2e-9, critical_ratio=0.4)
    m = 2e-9 * 1.185 * 8e5
    sonic = result["cyl.p1"] < 0.399 * 8e5
    assert sonic.sum() > 5 and not sonic[-1]
    np.testing.assert_allclose(result["cyl.flow1"][sonic], m, rtol=1e-9)
    V = 1e-3 * 0.25 + 1e-5
    np.testing.assert_allclose(
        result["cyl.p1"][sonic], 101325 + 1.4 * 287.06 * 293.15 * m * result.t[sonic] / V, rtol=1e-7
    )
    p0, p1, T0 = 101325.0, result["cyl.p1"], 293.15
    mass = p0 * V / (287.06 * T0) + (p1 - p0) * V / (1.4 * 287.06 * T0)  # enthalpy of the supply becomes energy
    np.testing.assert_allclose(result["cyl.T1"], p1 * V / (287.06 * mass), rtol=1e-7)
    assert result["cyl.T1"][-1] > 360.0
    ratio = result["cyl.p1"] / 8e5
    slower = (ratio > 0.4) & (ratio < 0.998)
    wanted = m * np.sqrt(1 - ((ratio[slower] - 0.4) / 0.6) ** 2)
    np.testing.assert_allclose(result["cyl.flow1"][slower], wanted, rtol=1e-9)


def test_venting_is_isentropic_and_ends_at_ambient() -> None:
    result = chamber(-1.0, 2.0, pressure=6e5, conductance=5e-9)
    p = result["cyl.p1"]
    np.testing.assert_allclose(result["cyl.T1"], 293.15 * (p / 6e5) ** (0.4 / 1.4), rtol=1e-6)
    assert p[-1] == pytest.approx(101325.0, rel=1e-3)
    assert (result["cyl.flow1"] <= 1e-9).all()


@pytest.mark.parametrize(("heat", "exponent"), [(0.0, 1.4), (1e6, 1.0)])
def test_closed_chambers_are_gas_springs(heat: float, exponent: float) -> None:
    """omega^2 = n p (A1^2/V1 + A2^2/V2)/m of both closed chambers, adiabatic or isothermal."""
    s, body = slide(0.5, 5.0)
    s.initial("A", position=0.5, speed=1e-3)
    p, A1, A2 = 5e5, 1e-3, 1e-3
    cylinder = da.PneumaticCylinder(0.0, 0.0, A1, 0.0, (0.25, 0.75), pressure=p, rod_pressure=p, heat_transfer=heat)
    s.connect("cyl", cylinder, s.ground, body)
    V = A1 * 0.25 + 1e-5
    omega = math.sqrt(exponent * p * (A1**2 / V + A2**2 / V) / 5.0)
    t = np.linspace(0, 6.0 / omega, 61)
    method = "radau" if heat else "auto"
    result = da.simulate(s, t[-1], times=t, rtol=1e-8, atol=1e-12, method=method)
    np.testing.assert_allclose(result["A.speed"], 1e-3 * np.cos(omega * t), atol=4e-6)
    if not heat:
        np.testing.assert_allclose(result["energy.total"], result["energy.total"][0], rtol=1e-9)


# ---- all


def machine() -> da.System:
    s, body = slide(0.5, 20.0)
    s.connect("supply", da.HydraulicSupply(140e5, 1e-3, 1e-3, load="valve.qs"))
    pid = da.PIDController("A.position", 0.6, 40.0, 20.0, 1.0, filter_time=0.01, limits=1.0)
    s.connect("pid", pid)
    s.connect("valve", da.ProportionalValve("pid.u", "supply.p", 0.0, "cyl.p1", "cyl.p2", flow=1e-4))
    flows = {"qa": "valve.qa", "qb": "valve.qb"}
    s.connect(
        "cyl", da.HydraulicCylinder("qa", "qb", 1e-3, 2e-4, (0.0, 1.0), friction=500.0, sources=flows), s.ground, body
    )
    s.connect("air", da.PneumaticCylinder("0.2", "-0.2", 1e-4, 2e-5, (0.0, 1.0)), s.ground, body)
    arm = s.body("arm", da.rod(length=0.3, mass=0.5))
    s.connect("B", da.Revolute("y"), body, arm)
    s.connect("law", da.StateFeedback([3.0, 0.5], ["B.position", "B.speed"], limits=12.0))
    s.connect("motor", da.GearMotor("u", **MOTOR, backlash=0.01, sources={"u": "law.u"}), "B")
    return s


def test_files_keep_machines(tmp_path: Path) -> None:
    s = machine()
    da.save(s, tmp_path / "machine.yaml")
    again = da.load(tmp_path / "machine.yaml")
    one, two = da.simulate(s, 0.05), da.simulate(again, 0.05)
    np.testing.assert_array_equal(one.q, two.q)
    np.testing.assert_array_equal(one.x, two.x)


def test_batches_derivatives_and_pictures_of_machines(tmp_path: Path) -> None:
    s = machine()
    model = s.compile()
    result = da.simulate(s, 0.1)
    rows = slice(None, None, max(1, len(result.t) // 9))
    t, q, v, x = result.t[rows], result.q[rows], result.v[rows], result.x[rows]
    many = model.dynamics(t, q, v, x)
    for k in range(len(t)):
        one = model.dynamics(float(t[k]), q[k], v[k], x[k])
        np.testing.assert_allclose(many.a[k], one.a, rtol=1e-11, atol=1e-9)
        np.testing.assert_allclose(many.dx[k], one.dx, rtol=1e-9, atol=1e-6)
    k = len(t) // 2
    exact = model.d_dynamics(float(t[k]), q[k], v[k], x[k])
    for j in range(model.nv):
        step = np.zeros(model.nv)
        step[j] = 1e-7
        ends = [model.dynamics(float(t[k]), q[k] + sign * step, v[k], x[k]) for sign in (1, -1)]
        slope = (ends[0].a - ends[1].a) / 2e-7
        np.testing.assert_allclose(exact.a.q[:, j], slope, rtol=1e-4, atol=1e-3 * (1 + abs(slope).max()))
    s.draw(path=tmp_path / "machine.png")
    assert (tmp_path / "machine.png").stat().st_size > 0


BAD = [
    (lambda: da.PIDController("A.position", 0.0, 1.0, kd=1.0), "PIDController: filter_time"),
    (lambda: da.PIDController("A.position", limits=(1.0, 0.0)), "PIDController: limits"),
    (lambda: da.PIDController("A.position", limits=-1.0), "PIDController: limits"),
    (lambda: da.StateFeedback([1.0], ["A.position", "A.speed"]), "StateFeedback: the shape of gain"),
    (lambda: da.StateFeedback([1.0], ["A.position"], outputs=[1], integral=[[1.0]]), "StateFeedback: outputs"),
    (lambda: da.StateFeedback([1.0], ["A.position"], outputs=[0]), "StateFeedback: integral"),
    (
        lambda: da.StateFeedback([1.0], ["A.position"], outputs=[0], integral=[[1.0]], limits=1.0),
        "StateFeedback: tracking_time",
    ),
    (lambda: da.GearMotor(1.0, **MOTOR, efficiency=1.2), "GearMotor: efficiency"),
    (lambda: da.GearMotor(1.0, **{**MOTOR, "ratio": 0.0}), "GearMotor: ratio"),
    (lambda: da.GearMotor(1.0, **MOTOR, backlash=-0.1), "GearMotor: backlash|GearMotor: play"),
    (lambda: da.GearMotor(1.0, **MOTOR, ambient=-300.0), "GearMotor: ambient"),
    (lambda: da.GearMotor("zz", **MOTOR), "GearMotor: voltage"),
    (lambda: da.ProportionalValve(0.0, 1e7, 0, 0, 0, flow=0.0), "ProportionalValve: (g|flow)"),
    (lambda: da.ProportionalValve(0.0, 1e7, 0, 0, 0, flow=1e-3, overlap=1.5), "ProportionalValve: overlap"),
    (lambda: da.HydraulicSupply(1e7, 0.0, 1e-3, precharge=2e7), "HydraulicSupply: precharge"),
    (lambda: da.HydraulicSupply(-1.0, 0.0), "HydraulicSupply: pressure"),
    (lambda: da.PneumaticCylinder(0, 0, 1e-3, 2e-3, (0, 1)), "PneumaticCylinder: rod_area"),
    (lambda: da.PneumaticCylinder(0, 0, 1e-3, 0, (1, 0)), "PneumaticCylinder: stroke"),
    (lambda: da.PneumaticCylinder(0, 0, 1e-3, 0, (0, 1), supply=5e4), "PneumaticCylinder: supply"),
    (lambda: da.PneumaticCylinder(0, 0, 1e-3, 0, (0, 1), critical_ratio=1.0), "PneumaticCylinder: critical_ratio"),
    (lambda: da.PneumaticCylinder(0, 0, 1e-3, 0, (0, 1), exponent=1.0), "PneumaticCylinder: exponent"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "words"), BAD)
def test_bad_input_is_refused_by_name(make: Any, words: str) -> None:
    with pytest.raises(da.ModelError, match=words):
        make()
