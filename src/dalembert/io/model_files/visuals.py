"""Visuals of bodies in model files, and missing meshes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...bodies.colors import as_color
from ...bodies.mesh_files import find_surface
from ...bodies.triangle_mesh import TriangleMesh
from ...bodies.visuals import Visual
from .contact_data import rule_of
from .text import LocatedMapping, SourcePosition

__all__ = ["is_missing_mesh", "visual_of"]


def is_missing_mesh(given: LocatedMapping, where: SourcePosition, notes: list[str]) -> bool:
    """Return whether the shape of a body is a missing mesh that determines no number; note it."""
    shape = given.get("shape")
    if not (
        isinstance(shape, LocatedMapping) and shape.get("type") == "mesh" and {"mass", "com", "inertia"} <= set(given)
    ):
        return False
    path = shape.get("surface")
    if not isinstance(path, str) or find_surface(path, Path(where.file).parent) is not None:
        return False
    notes.append(f"{shape.positions['surface']}: mesh {path!r} was not found; its body is drawn as a line")
    return True


def visual_of(data: Mapping[str, Any], where: SourcePosition, notes: list[str]) -> Visual:
    """Return the visual that a mapping describes; paths are relative to the model file, a missing file is noted."""
    given = dict(data)
    if given.get("kind") == "mesh" and "surface" in given:
        given["surface"] = TriangleMesh.of(*given["surface"], item="mesh")
    elif given.get("kind") == "mesh":
        path = given.get("path", given.get("file"))
        found = None if path is None else find_surface(str(path), Path(where.file).parent)
        given |= {"file": given.get("file", found and str(found)), "path": found and str(found)}
        if found is None:
            notes.append(f"{where}: mesh {path!r} was not found; its body is drawn as a line")
    arrays = {
        key: np.array(given[key], dtype=float)
        for key in ("position", "rotation", "outline", "heights")
        if given.get(key) is not None
    }
    if given.get("contact") is not None:
        given["contact"] = rule_of(given["contact"])
    color = {"color": as_color(given["color"], item="visual")} if given.get("color") is not None else {}
    return Visual(**{**given, **arrays, **color})
