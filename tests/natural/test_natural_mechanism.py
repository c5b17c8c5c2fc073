"""Mechanisms by points and unit vectors: rows, bodies, joints, drives, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles.natural_rows import series_of_rows

import dalembert as da
from dalembert.closure import find_rates
from dalembert.natural import Mechanism

Array = NDArray[np.float64]


def turned(axis: Array, angle: float) -> Array:
    return da.rotation.from_axis_angle(axis / np.linalg.norm(axis), angle)


def everything_in_the_plane() -> Mechanism:
    """All rows of the plane at once; they need not close."""
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True)
    for k, at in enumerate([(1, 0.3), (2, 1.5), (3.1, 0.2), (2.2, -0.7), (1.4, 2.2)], start=1):
        m.point(str(k), *at)
    m.vector("u", 1, 0.4)
    m.link("link", "A", "1")
    m.body("plate", ["1", "2", "3", "4"], ["u"])
    m.slot("slot", "5", "1", ("2", "3"))
    m.prismatic("slide", "4", "A", "u", ("1", "2"), ("A", "5"))
    m.angle("psi", ("A", "1"), ("1", "2"))
    m.angle("phi", "u", ("3", "5"))
    m.distance("s", "2", "5")
    m.distance("x", "A", "4", along="u")
    m.gear("gear", "psi", "phi", (1.0, 2.0))
    m.rack("rack", "s", "psi", 0.4)
    m.cable("cable", ["1", "A", "5"])
    m.coincident("pin", "3", "4")
    m.drive("5.x", da.Harmonic(1.0, 2.0))
    m.drive("x", lambda t: math.exp(0.3 * t))
    m.drive("phi", da.Polynomial((0.1, 0.2, 0.3, 0.4)), by="row")
    m.drive("cable", da.Polynomial((4.0, 0.1)))
    return m


def everything_in_space() -> Mechanism:
    m = Mechanism(3)
    m.point("A", 0, 0, 0, fixed=True)
    m.vector("w", 0, 0.6, 0.8, fixed=True)
    random = np.random.default_rng(3)
    for k in range(1, 6):
        m.point(str(k), *random.normal(size=3))
    for name in "uvn":
        m.vector(name, *random.normal(size=3))
    m.body("one", ["A", "1", "2"], ["u"])
    m.body("two", ["2", "3"], ["u", "v", "n"])
    m.body("three", ["3", "4", "5", "1"])
    m.cylindrical("cylinder", "4", "1", "u")
    m.prismatic("slide", "5", "2", "v", "u", "n")
    m.universal("cross", "u", "v")
    m.planar("plane", "5", "A", "w")
    m.angle("psi", ("1", "2"), ("3", "4"), axis="n")
    m.angle("phi", "u", ("3", "4"), axis=("A", "1"))
    m.helical("screw", "3", "A", "u", "psi", 0.02)
    m.distance("s", "1", "5")
    m.distance("z", "2", "4", along="w")
    m.cable("rope", ["1", "3", "5"])
    m.drive("4.y", da.Harmonic(0.3, 1.1, 0.2))
    m.drive("v", (da.Polynomial((0.6, 0.1)), 0.0, da.Polynomial((0.8, -0.2, 0.1))))
    m.vector("i", 1, 0, 0)
    m.vector("j", 0, 1, 0)
    m.drive_frame(
        "hand", "3", ("i", "j"), position=(da.Harmonic(1.0, 1.0), 0.0, da.Polynomial((0.0, 1.0, 2.0))),
        angles=(da.Polynomial((0.1, 0.4, 0.2)), da.Harmonic(0.3, 2.0), da.Polynomial((0.2, -1.0))),
    )  # fmt: skip
    return m


@pytest.mark.parametrize("build", [everything_in_the_plane, everything_in_space])
def test_rows_and_their_rates_are_those_of_taylor_series(build: object) -> None:
    equations = build().equations()  # type: ignore[operator]
    random = np.random.default_rng(1)
    n, t = equations.nv, 0.4
    q, v, a, j = random.normal(size=(4, n))
    levels = np.array([equations.all_values(x, t, rate=rate) for rate, x in enumerate((q, v, a, j))])
    expected = series_of_rows(equations, levels)
    J = equations.jacobian(q, t)
    assert equations.residual(q, t) == pytest.approx(expected[0], abs=1e-12)
    assert J @ v - equations.velocity_terms(q, t) == pytest.approx(expected[1], abs=1e-11)
    assert J @ a - equations.acceleration_terms(q, v, t) == pytest.approx(expected[2], abs=1e-10)
    assert J @ j - equations.jerk_terms(q, v, a, t) == pytest.approx(expected[3], abs=1e-9)


def test_driven_coordinates_have_three_consistent_rates() -> None:
    for build in (everything_in_the_plane, everything_in_space):
        equations, t, h = build().equations(), 0.4, 1e-3
        for rate in range(3):
            f = [equations.known(t + k * h)[rate] for k in (-2, -1, 1, 2)]
            slope = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h)
            assert slope == pytest.approx(equations.known(t)[rate + 1], abs=2e-5)


@pytest.mark.parametrize("count", [(2, 0), (2, 1), (3, 0), (1, 2), (2, 2), (3, 1), (1, 3), (4, 0), (4, 2), (5, 0)])
def test_every_kind_of_body_in_space_has_six_dofs(count: tuple[int, int]) -> None:
    random = np.random.default_rng(7)
    m = Mechanism(3)
    points = [m.point(f"{k}", *random.normal(size=3)) for k in range(count[0])]
    vectors = [m.vector(f"u{k}", *random.normal(size=3)) for k in range(count[1])]
    m.body("body", points, vectors)
    found = m.count()
    assert found.dofs == (5 if count == (2, 0) else 6)
    assert found.redundant == _norms_beyond_the_base(m)


def _norms_beyond_the_base(m: Mechanism) -> int:
    """Vectors that are combinations of others keep their norm by that already."""
    base = {part[1] for e in m.bodies["body"].frame.base for part in e.parts}
    return sum(c.kind == "vector" and c.name not in base for c in m.coordinates.values())


def test_coplanar_and_collinear_sets_keep_their_rank() -> None:
    flat = Mechanism(3)
    flat.point("1", 0, 0, 0), flat.point("2", 1, 0, 0), flat.vector("u", 1, 1, 0), flat.vector("v", 0, 1, 0)
    flat.body("flat", ["1", "2"], ["u", "v"])
    assert flat.count().dofs == 6
    line = Mechanism(3)
    line.point("1", 0, 0, 0), line.point("2", 1, 0, 0), line.point("3", 3, 0, 0), line.vector("u", 1, 0, 0)
    line.body("line", ["1", "2", "3"], ["u"])
    assert line.count().dofs == 5
    plate = Mechanism(2)
    for name, at in {"1": (0, 0), "2": (1, 0), "3": (2, 0), "4": (1, 1)}.items():
        plate.point(name, *at)
    plate.vector("u", 1, 1)
    plate.body("plate", ["1", "2", "3", "4"], ["u"])
    assert plate.count().dofs == 3


def test_a_body_by_local_coordinates_is_where_it_is_turned_to() -> None:
    """Points beyond the base follow, also far from the guess: rows are linear and know no mirror image."""
    m = Mechanism(2)
    local = {"1": (0.0, 0.0), "2": (2.0, 0.0), "P": (1.0, 0.5)}
    m.point("1", 1, 1), m.point("2", 1, 2), m.point("P", 5, 5)
    m.body("coupler", local)
    m.vector("x", 1, 0, fixed=True)
    m.angle("psi", "x", ("1", "2"))
    m.drive("1", (1.0, 1.0)), m.drive("psi", 2.0)
    at = m.assemble()
    X = m.equations().all_values(at.q, 0.0)
    e = np.array([math.cos(2.0), math.sin(2.0)])
    place = m.equations().place("P")
    assert X[place : place + 2] == pytest.approx(np.array([1, 1]) + e + 0.5 * np.array([-e[1], e[0]]), abs=1e-12)


def test_knowing_and_adding_a_row_drive_alike() -> None:
    motions = []
    for by in ("known", "row"):
        m = Mechanism(2)
        m.point("A", 0, 0, fixed=True), m.point("B", 4, 0, fixed=True), m.point("1", 1, 1.7), m.point("2", 4.8, 2.9)
        m.vector("x", 1, 0, fixed=True)
        m.link("crank", "A", "1", 2), m.link("coupler", "1", "2", 4), m.link("rocker", "B", "2", 3)
        m.angle("psi", "x", ("A", "1"))
        m.drive("psi", da.Polynomial((1.0, 2.0)), by=by)
        motions.append(m.motion(np.linspace(0, 2, 9)))
    for name in ("1", "2", "psi"):
        for rate in range(4):
            assert motions[0].rate(name, rate) == pytest.approx(motions[1].rate(name, rate), abs=1e-9)


def test_a_screw_turns_and_advances() -> None:
    m = Mechanism(3)
    m.point("A", 0, 0, 0, fixed=True), m.vector("u", 0, 0, 1, fixed=True), m.vector("x", 1, 0, 0, fixed=True)
    m.point("N", 0, 0, 0.3), m.vector("n", 1, 0.0, 0)
    m.body("nut", ["N"], ["u", "n"])
    m.angle("psi", "x", "n", axis="u")
    m.helical("thread", "N", "A", "u", "psi", 0.05)
    m.drive("psi", da.Polynomial((0.0, 2 * math.pi)))
    motion = m.motion(np.linspace(0, 3, 31))
    assert motion["N"][-1] == pytest.approx([0, 0, 0.3 + 3 * 0.05], abs=1e-12)
    assert motion.velocity("N")[-1] == pytest.approx([0, 0, 0.05], abs=1e-12)


def test_a_cable_over_a_pulley_lifts_what_it_is_wound_up() -> None:
    m = Mechanism(2)
    m.point("W", -1, 2, fixed=True), m.point("C", 0, 2, fixed=True), m.point("L", 0, 0.5)
    m.cable("rope", ["W", "C", "L"])
    m.drive("L.x", 0.0)
    m.drive("rope", da.Polynomial((2.5, -0.2)))
    motion = m.motion([0.0, 1.0, 2.0])
    assert motion["L.y"] == pytest.approx([0.5, 0.7, 0.9], abs=1e-12)
    assert motion.velocity("L")[:, 1] == pytest.approx(0.2, abs=1e-12)


# ---- what is refused


def test_what_cannot_be_is_refused_by_name() -> None:
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("B", 4, 0, fixed=True), m.point("1", 1, 1), m.point("2", 1, 1)
    with pytest.raises(da.ModelError, match="'1' and '2' coincide"):
        m.link("link", "1", "2")
    with pytest.raises(da.ModelError, match="two points of a body coincide"):
        m.body("body", ["A", "1", "2"])
    with pytest.raises(da.ModelError, match="no direction"):
        m.vector("u", 0, 0)
    with pytest.raises(da.ModelError, match="name a point of the mechanism: 'A'"):
        m.link("link", "A", "7")
    with pytest.raises(da.ModelError, match="already"):
        m.point("A", 1, 2)
    m.link("crank", "A", "1", 2.0)
    with pytest.raises(da.ModelError, match=r"'crank: .A 1.' demands 4, which contradicts it"):
        m.link("other", "1", "A", 3.0)
    m.link("ground", "A", "B", 5.0)
    with pytest.raises(da.ModelError, match="contradict this row"):
        m.equations()
    with pytest.raises(da.ModelError, match="'A' is fixed"):
        m.drive("A", (0, 0))
    m.drive("1.x", 0.0)
    with pytest.raises(da.ModelError, match="driven already"):
        m.drive("1", (0.0, 1.0))
    with pytest.raises(da.ModelError, match="give 2 laws"):
        m.drive("2", 0.0)
    with pytest.raises(da.ModelError, match="the axis is the normal"):
        m.angle("psi", ("A", "1"), ("A", "B"), axis="u")


def test_dofs_that_nothing_drives_are_named() -> None:
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("1", 1, 0)
    m.link("bar", "A", "1")
    with pytest.raises(da.ModelError, match=r"1 DOF more than drives.*free now: 1.y"):
        m.rates()
    assert find_rates(m.equations(), free=True).v == pytest.approx([0, 0])


def test_drives_that_contradict_a_body_are_named() -> None:
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("1", 1, 0)
    m.link("bar", "A", "1")
    m.drive("1", (1.2, 0.0))
    with pytest.raises(da.AssemblyError, match=r"'bar: .A 1.' by 0.44") as error:
        m.assemble()
    assert error.value.residuals == {"bar: |A 1|": pytest.approx(0.44)}


def four_bar_at(offset: float, scale: float) -> Mechanism:
    m = Mechanism(2)
    m.point("A", offset, offset, fixed=True), m.point("B", offset + 4 * scale, offset, fixed=True)
    m.vector("x", 1, 0, fixed=True)
    m.point("1", offset + scale, offset + 1.73 * scale), m.point("2", offset + 4.83 * scale, offset + 2.88 * scale)
    m.link("crank", "A", "1", 2 * scale), m.link("coupler", "1", "2", 4 * scale), m.link("rocker", "2", "B", 3 * scale)
    m.angle("psi", "x", ("A", "1"))
    m.drive("psi", da.Polynomial((math.pi / 3, 1.0)))
    return m


@pytest.mark.parametrize(("offset", "scale"), [(0, 1e-4), (0, 1e5), (1e4, 1), (1e6, 1)])
def test_neither_units_nor_the_origin_matter(offset: float, scale: float) -> None:
    t = np.linspace(0, 6.3, 10)
    plain, other = four_bar_at(0, 1).motion(t), four_bar_at(offset, scale).motion(t)
    digits = 1e-9 + 1e-14 * offset
    assert (other["2"] - offset) / scale == pytest.approx(plain["2"], abs=digits)
    assert other.acceleration("2") / scale == pytest.approx(plain.acceleration("2"), abs=10 * digits)


def test_links_that_come_into_line_pass_straight_through() -> None:
    """A parallelogram stays one, though it could become crossed where its links are in line."""
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("B", 3, 0, fixed=True), m.vector("x", 1, 0, fixed=True)
    m.point("1", 0.5, 3**0.5 / 2), m.point("2", 3.5, 3**0.5 / 2)
    m.link("a", "A", "1"), m.link("b", "1", "2"), m.link("c", "2", "B")
    m.angle("psi", "x", ("A", "1"))
    m.drive("psi", da.Polynomial((math.pi / 3, -1.0)))
    motion = m.motion(np.linspace(0, 6.3, 60))
    assert motion["2"] == pytest.approx(motion["1"] + np.array([3, 0]), abs=1e-10)


def test_the_end_of_a_branch_is_reported_with_the_last_value() -> None:
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("1", 0.5, 0.8)
    m.link("bar", "A", "1", 1)
    m.drive("1.x", da.Polynomial((0.5, 1.0)))
    for goal, why in ((0.5, "infinite there, a dead point"), (0.75, r"'bar: .A 1.' cannot be met")):
        with pytest.raises(da.AssemblyError, match=rf"the branch ends at t = 0.5 s.*{why}") as error:
            m.motion(np.linspace(0, goal, 8))
        assert error.value.result.t[-1] < 0.5 and len(error.value.result.q) == len(error.value.result.t)
