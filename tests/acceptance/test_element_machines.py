"""Machines with elements: stick-slip, a muscle arm, a motor, a hanging chain, a cantilever, against closed forms."""

from __future__ import annotations

import math
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da

FOLDER = Path(__file__).parents[2] / "examples"


def numbers_of(name: str) -> dict[str, Any]:
    """Return the numbers that an example computed, without its pictures."""
    return runpy.run_path(str(FOLDER / f"{name}.py"), run_name=name)


@pytest.fixture(scope="module")
def stick_slip() -> dict[str, Any]:
    return numbers_of("stick_slip")


def test_a_mass_sticks_and_slips_as_coulomb_says(stick_slip: dict[str, Any]) -> None:
    """Stuck for 2 (x_s - x_k)/V; slipping for (pi + 2 atan(V/(w (x_s - x_k))))/w."""
    found = stick_slip
    stick, slip = 2 * 0.005 / 0.02, (math.pi + 2 * math.atan(0.02 / (10 * 0.005))) / 10
    assert found["exact"] == pytest.approx(stick + slip, rel=1e-12)
    assert found["period"] == pytest.approx(stick + slip, rel=1e-8)
    assert found["share"] == pytest.approx(stick / (stick + slip), rel=1e-8)
    assert np.abs(np.diff(found["slipped"]) - (stick + slip)).max() < 1e-8
    result = found["result"]
    assert np.abs(result["energy.balance"]).max() < 1e-8
    # in slipping, an arc of a circle about x_k in the plane of x and x'/w
    assert result.output("block.position.x", np.linspace(2, 6, 4001)).max() == pytest.approx(
        0.01 + math.hypot(0.005, 0.002), rel=1e-4
    )


@pytest.mark.parametrize(
    ("friction", "within"),
    [
        (da.LuGreFriction(1.5, 1.0, 1e-4, bristle_stiffness=1e8, bristle_damping=2e4), 5e-3),
        (da.LuGreFriction(1.5, 1.0, 1e-5, bristle_stiffness=1e10, bristle_damping=2e5), 1.2e-3),
        (da.StribeckFriction(1.5, 1.0, 1e-4, slip_speed=1e-6), 6e-3),
        (da.StribeckFriction(1.5, 1.0, 1e-5, slip_speed=1e-7), 2e-4),
    ],
    ids=["LuGre", "LuGre stiffer", "Stribeck", "Stribeck sharper"],
)
def test_friction_laws_come_to_the_same_cycle(stick_slip: dict[str, Any], friction: da.Element, within: float) -> None:
    """As bristles get stiffer and the fall of friction with speed sharper."""
    back = da.Event("back", "block.velocity.x", direction=-1)
    result = da.simulate(stick_slip["belt"](friction), 4.0, events=[back])
    moments = [event.t for event in result.events]
    assert np.ptp(np.diff(moments)) < 1e-6
    assert np.diff(moments)[-1] == pytest.approx(stick_slip["exact"], rel=within)
    if within > 4e-3:  # stiffer ones lose their energy in bursts, which sums over steps miss
        assert np.abs(result["energy.balance"]).max() < 1e-5


@pytest.fixture(scope="module")
def muscle_arm() -> dict[str, Any]:
    return numbers_of("muscle_arm")


def test_a_forearm_comes_to_rest_where_moments_balance(muscle_arm: dict[str, Any]) -> None:
    result = muscle_arm["result"]
    assert result["elbow.position"][-1] == pytest.approx(muscle_arm["exact"], abs=1e-4)
    assert abs(result["elbow.speed"][-1]) < 1e-3
    assert np.abs(result["energy.balance"]).max() < 1e-6


@pytest.mark.parametrize("angle", [-1.0, -0.3, 0.4, 1.1])
def test_isometric_moments_are_those_of_force_and_length(muscle_arm: dict[str, Any], angle: float) -> None:
    """Held at an angle, at full activation of both, the elbow needs what the moments leave."""
    system = muscle_arm["arm"](1.0, 0.6)
    system.drive("elbow", position=angle)
    system.initial("elbow", position=angle)
    held = da.simulate(system, 1.0)
    assert held.x[-1] == pytest.approx([1.0, 0.6], abs=1e-6)
    assert held["elbow.effort"][-1] == pytest.approx(-muscle_arm["moment"](angle, 1.0, 0.6), rel=1e-5)


