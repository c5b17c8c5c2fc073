"""Inertias as dyadics: sums of products of unit vectors, as texts on dynamics print them.

    I = 54 n1n1 + 54 n2n2 - 3 (n1n2 + n2n1)       the same as the matrix with entries I_ij of n_i n_j

Unit vectors are n1, n2, n3 of the body, or x, y, z. With the number of the body before that of the axis, n21 is axis 1
of body 2 (Passerello and Huston 1972, Fig. 10). All dyads of one inertia must refer to one body. The dyadic must be
symmetric: n1n2 and n2n1 have the same coefficient.
"""

from __future__ import annotations

import re

import numpy as np

from ..arrays import Array
from ..errors import ModelError

__all__ = ["dyadic", "inertia_of_dyadic"]


_VECTOR = r"(?:n(?P<{0}>\d*[123])|(?P<{0}_axis>[xyz]))"
_DYAD = re.compile(_VECTOR.format("a") + r"\s*" + _VECTOR.format("b"))
_TERM = re.compile(
    r"\s*(?P<sign>[-+])?\s*(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)?\s*\*?\s*"
    r"(?P<dyads>\((?P<inside>[^()]*)\)|" + _DYAD.pattern.replace("?P<a", "?P<c").replace("?P<b", "?P<d") + r")"
)


def inertia_of_dyadic(text: str, *, item: str = "inertia") -> Array:
    """Return the matrix (3, 3) of a dyadic.

    Raises
    ------
    ModelError
        If it is not a sum of dyads, dyads refer to different bodies, or it is not symmetric.

    Examples
    --------
    >>> inertia_of_dyadic("240 n11n11 + 240 n12n12 + 100 n13n13 - 5 (n11n12 + n12n11)")
    array([[240.,  -5.,   0.],
           [ -5., 240.,   0.],
           [  0.,   0., 100.]])
    """
    matrix, bodies, place = np.zeros((3, 3)), set[str](), 0
    while text[place:].strip():
        term = _TERM.match(text, place)
        if term is None or (place and term["sign"] is None):
            remedy = f"after {text[:place]!r} there should be a term such as '+ 54 n1n1' or '- 3 (n1n2 + n2n1)'"
            raise ModelError(item, "inertia", text, remedy)
        number = float(term["number"] or 1.0) * (-1.0 if term["sign"] == "-" else 1.0)
        inside = term["inside"] if term["inside"] is not None else term["dyads"]
        for part in inside.split("+"):
            dyad = _DYAD.fullmatch(part.strip())
            if dyad is None:
                raise ModelError(item, "inertia", text, f"{part.strip()!r} is not a dyad such as n1n1")
            i, j = (_axis(dyad[name], dyad[f"{name}_axis"], bodies) for name in "ab")
            matrix[i, j] += number
        place = term.end()
    if not place:
        raise ModelError(item, "inertia", text, "give a sum of dyads such as '54 n1n1 + 54 n2n2'")
    if len(bodies) > 1:
        remedy = f"its unit vectors are of bodies {', '.join(sorted(bodies))}: those of one body belong to an inertia"
        raise ModelError(item, "inertia", text, remedy)
    if not np.array_equal(matrix, matrix.T):
        i, j = (int(k) + 1 for k in np.argwhere(matrix != matrix.T)[0])
        raise ModelError(item, "inertia", text, f"n{i}n{j} and n{j}n{i} need the same number")
    return matrix


def _axis(number: str | None, letter: str | None, bodies: set[str]) -> int:
    """Return the axis number of a unit vector and record its body."""
    if letter is not None:
        bodies.add("")
        return "xyz".index(letter)
    assert number is not None
    bodies.add(number[:-1])
    return int(number[-1]) - 1


def dyadic(matrix: Array, *, body: int | str = "", digits: int = 6) -> str:
    """Return a symmetric matrix (3, 3) as a dyadic in unit vectors n1, n2, n3 of a body.

    Examples
    --------
    >>> dyadic(np.array([[54.0, -3.0, 0.0], [-3.0, 54.0, 0.0], [0.0, 0.0, 0.0]]), body=2)
    '54 n21n21 + 54 n22n22 - 3 (n21n22 + n22n21)'
    """
    x = np.asarray(matrix, dtype=float)
    scale = float(np.abs(x).max(initial=0.0))
    names = [f"n{body}{k}" for k in (1, 2, 3)]
    terms = [(x[k, k], names[k] + names[k]) for k in range(3)]
    terms += [(x[i, j], f"({names[i]}{names[j]} + {names[j]}{names[i]})") for i, j in ((0, 1), (0, 2), (1, 2))]
    text = ""
    for number, name in terms:
        if abs(number) <= 1e-12 * scale:
            continue
        sign = "-" if number < 0 else "+" if text else ""
        text += f" {sign} {abs(number):.{digits}g} {name}" if text else f"{sign}{abs(number):.{digits}g} {name}"
    return text or "0"
