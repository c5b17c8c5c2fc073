"""Least-time motions of an arm with six joints in 20 steps, from rest to rest, with and without limits of speed.

    python bench/optimal_motions.py [--quick] [--json out.json]

Processor time of each motion; IPOPT comes with the extra `optimize`. The arm has the lengths, masses and largest
efforts of common arms of 5 kg payload.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
from dataclasses import dataclass
from time import process_time

import numpy as np
import report

import dalembert as da

EFFORTS = (150.0, 150.0, 150.0, 28.0, 28.0, 28.0)  # N m
START = (0.0, -1.2, 1.2, -1.0, -0.5, 0.0)
MOST_SPEED = 3.15  # rad/s
STEPS = 20
AIM = 2.0  # s


@dataclass(frozen=True)
class Row:
    """A motion: what it took, s, iterations, and how long it lasts, s."""

    motion: int
    limits: bool
    cost: float
    iterations: int
    status: str
    time: float


def arm() -> da.System:
    """Return an arm with six revolute joints."""
    s = da.System("arm of six")
    body = s.ground
    links = zip("zyyyzy", (0.09, 0.0, 0.43, 0.39, 0.09, 0.09), (3.7, 8.4, 2.3, 1.2, 1.2, 0.2), strict=True)
    for k, (axis, height, mass) in enumerate(links, start=1):
        link = s.body(f"link{k}", mass=mass, com=(0, 0, 0.1), inertia=(0.02 * mass, 0.02 * mass, 0.003 * mass))
        s.connect(f"J{k}", da.Revolute(axis), body.at(0, 0, height), link)
        body = link
    return s


def measure(motions: int) -> list[Row]:
    """Return the costs of some motions to random targets."""
    model = arm().compile()
    names = list(model.speed_names)
    efforts = {name: (-most, most) for name, most in zip(names, EFFORTS, strict=True)}
    state = dict(zip(names, START, strict=True))
    rng = np.random.default_rng(1)
    rows = []
    warm = {**{name: value + 0.1 for name, value in state.items()}, **{f"{name}.speed": 0.0 for name in names}}
    da.optimal_motion(model, warm, efforts, (0.05, 3.0), state=state, steps=STEPS)  # packages are imported
    for motion in range(motions):
        target = dict(zip(names, rng.uniform(-1.5, 1.5, len(names)), strict=True))
        end = {**target, **{f"{name}.speed": 0.0 for name in names}}
        for limits in (None, {f"{name}.speed": (-MOST_SPEED, MOST_SPEED) for name in names}):
            began = process_time()
            found = da.optimal_motion(model, end, efforts, (0.05, 3.0), state=state, steps=STEPS, limits=limits)
            cost = process_time() - began
            rows.append(Row(motion, limits is not None, cost, found.iterations, found.status, found.time))
    return rows


def table(rows: list[Row]) -> str:
    """Return the rows as text."""
    lines = [f"{'motion':>6}{'limits of speed':>17}{'cost s':>9}{'iterations':>12}{'status':>10}{'lasts s':>10}"]
    for row in rows:
        limits = "yes" if row.limits else "no"
        numbers = f"{row.cost:>9.2f}{row.iterations:>12}{row.status:>10}{row.time:>10.4f}"
        lines.append(f"{row.motion:>6}{limits:>17}{numbers}")
    costs = [row.cost for row in rows]
    lines.append(f"median {np.median(costs):.2f} s, most {max(costs):.2f} s; asked: {AIM:g} s")
    return "\n".join(lines)


def main() -> None:
    """Run from the command line."""
    options = report.parser(__doc__).parse_args()
    about = report.introduce()
    rows = measure(2 if options.quick else 5)
    print(f"\n{table(rows)}")
    report.write(options.json, about, rows)


if __name__ == "__main__":
    main()
