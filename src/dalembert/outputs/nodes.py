"""Motion of all nodes of a flexible body along a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..bodies.flexible import FlexibleBody
from ..errors import ModelError
from ..flexible_points import second_order_shift

if TYPE_CHECKING:
    from ..model import Model
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
    model, name, flexible = _flexible(result, body, "nodal displacements")
    eta = result.q[:, model.q_slice(name)]
    moved: Array = np.einsum("kim,nm->nki", flexible.shapes[:, 3:], eta)
    for node, shift in second_order_shift(flexible).items():
        moved[:, node] += np.einsum("irs,nr,ns->ni", shift, eta, eta) / 2
    return moved


def nodal_velocities(result: Result, body: Any) -> Array:
    """Return velocities (n, nodes, 3) m/s of a flexible body's nodes at the times of a result, in world axes.

    They are those of the material in the world, as ``result["arm.tip.velocity"]`` gives them for a marker.
    """
    model, name, flexible = _flexible(result, body, "nodal velocities")
    eta, rate = result.q[:, model.q_slice(name)], result.v[:, model.v_slice(name)]
    relative = np.einsum("kim,nm->nki", flexible.shapes[:, 3:], rate)
    for node, shift in second_order_shift(flexible).items():
        relative[:, node] += np.einsum("irs,nr,ns->ni", shift, rate, eta)
    part = model.system.bodies[name]
    R, V = model.pose(part, result.q).rotation, model.velocity(part, result.q, result.v)
    arms = (flexible.nodes + nodal_displacements(result, body)) @ R.swapaxes(-1, -2)
    found: Array = V[:, None, 3:] + np.cross(V[:, None, :3], arms) + relative @ R.swapaxes(-1, -2)
    return found


def _flexible(result: Result, body: Any, item: str) -> tuple[Model, str, FlexibleBody]:
    model = result._model()
    name = getattr(body, "name", body)
    if name not in model.flexible_names:
        known = ", ".join(map(repr, model.flexible_names)) or "this system has none"
        raise ModelError(item, "body", name, f"give the name of a flexible body: {known}")
    flexible = model.system.bodies[name].flexible
    assert flexible is not None
    return model, name, flexible
