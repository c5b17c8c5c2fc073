"""Pictures: what is drawn stands where the kernels say, files are whole, and bad wishes are refused by name."""

from __future__ import annotations

import re
import subprocess
import sys
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import MissingPackageError, ModelError
from dalembert.library import chain, humanoid, mechanisms, space_manipulator, windows
from dalembert.view import animate, animate_configurations, draw, plot, plot_energy, style
from dalembert.view.drawing.animation import between
from dalembert.view.drawing.axes import to_page
from dalembert.view.drawing.labels import Label, place
from dalembert.view.drawing.system_drawing import configurations
from dalembert.view.scene import solids
from dalembert.view.scene.flexible_meshes import mesh_of
from dalembert.view.scene.projection import Placement, choose_view, plane_normal
from dalembert.view.scene.scene import find_marker
from dalembert.view.scene.symbols import dashpot, helix, zigzag

Array = np.ndarray


def axes(*, solid: bool = False) -> Any:
    return style.figure(5, 4).add_subplot(projection="3d" if solid else None)


def by_gid(ax: Any, gid: str) -> list[Any]:
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


def marks(ax: Any, gid: str) -> Array:
    return np.concatenate([artist.get_xydata() for artist in by_gid(ax, gid)])


def same_points(a: Array, b: Array) -> bool:
    """Two sets of points, whatever their order."""
    a, b = (x[np.lexsort(np.round(x, 9).T)] for x in (np.asarray(a), np.asarray(b)))
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=0, atol=1e-9))


# ---- which side is looked at


def normal_of(system: da.System) -> int | None:
    model = system.compile()
    q = da.assemble(model).q if model.nc else model.initial_state().q
    return plane_normal(model, Placement.of(model, q))


def test_mechanisms_with_parallel_axes_are_planar_and_others_are_not() -> None:
    for planar in (
        mechanisms.four_bar(),
        mechanisms.slider_crank(),
        mechanisms.andrews(),
        windows(3),
        mechanisms.door(),
    ):
        assert normal_of(planar) == 2, planar.name
    assert normal_of(chain(4, axes="y")) == 1
    assert normal_of(chain(4, axes="x")) == 0
    for spatial in (mechanisms.bricard(), mechanisms.bennett(), mechanisms.sarrus(), chain(3), humanoid()):
        assert normal_of(spatial) is None, spatial.name


def test_a_chain_whose_axes_are_parallel_in_the_world_but_not_in_the_bodies_is_planar() -> None:
    s = da.System()
    a, b = s.body("a", da.rod(1, 1)), s.body("b", da.rod(1, 1))
    s.connect("A", da.Revolute("y"), s.ground, a)
    s.connect("B", da.Revolute("z"), a.at(1, 0, 0, rotation=("x", -np.pi / 2)), b)
    assert normal_of(s) == 1
    s.remove("B")
    s.connect("B", da.Revolute("z"), a.at(1, 0, 0, rotation=("x", -1.5)), b)
    assert normal_of(s) is None


def test_a_slide_is_seen_in_the_plane_in_which_it_falls() -> None:
    s = da.System()
    s.connect("A", da.Prismatic("x"), s.ground, s.body("b", da.box(1, 1, 1, mass=1)))
    assert normal_of(s) == 1
    still = da.System(gravity=(0, 0, 0))
    still.connect("A", da.Prismatic("x"), still.ground, still.body("b", da.box(1, 1, 1, mass=1)))
    assert normal_of(still) == 2
    s.connect("B", da.Spherical(), s["b"], s.body("c", da.sphere(0.1, 1)))
    assert normal_of(s) is None


def test_gravity_points_down_in_the_picture() -> None:
    for gravity, axis, name in (((0, 0, -9.81), "y", "xz"), ((0, -9.81, 0), "z", "xy"), ((-9.81, 0, 0), "z", "yx")):
        s = da.System(gravity=gravity)
        s.connect("A", da.Revolute(axis), s.ground, s.body("b", da.rod(1, 1)))
        model = s.compile()
        view = choose_view(model, Placement.of(model, np.zeros(1)))
        assert view.name == name and view.steady


def test_an_unknown_view_is_refused() -> None:
    for bad in ("front", "xx", "x", 3, None):
        with pytest.raises(ModelError, match=r"view is .*use 'auto'"):
            draw(mechanisms.four_bar(), view=bad, ax=axes())


# ---- where things are


@pytest.mark.parametrize("system", [mechanisms.four_bar(), mechanisms.andrews(), windows(3), chain(5, axes="y")])
def test_joints_are_drawn_where_the_kernels_put_them(system: da.System) -> None:
    model = system.compile()
    q = da.assemble(model).q if model.nc else model.random_state(3).q
    ax = draw(system, q, ax=axes())
    plane = ["xyz".index(ax.get_xlabel()[0]), "xyz".index(ax.get_ylabel()[0])]
    wanted = [model.pose(c.second, q).position[plane] for c in system.connections.values()]
    assert same_points(marks(ax, "joints Revolute"), np.array(wanted))


def driven_from_two(system: da.System, joint: str) -> da.System:
    system.drive(joint, position=da.Polynomial((2.0, 1.0)))
    return system


@pytest.mark.parametrize(
    "system",
    [driven_from_two(mechanisms.four_bar(), "A"), driven_from_two(chain(3, axes="y"), "joint_1")],
    ids=["loop", "tree"],
)
def test_a_driven_system_is_drawn_where_a_run_starts(system: da.System) -> None:
    model, q = system.compile(), da.simulate(system, 1e-3).q[0]
    ax = draw(system, ax=axes())
    plane = ["xyz".index(ax.get_xlabel()[0]), "xyz".index(ax.get_ylabel()[0])]
    wanted = [model.pose(c.second, q).position[plane] for c in system.connections.values()]
    assert 2.0 in q and same_points(marks(ax, "joints Revolute"), np.array(wanted))


