"""Whatever an MJCF or SDF document holds, it becomes a system or is refused by name; nothing else happens."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import DalembertError, ModelError
from dalembert.io import load_mjcf, load_sdf

MJCF = """<mujoco model="arm"><compiler angle="radian"/><default><joint damping="0.1"/></default>
  <asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
  <worldbody><site name="post" pos="0 0 1"/><body name="a" pos="0 0 1">
    <joint name="A" type="hinge" axis="0 1 0" ref="0.1"/>
    <geom type="capsule" size="0.05" fromto="0 0 0 0 0 0.5"/><site name="tip" pos="0 0 0.5"/>
    <body name="b" pos="0 0 0.5" euler="0.1 0 0"><joint name="B" type="ball"/><geom type="mesh" mesh="m"/></body></body>
    <body name="c" pos="1 0 0"><freejoint name="C"/>
      <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody>
  <equality><connect body1="b" body2="c" anchor="0 0 0.1"/><joint joint1="A" polycoef="0 1 0 0 0"/></equality>
  <tendon><spatial name="rope" stiffness="4"><site site="post"/><site site="tip"/></spatial></tendon>
  <actuator><motor name="u" joint="A" gear="2"/><position joint="A" kp="3"/></actuator>
  <keyframe><key name="k" qpos="0 1 0 0 0 1 0 0 1 0 0 0"/></keyframe></mujoco>"""

SDF = """<sdf version="1.9"><world name="w"><gravity>0 0 -9.8</gravity><model name="arm"><pose>0 0 1 0 0.1 0</pose>
  <link name="a"><inertial><mass>2</mass><pose>0.1 0 0 0 0 0</pose>
    <inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia>
    </inertial><visual name="v"><geometry><mesh><uri>model://x/y.stl</uri></mesh></geometry></visual></link>
  <link name="b"><pose relative_to="a">0 0 1 0 0 0</pose><inertial><mass>1</mass></inertial>
    <collision name="c"><geometry><box><size>1 2 3</size></box></geometry></collision></link>
  <frame name="f" attached_to="b"><pose>0 0 1 0 0 0</pose></frame>
  <joint name="A" type="revolute"><parent>world</parent><child>a</child><axis><xyz>0 1 0</xyz><limit><lower>-1</lower>
    <upper>1</upper></limit><dynamics><damping>0.1</damping></dynamics></axis></joint>
  <joint name="B" type="universal"><parent>a</parent><child>b</child><axis><xyz>1 0 0</xyz></axis>
    <axis2><xyz>0 1 0</xyz></axis2></joint></model></world></sdf>"""

WORDS = """< > /> </ " ' & ; = <!-- ]]> <![CDATA[ &e; &#0; &lt; é 0 -1 1e308 1e-320 nan inf -inf 1e999 1,5 -0.0
    ground world __model__ :: a A <link/> <body/> <joint/> <pose/>"""
PIECES = [
    *WORDS.split(),
    *("0 0 0", "\0", " ", "1 2", "9" * 30, "<include file='x.xml'/>", "<include><uri>x</uri></include>"),
    '<!DOCTYPE r [<!ENTITY e "x">]>',
]
READERS: dict[str, tuple[Callable[..., da.System], str]] = {"MJCF": (load_mjcf, MJCF), "SDF": (load_sdf, SDF)}


def mutated(text: str, rng: random.Random) -> str:
    """Return a document with a few pieces cut, doubled, moved, or put in; numbers become extreme."""
    for _ in range(rng.randint(1, 4)):
        i, j = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        j = min(j, i + rng.randint(0, 60))
        way = rng.randrange(5)
        if way == 0:
            text = text[:i] + text[j:]
        elif way == 1:
            text = text[:j] + text[i:j] + text[j:]
        elif way == 2:
            text = text[:i] + rng.choice(PIECES) + text[i:]
        else:  # the value of an attribute or the text of an element
            marks = '"' if way == 3 else "><"
            start = text.find(marks[0], i) + 1
            end = text.find(marks[-1], start)
            if 0 < start <= end:
                text = text[:start] + rng.choice(PIECES) + text[end:]
    return text


def taken_or_refused(load: Callable[..., da.System], text: str | bytes) -> bool:
    """Return whether a document is taken; what is taken has finite numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            system = load(text)
        except DalembertError as error:
            assert str(error)
            return False
    assert isinstance(system, da.System)
    assert all(np.isfinite([body.mass, *body.com, *body.inertia.flat]).all() for body in system.bodies.values())
    return True


@pytest.mark.parametrize("kind", READERS)
def test_damaged_documents_are_taken_or_refused_by_name(kind: str) -> None:
    if kind == "MJCF":
        pytest.importorskip("mujoco")
    load, text = READERS[kind]
    assert taken_or_refused(load, text)
    rng = random.Random(5)
    taken = sum(taken_or_refused(load, mutated(text, rng)) for _ in range(250))
    assert 5 < taken < 245  # the changes are neither all deadly nor all harmless


@pytest.mark.parametrize("kind", READERS)
def test_bytes_that_are_no_text_are_refused(kind: str) -> None:
    if kind == "MJCF":
        pytest.importorskip("mujoco")
    load, text = READERS[kind]
    rng = random.Random(6)
    for _ in range(40):
        data = bytearray(text.encode())
        for _ in range(3):
            data[rng.randrange(len(data))] = rng.randrange(256)
        taken_or_refused(load, bytes(data))


@pytest.mark.parametrize("kind", READERS)
def test_bombs_are_bounded(kind: str) -> None:
    load, text = READERS[kind]
    root = text[1 : text.index(" ")]
    entities = "".join(f'<!ENTITY e{k + 1} "{f"&e{k};" * 10}">' for k in range(9))
    bombs = [
        f'<!DOCTYPE r [<!ENTITY e0 "x">{entities}]><{root}>&e9;</{root}>',
        f"<{root}>" + "<a>" * 100_000 + "</a>" * 100_000 + f"</{root}>",
        f'<!DOCTYPE r SYSTEM "file:///etc/passwd"><{root}/>',
        f"<{root}>" + " " * (80 * 1024 * 1024) + f"</{root}>",
    ]
    for bomb in bombs:
        with pytest.raises(ModelError):
            load(bomb)


def test_files_that_include_each_other_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    for one, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{one}.xml").write_text(f'<mujoco><include file="{other}.xml"/></mujoco>')
    with pytest.raises(ModelError):
        load_mjcf(tmp_path / "a.xml")


def test_files_are_included_from_the_folder_of_the_one_that_names_them(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    (tmp_path / "parts").mkdir()
    body = '<worldbody><body name="b"><joint/><geom size="0.1"/></body></worldbody>'
    (tmp_path / "arm.xml").write_text('<mujoco><include file="parts/all.xml"/></mujoco>')
    (tmp_path / "parts/all.xml").write_text('<mujocoinclude><include file="one.xml"/></mujocoinclude>')
    (tmp_path / "parts/one.xml").write_text(f"<mujocoinclude>{body}</mujocoinclude>")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert list(load_mjcf(tmp_path / "arm.xml").bodies) == ["b"]
        (tmp_path / "parts/all.xml").write_text('<mujocoinclude><include file="../../one.xml"/></mujocoinclude>')
        with pytest.raises(ModelError, match=r"outside|no such file"):
            load_mjcf(tmp_path / "arm.xml")
