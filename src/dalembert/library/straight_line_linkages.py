"""Exact and approximate straight-line linkages."""

from __future__ import annotations

import math

import numpy as np

from ..checks import LARGEST_SIZE, checked, finite, positive
from ..errors import ModelError
from ..system import System
from .linkages import linkage
from .sketch_solver import meet, turned

__all__ = ["chebyshev", "hart", "hoeken", "peaucellier", "roberts", "scott_russell", "watt"]


def peaucellier(
    crank: float = 0.4, arm: float = 1.0, bar: float = 0.4, *, angle: float = 0.4, mass: float | None = 1.0
) -> System:
    """Return Peaucellier's cell: P moves exactly on the line x = (arm^2 - bar^2) / (2 crank).

    The crank turns about C at (crank, 0), so that its tip A is on a circle through O. Arms OB and OD and the rhombus
    ABPD make P the inverse of A: OA OP = arm^2 - bar^2. Links crank, arm_1, arm_2, AB, AD, BP, DP. Mobility 1.

    Parameters
    ----------
    crank, arm, bar : float, m
        Bars are the four sides of the rhombus, shorter than the arms.
    angle : float, rad
        Initial angle of the crank.
    mass : float, kg/m
        Mass per length of all links; None: no mass.

    Examples
    --------
    >>> import dalembert as da
    >>> da.mobility(peaucellier()).mobility
    1
    """
    item = "peaucellier"
    n = positive(item, crank=crank, arm=arm, bar=bar)
    if n["bar"] >= n["arm"]:
        raise ModelError(item, "bar", bar, f"it must be shorter than the arms of {arm:.6g} m")
    C = np.array([crank, 0.0])
    A = C + turned(finite(item, angle=angle)["angle"], crank)
    B = meet((0, 0), arm, A, bar, item=item, what="arm and bar")
    D = meet((0, 0), arm, A, bar, left=False, item=item, what="arm and bar")
    return linkage(
        {"O": (0, 0), "C": C, "A": A, "B": B, "D": D, "P": B + D - A},
        {"crank": "CA", "arm_1": "OB", "arm_2": "OD", "AB": "AB", "AD": "AD", "BP": "BP", "DP": "DP"},
        ground="OC",
        mass=mass,
        name="Peaucellier",
    )


def hart(
    long: float = 1.0,
    short: float = 0.5,
    crank: float = 0.2,
    *,
    share: float = 0.5,
    angle: float = 0.4,
    mass: float | None = 1.0,
) -> System:
    """Return Hart's inversor: Q moves exactly on the line x = share (1 - share) (long^2 - short^2) / (2 crank).

    A crossed parallelogram ABCD, AB and CD long, turns about O on its short side AD. The crank EP guides P of AB on a
    circle through O, and Q of CD is its inverse. Links crank, AB, BC, CD, AD. Mobility 1.

    Parameters
    ----------
    long, short, crank : float, m
        E is at (crank, 0), O at the origin.
    share : float
        Position of O on AD, and of P on AB, as a fraction of the length from A.
    angle : float, rad
        Initial angle of OP.
    mass : float, kg/m
    """
    item = "hart"
    n = positive(item, long=long, short=short, crank=crank, share=share) | finite(item, angle=angle)
    if not n["share"] < 1:
        raise ModelError(item, "share", share, "it must be less than 1")
    if n["long"] <= n["short"]:
        raise ModelError(item, "short", short, f"it must be shorter than {long:.6g} m")
    OP = 2 * crank * math.cos(angle)
    BD = OP / share
    if not long - short < BD < long + short:
        low, high = (share * x for x in (long - short, long + short))
        remedy = f"OP would be {OP:.6g} m: the crossed bars reach {low:.6g} m to {high:.6g} m"
        raise ModelError(item, "crank", crank, remedy)
    AC = (long**2 - short**2) / BD
    height = math.sqrt(short**2 - (BD - AC) ** 2 / 4)
    A, C = np.array([-AC / 2, 0.0]), np.array([AC / 2, 0.0])
    D, B = np.array([-BD / 2, -height]), np.array([BD / 2, -height])
    pivot = A + share * (D - A)
    points = {"A": A, "B": B, "C": C, "D": D, "P": A + share * (B - A), "Q": D + (1 - share) * (C - D)}
    c, s = math.cos(angle), math.sin(angle)
    turn = np.array([[c, -s], [s, c]])
    return linkage(
        {"O": (0.0, 0.0), "E": (crank, 0.0)} | {name: turn @ (p - pivot) for name, p in points.items()},
        {"crank": "EP", "AB": "APB", "BC": "BC", "CD": "DQC", "AD": "AOD"},
        ground="OE",
        mass=mass,
        name="Hart",
    )


