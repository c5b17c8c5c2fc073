"""Dense solution of constrained equations of motion, with redundant rows and singular mass matrices."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..errors import SingularityError
from ..numerics.rank import numerical_rank
from .setting import RANK_TOL

__all__ = ["constrained"]


SINGULAR_TOL = 1e-12  # inertia along the null space of the rows, relative to the largest


def constrained(M: Array, f: Array, G: Array, g: Array) -> tuple[Array, Array]:
    """Return a (n,) and lam (m,) of M a = f + G^T lam, G a + g = 0.

    The null space of the rows comes from their singular values, so that rows may be redundant; lam then has minimum
    norm for rows scaled to unit size.

    Raises
    ------
    SingularityError
        If a free motion has no inertia.
    """
    diagonal = np.diag(M)
    size = np.sqrt(np.maximum(diagonal, 1e-6 * diagonal.max(initial=0.0)))
    size = np.where(size > 0, size, 1.0)
    A, rhs = M / np.outer(size, size), f / size
    B = G / size
    norms = np.linalg.norm(B, axis=1)
    scale = 1 / np.where(norms > RANK_TOL * norms.max(initial=0.0), norms, np.inf)  # rows at round-off level
    B = scale[:, None] * B
    W, s, V = np.linalg.svd(B) if len(G) else (np.zeros((0, 0)), np.zeros(0), np.eye(len(M)))
    rank = numerical_rank(s, RANK_TOL, 0.0)
    taken, free = V[:rank], V[rank:]
    given = taken.T @ (W[:, :rank].T @ (-scale * g) / s[:rank])
    inertia = free @ A @ free.T
    values, modes = np.linalg.eigh(inertia) if len(free) else (np.ones(1), np.zeros((0, 0)))
    if len(free) and values[0] < SINGULAR_TOL * max(values[-1], 1.0):
        raise SingularityError(
            "a free motion has no inertia: the equations of motion have no solution; add mass or inertia"
        )
    a = given + free.T @ (modes @ ((modes.T @ (free @ (rhs - A @ given))) / values)) if len(free) else given
    lam = W[:, :rank] @ (taken @ (A @ a - rhs) / s[:rank])
    return a / size, lam * scale
