"""Workspaces against geometry."""

from __future__ import annotations

import math

import numpy as np
import pytest
from systems.linkages import five_bar

import dalembert as da

BASE, PLATFORM, LINK = 1.0, 0.3, 0.6


def three_rrr() -> da.System:
    s = da.System("3-RRR")
    platform = s.body("platform", mass=1.0, inertia=(1, 1, 1))
    for k in range(3):
        a = math.pi / 2 + 2 * math.pi * k / 3
        upper, lower = s.body(f"upper {k}", da.rod(LINK, 1.0)), s.body(f"lower {k}", da.rod(LINK, 1.0))
        s.connect(f"A{k}", da.Revolute("z"), s.ground.at(BASE * math.cos(a), BASE * math.sin(a), 0), upper)
        s.connect(f"B{k}", da.Revolute("z"), upper.at(LINK, 0, 0), lower)
        end = platform.at(PLATFORM * math.cos(a), PLATFORM * math.sin(a), 0)
        s.connect(f"C{k}", da.Revolute("z"), lower.at(LINK, 0, 0), end)
        s.initial(f"A{k}", position=a + math.pi - 0.8, guess=True)
        s.initial(f"B{k}", position=1.4, guess=True)
    return s


def legs(x: np.ndarray, y: np.ndarray, turn: float) -> np.ndarray:
    """Return how far the platform's corners are from the feet of their legs, (3, ...)."""
    a = math.pi / 2 + 2 * math.pi * np.arange(3).reshape(-1, *[1] * np.ndim(x)) / 3
    return np.hypot(
        x + PLATFORM * np.cos(a + turn) - BASE * np.cos(a), y + PLATFORM * np.sin(a + turn) - BASE * np.sin(a)
    )


def test_a_3_rrr_platform_reaches_where_its_legs_do() -> None:
    x, turn = np.linspace(-0.8, 0.8, 81), 0.2
    w = da.workspace(three_rrr(), "platform", (x, x), rotation=turn, actuated=("A0", "A1", "A2"))
    X, Y = np.meshgrid(x, x, indexing="ij")
    inside = (legs(X, Y, turn) < 2 * LINK).all(0)
    np.testing.assert_array_equal(w.reachable, inside)
    np.testing.assert_array_equal(w.ways, np.where(inside, 8, 0))
    assert len(w.modes) == 8 and w.mode in w.modes
    assert len(w.boundary) == 1
    curve = w.boundary[0]
    np.testing.assert_array_equal(curve[0], curve[-1])
    # found to a part of the grid of 2^-12
    assert np.abs(legs(*curve.T, turn).max(0) - 2 * LINK).max() < 1e-5
    assert w.size == pytest.approx(inside.sum() * (x[1] - x[0]) ** 2)
    assert "8 at" in str(w) and "A0, A1, A2" in str(w)


def test_jacobian_and_condition_of_a_3_rrr() -> None:
    x = np.linspace(-0.3, 0.3, 7)
    w = da.workspace(
        three_rrr(), "platform", (x, x), rotation=0.1, actuated=("A0", "A1", "A2"), characteristic_length=0.5
    )
    model = w.model
    for mode in w.modes[:3]:
        q, there = w.configurations(mode)
        assert there.all()
        K = w.jacobians(mode)
        assert np.allclose(np.linalg.cond(K), w.condition(mode))
        # each row by hand: the lower link's direction e carries no change of length,
        # e . (velocity of the corner) = e . (velocity of the elbow) = u e . n l
        for i, j in ((0, 0), (3, 5), (6, 2)):
            for k in range(3):
                elbow, corner, foot = (
                    model.pose(m, q[i, j]).position
                    for m in (f"lower {k}", model.system[f"lower {k}"].at(LINK, 0, 0), f"upper {k}")
                )
                e, arm = corner - elbow, elbow - foot
                pace = e[1] * arm[0] - e[0] * arm[1]
                r = corner - np.array([x[i], x[j], 0.0])
                row = np.array([e[0] * 0.5, e[1] * 0.5, e[1] * r[0] - e[0] * r[1]]) / pace
                np.testing.assert_allclose(K[i, j, k] * [1, 1, 1], row @ turned(0.1), atol=1e-8)


