"""Spin-up of a flexible beam on a driven hub (Kane, Ryan and Banerjee 1987; Simo and Vu-Quoc), in plain NumPy.

The data of a flexible body alone, without any kernel: modal equations in the rotating frame,
M e'' + 2 w G e' + (K + w2 (Kz - C) + w' (Ka + G)) e = - w' f - w2 g.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import eigh

import dalembert as da
from dalembert.structures.geometric_stiffness import spin_loads

LENGTH, END, SPEED = 10.0, 15.0, 6.0


def blade() -> da.FlexibleBody:
    """EA 2.8e7, GA 1e7, EI 1.4e4, 1.2 kg/m, rotary inertia 6e-4 kg m; modes in the plane of spinning only."""
    section = da.Section(A=1.0, Iy=5e-4, Iz=5e-4, J=1e-3, shear_y=1.0, shear_z=1.0)
    material = da.Material(E=2.8e7, G=1e7, density=1.2)
    structure = da.frame_structure([da.Member(LENGTH, section, material, elements=20)])
    K, M = structure.stiffness.toarray(), structure.mass.toarray()
    plane = np.zeros((21, 6), dtype=bool)
    plane[1:, [0, 1, 5]] = True
    chosen = np.flatnonzero(plane.ravel())
    vectors = eigh(K[np.ix_(chosen, chosen)], M[np.ix_(chosen, chosen)], subset_by_index=(0, 11))[1]
    modes = np.zeros((126, 13))
    modes[chosen, :12] = vectors
    modes[0::6, 12] = structure.nodes[:, 0] / LENGTH  # and the static stretch
    return structure.reduce(da.GivenModes(modes, frame="attached", at=0), stiffening=True)


def spinning(t: float) -> tuple[float, float]:
    """Angular velocity and acceleration of the hub."""
    if t >= END:
        return SPEED, 0.0
    turn = 2 * np.pi * t / END
    return SPEED / END * (t - END / (2 * np.pi) * np.sin(turn)), SPEED / END * (1 - np.cos(turn))


def tip_motion(body: da.FlexibleBody, *, stiffened: bool, until: float) -> tuple[np.ndarray, np.ndarray]:
    """Times and displacements (k, 3) of the tip in the rotating frame."""
    structure, stiffening = body.structure, body.stiffening
    assert stiffening is not None
    work = (structure.mass @ body.modes).T
    across, inward = np.zeros((6, 6)), np.zeros((6, 6))
    across[:2, :2] = [[0, -1], [1, 0]]  # z x u
    inward[:2, :2] = np.eye(2)
    G, C = (work @ np.kron(np.eye(body.n), part) @ body.modes for part in (across, inward))
    push, pull = work @ structure.rigid[:, 2], -body.modes.T @ spin_loads(structure)[:, 2]
    Kz, Ka = (stiffened * x for x in (stiffening.spin[2], stiffening.angular_acceleration[2]))
    inverse, K, nm = np.linalg.inv(body.modal_mass), body.modal_stiffness, body.nm

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        w, a = spinning(t)
        eta, speed = y[:nm], y[nm:]
        force = -a * push - w * w * pull - 2 * w * (G @ speed)
        force -= (K + w * w * (Kz - C) + a * (Ka + G)) @ eta
        return np.concatenate([speed, inverse @ force])

    times = np.linspace(0, until, 10 * int(until) + 1)
    found = solve_ivp(rates, (0, until), np.zeros(2 * nm), method="Radau", rtol=1e-6, atol=1e-9, t_eval=times)
    return found.t, (body.shapes[-1, 3:] @ found.y[:nm]).T


def test_a_stiffened_beam_lags_and_comes_back() -> None:
    t, tip = tip_motion(blade(), stiffened=True, until=20.0)
    assert tip[:, 1].min() == pytest.approx(-0.575, abs=0.01)  # read from the published curves
    assert 6.0 < t[tip[:, 1].argmin()] < 7.5
    # steady: m w2 L3 / (3 EA)
    assert tip[-1, 0] == pytest.approx(5.14e-4, rel=2e-3)
    assert np.abs(tip[t > 16, 1]).max() < 0.01


def test_without_stiffening_it_diverges() -> None:
    _, tip = tip_motion(blade(), stiffened=False, until=15.0)
    assert np.abs(tip[:, 1]).max() > 2 * LENGTH
