"""The hinge library: relative motion of two markers as a function of a few coordinates.

The contract of a hinge, in the frame of the *first* marker (Sol 1983, section 3.3):

    pose(q)         C, c     rotation and displacement of the second marker
    motion(q)       H        [omega; v] of the second marker relative to the first is H v
    bias(q, v)      H' v     what remains of its rate, seen from the first marker, when v' = 0
    rates(q, v)     q' = N(q) v
    rows            names of the 6 - nv equations it amounts to where it closes a loop: displacements x, y, z of the
                    second marker, tilts of its axis, components rx, ry, rz of its attitude; in axes of the first
                    marker, turned so that the hinge's axis is z (`frame`)

These few lines of NumPy are the definition: readable, slow, and the oracle that the compiled
hinge of the same name is tested against. The compiled one may walk the hinge from either end
and keeps the coordinates and signs defined here.

Coordinates are radians and metres. All zero (quaternion (1, 0, 0, 0)) means that the two
markers coincide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from ..rotation import axis_angle, finite_array, finite_number, quaternion, shape_of, unit_vector

__all__ = [
    "Cylindrical",
    "Fixed",
    "Free",
    "Hinge",
    "Planar",
    "Prismatic",
    "Revolute",
    "Screw",
    "Spherical",
    "Universal",
]

Array = NDArray[np.float64]
Axis = str | ArrayLike


@dataclass(frozen=True, eq=False, kw_only=True)
class Hinge:
    """What all hinges share: the data that limits, friction and drive trains need.

    Parameters
    ----------
    lower, upper : float or (nv,) rad or m
        Limits of the coordinates.
    max_speed : float or (nv,) rad/s or m/s
    max_effort : float or (nv,) N m or N
    damping : float or (nv,) N m s/rad or N s/m
        Viscous coefficient.
    friction : float or (nv,) N m or N
        Dry friction.
    armature : float or (nv,) kg m2 or kg
        Inertia of a drive train, seen at the coordinate.

    These values are stored with the system; the equations of motion do not use them yet.
    """

    lower: Any = None
    upper: Any = None
    max_speed: Any = None
    max_effort: Any = None
    damping: Any = None
    friction: Any = None
    armature: Any = None

    coordinates: ClassVar[tuple[str, ...]] = ()
    speeds: ClassVar[tuple[str, ...]] = ()
    rows: ClassVar[tuple[str, ...]] = ()
    directions: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for field in self.directions:
            object.__setattr__(self, field, unit_vector(getattr(self, field), item=self.kind, field=field))
        for field in ("lower", "upper", "max_speed", "max_effort", "damping", "friction", "armature"):
            value = getattr(self, field)
            if value is None:
                continue
            if shape_of(value) == ():
                value = np.full(self.nv, finite_number(value, item=self.kind, field=field))
            else:
                value = finite_array(value, (self.nv,), item=self.kind, field=field)
            if field not in ("lower", "upper") and (value < 0).any():
                raise ModelError(self.kind, field, value, "it must not be negative")
            object.__setattr__(self, field, value)
        if self.lower is not None and self.upper is not None and (self.lower > self.upper).any():
            raise ModelError(self.kind, "lower", self.lower, f"it must not exceed the upper limit {self.upper}")

    @property
    def holonomic(self) -> tuple[bool, ...]:
        """Whether each row binds positions too: all rows of a hinge do."""
        return (True,) * len(self.rows)

    @property
    def kind(self) -> str:
        """Name of the hinge type."""
        return type(self).__name__

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    @property
    def nv(self) -> int:
        """Number of speeds, that is of freedoms."""
        return len(self.speeds)

    @property
    def zero(self) -> Array:
        """Coordinates at which the two markers coincide."""
        return np.array([1.0 if name == "qw" else 0.0 for name in self.coordinates])

    def frame(self) -> Array:
        """Axes in which the compiled hinge works: (3, 3), columns in marker axes."""
        return np.eye(3)

    def pose(self, q: Array) -> tuple[Array, Array]:
        """Return C (3, 3) and c (3,) of the second marker in the first."""
        raise NotImplementedError

    def motion(self, q: Array) -> Array:
        """Return H (6, nv), [omega; v] of the second marker in axes of the first."""
        raise NotImplementedError

    def bias(self, q: Array, v: Array) -> Array:
        """Return H' v (6,), in axes of the first marker."""
        return np.zeros(6)

    def rates(self, q: Array, v: Array) -> Array:
        """Return q' (nq,)."""
        return np.array(v, dtype=float)


@dataclass(frozen=True, eq=False)
class Fixed(Hinge):
    """No relative motion: the two markers coincide."""

    rows: ClassVar[tuple[str, ...]] = ("x", "y", "z", "rx", "ry", "rz")

    def pose(self, q: Array) -> tuple[Array, Array]:
        return np.eye(3), np.zeros(3)

    def motion(self, q: Array) -> Array:
        return np.zeros((6, 0))


