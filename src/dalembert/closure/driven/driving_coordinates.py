"""Suitable driving coordinates of a mechanism at a configuration.

With N (n, f) an orthonormal basis of the scaled motions at q, a coordinate with the scaled row c drives well if |c N|
is large. |c N| = 0 is a dead point of the coordinate. Several coordinates drive f degrees of freedom together if the
matrix of their rows times N has a large smallest singular value; they are chosen one after the other, by pivots.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...checks import checked
from ...numerics.rank import null_space
from ..equations import Equations
from ..scaled_equations import CoordinateMeasure, ScaledEquations, measures_of

__all__ = ["best_drives", "best_driving_coordinates"]


DEAD_POINT_TOL = 1e-6


@checked("equations", "q", "t")
def best_driving_coordinates(equations: Equations, q: Array, t: float = 0.0) -> tuple[str, ...]:
    """Return the coordinates that can be driven from q (nq,), the best first; for several DOF, a set.

    Parameters
    ----------
    equations : Equations
        Without the unsuitable drive.
    q : (nq,) rad or m
        A closed configuration, such as a dead point.
    t : float, s

    Returns
    -------
    tuple of str
        With one degree of freedom, all coordinates that move, the fastest first. With f degrees of freedom, f
        coordinates that together determine the motion. Empty if nothing moves.
    """
    return best_drives(
        ScaledEquations(equations, t=t), np.asarray(q, dtype=float), tuple(measures_of(equations).values())
    )


def best_drives(closed: ScaledEquations, q: Array, measures: tuple[CoordinateMeasure, ...]) -> tuple[str, ...]:
    """Return the names among `measures` that can be driven from q (nq,); see `best_driving_coordinates`."""
    N = null_space(closed.jacobian(q), free=closed.free)
    if not N.shape[1] or not measures:
        return ()
    rows = np.array([m.row(q) * closed.scales / m.scale for m in measures]) @ N
    if N.shape[1] == 1:
        size = np.abs(rows[:, 0])
        order = np.argsort(-np.round(size, 9), kind="stable")
        return tuple(measures[k].name for k in order if size[k] > DEAD_POINT_TOL)
    chosen: list[int] = []
    left = rows.copy()
    for _ in range(N.shape[1]):
        size = np.linalg.norm(left, axis=1)
        k = int(np.argmax(np.round(size, 9)))
        if size[k] < DEAD_POINT_TOL:
            break
        chosen.append(k)
        along = left[k] / size[k]
        left = left - np.outer(left @ along, along)
    return tuple(measures[k].name for k in chosen)
