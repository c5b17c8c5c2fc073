"""Curvature theory of planar motion: inflection circle, acceleration pole, stationary curvature.

With x from the instant centre P, J x = n x x, a_P and j_P acceleration and jerk of the body's point there, w, e, g
angular velocity, acceleration and jerk about n,

    v = w J x        a = a_P + e J x - w^2 x        j = j_P + (g - w^3) J x - 3 w e x                               (1)

Points without curvature (v parallel to a) lie on a circle through P whose diameter is D = a_P / w^2:

    |x|^2 = D . x                                                                                                   (2)

The pole tangent is normal to D. The centre of curvature of the path of x (Euler and Savary) is at

    P - x (D . x) / (|x|^2 - D . x)                                                                                 (3)

Points whose curvature is stationary, (v x j) |v|^2 = 3 (v x a) (v . a), lie on the cubic

    |x|^2 (x . k - J x . D) + (D . x) (J x . D) = 0,      k = e D / w^2 - j_P / (3 w^3)                             (4)

or, with psi from the pole tangent T and D = d N, at the distance r with

    1 / r = (d - k_T) / (d^2 sin psi) - k_N / (d^2 cos psi)                                                         (5)

Ball's point is where it meets the circle: tan psi = -k_T / k_N. Bottema and Roth, Theoretical Kinematics, chapter VIII.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...answer import count_text, range_text
from ...arrays import Array
from ...checks import finite_array
from ...errors import ModelError
from ...result import Result
from .instant_centres import instant_centre
from .kinematic_result import KinematicResult
from .relative_motion import RelativeFrameMotion, row_of, seen_in_plane

__all__ = ["InflectionCircles", "inflection_circles"]


@dataclass(frozen=True, eq=False, repr=False)
class InflectionCircles(KinematicResult):
    """Inflection circle of a body and related quantities at every row, in the axes of `relative_to`.

    Numbers are NaN where the instant centre is at infinity or the body is at rest.

    Attributes
    ----------
    result : Result
    body, relative_to : str
    t : (n,) s
    normal : (3,)
        Of the plane of motion.
    pole : (n, 3) m
        The instant centre P.
    diameter_vector : (n, 3) m
        D of (2), from P to the inflection pole, the other end of the diameter.
    """

    result: Result
    body: str
    relative_to: str
    t: Array
    normal: Array
    pole: Array
    diameter_vector: Array
    seen: RelativeFrameMotion = field(repr=False)
    _arrays: ClassVar = {
        "pole": (("time", "axis"), "m"),
        "diameter_vector": (("time", "axis"), "m"),
        "diameter": (("time",), "m"),
        "centre": (("time", "axis"), "m"),
        "inflection_pole": (("time", "axis"), "m"),
        "acceleration_pole": (("time", "axis"), "m"),
        "ball_point": (("time", "axis"), "m"),
        "normal": (("axis",), ""),
    }

    @property
    def diameter(self) -> Array:
        """Diameter of the circle, (n,) m."""
        return np.asarray(np.linalg.norm(self.diameter_vector, axis=1))

    @property
    def centre(self) -> Array:
        """Centre of the circle, (n, 3) m."""
        return self.pole + self.diameter_vector / 2

    @property
    def inflection_pole(self) -> Array:
        """The end of the diameter opposite to the instant centre, (n, 3) m."""
        return self.pole + self.diameter_vector

    @property
    def tangent(self) -> Array:
        """Unit vector along the common tangent of both polodes, (n, 3); D is 90° ahead of it."""
        with np.errstate(all="ignore"):
            return np.asarray(-np.cross(self.normal, self.diameter_vector) / self.diameter[:, None])

    @cached_property
    def acceleration_pole(self) -> Array:
        """The point of the body without acceleration, (n, 3) m."""
        w, e = self._rates
        a = w[:, None] ** 2 * self.diameter_vector
        with np.errstate(all="ignore"):
            x = (w[:, None] ** 2 * a + e[:, None] * np.cross(self.normal, a)) / (w**4 + e**2)[:, None]
        return np.asarray(self.pole + x)

    @cached_property
    def ball_point(self) -> Array:
        """Ball's point, (n, 3) m: the point of the circle with the best straight-line path.

        NaN where all points of the circle are equivalent, as in the motion of a trammel.
        """
        T, N, k_T, k_N = self._cubic
        with np.errstate(all="ignore"):
            size = np.hypot(k_T, k_N)
            size[size < 1e-6 * self.diameter] = np.nan  # all points of the circle stay on straight lines
            sine, cosine = -k_T / size, k_N / size
            r = self.diameter * sine
            return np.asarray(self.pole + (r * cosine)[:, None] * T + (r * sine)[:, None] * N)

    def centre_of_curvature(self, point: ArrayLike) -> Array:
        """Return the centre of curvature (n, 3) m of the path of a body point (3,) m, in body axes, by (3)."""
        x = self._from_pole(point)
        along = (x * self.diameter_vector).sum(axis=1)
        with np.errstate(all="ignore"):
            return np.asarray(self.pole - x * (along / ((x * x).sum(axis=1) - along))[:, None])

    def stationary(self, point: ArrayLike) -> Array:
        """Return the left side of (4) for a point (3,) m of the body, in its axes, (n,) m3.

        It is zero where the curvature is stationary.
        """
        x, D = self._from_pole(point), self.diameter_vector
        T, N, k_T, k_N = self._cubic
        k = k_T[:, None] * T + k_N[:, None] * N
        turned = np.cross(self.normal, x)
        along, across = (x * D).sum(axis=1), (turned * D).sum(axis=1)
        return np.asarray((x * x).sum(axis=1) * ((x * k).sum(axis=1) - across) + along * across)

    def stationary_curve(self, row: int | None = None, *, t: float | None = None, points: int = 361) -> Array:
        """Return points (m, 3) m of the cubic (4) at one row: points of the body with stationary curvature.

        In the axes of `relative_to`; NaN where the curve goes through infinity.
        """
        k = row_of(self.result, row, t, "stationary_curve")
        T, N, k_T, k_N = (part[k] for part in self._cubic)
        d = self.diameter[k]
        psi = np.linspace(0.0, np.pi, points)
        s, c = np.sin(psi), np.cos(psi)
        with np.errstate(all="ignore"):
            under = (d - k_T) * c - k_N * s
            r = d**2 * s * c / under
        r[np.abs(under) < 1e-9 * max(abs(d), 1e-300)] = np.nan
        jump = np.flatnonzero(np.sign(under[1:]) != np.sign(under[:-1]))
        r[jump] = np.nan
        return np.asarray(self.pole[k] + (r * c)[:, None] * T + (r * s)[:, None] * N)

    def _headline(self) -> str:
        return (
            f"{self.body} relative to {self.relative_to}, {count_text(len(self.t), 'row')}, "
            f"diameter {range_text(self.diameter, 'm')}"
        )

    # ---- internals

    @property
    def _rates(self) -> tuple[Array, Array]:
        return self.seen.angular_velocity @ self.normal, self.seen.angular_acceleration @ self.normal

    def _from_pole(self, point: ArrayLike) -> Array:
        local = finite_array(point, (3,), item="inflection_circles", field="point")
        n = self.normal
        x: Array = self.seen.rotation @ local + self.seen.position - self.pole
        return x - (x @ n)[:, None] * n  # the offset along the normal is irrelevant

    @cached_property
    def _cubic(self) -> tuple[Array, Array, Array, Array]:
        """T and N (n, 3), and k of (4) along them, (n,) m."""
        if len(self.t) < 2:
            raise ModelError("inflection_circles", "result", self.result, "jerks are needed: give more than one row")
        seen, n, D = self.seen, self.normal, self.diameter_vector
        w, e = self._rates
        g = seen.angular_jerk @ n
        x = self.pole - seen.position
        x = x - (x @ n)[:, None] * n
        j = seen.jerk + (g - w**3)[:, None] * np.cross(n, x) - (3 * w * e)[:, None] * x
        with np.errstate(all="ignore"):
            k = (e / w**2)[:, None] * D - j / (3 * w**3)[:, None]
            T, N = self.tangent, D / self.diameter[:, None]
        return T, N, (k * T).sum(axis=1), (k * N).sum(axis=1)


def inflection_circles(result: Result, body: object, *, relative_to: object = "ground") -> InflectionCircles:
    """Return inflection circle, pole tangent, acceleration pole and Ball's point of a planar motion.

    Parameters
    ----------
    result : Result
        Third rates, for Ball's point and stationary curvature, come from neighbouring rows.
    body : Body, Marker or str
    relative_to : Body, Marker or str
        Frame of the paths.

    Raises
    ------
    ModelError
        If the relative motion is not in a plane.
    """
    item = "inflection_circles"
    seen, n = seen_in_plane(result, body, relative_to, item)
    centre, rest = instant_centre(seen, n)
    P = np.where(rest[:, None], np.nan, centre.point)
    w = seen.angular_velocity @ n
    x = P - seen.position
    with np.errstate(all="ignore"):
        a = seen.acceleration + np.cross(seen.angular_acceleration, x) - w[:, None] ** 2 * x
        D = a / w[:, None] ** 2
    return InflectionCircles(result, seen.frame, seen.relative_to, seen.t, n, P, D, seen)
