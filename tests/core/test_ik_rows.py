"""Rows and descents of inverse kinematics in the core: against plain NumPy, differences, and each other."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.target_rows import goal_rows
from systems.arms import planar_arm, wrist_arm

import dalembert as da
from dalembert.closure.joint_limits import Bounds
from dalembert.motion.ik.equations import IkEquations
from dalembert.motion.ik.solvers import solve_bounded
from dalembert.motion.ik.targets import goals_of

Array = np.ndarray


def reach_of(system: da.System, targets: dict, limits: bool | dict = True, weights: Array | None = None) -> IkEquations:
    model = system.compile()
    goals, _ = goals_of(model, targets, "test")
    metric = np.ones(model.nv) if weights is None else weights
    return IkEquations(model, goals, Bounds.of(model, limits, "test"), np.arange(model.nv), metric, 1e-10)


def floating_arm() -> da.System:
    """Return a ball, a universal joint, a slide and a screw on a free base: every form of coordinate."""
    s = da.System("arm")
    names = ("base", "upper", "fore", "slide", "hand")
    parts = {name: s.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in names}
    s.connect("B", da.Free(), s.ground, parts["base"])
    s.connect("S", da.Spherical(), parts["base"].at(0.1, 0, 0.3), parts["upper"])
    s.connect("U", da.Universal("x", "y"), parts["upper"].at(0, 0, 0.5), parts["fore"])
    s.connect("P", da.Prismatic("z"), parts["fore"].at(0, 0.1, 0.2), parts["slide"])
    s.connect("R", da.Revolute("y"), parts["slide"].at(0, 0, 0.2), parts["hand"])
    parts["hand"].marker("tool", 0.1, 0.05, 0.2, rotation=("x", 0.3))
    parts["base"].marker("eye", 0.0, 0.2, 0.1, rotation=("y", 0.7))
    return s


def configurations(model: da.Model, number: int) -> Array:
    rng = np.random.default_rng(3)
    start = np.tile(da.assemble(model).q, (number, 1))
    return model.integrate(start, rng.uniform(-2, 2, (number, model.nv)))


@pytest.mark.parametrize("relative", [None, "base.eye"])
@pytest.mark.parametrize(
    "target",
    [
        {"position": (0.1, np.nan, 0.4)},
        {"rotation": ("x", 2.9)},
        {"angles": (0.3, -1.2, np.nan), "convention": "ZXZ"},
        {"angles": (0.3, -1.2, 2.0), "convention": "xyz"},
        {"direction": (0.2, 0.4, -0.3), "axis": (0.6, 0.0, 0.8)},
    ],
    ids=["position", "rotation", "ZXZ", "xyz", "direction"],
)
def test_rows_of_targets_are_those_of_numpy(target: dict, relative: str | None) -> None:
    s = floating_arm()
    rng = np.random.default_rng(1)
    reach = reach_of(s, {"hand.tool": da.Target(relative_to=relative, **target)}, weights=rng.uniform(0.5, 2.0, 13))
    q, which = configurations(reach.model, 21), np.zeros(21, dtype=int)
    r, J = goal_rows(reach.model, reach.goals[0], q, which)
    scale = reach.goal_scales[0]
    assert np.allclose(reach.residual(q, which), scale * r, atol=1e-12)
    assert np.allclose(reach.jacobian(q, which), scale * J * reach.metric, atol=1e-11)


def test_rows_bend_as_differences_say() -> None:
    """Positions and angles have J as the whole derivative of r."""
    s = floating_arm()
    reach = reach_of(s, {"hand.tool": da.Target(position=(0.1, 0.2, 0.4), angles=(0.3, -0.2, 0.5), relative_to="base")})
    model, which = reach.model, np.zeros(13, dtype=int)
    q, e = configurations(model, 1), 1e-6
    J = reach.jacobian(q, which[:1])[0]
    ahead, behind = (
        reach.residual(model.integrate(np.repeat(q, 13, axis=0), sign * e * np.eye(13)), which) for sign in (1.0, -1.0)
    )
    assert np.allclose(J, (ahead - behind).T / (2 * e), atol=1e-8)


def limited_five_bar() -> da.System:
    s = da.System("five-bar")
    left, right = (s.body(name, da.rod(1.0, 1.0)) for name in ("left", "right"))
    rod, other = (s.body(name, da.rod(1.5, 1.0)) for name in ("left rod", "right rod"))
    s.connect("A", da.Revolute("z", lower=-3.0, upper=3.0), s.ground, left)
    s.connect("B", da.Revolute("z", lower=-3.0, upper=2.9), left.at(1, 0, 0), rod)
    s.connect("C", da.Revolute("z", lower=-2.2, upper=2.3), rod.at(1.5, 0, 0), other)
    s.connect("D", da.Revolute("z", lower=0.1, upper=2.8), other.at(1.5, 0, 0), right.at(1, 0, 0))
    s.connect("E", da.Revolute("z", lower=-2.0, upper=1.4), s.ground.at(1, 0, 0), right)
    s.initial("A", position=2.0)
    return s


def test_limits_where_loops_are_cut_are_rows_by_differences_and_by_cut_motion() -> None:
    reach = reach_of(limited_five_bar(), {"left rod": (0.0, 1.0, np.nan)})
    model = reach.model
    assert reach.limited and reach.closures
    q, which, e = configurations(model, 5), np.zeros(5, dtype=int), 1e-6
    r, J, n = reach.residual(q, which), reach.jacobian(q, which), model.nv
    closures = rows_of_loops(reach, q)
    assert np.allclose(r[:, : reach.closures], closures[0]) and np.allclose(J[:, : reach.closures], closures[1])
    near = [
        reach.residual(
            model.integrate(np.repeat(q, n, axis=0), np.tile(s * e * np.eye(n), (5, 1))), np.zeros(5 * n, dtype=int)
        )
        for s in (1.0, -1.0)
    ]
    differences = ((near[0] - near[1]) / (2 * e)).reshape(5, n, -1).swapaxes(1, 2)
    rows = slice(reach.closures, reach.hard)
    assert np.allclose(J[:, rows], differences[:, rows], atol=1e-8)
    still = np.zeros(n)
    at = model.cut_motion(q, still, still)[0]
    bounds = reach.bounds
    over = np.flatnonzero(np.isfinite(bounds.cut_upper))
    assert np.allclose(r[:, reach.closures : reach.closures + len(over)], (at - bounds.cut_upper)[:, over])


def rows_of_loops(reach: IkEquations, q: Array) -> tuple[Array, Array]:
    """Return rows of loops by the model's own kernels, scaled as the problem has them."""
    scales = reach._row_scales
    J = reach.model.constraint_jacobian(q)[:, reach.closing] * reach.metric
    return scales * reach.model.constraint_residual(q)[:, reach.closing], scales[:, None] * J


