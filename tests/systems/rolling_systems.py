"""Systems whose polodes are known: a trammel and a rolling wheel."""

from __future__ import annotations

import numpy as np

import dalembert as da


def trammel(length: float = 1.0, *, angle: float = 0.3) -> da.System:
    """Return a rod whose ends slide along x and y."""
    s = da.System("trammel", gravity=(0, 0, 0))
    a, b = (s.body(name, mass=1.0, inertia=(1, 1, 1)) for name in "ab")
    rod = s.body("rod", da.rod(length, 1.0))
    s.connect("X", da.Prismatic("x"), s.ground, a)
    s.connect("Y", da.Prismatic("y"), s.ground, b)
    s.connect("P", da.Revolute("z"), a, rod)
    s.connect("Q", da.Revolute("z"), b, rod.at(length, 0, 0))
    s.initial("X", position=length * np.cos(angle))
    s.initial("Y", position=length * np.sin(angle))
    s.initial("P", position=np.pi - angle)
    s.drive("P", speed=da.Polynomial((-1.0, -0.05)))
    return s


def wheel(radius: float = 0.5) -> da.System:
    """Return a wheel that rolls along x below z = 2 radius, and its hub."""
    s = da.System("wheel", gravity=(0, 0, 0))
    hub, disc = s.body("hub", mass=1.0, inertia=(1, 1, 1)), s.body("disc", mass=1.0, inertia=(1, 1, 1))
    s.connect("X", da.Prismatic("x"), s.ground.at(0, 0, radius), hub)
    s.connect("H", da.Revolute("y"), hub, disc)
    s.connect("roll", da.Coupling(radius), "H", "X")
    s.drive("H", speed=da.Polynomial((1.0, 0.2)))
    return s
