"""Velocities, accelerations and jerks of a closed mechanism, with one factorisation for all three.

    J v = b,   J a = c(v),   J j = d(v, a)                                                                         (1)

Garcia de Jalon and Bayo 1994, (3.6)-(3.8).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..answer import ArrayAnswer, count_text, range_text
from ..arrays import Array
from ..checks import checked
from ..errors import ModelError, SingularityError
from ..numerics.factorization import Factors, factor
from ..numerics.rank import ROW_RANK_TOL, null_space
from .equations import Equations
from .position_solver import start_of

__all__ = ["RateResult", "find_rates", "jerk_terms", "speed_scales"]


@dataclass(frozen=True, eq=False, repr=False)
class RateResult(ArrayAnswer):
    """Velocities, accelerations and jerks at a configuration.

    Attributes
    ----------
    v, a, j : (nv,)
        Velocities, accelerations and jerks; `j` is None unless requested.
    rank : int
        Of J, nonholonomic rows included.
    free : int
        Undriven degrees of freedom; their rates are of minimum norm.
    """

    v: Array
    a: Array
    j: Array | None
    rank: int
    free: int
    factors: Factors
    _arrays: ClassVar = {"v": (("speed",), ""), "a": (("speed",), ""), "j": (("speed",), "")}

    def _headline(self) -> str:
        speeds = f"{count_text(len(self.v), 'velocity', 'velocities')} of {range_text(self.v)} rad/s or m/s"
        return f"{speeds}, rank {self.rank}, {self.free} dof free"


def speed_scales(equations: Equations, J: Array) -> Array:
    """Return row scales (rows,) for velocities: nonholonomic rows are scaled to the length of the others.

    A row that is far shorter than comparable ones keeps its length: it is zero at closed configurations and rounding
    near them.
    """
    length = np.linalg.norm(J * equations.column_scales, axis=1)
    alone = equations.row_scales <= 0.0
    length = np.maximum(length, 1e-3 * float(length[alone].max(initial=0.0)))
    return np.where(alone, 1.0 / np.where(length > 0.0, length, 1.0), equations.row_scales)


def jerk_terms(equations: Equations, q: Array, v: Array, a: Array, t: float) -> Array:
    """Return d (rows,); by finite differences along the motion where equations provide none."""
    own: Any = getattr(equations, "jerk_terms", None)
    if own is not None:
        return np.asarray(own(q, v, a, t), dtype=float)
    h = 1e-3 / max(1.0, float(np.abs(v / equations.column_scales).max(initial=0.0)))

    def left(s: float) -> Array:
        """Return c - J a at a time s from now, with the present a."""
        there = equations.retract(q, s * v + s * s / 2 * a)
        c = equations.acceleration_terms(there, v + s * a, t + s)
        return c - equations.jacobian(there, t + s) @ a

    return (8 * (left(h) - left(-h)) - (left(2 * h) - left(-2 * h))) / (12 * h)


@checked("equations", "t", "free", "solver", "jerk")
def find_rates(
    equations: Equations,
    q: ArrayLike | None = None,
    t: float = 0.0,
    *,
    jerk: bool = True,
    free: bool = False,
    solver: str = "auto",
) -> RateResult:
    """Return velocities, accelerations and jerks at a closed configuration.

    Parameters
    ----------
    equations : Equations
    q : (nq,)
    t : float, s
    jerk : bool
        Compute jerks too.
    free : bool
        Allow undriven degrees of freedom; rates are then of minimum norm. See `motion_space` for all of them.
    solver : str
        ``"auto"``, ``"qr"``, ``"normal"``, ``"elimination"`` or ``"sparse"``.

    Raises
    ------
    ModelError
        If degrees of freedom are not driven.
    SingularityError
        If the prescribed velocities contradict each other: a dead point, or too many drives.
    """
    at = start_of(equations, q)
    J = equations.jacobian(at, t)
    rows = speed_scales(equations, J)
    columns = equations.column_scales
    factors = factor(rows[:, None] * J * columns, solver, getattr(equations, "pattern", None))
    left = equations.nv - factors.rank
    if left and not free:
        raise ModelError(
            "find_rates", "equations", f"{left} DOF more than drives",
            f"drive as many, or take them all from da.motion_space; free now: {_free_names(equations, J, rows)}",
        )  # fmt: skip

    def solve(terms: Array, what: str) -> Array:
        if not np.isfinite(terms).all():
            raise SingularityError(f"{what} prescribed at t = {t:.6g} s are not finite: check the time laws")
        rate = columns * factors.solve(rows * terms)
        missed = rows * (J @ rate - terms)
        size = float(np.abs(missed).max(initial=0.0))
        usual = np.abs(np.concatenate([rows * terms, rate / columns]))
        if size > 1e-7 * float(usual.max(initial=0.0)):
            name = equations.row_names[int(np.abs(missed).argmax())]
            raise SingularityError(
                f"{what} prescribed at t = {t:.6g} s contradict each other, most in {name!r} (by {size:.3g} of a "
                "length per s): a dead point, or more drives than degrees of freedom; drive another coordinate"
            )
        return rate

    v = solve(equations.velocity_terms(at, t), "velocities")
    a = solve(equations.acceleration_terms(at, v, t), "accelerations")
    j = solve(jerk_terms(equations, at, v, a, t), "jerks") if jerk else None
    return RateResult(v, a, j, factors.rank, left, factors)


def _free_names(equations: Equations, J: Array, rows: Array) -> str:
    """Return the names of the free coordinates that move most."""
    moved = np.linalg.norm(null_space(rows[:, None] * J * equations.column_scales, ROW_RANK_TOL, 0.0), axis=1)
    return ", ".join(equations.speed_names[k] for k in np.argsort(-moved)[:4])
