"""Car suspensions and steering, with the car body as ground.

x points forward, y to the left, z up; wheels are left wheels. Hard points are given by name and can be
replaced singly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import checked, finite, finite_array, positive
from ..connections.joints import Joint, Revolute, Spherical, Universal
from ..errors import ModelError
from ..system import System
from .linkages import linkage
from .sketch_solver import meet, turned

__all__ = ["ackermann", "ackermann_lean", "double_wishbone", "macpherson", "rack_steering"]


_WISHBONES = {
    "LF": (0.20, 0.35, 0.20), "LR": (-0.20, 0.35, 0.20), "LB": (0.00, 0.70, 0.18),
    "UF": (0.15, 0.42, 0.48), "UR": (-0.15, 0.42, 0.48), "UB": (-0.02, 0.68, 0.50),
    "TI": (-0.14, 0.36, 0.25), "TO": (-0.14, 0.70, 0.24), "W": (0.00, 0.75, 0.32), "S": (0.00, 0.85, 0.32),
}  # fmt: skip
_STRUT = {
    "LF": (0.20, 0.35, 0.20), "LR": (-0.20, 0.35, 0.20), "LB": (0.00, 0.70, 0.18), "M": (-0.04, 0.56, 0.85),
    "TI": (-0.14, 0.36, 0.26), "TO": (-0.14, 0.70, 0.26), "W": (0.00, 0.75, 0.32), "S": (0.00, 0.85, 0.32),
}  # fmt: skip


@checked("points")
def double_wishbone(points: Mapping[str, ArrayLike] | None = None, *, mass: float | None = 5.0) -> System:
    """Return a double wishbone suspension with a steering rack. Mobility 2: the wheel's travel and the steering.

    Bodies lower (LF, LR on the car, ball joint LB), upper (UF, UR, UB), upright (LB, UB, TO, wheel centre W, a point S
    further along the spindle), tie_rod (TI, TO) and rack. Joints LF and UF turn the wishbones about the lines through
    both of their pivots, upward positive; ``rack_slide`` is the position of TI along y.

    Parameters
    ----------
    points : dict of str to (3,) m
        Hard points in place of the default ones.
    mass : float, kg/m
        Per length of all links; None for none.

    Examples
    --------
    >>> import dalembert as da
    >>> da.mobility(double_wishbone()).mobility
    2
    """
    p = _hard_points("double_wishbone", _WISHBONES, points)
    links = {
        "lower": ("LF", "LR", "LB"),
        "upper": ("UF", "UR", "UB"),
        "upright": ("LB", "UB", "TO", "W", "S"),
    }
    joints: dict[str, Joint] = {"LB": Spherical(), "UB": Spherical()}
    joints |= {"LF": _wishbone(p, "LF", "LR", "LB"), "UF": _wishbone(p, "UF", "UR", "UB")}
    return _steered("double wishbone", p, links, joints, {}, ("LF", "UF"), mass)


@checked("points")
def macpherson(points: Mapping[str, ArrayLike] | None = None, *, mass: float | None = 5.0) -> System:
    """Return a MacPherson strut with a steering rack. Mobility 2: the wheel's travel and the steering.

    Bodies lower (LF, LR on the car, ball joint LB), upright with the tube of the strut (LB, TO, wheel centre W, a point
    S further along the spindle), strut, which slides in the tube along the line to the mount M and turns about M,
    tie_rod (TI, TO) and rack. Joints LF, upward positive, ``strut_slide``, the distance of M from LB, and
    ``rack_slide``, the position of TI along y. The steering axis is the line from LB to M.

    Parameters
    ----------
    points : dict of str to (3,) m
        Hard points in place of the default ones.
    mass : float, kg/m
        Per length of all links; None for none.
    """
    p = _hard_points("macpherson", _STRUT, points)
    p["N"] = p["LB"] + 0.6 * (p["M"] - p["LB"])
    links = {"lower": ("LF", "LR", "LB"), "upright": ("LB", "TO", "W", "S"), "strut": ("M", "N")}
    joints: dict[str, Joint] = {"LF": _wishbone(p, "LF", "LR", "LB"), "LB": Spherical(), "M": Spherical()}
    return _steered("MacPherson strut", p, links, joints, {"strut": ("upright", "LB")}, ("LF", "M"), mass)


def _steered(
    name: str,
    p: dict[str, Array],
    links: dict[str, tuple[str, ...]],
    joints: dict[str, Joint],
    sliders: dict[str, tuple[str, object]],
    ground: tuple[str, ...],
    mass: float | None,
) -> System:
    """Return a suspension with tie rod and rack."""
    rod = p["TO"] - p["TI"]
    first = np.cross(rod, (1.0, 0.0, 0.0))
    if not first.any():
        raise ModelError(name, "TO", tuple(p["TO"]), "the tie rod is parallel to x: it must have an extent across x")
    return linkage(
        p,
        {**links, "tie_rod": ("TI", "TO"), "rack": ("TI",)},
        ground=ground,
        sliders={**sliders, "rack": ("ground", (0, 1, 0))},
        joints={**joints, "TI": Universal(first, np.cross(rod, first)), "TO": Spherical()},
        mass=mass,
        name=name,
    )


def _wishbone(p: dict[str, Array], front: str, rear: str, ball: str) -> Revolute:
    """Return the joint of a wishbone about the line through its pivots, positive upward."""
    axis = p[front] - p[rear]
    up = np.cross(axis, p[ball] - p[rear])[2]
    if np.linalg.norm(np.cross(axis, p[ball] - p[rear])) < 1e-9 * max(float(axis @ axis), 1e-12):
        raise ModelError(f"wishbone {ball!r}", "points", (front, rear, ball), "they are collinear: it has no lever arm")
    return Revolute(axis if up > 0 else -axis)


def _hard_points(
    item: str, known: Mapping[str, tuple[float, float, float]], given: Mapping[str, ArrayLike] | None
) -> dict[str, Array]:
    for name in given or {}:
        if name not in known:
            raise ModelError(item, "points", name, f"there is no such hard point: {', '.join(known)}")
    return {k: finite_array(v, (3,), item=item, field=k) for k, v in {**known, **(given or {})}.items()}


def ackermann(
    track: float = 1.4,
    wheelbase: float = 2.6,
    arm: float = 0.2,
    *,
    lean: float | None = None,
    exact: float = math.radians(30),
    mass: float | None = 1.0,
) -> System:
    """Return an Ackermann steering trapezoid in top view.

    Kingpins K1 (left, at y = track / 2) and K2, links left K1-A and right K2-B with their steering arms to the rear,
    tie_rod A-B. The steering angle of a wheel is the rotation of the joint at its kingpin from the start. The Ackermann
    condition is cot(outer) - cot(inner) = track / wheelbase. Mobility 1.

    Parameters
    ----------
    track, wheelbase, arm : float, m
        Track is the distance of the kingpins.
    lean : float, rad
        Angle of the arms from the longitudinal direction towards the middle; default such that the condition holds at
        `exact`.
    exact : float, rad
        Angle of the inner wheel.
    mass : float, kg/m

    Examples
    --------
    >>> print(round(float(np.degrees(ackermann_lean(1.4, 2.6, 0.2, np.radians(30)))), 3))
    21.238
    """
    item = "ackermann"
    positive(item, track=track, wheelbase=wheelbase, arm=arm)
    tilt = ackermann_lean(track, wheelbase, arm, exact) if lean is None else finite(item, lean=lean)["lean"]
    half = track / 2
    if abs(tilt) >= math.pi / 2 or arm * math.sin(tilt) >= half:
        raise ModelError(item, "lean", lean, f"the arms of {arm:.6g} m must point back and end on their own side")
    back, inward = arm * math.cos(tilt), arm * math.sin(tilt)
    points = {"K1": (0, half), "K2": (0, -half), "A": (-back, half - inward), "B": (-back, inward - half)}
    links = {"left": ("K1", "A"), "right": ("K2", "B"), "tie_rod": "AB"}
    return linkage(points, links, ground=("K1", "K2"), mass=mass, name="Ackermann steering")


def ackermann_lean(track: float, wheelbase: float, arm: float, inner: float) -> float:
    """Return the inward lean of the steering arms, rad, for the Ackermann condition at an inner angle.

    Parameters
    ----------
    track, wheelbase, arm : float, m
    inner : float, rad
        Angle of the inner wheel.

    Raises
    ------
    ModelError
        If no trapezoid satisfies the condition; with the nearest angle.
    """
    item = "ackermann_lean"
    positive(item, track=track, wheelbase=wheelbase, arm=arm, inner=inner)
    outer = math.atan2(1.0, 1.0 / math.tan(inner) + track / wheelbase)

    def error(lean: float) -> float:
        rod = track - 2 * arm * math.sin(lean)
        tip = np.array([0.0, track / 2]) + turned(math.pi + lean + inner, arm)  # the left wheel turns to the left
        right = np.array([0.0, -track / 2])
        at = meet(tip, rod, right, arm, left=False, item=item, what="tie rod and arm")
        reached = math.atan2(*(at - right)[::-1]) - (math.pi - lean)
        return math.remainder(reached, 2 * math.pi) - outer

    leans = np.linspace(0.02, 1.0, 50)
    values = []
    for lean in leans:
        try:
            values.append(error(float(lean)))
        except ModelError:  # the trapezoid folds before this angle
            values.append(math.nan)
    changes = [k for k in range(len(leans) - 1) if values[k] * values[k + 1] <= 0]
    if not changes:
        near = np.degrees(outer + np.nanmin(np.abs(values))) if not np.isnan(values).all() else math.nan
        remedy = f"the outer wheel would turn {near:.4g} degrees instead of {math.degrees(outer):.4g}: give lean="
        raise ModelError(item, "inner", inner, remedy)
    low, high = leans[changes[0]], leans[changes[0] + 1]
    from scipy.optimize import brentq

    return float(brentq(error, low, high, xtol=1e-14))


def rack_steering(
    track: float = 1.4,
    arm: float = 0.15,
    rack: float = 0.6,
    *,
    lean: float = math.radians(15),
    setback: float = 0.18,
    mass: float | None = 1.0,
) -> System:
    """Return a rack with two tie rods and two steered wheels in top view. Mobility 1.

    Kingpins K1 (left) and K2, links left K1-A and right K2-B with their arms to the rear, tie rods left_rod D-A and
    right_rod E-B, the rack from D to E; ``rack_slide`` along y, zero in the middle.

    Parameters
    ----------
    track, arm, rack : float, m
        Distance of the kingpins, length of the steering arms, distance of the ends of the rack.
    lean : float, rad
        Angle of the arms from the longitudinal direction towards the middle.
    setback : float, m
        Distance of the rack behind the kingpins.
    mass : float, kg/m
    """
    item = "rack_steering"
    positive(item, track=track, arm=arm, rack=rack)
    n = finite(item, lean=lean, setback=setback)
    half, h = track / 2, rack / 2
    back, inward = arm * math.cos(n["lean"]), arm * math.sin(n["lean"])
    if half - inward <= h:
        remedy = f"its ends must lie inside the ends of the arms, {2 * (half - inward):.6g} m apart"
        raise ModelError(item, "rack", rack, remedy)
    points = {"K1": (0, half), "K2": (0, -half), "A": (-back, half - inward), "B": (-back, inward - half)}
    points |= {"M": (-setback, 0), "D": (-setback, h), "E": (-setback, -h)}
    links = {"rack": "MDE", "left": ("K1", "A"), "right": ("K2", "B"), "left_rod": "DA", "right_rod": "EB"}
    sliders = {"rack": ("ground", (0, 1))}
    return linkage(points, links, ground=("K1", "K2"), sliders=sliders, mass=mass, name="rack steering")
