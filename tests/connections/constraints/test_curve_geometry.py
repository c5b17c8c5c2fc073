"""Curves: through points, in polar form, of lines and arcs; and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from systems.contacts.random_contacts import random_curve, random_profile

import dalembert as da
from dalembert.connections.constraints.cams import _area

Array = NDArray[np.float64]


def ring(n: int, radius: float = 1.0) -> Array:
    angle = np.linspace(0, 2 * np.pi, n + 1)
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


@pytest.mark.parametrize("closed", [False, True])
def test_a_curve_is_the_spline_over_loop_constraint_length(closed: bool) -> None:
    curve = random_curve(np.random.default_rng(0), closed=closed)
    points = curve(curve.knots)
    loop_constraints = np.linalg.norm(np.diff(points, axis=0), axis=1)
    assert np.allclose(np.diff(curve.knots), loop_constraints, rtol=1e-12)
    spline = CubicSpline(curve.knots, points, bc_type="periodic" if closed else "not-a-knot")
    s = np.linspace(0, curve.knots[-1], 57)
    for order in range(3):
        assert np.allclose(curve(s, order), spline(s, order), atol=1e-12)
    assert curve(s[:6].reshape(2, 3)).shape == (2, 3, 3) and curve(s[3]).shape == (3,)


def test_a_closed_curve_goes_on_where_it_began() -> None:
    curve = da.Curve(ring(12), closed=True)
    assert np.allclose(curve(curve.knots[-1] + 0.3), curve(0.3), atol=1e-14)
    for order in range(3):
        assert np.allclose(curve(-1e-12, order), curve(0.0, order), atol=1e-9)


def test_points_of_a_function_converge_with_the_fourth_power() -> None:
    errors = []
    for n in (40, 80, 160):
        curve = da.Curve.from_function(lambda x: (np.cos(x), np.sin(x), 0.3 * x), 0, 6, n + 1)
        x, y, _ = curve(np.linspace(*curve.knots[[0, -1]], 997)).T
        errors.append(np.abs(np.hypot(x, y) - 1).max())
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (rates > 3.8).all()


def test_a_path_of_arcs_is_round_to_rounding() -> None:
    curve = da.Curve.path([da.Arc((0.3, -0.1), 0.7, 0.4, 0.4 + 2 * np.pi)])
    s = np.linspace(*curve.knots[[0, -1]], 500)
    assert curve.knots[-1] == pytest.approx(0.7 * 2 * np.pi)
    d = curve(s) - [0.3, -0.1, 0]
    assert np.abs(np.linalg.norm(d, axis=1) - 0.7).max() < 1e-12
    # the error of the second derivative is h^4 / 1900, h = 0.05 rad
    assert np.abs(curve(s, 2) + d / 0.7**2).max() < 1e-8
    assert _area(curve.pieces) == pytest.approx(np.pi * 0.7**2, rel=1e-12)


def test_a_polar_curve_follows_its_laws() -> None:
    law = da.Ramp(0.03, 0.05, 1.0)
    segments = [(1.0, law), (2.0, 0.05), (1.5, da.Ramp(0.05, 0.03, 1.5)), (2 * np.pi - 4.5, 0.03)]
    curve = da.Curve.polar(segments, start=0.2)
    for angle in np.linspace(0, 1, 50):
        r, r1, r2 = law(angle)
        unit = np.array([np.cos(angle + 0.2), np.sin(angle + 0.2), 0])
        across = np.array([-unit[1], unit[0], 0])
        assert np.allclose(curve(0.2 + angle), r * unit, atol=1e-12)
        # sixth derivative (2 pi)^5 0.02 of the law, pieces of 1/48 rad: 2e-7 at most
        assert np.allclose(curve(0.2 + angle, 2), (r2 - r) * unit + 2 * r1 * across, atol=1e-6)


def test_a_curve_lies_in_the_spheres_of_its_pieces_and_runs_backwards() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        for curve in (random_curve(rng), random_profile(rng)):
            u = np.linspace(0, 1, 21)
            points = curve.pieces.at(u)
            centre, radius = curve.pieces.spheres()
            assert (np.linalg.norm(points - centre[:, None], axis=2) <= radius[:, None]).all()
            low, high = curve.pieces.box()
            assert (points >= low - 1e-12).all() and (points <= high + 1e-12).all()
            assert np.allclose(curve.pieces.reversed().at(u), points[::-1, ::-1], atol=1e-14)


def test_up_is_the_normal_of_a_plane_curve_and_never_along_a_curve() -> None:
    tilted = np.column_stack([ring(20)[:, 0], 0.5 * ring(20)])
    up = da.PointOnCurve(da.Curve(tilted, closed=True)).up
    assert np.allclose(np.abs(up), np.array([0.5, 1, 0]) / np.sqrt(1.25))
    assert np.allclose(da.PointOnCurve(da.Curve(ring(8))).up, [0, 0, 1])
    upright = da.PointOnCurve([(0, 0, 0), (0, 0, 1)])  # a straight line is a curve, too
    assert abs(upright.up[2]) < 1e-12
    for seed in range(10):
        element = da.PointOnCurve(random_curve(np.random.default_rng(seed)))
        tangents = element.curve(np.linspace(*element.curve.knots[[0, -1]], 999), 1)
        cosine = tangents @ element.up / np.linalg.norm(tangents, axis=1)
        assert np.abs(cosine).max() < 0.95


OPEN = ring(12)[:-1]
GAP = ring(12)
GAP[-1] += [1.2e-3, 0]
BAD = {
    "one point": (lambda: da.Curve([(0, 0, 0)]), "2 points or more"),
    "shape": (lambda: da.Curve(np.zeros((4, 4))), "two or three numbers"),
    "not a number": (lambda: da.Curve([(0, 0), (1, np.nan)]), "finite"),
    "text": (lambda: da.Curve("circle"), "points"),
    "twice": (lambda: da.Curve([(0, 0), (1, 0), (1, 0), (2, 0)]), "the same at 1 and 2"),
    "gap": (
        lambda: da.Curve(GAP, closed=True),
        r"the profile does not close: the last point is 0\.0012 m from the first",
    ),
    "cusp": (lambda: da.Curve([(0, 0), (1, 0), (0, 0)]), "no cusps"),
    "few for a ring": (lambda: da.Curve([(0, 0), (1, 0), (0, 0)], closed=True), "4 points or more"),
    "few samples": (lambda: da.Curve.from_function(lambda x: (x, x), 0, 1, 1), "at least 2"),
    "angles": (lambda: da.Curve.polar([(6.0, 0.1)]), "343.77.* degrees in all'; they add up to 360"),
    "negative angle": (lambda: da.Curve.polar([(-1.0, 0.1)]), "segment 0: angle"),
    "radius": (lambda: da.Curve.polar([(2 * np.pi, da.Harmonic(1.0, 1.0))]), "positive everywhere"),
    "no pair": (lambda: da.Curve.polar([0.1]), "pair"),
    "no segments": (lambda: da.Curve.polar([]), "pairs"),
    "jump": (lambda: da.Curve.polar([(np.pi, 0.1), (np.pi, 0.11)]), r"'0, 1'; they do not meet: the end is 0\.01 m"),
    "polar gap": (
        lambda: da.Curve.polar([(np.pi, 0.1), (np.pi, da.Ramp(0.1, 0.12, np.pi))]),
        r"does not close: the last point is 0\.02 m from the first",
    ),
    "corner": (
        lambda: da.Curve.polar([(np.pi, da.Polynomial([0.1, 0.01])), (np.pi, da.Ramp(0.1 + 0.01 * np.pi, 0.1, np.pi))]),
        r"corner of 4\.351 degrees at \(-0\.1314",
    ),
    "path corner": (
        lambda: da.Curve.path([da.Line((0, 0), (1, 0)), da.Line((1, 0), (1, 1))], closed=False),
        r"corner of 90 degrees at \(1, 0, 0\) m",
    ),
    "path gap": (
        lambda: da.Curve.path([da.Arc((0, 0), 1.0, 0.0, np.pi)]),
        "does not close: the last point is 2 m from the first",
    ),
    "path parts": (lambda: da.Curve.path([(0, 0), (1, 1)]), "Lines and Arcs"),
    "line": (lambda: da.Line((0, 1), (0, 1)), "differ"),
    "arc radius": (lambda: da.Arc((0, 0), 0.0, 0, 1), "above zero"),
    "arc angle": (lambda: da.Arc((0, 0), 1.0, 0, 7), "one turn"),
    "open profile": (lambda: da.CamFollower(da.Curve(OPEN)), r"does not close: the last point is 0\.518 m"),
    "open points": (lambda: da.CamFollower(OPEN), "does not close"),
    "profile in space": (lambda: da.CamFollower(random_curve(np.random.default_rng(0), closed=True)), "plane z = 0"),
    "figure of eight": (
        lambda: da.CamFollower(
            da.Curve.from_function(lambda x: (np.cos(x), np.sin(2 * x)), 0, 2 * np.pi, 41, closed=True)
        ),
        "enclose an area",
    ),
    "follower": (lambda: da.CamFollower(ring(12), "mushroom"), "'roller', 'knife' or 'flat'"),
    "no radius": (lambda: da.CamFollower(ring(12), "roller"), "radius"),
    "a radius": (lambda: da.CamFollower(ring(12), "flat", radius=0.1), "only a roller"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_curves_are_refused(case: str) -> None:
    action, pattern = BAD[case]
    with pytest.raises(da.ModelError) as error:
        action()
    assert re.search(pattern, str(error.value)), str(error.value)


def test_a_function_that_fails_is_named() -> None:
    with pytest.raises(da.UserFunctionError, match="at 0: ZeroDivisionError"):
        da.Curve.from_function(lambda x: (x, 1 / x), 0, 1)
