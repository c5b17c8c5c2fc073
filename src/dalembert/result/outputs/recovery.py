"""Deformations of a flexible body's whole structure under its loads: stresses that do not hang on the modes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...bodies.markers import Marker
from ...errors import ModelError
from ...structures import Structure
from ...structures.held import Held, relieved
from .nodes import _flexible, inertia_loads

if TYPE_CHECKING:
    from ...model import Model
    from ..result import Result

__all__ = ["mode_acceleration"]

Array = NDArray[np.float64]

ITEM = "mode acceleration"


def mode_acceleration(result: Result, body: Any) -> Array:
    """Return displacements (n, 6 nodes) m and rad of a flexible body under its loads and inertia, all shapes included.

    The finite-element model is loaded, at each time, by what connections and elements do to the body and by the inertia
    and weight of its nodes, and solved as in statics (the method of mode accelerations; Craig 1981). Few modes then
    give section forces in balance with the loads, by ``beam_stresses(arm, displacements=...)``.

    Parameters
    ----------
    result : Result
    body : str or Body
        Made from a structure, whose nodes its reduction kept.
    """
    name = getattr(body, "name", body)
    model, part, flexible = _flexible(result, name, ITEM)
    structure = flexible.structure
    if not isinstance(structure, Structure) or flexible.lacks_nodes:
        raise ModelError(ITEM, "body", name, "it needs the finite-element model: a body made by Structure.reduce")
    R = model.pose(part, result.q)[0]
    loads = -inertia_loads(result, part.name).reshape(len(result.q), -1)
    for marker, moment, force in _acting(result, model, part.name):
        loads += _on_nodes(structure, marker, np.einsum("nji,nj->ni", R, moment), np.einsum("nji,nj->ni", R, force))
    columns = loads.T if structure.expansion is None else structure.expansion.T @ loads.T
    if flexible.reference is None:
        solved = Held(structure, structure.support()).solve(relieved(structure, columns))
    else:
        solved = Held(structure, structure.fixed_at([structure.node(int(flexible.reference))])).solve(columns)
    return np.ascontiguousarray(structure.expanded(solved).T)


def _acting(result: Result, model: Model, name: str) -> list[tuple[Marker, Array, Array]]:
    """Return markers on a body with the moments about them and forces (n, 3), world axes, that act there."""
    system, found = model.system, []
    owners: list[Any] = [*system.connections.values(), *system.forces.values()]
    for owner in owners:
        ends = list(getattr(owner, "ends", None) or (owner.first, owner.second))
        if not any(end.body.name == name for end in ends) or getattr(owner, "places", None):
            continue
        single, many = len(ends) == 1, len(ends) > 2
        first: list[Array] = [np.zeros((len(result.q), 3)), np.zeros((len(result.q), 3))]
        at_first = model.pose(ends[0], result.q)[1]
        for k, end in enumerate(ends if single else ends[1:], start=1):
            mark = str(k) if many else ""
            force, moment = result[f"{owner.name}.force{mark}"], result[f"{owner.name}.moment{mark}"]
            if end.body.name == name:
                found.append((end, moment, force))
            if not single:
                first[1] = first[1] - force
                first[0] = first[0] - moment - np.cross(model.pose(end, result.q)[1] - at_first, force)
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
        raise ModelError(ITEM, "marker", marker.name, "it is no node and lies on no beam element: use a node's marker")
    return loads + np.hstack([moment, force]) @ shape
