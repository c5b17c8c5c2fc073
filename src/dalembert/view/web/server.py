"""HTTP server for one viewer, on this machine only."""

from __future__ import annotations

import atexit
import hmac
import json
import secrets
import struct
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ...errors import ModelError
from .page import served_page
from .scene_bytes import answered, pack

__all__ = ["Viewer"]

_HOST = "127.0.0.1"
MAX_MESSAGE_SIZE = 65536  # bytes
REQUEST_TIMEOUT = 30.0  # s

Answer = Callable[[dict[str, Any]], dict[str, Any]]


class Viewer:
    """Scene served to a browser on this machine until it is closed.

    Parameters
    ----------
    title : str
    scene : bytes
    answer : callable
        From a question of the page to an answer, both plain descriptions.
    frames : callable
        Yields further descriptions as they come, for each page that listens.
    port : int
        0 takes any that is free.

    Attributes
    ----------
    address : str
        With a token, without which nothing is answered.

    Raises
    ------
    ModelError
        If the port is taken.
    """

    def __init__(
        self,
        title: str,
        scene: bytes,
        *,
        answer: Answer | None = None,
        frames: Callable[[], Iterator[dict[str, Any]]] | None = None,
        port: int = 0,
    ) -> None:
        self.scene = scene
        self.page = served_page(title, live=frames is not None).encode()
        self.answer, self.frames = answer, frames
        self.token = secrets.token_urlsafe(18)
        self.lock = threading.Lock()
        viewer = self

        class Handler(_Handler):
            shown = viewer

        try:
            self._server = ThreadingHTTPServer((_HOST, port), Handler)
        except (OSError, OverflowError) as error:
            raise ModelError(
                "view", "port", port, f"it cannot be had ({error}): leave it out to take a free one"
            ) from None
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self.closed = threading.Event()
        self._ends: list[Callable[[], None]] = []
        self._thread = threading.Thread(target=self._server.serve_forever, name="viewer", daemon=True)
        self._thread.start()
        _open.add(self)

    @property
    def address(self) -> str:
        """URL of the page."""
        return f"http://{_HOST}:{self.port}/?token={self.token}"

    def at_close(self, end: Callable[[], None]) -> None:
        """Call a function when the viewer is closed."""
        self._ends.append(end)

    def close(self) -> None:
        """Stop the server and its threads."""
        if not self.closed.is_set():
            self.closed.set()
            for end in self._ends:
                end()
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            self.answer = self.frames = None
            self._ends.clear()
            _open.discard(self)

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<Viewer, closed>" if self.closed.is_set() else f"<Viewer at {self.address}>"


_open: set[Viewer] = set()


@atexit.register
def _close_all() -> None:
    """Release models before the interpreter shuts down."""
    for viewer in tuple(_open):
        viewer.close()


class _Handler(BaseHTTPRequestHandler):
    """Handler of requests: the page, its scene, its messages, and frames of a run."""

    shown: Viewer
    timeout = REQUEST_TIMEOUT
    server_version = "dalembert"
    sys_version = ""

    def _allowed(self) -> bool:
        """Return whether a request comes from the page: by its token and the host name of this machine."""
        host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
        token = parse_qs(urlsplit(self.path).query).get("token", [""])[0]
        if host in (_HOST, "localhost") and hmac.compare_digest(token.encode(), self.shown.token.encode()):
            return True
        self._send(403, "text/plain", b"This page was opened without its token: use the address that Python printed.")
        return False

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/favicon.ico":
            self._send(204, "image/x-icon", b"")
        elif not self._allowed():
            return
        elif path == "/":
            self._send(200, "text/html; charset=utf-8", self.shown.page)
        elif path == "/scene":
            self._send(200, "application/octet-stream", self.shown.scene)
        elif path == "/stream" and self.shown.frames is not None:
            self._stream(self.shown.frames())
        else:
            self._send(404, "text/plain", b"There is nothing here.")

    def do_POST(self) -> None:
        if not self._allowed():
            return
        try:
            length = int(self.headers.get("Content-Length") or -1)
            question = json.loads(self.rfile.read(length)) if 0 <= length <= MAX_MESSAGE_SIZE else None
        except (ValueError, RecursionError):
            question = None
        except OSError:  # incomplete, or too late
            self.close_connection = True
            return
        if self.shown.answer is None or not isinstance(question, dict):
            self._send(400, "text/plain", b"This is no question.")
            return
        with self.shown.lock:
            answer = answered(self.shown.answer, question)
        self._send(200, "application/octet-stream", answer)

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, frames: Iterator[dict[str, Any]]) -> None:
        self.connection.settimeout(None)  # a page in the background may read late
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        try:
            for frame in frames:
                block = pack(frame)
                self.wfile.write(struct.pack("<I", len(block)) + block)
                if self.shown.closed.is_set():
                    return
        except OSError:  # the page was closed
            return

    def log_message(self, *_: Any) -> None:
        """Suppress the log of requests."""
