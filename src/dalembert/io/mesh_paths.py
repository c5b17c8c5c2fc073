"""Search for mesh files named in a model file; they are opened when they are drawn."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from ..bodies.mesh_files import Packages, find_surface, searched_folders
from ..errors import OmissionWarning, listed, warn_user
from ..system import System

__all__ = ["Packages", "relative_path", "resolve_mesh_paths"]

MAX_LISTED = 4  # missing files named in a message


def resolve_mesh_paths(system: System, folder: Path | None, packages: Packages) -> None:
    """Store with every mesh of a system the path of its file.

    Missing files are listed in the system's notes and in an `OmissionWarning`, with the searched folders and the
    remedy.
    """
    paths: dict[str, Path | None] = {}
    for body in system.bodies.values():
        for k, look in enumerate(body.visuals):
            if look.kind == "mesh" and look.file is not None and look.surface is None:
                if look.file not in paths:
                    paths[look.file] = find_surface(look.file, folder, packages)
                found = paths[look.file]
                body.visuals[k] = replace(look, path=None if found is None else str(found))
    missing = [file for file, found in paths.items() if found is None]
    if missing:
        note = (
            f"{len(missing)} of {len(paths)} mesh files were not found, their bodies are drawn as lines: "
            f"{listed(missing, MAX_LISTED, str)}; packages= gives the folders of packages"
        )
        system.notes.append(note)
        looked = searched_folders(missing[0], folder, packages)
        places = listed(looked, MAX_LISTED, str)
        where = f"the first was searched in {places}" if looked else "there is no folder to search"
        remedy = "put the files there, or give the folder of the packages: da.load(..., packages=FOLDER)"
        warn_user(OmissionWarning(f"{note}\n  {where}\n  {remedy}", tuple(missing)))


def relative_path(file: str, folder: Path | None) -> str:
    """Return the path of a file relative to a folder, with forward slashes; without a folder, the path as given."""
    if folder is None:
        return file
    try:
        return Path(os.path.relpath(file, folder)).as_posix()
    except ValueError:  # on another drive
        return str(Path(file).absolute())
