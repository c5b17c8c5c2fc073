"""Levenberg-Marquardt steps of many starts."""

from __future__ import annotations

import numpy as np

from dalembert.numerics.least_squares import levenberg_marquardt


class CircleAndLine:
    """A point on the unit circle and on y = x, and an independent third unknown with a square of 4."""

    nv = 3

    def residual(self, q: np.ndarray) -> np.ndarray:
        x, y, z = q.T
        return np.stack([x**2 + y**2 - 1, y - x, z**2 - 4], axis=1)

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        x, y, z = q.T
        none, one = np.zeros_like(x), np.ones_like(x)
        rows = [[2 * x, 2 * y, none], [-one, one, none], [none, none, 2 * z]]
        return np.array(rows).transpose(2, 0, 1)

    def retract(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return q + x


def test_starts_lead_to_the_zeros_on_their_side() -> None:
    starts = np.array([[3.0, 0.5, 9.0], [-0.2, -2.0, -0.1]])
    blocks = [(np.array([0, 1]), np.array([0, 1])), (np.array([2]), np.array([2]))]
    q, worst = levenberg_marquardt(CircleAndLine(), starts, blocks, tolerance=1e-12)
    half = 0.5**0.5
    np.testing.assert_allclose(q, [[half, half, 2.0], [-half, -half, -2.0]], atol=1e-12)
    assert (worst <= 1e-12).all()


def test_a_stationary_start_stops_with_its_residual() -> None:
    q, worst = levenberg_marquardt(
        CircleAndLine(), np.array([[1.0, 1.0, 0.0]]), [(np.array([2]), np.array([2]))], tolerance=1e-12
    )
    assert q[0, 2] == 0.0 and worst[0, 0] == 4.0
