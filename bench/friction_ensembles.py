"""Ensembles and rollouts with dry friction and stops: time per run, beside single runs and runs without friction.

    python bench/friction_ensembles.py [--rounds 5] [--runs 64]

Pendulums swing with dry friction until they stick; arms of seven links fall onto their stops, with friction at every
joint. All start from states of their own. Times are of the processor, so that other processes count little; with
several threads the time of the clock is the part of each.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import process_time_ns

import numpy as np
from timing import race

import dalembert as da

LENGTH = 1.0  # s, of a run
TIMES = np.linspace(0.0, LENGTH, 51)


def pendulums(count: int) -> tuple[da.Model, da.State]:
    """Return a pendulum with friction, and starts."""
    s = da.System("pendulum")
    s.connect("A", da.Revolute("y", friction=0.6), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    return s.compile(), da.State(q=np.linspace(0.5, 2.5, count)[:, None], v=np.zeros((count, 1)))


def arms(count: int) -> tuple[da.Model, da.State]:
    """Return an arm of seven links with friction and stops, and starts."""
    s = da.System("arm")
    last = s.ground
    for k in range(7):
        link = s.body(f"link{k}", da.rod(length=0.2, mass=1.0))
        joint = da.Revolute("yz"[k % 2], friction=0.2, lower=-1.5, upper=1.5, restitution=0.2)
        s.connect(f"J{k}", joint, last, link)
        last = link.at(0.2, 0, 0)
    rng = np.random.default_rng(0)
    return s.compile(), da.State(q=rng.uniform(-1.0, 1.0, (count, 7)), v=np.zeros((count, 7)))


def print_ensembles(count: int, rounds: int) -> None:
    """Print times per run."""
    print(f"{LENGTH:g} s, {count} runs each, {da.isa}; ms of processor time per run")
    print(f"{'':12s}{'changes':>9s}{'single':>9s}{'ensemble':>10s}{'rollout':>9s}{'without':>9s}")
    for name, make in (("pendulums", pendulums), ("arms", arms)):
        changes, made = measure(*make(count), rounds)
        print(f"{name:12s}{changes:9.1f}" + "".join(f"{1e3 * time / count:9.3f} " for time in made.values()))


def measure(model: da.Model, start: da.State, rounds: int) -> tuple[float, dict[str, float]]:
    """Return changes per run, and times, s, of all runs."""
    count = len(start.q)
    changes = sum(map(len, da.simulate(model, LENGTH, state=start, times=TIMES).events)) / count
    still = np.zeros((count, 50, model.nv))
    singles = [da.State(q=q, v=v) for q, v in zip(start.q, start.v, strict=True)]
    calls: dict[str, Callable[[], object]] = {
        "single": lambda: [da.simulate(model, LENGTH, state=one, times=TIMES) for one in singles],
        "ensemble": lambda: da.simulate(model, LENGTH, state=start, times=TIMES),
        "rollout": lambda: da.rollout(model, start, still, LENGTH / 50, method="dop853"),
        "without": lambda: da.simulate(model, LENGTH, state=start, times=TIMES, friction="off", stops="off"),
    }
    made = race(calls, rounds=rounds, slice_time=1e-9, clock=process_time_ns)
    return changes, {key: timing.minimum for key, timing in made.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=64)
    given = parser.parse_args()
    print_ensembles(given.runs, given.rounds)
