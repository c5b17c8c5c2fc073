"""Encoders, inertial measurement units and force-torque sensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..bodies.markers import Marker
from ..checks import checked, did_you_mean, finite_number, one_of
from ..errors import ModelError
from ..model import Model
from ..model.argument_errors import checked_marker
from .sampling import SampledSensor, SensorErrors
from .sources import Source

__all__ = ["IMU", "Encoder", "ForceTorqueSensor", "checked_errors", "marker_frame"]


def checked_errors(item: str, errors: Any, name: str = "errors") -> SensorErrors:
    """Return the errors of a sensor, or raise an error."""
    if not isinstance(errors, SensorErrors):
        raise ModelError(item, name, errors, "give da.SensorErrors(...)")
    return errors


def marker_frame(item: str, model: Model, marker: Any) -> Marker:
    """Return a marker of a model's system from any form that a user gave."""
    return checked_marker(model, item, marker)


@checked("joint", "counts", "quantity", "errors")
@dataclass(frozen=True, eq=False)
class Encoder(SampledSensor):
    """Encoder or tachometer of a joint coordinate.

    Parameters
    ----------
    joint : str
        Joint, or coordinate of a joint: ``"A"``, ``"A.angle"``.
    counts : float
        Counts per revolution of an angle: the resolution is 2 pi/counts, half a count to either side. For a slide give
        the resolution of `errors`.
    quantity : str
        ``"position"``, rad or m, or ``"speed"``, rad/s or m/s.
    errors : SensorErrors

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("wheel", gravity=(0, 0, 0))
    >>> _ = s.connect("A", da.Revolute("z"), s.ground, s.body("wheel", da.cylinder(0.02, 0.1, mass=1.0)))
    >>> s.initial("A", speed=1.0)
    >>> encoder = da.Encoder("A", counts=1024, errors=da.SensorErrors(period=0.01, delay=0.002))
    >>> data = encoder.measure(da.simulate(s, 1.0))
    >>> len(data.t), bool(abs(data.values - data.true).max() <= 3.1415926536 / 1024)
    (101, True)
    """

    joint: str
    counts: float | None = None
    quantity: str = "position"
    errors: SensorErrors = field(default_factory=SensorErrors)

    def __post_init__(self) -> None:
        item = "Encoder"
        if not isinstance(self.joint, str) or not self.joint.strip():
            raise ModelError(item, "joint", self.joint, "give the name of a joint or of a coordinate")
        one_of(item, "quantity", self.quantity, ("position", "speed"))
        checked_errors(item, self.errors)
        if self.counts is None:
            return
        if finite_number(self.counts, item=item, field="counts") <= 0:
            raise ModelError(item, "counts", self.counts, "give counts per revolution, above zero")
        if self.quantity == "speed":
            raise ModelError(
                item, "counts", self.counts, "a velocity has none; give errors=SensorErrors(resolution=...)"
            )
        if np.any(self.errors.resolution):
            raise ModelError(item, "counts", self.counts, "the errors have a resolution already: give one of both")

    @property
    def channel_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Name of the channel."""
        return (f"{self.joint}.{self.quantity}",)

    @property
    def channel_units(self) -> tuple[str, ...]:  # type: ignore[override]
        """Unit of the channel."""
        return ("rad or m" if self.quantity == "position" else "rad/s or m/s",)

    def blocks(self) -> Sequence[tuple[SensorErrors, int]]:
        """Return the errors, with the resolution of the counts."""
        errors = self.errors
        if self.counts is not None:
            errors = replace(errors, resolution=2 * math.pi / self.counts)
        return [(errors, 1)]

    def true_values(self, source: Source) -> Array:
        """Return coordinate or velocity (n, 1)."""
        model, position = source.model, self.quantity == "position"
        names = model.coordinate_names if position else model.speed_names
        if self.joint not in names:
            known = did_you_mean(self.joint, names) or f"there are {', '.join(map(repr, names))}"
            raise ModelError("Encoder", "joint", self.joint, f"no coordinate has that name; {known}")
        at = names.index(self.joint)
        if self.counts is not None and model.coordinate_kinds[at] != "angle":
            remedy = f"{self.joint!r} is no angle: give errors=SensorErrors(resolution=...), m"
            raise ModelError("Encoder", "counts", self.counts, remedy)
        return (source.q if position else source.v)[:, at, None]


@checked("gyroscope", "accelerometer")
@dataclass(frozen=True, eq=False)
class IMU(SampledSensor):
    """Inertial measurement unit: angular velocity and specific force in the axes of a marker.

    Parameters
    ----------
    marker : Marker, Body or str
        Its origin and axes.
    gyroscope, accelerometer : SensorErrors
        Errors in rad/s and m/s^2; with equal periods and delays.

    The specific force is R^T (a - g), with the acceleration a of the marker's origin and the gravity g of the system:
    at rest it is 9.81 m/s^2 upwards.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> rod = s.body("rod", da.rod(length=1.0, mass=1.0))
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, rod)
    >>> data = da.IMU(rod).measure(da.simulate(s, 0.1))
    >>> data.true[0].round(6)[3:]  # the origin is at rest
    array([0.  , 0.  , 9.81])
    """

    marker: Any
    gyroscope: SensorErrors = field(default_factory=SensorErrors)
    accelerometer: SensorErrors = field(default_factory=SensorErrors)
    channel_names = ("wx", "wy", "wz", "fx", "fy", "fz")
    channel_units = ("rad/s",) * 3 + ("m/s^2",) * 3

    def __post_init__(self) -> None:
        gyroscope = checked_errors("IMU", self.gyroscope, "gyroscope")
        accelerometer = checked_errors("IMU", self.accelerometer, "accelerometer")
        for name in ("period", "delay"):
            if getattr(gyroscope, name) != getattr(accelerometer, name):
                raise ModelError(
                    "IMU", f"{name} of the accelerometer", getattr(accelerometer, name), "give the gyroscope's"
                )

    def blocks(self) -> Sequence[tuple[SensorErrors, int]]:
        """Return the errors of both; with equal seeds their noise differs all the same."""
        accelerometer = replace(self.accelerometer, seed=int(self.accelerometer.seed) + (1 << 40))
        return [(self.gyroscope, 3), (accelerometer, 3)]

    def true_values(self, source: Source) -> Array:
        """Return angular velocity and specific force (n, 6)."""
        model = source.model
        marker = marker_frame("IMU", model, self.marker)
        R = model.pose(marker, source.q).rotation
        omega = model.velocity(marker, source.q, source.v)[:, :3]
        a = model.acceleration(marker, source.q, source.v, source.a)[:, 3:]
        vectors = np.stack([omega, a - np.asarray(model.system.gravity, dtype=float)], axis=2)
        turned = R.transpose(0, 2, 1) @ vectors
        return np.concatenate([turned[..., 0], turned[..., 1]], axis=1)

    def with_seed(self, seed: int) -> IMU:
        """Return the sensor with another seed."""
        gyroscope, accelerometer = (replace(part, seed=seed) for part in (self.gyroscope, self.accelerometer))
        return replace(self, gyroscope=gyroscope, accelerometer=accelerometer)


@checked("connection", "errors")
@dataclass(frozen=True, eq=False)
class ForceTorqueSensor(SampledSensor):
    """Force and moment that a connection transmits to its second marker, in the axes of that marker.

    Parameters
    ----------
    connection : str
        A joint, a fixed one for a sensor at a wrist, or a constraint.
    errors : SensorErrors
        Numbers for all six channels, or (6,): three forces, N, then three moments, N m.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("scale")
    >>> _ = s.connect("foot", da.Fixed(), s.ground, s.body("load", mass=2.0))
    >>> data = da.ForceTorqueSensor("foot").measure(da.simulate(s, 0.01))
    >>> data["fz"][0].round(6)
    np.float64(19.62)
    """

    connection: str
    errors: SensorErrors = field(default_factory=SensorErrors)
    channel_names = ("fx", "fy", "fz", "mx", "my", "mz")
    channel_units = ("N",) * 3 + ("N m",) * 3

    def __post_init__(self) -> None:
        checked_errors("ForceTorqueSensor", self.errors)

    def true_values(self, source: Source) -> Array:
        """Return force and moment (n, 6)."""
        model = source.model
        connection = model.system.connections.get(self.connection)
        if connection is None:
            names = tuple(model.system.connections)
            known = did_you_mean(str(self.connection), names) or f"there are {', '.join(map(repr, names))}"
            remedy = f"no connection has that name; {known}"
            raise ModelError("ForceTorqueSensor", "connection", self.connection, remedy)
        load = source.load(self.connection)
        if connection.second.body is model.system.ground:
            R = np.broadcast_to(connection.second.rotation, (len(load), 3, 3))
        else:
            R = model.pose(connection.second, source.q).rotation
        turned = R.transpose(0, 2, 1) @ np.stack([load[:, 3:], load[:, :3]], axis=2)
        return np.concatenate([turned[..., 0], turned[..., 1]], axis=1)
