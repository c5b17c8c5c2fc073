"""Charts and tables as Passerello and Huston (1972) print them: configuration charts, dyadics, mass data; chains."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.bodies.dyadics import dyadic, inertia_of_dyadic
from dalembert.library import chain, space_manipulator

SEQUENCES = ["".join(s) for s in product("XYZ", repeat=3) if s[0] != s[1] != s[2]]


# ---- configuration charts


@pytest.mark.parametrize("convention", [*SEQUENCES, *(s.lower() for s in SEQUENCES)])
def test_the_matrix_is_read_off_the_chart(convention: str) -> None:
    chart = da.rotation.chart(convention, ("alpha", "beta", "gamma"))
    angles = np.random.default_rng(4).uniform(-3, 3, 3)
    named = dict(zip(("alpha", "beta", "gamma"), angles, strict=True))
    in_order = [named[name] for name in chart.angles]
    assert np.allclose(chart.matrix(in_order), da.rotation.euler(angles, convention), atol=1e-15)


def test_the_chart_of_dextral_angles_is_the_printed_one() -> None:
    """Level lines in rows 1, 2, 3; inclined ones climb, fall, climb; (1.16), (1.19), (1.20), and (1.21)."""
    chart = da.rotation.chart("XYZ", ("alpha", "beta", "gamma"))
    lines = str(chart).splitlines()
    assert chart.axes == (0, 1, 2)
    assert [line.find("───") // 8 for line in (lines[1], lines[3], lines[5])] == [0, 1, 2]
    assert [lines[4].count(mark) for mark in "╱╲"] == [1, 1] and [lines[2].count(mark) for mark in "╱╲"] == [1, 1]
    assert chart.angular_velocity == "alpha' n_k1 + beta' n_k'2 + gamma' n_l3"
    # sin in the lower row of the first and third matrix, in the upper one of the second
    assert chart.cosine(0, 2, 1, 0.3) > 0 > chart.cosine(0, 1, 2, 0.3)
    assert chart.cosine(1, 0, 2, 0.3) > 0 > chart.cosine(1, 2, 0, 0.3)
    assert chart.cosine(2, 1, 0, 0.3) > 0 > chart.cosine(2, 0, 1, 0.3)


def test_charts_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    panel = da.rotation.chart("ZXZ").plot(path=tmp_path / "chart.png")
    assert (tmp_path / "chart.png").stat().st_size > 2000
    assert len(panel.lines) == 6 + 4
    with pytest.raises(da.ModelError, match="convention"):
        da.rotation.chart("XXZ")


# ---- dyadics and mass data


def test_dyadics_are_read_and_written() -> None:
    rng = np.random.default_rng(0)
    for k in range(20):
        A = rng.normal(size=(3, 3)).round(3)
        A = A + A.T
        A[rng.integers(3), rng.integers(3)] = 0.0
        A = np.tril(A) + np.tril(A, -1).T
        assert np.allclose(inertia_of_dyadic(dyadic(A, body=k or "", digits=17)), A, rtol=1e-15, atol=0.0)
    for text in ("54 n31n31 + 54n32n32", "54 (n31n31+n32 n32)", "54*xx + 54*yy", "+54 x x + 54 y y"):
        assert np.array_equal(inertia_of_dyadic(text), np.diag([54.0, 54.0, 0.0])), text
    assert np.array_equal(inertia_of_dyadic("1e-3 n1n1 - 2.5 n1n2 - 2.5 n2n1")[0], [1e-3, -2.5, 0.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("54 n31n31 + 54 n22n22", "of bodies 2, 3"),  # as Fig. 10 is printed for body 3
        ("54 n1n2", "n1n2 and n2n1 need the same number"),
        ("54 n1", "there should be a term"),
        ("54 n1n1 54 n2n2", "after '54 n1n1' there should be a term"),
        ("54 n1n4", "there should be a term"),
        ("", "give a sum of dyads"),
    ],
)
def test_what_is_no_dyadic_is_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(da.ModelError, match=message):
        inertia_of_dyadic(text)


def test_bodies_take_dyadics() -> None:
    s = da.System("rotor")
    body = s.body("rotor", mass=1.0, inertia="2 n1n1 + 2 n2n2 + 3 n3n3 - 0.1 (n1n2 + n2n1)")
    assert np.array_equal(body.inertia, [[2, -0.1, 0], [-0.1, 2, 0], [0, 0, 3]])
    with pytest.raises(da.ModelError, match="principal moments"):
        s.body("impossible", mass=1.0, inertia="9 n1n1 + n2n2 + n3n3")


def test_the_table_of_the_manipulator_is_that_of_the_paper() -> None:
    """Fig. 10, with n32n32 in the inertia of body 3; a model built from the table is the model."""
    forest = space_manipulator(units="slug in").forest()
    rows = [line.split(None, 2) for line in forest.mass_table().splitlines()[1:]]
    found = {row[1]: row[2] for row in rows}
    assert found["main"].split("  ")[-1] == "240 n11n11 + 240 n12n12 + 240 n13n13"
    assert found["main"].split()[:7] == ["10", "0,", "0,", "0", "0,", "0,", "0"]
    for name, number, xi in (("upper_a", 2, "-6"), ("lower_a", 3, "-36"), ("upper_b", 5, "-6"), ("lower_b", 6, "-36")):
        assert found[name].split() == [
            "0.5", "0,", "0,", "-18", "0,", "0,", xi, "54", f"n{number}1n{number}1", "+", "54", f"n{number}2n{number}2",
        ]  # fmt: skip
    assert found["disk_1"].endswith("0.5 n41n41 + 0.5 n42n42 + 1 n43n43")
    for name, text in found.items():
        body = forest.system.bodies[name]
        assert np.array_equal(inertia_of_dyadic(text.split("  ")[-1]), body.inertia)


# ---- ready chains with ball joints


def test_a_hanging_chain_of_ball_joints_swings_to_both_sides() -> None:
    """Bernoulli 1732: j_0n / 2 sqrt(g / L), each frequency twice; error of order 1 / n^2."""
    n, g = 30, 9.81
    s = chain(n, joints="ball", length=1.0 / n)
    s.initial("joint_1", rotation=("y", np.pi / 2))  # down
    zeros = np.array([2.404825557695773, 5.520078110286311, 8.653727912911013])
    found = da.modes(s)
    swings = np.sort(found.frequencies[found.frequencies > 1e-3]) * 2 * np.pi
    exact = np.repeat(zeros / 2 * np.sqrt(g), 2)
    assert np.allclose(swings[:6], exact, rtol=6e-3)  # the chain of links differs from the continuous one


def test_chains_of_every_joint_move_as_their_dofs_say() -> None:
    assert [chain(5, joints=joint).compile().nv for joint in ("pin", "ball", "universal")] == [5, 15, 10]
    floating = chain(4, joints="ball", floating=True).compile()
    assert floating.nv == 6 + 9
    state = floating.random_state(0)
    result = da.simulate(floating, 0.2, state=state, rtol=1e-9, atol=1e-9)
    assert np.abs(result["energy.balance"]).max() < 1e-6 * np.abs(result["energy.kinetic"]).max()
    with pytest.raises(da.ModelError, match="'pin', 'ball' or 'universal'"):
        chain(3, joints="rope")
