"""Cost of a step of the implicit methods, by number of bodies, beside an explicit one.

    python bench/implicit.py [--quick] [--json out.json]

Chains of equal beams (six modes) and of rigid links on joints about y and z in turn, and rows of coupled four-bars.
Newton systems are solved by fronts or with a dense matrix, whichever is reckoned to cost less
(`DALEMBERT_NEWTON=fronts` or `dense` decides for all): the time of a step must grow in proportion to the bodies, and
be no longer than the dense one.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import process_time_ns

import numpy as np
import report
import timing
from flexible import chain as flexible_chain
from loops import state as four_bar_state
from stepper import make_stepper

import dalembert as da
from dalembert.library import chain, windows

WAYS = ("chosen", "fronts", "dense")
LARGEST_DENSE = 600  # degrees of freedom up to which the dense way is timed


@dataclass(frozen=True)
class Row:
    """Milliseconds a step: of radau and generalised alpha by each way, and of dop853; how many DOF there are."""

    name: str
    bodies: int
    dofs: int
    dop853: float
    radau: dict[str, float]
    alpha: dict[str, float]


@contextmanager
def solved_by(way: str) -> Iterator[None]:
    """Compile models whose Newton systems are solved this way."""
    if way != "chosen":
        os.environ["DALEMBERT_NEWTON"] = way
    try:
        yield
    finally:
        os.environ.pop("DALEMBERT_NEWTON", None)


def steps_of(model: da.Model, method: str, steps: int) -> Callable[[], None]:
    """Return a call that takes this many steps from a state of slight motion."""
    x = np.zeros(model.nx)
    q, v = four_bar_state(model) if model.nc else (np.zeros(model.nq), 0.1 * np.ones(model.nv))
    fixed = {"step": 1e-3} if method == "alpha" else {}

    def run() -> None:
        stepper = make_stepper(model, method, rtol=1e-5, atol=1e-7, **fixed)
        stepper.start(0.0, q, v, x)
        stepper.advance(10.0, steps, None)

    return run


def measure(name: str, make: Callable[[int], da.Model], sizes: tuple[int, ...], rounds: int) -> list[Row]:
    """Return a row for each size."""
    rows = []
    for bodies in sizes:
        calls: dict[tuple[str, str], Callable[[], None]] = {}
        steps = 40
        for way in WAYS:
            with solved_by(way):
                model = make(bodies)
            if way == "dense" and model.nv > LARGEST_DENSE:
                continue
            for method in ("radau", "alpha"):
                calls[method, way] = steps_of(model, method, steps)
        calls["dop853", "chosen"] = steps_of(model, "dop853", steps)
        times = {
            key: 1e3 * t.minimum / steps for key, t in timing.race(calls, rounds=rounds, clock=process_time_ns).items()
        }
        of = {m: {w: times[m, w] for w in WAYS if (m, w) in times} for m in ("radau", "alpha")}
        rows.append(Row(name, bodies, model.nv, times["dop853", "chosen"], of["radau"], of["alpha"]))
        print(line(rows[-1]), flush=True)
    return rows


def line(row: Row) -> str:
    """Return a row as text."""
    cells = [f"{row.name:<16}{row.bodies:>7}{row.dofs:>9}{row.dop853:>10.3f}"]
    for times in (row.radau, row.alpha):
        cells += [f"{times[way]:>10.3f}" if way in times else f"{'-':>10}" for way in WAYS]
    return "".join(cells)


def main() -> None:
    """Run from the command line."""
    options = report.parser(__doc__, quick="few sizes and rounds").parse_args()
    about = report.introduce()
    rounds = 2 if options.quick else 5
    print("\nms a step, minima")
    print(
        f"{'':<16}{'bodies':>7}{'dofs':>9}{'dop853':>10}"
        + "".join(f"{m + ' ' + w:>10.10}" for m in ("ra", "al") for w in WAYS)
    )
    rows = measure(
        "beams, 6 modes",
        lambda n: flexible_chain(n, 6),
        (1, 2, 12, 24) if options.quick else (1, 2, 3, 6, 12, 24, 48, 80),
        rounds,
    )
    rows += measure(
        "rigid links",
        lambda n: chain(n).compile(),
        (2, 5, 20) if options.quick else (1, 2, 3, 4, 5, 6, 8, 12, 20, 50, 200, 1000),
        rounds,
    )
    rows += measure(
        "four-bars", lambda n: windows(n).compile(), (1, 4) if options.quick else (1, 2, 4, 8, 16, 32), rounds
    )
    report.write(options.json, about, rows)


if __name__ == "__main__":
    main()
