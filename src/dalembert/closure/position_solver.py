"""Position solver: Newton's method on closure equations in any coordinates.

    J(q_i) x = -Phi(q_i),   q_(i+1) = q_i + s x                                                                    (1)

`"full"` factors J at every iterate, `"modified"` once (Garcia de Jalon and Bayo 1994, (3.11)), `"mixed"` every few.
Damped steps try s = 1, 1/2, 1/3, 1/6, 1/12, ... until |Phi| falls (section 3.2). If none does and J is that of an
earlier iterate, it is factored anew. Redundant rows are consistent only where the mechanism closes. (1) is therefore
solved in least squares, and closure is judged by |Phi|.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..answer import ArrayAnswer
from ..arrays import Array
from ..checks import checked, finite_array, one_of, positive
from ..errors import AssemblyError, ModelError, SingularityError
from ..numerics.factorization import SOLVERS, Factors, factor
from .equations import Equations

__all__ = ["PositionResult", "find_position", "start_of"]


STEP_FRACTIONS = (1.0, 1 / 2, 1 / 3, 1 / 6, 1 / 12, 1 / 24, 1 / 100, 1 / 1000)


@dataclass(eq=False, repr=False)
class PositionResult(ArrayAnswer):
    """Result of Newton's method.

    Attributes
    ----------
    q : (nq,) m or rad
    t : float, s
    success : bool
        True if the equations are satisfied.
    status : str
        ``"closed"``; ``"stalled"`` if no step reduces |Phi|; ``"not converged"`` after `max_iterations`;
        ``"singular"``.
    residual : float
        |Phi|, rows scaled by a length of the mechanism unless `scaled` was False.
    iterations, factorisations : int
    iterates : (iterations + 1, nq)
        The guess and the iterate after each step.
    history : list of float
        |Phi| at each of them.
    rows : dict of str to float
        Residuals of the unsatisfied rows, largest first, unscaled: m2, m, 1 or rad.
    """

    q: Array
    t: float
    success: bool
    status: str
    residual: float
    iterations: int
    factorisations: int
    iterates: Array
    history: list[float]
    rows: dict[str, float] = field(default_factory=dict)
    factors: Factors | None = field(default=None, repr=False)
    _arrays: ClassVar = {
        "q": (("coordinate",), ""),
        "iterates": (("iterate", "coordinate"), ""),
        "history": (("iterate",), ""),
    }

    def _headline(self) -> str:
        return f"{self.status} after {self.iterations} iterations, |Phi| = {self.residual:.3g}"

    @property
    def message(self) -> str:
        """Outcome in one sentence."""
        if self.success:
            return f"closed after {self.iterations} iterations, |Phi| = {self.residual:.3g}"
        worst = ", ".join(f"{name!r} by {value:.6g}" for name, value in list(self.rows.items())[:3])
        why = {
            "stalled": "no step reduces |Phi|: a driven value is out of reach, or rows contradict each other",
            "not converged": "a driven value is out of reach, or the guess is far away",
            "singular": 'the Jacobian became singular; use solver="qr"',
        }[self.status]
        return (
            f"{self.status} after {self.iterations} iterations at t = {self.t:.6g} s, |Phi| = {self.residual:.3g}: "
            f"{why}; missed: {worst}. Give a nearer guess, or change the driven values in small steps"
        )


def start_of(equations: Equations, q: ArrayLike | None) -> Array:
    """Return q, or the described configuration."""
    if q is not None:
        return finite_array(q, (equations.nq,), item="equations", field="q")
    start: Any = getattr(equations, "start", None)
    if start is None:
        raise ModelError("equations", "q", None, "give a configuration")
    return np.asarray(start(), dtype=float)


def scales_of(equations: Equations, scaled: bool) -> tuple[Array, Array]:
    """Return row scales, zero for nonholonomic rows, and column scales."""
    bound = equations.row_scales > 0.0
    if not scaled:
        return bound.astype(float), np.ones(equations.nv)
    return equations.row_scales, equations.column_scales


@checked("equations", "method", "solver", "scaled", "t", "check")
def find_position(
    equations: Equations,
    q: ArrayLike | None = None,
    t: float = 0.0,
    *,
    method: str = "full",
    refactor: int = 3,
    line_search: bool = True,
    solver: str = "auto",
    tolerance: float = 1e-12,
    max_iterations: int = 50,
    scaled: bool = True,
    factors: Factors | None = None,
    check: bool = True,
) -> PositionResult:
    """Solve Phi(q, t) = 0 from a guess.

    Parameters
    ----------
    equations : Equations
    q : (nq,)
        Guess; default the described configuration.
    t : float, s
    method : str
        ``"full"``, ``"modified"`` or ``"mixed"``.
    refactor : int
        With ``"mixed"``, iterations between factorisations.
    line_search : bool
        Require |Phi| to fall in every step.
    solver : str
        ``"auto"``, ``"qr"``, ``"normal"``, ``"elimination"`` or ``"sparse"`` (see `numerics.factorization`).
    tolerance : float
        Of |Phi|; at least the rounding error where equations provide it.
    max_iterations : int
    scaled : bool
        Make rows and columns dimensionless first; if False, |Phi| keeps its units.
    factors : Factors
        Of J nearby, with the same scales: ``"modified"`` uses these and computes none.
    check : bool
        Raise an error if the mechanism does not close.

    Raises
    ------
    AssemblyError
        If no position is found, with the unsatisfied rows.
    """
    one_of("find_position", "method", method, ("full", "modified", "mixed"))
    one_of("find_position", "solver", solver, SOLVERS)
    positive("find_position", tolerance=tolerance, max_iterations=max_iterations, refactor=refactor)
    rows, columns = scales_of(equations, scaled)
    if scaled:  # a residual of rounding size is closed
        tolerance = max(tolerance, float(getattr(equations, "floor", 0.0)))
    at = start_of(equations, q)
    r = rows * equations.residual(at, t)
    iterates, history = [at], [float(np.linalg.norm(r))]
    made, status, fresh = 0, "not converged", False
    pattern: Any = getattr(equations, "pattern", None)
    choice: Any = getattr(equations, "choice", lambda q, t: ())
    chosen = choice(at, t)
    for count in range(int(max_iterations) + 1):
        if history[-1] <= tolerance:
            status = "closed"
            break
        if count == max_iterations:
            break
        due = {"full": True, "modified": factors is None, "mixed": factors is None or count % refactor == 0}[method]
        if choice(at, t) != chosen:  # the matrix was built for other active rows
            due, chosen = True, choice(at, t)
        while True:
            if due:
                try:
                    factors = factor(rows[:, None] * equations.jacobian(at, t) * columns, solver, pattern)
                except SingularityError:
                    status = "singular"
                    break
                made, fresh = made + 1, True
            assert factors is not None
            x = columns * factors.solve(-r)
            for s in STEP_FRACTIONS if line_search else (1.0,):
                trial = equations.retract(at, s * x)
                r_trial = rows * equations.residual(trial, t)
                size = float(np.linalg.norm(r_trial))
                if size < history[-1]:
                    break
            if not line_search or size < history[-1] or fresh:
                break
            due = True  # the earlier matrix gives no descent: factor the current one
        if status == "singular" or not np.isfinite(size):
            break
        if line_search and not size < history[-1]:
            status = "stalled"
            break
        at, r, fresh = trial, r_trial, False
        iterates.append(at)
        history.append(size)
    raw = equations.residual(at, t)
    order = np.argsort(-np.abs(r))
    missed = {equations.row_names[k]: float(raw[k]) for k in order if abs(r[k]) > tolerance / np.sqrt(max(len(r), 1))}
    found = PositionResult(
        at, float(t), status == "closed", status, history[-1], len(history) - 1, made, np.array(iterates), history,
        missed if status != "closed" else {}, factors,
    )  # fmt: skip
    if check and not found.success:
        error = AssemblyError(found.message)
        error.q, error.residuals = found.q, found.rows
        raise error
    return found
