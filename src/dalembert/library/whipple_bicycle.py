"""Whipple bicycle with the parameters of the benchmark."""

from __future__ import annotations

import numpy as np

from ..checks import finite_number
from ..connections.constraints import RollingDisc
from ..connections.joints import Prismatic, Revolute
from ..system import System

__all__ = ["bicycle"]

_TILT, _BASE, _TRAIL = np.pi / 10, 1.02, 0.08  # rad, m, m
NEGLIGIBLE_MASS = 1e-9  # kg: intermediate frames of the coordinates, against 94 kg of the whole


def bicycle(speed: float = 5.0) -> System:
    """Return a bicycle rolling upright along x: rear frame with rider, front frame, two wheels without slip.

    Joints x, y, z, yaw, lean and pitch position the rear frame, so that steady motions have constant coefficients;
    ``rear`` and ``front`` turn the wheels, ``steer`` the fork. Parameters are those of Meijaard, Papadopoulos, Ruina
    and Schwab 2007, table 1, with z upward here. It has seven independent coordinates and three independent
    velocities; between 4.292 and 6.024 m/s it is self-stable.

    Parameters
    ----------
    speed : float, m/s

    Examples
    --------
    >>> import dalembert as da
    >>> lin = da.linearize(da.library.bicycle(5.0), independent_velocities=["lean", "steer", "rear"])
    >>> weave = lin.eigenvalues[lin.eigenvalues.imag > 0.1]
    >>> weave.round(6)
    array([-0.775342+4.464868j])
    """
    v = finite_number(speed, item="bicycle", field="speed")
    s = System("bicycle")
    last = s.ground.origin
    joints = {
        "x": Prismatic("x"),
        "y": Prismatic("y"),
        "z": Prismatic("z"),
        "yaw": Revolute("z"),
        "lean": Revolute("x"),
    }
    for name, joint in joints.items():
        frame = s.body(f"frame_{name}", mass=NEGLIGIBLE_MASS, inertia=(NEGLIGIBLE_MASS,) * 3)
        s.connect(name, joint, last, frame)
        last = frame.origin
    rider = s.body("rider", mass=85.0, com=(0.3, 0, 0.9), inertia=((9.2, 0, -2.4), (0, 11, 0), (-2.4, 0, 2.8)))
    fork = s.body(
        "fork", mass=4.0, com=(0.9, 0, 0.7), inertia=((0.05892, 0, 0.00756), (0, 0.06, 0), (0.00756, 0, 0.00708))
    )
    rear = s.body("rear_wheel", mass=2.0, inertia=(0.0603, 0.12, 0.0603))
    front = s.body("front_wheel", mass=3.0, inertia=(0.1405, 0.28, 0.1405))
    s.connect("pitch", Revolute("y"), last, rider)
    foot = (_BASE + _TRAIL, 0, 0)  # intersection of the steering axis and the ground
    s.connect("steer", Revolute((-np.sin(_TILT), 0, np.cos(_TILT))), rider.at(*foot), fork.at(*foot))
    s.connect("rear", Revolute("y"), rider.at(0, 0, 0.3), rear)
    s.connect("front", Revolute("y"), fork.at(_BASE, 0, 0.35), front)
    s.connect("rear_contact", RollingDisc(0.3, axis="y"), s.ground, rear)
    s.connect("front_contact", RollingDisc(0.35, axis="y"), s.ground, front)
    s.initial("x", speed=v)
    s.initial("rear", speed=v / 0.3)
    s.initial("front", speed=v / 0.35)
    return s
