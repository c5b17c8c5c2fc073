"""Ropes, belts and chains over pulleys: closed forms of textbooks, hulls of circles, energy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import dalembert as da

G = 9.81
FLAT = [(0.1, -1.0), (0.0, 0.0), (-0.1, -1.0)]


def law_at(element: Any, positions: Any, **measures: float) -> dict[str, Any]:
    """Return signals and loads (by measure) at positions of the parts; what is left out is zero."""
    numbers = dict.fromkeys(element.input_names, 0.0) | dict(element.parameters)
    for k, place in enumerate(positions):
        numbers |= {f"{axis}{k + 1}": float(x) for axis, x in zip("xyz", place, strict=False)}
    row = element.evaluate([(numbers | measures)[name] for name in element.input_names])[0]
    count = element.measures
    found: dict[str, Any] = dict(zip(element.measured[0], row[:count], strict=True))
    rates = row[count : count + len(element.states)]
    found |= {f"d{name}": rate for name, rate in zip(element.states, rates, strict=True)}
    return found | dict(zip(element.signals, row[count + len(element.states) + 1 :], strict=True))


def hoist(rope: da.PulleyRope, masses: tuple[float, float], inertia: float, speed: float = 0.0) -> da.System:
    """Return two masses on slides on either side of a sheave of radius 0.1 m."""
    s = da.System("hoist", gravity=(0, -G, 0))
    sheave = s.body("sheave", mass=1.0, inertia=(inertia, inertia, inertia))
    one, two = (s.body(name, mass=mass, inertia=(1, 1, 1)) for name, mass in zip(("one", "two"), masses, strict=True))
    s.connect("axle", da.Revolute("z"), s.ground, sheave)
    s.connect("left", da.Prismatic("y"), s.ground.at(0.1, -1, 0), one)
    s.connect("right", da.Prismatic("y"), s.ground.at(-0.1, -1, 0), two)
    s.connect("rope", rope, s.ground, one, sheave, two)
    s.initial("left", speed=speed)
    s.initial("right", speed=-speed)
    s.initial("axle", speed=speed / 0.1)
    return s


def drive(belt: Any, distance: float, inertias: tuple[float, float] = (0.01, 0.05)) -> da.System:
    s = da.System("drive", gravity=(0, 0, 0))
    for k, inertia in enumerate(inertias):
        body = s.body(f"pulley{k + 1}", mass=1.0, inertia=(inertia, inertia, inertia))
        s.connect(f"P{k + 1}", da.Revolute("z"), s.ground.at(k * distance, 0, 0), body)
    s.connect("belt", belt, s.ground, s["pulley1"], s["pulley2"])
    return s


def test_a_belt_is_the_hull_of_its_pulleys() -> None:
    draw = np.random.default_rng(3)
    turn = np.linspace(0, 2 * np.pi, 4001)
    checked = 0
    while checked < 6:
        centers, radii = draw.uniform(-1, 1, (4, 2)), draw.uniform(0.02, 0.2, 4)
        order = np.argsort(np.arctan2(*(centers - centers.mean(0)).T[::-1]))  # counterclockwise
        centers, radii = centers[order], radii[order]
        circles = [c + r * np.column_stack([np.cos(turn), np.sin(turn)]) for c, r in zip(centers, radii, strict=True)]
        hull = ConvexHull(np.concatenate(circles))
        gaps = [np.linalg.norm(centers[i] - centers[j]) - radii[i] - radii[j] for i in range(4) for j in range(i)]
        if len(np.unique(hull.vertices // 4001)) < 4 or min(gaps) < 0:
            continue
        belt = da.BeltDrive([da.Pulley(float(r)) for r in radii], 1e4, 5.0)
        assert belt.path_length(centers) == pytest.approx(hull.area, rel=2e-6)
        assert law_at(belt, centers)["distance"] == pytest.approx(belt.path_length(centers), rel=1e-12)
        checked += 1


@pytest.mark.parametrize("crossed", [False, True])
def test_length_of_open_and_crossed_belts(crossed: bool) -> None:
    """Shigley, (17-1) to (17-4)."""
    r, R, C = 0.08, 0.2, 0.7
    belt = da.BeltDrive([da.Pulley(r), da.Pulley(R, -1 if crossed else 1)], 1e4, 2.0)
    half = math.asin((R + r if crossed else R - r) / C)
    angles = (np.pi + 2 * half,) * 2 if crossed else (np.pi - 2 * half, np.pi + 2 * half)
    length = 2 * C * math.cos(half) + r * angles[0] + R * angles[1]
    assert belt.path_length([(0, 0), (C, 0)]) == pytest.approx(length, rel=1e-14)
    found = law_at(belt, [(0, 0), (C, 0)])
    assert (found["angle1"], found["angle2"]) == pytest.approx(angles, rel=1e-13)


def test_a_rope_over_a_heavy_sheave_is_atwoods_machine() -> None:
    rope = da.PulleyRope(["point", da.Pulley(0.1), "point"], 1e7, tension=36.0, positions=FLAT, damping=1e5)
    result = da.simulate(hoist(rope, (3.0, 5.0), 0.02), 0.4, rtol=1e-9)
    expected = (5.0 - 3.0) / (5.0 + 3.0 + 0.02 / 0.1**2) * G
    # the rope stretches by T L / EA = 5e-6 m at first
    assert result["left.speed"][-1] == pytest.approx(expected * 0.4, rel=1e-4)
    assert result["rope.tension1"][-1] == pytest.approx(3.0 * (G + expected), rel=1e-4)
    assert result["rope.tension2"][-1] == pytest.approx(5.0 * (G - expected), rel=1e-4)
    assert abs(result["energy.balance"]).max() < 1e-8


def test_a_rope_slides_on_a_sheave_without_friction() -> None:
    rope = da.PulleyRope(["point", da.Pulley(0.1, friction=0), "point"], 1e7, tension=36.0, positions=FLAT, damping=1e5)
    result = da.simulate(hoist(rope, (3.0, 5.0), 0.02), 0.4, rtol=1e-9)
    assert result["left.speed"][-1] == pytest.approx(2.0 / 8.0 * G * 0.4, rel=1e-4)
    assert result["axle.speed"][-1] == 0.0


def test_tensions_on_a_held_sheave_are_those_of_euler_and_eytelwein() -> None:
    """Below the limit nothing slips; beyond it the tensions are as exp(mu pi), the slip's excess aside."""
    rope = da.PulleyRope(
        ["point", da.Pulley(0.1, friction=0.3), "point"],
        1e6,
        tension=36.0,
        positions=FLAT,
        damping=1e3,
        slip_speed=10.0,
    )
    ratio = math.exp(0.3 * math.pi)  # 2.566
    s = hoist(rope, (3.0, 2.5 * 3.0), 0.02)
    s.drive("axle", speed=0.0)
    held = da.simulate(s, 1.0)
    later = held.t > 0.5  # as it falls into the rope it slips
    assert np.ptp(held["left.position"][later]) < 2e-6 and abs(held["rope.slip2"][later]).max() < 2e-6
    s = hoist(rope, (3.0, 10.0), 0.02)
    s.drive("axle", speed=0.0)
    slid = da.simulate(s, 0.3)
    u = -slid["rope.slip2"][-1]
    excess = ratio * (1 / (1 - 0.01 * abs(u) / 10.0))
    assert slid["rope.tension2"][-1] / slid["rope.tension1"][-1] == pytest.approx(excess, rel=2e-4)
    expected = (10.0 - 3.0 * ratio) / (10.0 + 3.0 * ratio) * G
    later = slid.t > 0.1  # as it falls into the rope it oscillates
    assert np.polyfit(slid.t[later], slid["left.speed"][later], 1)[0] == pytest.approx(expected, rel=5e-3)
    assert slid["left.speed"][-1] == pytest.approx(abs(u), rel=5e-3)
    assert abs(slid["energy.balance"]).max() < 1e-4 * 10.0 * G * slid["left.position"][-1]