def test_a_placed_body_is_drawn_where_it_was_placed() -> None:
    s = da.System("placed", gravity=(0, 0, 0))
    s.body("block", da.box(0.2, 0.2, 0.2, mass=1.0))
    s.place("block", position=(1.0, 2.0, 3.0))
    assert configurations(s.compile(), None)[0, 4:] == pytest.approx([1.0, 2.0, 3.0])


def test_every_ground_pivot_has_a_bearing() -> None:
    ax = draw(mechanisms.four_bar(ground=2.2), ax=axes())
    assert same_points(marks(ax, "ground"), np.array([(0, 0), (2.2, 0)]))


def test_links_reach_from_joint_to_joint() -> None:
    system = mechanisms.four_bar()
    model = system.compile()
    q = da.assemble(model).q
    ax = draw(system, q, ax=axes())
    ends = np.concatenate(by_gid(ax, "bars")[0].get_segments())
    joints = [model.pose(system[name].second, q).position[:2] for name in "ABBCCD"]
    assert same_points(ends, np.array(joints))


def test_a_box_is_drawn_as_its_outline() -> None:
    s = da.System(gravity=(0, -9.81, 0))
    s.connect("A", da.Revolute("z"), s.ground, s.body("b", da.box(2.0, 1.0, 3.0, mass=1)))
    model = s.compile()
    ax = draw(s, [0.4], ax=axes())
    corners = [model.pose(s["b"].at(x, y, 0), [0.4]).position[:2] for x in (-1, 1) for y in (-0.5, 0.5)]
    (path,) = by_gid(ax, "bodies")[0].get_paths()
    assert same_points(path.vertices[:4], np.array(corners))


def test_a_slider_block_lies_along_its_axis_and_a_rail_beneath_it() -> None:
    system = mechanisms.slider_crank()
    model = system.compile()
    q = da.assemble(model).q
    ax = draw(system, q, ax=axes())
    place_of_slider = model.pose("slider", q).position[:2]
    (block,) = (path.vertices[:4] for path in by_gid(ax, "slider blocks")[0].get_paths())
    assert np.allclose(block.mean(axis=0), place_of_slider)
    assert np.ptp(block[:, 0]) > np.ptp(block[:, 1])
    rail = by_gid(ax, "rails")[0].get_segments()[0]
    assert np.allclose(rail[:, 1], block[:, 1].min())
    assert rail[:, 0].min() < block[:, 0].min() and rail[:, 0].max() > block[:, 0].max()


def with_spring(**coefficients: float) -> da.System:
    s = da.System("spring", gravity=(0, -9.81, 0))
    bob = s.body("bob", da.rod(1.0, 1.0))
    s.connect("A", da.Revolute("z"), s.ground, bob)
    s.connect("k", da.SpringDamper(**coefficients), s.ground.at(1, 1, 0), bob.at(1, 0, 0))
    return s


def test_springs_and_dampers_run_from_marker_to_marker() -> None:
    for coefficients in ({"stiffness": 5.0}, {"stiffness": 5.0, "damping": 1.0}, {"stiffness": 0.0, "damping": 1.0}):
        ax = draw(with_spring(**coefficients), [0.3], ax=axes())
        drawn = np.concatenate(by_gid(ax, "springs")[0].get_segments())
        for end in ((1.0, 1.0), (np.cos(0.3), np.sin(0.3))):
            assert np.hypot(*(drawn - end).T).min() < 1e-12
    solid = draw(with_spring(stiffness=5.0, damping=1.0), [0.3], view="3d", ax=axes(solid=True))
    assert by_gid(solid, "springs")


def test_a_zigzag_and_a_coil_begin_and_end_at_their_points_whatever_their_length() -> None:
    a, b = np.array([1.0, 2.0]), np.array([1.5, -1.0])
    for line in (zigzag(a, b, 0.1), zigzag(a, a, 0.1)):
        assert np.isfinite(line).all() and (line[0] == a).all()
    assert np.allclose(zigzag(a, b, 0.1)[-1], b)
    assert np.allclose(dashpot(a, b, 0.1)[-1][-1], b) and np.isfinite(np.concatenate(dashpot(a, a, 0.1))).all()
    p, r = np.array([0.0, 0.0, 1.0]), np.array([1.0, 1.0, 1.0])
    coil = helix(p, r, 0.2)
    assert np.allclose(coil[[0, -1]], [p, r]) and np.isfinite(helix(p, p, 0.2)).all()
    along = (r - p) / np.linalg.norm(r - p)
    off = (coil - p) - np.outer((coil - p) @ along, along)
    assert np.isclose(np.linalg.norm(off, axis=1).max(), 0.1)


def test_solids_in_space_are_where_their_bodies_are() -> None:
    s = da.System()
    s.connect("A", da.Spherical(), s.ground, s.body("b", da.box(0.4, 0.6, 0.2, mass=1)).at(0.2, 0, 0))
    model = s.compile()
    q = model.random_state(1).q
    ax = draw(s, q, ax=axes(solid=True))
    corners = by_gid(ax, "bodies")[0]._faces.reshape(-1, 3)
    for x, y, z in ((0.2, 0.3, 0.1), (-0.2, 0.3, -0.1)):
        wanted = model.pose(s["b"].at(x, y, z), q).position
        assert np.linalg.norm(corners - wanted, axis=1).min() < 1e-12


