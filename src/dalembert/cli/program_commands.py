"""Commands about the program itself: demo, doctor."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import shutil
import sys
import time
from pathlib import Path

from .. import __version__
from .._core import isa
from ..bodies.shapes import rod
from ..connections.joints import Revolute
from ..system import System
from .command_result import CommandResult
from .demo import run

__all__ = ["demo", "doctor"]

_EXTRAS = {  # purpose of each extra
    "scipy": "matrices", "matplotlib": "pictures", "pillow": "animations as .gif", "pandas": "tables",
    "xarray": "results as .nc", "pyyaml": "model files", "pyarrow": "results as .parquet",
    "zarr": "results as .zarr", "anywidget": "views in notebooks",
    "sympy": "equations in symbols", "scikit-fem": "solid finite elements", "meshio": "meshes of finite elements",
    "scikit-sundae": "cvode and ida", "control": "control systems", "mujoco": "MJCF files", "trimesh": "meshes",
    "pint": "quantities with units",
}  # fmt: skip
_BROWSERS = ("xdg-open", "chromium", "chromium-browser", "google-chrome", "firefox", "open")


def demo(chosen: argparse.Namespace) -> CommandResult:
    """Simulate a four-bar and a spatial loop; write a table, pictures and pages with a player."""
    began = time.perf_counter()
    folder = Path(chosen.folder)
    run(folder, words=not (chosen.quiet or chosen.json))
    files = sorted(path.name for path in folder.iterdir())
    page = folder / "four_bar.html"
    seconds = time.perf_counter() - began
    text = f"Done in {seconds:.1f} s."
    if page.exists():
        text += f" Open {page.resolve().as_uri()} in a browser to watch it."
        if chosen.open:
            import webbrowser

            webbrowser.open(page.resolve().as_uri())
    return CommandResult(text, {"folder": str(folder), "written": files, "seconds": seconds})


def doctor(chosen: argparse.Namespace) -> CommandResult:
    """List installed packages and test the installation."""
    del chosen
    versions = {name: _version(name) for name in ("numpy", *_EXTRAS)}
    page = Path(__file__).parents[1] / "view" / "web" / "page.js"
    data = {
        "dalembert": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "instructions": isa,
        "processors": os.cpu_count() or 1,
        "packages": versions,
        "viewer": page.is_file(),
        "browser": next((found for name in _BROWSERS if (found := shutil.which(name))), None),
        "display": sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY"))),
        "compiler": next((found for name in ("c++", "g++", "clang++", "cl") if (found := shutil.which(name))), None),
        "ffmpeg": shutil.which("ffmpeg"),
        "works": _works(),
    }
    lines = [f"{name:<13} {_format_value(value)}" for name, value in data.items() if name != "packages"]
    lines += ["", *(f"{name:<22} {version or '-':<12} {_EXTRAS.get(name, '')}" for name, version in versions.items())]
    if not data["viewer"]:
        lines.append(
            "\nThe viewer's page is missing: dalembert was built without Node.js; view() and export() need it."
        )
    return CommandResult("\n".join(lines), data, 0 if data["works"] else 1)


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _works() -> bool:
    """Return whether a pendulum starts with the acceleration 3 g / 2 l."""
    s = System("pendulum")
    s.connect("A", Revolute("y"), s.ground, s.body("bob", rod(length=1.0, mass=2.0)))
    return abs(float(s.compile().forward_dynamics([0.0], [0.0], [0.0])[0]) - 14.715) < 1e-9
