"""Mobility, counts, all assemblies and continuation of mechanisms in natural coordinates."""

from __future__ import annotations

import math
from importlib import import_module

import numpy as np
import pytest
from systems.natural_chapter import four_bar_of_points

import dalembert as da
from dalembert.closure import find_position
from dalembert.natural import Mechanism, natural_model


def driven_four_bar(angle: float = math.pi / 3) -> Mechanism:
    m = four_bar_of_points()
    m.vector("x", 1, 0, fixed=True), m.angle("psi", "x", ("A", "1"))
    m.drive("psi", angle)
    return m


def test_counts_of_planar_mechanisms() -> None:
    """Four-bar 1; its sine beside its cosine is there for convenience; the drive leaves nothing."""
    found = driven_four_bar().mobility()
    assert (found.mobility, found.gruebler, found.driven_mobility, found.general, found.convenience) == (1, 1, 0, 1, 1)
    assert found.over_constrained == 0 and len(found.redundant_rows) == 1
    assert found.motions.shape == (1, 5) and found.names[-1] == "psi"
    slider = Mechanism(2)
    slider.point("A", 0, 0, fixed=True), slider.point("1", 1, 1), slider.point("2", 3, 0)
    slider.vector("x", 1, 0, fixed=True)
    slider.link("crank", "A", "1"), slider.link("rod", "1", "2"), slider.slot("slide", "2", "A", "x")
    assert (slider.mobility().mobility, slider.mobility().gruebler) == (1, 1)
    truss = Mechanism(2)
    truss.point("A", 0, 0, fixed=True), truss.point("B", 4, 0, fixed=True), truss.point("1", 1, 2)
    truss.link("a", "A", "1"), truss.link("b", "1", "B")
    assert (truss.mobility().mobility, truss.mobility().gruebler) == (0, 0)


def test_a_fifth_parallel_link_is_one_too_many() -> None:
    """A parallelogram with a third crank counts 0 and moves; flat, it could go two ways, but only there."""
    m = Mechanism(2)
    for k, x in enumerate((0, 2, 5)):
        m.point(f"G{k}", x, 0, fixed=True), m.point(f"{k}", x + 0.5, 1)
    m.body("bar", ["0", "1", "2"])
    for k in range(3):
        m.link(f"crank {k}", f"G{k}", f"{k}")
    found = m.mobility()
    assert (found.mobility, found.gruebler, found.over_constrained) == (1, 0, 1)
    assert "because of its proportions" in str(found)
    flat = Mechanism(2)
    flat.point("A", 0, 0, fixed=True), flat.point("B", 3, 0, fixed=True), flat.point("1", 1, 0), flat.point("2", 4, 0)
    flat.link("a", "A", "1"), flat.link("b", "1", "2"), flat.link("c", "B", "2")
    here = flat.mobility()
    assert (here.mobility, here.general, here.permanent) == (2, 1, False)


def test_counts_of_mechanisms_in_space() -> None:
    """RSSR 1 (the rod's spin is no coordinate), RSCR 1, spherical four-bar -2 and yet 1, Bennett's linkage -2 and 1."""
    m = Mechanism(3)
    m.point("A", 0, 0, 0, fixed=True), m.point("B", 3, 0.5, 0.2, fixed=True)
    m.vector("uA", 0, 0, 1, fixed=True), m.vector("uB", 0, 1, 0, fixed=True)
    m.point("1", math.cos(0.9), math.sin(0.9), 0), m.point("2", 2.6, 0.5, 1.2)
    m.body("crank", ["A", "1"], ["uA"]), m.link("rod", "1", "2"), m.body("rocker", ["B", "2"], ["uB"])
    assert (m.mobility().mobility, m.mobility().gruebler) == (1, 1)
    c = Mechanism(3)
    c.point("A", 0, 0, 0, fixed=True), c.point("B", 3, 0.5, 0.2, fixed=True)
    c.vector("uA", 0, 0, 1, fixed=True), c.vector("uB", 0, 1, 0, fixed=True)
    u = np.array([1, -0.2, 0.3]) / np.linalg.norm([1, -0.2, 0.3])
    c.point("1", math.cos(0.9), math.sin(0.9), 0), c.point("2", 1.2, 2.4, 1.0), c.vector("u1", *u)
    c.point("3", *(np.array([1.2, 2.4, 1.0]) + 1.1 * u))
    c.body("crank", ["A", "1"], ["uA"]), c.body("rod", ["1", "2"], ["u1"]), c.body("rocker", ["B", "3"], ["uB", "u1"])
    c.cylindrical("C", "3", "2", "u1")
    found = c.mobility()
    assert (found.mobility, found.gruebler, found.convenience) == (1, 1, 1)
    bennett = import_module("dalembert.library.mechanisms").bennett()
    natural = natural_model(bennett).mechanism.mobility()
    assert (natural.mobility, natural.gruebler) == (1, -2)
    assert natural.gruebler == da.mobility(bennett).gruebler


