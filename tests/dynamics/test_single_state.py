"""Inverse dynamics of one state in the core: equal to the general solution for many states, and to NumPy."""

import numpy as np
import pytest

import dalembert as da
from dalembert import _core
from dalembert.library.mechanisms import andrews, bennett, four_bar, sarrus, slider_crank
from dalembert.library.parallel_robots import delta, five_bar


def _motion(model, seed=0):
    """Return q, v and a of a random motion that keeps the loops closed."""
    rng = np.random.default_rng(seed)
    q = da.start_state(model).q
    v = da.consistent_velocities(model, q, rng.normal(size=model.nv))
    return q, v, da.consistent_accelerations(model, q, v, rng.normal(size=model.nv))


def _general(model, q, v, a, **more):
    """Return the efforts of the same state as one of two, which the general solution serves."""
    return da.inverse_dynamics(model, *(np.array([one, one]) for one in (q, v, a)), **more)


@pytest.mark.parametrize("make", [andrews, bennett, delta, five_bar, four_bar, sarrus, slider_crank])
@pytest.mark.parametrize("named", [False, True])
def test_one_state_equals_one_of_many(make, named):
    model = make().compile()
    q, v, a = _motion(model)
    actuators = list(model.joint_names[:3]) if named else None
    one, many = da.inverse_dynamics(model, q, v, a, actuators=actuators), _general(model, q, v, a, actuators=actuators)
    size = np.abs(many.values).max()
    for part in ("values", "tau", "multipliers", "unmet_forces"):
        np.testing.assert_allclose(getattr(one, part), getattr(many, part)[0], rtol=1e-11, atol=1e-11 * size)
    assert one.names == many.names
    assert one.determined == many.determined
    assert one.single and one.success


def test_efforts_at_a_cut_joint_equal_one_of_many():
    model = four_bar().compile()
    q, v, a = _motion(model)
    one, many = da.inverse_dynamics(model, q, v, a, actuators="D"), _general(model, q, v, a, actuators="D")
    np.testing.assert_allclose(one["D"], many["D"][0], rtol=1e-12)
    np.testing.assert_allclose(one.multipliers, many.multipliers[0], atol=1e-12 * np.abs(one.multipliers).max())
    assert one.tau.tolist() == [0.0] * model.nv


def test_elements_time_states_and_loads_enter():
    s = four_bar()
    s.connect("k", da.JointSpring(stiffness=3.0, damping=0.4), "A")
    s.connect("memory", da.Maxwell(20.0, 4.0), "B")
    s.connect("push", da.Load(force=(da.Polynomial((0.0, 2.0)), 0.0, 0.0)), s.bodies["coupler"])
    model = s.compile()
    q, v, a = _motion(model)
    loads = np.random.default_rng(3).normal(size=(model.nb, 6))
    for more in ({"t": 0.7}, {"loads": loads}, {"bare": True, "loads": loads}, {"x": np.array([0.3])}):
        one, many = da.inverse_dynamics(model, q, v, a, **more), _general(model, q, v, a, **more)
        np.testing.assert_allclose(one.values, many.values[0], rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(one.multipliers, many.multipliers[0], rtol=1e-10, atol=1e-11)


def test_efforts_reproduce_the_accelerations():
    model = five_bar().compile()
    q, v, a = _motion(model)
    efforts = da.inverse_dynamics(model, q, v, a, actuators=model.joint_names[:2])
    assert efforts.determined
    np.testing.assert_allclose(model.forward_dynamics(q, v, efforts.tau), a, rtol=0.0, atol=1e-11)


def test_the_answer_keeps_its_own_state():
    model = four_bar().compile()
    q, v, a = _motion(model)
    efforts = da.inverse_dynamics(model, q, v, a, actuators="A")
    before = efforts.connection_loads()["D"].copy()
    q += 1.0
    v *= 3.0
    np.testing.assert_array_equal(efforts.connection_loads()["D"], before)


def test_remembered_actuators_are_those_of_each_name():
    model = four_bar().compile()
    q, v, a = _motion(model)
    first, other = (da.inverse_dynamics(model, q, v, a, actuators=name) for name in ("A", ["B"]))
    again = da.inverse_dynamics(model, q, v, a, actuators="A")
    assert (first.names, other.names, again.names) == (("A",), ("B",), ("A",))
    np.testing.assert_array_equal(first.values, again.values)
    # power of the required motion is the same by either actuator
    assert first.values[0] * v[0] == pytest.approx(other.values[0] * v[1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda q, v, a: (q + 0.1, v, a), "assemble it first"),
        (lambda q, v, a: (q, v + 0.1, a), "consistent_velocities"),
        (lambda q, v, a: (q, v, a + 0.1), "consistent_accelerations"),
        (lambda q, v, a: (q * np.nan, v, a), "every number must be finite"),
    ],
)
def test_a_state_that_opens_the_loops_is_refused(change, words):
    model = four_bar().compile()
    with pytest.raises(da.ModelError, match=words):
        da.inverse_dynamics(model, *change(*_motion(model)), actuators="A")


