"""Changes of friction and stops made by the core: events, conditions and energies are those of single changes."""

from __future__ import annotations

import pickle

import numpy as np

import dalembert as da


def swinging(links: int = 2, **joint: float) -> da.Model:
    """Return a chain that swings, with friction and stops at its joints."""
    s = da.System("chain")
    last = s.ground
    for k in range(links):
        link = s.body(f"link{k}", da.rod(length=0.3, mass=0.5))
        s.connect(f"J{k}", da.Revolute("y", **joint), last, link)
        last = link.at(0.3, 0, 0)
        s.initial(f"J{k}", position=0.3 * (-1) ** k, speed=1.0)
    return s.compile()


def records(result: da.Result) -> list[tuple[object, ...]]:
    return [(e.name, e.t, *e.q, *e.v, e.energy, e.dissipated) for e in result.events]


def test_equal_modes_have_the_same_conditions() -> None:
    result = da.simulate(swinging(friction=0.02), 4.0)
    assert result.conditions is not None
    known: dict[str, int] = {}
    for conditions in result.conditions.conditions:
        assert known.setdefault(str(conditions.to_plain()), id(conditions)) == id(conditions)
    assert 1 < len(known) < len(result.conditions.begins)


def test_moving_joints_are_not_locked() -> None:
    result = da.simulate(swinging(friction=0.05), 4.0)
    assert result.conditions is not None
    locked_rows = 0
    for rows, conditions in result.conditions(result.t):
        locked = np.isin(np.arange(2), list(conditions.locked))
        np.testing.assert_array_equal(result.v[rows][:, locked], 0.0)
        locked_rows += len(rows) * bool(locked.any())
    assert locked_rows


def test_an_impact_has_the_energies_of_its_states() -> None:
    """At an impact a time occurs twice: the states before and after it."""
    model = swinging(lower=-0.5, upper=0.5, restitution=0.4, friction=0.01)
    result = da.simulate(model, 2.0)
    hits = [event for event in result.events if "reaches" in event.name]
    assert len(hits) > 3
    for event in hits:
        rows = np.flatnonzero(result.t == event.t)
        first, last = (model.energy(result.q[k], result.v[k]).total for k in (rows[0], rows[-1]))
        np.testing.assert_allclose(event.energy, last - first, atol=1e-12)
        np.testing.assert_allclose(event.dissipated, first - last, atol=1e-12)  # there is no drive


def test_results_of_a_live_run_keep_the_events_so_far() -> None:
    live = da.Live(swinging(friction=0.05))
    live.advance(1.0)
    early = live.result()
    live.advance(2.0)
    late = live.result()
    assert 0 < len(early.events) < len(late.events)
    assert records(early) == records(late)[: len(early.events)]
    assert all(event.t <= 1.0 for event in early.events)


def test_a_result_pickled_before_it_is_read_has_the_same_events_and_conditions() -> None:
    model = swinging(lower=-0.5, upper=0.5, restitution=0.4, friction=0.01)
    result = da.simulate(model, 1.0)
    copy = pickle.loads(pickle.dumps(result))
    assert records(copy) == records(result)
    for one, other in zip(copy.conditions.conditions, result.conditions.conditions, strict=True):
        assert one.to_plain() == other.to_plain()
    times = np.linspace(0.0, 1.0, 7)
    np.testing.assert_array_equal(copy.at(times).q, result.at(times).q)
