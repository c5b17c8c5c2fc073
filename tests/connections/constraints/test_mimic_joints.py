"""Joints that mimic others: the compiled model obeys the rule."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import dalembert as da
from dalembert.connections.constraints.mimic import Mimic
from dalembert.io import load_urdf

Array = NDArray[np.float64]

GRIPPER = """
<robot name="gripper">
  <link name="base"/>
  <link name="wrist"><inertial><origin xyz="0.1 0.02 0"/><mass value="2"/>
    <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="0" iyz="0"/></inertial></link>
  <link name="left"><inertial><origin xyz="0.05 0.01 0.02"/><mass value="0.3"/>
    <inertia ixx="0.001" iyy="0.002" izz="0.0015" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><origin xyz="0.05 -0.01 0"/><mass value="0.4"/>
    <inertia ixx="0.002" iyy="0.001" izz="0.0015" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="pusher"><inertial><mass value="0.2"/>
    <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="wrist"/><axis xyz="0 1 0"/></joint>
  <joint name="finger" type="continuous"><parent link="wrist"/><child link="left"/><origin xyz="0.2 0.03 0"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="thumb" type="continuous"><parent link="wrist"/><child link="right"/><origin xyz="0.2 -0.03 0"/>
    <axis xyz="0 0 1"/><mimic joint="finger" multiplier="-1.5" offset="0.2"/></joint>
  <joint name="push" type="prismatic"><parent link="right"/><child link="pusher"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/><mimic joint="thumb" multiplier="0.04" offset="0.01"/></joint>
