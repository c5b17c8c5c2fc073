"""Geoms of MJCF as visuals of bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...bodies.colors import Color
from ...bodies.triangle_mesh import TriangleMesh
from ...bodies.visuals import Visual
from ...rotation import quaternion
from .contacts import contact_rule

if TYPE_CHECKING:
    from .reader import Reading

__all__ = ["add_visuals", "surface_as_filed"]


def add_visuals(reading: Reading, k: int) -> None:
    """Add the geoms of body number `k` to its visuals; unsupported ones are noted."""
    model = reading.model
    start, count = int(model.body_geomadr[k]), int(model.body_geomnum[k])
    geoms = range(start, start + count)
    touching = [bool(model.geom_contype[g] or model.geom_conaffinity[g]) for g in geoms]
    body = reading.bodies[k]
    for g, touches in zip(geoms, touching, strict=True):
        kind = reading.kind("mjtGeom", model.geom_type[g])
        if kind in ("plane", "hfield") and k:
            visual = None  # of ground only
        else:
            visual = _visual(reading, g, kind, touches and (not all(touching) or not k))
        if visual is None:
            reading.system.notes.append(
                f"geom {reading.name('geom', g) or g} of body {body.name!r}: a {kind} is not drawn"
            )
        else:
            body.visuals.append(visual)


def _visual(reading: Reading, g: int, kind: str, collision: bool) -> Visual | None:
    model = reading.model
    x, y, z = (float(number) for number in model.geom_size[g])
    sizes: dict[str, dict[str, float]] = {
        "sphere": {"radius": x},
        "box": {"x": 2 * x, "y": 2 * y, "z": 2 * z},
        "capsule": {"radius": x, "length": 2 * y, "axis": 2.0},
        "cylinder": {"radius": x, "length": 2 * y, "axis": 2.0},
        "plane": {},
    }
    position, rotation = np.array(model.geom_pos[g], dtype=float), quaternion(*model.geom_quat[g])
    file, path, surface = None, None, None
    if kind == "mesh":
        mesh = int(model.geom_dataid[g])
        file, surface = _file(model, mesh), reading.surface(mesh)
        path = reading.compiled.meshes.get(reading.name("mesh", mesh))
        sizes["mesh"] = dict(zip("xyz", map(float, model.mesh_scale[mesh]), strict=True))
        # MuJoCo moves a mesh into its principal axes; the file has the original axes
        rotation = rotation @ quaternion(*model.mesh_quat[mesh]).T
        position = position - rotation @ np.array(model.mesh_pos[mesh], dtype=float)
    heights = None
    if kind == "hfield":
        field = int(model.geom_dataid[g])
        sizes[kind], heights = _height_field(model, field)
    if kind not in sizes:
        return None
    return Visual(
        kind="height field" if kind == "hfield" else kind,
        size=sizes[kind],
        position=position,
        rotation=rotation,
        file=file,
        collision=collision,
        color=_color(model, g),
        name=reading.name("geom", g) or None,
        surface=surface,
        path=path,
        contact=contact_rule(reading, g),
        heights=heights,
    )


def _height_field(model: Any, field: int) -> tuple[dict[str, float], Array]:
    """Return the size and the heights (nx, ny) m of a height field."""
    rows, columns = int(model.hfield_nrow[field]), int(model.hfield_ncol[field])
    start = int(model.hfield_adr[field])
    parts = np.array(model.hfield_data[start : start + rows * columns], dtype=float).reshape(rows, columns)
    x, y, height, _ = (float(number) for number in model.hfield_size[field])
    return {"x": 2 * x, "y": 2 * y}, height * parts.T  # rows of the file are along y


def _color(model: Any, g: int) -> Color | None:
    """Return the colour of a geom or of its material; None if the file gives none."""
    material = int(model.geom_matid[g])
    plain = np.array_equal(model.geom_rgba[g], np.array([0.5, 0.5, 0.5, 1.0], dtype=np.float32))
    if plain and material < 0:
        return None
    rgba = model.mat_rgba[material] if plain else model.geom_rgba[g]
    # stored in single precision: with the digits of the file
    red, green, blue, opacity = (min(max(float(str(c)), 0.0), 1.0) for c in rgba)
    return red, green, blue, opacity


def surface_as_filed(model: Any, mesh: int) -> TriangleMesh:
    """Return the triangles of a mesh as in its file: not scaled, and not moved into its principal axes."""
    start, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    first, faces = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
    turn = quaternion(*model.mesh_quat[mesh])
    corners = np.array(model.mesh_vert[start : start + count], dtype=float) @ turn.T + model.mesh_pos[mesh]
    factors = np.array(model.mesh_scale[mesh], dtype=float)
    triangles = np.array(model.mesh_face[first : first + faces], dtype=np.int64)
    whole = TriangleMesh.of(corners, triangles, item=f"mesh {mesh}")
    return whole.scaled(1 / np.where(factors == 0.0, 1.0, factors))  # type: ignore[arg-type]


def _file(model: Any, mesh: int) -> str | None:
    """Return the file of a mesh; None for a mesh defined in the document."""
    at = int(model.mesh_pathadr[mesh])
    if at < 0:
        return None
    return bytes(model.paths)[at:].split(b"\0", 1)[0].decode(errors="replace") or None
