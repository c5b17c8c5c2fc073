"""Everything public that has no Python code in it comes back from a model file: none can be forgotten."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from systems.contacts.tyres import PASSENGER_CAR
from systems.element_examples import ELEMENTS, LIBRARY

import dalembert as da
from dalembert.connections import attitudes, constraints, elements, joints as joints, laws
from dalembert.io.model_files.library_systems import library_systems
from dalembert.io.model_files.reader import _Reader
from dalembert.io.model_files.registry import arguments_of, known_kinds, same
from dalembert.io.model_files.text import dumped, parsed
from dalembert.io.model_files.writer import _Writer, tree_of
from dalembert.structures import beam_segment

ROUND = da.Curve.path([da.Line((-1, -1), (1, -1)), da.Arc((1, 0), 1.0, -np.pi / 2, np.pi / 2),
                       da.Line((1, 1), (-1, 1)), da.Arc((-1, 0), 1.0, np.pi / 2, 3 * np.pi / 2)])  # fmt: skip
STEEL = da.Material(E=210e9, nu=0.3, density=7850)
STEEL_BAR = (1.0, da.Section.circle(0.004), STEEL)
LAG = {"m": (0.1, "tanh(s - m)")}
SPRING = da.Element("distance", "-k*(s - 1)", {"k": 3.0}, energy="k*(s - 1)**2/2")
FIBRE = da.HillMuscle(0.5, strength=1000.0, optimal_length=0.1)
TIMES, VALUES = [0.0, 0.5, 1.0, 1.5, 2.0], [0.0, 1 / 3, 1.0, 0.2, 0.1]


def modal() -> da.FlexibleBody:
    """Return a body from data of modes."""
    mode = np.zeros((12, 1))
    mode[7], mode[11] = 1.0, 1.5
    return da.FlexibleBody(
        [[0, 0, 0], [1, 0, 0]], mode, node_masses=[1, 2], modal_stiffness=[[32.0]], damping=da.Rayleigh(0.1, 1e-3)
    )


def from_matrices() -> da.FlexibleBody:
    """Return a body from matrices of nodes."""
    built = da.beam(*STEEL_BAR, elements=2, modes=da.CantileverModes(2))
    assert built.structure is not None
    whole = built.structure
    return da.FlexibleBody(
        built.nodes, built.modes, stiffness=whole.stiffness, mass_matrix=whole.mass, damping=[0.1, 0.2]
    )


TETRAHEDRON = ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
BUMP = da.Table([0.0, 1.0, 2.0], values=[1.0, 1.1, 1.0])
SAMPLES: dict[str, list[Any]] = {
    "CustomJoint": [da.CustomJoint(("a", "b"), ("r*a", "sin(a) + b", 0), parameters={"r": 2.0}, damping=(0.1, 0.2))],
    "Cylindrical": [da.Cylindrical("z", damping=(1.0, 2.0), lower=(-1, -2), upper=(1, 2))],
    "Fixed": [da.Fixed()],
    "Free": [da.Free(damping=0.1)],
    "LoadFriction": [da.LoadFriction(0.2, radius=0.01, collar=0.02, static_coefficient=0.3)],
    "Planar": [da.Planar((1.0, 1.0, 0.5))],
    "Prismatic": [da.Prismatic("x", friction=3.0, static_friction=4.0, upper=1.0, restitution=0.5, max_effort=7.0)],
    "Revolute": [da.Revolute((1.0, 2.0, 0.5), armature=0.1, load_friction=da.LoadFriction(0.2, radius=0.01))],
    "Screw": [da.Screw("z", 0.01)],
    "Spherical": [da.Spherical(damping=0.3)],
    "Universal": [da.Universal("x", "y")],
    "Mimic": [da.Mimic("A", multiplier=-1.5, offset=0.2)],
    "WrapCylinder": [da.WrapCylinder(0.02, side=-1, least=3.0)],
    "WrapSphere": [da.WrapSphere(0.03)],
    "Arc": [da.Arc((1, 0), 1.0, -np.pi / 2, np.pi / 2)],
    "Line": [da.Line((0, 0), (1, 1 / 3))],
    "AxisAngle": [da.AxisAngle("x", "y", 0.3)],
    "CamFollower": [da.CamFollower(ROUND, "roller", radius=0.1), da.CamFollower(ROUND, "knife")],
    "Coupling": [da.Coupling(-0.5, 0.1)],
    "Curve": [da.Curve([(-1, 0, 1), (0, 0, 0), (1, 0, 1), (2, 0, 4)])],
    "Curve.path": [ROUND],
    "Curve.polar": [da.Curve.polar([(np.pi, da.Ramp(0.3, 0.4, np.pi)), (np.pi, da.Ramp(0.4, 0.3, np.pi))], start=0.1)],
    "CustomConstraint": [da.CustomConstraint("x**2 + y - r", parameters={"r": 1.0})],
    "CustomCoupling": [da.CustomCoupling("s1 - r*s2**2", parameters={"r": 0.4})],
    "Distance": [da.Distance(0.1 + 0.2)],
    "Rope": [da.Rope(0.1 + 0.2, 0.3), da.Rope(0.5, pushes=True)],
    "KinematicChain": [da.KinematicChain([da.Spherical(), da.bar(0.5), da.Spherical()])],
    "Offset": [da.bar(0.5)],
    "Parallel": [da.Parallel("x", "y")],
    "Perpendicular": [da.Perpendicular("x", "y")],
    "PfaffianConstraint": [da.PfaffianConstraint("vx - r*wy", parameters={"r": 0.2})],
    "PointOnCurve": [da.PointOnCurve(da.Curve([(-1, 0, 1), (0, 0, 0), (1, 0, 1), (2, 0, 4)]))],
    "PointOnLine": [da.PointOnLine("z")],
    "PointOnPlane": [da.PointOnPlane((1, 1, 1))],
    "PointOnPoint": [da.PointOnPoint()],
    "RollingCam": [da.RollingCam(ROUND, 0.1)],
    "RollingDisc": [da.RollingDisc(0.3)],
    "RollingSphere": [da.RollingSphere(0.3)],
    "KnifeEdge": [da.KnifeEdge("y")],
    "SignalBlock": [
        da.SignalBlock({"y": "2*u + m"}, inputs={"u": da.Harmonic(1.0, 2.0)}, states={"m": (0.0, "u - m")})
    ],
    "Compound": [
        da.Compound(
            ("origin", "insertion"),
            {"fibre": (FIBRE, "origin", "middle"), "tendon": (SPRING, "middle", "insertion")},
            nodes={"middle": ("line", 0.1)},
        )
    ],
    "Delay": [da.Delay("A.speed", 0.1, before=0.3)],
    "Reaction": [da.Reaction("A", "force.x")],
    "Effort": [da.Effort(da.Harmonic(2.0, 3.0)), da.Effort(3.0)],
    "Element": [
        SPRING,
        da.Element(
            "joint",
            "-k*sinh(s - m)*f(t)",
            {"k": 2.0},
            LAG,
            energy="k*cosh(s - m)",
            active=True,
            tables={"f": da.Table([0.0, 1.0, 2.0], values=[0.0, 1.0, 4.0], kind="linear", outside="hold")},
        ),
    ],
    "Table": [da.Table([0.0, 1.0, 2.0], [0.0, 1.0], values=[[0.0, 1.0], [2.0, 3.0], [4.0, 5.5]], kind="linear")],
    "BrushTyre": [
        da.BrushTyre(
            0.3,
            2e5,
            load=3e3,
            longitudinal=8e4,
            cornering=6e4,
            friction=0.9,
            road=da.Road(BUMP, grip=0.5, footprint=0.1),
        )
    ],
    "MagicFormulaTyre": [
        da.MagicFormulaTyre(PASSENGER_CAR, side="right", relaxation=(0.3, 0.5)),
        da.MagicFormulaTyre(da.TyreData(PASSENGER_CAR, "right"), relaxation=0.3),
    ],
    "Road": [da.Road(BUMP, grip=BUMP)],
    "TyreData": [da.TyreData(PASSENGER_CAR, "right", ["line 3"])],
    "JointSpring": [da.JointSpring(5.5, 0.1, 0.2)],
    "Limits": [da.Limits(-1.0, stiffness=12.5), da.Limits(upper=2.0, stiffness=1e4, damping=0.5)],
    "Load": [da.Load(force=(0, da.Harmonic(2.0, 3.0), 1.0), moment=(1, 2, 3), axes="world")],
    "SpringDamper": [da.SpringDamper(5.5, 0.1, 0.2)],
    "TorsionSpring": [da.TorsionSpring(5.5, 0.1, 0.2)],
    "Constant": [da.Constant(1 / 3)],
    "Harmonic": [da.Harmonic(0.7, 3.0, phase=0.4, offset=-1.0)],
    "ZeroOrderHold": [da.ZeroOrderHold(TIMES, VALUES)],
    "Integral": [da.Integral(da.Harmonic(0.7, 3.0), start=0.3)],
    "LinearInterpolation": [da.LinearInterpolation(TIMES, VALUES)],
    "MonotoneSpline": [da.MonotoneSpline(TIMES, VALUES)],
    "Polynomial": [da.Polynomial((1.0, -2.0, 0.7))],
    "Pulse": [da.Pulse(0.1, 0.2, 3.0, rest=1.0)],
    "Ramp": [da.Ramp(0.2, 1.1, 2.0, begin=0.5)],
    "SmoothedLaw": [da.SmoothedLaw(da.Step(1.0, 0.0, 2.0), 0.1)],
    "Spline": [da.Spline(TIMES, VALUES), da.Spline([0, 1, 2, 3, 4, 5], [0, 1, 0, 2, 0, 3], degree=5)],
    "Step": [da.Step(1.0, 0.0, 2.0)],
    "AttitudeSpline": [da.AttitudeSpline([0, 1, 2, 3], [da.rotation.axis_angle("y", 0.1 * k) for k in range(4)])],
    "BryantAngles": [da.BryantAngles(da.Polynomial((0.0, 0.2)), 0.1, da.Harmonic(0.3, 2.0))],
    "EulerAngles": [da.EulerAngles((0.1, da.Polynomial((0.0, 0.2)), 0.3))],
    "rod": [da.rod(1.0, 2.0), da.rod(1.0, density=7850.0, axis="z", radius=0.1)],
    "box": [da.box(1, 2, 3, mass=1 / 3)],
    "cylinder": [da.cylinder(1.0, 0.2, mass=3.0, axis="x")],
    "sphere": [da.sphere(0.2, density=100.0)],
    "plate": [da.plate(1.0, 2.0, 3.0, thickness=0.1)],
    "tube": [da.tube(1.0, 0.2, 0.1, mass=3.0)],
    "capsule": [da.capsule(1.0, 0.2, mass=3.0), da.capsule(1.0, 0.2, 3.0, "x")],
    "plane": [da.plane()],
    "height_field": [da.height_field([[0.0, 0.1], [0.2, 0.3]], size=(1.0, 2.0))],
    "prism": [da.prism([(0, 0), (3, 0), (0, 3)], 0.1, mass=2.0)],
    "gear": [da.gear(20, 41), da.gear(17, 60, internal=True)],
    "belt": [da.constraints.belt(0.1, 0.25), da.constraints.belt(0.1, 0.25, crossed=True)],
    "rack_and_pinion": [da.constraints.rack_and_pinion(0.03)],
    "screw_coupling": [da.constraints.screw_coupling(0.005)],
    "mesh": [da.mesh(TETRAHEDRON, density=6.0, scale=(0.1, 0.2, -0.3)), da.mesh(TETRAHEDRON)],
    "Material": [STEEL],
    "Section": [da.Section.circle(0.004), da.Section.rectangle(0.03, 0.01)],
    "Member": [da.Member([(0, 0, 0), (0, 0, 1)], da.Section.circle(0.004), STEEL, elements=4)],
    "beam": [da.beam(*STEEL_BAR, elements=4, modes=da.CraigBampton([0, 4], 2), damping=0.01)],
    "frame": [da.frame([da.Member([(0, 0, 0), (0, 0, 1), (0, 1, 1)], da.Section.circle(0.01), STEEL, elements=4)])],
    "beam_segment": [
        beam_segment((0.0, 0.1, 0.0), da.Section.circle(0.004), STEEL, bending="z", stretching=True, damping=0.02)
    ],
    "CantileverModes": [da.CantileverModes(3)],
    "FreeModes": [da.FreeModes(3)],
    "CraigBampton": [da.CraigBampton([0, 4], 2)],
    "Guyan": [da.Guyan([0, 4])],
    "FlexibleBody": [modal(), from_matrices()],
    "Rayleigh": [da.Rayleigh(0.1, 1e-3)],
}
for element, _ in LIBRARY:
    SAMPLES.setdefault(type(element).__name__, []).append(element)
for name, element in ELEMENTS.items():
    if not name.endswith("function"):
        SAMPLES.setdefault(type(element).__name__, []).append(element)

NOT_BY_ITSELF = {
    "FunctionLaw": "it is Python code",
    "Piecewise": "what other laws have in common",
    "Sensor": "it names markers of a system: see the test of systems with signals",
    **dict.fromkeys(("Stiffening", "SecondOrderLine"), "parts of a flexible body"),
    **dict.fromkeys(
        ("Structure", "plate_structure", "frame_structure", "with_mass", "rigid_region", "mean_region", "reduce"),
        "parts of a flexible body: see the test of reduced structures",
    ),
    "GivenModes": "a part of a flexible body",
    "sparse": "a matrix",
    **dict.fromkeys(("Pulley", "Sprocket", "WrapCylinder", "WrapSphere"), "parts of a route"),
    "Curve.from_derivatives": "of cams of the library",
}


def again(thing: Any) -> Any:
    """Return what comes out of the text of a file."""
    system = da.System()
    text = dumped({"v": _Writer(system).to_plain(thing, "it")})
    return _Reader(system, Path.cwd()).value(parsed(text, "text")["v"])


def test_there_is_a_sample_of_every_kind() -> None:
    assert sorted(set(known_kinds()) - set(SAMPLES) - set(NOT_BY_ITSELF)) == []


@pytest.mark.parametrize(("kind", "thing"), [(kind, thing) for kind, things in SAMPLES.items() for thing in things],
                         ids=lambda x: x if isinstance(x, str) else "")  # fmt: skip
def test_every_kind_comes_back_as_it_was(kind: str, thing: Any) -> None:
    found = arguments_of(thing)
    assert found is not None and found[0] == kind
    assert same(thing, again(thing))


def test_every_public_class_of_the_rooms_can_be_named() -> None:
    bases = {"ForceElement", "ForceConnection", "CoordinateConnection", "Constraint", "Joint", "Law", "Attitude"}
    for room in (joints, constraints, elements, laws, attitudes):
        classes = {name for name in room.__all__ if inspect.isclass(getattr(room, name))}
        assert classes - set(known_kinds()) <= bases


def test_connections_between_elements_are_restored(tmp_path: Path) -> None:
    s = da.System("sensed", gravity=(0, 0, -1.0))
    wheel, mass = (s.body(n, da.box(0.1, 0.1, 0.1, mass=1.0)) for n in ("wheel", "mass"))
    s.connect("spin", da.Revolute("z"), s.ground, wheel)
    s.connect("slide", da.Prismatic("x"), s.ground, mass)
    s.connect(
        "brake",
        da.Element(
            "joint", "-c*rate", {"c": 2.0}, inputs={"rate": da.Sensor(s.ground, mass.at(0.1, 0, 0), "vx")}, active=True
        ),
        "spin",
    )
    s.connect("lag", da.SignalBlock({"y": "m"}, inputs={"u": "slide.speed"}, states={"m": (0.0, "u - m")}))
    s.initial("slide", speed=1.0)
    da.save(s, tmp_path / "m.yaml")
    back = da.load(tmp_path / "m.yaml")
    assert tree_of(back) == tree_of(s)
    np.testing.assert_array_equal(da.simulate(s, 0.3).q, da.simulate(back, 0.3).q)


@pytest.mark.parametrize("make", library_systems().values(), ids=lambda make: make.__name__)
def test_systems_of_the_library_move_by_the_same_bits(make: Callable[[], da.System], tmp_path: Path) -> None:
    try:
        system = make()
    except TypeError:
        pytest.skip("it needs arguments")
    da.save(system, tmp_path / "m.json")
    again = da.load(tmp_path / "m.json")
    assert tree_of(again) == tree_of(system)
    one, other = (da.simulate(s, 0.002, max_step=1e-3, on_error="return") for s in (system, again))
    np.testing.assert_array_equal(one.q, other.q)
    np.testing.assert_array_equal(one.v, other.v)