def test_a_groove_wedges_the_belt() -> None:
    flat, vee = (da.BeltDrive([da.Pulley(0.1, 1, 0.3, groove=g), da.Pulley(0.1)], 1e4, 2.0) for g in (np.pi, 0.66))
    assert vee.parameters["friction1"] == pytest.approx(flat.parameters["friction1"] / math.sin(0.33), rel=1e-14)


def test_belts_creep_by_the_strains_of_their_sides() -> None:
    """w2 r2 / (w1 r1) = (1 + e_slack) / (1 + e_tight): Reynolds; power in less power out is lost."""
    EA, r1, r2, torque = 2e4, 0.05, 0.1, 12.0
    pulleys = [da.Pulley(r1, friction=0.5), da.Pulley(r2, friction=0.5)]
    belt = da.BeltDrive(pulleys, EA, tension=400.0, positions=[(0, 0), (0.5, 0)])
    s = drive(belt, 0.5)
    s.drive("P1", speed=50.0)
    s.connect("load", da.Effort(-torque), "P2")
    s.connect("bearing", da.JointSpring(0.0, 0.5), "P2")
    s.initial("P2", speed=25.0)
    result = da.simulate(s, 2.0, rtol=1e-10)
    tight, slack = sorted((result["belt.tension1"][-1], result["belt.tension2"][-1]), reverse=True)
    w2 = result["P2.speed"][-1]
    assert (tight - slack) * r2 == pytest.approx(torque + 0.5 * w2, rel=1e-6)
    assert w2 * r2 / (50.0 * r1) == pytest.approx((1 + slack / EA) / (1 + tight / EA), rel=1e-8)
    assert 0.97 < w2 * r2 / (50.0 * r1) < 0.99
    # the drive supplies more than the driven shaft takes, by the creep
    lost = (tight - slack) * (50.0 * r1 - w2 * r2)
    assert abs(result["energy.balance"]).max() < 1e-6
    heat = np.gradient(result["energy.dissipated"], result.t)[-2] - 0.5 * w2**2
    assert heat == pytest.approx(lost, rel=1e-3)


