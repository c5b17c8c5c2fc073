"""Systems with many coupled loops: scissors, pin-jointed grids, nets with ball joints, lattices, wheels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

import dalembert as da


def rod(s: da.System, name: str, p: ArrayLike, q: ArrayLike, mass: float = 1.0, thick: float = 0.0) -> da.Body:
    """Add a slender rod between two points of the world, axes of its frame along those of the world.

    thick: moments of inertia added per mass, m2.
    """
    p, q = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    d = q - p
    inertia = mass / 12 * (d @ d * np.eye(3) - np.outer(d, d)) + thick * mass * np.eye(3)
    return s.body(name, mass=mass, com=(p + q) / 2, inertia=inertia)


def _pin(s: da.System, name: str, a: da.Body, b: da.Body, at: ArrayLike) -> None:
    at = np.asarray(at, dtype=float)
    s.connect(name, da.Revolute("y"), a.at(*at), b.at(*at))


def scissor(n: int, angle: float = 0.6) -> da.System:
    """Scissor of n cells: rods of length 1 m, a pin on the ground, a slider of 0.1 kg along z at the other end."""
    s = da.System(gravity=(0, 0, -9.81))
    c, h = np.cos(angle), np.sin(angle)
    before: tuple[da.Body, da.Body] | None = None
    for i in range(n):
        x = i * c
        a = rod(s, f"a{i}", (x, 0, 0), (x + c, 0, h))
        b = rod(s, f"b{i}", (x, 0, h), (x + c, 0, 0))
        _pin(s, f"m{i}", a, b, (x + c / 2, 0, h / 2))
        if before is None:
            _pin(s, "foot", s.ground, a, (0, 0, 0))
            slider = s.body("slider", mass=0.1, com=(0, 0, h), inertia=1e-3 * np.eye(3))
            s.connect("slide", da.Prismatic("z"), s.ground.at(0, 0, h), slider.at(0, 0, h))
            _pin(s, "head", slider, b, (0, 0, h))
        else:
            _pin(s, f"u{i}", before[0], b, (x, 0, h))
            _pin(s, f"l{i}", before[1], a, (x, 0, 0))
        before = a, b
    return s


def grid(k: int, skew: float = 0.2, braced: float = 0.0, seed: int = 0, light: tuple[str, ...] = ()) -> da.System:
    """k x k cells of rods with pins at the nodes, one pin to the ground; a part of the cells has both diagonals.

    light: rods without mass.
    """
    s = da.System(gravity=(0, 0, -9.81))
    rng = np.random.default_rng(seed)
    first: dict[tuple[int, int], da.Body] = {}

    def place(p: tuple[int, int]) -> tuple[float, float, float]:
        return p[0] + p[1] * np.sin(skew), 0.0, p[1] * np.cos(skew)

    def add(p: tuple[int, int], q: tuple[int, int]) -> None:
        number = len(s.bodies) + 1
        name = f"r{number}"
        bar = s.body(name) if name in light else rod(s, name, place(p), place(q))
        for end in (p, q):
            if end in first:
                _pin(s, f"p{len(s.connections)}", first[end], bar, place(end))
            else:
                first[end] = bar

    for i in range(k + 1):
        for j in range(k + 1):
            if i < k:
                add((i, j), (i + 1, j))
            if j < k:
                add((i, j), (i, j + 1))
    for i in range(k):
        for j in range(k):
            if rng.random() < braced:
                add((i, j), (i + 1, j + 1))
                add((i + 1, j), (i, j + 1))
    _pin(s, "base", s.ground, first[0, 0], place((0, 0)))
    return s


def _net(s: da.System, places: dict[tuple[int, ...], NDArray[np.float64]]) -> dict[tuple[int, ...], da.Body]:
    """Add nodes, and rods between neighbours with a ball joint at one end and a universal joint at the other."""
    nodes = {
        at: s.body("n" + "_".join(map(str, at)), mass=0.3, com=p, inertia=1e-3 * np.eye(3)) for at, p in places.items()
    }

    def link(p: tuple[int, ...], q: tuple[int, ...]) -> None:
        d = places[q] - places[p]
        d /= np.linalg.norm(d)
        a, b = places[p] + 0.05 * d, places[q] - 0.05 * d
        number = len(s.bodies)
        bar = rod(s, f"r{number}", a, b, thick=1e-4)
        s.connect(f"ball{number}", da.Spherical(), nodes[p].at(*a), bar.at(*a))
        e = np.cross(d, [0.3, 0.5, 0.9])
        e /= np.linalg.norm(e)
        axes = np.array([e, np.cross(d, e), np.cross(e, np.cross(d, e))]).T  # the two axes of the joint are x and y
        s.connect(f"u{number}", da.Universal(), nodes[q].at(*b, rotation=axes), bar.at(*b, rotation=axes))

    for at in places:
        for axis in range(len(at)):
            following = tuple(x + (k == axis) for k, x in enumerate(at))
            if following in places:
                link(at, following)
    return nodes


def net(k: int, seed: int = 1) -> da.System:
    """k x k nodes in space with rods between them, ball joints and universal joints; hung at four corners by balls."""
    s = da.System(gravity=(0, 0, -9.81))
    rng = np.random.default_rng(seed)
    places = {(i, j): np.array([i, j, 0.0]) + 0.2 * rng.normal(size=3) for i in range(k) for j in range(k)}
    nodes = _net(s, places)
    for corner in ((0, 0), (0, k - 1), (k - 1, 0), (k - 1, k - 1)):
        p = places[corner]
        s.connect(f"hung{corner[0]}_{corner[1]}", da.Spherical(), s.ground.at(*p), nodes[corner].at(*p))
    return s


def cube(k: int, seed: int = 1) -> da.System:
    """k x k x k nodes with rods between them as in `net`, hung at one corner."""
    s = da.System(gravity=(0, 0, -9.81))
    rng = np.random.default_rng(seed)
    places = {at: np.array(at) + 0.15 * rng.normal(size=3) for at in np.ndindex(k, k, k)}
    nodes = _net(s, places)
    p = places[0, 0, 0]
    s.connect("hung", da.Spherical(), s.ground.at(*p), nodes[0, 0, 0].at(*p))
    return s


def lattice(n: int, seed: int = 0, keep: float = 0.7, balls: bool = False) -> da.System:
    """About n bodies at random places, joined at the middle of a part of Delaunay's edges by pins, or by balls."""
    from scipy.spatial import Delaunay

    rng = np.random.default_rng(seed)
    flat = rng.uniform(0, np.sqrt(n), (n, 2))
    height = rng.normal(size=n) * 0.3 * balls
    places = np.column_stack([flat[:, 0], height, flat[:, 1]])
    masses, inertias = rng.uniform(0.5, 2, n), rng.uniform(0.16, 0.3, (n, 3))
    edges = {
        tuple(sorted((int(t[a]), int(t[b])))) for t in Delaunay(flat).simplices for a, b in ((0, 1), (1, 2), (0, 2))
    }
    joints = []
    for a, b in sorted(edges):
        if np.linalg.norm(places[a] - places[b]) < 3 and rng.random() < keep:
            joints.append((a, b, (places[a] + places[b]) / 2 + 0.1 * np.array([1, 0, 0]) * rng.normal()))
    connected, grown = {0}, True
    while grown:
        near = {x for a, b, _ in joints if (a in connected) != (b in connected) for x in (a, b)}
        grown = not near <= connected
        connected |= near
    s = da.System(gravity=(0, 0, -9.81))
    bodies = {
        k: s.body(f"b{k}", mass=masses[k], com=places[k], inertia=np.diag(inertias[k])) for k in sorted(connected)
    }
    kind = da.Spherical if balls else lambda: da.Revolute("y")
    for number, (a, b, at) in enumerate(joints):
        if a in connected:
            s.connect(f"j{number}", kind(), bodies[a].at(*at), bodies[b].at(*at))
    at = places[0] + [0.3, 0, 0.2]
    s.connect("base", kind(), s.ground.at(*at), bodies[0].at(*at))
    return s


