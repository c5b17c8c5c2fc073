"""URDF as it is published: what no robot can have is kept and said, what cannot be drawn is skipped and noted."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from systems.robots.published_robots import compared, loaded

import dalembert as da
from dalembert.errors import ModelWarning
from dalembert.io import load_urdf

FOLDER = os.environ.get("DALEMBERT_ROBOTS", "")
FILES = sorted(Path(FOLDER).glob("*.urdf")) if FOLDER else []


def link(name: str, mass: float = 1.0, moments: str = "1 1 1 0 0 0", inside: str = "") -> str:
    """Return a link with the moments xx, yy, zz, xy, xz, yz."""
    entries = zip(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), moments.split(), strict=True)
    inertia = "<inertia " + " ".join(f'{key}="{value}"' for key, value in entries) + "/>"
    inertial = f'<origin xyz="0.1 0.2 0.3" rpy="0.1 0 0.4"/><mass value="{mass}"/>{inertia}'
    return f'<link name="{name}"><inertial>{inertial}</inertial>{inside}</link>'


LIMIT = '<limit lower="-3" upper="3" effort="30" velocity="4"/>'


def joint(name: str, parent: str, child: str, inside: str = "", kind: str = "revolute", limit: str = LIMIT) -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="0 0.1 0.5" rpy="0.3 0 0.1"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{inside}{limit}</joint>'


def robot(*parts: str) -> str:
    return f'<robot name="r">{"".join(parts)}</robot>'


AXIS = '<axis xyz="0 1 0"/>'
DATA = '<limit lower="-1" upper="2" effort="30" velocity="4"/><dynamics damping="0.5" friction="0.25"/>'

# each of them is in a file that somebody publishes
TRAPS = {
    "two moments do not reach the third": robot(
        link("base"), link("arm", 1.0, "1 1 9 0 0 0"), joint("A", "base", "arm", AXIS)
    ),
    "a moment is negative": robot(
        link("base"), link("arm", 2.0, "0.1 0.1 0.1 0.2 0 0"), joint("A", "base", "arm", AXIS)
    ),
    "every entry is a millionth": robot(
        link("base", 1e-6, "1e-6 1e-6 1e-6 1e-6 1e-6 1e-6"),
        link("arm"),
        joint("A", "base", "arm", AXIS),
    ),
    "an axis twice": robot(link("base"), link("arm"), joint("A", "base", "arm", AXIS + AXIS)),
    "moving links without mass": robot(
        link("base"),
        link("arm"),
        *('<link name="palm"/>', '<link name="finger"/>'),
        joint("A", "base", "arm", AXIS),
        joint("B", "arm", "palm", AXIS),
        joint("C", "palm", "finger", AXIS, "prismatic"),
    ),
    "links without mass between others": robot(
        link("base"),
        '<link name="cross"/>',
        link("arm"),
        joint("A", "base", "cross", AXIS),
        joint("B", "cross", "arm", '<axis xyz="1 0 0"/>', "continuous"),
    ),
    "a mimic of nobody": robot(link("base"), link("arm"), joint("A", "base", "arm", AXIS + '<mimic joint="knee"/>')),
    "a joint named like a link": robot(link("base"), link("arm"), joint("arm", "base", "arm", AXIS)),
    "only a base": robot(link("base")),
    "a material among the geometry": robot(
        link("base", inside='<visual><geometry><box size="1 1 1"/><material name="red"/></geometry></visual>')
    ),
}


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("trap", TRAPS)
def test_every_trap_moves_as_in_pinocchio(trap: str, base: str) -> None:
    pytest.importorskip("pinocchio")
    found = compared(TRAPS[trap], base)
    # a base of a milligram under an arm of a kilogram takes six digits
    assert found.worst < (1e-10 if "millionth" in trap else 1e-13)
    assert found.held == (2 if trap == "moving links without mass" else 0)


@pytest.mark.skipif(not FILES, reason="set DALEMBERT_ROBOTS to a folder of URDF files")
@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_published_robots_move_as_in_pinocchio(path: Path, base: str) -> None:
    pytest.importorskip("pinocchio")
    # masses of one robot may differ by factors of a million
    assert compared(path.read_text(), base).worst < 1e-11


@pytest.mark.skipif(not FILES, reason="set DALEMBERT_ROBOTS to a folder of URDF files")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_published_robots_fall_and_keep_their_energy(path: Path) -> None:
    system, _ = loaded(path.read_bytes(), "free")
    model = system.compile()
    idle = model.massless_dof(model.random_state(0).q)
    for name in idle:
        system.drive(name, speed=0.0)
    system.gravity = np.zeros(3)
    system.initial(next(name for name in system.connections if name.endswith(".free")), speed=[0.3, 0.2, 0.1, 0, 0, 0])
    result = da.simulate(system, 0.02, rtol=1e-9)
    energy = result["energy.total"]
    assert np.ptp(energy) < 1e-6 * max(abs(energy).max(), 1e-6)


# ---- inertias


@pytest.mark.parametrize(
    "trap, words",
    [
        ("two moments do not reach the third", ("link 'arm'", "1 kg", "principal moments 1, 1, 9", "third")),
        ("a moment is negative", ("link 'arm'", "2 kg", "-0.1", "negative")),
        ("every entry is a millionth", ("link 'base'", "1e-06 kg", "3e-06")),
    ],
)
def test_impossible_inertias_are_kept_with_a_warning(trap: str, words: tuple[str, ...]) -> None:
    with pytest.warns(ModelWarning) as caught:
        system = load_urdf(TRAPS[trap])
    message = str(caught.pop(ModelWarning).message)
    assert all(word in message for word in (*words, "about the centre of mass", "inertia='strict'"))
    (note,) = system.notes
    assert note in message
    name = "base" if "base" in words[0] else "arm"
    assert system.bodies[name].impossible and system.copy().bodies[name].impossible
    with pytest.raises(da.ModelError, match=rf"{words[0]}: inertia"):
        load_urdf(TRAPS[trap], inertia="strict")


def test_many_impossible_inertias_are_one_warning() -> None:
    arms = [link(f"arm{k}", 1.0, "1 1 9 0 0 0") for k in range(20)]
    joints = [joint(f"A{k}", "base", f"arm{k}") for k in range(20)]
    with pytest.warns(ModelWarning, match="and 12 more: see system.notes") as caught:
        system = load_urdf(robot(link("base"), *arms, *joints))
    assert len(caught) == 1 and len(system.notes) == 20


def test_an_inertia_of_round_off_is_that_of_a_point() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        system = load_urdf(robot(link("a", 1.3, "0 0 0 0 1e-20 0")))
    assert not system.notes


def test_impossible_inertia_is_reported() -> None:
    with pytest.raises(da.ModelError, match="inertia is 'lenient'; use 'keep' or 'strict'"):
        load_urdf(TRAPS["only a base"], inertia="lenient")


# ---- names


def test_a_free_base_is_started_by_plain_names() -> None:
    system = load_urdf(TRAPS["an axis twice"], base="free")
    system.gravity = np.zeros(3)
    system.initial("base.free", position=[1, 0, 0, 0, 1, 2, 3], speed=[0, 0, 0, 0.5, 0, 0])
    result = da.simulate(system, 1.0)
    assert result["base.position"][0].tolist() == [1, 2, 3]
    assert result["base.velocity"][0].tolist() == [0.5, 0, 0]
    other = load_urdf(TRAPS["an axis twice"], base="free")
    other.gravity = np.zeros(3)
    other.place("base", position=(1, 2, 3), velocity=(0.5, 0, 0), angular_velocity=(0, 0, 0))
    other.initial("A", speed=0.0)
    again = da.simulate(other, 1.0)
    assert np.allclose(again["base.position"][-1], result["base.position"][-1], atol=1e-8)


def test_a_joint_whose_leader_is_missing_moves_by_itself_and_is_reported() -> None:
    with pytest.warns(
        ModelWarning, match=r"joint 'A': it moves independently.*follow 'knee', and no joint has that name"
    ):
        system = load_urdf(TRAPS["a mimic of nobody"])
    assert not system.mimics and system.compile().nc == 0 and system.compile().nv == 1


def test_names_that_had_to_be_changed_are_noted() -> None:
    assert load_urdf(TRAPS["a joint named like a link"]).notes == [
        "joint 'arm' is called 'arm_joint': its own name is taken"
    ]


# ---- joint data


@pytest.mark.parametrize(
    "without, left",
    [
        ((), {"lower": -1, "upper": 2, "damping": 0.5, "friction": 0.25, "max_effort": 30, "max_speed": 4}),
        (("limits",), {"damping": 0.5, "friction": 0.25, "max_effort": 30, "max_speed": 4}),
        (("friction",), {"lower": -1, "upper": 2, "damping": 0.5, "max_effort": 30, "max_speed": 4}),
        (("limits", "damping", "friction"), {"max_effort": 30, "max_speed": 4}),
    ],
)
def test_joint_data_of_a_file_can_be_left_out(without: tuple[str, ...], left: dict[str, float], tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(robot(link("base"), link("arm"), joint("A", "base", "arm", AXIS + DATA, limit="")))
    element = da.load(path, **dict.fromkeys(without, False))["A"].element
    fields = ("lower", "upper", "damping", "friction", "max_effort", "max_speed", "armature")
    assert {f: v.item() for f in fields if (v := getattr(element, f)) is not None} == left


def test_data_that_are_left_out_are_still_read() -> None:
    bad = robot(link("base"), link("arm"), joint("A", "base", "arm", '<dynamics friction="much"/>'))
    with pytest.raises(da.ModelError, match=r"joint 'A'.*friction.*'much'"):
        load_urdf(bad, friction=False)


def test_a_geometry_beside_something_else_is_taken() -> None:
    system = load_urdf(TRAPS["a material among the geometry"])
    assert [visual.kind for visual in system.bodies["base"].visuals] == ["box"] and not system.notes


def test_elements_that_differ_are_not_chosen_from() -> None:
    text = robot(link("base"), link("arm"), joint("A", "base", "arm", AXIS + '<axis xyz="0 0 1"/>'))
    with pytest.raises(da.ModelError, match=r"joint 'A'.*2 elements <axis>.*differ: keep one"):
        load_urdf(text)


def test_joints_may_hang_on_a_world_that_is_no_link() -> None:
    system = load_urdf(robot(link("arm"), joint("A", "world", "arm", AXIS)))
    assert system["A"].first.body.name == "world" and system.bodies["world"].mass == 0
    assert any("'world'" in note for note in system.notes)


def test_limits_without_range_are_dropped_with_a_note() -> None:
    turned = robot(link("base"), link("arm"), joint("A", "base", "arm", AXIS, limit='<limit lower="1" upper="-1"/>'))
    with pytest.warns(ModelWarning, match=r"joint 'A': it has no stops; its lower limit 1 exceeds the upper, -1"):
        system = load_urdf(turned)
    element = system["A"].element
    assert not any(
        np.isfinite(getattr(element, side)).any() for side in ("lower", "upper") if getattr(element, side) is not None
    )
