"""Lubricated contacts: closed forms, limits, and Reynolds' equation solved slowly."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles.reynolds import film_load
from scipy.integrate import quad

from dalembert import tribology as oil

Array = NDArray[np.float64]

STEEL = oil.reduced_modulus()
ENGINE_OIL = {"viscosity": 0.017, "coefficient": 1.85e-8}


def impedance(ratio: float, alpha: float, slenderness: float) -> Array:
    """Return the formula's load (2,), along the eccentricity and ahead, of V at the angle alpha."""
    size, turn = oil.journal_impedance(ratio * np.cos(alpha), ratio * np.sin(alpha), slenderness)
    return np.array([size * np.cos(alpha + turn), size * np.sin(alpha + turn)])


# ---- Hertz, Barus


def test_hertz_carries_the_load_and_flattens_the_circles() -> None:
    load, length, r1, r2 = 1500.0, 0.02, 0.016, 0.012
    R = float(oil.reduced_radius(r1, r2))
    b, p = oil.hertz_line(load, length, R, STEEL)
    assert np.pi / 2 * b * p * length == pytest.approx(load, rel=1e-12)  # area under half an ellipse
    assert p == pytest.approx(STEEL / 4 * b / R, rel=1e-12)  # Johnson (4.43) to (4.45): b = 2 R p / E*, E* = E'/2
    assert oil.reduced_radius(np.inf, r2) == r2
    assert oil.hertz_line(-1.0, length, R, STEEL).pressure == 0


def test_the_modulus_of_two_materials() -> None:
    assert pytest.approx(2.1e11 / 0.91) == STEEL
    assert oil.reduced_modulus(2.1e11, 0.3, 1e30, 0.0) == pytest.approx(2 * 2.1e11 / 0.91)


def test_oil_thickens_by_e_for_every_inverse_of_the_coefficient() -> None:
    assert oil.barus_viscosity(0.017, 1.85e-8, 2 / 1.85e-8) == pytest.approx(0.017 * np.e**2)


# ---- films


def test_films_of_printed_groups() -> None:
    """R = 10 mm, U = 1e-11, G = 5000, W = 1e-4: the fits by hand."""
    R, E = 0.01, 2e11
    given = (2.0, 1e-4 * E * R * 0.03, 0.03, R, E, 1e-11 * E * R / 2.0, 5000 / E)
    assert oil.minimum_film(*given) == pytest.approx(R * 2.65 * 1e-11**0.7 * 5000**0.54 * 1e-4**-0.13)
    assert oil.central_film(*given) == pytest.approx(R * 3.06 * 1e-11**0.69 * 5000**0.56 * 1e-4**-0.1)
    # the asymptote of Moes for stiff oils, h/R = 1.311 (2U)^0.75 G^0.75 W^-0.125, is another source
    assert oil.central_film(*given) == pytest.approx(1.311 * R * (2e-11 * 5000) ** 0.75 * 1e-4**-0.125, rel=0.01)
    assert oil.minimum_film(*given) < oil.central_film(*given)
    assert oil.minimum_film(-2.0, *given[1:]) == oil.minimum_film(*given)


# ---- traction


def test_slow_slip_is_newtonian() -> None:
    p, film, slip = 4e8, 3e-7, 1e-9
    mean = quad(lambda x: float(oil.barus_viscosity(0.017, 1.85e-8, p * np.sqrt(1 - x * x))), 0, 1)[0]
    f = oil.eyring_traction(slip, film, p, 0.017, 1.85e-8, 5e6)
    assert f == pytest.approx(mean * slip / film / (np.pi / 4 * p), rel=1e-5)


def test_fast_slip_has_the_logarithm() -> None:
    """Where the argument is above 100 in all of the contact, asinh x = ln 2 x; a straight line over ln slip."""
    p, film, slip, tau = 6e8, 1e-7, 3e4, 5e6
    mean = np.pi / 4 * p
    expected = 1.85e-8 * tau + tau / mean * np.log(2 * 0.017 * slip / (tau * film))
    assert oil.eyring_traction(slip, film, p, 0.017, 1.85e-8, tau) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("p", [1e8, 5e8, 1e9])
@pytest.mark.parametrize("slip", [1e-5, 1e-2, 1.0, -0.3])
def test_traction_is_the_mean_over_the_contact(p: float, slip: float) -> None:
    film, tau = 2e-7, 5e6
    rate = 0.017 * slip / (tau * film)
    mean = quad(lambda a: np.cos(a) * np.arcsinh(rate * np.exp(1.85e-8 * p * np.cos(a))), 0, np.pi / 2)[0]
    f = oil.eyring_traction(slip, film, p, 0.017, 1.85e-8, tau)
    assert f == pytest.approx(tau * mean / (np.pi / 4 * p), rel=1e-3)
    assert np.sign(f) == np.sign(slip)


# ---- journal bearings


def test_short_bearings_are_those_of_ocvirk() -> None:
    """In the middle pi (L/D)^2; with eccentricity the closed form of the half film, good to 10 % up to 0.9."""
    slim = 0.02
    assert oil.journal_impedance(0.0, 0.0, slim).size == pytest.approx(np.pi * slim**2, rel=1e-3)
    for e in (0.1, 0.3, 0.5, 0.7, 0.9):
        # the film of a turning journal, V = w e c / 2: eta w L^3 R e / (4 c^2 (1 - e^2)^2) of (4 e, pi sqrt(1 - e^2))
        scale = slim**2 / (1 - e * e) ** 2
        exact = scale * np.array([4 * e, np.pi * np.sqrt(1 - e * e)])
        assert np.linalg.norm(impedance(e, np.pi / 2, slim) - exact) < 0.11 * np.linalg.norm(exact)


