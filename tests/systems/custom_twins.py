"""Joints and constraints of the library written as custom ones, for tests that compare both."""

from __future__ import annotations

import math

import numpy as np

import dalembert as da
from dalembert.connections.joints.joint import frame_with_z

FAR = "0.3 + 0.2*a**2", "sin(b) - a", "a*b + 0.4*cos(a)"


def revolute(joint: da.Revolute) -> da.CustomJoint:
    """Return a revolute joint as a custom one."""
    return da.CustomJoint(("angle",), None, [(joint.axis, "angle")])


def cylindrical(joint: da.Cylindrical) -> da.CustomJoint:
    """Return a cylindrical joint as a custom one, its rotation as a rotation vector."""
    n = [repr(float(x)) for x in joint.axis]
    return da.CustomJoint(("angle", "slide"), [f"{x}*slide" for x in n], [f"{x}*angle" for x in n])


def screw(joint: da.Screw) -> da.CustomJoint:
    """Return a screw as a custom joint."""
    n = [repr(float(x)) for x in joint.axis]
    return da.CustomJoint(
        ("angle",), [f"{x}*h*angle" for x in n], [(joint.axis, "angle")], {"h": joint.pitch / (2 * math.pi)}
    )


def universal(joint: da.Universal) -> da.CustomJoint:
    """Return a universal joint as a custom joint."""
    return da.CustomJoint(("angle_1", "angle_2"), None, [(joint.axis_1, "angle_1"), (joint.axis_2, "angle_2")])


def planar(joint: da.Planar) -> da.CustomJoint:
    """Return a planar joint as a custom one."""
    X, Y, _ = frame_with_z(joint.normal).T
    place = [f"{u!r}*x + {v!r}*y" for u, v in zip(X.tolist(), Y.tolist(), strict=True)]
    return da.CustomJoint(("x", "y", "angle"), place, [(joint.normal, "angle")])


def prismatic(joint: da.Prismatic) -> da.CustomJoint:
    """Return a prismatic joint as a custom one, by a Python function."""
    n = np.asarray(joint.axis)

    def slide(slide):  # type: ignore[no-untyped-def]
        return slide * n, np.eye(3)

    return da.CustomJoint(("slide",), slide)


TWINS = {
    da.Revolute: revolute,
    da.Cylindrical: cylindrical,
    da.Screw: screw,
    da.Universal: universal,
    da.Planar: planar,
    da.Prismatic: prismatic,
}
"""How to write each joint of the library as a custom one with the same coordinates."""


def twin(system: da.System) -> da.System:
    """Return a system with every joint that has a twin replaced by it."""
    new = system.copy()
    for name, connection in system.connections.items():
        write = TWINS.get(type(connection.element))
        if write is not None:
            old = new.connections[name]
            new.connections[name] = type(old)(name, write(connection.element), old.first, old.second)
    return new
