"""Products of weights with derivatives of outputs of bodies and connections, beside differences of the outputs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from systems.linkages import four_bar
from systems.random_trees import random_state, random_system

import dalembert as da
from dalembert.arrays import Array
from dalembert.model.conditions import parameter_directions
from dalembert.simulation import start_state

STEP = 1e-4  # fourth-order differences
CLOSE = 2e-9  # their round-off, relative to the terms of the outputs
PARTS = ("poses", "velocities", "accelerations", "loads", "a")


def spans(model: da.Model) -> dict[str, slice]:
    """Return the entries of each part among the weights."""
    sizes = (12 * model.nb, 6 * model.nb, 6 * model.nb, 6 * len(model.connection_names), model.nv)
    ends = np.cumsum((0, *sizes))
    return {part: slice(ends[k], ends[k + 1]) for k, part in enumerate(PARTS)}


def outputs(model: da.Model, q: Array, v: Array, x: Array) -> Array:
    """Return all outputs of a state, part by part."""
    report = model.report(["a", "loads"], np.zeros(1), q[None], v[None], x[None])
    a = report["a"][0]
    R, p = model.poses(q)
    poses = np.concatenate([R.reshape(-1, 9), p], axis=1)
    motion = (poses, model.velocities(q, v), model.accelerations(q, v, a), report["loads"][0], a)
    return np.concatenate([part.ravel() for part in motion])


def slopes(at: Callable[[float], float]) -> float:
    return (8 * (at(STEP) - at(-STEP)) - (at(2 * STEP) - at(-2 * STEP))) / (12 * STEP)


def assert_products(model: da.Model, q: Array, v: Array, x: Array, names: list[str], rng: np.random.Generator) -> None:
    """Assert that products by everything, of each part alone, are those of differences."""
    __tracebackhide__ = True
    unique = model.report(["unique"], np.zeros(1), q[None], v[None], x[None])["unique"][0].ravel()
    rows, places = parameter_directions(model, names, model.parameters, "test"), spans(model)
    every, size = [], np.abs(outputs(model, q, v, x))
    for part, span in places.items():
        weights = np.zeros(len(size))
        weights[span] = rng.normal(size=span.stop - span.start) * (unique if part == "loads" else 1.0)
        every.append(weights)
    states = [np.repeat(y[None], len(every), axis=0) for y in (q, v, x)]
    found = model._d_output_products(
        [0, 1, 2, 3], states[0], states[1], np.array(every), t=np.zeros(len(every)), x=states[2], directions=rows
    )
    variants = model.conditions()
    eye, own = np.eye(model.nv), np.eye(model.nx)
    moved: tuple[list[Callable[[float], Array]], ...] = (
        [lambda h, e=e: outputs(model, model.integrate(q, h * e), v, x) for e in eye],
        [lambda h, e=e: outputs(model, q, v + h * e, x) for e in eye],
        [lambda h, e=e: outputs(model, q, v, x + h * e) for e in own],
        [lambda h, name=name: outputs(variants.perturbed(name, h).model, q, v, x) for name in names],
    )
    for kind, by, columns in zip("qvxp", found, moved, strict=True):
        for c, column in enumerate(columns):
            expected = np.array([slopes(lambda h, w=w, at=column: float(w @ at(h))) for w in every])
            terms = np.array([1.0 + np.abs(w) @ size for w in every])
            off = np.abs(by[:, c] - expected) / (terms + np.abs(expected))
            assert off.max() < CLOSE, f"{PARTS[off.argmax()]} by {kind}[{c}] is off by {off.max():.3g}"


@pytest.mark.parametrize("seed", range(4))
def test_outputs_of_random_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = random_system(rng, 4, isolated=1)
    q, v = random_state(system, rng)
    model = system.compile()
    names = [name for name in model.parameter_names if name.endswith((".mass", ".com.x", ".x", ".rz", "y.z"))][:12]
    assert_products(model, q, v, model.element_start_values(), [*names, "gravity.z"], rng)


def test_outputs_of_a_loop() -> None:
    rng = np.random.default_rng(5)
    model = four_bar((0.3, 0.8, 0.6), 0.8, masses=(1.0, 2.0, 1.5), cut="C").compile()
    start = start_state(model, {"A": 0.8, "A.speed": 2.0})
    names = [name for name in model.parameter_names if name.endswith((".mass", ".com.x", ".com.y"))]
    assert_products(model, start.q, start.v, start.x, [*names, "gravity.y"], rng)


def test_rows_at_one_state_do_not_depend_on_those_before() -> None:
    rng = np.random.default_rng(6)
    system = random_system(rng, 3)
    model = system.compile()
    q = np.stack([random_state(system, rng)[0] for _ in range(2)])[[0, 0, 1, 0]]
    v = rng.normal(size=(2, model.nv))[[0, 0, 1, 0]]
    weights = rng.normal(size=(4, spans(model)["a"].stop))
    weights[1, spans(model)["velocities"].stop :] = 0.0  # without dynamics
    rows = parameter_directions(model, ["gravity.z"], model.parameters, "test")
    together = model._d_output_products([0, 1, 3], q, v, weights, directions=rows)
    alone = [model._d_output_products([0, 1, 3], *each, directions=rows) for each in zip(q, v, weights, strict=True)]
    for part, values in enumerate(together):
        assert np.array_equal(values, np.stack([one[part] for one in alone]))
