"""Kinematic chains that are stretched or folded: they hold there, or, without stops, the motion ends with a word."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.connections.constraints import KinematicChain, bar
from dalembert.connections.formulas.kinematic_programs import PosePrograms


def tethered(bars: tuple[float, float], position: tuple, speed: tuple) -> da.System:
    s = da.System("tethered", gravity=(0, 0, 0))
    puck = s.body("puck", mass=1.0, inertia=(0.1, 0.1, 0.1))
    s.connect("P", da.Planar("z"), s.ground, puck)
    pin = da.Revolute("z")
    s.connect("chain", KinematicChain([pin, bar(bars[0]), pin, bar(bars[1]), pin]), s.ground, puck)
    s.initial("P", position=position, speed=speed)
    return s


@pytest.mark.parametrize("method", ["auto", "radau", "dopri5"])
def test_a_chain_stretched_to_its_reach_ends_the_run_and_is_named(method: str) -> None:
    with pytest.raises(da.SingularityError, match="'chain' is fully stretched or folded") as caught:
        da.simulate(tethered((0.5, 0.5), (0.6, 0.3, 0), (1.0, 0, 0)), 1.0, method=method, stops="off")
    end = caught.value.result["P.position"][-1]
    assert np.hypot(end[0], end[1]) == pytest.approx(1.0, abs=1e-5) and np.hypot(end[0], end[1]) < 1.0 + 1e-6


def test_a_chain_that_folds_is_not_crossed() -> None:
    """Bars of 0.5 and 0.3 m keep a hole of 0.2 m, however long a step may be."""
    with pytest.raises(da.SingularityError, match="'chain' is fully stretched or folded") as caught:
        da.simulate(tethered((0.5, 0.3), (0.6, 0.1, 0), (-1.0, 0, 0)), 1.0, stops="off")
    end = caught.value.result["P.position"][-1]
    assert np.hypot(end[0], end[1]) == pytest.approx(0.2, abs=1e-5)


@pytest.mark.parametrize("method", ["auto", "radau"])
def test_with_stops_it_holds_and_what_is_across_goes_on(method: str) -> None:
    """The puck loses its speed along the chain, and then runs round in a circle at the speed that is left."""
    result = da.simulate(tethered((0.5, 0.5), (0.6, 0.3, 0), (1.0, 0, 0)), 2.0, method=method, rtol=1e-8, atol=1e-10)
    p, v = result["puck.position"][-1, :2], result["puck.velocity"][-1, :2]
    assert np.hypot(*p) == pytest.approx(1.0, abs=2e-6)
    assert np.hypot(*v) == pytest.approx(0.3, abs=2e-6)  # moment of momentum about the nail
    assert result["chain.reach.tension"][-1] == pytest.approx(0.09, abs=1e-5)
    assert np.abs(result["energy.balance"]).max() < 1e-9


def test_runs_side_by_side_end_there_too() -> None:
    model = tethered((0.5, 0.5), (0.6, 0.3, 0), (0, 0, 0)).compile()
    given = {"times": [0.0, 0.5, 1.0], "state": {"P.x.speed": np.array([0.1, -0.1, 1.0, 0.2])}}
    runs = da.simulate(model, 1.0, **given, stops="off")
    assert runs.status == ("finished", "finished", "failed", "finished")
    held = da.simulate(model, 1.0, **given)
    assert held.status == ("finished",) * 4 and held["chain.reach.taut"][:, -1].tolist() == [0.0, 0.0, 1.0, 0.0]


def test_beyond_its_reach_a_chain_is_open_by_what_is_missing() -> None:
    model = tethered((0.5, 0.5), (0.6, 0.3, 0), (0, 0, 0)).compile()
    assert np.abs(model.constraint_residual([0.9, 0.3, 0.2])).max() < 1e-12
    assert np.abs(model.constraint_residual([1.6, 0.0, 0.2])).max() == pytest.approx(0.6, abs=1e-9)


def test_a_start_beyond_the_reach_is_drawn_back() -> None:
    s = tethered((0.5, 0.5), (1.6, 0.3, 0), (0, 0, 0))
    q = da.assemble(s).q
    assert np.hypot(q[0], q[1]) < 1.0 + 1e-6 and q[0] > 0.9
    state = da.start_state(s)
    notes = state.notes
    assert np.hypot(state.q[0], state.q[1]) < 1.0 + 1e-6 and "P.x was to start at 1.6 m" in notes[0]


def test_a_chain_far_out_of_reach_is_reported_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluations = 0

    def counted(programs: PosePrograms, q: np.ndarray) -> object:
        nonlocal evaluations
        evaluations += 1
        return at(programs, q)

    at = PosePrograms.at
    monkeypatch.setattr(PosePrograms, "at", counted)
    s = da.System("leg", gravity=(0, 0, 0))
    body = s.body("b", da.box(0.1, 0.1, 0.1, mass=1.0))
    s.connect("F", da.Free(), s.ground, body)
    s.connect("leg", da.KinematicChain([da.Universal("x", "y"), da.bar(0.4), da.Spherical()]), s.ground, body)
    s.drive("F", position=(3.0, 0.1, 0.2))
    with pytest.raises(da.AssemblyError, match="'leg' stays open by"):
        da.simulate(s, 0.5)
    assert evaluations < 7000  # each takes a fraction of a millisecond; their number depends on rounding


@pytest.mark.parametrize(
    ("axes", "start"), [("zx", (-2.411, -4.677)), ("yy", (3.119, 0.427)), ("yz", (0.4, 9.0)), ("yy", (-1.0, -20.0))]
)
def test_a_chain_far_out_of_reach_closes_where_its_joints_as_unknowns_would(axes: str, start: tuple) -> None:
    """A slide leads past the ball of a leg with two pins; it starts up to 25 times the leg away."""
    s = da.System("leg", gravity=(0, 0, 0))
    body = s.body("b", mass=1.0, inertia=(0.1, 0.1, 0.1))
    s.connect("F", da.Cylindrical("x"), s.ground.at(0, 0.3, 0.1), body)
    pins = [da.Revolute(axis) for axis in axes]
    chain = KinematicChain([da.Spherical(), bar(0.5), pins[0], bar(0.3), pins[1]])
    s.connect("leg", chain, s.ground, body.at(0.1, 0, 0))
    model = s.compile()
    q = da.assemble(model, state=start).q
    pose = model.pose("b", q)
    found = chain.inner(pose.rotation, pose.position + pose.rotation @ [0.1, 0, 0])
    C, c, _ = chain.programs.at(np.array(list(found.values())))
    assert np.abs(C - pose.rotation).max() < 1e-6 and np.abs(c - pose.position - C @ [0.1, 0, 0]).max() < 1e-6
