"""Positions, rates and subspaces of motion on the protocol: bodies and joints, and natural coordinates, alike."""

from __future__ import annotations

import numpy as np
import pytest
from systems.linkages import driven_four_bar, four_bar_at_60_degrees

import dalembert as da
from dalembert.closure import RelativeEquations, find_position, find_rates
from dalembert.motion import follow_branch


def test_every_basis_of_a_system_is_the_same_motion() -> None:
    s = four_bar_at_60_degrees()
    for method in ("gauss", "qr", "svd", "gram-schmidt"):
        space = da.motion_space(s, method=method)
        J = space.equations.jacobian(space.q, 0.0)
        assert space.R[:, 0] / space.R[0, 0] == pytest.approx([1, -1.143090951758, 0.686836568439], abs=1e-10)
        assert pytest.approx(np.zeros((len(J), 1)), abs=1e-13) == J @ space.R
        assert pytest.approx(np.eye(1)) == space.B @ space.R
        assert J[space.rows] @ space.S[:, space.rows] == pytest.approx(np.eye(len(space.rows)), abs=1e-12)
    chosen = da.motion_space(s, independent_coordinates=["A"])
    assert chosen.velocity([2.0]) == pytest.approx(2 * chosen.R[:, 0])
    with pytest.raises(da.ModelError, match="there are 1 degrees of freedom here"):
        da.motion_space(s, independent_coordinates=["A", "B"])
    with pytest.raises(da.ModelError, match="name velocities: A, B, C"):
        da.motion_space(s, independent_coordinates=["rocker"])
    with pytest.raises(da.ModelError, match="Sc needs velocities"):
        _ = chosen.Sc


def test_what_is_driven_moves_without_z() -> None:
    """A driven mechanism has no degree of freedom left: S b is its velocity, S c its acceleration."""
    s = driven_four_bar()
    space = da.motion_space(s)
    assert space.dofs == 0 and space.Sb == pytest.approx([1, -1.143090951758, 0.686836568439], abs=1e-10)
    moving = da.motion_space(s, v=space.Sb)
    assert moving.Sc == pytest.approx(da.driven_motion(s).a, abs=1e-9)
    # half driven: two degrees of freedom, one of them led
    s = da.System()
    for k, name in enumerate("ab"):
        s.body(name, mass=1.0, inertia=(1, 1, 1))
        s.connect(name.upper(), da.Revolute("z"), s["a"].at(1, 0, 0) if k else s.ground, s[name])
    s.drive("A", position=da.Polynomial((0.0, 3.0)))
    space = da.motion_space(s)
    assert space.dofs == 1 and space.velocity([2.0]) == pytest.approx([3, 2])


def test_gram_and_schmidt_of_joints_by_differences() -> None:
    s = four_bar_at_60_degrees()
    v = da.motion_space(s, independent_coordinates=["A"]).velocity([1.3])
    space = da.motion_space(s, method="gram-schmidt", v=v)
    h = 1e-5
    model = s.compile()
    ahead, behind = (space.at(model.integrate(space.q, k * h * v), v=v).R for k in (1, -1))
    assert space.R_rate == pytest.approx((ahead - behind) / (2 * h), abs=1e-8)
    J, c = space.equations.jacobian(space.q, 0.0), space.equations.acceleration_terms(space.q, v, 0.0)
    assert J @ space.R_rate @ space.coordinates(v) == pytest.approx(c, abs=1e-9)


@pytest.mark.parametrize("solver", ["qr", "normal", "elimination"])
@pytest.mark.parametrize("method", ["full", "modified", "mixed"])
def test_newton_s_methods_close_joints_too(method: str, solver: str) -> None:
    """Five rows of a planar loop in space, three of them idle, and a drive."""
    s = driven_four_bar()
    e = RelativeEquations(s.compile())
    found = find_position(e, [1.0, -0.7, 0.9], 0.0, method=method, solver=solver)
    assert found.success and found.q == pytest.approx(da.driven_motion(s).q, abs=1e-10)
    assert (found.factorisations == found.iterations) == (method == "full")


