"""Involute gear meshes: centre distance, contact ratio, backlash, interference; racks and rings."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..checks import checked, finite_number, positive, set_fields, whole_number
from ..connections.constraints.couplings import Coupling, gear, rack_and_pinion
from ..errors import ModelError
from .gears import Gear, involute, involute_angle

__all__ = ["GearPair", "Rack", "ToothForces", "ring_for"]


class ToothForces(NamedTuple):
    """Forces on the teeth of a gear, N.

    tangential : along the working circle, positive in the direction of a positive torque about its axis
    radial : away from its axis; negative, because the mesh force separates the gears
    axial : along its axis
    normal : magnitude of the total force, along the line of action
    """

    tangential: float
    radial: float
    axial: float
    normal: float


@dataclass(frozen=True)
class GearPair:
    """Pair of gears in mesh; the second may be internal.

    Not checked: tip interference of a pinion and a ring with few more teeth, away from the line of action.

    Parameters
    ----------
    first, second : Gear
    distance : float, m
        Centre distance; default without backlash.

    Attributes
    ----------
    centre : float, m
        Distance of the axes.

    Raises
    ------
    ModelError
        If the gears do not match, cannot mesh at that distance, interfere, or have a contact ratio below 1.

    Examples
    --------
    >>> pair = GearPair(Gear(0.002, 20), Gear(0.002, 40))
    >>> round(pair.centre, 9), round(pair.contact_ratio, 3)
    (0.06, 1.635)
    """

    first: Gear
    second: Gear
    distance: float | None = None
    centre: float = field(init=False)

    def __post_init__(self) -> None:
        a, b = self.first, self.second
        for name, value in (("first", a), ("second", b)):
            if not isinstance(value, Gear):
                raise ModelError("GearPair", name, value, "give a Gear")
        if a.internal:
            raise ModelError("GearPair", "first", "an internal gear", "give the ring second")
        if abs(a.module - b.module) > 1e-9 * a.module or abs(a.pressure_angle - b.pressure_angle) > 1e-9:
            both = f"module {a.module:.6g} m and {b.module:.6g} m, pressure angle {a.pressure_angle:.6g} and"
            raise ModelError("GearPair", "second", b, f"{both} {b.pressure_angle:.6g} rad: they must be equal")
        if abs(a.helix + self._sign * b.helix) > 1e-9:
            wanted = "opposite helix angles" if self._sign > 0 else "the same helix angle"
            remedy = f"on parallel axes they need {wanted}: {-self._sign * a.helix:.6g} rad for {a.helix:.6g}"
            raise ModelError("GearPair", "second", f"a helix of {b.helix:.6g} rad", remedy)
        if self._teeth <= 0:
            raise ModelError(
                "GearPair", "second", b.teeth, f"the ring needs more teeth than the {a.teeth} of its pinion"
            )
        given = self.distance
        centre = self._tight() if given is None else finite_number(given, item="GearPair", field="distance")
        if centre <= self._base_sum:
            remedy = f"the base circles add up to {self._base_sum:.6g} m: the axes must be further apart than that"
            raise ModelError("GearPair", "distance", centre, remedy)
        set_fields(self, centre=centre)
        self._check_mesh()

    @property
    def _sign(self) -> int:
        return -1 if self.second.internal else 1

    @property
    def _teeth(self) -> int:
        return self.second.teeth + self._sign * self.first.teeth

    @property
    def _base_sum(self) -> float:
        return self.second.base_radius + self._sign * self.first.base_radius

    def _tight(self) -> float:
        """Return the centre distance without backlash, m."""
        a = self.first
        shifts = self.second.shift + self._sign * a.shift
        value = involute(a.transverse_angle) + 2 * math.tan(a.pressure_angle) * shifts / self._teeth
        if value < 0:
            remedy = f"the shifts, {a.shift:.4g} and {self.second.shift:.4g}, add up to {shifts:.4g}: too small to mesh"
            raise ModelError("GearPair", "second", self.second.shift, remedy)
        return self._base_sum / math.cos(involute_angle(value))

    def _check_mesh(self) -> None:
        a, b = self.first, self.second
        line = self.centre * math.sin(self.working_angle)
        reach = [math.sqrt(max(0.0, g.tip_radius**2 - g.base_radius**2)) for g in (a, b)]
        past = reach[1] > line * (1 + 1e-12) if not b.internal else reach[1] < line * (1 - 1e-12)
        if past or (not b.internal and reach[0] > line * (1 + 1e-12)):
            which, other = ("second", "first") if past else ("first", "second")
            remedy = (
                f"its tips meet the {other} inside its base circle (interference): more shift there, or shorter teeth"
            )
            raise ModelError("GearPair", which, getattr(self, which).teeth, remedy)
        if self.backlash < -1e-9 * a.module:
            remedy = f"the teeth overlap by {-self.backlash:.3g} m: {self._tight():.6g} m is the least"
            raise ModelError("GearPair", "distance", self.centre, remedy)
        if self.contact_ratio < 1 and not a.helix:
            remedy = f"the contact ratio is {self.contact_ratio:.4g}: contact ends before the next pair of teeth meets"
            raise ModelError("GearPair", "distance", self.centre, remedy)

    @property
    def working_angle(self) -> float:
        """Transverse working pressure angle, rad."""
        return math.acos(self._base_sum / self.centre)

    @property
    def ratio(self) -> float:
        """Angle of the second over that of the first, on fixed axes."""
        return -self._sign * self.first.teeth / self.second.teeth

    @property
    def contact_ratio(self) -> float:
        """Transverse contact ratio; see `overlap_ratio` for helical gears."""
        first, second = (math.sqrt(g.tip_radius**2 - g.base_radius**2) for g in (self.first, self.second))
        length = first + self._sign * second - self._sign * self.centre * math.sin(self.working_angle)
        return length / self.first.base_pitch

    def overlap_ratio(self, width: float) -> float:
        """Return the overlap ratio of a helix over a width, m: width sin(beta) / (pi module)."""
        width = positive("GearPair", width=width)["width"]
        return width * abs(math.sin(self.first.helix)) / (math.pi * self.first.module)

    def total_contact_ratio(self, width: float) -> float:
        """Return the total contact ratio over a width, m."""
        return self.contact_ratio + self.overlap_ratio(width)

    def forces(self, torque: float) -> ToothForces:
        """Return the tooth forces of the second gear on the first, which a torque (N m) drives about +z.

        Friction is neglected. The axis of the first gear is z. The axis of the second is in the direction +x from it,
        that of a ring in the direction -x, as in `spur_gears`.

        Examples
        --------
        >>> pair = GearPair(Gear(0.002, 20, helix=0.3), Gear(0.002, 40, helix=-0.3))
        >>> print(" ".join(f"{force:.1f}" for force in pair.forces(10.0)))
        -477.7 -182.0 147.8 532.1
        """
        torque = finite_number(torque, item="GearPair", field="torque")
        a = self.first
        radius = a.base_radius / math.cos(self.working_angle)
        tangential = torque / radius
        inclined = math.tan(a.helix) * radius / a.pitch_radius  # tan of the helix angle on the working cylinder
        radial, axial = abs(tangential) * math.tan(self.working_angle), tangential * inclined
        size = math.hypot(tangential, radial, axial)
        return ToothForces(-tangential, -radial, axial, size)

    @property
    def backlash(self) -> float:
        """Backlash along the working circles, m."""
        first, second = (g.base_radius / math.cos(self.working_angle) for g in (self.first, self.second))
        pitch = 2 * math.pi * first / self.first.teeth
        if self.second.internal:
            return self.second.thickness(second) - self.first.thickness(first)
        return pitch - self.first.thickness(first) - self.second.thickness(second)

    @property
    def coupling(self) -> Coupling:
        """Coupling element for the two joints."""
        return gear(self.first.teeth, self.second.teeth, internal=self.second.internal)


@dataclass(frozen=True)
class Rack:
    """Rack and pinion.

    Parameters
    ----------
    pinion : Gear
        The rack has the module, the pressure angle and the addendum of the pinion.

    Examples
    --------
    >>> round(Rack(Gear(0.002, 20)).contact_ratio, 3)
    1.769
    """

    pinion: Gear

    def __post_init__(self) -> None:
        if not isinstance(self.pinion, Gear) or self.pinion.internal:
            raise ModelError("Rack", "pinion", self.pinion, "give an external Gear")

    @property
    def distance(self) -> float:
        """Distance from the axis of the pinion to the pitch line of the rack, m."""
        return self.pinion.pitch_radius + self.pinion.shift * self.pinion.module

    @property
    def contact_ratio(self) -> float:
        """Contact ratio."""
        g = self.pinion
        over = math.sqrt(g.tip_radius**2 - g.base_radius**2) - g.base_radius * math.tan(g.transverse_angle)
        under = g.module * (g.addendum - g.shift) / math.sin(g.transverse_angle)
        return (over + under) / g.base_pitch

    @property
    def coupling(self) -> Coupling:
        """Coupling of the pinion's angle and the rack's displacement."""
        return rack_and_pinion(self.pinion.pitch_radius)

    def outline(self, teeth: int) -> Array:
        """Return the outline (k, 2) m of a rack with teeth up, a space in the middle of its pitch line, y = 0."""
        g, count = self.pinion, int(teeth)
        if count < 1:
            raise ModelError("Rack", "teeth", teeth, "give one or more")
        pitch, slope = math.pi * g.transverse_module, math.tan(g.transverse_angle)
        up, down = g.addendum * g.module, g.dedendum * g.module
        corners = [(-pitch / 4 - slope * down, -down), (-pitch / 4 + slope * up, up)]
        corners += [(-x, y) for x, y in corners[::-1]]
        centres = (np.arange(count) - (count - 1) / 2) * pitch + (0.0 if count % 2 == 0 else pitch / 2)
        profile = np.array([(c + x, y) for c in centres for x, y in corners])
        foot = -down - 2 * g.module
        ends = [(centres[0] - pitch / 2, -down), (centres[-1] + pitch / 2, -down)]
        below = [(ends[1][0], foot), (ends[0][0], foot)]
        return np.concatenate([[ends[0]], profile, [ends[1]], below])[::-1]


@checked("teeth")
def ring_for(pinion: Gear, teeth: int) -> Gear:
    """Return the internal gear without shift for a pinion, with the largest addendum up to the pinion's.

    The tips of a ring must not touch a pinion inside its base circle: for small pinions the addendum is reduced.

    Examples
    --------
    >>> print(round(ring_for(Gear(0.002, 18), 60).addendum, 4))
    0.9086
    """
    if not isinstance(pinion, Gear) or pinion.internal:
        raise ModelError("ring_for", "pinion", pinion, "give an external Gear")
    remedy = f"give a whole number above the {pinion.teeth} of the pinion"
    whole_number(teeth, item="ring_for", field="teeth", least=pinion.teeth + 1, remedy=remedy)
    m, radius = pinion.module, pinion.transverse_module * teeth / 2
    base = radius * math.cos(pinion.transverse_angle)
    turned = 2 * math.tan(pinion.pressure_angle) * pinion.shift / (teeth - pinion.teeth)
    value = involute(pinion.transverse_angle) - turned
    if value < 0:
        raise ModelError("ring_for", "pinion", pinion.shift, "its shift is too large for a ring without shift")
    working = involute_angle(value)
    shortest = (base - pinion.base_radius) * math.tan(working)  # to where the line of action touches the base circle
    room = (radius - math.hypot(base, shortest)) / m
    height = min(pinion.addendum, room * (1 - 1e-12))
    return Gear(
        m,
        teeth,
        pinion.pressure_angle,
        addendum=height,
        dedendum=pinion.dedendum,
        internal=True,
        helix=pinion.helix,
    )
