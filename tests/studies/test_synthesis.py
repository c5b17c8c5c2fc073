"""Linkages through points and angles: closed forms of four-bars, by other equations than those that found them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError

# Wampler, Morgan, Sommese 1992, problem 3: nine points that 64 real four-bars and their cognates go through
NINE = np.array(
    [(0.25, 0), (0.52, 0.1), (0.8, 0.7), (1.2, 1.0), (1.4, 1.3), (1.1, 1.48), (0.7, 1.4), (0.2, 1.0), (0.02, 0.4)]
)


def parametric_four_bar(**numbers: float) -> da.System:
    s = da.System("four-bar", gravity=(0, 0, 0))
    given = {"ax": 0.0, "ay": 0.0, "dx": 2.0, "dy": 0.1, "r1": 0.7, "r2": 2.0, "r3": 1.5, "px": 1.0, "py": 0.5}
    p = {name: s.parameter(name, value) for name, value in {**given, **numbers}.items()}
    crank, coupler, rocker = s.body("crank"), s.body("coupler"), s.body("rocker")
    s.connect("A", da.Revolute("z"), s.ground.at(p["ax"], p["ay"], 0), crank)
    s.connect("B", da.Revolute("z"), crank.at(p["r1"], 0, 0), coupler)
    s.connect("D", da.Revolute("z"), s.ground.at(p["dx"], p["dy"], 0), rocker)
    s.connect("C", da.Revolute("z"), coupler.at(p["r2"], 0, 0), rocker.at(p["r3"], 0, 0))
    coupler.marker("P", p["px"], p["py"], 0)
    return s


BOUNDS: dict[str, Any] = {
    **dict.fromkeys(("ax", "ay", "dx", "dy"), (-2.0, 3.0)),
    **dict.fromkeys(("r1", "r2", "r3"), (0.1, 3.0)),
    **dict.fromkeys(("px", "py"), (-3.0, 3.0)),
}


def gap(v: dict[str, float], point: Any) -> float:
    """Return how far a four-bar is from reaching a point, by circles alone.

    The coupler triangle is laid with P on the point and B on the crank's circle; then C is to lie on the rocker's.
    """
    A, D, P = complex(v["ax"], v["ay"]), complex(v["dx"], v["dy"]), complex(*point)
    z = complex(v["px"], v["py"])
    distance, own = abs(P - A), abs(z)
    cosine = (v["r1"] ** 2 + distance**2 - own**2) / (2 * v["r1"] * distance)
    best = np.inf
    for side in (1, -1):
        B = A + v["r1"] * (P - A) / distance * np.exp(1j * side * np.arccos(np.clip(cosine, -1, 1)))
        C = B + v["r2"] * (P - B) / z
        best = min(best, abs(abs(C - D) - v["r3"]))
    return float(best)


def places(v: dict[str, float], points: Any) -> tuple[Any, Any, complex, complex]:
    """Return joints B and C at all points, and pivots A and D, by circles alone."""
    A, D, z = complex(v["ax"], v["ay"]), complex(v["dx"], v["dy"]), complex(v["px"], v["py"])
    B, C = [], []
    for P in points[:, 0] + 1j * points[:, 1]:
        cosine = (v["r1"] ** 2 + abs(P - A) ** 2 - abs(z) ** 2) / (2 * v["r1"] * abs(P - A))
        both = [
            A + v["r1"] * (P - A) / abs(P - A) * np.exp(s * 1j * np.arccos(np.clip(cosine, -1, 1))) for s in (1, -1)
        ]
        best = min(both, key=lambda B, P=P: abs(abs(B + v["r2"] * (P - B) / z - D) - v["r3"]))
        B.append(best)
        C.append(best + v["r2"] * (P - best) / z)
    return np.array(B), np.array(C), A, D


@pytest.mark.parametrize("made", [False, True], ids=["problem 3 of Wampler, Morgan and Sommese", "a crank-rocker's"])
def test_a_four_bar_without_defects_goes_through_nine_points_from_random_starts(made: bool) -> None:
    """By circles alone: the crank turns once through the points, and never lines coupler and rocker up on the way."""
    points = NINE
    if made:
        turn = np.linspace(0, 2 * np.pi, 9, endpoint=False)
        motion = da.kinematics(parametric_four_bar(dx=2.2, dy=0.0, r1=0.7).compile(), drive="A", values=turn)
        points = motion["coupler.P.position"][:, :2]
    found = da.synthesize(parametric_four_bar(), BOUNDS, {"coupler.P": points}, drive="A", defects="avoid")
    assert found.exact and found[0].error < 1e-9
    assert not found[0].defects
    v = found[0].values
    assert max(gap(v, point) for point in points) < 1e-8
    B, C, A, D = places(v, points)
    side = ((C - B).conj() * (D - C)).imag
    assert (side > 0).all() or (side < 0).all()
    steps = np.angle(np.roll(B - A, -1) / (B - A))
    assert min(np.mod(steps, 2 * np.pi).sum(), np.mod(-steps, 2 * np.pi).sum()) == pytest.approx(2 * np.pi)
    bars = np.sort([v["r1"], v["r2"], v["r3"], abs(D - A)])
    assert bars[0] + bars[3] < bars[1] + bars[2] and v["r1"] == bars[0]  # Grashof: a crank that goes round


def test_most_four_bars_through_nine_points_have_defects() -> None:
    found = da.synthesize(parametric_four_bar(), BOUNDS, {"coupler.P": NINE}, drive="A", solutions=6)
    assert len(found) == 6
    assert all(max(gap(one.values, point) for point in NINE) < 1e-8 for one in found)
    assert {text.partition(":")[0] for one in found for text in one.defects} >= {"circuit", "order"}


@pytest.mark.parametrize("count", [3, 4, 5])
@pytest.mark.parametrize("names", [("crank.angle", "rocker.angle"), ("D", "A")], ids=["angles", "joints"])
def test_pairs_of_angles_obey_freudensteins_equation(count: int, names: tuple[str, str]) -> None:
    """The logarithm from 1 to 2 over sixty degrees each (Freudenstein 1955), from random starts."""
    s = da.System("function generator", gravity=(0, 0, 0))
    b, beta, c, d, delta = (s.parameter(name, 1.0) for name in ("b", "beta", "c", "d", "delta"))
    crank, coupler, rocker = (s.body(n) for n in ("crank", "coupler", "rocker"))
    s.connect("A", da.Revolute("-z"), crank, s.ground)
    s.connect("B", da.Revolute("z"), crank.at(b * np.cos(beta), b * np.sin(beta), 0), coupler)
    s.connect("D", da.Revolute("z"), rocker, s.ground.at(1, 0, 0))
    s.connect("C", da.Revolute("z"), coupler.at(c, 0, 0), rocker.at(d * np.cos(delta), d * np.sin(delta), 0))
    x = 1.5 - 0.5 * np.cos(np.pi * (2 * np.arange(count) + 1) / (2 * count))
    phi, psi = np.radians(60) * (x - 1), np.radians(60) * np.log2(x)
    bounds = dict.fromkeys(("b", "c", "d"), (0.1, 10.0)) | dict.fromkeys(("beta", "delta"), (-np.pi, np.pi))
    of = {"crank.angle": phi, "rocker.angle": psi, "A": phi, "D": -psi}  # D turns the ground against the rocker
    found = da.synthesize(s, bounds, {name: of[name] for name in names}, drive="A", defects="avoid")
    assert found.exact and not found[0].defects
    v = found[0].values
    one, two = phi + v["beta"], psi + v["delta"]
    K = (v["b"] ** 2 + v["d"] ** 2 + 1 - v["c"] ** 2) / (2 * v["b"] * v["d"])
    assert np.abs(K + np.cos(two) / v["b"] - np.cos(one) / v["d"] - np.cos(one - two)).max() < 1e-9
    if count == 5:  # within these bounds it is the only one
        assert [round(v[name], 4) for name in ("b", "c", "d")] == [3.4329, 0.8153, 3.5593]


def test_three_poses_of_a_coupler_are_met() -> None:
    points, angles = np.array([(1.0, 1.0), (1.6, 1.1), (2.1, 0.8)]), np.array([0.1, -0.2, -0.6])
    system = parametric_four_bar(ax=0.2, dx=2.5)
    over = {name: BOUNDS[name] for name in ("r1", "r2", "r3", "px", "py", "dx", "dy")}
    found = da.synthesize(system, over, {"coupler.P": points, "coupler.angle": angles}, starts=60, drive="A")
    assert found.exact
    v = found[0].values
    for point, angle in zip(points, angles, strict=True):
        B = complex(*point) - complex(v["px"], v["py"]) * np.exp(1j * angle)
        C = B + v["r2"] * np.exp(1j * angle)
        assert abs(abs(B - complex(0.2, 0.0)) - v["r1"]) < 1e-9
        assert abs(abs(C - complex(v["dx"], v["dy"])) - v["r3"]) < 1e-9


def test_what_cannot_be_met_is_approached_with_closed_loops() -> None:
    t = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    square = np.stack([1 + np.clip(np.cos(t), -0.6, 0.6), 1 + np.clip(np.sin(t), -0.6, 0.6)], axis=1)
    found = da.synthesize(
        parametric_four_bar(), BOUNDS, {"coupler.P": square}, starts=3, seed=2, max_iterations=40, defects=False
    )
    assert not found.exact and 1e-6 < found[0].error < 0.6
    gaps = found[0].model.constraint_residual(found[0].q)
    assert np.abs(gaps).max() < 1e-10


def test_a_spatial_linkage_is_found_too() -> None:
    """An RSSR with a given rocker at three crank angles: the coupler is as long wherever it is."""
    s = da.System("RSSR", gravity=(0, 0, 0))
    a, b, height = (s.parameter(n, v) for n, v in {"a": 1.0, "b": 1.2, "height": 0.5}.items())
    crank, rocker = s.body("crank"), s.body("rocker")
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("D", da.Revolute("x"), s.ground.at(2, 0, height), rocker)
    s.connect("bar", da.Distance(2.0), crank.at(a, 0, 0), rocker.at(0, b, 0))
    phi = np.array([0.2, 0.5, 0.8])
    psi = da.kinematics(s.compile().with_parameters({"a": 0.9, "b": 1.5}), drive="A", values=phi)["D.position"]
    over = {"a": (0.2, 3.0), "b": (0.2, 3.0), "height": (-2.0, 2.0)}
    found = da.synthesize(s, over, {"A": phi, "D": psi}, starts=20, defects=False)
    assert found.exact
    v = found[0].values
    B = np.stack([v["a"] * np.cos(phi), v["a"] * np.sin(phi), 0 * phi], axis=1)
    C = np.stack([2 + 0 * psi, v["b"] * np.cos(psi), v["height"] + v["b"] * np.sin(psi)], axis=1)
    assert np.allclose(np.linalg.norm(C - B, axis=1), 2.0, atol=1e-9)


def test_defects_are_reported() -> None:
    """Points of a crank-rocker's path, shuffled, are passed in another order; from its other circuit, on another."""
    from dalembert.studies.optimization.linkage_defects import find_defects

    model = parametric_four_bar(dx=2.2, dy=0.0, r1=0.7).compile()
    motion = da.kinematics(model, drive="A", values=np.linspace(0.1, 5.9, 8))
    assert find_defects(model, motion.q, "A") == ()
    (order,) = find_defects(model, motion.q[[0, 3, 1, 5, 2]], "A")
    assert order.startswith("order")
    other = da.circuits(model, "A", state=motion.q[0])
    away = next(c for c in other if not c.contains(motion.q[0]))
    (circuit,) = find_defects(model, np.vstack([motion.q[:3], away.at(0.5)[:1]]), "A")
    assert circuit.startswith("circuit") and "3 together" in circuit
    # a double rocker passes dead points of its crank: both sides of one are two branches
    rocking = parametric_four_bar(dx=2.2, dy=0.0, r1=1.9, r2=1.0, r3=1.8).compile()
    way = da.circuits(rocking, "A")[0]
    q = way.paths[0].q
    assert way.dead_points["A"]
    told = find_defects(rocking, q[:: max(1, len(q) // 8)], "A")
    assert any(text.startswith("branch") for text in told)


@pytest.mark.parametrize(
    ("over", "through", "match"),
    [
        ({"r9": (0, 1)}, {"coupler.P": NINE}, "r9"),
        ({"r1": (2, 1)}, {"coupler.P": NINE}, "cross"),
        ({"r1": (0.1, 1)}, {"coupler.Q": NINE}, "coupler.Q"),
        ({"r1": (0.1, 1)}, {"coupler.P": NINE[:, :1]}, "give points"),
        ({"r1": (0.1, 1)}, {"coupler.P": NINE, "coupler.angle": [0.0]}, "all positions"),
        ({"r1": (0.1, 1)}, {"coupler.P": [[np.nan, 1.0]]}, "finite"),
        ({"r1": (0.1, 1)}, {}, "dict"),
    ],
)
def test_what_is_wrong_is_named(over: Any, through: Any, match: str) -> None:
    with pytest.raises(ModelError, match=match):
        da.synthesize(parametric_four_bar(), over, through)


def test_a_linkage_has_a_picture(tmp_path: Path) -> None:
    points = NINE[:4]
    found = da.synthesize(parametric_four_bar(), BOUNDS, {"coupler.P": points}, starts=20)
    found[0].plot(path=tmp_path / "linkage.png")
    assert (tmp_path / "linkage.png").stat().st_size > 5000
    assert "defects" in str(found) and "largest error" in str(found[0])


def test_options_for_defects_are_named() -> None:
    with pytest.raises(ModelError, match="'avoid'"):
        da.synthesize(parametric_four_bar(), BOUNDS, {"coupler.P": NINE}, defects="none")
