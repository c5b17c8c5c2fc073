"""What a run costs besides its steps: fixed cost of `simulate`, calls of a control, ensembles by parameters, `out=`.

    python bench/frame.py [--calls 300]

Processor time, the least of many calls.
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

import argparse  # isort: skip
import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time_ns
from typing import Any

import numpy as np

import dalembert as da
from dalembert.library import chain
from dalembert.library.mechanisms import four_bar

__all__ = ["print_tables"]

SOURCE = """#include <stdint.h>
void hold(double t, int64_t run, const double *q, const double *v, const double *x, double *tau, const double *data) {
  for (int k = 0; k < 2; ++k) tau[k] = -data[k] * q[k] - data[2 + k] * v[k];
}
"""
GAINS = np.array([8.0, 2.0, 0.8, 0.2])
RUNS = 64


def fastest(call: Callable[[], object], calls: int) -> float:
    """Return the least processor time of a call, us."""
    times = []
    for _ in range(calls):
        began = process_time_ns()
        call()
        times.append(process_time_ns() - began)
    return min(times) / 1e3


def print_fixed_costs(calls: int) -> None:
    """Print what a run of one step costs, from Python."""
    print(f"{'simulate, one step, us':34s}{'start values':>14s}{'State':>10s}{'notes read':>12s}")
    for name, system in (("four-bar", four_bar()), ("double pendulum", chain(2, axes="y"))):
        model = system.compile()
        start = da.start_state(model)
        state = da.State(q=start.q, v=start.v)
        ways: list[Callable[[], Any]] = [
            lambda model=model: da.simulate(model, 1e-4),
            lambda model=model, state=state: da.simulate(model, 1e-4, state=state),
            lambda model=model: da.simulate(model, 1e-4).notes,
        ]
        plain, given, read = (fastest(way, calls) for way in ways)
        print(f"{name:34s}{plain:14.0f}{given:10.0f}{read:12.0f}")


def compiled_control() -> da.CompiledControl | None:
    """Return the control in machine code; None without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    folder = Path(tempfile.mkdtemp())
    (folder / "hold.c").write_text(SOURCE)
    made = folder / "hold.so"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", str(made), str(folder / "hold.c")], check=True)
    return da.CompiledControl(ctypes.CDLL(str(made)).hold, GAINS)


def print_controls(calls: int) -> None:
    """Print the cost per evaluation of a controlled double pendulum, and of 1,000 of them."""
    model = chain(2, axes="y").compile()
    one, many = da.State(q=np.array([0.4, -0.3]), v=np.zeros(2)), model.random_state(0, size=1000)
    times = np.linspace(0.0, 1.0, 11)

    def hold(state: da.State) -> np.ndarray:
        return -GAINS[:2] * state.q - GAINS[2:] * state.v

    print(f"\n{'control':34s}{'us an evaluation':>18s}{'ensemble, us a run':>20s}")
    controls: dict[str, Any] = {"none": None, "compiled": compiled_control(), "Python": hold}
    for name, control in controls.items():
        if control is None and name == "compiled":
            continue
        count = da.simulate(model, 2.0, state=one, control=control).stats.evaluations
        single = fastest(lambda control=control: da.simulate(model, 2.0, state=one, control=control), calls // 10)
        batch = fastest(
            lambda control=control: da.simulate(model, 1.0, state=many, times=times, control=control), calls // 100
        )
        print(f"{name:34s}{single / count:18.2f}{batch / 1000:20.1f}")


def print_ensembles(calls: int) -> None:
    """Print what four-bars that differ in mass or length cost beside those that differ in their states alone."""
    model = four_bar().compile()
    start, times = da.start_state(model), np.linspace(0.0, 1.0, 11)
    states = da.State(q=np.tile(start.q, (RUNS, 1)), v=np.tile(start.v, (RUNS, 1)))
    length = np.linspace(0.98, 1.02, RUNS) * model.parameters[model.parameter_names["C.first.x"]]
    ways: dict[str, dict[str, Any]] = {
        "states": {"state": states},
        "masses": {"parameters": {"coupler.mass": np.linspace(1.0, 2.0, RUNS)}},
        "lengths": {"parameters": {"C.first.x": length}},
    }
    cost = {
        name: fastest(lambda given=given: da.simulate(model, 1.0, times=times, **given), calls // 30) / RUNS
        for name, given in ways.items()
    }
    print(f"\n{RUNS} four-bars that differ in {'us a run':>17s}{'in runs by state':>18s}")
    for name, used in cost.items():
        print(f"  {name:32s}{used:14.0f}{used / cost['states']:18.2f}")


def print_out(calls: int) -> None:
    """Print what a kernel costs with a new array, and with `out=`."""
    model = chain(7, axes="y").compile()
    q, out = np.full(7, 0.1), np.empty(7)
    f, number = model.forward_dynamics, 1000
    new = fastest(lambda: [f(q, q, q) for _ in range(number)], calls // 3) / number
    given = fastest(lambda: [f(q, q, q, out=out) for _ in range(number)], calls // 3) / number
    print(f"\nforward dynamics, chain of 7: {1e3 * new:.0f} ns, with out= {1e3 * given:.0f} ns")


def print_tables(calls: int) -> None:
    """Print all tables."""
    print_fixed_costs(calls)
    print_controls(calls)
    print_ensembles(calls)
    print_out(calls)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=300)
    print_tables(parser.parse_args().calls)
