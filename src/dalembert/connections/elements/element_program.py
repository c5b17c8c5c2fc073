"""Program of the law of an element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ModelError
from ..formulas.differentiation import Rate, derivative
from ..formulas.expressions import Program, add_expression, check_name, compile_expressions
from ..formulas.program_algebra import ProgramBuilder
from .signals import MEASURES

if TYPE_CHECKING:
    from .element import Element

__all__ = ["law_program"]


def law_program(element: Element) -> Program:
    """Return the program of an element's law.

    Its inputs are ``element.input_names`` and the unknowns. Its outputs are forces, rates of states, energy, signals,
    then the residuals, their derivatives by the unknowns, row by row, and the initial guesses.
    """
    item = element.kind
    names = (*element.input_names, *element.unknowns)
    program = compile_expressions([], names, tables=element.tables, item=item)
    places = {name: k for k, name in enumerate(names)}

    def add(expression: object, what: str) -> int:
        return add_expression(program, expression, places, element.tables, what)

    slopes: list[list[int]] = []
    for name, strain in element.strains.items():
        place = add(strain, f"{item}: strain {name!r}")
        slopes.append(_conjugate(element, program, _gradient(element, program, place)))
        places[name] = place
        places[f"d{name}"] = _rate(element, program, slopes[-1])
    _check_rank(element, program, slopes)
    for name, part in element.definitions.items():
        check_name(name, (*places, *element.tables), item, "definition")
        places[name] = add(part, f"{item}: definition {name!r}")
    energy = add(element.energy, f"{item}: energy")
    forces = _forces(element, program, energy, slopes, lambda expression: add(expression, item))
    rates = [add(rate, f"{item}: rate of {name!r}") for name, (_, rate) in element.states.items()]
    signals = [add(signal, f"{item}: signal {name!r}") for name, signal in element.signals.items()]
    residuals = [add(r, f"{item}: residual of {name!r}") for name, (_, r) in element.unknowns.items()]
    calculus = ProgramBuilder(program)
    slopes_by = [Rate(calculus, {places[name]: calculus.one}) for name in element.unknowns]
    jacobian = [slope(r) for r in residuals for slope in slopes_by]
    starts = [add(start, f"{item}: start of {name!r}") for name, (start, _) in element.unknowns.items()]
    program.outputs = [*forces, *rates, energy, *signals, *residuals, *jacobian, *starts]
    return program


def _forces(
    element: Element, program: Program, energy: int, slopes: list[list[int]], add: Callable[[object], int]
) -> list[int]:
    """Return the indices of the forces, one for each measure."""
    if element.force is None:
        if program.value_of(energy) is not None:
            raise ModelError(element.kind, "force", None, "give forces, or an energy that they are the gradient of")
        gradient = _conjugate(element, program, _gradient(element, program, energy))
        return [program.emit("negate", slope) for slope in gradient]
    given = element.force if isinstance(element.force, (tuple, list)) else (element.force,)
    wanted = len(element.strains) or element.measures
    if len(given) != wanted:
        one_for = tuple(element.strains) or element.measured[0]
        raise ModelError(
            element.kind, "force", element.force, f"a {element.measure} takes {wanted}: one for each of {one_for}"
        )
    forces = [add(force) for force in given]
    if not element.strains:
        return forces
    calculus = ProgramBuilder(program)
    return [calculus.dot(forces, [row[k] for row in slopes]) for k in range(element.measures)]


def _gradient(element: Element, program: Program, place: int) -> list[int]:
    """Return the indices of the derivatives of a result with respect to the measures."""
    return [derivative(program, place, 1 + k) for k in range(element.measures)]


def _conjugate(element: Element, program: Program, gradient: list[int]) -> list[int]:
    """Return factors of the measure rates from derivatives by the measures; orientations are transformed."""
    result: list[int] = []
    for measure in element.each_measure:
        first = len(result)
        mine = gradient[first : first + len(MEASURES[measure][0])]
        if measure == "pose" and any(program.value_of(place) != 0.0 for place in mine[3:]):
            phi = [first + 4, first + 5, first + 6]
            mine = [*mine[:3], *ProgramBuilder(program).turning_moment(phi, mine[3:])]
        result += mine
    return result


def _rate(element: Element, program: Program, slopes: Sequence[int]) -> int:
    m = element.measures
    return ProgramBuilder(program).dot(slopes, range(1 + m, 1 + 2 * m))


def _check_rank(element: Element, program: Program, slopes: list[list[int]]) -> None:
    """Raise `ModelError` for strains that are dependent functions of the measures (Sol 1983, after (3.4.12))."""
    if not slopes:
        return
    rng = np.random.default_rng(0)
    n, rank = len(slopes), 0
    kept = program.outputs
    for _ in range(20):
        at = [
            *rng.uniform(0.2, 1.2, size=1 + 2 * element.measures),
            *element.starts.values(),
            *element.parameters.values(),
        ]
        at += [0.5] * (len(element.sources) + len(element.unknowns))
        program.outputs = [place for row in slopes for place in row]
        G = np.array([float(value) for value in program.evaluate(at)]).reshape(n, -1)
        if np.isfinite(G).all():
            rank = max(
                rank, int(np.linalg.matrix_rank(G / (np.linalg.norm(G, axis=1, keepdims=True) + 1e-300), tol=1e-9))
            )
    program.outputs = kept
    if rank < n:
        raise ModelError(
            element.kind,
            "strains",
            list(element.strains),
            f"only {rank} of {n} are independent functions of {', '.join(element.measured[0])}; leave the others out",
        )
