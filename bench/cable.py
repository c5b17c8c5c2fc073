"""A cable of many segments for one second of swinging, and a falling flexible pendulum beside Exudyn's ANCF cable.

    python bench/cable.py [--quick]

The cable: 1 m of rubber (E = 1e7 Pa, 10 mm thick), released level from a hinge, tolerances of 1e-5, radau. The
pendulum: E = 5e7 Pa, for half a second; both programs, the place of the tip against Exudyn's with 40 elements and steps
of 0.25 ms. Times are those of the process.
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


def cable(
    segments: int, E: float, shapes: int = 1, lag: float = 1e-3, stretching: bool = False
) -> tuple[da.System, Any]:
    """Return a cable on a hinge."""
    s = da.System(f"{segments} segments")
    material = da.Material(E=E, nu=0.3, density=DENSITY)
    damping = da.Rayleigh(beta=lag) if lag else None
    rope = da.cable(
        s,
        "rope",
        1.0,
        da.Section.circle(RADIUS),
        material,
        segments=segments,
        shapes=shapes,
        stretching=stretching,
        damping=damping,
    )
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
    return rope.line(result)[-1, -1], process_time() - start, result.stats.steps


def exudyn_pendulum(elements: int, step: float, E: float, end: float) -> tuple[Array, float] | None:
    """Return the same from Exudyn; None if it is not there."""
    try:
        import exudyn as exu
        from exudyn.beams import GenerateStraightLineANCFCable2D
        from exudyn.itemInterface import Cable2D
    except ImportError:
        return None
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
    print("\nswinging for 1 s at 1e-5")
    for n in (20, 50) if quick else (20, 50, 100, 200):
        tip, time, steps = swing(n, 1e7, 1.0, 1e-5)
        print(f"{n:5} segments {time:8.3f} s {steps:6} steps, tip at {tip.round(4)}")
    print("\nfalling pendulum, 0.5 s")
    best = exudyn_pendulum(40, 2.5e-4, 5e7, 0.5)
    reference = best[0] if best else swing(40, 5e7, 0.5, 1e-6, shapes=2, lag=1e-4)[0]
    for n, step in ((10, 1e-3), (20, 1e-3), (20, 2.5e-4)):
        found = exudyn_pendulum(n, step, 5e7, 0.5)
        if found:
            print(
                f"Exudyn     {n:3} elements {found[1]:8.3f} s, tip off by {np.linalg.norm(found[0] - reference):.2e} m"
            )
    for shapes in (1, 2):
        for n in (10, 20) if quick else (10, 20, 40):
            tip, time, _ = swing(n, 5e7, 0.5, 1e-5, shapes=shapes, lag=2e-5, stretching=True)
            apart = np.linalg.norm(tip - reference)
            print(f"dalembert  {n:3} segments {time:8.3f} s, tip off by {apart:.2e} m, shapes={shapes}")


if __name__ == "__main__":
    main()
