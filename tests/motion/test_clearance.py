"""Distances of bodies along motions: closed forms, and minimisation by SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert._core import distances
from dalembert.bodies.convex_hulls import convex_parts

Array = np.ndarray


def solid_of(shape: da.bodies.Shape):
    s = da.System()
    body = s.body("b", shape)
    return convex_parts(body)[0][0]


SHAPES = {
    "box": da.box(0.3, 0.2, 0.5, 1.0),
    "cylinder": da.cylinder(0.6, 0.15, 1.0),
    "rod": da.rod(0.8, 1.0, "y", radius=0.05),
    "slender": da.rod(0.8, 1.0, "x"),
    "sphere": da.sphere(0.2, 1.0),
    "prism": da.prism([(0, 0), (0.4, 0), (0.3, 0.3), (0, 0.2)], 0.1, mass=1.0),
}


def parameters(name: str) -> tuple[list[tuple[float, float]], object]:
    """Return bounds of parameters of the points of a shape, and the points from them, in body axes."""
    unit = (0.0, 1.0)
    if name == "box":
        return [(-0.15, 0.15), (-0.1, 0.1), (-0.25, 0.25)], lambda u: u
    if name == "sphere":
        return [
            unit,
            (0, np.pi),
            (-9, 9),
        ], lambda u: 0.2 * u[0] * np.array([np.sin(u[1]) * np.cos(u[2]), np.sin(u[1]) * np.sin(u[2]), np.cos(u[1])])
    if name == "cylinder":
        return [unit, (-9, 9), (-0.3, 0.3)], lambda u: np.array(
            [0.15 * u[0] * np.cos(u[1]), 0.15 * u[0] * np.sin(u[1]), u[2]]
        )
    if name == "rod":
        return [unit, (-9, 9), (0, 0.8)], lambda u: np.array(
            [0.05 * u[0] * np.cos(u[1]), u[2], 0.05 * u[0] * np.sin(u[1])]
        )
    if name == "slender":
        return [(0, 0.8)], lambda u: np.array([u[0], 0.0, 0.0])
    corners = np.array([(0, 0), (0.4, 0), (0.3, 0.3), (0, 0.2)])

    def point(u: Array) -> Array:  # two triangles would do; a fan from one corner
        weights = np.array([(1 - u[0]) * (1 - u[1]), u[0] * (1 - u[1]), u[0] * u[1], (1 - u[0]) * u[1]])
        return np.array([*(weights @ corners), u[2]])

    return [unit, unit, (-0.05, 0.05)], point


@pytest.mark.parametrize("first", SHAPES)
@pytest.mark.parametrize("second", SHAPES)
def test_distances_are_least_by_minimisation(first: str, second: str) -> None:
    rng = np.random.default_rng(sum(map(ord, first + second)))
    one, two = solid_of(SHAPES[first]), solid_of(SHAPES[second])
    (bounds, f), (more, g) = parameters(first), parameters(second)
    R, S = Rotation.random(2, random_state=3).as_matrix()
    p, r = np.zeros(3), rng.uniform(0.6, 1.0, 3)

    def square(u: Array) -> float:
        x = p + R @ f(u[: len(bounds)])
        y = r + S @ g(u[len(bounds) :])
        return float((x - y) @ (x - y))

    limits = bounds + more
    starts = [rng.uniform(*np.array(limits).T) for _ in range(24)]
    best = min(
        minimize(square, u, bounds=limits, method="L-BFGS-B", options={"ftol": 1e-16, "gtol": 1e-12}).fun
        for u in starts
    )
    gap, points = distances(one.solid, one.poses(R[None], p[None]), two.solid, two.poses(S[None], r[None]))
    assert gap[0] == pytest.approx(best**0.5, abs=2e-7)
    assert gap[0] <= best**0.5 + 1e-10
    assert np.linalg.norm(points[0, 0] - points[0, 1]) == pytest.approx(gap[0], abs=1e-12)


def test_boxes_side_by_side_corner_to_corner_and_in_each_other() -> None:
    s = da.System()
    one, two = (s.body(name, da.box(1.0, 1.0, 1.0, 1.0)) for name in "ab")
    s.connect("A", da.Fixed(), s.ground, one)
    s.connect("B", da.Planar("z"), s.ground, two)
    places = {"B.x": [1.5, 2.0, 1.5, 0.9, 1.0], "B.y": [0.2, 3.0, 1.5, 0.0, 0.0], "B.angle": 0.0}
    found = da.clearance(da.kinematics(s, drive=places, times=np.arange(5.0)))
    expected = [0.5, np.hypot(1.0, 2.0), np.hypot(0.5, 0.5), -0.1, 0.0]
    assert found.distance[:, 0] == pytest.approx(expected, abs=1e-12)
    assert found.pairs == (("a", "b"),)


def linkage() -> da.System:
    """Return a crank-rocker with plates for links, and a post beside it."""
    s = da.System("four-bar")
    lengths = {"crank": 1.0, "coupler": 3.0, "rocker": 3.0}
    links = {name: s.body(name, da.rod(length, 1.0, radius=0.05)) for name, length in lengths.items()}
    s.connect("A", da.Revolute("z"), s.ground, links["crank"])
    s.connect("B", da.Revolute("z"), links["crank"].at(1, 0, 0), links["coupler"])
    s.connect("C", da.Revolute("z"), links["coupler"].at(3, 0, 0), links["rocker"].at(3, 0, 0))
    s.connect("D", da.Revolute("z"), s.ground.at(4, 0, 0), links["rocker"])
    s.initial("B", position=0.5, guess=True)
    post = s.body("post", da.sphere(0.1, 1.0))
    s.connect("P", da.Fixed(), s.ground.at(0, 1.3, 0), post)
    return s


def test_the_first_that_touch_are_named_with_the_time_between_rows() -> None:
    """The crank's tip comes to the post: the end of the rod, 1 m from the axis, is 0.05 m thick."""
    motion = da.kinematics(linkage(), drive="A", values=np.linspace(0.0, 2 * np.pi, 61))
    alone = da.clearance(motion, [("crank", "post")])
    # the rim of its end passes the post
    assert alone.least.distance == pytest.approx(1.3 - np.hypot(1.0, 0.05) - 0.1, abs=1e-9)
    assert abs(alone.least.t - np.pi / 2) == pytest.approx(np.arctan(0.05), abs=1e-4)  # on either side
    assert alone.interference is None
    near = da.clearance(motion, [("crank", "post")], min_distance=0.25).interference
    assert near is not None and near.distance == pytest.approx(0.25, abs=1e-9)
    whole = da.clearance(motion)
    assert ("crank", "coupler") not in whole.pairs and ("crank", "rocker") in whole.pairs
    first = whole.interference
    assert first is not None and "post" in first.pair and "coupler" in first.pair
    assert "coupler and post touch first" in str(whole)
    # the axis of the coupler is then 0.15 m from the centre of the post
    q = motion.at(first.t).q
    pose = motion.model.pose("coupler", q)
    line, to = pose.rotation[:, 0], np.array([0, 1.3, 0]) - pose.position
    assert np.linalg.norm(to - (to @ line) * line) == pytest.approx(0.15, abs=1e-8)


