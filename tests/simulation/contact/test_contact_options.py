"""The argument `contact` of simulate, overlaps at the start, error estimates, ensembles, resumed runs."""

from __future__ import annotations

import pickle
import threading
import time

import numpy as np
import pytest
from systems.contacts.scenes import G, one_body

import dalembert as da
from dalembert.simulation.interrupts import Interrupt


def falling_box(**numbers: float) -> da.System:
    given = {"friction": 0.4, "restitution": 0.2, **numbers}
    return one_body(da.box(0.2, 0.2, 0.2, mass=1.0), (0, 0, 0.4), bryant=(0.5, 0.4, 0.3), **given)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"contact": "glue"}, "'auto', 'events', 'steps'"),
        ({"contact": "steps:fast"}, "steps:1e-3"),
        ({"contact": "steps:-1"}, "steps:1e-3"),
        ({"contact": "soft:1"}, "use 'auto'"),
        ({"contact": 3}, "use 'auto'"),
        ({"contact": "soft"}, "stiffness"),
        ({"contact": "steps", "method": "radau"}, "a method of its own"),
        ({"contact": "steps", "error": -1.0}, "largest accepted error"),
        ({"contact": "off", "error": 1.0}, "contact='steps'"),
    ],
)
def test_unsuitable_arguments_are_refused(options: dict[str, object], part: str) -> None:
    with pytest.raises(da.ModelError, match=part):
        da.simulate(falling_box(), 1.0, **options)  # type: ignore[arg-type]


def test_contacts_can_be_left_out() -> None:
    result = da.simulate(falling_box(), 1.0, contact="off")
    assert result["body.position.z"][-1] == pytest.approx(0.4 - G / 2, abs=1e-9)
    assert any("left out" in note for note in result.notes)
    with pytest.raises(da.ModelError, match="without contacts"):
        _ = result["floor.force"]


def test_other_analyses_state_that_contacts_are_left_out() -> None:
    s = da.System("held")
    bob = s.body("bob", da.box(0.1, 0.1, 0.1, mass=1.0))
    s.connect("A", da.Revolute("y"), s.ground, bob.at(0, 0, 1.0))
    s.contact("floor", da.plane(), bob)
    assert any("contacts were left out" in note for note in da.equilibrium(s).notes)
    assert any("contacts were left out" in note for note in da.linearize(s).notes)


def test_an_overlap_at_the_start_is_an_error() -> None:
    box = one_body(da.box(0.2, 0.2, 0.2, mass=1.0), (0, 0, 0.0979), friction=0.4)
    with pytest.raises(da.ModelError, match=r"'body' and 'floor' overlap by 2.1 mm at the start"):
        da.simulate(box, 1.0, contact="steps")


@pytest.mark.parametrize("contact", ["events", "steps"])
def test_choices_by_rule_are_noted(contact: str) -> None:
    s = da.System("rules")
    corners = 0.1 * np.array([(x, y, z) for z in (0, 1) for x, y in ((0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2))])
    flat = [(0, 1, 2), (0, 2, 3), (0, 3, 5), (3, 4, 5)]
    sides = [(i, (i + 1) % 6) for i in range(6)]
    faces = [(a, c, b) for a, b, c in flat] + [(a + 6, b + 6, c + 6) for a, b, c in flat]
    faces += [each for i, j in sides for each in ((i, j, j + 6), (i, j + 6, i + 6))]
    steel, rubber = da.Surface(friction=0.2, name="steel"), da.Surface(friction=0.9, name="rubber")
    angle = s.body("angle", da.mesh((corners, faces), mass=1.0), surface=steel)
    box = s.body("box", da.box(0.1, 0.1, 0.1, mass=1.0), surface=rubber)
    s.place(box, position=(0, 0, 0.5))
    s.contact("pair", angle, box)
    notes = da.simulate(s, 0.01, contact=contact).notes
    assert any("angle: a mesh is not convex; its hull touches, 1.17 of its volume" in note for note in notes)
    assert any("'steel' and 'rubber' have no pair: smaller friction 0.2 taken" in note for note in notes)


