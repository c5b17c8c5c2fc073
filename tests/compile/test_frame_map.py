"""The frame map between the user's frames and the kernels' is exact in both directions."""

from __future__ import annotations

import numpy as np
import pytest
from systems.random_trees import every_joint_both_ways, random_system

import dalembert as da
from dalembert.compile.frames import FrameMap


@pytest.mark.parametrize("seed", range(6))
def test_frames_make_the_round_trip(seed: int) -> None:
    rng = np.random.default_rng(seed)
    forest = random_system(rng, 12).forest()
    frames = FrameMap.of(forest)
    for body in range(forest.nb + 1):
        R, p = da.quaternion(*rng.normal(size=4)), rng.normal(size=3)
        back = frames.to_user(body, *frames.to_kernel(body, R, p))
        assert np.allclose(back[0], R, atol=1e-14) and np.allclose(back[1], p, atol=1e-14)


def test_kernel_frames_sit_at_the_markers_with_the_axis_along_z() -> None:
    forest = every_joint_both_ways(np.random.default_rng(1)).forest()
    frames = FrameMap.of(forest)
    for k, joint in enumerate(forest.joints):
        R, p = frames.to_user(k + 1, np.eye(3), np.zeros(3))
        assert np.allclose(p, joint.outboard.position, atol=1e-14)
        axis = getattr(joint.element, "axis", None)
        if axis is not None:
            z = joint.outboard.rotation.T @ R[:, 2]
            assert np.allclose(z, -axis if joint.reversed else axis, atol=1e-14)


def test_aligned_axes_stay_exact() -> None:
    s = da.System()
    s.connect("A", da.Revolute("y"), s.ground, s.body("b", da.rod(1, 1)))
    assert set(np.abs(FrameMap.of(s.forest()).R_FB).ravel()) == {0.0, 1.0}


def massless_leaf() -> da.System:
    s = da.System()
    arm = s.body("arm", da.rod(1, 1))
    leaf = s.body("leaf")
    s.connect("A", da.Revolute("y"), s.ground, arm)
    s.connect("B", da.Revolute("y"), arm.at(1), leaf)
    return s


def test_a_massless_leaf_has_a_pose_but_no_acceleration() -> None:
    model = massless_leaf().compile()
    assert np.allclose(model.pose("leaf", [0.3, 0.4]).position, [np.cos(0.3), 0, -np.sin(0.3)])
    assert model.mass_matrix([0.3, 0.4])[1].tolist() == [0.0, 0.0]
    for solve in (model.forward_dynamics, lambda q, v: model.dynamics(0.0, q, v)):
        with pytest.raises(da.SingularityError, match="nothing resists along 'B'"):
            solve([0.3, 0.4], [0.0, 0.0])
    with pytest.raises(da.SingularityError, match="nothing resists along 'B'"):
        da.simulate(model, 0.1)


def test_a_point_mass_on_its_own_axis_is_refused() -> None:
    s = da.System()
    s.connect("A", da.Revolute("x"), s.ground, s.body("rod", da.rod(1, 1)))  # slender, turning about itself
    with pytest.raises(da.ModelError, match=r"body 'rod'.*'A'"):
        s.compile()
    s = da.System()
    s.connect("A", da.Spherical(), s.ground, s.body("rod", da.rod(1, 1)))
    with pytest.raises(da.ModelError, match=r"body 'rod'.*'A\.w"):
        s.compile()


def test_massless_bodies_inside_are_allowed() -> None:
    s = massless_leaf()
    tip = s.body("tip", da.sphere(0.1, 1))
    s.connect("C", da.Fixed(), s["leaf"].at(0.5), tip)
    model = s.compile()
    q = np.array([0.3, 0.4])
    assert np.allclose(model.mass_matrix(q) @ model.forward_dynamics(q, q), -model.bias_forces(q, q), atol=1e-12)


def test_a_singular_configuration_names_its_dofs() -> None:
    """Two links with parallel axes, the outer without inertia of its own: regular, except when folded onto the axis."""
    s = da.System(gravity=(0, 0, 0))
    cross = s.body("cross")
    disc = s.body("disc", mass=1, com=(0, 0, 0.0), inertia=(0, 0, 0))
    s.connect("A", da.Revolute("z"), s.ground, cross)
    s.connect("B", da.Prismatic("x"), cross, disc)
    model = s.compile()
    assert np.isfinite(model.forward_dynamics([0.0, 0.5], [1.0, 0.0])).all()
    with pytest.raises(da.SingularityError, match="'A'"):
        model.forward_dynamics([0.0, 0.0], [1.0, 0.0], [1.0, 0.0])


def test_later_changes_of_the_description_do_not_reach_the_model() -> None:
    s = da.System()
    body = s.body("b", da.rod(1, 1))
    s.connect("A", da.Revolute("y"), s.ground, body)
    model = s.compile()
    body.mass = 7.0
    assert model.mass_matrix([0.0])[0, 0] == pytest.approx(1 / 3)


def test_changed_bodies_are_checked_again() -> None:
    s = da.System()
    body = s.body("b", da.rod(1, 1))
    s.connect("A", da.Revolute("y"), s.ground, body)
    body.mass = -1.0
    with pytest.raises(da.ModelError, match="mass"):
        s.compile()
