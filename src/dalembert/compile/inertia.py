"""Freedoms that move nothing: where the mass matrix is singular, and which bodies are at fault."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..connections.drives import Drive
from ..connections.hinges import CustomHinge, Hinge
from ..errors import ModelError
from ..topology import Forest, TreeHinge
from .names import Names

__all__ = ["freedoms_without_inertia", "needs_no_inertia", "refuse_idle_freedoms"]

Array = NDArray[np.float64]

_NOTHING = 1e-13  # of the largest inertia that a freedom could have with the same bodies: round-off of an exact zero


def freedoms_without_inertia(
    model: _core.Model,
    forest: Forest,
    names: Names,
    q: Array,
    *,
    held: NDArray[np.bool_] | None = None,
    rows: Array | None = None,
) -> list[str]:
    """Return the names of the speeds along which nothing resists at q (nq,): where the mass matrix is singular.

    Parameters
    ----------
    held : (nv,) bool
        Speeds that are given, and need no inertia.
    rows : (m, nv)
        Constraint rows: what they prevent needs no inertia, and they may bring that of other branches.
    """
    pivots = _core.Factor(model, q).pivots()
    scale = np.maximum(_largest_inertias(model, forest, names, q), model._composite_diagonal(q))
    weak = ~(pivots > _NOTHING * scale)
    if not weak.any():
        return []
    if (held is not None and held.any()) or (rows is not None and len(rows)):
        return _idle_motions(model, names, q, scale, held, rows)
    hinges = {k for k, name in enumerate(names.hinges) if weak[names.v[name]].any()}
    # a vanishing pivot spoils those further in: only the outermost are at fault
    spoilt = {ancestor - 1 for k in hinges for ancestor in forest.path(k + 1)[1:]}
    found = []
    for k in sorted(hinges - spoilt):
        span = names.v[names.hinges[k]]
        found += [names.speeds[j] for j in range(span.start, span.stop) if weak[j]]
    return found


def _idle_motions(
    model: _core.Model,
    names: Names,
    q: Array,
    scale: Array,
    held: NDArray[np.bool_] | None,
    rows: Array | None,
) -> list[str]:
    """Return the speeds that take part in motions which the rows permit and which move no inertia."""
    free = np.ones(len(scale), dtype=bool) if held is None else ~held
    # where nothing at all moves, any unit serves
    unit = 1.0 / np.sqrt(np.where(scale[free] > 0, scale[free], scale.max(initial=0.0) or 1.0))
    M = np.asarray(model.mass_matrix(q))[np.ix_(free, free)] * unit * unit[:, None]
    motions = np.eye(len(unit))
    if rows is not None and len(rows):
        P = rows[:, free] * unit
        P = P / np.maximum(np.linalg.norm(P, axis=1, keepdims=True), 1e-300)
        _, s, Vt = np.linalg.svd(P)
        motions = Vt[int((s > 1e-9 * s.max(initial=0.0)).sum()) :]
    sizes, vectors = np.linalg.eigh(motions @ M @ motions.T)
    idle = vectors.T[sizes < _NOTHING * len(unit)] @ motions * unit
    if not len(idle):
        return []
    part = np.abs(idle / np.abs(idle).max(axis=1, keepdims=True)).max(axis=0)
    return [names.speeds[j] for j, share in zip(np.flatnonzero(free), part, strict=True) if share > 0.1]


def _largest_inertias(model: _core.Model, forest: Forest, names: Names, q: Array) -> Array:
    """Return (nv,) what the inertia along each freedom could be at most, however the bodies outboard were turned."""
    raw = np.asarray(model._poses(q))
    R, p = raw[:, :9].reshape(-1, 3, 3), raw[:, 9:]
    bodies = [forest.system.bodies[name] for name in forest.bodies[1:]]
    mass = [body.mass for body in bodies]
    centre = [R[k] @ body.com + p[k] for k, body in enumerate(bodies)]
    moment = [float(np.trace(np.abs(body.inertia))) for body in bodies]
    sizes = np.zeros(len(names.speeds))
    for k in range(len(bodies) - 1, -1, -1):  # everything outboard, as one body, from the tips inward
        hinge, parent = forest.hinges[k], int(forest.parent[k]) - 1
        if hinge.element.nv:
            arm = centre[k] - p[k] - R[k] @ hinge.outboard.position
            H = hinge.element.motion(q[names.q[hinge.name]])
            turning, sliding = (H[:3] ** 2).sum(0), (H[3:] ** 2).sum(0)
            sizes[names.v[hinge.name]] = turning * (moment[k] + mass[k] * (arm @ arm)) + sliding * mass[k]
        if parent >= 0 and mass[k] + mass[parent] > 0:
            both, apart = mass[k] + mass[parent], centre[k] - centre[parent]
            moment[parent] += moment[k] + mass[k] * mass[parent] / both * (apart @ apart)
            centre[parent] = centre[parent] + mass[k] / both * apart
            mass[parent] = both
        elif parent >= 0:
            moment[parent] += moment[k]
    return sizes


def needs_no_inertia(forest: Forest, names: Names, drives: tuple[Drive, ...]) -> NDArray[np.bool_]:
    """Return (nv,) which freedoms may move nothing: those that drives or the time give, and hinges without any mass.

    Hinges that carry no mass at all have poses, and kernels that ask for their accelerations say that there are none.
    """
    held = np.zeros(len(names.speeds), dtype=bool)
    for drive in drives:
        if isinstance(drive.connection.element, Hinge):
            held[names.v[drive.connection.name].start + drive.coordinate] = True
    empty = [True] * (forest.nb + 1)  # whether a body and all that it carries have neither mass nor armature
    for k in range(forest.nb, 0, -1):
        body, hinge = forest.system.bodies[forest.bodies[k]], forest.hinges[k - 1]
        armature = hinge.element.armature
        empty[k] &= not (body.mass or body.inertia.any() or (armature is not None and np.any(armature)))
        empty[int(forest.parent[k - 1])] &= empty[k]
        held[names.v[hinge.name]] |= empty[k]
        if isinstance(hinge.element, CustomHinge) and hinge.element.clock is not None:
            held[names.v[hinge.name].start + hinge.element.clock] = True
    return held


def refuse_idle_freedoms(skeleton: _core.Model, forest: Forest, names: Names, q: Array) -> None:
    """Refuse freedoms without inertia, found as vanishing pivots of the mass matrix at a generic configuration q."""
    weak = freedoms_without_inertia(skeleton, forest, names, q)
    for body, hinge in zip(names.bodies, forest.hinges, strict=True):
        span = names.v[hinge.name]
        idle = [name for name in names.speeds[span.start : span.stop] if name in weak]
        if idle:
            raise _no_inertia(forest, body, hinge, idle)


def _no_inertia(forest: Forest, body: str, hinge: TreeHinge, idle: list[str]) -> ModelError:
    found = forest.system.bodies[body]
    listed = ", ".join(map(repr, idle))
    several = "s" * (len(idle) > 1)
    moves = f"freedom{several} {listed} of hinge {hinge.name!r} ({hinge.element.kind}) move{'s' * (len(idle) == 1)}"
    remedy = (
        f"{moves} no inertia: give the body, or one it carries, mass away from the axis or a moment of inertia about "
        "it (inertia=, or a shape), drive what has none, or use Fixed()"
    )
    if found.mass and not found.inertia.any():
        remedy += (
            "; a point mass has no attitude: use hinges that only slide it, such as Prismatic, "
            "or CustomHinge(['x', 'y', 'z'], position=['x', 'y', 'z'])"
        )
    return ModelError(f"body {body!r}", "inertia", found.inertia.tolist(), remedy)
