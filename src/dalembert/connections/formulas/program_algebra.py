"""Simplifying arithmetic on programs: scalars, vectors, matrices and rotations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .dependencies import extract_subprogram, operands
from .expressions import OPERATIONS, Program

__all__ = ["Matrix", "ProgramBuilder", "Vector", "extracted", "transposed"]

Vector = list[int]
Matrix = list[list[int]]


class ProgramBuilder:
    """Arithmetic on indices of a program, with vectors and matrices of them.

    Attributes
    ----------
    zero, one : int
    null : vector of zeros
    unit : unit matrix

    Examples
    --------
    >>> from dalembert.connections.formulas.expressions import compile_expressions
    >>> program = compile_expressions([], ("a", "b"), item="example")
    >>> k = ProgramBuilder(program)
    >>> program.outputs = [k.dot([0, 1], [1, k.one])]  # a b + b
    >>> float(program.evaluate([2.0, 3.0])[0])
    9.0
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.zero, self.one = program.constant(0.0), program.constant(1.0)
        self.null: Vector = [self.zero] * 3
        self.unit: Matrix = [[self.one if i == j else self.zero for j in range(3)] for i in range(3)]

    # ---- numbers

    def constant(self, value: float) -> int:
        """Return the index of a constant."""
        return self.program.constant(value)

    def _numbers(self, *places: int) -> list[float] | None:
        """Return the numbers at indices if all are constants."""
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

    def total(self, places: Iterable[int]) -> int:
        """Return the sum of numbers."""
        result = self.zero
        for place in places:
            result = self.add(result, place)
        return result

    # ---- vectors and matrices

    def sum(self, *vectors: Vector) -> Vector:
        """Return the sum of vectors."""
        return [self.total(parts) for parts in zip(*vectors, strict=True)]

    def difference(self, a: Vector, b: Vector) -> Vector:
        """Return a - b."""
        return [self.subtract(x, y) for x, y in zip(a, b, strict=True)]

    def opposite(self, a: Vector) -> Vector:
        """Return -a."""
        return [self.negate(x) for x in a]

    def scaled(self, factor: int, a: Vector) -> Vector:
        """Return factor a."""
        return [self.multiply(factor, x) for x in a]

    def dot(self, a: Sequence[int], b: Sequence[int]) -> int:
        """Return the sum of products."""
        return self.total(self.multiply(x, y) for x, y in zip(a, b, strict=True))

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
        """Copy another program with given indices for its inputs; return the indices of its outputs."""
        simple = {"add": self.add, "subtract": self.subtract, "multiply": self.multiply, "divide": self.divide}
        moved: list[int] = []
        for instruction in part.instructions:
            name = OPERATIONS[instruction[0]]
            places = [moved[p] for p in operands(instruction)]
            if name == "constant":
                moved.append(self.program.constant_of(part, instruction[1]))
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
        """Return the rotation of a rotation vector; regular at zero."""
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

    def vector_of_turn(self, R: Matrix) -> Vector:
        """Return the rotation vector of a rotation matrix; regular at zero, singular at 180 degrees."""
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

    def turning_rate(self, phi: Vector, w: Vector) -> Vector:
        """Return the rate of a rotation vector, phi' = w - phi x w / 2 + c phi x (phi x w), w in outer axes."""
        return self._turning(phi, w, -0.5)

    def turning_moment(self, phi: Vector, gradient: Vector) -> Vector:
        """Return the conjugate of w from the conjugate of phi': the transpose of `turning_rate`."""
        return self._turning(phi, gradient, 0.5)

    def _turning(self, phi: Vector, a: Vector, half: float) -> Vector:
        """Return a + half phi x a + c phi x (phi x a), c = (1 - theta/2 cot(theta/2)) / theta^2."""
        small = self.constant(1e-2)
        square = self.dot(phi, phi)
        near = self.program.emit("smaller", square, small)
        series = self._series(near, [1 / 12, 1 / 720, 1 / 30240, 1 / 1209600])
        far = self.program.emit("larger", square, small)
        angle = self.multiply(self.constant(0.5), self.program.emit("root", far))
        cotangent = self.divide(self.program.emit("cosine", angle), self.program.emit("sine", angle))
        whole = self.divide(self.subtract(self.one, self.multiply(angle, cotangent)), far)
        once = self.cross(phi, a)
        c = self.choose(square, small, series, whole)
        return self.sum(a, self.scaled(self.constant(half), once), self.scaled(c, self.cross(phi, once)))

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


def transposed(A: Matrix) -> Matrix:
    """Return A^T."""
    return [list(column) for column in zip(*A, strict=True)]


def extracted(program: Program, into: Program, places: Sequence[int], inputs: Mapping[int, int]) -> list[int]:
    """Add to another program the operations that results depend on; return their indices there.

    Parameters
    ----------
    program, into : Program
    places : sequence of int
        Indices of results in `program`.
    inputs : dict of int to int
        For each required input of `program`, its index in `into`.
    """
    part = extract_subprogram(program, places)
    return ProgramBuilder(into).graft(part, [inputs.get(k, 0) for k in range(1 + max(inputs, default=-1))])
