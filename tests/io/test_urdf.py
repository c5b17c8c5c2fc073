"""URDF robots: what is read, what is refused, and that they move as in Pinocchio and MuJoCo."""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dalembert.connections import joints as joints
from dalembert.connections.constraints.mimic import Mimic
from dalembert.errors import DalembertError, ModelError, TopologyError
from dalembert.io import load, load_urdf, xml_files as guarded_xml
from dalembert.rotation import axis_angle, euler, quaternion
from dalembert.system import System

Array = NDArray[np.float64]

INERTIAL = '<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def robot(*parts: str, name: str = "r") -> str:
    return f'<robot name="{name}">{"".join(parts)}</robot>'


def link(name: str, inside: str = "") -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(name: str, kind: str, parent: str, child: str, inside: str = "") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def pair(kind: str = "revolute", inside: str = "") -> str:
    """Return a robot of two links and one joint."""
    return robot(link("base"), link("arm", INERTIAL), joint("elbow", kind, "base", "arm", inside))


def refused(text: str | bytes | Path, *words: str, kind: type[DalembertError] = ModelError) -> str:
    """Load, expect a refusal of the given kind that names all the words, and return its message."""
    with pytest.raises(kind) as caught:
        load_urdf(text)
    message = str(caught.value)
    for word in words:
        assert word in message
    return message


def poses(system: System, coordinates: dict[str, Array]) -> dict[str, tuple[Array, Array]]:
    """Return R_WB and p_WB of every body by walking the forest with the joints' own definition."""
    forest = system.forest()
    found = [(np.eye(3), np.zeros(3))]
    for parent, joint in zip(forest.parent, forest.joints, strict=True):
        R, p = found[parent]
        assert not joint.reversed and not joint.outboard.position.any()
        C, c = joint.element.pose(coordinates.get(joint.name, joint.element.zero))
        R_WM = R @ joint.inboard.rotation
        found.append((R_WM @ C, p + R @ joint.inboard.position + R_WM @ c))
    return dict(zip(forest.bodies, found, strict=True))


# ---- links


def test_a_link_becomes_a_body_with_its_mass_centre_and_inertia() -> None:
    text = robot(
        link(
            "arm",
            '<inertial><origin xyz="0.1 -0.2 0.3" rpy="0.4 0.5 0.6"/><mass value="2.5"/>'
            '<inertia ixx="1" ixy="0.01" ixz="0.02" iyy="1.1" iyz="0.03" izz="1.2"/></inertial>',
        )
    )
    arm = load_urdf(text).bodies["arm"]
    R = euler((0.4, 0.5, 0.6), "xyz")
    I = np.array([[1, 0.01, 0.02], [0.01, 1.1, 0.03], [0.02, 0.03, 1.2]])  # noqa: E741
    assert arm.mass == 2.5
    assert arm.com == pytest.approx([0.1, -0.2, 0.3])
    assert arm.inertia == pytest.approx(R @ I @ R.T, abs=1e-15)


def test_a_link_without_inertial_has_no_mass() -> None:
    base = load_urdf(robot(link("base"))).bodies["base"]
    assert base.mass == 0 and not base.inertia.any()


def test_products_of_inertia_may_be_left_out() -> None:
    text = robot(link("a", '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'))
    assert load_urdf(text).bodies["a"].inertia == pytest.approx(np.eye(3))


def test_visuals_are_recorded_and_files_are_not_needed() -> None:
    text = robot(
        '<material name="steel"><color rgba="0.1 0.2 0.3 1"/></material>',
        link(
            "a",
            '<visual name="hull"><origin xyz="1 2 3" rpy="0 0 1"/><geometry><box size="1 2 3"/></geometry>'
            '<material name="steel"/></visual>'
            '<visual><geometry><cylinder radius="0.1" length="2"/></geometry>'
            '<material name=""><color rgba="1 0 0 0.5"/></material></visual>'
            '<collision><geometry><sphere radius="0.5"/></geometry></collision>'
            '<visual><geometry><mesh filename="package://no/such.stl" scale="1 1 -0.001"/></geometry></visual>'
            '<collision><geometry><mesh filename="gone.dae"/></geometry></collision>'
            '<collision><geometry><capsule radius="0.1" length="1"/></geometry></collision>'
            '<collision><geometry><drake:ellipsoid a="1" b="2" c="3"/></geometry></collision>',
        ),
    )
    box, cylinder, sphere, mesh, plain, capsule = load_urdf(text).bodies["a"].visuals
    assert (box.kind, box.size, box.name, box.collision) == ("box", {"x": 1, "y": 2, "z": 3}, "hull", False)
    assert box.position == pytest.approx([1, 2, 3])
    assert box.rotation == pytest.approx(axis_angle("z", 1.0))
    assert box.color == (0.1, 0.2, 0.3, 1)
    assert (cylinder.size, cylinder.color) == ({"length": 2, "radius": 0.1, "axis": 2}, (1, 0, 0, 0.5))
    assert (sphere.size, sphere.collision, sphere.color) == ({"radius": 0.5}, True, None)
    assert (mesh.kind, mesh.file, mesh.size) == ("mesh", "package://no/such.stl", {"x": 1, "y": 1, "z": -0.001})
    assert (plain.file, plain.size) == ("gone.dae", {"x": 1, "y": 1, "z": 1})
    assert (capsule.kind, repr(capsule)) == ("capsule", "<Visual capsule (collision): length=1, radius=0.1>")