def watt(rocker: float = 1.0, coupler: float = 0.6, *, mass: float | None = 1.0) -> System:
    """Return Watt's linkage in its middle position: P, the middle of the coupler, moves nearly straight along y.

    Rockers OA and CB are horizontal on both sides, the coupler AB is vertical between them with P at the origin.
    Mobility 1.

    Parameters
    ----------
    rocker, coupler : float, m
    mass : float, kg/m
    """
    positive("watt", rocker=rocker, coupler=coupler)
    h = coupler / 2
    return linkage(
        {"O": (-rocker, h), "C": (rocker, -h), "A": (0, h), "B": (0, -h), "P": (0, 0)},
        {"rocker_1": "OA", "coupler": "ABP", "rocker_2": "CB"},
        ground="OC",
        mass=mass,
        name="Watt",
    )


def chebyshev(unit: float = 0.25, *, mass: float | None = 1.0) -> System:
    """Return Chebyshev's linkage in its middle position: P, the middle of the coupler, is nearly 4 units high.

    Base OC of 4 units, crossed links OA and CB of 5, coupler AB of 2. The height is exact in the middle and 2 units
    to both sides. Mobility 1.

    Parameters
    ----------
    unit : float, m
    mass : float, kg/m
    """
    positive("chebyshev", unit=unit)
    points = {"O": (-2, 0), "C": (2, 0), "A": (1, 4), "B": (-1, 4), "P": (0, 4)}
    return linkage(
        {name: unit * np.array(p) for name, p in points.items()},
        {"link_1": "OA", "coupler": "ABP", "link_2": "CB"},
        ground="OC",
        mass=mass,
        name="Chebyshev",
    )


def hoeken(crank: float = 0.25, *, angle: float = math.pi, mass: float | None = 1.0) -> System:
    """Return Hoeken's linkage: P moves nearly straight, 4 cranks above the base, for 180 degrees of the crank.

    Lengths in cranks: OA 1, base OC 2, coupler AB and rocker CB 2.5, AP 5. Mobility 1.

    Parameters
    ----------
    crank : float, m
    angle : float, rad
        Initial angle of the crank; pi is the middle of the straight segment.
    mass : float, kg/m
    """
    positive("hoeken", crank=crank)
    A, C = turned(finite("hoeken", angle=angle)["angle"], crank), np.array([2 * crank, 0.0])
    B = meet(A, 2.5 * crank, C, 2.5 * crank, item="hoeken")
    return linkage(
        {"O": (0, 0), "C": C, "A": A, "B": B, "P": 2 * B - A},
        {"crank": "OA", "coupler": "ABP", "rocker": "CB"},
        ground="OC",
        mass=mass,
        name="Hoeken",
    )


@checked("rocker", largest=LARGEST_SIZE)
def roberts(rocker: float = 1.0, coupler: float = 0.8, *, mass: float | None = 1.0) -> System:
    """Return Roberts' linkage in its middle position: P moves nearly along the base, exactly through O, middle and C.

    The base OC is two couplers long; the sides AP and BP are as long as the rockers. Mobility 1.

    Parameters
    ----------
    rocker, coupler : float, m
        A rocker is longer than half a coupler.
    mass : float, kg/m
    """
    positive("roberts", rocker=rocker, coupler=coupler)
    if rocker <= coupler / 2:
        raise ModelError("roberts", "rocker", rocker, f"it must be longer than half the coupler, {coupler / 2:.6g} m")
    height = math.sqrt(rocker**2 - coupler**2 / 4)
    return linkage(
        {
            "O": (-coupler, 0),
            "C": (coupler, 0),
            "A": (-coupler / 2, height),
            "B": (coupler / 2, height),
            "P": (0, 0),
        },
        {"rocker_1": "OA", "coupler": "ABP", "rocker_2": "CB"},
        ground="OC",
        mass=mass,
        name="Roberts",
    )


def scott_russell(crank: float = 0.5, *, angle: float = 0.6, mass: float | None = 1.0) -> System:
    """Return Scott Russell's linkage: B slides along x, and P moves exactly along y.

    The crank OA carries the middle of the rod BP, which is twice as long. Mobility 1.

    Parameters
    ----------
    crank : float, m
    angle : float, rad
        Initial angle of the crank.
    mass : float, kg/m
    """
    positive("scott_russell", crank=crank)
    A = turned(finite("scott_russell", angle=angle)["angle"], crank)
    return linkage(
        {"O": (0, 0), "A": A, "B": (2 * A[0], 0), "P": (0, 2 * A[1])},
        {"crank": "OA", "rod": "ABP"},
        ground="O",
        sliders={"B": ("ground", (1, 0))},
        mass=mass,
        name="Scott Russell",
    )
