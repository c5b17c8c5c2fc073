"""A rope, or a chain of links without mass: free while it is slack, a rigid tie while it is taut."""

import numpy as np
import pytest

import dalembert as da


def tether(loop: bool, length: float = 1.0) -> da.System:
    """Return two bodies in a plane, 2 kg and 1 kg, and a rope between them that is slack at first."""
    s = da.System("tether", gravity=(0, 0, 0))
    a, b = s.body("a", da.sphere(0.1, mass=2.0)), s.body("b", da.sphere(0.1, mass=1.0))
    reel, eye = s.body("reel", mass=0.0), s.body("eye", mass=0.0)
    s.connect("A", da.Planar("z"), s.ground, a)
    s.connect("turn", da.Revolute("z"), a, reel)
    s.connect("rope", da.Prismatic("x", upper=length), reel, eye)
    s.connect("end", da.Revolute("z"), eye, b)
    if loop:
        s.connect("B", da.Planar("z"), s.ground, b)
    s.initial("A", speed=(-0.5, 0.0, 0.0))
    s.initial("rope", position=0.6, speed=1.5)
    s.initial("turn", speed=0.5)
    return s


@pytest.mark.parametrize("loop", [False, True])
def test_a_rope_between_two_bodies_holds_once_it_is_stretched(loop: bool) -> None:
    result = da.simulate(tether(loop), 3.0, rtol=1e-9, atol=1e-11)
    # before: the reduced mass 2/3 kg goes straight on, with the moment of momentum 0.6 * 0.3 per mass
    across = 0.6 * 0.5 * 0.6
    apart = np.sqrt(1.5**2 + (0.6 * 0.5) ** 2 - across**2)
    taut = result.events[0]
    away = np.hypot(0.6 + 1.5 * taut.t, 0.3 * taut.t)
    assert away == pytest.approx(1.0, abs=1e-8)
    assert taut.energy == pytest.approx(-(apart**2) / 3, abs=1e-7)
    # after: it turns at a constant rate, and the rope pulls by m v^2 / l
    assert result["rope.position"].max() < 1.0 + 1e-8
    assert result["rope.stop"][-1] == 1.0
    assert np.linalg.norm(result["b.velocity"][-1] - result["a.velocity"][-1]) == pytest.approx(across, abs=1e-8)
    assert np.ptp(2 * result["a.velocity"] + result["b.velocity"], axis=0) == pytest.approx(0.0, abs=1e-8)
    assert np.linalg.norm(result["end.force"][-1]) == pytest.approx(2 / 3 * across**2, abs=1e-7)


def test_a_rope_lets_go_when_it_would_push() -> None:
    """A bob on a rope that has too little speed for a full turn leaves its circle at a height that is known."""
    s = da.System("rope")
    reel, bob = s.body("reel", mass=0.0), s.body("bob", mass=1.0, inertia=(0.01, 0.01, 0.01))
    s.connect("A", da.Revolute("y"), s.ground, reel)
    s.connect("rope", da.Prismatic("x", upper=1.0), reel, bob)
    g, speed = 9.81, 6.0
    s.gravity = (0.0, 0.0, -g)
    s.initial("A", position=np.pi / 2, speed=-speed)  # at the bottom
    s.initial("rope", position=1.0)
    result = da.simulate(s, 1.0, rtol=1e-9, atol=1e-11)
    held = result["rope.stop"] == 1.0
    first = int(np.flatnonzero(~held)[0])
    assert first > 1 and held[:first].all()
    # (m + I/l^2) (v0^2 - v^2) = 2 m g (l + h), the bob turns with the rope; it leaves where v^2 = g h
    turning = 1.0 + 0.01
    assert result["bob.position"][first, 2] == pytest.approx((turning * speed**2 / g - 2) / (turning + 2), abs=1e-6)
