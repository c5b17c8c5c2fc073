"""Vectors and rotations in programs: triples of places, and what mechanics does with them."""

from __future__ import annotations

from collections.abc import Sequence

from .expressions import Program, add_expression

__all__ = ["Places", "Rotation", "Vector"]

Vector = tuple[int, int, int]
Rotation = tuple[Vector, Vector, Vector]  # rows


class Places:
    """Operations on triples of places in one program.

    Parameters
    ----------
    program : Program
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        zero, one = program.constant(0.0), program.constant(1.0)
        self.zero: Vector = (zero, zero, zero)
        self.unit: Rotation = ((one, zero, zero), (zero, one, zero), (zero, zero, one))

    def number(self, text: str, **names: int) -> int:
        """Return the place of a formula of named places."""
        return add_expression(self.program, text, names, {}, "formula")

    def total(self, places: Sequence[int]) -> int:
        """Return the place of a sum; zeros are left out."""
        p = self.program
        kept = [place for place in places if p.value_of(place) != 0.0] or [p.constant(0.0)]
        result = kept[0]
        for place in kept[1:]:
            result = p.emit("add", result, place)
        return result

    def minus(self, a: int) -> int:
        """Return the place of the opposite."""
        value = self.program.value_of(a)
        return self.program.emit("negate", a) if value is None else self.program.constant(-value)

    def sum(self, *vectors: Vector) -> Vector:
        """Return the sum of vectors."""
        x, y, z = (self.total(parts) for parts in zip(*vectors, strict=True))
        return x, y, z

    def opposite(self, a: Vector) -> Vector:
        """Return -a."""
        return self.minus(a[0]), self.minus(a[1]), self.minus(a[2])

    def difference(self, a: Vector, b: Vector) -> Vector:
        """Return a - b."""
        return self.sum(a, self.opposite(b))

    def scaled(self, factor: int, a: Vector) -> Vector:
        """Return factor a."""
        p = self.program
        return p.times(factor, a[0]), p.times(factor, a[1]), p.times(factor, a[2])

    def dot(self, a: Vector, b: Vector) -> int:
        """Return a . b."""
        return self.total([self.program.times(x, y) for x, y in zip(a, b, strict=True)])

    def cross(self, a: Vector, b: Vector) -> Vector:
        """Return a x b."""
        p = self.program

        def part(i: int, j: int) -> int:
            return self.total([p.times(a[i], b[j]), self.minus(p.times(a[j], b[i]))])

        return part(1, 2), part(2, 0), part(0, 1)

    def turned(self, R: Rotation, a: Vector) -> Vector:
        """Return R a."""
        return self.dot(R[0], a), self.dot(R[1], a), self.dot(R[2], a)

    def transposed(self, R: Rotation) -> Rotation:
        """Return R^T."""
        x, y, z = zip(*R, strict=True)
        return x, y, z

    def product(self, R: Rotation, S: Rotation) -> Rotation:
        """Return R S."""
        columns = self.transposed(S)
        x, y, z = ((self.dot(row, columns[0]), self.dot(row, columns[1]), self.dot(row, columns[2])) for row in R)
        return x, y, z

    def exponential(self, phi: Vector) -> Rotation:
        """Return the rotation of a rotation vector: 1 + a phi x + b phi x phi x (Rodrigues)."""
        z = self.dot(phi, phi)
        small = self.program.constant(1e-4)
        series = self.number("1 - z/6*(1 - z/20*(1 - z/42))", z=z), self.number("0.5 - z/24*(1 - z/30*(1 - z/56))", z=z)
        whole = self.number("sin(sqrt(z))/sqrt(z)", z=z), self.number("(1 - cos(sqrt(z)))/z", z=z)
        a, b = (self.program.emit("less", z, small, near, far) for near, far in zip(series, whole, strict=True))
        columns = []
        for k in range(3):
            once = self.cross(phi, self.unit[k])
            twice = self.cross(phi, once)
            columns.append(self.sum(self.unit[k], self.scaled(a, once), self.scaled(b, twice)))
        return self.transposed((columns[0], columns[1], columns[2]))

    def logarithm(self, R: Rotation) -> Vector:
        """Return the rotation vector of a rotation, shorter than half a turn."""
        half = self.program.constant(0.5)
        w = self.scaled(half, self.difference((R[2][1], R[0][2], R[1][0]), (R[1][2], R[2][0], R[0][1])))
        c = self.number("0.5*(a + b + d - 1)", a=R[0][0], b=R[1][1], d=R[2][2])
        z = self.dot(w, w)
        series = self.number("1 + z*(1/6 + z*(3/40 + z*15/336))", z=z)
        whole = self.number("atan2(sqrt(z), c)/sqrt(z)", z=z, c=c)
        acute = self.program.emit("less", self.program.constant(0.0), c, series, whole)
        return self.scaled(self.program.emit("less", z, self.program.constant(1e-6), acute, whole), w)

    def turning_rate(self, phi: Vector, w: Vector) -> Vector:
        """Return the rate of a rotation vector, phi' = w - phi x w / 2 + c phi x (phi x w), w in outer axes."""
        once = self.cross(phi, w)
        half = self.program.constant(-0.5)
        return self.sum(w, self.scaled(half, once), self.scaled(self._series(phi), self.cross(phi, once)))

    def turning_moment(self, phi: Vector, gradient: Vector) -> Vector:
        """Return what is conjugate to the angular velocity, from what is conjugate to phi': the transpose of that."""
        once = self.cross(phi, gradient)
        half = self.program.constant(0.5)
        return self.sum(gradient, self.scaled(half, once), self.scaled(self._series(phi), self.cross(phi, once)))

    def _series(self, phi: Vector) -> int:
        """Return c = (1 - theta/2 cot(theta/2)) / theta^2."""
        z = self.dot(phi, phi)
        series = self.number("1/12 + z*(1/720 + z*(1/30240 + z/1209600))", z=z)
        whole = self.number("(1 - 0.5*sqrt(z)/tan(0.5*sqrt(z)))/z", z=z)
        return self.program.emit("less", z, self.program.constant(1e-2), series, whole)
