"""HTML pages of a scene: complete in one file, or served."""

from __future__ import annotations

import base64
import gzip
import html
from functools import cache
from importlib import resources
from pathlib import Path

from ...errors import MissingPackageError

__all__ = ["code", "served_page", "standing_page"]

# its policy: only scripts of the page may run, and no data leave the machine
_TEMPLATE = Path(__file__).with_name("page.html")


def code(name: str) -> str:
    """Return the bundled program ``"page"`` or ``"widget"``.

    Raises
    ------
    MissingPackageError
        If the package was built without Node.js.
    """
    file = resources.files(__package__) / f"{name}.js"
    if not file.is_file():
        page = "a page that npm bundles while dalembert is built"
        raise MissingPackageError("scenes", page, "install Node.js, then dalembert once more")
    return file.read_text(encoding="utf-8")


@cache
def _packed_code() -> str:
    return base64.b64encode(gzip.compress(code("page").encode(), 9, mtime=0)).decode("ascii")


def standing_page(title: str, scene: bytes) -> str:
    """Return a page with program and scene, which plays offline."""
    data = base64.b64encode(gzip.compress(scene, 6, mtime=0)).decode("ascii")
    return _page(title, scene=f'<script type="text/plain" id="scene">{data}</script>\n')


def served_page(title: str, *, live: bool = False) -> str:
    """Return a page that loads the scene from its server."""
    return _page(title, live=' data-live="1"' if live else "")


def _page(title: str, *, live: str = "", scene: str = "") -> str:
    page = _TEMPLATE.read_text(encoding="utf-8")
    fields = {"LIVE": live, "SCENE": scene, "CODE": _packed_code(), "TITLE": html.escape(title)}
    for field, value in fields.items():  # the title, which may contain anything, last
        page = page.replace(f"%{field}%", value)
    return page