def test_overlaps_among_all_bodies_are_left_out() -> None:
    """As of the links of a robot, whose shapes overlap at joints that are no neighbours."""
    s = da.System("robot")
    a, b = (s.body(name, da.sphere(0.1, mass=1.0)) for name in "ab")
    s.place(a, position=(0, 0, 0.1))
    s.place(b, position=(0.15, 0, 0.1))
    s.contact("floor", da.plane(), "*")
    s.contact("self", "*", "*")
    result = da.simulate(s, 0.1, contact="steps")
    assert any("overlap at the start were left out of contact: a/b" in note for note in result.notes)
    assert np.abs(result.q - result.q[0]).max() < 1e-10


def test_the_error_is_estimated_and_met() -> None:
    fine = da.simulate(falling_box(), 1.0, contact="steps:2e-5")
    result = da.simulate(falling_box(), 1.0, contact="steps:5e-3", error=5e-3)
    assert result.stats.error is not None and result.stats.error <= 5e-3
    off = np.abs(result["body.position"] - fine.at(result.t)["body.position"]).max()
    assert 0.0 < off < result.stats.error


def test_runs_of_an_ensemble_are_those_of_single_runs() -> None:
    model = falling_box().compile()
    start = da.start_state(model)
    q = np.repeat(start.q[None], 4, axis=0)
    q[:, 6] += [0.0, 0.05, 0.1, 0.2]
    ensemble = da.simulate(model, 0.6, state=da.State(q=q, v=np.zeros((4, 6))), contact="steps")
    assert isinstance(ensemble, da.Ensemble)
    for k in range(4):
        single = da.simulate(
            model, 0.6, state=da.State(q=q[k], v=np.zeros(6)), contact="steps", times=ensemble.t.tolist()
        )
        assert (ensemble[k].q == single.q).all()
        assert (ensemble[k]["floor.force"] == single["floor.force"]).all()
    rolled = da.rollout(model, da.State(q=q, v=np.zeros((4, 6))), np.zeros((4, 6, 6)), dt=0.1, contact="steps")
    # steps end at the multiples of dt here
    assert rolled.q[:, -1] == pytest.approx(np.array([ensemble[k].q[-1] for k in range(4)]), abs=1e-3)
    # later faces slide and turn on the floor: derivatives of that are refused
    short = da.rollout(model, da.State(q=q, v=np.zeros((4, 6))), np.zeros((4, 3, 6)), dt=0.1, contact="steps")
    assert not short.vjp(q=np.zeros_like(short.q)).v.any()


def test_results_can_be_pickled() -> None:
    result = da.simulate(falling_box(), 0.5, contact="steps")
    copy = pickle.loads(pickle.dumps(result))
    for name in ("floor.force", "floor.lost", "energy.balance", "a"):
        assert (copy[name] == result[name]).all()
    assert [event.t for event in copy.events] == [event.t for event in result.events]
    assert repr(copy.touching(0.5)) == repr(result.touching(0.5))


def test_an_interrupted_run_resumes_to_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    model = falling_box().compile()
    whole = da.simulate(model, 20.0, contact="steps")
    flags: list[Interrupt] = []
    enter = Interrupt.__enter__

    def remember(self: Interrupt) -> Interrupt:
        flags.append(self)
        return enter(self)

    monkeypatch.setattr(Interrupt, "__enter__", remember)

    def press() -> None:
        while not flags:
            time.sleep(1e-4)
        time.sleep(0.02)
        flags[0].flag.set = True

    thread = threading.Thread(target=press)
    thread.start()
    part = da.simulate(model, 20.0, contact="steps", on_error="return")
    thread.join()
    if part.status != "interrupted":
        pytest.skip("the run ended before the key was pressed")
    rest = da.simulate(model, 20.0, contact="steps", resume=part)
    assert (rest.q == whole.q).all() and (rest.v == whole.v).all()
    assert (rest["floor.force"] == whole["floor.force"]).all()


def test_a_sampled_control_pushes_a_box_on_the_floor() -> None:
    """A force of 6 N on 1 kg against friction of 0.4: 6 - 0.4 g after the first sample."""
    box = one_body(da.box(0.2, 0.2, 0.2, mass=1.0), (0, 0, 0.1), friction=0.4)
    result = da.simulate(
        box, 1.0, contact="steps", control=lambda state: np.array([0, 0, 0, 6.0, 0, 0]), control_period=0.01
    )
    assert result["body.velocity.x"][-1] == pytest.approx(6 - 0.4 * G, rel=1e-9)
    assert result["body.acceleration.x"][50] == pytest.approx(6 - 0.4 * G, rel=1e-6)
    assert np.abs(result["energy.balance"]).max() < 1e-6