@pytest.mark.parametrize(
    "inside, words",
    [
        ('<inertial><inertia ixx="1" iyy="1" izz="1"/></inertial>', ("link 'a'", "mass", "<mass value")),
        ('<inertial><mass/><inertia ixx="1" iyy="1" izz="1"/></inertial>', ("link 'a'", "mass value")),
        ('<inertial><mass value="1"/></inertial>', ("link 'a'", "inertia", "point mass")),
        ('<inertial><mass value="1"/><inertia ixx="1" iyy="1"/></inertial>', ("link 'a'", "inertia izz")),
        ('<inertial><mass value="-1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>', ("link 'a'", "mass is -1")),
        ('<inertial><mass value="heavy"/><inertia ixx="1" iyy="1" izz="1"/></inertial>', ("mass value", "'heavy'")),
        ('<inertial><mass value="1,5"/><inertia ixx="1" iyy="1" izz="1"/></inertial>', ("mass value", "point")),
        ('<inertial><mass value="inf"/><inertia ixx="1" iyy="1" izz="1"/></inertial>', ("mass value", "finite")),
        ('<inertial><mass value="1_0"/><inertia ixx="1" iyy="1" izz="1"/></inertial>', ("mass value", "'1_0'")),
        ('<inertial><mass value="1"/><inertia ixx="1e999" iyy="1" izz="1"/></inertial>', ("inertia ixx", "finite")),
        (INERTIAL + INERTIAL.replace("2", "3"), ("link 'a'", "2 elements <inertial>", "differ: keep one")),
    ],
)
def test_bad_link_data_is_refused_by_name(inside: str, words: tuple[str, ...]) -> None:
    refused(robot(link("a", inside)), *words)


@pytest.mark.parametrize(
    "inside, words",
    [
        ("<visual/>", ("visual of link 'a'", "geometry", "box")),
        ("<visual><geometry/></visual>", ("visual of link 'a'", "geometry")),
        ("<collision><geometry><cone/></geometry></collision>", ("collision of link 'a'", "<cone>")),
        ('<visual><geometry><box size="1 2"/></geometry></visual>', ("box size", "'1 2'", "3 numbers", "not 2")),
        ("<visual><geometry><box/></geometry></visual>", ("box size", "3 numbers")),
        ('<visual><geometry><sphere radius="-1"/></geometry></visual>', ("sphere radius", "-1", "negative")),
        ('<visual><geometry><sphere radius="nan"/></geometry></visual>', ("sphere radius", "nan", "finite")),
        ("<visual><geometry><mesh/></geometry></visual>", ("mesh filename",)),
        ('<visual><geometry><mesh filename="a" scale=".1"/></geometry></visual>', ("mesh scale", "'.1'", "3 numbers")),
    ],
)
def test_malformed_pictures_are_skipped_and_noted_by_name(inside: str, words: tuple[str, ...]) -> None:
    sphere = '<visual><geometry><sphere radius="0.2"/></geometry></visual>'
    system = load_urdf(robot(link("a", INERTIAL + inside + sphere)))
    assert [visual.kind for visual in system.bodies["a"].visuals] == ["sphere"]
    (note,) = system.notes
    assert note.startswith("skipped: ") and all(word in note for word in words)
    assert system.copy().notes == system.notes


# ---- joints


@pytest.mark.parametrize(
    "kind, element",
    [
        ("revolute", joints.Revolute),
        ("continuous", joints.Revolute),
        ("prismatic", joints.Prismatic),
        ("fixed", joints.Fixed),
        ("floating", joints.Free),
        ("planar", joints.Planar),
        ("spherical", joints.Spherical),
        ("ball", joints.Spherical),
    ],
)
def test_every_joint_type_becomes_its_joint(kind: str, element: type[joints.Joint]) -> None:
    system = load_urdf(pair(kind))
    elbow = system.connections["elbow"]
    assert type(elbow.element) is element
    assert (elbow.first.body.name, elbow.second.body.name) == ("base", "arm")
    assert elbow.second.name == "arm"  # the joint frame is the child's frame
    assert elbow.element.lower is None and elbow.element.max_effort is None


def test_a_joint_sits_at_its_origin_and_turns_about_its_axis() -> None:
    inside = '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 0 2"/>'
    system = load_urdf(pair("revolute", inside))
    R, p = poses(system, {"elbow": np.array([0.7])})["arm"]
    assert p == pytest.approx([1, 2, 3])
    R_J = axis_angle("z", 0.3) @ axis_angle("y", 0.2) @ axis_angle("x", 0.1)
    assert pytest.approx(R_J @ axis_angle("z", 0.7)) == R


def test_the_axis_is_x_unless_given_and_is_normalised() -> None:
    for inside, axis in (
        ("", (1, 0, 0)),
        ("<axis/>", (1, 0, 0)),
        ('<axis xyz="0 3 4"/>', (0, 0.6, 0.8)),
        ('<axis xyz="\t0\n 0 -1e-200 "/>', (0, 0, -1)),
    ):
        element = load_urdf(pair("revolute", inside)).connections["elbow"].element
        assert isinstance(element, joints.Revolute) and np.asarray(element.axis) == pytest.approx(axis)


def test_the_axis_of_a_planar_joint_is_the_normal() -> None:
    system = load_urdf(pair("planar", '<axis xyz="0 2 0"/><origin xyz="1 0 0" rpy="0 0 0.5"/>'))
    R, p = poses(system, {"elbow": np.array([0.3, 0.4, 0.7])})["arm"]
    R_J = axis_angle("z", 0.5)
    assert pytest.approx(R_J @ axis_angle("y", 0.7)) == R
    assert p == pytest.approx([1, 0, 0] + R_J @ [0.4, 0, 0.3])  # in-plane axes of the normal y: z, then x


