"""Configurations from targets: closed forms, limits, redundancy, loops, paths, what is out of reach or refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation
from systems.arms import (
    five_bar,
    legs,
    planar_arm,
    seven_joints,
    stewart,
    two_links,
    wrist_arm,
    wrist_solutions,
)

import dalembert as da
from dalembert.errors import ModelError

CLOSED = 1e-11  # m or rad: of loops that are solved to 1e-12 of a length


def turned(q, other) -> np.ndarray:
    """Return the largest difference of angles, whole turns apart."""
    return np.abs(np.remainder(np.asarray(q) - other + np.pi, 2 * np.pi) - np.pi).max(axis=-1)


# ---- closed forms


def test_a_planar_arm_of_two_links_has_the_closed_form() -> None:
    s = planar_arm((1.0, 0.8))
    both = two_links((1.0, 0.8), (0.7, 0.9))
    found = da.inverse_kinematics(s, {"link2.tool": (0.7, 0.9, np.nan)}, state=[0.0, 1.0])
    assert found.reached
    assert turned(found.q, both[0]) < 1e-9
    found = da.inverse_kinematics(s, {"link2.tool": (0.7, 0.9, 0.0)}, state=[0.0, -1.0])
    assert turned(found.q, both[1]) < 1e-9
    everything = da.inverse_kinematics(s, {"link2.tool": (0.7, 0.9, 0.0)}, all_solutions=True).solutions[0]
    assert len(everything) == 2
    assert all(turned(everything, one).min() < 1e-9 for one in both)


def test_three_links_with_a_direction_have_the_closed_form() -> None:
    s = planar_arm((1.0, 0.8, 0.3))
    angle = 0.4
    tip = np.array([0.9, 0.8])
    wrist = tip - 0.3 * np.array([np.cos(angle), np.sin(angle)])
    both = two_links((1.0, 0.8), wrist)
    both = np.column_stack([both, angle - both.sum(axis=1)])
    target = da.Target(position=(*tip, 0), axis="x", direction=(2 * np.cos(angle), 2 * np.sin(angle), 0))
    everything = da.inverse_kinematics(s, {"link3.tool": target}, all_solutions=True).solutions[0]
    assert len(everything) == 2
    assert all(turned(everything, one).min() < 1e-9 for one in both)
    by_angle = da.Target(position=(*tip, 0), angles=(np.nan, np.nan, angle))
    found = da.inverse_kinematics(s, {"link3.tool": by_angle})
    assert found.reached
    assert turned(both, found.q).min() < 1e-9


def test_a_scara_has_the_closed_form() -> None:
    s = da.System("scara")
    inner, outer, quill = (
        s.body("inner", da.rod(0.4, 1.0)),
        s.body("outer", da.rod(0.3, 1.0)),
        s.body("quill", da.cylinder(0.3, 0.02, mass=0.5)),
    )
    s.connect("J1", da.Revolute("z"), s.ground.at(0, 0, 0.5), inner)
    s.connect("J2", da.Revolute("z", lower=0.0, upper=2.5), inner.at(0.4, 0, 0), outer)
    s.connect("J3", da.Cylindrical("z"), outer.at(0.3, 0, 0), quill)
    p, heading = (0.35, 0.42, 0.31), 0.9
    found = da.inverse_kinematics(s, {"quill": da.Target(position=p, rotation=("z", heading))})
    model = found.model
    shoulder, elbow = two_links((0.4, 0.3), p[:2])[0]
    assert found.reached
    assert found.q[model.q_slice("J1")] == pytest.approx(shoulder, abs=1e-9)
    assert found.q[model.q_slice("J2")] == pytest.approx(elbow, abs=1e-9)
    slide = dict(zip(model.coordinate_names, found.q, strict=True))
    assert slide["J3.slide"] == pytest.approx(0.31 - 0.5, abs=1e-9)
    assert turned(slide["J3.angle"], heading - shoulder - elbow) < 1e-9


HEIGHTS = (0.4, 0.5, 0.45, 0.1)


def test_a_wrist_arm_has_its_eight_configurations() -> None:
    model = wrist_arm(HEIGHTS).compile()
    q = np.random.default_rng(3).uniform(-2.5, 2.5, (12, 6))
    pose = model.pose("hand.tool", q)
    found = da.inverse_kinematics(model, {"hand.tool": pose}, all_solutions=True)
    assert found.reached.all()
    for k, solutions in enumerate(found.solutions):
        expected = wrist_solutions(HEIGHTS, pose.rotation[k], pose.position[k])
        assert len(solutions) == len(expected)
        assert max(turned(solutions, one).min() for one in expected) < 1e-7
        away = np.linalg.norm(solutions, axis=1)
        assert (np.diff(away) > -1e-9).all()  # nearest to the preferred posture, zero here, first


def test_many_poses_of_an_arm_are_reached_from_one_start() -> None:
    limits = {f"A{k}": {"lower": -2.8, "upper": 2.8} for k in range(1, 7)}
    model = wrist_arm(HEIGHTS, **limits).compile()
    q = np.random.default_rng(1).uniform(-2.8, 2.8, (2000, 6))
    pose = model.pose("hand.tool", q)
    found = da.inverse_kinematics(model, {"hand.tool": pose})
    assert found.reached.mean() > 0.995
    there = model.pose("hand.tool", found.q)
    ok = found.reached
    assert np.abs(there.position - pose.position)[ok].max() < 1e-9
    assert np.abs(there.rotation - pose.rotation)[ok].max() < 1e-9
    assert (np.abs(found.q) <= 2.8).all()
    closed_form = [wrist_solutions(HEIGHTS, pose.rotation[k], pose.position[k]) for k in np.flatnonzero(ok)[:200]]
    assert max(turned(c, q).min() for c, q in zip(closed_form, found.q[ok][:200], strict=True)) < 1e-6
    assert all(message == "" for message, reached in zip(found.messages, ok, strict=True) if reached)


# ---- loops


def test_a_platform_gives_the_lengths_of_its_legs() -> None:
    model = stewart().compile()
    rng = np.random.default_rng(5)
    p = np.column_stack([rng.uniform(-0.2, 0.2, (20, 2)), rng.uniform(0.8, 1.2, 20)])
    R = np.array([da.rotation.bryant(*rng.uniform(-0.25, 0.25, 3)) for _ in p])
    found = da.inverse_kinematics(model, {"plate": da.Target(position=p, rotation=R)})
    assert found.reached.all()
    assert np.abs(model.constraint_residual(found.q)).max() < CLOSED
    slides = [model.coordinate_names.index(f"L{k}") for k in range(1, 7) if f"L{k}" in model.coordinate_names]
    cut = [k for k in range(6) if f"L{k + 1}" not in model.coordinate_names]
    assert not cut
    expected = np.array([legs(*one) for one in zip(R, p, strict=True)])
    assert np.abs(found.q[:, slides] - expected).max() < 1e-9


def test_loops_stay_closed_where_legs_are_too_short() -> None:
    model = stewart(lower=0.9, upper=1.3).compile()
    found = da.inverse_kinematics(model, {"plate": da.Target(position=(0.0, 0.0, 2.0), rotation=np.eye(3))}, starts=3)
    assert not found.reached
    assert np.abs(model.constraint_residual(found.q)).max() < CLOSED
    assert "upper limit 1.3" in found.message

    def loss(x) -> float:
        turn = np.linalg.norm(x[3:])
        return float(0.5 * (np.sum((x[:3] - (0, 0, 2)) ** 2) / model.length**2 + turn**2))

    def slack(x) -> np.ndarray:
        return 1.3 - legs(Rotation.from_rotvec(x[3:]).as_matrix(), x[:3])

    best = minimize(
        loss,
        [0, 0, 1.1, 0, 0, 0.1],
        constraints={"type": "ineq", "fun": slack},
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    there = model.pose("plate", found.q)
    mine = np.concatenate([there.position, Rotation.from_matrix(there.rotation).as_rotvec()])
    assert mine == pytest.approx(best.x, abs=1e-5)
    assert found.residual.position == pytest.approx(np.linalg.norm(there.position - (0, 0, 2)), abs=1e-12)


def test_a_five_bar_has_the_closed_form_of_its_cranks() -> None:
    model = five_bar().compile()
    rng = np.random.default_rng(2)
    points = np.column_stack([rng.uniform(0.1, 0.4, 30), rng.uniform(0.5, 0.8, 30), np.zeros(30)])
    found = da.inverse_kinematics(model, {"right.tip": points})
    assert found.reached.all()
    assert np.abs(model.constraint_residual(found.q)).max() < CLOSED
    for k, point in enumerate(points):
        for crank, x in (("A1", 0.0), ("A2", 0.5)):
            angle = found.q[k, model.q_slice(crank)][0]
            assert turned(two_links((0.4, 0.6), point[:2] - (x, 0))[:, :1], angle).min() < 1e-8


def test_a_five_bar_has_four_configurations() -> None:
    model = five_bar().compile()
    (found,) = da.inverse_kinematics(model, {"right.tip": (0.22, 0.6, 0.0)}, all_solutions=True).solutions
    assert len(found) == 4
    assert np.abs(model.constraint_residual(found)).max() < CLOSED
    left, right = (two_links((0.4, 0.6), (0.22 - x, 0.6))[:, 0] for x in (0.0, 0.5))
    cranks = [[q[model.q_slice(name)][0] for name in ("A1", "A2")] for q in found]
    for pair in ([a, b] for a in left for b in right):
        assert turned(cranks, pair).min() < 1e-8


def test_gears_keep_their_turns() -> None:
    s = da.System("geared")
    a, b = s.body("a", da.rod(1.0, 1.0)), s.body("b", da.rod(1.0, 1.0))
    s.connect("A", da.Revolute("z"), s.ground, a)
    s.connect("B", da.Revolute("z"), s.ground.at(0, 0, 0.2), b)
    s.connect("G", da.gear(20, 60), "A", "B")
    model = s.compile()
    goal = {b.at(1, 0, 0): (np.cos(2.0), np.sin(2.0), 0.2)}
    for start in ([0.0, 0.0], [-20.0, 20 / 3], [20.0, 20 / 3]):  # the last is far from closed
        found = da.inverse_kinematics(model, goal, state=start)
        assert found.reached
        assert np.abs(model.constraint_residual(found.q)).max() < CLOSED
        assert turned(found.q[1:], [2.0]) < 1e-9


def test_drives_are_let_go() -> None:
    s = five_bar()
    s.drive("A1", position=2.0)
    s.drive("A2", speed=3.0)
    assert da.inverse_kinematics(s, {"right.tip": (0.22, 0.6, 0.0)}).reached


def test_a_mechanism_whose_rows_repeat_each_other_is_solved() -> None:
    from dalembert.library.mechanisms import bennett

    model = bennett().compile()
    start = da.assemble(model).q
    name = model.body_names[1]
    wanted = model.pose(name, start).rotation[0, 0]
    target = model.pose(name, da.assemble(model, state=start + 0.2, hold=model.joint_names[0]).q)
    found = da.inverse_kinematics(model, {name: da.Target(rotation=target.rotation)}, state=start)
    assert found.reached
    assert np.abs(model.constraint_residual(found.q)).max() < CLOSED
    assert model.pose(name, found.q).rotation == pytest.approx(target.rotation, abs=1e-9)
    assert abs(wanted - target.rotation[0, 0]) > 1e-3  # it had to move


def test_a_loop_that_is_stretched_stays_closed() -> None:
    model = five_bar().compile()
    found = da.inverse_kinematics(model, {"right.tip": (0.25, 2.0, 0.0)})
    assert not found.reached
    assert np.abs(model.constraint_residual(found.q)).max() < CLOSED
    assert model.pose("right.tip", found.q).position[1] == pytest.approx(np.sqrt(1.0 - 0.25**2), abs=1e-6)
    assert "out of reach" in found.message


def test_limits_hold_at_joints_where_loops_are_cut() -> None:
    s = five_bar()
    free = da.inverse_kinematics(s, {"right.tip": (0.25, 0.6, 0.0)})
    model = free.model
    (cut,) = model.compiled.names.cut_v
    still = np.zeros(model.nv)
    at = float(model.cut_motion(free.q, still, still)[0][0])
    bound = (at + 0.1, at + 2.0)
    held = da.inverse_kinematics(s, {"right.tip": (0.25, 0.6, 0.0)}, state=free.q, limits={cut: bound}, starts=1)
    assert not held.reached
    assert float(model.cut_motion(held.q, still, still)[0][0]) == pytest.approx(bound[0], abs=1e-9)
    assert np.abs(model.constraint_residual(held.q)).max() < CLOSED
    assert cut in held.message


# ---- limits, and what is out of reach


def test_beyond_the_reach_the_arm_points_at_the_target() -> None:
    found = da.inverse_kinematics(planar_arm((1.0, 0.8)), {"link2.tool": (3.0, 4.0, 0.0)}, state=[0.1, 0.5])
    assert not found.reached
    assert found.q == pytest.approx([np.arctan2(4, 3), 0.0], abs=1e-6)
    assert found.residual.position == pytest.approx(5.0 - 1.8, abs=1e-12)
    assert "out of reach" in found.message
    assert "3.2 m" in found.message


def test_a_limit_in_the_way_is_named() -> None:
    s = planar_arm((1.0, 0.8), J2={"lower": 0.5, "upper": 2.0})
    far = 3.0 * np.array([np.cos(0.3), np.sin(0.3)])
    found = da.inverse_kinematics(s, {"link2.tool": (*far, 0.0)})
    assert not found.reached
    assert found.q[1] == 0.5  # as straight as it can be
    span = np.hypot(1.0 + 0.8 * np.cos(0.5), 0.8 * np.sin(0.5))
    assert found.residual.position == pytest.approx(3.0 - span, abs=1e-12)
    assert "'J2' is at its lower limit 0.5" in found.message
    assert da.inverse_kinematics(s, {"link2.tool": (1.8, 0, 0)}, limits=False, state=[0.0, 0.4]).reached


def test_what_is_nearest_is_stationary_within_the_limits() -> None:
    model = wrist_arm(HEIGHTS, **{f"A{k}": {"lower": -1.5, "upper": 1.5} for k in range(1, 7)}).compile()
    rng = np.random.default_rng(8)
    q = rng.uniform(-3.0, 3.0, (40, 6))
    R, p = model.pose("hand.tool", q)
    found = da.inverse_kinematics(model, {"hand.tool": da.Target(position=p, rotation=R)}, starts=4)
    missed = np.flatnonzero(~found.reached)
    assert missed.size > 10

    def loss(at, k) -> float:
        there = model.pose("hand.tool", at)
        turn = Rotation.from_matrix(there.rotation @ R[k].T).magnitude()
        return 0.5 * (np.sum((there.position - p[k]) ** 2) / model.length**2 + turn**2)

    for k in missed:
        gradient = np.array([(loss(found.q[k] + e, k) - loss(found.q[k] - e, k)) / 2e-6 for e in 1e-6 * np.eye(6)])
        inside = np.abs(found.q[k]) < 1.5
        assert np.abs(gradient[inside]).max(initial=0.0) < 1e-6
        assert (gradient * np.sign(found.q[k]))[~inside].max(initial=0.0) < 1e-6
        assert ("limit" in found.messages[k]) == bool((~inside).any())


# ---- redundancy


def kkt(model, q, preferred, weights, limit, tool="link7.tool") -> float:
    """Return by how much the nearest posture misses its conditions: stationary along the target, limits pressed."""
    J = model.jacobian(tool, q)
    g = weights * (q - preferred)
    at = np.abs(q) > limit - 1e-9
    A = np.vstack([J, np.eye(len(q))[at]])
    nu = np.linalg.lstsq(A.T, -g, rcond=None)[0]
    wrong = np.maximum(-nu[6:] * np.sign(q[at]), 0.0).max(initial=0.0)
    return float(max(np.abs(A.T @ nu + g).max(), wrong))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_dof_of_a_seventh_joint_goes_to_the_posture(weighted: bool) -> None:
    model = seven_joints(1.6).compile()
    rng = np.random.default_rng(11)
    q = rng.uniform(-1.55, 1.55, (60, 7))
    pose = model.pose("link7.tool", q)
    preferred = np.array([0.2, 0.5, -0.3, 1.0, 0.1, 0.4, 0.0])
    weights = np.array([5.0, 1.0, 0.2, 1.0, 3.0, 1.0, 0.5]) if weighted else np.ones(7)
    named = {f"J{k + 1}": float(w) for k, w in enumerate(weights)}
    found = da.inverse_kinematics(model, {"link7.tool": pose}, prefer=preferred, weights=named)
    assert found.reached.all()
    assert not found.notes
    assert max(kkt(model, one, preferred, weights, 1.6) for one in found.q) < 1e-6
    assert ((np.abs(found.q) > 1.6 - 1e-9).any(axis=1)).sum() > 3  # limits had a say


def test_a_posture_is_the_least_of_all_along_the_target() -> None:
    model = planar_arm((1.0, 1.0, 1.0)).compile()
    target, preferred = (1.2, 1.1), np.array([0.3, 0.2, 0.9])
    found = da.inverse_kinematics(model, {"link3.tool": (*target, 0.0)}, prefer=preferred)
    last = np.linspace(-np.pi, np.pi, 20001)
    best = np.inf
    for sign in (0, 1):  # the third link's heading decides the rest
        wrist = np.array(target)[:, None] - np.array([np.cos(last), np.sin(last)])
        ok = np.hypot(*wrist) < 2.0
        q = np.array([two_links((1.0, 1.0), w)[sign] for w in wrist.T[ok]])
        q = np.column_stack([q, last[ok] - q.sum(axis=1)])
        away = np.remainder(q - preferred + np.pi, 2 * np.pi) - np.pi
        best = min(best, float((away**2).sum(axis=1).min()))
    assert np.sum((found.q - preferred) ** 2) == pytest.approx(best, abs=1e-6)


def test_weights_select_the_joints_that_move() -> None:
    s = planar_arm((1.0, 1.0, 1.0))
    start = np.array([0.3, 0.4, 0.5])
    goal = {"link3.tool": (1.5, 1.5, 0.0)}
    moved = [
        np.abs(da.inverse_kinematics(s, goal, state=start, weights={"J1": w}).q - start)[0] for w in (0.01, 1.0, 100.0)
    ]
    assert moved[0] > moved[1] > moved[2]
    held = da.inverse_kinematics(s, goal, state=start, hold="J1")
    assert held.reached
    assert held.q[0] == start[0]
    assert moved[2] < 0.02


def test_balls_and_free_bodies_take_part() -> None:
    s = da.System("shoulder")
    upper, fore = s.body("upper", da.rod(0.3, 1.0)), s.body("fore", da.rod(0.25, 1.0))
    s.connect("S", da.Spherical(), s.ground, upper)
    s.connect("E", da.Revolute("z", lower=0.0, upper=2.5), upper.at(0.3, 0, 0), fore)
    model = s.compile()
    rng = np.random.default_rng(0)
    points = rng.normal(size=(20, 3))
    points *= rng.uniform(0.2, 0.5, (20, 1)) / np.linalg.norm(points, axis=1, keepdims=True)
    hand = fore.at(0.25, 0, 0)
    found = da.inverse_kinematics(model, {hand: points})
    assert found.reached.all()
    assert np.abs(model.pose(hand, found.q).position - points).max() < 1e-9
    assert np.linalg.norm(found.q[:, model.q_slice("S")], axis=1) == pytest.approx(1.0)
    # the nearest posture: no turn about the line to the hand makes it better
    zero = model.initial_state().q
    for k in range(20):
        J = model.jacobian(hand, found.q[k])[3:]
        g = -model.difference(found.q[k], zero)
        away = g - J.T @ np.linalg.lstsq(J.T, g, rcond=None)[0]
        assert np.abs(away).max() < 1e-7


def test_a_humanoid_with_four_targets_takes_the_nearest_posture() -> None:
    from dalembert.library.humanoid_robot import humanoid

    model = humanoid().compile()
    names = ("left_hand", "right_hand", "left_foot", "right_foot")
    q = model.random_state(3, 4).q
    targets = {name: model.pose(name, q).position for name in names}
    found = da.inverse_kinematics(model, targets)
    assert found.reached.all()
    assert not found.notes
    zero, length = model.initial_state().q, model.compiled.tables["column_scale"]
    lower, upper = (
        np.concatenate([np.full(h.element.nv, sign * np.inf) if b is None else b for h, b in bounds])
        for sign, bounds in (
            (-1, [(h, h.element.lower) for h in model.forest.joints]),
            (1, [(h, h.element.upper) for h in model.forest.joints]),
        )
    )
    for one in found.q:
        J = np.vstack([model.jacobian(name, one)[3:] for name in names])
        g = -model.difference(one, zero) / length**2
        place = np.concatenate([np.full(6, np.nan), one[7:]])
        bound = (place <= lower + 1e-9) | (place >= upper - 1e-9)
        A = np.vstack([J, np.eye(model.nv)[bound]])
        assert np.abs(g - A.T @ np.linalg.lstsq(A.T, g, rcond=None)[0]).max() < 1e-6


def test_a_floating_arm_moves_its_base_as_little_as_asked() -> None:
    s = da.System("floating")
    base, arm = s.body("base", da.box(0.4, 0.4, 0.4, mass=10.0)), s.body("arm", da.rod(1.0, 1.0))
    s.connect("F", da.Free(), s.ground, base)
    s.connect("A", da.Revolute("y"), base.at(0.2, 0, 0), arm)
    goal = {arm.at(1, 0, 0): (0.9, 0.1, 0.8)}
    heavy = da.inverse_kinematics(s, goal, weights={"F": 100.0})
    light = da.inverse_kinematics(s, goal, weights={"F": 0.01})
    assert heavy.reached
    assert light.reached
    shift = [np.linalg.norm(f.model.difference(f.model.initial_state().q, f.q)[:6]) for f in (heavy, light)]
    assert shift[0] < 0.9 * shift[1]


# ---- targets


def test_every_form_of_a_pose_means_the_same() -> None:
    model = wrist_arm(HEIGHTS).compile()
    q = np.array([0.3, 0.6, 0.8, 0.4, 0.7, -0.2])
    pose = model.pose("hand.tool", q)
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = pose
    angles = da.rotation.to_euler(pose.rotation, "ZXZ")
    forms = [
        pose,
        matrix,
        da.Target(position=pose.position, rotation=pose.rotation),
        da.Target(position=pose.position, rotation=da.rotation.to_quaternion(pose.rotation)),
        da.Target(position=pose.position, angles=da.rotation.to_bryant(pose.rotation)),
        da.Target(position=pose.position, angles=angles, convention="ZXZ"),
        da.Target(position=pose.position, angles=da.rotation.to_euler(pose.rotation, "xyz"), convention="xyz"),
        da.Target(position=pose.position, angles=da.rotation.to_euler(pose.rotation, "zyx"), convention="zyx"),
        da.Target(position=pose.position, angles=da.rotation.to_euler(pose.rotation, "YXY"), convention="YXY"),
    ]
    for form in forms:
        found = da.inverse_kinematics(model, {"hand.tool": form}, state=q + 0.2)
        assert found.reached, form
        assert found.q == pytest.approx(q, abs=1e-8)


@pytest.mark.parametrize(
    "letters", ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "ZXZ", "XYX", "YZY", "ZYZ", "xyz", "yxz"]
)
def test_angles_and_their_rates_belong_together(letters: str) -> None:
    model = wrist_arm(HEIGHTS).compile()
    q = np.array([0.3, 0.6, 0.8, 0.4, 0.7, -0.2])
    R = model.pose("hand.tool", q).rotation
    angles = da.rotation.to_euler(R, letters)
    wanted = angles + np.array([0.05, np.nan, -0.05])
    found = da.inverse_kinematics(model, {"hand.tool": da.Target(angles=wanted, convention=letters)}, state=q)
    assert found.reached
    there = da.rotation.to_euler(model.pose("hand.tool", found.q).rotation, letters)
    assert turned(there[[0, 2]], wanted[[0, 2]]) < 1e-9
    assert found.iterations < 30


def test_several_markers_and_relative_targets() -> None:
    s = da.System("two arms")
    body = s.body("body", da.box(0.2, 0.4, 0.6, mass=10.0))
    s.connect("B", da.Revolute("z"), s.ground, body)
    hands = []
    for side, y in (("left", 0.2), ("right", -0.2)):
        a, b = s.body(side + "_upper", da.rod(0.4, 1.0)), s.body(side + "_fore", da.rod(0.4, 1.0))
        s.connect(side + "_S", da.Universal("z", "y"), body.at(0, y, 0), a)
        s.connect(side + "_E", da.Universal("z", "y"), a.at(0.4, 0, 0), b)
        hands.append(b.at(0.4, 0, 0))
    left, right = hands
    model = s.compile()
    apart = (0.1, 0.05, -0.02)
    found = da.inverse_kinematics(
        model,
        {
            left: (0.5, 0.2, 0.1),
            right: da.Target(position=apart, relative_to=left),
            "body": da.Target(rotation=("z", 0.2)),
        },
    )
    assert found.reached
    one, two = model.pose(left, found.q), model.pose(right, found.q)
    assert one.position == pytest.approx((0.5, 0.2, 0.1), abs=1e-9)
    assert one.rotation.T @ (two.position - one.position) == pytest.approx(apart, abs=1e-9)


def test_components_may_be_free_in_some_targets_of_a_batch() -> None:
    s = planar_arm((1.0, 1.0, 1.0))
    points = np.array([[1.0, 1.0, 0.0], [1.2, np.nan, 0.0], [np.nan, 1.3, np.nan]])
    found = da.inverse_kinematics(s, {"link3.tool": points}, state=[0.2, 0.2, 0.2])
    assert found.reached.all()
    p = found.model.pose("link3.tool", found.q).position
    given = ~np.isnan(points)
    assert np.abs(p - points)[given].max() < 1e-9


def test_flexible_bodies_stay_as_they_are_unless_set_free() -> None:
    s = da.System("boom")
    boom = s.body("boom", da.beam(2.0, da.Section.circle(0.02), da.Material(E=210e9, nu=0.3, density=7850), elements=4))
    s.connect("A", da.Revolute("y"), s.ground, boom.at(0, 0, 0))
    tip = boom.at(2.0, 0, 0)
    model = s.compile()
    point = model.pose(tip, model.initial_state().q).position + np.array([0.0, 0.0, 0.05])
    held = da.inverse_kinematics(model, {tip: point}, starts=2)
    (name,) = model.flexible_names
    assert (held.q[model.q_slice(name)] == 0.0).all()
    freed = da.inverse_kinematics(model, {tip: point}, free=name, starts=2)
    assert np.abs(freed.q[model.q_slice(name)]).max() > 0.0
    assert freed.residual.position <= held.residual.position


# ---- paths


def test_a_path_stays_on_its_branch() -> None:
    s = planar_arm((1.0, 0.8))
    angles = np.linspace(0.0, 2 * np.pi, 73)
    points = np.column_stack([0.2 + 1.2 * np.cos(angles), 1.2 * np.sin(angles), np.zeros_like(angles)])
    start = two_links((1.0, 0.8), points[0, :2])[1]
    found = da.inverse_kinematics(s, {"link2.tool": points}, state=start, path=True)
    assert found.reached.all()
    assert found.jumps == ()
    expected = np.array([two_links((1.0, 0.8), p[:2])[1] for p in points])
    assert turned(found.q, expected).max() < 1e-8
    assert np.abs(np.diff(found.q, axis=0)).max() < 0.5
    assert found.q[-1, 0] - found.q[0, 0] == pytest.approx(2 * np.pi, abs=1e-8)  # it went round, and says so


def test_a_coarse_path_is_followed_in_small_steps() -> None:
    s = planar_arm((1.0, 0.8))
    angles = np.linspace(0.0, np.pi, 4)
    points = np.column_stack([1.5 * np.cos(angles), 1.5 * np.sin(angles), np.zeros_like(angles)])
    found = da.inverse_kinematics(s, {"link2.tool": points}, state=two_links((1.0, 0.8), points[0, :2])[0], path=True)
    assert found.reached.all()
    assert (found.q[:, 1] > 0).all()
    assert found.jumps == ()


def test_a_path_reports_where_it_jumps() -> None:
    s = planar_arm((1.0, 0.8), J1={"lower": -2.0, "upper": 2.0})
    angles = np.linspace(1.0, 3.0, 41)
    points = np.column_stack([1.2 * np.cos(angles), 1.2 * np.sin(angles), np.zeros_like(angles)])
    start = two_links((1.0, 0.8), points[0, :2])[1]  # elbow down: the shoulder meets its limit first
    found = da.inverse_kinematics(s, {"link2.tool": points}, state=start, path=True)
    jumps = np.flatnonzero(np.abs(np.diff(found.q, axis=0)).max(axis=1) > 0.5) + 1
    assert [jump.number for jump in found.jumps] == list(jumps)
    assert len(jumps) == 1
    assert "branch ends" in found.jumps[0].reason
    assert found.reached[: jumps[0]].all()


def test_a_path_that_leaves_the_reach_goes_on_along_its_border() -> None:
    x = np.linspace(1.0, 2.6, 33)
    points = np.column_stack([x, np.full_like(x, 0.5), np.zeros_like(x)])
    points = np.concatenate([points, points[::-1]])
    start = two_links((1.0, 0.8), points[0, :2])[0]
    found = da.inverse_kinematics(planar_arm((1.0, 0.8)), {"link2.tool": points}, state=start, path=True)
    far = np.hypot(points[:, 0], 0.5) > 1.8
    assert (found.reached == ~far).all()
    assert found.residual.position[far] == pytest.approx(np.hypot(points[far, 0], 0.5) - 1.8, abs=1e-9)
    assert np.abs(np.diff(found.q, axis=0)).max() < 0.6


def test_paths_of_an_arm_change_no_branch_unsaid() -> None:
    model = wrist_arm(HEIGHTS).compile()
    rng = np.random.default_rng(4)
    for _ in range(6):
        ends = rng.uniform(-2.5, 2.5, (2, 6))
        pose = model.pose("hand.tool", ends)
        s = np.linspace(0.0, 1.0, 12)
        turn = Rotation.from_matrix(pose.rotation[1] @ pose.rotation[0].T).as_rotvec()
        R = Rotation.from_rotvec(s[:, None] * turn).as_matrix() @ pose.rotation[0]
        p = pose.position[0] + s[:, None] * (pose.position[1] - pose.position[0])
        found = da.inverse_kinematics(model, {"hand.tool": da.Target(position=p, rotation=R)}, state=ends[0], path=True)
        centre = p - HEIGHTS[3] * R[:, :, 2]
        ahead = np.cos(found.q[:, 0]) * centre[:, 0] + np.sin(found.q[:, 0]) * centre[:, 1]
        branch = np.column_stack([np.sin(found.q[:, 2]), np.sin(found.q[:, 4]), ahead]) > 0.0
        changed = np.flatnonzero((branch[1:] != branch[:-1]).any(axis=1)) + 1
        assert set(changed[found.reached[changed]]) <= {jump.number for jump in found.jumps}


def test_a_path_of_a_redundant_arm_moves_little() -> None:
    model = seven_joints().compile()
    q = np.array([0.2, 0.7, -0.3, 1.2, 0.1, 0.8, 0.0])
    R, p = model.pose("link7.tool", q)
    way = np.linspace(0.0, 0.1, 11)[:, None] * np.array([0.5, -1.0, 0.3])
    found = da.inverse_kinematics(model, {"link7.tool": da.Target(position=p + way, rotation=R)}, state=q, path=True)
    assert found.reached.all()
    assert np.abs(np.diff(found.q, axis=0)).max() < 0.1


# ---- agreement with other ways


def test_it_agrees_with_a_body_that_is_driven_there() -> None:
    p, R = np.array([0.1, -0.05, 1.05]), da.rotation.bryant(0.1, -0.15, 0.2)
    found = da.inverse_kinematics(stewart(), {"plate": da.Target(position=p, rotation=R)})
    s = stewart()
    s.drive("plate", position=tuple(p), rotation=da.EulerAngles((0.1, -0.15, 0.2), "XYZ"))
    motion = da.driven_motion(s, 0.0)
    for k in range(1, 7):
        one, two = (m.q[m.model.coordinate_names.index(f"L{k}")] for m in (found, motion))
        assert one == pytest.approx(two, abs=1e-9)


def test_a_path_agrees_with_a_driven_motion() -> None:
    times = np.linspace(0.0, 1.0, 6)
    p = np.column_stack([0.2 * times, -0.1 * times**2, 1.0 + 0.1 * times])
    R = np.array([da.rotation.bryant(0.2 * t, 0.0, -0.3 * t) for t in times])
    path = da.inverse_kinematics(stewart(), {"plate": da.Target(position=p, rotation=R)}, path=True)
    assert path.reached.all()
    s = stewart()
    laws = (da.Polynomial((0.0, 0.2)), da.Polynomial((0.0, 0.0, -0.1)), da.Polynomial((1.0, 0.1)))
    angles = (da.Polynomial((0.0, 0.2)), 0.0, da.Polynomial((0.0, -0.3)))
    s.drive("plate", position=laws, rotation=da.EulerAngles(angles, "XYZ"))
    model, q = s.compile(), None
    for k, t in enumerate(times):
        motion = da.driven_motion(model, t, state=q)
        q = motion.q
        for leg in range(1, 7):
            one = path.q[k, path.model.coordinate_names.index(f"L{leg}")]
            assert one == pytest.approx(q[model.coordinate_names.index(f"L{leg}")], abs=1e-9)


def test_an_answer_is_a_start_of_a_simulation() -> None:
    s = planar_arm((1.0, 0.8))
    found = da.inverse_kinematics(s, {"link2.tool": np.array([[1.0, 1.0, 0.0], [1.2, 0.2, 0.0]])})
    state = found.state(1)
    result = da.simulate(s, 0.01, state=state)
    assert result["link2.tool.position"][0] == pytest.approx((1.2, 0.2, 0.0), abs=1e-9)
    with pytest.raises(ModelError, match="2 configurations"):
        found.state(2)


# ---- what is refused


@pytest.mark.parametrize(
    ("targets", "options", "message"),
    [
        ({"hand": (1, 1, 0)}, {}, "hand"),
        ({}, {}, "give a dict"),
        ({"link2.tool": (1, 1)}, {}, "position"),
        ({"link2.tool": np.eye(3)}, {}, "orientation or three positions"),
        ({"link2.tool": da.Target()}, {}, "all of it is free"),
        ({"link2.tool": (np.nan,) * 3}, {}, "all of it is free"),
        ({"link2.tool": da.Target(direction=(0, 0, 0))}, {}, "not all zero"),
        ({"link2.tool": da.Target(rotation=2 * np.eye(3))}, {}, "orthonormal"),
        ({"link2.tool": da.Target(rotation=np.array([np.eye(3), -np.eye(3)]))}, {}, "rotation.1."),
        ({"link2.tool": np.ones((2, 3)), "link1": da.Target(direction=np.ones((3, 3)))}, {}, "same number"),
        ({"link2.tool": (1, 1, 0), "link2": (5, 1, 0)}, {}, "contradiction"),
        ({"link1": (0, 0, 0.1)}, {}, "0.1 m away'; no unlocked joint"),
        ({"link2.tool": (1, 1, 0)}, {"hold": ["J1", "J2"]}, "everything is held"),
        ({"link1": da.Target(rotation=("z", 0.2))}, {"hold": "J1"}, "no unlocked joint"),
        ({"ground": (1, 0, 0)}, {}, "ground"),
        ({"link2.tool": da.Target(position=(1, 0, 0), relative_to="link2")}, {}, "body that it refers to"),
        ({"link2.tool": (1, 1, 0)}, {"state": [0.0, 9.0]}, "limits are -2 and 2"),
        ({"link2.tool": (1, 1, 0)}, {"state": [0.0]}, "shape of q"),
        ({"link2.tool": (1, 1, 0)}, {"limits": {"J2": (1.0, 0.0)}}, "must not exceed"),
        ({"link2.tool": (1, 1, 0)}, {"limits": {"J9": (1.0, 0.0)}}, "J9"),
        ({"link2.tool": (1, 1, 0)}, {"weights": {"J2": 0.0}}, "above zero"),
        ({"link2.tool": (1, 1, 0)}, {"prefer": {"J7": 0.0}}, "J7"),
        ({"link2.tool": (1, 1, 0)}, {"starts": 0}, "at least 1"),
        ({"link2.tool": (1, 1, 0)}, {"tolerance": -1.0}, "above zero"),
        ({"link2.tool": (1, 1, 0)}, {"path": True, "all_solutions": True}, "path"),
        ({"link2.tool": (1, np.nan, 0)}, {"all_solutions": True}, "configurations form a continuum"),
        ({"link2.tool": (1e300, 0, 0)}, {}, "three numbers"),
        ({"link2.tool": np.zeros((0, 3))}, {}, "three numbers"),
        ({"link2.tool": da.Target(rotation=[[1.0, 0, 0, 0], [0.0, 0, 0, 0]])}, {}, "rotation.1."),
        ({"link2.tool": (1, 1, 0)}, {"limits": "J2"}, "dict"),
        ({"link2.tool": (1, 1, 0)}, {"limits": {"J2": ([1, 2, 3], 5)}}, "1 of each"),
        ({"link2.tool": (1, 1, 0)}, {"weights": [1, 2]}, "dict of names"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(targets, options, message) -> None:
    s = planar_arm((1.0, 0.8), J2={"lower": -2.0, "upper": 2.0})
    with pytest.raises(ModelError, match=message):
        da.inverse_kinematics(s, targets, **options)


def test_what_nothing_moves_may_be_asked_to_stay() -> None:
    s = planar_arm((1.0, 0.8))
    model = s.compile()
    pose = model.pose("link1", np.array([[0.3, 0.0], [0.8, 0.0]]))  # its origin is on the axis
    found = da.inverse_kinematics(model, {"link1": pose})
    assert found.reached.all()
    assert found.q[:, 0] == pytest.approx([0.3, 0.8], abs=1e-9)


def test_start_values_beyond_limits_are_noted() -> None:
    s = planar_arm((1.0, 0.8), J2={"lower": 0.5, "upper": 2.0})
    found = da.inverse_kinematics(s, {"link2.tool": (1.0, 1.0, 0.0)})
    assert found.reached
    assert "'J2' is 0, beyond its limit; 0.5 is used" in found.notes[0]


def test_configurations_a_whole_turn_apart_are_one() -> None:
    """A five-bar has four ways to hold its point: two for each arm."""
    s = da.linkage(
        {"A": (0, 0), "B": (-0.2, 0.4), "P": (0.3, 0.9), "D": (0.9, 0.35), "E": (0.6, -0.05)},
        {"l1": "AB", "l2": "BP", "r2": "DP", "r1": "ED"},
        ground="AE",
    )
    assert len(da.inverse_kinematics(s, {"l2.P": (0.1, 0.7, 0)}, all_solutions=True).solutions[0]) == 4


@pytest.mark.parametrize("reach", [1.8, 0.2])
@pytest.mark.parametrize("angle", [0.0, np.pi / 4, 2.0])
def test_at_the_edge_of_the_reach_there_is_one_configuration(reach: float, angle: float) -> None:
    """Stretched or folded: two configurations have become one, and the tolerance tells it to its root."""
    target = (reach * np.cos(angle), reach * np.sin(angle), 0.0)
    found = da.inverse_kinematics(planar_arm((1.0, 0.8)), {"link2.tool": target}, all_solutions=True)
    (solutions,) = found.solutions
    assert found.reached and len(solutions) == 1
    assert abs(np.cos(solutions[0, 1])) == pytest.approx(1.0, abs=1e-9)


def test_inside_the_edge_there_are_two() -> None:
    inside = da.inverse_kinematics(planar_arm((1.0, 0.8)), {"link2.tool": (1.8 - 1e-6, 0.0, 0.0)}, all_solutions=True)
    assert len(inside.solutions[0]) == 2


def test_an_arm_folded_onto_its_shoulder_turns_freely() -> None:
    with pytest.raises(ModelError, match="leaves 1 DOF"):
        da.inverse_kinematics(
            planar_arm((1.0, 1.0)), {"link2.tool": (0.0, 0.0, 0.0)}, state=[0.3, 3.0], all_solutions=True
        )
