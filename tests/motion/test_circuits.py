"""Circuits: connected sets of closed configurations, with their dead points and bifurcations."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dalembert as da
from dalembert.closure import RelativeEquations, best_driving_coordinates
from dalembert.closure.continuation.arclength import PathTracer
from dalembert.closure.scaled_equations import ScaledEquations
from dalembert.library.mechanisms import andrews, bennett, bricard, four_bar, slider_crank


def reach(cosine: float) -> float:
    """Return the angle of a triangle with that cosine."""
    return math.acos(cosine)


def limits(a: float, b: float, c: float, d: float) -> list[float]:
    """Return the sizes of the crank angles of a four-bar at which coupler b and rocker c are in line."""
    found = [(a * a + d * d - (b + s * c) ** 2) / (2 * a * d) for s in (1, -1)]
    return [reach(x) for x in found if abs(x) < 1]


# crank, coupler, rocker, ground; circuits; whether the input turns
FOUR_BARS = {
    "crank-rocker": ((1.0, 2.5, 2.0, 2.2), 2, True),
    "double crank": ((2.5, 2.0, 2.2, 1.0), 2, True),
    "double rocker, coupler shortest": ((2.2, 1.0, 2.0, 2.5), 2, False),
    "rocker-crank": ((2.0, 2.5, 1.0, 2.2), 2, False),
    "no link turns": ((2.0, 2.5, 2.2, 3.0), 1, False),
    "no link turns, ground longest": ((1.0, 1.2, 1.3, 2.0), 1, False),
}


@pytest.mark.parametrize("lengths, number, turns", FOUR_BARS.values(), ids=FOUR_BARS)
def test_circuits_of_four_bars_follow_grashof(lengths, number: int, turns: bool) -> None:
    a, b, c, d = lengths
    ends = limits(a, b, c, d)
    angle = (
        0.9
        if turns
        else (sum(ends) / 2 if len(ends) == 2 else 0.7 * ends[0] if a + d > b + c else 0.5 * (ends[0] + math.pi))
    )
    found = da.circuits(four_bar(a, b, c, d, angle=angle), "A")
    assert len(found) == number
    assert [circuit.has_full_rotation for circuit in found] == [turns] * number
    for circuit in found:
        dead = sorted(p.value for p in circuit.dead_points.get("A", ()))
        if turns:
            assert not dead
            continue
        # at a dead point of the crank, coupler and rocker are in line
        for value in dead:
            assert min(abs(abs(value) - end) for end in ends) < 1e-9
        assert len(dead) == 2
        assert circuit.range == pytest.approx((min(dead), max(dead)), abs=1e-9) or dead[1] - dead[0] > math.pi
    if not turns and number == 2:  # one circuit for each side
        assert found[0].range[0] * found[1].range[0] < 0


def test_dead_points_of_the_rocker_are_where_crank_and_coupler_are_in_line() -> None:
    a, b, c, d = 1.0, 2.5, 2.0, 2.2
    found = da.circuits(four_bar(a, b, c, d), "A")
    for circuit, sign in zip(found, (1, -1), strict=True):
        values = sorted(sign * p.value for p in circuit.dead_points["D"])
        wanted = sorted(math.pi - reach((c * c + d * d - (b + s * a) ** 2) / (2 * c * d)) for s in (1, -1))
        np.testing.assert_allclose(values, wanted, atol=1e-9)
        for point in circuit.dead_points["D"]:
            B = float(point.q[1])  # between crank and coupler
            assert abs(math.sin(B)) < 1e-8
    output = found[0].singularities("D")
    assert [s.kind for s in output] == ["output", "output"]


def test_which_assemblies_are_connected() -> None:
    s = four_bar()
    found, model = da.circuits(s, "A"), s.compile()
    branches = da.assemble(model, hold={"A": 0.4}, branches=True).branches
    assert len(branches) == 2
    at = found.at(0.4)
    assert [len(q) for q in at] == [1, 1]
    for k, q in enumerate(at):
        assert min(np.abs(model.poses(q[0]).position - model.poses(b).position).max() for b in branches) < 1e-10
        assert found.of(q[0]) == k
    assert not found.connected(*branches)
    # where no link turns, the two assemblies belong to one circuit
    rocking = four_bar(2.0, 2.5, 2.2, 3.0, angle=0.5)
    one = da.circuits(rocking, "A")
    branches = da.assemble(rocking, hold={"A": 0.4}, branches=True).branches
    assert len(one) == 1 and len(branches) == 2 and one.connected(*branches)
    assert len(one.at(0.4)[0]) == 2


def test_a_parallelogram_can_change_into_its_opposite() -> None:
    found = da.circuits(four_bar(1.0, 2.0, 1.0, 2.0), "A")
    assert len(found) == 1 and len(found[0].paths) == 2 and found[0].has_full_rotation
    spots = found[0].bifurcations
    np.testing.assert_allclose(sorted(abs(b.value) for b in spots), [0.0, math.pi], atol=1e-10)
    assert all(b.mobility == 2 and b.paths == (0, 1) and len(b.directions) == 4 for b in spots)
    # rocker to crank: 1 on the parallelogram; on the other one -(d + a) / (d - a) where all bars are in line with B
    # between A and C, and its inverse where B is beyond A
    flat = next(b for b in spots if abs(b.value) < 1)
    model = found.model
    tracer = PathTracer(ScaledEquations(RelativeEquations(model, driven=False)))
    slopes = []
    for way in flat.directions:
        v = way * tracer.closed.scales
        slopes.append(model.cut_motion(flat.q, v, np.zeros(model.nv))[1][0] / v[0])
    np.testing.assert_allclose(sorted(slopes), [-3.0, -3.0, 1.0, 1.0], atol=1e-8)


def test_a_start_in_the_bifurcation_finds_all_ways() -> None:
    found = da.circuits(four_bar(1.0, 2.0, 1.0, 2.0, angle=0.0), "A")
    assert len(found) == 1 and len(found[0].paths) == 2 and len(found[0].bifurcations) == 2


@pytest.mark.parametrize("lengths, paths, spots", [((1, 1, 2, 2), 2, 2), ((1, 1, 1, 1), 3, 3)])
def test_kite_and_rhombus(lengths, paths: int, spots: int) -> None:
    found = da.circuits(four_bar(*map(float, lengths)), "A")
    assert len(found) == 1 and len(found[0].paths) == paths and len(found[0].bifurcations) == spots


def test_no_step_leads_over_a_narrow_gap() -> None:
    # a thousandth of a millimetre short of folding flat: two circuits that come as near as 1 mrad
    near = da.circuits(four_bar(1.0, 2.5, 2.0, 3.5 - 1e-6), "A")
    assert len(near) == 2 and not near[0].bifurcations
    flat = da.circuits(four_bar(1.0, 2.5, 2.0, 3.5), "A")
    assert len(flat) == 1 and len(flat[0].bifurcations) == 1


def test_an_equal_bar_slider_crank_bifurcates_upright() -> None:
    """Pack T15: x2 (x2 - 2 x1) = 0; rank 1 of 2 where both bars are upright."""
    found = da.circuits(slider_crank(1.0, 1.0, angle=0.5), "A")
    assert len(found) == 1 and len(found[0].paths) == 2
    np.testing.assert_allclose(sorted(b.value for b in found[0].bifurcations), [-math.pi / 2, math.pi / 2], atol=1e-10)
    assert all(b.mobility == 2 for b in found[0].bifurcations)
    slides = [found[0].values("D", k) for k in range(2)]
    # m; the extreme lies between two points of the path
    assert sorted(float(np.ptp(s)) for s in slides) == pytest.approx([0.0, 4.0], abs=1e-3)
    model, q = found.model, found[0].bifurcations[0].q
    speeds = np.array(
        [model.cut_motion(q, way, np.zeros(3))[1][0] / way[0] for way in found[0].bifurcations[0].directions]
    )
    # x2 = 0, or x2 = 2 x1 = 2 cos A
    wanted = [0.0, 0.0, *[-2.0 * math.sin(found[0].bifurcations[0].value)] * 2]
    scale = found.model.length
    np.testing.assert_allclose(sorted(np.abs(speeds)), sorted(np.abs(wanted)), atol=1e-7 * max(1.0, scale))


def test_slider_crank_dead_points() -> None:
    found = da.circuits(slider_crank(0.2, 0.6), "A")
    assert len(found) == 2
    values = sorted(p.value for circuit in found for p in circuit.dead_points["D"])
    np.testing.assert_allclose(values, [-0.8, -0.4, 0.4, 0.8], atol=1e-10)
    driven = da.circuits(slider_crank(0.2, 0.6), "D")
    assert {len(c.dead_points["D"]) for c in driven} == {2} and not any(c.has_full_rotation for c in driven)
    point = driven[0].dead_points["D"][0]
    assert "A" in point.drive and "D" not in point.drive
    e = RelativeEquations(found.model, driven=False)
    assert best_driving_coordinates(e, point.q, 0.0)[0] in ("A", "B")
    # a longer crank than rod: the slider passes through, and both assemblies are one circuit
    assert len(da.circuits(slider_crank(0.6, 0.2, angle=0.1), "A")) == 2


def rssr(a: float, b: float, c: float) -> da.System:
    """Return a crank about z, a rocker about x at (2, 0, 0), and a bar of length b between their ends."""
    s = da.System("RSSR")
    crank, rocker = s.body("crank", da.rod(a, 1.0)), s.body("rocker", da.rod(c, 1.0, axis="z"))
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("D", da.Revolute("x"), s.ground.at(2.0, 0, 0), rocker)
    s.connect("bar", da.Distance(b), crank.at(a, 0, 0), rocker.at(0, 0, c))
    s.initial("A", position=0.7)
    return s


def test_rssr_dead_points() -> None:
    a, b, c = 0.5, 2.2, 1.5
    found = da.circuits(rssr(a, b, c), "A")

    # |crank end - rocker end|^2 = b^2 is P cos D + Q sin D = R: closes where P^2 + Q^2 >= R^2
    def gap(x: np.ndarray) -> np.ndarray:
        R = (2 - a * np.cos(x)) ** 2 + (a * np.sin(x)) ** 2 + c * c - b * b
        return (2 * a * c * np.sin(x)) ** 2 - R**2

    x = np.linspace(-math.pi, math.pi, 200001)
    edges = x[:-1][gap(x[:-1]) * gap(x[1:]) < 0]
    dead = sorted(p.value for circuit in found for p in circuit.dead_points.get("A", ()))
    np.testing.assert_allclose(dead, edges, atol=1e-4)
    assert np.abs(gap(np.array(dead))).max() < 1e-8
    # a bar that is just long enough
    with pytest.raises(da.ModelError, match="single configurations only"):
        da.circuits(rssr(a, 2.0, c), "A")


def test_andrews_has_a_circuit_for_each_assembly() -> None:
    found = da.circuits(andrews(), "O")
    assert len(found) == 4 and all(circuit.has_full_rotation for circuit in found)
    assert [len(q) for q in found.at(-0.0617138900142764496)] == [1] * 4


def test_spatial_loops_with_redundant_rows() -> None:
    one = da.circuits(bennett(), "A")
    assert len(one) == 1 and one[0].has_full_rotation
    box = da.circuits(bricard(), "P0")
    # (1 + sin p) (1 + sin r) = 1 has solutions for sin p >= -1/2
    assert len(box) == 1
    np.testing.assert_allclose(box[0].range, [-math.pi / 6, 7 * math.pi / 6], atol=1e-9)


def test_a_circuit_is_a_motion() -> None:
    found = da.circuits(four_bar(), "A")
    result = found[0].result()
    assert np.abs(result.model.constraint_residual(result.q)).max() < 1e-10
    assert np.abs(np.einsum("nij,nj->ni", result.model.constraint_jacobian(result.q), result.v)).max() < 1e-9
    assert result["D"].shape == result.t.shape
    sizes = np.diff(found[0].values("A"))
    assert (sizes > 0).all() or (sizes < 0).all()


def test_stops_end_a_circuit() -> None:
    s = four_bar()
    free = da.circuits(s, "A", limits=True)
    assert free[0].has_full_rotation
    crank = s.connections["A"]
    s.connections["A"] = type(crank)("A", da.Revolute("z", lower=-0.5, upper=2.0), crank.first, crank.second)
    found = da.circuits(s, "A", limits=True)
    assert found[0].range == pytest.approx((-0.5, 2.0), abs=1e-10)
    assert not found[0].closed and any("upper stop, 2 rad" in end for path in found[0].paths for end in path.ends)


def test_two_dofs_are_refused_and_can_be_held() -> None:
    from systems.linkages import five_bar

    with pytest.raises(da.ModelError, match=r"it has 2 degrees of freedom.*hold 1 of A, C"):
        da.circuits(five_bar(), "A")
    held = da.circuits(five_bar(), "A", hold={"B": -1.2})
    assert all(
        np.abs(path.q[:, held.model.coordinate_names.index("B")] + 1.2).max() < 1e-10
        for c in held
        for path in c.paths
        if "B" in held.model.coordinate_names
    )
    with pytest.raises(da.ModelError, match="cannot move"):
        da.circuits(four_bar(), "A", hold="B")


def test_bad_input_is_named() -> None:
    with pytest.raises(da.ModelError, match="no loops"):
        s = da.System()
        s.connect("A", da.Revolute("z"), s.ground, s.body("rod", da.rod(1.0, 1.0)))
        da.circuits(s)
    with pytest.raises(da.ModelError, match=r"'X'.*'A', 'B'"):
        da.circuits(four_bar(), "X")
    rocking = da.circuits(four_bar(2.0, 2.5, 2.2, 3.0, angle=0.5), "A")
    with pytest.raises(da.ModelError, match=r"out of reach: the circuits go -2\.43"):
        rocking.at(3.0)
    with pytest.raises(da.AssemblyError):
        da.circuits(four_bar(1.0, 1.0, 1.0, 5.0), "A")
    s = da.System("no length")
    crank, coupler, rocker = (s.body(name, mass=1.0, inertia=(1, 1, 1)) for name in ("crank", "coupler", "rocker"))
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Revolute("z"), crank, coupler)
    s.connect("C", da.Revolute("z"), coupler.at(2, 0, 0), rocker.at(2, 0, 0))
    s.connect("D", da.Revolute("z"), s.ground.at(1, 0, 0), rocker)
    with pytest.raises(da.ModelError, match="body 'crank': the distance of A and B is 0"):
        da.circuits(s, "A")


def test_mobility_over_a_circuit() -> None:
    s = four_bar(2.0, 2.5, 2.2, 3.0, angle=0.5)
    found = da.circuits(s, "A")
    table = da.mobility_range(s, found[0], drive="A")
    assert (table.mobility == 1).all() and not table.changes and "driven by A" in str(table)
    dead = np.array([p.q for p in found[0].dead_points["A"]])
    assert table.plot().get_xlabel() == "arclength"
    at = da.mobility_range(s, dead, drive="A")
    assert (at.driven_mobility == 1).all() and at.grip.max() < 1e-7
    flat = four_bar(1.0, 2.0, 1.0, 2.0)
    spots = [b.q for b in da.circuits(flat, "A")[0].bifurcations]
    q = np.array([da.assemble(flat).q, *spots])
    assert da.mobility_range(flat, q).mobility.tolist() == [1, 2, 2]
    assert da.mobility_range(flat, q).changes == [(1, 1, 2)]
    with pytest.raises(da.ModelError, match="motion is"):
        da.mobility_range(flat, np.zeros((2, 7)))


def test_pictures(tmp_path) -> None:
    pytest.importorskip("matplotlib")
    found = da.circuits(four_bar(2.0, 2.5, 2.2, 3.0, angle=0.5), "A")
    found.plot("D", path=tmp_path / "circuits.png")
    assert (tmp_path / "circuits.png").stat().st_size > 5000
    assert "1 circuit, input A" in str(found) and "drive" in str(found)


class FourBarInPoints:
    """A four-bar with the coordinates of its two moving points: three quadratic equations, one of them twice."""

    nq = nv = 4
    rows = 4
    speed_names = ("x1", "y1", "x2", "y2")
    row_names = ("crank", "coupler", "rocker", "rocker again")
    column_scales = np.ones(4)
    row_scales = np.ones(4)

    def __init__(self, a: float, b: float, c: float, d: float) -> None:
        self.lengths, self.d = (a, b, c), d

    def bars(self, q: np.ndarray) -> np.ndarray:
        return np.array([q[:2], q[2:] - q[:2], q[2:] - [self.d, 0], q[2:] - [self.d, 0]])

    def residual(self, q: np.ndarray, t: float) -> np.ndarray:
        a, b, c = self.lengths
        return 0.5 * ((self.bars(q) ** 2).sum(1) - np.array([a, b, c, c]) ** 2)

    def jacobian(self, q: np.ndarray, t: float) -> np.ndarray:
        one, two, three, again = self.bars(q)
        still = np.zeros(2)
        return np.array([[*one, *still], [*-two, *two], [*still, *three], [*still, *again]])

    def velocity_terms(self, q: np.ndarray, t: float) -> np.ndarray:
        return np.zeros(4)

    def acceleration_terms(self, q: np.ndarray, v: np.ndarray, t: float) -> np.ndarray:
        return -np.array([v[:2] @ v[:2], (v[2:] - v[:2]) @ (v[2:] - v[:2]), v[2:] @ v[2:], v[2:] @ v[2:]])

    def retract(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        return q + step

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        return q1 - q0


def test_any_closure_equations_serve() -> None:
    two = da.circuits(FourBarInPoints(1.0, 2.5, 2.0, 2.2), "x1", state=[0.9, 0.4, 2.0, 2.0])
    assert len(two) == 2
    for circuit in two:
        np.testing.assert_allclose(sorted(p.value for p in circuit.dead_points["x1"]), [-1.0, 1.0], atol=1e-10)
    one = da.circuits(FourBarInPoints(2.0, 2.5, 2.2, 3.0), "x1", state=[1.8, 0.8, 3.0, 2.2])
    assert len(one) == 1
    flat = da.circuits(FourBarInPoints(1.0, 2.0, 1.0, 2.0), "x1", state=[0.5, 0.8, 2.5, 0.8])
    assert len(flat) == 1 and len(flat[0].paths) == 2 and len(flat[0].bifurcations) == 2
    np.testing.assert_allclose(sorted(b.value for b in flat[0].bifurcations), [-1.0, 1.0], atol=1e-9)
    with pytest.raises(da.ModelError, match="only a circuit of a system"):
        one[0].result()
    with pytest.raises(da.ModelError, match="give coordinates near a closed"):
        da.circuits(FourBarInPoints(1.0, 2.0, 1.0, 2.0))


@pytest.mark.slow
def test_sets_with_more_dofs_are_reported_and_left_out() -> None:
    from dalembert.library.mechanisms import sarrus

    found = da.circuits(sarrus(), "A1")  # legs that are folded turn by themselves
    assert len(found) == 1 and found.wide and "more degrees of freedom" in str(found)


def test_the_input_cannot_be_held() -> None:
    with pytest.raises(da.ModelError, match="this is the input"):
        da.circuits(four_bar(), "A", hold={"A": 0.5})


def geared(ratio: float) -> da.System:
    """Return a five-bar whose cranks are geared together."""
    s = da.System("geared five-bar")
    left, right = s.body("left", da.rod(0.3, 1.0)), s.body("right", da.rod(0.25, 1.0))
    one, two = (s.body(name, da.rod(1.0, 1.0)) for name in ("one", "two"))
    s.connect("A", da.Revolute("z"), s.ground, left)
    s.connect("B", da.Revolute("z"), left.at(0.3, 0, 0), one)
    s.connect("C", da.Revolute("z"), one.at(1, 0, 0), two.at(1, 0, 0))
    s.connect("D", da.Revolute("z"), right.at(0.25, 0, 0), two)
    s.connect("E", da.Revolute("z"), s.ground.at(1, 0, 0), right)
    s.connect("mesh", da.Coupling(ratio), "A", "E")
    s.initial("B", position=1.0, guess=True)
    return s


def test_geared_wheels_are_back_after_whole_turns_of_all() -> None:
    """20 and 30 teeth: three turns of the small one; the arclength counts both."""
    from dalembert.library import Gear, planetary, spur_gears

    (pair,) = da.circuits(spur_gears(Gear(0.002, 20), Gear(0.002, 30)))
    assert pair.closed and pair.has_full_rotation
    assert pair.paths[0].s[-1] == pytest.approx(2 * math.pi * math.hypot(3, 2), rel=1e-9)
    assert len(pair.at(0.3)) == 3  # the wheel stands in three ways
    # sun 24, planets 18, ring 60 at rest: the carrier makes 2/7 of a turn, planets 20/21 on it
    (train,) = da.circuits(planetary(Gear(0.002, 24), Gear(0.002, 18)), "sun_shaft", hold="ring_shaft")
    size = math.sqrt(1 + (2 / 7) ** 2 + 3 * (20 / 21) ** 2)
    assert train.paths[0].s[-1] == pytest.approx(2 * math.pi * 21 * size, rel=1e-9)


@pytest.mark.parametrize("ratio, turns", [(-2.0, 1), (1.5, 2)])
def test_circuits_of_a_geared_five_bar(ratio: float, turns: int) -> None:
    found = da.circuits(geared(ratio), "A")
    assert len(found) == 2
    for circuit in found:
        assert circuit.closed and circuit.has_full_rotation
        assert np.ptp(circuit.values("A")) == pytest.approx(2 * math.pi * turns, rel=1e-9)
        for q in circuit.at(0.4):
            assert np.abs(da.assemble(geared(ratio), state=q).model.constraint_residual(q)).max() < 1e-9
        assert len(circuit.at(0.4)) == turns


def test_motion_that_never_closes_is_reported_with_the_reason() -> None:
    from dalembert.library import Gear, rack_drive

    s = da.System("pulleys")
    for name, place in (("a", 0), ("b", 1)):
        s.connect(name.upper(), da.Revolute("z"), s.ground.at(place, 0, 0), s.body(name, mass=1, inertia=(1, 1, 1)))
    s.connect("belt", da.Coupling(math.sqrt(2)), "A", "B")
    (way,) = da.circuits(s, max_arclength=50.0)
    assert not way.closed and "1.41421356 turns in one of A, which is not a fraction" in way.paths[0].ends[1]
    (rack,) = da.circuits(rack_drive(Gear(0.002, 20)), max_arclength=50.0)
    assert "slide moves by 0.125664 m in every turn of shaft" in rack.paths[0].ends[0]


def test_a_formula_that_has_not_come_back_does_not_close() -> None:
    """Turns of A count in s2 = 0.1 s1^2: the pose of A and the slope of B meet, the way goes on."""
    s = da.System("spiral")
    for name, place in (("a", 0), ("b", 1)):
        s.connect(name.upper(), da.Revolute("z"), s.ground.at(place, 0, 0), s.body(name, mass=1, inertia=(1, 1, 1)))
    s.connect("spiral", da.CustomCoupling("s2 - s1**2/(2*pi)"), "A", "B")
    s.initial("A", position=2 * math.pi, guess=True)
    (way,) = da.circuits(s, "A", max_arclength=30.0)
    assert not way.closed