def test_an_overloaded_belt_slips_at_the_limit() -> None:
    """Tensions less the centrifugal part rho v^2 are as exp(mu theta)."""
    rho, r, v = 0.4, 0.1, 10.0
    belt = da.BeltDrive(
        [da.Pulley(r, friction=0.3), da.Pulley(r)],
        1e5,
        tension=300.0,
        positions=[(0, 0), (0.6, 0)],
        density=rho,
        slip_speed=1.0,
    )
    s = drive(belt, 0.6)
    s.drive("P1", speed=v / r)
    s.drive("P2", speed=0.5 * v / r)
    result = da.simulate(s, 0.2, method="radau")
    tight, slack = sorted((result["belt.tension1"][-1], result["belt.tension2"][-1]), reverse=True)
    u = abs(result["belt.slip1"][-1])
    assert u == pytest.approx(0.5 * v, rel=1e-2)
    limit = math.exp(0.3 * math.pi) / (1 - 0.01 * u / 1.0)
    assert (tight - rho * v**2) / (slack - rho * v**2) == pytest.approx(limit, rel=1e-6)


def test_frequency_of_two_pulleys_on_a_belt() -> None:
    EA, r1, r2, C = 1e5, 0.05, 0.1, 0.5
    belt = da.BeltDrive([da.Pulley(r1), da.Pulley(r2)], EA, tension=300.0, positions=[(0, 0), (C, 0)])
    k = 2 * EA / (0.5 * belt.path_length([(0, 0), (C, 0)])) * (1 + 300.0 / EA)
    exact = math.sqrt(k * (r1**2 / 0.01 + r2**2 / 0.05))
    s = drive(belt, C)
    s.initial("P1", speed=0.01)
    result = da.simulate(s, 0.2, times=np.linspace(0, 0.2, 20001), rtol=1e-10)
    slip = r1 * result["P1.speed"] - r2 * result["P2.speed"]
    down = np.flatnonzero((slip[:-1] > 0) & (slip[1:] <= 0))
    at = result.t[down] + slip[down] / (slip[down] - slip[down + 1]) * (result.t[1] - result.t[0])
    assert 2 * np.pi * (len(at) - 1) / (at[-1] - at[0]) == pytest.approx(exact, rel=2e-5)


