"""Couplings of any number of coordinates by formula, by rates, with time."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import dalembert as da

TIGHT: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-10}
METHODS: list[tuple[str, dict[str, Any], float]] = [
    ("dop853", TIGHT, 1e-8),
    ("radau", {"rtol": 1e-9, "atol": 1e-9}, 1e-7),
    ("rk4", {"fixed_step": 1e-3}, 1e-6),
    ("alpha", {"fixed_step": 2e-4}, 1e-3),
]


def shafts(*names: str) -> da.System:
    s = da.System("shafts", gravity=(0, 0, 0))
    for k, name in enumerate(names):
        s.connect(name, da.Revolute("z"), s.ground, s.body(f"disc {name}", mass=1.0, inertia=(2, 2, 1.0 + k)))
    return s


def test_a_formula_does_what_a_plain_coupling_does() -> None:
    plain, formula = shafts("A", "B"), shafts("A", "B")
    plain.connect("mesh", da.Coupling(-0.5, 0.2), "A", "B")
    formula.connect("mesh", da.CustomCoupling("s2 - (k*s1 + 0.2)", {"k": -0.5}), "A", "B")
    for s in (plain, formula):
        s.connect("motor", da.Effort(da.Harmonic(3.0, 2.0, 0.3)), "A")
        s.connect("spring", da.JointSpring(2.0, damping=0.1), "B")
    one, two = (da.simulate(s, 2.0, **TIGHT) for s in (plain, formula))
    for name in ("A", "B", "mesh.effort"):
        np.testing.assert_allclose(one[name][-1], two[name][-1], atol=1e-9)


def test_a_differential() -> None:
    s = shafts("left", "right", "case")
    differential = da.CustomCoupling("a + b - 2*c", coordinates=("a", "b", "c"))
    s.connect("differential", differential, "left", "right", "case")
    s.connect("motor", da.Effort(4.0), "case")
    s.connect("brake", da.Effort(-1.0), "left")
    model = s.compile()
    a = model.forward_dynamics(np.zeros(3), np.zeros(3))
    M, g = np.diag([1.0, 2.0, 3.0]), np.array([1.0, 1.0, -2.0])
    K = np.block([[M, -g[:, None]], [g[None], np.zeros((1, 1))]])
    wanted = np.linalg.solve(K, [-1.0, 0.0, 4.0, 0.0])
    np.testing.assert_allclose(a, wanted[:3], atol=1e-14)
    result = da.simulate(s, 1.0, **TIGHT)
    np.testing.assert_allclose(result["differential.effort"], wanted[3], atol=1e-9)
    np.testing.assert_allclose(result["left"] + result["right"], 2 * result["case"], atol=1e-12)
    assert da.mobility(s).mobility == 2


def cam(*, driven: bool = False) -> da.System:
    s = da.System("cam")
    s.connect("A", da.Revolute("y"), s.ground, s.body("cam", da.cylinder(0.1, 0.05, mass=2.0)))
    s.connect("F", da.Prismatic("z"), s.ground, s.body("follower", da.box(0.1, 0.1, 0.1, mass=1.0)))
    s.connect("law", da.CustomCoupling("s2 - h*(1 - cos(s1)) - 0.1*sin(3*t)*s1", {"h": 0.2}, unit="m"), "A", "F")
    s.initial("A", position=0.3, speed=2.0)
    s.connect("spring", da.JointSpring(20.0, damping=0.3), "F")
    if driven:
        s.drive("law", position=da.Harmonic(0.05, 4.0))
    return s


@pytest.mark.parametrize("driven", [False, True])
def test_a_cam_law_with_time_agrees_with_the_equation_in_one_coordinate(driven: bool) -> None:
    """T = (J a'^2 + m f'^2) / 2 with f(a, t): Lagrange's equation, integrated apart."""
    from scipy.integrate import solve_ivp

    s = cam(driven=driven)
    J, m, h = float(s.bodies["cam"].inertia[1, 1]), 1.0, 0.2

    def slope(t: float, y: np.ndarray) -> np.ndarray:
        a, v = y
        u, du, ddu = (0.05 * np.sin(4 * t), 0.2 * np.cos(4 * t), -0.8 * np.sin(4 * t)) if driven else (0.0, 0.0, 0.0)
        f = h * (1 - np.cos(a)) + 0.1 * np.sin(3 * t) * a + u
        fa, faa = h * np.sin(a) + 0.1 * np.sin(3 * t), h * np.cos(a)
        ft, fat, ftt = 0.3 * np.cos(3 * t) * a + du, 0.3 * np.cos(3 * t), -0.9 * np.sin(3 * t) * a + ddu
        rest = faa * v**2 + 2 * fat * v + ftt
        force = -m * 9.81 - 20.0 * f - 0.3 * (fa * v + ft)
        return np.array([v, fa * (force - m * rest) / (J + m * fa * fa)])

    exact = solve_ivp(slope, (0, 2.0), [0.3, 2.0], method="DOP853", rtol=1e-12, atol=1e-12).y[0, -1]
    for method, options, near in METHODS:
        result = da.simulate(s, 2.0, method=method, **options)
        assert abs(result["A"][-1] - exact) < near
        assert abs(result["energy.balance"]).max() < near