@pytest.mark.parametrize(
    "system",
    [mechanisms.bricard(), mechanisms.bennett(), chain(4), humanoid(), space_manipulator(), mechanisms.sarrus()],
    ids=lambda s: s.name,
)
def test_spatial_systems_fill_their_page_and_keep_their_proportions(system: da.System, tmp_path: Path) -> None:
    ax = draw(system, path=tmp_path / "picture.png", labels=False)
    spans = np.array([np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim()), np.ptp(ax.get_zlim())])
    assert np.allclose(spans / spans.max(), ax._box_aspect / ax._box_aspect.max())
    model = system.compile()
    q = da.assemble(model).q if model.nc else model.initial_state().q
    on_page = to_page(SimpleNamespace(ax=ax, view=SimpleNamespace(flat=False)), model.poses(q).position)
    width, height = ax.figure.get_size_inches() * 72
    assert (on_page > 0).all() and (on_page < [width, height]).all()


def test_flat_pictures_keep_their_proportions() -> None:
    ax = draw(windows(3), ax=axes())
    assert ax.get_aspect() == 1.0


@pytest.mark.parametrize("body", ["cylinder", "tube", "sphere", "plate", "rod"])
def test_solids_have_the_size_of_their_shapes(body: str) -> None:
    shape = {
        "cylinder": da.cylinder(0.5, 0.2, 1, axis="x"),
        "tube": da.tube(0.5, 0.2, 0.1, 1, axis="y"),
        "sphere": da.sphere(0.3, 1),
        "plate": da.plate(0.4, 0.2, 1),
        "rod": da.rod(0.5, 1, axis="z", radius=0.05),
    }[body]
    extents = {
        "cylinder": [0.5, 0.4, 0.4],
        "tube": [0.4, 0.5, 0.4],
        "sphere": [0.6, 0.6, 0.6],
        "plate": [0.4, 0.2, 0.0],
        "rod": [0.1, 0.1, 0.5],
    }[body]
    (solid,) = solids.of_body(da.System().body("b", shape), around=48)
    assert np.allclose(np.ptp(solid.corners, axis=0), extents, atol=0.01 * max(extents))  # a circle of 48 corners
    assert np.allclose((solid.corners.min(axis=0) + solid.corners.max(axis=0)) / 2, shape.com, atol=1e-12)


def test_the_box_of_equal_inertia_of_a_box_is_that_box() -> None:
    s = da.System()
    shape = da.box(0.3, 0.5, 0.7, mass=2.0)
    turned = da.axis_angle((1, 2, 3), 0.7)
    body = s.body("b", mass=2.0, com=(1, 2, 3), inertia=shape.inertia, inertia_axes=turned)
    box = solids.equivalent_box(body)
    assert box is not None
    local = (box.corners - body.com) @ turned
    assert np.allclose(np.abs(local), [0.15, 0.25, 0.35])


def test_the_silhouette_of_points_is_their_convex_outline() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(200, 2))
    ring = points[solids.silhouette(points)]
    sides = np.roll(ring, -1, axis=0) - ring
    for start, side in zip(ring, sides, strict=True):
        off = points - start
        assert (side[0] * off[:, 1] - side[1] * off[:, 0]).min() > -1e-12
    assert len(solids.silhouette(np.zeros((4, 2)))) <= 4


# ---- what is written on it


def test_names_of_joints_at_one_place_stand_together_and_apart_from_others() -> None:
    ax = draw(mechanisms.andrews(), ax=axes(), labels=True)
    texts = {t.get_text() for t in ax.texts}
    assert {"E3, E4, E6", "A5, A7", "K1", "O"} <= texts
    assert not draw(mechanisms.andrews(), ax=axes(), labels=False).texts
    assert not draw(windows(20), ax=axes()).texts  # too many to read


def test_labels_avoid_each_other_and_what_is_drawn() -> None:
    labels = [Label("name", np.array([[0.0, 0.0]]), "k", 4.0), Label("other", np.array([[2.0, 0.0]]), "k", 4.0)]
    line = np.column_stack([np.linspace(-50, 50, 60), np.zeros(60)])
    frame = (np.array([-100.0, -100.0]), np.array([100.0, 100.0]))
    centers = place(labels, line, frame)
    for label, center in zip(labels, centers, strict=True):
        assert abs(center[1]) > label.half[1]
    assert (np.abs(centers[0] - centers[1]) > labels[0].half + labels[1].half).any()


def test_points_paths_and_forces_are_drawn_at_their_markers() -> None:
    model = mechanisms.four_bar().compile()
    q = da.assemble(model).q
    rows = np.array([da.assemble(model, state=q + 0.01 * k * np.eye(model.nq)[0], hold="A").q for k in range(12)])
    spec = "coupler.at(1.2, 0.3, 0)"
    ax = draw(model, rows, trace=spec, markers=[model.system["rocker"]], forces={spec: (1.0, 0, 0)}, ax=axes())
    path = model.pose(find_marker(model.system, spec, item="", field=""), rows).position[:, :2]
    assert np.allclose(by_gid(ax, "trace")[0].get_xydata(), path)
    last = [model.pose("rocker", rows[-1]).position[:2], path[-1]]
    assert same_points(marks(ax, "points"), np.array(last))
    (arrow,) = by_gid(ax, "forces")
    assert np.allclose(arrow.xyann, path[-1]) and arrow.xy[0] > path[-1, 0]
    assert by_gid(ax, "ghost")


def test_unknown_points_are_refused() -> None:
    system = mechanisms.four_bar()
    for bad in ("crnak", "crank.at(1, 2, 3, 4)", "crank.at(a)", 5, mechanisms.four_bar()["crank"]):
        with pytest.raises(ModelError):
            draw(system, markers=[bad], ax=axes())


def test_configurations_of_the_wrong_shape_are_refused() -> None:
    for bad in ([0.0], np.zeros((2, 5)), [np.nan, 0, 0], "q", np.zeros((0, 3))):
        with pytest.raises(ModelError, match="state is"):
            draw(mechanisms.four_bar(), bad, ax=axes())