def test_long_bearings_are_those_of_sommerfeld_towards_contact() -> None:
    """The squeezed half film: p = 6 cos (2 - e cos) / (1 - e cos)^2, whose load tends to sqrt(2) 3 pi / 2 d^(-3/2)."""
    for gap, close in ((1e-2, 0.06), (1e-4, 2e-3)):
        e = 1 - gap
        p = lambda x, e=e: 6 * np.cos(x) ** 2 * (2 - e * np.cos(x)) / (1 - e * np.cos(x)) ** 2  # noqa: E731
        exact = quad(p, 0, np.pi / 2, points=[3 * np.sqrt(gap)], limit=200)[0]  # both sides, over 2
        assert oil.journal_impedance(e, 0.0, 1e4).size == pytest.approx(exact, rel=close)


def test_the_oracle_in_closed_forms() -> None:
    # concentric, any length: 3 pi (1 - tanh(L/D) / (L/D))
    for slim in (0.3, 1.0, 3.0):
        expected = 3 * np.pi * (1 - np.tanh(slim) / slim)
        assert np.linalg.norm(film_load(0.0, 0.4, slim, "gumbel")) == pytest.approx(expected, rel=1e-3)
    # short, turning: Ocvirk
    e, slim = 0.6, 0.02
    exact = slim**2 / (1 - e * e) ** 2 * np.array([4 * e, np.pi * np.sqrt(1 - e * e)])
    for condition in ("half", "gumbel", "reynolds"):
        assert np.allclose(film_load(e, np.pi / 2, slim, condition), exact, rtol=1e-3)
    # long, turning, half film: Sommerfeld
    e = 0.5
    exact = np.array([12 * e / (1 - e * e), 6 * np.pi / np.sqrt(1 - e * e)]) / (2 + e * e)
    assert np.allclose(film_load(e, np.pi / 2, 200.0, "gumbel", along=200), exact, rtol=5e-3)  # 200 diameters long


RAIMONDI_BOYD = {  # Sommerfeld number and attitude angle (deg), ASLE Trans. 1 (1958) 159-209, full bearings
    (1.0, 0.4): (0.264, 63.1),
    (1.0, 0.6): (0.121, 50.6),
    (1.0, 0.8): (0.0446, 36.2),
    (0.5, 0.4): (0.779, 61.5),
    (0.5, 0.6): (0.319, 48.1),
    (0.5, 0.8): (0.0923, 33.3),
    (0.25, 0.4): (2.83, 60.9),
    (0.25, 0.6): (1.07, 46.7),
    (0.25, 0.8): (0.261, 31.0),
}


@pytest.mark.parametrize("slim, e", RAIMONDI_BOYD)
def test_steady_bearings_against_the_tables(slim: float, e: float) -> None:
    number, angle = RAIMONDI_BOYD[slim, e]
    load = impedance(e, np.pi / 2, slim)
    # errors of the fitted impedance
    assert 1 / (np.pi * e * np.linalg.norm(load)) == pytest.approx(number, rel=0.06 if e < 0.7 else 0.16)
    assert np.degrees(np.arctan2(load[1], load[0])) == pytest.approx(angle, abs=1.6)  # degrees
    # the oracle, with film rupture by the Reynolds condition, on a grid of 160 by 15
    load = film_load(e, np.pi / 2, slim, "reynolds", around=160, along=15)
    assert 1 / (np.pi * e * np.linalg.norm(load)) == pytest.approx(number, rel=0.017)
    assert np.degrees(np.arctan2(load[1], load[0])) == pytest.approx(angle, abs=2.1)  # degrees


def deviation(ratios: list[float], slim: float, condition: str) -> float:
    """Return the greatest deviation of the formula from a solution of Reynolds' equation, for V in all directions."""
    worst = 0.0
    for e in ratios:
        for alpha in np.radians(np.arange(0, 181, 15)):
            exact = film_load(e, alpha, slim, condition, around=180, along=17)
            worst = max(worst, float(np.linalg.norm(impedance(e, alpha, slim) - exact) / np.linalg.norm(exact)))
    return worst


@pytest.mark.slow
@pytest.mark.parametrize(
    "slims, ratios, natural, half",
    [
        ([0.25, 0.5], [0.1, 0.3, 0.5], 0.04, 0.13),
        ([0.5, 1.0], [0.1, 0.3, 0.5, 0.7], 0.13, 0.29),
        ([0.25, 0.5, 1.0], [0.9], 0.28, 0.50),
        ([2.0], [0.1, 0.3, 0.5, 0.7, 0.9], 0.36, 0.40),
    ],
)
def test_the_deviations_that_the_manual_states(
    slims: list[float], ratios: list[float], natural: float, half: float
) -> None:
    for condition, bound in (("reynolds", natural), ("half", half)):
        worst = max(deviation(ratios, slim, condition) for slim in slims)
        assert bound - 0.05 < worst < bound


def test_no_direction_of_squeeze_is_helped() -> None:
    """The load has a part against V, whatever the eccentricity: the film only takes."""
    rng = np.random.default_rng(0)
    x, y = 0.99 * np.sqrt(rng.random(5000)) * np.array([np.cos(a := rng.random(5000) * 2 * np.pi), np.sin(a)])
    for slim in (0.1, 0.5, 1.0, 4.0):
        turn = oil.journal_impedance(x, y, slim).turn
        assert np.abs(turn).max() < np.pi / 2
