"""Rows of constraint equations as sums of terms, by names of coordinates.

A direction is a combination of differences of points and of vectors, sum f (tip - tail). Rows of rigid bodies and
joints are linear, or products of directions: dot products, components of cross products, triple products.
`core/natural/rows.hpp` has the kinds of terms and their derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..arrays import Array

__all__ = ["KINDS", "Direction", "Row", "Term", "constant", "cosine", "cross", "dot", "linear", "sine", "triple"]

Place = tuple[str, int] | None  # a coordinate and its component; None for zero

KINDS = ("constant", "linear", "dot", "cross", "triple", "cosine", "sine")  # in the order of the core


@dataclass(frozen=True)
class Term:
    """One term of a row: its kind, dimension or component, coordinate components, and factor."""

    kind: str
    part: int
    places: tuple[Place, ...]
    factor: float


@dataclass(frozen=True)
class Row:
    """One equation: the sum of its terms is zero.

    Attributes
    ----------
    name : str
    terms : tuple of Term
    power : int
        Of length, in its unit: 2 for a distance squared, 0 for a unit norm.
    only : (str, str) or None
        An angle and ``"cosine"`` or ``"sine"``: the row is active where this function of the angle changes fastest.
    """

    name: str
    terms: tuple[Term, ...]
    power: int
    only: tuple[str, str] | None = None

    def coordinates(self) -> set[str]:
        """Return the names of its points, vectors, angles and distances."""
        return {place[0] for term in self.terms for place in term.places if place is not None}


@dataclass(frozen=True)
class Direction:
    """Linear combination of differences of points and of vectors.

    Attributes
    ----------
    parts : tuple of (factor, tip, tail)
        A tail of None makes the tip a vector.
    power : int
        Of length: 1 for differences of points, 0 for vectors.
    """

    parts: tuple[tuple[float, str, str | None], ...]
    power: int

    @classmethod
    def between(cls, tail: str, tip: str) -> Direction:
        """Return the direction from one point to another."""
        return cls(((1.0, tip, tail),), 1)

    @classmethod
    def along(cls, vector: str) -> Direction:
        """Return a unit vector."""
        return cls(((1.0, vector, None),), 0)

    def value(self, X: Mapping[str, Array]) -> Array:
        """Return its components (dim,) for given coordinates."""
        return sum(
            (f * (X[tip] - (X[tail] if tail is not None else 0.0)) for f, tip, tail in self.parts),
            start=np.zeros_like(X[self.parts[0][1]]),
        )

    @property
    def label(self) -> str:
        """Short name."""
        return "+".join(tip if tail is None else f"{tail}{tip}" for _, tip, tail in self.parts)


def _place(name: str | None) -> Place:
    return None if name is None else (name, 0)


def constant(value: float) -> list[Term]:
    """Return a constant as a term."""
    return [Term("constant", 0, (), value)]


def linear(name: str, component: int, factor: float) -> list[Term]:
    """Return a coordinate times a factor."""
    return [Term("linear", 0, ((name, component),), factor)]


def cosine(name: str, factor: float) -> list[Term]:
    """Return the cosine of an angle times a factor."""
    return [Term("cosine", 0, ((name, 0),), factor)]


def sine(name: str, factor: float) -> list[Term]:
    """Return the sine of an angle times a factor."""
    return [Term("sine", 0, ((name, 0),), factor)]


def component_of(A: Direction, component: int, factor: float = 1.0) -> list[Term]:
    """Return a component of a direction."""
    terms = []
    for f, tip, tail in A.parts:
        terms += linear(tip, component, factor * f)
        if tail is not None:
            terms += linear(tail, component, -factor * f)
    return terms


def _products(kind: str, part: int, factor: float, *directions: Direction) -> list[Term]:
    found: list[tuple[float, tuple[Place, ...]]] = [(factor, ())]
    for direction in directions:
        found = [
            (f * g, (*places, _place(tip), _place(tail))) for f, places in found for g, tip, tail in direction.parts
        ]
    return [Term(kind, part, places, f) for f, places in found]


def dot(A: Direction, B: Direction, size: int, factor: float = 1.0) -> list[Term]:
    """Return A . B of vectors of `size` components."""
    return _products("dot", size, factor, A, B)


def cross(A: Direction, B: Direction, component: int, factor: float = 1.0) -> list[Term]:
    """Return a component of A x B; of vectors in the plane, component 2."""
    return _products("cross", component, factor, A, B)


def triple(E: Direction, A: Direction, B: Direction, factor: float = 1.0) -> list[Term]:
    """Return E . (A x B)."""
    return _products("triple", 3, factor, A, B, E)
