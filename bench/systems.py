"""The system as described beside its tree, single calls beside batches, on one thread.

    python bench/systems.py [--rounds 15] [--states 512]

Trees: `dynamics`, with everything in it, beside `forward_dynamics`. Loops: batches of constrained forward dynamics and
of `dynamics`, per state, beside single calls: what lanes bring. Every round runs each of them once (`timing.py`).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from timing import race

import dalembert as da
from dalembert.library import chain, humanoid
from dalembert.library.mechanisms import andrews, bricard, four_bar

__all__ = ["print_systems"]

TREES = {"chain of 7": lambda: chain(7), "chain of 128": lambda: chain(128), "humanoid": humanoid}
LOOPS = {"four-bar": four_bar, "Bricard": bricard, "Andrews": andrews}


def states_of(model: da.Model, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return states (count, nq), (count, nv): any of a tree, along the motion of a loop."""
    if not model.nc:
        s = model.random_state(1, size=count)
        return s.q, s.v
    result = da.simulate(model, 0.02)
    speeds = np.linspace(0.5, 1.0, count)[:, None]
    return np.tile(result.q[-1], (count, 1)), speeds * result.v[-1]


def calls(model: da.Model, count: int) -> dict[str, Callable[[], object]]:
    """Return what is timed, one state and many."""
    q, v = states_of(model, count)
    return {
        "forward_dynamics": lambda: model.forward_dynamics(q[0], v[0]),
        "dynamics": lambda: model.dynamics(0.0, q[0], v[0]),
        "forward_dynamics, batch": lambda: model.forward_dynamics(q, v),
        "dynamics, batch": lambda: model.dynamics(0.0, q, v),
    }


def print_systems(rounds: int, count: int) -> None:
    """Print times in us, and ratios."""
    print(f"us per state, one thread, {da.isa}; batches of {count}")
    print(f"{'':14s}{'forward':>10s}{'dynamics':>10s}{'':>8s}{'forward, batch':>16s}{'':>7s}{'dynamics, batch':>17s}")
    for title, make in {**TREES, **LOOPS}.items():
        times = race(calls(make().compile(), count), rounds=rounds)
        forward, dynamics, forwards, many = (1e6 * timing.minimum for timing in times.values())
        forwards, many = forwards / count, many / count
        print(
            f"{title:14s}{forward:10.3f}{dynamics:10.3f}{dynamics / forward:7.2f}x"
            f"{forwards:16.3f}{forward / forwards:6.1f}x{many:17.3f}{dynamics / many:6.1f}x"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--states", type=int, default=512)
    chosen = parser.parse_args()
    da.set_threads(1)
    print_systems(chosen.rounds, chosen.states)
