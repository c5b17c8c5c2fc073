"""Reynolds' equation of a journal bearing by finite volumes: the slow oracle of the impedance formulas.

In units of eta |V| R^2 / c^3 for the pressure p, R for the axial coordinate z and c for the film h = 1 - e cos(theta),
theta counted from the eccentricity e, with the squeeze velocity V at the angle alpha:

    (h^3 p_theta)_theta + h^3 p_zz = -12 cos(theta - alpha),   p = 0 at both ends z = +- L/D

and one of three conditions around the bearing:

    "gumbel"    the film goes all around; where its pressure is negative, it is left out
    "half"      the film covers the half that V heads for, theta = alpha +- pi/2, and ends there with p = 0
    "reynolds"  the film breaks by itself: p >= 0, and where p > 0 the equation holds
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import spsolve

__all__ = ["film_load"]

Array = NDArray[np.float64]


def film_load(
    ratio: float, alpha: float, slenderness: float, condition: str = "half", *, around: int = 240, along: int = 25
) -> Array:
    """Return the load (2,) that the film carries, along e and a quarter turn ahead, over 2 eta L (R/c)^3 |V|."""
    start, span = (alpha - np.pi / 2, np.pi) if condition == "half" else (alpha - np.pi, 2 * np.pi)
    step, width = span / around, slenderness / along
    theta = start + (np.arange(around) + 0.5) * step

    def cube(angle: Array) -> Array:
        return np.asarray((1 - ratio * np.cos(angle)) ** 3)

    ahead, behind = cube(theta + step / 2) / step**2, cube(theta - step / 2) / step**2
    ring = sparse.diags([-(ahead + behind), ahead[:-1], behind[1:]], [0, 1, -1]).tolil()
    if condition == "half":  # p = 0 half a cell beyond the first and the last centre
        ring[0, 0] -= behind[0]
        ring[-1, -1] -= ahead[-1]
    else:
        ring[0, -1], ring[-1, 0] = behind[0], ahead[-1]
    # from the middle of the bearing, where p is symmetric, to its end, where p = 0: cell centres likewise
    axial = sparse.diags([-2 * np.ones(along), np.ones(along - 1), np.ones(along - 1)], [0, 1, -1]).tolil()
    axial[0, 0], axial[-1, -1] = -1.0, -3.0
    laplace = sparse.kron(ring, sparse.eye(along)) + sparse.kron(sparse.diags(cube(theta) / width**2), axial)
    drive = np.repeat(-12 * np.cos(theta - alpha), along)
    p = _complementary(laplace.tocsc(), drive) if condition == "reynolds" else spsolve(laplace.tocsc(), drive)
    force = np.maximum(p, 0.0).reshape(around, along).sum(1) * 2 * width * step
    return np.array([force @ np.cos(theta), force @ np.sin(theta)]) / (4 * slenderness)


def _complementary(laplace: sparse.csc_matrix, drive: Array) -> Array:
    """Return p >= 0 with laplace p <= drive where p = 0 and equality elsewhere, by changing the set where p = 0."""
    broken = np.zeros(drive.size, dtype=bool)
    scale = float(abs(laplace.diagonal()).max())
    for _ in range(100):
        whole = sparse.diags((~broken).astype(float))
        p = spsolve(
            (whole @ laplace + sparse.diags(broken.astype(float) * -scale)).tocsc(), np.where(broken, 0.0, drive)
        )
        rest = drive - laplace @ p  # not zero where the film is broken
        wanted = np.where(broken, rest > 0, p < 0)
        if (wanted == broken).all():
            return np.asarray(p)
        broken = wanted
    raise AssertionError("the set where the film is broken does not settle")