def test_a_chain_is_placed_as_by_hand() -> None:
    system = load_urdf(
        robot(
            *(link(name) for name in "abcde"),
            joint("A", "continuous", "a", "b", '<origin xyz="0 0 1"/><axis xyz="0 1 0"/>'),
            joint("B", "prismatic", "b", "c", '<origin xyz="1 0 0" rpy="1.2 0 0"/><axis xyz="0 0 1"/>'),
            joint("C", "floating", "c", "d", '<origin xyz="0 1 0"/>'),
            joint("D", "fixed", "d", "e", '<origin xyz="0 0 1" rpy="0 1.1 0"/>'),
        )
    )
    turn = quaternion(0.5, 0.5, -0.5, 0.5)
    q = {"A": np.array([0.3]), "B": np.array([0.2]), "C": np.array([0.5, 0.5, -0.5, 0.5, 0.1, 0.2, 0.3])}
    found = poses(system, q)
    R_B = axis_angle("y", 0.3)
    R_C = R_B @ axis_angle("x", 1.2)
    p_C = np.array([0, 0, 1]) + R_B @ [1, 0, 0] + R_C @ [0, 0, 0.2]
    p_D = p_C + R_C @ [0.1, 1.2, 0.3]
    R_D = R_C @ turn
    for name, R, p in (
        ("b", R_B, [0, 0, 1]),
        ("c", R_C, p_C),
        ("d", R_D, p_D),
        ("e", R_D @ axis_angle("y", 1.1), p_D + R_D @ [0, 0, 1]),
    ):
        assert found[name][0] == pytest.approx(R, abs=1e-15)
        assert found[name][1] == pytest.approx(np.asarray(p), abs=1e-15)


@pytest.mark.parametrize("rpy", [(0.1, 0.2, 0.3), (math.pi / 2, 0, 0), (0, math.pi / 2, 0.4), (-3, 2, 100)])
def test_roll_pitch_yaw_turn_about_fixed_axes(rpy: tuple[float, float, float]) -> None:
    text = pair("fixed", f'<origin rpy="{rpy[0]} {rpy[1]} {rpy[2]}"/>')
    assert load_urdf(text).connections["elbow"].first.rotation == pytest.approx(euler(rpy, "xyz"), abs=1e-15)


def test_an_origin_may_have_a_quaternion() -> None:
    text = pair("fixed", '<origin xyz="1 2 3" quat_xyzw="0.1 0.2 0.3 0.9"/>')
    assert load_urdf(text).connections["elbow"].first.rotation == pytest.approx(quaternion(0.9, 0.1, 0.2, 0.3))
    refused(pair("fixed", '<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>'), "joint 'elbow'", "quat_xyzw", "not both")
    refused(pair("fixed", '<origin quat_xyzw="0 0 0 0"/>'), "joint 'elbow'", "origin quat_xyzw", "zero")
    refused(pair("fixed", '<origin quat_xyzw="0 0 1"/>'), "joint 'elbow'", "origin quat_xyzw", "4 numbers")


def test_limits_and_dynamics_are_kept_with_the_joint() -> None:
    inside = '<limit lower="-1" upper="2" effort="30" velocity="4"/><dynamics damping="0.1" friction="0.2"/>'
    joint = load_urdf(pair("revolute", inside)).connections["elbow"].element
    values = [joint.lower, joint.upper, joint.max_effort, joint.max_speed, joint.damping, joint.friction]
    assert [v.item() for v in values] == [-1, 2, 30, 4, 0.1, 0.2]


def test_a_continuous_joint_has_no_position_limits() -> None:
    joint = load_urdf(pair("continuous", '<limit lower="-1" upper="2" effort="30"/>')).connections["elbow"].element
    assert joint.lower is None and joint.upper is None and joint.max_speed is None
    assert joint.max_effort.item() == 30


@pytest.mark.parametrize(
    "limit, lower, upper",
    [
        ('lower="-1"', [-1], [0]),
        ('upper="1"', [0], [1]),
        ('effort="1" velocity="1"', None, None),
        ('lower="-inf" upper="inf" effort="inf" velocity="inf"', None, None),
        ('lower="-inf" upper="1"', None, [1]),
        ('lower="0" upper="0"', [0], [0]),
    ],
)
def test_limits_that_are_not_given_follow_the_specification(limit: str, lower: Any, upper: Any) -> None:
    joint = load_urdf(pair("revolute", f"<limit {limit}/>")).connections["elbow"].element
    assert (None if joint.lower is None else joint.lower.tolist()) == lower
    assert (None if joint.upper is None else joint.upper.tolist()) == upper


def test_a_ball_joint_has_the_same_damping_in_each_dof() -> None:
    joint = load_urdf(pair("ball", '<dynamics damping="0.5"/>')).connections["elbow"].element
    assert joint.damping.tolist() == [0.5, 0.5, 0.5] and joint.friction is None


def test_a_fixed_joint_ignores_its_axis_and_limits() -> None:
    """Exporters write a zero axis and empty limits for fixed joints."""
    for kind, expected in (("fixed", joints.Fixed), ("floating", joints.Free)):
        system = load_urdf(pair(kind, '<axis xyz="0 0 0"/><limit lower="" upper="" effort="-1"/>'))
        joint = system.connections["elbow"].element
        assert type(joint) is expected
        assert joint.lower is None and joint.upper is None


