"""Woodpecker toy: a sprung bird on a sleeve descends a pole by impacts and friction."""

from __future__ import annotations

from math import pi

from ..checks import LARGEST_SIZE, checked, positive
from ..connections.elements import JointSpring, PointPlaneContact
from ..connections.joints import Prismatic, Revolute
from ..impulses import Contact, impulse
from ..rotation import bryant
from ..simulation import Event, EventContext
from ..system import System

__all__ = ["woodpecker", "woodpecker_impacts"]

# Leine, Glocker, van Campen 2001; kg, kg m^2, N m/rad, m
SLEEVE_MASS, SLEEVE_INERTIA, BIRD_MASS, BIRD_INERTIA = 0.0003, 5e-9, 0.0045, 7e-7
STIFFNESS = 0.0056
POLE, BORE, HEIGHT = 0.0025, 0.0031, 0.0058  # r_0, r_M, h_M
JOINT, CENTRE, BEAK_HEIGHT, BEAK = 0.010, 0.015, 0.02, 0.0201  # l_M, l_G, h_S, l_S
FRICTION = 0.3
RESTITUTION = {"bird.beak": 0.5, "sleeve.lower": 0.0, "sleeve.upper": 0.0}


@checked("scale", largest=LARGEST_SIZE)
def woodpecker(scale: float = 1.0) -> System:
    """Return the woodpecker toy: a sleeve with play around a pole, and a bird attached by a spring.

    Parameters
    ----------
    scale : float
        Makes all levers this much longer and all angles this much smaller, with the same motion of heights and gaps.
        The published model is linear in the angles, which reach 0.28 rad: it is the limit of a large scale.

    The sleeve falls (`fall`) and tilts (`tilt`); the bird swings on it (`swing`). The rims `sleeve.lower` and
    `sleeve.upper` and the beak `bird.beak` touch the pole, whose surfaces are the markers ``ground.beak``,
    ``ground.lower`` and ``ground.upper``. Impacts are for `woodpecker_impacts`; only that of the beak has restitution,
    and the stiff contacts of the rims hold what has come to rest on them. It starts as published.

    Source: R. I. Leine, Ch. Glocker, D. H. van Campen, "Nonlinear dynamics of the woodpecker toy", ASME DETC 2001
    VIB-21608, after Ch. Glocker's thesis, TU Munich 1995; data as programs quote them that follow the paper. The start,
    (y', phi_M', phi_S') = (-0.3411, 0, -7.4583) at phi_S = -0.2788, is on the cycle of the linear model.

    Examples
    --------
    >>> import dalembert as da
    >>> toy = woodpecker()
    >>> result = da.simulate(toy, 0.3, method="radau", rtol=1e-6, events=woodpecker_impacts(toy))
    >>> sum(event.name == "bird.beak" for event in result.events)  # it pecks twice
    2
    """
    positive("woodpecker", scale=scale)
    s = System("woodpecker", gravity=(0, 0, -9.81))
    carriage = s.body("carriage", mass=0.0, inertia=(0, 0, 0))
    sleeve = s.body("sleeve", mass=SLEEVE_MASS, inertia=(SLEEVE_INERTIA * scale**2,) * 3)
    bird = s.body("bird", mass=BIRD_MASS, com=(CENTRE * scale, 0, 0), inertia=(BIRD_INERTIA * scale**2,) * 3)
    s.connect("fall", Prismatic("z"), s.ground, carriage)
    s.connect("tilt", Revolute((0, -1, 0)), carriage, sleeve)
    s.connect("swing", Revolute((0, -1, 0)), sleeve.at(JOINT * scale, 0, 0), bird)
    s.connect("spring", JointSpring(STIFFNESS * scale**2), "swing")
    upright = bryant(0, pi / 2, 0)  # the normal of a pole's surface is along x
    s.ground.marker("beak", (JOINT + CENTRE - BEAK) * (scale - 1) + POLE, 0, 0, rotation=upright)
    bird.marker("beak", (CENTRE - BEAK) * scale, 0, BEAK_HEIGHT * scale)
    for name, height in (("lower", -HEIGHT), ("upper", HEIGHT)):
        surface = s.ground.marker(name, BORE * (scale - 1) + POLE, 0, 0, rotation=upright)
        rim = sleeve.marker(name, BORE * scale, 0, height * scale)
        s.connect(name, PointPlaneContact(1e6, dissipation=500.0, friction=FRICTION, slip_speed=1e-4), surface, rim)
    s.initial("fall", speed=-0.3411)
    s.initial("tilt", position=-(BORE - POLE) / HEIGHT / scale)
    s.initial("swing", position=(-0.2788 + (BORE - POLE) / HEIGHT) / scale, speed=-7.4583 / scale)
    return s


@checked("system")
def woodpecker_impacts(system: System) -> list[Event]:
    """Return the impacts of beak and rims on the pole, by Newton's restitution and Coulomb's friction."""
    return [_impact(system, name) for name in RESTITUTION]


def _impact(system: System, name: str) -> Event:
    surface = system[f"ground.{name.partition('.')[2]}"]
    pole = Contact(surface, system[name], normal="z", restitution=RESTITUTION[name], friction=FRICTION)

    def strike(now: EventContext) -> None:
        hit = impulse(now.model, now.q, now.v, contact=pole)
        now.impulse(name, force=hit.contacts[pole.name].impulse)

    return Event(name, f"{name}.position.x", surface.position[0], direction=-1, action=strike)
