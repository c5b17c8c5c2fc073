"""Spin-up of a flexible beam on a driven hub (Kane, Ryan and Banerjee 1987; Simo and Vu-Quoc), in plain NumPy.

The data of a flexible body alone, without any kernel: modal equations in the rotating frame,
M e'' + 2 w G e' + (K + w2 (Kz - C) + w' (Ka + G)) e = - w' f - w2 g.
"""

from __future__ import annotations

import numpy as np
import pytest
from systems.flexible_systems import BLADE_LENGTH, blade, tip_motion


def test_a_stiffened_beam_lags_and_comes_back() -> None:
    t, tip = tip_motion(blade(), stiffened=True, until=20.0)
    assert tip[:, 1].min() == pytest.approx(-0.575, abs=0.01)  # read from the published curves
    assert 6.0 < t[tip[:, 1].argmin()] < 7.5
    # steady: m w2 L3 / (3 EA)
    assert tip[-1, 0] == pytest.approx(5.14e-4, rel=2e-3)
    assert np.abs(tip[t > 16, 1]).max() < 0.01


def test_without_stiffening_it_diverges() -> None:
    _, tip = tip_motion(blade(), stiffened=False, until=15.0)
    assert np.abs(tip[:, 1]).max() > 2 * BLADE_LENGTH
