"""Garcia de Jalon and Bayo, chapter 3: kinematics of linkages, by numbers of a separate implementation.

The book prints no numbers for these examples; they were computed with the book's natural coordinates (points and
unit vectors, constant distances and angles), errata corrected. Here the same linkages are bodies and joints.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.linkages import bar_chain, marked_four_bar, rscr

import dalembert as da
from dalembert.library import mechanisms

Array = NDArray[np.float64]

DIGITS = 2e-11  # twelve digits are given


# ---- the four-bar: A = (0, 0), B = (4, 0), lengths 2, 4 and 3, crank at 60 degrees


def points(motion: da.DrivenMotion) -> tuple[Array, Array, Array]:
    """Return positions, velocities and accelerations (x1, y1, x2, y2) of the points 1 and 2."""
    model, q, v, a = motion.model, motion.q, motion.v, motion.a
    ends = ("crank.1", "coupler.2")
    return (
        np.concatenate([model.pose(end, q).position[:2] for end in ends]),
        np.concatenate([model.velocity(end, q, v)[3:5] for end in ends]),
        np.concatenate([model.acceleration(end, q, v, a)[3:5] for end in ends]),
    )


def test_both_branches_of_the_four_bar() -> None:
    """Examples 3.1 and 3.2."""
    model = marked_four_bar().compile()
    found = da.assemble(model, hold="A", branches=True)
    ends = [model.pose("coupler.2", q).position for q in found.branches]
    assert len(ends) == 2
    assert ends[0][:2] == pytest.approx([4.830950434138, 2.882624043473], abs=DIGITS)
    assert ends[1][:2] == pytest.approx([1.919049565862, -2.160936206985], abs=DIGITS)
    assert found.q[model.q_slice("B")][0] == pytest.approx(-0.7554323113484813, abs=1e-14)


def test_angular_rates_of_the_four_bar() -> None:
    """Example 3.5: crank at 1 rad/s; all four coordinate systems of the book must agree on this."""
    s = marked_four_bar()
    s.drive("A", position=da.Polynomial((math.radians(60), 1.0)))
    motion = da.driven_motion(s)
    rates = [motion.model.velocity(name, motion.q, motion.v)[2] for name in ("crank", "coupler", "rocker")]
    assert rates == pytest.approx([1.0, -0.143090951758, 0.543745616681], abs=DIGITS)
    assert points(motion)[1] == pytest.approx([-1.732050807569, 1.0, -1.567414188176, 0.451825656241], abs=DIGITS)


@pytest.mark.parametrize("rate", [1.0, 2.0])
def test_accelerations_with_the_angle_between_crank_and_coupler_driven(rate: float) -> None:
    """Example 3.6, with the rate of the angle that the print forgets: accelerations go with its square."""
    s = marked_four_bar()
    s.drive("B", position=da.Polynomial((-0.7554323113484813, -rate)))
    _, v, a = points(da.driven_motion(s))
    expected = np.array([-1.515234465731, 0.874821026675, -1.371206889325, 0.395266584471])
    assert v == pytest.approx(rate * expected, abs=2 * DIGITS)
    expected = np.array([-1.144218650387, -1.106797015473, -1.455950434138, -0.286760031255])
    assert a == pytest.approx(rate**2 * expected, abs=4 * DIGITS)


@pytest.mark.parametrize("law", [{"position": da.Polynomial((2 * math.sqrt(3), 0.5))}, {"speed": 0.5}])
def test_a_hydraulic_cylinder_moves_the_four_bar(law: dict[str, object]) -> None:
    """Example 3.12: the distance from 1 to B is driven, 2 sqrt(3) m and 0.5 m/s."""
    s = marked_four_bar()
    s.connect("cylinder", da.Distance(2 * math.sqrt(3)), s.ground.at(4.0, 0, 0), s["crank.1"])
    s.drive("cylinder", **law)
    _, v, a = points(da.driven_motion(s))
    assert v == pytest.approx([-0.433012701892, 0.25, -0.391853547044, 0.112956414060], abs=DIGITS)
    assert a == pytest.approx([-0.0625, -0.108253175473, -0.090899209276, -0.031490619321], abs=DIGITS)


def test_an_input_out_of_reach_is_refused() -> None:
    """Point 1 at (-2, 0): 6 m from B, and coupler and rocker are 2 m and 3 m long; 1 m is missing."""
    s = mechanisms.four_bar(crank=2.0, coupler=2.0, rocker=3.0, ground=4.0)
    s.drive("A", position=math.pi)
    with pytest.raises(
        da.AssemblyError, match=r"drives at t = 0 s .'A' 3.14159 rad.*cannot go beyond 4.39457 rad"
    ) as error:
        da.driven_motion(s)
    assert error.value.residuals["D"] == pytest.approx(1.0, abs=1e-9)


def test_the_slider_crank_turns_full_circle() -> None:
    """Example 3.8: L2 = 1, L3 = 3, in steps of a degree; cosines alone fail at dead points, all equations never."""
    s = mechanisms.slider_crank(1.0, 3.0)
    s.drive("A", position=da.Polynomial((0.0, 1.0)))
    model = s.compile()
    q = da.driven_motion(model, 0.7).q
    for degree in range(361):
        angle = math.radians(degree)
        motion = da.driven_motion(model, angle, state=q)
        q = motion.q
        place = math.cos(angle) + math.sqrt(9.0 - math.sin(angle) ** 2)
        assert model.pose("slider", q).position == pytest.approx([place, 0, 0], abs=1e-10)
        speed = -math.sin(angle) - math.sin(angle) * math.cos(angle) / math.sqrt(9.0 - math.sin(angle) ** 2)
        assert model.velocity("slider", q, motion.v)[3] == pytest.approx(speed, abs=1e-10)


# ---- the spatial RSCR


def natural_coordinates(model: da.Model, q: Array) -> Array:
    """Return r1, r2, r3, u1 (12,) of the book."""
    r1, r2, r3, tip = (model.pose(name, q).position for name in ("crank.1", "rod.2", "rocker.3", "rod.tip"))
    return np.concatenate([r1, r2, r3, tip - r2])


def book_equations(x: Array, psi: float, k: Array) -> Array:
    """The 13 equations of example 3.3."""
    r1, r2, r3, u1 = x.reshape(4, 3)
    B, u_A, u_B = np.array([3.0, 0.5, 0.2]), np.array([0.0, 0, 1]), np.array([0.0, 1, 0])
    left = [
        r1[0], r1 @ r1, r1 @ u_A, (r2 - r1) @ (r2 - r1), (r2 - r1) @ u1, u1 @ u1,
        (r3 - B) @ (r3 - B), (r3 - B) @ u1, (r3 - B) @ u_B, u_B @ u1,
    ]  # fmt: skip
    right = k * np.where(np.arange(10) == 0, math.cos(psi), 1.0)
    return np.concatenate([left - right, np.cross(r3 - r2, u1)])


def test_the_rscr_closes_by_the_book_s_own_equations() -> None:
    """Rank 12 of 13, Grübler 1; driven to psi + 0.1, bodies and joints fulfil the equations of points and vectors."""
    s = rscr()
    model = s.compile()
    start = natural_coordinates(model, model.initial_state().q)
    k = book_equations(start, 0.9, np.zeros(10))[:10]
    k[0] /= math.cos(0.9)
    assert np.abs(book_equations(start, 0.9, k)).max() < 1e-14
    h = 1e-6
    sides = [[book_equations(start + sign * h * e, 0.9, k) for e in np.eye(12)] for sign in (1, -1)]
    J = (np.array(sides[0]) - np.array(sides[1])) / (2 * h)
    singular = np.linalg.svd(J, compute_uv=False)
    assert singular[-1] > 0.1  # rank 12
    report = da.mobility(model)
    assert (report.mobility, report.gruebler, report.redundant) == (1, 1, {})

    s.drive("R1", position=da.Polynomial((0.0, 1.0)))
    model = s.compile()
    motion = da.driven_motion(model, 0.1)
    x = natural_coordinates(model, motion.q)
    assert np.abs(book_equations(x, 1.0, k)).max() < 1e-12
    # rates by the book: its Jacobian on rates of points and vectors, with the crank's angle as input
    q, v = motion.q, motion.v
    rate = np.concatenate(
        [model.velocity(name, q, v)[3:] for name in ("crank.1", "rod.2", "rocker.3")]
        + [model.velocity("rod.tip", q, v)[3:] - model.velocity("rod.2", q, v)[3:]]
    )
    change = (book_equations(x + h * rate, 1.0 + h, k) - book_equations(x - h * rate, 1.0 - h, k)) / (2 * h)
    assert np.abs(change).max() < 1e-8
    assert all(marks.all() for marks in model.connection_loads(q, v, t=0.1).determined.values())


# ---- the spherical four-bar


def test_the_spherical_four_bar_has_three_rows_too_many() -> None:
    """Example 3.9: arcs 40, 70, 60 and 80 degrees; Grübler -2, one degree of freedom, three excess equations."""
    arcs = [math.radians(x) for x in (40, 70, 60, 80)]
    s = mechanisms.spherical_four_bar(arcs)
    report = da.mobility(s)
    assert (report.mobility, report.gruebler, report.redundant) == (1, -2, {"D": 3}) and report.permanent
    assert report.shared["D"] == ("A", "B", "C", "D")

    def axes(q: Array) -> Array:
        """Directions of the four axes."""
        found = []
        for name in "ABCD":
            marker = s.connections[name].first
            found.append(report.model.pose(marker, q).rotation[:, 2])
        return np.array(found)

    # 15 degrees on: axes keep their arcs, and still meet in one point
    start = report.q
    at = da.assemble(report.model, state=start, prefer={"A": float(start[0]) + math.radians(15)})
    assert at.q[0] == pytest.approx(float(start[0]) + math.radians(15)) and at.residual < 1e-12
    u = axes(at.q)
    assert [math.acos(u[i] @ u[(i + 1) % 4]) for i in range(4)] == pytest.approx(arcs, abs=1e-12)
    for name in "ABCD":
        assert report.model.pose(s.connections[name].first, at.q).position == pytest.approx([0, 0, 0], abs=1e-12)
    # forces through the common point are shared, all three of them; moments about it are not
    loads = report.model.connection_loads(at.q, np.zeros(3))
    for name in "ABCD":
        assert loads.determined[name].tolist() == [True, True, True, False, False, False]


# ---- the subspace of motions


def rates_of_points(s: da.System, points: list[tuple[float, float]], chosen: list[int]) -> Array:
    """Return velocities of the inner points (2 n, f) by those of chosen components, from R in joint coordinates."""
    space = da.motion_space(s)
    model = s.compile()
    ends = [s[f"bar{k}"].at(math.dist(points[k - 1], points[k]), 0, 0) for k in range(1, len(points))]
    J = np.vstack([model.jacobian(end, space.q)[3:5] for end in ends]) @ space.R
    return J @ np.linalg.inv(J[chosen])


def test_subspaces_of_motion_by_joints() -> None:
    """Examples 3.10, 3.11 and 3.14 (components corrected): R of joint coordinates, seen at the points of the book."""
    four = [(0.0, 0.0), (1.0, math.sqrt(3)), (4.830950434138, 2.882624043473), (4.0, 0.0)]
    R = rates_of_points(bar_chain(four, closed=True), four, [0])[:4, 0]
    assert pytest.approx([1, -0.577350269190, 0.904947003475, -0.260861664258], abs=1e-9) == R
    R = rates_of_points(bar_chain(four[:3], closed=False), four[:3], [2, 3])
    wanted = [[1.209773821307, 0.363338916601], [-0.698463241390, -0.209773821307], [1, 0], [0, 1]]
    assert pytest.approx(np.array(wanted), abs=1e-9) == R
    five = [(0.0, 0.0), (-0.5, 1.8), (1.6, 3.2), (4.3, 1.9), (4.0, 0.0)]
    R = rates_of_points(bar_chain(five, closed=True), five, [3, 4])[:6]
    wanted = [
        [0.96875, 0.907894736842], [0.269097222222, 0.252192982456], [0.481481481481, 1.076023391813],
        [1, 0], [0, 1], [0, -0.157894736842],
    ]  # fmt: skip
    assert pytest.approx(np.array(wanted), abs=1e-9) == R


def test_the_same_linkages_compiled_into_points() -> None:
    """The natural form of these systems has the counts of the book, or fewer: links share their points."""
    for s, counts in (
        (marked_four_bar(), (4, 3, 3, 1)),
        (bar_chain([(0.0, 0.0), (-0.5, 1.8), (1.6, 3.2), (4.3, 1.9), (4.0, 0.0)], closed=True), (6, 4, 4, 2)),
    ):
        count = s.compile(form="natural").mechanism.count()
        assert (count.coordinates, count.equations, count.rank, count.dofs) == counts
    spherical = mechanisms.spherical_four_bar([math.radians(x) for x in (40, 70, 60, 80)])
    count = spherical.compile(form="natural").mechanism.count()
    assert count.dofs == 1 and count.redundant == 0  # all joints share the centre
    assert rscr().compile(form="natural").mechanism.count().dofs == 1


def test_equal_bars_of_a_slider_crank_fold_by_joints() -> None:
    """T15: both bars vertical, the slider under the crank's bearing: two ways to go on there, one nearby."""
    s = da.System("equal bars")
    crank, rod, block = s.body("crank"), s.body("rod"), s.body("block")
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Revolute("z"), crank.at(1, 0, 0), rod)
    s.connect("C", da.Revolute("z"), rod.at(1, 0, 0), block)
    s.connect("D", da.Prismatic("x"), s.ground, block)
    q = da.assemble(s, state=[math.pi / 2, math.pi, math.pi / 2], hold=["A"]).q
    here = da.mobility(s, q)
    assert (here.mobility, here.general, here.permanent) == (2, 1, False)
    natural = s.compile(form="natural").mechanism
    folded = natural.equations().start()
    free = natural.mobility(folded)
    assert free.general == 1
    # a little aside on either branch: the block goes along with the crank, or stays under the bearing
    for guess, slide in (([1.5, -3.0, 1.5], 2 * math.cos(1.5)), ([1.5, math.pi, -1.5 - math.pi], 0.0)):
        found = da.assemble(s, state=guess, hold=["A"]).q
        assert s.compile().pose("block", found).position[0] == pytest.approx(slide, abs=1e-9)
        assert da.mobility(s, found).mobility == 1
