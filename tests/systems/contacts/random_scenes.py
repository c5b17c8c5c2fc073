"""Random scenes of bodies that fall, strike, rub and rest on each other, by seed.

Spheres, boxes, cylinders, capsules and hulls above a floor, a slope or in a trough of planes, free, in chains of ball
joints or hinges, or in rings of ball joints. Masses are between 0.1 and 10 kg, sizes between 5 and 30 cm. No shapes
overlap at the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dalembert as da
from dalembert.bodies.body import Body
from systems.random_trees import coin

Array = NDArray[np.float64]

__all__ = ["GROUNDS", "LINKS", "RandomContactScene", "random_contact_scene"]

GROUNDS = ("floor", "slope", "trough")
LINKS = ("chain", "hinges", "ring")
SHAPES = ("sphere", "box", "cylinder", "capsule", "hull")
REACH = 0.3  # m: no shape reaches farther from the origin of its body


@dataclass(frozen=True, eq=False)
class RandomContactScene:
    """A system, its ground, and the length of its run in s."""

    seed: int
    ground: str
    system: da.System
    t_end: float
    contacts: tuple[str, ...]

    @property
    def mass(self) -> float:
        """Mass of all bodies, kg."""
        return sum(body.mass for body in self.system.bodies.values())


def random_contact_scene(
    seed: int, most: int = 12, stiffness: float | None = None, links: str | None = None, **numbers: float
) -> RandomContactScene:
    """Return the scene of a seed with 2 to `most` bodies; its ground is ``GROUNDS[seed % 3]``.

    With a stiffness, N/m, contacts are compliant, and edges are rounded by 1e-4 m. `links` is one of `LINKS`: the first
    bodies (at least 4) are joined so. Other numbers take the place of those that the seed gives contacts.
    """
    rng = np.random.default_rng([seed, 27])
    ground = GROUNDS[seed % len(GROUNDS)]
    s = da.System(f"scene {seed}")
    count = max(int(rng.integers(2, most + 1)), 4 if links else 0)
    bodies = _place_bodies(s, rng, count)
    if links:
        _link(s, links, bodies)
    elif count >= 4 and rng.random() < 0.3:
        _join(s, bodies, [(0, 1), (1, 2)])
    given = numbers
    numbers = {"friction": float(rng.choice([0.0, 0.3, 0.7])), "restitution": float(rng.choice([0.0, 0.2, 0.6]))}
    numbers |= given
    if numbers["friction"] and coin(rng):
        numbers["static_friction"] = 1.2 * numbers["friction"]
    friction, restitution = numbers["friction"], numbers["restitution"]
    if stiffness is not None:
        numbers |= {"stiffness": stiffness, "exponent": 1.0, "rounding": 1e-4}
    s.contact("planes", _ground(s, rng, ground), bodies, **numbers)
    numbers.pop("static_friction", None)
    s.contact("bodies", bodies, bodies, **numbers | {"friction": 0.8 * friction, "restitution": restitution})
    return RandomContactScene(seed, ground, s, 0.4, ("planes", "bodies"))


def _ground(s: da.System, rng: np.random.Generator, kind: str) -> list[Any]:
    if kind == "floor":
        return [da.plane()]
    angle = float(rng.uniform(0.1, 0.5))
    sides = [s.ground.at(0, 0, 0, rotation=("y", angle))]
    if kind == "trough":
        sides.append(s.ground.at(0, 0, 0, rotation=("y", -angle)))
    return sides


def _place_bodies(s: da.System, rng: np.random.Generator, count: int) -> list[Body]:
    """Bodies in a loose pile, each in a cell of its own; planes of the ground pass below all cells."""
    cell, wide = 2.0 * REACH, 2
    bodies = []
    for k in range(count):
        layer, place = divmod(k, wide * wide)
        x, y = divmod(place, wide)
        body = s.body(f"b{k}", _shape(rng))
        position = cell * np.array([x - 0.5, y - 0.5, layer + 0.55]) + [0, 0, 0.55 * cell]  # above slopes of 0.5 rad
        turn = rng.normal(size=4)
        s.place(
            body,
            position=position,
            rotation=turn / np.linalg.norm(turn),
            velocity=0.5 * rng.normal(size=3),
            angular_velocity=2.0 * rng.normal(size=3),
        )
        bodies.append(body)
    return bodies


def _shape(rng: np.random.Generator) -> Any:
    kind, mass = str(rng.choice(SHAPES)), float(10.0 ** rng.uniform(-1.0, 1.0))
    a, b, c = rng.uniform(0.05, 0.15, size=3)
    if kind == "sphere":
        return da.sphere(a, mass=mass)
    if kind == "box":
        return da.box(2 * a, 2 * b, 2 * c, mass=mass)
    if kind == "cylinder":
        return da.cylinder(2 * a, b, mass=mass)
    if kind == "capsule":
        return da.capsule(a, b, mass=mass)
    return da.mesh(_hull(rng, 0.15), mass=mass)


def _hull(rng: np.random.Generator, size: float) -> tuple[Array, Any]:
    """Corners on a ball and the triangles of their hull, outward."""
    from scipy.spatial import ConvexHull

    corners = rng.normal(size=(12, 3))
    corners *= size / np.linalg.norm(corners, axis=1)[:, None]
    found = ConvexHull(corners)
    triangles = found.simplices.copy()
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), a - corners.mean(axis=0)) < 0.0
    triangles[inward] = triangles[inward][:, ::-1]
    return corners, triangles


def _link(s: da.System, kind: str, bodies: list[Body]) -> None:
    if kind == "hinges":
        _join(s, bodies, [(0, 1), (1, 3)], da.Revolute("y"))
    else:
        _join(s, bodies, [(0, 1), (1, 3), (3, 2), (2, 0)] if kind == "ring" else [(0, 1), (1, 3), (3, 2)])


def _join(s: da.System, bodies: list[Body], pairs: list[tuple[int, int]], joint: Any = None) -> None:
    """Join pairs of bodies midway, where they are; by default by ball joints."""
    for k, pair in enumerate(pairs):
        first, second = (bodies[i] for i in pair)
        ends = []
        middle = 0.5 * (s.placements[first.name].position + s.placements[second.name].position)
        for body in (first, second):
            place = s.placements[body.name]
            R = da.rotation.as_rotation_matrix(place.rotation)
            ends.append(body.at(*(R.T @ (middle - np.asarray(place.position))), rotation=R.T))
        s.connect(f"joint{k}", joint or da.Spherical(), *ends)
