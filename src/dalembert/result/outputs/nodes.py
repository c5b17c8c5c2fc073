"""Motion of all nodes of a flexible body along a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...bodies.flexible import FlexibleBody
from ...bodies.rigid import Body
from ...errors import ModelError
from ...model import Model

if TYPE_CHECKING:
    from ..result import Result

__all__ = ["nodal_displacements", "nodal_velocities"]

Array = NDArray[np.float64]


def nodal_displacements(result: Result, body: Any) -> Array:
    """Return displacements (n, nodes, 3) m of a flexible body's nodes at the times of a result, in body axes.

    They are measured from the undeformed body in its frame. Rotations too: ``body.flexible.displacements(eta)``.

    Parameters
    ----------
    result : Result
    body : str or Body
    """
    model, part, flexible = _flexible(result, body, "nodal displacements")
    at = model._point_poses(model.nodes(part.name), result.q)[..., 9:]
    R, p = model.pose(part, result.q)
    moved: Array = (at - p[:, None]) @ R - flexible.nodes
    return moved


def nodal_velocities(result: Result, body: Any) -> Array:
    """Return velocities (n, nodes, 3) m/s of a flexible body's nodes at the times of a result, in world axes.

    They are those of the material in the world, as ``result["arm.tip.velocity"]`` gives them for a marker.
    """
    model, part, _ = _flexible(result, body, "nodal velocities")
    V = model._point_velocities(model.nodes(part.name), result.q, result.v)
    return np.ascontiguousarray(V[..., 3:])


def _flexible(result: Result, body: Any, item: str) -> tuple[Model, Body, FlexibleBody]:
    model = result._model()
    name = getattr(body, "name", body)
    if name not in model.flexible_names:
        known = ", ".join(map(repr, model.flexible_names)) or "this system has none"
        raise ModelError(item, "body", name, f"give the name of a flexible body: {known}")
    part = model.system.bodies[name]
    assert part.flexible is not None
    return model, part, part.flexible
