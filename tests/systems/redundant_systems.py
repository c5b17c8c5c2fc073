"""Random systems in which connections stand beside others that leave them nothing to do."""

import numpy as np

import dalembert as da
from dalembert.connections.joints import Fixed, Spherical
from systems.random_loops import ClosedSystem, close
from systems.random_trees import HINGES, coin, hang_on, random_hinge, random_system

__all__ = ["gap", "redundant"]


def redundant(seed: int) -> ClosedSystem:
    """Return a random system with a weld, beside which stand other hinges or welds; in some a loop with a twin."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, 3)
    outer = list(system.bodies.values())[-1]
    welded = hang_on(system, outer, "welded", Fixed, rng, backwards=coin(rng))
    tip = hang_on(system, welded, "tip", HINGES[int(rng.integers(len(HINGES)))], rng, backwards=coin(rng))
    kinds = [Fixed, Fixed, *HINGES]
    pairs = [(outer, welded, random_hinge(kinds[int(rng.integers(len(kinds)))], rng)) for _ in range(1 + seed % 2)]
    freedoms = sum(hinge.element.nv for hinge in system.forest().hinges)
    looped = seed % 3 == 0 and freedoms > 3
    closed = close(system, [*pairs, *([(tip, system.ground, Spherical())] if looped else [])], rng)
    if looped:
        loop = system.connections[f"c{len(pairs)}"]
        system.connect("twin", loop.element, loop.first, loop.second)
    return closed


def gap(model: da.Model, a: da.Result, b: da.Result) -> float:
    """Return how far two motions end apart, rad and m."""
    return float(np.abs(model.difference(a.q[-1], b.q[-1])).max())