@pytest.mark.parametrize(
    "kind, inside, words",
    [
        ("revolute", '<axis xyz="0 0 0"/>', ("joint 'elbow'", "axis xyz", "not zero")),
        ("planar", '<axis xyz="0 0 0"/>', ("joint 'elbow'", "axis xyz", "not zero")),
        ("revolute", '<axis xyz="0 0"/>', ("joint 'elbow'", "axis xyz", "'0 0'", "3 numbers")),
        ("revolute", '<axis xyz="0 0 z"/>', ("joint 'elbow'", "axis xyz", "'0 0 z'")),
        ("revolute", '<axis xyz="0, 0, 1"/>', ("joint 'elbow'", "axis xyz", "blanks")),
        ("revolute", '<axis xyz="٠ ٠ ١"/>', ("joint 'elbow'", "axis xyz")),
        ("revolute", '<origin xyz="0 nan 1"/>', ("joint 'elbow'", "origin xyz", "'0 nan 1'", "finite")),
        ("revolute", '<origin rpy="0 inf 1"/>', ("joint 'elbow'", "origin rpy", "finite")),
        ("revolute", '<origin xyz=""/>', ("joint 'elbow'", "origin xyz", "not 0")),
        ("revolute", '<origin xyz="${x} 0 0"/>', ("joint 'elbow'", "origin xyz", "${x}")),
        ("revolute", '<limit lower="nan"/>', ("joint 'elbow'", "limit lower", "finite")),
        ("revolute", '<limit lower="inf"/>', ("joint 'elbow'", "lower", "inf", "finite")),
        ("revolute", '<limit effort="-1"/>', ("joint 'elbow'", "max_effort", "negative")),
        ("revolute", '<limit velocity="fast"/>', ("joint 'elbow'", "limit velocity", "'fast'")),
        ("revolute", '<dynamics damping="-1"/>', ("joint 'elbow'", "damping", "negative")),
        ("revolute", '<dynamics friction="inf"/>', ("joint 'elbow'", "dynamics friction", "finite")),
        ("joint", "", ("joint 'elbow'", "type is 'joint'", "revolute", "prismatic")),
        ("revolut", "", ("joint 'elbow'", "did you mean 'revolute'")),
        ("", "", ("joint 'elbow'", "type is ''", "revolute")),
        ("fixed", '<parent link="arm"/>', ("joint 'elbow'", "2 elements <parent>")),
        ("fixed", '<mimic joint="elbow"/>', ("joint 'elbow'", "mimic joint", "follows itself")),
    ],
)
def test_bad_joint_data_is_refused_by_name(kind: str, inside: str, words: tuple[str, ...]) -> None:
    refused(pair(kind, inside), *words)


def test_mimic_joints_are_kept_with_the_system() -> None:
    text = robot(
        *(link(name) for name in "abcd"),
        joint("left", "revolute", "a", "b"),
        joint("right", "revolute", "a", "c", '<mimic joint="left" multiplier="-2" offset="0.1"/>'),
        joint("d", "revolute", "a", "d", '<mimic joint="right"/>'),
    )
    system = load_urdf(text)
    assert system.mimics == {"right": Mimic("left", -2.0, 0.1), "d_joint": Mimic("right", 1.0, 0.0)}


def test_a_leader_that_was_renamed_is_still_followed() -> None:
    text = robot(
        *(link(name) for name in "abc"),
        joint("b", "revolute", "a", "b"),
        joint("C", "revolute", "a", "c", '<mimic joint="b"/>'),
    )
    assert load_urdf(text).mimics == {"C": Mimic("b_joint")}


def test_joints_that_follow_each_other_are_refused() -> None:
    text = robot(
        *(link(name) for name in "abc"),
        joint("B", "revolute", "a", "b", '<mimic joint="C"/>'),
        joint("C", "revolute", "a", "c", '<mimic joint="B"/>'),
    )
    refused(text, "joint 'B'", "mimic joint is 'C'", "follows itself")


# ---- names and root


def test_names_are_kept_in_the_order_of_the_file() -> None:
    system = load_urdf(robot(link("z"), link("a.b c"), joint("j-1", "fixed", "z", "a.b c"), name="Roböt"))
    assert system.name == "Roböt"
    assert list(system.bodies) == ["z", "a.b c"]
    assert list(system.connections) == ["z.fixed", "j-1"]


def test_blanks_around_names_do_not_matter() -> None:
    system = load_urdf(robot(link(" a"), link("b "), joint(" J ", "fixed", "a ", " b")))
    assert list(system.bodies) == ["a", "b"] and "J" in system.connections


def test_a_joint_named_like_a_link_is_renamed() -> None:
    text = robot(
        *(link(name) for name in ("a", "b", "c", "c_joint")),
        joint("b", "fixed", "a", "b"),
        joint("b_joint", "fixed", "b", "c"),
        joint("c", "fixed", "c", "c_joint"),
    )
    system = load_urdf(text)
    assert list(system.bodies) == ["a", "b", "c", "c_joint"]
    assert list(system.connections) == ["a.fixed", "b_joint_2", "b_joint", "c_joint_2"]
    assert system.connections["b_joint"].second.body.name == "c"


def test_a_link_or_joint_named_ground_is_renamed() -> None:
    system = load_urdf(robot(link("ground"), link("a"), joint("ground", "fixed", "ground", "a")))
    assert list(system.bodies) == ["ground_link", "a"]
    assert list(system.connections) == ["ground_link.fixed", "ground_joint"]
    system = load_urdf(robot(link("ground"), link("ground_link"), joint("j", "fixed", "ground", "ground_link")))
    assert list(system.bodies) == ["ground_link_2", "ground_link"]


def test_the_root_is_fixed_to_ground_or_left_free() -> None:
    text = robot(link("hand"), link("base", INERTIAL), joint("j", "revolute", "base", "hand"))
    fixed, free = load_urdf(text), load_urdf(text, base="free")
    root = fixed.connections["base.fixed"]
    assert type(root.element) is joints.Fixed and root.first.body is fixed.ground
    assert [h.name for h in fixed.forest().joints] == ["base.fixed", "j"]
    assert "base.fixed" not in free.connections
    assert [(h.name, h.element.kind) for h in free.forest().joints] == [("base.free", "Free"), ("j", "Revolute")]


def test_a_world_link_stays_a_body() -> None:
    system = load_urdf(robot(link("world"), link("base", INERTIAL), joint("j", "floating", "world", "base")))
    assert list(system.bodies) == ["world", "base"]
    assert poses(system, {})["world"][1].tolist() == [0, 0, 0]


