"""Contacts in drawings and in the viewer: planes, height fields, contact points, impacts, collision shapes."""

import shutil
from importlib import resources

import numpy as np
import pytest

import dalembert as da
from dalembert.io.urdf import load_urdf
from dalembert.view.scene.scene import Scene
from dalembert.view.web.scenes import scene_of_result, scene_of_system

URDF = """<robot name="one"><link name="part"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
  <visual><geometry><sphere radius="0.1"/></geometry></visual>
  <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link></robot>"""


@pytest.fixture(scope="module")
def dropped():
    """A crate that falls on a floor, slides and rests."""
    s = da.System("drop")
    crate = s.body("crate", da.box(0.2, 0.2, 0.2, mass=1.0))
    s.connect("free", da.Free(), s.ground, crate)
    s.initial("free", position=[1, 0, 0, 0, 0, 0, 0.15], speed=[0, 0, 0, 0.5, 0, 0])
    s.contact("floor", da.plane(), crate, friction=0.4)
    return da.simulate(s, 0.6, contact="steps")


def test_scene_of_a_motion_has_contact_points_and_impacts(dropped):
    scene = scene_of_result(dropped)
    contacts, times = scene["contacts"], scene["motion"]["times"]
    begin = contacts["begin"].astype(int)
    assert len(begin) == len(times) + 1
    assert begin[0] == begin[1] == 0  # it falls
    assert begin[-1] - begin[-2] == 4  # it rests on its corners
    assert contacts["force"][begin[-2] :].sum(axis=0) == pytest.approx([0, 0, 9.81], abs=1e-6)
    assert set(contacts["state"]) == {1.0, 2.0}  # it slides, then sticks
    assert len(scene["impacts"]) >= 1
    assert scene["impacts"][0] == pytest.approx(np.sqrt(2 * 0.05 / 9.81), abs=2e-3)  # a fall of 5 cm; one step


def test_planes_and_height_fields_are_drawn(tmp_path):
    s = da.System("land")
    ball = s.body("ball", da.sphere(0.1, mass=1.0))
    s.contact("floor", s.ground.at(0, 0, -1.0), ball)
    s.contact("hills", da.height_field(np.linspace(0, 0.4, 20).reshape(4, 5), size=(3.0, 2.0)), ball)
    patches = {patch.symbol: patch for patch in Scene(s.compile()).patches}
    assert set(patches) == {"plane", "land"}
    corners = patches["land"].solid.corners
    assert corners.min(axis=0) == pytest.approx([-1.5, -1.0, 0.0])
    assert corners.max(axis=0) == pytest.approx([1.5, 1.0, 0.4])
    for view in ("xz", "3d"):
        assert s.draw(path=tmp_path / f"{view}.png", view=view) is not None
    assert (tmp_path / "xz.png").stat().st_size > 1000


def test_shapes_of_the_ground_are_drawn_where_they_touch():
    """Height fields and obstacles have lengths along x and y, in axes of their markers."""
    s = da.System("ground")
    ball = s.body("ball", da.sphere(0.1, mass=1.0))
    s.contact("hills", da.height_field(np.linspace(0, 0.4, 20).reshape(4, 5), size=(3.0, 2.0)), ball)
    t = da.System("obstacle")
    other = t.body("ball", da.sphere(0.1, mass=1.0))
    t.contact("step", da.box(0.6, 0.2, 0.1), other)
    for system, symbol, lengths in ((s, "land", [3.0, 2.0]), (t, "obstacle", [0.6, 0.2])):
        (patch,) = [patch for patch in Scene(system.compile()).patches if patch.symbol == symbol]
        corners = patch.solid.corners @ patch.axes.T
        assert np.ptp(corners, axis=0)[:2] == pytest.approx(lengths)


def test_collision_shapes_of_a_robot_are_parts_of_their_own():
    s = load_urdf(URDF, base="free")
    _, scene = scene_of_system(s)
    kinds = [part["kind"] for part in scene["rigid"]]
    assert kinds.count("collision") == 1
    shape = next(part for part in scene["rigid"] if part["kind"] == "collision")
    assert scene["meshes"][shape["mesh"]]["corners"].max(axis=0) == pytest.approx([0.1, 0.1, 0.1])


_CHROMIUM = shutil.which("chromium")
_PAGE = resources.files("dalembert.view.web") / "page.js"


@pytest.mark.skipif(_CHROMIUM is None or not _PAGE.is_file(), reason="needs chromium and the page of the viewer")
@pytest.mark.xdist_group("browser")
def test_the_page_shows_points_of_contact(dropped, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    dropped.export(tmp_path / "drop.html")
    flags = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-gpu-compositing"]
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=_CHROMIUM, args=flags)
        page = browser.new_page(viewport={"width": 500, "height": 400})
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto((tmp_path / "drop.html").as_uri())
        for _ in range(1200):
            if page.evaluate("Boolean(window.viewer && window.viewer.frames > 0)"):
                break
            page.wait_for_timeout(50)
        shown = "viewer.world.touching.spots.map((crowd) => crowd.hidden.filter((each) => !each).length)"
        page.evaluate("viewer.player.toggle(false)")
        page.evaluate("viewer.player.go(0.6)")
        assert page.evaluate(shown) == [4, 0]  # four corners stick
        page.evaluate("viewer.player.go(0.02)")
        assert page.evaluate(shown) == [0, 0]
        marks = page.locator(".marks i").count()
        browser.close()
    assert errors == []
    assert marks >= 1
