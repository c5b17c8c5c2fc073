"""Ratchets, one-way clutches and Geneva drives: closed forms, the ideal drive, energy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.library import geneva_angle


def wheel(element: Any, torque: Any, speed: float = 0.0) -> da.System:
    s = da.System("wheel", gravity=(0, 0, 0))
    s.connect("axle", da.Revolute("z"), s.ground, s.body("wheel", mass=1.0, inertia=(0.01, 0.01, 0.01)))
    s.connect("ratchet", element, "axle")
    s.connect("torque", da.Effort(torque), "axle")
    s.initial("axle", speed=speed)
    return s


def test_a_ratchet_holds_on_the_last_tooth() -> None:
    """Thrown forwards by w^2/(2 a), it comes back to the tooth below and stays, T/k behind it."""
    pitch, back, w = 2 * np.pi / 24, 5.0, 30.0
    highest = w**2 * 0.01 / (2 * back)  # 0.9 rad: 3.44 teeth
    result = da.simulate(wheel(da.Ratchet(2e3, pitch, dissipation=0.5), -back, w), 1.0, times=np.linspace(0, 1, 2001))
    assert result["axle.position"].max() == pytest.approx(highest, rel=1e-4)
    assert result["ratchet.tooth"][-1] == pytest.approx(3 * pitch, rel=1e-9)
    assert result["axle.position"][-1] == pytest.approx(3 * pitch - back / 2e3, abs=1e-5)
    assert abs(result["energy.balance"]).max() < 1e-6


@pytest.mark.parametrize("backwards", [False, True])
def test_a_one_way_clutch_rectifies_an_oscillation(backwards: bool) -> None:
    """Torque T cos(w t): held from pi to 3 pi/2, then its speed is T/(I w) (1 + sin(w t)), above zero."""
    T, w, sign = 3.0, 20.0, -1.0 if backwards else 1.0
    s = wheel(da.Ratchet(1e5, dissipation=0.1, backwards=backwards), lambda t: sign * T * math.cos(w * t))
    result = da.simulate(s, 0.7, times=np.linspace(0, 0.7, 701))
    turn, position = w * result.t, sign * result["axle.position"]
    held = (turn > np.pi) & (turn < 1.5 * np.pi)
    step = T / (0.01 * w**2)
    exact = 2 * step + step * np.where(turn > 1.5 * np.pi, turn - 1.5 * np.pi - np.cos(turn), 0.0)
    assert np.abs(position - exact)[held].max() < 2 * T / 1e5 + 2e-3  # the sprags follow within 1 ms
    assert position[-1] == pytest.approx(exact[-1], rel=2e-3)


def geneva(slots: int, inertia: float = 1e-4, **more: Any) -> da.System:
    s = da.System("geneva", gravity=(0, 0, 0))
    star, driver = (s.body(name, mass=0.1, inertia=(inertia, inertia, inertia)) for name in ("star", "driver"))
    s.connect("W", da.Revolute("z"), s.ground.at(0, 0, 0), star)
    s.connect("D", da.Revolute("z"), s.ground.at(-0.1, 0, 0), driver)
    element = da.GenevaContact(slots, 0.1, 1e6, **more)
    s.connect("geneva", element, star.at(rotation=("z", math.pi)), driver)
    return s


@pytest.mark.parametrize(("slots", "turns"), [(3, 1), (4, 2), (6, 1)])
def test_a_geneva_drive_moves_as_the_ideal_one(slots: int, turns: int) -> None:
    s = geneva(slots, play=1e-5, dissipation=20.0)
    start = -np.pi
    s.drive("D", speed=6.0)
    s.initial("D", position=start)
    s.initial("W", position=float(geneva_angle(slots, start + 1e-9)))
    result = da.simulate(s, turns * 2 * np.pi / 6.0)
    ideal = geneva_angle(slots, result["D.position"])
    assert np.abs(result["W.position"] - ideal).max() < 1.5e-3  # the play is 1e-5 m
    assert result["W.position"][-1] == pytest.approx(np.pi / slots - turns * 2 * np.pi / slots, abs=1e-3)
    assert abs(result["energy.balance"]).max() < 1e-7


def test_the_pin_accelerates_the_wheel() -> None:
    """Moment of the pin in the middle of an index: none; largest of a wheel of 4 slots: 5.41 w^2 (Dijksman)."""
    inertia, w = 1e-3, 10.0
    s = geneva(4, inertia, dissipation=20.0)
    s.drive("D", speed=w)
    s.initial("D", position=-0.7)
    s.initial(
        "W",
        position=float(geneva_angle(4, -0.7)),
        speed=float((geneva_angle(4, -0.7 + 1e-6) - geneva_angle(4, -0.7 - 1e-6)) / 2e-6 * w),
    )
    result = da.simulate(s, 1.4 / w, times=np.linspace(0, 1.4 / w, 1001))
    smooth = np.abs(result["W.acceleration"]) / w**2
    angles = np.linspace(-0.7, 0.7, 20001)
    exact = np.gradient(np.gradient(geneva_angle(4, angles), angles), angles)[10:-10]
    assert np.abs(exact).max() == pytest.approx(5.41, abs=0.01)
    at = result["D.position"]
    middle = (np.abs(at) > 0.1) & (np.abs(at) < 0.3)
    assert np.median(smooth[middle] / np.abs(np.interp(at[middle], angles[10:-10], exact))) == pytest.approx(
        1.0, abs=0.05
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: da.GenevaContact(2, 0.1, 1e6), "slots"),
        (lambda: da.GenevaContact(4, -0.1, 1e6), "distance"),
        (lambda: da.GenevaContact(4, 0.1, 1e6, play=0.05), "fifth of the crank"),
        (lambda: da.Ratchet(0.0), "stiffness"),
        (lambda: da.Ratchet(1.0, -0.1), "pitch"),
    ],
)
def test_bad_drives_are_named(make: Any, words: str) -> None:
    with pytest.raises(da.ModelError, match=words):
        make()
