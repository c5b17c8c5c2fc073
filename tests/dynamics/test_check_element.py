"""Findings of `check_element` for valid and for invalid laws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from systems.element_examples import LIBRARY

import dalembert as da
from dalembert.errors import ModelError

ISOTROPIC = ("-k*x", "-k*y", "-k*z", "-g*rx", "-g*ry", "-g*rz")


@pytest.mark.parametrize(
    "element",
    [
        da.Element("joint", "-k*s**3 - c*ds", {"k": 3.0, "c": 0.1}, energy="k*s**4/4"),
        da.Element("distance", "-2*(s - 1)", energy="(s - 1)**2"),
        da.Element("place", ("-x", "-2*y - vy", "-z**3"), energy="x**2/2 + y**2 + z**4/4"),
        da.Element("pose", ISOTROPIC, {"k": 2.0, "g": 3.0}, energy="k*(x**2+y**2+z**2)/2 + g*(rx**2+ry**2+rz**2)/2"),
        da.Element("joint", "-g*(s - m)", {"g": 2.0}, {"m": (0.1, "s - m")}, energy="g*(s - m)**2/2"),
        da.Element("joint", lambda t, s, ds: (-s - ds, 0.5 * s * s)),
        da.DCMotor(12.0, 1.0, 0.1, 0.01),
        da.PositionServo(1.0, 10.0, 1.0, 3.0),
    ],
    ids=lambda e: f"{e.kind} {e.measure}",
)
def test_good_laws_pass(element: da.Element) -> None:
    report = da.check_element(element)
    assert report.success, report
    assert "fit for use" in str(report)


def forgetful() -> Any:
    calls = [0]

    def law(t: float, s: float, ds: float) -> float:
        calls[0] += 1
        return -s - 1e-3 * calls[0]

    return law


@pytest.mark.parametrize(
    ("element", "problem"),
    [
        (da.Element("joint", "-4*s"), "creates energy"),
        (da.Element("joint", "0.1*ds"), "creates energy"),
        (da.Element("place", ("y", "-x", 0)), "creates energy"),  # swirls
        (da.Element("joint", "-2*(s - m)", {}, {"m": (0.1, "m - s")}, energy="(s - m)**2"), "creates energy"),
        (da.Element("joint", "-sqrt(s)"), "not finite"),
        (da.Element("joint", "-ds/abs(ds)"), "zero"),
        (da.Element("joint", "-exp(10*s)"), "far out"),
        (da.Element("joint", "-0.1*s - 0.1*sin(1e5*s)", energy="s**2"), "rough"),
        (da.Element("joint", forgetful()), "inputs alone"),
        (da.Element("joint", lambda t, s, ds: 1 / 0), "ZeroDivisionError"),
        (da.Element("joint", "-1e-3*s - 100*ds"), "creates energy"),  # hidden by damping
        (da.Element("pose", (0, 0, 0, "-2*rx", "-ry", "-rz"), energy="rx**2 + (ry**2 + rz**2)/2"), "creates energy"),
        (da.Element("place", (0, 0, 0)), "it has no force"),
    ],
)  # fmt: skip
def test_bad_laws_are_found(element: da.Element, problem: str) -> None:
    report = da.check_element(element)
    assert not report.success
    assert any(problem in each for each in report.problems), report
    assert problem in str(report)


def test_derivatives_and_objectivity_are_those_of_the_core() -> None:
    for element in (
        da.Bushing([100.0, 200, 300, 4, 5, 6], [1.0, 1, 1, 0.1, 0.1, 0.1]),
        da.SphereSphereContact(0.5, 0.5, 100.0, friction=0.3, slip_speed=0.1),
        da.Element("distance", lambda t, s, ds: (-s - ds, 0.5 * s * s)),
        da.Maxwell(3.0, 0.2),
    ):
        report = da.check_element(element)
        assert report.success, report
        assert report.derivative_error < 1e-6
        assert report.objectivity_error < 1e-12
        assert "rigid motion      changes loads by" in str(report)


def test_a_wrong_derivative_or_a_load_that_is_not_objective_would_show(monkeypatch: pytest.MonkeyPatch) -> None:
    element = da.Element("place", ("-x", "-2*y - vy", "-z**3"), energy="x**2/2 + y**2 + z**4/4")
    exact = da.Model.d_dynamics

    def wrong(self: da.Model, *given: Any, **more: Any) -> Any:
        found = exact(self, *given, **more)
        return found._replace(a=found.a._replace(q=0 * found.a.q))

    monkeypatch.setattr(da.Model, "d_dynamics", wrong)
    loads = da.Model.applied_loads
    tilted = np.array([0, 0, 0, 0.1, 0, 0])  # a wind in the world
    monkeypatch.setattr(da.Model, "applied_loads", lambda self, *given: (0, loads(self, *given)[1] + tilted))
    problems = " ".join(da.check_element(element).problems)
    assert "derivatives in the core are off" in problems and "not objective" in problems


def test_directions_without_forces_are_named() -> None:
    report = da.check_element(da.SpherePlaneContact(0.5, 100.0, friction=0.3, slip_speed=0.1))
    assert (report.rank, report.unused_inputs) == (5, ("rz",))
    assert "nothing along rz" in str(report)
    slanted = da.Element("place", ("-(x + y)", "-(x + y)", "-z"), energy="(x + y)**2/2 + z**2/2")
    report = da.check_element(slanted)
    assert report.success and report.rank == 2 and "dependent: 2 directions of 3" in str(report)


def test_elements_with_several_ends_and_inputs() -> None:
    stored = "k*((x1 - x2)**2 + y1**2 + z1**2 + (s - 1)**2)/2"
    three = da.Element(
        ("place", "place"), None, {"k": 3.0}, energy="k*((x1 - x2)**2 + (y1 - 2*y2)**2 + (z1 + z2)**2)/2"
    )
    report = da.check_element(three)
    assert report.success and report.rank == 3 and "dependent: 3 directions of 6" in str(report), report
    assert report.objectivity_error < 1e-12 and report.derivative_error < 1e-6
    mixed = da.Element(
        ("place", "distance"), None, {"k": 3.0}, energy=stored.replace("x2", "s2").replace("(s -", "(s2 -")
    )
    assert da.check_element(mixed).success
    wrong = da.Element(("joint", "joint"), ("-s1 + s2", "-s2"), energy="(s1**2 + s2**2)/2")
    assert "creates energy" in str(da.check_element(wrong))
    fed = da.Element("joint", "-k*u", {"k": 2.0}, inputs={"u": "other.speed"}, active=True)
    assert "outputs of others, u" in str(da.check_element(fed))


def test_a_block_has_answers_alone() -> None:
    report = da.check_element(da.SignalBlock({"u": "2*y"}, inputs={"w": "A.speed"}, states={"y": (0.0, "w - y")}))
    assert report.success and "it has no measures" in str(report)
    assert not da.check_element(da.SignalBlock({"u": "sqrt(y - 10)"}, states={"y": (0.0, "-y")})).success


def test_jumps_at_half_a_turn_are_noted() -> None:
    assert "jump at 180°" in str(da.check_element(da.Bushing([1.0] * 6)))
    assert not da.check_element(da.CylinderPlaneContact(1.0, 0.5, 1.0)).notes


def test_points_may_be_tried_about_other_places() -> None:
    oil = da.HydraulicSpring(1e-3, 2e-4, rest=0.5)
    assert not da.check_element(oil, measure_amplitude=0.01).success  # the piston through the bottom
    assert da.check_element(oil, measure_amplitude=0.01, center={"s": 0.5}).success
    with pytest.raises(ModelError, match="center"):
        da.check_element(oil, center={"z": 0.5})


@pytest.mark.parametrize(("element", "keywords"), LIBRARY, ids=lambda e: getattr(e, "kind", ""))
def test_every_library_element_is_fit(element: da.Element, keywords: dict[str, Any]) -> None:
    report = da.check_element(element, points=100, **keywords)
    assert report.success, report


def test_the_list_of_library_elements_is_whole() -> None:
    def kinds(base: type) -> set[str]:
        return {base.__name__}.union(*(kinds(kind) for kind in base.__subclasses__()))

    own = {kind for kind in kinds(da.Element) if hasattr(da, kind)} - {"Element", "SignalBlock", "Compound"}
    own -= {"BrushTyre", "MagicFormulaTyre"}  # deflections of the carcass along the road store no energy
    assert {element.kind for element, _ in LIBRARY} == own


def test_figures_of_the_report() -> None:
    report = da.check_element(da.Element("joint", "-3*s - 2*ds", energy="s**2"), points=2000)
    assert report.static_remainder == pytest.approx(1.0, rel=1e-2)  # force -3 s, slope 2 s; of 2000 samples
    damper = da.check_element(da.Element("joint", "-2*ds"), points=2000, rate_amplitude=3.0)
    assert damper.dissipated == pytest.approx(18.0, rel=1e-2)  # largest of 2000 samples
    assert damper.created == 0.0
    assert damper.slope_error < 1e-6


@pytest.mark.parametrize(
    "keywords", [{"measure_amplitude": 0.0}, {"rate_amplitude": math.nan}, {"points": 0}, {"element": "spring"}]
)
def test_bad_input_is_named(keywords: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="check_element"):
        da.check_element(**{"element": da.Element("joint", "-s")} | keywords)
