"""Calculus on programs: arithmetic that simplifies as it goes, derivatives, and parts of programs.

A derivative is again part of a program: the rate of every operation follows by the chain rule from the rates of what it
works on. So derivatives of any order run in the core as the formulas themselves do, for single states, for packs of
states and for dual numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .expressions import OPERATIONS, Program

__all__ = ["Calculus", "Matrix", "Rate", "Vector", "needed", "operands", "part_of", "transposed"]

Vector = list[int]
Matrix = list[list[int]]


class Calculus:
    """Arithmetic on places of a program, with vectors and matrices of them.

    Examples
    --------
    >>> from dalembert.connections.expressions import compile_expressions
    >>> program = compile_expressions(["sin(a)**2"], ("a",), item="example")
    >>> rate = Rate(Calculus(program), {0: program.constant(1.0)})
    >>> program.outputs = [rate(program.outputs[0])]
    >>> round(float(program.evaluate([0.5])[0]), 6)  # sin(2 a)
    0.841471
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.zero, self.one = program.constant(0.0), program.constant(1.0)

    # ---- numbers

    def constant(self, value: float) -> int:
        """Return the place of a constant."""
        return self.program.constant(value)

    def _numbers(self, *places: int) -> list[float] | None:
        """Return the numbers at places, if all are constants."""
        found = [self.program.value_of(place) for place in places]
        return None if any(number is None for number in found) else [x for x in found if x is not None]

    def add(self, a: int, b: int) -> int:
        """Return a + b."""
        numbers = self._numbers(a, b)
        if numbers:
            return self.constant(numbers[0] + numbers[1])
        if a == self.zero or b == self.zero:
            return b if a == self.zero else a
        return self.program.emit("add", a, b)

    def negate(self, a: int) -> int:
        """Return -a."""
        numbers = self._numbers(a)
        if numbers:
            return self.constant(0.0 - numbers[0])
        code, inner, *_ = self.program.instructions[a]
        return inner if OPERATIONS[code] == "negate" else self.program.emit("negate", a)

    def subtract(self, a: int, b: int) -> int:
        """Return a - b."""
        numbers = self._numbers(a, b)
        if numbers:
            return self.constant(numbers[0] - numbers[1])
        if b == self.zero:
            return a
        if a == self.zero:
            return self.negate(b)
        return self.zero if a == b else self.program.emit("subtract", a, b)

    def multiply(self, a: int, b: int) -> int:
        """Return a b."""
        numbers = self._numbers(a, b)
        if numbers:
            return self.constant(numbers[0] * numbers[1])
        for x, y in ((a, b), (b, a)):
            number = self.program.value_of(x)
            if number is not None and number in (0.0, 1.0, -1.0):
                return self.zero if number == 0.0 else y if number == 1.0 else self.negate(y)
        return self.program.emit("multiply", a, b)

    def divide(self, a: int, b: int) -> int:
        """Return a / b."""
        numbers = self._numbers(a, b)
        if numbers and numbers[1]:
            return self.constant(numbers[0] / numbers[1])
        if a == self.zero or b == self.one:
            return a
        return self.program.emit("divide", a, b)

    def choose(self, a: int, b: int, yes: int, no: int) -> int:
        """Return ``yes`` where a < b, else ``no``."""
        return yes if yes == no else self.program.emit("less", a, b, yes, no)

    # ---- vectors and matrices

    def dot(self, a: Sequence[int], b: Sequence[int]) -> int:
        """Return the sum of products."""
        total = self.zero
        for x, y in zip(a, b, strict=True):
            total = self.add(total, self.multiply(x, y))
        return total

    def cross(self, a: Vector, b: Vector) -> Vector:
        """Return a x b."""
        return [
            self.subtract(self.multiply(a[(k + 1) % 3], b[(k + 2) % 3]), self.multiply(a[(k + 2) % 3], b[(k + 1) % 3]))
            for k in range(3)
        ]

    def apply(self, A: Matrix, x: Vector) -> Vector:
        """Return A x."""
        return [self.dot(row, x) for row in A]

    def product(self, A: Matrix, B: Matrix) -> Matrix:
        """Return A B."""
        columns = transposed(B)
        return [[self.dot(row, column) for column in columns] for row in A]

    def numbers(self, values: Iterable[float]) -> Vector:
        """Return a vector of constants."""
        return [self.constant(float(value)) for value in values]

    def matrix(self, values: Sequence[Sequence[float]]) -> Matrix:
        """Return a matrix of constants."""
        return [self.numbers(row) for row in values]

    def graft(self, part: Program, inputs: Sequence[int]) -> list[int]:
        """Copy another program, with places that stand for its inputs; return the places of its outputs."""
        simple = {"add": self.add, "subtract": self.subtract, "multiply": self.multiply, "divide": self.divide}
        moved: list[int] = []
        for instruction in part.instructions:
            name = OPERATIONS[instruction[0]]
            places = [moved[p] for p in operands(instruction)]
            if name == "constant":
                moved.append(self.constant(part.constants[instruction[1]]))
            elif name == "input":
                moved.append(inputs[instruction[1]])
            elif name in simple:
                moved.append(simple[name](*places))
            elif name == "lookup":
                moved.append(self.program.emit(name, self.program.table(part.tables[instruction[1]]), *places))
            else:
                moved.append(self.negate(*places) if name == "negate" else self.program.emit(name, *places))
        return [moved[place] for place in part.outputs]

    # ---- rotations

    def turn(self, axis: Iterable[float], angle: int) -> Matrix:
        """Return the rotation by an angle about a unit vector."""
        s, c = self.program.emit("sine", angle), self.program.emit("cosine", angle)
        if self.program.value_of(angle) == 0.0:
            s, c = self.zero, self.one
        less = self.subtract(self.one, c)
        n = self.numbers(axis)
        sines = [self.multiply(s, x) for x in n]
        result: Matrix = [[self.zero] * 3 for _ in range(3)]
        for i in range(3):
            for j in range(3):
                entry = self.multiply(less, self.multiply(n[i], n[j]))
                if i == j:
                    entry = self.add(entry, c)
                else:
                    k = 3 - i - j
                    ahead = (j - i) % 3 == 1
                    entry = self.subtract(entry, sines[k]) if ahead else self.add(entry, sines[k])
                result[i][j] = entry
        return result

    def turn_by_vector(self, r: Vector) -> Matrix:
        """Return the rotation whose axis and angle a rotation vector gives; regular at zero."""
        square = self.dot(r, r)
        small = 1e-2
        near = self.program.emit("smaller", square, self.constant(small))
        # below it, series to the tenth power of the angle
        sine_series = self._series(near, [1 / 1, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800])
        cosine_series = self._series(near, [1 / 2, -1 / 24, 1 / 720, -1 / 40320, 1 / 3628800, -1 / 479001600])
        far = self.program.emit("larger", square, self.constant(small))
        angle = self.program.emit("root", far)
        sine = self.divide(self.program.emit("sine", angle), angle)
        cosine = self.divide(self.subtract(self.one, self.program.emit("cosine", angle)), far)
        limit = self.constant(small)
        a = self.choose(square, limit, sine_series, sine)
        b = self.choose(square, limit, cosine_series, cosine)
        tilde = self.skew(r)
        twice = self.product(tilde, tilde)
        return [
            [
                self.add(
                    self.add(self.one if i == j else self.zero, self.multiply(a, tilde[i][j])),
                    self.multiply(b, twice[i][j]),
                )
                for j in range(3)
            ]
            for i in range(3)
        ]

    def turn_by_quaternion(self, q: Vector) -> Matrix:
        """Return the rotation of a quaternion (w, x, y, z) of any length but zero."""
        w, x, y, z = q
        two = self.divide(self.constant(2.0), self.dot(q, q))
        mul, add, sub = self.multiply, self.add, self.subtract

        def entry(i: int, j: int) -> int:
            v = (x, y, z)
            if i == j:
                others = add(*(mul(v[k], v[k]) for k in range(3) if k != i))
                return sub(self.one, mul(two, others))
            product, axis = mul(v[i], v[j]), mul(w, v[3 - i - j])
            return mul(two, sub(product, axis) if (j - i) % 3 == 1 else add(product, axis))

        return [[entry(i, j) for j in range(3)] for i in range(3)]

    def vector_of_turn(self, R: Matrix) -> Vector:
        """Return the rotation vector of a rotation matrix; regular at zero, not at half a turn."""
        half = self.constant(0.5)
        s = [
            self.multiply(half, self.subtract(R[(k + 2) % 3][(k + 1) % 3], R[(k + 1) % 3][(k + 2) % 3]))
            for k in range(3)
        ]
        trace = self.add(self.add(R[0][0], R[1][1]), R[2][2])
        cosine = self.multiply(half, self.subtract(trace, self.one))
        square = self.dot(s, s)
        small = 1e-3
        limit = self.constant(small)
        near = self.program.emit("smaller", square, limit)
        # arcsin(x) / x, to the twelfth power of x
        series = self._series(near, [1.0, 1 / 6, 3 / 40, 15 / 336, 105 / 3456, 945 / 42240, 10395 / 599040])
        sine = self.program.emit("root", self.program.emit("larger", square, limit))
        ratio = self.divide(self.program.emit("arctangent2", sine, cosine), sine)
        # beyond a right angle the sine is small again, but the angle is not
        true_sine = self.program.emit("root", self.program.emit("larger", square, self.constant(1e-300)))
        wide = self.divide(self.program.emit("arctangent2", true_sine, cosine), true_sine)
        factor = self.choose(cosine, self.zero, wide, self.choose(square, limit, series, ratio))
        return [self.multiply(factor, x) for x in s]

    def skew(self, r: Vector) -> Matrix:
        """Return [r x]."""
        x, y, z = r
        o, neg = self.zero, self.negate
        return [[o, neg(z), y], [z, o, neg(x)], [neg(y), x, o]]

    def _series(self, x: int, coefficients: Sequence[float]) -> int:
        total = self.constant(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = self.add(self.constant(c), self.multiply(x, total))
        return total


class Rate:
    """Rates of places of a program while its inputs change at given rates.

    Parameters
    ----------
    calculus : Calculus
    rates : mapping of int to int
        Place of an input, and of its rate; what is left out is constant.
    """

    def __init__(self, calculus: Calculus, rates: Mapping[int, int]) -> None:
        self.calculus = calculus
        self._known = dict(rates)

    def __call__(self, place: int) -> int:
        """Return the place of the rate of a place."""
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
        if da == k.zero:
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


def transposed(A: Matrix) -> Matrix:
    """Return A^T."""
    return [list(column) for column in zip(*A, strict=True)]


def operands(instruction: tuple[int, int, int, int, int]) -> tuple[int, ...]:
    """Return the places that an operation works on."""
    code, a, b, c, d = instruction
    name = OPERATIONS[code]
    if name in ("constant", "input"):
        return ()
    if name == "less":
        return a, b, c, d
    if name == "lookup":
        return b, c, d
    two = ("add", "subtract", "multiply", "divide", "power", "arctangent2", "smaller", "larger")
    return (a, b) if name in two else (a,)


def needed(program: Program, places: Sequence[int]) -> set[int]:
    """Return all places that some places depend on, these included."""
    found: set[int] = set()
    waiting = list(places)
    while waiting:
        place = waiting.pop()
        if place not in found:
            found.add(place)
            waiting.extend(operands(program.instructions[place]))
    return found


def part_of(program: Program, outputs: Sequence[int]) -> Program:
    """Return a program that computes some places of another one, and nothing else."""
    part = Program(program.inputs)
    moved: dict[int, int] = {}
    for place in sorted(needed(program, outputs)):
        code, a, *_ = program.instructions[place]
        if OPERATIONS[code] == "constant":
            moved[place] = part.constant(program.constants[a])
        elif OPERATIONS[code] == "input":
            moved[place] = part.emit("input", a)
        elif OPERATIONS[code] == "lookup":
            places = (moved[p] for p in operands(program.instructions[place]))
            moved[place] = part.emit("lookup", part.table(program.tables[a]), *places)
        else:
            places = (moved[p] for p in operands(program.instructions[place]))
            moved[place] = part.emit(OPERATIONS[code], *places)
    part.outputs = [moved[place] for place in outputs]
    return part