def wheel(n: int) -> da.System:
    """A hub with n arms, neighbouring arms coupled by rods."""
    s = da.System(gravity=(0, 0, -9.81))
    hub = s.body("hub", mass=5.0, inertia=np.eye(3))
    _pin(s, "axle", s.ground, hub, (0, 0, 0))
    arms, ends = [], []
    for i in range(n):
        t = 2 * np.pi * i / n
        p = np.array([0.3 * np.cos(t), 0, 0.3 * np.sin(t)])
        q = np.array([np.cos(t + 0.02), 0, np.sin(t + 0.02)])
        arms.append(rod(s, f"arm{i}", p, q))
        ends.append((p + q) / 2 * 1.5)
        _pin(s, f"hinge{i}", hub, arms[-1], p)
    for i in range(n):
        k = (i + 1) % n
        tie = rod(s, f"tie{i}", ends[i], ends[k])
        _pin(s, f"near{i}", arms[i], tie, ends[i])
        _pin(s, f"far{i}", arms[k], tie, ends[k])
    return s


def ring(n: int) -> da.System:
    """n rods in a closed ring, hung from the ground by a pin: a regular polygon with sides of 1 m."""
    s = da.System(gravity=(0, 0, -9.81))
    radius = 0.5 / np.sin(np.pi / n)
    turns = 2 * np.pi * np.arange(n + 1) / n
    corners = np.column_stack([radius * np.sin(turns), np.zeros(n + 1), radius * (np.cos(turns) - 1)])
    corners[n] = corners[0]
    bars = [rod(s, f"r{i}", corners[i], corners[i + 1]) for i in range(n)]
    _pin(s, "hung", s.ground, bars[0], corners[0])
    for i in range(n):
        _pin(s, f"p{i}", bars[i], bars[(i + 1) % n], corners[i + 1])
    return s


