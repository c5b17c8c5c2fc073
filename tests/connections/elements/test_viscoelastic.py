"""Viscoelastic elements against their relaxation functions and against the exponential of the linear system."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.linalg import expm

import dalembert as da

TERMS = [(50.0, 0.05), (20.0, 0.4), (7.0, 3.0)]
# element at a joint, stiffness and damping side by side, branches (stiffness, time)
ELEMENTS: list[tuple[Callable[..., da.Element], float, float, list[tuple[float, float]]]] = [
    (lambda **k: da.KelvinVoigt(30.0, 4.0, **k), 30.0, 4.0, []),
    (lambda **k: da.Maxwell(30.0, 4.0, **k), 0.0, 0.0, [(30.0, 4 / 30)]),
    (lambda **k: da.Zener(30.0, 12.0, 4.0, **k), 30.0, 0.0, [(12.0, 4 / 12)]),
    (lambda **k: da.GeneralizedMaxwell(30.0, TERMS, **k), 30.0, 0.0, TERMS),
]


def slider(element: da.Element, *, mass: float = 2.0) -> da.System:
    s = da.System("slider", gravity=(0, 0, 0))
    block = s.body("block", da.box(0.1, 0.1, 0.1, mass=mass))
    s.connect("slide", da.Prismatic("x"), s.ground, block)
    if element.at_joint:
        s.connect("element", element, "slide")
    else:
        s.connect("element", element, s.ground.at(-1, 0, 0), block)
    return s


@pytest.mark.parametrize("make, stiffness, damping, branches", ELEMENTS)
def test_pulled_at_a_steady_speed_it_resists_as_its_relaxation_function_says(
    make: Callable[..., da.Element], stiffness: float, damping: float, branches: list[tuple[float, float]]
) -> None:
    s = slider(make())
    speed = 0.3
    s.drive("slide", speed=speed)
    s.initial("slide", speed=speed)
    t = np.linspace(0, 1.0, 21)
    effort = da.simulate(s, 1.0, times=t)["slide.effort"]
    memory = sum(k * tau * (1 - np.exp(-t / tau)) for k, tau in branches)
    assert effort == pytest.approx(speed * (stiffness * t + damping + memory), abs=1e-7)


@pytest.mark.parametrize("measure", ["joint", "distance"])
@pytest.mark.parametrize("make, stiffness, damping, branches", ELEMENTS)
def test_creep_of_a_mass_under_a_constant_force(
    make: Callable[..., da.Element],
    stiffness: float,
    damping: float,
    branches: list[tuple[float, float]],
    measure: str,
) -> None:
    # the line starts one metre long, the slide at zero
    rest = {"rest": 1.0} if measure == "distance" and stiffness else {}
    s = slider(make(measure=measure, **rest))
    s.connect("pull", da.Effort(5.0), "slide")
    t = np.linspace(0, 2.0, 11)
    result = da.simulate(s, 2.0, times=t)
    n = len(branches)
    A = np.zeros((3 + n, 3 + n))  # of (u, u', 1, z1, ...)
    A[0, 1] = 1
    A[1] = np.array([-stiffness, -damping, 5.0, *(-k for k, _ in branches)]) / 2.0
    for i, (_, tau) in enumerate(branches):
        A[3 + i, 1], A[3 + i, 3 + i] = 1, -1 / tau
    start = np.zeros(3 + n)
    start[2] = 1
    expected = np.array([expm(A * at) @ start for at in t])
    assert result["slide"] == pytest.approx(expected[:, 0], abs=1e-7)
    assert result.x == pytest.approx(expected[:, 3:], abs=1e-7)
    assert (np.diff(result["energy.dissipated"]) > 0).all()
    assert abs(result["energy.balance"]).max() < 1e-7


def test_a_maxwell_element_relaxes_from_its_start() -> None:
    s = slider(da.Maxwell(30.0, 4.0, start=0.2))
    s.drive("slide", position=0.0)
    t = np.linspace(0, 1.0, 11)
    result = da.simulate(s, 1.0, times=t)
    assert result["slide.effort"] == pytest.approx(6 * np.exp(-7.5 * t), abs=1e-7)
    assert abs(result["energy.balance"]).max() < 1e-8


@pytest.mark.parametrize(
    "make, field",
    [
        (lambda: da.KelvinVoigt(-1, 1), "stiffness"),
        (lambda: da.KelvinVoigt(1, 1, measure="place"), "measure"),
        (lambda: da.Maxwell(1, 0), "damping"),
        (lambda: da.Zener(1, 1, np.inf), "branch_damping"),
        (lambda: da.GeneralizedMaxwell(1, []), "terms"),
        (lambda: da.GeneralizedMaxwell(1, [(1.0, 2.0), (1.0,)]), "terms"),
        (lambda: da.GeneralizedMaxwell(1, [(1.0, 1.0)] * 20), "terms"),
        (lambda: da.GeneralizedMaxwell(1, [(1.0, 1.0), (1.0, 0.0)]), "tau2"),
    ],
)
def test_bad_numbers_are_named(make: Callable[[], da.Element], field: str) -> None:
    with pytest.raises(da.ModelError, match=field):
        make()


def test_the_longest_series_runs() -> None:
    s = slider(da.GeneralizedMaxwell(1.0, [(1.0, 0.1 * i) for i in range(1, 20)]))
    s.initial("slide", speed=1.0)
    assert abs(da.simulate(s, 1.0)["energy.balance"]).max() < 1e-7


def test_any_relaxation_function_is_fitted_with_its_error() -> None:
    """A power law over four decades; pulled at a steady speed the force is the integral of the relaxation function."""

    def relaxation(t: float) -> float:
        return float(80.0 * (1.0 + t / 0.02) ** -0.3)

    element = da.GeneralizedMaxwell.fitted(relaxation, np.geomspace(1e-3, 10.0, 80), terms=12, tolerance=2e-3)
    assert 0.0 < element.misfit < 2e-3
    s = da.System("pulled", gravity=(0, 0, 0))
    s.connect("X", da.Prismatic("x"), s.ground, s.body("end", da.sphere(0.1, mass=1.0)))
    s.connect("tissue", element, "X")
    s.drive("X", speed=0.5)
    result = da.simulate(s, 2.0, rtol=1e-8, times=[0.1, 0.5, 2.0])
    exact = [0.5 * 80.0 * 0.02 / 0.7 * ((1 + t / 0.02) ** 0.7 - 1) for t in result.t]
    np.testing.assert_allclose(-result["tissue.effort"], exact, rtol=1e-4)
    with pytest.raises(da.ModelError, match="use more terms"):
        da.GeneralizedMaxwell.fitted(relaxation, np.geomspace(1e-3, 10.0, 80), terms=2, tolerance=1e-4)
    with pytest.raises(da.ModelError, match="does not relax"):
        da.GeneralizedMaxwell.fitted([5.0, 5.0, 5.0], [1.0, 2.0, 3.0], terms=2)
