"""Motion of all nodes of a flexible body, along a result or at given states, and the loads that it requires."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...bodies.body import Body
from ...bodies.flexible_body import FlexibleBody
from ...checks import checked
from ...errors import ModelError
from ...model import Model, as_model

if TYPE_CHECKING:
    from ..result import Result
    from .motion import Motion

__all__ = [
    "NodalMotion",
    "flexible_body_of",
    "inertia_loads",
    "nodal_accelerations",
    "nodal_displacements",
    "nodal_loads",
    "nodal_motion",
    "nodal_velocities",
]


@checked("result")
def nodal_displacements(result: Result, body: Any) -> Array:
    """Return displacements (n, nodes, 3) m of a flexible body's nodes at the times of a result, in body axes.

    They are measured from the undeformed body in its frame. Rotations too: ``body.flexible.displacements(eta)``.

    Parameters
    ----------
    result : Result
    body : str or Body
    """
    model, part, flexible = flexible_body_of(result, body, "nodal displacements")
    at = model._point_poses(model.nodes(part.name), result.q)[..., 9:]
    R, p = model.pose(part, result.q)
    return (at - p[:, None]) @ R - flexible.nodes


@checked("result")
def nodal_velocities(result: Result, body: Any) -> Array:
    """Return velocities (n, nodes, 3) m/s of a flexible body's nodes at the times of a result, in world axes.

    They are those of the material in the world, as ``result["arm.tip.velocity"]`` for a marker.
    """
    model, part, _ = flexible_body_of(result, body, "nodal velocities")
    V = model._point_velocities(model.nodes(part.name), result.q, result.v)
    return np.ascontiguousarray(V[..., 3:])


@checked("result")
def nodal_accelerations(result: Result, body: Any) -> Array:
    """Return accelerations (n, nodes, 3) m/s2 of a flexible body's nodes at the times of a result, in world axes."""
    name = getattr(body, "name", body)
    model = flexible_body_of(result, name, "nodal accelerations")[0]
    found = nodal_motion(model, name, result.q, result.v, result._motion.part("a"))
    assert found.acceleration is not None
    return np.ascontiguousarray(found.acceleration[..., 3:])


@dataclass(frozen=True, eq=False)
class NodalMotion:
    """Motion of the nodes of a flexible body, of k states or one; world axes, angular parts first.

    Attributes
    ----------
    rotation : (k, nodes, 3, 3)
        Orientations of the material at the nodes; that of the body frame in the undeformed body.
    position : (k, nodes, 3) m
    velocity : (k, nodes, 6) rad/s and m/s, or None
    acceleration : (k, nodes, 6) rad/s2 and m/s2, or None
    """

    rotation: Array
    position: Array
    velocity: Array | None = None
    acceleration: Array | None = None


def nodal_motion(
    system: Any, body: Any, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None
) -> NodalMotion:
    """Return the motion of all nodes of a flexible body at given states.

    Parameters
    ----------
    system : System or Model
    body : str or Body
    q : (nq,) or (k, nq)
    v, a : (nv,) or (k, nv)
        Velocities, and accelerations, which need velocities; without them, positions only.

    Examples
    --------
    >>> import numpy as np, dalembert as da
    >>> steel = da.Material(E=210e9, nu=0.3, density=7850)
    >>> s = da.System()
    >>> arm = s.body("arm", da.beam(1.0, da.Section.circle(0.01), steel, modes=da.CantileverModes(2)))
    >>> joint = s.connect("A", da.Revolute("y"), s.ground, arm)
    >>> moved = da.nodal_motion(s, "arm", [0.0, 0, 0], [2.0, 0, 0], [0.0, 0, 0])
    >>> moved.acceleration[-1, 3:].round(9) + 0.0  # centripetal, at the tip
    array([-4.,  0.,  0.])
    """
    model = as_model(system)
    part, _ = _named(model, body, "nodal motion")
    points = model.nodes(part.name)
    pose = model._point_poses(points, q)
    position, rotation = pose[..., 9:], pose[..., :9].reshape(*pose.shape[:-1], 3, 3)
    if v is None:
        if a is not None:
            raise ModelError("nodal motion", "v", None, "accelerations need velocities: give v too")
        return NodalMotion(rotation, position)
    velocity = model._point_velocities(points, q, v)
    return NodalMotion(rotation, position, velocity, None if a is None else model._point_accelerations(points, q, v, a))


@checked("result")
def nodal_loads(result: Result, body: Any) -> Array:
    """Return the external loads (n, nodes, 6) N m and N on nodes, [moment; force] in body axes.

    Equations of motion of every node (Jain and Rodriguez 1990, (3.32)): inertia loads with gravity, with gyroscopic
    moments of lumped nodes, plus elastic loads of the structure. At nodes with attachments this is the load of the
    attachment. Elsewhere it would be zero for complete modes; the remainder is the error of the modes (its sum over a
    mode shape is zero).
    """
    name = getattr(body, "name", body)
    _, part, flexible = flexible_body_of(result, name, "nodal loads")
    if flexible.stiffness is None:
        raise ModelError("nodal loads", "body", name, "it needs the stiffness of its nodes, not of its modes alone")
    elastic = flexible.displacements(result[f"{name}.eta"]).reshape(len(result.q), -1) @ flexible.stiffness
    whole = inertia_loads(result._motion, part) + np.asarray(elastic).reshape(len(result.q), -1, 6)
    return np.asarray(whole[..., [3, 4, 5, 0, 1, 2]])


def inertia_loads(motion: Motion, part: Body) -> Array:
    """Return the inertia loads of nodes (n, nodes, 6) [force; moment], body axes, less gravity: M a + b - M g."""
    model, flexible = motion.model, part.require_flexible()
    moved = nodal_motion(model, part.name, motion.q, motion.v, motion.part("a"))
    assert moved.acceleration is not None and moved.velocity is not None
    R = model.pose(part, motion.q)[0]
    local = np.empty((len(motion.q), flexible.n, 6))
    local[..., :3] = (moved.acceleration[..., 3:] - model.system.gravity) @ R
    local[..., 3:] = moved.acceleration[..., :3] @ R
    taken = np.asarray((flexible.mass_matrix @ local.reshape(len(local), -1).T).T).reshape(local.shape)
    if flexible.lumped:
        w = moved.velocity[..., :3] @ R
        m, p, inertia = flexible.node_masses, flexible.node_centres, flexible.node_inertias
        assert m is not None and p is not None and inertia is not None
        taken[..., :3] += m[:, None] * np.cross(w, np.cross(w, p))
        taken[..., 3:] += np.cross(w, np.einsum("nij,knj->kni", inertia, w))
    return taken


def flexible_body_of(result: Result, body: Any, item: str) -> tuple[Model, Body, FlexibleBody]:
    """Return the model of a result and one of its flexible bodies, given by name or as a `Body`."""
    model = result.require_model()
    return model, *_named(model, body, item)


def _named(model: Model, body: Any, item: str) -> tuple[Body, FlexibleBody]:
    name = getattr(body, "name", body)
    if not isinstance(name, str) or name not in model.flexible_names:
        known = ", ".join(map(repr, model.flexible_names)) or "this system has none"
        raise ModelError(item, "body", name, f"give the name of a flexible body: {known}")
    part = model.system.bodies[name]
    return part, part.require_flexible()
