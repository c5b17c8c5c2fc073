"""Frames of beams from lines, cross-sections and materials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..bodies.flexible_body import FlexibleBody
from ..checks import checked, finite_array, finite_number, one_of, shape_of, whole_number
from ..errors import ModelError
from ..provenance import record_call
from .beam_elements import Beams
from .mode_sets import ModeSet
from .sections import Material, Section, check_material
from .structure import Structure

__all__ = ["Member", "frame", "frame_structure", "line_corners"]


@dataclass(frozen=True, eq=False)
class Member:
    """Line of beam elements with one section and one material.

    Parameters
    ----------
    points : (k, 3) m, or a length m
        Corners of the line, in body axes; a length means a straight line from the origin along x.
    section : Section
    material : Material
    elements : int or None
        Number of elements, distributed by length; at least one between two points; None: exactly one.
    up : (3,)
        Direction near which the section's z axis lies; default z, or x for lines along z.
    """

    points: Any
    section: Section
    material: Material
    _: KW_ONLY
    elements: int | None = 10
    up: Any = None

    def line(self) -> tuple[Array, Array]:
        """Return the nodes (k, 3) along the line and, for each element, local axes as columns (k - 1, 3, 3)."""
        item = "beam"
        if not isinstance(self.section, Section):
            raise ModelError(item, "section", self.section, "give a Section, such as Section.tube(0.05, 0.045)")
        check_material(item, self.material)
        corners, spans = line_corners(self.points, item)
        nodes = [corners[:1]]
        for k, count in enumerate(self._shares(spans)):
            steps = np.arange(1, count + 1)[:, None] / count
            nodes.append(corners[k] + steps * (corners[k + 1] - corners[k]))
        line = np.concatenate(nodes)
        return line, self._axes(np.diff(line, axis=0))

    def _shares(self, spans: Array) -> list[int]:
        if self.elements is None:
            return [1] * len(spans)
        remedy = "give a whole number, 1 or more, or None"
        count = whole_number(self.elements, item="beam", field="elements", remedy=remedy)
        return [max(1, round(count * span / spans.sum())) for span in spans]

    def _axes(self, steps: Array) -> Array:
        x = steps / np.linalg.norm(steps, axis=1)[:, None]
        if self.up is None:
            up = np.where(np.abs(x[:, 2:]) < 0.999, [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]])
        else:
            up = np.broadcast_to(finite_array(self.up, (3,), item="beam", field="up"), x.shape)
        y = np.cross(up, x)
        norms = np.linalg.norm(y, axis=1)
        if norms.min() <= 1e-6 * np.linalg.norm(up, axis=1).max():
            raise ModelError("beam", "up", self.up, "it must not lie along the beam")
        y /= norms[:, None]
        return np.stack([x, y, np.cross(x, y)], axis=2)


def line_corners(points: Any, item: str) -> tuple[Array, Array]:
    """Return the corners (k, 3) m of a line, given by points or by a length along x, and the spans (k - 1,) m."""
    shape = shape_of(points)
    if shape == ():
        corners = np.array([[0.0, 0.0, 0.0], [finite_number(points, item=item, field="points"), 0.0, 0.0]])
    elif shape is not None and len(shape) == 2 and shape[0] >= 2 and shape[1] == 3:
        corners = finite_array(points, shape, item=item, field="points")
    else:
        raise ModelError(item, "points", points, "give a length, or at least two points (k, 3), in m")
    spans = np.linalg.norm(np.diff(corners, axis=0), axis=1)
    if spans.min() <= 1e-9 * spans.max():
        raise ModelError(item, "points", points, "two points that follow each other coincide")
    return corners, spans


@checked("members", "theory", "mass")
@record_call
def frame_structure(members: Sequence[Member], *, theory: str = "timoshenko", mass: str = "consistent") -> Structure:
    """Return the structure of members rigidly joined at coincident nodes; see `frame`."""
    one_of("frame", "theory", theory, ("timoshenko", "euler"))
    one_of("frame", "mass", mass, ("consistent", "lumped"))
    listed = [members] if isinstance(members, Member) else list(members)
    if not listed or not all(isinstance(m, Member) for m in listed):
        raise ModelError("frame", "members", members, "give at least one Member")
    lines = [member.line() for member in listed]
    nodes, numbers = _merged(np.concatenate([line for line, _ in lines]))
    ends, sections, materials, start = [], [], [], 0
    for member, (line, _) in zip(listed, lines, strict=True):
        places = numbers[start : start + len(line)]
        start += len(line)
        ends.append(np.column_stack([places[:-1], places[1:]]))
        sections += [member.section] * (len(line) - 1)
        materials += [member.material] * (len(line) - 1)
    joined = np.concatenate(ends)
    lengths = np.linalg.norm(nodes[joined[:, 1]] - nodes[joined[:, 0]], axis=1)
    axes = np.concatenate([axes for _, axes in lines])
    beams = Beams(joined, lengths, axes, tuple(sections), tuple(materials), theory)
    n = len(nodes)
    if not any(material.density for material in materials):
        raise ModelError("frame", "density", 0.0, "a flexible body needs mass: give its material a density")
    stiffness = beams.assembled(beams.stiffness(), n)
    if mass == "lumped":
        return Structure(nodes, None, stiffness, elements=beams, lumps=beams.lumps(n))
    return Structure(nodes, beams.assembled(beams.mass(), n), stiffness, elements=beams)


@checked("members", "theory", "mass", "order", "stiffening")
@record_call
def frame(
    members: Sequence[Member],
    *,
    theory: str = "timoshenko",
    mass: str = "consistent",
    modes: ModeSet | None = None,
    damping: Any = None,
    order: str = "full",
    stiffening: bool = False,
    load_nodes: Any = (),
) -> FlexibleBody:
    """Return a flexible body: a frame of beams, rigidly joined at coincident nodes.

    Nodes are numbered along the members, in their order; ``body.structure.node((x, y, z))`` finds one by its position.
    Options as in `beam`.
    """
    structure = frame_structure(members, theory=theory, mass=mass)
    return structure.reduce(modes, damping=damping, order=order, stiffening=stiffening, load_nodes=load_nodes)


def _merged(points: Array) -> tuple[Array, NDArray[np.int64]]:
    """Return points without repetitions, in order, and the index of each given point among them."""
    from scipy.spatial import cKDTree

    size = float(np.ptp(points, axis=0).max())
    tree = cKDTree(points)
    first = np.array([min(near) for near in tree.query_ball_point(points, 1e-7 * size)])
    kept, numbers = np.unique(first, return_inverse=True)
    return points[kept], numbers.astype(np.int64)
