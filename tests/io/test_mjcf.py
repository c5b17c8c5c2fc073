"""Systems from MJCF and into it: MuJoCo's own mass matrix and forces, and the same motion after a round trip."""

from __future__ import annotations

import gc
import warnings
import weakref
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError, OmissionWarning
from dalembert.io import load_mjcf
from dalembert.io.mjcf.writer import Writing
from dalembert.rotation import from_rotation_vector, quaternion, to_quaternion

mujoco = pytest.importorskip("mujoco")

ARM = """
<mujoco model="arm">
  <compiler angle="degree"/>
  <option gravity="0.3 0 -9.81"/>
  <default>
    <joint damping="0.2" armature="0.03"/>
    <default class="stiff"><joint stiffness="7" springref="20"/></default>
  </default>
  <worldbody>
    <site name="post" pos="0 0 1.5"/>
    <body name="hip" pos="0 0 1" euler="10 20 30" gravcomp="0.4">
      <joint name="rx" type="hinge" axis="1 0 0" pos="0.1 0 0" ref="15"/>
      <joint name="ry" type="hinge" axis="0 1 1" class="stiff"/>
      <joint name="sz" type="slide" axis="0 0 1" pos="0 0.2 0" ref="0.3" stiffness="50" springref="0.1"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 0 0 0.5"/>
      <body name="knee" pos="0 0 0.5">
        <joint name="ball" type="ball" pos="0 0.01 0" stiffness="3"/>
        <inertial pos="0.1 0.2 0.3" mass="1.5" fullinertia="0.2 0.25 0.3 0.01 0.02 0.03"/>
        <site name="toe" pos="0.2 0 0.4" euler="0 30 0"/>
        <body name="plate" pos="0.3 0 0" quat="1 1 0 0"><geom type="box" size="0.1 0.2 0.03"/></body>
      </body>
    </body>
    <body name="drone" pos="1 2 3" euler="0 0 45">
      <freejoint name="float"/>
      <geom type="ellipsoid" size="0.1 0.2 0.3"/>
      <site name="rotor" pos="0.3 0 0.1" euler="20 0 0"/>
    </body>
  </worldbody>
  <tendon>
    <fixed name="sum" stiffness="11" damping="0.3" springlength="0.2 0.4"><joint joint="rx" coef="0.5"/>
      <joint joint="sz" coef="-2"/></fixed>
    <spatial name="rope" stiffness="40" damping="1" springlength="0.7"><site site="post"/><site site="toe"/></spatial>
    <spatial name="pulleys" stiffness="9"><site site="post"/><site site="toe"/><site site="rotor"/>
      <pulley divisor="2"/><site site="rotor"/><site site="post"/></spatial>
  </tendon>
  <actuator>
    <motor name="m" joint="rx" gear="3" ctrlrange="-1 1" ctrllimited="true"/>
    <position name="p" joint="sz" kp="30" kv="2" forcerange="-5 5" forcelimited="true"/>
    <velocity name="w" tendon="sum" kv="4" gear="2"/>
    <general name="g" joint="ry" dyntype="filter" dynprm="0.1" gainprm="2 0.5 0.1" gaintype="affine"
             biastype="affine" biasprm="1 2 3"/>
    <motor name="thrust" site="rotor" gear="0.5 0 1 0 0 0.1"/>
  </actuator>
</mujoco>"""


def quietly(source: Any, **options: Any) -> da.System:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OmissionWarning)
        return load_mjcf(source, **options)