def test_a_driven_coupling_prescribes_the_motion() -> None:
    s = cam(driven=True)
    s.drive("A", position=da.Ramp(0.3, 2.0, 1.0))
    motion = da.driven_motion(s, 0.4)
    model, t = motion.model, 0.4
    a = da.Ramp(0.3, 2.0, 1.0)(t)[0]
    wanted = 0.2 * (1 - np.cos(a)) + 0.1 * np.sin(3 * t) * a + 0.05 * np.sin(4 * t)
    place, dof = model.q_slice("F").start, model.v_slice("F").start
    assert abs(motion.q[place] - wanted) < 1e-12
    effort = motion.a[dof] + 9.81 + 20.0 * wanted + 0.3 * motion.v[dof]
    assert abs(model.drive_efforts(t, motion.q, motion.v)["law"] - effort) < 1e-10
    result = da.simulate(s, 1.0, **TIGHT)
    assert abs(result["energy.balance"]).max() < 1e-8
    assert list(s.copy().drives) == ["law", "A"]
    s.remove("law")
    assert list(s.drives) == ["A"]


def test_rates_bind_speeds_only() -> None:
    """A variator leaves no relation of positions: s2' = r(t) s1'; (1 + 2 r^2) s1'' + 2 r r' s1' = 1."""
    from scipy.integrate import solve_ivp

    s = shafts("A", "B")
    s.connect("variator", da.CustomCoupling("ds2 - (1 + 0.5*sin(t))*ds1"), "A", "B")
    s.connect("motor", da.Effort(1.0), "A")
    assert s.compile().holonomic.tolist() == [False]
    s.initial("A", position=0.4)
    s.initial("B", position=-0.7)

    def slope(t: float, v: np.ndarray) -> np.ndarray:
        r, dr = 1 + 0.5 * np.sin(t), 0.5 * np.cos(t)
        return (1 - 2 * r * dr * v) / (1 + 2 * r * r)

    exact = solve_ivp(slope, (0, 2.0), [0.0], method="DOP853", rtol=1e-12, atol=1e-12).y[0, -1]
    for method, options, near in METHODS:
        result = da.simulate(s, 2.0, method=method, **options)
        assert abs(result["A.speed"][-1] - exact) < near
        np.testing.assert_allclose(result["B.speed"], (1 + 0.5 * np.sin(result.t)) * result["A.speed"], atol=near)
        assert abs(result["energy.balance"]).max() < near
        assert (result["A"][0], result["B"][0]) == (0.4, -0.7)


def test_rates_of_a_ball_can_be_bound() -> None:
    s = da.System("ball", gravity=(0, 0, 0))
    s.connect("S", da.Spherical(), s.ground, s.body("ball", mass=1.0, inertia=(1.0, 2.0, 3.0)))
    s.connect("no spin", da.CustomCoupling("ds1"), "S.wz")
    s.initial("S", speed=(1.0, 2.0, 0.0))
    result = da.simulate(s, 2.0, **TIGHT)
    np.testing.assert_allclose(result["S.wz"], 0.0, atol=1e-12)
    # Euler's equations with w3 = 0: speeds stay, and the moment about z is (I2 - I1) w1 w2
    np.testing.assert_allclose(result["S.speed"][:, :2], [[1.0, 2.0]] * len(result), atol=1e-9)
    np.testing.assert_allclose(result["no spin.effort"], 2.0, atol=1e-9)
    with pytest.raises(da.ModelError, match="no coordinate"):
        s.connect("place", da.CustomCoupling("s1 - t"), "S.wz")


def coupled_tree(seed: int) -> da.System:
    """Return a branched tree with joints of several kinds, coupled by formulas with products and time, and driven."""
    rng = np.random.default_rng(seed)
    s = da.System("tree")
    carrier: Any = s.ground
    kinds = [da.Revolute("y"), da.Cylindrical("z"), da.Universal("x", "y"), da.Planar("z"), da.Prismatic("x")]
    names = []
    for k, kind in enumerate(kinds):
        body = s.body(f"b{k}", mass=rng.uniform(0.5, 2), com=rng.normal(size=3) * 0.1, inertia=(0.3, 0.4, 0.5))
        s.connect(f"H{k}", kind, carrier.at(*rng.normal(size=3) * 0.2), body)
        names += [f"H{k}" if kind.nv == 1 else f"H{k}.{name}" for name in kind.coordinates]
        carrier = body if k % 2 else s.ground
    ball = s.body("ball", mass=1.0, com=(0.1, 0, 0), inertia=(0.2, 0.3, 0.4))
    s.connect("S", da.Spherical(), s.bodies["b3"].at(0.1, 0, 0.1), ball)
    s.drive("S", rotation=da.BryantAngles(da.Harmonic(0.5, 2.0), 0.2, da.Polynomial((0.0, 1.0))))
    chosen = [str(name) for name in rng.permutation(names)]
    s.connect("K1", da.CustomCoupling("s1 + 0.3*s2*s3 - 0.1*sin(s2) - 0.05*t**2"), *chosen[:3])
    s.connect("K2", da.CustomCoupling("ds1 - (0.4 + 0.2*cos(s2))*ds2 - 0.1*sin(t)"), *chosen[3:5])
    for name in chosen[5:]:
        s.connect(f"spring {name}", da.JointSpring(3.0, damping=0.1), name)
    return s


