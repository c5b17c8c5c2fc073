"""Bodies have the colours that their files give, in scenes and drawings, and keep them from format to format."""

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.bodies.colors import as_color, color_text
from dalembert.errors import OmissionWarning
from dalembert.io import load_mjcf, load_sdf, load_urdf
from dalembert.rotation import from_rotation_vector
from dalembert.view.scene.scene import Scene
from dalembert.view.style import PALETTE, legible

URDF = """<robot name="painted">
  <material name="amber"><color rgba="1 0.75 0 1"/></material>
  <link name="base"/>
  <link name="arm">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="0.1 0.1 1"/></geometry><material name="amber"/></visual>
    <visual><origin xyz="0 0 1"/><geometry><sphere radius="0.1"/></geometry>
      <material name="glass"><color rgba="0 0.5 1 0.4"/></material></visual>
  </link>
  <joint name="A" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
</robot>"""

SDF = """<sdf version="1.9"><model name="painted">
  <link name="arm"><visual name="a"><geometry><sphere><radius>0.1</radius></sphere></geometry>
    <material><diffuse>0.2 0.4 0.6 1</diffuse></material></visual>
    <visual name="b"><pose>0 0 1 0 0 0</pose><geometry><sphere><radius>0.1</radius></sphere></geometry>
    <material><script><name>Gazebo/Orange</name></script></material></visual></link>
</model></sdf>"""

MJCF = """<mujoco model="painted"><asset><material name="m" rgba="0.1 0.9 0.1 1"/></asset><worldbody>
  <body name="arm"><joint name="A" axis="0 1 0"/><geom type="box" size="0.1 0.1 0.5" rgba="1 0 0 1"/>
    <geom type="sphere" size="0.1" pos="0 0 1" material="m"/>
    <geom type="sphere" size="0.3" rgba="0 0 0 0"/></body>
  <body name="plain" pos="1 0 0"><joint name="B" axis="0 1 0"/><geom type="box" size="0.1 0.1 0.5"/></body>
</worldbody></mujoco>"""


def shown(system: da.System) -> dict[str, list[tuple[str, float]]]:
    """Return colours and opacities of bodies: of their solids, then of all else that shows them."""
    bodies = Scene(system.compile()).bodies
    return {b.name: [*(b.looks_of(solid) for solid in b.solids), (b.color, b.opacity)] for b in bodies}


def test_materials_of_a_urdf_are_seen_and_written_again(tmp_path: Path) -> None:
    s = load_urdf(URDF)
    wanted = [("#FFBF00", 1.0), ("#0080FF", 0.4), ("#FFBF00", 1.0)]
    assert shown(s)["arm"] == wanted
    for name in ("again.urdf", "again.yaml", "again.json", "again.xml"):
        if name.endswith(".xml"):
            pytest.importorskip("mujoco")
        da.save(s, tmp_path / name)
        assert shown(da.load(tmp_path / name))["arm"] == wanted, name


def test_materials_of_sdf_and_mjcf_are_seen() -> None:
    assert shown(load_sdf(SDF))["arm"][:2] == [("#336699", 1.0), ("#FF8000", 1.0)]
    pytest.importorskip("mujoco")
    found = shown(load_mjcf(MJCF))
    assert found["arm"][:-1] == [("#FF0000", 1.0), ("#1AE61A", 1.0)], "what has no opacity is not drawn"
    assert found["plain"][0][0] in PALETTE


def test_a_body_has_the_colour_that_it_is_given(tmp_path: Path) -> None:
    s = da.System("painted")
    arm = s.body("arm", da.box(1, 0.1, 0.1, mass=1.0), color="orange")
    arm.decorate(da.sphere(0.1), 0.5, 0, 0, color=(0.0, 0.0, 1.0, 0.5))
    stick = s.body("stick", mass=1.0, com=(0.5, 0, 0), inertia=(1, 1, 1), color="#123456")
    s.connect("A", da.Revolute("y"), s.ground, arm)
    s.connect("B", da.Revolute("y"), arm.at(1, 0, 0), stick)
    da.save(s, tmp_path / "painted.yaml")
    for each in (s, s.copy(), da.load(tmp_path / "painted.yaml")):
        found = shown(each)
        assert found["arm"] == [("#FF8000", 1.0), ("#0000FF", 0.5), ("#FF8000", 1.0)]
        assert found["stick"][0] == ("#123456", 1.0)
    page = tmp_path / "painted.html"
    da.simulate(s, 0.1).export(page)
    s.draw(path=tmp_path / "painted.png")
    assert page.stat().st_size > 1000


