"""Starts of ensembles by parameters: each run starts as it does alone."""

import numpy as np
import pytest

import dalembert as da
from dalembert.library.mechanisms import four_bar
from dalembert.library.parallel_robots import five_bar

TIMES = [0.0, 0.01]
FACTORS = np.array([1.0, 0.2, 3.0])


def _runs(model, given, state):
    """Return the ensemble by parameters, and the model of each run."""
    runs = da.simulate(model, TIMES[-1], parameters=given, state=state, times=TIMES)
    each = [{name: values[k] for name, values in given.items()} for k in range(len(runs))]
    return runs, [model.with_parameters(own) for own in each]


@pytest.mark.parametrize(
    "state", [None, {"A": 0.4}, {"A": 0.4, "A.speed": 2.0}, {"A": np.array([0.2, 0.3, 0.4]), "A.speed": 1.0}]
)
@pytest.mark.parametrize(
    "given",
    [
        {"coupler.mass": FACTORS},
        {"rocker.inertia.yy": FACTORS, "rocker.inertia.zz": FACTORS},
        {"coupler.com.y": 0.1 * FACTORS},
        {"C.first.x": 2.0 + 0.1 * FACTORS},
    ],
)
def test_runs_start_as_alone(state, given):
    runs, models = _runs(four_bar().compile(), given, state)
    for k, model in enumerate(models):
        own = state and {key: value[k] if np.ndim(value) else value for key, value in state.items()}
        alone = da.simulate(model, TIMES[-1], state=own, times=TIMES)
        np.testing.assert_allclose(runs.q[k], alone.q, atol=1e-9)
        np.testing.assert_allclose(runs.v[k], alone.v, atol=1e-8)


def test_velocities_left_free_have_the_least_energy_of_each_run():
    model = five_bar().compile()
    first = model.joint_names[0]
    body = model.body_names[-1]
    state = {f"{first}.speed": 1.0}
    runs, models = _runs(model, {f"{body}.mass": FACTORS}, state)
    starts = np.array([da.start_state(one, state).v for one in models])
    np.testing.assert_allclose(runs.v[:, 0], starts, atol=1e-10)
    assert np.abs(starts[1] - starts[2]).max() > 1e-3  # masses matter here


def test_given_states_are_projected_with_the_masses_of_each_run():
    model = five_bar().compile()
    q = da.start_state(model).q
    thrown = da.State(q=np.tile(q, (3, 1)), v=np.tile(np.linspace(1.0, -1.0, model.nv), (3, 1)))
    runs, models = _runs(model, {f"{model.body_names[-1]}.mass": FACTORS}, thrown)
    wanted = np.array([da.consistent_velocities(one, q, thrown.v[0]) for one in models])
    np.testing.assert_allclose(runs.v[:, 0], wanted, atol=1e-9)
    assert np.abs(wanted[1] - wanted[2]).max() > 1e-3
    assert any("3 states did not satisfy loops" in note for note in runs.notes)


def test_a_run_without_inertia_is_refused():
    s = da.System("sliders", gravity=(0, 0, 0))
    ends = [s.body(name, mass=1.0) for name in ("a", "b")]
    for body, axis in zip(ends, "xy", strict=True):
        s.connect(f"slide {body.name}", da.Prismatic(axis), s.ground, body)
    s.connect("rod", da.Distance(1.0), *ends)
    model, given = s.compile(), {"a.mass": np.array([1.0, 0.0]), "b.mass": np.array([1.0, 0.0])}
    with pytest.raises(da.SingularityError, match="nothing resists"):
        da.simulate(model, TIMES[-1], parameters=given, state={"slide a": 0.6, "slide b": 0.8}, times=TIMES)


@pytest.mark.parametrize("seed", range(5))
def test_runs_of_trees_by_name_start_as_alone(seed):
    rng = np.random.default_rng(seed)
    s = da.System("tree")
    links = [s.ground]
    joints = [da.Revolute("y"), da.Prismatic("x"), da.Planar("z"), da.Revolute("x", lower=0.2), da.Universal("x", "y")]
    for k, joint in enumerate(joints):
        link = s.body(f"link{k}", da.box(0.4, 0.1, 0.1, mass=1.0))
        s.connect(f"J{k}", joint, links[rng.integers(len(links))], link)
        links.append(link)
    s.initial("J1", position=0.3, speed=-1.0)
    model = s.compile()
    names = [*model.coordinate_names, *(f"{name}.speed" for name in model.speed_names)]
    chosen = rng.choice(names, size=4, replace=False).tolist()
    state = {name: rng.uniform(0.25, 1.0, 6) for name in chosen}
    state[chosen[0]] = 0.5  # of all runs
    runs = da.simulate(model, 0.01, state=state, times=TIMES)
    for k in range(6):
        alone = da.simulate(model, 0.01, state={n: v[k] if np.ndim(v) else v for n, v in state.items()}, times=TIMES)
        np.testing.assert_array_equal(runs.q[k, 0], alone.q[0])
        np.testing.assert_array_equal(runs.v[k, 0], alone.v[0])


def test_a_run_without_inertia_at_its_start_is_refused():
    s = da.System("gimbal", gravity=(0, 0, 0))
    last = s.ground
    for name, axis in zip("ABC", "zyz", strict=True):
        ring = s.body(name.lower(), da.box(1, 1, 1, mass=1.0)) if name == "C" else s.body(name.lower())
        s.connect(name, da.Revolute(axis), last, ring)
        last = ring
    model = s.compile()
    da.simulate(model, 0.01, state={"B": np.array([0.5, 0.8])}, times=TIMES)
    with pytest.raises(da.SingularityError, match="nothing resists along"):
        da.simulate(model, 0.01, state={"B": np.array([0.5, 0.0])}, times=TIMES)
