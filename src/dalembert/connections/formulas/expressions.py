"""Expressions: formulas as text or from SymPy, translated to programs for the core.

A program is a list of operations on numbers, each on results of earlier ones; equal subexpressions are computed once.
It is evaluated in the core for single states, SIMD batches and dual numbers, so that derivatives are exact and need not
be given.

Text is Python: ``+ - * / **``, comparisons within ``where(a < b, x, y)``, and the functions

    sqrt exp log sin cos tan asin acos atan atan2 sinh cosh tanh abs min max sign floor mod where

with ``pi`` and ``e``. SymPy expressions may use the same, and Piecewise.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ... import _core
from ...arrays import Array
from ...errors import ModelError
from .tables import Table

__all__ = [
    "ARITHMETIC",
    "OPERATIONS",
    "Formula",
    "Program",
    "add_expression",
    "check_expression",
    "check_name",
    "compile_expressions",
    "is_symbolic",
]

_CODES: dict[str, int] = dict(sorted(_core.enumerations["operation"].items(), key=lambda named: named[1]))
OPERATIONS = list(_CODES)


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": lambda a, b, *_: a + b,
    "subtract": lambda a, b, *_: a - b,
    "multiply": lambda a, b, *_: a * b,
    "divide": lambda a, b, *_: a / b,
    "negate": lambda a, *_: -a,
    "power": lambda a, b, *_: a**b,
}
_NUMPY: dict[str, Callable[..., Any]] = {
    **ARITHMETIC,
    "root": lambda a, *_: np.sqrt(a),
    "exponential": lambda a, *_: np.exp(a),
    "logarithm": lambda a, *_: np.log(a),
    "sine": lambda a, *_: np.sin(a),
    "cosine": lambda a, *_: np.cos(a),
    "arctangent": lambda a, *_: np.arctan(a),
    "arctangent2": lambda a, b, *_: np.arctan2(a, b),
    "hyperbolic_tangent": lambda a, *_: np.tanh(a),
    "absolute": lambda a, *_: np.abs(a),
    "smaller": lambda a, b, *_: np.where(a < b, a, b),
    "larger": lambda a, b, *_: np.where(a < b, b, a),
    "less": lambda a, b, c, d: np.where(a < b, c, d),
    "floor": lambda a, *_: np.floor(a),
}


_PLAIN: dict[str, Callable[..., float]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "arctangent2": math.atan2,
    "negate": operator.neg,
    "root": math.sqrt,
    "sine": math.sin,
    "cosine": math.cos,
    "arctangent": math.atan,
    "absolute": abs,
}
_ONE = ("negate", "root", "sine", "cosine", "arctangent", "absolute")  # of these, with one argument


@dataclass
class Program:
    """Operations in order, their constants, and the indices of the outputs.

    Attributes
    ----------
    inputs : tuple of str
    instructions : list of (int, int, int, int, int)
        Code and up to four indices.
    constants : list of float
    outputs : list of int
    tables : list of Table
        Those that ``lookup`` uses.
    own : dict of int to str
        Named parameters among the constants, by index in `constants`. Their values can change, so they are not used in
        simplification.
    """

    inputs: tuple[str, ...]
    instructions: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    constants: list[float] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    own: dict[int, str] = field(default_factory=dict)
    _known: dict[tuple[int, int, int, int, int], int] = field(default_factory=dict, repr=False)
    _places: dict[float, int] = field(default_factory=dict, repr=False)  # index of constants, by value

    def emit(self, name: str, *places: int) -> int:
        """Add an operation unless its result exists; return the index of the result."""
        a, b, c, d = (*places, 0, 0, 0, 0)[:4]
        row = (_CODES[name], a, b, c, d)
        if row not in self._known:
            self._known[row] = len(self.instructions)
            self.instructions.append(row)
        return self._known[row]

    def constant(self, value: float) -> int:
        """Return the index of a constant."""
        if value not in self._places:
            self._places[value] = len(self.constants)
            self.constants.append(value)
        return self.emit("constant", self._places[value])

    def number(self, name: str, value: float) -> int:
        """Return the index of a parameter of the description."""
        for k, known in self.own.items():
            if known == name:
                return self.emit("constant", k)
        self.own[len(self.constants)] = name
        self.constants.append(value)
        return self.emit("constant", len(self.constants) - 1)

    def constant_of(self, other: Program, k: int) -> int:
        """Return the index of constant k of another program."""
        name = other.own.get(k)
        return self.constant(other.constants[k]) if name is None else self.number(name, other.constants[k])

    def table(self, table: Table) -> int:
        """Return the number of a table."""
        for k, known in enumerate(self.tables):
            if known is table:
                return k
        self.tables.append(table)
        return len(self.tables) - 1

    def value_of(self, place: int) -> float | None:
        """Return the number at an index if it is a constant."""
        code, a, *_ = self.instructions[place]
        return self.constants[a] if code == _CODES["constant"] and a not in self.own else None

    def power(self, base: int, exponent: int) -> int:
        """Return the index of a power; small integer and half exponents become products and roots."""
        number = self.value_of(exponent)
        if number is None or (number != int(number) and number not in (0.5, -0.5)) or abs(number) > 8:
            return self.emit("power", base, exponent)
        if abs(number) == 0.5:
            result = self.emit("root", base)
        else:
            result = self.constant(1.0)
            factor, left = base, abs(int(number))
            first = True
            while left:
                if left & 1:
                    result = factor if first else self.emit("multiply", result, factor)
                    first = False
                left >>= 1
                if left:
                    factor = self.emit("multiply", factor, factor)
        return self.emit("divide", self.constant(1.0), result) if number < 0 else result

    def numbers(self, inputs: Sequence[float]) -> list[float]:
        """Return the outputs for scalar inputs: as `evaluate` up to rounding, but faster."""
        values: list[float] = []
        add = values.append
        try:
            for code, a, b, *_ in self.instructions:
                name = OPERATIONS[code]
                plain = _PLAIN.get(name)
                if plain is not None:
                    add(plain(values[a]) if name in _ONE else plain(values[a], values[b]))
                elif name == "constant":
                    add(self.constants[a])
                elif name == "input":
                    add(float(inputs[a]))
                else:
                    return [float(x) for x in self.evaluate(inputs)]
        except (ArithmeticError, ValueError):  # infinite, or not a number
            return [float(x) for x in self.evaluate(inputs)]
        return [values[place] for place in self.outputs]

    def evaluate(self, inputs: Sequence[Any]) -> list[Array]:
        """Return the outputs in NumPy for inputs that are numbers or arrays."""
        values: list[Any] = []
        names = OPERATIONS
        with np.errstate(all="ignore"):
            for code, a, *places in self.instructions:
                name = names[code]
                if name == "lookup":
                    table = self.tables[a]
                    values.append(table.evaluate(*(values[k] for k in places[: table.variables])))
                elif name in ("constant", "input"):
                    values.append(np.asarray((self.constants if name == "constant" else inputs)[a], dtype=float))
                else:
                    values.append(_NUMPY[name](*(values[k] for k in (a, *places))))
        return [np.asarray(values[place], dtype=np.float64) for place in self.outputs]


@dataclass(frozen=True)
class Formula:
    """Expression that adds itself to a program.

    build : from a program, and indices by name, to the index of the result
    """

    build: Callable[[Program, Mapping[str, int]], int] = field(compare=False)  # compared by the resulting program


def compile_expressions(
    expressions: Sequence[Any],
    inputs: Sequence[str],
    *,
    definitions: Mapping[str, Any] | None = None,
    tables: Mapping[str, Table] | None = None,
    item: str,
) -> Program:
    """Return the program that computes expressions from inputs.

    Parameters
    ----------
    expressions : sequence of str, number or SymPy expression
    inputs : sequence of str
        Names that expressions may use.
    definitions : dict of str to expression
        Named subexpressions, in order: each may use inputs and earlier ones.
    tables : dict of str to Table
        Functions that expressions may call by name.
    item : str
        Name for errors.

    Examples
    --------
    >>> program = compile_expressions(["k * (s - 1)**2", "k * (s - 1)"], ("s", "k"), item="spring")
    >>> len(program.instructions), program.constants
    (8, [1.0, 2.0])
    """
    program = Program(tuple(inputs))
    names = {name: program.emit("input", k) for k, name in enumerate(inputs)}
    known = dict(tables or {})
    for name in known:
        check_name(name, names, item, "table")
    for name, part in (definitions or {}).items():
        check_name(name, (*names, *known), item, "definition")
        names[name] = add_expression(program, part, names, known, f"{item}: definition {name!r}")
    program.outputs = [add_expression(program, expression, names, known, item) for expression in expressions]
    return program


def check_name(name: str, taken: Collection[str], item: str, field: str) -> None:
    """Raise an error for an invalid or already used name."""
    if not name.isidentifier() or name in taken or name in _FUNCTIONS or name in _CONSTANTS:
        raise ModelError(item, field, name, "use a name that is free")


def is_symbolic(expression: Any) -> bool:
    """Return whether an object is a SymPy expression."""
    return any(part.__module__.partition(".")[0] == "sympy" for part in type(expression).__mro__ if part.__module__)


def add_expression(
    program: Program, expression: Any, names: Mapping[str, int], tables: Mapping[str, Table], item: str
) -> int:
    """Add an expression to a program, with indices by name; return the index of its result."""
    if isinstance(expression, Formula):
        return expression.build(program, names)
    try:
        if isinstance(expression, str):
            tree = ast.parse(expression.strip(), mode="eval")
            return _FormulaParser(program, names, tables, item, expression).visit(tree.body)
        if is_symbolic(expression):
            return _symbolic(program, names, item, expression)
    except SyntaxError as error:
        raise ModelError(item, "expression", expression, f"it is not a formula: {error.msg}") from None
    except (RecursionError, MemoryError):  # Python's parser raises either
        given = expression if isinstance(expression, str) else f"a {type(expression).__name__} of SymPy"
        remedy = "it is nested too deeply: split it into parts with names of their own (definitions, signals)"
        raise ModelError(item, "expression", given, remedy) from None
    try:
        number = float(expression)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ModelError(item, "expression", expression, "give a formula as text, a SymPy expression or a number")
    return program.constant(number)


def _sign(p: Program, x: int) -> int:
    zero = p.constant(0.0)
    return p.emit("less", x, zero, p.constant(-1.0), p.emit("less", zero, x, p.constant(1.0), zero))


def _mod(p: Program, x: int, y: int) -> int:
    """Return x - y floor(x / y), which has the sign of y."""
    return p.emit("subtract", x, p.emit("multiply", y, p.emit("floor", p.emit("divide", x, y))))


def _tan(p: Program, x: int) -> int:
    return p.emit("divide", p.emit("sine", x), p.emit("cosine", x))


def _half_sum(p: Program, x: int, name: str) -> int:
    plus, minus = p.emit("exponential", x), p.emit("exponential", p.emit("negate", x))
    return p.emit("multiply", p.constant(0.5), p.emit(name, plus, minus))


def _leg(p: Program, x: int) -> int:
    """Return sqrt(1 - x^2)."""
    return p.emit("root", p.emit("subtract", p.constant(1.0), p.emit("multiply", x, x)))


def _chain(name: str) -> Callable[..., int]:
    def fold(p: Program, *parts: int) -> int:
        result = parts[0]
        for part in parts[1:]:
            result = p.emit(name, result, part)
        return result

    return fold


_CONSTANTS = {"pi": math.pi, "e": math.e}
_FUNCTIONS: dict[str, Callable[..., int]] = {
    "sqrt": lambda p, x: p.emit("root", x),
    "exp": lambda p, x: p.emit("exponential", x),
    "log": lambda p, x: p.emit("logarithm", x),
    "sin": lambda p, x: p.emit("sine", x),
    "cos": lambda p, x: p.emit("cosine", x),
    "tan": _tan,
    "asin": lambda p, x: p.emit("arctangent2", x, _leg(p, x)),
    "acos": lambda p, x: p.emit("arctangent2", _leg(p, x), x),
    "atan": lambda p, x: p.emit("arctangent", x),
    "atan2": lambda p, y, x: p.emit("arctangent2", y, x),
    "sinh": lambda p, x: _half_sum(p, x, "subtract"),
    "cosh": lambda p, x: _half_sum(p, x, "add"),
    "tanh": lambda p, x: p.emit("hyperbolic_tangent", x),
    "abs": lambda p, x: p.emit("absolute", x),
    "min": _chain("smaller"),
    "max": _chain("larger"),
    "sign": _sign,
    "floor": lambda p, x: p.emit("floor", x),
    "mod": _mod,
}
_ARGUMENTS = {"atan2": (2, 2), "mod": (2, 2), "min": (1, 99), "max": (1, 99), "where": (3, 3)}


class _FormulaParser(ast.NodeVisitor):
    """Translate the syntax tree of a formula to instructions of a program."""

    def __init__(
        self, program: Program, names: Mapping[str, int], tables: Mapping[str, Table], item: str, text: str
    ) -> None:
        self.program, self.names, self.tables, self.item, self.text = program, names, tables, item, text

    def refuse(self, what: str, remedy: str) -> ModelError:
        return ModelError(self.item, what, self.text, remedy)

    def generic_visit(self, node: ast.AST) -> Any:
        raise self.refuse("expression", f"{type(node).__name__} is not allowed in a formula")

    def visit_Constant(self, node: ast.Constant) -> int:
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float)) or not math.isfinite(node.value):
            raise self.refuse("expression", "use finite numbers")
        return self.program.constant(float(node.value))

    def visit_Name(self, node: ast.Name) -> int:
        if node.id in self.names:
            return self.names[node.id]
        if node.id in _CONSTANTS:
            return self.program.constant(_CONSTANTS[node.id])
        raise self.refuse("formula", f"the name {node.id!r} in it is unknown here; known are {', '.join(self.names)}")

    def visit_UnaryOp(self, node: ast.UnaryOp) -> int:
        place: int = self.visit(node.operand)
        if isinstance(node.op, ast.USub):
            value = self.program.value_of(place)
            return self.program.emit("negate", place) if value is None else self.program.constant(-value)
        if isinstance(node.op, ast.UAdd):
            return place
        raise self.refuse("expression", "use + - * / ** only")

    def visit_BinOp(self, node: ast.BinOp) -> int:
        waiting, first = [node], node.left
        while isinstance(first, ast.BinOp):  # sums of many terms lean to the left
            waiting.append(first)
            first = first.left
        place: int = self.visit(first)
        for part in reversed(waiting):
            place = self._combined(part.op, place, self.visit(part.right))
        return place

    def _combined(self, operator: ast.operator, left: int, right: int) -> int:
        if isinstance(operator, ast.Pow):
            return self.program.power(left, right)
        kinds = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide"}
        if type(operator) not in kinds:
            raise self.refuse("expression", "use + - * / ** only")
        return self.program.emit(kinds[type(operator)], left, right)

    def visit_Call(self, node: ast.Call) -> int:
        name = node.func.id if isinstance(node.func, ast.Name) else "?"
        if name in self.tables:
            return self.look_up(name, node)
        least, most = _ARGUMENTS.get(name, (1, 1))
        if (name not in _FUNCTIONS and name != "where") or node.keywords or not least <= len(node.args) <= most:
            known = ", ".join((*_FUNCTIONS, "where(a < b, x, y)", *self.tables))
            raise self.refuse(
                "formula",
                f"the function {name!r} in it is unknown or has another number of arguments; known are {known}",
            )
        if name == "where":
            return self.where(*node.args)
        return _FUNCTIONS[name](self.program, *(self.visit(argument) for argument in node.args))

    def look_up(self, name: str, node: ast.Call) -> int:
        table = self.tables[name]
        if node.keywords or len(node.args) != table.variables:
            raise self.refuse("formula", f"the table {name!r} in it takes {table.variables} numbers")
        return self.program.emit("lookup", self.program.table(table), *(self.visit(part) for part in node.args))

    def where(self, condition: ast.expr, yes: ast.expr, no: ast.expr) -> int:
        single = isinstance(condition, ast.Compare) and len(condition.ops) == 1
        if not single or not isinstance(condition.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):  # type: ignore[attr-defined]
            raise self.refuse("formula", "the condition of where in it is one comparison, a < b or a > b")
        assert isinstance(condition, ast.Compare)
        a, b = self.visit(condition.left), self.visit(condition.comparators[0])
        x, y = self.visit(yes), self.visit(no)
        if isinstance(condition.ops[0], (ast.Lt, ast.LtE)):
            return self.program.emit("less", a, b, x, y)
        return self.program.emit("less", b, a, x, y)


def _symbolic(program: Program, names: Mapping[str, int], item: str, expression: Any) -> int:
    """Return the index of a SymPy expression."""
    import sympy

    def refuse(part: Any) -> ModelError:
        return ModelError(item, "expression", str(part), "this part of a SymPy expression has no counterpart")

    by_class = {
        sympy.exp: "exp", sympy.log: "log", sympy.sin: "sin", sympy.cos: "cos", sympy.tan: "tan", sympy.asin: "asin",
        sympy.acos: "acos", sympy.atan: "atan", sympy.atan2: "atan2", sympy.sinh: "sinh", sympy.cosh: "cosh",
        sympy.tanh: "tanh", sympy.Abs: "abs", sympy.sign: "sign", sympy.Min: "min", sympy.Max: "max",
        sympy.floor: "floor", sympy.Mod: "mod",
    }  # fmt: skip

    def piecewise(branches: Sequence[tuple[Any, Any]]) -> int:
        value, condition = branches[0]
        if condition == sympy.true or len(branches) == 1:
            return visit(value)
        if not isinstance(
            condition, (sympy.StrictLessThan, sympy.LessThan, sympy.StrictGreaterThan, sympy.GreaterThan)
        ):
            raise refuse(condition)
        yes, no = visit(value), piecewise(branches[1:])
        return program.emit("less", visit(condition.lts), visit(condition.gts), yes, no)

    def visit(part: Any) -> int:
        if part.is_Symbol:
            if part.name not in names:
                raise ModelError(
                    item,
                    "formula",
                    str(expression),
                    f"the symbol {part.name!r} in it is not known; known are {', '.join(names)}",
                )
            return names[part.name]
        if part.is_number:
            if not (part.is_real and part.is_finite):
                raise ModelError(item, "number in a SymPy expression", str(part), "use real, finite numbers")
            return program.constant(float(part))
        if part.is_Add:
            return _chain("add")(program, *(visit(a) for a in part.args))
        if part.is_Mul:
            return _chain("multiply")(program, *(visit(a) for a in part.args))
        if part.is_Pow:
            return program.power(visit(part.base), visit(part.exp))
        if isinstance(part, sympy.Piecewise):
            return piecewise(part.args)
        if part.func in by_class:
            return _FUNCTIONS[by_class[part.func]](program, *(visit(a) for a in part.args))
        raise refuse(part)

    return visit(sympy.sympify(expression))


def check_expression(item: str, field: str, expression: Any, *names: str) -> None:
    """Raise `ModelError` unless a value is an expression of the given names, default the time."""
    compile_expressions([expression], names or ("t",), item=f"{item}: {field}")
