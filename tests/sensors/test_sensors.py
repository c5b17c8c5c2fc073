"""Sensors against closed forms, and their errors against the statistics that they state."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.sensors.range_sensor import ray_distance


def pendulum() -> tuple[da.System, Any]:
    s = da.System("pendulum")
    rod = s.body("rod", da.rod(length=1.0, mass=2.0))
    s.connect("A", da.Revolute("y"), s.ground, rod)
    s.initial("A", position=0.4, speed=1.0)
    return s, rod


def test_inertial_unit_of_a_turning_arm() -> None:
    """At a radius r: w about the axis; specific force -w^2 r, alpha r, and gravity turned into the arm."""
    s, rod = pendulum()
    result = da.simulate(s, 1.0, rtol=1e-10, atol=1e-12)
    data = da.IMU(rod.at(0.7, 0, 0), da.SensorErrors(period=0.01), da.SensorErrors(period=0.01)).measure(result)
    q, w = (result.output(f"A.{name}", data.t) for name in ("position", "speed"))
    alpha = result.output("A.acceleration", data.t)
    zero = np.zeros_like(q)
    # x' = (cos q, 0, -sin q), gravity 9.81 downwards
    along = -(w**2) * 0.7 - 9.81 * np.sin(q)
    across = -alpha * 0.7 + 9.81 * np.cos(q)
    expected = np.stack([zero, w, zero, along, zero, across], axis=1)
    np.testing.assert_allclose(data.true, expected, atol=1e-9)
    np.testing.assert_array_equal(data.values, data.true)
    assert data["fx"].shape == (101,)


def test_force_torque_sensor_of_a_bracket_is_in_its_axes() -> None:
    s = da.System("bracket")
    wrist = s.body("wrist", da.rod(length=0.5, mass=2.0))
    foot = wrist.at(0, 0, 0, rotation=("z", math.pi / 2))
    s.connect("foot", da.Fixed(), s.ground.at(rotation=("z", math.pi / 2)), foot)
    data = da.ForceTorqueSensor("foot").measure(da.simulate(s, 0.01))
    # in axes turned by 90 degrees about z, the rod lies along -y; the moment m g l/2 that holds it is about -x
    np.testing.assert_allclose(data.true[-1], [0, 0, 2 * 9.81, -2 * 9.81 * 0.25, 0, 0], atol=1e-9)
    state = s.compile().initial_state()
    np.testing.assert_allclose(da.ForceTorqueSensor("foot").stream(s)(state), data.true[-1], atol=1e-9)


def test_noise_has_its_statistics_and_is_reproduced() -> None:
    s = da.System("still", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("z"), s.ground, s.body("disc", da.cylinder(0.1, 0.1, mass=1.0)))
    result = da.simulate(s, 20.0)
    errors = da.SensorErrors(period=0.001, noise=0.02, density=0.001, bias=0.5, seed=3)
    data = da.Encoder("A", errors=errors).measure(result)
    sigma = math.hypot(0.02, 0.001 / math.sqrt(0.001))
    n = len(data.t)
    assert n == 20001
    error = data.values[:, 0] - data.true[:, 0]
    assert error.mean() == pytest.approx(0.5, abs=4 * sigma / math.sqrt(n))
    assert error.std() == pytest.approx(sigma, rel=4 / math.sqrt(2 * n))
    assert abs(np.corrcoef(error[1:], error[:-1])[0, 1]) < 4 / math.sqrt(n)
    again = da.Encoder("A", errors=errors).measure(result)
    np.testing.assert_array_equal(again.values, data.values)
    other = da.Encoder("A", errors=errors).with_seed(4).measure(result)
    assert abs(np.corrcoef(other.values[:, 0], data.values[:, 0])[0, 1]) < 4 / math.sqrt(n)
    assert "rms errors A.position 0.50" in str(data.message)


def test_drift_is_a_gauss_markov_process_or_a_random_walk() -> None:
    s = da.System("still", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("z"), s.ground, s.body("disc", da.cylinder(0.1, 0.1, mass=1.0)))
    result = da.simulate(s, 100.0)
    ends, correlations, spreads = [], [], []
    for seed in range(60):
        walk = da.SensorErrors(period=0.5, drift=0.3, seed=seed)
        markov = da.SensorErrors(period=0.5, drift=0.3, drift_time=2.0, seed=seed)
        ends.append(da.Encoder("A", errors=walk).measure(result).values[-1, 0])
        found = da.Encoder("A", errors=markov).measure(result).values[:, 0]
        spreads.append(np.mean(found**2))
        correlations.append(np.mean(found[4:] * found[:-4]))
    assert np.std(ends) == pytest.approx(0.3 * math.sqrt(100.0), rel=4 / math.sqrt(120))
    assert np.mean(spreads) == pytest.approx(0.09, rel=0.1)
    assert np.mean(correlations) / np.mean(spreads) == pytest.approx(math.exp(-1.0), abs=0.05)  # after 2 s


def test_quantisation_scale_range_and_delay() -> None:
    s = da.System("spin", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("z"), s.ground, s.body("disc", da.cylinder(0.1, 0.1, mass=1.0)))
    s.initial("A", speed=1.0)
    result = da.simulate(s, 2.0)
    errors = da.SensorErrors(period=0.1, delay=0.25, resolution=0.3, scale=2.0, range=(-1.0, 2.5))
    data = da.Encoder("A", errors=errors).measure(result)
    np.testing.assert_allclose(data.values[:, 0], np.minimum(0.3 * np.round(2.0 * data.t / 0.3), 2.5), atol=1e-9)
    held = data.at([0.2, 0.25, 0.34, 0.36])[:, 0]
    assert np.isnan(held[0])
    np.testing.assert_allclose(held[1:], [0.0, 0.0, 0.3], atol=1e-12)  # samples at 0 s, 0 s, 0.1 s
    counted = da.Encoder("A", counts=64).measure(result)
    steps = counted.values / (2 * math.pi / 64)
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)


def test_streams_of_live_runs_and_states_give_the_bits_of_a_result() -> None:
    s, rod = pendulum()
    errors = da.SensorErrors(period=0.01, noise=0.01, drift=0.1, delay=0.02, resolution=1e-3, seed=9)
    unit = da.IMU(rod.at(0.5, 0, 0), errors, errors)
    live = da.Live(s)
    stream, readings = unit.stream(live), []
    for _ in range(50):
        readings.append(stream())
        live.advance(0.01)
    data = unit.measure(live.result(), end=0.49)
    assert np.isnan(readings[1]).all()
    found, expected = np.array(readings[2:]), data.values[:-2]
    # dense output differs by the tolerance, and may round to the next step
    assert np.abs(found - expected).max() < 1.1e-3
    assert (found == expected).mean() > 0.9
    stream.reset()
    assert np.isnan(stream()).all()
    model = s.compile()
    of_state = unit.stream(model)
    state = model.initial_state()
    assert np.isnan(of_state(state)).all()
    state.t = 0.02
    np.testing.assert_allclose(of_state(state), data.values[0], atol=1.1e-3)
    with pytest.raises(da.ModelError, match=r"IMU: t is 0.01; the last sample was at 0.02 s"):
        state.t = 0.01
        of_state(state)


def test_a_sampled_controller_with_an_encoder_holds_a_pendulum() -> None:
    s, _ = pendulum()
    model = s.compile()
    encoder = da.Encoder("A", counts=4096, errors=da.SensorErrors(period=0.002, delay=0.002, noise=1e-4, seed=1))
    stream = encoder.stream(model)
    kept = {"last": 0.4}

    def control(state: da.State) -> list[float]:
        angle = float(np.nan_to_num(stream(state)[0], nan=0.4))
        rate, kept["last"] = (angle - kept["last"]) / 0.002, angle
        return [-120.0 * angle - 12.0 * rate - 9.81 * math.cos(angle)]

    result = da.simulate(s, 3.0, control=da.SampledControl(control, period=0.002))
    assert abs(result["A.position"][-1]) < 5e-3


RAYS = [
    (da.sphere(0.5), (-2, 0.3, 0), (1, 0, 0), 2 - math.sqrt(0.25 - 0.09)),
    (da.sphere(0.5), (0, 0, 0), (0, 1, 0), 0.5),
    (da.sphere(0.5), (-2, 0.6, 0), (1, 0, 0), math.inf),
    (da.box(1, 2, 3), (-2, 0.9, 0), (1, 0, 0), 1.5),
    (da.box(1, 2, 3), (-2, 1.1, 0), (1, 0, 0), math.inf),
    (da.box(1, 2, 3), (0, 0, 0), (0, 0.6, 0.8), 1 / 0.6),
    (da.cylinder(2.0, 0.5), (-2, 0, 0.9), (1, 0, 0), 1.5),
    (da.cylinder(2.0, 0.5), (-2, 0, 1.1), (1, 0, 0), math.inf),
    (da.cylinder(2.0, 0.5), (0.4, 0, 3), (0, 0, -1), 2.0),
    (da.cylinder(2.0, 0.5, axis="x"), (0.9, 0, 3), (0, 0, -1), 2.5),
    (da.capsule(2.0, 0.5), (0.3, 0, 3), (0, 0, -1), 2 - 0.4),
    (da.capsule(2.0, 0.5), (-2, 0, 0.5), (1, 0, 0), 1.5),
    (da.plane(), (0, 0, 2), (0, 0.6, -0.8), 2.5),
    (da.plane(), (0, 0, 2), (0, 0, 1), math.inf),
]


@pytest.mark.parametrize(("shape", "start", "direction", "expected"), RAYS)
def test_rays_meet_shapes_where_geometry_says(shape: Any, start: Any, direction: Any, expected: float) -> None:
    from dalembert.bodies.visuals import visual_of_shape

    look = visual_of_shape(shape)
    assert look is not None
    found = ray_distance(look, np.array([start], dtype=float), np.array([direction], dtype=float))
    assert found[0] == pytest.approx(expected, rel=1e-14)


def test_rays_meet_the_triangles_of_a_tetrahedron() -> None:
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    s = da.System("target", gravity=(0, 0, 0))
    body = s.body("body", da.mesh((corners, faces), mass=1.0))
    s.connect("fix", da.Fixed(), s.ground.at(3, 0, 0), body)
    probe = s.body("probe", mass=1.0, inertia=(1, 1, 1))
    s.connect("lift", da.Prismatic("z"), s.ground.at(0, 0.1, 0), probe)
    s.initial("lift", speed=1.0)
    sensor = da.RangeSensor(probe, ["body"], limit=7.0, errors=da.SensorErrors(period=0.1))
    data = sensor.measure(da.simulate(s, 1.2))
    expected = np.where(data.t < 0.9 - 1e-9, 3.0, 7.0)
    assert (np.abs(data.values[:, 0] - expected) < 1e-9)[np.abs(data.t - 0.9) > 1e-6].all()


def test_bad_input_is_refused_by_name() -> None:
    s, rod = pendulum()
    result = da.simulate(s, 0.1)
    with pytest.raises(da.ModelError, match=r"SensorErrors: period is 0.0"):
        da.SensorErrors(period=0.0)
    with pytest.raises(da.ModelError, match=r"SensorErrors: noise is -1.0"):
        da.SensorErrors(noise=-1.0)
    with pytest.raises(da.ModelError, match="SensorErrors: range"):
        da.SensorErrors(range=(1.0, 1.0))
    with pytest.raises(da.ModelError, match="SensorErrors: seed"):
        da.SensorErrors(seed=-1)
    with pytest.raises(da.ModelError, match=r"Encoder: joint is 'B'"):
        da.Encoder("B").measure(result)
    with pytest.raises(da.ModelError, match="Encoder: counts"):
        da.Encoder("A", counts=0)
    with pytest.raises(da.ModelError, match=r"Encoder: counts.*velocity"):
        da.Encoder("A", counts=10, quantity="speed")
    with pytest.raises(da.ModelError, match=r"IMU: the shape of bias is \(2,\)"):
        da.IMU(rod, da.SensorErrors(bias=[1.0, 2.0])).measure(result)
    with pytest.raises(da.ModelError, match="IMU: period of the accelerometer"):
        da.IMU(rod, da.SensorErrors(period=0.1))
    with pytest.raises(da.ModelError, match="ForceTorqueSensor: connection is 'X'"):
        da.ForceTorqueSensor("X").measure(result)
    with pytest.raises(da.ModelError, match="RangeSensor: target is 'wall'"):
        da.RangeSensor(rod, ["wall"]).measure(result)
    with pytest.raises(da.ModelError, match="RangeSensor: targets"):
        da.RangeSensor(rod, "rod")
    with pytest.raises(da.ModelError, match=r"Encoder: begin and end"):
        da.Encoder("A").measure(result, end=3.0)
    slide = da.System("slide")
    slide.connect("P", da.Prismatic("x"), slide.ground, slide.body("block", mass=1.0))
    with pytest.raises(da.ModelError, match=r"Encoder: counts.*no angle"):
        da.Encoder("P", counts=10).measure(da.simulate(slide, 0.01))
