"""Motion of a body or marker relative to another body, at all rows of a result."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Array
from ...bodies.markers import Marker
from ...errors import ModelError
from ...model.argument_errors import checked_marker
from ...result import Result
from ...result.outputs.frames import FRAME_OUTPUTS, common_axis
from .interpolation import differentiate

__all__ = ["RelativeFrameMotion", "find_frame", "row_of", "seen_from", "seen_in_plane"]


PLANAR_TOL = 1e-7  # sine of the angle to the plane, for planar motion


def find_frame(result: Result, frame: object, item: str, field: str) -> Marker:
    """Return the marker of a result's own model for a user's frame, or raise a `ModelError`."""
    if not isinstance(result, Result):
        raise ModelError(item, "result", result, "give a Result, of da.simulate or da.kinematics")
    model = result.require_model()
    try:
        return checked_marker(model, item, frame)  # type: ignore[arg-type]
    except ModelError as error:
        if error.field == "point":
            raise
        bodies = ", ".join(map(repr, list(model.system.bodies)[:8]))
        remedy = f"give a body, a marker or a point such as 'rod.at(1, 0, 0)'; choose among {bodies}"
        raise ModelError(item, field, frame, remedy) from None


def row_of(result: Result, row: int | None, t: float | None, item: str) -> int:
    """Return the index of a row, given directly or by the nearest time; default the last."""
    n = len(result)
    if row is not None and t is not None:
        raise ModelError(item, "row", row, "give a row or a time t, not both")
    if t is not None:
        if not np.isfinite(t) or not result.t[0] <= t <= result.t[-1]:
            raise ModelError(item, "t", t, f"give one from {result.axis.span(result.t[0], result.t[-1])}")
        return int(np.abs(result.t - t).argmin())
    row = -1 if row is None else row
    if not isinstance(row, (int, np.integer)) or not -n <= row < n:
        raise ModelError(item, "row", row, f"give a number from 0 to {n - 1}")
    return int(row) % n


@dataclass(frozen=True, eq=False)
class RelativeFrameMotion:
    """Motion of a frame relative to a body or marker, in its axes, with rates of change relative to it.

    Attributes
    ----------
    frame, relative_to : str
        Their names.
    t : (n,) s
    rotation : (n, 3, 3)
    position, velocity, acceleration : (n, 3) m, m/s, m/s2
        Of the frame's origin.
    angular_velocity, angular_acceleration : (n, 3) rad/s, rad/s2
    length : float, m
        Of the mechanism, for scaling.
    base : Marker or None
        Reference frame; None for the world.
    """

    frame: str
    relative_to: str
    t: Array
    rotation: Array
    position: Array
    velocity: Array
    acceleration: Array
    angular_velocity: Array
    angular_acceleration: Array
    length: float
    base: Marker | None = None

    @classmethod
    def of(
        cls, result: Result, frame: Marker, relative_to: Marker | None = None, *, rates: int = 2
    ) -> RelativeFrameMotion:
        """Return the motion from a result, relative to ground by default.

        Accelerations are NaN unless `rates` is 2.
        """
        R, p, w, v, e, a = _absolute(result, frame, rates)
        if relative_to is not None and not _is_ground(relative_to):
            A, o, W, V, E, B = _absolute(result, relative_to, rates)
            r = p - o
            v = v - V - np.cross(W, r)
            a = a - B - np.cross(E, r) - np.cross(W, np.cross(W, r)) - 2 * np.cross(W, v)
            w = w - W
            e = e - E - np.cross(W, w)
            R = A.swapaxes(1, 2) @ R
            p, v, a, w, e = (np.einsum("nji,nj->ni", A, x) for x in (r, v, a, w, e))
        ground = relative_to is None or _is_ground(relative_to)
        return cls(
            frame.name,
            "ground" if relative_to is None else relative_to.name,
            result.t,
            *(R, p, v, a, w, e),
            result.require_model().length,
            None if ground else relative_to,
        )

    def velocity_at(self, points: Array) -> Array:
        """Return the velocity of the body at points (n, 3) m or (3,) m, (n, 3) m/s."""
        return self.velocity + np.cross(self.angular_velocity, points - self.position)

    def acceleration_at(self, points: Array) -> Array:
        """Return the acceleration of the body at points (n, 3) m or (3,) m, (n, 3) m/s2."""
        w, r = self.angular_velocity, points - self.position
        return self.acceleration + np.cross(self.angular_acceleration, r) + np.cross(w, np.cross(w, r))

    @cached_property
    def jerk(self) -> Array:
        """Rate of `acceleration`, (n, 3) m/s3, from neighbouring rows."""
        return differentiate(self.t, self.position, self.velocity, self.acceleration)

    @cached_property
    def angular_jerk(self) -> Array:
        """Rate of `angular_acceleration`, (n, 3) rad/s3, from neighbouring rows."""
        return differentiate(self.t, self.angular_velocity, self.angular_acceleration)

    @cached_property
    def normal(self) -> Array | None:
        """Normal (3,) of the plane in which the frame moves, largest component positive; None if there is none.

        For a frame that never turns, a direction in which it does not move: z, y or x if possible.
        """
        w, v = self.angular_velocity, self.velocity
        size, turning = (float(np.linalg.norm(x, axis=1).max(initial=0.0)) for x in (v, w))
        if turning * self.scale > 1e-12 * size:
            axis = common_axis(w, PLANAR_TOL)
            flat = axis is not None and np.abs(v @ axis).max() <= PLANAR_TOL * (size + turning * self.scale)
            return axis if flat else None
        _, s, axes = np.linalg.svd(np.vstack([v, np.zeros((3, 3))]), full_matrices=False)
        if not size:
            return np.array([0.0, 0.0, 1.0])
        if s[2] > PLANAR_TOL * s[0]:
            return None
        still = axes[s <= PLANAR_TOL * s[0]]
        for axis in np.eye(3)[::-1]:
            along = still.T @ (still @ axis)
            if np.linalg.norm(along) > 1 - 1e-9:
                return np.asarray(axis, dtype=float)
        return np.asarray(still[-1] * np.sign(still[-1][np.abs(still[-1]).argmax()]))

    def plane(self, item: str) -> Array:
        """Return the normal of the plane of motion, or raise a `ModelError`."""
        n = self.normal
        if n is None:
            raise ModelError(
                item,
                "body",
                self.frame,
                f"it does not move in a plane relative to {self.relative_to!r}: use da.screw_axes",
            )
        return n

    @cached_property
    def scale(self) -> float:
        """Length scale of the motion, m: the travel of the frame, or the length of the mechanism."""
        return max(float(np.ptp(self.position, axis=0).max()), self.length)


def seen_from(result: Result, body: object, relative_to: object, item: str) -> RelativeFrameMotion:
    """Return the motion of a body relative to another one; raise an error if both are the same."""
    frame, base = find_frame(result, body, item, "body"), find_frame(result, relative_to, item, "relative_to")
    if frame.body is base.body:
        raise ModelError(item, "relative_to", base.name, "give another body")
    return RelativeFrameMotion.of(result, frame, base)


def seen_in_plane(result: Result, body: object, relative_to: object, item: str) -> tuple[RelativeFrameMotion, Array]:
    """Return the planar motion of a body relative to another, and its normal (3,).

    Raise an error for others.
    """
    seen = seen_from(result, body, relative_to, item)
    return seen, seen.plane(item)


def _is_ground(marker: Marker) -> bool:
    return marker.name == marker.body.system.ground.name


def _absolute(result: Result, frame: Marker, rates: int) -> tuple[Array, ...]:
    def read(name: str) -> Array:
        return result.output(FRAME_OUTPUTS[name](result.require_model(), frame, frame.name))

    first = [read(name) for name in ("rotation", "position", "angular_velocity", "velocity")]
    if rates < 2:
        return (*first, *(np.full((len(result), 3), np.nan),) * 2)
    return (*first, read("angular_acceleration"), read("acceleration"))
