"""Nonlinear springs: polynomials, formulas, cables, stops, gas and oil springs, bushings.

All but the bushing act at a joint coordinate (``measure="joint"``) or along the line between two markers
(``measure="distance"``). Their parameters may be changed by name: ``"k1.rest"``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...checks import (
    at_least_one,
    checked,
    finite,
    finite_array,
    finite_number,
    not_negative,
    positive,
    shape_of,
)
from ...errors import ModelError
from .element import Element
from .signals import Along

__all__ = ["BumpStop", "Bushing", "Cable", "GasSpring", "HydraulicSpring", "Ligament", "NonlinearSpring"]


@checked("parameters", "measure")
class NonlinearSpring(Element):
    """Spring whose force is a polynomial or any formula of the elongation u = s - rest.

    Parameters
    ----------
    law : sequence of float, or expression
        Coefficients (k1, k2, ...) of k1 u + k2 u^2 + ..., N/m, N/m^2, ... (N m/rad, ... about an axis); or text such as
        ``"k*sinh(u/a)"``, the force against elongation, N or N m.
    energy : expression
        The integral of a formula over u, J. Polynomials need none.
    rest : float, m or rad
        Where u is zero.
    preload : float, N or N m
        Force at u = 0 against elongation.
    damping : float, N s/m or N m s/rad
    parameters : dict of str to float
        Parameters of the formula.
    measure : str
        ``"joint"`` or ``"distance"``.

    The force on the second end is -(preload + law(u) + damping u'). Parameters: k1, k2, ... or those of the formula;
    rest, preload, damping.

    Examples
    --------
    >>> import dalembert as da
    >>> da.NonlinearSpring((100.0, 0.0, 2000.0), rest=0.1).parameters["k3"]
    2000.0
    >>> da.NonlinearSpring("k*sinh(u)", energy="k*cosh(u)", parameters={"k": 3.0}).kind
    'NonlinearSpring'
    """

    def __init__(
        self,
        law: Sequence[float] | str | Any,
        *,
        energy: Any = None,
        rest: float = 0.0,
        preload: float = 0.0,
        damping: float = 0.0,
        parameters: Mapping[str, float] | None = None,
        measure: Along = "joint",
    ) -> None:
        item = self.kind
        numbers: dict[str, float] = dict(parameters or {})
        shape = shape_of(law) if isinstance(law, (list, tuple, np.ndarray)) else None
        if shape is not None:
            if len(shape) != 1 or shape[0] == 0 or parameters or energy is not None:
                raise ModelError(item, "law", law, "a polynomial is given by its coefficients (k1, k2, ...) alone")
            numbers = {f"k{i}": finite_number(k, item=item, field=f"k{i}") for i, k in enumerate(law, 1)}
            powers = range(1, len(numbers) + 1)
            law = " + ".join(f"k{i}*u**{i}" for i in powers)
            energy = " + ".join(f"k{i}*u**{i + 1}/{i + 1}" for i in powers)
        elif energy is None:
            raise ModelError(item, "energy", None, "a formula needs its integral over u, J")
        own = finite(item, rest=rest, preload=preload) | not_negative(item, damping=damping)
        if own.keys() & numbers.keys():
            raise ModelError(item, "parameters", sorted(numbers), f"{', '.join(own)} are taken: use other names")
        numbers |= own
        super().__init__(
            measure,
            "-(preload + law + damping*ds)",
            numbers,
            energy="preload*u + stored",
            definitions={"u": "s - rest", "law": law, "stored": energy},
        )


@checked("measure")
class Cable(Element):
    """Cable: pulls when longer than its length, never pushes.

    Parameters
    ----------
    stiffness : float, N/m (N m/rad about an axis)
    length : float, m (rad)
        Below which it is slack.
    toe : float, m (rad)
        Elongation over which the stiffness grows from zero to its full value, as fibres straighten.
    damping : float, N s/m (N m s/rad)
        Acts while the cable is taut; the tension stays above zero.
    measure : str
        ``"distance"`` or ``"joint"``.

    With u = s - length the elastic tension is k u^2 / (2 toe) up to the toe and k (u - toe/2) beyond.

    Examples
    --------
    >>> import dalembert as da
    >>> da.Cable(stiffness=2e4, length=1.5, toe=0.01).measure
    'distance'
    """

    def __init__(
        self,
        stiffness: float,
        length: float,
        *,
        toe: float = 0.0,
        damping: float = 0.0,
        measure: Along = "distance",
    ) -> None:
        item = self.kind
        numbers = positive(item, stiffness=stiffness)
        if measure == "distance":
            numbers |= not_negative(item, length=length)
        else:
            numbers |= finite(item, length=length)
        numbers |= not_negative(item, toe=toe, damping=damping)
        parts = {
            "u": "max(s - length, 0)",
            "wide": "max(toe, 1e-300)",
            "elastic": "where(u < toe, stiffness*u*(u/wide)/2, stiffness*(u - toe/2))",
            # of a toe: u^3/(6 toe); beyond: (u - toe/2)^2/2 and what the toe holds less
            "stored": "where(u < toe, u*u*(u/wide)/6, (u - toe/2)**2/2 + toe**2/24)",
        }
        super().__init__(
            measure,
            "-where(u > 0, max(elastic + damping*ds, 0), 0)",
            numbers,
            energy="stiffness*stored",
            definitions=parts,
        )


class Ligament(Cable):
    """Ligament: a `Cable` given by strains.

    Parameters
    ----------
    stiffness : float, N
        Per unit of strain.
    length : float, m
        At which it is free of strain.
    toe_strain : float
        eps_l: the force is k eps^2 / (4 eps_l) up to the strain 2 eps_l, and k (eps - eps_l) beyond.
    damping : float, N s/m

    Source: L. Blankevoort, R. Huiskes, J. Biomech. Eng. 113 (1991) 263-269; eps_l = 0.03 is theirs.
    """

    def __init__(self, stiffness: float, length: float, *, toe_strain: float = 0.03, damping: float = 0.0) -> None:
        positive(self.kind, stiffness=stiffness, length=length)
        not_negative(self.kind, toe_strain=toe_strain)
        super().__init__(stiffness / length, length, toe=2 * toe_strain * length, damping=damping)


@checked("measure")
class BumpStop(Element):
    """Stop that pushes when shorter than its length, never pulls.

    Parameters
    ----------
    stiffness : float, N/m^n
    length : float, m or rad
        Above which it is free.
    exponent : float
        n, at least 1.
    damping : float, N s/m
        Acts while it is compressed; the push stays above zero.
    measure : str
        ``"distance"`` or ``"joint"``.

    With d = length - s the push is k d^n - damping s'.
    """

    def __init__(
        self,
        stiffness: float,
        length: float,
        *,
        exponent: float = 1.0,
        damping: float = 0.0,
        measure: Along = "distance",
    ) -> None:
        item = self.kind
        numbers = positive(item, stiffness=stiffness) | finite(item, length=length)
        numbers |= at_least_one(item, exponent=exponent) | not_negative(item, damping=damping)
        super().__init__(
            measure,
            "where(d > 0, max(stiffness*d**exponent - damping*ds, 0), 0)",
            numbers,
            energy="stiffness*d**(exponent + 1)/(exponent + 1)",
            definitions={"d": "max(length - s, 0)"},
        )


@checked("measure")
class GasSpring(Element):
    """Gas in a cylinder with a polytropic change of state: p V^n = p0 V0^n.

    Parameters
    ----------
    pressure : float, Pa
        p0, absolute, at s = rest.
    area : float, m^2
        Of the piston.
    volume : float, m^3
        V0, at s = rest; V = V0 + area (s - rest).
    exponent : float
        n: 1 isothermal, 1.4 adiabatic for air.
    outside : float, Pa
        Absolute pressure on the other side.
    rest : float, m
    damping : float, N s/m
    measure : str
        ``"distance"``, or ``"joint"`` for a slide.

    The force on the second end is (p - outside) area - damping s'. Around rest its stiffness is n p0 area^2 / V0. A
    piston that reaches the bottom, V = 0, has an infinite force.

    Examples
    --------
    >>> import dalembert as da
    >>> da.GasSpring(pressure=20e5, area=1e-4, volume=2e-5, rest=0.3).kind
    'GasSpring'
    """

    def __init__(
        self,
        pressure: float,
        area: float,
        volume: float,
        *,
        exponent: float = 1.4,
        outside: float = 101325.0,
        rest: float = 0.0,
        damping: float = 0.0,
        measure: Along = "distance",
    ) -> None:
        item = self.kind
        numbers = positive(item, pressure=pressure, area=area, volume=volume)
        numbers |= finite(item, rest=rest) | not_negative(item, outside=outside, damping=damping)
        n = at_least_one(item, exponent=exponent)["exponent"]
        heat = "-log(ratio)" if n == 1 else f"(ratio**{1 - n!r} - 1)/{n - 1!r}"
        super().__init__(
            measure,
            f"area*(pressure*ratio**{-n!r} - outside) - damping*ds",
            numbers,
            energy=f"pressure*volume*({heat}) + outside*area*(s - rest)",
            definitions={"ratio": "1 + area*(s - rest)/volume"},
        )


@checked("measure")
class HydraulicSpring(Element):
    """Oil enclosed behind a piston: stiff in compression, no tension after cavitation.

    Parameters
    ----------
    area : float, m^2
        Of the piston.
    volume : float, m^3
        V0, of the oil at s = rest, lines included; V = V0 + area (s - rest).
    bulk_modulus : float, Pa
        B, at the pressure of rest.
    stiffening : float
        n: growth of the bulk modulus with the pressure, B + n (p - p0); about 10 for mineral oil, 0 for a constant one.
    pressure : float, Pa
        p0, absolute, at s = rest.
    outside : float, Pa
        Absolute pressure on the other side.
    vapour : float, Pa
        Absolute pressure that the oil keeps while it cavitates.
    rest : float, m
    damping : float, N s/m
    measure : str
        ``"distance"``, or ``"joint"`` for a slide.

    From dp = -(B + n (p - p0)) dV/V, with r = V/V0:

        p = p0 + B (r^-n - 1)/n,   p0 - B log r for n = 0,   but not below the pressure of vapour

    (F. D. Murnaghan, Proc. Natl. Acad. Sci. 30 (1944) 244-247). The force on the second end is (p - outside) area -
    damping s'. At rest its stiffness is B area^2 / V0.

    Examples
    --------
    >>> import dalembert as da
    >>> oil = da.HydraulicSpring(area=1e-3, volume=2e-4, bulk_modulus=1.4e9, rest=0.5)
    >>> oil.evaluate([[0.0, 0.499, 0.0, *oil.parameters.values()]])[0, 0].round(1).item()  # N, 1 mm of 20 cm
    7017.6
    """

    def __init__(
        self,
        area: float,
        volume: float,
        *,
        bulk_modulus: float = 1.4e9,
        stiffening: float = 0.0,
        pressure: float = 101325.0,
        outside: float = 101325.0,
        vapour: float = 0.0,
        rest: float = 0.0,
        damping: float = 0.0,
        measure: Along = "distance",
    ) -> None:
        item = self.kind
        numbers = positive(item, area=area, volume=volume, bulk_modulus=bulk_modulus)
        numbers |= finite(item, rest=rest) | not_negative(
            item, pressure=pressure, outside=outside, vapour=vapour, damping=damping
        )
        n = not_negative(item, stiffening=stiffening)["stiffening"]
        if pressure < vapour:
            raise ModelError(item, "pressure", pressure, f"it must not be below that of vapour, {vapour:.6g} Pa")
        if n * (pressure - vapour) >= bulk_modulus:
            raise ModelError(
                item, "stiffening", n, "the bulk modulus must stay positive down to the pressure of vapour"
            )
        # where it begins to cavitate; the integral of p - p0 over V is -B V0 times work
        if n == 0:
            end, law, work = "exp((pressure - vapour)/bulk_modulus)", "-log(held)", "held*log(held) - held + 1"
        else:
            end = f"(1 - {n!r}*(pressure - vapour)/bulk_modulus)**{-1 / n!r}"
            law = f"(held**{-n!r} - 1)/{n!r}"
            power = "log(held)" if n == 1 else f"(held**{1 - n!r} - 1)/{1 - n!r}"
            work = f"(held - 1 - {power})/{n!r}"
        super().__init__(
            measure,
            "area*(p - outside) - damping*ds",
            numbers,
            energy="volume*(bulk_modulus*work - (pressure - outside)*(held - 1) - (vapour - outside)*(ratio - held))",
            definitions={
                "ratio": "1 + area*(s - rest)/volume",
                "held": f"min(ratio, {end})",  # volume of oil without bubbles
                "p": f"pressure + bulk_modulus*({law})",
                "work": work,
            },
        )


class Bushing(Element):
    """Bushing: 6 by 6 stiffness and damping between two markers, for large rotations.

    Parameters
    ----------
    stiffness : (6,) or (6, 6)
        Of (x, y, z, rx, ry, rz), translation first: N/m, N/rad, N m/rad; a diagonal, or a matrix that is symmetric and
        positive semidefinite.
    damping : (6,) or (6, 6)
        Of (vx, vy, vz, wx, wy, wz): N s/m, N s/rad, N m s/rad; likewise.

    It stores E = s^T K s / 2 of s = (p, phi): the position of the second marker and its rotation vector, in axes of the
    first. The force is -dE/dp. The moment conjugate to the angular velocity is

        -T^-T dE/dphi,   T^-T g = g + phi x g / 2 + a phi x (phi x g),   a = (1 - |phi|/2 cot(|phi|/2)) / |phi|^2

    since phi' = T^-1 omega. (T: tangent map of rotations, e.g. A. Cardona, M. Geradin, Int. J. Numer. Methods Eng. 26
    (1988) 2403-2438.) So the stiffness is conservative, whatever the cross terms. Rotations stay below 180 degrees.
    Parameters: k11, k12, ... k66 and c11, ... c66, those that are not zero, of the upper triangles.

    Examples
    --------
    >>> import dalembert as da
    >>> da.Bushing([1e5, 1e5, 1e6, 50, 50, 20], [100, 100, 300, 1, 1, 1]).parameters["k33"]
    1000000.0
    """

    def __init__(self, stiffness: ArrayLike, damping: ArrayLike = (0, 0, 0, 0, 0, 0)) -> None:
        item = self.kind
        entries_k, rows_k = _entries("k", _semidefinite(item, "stiffness", stiffness), _PLACES)
        entries_c, rows_c = _entries("c", _semidefinite(item, "damping", damping), _RATES)
        parts: dict[str, str] = {f"g{i}": row for i, row in enumerate(rows_k)}
        parts |= {
            "turn": "rx*rx + ry*ry + rz*rz",
            "half": "sqrt(max(turn, 0.01))/2",
            "a": "where(turn < 0.01, 1/12 + turn*(1/720 + turn*(1/30240 + turn*(1/1209600 + turn/47900160))),"
            " (1 - half*cos(half)/sin(half))/max(turn, 0.01))",
        }
        for i, (j, k) in enumerate(((1, 2), (2, 0), (0, 1))):
            parts[f"h{i}"] = f"{_TURNS[j]}*g{3 + k} - {_TURNS[k]}*g{3 + j}"
        moments = []
        for i, (j, k) in enumerate(((1, 2), (2, 0), (0, 1))):
            twice = f"{_TURNS[j]}*h{k} - {_TURNS[k]}*h{j}"
            moments.append(f"-(g{3 + i} + h{i}/2 + a*({twice}) + {rows_c[3 + i]})")
        forces = [f"-(g{i} + {rows_c[i]})" for i in range(3)]
        energy = "(" + " + ".join(f"{_PLACES[i]}*g{i}" for i in range(6)) + ")/2"
        super().__init__("pose", (*forces, *moments), entries_k | entries_c, energy=energy, definitions=parts)

    @property
    def core_law(self) -> tuple[str, int] | None:
        """Compiled law for diagonal matrices, with a bit for each nonzero entry."""
        names = [f"{letter}{i}{i}" for letter in "kc" for i in range(1, 7)]
        if not self.parameters.keys() <= set(names):
            return None
        return "bushing", sum((name in self.parameters) << i for i, name in enumerate(names))


_PLACES = ("x", "y", "z", "rx", "ry", "rz")
_RATES = ("vx", "vy", "vz", "wx", "wy", "wz")
_TURNS = _PLACES[3:]


def _semidefinite(item: str, field: str, given: ArrayLike) -> Array:
    if shape_of(given) == (6,):
        matrix = np.diag(finite_array(given, (6,), item=item, field=field))
    else:
        matrix = finite_array(given, (6, 6), item=item, field=field)
    largest = float(np.abs(matrix).max())
    if np.abs(matrix - matrix.T).max() > 1e-12 * largest:
        raise ModelError(item, field, given, "it must be symmetric")
    # scaled to a diagonal of ones, since rows have different units
    scale = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    scaled = matrix / np.outer(*2 * (np.where(scale > 0, scale, np.sqrt(largest) or 1.0),))
    if np.linalg.eigvalsh(scaled).min() < -1e-10:
        raise ModelError(item, field, given, "it must be positive semidefinite, or it would generate energy")
    return (matrix + matrix.T) / 2


def _entries(letter: str, matrix: Array, names: tuple[str, ...]) -> tuple[dict[str, float], list[str]]:
    """Return the nonzero entries by name, and the product of each row with the named numbers."""

    def name(i: int, j: int) -> str:
        return f"{letter}{min(i, j) + 1}{max(i, j) + 1}"

    entries = {name(i, j): float(matrix[i, j]) for i in range(6) for j in range(i, 6) if matrix[i, j]}
    rows = [" + ".join(f"{name(i, j)}*{names[j]}" for j in range(6) if matrix[i, j]) or "0" for i in range(6)]
    return entries, rows
