"""Rough guesses become closed configurations; what cannot close says so, with names and numbers."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from systems.random_loops import random_closed_system

import dalembert as da
from dalembert.closure import Assembly, assemble, consistent_velocities
from dalembert.closure.loop_equations import LoopEquations
from dalembert.library import mechanisms
from dalembert.model.connection_loads import weightless_loads

ALL = [
    mechanisms.andrews,
    mechanisms.bennett,
    mechanisms.bricard,
    mechanisms.door,
    mechanisms.four_bar,
    mechanisms.parallelogram,
    mechanisms.sarrus,
    mechanisms.slider_crank,
    mechanisms.spherical_four_bar,
]


def windows(number: int) -> da.System:
    """Return N four-bars side by side (IFToMM A02)."""
    system = da.System("windows")
    before = None
    for k in range(number + 1):
        upright = system.body(f"upright {k}", da.rod(1.0, 1.0))
        system.connect(f"foot {k}", da.Revolute("z"), system.ground.at(k, 0, 0), upright)
        system.initial(f"foot {k}", position=1.4)
        if before is not None:
            beam = system.body(f"beam {k}", da.rod(1.0, 1.0))
            system.connect(f"left {k}", da.Revolute("z"), before.at(1, 0, 0), beam)
            system.connect(f"right {k}", da.Revolute("z"), beam.at(1, 0, 0), upright.at(1, 0, 0))
            system.initial(f"left {k}", position=-1.4)
        before = upright
    return system


@pytest.mark.parametrize("make", ALL, ids=lambda f: f.__name__)
def test_the_library_starts_closed(make) -> None:
    model = make().compile()
    # closed forms: rounding of a few trigonometric functions
    assert np.abs(model.constraint_residual(model.initial_state().q)).max() < 2e-15


@pytest.mark.parametrize("make", ALL, ids=lambda f: f.__name__)
def test_a_rough_guess_closes(make) -> None:
    model = make().compile()
    guess = model.initial_state().q
    for seed in range(10):
        rough = guess + np.random.default_rng(seed).uniform(-0.3, 0.3, model.nq)
        closed = assemble(model, state=rough)
        assert np.abs(model.constraint_residual(closed.q)).max() == closed.residual < 1e-12
        assert closed.iterations < 20


def test_andrews_closes_quadratically() -> None:
    model = mechanisms.andrews().compile()
    published = model.initial_state().q
    for seed in range(8):
        rough = published + 0.3 * np.random.default_rng(seed).choice([-1, 1], 7)
        closed = assemble(model, state=rough)
        assert closed.residual < 1e-15  # lengths are a few centimetres
        errors = [e for e in closed.history if 1e-13 < e < 1e-2]
        for before, after in pairwise(errors):
            assert after < 20 * before**2


def test_andrews_has_four_branches_at_the_published_crank_angle() -> None:
    model = mechanisms.andrews().compile()
    closed = assemble(model, hold="O", branches=True)
    assert len(closed.branches) == 4  # the two dyads A-G-E and A-H-E each fold two ways
    assert np.abs(closed.branches[0] - model.initial_state().q).max() < 1e-12
    again = assemble(model, hold="O", branches=True, seed=7)
    np.testing.assert_allclose(again.branches, closed.branches, atol=1e-9)
    # and no others: count the intersections of circles around F and B, then around E and A
    angle = model.initial_state().q[0]
    F, B, A = (
        0.007 * np.array([np.cos(angle), np.sin(angle)]),
        np.array([-0.03635, 0.03273]),
        np.array([-0.06934, -0.00227]),
    )
    middle, gap = (F + B) / 2, B - F
    distance = np.hypot(*gap)
    along = (0.028**2 - 0.035**2) / (2 * distance)
    height = np.sqrt(0.028**2 - (along + distance / 2) ** 2)
    ends = [middle + (along * gap + side * height * np.array([-gap[1], gap[0]])) / distance for side in (1, -1)]
    reachable = [0.02 < np.hypot(*(E - A)) < 0.06 for E in ends]
    assert sum(reachable) * 4 == 4


def test_a_four_bar_has_two_branches() -> None:
    closed = assemble(mechanisms.four_bar(), hold="A", branches=True)
    crossed = mechanisms.four_bar(crossed=True).compile().initial_state().q
    assert len(closed.branches) == 2
    np.testing.assert_allclose(closed.branches[1], crossed, atol=1e-12)
    assert all(q[0] == 1.0 for q in closed.branches)


def test_branches_must_be_isolated() -> None:
    with pytest.raises(da.ModelError, match=r"still has 1 degree of freedom \(along A, B, C\).*hold 1 more"):
        assemble(mechanisms.four_bar(), branches=True)


def test_links_in_line_are_left() -> None:
    # with all angles zero the gap pulls along the links: a stationary point that is not a minimum
    assert assemble(mechanisms.four_bar(), state=[0, 0, 0]).residual < 1e-12


def test_any_start_closes_simple_loops_the_right_way_round() -> None:
    for make in (mechanisms.four_bar, mechanisms.bennett, mechanisms.spherical_four_bar, mechanisms.sarrus):
        system = make()
        model = system.compile()
        loop_constraint = model.forest.loop_constraints[0]
        axis = loop_constraint.element.axis
        for seed in range(30):
            q = assemble(model, state=model.random_state(seed).q, starts=3).q
            first, second = model.pose(loop_constraint.first, q), model.pose(loop_constraint.second, q)
            assert (first.rotation @ axis) @ (second.rotation @ axis) > 1 - 1e-12


def test_an_axis_that_only_closes_reversed_is_refused() -> None:
    s = da.System("upside down")
    leaf = s.body("leaf", da.box(1, 1, 1, 1.0))
    s.connect("low", da.Revolute("z"), s.ground, leaf)
    s.connect("high", da.Revolute("z"), s.ground.at(0, 0, 1), leaf.at(0, 0, 1, rotation=("x", np.pi)))
    with pytest.raises(da.AssemblyError, match="'high' close only with the second marker's axis against"):
        assemble(s)


def test_held_coordinates_keep_every_bit() -> None:
    model = mechanisms.andrews().compile()
    guess = model.initial_state().q + 0.05
    closed = assemble(model, state=guess, hold=["O"])
    assert closed.q[0] == guess[0]
    assert closed.residual < 1e-15


def test_preferred_values_are_taken_if_they_can_be() -> None:
    s = mechanisms.four_bar()
    closed = assemble(s, prefer={"A": 0.5})
    assert closed.q[0] == 0.5 and closed.residual < 1e-12
    # two wishes, one degree of freedom: the nearest compromise stands at right angles to the motion
    q = assemble(s, prefer={"A": 0.5, "B": -0.5}).q
    motion = motion_of(s, q)
    assert abs((q[0] - 0.5) * motion["A"] + (q[1] + 0.5) * motion["B"]) < 1e-4  # C has a weight of 1e-6
    assert abs(q[0] - 0.5) > 0.1


def motion_of(system: da.System, q: np.ndarray) -> dict[str, float]:
    from dalembert.closure import mobility

    return mobility(system, q).motions[0]


def test_given_start_values_stay_and_the_others_follow() -> None:
    s = mechanisms.four_bar()
    s.initials = {"A": s.initials["A"]}
    s.initial("A", position=0.8)
    assert assemble(s).q[0] == 0.8
    s.initial("B", position=0.0)  # a rough guess more: now both move a little
    closed = assemble(s)
    assert closed.residual < 1e-12 and 0 < abs(closed.q[0] - 0.8) < 0.3


def test_the_connection_at_which_a_loop_was_cut_can_be_held_too() -> None:
    s = mechanisms.four_bar()
    model = s.compile()
    for value in (1.7, 2.0, 2.3):
        q = assemble(model, state=model.initial_state().q, prefer={"D": value}).q
        assert q.sum() == pytest.approx(value, abs=1e-12)  # the rocker's absolute angle
    s.initial("D", position=2.1)
    closed = assemble(s, state=[0.9, -0.5, 0.8], hold="D")
    assert closed.q.sum() == pytest.approx(2.1, abs=1e-12)
    errors = [e for e in closed.history if 1e-13 < e < 1e-2]
    assert all(after < 20 * before**2 for before, after in pairwise(errors))
    branches = assemble(s, hold="D", branches=True).branches
    assert len(branches) == 2 and all(q.sum() == pytest.approx(2.1, abs=1e-12) for q in branches)
    s.initial("D", position=-0.5)  # folds the rocker where coupler and crank cannot reach
    with pytest.raises(da.AssemblyError, match=r"while D is held.*'D' is off by .* rad.*release D"):
        assemble(s, hold="D", state=[0.9, -0.5, 0.8])
    s.initials.clear()
    with pytest.raises(da.ModelError, match=r"the loop was cut at 'D'.*system.initial\('D', position=...\)"):
        assemble(s, hold="D")


@pytest.mark.parametrize(
    ("element", "name", "value"),
    [
        (da.Cylindrical("z"), "D.slide", 0.2),
        (da.Cylindrical("z"), "D.angle", 2.0),
        (da.Cylindrical("z"), "D", (2.0, 0.0)),
        (da.Planar("z"), "D.x", 0.1),
        (da.Planar("z"), "D", (0.1, 0.05, 1.9)),
        (da.Spherical(), "D", (np.cos(1.0), 0.0, 0.0, np.sin(1.0))),
    ],
)
def test_coordinates_of_any_cut_joint_can_be_held(element, name, value) -> None:
    s = mechanisms.four_bar()
    s.remove("D")
    s.connect("D", element, s.ground.at(2.2, 0, 0), s["rocker"])
    model = s.compile()
    if name == "D.slide":  # all other axes are parallel: the plane cannot be left
        with pytest.raises(da.AssemblyError):
            s.initial("D", position=(0.0, value))
            assemble(s, state=model.initial_state().q, hold="D.slide")
        return
    q = assemble(model, state=model.initial_state().q, prefer={name: value}).q
    first, second = model.pose(s["D"].first, q), model.pose(s["D"].second, q)
    relative = first.rotation.T @ second.rotation, first.rotation.T @ (second.position - first.position)
    if name == "D":
        C, c = element.pose(np.array(value))
        np.testing.assert_allclose(relative[0], C, atol=1e-12)
        np.testing.assert_allclose(relative[1], c, atol=1e-12)
    elif name == "D.angle":
        assert np.arctan2(relative[0][1, 0], relative[0][0, 0]) == pytest.approx(value, abs=1e-12)
    else:
        assert relative[1][0] == pytest.approx(value, abs=1e-12)


def test_weights_slow_a_coordinate_down() -> None:
    s = mechanisms.four_bar()
    start = np.array([0.5, -0.5, 0.8])
    light, heavy = assemble(s, state=start), assemble(s, state=start, weights={"A": 1e4})
    assert abs(heavy.q[0] - 0.5) < 1e-3 < abs(light.q[0] - 0.5)


def test_a_coupler_too_short_leaves_half_a_metre() -> None:
    s = mechanisms.four_bar(crank=1.0, coupler=0.5, rocker=2.0, ground=4.0)
    with pytest.raises(
        da.AssemblyError, match=r"'D' stays open by 0\.5 m .*the loop A, B, C, D a link.*too short"
    ) as e:
        assemble(s)
    assert e.value.residuals["D"] == pytest.approx(0.5, abs=1e-6)
    np.testing.assert_allclose(np.sin(e.value.q), 0.0, atol=1e-4)  # stretched towards D: all in line
    copy = pickle.loads(pickle.dumps(e.value))
    assert copy.residuals == e.value.residuals and (copy.q == e.value.q).all()


@pytest.mark.parametrize("misfit", [(0.001, 0, 0), (0, 0, 0.001), (0.0006, 0.0008, 0)])
def test_a_misplaced_second_joint_contradicts_the_first(misfit) -> None:
    with pytest.raises(da.AssemblyError, match=r"'low' and 'high' contradict each other by 0\.000?[18]\d* m") as e:
        assemble(mechanisms.door(misfit=misfit))
    assert list(e.value.residuals) == ["high"]


def test_a_four_bar_whose_rocker_pivot_is_out_of_plane_contradicts() -> None:
    s = mechanisms.four_bar()
    s.remove("D")
    s.connect("D", da.Revolute("z"), s.ground.at(2.2, 0, 0.002), s["rocker"])
    with pytest.raises(da.AssemblyError, match=r"'A', 'B', 'C' and 'D' contradict each other by 0\.002 m \(D\.z\)"):
        assemble(s)


def test_held_values_that_do_not_fit_are_named() -> None:
    with pytest.raises(da.AssemblyError, match=r"while A, B, C are held.*release one of A, B, C"):
        assemble(mechanisms.four_bar(), state=[0.1, 0.2, 0.3], hold=["A", "B", "C"])


def test_bad_arguments_are_named() -> None:
    s = mechanisms.four_bar()
    for arguments, text in (
        ({"prefer": {"D": "far"}}, "coordinate 'D': value is"),
        ({"hold": "X"}, "choose among the coordinates 'A', 'B', 'C', 'D'"),
        ({"prefer": {"A": "far"}}, "A is"),
        ({"weights": {"A": -1}}, "positive"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"starts": 0}, "starts"),
        ({"state": [0.0]}, "q"),
        ({"state": [0.0, np.nan, 0.0]}, "finite"),
    ):
        with pytest.raises(da.ModelError, match=text):
            assemble(s, **arguments)
    with pytest.raises(da.ModelError, match="System or a compiled Model"):
        assemble("four-bar")


def test_an_open_tree_is_assembled_as_it_is() -> None:
    s = da.System()
    s.connect("A", da.Revolute("z"), s.ground, s.body("a", da.rod(1, 1)))
    s.initial("A", position=0.3)
    closed = assemble(s)
    assert isinstance(closed, Assembly) and closed.q[0] == 0.3 and closed.residual == 0.0


def test_many_loops_close_by_sparse_steps() -> None:
    model = windows(100).compile()
    rough = model.initial_state().q + 0.05 * np.random.default_rng(0).normal(size=model.nq)
    closed = assemble(model, state=rough)
    assert closed.residual < 1e-12 and closed.iterations < 8


def test_spherical_and_free_joints_close_on_the_manifold() -> None:
    # RSSR: a crank and a rocker with skew axes, joined by a rod with two balls
    s = rssr()
    model = s.compile()
    closed = assemble(model)
    assert closed.residual < 1e-12
    for joint in model.forest.joints:
        if joint.element.kind == "Spherical":
            assert np.linalg.norm(closed.q[model.q_slice(joint.name)]) == pytest.approx(1.0, abs=1e-15)


def rssr() -> da.System:
    s = da.System("RSSR")
    crank, rod, rocker = (
        s.body("crank", da.rod(0.3, 1.0)),
        s.body("rod", da.rod(1.2, 1.0, radius=0.01)),
        s.body("rocker", da.rod(0.8, 1.0)),
    )
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Spherical(), crank.at(0.3, 0, 0), rod)
    s.connect("C", da.Spherical(), rod.at(1.2, 0, 0), rocker.at(0.8, 0, 0))
    s.connect("D", da.Revolute("y"), s.ground.at(1.0, 0.3, 0), rocker)
    s.initial("A", position=0.4)
    s.initial("D", position=-1.3)
    return s


@pytest.mark.parametrize("seed", range(60))
def test_random_loops_of_any_joints_close_near_where_they_were(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = None
    while model is None or not model.nc:  # loops without mobility are left out, and Free joints have no rows
        closed = random_closed_system(rng, int(rng.integers(2, 8)), int(rng.integers(1, 4)))
        model = closed.system.compile()
    q, _ = closed.state(model)
    assert np.abs(model.constraint_residual(q)).max() < 1e-12
    found = assemble(model, state=model.integrate(q, rng.uniform(-0.1, 0.1, model.nv)))
    assert found.residual < 1e-11
    # speeds made consistent stay so, and lose kinetic energy only
    v = rng.normal(size=model.nv)
    state = found.state(v)
    assert np.abs(model.constraint_jacobian(found.q) @ state.v).max() < 1e-9 * (1 + np.abs(v).max())
    assert model.energy(found.q, state.v).kinetic <= model.energy(found.q, v).kinetic * (1 + 1e-12)


@pytest.mark.parametrize("make", ALL)
def test_speeds_and_accelerations_that_close_the_loops_are_left_alone(make: Callable[[], da.System]) -> None:
    model = make().compile()
    q = assemble(model).q
    rng = np.random.default_rng(1)
    v = consistent_velocities(model, q, rng.normal(size=model.nv))
    a = da.consistent_accelerations(model, q, v, rng.normal(size=model.nv))
    assert np.abs(consistent_velocities(model, q, v) - v).max() < 1e-12 * np.abs(v).max()
    assert np.abs(da.consistent_accelerations(model, q, v, a) - a).max() < 1e-11 * np.abs(a).max()
    rest = np.zeros(model.nv)
    assert (consistent_velocities(model, q, rest) == 0.0).all()
    assert (da.consistent_accelerations(model, q, rest, rest) == 0.0).all()


def test_consistent_speeds_are_nearest_in_kinetic_energy() -> None:
    model = mechanisms.andrews().compile()
    q = assemble(model).q
    rng = np.random.default_rng(1)
    v = rng.normal(size=7)
    new = consistent_velocities(model, q, v)
    P, M = model.constraint_jacobian(q), model.mass_matrix(q)
    assert np.abs(P @ new).max() < 1e-15
    # the correction is orthogonal, in the mass metric, to every motion that remains
    motion = np.linalg.svd(P)[2][6:]
    assert np.abs(motion @ M @ (new - v)).max() < 1e-15 * np.abs(M @ v).max() * 100
    driven = consistent_velocities(model, q, [1.0, 0, 0, 0, 0, 0, 0], hold="O")
    assert driven[0] == 1.0
    np.testing.assert_allclose(driven[1:], [-0.75, 0, 0, 0, 0, 0], atol=1e-12)  # rr = d / 4: Theta' = -3/4 beta'
    state = assemble(model).state([1.0, 0, 0, 0, 0, 0, 0], hold="O")
    np.testing.assert_allclose(state.v, driven, atol=1e-15)
    with pytest.raises(da.AssemblyError, match=r"'O', 'F' contradict.*E\d"):
        consistent_velocities(model, q, np.ones(7), hold=["O", "F"])


@pytest.mark.parametrize("make", ALL, ids=lambda f: f.__name__)
def test_wrenches_of_the_rows_are_those_of_the_jacobian(make) -> None:
    model = make().compile()
    q = assemble(model).q
    loops = LoopEquations.of(model)
    still = np.zeros((model.nc, model.nv))
    loads = weightless_loads(model, np.tile(q, (model.nc, 1)), still, np.eye(model.nc))
    P = model.constraint_jacobian(q)
    for row, owner in enumerate(model.constraint_connections):
        loop_constraint = next(c for c in model.forest.loop_constraints if c.name == owner)
        twist = np.zeros((6, model.nv))
        for marker, sign in ((loop_constraint.second, 1), (loop_constraint.first, -1)):
            local = model.jacobian(marker, q)
            arm = model.pose(loop_constraint.second, q).position - model.pose(marker, q).position
            twist += sign * np.vstack([local[:3], local[3:] + np.cross(local[:3], arm, axis=0)])
        load = loads[row, model.connection_names.index(owner)]
        np.testing.assert_allclose(load @ twist * loops.column_scales, P[row] * loops.column_scales, atol=1e-12)


def test_a_state_is_given_in_any_form() -> None:
    """Coordinates, a State and names of all coordinates give one configuration to every analysis."""
    s = mechanisms.four_bar()
    model = s.compile()
    q = assemble(model, state={"A": 0.9}).q
    assert q[model.q_slice("A")] == pytest.approx(0.9, abs=1e-12)
    forms = (q, da.State(q, np.zeros(model.nv)), {"A": 0.9}, assemble(model, state=q).state())
    assert np.ptp([assemble(model, state=state).q for state in forms], axis=0).max() < 1e-11
    assert np.ptp([da.mobility(model, state).q for state in forms], axis=0).max() < 1e-11
    assert np.ptp([da.motion_space(model, state=state).R for state in forms], axis=0).max() < 1e-9
    target = {"coupler": da.Target(position=(*model.pose("coupler", q).position[:2], np.nan))}
    found = [da.inverse_kinematics(model, target, state=state).q for state in forms]
    assert np.ptp(found, axis=0).max() < 1e-9
    starts = [da.kinematics(model, drive="A", values=[0.9, 1.0], state=state).q[0] for state in forms]
    assert np.ptp(starts, axis=0).max() < 1e-9


def test_names_that_the_loops_do_not_permit_are_refused() -> None:
    s = mechanisms.four_bar()
    with pytest.raises(da.ModelError, match=r"state is .*'A'"):
        da.mobility(s, {"A": 0.9, "B": 0.1, "D": 0.1})


def test_the_time_of_a_state_is_used_unless_another_is_given() -> None:
    s = da.System(gravity=(0, 0, 0))
    bar = s.body("bar", da.rod(1.0, 1.0))
    s.connect("A", da.Revolute("z"), s.ground, bar)
    d = s.connect("d", da.Distance(1.0), s.ground.at(0, 1, 0), bar.at(1, 0, 0))
    s.drive(d, position=da.Polynomial((1.0, 0.1)))
    model = s.compile()
    later = da.State(np.array([0.5]), np.zeros(1), t=2.0)
    for t, length in ((None, 1.2), (1.0, 1.1)):
        q = assemble(model, state=later, t=t).q
        tip = model.pose(bar.at(1, 0, 0), q).position
        assert np.linalg.norm(tip - [0, 1, 0]) == pytest.approx(length, abs=1e-11)
