"""Constraint rows from formulas: programs of residuals, velocity coefficients, drifts and biases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import ModelError
from .dependencies import extract_subprogram, required_instructions
from .differentiation import Rate
from .expressions import Program
from .program_algebra import ProgramBuilder

__all__ = ["row_programs"]


def row_programs(
    k: ProgramBuilder,
    formulas: Sequence[Any],
    places: Sequence[int],
    moving: Rate,
    speeds: Sequence[int],
    *,
    item: str,
    by_rates: bool,
    names: Sequence[str],
    what: str,
) -> tuple[Program, Program]:
    """Return two programs: residuals, velocity coefficients row by row, drifts; and biases.

    Parameters
    ----------
    k : Calculus
    formulas : sequence
        User formulas, for errors.
    places : sequence of int
        Indices of the formulas in the program.
    moving : Rate
        Rates of the inputs.
    speeds : sequence of int
        Indices of the inputs that are velocities.
    by_rates : bool
        True if the formulas constrain rates only, else positions.
    names : sequence of str
        Names of the velocities.
    what : str
        Inputs on which a row must depend.
    """
    if by_rates:
        rates, residuals = list(places), [k.zero] * len(places)
    else:
        rates, residuals = [moving(place) for place in places], list(places)
    by_speed = [Rate(k, {one: k.one}) for one in speeds]
    gradients = [[along(rate) for along in by_speed] for rate in rates]
    for formula, gradient in zip(formulas, gradients, strict=True):
        if any(set(speeds) & required_instructions(k.program, [entry]) for entry in gradient):
            raise ModelError(item, "row", formula, f"it must be linear in the rates {', '.join(names)}")
        if all(entry == k.zero for entry in gradient):
            raise ModelError(item, "row", formula, f"it does not depend on {what}")
    drifts = [_without(k, rate, set(speeds)) for rate in rates]
    first = extract_subprogram(k.program, [*residuals, *(g for gradient in gradients for g in gradient), *drifts])
    return first, extract_subprogram(k.program, [moving(rate) for rate in rates])


def _without(k: ProgramBuilder, place: int, gone: set[int]) -> int:
    """Return a result with some inputs set to zero."""
    inputs = [k.zero if at in gone else at for at in (k.program.emit("input", i) for i in range(len(k.program.inputs)))]
    return k.graft(extract_subprogram(k.program, [place]), inputs)[0]
