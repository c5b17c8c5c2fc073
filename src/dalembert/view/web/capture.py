"""Pictures and videos of scenes, rendered by a headless browser."""

from __future__ import annotations

import importlib.util
import io
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...errors import MissingPackageError
from ..drawing.animation_files import write_gif, write_mp4

__all__ = ["can_film", "write_scene"]

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-gpu-compositing"]
_FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
_SIZE = 1280, 720  # pixels


def _browser() -> str | None:
    """Return the path of a Chromium browser, or None."""
    return next((path for name in _BROWSERS if (path := shutil.which(name))), None)


def can_film() -> bool:
    """Return whether Playwright and Chromium are installed."""
    return _browser() is not None and importlib.util.find_spec("playwright") is not None


class _SceneFilm:
    """Frames of a page, for `animation_files`.

    Attributes
    ----------
    times : (n,) s
    """

    def __init__(self, shown: Any, times: Array) -> None:
        self._shown, self.times = shown, times

    def prepare(self) -> None:
        """Hide everything on the page but the scene and its plots."""
        self._shown.evaluate("viewer.bare()")

    def picture(self, k: int) -> bytes:
        """Return frame k as a PNG."""
        self._shown.evaluate(f"viewer.shoot({float(self.times[k])!r})")
        return self._shown.screenshot()

    def pixels(self, k: int) -> NDArray[np.uint32]:
        """Return frame k, (height, width): red in the lowest byte, then green and blue."""
        from PIL import Image

        with Image.open(io.BytesIO(self.picture(k))) as image:
            return np.ascontiguousarray(np.asarray(image.convert("RGBA"))).view("<u4")[..., 0]


def write_scene(name: Path, page: str, times: Array, fps: float) -> None:
    """Write a page at times (n,) s as ``.gif`` or ``.mp4``, or at the last of them as ``.png``.

    Raises
    ------
    MissingPackageError
        Without Playwright or Chromium, or for ``.mp4`` without ffmpeg.
    """
    if not can_film():
        remedy = "pip install playwright, and Debian's chromium; or leave out what drawings do not show (by='drawing')"
        raise MissingPackageError(f"pictures of scenes ({name.suffix})", "Playwright with Chromium", remedy)

    def write(shown: Any) -> None:
        film = _SceneFilm(shown, times)
        if name.suffix.lower() == ".png":
            film.prepare()
            name.write_bytes(film.picture(len(times) - 1))
        else:
            {".gif": write_gif, ".mp4": write_mp4}[name.suffix.lower()](name, film, fps)

    _in_browser(page, write)


def _in_browser(page: str, act: Callable[[Any], None]) -> None:
    """Open a page and act on it in a separate thread, because Playwright refuses the event loop of notebooks."""
    failed: list[BaseException] = []

    def work() -> None:
        from playwright.sync_api import sync_playwright

        try:
            with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
                file = Path(folder) / "scene.html"
                file.write_text(page, encoding="utf-8")
                browser = play.chromium.launch(executable_path=_browser(), args=_FLAGS)
                shown = browser.new_page(viewport={"width": _SIZE[0], "height": _SIZE[1]})
                shown.goto(file.as_uri())
                for _ in range(1200):  # the policy of the page forbids evaluated text: poll from here
                    if shown.evaluate("Boolean(window.viewer && window.viewer.frames)"):
                        break
                    shown.wait_for_timeout(50)
                act(shown)
                browser.close()
        except BaseException as error:  # raised again in the waiting thread
            failed.append(error)

    thread = threading.Thread(target=work, name="filming")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
