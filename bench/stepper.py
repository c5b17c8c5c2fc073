"""Cost of the stepper itself, relative to its evaluations."""

from __future__ import annotations

from time import process_time_ns
from typing import Any

import numpy as np
from timing import race

import dalembert as da
from dalembert.library import chain
from dalembert.library.mechanisms import andrews, bricard, four_bar
from dalembert.simulation.options import Options

__all__ = ["make_stepper", "print_stepper"]


def make_stepper(
    model: da.Model, method: str, *, rtol: float = 1e-8, atol: float = 1e-10, step: float = 0.0, **how: bool
) -> Any:
    """Return a stepper of the core for a model as described."""
    flags = {"project": True, "detect_stiffness": False} | how
    numbers = {"max_step": np.inf, "step": step, "spectral_radius": 0.8}
    tolerances = np.full(2 * model.nv + model.nx, atol)
    options = Options(method=method, rtol=rtol, atol=atol, tolerances=tolerances, **numbers, **flags)
    return options.integrator(model.conditions())


def print_stepper(rounds: int = 40) -> list[dict[str, float | str]]:
    """Print, for chains and loops, the time of a run per evaluation beside that of one evaluation.

    An evaluation in the core is measured by steps of semi-implicit Euler without projection, which do little else. A
    run of order 8 includes step control, records and the projection onto the loops.
    """
    systems = {
        "chain of 7": (chain(7), 2.0),
        "chain of 20": (chain(20), 1.0),
        "chain of 128": (chain(128), 0.3),
        "four-bar": (four_bar(), 5.0),
        "Andrews": (andrews(), 0.03),
        "Bricard": (bricard(), 10.0),
    }
    print("\nStepper's own cost, us of processor time per evaluation (minima)")
    columns = (
        ("run", 9),
        ("evaluation", 12),
        ("stepper", 9),
        ("call from Python", 18),
        ("simulate, ms", 14),
        ("core", 8),
    )
    print(f"  {'':14s}" + "".join(f"{title:>{width}s}" for title, width in columns))
    table: list[dict[str, float | str]] = []
    for name, (system, t_end) in systems.items():
        table.append(_measured(name, system.compile(), t_end, rounds))
        row = table[-1]
        print(
            f"  {name:14s}{row['run']:9.3f}{row['evaluation']:12.3f}{row['share']:9.0%}{row['call']:18.3f}"
            f"{row['simulate']:14.3f}{row['core']:8.3f}"
        )
    return table


def _measured(name: str, model: da.Model, t_end: float, rounds: int) -> dict[str, float | str]:
    first = da.simulate(model, t_end)
    q, v, x = first.q[0].copy(), first.v[0].copy(), np.zeros(model.nx)
    steps = max(200, 20_000 // model.nv)
    end = steps * 1e-9

    def run() -> int:
        stepper = make_stepper(model, "dop853")
        stepper.start(0.0, q, v, x)
        stepper.advance(t_end, 1 << 60, None)
        return int(stepper.counts[2])

    def evaluations() -> int:
        stepper = make_stepper(model, "euler", step=1e-9, project=False)
        stepper.start(0.0, q, v, x)
        stepper.advance(end, 1 << 60, np.array([end]))
        return int(stepper.counts[2])

    calls = {
        "run": run,
        "evaluation": evaluations,
        "call": lambda: model.forward_dynamics(q, v),
        "simulate": lambda: da.simulate(model, t_end),
    }
    times = {key: timing.minimum for key, timing in race(calls, rounds=rounds, clock=process_time_ns).items()}
    per_run, each = times["run"] / run() * 1e6, times["evaluation"] / evaluations() * 1e6
    return {
        "name": name,
        "run": per_run,
        "evaluation": each,
        "share": per_run / each - 1.0,
        "call": times["call"] * 1e6,
        "simulate": times["simulate"] * 1e3,
        "core": times["run"] * 1e3,
    }
