"""Dry friction and stops: time and evaluations per change, and runs beside MuJoCo.

    python bench/friction.py [--rounds 5]

Chains of 1, 10 and 20 links swing with dry friction at every joint. MuJoCo has the same chains with ``frictionloss``,
integrated by RK4 at 1 ms; its friction is regularised, so that joints creep. Errors are those of the joint angles after
1 s, against a run with a tolerance of 1e-11.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import process_time_ns

import numpy as np
from timing import race

import dalembert as da

COUNTS = (1, 10, 20)
FRICTION = 0.3  # N m
LENGTH, MASS = 0.3, 0.5  # m, kg


def rubbing_chain(links: int) -> da.Model:
    """Return a chain with dry friction at its joints."""
    s = da.System("chain")
    last = s.ground
    for k in range(links):
        link = s.body(f"link{k}", da.rod(length=LENGTH, mass=MASS))
        s.connect(f"J{k}", da.Revolute("y", friction=FRICTION), last, link)
        last = link.at(LENGTH, 0, 0)
        s.initial(f"J{k}", position=0.3 * (-1) ** k, speed=1.0)
    return s.compile()


def mujoco_run(links: int) -> Callable[[], np.ndarray] | None:
    """Return a function that makes the run in MuJoCo and returns its joint angles; None if it is not installed."""
    try:
        import mujoco
    except ImportError:
        return None
    inertia = MASS * LENGTH**2 / 12
    body = ""
    for k in reversed(range(links)):
        body = (
            f'<body pos="{LENGTH if k else 0} 0 0"><joint type="hinge" axis="0 1 0" frictionloss="{FRICTION}"/>'
            f'<inertial pos="{LENGTH / 2} 0 0" mass="{MASS}" diaginertia="1e-6 {inertia} {inertia}"/>{body}</body>'
        )
    text = f'<mujoco><option timestep="0.001" integrator="RK4"/><worldbody>{body}</worldbody></mujoco>'
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)

    def run() -> np.ndarray:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = 0.3 * (-1.0) ** np.arange(links)
        data.qvel[:] = 1.0
        mujoco.mj_step(model, data, 1000)
        return data.qpos.copy()

    return run


def print_friction(rounds: int) -> None:
    """Print times, evaluations per change, and errors."""
    print(f"1 s of chains with dry friction at every joint, one thread, {da.isa}")
    print(
        f"{'links':>6s}{'changes':>9s}{'evaluations':>13s}{'per change':>12s}{'ms':>9s}{'us/change':>11s}{'error':>9s}"
    )
    for links in COUNTS:
        model = rubbing_chain(links)
        exact = da.simulate(model, 1.0, rtol=1e-11, atol=1e-13).q[-1]
        result = da.simulate(model, 1.0, rtol=1e-6, atol=1e-8)
        runs: dict[str, Callable[[], object]] = {
            "own": lambda model=model: da.simulate(model, 1.0, rtol=1e-6, atol=1e-8)
        }
        peer = mujoco_run(links)
        if peer is not None:
            runs["mujoco"] = peer
        times = {name: timing.minimum for name, timing in race(runs, rounds=rounds, clock=process_time_ns).items()}
        changes, evaluations = max(len(result.events), 1), result.stats.evaluations
        print(
            f"{links:6d}{changes:9d}{evaluations:13d}{evaluations / changes:12.0f}{1e3 * times['own']:9.2f}"
            f"{1e6 * times['own'] / changes:11.0f}{np.abs(result.q[-1] - exact).max():9.1e}"
        )
        if peer is not None:
            error = np.abs(peer() - exact).max()
            ratio = times["mujoco"] / times["own"]
            print(f"{'':6s}MuJoCo, RK4 at 1 ms: {1e3 * times['mujoco']:.2f} ms, x{ratio:.2f}, error {error:.1e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    print_friction(parser.parse_args().rounds)
