"""Scenes of bodies in contact that tests share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import dalembert as da

G = 9.81  # m/s2


def on_slope(angle: float) -> tuple[float, float, float]:
    """Return gravity in the axes of a slope: x down it, z normal to it."""
    return (G * np.sin(angle), 0.0, -G * np.cos(angle))


def one_body(
    shape: da.Shape,
    position: tuple[float, float, float],
    *,
    gravity: tuple[float, float, float] = (0.0, 0.0, -G),
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0),
    bryant: tuple[float, float, float] = (0.0, 0.0, 0.0),
    **numbers: float,
) -> da.System:
    """Return a body above a floor."""
    s = da.System("one body", gravity=gravity)
    body = s.body("body", shape)
    s.place("body", position=position, bryant=bryant, velocity=velocity)
    s.contact("floor", da.plane(), body, **numbers)
    return s


def box_stack(count: int, friction: float = 0.5) -> da.System:
    """Return boxes of 1 kg and 0.2 m on top of each other."""
    s = da.System("stack")
    boxes = [s.body(f"box{k}", da.box(0.2, 0.2, 0.2, mass=1.0)) for k in range(count)]
    for k, box in enumerate(boxes):
        s.place(box, position=(0, 0, 0.1 + 0.2 * k))
    s.contact("floor", da.plane(), boxes, friction=friction)
    if count > 1:
        s.contact("boxes", boxes, boxes, friction=friction)
    return s


def normal_along(axis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a rotation whose third axis is given."""
    first = np.cross([0.0, 1.0, 0.0] if abs(axis[1]) < 0.9 else [1.0, 0.0, 0.0], axis)
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(axis, first), axis])


def spheres_in_a_box(side: int, layers: int, seed: int = 0, friction: float = 0.5) -> da.System:
    """Return spheres of 0.5 kg and 50 mm above the floor of a box with four walls."""
    rng = np.random.default_rng(seed)
    s = da.System("spheres")
    pitch, balls = 0.11, []
    for k in range(side * side * layers):
        layer, (row, column) = k // (side * side), divmod(k % (side * side), side)
        ball = s.body(f"ball{k}", da.sphere(0.05, mass=0.5))
        x, y = 0.004 * rng.random(2)
        s.place(ball, position=(pitch * column + x, pitch * row + y, 0.06 + pitch * layer))
        balls.append(ball)
    s.contact("floor", da.plane(), balls, friction=friction)
    far = pitch * (side - 1) + 0.06
    walls = {"west": ((-0.06, 0, 0), (1, 0, 0)), "east": ((far, 0, 0), (-1, 0, 0))}
    walls |= {"south": ((0, -0.06, 0), (0, 1, 0)), "north": ((0, far, 0), (0, -1, 0))}
    for name, (place, normal) in walls.items():
        wall = s.ground.at(*place, rotation=normal_along(np.array(normal, dtype=float)))
        s.contact(name, wall, balls, friction=friction)
    s.contact("balls", balls, balls, friction=friction)
    return s