def test_a_belt_without_slip_keeps_its_energy_on_moving_pulleys() -> None:
    """One pulley hangs on springs; without tension changes of creep, loss is of second order."""
    s = da.System("loose", gravity=(0, -G, 0))
    one, two = (s.body(name, mass=1.0, inertia=(0.01, 0.01, 0.01)) for name in ("one", "two"))
    s.connect("A", da.Revolute("z"), s.ground, one)
    s.connect("plane", da.Planar("z"), s.ground.at(0.5, 0, 0), two)
    s.connect("spring", da.SpringDamper(2e4, 0.0, 0.3), s.ground.at(1.0, 0.05, 0), two)
    belt = da.BeltDrive([da.Pulley(0.05), da.Pulley(0.1)], 1e5, tension=2e3, positions=[(0, 0), (0.5, 0)])
    s.connect("belt", belt, s.ground, one, two)
    s.initial("A", speed=20.0)
    result = da.simulate(s, 0.5, rtol=1e-9)
    assert abs(result["energy.balance"]).max() < 1e-7 * 26.0  # of what the belt stores
    assert (np.diff(result["energy.dissipated"]) > -1e-9).all()


def test_a_tackle_divides_its_load() -> None:
    """Four parts of rope carry the load; a weight of a quarter holds it."""
    s = da.System("tackle", gravity=(0, -G, 0))
    block, weight = (s.body(name, mass=mass, inertia=(1, 1, 1)) for name, mass in (("block", 40.0), ("weight", 10.0)))
    s.connect("guide", da.Prismatic("y"), s.ground.at(0, -2, 0), block)
    s.connect("rail", da.Prismatic("y"), s.ground.at(0.35, -1, 0), weight)
    free = {"friction": 0.0}
    route = ["point", da.Pulley(0.05, 1, **free), da.Pulley(0.05, -1, **free), da.Pulley(0.05, 1, **free)]
    route += [da.Pulley(0.05, -1, **free), "point"]
    ends = [
        s.ground.at(-0.05, 0, 0),
        block,
        s.ground.at(0.1, 0, 0),
        block.at(0.2, 0, 0),
        s.ground.at(0.3, 0, 0),
        weight,
    ]
    places = [(-0.05, 0), (0, -2), (0.1, 0), (0.2, -2), (0.3, 0), (0.35, -1)]
    s.connect("rope", da.PulleyRope(route, 1e6, tension=10.0 * G, positions=places), s.ground, *ends)
    result = da.simulate(s, 1.0)
    assert np.abs(result.q[-1]).max() < 1e-9
    s.initial("guide", speed=0.1)
    s.initial("rail", speed=-0.4)
    result = da.simulate(s, 1.0, rtol=1e-9)
    assert result["guide.position"][-1] == pytest.approx(0.1, abs=1e-6)


