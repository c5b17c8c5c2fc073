"""Random systems in which connections stand beside others that leave them nothing to do."""

import numpy as np

import dalembert as da
from dalembert.connections.joints import Fixed, Spherical
from systems.random_loops import ClosedSystem, close
from systems.random_trees import JOINTS, coin, hang_on, random_joint, random_system

__all__ = ["gap", "redundant"]


def redundant(seed: int) -> ClosedSystem:
    """Return a random system with a weld, beside which stand other joints or welds; in some a loop with a twin."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, 3)
    outer = list(system.bodies.values())[-1]
    welded = hang_on(system, outer, "welded", Fixed, rng, backwards=coin(rng))
    tip = hang_on(system, welded, "tip", JOINTS[int(rng.integers(len(JOINTS)))], rng, backwards=coin(rng))
    kinds = [Fixed, Fixed, *JOINTS]
    pairs = [(outer, welded, random_joint(kinds[int(rng.integers(len(kinds)))], rng)) for _ in range(1 + seed % 2)]
    dofs = sum(joint.element.nv for joint in system.forest().joints)
    looped = seed % 3 == 0 and dofs > 3
    closed = close(system, [*pairs, *([(tip, system.ground, Spherical())] if looped else [])], rng)
    if looped:
        loop = system.connections[f"c{len(pairs)}"]
        system.connect("twin", loop.element, loop.first, loop.second)
    return closed


def gap(model: da.Model, a: da.Result, b: da.Result) -> float:
    """Return how far two motions end apart, rad and m."""
    return float(np.abs(model.difference(a.q[-1], b.q[-1])).max())
