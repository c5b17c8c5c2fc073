"""Nonlinear programming solvers: SciPy, and NLopt and IPOPT where installed.

minimize f(z)   with   lower <= z <= upper,   low <= g(z) <= high                                          (1)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array, BoolArray
from ...errors import MissingPackageError, ModelError

__all__ = ["METHODS", "NonlinearProgram", "SolverResult", "check_method", "solve"]


METHODS = (
    "auto",
    "SLSQP",
    "trust-constr",
    "least_squares",
    "L-BFGS-B",
    "COBYLA",
    "Nelder-Mead",
    "Powell",
    "differential_evolution",
    "ipopt",
)
DERIVATIVE_FREE = ("COBYLA", "Nelder-Mead", "Powell", "differential_evolution")  # methods without derivatives
_UNCONSTRAINED = ("L-BFGS-B", "Nelder-Mead", "Powell", "least_squares")  # methods without constraints


@dataclass(frozen=True, eq=False)
class NonlinearProgram:
    """Nonlinear program (1) in variables of magnitude one.

    Attributes
    ----------
    value : function of z (n,) to float
    gradient : function of z to (n,)
    rows : function of z to (m,)
    jacobian : function of z to (m, n), an array or a sparse matrix
    lower, upper : (n,)
    low, high : (m,)
    residuals, slopes : functions of z to (k,) and (k, n), or None
        Given if f is a sum of squares.
    curvature : function of z (n,), sigma, by (m,) to a sparse (n, n) matrix, or None
        Upper triangle of the second derivatives of sigma f + by . g, with the same pattern everywhere.
    integral : (n,) or None
        Whether a variable is an integer; for ``"differential_evolution"`` only.
    """

    value: Callable[[Array], float]
    gradient: Callable[[Array], Array]
    rows: Callable[[Array], Array]
    jacobian: Callable[[Array], Any]
    lower: Array
    upper: Array
    low: Array
    high: Array
    residuals: Callable[[Array], Array] | None = None
    slopes: Callable[[Array], Array] | None = None
    curvature: Callable[[Array, float, Array], Any] | None = None
    integral: BoolArray | None = None


@dataclass(frozen=True)
class SolverResult:
    """End point of a solver, whether it reported an optimum, and its message."""

    z: Array
    success: bool
    message: str
    iterations: int
    by: Array | None = None  # multipliers of rows, if the solver returns them


def check_method(item: str, method: Any, constrained: bool) -> None:
    """Raise for an unknown method, or one without constraints if there are some."""
    if not isinstance(method, str) or (method not in METHODS and not method.startswith("nlopt:")):
        known = ", ".join(map(repr, METHODS))
        raise ModelError(item, "method", method, f"use {known}, or 'nlopt:LD_SLSQP' and the like")
    if constrained and method in _UNCONSTRAINED:
        raise ModelError(item, "method", method, "it takes no constraints: use 'SLSQP', 'trust-constr' or 'ipopt'")


def solve(program: NonlinearProgram, z: Array, method: str, tolerance: float, most: int, seed: int = 0) -> SolverResult:
    """Solve a program from a start z (n,).

    Parameters
    ----------
    method : str
        One of `METHODS`, or ``"nlopt:"`` and the name of one of its algorithms.
    tolerance : float
        Tolerance of the objective and the rows.
    most : int
        Maximum number of iterations, or of evaluations for methods that count those.
    seed : int
        Seed of stochastic methods.
    """
    if method == "auto":
        squares = program.residuals is not None and not len(program.low)
        method = "least_squares" if squares else "SLSQP"
    if method == "ipopt":
        return _ipopt(program, z, tolerance, most)
    if method.startswith("nlopt:"):
        return _nlopt(program, z, method.partition(":")[2], tolerance, most, seed)
    if method == "least_squares":
        return _least_squares(program, z, tolerance, most)
    if method == "differential_evolution":
        return _evolution(program, z, tolerance, most, seed)
    return _minimize(program, z, method, tolerance, most)


def _minimize(program: NonlinearProgram, z: Array, method: str, tolerance: float, most: int) -> SolverResult:
    from scipy.optimize import Bounds, minimize

    options: dict[str, Any] = {"maxiter": most}
    given: dict[str, Any] = {} if method in DERIVATIVE_FREE else {"jac": program.gradient}
    tied = program.low == program.high
    if method == "SLSQP":
        options["ftol"] = tolerance
        given["constraints"] = _halves(program, tied)
    elif method == "trust-constr":
        given["constraints"] = _rows(program)
        given["hess"] = _quasi_newton()
        options |= {"gtol": tolerance, "xtol": tolerance, "barrier_tol": tolerance}
    elif method == "COBYLA":
        given["constraints"] = _rows(program)
        given["tol"] = tolerance
    else:
        given["tol"] = tolerance
    bounds = Bounds(program.lower, program.upper, keep_feasible=True)
    with warnings.catch_warnings():  # SciPy warns at every step of a linear objective, which has no curvature
        warnings.filterwarnings("ignore", message="delta_grad == 0.0")
        found = minimize(program.value, z, method=method, bounds=bounds, options=options, **given)
    count = int(getattr(found, "nit", 0) or found.nfev)
    by = getattr(found, "multipliers", None) if method == "SLSQP" else None
    return SolverResult(np.asarray(found.x, dtype=float), bool(found.success), str(found.message), count, by)


def _quasi_newton() -> Any:
    from scipy.optimize import BFGS

    return BFGS()


def _rows(program: NonlinearProgram) -> Any:
    from scipy.optimize import NonlinearConstraint

    if not len(program.low):
        return ()
    return (NonlinearConstraint(program.rows, program.low, program.high, jac=program.jacobian, hess=_quasi_newton()),)


def _halves(program: NonlinearProgram, tied: BoolArray) -> list[dict[str, Any]]:
    """Return the constraints in the form of SLSQP: equal to zero, or not below zero."""

    def dense(z: Array) -> Array:
        J = program.jacobian(z)
        return np.asarray(J.toarray() if hasattr(J, "toarray") else J)

    parts: list[dict[str, Any]] = []
    if tied.any():
        parts.append(
            {
                "type": "eq",
                "fun": lambda z: (program.rows(z) - program.low)[tied],
                "jac": lambda z: dense(z)[tied],
            }
        )
    for sign, edge in ((1.0, program.low), (-1.0, program.high)):
        here = np.isfinite(edge) & ~tied
        if here.any():
            parts.append(
                {
                    "type": "ineq",
                    "fun": lambda z, s=sign, e=edge, k=here: s * (program.rows(z) - e)[k],
                    "jac": lambda z, s=sign, k=here: s * dense(z)[k],
                }
            )
    return parts


def _least_squares(program: NonlinearProgram, z: Array, tolerance: float, most: int) -> SolverResult:
    from scipy.optimize import least_squares

    assert program.residuals is not None and program.slopes is not None
    wide = program.upper > program.lower
    upper = np.where(wide, program.upper, program.lower + 1e-12)  # the solver rejects equal bounds
    found = least_squares(
        program.residuals,
        np.clip(z, program.lower, upper),
        jac=program.slopes,
        bounds=(program.lower, upper),
        ftol=tolerance,
        xtol=tolerance,
        gtol=tolerance,
        max_nfev=most,
    )
    return SolverResult(np.asarray(found.x), bool(found.success), str(found.message), int(found.nfev))


def _evolution(program: NonlinearProgram, z: Array, tolerance: float, most: int, seed: int) -> SolverResult:
    from scipy.optimize import Bounds, NonlinearConstraint, differential_evolution

    if not np.isfinite(program.upper - program.lower).all():
        raise ModelError("optimize", "method", "differential_evolution", "it needs finite bounds")
    rows: Any = ()
    if len(program.low):
        rows = (NonlinearConstraint(program.rows, program.low, program.high),)
    found = differential_evolution(
        program.value,
        Bounds(program.lower, program.upper),
        constraints=rows,
        seed=seed,
        tol=max(tolerance, 1e-6),
        maxiter=most,
        polish=False,
        x0=z,
        integrality=program.integral,
    )
    return SolverResult(np.asarray(found.x), bool(found.success), str(found.message), int(found.nit))


def _nlopt(program: NonlinearProgram, z: Array, name: str, tolerance: float, most: int, seed: int) -> SolverResult:
    try:
        import nlopt
    except ImportError:
        raise MissingPackageError("methods of NLopt", "nlopt", "pip install 'dalembert[optimize]'") from None
    kind = getattr(nlopt, name, None)
    if not isinstance(kind, int):
        raise ModelError("optimize", "method", f"nlopt:{name}", "NLopt has no algorithm of that name")
    nlopt.srand(seed + 1)
    search = nlopt.opt(kind, len(z))
    search.set_lower_bounds(program.lower)
    search.set_upper_bounds(program.upper)

    def value(x: Array, gradient: Array) -> float:
        if gradient.size:
            gradient[:] = program.gradient(x)
        return program.value(x)

    search.set_min_objective(value)
    tied = program.low == program.high
    for sign, edge, here, add in (
        (1.0, program.low, tied, search.add_equality_mconstraint),
        (-1.0, program.low, np.isfinite(program.low) & ~tied, search.add_inequality_mconstraint),
        (1.0, program.high, np.isfinite(program.high) & ~tied, search.add_inequality_mconstraint),
    ):
        if here.any():

            def rows(result: Array, x: Array, slope: Array, s: float = sign, e: Array = edge, k: Any = here) -> None:
                result[:] = s * (program.rows(x) - e)[k]
                if slope.size:
                    slope[:] = s * np.asarray(program.jacobian(x))[k]

            add(rows, np.full(int(here.sum()), tolerance))
    search.set_ftol_rel(tolerance)
    search.set_xtol_rel(tolerance)
    search.set_maxeval(most * 10)
    try:
        z = np.asarray(search.optimize(np.clip(z, program.lower, program.upper)))
        ended = int(search.last_optimize_result())
    except nlopt.RoundoffLimited:
        return SolverResult(z, False, "NLopt: limited by rounding", int(search.get_numevals()))
    except (ValueError, RuntimeError) as error:
        raise ModelError("optimize", "method", f"nlopt:{name}", f"NLopt refuses the problem: {error}") from error
    reasons = {1: "success", 2: "stop value", 3: "ftol reached", 4: "xtol reached", 5: "most evaluations", 6: "time"}
    return SolverResult(z, ended in (1, 2, 3, 4), f"NLopt: {reasons.get(ended, ended)}", int(search.get_numevals()))


def _ipopt(program: NonlinearProgram, z: Array, tolerance: float, most: int) -> SolverResult:
    """Solve by IPOPT as shipped with CasADi; second derivatives that are not given are BFGS approximations."""
    try:
        import casadi
    except ImportError:
        raise MissingPackageError("runs of IPOPT", "casadi", "pip install 'dalembert[optimize]'") from None
    from .casadi_callbacks import both, curvature

    y = both(program, len(z))
    x = casadi.MX.sym("x", len(z))
    whole = y(x)
    options: dict[str, Any] = {
        "print_time": False,
        "ipopt": {"print_level": 0, "sb": "yes", "tol": max(tolerance, 1e-10), "max_iter": most},
    }
    if program.curvature is None:
        options["ipopt"]["hessian_approximation"] = "limited-memory"
    else:
        options["hess_lag"] = curvature(program, len(z))
        options["ipopt"]["mu_strategy"] = "adaptive"
    solver = casadi.nlpsol("search", "ipopt", {"x": x, "f": whole[0], "g": whole[1:]}, options)
    found = solver(x0=z, lbx=program.lower, ubx=program.upper, lbg=program.low, ubg=program.high)
    stats = solver.stats()
    reason = str(stats["return_status"])
    end = np.clip(np.asarray(found["x"]).ravel(), program.lower, program.upper)
    return SolverResult(end, bool(stats["success"]), f"IPOPT: {reason.replace('_', ' ')}", int(stats["iter_count"]))
