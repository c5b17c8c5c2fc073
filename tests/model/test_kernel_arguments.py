"""The border of the compiled model: what it accepts, what it refuses, and in which words."""

from __future__ import annotations

import os
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dalembert as da
from dalembert.library import chain


@pytest.fixture
def model() -> da.Model:
    s = da.System()
    base = s.body("base", da.box(1, 1, 1, 2.0))
    arm = s.body("arm", da.rod(1, 1, radius=0.1))
    s.connect("ball", da.Spherical(), base.at(0.5), arm)
    return s.compile()


def zeros(model: da.Model) -> tuple[np.ndarray, np.ndarray]:
    return model.zero_configuration(), np.zeros(model.nv)


def test_sizes_and_names(model: da.Model) -> None:
    assert (model.nb, model.nq, model.nv, model.nx, model.nc) == (2, 11, 9, 0, 0)
    assert model.body_names == ("base", "arm") and model.joint_names == ("base.free", "ball")
    assert model.coordinate_names[7:] == ("ball.qw", "ball.qx", "ball.qy", "ball.qz")
    assert model.speed_names[6:] == ("ball.wx", "ball.wy", "ball.wz")
    assert model.q_slice("ball") == slice(7, 11) and model.v_slice("ball") == slice(6, 9)


def test_lists_integers_and_other_floats_are_taken(model: da.Model) -> None:
    q, v = zeros(model)
    expected = model.forward_dynamics(q, v)
    assert (model.forward_dynamics(q.tolist(), [0] * 9) == expected).all()
    assert (model.forward_dynamics(q.astype(np.float32), v.astype(int), None) == expected).all()
    wide = np.zeros((4, 22))
    wide[:, 0] = wide[:, 14] = 1.0
    assert (model.forward_dynamics(wide[:, ::2], v) == expected).all()  # not contiguous
    assert (model.forward_dynamics(q=q, v=v, tau=v, loads=np.zeros((2, 6))) == expected).all()


def test_out_is_filled_and_returned(model: da.Model) -> None:
    q, v = zeros(model)
    out = np.empty(9)
    assert model.forward_dynamics(q, v, out=out) is out
    assert (out == model.forward_dynamics(q, v)).all()
    tau = np.ones(9)
    expected = model.forward_dynamics(q, v, tau)
    assert (model.forward_dynamics(q, v, tau, out=tau) == expected).all()  # in place


