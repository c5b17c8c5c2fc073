"""Shapes have the mass, mass centre and inertia of the textbook, checked by sampling their volume."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da

SAMPLES = 400_000


def inertia_of(points: np.ndarray, mass: float) -> tuple[np.ndarray, np.ndarray]:
    centre = points.mean(0)
    r = points - centre
    S = mass * (r.T @ r) / len(r)
    return centre, np.trace(S) * np.eye(3) - S


def ball(rng: np.random.Generator, n: int, dimensions: int) -> np.ndarray:
    x = rng.normal(size=(n, dimensions))
    return x / np.linalg.norm(x, axis=1)[:, None] * rng.random(n)[:, None] ** (1 / dimensions)


def along(axis: int, across: np.ndarray, length: np.ndarray) -> np.ndarray:
    return np.insert(across, axis, length, axis=1)


@pytest.mark.parametrize("axis", "xyz")
def test_inertias_are_those_of_the_volume(axis: str) -> None:
    rng, k = np.random.default_rng(0), "xyz".index(axis)
    line, disc = rng.random(SAMPLES), ball(rng, SAMPLES, 2)
    ring = disc / np.linalg.norm(disc, axis=1)[:, None] * np.sqrt(rng.uniform(0.1**2, 0.3**2, SAMPLES))[:, None]
    box = rng.uniform(-1.0, 1.0, size=(SAMPLES, 3)) * np.where(np.arange(3) == k, 1.3, 0.3)
    beyond = np.maximum(np.abs(box[:, k]) - 1.0, 0.0)
    capsule = box[np.linalg.norm(np.column_stack([np.delete(box, k, axis=1), beyond]), axis=1) <= 0.3]
    cases = [
        (da.capsule(2.0, 0.3, 3.0, axis), capsule),
        (da.rod(2.0, 3.0, axis), along(k, np.zeros((SAMPLES, 2)), 2.0 * line)),
        (da.rod(2.0, 3.0, axis, radius=0.3), along(k, 0.3 * disc, 2.0 * line)),
        (da.cylinder(2.0, 0.3, 3.0, axis), along(k, 0.3 * disc, 2.0 * line - 1.0)),
        (da.tube(2.0, 0.3, 0.1, 3.0, axis), along(k, ring, 2.0 * line - 1.0)),
        (da.box(1.0, 2.0, 3.0, 3.0), (rng.random((SAMPLES, 3)) - 0.5) * [1, 2, 3]),
        (da.sphere(0.7, 3.0), 0.7 * ball(rng, SAMPLES, 3)),
        (da.plate(1.0, 2.0, 3.0), (rng.random((SAMPLES, 3)) - 0.5) * [1, 2, 0]),
        (da.plate(1.0, 2.0, 3.0, thickness=0.5), (rng.random((SAMPLES, 3)) - 0.5) * [1, 2, 0.5]),
    ]
    for shape, points in cases:
        centre, inertia = inertia_of(points, 3.0)
        # a mean over n samples is good to about 1/sqrt(n) = 0.0016
        assert np.allclose(shape.com, centre, atol=0.01), shape.kind
        assert np.allclose(shape.inertia, inertia, atol=0.01 * inertia.max()), shape.kind
        assert shape.mass == 3.0


def test_density_gives_mass() -> None:
    assert da.box(1, 2, 3, density=10.0).mass == pytest.approx(60.0)
    assert da.sphere(0.5, density=1.0).mass == pytest.approx(np.pi / 6)
    assert da.cylinder(2, 0.5, density=1.0).mass == pytest.approx(np.pi / 2)
    assert da.tube(1, 2, 1, density=1.0).mass == pytest.approx(3 * np.pi)
    assert da.capsule(2, 0.5, density=1.0).mass == pytest.approx(np.pi / 2 + np.pi / 6)
    assert da.rod(2, radius=1, density=1.0).mass == pytest.approx(2 * np.pi)


@pytest.mark.parametrize(
    "make",
    [
        lambda: da.rod(-1, 1),
        lambda: da.rod(1, density=3.0),
        lambda: da.rod(1, 1, "w"),
        lambda: da.box(1, 1, 1, mass=1, density=1),
        lambda: da.box(1, 1, 1, mass=-1),
        lambda: da.sphere(np.nan, 1),
        lambda: da.tube(1, 1, 2, 1),
        lambda: da.plate(1, 1, density=1.0),
        lambda: da.cylinder("1", 1, 1),
        lambda: da.cylinder(1, 0, 1),
    ],
)
def test_impossible_shapes_are_refused(make: object) -> None:
    with pytest.raises(da.ModelError):
        make()  # type: ignore[operator]