def test_mass_matrix_and_forces_are_those_of_mujoco() -> None:
    s = quietly(ARM)
    model = s.compile()
    theirs = mujoco.MjModel.from_xml_string(ARM)
    data = mujoco.MjData(theirs)
    rng = np.random.default_rng(3)
    for _ in range(5):
        angles, ball, place = rng.uniform(-1, 1, 3), rng.normal(size=4), rng.normal(size=3)
        ball, turn = ball / np.linalg.norm(ball), to_quaternion(from_rotation_vector(rng.normal(size=3)))
        data.qpos[:] = [*angles, *ball, *place, *turn]
        data.qvel[:] = rng.normal(size=theirs.nv)
        data.ctrl[:] = rng.normal(size=theirs.nu)
        data.act[:] = rng.normal(size=theirs.na)
        mujoco.mj_forward(theirs, data)
        q = model.zero_configuration().copy()
        joints = {"rx": angles[:1], "ry": angles[1:2], "sz": angles[2:], "ball": ball, "float": [*turn, *place]}
        for name, value in joints.items():
            q[model.q_slice(name)] = value
        T, C = np.zeros((theirs.nv, model.nv)), quaternion(*turn)
        for name, row in (("rx", 0), ("ry", 1), ("sz", 2)):
            T[row, model.v_slice(name)] = 1.0
        T[3:6, model.v_slice("ball")] = np.eye(3)
        T[6:12, model.v_slice("float")] = np.block([[np.zeros((3, 3)), C], [np.eye(3), np.zeros((3, 3))]])
        v = np.linalg.solve(T, data.qvel)
        M = np.zeros((theirs.nv, theirs.nv))
        mujoco.mj_fullM(theirs, data, M)
        # both sum the same inertias in another order
        assert np.allclose(model.mass_matrix(q), T.T @ M @ T, rtol=0, atol=1e-13 * np.abs(M).max())
        a = np.zeros(theirs.nv)
        a[6:9] = C @ np.cross(data.qvel[9:12], C.T @ data.qvel[6:9])  # what T' v adds: axes of the world, not the body
        wanted = T.T @ (data.qfrc_bias - data.qfrc_passive - data.qfrc_actuator + M @ a)
        controls = {f"{name}.u": u for name, u in zip("mpwg", data.ctrl, strict=False)} | {"thrust.u": data.ctrl[4]}
        b = model.bias_forces(q, v, t=0.0, x=data.act, conditions=model.conditions(controls))
        assert np.allclose(b, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())
        for name in ("toe", "rotor"):
            marker = next(m for body in s.bodies.values() for m in body.markers.values() if m.label == name)
            assert np.allclose(model.pose(marker, q).position, data.site(name).xpos, rtol=0, atol=1e-13)


def test_start_values_are_the_reference_or_a_keyframe() -> None:
    keys = ARM.replace(
        "</mujoco>",
        '<keyframe><key name="home" qpos="1 2 3 0 1 0 0 4 5 6 0 0 1 0" qvel="1 0 0 0 0 0 1 2 3 4 5 6"/></keyframe>'
        "</mujoco>",
    )
    s = quietly(keys)
    assert np.allclose(s.initials["rx"].position, np.radians(15))
    assert np.allclose(s.initials["sz"].position, 0.3)
    assert any("keyframe=... takes one of: home" in note for note in s.notes)
    s = quietly(keys, keyframe="home")
    assert s.initials["ry"].position == 2 and s.initials["rx"].speed == 1
    assert np.array_equal(s.initials["float"].position, [0, 0, 1, 0, 4, 5, 6])
    assert np.allclose(s.initials["float"].speed, [4, 5, 6, -1, 2, -3])  # half a turn about y
    with pytest.raises(ModelError, match=r"keyframe is 'away'; the file has: 'home'"):
        quietly(keys, keyframe="away")


FOUR_BAR = """
<mujoco><worldbody>
  <body name="crank"><joint name="A" axis="0 1 0"/><geom type="capsule" size="0.02" fromto="0 0 0 0 0 0.3"/>
    <body name="coupler" pos="0 0 0.3"><joint name="B" axis="0 1 0"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0.8 0 0"/></body></body>
  <body name="rocker" pos="0.8 0 0"><joint name="D" axis="0 1 0"/>
    <geom type="capsule" size="0.02" fromto="0 0 0 0 0 0.3"/></body></worldbody>
  <equality><connect name="C" body1="coupler" body2="rocker" anchor="0.8 0 0"/>%s</equality></mujoco>"""


