"""Rows in natural coordinates along a motion, by truncated Taylor series: no derivative is written down here."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dalembert.natural import NaturalEquations

Array = NDArray[np.float64]


def times(f: Array, g: Array) -> Array:
    """Return the product of two series (4,)."""
    return np.array([sum(f[i] * g[k - i] for i in range(k + 1)) for k in range(4)])


def cosine_and_sine(f: Array) -> tuple[Array, Array]:
    """Return the series of cos f and sin f, by powers of what f adds to its first number."""
    small = f.copy()
    small[0] = 0.0
    powers = [np.array([1.0, 0, 0, 0])]
    for _ in range(3):
        powers.append(times(powers[-1], small))
    cos = sum(math.cos(f[0] + k * math.pi / 2) / math.factorial(k) * p for k, p in enumerate(powers))
    sin = sum(math.sin(f[0] + k * math.pi / 2) / math.factorial(k) * p for k, p in enumerate(powers))
    return cos, sin


def series_of_rows(equations: NaturalEquations, levels: Array) -> Array:
    """Return Phi and its first three rates (4, rows) for all coordinates and their rates (4, N)."""
    X = levels / np.array([1.0, 1.0, 2.0, 6.0])[:, None]
    coordinates = {
        c.name: X[:, equations.place(c.name) : equations.place(c.name) + len(c.value)] for c in equations.coordinates
    }

    def at(place: tuple[str, int] | None, k: int = 0) -> Array:
        return np.zeros(4) if place is None else coordinates[place[0]][:, place[1] + k]

    def way(pair: tuple[object, ...], k: int) -> Array:
        return at(pair[0], k) - at(pair[1], k)  # type: ignore[arg-type]

    found = []
    for row in equations.table:
        total = np.zeros(4)
        for term in row.terms:
            p = term.places
            if term.kind == "constant":
                value = np.array([1.0, 0, 0, 0])
            elif term.kind == "linear":
                value = at(p[0])
            elif term.kind == "cosine":
                value = cosine_and_sine(at(p[0]))[0]
            elif term.kind == "sine":
                value = cosine_and_sine(at(p[0]))[1]
            elif term.kind == "dot":
                value = sum((times(way(p[:2], k), way(p[2:], k)) for k in range(term.part)), np.zeros(4))
            else:
                size = 2 if term.kind == "cross" and term.part == 2 else 3
                A = [*(way(p[:2], k) for k in range(size)), np.zeros(4)][:3]
                B = [*(way(p[2:4], k) for k in range(size)), np.zeros(4)][:3]
                C = [times(A[i - 2], B[i - 1]) - times(A[i - 1], B[i - 2]) for i in range(3)]
                if term.kind == "cross":
                    value = C[term.part]
                else:
                    value = sum((times(way(p[4:], k), C[k]) for k in range(3)), np.zeros(4))
            total = total + term.factor * value
        found.append(total)
    return np.array(found).T * np.array([1.0, 1.0, 2.0, 6.0])[:, None]
