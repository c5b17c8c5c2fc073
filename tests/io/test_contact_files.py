"""Contacts in files: saved and loaded models, and the rules of URDF, MJCF and SDF."""

import copy
import pickle

import numpy as np
import pytest

import dalembert as da
from dalembert.io.mjcf import load_mjcf
from dalembert.io.model_files.json_schema import schema
from dalembert.io.sdf import load_sdf
from dalembert.io.urdf import load_urdf

BOXES = """<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
  <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>
  <visual><geometry><sphere radius="3"/></geometry></visual>"""
URDF = f"""<robot name="legs"><link name="trunk">{BOXES}</link><link name="leg">{BOXES}</link>
  <link name="foot">{BOXES}</link>
  <joint name="hip" type="revolute"><parent link="trunk"/><child link="leg"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/><origin xyz="0 0 -1"/></joint>
  <joint name="knee" type="revolute"><parent link="leg"/><child link="foot"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/><origin xyz="0 0 -1"/></joint></robot>"""
MJCF = """<mujoco model="rules"><default><geom friction="0.7 0.005 0.0001"/></default>
  <asset><hfield name="hills" nrow="3" ncol="4" size="2 1 0.5 0.1" elevation="0 0 0 0 0 1 0 0 0 0 0 0"/></asset>
  <worldbody>
  <geom name="floor" type="plane" size="0 0 1" friction="1.1 0.005 0.0001"/>
  <geom name="hills" type="hfield" hfield="hills" pos="5 0 0"/>
  <body name="a" pos="0 0 1"><freejoint/><geom name="ga" size="0.1"/></body>
  <body name="b" pos="0 0 2"><freejoint/><geom name="gb" size="0.1" friction="0.2 0 0"/></body>
  <body name="c" pos="0 0 3"><freejoint/><geom name="gc" size="0.1" contype="0" conaffinity="0"/></body>
  <body name="d" pos="0 0 4"><freejoint/><geom name="gd" size="0.1" condim="1"/></body>
  </worldbody>
  <contact><exclude body1="a" body2="d"/><pair geom1="ga" geom2="gc" friction="0.9 0.9 0.005 0.0001 0.0001"/></contact>
</mujoco>"""
LINK = """<link name="{0}"><pose>0 0 {1} 0 0 0</pose><inertial><mass>1</mass></inertial>
  <collision name="c"><geometry><sphere>
  <radius>0.1</radius></sphere></geometry><surface><friction><ode><mu>0.35</mu></ode></friction><bounce>
  <restitution_coefficient>0.5</restitution_coefficient></bounce></surface></collision></link>"""
SDF = f"""<sdf version="1.9"><world name="w"><model name="one">{LINK.format("p", 1)}{LINK.format("q", 2)}</model>
  <model name="two">{LINK.format("r", 3)}{LINK.format("s", 4)}<self_collide>true</self_collide></model>
  <model name="ground"><static>true</static><link name="land"><collision name="c"><geometry><plane>
  <normal>0 0 1</normal></plane></geometry></collision></link></model></world></sdf>"""


def described():
    """Return a system with every kind of data of contacts."""
    s = da.System("yard")
    steel, rubber = da.Surface(0.2, 0.5, name="steel"), da.Surface(0.8, young=1e7, poisson=0.4)
    crate = s.body("crate", da.box(0.2, 0.2, 0.2, mass=1.0), surface=steel)
    ball = s.body("ball", da.sphere(0.1, mass=1.0), surface=rubber)
    rod = s.body("rod", da.rod(1.0, mass=1.0, radius=0.02))
    s.connect("hinge", da.joints.Revolute(), crate, rod)
    slope = s.ground.marker("slope", 1.0, 0, 0, rotation=da.rotation.axis_angle((0, 1, 0), 0.3))
    hills = da.height_field(np.arange(12.0).reshape(3, 4) / 10, size=(2.0, 3.0))
    s.contact("floor", da.plane(), [crate, ball], friction=0.4, static_friction=0.5, restitution=0.1)
    s.contact("slope", slope, "*", rounding=0.01)
    s.contact("hills", (hills, s.ground.at(0, 0, -1)), ball, stiffness=1e4, exponent=1.2, at_speed=0.5)
    s.contact("parts", [crate, rod], ball, without=[("crate", "ball")], neighbours=True)
    s.contact("peg", (da.box(0.1, 0.1, 0.1), rod.at(0.5, 0, 0)), ball, depth=1e-4)
    s.pair(steel, rubber, friction=0.7, restitution=0.3)
    s.untouched.append(("ball", "rod"))
    return s


def same_tables(one, two):
    a, b = one.compile().contacts, two.compile().contacts
    assert a.names == b.names
    assert a.materials == b.materials
    assert a.surfaces == b.surfaces
    assert np.array_equal(a.excluded, b.excluded)
    assert np.array_equal(a.filtered, b.filtered)
    assert np.array_equal(a.material_index, b.material_index)
    for first, second in zip(a.shapes, b.shapes, strict=True):
        assert (first.body, first.name, first.thickness, first.type) == (
            second.body,
            second.name,
            second.thickness,
            second.type,
        )
        assert first.convex.position == pytest.approx(second.convex.position, abs=1e-15)
        assert first.convex.rotation == pytest.approx(second.convex.rotation, abs=1e-15)
    for pair, other in zip(a.memberships, b.memberships, strict=True):
        assert [side.tolist() for side in pair] == [side.tolist() for side in other]


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_contacts_are_saved_and_loaded(tmp_path, ending):
    s = described()
    file = tmp_path / f"yard.{ending}"
    da.save(s, file)
    again = da.load(file)
    same_tables(s, again)
    assert again.surface_pairs == s.surface_pairs
    assert again.untouched == s.untouched
    for name, contact in s.contacts.items():
        for field in ("friction", "static_friction", "restitution", "stiffness", "exponent", "depth", "at_speed"):
            assert getattr(again.contacts[name], field) == getattr(contact, field)