def platforms(levels: int, turned: float, angle: float = 0.4) -> da.System:
    """Platforms on each other, each on three cranks of 1 m: parallel ones, but for the third, turned by an angle.

    Where it is zero the platforms move, with a redundant pair of rows on each level; elsewhere they are locked.
    """
    s = da.System(gravity=(0, 0, -9.81))
    below, base = s.ground, np.zeros(3)
    for level in range(levels):
        top = base + np.array([np.sin(angle), 0, np.cos(angle)])
        along = np.outer([0.0, 1.0, 2.0], [1.0, 0.0, 0.0])
        feet, heads = base + along, top + along
        heads[2] = feet[2] + np.array([np.sin(angle + turned), 0, np.cos(angle + turned)])
        plate = rod(s, f"plate{level}", heads[0], top + along[2], thick=0.1)
        for k in range(3):
            crank = rod(s, f"crank{level}_{k}", feet[k], heads[k])
            _pin(s, f"foot{level}_{k}", below, crank, feet[k])
            _pin(s, f"head{level}_{k}", crank, plate, heads[k])
        below, base = plate, top
    return s


def branches(n: int) -> da.System:
    """A tree of n rods with two branches at each, with a tie of two rods between every other pair of branches."""
    s = da.System(gravity=(0, 0, -9.81))
    tips = [np.zeros(3)]
    rods: list[da.Body] = [s.ground]
    for k in range(1, n + 1):
        parent = (k - 1) // 2 if k > 1 else 0
        level = int(np.log2(k))
        turn = np.pi * (k - 2**level + 0.5) / 2**level
        tip = (level + 1) * np.array([np.cos(turn), 0.0, np.sin(turn)])
        rods.append(rod(s, f"b{k}", tips[parent], tip))
        tips.append(tip)
        _pin(s, f"t{k}", rods[parent], rods[k], tips[parent])
    for k in range(2, n, 4):
        a, b = tips[k], tips[k + 1]
        knee = (a + b) / 2 * 1.1 + np.array([0.0, 0.0, 0.3])
        ties = rod(s, f"c{k}", a, knee), rod(s, f"d{k}", knee, b)
        _pin(s, f"p{k}", rods[k], ties[0], a)
        _pin(s, f"k{k}", ties[0], ties[1], knee)
        _pin(s, f"q{k}", ties[1], rods[k + 1], b)
    return s
