"""Random elements of the whole library, and put into random systems in a random state."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dalembert as da
from dalembert.connections.joints import Prismatic, Revolute
from systems.random_trees import random_marker

Array = NDArray[np.float64]
Number = Callable[[float, float], float]


def _remembering(t: float, s: float, ds: float, m: float, k: float) -> tuple[float, float, float]:
    """A law in Python with a state: a spring that creeps. Effort, rate of the state, energy."""
    return -k * (s - m), math.tanh(s - m), 0.5 * k * (s - m) ** 2


def _stiffening(t: float, x: float, y: float, z: float, vx: float, vy: float, vz: float) -> tuple[float, ...]:
    """A law in Python for a place: a quartic well, and drag. Forces and energy."""
    square = x * x + y * y + z * z
    return *(-0.3 * square * p - 0.2 * v for p, v in ((x, vx), (y, vy), (z, vz))), 0.075 * square * square


# by what they act on; u draws a number between two
AT_JOINTS: dict[str, Callable[[Number], Any]] = {
    "JointSpring": lambda u: da.JointSpring(u(1, 10), u(0, 1), u(-1, 1)),
    "Limits": lambda u: da.Limits(u(-1.5, -0.5), u(0.5, 1.5), u(5, 20), u(0, 1)),
    "Effort": lambda u: da.Effort(da.Harmonic(u(1, 3), u(1, 5))),
    "NonlinearSpring": lambda u: da.NonlinearSpring((u(1, 4), u(0, 1), u(1, 9)), rest=u(-1, 1), damping=u(0, 1)),
    "KelvinVoigt": lambda u: da.KelvinVoigt(u(1, 10), u(0, 1), rest=u(-1, 1)),
    "Maxwell": lambda u: da.Maxwell(u(1, 10), u(0.5, 2), start=u(-1, 1)),
    "Zener": lambda u: da.Zener(u(1, 10), u(1, 10), u(0.5, 2)),
    "GeneralizedMaxwell": lambda u: da.GeneralizedMaxwell(u(1, 5), [(u(1, 5), u(0.1, 1)), (u(1, 5), u(0.1, 1))]),
    "CoulombFriction": lambda u: da.CoulombFriction(u(0.2, 1), viscous=u(0, 1), slip_speed=u(0.1, 0.3)),
    "StribeckFriction": lambda u: da.StribeckFriction(u(0.6, 1), u(0.2, 0.6), u(0.3, 0.6), slip_speed=u(0.1, 0.2)),
    "LuGreFriction": lambda u: da.LuGreFriction(
        u(0.6, 1), u(0.2, 0.6), u(0.3, 0.6), bristle_stiffness=u(5, 20), bristle_damping=u(0.1, 0.4)
    ),
    "PositionServo": lambda u: da.PositionServo("0.3*sin(3*t)", u(5, 20), u(0.5, 2), u(1, 5)),
    "VelocityServo": lambda u: da.VelocityServo("cos(2*t)", u(1, 3), u(0.5, 3)),
    "DCMotor": lambda u: da.DCMotor("5*sin(t) - 2*s", u(0.5, 2), u(0.1, 0.5), u(0.05, 0.2), gear=u(1, 3)),
    "StateSpace": lambda u: da.StateSpace([[-u(1, 3)]], [[u(1, 3)]], [[u(1, 3)]], [[u(-1, 1)]], ["0.3 - s"]),
    "TransferFunction": lambda u: da.TransferFunction([u(1, 2), u(1, 5)], [u(0.1, 0.5), 1.0], "0.2 - s"),
    "text": lambda u: da.Element(
        "joint", "-k*sinh(s - m) - c*ds", {"k": u(1, 3), "c": u(0, 1)}, {"m": (0.1, "tanh(s - m)")}, "k*cosh(s - m)"
    ),
    "function": lambda u: da.Element("joint", _remembering, {"k": u(1, 3)}, {"m": (u(-1, 1), 0.0)}),
}
ALONG_LINES: dict[str, Callable[[Number], Any]] = {
    "SpringDamper": lambda u: da.SpringDamper(u(1, 10), u(0, 1), u(0.5, 2)),
    "Cable": lambda u: da.Cable(u(1, 10), u(0.5, 2), toe=u(0.1, 0.5), damping=u(0, 0.5)),
    "Ligament": lambda u: da.Ligament(u(1, 10), u(1, 2), toe_strain=u(0.05, 0.2)),
    "BumpStop": lambda u: da.BumpStop(u(1, 10), u(1, 3), exponent=u(1.5, 2.5), damping=u(0, 0.5)),
    "GasSpring": lambda u: da.GasSpring(u(1e3, 3e3), 1e-3, 1e-2, rest=u(0.5, 2), outside=500.0, damping=u(0, 1)),
    "HydraulicSpring": lambda u: da.HydraulicSpring(
        1e-2, 0.1, bulk_modulus=u(1e4, 3e4), pressure=2e3, outside=1e3, stiffening=u(0.5, 2), rest=u(0.5, 2)
    ),
    "ElasticBar": lambda u: da.ElasticBar(u(5, 20), u(0.5, 2), preload=u(-1, 1), damping=u(0, 1)),
    "Maxwell": lambda u: da.Maxwell(u(1, 10), u(0.5, 2), measure="distance"),
    "InverseSquare": lambda u: da.InverseSquare(u(-2, 2), softening=u(0.3, 0.5)),
    "HillMuscle": lambda u: da.HillMuscle("0.5 + 0.4*sin(5*t)", u(2, 10), u(3, 5), slack_length=u(0, 0.5), start=0.3),
    "HydraulicCylinder": lambda u: da.HydraulicCylinder(
        "1e-4*sin(5*t)", 1e-4, 1e-3, 3e-4, (0.0, 20.0), bulk_modulus=1e5, pressure=u(1e3, 3e3), friction=u(0, 2)
    ),
}
AT_PLACES: dict[str, Callable[[Number], Any]] = {
    "Drag": lambda u: da.Drag(u(0, 0.5), u(0, 0.5), stream=(u(-1, 1), u(-1, 1), 0)),
    "Field": lambda u: da.Field(
        ("-k*x", "-2*k*y - vy", "-k*z**3"), parameters={"k": u(0.5, 2)}, energy="k*(x**2/2 + y**2 + z**4/4)"
    ),
    "PointPlaneContact": lambda u: da.PointPlaneContact(
        u(5, 20), dissipation=u(0, 0.3), exponent=2.0, friction=u(0, 0.5), slip_speed=u(0.1, 0.3)
    ),
    "SpherePlaneContact": lambda u: da.SpherePlaneContact(
        u(0.5, 1), u(5, 20), dissipation=u(0, 0.3), friction=u(0, 0.5), slip_speed=u(0.1, 0.3)
    ),
    "SphereSphereContact": lambda u: da.SphereSphereContact(
        u(0.5, 1), u(0.5, 1), u(5, 20), dissipation=u(0, 0.3), friction=u(0, 0.5), slip_speed=u(0.1, 0.3)
    ),
    "CylinderPlaneContact": lambda u: da.CylinderPlaneContact(
        u(0.5, 1), u(0.5, 1), u(5, 20), dissipation=u(0, 0.3), exponent=2.0, friction=u(0, 0.5), slip_speed=u(0.1, 0.3)
    ),
    "function": lambda u: da.Element("place", _stiffening),
}
NEARLY_ALIGNED: dict[str, Callable[[Number], Any]] = {
    "Bushing": lambda u: da.Bushing([u(1, 9) for _ in range(6)], [u(0, 1) for _ in range(6)]),
    "BeamElement": lambda u: da.BeamElement(
        u(0.5, 2), axial=u(5, 20), bending=(u(1, 4), u(1, 4)), torsion=u(1, 4), damping=u(0, 0.1)
    ),
}
OF_THREE: dict[str, Callable[[Number], Any]] = {
    "three ends": lambda u: da.Element(
        ("place", "place"), None, {"k": u(1, 3)}, energy="k*((x1 - x2)**2 + (y1 - 2*y2)**2 + z1**2*z2**2)/2"
    ),
}


def add_random_elements(
    system: da.System, model: da.Model, q: Array, rng: np.random.Generator, count: int
) -> list[str]:
    """Put `count` random elements into a system, whose model without them is at q; return their kinds."""

    def number(low: float, high: float) -> float:
        return float(rng.uniform(low, high))

    def some(bodies: int) -> list[da.Marker]:
        known = [system.ground, *system.bodies.values()]
        return [random_marker(known[int(k)], rng) for k in rng.choice(len(known), size=bodies, replace=False)]

    joints = [
        c.name
        for c in system.connections.values()
        if isinstance(c.element, (Revolute, Prismatic)) and c.name in model.joint_names
    ]
    families = [(AT_JOINTS, 0), (ALONG_LINES, 2), (AT_PLACES, 2), (NEARLY_ALIGNED, 2), (OF_THREE, 3)]
    pool = [(kind, make, ends, family) for family, ends in families for kind, make in family.items()]
    kinds: list[str] = []
    while len(kinds) < count:
        kind, make, ends, family = pool[int(rng.integers(len(pool)))]
        if (ends == 0 and not joints) or ends > len(system.bodies) + 1:
            continue
        name = f"e{len(kinds)}"
        if ends == 0:
            system.connect(name, make(number), joints[int(rng.integers(len(joints)))])
        else:
            markers = some(ends)
            if family is NEARLY_ALIGNED:
                markers[1] = _aligned(model, q, *markers)
            system.connect(name, make(number), *markers)
        kinds.append(kind)
    return kinds


def _aligned(model: da.Model, q: Array, first: da.Marker, second: da.Marker) -> da.Marker:
    """Return the second marker turned so that its axes are those of the first."""

    def attitude(marker: da.Marker) -> Array:
        turned: Array = np.eye(3) if marker.body.name == "ground" else model.pose(marker.body.name, q).rotation
        return turned

    R = attitude(second).T @ attitude(first) @ first.rotation
    return second.body.at(*second.position, rotation=R)