@dataclass(frozen=True, eq=False)
class Revolute(Hinge):
    """One rotation about an axis through both markers.

    Parameters
    ----------
    axis : str or (3,)
        ``"x"``, ``"-y"``, or a direction in marker axes.

    Coordinate: the angle, rad, right-handed about `axis`.
    """

    axis: Any = "z"
    coordinates: ClassVar[tuple[str, ...]] = ("angle",)
    speeds: ClassVar[tuple[str, ...]] = ("angle",)
    rows: ClassVar[tuple[str, ...]] = ("x", "y", "z", "tilt_x", "tilt_y")
    directions: ClassVar[tuple[str, ...]] = ("axis",)

    def frame(self) -> Array:
        return frame_with_z(self.axis)

    def pose(self, q: Array) -> tuple[Array, Array]:
        return axis_angle(self.axis, q[0]), np.zeros(3)

    def motion(self, q: Array) -> Array:
        return _columns((self.axis, None))


@dataclass(frozen=True, eq=False)
class Prismatic(Hinge):
    """One translation along an axis.

    Parameters
    ----------
    axis : str or (3,)
        Direction in marker axes.

    Coordinate: the displacement of the second marker along `axis`, m.
    """

    axis: Any = "z"
    coordinates: ClassVar[tuple[str, ...]] = ("slide",)
    speeds: ClassVar[tuple[str, ...]] = ("slide",)
    rows: ClassVar[tuple[str, ...]] = ("x", "y", "rx", "ry", "rz")
    directions: ClassVar[tuple[str, ...]] = ("axis",)

    def frame(self) -> Array:
        return frame_with_z(self.axis)

    def pose(self, q: Array) -> tuple[Array, Array]:
        return np.eye(3), q[0] * np.asarray(self.axis)

    def motion(self, q: Array) -> Array:
        return _columns((None, self.axis))


