"""Cost of searches of configurations: circuits, all ways to assemble, workspace maps.

python bench/circuits.py
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

import time  # isort: skip
from collections.abc import Callable
from math import cos, pi, sin

import numpy as np

import dalembert as da
from dalembert.library.mechanisms import andrews, four_bar


def dyads(number: int) -> da.System:
    """Return a crank that moves a row of dyads, each hung on the one before it: as many loops, planar."""
    s = da.System("row of dyads")
    crank = s.body("crank", da.rod(0.5, 1.0))
    s.connect("A", da.Revolute("z"), s.ground, crank)
    tip = crank.at(0.5, 0, 0)
    for k in range(number):
        coupler, rocker = s.body(f"coupler {k}", da.rod(1.5, 1.0)), s.body(f"rocker {k}", da.rod(1.3, 1.0))
        s.connect(f"B{k}", da.Revolute("z"), tip, coupler)
        s.connect(f"D{k}", da.Revolute("z"), s.ground.at(1.4 + 0.9 * k, 0.1 * k, 0), rocker)
        s.connect(f"C{k}", da.Revolute("z"), coupler.at(1.5, 0, 0), rocker.at(1.3, 0, 0))
        tip = coupler.at(0.75, 0.4, 0) if k % 2 else rocker.at(0.9, 0.3, 0)
    s.initial("A", position=0.7)
    return s


def three_rrr() -> da.System:
    """Return a platform on three legs of two links."""
    s = da.System("3-RRR")
    platform = s.body("platform", mass=1.0, inertia=(1, 1, 1))
    for k in range(3):
        a = pi / 2 + 2 * pi * k / 3
        upper, lower = s.body(f"upper {k}", da.rod(0.6, 1.0)), s.body(f"lower {k}", da.rod(0.6, 1.0))
        s.connect(f"A{k}", da.Revolute("z"), s.ground.at(cos(a), sin(a), 0), upper)
        s.connect(f"B{k}", da.Revolute("z"), upper.at(0.6, 0, 0), lower)
        s.connect(f"C{k}", da.Revolute("z"), lower.at(0.6, 0, 0), platform.at(0.3 * cos(a), 0.3 * sin(a), 0))
        s.initial(f"A{k}", position=a + pi - 0.8, guess=True)
        s.initial(f"B{k}", position=1.4, guess=True)
    return s


def best(call: Callable[[], object], rounds: int = 5) -> tuple[float, float]:
    """Return the least time and the least time of the processor, s."""
    call()
    times = []
    for _ in range(rounds):
        begin, busy = time.perf_counter(), time.process_time()
        call()
        times.append((time.perf_counter() - begin, time.process_time() - busy))
    return min(t for t, _ in times), min(c for _, c in times)


def main() -> None:
    """Print a table."""
    row, platform, squeezer, bars = dyads(6).compile(), three_rrr(), andrews(), four_bar()
    wide, tight = np.linspace(-1.2, 1.2, 200), np.linspace(-0.62, 0.62, 200)
    legs = ("A0", "A1", "A2")
    cases: dict[str, Callable[[], object]] = {
        "all branches of 6 loops (64)": lambda: da.assemble(row, hold="A", branches=True),
        "all branches of Andrews (4)": lambda: da.assemble(squeezer, hold="O", branches=True),
        "circuits of a four-bar (2)": lambda: da.circuits(bars, "A"),
        "circuits of Andrews (4)": lambda: da.circuits(squeezer, "O"),
        "3-RRR on 200 x 200, 16 % reached": lambda: da.workspace(platform, "platform", (wide, wide), rotation=0.2),
        "3-RRR on 200 x 200, 61 % reached": lambda: da.workspace(platform, "platform", (tight, tight), rotation=0.2),
        "the same with condition map": lambda: da.workspace(
            platform, "platform", (tight, tight), rotation=0.2, actuated=legs
        ).condition(),
    }
    print(f"{'':36}{'s':>8}{'busy s':>8}")
    for name, call in cases.items():
        wall, busy = best(call, 3)
        print(f"{name:36}{wall:8.3f}{busy:8.3f}")


if __name__ == "__main__":
    main()
