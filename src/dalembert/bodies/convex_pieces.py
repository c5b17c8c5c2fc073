"""Convex pieces of meshes for contact: approximate decomposition of a surface, kept by its contents."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError
from ..files.safe_files import replacing
from .triangle_mesh import TriangleMesh
from .visuals import Visual, surface_of

__all__ = ["convex_pieces", "thickened"]

VERSION = 1  # of the stored pieces
SEED = 0  # of the search for cuts, so that every run finds the same

# pieces by contents and concavity: several bodies show one surface, and a system is compiled more than once
_kept: dict[str, list[TriangleMesh]] = {}


def thickened(look: Visual) -> Visual:
    """Return a mesh with its wall thickness as a closed surface; others as they are."""
    if look.kind != "mesh" or look.thickness is None:
        return look
    surface = surface_of(look)
    kept = surface.__dict__.setdefault("_thickened", {})
    wall = kept.setdefault(look.thickness, surface.thickened(look.thickness))
    return _with_surface(look, wall)


def convex_pieces(look: Visual) -> list[Visual]:
    """Return the convex pieces of a mesh that is to be cut; others as they are.

    Raises
    ------
    ModelError
        If coacd is not installed, or the surface is open and has no thickness.
    """
    look = thickened(look)
    if look.kind != "mesh" or look.pieces is None:
        return [look]
    surface = surface_of(look)
    if surface.error:
        remedy = f"{surface.error}; give the mesh thickness="
        raise ModelError("mesh", "pieces", look.pieces, remedy)
    return [_with_surface(look, piece) for piece in _pieces(surface, look.pieces, look.path)]


def _with_surface(look: Visual, surface: TriangleMesh) -> Visual:
    unscaled = {"x": 1.0, "y": 1.0, "z": 1.0}
    return replace(look, size=unscaled, surface=surface, path=None, file=None, pieces=None, thickness=None)


def _pieces(surface: TriangleMesh, concavity: float, path: str | None) -> list[TriangleMesh]:
    digest = hashlib.sha256(repr((VERSION, concavity)).encode())
    for part in (surface.corners, surface.triangles):
        digest.update(np.ascontiguousarray(part).tobytes())
    key = digest.hexdigest()[:32]
    if key not in _kept:
        file = None if path is None else Path(path).with_suffix(f".{key}.pieces.npz")
        stored = None if file is None else _read(file)
        if stored is None:
            stored = _cut(surface, concavity)
            if file is not None:
                _write(file, stored)
        _kept[key] = stored
    return _kept[key]


def _cut(surface: TriangleMesh, concavity: float) -> list[TriangleMesh]:
    try:
        import coacd
    except ImportError:
        remedy = "needs coacd: pip install 'dalembert[contact]'"
        raise ModelError("mesh", "pieces", concavity, remedy) from None
    coacd.set_log_level("error")
    given = coacd.Mesh(np.asarray(surface.corners, dtype=float), np.asarray(surface.triangles, dtype=np.int32))
    parts = coacd.run_coacd(given, threshold=concavity, seed=SEED)
    return [TriangleMesh(np.array(corners, dtype=float), np.array(faces, dtype=np.int64)) for corners, faces in parts]


def _read(file: Path) -> list[TriangleMesh] | None:
    """Return stored pieces; None if there are none that can be read."""
    try:
        with np.load(file, allow_pickle=False) as found:
            count = int(found["count"])
            return [TriangleMesh(found[f"corners{k}"], found[f"triangles{k}"]) for k in range(count)]
    except (OSError, ValueError, KeyError):
        return None


def _write(file: Path, pieces: list[TriangleMesh]) -> None:
    """Store pieces beside the file of their surface; a folder that cannot be written is left as it is."""
    arrays: dict[str, Any] = {"count": np.array(len(pieces))}
    for k, piece in enumerate(pieces):
        arrays |= {f"corners{k}": piece.corners, f"triangles{k}": piece.triangles}
    if os.access(file.parent, os.W_OK):
        with replacing(file) as part, part.open("wb") as out:
            np.savez_compressed(out, **arrays)
