"""The viewer in a real browser: it loads, plays, is pulled about, and asks nobody outside for anything."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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

    def __init__(self, browser: Any, address: str) -> None:
        self.page = browser.new_page(viewport={"width": 800, "height": 600})
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


def test_a_page_from_disk_plays_and_asks_nobody(browser: Any, motion: da.Result, tmp_path: Path) -> None:
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
        q = viewer.answer.puppet.q  # type: ignore[union-attr]
        assert np.abs(model.constraint_residual(q)).max() < 1e-9
        assert all(url.startswith(f"http://127.0.0.1:{viewer.port}/") for url in shown.asked)
        assert shown.errors == []
        shown.page.close()


def test_a_live_run_moves_answers_its_slider_and_is_pulled(browser: Any) -> None:
    s = da.System("motor", gravity=(0, 0, 0))
    arm = s.body("arm", da.rod(length=1.0, mass=1.0))
    s.connect("A", da.Revolute("y"), s.ground, arm)
    s.connect("motor", da.Element("hinge", "u - 0.5*ds", inputs={"u": 0.0}, active=True), "A")
    with s.play({"motor.u": (-5.0, 5.0)}, open_browser=False) as viewer:
        shown = Page(browser, viewer.address)
        rest = shown.get("viewer.world.frames.matrices[1].elements")
        shown.get("viewer.session.set('motor.u', 3)")
        shown.wait("Math.abs(viewer.world.frames.matrices[1].elements[0] - 1) > 0.05")
        assert rest[0] == pytest.approx(1.0)
        assert shown.errors == []
        shown.page.close()
    assert viewer.closed.is_set()
