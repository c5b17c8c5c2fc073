"""Drives of a mechanism in natural coordinates: coordinates and frames that follow laws of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import one_of
from ..connections.laws import Law, as_law, third_rate
from ..errors import ModelError
from ..numerics.taylor_series import from_derivatives, times, to_derivatives, turning
from .equations import AXES, KnownCoordinates
from .terms import Direction, Row, dot, linear
from .wheels import Wheels

__all__ = ["Drives"]


DRIVEN = " (t)"  # ending of the name of a coordinate that follows a law and leads another one by a row


@dataclass(frozen=True, eq=False)
class _LawValues:
    """Values and three rates of laws, one for each coordinate."""

    laws: tuple[Law, ...]

    def __call__(self, at: Sequence[float], third: bool) -> Array:
        rows = [[(*law(t), third_rate(law, t) if third else 0.0) for law in self.laws] for t in at]
        return np.array(rows).transpose(0, 2, 1)


@dataclass(frozen=True, eq=False)
class _FrameAxes:
    """Components of the axes of Rz(yaw) Ry(pitch) Rx(roll), and three rates of them."""

    angles: tuple[Law, Law, Law]  # roll, pitch, yaw

    def __call__(self, at: Sequence[float], third: bool) -> Array:
        return np.array([self._at(t) for t in at])

    def _at(self, t: float) -> Array:
        laws = np.array([[*law(t), third_rate(law, t)] for law in self.angles]).T
        turns = turning(from_derivatives(laws))
        (cr, cp, cy), (sr, sp, sy) = turns.real.T, turns.imag.T
        cysp, sysp = times(cy, sp), times(sy, sp)
        columns = (
            (times(cy, cp), times(sy, cp), -sp),
            (times(cysp, sr) - times(sy, cr), times(sysp, sr) + times(cy, cr), times(cp, sr)),
            (times(cysp, cr) + times(sy, sr), times(sysp, cr) - times(cy, sr), times(cp, cr)),
        )
        return to_derivatives(np.array([component for column in columns for component in column]).T)


def _law_drive(name: str, law: Any, component: int, *, item: str) -> KnownCoordinates:
    """Return a component of a coordinate that follows a law."""
    return KnownCoordinates(((name, component),), _LawValues((as_law(law, item=item, field=f"law of {name!r}"),)))


class Drives(Wheels):
    """Drives of a `Mechanism`."""

    drivers: list[KnownCoordinates]
    rows: list[Row]

    def _leave_out(self, names: set[str]) -> None:
        raise NotImplementedError

    def drive(self, name: str, law: Any, *, by: str = "known") -> None:
        """Prescribe a coordinate: an angle, a distance, a component such as ``"1.x"``, a point or a vector.

        Parameters
        ----------
        name : str
        law : number, callable of t (s), law; of a point or vector one for each component
        by : str
            ``"known"``: the coordinate is removed from the unknowns. ``"row"``: it stays an unknown, and an equation is
            added. Both give the same motion.
        """
        item = f"drive {name!r}"
        one_of(item, "by", by, ("known", "row"))
        whole = self.coordinates.get(name)
        if whole is not None and len(whole.value) > 1:
            laws = tuple(law) if isinstance(law, (tuple, list)) else (law,)
            if len(laws) != len(whole.value):
                raise ModelError(item, "law", law, f"give {len(whole.value)} laws, one for each component")
            owner, places = name, tuple(range(len(whole.value)))
        else:
            owner, component = self._scalar(name, item)
            laws, places = (law,), (component,)
        taken = {place for driver in self.drivers for place in driver.components}
        for k in places:
            if (owner, k) in taken:
                raise ModelError(item, "law", law, f"{self._label(owner, k)!r} is driven already: drive it once")
        if self.coordinates[owner].fixed and self.coordinates[owner].kind != "distance":
            raise ModelError(item, "law", law, f"{owner!r} is fixed: describe it without fixed=True")
        if by == "row":
            self._add_driving_rows(owner, places, laws, item)
            return
        self.coordinates[owner].fixed = False
        self.drivers += [_law_drive(owner, one, k, item=item) for one, k in zip(laws, places, strict=True)]
        self._made = None

    def remove_drives(self) -> None:
        """Remove all drives."""
        led = {name for driver in self.drivers for name, _ in driver.components if name.endswith(DRIVEN)}
        frames = {name for driver in self.drivers if len(driver.components) > 1 for name, _ in driver.components}
        self.drivers = []
        for name in led | frames:
            del self.coordinates[name]
        self._leave_out({row.name for row in self.rows if row.coordinates() & (led | frames)})
        self._made = None

    def remove_drive(self, name: str) -> None:
        """Remove the drive of an angle, a distance or a component, if there is one."""
        owner, k = self._scalar(name, f"drive {name!r}")
        led = self._label(owner, k) + DRIVEN
        places = {(owner, k), (led, 0)}
        for driver in self.drivers:
            if places & set(driver.components) and len(driver.components) > 1:
                raise ModelError(f"drive {name!r}", "law", name, "drive_frame drives it as a whole: leave that out")
        self.drivers = [driver for driver in self.drivers if not places & set(driver.components)]
        if led in self.coordinates:
            del self.coordinates[led]
            self._leave_out({row.name for row in self.rows if led in row.coordinates()})
        self._made = None

    def _label(self, owner: str, component: int) -> str:
        return self.coordinates[owner].names[component]

    def _add_driving_rows(self, owner: str, places: tuple[int, ...], laws: tuple[Any, ...], item: str) -> None:
        kind = "distance" if self.coordinates[owner].power else "angle"
        for k, law in zip(places, laws, strict=True):
            led = self._label(owner, k) + DRIVEN
            self._new(led, kind, self.coordinates[owner].value[k : k + 1].copy())
            self.drivers.append(_law_drive(led, law, 0, item=item))
            terms = (*linear(owner, k, 1.0), *linear(led, 0, -1.0))
            self._add([Row(f"drive of {self._label(owner, k)}", terms, self.coordinates[owner].power)])

    def drive_frame(
        self, name: str, point: str, vectors: tuple[str, str], *, position: Sequence[Any], angles: Sequence[Any]
    ) -> None:
        """Drive a body in space by six rows: three for a point, three for two perpendicular vectors.

        Parameters
        ----------
        name : str
        point : str
        vectors : pair of str
            Perpendicular; the first is to be the x axis, the second the y axis of the frame.
        position : 3 laws, m
        angles : 3 laws, rad
            Roll, pitch and yaw: the frame is Rz(yaw) Ry(pitch) Rx(roll).

        Notes
        -----
        The rows are r - r(t) = 0, v_d . u = w_d . u = w_d . v = 0 with the driven frame u_d, v_d, w_d. They hold as
        well for a body turned by 180 degrees about one of its axes, which a guess nearby excludes.
        """
        item = f"drive_frame {name!r}"
        if self.dimension != 3:
            raise ModelError(item, "dimension", 2, "in the plane drive a point and an angle")
        u, v = (self._direction(each, item) for each in vectors)
        values = self._values()
        if abs(float(u.value(values) @ v.value(values))) > 1e-9:
            raise ModelError(item, "vectors", vectors, "they have to be perpendicular")
        self.drive(self._point(point, item), tuple(position), by="row")
        led = tuple(f"{name}.{axis}" for axis in AXES)
        roll, pitch, yaw = (as_law(law, item=item, field="angle") for law in angles)
        driver = KnownCoordinates(
            tuple((vector, k) for vector in led for k in range(3)), _FrameAxes((roll, pitch, yaw))
        )
        axes = driver.motion((0.0,), False)[0, 0].reshape(3, 3)
        for each, column in zip(led, axes, strict=True):
            self._new(each, "vector", column)
        self.drivers.append(driver)
        y, z = Direction.along(led[1]), Direction.along(led[2])
        pairs = (("y . u", y, u), ("z . u", z, u), ("z . v", z, v))
        self._add([Row(f"{name}: {label}", tuple(dot(a, b, 3)), 0) for label, a, b in pairs])
