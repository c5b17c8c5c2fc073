"""Parallel robots and their inverse kinematics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import LARGEST_SIZE, checked, finite, finite_array, one_of, positive, shape_of
from ..connections.joints import Joint, Revolute, Spherical, Universal
from ..errors import ModelError
from ..rotation import as_rotation_matrix
from ..system import System
from .linkages import linkage
from .sketch_solver import meet, turned

__all__ = ["delta", "delta_angles", "five_bar", "stewart", "stewart_lengths", "three_rrr", "three_rrr_angles"]


_THIRD = 2 * math.pi / 3


@checked("joints")
def stewart(
    base: float = 1.0,
    platform: float = 0.6,
    *,
    position: ArrayLike = (0.0, 0.0, 1.0),
    rotation: Any = None,
    base_gap: float = math.radians(20),
    platform_gap: float = math.radians(20),
    joints: str = "UPS",
    mass: float | None = 5.0,
) -> System:
    """Return the Stewart-Gough platform: six legs of variable length between ground and a platform.

    Leg k: bodies lower{k} and upper{k}, joints B{k} on ground, ``upper{k}_slide``, whose coordinate is the length of
    the leg, and P{k} on the platform. Joints are arranged in pairs on both circles. Mobility 6, that of the platform;
    12 with ball joints at both ends, because each leg can spin about its axis.

    Parameters
    ----------
    base, platform : float, m
        Radii of the circles of the joints.
    position, rotation : (3,) m, and any form of a rotation
        Initial pose of the platform.
    base_gap, platform_gap : float, rad
        Half the angle between the joints of a pair.
    joints : str
        ``"UPS"``: universal joints on ground; ``"SPS"``: ball joints.
    mass : float, kg/m
        Mass per length of all bars; None: no mass.

    Examples
    --------
    >>> s = stewart()
    >>> print(stewart_lengths(s, (0.1, 0.0, 1.1)).round(4))
    [1.1646 1.228  1.2218 1.2218 1.228  1.1646]
    """
    item = "stewart"
    positive(item, base=base, platform=platform, base_gap=base_gap, platform_gap=platform_gap)
    one_of(item, "joints", joints, ("UPS", "SPS"))
    for field, gap in (("base_gap", base_gap), ("platform_gap", platform_gap)):
        if gap >= math.radians(60):
            raise ModelError(item, field, gap, "half the angle of a pair is less than 60 degrees, 1.0472 rad")
    x = finite_array(position, (3,), item=item, field="position")
    R = as_rotation_matrix(rotation, item=item)
    points: dict[str, Array] = {}
    links: dict[str, tuple[str, ...]] = {}
    elements: dict[str, Joint | tuple[Joint, Any]] = {}
    sliders = {}
    for k in range(1, 7):
        pair, side = divmod(k - 1, 2)
        low = (pair + side) * _THIRD + (base_gap if side == 0 else -base_gap)
        high = (pair + 0.5) * _THIRD + (platform_gap if side else -platform_gap)
        B = np.array([*turned(low, base), 0.0])
        P = x + R @ np.array([*turned(high, platform), 0.0])
        length = float(np.linalg.norm(P - B))
        if length < 1e-9 * base:
            raise ModelError(item, "position", position, f"leg {k} has no length there")
        points |= {f"B{k}": B, f"P{k}": P, f"L{k}": B + 0.55 * (P - B), f"U{k}": B + 0.45 * (P - B)}
        links |= {f"lower{k}": (f"B{k}", f"L{k}"), f"upper{k}": (f"P{k}", f"U{k}")}
        sliders[f"upper{k}"] = (f"lower{k}", f"B{k}")
        elements |= {f"B{k}": _across(P - B) if joints == "UPS" else Spherical(), f"P{k}": Spherical()}
    points["C"] = x
    links = {"platform": ("C", *(f"P{k}" for k in range(1, 7))), **links}
    ground = [f"B{k}" for k in range(1, 7)]
    name = "Stewart platform"
    return linkage(points, links, ground=ground, sliders=sliders, joints=elements, mass=mass, name=name)


@checked("system")
def stewart_lengths(system: System, position: ArrayLike, rotation: Any = None) -> Array:
    """Return the lengths (6,) m of the legs of a `stewart` for a pose of its platform: |x + R p - b|.

    Parameters
    ----------
    system : System
        From `stewart`.
    position : (3,) or (n, 3) m
        Position of the middle of the platform; for n positions the lengths are (n, 6).
    rotation : any form of a rotation
        Rotation of the platform from its initial orientation.
    """
    x = _positions("stewart_lengths", position, 3)
    R = as_rotation_matrix(rotation, item="stewart_lengths")
    b = np.array([system[f"ground.B{k}"].position for k in range(1, 7)])
    p = np.array([system[f"platform.P{k}"].position - system["platform.C"].position for k in range(1, 7)])
    return np.asarray(np.linalg.norm(x[..., None, :] + p @ R.T - b, axis=-1))


@checked("arm", "forearm", largest=LARGEST_SIZE)
def delta(
    base: float = 0.25,
    platform: float = 0.08,
    arm: float = 0.3,
    forearm: float = 0.65,
    *,
    width: float = 0.12,
    position: ArrayLike = (0.0, 0.0, -0.6),
    mass: float | None = 1.0,
) -> System:
    """Return Clavel's delta robot: three arms move a platform of constant orientation.

    Arm k turns about joint H{k}, positive downwards from the horizontal; two rods, rod{k}a and rod{k}b, carry the
    platform, with universal joints E{k}a, E{k}b at the elbow and ball joints P{k}a, P{k}b. Mobility 3, the position of
    the platform.

    Parameters
    ----------
    base, platform : float, m
        Radii of the circles of hips and wrists.
    arm, forearm : float, m
        Lengths.
    width : float, m
        Distance of the two rods of a leg.
    position : (3,) m
        Of the platform at the start, below the hips.
    mass : float, kg/m
        Per length of all links; None for none.

    Examples
    --------
    >>> s = delta()
    >>> print(delta_angles(s, (0.0, 0.0, -0.6)).round(4))
    [0.4274 0.4274 0.4274]
    """
    item = "delta"
    positive(item, base=base, platform=platform, arm=arm, forearm=forearm, width=width)
    x = finite_array(position, (3,), item=item, field="position")
    angles = _delta_angles(base, platform, arm, forearm, x, item)
    points, links = {"C": x}, {"platform": ["C"]}
    elements: dict[str, Joint | tuple[Joint, Any]] = {}
    for k, theta in enumerate(angles, start=1):
        out = np.array([*turned((k - 1) * _THIRD), 0.0])
        side = np.array([-out[1], out[0], 0.0])
        hip = base * out
        elbow = hip + arm * (math.cos(theta) * out - math.sin(theta) * np.array([0.0, 0.0, 1.0]))
        wrist = x + platform * out
        points[f"H{k}"] = hip
        elements[f"H{k}"] = (Revolute(side), theta)
        links[f"arm{k}"] = [f"H{k}", f"E{k}a", f"E{k}b"]
        for letter, sign in (("a", -0.5), ("b", 0.5)):
            E, P = f"E{k}{letter}", f"P{k}{letter}"
            points |= {E: elbow + sign * width * side, P: wrist + sign * width * side}
            links[f"rod{k}{letter}"] = [E, P]
            links["platform"].append(P)
            elements |= {E: _across(wrist - elbow), P: Spherical()}
    return linkage(points, links, ground=("H1", "H2", "H3"), joints=elements, mass=mass, name="delta robot")


@checked("system")
def delta_angles(system: System, position: ArrayLike) -> Array:
    """Return the arm angles (3,) rad of a `delta` for a platform position, elbows outward.

    Parameters
    ----------
    system : System
        From `delta`.
    position : (3,) or (n, 3) m
        Position of the platform; for n positions the angles are (n, 3).

    Raises
    ------
    ModelError
        If a position is out of reach, with the arm and the distance.
    """
    x = _positions("delta_angles", position, 3)
    hip, centre = system["ground.H1"].position, system["platform.C"].position
    wrist, elbow = (
        (system[a].position + system[b].position) / 2
        for a, b in (("platform.P1a", "platform.P1b"), ("arm1.E1a", "arm1.E1b"))
    )
    rod = system["rod1a.P1a"].position - system["rod1a.E1a"].position
    lengths = (np.linalg.norm(v) for v in (hip, wrist - centre, elbow - system["arm1.H1"].position, rod))
    base, platform, arm, forearm = (float(length) for length in lengths)
    flat = x.reshape(-1, 3)
    found = [_delta_angles(base, platform, arm, forearm, place, "delta_angles") for place in flat]
    return np.array(found).reshape(x.shape)


def _delta_angles(base: float, platform: float, arm: float, forearm: float, x: Array, item: str) -> list[float]:
    angles = []
    for k in range(3):
        c, s = turned(k * _THIRD)
        along, across, z = c * x[0] + s * x[1] + platform - base, -s * x[0] + c * x[1], x[2]
        # along cos theta - z sin theta = reach
        reach = (along**2 + across**2 + z**2 + arm**2 - forearm**2) / (2 * arm)
        size = math.hypot(along, z)
        if abs(reach) > size:
            apart, short, far = math.hypot(size, across), abs(arm - forearm), arm + forearm
            remedy = (
                f"from hip to wrist of leg {k + 1} it is {apart:.6g} m; arm and forearm reach {short:.6g} to {far:.6g}"
            )
            raise ModelError(item, "position", tuple(float(v) for v in x), f"{remedy} m, less to the side")
        angles.append(math.remainder(math.atan2(-z, along) - math.acos(reach / size), 2 * math.pi))
    return angles


def three_rrr(
    base: float = 1.0,
    platform: float = 0.3,
    proximal: float = 0.6,
    distal: float = 0.6,
    *,
    position: ArrayLike = (0.0, 0.0),
    angle: float = 0.0,
    mass: float | None = 1.0,
) -> System:
    """Return the planar 3-RRR platform: three legs of two links each. Mobility 3, x, y and angle of the platform.

    Leg k: joint A{k} on ground, link proximal{k} to the elbow B{k}, link distal{k} to C{k} of the platform.

    Parameters
    ----------
    base, platform : float, m
        Radii of the circles of A and of C.
    proximal, distal : float, m
        Lengths of the links.
    position, angle : (2,) m and rad
        Of the platform at the start.
    mass : float, kg/m
    """
    item = "three_rrr"
    positive(item, base=base, platform=platform, proximal=proximal, distal=distal)
    x = finite_array(position, (2,), item=item, field="position")
    turn = finite(item, angle=angle)["angle"]
    points, links = {"P": x}, {"platform": ["P"]}
    for k in range(1, 4):
        at = math.pi / 2 + (k - 1) * _THIRD
        A, C = turned(at, base), x + turned(at + turn, platform)
        points |= {f"A{k}": A, f"C{k}": C}
        points[f"B{k}"] = meet(A, proximal, C, distal, item=item, what=f"links of leg {k}")
        links["platform"].append(f"C{k}")
        links |= {f"proximal{k}": [f"A{k}", f"B{k}"], f"distal{k}": [f"B{k}", f"C{k}"]}
    return linkage(points, links, ground=("A1", "A2", "A3"), mass=mass, name="3-RRR")


@checked("system")
def three_rrr_angles(system: System, position: ArrayLike, angle: float = 0.0) -> Array:
    """Return the angles (3,) rad of the joints A1, A2, A3 of a `three_rrr` for a pose, elbows as at its start.

    Parameters
    ----------
    system : System
        From `three_rrr`.
    position, angle : (2,) m and rad
        Of the platform.

    Raises
    ------
    ModelError
        If the pose is out of reach, with the leg and the distance.
    """
    x = finite_array(position, (2,), item="three_rrr_angles", field="position")
    result = []
    for k in range(1, 4):
        A = system[f"ground.A{k}"].position[:2]
        arm = math.atan2(A[1], A[0]) + finite("three_rrr_angles", angle=angle)["angle"]
        own = system["platform.C1"].position - system["platform.P"].position
        C = x + turned(arm, float(np.linalg.norm(own)))
        links = [system[name].position for name in (f"proximal{k}.B{k}", f"distal{k}.C{k}")]
        lengths = [float(np.linalg.norm(link)) for link in links]
        B = meet(A, lengths[0], C, lengths[1], item="three_rrr_angles", what=f"links of leg {k}")
        result.append(math.atan2(B[1] - A[1], B[0] - A[0]))
    return np.array(result)


def five_bar(
    base: float = 0.3,
    proximal: float = 0.25,
    distal: float = 0.35,
    *,
    position: ArrayLike = (0.15, 0.4),
    mass: float | None = 1.0,
) -> System:
    """Return the parallel five-bar, a SCARA robot with both motors on ground. Mobility 2, the position of P.

    Left: joint A at the origin, link left_arm to B, link left_rod to P; right: joint E at (base, 0), right_arm to D,
    right_rod to P. Elbows are outward.

    Parameters
    ----------
    base, proximal, distal : float, m
    position : (2,) m
        Of P at the start.
    mass : float, kg/m
    """
    item = "five_bar"
    positive(item, base=base, proximal=proximal, distal=distal)
    P = finite_array(position, (2,), item=item, field="position")
    A, E = np.zeros(2), np.array([float(base), 0.0])
    B = meet(A, proximal, P, distal, item=item, what="left links")
    D = meet(E, proximal, P, distal, left=False, item=item, what="right links")
    return linkage(
        {"A": A, "E": E, "B": B, "D": D, "P": P},
        {"left_arm": "AB", "left_rod": "BP", "right_arm": "ED", "right_rod": "DP"},
        ground="AE",
        mass=mass,
        name="five-bar",
    )


def _across(along: Array) -> Universal:
    """Return a universal joint with both axes perpendicular to a rod, so that the rod does not spin."""
    unit = along / np.linalg.norm(along)
    first = np.cross(unit, np.eye(3)[int(np.abs(unit).argmin())])
    first /= np.linalg.norm(first)
    return Universal(first, np.cross(unit, first))


def _positions(item: str, given: Any, n: int) -> Array:
    shape = shape_of(given)
    if shape is None or shape[-1:] != (n,):
        raise ModelError(item, "position", given, f"give {n} numbers, m, or rows of {n}")
    return finite_array(given, shape, item=item, field="position")
