"""Gear trains: pairs, racks, planetary sets, differentials, Cardan gears."""

from __future__ import annotations

import math

from ..bodies.shapes import cylinder, prism, rod
from ..checks import checked, finite, one_of, positive, whole_number
from ..connections.constraints.couplings import CustomCoupling
from ..connections.joints import Fixed, Prismatic, Revolute
from ..errors import ModelError
from ..system import System
from .gear_meshes import GearPair, Rack, ring_for
from .gears import Gear

__all__ = ["cardan_gears", "differential", "planetary", "rack_drive", "spur_gears"]

STEEL_DENSITY = 7850.0  # kg/m3


def spur_gears(
    first: Gear,
    second: Gear,
    *,
    centre: float | None = None,
    width: float | None = None,
    density: float = STEEL_DENSITY,
) -> System:
    """Return two gears in mesh on fixed axes, about z. Mobility 1.

    Bodies first, at the origin, and second, at (centre, 0, 0) or, if it is a ring, (-centre, 0, 0); joints shaft_1 and
    shaft_2, coupling mesh. Teeth are in mesh at zero angles, with a tooth of the first along x.

    Parameters
    ----------
    first, second : Gear
    centre : float, m
        Centre distance; default without backlash.
    width : float, m
        Width of the gears; default ten modules.
    density : float, kg/m3

    Examples
    --------
    >>> import dalembert as da
    >>> s = spur_gears(Gear(0.002, 20), Gear(0.002, 40))
    >>> da.mobility(s).mobility
    1
    """
    pair = GearPair(first, second, centre)
    n = positive("spur_gears", width=10 * first.module if width is None else width, density=density)
    s = System("spur gears", gravity=(0.0, -9.81, 0.0))
    phase = 0.0 if second.internal or second.teeth % 2 else math.pi / second.teeth
    a = s.body("first", prism(first.outline(), n["width"], density=density))
    b = s.body("second", prism(second.outline(phase), n["width"], density=density))
    s.connect("shaft_1", Revolute("z"), s.ground, a)
    s.connect("shaft_2", Revolute("z"), s.ground.at(-pair.centre if second.internal else pair.centre), b)
    s.connect("mesh", pair.coupling, "shaft_1", "shaft_2")
    return s


@checked("teeth")
def rack_drive(pinion: Gear, teeth: int = 20, *, width: float | None = None, density: float = STEEL_DENSITY) -> System:
    """Return a pinion and a rack below it, which slides along x. Mobility 1.

    Bodies pinion, at the origin, and rack; joints shaft and slide, coupling mesh.

    Parameters
    ----------
    pinion : Gear
    teeth : int
        Of the rack.
    width, density : float, m and kg/m3
    """
    mesh = Rack(pinion)
    n = positive("rack_drive", width=10 * pinion.module if width is None else width, density=density)
    s = System("rack and pinion", gravity=(0.0, -9.81, 0.0))
    wheel = s.body("pinion", prism(pinion.outline(-math.pi / 2), n["width"], density=density))
    rack = s.body("rack", prism(mesh.outline(teeth), n["width"], density=density))
    s.connect("shaft", Revolute("z"), s.ground, wheel)
    s.connect("slide", Prismatic("x"), s.ground.at(0, -mesh.distance, 0), rack)
    s.connect("mesh", mesh.coupling, "shaft", "slide")
    return s