def test_following_agrees_with_the_core() -> None:
    s = driven_four_bar()
    t = np.linspace(0, 6.0, 13)
    core = da.kinematics(s, times=t)
    e = RelativeEquations(s.compile())
    for predictor in (0, 1, 2):
        found = follow_branch(e, t, core.q[0], predictor=predictor)
        assert found.q == pytest.approx(core.q, abs=1e-10)
        assert found.v == pytest.approx(core.v, abs=1e-9) and found.a == pytest.approx(core.a, abs=1e-8)
        assert found.j == pytest.approx(np.array([core[f"{h}.jerk"] for h in "ABC"]).T, abs=1e-6)


def test_a_modified_matrix_that_leads_nowhere_is_renewed() -> None:
    e = RelativeEquations(driven_four_bar().compile())
    found = find_position(e, [0.2, -2.2, 2.9], 0.0, method="modified", max_iterations=300, check=False)
    assert found.success and found.factorisations > 1


def test_rates_that_contradict_each_other_are_named() -> None:
    """Both bars in line: the slider cannot be pulled on."""
    m = da.natural.Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("1", 1, 0), m.point("2", 2, 0)
    m.link("crank", "A", "1"), m.link("rod", "1", "2")
    m.drive("2.y", 0.0), m.drive("2.x", da.Polynomial((2.0, 1.0)))
    with pytest.raises(da.SingularityError, match=r"velocities prescribed at t = 0 s contradict .*'(crank|rod)"):
        find_rates(m.equations(), [1.0, 0.0], free=True)


def test_jumps_stay_on_their_branch() -> None:
    """One step from anywhere to anywhere is split until the branch is the one that was followed."""
    random = np.random.default_rng(4)
    m = da.natural.Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("B", 4, 0, fixed=True), m.vector("x", 1, 0, fixed=True)
    m.point("1", 2, 0), m.point("2", 3.9, 2.9)
    m.link("crank", "A", "1", 2), m.link("coupler", "1", "2", 4), m.link("rocker", "2", "B", 3)
    m.angle("psi", "x", ("A", "1"))
    m.drive("psi", da.Polynomial((0.0, 1.0)))
    slow = m.motion(np.linspace(0, 2 * np.pi, 721))
    for start, jump in random.uniform(0.0, 6.0, (30, 2)):
        k = int(np.abs(slow.t - start).argmin())
        for options in ({}, {"predictor": 1}):
            fast = m.motion([slow.t[k], slow.t[k] + jump], slow.followed.q[k], **options)
            goal = (slow.t[k] + jump) % (2 * np.pi)
            near = np.array([np.interp(goal, slow.t, slow["2"][:, c]) for c in range(2)])
            assert fast["2"][-1] == pytest.approx(near, abs=1e-3)


