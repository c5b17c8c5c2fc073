"""What leads a mechanism: coordinates that are known, frames, and wheels on their tracks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import one_of, positive
from ..errors import ModelError
from .drivers import KnownCoordinates, attitude_driver, law_driver
from .equations import AXES, NaturalEquations, SpeedRows
from .joints import Joints
from .moving_tracks import MovingTrackPlaneWheel, MovingTrackSpaceWheel, TrackBody
from .terms import Direction, Row, dot, linear
from .tracks import Circle
from .wheels import PlaneWheel, RodWheel, SpaceWheel

__all__ = ["Drives"]

AnyWheel = PlaneWheel | RodWheel | SpaceWheel | MovingTrackPlaneWheel | MovingTrackSpaceWheel

Array = NDArray[np.float64]


class Drives(Joints):
    """What a `Mechanism` can be told about drives and wheels."""

    drivers: list[KnownCoordinates]
    rows: list[Row]
    speed_rows: list[SpeedRows]
    _made: NaturalEquations | None

    def body(self, name: str, points: Any, vectors: Any = ()) -> None:
        """Keep points and vectors together as a rigid body."""
        raise NotImplementedError

    def _leave_out(self, names: set[str]) -> None:
        raise NotImplementedError

    # -- drives

    def drive(self, name: str, law: Any, *, by: str = "known") -> None:
        """Prescribe a coordinate: an angle, a distance, a component such as ``"1.x"``, a point or a vector.

        Parameters
        ----------
        name : str
        law : number, callable of t (s), law; of a point or vector one for each component
        by : str
            ``"known"``: the coordinate is no unknown any more. ``"row"``: it stays one, and an equation is added. Both
            give the same motion.
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
        taken = {place for driver in self.drivers for place in driver.places}
        for k in places:
            if (owner, k) in taken:
                raise ModelError(item, "law", law, f"{self._label(owner, k)!r} is driven already: drive it once")
        if self.coordinates[owner].fixed and self.coordinates[owner].kind != "distance":
            raise ModelError(item, "law", law, f"{owner!r} is fixed: describe it without fixed=True")
        if by == "row":
            self._led_by_rows(owner, places, laws, item)
            return
        self.coordinates[owner].fixed = False
        self.drivers += [law_driver(owner, (one,), (k,), item=item) for one, k in zip(laws, places, strict=True)]
        self._made = None

    def let_all_go(self) -> None:
        """Take back all drives."""
        led = {name for driver in self.drivers for name, _ in driver.places if name.endswith(" (t)")}
        frames = {name for driver in self.drivers if len(driver.places) > 1 for name, _ in driver.places}
        self.drivers = []
        for name in led | frames:
            del self.coordinates[name]
        self._leave_out({row.name for row in self.rows if row.coordinates() & (led | frames)})
        self._made = None

    def let_go(self, name: str) -> None:
        """Take back the drive of an angle, a distance or a component; nothing happens where there is none."""
        owner, k = self._scalar(name, f"drive {name!r}")
        led = f"{self._label(owner, k)} (t)"
        places = {(owner, k), (led, 0)}
        for driver in self.drivers:
            if places & set(driver.places) and len(driver.places) > 1:
                raise ModelError(f"drive {name!r}", "law", name, "a frame leads it as a whole: leave that out")
        self.drivers = [driver for driver in self.drivers if not places & set(driver.places)]
        if led in self.coordinates:
            del self.coordinates[led]
            self._leave_out({row.name for row in self.rows if led in row.coordinates()})
        self._made = None

    def _label(self, owner: str, component: int) -> str:
        return self.coordinates[owner].names[component]

    def _led_by_rows(self, owner: str, places: tuple[int, ...], laws: tuple[Any, ...], item: str) -> None:
        kind = "distance" if self.coordinates[owner].power else "angle"
        for k, law in zip(places, laws, strict=True):
            led = f"{self._label(owner, k)} (t)"
            self._new(led, kind, self.coordinates[owner].value[k : k + 1].copy())
            self.drivers.append(law_driver(led, (law,), (0,), item=item))
            terms = (*linear(owner, k, 1.0), *linear(led, 0, -1.0))
            self._add([Row(f"drive of {self._label(owner, k)}", terms, self.coordinates[owner].power)])

    def drive_frame(
        self, name: str, point: str, vectors: tuple[str, str], *, position: Sequence[Any], angles: Sequence[Any]
    ) -> None:
        """Lead a body in space by six rows: three of a point, three of two perpendicular vectors.

        Parameters
        ----------
        name : str
        point : str
        vectors : pair of str
            Perpendicular; the first is to be the x axis, the second the y axis of the frame.
        position : 3 laws, m
        angles : 3 laws, rad
            Roll, pitch and yaw: the frame is Rz(yaw) Ry(pitch) Rx(roll).

        The rows are r - r(t) = 0, v_d . u = w_d . u = w_d . v = 0 with the led frame u_d, v_d, w_d. They hold as well
        for a body turned by half a turn about one of its axes, which a guess nearby excludes.
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
        driver = attitude_driver((led[0], led[1], led[2]), (angles[0], angles[1], angles[2]), item=item)
        axes = driver.motion((0.0,), False)[0, 0].reshape(3, 3)
        for each, column in zip(led, axes, strict=True):
            self._new(each, "vector", column)
        self.drivers.append(driver)
        y, z = Direction.along(led[1]), Direction.along(led[2])
        pairs = (("y . u", y, u), ("z . u", z, u), ("z . v", z, v))
        self._add([Row(f"{name}: {label}", tuple(dot(a, b, 3)), 0) for label, a, b in pairs])

    # -- wheels

    def wheel(
        self,
        name: str,
        centre: str,
        rim: str,
        track: Any,
        *,
        radius: float,
        axis: str | None = None,
        rolling: bool = True,
        on: str | None = None,
    ) -> AnyWheel:
        """Let a wheel run on a track: it touches, and rolls, or slides.

        Parameters
        ----------
        name : str
            Of the wheel, which becomes a body.
        centre, rim : str
            Its centre, and a point fixed in it: on its rim, or not.
        track : Line, Circle, Curve, or pair of points; in space Plane, Cylinder, Sphere, Surface
            Two points are a rod that may move; the wheel is on the side where it was described.
        radius : float, m
        axis : str
            In space, a vector perpendicular to the wheel.
        rolling : bool
            Without it the wheel slides: which of the two happens is decided by friction, not by kinematics.

        on : str
            A body that carries the track along, which is described in the frame in which the body's points were given:
            by positions described, that of these.

        Rolling binds speeds only; how far a wheel has turned follows from the way it took (`motion` integrates).
        """
        item = f"wheel {name!r}"
        r = positive(item, radius=radius)["radius"]
        O, A = self._point(centre, item), self._point(rim, item)  # noqa: E741
        values = self._values()
        if (axis is None) == (self.dimension == 3):
            raise ModelError(item, "axis", axis, "in space name a vector, in the plane none")
        made: AnyWheel
        carrier = self._carrier(on, track, item)
        if axis is not None:
            self._direction(axis, item)
            if abs(float((values[A] - values[O]) @ values[axis])) > 1e-9 * r:
                raise ModelError(item, "axis", axis, f"it has to be perpendicular to the way from {O!r} to {A!r}")
            if not hasattr(track, "gradient"):
                raise ModelError(item, "track", track, "in space use Plane, Cylinder, Sphere or Surface")
            self.body(name, [O, A], [axis])
            if carrier is None:
                made = SpaceWheel(name, (O, A, axis), track, r, rolling)
            else:
                made = MovingTrackSpaceWheel(name, (O, A, axis, *carrier.names), track, r, rolling, carrier)
        elif isinstance(track, (tuple, list)):
            way = self._direction((track[0], track[1]), item).value(values)
            beside = values[O] - values[track[0]]
            side = 1.0 if float(way[0] * beside[1] - way[1] * beside[0]) >= 0.0 else -1.0
            self.body(name, [O, A])
            made = RodWheel(name, (O, A, track[0], track[1]), r, side, rolling)
        else:
            if not hasattr(track, "foot"):
                raise ModelError(item, "track", track, "in the plane use Line, Circle, Curve, or a pair of points")
            if isinstance(track, Circle) and track.inside and not track.radius > r:
                raise ModelError(
                    item, "radius", r, f"it has to be below that of the track it is in, {track.radius:.6g}"
                )
            self.body(name, [O, A])
            if carrier is None:
                made = PlaneWheel(name, (O, A), track, r, rolling)
            else:
                made = MovingTrackPlaneWheel(name, (O, A, *carrier.names), track, r, rolling, carrier)
        self._demand(name, (self.dimension if rolling else 1))
        self.speed_rows.append(made)
        self._made = None
        return made

    def _carrier(self, on: str | None, track: Any, item: str) -> TrackBody | None:
        """Return the body that carries a track, or None."""
        if on is None:
            return None
        if on not in self.bodies:
            raise ModelError(item, "on", on, "name a body of the mechanism, described before")
        if isinstance(track, (tuple, list)):
            raise ModelError(item, "on", on, "two points of a rod move by themselves: leave it out")
        carrier = TrackBody(self.bodies[on])
        carrier.check(item)
        return carrier
