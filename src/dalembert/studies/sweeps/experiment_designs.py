"""Designs of experiments for response surfaces: Box-Behnken, central composite and D-optimal points."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, product

import numpy as np

from ...arrays import Array, IndexArray
from ...checks import checked, whole_number
from ...errors import ModelError

__all__ = ["design_of_experiments"]

_ITEM = "design_of_experiments"
KINDS = ("box-behnken", "central-composite", "d-optimal")
N_RESTARTS = 5  # of the exchange of points
MAX_CANDIDATES = 20_000


@checked("over", "kind")
def design_of_experiments(
    over: Mapping[str, tuple[float, float]],
    kind: str = "box-behnken",
    *,
    runs: int | None = None,
    seed: int = 0,
) -> dict[tuple[str, ...], Array]:
    """Return points of a design of experiments for a quadratic response surface, as `sweep` takes them.

    Parameters
    ----------
    over : dict of name to (lower, upper)
    kind : str
        ``"box-behnken"``: middles of the edges of pairs of factors, and the centre (Box and Behnken 1960), three
        factors at least. ``"central-composite"``: corners, centres of faces and the centre. ``"d-optimal"``: the points
        of a grid of three levels that maximize the determinant of X^T X of the full quadratic model, by Fedorov's
        exchange (1972) from some random starts: locally optimal.
    runs : int
        Number of points of ``"d-optimal"``; default that of the coefficients plus three.
    seed : int

    Returns
    -------
    dict of names to (runs, n)

    Examples
    --------
    >>> import dalembert as da
    >>> over = da.design_of_experiments({"a": (0.0, 2.0), "b": (1.0, 3.0), "c": (-1.0, 1.0)})
    >>> over["a", "b", "c"].shape
    (13, 3)
    """
    if not isinstance(over, Mapping) or not over:
        raise ModelError(_ITEM, "over", over, "give a dict of name to (lower, upper)")
    bounds = np.array([tuple(map(float, pair)) for pair in over.values()])
    if bounds.shape != (len(over), 2) or not np.isfinite(bounds).all() or not (bounds[:, 0] < bounds[:, 1]).all():
        raise ModelError(_ITEM, "over", dict(over), "give finite (lower, upper) of each, the lower one first")
    if kind not in KINDS:
        raise ModelError(_ITEM, "kind", kind, f"use {', '.join(map(repr, KINDS))}")
    if runs is not None and kind != "d-optimal":
        raise ModelError(_ITEM, "runs", runs, f"the number of points of {kind!r} is fixed: leave it out")
    n = len(over)
    if kind == "d-optimal":
        points = _d_optimal(n, runs, seed)
    else:
        points = _box_behnken(n) if kind == "box-behnken" else _central_composite(n)
    centre, half = bounds.mean(axis=1), 0.5 * np.diff(bounds, axis=1)[:, 0]
    return {tuple(over): centre + half * points}


def _box_behnken(n: int) -> Array:
    if n < 3:
        raise ModelError(_ITEM, "over", n, "a Box-Behnken design needs three factors at least: use 'central-composite'")
    rows = [np.zeros(n)]
    for i, j in combinations(range(n), 2):
        for a, b in product((-1.0, 1.0), repeat=2):
            row = np.zeros(n)
            row[i], row[j] = a, b
            rows.append(row)
    return np.array(rows)


def _central_composite(n: int) -> Array:
    faces = np.concatenate([np.eye(n), -np.eye(n)])
    return np.concatenate([np.array(list(product((-1.0, 1.0), repeat=n))), faces, np.zeros((1, n))])


def quadratic_terms(points: Array) -> Array:
    """Return the columns 1, x_i, x_i x_j (i <= j) at points (k, n)."""
    n = points.shape[1]
    pairs = [points[:, i] * points[:, j] for i in range(n) for j in range(i, n)]
    return np.column_stack([np.ones(len(points)), points, *pairs])


def _d_optimal(n: int, runs: int | None, seed: int) -> Array:
    """Exchange points of the design for candidates as long as the determinant grows."""
    if 3**n > MAX_CANDIDATES:
        raise ModelError(_ITEM, "over", n, f"a grid of three levels has {3**n} points: use fewer factors")
    candidates = np.array(list(product((-1.0, 0.0, 1.0), repeat=n)))
    X = quadratic_terms(candidates)
    least = X.shape[1]
    count = least + 3 if runs is None else whole_number(runs, item=_ITEM, field="runs", least=least)
    rng = np.random.default_rng(whole_number(seed, item=_ITEM, field="seed", least=0))
    best: tuple[float, IndexArray] = (-np.inf, np.arange(0))
    for _ in range(N_RESTARTS):
        chosen = rng.choice(len(X), count, replace=count > len(X))
        while True:
            M = X[chosen].T @ X[chosen] + 1e-9 * np.eye(least)
            C = np.linalg.inv(M)
            d, own = np.einsum("ki,ij,kj->k", X, C, X), X[chosen]
            cross = own @ C @ X.T
            # growth of the determinant if a chosen point (row) is exchanged for a candidate (column), less 1
            gain = d - d[chosen][:, None] * (1 + d) + cross**2
            row, column = np.unravel_index(int(gain.argmax()), gain.shape)
            if gain[row, column] <= 1e-9:
                break
            chosen[row] = column
        size = float(np.linalg.slogdet(X[chosen].T @ X[chosen])[1])
        if size > best[0]:
            best = (size, np.sort(chosen))
    return np.asarray(candidates[best[1]])
