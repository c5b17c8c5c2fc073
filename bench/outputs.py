"""Cost of reading a result beside the simulation that made it: every output of several systems, and two plots.

    python bench/outputs.py [--rounds 5]

Of each system the outputs are listed that cost most. The measure is the time of the run with its own steps; an output
is read from a fresh result each time, so that nothing is remembered.
"""

from __future__ import annotations

import argparse
import copy
from time import perf_counter

import matplotlib as mpl
import numpy as np

import dalembert as da
from dalembert.library import chain, humanoid, windows
from dalembert.library.injection_pump import fuel_injection_pump
from dalembert.library.mechanisms import andrews, bricard, door, four_bar, governor

__all__ = ["print_outputs", "print_plots"]

SYSTEMS = {
    "chain of 7": (lambda: chain(7), 2.0),
    "humanoid": (humanoid, 1.0),
    "four-bar": (four_bar, 2.0),
    "Bricard": (bricard, 2.0),
    "Andrews": (andrews, 0.03),
    "door": (door, 1.0),
    "governor": (governor, 2.0),
    "injection pump": (fuel_injection_pump, 0.001),
}


def walker(legs: int = 6) -> da.System:
    """Return Jansen's legs on one crank, each with ten planar revolutes more than a tree has, at rest."""
    s = da.System("walker", gravity=(0, -9.81, 0))
    lengths = {"j": 50.0, "b": 41.5, "c": 39.3, "k": 61.9, "f": 39.4, "g": 36.7}
    crank = s.body("crank", da.rod(0.15, 1.0))
    s.connect("O", da.Revolute("z"), s.ground, crank)
    for leg in range(legs):
        turn = 2 * np.pi * leg / legs
        pin = crank.at(0.15 * np.cos(turn), 0.15 * np.sin(turn), 0)
        upper, lower = (s.body(f"{name}{leg}", da.rod(lengths[name] / 100, 1.0)) for name in ("j", "k"))
        rocker, follower = (s.body(f"{name}{leg}", da.rod(lengths[name] / 100, 1.0)) for name in ("b", "c"))
        pivot = s.ground.at(-0.38, -0.078, 0)
        for bar, swing, sign in ((upper, rocker, 1.0), (lower, follower, -1.0)):
            s.connect(f"{bar.name} pin", da.Revolute("z"), pin, bar)
            s.connect(f"{swing.name} pivot", da.Revolute("z"), pivot, swing)
            length, reach = (lengths[b.name[0]] / 100 for b in (bar, swing))
            s.connect(f"{bar.name} end", da.Revolute("z"), bar.at(length, 0, 0), swing.at(reach, 0, 0))
            s.initial(f"{swing.name} pivot", position=sign * 1.3, guess=True)
            s.initial(f"{bar.name} pin", position=np.pi - sign * 0.7 - 0.0, guess=True)
    s.drive("O", position=da.Polynomial((0.0, 3.0)))
    return s


def fastest(call: object, rounds: int) -> float:
    """Return the least time of a call, s."""
    times = []
    for _ in range(rounds):
        began = perf_counter()
        call()  # type: ignore[operator]
        times.append(perf_counter() - began)
    return min(times)


def fresh(result: da.Result) -> da.Result:
    """Return a result that remembers nothing."""
    return da.Result(
        result.model,
        result.t,
        result.q,
        result.v,
        result.x,
        stats=copy.copy(result.stats),
        conditions=result.conditions,
        dense=result.dense,
    )


def print_outputs(rounds: int) -> None:
    """Print, for each system, the run and its dearest outputs."""
    print(f"{'':16s}{'rows':>6s}{'run, ms':>10s}   dearest outputs: ms, part of the run")
    for title, (make, t_end) in SYSTEMS.items():
        model = make().compile()
        result = da.simulate(model, t_end)
        run = fastest(lambda m=model, t=t_end: da.simulate(m, t), rounds)
        names = result.names()
        once = {}
        for name in names:
            once[name] = fastest(lambda r=result, n=name: fresh(r)[n], 1)
        dearest = sorted(names, key=lambda name: -once[name])[:4]
        cost = {name: fastest(lambda r=result, n=name: fresh(r)[n], rounds) for name in dearest}
        shown = ", ".join(
            f"{name} {1e3 * t:.3f} ({t / run:.0%})" for name, t in sorted(cost.items(), key=lambda x: -x[1])
        )
        print(f"{title:16s}{len(result):6d}{1e3 * run:10.2f}   {shown}   of {len(names)}")
    rows = da.simulate(four_bar(), 2.0, times=np.linspace(0, 2, 100))
    print(f"D.force of the four-bar, 100 rows: {1e3 * fastest(lambda: fresh(rows)['D.force'], 5 * rounds):.3f} ms")


def print_plots(rounds: int) -> None:
    """Print the time of two plots of redundant machines."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    for title, system, t_end, names in (
        ("six legs, O.effort and O.force", walker(), 2.0, ("O.effort", "O.force")),
        ("40 windows, A0.force, 10 rows", windows(40), 0.1, ("A0.force",)),
    ):
        model = system.compile()
        times = np.linspace(0, t_end, 10) if "10 rows" in title else None
        run = fastest(lambda m=model, t=t_end, at=times: da.simulate(m, t, times=at), 2)
        result = da.simulate(model, t_end, times=times)

        def draw(result: da.Result = result, names: tuple[str, ...] = names) -> None:
            result.plot(*names)
            plt.close("all")

        draw()
        print(f"{title}: plot {fastest(draw, rounds):.3f} s, run {run:.3f} s, {model.nc} rows of constraints")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    da.set_threads(1)
    print_outputs(chosen.rounds)
    print_plots(chosen.rounds)
