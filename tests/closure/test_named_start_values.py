"""Start values by name: in runs, live ones, ensembles and for kernels; what comes first where not all can be met."""

from __future__ import annotations

import numpy as np
import pytest
from systems.linkages import five_bar

import dalembert as da
from dalembert.library.mechanisms import four_bar


def skater() -> da.System:
    s = da.System("skater", gravity=(0, 0, 0))
    s.connect("ice", da.Planar("z"), s.ground, s.body("body", mass=2.0, inertia=(0.1, 0.1, 0.2)))
    return s


def test_a_run_starts_where_names_say_also_at_a_cut_joint() -> None:
    model = four_bar().compile()
    assert [loop_constraint.name for loop_constraint in model.forest.loop_constraints] == ["D"]
    result = da.simulate(model, 0.05, state={"D": 1.2, "D.speed": 2.0})
    assert result["D.position"][0] == pytest.approx(1.2, abs=1e-10)
    assert result["D.speed"][0] == pytest.approx(2.0, abs=1e-10)
    assert abs(result["constraints.residual"]).max() < 1e-10
    # what the description said of A had to give way, and that is said
    assert [note for note in result.stats.notes if note.startswith("A was to start at 1 rad")]


def test_names_come_before_the_description_and_the_rest_is_kept() -> None:
    s = five_bar()
    s.initial("A", position=2.0, speed=0.5)
    s.initial("B", position=2.5, speed=1.0)
    state = da.start_state(s, {"E": 1.9})
    notes = state.notes
    model = s.compile()
    q_cut, *_ = model.cut_motion(state.q, state.v, np.zeros(model.nv))
    angle = {**dict(zip(model.coordinate_names, state.q, strict=True)), "E": float(q_cut[0])}
    assert abs(np.angle(np.exp(1j * (angle["E"] - 1.9)))) < 1e-9
    assert np.abs(model.constraint_residual(state.q)).max() < 1e-11
    assert notes and all("was to start at" in note for note in notes)
    plain = da.start_state(s)
    none = plain.notes
    assert none == [] and plain.q[0] == 2.0


def test_one_coordinate_of_several_by_name_in_system_and_state() -> None:
    s = skater()
    s.initial("ice.x", position=0.5)
    s.initial("ice.angle", speed=3.0)
    result = da.simulate(s, 1.0)
    np.testing.assert_allclose(result["ice.position"][-1], [0.5, 0, 3.0], atol=1e-9)
    result = da.simulate(s, 1.0, state={"ice.y.speed": 2.0, "ice.x": -1.0})
    np.testing.assert_allclose(result["ice.position"][-1], [-1.0, 2.0, 3.0], atol=1e-9)
    with pytest.raises(da.ModelError, match=r"ice\.height.*ice\.x, ice\.y, ice\.angle"):
        s.initial("ice.height", position=1.0)


def test_bodies_by_name() -> None:
    s = skater()
    state = da.start_state(s, {"body.position": (1, 2, 0), "body.velocity": (0, 3, 0)})
    notes = state.notes
    np.testing.assert_allclose(state.q, [1, 2, 0], atol=1e-12)
    np.testing.assert_allclose(state.v, [0, 3, 0], atol=1e-12)
    assert notes == []
    notes = da.start_state(s, {"body.velocity": (0, 0, 1.0)}).notes
    assert "'body' was to start with velocity (0, 0, 1) m/s" in notes[0]


def test_modes_and_element_states_by_name() -> None:
    s = da.System("arm", gravity=(0, 0, 0))
    section, steel = da.Section.circle(0.01), da.Material(2.1e11, nu=0.3, density=7800.0)
    arm = s.body("arm", da.beam(1.0, section, steel, elements=4, modes=da.CantileverModes(3)))
    s.connect("A", da.Revolute("y"), s.ground, arm)
    s.connect("lag", da.Element("joint", "-k*z", {"k": 2.0}, states={"z": (0.1, "s - z")}, active=True), "A")
    state = da.start_state(s, {"arm.eta[1]": 0.01, "arm.eta[0].speed": 0.2, "lag.z": 0.7, "A": 0.3})
    notes = state.notes
    model = s.compile()
    np.testing.assert_allclose(state.q[model.q_slice("arm")], [0, 0.01, 0])
    np.testing.assert_allclose(state.v[model.v_slice("arm")], [0.2, 0, 0])
    assert state.q[model.q_slice("A")] == 0.3 and state.x.tolist() == [0.7] and notes == []
    assert da.simulate(model, 0.01, state={"lag.z": 0.7}).x[0, 0] == 0.7


def test_many_states_by_name() -> None:
    model = five_bar().compile()
    angles, speeds = np.linspace(1.7, 2.0, 4), np.linspace(-1.0, 1.0, 4)
    given = {"A": angles, "B": 2.5, "E.speed": speeds}
    runs = da.simulate(model, 0.1, times=[0.0, 0.1], state=given)
    assert len(runs) == 4 and set(runs.status) == {"finished"}
    np.testing.assert_allclose(runs["A.position"][:, 0], angles, atol=1e-12)
    np.testing.assert_allclose(runs["E.speed"][:, 0], speeds, atol=1e-10)
    many = da.start_state(model, given)
    one = da.start_state(model, {"A": angles[2], "B": 2.5, "E.speed": speeds[2]})
    np.testing.assert_array_equal(many.q[2], one.q)
    assert model.forward_dynamics(many.q, many.v).shape == (4, model.nv)
    with pytest.raises(da.ModelError, match="same length"):
        da.start_state(model, {"A": angles, "B": [1.0, 2.0]})
    with pytest.raises(da.ModelError, match=r"4 states.*da\.simulate"):
        da.Live(model, state=given)


def test_a_live_run_starts_by_names() -> None:
    live = da.Live(four_bar(), state={"A": 0.4, "C.speed": 1.0})
    assert live["A.position"] == 0.4 and live["C.speed"] == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"Q": 1.0}, "choose among joints, bodies and element states"),
        ({"A.sped": 1.0}, r"did you mean 'A\.speed'"),
        ({"A": 0.1, "A.position": 0.1}, "'A' gives the same"),
        ({"A": float("nan")}, "finite"),
        ({"A": "up"}, "give 1 real number"),
        ({"q": [0.0, 0.0, 0.0]}, r"da\.State"),
        ({3: 1.0}, "give a State or a dict of names to values"),
    ],
    ids=str,
)
def test_meaningless_names_and_values_are_refused(given: dict, words: str) -> None:
    with pytest.raises(da.ModelError, match=words):
        da.start_state(four_bar(), given)


def test_a_quaternion_that_has_not_length_one_is_divided_by_it_with_a_note() -> None:
    s = da.System("free")
    s.connect("F", da.Free(), s.ground, s.body("ball", da.sphere(0.1, mass=1.0)))
    for state in ({"F": (2.0, 0, 0, 0, 0, 0, 0)}, da.State(q=[2.0, 0, 0, 0, 0, 0, 0], v=np.zeros(6))):
        result = da.simulate(s, 0.1, state=state)
        assert result.q[0, 0] == 1.0
        assert any("quaternion of 'F' has length 2" in note for note in result.stats.notes)
    assert da.start_state(s, {"F": (0.7071, 0.7071, 0, 0, 0, 0, 0)}).notes == []  # rounded digits
    many = da.State(q=[[1.0, 0, 0, 0, 0, 0, 0], [0, 3.0, 0, 0, 0, 0, 0]], v=np.zeros((2, 6)))
    assert any("'F' has length 3" in note for note in da.simulate(s, 0.1, state=many).stats.notes)
