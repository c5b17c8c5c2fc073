"""Tyres and vehicles on them that tests share."""

from __future__ import annotations

from typing import Any

import dalembert as da

# 205/60R15 91V, 2.2 bar: Pacejka, Tyre and Vehicle Dynamics, 2nd ed. 2006, appendix 3 (ISO signs)
PASSENGER_CAR = {
    "FNOMIN": 4000.0, "UNLOADED_RADIUS": 0.313, "VERTICAL_STIFFNESS": 2e5, "VERTICAL_DAMPING": 500.0, "LONGVL": 16.7,
    "PCX1": 1.685, "PDX1": 1.210, "PDX2": -0.037, "PEX1": 0.344, "PEX2": 0.095, "PEX3": -0.020, "PKX1": 21.51,
    "PKX2": -0.163, "PKX3": 0.245, "PHX1": -0.002, "PHX2": 0.002, "RBX1": 12.35, "RBX2": -10.77, "RCX1": 1.092,
    "RHX1": 0.007, "PCY1": 1.193, "PDY1": -0.990, "PDY2": 0.145, "PDY3": -11.23, "PEY1": -1.003, "PEY2": -0.537,
    "PEY3": -0.083, "PEY4": -4.787, "PKY1": -14.95, "PKY2": 2.130, "PKY3": -0.028, "PHY1": 0.003, "PHY2": -0.001,
    "PHY3": 0.075, "PVY1": 0.045, "PVY2": -0.024, "PVY3": -0.532, "PVY4": 0.039, "RBY1": 6.461, "RBY2": 4.196,
    "RBY3": -0.015, "RCY1": 1.081, "RHY1": 0.009, "RVY1": 0.053, "RVY2": -0.073, "RVY3": 0.517, "RVY4": 35.44,
    "RVY5": 1.9, "RVY6": -10.71, "QBZ1": 8.964, "QBZ2": -1.106, "QBZ3": -0.842, "QBZ5": -0.227, "QBZ9": 18.47,
    "QCZ1": 1.180, "QDZ1": 0.100, "QDZ2": -0.001, "QDZ3": 0.007, "QDZ4": 13.05, "QDZ6": -0.008, "QDZ8": -0.296,
    "QDZ9": -0.009, "QEZ1": -1.609, "QEZ2": -0.359, "QEZ4": 0.174, "QEZ5": -0.896, "QHZ1": 0.007, "QHZ2": -0.002,
    "QHZ3": 0.147, "QHZ4": 0.004, "SSZ1": 0.043, "SSZ2": 0.001, "SSZ3": 0.731, "SSZ4": -0.238,
}  # fmt: skip

WHEELBASE, TRACK = 2.6, 1.5  # m
FRONT = 1.2  # from the centre of mass to the front axle, m
MASS, YAW_INERTIA = 1400.0, 2000.0  # of car with wheels, kg; of the body, kg m2


def car(tyre: Any, radius: float, *, speed: float = 0.0, height: float = 0.5, mass: float = MASS) -> da.System:
    """Return a car without suspension: a body on four steered or unsteered wheels; joints "steer_fl", "spin_fl", ..."""
    s = da.System("car")
    wheel_mass = 20.0
    body = s.body("body", mass=mass - 4 * wheel_mass, inertia=(500.0, 1800.0, YAW_INERTIA))
    s.connect("free", da.Free(), s.ground, body)
    s.initial("free", position=(1, 0, 0, 0, 0, 0, height), speed=(0, 0, 0, speed, 0, 0))
    for name, x, y in (
        ("fl", FRONT, TRACK / 2),
        ("fr", FRONT, -TRACK / 2),
        ("rl", FRONT - WHEELBASE, TRACK / 2),
        ("rr", FRONT - WHEELBASE, -TRACK / 2),
    ):
        at = body.at(x, y, radius - height - 0.02)
        if name[0] == "f":
            hub = s.body(f"hub_{name}", mass=wheel_mass / 2, inertia=(0.05, 0.05, 0.05))
            s.connect(f"steer_{name}", da.Revolute("z"), at, hub)
            at = hub.at(0, 0, 0)
        wheel = s.body(f"wheel_{name}", mass=wheel_mass / 2, inertia=(0.5, 1.0, 0.5))
        s.connect(f"spin_{name}", da.Revolute("y"), at, wheel)
        s.initial(f"spin_{name}", speed=speed / radius)
        s.connect(f"tyre_{name}", tyre, s.ground, wheel)
    return s