@pytest.mark.parametrize("base", ["", "floating", None, 1, ["fixed"]])
def test_the_base_is_fixed_or_free(base: Any) -> None:
    with pytest.raises(ModelError, match=r"base is .*; use 'fixed' or 'free'"):
        load_urdf(robot(link("a")), base=base)


# ---- topology


def test_two_parents_are_refused() -> None:
    text = robot(*map(link, "abc"), joint("A", "fixed", "a", "c"), joint("B", "fixed", "b", "c"))
    refused(text, "link 'c'", "two parents", "'A'", "'B'", kind=TopologyError)


def test_cycles_are_refused() -> None:
    ring = joint("A", "fixed", "a", "b"), joint("B", "fixed", "b", "c"), joint("C", "fixed", "c", "a")
    for parts in ((*map(link, "abc"), *ring), (*map(link, "abcr"), *ring)):
        message = refused(robot(*parts), "cycle", "remove joint", kind=TopologyError)
        assert all(repr(name) in message for name in "abc") and "'r'" not in message
    refused(robot(link("a"), joint("A", "fixed", "a", "a")), "joint 'A'", "both link 'a'", kind=TopologyError)


def test_several_roots_are_refused() -> None:
    text = robot(*map(link, "abc"), joint("A", "fixed", "a", "b"))
    refused(text, "2 root links", "'a', 'c'", kind=TopologyError)
    message = refused(robot(*(link(f"l{k}") for k in range(1000))), "1000 root links", kind=TopologyError)
    assert len(message) < 300


def test_missing_and_unknown_links_are_refused() -> None:
    for which in ("parent", "child"):
        ends = {"parent": '<parent link="a"/>', "child": '<child link="b"/>'}
        for wrong, words in (
            ("", (f"{which} link is None",)),
            (f"<{which}/>", (f"{which} link is ''", f"<{which} link=")),
            (f'<{which} link="bb"/>', (f"{which} link is 'bb'", "did you mean 'b'")),
        ):
            inside = "".join({**ends, which: wrong}.values())
            text = robot(link("a"), link("b"), f'<joint name="J" type="fixed">{inside}</joint>')
            refused(text, "joint 'J'", *words)


def test_missing_and_double_names_are_refused() -> None:
    refused(robot(link("a"), "<link/>"), "link number 2", "name")
    refused(robot(link("a"), link(" ")), "link number 2", "name")
    refused(robot(link("a"), '<joint type="fixed"/>'), "joint number 1", "name")
    refused(robot(link("a"), link("b"), link("a")), "link 'a'", "two links have this name")
    j = joint("J", "fixed", "a", "b")
    refused(robot(link("a"), link("b"), j, j), "joint 'J'", "two joints have this name")


# ---- documents that are no robots


@pytest.mark.parametrize(
    "text, words",
    [
        ("", ("path",)),
        ("\n", ("empty",)),
        (b"", ("empty",)),
        (b"  \n ", ("empty",)),
        ("<robot", ("line 1", "well-formed")),
        ("<robot><link name='a'></robot>", ("mismatched tag", "line 1", "column")),
        ("\n\n<robot>\n<link name=a/></robot>", ("not well-formed", "line 4")),
        ("<robot/><robot/>", ("junk after document element",)),
        ("<robot/>", ("no links",)),
        ("<robot name='r'><joint name='j' type='fixed'/></robot>", ("no links",)),
        ("<mujoco/>", ("root element is '<mujoco>'", "<robot>")),
        ("<sdf><model><link name='a'/></model></sdf>", ("root element is '<sdf>'",)),
        ("some words\nbut no markup", ("not well-formed",)),
        (b"\x00\x01\x02\xff\xfe", ("URDF text", "document")),
        (bytes(range(256)) * 20, ("URDF text", "document")),
        (b"\x7fELF\x02\x01\x01" + bytes(100), ("URDF text", "document")),
        ("<robot>&undefined;</robot>", ("undefined entity",)),
        ("<robot name='\ud800'/>", ("URDF text", "character", "Unicode")),
        (b"<?xml version='1.0' encoding='no-such'?><robot/>", ("encoding", "UTF-8")),
        (b"<?xml version='1.0' encoding='utf-32'?><robot/>", ("UTF-8",)),
        (robot(link("é")).encode("latin-1"), ("UTF-8", "line 1")),
        ("<robot xmlns:xacro='x'><xacro:macro name='m'/><link name='a'/></robot>", ("<xacro:macro>", "expand")),
    ],
)
def test_what_is_no_urdf_is_refused(text: str | bytes, words: tuple[str, ...]) -> None:
    refused(text, *words)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"])
def test_declared_encodings_are_read(encoding: str, tmp_path: Path) -> None:
    declared = {"utf-8-sig": "utf-8"}.get(encoding, encoding)
    text = f'<?xml version="1.0" encoding="{declared}"?>\n' + robot(link("é"))
    file = tmp_path / "r.urdf"
    file.write_bytes(text.encode(encoding))
    assert list(load(file).bodies) == ["é"]
    assert list(load_urdf(text.encode(encoding)).bodies) == ["é"]
    assert list(load_urdf("\ufeff \n" + text.partition("\n")[2]).bodies) == ["é"]
    assert list(load_urdf("\n" + text).bodies) == ["é"]  # a string is text already, whatever it declares


def test_no_encoding_does_harm() -> None:
    from encodings.aliases import aliases

    for name in sorted({*aliases, *aliases.values()}):
        text = f'<?xml version="1.0" encoding="{name}"?>' + robot(link("a"))
        documents = [text.encode()]
        with contextlib.suppress(LookupError, UnicodeError):
            documents.append(text.encode(name))
        for document in documents:
            try:
                load_urdf(document)
            except ModelError as error:
                assert "UTF-8" in str(error) or "URDF" in str(error)


