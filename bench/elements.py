"""Cost of elements: laws of the library, expressions, compiled and Python functions, per element and evaluation.

Run ``python bench/elements.py``. Times are processor time, minima over interleaved rounds; ratios count, machines are
noisy. The batch is measured in lanes and threads against the same model without elements.
"""

from __future__ import annotations

from time import process_time_ns
from typing import Any

import numpy as np
from stepper import make_stepper
from timing import race

import dalembert as da
from dalembert.library import chain

COUNT = 100


@da.law
def compiled(t: float, s: float, ds: float, k: float, c: float) -> float:
    """A linear spring and damper, compiled by Numba where that is installed."""
    return -k * s - c * ds


def interpreted(t: float, s: float, ds: float, k: float, c: float) -> float:
    """The same, called as it is."""
    return -k * s - c * ds


def joint_elements() -> dict[str, Any]:
    """Return the same law at a joint, written in several ways."""
    numbers = {"k": 2.0, "c": 0.1}
    return {
        "JointSpring": da.JointSpring(2.0, 0.1),
        "expression": da.Element("joint", "-k*s - c*ds", numbers),
        "compiled function": da.Element("joint", compiled, numbers),
        "Python function": da.Element("joint", interpreted, numbers),
        "CoulombFriction": da.CoulombFriction(0.1),
    }


def marker_elements() -> dict[str, Any]:
    """Return elements between markers."""
    numbers = {"k": 2.0, "c": 0.1, "l": 0.3}
    series = {
        "one": (da.Element("distance", "-k*s", {"k": 4.0}), "a", "m"),
        "two": (da.Element("distance", "-k*s", {"k": 4.0}), "m", "b"),
    }
    return {
        "SpringDamper": da.SpringDamper(2.0, 0.1, 0.3),
        "expression": da.Element("distance", "-k*(s - l) - c*ds", numbers),
        "Bushing": da.Bushing(np.eye(6)),
        "SpherePlaneContact": da.SpherePlaneContact(0.01, 1e3),
        "Compound": da.Compound(("a", "b"), series, nodes={"m": ("line", "0.1")}),
    }


def with_elements(element: Any, joint: bool, links: int = 20) -> da.Model:
    """Return a chain with COUNT elements of one kind."""
    system = chain(links)
    joints, bodies = list(system.connections), list(system.bodies.values())
    for k in range(COUNT):
        if joint:
            system.connect(f"e{k}", element, joints[k % links])
        else:
            system.connect(f"e{k}", element, system.ground.at(0.1 * k, 0.2, 0.5), bodies[k % links])
    return system.compile()


def evaluation(model: da.Model, steps: int = 400) -> Any:
    """Return a function that runs evaluations in the core and returns ns of each."""
    rng = np.random.default_rng(0)
    q, v, x = rng.normal(size=model.nq), rng.normal(size=model.nv), np.zeros(model.nx)

    def run() -> float:
        stepper = make_stepper(model, "euler", step=1e-9, project=False)
        stepper.start(0.0, q, v, x)
        begin = process_time_ns()
        stepper.advance(steps * 1e-9, steps, None)
        return (process_time_ns() - begin) / steps

    return run


def print_costs(rounds: int = 15) -> None:
    """Print the cost per element and evaluation beyond that of the chain alone."""
    for title, elements, joint in (
        ("at joints", joint_elements(), True),
        ("between markers", marker_elements(), False),
    ):
        models = {"none": chain(20).compile()}
        models |= {name: with_elements(element, joint) for name, element in elements.items()}
        functions = {name: evaluation(model) for name, model in models.items()}
        best = dict.fromkeys(functions, np.inf)
        for _ in range(rounds):
            for name, function in functions.items():
                best[name] = min(best[name], function())
        print(f"\nChain of 20 and {COUNT} elements {title}: ns per evaluation, and per element beyond the chain")
        for name, time in best.items():
            print(f"  {name:20s}{time:12.0f}{(time - best['none']) / COUNT:10.1f}")


def print_batches() -> None:
    """Print what elements add to a run in a batch (lanes and threads), beside what they add to one evaluation."""
    rng = np.random.default_rng(0)
    models = {
        "chain of 20": chain(20).compile(),
        f"and {COUNT} springs": with_elements(da.SpringDamper(2.0, 0.1, 0.3), False),
        f"and {COUNT} expressions": with_elements(marker_elements()["expression"], False),
    }
    q, v = rng.normal(size=(256, 20)), rng.normal(size=(256, 20))

    def batch(model: da.Model) -> Any:
        # loose, so that the longest step is the only one
        how = {"method": "dop853", "max_step": 1e-3, "rtol": 0.1, "atol": 0.1}
        return lambda: da.simulate(model, 0.02, state=da.State(q=q, v=v), times=[0.02], **how)

    many = race({name: batch(model) for name, model in models.items()}, rounds=7)
    single = {name: min(evaluation(model)() for _ in range(15)) for name, model in models.items()}
    print("\nBatches of 256 runs: us per run, times the chain alone, the same for one evaluation, throughput kept")
    for name, time in many.items():
        grown, alone = time.minimum / many["chain of 20"].minimum, single[name] / single["chain of 20"]
        print(f"  {name:24s}{time.minimum / 256 * 1e6:10.1f}{grown:8.2f}{alone:8.2f}{alone / grown:8.0%}")


if __name__ == "__main__":
    print_costs()
    print_batches()
