"""A cable of many segments for one second of swinging, and a falling flexible pendulum beside Exudyn's ANCF cable.

    python bench/cable.py [--quick]

The cable: 1 m of rubber (E = 1e7 Pa, 10 mm thick), released level from a joint, tolerances of 1e-5, radau. The
pendulum: E = 5e7 Pa, undamped, for half a second; the place of the tip against the same program's own converged run
(the two are 11 um apart: Exudyn's cable has no rotary inertia). Times are those of the process, minima over the rounds.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import warnings
from time import process_time
from typing import Any

import machine
import numpy as np
from numpy.typing import NDArray

import dalembert as da

Array = NDArray[np.float64]

RADIUS, DENSITY = 0.005, 1000.0


def cable(segments: int, E: float, **options: Any) -> tuple[da.System, Any]:
    """Return a cable on a joint."""
    s = da.System(f"{segments} segments")
    material = da.Material(E=E, nu=0.3, density=DENSITY)
    rope = da.cable(s, "rope", 1.0, da.Section.circle(RADIUS), material, segments=segments, **options)
    s.connect("A", da.Revolute("y"), s.ground, rope.start)
    return s, rope


def swing(segments: int, E: float, end: float, tolerance: float, **options: Any) -> tuple[Array, float, int]:
    """Return the place of the tip, the time it took, and the steps."""
    s, rope = cable(segments, E, **options)
    model = s.compile()
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = da.simulate(model, end, method="radau", rtol=tolerance, atol=tolerance, times=[0.0, end])
    time = process_time() - start
    return rope.line(result)[-1, -1], time, result.stats.steps


def exudyn_pendulum(elements: int, step: float, E: float, end: float) -> tuple[Array, float] | None:
    """Return the same from Exudyn; None if it is not there."""
    try:
        import exudyn as exu
        from exudyn.beams import GenerateStraightLineANCFCable2D
        from exudyn.itemInterface import Cable2D
    except ImportError:
        return None
    warnings.simplefilter("ignore", DeprecationWarning)
    mbs = exu.SystemContainer().AddSystem()
    A, inertia = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4
    template = Cable2D(
        physicsLength=1.0 / elements,
        physicsMassPerLength=DENSITY * A,
        physicsBendingStiffness=E * inertia,
        physicsAxialStiffness=E * A,
    )
    made = GenerateStraightLineANCFCable2D(
        mbs=mbs,
        positionOfNode0=[0, 0, 0],
        positionOfNode1=[1.0, 0, 0],
        numberOfElements=elements,
        cableTemplate=template,
        massProportionalLoad=[0, -9.81, 0],
        fixedConstraintsNode0=[1, 1, 0, 0],
        fixedConstraintsNode1=[0, 0, 0, 0],
    )
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = round(end / step), end
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    settings.timeIntegration.verboseMode, settings.solutionSettings.writeSolutionToFile = 0, False
    start = process_time()
    mbs.SolveDynamic(settings)
    x, z, _ = mbs.GetNodeOutput(made[0][-1], exu.OutputVariableType.Position)
    return np.array([x, 0.0, z]), process_time() - start


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="few segments")
    quick = parser.parse_args().quick
    for key, value in machine.describe().items():
        print(f"{key}: {value}")
    print("\nswinging for 1 s at 1e-5, in space")
    lag = da.Rayleigh(beta=1e-3)
    for shapes, sizes in (
        (1, (20, 50) if quick else (20, 50, 100, 200)),
        (2, (10, 20) if quick else (10, 20, 50, 100)),
    ):
        for n in sizes:
            tip, time, steps = swing(n, 1e7, 1.0, 1e-5, shapes=shapes, damping=lag)
            print(f"{n:5} segments, shapes={shapes} {time:8.3f} s {steps:6} steps, tip at {tip.round(5)}")
    print("\nfalling pendulum, 0.5 s")
    rounds = 1 if quick else 3
    best = exudyn_pendulum(40, 1e-4, 5e7, 0.5)
    for n, step in ((10, 1e-3), (20, 1e-3), (20, 2.5e-4)) if best else ():
        runs = [exudyn_pendulum(n, step, 5e7, 0.5) for _ in range(rounds)]
        time = min(run[1] for run in runs if run)
        print(f"Exudyn     {n:3} elements, {step:.2g} s    {time:8.3f} s, tip off by {apart(runs[0], best):.1e} m")
    plane: dict[str, Any] = {"stretching": True, "bending": "y", "torsion": False}
    for title, options in (("plane", plane), ("space", {"stretching": True})):
        fine = swing(32, 5e7, 0.5, 1e-5, **plane)
        for n, tolerance in ((5, 1e-3), (10, 1e-2), (10, 1e-3), (20, 1e-3)):
            tries = [swing(n, 5e7, 0.5, tolerance, **options) for _ in range(rounds)]
            time = min(run[1] for run in tries)
            print(
                f"dalembert  {n:3} segments, {title}, {tolerance:g} {time:8.3f} s, off by {apart(tries[0], fine):.1e} m"
            )
    if best:
        print(f"Exudyn and dalembert are {apart(best, fine):.1e} m apart")


def apart(one: Any, other: Any) -> float:
    """Return the distance of the tips of two runs, m."""
    return float(np.linalg.norm(one[0] - other[0]))


if __name__ == "__main__":
    main()
