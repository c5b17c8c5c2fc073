"""Linkages: four-bars, a five-bar, a trammel, a rolling wheel, the spatial RSCR."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import dalembert as da
from dalembert.library import mechanisms


def four_bar(
    lengths: Sequence[float],
    ground: float,
    *,
    masses: Sequence[float] | None = None,
    layer: float = 0.0,
    cut: str = "D",
    joints: Mapping[str, Mapping[str, Any]] | None = None,
    **system: Any,
) -> da.System:
    """Return crank, coupler and rocker as rods in the x-z plane, on revolute joints A, B, C, D about y.

    A joins ground and crank, B crank and coupler, C coupler and rocker, D ground, at (ground, 0, 0), and rocker, whose
    origin is at D. The library's four-bar lies in the x-y plane and is always cut at D.

    Parameters
    ----------
    lengths : three floats, m
    ground : float, m
        Distance from A to D.
    masses : three floats, kg, optional
        1 kg/m by default.
    layer : float, m
        Offset along y of each link from the one before.
    cut : str
        Joint that is connected last, and at which the loop is cut.
    joints : dict, optional
        Options of each joint.
    **system
        Options of `da.System`.
    """
    s = da.System("four-bar", **system)
    crank, coupler, rocker = (
        s.body(name, da.rod(length, mass))
        for name, length, mass in zip(("crank", "coupler", "rocker"), lengths, masses or lengths, strict=True)
    )
    ends = {
        "A": (s.ground, crank),
        "B": (crank.at(lengths[0], 0, 0), coupler.at(0, layer, 0)),
        "C": (coupler.at(lengths[1], 0, 0), rocker.at(lengths[2], layer, 0)),
        "D": (s.ground.at(ground, 0, 0), rocker),
    }
    for name in sorted(ends, key=lambda joint: joint == cut):
        s.connect(name, da.Revolute("y", **(joints or {}).get(name, {})), *ends[name])
    return s


def slaats_four_bar() -> da.System:
    """Return the four-bar of Slaats 1991, section 4.2: links 1, 2.5 and 2 m in the x-y plane, ground 2.5 m.

    The origin of the last link is at C, so that all joint angles are relative to a chain from A.
    """
    s = da.System("four-bar", gravity=(0, -9.81, 0))
    links = [s.body(f"link{i}", da.rod(x, x, radius=0.02)) for i, x in enumerate((1.0, 2.5, 2.0))]
    s.connect("A", da.Revolute("z"), s.ground, links[0])
    s.connect("B", da.Revolute("z"), links[0].at(1.0), links[1])
    s.connect("C", da.Revolute("z"), links[1].at(2.5), links[2])
    s.connect("D", da.Revolute("z"), s.ground.at(2.5), links[2].at(2.0))
    return s


def four_bar_at_60_degrees() -> da.System:
    """Return the library's four-bar with ground 4 m and links 2, 4 and 3 m, its crank at 60 degrees."""
    return mechanisms.four_bar(crank=2.0, coupler=4.0, rocker=3.0, ground=4.0, angle=math.radians(60))


def driven_four_bar() -> da.System:
    """Return the four-bar of `four_bar_at_60_degrees` with its crank driven at 1 rad/s."""
    s = four_bar_at_60_degrees()
    s.drive("A", position=da.Polynomial((math.radians(60), 1.0)))
    return s


def four_bar_with_parameters(crank: float = 0.1) -> da.System:
    """Return a four-bar whose crank length is a named parameter that enters lengths, masses, damping and a spring."""
    s = da.System("four-bar")
    return _of_crank_length(s, s.parameter("crank", crank, unit="m", meaning="from pin to pin"))


def four_bar_with_numbers(crank: float) -> da.System:
    """Return the four-bar of `four_bar_with_parameters` without parameters."""
    return _of_crank_length(da.System("four-bar"), crank)


def _of_crank_length(s: da.System, crank: Any) -> da.System:
    first = s.body("first", da.rod(length=crank, mass=3 * crank))
    coupler = s.body("coupler", da.rod(0.3, 2.0))
    rocker = s.body("rocker", da.box(0.2, 0.05, crank / 2, density=1000.0))
    s.connect("A", da.Revolute("y", damping=0.1 * crank), s.ground, first)
    s.connect("B", da.Revolute("y"), first.at(crank, 0, 0), coupler)
    s.connect("D", da.Revolute("y"), s.ground.at(0.25, 0, 0), rocker.at(-0.1, 0, 0))
    s.connect("C", da.Revolute("y"), coupler.at(0.3, 0, 0), rocker.at(0.1, 0, 0))
    s.connect("k", da.SpringDamper(200.0 * crank**2, 0.1, np.sqrt(crank)), s.ground.at(0, 0, 1), coupler)
    s.initial("A", position=-1.0)
    return s


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


def marked_four_bar() -> da.System:
    s = four_bar_at_60_degrees()
    s["crank"].marker("1", 2.0, 0, 0)
    s["coupler"].marker("2", 4.0, 0, 0)
    return s


def rscr() -> da.System:
    """Return example 3.3 of Garcia de Jalon and Bayo; body frames are parallel to the world when assembled."""
    psi = 0.9
    r1, r2, B = np.array([math.cos(psi), math.sin(psi), 0.0]), np.array([1.2, 2.4, 1.0]), np.array([3.0, 0.5, 0.2])
    u1 = np.array([1.0, -0.2, 0.3]) / np.linalg.norm([1.0, -0.2, 0.3])
    s = da.System("RSCR")
    crank, rod, rocker = (s.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in ("crank", "rod", "rocker"))
    crank.marker("1", *r1)
    rod.marker("1", 0, 0, 0)
    rod.marker("2", *(r2 - r1))
    rod.marker("tip", *(r2 - r1 + u1))  # r2 + u1
    rocker.marker("3", *(r2 + 1.1 * u1 - B))
    s.connect("R1", da.Revolute("z"), s.ground, crank)
    s.connect("S", da.Spherical(), crank.markers["1"], rod)
    s.connect("C", da.Cylindrical(u1), rod.markers["2"], rocker.at(*(r2 - B)))
    s.connect("R2", da.Revolute("y"), s.ground.at(*B), rocker)
    return s


def bar_chain(points: list[tuple[float, float]], *, closed: bool) -> da.System:
    """Bars without mass from point to point, the first and, if closed, the last point on ground."""
    s = da.System("chain")
    before, last = s.ground.at(*points[0], 0), 0.0
    for k, (tail, tip) in enumerate(pairwise(points), start=1):
        angle = math.atan2(tip[1] - tail[1], tip[0] - tail[0])
        bar = s.body(f"bar{k}")
        s.connect(f"J{k}", da.Revolute("z"), before, bar)
        s.initial(f"J{k}", position=angle - last)
        last, before = angle, bar.at(math.dist(tail, tip), 0, 0)
    if closed:
        s.connect("end", da.Revolute("z"), before, s.ground.at(*points[-1], 0))
    return s


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
