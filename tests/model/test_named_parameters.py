"""Numbers of a system by name: in conditions, runs, ensembles and events; named parameters and expressions of them."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from systems.linkages import four_bar_with_numbers, four_bar_with_parameters

import dalembert as da


def point_pendulum():
    s = da.System("pendulum")
    bob = s.body("bob", mass=2.0, com=(1.0, 0, 0))
    bob.marker("tip", 1.0, 0, 0)
    s.connect("A", da.Revolute("y"), s.ground, bob)
    return s


def test_a_run_with_other_numbers_is_that_of_the_system_which_has_them():
    ours = da.simulate(four_bar_with_parameters(), 0.3, parameters={"crank": 0.12})
    theirs = da.simulate(four_bar_with_numbers(0.12), 0.3)
    for name in ("A.position", "rocker.position", "energy.total", "D.force", "k.force", "center_of_mass"):
        mine, wanted = (result.output(name, times=[0.3]) for result in (ours, theirs))
        np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)
    assert ours.model.parameters[ours.model.parameter_names["crank"]] == 0.1  # as described


def test_analyses_take_a_model_with_other_numbers():
    model = four_bar_with_parameters().compile().with_parameters({"crank": 0.12})
    theirs = four_bar_with_numbers(0.12).compile()
    np.testing.assert_allclose(da.assemble(model).q, da.assemble(theirs).q, atol=1e-9)
    s, t = four_bar_with_parameters(), four_bar_with_numbers(0.12)
    for one in (s, t):
        one.drive("A", speed=2.0)
    times = [0.0, 0.25, 0.5]
    motion = da.kinematics(s.compile().with_parameters({"crank": 0.12}), times=times)
    wanted = da.kinematics(t, times=times)
    np.testing.assert_allclose(motion["rocker.position"], wanted["rocker.position"], atol=1e-9)
    assert model.system.bodies["first"].mass == pytest.approx(0.36)


def test_members_of_an_ensemble_have_numbers_of_their_own():
    lengths = [0.09, 0.1, 0.12]
    many = da.simulate(four_bar_with_parameters(), 0.2, parameters={"crank": lengths}, times=[0.0, 0.2])
    for k, length in enumerate(lengths):
        one = da.simulate(four_bar_with_numbers(length), 0.2, times=[0.0, 0.2])
        np.testing.assert_allclose(many.q[k, -1], one.q[-1], rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(many["rocker.position"][k], one["rocker.position"], rtol=1e-6, atol=1e-7)


def test_an_event_that_changes_a_mass_keeps_velocities_and_updates_outputs():
    s = point_pendulum()

    def halve(now):
        now.set("bob.mass", 1.0)
        now.set("bob.com.x", 0.5)

    event = da.Event("half", lambda state: state.t, value=0.5, action=halve)
    result = da.simulate(s, 1.0, events=[event], times=np.linspace(0, 1, 21))
    before = da.simulate(s, 0.5)
    shorter = s.compile().with_parameters({"bob.mass": 1.0, "bob.com.x": 0.5})
    start = da.State(q=before.q[-1], v=before.v[-1], t=0.5)
    after = da.simulate(shorter, 1.0, state=start)
    np.testing.assert_allclose(result.q[-1], after.q[-1], atol=1e-6)
    expected = np.where(result.t < 0.5, 1.0, 0.5)
    place = np.linalg.norm(result["center_of_mass"], axis=1)
    np.testing.assert_allclose(place[result.t != 0.5], expected[result.t != 0.5], atol=1e-9)
    np.testing.assert_allclose(result["energy.total"][result.t > 0.5], result["energy.total"][-1], atol=1e-6)


def test_stops_and_friction_of_every_member_and_after_an_event_are_their_own():
    s = da.System("slider", gravity=(0, 0, 0))
    m = s.parameter("m", 1.0)
    joint = da.Prismatic("x", upper=0.5 * m, friction=0.1, restitution=0.5)
    s.connect("P", joint, s.ground, s.body("b", da.box(0.1, 0.1, 0.1, mass=m)))
    s.initial("P", speed=1.0)
    masses = [1.0, 1.5, 2.0]
    many = da.simulate(s, 1.0, parameters={"m": masses}, times=[0.0, 1.0])
    alone = [da.simulate(s, 1.0, parameters={"m": m})["P.position"][-1] for m in masses]
    np.testing.assert_allclose(many["P.position"][:, -1], alone, atol=1e-9)
    event = da.Event("grow", lambda state: state.t, value=0.2, action=lambda now: now.set("m", 2.0))
    assert da.simulate(s, 3.0, events=[event])["P.position"].max() == pytest.approx(1.0, abs=1e-6)


def test_an_event_that_would_open_a_loop_is_refused():
    def stretch(now):
        now.set("crank", 0.2)

    event = da.Event("longer", lambda state: state.t, value=0.05, action=stretch)
    with pytest.raises(da.AssemblyError, match=r"crank = 0\.2 opens it"):
        da.simulate(four_bar_with_parameters(), 0.1, events=[event])


def test_conditions_and_variants_survive_pickling():
    model = four_bar_with_parameters().compile()
    conditions = model.conditions({"crank": 0.13, "coupler.mass": 2.5})
    again = pickle.loads(pickle.dumps(conditions))
    q, v = np.array([0.3, 0.2, 0.5]), np.ones(3)
    np.testing.assert_array_equal(
        again.model.forward_dynamics(q, v), model.forward_dynamics(q, v, conditions=conditions)
    )


def test_named_markers_move_with_their_numbers():
    model = point_pendulum().compile().with_parameters({"bob.tip.x": 3.0})
    np.testing.assert_allclose(model.pose("bob.tip", [0.0]).position, [3.0, 0, 0])


def test_a_plane_loop_that_is_plane_no_more_is_held_by_all_its_rows():
    model = four_bar_with_parameters().compile()
    q = da.assemble(model).q
    tilted = model.with_parameters({"D.first.rx": 0.2})
    assert len(tilted.independent_rows) > len(model.independent_rows)
    assert tilted.family is model
    model.forward_dynamics(q, np.zeros(3), conditions=tilted.conditions())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"bob.mass": -1.0}, "negative"),
        ({"bob.inertia.xx": 5.0}, "principal moments"),
        ({"bob.volume": 1.0}, "known are"),
        ({"gravity.z": np.nan}, "finite"),
    ],
)
def test_numbers_that_cannot_be_are_refused_by_name(given, words):
    with pytest.raises(da.ModelError, match=words):
        point_pendulum().compile().conditions(given)


def test_derivatives_by_a_named_parameter_go_through_everything_that_uses_it():
    model = four_bar_with_parameters().compile()
    q, v = np.array([0.3, 0.2, 0.5]), np.ones(3)
    exact = model.d_dynamics(0.0, q, v, parameters=["crank"]).a.parameters[:, 0]
    h = 1e-5
    a, b, c, d = (
        model.forward_dynamics(q, v, conditions=model.conditions({"crank": 0.1 + k * h})) for k in (-2, -1, 1, 2)
    )
    np.testing.assert_allclose(exact, (a - 8 * b + 8 * c - d) / (12 * h), rtol=1e-7)


def test_what_follows_from_a_parameter_is_not_set_by_itself():
    model = four_bar_with_parameters().compile()
    with pytest.raises(da.ModelError, match="it depends on 'crank'"):
        model.conditions({"first.mass": 1.0})


def test_no_expression_becomes_a_number_silently():
    s = da.System("s")
    p = s.parameter("p", 2.0)
    for lose in (float, int, bool, lambda x: np.asarray([x], dtype=float), lambda x: x < 3, np.zeros(3).__setitem__):
        with pytest.raises((da.ModelError, TypeError)):
            lose(p) if lose is not np.zeros(3).__setitem__ else lose(0, p)
    with pytest.raises(da.ModelError, match="is not allowed here"):
        da.shapes.prism([(0, 0), (p, 0), (0, 1)], 0.1, 1.0)
    assert str(2 * p + 0.01) == "2 * p + 0.01"
    assert str((1 - p) * -p / (p - 3) ** 2) == "(1 - p) * -p / (p - 3)**2"
    assert (np.sin(p) / np.float64(2)).value == np.sin(2.0) / 2
    assert [x.value for x in np.array([1.0, 2.0]) * p] == [2.0, 4.0]


def test_the_parameter_table_has_values_units_and_expressions():
    table = four_bar_with_parameters().parameters
    assert table["crank"].value == 0.1 and table["crank"].unit == "m"
    assert table["first.com.x"].follows == "crank / 2"
    assert next(iter(table)) == "crank"
    assert "first.mass" in repr(table)


def test_an_expression_that_occurs_often_is_evaluated_once():
    """Sixty halves of themselves, twice each: 2^60 terms when written out."""
    s = da.System("s")
    mass = first = s.parameter("m", 2.0)
    for _ in range(60):
        mass = mass / 2 + mass / 2
    assert mass.slope({"m": 3.0}, {"m": 1.0}) == (3.0, 1.0)
    s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(1.0, mass=mass)))
    model = s.compile()
    assert model.with_parameters({"m": 5.0}).parameters[model.parameter_names["bob.mass"]] == 5.0
    assert "terms" in s.parameters["bob.mass"].follows
    back = pickle.loads(pickle.dumps(mass))
    assert back.same_as(mass) and not back.same_as(mass / 2) and back.value == first.value
    with pytest.raises(da.ModelError, match="can be written out: replace a repeated part by a parameter"):
        mass.written()


def test_a_long_sum_is_an_expression_and_an_endless_one_is_refused():
    m = da.System("s").parameter("m", 1.0)
    total = m
    for _ in range(5000):
        total = total + m
    assert total.at({"m": 2.0}) == 10002.0
    assert copy.deepcopy(total).value == pickle.loads(pickle.dumps(total)).value == 5001.0
    with pytest.raises(da.ModelError, match="expression of m: depth is 10001; at most 10000"):
        for _ in range(5001):
            total = total + m
