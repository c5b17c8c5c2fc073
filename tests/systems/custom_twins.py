"""Hinges and constraints of the library written as custom ones, for tests that compare both."""

from __future__ import annotations

import math

import numpy as np

import dalembert as da
from dalembert.connections.joints.joint import frame_with_z

FAR = "0.3 + 0.2*a**2", "sin(b) - a", "a*b + 0.4*cos(a)"


def revolute(hinge: da.Revolute) -> da.CustomHinge:
    """Return a revolute hinge as a custom one."""
    return da.CustomHinge(("angle",), None, [(hinge.axis, "angle")])


def cylindrical(hinge: da.Cylindrical) -> da.CustomHinge:
    """Return a cylindrical hinge as a custom one, its rotation as a rotation vector."""
    n = [repr(float(x)) for x in hinge.axis]
    return da.CustomHinge(("angle", "slide"), [f"{x}*slide" for x in n], [f"{x}*angle" for x in n])


def screw(hinge: da.Screw) -> da.CustomHinge:
    """Return a screw as a custom hinge."""
    n = [repr(float(x)) for x in hinge.axis]
    return da.CustomHinge(
        ("angle",), [f"{x}*h*angle" for x in n], [(hinge.axis, "angle")], {"h": hinge.pitch / (2 * math.pi)}
    )


def universal(hinge: da.Universal) -> da.CustomHinge:
    """Return a universal joint as a custom hinge."""
    return da.CustomHinge(("angle_1", "angle_2"), None, [(hinge.axis_1, "angle_1"), (hinge.axis_2, "angle_2")])


def planar(hinge: da.Planar) -> da.CustomHinge:
    """Return a planar hinge as a custom one."""
    X, Y, _ = frame_with_z(hinge.normal).T
    place = [f"{u!r}*x + {v!r}*y" for u, v in zip(X.tolist(), Y.tolist(), strict=True)]
    return da.CustomHinge(("x", "y", "angle"), place, [(hinge.normal, "angle")])


def prismatic(hinge: da.Prismatic) -> da.CustomHinge:
    """Return a prismatic hinge as a custom one, by a Python function."""
    n = np.asarray(hinge.axis)

    def slide(slide):  # type: ignore[no-untyped-def]
        return slide * n, np.eye(3)

    return da.CustomHinge(("slide",), slide)


TWINS = {
    da.Revolute: revolute,
    da.Cylindrical: cylindrical,
    da.Screw: screw,
    da.Universal: universal,
    da.Planar: planar,
    da.Prismatic: prismatic,
}
"""How to write each hinge of the library as a custom one with the same coordinates."""


def twin(system: da.System) -> da.System:
    """Return a system with every hinge that has a twin replaced by it."""
    new = system.copy()
    for name, connection in system.connections.items():
        write = TWINS.get(type(connection.element))
        if write is not None:
            old = new.connections[name]
            new.connections[name] = type(old)(name, write(connection.element), old.first, old.second)
    return new
