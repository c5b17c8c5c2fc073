"""Symbolic differentiation of programs; derivatives are programs.

The rate of every operation follows by the chain rule from the rates of its operands. Derivatives of any order are
therefore evaluated in the core like the formulas themselves: for single states, SIMD batches and dual numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .dependencies import operands
from .expressions import OPERATIONS, Program
from .program_algebra import Matrix, ProgramBuilder, Vector

__all__ = ["Rate", "derivative"]


def derivative(program: Program, place: int, by: int) -> int:
    """Return the index of the derivative of one result by another, which is added to the program.

    Parameters
    ----------
    program : Program
    place : int
        Index of the result.
    by : int
        Index of an input, or of an earlier result.

    Examples
    --------
    >>> from dalembert.connections.formulas.expressions import compile_expressions
    >>> program = compile_expressions(["sin(x) * x**2"], ("x",), item="law")
    >>> program.outputs = [derivative(program, program.outputs[0], 0)]
    >>> [round(float(value), 6) for value in program.evaluate([2.0])]
    [1.972602]
    """
    calculus = ProgramBuilder(program)
    return Rate(calculus, {by: calculus.one})(place)


class Rate:
    """Rates of program results while the inputs change at given rates.

    Parameters
    ----------
    calculus : Calculus
    rates : mapping of int to int
        Index of an input, and of its rate; inputs left out are constant.

    Examples
    --------
    >>> from dalembert.connections.formulas.expressions import compile_expressions
    >>> program = compile_expressions(["sin(a)**2"], ("a",), item="example")
    >>> rate = Rate(ProgramBuilder(program), {0: program.constant(1.0)})
    >>> program.outputs = [rate(program.outputs[0])]
    >>> round(float(program.evaluate([0.5])[0]), 6)  # sin(2 a)
    0.841471
    """

    def __init__(self, calculus: ProgramBuilder, rates: Mapping[int, int]) -> None:
        self.calculus = calculus
        self._known = dict(rates)

    def __call__(self, place: int) -> int:
        """Return the index of the rate of a result."""
        instructions = self.calculus.program.instructions
        waiting = [place]
        while waiting:
            at = waiting[-1]
            missing = [p for p in operands(instructions[at]) if p not in self._known]
            if at in self._known or not missing:
                if at not in self._known:
                    self._known[at] = self._rate(at)
                waiting.pop()
            else:
                waiting.extend(missing)
        return self._known[place]

    def vector(self, places: Sequence[int]) -> Vector:
        """Return the rates of a vector."""
        return [self(place) for place in places]

    def matrix(self, places: Matrix) -> Matrix:
        """Return the rates of a matrix."""
        return [self.vector(row) for row in places]

    def _rate(self, place: int) -> int:
        k = self.calculus
        p = k.program
        code, a, b, c, d = p.instructions[place]
        name = OPERATIONS[code]
        if name in ("constant", "input"):
            return k.zero
        if name == "lookup":
            return self._of_table(a, (b, c, d))
        da = self._known[a]
        match name:
            case "add":
                return k.add(da, self._known[b])
            case "subtract":
                return k.subtract(da, self._known[b])
            case "multiply":
                return k.add(k.multiply(da, b), k.multiply(a, self._known[b]))
            case "divide":
                return k.divide(k.subtract(da, k.multiply(place, self._known[b])), b)
            case "negate":
                return k.negate(da)
            case "less":
                return k.choose(a, b, self._known[c], self._known[d])
            case "smaller":
                return k.choose(a, b, da, self._known[b])
            case "larger":
                return k.choose(a, b, self._known[b], da)
            case "power":
                return self._power(place, a, b)
            case "arctangent2":
                db = self._known[b]
                cross = k.subtract(k.multiply(da, b), k.multiply(db, a))
                return k.zero if cross == k.zero else k.divide(cross, k.add(k.multiply(a, a), k.multiply(b, b)))
        if da == k.zero or name == "floor":
            return k.zero
        match name:
            case "root":
                return k.divide(k.multiply(k.constant(0.5), da), place)
            case "exponential":
                return k.multiply(place, da)
            case "logarithm":
                return k.divide(da, a)
            case "sine":
                return k.multiply(p.emit("cosine", a), da)
            case "cosine":
                return k.negate(k.multiply(p.emit("sine", a), da))
            case "arctangent":
                return k.divide(da, k.add(k.one, k.multiply(a, a)))
            case "hyperbolic_tangent":
                return k.multiply(k.subtract(k.one, k.multiply(place, place)), da)
            case _:  # absolute
                return k.multiply(k.choose(a, k.zero, k.constant(-1.0), k.one), da)

    def _of_table(self, number: int, at: tuple[int, ...]) -> int:
        k = self.calculus
        table, total = k.program.tables[number], k.zero
        for axis in range(table.variables):
            rate = self._known[at[axis]]
            if rate != k.zero:
                slope = k.program.emit("lookup", k.program.table(table.slope(axis)), *at)
                total = k.add(total, k.multiply(slope, rate))
        return total

    def _power(self, place: int, base: int, exponent: int) -> int:
        k = self.calculus
        d_base, d_exponent = self._known[base], self._known[exponent]
        rate = k.zero
        if d_base != k.zero:
            slope = k.multiply(exponent, k.program.power(base, k.subtract(exponent, k.one)))
            rate = k.multiply(slope, d_base)
        if d_exponent != k.zero:
            rate = k.add(rate, k.multiply(k.multiply(place, k.program.emit("logarithm", base)), d_exponent))
        return rate
