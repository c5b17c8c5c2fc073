"""Expressions in model files: numbers, parameters, + - * / **, and a few functions; nothing else runs."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any

from ...errors import ModelError

__all__ = ["evaluate"]

_LONGEST = 2000  # characters
_OF_MATH = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sqrt", "exp", "log", "hypot", "radians")
_FUNCTIONS: dict[str, Callable[..., float]] = {name: getattr(math, name) for name in _OF_MATH}
_FUNCTIONS |= {"abs": abs, "min": min, "max": max}
_BINARY: dict[type, Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: float(a) ** b,
}


def evaluate(text: str, names: Mapping[str, float]) -> float:
    """Return the value of an expression.

    Raises
    ------
    ModelError
        If it has anything but numbers, known names and arithmetic, or no finite value.

    Examples
    --------
    >>> evaluate("2*crank + sqrt(4)/4", {"crank": 0.1})
    0.7
    """
    item = "expression"
    if len(text) > _LONGEST:
        raise ModelError(item, "length", len(text), f"at most {_LONGEST} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        value = _value(tree.body, names, text)
    except (SyntaxError, RecursionError, MemoryError):
        raise ModelError(item, "text", text, "write numbers, parameters, + - * / ** and functions") from None
    except (ZeroDivisionError, OverflowError, ValueError, TypeError) as error:
        raise ModelError(item, "text", text, f"it has no value: {error}") from None
    if isinstance(value, complex) or not math.isfinite(value):
        raise ModelError(item, "text", text, f"its value is {value}")
    return float(value)


def _value(node: Any, names: Mapping[str, float], text: str) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return float(node.value)
    if isinstance(node, ast.Name):
        if node.id not in names:
            known = ", ".join(map(repr, names))
            raise ModelError("expression", "name", node.id, f"known are {known}")
        return names[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _value(node.operand, names, text)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _BINARY[type(node.op)](_value(node.left, names, text), _value(node.right, names, text))
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in _FUNCTIONS
        and not node.keywords
    ):
        return float(_FUNCTIONS[node.func.id](*(_value(each, names, text) for each in node.args)))
    raise ModelError("expression", "text", text, "write numbers, parameters, + - * / ** and functions")
