"""A full turn of mechanisms in 361 positions with speeds and accelerations; a four-bar beside pylinkage.

python bench/kinematics.py [--rounds 20]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

import argparse  # isort: skip
import time
from collections.abc import Callable
from functools import partial

import numpy as np

import dalembert as da
from dalembert.library import jansen
from dalembert.library.mechanisms import andrews, four_bar, slider_crank
from dalembert.model.driven_kinematics import sweep_kinematics

POSITIONS = 361


def crank_rocker() -> da.System:
    """Return a four-bar with links 1, 3, 3 on a base of 4, without masses."""
    s = da.System("four-bar")
    crank, coupler, rocker = s.body("crank"), s.body("coupler"), s.body("rocker")
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Revolute("z"), crank.at(1, 0, 0), coupler)
    s.connect("C", da.Revolute("z"), coupler.at(3, 0, 0), rocker.at(3, 0, 0))
    s.connect("D", da.Revolute("z"), s.ground.at(4, 0, 0), rocker)
    s.initial("B", position=0.5, guess=True)
    return s


def peer() -> tuple[Callable[[], object], Callable[[], np.ndarray]] | None:
    """Return pylinkage's turn of the same four-bar, and its last position of C; None if it is not installed."""
    try:
        import pylinkage as pl
    except ImportError:
        return None
    first, second = pl.Ground(0.0, 0.0), pl.Ground(4.0, 0.0)
    crank = pl.Crank(first, 1.0, angular_velocity=2 * np.pi / (POSITIONS - 1))
    pin = pl.RRRDyad(crank.output, second, distance1=3.0, distance2=3.0)
    linkage = pl.Linkage([first, second, crank, pin])
    linkage.compile()
    start = linkage.get_coords()

    def turn() -> object:
        linkage.set_coords(start)
        return linkage.step_fast_with_kinematics(iterations=POSITIONS, dt=1.0)

    return turn, lambda: np.asarray(turn()[0])[:, 3]  # type: ignore[index]


def fastest(call: Callable[[], object], rounds: int) -> float:
    """Return the least time of a call, ms."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return 1e3 * min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    turn = np.linspace(0.0, 2 * np.pi, POSITIONS)
    print(f"{'':22}{'bodies':>8}{'loops':>7}{'core':>10}{'with jerks':>12}{'whole call':>12}   ms")
    for name, build in (
        ("four-bar", four_bar),
        ("slider-crank", slider_crank),
        ("Andrews", andrews),
        ("six Jansen legs", partial(jansen, 6)),
    ):
        s = build()
        crank = next(iter(s.connections))
        start = float(da.assemble(s).q[0])
        motion = da.kinematics(s, drive=crank, values=start + turn)
        model, t, q = motion.model, motion.t, motion.q[0]
        core, jerks = (fastest(partial(sweep_kinematics, model, t, q, jerk=jerk), rounds) for jerk in (False, True))
        whole = fastest(partial(da.kinematics, model, times=t), rounds)
        loops = len(model.forest.loop_constraints)
        print(f"{name:22}{model.nb:8}{loops:7}{core:10.3f}{jerks:12.3f}{whole:12.3f}")
    found = peer()
    if found is None:
        print("pylinkage is not installed")
        return
    theirs, check = found
    s = crank_rocker()
    motion = da.kinematics(s, drive="A", values=turn)
    model = motion.model
    ours = motion["rocker.at(3, 0, 0).position"]
    points = check()
    gap = min(np.abs(points - np.roll(ours[:, :2], shift, axis=0))[5:-5].max() for shift in (0, 1, -1))
    calls = (
        partial(da.kinematics, model, times=turn, state=motion.q[0]),  # both begin with a closed position
        partial(sweep_kinematics, model, turn, motion.q[0], jerk=False),
        theirs,
    )
    rows = [[fastest(call, 1) for call in calls] for _ in range(rounds)]
    whole, core, other = (min(column) for column in zip(*rows, strict=True))
    print(f"four-bar beside pylinkage (closed forms, compiled by Numba if that is there), differing by {gap:.1e}:")
    times = f"{other / whole:.2g} and {other / core:.2g} times"
    print(f"{whole:.3f} ms, {core:.3f} in the core; theirs {other:.3f} ms, {times}")


if __name__ == "__main__":
    main()
