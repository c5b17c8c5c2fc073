"""Cone problems of contacts in readable NumPy: the oracle of core/numerics/cone_*.

    u = D lam + b,   lam in K = {|lam_t| <= mu lam_n},   u + (0, 0, mu |u_t|) in its dual, orthogonal to lam         (1)

Contacts have two tangential rows and one normal row. Scenes are free bodies with velocities (omega, velocity) each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["ConeScene", "box_stack", "conditions", "missed", "project", "single_contact", "sphere_pyramid"]

Array = NDArray[np.float64]
G = 9.81  # m/s^2


def project(x: Array, mu: float) -> Array:
    """Return the nearest point of the cone, by its generator in the direction of the tangential part."""
    size = float(np.hypot(x[0], x[1]))
    if size <= mu * x[2]:
        return x.copy()
    side = np.array([*(x[:2] / size if size > 0.0 else (1.0, 0.0)), 0.0]) * mu + [0.0, 0.0, 1.0]
    return side * max(float(side @ x) / (1.0 + mu * mu), 0.0)


def missed(D: Array, b: Array, mu: Array, lam: Array) -> float:
    """Return the largest |d lam - proj(d lam - u - s)| of the contacts, d the mean diagonal of a block (D_nn without
    friction), m/s.
    """
    u, worst = D @ lam + b, 0.0
    for i, friction in enumerate(mu):
        at = slice(3 * i, 3 * i + 3)
        d = np.trace(D[at, at]) / 3.0 if friction > 0.0 else D[3 * i + 2, 3 * i + 2]
        shifted = u[at] + [0.0, 0.0, friction * np.hypot(*u[at][:2])]
        worst = max(worst, float(np.linalg.norm(d * lam[at] - project(d * lam[at] - shifted, friction))))
    return worst


def conditions(D: Array, b: Array, mu: Array, lam: Array) -> dict[str, float]:
    """Return the violations of Coulomb's law and of unilateral contact one by one, without projections.

    In m/s, or N s for the cone: penetration, pull, product (of distance and push), cone, slip (of a contact whose
    friction is inside the cone) and direction (of friction, opposite to the slip).
    """
    u, L = (D @ lam + b).reshape(-1, 3), lam.reshape(-1, 3)
    force, speed = np.hypot(L[:, 0], L[:, 1]), np.hypot(u[:, 0], u[:, 1])
    limit = mu * L[:, 2]
    inside = force < limit * (1.0 - 1e-6)
    aligned = np.abs(L[:, :2] * speed[:, None] + force[:, None] * u[:, :2]).max(axis=1)
    return {
        "penetration": float(np.maximum(-u[:, 2], 0.0).max()),
        "pull": float(np.maximum(-L[:, 2], 0.0).max()),
        "product": float(np.minimum(np.abs(u[:, 2]), np.abs(L[:, 2])).max()),
        "cone": float(np.maximum(force - limit, 0.0).max()),
        "slip": float((speed * inside).max()),
        "direction": float(aligned.max()),
    }


def single_contact(D: Array, b: Array, mu: float) -> Array:
    """Return the impulse of one contact: open, sticking, or sliding in the direction found by a scan of all."""
    if b[2] >= 0.0:
        return np.zeros(3)
    stick: Array = -np.linalg.solve(D, b)
    if np.hypot(stick[0], stick[1]) <= mu * stick[2]:
        return stick
    best: Array = np.zeros(3)
    worst = np.inf
    angles, width = np.linspace(-np.pi, np.pi, 721), np.pi / 360
    for _ in range(12):  # each round takes a narrower scan around the best direction
        for angle in angles:
            unit = np.array([-mu * np.cos(angle), -mu * np.sin(angle), 1.0])
            if D[2] @ unit <= 0.0:
                continue
            lam = -b[2] / (D[2] @ unit) * unit
            slip = (D @ lam + b)[:2]
            off = abs(np.cos(angle) * slip[1] - np.sin(angle) * slip[0])
            off += max(-(slip @ [np.cos(angle), np.sin(angle)]), 0.0)
            if off < worst:
                best, worst, centre = lam, off, angle
        angles = centre + width * np.linspace(-1.0, 1.0, 41)
        width /= 15
    return best


@dataclass(frozen=True)
class ConeScene:
    """A cone problem of free bodies: matrix, rows, inverse masses, velocities without contact, bodies of contacts."""

    D: Array
    b: Array
    mu: Array
    J: Array
    P: Array  # diagonal of the inverse mass matrix
    v: Array
    bodies: list[tuple[int, int]]  # of each contact; -1: ground


def _scene(
    places: list[Array], P: Array, v: Array, contacts: list[tuple[int, int, Array, Array]], mu: float
) -> ConeScene:
    J = np.zeros((3 * len(contacts), 6 * len(places)))
    for i, (first, second, point, normal) in enumerate(contacts):
        helper = np.eye(3)[int(np.argmin(np.abs(normal)))]
        tangent = np.cross(normal, helper) / np.linalg.norm(np.cross(normal, helper))
        axes = np.array([tangent, np.cross(normal, tangent), normal])
        for body, sign in ((first, -1.0), (second, 1.0)):
            if body < 0:
                continue
            arm = point - places[body]
            for row, axis in enumerate(axes):
                J[3 * i + row, 6 * body : 6 * body + 6] = sign * np.concatenate([np.cross(arm, axis), axis])
    friction = np.full(len(contacts), mu)
    return ConeScene((J * P) @ J.T, J @ v, friction, J, P, v, [(a, c) for a, c, _, _ in contacts])


def box_stack(
    count: int,
    *,
    side: float = 0.2,
    masses: list[float] | None = None,
    push: float = 0.0,
    slide: float = 0.0,
    mu: float = 0.5,
    h: float = 1e-3,
) -> ConeScene:
    """Boxes on each other, four contacts each, in one step h; a push (N) on the top one; all slide at `slide` (m/s)."""
    mass = np.ones(count) if masses is None else np.array(masses)
    places = [np.array([0.0, 0.0, side * (k + 0.5)]) for k in range(count)]
    corners = [(x, y) for x in (-side / 2, side / 2) for y in (-side / 2, side / 2)]
    up = np.array([0.0, 0.0, 1.0])
    contacts = [(k - 1, k, np.array([x, y, side * k]), up) for k in range(count) for x, y in corners]
    P = np.concatenate([np.concatenate([np.full(3, 6.0 / (m * side**2)), np.full(3, 1.0 / m)]) for m in mass])
    v = np.zeros(6 * count)
    v[5::6] = -G * h
    v[3::6] = slide
    v[-3] += push * h / mass[-1]
    return _scene(places, P, v, contacts, mu)


def sphere_pyramid(layers: int, *, r: float = 0.1, mu: float = 0.5, push: float = 0.0, h: float = 1e-3) -> ConeScene:
    """Square layers of touching unit spheres on each other, in one step h; a push (N) on the top one."""
    places, level = [], []
    for layer in range(layers):
        width = layers - layer
        grid = (np.arange(width) - (width - 1) / 2) * 2 * r
        places += [np.array([x, y, r + layer * np.sqrt(2.0) * r]) for x in grid for y in grid]
        level += [layer] * width**2
    contacts: list[tuple[int, int, Array, Array]] = []
    for a, p in enumerate(places):
        if level[a] == 0:
            contacts.append((-1, a, p - [0.0, 0.0, r], np.array([0.0, 0.0, 1.0])))
        for c in range(a + 1, len(places)):
            way = places[c] - p
            if np.linalg.norm(way) < 2 * r * (1 + 1e-9):
                contacts.append((a, c, p + way / 2, way / np.linalg.norm(way)))
    P = np.tile(np.concatenate([np.full(3, 2.5 / r**2), np.ones(3)]), len(places))
    v = np.zeros(6 * len(places))
    v[5::6] = -G * h
    v[-3] += push * h
    return _scene(places, P, v, contacts, mu)
