"""Systems from SDF: frames relative to others, nested models, all joints; what is wrong is said with its line."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError, OmissionWarning
from dalembert.io import load_sdf, load_urdf
from dalembert.rotation import axis_angle

INERTIAL = """<inertial><pose>0.1 0 0.2 0 0 0.5</pose><mass>2</mass>
  <inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.15</izz><ixy>0.01</ixy></inertia></inertial>"""


def quietly(text: Any) -> da.System:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OmissionWarning)
        return load_sdf(text)


def model(body: str, version: str = "1.9") -> str:
    return f'<sdf version="{version}"><model name="m">{body}</model></sdf>'


def link(name: str, pose: str = "") -> str:
    return f'<link name="{name}">{pose}{INERTIAL}</link>'


def joint(name: str, kind: str, parent: str, child: str, more: str = "<axis><xyz>0 1 0</xyz></axis>") -> str:
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{more}</joint>'


TWIN = """<robot name="m">
  <link name="world"/>
  {links}
  <joint name="A" type="revolute"><parent link="world"/><child link="a"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="30" velocity="5"/><dynamics damping="0.3"/></joint>
  <joint name="B" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="0.5 0 0" rpy="0.1 0.2 0.3"/>
    <axis xyz="0 0.6 0.8"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


def test_mass_matrix_and_forces_are_those_of_the_urdf_twin() -> None:
    data = """<limit><lower>-1</lower><upper>2</upper><effort>30</effort><velocity>5</velocity></limit>
      <dynamics><damping>0.3</damping></dynamics>"""
    s = quietly(
        model(
            link("a", "<pose>0 0 1 0 0 0</pose>")
            + link("b", '<pose relative_to="a">0.5 0 0 0.1 0.2 0.3</pose>')
            + joint("A", "revolute", "world", "a", f"<axis><xyz>0 1 0</xyz>{data}</axis>")
            + joint("B", "prismatic", "a", "b", "<axis><xyz>0 0.6 0.8</xyz></axis>")
        )
    )
    inertial = '<inertial><origin xyz="0.1 0 0.2" rpy="0 0 0.5"/><mass value="2"/>'
    inertial += '<inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0.01"/></inertial>'
    twin = load_urdf(TWIN.format(links="".join(f'<link name="{n}">{inertial}</link>' for n in "ab")))
    ours, theirs = s.compile(), twin.compile()
    q, v = np.array([0.3, -0.4]), np.array([1.0, 2.0])
    assert np.allclose(ours.mass_matrix(q), theirs.mass_matrix(q), rtol=0, atol=1e-14)
    assert np.allclose(ours.bias_forces(q, v), theirs.bias_forces(q, v), rtol=0, atol=1e-13)
    assert s["A"].element.upper == 2 and s["A"].element.max_effort == 30


def test_frames_nested_models_and_axes_of_other_frames() -> None:
    s = quietly(
        model(
            """<pose>1 0 0 0 0 0</pose>"""
            + link("base", '<pose relative_to="tilted">0 0 1 0 0 0</pose>')
            + """<frame name="tilted" attached_to="base"><pose relative_to="__model__" degrees="true">0 2 0 90 0 0
              </pose></frame><frame name="tip" attached_to="arm::hand"><pose>0 0 0.5 0 0 0</pose></frame>
              <model name="arm" canonical_link="hand"><pose rotation_format="quat_xyzw">0 0 3 0 0 1 0</pose>"""
            + link("hand", "<pose>0 0 1 0 0 0</pose>")
            + "</model>"
            + joint("wrist", "revolute", "base", "arm", '<axis><xyz expressed_in="__model__">0 0 1</xyz></axis>')
        )
    )
    m = s.compile()
    state = da.start_state(s)
    assert np.allclose(m.pose("base", state.q).position, [1, 1, 0])  # a turn about x carries z to -y
    assert np.allclose(m.pose("arm::hand", state.q).position, [1, 0, 4])
    assert np.allclose(m.pose("arm::hand.tip", state.q).position, [1, 0, 4.5])
    assert np.allclose(s["wrist"].second.position, [0, 0, -1])  # at the frame of the nested model
    turn = m.pose("base", state.q).rotation @ s["wrist"].first.rotation
    assert np.allclose(turn @ s["wrist"].element.axis, [0, 0, 1])
    assert s["base.free"].element.kind == "Free"


