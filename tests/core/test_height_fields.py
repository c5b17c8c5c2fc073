"""Contact points of solids on height fields, against planes and distances from every triangle."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from systems.contacts.solids import SOLIDS, contacts, extent_of_points, pose, separation, turned

from dalembert import _core
from dalembert.bodies.convex_hulls import solid_of_points

ROUND = [name for name in SOLIDS if name != "disc"]


def field(heights, dx=0.1, dy=0.1):
    return _core.Solid.height_field(np.ascontiguousarray(heights, dtype=float), dx, dy)


def grid(heights, dx=0.1, dy=0.1):
    """Return the nodes (nx, ny, 3) of a height field."""
    nx, ny = heights.shape
    x, y = dx * (np.arange(nx) - (nx - 1) / 2), dy * (np.arange(ny) - (ny - 1) / 2)
    return np.stack([*np.meshgrid(x, y, indexing="ij"), heights], axis=-1)


def triangles(heights):
    """Return the corners of all triangles, (m, 3, 3)."""
    x = grid(heights)
    a, b, c, d = x[:-1, :-1], x[1:, :-1], x[1:, 1:], x[:-1, 1:]
    return np.concatenate(
        [np.stack([a, b, c], axis=2).reshape(-1, 3, 3), np.stack([a, c, d], axis=2).reshape(-1, 3, 3)]
    )


def terrain(seed, count=14, size=0.06):
    rng = np.random.default_rng(seed)
    return size * rng.uniform(-1, 1, size=(count, count))


def lowest_at(solid_extent, R, height):
    """Return the z of the origin of a solid whose lowest point is at a height."""
    return height + float(solid_extent(np.array([0.0, 0.0, -1.0]) @ R))


@pytest.mark.parametrize("name", SOLIDS)
@pytest.mark.parametrize("tilt", [0.0, 0.3])
def test_a_flat_height_field_is_a_plane(name, tilt):
    """Cells of one plane leave no trace: the same gap, the same normal, no point at their edges."""
    solid, extent = SOLIDS[name]
    x = grid(np.zeros((40, 41)))
    flat, floor = field(np.tan(tilt) * x[..., 0]), _core.Solid.half_space()
    slope = turned(0, -tilt, 0)
    rng = np.random.default_rng(0)
    for _ in range(40):
        R = Rotation.random(random_state=rng).as_matrix()
        n = slope[:, 2]
        p = np.array([*rng.uniform(-0.5, 0.5, 2), 0.0])
        p[2] = (rng.uniform(-0.01, 0.0005) + float(extent(-n @ R)) - n[:2] @ p[:2]) / n[2]
        there = pose(p, R)
        gap, _, found = contacts(flat, pose(), solid, there)
        expected, _, others = contacts(floor, pose(rotation=slope), solid, there)
        assert gap == pytest.approx(expected, abs=1e-12)
        assert found[:, :3] == pytest.approx(np.tile(n, (len(found), 1)), abs=1e-9)
        assert len(found) == len(others)
        assert found[0, 9] == pytest.approx(others[0, 9], abs=1e-12)


@pytest.mark.parametrize("name", SOLIDS)
def test_distance_from_a_height_field_is_the_least_of_all_triangles(name):
    solid, extent = SOLIDS[name]
    seed = list(SOLIDS).index(name)
    rng = np.random.default_rng(seed)
    near = 0
    for case in range(12):
        heights = terrain(100 * seed + case)
        parts = [solid_of_points(corners) for corners in triangles(heights)]
        R = Rotation.random(random_state=rng).as_matrix()
        p = np.array([*rng.uniform(-0.1, 0.1, 2), lowest_at(extent, R, rng.uniform(0.01, 0.06))])
        here = pose(p, R)
        expected = min(float(_core.distances(part, pose(), solid, here)[0][0]) for part in parts)
        if expected < 1e-6:
            continue
        near += 1
        gap, _, found = contacts(field(heights), pose(), solid, here, margin=0.2)
        assert gap == pytest.approx(expected, abs=1e-9)
        n, a, b = found[0, :3], found[0, 3:6], found[0, 6:9]
        assert b - a == pytest.approx(gap * n, abs=1e-9)
    assert near >= 3


@pytest.mark.parametrize("name", SOLIDS)
def test_contacts_with_a_height_field_are_conditions_of_no_overlap(name):
    """Points of overlap have normals of the surface: the solid leaves along each of them by the depth there."""
    solid, extent = SOLIDS[name]
    rng = np.random.default_rng(list(SOLIDS).index(name))
    count = 0
    for case in range(20):
        heights = terrain(case, size=0.03)
        ground = field(heights)
        R = Rotation.random(random_state=rng).as_matrix()
        p = np.array([*rng.uniform(-0.1, 0.1, 2), lowest_at(extent, R, rng.uniform(-0.02, 0.02))])
        gap, _, found = contacts(ground, pose(), solid, pose(p, R))
        for n, a, b, depth in zip(found[:, :3], found[:, 3:6], found[:, 6:9], found[:, 9], strict=True):
            assert n[2] > 0.0
            assert b - a == pytest.approx(depth * n, abs=1e-9)
        if gap < 0.0:
            count += 1
            assert gap == pytest.approx(found[:, 9].min(), abs=1e-12)
            lift = -gap + 1e-6
            above = float(contacts(ground, pose(), solid, pose(p + lift * found[0, :3], R), margin=0.1)[0])
            assert above > gap  # less overlap after the motion along the deepest normal
    assert count > 5


def test_a_ball_over_a_ridge_touches_its_edge_and_in_a_valley_both_sides():
    x = grid(np.zeros((21, 21)))
    ball = SOLIDS["sphere"][0]  # radius 0.4
    ridge, valley = field(-np.abs(x[..., 0])), field(np.abs(x[..., 0]))
    gap, _, found = contacts(ridge, pose(), ball, pose((0.01, 0.033, 0.4)))
    assert gap == pytest.approx(np.hypot(0.01, 0.4) - 0.4, abs=1e-12)
    assert len(found) == 1
    assert found[0, 3:6] == pytest.approx([0.0, 0.033, 0.0], abs=1e-9)  # on the first, the field
    height = 0.4 * np.sqrt(2)
    gap, _, found = contacts(valley, pose(), ball, pose((0.0, 0.033, height)))
    assert gap == pytest.approx(0.0, abs=1e-12)
    assert sorted(found[:, 0].round(9)) == pytest.approx([-(0.5**0.5), 0.5**0.5], abs=1e-9)


def test_a_box_rests_on_peaks():
    heights = np.zeros((11, 11))
    for i, j in ((3, 3), (7, 3), (5, 7)):
        heights[i, j] = 0.02
    box = _core.Solid.box(0.4, 0.4, 0.05)
    gap, features, found = contacts(field(heights), pose(), box, pose((0, 0, 0.07)))
    assert gap == pytest.approx(0.0, abs=1e-12)
    assert len(found) == 3
    assert found[:, :3] == pytest.approx(np.tile([0.0, 0.0, 1.0], (3, 1)), abs=1e-12)
    assert sorted(features[:, 0] >> 2) == [3 * 11 + 3, 5 * 11 + 7, 7 * 11 + 3]  # nodes


def test_gap_of_a_rolling_ball_is_continuous():
    """The centre of a ball moves over a rough field; its gap never jumps, and grows no faster than the centre moves."""
    heights = terrain(3, count=20, size=0.02)
    ground, ball = field(heights), solid_of_points(np.zeros((1, 3)), 0.12)
    way = np.linspace(-0.6, 0.6, 2001)
    gaps = []
    for x in way:
        gaps.append(contacts(ground, pose(), ball, pose((x, 0.4 * x, 0.13)), margin=0.3)[0])
    assert np.abs(np.diff(gaps)).max() <= np.hypot(1.0, 0.4) * (way[1] - way[0]) + 1e-12


def test_separation_over_normals_is_no_larger_than_the_distance():
    """The oracle of the other tests: a triangle is convex, its distance the largest separation."""
    corners = triangles(terrain(1))[10]
    solid, extent = SOLIDS["box"]
    gap = float(_core.distances(solid_of_points(corners), pose(), solid, pose((0, 0, 1.0)))[0][0])
    n = Rotation.random(2000, random_state=0).as_matrix()[:, :, 0]
    assert separation(extent_of_points(corners), np.eye(3), extent, np.eye(3), np.array([0, 0, 1.0]), n).max() <= gap
