"""Muscles with elastic tendons: curves of the source, equilibrium, energy, limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import dalembert as da
from dalembert.connections.formulas.muscle_curves import (
    active_force_length,
    force_velocity,
    passive_force_length,
    tendon_force_length,
)


def test_curves_pass_their_published_points() -> None:
    """Millard et al. 2013, appendix: ends, optimum, slopes, strain of the tendon at the largest isometric force."""
    active, velocity, passive, tendon = (
        curve().value for curve in (active_force_length, force_velocity, passive_force_length, tendon_force_length)
    )
    assert active.evaluate(0.4441) == pytest.approx(0, abs=1e-12) and active.evaluate(1.8123) == pytest.approx(
        0, abs=1e-9
    )
    assert active.evaluate(1.0) == pytest.approx(1.0, abs=1e-6)
    shallow = (active.evaluate(0.85) - active.evaluate(0.83)) / 0.02
    assert shallow == pytest.approx(0.8616, rel=2e-2)
    assert [velocity.evaluate(x) for x in (-1.0, 0.0, 1.0)] == pytest.approx([0.0, 1.0, 1.4], abs=1e-6)
    isometric = (velocity.evaluate(1e-3) - velocity.evaluate(-1e-3)) / 2e-3
    assert isometric == pytest.approx(5.0, rel=2e-2)
    assert passive.evaluate(1.7) == pytest.approx(1.0, abs=1e-6) and passive.evaluate(1.0) == pytest.approx(0, abs=1e-9)
    high = tendon_force_length().high
    assert tendon.evaluate(high) == pytest.approx(2 / 3, abs=1e-6)
    assert 2 / 3 + 1.375 / 0.049 * (1.049 - high) == pytest.approx(1.0, abs=1e-12)
    x = np.linspace(-1, 1, 2001)
    assert (np.diff(velocity.evaluate(x)) > -1e-9).all()


def held(muscle: da.MillardMuscle, length: float) -> da.System:
    """Return a muscle that is held at a length."""
    s = da.System("held", gravity=(0, 0, 0))
    block = s.body("block", da.sphere(0.1, mass=1.0))
    s.connect("guide", da.Prismatic("x"), s.ground, block)
    s.connect("muscle", muscle, s.ground.at(-length, 0, 0), block)
    s.drive("guide", speed=0.0)
    return s


@pytest.mark.parametrize("pennation", [0.0, 0.4])
def test_an_isometric_muscle_comes_to_rest_where_fiber_and_tendon_balance(pennation: float) -> None:
    muscle = da.MillardMuscle(0.6, 1000.0, 0.1, 0.2, pennation=pennation, start=0.6)
    length = 0.2 + 0.1 * math.cos(pennation) + 0.005
    result = da.simulate(held(muscle, length), 3.0, rtol=1e-9)
    fiber = muscle.resting_fiber(length, 0.6)
    assert result["muscle.fiber"][-1] == pytest.approx(fiber, abs=1e-6)
    force = np.linalg.norm(result["muscle.force"][-1])
    along = math.sqrt(fiber**2 - math.sin(pennation) ** 2)
    strain = (length - 0.1 * along) / 0.2 - 1
    assert result["muscle.tendon_strain"][-1] == pytest.approx(strain, abs=1e-7)
    balance = 0.6 * active_force_length().value.evaluate(fiber) + passive_force_length().value.evaluate(max(fiber, 1.0))
    assert force == pytest.approx(1000 * balance * along / fiber, rel=1e-5)


def test_an_unloaded_muscle_shortens_at_its_fastest() -> None:
    """A slack tendon: an active fiber shortens with the velocity at which its force and its damping are zero."""
    muscle = da.MillardMuscle(1.0, 1000.0, 0.1, 0.2, start=1.0, fiber_start=0.95)
    result = da.simulate(held(muscle, 0.27), 0.01)
    active, velocity = active_force_length().value, force_velocity().value
    fiber = result["muscle.fiber"][0]
    wanted = brentq(lambda w: active.evaluate(fiber) * velocity.evaluate(w) + 0.1 * w, -1, 0)
    assert result["muscle.velocity"][0] == pytest.approx(wanted, rel=1e-9) and wanted < -0.6
    assert result["muscle.tendon_strain"][0] < 0 and np.linalg.norm(result["muscle.force"][0]) == 0.0


def test_the_account_of_energy_closes() -> None:
    s = da.System("lifting")
    load = s.body("load", da.sphere(0.1, mass=20.0))
    s.connect("guide", da.Prismatic("z"), s.ground.at(0, 0, -0.31), load)
    numbers = {"pennation": 0.2, "start": 0.3}
    fiber = da.MillardMuscle(0.3, 1000.0, 0.1, 0.2, **numbers).resting_fiber(0.31, 0.3)
    muscle = da.MillardMuscle("0.3 + 0.3*sin(12*t)", 1000.0, 0.1, 0.2, fiber_start=fiber, **numbers)
    s.connect("muscle", muscle, s.ground, load)
    result = da.simulate(s, 1.5, rtol=1e-9)
    assert abs(result["energy.balance"]).max() < 1e-6
    assert abs(result["muscle.velocity"]).max() > 0.05


def test_a_muscle_acts_along_a_path() -> None:
    s = da.System("arm")
    arm = s.body("arm", da.rod(length=0.3, mass=1.0))
    s.connect("elbow", da.Revolute("z"), s.ground, arm)
    muscle = da.MillardMuscle(0.3, 500.0, 0.15, 0.28)
    route = ["point", da.WrapCylinder(0.02, side=1), "point"]
    s.connect("muscle", da.AlongPath(muscle, route), s.ground.at(-0.25, 0, 0), s.ground, arm.at(0.2, 0, 0))
    result = da.simulate(s, 0.2)
    assert result["muscle.angle2"][0] > 0
    assert abs(result["energy.balance"]).max() < 1e-5
    assert result["elbow.position"][-1] < -0.1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"pennation": 20.0}, "give it in rad"),
        ({"start": 0.0}, "activation from 0.01"),
        ({"fiber_start": 3.0}, "by the optimal length"),
        ({"damping": 0.0}, "damping"),
    ],
)
def test_muscles_that_are_none_are_refused(options: dict[str, float], text: str) -> None:
    with pytest.raises(da.ModelError, match=text):
        da.MillardMuscle(0.5, 1000.0, 0.1, 0.2, **options)


def test_a_length_at_which_nothing_is_at_rest_is_refused() -> None:
    with pytest.raises(da.ModelError, match=r"no fiber length from 0\.2 to 2"):
        da.MillardMuscle(0.5, 1000.0, 0.1, 0.2).resting_fiber(1.0)
