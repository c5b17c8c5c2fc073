"""Counting against rank: the linkages that counting gets wrong, and the report that says why."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.closure import assemble, mobility
from dalembert.library import mechanisms
from dalembert.rotation import quaternion


@pytest.mark.parametrize(
    ("make", "gruebler", "redundant"),
    [
        (mechanisms.four_bar, -2, {"D": 3}),
        (mechanisms.parallelogram, -2, {"D": 3}),
        (mechanisms.slider_crank, -2, {"D": 3}),
        (mechanisms.bennett, -2, {"D": 3}),
        (mechanisms.spherical_four_bar, -2, {"D": 3}),
        (mechanisms.bricard, 0, {"P5": 1}),
        (mechanisms.sarrus, 0, {"B3": 1}),
        (mechanisms.door, -4, {"high": 5}),
        (mechanisms.andrews, -8, {"E3": 3, "E4": 3, "E6": 3}),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_linkages_that_counting_calls_immobile_have_mobility_one(make, gruebler, redundant) -> None:
    system = make()
    report = mobility(system)
    assert (report.mobility, report.gruebler, report.redundant) == (1, gruebler, redundant)
    assert report.gruebler == 6 * len(system.bodies) - sum(6 - c.element.nv for c in system.connections.values())
    assert report.permanent and report.general == 1
    # every connection of the loop shares in it
    for name in redundant:
        (loop,) = [loop for loop in report.loops if loop[-1] == name]
        assert set(report.shared[name]) == set(loop)
        assert len(report.redundant_rows[name]) == redundant[name]
    # the motion is one: P v = 0
    model = report.model
    v = np.array([report.motions[0].get(name, 0.0) for name in model.speed_names])
    assert np.abs(model.constraint_jacobian(report.q) @ v).max() < 1e-12


def test_planar_rows_out_of_the_plane_are_the_redundant_ones() -> None:
    report = mobility(mechanisms.four_bar())
    assert report.redundant_rows == {"D": ("z", "tilt_x", "tilt_y")}
    text = str(report)
    assert "mobility 1, Grübler-Kutzbach count -2 (3 redundant rows)" in text
    assert "connection D: 3 of 5 rows repeat what A, B, C already demand (z, tilt_x, tilt_y)" in text
    assert "loop closed by D: A, B, C, D" in text and "rank 2 is clear" in text and "permanent" in text


def test_bricard_singular_values_and_motion() -> None:
    report = mobility(mechanisms.bricard())
    # BENCHMARKS 3.4: 1.902, 1.902, 1.176, 1.176, 0
    np.testing.assert_allclose(report.singular_values, [1.902, 1.902, 1.176, 1.176, 0], atol=5e-4)
    # from (1 + sin p)(1 + sin r) = 1: r' = -p' at the start
    assert report.motions == [pytest.approx({"P0": 1, "P1": -1, "P2": 1, "P3": -1, "P4": 1})]
    model = report.model
    q = assemble(model, prefer={"P0": 0.5}).q
    assert q[0] == 0.5
    np.testing.assert_allclose((1 + np.sin(q[0])) * (1 + np.sin(q[1])), 1.0, atol=1e-12)
    np.testing.assert_allclose(q, [q[0], q[1], q[0], q[1], q[0]], atol=1e-12)
    assert mobility(model, q).mobility == 1


def test_a_flat_parallelogram_can_fold_two_ways_but_only_there() -> None:
    report = mobility(mechanisms.parallelogram(angle=0.0))
    assert (report.mobility, report.general, report.permanent) == (2, 1, False)
    assert report.redundant == {"D": 4} and len(report.motions) == 2
    assert "holds only at this configuration: nearby it is 1" in str(report)


def test_nearly_flat_is_called_nearly_singular() -> None:
    report = mobility(mechanisms.parallelogram(angle=1e-5))
    assert report.mobility == 1
    assert "nearly singular, close to a position with mobility 2" in str(report)


def test_a_shaky_structure_moves_to_first_order_only() -> None:
    # two rods in line between two pins: the middle can begin to move sideways, and no further
    s = da.System("shaky")
    a, b = s.body("a", da.rod(1.0, 1.0)), s.body("b", da.rod(1.0, 1.0))
    s.connect("A", da.Revolute("z"), s.ground, a)
    s.connect("B", da.Revolute("z"), a.at(1, 0, 0), b)
    s.connect("C", da.Revolute("z"), b.at(1, 0, 0), s.ground.at(2, 0, 0))
    report = mobility(s)
    assert (report.mobility, report.general, report.permanent) == (1, 0, False)
    assert report.motions == [pytest.approx({"A": -0.5, "B": 1.0})] or report.motions == [
        pytest.approx({"A": 1.0, "B": -2.0})
    ]


def test_a_triangle_is_a_structure() -> None:
    s = da.System("triangle")
    a, b = s.body("a", da.rod(1.0, 1.0)), s.body("b", da.rod(1.0, 1.0))
    s.connect("A", da.Revolute("z"), s.ground, a)
    s.connect("B", da.Revolute("z"), a.at(1, 0, 0), b)
    s.connect("C", da.Revolute("z"), b.at(1, 0, 0), s.ground.at(1, 0, 0))
    s.initial("A", position=1.0)
    s.initial("B", position=-2.0)
    report = mobility(s)
    assert (report.mobility, report.gruebler, report.motions) == (0, -3, [])


def test_open_trees_have_the_dofs_of_their_joints() -> None:
    s = da.System("arm")
    a, b = s.body("a", da.rod(1.0, 1.0, radius=0.1)), s.body("b", da.box(1, 1, 1, 1.0))
    s.connect("A", da.Spherical(), s.ground, a)
    s.connect("B", da.Prismatic("x"), a.at(1, 0, 0), b)
    report = mobility(s)
    assert (report.mobility, report.gruebler, report.redundant, report.permanent) == (4, 4, {}, True)
    assert [list(m) for m in report.motions] == [["A.wx"], ["A.wy"], ["A.wz"], ["B"]]
    assert "mobility 4, Grübler-Kutzbach count 4 (an open system)" in str(report)


def test_a_rod_between_two_balls_spins_idly() -> None:
    # RSSR: Grübler 2, one of them the spin of the rod about its own axis (Sol 1983, the ball-bar-ball connection)
    s = da.System("RSSR")
    crank, rocker = s.body("crank", da.rod(0.3, 1.0)), s.body("rocker", da.rod(0.8, 1.0))
    rod = s.body("rod", da.rod(1.2, 1.0, radius=0.01))
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Spherical(), crank.at(0.3, 0, 0), rod)
    s.connect("C", da.Spherical(), rod.at(1.2, 0, 0), rocker.at(0.8, 0, 0))
    s.connect("D", da.Revolute("y"), s.ground.at(1.0, 0.3, 0), rocker)
    s.initial("A", position=0.4)
    s.initial("D", position=-1.3)
    report = mobility(s)
    assert (report.mobility, report.gruebler, report.redundant) == (2, 2, {})
    spins = [m for m in report.motions if "A" not in m and "D" not in m]
    assert len(spins) == 1 and set(spins[0]) == {"B.wx"}


def test_rscr_of_garcia_de_jalon_and_bayo() -> None:
    # one instance of example 3.3: Grübler 6*3 - (5+3+4+5) = 1
    psi, B, u_B = 0.9, np.array([3.0, 0.5, 0.2]), "y"
    r1, r2 = np.array([np.cos(psi), np.sin(psi), 0.0]), np.array([1.2, 2.4, 1.0])
    u1 = np.array([1.0, -0.2, 0.3]) / np.linalg.norm([1.0, -0.2, 0.3])
    s = da.System("RSCR")
    inertia = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    crank, rod, rocker = (s.body(name, **inertia) for name in ("crank", "rod", "rocker"))
    # all body frames parallel to the world at the given configuration
    s.connect("R1", da.Revolute("z"), s.ground, crank)
    s.connect("S", da.Spherical(), crank.at(*r1), rod)
    s.connect("C", da.Cylindrical(u1), rod.at(*(r2 - r1)), rocker.at(*(r2 - B)))
    s.connect("R2", da.Revolute(u_B), s.ground.at(*B), rocker)
    report = mobility(s)
    assert (report.mobility, report.gruebler, report.redundant, report.permanent) == (1, 1, {}, True)
    moved = assemble(s, prefer={"R1": 0.1})
    assert moved.q[0] == 0.1 and moved.residual < 1e-12
    errors = [e for e in moved.history if 1e-13 < e < 1e-1]
    assert len(errors) < 5  # 2.3e-2, 4.3e-4, 8.6e-8 with other coordinates


def sol_four_bar(q: tuple[float, float, float]) -> da.System:
    """Return Sol's four-bar, lengths 1, 2.5 and 2, closed at the absolute angles q (from the y axis) by its pivot."""
    lengths = (1.0, 2.5, 2.0)
    end = sum(length * np.array([np.sin(a), np.cos(a), 0.0]) for length, a in zip(lengths, q, strict=True))
    s = da.System("Sol's four-bar")
    before, place = s.ground, np.zeros(3)
    for k, (length, name) in enumerate(zip(lengths, ("crank", "coupler", "rocker"), strict=True)):
        body = s.body(name, da.rod(length, 1.0, axis="y"))
        s.connect(f"q{k + 1}", da.Revolute("-z"), before.at(*place), body)
        s.initial(f"q{k + 1}", position=q[k] - (q[k - 1] if k else 0.0))
        before, place = body, np.array([0.0, length, 0.0])
    s.connect("D", da.Revolute("-z"), s.ground.at(*end), before.at(*place))
    return s