@pytest.mark.parametrize("seed", range(4))
def test_random_trees_keep_their_power_balance_and_methods_agree(seed: int) -> None:
    s = coupled_tree(seed)
    results = [da.simulate(s, 0.6, method=method, **options) for method, options, _ in METHODS]
    for result, (_, _, near) in zip(results, METHODS, strict=True):
        np.testing.assert_allclose(result.q[-1], results[0].q[-1], atol=10 * near)
        assert abs(result["energy.balance"]).max() < 10 * near
    model = results[0].model
    residual = model.constraint_residual(results[0].q[-1], t=0.6)
    assert abs(residual[model.constraint_connections.index("K1")]) < 1e-10


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_of_the_dynamics_are_exact(seed: int) -> None:
    model = coupled_tree(seed).compile()
    motion = da.driven_motion(model, 0.3)
    t, q, v, h = 0.3, motion.q, motion.v, 1e-6
    found = model.d_dynamics(t, q, v)
    for k in range(model.nv):
        step = h * np.eye(model.nv)[k]
        up, down = (model.dynamics(t, model.integrate(q, sign * step), v) for sign in (1, -1))
        np.testing.assert_allclose(found.a.q[:, k], (up.a - down.a) / (2 * h), atol=1e-5, rtol=1e-6)
        up, down = (model.dynamics(t, q, v + sign * step) for sign in (1, -1))
        np.testing.assert_allclose(found.a.v[:, k], (up.a - down.a) / (2 * h), atol=1e-5, rtol=1e-6)
    up, down = (model.dynamics(t + sign * h, q, v) for sign in (1, -1))
    np.testing.assert_allclose(found.a.t, (up.a - down.a) / (2 * h), atol=1e-5, rtol=1e-6)


def test_many_runs_at_once_are_those_one_by_one() -> None:
    model = coupled_tree(1).compile()
    start = da.driven_motion(model, 0.0)
    shifts = (0.0, 0.1, -0.2, 0.3, 0.5)
    driven = {f"S.{name}": start.v[model.speed_names.index(f"S.{name}")] for name in ("wx", "wy", "wz")}
    speeds = np.array([da.consistent_velocities(model, start.q, start.v + d, hold=driven) for d in shifts])
    q = np.tile(start.q, (5, 1))
    many = da.simulate(model, 0.4, state=da.State(q=q, v=speeds), **TIGHT)
    for k in range(5):
        one = da.simulate(model, 0.4, state=da.State(q=q[k], v=speeds[k]), **TIGHT)
        np.testing.assert_allclose(many[k].q[-1], one.q[-1], atol=1e-8)


def test_systems_with_formulas_can_be_pickled() -> None:
    s = cam(driven=True)
    other = pickle.loads(pickle.dumps(s))
    one, two = (da.simulate(each, 0.5, **TIGHT)["A"][-1] for each in (s, other))
    assert one == two
    assert "s2 - h*(1 - cos(s1))" in str(s.forest())


def test_functions_and_names() -> None:
    def ratio(a: Any, b: Any, t: Any, k: Any) -> Any:
        return b - k * np.sin(a) - t

    one = da.CustomCoupling(ratio, {"k": 0.5}, coordinates=("a", "b"))
    two = da.CustomCoupling("s2 - 0.5*sin(s1) - t")
    residuals = []
    for coupling in (one, two):
        s = shafts("A", "B")
        s.connect("K", coupling, "A", "B")
        residuals.append(s.compile().constraint_residual([0.3, 0.4], t=0.2))
    np.testing.assert_allclose(*residuals, atol=1e-15)
    assert one.with_parameters(k=1.0).parameters == {"k": 1.0}


BAD: dict[str, tuple[Any, str]] = {
    "no coordinate": (lambda s: da.CustomCoupling("t - 1"), "uses no coordinate"),
    "not linear": (lambda s: da.CustomCoupling("ds1*ds2"), "linear in the rates ds1, ds2"),
    "too few": (lambda s: s.connect("K", da.CustomCoupling("s1 + s2 - s3"), "A", "B"), "its formula has 3"),
    "twice": (lambda s: s.connect("K", da.CustomCoupling("s1 + s2"), "A", "A"), "different coordinates"),
    "unknown name": (lambda s: da.CustomCoupling("s1 + x"), "x"),
    "unit": (lambda s: da.CustomCoupling("s1", unit="kg"), "unit"),
    "position of rates": (
        lambda s: (s.connect("K", da.CustomCoupling("ds1 - ds2"), "A", "B"), s.drive("K", position=1.0)),
        "give speed=",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_coupled_is_refused(case: str) -> None:
    action, pattern = BAD[case]
    with pytest.raises(da.ModelError, match=pattern):
        action(shafts("A", "B"))