def test_axes_must_suit_the_view() -> None:
    with pytest.raises(ModelError, match="flat axes"):
        draw(mechanisms.four_bar(), ax=axes(solid=True))
    with pytest.raises(ModelError, match="projection='3d'"):
        draw(mechanisms.bricard(), ax=axes())


# ---- files


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_a_drawing_goes_to_a_file_and_nothing_else_is_left(suffix: str, start: bytes, tmp_path: Path) -> None:
    file = tmp_path / f"four bar{suffix}"
    mechanisms.four_bar().draw(path=file)
    assert file.read_bytes().startswith(start)
    assert [p.name for p in tmp_path.iterdir()] == [file.name]


def test_a_picture_that_fails_leaves_the_old_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "picture.png"
    file.write_bytes(b"old")

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    with pytest.raises(OSError, match="disk full"):
        draw(mechanisms.four_bar(), path=file)
    assert file.read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 1


def test_file_names_that_cannot_be_are_refused(tmp_path: Path) -> None:
    for bad in (tmp_path / "picture.doc", tmp_path / "absent" / "picture.png", tmp_path / "picture", 5):
        with pytest.raises(ModelError, match="path"):
            draw(mechanisms.four_bar(), path=bad)
    assert not list(tmp_path.iterdir())


def test_drawing_to_a_file_leaves_pyplot_alone(tmp_path: Path) -> None:
    from matplotlib import pyplot, rcParams

    before, size = pyplot.get_fignums(), rcParams["font.size"]
    draw(mechanisms.bricard(), path=tmp_path / "a.png")
    assert pyplot.get_fignums() == before and rcParams["font.size"] == size
    figure = draw(mechanisms.four_bar()).figure
    assert pyplot.get_fignums() != before
    pyplot.close(figure)


def test_without_matplotlib_the_error_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match="pip install matplotlib") as caught:
        draw(mechanisms.four_bar())
    assert isinstance(caught.value, ImportError) and isinstance(caught.value, da.DalembertError)


def test_importing_the_pictures_does_not_import_matplotlib() -> None:
    script = "import sys, dalembert.view; print('matplotlib' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "False"


# ---- motion


def test_a_gif_has_a_frame_for_each_instant_and_lasts_as_long_as_the_motion(tmp_path: Path) -> None:
    from PIL import Image

    motion = da.simulate(chain(3, axes="y"), 1.0)
    file = animate(motion, tmp_path / "chain.gif", fps=30, trace=["link_3.at(0.3, 0, 0)"], size=(2.4, 2.0))
    with Image.open(file) as image:
        durations = []
        for k in range(image.n_frames):
            image.seek(k)
            durations.append(image.info["duration"])
        assert image.n_frames == 31 and image.size == (240, 200)
        image.seek(5)
        middle = image.convert("RGB").getpixel((235, 100))
    assert abs(sum(durations) - 31 / 30 * 1000) <= 10  # hundredths of a second
    assert middle == (255, 255, 255)
    assert [p.name for p in tmp_path.iterdir()] == ["chain.gif"]


def test_slow_motion_has_more_frames(tmp_path: Path) -> None:
    from PIL import Image

    model = chain(2).compile()  # in space
    t = np.array([0.0, 1.0])
    q = np.array([[0.0, 0.0], [1.0, 0.5]])
    file = animate_configurations(model, t, q, tmp_path / "a.gif", fps=10, speed=0.5, size=(2, 2))
    with Image.open(file) as image:
        assert image.n_frames == 21


def test_a_page_is_complete_in_itself(tmp_path: Path) -> None:
    system = chain(2, axes="y")
    system.name = "<chain> & co"
    motion = da.simulate(system, 1.0)
    text = animate(motion, tmp_path / "chain.html", fps=20, size=(2, 2)).read_text(encoding="utf-8")
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?https?:|@import|url\(", text)
    assert "%" + "FRAMES" + "%" not in text and "&lt;chain&gt; &amp; co" in text
    frames = re.search(r"frames = (\[.*?\]);", text)
    assert frames is not None and frames.group(1).count('"') == 2 * 21


def test_an_animation_for_a_notebook_moves_the_joints() -> None:
    from matplotlib import pyplot

    motion = da.simulate(chain(3, axes="y"), 1.0)
    model = motion.model
    film = animate(motion, fps=10)
    film._draw_frame(7)
    ax = film._fig.axes[0]
    q = motion.at(np.array([0.7])).q[0]
    wanted = [model.pose(f"link_{k}", q).position[[0, 2]] for k in (1, 2, 3)]
    assert same_points(marks(ax, "joints Revolute"), np.array(wanted))
    film._draw_was_started = True
    pyplot.close(film._fig)


def test_everything_stays_on_the_page_while_it_moves() -> None:
    motion = da.simulate(chain(4, axes="y"), 2.0)
    model = motion.model
    ax = draw(model, motion.q, ax=axes())
    tips = model.pose(model.system["link_4"].at(0.3, 0, 0), motion.q).position[:, [0, 2]]
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    assert (tips > [left, low]).all() and (tips < [right, high]).all()


def test_frames_between_rows_lie_on_the_manifold() -> None:
    model = space_manipulator().compile()
    q = np.array([model.random_state(1).q, model.random_state(2).q])
    middle = between(model, np.array([0.0, 2.0]), q, np.array([0.0, 1.0, 2.0]))
    assert np.allclose(np.abs(middle[[0, 2]]), np.abs(q))
    there, back = model.difference(q[0], middle[1]), model.difference(middle[1], q[1])
    turning = [k for k, name in enumerate(model.speed_names) if not name.startswith("base.v")]
    assert np.allclose(there[turning], back[turning], atol=1e-9)
    place_of_base = slice(model.q_slice("base").start + 4, model.q_slice("base").stop)
    assert np.allclose(middle[1, place_of_base], q[:, place_of_base].mean(axis=0))
    assert np.allclose(np.linalg.norm(middle[:, model.q_slice("shoulder_a")], axis=1), 1.0)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"path": "a.avi"}, "path"),
        ({"path": "a"}, "path"),
        ({"path": "a.gif", "fps": 0}, "fps"),
        ({"path": "a.gif", "fps": np.nan}, "fps"),
        ({"path": "a.gif", "fps": 120}, "fps"),
        ({"path": "a.gif", "speed": -1.0}, "speed"),
        ({"path": "a.gif", "speed": 1e-6}, "number of frames"),
        ({"path": "a.gif", "view": "top"}, "view"),
        ({"path": "a.gif", "size": (0, 3)}, "size"),
        ({"path": "a.gif", "trace": ["nothing"]}, "name"),
    ],
)
def test_animations_that_cannot_be_are_refused(options: dict[str, Any], field: str, tmp_path: Path) -> None:
    options["path"] = tmp_path / options["path"]
    with pytest.raises(ModelError, match=rf": {field} is"):
        animate(da.simulate(chain(1, axes="y"), 1.0), **options)
    assert not list(tmp_path.iterdir())


