"""A planetary gear on elastic bearings, in the plane: sun, carrier, ring and planets with meshes between them."""

from __future__ import annotations

import math
from typing import Any

from oracles.planetary_gears import PlanetaryGear

import dalembert as da

__all__ = ["TEETH", "planetary"]

TEETH = (27, 35, 97)  # of sun, planet and ring
MODULE = 3e-3  # m
ANGLE = math.radians(24.6)


def planetary(gear: PlanetaryGear, **options: Any) -> da.System:
    """Return the system; its base radii follow from `TEETH`, masses and stiffnesses from the gear."""
    sun_z, planet_z, ring_z = TEETH
    s = da.System("planetary", gravity=(0, 0, 0))
    sun_mesh = da.GearMesh((sun_z, planet_z), MODULE, gear.sun_mesh, pressure_angle=ANGLE, **options)
    ring_mesh = da.GearMesh((planet_z, ring_z), MODULE, gear.ring_mesh, pressure_angle=ANGLE, internal=True, **options)
    a = sun_mesh.center_distance
    radii = {"carrier": a, "ring": ring_mesh.base_radii[1], "sun": sun_mesh.base_radii[0]}
    bodies = {}
    for (name, r), m, i, k, turning in zip(
        radii.items(), gear.masses, gear.inertias, gear.bearings, gear.torsional, strict=False
    ):
        body = bodies[name] = s.body(name, mass=m, inertia=(i * r * r,) * 3)
        s.connect(f"J_{name}", da.Planar("z"), s.ground, body)
        s.connect(f"K_{name}", da.Bushing([k, k, 0, 0, 0, turning * r * r]), s.ground, body)
    for j in range(gear.planets):
        psi = 2 * math.pi * j / gear.planets
        turn = ("z", psi)
        inertia = gear.inertias[3] * sun_mesh.base_radii[1] ** 2
        planet = s.body(f"planet_{j}", mass=gear.masses[3], inertia=(inertia,) * 3)
        pin = bodies["carrier"].at(a * math.cos(psi), a * math.sin(psi), 0, rotation=turn)
        s.connect(f"J_{j}", da.Planar("z"), bodies["carrier"].at(a * math.cos(psi), a * math.sin(psi), 0), planet)
        s.connect(f"K_{j}", da.Bushing([gear.bearings[3]] * 2 + [0.0] * 4), pin, planet.at(rotation=turn))
        middle = bodies["carrier"].at(rotation=turn)
        s.connect(f"sun_{j}", sun_mesh, middle, bodies["sun"].at(rotation=turn), planet.at(rotation=turn))
        # from the planet to the centre of the ring
        back = ("z", psi + math.pi)
        inward = bodies["carrier"].at(a * math.cos(psi), a * math.sin(psi), 0, rotation=back)
        s.connect(f"ring_{j}", ring_mesh, inward, planet.at(rotation=back), bodies["ring"].at(rotation=back))
    return s