def test_a_yaml_names_colours_and_refuses_what_is_none(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    text = "dalembert: 1\nname: m\nbodies:\n  arm: {{mass: 1, color: {}}}\n"
    file.write_text(text.format('"#f80"'))
    assert da.load(file)["arm"].color == pytest.approx((1.0, 0x88 / 255, 0.0, 1.0))
    file.write_text(text.format("ornage"))
    with pytest.raises(da.ModelError, match=r"ornage.*orange"):
        da.load(file)
    file.write_text(text.format("[300, 0, 0]"))
    with pytest.raises(da.ModelError, match="between 0 and 1"):
        da.load(file)


def test_colours_are_read_and_reported() -> None:
    assert as_color("Dark Gray", item="x") == as_color("#2d2d2d", item="x")
    assert as_color("#ff800080", item="x") == pytest.approx((1.0, 128 / 255, 0.0, 128 / 255))
    assert color_text((1.0, 0.5, 0.0, 1.0)) == "#FF8000"
    assert legible("#FFFFFF") != "#FFFFFF"
    assert legible("#0072B2") == "#0072B2"


TETRA = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
SIDES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


@pytest.mark.parametrize("kind", ["binary.stl", "ascii.stl", "mesh.obj", "mesh.ply", "inline"])
def test_meshes_go_into_mjcf_and_come_back_where_they_were(kind: str, tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    trimesh = pytest.importorskip("trimesh")
    (tmp_path / "meshes").mkdir()
    (tmp_path / "out").mkdir()
    file = tmp_path / "meshes" / kind
    made = trimesh.Trimesh(TETRA, SIDES, process=False)
    if kind == "inline":
        shape = da.mesh((TETRA, SIDES), mass=2.0)
    else:
        made.export(file, file_type="stl_ascii" if kind == "ascii.stl" else file.suffix[1:])
        shape = da.mesh(file, mass=2.0, scale=0.5)
    s = da.System("meshed")
    b = s.body("b", shape, color="gold")
    b.decorate(shape, 0.3, 0.2, 0.1, rotation=from_rotation_vector(np.array([0.3, 0.2, 0.1])))
    s.connect("A", da.Revolute("y"), s.ground, b)
    out = tmp_path / "out" / "model.xml"
    da.save(s, out)
    model = mujoco.MjModel.from_xml_path(str(out))
    assert model.ngeom == 2
    assert model.nmesh == 1
    back = da.load(out)
    ours, theirs = (Scene(each.compile()).bodies[0] for each in (s, back))
    assert theirs.color == "#FFD700"
    for one, other in zip(ours.solids, theirs.solids, strict=True):
        # MuJoCo keeps its numbers in single precision
        assert np.allclose(_sorted(one.corners), _sorted(other.corners), atol=1e-6)


def _sorted(corners: np.ndarray) -> np.ndarray:
    return np.unique(np.round(corners, 5), axis=0)


def test_a_urdf_in_another_folder_still_finds_its_meshes(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    (tmp_path / "meshes").mkdir()
    (tmp_path / "out").mkdir()
    trimesh.Trimesh(TETRA, SIDES).export(tmp_path / "meshes" / "t.stl")
    text = URDF.replace('<sphere radius="0.1"/>', '<mesh filename="meshes/t.stl"/>')
    (tmp_path / "m.urdf").write_text(text)
    da.save(da.load(tmp_path / "m.urdf"), tmp_path / "out" / "m.urdf")
    again = da.load(tmp_path / "out" / "m.urdf")
    assert not again.notes
    assert [look.path is not None for look in again["arm"].visuals if look.kind == "mesh"] == [True]


def test_a_body_called_world_gets_another_name_in_mjcf(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    s = da.System("named")
    base = s.body("world", da.box(1, 1, 1, mass=1.0))
    s.connect("foot", da.Revolute("z"), s.ground, base)
    with pytest.warns(OmissionWarning, match="world_2"):
        da.save(s, tmp_path / "named.xml")
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "named.xml")).nbody == 2
    assert "world_2" in da.load(tmp_path / "named.xml").bodies
