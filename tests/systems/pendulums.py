"""Pendulums and open chains of rods."""

from __future__ import annotations

from typing import Any

import dalembert as da


def rod_pendulum(*, mass: float = 2.0, gravity: Any = (0, 0, -9.81), **joint: Any) -> da.System:
    """Return a rod "bob" of 1 m along x on a revolute joint "A" about y; `joint`: options of the joint."""
    s = da.System("pendulum", gravity=gravity)
    s.connect("A", da.Revolute("y", **joint), s.ground, s.body("bob", da.rod(length=1.0, mass=mass)))
    return s


def sprung_pendulum(*, stiffness: float = 10.0, **joint: Any) -> da.System:
    """Return the rod pendulum with a torsion spring "k" at its joint; stiffness in N m/rad."""
    s = rod_pendulum(**joint)
    s.connect("k", da.TorsionSpring(stiffness=stiffness), "A")
    return s


def rod_chain(links: int, *, length: float = 1.0, mass: float = 1.0, **joint: Any) -> da.System:
    """Return rods "b0", "b1", ... in series on revolute joints "j0", "j1", ... about y; lengths in m, masses in kg."""
    s = da.System("chain")
    end: Any = s.ground
    for k in range(links):
        body = s.body(f"b{k}", da.rod(length, mass))
        s.connect(f"j{k}", da.Revolute("y", **joint), end, body)
        end = body.at(length, 0, 0)
    return s