def turned(angle: float) -> np.ndarray:
    """Return from motions along the platform's axes to those along the world's."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def test_five_bar_in_another_plane() -> None:
    s = five_bar()
    s.initial("A", position=-2.0, guess=True)
    s.initial("B", position=-1.0, guess=True)
    x, z = np.linspace(-1.03, 3.47, 46), np.linspace(-3, 3, 51)
    w = da.workspace(s, s["b"].at(1.5, 0, 0), (x, z), plane="xz", actuated=("A", "B"))
    X, Z = np.meshgrid(x, z, indexing="ij")
    inside = (np.hypot(X, Z) < 3) & (np.hypot(X - 2.5, Z) < 3)
    np.testing.assert_array_equal(w.ways, np.where(inside, 4, 0))
    # where it yields though A and B are locked, the outer links are in line
    for mode in w.modes:
        q, there = w.configurations(mode)
        lean = [w.model.pose(name, q[there]).rotation[:, :, 0] for name in ("b", "d")]
        sine = lean[0][:, 2] * lean[1][:, 0] - lean[0][:, 0] * lean[1][:, 2]
        d = w.determinant(mode)[there]
        assert len(set(np.sign(sine * d)[np.abs(sine) > 1e-3])) == 1


def two_r(**stops: tuple[float, float]) -> tuple[da.System, da.Marker]:
    s = da.System("2R")
    upper, lower = s.body("upper", da.rod(1.0, 1.0)), s.body("lower", da.rod(0.7, 1.0))
    ends = {name: dict(zip(("lower", "upper"), stop, strict=True)) for name, stop in stops.items()}
    s.connect("A", da.Revolute("z", **ends.get("A", {})), s.ground, upper)
    s.connect("B", da.Revolute("z", **ends.get("B", {})), upper.at(1, 0, 0), lower)
    s.initial("B", position=0.8)
    return s, lower.at(0.7, 0, 0)


def test_stops_of_an_arm() -> None:
    s, tip = two_r(A=(-1.0, 2.0), B=(-0.5, 2.5))
    x = np.linspace(-1.81, 1.79, 73)
    w = da.workspace(s, tip, (x, x))
    X, Y = np.meshgrid(x, x, indexing="ij")
    cosine = (X**2 + Y**2 - 1.49) / 1.4
    number = np.zeros(X.shape, int)
    for sign in (1, -1):
        elbow = sign * np.arccos(np.clip(cosine, -1, 1))
        shoulder = np.arctan2(Y, X) - np.arctan2(0.7 * np.sin(elbow), 1 + 0.7 * np.cos(elbow))
        shoulder = np.remainder(shoulder + np.pi, 2 * np.pi) - np.pi
        number += (np.abs(cosine) <= 1) & (shoulder >= -1) & (shoulder <= 2) & (elbow >= -0.5) & (elbow <= 2.5)
    np.testing.assert_array_equal(w.ways, number)
    free = da.workspace(s, tip, (x, x), limits=False)
    np.testing.assert_array_equal(free.ways, np.where(np.abs(cosine) < 1, 2, 0))
    assert len(free.boundary) == 2  # an annulus
    radii = sorted(float(np.linalg.norm(curve, axis=1).mean()) for curve in free.boundary)
    np.testing.assert_allclose(radii, [0.3, 1.7], atol=1e-4)


def test_a_redundant_arm_reaches_a_disc() -> None:
    s, before = da.System("3R"), None
    end = s.ground
    for name, length in zip("ABC", (1.0, 0.7, 0.4), strict=True):
        before = s.body(f"link {name}", da.rod(length, 1.0))
        s.connect(name, da.Revolute("z"), end, before)
        s.initial(name, position=0.3)
        end = before.at(length, 0, 0)
    x = np.linspace(-2.3, 2.3, 24)
    w = da.workspace(s, end, (x, x), actuated=("A", "B", "C"))
    X, Y = np.meshgrid(x, x, indexing="ij")
    np.testing.assert_array_equal(w.reachable, np.hypot(X, Y) < 2.1)
    assert set(np.unique(w.ways)) == {-1, 0}
    with pytest.raises(da.ModelError, match="3 DOF"):
        w.condition()


def test_a_spatial_arm() -> None:
    s = da.System("arm")
    turret, upper, lower = (s.body(n, da.rod(1.0, 1.0)) for n in ("turret", "upper", "lower"))
    s.connect("A", da.Revolute("z"), s.ground, turret)
    s.connect("B", da.Revolute("y"), turret, upper)
    s.connect("C", da.Revolute("y"), upper.at(1, 0, 0), lower)
    s.initial("B", position=-0.4)
    s.initial("C", position=0.9)
    x = np.linspace(-2.3, 2.3, 10)
    w = da.workspace(s, lower.at(0.6, 0, 0), (x, x, x), actuated=("A", "B", "C"))
    X, Y, Z = np.meshgrid(x, x, x, indexing="ij")
    R = np.sqrt(X**2 + Y**2 + Z**2)
    np.testing.assert_array_equal(w.reachable, (R > 0.4) & (R < 1.6))
    assert set(np.unique(w.ways)) == {0, 4}  # elbow up or down, facing or over the shoulder
    points = np.linalg.norm(w.boundary[0], axis=1)
    assert np.minimum(np.abs(points - 1.6), np.abs(points - 0.4)).max() < 1e-3
    assert np.isfinite(w.condition()[w.configurations()[1]]).all()


def test_bad_input_is_named() -> None:
    s, tip = two_r()
    x = np.linspace(-1, 1, 5)
    for args, options, text in (
        (("nobody", (x, x)), {}, "nobody"),
        ((s.ground, (x, x)), {}, "ground"),
        ((tip, (x,)), {}, "grid is 1"),
        ((tip, (x[::-1], x)), {}, "ascending"),
        ((tip, (x, x)), {"plane": "xx"}, "plane"),
        ((tip, (x, x)), {"actuated": "Q"}, "'A', 'B'"),
        ((tip, (x, x)), {"characteristic_length": -1.0}, "characteristic_length"),
    ):
        with pytest.raises(da.ModelError, match=text):
            da.workspace(s, *args, **options)
    w = da.workspace(s, tip, (x, x), actuated="A")
    with pytest.raises(da.ModelError, match="2 degrees of freedom: name as many"):
        w.condition()
    with pytest.raises(da.ModelError, match="name the actuated"):
        da.workspace(s, tip, (x, x)).condition()
    with pytest.raises(da.ModelError, match="mode"):
        w.configurations((7,))


def test_pictures(tmp_path) -> None:
    pytest.importorskip("matplotlib")
    s, tip = two_r()
    x = np.linspace(-1.8, 1.8, 31)
    w = da.workspace(s, tip, (x, x), actuated=("A", "B"))
    for what in ("reachable", "ways", "condition"):
        w.plot(what, path=tmp_path / f"{what}.png")
        assert (tmp_path / f"{what}.png").stat().st_size > 5000


def test_where_an_arm_is_folded_onto_its_shoulder_ways_are_infinitely_many() -> None:
    s = da.System("arm")
    upper, fore = s.body("upper", da.rod(1.0, 1.0)), s.body("fore", da.rod(1.0, 1.0))
    s.connect("A", da.Revolute("z"), s.ground, upper)
    s.connect("B", da.Revolute("z"), upper.at(1, 0, 0), fore)
    s.initial("B", position=1.0)
    x = np.linspace(-2.1, 2.1, 43)
    w = da.workspace(s, fore.at(1, 0, 0), (x, x))
    assert np.argwhere(w.ways == -1).tolist() == [[21, 21]]
    assert w.ways[30, 12] == 2 and "infinitely many at 1" in str(w)


def test_rods_that_are_rolled_over_count_once() -> None:
    """A delta robot has two ways for each arm; its rods hang between universal and ball joints."""
    from dalembert.library import delta

    w = da.workspace(delta(), "platform", ([-0.05, 0.05], [-0.05, 0.05]), rotation=np.eye(3))
    assert (w.ways == 8).all()


def test_wrists_turned_over_count_twice() -> None:
    from systems.arms import wrist_arm

    heights = (0.4, 0.5, 0.45, 0.1)
    s = wrist_arm(heights)
    s.initial("A2", position=0.5)
    s.initial("A3", position=0.8)
    s.initial("A5", position=0.7)
    w = da.workspace(s, "hand.tool", ([0.40, 0.45], [0.15, 0.2]), rotation=("y", 2.0))
    assert (w.ways[w.reachable] == 8).all() and w.reachable.any()


@pytest.mark.parametrize("link", [0.355, 0.37])
def test_islands_between_the_cells_of_the_first_grid_are_found(link: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("test_workspace.LINK", link)
    x = np.linspace(-1.03, 0.97, 160)
    w = da.workspace(three_rrr(), "platform", (x, x), rotation=0.0)
    X, Y = np.meshgrid(x, x, indexing="ij")
    expected = (legs(X, Y, 0.0) <= 2 * link).all(0)
    assert 0 < expected.sum() < 120
    assert (w.reachable == expected).all()
