"""Loads of connections, and what is said of those that a motion does not determine."""

from __future__ import annotations

import numpy as np
import pytest
from systems.random_loops import tree_state

import dalembert as da
from dalembert.connections.connection import Connection
from dalembert.library import chain, mechanisms
from dalembert.system import System, topology

WEIGHT = 30.0 * 9.81


def test_a_door_leans_on_both_joints() -> None:
    """Five components of each joint are shared, and they are shared alike; only the moment about the axis is known."""
    loads = mechanisms.door().compile().connection_loads([0.0], [0.0])
    assert loads.shared == {"low": ("high",), "high": ("low",)}
    for name in ("low", "high"):
        assert loads.determined[name].tolist() == [False, False, True, False, False, False]
        assert loads[name][5] == pytest.approx(WEIGHT / 2) and loads[name][2] == pytest.approx(0.0, abs=1e-12)
    # together they hold the weight, 0.45 m out: sums over both are unique
    assert (loads["low"] + loads["high"])[3:] == pytest.approx([0.0, 0.0, WEIGHT], abs=1e-10)
    moment = loads["low"][1] + loads["high"][1] + 1.5 * loads["high"][3]
    assert moment == pytest.approx(-0.45 * WEIGHT)


def test_printed_loads_mark_shared_ones() -> None:
    model = mechanisms.door().compile()
    text = str(model.connection_loads([0.0], [0.0]))
    assert text.splitlines()[0] == "loads on the second markers, N m and N, world axes"
    assert [line.split()[0] for line in text.splitlines()[1:]] == ["connection", "low", "high", "*"]
    assert "147.15*" in text and text.endswith("* not unique: shared among low, high")
    assert "axes of that marker" in str(model.connection_loads([0.0], [0.0], axes="marker"))
    arm = chain(2).compile()
    assert "*" not in str(arm.connection_loads([0.1, 0.2], [0.0, 0.0]))


def test_loads_are_a_mapping_by_name() -> None:
    loads = mechanisms.door().compile().connection_loads([0.0], [0.0])
    assert list(loads) == ["low", "high"] and len(loads) == 2 and "low" in loads and "middle" not in loads
    assert loads.get("middle") is None and isinstance(loads, da.ConnectionLoads)
    assert dict(loads)["low"] is loads["low"]
    with pytest.raises(da.ModelError, match="connection is 'middle'; there are 'low', 'high'"):
        loads["middle"]
    with pytest.raises(KeyError):
        loads["middle"]


def test_in_a_plane_what_lies_in_it_is_unique() -> None:
    model = mechanisms.four_bar().compile()
    q = da.assemble(model).q
    loads = model.connection_loads(q, np.zeros(3))
    for name in "ABCD":
        assert loads.determined[name].tolist() == [False, False, True, True, True, False]
        assert set(loads.shared[name]) == set("ABCD") - {name}


def test_without_redundancy_nothing_is_marked() -> None:
    s = da.System()
    a, b = s.body("a", da.rod(1.0, 1.0, radius=0.1)), s.body("b", da.rod(1.0, 1.0, radius=0.1))
    s.connect("A", da.Spherical(), s.ground, a)
    s.connect("B", da.Spherical(), a.at(1.0, 0, 0), b)
    s.connect("bar", da.Distance(1.0), s.ground.at(1.5, 0, 0), b.at(0.5, 0, 0.3))
    model = s.compile()
    loads = model.connection_loads(da.assemble(model).q, np.zeros(6))
    assert loads.shared == {} and all(marks.all() for marks in loads.determined.values())


def two_doors() -> da.System:
    """A cabin that turns, with two doors in it that know nothing of each other."""
    s = da.System("cabin")
    cabin = s.body("cabin", da.box(2, 2, 2, 100.0))
    s.connect("base", da.Revolute("z"), s.ground, cabin)
    for x, side in ((1.0, "right"), (-1.0, "left")):
        leaf = s.body(side, da.box(1, 0.1, 2, 20.0))
        s.connect(f"{side} low", da.Revolute("z"), cabin.at(x, 0, 0), leaf)
        s.connect(f"{side} high", da.Revolute("z"), cabin.at(x, 0, 1), leaf.at(0, 0, 1))
    return s


def test_groups_that_share_are_kept_apart() -> None:
    model = two_doors().compile()
    loads = model.connection_loads(np.zeros(3), [0.3, 0.5, -0.2])
    assert loads.shared == {
        "right low": ("right high",),
        "right high": ("right low",),
        "left low": ("left high",),
        "left high": ("left low",),
    }
    assert loads.determined["base"].all()
    notes = [line for line in str(loads).splitlines() if line.startswith("*")]
    assert notes == [
        "* not unique: shared among right low, right high",
        "* not unique: shared among left low, left high",
    ]


