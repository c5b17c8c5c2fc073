"""Involute gears: dimensions and outline.

Lengths in m, angles in rad. All gears are cut by one basic rack: the module and pressure angle of a pair must be equal.
Helical teeth are cut by this rack at the helix angle beta, so that its module and pressure angle are those of the
normal section; in the transverse section they are

    m_t = m / cos(beta)        tan(alpha_t) = tan(alpha) / cos(beta)                                                 (1)

Niemann and Winter, Maschinenelemente 2, chapters 21 and 22; ISO 21771.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..checks import LARGEST_SIZE, checked, positive, set_finite, whole_number
from ..errors import ModelError

__all__ = ["Gear", "involute", "involute_angle"]


N_FLANK_POINTS = 9  # points on the flank of a tooth


@checked("angle", largest=LARGEST_SIZE)
def involute(angle: float) -> float:
    """Return the involute function tan(angle) - angle."""
    return math.tan(angle) - angle


@checked("value", largest=LARGEST_SIZE)
def involute_angle(value: float) -> float:
    """Return the angle between 0 and pi/2 with a given involute function, 0 or more, by Newton's method."""
    if not value >= 0:
        raise ModelError("involute_angle", "value", value, "the involute function of a pressure angle is not negative")
    angle = min(math.cbrt(3 * value), 1.5)
    for _ in range(60):
        step = (involute(angle) - value) / max(math.tan(angle) ** 2, 1e-300)
        angle = min(max(angle - step, angle / 3), (angle + math.pi / 2) / 2)
        if abs(step) < 1e-15:
            break
    return angle


