"""Work and precision of whole simulations, ours beside other engines', in one interleaved run.

python bench/simulate.py [--quick] [--only A03,chain20] [--points] [--json out.json]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

import argparse  # isort: skip
import gc
import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from machine import describe
from peers.motion import Motion, Simulator, simulators
from problems import Problem, problems
from stepper import make_stepper, print_stepper

import dalembert as da

OURS = "dalembert"
LEVELS = (1e-3, 1e-5, 1e-7, 1e-9)
EASY = 1e-3  # what a peer has to reach while we reach the target
TOLERANCES = (1e-2, 3e-3, 1e-3, 3e-4, *(10.0**-digits for digits in range(4, 13)))  # of ours
SHORT = 0.05  # s; runs of at most this time take part in every round
EASY_ENERGY, TARGET_ENERGY = 0.1, 1e-9  # J


@dataclass
class Point:
    """One setting of one contestant: its processor time, s, and the errors it leaves."""

    problem: str
    contestant: str
    setting: str
    seconds: float
    error: float
    energy_error: float
    rounds: int = 1


class Ours:
    """`da.simulate` of a compiled model, as a user would call it."""

    name = OURS

    def motions(self, problem: Problem) -> Iterator[Motion]:
        """Return runs from coarse to fine."""
        for rtol in TOLERANCES:
            yield _our_motion(problem, rtol)


class OurCore:
    """The same steps taken by the core alone, from an assembled state."""

    name = "  core alone"

    def motions(self, problem: Problem) -> Iterator[Motion]:
        """Return runs from coarse to fine."""
        for rtol in TOLERANCES:
            yield _core_motion(problem, rtol)


def _our_motion(problem: Problem, rtol: float) -> Motion:
    model, results = problem.model, []

    def run() -> None:
        results[:] = [da.simulate(model, problem.t_end, rtol=rtol, atol=rtol * 1e-2)]

    return Motion(f"rtol {rtol:.0e}", run, lambda: (results[0].q[-1], results[0].v[-1]))


def _core_motion(problem: Problem, rtol: float) -> Motion:
    model, start, last = problem.model, problem.start, []

    def run() -> None:
        x = np.zeros(model.nx)
        stepper = make_stepper(model, "dop853", rtol=rtol, atol=rtol * 1e-2, detect_stiffness=True)
        stepper.start(0.0, start.q, start.v, x)
        stepper.advance(problem.t_end, 1 << 60, None)
        if stepper.t < problem.t_end:  # it was stiff
            t, q, v, x = stepper.state()[:4]
            stepper = make_stepper(model, "radau", rtol=rtol, atol=rtol * 1e-2)
            stepper.start(t, q, v, x)
            stepper.advance(problem.t_end, 1 << 60, None)
        last[:] = stepper.state()[1:3]

    return Motion(f"rtol {rtol:.0e}", run, lambda: (last[0], last[1]))


# ---- measuring


def measure(problem: Problem, contestants: Sequence[Simulator], *, longest: float, budget: float) -> list[Point]:
    """Return the points of all contestants: every setting once for its errors, the useful ones in turns for their time.

    Parameters
    ----------
    longest : float, s
        After a run that takes longer, finer settings of that contestant are left out.
    budget : float, s
        For the interleaved rounds.
    """
    tried: list[tuple[Point, Motion]] = []
    for contestant in contestants:
        for motion in contestant.motions(problem):
            seconds, point = _try(problem, contestant.name, motion)
            if point is not None:
                tried.append((point, motion))
            if seconds > longest:
                break
    useful = [(point, motion) for point, motion in tried if _is_useful(point, [p for p, _ in tried])]
    deadline = perf_counter() + budget
    gc.disable()
    try:
        _take_turns(useful, deadline)
    finally:
        gc.enable()
    return [point for point, _ in tried]


def _try(problem: Problem, contestant: str, motion: Motion) -> tuple[float, Point | None]:
    began = process_time()
    with _silence():
        try:
            motion.run()
        except Exception:  # an engine that gives up, in whatever way, has no result
            return process_time() - began, None
        seconds = process_time() - began
        q, v = motion.state()
        for _ in range(3 if seconds < SHORT else 0):  # the first run of anything is a slow one
            began = process_time()
            motion.run()
            seconds = min(seconds, process_time() - began)
    if not (np.isfinite(q).all() and np.isfinite(v).all()):
        return seconds, None
    errors = problem.error(q, v), problem.energy_error(q, v)
    return seconds, Point(problem.name, contestant, motion.setting, seconds, *errors)


def _is_useful(point: Point, points: list[Point]) -> bool:
    """Return whether no other setting of the same contestant is both much faster and more accurate."""
    return math.isfinite(point.error) and not any(
        other.contestant == point.contestant and other.error <= point.error and other.seconds < 0.5 * point.seconds
        for other in points
    )


def _take_turns(useful: list[tuple[Point, Motion]], deadline: float) -> None:
    """Run all in turns while there is time; the slow ones only in every so many rounds, so that all get their share."""
    turn = 0
    while perf_counter() < deadline and turn < 100:
        with _silence():
            for k in range(len(useful)):
                point, motion = useful[(k + turn) % len(useful)]
                if turn % max(1, round(point.seconds / SHORT)) or perf_counter() > deadline:
                    continue
                began = process_time()
                motion.run()
                point.seconds = min(point.seconds, process_time() - began)
                point.rounds += 1
        turn += 1


@contextmanager
def _silence() -> Iterator[None]:
    """Send what engines write to the terminal nowhere."""
    sys.stdout.flush()
    saved, nowhere = [os.dup(1), os.dup(2)], os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        yield
    finally:
        sys.stdout.flush()
        for number, copy in enumerate(saved, start=1):
            os.dup2(copy, number)
            os.close(copy)
        os.close(nowhere)


# ---- reporting


def fastest(points: Sequence[Point], contestant: str | None, field: str, level: float) -> Point | None:
    """Return the fastest point of a contestant (None: of any peer) whose error of a kind is at most `level`."""
    good = [
        p
        for p in points
        if (p.contestant == contestant if contestant else p.contestant not in (OURS, OurCore.name))
        and getattr(p, field) <= level
    ]
    return min(good, key=lambda p: p.seconds, default=None)


def print_problem(problem: Problem, points: Sequence[Point], names: Sequence[str], *, all_points: bool) -> None:
    """Print one problem's table."""
    print(f"\n{problem.name}: {problem.title}, {problem.t_end:g} s. Time in ms to reach an error of")
    print(f"  {'':22s}" + "".join(f"{level:>20.0e}" for level in LEVELS))
    for name in names:
        row = [_cell(points, name, level) for level in LEVELS]
        if any(row):
            print(f"  {name:22s}" + "".join(f"{cell:>20s}" for cell in row))
    for field, target, easy, unit in (
        ("error", problem.target, EASY, ""),
        ("energy_error", TARGET_ENERGY, EASY_ENERGY, " J"),
    ):
        if field == "energy_error" and not problem.conservative:
            continue
        print("  " + _verdict(points, field, target, easy, unit))
    if all_points:
        for p in points:
            print(
                f"    {p.contestant:22s} {p.setting:28s} {p.seconds * 1e3:10.3f} ms ({p.rounds:3d} runs)"
                f"  error {p.error:.1e}  energy {p.energy_error:.1e} J"
            )


