"""Conversion of formula programs to SymPy expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy as sp

from ..connections.formulas.expressions import ARITHMETIC, OPERATIONS, Program
from ..errors import ModelError
from ..numerics.rational_numbers import as_number

__all__ = ["expressions_of"]

_SYMPY: dict[str, Callable[..., Any]] = {
    **ARITHMETIC,
    "root": lambda a, *_: sp.sqrt(a),
    "exponential": lambda a, *_: sp.exp(a),
    "logarithm": lambda a, *_: sp.log(a),
    "sine": lambda a, *_: sp.sin(a),
    "cosine": lambda a, *_: sp.cos(a),
    "arctangent": lambda a, *_: sp.atan(a),
    "arctangent2": lambda a, b, *_: sp.atan2(a, b),
    "hyperbolic_tangent": lambda a, *_: sp.tanh(a),
    "absolute": lambda a, *_: sp.Abs(a),
    "smaller": lambda a, b, *_: sp.Min(a, b),
    "larger": lambda a, b, *_: sp.Max(a, b),
    "less": lambda a, b, c, d: sp.Piecewise((c, a < b), (d, True)),
    "floor": lambda a, *_: sp.floor(a),
}


def expressions_of(program: Program, inputs: Sequence[Any], item: str) -> list[Any]:
    """Return the outputs of a program as expressions of symbolic inputs."""
    values: list[Any] = []
    for code, a, *places in program.instructions:
        name = OPERATIONS[code]
        if name == "lookup":
            raise ModelError(item, "law", "a table", "symbolic equations support formulas only")
        if name == "constant":
            values.append(as_number(program.constants[a]))
        elif name == "input":
            values.append(inputs[a] if a < len(inputs) else sp.S.Zero)
        else:
            values.append(_SYMPY[name](*(values[k] if k < len(values) else sp.S.Zero for k in (a, *places))))
    return [values[place] for place in program.outputs]
