"""Instantaneous screw axes of bodies in space, and their axodes.

    u = w / |w|      p = o + w x v / |w|^2      h = w . v / |w|^2                                                   (1)

axis, its point nearest to the body's origin o, and pitch of a body with angular velocity w and velocity v of o. In pure
translation along v, the axis and its pitch are infinite. At rest, rates replace velocities.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...answer import count_text
from ...arrays import Array, BoolArray
from ...result import Result
from .interpolation import differentiate
from .kinematic_result import KinematicResult
from .relative_motion import RelativeFrameMotion, seen_from

__all__ = ["ScrewAxes", "screw_axes"]


@dataclass(frozen=True, eq=False, repr=False)
class ScrewAxes(KinematicResult):
    """Instantaneous screw axis of a body at every row, in the axes of `relative_to`.

    Attributes
    ----------
    result : Result
    body, relative_to : str
    t : (n,) s
    direction : (n, 3)
        Unit vector along the axis; in pure translation, along the motion.
    point : (n, 3) m
        Of the axis, nearest to the body's origin; NaN for an axis at infinity.
    pitch : (n,) m/rad
        Advance along the axis per angle; infinite in pure translation.
    turning, sliding : (n,) rad/s, m/s
        Angular velocity about, and velocity along the axis.
    infinite, none : (n,) bool
        Masks of rows with pure translation, and at rest.
    """

    result: Result
    body: str
    relative_to: str
    t: Array
    direction: Array
    point: Array
    pitch: Array
    turning: Array
    sliding: Array
    infinite: BoolArray
    none: BoolArray
    seen: RelativeFrameMotion = field(repr=False)
    _arrays: ClassVar = {
        "direction": (("time", "axis"), ""),
        "point": (("time", "axis"), "m"),
        "pitch": (("time",), "m/rad"),
        "turning": (("time",), "rad/s"),
        "sliding": (("time",), "m/s"),
        "infinite": (("time",), ""),
        "none": (("time",), ""),
    }

    @cached_property
    def moving_direction(self) -> Array:
        """The axis in body axes, (n, 3): a line of the moving axode."""
        return np.asarray(np.einsum("nji,nj->ni", self.seen.rotation, self.direction))

    @cached_property
    def moving_point(self) -> Array:
        """The point of the axis in body axes, (n, 3) m."""
        return np.asarray(np.einsum("nji,nj->ni", self.seen.rotation, self.point - self.seen.position))

    @cached_property
    def striction(self) -> Array:
        """Line of striction of the fixed axode, (n, 3) m: points nearest to neighbouring axes.

        NaN where they are parallel. By differences between rows.
        """
        u, p = self.direction, self.point
        du, dp = differentiate(self.t, u), differentiate(self.t, p)
        with np.errstate(all="ignore"):
            size = (du * du).sum(axis=1)
            back = (du * dp).sum(axis=1) / np.where(size > 1e-18 * np.nanmax(size, initial=1e-300), size, np.nan)
        return np.asarray(p - back[:, None] * u)

    def _headline(self) -> str:
        finite = self.pitch[np.isfinite(self.pitch)]
        pitch = f", pitch {finite.min():.4g} to {finite.max():.4g} m/rad" if len(finite) else ""
        return f"{self.body} relative to {self.relative_to}, {count_text(len(self.t), 'row')}{pitch}"


def screw_axes(result: Result, body: object, *, relative_to: object = "ground") -> ScrewAxes:
    """Return the instantaneous screw axis of a body at every row; together the axes form its axodes.

    Parameters
    ----------
    result : Result
    body : Body, Marker or str
    relative_to : Body, Marker or str
        Reference frame.
    """
    seen = seen_from(result, body, relative_to, "screw_axes")
    w, v = seen.angular_velocity, seen.velocity
    size = np.linalg.norm(w, axis=1) * seen.scale + np.linalg.norm(v, axis=1)
    rest = size <= 1e-10 * size.max(initial=0.0)
    turned, moved = np.where(rest[:, None], seen.angular_acceleration, w), np.where(rest[:, None], seen.acceleration, v)
    omega, speed = np.linalg.norm(turned, axis=1), np.linalg.norm(moved, axis=1)
    none = ~(omega * seen.scale + speed > 0.0)
    infinite = ~none & ~(omega * seen.scale * 1e9 > speed)
    good = ~none & ~infinite
    with np.errstate(all="ignore"):
        u = np.where(infinite[:, None], moved / speed[:, None], turned / omega[:, None])
        point = np.where(good[:, None], seen.position + np.cross(turned, moved) / omega[:, None] ** 2, np.nan)
        pitch = np.where(infinite, np.inf, np.where(good, (turned * moved).sum(axis=1) / omega**2, np.nan))
    u[none] = np.nan
    parts = u, point, pitch, (w * u).sum(axis=1), (v * u).sum(axis=1), infinite, none
    return ScrewAxes(result, seen.frame, seen.relative_to, seen.t, *parts, seen)