def test_a_muscle_without_load_shortens_with_its_largest_speed() -> None:
    """And with a load of Hill's hyperbola: at (1 - f)/(1 + 4 f) of it; held back, it pulls with 1.4 of its strength."""

    def run(element: da.Element, speed: float, force: float) -> float:
        s = da.System("muscle", gravity=(0, 0, 0))
        block = s.body("block", da.box(0.1, 0.1, 0.1, mass=1e-3))
        s.connect("slide", da.Prismatic("x"), s.ground, block)
        s.connect("muscle", element, s.ground, block)
        s.connect("pull", da.Effort(force), "slide")
        s.initial("slide", position=0.3, speed=speed)
        result = da.simulate(s, 0.002)
        l = (result["slide.position"][-1] - 0.2) / 0.1  # noqa: E741
        share = force / (500.0 * math.exp(-((l - 1) ** 2) / 0.45))
        assert result["slide.speed"][-1] == pytest.approx(-1.0 * (1 - share) / (1 + 4 * share), rel=1e-3)
        return share

    for force in (0.0, 100.0, 250.0):
        run(da.HillMuscle(1.0, 500.0, 0.1, slack_length=0.2, start=1.0), -1.0, force)
    muscle = da.HillMuscle(1.0, 500.0, 0.1, slack_length=0.2, start=1.0)
    stretched = muscle.evaluate([[0.0, 0.3, 100.0, 1.0, *muscle.parameters.values()]])[0, 0]
    assert stretched == pytest.approx(-1.4 * 500.0, rel=1e-3)


def test_a_servo_moves_as_linear_control_says() -> None:
    found = numbers_of("dc_servo")
    stall, result = found["stall"], found["result"]
    assert stall.x[:, 0] == pytest.approx(6.0 / 1.2 * (1 - np.exp(-600.0 * stall.t)), abs=1e-8)
    assert result["shaft.position"] == pytest.approx(found["exact"], abs=1e-7)
    assert found["poles"].real.max() < 0
    assert np.abs(result["energy.balance"]).max() < 1e-5


def test_a_hanging_chain_is_a_catenary() -> None:
    """Within 0.3 % with 40 links: sag, pull at its ends, and the curve."""
    found = numbers_of("hanging_chain")
    assert found["links"] == 40
    assert found["sag"] == pytest.approx(found["exact_sag"], rel=1e-3)
    assert found["pull"] == pytest.approx(found["exact_pull"], rel=1e-3)
    assert np.abs(found["pins"][:, 2] - found["shape"]).max() < 3e-3 * found["exact_sag"]
    assert np.abs(found["result"].v[-1]).max() < 1e-4


def test_a_cantilever_of_links_is_the_elastica() -> None:
    """Within 0.3 % with 40 links, small and large, and as the square of their number."""
    found = numbers_of("cantilever")
    assert found["small"][2] == pytest.approx(found["exact_small"], rel=1e-3)
    assert found["exact"][[0, 2]] == pytest.approx([0.44500, 0.81061], abs=1e-5)  # Bisshopp and Drucker, P L^2/EI = 10
    assert found["error"].max() < 3e-3
    errors = []
    for n in (10, 20):
        tip, _ = found["deflect"](found["links"](n, 20.0), lambda s, n=n: s[f"link_{n - 1}"].at(1 / n, 0, 0), steps=10)
        errors.append(np.linalg.norm(tip - found["exact"]))
    assert math.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.02)


def test_a_cantilever_of_beams_is_the_elastica() -> None:
    """The same load on six beam elements."""
    found = numbers_of("cantilever")
    n, load = 6, 20.0
    s = da.System("beams", gravity=(0, 0, 0))
    before: da.Body = s.ground
    for k in range(n):
        node = s.body(f"node_{k}", mass=0.1, inertia=(1e-3, 1e-3, 1e-3))
        s.connect(f"free_{k}", da.Planar("y"), before.at(1 / n, 0, 0), node)
        s.connect(f"beam_{k}", da.BeamElement(1 / n, axial=1e5, bending=2.0), before, node)
        before = node
    s.connect("load", da.Load(force=(0, 0, da.Polynomial((0.0, load)))), before)
    tip, _ = found["deflect"](s, lambda s: s[f"node_{n - 1}"], steps=40)
    assert tip[[0, 2]] == pytest.approx(found["exact"][[0, 2]], abs=1e-3)
