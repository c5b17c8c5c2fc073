"""Thresholds of formulas: the numbers by which they decide between branches while a system moves.

Each comparison, absolute value, smaller or larger of two and whole number is one, unless time and parameters alone
decide it: those are known beforehand (see `switches`). Operations that compare the same two numbers have one threshold.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .expressions import OPERATIONS, Program
from .parts import inputs_of, needed

__all__ = ["thresholds_of"]


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
    >>> from dalembert.connections.formulas import compile_expressions
    >>> program = compile_expressions(["abs(s) + sign(s)*max(k, t)"], ["t", "s", "k"])
    >>> thresholds_of(program, program.outputs, fixed={0, 2})
    {2: 1, 6: -1, 7: 1}
    """
    places: dict[int, int] = {}
    surfaces: dict[tuple[int, ...], int] = {}
    known, barred = set(fixed), set(never)
    for place in sorted(needed(program, outputs)):
        code, a, b, _, _ = program.instructions[place]
        name = OPERATIONS[code]
        if name not in ("less", "smaller", "larger", "absolute", "floor"):
            continue
        arguments = (a, b) if name in ("less", "smaller", "larger") else (a,)
        used = inputs_of(program, arguments)
        if used <= known or used & barred:
            continue
        pair = _pair(program, name, a, b)
        if pair[::-1] in surfaces and name != "floor":
            places[place] = -surfaces[pair[::-1]]
        else:
            places[place] = surfaces.setdefault(pair, len(surfaces) + 1)
    return places


def _pair(program: Program, name: str, a: int, b: int) -> tuple[int, ...]:
    """Return the places whose difference decides; -1 stands for zero."""
    if name == "floor":
        return (a,)
    second = -1 if name == "absolute" or program.value_of(b) == 0.0 else b
    return (-1 if name != "absolute" and program.value_of(a) == 0.0 else a), second
