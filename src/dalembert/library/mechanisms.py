"""Closed mechanisms: planar, spherical, and classic overconstrained spatial ones.

All joints are spatial, so that many closure rows of planar mechanisms are redundant: these systems test the treatment
of redundant rows. Start values close the loops where a formula gives them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..bodies.body import Body
from ..bodies.shapes import rod
from ..checks import LARGEST_SIZE, checked, finite_array, finite_number
from ..connections.elements.built_in import Effort, SpringDamper
from ..connections.joints import Prismatic, Revolute
from ..errors import ModelError
from ..rotation import axis_angle
from ..system import System

__all__ = [
    "andrews",
    "bennett",
    "bricard",
    "door",
    "four_bar",
    "governor",
    "parallelogram",
    "sarrus",
    "slider_crank",
    "spherical_four_bar",
    "windows",
]


_DOWN = (0.0, -9.81, 0.0)


@checked("crank", "coupler", "rocker", "ground", "angle", "crossed", "mass", largest=LARGEST_SIZE)
def four_bar(
    crank: float = 1.0,
    coupler: float = 2.5,
    rocker: float = 2.0,
    ground: float = 2.2,
    *,
    angle: float = 1.0,
    crossed: bool = False,
    mass: float = 1.0,
    name: str = "four-bar",
) -> System:
    """Return a planar four-bar of slender rods in the x-y plane, with four spatial revolutes about z.

    A connects ground and crank, B crank and coupler, C coupler and rocker, D ground, at (ground, 0, 0), and rocker.
    The origin of the rocker is at D. Mobility 1, Grübler count -2: three rows are redundant.

    Parameters
    ----------
    crank, coupler, rocker, ground : float, m
    angle : float, rad
        Crank angle at the start, from the x axis.
    crossed : bool
        Start with the joint C on the right of the line from B to D.
    mass : float, kg/m
        Mass per length of every rod.
    """
    system = System(name, gravity=_DOWN)
    bodies = [
        system.body(label, rod(length=length, mass=mass * length))
        for label, length in (("crank", crank), ("coupler", coupler), ("rocker", rocker))
    ]
    system.connect("A", Revolute("z"), system.ground, bodies[0])
    system.connect("B", Revolute("z"), bodies[0].at(crank, 0, 0), bodies[1])
    system.connect("C", Revolute("z"), bodies[1].at(coupler, 0, 0), bodies[2].at(rocker, 0, 0))
    system.connect("D", Revolute("z"), system.ground.at(ground, 0, 0), bodies[2])
    # triangle B, C, D over the diagonal from B to D; stretched or folded as far as possible if it does not close
    diagonal = np.array([ground - crank * math.cos(angle), -crank * math.sin(angle)])
    length = max(float(np.hypot(*diagonal)), 1e-300)
    at_B = math.acos(_clip((length**2 + coupler**2 - rocker**2) / (2 * length * coupler)))
    at_D = math.acos(_clip((length**2 + rocker**2 - coupler**2) / (2 * length * rocker)))
    side, along = -1.0 if crossed else 1.0, math.atan2(diagonal[1], diagonal[0])
    absolute = (angle, along + side * at_B, along + math.pi - side * at_D)
    system.initial("A", position=angle)
    system.initial("B", position=_turn(absolute[1] - angle), guess=True)
    system.initial("C", position=_turn(absolute[2] - absolute[1]), guess=True)
    system.initial("D", position=_turn(absolute[2]), guess=True)
    return system


@checked("crank", "base", "angle", largest=LARGEST_SIZE)
def parallelogram(crank: float = 1.0, base: float = 2.0, *, angle: float = 1.0) -> System:
    """Return a four-bar with equal opposite links; at angle 0 all links are collinear, at a bifurcation.

    Parameters
    ----------
    crank, base : float, m
    angle : float, rad
    """
    system = four_bar(crank, base, crank, base, angle=angle, name="parallelogram")
    system.initial("B", position=-angle, guess=True)
    system.initial("C", position=angle, guess=True)
    system.initial("D", position=angle, guess=True)
    return system


@checked("angle", "slider_mass", largest=LARGEST_SIZE)
def slider_crank(
    crank: float = 0.2, connecting_rod: float = 0.6, *, angle: float = 0.7, slider_mass: float = 0.5
) -> System:
    """Return a slider-crank in the x-y plane: revolutes A, B, C about z, and the slider on ground along x, D.

    Mobility 1, Grübler count -2.

    Parameters
    ----------
    crank, connecting_rod : float, m
    angle : float, rad
        Crank angle at the start.
    slider_mass : float, kg
    """
    system = System("slider-crank", gravity=_DOWN)
    first = system.body("crank", rod(length=crank, mass=1.0))
    second = system.body("rod", rod(length=connecting_rod, mass=1.0))
    slider = system.body("slider", mass=slider_mass, inertia=slider_mass * crank**2 * 0.02 * np.ones(3))
    system.connect("A", Revolute("z"), system.ground, first)
    system.connect("B", Revolute("z"), first.at(crank, 0, 0), second)
    system.connect("C", Revolute("z"), second.at(connecting_rod, 0, 0), slider)
    system.connect("D", Prismatic("x"), system.ground, slider)
    tilt = -math.asin(_clip(crank * math.sin(angle) / connecting_rod))
    system.initial("A", position=angle)
    system.initial("B", position=_turn(tilt - angle), guess=True)
    system.initial("C", position=-tilt, guess=True)
    system.initial("D", position=crank * math.cos(angle) + connecting_rod * math.cos(tilt), guess=True)
    return system


@checked("length", "twist", "other_twist", "angle", largest=LARGEST_SIZE)
def bennett(length: float = 1.0, twist: float = 0.6, other_twist: float = 1.1, *, angle: float = 1.0) -> System:
    """Return Bennett's linkage: four skew revolutes, equal opposite links, lengths proportional to sin(twist).

    Revolutes A, B, C, D in order around the loop; ground is the fourth link. Mobility 1, Grübler count -2.

    Parameters
    ----------
    length : float, m
        Length of the first and third link; the others have length sin(other_twist) / sin(twist).
    twist, other_twist : float, rad
        Angle between the two axes of a link.
    angle : float, rad
        Initial angle of A.
    """
    if math.sin(twist) == 0 or math.sin((other_twist - twist) / 2) == 0:
        raise ModelError("bennett", "twist", twist, f"it must differ from 0 and from the other twist, {other_twist}")
    other = length * math.sin(other_twist) / math.sin(twist)
    system = _ring("Bennett", (length, other, length, other), (twist, other_twist, twist, other_twist))
    ratio = math.sin((other_twist + twist) / 2) / math.sin((other_twist - twist) / 2)
    second = 2 * math.atan2(ratio, math.tan(angle / 2))
    for joint, value in zip("ABCD", (angle, second, -angle, -second), strict=True):
        system.initial(joint, position=_turn(value))
    return system


@checked("arcs")
def spherical_four_bar(
    arcs: Sequence[float] = (math.radians(40), math.radians(70), math.radians(60), math.radians(80)),
    *,
    angle: float = 0.7,
) -> System:
    """Return a spherical four-bar: revolutes A, B, C, D whose axes intersect in the origin.

    Mobility 1, Grübler count -2. The default arcs are those of the example by Garcia de Jalon and Bayo.

    Parameters
    ----------
    arcs : (4,) rad
        Angles between successive axes: crank, coupler, rocker, ground.
    angle : float, rad
        Initial angle of A.
    """
    system = _ring("spherical four-bar", (0.0, 0.0, 0.0, 0.0), arcs)
    # the axis of C has known angles to those of B and D: two planes intersect the unit sphere
    to_B = axis_angle("x", arcs[3]) @ axis_angle("z", angle) @ axis_angle("x", arcs[0])
    b, d = to_B[:, 2], np.array([0.0, 0.0, 1.0])
    k, cos_b, cos_d = float(b @ d), math.cos(arcs[1]), math.cos(arcs[2])
    in_plane = ((cos_b - k * cos_d) * b + (cos_d - k * cos_b) * d) / (1 - k * k)
    normal = np.cross(b, d)
    c = in_plane + math.sqrt(max(0.0, 1 - float(in_plane @ in_plane)) / float(normal @ normal)) * normal
    second = _turn_to(to_B.T @ c)
    to_C = to_B @ axis_angle("z", second) @ axis_angle("x", arcs[1])
    system.initial("A", position=angle)
    system.initial("B", position=second, guess=True)
    system.initial("C", position=_turn_to(to_C.T @ d), guess=True)
    return system


def bricard() -> System:
    """Return the rectangular Bricard mechanism of the IFToMM benchmark library (A04).

    Five rods 1 m x 0.1 m x 0.1 m of 1 kg and six revolutes P0 to P5, at the corners of a cube. Mobility 1, Grübler
    count 0: one redundant row. The angles alternate p, r, p, r, p with (1 + sin p) (1 + sin r) = 1.
    """
    points = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)
    system = System("Bricard", gravity=_DOWN)
    before, end = system.ground, points[0]
    for k in range(5):
        along = points[k + 1] - points[k]
        thin, thick = 0.1**2 + 0.1**2, 1.0 + 0.1**2
        inertia = np.where(along != 0, thin, thick) / 12
        body = system.body(f"rod {k + 1}", mass=1.0, com=along / 2, inertia=inertia)
        system.connect(f"P{k}", Revolute("yzx"[k % 3]), before.at(*end), body)
        before, end = body, along
    system.connect("P5", Revolute("x"), before.at(*end), system.ground.at(*points[5]))
    return system


@checked("angle", "half_width", largest=LARGEST_SIZE)
def sarrus(link: float = 1.0, *, angle: float = 0.6, half_width: float = 0.5) -> System:
    """Return the Sarrus linkage: two folding legs at right angles guide a platform exactly along z.

    Legs A1, A2, A3 with axes y and B1, B2, B3 with axes x. Mobility 1, Grübler count 0.

    Parameters
    ----------
    link : float, m
        Length of the four leg links.
    angle : float, rad
        Initial angle of the lower links above the horizontal.
    half_width : float, m
        Half width of base and platform.
    """
    system = System("Sarrus")
    platform = system.body("platform", mass=2.0, inertia=(0.2, 0.2, 0.4))
    for leg, axis, out, turn in (("A", "y", (1.0, 0.0, 0.0), -1.0), ("B", "x", (0.0, 1.0, 0.0), 1.0)):
        letter = "xy"[leg == "B"]
        lower, upper = (
            system.body(f"{part} {leg}", rod(link, 1.0, axis=letter, radius=0.02)) for part in ("lower", "upper")
        )
        foot, tip = half_width * np.array(out), link * np.array(out)
        system.connect(f"{leg}1", Revolute(axis), system.ground.at(*foot), lower)
        system.connect(f"{leg}2", Revolute(axis), lower.at(*tip), upper)
        system.connect(f"{leg}3", Revolute(axis), upper.at(*tip), platform.at(*foot))
        system.initial(f"{leg}1", position=turn * angle)
        system.initial(f"{leg}2", position=turn * (math.pi - 2 * angle))
        system.initial(f"{leg}3", position=turn * (angle - math.pi))
    return system


@checked("height", "width", "mass", largest=LARGEST_SIZE)
def door(height: float = 1.5, width: float = 0.9, *, misfit: ArrayLike = (0.0, 0.0, 0.0), mass: float = 30.0) -> System:
    """Return a door on two vertical revolute joints, `low` and `high`.

    Mobility 1, Grübler count -4: five rows of the second joint are redundant.

    Parameters
    ----------
    height, width : float, m
        Distance of the joints; width of the leaf.
    misfit : (3,) m
        Position error of the upper joint on the frame; with nonzero values the joints cannot be closed together.
    mass : float, kg
    """
    system = System("door")
    leaf = system.body(
        "leaf",
        mass=mass,
        com=(width / 2, 0, height / 2),
        inertia=mass / 12 * np.array([height**2, height**2 + width**2, width**2]),
    )
    system.connect("low", Revolute("z"), system.ground, leaf)
    frame = finite_array(misfit, (3,), item="door", field="misfit") + np.array([0.0, 0.0, height])
    system.connect("high", Revolute("z"), system.ground.at(*frame), leaf.at(0, 0, height))
    return system


@checked("n")
def windows(n: int) -> System:
    """Return `n` square windows of rods in the xy-plane: n + 1 pivoted vertical rods, n horizontal rods between them.

    Row of coupled four-bars, IFToMM A02. Rods are 1 m and 1 kg, gravity is 9.81 m/s2 along -y. The loops are closed at
    zero coordinates, with vertical cranks. The mechanism has one degree of freedom, and n more where the cranks are
    horizontal.

    Joints: ``"A0"`` ... ``"An"`` at the ground, ``"B0"`` ... at the left and ``"C0"`` ... at the right end of the
    level rods, all about z.

    Examples
    --------
    >>> model = windows(2).compile()
    >>> model.nv, model.nc
    (5, 10)
    """
    system = System(f"{n} windows", gravity=(0.0, -9.81, 0.0))
    uprights = [system.body(f"upright{k}", rod(1.0, 1.0, "y")) for k in range(n + 1)]
    levels = [system.body(f"level{k}", rod(1.0, 1.0, "x")) for k in range(n)]
    for k, body in enumerate(uprights):
        system.connect(f"A{k}", Revolute("z"), system.ground.at(k), body)
    for k, body in enumerate(levels):
        system.connect(f"B{k}", Revolute("z"), uprights[k].at(0.0, 1.0), body)
    for k, body in enumerate(levels):
        system.connect(f"C{k}", Revolute("z"), body.at(1.0), uprights[k + 1].at(0.0, 1.0))
    return system


def andrews() -> System:
    """Return Andrews' squeezer mechanism (IFToMM A03), seven bodies and ten revolutes in the x-y plane.

    The seven angles of the tree are those of the literature: O beta, F Theta, B gamma, G Phi, A5 delta, H Omega,
    A7 epsilon; E3, E4 and E6 close the three loops at the point E of body K2. Start values are as published. No
    gravity; ``"spring"`` from ``ground.C`` to ``K3.D`` and ``"torque"`` of 0.033 N m at O. Hairer and Wanner, Solving
    ODEs II, section VII.7.
    """
    system = System("Andrews", gravity=(0.0, 0.0, 0.0))
    numbers = {  # mass, centre of mass, moment of inertia
        "K1": (0.04325, (0.00092, 0), 2.194e-6),
        "K2": (0.00365, (-0.0115, 0), 4.410e-7),
        "K3": (0.02373, (0.01043, -0.01874), 5.255e-6),
        "K4": (0.00706, (0, -(0.02 - 0.01421)), 5.667e-7),
        "K5": (0.07050, (0.02308, 0.00916), 1.169e-5),
        "K6": (0.00706, (0.02 - 0.01421, 0), 5.667e-7),
        "K7": (0.05498, (-0.00449, -0.01228), 1.912e-5),
    }
    k1, k2, k3, k4, k5, k6, k7 = (
        system.body(name, mass=m, com=(*c, 0), inertia=(J / 2, J / 2, J)) for name, (m, c, J) in numbers.items()
    )
    system.ground.marker("C", 0.014, 0.072, 0)
    k3.marker("D", 0.02, -0.018, 0)
    A, B = system.ground.at(-0.06934, -0.00227, 0), system.ground.at(-0.03635, 0.03273, 0)
    for name, first, second, start in (
        ("O", system.ground, k1, -0.0617138900142764496),
        ("F", k1.at(0.007, 0, 0), k2, 0.0),
        ("B", B, k3, 0.455279819163070380),
        ("A5", A, k5, 0.487364979543842550),
        ("G", k5.at(0.04, 0, 0), k4, 0.222668390165885885),
        ("A7", A, k7, 1.23054744454982119),
        ("H", k7.at(0, -0.04, 0), k6, -0.222668390165885885),
    ):
        system.connect(name, Revolute("z"), first, second)
        system.initial(name, position=start)
    E = k2.at(-0.028, 0, 0)
    system.connect("E3", Revolute("z"), E, k3.at(0, -0.035, 0))
    system.connect("E4", Revolute("z"), E, k4.at(0, -0.02, 0))
    system.connect("E6", Revolute("z"), E, k6.at(0.02, 0, 0))
    system.connect("spring", SpringDamper(4530.0, length=0.07785), system["ground.C"], system["K3.D"])
    system.connect("torque", Effort(0.033), "O")
    return system


def governor(
    stiffness: float = 8e5,
    damping: float = 4e4,
    *,
    speed: float = 2 * math.pi,
    angle: float = math.pi / 6,
    height: float = 0.5,
) -> System:
    """Return the stiff flyball governor of the IFToMM benchmark library (A05).

    A shaft of 1 m turns freely about the vertical, A. Two rods of 1 m with 5 kg at their ends are connected to its top
    by B1 and B2, 0.05 m from the axis; their angles are positive below the horizontal. A slider moves along the shaft
    and turns with it, S. Spring-dampers ``"spring 1"`` and ``"spring 2"``, unloaded at 0.5 m, connect the middles of
    the rods to points 0.05 m from the centre of the slider. Density 3000 kg/m3: shaft and rods 0.3 kg with sections of
    0.01 m, the slider a cube of 0.1 m and 3 kg. Mobility 4.

    Parameters
    ----------
    stiffness, damping : float, N/m and N s/m
        Values of each spring-damper.
    speed : float, rad/s
        Initial speed of the shaft.
    angle : float, rad
        Initial angle of both rods below the horizontal.
    height : float, m
        Initial height of the centre of the slider above the lower end of the shaft.
    """
    system = System("governor")
    density, thin, ball = 3000.0, 0.01, 5.0
    beam, cube = density * thin**2, density * 0.1**3
    across, along = beam * (1 + thin**2) / 12, beam * 2 * thin**2 / 12
    shaft = system.body("shaft", mass=beam, com=(0, 0, 0.5), inertia=(across, across, along))
    slider = system.body("slider", mass=cube, inertia=cube * 0.1**2 / 6 * np.ones(3))
    system.connect("A", Revolute("z"), system.ground, shaft)
    system.connect("S", Prismatic("z"), shaft, slider)
    system.initial("A", speed=speed)
    system.initial("S", position=height)
    # rod and ball as one body about their common centre of mass
    mass = beam + ball
    centre = (0.5 * beam + ball) / mass
    lateral = across + beam * (centre - 0.5) ** 2 + ball * (1 - centre) ** 2
    for k, turn in ((1, 0.0), (2, math.pi)):
        rod_k = system.body(f"rod {k}", mass=mass, com=(centre, 0, 0), inertia=(along, lateral, lateral))
        side = math.cos(turn) * 0.05
        system.connect(f"B{k}", Revolute("y"), shaft.at(side, 0, 1, rotation=("z", turn)), rod_k)
        system.connect(
            f"spring {k}", SpringDamper(stiffness, damping, length=0.5), rod_k.at(0.5, 0, 0), slider.at(side, 0, 0)
        )
        system.initial(f"B{k}", position=angle)
    return system


def _ring(name: str, lengths: Sequence[float], twists: Sequence[float]) -> System:
    """Return a loop of four links; the next revolute axis of a link is `length` along x, rotated about x."""
    if len(lengths) != 4 or len(twists) != 4:
        raise ModelError(name, "links", len(twists), "give four")
    lengths = [finite_number(value, item=name, field="length") for value in lengths]
    twists = [finite_number(value, item=name, field="twist") for value in twists]
    system = System(name)
    before: Body = system.ground
    end = before.at(lengths[3], 0, 0, rotation=("x", twists[3]))
    size = max(*lengths, 1.0 if not any(lengths) else 0.0)
    for joint, length, twist in zip("ABC", lengths, twists, strict=False):
        middle = np.array([length / 2, -size * math.sin(twist) / 4, size * math.cos(twist) / 4])
        body = system.body(f"link {joint}", mass=1.0, com=middle, inertia=size**2 * np.array([0.02, 0.03, 0.04]))
        system.connect(joint, Revolute("z"), end, body)
        end = body.at(length, 0, 0, rotation=("x", twist))
    system.connect("D", Revolute("z"), end, system.ground)
    return system


def _turn_to(direction: Array) -> float:
    """Return the angle about z after which a link's next axis, tilted about x, points along `direction`."""
    return math.atan2(direction[0], -direction[1])


def _turn(angle: float) -> float:
    """Wrap an angle to (-pi, pi]."""
    return math.remainder(angle, 2 * math.pi)


def _clip(cosine: float) -> float:
    return max(-1.0, min(1.0, cosine))
