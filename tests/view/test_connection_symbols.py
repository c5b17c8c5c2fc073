"""Every connection has a look, in drawings as in scenes."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from systems.contacts.tyres import PASSENGER_CAR

import dalembert as da
from dalembert.connections import constraints, elements, joints as joints
from dalembert.view.scene import solids
from dalembert.view.scene.projection import Placement
from dalembert.view.scene.scene import Scene
from dalembert.view.scene.solid_parts import parts_of
from dalembert.view.scene.symbol_shapes import PATCHES, symbol_shape
from dalembert.view.web.scenes import scene_of_system

_CIRCLE = np.linspace(0.0, 2 * np.pi, 40)
_CAM = np.column_stack(
    [(0.25 + 0.08 * np.cos(_CIRCLE)) * np.cos(_CIRCLE), (0.25 + 0.08 * np.cos(_CIRCLE)) * np.sin(_CIRCLE)]
)
_OIL = {"viscosity": 0.05, "pressure_coefficient": 2e-8, "shear_stress": 5e6}


def two(element: Any, *, first: Any = (0, 0, 0), second: Any = (0, 0, 0), apart: float = 0.6) -> da.System:
    """Return a system in which an element acts between ground and a box that hangs free."""
    s = da.System(getattr(element, "kind", "two"))
    box = s.body("box", da.box(0.2, 0.15, 0.1, mass=1.0))
    s.connect("free", da.Free(), s.ground.at(0, 0, -apart), box)
    ends = (box.at(*second),) if isinstance(element, da.Load) else (s.ground.at(*first), box.at(*second))
    s.connect("it", element, *ends)
    return s


def jointed(joint: Any, element: Any = None) -> da.System:
    """Return a system with one joint, and an element at it."""
    s = da.System(type(element or joint).__name__)
    box = s.body("box", da.box(0.4, 0.06, 0.06, mass=1.0))
    at = box.at(-0.2, 0, 0)
    s.connect("joint" if element else "it", joint, s.ground, at)
    if element is not None:
        s.connect("it", element, "joint")
    return s


def rolling(element: Any, height: float = 0.2) -> da.System:
    s = da.System(element.kind)
    body = s.body("body", da.box(0.1, 0.1, 0.1, mass=1.0))
    s.connect("free", da.Free(), s.ground.at(0, 0, height), body)
    s.connect("it", element, s.ground, body)
    return s


def cam(element: Any, out: float) -> da.System:
    s = da.System(element.kind, gravity=(0, -9.81, 0))
    disc = s.body("disc", mass=1.0, inertia=(0.1, 0.1, 0.1))
    follower = s.body("follower", da.box(0.06, 0.3, 0.06, mass=0.5))
    s.connect("shaft", da.Revolute("z"), s.ground, disc)
    s.connect("guide", da.Prismatic("y"), s.ground.at(0, out, 0), follower)
    tip = follower.at(0, -0.15, 0)
    s.connect("it", element, disc, tip)
    return s


def routed(element: Any) -> da.System:
    s = da.System("routed", gravity=(0, -9.81, 0))
    bob = s.body("bob", mass=1.0, inertia=(0.1, 0.1, 0.1))
    s.connect("guide", da.Prismatic("y"), s.ground.at(0.6, 0, 0), bob)
    s.connect("it", element, s.ground, s.ground.at(0.3, 0, 0), bob)
    return s


def meshing(element: Any) -> da.System:
    s = da.System("meshing", gravity=(0, -9.81, 0))
    one, two = (s.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in ("one", "two"))
    s.connect("A", da.Revolute("z"), s.ground, one)
    s.connect("B", da.Revolute("z"), s.ground.at(element.center_distance, 0, 0), two)
    s.connect("it", element, s.ground, one, two)
    return s


def bevel(element: Any) -> da.System:
    s = da.System("bevel", gravity=(0, -9.81, 0))
    one, two = (s.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in ("one", "two"))
    s.connect("A", da.Revolute("z"), s.ground, one)
    s.connect("B", da.Revolute("z"), s.ground.at(rotation=("y", np.pi / 2)), two)
    s.connect("it", element, s.ground, one, two)
    return s


def belted(element: Any, framed: bool = True) -> da.System:
    s = da.System("belted", gravity=(0, -9.81, 0))
    one, two = (s.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in ("one", "two"))
    s.connect("A", da.Revolute("z"), s.ground, one)
    s.connect("B", da.Revolute("z"), s.ground.at(0.6, 0, 0), two)
    s.connect("it", element, *([s.ground] if framed else []), one, two)
    return s


def hauled(element: Any) -> da.System:
    s = da.System("hauled", gravity=(0, -9.81, 0))
    sheave, bob = (s.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in ("sheave", "bob"))
    s.connect("A", da.Revolute("z"), s.ground, sheave)
    s.connect("guide", da.Prismatic("y"), s.ground.at(0.1, -0.5, 0), bob)
    s.connect("it", element, s.ground, s.ground.at(-0.1, -0.5, 0), sheave, bob)
    return s


def coupled(element: Any, second: Any, apart: tuple[float, float, float] = (0.6, 0, 0)) -> da.System:
    s = da.System("coupled", gravity=(0, -9.81, 0))
    one, two = (s.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in ("one", "two"))
    s.connect("A", da.Revolute("z"), s.ground, one)
    s.connect("B", second, s.ground.at(*apart), two)
    s.connect("it", element, "A", "B")
    return s


_SPIN, _SLIDE = da.Revolute("y"), da.Prismatic("x")
_PENDULUM = {"x": "x", "y": "y"}
SYSTEMS: dict[str, Callable[[], da.System]] = {
    # joints
    "Revolute": lambda: jointed(da.Revolute("y", lower=-0.6, upper=1.1)),
    "Prismatic": lambda: jointed(da.Prismatic("x", lower=-0.3, upper=0.5)),
    "Screw": lambda: jointed(da.Screw("x", 0.05)),
    "Cylindrical": lambda: jointed(da.Cylindrical("x")),
    "Spherical": lambda: jointed(da.Spherical()),
    "Universal": lambda: jointed(da.Universal("x", "y")),
    "Planar": lambda: jointed(da.Planar("y")),
    "Fixed": lambda: jointed(da.Fixed()),
    "CustomJoint": lambda: jointed(da.CustomJoint(("a",), ("0.2*cos(a)", "0.2*sin(a)", "0"))),
    # constraints
    "AxisAngle": lambda: two(constraints.AxisAngle("x", "y")),
    "Parallel": lambda: two(constraints.Parallel("z")),
    "Perpendicular": lambda: two(constraints.Perpendicular("x", "y")),
    "Distance": lambda: two(da.Distance(0.6)),
    "Rope": lambda: two(da.Rope(0.6)),
    "KinematicChain": lambda: two(da.KinematicChain([da.Spherical(), da.bar(0.6), da.Spherical()])),
    "PointOnPoint": lambda: two(constraints.PointOnPoint(), second=(0, 0, 0.6)),
    "PointOnLine": lambda: two(constraints.PointOnLine("z")),
    "PointOnPlane": lambda: two(constraints.PointOnPlane("x")),
    "PointOnCurve": lambda: two(constraints.PointOnCurve(da.constraints.Curve(
        np.column_stack([0.6 * np.cos(_CIRCLE), 0 * _CIRCLE, 0.6 * np.sin(_CIRCLE)]), closed=True))),
    "CustomConstraint": lambda: two(da.CustomConstraint("z + 0.6")),
    "PfaffianConstraint": lambda: two(constraints.PfaffianConstraint("vy")),
    "RollingDisc": lambda: rolling(constraints.RollingDisc(0.2)),
    "RollingSphere": lambda: rolling(constraints.RollingSphere(0.2)),
    "KnifeEdge": lambda: rolling(constraints.KnifeEdge("y"), 0.05),
    "CamFollower": lambda: cam(constraints.CamFollower(_CAM, "roller", 0.06), 0.6),
    "RollingCam": lambda: cam(constraints.RollingCam(_CAM, 0.06), 0.6),
    # couplings
    "Coupling": lambda: coupled(constraints.gear(20, 40), da.Revolute("z")),
    "belt": lambda: coupled(constraints.belt(0.1, 0.2), da.Revolute("z")),
    "crossed belt": lambda: coupled(constraints.belt(0.1, 0.2, crossed=True), da.Revolute("z")),
    "rack_and_pinion": lambda: coupled(constraints.rack_and_pinion(0.15), da.Prismatic("x"), (0.0, -0.15, 0)),
    "screw_coupling": lambda: coupled(constraints.screw_coupling(0.05), da.Prismatic("x")),
    "CustomCoupling": lambda: coupled(constraints.CustomCoupling("s2 - 0.3*sin(s1)"), da.Prismatic("x")),
    # springs and their kin, between markers and at joints
    "SpringDamper": lambda: two(da.SpringDamper(100.0, 1.0, 0.5)),
    "JointSpring": lambda: jointed(_SLIDE, da.JointSpring(10.0, 1.0)),
    "TorsionSpring": lambda: jointed(_SPIN, da.TorsionSpring(10.0)),
    "NonlinearSpring": lambda: two(elements.NonlinearSpring([10.0, 0, 3.0], rest=0.5, measure="distance")),
    "KelvinVoigt": lambda: two(elements.KelvinVoigt(10.0, 1.0, rest=0.5, measure="distance")),
    "Maxwell": lambda: two(elements.Maxwell(10.0, 1.0, measure="distance")),
    "Zener": lambda: two(elements.Zener(10.0, 5.0, 1.0, rest=0.5, measure="distance")),
    "GeneralizedMaxwell": lambda: jointed(_SPIN, elements.GeneralizedMaxwell(10.0, [(5.0, 1.0)])),
    "BumpStop": lambda: two(elements.BumpStop(100.0, 0.4)),
    "GasSpring": lambda: two(elements.GasSpring(2e5, 1e-3, 1e-3, rest=0.6)),
    "HydraulicSpring": lambda: two(elements.HydraulicSpring(1e-3, 1e-3, rest=0.6)),
    "HydraulicCylinder": lambda: two(elements.HydraulicCylinder(0.0, 0.0, 1e-3, 5e-4, (0.3, 0.9))),
    "PneumaticCylinder": lambda: two(elements.PneumaticCylinder(0, 0, 1e-3, 5e-4, (0.3, 0.9))),
    "Cable": lambda: two(elements.Cable(100.0, 0.5)),
    "Ligament": lambda: two(elements.Ligament(100.0, 0.5)),
    "MillardMuscle": lambda: two(elements.MillardMuscle(0.5, 100.0, 0.3, 0.3)),
    "HillMuscle": lambda: two(elements.HillMuscle(0.5, 100.0, 0.6)),
    "ElasticBar": lambda: two(elements.ElasticBar(100.0, 0.6)),
    "BeamElement": lambda: two(elements.BeamElement(0.6, axial=100.0, bending=1.0)),
    "Bushing": lambda: two(elements.Bushing([100.0] * 6), second=(0, 0, 0.5)),
    "Limits": lambda: jointed(_SPIN, elements.Limits(-0.5, 0.9, 100.0)),
    # contacts, films, friction
    "PointPlaneContact": lambda: rolling(elements.PointPlaneContact(1e4), 0.05),
    "SpherePlaneContact": lambda: rolling(elements.SpherePlaneContact(0.2, 1e4)),
    "CylinderPlaneContact": lambda: rolling(elements.CylinderPlaneContact(0.3, 0.2, 1e4)),
    "SphereSphereContact": lambda: two(elements.SphereSphereContact(0.3, 0.25, 1e4)),
    "JournalBearing": lambda: two(elements.JournalBearing(0.2, 0.01, 0.2, 0.02), apart=0.0),
    "TractionFilm": lambda: two(elements.TractionFilm(0.3, 0.2, 0.1, load=10.0, **_OIL), apart=0.0, first=(-0.5, 0, 0)),
    "AlongPath": lambda: routed(elements.AlongPath(elements.Cable(1e3, 0.7), ["point", da.WrapCylinder(0.1), "point"])),
    "PulleyRope": lambda: hauled(elements.PulleyRope(["point", da.Pulley(0.1, -1), "point"], 1e3, 1.2)),
    "BeltDrive": lambda: belted(elements.BeltDrive([da.Pulley(0.1), da.Pulley(0.2)], 1e3, 2.0)),
    "ChainDrive": lambda: belted(elements.ChainDrive([da.Sprocket(11, 0.05), da.Sprocket(17, 0.05)], 1e4, 38)),
    "CamContact": lambda: cam(elements.CamContact(_CAM, "roller", 1e5, radius=0.06), 0.6),
    "Ratchet": lambda: jointed(_SPIN, elements.Ratchet(100.0, 0.3)),
    "GenevaContact": lambda: belted(elements.GenevaContact(4, 0.6, 1e5), framed=False),
    "GearMesh": lambda: meshing(elements.GearMesh((20, 60), 0.02, 1e6)),
    "BevelMesh": lambda: bevel(elements.BevelMesh((20, 60), 0.5, 1e6)),
    "BrushTyre": lambda: rolling(
        elements.BrushTyre(0.2, 1e4, load=1.0, longitudinal=1.0, cornering=1.0, friction=1.0)
    ),
    "MagicFormulaTyre": lambda: rolling(elements.MagicFormulaTyre(PASSENGER_CAR, relaxation=0.3)),
    "CoulombFriction": lambda: jointed(_SPIN, elements.CoulombFriction(1.0)),
    "StribeckFriction": lambda: jointed(_SPIN, elements.StribeckFriction(2.0, 1.0, 0.1)),
    "LuGreFriction": lambda: jointed(_SPIN, elements.LuGreFriction(2.0, 1.0, 0.1, bristle_stiffness=100.0)),
    "JointFriction": lambda: jointed(_SPIN, elements.JointFriction("joint", 0.1, radius=0.02, axis="y")),
    # motors, loads, fields, laws
    "Effort": lambda: jointed(_SPIN, da.Effort(2.0)),
    "Load": lambda: two(da.Load((0, 0, -10.0), (0, 2.0, 0))),
    "DCMotor": lambda: jointed(_SPIN, elements.DCMotor(12.0, 1.0, 0.1, 0.01)),
    "GearMotor": lambda: jointed(_SPIN, elements.GearMotor(
        12.0, 1.0, 0.1, 0.01, rotor_inertia=1e-5, ratio=10.0, stiffness=100.0)),
    "PositionServo": lambda: jointed(_SPIN, elements.PositionServo(0.5, 10.0)),
    "VelocityServo": lambda: jointed(_SPIN, elements.VelocityServo(0.5, 10.0)),
    "StateSpace": lambda: jointed(_SPIN, elements.StateSpace([[-1.0]], [[1.0]], [[1.0]], [[0.0]])),
    "TransferFunction": lambda: jointed(_SPIN, elements.TransferFunction([1.0], [1.0, 1.0])),
    "Drag": lambda: two(elements.Drag(1.0)),
    "Field": lambda: two(elements.Field(("-x", "-y", "-z"))),
    "InverseSquare": lambda: two(elements.InverseSquare(1.0)),
    "Element": lambda: two(da.Element("distance", "-k*s", {"k": 1.0})),
    "Compound": lambda: two(elements.Compound(
        ("a", "b"),
        {"spring": (da.Element("distance", "-k*(s - 0.3)", {"k": 50.0}), "a", "n"),
         "damper": (da.Element("distance", "-c*ds", {"c": 5.0}), "n", "b")},
        nodes={"n": ("line", 0.3)})),
}  # fmt: skip
# names that are no connections, or that move without a trace: a free joint, and signals
_NOTHING = {
    "Free", "Joint", "Constraint", "ForceElement", "ForceConnection", "CoordinateConnection", "LoadFriction", "Arc",
    "Line", "Curve", "Offset", "SignalBlock", "Delay", "Reaction", "Road", "Sensor", "Table", "TyreData",
    "WrapCylinder", "WrapSphere", "Pulley", "Sprocket", "Mimic", "PIDController", "StateFeedback",
    "ProportionalValve", "HydraulicSupply",
}  # fmt: skip


def test_every_public_connection_is_looked_at() -> None:
    public = {
        name
        for room in (joints, constraints, elements)
        for name in room.__all__
        if inspect.isclass(getattr(room, name)) and name not in _NOTHING
    }
    assert public - set(SYSTEMS) == set()


def _shown(system: da.System) -> set[str]:
    model = system.compile()
    scene = Scene(model)
    placement = Placement.of(model, model.initial_state().q)
    low, high = scene.reach([placement])
    owners = {part.owner.partition(".")[0] for part in parts_of(scene, low, high)}
    return owners | {figure.name.partition(".")[0] for figure in (*scene.lines, *scene.arrows)}


@pytest.mark.parametrize("kind", SYSTEMS)
def test_a_connection_has_a_look_in_scenes_and_drawings(kind: str) -> None:
    system = SYSTEMS[kind]()
    assert "it" in _shown(system)
    model = system.compile()
    _, scene = scene_of_system(system, model.initial_state().q)
    owners = {part["owner"] for part in scene["rigid"]} | {line["name"].partition(".")[0] for line in scene["lines"]}
    assert "it" in owners | {arrow["name"] for arrow in scene["arrows"]}


@pytest.mark.parametrize("look", PATCHES)
def test_patches_are_as_large_as_they_say(look: str) -> None:
    """Symbols scale with joints, what has a size of its own does not."""
    s = two(da.SpringDamper(1.0))
    from dalembert.view.scene.attachments import Attachment
    from dalembert.view.scene.figures import PatchFigure

    end = Attachment.of(s.compile(), s["box"].origin)
    outline = 0.3 * np.column_stack([np.cos(_CIRCLE), np.sin(_CIRCLE)]) if look in ("cam", "wheel") else None
    solid = solids.ball(0.3) if look in ("land", "obstacle") else None
    patch = PatchFigure("it", look, end, np.eye(3), (0.3, 0.2), (-0.2, 0.2), outline, solid=solid)
    sizes = []
    for r in (0.01, 0.02):
        found = symbol_shape(patch, r, 1.0)
        cloud = np.concatenate([solid.corners for solid in found.solids] + found.strokes)
        assert np.isfinite(cloud).all()
        sizes.append(float(np.abs(cloud[:, :2]).max()))
    if look in ("sphere", "disc", "roller", "wheel", "cam", "pitch"):
        assert sizes == pytest.approx([0.3, 0.3], rel=1e-9)


def test_a_spring_at_a_slide_has_a_length_where_it_rests() -> None:
    """Where its markers are together then, it is drawn from behind the body."""
    for rest, length in ((0.0, 0.4), (0.9, 0.0)):
        model = jointed(_SLIDE, da.JointSpring(10.0, 1.0, rest)).compile()
        placement = Placement.of(model, np.zeros(1))
        (spring,) = Scene(model).lines
        along = spring.second.point(placement) - spring.first.point(placement)
        np.testing.assert_allclose(along, [length, 0, 0], atol=1e-12)


def test_ends_of_a_slide_are_in_the_picture_unless_they_are_far_away() -> None:
    for upper, seen in ((0.5, 0.5), (50.0, 0.4)):
        model = jointed(da.Prismatic("x", lower=-0.3, upper=upper)).compile()
        low, high = Scene(model).reach([Placement.of(model, np.zeros(1))])
        assert (low[0], high[0]) == pytest.approx((-0.3, seen))


def test_joints_in_bodies_are_seen_through_them_and_planes_are_not() -> None:
    system = rolling(elements.PointPlaneContact(1e4), 0.05)
    _, scene = scene_of_system(system, system.compile().initial_state().q)
    shining = {part["color"]: bool(part.get("shines")) for part in scene["rigid"] if part["kind"] == "element"}
    assert shining == {PATCHES["plane"][0]: False, PATCHES["knot"][0]: True}


def test_a_blade_stands_on_its_edge() -> None:
    model = rolling(constraints.KnifeEdge("y"), 0.05).compile()
    (blade,) = Scene(model).patches
    np.testing.assert_allclose(np.abs(blade.axes[:, 0]), [1, 0, 0], atol=1e-12)


@pytest.mark.parametrize(("moment", "way"), [(2.0, -1.0), (-2.0, 1.0)])
def test_a_moment_across_a_drawing_turns_the_way_it_does(moment: float, way: float) -> None:
    """The reader looks along y, about which a positive moment turns to the right."""
    ax = two(da.Load(moment=(0, moment, 0))).draw(view="xz")
    (arrows,) = [each for each in ax.collections if each.get_gid() == "loads"]
    (outline,) = [path.vertices for path in arrows.get_paths()]
    off = outline - [0.0, -0.6]
    angle = np.unwrap(np.arctan2(off[:30, 1], off[:30, 0]))
    assert np.sign(angle[-1] - angle[0]) == way
