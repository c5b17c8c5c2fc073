"""Sol 1983, chapter 9: cam, roller and plunger of a fuel injection pump at 1000 revolutions per minute.

The thesis prints speeds of the rolling roller and the lift (section 9.2); the drawing with the radii is lost, but the
printed numbers fix them: base circle 16 mm, roller 12 mm, lift 10 mm, transition arcs of 2.45 mm, which end the
straight flanks 34.5 degrees after they began.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import dalembert as da

Array = NDArray[np.float64]

BASE, ROLLER, TOP, ARC = 0.016, 0.012, 0.026, 0.00245
SPEED = -1000 * 2 * np.pi / 60  # the angle of the cam is negative in the thesis
FLANK = float(np.sqrt((TOP - ARC) ** 2 - (BASE - ARC) ** 2))  # length of the flanks
LINE_END = float(np.arctan2(FLANK, BASE + ROLLER))  # where the roller leaves the flank, from where it met it
ARC_END = float(np.arctan2(FLANK, BASE - ARC))  # where it reaches the top circle


def profile() -> da.Curve:
    """Flank up from angle 0, transition, top, and the same mirrored at 70 degrees."""
    half = np.radians(70)
    mirror = np.array([[np.cos(2 * half), np.sin(2 * half)], [np.sin(2 * half), -np.cos(2 * half)]])
    centre, foot, head = np.array([BASE - ARC, FLANK]), np.array([BASE, 0.0]), np.array([BASE, FLANK])
    return da.Curve.path(
        [
            da.Line(foot, head),
            da.Arc(centre, ARC, 0.0, ARC_END),
            da.Arc((0, 0), TOP, ARC_END, 2 * half - ARC_END),
            da.Arc(mirror @ centre, ARC, 2 * half - ARC_END, 2 * half),
            da.Line(mirror @ head, mirror @ foot),
            da.Arc((0, 0), BASE, 2 * half, 2 * np.pi),
        ]
    )


@pytest.fixture(scope="module")
def pump() -> da.Model:
    s = da.System("fuel pump", gravity=(0, 0, 0))
    cam, plunger = s.body("cam", da.cylinder(0.02, 0.03, 1.0)), s.body("plunger", mass=0.2, inertia=(1, 1, 1))
    s.connect("shaft", da.Revolute("z"), s.ground, cam)
    s.connect("guide", da.Prismatic("x"), s.ground, plunger)
    s.connect("contact", da.CamFollower(profile(), "roller", radius=ROLLER), cam, plunger)
    return s.compile()


def motion(pump: da.Model, angle: float) -> tuple[float, float, float]:
    """Return position, velocity and acceleration of the plunger at this angle of the roller in the cam."""
    q = da.assemble(pump, state=[-angle, 0.05], hold="shaft").q
    v = da.consistent_velocities(pump, q, [SPEED, 0.0], hold="shaft")
    a = da.consistent_accelerations(pump, q, v, [0.0, 0.0], hold="shaft")
    return float(q[1]), float(v[1]), float(a[1])


def rolling_speed(pump: da.Model, angle: float) -> float:
    """Return the speed of a roller that does not slip: of its centre, seen from the cam, over its radius (9.1.3)."""
    r, rate, _ = motion(pump, angle)
    return float(np.hypot(r * SPEED, rate) / ROLLER)


def test_the_printed_speeds_of_the_roller(pump: da.Model) -> None:
    assert rolling_speed(pump, -1.0) == pytest.approx(245, abs=1)  # base circle
    assert rolling_speed(pump, np.radians(70)) == pytest.approx(332, abs=1)  # top
    angles = np.linspace(0.0, ARC_END, 200)
    speeds = [rolling_speed(pump, angle) for angle in angles]
    assert max(speeds) == pytest.approx(360, abs=1)  # printed without decimals
    assert angles[int(np.argmax(speeds))] == pytest.approx(LINE_END, abs=angles[1])  # where flank and arc meet


def test_the_printed_lift(pump: da.Model) -> None:
    assert motion(pump, np.radians(70))[0] - motion(pump, -1.0)[0] == pytest.approx(0.010, abs=1e-12)


def test_the_plunger_on_flank_and_arc(pump: da.Model) -> None:
    """On the flank r = (R_b + R_r) / cos; on the arc the roller's centre is on a circle, too."""
    reach = BASE + ROLLER
    for angle in np.linspace(0.01, LINE_END - 0.01, 9):
        c, tangent = np.cos(angle), np.tan(angle)
        expected = reach / c * np.array([1, -SPEED * tangent, SPEED**2 * (1 + 2 * tangent**2)])
        assert np.allclose(motion(pump, angle), expected, rtol=1e-9)
    far, around, bend = TOP - ARC, ARC + ROLLER, ARC_END
    for angle in np.linspace(LINE_END + 0.01, ARC_END - 0.01, 9):
        x = angle - bend
        root = np.sqrt(around**2 - far**2 * np.sin(x) ** 2)
        r = far * np.cos(x) + root
        slope = -far * np.sin(x) - far**2 * np.sin(x) * np.cos(x) / root
        second = -far * np.cos(x) - far**2 * np.cos(2 * x) / root - far**4 * (np.sin(x) * np.cos(x)) ** 2 / root**3
        # pieces of 0.05 rad: curvature good to 1e-8
        assert np.allclose(motion(pump, angle), [r, -SPEED * slope, SPEED**2 * second], rtol=1e-6)


def test_deceleration_on_the_arc_exceeds_acceleration_on_the_flank(pump: da.Model) -> None:
    """As the thesis says, without numbers; those of the radii above."""
    flank = [motion(pump, angle)[2] for angle in (1e-6, LINE_END - 1e-6)]
    arc = [motion(pump, angle)[2] for angle in (LINE_END + 1e-6, ARC_END - 1e-6)]
    assert np.allclose(flank, [307.1, 725.5], atol=0.1)
    assert np.allclose(arc, [-842.6, -679.5], rtol=1e-3)
    assert abs(motion(pump, LINE_END)[1]) == pytest.approx(2.449, abs=1e-3)
