"""Search for contact points of many shapes: pairs that are kept between calls do not change what is found."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.result.contact_scene import contact_scene

N_BODIES = 70


@pytest.fixture(scope="module")
def model():
    s = da.System("crowd")
    shapes = [da.sphere(0.2, mass=1.0), da.box(0.3, 0.4, 0.2, mass=1.0), da.cylinder(0.4, 0.1, mass=1.0)]
    bodies = [s.body(f"b{k}", shapes[k % 3]) for k in range(N_BODIES)]
    hills = da.height_field(0.05 * np.random.default_rng(1).normal(size=(20, 20)), size=(6.0, 6.0))
    s.contact("land", [(hills, s.ground.origin), s.ground.at(0, 0, -0.3)], bodies)
    s.contact("others", bodies, bodies)
    return s.compile()


def test_points_of_a_motion_are_those_of_each_configuration(model):
    rng = np.random.default_rng(0)
    position = rng.uniform((-2, -2, 0.0), (2, 2, 1.5), size=(N_BODIES, 3))
    velocity, spin = rng.normal(size=(N_BODIES, 3)), rng.normal(size=(N_BODIES, 3))
    start = Rotation.random(N_BODIES, random_state=rng)
    poses = []
    for t in np.linspace(0.0, 0.3, 40):
        R = (Rotation.from_rotvec(t * spin) * start).as_matrix().reshape(N_BODIES, 9)
        poses.append(np.hstack([R, position + t * velocity]))
    scene, poses = contact_scene(model), np.array(poses)
    names, numbers = scene.points(model, poses, 1e-3)
    assert len(names) > 200
    for k, row in enumerate(poses):
        alone, values = scene.points(model, row[None].copy(), 1e-3)
        here = names[:, 0] == k
        same = np.array_equal(names[here, 1:4], alone[:, 1:4])  # contacts and shapes; boxes may keep an axis
        assert same
        others = names[here, 2:4] % 3 != 1
        plain = ~(others == False).all(axis=1)  # noqa: E712  pairs of two boxes keep their axis
        assert numbers[here][plain] == pytest.approx(values[plain], abs=1e-12)


def test_points_are_those_of_all_pairs(model):
    """Every pair of shapes on its own, without boxes around them."""
    from dalembert import _core

    rng = np.random.default_rng(2)
    tables = model.contacts
    R = Rotation.random(N_BODIES, random_state=rng).as_matrix()
    p = rng.uniform((-1.2, -1.2, 0.0), (1.2, 1.2, 0.6), size=(N_BODIES, 3))
    poses = np.hstack([R.reshape(N_BODIES, 9), p])
    ground = np.hstack([np.eye(3).ravel(), np.zeros(3)])
    names, _ = contact_scene(model).points(model, poses[None].copy(), 1e-3)
    found = {(int(i), int(j)) for i, j in names[:, 2:4]}
    expected = set()
    for i, one in enumerate(tables.shapes):
        for j, two in enumerate(tables.shapes[:i]):
            if tables.contact_of(i, j) < 0:
                continue
            at = []
            for shape in (one, two):
                body = ground if shape.body == 0 else poses[shape.body - 1]
                at.append(shape.convex.poses(body[:9].reshape(1, 3, 3), body[None, 9:]))
            if len(_core.contacts(one.convex.solid, at[0], two.convex.solid, at[1], 1e-3)[1]):
                expected.add((i, j))
    assert {tuple(sorted(pair)) for pair in found} == {tuple(sorted(pair)) for pair in expected}
    assert len(expected) > 50


@pytest.mark.parametrize("margin", [1e-3, 0.5])
def test_the_lowest_corners_are_kept_in_every_attitude(margin):
    """Upper corners of a box over a plane have the same foot points; a margin as of a fast body takes them in, too."""
    s = da.System("die")
    die = s.body("die", da.box(0.01, 0.02, 0.03, mass=1.0))
    s.contact("floor", da.plane(), die)
    model = s.compile()
    for turn in Rotation.create_group("O"):
        R = turn.as_matrix()
        half = 0.5 * abs(R) @ [0.01, 0.02, 0.03]
        pose = np.hstack([R.ravel(), [0.0, 0.0, half[2] + 1e-4]])[None, None]
        _, numbers = contact_scene(model).points(model, pose.copy(), margin)
        assert len(numbers) == 4
        assert numbers[:, 9] == pytest.approx(1e-4, abs=1e-12)
