"""Reduced coordinates of mimic joints: kernels against projections of the open system, compiled without rules."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dalembert as da

Array = NDArray[np.float64]

RULES = {"J2": ("J1", -1.5, 0.2), "J3": ("J2", 0.7, -0.1), "J5": ("J4", 2.0, 0.05), "J6": ("J1", 1.0, 0.0)}


def robot(*, elements: bool = False, floating: bool = False, rules: bool = True) -> da.System:
    """Return a tree of seven joints, hinges, slides and a screw, with chains of rules; rules before their leaders."""
    rng = np.random.default_rng(5)
    s = da.System("robot", gravity=(0.5, -0.3, -9.81))
    base: Any = s.ground
    if floating:
        base = s.body("base", da.box(0.4, 0.3, 0.2, mass=3.0))
        s.connect("float", da.Free(), s.ground, base)
    bodies = [base]
    parents = [0, 1, 2, 1, 4, 5, 0]
    kinds = [da.Revolute, da.Revolute, da.Prismatic, da.Revolute, da.Revolute, da.Prismatic, da.Screw]
    for k, (parent, kind) in enumerate(zip(parents, kinds, strict=True)):
        body = s.body(f"b{k}", da.box(0.3, 0.1, 0.05, mass=float(rng.uniform(0.5, 2.0))))
        more: dict[str, Any] = {"damping": 0.3, "armature": 0.02} if elements else {}
        axis = tuple(rng.normal(size=3))
        joint = kind(axis, 0.03) if kind is da.Screw else kind(axis, **more)
        s.connect(f"J{k}", joint, bodies[parent].at(0.2, 0.05 * k, 0), body.at(-0.15, 0, 0.02))
        bodies.append(body)
    if elements:
        s.connect("k", da.JointSpring(stiffness=12.0, damping=0.4), "J3")
        s.connect("rope", da.SpringDamper(stiffness=50.0, length=0.1, damping=2.0), bodies[3], bodies[6])
    if rules:
        for follower in sorted(RULES, reverse=True):
            s.mimics[follower] = da.Mimic(*RULES[follower])
    return s


def projection(model: da.Model) -> tuple[Array, Array]:
    """Return B and the offsets of followers by repeated substitution."""
    C, c = np.eye(model.nv), np.zeros(model.nv)
    names = list(model.speed_names)
    for _ in RULES:
        for follower, (leader, ratio, offset) in RULES.items():
            f, first = names.index(follower), names.index(leader)
            C[f], c[f] = ratio * C[first], ratio * c[first] + offset
    free = [k for k, name in enumerate(names) if name not in RULES]
    return C[:, free], c


@pytest.mark.parametrize("elements", [False, True])
@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("size", [None, 11])
def test_kernels_are_projections_of_the_open_tree(elements: bool, floating: bool, size: int | None) -> None:
    model = robot(elements=elements, floating=floating).compile()
    free = robot(elements=elements, floating=floating, rules=False).compile()
    B, _ = projection(model)
    reduced = model.reduced
    assert reduced.speed_names == tuple(name for name in free.speed_names if name not in RULES)
    rng = np.random.default_rng(3)
    rows = () if size is None else (size,)
    z = reduced.reduce_q(free.random_state(rng, **({} if size is None else {"size": size})).q)
    w, dw, f = rng.normal(size=(*rows, reduced.nv)), rng.normal(size=(*rows, reduced.nv)), rng.normal(size=(*rows, 1))
    q, v, a = reduced.expand_q(z), reduced.expand_v(w), reduced.expand_v(dw)
    assert np.abs(model.constraint_residual(q)).max() < 1e-14
    np.testing.assert_allclose(v, w @ B.T, atol=1e-15)
    M = B.T @ free.mass_matrix(q) @ B
    np.testing.assert_allclose(reduced.mass_matrix(z), M, atol=1e-12)
    for bare in (False, True):
        needed = free.inverse_dynamics(q, v, a, bare=bare) @ B
        np.testing.assert_allclose(reduced.inverse_dynamics(z, w, dw, bare=bare), needed, atol=1e-11)
        np.testing.assert_allclose(
            reduced.bias_forces(z, w, bare=bare), free.bias_forces(q, v, bare=bare) @ B, atol=1e-11
        )
        tau = model.inverse_dynamics(q, v, a, bare=bare)
        assert not tau[..., reduced.rules.followers].any()
        np.testing.assert_allclose(model.forward_dynamics(q, v, tau, bare=bare), a, atol=1e-9)
        own = f * np.ones(reduced.nv)
        bias = (free.bias_forces(q, v, bare=bare) @ B)[..., None]
        expected = np.linalg.solve(M, own[..., None] - bias)[..., 0]
        np.testing.assert_allclose(reduced.forward_dynamics(z, w, own, bare=bare), expected, rtol=1e-9, atol=1e-9)
    kinetic = model.energy(q, v, bare=True).kinetic
    np.testing.assert_allclose(0.5 * np.einsum("...i,...ij,...j", w, M, w), kinetic, rtol=1e-12)


def differences(kernel: Any, q: Array, other: list[Array], reduced: da.ReducedCoordinates) -> list[Array]:
    """Return central differences of kernel(q, *other) along independent directions."""
    h, found = 1e-6, []
    for k in range(1 + len(other)):
        columns = []
        for step in np.eye(reduced.nv) * h:
            ends = []
            for sign in (1, -1):
                moved = [reduced.integrate(q, sign * step) if k == 0 else q, *other]
                if k:
                    moved[k] = moved[k] + sign * step
                ends.append(kernel(*moved))
            columns.append((ends[0] - ends[1]) / (2 * h))
        found.append(np.array(columns).T)
    return found


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("floating", [False, True])
def test_derivatives_are_those_of_the_kernels(bare: bool, floating: bool) -> None:
    model = robot(elements=True, floating=floating).compile()
    reduced = model.reduced
    rng = np.random.default_rng(8)
    z = reduced.reduce_q(model.random_state(rng).q)
    w, b = rng.normal(size=(2, reduced.nv))
    numeric = differences(lambda *given: reduced.inverse_dynamics(*given, bare=bare), z, [w, b], reduced)
    for exact, other in zip(reduced.d_inverse_dynamics(z, w, b, bare=bare), numeric, strict=True):
        np.testing.assert_allclose(exact, other, atol=2e-7)
    numeric = differences(lambda *given: reduced.forward_dynamics(*given, bare=bare), z, [w, b], reduced)
    found = reduced.d_forward_dynamics(z, w, b, bare=bare)
    for exact, other in zip(found, numeric, strict=True):
        np.testing.assert_allclose(exact, other, atol=1e-5 * max(1.0, np.abs(other).max()))
    batch = reduced.d_forward_dynamics(np.tile(z, (5, 1)), np.tile(w, (5, 1)), np.tile(b, (5, 1)), bare=bare)
    for one, many in zip(found, batch, strict=True):
        np.testing.assert_allclose(many, np.broadcast_to(one, (5, *one.shape)), rtol=1e-10, atol=1e-10)
    q, v, a = reduced.expand_q(z), reduced.expand_v(w), reduced.expand_v(b)
    in_all = model.d_inverse_dynamics(q, v, a, bare=bare)  # partial derivatives along every direction
    for k in range(model.nv):
        step = 1e-6 * np.eye(model.nv)[k]
        ends = [model.inverse_dynamics(model.integrate(q, sign * step), v, a, bare=bare) for sign in (1, -1)]
        np.testing.assert_allclose(in_all[0][:, k], (ends[0] - ends[1]) / 2e-6, atol=2e-7)


def test_reactions_are_the_loads_of_the_motion() -> None:
    model = robot(elements=True).compile()
    reduced, rng = model.reduced, np.random.default_rng(2)
    z, w, dw = rng.normal(size=(3, reduced.nv)) * 0.4
    q, v, a = reduced.expand_q(z), reduced.expand_v(w), reduced.expand_v(dw)
    tau = model.inverse_dynamics(q, v, a)
    loads = model.connection_loads(q, v, tau)
    found = model.reactions(q, v, a)
    assert found.shape == (model.nb, 6)
    for k, name in enumerate(model.joint_names):
        np.testing.assert_allclose(found[k], loads[name], atol=1e-9)
    many = model.reactions(np.tile(q, (3, 1)), np.tile(v, (3, 1)), np.tile(a, (3, 1)))
    np.testing.assert_allclose(many[2], found, atol=1e-12)


def test_rules_follow_parameters_and_conditions() -> None:
    model = robot().compile()
    other = robot()
    other.mimics["J2"] = da.Mimic("J1", 0.4, 0.2)
    other_model = other.compile()
    rng = np.random.default_rng(4)
    q, v, a = rng.normal(size=(3, model.nv))
    wanted = other_model.inverse_dynamics(q, v, a)
    changed = {"J2.mimic.ratio": 0.4}
    np.testing.assert_allclose(model.with_parameters(changed).inverse_dynamics(q, v, a), wanted, atol=1e-12)
    conditions = model.conditions(parameters=changed)
    np.testing.assert_allclose(model.inverse_dynamics(q, v, a, conditions=conditions), wanted, atol=1e-12)
    # an open rule leaves its joint independent
    found = model.inverse_dynamics(q, v, a, conditions=model.conditions(off=["J2.mimic", "J3.mimic"]))
    for name in ("J2", "J3"):
        del other.mimics[name]
    np.testing.assert_allclose(found, other.compile().inverse_dynamics(q, v, a), atol=1e-12)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.inverse_dynamics(q, v, a), model.inverse_dynamics(q, v, a))


def test_the_result_goes_where_out_says() -> None:
    model = robot().compile()
    out = np.empty((2, model.nv))
    q, v, a = np.random.default_rng(1).normal(size=(3, 2, model.nv))
    assert model.inverse_dynamics(q, v, a, out=out) is out
    np.testing.assert_array_equal(out, model.inverse_dynamics(q, v, a))
    with pytest.raises(da.ModelError, match="inverse_dynamics: the shape of v"):
        model.inverse_dynamics(q[0], v[0, :3], a[0])
    with pytest.raises(TypeError, match="lamp"):
        model.inverse_dynamics(q, v, a, lamp=1)


def test_efforts_of_leaders_alone_by_default() -> None:
    model = robot().compile()
    reduced, rng = model.reduced, np.random.default_rng(6)
    z, w, dw = rng.normal(size=(3, reduced.nv)) * 0.3
    q, v, a = reduced.expand_q(z), reduced.expand_v(w), reduced.expand_v(dw)
    found = da.inverse_dynamics(model, q, v, a)
    np.testing.assert_allclose(found.tau, model.inverse_dynamics(q, v, a), atol=1e-9)


def test_without_rules_reduced_coordinates_are_all() -> None:
    model = robot(rules=False).compile()
    q, v, a = np.random.default_rng(1).normal(size=(3, model.nv))
    np.testing.assert_array_equal(model.reduced.inverse_dynamics(q, v, a), model.inverse_dynamics(q, v, a))
    assert "no joint follows" in repr(model.reduced)


def test_other_loops_are_refused_by_name() -> None:
    s = robot()
    s.connect("mesh", da.gear(20, 40), "J0", "J1")
    model = s.compile()
    q = np.zeros(model.nv)
    for kernel in (model.inverse_dynamics, model.d_inverse_dynamics, model.reactions):
        with pytest.raises(da.TopologyError, match="constraints: 'mesh'") as caught:
            kernel(q, q, q)
        assert "J2" not in str(caught.value)
    with pytest.raises(da.TopologyError, match=r"d_forward_dynamics.*'mesh'"):
        model.d_forward_dynamics(q, q, bare=True)
    # forward dynamics keeps the other loop in reduced coordinates too
    z = model.reduced.reduce_q(da.assemble(model).q)
    a = model.reduced.forward_dynamics(z, np.zeros(model.reduced.nv))
    np.testing.assert_allclose(a[list(model.reduced.speed_names).index("J1")], -0.5 * a[0], rtol=1e-9)


def test_wrong_shapes_are_refused_with_the_independent_names() -> None:
    reduced = robot().compile().reduced
    with pytest.raises(da.ModelError, match=r"reduced.expand_q: the shape of q is \(7,\).*give \(3,\).*J0, J1, J4"):
        reduced.inverse_dynamics(np.zeros(7), np.zeros(3), np.zeros(3))
    with pytest.raises(da.ModelError, match=r"reduced.expand_v.*must be finite"):
        reduced.expand_v([0.0, np.nan, 0.0])


def test_equations_of_a_gripper_in_closed_form() -> None:
    """Two fingers, one slides n times as far as the other one: (m1 + n^2 m2) a = F + g (m1 + n m2)."""
    s = da.System("gripper", gravity=(9.81, 0, 0))
    s.connect("L", da.Prismatic("x"), s.ground, s.body("left", mass=0.1))
    s.connect("R", da.Prismatic("x"), s.ground, s.body("right", mass=0.2))
    s.mimics["R"] = da.Mimic("L", 3.0, 0.01)
    model = s.compile()
    expected = (0.5 + 9.81 * (0.1 + 3.0 * 0.2)) / (0.1 + 9.0 * 0.2)
    assert model.reduced.forward_dynamics([0.2], [0.1], [0.5])[0] == pytest.approx(expected, rel=1e-13)
    result = da.simulate(s, 0.5)
    assert np.ptp(result["L.position"]) == pytest.approx(0.125 * 9.81 * 0.7 / 1.9, rel=1e-9)
