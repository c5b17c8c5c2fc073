"""Shapes and visuals of bodies as geoms of MJCF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from ...arrays import Array
from ...bodies.body import Body
from ...bodies.visuals import Visual, surface_of
from ...errors import ModelError
from ...rotation import to_quaternion
from ..mesh_paths import relative_path
from ..unique_names import free_name
from ..visuals import AXES_FROM_Z, visuals_of
from ..xml_files import text_of

if TYPE_CHECKING:
    from .writer import Writing

__all__ = ["add_geoms"]


def add_geoms(writing: Writing, element: Element, body: Body) -> None:
    """Add the visuals of a body, without contacts and mass."""
    for look in visuals_of(body):
        shape, turn = _geom(look) if look.kind != "mesh" else _mesh(writing, look, body.name)
        if not shape:
            writing.omissions.append(f"body {body.name!r}: the picture of a {look.kind}")
            continue
        attributes = shape | {
            "pos": text_of(look.position),
            "quat": text_of(to_quaternion(look.rotation @ turn)),
            "contype": "0",
            "conaffinity": "0",
            "group": "1",
        }
        if look.color is not None:
            attributes["rgba"] = text_of(look.color)
        SubElement(element, "geom", attributes)


def _geom(look: Visual) -> tuple[dict[str, str], Array]:
    """Return the geom attributes of a shape, and its axes as columns; nothing for a shape that MJCF lacks."""
    size = look.size
    if look.kind == "sphere":
        return {"type": "sphere", "size": text_of((size["radius"],))}, np.eye(3)
    if look.kind in ("box", "plate"):
        edges = [size[key] for key in ("x", "y", "z" if look.kind == "box" else "thickness")]
        return {"type": "box", "size": text_of([edge / 2 for edge in edges])}, np.eye(3)
    if look.kind in ("cylinder", "capsule"):
        data = {"type": look.kind, "size": text_of((size["radius"], size["length"] / 2))}
        return data, AXES_FROM_Z[int(size["axis"])]
    return {}, np.eye(3)


def _mesh(writing: Writing, look: Visual, body: str) -> tuple[dict[str, str], Array]:
    """Return the geom attributes of a mesh, an asset: its file, or its triangles if MuJoCo cannot read the file."""
    factors = tuple(look.size[axis] for axis in "xyz")
    source = look.path or look.file
    key = (source, id(look.surface) if source is None else 0, factors)
    if key not in writing.meshes:
        # an inertia from the surface has no requirements on a mesh: it may be open, flat or inside out
        found = {
            "name": free_name(Path(source).stem if source else f"{body}.mesh", writing.used_names),
            "inertia": "shell",
        }
        if look.path is not None and _read_by_mujoco(Path(look.path)):
            found |= {"file": relative_path(look.path, writing.folder), "scale": text_of(factors)}
        else:
            try:
                surface = surface_of(look)
            except ModelError:  # the file is missing; the reader has warned
                return {}, np.eye(3)
            if len(surface.corners) < 4:
                return {}, np.eye(3)
            found |= {"vertex": text_of(surface.corners.ravel()), "face": " ".join(map(str, surface.triangles.ravel()))}
        SubElement(writing.part("asset"), "mesh", found)
        writing.meshes[key] = found["name"]
    return {"type": "mesh", "mesh": writing.meshes[key]}, np.eye(3)


def _read_by_mujoco(path: Path) -> bool:
    """Return whether MuJoCo reads a file: .obj, .msh, and binary .stl."""
    kind = path.suffix.lower()
    if kind != ".stl":
        return kind in (".obj", ".msh")
    with path.open("rb") as file:
        header = file.read(84)
    triangles = int.from_bytes(header[80:84], "little")
    return len(header) == 84 and path.stat().st_size == 84 + 50 * triangles
