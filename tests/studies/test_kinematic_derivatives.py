"""Derivatives of kinematic motions by lengths, numbers of drives, values of drives and starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import GradientError

T = np.linspace(0.0, 1.5, 16)


def slider(law: Any = None, **how: Any) -> da.System:
    """A crank and a slider without offset, lengths and pace by names."""
    s = da.System("slider", gravity=(0, 0, 0))
    r, length = s.parameter("r", 0.3), s.parameter("l", 1.1)
    crank, rod, block = s.body("crank"), s.body("rod"), s.body("block", mass=2.0, inertia=(1e-3, 1e-3, 1e-3))
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Revolute("z"), crank.at(r, 0, 0), rod)
    s.connect("C", da.Revolute("z"), rod.at(length, 0, 0), block)
    s.connect("D", da.Prismatic("x"), s.ground, block)
    if law is not None:
        s.drive("A", **how or {"position": law})
    return s


def stroke(r: Any, length: Any, angle: Any, pace: Any, faster: Any) -> tuple[Any, Any, Any, Any]:
    """Place, speed, acceleration of the slider, and torque of the crank on a mass of 2 kg, in closed form."""
    s, c = np.sin(angle), np.cos(angle)
    root = np.sqrt(length**2 - (r * s) ** 2)
    x = r * c + root
    by = -r * s - r**2 * s * c / root  # dx / d angle
    second = -r * c - r**2 * (c**2 - s**2) / root - (r**2 * s * c) ** 2 / root**3
    a = by * faster + second * pace**2
    return x, by * pace, a, 2.0 * a * by


def by_complex_steps(function: Any, arguments: dict[str, float]) -> dict[str, list[np.ndarray]]:
    found = {}
    for name, value in arguments.items():
        moved = {**arguments, name: value + 1e-30j}
        found[name] = [np.asarray(part).imag / 1e-30 for part in function(**moved)]
    return found


OUTPUTS = {"x": "D.position", "v": "D.speed", "a": "D.acceleration", "torque": "A.effort"}


def test_a_slider_crank_follows_its_closed_form() -> None:
    s = slider()
    pace = s.parameter("pace", 2.0)
    s.drive("A", position=da.laws.Polynomial([0.4, pace, s.parameter("faster", 0.7)]))
    found = da.sensitivity(s, OUTPUTS, ["r", "l", "pace", "faster"], task="kinematics", times=T)

    def motion(r: Any, l: Any, pace: Any, faster: Any) -> Any:  # noqa: E741
        return stroke(r, l, 0.4 + pace * T + faster * T**2, pace + 2 * faster * T, 2 * faster)

    expected = by_complex_steps(motion, {"r": 0.3, "l": 1.1, "pace": 2.0, "faster": 0.7})
    for k, name in enumerate(found.by):
        for label, values in zip(OUTPUTS, expected[name], strict=True):
            assert np.abs(found[label][:, k] - values).max() < 1e-9 * np.abs(values).max(), (label, name)
    assert found.mode == "implicit" and found.units["v"] == "m/s"


def test_drives_by_speed_begin_where_they_start() -> None:
    s = slider(None)
    s.drive("A", speed=da.laws.Polynomial([2.0, 0.5]))
    s.initial("A", position=0.4)
    by = ["A", "A.drive.coefficients[0]", "A.drive.coefficients[1]", "l"]
    found = da.sensitivity(s, OUTPUTS, by, task="kinematics", times=T)

    def motion(q0: Any, c0: Any, c1: Any, l: Any) -> Any:  # noqa: E741
        return stroke(0.3, l, q0 + c0 * T + c1 * T**2 / 2, c0 + c1 * T, c1)

    expected = by_complex_steps(motion, {"q0": 0.4, "c0": 2.0, "c1": 0.5, "l": 1.1})
    for k, values in enumerate(expected.values()):
        for label, column in zip(OUTPUTS, values, strict=True):
            assert np.abs(found[label][:, k] - column).max() < 1e-9 * np.abs(column).max(), (label, by[k])


def test_values_of_a_drive_are_moved_together() -> None:
    angles = np.linspace(0.2, 2.0, 7)
    found = da.sensitivity(slider(), OUTPUTS, ["A", "r"], task="kinematics", drive="A", values=angles)
    expected = by_complex_steps(lambda A, r: stroke(r, 1.1, angles + A, 1.0, 0.0), {"A": 0.0, "r": 0.3})
    for k, values in enumerate(expected.values()):
        for label, column in zip(OUTPUTS, values, strict=True):
            assert np.abs(found[label][:, k] - column).max() < 1e-9 * max(1e-3, np.abs(column).max()), label
    assert found.to_xarray()["d x"].dims == ("A", "by")


def test_a_driven_strut_and_the_force_that_it_takes() -> None:
    s = da.System("strut", gravity=(0, 0, -9.81))
    arm = s.body("arm", da.rod(length=1.0, mass=2.0))
    s.connect("A", da.Revolute("y"), s.ground, arm)
    s.connect("cylinder", da.Distance(0.8), s.ground.at(0, 0, -0.7), arm.at(0.6, 0, 0))
    s.drive("cylinder", position=da.laws.Harmonic(0.1, 2.0, 0.0, 0.9))
    s.initial("A", position=0.1)
    outputs = {"angle": "A.position", "faster": "A.acceleration", "push": "cylinder.force"}
    by = ["cylinder.drive.amplitude", "cylinder.drive.frequency", "cylinder.first.z", "arm.mass"]
    model = s.compile()
    found = da.sensitivity(model, outputs, by, task="kinematics", times=T)
    for k, name in enumerate(by):
        value = model.parameters[model.parameter_names[name]]
        h = 1e-4 * abs(value)
        sides = [da.kinematics(model.with_parameters({name: value + f * h}), times=T) for f in (1, -1, 2, -2)]
        for label, output in outputs.items():
            up, down, far_up, far_down = (side[output] for side in sides)
            expected = (8 * (up - down) - (far_up - far_down)) / (12 * h)
            assert np.abs(found[label][..., k] - expected).max() < 1e-8 * max(1.0, np.abs(expected).max()), (
                label,
                name,
            )


def test_a_spatial_loop_with_balls_and_a_body_that_is_led() -> None:
    s = da.System("RSSR")
    crank, coupler, rocker = (s.body(n, da.rod(length=a, mass=1.0)) for n, a in (("c", 0.2), ("k", 1.0), ("r", 0.8)))
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Universal(), crank.at(0.2, 0, 0), coupler)
    s.connect("D", da.Revolute("x"), s.ground.at(0.9, -0.4, 0.1), rocker)
    s.connect("C", da.Spherical(), coupler.at(1.0, 0, 0), rocker.at(0, 0.8, 0))
    s.drive("A", position=da.laws.Polynomial([0.2, 1.0]))
    model = s.compile()
    times = np.linspace(0, 1.0, 5)
    by = ["B.first.x", "C.second.y", "D.first.y", "A.drive.coefficients[1]"]
    outputs = ["D.position", "D.acceleration", "A.effort"]
    found = da.sensitivity(model, outputs, by, task="kinematics", times=times)
    for k, name in enumerate(by):
        value = model.parameters[model.parameter_names[name]]
        h = 1e-4
        sides = [da.kinematics(model.with_parameters({name: value + f * h}), times=times) for f in (1, -1, 2, -2)]
        for output in outputs:
            up, down, far_up, far_down = (side[output] for side in sides)
            expected = (8 * (up - down) - (far_up - far_down)) / (12 * h)
            size = max(1e-2, np.abs(expected).max())
            assert np.abs(found[output][..., k] - expected).max() < 1e-8 * size, (output, name)


def test_reductions_over_the_motion() -> None:
    found = da.sensitivity(
        slider(da.laws.Polynomial([0.0, 2.0])),
        {"furthest": ("D.position", "max"), "reach": ("D.position", "range")},
        ["r", "l"],
        task="kinematics",
        times=np.linspace(0, np.pi, 101),
    )
    assert found["furthest"] == pytest.approx([1.0, 1.0], abs=1e-9)
    assert found["reach"] == pytest.approx([2.0, 0.0], abs=1e-9)


def test_an_optimum_of_a_linkage_is_found_with_exact_derivatives() -> None:
    s = slider(da.laws.Polynomial([0.0, 2.0]))
    found = da.optimize(
        s,
        {"r": (0.1, 0.5)},
        outputs={"reach": ("D.position", "range")},
        minimize=lambda o: (o["reach"] - 0.5) ** 2,
        task="kinematics",
        times=np.linspace(0, np.pi, 41),
    )
    assert found.x[0] == pytest.approx(0.25, abs=1e-5)
    assert not any("differences" in note for note in found.notes)


@pytest.mark.parametrize(
    ("by", "how", "said"),
    [
        (["r"], {"times": T, "t_end": 1.0}, "t_end"),
        (["r"], {"times": T, "state": {"A": 0.1}}, "state"),
        (["D"], {"times": T}, "only select the branch"),
        (["A"], {"times": T}, "only select the branch"),
        (["r", "r"], {"times": T}, "each once"),
    ],
)
def test_what_is_refused(by: list[str], how: dict[str, Any], said: str) -> None:
    with pytest.raises(da.ModelError, match=said):
        da.sensitivity(slider(da.laws.Polynomial([0.0, 2.0])), ["D.position"], by, task="kinematics", **how)


def test_a_skate_and_a_dead_point_have_no_derivative() -> None:
    s = da.System("skate", gravity=(0, 0, 0))
    runner = s.body("runner", da.box(0.4, 0.1, 0.1, mass=1.0))
    s.connect("P", da.Planar(), s.ground, runner)
    s.connect("S", da.KnifeEdge(), s.ground, runner)
    for name, pace in (("P.x", 1.0), ("P.angle", 0.3)):
        s.drive(name, speed=pace)
    with pytest.raises(da.ModelError, match="constrains velocities only"):
        da.sensitivity(s, ["P.position"], ["runner.mass"], task="kinematics", times=[0.0, 0.5])
    s = da.System("parallelogram")
    one, bar, two = s.body("one"), s.body("bar"), s.body("two")
    s.connect("A", da.Revolute("z"), s.ground, one)
    s.connect("B", da.Revolute("z"), one.at(0.5, 0, 0), bar)
    s.connect("D", da.Revolute("z"), s.ground.at(1.0, 0, 0), two)
    s.connect("C", da.Revolute("z"), bar.at(1.0, 0, 0), two.at(0.5, 0, 0))
    s.initial("D", position=-0.5)
    flat = {"drive": "A", "values": [-0.5, 0.0, 0.5]}  # where it could fold
    with pytest.raises(GradientError, match=r"at A = .* rad: the configuration is singular"):
        da.sensitivity(s, ["D.position"], ["B.first.x"], task="kinematics", **flat)
