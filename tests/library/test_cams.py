"""Cams from follower laws: laws, profiles, what their followers do, and profiles that cannot be."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.library.follower_laws import FOLLOWER_LAWS

L = da.library
R = np.radians

LIFT = L.FollowerMotion(
    [
        (R(90), 0.012, "modified_trapezoid"),
        (R(60), 0.012),
        (R(90), 0.004, "polynomial4567"),
        (R(60), 0.0, "modified_sine"),
        (R(60), 0.0),
    ]
)
SWING = L.FollowerMotion([(R(120), 0.3, "cycloidal"), (R(60), 0.3), (R(120), 0.0, "polynomial345"), (R(60), 0.0)])


@pytest.mark.parametrize(
    ("law", "speed", "acceleration"),
    [  # Norton, Design of Machinery, table 8-3
        ("cycloidal", 2.0, 6.283),
        ("harmonic", 1.571, 4.935),
        ("polynomial345", 1.875, 5.777),
        ("polynomial4567", 2.188, 7.526),
        ("modified_trapezoid", 2.0, 4.888),
        ("modified_sine", 1.76, 5.528),
    ],
)
def test_laws_have_the_peaks_of_the_textbook(law: str, speed: float, acceleration: float) -> None:
    x = np.linspace(0, 1, 8001)
    y = FOLLOWER_LAWS[law](x)
    assert np.allclose(y[:2, [0, -1]], [[0, 1], [0, 0]], atol=1e-12)
    assert y[1].max() == pytest.approx(speed, rel=1e-3)
    assert y[2].max() == pytest.approx(acceleration, rel=3e-3)  # digits of the table
    for k in range(3):
        smooth = np.abs(np.diff(y[k + 1])) < 0.1 * np.ptp(y[k + 1])  # but where a derivative jumps
        means = np.diff(y[k]) / np.diff(x)
        assert np.abs(means - (y[k + 1][1:] + y[k + 1][:-1]) / 2)[smooth].max() < 1e-3 * np.abs(y[k + 1]).max()


CAMS = {
    "roller": lambda: L.Cam(LIFT, 0.03, "roller", 0.008),
    "offset roller": lambda: L.Cam(LIFT, 0.03, "roller", 0.008, offset=0.006),
    "knife": lambda: L.Cam(LIFT, 0.03, "knife", offset=-0.004),
    "flat": lambda: L.Cam(LIFT, 0.06, "flat"),
    "swinging roller": lambda: L.Cam(SWING, 0.04, "roller", 0.01, pivot=0.09, arm=0.08),
    "swinging knife": lambda: L.Cam(SWING, 0.04, "knife", pivot=0.09, arm=0.08),
    "swinging flat": lambda: L.Cam(SWING, 0.05, "flat", pivot=0.12),
    "swinging offset flat": lambda: L.Cam(SWING, 0.05, "flat", pivot=0.12, offset=0.01),
}


@pytest.mark.parametrize("name", CAMS)
def test_the_follower_obeys_its_law(name: str) -> None:
    cam = CAMS[name]()
    s = L.cam_drive(cam)
    assert da.mobility(s).mobility == 1
    s.drive("shaft", speed=1.0)
    result = da.simulate(s, 2 * math.pi, rtol=1e-9, times=np.linspace(0, 2 * math.pi, 91))
    for order, output, slack in ((0, "position", 1e-8), (1, "speed", 1e-7), (2, "acceleration", 1e-4)):
        wanted = cam.motion.lift(result.t, order)
        assert np.abs(result[f"guide.{output}"] - wanted).max() < slack * max(1e-2, np.abs(wanted).max())
    assert s.draw(labels=False) is not None


def test_pressure_angles_and_radii_are_those_of_the_formulas() -> None:
    cam = CAMS["offset roller"]()
    s, s1, s2 = (LIFT.lift(cam.angle, k) for k in range(3))
    level = math.sqrt(0.038**2 - 0.006**2)
    assert np.allclose(np.tan(cam.pressure_angle), (s1 - 0.006) / (s + level), atol=1e-9)
    plain = CAMS["roller"]()
    s, s1, s2 = (LIFT.lift(plain.angle, k) for k in range(3))
    r = 0.038 + s
    pitch = (r**2 + s1**2) ** 1.5 / (r**2 + 2 * s1**2 - r * s2)  # curvature in polar form
    inside = np.abs(np.mod(plain.angle + 1e-3, R(11.25)) - 1e-3) > 1e-2  # laws have two sides where segments meet
    assert np.allclose(1 / plain.radius[inside], 1 / (pitch - 0.008)[inside], rtol=1e-9)
    flat = CAMS["flat"]()
    s, s2 = (LIFT.lift(flat.angle, k) for k in (0, 2))
    assert np.allclose(flat.radius[inside], (0.06 + s + s2)[inside], rtol=1e-6)
    assert np.abs(flat.pressure_angle).max() < 1e-12
    assert "pressure angle up to 19.24 degrees (cam at 43.5)" in str(plain)


@pytest.mark.parametrize(
    ("motion", "options"),
    [
        (LIFT, {"follower": "flat", "base_radius": 0.01}),
        (SWING, {"follower": "flat", "base_radius": 0.04, "pivot": 0.12}),
        (
            L.FollowerMotion([(R(50), 0.02, "harmonic"), (R(50), 0.0, "harmonic"), (R(260), 0.0)]),
            {"follower": "roller", "base_radius": 0.02, "roller_radius": 0.02},
        ),
    ],
)
def test_cusps_are_refused_and_the_remedy_works(motion: Any, options: dict[str, Any]) -> None:
    with pytest.raises(da.ModelError, match=r"(cusp|undercut) at .* degrees.*give [0-9.]+ m or more") as found:
        L.Cam(motion, **options)
    least = float(str(found.value).split("; give ")[-1].split(" m")[0].split("give ")[-1])
    L.Cam(motion, **{**options, "base_radius": 1.001 * least})
    with pytest.raises(da.ModelError):
        L.Cam(motion, **{**options, "base_radius": 0.999 * least})
    if options["follower"] == "flat" and "pivot" not in options:
        fine = np.linspace(0, 2 * math.pi, 20001)
        assert least == pytest.approx(-(motion.lift(fine) + motion.lift(fine, 2)).min(), rel=1e-3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: L.FollowerMotion([(1.0, 0.1)]), r"57.2957795 degrees in all"),
        (lambda: L.FollowerMotion([(2 * math.pi, 0.1)]), r"must end at a lift of 0"),
        (lambda: L.FollowerMotion([(math.pi, 0.1, "sudden"), (math.pi, 0)]), r"use 'cycloidal', 'harmonic'"),
        (lambda: L.FollowerMotion([(math.pi, -0.1), (math.pi, 0)]), r"give 0 or more"),
        (lambda: L.Cam(LIFT, 0.03), r"a roller has a positive one"),
        (lambda: L.Cam(LIFT, 0.03, "knife", 0.01), r"only a roller has one"),
        (lambda: L.Cam(LIFT, 0.03, "knife", offset=0.04), r"less than 0.03 m"),
        (lambda: L.Cam(LIFT, 0.03, "mushroom"), r"'roller', 'knife' or 'flat'"),
        (lambda: L.Cam(SWING, 0.04, "knife", arm=0.08), r"give pivot="),
        (lambda: L.Cam(SWING, 0.04, "roller", 0.01, pivot=0.09, arm=0.01), r"reaches 0.08 to 0.1 m, not 0.05 m"),
        (lambda: L.Cam(SWING, 0.04, "flat", pivot=0.03), r"further away than base radius and offset, 0.04 m"),
        (
            lambda: L.Cam(L.FollowerMotion([(R(20), 0.9), (R(20), 0), (R(320), 0)]), 0.04, "flat", pivot=0.1),
            r"the face swings as fast as the cam turns \(5.157 rad per rad\)",
        ),
    ],
)
def test_bad_data_are_refused_with_numbers(make: Any, words: str) -> None:
    with pytest.raises(da.ModelError, match=words):
        make()


def test_a_follower_can_be_driven_by_its_law_alone() -> None:
    s = da.System()
    s.connect("guide", da.Prismatic("z"), s.ground, s.body("valve", mass=0.1))
    s.drive("guide", position=LIFT)
    result = da.simulate(s, 6.0, times=np.linspace(0, 6, 31))
    assert np.allclose(result["guide.position"], LIFT.lift(result.t), atol=1e-12)
    jumpy = L.FollowerMotion([(R(90), 0.01, "harmonic"), (R(270), 0.0, "harmonic")])
    assert np.allclose(jumpy.discontinuity_times(1.0, 8.0), (R(90), R(360), R(450)))


def test_curves_from_derivatives_pass_through_everything_given() -> None:
    a = np.linspace(0, 2 * math.pi, 41)
    c, s = np.cos(a), np.sin(a)
    curve = da.constraints.Curve.from_derivatives(
        [(2 * math.pi, np.column_stack([c, s]), np.column_stack([-s, c]), -np.column_stack([c, s]))], closed=True
    )
    t = np.linspace(0, 6, 50)
    for order in range(3):
        assert np.allclose(np.linalg.norm(curve(t, order), axis=1), 1, atol=1e-5)
    with pytest.raises(da.ModelError, match=r"the last point is .* m from the first|does not close"):
        half = [rows[:20] for rows in (np.column_stack([c, s]), np.column_stack([-s, c]), -np.column_stack([c, s]))]
        da.constraints.Curve.from_derivatives([(3.0, *half)], closed=True)


def test_a_cam_that_would_have_to_pull_is_refused() -> None:
    far = L.FollowerMotion([(R(150), 1.3), (R(60), 1.3), (R(150), 0.0)])
    with pytest.raises(da.ModelError, match=r"pressure angle reaches .* degrees|cusp"):
        L.Cam(far, 0.05, "flat", pivot=0.08)
    with pytest.raises(da.ModelError, match=r"swings past the line of cam and pivot: give less than"):
        L.Cam(L.FollowerMotion([(R(180), 2.9), (R(180), 0.0)]), 0.04, "roller", 0.01, pivot=0.09, arm=0.08)


def test_a_roller_that_meets_the_cam_twice_is_refused() -> None:
    deep = L.FollowerMotion([(R(60), 0.03), (R(60), 0.0), (R(60), 0.03), (R(60), 0.0), (R(60), 0.03), (R(60), 0.0)])
    with pytest.raises(da.ModelError, match=r"it penetrates another part|undercut"):
        L.Cam(deep, 0.02, "roller", 0.03)


@pytest.mark.parametrize("name", CAMS)
def test_cams_are_followed_without_forces(name: str) -> None:
    cam = CAMS[name]()
    angles = np.linspace(0, 2 * math.pi, 361)
    motion = da.kinematics(L.cam_drive(cam), drive="shaft", values=angles)
    assert np.abs(motion["guide.position"] - cam.motion.lift(angles)).max() < 1e-9
    assert np.abs(motion["guide.speed"] - cam.motion.lift(angles, 1)).max() < 1e-7


def test_a_follower_at_rest_contradicts_nothing() -> None:
    # with the cam at 123 degrees all rates are zero but for rounding
    dwell = L.FollowerMotion([(R(90), 0.01), (R(90), 0.01), (R(180), 0.0, "polynomial345")])
    angles = np.linspace(0, 2 * math.pi, 361)
    motion = da.kinematics(L.cam_drive(L.Cam(dwell, 0.06, "flat")), drive="shaft", values=angles)
    assert np.abs(motion["guide.position"] - dwell.lift(angles)).max() < 1e-9
