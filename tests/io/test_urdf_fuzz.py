"""Whatever a URDF document holds, it becomes a system or is refused by name; nothing else happens."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from dalembert.errors import DalembertError, ModelWarning, OmissionWarning
from dalembert.io import load_urdf
from dalembert.system import System

VALID = """<?xml version="1.0" encoding="utf-8"?>
<robot name="arm">
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base"/>
  <link name="upper">
    <inertial>
      <origin xyz="0.1 0 0.2" rpy="0 0.3 0"/>
      <mass value="2.5"/>
      <inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>
    </inertial>
    <visual><origin xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry><material name="grey"/></visual>
    <collision><geometry><mesh filename="package://a/b.stl" scale="1 1 1"/></geometry></collision>
  </link>
  <link name="lower"><visual><geometry><cylinder radius="0.1" length="2"/></geometry></visual></link>
  <link name="hand"><collision><geometry><sphere radius="1"/></geometry></collision></link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0 1" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="30" velocity="2"/><dynamics damping="0.1" friction="0.2"/>
  </joint>
  <joint name="elbow" type="prismatic">
    <parent link="upper"/><child link="lower"/><mimic joint="shoulder" multiplier="2" offset="0.1"/>
  </joint>
  <joint name="wrist" type="planar"><parent link="lower"/><child link="hand"/><axis xyz="0 0 1"/></joint>
</robot>"""

WORDS = """
    < > /> </ " ' & ; = <!-- --> ]]> <![CDATA[ <?xml?> <!DOCTYPE <!DOCTYPE> &e; &#0; &#x110000; &lt; é
    <robot> </robot> <link/> <link> </link> <joint> </joint> <inertial/> <origin/> <axis/> <limit/> <mimic/>
    name base upper ground shoulder revolute continuous floating fixed spherical planar ball
    0 -1 1e308 -1e308 1e-320 nan inf -inf 1e999 0x1p3 1_0 ١ 1,5 ${x}
"""
FRAGMENTS = [
    *WORDS.split(),
    *(" ", "\n", "\0", "\ud800", "\U0010ffff", "0 0 0"),
    *('<!DOCTYPE r [<!ENTITY e "x">]>', '<link name="base"/>', '<link name="ground"/>'),
    *('<joint name="upper" type="fixed"/>', '<parent link="hand"/>', '<child link="base"/>'),
]
EXTREMES = ["1e308", "-1e308", "1e154", "1e-308", "5e-324", "-0.0", "nan", "inf", "", "1 1 1", "x"]
KINDS = st.sampled_from(["fixed", "revolute", "planar", "ball", "floating", "?"])
VALUES = st.one_of(
    st.sampled_from(FRAGMENTS),
    st.floats().map(repr),
    st.lists(st.floats().map(repr), min_size=3, max_size=3).map(" ".join),
    st.text(max_size=8),
)
NAMES = st.sampled_from(["a", "b", "c", "d", "ground", "world", "a_joint", "", " a "])
quick = settings(max_examples=300, deadline=None, derandomize=True, database=None)


def loaded_or_refused(document: str | bytes, base: str = "fixed") -> System | None:
    """Return the system, sound as far as it can be seen, or None if the document was refused properly."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", RuntimeWarning)  # of NumPy, on the way to refusing what overflows
        warnings.simplefilter("ignore", OmissionWarning)  # of meshes that are not there
        warnings.simplefilter("ignore", ModelWarning)  # of data that are kept though no robot can have them
        try:
            system = load_urdf(document, base=base)
        except DalembertError as error:
            assert str(error)
            return None
    forest = system.forest()
    assert forest.nb == len(system.bodies) and not forest.loop_constraints
    assert not any(joint.reversed for joint in forest.joints)
    for body in system.bodies.values():
        assert body.mass >= 0 and np.isfinite(body.inertia).all() and np.isfinite(body.com).all()
    return system


def test_the_document_that_is_mutated_below_is_valid() -> None:
    system = loaded_or_refused(VALID)
    assert system is not None and len(system.bodies) == 4 and len(system.connections) == 4


@quick
@given(st.binary(max_size=200))
@example(b"")
@example(b"<")
@example(b"\xff\xfe<\x00")
@example(b"<?xml version='1.0' encoding='utf-16'?><robot/>")
def test_random_bytes_are_refused(data: bytes) -> None:
    assert loaded_or_refused(data) is None
    loaded_or_refused(b"<robot>" + data + b"</robot>")
    loaded_or_refused(b'<robot><link name="' + data + b'"/></robot>')