def test_comments_extensions_and_other_elements_are_ignored() -> None:
    text = robot(
        "<!-- <!DOCTYPE> --><?pi?>words<gazebo><link name='g'/></gazebo><transmission name='t'/>",
        '<drake:joint name="d"/>',
        link("a", "<![CDATA[<link/>]]><drake:thing/><self_collision_checking/>"),
        link("b"),
        joint("j", "revolute", "a", "b", '<safety_controller k_velocity="1"/><calibration rising="0"/>'),
    )
    assert list(load_urdf(text).bodies) == ["a", "b"]
    assert list(load_urdf(f"<!-- robot -->{text}<!-- end -->").bodies) == ["a", "b"]


def test_a_robot_may_lack_a_name() -> None:
    assert load_urdf("<robot><link name='a'/></robot>").name == "robot"
    assert load_urdf("<robot name=' '><link name='a'/></robot>").name == "robot"


# ---- documents that mean harm


def test_entity_bombs_are_refused() -> None:
    levels = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))
    bomb = f'<!DOCTYPE robot [<!ENTITY e0 "ha">{levels}]><robot name="&e11;"><link name="a"/></robot>'
    refused(bomb, "DOCTYPE is 'robot'", "refused")
    refused('<?xml version="1.0"?>' + bomb, "DOCTYPE")


def test_external_entities_are_not_opened(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("<link name='stolen'/>")
    for doctype in (
        f'<!DOCTYPE robot [<!ENTITY x SYSTEM "{secret.as_uri()}">]>',
        f'<!DOCTYPE robot SYSTEM "{secret.as_uri()}">',
        '<!DOCTYPE robot PUBLIC "x" "http://127.0.0.1:1/x.dtd">',
        f'<!DOCTYPE robot [<!ENTITY % x SYSTEM "{secret.as_uri()}"> %x;]>',
    ):
        message = refused(f'{doctype}<robot name="r">&x;<link name="a"/></robot>', "DOCTYPE")
        assert "stolen" not in message


def test_deep_nesting_is_refused() -> None:
    for depth in (100, 100_000):
        refused("<robot>" + "<a>" * depth + "</a>" * depth + "</robot>", "depth is 65", "64")
        refused("<robot>" * depth, "depth is 65")
    load_urdf(robot("<gazebo>" + "<a>" * 60 + "</a>" * 60 + "</gazebo>", link("a")))


def test_too_large_documents_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(guarded_xml, "MAX_BYTES", 1000)
    text = robot(link("a"), "<!--" + "x" * 1000 + "-->")
    refused(text, "size is 'more than 1000 bytes'")
    refused(text.encode(), "size")
    file = tmp_path / "large.urdf"
    file.write_text(text)
    refused(file, "large.urdf", "size")


def test_too_many_elements_and_attributes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded_xml, "MAX_PARTS", 100)
    refused(robot(link("a"), "<b/>" * 100), "size", "at most 100 elements and attributes")
    refused(robot(link("a"), "<b " + " ".join(f'c{k}=""' for k in range(100)) + "/>"), "at most 100")


@pytest.mark.parametrize("opening", ["<!--", "<a b='", "<", "<?", "<!", "<![CDATA["])
def test_a_huge_tag_is_refused_quickly(opening: str) -> None:
    with pytest.raises(ModelError):
        load_urdf("<robot name='r'>" + opening + "x" * (30 * 2**20))


# ---- files


def test_files_are_loaded_by_their_suffix(tmp_path: Path) -> None:
    text = robot(link("a"))
    for name in ("r.urdf", "r.URDF", "r.xml", "a b <é>.urdf"):
        (tmp_path / name).write_text(text)
        assert list(load(tmp_path / name).bodies) == ["a"]
        assert list(load(str(tmp_path / name)).bodies) == ["a"]
        assert list(load_urdf(str(tmp_path / name)).bodies) == ["a"]
    assert load(tmp_path / "r.urdf", base="free")["a.free"].element.kind == "Free"
    (tmp_path / "m.xml").write_text("<model/>")
    with pytest.raises(ModelError, match=r"m\.xml.*<model>.*supported are"):
        load(tmp_path / "m.xml")
    for name in ("r.step", "r", "r.toml", ".urdf", "r.urdf.bak", ""):
        with pytest.raises(ModelError, match=r"\.urdf, \.sdf"):
            load(name)
    with pytest.raises(ModelError, match=r"expand it first"):
        load("r.urdf.xacro")
    for path in (None, 3, b"r.urdf", ["r.urdf"]):
        with pytest.raises(ModelError, match="give the name of a file"):
            load(path)  # type: ignore[arg-type]


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    refused(tmp_path / "gone.urdf", "gone.urdf", "no such file")
    refused("gone.urdf", "gone.urdf", "no such file")
    (tmp_path / "folder.urdf").mkdir()
    refused(tmp_path / "folder.urdf", "folder.urdf", "directory")
    (tmp_path / "empty.urdf").touch()
    refused(tmp_path / "empty.urdf", "empty.urdf", "empty")
    (tmp_path / "noise.urdf").write_bytes(os.urandom(1000))
    refused(tmp_path / "noise.urdf", "noise.urdf")
    refused("null\0byte.urdf", "cannot be read")
    refused("x" * 5000 + ".urdf", "cannot be read")
    refused("bad\ud800surrogate.urdf")
    for wrong in (None, 3, ["<robot/>"], object()):
        refused(wrong, "path_or_text")  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_or_device_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.urdf")
    refused(tmp_path / "pipe.urdf", "device")
    refused(Path("/dev/zero"), "device")


