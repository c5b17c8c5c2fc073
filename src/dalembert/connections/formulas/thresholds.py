"""Thresholds of formulas: the numbers by which they decide between branches while a system moves.

Each comparison, absolute value, smaller or larger of two and whole number is one, unless time and parameters alone
decide it: those are known beforehand (see `switches`). Operations that compare the same two numbers have one threshold.
What a root, a logarithm or a power below one is taken of has none: a step that ended there would end where the formula
has no slope.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .expressions import OPERATIONS, Program
from .parts import inputs_of, needed

__all__ = ["thresholds_of"]

_DECIDING = ("less", "smaller", "larger", "absolute", "floor")
_ROOTS = ("root", "logarithm")


def thresholds_of(
    program: Program, outputs: Sequence[int], fixed: Collection[int], never: Collection[int] = ()
) -> dict[int, int]:
    """Return the thresholds of operations by their places: numbers from 1 on, negative seen from the other side.

    Parameters
    ----------
    program : Program
    outputs : places of results that matter
    fixed : numbers of inputs that are constant, or known for all times
    never : of inputs that a threshold must not depend on, because they depend on the branch themselves

    Examples
    --------
    >>> from dalembert.connections.formulas.expressions import compile_expressions
    >>> program = compile_expressions(["abs(s) + sign(s)*max(k, t)"], ["t", "s", "k"], item="law")
    >>> thresholds_of(program, program.outputs, fixed={0, 2})
    {3: 1, 7: -1, 8: 1}
    """
    places: dict[int, int] = {}
    surfaces: dict[tuple[int, ...], int] = {}
    known, barred, steep = set(fixed), set(never), _steep(program, outputs)
    for place in sorted(needed(program, outputs)):
        code, a, b, _, _ = program.instructions[place]
        name = OPERATIONS[code]
        if name not in _DECIDING:
            continue
        arguments = (a, b) if name in ("less", "smaller", "larger") else (a,)
        used = inputs_of(program, arguments)
        if used <= known or used & barred:
            continue
        pair = _pair(program, name, a, b)
        if pair in steep or pair[::-1] in steep:
            continue
        if pair[::-1] in surfaces and name != "floor":
            places[place] = -surfaces[pair[::-1]]
        else:
            places[place] = surfaces.setdefault(pair, len(surfaces) + 1)
    return places


def _steep(program: Program, outputs: Sequence[int]) -> set[tuple[int, ...]]:
    """Return the pairs that decide what roots, logarithms and powers below one are taken of."""
    found: set[tuple[int, ...]] = set()
    for place in needed(program, outputs):
        code, a, b, _, _ = program.instructions[place]
        name = OPERATIONS[code]
        exponent = program.value_of(b) if name == "power" else None
        if name not in _ROOTS and not (exponent is not None and exponent < 1.0):
            continue
        for under in needed(program, [a]):
            code, first, second, _, _ = program.instructions[under]
            if OPERATIONS[code] in _DECIDING:
                found.add(_pair(program, OPERATIONS[code], first, second))
    return found


def _pair(program: Program, name: str, a: int, b: int) -> tuple[int, ...]:
    """Return the places whose difference decides; -1 stands for zero."""
    if name == "floor":
        return (a,)
    second = -1 if name == "absolute" or program.value_of(b) == 0.0 else b
    return (-1 if name != "absolute" and program.value_of(a) == 0.0 else a), second