@dataclass(frozen=True, eq=False)
class Screw(Hinge):
    """A rotation about an axis with a proportional translation along it.

    Parameters
    ----------
    axis : str or (3,)
    pitch : float, m
        Advance along `axis` per revolution; negative for a left-handed thread, zero for a revolute.

    Coordinate: the angle, rad.
    """

    axis: Any = "z"
    pitch: float = 0.0
    coordinates: ClassVar[tuple[str, ...]] = ("angle",)
    speeds: ClassVar[tuple[str, ...]] = ("angle",)
    rows: ClassVar[tuple[str, ...]] = ("x", "y", "tilt_x", "tilt_y", "advance")
    directions: ClassVar[tuple[str, ...]] = ("axis",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pitch", finite_number(self.pitch, item="Screw", field="pitch"))
        super().__post_init__()

    def frame(self) -> Array:
        return frame_with_z(self.axis)

    def pose(self, q: Array) -> tuple[Array, Array]:
        return axis_angle(self.axis, q[0]), self.pitch * q[0] / (2 * math.pi) * np.asarray(self.axis)

    def motion(self, q: Array) -> Array:
        return _columns((self.axis, self.pitch / (2 * math.pi) * np.asarray(self.axis)))


@dataclass(frozen=True, eq=False)
class Cylindrical(Hinge):
    """A rotation about an axis and an independent translation along it.

    Parameters
    ----------
    axis : str or (3,)

    Coordinates: angle (rad), slide (m).
    """

    axis: Any = "z"
    coordinates: ClassVar[tuple[str, ...]] = ("angle", "slide")
    speeds: ClassVar[tuple[str, ...]] = ("angle", "slide")
    rows: ClassVar[tuple[str, ...]] = ("x", "y", "tilt_x", "tilt_y")
    directions: ClassVar[tuple[str, ...]] = ("axis",)

    def frame(self) -> Array:
        return frame_with_z(self.axis)

    def pose(self, q: Array) -> tuple[Array, Array]:
        return axis_angle(self.axis, q[0]), q[1] * np.asarray(self.axis)

    def motion(self, q: Array) -> Array:
        return _columns((self.axis, None), (None, self.axis))


@dataclass(frozen=True, eq=False)
class Universal(Hinge):
    """Two rotations: about an axis of the first marker, then about an axis of the second (Cardan joint).

    Parameters
    ----------
    axis_1 : str or (3,)
        Axis fixed in the first marker.
    axis_2 : str or (3,)
        Axis fixed in the second marker, perpendicular to `axis_1` when the markers coincide.

    Coordinates: angle_1, angle_2 (rad). Slaats 1991, section 3.3, is the case ("x", "y").
    """

    axis_1: Any = "x"
    axis_2: Any = "y"
    coordinates: ClassVar[tuple[str, ...]] = ("angle_1", "angle_2")
    speeds: ClassVar[tuple[str, ...]] = ("angle_1", "angle_2")
    rows: ClassVar[tuple[str, ...]] = ("x", "y", "z", "skew")
    directions: ClassVar[tuple[str, ...]] = ("axis_1", "axis_2")

    def __post_init__(self) -> None:
        super().__post_init__()
        if abs(float(np.dot(self.axis_1, self.axis_2))) > 1e-9:
            raise ModelError("Universal", "axis_2", self.axis_2, f"it must be perpendicular to axis_1 = {self.axis_1}")

    def frame(self) -> Array:
        return np.column_stack([self.axis_1, self.axis_2, np.cross(self.axis_1, self.axis_2)])

    def pose(self, q: Array) -> tuple[Array, Array]:
        return axis_angle(self.axis_1, q[0]) @ axis_angle(self.axis_2, q[1]), np.zeros(3)

    def motion(self, q: Array) -> Array:
        return _columns((self.axis_1, None), (axis_angle(self.axis_1, q[0]) @ self.axis_2, None))

    def bias(self, q: Array, v: Array) -> Array:
        second = axis_angle(self.axis_1, q[0]) @ self.axis_2
        return np.concatenate([v[0] * v[1] * np.cross(self.axis_1, second), np.zeros(3)])


@dataclass(frozen=True, eq=False)
class Planar(Hinge):
    """Two translations in a plane of the first marker and the rotation about its normal.

    Parameters
    ----------
    normal : str or (3,)
        Normal of the plane, in marker axes. Normal ``"z"`` gives in-plane axes x and y, ``"x"``
        gives y and z, ``"y"`` gives z and x; for others see the columns of ``frame()``.

    Coordinates: x, y (m, along the in-plane axes of the first marker), angle (rad).
    """

    normal: Any = "z"
    coordinates: ClassVar[tuple[str, ...]] = ("x", "y", "angle")
    speeds: ClassVar[tuple[str, ...]] = ("x", "y", "angle")
    rows: ClassVar[tuple[str, ...]] = ("z", "tilt_x", "tilt_y")
    directions: ClassVar[tuple[str, ...]] = ("normal",)

    def frame(self) -> Array:
        return frame_with_z(self.normal)

    def pose(self, q: Array) -> tuple[Array, Array]:
        return axis_angle(self.normal, q[2]), self.frame()[:, :2] @ q[:2]

    def motion(self, q: Array) -> Array:
        x, y, n = self.frame().T
        return _columns((None, x), (None, y), (n, None))


@dataclass(frozen=True, eq=False)
class Spherical(Hinge):
    """Any rotation about the common origin of the two markers (ball and socket).

    Coordinates: the unit quaternion qw, qx, qy, qz of the second marker in the first.
    Speeds: the relative angular velocity wx, wy, wz in axes of the *second* marker, rad/s.
    """

    coordinates: ClassVar[tuple[str, ...]] = ("qw", "qx", "qy", "qz")
    speeds: ClassVar[tuple[str, ...]] = ("wx", "wy", "wz")
    rows: ClassVar[tuple[str, ...]] = ("x", "y", "z")

    def pose(self, q: Array) -> tuple[Array, Array]:
        return quaternion(*q), np.zeros(3)

    def motion(self, q: Array) -> Array:
        return np.vstack([quaternion(*q), np.zeros((3, 3))])

    def rates(self, q: Array, v: Array) -> Array:
        return _quaternion_rate(q, v)


@dataclass(frozen=True, eq=False)
class Free(Hinge):
    """Any relative motion: six freedoms.

    Coordinates: the unit quaternion qw, qx, qy, qz of the second marker in the first, and its
    position x, y, z in axes of the first, m.
    Speeds: relative angular velocity wx, wy, wz (rad/s) and velocity vx, vy, vz (m/s) of the
    second marker, both in axes of the *second* marker.
    """

    coordinates: ClassVar[tuple[str, ...]] = ("qw", "qx", "qy", "qz", "x", "y", "z")
    speeds: ClassVar[tuple[str, ...]] = ("wx", "wy", "wz", "vx", "vy", "vz")

    def pose(self, q: Array) -> tuple[Array, Array]:
        return quaternion(*q[:4]), np.array(q[4:], dtype=float)

    def motion(self, q: Array) -> Array:
        C = quaternion(*q[:4])
        return np.block([[C, np.zeros((3, 3))], [np.zeros((3, 3)), C]])

    def bias(self, q: Array, v: Array) -> Array:
        C = quaternion(*q[:4])
        return np.concatenate([np.zeros(3), C @ np.cross(v[:3], v[3:])])

    def rates(self, q: Array, v: Array) -> Array:
        return np.concatenate([_quaternion_rate(q[:4], v[:3]), quaternion(*q[:4]) @ v[3:]])


def frame_with_z(axis: Axis) -> Array:
    """Return a right-handed frame (3, 3) whose third column is the unit vector `axis`.

    The first column is the coordinate axis that follows the largest component of `axis`
    cyclically, made perpendicular; so ``"z"`` gives (x, y, z) and ``"x"`` gives (y, z, x).
    """
    n = np.asarray(axis, dtype=float)
    x = np.eye(3)[(int(np.abs(n).argmax()) + 1) % 3]
    x = x - n * (n @ x)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(n, x), n])


def _columns(*pairs: tuple[Any, Any]) -> Array:
    zero = np.zeros(3)
    return np.column_stack([np.concatenate([zero if w is None else w, zero if u is None else u]) for w, u in pairs])


def _quaternion_rate(q: Array, w: Array) -> Array:
    # q' = q o (0, w) / 2 with w in axes of the turned frame
    scalar, vector = q[0], q[1:4]
    return 0.5 * np.concatenate([[-vector @ w], scalar * w + np.cross(vector, w)])
