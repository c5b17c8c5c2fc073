"""Closure of a sketched linkage: nearest point positions with given lengths."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import positive_number
from ..errors import ModelError
from ..numerics.least_squares import VectorProblem, descend

__all__ = ["closed_drawing", "meet", "turned"]


MAX_ITERATIONS = 200  # steps
MAX_STEP = 0.2  # of the drawing's size
CLOSED_TOL = 1e-12  # of the drawing's size
STALLED_TOL = 1e-9  # of the drawing's size: where steps reduce the errors no further


def closed_drawing(
    points: Mapping[str, Array],
    links: Mapping[str, tuple[str, ...]],
    fixed: set[str],
    lengths: Mapping[Any, float],
    lines: Mapping[str, Array],
    sliders: Mapping[str, tuple[str, Any]],
) -> dict[str, Array]:
    """Find points near a sketch with the given distances, and drawn distances within links otherwise.

    Parameters
    ----------
    points : dict of str to (n,) m
    links : dict of str to tuple of str
        Points of each link, ground included.
    fixed : set of str
        Points that do not move.
    lengths : dict of (str, str), or link, to float, m
    lines : dict of str to (n,)
        Directions along which points slide; those guided by ground stay on their line.

    Raises
    ------
    ModelError
        If no position has the distances; the message lists the largest errors.
    """
    targets = {frozenset(pair): length for pair, length in (_given(k, v, links, fixed) for k, v in lengths.items())}
    for link, own in links.items():
        for p, q in combinations(own, 2):
            if link != "ground" and not {p, q} <= fixed:
                targets.setdefault(frozenset((p, q)), float(np.linalg.norm(points[p] - points[q])))
    free = [p for p in points if p not in fixed]
    index = {p: k for k, p in enumerate(free)}
    pairs = [tuple(sorted(pair)) for pair in targets]
    goal = np.array(list(targets.values()))
    guides = [(p, lines[p]) for p in free if p in sliders and sliders[p][0] == "ground"]
    n = len(next(iter(points.values())))
    drawn = np.array([points[p] for p in free], dtype=float).reshape(-1, n)
    size = float(max(np.ptp(list(points.values()), axis=0).max(), goal.max(initial=0.0)))

    def placed(steps: Array) -> dict[str, Array]:
        moved = drawn + MAX_STEP * size * steps.reshape(-1, n)
        return {p: moved[index[p]] if p in index else np.array(v, dtype=float) for p, v in points.items()}

    def residual(steps: Array) -> Array:
        x = placed(steps)
        gaps = [np.linalg.norm(x[p] - x[q]) - target for (p, q), target in zip(pairs, goal, strict=True)]
        off = [(np.eye(n) - np.outer(along, along)) @ (x[p] - points[p]) for p, along in guides]
        return np.concatenate([gaps, *off]) / size

    def jacobian(steps: Array) -> Array:
        x = placed(steps)
        J = np.zeros((len(pairs) + n * len(guides), len(free), n))
        for row, (p, q) in zip(J, pairs, strict=False):
            away = x[p] - x[q]
            for end, sign in ((p, 1.0), (q, -1.0)):
                if end in index:
                    row[index[end]] = sign * away / max(float(np.linalg.norm(away)), 1e-12 * size)
        for k, (p, along) in enumerate(guides):
            J[len(pairs) + n * k : len(pairs) + n * (k + 1), index[p]] = np.eye(n) - np.outer(along, along)
        return MAX_STEP * J.reshape(len(J), -1)

    problem = VectorProblem(drawn.size, residual, jacobian)
    found = descend(problem, np.zeros(drawn.size), tolerance=CLOSED_TOL, max_iterations=MAX_ITERATIONS)
    if found.worst < STALLED_TOL:
        return placed(found.q)
    missed = size * residual(found.q)
    worst = sorted(range(len(pairs)), key=lambda k: (k >= len(lengths), -abs(missed[k])))  # given lengths first
    gaps = [k for k in worst if abs(missed[k]) > 1e-3 * size][:3] or worst[:1]
    texts = [f"{'-'.join(pairs[k])} {goal[k] + missed[k]:.6g} m instead of {goal[k]:.6g} m" for k in gaps]
    given = ", ".join(f"{'-'.join(pairs[k])}: {goal[k]:.6g} m" for k in range(len(lengths)))
    remedy = f"no position with these lengths was found near the drawing; the last iteration has {', '.join(texts)}"
    raise ModelError("linkage", "lengths", given, remedy)


def _given(
    key: Any, value: Any, links: Mapping[str, tuple[str, ...]], fixed: set[str]
) -> tuple[tuple[str, str], float]:
    """Return the two points of a length, and its value."""
    own = links.get(key, ()) if isinstance(key, str) else ()
    if isinstance(key, str) and len(own) != 2:
        remedy = "give the name of a link of two points, or two points, ('A', 'B')"
        raise ModelError("linkage", "lengths", key, remedy)
    pair = own if isinstance(key, str) else tuple(key) if isinstance(key, tuple) else ()
    if len(pair) != 2 or not any(set(pair) <= set(members) for members in links.values()) or pair[0] == pair[1]:
        raise ModelError("linkage", "lengths", key, "give two points of one link, ('A', 'B')")
    if set(pair) <= fixed:
        raise ModelError("linkage", "lengths", key, "both points are on ground: their distance is that of the drawing")
    return (pair[0], pair[1]), positive_number(value, item=f"length {'-'.join(pair)}", field="length")


def meet(
    p: ArrayLike, from_p: float, q: ArrayLike, from_q: float, *, left: bool = True, item: str, what: str = "the links"
) -> Array:
    """Return the point (2,) m at given distances from p and q, on the left or right of the line from p to q.

    Raises
    ------
    ModelError
        If there is none, with the distance of p and q and its feasible range.
    """
    a, b = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    distance = float(np.linalg.norm(b - a))
    low, high = abs(from_p - from_q), from_p + from_q
    if not low <= distance <= high or distance == 0:
        remedy = (
            f"{what} of {from_p:.6g} m and {from_q:.6g} m reach over {low:.6g} m to {high:.6g} m: they cannot close"
        )
        raise ModelError(item, "distance", f"{distance:.6g} m", remedy)
    unit = (b - a) / distance
    along = (from_p**2 - from_q**2 + distance**2) / (2 * distance)
    across = math.sqrt(max(0.0, from_p**2 - along**2))
    return np.asarray(a + along * unit + (across if left else -across) * np.array([-unit[1], unit[0]]))


def turned(angle: float, length: float = 1.0) -> Array:
    """Return the vector (2,) of a length at an angle from the first axis."""
    return length * np.array([math.cos(angle), math.sin(angle)])