def test_times_must_rise_and_match_the_rows() -> None:
    model = chain(1, axes="y").compile()
    for bad in ([0.0, 0.0], [0.0], [0.0, np.nan], [1.0, 0.0]):
        with pytest.raises(ModelError, match="t is"):
            animate_configurations(model, bad, np.zeros((2, 1)), "a.gif")


# ---- outputs over time


def test_outputs_are_plotted_with_their_values_and_components(tmp_path: Path) -> None:
    motion = da.simulate(chain(2, axes="y"), 1.0)
    turning, places = motion.plot("joint_1.speed", "link_2.position", path=tmp_path / "plot.png")
    assert (turning.get_ylabel(), places.get_ylabel()) == ("joint_1.speed [rad/s]", "position [m]")
    lines = {line.get_label(): line for line in places.get_lines()}
    assert list(lines) == ["link_2.position.x", "link_2.position.y", "link_2.position.z"]
    height = lines["link_2.position.z"]
    stored = np.searchsorted(height.get_xdata(), motion.t)
    assert np.array_equal(height.get_ydata()[stored], motion["link_2.position.z"])
    assert places.get_xlabel() == "t [s]"
    assert places.get_legend().get_window_extent().x0 >= places.get_window_extent().x1


def test_curves_are_smooth_between_the_steps_that_were_taken() -> None:
    motion = da.simulate(chain(1, axes="y"), 2.0)
    (panel,) = plot(motion, "joint_1.position", ax=axes())
    t, angle = panel.get_lines()[0].get_data()
    assert len(t) > 10 * len(motion) and np.diff(t).max() < 0.004
    exact = da.simulate(motion.model, 2.0, times=t, rtol=1e-12, atol=1e-12)["joint_1.position"]
    assert np.allclose(angle, exact, rtol=0, atol=1e-6)


def test_both_sides_of_a_jump_are_plotted() -> None:
    system = chain(1, axes="y")
    stop = da.Event("stop", "joint_1.position", 1.0, action=lambda now: now.lock("joint_1"))
    motion = da.simulate(system, 1.0, events=[stop])
    (panel,) = motion.plot("joint_1.speed", ax=axes())
    t, speed = panel.get_lines()[0].get_data()
    (k,) = np.flatnonzero(np.diff(t) == 0)
    assert t[k] == motion.events[0].t and speed[k] > 1.0 and speed[k + 1] == 0.0


def test_without_names_all_coordinates_are_plotted_one_panel_for_each_unit(tmp_path: Path) -> None:
    system = da.System()
    body = system.body("b", da.rod(1, 1, radius=0.1))
    system.connect("C", da.Cylindrical("z"), system.ground, body)
    system.connect("S", da.Spherical(), body.at(1, 0, 0), system.body("c", da.box(1, 1, 1, mass=1)))
    motion = da.simulate(system, 1.0)
    panels = motion.plot(path=tmp_path / "all.png")
    assert [p.get_ylabel() for p in panels] == ["C.angle [rad]", "C.slide [m]", "quaternion [1]"]
    assert [len(p.get_lines()) for p in panels] == [1, 1, 4]
    with pytest.raises(ModelError, match="3 panels"):
        motion.plot(ax=axes())


def test_a_function_of_the_state_is_plotted() -> None:
    motion = da.simulate(chain(1, axes="y"), 1.0)

    def speed_squared(state: da.State) -> float:
        return float(state.v[0] ** 2)

    (panel,) = motion.plot(speed_squared, ax=axes())
    assert np.isclose(panel.get_lines()[0].get_ydata()[-1], motion.v[-1, 0] ** 2)
    with pytest.raises(ModelError, match="name is 'speed'"):
        motion.plot("speed", ax=axes())


def test_the_energy_plot_shows_the_balance(tmp_path: Path) -> None:
    motion = da.simulate(chain(2, axes="y"), 1.0)
    energies, balance = motion.plot_energy(path=tmp_path / "energy.png")
    assert [line.get_label() for line in energies.get_lines()] == ["kinetic", "potential", "total"]
    assert np.array_equal(balance.get_lines()[0].get_ydata(), motion["energy.balance"])
    system = mechanisms.four_bar()
    system.drive("A", speed=3.0)
    system.connect("k", da.SpringDamper(stiffness=20.0, damping=5.0), system["coupler"], system.ground.at(0, 1, 0))
    driven = da.simulate(system, 1.0)
    energies, _ = plot_energy(driven, path=tmp_path / "energy.png")
    assert [line.get_label() for line in energies.get_lines()][3:] == ["work", "dissipated"]
    with pytest.raises(ModelError, match="two axes"):
        plot_energy(motion, ax=axes())