@checked("sun", "planet", "held")
def planetary(
    sun: Gear,
    planet: Gear,
    planets: int = 3,
    *,
    ring: Gear | None = None,
    held: str | None = "ring",
    width: float | None = None,
    density: float = STEEL_DENSITY,
) -> System:
    """Return a planetary gear set: sun, ring and carrier about z, with planets between them.

    Bodies sun, ring, carrier, planet_1 ...; joints sun_shaft, ring_shaft, carrier_shaft on ground, planet_1_pin ...
    on the carrier; couplings sun_mesh_1, ring_mesh_1 ... Willis: (sun - carrier) / (ring - carrier) = - ring teeth
    / sun teeth. Mobility 2, or 1 with one member held.

    Parameters
    ----------
    sun, planet : Gear
    planets : int
        Evenly spaced.
    ring : Gear
        If left out, `ring_for` the planets, with sun + 2 planet teeth.
    held : str or None
        ``"ring"``, ``"sun"`` or ``"carrier"`` stays at rest, by a drive of its shaft.
    width, density : float, m and kg/m3

    Raises
    ------
    ModelError
        If the centre distances differ, the planets cannot be assembled, or touch each other.

    Examples
    --------
    >>> import dalembert as da
    >>> s = planetary(Gear(0.002, 24), Gear(0.002, 18))
    >>> _ = s.drive("sun_shaft", speed=10.0)
    >>> print(round(float(da.simulate(s, 1.0)["carrier_shaft.speed"][-1]), 6))  # 10 / (1 + 60/24)
    2.857143
    """
    item = "planetary"
    around = ring_for(planet, sun.teeth + 2 * planet.teeth) if ring is None else ring
    inner, outer = GearPair(sun, planet), GearPair(planet, around)
    _check_set(item, inner, outer, planets)
    n = positive(item, width=10 * sun.module if width is None else width, density=density)
    s = System("planetary gears", gravity=(0.0, 0.0, 0.0))
    zs, zp, zr = sun.teeth, planet.teeth, around.teeth
    turn = math.pi * (zp - 1) / zr  # a space of the ring on the first planet's tooth
    carrier = s.body("carrier", cylinder(0.3 * n["width"], inner.centre, density=density))
    s.connect("carrier_shaft", Revolute("z"), s.ground.at(0, 0, -n["width"]), carrier)
    for name, wheel, angle in (("sun", sun, 0.0), ("ring", around, turn)):
        body = s.body(name, prism(wheel.outline(angle), n["width"], density=density))
        s.connect(f"{name}_shaft", Revolute("z"), s.ground, body)
    for k in range(1, planets + 1):
        at = 2 * math.pi * (k - 1) / planets
        angle = at + math.pi - (math.pi - zs * at) / zp
        body = s.body(f"planet_{k}", prism(planet.outline(angle), n["width"], density=density))
        x, y = inner.centre * math.cos(at), inner.centre * math.sin(at)
        s.connect(f"planet_{k}_pin", Revolute("z"), carrier.at(x, y, n["width"]), body)
        for member, sign, teeth in (("sun", 1.0, zs), ("ring", -1.0, zr)):
            mesh = CustomCoupling("s1 - s2 + ratio*s3", {"ratio": sign * zp / teeth})
            s.connect(f"{member}_mesh_{k}", mesh, f"{member}_shaft", "carrier_shaft", f"planet_{k}_pin")
    if held is not None:
        s.drive(f"{one_of(item, 'held', held, ('ring', 'sun', 'carrier'))}_shaft", position=0.0)
    return s


def _check_set(item: str, inner: GearPair, outer: GearPair, planets: int) -> None:
    whole_number(planets, item=item, field="planets")
    if abs(inner.centre - outer.centre) > 1e-6 * inner.centre:
        remedy = (
            f"from sun to planet it is {inner.centre:.6g} m, from ring to planet {outer.centre:.6g} m: teeth or shifts"
        )
        raise ModelError(item, "ring", outer.second.teeth, f"{remedy} must make them equal")
    total = inner.first.teeth + outer.second.teeth
    if total % planets:
        fit = [k for k in range(1, 13) if total % k == 0]
        remedy = f"sun and ring have {total} teeth together, which these must divide: {', '.join(map(str, fit))}"
        raise ModelError(item, "planets", planets, remedy)
    room = 2 * inner.centre * math.sin(math.pi / planets) if planets > 1 else math.inf
    if room <= 2 * inner.second.tip_radius:
        remedy = f"they touch: axes {room:.6g} m apart, tips {2 * inner.second.tip_radius:.6g} m across"
        raise ModelError(item, "planets", planets, remedy)


