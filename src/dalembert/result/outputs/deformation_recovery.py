"""Deformations of a flexible body's full structure under its loads: stresses independent of the modes."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...bodies.body import Body
from ...bodies.markers import Marker
from ...checks import checked
from ...connections.connection import Connection
from ...errors import ModelError
from ...structures import Structure
from ...structures.supported_structure import SupportedStructure, inertia_relief
from .flexible_nodes import flexible_body_of, inertia_loads
from .output import Output, value_of

if TYPE_CHECKING:
    from ..result import Result
    from .motion import Motion

__all__ = ["acting_on", "loaded_shapes", "mode_acceleration"]


ITEM = "mode acceleration"


@checked("result")
def mode_acceleration(result: Result, body: Any) -> Array:
    """Return displacements (n, 6 nodes) m and rad of a flexible body under its loads and inertia, all modes included.

    The finite-element model is loaded, at each time, by connections and elements and by the inertia and weight of its
    nodes, and solved as in statics (mode-acceleration method; Craig 1981). A few modes are then sufficient for section
    forces in equilibrium with the loads, by ``beam_stresses(arm, displacements=...)``.

    Parameters
    ----------
    result : Result
    body : str or Body
        Body made from a structure whose nodes are stored in its reduction.
    """
    _, part, _ = flexible_body_of(result, body, ITEM)
    return loaded_shapes(result._motion, part)


def loaded_shapes(motion: Motion, part: Body) -> Array:
    """Return `mode_acceleration` of a motion: displacements (n, 6 nodes) m and rad of a body's structure."""
    flexible = part.flexible
    structure = None if flexible is None else flexible.structure
    if flexible is None or not isinstance(structure, Structure) or flexible.nodes_removed:
        raise ModelError(ITEM, "body", part.name, "it needs the finite-element model: a body made by Structure.reduce")
    R = motion.model.pose(part, motion.q)[0]
    loads = -inertia_loads(motion, part).reshape(len(motion.q), -1)
    for marker, moment, force in acting_on(motion, part.name):
        loads += _on_nodes(structure, marker, np.einsum("nji,nj->ni", R, moment), np.einsum("nji,nj->ni", R, force))
    columns = loads.T if structure.expansion is None else structure.expansion.T @ loads.T
    held = _held(structure, None if flexible.reference is None else int(flexible.reference))
    solved = held.solve(inertia_relief(structure, columns) if flexible.reference is None else columns)
    return np.ascontiguousarray(structure.expanded(solved).T)


@lru_cache(maxsize=8)  # notes on runs need the same ones again
def _held(structure: Structure, reference: int | None) -> SupportedStructure:
    """Return a structure, factorised, fixed at a node or free."""
    fixed = structure.support() if reference is None else structure.fixed_at([structure.node(reference)])
    return SupportedStructure(structure, fixed)


def acting_on(motion: Motion, name: str) -> list[tuple[Marker, Array, Array]]:
    """Return markers on a body with the moments about them and the forces (n, 3), world axes, that act there."""

    def value(name: str) -> Array:
        return value_of(Output.of(model, name), motion)

    model = motion.model
    system, found = model.system, []
    owners: list[Any] = [*system.connections.values(), *system.forces.values()]
    for owner in owners:
        ends = [owner.first, owner.second] if isinstance(owner, Connection) else list(owner.ends)
        if not any(end.body.name == name for end in ends):
            continue
        single, many = len(ends) == 1, len(ends) > 2
        first: list[Array] = [np.zeros((len(motion.q), 3)), np.zeros((len(motion.q), 3))]
        at_first = model.pose(ends[0], motion.q)[1]
        for k, end in enumerate(ends if single else ends[1:], start=1):
            mark = str(k) if many else ""
            force, moment = value(f"{owner.name}.force{mark}"), value(f"{owner.name}.moment{mark}")
            if end.body.name == name:
                found.append((end, moment, force))
            if not single:
                first[1] = first[1] - force
                first[0] = first[0] - moment - np.cross(model.pose(end, motion.q)[1] - at_first, force)
        if not single and ends[0].body.name == name:
            found.append((ends[0], first[0], first[1]))
    return found


def _on_nodes(structure: Structure, marker: Marker, moment: Array, force: Array) -> Array:
    """Return the loads (n, 6 nodes) of a moment and a force (n, 3) at a marker, body axes."""
    arm = np.zeros(3) if marker.arm is None else marker.arm
    moment = moment + np.cross(arm, force)
    distance = np.linalg.norm(structure.nodes - marker.foot, axis=1)
    node = int(distance.argmin())
    loads = np.zeros((len(force), structure.size))
    if distance[node] <= 1e-9 * max(float(np.ptp(structure.nodes, axis=0).max()), 1e-9):
        loads[:, 6 * node : 6 * node + 6] = np.hstack([force, moment])
        return loads
    shape = structure.interpolate(marker.foot, np.eye(structure.size))
    if shape is None:
        raise ModelError(ITEM, "marker", marker.name, "it is not on a node or beam element: use a node's marker")
    return loads + np.hstack([moment, force]) @ shape