def test_a_result_from_a_file_without_its_model_plots_what_it_has(tmp_path: Path) -> None:
    da.simulate(chain(2, axes="y"), 1.0).save(tmp_path / "run.nc", ["energy.kinetic"])
    alone = da.Result.load(tmp_path / "run.nc")
    (panel,) = alone.plot(ax=axes())
    assert [line.get_label() for line in panel.get_lines()] == ["joint_1", "joint_2"]
    (panel,) = alone.plot("energy.kinetic", ax=axes())
    assert np.array_equal(panel.get_lines()[0].get_ydata(), alone["energy.kinetic"])
    with pytest.raises(ModelError, match="without a model"):
        alone.animate(tmp_path / "a.gif")


# ---- flexible bodies

ALUMINIUM = da.Material(E=70e9, nu=0.33, density=2700)


def flexible_arm() -> tuple[da.System, Array]:
    """Two beams that bend in their plane of motion, with a marker at the end, and a configuration."""
    link = da.beam(0.8, da.Section.rectangle(0.01, 0.02), ALUMINIUM, elements=6, modes=da.CantileverModes(4))
    s = da.System("arm")
    upper, lower = s.body("upper", link), s.body("lower", link)
    lower.marker("tip", 0.8, 0, 0)
    s.connect("A", da.Revolute("y"), s.ground, upper)
    s.connect("B", da.Revolute("y"), upper.at(0.8, 0, 0), lower)
    upright = np.abs(link.shapes[-1, 5]) > np.abs(link.shapes[-1, 4])
    model = s.compile()
    q = model.zero_configuration()
    q[model.q_slice("A")], q[model.q_slice("B")] = 0.3, -0.8
    for name, size in (("upper", 2e-4), ("lower", -3e-4)):
        q[model.q_slice(name)] = size * upright * np.array([1.0, 1.0, 0.5, 0.5])
    return s, q


def node_positions(model: Any, body: da.Body, q: Array) -> Array:
    """Return the positions of the nodes of a flexible body by the kernels."""
    assert body.flexible is not None
    return np.array([model.pose(body.at(node=k), q).position for k in range(body.flexible.n)])


def scaled(model: Any, q: Array, factor: float) -> Array:
    found = np.array(q)
    for name in model.flexible_names:
        found[model.q_slice(name)] *= factor
    return found


@pytest.mark.parametrize("factor", [1.0, 30.0])
def test_beams_are_drawn_through_their_deformed_nodes_and_joints_stay_on_them(factor: float) -> None:
    system, q = flexible_arm()
    model = system.compile()
    ax = draw(system, q, exaggerate=factor, ax=axes(), markers=["lower.tip"])
    assert ax.get_xlabel()[0] + ax.get_ylabel()[0] == "xz"
    drawn = by_gid(ax, "bars")[0].get_segments()
    for line, name in zip(drawn, ("upper", "lower"), strict=True):
        assert np.allclose(line, node_positions(model, system[name], scaled(model, q, factor))[:, [0, 2]], atol=1e-12)
    assert same_points(marks(ax, "joints Revolute"), np.array([drawn[0][0], drawn[1][0]]))
    assert np.allclose(drawn[0][-1], drawn[1][0], atol=1e-12)
    assert np.allclose(marks(ax, "points"), drawn[1][-1], atol=1e-12)


def test_thin_grey_lines_show_the_undeformed_bodies_if_exaggerated() -> None:
    system, q = flexible_arm()
    model = system.compile()
    assert not by_gid(draw(system, q, ax=axes()), "undeformed")
    lines = by_gid(draw(system, q, exaggerate=30, ax=axes()), "undeformed")[0].get_segments()
    for line, name in zip(lines, ("upper", "lower"), strict=True):
        assert np.allclose(line, node_positions(model, system[name], scaled(model, q, 0.0))[:, [0, 2]], atol=1e-12)
    assert by_gid(draw(system, q, exaggerate=30, view="3d", ax=axes(solid=True)), "undeformed")


def test_a_tube_in_space_runs_round_the_deformed_nodes() -> None:
    system, q = flexible_arm()
    model = system.compile()
    ax = draw(system, q, exaggerate=30, view="3d", ax=axes(solid=True))
    corners = np.unique(by_gid(ax, "bodies")[0]._faces.reshape(-1, 3).round(12), axis=0)
    for name in ("upper", "lower"):
        for node in node_positions(model, system[name], scaled(model, q, 30.0))[1:-1]:
            ring = corners[np.argsort(np.linalg.norm(corners - node, axis=1))[:8]]
            assert np.allclose(ring.mean(axis=0), node, atol=1e-9)


def flexible_four_bar() -> tuple[da.System, Array]:
    """A four-bar whose coupler is bent and a little shorter than its loop constraint, closed."""
    link = da.beam(1.0, da.Section.circle(0.004), ALUMINIUM, elements=8, modes=da.CraigBampton((0, 8), 2))
    s = da.System("four-bar")
    crank, coupler = s.body("crank", da.rod(length=0.3, mass=1)), s.body("coupler", link)
    rocker = s.body("rocker", da.rod(length=0.8, mass=1))
    coupler.marker("middle", 0.5, 0, 0)
    s.connect("A", da.Revolute("y"), s.ground, crank)
    s.connect("B", da.Revolute("y"), crank.at(0.3, 0, 0), coupler)
    s.connect("C", da.Revolute("y"), coupler.at(1, 0, 0), rocker.at(0.8, 0, 0))
    s.connect("D", da.Revolute("y"), s.ground.at(0.9, 0, 0), rocker)
    s.drive("A", speed=3.0)
    return s, da.simulate(s, 0.3).q


