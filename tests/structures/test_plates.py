"""Thin plates against closed forms and tables."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.structures.supported_structure import SupportedStructure, free_modes

STEEL = da.Material(E=210e9, nu=0.3, density=7850)


def test_a_simply_supported_plate_has_navier_s_frequencies() -> None:
    a, b, h = 1.0, 0.8, 0.01
    D = STEEL.E * h**3 / 12 / (1 - 0.3**2)
    exact = sorted(
        np.pi**2 * np.sqrt(D / (7850 * h)) * ((i / a) ** 2 + (j / b) ** 2) for i in (1, 2, 3) for j in (1, 2, 3)
    )[:4]
    errors = []
    for count in (6, 12):
        s = da.plate_structure(a, b, h, STEEL, elements=(count, count))
        border = (np.abs(np.abs(s.nodes[:, 0]) - a / 2) < 1e-9) | (np.abs(np.abs(s.nodes[:, 1]) - b / 2) < 1e-9)
        fixed = np.zeros((len(s.nodes), 6), dtype=bool)
        fixed[:, :2] = True
        fixed[border, 2] = True
        errors.append(np.abs(np.sqrt(SupportedStructure(s, fixed.ravel()).modes(4)[0]) / exact - 1).max())
    assert errors[1] < 0.03 and 1.7 < np.log2(errors[0] / errors[1]) < 2.3  # order two


def test_a_free_square_plate_has_leissa_s_frequencies() -> None:
    a, h = 1.0, 0.01
    s = da.plate_structure(a, a, h, STEEL, elements=(16, 16))
    D = STEEL.E * h**3 / 12 / (1 - 0.3**2)
    found = np.sqrt(free_modes(s, 5)[0]) * a**2 * np.sqrt(7850 * h / D)
    # Leissa, Vibration of plates (1969), as improved by Leissa (1973): nu = 0.3
    assert np.allclose(found, [13.468, 19.596, 24.270, 34.801, 34.801], rtol=6e-3)
    body = s.reduce(da.FreeModes(5))
    assert body.mass == pytest.approx(7850 * h) and np.allclose(body.com, 0, atol=1e-12)


def test_a_plate_stretches_in_its_plane() -> None:
    s = da.plate_structure(2.0, 1.0, 0.01, STEEL, elements=(2, 1))
    u = np.zeros((len(s.nodes), 6))
    u[:, 0], u[:, 1] = s.nodes[:, 0], -0.3 * s.nodes[:, 1]  # uniaxial stress along x
    energy = u.ravel() @ (s.stiffness @ u.ravel())
    assert energy == pytest.approx(STEEL.E * 2.0 * 1.0 * 0.01)
    twist = np.zeros((len(s.nodes), 6))
    x, y, _ = s.nodes.T
    twist[:, 2], twist[:, 3], twist[:, 4] = x * y, x, -y
    D = STEEL.E * 0.01**3 / 12 / (1 - 0.09)
    assert twist.ravel() @ (s.stiffness @ twist.ravel()) == pytest.approx(2 * D * 0.7 * 2.0)  # constant twist


def test_a_plate_clamped_along_an_edge() -> None:
    s = da.plate_structure(1.0, 0.1, 0.005, STEEL, elements=(10, 1))
    edge = np.flatnonzero(np.abs(s.nodes[:, 0] + 0.5) < 1e-9)
    body = s.rigid_region(edge).reduce(da.CantileverModes(2, at=len(s.nodes)))
    # a strip: between a beam and a plate bent to a cylinder
    beam = 1.875104068711961**2 * np.sqrt(STEEL.E * 0.005**2 / 12 / 7850)
    assert beam < body.frequencies[0] < beam / np.sqrt(1 - 0.09)


def test_a_spinning_strip_is_stiffened_like_a_beam() -> None:
    """Southwell's numbers of a strip without Poisson's ratio: 1.193 across the plane of spinning."""
    plain = da.Material(E=210e9, nu=0.0, density=7850)
    s = da.plate_structure(1.0, 0.05, 0.005, plain, elements=(30, 1))
    s = da.Structure(s.nodes + np.array([0.5, 0, 0]), s.mass, s.stiffness, elements=s.elements)
    edge = np.flatnonzero(np.abs(s.nodes[:, 0]) < 1e-9)
    body = s.rigid_region(edge, at=(0.0, 0.0, 0.0)).reduce(da.CantileverModes(2, at=len(s.nodes)), stiffening=True)
    assert body.stiffening is not None
    ratio = np.diag(body.stiffening.spin[2]) / np.diag(body.modal_mass)
    assert ratio[0] == pytest.approx(1.193, abs=1e-3) and ratio[1] == pytest.approx(6.48, abs=0.005)  # three digits
    # about y the strip flaps in the plane of spinning: the same pull
    assert np.diag(body.stiffening.spin[1])[0] == pytest.approx(np.diag(body.stiffening.spin[2])[0], rel=1e-3)


def test_impossible_plates_are_refused() -> None:
    for make, words in (
        (lambda: da.plate_structure(1, 0, 0.1, STEEL), "above zero"),
        (lambda: da.plate_structure(1, 1, 0.1, STEEL, elements=(0, 2)), "at least 1"),
        (lambda: da.plate_structure(1, 1, 0.1, None), "give a Material"),
    ):
        with pytest.raises(da.ModelError, match=words):
            make()
