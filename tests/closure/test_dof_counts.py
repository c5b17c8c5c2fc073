"""DOF counted right: of positions and of speeds, with drives and clocks, in space and in the plane, at a time."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.library import mechanisms


def skate(on: str) -> da.System:
    s = da.System("skate", gravity=(0, 0, 0))
    blade = s.body("blade", mass=2.0, inertia=(0.1, 0.1, 0.1))
    if on == "joint":
        s.connect("ice", da.Planar("z"), s.ground, blade)
    else:  # three feet on the ice
        for k, place in enumerate(((0.2, 0, 0), (-0.1, 0.2, 0), (-0.1, -0.2, 0))):
            s.connect(f"foot{k}", da.PointOnPlane("z"), s.ground, blade.at(*place))
    s.connect("edge", da.KnifeEdge("y"), s.ground, blade)
    return s


@pytest.mark.parametrize("on", ["joint", "feet"])
def test_a_skate_has_three_dofs_of_position_and_two_of_speed(on: str) -> None:
    report = da.mobility(skate(on))
    assert (report.configuration_dimension, report.mobility, report.driven_mobility) == (3, 2, 2)
    assert (report.gruebler, report.planar) == (2, 2)
    assert "3 DOF of position, 2 of velocity: edge.side constrain velocities" in str(report)


def test_a_rolling_sphere_has_five_dofs_of_position_and_three_of_speed() -> None:
    s = da.System()
    ball = s.body("ball", da.sphere(0.1, 1.0))
    s.connect("floor", da.RollingSphere(0.1), s.ground, ball)
    s.place("ball", position=(0, 0, 0.1))
    report = da.mobility(s)
    assert (report.configuration_dimension, report.mobility, report.planar) == (5, 3, None)


def test_drives_of_joints_and_of_constraints_count_alike() -> None:
    crank = mechanisms.four_bar()
    crank.drive("A", position=0.6)
    report = da.mobility(crank)
    assert (report.mobility, report.driven_mobility, report.redundant_drives, report.gruebler, report.planar) == (
        1,
        0,
        (),
        -2,
        1,
    )
    assert "with 1 drive (A): 0 DOF left" in str(report)

    def excavator() -> da.System:
        s = da.System("boom")
        boom = s.body("boom", da.rod(2.0, 10.0))
        s.connect("A", da.Revolute("y"), s.ground, boom)
        s.connect("cylinder", da.Distance(1.2), s.ground.at(0.3, 0, -0.8), boom.at(1.0, 0, 0))
        return s

    still, moved = excavator(), excavator()
    moved.drive("cylinder", position=da.Polynomial((1.2, 0.1)))
    one, other = da.mobility(still), da.mobility(moved)
    assert (one.mobility, one.driven_mobility, one.gruebler, one.planar) == (0, 0, 0, 0)
    assert (other.mobility, other.driven_mobility, other.gruebler, other.planar) == (1, 0, 1, 1)
    later = da.mobility(moved, t=2.0)
    end = later.model.pose(moved["boom"].at(1.0, 0, 0), later.q).position
    assert np.linalg.norm(end - [0.3, 0, -0.8]) == pytest.approx(1.4, abs=1e-12)
    again = da.mobility(moved, state=later.q, t=2.0)  # a configuration of that time stays as it is
    assert np.abs(again.q - later.q).max() < 1e-12


def test_too_many_drives_and_drives_at_a_dead_point_are_named() -> None:
    s = mechanisms.four_bar()
    s.drive("A", position=0.6)
    report = da.mobility(s)
    angle = float(report.q[report.model.q_slice("B").start])
    s.drive("B", position=angle)
    both = da.mobility(s)
    assert (both.mobility, both.driven_mobility, both.redundant_drives) == (1, 0, ("A", "B"))
    assert "without A or B as many would be left" in str(both)


def test_a_clock_is_no_dof() -> None:
    s = da.System("rheonomic")
    arm = s.body("arm", da.rod(1.0, 1.0))
    swing = da.CustomJoint(("angle",), ("0.1*sin(3*t)", "0", "0"), [("y", "angle")])
    s.connect("A", swing, s.ground, arm)
    report = da.mobility(s, t=0.4)
    assert (
        report.mobility,
        report.configuration_dimension,
        report.driven_mobility,
        report.gruebler,
        report.planar,
    ) == (1, 1, 1, 1, 1)
    assert report.motions == [{"A.angle": 1.0}] and report.redundant_drives == ()
    assert "drive" not in str(report)
    s.connect("wire", da.Distance(1.0), s.ground.at(0.3, 0, 0.2), arm.at(1.0, 0, 0))
    bound = da.mobility(s, t=0.4)
    assert (bound.mobility, bound.gruebler, bound.planar, bound.motions) == (0, 0, 0, [])
    assert np.abs(bound.model.constraint_residual(bound.q, t=0.4)).max() < 1e-12
    assert bound.q[1] == 0.4


@pytest.mark.parametrize(
    ("make", "planar"),
    [
        (mechanisms.four_bar, 1),
        (mechanisms.parallelogram, 1),
        (mechanisms.slider_crank, 1),
        (mechanisms.andrews, 1),
        (mechanisms.bennett, None),
        (mechanisms.bricard, None),
        (mechanisms.spherical_four_bar, None),
        (mechanisms.sarrus, None),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_the_planar_count_is_given_where_motion_is_planar(make, planar) -> None:
    assert da.mobility(make()).planar == planar


def test_five_windows_count_too_little_in_the_plane_too() -> None:
    """A parallelogram with a third crank: 3 * 4 - 2 * 6 = 0 by counting, one degree of freedom in truth."""
    s = da.System("third crank")
    bar = s.body("bar", da.rod(2.0, 1.0))
    for k, x in enumerate((0.0, 1.0, 2.0)):
        crank = s.body(f"crank{k}", da.rod(0.5, 1.0))
        s.connect(f"low{k}", da.Revolute("y"), s.ground.at(x, 0, 0), crank)
        s.connect(f"high{k}", da.Revolute("y"), crank.at(0.5, 0, 0), bar.at(x, 0, 0))
    for k in range(3):
        s.initial(f"low{k}", position=-0.7)
    report = da.mobility(s)
    assert (report.mobility, report.gruebler, report.planar) == (1, -6, 0)


def test_a_ball_joint_in_a_planar_linkage_is_a_pin_in_the_plane() -> None:
    s = mechanisms.four_bar()
    pins = dict(s.connections)
    last = pins["D"]
    s.remove("D")
    s.connect("D", da.Spherical(), last.first, last.second)
    report = da.mobility(s)
    assert (report.mobility, report.planar) == (1, 1)


def test_couplings_and_constraints_take_their_part_in_the_plane() -> None:
    s = da.System("gears")
    for k in (0, 1):
        s.connect("AB"[k], da.Revolute("y"), s.ground.at(k, 0, 0), s.body("ab"[k], da.rod(0.3, 1.0)))
    s.connect("mesh", da.gear(20, 40), "A", "B")
    assert da.mobility(s).planar == 1
    s.connect("bar", da.Distance(1.2), s["a"].at(0.3, 0, 0), s["b"].at(0.3, 0, 0))
    s.initial("A", position=0.4)
    report = da.mobility(s)
    assert (report.planar, report.mobility) == (0, 0)
