"""Random graphs of bodies and joints, closed as they are described: all frames are along those of the world."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import dalembert as da
from systems.flexible_systems import random_flexible

from . import grid, lattice, net, ring, scissor, wheel

__all__ = ["FAMILIES", "random_graph"]


def _body(
    s: da.System, name: str, place: np.ndarray, rng: np.random.Generator, flexible: bool, shaped: dict[str, object]
) -> Callable:
    """Add a body about a place; return its marker at a point of the world."""
    if flexible:
        shape = random_flexible(rng, **{"nm": 2, **shaped})
        body = s.body(name, shape)
        nodes = np.asarray(shape.nodes)

        def at_node(p: np.ndarray, axes: np.ndarray) -> da.Marker:
            k = int(np.abs(nodes - p).sum(1).argmin())
            return body.at(*(p - nodes[k]), node=k, rotation=axes)

        return at_node
    A = rng.normal(size=(3, 3))
    S = 0.1 * (A @ A.T + 0.2 * np.eye(3))
    rigid = s.body(name, mass=rng.uniform(0.5, 2.0), com=place, inertia=np.trace(S) * np.eye(3) - S)
    return lambda p, axes: rigid.at(*p, rotation=axes)


def graph(
    n: int, seed: int, *, planar: bool, chords: float, flexible: float = 0.0, shaped: dict[str, object] | None = None
) -> da.System:
    """Return n bodies in a random tree, with a chord for a part of the bodies, to one of the nearest bodies.

    Planar: pins about y. Else pins about any axis, universal joints and balls in the tree, chords of balls or pins.
    shaped: options of `random_flexible`.
    """
    rng = np.random.default_rng(seed)
    s = da.System(gravity=(0, 0, -9.81))
    places = rng.uniform(0, n ** (1 / 2 if planar else 1 / 3), (n, 3))
    if planar:
        places[:, 1] = 0.0
    marker = [_body(s, f"b{k}", places[k], rng, rng.random() < flexible, shaped or {}) for k in range(n)]

    def joint(balls: float) -> tuple[da.Joint, np.ndarray]:
        if planar:
            return da.Revolute("y"), np.eye(3)
        kind = rng.random()
        if kind < balls:
            return da.Spherical(), np.eye(3)
        axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        axes *= np.sign(np.linalg.det(axes))
        return (da.Universal() if kind < balls + 0.2 else da.Revolute("z")), axes

    def connect(name: str, a: Callable, b: Callable, at: np.ndarray, balls: float) -> None:
        element, axes = joint(balls)
        s.connect(name, element, a(at, axes), b(at, axes))

    distance = np.linalg.norm(places[:, None] - places[None], axis=2) + 1e9 * np.eye(n)
    ground = s.ground
    connect("base", lambda p, axes: ground.at(*p, rotation=axes), marker[0], places[0] + [0.3, 0.0, 0.2], 0.3)
    for k in range(1, n):
        near = int(distance[k, :k].argsort()[min(int(rng.integers(3)), k - 1)])
        at = (places[k] + places[near]) / 2 + 0.1 * rng.normal(size=3) * (1, not planar, 1)
        connect(f"t{k}", marker[near], marker[k], at, 0.4)
    for k in range(n):
        if rng.random() < chords:
            near = int(distance[k].argsort()[int(rng.integers(min(4, n - 1)))])
            at = (places[k] + places[near]) / 2 + 0.2 * rng.normal(size=3) * (1, not planar, 1)
            connect(f"c{k}", marker[near], marker[k], at, 0.8)
    return s


FAMILIES: dict[str, Callable[[int], da.System]] = {
    "ladder": lambda k: scissor(6 + k % 40, 0.2 + 0.025 * (k % 40)),
    "grid": lambda k: grid(3 + k % 5, skew=0.05 + 0.01 * k, braced=0.2 * (k % 3), seed=k),
    "net": lambda k: net(3 + k % 4, seed=k),
    "lattice": lambda k: lattice(20 + 5 * (k % 20), seed=k, keep=0.6 + 0.1 * (k % 4)),
    "balls": lambda k: lattice(20 + 4 * (k % 20), seed=k, keep=0.5 + 0.1 * (k % 4), balls=True),
    "hub": lambda k: wheel(6 + k),
    "ring": lambda k: ring(8 + 2 * k),
    "planar": lambda k: graph(15 + 5 * (k % 38), k, planar=True, chords=0.3 + 0.1 * (k % 5)),
    "spatial": lambda k: graph(15 + 5 * (k % 38), k, planar=False, chords=0.2 + 0.1 * (k % 4)),
    "modal": lambda k: graph(10 + k % 30, k, planar=False, chords=0.3, flexible=0.3),
}


def random_graph(number: int) -> da.System:
    """Return one of 300 graphs, ten families in turn."""
    build, k = FAMILIES[list(FAMILIES)[number % len(FAMILIES)]], number // len(FAMILIES)
    while True:
        s = build(k)
        if len(s.connections) > len(s.bodies):
            return s
        k += 1000  # this one has no loops