def test_too_few_actuators_are_refused_or_reported():
    model = five_bar().compile()
    q, v, a = _motion(model)
    first = model.joint_names[0]
    with pytest.raises(da.SingularityError, match="cannot produce this motion"):
        da.inverse_dynamics(model, q, v, a, actuators=first)
    assert not da.inverse_dynamics(model, q, v, a, actuators=first, on_infeasible="report").success
    with pytest.raises(da.ModelError, match="nobody"):
        da.inverse_dynamics(model, q, v, a, actuators="nobody")


# ---- kernels of the core


@pytest.mark.parametrize(
    ("nv", "nc", "rank", "m"), [(6, 4, 4, 2), (6, 4, 3, 3), (6, 7, 4, 5), (5, 0, 0, 6), (3, 5, 3, 0)]
)
def test_loop_efforts_are_the_shortest(nv, nc, rank, m):
    rng = np.random.default_rng(nv + 10 * nc + m)
    P, C = rng.normal(size=(nc, rank)) @ rng.normal(size=(rank, nv)), rng.normal(size=(m, nv))
    S, D, f = rng.uniform(0.5, 2.0, nc), rng.uniform(0.5, 2.0, nv), rng.normal(size=nv)
    still, zero = np.zeros(nv), np.zeros(nc)
    found = _core.loop_efforts(P, C, S, D, np.ones(nc, dtype=bool), zero, zero, zero, still, still, f)
    assert found is not None
    u, lam, redundant, determined = found
    J = S[:, None] * P * D
    N = np.linalg.svd(J)[2][rank:]  # motions that the loops allow
    np.testing.assert_allclose(u, np.linalg.pinv(N @ (D[:, None] * C.T)) @ N @ (D * f), atol=1e-12)
    np.testing.assert_allclose(lam, S * (np.linalg.pinv(J.T, rcond=1e-9) @ (D * (f - C.T @ u))), atol=1e-12)
    np.testing.assert_allclose(C.T @ u + P.T @ lam, f, atol=1e-12)
    assert (redundant, determined) == (rank < nc, m == nv - rank)


def test_loop_efforts_leave_irregular_problems_to_the_caller():
    P, C = np.array([[1.0, 1.0, 0.0]]), np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    S, D, mask, zero, still = np.ones(1), np.ones(3), np.ones(1, dtype=bool), np.zeros(1), np.zeros(3)
    f = np.array([1.0, 2.0, 3.0])

    def solved(P=P, C=C, gap=zero, drift=zero, bias=zero):
        return _core.loop_efforts(P, C, S, D, mask, gap, drift, bias, still, still, f)

    assert solved() is not None
    assert solved(gap=np.array([1e-3])) is None
    assert solved(drift=np.array([1e-3])) is None
    assert solved(bias=np.array([1e-3])) is None
    assert solved(P=1e-9 * P) is None  # neither zero nor clearly not
    assert solved(C=C[:1]) is None
    assert solved(C=np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 1e-9]])) is None
    with pytest.raises(ValueError, match="fit"):
        solved(drift=np.zeros(2))


# ---- operational space


