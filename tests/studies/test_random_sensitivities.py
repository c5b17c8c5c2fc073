"""Derivatives of runs on systems made at random, through switches, and by inputs, against independent ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.errors import GradientError

CLOSE = 1e-7  # of the largest derivative: a tenth of what is promised; the runs' own tolerance is 1e-9


def by_runs(model: da.Model, output: str, name: str, t: float, state: dict[str, float], **how: Any) -> np.ndarray:
    """Return the derivative of an output at the end by central differences of sixth order, of exact runs."""
    number = name in model.parameter_names
    value = float(model.parameters[model.parameter_names[name]]) if number else state[name]
    h = 2e-3 * (abs(value) or 1.0)

    def end(change: float) -> np.ndarray:
        moved = {"parameters": {name: value + change}} if number else {}
        start = state if number else {**state, name: value + change}
        return np.asarray(da.simulate(model, t, state=start, rtol=1e-13, atol=1e-14, **moved, **how)[output][-1])

    sides = [end(k * h) - end(-k * h) for k in (1, 2, 3)]
    return np.asarray((45 * sides[0] - 9 * sides[1] + sides[2]) / (60 * h))


def agree(
    system: da.System, output: str, by: list[str], t: float, state: dict[str, float], close: float = CLOSE, **how: Any
) -> None:
    """Both ways are as close to differences of runs as is promised, and closer to each other."""
    model = system.compile()
    ways = [da.sensitivity(model, {"y": (output, "final")}, by, t, state=state, mode=w, **how) for w in WAYS]
    expected = np.stack([by_runs(model, output, name, t, state, **how) for name in by], axis=-1)
    size = np.abs(expected).max()
    assert np.abs(ways[0]["y"] - expected).max() < close * size
    assert np.abs(ways[0]["y"] - ways[1]["y"]).max() < 1e-9 * size


WAYS = ("forward", "adjoint")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sensitivities_of_random_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    s, joints = da.System("tree"), (da.Revolute("x"), da.Prismatic("z"), da.Universal(), da.Spherical())
    bodies: list[Any] = [s.ground]
    for k in range(4):
        body = s.body(
            f"b{k}", mass=rng.uniform(0.5, 2), com=rng.normal(size=3) / 10, inertia=rng.uniform(0.02, 0.03, 3)
        )
        parent = bodies[rng.integers(len(bodies))]
        s.connect(f"H{k}", joints[rng.integers(4)], parent.at(*rng.normal(size=3) * 0.3), body)
        bodies.append(body)
    ends = bodies[1].at(*rng.normal(size=3) / 5), bodies[4].at(*rng.normal(size=3) / 5)
    s.connect("k", da.SpringDamper(rng.uniform(5, 40), 0.5, 0.4), *ends)
    agree(s, "b3.position", ["b0.mass", "b2.com.x", "k.stiffness"], 0.6, {})


@pytest.mark.parametrize("seed", [1, 2])
def test_sensitivities_of_random_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    s = da.System("loop", gravity=(0, -9.81, 0))
    lengths = np.array([0.3, 1.0, 0.8, 1.0]) * rng.uniform(1.0, 1.15, 4)
    bars = [
        s.body(name, mass=rng.uniform(0.5, 2), com=(length / 2, 0, 0), inertia=(1e-3, length**2 / 12, length**2 / 12))
        for name, length in zip(("crank", "coupler", "rocker"), lengths, strict=False)
    ]
    s.connect("A", da.Revolute("z"), s.ground, bars[0])
    s.connect("B", da.Revolute("z"), bars[0].at(lengths[0], 0, 0), bars[1])
    s.connect("D", da.Revolute("z"), s.ground.at(lengths[3], 0, 0), bars[2])
    s.connect("C", da.Revolute("z"), bars[1].at(lengths[1], 0, 0), bars[2].at(lengths[2], 0, 0))
    s.connect("k", da.TorsionSpring(stiffness=6.0, rest=1.2), "D")
    by = ["crank.mass", "B.first.x", "C.second.x", "k.rest", "A"]
    agree(s, "D.position", by, 0.8, {"A": rng.uniform(0.5, 1.2), "A.speed": rng.uniform(-1, 2)})


def test_a_random_flexible_chain() -> None:
    rng = np.random.default_rng(5)
    s = da.System("flexible")
    end: Any = s.ground.origin
    for k in range(2):
        section = da.Section.circle(rng.uniform(0.012, 0.02))
        rod = da.beam([[0, 0, 0], [1, 0, 0]], section, da.Material(E=2e9, nu=0.3, density=7850.0), elements=2)
        arm = s.body(f"arm{k}", rod)
        s.connect(f"A{k}", da.Revolute("yz"[k]), end, arm)
        end = arm.at(1, 0, 0)
    agree(s, "A0.position", ["arm0.stiffness_factor", "gravity.z", "A0"], 0.15, {"A0": 0.3})


def test_a_bounce_has_its_saltation_matrix() -> None:
    """A rod falls onto a stop: variational equations by SciPy, and at the impact the matrix of Leine and Nijmeijer."""
    e, stop, t_end, g = 0.7, 1.1, 0.9, 9.81
    s = da.System("rod")
    s.connect("A", da.Revolute("y", upper=stop, restitution=e), s.ground, s.body("rod", da.rod(length=1.0, mass=2.0)))
    by = ["A", "A.speed", "A.restitution", "A.upper"]
    found = da.sensitivity(s, {"q": ("A.position", "final")}, by, t_end, state={"A": 0.2, "A.speed": 0.4})
    assert len(found.result.events) == 1

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        q, v = y[:2]
        A = np.array([[0.0, 1.0], [-1.5 * g * np.sin(q), 0.0]])
        return np.concatenate([[v, 1.5 * g * np.cos(q)], (A @ y[2:].reshape(2, -1)).ravel()])

    def touch(_: float, y: np.ndarray) -> float:
        return float(y[0] - stop)

    touch.terminal = True  # type: ignore[attr-defined]
    how = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-14}
    start = np.concatenate([[0.2, 0.4], np.eye(2, 4).ravel()])
    fall = solve_ivp(rates, (0, t_end), start, events=touch, **how)
    y, tau = fall.y_events[0][0], fall.t_events[0][0]
    before, v = y[2:].reshape(2, 4), y[1]
    f = np.array([v, 1.5 * g * np.cos(stop)])
    after_f = np.array([-e * v, f[1]])
    R = np.diag([1.0, -e])
    normal = np.array([1.0, 0.0])
    jump = (after_f - R @ f)[:, None] / v
    after = (R + jump * normal) @ before
    after[1, 2] += -v  # by restitution
    after[:, 3] -= jump[:, 0]  # by where the stop is
    rest = solve_ivp(rates, (tau, t_end), np.concatenate([[stop, -e * v], after.ravel()]), **how)
    assert found["q"] == pytest.approx(rest.y[2:6, -1], rel=1e-8)


def test_an_impact_within_a_loop() -> None:
    s = da.System("four-bar", gravity=(0, -9.81, 0))
    lengths = (0.4, 1.1, 0.9)
    bars = [
        s.body(name, mass=1.0, com=(length / 2, 0, 0), inertia=(1e-3, length**2 / 12, length**2 / 12))
        for name, length in zip(("crank", "coupler", "rocker"), lengths, strict=True)
    ]
    s.connect("A", da.Revolute("z"), s.ground, bars[0])
    s.connect("B", da.Revolute("z"), bars[0].at(0.4, 0, 0), bars[1])
    s.connect("D", da.Revolute("z", upper=2.24, restitution=0.6), s.ground.at(1.0, 0, 0), bars[2])
    s.connect("C", da.Revolute("z"), bars[1].at(1.1, 0, 0), bars[2].at(0.9, 0, 0))
    s.connect("k", da.TorsionSpring(stiffness=8.0, rest=1.2), "D")
    by = ["crank.mass", "D.restitution", "A"]
    agree(s, "D.position", by, 0.8, {"A": 0.7, "A.speed": 0.5}, 1e-6)  # differences look past the impact less well


def test_a_block_on_a_belt_sticks_and_slips() -> None:
    s = da.System("belt", gravity=(0, 0, 0))
    rubbing = da.Prismatic("x", friction=2.0, static_friction=3.0)
    s.connect("X", rubbing, s.ground, s.body("b", da.box(0.1, 0.1, 0.1, mass=1.0)))
    pull = da.Element("joint", "-K*(s - V*t)", parameters={"K": 30.0, "V": 0.5}, active=True)
    s.connect("pull", pull, "X")
    agree(s, "X.position", ["X.static_friction", "pull.V", "b.mass"], 1.3, {})


def test_bounces_that_come_to_rest() -> None:
    def dropped(restitution: float, t: float) -> float:
        s = da.System("ball")
        ground = da.Prismatic("z", lower=0.0, restitution=restitution)
        s.connect("Z", ground, s.ground, s.body("b", da.sphere(0.1, mass=1.0)))
        return float(da.sensitivity(s, {"z": ("Z.position", "final")}, ["Z"], t, state={"Z": 1.0})["z"][0])

    assert dropped(0.2, 1.0) == 0.0  # wherever it falls from, it lies on the ground
    with pytest.raises(GradientError, match=r"'Z rests on its stop' at t = 1.3545.* depends on the history"):
        dropped(0.5, 2.0)


def test_inputs_drives_and_their_numbers() -> None:
    """A mass under a force that oscillates: x(T) = integral of (T - t) u(t) / m."""
    s = da.System("pushed", gravity=(0, 0, 0))
    s.connect("X", da.Prismatic("x"), s.ground, s.body("b", da.box(0.1, 0.1, 0.1, mass=2.0)))
    law = da.laws.Harmonic(3.0, 4.0, 0.2, 0.5)
    s.connect("e", da.Element("joint", "u + w", inputs={"u": law, "w": 0.7}, active=True), "X")
    by = ["e.u.amplitude", "e.u.frequency", "e.u.phase", "e.u.offset", "e.w", "b.mass"]
    for way in WAYS:
        found = da.sensitivity(s, {"x": ("X.position", "final")}, by, 1.3, mode=way)
        t, weights = np.polynomial.legendre.leggauss(40)
        t, weights = 0.65 * (t + 1), 0.65 * weights

        def end(a: Any, f: Any, p: Any, o: Any, w: Any, m: Any) -> Any:
            return (weights * (1.3 - t) * (a * np.sin(f * t + p) + o + w)).sum() / m  # noqa: B023

        values = [3.0, 4.0, 0.2, 0.5, 0.7, 2.0]
        expected = [end(*(x + 1e-30j * (k == j) for j, x in enumerate(values))).imag / 1e-30 for k in range(6)]
        assert found["x"] == pytest.approx(expected, rel=1e-8)
