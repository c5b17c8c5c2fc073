"""Growth of costs with the number of bodies; costs of building, compilation and import.

    python bench/scaling.py [--quick] [--json out.json]

Recursive dynamics is O(n): the time per body must not grow along the column.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np
import report
import timing

from dalembert import _core
from dalembert.library import chain

SIZES = (10, 30, 100, 300, 1000, 3000, 10_000)


@dataclass(frozen=True)
class Row:
    """Costs of a chain of n links.

    Attributes
    ----------
    build, compile : float, s
        To describe the system, and to compile it.
    forward, inverse : float, us
        One call from Python.
    forward_batch, inverse_batch : float, us
        Per state in a batch of `states`, on one thread.
    """

    n: int
    build: float
    compile: float
    forward: float
    inverse: float
    forward_batch: float
    inverse_batch: float
    states: int


def measure(*, rounds: int) -> list[Row]:
    """Return one row for each size; all sizes are timed interleaved."""
    _core.set_threads(1)
    calls, setup, states = {}, {}, {}
    for n in SIZES:
        start = perf_counter()
        system = chain(n)
        built = perf_counter()
        model = system.compile()
        setup[n] = built - start, perf_counter() - built
        rng = np.random.default_rng(n)
        count = states[n] = max(16, 2**16 // n)
        one, many = model.random_state(rng), model.random_state(rng, count)
        zero, zeros = np.zeros(n), np.zeros((count, n))
        out = np.empty((count, n))
        calls[n, "forward"] = partial(model.forward_dynamics, one.q, one.v, zero)
        calls[n, "inverse"] = partial(model.inverse_dynamics, one.q, one.v, zero)
        calls[n, "forward_batch"] = partial(model.forward_dynamics, many.q, many.v, zeros, out=out)
        calls[n, "inverse_batch"] = partial(model.inverse_dynamics, many.q, many.v, zeros, out=out)
    times = {key: time.minimum * 1e6 for key, time in timing.race(calls, rounds=rounds).items()}
    return [
        Row(
            n,
            *setup[n],
            times[n, "forward"],
            times[n, "inverse"],
            times[n, "forward_batch"] / states[n],
            times[n, "inverse_batch"] / states[n],
            states[n],
        )
        for n in SIZES
    ]


def import_times(*, rounds: int) -> dict[str, float]:
    """Return the shortest time (s) to import dalembert, and NumPy alone, in a fresh interpreter."""
    found = {}
    for module in ("numpy", "dalembert"):
        code = f"from time import perf_counter as now; t = now(); import {module}; print(now() - t)"
        runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=True) for _ in range(rounds)]
        found[module] = min(float(run.stdout) for run in runs)
    return found


def table(rows: list[Row]) -> str:
    """Return the rows as text; times per body in ns."""
    titles = ["bodies", "build s", "compile s", "forward us", "inverse us", "ns per body:"]
    titles += ["forward", "inverse", "in a batch:", "forward", "inverse"]
    lines = ["".join(f"{title:>13}" for title in titles)]
    for row in rows:
        cells = [f"{row.n}", f"{row.build:.4f}", f"{row.compile:.4f}", f"{row.forward:.4g}", f"{row.inverse:.4g}"]
        for pair in ((row.forward, row.inverse), (row.forward_batch, row.inverse_batch)):
            cells += ["", *(f"{1e3 * time / row.n:.1f}" for time in pair)]
        lines.append("".join(f"{cell:>13}" for cell in cells))
    return "\n".join(lines)


def main() -> None:
    """Run from the command line."""
    options = report.parser(__doc__).parse_args()
    rounds = 5 if options.quick else 15
    about = report.introduce()
    rows = measure(rounds=rounds)
    imports = import_times(rounds=rounds)
    print(f"\nchain of n links, minima over {rounds} interleaved rounds, one thread\n{table(rows)}\n")
    print("import: " + ", ".join(f"{module} {time * 1e3:.0f} ms" for module, time in imports.items()))
    report.write(options.json, about, rows, **{"import": imports})


if __name__ == "__main__":
    main()
