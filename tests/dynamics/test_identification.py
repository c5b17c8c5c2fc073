"""Base parameters of a simulated arm from noisy efforts."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import dalembert as da

Array = NDArray[np.float64]

NAMES = ("m", "mx", "my", "mz", "xx", "xy", "xz", "yy", "yz", "zz")


def three_joints() -> da.System:
    s, rng = da.System("arm"), np.random.default_rng(7)
    end = s.ground
    for k, axis in enumerate(("z", "y", "x")):
        body = s.body(f"b{k}", mass=1.0 + k, com=0.1 * rng.normal(size=3), inertia=0.1 + 0.1 * rng.uniform(size=3))
        s.connect(f"j{k}", da.Revolute(axis), end if k == 0 else end.at(0.3, 0.1, 0), body)
        end = body
    return s


def regressor(model: da.Model, q: Array, v: Array, a: Array) -> Array:
    """Y (nv, 10 nb) of one state: Newton and Euler about the origin of each body, in its axes."""
    columns = []
    gravity = np.asarray(model.system.gravity)
    for name in model.body_names:
        R, J = model.pose(name, q).rotation, model.jacobian(name, q)
        w = R.T @ model.velocity(name, q, v)[:3]
        A = model.acceleration(name, q, v, a)
        dw, acc = R.T @ A[:3], R.T @ (A[3:] - gravity)
        K, W = _skew(dw) + _skew(w) @ _skew(w), np.zeros((6, 10))
        W[3:, 0], W[3:, 1:4], W[:3, 1:4] = acc, K, -_skew(acc)
        W[:3, 4:] = _dot(dw) + _skew(w) @ _dot(w)
        columns.append(np.vstack([R.T @ J[:3], R.T @ J[3:]]).T @ W)
    return np.hstack(columns)


def _skew(x: Array) -> Array:
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def _dot(w: Array) -> Array:
    """I w as a matrix on (xx, xy, xz, yy, yz, zz)."""
    x, y, z = w
    return np.array([[x, y, z, 0, 0, 0], [0, x, 0, y, z, 0], [0, 0, x, 0, y, z]])


def parameters(system: da.System) -> Array:
    """All inertial parameters, inertias about the origins of the bodies."""
    found = []
    for body in system.bodies.values():
        m, c = body.mass, np.asarray(body.com)
        about = body.inertia + m * (c @ c * np.eye(3) - np.outer(c, c))
        found += [m, *(m * c), *about[np.triu_indices(3)]]
    return np.array(found)


@pytest.fixture(scope="module")
def data() -> tuple[Array, Array, Array]:
    system = three_joints()
    model, t = system.compile(), np.linspace(0.0, 4.0, 161)
    angles = {f"j{k}": 0.8 * np.sin((1.3 + 0.9 * k) * t + k) + 0.4 * np.sin(4.1 * t * (1 + 0.2 * k)) for k in range(3)}
    motion = da.measured_motion(system, t, angles)
    tau = da.inverse_dynamics(system, motion).tau
    Y = np.array([regressor(model, *row) for row in zip(motion.q, motion.v, motion.a, strict=True)])
    return Y, tau, parameters(system)


def test_the_regressor_gives_the_efforts_and_its_base_parameters_all_of_them(data: tuple[Array, ...]) -> None:
    Y, tau, theta = data
    np.testing.assert_allclose(Y @ theta, tau, atol=1e-9)
    system = three_joints()
    state, a = system.compile().random_state(0), np.array([0.3, -1.0, 0.7])
    ours = da.regressor(system, state.q, state.v, a) @ da.inertial_parameters(system)
    np.testing.assert_allclose(ours, regressor(system.compile(), state.q, state.v, a) @ theta, atol=1e-10)
    found = da.identify(Y, tau)
    assert len(found.names) < 30  # the first body turns about one axis only
    np.testing.assert_allclose(found.values, found.combination @ theta, rtol=1e-6, atol=1e-8)
    assert np.abs(found.residual).max() < 1e-9


def test_estimates_lie_within_their_confidence(data: tuple[Array, ...]) -> None:
    """Over many draws of noise errors by their standard errors are normal: mean square one, 95 % in the interval."""
    Y, tau, theta = data
    rng = np.random.default_rng(0)
    squares, inside = [], []
    for _ in range(40):
        found = da.identify(Y, tau + 0.05 * rng.normal(size=tau.shape))
        truth = found.combination @ theta
        squares.append(((found.values - truth) / found.errors) ** 2)
        ends = found.interval(0.95)
        inside.append((truth > ends[:, 0]) & (truth < ends[:, 1]))
        assert found.noise == pytest.approx(0.05, rel=0.1)  # an estimate from random samples
    number = np.size(squares)
    assert np.mean(squares) == pytest.approx(1.0, abs=6 * np.sqrt(2 / number) * 3)  # base parameters are correlated
    assert np.mean(inside) == pytest.approx(0.95, abs=0.03)  # sampling error of 40 draws


def test_undetermined_inputs_are_refused() -> None:
    with pytest.raises(da.ModelError, match="without motion"):
        da.identify(np.zeros((5, 2)), np.zeros(5))
    with pytest.raises(da.ModelError, match="more than 2 numbers"):
        da.identify(np.eye(2), np.ones(2))
    with pytest.raises(da.ModelError, match=r"efforts is.*give 5 real numbers"):
        da.identify(np.ones((5, 2)), np.ones(4))
