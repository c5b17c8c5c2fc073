"""Bisection of many brackets."""

from __future__ import annotations

import numpy as np

from dalembert.numerics.roots import bisect


def test_brackets_close_to_neighbouring_numbers() -> None:
    roots = np.array([0.1, 1 / 3, 0.9])
    low, high = bisect(lambda x: x < roots, np.zeros(3), np.ones(3))
    assert (low < roots).all() and (high >= roots).all()
    assert (high == np.nextafter(low, 1.0)).all()


def test_brackets_may_descend() -> None:
    low, high = bisect(lambda x: x > 2.0, 5.0, -1.0)
    assert low > 2.0 >= high and low - high < 1e-15


def test_a_number_of_halvings_leaves_a_known_bracket() -> None:
    low, high = bisect(lambda x: x < 0.7, 0.0, 1.0, 12)
    assert high - low == 2.0**-12 and low < 0.7 <= high
