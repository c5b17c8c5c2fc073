"""Motions in least time and with least effort: closed forms, an independent program, loops, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from systems.linkages import four_bar

import dalembert as da
from dalembert.arrays import Array
from dalembert.errors import ModelError
from dalembert.studies.optimization.collocation import Transcription


def block() -> da.System:
    s = da.System("block", gravity=(0, 0, 0))
    s.connect("P", da.Prismatic("x"), s.ground, s.body("block", da.box(1, 1, 1, mass=1.0)))
    return s


def arm() -> da.System:
    """Two uniform rods of 1 kg and 1 m, a load of 1 kg at the tip, in a level plane (Luus 2000, section 12.4.2)."""
    s = da.System("arm", gravity=(0, 0, 0))
    upper, lower = s.body("upper", da.rod(1.0, 1.0)), s.body("lower", da.rod(1.0, 1.0))
    s.connect("A", da.Revolute("z"), s.ground, upper)
    s.connect("B", da.Revolute("z"), upper.at(1, 0, 0), lower)
    s.connect("L", da.Fixed(), lower.at(1, 0, 0), s.body("load", da.sphere(0.001, mass=1.0)))
    return s


END = {"A": 0.522, "B": 0.5, "A.speed": 0.0, "B.speed": 0.0}


def crank_rocker() -> da.System:
    return four_bar((0.3, 0.8, 0.6), 0.8, masses=(1.0, 1.0, 1.0), cut="C")


def test_a_block_is_driven_to_and_fro_as_fast_as_can_be() -> None:
    found = da.optimal_motion(block(), {"P": 1.0, "P.speed": 0.0}, {"P": (-1.0, 1.0)}, (0.5, 5.0), steps=20)
    # the switch in the middle is a ramp of two steps: what it costs is a quarter of a step squared
    assert found.time == pytest.approx(2.0, abs=2 * 0.1**2)
    assert found.status == "optimal" and found.target_errors < 1e-8
    assert found.efforts["P"][0] == pytest.approx(1.0) and found.efforts["P"][-1] == pytest.approx(-1.0)


def test_least_effort_is_linear_in_time() -> None:
    """u = 6 (1 - 2 t) N moves 1 kg by 1 m in 1 s with the least integral of u^2, 12 N^2 s."""
    found = da.optimal_motion(
        block(), {"P": 1.0, "P.speed": 0.0}, {"P": (-10.0, 10.0)}, 1.0, minimize="effort", steps=10, tolerance=1e-12
    )
    assert np.allclose(found.efforts["P"], 6 * (1 - 2 * found.t), atol=1e-3)
    assert found.cost * 10.0**2 == pytest.approx(12.0, rel=1e-6)


def by_shooting(load: float, gravity: float, most: float, start: list[float], end: list[float], steps: int) -> float:
    """Return the least time of two rods, 1 m and 1 kg each, with a load at the tip: an independent program.

    Multiple shooting with Runge and Kutta's method on Lagrange's equations in angles, derivatives by CasADi, by IPOPT.
    Efforts are linear within steps.
    """
    ca = pytest.importorskip("casadi")
    x, u = ca.SX.sym("x", 4), ca.SX.sym("u", 2)
    a, b, da_, db = x[0], x[1], x[2], x[3]
    couple, own, sine = 0.5 + load, 1 / 3 + load, ca.sin(b)
    cross = own + couple * ca.cos(b)
    mass = ca.vertcat(ca.horzcat(own + 4 / 3 + load + 2 * couple * ca.cos(b), cross), ca.horzcat(cross, own))
    tip = gravity * couple * ca.cos(a + b)
    rest = ca.vertcat(
        -couple * sine * (2 * da_ * db + db**2) - gravity * (1.5 + load) * ca.cos(a) - tip, couple * sine * da_**2 - tip
    )
    rate = ca.Function("rate", [x, u], [ca.vertcat(x[2:], ca.solve(mass, u - rest))])
    program = ca.Opti()
    X, U, T = program.variable(4, steps + 1), program.variable(2, steps + 1), program.variable()
    h = T / steps / 4
    for k in range(steps):
        z = X[:, k]
        for part in range(4):
            effort = [U[:, k] + (part + c) / 4 * (U[:, k + 1] - U[:, k]) for c in (0, 0.5, 1)]
            k1 = rate(z, effort[0])
            k2 = rate(z + h / 2 * k1, effort[1])
            k3 = rate(z + h / 2 * k2, effort[1])
            z = z + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(z + h * k3, effort[2]))
        program.subject_to(X[:, k + 1] == z)
    program.subject_to(X[:, 0] == start)
    program.subject_to(X[:, -1] == end)
    program.subject_to(program.bounded(-most, ca.vec(U), most))
    program.subject_to(program.bounded(0.5, T, 6))
    program.minimize(T)
    program.set_initial(T, 2.0)
    for k in range(4):
        program.set_initial(X[k, :], np.linspace(start[k], end[k], steps + 1))
    program.solver("ipopt", {"ipopt.print_level": 0, "print_time": False})
    return float(program.solve().value(T))


def test_an_arm_is_as_fast_as_another_program_finds() -> None:
    """The problem is that of Luus (Iterative Dynamic Programming, 2000, section 12.4.2)."""
    found = da.optimal_motion(arm(), END, {"A": (-1, 1), "B": (-1, 1)}, (1.0, 6.0), state={"B": 0.5}, steps=20)
    assert found.status == "optimal"
    # both have steps in which efforts switch by a ramp; steps of fourth order of 0.15 s differ by less than this
    assert found.time == pytest.approx(by_shooting(1.0, 0.0, 1.0, [0, 0.5, 0, 0], [0.522, 0.5, 0, 0], 20), rel=2e-4)
    assert found.target_errors < 2e-3


def test_a_double_pendulum_is_swung_up_as_fast_as_another_program_finds() -> None:
    s = da.System("double pendulum")
    upper, lower = s.body("upper", da.rod(1.0, 1.0)), s.body("lower", da.rod(1.0, 1.0))
    s.connect("A", da.Revolute("y"), s.ground, upper)
    s.connect("B", da.Revolute("y"), upper.at(1, 0, 0), lower)
    up = {"A": -np.pi / 2, "B": 0.0, "A.speed": 0.0, "B.speed": 0.0}
    found = da.optimal_motion(s, up, {"A": (-8, 8), "B": (-8, 8)}, (0.5, 6.0), state={"A": np.pi / 2}, steps=30)
    other = by_shooting(0.0, 9.81, 8.0, [np.pi / 2, 0, 0, 0], [-np.pi / 2, 0, 0, 0], 30)
    assert found.status == "optimal"
    assert found.time == pytest.approx(other, rel=2e-4)
    assert other == pytest.approx(1.2354, abs=2e-4)  # what the guide says


def test_derivatives_of_the_program_are_exact() -> None:
    model = crank_rocker().compile()
    q = da.assemble(model).q
    n = 2 * model.nv
    program = Transcription(
        model,
        np.array([0]),
        4,
        np.concatenate([q, np.zeros(model.nv)]),
        np.array([0]),
        np.array([q[0] + 0.3]),
        np.stack([np.full(n, -9.0), np.full(n, 9.0)]),
        np.array([[-5.0], [5.0]]),
        np.array([0.5, 1.5]),
        1.0,
        0.3,
        np.full(n, 1.3),
        np.array([5.0]),
    )
    rng = np.random.default_rng(0)
    y = np.concatenate([q, np.zeros(model.nv)]) + 0.05 * rng.standard_normal((5, n))
    z = program.packed(y, rng.standard_normal((5, 1)), 0.9)
    J, g = program.jacobian(z).toarray(), program.gradient(z)
    for k in range(len(z)):
        h = 1e-6 * np.eye(len(z))[k]
        assert np.allclose(J[:, k], (program.defects(z + h) - program.defects(z - h)) / 2e-6, atol=2e-7)  # differences
        assert g[k] == pytest.approx((program.cost(z + h) - program.cost(z - h)) / 2e-6, abs=1e-8)
    # second derivatives: differences of first ones
    curvature = program.program().curvature
    assert curvature is not None
    by, sigma = rng.standard_normal(4 * n), 0.7
    upper = curvature(z, sigma, by).toarray()
    assert np.array_equal(upper, np.triu(upper))

    def slope(z: Array) -> Array:
        return np.asarray(sigma * program.gradient(z) + program.jacobian(z).T @ by)

    h = 1e-5 * np.eye(len(z))
    exact = np.array([(slope(z + d) - slope(z - d)) / 2e-5 for d in h])
    assert np.abs(upper + np.triu(upper, 1).T - exact).max() < 2e-6 * np.abs(exact).max()


def test_many_steps_begin_with_the_motion_of_fewer() -> None:
    """367 unknowns, by second derivatives; an independent program finds 1.2331 s with 60 steps (see the guide)."""
    pytest.importorskip("casadi")
    s = da.System("double pendulum")
    upper, lower = s.body("upper", da.rod(1.0, 1.0)), s.body("lower", da.rod(1.0, 1.0))
    s.connect("A", da.Revolute("y"), s.ground, upper)
    s.connect("B", da.Revolute("y"), upper.at(1, 0, 0), lower)
    up = {"A": -np.pi / 2, "B": 0.0, "A.speed": 0.0, "B.speed": 0.0}
    found = da.optimal_motion(s, up, {"A": (-8, 8), "B": (-8, 8)}, (0.5, 6.0), state={"A": np.pi / 2}, steps=60)
    assert found.status == "optimal" and "IPOPT" in found.message
    assert found.time == pytest.approx(1.2331, abs=1e-4)


def test_a_loop_stays_closed_on_its_way() -> None:
    s = crank_rocker()
    model = s.compile()
    first = float(da.assemble(model).q[0])
    found = da.optimal_motion(s, {"A": first - 1.0, "A.speed": 0.0}, {"A": (-20, 20)}, 1.0, minimize="effort", steps=16)
    assert found.status == "optimal"
    assert np.abs(model.constraint_residual(found.q)).max() < 2e-3  # drift of steps of 0.06 s, of fourth order
    assert found.q[-1, 0] == pytest.approx(first - 1.0)


def test_limits_are_kept() -> None:
    found = da.optimal_motion(
        block(), {"P": 1.0, "P.speed": 0.0}, {"P": (-1.0, 1.0)}, (0.5, 8.0), limits={"P.speed": (None, 0.5)}, steps=30
    )
    assert found.v.max() <= 0.5 + 1e-9
    assert found.time == pytest.approx(2.5, abs=0.05)  # 0.5 s up, 0.5 s down, 0.75 m between at 0.5 m/s


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"end": {"Q": 1.0}}, "Q"),
        ({"efforts": {"P": (1.0, -1.0)}}, "cross"),
        ({"efforts": {}}, "joints and bounds"),
        ({"time": (2.0, 1.0)}, "cross"),
        ({"time": -1.0}, "positive"),
        ({"minimize": "fuel"}, "fuel"),
        ({"steps": 1}, "2 or more"),
        ({"limits": {"P": (1.0, 2.0)}}, "start"),
        ({"method": "Nelder-Mead"}, "constraints"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], match: str) -> None:
    given: dict[str, Any] = {"end": {"P": 1.0}, "efforts": {"P": (-1.0, 1.0)}, "time": 2.0}
    with pytest.raises(ModelError, match=match):
        da.optimal_motion(block(), **{**given, **change})


def test_forces_that_depend_on_time_need_a_given_end() -> None:
    s = block()
    s.connect("push", da.Effort(da.Harmonic(1.0, 1.0, 0.3)), "P")
    with pytest.raises(ModelError, match="depend on time"):
        da.optimal_motion(s, {"P": 1.0}, {"P": (-1.0, 1.0)}, (1.0, 3.0))


def test_a_motion_has_a_picture_and_a_result(tmp_path: Path) -> None:
    found = da.optimal_motion(block(), {"P": 1.0}, {"P": (-1.0, 1.0)}, 2.0, minimize="effort", steps=5)
    found.plot(path=tmp_path / "motion.png")
    assert (tmp_path / "motion.png").stat().st_size > 5000
    assert found.result["P.position"][-1] == pytest.approx(1.0) and "end error of a simulation" in str(found)
