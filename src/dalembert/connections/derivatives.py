"""Programs of programs: exact derivatives of a program's results, and parts of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    slopes: dict[int, int] = {}
    zero = program.constant(0.0)
    for k in range(by, place + 1):
        if k == by:
            slopes[k] = program.constant(1.0)
            continue
        slope = _slope(program, k, slopes)
        if slope is not None:
            slopes[k] = slope
    return slopes.get(place, zero)


def _slope(p: Program, k: int, slopes: Mapping[int, int]) -> int | None:
    """Return the place of the slope of result k, from the slopes of what it is made of; None if it has none."""
    code, *places = p.instructions[k]
    name = OPERATIONS[code]
    if name in ("constant", "input"):
        return None
    if name == "lookup":
        return _table_slope(p, places, slopes)
    a, b, c, d = places
    first, second = slopes.get(a), slopes.get(b)
    if name == "less":
        yes, no = slopes.get(c), slopes.get(d)
        if yes is None and no is None:
            return None
        zero = p.constant(0.0)
        return p.emit("less", a, b, zero if yes is None else yes, zero if no is None else no)
    if name in ("smaller", "larger"):
        if first is None and second is None:
            return None
        zero = p.constant(0.0)
        parts = (zero if first is None else first, zero if second is None else second)
        return p.emit("less", a, b, *(parts if name == "smaller" else parts[::-1]))
    by_first, by_second = _partials(p, name, k, a, b, first is not None, second is not None)
    terms = [
        p.times(factor, slope)
        for factor, slope in ((by_first, first), (by_second, second))
        if slope is not None and factor is not None
    ]
    if not terms:
        return None
    return terms[0] if len(terms) == 1 else p.emit("add", *terms)


def _table_slope(p: Program, places: Sequence[int], slopes: Mapping[int, int]) -> int | None:
    table, *at = places
    total = None
    for axis in range(p.tables[table].variables):
        slope = slopes.get(at[axis])
        if slope is not None:
            term = p.times(p.emit("lookup", p.table(p.tables[table].slope(axis)), *at), slope)
            total = term if total is None else p.emit("add", total, term)
    return total


def _partials(
    p: Program, name: str, k: int, a: int, b: int, first: bool, second: bool
) -> tuple[int | None, int | None]:
    """Return the places of the partial derivatives of an operation by its two operands, where they are wanted."""
    one, two = p.constant(1.0), p.constant(2.0)
    match name:
        case "add":
            return one, one
        case "subtract":
            return one, p.constant(-1.0)
        case "multiply":
            return b, a
        case "divide":
            return p.emit("divide", one, b), p.emit("negate", p.emit("divide", k, b)) if second else None
        case "negate":
            return p.constant(-1.0), None
        case "power":
            by_base = p.times(b, p.power(a, p.minus_one(b))) if first else None
            return by_base, p.times(k, p.emit("logarithm", a)) if second else None
        case "root":
            return p.emit("divide", p.constant(0.5), k), None
        case "exponential":
            return k, None
        case "logarithm":
            return p.emit("divide", one, a), None
        case "sine":
            return p.emit("cosine", a), None
        case "cosine":
            return p.emit("negate", p.emit("sine", a)), None
        case "arctangent":
            return p.emit("divide", one, p.emit("add", one, p.power(a, two))), None
        case "arctangent2":
            square = p.emit("add", p.power(a, two), p.power(b, two))
            return p.emit("divide", b, square), p.emit("negate", p.emit("divide", a, square))
        case "hyperbolic_tangent":
            return p.emit("subtract", one, p.power(k, two)), None
        case "absolute":
            return p.emit("less", a, p.constant(0.0), p.constant(-1.0), one), None
    raise NotImplementedError(name)


def inputs_of(program: Program, places: Sequence[int]) -> set[int]:
    """Return the numbers of the inputs that results of a program depend on."""
    needed, found = set(places), set()
    for k in range(max(places, default=-1), -1, -1):
        if k not in needed:
            continue
        code, a, b, c, d = program.instructions[k]
        name = OPERATIONS[code]
        if name == "input":
            found.add(a)
        elif name == "lookup":
            needed |= {b, c, d}
        elif name != "constant":
            needed |= {a, b, c, d}
    return found


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
    needed = set(places)
    for k in range(max(places, default=-1), -1, -1):
        name, operands = _operands(program, k)
        if k in needed and name not in ("constant", "input"):
            needed |= set(operands)
    moved: dict[int, int] = {}
    for k in sorted(needed):
        code, a, *rest = program.instructions[k]
        name = OPERATIONS[code]
        if name == "input":
            moved[k] = inputs[a]
        elif name == "constant":
            moved[k] = into.constant(program.constants[a])
        elif name == "lookup":
            moved[k] = into.emit("lookup", into.table(program.tables[a]), *(moved[place] for place in rest))
        else:
            moved[k] = into.emit(name, *(moved[place] for place in _operands(program, k)[1]))
    return [moved[place] for place in places]


_OPERAND_COUNT = {"less": 4}
_PAIRS = {"add", "subtract", "multiply", "divide", "power", "arctangent2", "smaller", "larger"}


def _operands(program: Program, k: int) -> tuple[str, list[int]]:
    code, *places = program.instructions[k]
    name = OPERATIONS[code]
    if name == "lookup":
        return name, places[1:]
    return name, places[: 2 if name in _PAIRS else _OPERAND_COUNT.get(name, 1)]