def test_sol_dead_point_is_an_unsuitable_choice_not_a_loss_of_rank() -> None:
    """Erratum of Sol 1983: lengths (1, 2.5, 2), q = (.3, .3, 2.0) keeps rank 2; q3 = .3 + pi loses it."""
    relative = np.tril(np.ones((3, 3)))  # absolute angles from relative ones
    report = mobility(sol_four_bar((0.3, 0.3, 2.0)))
    assert (report.mobility, report.general, report.permanent) == (1, 1, True)
    P = report.model.constraint_jacobian(report.q)[:2] @ np.linalg.inv(relative)
    np.testing.assert_allclose(np.linalg.svd(P, compute_uv=False), [2.719, 1.964], atol=5e-4)
    # the rocker's absolute angle is dead: crank and coupler turn, it does not
    motion = np.array([report.motions[0].get(name, 0.0) for name in ("q1", "q2", "q3")])
    assert abs((relative @ motion)[2]) < 1e-12
    assert report.determines("q1") and report.determines("q2")
    assert not report.determines(["q1", "q2"]) and not report.determines([])

    singular = mobility(sol_four_bar((0.3, 0.3, 0.3 + np.pi)))
    P = singular.model.constraint_jacobian(singular.q)[:2] @ np.linalg.inv(relative)
    np.testing.assert_allclose(np.linalg.svd(P, compute_uv=False), [3.354, 0.0], atol=5e-4)
    assert (singular.mobility, singular.general, singular.permanent) == (2, 1, False)


