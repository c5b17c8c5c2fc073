"""All ways to assemble: none is left out."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da

# a platform on three bars: feet, lengths, points of the platform
FEET = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.7]])
POINTS = np.array([[0.0, 0.0], [1.0, 0.0], [0.4, 0.8]])


def platform(feet: np.ndarray, lengths: np.ndarray, points: np.ndarray) -> da.System:
    s = da.System("triad")
    body = s.body("platform", mass=1.0, inertia=(1, 1, 1))
    for k in range(3):
        leg = s.body(f"leg {k}", da.rod(lengths[k], 1.0))
        s.connect(f"A{k}", da.Revolute("z"), s.ground.at(*feet[k], 0), leg)
        s.connect(f"C{k}", da.Revolute("z"), leg.at(lengths[k], 0, 0), body.at(*points[k], 0))
    return s


def ways(feet: np.ndarray, lengths: np.ndarray, points: np.ndarray) -> int:
    """Count by walking along the coupler curve of two bars: how often is the third point at the third length?"""
    a = np.linspace(0, 2 * np.pi, 100001)
    B = feet[0] + lengths[0] * np.stack([np.cos(a), np.sin(a)], -1)
    side = points[1] - points[0]
    d, lean = np.linalg.norm(side), np.arctan2(side[1], side[0])
    w = feet[1] - B
    D = np.linalg.norm(w, axis=1)
    cosine = (d * d + D * D - lengths[1] ** 2) / (2 * d * D)
    ok = np.abs(cosine) <= 1
    total, v = 0, points[2] - points[0]
    for sign in (1, -1):
        turn = np.arctan2(w[:, 1], w[:, 0]) + sign * np.arccos(np.clip(cosine, -1, 1)) - lean
        x = B[:, 0] + np.cos(turn) * v[0] - np.sin(turn) * v[1] - feet[2, 0]
        y = B[:, 1] + np.sin(turn) * v[0] + np.cos(turn) * v[1] - feet[2, 1]
        gap = np.hypot(x, y) - lengths[2]
        total += int(((gap[:-1] * gap[1:] < 0) & ok[:-1] & ok[1:]).sum())
    return total


def test_a_platform_on_three_bars_has_up_to_six_assemblies() -> None:
    seen = set()
    random = np.random.default_rng(5)
    for _ in range(35):
        feet, points = FEET + 0.3 * random.normal(size=(3, 2)), POINTS + 0.2 * random.normal(size=(3, 2))
        lengths = random.uniform(1.0, 1.8, 3)
        number = ways(feet, lengths, points)
        if number:
            assert len(da.assemble(platform(feet, lengths, points), branches=True).branches) == number
            seen.add(number)
    assert seen == {2, 4, 6}


def dyads(number: int) -> da.System:
    """Return a crank that moves a row of dyads, each hung on the one before it."""
    s = da.System("row of dyads")
    crank = s.body("crank", da.rod(0.5, 1.0))
    s.connect("A", da.Revolute("z"), s.ground, crank)
    tip = crank.at(0.5, 0, 0)
    for k in range(number):
        coupler, rocker = s.body(f"coupler {k}", da.rod(1.5, 1.0)), s.body(f"rocker {k}", da.rod(1.3, 1.0))
        s.connect(f"B{k}", da.Revolute("z"), tip, coupler)
        s.connect(f"D{k}", da.Revolute("z"), s.ground.at(1.4 + 0.9 * k, 0.1 * k, 0), rocker)
        s.connect(f"C{k}", da.Revolute("z"), coupler.at(1.5, 0, 0), rocker.at(1.3, 0, 0))
        tip = coupler.at(0.75, 0.4, 0) if k % 2 else rocker.at(0.9, 0.3, 0)
    s.initial("A", position=0.7)
    return s


def count_dyads(number: int, crank: float) -> int:
    """Return in how many ways circles meet, dyad after dyad."""
    tips = [0.5 * np.exp(1j * crank)]
    for k in range(number):
        foot, following = 1.4 + 0.9 * k + 0.1j * k, []
        for tip in tips:
            across = foot - tip
            d = abs(across)
            cosine = (1.5**2 + d * d - 1.3**2) / (2 * 1.5 * d)
            if abs(cosine) > 1:
                continue
            for sign in (1, -1):
                along = across / d * np.exp(1j * sign * np.arccos(cosine))
                joint = tip + 1.5 * along
                rocker = (joint - foot) / 1.3
                following.append(tip + (0.75 + 0.4j) * along if k % 2 else foot + (0.9 + 0.3j) * rocker)
        tips = following
    return len(tips)


@pytest.mark.parametrize("crank", [0.7, 2.0, -1.1])
def test_six_loops_of_dyads(crank: float) -> None:
    found = da.assemble(dyads(6), hold={"A": crank}, branches=True).branches
    assert len(found) == count_dyads(6, crank) > 8


def test_a_watt_linkage_of_six_bars_and_its_circuits() -> None:
    s = dyads(2)
    found = da.circuits(s, "A")
    assert sum(len(q) for q in found.at(0.7)) == count_dyads(2, 0.7)
    assert len(da.assemble(s, hold="A", branches=True).branches) == count_dyads(2, 0.7)


def test_a_stephenson_linkage_of_six_bars() -> None:
    # the third foot goes round on a crank: six ways at most, as many as the platform on three bars has
    random = np.random.default_rng(5)
    s = da.System("Stephenson")
    body, crank = s.body("platform", mass=1.0, inertia=(1, 1, 1)), s.body("crank", da.rod(0.3, 1.0))
    lengths, foot = np.array([1.5, 1.5, 1.5]), np.array([1.0, 1.7])
    s.connect("O", da.Revolute("z"), s.ground.at(*foot, 0), crank)
    ends = [s.ground.at(*FEET[0], 0), s.ground.at(*FEET[1], 0), crank.at(0.3, 0, 0)]
    for k in range(3):
        leg = s.body(f"leg {k}", da.rod(lengths[k], 1.0))
        s.connect(f"A{k}", da.Revolute("z"), ends[k], leg)
        s.connect(f"C{k}", da.Revolute("z"), leg.at(lengths[k], 0, 0), body.at(*POINTS[k], 0))
    for angle in random.uniform(-3, 3, 4):
        tip = foot + 0.3 * np.array([np.cos(angle), np.sin(angle)])
        number = ways(np.array([*FEET[:2], tip]), lengths, POINTS)
        assert len(da.assemble(s, hold={"O": angle}, branches=True).branches) == number


def test_branches_of_a_geared_pair_keep_their_phase() -> None:
    s = da.System("gears")
    for name in ("A", "B"):
        s.connect(name, da.Revolute("z"), s.ground, s.body(f"wheel {name}", mass=1.0, inertia=(1, 1, 1)))
    s.connect("mesh", da.gear(1, 2), "A", "B")
    model = s.compile()
    for q in da.assemble(model, hold={"A": 1.0}, branches=True).branches:
        assert np.abs(model.constraint_residual(q)).max() < 1e-10
