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


def bola(kind: str, links: tuple[float, ...] = (0.6, 0.5)) -> da.System:
    """Return a bob in a plane that falls until what holds it is stretched: a rope, or a chain of links without mass."""
    s = da.System("bola")
    bob = s.body("bob", da.sphere(0.05, mass=1.0))
    if kind == "chain":
        bars = [part for link in links for part in (da.bar(link), da.Revolute("y"))]
        s.connect("wire", da.KinematicChain([da.Revolute("y"), *bars]), s.ground, bob)
    else:
        s.connect("P", da.Planar("y"), s.ground, bob)
        s.connect("wire.reach", da.Rope(sum(links)), s.ground, bob)
    s.place("bob", position=(0.9, 0.0, 0.0))
    return s


@pytest.mark.parametrize("kind", ["rope", "chain"])
def test_what_is_stretched_holds_as_a_pendulum(kind: str) -> None:
    """It falls freely, loses what is along the rope, and swings as a point pendulum with the energy of the rest."""
    result = da.simulate(bola(kind), 2.0, rtol=1e-9, atol=1e-11)
    g, length = 9.81, 1.1
    depth = np.sqrt(length**2 - 0.9**2)
    taut, speed = result.events[0], np.sqrt(2 * g * depth)
    near = 2e-6 if kind == "rope" else 2e-5  # a chain holds 1e-6 of its reach before the end of it
    assert taut.t == pytest.approx(np.sqrt(2 * depth / g), abs=near)
    along = speed * depth / length
    assert taut.energy == pytest.approx(-(along**2) / 2, rel=near)
    after = result.t > taut.t
    p, v = result["bob.position"][after], result["bob.velocity"][after]
    assert np.linalg.norm(p, axis=1) == pytest.approx(length, abs=near)
    height = p[:, 2] + depth
    assert (v**2).sum(axis=1) / 2 + g * height == pytest.approx((speed**2 - along**2) / 2, rel=1e-4)
    # m v^2 / l and the weight along the rope
    tension = (v**2).sum(axis=1) / length - g * p[:, 2] / length
    assert result["wire.reach.tension"][after] == pytest.approx(tension, rel=1e-4)
    assert (result["wire.reach.taut"][after] == 1.0).all()
    assert np.abs(result["energy.balance"]).max() < 1e-8


@pytest.mark.parametrize("kind", ["rope", "chain"])
def test_a_stretched_chain_lets_go_when_it_would_push(kind: str) -> None:
    """Flung round with too little speed for a full turn, the bob leaves its circle where v^2 = g h."""
    s = bola(kind)
    g, length, speed = 9.81, 1.1, 6.4
    s.place("bob", position=(0.0, 0.0, -length * (1 - 2e-6)), velocity=(speed, 0.0, 0.0))
    result = da.simulate(s, 1.0, rtol=1e-9, atol=1e-11)
    held = result["wire.reach.taut"] == 1.0
    first = int(np.flatnonzero(held)[0])
    last = first + int(np.flatnonzero(~held[first:])[0])
    assert last > first + 1
    # (v0^2 - v^2) / 2 = g (l + h); it leaves where v^2 = g h
    assert result["bob.position"][last, 2] == pytest.approx((speed**2 / g - 2 * length) / 3, abs=1e-4)
    assert np.abs(result["energy.balance"]).max() < 1e-8


def test_a_folded_chain_pushes() -> None:
    """Links of 0.8 m and 0.3 m: the bob comes no nearer to the nail than 0.5 m, and slides off around it."""
    s = bola("chain", (0.8, 0.3))
    s.place("bob", position=(0.05, 0.0, 0.9))
    result = da.simulate(s, 0.6, rtol=1e-8, atol=1e-10)
    distance = np.linalg.norm(result["bob.position"], axis=1)
    assert distance.min() == pytest.approx(0.5, abs=2e-6)
    assert any("wire.fold" in event.name for event in result.events)
    assert np.abs(result["energy.balance"]).max() < 1e-8


def test_ropes_are_struck_together() -> None:
    """A beam on two ropes that become taut at once falls no further, and each carries half of it."""
    s = da.System("two ropes")
    beam = s.body("beam", da.box(1.0, 0.1, 0.1, mass=3.0))
    s.connect("P", da.Planar("y"), s.ground, beam)
    for side, name in ((-0.5, "left"), (0.5, "right")):
        s.connect(name, da.Rope(0.3), s.ground.at(side, 0, 0), beam.at(side, 0, 0))
    result = da.simulate(s, 1.0, rtol=1e-9, atol=1e-11)
    assert result["beam.position"][-1] == pytest.approx([0.0, 0.0, -0.3], abs=1e-7)
    assert result["left.tension"][-1] == pytest.approx(3.0 * 9.81 / 2, rel=1e-6)
    assert result["right.tension"][-1] == pytest.approx(3.0 * 9.81 / 2, rel=1e-6)
    assert sum(event.energy for event in result.events) == pytest.approx(-3.0 * 9.81 * 0.3, rel=1e-6)


