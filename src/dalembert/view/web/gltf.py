"""Scenes as glTF 2.0 in one binary file: bodies as nodes that move, modes of flexible bodies as morph targets.

Khronos Group, glTF 2.0 specification, sections 3.6 (binary data), 3.7 (geometry), 3.11 (animations), 4.4 (GLB).
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

from ...arrays import Array
from ..scene import solids, symbols

__all__ = ["gltf_of"]


_FLOAT, _UNSIGNED = 5126, 5125
_VERTICES, _INDICES = 34962, 34963
_TYPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}
_WIDTHS = {"spring": 1.5, "both": 1.5, "muscle": 1.0, "cylinder": 1.0, "damper": 0.8, "bar": 0.45, "cable": 0.22}
SPRING_LENGTH = 14.0  # in radii of the spring
LINE_WIDTH = 0.13  # of other line symbols, in radii of joints


class _Writer:
    """Collection of glTF buffers, accessors and nodes."""

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        self.size = 0
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []
        self.meshes: list[dict[str, Any]] = []
        self.materials: list[dict[str, Any]] = []
        self.nodes: list[dict[str, Any]] = []
        self.samplers: list[dict[str, Any]] = []
        self.channels: list[dict[str, Any]] = []
        self._colors: dict[tuple[str, float], int] = {}

    def accessor(self, values: Any, *, target: int | None = None, bounds: bool = False) -> int:
        """Return the number of an accessor to numbers (n,), (n, 3) or (n, 4)."""
        array = np.asarray(values)
        whole = array.dtype.kind in "iu"
        data = np.ascontiguousarray(array, dtype="<u4" if whole else "<f4")
        view = {"buffer": 0, "byteOffset": self.size, "byteLength": data.nbytes}
        self.views.append(view | ({"target": target} if target else {}))
        self.blocks.append(data.tobytes())
        self.size += data.nbytes
        found: dict[str, Any] = {
            "bufferView": len(self.views) - 1,
            "componentType": _UNSIGNED if whole else _FLOAT,
            "count": len(data),
            "type": _TYPES[1 if data.ndim == 1 else data.shape[1]],
        }
        if bounds:
            rows = data.reshape(len(data), -1)
            found |= {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
        self.accessors.append(found)
        return len(self.accessors) - 1

    def material(self, color: str, opacity: float) -> int:
        """Return the number of a material; glTF counts light linearly."""
        key = (color, opacity)
        if key not in self._colors:
            red, green, blue = (_linear(int(color[k : k + 2], 16) / 255) for k in (1, 3, 5))
            surface = {"baseColorFactor": [red, green, blue, opacity], "metallicFactor": 0.1, "roughnessFactor": 0.65}
            found: dict[str, Any] = {"pbrMetallicRoughness": surface, "doubleSided": True}
            self.materials.append(found | ({"alphaMode": "BLEND"} if opacity < 1 else {}))
            self._colors[key] = len(self.materials) - 1
        return self._colors[key]

    def mesh(self, corners: Array, triangles: Any, color: str, opacity: float, modes: Any = ()) -> int:
        """Return the number of a mesh with flat faces; `modes` (m, k, 3) are displacements of its corners."""
        order = np.asarray(triangles, dtype=np.int64).ravel()
        points = np.asarray(corners, dtype=float)[order]
        sides = points.reshape(-1, 3, 3)
        normals = np.cross(sides[:, 1] - sides[:, 0], sides[:, 2] - sides[:, 0])
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        normals = np.where(lengths > 0, normals / np.where(lengths > 0, lengths, 1.0), [0.0, 0.0, 1.0])
        primitive: dict[str, Any] = {
            "attributes": {
                "POSITION": self.accessor(points, target=_VERTICES, bounds=True),
                "NORMAL": self.accessor(np.repeat(normals, 3, axis=0), target=_VERTICES),
            },
            "indices": self.accessor(np.arange(len(points), dtype=np.uint32), target=_INDICES),
            "material": self.material(color, opacity),
        }
        found: dict[str, Any] = {"primitives": [primitive]}
        if len(modes):
            moved = [np.asarray(mode)[order] for mode in modes]
            primitive["targets"] = [{"POSITION": self.accessor(m, target=_VERTICES, bounds=True)} for m in moved]
            found["weights"] = [0.0] * len(modes)
        self.meshes.append(found)
        return len(self.meshes) - 1

    def node(self, **fields: Any) -> int:
        """Return the number of a new node."""
        self.nodes.append(fields)
        return len(self.nodes) - 1

    def animate(self, node: int, path: str, times: int, values: Any) -> None:
        """Animate a property of a node, with one row of values for each time."""
        rows = np.asarray(values, dtype=float)
        self.samplers.append({"input": times, "output": self.accessor(rows), "interpolation": "LINEAR"})
        self.channels.append({"sampler": len(self.samplers) - 1, "target": {"node": node, "path": path}})

    def binary(self, document: dict[str, Any]) -> bytes:
        """Return the whole file."""
        text = json.dumps(document, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        data = b"".join(self.blocks)
        data += b"\0" * (-len(data) % 4)
        chunks = struct.pack("<I4s", len(text), b"JSON") + text
        chunks += struct.pack("<I4s", len(data), b"BIN\0") + data
        return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def gltf_of(description: dict[str, Any]) -> bytes:
    """Return the scene of a motion as the bytes of a ``.glb`` file."""
    out = _Writer()
    motion = description["motion"]
    times, poses = np.asarray(motion["times"]), np.asarray(motion["poses"])
    moves = len(times) > 1
    clock = out.accessor(times - times[0], bounds=True) if moves else 0
    bodies = [
        out.node(name=body["name"], translation=poses[0, k, :3].tolist(), rotation=poses[0, k, 3:].tolist())
        for k, body in enumerate(description["bodies"])
    ]
    children: dict[int, list[int]] = {k: [] for k in range(len(bodies) + 1)}
    _add_rigid(out, description, children)
    flexible = _add_flexible(out, description, children)
    lines = _add_lines(out, description)
    for k, node in enumerate(bodies):
        if children[k + 1]:
            out.nodes[node]["children"] = children[k + 1]
        if moves:
            out.animate(node, "translation", clock, poses[:, k, :3])
            out.animate(node, "rotation", clock, _steady(poses[:, k, 3:]))
    for node, start, modes in flexible:
        eta = np.asarray(motion["eta"])[:, start : start + modes]
        out.nodes[node]["weights"] = eta[0].tolist()
        if moves:
            out.animate(node, "weights", clock, eta.ravel())
    for node, placed in lines:
        for path, values in placed.items():
            out.nodes[node][path] = values[0].tolist()
            if moves:
                out.animate(node, path, clock, values)
    upright = np.sqrt(0.5) * np.array([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, np.sqrt(2)], [-1.0, 0.0, 0.0, 1.0]])
    root = out.node(
        name=description["name"],
        rotation=upright[description["up"]].tolist(),
        children=[*bodies, *children[0], *(node for node, _ in lines)],
    )
    document: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": "dalembert"},
        "scene": 0,
        "scenes": [{"nodes": [root]}],
        "nodes": out.nodes,
        "meshes": out.meshes,
        "materials": out.materials,
        "accessors": out.accessors,
        "bufferViews": out.views,
        "buffers": [{"byteLength": out.size + (-out.size % 4)}],
    }
    if out.channels:
        document["animations"] = [{"name": "motion", "samplers": out.samplers, "channels": out.channels}]
    return out.binary({key: value for key, value in document.items() if value != []})


def _add_rigid(out: _Writer, description: dict[str, Any], children: dict[int, list[int]]) -> None:
    made: dict[tuple[int, str, float], int] = {}
    for part in description["rigid"]:
        key = (part["mesh"], part["color"], part["opacity"])
        if key not in made:
            mesh = description["meshes"][part["mesh"]]
            made[key] = out.mesh(mesh["corners"], mesh["triangles"], part["color"], part["opacity"])
        node = out.node(name=part["owner"], mesh=made[key], translation=np.asarray(part["at"]).tolist())
        children[part["frame"]].append(node)


def _add_flexible(
    out: _Writer, description: dict[str, Any], children: dict[int, list[int]]
) -> list[tuple[int, int, int]]:
    """Add flexible bodies; return their nodes and the slices of their modal coordinates."""
    found = []
    for part in description["flexible"]:
        mesh = out.mesh(part["corners"], part["triangles"], part["color"], part["opacity"], part["modes"])
        node = out.node(name=part["owner"], mesh=mesh)
        children[part["frame"]].append(node)
        found.append((node, part["eta"], len(part["modes"])))
    return found


def _add_lines(out: _Writer, description: dict[str, Any]) -> list[tuple[int, dict[str, Array]]]:
    """Add line symbols between points; return their nodes and poses at all times."""
    made: dict[str, int] = {}
    found = []
    for line in description["lines"]:
        look = line["look"]
        if look not in made:
            solid = _stretched(look)
            triangles = np.concatenate([solid.faces[:, :3], solid.faces[:, [0, 2, 3]]])
            made[look] = out.mesh(solid.corners, triangles, "#555555", 1.0)
        start, end = (_path(description, place) for place in line["ends"])
        width = _WIDTHS.get(look, LINE_WIDTH) * description["radius"]
        found.append((out.node(name=line["name"], mesh=made[look]), _between(start, end, width)))
    return found


def _stretched(look: str) -> solids.Solid:
    """Return the solid of a line along z from 0 to 1, a unit wide."""
    low, high = np.zeros(3), np.array([0.0, 0.0, 1.0])
    if look in ("spring", "both"):  # with the proportions of most springs, for a round wire
        coil, owners = solids.tube(symbols.helix(low, SPRING_LENGTH * high, 2.0), 0.16)
        points = symbols.helix(low, SPRING_LENGTH * high, 2.0)[owners] + coil.corners
        return solids.Solid(points / [1.0, 1.0, SPRING_LENGTH], coil.faces, coil.edged)
    return solids.cylinder(1.0, 1.0, around=12).moved(np.eye(3), high / 2)


def _path(description: dict[str, Any], place: dict[str, Any]) -> Array:
    """Return the position (n, 3) m of a point, or of the middle of several, at all times."""
    if "middle" in place:
        return np.asarray(np.mean([_path(description, each) for each in place["middle"]], axis=0))
    motion = description["motion"]
    poses, local = np.asarray(motion["poses"]), np.asarray(place["at"], dtype=float)
    points = np.repeat(local[None], len(poses), axis=0)
    if "shifts" in place:
        shifts = np.asarray(place["shifts"])
        points = points + np.asarray(motion["eta"])[:, place["eta"] : place["eta"] + len(shifts)] @ shifts
    if place["frame"] == 0:
        return points
    pose = poses[:, place["frame"] - 1]
    axis, w = pose[:, 3:6], pose[:, 6:]
    across = 2 * np.cross(axis, points)
    return np.asarray(pose[:, :3] + points + w * across + np.cross(axis, across))


def _between(start: Array, end: Array, width: float) -> dict[str, Array]:
    """Return translation, rotation and scale of a unit solid along z that reaches from start to end, (n, 3) m."""
    away = end - start
    lengths = np.linalg.norm(away, axis=1)
    unit = np.where(lengths[:, None] > 0, away / np.where(lengths > 0, lengths, 1.0)[:, None], [0.0, 0.0, 1.0])
    # the shortest rotation from z, by the half-way vector
    turn = np.column_stack([-unit[:, 1], unit[:, 0], np.zeros(len(unit)), 1 + unit[:, 2]])
    turn[unit[:, 2] < -1 + 1e-12] = [1.0, 0.0, 0.0, 0.0]
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    thick = np.full(len(lengths), width)
    return {
        "translation": start,
        "rotation": _steady(turn),
        "scale": np.column_stack([thick, thick, np.maximum(lengths, 1e-9)]),
    }


def _steady(turns: Array) -> Array:
    """Return quaternions (n, 4), scalar last, with continuous signs for interpolation."""
    turns = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    signs = np.sign((turns[1:] * turns[:-1]).sum(axis=1))
    return np.asarray(turns * np.concatenate([[1.0], np.cumprod(np.where(signs == 0, 1.0, signs))])[:, None])


def _linear(share: float) -> float:
    """Return the linear intensity of an sRGB component, 0 to 1."""
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)