</robot>
"""


def reduction(model: da.Model) -> tuple[Array, Array]:
    """Return B and b of q = B z + b, z the angles of `turn` and `finger`, written down by hand."""
    rows = {
        "turn": ([1.0, 0.0], 0.0),
        "finger": ([0.0, 1.0], 0.0),
        "thumb": ([0.0, -1.5], 0.2),
        "push": ([0.0, 0.04 * -1.5], 0.04 * 0.2 + 0.01),
    }
    chosen = [rows[name] for name in model.speed_names]
    return np.array([x[0] for x in chosen]), np.array([x[1] for x in chosen])


def test_a_gripper_moves_as_the_reduced_one() -> None:
    system = load_urdf(GRIPPER)
    model = system.compile()
    assert model.constraint_names == ("thumb.mimic.ratio", "push.mimic.ratio")
    assert da.mobility(model).mobility == 2
    system.mimics.clear()
    free = system.compile()
    assert free.nc == 0 and free.speed_names == model.speed_names
    B, b = reduction(model)
    rng = np.random.default_rng(1)
    for _ in range(5):
        z, rate, tau = rng.normal(size=2), rng.normal(size=2), rng.normal(size=4)
        q, v = B @ z + b, B @ rate
        assert np.abs(model.constraint_residual(q)).max() < 1e-15
        M, bias = free.mass_matrix(q), free.bias_forces(q, v)
        expected = B @ np.linalg.solve(B.T @ M @ B, B.T @ (tau - bias))
        np.testing.assert_allclose(model.forward_dynamics(q, v, tau), expected, rtol=1e-10, atol=1e-10)
        # the multipliers are the efforts that the rules pass on
        lam, P = model.multipliers(q, v, tau), model.constraint_jacobian(q)
        np.testing.assert_allclose(M @ expected + bias - tau, P.T @ lam, atol=1e-9)


def test_assembly_and_speeds_obey_the_rules() -> None:
    model = load_urdf(GRIPPER).compile()
    B, b = reduction(model)
    q = da.assemble(model, state=[0.3, 0.5, 0.0, 0.0], hold=["turn", "finger"]).q
    np.testing.assert_allclose(q, B @ [0.3, 0.5] + b, atol=1e-14)
    v = da.consistent_velocities(model, q, [1.0, 2.0, 0.0, 0.0], hold=["turn", "finger"])
    np.testing.assert_allclose(v, B @ [1.0, 2.0], atol=1e-14)
    a = da.consistent_accelerations(model, q, v, [1.0, -1.0, 0, 0], hold=["turn", "finger"])
    efforts = da.inverse_dynamics(model, q, v, a, actuators=["turn", "finger"])
    np.testing.assert_allclose(model.forward_dynamics(q, v, efforts.tau), a, atol=1e-9)


def test_a_rule_is_printed_with_the_tree() -> None:
    model = load_urdf(GRIPPER).compile()
    assert "coupling thumb.mimic: thumb = -1.5 finger" in str(model.forest)


def two_arms(element: da.Joint, mimic: Mimic) -> da.System:
    s = da.System()
    a, b = s.body("a", da.box(1, 1, 1, 1)), s.body("b", da.box(1, 1, 1, 1))
    s.connect("A", element, s.ground, a)
    s.connect("B", da.Revolute("z"), s.ground.at(2, 0, 0), b)
    s.mimics["B"] = mimic
    return s


@pytest.mark.parametrize(
    ("leader", "mimic"), [(da.Revolute("z"), Mimic("A", 0.0, 0.3)), (da.Fixed(), Mimic("A", 2.0, 0.3))]
)
def test_a_follower_of_nothing_stays_at_its_offset(leader: da.Joint, mimic: Mimic) -> None:
    model = two_arms(leader, mimic).compile()
    q = da.assemble(model).q
    assert q[model.q_slice("B")][0] == pytest.approx(0.3, abs=1e-15)
    a = model.forward_dynamics(q, np.zeros(model.nv), np.ones(model.nv))
    assert abs(a[model.v_slice("B")][0]) < 1e-14
    assert model.nv == 1 or a[model.v_slice("A")][0] > 1.0


def test_a_fixed_follower_has_nothing_to_do() -> None:
    s = two_arms(da.Fixed(), Mimic("B"))
    s.mimics = {"A": Mimic("B", 2.0)}
    assert s.compile().nc == 0


def test_rules_that_name_no_coordinate_are_refused() -> None:
    with pytest.raises(da.ModelError, match=r"mimic of 'B': joint is 'A'; it has 4 coordinates; only joints with one"):
        two_arms(da.Spherical(), Mimic("A")).compile()
    with pytest.raises(da.ModelError, match=r"mimic of 'B': joint is 'X'; no joint has that name.*system.mimics"):
        two_arms(da.Fixed(), Mimic("X")).compile()


def test_rules_go_with_their_joints() -> None:
    s = load_urdf(GRIPPER)
    t = s.copy()
    t.remove("thumb")
    assert not t.mimics and set(s.mimics) == {"thumb", "push"}


def test_a_joint_that_mimics_is_never_cut() -> None:
    s = da.System()
    links = [s.body(f"link{k}", da.rod(1.0, 1.0, radius=0.1)) for k in range(3)]
    s.connect("A", da.Revolute("z"), s.ground, links[0])
    s.connect("B", da.Revolute("z"), links[0].at(1.0), links[1])
    s.connect("C", da.Revolute("z"), links[1].at(1.0), links[2])
    s.connect("D", da.Revolute("z"), s.ground.at(1.2), links[2].at(1.0))
    s.mimics["D"] = Mimic("A", -1.0)
    assert "D" in s.compile().joint_names
    s.mimics["C"] = Mimic("B", 1.0)
    model = s.compile()
    assert {"A", "B", "C", "D"} <= set(model.joint_names) and [c.name for c in model.forest.loop_constraints] == [
        "D.weld"
    ]


@pytest.mark.parametrize("offset", [0.5, -0.5, 1.0, -1.0])
def test_a_mimic_joint_with_an_offset_starts_within_limits(offset: float) -> None:
    limit = '<limit lower="0" upper="1" effort="1" velocity="1"/>'
    text = GRIPPER.replace('type="continuous"><parent link="wrist"', 'type="revolute"><parent link="wrist"')
    text = text.replace('multiplier="-1.5" offset="0.2"', f'multiplier="1" offset="{offset}"')
    text = text.replace('<axis xyz="0 0 1"/>', f'<axis xyz="0 0 1"/>{limit}')
    result = da.simulate(load_urdf(text), 1e-4)
    # the one of the two that is nearer to zero starts at its limit
    finger, thumb = max(0.0, -offset), max(0.0, offset)
    assert result["finger.position"][0] == pytest.approx(finger, abs=1e-12)
    assert result["thumb.position"][0] == pytest.approx(thumb, abs=1e-12)