def _cell(points: Sequence[Point], name: str, level: float) -> str:
    found, ours = fastest(points, name, "error", level), fastest(points, OURS, "error", level)
    if found is None:
        return ""
    text = f"{found.seconds * 1e3:.3g}"
    return text if name in (OURS, OurCore.name) or ours is None else f"{text} ({found.seconds / ours.seconds:.1f}x)"


def _verdict(points: Sequence[Point], field: str, target: float, easy: float, unit: str) -> str:
    what = "error" if field == "error" else "energy error"
    ours, core = fastest(points, OURS, field, target), fastest(points, OurCore.name, field, target)
    peer = fastest(points, None, field, easy)
    if ours is None:
        return f"{what} below {target:.0e}{unit}: not reached"
    text = f"{what} below {target:.0e}{unit}: {ours.seconds * 1e3:.3g} ms ({ours.setting}"
    text += f"; core {core.seconds * 1e3:.3g} ms)" if core else ")"
    if peer is None:
        return f"{text}; no peer below {easy:.0e}{unit}"
    ratio = peer.seconds / ours.seconds
    return f"{text}; first peer below {easy:.0e}{unit}: {peer.contestant} {peer.seconds * 1e3:.3g} ms, {ratio:.2f}x"


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about a minute, coarse settings of slow peers only")
    parser.add_argument("--only", help="names of problems, with commas")
    parser.add_argument("--points", action="store_true", help="print every setting")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    for key, value in describe().items():
        print(f"{key:>18}: {value}")
    longest, budget = (0.15, 2.0) if chosen.quick else (1.5, 25.0)
    contestants: list[Simulator] = [Ours(), OurCore(), *simulators()]
    wanted = chosen.only.split(",") if chosen.only else None
    everything = []
    for problem in problems():
        if wanted is None or problem.name in wanted:
            points = measure(problem, contestants, longest=longest, budget=budget)
            print_problem(problem, points, [c.name for c in contestants], all_points=chosen.points)
            everything += points
    cost = print_stepper()
    if chosen.json:
        table = {"machine": describe(), "points": [asdict(p) for p in everything], "stepper": cost}
        chosen.json.write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