def _by_numpy(J, Y, moved, scale):
    """Return inertia, inverse and bias of a marker by eigenvalues."""
    response = scale[:, None] * (J @ Y @ J.T) * scale
    L = scale[:, None] * np.linalg.pinv(response, rcond=1e-10, hermitian=True) * scale
    return L, Y @ J.T @ L, -L @ moved


def test_a_marker_that_loops_hold_has_no_inertia():
    model = four_bar().compile()
    q, v, _ = _motion(model)
    held = da.operational_space(model, "rocker", q, v, components="position")  # its frame is on the fixed axis
    assert np.abs(model.jacobian("rocker", q)[3:]).max() > 0.1  # by the tree alone, it could move
    assert held.rank == 0
    assert not held.inertia.any()


@pytest.mark.parametrize("make", [four_bar, delta])
@pytest.mark.parametrize("components", ["pose", "position", "rotation"])
def test_operational_space_of_a_mechanism_with_loops(make, components):
    model = make().compile()
    q, v, _ = _motion(model)
    marker, part = (
        model.body_names[1],
        {"pose": slice(0, 6), "rotation": slice(0, 3), "position": slice(3, 6)}[components],
    )
    found = da.operational_space(model, marker, q, v, components=components)
    J = model.jacobian(marker, q)[part]
    Y = model.d_dynamics(0.0, q, v).a.tau
    moved = model.acceleration(marker, q, v, model.forward_dynamics(q, v))[part]
    L, inverse, h = _by_numpy(J, Y, moved, np.array([1.0] * 3 + [1.0 / model.length] * 3)[part])
    np.testing.assert_allclose(found.inertia, L, atol=1e-9 * np.abs(L).max())
    np.testing.assert_allclose(found.inverse, inverse, atol=1e-9 * np.abs(inverse).max())
    np.testing.assert_allclose(found.bias, h, atol=1e-9 * np.abs(h).max())
    np.testing.assert_allclose(found.null_projector, np.eye(model.nv) - inverse @ J, atol=1e-9 * np.abs(inverse).max())
    assert found.rank == np.linalg.matrix_rank(J @ Y @ J.T, tol=1e-10 * np.linalg.norm(J @ Y @ J.T, 2))
    assert isinstance(found.rank, int)


def test_operational_space_of_many_states_and_of_few_inputs():
    model = four_bar().compile()
    q, v, _ = _motion(model)
    speeds = np.array([v, 2.0 * v, 0.0 * v])
    many = da.operational_space(model, "coupler", np.tile(q, (3, 1)), speeds)
    shared = da.operational_space(model, "coupler", q, speeds)
    for k in range(3):
        one = da.operational_space(model, "coupler", q, speeds[k])
        for part in ("inertia", "inverse", "bias", "null_projector"):
            np.testing.assert_allclose(getattr(many, part)[k], getattr(one, part), atol=1e-10)
            np.testing.assert_allclose(getattr(shared, part)[k], getattr(one, part), atol=1e-10)
        assert many.rank[k] == one.rank == 1
    empty = da.operational_space(model, "coupler", np.zeros((0, model.nq)), np.zeros((0, model.nv)))
    assert empty.inertia.shape == (0, 6, 6)
    assert empty.rank.shape == (0,)


@pytest.mark.parametrize("n", [1, 2, 6, 9])
@pytest.mark.parametrize("rank", [0, 1, 3, 6])
def test_inertia_is_the_pseudo_inverse_of_the_response(n, rank):
    rng = np.random.default_rng(n)
    rank = min(n, rank)
    J, root = rng.normal(size=(6, rank)) @ rng.normal(size=(rank, n)), rng.normal(size=(n, n))
    Y, moved = root @ root.T, rng.normal(size=6)
    L, inverse, h, projector, found = _core.operational_space(J, Y, moved, 0, 6, 0.3, 1e-10)
    want = _by_numpy(J, Y, moved, np.array([1.0] * 3 + [1.0 / 0.3] * 3))
    for got, one in zip((L, inverse, h), want, strict=True):
        np.testing.assert_allclose(got, one, atol=1e-8 * np.abs(one).max(initial=1e-3))
    np.testing.assert_allclose(projector, np.eye(n) - inverse @ J, atol=1e-9)
    assert found == rank
