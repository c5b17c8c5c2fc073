"""Speeds, accelerations and jerks of a closed mechanism: linear, with one factorisation for all three.

    J v = b,   J a = c(v),   J j = d(v, a)                                                                         (1)

Garcia de Jalon and Bayo 1994, (3.6)-(3.8).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..answer import ArrayAnswer, count_text, range_text
from ..checks import checked
from ..errors import ModelError, SingularityError
from ..numerics.factorization import Factors, factor
from ..numerics.rank import ROW_RANK_TOL, null_space
from .equations import Equations
from .position_solver import start_of

__all__ = ["RateResult", "find_rates", "jerk_terms", "speed_scales"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class RateResult(ArrayAnswer):
    """Rates of a position.

    Attributes
    ----------
    v, a, j : (nv,)
        Speeds, accelerations and jerks; `j` is None if it was not asked for.
    rank : int
        Of J, rows that bind speeds alone included.
    free : int
        Degrees of freedom that nothing drives; rates of those are the shortest possible.
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
    """Return row scales (rows,) for speeds: rows that bind speeds alone are made as long as others.

    One that is far shorter than its like is left short: it says nothing at closed positions, and near them what it says
    is rounding.
    """
    length = np.linalg.norm(J * equations.column_scales, axis=1)
    alone = equations.row_scales <= 0.0
    length = np.maximum(length, 1e-3 * float(length[alone].max(initial=0.0)))
    return np.where(alone, 1.0 / np.where(length > 0.0, length, 1.0), equations.row_scales)


def jerk_terms(equations: Equations, q: Array, v: Array, a: Array, t: float) -> Array:
    """Return d (rows,); by differences along the motion where equations give none."""
    own: Any = getattr(equations, "jerk_terms", None)
    if own is not None:
        return np.asarray(own(q, v, a, t), dtype=float)
    h = 1e-3 / max(1.0, float(np.abs(v / equations.column_scales).max(initial=0.0)))

    def left(s: float) -> Array:
        """Return c - J a at a time s from now, a being what it is now."""
        there = equations.retract(q, s * v + s * s / 2 * a)
        c = equations.acceleration_terms(there, v + s * a, t + s)
        return c - equations.jacobian(there, t + s) @ a

    d: Array = (8 * (left(h) - left(-h)) - (left(2 * h) - left(-2 * h))) / (12 * h)
    return d


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
    """Return speeds, accelerations and jerks at a closed position.

    Parameters
    ----------
    equations : Equations
    q : (nq,)
    t : float, s
    jerk : bool
        Whether jerks are wanted.
    free : bool
        Whether degrees of freedom may be left: rates are the shortest then. See `motion_space` for all of them.
    solver : str
        ``"auto"``, ``"qr"``, ``"normal"``, ``"elimination"`` or ``"sparse"``.

    Raises
    ------
    ModelError
        If degrees of freedom are left that nothing drives.
    SingularityError
        If the speeds asked for contradict each other: a dead point, or too many drives.
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
            raise SingularityError(f"{what} asked for at t = {t:.6g} s are no finite numbers: look at laws and times")
        rate = columns * factors.solve(rows * terms)
        missed = rows * (J @ rate - terms)
        size = float(np.abs(missed).max(initial=0.0))
        usual = np.abs(np.concatenate([rows * terms, rate / columns]))
        if size > 1e-7 * float(usual.max(initial=0.0)):
            name = equations.row_names[int(np.abs(missed).argmax())]
            raise SingularityError(
                f"{what} asked for at t = {t:.6g} s contradict each other, most of all in {name!r} (by {size:.3g} of a "
                "length per s): a dead point, or more drives than degrees of freedom; drive another coordinate"
            )
        return rate

    v = solve(equations.velocity_terms(at, t), "speeds")
    a = solve(equations.acceleration_terms(at, v, t), "accelerations")
    j = solve(jerk_terms(equations, at, v, a, t), "jerks") if jerk else None
    return RateResult(v, a, j, factors.rank, left, factors)


def _free_names(equations: Equations, J: Array, rows: Array) -> str:
    """Return the coordinates that move most where nothing holds them."""
    moved = np.linalg.norm(null_space(rows[:, None] * J * equations.column_scales, ROW_RANK_TOL, 0.0), axis=1)
    return ", ".join(equations.speed_names[k] for k in np.argsort(-moved)[:4])
