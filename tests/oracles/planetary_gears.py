"""Free vibration of planetary gears in the plane: the lumped model of Lin and Parker, without rotation of the carrier.

J. Lin, R. G. Parker, Analytical characterization of the unique properties of planetary gear free vibration, J. Vib.
Acoust. 121 (1999) 316-321. Coordinates of every component: x, y (of planets: radial, tangential) and u = r theta, with
base radii of gears and the radius of the planets' centres of the carrier.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["PUBLISHED_FREQUENCIES", "PlanetaryGear", "natural_frequencies", "published_gear"]


@dataclass(frozen=True)
class PlanetaryGear:
    """Masses (kg) of carrier, ring, sun and planet, I/r^2 (kg), stiffnesses (N/m), pressure angles (rad)."""

    masses: tuple[float, float, float, float]
    inertias: tuple[float, float, float, float]
    bearings: tuple[float, float, float, float]
    torsional: tuple[float, float, float]
    sun_mesh: float
    ring_mesh: float
    sun_angle: float
    ring_angle: float
    planets: int


def natural_frequencies(gear: PlanetaryGear) -> np.ndarray:
    """Return the natural frequencies, Hz, in ascending order."""
    n = gear.planets
    size = 9 + 3 * n
    stiffness = np.zeros((size, size))
    carrier, ring, sun = 0, 3, 6

    def add(k: float, row: dict[int, float]) -> None:
        b = np.zeros(size)
        for place, value in row.items():
            b[place] += value
        stiffness[:] += k * np.outer(b, b)

    for j in range(n):
        psi, p = 2 * np.pi * j / n, 9 + 3 * j
        a, r = psi - gear.sun_angle, psi + gear.ring_angle
        of_planet = {p: -np.sin(gear.sun_angle), p + 1: -np.cos(gear.sun_angle), p + 2: 1}
        add(gear.sun_mesh, {sun: -np.sin(a), sun + 1: np.cos(a), sun + 2: 1} | of_planet)
        of_planet = {p: np.sin(gear.ring_angle), p + 1: -np.cos(gear.ring_angle), p + 2: -1}
        add(gear.ring_mesh, {ring: -np.sin(r), ring + 1: np.cos(r), ring + 2: 1} | of_planet)
        add(gear.bearings[3], {carrier: np.cos(psi), carrier + 1: np.sin(psi), p: -1})
        add(gear.bearings[3], {carrier: -np.sin(psi), carrier + 1: np.cos(psi), carrier + 2: 1, p + 1: -1})
    for part, k, turning in zip((carrier, ring, sun), gear.bearings, gear.torsional, strict=False):
        add(k, {part: 1})
        add(k, {part + 1: 1})
        add(turning, {part + 2: 1})
    mass = np.concatenate(
        [(m, m, i) for m, i in zip(gear.masses[:3], gear.inertias[:3], strict=True)]
        + [(gear.masses[3], gear.masses[3], gear.inertias[3])] * n
    )
    root = 1 / np.sqrt(mass)
    squares = np.linalg.eigvalsh(root[:, None] * stiffness * root)
    return np.sqrt(np.maximum(squares, 0.0)) / (2 * np.pi)


def published_gear(planets: int) -> PlanetaryGear:
    """Return the example of Lin and Parker 1999, table 1."""
    return PlanetaryGear(
        masses=(5.43, 2.35, 0.4, 0.66),
        inertias=(6.29, 3.00, 0.39, 0.61),
        bearings=(1e8, 1e8, 1e8, 1e8),
        torsional=(0.0, 1e9, 0.0),
        sun_mesh=5e8,
        ring_mesh=5e8,
        sun_angle=np.radians(24.6),
        ring_angle=np.radians(24.6),
        planets=planets,
    )


# of three planets, Hz: table 2 of the paper, simple frequencies, then double ones
PUBLISHED_FREQUENCIES = (
    (0, 1475.7, 1930.3, 2658.3, 7462.8, 11775.3),
    (743.2, 1102.4, 1896.0, 2276.4, 6986.3, 9647.9),
)
