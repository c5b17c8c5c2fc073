"""Ready mechanisms do what they are known for."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot

import dalembert as da

L = da.library


def turned(s: da.System, joint: str, by: float, n: int = 121, start: float | None = None) -> da.Result:
    """Return the motion of a mechanism whose joint is driven by an angle in a second."""
    if start is None:
        initial = s.initials.get(joint)
        start = 0.0 if initial is None or initial.position is None else float(initial.position[0])
    s.drive(joint, position=da.Polynomial((start, by)))
    return da.simulate(s, 1.0, times=np.linspace(0, 1, n), rtol=1e-9)


MAKERS: dict[str, tuple[Any, int]] = {
    "peaucellier": (L.peaucellier, 1),
    "hart": (L.hart, 1),
    "watt": (L.watt, 1),
    "chebyshev": (L.chebyshev, 1),
    "hoeken": (L.hoeken, 1),
    "roberts": (L.roberts, 1),
    "scott_russell": (L.scott_russell, 1),
    "watt_1": (lambda: L.watt_six_bar(1), 1),
    "watt_2": (lambda: L.watt_six_bar(2), 1),
    "stephenson_1": (lambda: L.stephenson_six_bar(1), 1),
    "stephenson_2": (lambda: L.stephenson_six_bar(2), 1),
    "stephenson_3": (lambda: L.stephenson_six_bar(3), 1),
    "jansen": (L.jansen, 1),
    "jansen_6": (lambda: L.jansen(6), 1),
    "klann": (L.klann, 1),
    "klann_4": (lambda: L.klann(4), 1),
    "quick_return": (L.quick_return, 1),
    "whitworth": (lambda: L.quick_return(0.2, 0.08, lever=0.15, height=0.0), 1),
    "scotch_yoke": (L.scotch_yoke, 1),
    "scissor_lift": (L.scissor_lift, 1),
    "pantograph": (L.pantograph, 2),
    "oldham": (L.oldham, 1),
    "cardan": (lambda: L.cardan_shaft(double=False), 1),
    "double_cardan": (L.cardan_shaft, 1),
    "geneva": (L.geneva, 1),
}


@pytest.mark.parametrize("name", MAKERS)
def test_mobility_is_right_and_it_can_be_drawn(name: str) -> None:
    make, dofs = MAKERS[name]
    s = make()
    found = da.mobility(s)
    assert found.mobility == found.general == dofs
    ax = s.draw(labels=False)
    assert len(ax.get_children()) > 5
    pyplot.close(ax.figure)


@pytest.mark.parametrize(
    ("s", "joint", "point", "by", "line"),
    [
        (L.peaucellier(), "C", "DP.P", -0.8, (1 - 0.16) / 0.8),
        (L.peaucellier(0.3, 0.9, 0.5, angle=0.0), "C", "BP.P", 1.0, (0.81 - 0.25) / 0.6),
        (L.hart(), "E", "CD.Q", -0.6, 0.25 * 0.75 / 0.4),
        (L.hart(1.0, 0.6, 0.15, share=0.4, angle=0.2), "E", "CD.Q", 0.3, 0.24 * 0.64 / 0.3),
        (L.scott_russell(), "O", "rod.P", 6.0, 0.0),
    ],
)
def test_exact_straight_lines(s: da.System, joint: str, point: str, by: float, line: float) -> None:
    x = turned(s, joint, by)[f"{point}.position"]
    assert np.abs(x[:, 0] - line).max() < 1e-9
    assert np.ptp(x[:, 1]) > 0.05


def test_nearly_straight_lines() -> None:
    # Hoeken: half a turn of the crank, within 0.1 % of the way
    x = turned(L.hoeken(1.0, angle=math.pi / 2), "O", math.pi)["coupler.P.position"]
    assert np.ptp(x[:, 0]) == pytest.approx(4.0, abs=1e-9)
    assert np.abs(x[:, 1] - 4).max() < 0.012
    # Chebyshev: 4 units high in the middle and 2 units aside, where the coupler stands upright
    x = turned(L.chebyshev(1.0), "A", math.atan2(4, 3) - (math.pi - math.atan2(4, 3)))["coupler.P.position"]
    assert np.allclose(x[[0, -1], :2], [(0, 4), (2, 4)], atol=1e-9)
    assert np.abs(x[:, 1] - 4).max() < 0.02
    # Watt: the middle of the coupler
    x = turned(L.watt(1.0, 0.4), "O", 0.15)["coupler.P.position"]
    assert x[-1, 1] > 0.14
    assert np.abs(x[:, 0]).max() < 2e-4
    # Roberts: through the pivot
    x = turned(L.roberts(), "A", -0.9, n=2001)["coupler.P.position"]
    assert np.hypot(np.abs(x[:, 0]) - 0.8, x[:, 1]).min() < 1e-3
    assert np.abs(x[np.abs(x[:, 0]) < 0.4, 1]).max() < 0.01


@pytest.mark.parametrize("name", ["watt_1", "watt_2", "stephenson_1", "stephenson_2", "stephenson_3"])
def test_cranks_of_six_bars_turn_round(name: str) -> None:
    s = MAKERS[name][0]()
    result = turned(s, "O", 2 * math.pi)
    for body in s.bodies:
        assert np.allclose(result[f"{body}.position"][0], result[f"{body}.position"][-1], atol=1e-7)
    assert len(da.mobility(s).loops) == 2


def jansen_foot(angle: float) -> complex:
    """Return the foot by complex numbers and the law of cosines."""
    numbers = (38, 41.5, 39.3, 40.1, 55.8, 39.4, 36.7, 65.7, 49, 50, 61.9, 7.8, 15)
    n = {k: v / 100 for k, v in zip("abcdefghijklm", numbers, strict=True)}

    def corner(p: complex, a: float, q: complex, b: float, sign: float) -> complex:
        d = abs(q - p)
        return p + (q - p) / d * a * cmath.exp(1j * sign * math.acos((a * a + d * d - b * b) / (2 * a * d)))

    x, y = cmath.rect(n["m"], angle), complex(-n["a"], -n["l"])
    w, v = corner(y, n["b"], x, n["j"], 1), corner(y, n["c"], x, n["k"], -1)
    u = corner(y, n["d"], w, n["e"], 1)
    t = corner(u, n["f"], v, n["g"], -1)
    return corner(t, n["h"], v, n["i"], -1)


def test_jansen_walks_as_his_numbers_say() -> None:
    result = turned(L.jansen(), "Z", 2 * math.pi, n=181)
    x = result["foot.S.position"]
    oracle = np.array([jansen_foot(2 * math.pi * t) for t in result.t])
    assert np.abs(x[:, 0] + 1j * x[:, 1] - oracle).max() < 1e-9
    low = x[:, 1] < x[:, 1].min() + 0.03 * np.ptp(x[:, 1])
    assert low.mean() > 0.38  # of the turn on the ground
    assert np.ptp(x[low, 0]) > 0.6 * np.ptp(x[:, 0])


def test_six_legs_are_three_pairs_in_step() -> None:
    s = L.jansen(6)
    assert len(s.bodies) == 37
    assert len(s.connections) - len(s.bodies) == 18
    result = turned(s, "Z", 2 * math.pi, n=121)
    one, two, three = (result[f"foot{k}.S{k}.position"] for k in (1, 2, 3))
    assert np.allclose(np.roll(three[:-1], 40, axis=0), one[:-1], atol=1e-8)  # a third of a turn behind
    mirrored = np.array([jansen_foot(math.pi - 2 * math.pi * t) for t in result.t])
    assert np.abs(-two[:, 0] + 1j * two[:, 1] - mirrored).max() < 1e-9


def test_klann_stands_for_two_fifths_of_a_turn() -> None:
    x = turned(L.klann(), "A", 2 * math.pi, n=361)["leg.G.position"]
    low = x[:, 1] < x[:, 1].min() + 0.06 * np.ptp(x[:, 1])
    assert low.mean() > 0.4
    assert np.ptp(x[low, 0]) > 0.6 * np.ptp(x[:, 0])


def test_the_shaper_returns_faster() -> None:
    crank, base = 0.1, 0.25
    result = turned(L.quick_return(crank, base), "O", 2 * math.pi, n=3601)
    lever = result["C.position"]
    swing = math.asin(crank / base)
    assert np.ptp(lever) == pytest.approx(2 * swing, rel=1e-5)
    share = (result["C.speed"] > 0).mean()
    assert share == pytest.approx((math.pi + 2 * swing) / (2 * math.pi), abs=1e-3)
    longer = turned(L.quick_return(0.2, 0.08, lever=0.15, height=0.0), "O", 2 * math.pi)
    assert longer["C.position"][-1] - longer["C.position"][0] == pytest.approx(2 * math.pi)  # Whitworth's turns round


def test_the_yoke_goes_as_a_cosine() -> None:
    result = turned(L.scotch_yoke(0.1), "O", 6.0)
    assert np.allclose(result["yoke_slide.position"], 0.1 * np.cos(result["O.position"]), atol=1e-12)


def test_the_scissors_lift_by_the_sine() -> None:
    result = turned(L.scissor_lift(4, 0.8, angle=0.3), "A0", 0.9)
    height = 4 * 0.8 * np.sin(result["A0.position"])
    for corner in ("platform.A4", "platform.P"):
        assert np.allclose(result[f"{corner}.position"][:, 1], height, atol=1e-9)


def test_the_pantograph_enlarges() -> None:
    s = L.pantograph(2.5)
    s.drive("O", position=da.Polynomial((s.initials["O"].position[0], 0.3)))
    s.drive("A", position=da.Polynomial((s.initials["A"].position[0], 0.2)))
    result = da.simulate(s, 1.0, times=np.linspace(0, 1, 11))
    assert np.allclose(result["second.Q.position"], 2.5 * result["DP.P.position"], atol=1e-9)


def test_oldham_passes_every_angle_on() -> None:
    result = turned(L.oldham(0.02), "input_shaft", 7.0)
    assert np.allclose(result["output_shaft.position"], result["input_shaft.position"], atol=1e-9)
    centre = result["disc.position"][:, :2] - (0.01, 0)
    assert np.allclose(np.linalg.norm(centre, axis=1), 0.01)


@pytest.mark.parametrize("bend", [0.2, 0.9])
def test_one_cardan_joint_is_uneven_and_two_are_not(bend: float) -> None:
    result = turned(L.cardan_shaft(bend, double=False), "input_bearing", 2 * math.pi)
    a, b = result["input_bearing.position"], result["output_bearing.position"]
    assert np.allclose(np.sin(a) * np.cos(b), math.cos(bend) * np.sin(b) * np.cos(a), atol=1e-9)
    ratio = result["output_bearing.speed"] / result["input_bearing.speed"]
    assert (ratio.min(), ratio.max()) == pytest.approx((math.cos(bend), 1 / math.cos(bend)), rel=1e-3)
    for parallel in (True, False):
        result = turned(L.cardan_shaft(bend, parallel=parallel), "input_bearing", 2 * math.pi)
        assert np.allclose(result["output_bearing.position"], result["input_bearing.position"], atol=1e-9)


@pytest.mark.parametrize("slots", [3, 4, 6])
def test_the_pin_of_a_geneva_drive_stays_in_its_slot(slots: int) -> None:
    s = L.geneva(slots, 0.1)
    result = turned(s, "crank_shaft", 4 * math.pi, n=801, start=-math.pi)
    crank, wheel = result["crank_shaft.position"], result["wheel_shaft.position"]
    assert np.allclose(wheel, L.geneva_angle(slots, crank), atol=1e-9)
    assert wheel[-1] - wheel[0] == pytest.approx(-2 * 2 * math.pi / slots)
    inside = np.abs((crank + math.pi) % (2 * math.pi) - math.pi) < math.pi / 2 - math.pi / slots
    pin = result["crank.pin.position"][inside] - (0.1, 0, 0)
    turn = wheel[inside]
    away = np.angle((pin[:, 0] + 1j * pin[:, 1]) * np.exp(-1j * turn)) - math.pi  # as seen from the wheel
    slot = 2 * math.pi / slots
    assert np.abs((away + slot / 2) % slot - slot / 2).max() < 1e-8
    assert np.abs(result["wheel_shaft.speed"][~inside]).max() < 1e-9
    assert np.abs(np.diff(result["wheel_shaft.speed"])).max() < 0.1 * np.abs(result["wheel_shaft.speed"]).max()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: L.peaucellier(0.1), r"arm and bar of 1 m and 0.4 m reach over 0.6 m to 1.4 m: they cannot close"),
        (lambda: L.peaucellier(bar=1.5), r"shorter than the arms"),
        (lambda: L.hart(crank=0.9), r"the crossed bars reach 0.25 m to 0.75 m"),
        (lambda: L.roberts(0.3, 1.0), r"longer than half the coupler, 0.5 m"),
        (lambda: L.watt_six_bar(3), r"use one of 1, 2"),
        (lambda: L.watt_six_bar(1, {"Q": (0, 0)}), r"no such joint: O, A, B"),
        (lambda: L.jansen(0), r"1 or more"),
        (lambda: L.jansen(numbers={"z": 1.0}), r"no such number"),
        (lambda: L.jansen(numbers={"j": 5.0}), r"lengths b and j of 0.415 m and 0.05 m reach"),
        (lambda: L.quick_return(rod_length=0.01), r"the rod must be longer"),
        (lambda: L.scissor_lift(angle=2.0), r"vertical at pi/2"),
        (lambda: L.pantograph(0.5), r"above 1"),
        (lambda: L.cardan_shaft(1.5), r"less than 80 degrees"),
        (lambda: L.geneva(2), r"3 or more"),
    ],
)
def test_impossible_dimensions_are_reported(make: Any, words: str) -> None:
    with pytest.raises(da.ModelError, match=words):
        make()
