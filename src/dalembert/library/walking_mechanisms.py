"""Crank-driven walking legs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import checked, finite, positive, whole_number
from ..errors import ModelError
from ..system import System
from .linkages import linkage
from .sketch_solver import meet, turned

__all__ = ["jansen", "klann"]


_JANSEN = {
    "a": 38.0, "b": 41.5, "c": 39.3, "d": 40.1, "e": 55.8, "f": 39.4, "g": 36.7,
    "h": 65.7, "i": 49.0, "j": 50.0, "k": 61.9, "l": 7.8, "m": 15.0,
}  # fmt: skip
_KLANN = {
    "Bx": -38.8, "By": -12.5, "Dx": -14.6, "Dy": 41.9, "AC": 17.5, "BH": 23.7, "CF": 73.4, "CH": 38.8, "DE": 34.1,
    "EF": 57.7, "EG": 111.7, "FG": 59.0, "FH": 35.2,
}  # fmt: skip


@checked("legs", "numbers")
def jansen(
    legs: int = 1,
    *,
    scale: float = 0.01,
    angle: float = 0.0,
    numbers: Mapping[str, float] | None = None,
    mass: float | None = 1.0,
) -> System:
    """Return legs of Theo Jansen's beach animals on one crank: 6 bodies and 3 loops each, mobility 1.

    The crank turns about Z, at the origin; a leg is connected to its pin X and to the pivot Y of the frame. Links:
    crank ZX, upper XW (j), lower XV (k), thigh YWU (b, d, e), rocker YV (c), shin UT (f), foot VTS (g, h, i). The tip
    of the foot is ``foot.S``. With several legs all names but Z and crank get the number of the leg. Legs come in pairs
    on one pin, 1 to the left and 2 its mirror image to the right; pins are evenly spaced.

    Parameters
    ----------
    legs : int
        Six: 37 bodies, 18 loops.
    scale : float, m
        Length of one unit of Jansen's numbers.
    angle : float, rad
        Initial angle of the first pin.
    numbers : dict of str to float
        Replacements for some of Jansen's thirteen, a to m: a and l are the distances of Y to the left of and below Z.
    mass : float, kg/m
        Mass per length of all links; None: no mass.

    Examples
    --------
    >>> s = jansen(6)
    >>> len(s.bodies), len(s.connections) - len(s.bodies)
    (37, 18)
    """
    n = _numbers("jansen", _JANSEN, numbers, scale)

    def leg(pin: Array, side: float) -> dict[str, Array]:
        def corner(p: Array, from_p: str, q: Array, from_q: str, left: bool) -> Array:
            what = f"lengths {from_p} and {from_q}"
            return meet(p, n[from_p], q, n[from_q], left=left == (side > 0), item="jansen", what=what)

        Y = np.array([-side * n["a"], -n["l"]])
        W, V = corner(Y, "b", pin, "j", True), corner(Y, "c", pin, "k", False)
        U = corner(Y, "d", W, "e", True)
        T = corner(U, "f", V, "g", False)
        return {"Y": Y, "W": W, "V": V, "U": U, "T": T, "S": corner(T, "h", V, "i", False)}

    links = {"upper": "XW", "lower": "XV", "thigh": "YWU", "rocker": "YV", "shin": "UT", "foot": "VTS"}
    return _walker("Jansen", legs, leg, links, "Y", "Z", n["m"], angle, mass)


@checked("legs", "numbers")
def klann(
    legs: int = 1,
    *,
    scale: float = 0.01,
    angle: float = 0.0,
    numbers: Mapping[str, float] | None = None,
    mass: float | None = 1.0,
) -> System:
    """Return legs of Klann's mechanical spider on one crank: 4 bodies and 2 loops each, mobility 1.

    The crank AC turns about A, at the origin; B and D are pivots of the frame. Links: crank AC, rocker BH, rod CHF,
    upper DE, leg EFG, whose tip is ``leg.G``. With several legs all names but A and crank get the number of the leg;
    legs 1, 3, ... are to the left, 2, 4, ... to the right, in pairs on evenly spaced pins.

    Parameters
    ----------
    legs : int
    scale : float, m
        Length of one unit of the numbers.
    angle : float, rad
        Initial angle of the first pin.
    numbers : dict of str to float
        Replacements for some positions of B and D and distances, Bx By Dx Dy AC BH CF CH DE EF EG FG FH. The defaults
        are those of J. Boim's walker, improved from the patent (US 6260862).
    mass : float, kg/m
    """
    n = _numbers("klann", _KLANN, numbers, scale)

    def leg(pin: Array, side: float) -> dict[str, Array]:
        def corner(p: Array, q: Array, names: tuple[str, str], left: bool) -> Array:
            what = f"lengths {names[0]} and {names[1]}"
            return meet(p, n[names[0]], q, n[names[1]], left=left == (side > 0), item="klann", what=what)

        B, D = np.array([side * n["Bx"], n["By"]]), np.array([side * n["Dx"], n["Dy"]])
        H = corner(B, pin, ("BH", "CH"), True)
        F = corner(H, pin, ("FH", "CF"), True)
        E = corner(F, D, ("EF", "DE"), True)
        return {"B": B, "D": D, "H": H, "F": F, "E": E, "G": corner(E, F, ("EG", "FG"), True)}

    links = {"rocker": "BH", "rod": "CHF", "upper": "DE", "leg": "EFG"}
    return _walker("Klann", legs, leg, links, "BD", "A", n["AC"], angle, mass)


def _walker(
    title: str,
    legs: int,
    leg: Any,
    links: dict[str, str],
    pivots: str,
    axle: str,
    crank: float,
    angle: float,
    mass: Any,
) -> System:
    """Return legs in pairs on the pins of one crank."""
    item = title.lower()
    legs = whole_number(legs, item=item, field="legs")
    start = finite(item, angle=angle)["angle"]
    pin = "C" if axle == "A" else "X"
    pins = (legs + 1) // 2
    points: dict[str, Array] = {axle: np.zeros(2)}
    members: dict[str, list[str]] = {"crank": [axle]}
    ground = [axle]
    for k in range(legs):
        number, place = ("" if legs == 1 else str(k + 1)), k // 2
        label = pin if legs == 1 else f"{pin}{place + 1}"
        points[label] = turned(start + 2 * math.pi * place / pins, crank)
        if label not in members["crank"]:
            members["crank"].append(label)
        own = leg(points[label], 1.0 if k % 2 == 0 else -1.0)
        points |= {f"{p}{number}": x for p, x in own.items()}
        ground += [f"{p}{number}" for p in pivots]
        for link, corners in links.items():
            members[f"{link}{number}"] = [label if p == pin else f"{p}{number}" for p in corners]
    count = "" if legs == 1 else f", {legs} legs"
    return linkage(points, members, ground=ground, mass=mass, name=f"{title}{count}")


def _numbers(item: str, known: dict[str, float], given: Mapping[str, float] | None, scale: float) -> dict[str, float]:
    unit = positive(item, scale=scale)["scale"]
    for name in given or {}:
        if name not in known:
            raise ModelError(item, "numbers", name, f"there is no such number: {', '.join(known)}")
    numbers = known | finite(item, **(given or {}))
    for name, value in numbers.items():
        if value <= 0 and name not in ("Bx", "By", "Dx", "Dy", "a", "l"):
            raise ModelError(item, name, value, "a length must be positive")
    return {name: unit * value for name, value in numbers.items()}