def test_where_there_are_loops_joints_stay_and_bodies_bend_more_between_them() -> None:
    system, rows = flexible_four_bar()
    model, q = system.compile(), rows[-1]
    ax = draw(system, rows, exaggerate=40, ax=axes(), trace=["coupler.middle"])
    true = node_positions(model, system["coupler"], q)[:, [0, 2]]
    drawn = by_gid(ax, "bars")[0].get_segments()[-1]
    joints = np.array([model.pose(system[name].second, q).position[[0, 2]] for name in "ABCD"])
    assert np.allclose(drawn[[0, -1]], joints[1:3], atol=1e-4)  # but for its stretching
    along = (true[-1] - true[0]) / np.linalg.norm(true[-1] - true[0])
    off, more = ((line - line[0]) @ (-along[1], along[0]) for line in (true, drawn))
    assert np.abs(off).max() > 1e-5 and np.allclose(more, 40 * off, rtol=1e-3, atol=1e-6)
    (loop_constraint,) = by_gid(ax, "undeformed")[0].get_segments()
    assert np.allclose((loop_constraint - loop_constraint[0]) @ (-along[1], along[0]), 0, atol=1e-6)
    assert np.allclose(marks(ax, "trace")[-1], drawn[4], atol=1e-12)


def test_a_beam_that_bends_out_of_the_plane_is_shown_in_space() -> None:
    system, q = flexible_arm()
    model = system.compile()
    q[model.q_slice("lower")] = (1e-4, 1e-4, 0, 0)
    assert choose_view(model, Placement.of(model, q)).name == "3d"
    assert choose_view(model, Placement.of(model, scaled(model, q, 0.0))).name == "xz"


def plate_on_a_joint() -> tuple[da.System, Array]:
    plate = da.plate_structure(1.0, 0.5, 0.004, ALUMINIUM, elements=(4, 2))
    plate = plate.rigid_region(plate.nodes[:, 0] < -0.49)
    foot = len(plate.nodes) - 1
    s = da.System("plate")
    s.connect(
        "A", da.Revolute("z"), s.ground, s.body("plate", plate.reduce(da.CantileverModes(3, at=foot))).at(node=foot)
    )
    return s, np.array([0.3, 0.01, 0.004, 0.002])


def test_plates_are_drawn_by_their_elements() -> None:
    system, q = plate_on_a_joint()
    model = system.compile()
    faces = by_gid(draw(system, q, exaggerate=5, ax=axes(solid=True)), "bodies")[0]._faces[:8]
    nodes = node_positions(model, system["plate"], scaled(model, q, 5.0))
    corners = system["plate"].flexible.structure.elements.corners
    assert np.allclose(faces, nodes[corners], atol=1e-12)
    flat = draw(system, q, view="xy", exaggerate=5, ax=axes())
    assert len(by_gid(flat, "ties")[0].get_segments()) == 4 * 3 + 5 * 2
    assert len(by_gid(flat, "undeformed")[0].get_segments()) == 2 * (4 + 2)


@pytest.mark.parametrize("kind", ["MeshTet", "MeshHex"])
def test_solids_show_their_surface_outside_first(kind: str) -> None:
    skfem = pytest.importorskip("skfem")
    grid = getattr(skfem, kind).init_tensor(np.linspace(0, 0.4, 4), np.linspace(0, 0.1, 3), np.linspace(0, 0.1, 2))
    body = da.solid_structure(grid, ALUMINIUM, order=1).reduce(da.FreeModes(2))
    faces = mesh_of(body).faces
    assert len(faces) == (2 if kind == "MeshTet" else 1) * 2 * (3 * 2 + 3 * 1 + 2 * 1)
    p = body.nodes[faces]
    normal = np.cross(p[:, 2] - p[:, 0], p[:, 3] - p[:, 1])
    assert (np.einsum("fi,fi->f", normal, p.mean(axis=1) - (0.2, 0.05, 0.05)) > 0).all()
    # the divergence theorem: a closed surface, outward everywhere, holds the volume
    assert np.isclose(np.einsum("fi,fi->", normal / 2, p[:, [0, 1, 2]].mean(axis=1)) / 3, 0.4 * 0.1 * 0.1)


def test_bodies_without_known_elements_are_lines_or_points() -> None:
    modes = np.zeros((24, 1))
    modes[[7, 13, 19]] = [[0.1], [0.3], [1.0]]
    masses = {"node_masses": [1, 1, 1, 1], "modal_stiffness": [[9.0]]}
    row = da.FlexibleBody([[0, 0, 0], [0.3, 0, 0], [0.6, 0, 0], [1, 0, 0]], modes, **masses)
    off = da.FlexibleBody([[0, 0, 0], [0.5, 0, 0], [1, 0, 1], [1, 0, 0]], modes, **masses)
    assert [line.tolist() for line in mesh_of(row).lines] in ([[0, 1, 2, 3]], [[3, 2, 1, 0]])
    assert mesh_of(off).points.tolist() == [0, 1, 2, 3] and not mesh_of(off).lines
    s = da.System(gravity=(0, -9.81, 0))
    s.connect("A", da.Revolute("z"), s.ground, s.body("b", off))
    nodes = marks(draw(s, [0.0, 0.1], ax=axes()), "nodes")
    assert np.allclose(nodes, [(0, 0), (0.5, 0.01), (1, 0.03), (1, 0.1)])
    assert by_gid(draw(s, [0.0, 0.1], view="3d", ax=axes(solid=True)), "bodies")


def test_an_animation_exaggerates_too(tmp_path: Path) -> None:
    from matplotlib import pyplot

    system, q = flexible_arm()
    model = system.compile()
    rows = np.array([scaled(model, q, k) for k in (0.0, 1.0)])
    film = animate_configurations(system, [0.0, 1.0], rows, fps=5, exaggerate=30, trace=["lower.tip"])
    film._func(5)
    ax = film._fig.axes[0]
    wanted = node_positions(model, system["lower"], scaled(model, q, 30.0))[:, [0, 2]]
    assert np.allclose(by_gid(ax, "bars")[0].get_segments()[1], wanted, atol=1e-12)
    assert np.allclose(marks(ax, "trace")[-1], wanted[-1], atol=1e-12)
    film._draw_was_started = True
    pyplot.close(film._fig)
    result = da.simulate(system, 0.05)
    assert result.animate(tmp_path / "arm.gif", fps=40, exaggerate=30, size=(3, 2)).stat().st_size > 0


