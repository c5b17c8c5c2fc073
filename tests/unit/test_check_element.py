"""What `check_element` finds in laws that are fit and in laws that are not."""

from __future__ import annotations

import math
from typing import Any

import pytest

import dalembert as da
from dalembert.errors import ModelError

ISOTROPIC = ("-k*x", "-k*y", "-k*z", "-g*rx", "-g*ry", "-g*rz")


@pytest.mark.parametrize(
    "element",
    [
        da.Element("hinge", "-k*s**3 - c*ds", {"k": 3.0, "c": 0.1}, energy="k*s**4/4"),
        da.Element("distance", "-2*(s - 1)", energy="(s - 1)**2"),
        da.Element("place", ("-x", "-2*y - vy", "-z**3"), energy="x**2/2 + y**2 + z**4/4"),
        da.Element("pose", ISOTROPIC, {"k": 2.0, "g": 3.0}, energy="k*(x**2+y**2+z**2)/2 + g*(rx**2+ry**2+rz**2)/2"),
        da.Element("hinge", "-g*(s - m)", {"g": 2.0}, {"m": (0.1, "s - m")}, energy="g*(s - m)**2/2"),
        da.Element("hinge", lambda t, s, ds: (-s - ds, 0.5 * s * s)),
        da.DCMotor(12.0, 1.0, 0.1, 0.01),
        da.PositionServo(1.0, 10.0, 1.0, 3.0),
    ],
    ids=lambda e: f"{e.kind} {e.measure}",
)
def test_good_laws_pass(element: da.Element) -> None:
    report = da.check_element(element)
    assert report.ok, report
    assert "fit for use" in repr(report)


def forgetful() -> Any:
    calls = [0]

    def law(t: float, s: float, ds: float) -> float:
        calls[0] += 1
        return -s - 1e-3 * calls[0]

    return law


@pytest.mark.parametrize(
    ("element", "problem"),
    [
        (da.Element("hinge", "-4*s"), "creates energy"),
        (da.Element("hinge", "0.1*ds"), "creates energy"),
        (da.Element("place", ("y", "-x", 0)), "creates energy"),  # swirls
        (da.Element("hinge", "-2*(s - m)", {}, {"m": (0.1, "m - s")}, energy="(s - m)**2"), "creates energy"),
        (da.Element("hinge", "-sqrt(s)"), "not finite"),
        (da.Element("hinge", "-ds/abs(ds)"), "zero"),
        (da.Element("hinge", "-exp(10*s)"), "far out"),
        (da.Element("hinge", "-0.1*s - 0.1*sin(1e5*s)", energy="s**2"), "rough"),
        (da.Element("hinge", forgetful()), "inputs alone"),
        (da.Element("hinge", lambda t, s, ds: 1 / 0), "ZeroDivisionError"),
    ],
)  # fmt: skip
def test_bad_laws_are_found(element: da.Element, problem: str) -> None:
    report = da.check_element(element)
    assert not report.ok
    assert any(problem in each for each in report.problems), report
    assert problem in repr(report)


def test_figures_of_the_report() -> None:
    report = da.check_element(da.Element("hinge", "-3*s - 2*ds", energy="s**2"), points=2000)
    assert report.static_remainder == pytest.approx(1.0, rel=1e-2)  # force -3 s, energy's slope 2 s
    damper = da.check_element(da.Element("hinge", "-2*ds"), points=2000, speed=3.0)
    assert damper.dissipated == pytest.approx(18.0, rel=1e-2)
    assert damper.created == 0.0
    assert damper.slope_error < 1e-6


@pytest.mark.parametrize("keywords", [{"size": 0.0}, {"speed": math.nan}, {"points": 0}, {"element": "spring"}])
def test_bad_input_is_named(keywords: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="check_element"):
        da.check_element(**{"element": da.Element("hinge", "-s")} | keywords)
