"""Surface files: search paths and triangles, read by trimesh (extra ``meshes``)."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

from ..errors import ModelError
from .triangle_mesh import MAX_TRIANGLES, TriangleMesh

__all__ = ["SUFFIXES", "find_surface", "read_surface", "searched_folders"]

SUFFIXES = (".stl", ".obj", ".ply", ".off", ".dae", ".glb")
MAX_BYTES = 256 * 1024 * 1024  # bytes
CACHE_SIZE = 64  # meshes kept in memory
MAX_PARENT_FOLDERS = 8  # folders above that of a model file in which packages are searched

# variables of the environment that name folders with packages or models
_PACKAGES = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")
_MODELS = ("GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH", "SDF_PATH")

Packages = Mapping[str, str | os.PathLike[str]] | Iterable[str | os.PathLike[str]]


def find_surface(file: str, folder: Path | None, packages: Packages = ()) -> Path | None:
    """Return the path of the surface file that a model file names, or None.

    Parameters
    ----------
    file : str
        ``package://name/path``, ``model://name/path``, ``file:///path``, or a path from the folder of the model file.
    folder : path or None
        Of the model file.
    packages : folders, or dict of str to folder
        Package folders: folders that contain packages, or a folder for each package name. The folders above the model
        file are searched next, then those in ROS_PACKAGE_PATH, AMENT_PREFIX_PATH, GZ_SIM_RESOURCE_PATH,
        GAZEBO_MODEL_PATH and SDF_PATH.
    """
    try:
        return next((place for place in _places(file, folder, packages) if place.is_file()), None)
    except (ValueError, OSError):  # invalid file name
        return None


def searched_folders(file: str, folder: Path | None, packages: Packages = ()) -> list[str]:
    """Return the folders that `find_surface` searches, in order."""
    try:
        return list(dict.fromkeys(str(place.parent) for place in _places(file, folder, packages)))
    except ValueError:
        return []


def _places(file: str, folder: Path | None, packages: Packages) -> Iterable[Path]:
    scheme, _, rest = file.partition("://")
    if not rest:
        yield Path(file) if folder is None else folder / file
    elif scheme == "file":
        yield Path(unquote(urlsplit(file).path))
    elif scheme in ("package", "model"):
        name, _, inner = rest.partition("/")
        if isinstance(packages, Mapping):
            if name in packages:
                yield Path(packages[name]) / inner
        else:
            for place in packages:
                yield from (Path(place) / name / inner, *((Path(place) / inner,) if Path(place).name == name else ()))
        for above in () if folder is None else [folder, *folder.parents][:MAX_PARENT_FOLDERS]:
            yield above / name / inner
            if above.name == name:
                yield above / inner
        for variable in _PACKAGES if scheme == "package" else _MODELS:
            for place in filter(None, os.environ.get(variable, "").split(os.pathsep)):
                yield from (Path(place) / name / inner, Path(place) / "share" / name / inner)


def read_surface(path: str | os.PathLike[str], *, item: str = "mesh") -> TriangleMesh:
    """Return the triangles of a file, all pieces merged.

    Raises
    ------
    ModelError
        If it is missing, too large, of another format, or damaged; or trimesh is not installed.
    """
    name = Path(os.fsdecode(path))
    try:
        state = name.stat()
    except (OSError, ValueError) as error:
        raise ModelError(item, "file", str(name), f"it cannot be read: {_error_text(error)}") from None
    if not name.is_file():
        raise ModelError(item, "file", str(name), "it cannot be read: it is not a file")
    if state.st_size > MAX_BYTES:
        raise ModelError(item, "file", str(name), f"it is too large: at most {MAX_BYTES} bytes")
    if name.suffix.lower() not in SUFFIXES:
        raise ModelError(item, "file", str(name), f"surfaces are read from {', '.join(SUFFIXES)}: convert it")
    return _read(str(name.resolve()), state.st_mtime_ns, state.st_size, item)


@lru_cache(maxsize=CACHE_SIZE)
def _read(path: str, changed: int, size: int, item: str) -> TriangleMesh:
    try:
        import trimesh
    except ImportError:
        raise ModelError(item, "file", path, 'trimesh reads meshes: pip install "dalembert[meshes]"') from None
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ModelError(item, "file", path, f"it cannot be read: {_error_text(error)}") from None
    ending = Path(path).suffix.lower()[1:]
    if ending == "dae" and (b"<!DOCTYPE" in data or b"<!ENTITY" in data):
        raise ModelError(item, "file", path, "it declares a document type or entities, which are refused")
    log = logging.getLogger("trimesh")
    before, log.disabled = log.disabled, True
    try:
        # no resolver: no other file is opened, neither materials nor textures
        scene = trimesh.load_scene(io.BytesIO(data), file_type=ending, resolver=None, skip_materials=True)
        pieces = list(_pieces(scene))
    except ModelError:
        raise
    except Exception as error:  # any parser error on a damaged file
        remedy = f"trimesh cannot read it ({type(error).__name__}: {str(error)[:80]}): export it again"
        raise ModelError(item, "file", path, remedy) from None
    finally:
        log.disabled = before
    if not pieces:
        raise ModelError(item, "file", path, "it has no triangles")
    starts = np.cumsum([0, *(len(corners) for corners, _ in pieces)])
    corners = np.concatenate([corners for corners, _ in pieces])
    faces = np.concatenate([each + start for (_, each), start in zip(pieces, starts, strict=False)])
    return TriangleMesh.of(corners, faces, item=f"{item} {path!r}")


def _pieces(scene: Any) -> Iterable[tuple[Any, Any]]:
    """Yield corners (k, 3) m and triangles (m, 3) of the pieces of a scene, at their poses."""
    nodes = list(scene.graph.nodes_geometry)
    if sum(len(getattr(scene.geometry[scene.graph[n][1]], "faces", ())) for n in nodes) > MAX_TRIANGLES:
        raise ModelError("mesh", "triangles", "too many", f"at most {MAX_TRIANGLES}: simplify it in a CAD program")
    for node in nodes:
        placed, name = scene.graph[node]
        piece = scene.geometry[name]
        faces = np.asarray(getattr(piece, "faces", ()))
        if len(faces):
            corners = np.asarray(piece.vertices, dtype=float) @ placed[:3, :3].T + placed[:3, 3]
            yield corners, faces[:, ::-1] if np.linalg.det(placed[:3, :3]) < 0 else faces


def _error_text(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
