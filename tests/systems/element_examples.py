"""One example of every built-in force element and time law."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import dalembert as da
from systems.random_elements import ALONG_LINES, AT_JOINTS, AT_PLACES, NEARLY_ALIGNED, OF_THREE


def middle(low: float, high: float) -> float:
    return 0.5 * (low + high)


ELEMENTS = {
    f"{where}: {name}": make(middle)
    for where, family in (("joint", AT_JOINTS), ("line", ALONG_LINES), ("place", {**AT_PLACES, **OF_THREE}))
    for name, make in family.items()
} | {f"pose: {name}": make(middle) for name, make in NEARLY_ALIGNED.items()}


def model_with(element: Any, where: str) -> da.Model:
    """Return a model of two bodies with an element at a joint, or between ground and bodies."""
    system = da.System("two")
    a, b = (system.body(name, da.rod(length=1.0, mass=1.0, radius=0.1)) for name in "ab")
    system.connect("A", da.Revolute("y"), system.ground, a)
    system.connect("B", da.Revolute("z"), a.at(1, 0, 0), b)
    if where == "joint":
        system.connect("e", element, "A")
    else:
        more = len(element.each_measure) > 1
        system.connect("e", element, system.ground, b.at(0.2, 0.1, 0.3), *([a.at(0.1, 0, 0.2)] if more else []))
    return system.compile()


def _minus_sin(t: float) -> float:
    return -math.sin(t)


LAWS: dict[str, Any] = {
    "Constant": da.Constant(0.7),
    "Polynomial": da.Polynomial((1.0, -2.0, 0.7)),
    "Harmonic": da.Harmonic(0.7, 3.0, phase=0.4),
    "Ramp": da.Ramp(0.2, 1.1, 2.0),
    "Spline": da.Spline(np.linspace(0, 2, 9), np.sin(np.linspace(0, 4, 9))),
    "FunctionLaw": da.FunctionLaw(math.sin, math.cos, _minus_sin),
    "Integral": da.Integral(da.Harmonic(0.7, 3.0), 0.3),
}


def centers(positions: Any) -> dict[str, float]:
    """Return measures of the further ends of an element, by name."""
    return {f"{axis}{k + 1}": x for k, place in enumerate(positions) for axis, x in zip("xyz", place, strict=True)}


HOIST = [(0.0, 0.0, 0.0), (0.2, -1.0, 0.02), (0.5, 0.0, 0.0), (0.8, -1.0, 0.0), (1.2, 0.0, 0.0)]
CAM = da.Curve.path([da.Arc((0.1, 0.05), 0.5, 0.0, 2 * np.pi)])
DRIVE = [(0.0, 0.0, 0.0), (0.6, 0.0, 0.01), (0.3, 0.1, 0.0)]
LIBRARY: list[tuple[Any, dict[str, Any]]] = [
    (da.NonlinearSpring((4.0, 1.0, 9.0), rest=0.3, damping=0.2), {}),
    (da.Cable(100.0, 0.5, toe=0.1, damping=1.0), {}),
    (da.Ligament(100.0, 0.5), {}),
    (da.BumpStop(100.0, 0.5, exponent=1.5, damping=1.0), {}),
    (da.GasSpring(2e5, 1e-4, 2e-4, damping=1.0), {}),
    (
        da.HydraulicSpring(1e-3, 2e-4, rest=0.5, stiffening=10.0, damping=5.0),
        {"center": {"s": 0.5}, "measure_amplitude": 0.01},
    ),
    (da.ElasticBar(100.0, 0.5, preload=3.0, damping=1.0), {}),
    (da.Bushing([100.0, 200, 300, 4, 5, 6], [1.0, 1, 1, 0.1, 0.1, 0.1]), {}),
    (
        da.BeamElement(0.5, axial=100.0, bending=(2.0, 3.0), torsion=1.0, damping=0.1),
        {"center": {"x": 0.5}, "measure_amplitude": 0.5},
    ),
    (da.KelvinVoigt(3.0, 0.2), {}),
    (da.Maxwell(3.0, 0.2, measure="distance"), {}),
    (da.Zener(3.0, 4.0, 0.5), {}),
    (da.GeneralizedMaxwell(1.0, [(3.0, 0.1), (2.0, 1.0)]), {}),
    (da.Drag(0.1, 0.2), {}),
    (da.InverseSquare(2.0, softening=0.1), {}),
    (da.Field(("-x", "-y - vy", 0), energy="(x**2 + y**2)/2"), {}),
    (da.PointPlaneContact(100.0, dissipation=0.3, friction=0.3, slip_speed=0.1), {}),
    (da.SpherePlaneContact(0.5, 100.0, dissipation=0.3, friction=0.3, slip_speed=0.1), {}),
    (da.CylinderPlaneContact(0.8, 0.5, 100.0, dissipation=0.3, friction=0.3, slip_speed=0.1), {}),
    (da.SphereSphereContact(0.5, 0.6, 100.0, dissipation=0.3, friction=0.3, slip_speed=0.1), {}),
    (da.CoulombFriction(2.0, viscous=0.1, slip_speed=0.3), {}),
    (da.StribeckFriction(3.0, 2.0, 0.5, slip_speed=0.3), {}),
    (da.LuGreFriction(3.0, 2.0, 0.5, bristle_stiffness=10.0, bristle_damping=0.5), {}),
    (da.JointFriction("slide", 0.2, axis="x", slip_speed=0.3), {}),
    (da.JournalBearing(1.0, 0.09, 1.0, 0.1, stiffness=10.0), {"measure_amplitude": 0.05}),
    (
        da.TractionFilm(
            0.016, 0.012, 0.01, load=500.0, viscosity=0.017, pressure_coefficient=1.85e-8, shear_stress=5e6
        ),
        {},
    ),
    (
        da.GearMesh((20, 61), 3e-3, 3e8, 500.0, backlash=20e-6, helix_angle=0.3, varying=True, friction=0.05),
        {"center": {"x2": 0.12718}, "measure_amplitude": 3e-5},
    ),
    (
        da.AlongPath(da.HillMuscle(0.5, 300.0, 0.3), ["point", da.WrapCylinder(0.05), "point"]),
        {"center": {"x1": 0.2, "x2": 0.4}, "measure_amplitude": 3e-2},
    ),
    (
        da.CamContact(CAM, "roller", 100.0, radius=0.1, lash=0.01, dissipation=0.3, friction=0.2, slip_speed=0.3),
        {"center": {"y": 0.62}, "measure_amplitude": 0.05},
    ),
    (
        da.CamContact(CAM, "flat", 100.0, restitution=0.5, exponent=1.5),
        {"center": {"y": 0.52}, "measure_amplitude": 0.05},
    ),
    (da.Ratchet(100.0, 0.4, dissipation=0.3), {}),
    (da.Ratchet(100.0, dissipation=0.3, backwards=True), {}),
    (
        da.GenevaContact(4, 1.0, 100.0, play=0.01, dissipation=0.3),
        {"center": {"x": 1.0, "y": 0.1, "rz": -3.0}, "measure_amplitude": 0.1},
    ),
    (
        da.GenevaContact(4, 1.0, 100.0, play=0.01, dissipation=0.3),
        {"center": {"x": 0.7, "y": 0.6, "rz": 0.5}, "measure_amplitude": 0.1},
    ),
    (
        da.PulleyRope(
            ["point", da.Pulley(0.1, -1, 0.3), da.Pulley(0.12, 1, friction=0), da.Pulley(0.1, -1), "point"],
            100.0,
            tension=3.0,
            damping=1.0,
            density=0.5,
            positions=HOIST,
            gravity=(0, -9.81, 0.3),
        ),
        {"center": centers(HOIST), "measure_amplitude": 2e-3},
    ),
    (
        da.PulleyRope([da.Pulley(0.1, -1), da.Pulley(0.12, 1), "point"], 100.0, tension=3.0, positions=HOIST[1:4]),
        {"center": centers(HOIST[1:4]), "measure_amplitude": 2e-3},
    ),
    (
        da.BeltDrive(
            [da.Pulley(0.1, friction=0.2), da.Pulley(0.2, 1, 0.3, groove=0.7), da.Pulley(0.05, -1, friction=0)],
            100.0,
            tension=3.0,
            density=0.3,
            positions=DRIVE,
        ),
        {"center": centers(DRIVE), "measure_amplitude": 2e-3},
    ),
    (
        da.ChainDrive([da.Sprocket(11, 0.05), da.Sprocket(17, 0.05)], 100.0, 38, damping=2.0),
        {"center": centers([(0, 0, 0), (0.62, 0, 0.01)]), "measure_amplitude": 2e-3},
    ),
    (da.PositionServo("sin(t)", 10.0, 1.0, 3.0, limit=2.0), {}),
    (da.VelocityServo(1.0, 3.0, 2.0), {}),
    (da.DCMotor("12 - s", 1.0, 0.1, 0.01), {}),
    (
        da.GearMotor(
            "12 - s",
            1.0,
            0.1,
            0.01,
            rotor_inertia=0.1,
            ratio=2.0,
            stiffness=5.0,
            damping=0.5,
            efficiency=0.8,
            backlash=0.2,
            friction=0.1,
            slip_speed=1.0,
        ),
        {"center": {"p": 0.2}},
    ),
    (
        da.BevelMesh((12, 18), 1.0, 5.0, 0.5, spiral_angle=0.3, variation=0.3),
        {"center": {"ry2": 1.4}, "measure_amplitude": 0.1},
    ),
    (da.PIDController(0.3, 0.5, 2.0, 1.0, 0.5, filter_time=0.1, limits=3.0), {}),
    (da.StateFeedback([1.0, 2.0], [0.1, 0.2], outputs=[0], integral=[[0.5]], limits=2.0, tracking_time=1.0), {}),
    (da.ProportionalValve(0.5, 4.0, 0.0, 2.0, 1.0, flow=1.0, at=2.0, frequency=2.0, laminar=0.1), {}),
    (da.HydraulicSupply(2.0, 1.0, 1.0, precharge=0.5, line_volume=1.0, bulk_modulus=5.0, relief_conductance=0.1), {}),
    (
        da.PneumaticCylinder(
            0.5,
            -0.5,
            1.0,
            0.4,
            (0.0, 4.0),
            supply=2.0,
            ambient=1.0,
            conductance=0.1,
            temperature=300.0,
            gas_constant=0.01,
            dead_volume=0.1,
            pressure=3.0,
            rod_pressure=3.0,
        ),
        {"center": {"s": 2.0, "p1": 3.0, "p2": 3.0, "T1": 300.0, "T2": 300.0}, "measure_amplitude": 0.5},
    ),
    (
        da.MillardMuscle("t", 100.0, 0.3, 0.3, pennation=0.3),
        {"center": {"s": 0.6, "a": 0.5, "fiber": 1.0}, "measure_amplitude": 5e-3},
    ),
    (da.HillMuscle("t", 100.0, 0.5), {"center": {"s": 0.5, "a": 0.5}, "measure_amplitude": 0.1}),
    (da.HydraulicCylinder(0.0, 1e-5, 1e-3, 4e-4, (0.2, 1.8)), {"center": {"s": 1.0}, "measure_amplitude": 0.5}),
    (da.StateSpace([[-1.0]], [[2.0]], [[3.0]], [[0.5]]), {}),
    (da.TransferFunction([1.0, 2.0], [1.0, 3.0, 4.0], "0.5 - s"), {}),
]