def test_equalities_close_loops_and_couple_joints() -> None:
    s = quietly(FOUR_BAR % "")
    assert s.check().mobility == 1
    result = da.simulate(s, 0.5)
    assert np.abs(result["coupler.at(0.8, 0, 0).position"] - result["rocker.at(0, 0, 0.3).position"]).max() < 1e-9
    s = quietly(
        FOUR_BAR.replace("<connect", "<joint").replace('body1="coupler" body2="rocker" anchor="0.8 0 0"', "%s")
        % ('joint1="D" joint2="A" polycoef="0.1 2 0 0 0"', '<joint joint1="B" joint2="A" polycoef="0 1 0.5 0 0"/>')
    )
    model = s.compile()
    q = da.assemble(model, hold={"A": 0.4}).q
    assert np.allclose(q[model.q_slice("D")], 0.9) and np.allclose(q[model.q_slice("B")], 0.48)
    s = quietly(FOUR_BAR.replace("<connect", "<weld") % "")
    assert s["C"].element.kind == "Fixed"


def test_unsupported_items_are_reported() -> None:
    text = """<mujoco><option density="1.2"/><worldbody><geom name="post" size="0.1"/>
      <body name="b"><joint name="j" type="ball" range="0 30" limited="true"/><geom size="0.1"/><site name="p"/></body>
      <site name="q" pos="0 0 1"/></worldbody>
      <tendon><spatial name="t" range="0 2" limited="true" stiffness="3"><site site="p"/><geom geom="post"/>
        <site site="q"/></spatial></tendon>
      <actuator><muscle name="flexor" tendon="t" lengthrange="0.5 2"/>
        <motor name="spin" joint="j" gear="0 0 1"/></actuator>
      <sensor><framepos objtype="site" objname="p"/></sensor></mujoco>"""
    with pytest.warns(OmissionWarning) as caught:
        s = load_mjcf(text)
    items = caught[0].message.items
    for words in (
        "limit of a ball",
        "its range",
        "wraps around a sphere",
        "muscle",
        "several degrees of freedom",
        "medium",
        "1 sensors",
    ):
        assert any(words in item for item in items), (words, items)
    assert set(items) <= set(s.notes)


def chain(rng: np.random.Generator) -> da.System:
    """Return a chain with every kind of joint, half of them named from outside inward."""
    s = da.System("chain")
    last = s.body("base", da.box(0.3, 0.2, 0.1, mass=2.0))
    s.connect("float", da.Free(), s.ground, last)
    joints: list[Any] = [
        da.Revolute([1, 2, 3], lower=-3.0, upper=3.0), da.Prismatic("x"), da.Spherical(damping=0.1),
        da.Cylindrical("y", damping=[0.1, 0.2], armature=[0.01, 0.02]), da.Universal("x", "z"), da.Planar("y"),
        da.Screw("z", 0.3), da.Fixed(), da.Revolute("z"),
    ]  # fmt: skip
    for k, joint in enumerate(joints):
        inertia = np.diag([0.1, 0.12, 0.13]) + 0.01
        body = s.body(f"b{k}", mass=1.0 + k, com=0.1 * rng.normal(size=3), inertia=inertia)
        inner = last.at(*rng.normal(size=3), rotation=from_rotation_vector(rng.normal(size=3)))
        outer = body.at(*0.3 * rng.normal(size=3), rotation=from_rotation_vector(rng.normal(size=3)))
        s.connect(f"h{k}", joint, *((inner, outer) if k % 2 else (outer, inner)))
        last = body
    s.connect("spring", da.JointSpring(20.0, 0.3, 0.2), "h0")
    s.connect("rope", da.SpringDamper(30.0, 1.0, 0.5), s.ground.at(0, 0, 1), last)
    ball = to_quaternion(from_rotation_vector([0.2, 0.3, 0.4]))
    s.initial("float", position=[*ball, 1, 2, 3])
    s.initial("h2", position=ball)
    for name, place, speed in (("h0", 0.2, 0.4), ("h1", 0.2, 0.4), ("h6", 0.3, 0.5), ("h8", -0.4, 1.0)):
        s.initial(name, position=place, speed=speed)
    s.initial("h3", position=[0.1, 0.2])
    s.initial("h4", position=[0.3, -0.2], speed=[0.1, 0.2])
    s.initial("h5", position=[0.3, -0.2, 0.4], speed=[0.1, 0.2, 0.3])
    return s