@pytest.mark.parametrize("bad", [-1.0, float("nan"), "much", None])
def test_a_factor_of_deformation_that_cannot_be_is_refused(bad: Any) -> None:
    system, q = flexible_arm()
    with pytest.raises(ModelError, match="exaggerate"):
        draw(system, q, exaggerate=bad, ax=axes())


def test_what_is_nearer_is_drawn_over_what_is_farther() -> None:
    s = da.System("two blocks", gravity=(0, 0, -9.81))
    for name, y in (("near", -1.0), ("far", 1.0)):  # the reader of the xz-plane looks along y
        block = s.body(name, da.box(1.0, 0.2, 1.0, mass=1.0))
        s.connect(f"{name} pin", da.Revolute("y"), s.ground.at(0, y, 0), block)
    ax = s.draw()
    bodies = next(each for each in ax.collections if each.get_gid() == "bodies")
    order = [tuple(color) for color in bodies.get_edgecolor()]
    turned = da.System("two blocks", gravity=(0, 0, -9.81))
    for name, y in (("near", 1.0), ("far", -1.0)):
        block = turned.body(name, da.box(1.0, 0.2, 1.0, mass=1.0))
        turned.connect(f"{name} pin", da.Revolute("y"), turned.ground.at(0, y, 0), block)
    other = next(each for each in turned.draw().collections if each.get_gid() == "bodies")
    assert [tuple(color) for color in other.get_edgecolor()] == order[::-1]


def test_methods_and_functions_take_the_same_options_with_the_same_defaults() -> None:
    from dalembert.view import animate, draw, plot

    twins: list[tuple[Any, Any, set[str]]] = [
        (da.Result.plot, plot, set()),
        (da.Result.animate, animate, set()),
        (da.System.draw, draw, {"t"}),  # of a configuration no time is known
    ]
    for method, function, more in twins:
        own, (_, *others) = signature(method).parameters, signature(function).parameters.values()
        asked = {p.name: (p.kind, p.default) for p in others if p.name not in more}
        assert {n: (p.kind, p.default) for n, p in own.items() if n != "self"} == asked


def test_options_are_the_same_for_type_checkers_in_signatures_and_in_docstrings() -> None:
    from dalembert.system import display_options as options

    for keywords, fields in (
        (options.DrawKeywords, options.DrawOptions),
        (options.AnimationKeywords, options.AnimationOptions),
        (options.SceneKeywords, options.SceneOptions),
    ):
        assert set(keywords.__annotations__) == set(signature(fields).parameters)
    for method, fields in (
        (da.System.draw, options.DrawOptions),
        (da.Result.draw, options.DrawOptions),
        (da.Result.animate, options.AnimationOptions),
        (da.Result.view, options.SceneOptions),
        (da.Result.export, options.SceneOptions),
    ):
        assert set(signature(fields).parameters) <= set(signature(method).parameters)
        text = method.__doc__ or ""
        assert "{options}" not in text
        assert all(re.search(rf"^ +(\w+, )*{name}(, \w+)* : ", text, re.M) for name in signature(fields).parameters)
    with pytest.raises(TypeError, match="colour"):
        mechanisms.four_bar().draw(colour="red")  # type: ignore[call-arg]


def test_a_panel_made_of_beams_is_drawn_as_wide_as_it_is() -> None:
    from dalembert.view.scene.flexible_meshes import mesh_of
    from dalembert.view.scene.solids import tube

    panel = da.beam(1.0, da.Section.rectangle(0.3, 0.002), da.materials.steel, elements=4)
    mesh = mesh_of(panel)
    section = mesh.sections[0]
    np.testing.assert_allclose(np.ptp(section, axis=0), [0.0, 0.3, 0.002], atol=1e-12)
    solid, owners = tube(panel.nodes[mesh.lines[0]], 0.01, ring=section)
    corners = solid.corners + panel.nodes[owners]
    np.testing.assert_allclose(np.ptp(corners, axis=0), [1.0, 0.3, 0.002], atol=1e-12)
    # faces look outwards
    faces = corners[solid.faces]
    normals = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    assert (np.einsum("fi,fi->f", normals, faces.mean(axis=1) - corners.mean(axis=0)) > 0).all()


@pytest.mark.parametrize("name", ["a$$b", r"$\\frac$", "$x", "a$^b$", "x_{", "100 % & <b>"])
def test_names_are_drawn_as_they_are_whatever_signs_they_have(name: str, tmp_path: Path) -> None:
    from matplotlib import pyplot
    from matplotlib.text import Text

    s = da.System(f"system {name}")
    s.connect(f"J {name}", da.Revolute("y"), s.ground, s.body(name, da.rod(1.0, mass=1.0)))
    result = da.simulate(s, 0.1)
    result.plot(f"J {name}", path=tmp_path / "plot.png")
    result.plot_energy(path=tmp_path / "energy.png")
    result.animate(path=tmp_path / "page.html")
    assert "<svg" in s._repr_html_() or "<img" in s._repr_html_()
    ax = s.draw(labels=True)
    ax.figure.canvas.draw()
    assert any(name in text.get_text() for text in ax.figure.findobj(Text))
    ax.set_title(r"$\\theta$")
    assert ax.title.get_parse_math()  # formulas of the user's own are formulas
    assert pyplot.figure().text(0, 0, "").get_parse_math()
    pyplot.close("all")