@pytest.mark.parametrize("make", [mechanisms.four_bar, mechanisms.bennett, mechanisms.bricard, mechanisms.sarrus])
def test_loads_and_marks_do_not_depend_on_where_the_loop_is_cut(make, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut_at(name: str) -> None:
        def spanning_trees(system: System) -> tuple[list[Connection], tuple[Connection, ...]]:
            everyone = list(system.connections.values())
            return [c for c in everyone if c.name != name], tuple(c for c in everyone if c.name == name)

        monkeypatch.setattr(topology, "_spanning_trees", spanning_trees)

    s = make()
    s.gravity = np.array([1.0, -2.0, -9.81])
    model = s.compile()
    q = da.assemble(model).q
    v = da.consistent_velocities(model, q, np.ones(model.nv))
    R, p = model.poses(q)
    V = model.velocities(q, v)
    reference = model.connection_loads(q, v)
    size = max(np.abs(load).max() for load in reference.values())
    order = [model.body_names.index(name) for name in s.bodies]
    for name in list(s.connections)[:3]:
        cut_at(name)
        other = s.compile()
        assert [loop_constraint.name for loop_constraint in other.forest.loop_constraints] == [name]
        state = tree_state(s, other.forest, R[order], p[order], V[order])
        loads = other.connection_loads(*state)
        assert loads.shared == reference.shared
        for key, load in reference.items():
            assert np.abs(loads[key] - load).max() < 1e-9 * size
            assert (loads.determined[key] == reference.determined[key]).all()


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_shared_loads_do_not_depend_on_units_of_length(unit: float) -> None:
    def loads(unit: float) -> da.ConnectionLoads:
        s = da.System(gravity=(0, 0, -9.81 * unit))
        leaf = s.body("leaf", mass=30.0, com=np.array([0.45, 0.1, 1.0]) * unit, inertia=np.array([3, 3, 2]) * unit**2)
        s.connect("low", da.Revolute("z"), s.ground, leaf)
        s.connect("high", da.Revolute("z"), s.ground.at(0, 0, 1.5 * unit), leaf.at(0, 0, 1.5 * unit))
        return s.compile().connection_loads([0.3], [2.0])

    scale = np.array([unit**2] * 3 + [unit] * 3)
    one, other = loads(1.0), loads(unit)
    for name in one:
        np.testing.assert_allclose(other[name] / scale, one[name], atol=1e-9 * WEIGHT)
        assert (one.determined[name] == other.determined[name]).all()


def test_two_gears_between_the_same_wheels_share() -> None:
    s = da.System(gravity=(0, 0, 0))
    a, b = s.body("a", da.cylinder(0.1, 0.1, 1.0)), s.body("b", da.cylinder(0.2, 0.1, 2.0))
    s.connect("A", da.Revolute("z"), s.ground, a)
    s.connect("B", da.Revolute("z"), s.ground.at(0.3, 0, 0), b)
    s.connect("front", da.gear(20, 40), "A", "B")
    s.connect("back", da.gear(20, 40), "A", "B")
    model = s.compile()
    loads = model.connection_loads([0, 0], [0, 0], [1.0, 0.0])
    assert loads.shared == {"front": ("back",), "back": ("front",)}
    assert loads.determined["A"].all() and loads.determined["B"].all()
    lam = model.multipliers([0, 0], [0, 0], [1.0, 0.0])
    assert lam[0] == pytest.approx(lam[1]) and abs(lam[0]) > 0.1


def test_a_loop_that_is_a_little_open_is_marked_as_when_closed() -> None:
    model = mechanisms.bricard().compile()
    q = da.assemble(model).q
    v = da.consistent_velocities(model, q, np.ones(model.nv))
    closed = model.connection_loads(q, v)
    drifted = model.connection_loads(q + 1e-9 * np.arange(model.nq), v)
    size = max(np.abs(load).max() for load in closed.values())
    assert drifted.shared == closed.shared
    for name, load in closed.items():
        assert (drifted.determined[name] == closed.determined[name]).all()
        assert np.abs(drifted[name] - load).max() < 1e-6 * size


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-7, 1e-3])
def test_loads_hold_a_parallelogram_however_flat(angle: float) -> None:
    """Close to where it folds, loads grow beyond bounds; whatever is given must hold the motion that goes with it."""
    s = mechanisms.parallelogram(angle=angle)
    s.gravity = np.array([0.0, -9.81, 0.0])
    model = s.compile()
    q = model.initial_state().q
    tau = np.array([0.3, 2.0, 1.0])
    loads = model.connection_loads(q, np.zeros(3), tau)
    size = max(1.0, *(np.abs(load).max() for load in loads.values()))
    for name, effort in zip("ABC", tau, strict=True):
        assert loads[name][2] == pytest.approx(effort, abs=1e-6 * size)
    assert loads["D"][2] == pytest.approx(0.0, abs=1e-9 * size)


def test_given_multipliers_are_taken_as_they_are() -> None:
    model = mechanisms.door().compile()
    alone = model.loads_of_motion([0.0], [0.0], [0.0], np.zeros(5))
    assert alone["low"][5] == pytest.approx(WEIGHT) and not alone["high"].any()
    assert alone.shared == {"low": ("high",), "high": ("low",)} and not alone.determined["high"][5]


def test_loads_of_efforts_are_marked_too() -> None:
    model = mechanisms.four_bar().compile()
    q = da.assemble(model).q
    efforts = da.inverse_dynamics(model, q, np.zeros(3), np.zeros(3), actuators="A")
    loads = efforts.connection_loads(axes="marker")
    assert loads.axes == "marker" and set(loads.shared) == set("ABCD")
    assert loads["A"][2] == pytest.approx(efforts["A"])


def test_a_mechanism_driven_twice_shares_the_load_between_its_drives() -> None:
    """One drive too many, in agreement: what passes from one to the other cannot be known."""
    s = mechanisms.slider_crank()
    crank, slide = "A", "D"
    s.drive(crank, position=0.7)
    once = s.compile()
    motion = da.driven_motion(once)
    loads = once.connection_loads(motion.q, motion.v, t=0.0)
    assert all(loads.determined[name][2] for name in loads)  # moments about the pins
    s.drive(slide, position=float(s.initials[slide].position[0]))
    twice = s.compile()
    motion = da.driven_motion(twice)
    loads = twice.connection_loads(motion.q, motion.v, t=0.0)
    assert not loads.determined[crank][2] and not loads.determined[slide][3]
    assert set(loads.shared) == set(s.connections)
