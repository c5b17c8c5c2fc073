"""A motion as one picture: the system's skeleton at several instants."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model import Model

__all__ = ["draw_strobe", "skeleton"]


def skeleton(model: Model, q: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return one polyline (k, 3), m, per body: from its hinge to the hinges it carries, or through its mass centre."""
    rotation, position = model.poses(q)
    forest = model.forest

    def world(number: int, point: NDArray[np.float64]) -> NDArray[np.float64]:
        if number == 0:
            return point
        result: NDArray[np.float64] = rotation[number - 1] @ point + position[number - 1]
        return result

    lines = []
    for j, hinge in enumerate(forest.hinges, start=1):
        start = world(j, hinge.outboard.position)
        children = forest.children(j)
        for child in children:
            lines.append(np.array([start, world(j, forest.hinges[child - 1].inboard.position)]))
        if not children:
            com = model.system.bodies[forest.bodies[j]].com
            # a last body is drawn to twice its mass centre: the far end of a rod
            lines.append(np.array([start, world(j, 2 * com - hinge.outboard.position)]))
    return lines


def draw_strobe(axes: Any, model: Model, q: NDArray[np.float64], trace: NDArray[np.float64] | None = None) -> None:
    """Draw the skeleton at each row of q, later ones darker, and the path of the last body's far end.

    Parameters
    ----------
    axes : matplotlib 3-D axes
    q : (k, nq)
    trace : (n, nq)
        Configurations along which the far end is followed.
    """
    points = []
    for k, configuration in enumerate(q):
        lines = skeleton(model, configuration)
        points += lines
        shade = 0.15 + 0.85 * (k + 1) / len(q)
        for line in lines:
            axes.plot(*line.T, color="tab:blue", alpha=shade, linewidth=1.8, marker="o", markersize=2.5)
    if trace is not None:
        path = np.array([skeleton(model, configuration)[-1][-1] for configuration in trace])
        axes.plot(*path.T, color="tab:orange", linewidth=1.2)
        points.append(path)
    everything = np.concatenate(points)
    centre, reach = (everything.max(0) + everything.min(0)) / 2, float(np.ptp(everything, axis=0).max()) / 2
    for set_limits, c in zip((axes.set_xlim, axes.set_ylim, axes.set_zlim), centre, strict=True):
        set_limits(c - reach, c + reach)
    axes.set_box_aspect((1, 1, 1))
    axes.locator_params(nbins=5)
    axes.view_init(elev=18, azim=-50)
    axes.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