def test_a_refusal_can_be_sent_to_another_process() -> None:
    with pytest.raises(ModelError) as caught:
        load_urdf(robot(link("a", '<inertial><mass value="x"/><inertia ixx="1" iyy="1" izz="1"/></inertial>')))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_loading_needs_no_optional_package() -> None:
    code = "import sys, dalembert.io; sys.exit(any(m in sys.modules for m in ('pinocchio', 'mujoco', 'lxml', 'scipy')))"
    assert subprocess.run([sys.executable, "-c", code], check=False, env=dict(os.environ)).returncode == 0


# ---- large robots


def test_names_that_provoke_clashes_are_refused_or_read() -> None:
    parts = [link("r")]
    for k in range(1500):
        name = "a" + k * "_joint"
        parts += [link(name), joint(name, "fixed", "r", name)]
    assert len(load_urdf(robot(*parts)).connections) == 1501
    long = "x" * 500_000
    refused(robot(*(link(f"{long}{k}") for k in range(9)), joint("j", "fixed", long, long)), "joint 'j'", "parent link")


def test_a_chain_of_ten_thousand_links_is_read() -> None:
    parts = [link("l0", INERTIAL)]
    inside = '<origin xyz="0 0 0.1" rpy="0.1 0 0"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1"/>'
    for k in range(1, 10_000):
        parts += [link(f"l{k}", INERTIAL), joint(f"j{k}", "revolute", f"l{k - 1}", f"l{k}", inside)]
    system = load_urdf(robot(*reversed(parts)))
    assert system.forest().nb == 10_000


# ---- the same robots in Pinocchio and MuJoCo


def numbers(values: Array) -> str:
    return " ".join(repr(float(v)) for v in values)


def random_robot(rng: np.random.Generator, n: int, kinds: tuple[str, ...], root: str = "base") -> str:
    """Return a tree of `n` links, with joints at random origins and links of random inertia."""
    parts = []
    for k in range(n):
        # a cloud of points has a possible inertia
        points = rng.normal(size=(5, 3)) * 0.2
        I = sum(np.eye(3) * (r @ r) - np.outer(r, r) for r in points - points.mean(axis=0))  # noqa: E741
        parts.append(
            link(
                root if k == 0 else f"link{k}",
                f'<inertial><origin xyz="{numbers(rng.normal(size=3))}" rpy="{numbers(rng.normal(size=3))}"/>'
                f'<mass value="{rng.uniform(0.5, 2)}"/><inertia ixx="{I[0, 0]}" ixy="{I[0, 1]}" ixz="{I[0, 2]}" '
                f'iyy="{I[1, 1]}" iyz="{I[1, 2]}" izz="{I[2, 2]}"/></inertial>',
            )
        )
    for k in range(1, n):
        parent = int(rng.integers(k))
        kind = kinds[int(rng.integers(len(kinds)))]
        axis = np.array([0.0, 0.0, 1.0]) if kind == "planar" else rng.normal(size=3)  # theirs know no other normal
        parts.append(
            joint(
                f"joint{k}",
                kind,
                root if parent == 0 else f"link{parent}",
                f"link{k}",
                f'<origin xyz="{numbers(rng.normal(size=3))}" rpy="{numbers(rng.normal(size=3))}"/>'
                f'<axis xyz="{numbers(axis)}"/><limit lower="-9" upper="9" effort="99" velocity="99"/>',
            )
        )
    rng.shuffle(parts)
    return robot('<mujoco><compiler fusestatic="false"/></mujoco>', *parts)


def random_coordinates(rng: np.random.Generator, system: System) -> dict[str, Array]:
    """Return coordinates of every joint by name; quaternions of unit length."""
    found = {}
    for name, connection in system.connections.items():
        q = rng.normal(size=connection.element.nq)
        if "qw" in connection.element.coordinates:
            q[:4] /= np.linalg.norm(q[:4])
        found[name] = q
    return found


def to_pinocchio(model: Any, name: str, kind: str, q: Array) -> tuple[slice, Array]:
    """Return where a joint's coordinates are in Pinocchio's q, and what they are."""
    entry = model.joints[model.getJointId(name)]
    at = slice(entry.idx_q, entry.idx_q + entry.nq)
    if kind == "Free":
        return at, np.concatenate([q[4:], q[1:4], q[:1]])
    if kind == "Planar":
        return at, np.array([q[0], q[1], math.cos(q[2]), math.sin(q[2])])
    return at, np.array([math.cos(q[0]), math.sin(q[0])]) if entry.nq == 2 else q


ALL_KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


@pytest.mark.parametrize("seed", range(12))
def test_links_are_placed_as_in_pinocchio(seed: int) -> None:
    pin = pytest.importorskip("pinocchio")
    rng = np.random.default_rng(seed)
    text = random_robot(rng, int(rng.integers(2, 20)), ALL_KINDS)
    system = load_urdf(text)
    coordinates = random_coordinates(rng, system)
    model = pin.buildModelFromXML(text)
    q = pin.neutral(model)
    for name, c in system.connections.items():
        if c.element.nq:
            at, values = to_pinocchio(model, name, c.element.kind, coordinates[name])
            q[at] = values
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    for name, (R, p) in poses(system, coordinates).items():
        if name != "ground":
            X = data.oMf[model.getFrameId(name, pin.FrameType.BODY)]
            # rounding grows with the length of the chain, at most some 20 m
            assert pytest.approx(X.rotation, abs=1e-13) == R
            assert pytest.approx(X.translation, abs=1e-12) == p


