"""Meshes of flexible bodies for drawing: lines, faces or points, by node numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...bodies.flexible_body import FlexibleBody
from ...structures.beam_elements import Beams
from ...structures.plate_elements import PlateElements
from ...structures.solid_elements import SolidElements

__all__ = ["NodeMesh", "mesh_of"]

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class NodeMesh:
    """Mesh of a flexible body; all numbers are indices of its `nodes`.

    Attributes
    ----------
    lines : list of (k,) int
        Beams, each a line of nodes in the order of its elements.
    sections : list of (p, 3) m or None
        Corners of the section of each line, from its nodes in body axes, counterclockwise; None where it has none, or
        changes along the line.
    faces : (f, 4) int
        Plates, and the surface of solids; a triangle repeats its last node.
    sheet : bool
        True if the faces are seen from both sides.
    points : (k,) int
        Nodes of bodies with unknown elements.
    """

    lines: list[Numbers] = field(default_factory=list)
    sections: list[Array | None] = field(default_factory=list)
    faces: Numbers = field(default_factory=lambda: np.zeros((0, 4), dtype=np.int64))
    sheet: bool = False
    points: Numbers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @cached_property
    def edges(self) -> list[Numbers]:
        """Return the edges of the faces, each once, as pairs of nodes."""
        return [np.array(pair) for pair in self._sides]

    @cached_property
    def outline(self) -> list[Numbers]:
        """Return the lines of the body: beams, the rim of a sheet, all edges of a surface."""
        rim = [np.array(pair) for pair, times in self._sides.items() if times == 1]
        return [*self.lines, *(rim if self.sheet else self.edges)]

    @cached_property
    def _sides(self) -> Counter[tuple[int, int]]:
        sides = np.stack([self.faces, np.roll(self.faces, -1, axis=1)], axis=-1).reshape(-1, 2)
        return Counter((min(a, b), max(a, b)) for a, b in sides.tolist() if a != b)


def mesh_of(body: FlexibleBody) -> NodeMesh:
    """Return the lines, faces or points of a flexible body."""
    elements = None if body.structure is None or body.nodes_removed else body.structure.elements
    if elements is not None and body.structure.beams is not None:
        lines = _chained(body.structure.beams.ends)
        return NodeMesh(lines=lines, sections=_sections(body.structure.beams, lines))
    if isinstance(elements, PlateElements):
        return NodeMesh(faces=elements.corners, sheet=True)
    if isinstance(elements, SolidElements):
        return NodeMesh(faces=_surface(elements))
    line = _in_a_row(body.nodes)
    return NodeMesh(points=np.arange(body.n)) if line is None else NodeMesh(lines=[line])


def _chained(ends: Numbers) -> list[Numbers]:
    """Return elements (ne, 2) as polylines of consecutive nodes."""
    lines: list[list[int]] = []
    for start, end in ends.tolist():
        if lines and lines[-1][-1] == start:
            lines[-1].append(end)
        else:
            lines.append([start, end])
    return [np.array(line) for line in lines]


def _sections(beams: Beams, lines: list[Numbers]) -> list[Array | None]:
    """Return the corners of the section of each line of elements."""
    found: list[Array | None] = []
    first = 0
    for line in lines:
        chosen = range(first, first + len(line) - 1)
        first += len(line) - 1
        section, axes = beams.sections[chosen[0]], beams.axes[chosen[0]]
        alike = all(beams.sections[k] is section and np.allclose(beams.axes[k], axes, atol=1e-6) for k in chosen)
        if section.points is None or len(section.points) < 3 or not alike:
            found.append(None)
            continue
        y, z = (section.points - section.points.mean(axis=0)).T
        found.append(section.points[np.argsort(np.arctan2(z, y))] @ axes[:, 1:].T)
    return found


def _surface(elements: SolidElements) -> Numbers:
    """Return the faces (f, 4) of a mesh of tetrahedra or hexahedra that belong to one element only.

    They run counterclockwise as seen from outside, whichever way the mesh has them.
    """
    mesh = elements.basis.mesh
    corners = mesh.t[np.array(mesh.elem.refdom.facets)]  # (facets of an element, corners, elements)
    faces = np.moveaxis(corners, 1, -1).reshape(-1, corners.shape[1])
    middles = np.tile(mesh.p[:, mesh.t].mean(axis=1).T, (len(corners), 1))
    _, place, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    outer, middles = faces[place[count == 1]], middles[place[count == 1]]
    p = mesh.p.T[outer]
    normal = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    inward = np.einsum("fi,fi->f", normal, p.mean(axis=1) - middles) < 0
    outer[inward] = outer[inward, ::-1]
    if outer.shape[1] == 3:
        outer = outer[:, [0, 1, 2, 2]]
    return np.asarray(elements.basis.nodal_dofs[0][outer], dtype=np.int64)


def _in_a_row(nodes: Array) -> Numbers | None:
    """Return the order of collinear nodes along their line; None if they are not collinear."""
    off = nodes - nodes.mean(axis=0)
    _, sizes, axes = np.linalg.svd(off, full_matrices=False)
    if len(nodes) < 2 or sizes[0] == 0 or sizes[1:].max(initial=0.0) > 1e-6 * sizes[0]:
        return None
    return np.argsort(off @ axes[0])
