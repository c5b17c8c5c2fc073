"""Demonstration of the command line: a driven four-bar and a spatial loop, in numbers and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..bodies.shapes import rod
from ..connections.elements import SpringDamper
from ..connections.joints import Revolute
from ..errors import MissingPackageError
from ..library.mechanisms import bricard
from ..result import Result
from ..simulation import simulate
from ..system import System

__all__ = ["four_bar", "run"]


def four_bar() -> System:
    """Return a crank and rocker with a spring and a damper, its crank turning at 10 rad/s."""
    s = System("four-bar", gravity=(0, 0, -9.81))
    crank = s.body("crank", rod(length=0.1, mass=0.5))
    coupler = s.body("coupler", rod(length=0.4, mass=1.0))
    rocker = s.body("rocker", mass=0.8, com=(0.15, 0, 0), inertia=(1e-3, 6e-3, 6e-3))
    s.connect("A", Revolute("y"), s.ground, crank)
    s.connect("B", Revolute("y"), crank.at(0.1, 0, 0), coupler)
    s.connect("C", Revolute("y"), coupler.at(0.4, 0, 0), rocker.at(0.3, 0, 0))
    s.connect("D", Revolute("y"), s.ground.at(0.35, 0, 0), rocker)
    s.connect("k", SpringDamper(stiffness=100, damping=1, length=0.3), coupler.at(0.2, 0, 0), s.ground.at(0, 0, 0.5))
    s.drive("A", speed=10.0)
    return s


def run(folder: Path, *, words: bool = True) -> None:
    """Simulate both mechanisms, print results, and write pictures and animations to a folder."""
    say = print if words else _nothing
    folder.mkdir(parents=True, exist_ok=True)
    turn = 2 * np.pi / 10.0
    system = four_bar()
    say(f"{system.check()}\n")
    result = simulate(system, 2 * turn)
    say(_table(result, np.linspace(0, turn, 9), ["rocker.angle", "A.effort", "D.force.norm", "energy.balance"]))
    where = "coupler.at(0.2, 0, 0)"
    system.draw(result.at(np.linspace(0, turn, 100)).q, trace=[where], path=folder / "four_bar.png")
    result.plot("rocker.angle", "A.effort", "D.force", path=folder / "four_bar_outputs.png")
    say(_page(result, folder / "four_bar.html", speed=0.2, trace=[where], plots=["rocker.angle", "D.force"]))

    system = bricard()
    say(f"{system.check()}\n")
    result = simulate(system, 5.0)
    say(_table(result, np.linspace(0, 5, 11), ["P0.position", "P1.position", "P5.force.norm", "energy.balance"]))
    system.draw(result.at(np.linspace(0, 2.5, 40)).q, trace=["rod 3"], path=folder / "bricard.png")
    result.plot_energy(path=folder / "bricard_energy.png")
    say(_page(result, folder / "bricard.html", trace=["rod 3"], plots=["P0.position"]))
    say(f"Pictures and pages are in {folder}: {', '.join(sorted(p.name for p in folder.iterdir()))}.")


def _nothing(text: str) -> None:
    """Print nothing."""


def _page(result: Result, path: Path, **options: Any) -> str:
    """Write a page with a player, or an animation if dalembert was built without it; return the text to print."""
    try:
        result.export(path, **options)
    except MissingPackageError as error:
        result.animate(path.with_suffix(".gif"), fps=15, speed=options.get("speed", 1.0), trace=options["trace"])
        return f"No {path.name}: {error}\n"
    return ""


def _table(result: Result, times: Array, names: Sequence[str]) -> str:
    """Return a table of outputs over time, with the statistics of the run."""
    heads = [f"{name} [{result.describe(name).split('[')[-1].split(']')[0]}]" for name in names]
    lines = ["   t [s]" + "".join(f"{head:>24}" for head in heads)]
    columns = result.at(times).outputs(*names).values()
    for t, *values in zip(times, *columns, strict=True):
        lines.append(f"{t:8.3f}" + "".join(f"{value:24.6g}" for value in values))
    stats, seconds = result.stats, result.t[-1]
    took = f"{stats.steps} steps of {stats.method} for {seconds:.3g} s of motion in {1e3 * stats.wall_time:.1f} ms"
    return "\n".join([*lines, "", took, ""])
