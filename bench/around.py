"""Costs outside the core: events and control in Python, delays, batches of loops, pictures and pages.

    python bench/around.py [--rounds 3]

Processor time, the least of some rounds, each beside what it is measured against.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

import matplotlib as mpl
import numpy as np

import dalembert as da
from dalembert.library import chain
from dalembert.library.mechanisms import four_bar, slider_crank

__all__ = ["print_table"]


def fastest(call: Callable[[], object], rounds: int) -> float:
    """Return the least processor time of a call, s."""
    times = []
    for _ in range(rounds):
        began = process_time()
        call()
        times.append(process_time() - began)
    return min(times)


def ball(action: bool) -> tuple[da.System, list[da.Event]]:
    """Return an oscillator and an event at each of its passes, with a Python action or without."""
    s = da.System("passes", gravity=(0, 0, 0))
    s.connect("X", da.Prismatic("x"), s.ground, s.body("b", da.sphere(0.1, mass=1.0)))
    s.connect("k", da.JointSpring(stiffness=400.0), "X")
    s.initial("X", position=0.1)

    def strike(now: da.EventContext) -> None:
        now.impulse("b", force=(1e-4, 0, 0))

    return s, [da.Event("pass", "X.position", action=strike if action else None)]


def events(action: bool) -> Callable[[], object]:
    """Return a run with 637 events."""
    s, watched = ball(action)
    model = s.compile()
    return lambda: da.simulate(model, 100.0, events=watched)


def rollouts(how: str) -> Callable[[], object]:
    """Return 1,000 runs of a double pendulum of 1 s, with a law of its own, in Python or by formulas."""
    s = chain(2, axes="y")
    if how == "formula":
        for name, gain in (("joint_1", 80.0), ("joint_2", 20.0)):
            law = da.Element("joint", "-k*s - d*ds", {"k": gain, "d": 0.1 * gain}, active=True)
            s.connect(f"hold {name}", law, name)
    model = s.compile()
    states, times = model.random_state(0, size=1000), np.linspace(0, 1, 11)
    gains, damping = np.array([80.0, 20.0]), np.array([8.0, 2.0])

    def hold(state: da.State) -> np.ndarray:
        return -gains * state.q - damping * state.v

    control = hold if how == "Python" else None
    return lambda: da.simulate(model, 1.0, state=states, times=times, control=control)


def delays(count: int) -> Callable[[], object]:
    """Return a run of a chain of four, each joint held by what it was some time ago, or of the chain alone."""
    s = chain(4, axes="y")
    for k in range(1, count + 1):
        late = {"y": da.Delay(f"joint_{k}.position", 0.05)}
        s.connect(f"late {k}", da.Element("joint", "-5*y - 0.5*ds", inputs=late, active=True), f"joint_{k}")
    model = s.compile()
    return lambda: da.simulate(model, 3.0)


def batch(system: da.System, single: bool) -> Callable[[], object]:
    """Return 2,000 evaluations of a mechanism with loops, in a batch or one by one."""
    model = system.compile()
    start = da.start_state(model)
    q, v = np.tile(start.q, (2000, 1)), np.tile(start.v, (2000, 1))
    t = np.zeros(2000)
    if single:
        return lambda: [model.dynamics(0.0, start.q, start.v) for _ in range(2000)]
    return lambda: model.dynamics(t, q, v)


def pages(kind: str) -> Callable[[], object]:
    """Return an animation of 10 s of a slider-crank as a file."""
    s = slider_crank()
    s.drive("A", position=da.Polynomial((0.7, 3.0)))
    result = da.simulate(s, 10.0)
    folder = Path(tempfile.mkdtemp())
    if kind == "gif":
        return lambda: result.animate(str(folder / "motion.gif"))
    return lambda: result.export(folder / "motion.html")


def reading() -> Callable[[], object]:
    """Return a reading of reactions, energies and a plot of a result that remembers nothing."""
    model = four_bar().compile()

    def read() -> None:
        result = da.simulate(model, 2.0)
        for name in ("D.force", "energy.balance"):
            result[name]
        result.plot("A.position", "D.force")
        mpl.pyplot.close("all")

    return read


ROWS: dict[str, tuple[Callable[[], Callable[[], object]], str, Callable[[], Callable[[], object]]]] = {
    "637 events with a Python action": (lambda: events(True), "without action", lambda: events(False)),
    "1,000 rollouts with Python control": (lambda: rollouts("Python"), "none", lambda: rollouts("none")),
    "1,000 rollouts, control as formulas": (lambda: rollouts("formula"), "none", lambda: rollouts("none")),
    "four delays, 3 s": (lambda: delays(4), "none", lambda: delays(0)),
    "2,000 four-bars in a batch": (lambda: batch(four_bar(), False), "one by one", lambda: batch(four_bar(), True)),
    "run, reactions, energies, plot": (reading, "run", lambda: lambda: da.simulate(four_bar(), 2.0)),
    "10 s as GIF": (lambda: pages("gif"), "as HTML", lambda: pages("html")),
}


def print_table(rounds: int) -> None:
    """Print what each costs, and what it is measured against."""
    for name, (make, against, other) in ROWS.items():
        mine, theirs = (fastest(call(), rounds) for call in (make, other))
        print(f"{name:38s}{1e3 * mine:10.1f} ms{against:>18s}{1e3 * theirs:10.1f} ms{mine / theirs:8.2f}")


if __name__ == "__main__":
    mpl.use("Agg")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    print_table(parser.parse_args().rounds)
