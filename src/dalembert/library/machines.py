"""Machines: quick return, Scotch yoke, scissor lift, pantograph, shaft couplings, Geneva drive."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..bodies.body import Body
from ..bodies.shapes import cylinder, prism, rod
from ..checks import LARGEST_SIZE, checked, finite, positive, whole_number
from ..connections.constraints.couplings import CustomCoupling
from ..connections.joints import Prismatic, Revolute, Universal
from ..errors import ModelError
from ..rotation import axis_angle
from ..system import System
from .linkages import linkage
from .sketch_solver import meet, turned

__all__ = [
    "cardan_shaft",
    "geneva",
    "geneva_angle",
    "oldham",
    "pantograph",
    "quick_return",
    "scissor_lift",
    "scotch_yoke",
]


@checked("rod_length", largest=LARGEST_SIZE)
def quick_return(
    crank: float = 0.1,
    base: float = 0.25,
    lever: float = 0.5,
    rod_length: float = 0.3,
    height: float = 0.45,
    *,
    angle: float = 0.0,
    mass: float | None = 1.0,
) -> System:
    """Return a crank and slotted lever quick-return mechanism, or Whitworth's quick return.

    The crank OA turns about O at (0, base). Its block A slides in the lever, which turns about C at the origin and
    moves the ram F, at a height, by the rod EF. If the crank is shorter than the base, the lever oscillates, and the
    forward stroke takes (pi + 2 b) / (pi - 2 b) times as long as the return stroke, sin b = crank / base. With a longer
    crank the lever rotates fully (Whitworth). Joints O, A, A_slide (from C), C, E, F, F_slide. Mobility 1.

    Parameters
    ----------
    crank, base, lever, rod_length, height : float, m
    angle : float, rad
        Initial angle of the crank.
    mass : float, kg/m
    """
    item = "quick_return"
    positive(item, crank=crank, base=base, lever=lever, rod_length=rod_length)
    n = finite(item, angle=angle, height=height)
    A = np.array([0.0, base]) + turned(n["angle"], crank)
    if np.linalg.norm(A) < 1e-9 * base:
        raise ModelError(
            item,
            "crank",
            crank,
            "with this length the pin coincides with the pivot of the lever",
        )
    E = lever * A / np.linalg.norm(A)
    rise = height - E[1]
    if abs(rise) > rod_length:
        remedy = f"the end of the lever is {abs(rise):.6g} m from the line of the ram: the rod must be longer"
        raise ModelError(item, "rod_length", rod_length, remedy)
    F = np.array([E[0] + math.sqrt(rod_length**2 - rise**2), height])
    return linkage(
        {"O": (0, base), "A": A, "C": (0, 0), "E": E, "F": F},
        {"crank": "OA", "lever": "CE", "rod": "EF"},
        ground="OC",
        sliders={"A": ("lever", "C"), "F": ("ground", (1, 0))},
        mass=mass,
        name="quick return",
    )


def scotch_yoke(crank: float = 0.1, *, angle: float = 0.5, mass: float | None = 1.0) -> System:
    """Return a Scotch yoke: the slide is exactly crank cos(angle). Mobility 1.

    The pin A of the crank OA moves in the vertical slot of the yoke, A_slide; yoke_slide is the position of the slot
    along x.

    Parameters
    ----------
    crank : float, m
    angle : float, rad
        Initial angle of the crank.
    mass : float, kg/m
    """
    positive("scotch_yoke", crank=crank)
    A = turned(finite("scotch_yoke", angle=angle)["angle"], crank)
    x, reach = float(A[0]), 1.3 * crank
    points: dict[str, ArrayLike] = {"O": (0, 0), "A": A, "Y": (x, 0), "L": (x, -reach), "H": (x, reach)}
    return linkage(
        points,
        {"crank": "OA", "yoke": "YLH"},
        ground="O",
        sliders={"A": ("yoke", (0, 1)), "yoke": ("ground", (1, 0))},
        mass=mass,
        name="Scotch yoke",
    )


@checked("stages")
def scissor_lift(stages: int = 3, arm: float = 1.0, *, angle: float = 0.5, mass: float | None = 1.0) -> System:
    """Return a scissor lift: its platform is stages arm sin(angle) high. Mobility 1.

    Stage k has the arms up{k}, from A{k-1} through M{k} to B{k}, and down{k}, from B{k-1} through M{k} to A{k}. A0 is
    the pivot at the origin, B0 slides on ground, the last B slides on the platform.

    Parameters
    ----------
    stages : int
    arm : float, m
        Length of the arms.
    angle : float, rad
        Initial angle of the arms, between 0 and pi/2.
    mass : float, kg/m
    """
    item = "scissor_lift"
    positive(item, arm=arm, angle=angle)
    stages = whole_number(stages, item=item, field="stages")
    if angle >= math.pi / 2:
        raise ModelError(item, "angle", angle, "the arms are vertical at pi/2: give less")
    width, height = turned(angle, arm)
    points = {f"{p}{k}": (x, k * height) for k in range(stages + 1) for p, x in (("A", 0.0), ("B", width))}
    points |= {f"M{k}": (width / 2, (k - 0.5) * height) for k in range(1, stages + 1)}
    links: dict[str, tuple[str, ...]] = {}
    for k in range(1, stages + 1):
        links |= {f"up{k}": (f"A{k - 1}", f"M{k}", f"B{k}"), f"down{k}": (f"B{k - 1}", f"M{k}", f"A{k}")}
    points["P"] = (arm, stages * height)
    links["platform"] = (f"A{stages}", "P")
    sliders = {"B0": ("ground", (1, 0)), f"B{stages}": ("platform", f"A{stages}")}
    return linkage(points, links, ground=("A0",), sliders=sliders, mass=mass, name=f"scissor lift, {stages} stages")


@checked("arm", "position", largest=LARGEST_SIZE)
def pantograph(
    ratio: float = 3.0, arm: float = 0.6, *, position: tuple[float, float] = (0.25, 0.05), mass: float | None = 1.0
) -> System:
    """Return a pantograph: Q traces the path of P, enlarged by `ratio` about O. Mobility 2.

    Links first O-D-A, second A-E-Q, and the bars D-P and P-E, which form a parallelogram with them.

    Parameters
    ----------
    ratio : float
        Above 1.
    arm : float, m
        Length of the first and second link.
    position : (2,) m
        Initial position of P, from O.
    mass : float, kg/m
    """
    item = "pantograph"
    positive(item, ratio=ratio, arm=arm)
    if ratio <= 1:
        raise ModelError(item, "ratio", ratio, "it must be above 1: to reduce, drive Q and trace with P")
    P = np.array([float(position[0]), float(position[1])])
    Q = ratio * P
    A = meet((0, 0), arm, Q, arm, item=item, what="both arms")
    D, E = A / ratio, A + (Q - A) / ratio
    return linkage(
        {"O": (0, 0), "D": D, "A": A, "E": E, "Q": Q, "P": P},
        {"first": "ODA", "second": "AEQ", "DP": "DP", "PE": "PE"},
        ground="O",
        mass=mass,
        name="pantograph",
    )


def oldham(offset: float = 0.02, radius: float = 0.05, *, mass: float = 1.0) -> System:
    """Return Oldham's coupling of two parallel, offset shafts. Mobility 1.

    Bodies input, disc, output. Joints about z: input_shaft at the origin and output_shaft at (offset, 0, 0); the disc
    slides on both, tongue_1 along x of the input and tongue_2 along y of the disc. Its centre moves at twice their
    angular velocity on the circle whose diameter is the distance of the axes.

    Parameters
    ----------
    offset, radius : float, m
        Distance of the shafts, radius of the discs.
    mass : float, kg
        Of each body.
    """
    n = positive("oldham", radius=radius, mass=mass) | finite("oldham", offset=offset)
    s = System("Oldham coupling")
    gap = 0.5 * n["radius"]
    first, disc, second = (s.body(k, cylinder(0.8 * gap, n["radius"], n["mass"])) for k in ("input", "disc", "output"))
    s.connect("input_shaft", Revolute("z"), s.ground.at(0, 0, -gap), first)
    s.connect("output_shaft", Revolute("z"), s.ground.at(n["offset"], 0, gap), second)
    s.connect("tongue_1", Prismatic("x"), first.at(0, 0, gap), disc)
    s.connect("tongue_2", Prismatic("y"), disc, second.at(0, 0, -gap))
    s.initial("tongue_1", position=n["offset"], guess=True)
    return s


@checked("double", "parallel")
def cardan_shaft(
    angle: float = math.radians(30),
    *,
    double: bool = True,
    length: float = 0.4,
    parallel: bool = True,
    mass: float = 1.0,
) -> System:
    """Return shafts with one universal joint (non-uniform output), or two that compensate each other.

    Bodies input, output and, between two joints, tube and slide. Joints: input_bearing and output_bearing on ground,
    joint_1 and joint_2, and the spline along which the middle shaft changes its length. The input turns about x; all
    shafts, and initially the fork of the input, lie in the plane of x and z. One joint: tan(output) = tan(input) /
    cos(angle), so that the speed varies between cos(angle) and 1 / cos(angle) times that of the input. Two joints:
    output = input. Mobility 1.

    Parameters
    ----------
    angle : float, rad
        Between the shafts at each joint.
    double : bool
        Two joints.
    length : float, m
        Of each shaft.
    parallel : bool
        With two joints: the output is parallel to the input (Z); False bends it further by the same angle (W).
    mass : float, kg
        Of each body.
    """
    item = "cardan_shaft"
    n = positive(item, length=length, mass=mass) | finite(item, angle=angle)
    bend = n["angle"]
    if abs(bend) >= math.radians(80):
        raise ModelError(item, "angle", angle, "a universal joint bends by less than 80 degrees, 1.3963 rad")
    s = System("double Cardan shaft" if double else "Cardan shaft")

    def shaft(name: str) -> Body:
        return s.body(name, rod(length, mass, radius=0.03 * length))

    first, end = shaft("input"), np.array([length, 0.0, 0.0])
    s.connect("input_bearing", Revolute("x"), s.ground, first)
    if not double:
        last, turn = shaft("output"), -bend
        s.connect("joint_1", Universal("z", "y"), first.at(length), last)
        s.initial("joint_1", position=(0.0, -bend), guess=True)
    else:
        tube, slide, last = shaft("tube"), shaft("slide"), shaft("output")
        s.connect("joint_1", Universal("z", "y"), first.at(length), tube)
        s.connect("spline", Prismatic("x"), tube, slide)
        # both forks of the middle shaft lie in one plane
        s.connect("joint_2", Universal("y", "z"), slide.at(length), last)
        s.initial("joint_1", position=(0.0, -bend), guess=True)
        s.initial("spline", position=0.5 * length, guess=True)
        s.initial("joint_2", position=(bend if parallel else -bend, 0.0), guess=True)
        end = end + axis_angle("y", -bend) @ np.array([1.5 * length, 0.0, 0.0])
        turn = 0.0 if parallel else -2 * bend
    s.connect("output_bearing", Revolute("x"), s.ground.at(*end, rotation=("y", turn)), last)
    return s


@checked("slots")
def geneva(slots: int = 4, centre: float = 0.1, *, mass: float = 1.0) -> System:
    """Return a Geneva drive: every revolution of the crank indexes the wheel by one slot.

    The crank turns about z at the origin, joint crank_shaft, zero where it points at the wheel; the wheel turns about
    (centre, 0, 0), joint wheel_shaft. The pin is in a slot while the crank is within pi/2 - pi/slots of the line of
    centres. The coupling ``law`` prescribes `geneva_angle` for the wheel. The pin enters and leaves slots along their
    length, so that the speed of the wheel does not jump; its acceleration does. Mobility 1.

    Parameters
    ----------
    slots : int
        3 or more.
    centre : float, m
        Distance of the axes; the crank is centre sin(pi / slots) long.
    mass : float, kg
        Of crank and wheel.

    Examples
    --------
    >>> import dalembert as da
    >>> s = geneva(6)
    >>> _ = s.drive("crank_shaft", speed=2 * np.pi)
    >>> result = da.simulate(s, 3.0)  # three turns: three of six slots
    >>> print(round(float(result["wheel_shaft.position"][-1] / np.pi), 6))
    -1.0
    """
    count, n = _slots(slots), positive("geneva", centre=centre, mass=mass)
    a, half = n["centre"], math.pi / count
    crank = a * math.sin(half)
    s = System("Geneva drive", gravity=(0.0, -9.81, 0.0))
    driver = s.body("crank", rod(crank, n["mass"], radius=0.04 * a))
    wheel = s.body("wheel", prism(_wheel(count, a), 0.1 * a, n["mass"]))
    driver.marker("pin", crank)
    s.connect("crank_shaft", Revolute("z"), s.ground, driver)
    s.connect("wheel_shaft", Revolute("z"), s.ground.at(a), wheel)
    law = CustomCoupling(
        "s2 + 2*pi/slots*turns + atan2(ratio*sin(inside), 1 - ratio*cos(inside))",
        {"slots": float(count), "ratio": math.sin(half), "end": math.pi / 2 - half},
        definitions={"turns": "floor((s1 + pi)/(2*pi))", "inside": "min(max(s1 - 2*pi*turns, -end), end)"},
    )
    s.connect("law", law, "crank_shaft", "wheel_shaft")
    return s


@checked("slots", "angle")
def geneva_angle(slots: int, angle: ArrayLike) -> Array:
    """Return the angle (...) rad of the wheel of a Geneva drive for angles (...) rad of its crank.

    -atan2(k sin a, 1 - k cos a) with k = sin(pi / slots), from -pi / slots to pi / slots while the pin is in a slot.
    """
    half = math.pi / _slots(slots)
    a = np.asarray(angle, dtype=float)
    turns = np.floor((a + math.pi) / (2 * math.pi))
    inside = np.clip(a - 2 * math.pi * turns, half - math.pi / 2, math.pi / 2 - half)
    k = math.sin(half)
    return np.asarray(-2 * half * turns - np.arctan2(k * np.sin(inside), 1 - k * np.cos(inside)))


def _slots(slots: int) -> int:
    remedy = "give a whole number, 3 or more: two slots leave no crank"
    return whole_number(slots, item="geneva", field="slots", least=3, remedy=remedy)


def _wheel(slots: int, centre: float) -> Array:
    """Return the outline (k, 2) m of the wheel, with slots and locking arcs between them."""
    half = math.pi / slots
    crank, rim, pin = centre * math.sin(half), centre * math.cos(half), 0.04 * centre
    bottom = centre - crank - pin
    lock = 0.8 * crank
    # locking arc: a circle about the axis of the crank in the middle between two slots
    reach = math.acos((centre**2 + lock**2 - rim**2) / (2 * centre * lock))
    sweep = np.linspace(reach, -reach, 15)
    hollow = np.column_stack([centre - lock * np.cos(sweep), lock * np.sin(sweep)])[::-1]
    outline = []
    for k in range(slots):
        at = math.pi + (2 * k + 1) * half
        slot = math.pi + (2 * k + 2) * half
        outline += [_turned(hollow, at)]
        width = math.sqrt(rim**2 - pin**2)
        floor = np.linspace(-math.pi / 2, -3 * math.pi / 2, 9)
        ground = np.column_stack([bottom + pin + pin * np.cos(floor), pin * np.sin(floor)])
        outline += [_turned(np.vstack([[width, -pin], ground, [width, pin]]), slot)]
    return np.concatenate(outline)


def _turned(points: Array, angle: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    return np.asarray(points @ np.array([[c, s], [-s, c]]))
