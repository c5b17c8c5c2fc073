"""Coupled nodes: rigid regions (RBE2) and mean-motion regions (RBE3)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, BoolArray
from ..bodies.nodal_matrices import rigid_motions
from ..checks import finite_array, shape_of
from ..errors import ModelError

if TYPE_CHECKING:
    from .structure import Structure

__all__ = ["mean_region", "rigid_region"]


def rigid_region(structure: Structure, nodes: ArrayLike, at: Any = None) -> Structure:
    """Return the structure with nodes that follow one node rigidly; see `Structure.rigid_region`."""
    from scipy.sparse import csr_array, eye_array

    tied = _region(structure, nodes, "rigid region", 1)
    grown, master = structure, at
    if at is None or shape_of(at) == (3,):
        place = structure.nodes[tied].mean(0) if at is None else at
        grown, master = _with_node(structure, finite_array(place, (3,), item="rigid region", field="at"))
    master = grown.node(master, item="rigid region", field="at")
    tied = tied[tied != master]
    if grown is structure and not structure.active[6 * master + 3 : 6 * master + 6].all():
        remedy = "it has no rotations of its own: give its position, and a new node is put there"
        raise ModelError("rigid region", "at", at, remedy)
    rows = (6 * tied[:, None] + np.arange(6)).ravel()
    if _follow(grown, tied).any():
        raise ModelError("rigid region", "nodes", nodes, "some of them follow other nodes already")
    follow = rigid_motions(grown.nodes[tied], grown.nodes[master])[:, [3, 4, 5, 0, 1, 2]]
    columns = np.tile(6 * master + np.arange(6), len(rows))
    T = eye_array(grown.size).tolil()
    T[rows, rows] = 0.0
    T = T.tocsr() + csr_array((follow.ravel(), (np.repeat(rows, 6), columns)), shape=T.shape)
    before = T if grown.expansion is None else csr_array(grown.expansion @ T)
    return replace(grown, mass=grown.mass, lumps=None, expansion=before)


def mean_region(structure: Structure, nodes: ArrayLike, at: Any = None, weights: ArrayLike | None = None) -> Structure:
    """Return the structure with a node that follows the mean motion of others; see `Structure.mean_region`."""
    from scipy.sparse import csr_array, diags_array

    item = "mean region"
    led = _region(structure, nodes, item, 3)
    if _follow(structure, led).any():
        raise ModelError(item, "nodes", nodes, "some of them follow other nodes already")
    shares = np.ones(len(led)) if weights is None else finite_array(weights, (len(led),), item=item, field="weights")
    if (shares < 0).any() or shares.sum() <= 0:
        raise ModelError(item, "weights", weights, "none may be negative, and not all zero")
    place = structure.nodes[led].mean(0) if at is None else finite_array(at, (3,), item=item, field="at")
    grown, node = _with_node(structure, place)
    arms = rigid_motions(structure.nodes[led], place).reshape(-1, 6, 6)[
        :, :3
    ]  # displacement by [rotation; translation]
    G = np.einsum("n,nij,nik->jk", shares, arms, arms)
    radius = float(np.ptp(structure.nodes[led], axis=0).max()) or 1.0
    scale = np.array([1 / radius] * 3 + [1.0] * 3)
    if np.linalg.cond(G * np.outer(scale, scale)) > 1e10:
        raise ModelError(
            item, "nodes", nodes, "they lie on a line and do not define the rotation about it: choose others"
        )
    mean = np.linalg.solve(G, np.einsum("n,nij->jni", shares, arms).reshape(6, -1))[[3, 4, 5, 0, 1, 2]]
    columns = np.tile((6 * led[:, None] + np.arange(3)).ravel(), 6)
    rows = np.repeat(6 * node + np.arange(6), 3 * len(led))
    extra = csr_array((mean.ravel(), (rows, columns)), shape=(grown.size, grown.size))
    # it has no motion besides that mean, so that a mass on it acts on the others
    others = diags_array(np.where(np.arange(grown.size) // 6 == node, 0.0, 1.0))
    return replace(grown, expansion=csr_array(others @ grown.expansion + extra))


def _with_node(structure: Structure, place: Array) -> tuple[Structure, int]:
    """Return the structure with one more node, without mass and stiffness, and its number."""
    from scipy.sparse import block_diag, csr_array, eye_array

    empty = csr_array((6, 6))
    old = eye_array(structure.size) if structure.expansion is None else structure.expansion
    grown = replace(
        structure,
        nodes=np.vstack([structure.nodes, place]),
        mass=csr_array(block_diag([structure.mass, empty])),
        stiffness=csr_array(block_diag([structure.stiffness, empty])),
        full_mass=csr_array(block_diag([structure.full_mass, empty])),
        lumps=None,
        expansion=csr_array(block_diag([old, eye_array(6)])),
    )
    return grown, len(structure.nodes)


def _follow(structure: Structure, nodes: NDArray[np.int64]) -> BoolArray:
    """Return the nodes that follow others."""
    if structure.expansion is None:
        return np.zeros(len(nodes), dtype=bool)
    rows = (6 * nodes[:, None] + np.arange(6)).ravel()
    others = structure.expansion[rows].tolil()
    others[np.arange(len(rows)), rows] = 0.0
    return (abs(others.tocsr()).sum(axis=1) > 0).reshape(-1, 6).any(axis=1)


def _region(structure: Structure, nodes: ArrayLike, item: str, least: int) -> NDArray[np.int64]:
    n = len(structure.nodes)
    given = np.asarray(nodes)
    if given.dtype == bool and given.shape == (n,):
        given = np.flatnonzero(given)
    if given.ndim != 1 or given.dtype.kind not in "iu" or len(given) < least:
        raise ModelError(item, "nodes", nodes, f"give at least {least} node{'s' if least > 1 else ''}, by number")
    if given.min() < 0 or given.max() >= n or len(np.unique(given)) != len(given):
        raise ModelError(item, "nodes", nodes, f"numbers from 0 to {n - 1}, each once")
    return given.astype(np.int64)