@pytest.mark.parametrize("name", ["sarrus", "four_bar", "slider_crank", "bennett"])
def test_both_forms_count_alike(name: str) -> None:
    """Joints and what bodies share predict the same, in space; so do the ranks."""
    system = getattr(import_module("dalembert.library.mechanisms"), name)()
    system.drives.clear()
    jointed, natural = da.mobility(system), natural_model(system, dimension=3).mechanism.mobility()
    assert (natural.mobility, natural.general) == (jointed.mobility, jointed.general)
    assert natural.gruebler == jointed.gruebler


def test_rows_that_repeat_others_can_be_left_out() -> None:
    """As many as the rank remain, and they close the mechanism at the same place."""
    m = driven_four_bar()
    e = m.independent_equations()
    assert e.rows == m.count().rank == 4
    assert find_position(e).q == pytest.approx(m.assemble().q, abs=1e-12)


def six_bar() -> da.System:
    """Return Watt's six-bar without drives."""
    system: da.System = import_module("dalembert.library.six_bars").watt_six_bar()
    system.drives.clear()
    return system


@pytest.mark.parametrize("name", ["mechanisms.four_bar", "six_bars.watt_six_bar", "mechanisms.slider_crank"])
def test_all_assemblies_are_those_of_joints(name: str) -> None:
    """The same number of ways, with bodies at the same places."""
    room, _, made = name.partition(".")
    system = getattr(import_module(f"dalembert.library.{room}"), made)()
    system.drives.clear()
    same_assemblies(system)


@pytest.mark.parametrize("seed", range(6))
def test_all_assemblies_of_random_linkages_are_those_of_joints(seed: int) -> None:
    """A crank, and one or two pairs of bars that follow, each of which stands on either side."""
    rng = np.random.default_rng(seed)

    def near(x: float, z: float) -> tuple[float, float]:
        return x + rng.uniform(-0.3, 0.3), z + rng.uniform(-0.3, 0.3)

    points = {"A": (0.0, 0.0), "B": near(0.0, 1.0), "C": near(2.0, 2.0), "D": near(2.5, 0.0)}
    links = {"crank": "AB", "coupler": "BC", "rocker": "CD"}
    if seed % 2:
        points |= {"E": near(4.5, 2.0), "F": near(5.0, 0.0)}
        links |= {"rod": "CE", "second": "EF"}
    fixed = "ADF" if seed % 2 else "AD"
    same_assemblies(da.linkage(points, links, ground=fixed, mass=1.0))


def same_assemblies(system: da.System) -> None:
    model = system.compile()
    q = da.assemble(model).q
    first = model.forest.joints[0].name
    at = float(q[model.q_slice(first)][0])
    wanted = da.assemble(model, state=q, hold={first: at}, branches=True).branches
    driven = system.copy()
    driven.drive(first, position=at)
    natural = natural_model(driven, state=q)
    found = natural.mechanism.assemblies()
    assert len(found) == len(wanted) > 1
    pictures = [natural.coordinates_of(each) for each in wanted]
    for X in found:
        assert min(float(np.abs(X - other).max()) for other in pictures) < 1e-8


