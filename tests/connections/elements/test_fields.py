"""Drag and inverse-square attraction against closed forms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import dalembert as da


def thrown(element: da.Element, velocity: tuple[float, float, float], gravity: float = 0.0) -> da.System:
    s = da.System("thrown", gravity=(0, 0, -gravity))
    stone = s.body("stone", mass=2.0, inertia=(0.1, 0.1, 0.1))
    s.connect("free", da.Free(), s.ground, stone)
    s.connect("field", element, s.ground, stone)
    s.initial("free", position=(1, 0, 0, 0, 1, 0, 0), speed=(0, 0, 0, *velocity))
    return s


def test_linear_drag_slows_down_exponentially() -> None:
    t = np.linspace(0, 3, 13)
    result = da.simulate(thrown(da.Drag(linear=1.5), (3.0, -1.0, 2.0)), 3.0, times=t)
    assert result["stone.velocity"] == pytest.approx(np.exp(-0.75 * t)[:, None] * [3, -1, 2], abs=1e-8)
    assert result["energy.dissipated"][-1] == pytest.approx(14 * (1 - np.exp(-4.5)), abs=1e-7)
    assert abs(result["energy.balance"]).max() < 1e-7


def test_quadratic_drag_against_the_hyperbolic_tangent() -> None:
    t = np.linspace(0, 3, 13)
    result = da.simulate(thrown(da.Drag(quadratic=0.4), (0, 0, 0), gravity=9.81), 3.0, times=t, rtol=1e-10)
    final = np.sqrt(2 * 9.81 / 0.4)
    assert result["stone.velocity.z"] == pytest.approx(-final * np.tanh(9.81 * t / final), abs=1e-7)
    assert abs(result["energy.balance"]).max() < 1e-6


def test_a_stream_carries_along_and_brings_energy() -> None:
    t = np.linspace(0, 3, 13)
    result = da.simulate(thrown(da.Drag(linear=1.0, stream=(2.0, 1.0, 0.0)), (0, 0, 0)), 3.0, times=t)
    assert result["stone.velocity"] == pytest.approx((1 - np.exp(-t / 2))[:, None] * [2, 1, 0], abs=1e-8)
    assert result["energy.work"][-1] == pytest.approx(result["energy.kinetic"][-1], abs=1e-8)
    assert abs(result["energy.balance"]).max() < 1e-8


def test_kepler_ellipse_closes_after_its_period() -> None:
    strength, mass, radius, speed = 6.0, 2.0, 1.0, 2.0
    axis = 1 / (2 / radius - speed**2 * mass / strength)
    period = 2 * np.pi * np.sqrt(axis**3 * mass / strength)
    result = da.simulate(thrown(da.InverseSquare(strength), (0, speed, 0)), period, rtol=1e-10, atol=1e-12)
    assert result["stone.position"][-1] == pytest.approx([1, 0, 0], abs=1e-6)
    assert result["stone.velocity"][-1] == pytest.approx([0, 2, 0], abs=1e-6)
    assert np.linalg.norm(result["stone.position"], axis=1).max() == pytest.approx(2 * axis - 1, rel=1e-3)
    assert abs(result["energy.balance"]).max() < 1e-7


def test_softened_attraction_keeps_energy_through_the_centre() -> None:
    result = da.simulate(thrown(da.InverseSquare(6.0, softening=0.2), (0, 1e-3, 0)), 4.0)
    assert result.min("energy.potential").value == pytest.approx(-30.0, rel=1e-5)  # passes at 1e-3 of the centre
    assert abs(result["energy.total"] - result["energy.total"][0]).max() < 1e-5


def test_an_anharmonic_field_with_damping_keeps_account() -> None:
    parts = ("-k*x", "-4*k*y - c*vy", "-k*z**3")
    field = da.Field(parts, parameters={"k": 2.0, "c": 0.3}, energy="k*(x**2 + 4*y**2)/2 + k*z**4/4")
    result = da.simulate(thrown(field, (0.5, 1.0, -0.7)), 5.0)
    t = result.t
    assert result["stone.position.x"] == pytest.approx(np.cos(t) + 0.5 * np.sin(t), abs=1e-7)
    decay, w = 0.3 / 4.0, np.sqrt(4 - (0.3 / 4.0) ** 2)
    assert result["stone.position.y"] == pytest.approx(np.exp(-decay * t) * np.sin(w * t) / w, abs=1e-7)
    assert result["energy.dissipated"][-1] > 0.1
    assert abs(result["energy.balance"]).max() < 1e-7
    assert da.check_element(field).success


def test_a_turning_field_brings_work_from_outside() -> None:
    """A force that circles at the rate w moves a mass on the circle of radius F/(m w^2), after the drift is taken."""
    field = da.Field(("F*cos(w*t)", "F*sin(w*t)", 0), parameters={"F": 3.0, "w": 2.0})
    result = da.simulate(thrown(field, (0, 0, 0)), 4.0)
    t = result.t
    exact = np.column_stack([1 + 3 / 8 * (1 - np.cos(2 * t)), 3 / 8 * (2 * t - np.sin(2 * t))])
    assert result["stone.position"][:, :2] == pytest.approx(exact, abs=1e-7)
    assert result["energy.work"] == pytest.approx(result["energy.kinetic"], abs=1e-7)


def test_a_field_may_turn_a_body() -> None:
    """A dipole in a uniform field along z: a pendulum in its attitude, by the moment m x B of the body's x axis."""
    s = da.System("needle", gravity=(0, 0, 0))
    needle = s.body("needle", mass=1.0, inertia=(0.1, 0.1, 0.1))
    s.connect("pin", da.Revolute("y"), s.ground, needle)
    # about y the rotation vector is (0, ry, 0); the x axis is (cos ry, 0, -sin ry)
    field = da.Field((0, 0, 0), (0, "-g*cos(ry)", 0), parameters={"g": 0.4}, energy="g*sin(ry)")
    s.connect("field", field, s.ground, needle)
    s.initial("pin", position=-np.pi / 2 + 1e-3)
    result = da.simulate(s, 3.0)
    assert result["pin.position"] == pytest.approx(-np.pi / 2 + 1e-3 * np.cos(2 * result.t), abs=1e-8)
    assert abs(result["energy.balance"]).max() < 1e-9


@pytest.mark.parametrize(
    "make, field",
    [
        (lambda: da.Field("x"), "force"),
        (lambda: da.Field((0, 0)), "force"),
        (lambda: da.Field((0, 0, 0), (1,)), "moment"),
        (lambda: da.Field(("q", 0, 0)), "q"),
        (lambda: da.Drag(linear=-1), "linear"),
        (lambda: da.Drag(quadratic=np.nan), "quadratic"),
        (lambda: da.Drag(1.0, stream=(1, 2)), "stream"),
        (lambda: da.InverseSquare(np.inf), "strength"),
        (lambda: da.InverseSquare(1.0, softening=-1), "softening"),
    ],
)
def test_bad_numbers_are_named(make: Callable[[], da.Element], field: str) -> None:
    with pytest.raises(da.ModelError, match=field):
        make()
