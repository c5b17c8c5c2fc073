"""Contact points of two convex solids, in C++ and from Python, beside coal where it is installed.

Random poses: the solids turn freely, and are moved along a random direction until they overlap by a part of their size
(`--depth`), or are that far apart. Processor time is that of the clock on one thread; minima of rounds.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from dalembert import _core
from dalembert.bodies.convex_hulls import solid_of_points

Array = np.ndarray

N_POSES = 200
MARGIN = 1e-3  # m


def ball_points(count: int) -> Array:
    points = np.random.default_rng(4).normal(size=(count, 3))
    return 0.5 * points / np.linalg.norm(points, axis=1)[:, None]


SEGMENT = np.array([[0, 0, -0.5], [0, 0, 0.5]])
HULL = ball_points(100)
SOLIDS: dict[str, Any] = {
    "plane": _core.Solid.half_space(),
    "sphere": solid_of_points(np.zeros((1, 3)), 0.4),
    "capsule": solid_of_points(SEGMENT, 0.2),
    "box": _core.Solid.box(0.5, 0.4, 0.3),
    "cylinder": _core.Solid(np.zeros((0, 3)), np.array([0.5, 0.3, 0.0])),
    "hull": solid_of_points(HULL),
}


def coal_shapes(coal: Any) -> dict[str, Callable[[], Any]]:
    """Return the same shapes of coal."""

    def hull() -> Any:
        points = coal.StdVec_Vec3s()
        for x in HULL:
            points.append(x)
        return coal.Convex.convexHull(points, False, None)

    return {
        "plane": lambda: coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0),
        "sphere": lambda: coal.Sphere(0.4),
        "capsule": lambda: coal.Capsule(0.2, 1.0),
        "box": lambda: coal.Box(1.0, 0.8, 0.6),
        "cylinder": lambda: coal.Cylinder(0.3, 1.0),
        "hull": hull,
    }


def pose(R: Array, p: Array) -> Array:
    return np.concatenate([R.ravel(), p])


def place(first: Any, second: Any, count: int, gap: float, flat: bool) -> tuple[Array, Array]:
    """Return poses (count, 12) of either at which their signed distance is `gap`, m."""
    rng = np.random.default_rng(0)
    X, Y = [], []
    for _ in range(count):
        R, S = Rotation.random(2, random_state=rng).as_matrix()
        direction = rng.normal(size=3)
        direction /= np.linalg.norm(direction)
        if flat:
            R, direction = np.eye(3), np.array([0.0, 0.0, 1.0])
        low, high = 0.0, 3.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            at = pose(R, np.zeros(3))[None], pose(S, middle * direction)[None]
            here = _core.contacts(first, at[0], second, at[1], 10.0)[0][0]
            low, high = (middle, high) if here < gap else (low, middle)
        X.append(pose(R, np.zeros(3)))
        Y.append(pose(S, low * direction))
    return np.array(X), np.array(Y)


def coal_time(coal: Any, shapes: dict[str, Callable[[], Any]], one: str, two: str, X: Array, Y: Array) -> float:
    """Return the mean time of a call of coal.collide from Python, s."""
    first, second = shapes[one](), shapes[two]()
    request = coal.CollisionRequest()
    request.security_margin = MARGIN
    at = [
        [coal.Transform3s(x[:9].reshape(3, 3), x[9:]), coal.Transform3s(y[:9].reshape(3, 3), y[9:])]
        for x, y in zip(X, Y, strict=True)
    ]
    least = np.inf
    for _ in range(10):
        start = perf_counter()
        for x, y in at:
            coal.collide(first, x, second, y, request, coal.CollisionResult())
        least = min(least, perf_counter() - start)
    return least / len(at)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="pairs with a name that contains this")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    try:
        import coal

        shapes = coal_shapes(coal)
    except ImportError:
        coal, shapes = None, {}
    print(f"load {os.getloadavg()[0]:.1f}; us a pair in C++ (points): apart by 0.5 mm, overlap of 1 mm, of 0.1 m")
    out: dict[str, Any] = {}
    for one, two in itertools.combinations_with_replacement(SOLIDS, 2):
        name = f"{one}-{two}"
        if two == "plane" or (given.only and given.only not in name):
            continue
        first, second = SOLIDS[one], SOLIDS[two]
        row, line = [], f"  {name:20s}"
        for gap in (5e-4, -1e-3, -0.1):
            X, Y = place(first, second, N_POSES, gap, one == "plane")
            took, points = _core.contact_time(first, X, second, Y, MARGIN)
            row.append(took * 1e6)
            line += f" {took * 1e6:8.3f} ({points:.1f})"
            if coal is not None and gap == -1e-3:
                theirs = coal_time(coal, shapes, one, two, X, Y) * 1e6
        if coal is not None:
            line += f"   coal from Python {theirs:7.2f}"
        out[name] = row
        print(line, flush=True)
    if given.json:
        given.json.write_text(json.dumps(out))


if __name__ == "__main__":
    main()