@dataclass(frozen=True)
class Gear:
    """Spur or helical gear with involute teeth, external or internal.

    Parameters
    ----------
    module : float, m
        Module of the basic rack; for spur gears the pitch diameter over the number of teeth, for helical gears see (1).
    teeth : int
    pressure_angle : float, rad
        Pressure angle of the basic rack.
    shift : float
        Profile shift in modules; positive away from the axis, for internal gears too.
    addendum, dedendum : float
        Height of the tooth above and below the pitch circle without shift, in modules.
    internal : bool
        Teeth on the inside of a ring.
    undercut : bool
        Allow teeth that the basic rack would undercut. Dimensions are then those without the undercut.
    helix : float, rad
        Helix angle of the teeth on the pitch cylinder; positive for a right-handed helix. Two external gears in mesh
        have opposite helix angles, a ring has that of its pinion.

    Raises
    ------
    ModelError
        If the teeth would be undercut (with the least number of teeth, and the least shift) or pointed, or if those of
        a ring extend inside its base circle.

    Examples
    --------
    >>> wheel = Gear(0.002, 20)
    >>> round(wheel.pitch_radius, 6), round(wheel.tip_radius, 6), round(wheel.root_radius, 6)
    (0.02, 0.022, 0.0175)
    >>> inclined = Gear(0.002, 20, helix=math.radians(15))
    >>> round(inclined.transverse_module, 6), round(math.degrees(inclined.transverse_angle), 4)
    (0.002071, 20.6469)
    """

    module: float
    teeth: int
    pressure_angle: float = math.radians(20)
    shift: float = 0.0
    addendum: float = 1.0
    dedendum: float = 1.25
    internal: bool = False
    undercut: bool = False
    helix: float = 0.0

    def __post_init__(self) -> None:
        set_finite(self, "module", "pressure_angle", "shift", "addendum", "dedendum", "helix", item="Gear")
        whole_number(self.teeth, item="Gear", field="teeth", least=3)
        positive("Gear", module=self.module, addendum=self.addendum, dedendum=self.dedendum)
        if not 0 < self.pressure_angle < math.radians(45):
            raise ModelError("Gear", "pressure_angle", self.pressure_angle, "give 0 to 45 degrees, in rad: 0.349 is 20")
        if not abs(self.helix) < math.radians(60):
            raise ModelError("Gear", "helix", self.helix, "give less than 60 degrees, in rad: 0.349 is 20")
        if self.internal:
            self._check_ring()
        else:
            self._check_teeth()

    def _check_teeth(self) -> None:
        if self.shift < self.least_shift - 1e-12 and not self.undercut:
            fewest, least = math.ceil(self.fewest_teeth - 1e-9), self.least_shift
            remedy = f"undercut: give {fewest} teeth or more, a shift of {least:.4g} or more, or allow it"
            raise ModelError("Gear", "teeth", self.teeth, f"{remedy} with undercut=True")
        if self.root_radius <= 0:
            raise ModelError("Gear", "dedendum", self.dedendum, "the roots would lie beyond the axis")
        if self.tip_radius <= self.base_radius or self.thickness(self.tip_radius) <= 0:
            top = f"{self.thickness(self.tip_radius) / self.module:.3g} modules thick at the tip"
            raise ModelError("Gear", "shift", self.shift, f"the teeth are pointed ({top}): give less shift or addendum")

    def _check_ring(self) -> None:
        if self.tip_radius < self.base_radius:
            remedy = (
                f"the teeth of the ring extend inside its base circle ({self.tip_radius:.6g} m < "
                f"{self.base_radius:.6g} m), where there is no involute: give more teeth, more shift or less addendum"
            )
            raise ModelError("Gear", "teeth", self.teeth, remedy)

    @property
    def pitch_radius(self) -> float:
        """Radius of the pitch circle, m."""
        return self.transverse_module * self.teeth / 2

    @property
    def transverse_module(self) -> float:
        """Transverse module, m: pitch diameter over number of teeth."""
        return self.module / math.cos(self.helix)

    @property
    def transverse_angle(self) -> float:
        """Transverse pressure angle, rad."""
        return math.atan(math.tan(self.pressure_angle) / math.cos(self.helix))

    @property
    def base_helix(self) -> float:
        """Helix angle on the base cylinder, rad."""
        return math.asin(math.sin(self.helix) * math.cos(self.pressure_angle))

    @property
    def lead(self) -> float:
        """Lead, m: advance of the helix along the axis per revolution; infinite for spur gears."""
        return 2 * math.pi * self.pitch_radius / math.tan(self.helix) if self.helix else math.inf

    @property
    def virtual_teeth(self) -> float:
        """Virtual number of teeth in the normal section."""
        return self.teeth / (math.cos(self.base_helix) ** 2 * math.cos(self.helix))

    @property
    def base_radius(self) -> float:
        """Radius of the base circle, m."""
        return self.pitch_radius * math.cos(self.transverse_angle)

    @property
    def tip_radius(self) -> float:
        """Radius of the tips, m."""
        height = self.shift - self.addendum if self.internal else self.addendum + self.shift
        return self.pitch_radius + self.module * height

    @property
    def root_radius(self) -> float:
        """Radius of the roots, m."""
        depth = self.dedendum + self.shift if self.internal else self.shift - self.dedendum
        return self.pitch_radius + self.module * depth

    @property
    def base_pitch(self) -> float:
        """Transverse base pitch, m: distance of teeth along the line of action."""
        return math.pi * self.transverse_module * math.cos(self.transverse_angle)

    @property
    def fewest_teeth(self) -> float:
        """Number of teeth below which this shift is undercut."""
        return 2 * (self.addendum - self.shift) * math.cos(self.helix) / math.sin(self.transverse_angle) ** 2

    @property
    def least_shift(self) -> float:
        """Shift below which these teeth are undercut, in modules."""
        return self.addendum - self.teeth * math.sin(self.transverse_angle) ** 2 / (2 * math.cos(self.helix))

    def thickness(self, radius: float) -> float:
        """Return the thickness of a tooth along a circle, m; of an internal gear, the width of the space."""
        return 2 * radius * self._half_angle(radius)

    def _half_angle(self, radius: float) -> float:
        at = math.acos(min(1.0, self.base_radius / radius))
        pitch = self.transverse_module * (math.pi / 2 + 2 * self.shift * math.tan(self.pressure_angle))
        return pitch / (2 * self.pitch_radius) + involute(self.transverse_angle) - involute(at)

    def outline(self, phase: float = 0.0, *, rim: float = 2.0) -> Array:
        """Return the outline (k, 2) m, for `prism`: a tooth (of a ring: a space) at the angle `phase`.

        The outline is that of the transverse section. Roots are drawn without fillets, and radially below the base
        circle. A ring is `rim` modules thick outside its teeth.
        """
        low, high = (self.tip_radius, self.root_radius) if self.internal else (self.root_radius, self.tip_radius)
        radii = np.linspace(max(low, self.base_radius), high, N_FLANK_POINTS)
        half = np.array([self._half_angle(float(r)) for r in radii])
        if low < radii[0]:
            radii, half = np.concatenate([[low], radii]), np.concatenate([half[:1], half])
        r = np.concatenate([radii, radii[::-1]])
        a = np.concatenate([-half, half[::-1]])
        angles = (a + 2 * math.pi / self.teeth * np.arange(self.teeth)[:, None]).ravel() + phase
        teeth = np.column_stack([np.cos(angles), np.sin(angles)]) * np.tile(r, self.teeth)[:, None]
        if not self.internal:
            return np.asarray(teeth)
        around = angles[0] + np.linspace(0, 2 * math.pi, 8 * self.teeth + 1)
        rim_radius = self.root_radius + rim * self.module
        outer = rim_radius * np.column_stack([np.cos(around), np.sin(around)])
        return np.asarray(np.concatenate([outer, teeth[:1], teeth[::-1]]))
