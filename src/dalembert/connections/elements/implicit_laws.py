"""Implicit laws in NumPy: the method of core/elements/implicit_laws.hpp, one set of inputs at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array, BoolArray

if TYPE_CHECKING:
    from .element import Element

__all__ = [
    "MAX_CONTRACTION",
    "continue_unknowns",
    "jacobian_nearly_constant",
    "slopes_of_unknowns",
    "solve_unknowns",
    "solved_from",
    "weakest_direction",
]


_ROUNDS, _HALVINGS, _PRECISE, _ROUNDING = 60, 40, 1e-10, 1e-14
MAX_CONTRACTION = 0.25  # fraction of a correction that may remain in the next
SAFE_SLOPE_CHANGE = 0.5  # relative change of the slopes below which they cannot become singular in between
MIN_STEP_LENGTH = 1e-6  # part of a Newton step below which the search stops


def solve_unknowns(element: Element, inputs: Array) -> Array:
    """Return inputs (n, len(element.takes)) with the unknowns appended; NaN where there is no solution."""
    found = np.array([_solve(element, row) for row in inputs])
    return np.concatenate([inputs, found.reshape(len(inputs), len(element.unknowns))], axis=1)


def solved_from(element: Element, given: Array, start: Array) -> Array:
    """Return the unknowns (n,) found from an initial guess (n,) for inputs (takes,); NaN if none."""
    return _solve(element, given, start)


def jacobian_nearly_constant(J: Array, then: Array) -> BoolArray:
    """Return whether a Jacobian (..., n, n) changed so little that it was regular in between."""
    changed = np.linalg.solve(J, then) - np.eye(J.shape[-1])
    return np.linalg.norm(changed, axis=(-2, -1)) <= SAFE_SLOPE_CHANGE


LawEvaluation = Callable[[Array, Array], tuple[Array, Array]]


def continue_unknowns(look: LawEvaluation, given: Array, then: Array, unknowns: Array) -> Array:
    """Return the unknowns (n,) continued along a straight line between two inputs; NaN at a fold.

    Newton's method from the last solution, in steps so short that it contracts (Deuflhard 2004, section 5.1).

    Parameters
    ----------
    look : function
        From inputs and unknowns to residuals (n,) and their slopes (n, n).
    given, then : (takes,)
    unknowns : (n,)
        At `given`.
    """

    def found(begin: Array, at: Array, u: Array, before: Array) -> tuple[Array, Array] | None:
        last, start = np.inf, u
        for _ in range(_ROUNDS):
            r, J = look(at, u)
            step = -np.linalg.solve(J, r)
            length, size = float(np.linalg.norm(step)), 1.0 + float(np.linalg.norm(u))
            if length <= _PRECISE * size:
                half = look(0.5 * (begin + at), 0.5 * (start + u))[1]
                return (
                    (u + step, J)
                    if jacobian_nearly_constant(before, J) and jacobian_nearly_constant(before, half)
                    else None
                )
            if not length <= MAX_CONTRACTION * last:
                return None
            u, last = u + step, length
        return None

    done, part, u, J = 0.0, 1.0, unknowns, look(given, unknowns)[1]
    while done < 1.0:
        part = min(part, 1.0 - done)
        try:
            ahead = found(given + done * (then - given), given + (done + part) * (then - given), u, J)
        except np.linalg.LinAlgError:
            ahead = None
        if ahead is not None:
            done, part, u, J = done + part, 2.0 * part, *ahead
            continue
        part *= 0.5
        if part < MIN_STEP_LENGTH:
            return np.full(len(u), np.nan)
    return u


def slopes_of_unknowns(element: Element, given: Array, unknowns: Array | None = None) -> Array:
    """Return the derivatives of the residuals by the unknowns (n, n); NaN without a solution.

    Parameters
    ----------
    element : Element
    given : (takes,)
    unknowns : (n,)
        Default: the solution from the initial guess of the law.
    """
    program, n = element.program, len(element.unknowns)
    assert program is not None
    at = _solve(element, given) if unknowns is None else unknowns
    numbers = program.evaluate([*given, *at])[element.output_count + n : element.output_count + n + n * n]
    return np.array([float(x) for x in numbers]).reshape(n, n)


def weakest_direction(J: Array, usual: Array) -> tuple[float, int]:
    """Return the smallest relative singular value of a Jacobian (n, n) and the unknown that moves most there.

    Parameters
    ----------
    J : (n, n)
    usual : (k, n, n)
        Jacobians at other states: their largest entries are the units of equations and unknowns. (Those of J itself are
        not suitable: a single unknown in its own equation would always be scaled to one.)
    """
    size = np.abs(np.concatenate([J[None], usual])).max(axis=0)
    for axis in (1, 0):
        unit = np.maximum(np.linalg.norm(size, axis=axis, keepdims=True), 1e-300)
        J, size = J / unit, size / unit
    _, sizes, shape = np.linalg.svd(J)
    return float(sizes[-1]), int(np.abs(shape[-1]).argmax())


def _solve(element: Element, given: Array, start: Array | None = None) -> Array:
    program, n = element.program, len(element.unknowns)
    assert program is not None

    def look(u: Array) -> tuple[Array, Array, Array]:
        numbers = np.array([float(x) for x in program.evaluate([*given, *u])[element.output_count :]])
        return numbers[:n], numbers[n : n + n * n].reshape(n, n), numbers[n + n * n :]

    u = look(np.zeros(n))[2] if start is None else start
    r, J, _ = look(u)
    reach = float(np.linalg.norm(u))
    failed = np.full(n, np.nan)
    for _ in range(_ROUNDS):
        try:
            step = -np.linalg.solve(J, r)
        except np.linalg.LinAlgError:
            return failed
        length = float(np.linalg.norm(step))
        if not np.isfinite(length):
            return failed
        if length == 0.0 or np.abs(r).max() <= _ROUNDING * np.abs(J).max() * max(1.0, float(np.abs(u).max())):
            return u
        reach = max(reach, length)
        for halving in range(_HALVINGS + 1):
            part = 0.5**halving
            trial = u + part * step
            r_new, J_new, _ = look(trial)
            left = float(np.linalg.norm(np.linalg.solve(J, r_new)))
            if length <= _PRECISE * reach or left <= max((1 - 0.25 * part) * length, _ROUNDING):
                break
        else:
            return failed
        u, r, J = trial, r_new, J_new
        reach = max(reach, float(np.linalg.norm(u)))
        if length <= _PRECISE * reach:
            return u
    return failed
