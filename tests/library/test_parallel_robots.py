"""Parallel robots, suspensions and steering against closed forms and independent solutions."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import least_squares

import dalembert as da

L = da.library


def started(s: da.System, values: dict[str, float]) -> da.Result:
    """Return the start of a system whose joints have been put somewhere."""
    for name, value in values.items():
        s.initial(name, position=value)
    return da.simulate(s, 1e-6)


@pytest.mark.parametrize(
    ("make", "dofs"),
    [
        (L.stewart, 6),
        (lambda: L.stewart(joints="SPS"), 12),
        (L.delta, 3),
        (L.three_rrr, 3),
        (L.five_bar, 2),
        (L.double_wishbone, 2),
        (L.macpherson, 2),
        (L.ackermann, 1),
        (L.rack_steering, 1),
    ],
)
def test_parallel_robots_have_their_mobility(make: Any, dofs: int) -> None:
    s = make()
    assert da.mobility(s).mobility == dofs
    assert s.draw(labels=False) is not None


def test_stewart_goes_where_its_legs_put_it() -> None:
    s = L.stewart(0.8, 0.5)
    place, turn = np.array([0.1, -0.05, 1.1]), da.rotation.bryant(0.1, -0.15, 0.2)
    lengths = L.stewart_lengths(s, place, turn)
    corners = [math.radians(a) for a in (20, 100, 140, 220, 260, 340)]
    tops = [math.radians(a) for a in (40, 80, 160, 200, 280, 320)]
    for k in range(6):
        b = 0.8 * np.array([math.cos(corners[k]), math.sin(corners[k]), 0])
        p = 0.5 * np.array([math.cos(tops[k]), math.sin(tops[k]), 0])
        assert lengths[k] == pytest.approx(np.linalg.norm(place + turn @ p - b))
    result = started(s, {f"upper{k + 1}_slide": lengths[k] for k in range(6)})
    assert np.allclose(result["platform.C.position"][0], place, atol=1e-9)
    assert np.allclose(result["platform.P1.position"][0], place + turn @ s["platform.P1"].position, atol=1e-9)
    many = L.stewart_lengths(s, [place, place + np.array([0, 0, 0.1])], turn)
    assert many.shape == (2, 6)
    assert np.allclose(many[0], lengths)


def test_delta_goes_where_its_arms_put_it_and_never_turns() -> None:
    s = L.delta()
    place = np.array([0.08, -0.12, -0.55])
    angles = L.delta_angles(s, place)
    for k, theta in enumerate(angles):  # the forearm has its length, from elbow to wrist
        out = np.array([math.cos(k * 2 * math.pi / 3), math.sin(k * 2 * math.pi / 3), 0])
        elbow = (0.25 + 0.3 * math.cos(theta)) * out - (0, 0, 0.3 * math.sin(theta))
        assert np.linalg.norm(place + 0.08 * out - elbow) == pytest.approx(0.65)
    result = started(s, {f"H{k + 1}": angles[k] for k in range(3)})
    assert np.allclose(result["platform.C.position"][0], place, atol=1e-8)
    assert np.allclose(result["platform.bryant"][0], 0, atol=1e-8)
    with pytest.raises(
        da.ModelError, match=r"from hip to wrist of leg 1 it is .* arm and forearm reach 0.35 to 0.95 m"
    ):
        L.delta_angles(s, (0, 0, -1.2))


def test_three_rrr_goes_where_its_cranks_put_it() -> None:
    s = L.three_rrr()
    angles = L.three_rrr_angles(s, (0.1, -0.05), 0.3)
    result = started(s, {f"A{k + 1}": angles[k] for k in range(3)})
    assert np.allclose(result["platform.P.position"][0], (0.1, -0.05, 0), atol=1e-9)
    corner = (0.1, -0.05, 0) + 0.3 * np.array([math.cos(math.pi / 2 + 0.3), math.sin(math.pi / 2 + 0.3), 0])
    assert np.allclose(result["platform.C1.position"][0], corner, atol=1e-9)
    with pytest.raises(da.ModelError, match=r"links of leg 1 of 0.6 m and 0.6 m reach over .* m to 1.2 m"):
        L.three_rrr_angles(s, (0.0, -0.9))


def test_five_bar_elbows_are_outward() -> None:
    s = L.five_bar()
    result = da.simulate(s, 1e-6)
    assert result["left_arm.B.position"][0, 0] < 0
    assert result["right_arm.D.position"][0, 0] > 0.3


def test_equal_parallel_wishbones_keep_the_wheel_upright() -> None:
    points = {
        "LF": (0.2, 0.3, 0.2), "LR": (-0.2, 0.3, 0.2), "LB": (0.0, 0.7, 0.2),
        "UF": (0.2, 0.3, 0.5), "UR": (-0.2, 0.3, 0.5), "UB": (0.0, 0.7, 0.5),
        "TI": (-0.1, 0.3, 0.3), "TO": (-0.1, 0.7, 0.3),
    }  # fmt: skip
    s = L.double_wishbone(points)
    s.drive("LF", position=da.Polynomial((-0.3, 0.6)))
    s.drive("rack_slide", position=0.3)
    result = da.simulate(s, 1.0, times=np.linspace(0, 1, 21))
    assert np.allclose(result["upright.bryant"], 0, atol=1e-9)
    rise = result["upright.W.position"][:, 2] - 0.32
    assert np.allclose(rise, 0.4 * np.sin(result["LF.position"]), atol=1e-9)


@pytest.mark.parametrize("make", [L.double_wishbone, L.macpherson])
def test_hard_points_keep_their_distances(make: Any) -> None:
    s = make()
    s.drive("LF", position=da.Polynomial((-0.2, 0.4)))
    s.drive("rack_slide", position=da.Polynomial((0.34, 0.04)))
    result = da.simulate(s, 1.0, times=np.linspace(0, 1, 6))
    strut = make is L.macpherson
    ball = {"lower": "LB", "upper": "UB"}
    moving = ["LB", "TO", "W", "S"] + ([] if strut else ["UB"])
    first = {p: s[f"ground.{p}"].position for p in ("LF", "M" if strut else "UF")}
    homes = {"lower": ("LF", "LR"), **({} if strut else {"upper": ("UF", "UR")})}
    start = {p: da.simulate(make(), 1e-9)[f"upright.{p}.position"][0] for p in moving}
    pivots = {p: da.simulate(make(), 1e-9)[f"{b}.{p}.position"][0] for b, pair in homes.items() for p in pair}
    inner = da.simulate(make(), 1e-9)["tie_rod.TI.position"][0]
    for k in range(6):
        lift, rack = result["LF.position"][k], result["rack_slide.position"][k]
        tie = np.array([inner[0], rack, inner[2]])

        def gaps(x: np.ndarray, lift: float = lift, tie: np.ndarray = tie) -> list[float]:
            now = dict(zip(moving, x.reshape(-1, 3), strict=True))
            rows = [
                np.linalg.norm(now[a] - now[b]) - np.linalg.norm(start[a] - start[b])
                for a, b in combinations(moving, 2)
            ]
            for body, pair in homes.items():
                for p in pair:
                    end = ball[body]
                    rows.append(np.linalg.norm(now[end] - pivots[p]) - np.linalg.norm(start[end] - pivots[p]))
            rows.append(np.linalg.norm(now["TO"] - tie) - np.linalg.norm(start["TO"] - inner))
            if strut:  # the mount stays on the strut's line, fixed in the upright
                axes = [
                    np.column_stack(
                        [c["W"] - c["LB"], c["TO"] - c["LB"], np.cross(c["W"] - c["LB"], c["TO"] - c["LB"])]
                    )
                    for c in (start, now)
                ]
                line = axes[1] @ np.linalg.solve(axes[0], first["M"] - start["LB"])
                rows += list(np.cross(line, first["M"] - now["LB"]))
            axis = pivots["LF"] - pivots["LR"]
            axis = axis / np.linalg.norm(axis)
            turned = da.rotation.axis_angle(axis if np.cross(axis, start["LB"] - pivots["LR"])[2] > 0 else -axis, lift)
            rows += list(now["LB"] - pivots["LF"] - turned @ (start["LB"] - pivots["LF"]))
            return rows

        guess = np.concatenate([start[p] for p in moving])
        found = least_squares(gaps, guess, xtol=1e-15, ftol=1e-15, gtol=1e-15).x.reshape(-1, 3)
        for p, x in zip(moving, found, strict=True):
            assert np.allclose(result[f"upright.{p}.position"][k], x, atol=1e-6), (p, k)


def test_a_strut_steers_about_the_line_from_ball_to_mount() -> None:
    s = L.macpherson()
    s.drive("LF", position=0.0)
    s.drive("rack_slide", position=da.Polynomial((0.36, 0.05)))
    result = da.simulate(s, 1.0, times=np.linspace(0, 1, 11))
    assert np.ptp(result["upright.LB.position"], axis=0).max() < 1e-9
    axis = s["ground.M"].position - result["upright.LB.position"][0]
    spin = result["upright.angular_velocity"][5]
    assert np.linalg.norm(np.cross(spin, axis)) < 1e-8 * np.linalg.norm(spin)
    assert np.linalg.norm(spin) > 0.2


def test_the_trapezoid_meets_ackermann_where_it_should() -> None:
    track, base, exact = 1.4, 2.6, math.radians(30)
    s = L.ackermann(track, base, 0.2, exact=exact)
    s.drive("K1", position=da.Polynomial((float(s.initials["K1"].position[0]), exact)))
    result = da.simulate(s, 1.0, times=np.linspace(0, 1, 31), rtol=1e-10)
    inner, outer = (result[f"{k}.position"] - result[f"{k}.position"][0] for k in ("K1", "K2"))
    assert 1 / math.tan(outer[-1]) - 1 / math.tan(inner[-1]) == pytest.approx(track / base, rel=1e-8)
    ideal = np.arctan2(1.0, 1 / np.tan(inner[1:]) + track / base)
    assert np.degrees(np.abs(outer[1:] - ideal)).max() < 1.0
    assert result["left.A.position"][0, 0] < 0  # the arms point back


def test_a_rack_steers_both_sides_alike() -> None:
    turns = []
    for way in (0.05, -0.05):
        s = L.rack_steering()
        s.drive("rack_slide", position=da.Polynomial((0.0, way)))
        result = da.simulate(s, 1.0)
        turns.append([float(np.ptp(result[f"{k}.position"][[0, -1]])) for k in ("K1", "K2")])
    assert np.allclose(turns[0], turns[1][::-1], atol=1e-7)
    assert min(turns[0]) > 0.3


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: L.stewart(base_gap=1.2), r"less than 60 degrees"),
        (lambda: L.stewart(joints="PSS"), r"'UPS' or 'SPS'"),
        (lambda: L.delta(position=(0, 0, -2.0)), r"from hip to wrist"),
        (lambda: L.three_rrr(position=(2, 0)), r"cannot close"),
        (lambda: L.five_bar(position=(0.15, 2.0)), r"left links of 0.25 m and 0.35 m reach over 0.1 m to 0.6 m"),
        (lambda: L.double_wishbone({"XX": (0, 0, 0)}), r"no such hard point: LF, LR"),
        (lambda: L.double_wishbone({"LB": (0.0, 0.35, 0.2)}), r"they are collinear"),
        (lambda: L.ackermann(lean=1.7), r"point back"),
        (lambda: L.rack_steering(rack=1.5), r"inside the ends of the arms"),
    ],
)
def test_impossible_dimensions_are_reported(make: Any, words: str) -> None:
    with pytest.raises(da.ModelError, match=words):
        make()