def test_copies_and_pickles_have_the_same_contacts():
    s = described()
    same_tables(s, s.copy())
    same_tables(s, pickle.loads(pickle.dumps(s)))
    same_tables(s, copy.deepcopy(s))


def test_saved_contacts_fit_the_schema(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    import json

    da.save(described(), tmp_path / "yard.json")
    jsonschema.validate(json.loads((tmp_path / "yard.json").read_text()), schema())


def test_a_removed_body_leaves_its_contacts():
    s = described()
    s.remove("ball")
    assert "hills" not in s.contacts  # its second side was the ball
    assert "parts" not in s.contacts
    assert [member.name for member in s.contacts["floor"].second] == ["crate"]
    assert s.untouched == []
    s.remove("floor")
    assert "floor" not in s.contacts


def test_errors_of_contacts_in_files_name_the_line(tmp_path):
    file = tmp_path / "bad.yaml"
    text = "dalembert: 1\nbodies:\n  ball: {shape: {type: sphere, radius: 0.1, mass: 1}}\ncontacts:\n"
    file.write_text(text + "  floor: {first: {shape: {type: plane}}, second: bal}\n")
    with pytest.raises(da.FileError, match=r"bad.yaml:5"):
        da.load(file)
    file.write_text(text + "  floor: {first: {shape: {type: plane}}, second: ball, frction: 1}\n")
    with pytest.raises(da.FileError, match="friction"):
        da.load(file)


def test_collision_geometry_of_urdf_touches_the_floor():
    s = load_urdf(URDF, base="free")
    assert any("3 shapes may touch: s.contact(" in note for note in s.notes)
    s.contact("floor", da.plane(), "*", friction=0.6)
    tables = s.compile().contacts
    assert len([shape for shape in tables.shapes if shape.is_own]) == 3  # no visuals
    s.contact("self", "*", "*")
    tables = s.compile().contacts
    own = {shape.name: k for k, shape in enumerate(tables.shapes) if shape.is_own}
    assert tables.contact_of(own["trunk"], own["foot"]) == 1
    assert tables.contact_of(own["trunk"], own["leg"]) == -1  # joined


def test_rules_of_mjcf_apply_to_all_bodies():
    pytest.importorskip("mujoco")
    s = load_mjcf(MJCF)
    assert any("may touch: s.contact(" in note for note in s.notes)
    assert any("solref" in note for note in s.notes)
    s.contact("all", "*", "*")
    tables = s.compile().contacts
    named = {shape.name: k for k, shape in enumerate(tables.shapes) if shape.body}
    floor = next(k for k, shape in enumerate(tables.shapes) if not shape.body)
    touch = lambda one, two: tables.contact_of(named[one], named[two]) == 0  # noqa: E731
    assert touch("a", "b")
    assert touch("b", "d")
    assert not touch("a", "d")  # <exclude>
    assert touch("a", "c")  # <pair>
    assert not touch("b", "c")  # contype 0
    friction = lambda i, j: tables.material_of(0, i, j).friction  # noqa: E731
    assert friction(named["a"], named["b"]) == pytest.approx(0.7)  # the larger
    assert friction(named["a"], named["c"]) == pytest.approx(0.9)  # of the pair
    assert friction(floor, named["b"]) == pytest.approx(1.1)
    assert sum(not shape.body for shape in tables.shapes) == 2  # plane and height field of the world


def test_a_height_field_of_mjcf_has_mujocos_heights():
    pytest.importorskip("mujoco")
    s = load_mjcf(MJCF)
    field = next(look for look in s.ground.visuals if look.kind == "height field")
    assert field.size == {"x": 4.0, "y": 2.0}
    assert field.heights.shape == (4, 3)
    assert np.unravel_index(field.heights.argmax(), (4, 3)) == (1, 1)
    assert field.heights.max() == pytest.approx(0.5)


def test_links_of_one_sdf_model_touch_only_if_it_says_so():
    with pytest.warns(da.errors.OmissionWarning):
        s = load_sdf(SDF)
    assert any("5 shapes may touch" in note for note in s.notes)
    s.contact("all", "*", "*")
    tables = s.compile().contacts
    named = {shape.name.rpartition("::")[2]: k for k, shape in enumerate(tables.shapes)}
    touch = lambda one, two: tables.contact_of(named[one], named[two]) == 0  # noqa: E731
    assert not touch("p", "q")
    assert touch("r", "s")
    assert touch("p", "r")
    assert touch("p", "land")
    material = tables.material_of(0, named["p"], named["r"])
    assert (material.friction, material.restitution) == (0.35, 0.5)


def test_rules_of_robot_files_are_saved(tmp_path):
    pytest.importorskip("mujoco")
    s = load_mjcf(MJCF)
    s.contact("all", "*", "*")
    da.save(s, tmp_path / "rules.yaml")
    same_tables(s, da.load(tmp_path / "rules.yaml"))
