"""Random systems with random elements of the whole library: what they store, lose and bring is what the motion gets."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.random_elements import ALONG_LINES, AT_JOINTS, AT_PLACES, NEARLY_ALIGNED, OF_THREE, add_random_elements
from systems.random_loops import random_closed_system
from systems.random_trees import COORDINATE_JOINTS, random_state, random_system

import dalembert as da
from dalembert.connections.elements.element import Element
from dalembert.model.law_inputs import law_inputs
from dalembert.result.outputs.motion import Motion

Array = NDArray[np.float64]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)


def tree(seed: int, count: int = 8) -> tuple[da.Model, da.State, list[str]]:
    """Return a random tree with random elements, and a state."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, 4, joints=(*COORDINATE_JOINTS, da.Spherical, da.Free))
    q, v = random_state(system, rng)
    kinds = add_random_elements(system, system.compile(), q, rng, count)
    model = system.compile()
    return model, da.State(q, v, x=model.initial_state().x), kinds


def loops(seed: int, count: int = 6) -> tuple[da.Model, da.State, list[str]]:
    """Return random loops with random elements, closed, and a state."""
    rng = np.random.default_rng(seed)
    closed = random_closed_system(rng, 4, 1, joints=(da.Revolute, da.Prismatic, da.Universal, da.Spherical))
    bare = closed.system.compile()
    kinds = add_random_elements(closed.system, bare, closed.state(bare)[0], rng, count)
    model = closed.system.compile()
    q, v = closed.state(model)
    return model, da.State(q, v, x=model.initial_state().x), kinds


def account(model: da.Model, result: da.Result) -> tuple[float, float]:
    """Return what is missing between the growth of kinetic and gravitational energy and the work of all elements, J.

    By Gauss's rule on the dense output between steps: first with the loads of the core, then with the laws in Python,
    one element after the other.
    """
    t0, h = result.t[:-1], np.diff(result.t)
    t = (t0[:, None] + h[:, None] * (NODES + 1) / 2).ravel()
    weights = (h[:, None] * WEIGHTS / 2).ravel()
    at = result.at(t)
    tau, loads = model.applied_loads(t, at.q, at.v, at.x)
    velocities = np.asarray(model.velocities(at.q, at.v)).reshape(loads.shape)
    power = (tau * at.v).sum(axis=1) + (loads * velocities).sum(axis=(1, 2))

    one_by_one = np.zeros(len(t))
    motion = Motion(model, t, at.q, at.v, at.x)
    for force in model.system.forces.values():
        if isinstance(force.element, Element):
            m, inputs = force.element.measures, law_inputs(model, force.name, t, at.q, at.v, at.x)
            one_by_one += (force.element.evaluate(inputs)[:, :m] * inputs[:, 1 + m : 1 + 2 * m]).sum(axis=1)
        elif force.joint_coordinates:
            one_by_one += at[f"{force.name}.effort"] * at[f"{force.joint_coordinates[0][0].name}.speed"]
        else:
            first, second = (motion.velocity(end) for end in force.ends)
            one_by_one += (at[f"{force.name}.force"] * (second[1] - first[1])).sum(axis=1)
    start, end = (model.energy(result.q[k], result.v[k], bare=True).total for k in (0, -1))
    gained = float(end - start)
    return gained - float(weights @ power), gained - float(weights @ one_by_one)


def scale(result: da.Result) -> float:
    """Return how much energy there is about, J."""
    return float(1.0 + max(np.abs(result[f"energy.{kind}"]).max() for kind in ("kinetic", "potential", "work")))


@pytest.mark.parametrize("build", [tree, loops])
@pytest.mark.parametrize("seed", range(12))
def test_the_power_balance_closes(build: object, seed: int) -> None:
    model, state, kinds = build(seed)  # type: ignore[operator]
    try:
        result = da.simulate(model, 0.4, state=state, rtol=1e-9, atol=1e-11)
    except da.SingularityError as error:
        assert "half a turn" in str(error)
        pytest.skip("an element turns over")
    about = scale(result)
    assert np.abs(result["energy.balance"]).max() < 1e-6 * about, kinds
    by_core, one_by_one = account(model, result)
    assert abs(by_core) < 1e-6 * about, kinds
    assert abs(one_by_one) < 1e-6 * about, kinds
    # and the parts of the account are what is left of it
    end, start = (model.energy(result.q[k], result.v[k], t=result.t[k], x=result.x[k]).total for k in (-1, 0))
    assert end - start == pytest.approx(
        float(result["energy.work"][-1] - result["energy.dissipated"][-1]), abs=1e-6 * about
    ), kinds


@pytest.mark.slow
@pytest.mark.parametrize("build", [tree, loops])
@pytest.mark.parametrize("seed", range(100, 160))
def test_the_power_balance_of_many_random_systems_closes(build: object, seed: int) -> None:
    test_the_power_balance_closes(build, seed)


@pytest.mark.parametrize("seed", range(3))
def test_implicit_steps_keep_the_same_account(seed: int) -> None:
    model, state, kinds = tree(seed + 50)
    result = da.simulate(model, 0.3, state=state, method="radau", rtol=1e-9, atol=1e-11)
    assert np.abs(result["energy.balance"]).max() < 1e-6 * scale(result), kinds


@pytest.mark.parametrize("build", [tree, loops])
@pytest.mark.parametrize("seed", range(2))
def test_accounts_close_in_ensembles(build: object, seed: int) -> None:
    """Runs side by side, with other speeds, give what single runs give."""
    model, state, kinds = build(seed + 30)  # type: ignore[operator]
    times = np.linspace(0, 0.3, 31)
    factors = np.array([0.3, 0.7, 1.0, 1.4, 1.9])
    many = da.State(np.tile(state.q, (5, 1)), factors[:, None] * state.v, x=np.tile(state.x, (5, 1)))
    runs = da.simulate(model, 0.3, state=many, times=times, rtol=1e-9, atol=1e-11)
    for k in range(5):
        alone = da.State(state.q, factors[k] * state.v, x=state.x)
        single = da.simulate(model, 0.3, state=alone, times=times, rtol=1e-9, atol=1e-11)
        assert runs[k].q[-1] == pytest.approx(single.q[-1], abs=1e-6), kinds
        for name in ("energy.dissipated", "energy.work"):
            assert runs[k][name][-1] == pytest.approx(single[name][-1], abs=1e-5 * scale(single)), kinds
        assert np.abs(runs[k]["energy.balance"]).max() < 1e-4 * scale(runs[k]), kinds


def test_the_random_elements_are_the_whole_library() -> None:
    def kinds(base: type) -> set[str]:
        return {base.__name__}.union(*(kinds(kind) for kind in base.__subclasses__()))

    drawn = {kind for family in (AT_JOINTS, ALONG_LINES, AT_PLACES, NEARLY_ALIGNED, OF_THREE) for kind in family}
    # they need parts, or a joint or a gap of their own
    apart = {"Element", "SignalBlock", "Compound", "JointFriction", "JournalBearing", "TractionFilm"}
    apart |= {"AlongPath", "BevelMesh", "BrushTyre", "GearMesh", "GearMotor", "MagicFormulaTyre", "MillardMuscle"}
    apart |= {"BeltDrive", "CamContact", "ChainDrive", "GenevaContact", "PulleyRope", "Ratchet"}
    apart |= {"HydraulicSupply", "PIDController", "PneumaticCylinder", "ProportionalValve", "StateFeedback"}
    assert {kind for kind in kinds(Element) if hasattr(da, kind)} - apart <= drawn