def test_a_descent_depends_on_nothing_but_its_start() -> None:
    """Neither on its neighbours in lanes, nor on their number, nor on threads."""
    s = wrist_arm(**{f"A{k}": {"lower": -2.8, "upper": 2.8} for k in range(1, 7)})
    model = s.compile()
    rng = np.random.default_rng(0)
    poses = model.pose("hand.tool", rng.uniform(-2.8, 2.8, (60, 6)))
    reach = reach_of(s, {"hand.tool": poses})
    starts, which = rng.uniform(-2.8, 2.8, (60, 6)), np.arange(60)
    whole = solve_bounded(reach, starts, which)
    some = rng.permutation(60)[:23]
    part = solve_bounded(reach, starts[some], which[some])
    for name in ("q", "residual", "done", "iterations", "push"):
        assert (getattr(part, name) == getattr(whole, name)[some]).all(), name
    before = da.threads()
    da.set_threads(1)
    try:
        assert (solve_bounded(reach, starts, which).q == whole.q).all()
    finally:
        da.set_threads(before)
    assert whole.done.sum() > 20
    there = model.pose("hand.tool", whole.q[whole.done])
    assert np.abs(there.position - poses.position[whole.done]).max() < 1e-9
    assert np.abs(whole.q).max() <= 2.8


def test_a_descent_stops_at_bounds_and_names_the_active_ones() -> None:
    reach = reach_of(planar_arm(J2={"lower": 0.5, "upper": 1.0}), {"link2.tool": (0.2, 0.1, 0.0)})
    down = solve_bounded(reach, np.array([[0.0, 0.8]]), np.zeros(1, dtype=int))
    assert not down.done[0] and down.q[0, 1] == 1.0 and down.push[0, 1] < 0
