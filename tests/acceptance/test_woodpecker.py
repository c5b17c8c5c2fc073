"""The woodpecker toy of Leine, Glocker and van Campen: its cycle as published, and by Moreau's time stepping."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles.time_stepping import PlaneContacts

import dalembert as da
from dalembert.library import woodpecker, woodpecker_impacts
from dalembert.library.woodpecker_toy import (
    BEAK,
    BEAK_HEIGHT,
    BIRD_INERTIA,
    BIRD_MASS,
    BORE,
    CENTRE,
    FRICTION,
    HEIGHT,
    JOINT,
    POLE,
    SLEEVE_INERTIA,
    SLEEVE_MASS,
    STIFFNESS,
)

Array = NDArray[np.float64]

ANGLE = -0.2788  # of the bird, at which the published state is
PUBLISHED = np.array([-0.3411, 0.0, -7.4583])  # y', phi_M', phi_S' there


def cycle(scale: float) -> tuple[float, Array]:
    """Return period and speeds (y', phi_M', phi_S') as the bird swings down through the published angle."""
    toy = woodpecker(scale)
    down = da.Event("down", lambda state: scale * (state.q[1] + state.q[2]) - ANGLE, direction=-1)
    result = da.simulate(toy, 0.65, method="radau", rtol=1e-6, atol=1e-9, events=[*woodpecker_impacts(toy), down])
    assert np.abs(result["energy.balance"]).max() < 1e-7
    moments = [event.t for event in result.events if event.name == "down"]
    assert np.ptp(np.diff(moments)[-2:]) < 1e-3 * moments[0]  # one cycle is like the other
    v = result.at(moments[-1]).v
    return float(np.diff(moments)[-2:].mean()), np.array([v[0], scale * v[1], scale * (v[1] + v[2])])


def linear_model() -> PlaneContacts:
    """Return the published equations in (y, phi_M, phi_S)."""
    levers = np.array([1.0, JOINT, CENTRE])
    M = BIRD_MASS * np.outer(levers, levers) + np.diag([SLEEVE_MASS, SLEEVE_INERTIA, BIRD_INERTIA])
    weight = -9.81 * (BIRD_MASS * levers + SLEEVE_MASS * np.array([1.0, 0, 0]))
    normals = np.array([[0, 0, -BEAK_HEIGHT], [0, HEIGHT, 0], [0, -HEIGHT, 0]])
    tangents = np.array([[1, JOINT, CENTRE - BEAK], [1, BORE, 0], [1, BORE, 0]])
    play = np.array([JOINT + CENTRE - BEAK - POLE, BORE - POLE, BORE - POLE])
    return PlaneContacts(
        M,
        lambda q: weight + STIFFNESS * (q[2] - q[1]) * np.array([0, 1.0, -1.0]),
        lambda q: play + normals @ q,
        normals,
        tangents,
        np.array([0.5, 0, 0]),
        FRICTION,
    )


def test_the_published_state_is_on_the_cycle() -> None:
    _, speeds = cycle(scale=500.0)
    assert speeds == pytest.approx(PUBLISHED, abs=1e-2)  # 0.13 % of the largest speed


@pytest.mark.slow
def test_the_cycle_is_that_of_time_stepping() -> None:
    period, speeds = cycle(scale=500.0)
    model, h = linear_model(), 4e-5
    q, u = np.array([0.0, -(BORE - POLE) / HEIGHT, ANGLE]), PUBLISHED.copy()
    moments, found = [], []
    for k in range(int(0.6 / h)):
        before = q
        q, u = model.step(q, u, h)
        if before[2] > ANGLE >= q[2]:
            moments.append(h * (k + (before[2] - ANGLE) / (before[2] - q[2])))
            found.append(u)
    assert period == pytest.approx(np.diff(moments).mean(), rel=3e-3)  # first order in its time step
    assert speeds == pytest.approx(np.mean(found, axis=0), rel=1e-2, abs=1e-2)  # first order in its time step


def test_with_its_true_angles_it_pecks_faster() -> None:
    """The angles reach 0.28 rad: the linear model is a tenth off."""
    assert cycle(1.0)[0] == pytest.approx(0.1304, rel=1e-4)


def toy_with_contacts(scale: float) -> da.System:
    """Return the toy with rigid contacts of points in place of its impacts and stiff rims."""
    s = da.System("woodpecker", gravity=(0, 0, -9.81))
    carriage = s.body("carriage", mass=0.0, inertia=(0, 0, 0))
    sleeve = s.body("sleeve", mass=SLEEVE_MASS, inertia=(SLEEVE_INERTIA * scale**2,) * 3)
    bird = s.body("bird", mass=BIRD_MASS, com=(CENTRE * scale, 0, 0), inertia=(BIRD_INERTIA * scale**2,) * 3)
    s.connect("fall", da.Prismatic("z"), s.ground, carriage)
    s.connect("tilt", da.Revolute((0, -1, 0)), carriage, sleeve)
    s.connect("swing", da.Revolute((0, -1, 0)), sleeve.at(JOINT * scale, 0, 0), bird)
    s.connect("spring", da.JointSpring(STIFFNESS * scale**2), "swing")
    point, beak, bore = da.sphere(1e-7), JOINT + CENTRE - BEAK, BORE
    pole = da.bryant(0, np.pi / 2, 0)  # the normal of its surface is along x
    for name, lever, body, marker, restitution in (
        ("beak", beak, bird, ((CENTRE - BEAK) * scale, 0, BEAK_HEIGHT * scale), 0.5),
        ("lower", bore, sleeve, (BORE * scale, 0, -HEIGHT * scale), 0.0),
        ("upper", bore, sleeve, (BORE * scale, 0, HEIGHT * scale), 0.0),
    ):
        surface = s.ground.at(lever * (scale - 1) + POLE - 1e-7, 0, 0, rotation=pole)
        s.contact(
            name, surface, [(point, body.at(*marker))], friction=FRICTION, restitution=restitution, neighbours=True
        )
    s.initial("fall", speed=PUBLISHED[0])
    tilt = -(BORE - POLE) / HEIGHT
    s.initial("tilt", position=0.999 * tilt / scale)  # the rim is a hair off the pole
    s.initial("swing", position=(ANGLE - tilt) / scale, speed=PUBLISHED[2] / scale)
    return s


def test_rigid_contacts_have_the_published_cycle() -> None:
    """Reference 19: the beak rebounds, the rims stick and slide, located and solved in the core."""
    scale = 500.0
    down = da.Event("down", lambda state: scale * (state.q[1] + state.q[2]) - ANGLE, direction=-1)
    result = da.simulate(toy_with_contacts(scale), 0.65, contact="events", events=down)
    assert np.abs(result["energy.balance"]).max() < 1e-10
    moments = [event.t for event in result.events if event.name == "down"]
    assert np.diff(moments)[-2:] == pytest.approx(cycle(scale)[0], rel=2e-3)  # of the toy with stiff rims
    v = result.at(moments[-1]).v
    assert [v[0], scale * v[1], scale * (v[1] + v[2])] == pytest.approx(PUBLISHED, abs=1e-2)