@pytest.mark.parametrize("seed", range(12))
def test_a_robot_accelerates_as_in_pinocchio(seed: int) -> None:
    pin = pytest.importorskip("pinocchio")
    rng = np.random.default_rng(100 + seed)
    text = random_robot(rng, int(rng.integers(2, 15)), ("revolute", "continuous", "prismatic", "fixed", "floating"))
    system = load_urdf(text)
    model = system.compile()
    state = model.random_state(rng)
    tau, a = rng.normal(size=(2, model.nv))
    theirs = pin.buildModelFromXML(text)
    data = theirs.createData()
    q = pin.neutral(theirs)
    order = np.zeros(theirs.nv, dtype=int)  # ours for each of their speeds
    for name, c in system.connections.items():
        if c.element.nq:
            at, values = to_pinocchio(theirs, name, c.element.kind, state.q[model.q_slice(name)])
            q[at] = values
            mine = np.arange(model.nv)[model.v_slice(name)]
            entry = theirs.joints[theirs.getJointId(name)]
            order[entry.idx_v : entry.idx_v + entry.nv] = np.roll(mine, 3) if c.element.kind == "Free" else mine
    M = pin.crba(theirs, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    assert model.mass_matrix(state.q)[np.ix_(order, order)] == pytest.approx(M, rel=1e-10, abs=1e-10)
    torque = pin.rnea(theirs, data, q, state.v[order], a[order])
    assert model.inverse_dynamics(state.q, state.v, a)[order] == pytest.approx(torque, rel=1e-10, abs=1e-9)
    acceleration = pin.aba(theirs, data, q, state.v[order], tau[order])
    # both invert the same mass matrix: allow for its condition
    tolerance = 1e-13 * np.linalg.cond(M) * max(1.0, float(np.abs(acceleration).max()))
    ours = model.forward_dynamics(state.q, state.v, tau)[order]
    assert ours == pytest.approx(acceleration, rel=1e-9, abs=tolerance)


def mujoco_coordinates(theirs: Any, mujoco: Any, name: str, kind: str, q: Array) -> list[tuple[int, Array]]:
    """Return addresses in MuJoCo's qpos and the values there; it splits a planar joint into three."""
    names = [f"{name}_TX", f"{name}_TY", f"{name}_RZ"] if kind == "Planar" else [name]
    values = [q[:1], q[1:2], q[2:]] if kind == "Planar" else [q]
    if kind == "Free":
        values = [np.concatenate([q[4:], q[:4]])]
    ids = [mujoco.mj_name2id(theirs, mujoco.mjtObj.mjOBJ_JOINT, n) for n in names]
    assert min(ids) >= 0
    return [(int(theirs.jnt_qposadr[k]), v) for k, v in zip(ids, values, strict=True)]


@pytest.mark.parametrize("seed", range(12))
def test_links_are_placed_as_in_mujoco(seed: int) -> None:
    mujoco = pytest.importorskip("mujoco")
    rng = np.random.default_rng(200 + seed)
    text = random_robot(rng, int(rng.integers(2, 20)), ("revolute", "continuous", "prismatic", "fixed", "planar"))
    system = load_urdf(text)
    coordinates = random_coordinates(rng, system)
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    for name, c in system.connections.items():
        if c.element.nq:
            for at, values in mujoco_coordinates(theirs, mujoco, name, c.element.kind, coordinates[name]):
                data.qpos[at : at + len(values)] = values
    mujoco.mj_kinematics(theirs, data)
    for name, (R, p) in poses(system, coordinates).items():
        if name != "ground":
            body = data.body(name)
            assert pytest.approx(body.xmat.reshape(3, 3), abs=1e-12) == R
            assert pytest.approx(body.xpos, abs=1e-11) == p


@pytest.mark.parametrize("seed", range(12))
def test_a_robot_accelerates_as_in_mujoco(seed: int) -> None:
    mujoco = pytest.importorskip("mujoco")
    rng = np.random.default_rng(300 + seed)
    text = random_robot(rng, int(rng.integers(2, 15)), ("revolute", "continuous", "prismatic", "fixed"))
    system = load_urdf(text)
    model = system.compile()
    q, v, tau = rng.normal(size=(3, model.nv))
    theirs = mujoco.MjModel.from_xml_string(text)
    theirs.opt.disableflags = mujoco.mjtDisableBit.mjDSBL_LIMIT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(theirs)
    for name in system.connections:
        at = model.v_slice(name)
        if at.stop > at.start:
            entry = theirs.joint(name)
            data.qpos[entry.qposadr[0]], data.qvel[entry.dofadr[0]] = q[at].item(), v[at].item()
            data.qfrc_applied[entry.dofadr[0]] = tau[at].item()
    mujoco.mj_forward(theirs, data)
    mine = model.forward_dynamics(q, v, tau)
    condition = np.linalg.cond(model.mass_matrix(q)) if model.nv else 1.0
    tolerance = 1e-13 * condition * max(1.0, float(np.abs(mine).max(initial=0.0)))
    for name in system.connections:
        at = model.v_slice(name)
        if at.stop > at.start:
            assert mine[at].item() == pytest.approx(data.joint(name).qacc.item(), rel=1e-8, abs=tolerance)


@pytest.mark.parametrize("seed", range(4))
def test_a_free_robot_keeps_its_momentum_in_the_absence_of_gravity(seed: int) -> None:
    rng = np.random.default_rng(400 + seed)
    system = load_urdf(random_robot(rng, 8, ALL_KINDS), base="free")
    system.gravity = np.zeros(3)
    model = system.compile()
    assert model.nv == sum(c.element.nv for c in system.connections.values())
    state = model.random_state(rng)
    tau = rng.normal(size=model.nv)
    tau[model.v_slice("base.free")] = 0.0
    a = model.forward_dynamics(state.q, state.v, tau)
    # d(momentum)/dt by central differences along the motion, whose error is of second order in h
    h = 1e-5
    sides = []
    for t in (h, -h):
        q = model.integrate(state.q, t * state.v + 0.5 * t * t * a)
        sides.append(model.momentum(q, state.v + t * a))
    scale = float(np.abs(a).max()) * (1 + float(np.abs(state.v).max())) ** 2
    assert np.abs(sides[0] - sides[1]).max() / (2 * h) < 1e-7 * max(1.0, scale)
