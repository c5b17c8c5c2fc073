"""Followers that may leave their cam: closed forms of eccentric discs, the ideal follower, restitution, bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.library import Cam, FollowerMotion

E, R = 0.01, 0.03  # m: eccentricity and radius of a disc
DISC = da.Curve.path([da.Arc((E, 0), R, 0.0, 2 * np.pi)])
HOLLOW = da.Curve.polar(
    [(2 * np.pi, lambda a: (0.03 + 0.006 * math.cos(3 * a), -0.018 * math.sin(3 * a), -0.054 * math.cos(3 * a)))]
)


def tappet(contact: da.CamContact, mass: float = 0.2, at: float = 0.0) -> da.System:
    s = da.System("tappet", gravity=(0, 0, 0))
    cam, follower = (s.body(name, mass=mass, inertia=(1e-3, 1e-3, 1e-3)) for name in ("cam", "tappet"))
    s.connect("shaft", da.Revolute("z"), s.ground, cam)
    s.connect("guide", da.Prismatic("y"), s.ground.at(at, 0, 0), follower)
    s.connect("contact", contact, cam, follower)
    return s


def law_at(element: Any, **measures: float) -> dict[str, Any]:
    numbers = dict.fromkeys(element.input_names, 0.0) | dict(element.parameters) | measures
    row = element.evaluate([numbers[name] for name in element.input_names])[0]
    found: dict[str, Any] = dict(zip(element.measured[0], row[: element.measures], strict=True))
    return found | dict(zip(element.signals, row[element.measures + 1 :], strict=True))


@pytest.mark.parametrize("turn", np.linspace(-3.0, 3.0, 7))
def test_gap_of_a_face_on_an_eccentric_disc(turn: float) -> None:
    """The face with the normal at alpha is R + E cos(alpha) from the axis."""
    contact = da.CamContact(DISC, "flat", 1e6)
    n = np.array([math.cos(turn), math.sin(turn)])
    x, y = (R + E * n[0] - 1e-5) * n + 0.004 * np.array([-n[1], n[0]])
    found = law_at(contact, x=x, y=y, rz=turn - np.pi / 2)
    assert found["gap"] == pytest.approx(-1e-5, abs=1e-11)
    assert (found["x"], found["y"]) == pytest.approx(tuple(10.0 * n), rel=1e-5)
    # the contact is in the middle of the disc, at E sin(alpha) along the face
    assert found["rz"] == pytest.approx(-10.0 * (-E * n[1] - 0.004), rel=1e-4)


@pytest.mark.parametrize("inside", [False, True])
def test_gap_of_a_roller_is_its_distance(inside: bool) -> None:
    a = 0.008
    contact = da.CamContact(DISC, "roller", 1e6, radius=a, inside=inside)
    far = R - a if inside else R + a
    for angle in np.linspace(0, 2 * np.pi, 9):
        for gap in (-1e-6, 0.0, 1e-6):
            reach = far - gap if inside else far + gap
            found = law_at(contact, x=E + reach * math.cos(angle), y=reach * math.sin(angle))
            assert found["gap"] == pytest.approx(gap, abs=2e-10)
            push = np.array([found["x"], found["y"]])
            way = -1.0 if inside else 1.0
            assert push == pytest.approx(
                way * 1e6 * max(-gap, 0.0) * np.array([math.cos(angle), math.sin(angle)]), abs=3e-4
            )


@pytest.mark.parametrize("kind", ["roller", "knife", "flat"])
def test_a_pressed_follower_moves_as_the_ideal_one(kind: str) -> None:
    rise = FollowerMotion([(2.0, 0.006), (0.5, 0.006), (2.0, 0.0, "polynomial4567"), (2 * np.pi - 4.5, 0.0)])
    radius = {"roller_radius": 0.008} if kind == "roller" else {}
    cam = Cam(rise, 0.03, kind, **radius)
    stiffness = 1e8
    contact = da.CamContact(cam.profile, kind, stiffness, radius=radius.get("roller_radius", 0.0), dissipation=30.0)
    s = tappet(contact)
    s.connect("spring", da.JointSpring(1e4, 0.0, 0.01), "guide")
    s.initial("guide", position=cam.rest)
    s.drive("shaft", speed=30.0)
    result = da.simulate(s, 0.2, rtol=1e-9)
    angle = result["shaft.position"]
    exact = cam.rest + rise.lift(angle)
    assert result["guide.position"] == pytest.approx(exact, abs=8e-6)  # N / stiffness, and its start
    later = result.t > 0.05
    force = 0.2 * 900.0 * rise.lift(angle, 2) + 1e4 * (exact - 0.01)
    push = result["contact.force"] * np.cos(np.interp(angle % (2 * np.pi), cam.angle, cam.pressure_angle))
    assert np.abs(push - force)[later].max() < 0.02 * force.max()


def test_a_tappet_jumps_at_the_speed_of_its_spring() -> None:
    """On an eccentric disc it stays on up to w^2 = (2 k E + preload)/(m E), Norton; w = 130.4 rad/s."""
    k, preload, mass = 1000.0, 14.0, 0.2
    limit = math.sqrt((2 * k * E + preload) / (mass * E))
    assert limit == pytest.approx(130.4, abs=0.1)
    for speed, flies in ((0.97 * limit, False), (1.05 * limit, True)):
        s = tappet(da.CamContact(DISC, "flat", 1e8, dissipation=20.0), mass)
        s.connect("spring", da.JointSpring(k, 0.0, R - E - preload / k), "guide")
        s.initial("shaft", position=-np.pi / 2)
        s.initial("guide", position=R - E)  # lowest
        s.drive("shaft", speed=speed)
        result = da.simulate(s, 2 * np.pi / speed)
        assert (result["contact.gap"].max() > 1e-5) == flies


def test_a_follower_lands_with_its_restitution() -> None:
    """Across lash: it begins to push where the clearance is used up, and rebounds with 0.6 of its speed."""
    contact = da.CamContact(DISC, "knife", 1e8, lash=2e-4, restitution=0.6, at_speed=0.5)
    s = tappet(contact)
    s.drive("shaft", speed=0.0)
    s.initial("guide", position=math.sqrt(R**2 - E**2) + 1e-3, speed=-0.5)
    s.connect("rail", da.JointSpring(0.0, 0.0), "guide")
    cosine = math.sqrt(R**2 - E**2) / R  # of the normal to the guide
    result = da.simulate(s, 5e-3, rtol=1e-9)
    assert -result["guide.speed"][0] == pytest.approx(0.5)
    low = result["guide.position"].min()
    assert low == pytest.approx(math.sqrt(R**2 - E**2) - 2e-4 / cosine, abs=5e-5)
    # the restitution is that of the speed along the normal
    again = da.simulate(tappet_at(contact, 0.5 / cosine), 5e-3, rtol=1e-9)
    assert again["guide.speed"][-1] / -again["guide.speed"][0] == pytest.approx(0.6, rel=2e-3)


def tappet_at(contact: da.CamContact, speed: float) -> da.System:
    s = tappet(contact)
    s.drive("shaft", speed=0.0)
    s.initial("guide", position=math.sqrt(R**2 - E**2) + 1e-3, speed=-speed)
    return s


def test_friction_of_a_face_takes_power_from_the_shaft() -> None:
    s = tappet(da.CamContact(DISC, "flat", 1e7, friction=0.1, dissipation=10.0))
    s.connect("spring", da.JointSpring(2000.0, 0.0, -0.02), "guide")
    s.initial("guide", position=R)
    s.drive("shaft", speed=20.0)
    result = da.simulate(s, 2 * np.pi / 20.0)
    slid = np.abs(result["contact.sliding"])
    lost = np.trapezoid(0.1 * result["contact.force"] * slid, result.t)
    assert result["energy.dissipated"][-1] == pytest.approx(lost, rel=1e-2)
    assert abs(result["energy.balance"]).max() < 1e-7


def test_an_oscillating_roller_follower() -> None:
    rise = FollowerMotion([(2.0, 0.2), (1.0, 0.2), (2.0, 0.0), (2 * np.pi - 5.0, 0.0)])
    cam = Cam(rise, 0.03, "roller", 0.008, pivot=0.1, arm=0.09)
    s = da.System("rocker", gravity=(0, 0, 0))
    disc, rocker = (s.body(name, mass=0.2, inertia=(1e-4, 1e-4, 1e-4)) for name in ("cam", "rocker"))
    s.connect("shaft", da.Revolute("z"), s.ground, disc)
    s.connect("guide", da.Revolute((0, 0, -1)), s.ground.at(0.1, 0, 0, rotation=("z", math.pi - cam.rest)), rocker)
    contact = da.CamContact(cam.profile, "roller", 1e8, radius=0.008, dissipation=10.0)
    s.connect("contact", contact, disc, rocker.at(0.09, 0, 0))
    s.connect("spring", da.TorsionSpring(50.0, 0.0, -0.3), "guide")
    s.drive("shaft", speed=10.0)
    result = da.simulate(s, 0.6)
    assert result["guide.position"] == pytest.approx(rise.lift(result["shaft.position"]), abs=1e-4)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: da.CamContact(HOLLOW, "flat", 1e6), "concave at .* use a roller"),
        (lambda: da.CamContact(HOLLOW, "roller", 1e6, radius=0.05), "undercut.*smaller roller"),
        (lambda: da.CamContact(da.Curve.path([da.Arc((0.05, 0), R, 0.0, 2 * np.pi)]), "knife", 1e6), "turned back"),
        (lambda: da.CamContact(da.Curve([(0, 0), (1, 0), (1, 1)]), "knife", 1e6), "does not close"),
        (lambda: da.CamContact(DISC, "roller", 1e6), "radius"),
        (lambda: da.CamContact(DISC, "knife", 1e6, radius=0.1), "only a roller"),
        (lambda: da.CamContact(DISC, "flat", 1e6, inside=True), "outside only"),
        (lambda: da.CamContact(DISC, "wedge", 1e6), "follower"),
        (lambda: da.CamContact(DISC, "knife", 1e6, restitution=0.5, dissipation=1.0), "either"),
    ],
)
def test_bad_cams_are_named(make: Any, words: str) -> None:
    with pytest.raises(da.ModelError, match=words):
        make()