BAD = {
    "short": (lambda m, q, v: m.forward_dynamics(q[:-1], v), r"shape of q is \(10,\).*\(11,\)"),
    "long": (lambda m, q, v: m.forward_dynamics(q, np.zeros(12)), r"shape of v is \(12,\)"),
    "3-d": (lambda m, q, v: m.mass_matrix(np.zeros((2, 2, 11))), "shape of q"),
    "scalar": (lambda m, q, v: m.mass_matrix(1.0), "shape of q"),
    "strings": (lambda m, q, v: m.mass_matrix(["a"] * 11), "real numbers"),
    "complex": (lambda m, q, v: m.mass_matrix(q + 0j), "real numbers"),
    "bool": (lambda m, q, v: m.mass_matrix(q > 0), "real numbers"),
    "none": (lambda m, q, v: m.forward_dynamics(q, None), "real numbers"),
    "object": (lambda m, q, v: m.forward_dynamics(q, [object()] * 9), "real numbers"),
    "ragged": (lambda m, q, v: m.forward_dynamics(q, [[1], [2, 3]]), "real numbers"),
    "nan": (lambda m, q, v: m.forward_dynamics(q, v + np.nan), r"v\[0\] \(base.free.wx\) is nan"),
    "inf in a batch": (
        lambda m, q, v: m.inverse_dynamics(q, v, [[0] * 9, [0] * 8 + [np.inf]]),
        r"a\[1, 8\] \(ball.wz\) is inf",
    ),
    "quaternion": (lambda m, q, v: m.mass_matrix(np.zeros(11)), "quaternion of 'base.free'"),
    "quaternion in a batch": (lambda m, q, v: m.poses([q, 0 * q]), "quaternion of 'base.free'"),
    "nan in a batch": (lambda m, q, v: m.d_forward_dynamics([q, q], [v, v + np.nan]), r"v\[1, 0\]"),
    "batch sizes": (lambda m, q, v: m.forward_dynamics([q] * 3, [v] * 2), "batch size of v is 2"),
    "loads": (lambda m, q, v: m.forward_dynamics(q, v, loads=np.zeros((3, 6))), "shape of loads"),
    "nan load": (lambda m, q, v: m.forward_dynamics(q, v, loads=[[0] * 6, [0, np.nan] + [0] * 4]), r"\(arm\)"),
    "out shape": (lambda m, q, v: m.forward_dynamics(q, v, out=np.empty(8)), "out"),
    "out type": (lambda m, q, v: m.forward_dynamics(q, v, out=np.empty(9, dtype=np.float32)), "out"),
    "out list": (lambda m, q, v: m.forward_dynamics(q, v, out=[0.0] * 9), "out"),
    "marker name": (lambda m, q, v: m.pose("leg", q), "'leg'"),
    "marker": (lambda m, q, v: m.pose(7, q), "marker"),
    "marker of another system": (lambda m, q, v: m.pose(da.System().body("arm", mass=1), q), "marker"),
    "given": (lambda m, q, v: m.mixed_dynamics(q, v, v, v, [True] * 8), "given"),
    "given name": (lambda m, q, v: m.mixed_dynamics(q, v, v, v, "bell"), "'bell'"),
    "factor": (lambda m, q, v: m.factor(q[:-1]), "shape of q"),
    "solve": (lambda m, q, v: m.factor(q).solve(np.zeros(4)), "x"),
    "joint": (lambda m, q, v: m.q_slice("nothing"), "'nothing'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arrays_are_refused_by_name(model: da.Model, case: str) -> None:
    action, pattern = BAD[case]
    with pytest.raises(da.ModelError, match=pattern):
        action(model, *zeros(model))


def test_wrong_calls_are_type_errors(model: da.Model) -> None:
    q, v = zeros(model)
    for call in (
        lambda: model.forward_dynamics(q),
        lambda: model.forward_dynamics(q, v, v, v),
        lambda: model.forward_dynamics(q, v, torque=v),
        lambda: model.forward_dynamics(q, v, q=q),
        lambda: model.mass_matrix(),
    ):
        with pytest.raises(TypeError):
            call()


def test_overflow_is_an_error_not_a_number(model: da.Model) -> None:
    q, v = zeros(model)
    with pytest.raises(da.ModelError, match="too large"):
        model.forward_dynamics(q, v + 1e200)


def test_quaternions_of_any_length_are_one_attitude(model: da.Model) -> None:
    state = model.random_state(1)
    q = state.q.copy()
    q[:4] *= -3.0
    assert np.allclose(model.forward_dynamics(q, state.v), model.forward_dynamics(state.q, state.v), rtol=1e-12)
    assert np.linalg.norm(model.integrate(q, 0 * state.v)[:4]) == pytest.approx(1.0, abs=1e-15)


def test_large_angles_keep_their_meaning() -> None:
    model = chain(3).compile()
    for turns in (1, 1000, 10**7):
        q = np.array([0.3, -0.2, 0.5])
        far = q + 2 * np.pi * turns
        # 2 pi n itself is rounded to about 1e-16 n
        assert np.allclose(model.mass_matrix(far), model.mass_matrix(q), atol=1e-15 * (10 + 10 * turns))
        assert np.allclose(model.mass_matrix([far] * 3)[2], model.mass_matrix(far), atol=1e-14)


def test_sine_and_cosine_are_exact_to_the_last_bits() -> None:
    s = da.System(gravity=(0, 0, 0))
    s.connect("A", da.Revolute("z"), s.ground, s.body("b", da.box(1, 1, 1, 1)))
    model = s.compile()
    x = np.concatenate([np.linspace(-20, 20, 40001), np.linspace(-1e5, 1e5, 20001), np.pi / 4 * np.arange(-16, 17)])
    R = model.pose("b", x[:, None]).rotation
    assert np.abs(R[:, 0, 0] - np.cos(x)).max() < 2.3e-16 and np.abs(R[:, 1, 0] - np.sin(x)).max() < 2.3e-16


def test_kernels_may_be_called_from_many_threads() -> None:
    model = chain(300).compile()
    states = [model.random_state(k) for k in range(8)]
    expected = [model.forward_dynamics(0.01 * s.q, s.v) for s in states]
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(50):
            if not (model.forward_dynamics(0.01 * states[k].q, states[k].v) == expected[k]).all():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_computes_batches_too() -> None:
    model = chain(7).compile()
    state = model.random_state(0, size=300)
    expected = model.forward_dynamics(state.q, state.v)  # the threads of the parent exist now
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forks beside threads
        child = os.fork()
    if child == 0:
        os._exit(0 if (model.forward_dynamics(state.q, state.v) == expected).all() else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_batches_from_several_threads_do_not_disturb_each_other() -> None:
    model = chain(20).compile()
    states = [model.random_state(k, size=500) for k in range(4)]
    expected = [model.forward_dynamics(s.q, s.v) for s in states]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            results = list(pool.map(lambda s: model.forward_dynamics(s.q, s.v), states))
            assert all((r == e).all() for r, e in zip(results, expected, strict=True))


def test_gravity_moves_bodies_down() -> None:
    s = da.System(gravity=(0, 0, -9.81))
    s.body("ball", da.sphere(0.1, 1.0))
    model = s.compile()
    q, v = zeros(model)
    a = model.forward_dynamics(q, v)
    assert np.allclose(model.acceleration("ball", q, v, a), [0, 0, 0, 0, 0, -9.81])
    q[6] = 2.0
    assert model.energy(q, v).potential == pytest.approx(9.81 * 2.0)


def test_reactions_have_the_sign_of_statics() -> None:
    """A hanging weight pulls its support down: the joint holds the second marker up."""
    for backwards in (False, True):
        s = da.System()
        weight = s.body("weight", da.sphere(0.1, 2.0))
        ends = [s.ground.at(0, 0, 1), weight.at(0, 0, 1)]
        s.connect("rope", da.Revolute("y"), *(ends[::-1] if backwards else ends))
        model = s.compile()
        F = model.reactions([0.0], [0.0], [0.0])
        on_weight = -F[0] if backwards else F[0]
        assert np.allclose(on_weight, [0, 0, 0, 0, 0, 2.0 * 9.81])