def test_an_unsuitable_drive_is_distinguished_from_a_suitable_one() -> None:
    # slider at its dead point: the slider cannot drive the crank, the crank can drive the slider
    s = da.System("slider at dead point")
    crank, rod, slider = (
        s.body("crank", da.rod(0.2, 1.0)),
        s.body("rod", da.rod(0.6, 1.0)),
        s.body("slider", da.box(0.1, 0.1, 0.1, 1.0)),
    )
    s.connect("slide", da.Prismatic("x"), s.ground.at(0.8, 0, 0), slider)
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Revolute("z"), crank.at(0.2, 0, 0), rod)
    s.connect("C", da.Revolute("z"), rod.at(0.6, 0, 0), slider)
    report = mobility(s)
    assert report.mobility == 1 and report.determines("A") and not report.determines("slide")


@pytest.mark.parametrize("factor", [1e-3, 1e3, 1e6])
def test_the_verdict_does_not_depend_on_units(factor: float) -> None:
    def build(unit: float) -> da.System:
        s = da.System("slider-crank in other units", gravity=(0, 0, 0))
        crank = s.body("crank", da.rod(0.2 * unit, 1.0))
        rod = s.body("rod", da.rod(0.6 * unit, 1.0))
        slider = s.body("slider", mass=1.0, inertia=np.full(3, 1e-3 * unit**2))
        s.connect("A", da.Revolute("z"), s.ground, crank)
        s.connect("B", da.Revolute("z"), crank.at(0.2 * unit, 0, 0), rod)
        s.connect("D", da.Prismatic("x"), s.ground, slider)
        s.connect("C", da.Revolute("z"), rod.at(0.6 * unit, 0, 0), slider)
        s.initial("A", position=0.7)
        s.initial("D", position=0.7 * unit)
        return s

    one, other = mobility(build(1.0)), mobility(build(factor))
    assert (one.mobility, one.redundant, one.rank) == (other.mobility, other.redundant, other.rank)
    np.testing.assert_allclose(one.singular_values, other.singular_values, atol=1e-11)
    assert one.motions[0]["D"] * factor == pytest.approx(other.motions[0]["D"])


def test_the_verdict_does_not_depend_on_place_and_attitude() -> None:
    rng = np.random.default_rng(5)
    plain = mechanisms.bennett()
    s = mechanisms.bennett()
    turn, shift = quaternion(*rng.normal(size=4)), 10 * rng.normal(size=3)
    for name in ("A", "D"):
        c = s.connections[name]
        s.remove(name)
        moved = [
            m.body.at(*(turn @ m.position + shift), rotation=turn @ m.rotation) if m.body is s.ground else m
            for m in (c.first, c.second)
        ]
        s.connect(name, c.element, *moved)
    s.initials = dict(plain.initials)
    one, other = mobility(plain), mobility(s)
    assert one.mobility == other.mobility == 1 and sum(other.redundant.values()) == 3


def test_redundancy_is_shared_only_where_load_can_pass() -> None:
    # a door in a cabin that is itself free to turn: the cabin's own joint shares nothing
    s = da.System("cabin")
    cabin, leaf = s.body("cabin", da.box(2, 2, 2, 100.0)), s.body("leaf", da.box(1, 0.1, 2, 20.0))
    s.connect("base", da.Revolute("z"), s.ground, cabin)
    s.connect("low", da.Revolute("z"), cabin.at(1, 0, 0), leaf)
    s.connect("high", da.Revolute("z"), cabin.at(1, 0, 1), leaf.at(0, 0, 1))
    report = mobility(s)
    assert report.mobility == 2 and report.redundant == {"high": 5} and report.shared == {"high": ("low", "high")}
    assert report.motions == [{"base": 1.0}, {"low": 1.0}]


def test_open_loops_are_closed_first_or_refused() -> None:
    report = mobility(mechanisms.four_bar(), state=[0.9, -0.4, 0.9])
    assert np.abs(report.model.constraint_residual(report.q)).max() < 1e-12 and report.mobility == 1
    with pytest.raises(da.AssemblyError, match="stays open"):
        mobility(mechanisms.four_bar(coupler=0.5, ground=4.0))
