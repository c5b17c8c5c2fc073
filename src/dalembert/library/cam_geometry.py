"""Geometry of disc cams: profiles as envelopes of their followers, with curvature and pressure angle.

In the plane of the cam vectors are complex numbers; derivatives are by the cam's angle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..errors import ModelError
from ..numerics.taylor_series import (
    Series,
    derivative,
    divided,
    from_derivatives,
    root,
    times,
    to_derivatives,
    turning,
)
from .follower_laws import FollowerMotion

__all__ = ["CamGeometry", "ProfilePiece"]


DIFFERENCE_STEP = math.radians(0.75)


class ProfilePiece(NamedTuple):
    """Smooth segment of a cam profile, at n cam angles.

    angle : (n,) rad
    profile : (3, n) m, series of points in the cam
    radius : (n,) m, of curvature, positive where convex
    pressure_angle : (n,) rad
    sense : (n,) not positive where the profile turns back: of a flat face the radius of curvature, m; else the part of
        the pitch curve's speed with which the profile runs
    pitch : (n,) m, the middle of the roller, or the knife, in the cam
    """

    angle: Array
    profile: Series
    radius: Array
    pressure_angle: Array
    sense: Array
    pitch: Series


@dataclass(frozen=True, eq=False)
class CamGeometry:
    """Design parameters of a cam; see `Cam`."""

    motion: FollowerMotion
    base_radius: float
    follower: str
    roller_radius: float
    offset: float
    pivot: float | None
    arm: float | None

    @property
    def swings(self) -> bool:
        """Whether the follower swings about a pivot."""
        return self.pivot is not None

    @property
    def rest(self) -> float:
        """Follower position at zero lift: height, m, or angle from the line to the cam, rad."""
        near = self.base_radius + self.roller_radius
        if not self.swings:
            if self.follower != "flat" and near <= abs(self.offset):
                raise ModelError("Cam", "offset", self.offset, f"it must be less than {near:.6g} m, where the cam is")
            return near if self.follower == "flat" else math.sqrt(near**2 - self.offset**2)
        assert self.pivot is not None
        if self.follower == "flat":
            sine = (self.base_radius + self.offset) / self.pivot
            if not 0 < sine < 1:
                remedy = f"it must be further away than base radius and offset, {self.base_radius + self.offset:.6g} m"
                raise ModelError("Cam", "pivot", self.pivot, remedy)
            return math.asin(sine)
        assert self.arm is not None
        low, high = abs(self.pivot - self.arm), self.pivot + self.arm
        if not low < near < high:
            remedy = f"from pivot {self.pivot:.6g} m away it reaches {low:.6g} to {high:.6g} m, not {near:.6g} m"
            raise ModelError("Cam", "arm", self.arm, remedy)
        angle = math.acos((self.pivot**2 + self.arm**2 - near**2) / (2 * self.pivot * self.arm))
        if angle + self.motion.greatest_lift >= math.pi:
            most = math.pi - angle
            remedy = f"from {angle:.4g} rad it swings past the line of cam and pivot: give less than {most:.4g} rad"
            raise ModelError("Cam", "lift", self.motion.greatest_lift, remedy)
        return angle

    def pieces(self) -> list[ProfilePiece]:
        """Return the smooth segments of the full profile."""
        return [self._piece(*piece) for piece in self.motion.pieces]

    def turns_back(self, sense: Array) -> bool:
        """Return whether a profile has a cusp."""
        return not sense.min() > 1e-6 * (self.base_radius if self.follower == "flat" else 1.0)

    def least_base_radius(self) -> float | None:
        """Return the smallest larger base radius, m, without a cusp; None if there is none."""
        low = high = self.base_radius
        for _ in range(12):
            high *= 1.5
            if self._fits(high):
                break
            low = high
        else:
            return None
        while high - low > 1e-4 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if self._fits(middle) else (middle, high)
        return high

    def _fits(self, base_radius: float) -> bool:
        other = replace(self, base_radius=base_radius)
        try:
            return not other.turns_back(np.concatenate([piece.sense for piece in other.pieces()]))
        except ModelError:  # the follower cannot reach
            return False

    def _piece(self, k: int, begin: float, end: float) -> ProfilePiece:
        """Return the profile between two angles of a motion segment."""
        start, span = float(self.motion.starts[k]), end - begin
        local = np.linspace(begin, end, max(12, 2 * math.ceil(span / (2 * DIFFERENCE_STEP))) + 1)
        inside = np.clip(local, begin + 1e-12 * span, end - 1e-12 * span)  # derivatives jump at the ends
        lift = from_derivatives(self.motion.within(k, inside)).astype(complex)
        theta = np.zeros_like(lift)
        theta[0], theta[1] = start + local, 1.0
        back = turning(-theta)  # from the world to the cam
        if self.follower == "flat":
            p, normal, sense = self._envelope(lift, theta)
            pitch = p[0]
        else:
            c = times(self._point(lift), back)
            ahead = derivative(c)
            speed = root(times(ahead, ahead.conj()))
            outward = divided(1j * ahead, speed)  # the profile runs clockwise: outside is to the left
            p = c[:3] - self.roller_radius * outward
            normal, pitch = outward[0], c[0]
            d = to_derivatives(c)
            convex = -np.imag(np.conj(d[1]) * d[2]) / np.abs(d[1]) ** 3
            sense = 1 - self.roller_radius * convex
        d = to_derivatives(p)
        curvature = -np.imag(np.conj(d[1]) * d[2]) / np.maximum(np.abs(d[1]), 1e-300) ** 3
        radius = np.divide(1.0, curvature, out=np.full(len(local), np.inf), where=np.abs(curvature) > 1e-12)
        world = normal * np.exp(1j * theta[0].real)
        way = self._way(lift, p[0] * np.exp(1j * theta[0].real))
        return ProfilePiece(start + local, p, radius, np.angle(world / way), sense.real, pitch)

    def _point(self, lift: Series) -> Series:
        """Return the centre of the roller, or the knife edge, in the world."""
        rest = self.rest
        if not self.swings:
            P: Series = 1j * lift
            P[0] += self.offset + 1j * rest
            return P
        assert self.pivot is not None and self.arm is not None
        turn = -lift
        turn[0] += math.pi - rest
        P = self.arm * turning(turn)
        P[0] += self.pivot
        return P

    def _envelope(self, lift: Series, theta: Series) -> tuple[Series, Series, Series]:
        """Return profile, normals in the cam, and radii of curvature, of a family of faces n . x = h."""
        rest = self.rest
        alpha, h = -theta, lift.copy()
        alpha[0] += math.pi / 2
        if self.swings:
            alpha = alpha - lift
            alpha[0] -= rest
            tilt = lift.copy()
            tilt[0] += rest
            E = turning(tilt)
            h = self.pivot * (E - E.conj()) / 2j
            h[0] -= self.offset
        else:
            h[0] += rest
        n = turning(alpha)
        rate = derivative(alpha)
        if (rate[0].real >= -1e-9).any():
            worst = float(rate[0].real.max()) + 1
            remedy = f"the face swings as fast as the cam turns ({worst:.4g} rad per rad): give less lift or more angle"
            raise ModelError("Cam", "motion", self.motion, remedy)
        p = times(h, n)[:3] + times(divided(derivative(h), rate), 1j * n)
        d = derivative(p)
        return p, n[0], (np.conj(1j * n[0]) * d[0] / rate[0]).real

    def _way(self, lift: Series, contact: Series) -> Series:
        """Return the direction of follower motion at the contact."""
        if not self.swings:
            return np.full(len(contact), 1j)
        at = contact if self.follower == "flat" else self._point(lift)[0]
        away = -1j * (at - self.pivot)
        return np.asarray(away / np.abs(away))
