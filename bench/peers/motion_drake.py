"""Simulation by Drake's `Simulator` around its MultibodyPlant: trees without force elements.

Runge-Kutta of order 5 with error control, the most accurate of its integrators on smooth problems.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from pydrake.systems.analysis import ApplySimulatorConfig, Simulator, SimulatorConfig

from .drake import Drake
from .links import Array
from .motion import Motion

__all__ = ["DrakeMotion"]


class DrakeMotion:
    """Drake's own integrators."""

    name = "Drake"

    def motions(self, problem: Any) -> Iterator[Motion]:
        """Return runs from coarse to fine."""
        if problem.system.forest().loop_constraints or problem.system.forces:
            return
        for accuracy in (1e-3, 1e-5, 1e-7, 1e-9, 1e-11):
            yield _motion(problem, accuracy)


def _motion(problem: Any, accuracy: float) -> Motion:
    peer = Drake(problem.system)
    simulator = Simulator(peer.plant)
    config = SimulatorConfig(integration_scheme="runge_kutta5", accuracy=accuracy, max_step_size=1.0)
    ApplySimulatorConfig(config, simulator)
    context = simulator.get_mutable_context()
    q, v = problem.start.q, problem.start.v
    start = np.concatenate([peer.coordinates.configuration(q), peer.coordinates.speeds(q, v)])

    def run() -> None:
        context.SetTime(0.0)
        peer.plant.SetPositionsAndVelocities(context, start)
        simulator.Initialize()
        simulator.AdvanceTo(problem.t_end)

    def state() -> tuple[Array, Array]:
        y = np.array(peer.plant.GetPositionsAndVelocities(context))
        found = peer.coordinates.configuration_back(y[: len(q)])
        return found, peer.coordinates.speeds_back(found, y[len(q) :])

    return Motion(f"runge_kutta5 accuracy {accuracy:.0e}", run, state)
