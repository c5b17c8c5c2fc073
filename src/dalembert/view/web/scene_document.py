"""Scene of a system as a document: meshes with their frames, lines between points, and motions.

It is independent of browsers. Frames are numbered like the bodies of a model: ground is 0. A point is fixed in a frame;
on a flexible body it moves with the modes: ``at + sum_k eta[k] shifts[k]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import Array
from ...bodies.markers import Marker
from ...errors import ModelError
from ...model import Model
from ...rotation import quaternions
from ...structures.stress_recovery import nodal_mises
from ..drawing.axes import spread
from ..scene.projection import ModeExaggeration, Placement, choose_view, exaggerated, held_motions, node_frames
from ..scene.scene import Scene
from ..scene.solid_parts import STANDING, SolidPart, collision_parts, joint_radius, parts_of

__all__ = ["SceneBuilder"]


MAX_TRIANGLES = 8000  # of a mesh
MAX_FITTED = 60  # configurations that determine the limits
_FIELDS = {"stress": ("von Mises stress", "Pa"), "displacement": ("displacement by bending", "m")}


class SceneBuilder:
    """Builder of the document of a model.

    Parameters
    ----------
    model : Model
    q : (n, nq) rad or m
        Configurations that it will be seen in: they decide how far the picture reaches.
    view : str
        As for `draw`.
    inertia : bool
        As for `draw`.
    exaggerate : float
        Factor of all deformations.
    colors : str
        What flexible bodies are coloured by: ``"stress"``, ``"displacement"``; by body if empty.
    """

    def __init__(
        self,
        model: Model,
        q: Array,
        *,
        view: str = "auto",
        inertia: bool = False,
        exaggerate: float = 1.0,
        colors: str = "",
    ) -> None:
        if colors and colors not in _FIELDS:
            raise ModelError("view", "colors", colors, f"flexible bodies are coloured by {' or '.join(_FIELDS)}")
        if colors and not model.flexible_names:
            raise ModelError("view", "colors", colors, f"{model.system.name!r} has no flexible bodies: leave it out")
        self.model, self.colors = model, colors
        self.exaggerate = exaggerate
        placements = [Placement.of(model, row, exaggerate) for row in q[spread(len(q), MAX_FITTED)]]
        self.view = choose_view(model, placements[0], view)
        self.scene = Scene(model, inertia=inertia, triangles=MAX_TRIANGLES)
        self.low, self.high = self.scene.reach(placements)
        self.reach = float((self.high - self.low).max()) or 1.0
        self._first = placements[0]
        self._held = held_motions(model) if exaggerate != 1 and model.forest.loop_constraints else {}
        self._etas, self._nodes = {}, {}
        start = nodes = 0
        for name in model.flexible_names:
            number = model.forest.number[name]
            self._etas[number], self._nodes[number] = start, nodes
            start += model.q_slice(name).stop - model.q_slice(name).start
            nodes += len(self.model.system.bodies[name].require_flexible().nodes)
        self.modes = start

    # ---- parts

    def description(self) -> dict[str, Any]:
        """Return the parts of the document that are independent of the motion."""
        rigid, flexible, meshes = self._solids()
        return {
            "format": 1,
            "name": self.model.system.name,
            "up": self.view.up,
            "plane": [self.view.right, self.view.up, self.view.normal] if self.view.flat else None,
            "low": self.low,
            "high": self.high,
            "radius": joint_radius(self.scene, self.reach),
            "bodies": [{"name": body.name, "color": body.color} for body in self.scene.bodies],
            "meshes": meshes,
            "rigid": rigid,
            "flexible": flexible,
            "joints": self._joints(),
            "lines": [
                {"name": f.name, "look": f.symbol, "ends": [self._end(e.markers) for e in (f.first, f.second)]}
                for f in self.scene.lines
            ],
        }

    def place(self, marker: Marker) -> dict[str, Any]:
        """Return the origin of a marker as a point of the document."""
        number = self.model.forest.number[marker.body.name]
        found: dict[str, Any] = {"frame": number, "at": marker.position}
        if number in self._etas and marker.motion is not None:
            shapes = self._grown(number, marker.motion[None], marker.position[None])
            found |= {"eta": self._etas[number], "shifts": shapes[0, 3:].T}
        return found

    def _end(self, markers: Sequence[Marker]) -> dict[str, Any]:
        """Return a point of the document, or the middle of several."""
        places = [self.place(marker) for marker in markers]
        return places[0] if len(places) == 1 else {"middle": places}

    def loads(self, times: Array) -> list[dict[str, Any]]:
        """Return the loads of the system as arrows over times (n,) s."""
        return [
            {
                "name": arrow.name,
                "kind": arrow.kind,
                "unit": "N" if arrow.kind == "force" else "N m",
                "at": self.place(arrow.end.marker),
                "values": np.array([arrow.vector(float(t)) for t in times]),
                "turning": arrow.turning,
            }
            for arrow in self.scene.arrows
        ]

    def _grown(self, number: int, shapes: Array, places: Array) -> Array:
        """Return shapes (k, 6, nm) as they are drawn."""
        if number not in self._held:
            return shapes
        return ModeExaggeration(self.exaggerate, self._held[number]).shapes(shapes, places)

    def _joints(self) -> list[dict[str, Any]]:
        found = []
        for joint in self.scene.joints:
            end = joint.mover
            axis = next((a for n in ("axis", "normal") if (a := getattr(joint.element, n, None)) is not None), None)
            one: dict[str, Any] = {"name": joint.name, "kind": joint.kind, "at": self.place(end.marker)}
            if axis is not None:
                one["axis"] = end.marker.rotation @ np.asarray(axis, dtype=float)
            if joint.grounded and joint.kind in STANDING:
                foot = joint.first if joint.first.number == 0 else joint.second
                one["foot"] = foot.point(self._first)
            if joint.kind == "Prismatic":
                one["rail"] = {"at": self.place(joint.first.marker)}
                one["rail"]["axis"] = joint.first.marker.rotation @ np.asarray(joint.element.axis)  # type: ignore[union-attr]
            found.append(one)
        return found

    def _solids(self) -> tuple[list[Any], list[Any], list[Any]]:
        """Return rigid parts, flexible parts, and the meshes that the rigid ones share."""
        meshes: dict[bytes, int] = {}
        listed: list[dict[str, Any]] = []
        rigid, flexible = [], []
        for part in (*parts_of(self.scene, self.low, self.high), *collision_parts(self.scene)):
            look = {"owner": part.owner, "color": part.color, "opacity": part.opacity, "kind": part.kind}
            if part.drawn_last:
                look["shines"] = True
            if (part.frames > self.model.nb).any():
                flexible.append(self._flexible(part) | look)
                continue
            middle = part.solid.corners.mean(axis=0)
            mesh = _mesh(part, part.solid.corners - middle)
            key = mesh["corners"].astype("f4").tobytes() + mesh["triangles"].tobytes()
            if key not in meshes:
                meshes[key] = len(listed)
                listed.append(mesh)
            rigid.append({"mesh": meshes[key], "frame": int(part.frames[0]), "at": middle} | look)
        return rigid, flexible, listed

    def _flexible(self, part: SolidPart) -> dict[str, Any]:
        """Return a flexible part: corners in axes of its body, and displacements by each mode, (modes, k, 3) m."""
        starts = node_frames(self.model)
        name = max((n for n in starts if starts[n] <= part.frames.min()), key=lambda n: starts[n])
        body = self.model.system.bodies[name].require_flexible()
        number, nodes = self.model.forest.number[name], part.frames - starts[name]
        shapes, offsets = self._grown(number, body.shapes, body.nodes)[nodes], part.solid.corners
        moved = shapes[:, 3:] + np.cross(shapes[:, :3], offsets[:, :, None], axis=1)
        mesh = _mesh(part, body.nodes[nodes] + offsets)
        found = mesh | {"frame": number, "eta": self._etas[number], "modes": np.moveaxis(moved, 2, 0)}
        return found | ({"nodes": self._nodes[number] + nodes} if self.colors else {})

    # ---- motion

    def motion(self, times: Array, q: Array) -> dict[str, Any]:
        """Return times (n,), poses (n, nb, 7) [x y z, quaternion x y z w] and modal coordinates (n, modes)."""
        drawn = q if self.exaggerate == 1 or self._held else exaggerated(self.model, q, self.exaggerate)
        return {"times": times, **self.poses(drawn), **({"field": self._field(q)} if self.colors else {})}

    def _field(self, q: Array) -> dict[str, Any]:
        """Return the values (n, nodes) that colour the nodes of flexible bodies, at configurations (n, nq)."""
        values = []
        for name in self.model.flexible_names:
            body, eta = self.model.system.bodies[name].require_flexible(), q[:, self.model.q_slice(name)]
            if self.colors == "stress":
                values.append(nodal_mises(body, eta))
            else:
                values.append(np.linalg.norm(np.einsum("aim,km->kai", body.shapes[:, 3:], eta), axis=-1))
        found, (name, unit) = np.concatenate(values, axis=1), _FIELDS[self.colors]
        known = np.nan_to_num(found)
        return {"name": name, "unit": unit, "values": known, "largest": float(known.max(initial=0.0))}

    def poses(self, q: Array) -> dict[str, Any]:
        """Return the poses of bodies and the modal coordinates at configurations (n, nq)."""
        rows = np.atleast_2d(q)
        pose = self.model.poses(rows)
        turns = quaternions(pose.rotation.reshape(-1, 3, 3)).reshape(len(rows), -1, 4)
        etas = [rows[:, self.model.q_slice(name)] for name in self.model.flexible_names]
        return {
            "poses": np.concatenate([pose.position, turns[..., 1:], turns[..., :1]], axis=-1),
            "eta": np.concatenate(etas, axis=1) if etas else np.zeros((len(rows), 0)),
        }

    def traces(self, markers: Sequence[Marker]) -> list[dict[str, Any]]:
        """Return the points whose paths are drawn."""
        return [{"name": marker.name, "at": self.place(marker)} for marker in markers]


def _mesh(part: SolidPart, corners: Array) -> dict[str, Any]:
    """Return corners (k, 3) m, triangles (m, 3) and edges (e, 2) of a part."""
    faces = part.solid.faces
    triangles = np.concatenate([faces[:, :3], faces[:, [0, 2, 3]]])
    a, b, c = triangles.T
    real = triangles[(a != b) & (b != c) & (c != a)]
    edged = faces[part.solid.edged]
    sides = np.stack([edged, np.roll(edged, -1, axis=1)], axis=-1).reshape(-1, 2)
    sides = np.unique(np.sort(sides[sides[:, 0] != sides[:, 1]], axis=1), axis=0)
    return {"corners": corners, "triangles": real, "edges": sides}