def test_a_differential_hoist_lifts_by_the_difference_of_its_sheaves() -> None:
    """Weston: pull = load (R - r) / (2 R); both sheaves are one body."""
    R, r, load = 0.15, 0.12, 400.0
    s = da.System("weston", gravity=(0, -G, 0))
    top = s.body("top", mass=5.0, inertia=(0.1, 0.1, 0.1))
    block = s.body("block", mass=load / G, inertia=(1, 1, 1))
    s.connect("axle", da.Revolute("z"), s.ground, top)
    x = (R - r) / 2
    s.connect("guide", da.Prismatic("y"), s.ground.at(-x, -1, 0), block)
    # from the small sheave around the block to the large one
    route = [da.Pulley(r, -1), da.Pulley((R + r) / 2, -1, friction=0), da.Pulley(R, -1)]
    places = [(0, 0, 0), (-x, -1, 0), (0, 0, 0)]
    rope = da.PulleyRope(route, 1e6, tension=load / 2, positions=places)
    s.connect("rope", rope, s.ground, top, block, top)
    model = s.compile()
    tau = model.inverse_dynamics(np.zeros(2), np.zeros(2), np.zeros(2), x=np.zeros(model.nx))
    assert abs(tau[0]) == pytest.approx(load / 2 * (R - r), rel=1e-6)
    assert tau[1] == pytest.approx(0.0, abs=1e-3)


def test_a_winch_lifts_a_load_and_a_drum_does_too() -> None:
    s = da.System("crane", gravity=(0, -G, 0))
    load = s.body("load", mass=100.0, inertia=(1, 1, 1))
    s.connect("guide", da.Prismatic("y"), s.ground.at(0.55, -3, 0), load)
    route = ["point", da.Pulley(0.05, -1, friction=0), "point"]
    places = [(0, -0.0), (0.5, 0.2), (0.55, -3)]
    rope = da.PulleyRope(route, 1e6, tension=100 * G, positions=places, feed=-0.2, damping=1e4)
    s.connect("rope", rope, s.ground, s.ground, s.ground.at(0.5, 0.2, 0), load)
    result = da.simulate(s, 2.0)
    assert result["guide.position"][-1] == pytest.approx(0.4, abs=1e-3)
    assert result["rope.tension1"][-1] == pytest.approx(100 * G, rel=1e-3)
    assert abs(result["energy.balance"]).max() < 1e-6
    s = da.System("drum", gravity=(0, -G, 0))
    load = s.body("load", mass=100.0, inertia=(1, 1, 1))
    drum = s.body("drum", mass=10.0, inertia=(1, 1, 1))
    s.connect("guide", da.Prismatic("y"), s.ground.at(0.1, -3, 0), load)
    s.connect("axle", da.Revolute("z"), s.ground, drum)
    s.connect(
        "rope",
        da.PulleyRope(["point", da.Pulley(0.1)], 1e6, tension=100 * G, positions=[(0.1, -3), (0, 0)]),
        s.ground,
        load,
        drum,
    )
    s.drive("axle", position=da.Ramp(0.0, 6 * np.pi, 3.0))  # hauls in 3 turns
    result = da.simulate(s, 3.0)
    # the rope on the drum keeps its strain T/EA of 1e-3
    assert result["guide.position"][-1] == pytest.approx(0.6 * np.pi, abs=2e-3)
    assert abs(result["energy.balance"]).max() < 1e-5
    s.drive("axle", position=da.Ramp(0.0, 12 * np.pi, 3.0))
    with pytest.raises(da.DalembertError, match="overlap"):
        da.simulate(s, 3.0)


def test_a_heavy_rope_runs_off_its_sheave() -> None:
    """x'' = 2 rho g x / (2 m + rho L + I/r^2): without inertia of its own, the rope adds to its bodies."""
    rho, m, inertia = 2.0, 4.0, 0.04
    rope = da.PulleyRope(
        ["point", da.Pulley(0.1), "point"],
        1e7,
        tension=4 * G,
        positions=FLAT,
        density=rho,
        damping=1e5,
        gravity=(0, -G, 0),
    )
    result = da.simulate(hoist(rope, (m, m), inertia, speed=0.1), 1.0, rtol=1e-9)
    rate = math.sqrt(2 * rho * G / (2 * m + inertia / 0.01))
    expected = 0.1 / rate * np.sinh(rate * result.t)
    assert result["left.position"] == pytest.approx(expected, abs=3e-5)
    assert abs(result["energy.balance"]).max() < 1e-7


