"""Programs of programs: exact derivatives of a program's results, and parts of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .calculus import Calculus, Rate, needed, part_of
from .expressions import OPERATIONS, Program

__all__ = ["derivative", "extracted", "inputs_of"]


def derivative(program: Program, place: int, by: int) -> int:
    """Return the place of the derivative of one result of a program by another, which is added to it.

    Parameters
    ----------
    program : Program
    place : int
        Of the result.
    by : int
        Of an input, or of a result before it.

    Examples
    --------
    >>> from dalembert.connections.expressions import compile_expressions
    >>> program = compile_expressions(["sin(x) * x**2"], ("x",), item="law")
    >>> program.outputs = [derivative(program, program.outputs[0], 0)]
    >>> [round(float(value), 6) for value in program.evaluate([2.0])]
    [1.972602]
    """
    calculus = Calculus(program)
    return Rate(calculus, {by: calculus.one})(place)


def inputs_of(program: Program, places: Sequence[int]) -> set[int]:
    """Return the numbers of the inputs that results of a program depend on."""
    used = (program.instructions[place] for place in needed(program, places))
    return {a for code, a, *_ in used if OPERATIONS[code] == "input"}


def extracted(program: Program, into: Program, places: Sequence[int], inputs: Mapping[int, int]) -> list[int]:
    """Add to another program what results of a program depend on; returns their places there.

    Parameters
    ----------
    program, into : Program
    places : sequence of int
        Of results in `program`.
    inputs : dict of int to int
        For each input of `program` that is needed, the place in `into` that stands for it.
    """
    part = part_of(program, places)
    return Calculus(into).graft(part, [inputs.get(k, 0) for k in range(1 + max(inputs, default=-1))])