def test_every_kind_of_joint() -> None:
    two = "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>{}</xyz></axis2>"
    kinds = {
        "continuous": ("Revolute", ""), "ball": ("Spherical", ""), "fixed": ("Fixed", ""),
        "prismatic": ("Prismatic", ""),
        "universal": ("Universal", two.format("0 1 0")),
        "screw": ("Screw", "<screw_thread_pitch>0.2</screw_thread_pitch>"),
    }  # fmt: skip
    for kind, (element, more) in kinds.items():
        s = quietly(model(link("a") + joint("J", kind, "world", "a", more or "<axis><xyz>0 1 0</xyz></axis>")))
        assert s["J"].element.kind == element
        assert s.compile().nv == s["J"].element.nv
    assert quietly(
        model(link("a") + joint("J", "screw", "world", "a", "<thread_pitch>-31.4159265358979</thread_pitch>"))
    )["J"].element.pitch == pytest.approx(0.2)
    s = quietly(model(link("a") + joint("J", "revolute2", "world", "a", two.format("1 1 0"))))
    m = s.compile()
    R = m.pose("a", [0.3, 0.4]).rotation
    assert np.allclose(R, axis_angle("x", 0.3) @ axis_angle([1, 1, 0], 0.4))


def test_loops_static_models_springs_and_mimics() -> None:
    s = quietly(
        model(
            "".join(link(n, f"<pose>{x} 0 0 0 0 0</pose>") for n, x in (("a", 0), ("b", 1), ("c", 2)))
            + joint("A", "revolute", "world", "a")
            + joint("B", "revolute", "a", "b")
            + joint("D", "revolute", "world", "c")
            + joint("C", "revolute", "b", "c", "<pose>0 0 1 0 0 0</pose><axis><xyz>0 1 0</xyz></axis>")
        )
    )
    assert s.check().mobility == 1
    s = quietly(model("<static>true</static>" + link("wall") + link("shelf")))
    assert {c.element.kind for c in s.connections.values()} == {"Fixed"}
    spring = "<dynamics><spring_stiffness>5</spring_stiffness><spring_reference>0.2</spring_reference></dynamics>"
    mimic = '<mimic joint="A"><multiplier>2</multiplier><offset>0.1</offset><reference>0.3</reference></mimic>'
    s = quietly(
        model(
            link("a") + link("b")
            + joint("A", "revolute", "world", "a", f"<axis><xyz>0 1 0</xyz>{spring}</axis>")
            + joint("B", "revolute", "world", "b", f"<axis><xyz>0 1 0</xyz>{mimic}</axis>")
        )
    )  # fmt: skip
    assert (s["A.spring"].element.stiffness, s["A.spring"].element.rest) == (5, 0.2)
    assert (s.mimics["B"].multiplier, s.mimics["B"].offset) == (2, pytest.approx(-0.5))


def test_what_is_left_out_is_listed() -> None:
    text = model(link("a") + '<link name="bare"/><plugin name="p"/>' + joint("A", "fixed", "a", "bare") + "<drake:x/>")
    with pytest.warns(OmissionWarning) as caught:
        s = load_sdf(text)
    told = "\n".join(caught[0].message.items)
    assert "'m::bare': without <inertial> it has 1 kg" in told and "<plugin>: 1" in told and "<drake:x>" in told
    assert s["bare"].mass == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<sdf version='1.9'>", "not well-formed"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><sdf/>', "DOCTYPE"),
        ("<sdf version='1.9'/>", "no <model>"),
        ("<robot/>", "root <sdf>"),
        (model('<link name="a">\n<pose>0 0 nan 0 0 0</pose></link>'), r"link 'm::a': pose is.*finite.*\(line 2\)"),
        (model('\n\n<link name="a"><pose>0 0</pose></link>'), r"give 6 numbers.*not 2 \(line 3\)"),
        (
            model(link("a") + "\n" + joint("J", "revolut", "world", "a")),
            r"'revolut'.*did you mean 'revolute'.*\(line 3\)",
        ),
        (model(link("a") + joint("J", "fixed", "world", "c")), "child is 'm::c'|nothing has that name"),
        (model(link("a", '<pose relative_to="b"/>') + link("b", '<pose relative_to="a"/>')), "circle"),
        (model(link("a") + link("a")), "something else has this name"),
        (model('<link name="a"><inertial><mass>-1</mass></inertial></link>'), r"link 'm::a' \(line 1\): mass"),
    ],
)
def test_bad_documents_end_in_named_errors(text: str, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        quietly(text)


def test_load_reads_sdf(tmp_path: Path) -> None:
    for name in ("m.sdf", "m.world", "m.xml"):
        (tmp_path / name).write_text(model(link("a") + joint("A", "revolute", "world", "a")))
        assert da.load(tmp_path / name)["A"].element.kind == "Revolute"
    with pytest.raises(ModelError, match="base is 'free'; a SDF file takes inertia"):
        da.load(tmp_path / "m.sdf", base="free")
