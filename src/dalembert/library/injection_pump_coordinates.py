"""Lagrange coordinates q1 to q5 of the fuel injection pump, as Sol (1983) names them in chapter 9.

q1   angle of the cam                                   joint ``shaft``
q2   polar angle of the roller's centre in the cam      from the place of the roller and q1
q3   its distance from the shaft                        from the place of the roller
q4   rotation of the roller relative to the cam         rotation of the roller less q1
q5   displacement of the plunger                        joint ``guide``
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..arrays import Array
from ..checks import checked
from ..errors import ModelError

if TYPE_CHECKING:
    from ..result import Result

__all__ = ["PumpCoordinates", "pump_coordinates"]


class PumpCoordinates(NamedTuple):
    """Coordinates q1 to q5 of the thesis over a run.

    t : (n,) s
    q, q_dot, q_ddot : (n, 5) rad or m, and their rates
    """

    t: Array
    q: Array
    q_dot: Array
    q_ddot: Array


@checked("result")
def pump_coordinates(result: Result) -> PumpCoordinates:
    """Return q1 to q5 of the thesis with their rates, from a run of `fuel_injection_pump`, with films or without.

    Examples
    --------
    >>> import dalembert as da
    >>> run = da.simulate(da.library.fuel_injection_pump(films=False), 0.001, times=[0.0, 0.001])
    >>> da.library.pump_coordinates(run).q_dot[0, [0, 1, 3]].round(2).tolist()
    [-104.72, 104.72, 244.35]
    """
    model = result.model
    if model is None:
        raise ModelError("pump_coordinates", "result", result, "it has no model: load it with the pump's system")
    if not {"shaft", "guide"} <= set(model.joint_names) or not {"play", "pin"} & set(model.joint_names):
        raise ModelError(
            "pump_coordinates", "result", model.system.name, "give a run of da.library.fuel_injection_pump()"
        )
    a = result["a"]
    reach = float(model.system.connections["guide"].first.position[1])  # zero of the guide, the roller's rest

    def joint(name: str) -> tuple[Array, Array, Array]:
        q, v = model.q_slice(name), model.v_slice(name)
        return result.q[:, q], result.v[:, v], a[:, v]

    shaft, guide = (np.hstack(joint(name)) for name in ("shaft", "guide"))
    if "play" in model.joint_names:
        place, rate, second = joint("play")
    else:
        turned = joint("pin")
        place, rate, second = (np.hstack([np.zeros((len(x), 2)), x]) for x in turned)
    x, y = place[:, 0], place[:, 1] + guide[:, 0] + reach
    vx, vy = rate[:, 0], rate[:, 1] + guide[:, 1]
    ax, ay = second[:, 0], second[:, 1] + guide[:, 2]
    r = np.hypot(x, y)
    e, n = np.array([x, y]) / r, np.array([-y, x]) / r
    radial, across = vx * e[0] + vy * e[1], vx * n[0] + vy * n[1]
    w = across / r
    q = np.stack(
        [
            shaft[:, 0],
            np.unwrap(np.arctan2(y, x)) - shaft[:, 0],
            r,
            place[:, 2] - shaft[:, 0],
            guide[:, 0],
        ],
        axis=1,
    )
    q_dot = np.stack([shaft[:, 1], w - shaft[:, 1], radial, rate[:, 2] - shaft[:, 1], guide[:, 1]], axis=1)
    q_ddot = np.stack(
        [
            shaft[:, 2],
            (ax * n[0] + ay * n[1] - 2 * radial * w) / r - shaft[:, 2],
            ax * e[0] + ay * e[1] + r * w * w,
            second[:, 2] - shaft[:, 2],
            guide[:, 2],
        ],
        axis=1,
    )
    return PumpCoordinates(result.t, q, q_dot, q_ddot)
