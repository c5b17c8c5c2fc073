"""Ensembles over parameters: each run equals that of a model with its parameters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from systems.parameter_examples import KINDS, shifted_parameters

import dalembert as da
from dalembert.errors import ModelError
from dalembert.library.mechanisms import four_bar
from dalembert.simulation.ensemble.groups import EnsembleGroups
from dalembert.simulation.options import make_options


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_in_simd_batches_equal_those_of_a_model_with_them(kind):
    rng = np.random.default_rng(5)
    s, q, v = kind(rng)
    model = s.compile()
    count = 11  # more than one register full, and a part of one
    numbers = np.array([shifted_parameters(model, rng) for _ in range(count)])
    q, v = (np.tile(part, (count, 1)) for part in (q, v))
    v = v * rng.uniform(0.5, 1.0, (count, 1))
    x = np.tile(model.element_start_values(), (count, 1))
    options = make_options(model, method="dop853", rtol=1e-8, atol=1e-8, max_step=None, step=None, project=False)
    members = EnsembleGroups(model.conditions(), count, numbers)
    times, found = np.array([0.02, 0.05]), {}
    for group in members.groups():
        table = members.discontinuity_times(group, 0.0, 0.05, options, np.zeros(0))
        given = (np.ascontiguousarray(part[group.rows]) for part in (q, v, x))
        *_, q_1, v_1, x_1 = options.integrator(group.conditions).run_batch(
            0.0, 0.05, times, *given, group.elements, group.own, 2, *table
        )
        found |= {int(run): np.hstack([q_1[k], v_1[k], x_1[k]]) for k, run in enumerate(group.rows)}
    for k in range(count):
        own = members[k]
        alone = options.integrator(own).run_batch(0.0, 0.05, times, q[[k]], v[[k]], x[[k]], None, None, 1)
        expected = np.hstack([part[0] for part in alone[3:]])
        assert np.isfinite(expected).all()
        # rounding alone, which stiff springs and light bodies make much of
        np.testing.assert_allclose(found[k], expected, rtol=1e-8, atol=1e-8 * (1.0 + np.abs(expected).max()))
    assert np.ptp([found[k][-1] for k in range(count)], axis=0).max() > 1e-4  # they differ from each other


def test_loops_of_other_lengths_and_masses_run_side_by_side(tmp_path: Path):
    s = four_bar()
    rng, count = np.random.default_rng(2), 9
    given = {"B.first.x": 1.0 + 0.05 * rng.random(count), "coupler.mass": rng.uniform(0.5, 2.0, count)}
    model = s.compile()
    times = np.linspace(0.0, 1.0, 5)
    how = {"times": times, "rtol": 1e-10, "atol": 1e-11}
    runs = da.simulate(model, 1.0, parameters=given, **how)
    assert set(runs.status) == {"finished"}
    for k in range(count):
        alone = da.simulate(model, 1.0, parameters={name: values[k] for name, values in given.items()}, **how)
        np.testing.assert_allclose(runs.q[k], alone.q, atol=1e-8)
        np.testing.assert_allclose(runs["C.position"][k], alone["C.position"], atol=1e-8)
        np.testing.assert_array_equal(runs[k].at(times).q, runs.q[k])  # taken once more: the same bits
    runs.save(tmp_path / "runs.nc")
    again = da.Ensemble.load(tmp_path / "runs.nc", model)
    np.testing.assert_array_equal(again[3].at(times).q, runs.q[3])
    np.testing.assert_array_equal(again["energy.total"], runs["energy.total"])


def test_a_plane_loop_that_is_no_more_has_rows_of_its_own():
    s = da.System("bars")
    rod = da.rod(length=1.0, mass=1.0, radius=0.05)
    a, b, c = (s.body(name, rod) for name in "abc")
    s.connect("A", da.Revolute("y"), s.ground, a)
    s.connect("B", da.Revolute("y"), a.at(1, 0, 0), b)
    s.connect("C", da.Spherical(), b.at(1, 0, 0), c)
    s.connect("D", da.Spherical(), s.ground.at(1.2, 0, 0.3), c.at(1, 0, 0))
    s.initial("A", position=-1.0, guess=True)
    model = s.compile()
    side = np.array([0.0, 0.0, 0.1, -0.2])
    runs = da.simulate(model, 0.5, parameters={"B.first.y": side}, times=[0.5], rtol=1e-9, atol=1e-10)
    for k in range(len(side)):
        alone = da.simulate(model, 0.5, parameters={"B.first.y": side[k]}, times=[0.5], rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(runs["b.position"][k], alone["b.position"], atol=1e-6)


def test_numbers_that_no_body_can_have_are_named():
    model = four_bar().compile()
    with pytest.raises(ModelError, match=r"parameter 'coupler.mass' is -1.0; a mass must not be negative"):
        da.simulate(model, 0.1, parameters={"coupler.mass": [1.0, 2.0, -1.0]})
    with pytest.raises(ModelError, match="principal moments"):
        da.simulate(model, 0.1, parameters={"coupler.inertia.zz": [1.3, 100.0]})


def test_starts_by_name_belong_to_their_runs():
    s = da.System("arm")
    arm = s.body("arm", da.rod(length=1.0, mass=1.0))
    s.connect("A", da.Revolute("y"), s.ground.at(0, 0, 1), arm)
    angle, height = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 1.0])
    runs = da.simulate(s, 0.1, state={"A": angle}, parameters={"A.first.z": height}, times=[0.0, 0.1])
    np.testing.assert_allclose(runs["A.position"][:, 0], angle)
    np.testing.assert_allclose(runs["arm.position"][:, 0, 2], height)


def five_bar() -> da.System:
    s = da.System("five-bar")
    bars = [s.body(f"b{k}", da.rod(length=1.0, mass=1.0, radius=0.05)) for k in range(4)]
    s.connect("A", da.Revolute("y"), s.ground, bars[0])
    for name, one, other in zip("BCD", bars, bars[1:], strict=False):
        s.connect(name, da.Revolute("y"), one.at(1, 0, 0), other)
    s.connect("E", da.Revolute("y"), s.ground.at(1.5, 0, 0), bars[3].at(1, 0, 0))
    s.initial("A", position=-1.2, speed=1.0)
    s.initial("B", position=0.7, guess=True)
    s.initial("C", position=1.0, guess=True)
    return s


@pytest.mark.parametrize("state", [None, {"A.speed": [1.0, 2.0, 3.0]}])
def test_start_velocities_follow_the_masses_of_each_run(state):
    model, mass = five_bar().compile(), np.array([1.0, 5.0, 20.0])
    how = {"times": [0.0, 0.2], "rtol": 1e-9, "atol": 1e-10}
    runs = da.simulate(model, 0.2, state=state, parameters={"b1.mass": mass, "b2.mass": mass[::-1]}, **how)
    for k in range(3):
        own = None if state is None else {name: values[k] for name, values in state.items()}
        given = {"b1.mass": mass[k], "b2.mass": mass[2 - k]}
        alone = da.simulate(model, 0.2, state=own, parameters=given, **how)
        np.testing.assert_allclose(runs.v[k], alone.v, atol=1e-7)


def test_numbers_that_all_runs_share_hold_at_their_starts():
    model = five_bar().compile()
    given = {"B.first.x": 1.2, "b1.mass": 7.0}
    runs = da.simulate(model, 0.1, parameters={**given, "gravity.z": [-9.81, 0.0]}, times=[0.0, 0.1])
    same = da.simulate(model, 0.1, state={"A.speed": [1.0, 1.0]}, parameters=given, times=[0.0, 0.1])
    alone = da.simulate(model, 0.1, parameters=given, times=[0.0, 0.1])
    assert runs.status == same.status == ("finished", "finished")
    for found in (runs.q[:, 0], same.q[:, 0]):
        np.testing.assert_allclose(found, [alone.q[0]] * 2, atol=1e-10)
    np.testing.assert_allclose(same.v[:, 0], [alone.v[0]] * 2, atol=1e-9)
