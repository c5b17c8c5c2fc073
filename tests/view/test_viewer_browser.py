"""The viewer in a real browser: it loads, plays, is pulled about, and asks nobody outside for anything."""

import io
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import image

import dalembert as da
from dalembert.library.mechanisms import four_bar

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
_CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.skipif(_CHROMIUM is None, reason="there is no chromium on this machine"),
    pytest.mark.skipif(
        not (Path(da.__file__).parent / "view" / "web" / "page.js").is_file(), reason="built without Node.js: no page"
    ),
    pytest.mark.xdist_group("browser"),
]
_FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking"]
_FLAGS += [
    "--disable-gpu-compositing",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=_CHROMIUM, args=_FLAGS)
        yield browser
        browser.close()


class Page:
    """A page of the viewer, with what it said and asked for."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.page = browser.new_page(**{"viewport": {"width": 800, "height": 600}, **options})
        self.errors: list[str] = []
        self.asked: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)
        self.wait("window.viewer && window.viewer.frames > 0")

    def get(self, script: str) -> Any:
        return self.page.evaluate(script)

    def wait(self, script: str, seconds: float = 60.0) -> None:
        """Wait until something holds; the page lets nobody run text, so that it is asked from here."""
        until = time.monotonic() + seconds
        while not self.get(script):
            assert time.monotonic() < until, f"{script} does not come: {self.errors}"
            self.page.wait_for_timeout(20)

    def pixels(self) -> bytes:
        """Return the scene alone."""
        data: bytes = self.page.locator("canvas.scene").screenshot()
        return data

    def still(self) -> None:
        """Stop the motion."""
        self.get("viewer.player.toggle(false)")


@pytest.fixture(scope="module")
def motion() -> da.Result:
    s = four_bar()
    s.drive("A", speed=3.0)
    return da.simulate(s, 2.0)


def test_a_page_from_disk_plays_without_network(browser: Any, motion: da.Result, tmp_path: Path) -> None:
    file = motion.export(tmp_path / "motion.html", plots=["rocker.angle"], arrows=["D.force"], trace=["coupler"])
    shown = Page(browser, file.as_uri())
    begin = shown.get("viewer.player.time")
    shown.wait(f"viewer.player.time > {begin} + 0.05")
    shown.still()
    shown.get("viewer.player.go(0)")
    first = shown.pixels()
    shown.get("viewer.player.go(0.7)")
    shown.page.wait_for_timeout(200)
    assert shown.pixels() != first, "bodies have moved"
    assert shown.errors == []
    assert [url for url in shown.asked if not url.startswith(("file:", "blob:", "data:"))] == []
    shown.page.close()


def test_bodies_of_the_page_are_where_the_result_says(browser: Any, motion: da.Result, tmp_path: Path) -> None:
    shown = Page(browser, motion.export(tmp_path / "motion.html").as_uri())
    shown.still()
    for t in (0.0, 0.5, 1.9):
        shown.get(f"viewer.player.go({t})")
        here = shown.get("viewer.world.frames.matrices[3].elements.slice(12, 15)")
        # poses are kept thirty times a second in single precision, and between them lines replace arcs
        np.testing.assert_allclose(here, motion.output("rocker.position", [t])[0], atol=2e-3)
    shown.page.close()


def test_keys_act_before_any_click(browser: Any, motion: da.Result, tmp_path: Path) -> None:
    shown = Page(browser, motion.export(tmp_path / "motion.html").as_uri())
    shown.still()
    shown.page.keyboard.press("End")
    assert shown.get("viewer.player.time") == 2.0
    shown.page.close()


def test_a_page_follows_dark_mode_and_reduced_motion(browser: Any, motion: da.Result, tmp_path: Path) -> None:
    address = motion.export(tmp_path / "motion.html", plots=["rocker.angle"]).as_uri()
    shown = Page(browser, address, color_scheme="dark", reduced_motion="reduce")
    shown.page.wait_for_timeout(300)
    assert shown.get("viewer.player.playing") is False
    assert shown.get("viewer.world.scene.background.getHexString()") == "1c1d1f"
    shown.page.emulate_media(color_scheme="light")
    shown.wait("viewer.world.scene.background.getHexString() === 'fbfbfa'")
    assert shown.errors == []
    shown.page.close()


def test_controls_are_large_where_fingers_press_them(browser: Any, motion: da.Result, tmp_path: Path) -> None:
    phone = {"has_touch": True, "is_mobile": True, "viewport": {"width": 390, "height": 800}}
    shown = Page(browser, motion.export(tmp_path / "motion.html").as_uri(), **phone)
    for control in shown.page.locator("button:visible, select:visible").all():
        box = control.bounding_box()
        assert box is None or (box["height"] >= 44 and box["width"] >= 44)
    shown.page.close()


def test_the_slider_scrubs(browser: Any, motion: da.Result, tmp_path: Path) -> None:
    shown = Page(browser, motion.export(tmp_path / "motion.html").as_uri())
    shown.still()
    slider = shown.page.locator("input.time")
    slider.evaluate("(element) => { element.value = 1.5; element.dispatchEvent(new Event('input')); }")
    assert shown.get("viewer.player.time") == 1.5
    slider.focus()
    shown.page.keyboard.press("Home")
    assert shown.get("viewer.player.time") == 0.0
    shown.page.close()


def test_a_dragged_body_follows_with_loops_closed(browser: Any) -> None:
    s = four_bar()
    model = s.compile()
    with s.view(open_browser=False) as viewer:
        shown = Page(browser, viewer.address)
        shown.page.click("button[data-mode=pull]")
        x, y = shown.get(
            """() => {
              const { world, eye, pointing } = viewer;
              const place = world.document.joints.find((joint) => joint.name === "B").at;
              const point = world.frames.point(place, world.middle.clone()).project(eye.camera);
              const box = pointing.canvas.getBoundingClientRect();
              return [box.left + ((point.x + 1) / 2) * box.width, box.top + ((1 - point.y) / 2) * box.height];
            }"""
        )
        before = shown.get("viewer.world.frames.matrices[1].elements")
        shown.page.mouse.move(x, y)
        shown.page.mouse.down()
        shown.page.mouse.move(x - 80, y - 50, steps=8)
        shown.wait("!viewer.session.busy")
        shown.page.mouse.up()
        shown.wait("!viewer.session.busy")
        after = shown.get("viewer.world.frames.matrices[1].elements")
        assert np.abs(np.subtract(after, before)).max() > 0.01
        q = viewer.answer.solver.q  # type: ignore[union-attr]
        assert np.abs(model.constraint_residual(q)).max() < 1e-9
        assert all(url.startswith(f"http://127.0.0.1:{viewer.port}/") for url in shown.asked)
        assert shown.errors == []
        shown.page.close()


def test_a_live_run_moves_answers_its_slider_and_is_pulled(browser: Any) -> None:
    s = da.System("motor", gravity=(0, 0, 0))
    arm = s.body("arm", da.rod(length=1.0, mass=1.0))
    s.connect("A", da.Revolute("y"), s.ground, arm)
    s.connect("motor", da.Element("joint", "u - 0.5*ds", inputs={"u": 0.0}, active=True), "A")
    with s.play({"motor.u": (-5.0, 5.0)}, open_browser=False) as viewer:
        shown = Page(browser, viewer.address)
        rest = shown.get("viewer.world.frames.matrices[1].elements")
        shown.get("viewer.session.set('motor.u', 3)")
        shown.wait("Math.abs(viewer.world.frames.matrices[1].elements[0] - 1) > 0.05")
        assert rest[0] == pytest.approx(1.0)
        assert shown.errors == []
        shown.page.close()
    assert viewer.closed.is_set()


def test_modes_are_chosen_by_keys_and_coloured_by_stress(browser: Any, tmp_path: Path) -> None:
    s = da.System("arm", gravity=(0, 0, 0))
    steel = da.Material(E=210e9, nu=0.3, density=7850)
    arm = s.body("arm", da.beam(1.0, da.Section.rectangle(0.03, 0.01), steel, elements=6))
    s.connect("A", da.Fixed(), s.ground, arm)
    modes = da.modes(s)
    shown = Page(browser, modes.view(path=tmp_path / "modes.html", colors="stress").as_uri())
    shown.still()
    shown.get("viewer.player.go(0)")
    first = shown.pixels()
    assert shown.get("viewer.world.frames.field[0]") == pytest.approx(shown.get("viewer.world.cast.largest"), rel=1e-5)
    shown.page.locator("canvas.scene").focus()
    shown.page.keyboard.press("PageDown")
    shown.page.wait_for_timeout(150)
    assert f"{modes.frequencies[1]:.4g} Hz" in shown.page.locator(".title").inner_text()
    assert shown.pixels() != first
    shown.page.keyboard.press("End")
    assert shown.get("viewer.player.time") == 1.0
    assert shown.errors == []
    shown.page.close()


def _coloured(shown: Page) -> int:
    """Return how many pixels of the scene are neither white nor grey."""
    picture = image.imread(io.BytesIO(shown.pixels()))
    return int((np.ptp(picture[..., :3], axis=-1) > 0.2).sum())


def test_a_section_cuts_away_what_is_near(browser: Any, tmp_path: Path) -> None:
    s = da.System("block", gravity=(0, 0, -9.81))
    s.connect("X", da.Prismatic("x"), s.ground, s.body("block", da.box(1.0, 1.0, 1.0, mass=1.0)))
    shown = Page(browser, da.simulate(s, 0.1).export(tmp_path / "block.html").as_uri())
    shown.still()
    whole = _coloured(shown)
    shown.page.click("button[title='show or hide the panel']")
    cut = shown.page.locator(".slider", has_text="section").locator("input")
    cut.evaluate("(element) => { element.value = 1; element.dispatchEvent(new Event('input')); }")
    shown.page.click("button[title='show or hide the panel']")
    shown.page.wait_for_timeout(200)
    assert shown.get("viewer.renderer.clippingPlanes.length") == 1
    assert _coloured(shown) < 0.1 * whole, "of the block nothing is left"
    shown.page.close()


def test_a_slider_lengthens_a_crank_and_a_button_finds_the_equilibrium(browser: Any) -> None:
    s = four_bar()
    name = "B.first.x"
    length = float(s.parameters[name].value)
    with s.view(parameters={name: (0.8 * length, 1.2 * length)}, open_browser=False) as viewer:
        shown = Page(browser, viewer.address)
        assert "1 DOF" in shown.page.locator(".facts").inner_text()
        shown.get(f"viewer.session.set('{name}', {1.1 * length})")
        shown.wait("!viewer.session.busy")
        hand: Any = viewer.answer
        assert hand.solver.model.system.parameters[name].value == pytest.approx(1.1 * length)
        at = shown.get("viewer.world.document.joints.find((joint) => joint.name === 'B').at.at[0]")
        shown.page.click("button:has-text('equilibrium')")
        shown.wait("!viewer.session.busy")
        shown.wait("viewer.session.busy === false")
        assert "in equilibrium" in shown.page.locator(".facts").inner_text()
        assert np.abs(hand.solver.model.constraint_residual(hand.solver.q)).max() < 1e-9
        farthest = (
            "Math.max(...viewer.world.places().map((p) => p.project(viewer.eye.camera)).map((p) => Math.abs(p.y)))"
        )
        assert shown.get(farthest) <= 0.96, "all of it is still on the page"
        assert at == at and shown.errors == []
        shown.page.close()


def test_pictures_of_scenes_have_what_drawings_lack(browser: Any, motion: da.Result, tmp_path: Path) -> None:
    plain = image.imread(motion.export(tmp_path / "plain.png", by="scene"))
    plotted = image.imread(motion.export(tmp_path / "plotted.png", plots=["rocker.angle"]))
    assert plain.shape == plotted.shape == (720, 1280, 3) or plain.shape[:2] == (720, 1280)
    assert (plain[-100:, :, :3] != plotted[-100:, :, :3]).any(), "the plot stands below"
    with pytest.raises(da.ModelError, match="by='scene'"):
        motion.export(tmp_path / "drawn.png", plots=["rocker.angle"], by="drawing")
    with pytest.raises(da.ModelError, match="'auto', 'scene' or 'drawing'"):
        motion.export(tmp_path / "drawn.png", by="hand")


def test_a_key_holds_an_input_while_it_is_pressed(browser: Any) -> None:
    s = da.System("motor", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("y"), s.ground, s.body("arm", da.rod(length=1.0, mass=1.0)))
    s.connect("motor", da.Element("joint", "u - 0.5*ds", inputs={"u": 0.0}, active=True), "A")
    with s.play({"motor.u": (-5.0, 5.0)}, keys={"motor.u": ("a", "d")}, open_browser=False) as viewer:
        shown = Page(browser, viewer.address)
        shown.page.locator("canvas.scene").focus()
        shown.page.keyboard.down("d")
        shown.wait("Math.abs(viewer.world.frames.matrices[1].elements[0] - 1) > 0.02")
        told = shown.page.locator(".slider", has_text="motor.u").locator("output")
        assert float(told.inner_text()) == 5.0, "its slider goes along"
        shown.page.keyboard.up("d")
        assert float(told.inner_text()) == 0.0
        shown.wait("!viewer.session.busy")
        assert shown.errors == []
        shown.page.close()


def test_measurements_are_shown_and_reported(browser: Any, motion: da.Result, tmp_path: Path) -> None:
    """From pin to pin it is as long as the crank."""
    shown = Page(browser, motion.export(tmp_path / "motion.html").as_uri())
    shown.still()
    shown.get("viewer.player.go(0)")
    shown.page.wait_for_timeout(300)
    before = shown.pixels()
    shown.get("viewer.pointing.mode = 'measure'")
    for name in "AB":
        x, y = shown.get(
            f"""() => {{
              const {{ world, eye, pointing }} = viewer;
              const place = world.document.joints.find((joint) => joint.name === "{name}").at;
              const point = world.frames.point(place, world.middle.clone()).project(eye.camera);
              const box = pointing.canvas.getBoundingClientRect();
              return [box.left + ((point.x + 1) / 2) * box.width, box.top + ((1 - point.y) / 2) * box.height];
            }}"""
        )
        shown.page.mouse.click(x, y)
    shown.wait("viewer.pointing.line.visible")
    shown.page.wait_for_timeout(300)
    told = shown.page.locator(".say").inner_text()
    assert float(told.split()[1]) == pytest.approx(1.0, abs=0.02), told
    assert shown.pixels() != before
    shown.page.close()


def test_many_springs_and_balls_move_with_few_triangles_and_rest_with_many(browser: Any, tmp_path: Path) -> None:
    s = da.System("beads")
    for k in range(60):
        ball = s.body(f"ball {k}", da.sphere(0.05, mass=1.0))
        place = s.ground.at(0.4 * (k % 10), 0.4 * (k // 10), 0)
        s.connect(f"guide {k}", da.Prismatic("z"), place, ball)
        s.connect(f"spring {k}", da.SpringDamper(stiffness=30.0 + k, length=0.3), place, ball)
    file = tmp_path / "beads.html"
    da.simulate(s, 2.0).export(file)
    shown = Page(browser, file.as_uri())
    shown.get("viewer.player.toggle(true)")
    shown.wait("viewer.frames > 3 && viewer.player.time > 0")
    moving = shown.get("viewer.renderer.info.render.triangles")
    shown.still()
    shown.wait("viewer.pace.fine")
    resting = shown.get("viewer.renderer.info.render.triangles")
    # a ball, its joint, foot and rail, and seven windings of a wire
    assert moving < 60 * 450 < 60 * 1000 < resting
    sides = shown.get("viewer.world.cast.rigid.map(({ crowd }) => crowd.material.side)")
    assert set(sides) == {0}, "closed shapes are drawn from outside only"
    shown.get("viewer.world.cut(0.5, viewer.eye.towards)")
    assert set(shown.get("viewer.world.cast.rigid.map(({ crowd }) => crowd.material.side)")) == {2}
    assert not shown.errors


def test_a_live_run_that_leaves_the_page_is_shown_smaller(browser: Any) -> None:
    s = da.System("arm")
    arm = s.body("arm", da.box(0.05, 0.05, 1.0, mass=1.0))
    s.connect("A", da.Revolute("y"), s.ground, arm.at(0, 0, -0.5))
    s.initial("A", position=0.4)
    with s.play(open_browser=False) as viewer:
        shown = Page(browser, viewer.address)
        # it begins above its joint, and swings below
        shown.wait("viewer.world.corners().some(({ z }) => z < -0.8)")
        shown.wait("viewer.eye.camera.zoom < 0.9")
        seen = "viewer.world.corners().map((p) => p.clone().project(viewer.eye.camera))"
        assert shown.get(f"Math.max(...{seen}.flatMap(({{ x, y }}) => [Math.abs(x), Math.abs(y)]))") < 1.05
        assert not shown.errors


def test_a_ring_stays_a_ring_where_it_is_drawn_coarsely(browser: Any, motion: da.Result, tmp_path: Path) -> None:
    file = tmp_path / "driven.html"
    motion.export(file)  # about its driven joint there is an arrow, bent to a ring
    shown = Page(browser, file.as_uri())
    volumes = shown.get("""viewer.world.cast.rigid.filter(({ kind }) => kind === "element").map(({ crowd }) =>
        crowd.levels.map((geometry) => {
            const [place, order] = [geometry.getAttribute("position"), geometry.index.array];
            const at = (k) => [place.getX(order[k]), place.getY(order[k]), place.getZ(order[k])];
            let sum = 0;
            for (let k = 0; k < order.length; k += 3) {
                const [a, b, c] = [at(k), at(k + 1), at(k + 2)];
                sum +=
                    a[0] * (b[1] * c[2] - b[2] * c[1]) +
                    a[1] * (b[2] * c[0] - b[0] * c[2]) +
                    a[2] * (b[0] * c[1] - b[1] * c[0]);
            }
            return sum / 6;
        }))""")
    assert any(len(levels) > 1 for levels in volumes)
    for levels in volumes:
        assert max(levels) < 2 * levels[0]
