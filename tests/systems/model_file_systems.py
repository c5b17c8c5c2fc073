"""Systems that use every feature of model files, and a small URDF robot."""

from __future__ import annotations

import numpy as np

import dalembert as da
import dalembert.library


def system_of_expressions() -> da.System:
    """Return a system with expressions wherever they may stand."""
    s = da.System("everywhere")
    a, odd = s.parameter("a", 0.5), s.parameter("odd name", 2.0, unit="kg", meaning="of the bob")
    s.gravity = (0, 0, -9.81 * a)
    arm = s.body("arm", da.rod(length=a, mass=odd))
    arm.marker("tip", a, 0, -a / 3)
    case = s.body("case", mass=odd * a, com=(a, 0, 0.1), inertia=(a, 1.0, 1 + a))
    bob = s.body("bob", da.sphere(0.1), mass=odd)
    hull = s.body("hull", mass=1.0, com=(0, 0, 0), inertia=[[2.0, 0.1 * a, 0], [0.1 * a, 2.0, 0], [0, 0, a + 2]])
    s.connect("A", da.Revolute("y", damping=0.1 * a**2, lower=-a, upper=3.0), s.ground, arm)
    s.connect("C", da.Cylindrical("z", damping=(a, 0.2)), "arm.tip", case)
    s.connect("S", da.Screw("x", pitch=a / 10), case.at(a, 0, 0), bob)
    s.connect("P", da.Planar("z"), s.ground, hull)
    s.connect("bar", da.Distance(np.sqrt(a * a + 4.0)), s.ground.at(0, 2, 0), hull)
    s.connect("k", da.SpringDamper(100 * a, 0.1, np.arctan(a)), bob, hull)
    s.connect("t", da.TorsionSpring(np.exp(a), rest=np.sin(a)), "A")
    s.connect("gear", da.Coupling(-a, a / 7), "A", "C.angle")
    s.connect("push", da.Load(force=(a, da.Harmonic(a, 2.0, phase=a), 0)), bob)
    law = da.Element("joint", "-k*s**3 - u*ds", {"k": 4 * a}, energy="k*s**4/4", inputs={"u": a / 100})
    s.connect("law", law, "A")
    s.connect("maxwell", da.Maxwell(10 * a, 1.0 + a), "A")
    s.drive("P.x", position=da.Polynomial((0.0, a, 0.1)))
    return s


def system_of_all_families() -> da.System:
    """Return a system with something of every family."""
    s = da.System("everything", gravity=(0, 1.0, -9.81))
    s.ground.marker("post", 1.0, 0, 0, rotation=da.rotation.axis_angle("y", 0.3))
    arm = s.body("arm", da.rod(length=1.0, mass=2.0, radius=0.05))
    arm.marker("tip", 1.0, 0, 0)
    case = s.body("case 1", mass=3.0, com=(0.1, 0, 0.2), inertia=[[2.0, 0.1, 0], [0.1, 2.0, 0], [0, 0, 1.0]])
    wheel = s.body("wheel", da.cylinder(0.1, 0.3, density=700.0))
    dot = s.body("dot", da.sphere(0.1, 0.5))
    friction = da.LoadFriction(0.2, radius=0.01)
    joint = da.Revolute((1.0, 2.0, 0.5), lower=-1.0, upper=2.0, damping=0.1, armature=0.01, load_friction=friction)
    s.connect("A", joint, "ground.post", arm)
    s.connect("S", da.Spherical(), arm.at(0.5, 0, 0), case)
    s.connect("W", da.Cylindrical("z"), "arm.tip", wheel)
    s.connect("F", da.Free(), s.ground, dot)
    s.connect("rope", da.Cable(500.0, 0.8, damping=3.0), dot, case.at(0.1, 0.2, 0.3))
    s.connect("floor", da.PointPlaneContact(1e4, friction=0.3), s.ground.at(0, 0, -5), dot)
    s.connect("k", da.TorsionSpring(7.0, 0.5), "A")
    s.connect("push", da.Load(force=(0, da.Harmonic(2.0, 3.0), 1.0)), dot)
    law = da.Element(
        "joint", "-k*s**3 + f(t)*u", {"k": 4.0}, energy="k*s**4/4", inputs={"u": da.Ramp(0.0, 1.0, 2.0)},
        tables={"f": da.Table([0.0, 1.0, 2.0], values=[0.0, 1.0, 4.0], kind="linear", outside="hold")},
    )  # fmt: skip
    s.connect("law", law, "A")
    s.connect("gear", da.Coupling(-0.5, 0.1), "A", "W.angle")
    s.drive("S", rotation=da.BryantAngles(da.Polynomial((0.0, 0.2)), 0.1, da.Harmonic(0.3, 2.0)))
    s.initial("A", position=0.2, speed=1.0)
    s.initial("W.slide", speed=0.3)
    s.place("dot", position=(0, 0, 3.0), velocity=(1.0, 0, 0))
    return s


URDF = (
    '<robot name="r"><link name="a"/><link name="b"><inertial><origin xyz="0 0 -1"/><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    '<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/></joint></robot>'
)