def test_all_assemblies_in_space_are_not_mirrored() -> None:
    """RSSR with its crank held: two positions of the rocker, right-handed bodies; by the angle of two circles."""
    m = Mechanism(3)
    m.point("A", 0, 0, 0, fixed=True), m.point("B", 3, 0.5, 0.2, fixed=True)
    m.vector("uA", 0, 0, 1, fixed=True), m.vector("uB", 0, 1, 0, fixed=True)
    m.point("1", math.cos(0.9), math.sin(0.9), 0), m.point("2", 2.6, 0.5, 1.2), m.vector("w", 1, 1, 0)
    m.body("crank", ["A", "1"], ["uA"]), m.link("rod", "1", "2"), m.body("rocker", ["B", "2"], ["uB", "w"])
    m.drive("1", (math.cos(0.9), math.sin(0.9), 0.0))
    found = m.assemblies()
    assert len(found) == 2
    e = m.equations()
    place = [e.speed_names.index(f"2.{axis}") for axis in "xyz"]
    B, P = np.array([3, 0.5, 0.2]), np.array([math.cos(0.9), math.sin(0.9), 0])
    r, length = math.hypot(0.4, 1.0), float(np.linalg.norm(np.array([2.6, 0.5, 1.2]) - P))
    for q in found:
        d = q[place] - B
        assert d[1] == pytest.approx(0, abs=1e-9) and float(np.hypot(d[0], d[2])) == pytest.approx(r, abs=1e-9)
        assert float(np.linalg.norm(q[place] - P)) == pytest.approx(length, abs=1e-9)


def test_what_can_still_move_has_no_list_of_assemblies() -> None:
    m = driven_four_bar()
    m.remove_drive("psi")
    with pytest.raises(da.ModelError, match=r"1 too few.*can still move"):
        m.assemblies()


def test_continuation_brings_ground_and_input_to_their_places() -> None:
    """From a given relaxed position, and from one that is found; steps end at the branch that they began on."""
    for relaxed in ({"B": (3.5, 0.3), "psi": 0.4}, None, {"B": (3.5, 0.3), "psi": 0.4, "2": (2.0, -2.0)}):
        found = driven_four_bar().continuation(relaxed)
        crossed = relaxed is not None and "2" in relaxed
        wanted = [1.919049565862, -2.160936206985] if crossed else [4.830950434138, 2.882624043473]
        assert found.position.q[2:] == pytest.approx(wanted, abs=1e-10)
        assert found.share[0] == 0.0 and found.share[-1] == 1.0 and len(found.q) == len(found.share)
        assert {"B", "psi"} <= set(found.moved)


def test_continuation_finds_what_newton_s_method_does_not() -> None:
    """A guess from which undamped steps fail: relaxed first, then led."""
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("B", 4, 0, fixed=True), m.point("1", 1, 3**0.5), m.point("2", 2.51, 0.8661)
    m.link("crank", "A", "1", 2), m.link("coupler", "1", "2", 4), m.link("rocker", "2", "B", 3)
    m.drive("1", (1, 3**0.5))
    with pytest.raises(da.AssemblyError):
        m.assemble(line_search=False, max_iterations=5)
    found = m.continuation()
    assert found.position.success
    assert abs(found.position.q[1]) == pytest.approx(2.882624043473, abs=1e-9) or found.position.q[1] < 0


def test_where_continuation_ends_is_reported() -> None:
    """Ground points too far apart: after how much of the way, and which links do not reach."""
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("B", 9, 0, fixed=True), m.point("1", 1, 1), m.point("2", 3, 1.5)
    m.link("crank", "A", "1", 2), m.link("coupler", "1", "2", 3), m.link("rocker", "2", "B", 3)
    with pytest.raises(da.AssemblyError, match=r"continuation ends after \d+.* % of the path of 'A', 'B'"):
        m.continuation({"A": (0, 0), "B": (4, 0)})
