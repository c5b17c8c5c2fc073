"""Meshes in contact: hulls, convex pieces, walls of open surfaces; height fields as shapes."""

import numpy as np
import pytest

import dalembert as da
from dalembert.bodies import convex_pieces as pieces_module
from dalembert.bodies.triangle_mesh import TriangleMesh
from dalembert.compile.contacts import compile_contacts


def extruded(outline, height):
    """Return corners and triangles of a prism over an L; its faces are fans from corner 0."""
    n = len(outline)
    corners = [(x, y, z) for z in (0.0, height) for x, y in outline]
    faces = [(0, k + 1, k) for k in range(1, n - 1)] + [(n, n + k, n + k + 1) for k in range(1, n - 1)]
    for k in range(n):
        j = (k + 1) % n
        faces += [(k, j, j + n), (k, j + n, k + n)]
    return corners, faces


BRACKET = extruded([(0, 0), (3, 0), (3, 1), (1, 1), (1, 3), (0, 3)], 1.0)  # volume 5, hull 7
OPEN = ([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], [(0, 1, 2), (0, 2, 3)])


def contact_with_floor(shape, **numbers):
    s = da.System("floor")
    body = s.body("part", shape, **numbers)
    s.contact("floor", da.plane(), body, friction=0.3)
    return compile_contacts(s.forest())


def test_the_hull_of_a_bracket_touches_with_a_note_of_its_volume():
    tables = contact_with_floor(da.mesh(BRACKET, density=1.0))
    assert len(tables.shapes) == 2
    assert any("1.4 of its volume" in note and "pieces=" in note for note in tables.notes)


def test_a_bracket_is_cut_into_convex_pieces_of_its_volume():
    pytest.importorskip("coacd")
    tables = contact_with_floor(da.mesh(BRACKET, density=1.0, pieces=0.05))
    pieces = [shape for shape in tables.shapes if shape.is_own]
    assert len(pieces) >= 2
    assert {shape.name for shape in pieces} == {"part"}
    note = next(note for note in tables.notes if "convex pieces" in note)
    volume = float(note.split(" of its volume")[0].split()[-1])
    assert 0.98 < volume < 1.1  # the hull has 1.4


def test_pieces_are_stored_beside_the_file_and_found_by_its_contents(tmp_path, monkeypatch):
    pytest.importorskip("coacd")
    trimesh = pytest.importorskip("trimesh")
    file = tmp_path / "bracket.stl"
    trimesh.Trimesh(*BRACKET, process=False).export(file)
    monkeypatch.setattr(pieces_module, "_kept", {})
    first = contact_with_floor(da.mesh(file, density=1.0, pieces=0.1))
    assert len(list(tmp_path.glob("bracket.*.pieces.npz"))) == 1
    monkeypatch.setattr(pieces_module, "_kept", {})
    monkeypatch.setattr(pieces_module, "_cut", lambda *_: pytest.fail("cut again"))
    again = contact_with_floor(da.mesh(file, density=1.0, pieces=0.1))
    assert len(again.shapes) == len(first.shapes)


def test_an_open_surface_needs_a_thickness():
    plate = {"mass": 1.0, "com": (0.5, 0.5, 0.0), "inertia": np.eye(3)}
    with pytest.raises(da.ModelError, match="thickness="):
        contact_with_floor(da.mesh(OPEN), **plate)
    (wall,) = [shape for shape in contact_with_floor(da.mesh(OPEN, thickness=0.1), **plate).shapes if shape.is_own]
    assert wall.thickness == pytest.approx(0.1, abs=1e-12)


def test_a_wall_of_an_open_surface_is_closed_and_has_its_volume():
    wall = TriangleMesh.of(*OPEN, item="test").thickened(0.1)
    assert not wall.error
    assert wall.solid()[0] == pytest.approx(0.1, abs=1e-15)


def test_data_of_meshes_and_height_fields_are_checked():
    with pytest.raises(da.ModelError, match="concavity"):
        da.mesh(BRACKET, pieces=0.0)
    with pytest.raises(da.ModelError, match="thickness"):
        da.mesh(BRACKET, thickness=-1.0)
    with pytest.raises(da.ModelError, match="two rows"):
        da.height_field([[0.0, 1.0]], size=(1, 1))
    with pytest.raises(da.ModelError, match="heights"):
        da.height_field([[0.0, np.nan], [0.0, 0.0]], size=(1, 1))
    with pytest.raises(da.ModelError, match="lengths"):
        da.height_field(np.zeros((3, 3)), size=2.0)
    with pytest.raises(da.ModelError, match="no mass"):
        da.System("s").body("land", da.height_field(np.zeros((3, 3)), size=(1, 1)), mass=1.0)


def test_a_height_field_is_a_shape_of_a_contact():
    s = da.System("hills")
    ball = s.body("ball", da.sphere(0.1, mass=1.0))
    s.contact("hills", (da.height_field(np.zeros((5, 9)), size=(2, 4)), s.ground.at(0, 0, -1.0)), ball)
    tables = compile_contacts(s.forest())
    field = next(shape for shape in tables.shapes if not shape.is_own)
    assert field.body == 0
    assert field.convex.position == pytest.approx([0, 0, -1.0])
    assert np.isinf(field.thickness)
