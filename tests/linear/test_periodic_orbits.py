"""Floquet multipliers and periodic orbits: closed forms, and loops."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.special import ellipk

import dalembert as da
from dalembert.library.mechanisms import four_bar

G = 9.81


def shaken(amplitude: float, frequency: float) -> da.System:
    s = da.System("shaken", gravity=(0, 0, -G))
    cart, bob = s.body("cart", da.box(1, 1, 1, mass=1.0)), s.body("bob", mass=1.0, inertia=(1e-9,) * 3)
    s.connect("lift", da.Prismatic("z"), s.ground, cart)
    s.connect("P", da.Revolute("y"), cart, bob.at(0, 0, 1.0))
    s.drive("lift", position=da.Harmonic(amplitude, frequency))
    return s


@pytest.mark.parametrize("amplitude", [0.02, 0.3])
def test_a_shaken_pendulum_has_mathieus_multipliers(amplitude: float) -> None:
    law = da.Harmonic(amplitude, 6.0)
    second = [law(t)[2] for t in (0.0, 0.1)]
    w = np.sqrt(-second[1] / law(0.1)[0]) if law(0.1)[0] else 6.0
    period = 2 * np.pi / w
    found = da.floquet(shaken(amplitude, 6.0), period)

    def rate(t: float, y: np.ndarray) -> list[float]:
        return [y[1], -(G + law(t)[2]) * y[0]]

    ends = [solve_ivp(rate, (0, period), start, rtol=1e-12, atol=1e-13).y[:, -1] for start in ([1, 0], [0, 1])]
    assert_allclose(found.monodromy, np.array(ends).T, rtol=1e-6, atol=1e-6)
    assert_allclose(np.prod(found.multipliers), 1.0, rtol=1e-7)


def test_a_pendulum_swings_with_jacobis_period() -> None:
    """Of all orbits of a pendulum, the one of a given energy: the guess keeps it to first order."""
    s = da.System("pendulum", gravity=(0, 0, -G))
    s.connect("P", da.Revolute("y"), s.ground, s.body("bob", mass=1.0, inertia=(1e-12,) * 3).at(0, 0, 1.0))
    orbit = da.periodic_orbit(s, 2.2, {"P": 1.2})
    angle = np.abs(orbit.result["P.position"]).max()
    exact = 4 * np.sqrt(1 / G) * ellipk(np.sin(angle / 2) ** 2)
    assert_allclose(orbit.period, exact, rtol=1e-5)  # the largest stored angle stands for the amplitude
    assert_allclose(abs(orbit.multipliers), 1.0, atol=1e-3)  # double


def test_a_van_der_pol_oscillator_has_its_limit_cycle() -> None:
    s = da.System("van der Pol", gravity=(0, 0, 0))
    s.connect("X", da.Prismatic("x"), s.ground, s.body("m", da.box(1, 1, 1, mass=1.0)))
    s.connect("e", da.Element("joint", "mu*(1 - s**2)*ds - s", {"mu": 1.0}), "X")
    orbit = da.periodic_orbit(s, 6.0, {"X": 2.0})
    assert_allclose(orbit.period, 6.66328685933, rtol=1e-7)
    assert orbit.stable
    small = orbit.multipliers[1].real
    # Liouville: the product is exp of the integral of the divergence
    result = orbit.result
    t = np.linspace(0, orbit.period, 4001)
    x = result.at(t)["X.position"]
    assert_allclose(small, np.exp(np.trapezoid(1 - x**2, t)), rtol=1e-3)


def test_a_turning_four_bar_under_drive_returns_with_its_pendulum() -> None:
    s = four_bar()
    coupler = list(s.bodies.values())[1]
    bob = s.body("bob", mass=0.3, inertia=(1e-3,) * 3)
    s.connect("E", da.Revolute("y"), coupler, bob.at(0, 0, 0.05))
    s.connect("e", da.JointSpring(stiffness=0.5, damping=0.05), "E")
    s.drive("A", speed=12.0)
    model = s.compile()
    guess = da.simulate(model, 4 * 2 * np.pi / 12.0).final_state
    orbit = da.periodic_orbit(model, 2 * np.pi / 12.0, da.State(guess.q, guess.v, 0.0))
    assert orbit.residual < 1e-8
    again = da.simulate(model, 5 * orbit.period, state=orbit.state(), rtol=1e-11, atol=1e-13).final_state
    assert_allclose(np.sin(again.q), np.sin(orbit.state().q), atol=1e-5)


def test_a_missing_periodic_orbit_is_reported() -> None:
    s = da.System("falls", gravity=(0, 0, -G))
    s.connect("X", da.Prismatic("z"), s.ground, s.body("m", da.box(1, 1, 1, mass=1.0)))
    with pytest.raises(da.IntegrationError, match="no periodic orbit"):
        da.periodic_orbit(s, 1.0)
