"""Custom joints: those of the library written by hand move alike, and others obey their own formulas."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.custom_twins import TWINS, twin
from systems.random_trees import derivative, hang_on, random_body, random_marker, random_state, random_system

import dalembert as da
from dalembert.oracles.operators import Operators

Array = NDArray[np.float64]

# two formulations in double precision on trees whose mass matrices reach condition 1e5
AGREEMENT = 1e-10
# five-point differences with h = 1e-3; fifth derivatives are about 1e3 times the value
DIFFERENCES = 1e-7


def assert_close(x: Array, y: Array, tolerance: float = AGREEMENT) -> None:
    x, y = np.asarray(x), np.asarray(y)
    assert x.shape == y.shape
    size = max(1.0, float(np.abs(y).max(initial=0.0)))
    assert np.abs(x - y).max(initial=0.0) <= tolerance * size


# ---- twins of the library


@pytest.mark.parametrize("seed", range(6))
def test_every_kernel_agrees_with_the_library(seed: int) -> None:
    rng = np.random.default_rng(seed)
    library = random_system(rng, 12, joints=(*TWINS, da.Spherical, da.Free))
    custom = twin(library)
    a, b = library.compile(), custom.compile()
    q, v = random_state(library, rng)
    acc, loads = rng.normal(size=a.nv), rng.normal(size=(a.nb, 6))
    assert b.coordinate_names == a.coordinate_names
    tau = a.inverse_dynamics(q, v, acc, loads=loads)
    assert_close(b.inverse_dynamics(q, v, acc, loads=loads), tau)
    assert_close(b.forward_dynamics(q, v, tau, loads=loads), acc, 1e-9)
    assert_close(b.mass_matrix(q), a.mass_matrix(q))
    assert_close(b.velocities(q, v), a.velocities(q, v))
    assert_close(b.accelerations(q, v, acc), a.accelerations(q, v, acc))
    assert_close(b.reactions(q, v, acc, loads=loads), a.reactions(q, v, acc, loads=loads))
    assert_close(b.poses(q).rotation, a.poses(q).rotation)
    assert_close(np.array(b.energy(q, v)), np.array(a.energy(q, v)))
    for x, y in zip(b.d_inverse_dynamics(q, v, acc), a.d_inverse_dynamics(q, v, acc), strict=True):
        assert_close(x, y, 1e-9)
    for x, y in zip(b.d_forward_dynamics(q, v, tau), a.d_forward_dynamics(q, v, tau), strict=True):
        assert_close(x, y, 1e-8)  # solved with matrices of condition 1e5


def test_batches_are_the_single_states() -> None:
    rng = np.random.default_rng(3)
    model = twin(random_system(rng, 8, joints=tuple(TWINS))).compile()
    states = model.random_state(rng, size=37)
    tau = rng.normal(size=(37, model.nv))
    a = model.forward_dynamics(states.q, states.v, tau)
    for k in (0, 17, 36):
        assert_close(a[k], model.forward_dynamics(states.q[k], states.v[k], tau[k]), 1e-9)


def test_ball_by_bryant_angles_moves_as_a_ball() -> None:
    # Sol 1983, K-11 with the Bryant matrix the right way round: w and w_oo come out as printed, but for q3' in w_oo
    ball = da.CustomJoint(("q1", "q2", "q3"), None, [("x", "q1"), ("y", "q2"), ("z", "q3")])
    q, v = np.array([0.4, -0.7, 1.1]), np.array([0.3, 0.5, -0.8])
    s1, c1, s2, c2 = np.sin(q[0]), np.cos(q[0]), np.sin(q[1]), np.cos(q[1])
    W = np.array([[1, 0, 0], [0, c1, s1], [s2, -s1 * c2, c1 * c2]]).T
    assert_close(ball.motion(q)[:3], W, 1e-14)
    printed = [
        c2 * v[1] * v[2],
        -s1 * v[0] * v[1] - c1 * c2 * v[0] * v[2] + s1 * s2 * v[1] * v[2],
        c1 * v[0] * v[1] - s1 * c2 * v[0] * v[2] - c1 * s2 * v[1] * v[2],
    ]
    assert_close(ball.bias(q, v)[:3], np.array(printed), 1e-14)
    results = []
    for joint in (ball, da.Spherical()):
        s = da.System("top")
        s.connect("O", joint, s.ground, s.body("top", mass=1.0, com=(0, 0, 0.4), inertia=(0.1, 0.1, 0.02)))
        if joint is ball:
            s.initial("O", position=q, speed=v)
        else:
            R = ball.pose(q)[0]
            s.initial("O", position=da.rotation.quaternion_from_matrix(R), speed=R.T @ W @ v)
        results.append(da.simulate(s, 1.0, rtol=1e-11, atol=1e-12))
    ends = [r.model.pose("top", r["q"][-1]).rotation for r in results]
    assert_close(*ends, 1e-8)  # what the two integrations leave


def test_polar_joint_of_the_injection_pump() -> None:
    # Sol 1983, (9.2.3): roller seen from the cam, y the axis of rotation
    joint = da.CustomJoint(
        ("angle_1", "r", "angle_2"), ("r*cos(angle_1)", 0, "r*sin(angle_1)"), [("-y", "angle_2")], reference=(0, 0.1, 0)
    )
    q, v = np.array([0.3, 0.12, -0.8]), np.array([2.0, 0.3, -1.5])
    s, c = np.sin(q[0]), np.cos(q[0])
    H = joint.motion(q)
    assert_close(H[3:, 0], np.array([-q[1] * s, 0, q[1] * c]), 1e-15)
    assert_close(H[3:, 1], np.array([c, 0, s]), 1e-15)
    assert_close(H[:3, 2], np.array([0, -1.0, 0]), 1e-15)
    v_oo = [-c * q[1] * v[0] ** 2 - 2 * s * v[0] * v[1], 0, -s * q[1] * v[0] ** 2 + 2 * c * v[0] * v[1]]
    assert_close(joint.bias(q, v), np.array([0, 0, 0, *v_oo]), 1e-14)
    with pytest.raises(da.ModelError, match="angle_1 moves nothing"):
        da.CustomJoint(("angle_1", "r", "angle_2"), ("r*cos(angle_1)", 0, "r*sin(angle_1)"), [("-y", "angle_2")])


# ---- any formulas

PIECES = ("0.3*{0}", "0.2*sin({0})", "0.1*{0}*{1}", "0.2*cos({1})", "0.1*{1}**2", "exp(0.2*{0})", "tanh({1})")


def random_custom(n: int, rng: np.random.Generator) -> da.CustomJoint:
    """Return a joint with n coordinates and random formulas."""
    names = [f"a{k}" for k in range(n)]

    def formula(k: int) -> str:
        parts = rng.choice(len(PIECES), size=3)
        terms = [PIECES[p].format(names[k % n], names[int(rng.integers(n))]) for p in parts]
        return f"{names[k % n]} + " + " + ".join(terms)

    place = [formula(k) for k in range(3)]
    match int(rng.integers(3 if n <= 4 else 2)):  # a matrix about one axis leaves at most four degrees of freedom
        case 0:
            rotation = [(rng.normal(size=3), formula(k + 3)) for k in range(3)]
        case 1:
            rotation = [formula(k + 3) for k in range(3)]
        case _:
            rotation = [["cos(u)", "-sin(u)", 0], ["sin(u)", "cos(u)", 0], [0, 0, 1]]
            return da.CustomJoint(names, place, rotation, definitions={"u": formula(3)}, reference=rng.normal(size=n))
    return da.CustomJoint(names, place, rotation, reference=rng.normal(size=n))


def random_tree(rng: np.random.Generator) -> da.System:
    """Return a tree of custom and other joints, walked either way."""
    system = da.System("custom", gravity=rng.normal(size=3) * 5)
    placed = [system.ground]
    for k, n in enumerate((1, 2, 3, 4, 5, 6, 3, 2)):
        body = random_body(system, f"b{k}", rng)
        ends = [random_marker(placed[int(rng.integers(len(placed)))], rng), random_marker(body, rng)]
        if k % 2:
            ends.reverse()
        system.connect(f"h{k}", random_custom(n, rng), *ends)
        placed.append(body)
    hang_on(system, placed[3], "ball", da.Spherical, rng, backwards=False)
    return system


@pytest.mark.parametrize("seed", range(5))
def test_formulas_are_obeyed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = random_tree(rng)
    model = system.compile()
    q = model.integrate(model.zero_configuration(), 0.3 * rng.normal(size=model.nv))
    v, a = rng.normal(size=model.nv), rng.normal(size=model.nv)
    # against the readable oracle, which takes poses, maps and biases from NumPy
    oracle = Operators(system, q, v)
    loads = rng.normal(size=(model.nb, 6))
    tau = model.inverse_dynamics(q, v, a, loads=loads)
    assert_close(tau, oracle.inverse_dynamics(a, loads))
    assert_close(model.mass_matrix(q), oracle.mass_matrix())
    assert_close(model.forward_dynamics(q, v, tau, loads=loads), a, 1e-7)  # joints near to singular are among them
    # and those against differences
    for joint in (h.element for h in model.forest.joints if isinstance(h.element, da.CustomJoint)):
        x, u = joint.zero, rng.normal(size=joint.nv)
        C = joint.pose(x)[0]
        spin = derivative(lambda t, h=joint, x=x, u=u: h.pose(x + t * u)[0]) @ C.T
        H = joint.motion(x)
        assert_close(H[:3] @ u, np.array([spin[2, 1], spin[0, 2], spin[1, 0]]), DIFFERENCES)
        assert_close(H[3:] @ u, derivative(lambda t, h=joint, x=x, u=u: h.pose(x + t * u)[1]), DIFFERENCES)
        assert_close(joint.bias(x, u), derivative(lambda t, h=joint, x=x, u=u: h.motion(x + t * u) @ u), DIFFERENCES)
    # velocities and accelerations of bodies
    V = model.velocities(q, v)
    rates = derivative(lambda t: model.poses(model.integrate(q, t * v)).position)
    assert_close(V[:, 3:], rates, DIFFERENCES)
    steady = derivative(lambda t: model.velocities(model.integrate(q, t * v), v))
    assert_close(model.accelerations(q, v, np.zeros(model.nv)), steady, DIFFERENCES)


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_are_exact(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = random_tree(rng).compile()
    q = model.integrate(model.zero_configuration(), 0.2 * rng.normal(size=model.nv))
    v, a = rng.normal(size=model.nv), rng.normal(size=model.nv)
    loads = rng.normal(size=(model.nb, 6))
    by_q, by_v, M = model.d_inverse_dynamics(q, v, a, loads=loads)
    assert_close(M, model.mass_matrix(q))
    for k in range(model.nv):
        e = np.eye(model.nv)[k]
        assert_close(
            by_q[:, k],
            derivative(lambda t, e=e: model.inverse_dynamics(model.integrate(q, t * e), v, a, loads=loads)),
            1e-6,  # seventh powers of lengths in the fifth derivative
        )
        assert_close(by_v[:, k], derivative(lambda t, e=e: model.inverse_dynamics(q, v + t * e, a, loads=loads)), 1e-8)