@quick
@given(st.text(max_size=100))
@example("\0")
@example("\n")
def test_random_text_is_refused(text: str) -> None:
    assert loaded_or_refused(text) is None
    loaded_or_refused("<robot>" + text)
    loaded_or_refused("<robot>" + text + "</robot>")


@quick
@given(data=st.data())
def test_edits_of_a_valid_document(data: st.DataObject) -> None:
    text = VALID
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        stop = data.draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + data.draw(VALUES) + text[stop:]
    loaded_or_refused(text, data.draw(st.sampled_from(["fixed", "free"])))


@quick
@given(data=st.data())
def test_damaged_bytes_of_a_valid_document(data: st.DataObject) -> None:
    document = bytearray(VALID.encode(data.draw(st.sampled_from(["utf-8", "utf-16", "utf-8-sig"]))))
    for _ in range(data.draw(st.integers(1, 5))):
        document[data.draw(st.integers(0, len(document) - 1))] = data.draw(st.integers(0, 255))
    loaded_or_refused(bytes(document[: data.draw(st.integers(0, len(document)))]))
    loaded_or_refused(bytes(document))


def attributes() -> list[tuple[int, int]]:
    """Return where the attribute values of the valid document start and end."""
    marks = [k for k, letter in enumerate(VALID) if letter == '"']
    return [(a + 1, b) for a, b in zip(marks[::2], marks[1::2], strict=True)]


def escaped(value: str) -> str:
    printable = "".join(c for c in value if c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff")
    return printable.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


@settings(quick, max_examples=1000)
@given(which=st.sampled_from(attributes()), value=VALUES)
def test_any_value_in_any_attribute(which: tuple[int, int], value: str) -> None:
    loaded_or_refused(VALID[: which[0]] + escaped(value) + VALID[which[1] :])


@pytest.mark.parametrize("number", EXTREMES)
def test_extreme_numbers_in_every_attribute(number: str) -> None:
    for start, stop in attributes():
        for value in (number, f"{number} {number} {number}"):
            loaded_or_refused(VALID[:start] + value + VALID[stop:])


@quick
@given(
    links=st.lists(NAMES, max_size=5),
    joints=st.lists(st.tuples(NAMES, KINDS, NAMES, NAMES, NAMES), max_size=6),
    base=st.sampled_from(["fixed", "free"]),
)
def test_any_structure(links: list[str], joints: list[tuple[str, ...]], base: str) -> None:
    parts = [f'<link name="{name}"/>' for name in links]
    for name, kind, parent, child, leader in joints:
        inside = f'<parent link="{parent}"/><child link="{child}"/>' + (f'<mimic joint="{leader}"/>' if leader else "")
        parts.append(f'<joint name="{name}" type="{kind}">{inside}</joint>')
    system = loaded_or_refused(f"<robot>{''.join(parts)}</robot>", base)
    if system is not None:
        assert len(system.bodies) == len(links)
        assert len(system.connections) == len(joints) + 1


ELEMENTS = st.recursive(
    st.sampled_from(["origin", "mass", "inertia", "axis", "limit", "mimic", "box", "mesh", "link", "joint", "x:y"]).map(
        lambda tag: f'<{tag} name="a"/>'
    ),
    lambda inside: st.tuples(
        st.sampled_from(["robot", "link", "joint", "inertial", "visual", "collision", "geometry", "material"]),
        st.sampled_from(["", ' name="a"', ' name="b"', ' type="fixed"', ' link="a"', ' xyz="0 0 0"']),
        st.lists(inside, max_size=4),
    ).map(lambda part: f"<{part[0]}{part[1]}>{''.join(part[2])}</{part[0]}>"),
    max_leaves=20,
)


@quick
@given(st.lists(ELEMENTS, max_size=4))
def test_any_nesting_of_elements(parts: list[str]) -> None:
    loaded_or_refused("".join(parts))
    loaded_or_refused(f'<robot><link name="base"/>{"".join(parts)}</robot>')


@quick
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=30))
def test_any_graph_of_links(arcs: list[tuple[int, int]]) -> None:
    links = sorted({end for arc in arcs for end in arc})
    parts = [f'<link name="l{k}"/>' for k in links]
    parts += [
        f'<joint name="j{n}" type="continuous"><parent link="l{a}"/><child link="l{b}"/></joint>'
        for n, (a, b) in enumerate(arcs)
    ]
    system = loaded_or_refused(f"<robot>{''.join(parts)}</robot>")
    # a tree has one arc fewer than vertices, no vertex with two parents, and no vertex of its own parent
    children = [b for _, b in arcs]
    if len(links) != len(arcs) + 1 or len(set(children)) != len(children):
        assert system is None
