"""Linkages that several tests share."""

from __future__ import annotations

import dalembert as da


def five_bar() -> da.System:
    """Return two chains of two rods of 1.5 m, from pins A and B that are 2.5 m apart, which meet at E."""
    s = da.System("five-bar")
    a, b, c, d = (s.body(name, da.rod(1.5, 1.0)) for name in "abcd")
    s.connect("A", da.Revolute("y"), s.ground, a)
    s.connect("C", da.Revolute("y"), a.at(1.5, 0, 0), b)
    s.connect("B", da.Revolute("y"), s.ground.at(2.5, 0, 0), c)
    s.connect("D", da.Revolute("y"), c.at(1.5, 0, 0), d)
    s.connect("E", da.Revolute("y"), b.at(1.5, 0, 0), d.at(1.5, 0, 0))
    return s
