"""Signed distances and contact points of convex solids, against maximized separations and coal."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation
from systems.contacts.solids import (
    SEGMENT,
    SOLIDS,
    ball_points,
    contacts,
    corners,
    cylinder,
    extent_of_points,
    pose,
    separation,
    turned,
)

from dalembert import _core
from dalembert.bodies.convex_hulls import solid_of_points

DIRECTIONS = Rotation.random(3000, random_state=0).as_matrix()[:, :, 0]
PAIRS = list(itertools.combinations_with_replacement(SOLIDS, 2))


def largest_separation(*arguments):
    """Return the signed distance as the largest separation over all normals, by search."""
    values = separation(*arguments, DIRECTIONS)
    best = -np.inf
    for n in DIRECTIONS[np.argsort(-values)[:5]]:
        across = np.linalg.svd(n[None])[2][1:]

        def normal(x, n=n, across=across):
            m = n + x @ across
            return m / np.linalg.norm(m)

        options = {"xatol": 1e-10, "fatol": 1e-13, "maxiter": 600}
        found = minimize(
            lambda x, at=normal: -separation(*arguments, at(x)), [0, 0], method="Nelder-Mead", options=options
        )
        best = max(best, -found.fun)
    return best


def place_at_distance(first, R, second, S, direction, distance):
    """Return a position of the second solid along a direction at which the signed distance is given."""
    low, high = 0.0, 3.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        gap = _core.distances(first, pose((0, 0, 0), R), second, pose(middle * direction, S))[0][0]
        low, high = (middle, high) if gap < distance else (low, middle)
    return low * direction


def random_placement(rng, first, second, distance):
    R, S = Rotation.random(2, random_state=rng).as_matrix()
    direction = rng.normal(size=3)
    direction /= np.linalg.norm(direction)
    return R, S, place_at_distance(first, R, second, S, direction, distance)


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_signed_distance_is_the_largest_separation(one, two):
    (first, extent), (second, other) = SOLIDS[one], SOLIDS[two]
    rng = np.random.default_rng(PAIRS.index((one, two)))
    for distance in (-0.03, -1e-3, 0.0, 1e-9, 1e-4, 0.02):
        R, S, p = random_placement(rng, first, second, distance)
        gap = float(_core.distances(first, pose((0, 0, 0), R), second, pose(p, S))[0][0])
        searched = largest_separation(extent, R, other, S, p)
        assert gap > searched - 1e-12  # no normal separates more
        assert gap < searched + 1e-9  # accuracy of the search


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_nearest_points_lie_on_both_surfaces(one, two):
    (first, extent), (second, other) = SOLIDS[one], SOLIDS[two]
    rng = np.random.default_rng(100 + PAIRS.index((one, two)))
    R, S, p = random_placement(rng, first, second, 0.01)
    gap, points = _core.distances(first, pose((0, 0, 0), R), second, pose(p, S))
    a, b = points[0]
    n = (b - a) / np.linalg.norm(b - a)
    assert np.linalg.norm(b - a) == pytest.approx(gap[0], abs=1e-14)
    assert n @ a == pytest.approx(extent(n @ R), abs=1e-9)  # supporting planes at both points; |b - a| is 0.01
    assert n @ (b - p) == pytest.approx(-other(-n @ S), abs=1e-9)


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_gaps_of_contacts_change_with_the_normal_velocity(one, two):
    """d(gap)/dt = n . (v_B - v_A) at the contact points, for the features of a contact."""
    (first, _), (second, _) = SOLIDS[one], SOLIDS[two]
    rng = np.random.default_rng(200 + PAIRS.index((one, two)))
    R, S, p = random_placement(rng, first, second, -1e-4)
    gap, features, numbers = contacts(first, pose((0, 0, 0), R), second, pose(p, S))
    assert gap == pytest.approx(numbers[0, 9], abs=1e-12)
    v, w = rng.normal(size=(2, 3))
    h = 1e-6
    moved = []
    for t in (-h, h):
        _, names, others = contacts(first, pose((0, 0, 0), R), second, pose(p + t * v, turned(*(t * w)) @ S))
        same = (names == features[0]).all(axis=1)
        assert same.any()
        moved.append(others[same.argmax(), 9])
    n, on_second = numbers[0, :3], numbers[0, 6:9]
    rate = n @ (v + np.cross(w, on_second - p))
    assert (moved[1] - moved[0]) / (2 * h) == pytest.approx(rate, abs=1e-6)


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_exchange_of_the_solids_reverses_the_normal(one, two):
    (first, _), (second, _) = SOLIDS[one], SOLIDS[two]
    R, S, p = random_placement(np.random.default_rng(300 + PAIRS.index((one, two))), first, second, -1e-3)
    here, there = pose((0, 0, 0), R), pose(p, S)
    gap, features, numbers = contacts(first, here, second, there)
    back, names, others = contacts(second, there, first, here)
    assert gap == pytest.approx(back, abs=1e-12)
    assert len(numbers) == len(others)
    assert numbers[0, :3] == pytest.approx(-others[0, :3], abs=1e-9)
    assert features[0].tolist() == names[0, ::-1].tolist()


def coal_shape(coal, name):
    """Return a shape of coal; None for those that it does not have."""
    if name == "hull":
        points = coal.StdVec_Vec3s()
        for x in ball_points(30):
            points.append(x)
        return coal.Convex.convexHull(points, False, None)
    make = {
        "box": lambda: coal.Box(1.0, 0.8, 0.6),
        "sphere": lambda: coal.Sphere(0.4),
        "capsule": lambda: coal.Capsule(0.2, 1.0),
        "cylinder": lambda: coal.Cylinder(0.3, 1.0),
        "disc": lambda: coal.Cylinder(0.5, 0.1),
        "brick": lambda: coal.Box(0.6, 0.4, 0.8),
    }.get(name)
    return make() if make else None


@pytest.mark.parametrize(("one", "two"), [pair for pair in PAIRS if "rounded box" not in pair])
def test_signed_distances_are_those_of_coal(one, two):
    """Random poses at gaps from -0.03 to 0.02 m; no direction of a fixed set separates more."""
    coal = pytest.importorskip("coal")
    (first, extent), (second, other) = SOLIDS[one], SOLIDS[two]
    shapes = coal_shape(coal, one), coal_shape(coal, two)
    rng = np.random.default_rng(400 + PAIRS.index((one, two)))
    request = coal.DistanceRequest()
    request.gjk_tolerance = request.epa_tolerance = 1e-9
    request.epa_max_iterations = 1000
    compared = 0
    for _ in range(40):
        R, S, p = random_placement(rng, first, second, rng.uniform(-0.03, 0.02))
        gap = float(_core.distances(first, pose((0, 0, 0), R), second, pose(p, S))[0][0])
        places = coal.Transform3s(R, np.zeros(3)), coal.Transform3s(S, p)
        expected = coal.distance(shapes[0], places[0], shapes[1], places[1], request, coal.DistanceResult())
        assert gap >= separation(extent, R, other, S, p, DIRECTIONS).max() - 1e-12
        if abs(expected) < 0.1:  # coal does not converge for some cylinders, and returns the largest number
            compared += 1
            assert gap == pytest.approx(expected, abs=1e-7)  # ten times what was seen
    assert compared >= 36


def test_deep_overlaps_of_boxes_and_hulls_are_those_of_coal():
    coal = pytest.importorskip("coal")
    rng = np.random.default_rng(5)
    overlaps = 0
    for name in ("box", "hull", "brick"):
        solid, shape = SOLIDS[name][0], coal_shape(coal, name)
        for _ in range(100):
            R, S = Rotation.random(2, random_state=rng).as_matrix()
            p = 0.3 * rng.normal(size=3)
            gap = float(_core.distances(solid, pose((0, 0, 0), R), solid, pose(p, S))[0][0])
            places = coal.Transform3s(R, np.zeros(3)), coal.Transform3s(S, p)
            expected = coal.distance(shape, places[0], shape, places[1], coal.DistanceRequest(), coal.DistanceResult())
            overlaps += expected < 0
            assert gap == pytest.approx(expected, abs=1e-6)  # coal's own tolerance
    assert overlaps > 150


def test_large_hulls_find_the_same_points_as_all_corners():
    """Hulls with many corners are searched along edges."""
    points = ball_points(400, seed=9) * np.array([1.0, 0.6, 0.3])
    solid, extent = solid_of_points(points), extent_of_points(points)
    rng = np.random.default_rng(3)
    for distance in (-0.02, -1e-4, 1e-4, 0.01):
        for _ in range(5):
            R, S, p = random_placement(rng, solid, solid, distance)
            gap = float(_core.distances(solid, pose((0, 0, 0), R), solid, pose(p, S))[0][0])
            searched = largest_separation(extent, R, extent, S, p)
            assert searched - 1e-12 < gap < searched + 1e-9


BOX, SLIM, CAPSULE = (_core.Solid.box(0.5, 0.5, 0.5), cylinder(0.5, 0.3), solid_of_points(SEGMENT, 0.2))
FLOOR = _core.Solid.half_space()
QUARTER = np.pi / 2
CUT = 0.5**0.5 - 0.5  # where the edges of a square and of the same square turned by 45 degrees cross


@pytest.mark.parametrize(
    ("first", "second", "position", "rotation", "expected"),
    [
        (BOX, BOX, (0.2, 0.1, 1), (0, 0, 0), [(-0.3, -0.4), (-0.3, 0.5), (0.5, -0.4), (0.5, 0.5)]),
        (BOX, BOX, (0, 0, 1), (0, 0, 0), [(x, y) for x in (-0.5, 0.5) for y in (-0.5, 0.5)]),
        (
            BOX,
            BOX,
            (0, 0, 1),
            (0, 0, QUARTER / 2),
            [
                (s * a, t * b)
                for a, b in ((0.5, 0.5**0.5 - 0.5), (0.5**0.5 - 0.5, 0.5))
                for s in (-1, 1)
                for t in (-1, 1)
            ],
        ),
        (BOX, SLIM, (0, 0, 1), (0, 0, 0), [(0.3, 0), (-0.3, 0), (0, 0.3), (0, -0.3)]),
        (BOX, SLIM, (0.4, 0, 1), (0, 0, 0), [(0.1, 0), (0.4, 0.3), (0.4, -0.3), (0.5, 0.08**0.5), (0.5, -(0.08**0.5))]),
        (BOX, SLIM, (0, 0, 0.8), (0, QUARTER, 0), [(-0.5, 0), (0.5, 0)]),
        (BOX, SLIM, (0.4, 0, 0.8), (0, QUARTER, 0), [(-0.1, 0), (0.5, 0)]),
        (SLIM, SLIM, (0.2, 0, 1), (0, 0, 0), [(-0.1, 0), (0.3, 0), (0.1, 0.08**0.5), (0.1, -(0.08**0.5))]),
        (SLIM, SLIM, (0, 0, 0.8), (0, QUARTER, 0), [(-0.3, 0), (0.3, 0)]),
        (BOX, CAPSULE, (0.3, 0, 0.7), (0, QUARTER, 0), [(-0.2, 0), (0.5, 0)]),
        (FLOOR, BOX, (0, 0, 0.5), (0, 0, 0), [(x, y) for x in (-0.5, 0.5) for y in (-0.5, 0.5)]),
        (FLOOR, SLIM, (0, 0, 0.3), (QUARTER, 0, 0), [(0, -0.5), (0, 0.5)]),
        (FLOOR, CAPSULE, (0, 0, 0.2), (QUARTER, 0, 0), [(0, -0.5), (0, 0.5)]),
        (FLOOR, SLIM, (0, 0, 0.5), (0, 0, 0), [(0.3, 0), (-0.3, 0), (0, 0.3), (0, -0.3)]),
    ],
)
def test_solids_that_lie_on_each_other_touch_at_the_corners_of_the_common_area(
    first, second, position, rotation, expected
):
    gap, _, numbers = contacts(first, pose(), second, pose(position, turned(*rotation)))
    assert gap == pytest.approx(0.0, abs=1e-15)
    assert numbers[:, :3] == pytest.approx(np.tile([0.0, 0.0, 1.0], (len(numbers), 1)), abs=1e-12)
    found = sorted((round(x, 9), round(y, 9)) for x, y in numbers[:, 6:8] + 0.0)
    assert np.array(found) == pytest.approx(np.array(sorted((round(x, 9), round(y, 9)) for x, y in expected)), abs=2e-9)


def test_parallel_capsules_and_cylinders_touch_along_their_common_length():
    for solid, distance in ((CAPSULE, 0.4), (SLIM, 0.6)):
        _, _, numbers = contacts(solid, pose(), solid, pose((distance, 0, 0.3)))
        assert sorted(numbers[:, 8]) == pytest.approx([-0.2, 0.5], abs=1e-12)
        assert numbers[:, 9] == pytest.approx(0.0, abs=1e-12)


def test_a_tilted_disc_touches_the_floor_at_its_lowest_point():
    disc, tilt = cylinder(0.05, 0.5), 0.2
    height = 0.5 * np.sin(tilt) + 0.05 * np.cos(tilt)
    gap, _, numbers = contacts(FLOOR, pose(), disc, pose((0, 0, height), turned(tilt, 0, 0)))
    assert gap == pytest.approx(0.0, abs=1e-15)
    assert len(numbers) == 1
    assert numbers[0, 6:9] == pytest.approx([0, -0.5 * np.cos(tilt) + 0.05 * np.sin(tilt), 0], abs=1e-12)


def test_no_contact_point_lies_deeper_than_the_signed_distance():
    """Of cylinders that touch with their rims, in poses along a fall: rims also have points where they are farthest."""
    first, second = cylinder(0.13078310, 0.11504031), cylinder(0.09828947, 0.05804113)
    R, p = turned(1.01924553, 0.08894854, 1.53776378), np.array([-0.22074137, 0.04553287, -0.09547922])
    for shift in np.concatenate([np.linspace(-1e-3, 1e-2, 45), [0.0, 1e-9, 1e-8, 1e-7, 1e-6]]):
        place = pose(p * (1.0 + shift), R)
        gap, _, numbers = contacts(first, pose(), second, place, margin=0.05)
        assert len(numbers)
        assert numbers[:, 9].min() == pytest.approx(gap, abs=2e-7 + 0.2 * max(-gap, 0.0))  # 1e-6 of the size


@pytest.mark.parametrize(("count", "size"), [(50, 1.2), (120, 1.2), (120, 9.0), (600, 0.6)])
def test_broad_phase_finds_every_overlap(count, size):
    """Few boxes are sorted along an axis, many are put into a grid; large ones and half spaces are tested with all."""
    rng = np.random.default_rng(6)
    lower = rng.uniform(-4, 4, size=(count, 3))
    boxes = np.hstack([lower, lower + rng.uniform(0.05, 0.5, size=(count, 3))])
    boxes[3::7, 3:] += size
    boxes[5, 3:] += 30.0
    boxes[7] = [-np.inf] * 3 + [np.inf, np.inf, 0.5]  # a half space
    expected = [
        [i, j]
        for i, j in itertools.combinations(range(len(boxes)), 2)
        if (boxes[i, :3] <= boxes[j, 3:]).all() and (boxes[j, :3] <= boxes[i, 3:]).all()
    ]
    assert _core.overlapping_boxes(boxes) == expected
    assert len(expected) > 20


@pytest.mark.parametrize("solid", [BOX, SLIM, CAPSULE, solid_of_points(corners(0.5, 0.4, 0.3), 0.0)])
def test_frames_that_are_not_finite_have_no_distance(solid):
    """Steppers try such states, and reject them."""
    for p in ((np.nan, 0, 0), (0, np.inf, 0)):
        assert np.isnan(_core.distances(solid, pose((0, 0, 0), np.eye(3)), BOX, pose(p, np.eye(3)))[0][0])


def test_faces_that_are_not_closed_are_refused():
    with pytest.raises(ValueError, match="not closed"):
        _core.Solid(corners(1, 1, 1), np.zeros(3), [0, 1, 3, 2], [4])
    with pytest.raises(ValueError, match="does not exist"):
        _core.Solid(corners(1, 1, 1), np.zeros(3), [0, 1, 9], [3])
