"""Sol 1983, chapter 9: the fuel injection pump against the thesis' closed forms, speeds and bands.

Arcs of a profile are made of quintics, whose curvature, and so the accelerations, are good to 1e-8; on tangents nothing
but rounding is left.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles.pump import Cam, Pump

import dalembert as da
from dalembert.library import PumpData, fuel_injection_pump

Array = NDArray[np.float64]

DATA = PumpData()
DEGREE = math.pi / 180
TURNS = {  # of the cam from where the flank begins: which segment the roller is on
    "base": (-0.3, -0.01),
    "flank": (0.01, DATA.line_end - 0.01),
    "arc": (DATA.line_end + 0.01, DATA.arc_end - 0.01),
    "top": (DATA.arc_end + 0.01, 2 * DATA.half_angle - DATA.arc_end - 0.01),
    "arc down": (2 * DATA.half_angle - DATA.arc_end + 0.01, 2 * DATA.half_angle - DATA.line_end - 0.01),
    "flank down": (2 * DATA.half_angle - DATA.line_end + 0.01, 2 * DATA.half_angle - 0.01),
}


def closed_forms(data: PumpData) -> Pump:
    """Return the oracle with the same numbers."""

    def pressure(t: float) -> float:
        start, end = sorted((data.pressure_start, data.pressure_end))
        x = (data.angle + data.speed * t - start) % (2 * math.pi)
        return (
            data.plunger_area * data.pressure * math.sin(math.pi * x / (end - start)) ** 2 if x < end - start else 0.0
        )

    return Pump(
        Cam(data.base_radius, data.top_radius, data.arc_radius, data.roller_radius, 1.5 * math.pi, data.half_angle),
        m2=data.roller_mass,
        m3=data.plunger_mass,
        J1=data.shaft_inertia,
        J2=data.roller_inertia,
        k3=data.spring_stiffness,
        l3=-data.spring_preload / data.spring_stiffness,
        pressure=pressure,
        radius=data.bearing_radius,
        clearance=data.clearance,
        bearing_length=data.bearing_length,
        contact_length=data.contact_length,
        viscosity=data.viscosity,
        coefficient=data.pressure_coefficient,
        stress=data.shear_stress,
        modulus=data.modulus,
    )


def exactness(segment: str) -> float:
    return 1e-10 if segment.startswith("flank") else 3e-8


# ---- kinematics


@pytest.fixture(scope="module")
def rolling() -> da.Model:
    return fuel_injection_pump(films=False).compile()


def driven(model: da.Model, angle: float, speed: float, acceleration: float) -> tuple[Array, Array, Array]:
    """Return q, v, a of shaft, guide and pin with the motion of the shaft given."""
    q = da.assemble(model, state=[angle, 0.005, 0.0], hold="shaft").q
    v = da.consistent_velocities(model, q, [speed, 0.0, 0.0], hold="shaft")
    return q, v, da.consistent_accelerations(model, q, v, [acceleration, 0.0, 0.0], hold="shaft")


@pytest.mark.parametrize("segment", TURNS)
def test_kinematics_in_closed_form(rolling: da.Model, segment: str) -> None:
    """(9.2.15), (9.2.17), (9.2.18), with a shaft that turns unevenly."""
    rng = np.random.default_rng(4)
    for _ in range(5):
        turn, speed, acceleration = rng.uniform(*TURNS[segment]), rng.uniform(-150, 150), rng.uniform(-900, 900)
        angle = -(180 * DEGREE - DATA.half_angle + turn)
        q, v, a = driven(rolling, angle, speed, acceleration)
        lift, rates, seconds = closed_forms(DATA).kinematics(angle, speed, acceleration)
        near = {"rel": exactness(segment), "abs": 1e-10}
        assert q[1] == pytest.approx(lift[3], **near)
        assert v[1] == pytest.approx(rates[4], **near)
        assert v[2] - v[0] == pytest.approx(rates[3], **near)  # the roller's turn is relative to the cam in the thesis
        assert a[1] == pytest.approx(seconds[4], rel=near["rel"], abs=1e-5)
        assert a[2] - a[0] == pytest.approx(seconds[3], rel=near["rel"], abs=1e-3)


def test_printed_speeds_and_lift(rolling: da.Model) -> None:
    times = np.linspace(0.0, 160 * DEGREE / abs(DATA.speed), 1601)
    result = da.simulate(fuel_injection_pump(films=False), times[-1], times=times)
    spin = result["pin.speed"] - result["shaft.speed"]
    assert spin[0] == pytest.approx(244.3, abs=0.1)  # printed 245
    assert spin[np.abs(result["shaft.position"] + math.pi).argmin()] == pytest.approx(331.6, abs=0.1)  # printed 332
    assert spin.max() == pytest.approx(360.0, abs=0.5)  # printed without decimals
    # where tangent and transition circle meet, on the way up or down
    fastest = abs(result["shaft.position"][spin.argmax()] + math.pi)
    assert fastest == pytest.approx(DATA.half_angle - DATA.line_end, abs=1e-3)
    assert result["guide.position"].max() == pytest.approx(0.010, abs=1e-12)
    # decelerations on the transition circles exceed accelerations on the tangents
    assert -result["guide.acceleration"].min() > result["guide.acceleration"].max() > 700
    # and the rolling row is obeyed: q4 is the integral of its rate
    assert result["constraints.velocity_residual"].max() < 1e-9


def test_the_nonholonomic_row_leaves_one_free_velocity(rolling: da.Model) -> None:
    """nd = 5 - 3 = 2 with the roller's turn, of which the nonholonomic row leaves one speed: the shaft's."""
    assert list(rolling.holonomic) == [False, True]
    assert rolling.nv - np.linalg.matrix_rank(rolling.constraint_jacobian(driven(rolling, -2.2, 1.0, 0.0)[0])) == 1


# ---- dynamics


def random_data(rng: np.random.Generator) -> PumpData:
    factors = {
        name: getattr(DATA, name) * rng.uniform(0.5, 2.0)
        for name in (
            *("roller_mass", "roller_inertia", "plunger_mass", "shaft_inertia", "spring_stiffness", "spring_preload"),
            *("plunger_area", "pressure", "bearing_length", "contact_length", "viscosity", "shear_stress", "modulus"),
        )
    }
    return replace(DATA, **factors)


def random_state(rng: np.random.Generator, pump: Pump, clearance: float, turn: float) -> tuple[Array, Array]:
    """Return q, v of the thesis with the roller on the cam, somewhere in the bore of its bearing."""
    q1, v1 = -(math.pi - pump.cam.half + turn), rng.uniform(-150, -50)
    (ex, ey), (dx, dy) = rng.uniform(-0.5, 0.5, 2) * clearance, rng.normal(size=2) * 1e-4
    q2 = math.pi / 2 - q1
    for _ in range(30):  # the plunger has no x: cos(q1 + q2) q3 = ex
        q2 = math.acos(ex / pump.cam.touch(q2).f) - q1
    f, f1, *_ = pump.cam.touch(q2)
    c12, s12 = math.cos(q1 + q2), math.sin(q1 + q2)
    v2 = (dx + s12 * f * v1) / (c12 * f1 - s12 * f)
    v3, w = f1 * v2, v1 + v2
    q5, v5 = s12 * f - pump.cam.base - pump.cam.roller - ey, c12 * f * w + s12 * v3 - dy
    return np.array([q1, q2, f, 0.3, q5]), np.array([v1, v2, v3, rng.uniform(200, 400), v5])


def ours(pump: Pump, q: Array, v: Array) -> tuple[Array, Array]:
    """Return the same state in coordinates shaft, guide, play."""
    q1, q2, q3, q4, q5 = q
    v1, v2, v3, v4, v5 = v
    c12, s12, w = math.cos(q1 + q2), math.sin(q1 + q2), v1 + v2
    reach = pump.cam.base + pump.cam.roller
    place = np.array([q1, q5, c12 * q3, s12 * q3 - reach - q5, q1 + q4])
    return place, np.array([v1, v5, -s12 * q3 * w + c12 * v3, c12 * q3 * w + s12 * v3 - v5, v1 + v4])


def thesis(q: Array, v: Array, a: Array) -> Array:
    """Return q2'', q3'', q4'', q5'' from our accelerations."""
    theta, w = q[0] + q[1], v[0] + v[1]
    world = np.array([a[2], a[3] + a[1]])
    radial, across = world @ [math.cos(theta), math.sin(theta)], world @ [-math.sin(theta), math.cos(theta)]
    return np.array([(across - 2 * v[2] * w) / q[2] - a[0], radial + q[2] * w * w, a[4] - a[0], a[1]])


def evaluate(model: da.Model, name: str, t: float, q: Array, v: Array) -> Any:
    return da.Output.of(model, name).evaluate(model, t, q, v)


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("segment", TURNS)
def test_dynamics_in_closed_form(segment: str, coupled: bool) -> None:
    """(9.3.7) with random numbers and a shaft that turns unevenly.

    Traction by a given load; or by the load in the contact, which depends on the traction: (9.3.11).
    """
    for seed in range(3):
        rng = np.random.default_rng([seed, 7])
        data = random_data(rng)
        acceleration, load = float(rng.uniform(-900, 900)), float(rng.uniform(100, 900))
        pump = closed_forms(data)
        q, v = random_state(rng, pump, data.clearance, rng.uniform(*TURNS[segment]))
        s = fuel_injection_pump(data=data, load=None if coupled else load)
        s.drive("shaft", acceleration=acceleration)
        model = s.compile()
        place, speeds = ours(pump, q, v)
        t = float(rng.uniform(0.0, 0.06))
        expected = pump.dynamics(t, q, v, acceleration, load=None if coupled else load)
        found = thesis(q, v, evaluate(model, "a", t, place, speeds))
        # forces are of a few hundred newtons, so accelerations of single bodies differ by powers of ten
        near = 30 * exactness(segment) if coupled else exactness(segment)
        size = np.abs(expected[1:5]) + np.array([1e3 / q[2], 1e3, 1e4, 1e2])
        assert np.abs((found - expected[1:5]) / size).max() < near
        # erratum of (9.3.9): the normal load is longer than the multiplier of f1(q2) - q3
        touch = pump.cam.touch(q[1])
        normal = -expected.multiplier * math.hypot(1.0, touch.f1 / touch.f)
        assert evaluate(model, "contact.contact", t, place, speeds) == pytest.approx(normal, rel=near, abs=1e3 * near)
        # (9.3.7) has the whole generalised load; the drive's is less by what the bearing gives and by Q_oo
        (Fx, Fy), moment = pump.bearing(place[2:4], speeds[2:4], speeds[4])
        drive = expected.Q1 - (math.cos(q[0] + q[1]) * Fy - math.sin(q[0] + q[1]) * Fx) * q[2] - moment
        drive += 2 * data.roller_mass * q[2] * v[2] * (v[0] + v[1])
        effort = evaluate(model, "shaft.effort", t, place, speeds)
        assert effort == pytest.approx(drive, rel=near, abs=10 * near)


@pytest.fixture(scope="module")
def run() -> da.Result:
    """One and a half revolutions from 100 degrees; the first is a transient."""
    return da.simulate(fuel_injection_pump(), 0.090, method="radau", rtol=1e-6, atol=1e-10)


def test_films_and_stress_in_the_printed_bands(run: da.Result) -> None:
    """Printed: ratio 0.10 to 0.50; film 0.26 um in the mean and 0.06 at least; 975 N/mm2; slip up to 33 %."""
    films = da.library.pump_films(run)
    angle = -films.angle / DEGREE
    settled, shown = angle > 280, (angle > 460) & (angle < 620)
    assert films.eccentricity[settled].min() > 0.10 and films.eccentricity[settled].max() < 0.50
    mean = np.average(films.film[shown], weights=np.gradient(films.t[shown]))
    assert mean == pytest.approx(0.26e-6, abs=0.03e-6)
    thinnest = angle[settled][films.film[settled].argmin()] - 360
    assert films.film[settled].min() == pytest.approx(0.06e-6, abs=0.01e-6)
    arc = np.array([180 - 78 + np.degrees(DATA.line_end), 180 - 78 + np.degrees(DATA.arc_end)])
    assert arc[0] - 0.1 < thinnest < arc[1] + 0.1  # on a transition circle
    pulse = (angle > 508) & (angle < 515)
    assert films.stress[pulse].max() == pytest.approx(975e6, rel=0.01)  # the load is assumed, not printed
    # the second spike, without a number: where tangent and transition circle meet, for less than a microsecond
    joint = np.abs(angle - 360 - arc[0]) < 0.5
    assert 0.9 < films.stress[joint].max() / films.stress[pulse].max() < 1.1
    assert np.abs(films.slip_ratio[settled]).max() == pytest.approx(0.33, abs=0.06)  # the traction law is not printed
    # after the transition circle the slip is the other way, to decelerate the roller
    back = (angle > 590) & (angle < 625)
    assert (films.slip[back] < 0).all()
    assert films.load[settled].min() > 0  # the roller never lifts off


def test_twice_the_clearance_takes_more_eccentricity() -> None:
    """Printed: 0.50 to 0.75 with a ratio of radius and clearance of 500."""
    run = da.simulate(fuel_injection_pump(data=PumpData(clearance=12e-6)), 0.090, method="radau", rtol=1e-5, atol=1e-9)
    ratio = run["bearing.ratio"][run["shaft.position"] < -280 * DEGREE]
    assert ratio.min() > 0.50 and ratio.max() < 0.85


def test_the_account_of_the_pump_closes() -> None:
    """Up to the pressure pulse; what the drive gives goes into spring, fuel, motion and oil."""
    run = da.simulate(fuel_injection_pump(), 0.009, method="radau", rtol=1e-7, atol=1e-11)
    assert abs(run["energy.balance"]).max() < 1e-6
    assert (np.diff(run["energy.dissipated"]) > -1e-12).all()
    assert run["energy.dissipated"][-1] > 0.01


def test_the_run_is_that_of_the_closed_forms(run: da.Result) -> None:
    """Accelerations along the run, in the thesis' coordinates: (9.3.7) with (9.3.11)."""
    pump = closed_forms(DATA)
    reach = DATA.base_radius + DATA.roller_radius
    for k in np.linspace(50, len(run.t) - 1, 25).astype(int):
        state, speeds = run.q[k], run.v[k]
        x, y = state[2], state[3] + state[1] + reach
        vx, vy = speeds[2], speeds[3] + speeds[1]
        r = math.hypot(x, y)
        w = (x * vy - y * vx) / r**2
        q = np.array([state[0], math.atan2(y, x) - state[0], r, 0.0, state[1]])
        v = np.array([speeds[0], w - speeds[0], (x * vx + y * vy) / r, speeds[4] - speeds[0], speeds[1]])
        expected = pump.dynamics(float(run.t[k]), q, v)
        found = thesis(q, v, run["a"][k])
        touch = pump.cam.touch(q[1])
        normal = -expected.multiplier * math.hypot(1.0, touch.f1 / touch.f)
        if normal > 1.0:
            assert run["contact.contact"][k] == pytest.approx(normal, rel=1e-5)
            assert found[2] == pytest.approx(expected[3], rel=1e-5, abs=1e-4)


