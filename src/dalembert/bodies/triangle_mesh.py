"""Triangle meshes: enclosed volume, inertia and simplification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..checks import finite_array, shape_of
from ..errors import ModelError

__all__ = ["MAX_TRIANGLES", "TriangleMesh"]


MAX_TRIANGLES = 5_000_000
FLAT_VOLUME_TOL = 1e-9  # of the volume of the bounding box: less is round-off of a flat surface


@dataclass(frozen=True, eq=False)
class TriangleMesh:
    """Triangles in space.

    Attributes
    ----------
    corners : (k, 3) m
        Distinct points.
    triangles : (m, 3) int
        Numbers of the corners of each, counterclockwise as seen from outside.
    """

    corners: Array
    triangles: NDArray[np.int64]

    @classmethod
    def of(cls, corners: ArrayLike, triangles: Any, *, item: str) -> TriangleMesh:
        """Return a surface from given corners and triangles: checked, with coincident corners merged.

        Raises
        ------
        ModelError
            If a number is not finite, a triangle names a corner that is not there, or there are too many.
        """
        shape = shape_of(corners)
        if shape is None or len(shape) != 2 or shape[1] != 3 or not shape[0]:
            raise ModelError(item, "corners", shape, "give them as rows of three numbers")
        places = finite_array(corners, shape, item=item, field="corners")
        faces = np.asarray(triangles)
        if faces.ndim != 2 or faces.shape[1] != 3 or not len(faces) or faces.dtype.kind not in "iu":
            raise ModelError(item, "triangles", faces.shape, "give them as rows of three integers")
        if len(faces) > MAX_TRIANGLES:
            raise ModelError(item, "triangles", len(faces), f"at most {MAX_TRIANGLES}: simplify it in a CAD program")
        if faces.min() < 0 or faces.max() >= len(places):
            raise ModelError(item, "triangles", int(faces.max()), f"corners are counted from 0 to {len(places) - 1}")
        return cls(places, faces.astype(np.int64))._joined()

    def _joined(self) -> TriangleMesh:
        """Return the surface with coincident corners merged and degenerate triangles removed."""
        places, numbers = np.unique(self.corners + 0.0, axis=0, return_inverse=True)
        faces = numbers.reshape(-1)[self.triangles]
        a, b, c = faces.T
        return TriangleMesh(places, faces[(a != b) & (b != c) & (c != a)])

    def scaled(self, factors: Sequence[float]) -> TriangleMesh:
        """Return the surface scaled along x, y, z; mirroring reverses the triangle orientation."""
        f = np.asarray(factors, dtype=float)
        return TriangleMesh(self.corners * f, self.triangles[:, ::-1] if np.prod(f) < 0 else self.triangles)

    # ---- enclosed volume

    @cached_property
    def error(self) -> str:
        """Reason why the surface encloses no volume; empty if it does.

        Closed: every edge is passed equally often in both directions by the triangles on its sides.
        """
        edges = np.concatenate([self.triangles[:, [k, (k + 1) % 3]] for k in range(3)])
        sense = np.where(edges[:, 0] < edges[:, 1], 1, -1)
        key = edges.min(axis=1) * len(self.corners) + edges.max(axis=1)
        _, which, count = np.unique(key, return_inverse=True, return_counts=True)
        balance = np.bincount(which.reshape(-1), weights=sense)
        if balance.any():
            open_edges, turned = int((count % 2).sum()), int(((count % 2 == 0) & (balance != 0)).sum())
            faults = [f"{open_edges} edges have a triangle on one side only"] * (open_edges > 0)
            faults += [f"at {turned} edges neighbours have opposite orientations"] * (turned > 0)
            return "the surface is not closed: " + ", ".join(faults)
        size = float(np.prod(np.ptp(self.corners, axis=0)))
        if abs(self._moments[0]) <= FLAT_VOLUME_TOL * size:
            return "the surface is closed, but encloses almost no volume"
        return ""

    @cached_property
    def _moments(self) -> tuple[float, Array, Array]:
        """Signed volume, first (3,) and second (3, 3) moments about the mean of the corners.

        Sums over tetrahedra from one point to every triangle (a, b, c), with d = det(a, b, c) and s = a + b + c:
        V = d / 6, first moment d s / 24, second moment d (s s^T + a a^T + b b^T + c c^T) / 120
        (Tonon 2004, J. Math. Stat. 1, 8-11, gives the tensor for one tetrahedron).
        """
        x = self.corners - self.corners.mean(axis=0)
        a, b, c = (x[self.triangles[:, k]] for k in range(3))
        d = np.einsum("ij,ij->i", a, np.cross(b, c))
        s = a + b + c
        second = sum(np.einsum("i,ij,ik->jk", d, p, p) for p in (s, a, b, c)) / 120
        return float(d.sum() / 6), d @ s / 24, np.asarray(second)

    def solid(self) -> tuple[float, Array, Array]:
        """Return volume (m3), centre (3,) m and inertia (3, 3) per kilogram about it."""
        volume, first, second = self._moments  # all three change sign with the orientation of the triangles
        off = first / volume
        about = second / volume - np.outer(off, off)
        inertia: Array = np.trace(about) * np.eye(3) - about
        return abs(volume), self.corners.mean(axis=0) + off, (inertia + inertia.T) / 2

    def thickened(self, thickness: float) -> TriangleMesh:
        """Return the closed surface of a wall of a thickness, m, with this surface in its middle.

        Both sides are moved along the mean normals of their corners; the boundary of an open surface gets an edge.
        """
        normals = _normals(self.corners, self.triangles)
        at_corners = np.zeros_like(self.corners)
        for k in range(3):
            np.add.at(at_corners, self.triangles[:, k], normals)
        lengths = np.linalg.norm(at_corners, axis=1, keepdims=True)
        moved = 0.5 * thickness * at_corners / np.where(lengths > 0.0, lengths, 1.0)
        count = len(self.corners)
        edges = np.concatenate([self.triangles[:, [k, (k + 1) % 3]] for k in range(3)])
        key = edges.min(axis=1) * count + edges.max(axis=1)
        _, first, number = np.unique(key, return_index=True, return_counts=True)
        a, b = edges[first[number == 1]].T
        rim = np.concatenate([np.column_stack([b, a, a + count]), np.column_stack([b, a + count, b + count])])
        faces = np.concatenate([self.triangles, self.triangles[:, ::-1] + count, rim])
        return TriangleMesh(np.concatenate([self.corners + moved, self.corners - moved]), faces)

    # ---- simplification for drawing

    def simplified(self, most: int) -> TriangleMesh:
        """Return a surface of about `most` triangles: corners within a grid cell become their mean."""
        kept: dict[int, TriangleMesh] = self.__dict__.setdefault("_simplified", {})
        if most not in kept:
            kept[most] = self if len(self.triangles) <= most else self._coarser(most)
        return kept[most]

    def _coarser(self, most: int) -> TriangleMesh:
        low, reach = self.corners.min(axis=0), float(np.ptp(self.corners, axis=0).max())
        cells = 2.0 * np.sqrt(most)
        for _ in range(12):
            found = self._clustered(low, reach / cells)
            if len(found.triangles) <= most:
                break
            cells *= max(0.5, 0.97 * np.sqrt(most / len(found.triangles)))
        return found

    def _clustered(self, low: Array, cell: float) -> TriangleMesh:
        numbers = np.floor((self.corners - low) / cell).astype(np.int64)
        _, which, count = np.unique(numbers, axis=0, return_inverse=True, return_counts=True)
        which = which.reshape(-1)
        sums = [np.bincount(which, weights=self.corners[:, k]) for k in range(3)]
        faces = which[self.triangles]
        a, b, c = faces.T
        kept = (a != b) & (b != c) & (c != a)
        faces = faces[kept]
        places = np.column_stack(sums) / count[:, None]
        normal = _normals(places, faces)
        folded = np.einsum("ij,ij->i", normal, _normals(self.corners, self.triangles[kept])) < 0
        faces[folded], normal[folded] = faces[folded][:, ::-1], -normal[folded]  # keep the orientation
        # of two coincident sides of a thin wall, the outer one is kept
        outward = np.einsum("ij,ij->i", normal, places[faces].sum(axis=1) - 3 * places.mean(axis=0))
        faces = faces[np.argsort(-outward, kind="stable")]
        _, first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
        return TriangleMesh(places, faces[np.sort(first)])


def _normals(corners: Array, triangles: NDArray[np.int64]) -> Array:
    """Return the normals (m, 3) of triangles; their length is twice the area."""
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    return np.cross(b - a, c - a)
