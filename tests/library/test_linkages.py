"""Linkages from drawings: names, start, masses, sliders, lengths, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dalembert as da

HOEKEN = {"O": (0, 0), "C": (2, 0), "A": (-1, 0), "B": (0.5, 2), "P": (2, 4)}
LINKS = {"crank": "OA", "coupler": "ABP", "rocker": "CB"}
SLIDER = {"O": (0, 0), "A": (0.1, 0.1), "C": (0.7, 0.0)}


def world(system: da.System, *names: str) -> list[np.ndarray]:
    """Return where markers are at the start, (3,) m each."""
    result = da.simulate(system, 1e-9)
    return [result[f"{name}.position"][0] for name in names]


@pytest.mark.parametrize("plane", ["xy", "xz", "yz"])
def test_a_linkage_starts_as_it_is_drawn(plane: str) -> None:
    s = da.linkage(HOEKEN, LINKS, ground="OC", mass=1.0, plane=plane)
    axes = ["xyz".index(letter) for letter in plane]
    for link, points in LINKS.items():
        for p in points:
            (x,) = world(s, f"{link}.{p}")
            assert np.allclose(x[axes], HOEKEN[p], atol=1e-12)
            assert np.allclose(np.delete(x, axes), 0)
    assert da.mobility(s).mobility == 1
    assert np.allclose(s.gravity[axes], (0, -9.81))
    # angles are counterclockwise as drawn: that of the rocker is its own from the first axis
    assert s.initials["C"].position == pytest.approx(math.atan2(2, -1.5))


def test_a_start_value_moves_it_from_the_drawing() -> None:
    s = da.linkage(HOEKEN, LINKS, ground="OC", mass=1.0)
    s.initial("O", position=2.0)
    result = da.simulate(s, 1e-9)
    assert result["O.position"][0] == pytest.approx(2.0, abs=1e-12)
    assert not any("start" in note for note in result.stats.notes)
    a, b = result["crank.A.position"][0], result["rocker.B.position"][0]
    assert np.allclose(a, (math.cos(2), math.sin(2), 0))
    assert np.linalg.norm(a - b) == pytest.approx(2.5)


def test_where_three_links_meet_there_are_two_joints() -> None:
    points = {"O": (0, 0), "A": (1, 1), "B": (2, 0), "D": (1, 2), "E": (1.4, 3)}
    s = da.linkage(points, {"a": "OA", "b": "AB", "c": "AD", "d": "DE"}, ground="OBE")
    assert list(s.connections) == ["O", "A_b", "A_c", "B", "D", "E"]
    assert {s.connections[k].first.body.name for k in ("A_b", "A_c")} == {"a"}
    assert da.mobility(s).mobility == 3 * 4 - 2 * 6


def test_a_slider_and_a_piston_are_the_same_machine() -> None:
    block = da.linkage(
        SLIDER, {"crank": "OA", "rod": "AC"}, ground="O", sliders={"C": ("ground", (1, 0))}, mass=1.0, plane="xz"
    )
    piston = da.linkage(
        SLIDER,
        {"crank": "OA", "rod": "AC", "piston": "C"},
        ground="O",
        sliders={"piston": ("ground", (1, 0))},
        mass=1.0,
        plane="xz",
    )
    times = np.linspace(0, 0.5, 11)
    a, b = (da.simulate(s, 0.5, times=times, rtol=1e-10) for s in (block, piston))
    assert a["C_slide.position"][0] == pytest.approx(0.7)
    assert np.allclose(a["C_slide.position"], b["piston_slide.position"], atol=1e-8)
    assert np.allclose(a["C_slide.position"], a["rod.C.position"][:, 0])


def test_a_slide_on_a_link_is_counted_from_the_point_that_is_named() -> None:
    s = da.linkage(
        {"O": (0, 1), "A": (0.5, 1), "C": (0, 0), "E": (1, 2)},
        {"crank": "OA", "lever": "CE"},
        ground="OC",
        sliders={"A": ("lever", "C")},
        mass={"crank": 1.0, "lever": 2.0},
    )
    s.drive("O", position=da.Polynomial((0.0, 1.0)))
    result = da.simulate(s, 3.0, times=np.linspace(0, 3, 31))
    away = np.linalg.norm(result["crank.A.position"], axis=1)
    assert np.allclose(result["A_slide.position"], away)


def test_masses_are_those_of_rods() -> None:
    s = da.linkage(
        {"O": (0, 0), "A": (3, 0), "B": (3, 4), "D": (5, 4), "E": (7, 4)},
        {"a": "OAB", "b": "BDE"},
        ground="O",
        mass=2.0,
    )
    plate, bar = s.bodies["a"], s.bodies["b"]
    assert plate.mass == pytest.approx(24.0)
    assert bar.mass == pytest.approx(8.0)  # three points in a row are one rod
    sides = np.array([[(0, 0), (3, 0)], [(3, 0), (3, 4)], [(3, 4), (0, 0)]], dtype=float)
    at = np.linspace(0, 1, 20001)[:, None, None] * (sides[:, 1] - sides[:, 0]) + sides[:, 0]
    share = np.linalg.norm(sides[:, 1] - sides[:, 0], axis=1) / 12
    com = (at.mean(0) * share[:, None]).sum(0)
    second = ((((at - com) ** 2).sum(2)).mean(0) * share).sum() * 24
    assert np.allclose(plate.com[:2], com)
    assert plate.inertia[2, 2] == pytest.approx(second, rel=1e-4)  # of the sum over points
    assert bar.inertia[2, 2] == pytest.approx(8 * 16 / 12)


def test_lengths_rule_over_the_sketch() -> None:
    lengths = {"crank": 0.9, ("A", "B"): 2.4, ("C", "B"): 2.6}
    s = da.linkage(HOEKEN, {"crank": "OA", "coupler": "AB", "rocker": "CB", "p": "BP"}, ground="OC", lengths=lengths)
    for link, wanted in (("crank.A", 0.9), ("coupler.B", 2.4), ("rocker.B", 2.6), ("p.P", 2.5)):
        assert np.linalg.norm(s[link].position) == pytest.approx(wanted, abs=1e-9)
    guided = da.linkage(
        SLIDER,
        {"crank": "OA", "rod": "AC"},
        ground="O",
        sliders={"C": ("ground", (1, 0))},
        lengths={"crank": 0.2, "rod": 0.5},
        mass=1.0,
    )
    (c,) = world(guided, "rod.C")
    assert c[1] == pytest.approx(0.0, abs=1e-12)


def test_a_linkage_in_space_needs_its_joints() -> None:
    points = {"A": (0, 0, 0), "B": (0, 1, 1), "C": (2, 0, 1), "D": (2, 0, 0)}
    links = {"crank": "AB", "rod": "BC", "rocker": "DC"}
    joints = {
        "A": da.Revolute("x"),
        "B": da.Universal((0, 0.7071067811865476, -0.7071067811865476), (0.0, 0.7071067811865476, 0.7071067811865476)),
        "C": da.Spherical(),
        "D": (da.Revolute("y"), 0.3),
    }
    s = da.linkage(points, links, ground="AD", joints=joints, mass=1.0)
    assert da.mobility(s).mobility == 1
    b, c = world(s, "rod.B", "rocker.C")
    assert np.allclose(b, points["B"])
    assert np.allclose(c, points["C"])
    assert da.simulate(s, 1e-9)["D.position"][0] == pytest.approx(0.3)
    with pytest.raises(da.ModelError, match=r"point 'B'.*crank, rod need a joint"):
        da.linkage(points, links, ground="AD", joints={"A": da.Revolute("x")})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"points": {**HOEKEN, "B": (-1, 0)}},
            r"link 'coupler': length is 0.0; A and B coincide \(0 m apart\)",
        ),
        ({"links": {**LINKS, "rocker": "CX"}}, r"link 'rocker': points is 'X'; there is no such point"),
        ({"links": {**LINKS, "rocker": "CC"}}, r"name each point once"),
        ({"links": {**LINKS, "rocker": ""}}, r"give names of points"),
        ({"links": {"crank": "OA", "coupler": "AB", "rocker": "CB"}}, r"point 'P': .*neither a link nor ground has it"),
        ({"links": {"crank": "OA", "coupler": "BP", "rocker": "C"}}, r"link 'coupler'.*it is not connected to ground"),
        ({"links": {**LINKS, "ground": "OC"}}, r"ground is reserved"),
        (
            {"lengths": {"crank": 9.0}},
            r"lengths is 'A-O: 9 m'; no position with these .* A-O .* m instead of 9 m",
        ),
        ({"lengths": {"coupler": 1.0}}, r"a link of two points"),
        ({"lengths": {("O", "C"): 1.0}}, r"both points are on ground|two points of one link"),
        ({"lengths": {("A", "B"): -1.0}}, r"it must be above zero"),
        ({"sliders": {"B": ("coupler", (1, 0))}}, r"B is a fixed point of it"),
        ({"sliders": {"B": ("ground", (0, 0))}}, r"it must not be zero"),
        ({"sliders": {"B": ("ground", "A")}}, r"give a point of 'ground'"),
        ({"sliders": {"X": ("ground", (1, 0))}}, r"slider 'X'"),
        ({"mass": -1.0}, r"kg/m, must not be negative"),
        ({"mass": {"handle": 1.0}}, r"mass is 'handle'; it is no body: crank, coupler, rocker"),
        ({"plane": "zx"}, r"use 'xy', 'xz' or 'yz'"),
        ({"joints": {"P": da.Spherical()}}, r"points at which links meet"),
        ({"points": {**HOEKEN, "A": (0, math.nan)}}, r"point 'A'.*finite"),
    ],
)
def test_what_makes_no_linkage_is_refused_with_numbers(change: dict, words: str) -> None:
    given = {"points": HOEKEN, "links": LINKS, "ground": "OC", **change}
    with pytest.raises(da.ModelError, match=words):
        da.linkage(given.pop("points"), given.pop("links"), **given)


def test_without_masses_it_can_be_examined_and_drawn() -> None:
    s = da.linkage(HOEKEN, LINKS, ground="OC")
    assert all(body.mass == 0 for body in s.bodies.values())
    assert da.mobility(s).mobility == 1
    assert s.draw().get_xlabel() == "x [m]"


def test_names_of_points_may_be_long() -> None:
    points = {"O1": (0, 0), "A1": (1, 0), "A": (2, 1), "C": (2, 0)}
    s = da.linkage(points, {"crank": ("O1", "A1"), "slide": "A1", "bar": ("A1", "A"), "end": "AC"}, ground=("O1", "C"))
    assert list(s.connections) == ["O1", "A1_slide", "A1_bar", "A", "C"]
    with pytest.raises(da.ModelError, match=r"the point 'AC' or its letters\?"):
        da.linkage({**points, "AC": (3, 3)}, {"crank": ("O1", "A1"), "bar": ("A1", "A"), "end": "AC"}, ground=("O1",))


@pytest.mark.parametrize(
    ("make", "joint", "by"),
    [
        (da.library.peaucellier, "C", -0.8),
        (da.library.jansen, "Z", 2 * math.pi),
        (da.library.stephenson_six_bar, "O", 2 * math.pi),
        (da.library.quick_return, "O", 2 * math.pi),
        (da.library.scissor_lift, "A0", 0.6),
    ],
)
def test_without_masses_they_move_as_with_them(make: Any, joint: str, by: float) -> None:
    s, heavy = make(mass=None), make()
    start = float(s.initials[joint].position[0])
    values = start + by * np.linspace(0, 1, 21)
    motion = da.kinematics(s, drive=joint, values=values)
    heavy.drive(joint, position=da.Polynomial((start, by)))
    run = da.simulate(heavy, 1.0, times=np.linspace(0, 1, 21), rtol=1e-10)
    for name in s.bodies:
        assert np.allclose(motion[f"{name}.position"], run[f"{name}.position"], atol=1e-9)


def test_a_named_point_belongs_to_the_picture_of_its_link() -> None:
    from dalembert.view.scene.scene import Scene

    s = da.linkage({**HOEKEN, "P": (0.5, 3)}, LINKS, ground="OC")
    scene = Scene(s.compile())
    panel = next(body.panel for body in scene.bodies if body.name == "coupler")
    assert panel is not None
    assert len(panel) == 3
