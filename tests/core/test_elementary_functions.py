"""Exponential, logarithm, hyperbolic tangent and arctangent of formulas, against many digits, alone and in batches."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import dalembert as da

# units in the last place, as core/scalar/elementary.hpp states them
BOUNDS = {"exp": 1.01, "log": 0.9, "tanh": 1.4, "atan": 1.0}


def slider(formula: str) -> da.Model:
    """Return a mass of 1 kg on a slide whose acceleration is a function of its place."""
    s = da.System("slide", gravity=(0, 0, 0))
    s.connect("x", da.Prismatic("x"), s.ground, s.body("block", mass=1.0))
    s.connect("f", da.Element("joint", formula), "x")
    return s.compile()


def arguments(name: str) -> np.ndarray:
    """Return arguments over the whole range, dense where functions change, and the limits of the range."""
    rng = np.random.default_rng(0)
    wide = 2.0 ** rng.uniform(-1074, 1023, 3000) * rng.choice([-1.0, 1.0], 3000)
    near = rng.uniform(-4, 4, 3000)
    inner = rng.uniform(-750, 712, 2000) if name == "exp" else rng.uniform(0.5, 2.0, 2000)
    ends = [0.0, -0.0, 5e-324, -5e-324, 2.2e-308, 1.7e308, -1.7e308, 709.78, -745.13, 0.625, 0.66, 2.414213562373095]
    every = np.concatenate([wide, near, inner, ends])
    return np.abs(every[every != 0]) if name == "log" else every


def evaluate(model: da.Model, x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(model.forward_dynamics(x[:, None], np.zeros((len(x), 1))))[:, 0]


@pytest.mark.parametrize("name", BOUNDS)
def test_functions_are_as_accurate_as_stated(name: str) -> None:
    x = arguments(name)
    if name == "exp":
        x = x[x < 709.7]  # beyond, infinite forces are refused
    found, function = evaluate(slider(f"{name}(s)"), x), getattr(mpmath, name)
    worst = 0.0
    with mpmath.workprec(200):
        for value, argument in zip(found, x, strict=True):
            exact = function(mpmath.mpf(float(argument)))
            unit = np.spacing(abs(float(exact)))  # the distance of neighbouring numbers there
            worst = max(worst, float(abs(mpmath.mpf(float(value)) - exact) / mpmath.mpf(float(unit))))
    assert worst < BOUNDS[name]


PAIRS = {"atan2(s, {})": (mpmath.atan2, 1.6), "s**({})": (mpmath.power, 1.5)}


@pytest.mark.parametrize("formula", PAIRS)
@pytest.mark.parametrize("second", [2.3, -0.7, 1e-3, -41.25, 3.0])
def test_functions_of_two_arguments_are_as_accurate_as_stated_alone_and_in_batches(formula: str, second: float) -> None:
    model, (function, bound) = slider(formula.format(second)), PAIRS[formula]
    x = arguments("atan")
    x = x[x != 0]  # zeros have no sign in mpmath
    if "**" in formula:  # neither overflow nor numbers with fewer digits
        x = np.abs(x) if second % 1 else x
        x = x[np.abs(second * np.log2(np.abs(x))) < 1000]
    found = evaluate(model, x)
    alone = np.array([model.forward_dynamics([each], [0.0])[0] for each in x[::7]])
    np.testing.assert_array_equal(found[::7].view(np.int64), alone.view(np.int64))
    with mpmath.workprec(200):
        for value, argument in zip(found, x, strict=True):
            exact = function(mpmath.mpf(float(argument)), mpmath.mpf(second))
            unit = max(np.spacing(abs(float(exact))), 5e-324)
            assert abs(mpmath.mpf(float(value)) - exact) < bound * mpmath.mpf(float(unit)), argument


@pytest.mark.parametrize("name", BOUNDS)
def test_a_state_has_the_same_bits_alone_and_in_a_batch(name: str) -> None:
    model, x = slider(f"{name}(s)"), arguments(name)[::7]
    x = x[x < 709.7]
    alone = np.array([model.forward_dynamics([each], [0.0])[0] for each in x])
    np.testing.assert_array_equal(evaluate(model, x).view(np.int64), alone.view(np.int64))
