"""Random curves, cams and followers, and poses at which they touch, for tests of identities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from oracles.contacts import Contact

from dalembert.connections.constraints.cams import CamFollower, PointOnCurve
from dalembert.connections.constraints.curves import Curve
from dalembert.rotation import axis_angle, quaternion

Array = NDArray[np.float64]

__all__ = ["CONTACTS", "contact_pose", "random_curve", "random_profile"]


def random_curve(rng: np.random.Generator, *, closed: bool = False) -> Curve:
    """Return a spline around a bent ring or helix in any attitude, of few and long pieces."""
    angle = np.linspace(0, (1.0 if closed else 1.6) * 2 * np.pi, 9 if closed else 12)
    height = 0.4 * np.sin(2 * angle + rng.normal()) if closed else 0.25 * angle
    radius = 1.0 + 0.15 * np.sin(angle + rng.normal()) if closed else 1.0 + 0.05 * rng.normal(size=angle.size)
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), height])
    if closed:
        points[-1] = points[0]
    return Curve(points @ quaternion(*rng.normal(size=4)) + 0.3 * rng.normal(size=3), closed=closed)


def random_profile(rng: np.random.Generator) -> Curve:
    """Return the profile of a cam without hollows, run in either direction, by points or in polar form."""
    lobes, phase = int(rng.integers(1, 4)), float(rng.normal())

    def radius(angle: Array) -> Array:
        return 0.5 * (1 + 0.3 / lobes**2 * np.sin(lobes * angle + phase))

    if rng.random() < 0.5:
        return Curve.polar([(2 * np.pi, lambda t: _sine(0.5, 0.15 / lobes**2, lobes, t + phase / lobes))])
    angle = np.linspace(0, 2 * np.pi, 19) * rng.choice([-1, 1])
    points = np.column_stack([radius(angle) * np.cos(angle), radius(angle) * np.sin(angle)])
    points[-1] = points[0]
    return Curve(points, closed=True)


def _sine(mean: float, amplitude: float, frequency: float, t: float) -> tuple[float, float, float]:
    s, c = amplitude * np.sin(frequency * t), amplitude * np.cos(frequency * t)
    return mean + s, frequency * c, -(frequency**2) * s


CONTACTS: dict[str, Callable[[np.random.Generator], Contact]] = {
    "curve": lambda rng: PointOnCurve(random_curve(rng)),
    "closed curve": lambda rng: PointOnCurve(random_curve(rng, closed=True)),
    "plane curve": lambda rng: PointOnCurve(random_profile(rng)),
    "roller": lambda rng: CamFollower(random_profile(rng), "roller", radius=float(rng.uniform(0.05, 0.5))),
    "knife": lambda rng: CamFollower(random_profile(rng)),
    "flat": lambda rng: CamFollower(random_profile(rng), "flat"),
}
"""Every contact of the library, each a function of a random generator."""


def contact_pose(element: Contact, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return attitude (3, 3) and place (3,) of the second marker in the first at which they touch somewhere."""
    curve = element.curve if isinstance(element, PointOnCurve) else element.profile
    a, b = curve.knots[[0, -1]]
    s = rng.uniform(a + 0.1 * (b - a), b - 0.1 * (b - a))
    c, tangent = curve(s), curve(s, 1)
    R = quaternion(*rng.normal(size=4))
    if isinstance(element, PointOnCurve):
        return R, c
    normal = np.cross(tangent / np.linalg.norm(tangent), [0, 0, 1])
    if normal @ c < 0:  # the profiles are around the origin
        normal = -normal
    if element.follower != "flat":
        return R, c + element.radius * normal + [0, 0, rng.normal()]
    # any face through the tangent, tilted against the plane of the cam, touched anywhere
    y = axis_angle(tangent, rng.uniform(-1, 1)) @ normal
    x = axis_angle(y, rng.normal()) @ tangent / np.linalg.norm(tangent)
    return np.column_stack([x, y, np.cross(x, y)]), c + np.cross(y, rng.normal(size=3))
