"""Meshes: what they enclose, where their files are found, and what is drawn of them."""

from __future__ import annotations

import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.bodies.mesh_files import find_surface, read_surface
from dalembert.bodies.triangle_mesh import TriangleMesh
from dalembert.errors import OmissionWarning
from dalembert.io import load_mjcf, load_sdf
from dalembert.io.model_files import load_model_file
from dalembert.io.urdf import load_urdf
from dalembert.view.scene.scene import Scene
from dalembert.view.web.scene_document import SceneBuilder


def ball(radius: float = 1.0, around: int = 48) -> tuple[Any, Any]:
    """Corners and triangles of a sphere, all of them counterclockwise as seen from outside."""
    polar, angle = np.linspace(0, np.pi, around // 2 + 1), np.arange(around) * 2 * np.pi / around
    corners = [(np.sin(p) * np.cos(a), np.sin(p) * np.sin(a), np.cos(p)) for p in polar for a in angle]
    faces = []
    for i in range(len(polar) - 1):
        for k in range(around):
            a, b = i * around + k, i * around + (k + 1) % around
            c, d = a + around, b + around
            faces += [(a, c, d)] * (i < len(polar) - 2) + [(a, d, b)] * (i > 0)
    poles = np.array(corners)
    poles[:around] = (0, 0, 1)
    poles[-around:] = (0, 0, -1)
    return radius * poles, np.array(faces)


def cube(edges: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> tuple[Any, Any]:
    signs = np.array([(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], dtype=float)
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return signs * np.array(edges) / 2, np.array([t for a, b, c, d in sides for t in ((a, b, c), (a, c, d))])


def write_stl(path: Path, corners: Any, triangles: Any) -> Path:
    """Write an STL file by hand: what a file says does not come from the reader under test."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [np.concatenate([np.zeros(3), *(corners[k] for k in triangle)]).astype("<f4") for triangle in triangles]
    path.write_bytes(bytes(80) + struct.pack("<I", len(rows)) + b"".join(row.tobytes() + bytes(2) for row in rows))
    return path


# ---- what a surface encloses


def test_a_cube_of_triangles_weighs_what_a_box_does() -> None:
    made, box = da.mesh(cube((0.1, 0.2, 0.3)), density=2700), da.box(0.1, 0.2, 0.3, density=2700)
    assert made.mass == pytest.approx(box.mass, rel=1e-14)
    np.testing.assert_allclose(made.com, 0.0, atol=1e-16)
    np.testing.assert_allclose(made.inertia, box.inertia, rtol=1e-13, atol=1e-16)


def test_a_fine_ball_has_the_inertia_of_a_sphere_with_an_error_that_falls_by_four() -> None:
    errors = []
    for around in (24, 48, 96):
        found = da.mesh(ball(0.3, around), density=1000.0)
        sphere = da.sphere(0.3, density=1000.0)
        errors.append(abs(found.inertia[0, 0] / sphere.inertia[0, 0] - 1))
    assert 3.8 < errors[0] / errors[1] < 4.2 and 3.8 < errors[1] / errors[2] < 4.2


def test_inertia_of_a_turned_and_shifted_surface_is_the_turned_one() -> None:
    corners, triangles = cube((1.0, 2.0, 3.0))
    R = da.rotation.axis_angle((1, 2, 3), 0.7)
    plain, moved = da.mesh((corners, triangles), 5.0), da.mesh((corners @ R.T + [10.0, -20.0, 30.0], triangles), 5.0)
    np.testing.assert_allclose(moved.com, [10.0, -20.0, 30.0], rtol=1e-14)
    np.testing.assert_allclose(moved.inertia, R @ plain.inertia @ R.T, rtol=0, atol=1e-12)


def test_factors_scale_and_a_mirror_keeps_the_inside_inside() -> None:
    half = da.mesh(cube(), density=1.0, scale=(0.5, 1.0, -2.0))
    box = da.box(0.5, 1.0, 2.0, density=1.0)
    assert half.mass == pytest.approx(box.mass)
    np.testing.assert_allclose(half.inertia, box.inertia, atol=1e-15)


def test_triangles_that_all_face_inwards_enclose_the_same() -> None:
    corners, triangles = cube()
    assert da.mesh((corners, triangles[:, ::-1]), density=2.0).mass == pytest.approx(2.0)


def test_a_hollow_ball_is_the_difference_of_two() -> None:
    (outer, faces), (inner, _) = ball(0.5), ball(0.3)
    shell = da.mesh((np.concatenate([outer, inner]), np.concatenate([faces, faces[:, ::-1] + len(outer)])), density=1.0)
    whole, hole = da.mesh((outer, faces), density=1.0), da.mesh((inner, faces), density=1.0)
    assert shell.mass == pytest.approx(whole.mass - hole.mass, rel=1e-13)
    np.testing.assert_allclose(shell.inertia, whole.inertia - hole.inertia, rtol=1e-12, atol=1e-16)


def test_an_open_surface_has_no_mass_and_is_reported() -> None:
    corners, triangles = cube()
    with pytest.raises(da.ModelError, match="not closed: 3 edges have a triangle on one side only"):
        da.mesh((corners, triangles[1:]), density=1.0)
    turned = triangles.copy()
    turned[0] = turned[0][::-1]
    with pytest.raises(da.ModelError, match="3 edges neighbours have opposite orientations"):
        da.mesh((corners, turned), 2.0)
    with pytest.raises(da.ModelError, match="encloses almost no volume"):
        da.mesh((corners, np.concatenate([triangles, triangles[:, ::-1]])), 2.0)


def test_an_open_surface_shows_a_body_whose_inertia_is_given() -> None:
    corners, triangles = cube()
    look = da.mesh((corners, triangles[1:]))
    s = da.System()
    with pytest.raises(da.ModelError, match="give com= and inertia= by numbers"):
        s.body("a", look, mass=2.0)
    body = s.body("b", look, mass=2.0, com=(0, 0, 0.1), inertia=(1, 1, 1))
    assert body.mass == 2.0 and body.com[2] == 0.1


def test_a_density_may_be_a_parameter_and_products_of_inertia_follow_it() -> None:
    corners, triangles = cube((1.0, 2.0, 3.0))
    skew = corners @ np.array([[1.0, 0.4, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 1.0]])
    s = da.System(gravity=(0, 0, 0))
    rho = s.parameter("rho", 2.0)
    s.connect("A", da.Spherical(), s.ground, s.body("part", da.mesh((skew, triangles), density=rho)))
    model = s.compile()
    for value in (2.0, 5.0):
        expected = da.System(gravity=(0, 0, 0))
        expected.connect(
            "A", da.Spherical(), expected.ground, expected.body("part", da.mesh((skew, triangles), density=value))
        )
        q, v, tau = np.array([1.0, 0.0, 0.0, 0.0]), np.array([1.0, 2.0, 3.0]), np.array([5.0, -3.0, 1.0])
        np.testing.assert_allclose(
            model.forward_dynamics(q, v, tau, conditions=model.conditions({"rho": value})),
            expected.compile().forward_dynamics(q, v, tau),
            rtol=1e-13,
        )


# ---- fewer triangles


def test_a_surface_with_fewer_triangles_keeps_its_form() -> None:
    corners, triangles = ball(1.0, 200)
    fine = TriangleMesh.of(corners, triangles, item="ball")
    coarse = fine.simplified(1500)
    assert 500 < len(coarse.triangles) <= 1500
    radii = np.linalg.norm(coarse.corners, axis=1)
    assert radii.min() > 0.99 and radii.max() <= 1.0 + 1e-12
    assert coarse is fine.simplified(1500) and fine.simplified(10**6) is fine


# ---- files


def test_all_formats_give_the_same_solid(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    made = trimesh.creation.box((0.1, 0.2, 0.3))
    for ending in ("stl", "obj", "ply", "off", "glb", "dae"):
        file = tmp_path / f"part.{ending}"
        made.export(file)
        # formats with single precision carry seven digits
        assert da.mesh(file, density=1000.0).mass == pytest.approx(6.0, rel=1e-6), ending


def test_a_mesh_brings_mass_to_a_body(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    file = write_stl(tmp_path / "part.stl", *cube((100.0, 200.0, 300.0)))
    s = da.System()
    body = s.body("part", da.mesh(file, density=7800, scale=0.001))
    assert body.mass == pytest.approx(46.8, rel=1e-6)
    assert isinstance(body.shape, da.Shape) and body.shape.file == str(file)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("empty.stl", b""),
        ("words.stl", b"solid nothing\nendsolid nothing"),
        ("half.stl", b"\0" * 80 + b"\xff\xff\xff\x7f" + b"\0" * 50),
        ("bad.obj", b"v 1 2\nf 1 2 9"),
        ("nan.obj", b"v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3"),
        ("cut.glb", b"glTF\x02\0\0\0\xff\xff\xff\xff"),
        ("bomb.dae", b'<!DOCTYPE x [<!ENTITY a "aaaa">]><COLLADA>&a;</COLLADA>'),
        ("torn.dae", b"<COLLADA>"),
        ("part.step", b"ISO-10303-21;"),
    ],
)
def test_a_damaged_file_ends_in_an_error_that_names_it(tmp_path: Path, name: str, data: bytes) -> None:
    pytest.importorskip("trimesh")
    file = tmp_path / name
    file.write_bytes(data)
    with pytest.raises(da.ModelError, match=name.split(".")[0]):
        da.mesh(file)
    with pytest.raises(da.ModelError):
        da.mesh(tmp_path)
    with pytest.raises(da.ModelError, match="cannot be read"):
        da.mesh(tmp_path / "absent.stl")


def test_packages_are_found_above_the_file_by_name_and_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = write_stl(tmp_path / "work/arm/meshes/part.stl", *cube())
    here = tmp_path / "work/arm/urdf"
    here.mkdir()
    address = "package://arm/meshes/part.stl"
    assert find_surface(address, here) == part
    assert find_surface(address, None) is None
    assert find_surface(address, None, [tmp_path / "work"]) == part
    assert find_surface(address, None, [tmp_path / "work/arm"]) == part
    assert find_surface(address, None, {"arm": tmp_path / "work/arm"}) == part
    assert find_surface(f"file://{part}", None) == part
    assert find_surface("../meshes/part.stl", here) == part.parent.parent / "urdf/../meshes/part.stl"
    assert find_surface("package://arm/\0", here) is None and find_surface("http://arm/part.stl", here) is None
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "work"))
    assert find_surface(address, None) == part
    monkeypatch.setenv("GAZEBO_MODEL_PATH", str(tmp_path / "work"))
    assert find_surface("model://arm/meshes/part.stl", None) == part


URDF = """<robot name="arm"><link name="base"/>
  <link name="boom"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
    <visual><origin xyz="1 0 0"/><geometry><mesh filename="{}" scale="2 1 1"/></geometry></visual></link>
  <joint name="A" type="continuous"><parent link="base"/><child link="boom"/><axis xyz="0 1 0"/></joint></robot>"""


def drawn(system: da.System, body: str) -> Any:
    """Return the drawn polygon of a body, as corners (k, 3) m."""
    figure = next(b for b in Scene(system.compile()).bodies if b.name == body)
    return np.concatenate([solid.corners for solid in figure.solids]) if figure.solids else None


def test_meshes_of_urdf_are_drawn_where_they_are(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    write_stl(tmp_path / "arm/meshes/part.stl", *cube())
    (tmp_path / "arm/arm.urdf").write_text(URDF.format("package://arm/meshes/part.stl"))
    s = da.load(tmp_path / "arm/arm.urdf")
    assert not s.notes
    corners = drawn(s, "boom")
    np.testing.assert_allclose(corners.min(axis=0), [0.0, -0.5, -0.5])
    np.testing.assert_allclose(corners.max(axis=0), [2.0, 0.5, 0.5])
    stage = SceneBuilder(s.compile(), np.zeros((1, 1))).description()
    boom = [part for part in stage["rigid"] if part["owner"] == "boom" and part["kind"] == "body"]
    assert max(len(stage["meshes"][part["mesh"]]["triangles"]) for part in boom) >= 12


def test_a_missing_mesh_is_a_stick_and_a_note(tmp_path: Path) -> None:
    s = load_urdf(URDF.format("package://arm/lost.stl"))
    assert s.bodies["boom"].visuals[0].path is None
    assert any("lost.stl" in note and "drawn as lines" in note for note in s.notes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert drawn(s, "boom") is None or len(drawn(s, "boom")) == 8  # the box of its inertia
        s.draw(path=tmp_path / "arm.png")


def test_a_mesh_that_cannot_be_read_is_reported_when_it_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "part.stl").write_bytes(b"")
    (tmp_path / "arm.urdf").write_text(URDF.format("part.stl"))
    s = da.load(tmp_path / "arm.urdf")
    with pytest.warns(OmissionWarning, match=r"part\.stl"):
        drawn(s, "boom")


def test_meshes_of_sdf_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    write_stl(tmp_path / "models/crate/crate.stl", *cube())
    text = """<sdf version="1.9"><model name="crate"><link name="crate"><inertial><mass>1</mass></inertial>
      <visual name="v"><pose>0 0 1 0 0 0</pose><geometry><mesh><uri>model://crate/crate.stl</uri></mesh></geometry>
      </visual></link></model></sdf>"""
    s = load_sdf(text, packages=[tmp_path / "models"])
    np.testing.assert_allclose(drawn(s, "crate").max(axis=0), [0.5, 0.5, 1.5])


MJCF = """<mujoco><asset><mesh name="part" {}/></asset><worldbody><body name="boom">
  <joint name="A" axis="0 1 0"/><geom type="mesh" mesh="part" pos="1 0 0" quat="0.8 0 0.6 0" density="500"/>
  </body></worldbody></mujoco>"""


def test_meshes_of_mjcf_lie_where_mujoco_has_them(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    corners, triangles = cube((0.2, 0.4, 0.6))
    corners = corners + np.array([0.3, 0.0, 0.0])
    write_stl(tmp_path / "part.stl", corners, triangles)
    within = " ".join(str(x) for x in corners.ravel())
    documents = [MJCF.format(f'vertex="{within}" scale="1 2 1"')]
    documents.append(MJCF.format('file="part.stl" scale="1 2 1"'))
    for k, document in enumerate(documents):
        file = tmp_path / f"{k}.xml"
        file.write_text(document)
        model = mujoco.MjModel.from_xml_path(str(file))
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        expected = model.mesh_vert @ data.geom_xmat[0].reshape(3, 3).T + data.geom_xpos[0]
        s = load_mjcf(file)
        found = drawn(s, "boom")
        for side in (np.min, np.max):  # MuJoCo keeps single precision
            np.testing.assert_allclose(side(found, axis=0), side(expected, axis=0), atol=1e-6)
        da.save(s, tmp_path / "again.yaml")
        np.testing.assert_allclose(
            np.sort(drawn(da.load(tmp_path / "again.yaml"), "boom"), axis=0), np.sort(found, axis=0), atol=1e-6
        )


# ---- model files


def test_model_files_name_meshes_from_their_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("trimesh")
    file = write_stl(tmp_path / "parts/part.stl", *cube())
    s = da.System("machine")
    part = s.body("part", da.mesh(file, density=3.0, scale=0.1))
    part.decorate(da.mesh(file, scale=0.2), 1.0)
    part.decorate(da.mesh(cube()), 2.0)
    s.connect("A", da.Revolute("y"), s.ground, part)
    (tmp_path / "models").mkdir()
    da.save(s, tmp_path / "models/machine.yaml")
    assert "../parts/part.stl" in (tmp_path / "models/machine.yaml").read_text()
    monkeypatch.chdir(tmp_path / "models")
    for place in ("machine.yaml", "../again.yaml"):
        t = load_model_file(Path(place))
        assert t.bodies["part"].mass == part.mass
        np.testing.assert_array_equal(t.bodies["part"].inertia, part.inertia)
        np.testing.assert_array_equal(drawn(t, "part"), drawn(s, "part"))
        da.save(t, tmp_path / "again.yaml")


def test_a_mesh_that_a_model_file_lacks_is_a_stick_unless_mass_follows_from_it(tmp_path: Path) -> None:
    head = "dalembert: 1\nbodies:\n  part:\n    shape: {type: mesh, surface: lost.stl"
    rest = "connections:\n  A: {type: Revolute, axis: y, between: [ground, part]}\n"
    file = tmp_path / "machine.yaml"
    file.write_text(f"{head}}}\n    mass: 2\n    com: [1, 0, 0]\n    inertia: [1, 1, 1]\n{rest}")
    s = da.load(file)
    assert s.bodies["part"].shape is None and any(
        "machine.yaml:4" in note and "drawn as a line" in note for note in s.notes
    )
    file.write_text(f"{head}, density: 1000}}\n{rest}")
    with pytest.raises(da.ModelError, match=r"machine\.yaml:4.*lost\.stl"):
        da.load(file)


def test_distances_are_of_the_hull_around_a_mesh() -> None:
    s = da.System()
    left, right = s.body("left", da.mesh(cube(), 1.0)), s.body("right", da.mesh(ball(0.5), 1.0))
    s.connect("A", da.Prismatic("x"), s.ground, left)
    s.connect("B", da.Fixed(), s.ground.at(3.0, 0, 0), right)
    motion = da.kinematics(s, drive="A", values=np.linspace(0.0, 1.0, 3))
    found = da.clearance(motion, [("left", "right")])
    np.testing.assert_allclose(found.distance[:, 0], [2.0, 1.5, 1.0], atol=1e-9)


def test_a_surface_is_read_once(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    file = write_stl(tmp_path / "part.stl", *cube())
    assert read_surface(file) is read_surface(file)


def test_meshes_that_are_not_found_are_warned_of_with_places_and_a_way_out(tmp_path: Path) -> None:
    look = '<visual><geometry><mesh filename="package://arm/hand.stl"/></geometry></visual>'
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    (tmp_path / "robot.urdf").write_text(f'<robot name="r"><link name="a">{inertial}{look}</link></robot>')
    with pytest.warns(da.errors.OmissionWarning, match="drawn as lines: package://arm/hand.stl") as caught:
        system = da.load(tmp_path / "robot.urdf", packages=[tmp_path / "packages"])
    said = str(caught[0].message)
    assert str(tmp_path / "packages" / "arm") in said and "packages=FOLDER" in said
    assert caught[0].message.items == ("package://arm/hand.stl",) and caught[0].filename == __file__
    assert any("drawn as lines" in note for note in system.notes)
