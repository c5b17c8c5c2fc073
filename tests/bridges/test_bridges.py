"""Bridges to gymnasium, JAX, PyTorch and OpenMDAO; each is skipped where the package is absent."""

import warnings

import numpy as np
import pytest

import dalembert as da
from dalembert.library import chain
from dalembert.library.mechanisms import four_bar


def arm():
    s = da.System("arm")
    s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    s.connect("k", da.JointSpring(stiffness=5.0, damping=0.1), "A")
    return s


def reward(observation, action):
    return -(observation[..., 0] ** 2)


# ---- gymnasium


def environment(**how):
    gym = pytest.importorskip("dalembert.bridges.gym", exc_type=ImportError)
    usual = {"actions": ["A.effort"], "observations": ["A.position", "A.speed"], "reward": reward, "period": 0.02}
    return gym.Environment(arm(), low=-5.0, high=5.0, **{**usual, **how})


def test_environment_passes_the_check_of_gymnasium():
    env = environment(start=lambda rng: {"A": rng.uniform(-1, 1)})
    checker = pytest.importorskip("gymnasium.utils.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on bounds that are not normalized
        checker.check_env(env, skip_render_check=True)
    first = env.reset(seed=3)[0]
    assert np.array_equal(first, env.reset(seed=3)[0])
    assert not np.array_equal(first, env.reset()[0])


def test_environment_takes_the_steps_of_a_sampled_control():
    env = environment(start={"A": 0.4}, steps=10)
    env.reset()
    for k in range(10):
        observation, value, terminated, truncated, info = env.step(np.array([2.0 * np.sin(k)]))
    result = da.simulate(
        arm(), 0.2, state={"A": 0.4}, control=lambda s: [2.0 * np.sin(round(s.t / 0.02))], control_period=0.02
    )
    assert abs(observation - [result["A.position"][-1], result["A.speed"][-1]]).max() < 1e-7
    assert (terminated, truncated, info) == (False, True, {})
    assert value == -(observation[0] ** 2)


def test_batch_takes_the_steps_of_single_environments():
    gym = pytest.importorskip("dalembert.bridges.gym", exc_type=ImportError)
    starts = iter([0.1, 0.2, 0.3] * 2)
    batch = gym.BatchEnvironment(
        arm(), 3, actions=["A"], observations=["A.position", "A.speed"], reward=reward, low=-5.0, high=5.0,
        period=0.02, steps=4, start=lambda rng: {"A": next(starts)}, method="dop853",
    )  # fmt: skip
    batch.reset(seed=0)
    for k in range(4):
        observations, values, terminated, truncated, _ = batch.step(np.full((3, 1), 1.0 + k))
    assert truncated.all()
    assert not terminated.any()
    assert np.array_equal(values, -(observations[:, 0] ** 2))
    for start, found in zip((0.1, 0.2, 0.3), observations, strict=True):
        env = environment(start={"A": start})
        env.reset()
        for k in range(4):
            expected = env.step(np.array([1.0 + k]))[0]
        assert abs(found - expected).max() < 1e-7
    observations, values, *_ = batch.step(np.zeros((3, 1)))
    assert np.allclose(observations[:, 0], [0.1, 0.2, 0.3])
    assert not values.any()


def test_observations_of_batches_are_of_position_and_velocity():
    gym = pytest.importorskip("dalembert.bridges.gym", exc_type=ImportError)
    with pytest.raises(da.ModelError, match=r"A\.acceleration"):
        gym.BatchEnvironment(
            arm(), 2, actions=["A"], observations=["A.acceleration"], reward=reward, low=-1.0, high=1.0, period=0.1
        )


# ---- JAX and PyTorch


def states(model, count=None):
    rng = np.random.default_rng(1)
    shape = (model.nv,) if count is None else (count, model.nv)
    return [rng.normal(size=shape) for _ in range(3)]


def test_jax_dynamics_with_derivatives():
    jax = pytest.importorskip("jax")
    from dalembert.bridges.jax import dynamics, step

    jax.config.update("jax_enable_x64", True)
    model = chain(3, axes="y").compile()
    a, at = dynamics(model), states(model)
    assert np.allclose(jax.jit(a)(*at), model.forward_dynamics(*at), rtol=1e-13, atol=1e-13)
    d = model.d_dynamics(0.0, *at[:2], tau=at[2]).a
    for k, expected in enumerate((d.q, d.v, d.tau)):
        assert np.allclose(jax.jacfwd(a, k)(*at), expected, rtol=0, atol=1e-9)
        assert np.allclose(jax.jacrev(a, k)(*at), expected, rtol=0, atol=1e-9)
    many = states(model, 20)
    assert np.allclose(jax.vmap(a)(*many), model.forward_dynamics(*many), rtol=0, atol=1e-10)
    take = step(model, 0.01)

    def last(tau):
        def body(carry, _):
            return take(*carry, tau), None

        (q, _), _ = jax.lax.scan(body, (at[0], at[1]), None, length=5)
        return q.sum()

    slope, small = jax.grad(last)(at[2]), 1e-5
    differences = [(last(at[2] + small * e) - last(at[2] - small * e)) / (2 * small) for e in np.eye(3)]
    assert np.allclose(slope, differences, rtol=0, atol=1e-8)
    loop = four_bar().compile()
    assert np.allclose(dynamics(loop)(*states(loop)), loop.forward_dynamics(*states(loop)), rtol=0, atol=1e-9)
    with pytest.raises(da.ModelError, match="closes no loops"):
        step(loop, 0.01)


def test_torch_dynamics_with_derivatives():
    torch = pytest.importorskip("torch")
    from dalembert.bridges.torch import dynamics

    model = chain(3, axes="y").compile()
    a = dynamics(model)
    at = [torch.tensor(part, requires_grad=True) for part in states(model, 4)]
    assert np.array_equal(a(*at).detach().numpy(), model.forward_dynamics(*states(model, 4)))
    assert torch.autograd.gradcheck(a, at)
    with pytest.raises(da.ModelError, match="float64"):
        a(*(part.float() for part in at))


@pytest.mark.parametrize("name", ["jax", "torch"])
def test_coordinates_that_are_no_vector_are_refused(name):
    s = da.System("ball")
    s.connect("S", da.Spherical(), s.ground, s.body("b", da.box(0.1, 0.2, 0.3, mass=1.0)))
    pytest.importorskip(name)
    bridge = pytest.importorskip(f"dalembert.bridges.{name}")
    with pytest.raises(da.ModelError, match="nq = 4, nv = 3"):
        bridge.dynamics(s)


# ---- OpenMDAO


def test_component_of_openmdao_has_exact_partials():
    om = pytest.importorskip("openmdao.api")
    from dalembert.bridges.openmdao import simulation_component

    problem = om.Problem(reports=None)
    names = {"parameters": ["k.stiffness", "bob.mass"], "outputs": ["A.position", "A.speed"]}
    problem.model.add_subsystem("run", simulation_component(arm(), 0.2, **names), promotes=["*"])
    problem.setup()
    problem.set_val("k:stiffness", 8.0)
    problem.run_model()
    expected = da.simulate(arm(), 0.2, parameters={"k.stiffness": 8.0})
    assert abs(problem.get_val("A:position")[0] - expected["A.position"][-1]) < 1e-7
    checks = problem.check_partials(out_stream=None, method="fd", form="central", step=1e-4)
    for pair in checks["run"].values():
        assert np.allclose(pair["J_fwd"], pair["J_fd"], rtol=0, atol=1e-6)