def test_coordinates_of_the_thesis_while_it_rolls() -> None:
    """q1 to q5 and their rates against (9.2.15) to (9.2.18), along the run of figures 9.6 and 9.7."""
    run = da.simulate(fuel_injection_pump(films=False), 0.0267, times=np.linspace(0, 0.0267, 40))
    found = da.library.pump_coordinates(run)
    pump = closed_forms(DATA)
    for k, angle in enumerate(found.q[:, 0]):
        q, v, a = pump.kinematics(float(angle), DATA.speed, 0.0)
        np.testing.assert_allclose(found.q[k, [1, 2, 4]], np.asarray(q)[[1, 2, 3]][[0, 1, 2]], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found.q_dot[k], np.asarray(v), rtol=1e-7, atol=1e-6)
        np.testing.assert_allclose(found.q_ddot[k], np.asarray(a), rtol=1e-6, atol=1e-2)


def test_coordinates_of_the_thesis_with_films(run: da.Result) -> None:
    """Rates are rates: differences of the dense output; the contact row of the thesis, f1(q2) - q3 = 0, is kept."""
    h = 1e-7
    found = da.library.pump_coordinates(run.at([0.0301, 0.0301 + h, 0.0301 + 2 * h]))
    np.testing.assert_allclose((found.q[2] - found.q[0]) / (2 * h), found.q_dot[1], rtol=1e-4, atol=1e-4)
    whole = da.library.pump_coordinates(run)
    cam = closed_forms(DATA).cam
    off = [abs(cam.touch(float(q2)).f - q3) for q2, q3 in whole.q[::500, 1:3]]
    assert max(off) < 1e-9


