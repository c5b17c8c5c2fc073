"""Six-bar linkages: all inversions of the Watt and Stephenson chains."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike

from ..checks import checked
from ..errors import ModelError
from ..system import System
from .linkages import linkage

__all__ = ["stephenson_six_bar", "watt_six_bar"]

Drawing = tuple[dict[str, tuple[float, float]], dict[str, str], str]

# joints by their position (m), links by their joints, and the joints on ground
_FOUR_BAR = {"O": (0.0, 0.0), "A": (0.3, 0.4), "B": (1.4, 1.2), "C": (1.8, 0.0)}
_WATT: dict[int, Drawing] = {
    1: (
        {**_FOUR_BAR, "D": (1.0, 1.9), "E": (2.3, 1.4), "F": (2.0, 2.4)},
        {"crank": "OA", "coupler": "ABD", "rocker": "CBE", "bar_1": "DF", "bar_2": "EF"},
        "OC",
    ),
    2: (
        {**_FOUR_BAR, "D": (2.3, 1.0), "E": (3.6, 1.4), "F": (3.8, 0)},
        {"crank": "OA", "coupler": "AB", "rocker": "CBD", "rod": "DE", "output": "FE"},
        "OCF",
    ),
}
_STEPHENSON: dict[int, Drawing] = {
    1: (
        {**_FOUR_BAR, "D": (-0.2, 0.4), "E": (1.9, 1.7), "F": (0.6, 2.2)},
        {"crank": "OAD", "coupler": "AB", "rocker": "CBE", "bar_1": "DF", "bar_2": "EF"},
        "OC",
    ),
    2: (
        {"O": (0, 0), "A": (0.25, 0.15), "B": (1.1, 1.0), "D": (1.6, 0.4), "C": (2.8, 0.5)}
        | {"E": (1.6, 2.1), "F": (2.0, 1.7)},
        {"crank": "OA", "coupler": "ABD", "rocker": "CEF", "bar_1": "BE", "bar_2": "DF"},
        "OC",
    ),
    3: (
        {**_FOUR_BAR, "P": (0.8, 1.8), "D": (2.4, 2.4), "E": (3.0, 1.0)},
        {"crank": "OA", "coupler": "ABP", "rocker": "CB", "rod": "PD", "output": "ED"},
        "OCE",
    ),
}


@checked("kind", "points")
def watt_six_bar(kind: int = 1, points: Mapping[str, ArrayLike] | None = None, *, mass: float | None = 1.0) -> System:
    """Return a six-bar of Watt's chain, in which the two links with three joints share one. Mobility 1, two loops.

    Parameters
    ----------
    kind : int
        1: ground has two joints, O and C. Links crank OA, coupler ABD, rocker CBE, bar_1 DF, bar_2 EF.

        2: ground has three, O, C and F: two four-bars in a row. Links crank OA, coupler AB, rocker CBD, rod DE,
        output FE.
    points : dict of str to (2,) m
        Positions of joints that differ from the default drawing, in which cranks can rotate fully.
    mass : float, kg/m
        Mass per length; None: no mass.

    Examples
    --------
    >>> import dalembert as da
    >>> da.mobility(watt_six_bar(2)).mobility
    1
    """
    return _six_bar("Watt", _WATT, kind, points, mass)


@checked("kind", "points")
def stephenson_six_bar(
    kind: int = 3, points: Mapping[str, ArrayLike] | None = None, *, mass: float | None = 1.0
) -> System:
    """Return a six-bar of Stephenson's chain, whose links with three joints share none. Mobility 1, two loops.

    Parameters
    ----------
    kind : int
        1: ground connects the two links with three joints. Links crank OAD, coupler AB, rocker CBE, bar_1 DF, bar_2 EF.

        2: ground is adjacent to one of them. Links crank OA, coupler ABD, rocker CEF, bar_1 BE, bar_2 DF.

        3: ground has three joints, O, C and E: a four-bar whose coupler point P drives a dyad. Links crank OA, coupler
        ABP, rocker CB, rod PD, output ED.
    points : dict of str to (2,) m
        Positions of joints that differ from the default drawing, in which cranks can rotate fully.
    mass : float, kg/m
        Mass per length; None: no mass.
    """
    return _six_bar("Stephenson", _STEPHENSON, kind, points, mass)


def _six_bar(
    title: str, drawings: dict[int, Drawing], kind: int, points: Mapping[str, ArrayLike] | None, mass: float | None
) -> System:
    item = f"{title} six-bar"
    if kind not in drawings:
        raise ModelError(item, "kind", kind, f"use one of {', '.join(map(str, drawings))}")
    places, links, ground = drawings[kind]
    for name in points or {}:
        if name not in places:
            raise ModelError(item, "points", name, f"there is no such joint: {', '.join(places)}")
    return linkage({**places, **(points or {})}, links, ground=ground, mass=mass, name=f"{item} {'I' * kind}")