def test_speed_of_a_chain_varies_by_its_chords() -> None:
    """Between R omega cos(pi/z) and R omega: by pi/z (1/sin(pi/z) - 1/tan(pi/z)), 4.1 % for 11 teeth (Shigley)."""
    z, pitch, w = 11, 0.0127, 10.0
    chain = da.ChainDrive([da.Sprocket(z, pitch), da.Sprocket(z, pitch)], 1e6, 20 * 2 + z + 1)
    places = [(0, 0), (20 * pitch, 0)]
    found_speeds = []
    for angle in np.linspace(0, 2 * np.pi / z, 201):
        found = law_at(chain, places, rz1=float(angle), wz1=w, n1=0.0)
        found_speeds.append(found["dn1"])  # unstretched: the chain is slack
    speeds = np.array(found_speeds)
    R = pitch / (2 * math.sin(math.pi / z))
    assert speeds.max() == pytest.approx(w * R, rel=1e-3) and speeds.min() == pytest.approx(
        w * R * math.cos(np.pi / z), rel=1e-3
    )
    mean = w * z * pitch / (2 * np.pi)
    shigley = math.pi / z * (1 / math.sin(math.pi / z) - 1 / math.tan(math.pi / z))
    assert np.ptp(speeds) / mean == pytest.approx(shigley, rel=1e-3)
    assert shigley == pytest.approx(0.041, abs=1e-3)


def test_sprockets_turn_in_the_ratio_of_their_teeth() -> None:
    places = [(0, 0), (0.4, 0)]
    sprockets = [da.Sprocket(17, 0.0127), da.Sprocket(34, 0.0127)]
    links = da.ChainDrive(sprockets, 1e6, positions=places).links
    distance = 0.4
    chain = da.ChainDrive(sprockets, 1e6, links, damping=100.0)
    from scipy.optimize import brentq

    distance = brentq(lambda d: chain.path_length([(0, 0), (d, 0)]) - links * 0.0127 * 1.0002, 0.38, 0.45)
    s = drive(chain, distance)
    s.drive("P1", speed=20.0)
    s.connect("load", da.JointSpring(0.0, 0.5), "P2")
    s.initial("P2", speed=10.0)
    turns = 3
    result = da.simulate(s, turns * 2 * np.pi / 20.0)
    assert result["P2.position"][-1] == pytest.approx(turns * np.pi, abs=5e-3)
    assert np.ptp(result["P2.speed"][len(result.t) // 2 :]) > 1e-3  # polygon action


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: da.BeltDrive([da.Pulley(0.1), da.Pulley(0.2)], 1e4, 1.0, positions=[(0, 0), (0.5, 0)]), "too short"),
        (lambda: da.BeltDrive([da.Pulley(0.1), da.Pulley(0.2)], 1e4, 1.0, positions=[(0, 0), (0.25, 0)]), "overlap"),
        (lambda: da.BeltDrive([da.Pulley(0.1)], 1e4, 1.0), "two parts or more"),
        (lambda: da.BeltDrive([da.Pulley(0.1, friction=0), da.Pulley(0.2, friction=0)], 1e4, 1.0), "friction"),
        (lambda: da.BeltDrive(["point", da.Pulley(0.2)], 1e4, 1.0), "parts are"),
        (lambda: da.BeltDrive([da.Pulley(0.1), da.Pulley(0.2)], 1e4), "tension="),
        (lambda: da.BeltDrive([da.Pulley(0.1), da.Pulley(0.2)], 1e4, tension=3.0), "positions="),
        (lambda: da.ChainDrive([da.Sprocket(17, 0.01), da.Sprocket(17, 0.02)], 1e4, 50), "one pitch"),
        (lambda: da.ChainDrive([da.Sprocket(17, 0.01), da.Pulley(0.1)], 1e4, 50), "friction=0"),
        (lambda: da.ChainDrive([da.Sprocket(17, 0.01), da.Sprocket(17, 0.01)], 1e4), "number of links"),
        (lambda: da.PulleyRope(["point", da.Pulley(0.1), "point"], 1e4, 1.0, gravity=(0, -G, 0)), "density"),
        (lambda: da.PulleyRope([da.Pulley(0.1), "point"], 1e4, 1.0, feed=0.1), "first end"),
        (lambda: da.PulleyRope(["point", "point"], 1e4, -1.0), "length"),
        (lambda: da.Pulley(0.1, 2), "counterclockwise"),
        (lambda: da.Pulley(0.1, groove=4.0), "flanks"),
        (lambda: da.Pulley(-0.1), "radius"),
        (lambda: da.Sprocket(3, 0.01), "teeth"),
    ],
)
def test_bad_input_is_named(make: Any, words: str) -> None:
    with pytest.raises(da.ModelError, match=words):
        make()