@pytest.mark.parametrize("method", ["gauss", "qr", "svd"])
def test_a_position_is_factored_once(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With z kept, one factorisation and one Jacobian give R, S, S b, S c, R', speeds, accelerations and jerks."""
    from dalembert.closure import motion_subspace as subspace
    from dalembert.natural import NaturalEquations

    m = da.natural.Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("B", 4, 0, fixed=True)
    m.point("1", -0.5, 1.8), m.point("2", 1.6, 3.2), m.point("3", 4.3, 1.9)
    for name, ends in {"a": "A1", "b": "12", "c": "23", "d": "3B"}.items():
        m.link(name, *ends)
    m.link("again", "1", "2")  # said once, kept once
    m.vector("x", 1, 0, fixed=True), m.angle("psi", "x", ("A", "1"))  # one row too many
    first = da.motion_space(m, state=m.assemble().q, method=method)
    q = m.assemble(first.q + 0.05 * first.R @ np.ones(2)).q
    made = {"factors": 0, "jacobians": 0}
    factored, jacobian = subspace._factored, NaturalEquations.jacobian

    def counted(A: object) -> object:
        made["factors"] += 1
        return factored(A)  # type: ignore[arg-type]

    def looked(self: object, *args: object) -> object:
        made["jacobians"] += 1
        return jacobian(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(subspace, "_factored", counted)
    monkeypatch.setattr(NaturalEquations, "jacobian", looked)
    space = first.at(q, v=first.R @ np.ones(2))
    z = np.array([0.7, -0.4])
    v, a, j = space.velocity(z), space.acceleration(z, [0.1, 0.2]), space.jerk(z, [0.1, 0.2], [0.3, 0.0])
    assert not space.refreshed and np.isfinite([*space.Sb, *space.Sc, *space.S.ravel()]).all()
    assert made == {"factors": 1, "jacobians": 1}
    e = m.equations()
    J = e.jacobian(q, 0.0)
    assert J @ v == pytest.approx(0, abs=1e-12)
    assert pytest.approx(e.acceleration_terms(q, v, 0.0), abs=1e-12) == J @ a
    assert pytest.approx(e.jerk_terms(q, v, a, 0.0), abs=1e-11) == J @ j
    assert space.B @ j == pytest.approx([0.3, 0.0], abs=1e-12)
    # the condition by the small matrix is that of the large one
    D = e.column_scales
    V = np.linalg.qr((J[space.rows] * D).T)[0].T
    B = space.B * D
    whole = np.vstack([V, B / np.linalg.norm(B, axis=1, keepdims=True)])
    assert space.condition == pytest.approx(np.linalg.cond(whole), rel=1e-8)


def test_sparse_factors_are_those_of_qr() -> None:
    """A row of 120 loops: chosen by itself, as exact as QR; singular columns fall back to it."""
    from dalembert.numerics.factorization import factor

    m = da.natural.Mechanism(2, "ladder")
    m.point("A0", 0, 0, fixed=True), m.point("P0", 0.3, 1.0), m.link("c0", "A0", "P0")
    for i in range(1, 121):
        m.point(f"A{i}", 2.0 * i, 0, fixed=True), m.point(f"P{i}", 2.0 * i + 0.3, 1.0)
        m.link(f"b{i}", f"P{i - 1}", f"P{i}"), m.link(f"c{i}", f"A{i}", f"P{i}")
    m.vector("x", 1, 0, fixed=True), m.angle("psi", "x", ("A0", "P0"))
    start = float(m.coordinates["psi"].value[0])
    m.drive("psi", da.Polynomial((start, 1.0)))
    e = m.equations()
    J = e.row_scales[:, None] * e.jacobian(e.start(), 0.0) * e.column_scales
    assert e.pattern is not None and set(zip(*np.nonzero(J), strict=True)) <= set(zip(*e.pattern, strict=True))
    x = np.random.default_rng(1).standard_normal(e.nv)
    for solver in ("sparse", "auto", "qr"):
        assert factor(J, solver, e.pattern).solve(J @ x) == pytest.approx(x, abs=1e-9)
    assert factor(J, "sparse").solve(J @ x) == pytest.approx(x, abs=1e-9)
    # parallel cranks: all turn alike
    found = m.assemble(t=0.2)
    assert found.q[-2:] == pytest.approx(
        [240.0 + np.hypot(0.3, 1.0) * np.cos(start + 0.2), np.hypot(0.3, 1.0) * np.sin(start + 0.2)], abs=1e-9
    )
    rates = find_rates(e, found.q, 0.2)
    assert rates.v[:2] == pytest.approx(rates.v[-2:], abs=1e-9)
    loose = m.copy()
    loose.remove_drive("psi")
    free = loose.equations()
    K = free.row_scales[:, None] * free.jacobian(free.start(), 0.0) * free.column_scales
    assert factor(K, "auto", free.pattern).rank == free.nv - 1
    with pytest.raises(da.SingularityError, match="sparse normal equations are singular"):
        factor(K, "sparse")