def test_inlet_speed_and_a_pressure_curve_of_ones_own() -> None:
    """Delivery by speed and inlet; the fuel's force is the curve, over the printed range of angles."""
    same = DATA.at(speed=DATA.speed, inlet=0.015)
    assert (same.pressure, same.pressure_end) == pytest.approx((DATA.pressure, DATA.pressure_end), rel=1e-14)
    assert hash(PumpData(pressure_curve=[0.0, 1.0, 0.0])) == hash(PumpData(pressure_curve=[[0, 0], [0.5, 1], [1, 0]]))
    ends = [
        math.degrees(DATA.at(speed=-n * math.pi / 30, inlet=i).pressure_end) for n in (500, 1500) for i in (9e-3, 15e-3)
    ]
    assert ends == pytest.approx([-153, -154, -153, -156], abs=1e-9)  # printed: -153 to -156
    assert DATA.at(speed=-1500 * math.pi / 30).pressure > DATA.pressure > DATA.at(inlet=0.009).pressure
    for bad, match in (({"speed": 20.0}, "500.0 to 1500.0"), ({"inlet": 0.02}, "inlet")):
        with pytest.raises(da.ModelError, match=match):
            DATA.at(**bad)
    shares, values = np.array([0.0, 0.2, 0.9, 1.0]), np.array([0.0, 0.7, 1.0, 0.0])
    for curve in (np.column_stack([shares, values]), values):
        data = PumpData(pressure_curve=curve, pressure=5e6)
        model = fuel_injection_pump(films=False, data=data).compile()
        along = shares if np.ndim(curve) == 2 else np.linspace(0, 1, 4)
        q, v = driven(model, -2.2, DATA.speed, 0.0)[:2]
        for share in (-0.1, 0.1, 0.3, 0.95, 1.1):
            angle = data.pressure_start + share * (data.pressure_end - data.pressure_start)
            t = (angle - data.angle) / data.speed
            expected = -data.plunger_area * 5e6 * np.interp(share, along, values, left=0.0, right=0.0)
            force = evaluate(model, "fuel.effort", t, q, v)
            assert force == pytest.approx(expected, abs=1e-6)
    with pytest.raises(da.ModelError, match="give a run of"):
        da.library.pump_coordinates(da.simulate(da.library.four_bar(), 0.01))
    for bad in (
        "abc",
        [[0, 1], [1, 2, 3]],
        [1.0],
        [[0.0, 1.0], [0.5, 1.0]],
        [[0.0, 1.0], [0.7, 2.0], [0.6, 1.0], [1.0, 0.0]],
        [np.nan, 1.0],
    ):
        with pytest.raises(da.ModelError, match="pressure_curve"):
            PumpData(pressure_curve=bad)
    assert DATA.normed_pressure().evaluate(0.5) == pytest.approx(1.0)


def test_data_that_cannot_be() -> None:
    for changed, match in (
        ({"roller_mass": 0.0}, "roller_mass"),
        ({"top_radius": 0.01}, "top_radius"),
        ({"arc_radius": 0.02}, "arc_radius"),
        ({"half_angle": 0.5}, "half_angle"),
        ({"pressure_end": -148 * DEGREE}, "pressure_end"),
        ({"viscosity": float("nan")}, "viscosity"),
    ):
        with pytest.raises(da.ModelError, match=match):
            PumpData(**changed)
    with pytest.raises(da.ModelError, match="PumpData"):
        fuel_injection_pump(data=3.0)  # type: ignore[arg-type]
