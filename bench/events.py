"""What an event costs: located and applied by the core, applied by a Python function, and located in Python.

    python bench/events.py [--rounds 7]

The first joint of a chain bounces to and fro between two walls. CPU time; the cost of an event includes the restart
after it and the flight to the next one. Then ensembles of such chains, and of chains with a sampled control: a run in a
batch of the core, beside runs one after the other.
"""

from __future__ import annotations

import argparse
from functools import partial
from time import process_time_ns
from typing import Any

import numpy as np
from timing import race

import dalembert as da
from dalembert.library import chain

LEVELS = (-0.05, 0.05)
HOW = ("core", "function", "python")


def rattle(links: int) -> da.Model:
    """Return a chain that swings, with the angle of its first joint between two walls."""
    s = chain(links)
    s.initial(next(iter(s.connections)), speed=3.0)
    return s.compile()


def walls(joint: str, how: str) -> list[da.Event]:
    """Return the events of two walls, with actions by text or by function, and outputs by name or by function."""
    bounce = {"core": "bounce", "function": lambda now: now.bounce(joint), "python": lambda now: now.bounce(joint)}[how]
    output = (lambda state: state.q[0]) if how == "python" else f"{joint}.position"
    low = da.Event("low", output, LEVELS[0], direction=-1, action=bounce)
    return [low, da.Event("high", output, LEVELS[1], direction=1, action=bounce)]


def print_events(rounds: int) -> None:
    """Print microseconds per event, and ratios."""
    print(f"1 s of a chain between two walls, one thread, {da.isa}; us per event, restart and flight included")
    print(f"{'links':>6s}{'events':>8s}{'core':>10s}{'function':>10s}{'python':>10s}{'ratio':>8s}")
    for links in (1, 10):
        model = rattle(links)
        joint = model.joint_names[0]
        runs = {how: partial(da.simulate, model, 1.0, events=walls(joint, how)) for how in HOW}
        count = len(runs["core"]().events)
        found = race(runs, rounds=rounds, clock=process_time_ns)
        each = [1e6 * found[how].minimum / count for how in HOW]
        print(f"{links:6d}{count:8d}" + "".join(f"{value:10.1f}" for value in each) + f"{each[2] / each[0]:8.1f}")


def print_ensembles(rounds: int, count: int = 64) -> None:
    """Print milliseconds per run of ensembles."""
    model = rattle(7)
    start, joint = model.random_state(0, size=count), model.joint_names[0]
    start.q[:] = 0.01 * start.q
    times = np.linspace(0.0, 1.0, 11)
    ensemble = partial(da.simulate, model, 1.0, state=start, times=times)

    def control(state: da.State) -> Any:
        return -2.0 * state.v

    runs = {
        "events, batch": partial(ensemble, events=walls(joint, "core")),
        "events, function": partial(ensemble, events=walls(joint, "function")),
        "sampled, batch": partial(ensemble, control=da.SampledControl(control, 0.001, batched=True)),
        "sampled, one by one": partial(ensemble, control=da.SampledControl(control, 0.001)),
    }
    found = race(runs, rounds=rounds, slice_time=1e-9, clock=process_time_ns)
    print(f"\n{count} chains of 7, 1 s: ms of processor time per run")
    for how, timing in found.items():
        print(f"{how:>22s}{1e3 * timing.minimum / count:9.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args().rounds
    print_events(given)
    print_ensembles(max(2, given // 2))
