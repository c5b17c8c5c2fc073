"""Where finite displacements of inputs lead: starts for Newton's method (Garcia de Jalon and Bayo 1994, 3.3.2).

Known coordinates go from x0 at t to x1 a time h later. Their speeds may be

    "rate"         those of their laws at t                                                                          (1)
    "secant"       (x1 - x0) / h                                                                                     (2)
    "projection"   such that x0 + h x' is the foot of x1 on the tangent, which the speed of the law gives            (3)

and, for a start of order 2, their accelerations x'' = 2 (x1 - x0 - h x') / h^2, (3.10). With these, speeds and
accelerations of the others follow from J, factored once:  q + h v + h^2 a / 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import one_of
from ..closure.position_solver import start_of
from ..errors import ModelError
from ..numerics.factorization import factor
from .equations import NaturalEquations

__all__ = ["displacement_guess"]

Array = NDArray[np.float64]


def displacement_guess(
    equations: NaturalEquations, q: ArrayLike, t: float, goal: float, *, order: int = 1, rule: str = "rate"
) -> Array:
    """Return a guess (n,) of the position at the time `goal` from the closed position q (n,) at t.

    Parameters
    ----------
    equations : NaturalEquations
        Without wheels.
    order : int
        0: the others stay; 1: with speeds; 2: with speeds and accelerations.
    rule : str
        ``"rate"``, ``"secant"`` or ``"projection"``: which speeds inputs are given, (1) to (3).
    """
    one_of("displacement_guess", "rule", rule, ("rate", "secant", "projection"))
    if order not in (0, 1, 2):
        raise ModelError("displacement_guess", "order", order, "use 0, 1 or 2")
    if not equations.sweeps:
        raise ModelError("displacement_guess", "equations", "wheels or switched angles", "use follow")
    at, h = start_of(equations, q), goal - t
    if order == 0 or h == 0.0:
        return at
    here = np.array(equations.known(t, third=False))
    way = np.array(equations.known(goal, third=False))[0] - here[0]
    known = np.zeros_like(here)
    known[0], known[1] = here[0], _speeds(equations, here[1], way, h, rule)
    J = equations._rows.jacobian(at, known)
    S, D = equations.row_scales, equations.column_scales
    factors = factor(S[:, None] * J * D)
    v = D * factors.solve(S * equations._rows.velocity_terms(at, known))
    if order == 1:
        return np.asarray(at + h * v)
    known[2] = 2.0 * (way - h * known[1]) / (h * h)
    a = D * factors.solve(S * equations._rows.acceleration_terms(at, v, known))
    return np.asarray(at + h * v + h * h / 2 * a)


def _speeds(equations: NaturalEquations, rates: Array, way: Array, h: float, rule: str) -> Array:
    if rule == "rate":
        return rates
    if rule == "secant":
        return way / h
    speeds = way / h
    for c in equations.coordinates:  # components of a point belong together
        mine = [k for k, name in enumerate(equations.driven_names) if name in c.names]
        e = rates[mine]
        if len(mine) > 1 and float(e @ e) > 0.0:
            speeds[mine] = float(way[mine] @ e) / float(e @ e) / h * e
    return np.asarray(speeds)