def test_pulleys_that_meet_in_a_run_are_named() -> None:
    s = da.System("meeting", gravity=(0, 0, 0))
    one, two = (s.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in ("one", "two"))
    s.connect("A", da.Revolute("z"), s.ground, one)
    s.connect("B", da.Prismatic("x"), s.ground.at(0.5, 0, 0), two)
    s.connect("belt", da.BeltDrive([da.Pulley(0.1), da.Pulley(0.2, -1)], 1e3, 3.0), s.ground, one, two)
    s.initial("B", speed=-1.0)
    with pytest.raises(da.DalembertError, match=r"parts 1 .* and 2 .* overlap"):
        da.simulate(s, 1.0)
    short = da.BeltDrive([da.Pulley(0.1), da.Pulley(0.2)], 1e3, 0.5)
    with pytest.raises(da.DalembertError, match="more than twice its unloaded length"):
        da.simulate(drive(short, 0.5), 0.1)


def test_a_load_swings_out_of_the_plane_of_its_sheave() -> None:
    """As a pendulum of the length of its rope, without change of energy."""
    s = da.System("swing", gravity=(0, -G, 0))
    load, sheave = (s.body(name, mass=10.0, inertia=(0.1, 0.1, 0.1)) for name in ("load", "sheave"))
    s.connect("free", da.Free(), s.ground, load)
    s.connect("pin", da.Revolute("z"), s.ground, sheave)
    s.connect("hold", da.JointSpring(500.0, 1.0), "pin")
    rope = da.PulleyRope([da.Pulley(0.1), "point"], 1e5, tension=10.0 * G, positions=[(0, 0), (-0.1, -2)])
    s.connect("rope", rope, s.ground, sheave, load)
    s.place("load", position=(-0.1, -2, 0), velocity=(0, 0, 0.1))
    result = da.simulate(s, 2.0)
    swing = result["load.position"][:, 2]
    assert swing.max() == pytest.approx(0.1 / math.sqrt(G / 2.0), rel=5e-3)
    assert abs(result["energy.balance"]).max() < 1e-8


def test_belts_in_simd_batches_have_the_bits_of_single_states() -> None:
    belt = da.BeltDrive(
        [da.Pulley(0.05, friction=0.3), da.Pulley(0.1)], 1e5, tension=300.0, positions=[(0, 0), (0.5, 0)]
    )
    model = drive(belt, 0.5).compile()
    draw = np.random.default_rng(1)
    q, v, x = (draw.normal(size=(13, n)) * size for n, size in ((2, 1.0), (2, 10.0), (model.nx, 1e-3)))
    single = [model.forward_dynamics(q[k], v[k], x=x[k]) for k in range(13)]
    assert np.array_equal(model.forward_dynamics(q, v, x=x), single)
