"""The viewer: frames a second of many bodies in a real browser, pages as files, steps of a mechanism that is dragged.

    python bench/viewer.py [--bodies 500] [--seconds 5] [--size 1280x720] [--no-browser] [--json out.json]

The browser is headless Chromium whose WebGL is drawn by the processor, driven by Playwright. Beside frames a second
stands the processor time of all of the browser for one frame: on a machine that others disturb it tells more.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da
from dalembert.library import chain
from dalembert.library.mechanisms import four_bar
from dalembert.library.walking_mechanisms import jansen
from dalembert.view.web.drag_solver import DragSolver
from dalembert.view.web.page import standing_page
from dalembert.view.web.scene_bytes import pack
from dalembert.view.web.scene_document import SceneBuilder

_FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking"]
_FLAGS += ["--disable-component-update", "--disable-sync", "--no-first-run", "--disable-quic"]
# without a graphics processor Chromium puts pages together by itself; with the flag of ANGLE alone, by software GL too
_COMPOSING = {"composed by the processor": ["--disable-gpu-compositing"], "composed by software GL": []}
_MARK = "--user-agent=viewer-bench"


def field(count: int) -> da.System:
    """Return boxes, cylinders, balls and rods on joints of several kinds, some on springs with dampers."""
    s = da.System(f"field of {count}")
    shapes = [lambda: da.box(0.3, 0.2, 0.2, mass=1.0), lambda: da.cylinder(0.3, 0.1, mass=1.0)]
    shapes += [lambda: da.sphere(0.12, mass=1.0), lambda: da.rod(length=0.4, mass=1.0)]
    joints = [da.Revolute("y"), da.Revolute("x"), da.Spherical(), da.Prismatic("z")]
    for k in range(count):
        x, y = 0.6 * (k % 25), 0.6 * (k // 25)
        body = s.body(f"b{k}", shapes[k % 4]())
        s.connect(f"h{k}", joints[k % 4], s.ground.at(x, y, 0), body)
        if k % 5 == 0:
            s.connect(f"k{k}", da.SpringDamper(stiffness=50.0, damping=1.0, length=0.3), body, s.ground.at(x, y, 0.5))
    return s


def page(system: da.System, swing: float) -> str:
    """Return a page on which every degree of freedom of a system swings, rad or m."""
    model = system.compile()
    times = np.linspace(0.0, 2.0, 61)
    v = swing * np.random.default_rng(1).normal(size=model.nv)
    q0 = model.initial_state().q
    q = np.array([model.integrate(q0, np.sin(np.pi * t) * v) for t in times])
    stage = SceneBuilder(model, q)
    scene = stage.description() | {"motion": stage.motion(times, q), "speed": 1.0, "play": True}
    return standing_page(system.name, pack(scene))


def processor_time() -> float:
    """Return the processor time of all of the browser's processes so far, s."""
    total = 0.0
    for each in Path("/proc").iterdir():
        try:
            if each.name.isdigit() and _MARK.split("=")[1] in (each / "cmdline").read_text():
                fields = (each / "stat").read_text().rsplit(")", 1)[1].split()
                total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:  # it has ended
            continue
    return total


def frames(pages: dict[str, str], seconds: float, size: tuple[int, int]) -> dict[str, dict[str, float]]:
    """Return frames a second, processor time of a frame (ms) and triangles, of pages by name."""
    from playwright.sync_api import sync_playwright

    found = {}
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        for how, flags in _COMPOSING.items():
            args = [*_FLAGS, *flags, _MARK]
            browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=args)
            for name, text in pages.items():
                file = Path(folder) / "page.html"
                file.write_text(text, encoding="utf-8")
                shown = browser.new_page(viewport={"width": size[0], "height": size[1]})
                shown.goto(file.as_uri())
                time.sleep(3.0)
                found[f"{name}, {how}"] = _watched(shown, seconds)
                shown.close()
            browser.close()
    return found


def _watched(shown: Any, seconds: float) -> dict[str, float]:
    first, began, used = shown.evaluate("viewer.frames"), time.monotonic(), processor_time()
    time.sleep(seconds)
    count = max(shown.evaluate("viewer.frames") - first, 1)
    lasted, used = time.monotonic() - began, processor_time() - used
    triangles, ratio = shown.evaluate("[viewer.renderer.info.render.triangles, viewer.pace.ratio]")
    return {"fps": count / lasted, "processor ms": 1e3 * used / count, "triangles": triangles, "pixel ratio": ratio}


def files(rounds: int = 5) -> dict[str, float]:
    """Return size (MB) and time (s, wall and processor) of the page of a four-bar over ten seconds."""
    s = four_bar()
    s.drive("A", speed=3.0)
    result = da.simulate(s, 10.0)
    wall, used = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "motion.html"
        for _ in range(rounds):
            began, before = time.perf_counter(), time.process_time()
            result.export(path)
            wall.append(time.perf_counter() - began)
            used.append(time.process_time() - before)
        return {"MB": path.stat().st_size / 1e6, "s": min(wall), "processor s": min(used)}


def drags(count: int = 60) -> dict[str, float]:
    """Return the time of a step (ms, median and longest) of a walker of six legs that is dragged by a foot."""
    puppet = DragSolver(jansen(6).compile())
    model = puppet.model
    body = model.system.bodies[model.body_names[-1]]
    point = body.at(*body.com)
    joint = model.coordinate_names[0]
    path = []
    for angle in np.linspace(0.0, 2 * np.pi, count):  # where the crank would bring the point, and somewhat beside
        puppet.set(joint, puppet.start[0] + angle)
        path.append(model.pose(point, puppet.q).position)
    puppet.reset()
    took = []
    for target in np.array(path) + 0.02 * model.length:
        began = time.process_time()
        puppet.pull(body.name, body.com, target)
        took.append(1e3 * (time.process_time() - began))
    moved = float(np.ptp(path, axis=0).max())
    open_by = float(np.abs(model.constraint_residual(puppet.q)).max())
    found = {
        "bodies": model.nb,
        "closing rows": model.nc,
        "moved m": moved,
        "median ms": float(np.median(took)),
        "longest ms": max(took),
    }
    return found | {"loops open by": open_by}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bodies", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--size", default="1280x720")
    parser.add_argument("--no-browser", action="store_true")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    found: dict[str, Any] = {"page of a four-bar, 10 s": files(), "step of a dragged walker": drags()}
    if not chosen.no_browser:
        width, height = (int(each) for each in chosen.size.split("x"))
        pages = {"chain": page(chain(chosen.bodies), 0.1), "field": page(field(chosen.bodies), 1.0)}
        found |= frames(pages, chosen.seconds, (width, height))
    found["load of the machine"] = {"mean": os.getloadavg()[0]}
    for name, numbers in found.items():
        print(f"{name:<40}", "  ".join(f"{what} {number:.4g}" for what, number in numbers.items()))
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