def test_several_pieces_and_what_is_simplified() -> None:
    s = da.System()
    hook = s.body("hook", da.box(1.0, 0.1, 0.1, 1.0))
    hook.decorate(da.box(0.1, 1.0, 0.1), 0.45, 0.5, 0.0)
    disc = s.body("disc", da.prism([(0, 0), (1, 0), (1, 1), (0.5, 0.2), (0, 1)], 0.2, mass=1.0))
    s.connect("A", da.Fixed(), s.ground, hook)
    s.connect("B", da.Prismatic("x"), s.ground.at(0, 0.5, 0), disc)
    found = da.clearance(da.kinematics(s, drive="B", values=[1.0, 2.0]))
    assert found.distance[:, 0] == pytest.approx([0.5, 1.5], abs=1e-12)
    assert any("not convex" in note for note in found.notes)


def test_bad_input_is_named() -> None:
    motion = da.kinematics(linkage(), drive="A", values=[0.0, 0.1])
    with pytest.raises(da.ModelError, match="there is no such body"):
        da.clearance(motion, [("crank", "frame")])
    with pytest.raises(da.ModelError, match="pairs of two bodies"):
        da.clearance(motion, ["crank"])
    with pytest.raises(da.ModelError, match="a required distance"):
        da.clearance(motion, min_distance=-1.0)
    with pytest.raises(da.ModelError, match="give a Result"):
        da.clearance(linkage())
    s = da.System()
    s.connect("A", da.Revolute("z"), s.ground, s.body("bare"))
    with pytest.raises(da.ModelError, match="no two bodies have shapes"):
        da.clearance(da.kinematics(s, drive="A", values=[0.0, 0.1]))


def test_a_picture(tmp_path) -> None:
    gaps = da.clearance(da.kinematics(linkage(), drive="A", values=np.linspace(0.0, 2 * np.pi, 31)))
    axes = gaps.plot(over="A", path=tmp_path / "gaps.png")
    assert axes.get_ylabel() == "distance [m]" and (tmp_path / "gaps.png").stat().st_size > 5000