def test_a_chain_of_all_joints_moves_the_same_after_a_round_trip(tmp_path: Path) -> None:
    s = chain(np.random.default_rng(1))
    da.save(s, tmp_path / "chain.xml")
    again = da.load(tmp_path / "chain.xml", keyframe="start")
    before, after = (da.simulate(x, 0.2, rtol=1e-10, atol=1e-10) for x in (s, again))
    for k in range(9):  # the error of two runs
        assert np.allclose(before[f"b{k}.position"][-1], after[f"b{k}.position"][-1], rtol=0, atol=1e-8)
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "chain.xml")).nv == s.compile().nv + 1  # a screw is two joints


@pytest.mark.parametrize("closing", [da.Revolute("y"), da.Spherical(), da.Fixed(), da.Distance(0.5)])
def test_loops_are_written_as_equalities(closing: Any, tmp_path: Path) -> None:
    s = da.System("loop")
    rod = da.rod(length=0.5, mass=1.0, radius=0.01)
    a, b = s.body("a", rod), s.body("b", rod)
    s.connect("A", da.Revolute("y"), s.ground, a)
    s.connect("B", da.Revolute("y"), a.at(0.5, 0, 0), b)
    if closing.kind == "Fixed":
        c = s.body("c", rod)
        s.connect("C", da.Revolute("y"), b.at(0.5, 0, 0), c)
        s.connect("D", da.Revolute("y"), s.ground.at(0.4, 0, 0.2), c.at(0.5, 0, 0))
        closing, ends = da.Fixed(), ("d", "c")
        d = s.body("d", rod)
        s.connect("E", da.Revolute("y"), s.ground.at(0.4, 0, 0.2), d.at(0.5, 0, 0))
        s.connect("Z", closing, *ends)
    else:
        s.connect("Z", closing, s.ground.at(0.6, 0, 0.1), b.at(0.5, 0, 0))
    s.initial("A", position=-0.6, guess=True)
    s.initial("B", position=1.0, guess=True)
    da.save(s, tmp_path / "loop.xml")
    again = da.load(tmp_path / "loop.xml", keyframe="start")
    assert again.check().mobility == s.check().mobility
    before, after = (da.simulate(x, 0.3, rtol=1e-9, atol=1e-9) for x in (s, again))
    assert np.allclose(before["b.position"][-1], after["b.position"][-1], rtol=0, atol=1e-6)
    theirs = mujoco.MjModel.from_xml_path(str(tmp_path / "loop.xml"))
    data = mujoco.MjData(theirs)
    mujoco.mj_resetDataKeyframe(theirs, data, 0)
    mujoco.mj_forward(theirs, data)
    assert np.abs(data.efc_pos[data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)]).max() < 1e-9


def test_a_marker_has_its_site_for_as_long_as_is_written() -> None:
    # told apart by a number that is free again once it is gone, the next one would be given its site
    s = da.System("post")
    writing = Writing(s, Element("mujoco"), Path())
    writing.elements[s.ground.name] = Element("worldbody")
    marker = s.ground.at(0, 0, 1)
    alive = weakref.ref(marker)
    name = writing.site(marker)
    del marker
    gc.collect()
    assert alive() is not None
    assert writing.site(s.ground.at(0, 0, 2)) != name


def test_joints_of_bodies_without_mass_stand_on_what_they_carry(tmp_path: Path) -> None:
    s = da.System("gimbal")
    ring, ball = s.body("ring"), s.body("ball", da.sphere(0.1, mass=1.0))
    s.connect("x", da.Revolute("x"), s.ground.at(0, 0, 1), ring)
    s.connect("y", da.Revolute("y"), ring.at(0.1, 0, 0), ball.at(0, 0.1, 0.3))
    with pytest.warns(OmissionWarning, match="body 'ring': it has no mass"):
        da.save(s, tmp_path / "gimbal.xml")
    again = da.load(tmp_path / "gimbal.xml")
    q, v = np.array([0.3, -0.7]), np.array([1.0, 2.0])
    for one, other in zip(
        *((m.mass_matrix(q), m.bias_forces(q, v)) for m in (s.compile(), again.compile())), strict=True
    ):
        assert np.allclose(one, other, rtol=0, atol=1e-14)
    s.connect("z", da.Revolute("y"), ring, s.body("third", da.sphere(0.1, mass=1.0)))
    with pytest.raises(ModelError, match="carries 2 bodies"):
        da.save(s, tmp_path / "gimbal.xml")


