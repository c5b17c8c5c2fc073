"""Formulas of lubricated contacts: Hertz's line contact, film thickness, traction, and journal bearings.

Plain functions of numbers or NumPy arrays, in SI units. The elements `JournalBearing` and `TractionFilm` use the same
formulas within the equations of motion.

Sources
-------
- K. L. Johnson, *Contact Mechanics*, Cambridge 1985, section 4.2: line contact of cylinders.
- C. Barus, Am. J. Sci. 45 (1893) 87-96: viscosity under pressure.
- D. Dowson, Proc. Inst. Mech. Eng. 182 (1967-68) pt 3A, 151-167: minimum film of line contacts; D. Dowson, S. Toyoda,
  5th Leeds-Lyon Symp. on Tribology (1979) 60-65: central film.
- H. Eyring, J. Chem. Phys. 4 (1936) 283-291; K. L. Johnson, J. L. Tevaarwerk, Proc. R. Soc. Lond. A 356 (1977)
  215-236: nonlinear viscous traction. L. Houpert's expression (1980), which Sol 1983 uses without printing it, is of
  this kind; it is not implemented here.
- D. Childs, H. Moes, H. van Leeuwen, J. Lubr. Technol. 99 (1977) 198-210; H. Moes, R. Bosma, J. Lubr. Technol. 103
  (1981) 468-470: impedance of journal bearings.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array
from .checks import checked, positive
from .errors import ModelError

__all__ = [
    "HertzLine",
    "Impedance",
    "barus_viscosity",
    "central_film",
    "eyring_traction",
    "hertz_line",
    "journal_impedance",
    "minimum_film",
    "reduced_modulus",
    "reduced_radius",
]


# Gauss's rule for the mean over the contact, x = sin(angle) of the half width
_POINTS, _SHARES = np.polynomial.legendre.leggauss(10)
CONTACT_ANGLES: tuple[float, ...] = tuple(float(math.pi / 4 * (x + 1)) for x in _POINTS)
CONTACT_WEIGHTS: tuple[float, ...] = tuple(
    float(math.pi / 4 * w * math.cos(a)) for w, a in zip(_SHARES, CONTACT_ANGLES, strict=True)
)


class HertzLine(NamedTuple):
    """Half width b (m) and maximum pressure p (Pa) of a line contact; the pressure is p sqrt(1 - (x/b)^2)."""

    half_width: Array
    pressure: Array


class Impedance(NamedTuple):
    """Magnitude of the impedance, and angle (rad) of the load ahead of the squeeze velocity."""

    size: Array
    turn: Array


@checked("E1", "nu1", "E2", "nu2")
def reduced_modulus(E1: float = 2.1e11, nu1: float = 0.3, E2: float | None = None, nu2: float | None = None) -> float:
    """Return E' of 2/E' = (1 - nu1^2)/E1 + (1 - nu2^2)/E2, Pa; steel on steel, or the second as the first.

    Parameters
    ----------
    E1, E2 : float, Pa
    nu1, nu2 : float

    Examples
    --------
    >>> round(reduced_modulus() / 1e9, 2)
    230.77
    """
    E2, nu2 = E1 if E2 is None else E2, nu1 if nu2 is None else nu2
    positive("reduced_modulus", E1=E1, E2=E2)
    for name, value in (("nu1", nu1), ("nu2", nu2)):
        if not -1 < value < 1:
            raise ModelError("reduced_modulus", name, value, "Poisson's ratio lies between -1 and 0.5")
    return 2.0 / ((1 - nu1**2) / E1 + (1 - nu2**2) / E2)


@checked("r1", "r2")
def reduced_radius(r1: ArrayLike, r2: ArrayLike) -> Array:
    """Return R of 1/R = 1/r1 + 1/r2, m; ``inf`` for a flat surface, negative for a hollow one."""
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / (1.0 / np.asarray(r1, float) + 1.0 / np.asarray(r2, float)))


@checked("load", "length", "radius", "modulus")
def hertz_line(load: ArrayLike, length: ArrayLike, radius: ArrayLike, modulus: ArrayLike) -> HertzLine:
    """Return half width and maximum pressure of a line contact (Hertz).

    Parameters
    ----------
    load : N
        Negative loads count as zero: no contact.
    length : m
        Of the contact line.
    radius : m
        `reduced_radius` of the surfaces.
    modulus : Pa
        `reduced_modulus`, E'.

    b = sqrt(8 w R / (pi E')), p = sqrt(w E' / (2 pi R)), w the load per length.

    Examples
    --------
    >>> line = hertz_line(1000.0, 0.02, 0.005, reduced_modulus())
    >>> print(round(float(line.pressure) / 1e6, 1), round(float(line.half_width) * 1e6, 2))
    606.0 52.52
    """
    w, R, E = (np.asarray(x, float) for x in (load, radius, modulus))
    w = np.maximum(w, 0.0) / np.asarray(length, float)
    return HertzLine(np.asarray(np.sqrt(8 * w * R / (np.pi * E))), np.asarray(np.sqrt(w * E / (2 * np.pi * R))))


@checked("viscosity", "coefficient", "pressure")
def barus_viscosity(viscosity: ArrayLike, coefficient: ArrayLike, pressure: ArrayLike) -> Array:
    """Return eta0 exp(alpha p), Pa s.

    Parameters
    ----------
    viscosity : Pa s
        eta0, at ambient pressure.
    coefficient : 1/Pa
        alpha.
    pressure : Pa
    """
    return np.asarray(np.asarray(viscosity, float) * np.exp(np.asarray(coefficient, float) * pressure))


@checked("speed", "load", "length", "radius", "modulus", "viscosity", "coefficient")
def minimum_film(
    speed: ArrayLike,
    load: ArrayLike,
    length: ArrayLike,
    radius: ArrayLike,
    modulus: ArrayLike,
    viscosity: ArrayLike,
    coefficient: ArrayLike,
) -> Array:
    """Return the minimum film thickness of an elastohydrodynamic line contact, m (Dowson 1968).

    Parameters
    ----------
    speed : m/s
        Mean speed of the two surfaces relative to the contact, (u1 + u2)/2; its sign does not matter.
    load : N
    length : m
    radius : m
        `reduced_radius`.
    modulus : Pa
        `reduced_modulus`.
    viscosity : Pa s
        At ambient pressure.
    coefficient : 1/Pa
        Of the viscosity's growth with pressure.

    h / R = 2.65 U^0.70 G^0.54 W^-0.13 with U = eta0 u / (E' R), G = alpha E', W = load / (length E' R). A fit to
    numerical solutions of smooth, fully flooded, isothermal contacts with pressure-dependent viscosity and elastic
    surfaces; not for light loads, where it grows without bound.
    """
    R, (U, G, W) = _groups(speed, load, length, radius, modulus, viscosity, coefficient)
    return np.asarray(2.65 * R * U**0.70 * G**0.54 * W**-0.13)


@checked("speed", "load", "length", "radius", "modulus", "viscosity", "coefficient")
def central_film(
    speed: ArrayLike,
    load: ArrayLike,
    length: ArrayLike,
    radius: ArrayLike,
    modulus: ArrayLike,
    viscosity: ArrayLike,
    coefficient: ArrayLike,
) -> Array:
    """Return the central film thickness of an elastohydrodynamic line contact, m (Dowson and Toyoda 1979).

    h / R = 3.06 U^0.69 G^0.56 W^-0.10; parameters and limits as in `minimum_film`.
    """
    R, (U, G, W) = _groups(speed, load, length, radius, modulus, viscosity, coefficient)
    return np.asarray(3.06 * R * U**0.69 * G**0.56 * W**-0.10)


@checked("slip", "film", "pressure", "viscosity", "coefficient", "stress")
def eyring_traction(
    slip: ArrayLike,
    film: ArrayLike,
    pressure: ArrayLike,
    viscosity: ArrayLike,
    coefficient: ArrayLike,
    stress: ArrayLike,
) -> Array:
    """Return the traction coefficient of a line contact, with the sign of the slip.

    Parameters
    ----------
    slip : m/s
        Difference of the speeds of the surfaces.
    film : m
        Thickness, the same throughout the contact.
    pressure : Pa
        Maximum pressure of Hertz, `HertzLine.pressure`.
    viscosity : Pa s
        At ambient pressure.
    coefficient : 1/Pa
        alpha of Barus.
    stress : Pa
        tau0 of Eyring.

    The shear stress tau = tau0 asinh(eta(p) slip / (tau0 film)), eta of Barus, p of Hertz, is averaged over the contact
    and divided by the mean pressure (by ten points, good to 0.2 % up to alpha p = 20). For slow slip the oil is
    Newtonian; for fast slip

        f = alpha tau0 + tau0 / p_mean ln(2 eta0 slip / (tau0 film)),   p_mean = pi p / 4.

    Isothermal, without elastic shear: too large for slip that heats the oil.

    Examples
    --------
    >>> print(round(float(eyring_traction(0.3, 3e-7, 9e8, 0.017, 1.85e-8, 5e6)), 4))
    0.0578
    """
    slip, film, p, eta, alpha, tau = (
        np.asarray(x, float) for x in (slip, film, pressure, viscosity, coefficient, stress)
    )
    rate = eta * slip / (tau * film)
    mean = sum(
        w * np.arcsinh(rate * np.exp(np.minimum(alpha * p * math.cos(a), 300.0)))
        for w, a in zip(CONTACT_WEIGHTS, CONTACT_ANGLES, strict=True)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(p > 0, tau * mean / (math.pi / 4 * p), 0.0))


@checked("along", "across", "slenderness")
def journal_impedance(along: ArrayLike, across: ArrayLike, slenderness: ArrayLike) -> Impedance:
    """Return the impedance of a journal bearing of finite length with a half film.

    Parameters
    ----------
    along, across : 1
        Eccentricity ratio along the squeeze velocity V, e . V / (c |V|), and across it, (e x V)_z / (c |V|).
    slenderness : 1
        Length over diameter, L / D.

    With the journal's centre at e, moving at e', and the mean w of the angular velocities of journal and sleeve, the
    squeeze velocity is V = e' - w x e. The film exerts on the journal

        F = -2 eta L (R/c)^3 |V| size  along V turned by `turn`.

    With x, y for along, across; B = (1 - x^2 - y^2) (D/L)^2; r = sqrt(1 - y^2):

        turn = (1 - x/r) (asin y - atan(3 (1 + 3.60 B) y / (4 (1 + 2.12 B) r))) - asin y
        x', y' = x, y in axes turned by it;   Q = (1 - x') (D/L)^2
        E = 1 + 2.12 Q,   G = 3 y' (1 + 3.60 Q) / (4 (1 - x')),   size = 1 / (0.150 sqrt(E^2 + G^2) (1 - x')^(3/2))

    (Childs, Moes and van Leeuwen 1977; Moes and Bosma 1981.) Limits of size: pi (L/D)^2 of the short bearing (Ocvirk),
    concentric; 3 pi / sqrt(2) (1 - x)^(-3/2) of the long one (Sommerfeld), squeezed towards contact.
    """
    x, y, slim = (np.asarray(v, float) for v in (along, across, slenderness))
    r = np.sqrt(1 - y * y)
    B = (1 - x * x - y * y) / slim**2
    arc = np.arcsin(y)
    turn = (1 - x / r) * (arc - np.arctan(3 * (1 + 3.60 * B) * y / (4 * (1 + 2.12 * B) * r))) - arc
    ahead, aside = x * np.cos(turn) - y * np.sin(turn), y * np.cos(turn) + x * np.sin(turn)
    Q = (1 - ahead) / slim**2
    E, G = 1 + 2.12 * Q, 3 * aside * (1 + 3.60 * Q) / (4 * (1 - ahead))
    return Impedance(np.asarray(1 / (0.150 * np.sqrt(E * E + G * G) * (1 - ahead) ** 1.5)), np.asarray(turn))


def _groups(*contact: ArrayLike) -> tuple[Array, tuple[Array, Array, Array]]:
    """Return the radius and the groups U, G, W of Dowson and Higginson; arguments as of `minimum_film`, in order."""
    u, w, L, R, E, eta, alpha = (np.asarray(x, float) for x in contact)
    return R, (eta * np.abs(u) / (E * R), alpha * E, np.maximum(w, 1e-300) / (L * E * R))