def differential(side: int = 16, pinion: int = 10, *, module: float = 0.004, mass: float = 1.0) -> System:
    """Return a bevel differential: left + right = 2 case. Mobility 2.

    Bodies case, left, right, all about x, and pinion, about z of the case; joints case_shaft, left_shaft, right_shaft,
    pinion_pin; couplings left_mesh, right_mesh.

    Parameters
    ----------
    side, pinion : int
        Teeth of the side gears and of the pinion between them.
    module : float, m
    mass : float, kg
        Of each body.

    Examples
    --------
    >>> import dalembert as da
    >>> da.mobility(differential()).mobility
    2
    """
    item = "differential"
    n = positive(item, side=side, pinion=pinion, module=module, mass=mass)
    radius, small = n["module"] * n["side"] / 2, n["module"] * n["pinion"] / 2
    s = System("differential")
    thick = 3 * module
    case = s.body("case", rod(2 * small, mass, "z", radius=0.15 * radius))
    left, right = (s.body(name, cylinder(thick, radius, mass, "x")) for name in ("left", "right"))
    wheel = s.body("pinion", cylinder(thick, small, mass, "z"))
    s.connect("case_shaft", Revolute("x"), s.ground, case)
    s.connect("left_shaft", Revolute("x"), s.ground.at(-small), left)
    s.connect("right_shaft", Revolute("x"), s.ground.at(small), right)
    s.connect("pinion_pin", Revolute("z"), case.at(0, 0, radius), wheel)
    for name, sign in (("left", 1.0), ("right", -1.0)):
        mesh = CustomCoupling("s1 - s2 + ratio*s3", {"ratio": sign * n["pinion"] / n["side"]})
        s.connect(f"{name}_mesh", mesh, f"{name}_shaft", "case_shaft", "pinion_pin")
    return s


@checked("planet")
def cardan_gears(
    planet: Gear | None = None, *, angle: float = 0.0, width: float | None = None, density: float = STEEL_DENSITY
) -> System:
    """Return Cardan's gears: points of the planet's pitch circle move straight in a ring of twice its teeth.

    Bodies crank, ring (fixed) and planet; joints crank_shaft about z at the origin, planet_pin; coupling mesh. The
    marker ``planet.P`` runs along x, as 2 r cos(crank), r the radius of the pitch circle. Mobility 1.

    Parameters
    ----------
    planet : Gear
        18 teeth of 2 mm if left out.
    angle : float, rad
        Of the crank at the start.
    width, density : float, m and kg/m3
    """
    wheel = Gear(0.002, 18) if planet is None else planet
    if wheel.internal or wheel.shift:
        remedy = "give an external gear without shift: its pitch circle must roll in one of twice its size"
        raise ModelError("cardan_gears", "planet", wheel, remedy)
    pair = GearPair(wheel, ring_for(wheel, 2 * wheel.teeth))
    n = positive("cardan_gears", width=10 * wheel.module if width is None else width, density=density)
    s = System("Cardan gears", gravity=(0.0, -9.81, 0.0))
    ring = s.body("ring", prism(pair.second.outline(), n["width"], density=density))
    s.connect("frame", Fixed(), s.ground, ring)
    crank = s.body("crank", rod(pair.centre, density=density, radius=wheel.module))
    moving = s.body("planet", prism(wheel.outline(), n["width"], density=density))
    moving.marker("P", wheel.pitch_radius)
    s.connect("crank_shaft", Revolute("z"), s.ground, crank)
    s.connect("planet_pin", Revolute("z"), crank.at(pair.centre), moving)
    s.connect("mesh", CustomCoupling("2*s1 + s2"), "crank_shaft", "planet_pin")
    start = finite("cardan_gears", angle=angle)["angle"]
    s.initial("crank_shaft", position=start)
    s.initial("planet_pin", position=-2 * start, guess=True)
    return s
