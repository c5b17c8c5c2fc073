"""Buckling load factors of flexible bodies under the loads of a motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...bodies.body import Body
from ...checks import checked
from ...errors import ModelError
from ...model import Model
from ...numerics.rank import ROW_RANK_TOL, null_space
from ...structures import Structure
from .deformation_recovery import loaded_shapes
from .flexible_nodes import flexible_body_of

if TYPE_CHECKING:
    from ..result import Result
    from .motion import Motion

__all__ = ["buckling_factors", "factors_of"]


ITEM = "buckling factors"
RIGID_TOL = 1e-13  # of the largest stiffness: motions with less are rigid


@checked("result")
def buckling_factors(result: Result, body: Any) -> Array:
    """Return the factors (n,) by which the loads on a flexible body could grow at each time until it buckles.

    Loads, inertia and weight at each time stress the finite-element model (see `mode_acceleration`). The stresses
    change the stiffness of the modes by K_g, and at the factor f, K + f K_g is singular. The factor is infinite without
    compression. If connections are at two or more nodes, these stay on the lines between them with free rotations, as
    in a pinned member; with one, the body is fixed there as a cantilever. Below 1 the body has buckled, and its linear
    modes do not describe its motion.

    Parameters
    ----------
    result : Result
    body : str or Body
        Body made from a structure with known elements: `beam`, `frame`, plates, solids.

    Beams lose stiffness by axial forces only; lateral buckling is not included. If the modes cannot represent the
    buckling shape, the factor is too large.

    Examples
    --------
    A pinned strut under half of its Euler load:

    >>> import numpy as np, dalembert as da
    >>> steel, bar = da.Material(E=210e9, nu=0.3, density=7850), da.Section.rectangle(0.02, 0.02)
    >>> s = da.System("strut", gravity=(0, 0, 0))
    >>> strut = s.body("strut", da.beam(1.0, bar, steel, modes=da.CraigBampton((0, 10), 4)))
    >>> slider = s.body("slider", mass=1.0, inertia=(1, 1, 1))
    >>> foot = s.connect("foot", da.Revolute("y"), s.ground, strut)
    >>> head = s.connect("head", da.Revolute("y"), strut.at(node=10), slider)
    >>> guide = s.connect("guide", da.Prismatic("x"), s.ground.at(1, 0, 0), slider)
    >>> euler = np.pi**2 * 210e9 * bar.Iy
    >>> press = s.connect("press", da.Load(force=(-euler / 2, 0, 0)), slider)
    >>> result = da.simulate(s, 1e-4, state=da.equilibrium(s))
    >>> bool(abs(da.buckling_factors(result, "strut")[0] - 2.0) < 0.05)
    True
    """
    part = flexible_body_of(result, body, ITEM)[1]
    return factors_of(result._motion, part)


def factors_of(motion: Motion, part: Body, shapes: Array | None = None) -> Array:
    """Return `buckling_factors` of a motion; `shapes` (n, 6 nodes): deformation under its loads, if known."""
    flexible = part.require_flexible()
    structure = flexible.structure
    if not isinstance(structure, Structure) or structure.elements is None or flexible.nodes_removed:
        remedy = "the elements of its structure must be known: a body made by beam, frame or Structure.reduce"
        raise ModelError(ITEM, "body", part.name, remedy)
    u = loaded_shapes(motion, part) if shapes is None else shapes
    space, stiffness = _space(motion.model, part)
    if not space.shape[1]:
        return np.full(len(u), np.inf)
    softening = structure.elements.geometric_stiffness(np.ascontiguousarray(u.T), space)
    scale = 1 / np.sqrt(stiffness)
    lowest = np.linalg.eigvalsh(softening * np.outer(scale, scale))[:, 0]
    with np.errstate(divide="ignore"):
        return np.where(lowest < -np.finfo(float).tiny, -1 / np.minimum(lowest, -1e-300), np.inf)


def _space(model: Model, part: Body) -> tuple[Array, Array]:
    """Return motions (6 nodes, m) in which a body may buckle, and their stiffnesses (m,), a diagonal matrix."""
    flexible = part.require_flexible()
    nm = flexible.nm
    turns = np.zeros((flexible.n, 6, 3))
    for k, axis in enumerate(np.eye(3)):
        turns[:, :3, k], turns[:, 3:, k] = np.cross(axis, flexible.nodes), axis
    columns = np.hstack([flexible.modes, turns.reshape(-1, 3)])
    rows = _pins(model, part)
    scale = np.append(1 / np.sqrt(np.diag(flexible.modal_stiffness)), np.ones(3))
    scale[:nm] *= 1 / scale[:nm].max(initial=0.0) if nm else 1.0
    allowed = scale[:, None] * null_space(rows * scale, ROW_RANK_TOL, 0.0) if len(rows) else np.eye(nm + 3)[:, :nm]
    stiffness = allowed[:nm].T @ flexible.modal_stiffness @ allowed[:nm]
    values, vectors = np.linalg.eigh((stiffness + stiffness.T) / 2)
    kept = values > RIGID_TOL * values[-1]
    return columns @ (allowed @ vectors[:, kept]), values[kept]


def _pins(model: Model, part: Body) -> Array:
    """Return rows (k, nm + 3) of modes and frame rotations that must be zero: fixed nodes do not move."""
    ends = [end for c in model.system.connections.values() for end in (c.first, c.second) if end.body.name == part.name]
    feet: list[Array] = []
    shapes: list[Array] = []
    for end in ends:
        if end.shape is not None and not any(np.allclose(end.foot, foot, atol=1e-9) for foot in feet):
            feet.append(end.foot)
            shapes.append(np.hstack([end.shape[3:], np.cross(np.eye(3), end.foot).T]))
    rows = []
    for foot, shape in zip(feet[1:], shapes[1:], strict=True):
        line = (foot - feet[0]) / np.linalg.norm(foot - feet[0])
        rows.append((np.eye(3) - np.outer(line, line)) @ (shape - shapes[0]))
    return np.concatenate(rows) if rows else np.zeros((0, part.require_flexible().nm + 3))