def test_items_that_cannot_be_written_are_refused_or_reported(tmp_path: Path) -> None:
    s = da.System("odd")
    a = s.body("a", da.box(0.1, 0.1, 0.1, mass=1.0))
    joint = s.connect("A", da.Revolute("y", restitution=0.5, lower=-1.0, upper=1.0), s.ground, a)
    s.connect("wind", da.Load(force=(1.0, 0, 0)), a)
    s.drive(joint, speed=1.0)
    with pytest.warns(OmissionWarning) as caught:
        da.save(s, tmp_path / "odd.xml")
    assert [item.split(":")[0] for item in caught[0].message.items] == ["joint 'A'", "force 'wind'", "drive 'A'"]
    s.connect("rail", da.constraints.PointOnLine("x"), s.ground, a.at(0.1, 0, 0))
    with pytest.raises(ModelError, match=r"connection 'rail' is 'PointOnLine'"):
        da.save(s, tmp_path / "odd.xml")


def test_bad_files_end_in_named_errors(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "other.xml").write_text("<mujoco/>")
    body = '<worldbody><body name="b"><joint/>%s</body></worldbody>'
    mesh = '<asset><mesh name="m" file="gone.stl"/></asset>'
    for text, words in (
        ("<mujoco><a>", "not well-formed XML at line 1"),
        ('<!DOCTYPE m [<!ENTITY a "aa">]><mujoco>&a;</mujoco>', "DOCTYPE"),
        ('<mujoco>\n<include file="../other.xml"/></mujoco>', r"outside of the folder.*root=.*\(line 2\)"),
        ('<mujoco>\n\n<include file="no.xml"/></mujoco>', r"there is no such file.*\(line 3\)"),
        ("<mujoco><worldbody><bodyy/></worldbody></mujoco>", "bodyy.*line 1"),
        ("<mujoco>" + body % '<geom size="nan"/>' + "</mujoco>", "document is"),
        ("<mujoco>" + mesh + body % '<geom type="mesh" mesh="m"/>' + "</mujoco>", "mass of body 'b' comes from it"),
        ("<robot/>", "root element"),
    ):
        file = tmp_path / "inner" / "bad.xml"
        file.write_text(text)
        with pytest.raises(ModelError, match=words):
            quietly(file)
    heavy = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom type="mesh" mesh="m"/>'
    file.write_text("<mujoco>" + mesh + body % heavy + "</mujoco>")
    with pytest.warns(OmissionWarning, match=r"mesh 'm': there is no file 'gone\.stl'"):
        load_mjcf(file)
    file.write_text('<mujoco><include file="../more.xml"/></mujoco>')
    (tmp_path / "more.xml").write_text("<mujoco>" + body % '<geom size="1"/>' + "</mujoco>")
    assert list(quietly(file, root=tmp_path).bodies) == ["b"]


@pytest.mark.parametrize("ending", ["mjcf", "MJCF", "mjx", "xml"])
def test_a_document_is_read_whatever_its_name_ends_in(ending: str, tmp_path: Path) -> None:
    """With its includes and from its own folder, also beside another document of nearly the same name."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "options.mjcf").write_text('<mujocoinclude><option gravity="0 0 -3"/></mujocoinclude>')
    (tmp_path / "arm.xml").write_text("<mujoco><worldbody/></mujoco>")
    body = '<body name="b"><joint name="j" axis="0 1 0"/><inertial pos="0 0 1" mass="2" diaginertia="1 1 1"/></body>'
    text = f'<mujoco><include file="parts/options.mjcf"/><worldbody>{body}</worldbody></mujoco>'
    (tmp_path / f"arm.{ending}").write_text(text)
    s = load_mjcf(tmp_path / f"arm.{ending}")
    assert s.bodies["b"].mass == 2.0 and s.gravity[2] == -3.0
