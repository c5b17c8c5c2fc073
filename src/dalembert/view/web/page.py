"""HTML pages of a scene: complete in one file, or served."""

from __future__ import annotations

import base64
import gzip
import html
from functools import cache
from importlib import resources

from ...errors import MissingPackageError

__all__ = ["code", "served_page", "standing_page"]

# only scripts of the page may run, and no data leave the machine
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self'"
)

_HEAD = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>html, body, #viewer {{ margin: 0; height: 100%; }}</style>
</head>
<body>
<div id="viewer"{live}></div>
"""

_START = """\
<script>
(async () => {
  const bytes = Uint8Array.from(atob(document.getElementById("code").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.body.append(script);
})().catch((error) => {
  document.getElementById("viewer").textContent = "This browser cannot show the page: " + error;
});
</script>
</body>
</html>
"""


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
    head = _HEAD.format(policy=_POLICY, title=html.escape(title), live="")
    parts = f'<script type="text/plain" id="scene">{data}</script>\n'
    return head + parts + f'<script type="text/plain" id="code">{_packed_code()}</script>\n' + _START


def served_page(title: str, *, live: bool = False) -> str:
    """Return a page that loads the scene from its server."""
    head = _HEAD.format(policy=_POLICY, title=html.escape(title), live=' data-live="1"' if live else "")
    return head + f'<script type="text/plain" id="code">{_packed_code()}</script>\n' + _START
