"""Frequencies of beams converge to closed forms at the order of the elements."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq

import dalembert as da
from dalembert.structures import frame_structure
from dalembert.structures.supported_structure import SupportedStructure, free_modes

E, G, RHO = 200e9, 80e9, 8000.0
MATERIAL = da.Material(E=E, G=G, density=RHO)
# different second moments, so that the two planes of bending do not hide behind each other
SLENDER = da.Section(A=4e-4, Iy=3e-8, Iz=1e-8, J=2e-8)
DEEP = da.Section(A=0.02, Iy=3e-5, Iz=1e-5, J=3e-5, shear_y=0.8, shear_z=0.7)
LENGTH = 1.3

# roots of cos x cosh x = -1 and of cos x cosh x = 1
CANTILEVER = np.array([1.875104068711961, 4.694091132974175, 7.854757438237613])
FREE = np.array([4.730040744862704, 7.853204624095838, 10.99560783800167])


def structure(section: da.Section, elements: int, theory: str, mass: str = "consistent") -> da.Structure:
    return frame_structure([da.Member(LENGTH, section, MATERIAL, elements=elements)], theory=theory, mass=mass)


def bending(roots: np.ndarray, section: da.Section) -> np.ndarray:
    """Frequencies of a slender beam in both planes, ascending, rad/s."""
    both = [(roots / LENGTH) ** 2 * np.sqrt(E * second / (RHO * section.A)) for second in (section.Iy, section.Iz)]
    return np.sort(np.concatenate(both))


def pinned(s: da.Structure) -> SupportedStructure:
    """A beam on two pins: ends held across, one of them along and about the axis."""
    fixed = np.zeros((len(s.nodes), 6), dtype=bool)
    fixed[[0, -1], 1:3] = True
    fixed[0, [0, 3]] = True
    return SupportedStructure(s, fixed.ravel())


def orders(errors: np.ndarray) -> np.ndarray:
    return np.array([np.log2(a / b) for a, b in pairwise(errors)])


@pytest.mark.parametrize("support", ["cantilever", "free", "pinned"])
def test_slender_bending_converges_at_order_four(support: str) -> None:
    errors = []
    for elements in (8, 16, 32):
        s = structure(SLENDER, elements, "euler")
        if support == "cantilever":
            squares, exact = SupportedStructure(s, s.fixed_at([0])).modes(4)[0], bending(CANTILEVER, SLENDER)[:4]
        elif support == "free":
            squares, exact = free_modes(s, 4)[0], bending(FREE, SLENDER)[:4]
        else:
            squares, exact = pinned(s).modes(4)[0], bending(np.pi * np.arange(1, 4), SLENDER)[:4]
        errors.append(np.sqrt(squares) / exact - 1)
    assert (np.array(errors) > 0).all()  # consistent masses bound frequencies from above
    assert np.abs(orders(np.array(errors)) - 4).max() < 0.25
    assert errors[-1].max() < 3e-6


def timoshenko_pinned(n: int, second: float, shear: float, section: da.Section) -> float:
    """The lower of the two frequencies of mode n of a Timoshenko beam on two pins, rad/s."""
    k = n * np.pi / LENGTH
    kGA, EI, m, j = shear * G * section.A, E * second, RHO * section.A, RHO * second
    # m j w4 - (m (EI k2 + kGA) + j kGA k2) w2 + kGA EI k4 = 0
    b = m * (EI * k**2 + kGA) + j * kGA * k**2
    w2 = (b - np.sqrt(b * b - 4 * m * j * kGA * EI * k**4)) / (2 * m * j)
    return float(np.sqrt(w2))


def test_deep_beams_converge_to_timoshenko() -> None:
    exact = [timoshenko_pinned(n, DEEP.Iy, DEEP.shear_z, DEEP) for n in (1, 2, 3)]
    exact += [timoshenko_pinned(n, DEEP.Iz, DEEP.shear_y, DEEP) for n in (1, 2, 3)]
    wanted = np.sort(exact)[:3]
    errors = []
    for elements in (8, 16, 32):
        squares, _ = pinned(structure(DEEP, elements, "timoshenko")).modes(3)
        errors.append(np.sqrt(squares) / wanted - 1)
    # linear and quadratic fields of shear and rotation: order two once elements are as short as the beam is deep
    assert np.abs(orders(np.array(errors)) - 2).max() < 0.3
    assert np.abs(errors[-1]).max() < 1e-4
    slender = np.sqrt(pinned(structure(DEEP, 32, "euler")).modes(3)[0])
    assert (slender > 1.005 * wanted).all()  # shear and rotary inertia matter here


def timoshenko_cantilever(section: da.Section) -> float:
    """The first frequency of a clamped Timoshenko beam that bends about z, by its transfer matrix, rad/s."""
    from scipy.linalg import expm

    kGA, EI, m, j = section.shear_y * G * section.A, E * section.Iz, RHO * section.A, RHO * section.Iz

    def closing(w: float) -> float:
        # state: deflection, rotation, moment, shear force
        A = np.array([[0, 1, 0, 1 / kGA], [0, 0, 1 / EI, 0], [0, -j * w * w, 0, -1], [-m * w * w, 0, 0, 0]])
        return float(np.linalg.det(expm(A * LENGTH)[2:, 2:]))

    start = bending(CANTILEVER[:1], section)[0]
    return float(brentq(closing, 0.8 * start, start, xtol=1e-9))


def test_a_deep_cantilever_has_its_transfer_matrix_frequency() -> None:
    exact, errors = timoshenko_cantilever(DEEP), []
    for elements in (16, 32, 64):
        s = structure(DEEP, elements, "timoshenko")
        errors.append(np.sqrt(SupportedStructure(s, s.fixed_at([0])).modes(1)[0][0]) / exact - 1)
    assert np.abs(orders(np.array(errors)) - 2).max() < 0.1 and 0 < errors[-1] < 2e-7


@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_stretching_and_twisting_converge_at_order_two(mass: str) -> None:
    exact_stretch = np.pi / (2 * LENGTH) * np.sqrt(E / RHO)
    exact_twist = np.pi / (2 * LENGTH) * np.sqrt(G * SLENDER.J / (RHO * (SLENDER.Iy + SLENDER.Iz)))
    errors = []
    for elements in (8, 16, 32):
        s = structure(SLENDER, elements, "euler", mass)
        found = []
        for dof in (0, 3):
            fixed = np.ones((len(s.nodes), 6), dtype=bool)
            fixed[1:, dof] = False
            found.append(np.sqrt(SupportedStructure(s, fixed.ravel()).modes(1)[0][0]))
        errors.append(np.abs(np.array(found) / [exact_stretch, exact_twist] - 1))
    assert np.abs(orders(np.array(errors)) - 2).max() < 0.1


def test_lumped_masses_converge_at_order_two() -> None:
    exact = bending(CANTILEVER, SLENDER)[:3]
    errors = []
    for elements in (8, 16, 32):
        s = structure(SLENDER, elements, "euler", "lumped")
        errors.append(np.abs(np.sqrt(SupportedStructure(s, s.fixed_at([0])).modes(3)[0]) / exact - 1))
    assert np.abs(orders(np.array(errors)) - 2).max() < 0.2


def southwell(elements: int) -> np.ndarray:
    """Ratio of spin stiffness to modal mass of the first two bending modes across the plane of spinning."""
    body = da.beam(
        LENGTH, SLENDER, MATERIAL, elements=elements, theory="euler", modes=da.CantileverModes(6), stiffening=True
    )
    z = body.shapes[-1, 5]  # deflection of the tip along z, the axis of spinning
    flaps = np.flatnonzero(np.abs(z) > 0.5 * np.abs(z).max())[:2]
    assert body.stiffening is not None
    return np.array([body.stiffening.spin[2][k, k] / body.modal_mass[k, k] for k in flaps])


def test_a_rotating_beam_has_its_southwell_coefficients() -> None:
    # by quadrature with the exact modes: integral of (L2 - x2)/2 w'2 over integral of w2
    x, weights = np.polynomial.legendre.leggauss(60)
    x, weights = (x + 1) / 2, weights / 2
    wanted = []
    for b in CANTILEVER[:2]:
        ratio = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
        w = np.cosh(b * x) - np.cos(b * x) - ratio * (np.sinh(b * x) - np.sin(b * x))
        slope = b * (np.sinh(b * x) + np.sin(b * x) - ratio * (np.cosh(b * x) - np.cos(b * x)))
        wanted.append((weights @ ((1 - x**2) / 2 * slope**2)) / (weights @ w**2))
    assert wanted[0] == pytest.approx(1.193, abs=5e-4) and wanted[1] == pytest.approx(6.478, abs=5e-4)  # Southwell
    errors = np.array([np.abs(southwell(n) - wanted) for n in (8, 16, 32)])
    assert np.abs(orders(errors) - 2).max() < 0.3 and errors[-1].max() < 1e-2