def test_a_rope_gives_back_part_of_the_speed_in_runs_side_by_side() -> None:
    s = da.System("yoyo")
    bob = s.body("bob", mass=1.0, inertia=(0.01, 0.01, 0.01))
    s.connect("rope", da.Rope(0.5, restitution=0.6), s.ground, bob)
    s.place("bob", position=(0.0, 0.0, -0.1))
    runs = da.simulate(s, 0.4, parameters={"bob.mass": [1.0, 2.0]}, times=np.linspace(0, 0.4, 5), rtol=1e-9, atol=1e-11)
    fall = np.sqrt(2 * 0.4 / 9.81)
    back, left = 0.6 * np.sqrt(2 * 9.81 * 0.4), 0.4 - fall
    for run, mass in zip(runs, (1.0, 2.0), strict=True):
        assert run["bob.position"][-1, 2] == pytest.approx(-0.5 + back * left - 9.81 * left**2 / 2, abs=1e-7)
        assert run.events[0].energy == pytest.approx(-mass * 9.81 * 0.4 * (1 - 0.36), rel=1e-7)


def test_without_stops_a_rope_is_nothing_and_a_chain_ends_with_its_name() -> None:
    free = da.simulate(bola("rope"), 1.0, stops="off")
    assert free["bob.position"][-1, 2] == pytest.approx(-9.81 / 2, rel=1e-6)
    with pytest.raises(da.SingularityError, match=r"chain 'wire' is fully stretched.*da\.Rope"):
        da.simulate(bola("chain"), 1.0, stops="off")


def test_the_length_of_a_rope_is_a_parameter() -> None:
    runs = da.simulate(bola("rope"), 1.0, parameters={"wire.reach.length": [0.95, 1.05]}, times=np.linspace(0, 1, 21))
    assert runs["wire.reach.distance"].max(axis=1) == pytest.approx([0.95, 1.05], abs=1e-7)


@pytest.mark.parametrize("options", [{"stops": "soft"}, {"method": "scipy:RK45"}])
def test_chains_run_where_nothing_can_hold_them_until_they_are_stretched(options: dict) -> None:
    assert da.simulate(bola("chain"), 0.3, **options).status == "finished"


def test_a_weight_rests_on_two_ropes_of_three_and_on_a_chain() -> None:
    s = da.System("vee")
    bob = s.body("bob", da.sphere(0.05, mass=2.0))
    s.connect("P", da.Planar("y"), s.ground, bob)
    for name, side, length in (("left", -0.5, 1.0), ("right", 0.5, 1.0), ("long", 0.5, 2.0)):
        s.connect(name, da.Rope(length), s.ground.at(side, 0, 0), bob)
    s.place("bob", position=(0.1, 0.0, -0.3))
    rest = da.equilibrium(s)
    height = np.sqrt(0.75)
    assert rest.q == pytest.approx([-height, 0.0, 0.0], abs=1e-9)
    assert rest.stops == pytest.approx({"left": -9.81 / height, "right": -9.81 / height}, rel=1e-9)
    with pytest.raises(da.ModelError, match=r"da\.Distance for a taut rope"):
        da.modes(s, rest)


@pytest.mark.parametrize("start", [(0.6, 0.0, -0.3), (0.0, 0.4, 0.5), (0.3, 0.0, -0.6)])
def test_a_free_weight_comes_to_hang_below_its_rope_wherever_it_starts(start: tuple[float, float, float]) -> None:
    s = da.System("plumb line")
    bob = s.body("bob", da.sphere(0.05, mass=1.0))
    s.connect("rope", da.Rope(1.0), s.ground, bob)
    s.place("bob", position=start)
    rest = da.equilibrium(s)
    assert rest.q[4:] == pytest.approx([0.0, 0.0, -1.0], abs=1e-8)
    assert rest.stops == pytest.approx({"rope": -9.81}, rel=1e-9)


def test_linearization_notes_a_slack_rope() -> None:
    s = da.System("plumb line")
    bob = s.body("bob", da.sphere(0.05, mass=1.0))
    s.connect("rope", da.Rope(1.0), s.ground, bob)
    s.place("bob", position=(0.0, 0.0, -1.0))
    assert any("'rope' at its stop" in note for note in da.linearize(s).notes)
    s.place("bob", position=(0.0, 0.0, -0.9))
    assert not any("rope" in note for note in da.linearize(s).notes)


def test_a_start_beyond_a_rope_is_refused_with_its_name() -> None:
    s = da.System("plumb line")
    s.connect("line", da.Rope(1.0), s.ground, s.body("bob", da.sphere(0.05, mass=1.0)))
    s.place("bob", position=(0.0, 0.0, -1.5))
    with pytest.raises(da.ModelError, match=r"rope 'line': start is '1\.5 m'; it is outside its limits, -inf to 1"):
        da.simulate(s, 1.0)
