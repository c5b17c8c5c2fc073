"""Nodes of compounds whose inner equilibrium has several solutions: runs keep to the one that they have followed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.simulation import recovery
from dalembert.simulation.run import Run

HEIGHT = np.sqrt(
    0.6**2 - 0.5**2
)  # of the node over the line between its ends, where both struts are as long as they like


def struts(start: Any = (0.5, 0.3, 0.0)) -> da.Compound:
    """Return two struts between ends that are nearer than both are long: the node is on either side of the line."""
    strut = da.Element("distance", "-k*(s - l)", {"k": 400.0, "l": 0.6}, energy="k*(s - l)**2/2")
    flat = da.Element("place", ("0", "0", "-k*z"), {"k": 50.0}, energy="k*z**2/2")
    members = {"one": (strut, "a", "m"), "two": (strut, "m", "b"), "flat": (flat, "a", "m")}
    return da.Compound(("a", "b"), members, nodes={"m": ("point", start)})


def roundabout() -> da.System:
    """Return an arm that turns about one end of the struts and holds the other, so that the node goes round with it.

    The search begins at a place that does not: half a turn later it is nearer to the solution on the other side.
    """
    s = da.System("roundabout", gravity=(0, 0, 0))
    arm = s.body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1))
    s.connect("A", da.Revolute("z"), s.ground, arm)
    s.connect("net", struts(), s.ground, arm.at(1.0, 0, 0))
    s.initial("A", speed=2.0)
    return s


def beside(result: da.Result) -> np.ndarray:
    """Return along and across the line between the ends where the node is, (n, 2) m."""
    angle, x, y = result["A.position"], result["net.m_x_at"], result["net.m_y_at"]
    return np.stack([np.cos(angle) * x + np.sin(angle) * y, np.cos(angle) * y - np.sin(angle) * x], axis=-1)


@pytest.mark.parametrize("options", [{}, {"times": np.linspace(0, 4, 33)}, {"method": "radau"}, {"max_step": 0.02}])
def test_a_node_stays_on_its_side(options: dict[str, Any]) -> None:
    result = da.simulate(roundabout(), 4.0, rtol=1e-8, atol=1e-10, **options)
    assert beside(result) == pytest.approx(np.tile([0.5, HEIGHT], (len(result.t), 1)), abs=1e-9)
    assert result["A.position"][-1] == pytest.approx(8.0, abs=1e-7)
    assert np.abs(result["energy.balance"]).max() < 1e-9  # on the line the struts would hold 4 J
    between = result.at(np.linspace(0.0, 4.0, 57))
    assert beside(between) == pytest.approx(np.tile([0.5, HEIGHT], (57, 1)), abs=1e-9)


def test_a_state_and_parameters_have_one_answer() -> None:
    """What a run has found is found again from bare states, in any order, with the numbers of that time."""
    result = da.simulate(roundabout(), 4.0, rtol=1e-8, atol=1e-10)
    model, place = result.model, "net.m_y_at"
    assert result.conditions is not None
    turned = 0
    for rows, conditions in result.conditions(result.t):
        shift = conditions.parameters[model.parameter_names["net.m_y_shift"]]
        turned += shift != 0.0
        numbers = {
            name: conditions.parameters[k] for name, k in model.parameter_names.items() if name.startswith("net.")
        }
        bare = model.conditions(parameters=numbers)
        column = model.compiled.elements.signals[place]
        for order in (rows, rows[::-1]):
            states = (result.q[order], result.v[order])
            found = model.report(["signals"], result.t[order], *states, result.x[order], conditions=bare)
            assert np.array_equal(found["signals"][:, column], result[place][order])
    assert turned > 2
    cold = model.report(["signals"], result.t, result.q, result.v, result.x)["signals"][:, column]
    assert np.abs(cold - result[place]).max() > 0.1  # from the start alone the search finds others


def test_runs_side_by_side_keep_to_their_solutions() -> None:
    """Also where the states that are asked for are far between."""
    runs = da.simulate(
        roundabout(), 4.0, state={"A": np.array([0.0, 0.1])}, times=[0.0, 2.0, 4.0], rtol=1e-8, atol=1e-10
    )
    for run in runs:
        assert beside(run) == pytest.approx(np.tile([0.5, HEIGHT], (3, 1)), abs=1e-9)


def test_an_interrupted_run_goes_on_with_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = da.simulate(roundabout(), 4.0, rtol=1e-8, atol=1e-10)
    go, pressed = recovery.keep_compound_branches, []

    def press(run: Run, rows: Any, has_changes: bool, branches: Any) -> Any:
        kept = go(run, rows, has_changes, branches)
        if run.integrator.t > 1.5 and not pressed:
            pressed.append(run.integrator.t)
            run.interrupt.flag.set = True
        return kept

    monkeypatch.setattr("dalembert.simulation.run.MAX_CHUNK_STEPS", 2)
    monkeypatch.setattr("dalembert.simulation.run.keep_compound_branches", press)
    part = da.simulate(roundabout(), 4.0, rtol=1e-8, atol=1e-10)
    assert part.status == "interrupted"
    rest = da.simulate(roundabout(), 4.0, rtol=1e-8, atol=1e-10, resume=part)
    for one, other in ((rest.t, whole.t), (rest.q, whole.q), (rest.v, whole.v)):
        assert np.array_equal(one, other)
    assert np.array_equal(beside(rest), beside(whole))


def test_a_driven_node_keeps_its_side_beside_a_light_body() -> None:
    """The node as a body of 1 g with a little damping goes the same way."""
    node_mass = 1e-3
    heavy = da.System("heavy", gravity=(0, 0, 0))
    arm = heavy.body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1))
    node = heavy.body("node", mass=node_mass, inertia=(1e-6, 1e-6, 1e-6))
    heavy.connect("A", da.Revolute("z"), heavy.ground, arm)
    heavy.connect("P", da.Planar("z"), heavy.ground, node)
    for name, first, second in (("one", heavy.ground, node), ("two", node, arm.at(1.0, 0, 0))):
        heavy.connect(name, da.SpringDamper(400.0, 0.5, 0.6), first, second)
    heavy.initial("A", speed=2.0)
    heavy.initial("P", position=(0.5, HEIGHT, 0.0), speed=(-2 * HEIGHT, 1.0, 0.0))
    light = da.simulate(heavy, 2.0, times=np.linspace(0, 2, 9))
    exact = da.simulate(roundabout(), 2.0, times=np.linspace(0, 2, 9))
    # the light body is off by the stretch that turns it, m w^2 r / k
    assert light["node.position"][:, 0] == pytest.approx(exact["net.m_x_at"], abs=2e-4)
    assert light["node.position"][:, 1] == pytest.approx(exact["net.m_y_at"], abs=2e-4)
