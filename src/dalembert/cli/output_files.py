"""Output files of a motion: checked before the computation, written after it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from ..errors import ModelError
from ..result import Result

__all__ = ["check_output_paths", "write_files"]

_KINDS = {
    "out": (".nc", ".csv", ".parquet", ".zarr", ".xlsx", ".mat"),
    "export": (".html", ".glb", ".gif", ".mp4", ".png"),
    "animate": (".gif", ".mp4", ".html"),
    "energy": (),
    "picture": (),
}


def check_output_paths(chosen: argparse.Namespace) -> None:
    """Refuse names of files that could not be written, before anything is computed.

    Raises
    ------
    ModelError
        If the suffix of a name is not supported, or its folder does not exist.
    """
    for option, kinds in _KINDS.items():
        name = getattr(chosen, option, None)
        if name is None or (option == "picture" and chosen.plot is None):
            continue
        path = Path(name)
        if kinds and path.suffix.lower() not in kinds:
            raise ModelError(f"--{option}", "path", name, f"use a name that ends in {' or '.join(kinds)}")
        if not path.absolute().parent.is_dir():
            raise ModelError(f"--{option}", "path", name, f"there is no folder {str(path.parent)!r}")
        if path.is_dir() and path.suffix.lower() != ".zarr":
            raise ModelError(f"--{option}", "path", name, "it is a folder: give the name of a file")


def write_files(result: Result, chosen: argparse.Namespace, names: list[str]) -> list[str]:
    """Write the requested files; return their names."""
    look = {"trace": chosen.trace or [], "speed": chosen.speed}
    files: list[tuple[str | None, Callable[[str], object]]] = [
        (chosen.out, lambda path: _save(result, path, names)),
        (None if chosen.plot is None else chosen.picture, lambda path: result.plot(*chosen.plot, path=path)),
        (chosen.energy, lambda path: result.plot_energy(path=path)),
        (chosen.export, lambda path: result.export(path, plots=chosen.plot or [], **look)),
        (chosen.animate, lambda path: result.animate(path, fps=chosen.fps, **look)),
    ]
    for path, write in files:
        if path is not None:
            write(path)
    return [path for path, _ in files if path is not None]


def _save(result: Result, path: str, names: list[str]) -> None:
    """Write a result, or a table of its coordinates or of selected outputs for Excel or MATLAB."""
    table = {".xlsx": result.to_excel, ".mat": result.to_mat}.get(Path(path).suffix.lower())
    if table is None:
        result.save(path, names)
    else:
        table(path, names or None)
