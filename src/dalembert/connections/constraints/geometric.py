"""Geometric constraints: equations between two markers, without coordinates.

A constraint is described by its rows. In frame A (the first marker, rotated by ``frames()[0]``), with R and p the
orientation and position of frame B (the second marker, rotated by ``frames()[1]``), every row has a residual that is
zero where the constraint is satisfied. Nonholonomic rows constrain velocities only and have no residual. Joints close
loops by rows of the same kind (see `joints`), so all properties of loop constraints apply to constraints too.

Reactions act on the second marker and do no work, except along a prescribed motion.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array
from ...checks import positive, set_fields, set_finite
from ...errors import ModelError
from ...rotation import unit_vector
from ..joints.joint import frame_with_z
from .piecewise_polynomials import PiecewisePolynomial

__all__ = [
    "AxisAngle",
    "Constraint",
    "Distance",
    "KnifeEdge",
    "Parallel",
    "Perpendicular",
    "PointOnLine",
    "PointOnPlane",
    "PointOnPoint",
    "RollingDisc",
    "RollingSphere",
]


_LENGTH_ROWS = frozenset({"x", "y", "z", "distance", "side", "slip", "slip_x", "slip_y", "height", "contact"})


@dataclass(frozen=True, eq=False)
class Constraint:
    """Base of all constraints.

    rows : names of the equations; holonomic : True for each that constrains positions
    hold_row_names : names of rows that hold while a stop does
    form, kernel : form of the rows in the core: a constraint or joint of its library, by name; rows or a chain by
    programs
    length_field : name of the positive length of the compiled rows; empty if none
    directions, z_axes : fields that are unit vectors; those of them that are the z axes of the frames of the rows
    drivable : whether a drive may prescribe the quantities that the rows hold
    limits : what these may be, between two numbers
    """

    rows: ClassVar[tuple[str, ...]] = ()
    holonomic: ClassVar[tuple[bool, ...]] = ()
    hold_row_names: ClassVar[tuple[str, ...]] = ()
    form: ClassVar[str] = "constraint"
    kernel: ClassVar[str] = ""
    length_field: ClassVar[str] = ""
    directions: ClassVar[tuple[str, ...]] = ()
    z_axes: ClassVar[tuple[str, str]] = ("", "")
    drivable: ClassVar[bool] = False
    limits: ClassVar[tuple[float, float]] = (-math.inf, math.inf)

    def __post_init__(self) -> None:
        if self.length_field:
            self._positive(self.length_field)
        for field in self.directions:
            set_fields(self, **{field: unit_vector(getattr(self, field), item=self.kind, field=field)})

    def target(self, value: float, rate: float, second: float) -> tuple[float, float, float]:
        """Return residual, rate and second rate of the row when a drive prescribes its quantity."""
        return value - self.start, rate, second

    @property
    def start(self) -> float:
        """Value of the row while it is not driven, m or rad; initial value of a drive by speed."""
        return 0.0

    def angle_branch(self, value: float) -> int:
        """Return the branch of a driven value: the number of ambiguous values passed."""
        return 0

    @property
    def kind(self) -> str:
        """Name of the constraint type."""
        return type(self).__name__

    @property
    def nv(self) -> int:
        """Degrees of freedom left between two bodies."""
        return 6 - len(self.rows)

    @property
    def parameter(self) -> float:
        """Scalar parameter of the compiled rows."""
        return float(getattr(self, self.length_field)) if self.length_field else 0.0

    @property
    def row_units(self) -> tuple[str, ...]:
        """Units of the rows, ``"m"`` or ``"rad"``."""
        return tuple("m" if row in _LENGTH_ROWS else "rad" for row in self.rows)

    def frames(self) -> tuple[Array, Array]:
        """Return the axes (3, 3) in which the rows are written, in axes of the first and of the second marker."""
        first, second = (frame_with_z(getattr(self, field)) if field else np.eye(3) for field in self.z_axes)
        return first, second

    def table(self) -> PiecewisePolynomial | None:
        """Return the curve pieces for the compiled rows, in axes of ``frames()[0]``; None without a curve."""
        return None

    def _positive(self, field: str) -> None:
        set_finite(self, field, item=self.kind, expressions=True)
        positive(self.kind, **{field: getattr(self, field)})


@dataclass(frozen=True, eq=False)
class Distance(Constraint):
    """Keep a distance between the marker origins: a rigid massless bar between two ball joints.

    Parameters
    ----------
    length : float, m

    Row: |p| = length. The force in the bar is the multiplier, positive if it pushes the ends apart. A drive changes the
    distance: a hydraulic cylinder of prescribed length.
    """

    length: float = 1.0
    rows: ClassVar[tuple[str, ...]] = ("distance",)
    holonomic: ClassVar[tuple[bool, ...]] = (True,)
    kernel: ClassVar[str] = "distance"
    length_field: ClassVar[str] = "length"
    drivable: ClassVar[bool] = True
    limits: ClassVar[tuple[float, float]] = (0.0, math.inf)

    @property
    def start(self) -> float:
        return self.length


@dataclass(frozen=True, eq=False)
class PointOnPoint(Constraint):
    """Let the marker origins coincide: a ball joint that is always a constraint, never a tree joint.

    Rows: x, y, z of the second marker's origin in axes of the first. A drive of ``"name.x"`` and so on prescribes a
    coordinate of the point instead: with all three it follows any path. The force is the multiplier.
    """

    rows: ClassVar[tuple[str, ...]] = ("x", "y", "z")
    holonomic: ClassVar[tuple[bool, ...]] = (True, True, True)
    form: ClassVar[str] = "joint"  # its rows are those of a joint that closes a loop
    kernel: ClassVar[str] = "Spherical"
    drivable: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class PointOnLine(Constraint):
    """Keep the second marker's origin on a line of the first marker; relative rotation is free.

    Parameters
    ----------
    axis : str or (3,)
        Direction of the line through the first marker's origin.

    Rows: the two coordinates across the line; see ``frames`` for their directions.
    """

    axis: Any = "z"
    rows: ClassVar[tuple[str, ...]] = ("x", "y")
    holonomic: ClassVar[tuple[bool, ...]] = (True, True)
    kernel: ClassVar[str] = "point_on_line"
    drivable: ClassVar[bool] = True
    directions: ClassVar[tuple[str, ...]] = ("axis",)
    z_axes: ClassVar[tuple[str, str]] = ("axis", "")


@dataclass(frozen=True, eq=False)
class PointOnPlane(Constraint):
    """Keep the second marker's origin in a plane of the first marker.

    Parameters
    ----------
    normal : str or (3,)
        Normal of the plane through the first marker's origin.

    Row: the height above the plane, a coordinate of the point. A drive prescribes it.
    """

    normal: Any = "z"
    rows: ClassVar[tuple[str, ...]] = ("z",)
    holonomic: ClassVar[tuple[bool, ...]] = (True,)
    kernel: ClassVar[str] = "point_on_plane"
    drivable: ClassVar[bool] = True
    directions: ClassVar[tuple[str, ...]] = ("normal",)
    z_axes: ClassVar[tuple[str, str]] = ("normal", "")


@dataclass(frozen=True, eq=False)
class Parallel(Constraint):
    """Keep an axis of the second marker parallel to an axis of the first.

    Parameters
    ----------
    axis_1, axis_2 : str or (3,)
        In axes of the first and of the second marker; `axis_2` is `axis_1` if left out.
    """

    axis_1: Any = "z"
    axis_2: Any = None
    rows: ClassVar[tuple[str, ...]] = ("tilt_x", "tilt_y")
    holonomic: ClassVar[tuple[bool, ...]] = (True, True)
    kernel: ClassVar[str] = "parallel"
    directions: ClassVar[tuple[str, ...]] = ("axis_1", "axis_2")
    z_axes: ClassVar[tuple[str, str]] = ("axis_1", "axis_2")

    def __post_init__(self) -> None:
        if self.axis_2 is None:
            set_fields(self, axis_2=self.axis_1)
        super().__post_init__()


@dataclass(frozen=True, eq=False)
class AxisAngle(Constraint):
    """Keep an angle between an axis of the second marker and an axis of the first.

    Parameters
    ----------
    axis_1, axis_2 : str or (3,)
        In axes of the first and of the second marker.
    angle : float, rad
        Strictly between 0 and pi; for 0 use `Parallel`, which takes two equations. With `about`, any.
    about : str or (3,)
        Axis of the first marker about which the angle is a rotation, from the first axis to the second, right-handed.

    Row: cos(angle between the axes) = cos(angle), or with `about` the rotation angle, modulo full revolutions: neither
    axis may become parallel to `about`. A drive prescribes the angle. If the joints between the two bodies allow
    rotation about one axis only, and both axes are perpendicular to it, a driven angle is a rotation about that axis.
    Its sense is the one nearer to the start values (without any, the positive sense of the first joint), and it may
    pass 0, pi and any number of revolutions. Otherwise, as at a ball joint, the sense is ambiguous where the two axes
    meet. A run ends there with an error, or adds a note if the motion reversed: keep the angle between 0 and pi, or
    give `about`.
    """

    axis_1: Any = "x"
    axis_2: Any = "y"
    angle: float = math.pi / 2
    about: Any = None
    rows: ClassVar[tuple[str, ...]] = ("angle",)
    holonomic: ClassVar[tuple[bool, ...]] = (True,)
    drivable: ClassVar[bool] = True
    directions: ClassVar[tuple[str, ...]] = ("axis_1", "axis_2")

    def __post_init__(self) -> None:
        super().__post_init__()
        set_finite(self, "angle", item=self.kind, expressions=True)
        if self.about is not None:
            about = unit_vector(self.about, item=self.kind, field="about")
            set_fields(self, about=about)
            if 1.0 - abs(float(about @ self.axis_1)) < 1e-6:
                raise ModelError(
                    self.kind,
                    "about",
                    self.about,
                    "axis_1 is parallel to it, so the angle about it is undefined; choose another axis",
                )
        elif not 1e-3 < self.angle < math.pi - 1e-3:
            raise ModelError(
                self.kind, "angle", self.angle, "it must lie between 0 and pi; for parallel axes use Parallel"
            )

    def turning(self, about: Array) -> AxisAngle:
        """Return the same constraint as a rotation about an axis (3,) of the first marker."""
        twin = copy(self)
        set_fields(twin, about=about)
        return twin

    @property
    def kernel(self) -> str:  # type: ignore[override]
        """Name of the compiled rows."""
        return "angle" if self.about is None else "turn"

    @property
    def parameter(self) -> float:
        if self.about is not None:
            return self.angle
        return math.cos(self.angle) if self.angle != math.pi / 2 else 0.0

    @property
    def start(self) -> float:
        return self.angle

    def angle_branch(self, value: float) -> int:
        return math.floor(value / math.pi)

    def target(self, value: float, rate: float, second: float) -> tuple[float, float, float]:
        if self.about is not None:
            return super().target(value, rate, second)
        s, c = math.sin(value), math.cos(value)
        return c - self.parameter, -s * rate, -s * second - c * rate * rate

    def frames(self) -> tuple[Array, Array]:
        # x of the first frame and y of the second are the two axes
        second = np.roll(frame_with_z(self.axis_2), 2, axis=1)
        if self.about is None:
            return np.roll(frame_with_z(self.axis_1), 1, axis=1), second
        across = np.cross(self.about, self.axis_1)
        across /= np.linalg.norm(across)
        return np.column_stack([np.cross(across, self.about), across, self.about]), second


class Perpendicular(AxisAngle):
    """Keep an axis of the second marker perpendicular to an axis of the first.

    Parameters
    ----------
    axis_1, axis_2 : str or (3,)
    """

    def __init__(self, axis_1: Any = "x", axis_2: Any = "y") -> None:
        super().__init__(axis_1, axis_2)


@dataclass(frozen=True, eq=False)
class KnifeEdge(Constraint):
    """Let the second marker's origin move only along its blade: a skate, or a wheel without radius.

    Parameters
    ----------
    side : str or (3,)
        Direction across the blade, in axes of the second marker; velocity along it is zero.

    Row (nonholonomic): no velocity along `side`, regular in every orientation. Keeping the skate on the ice takes
    another constraint, such as `PointOnPlane`.
    """

    side: Any = "y"
    rows: ClassVar[tuple[str, ...]] = ("side",)
    holonomic: ClassVar[tuple[bool, ...]] = (False,)
    kernel: ClassVar[str] = "skate"
    directions: ClassVar[tuple[str, ...]] = ("side",)

    def frames(self) -> tuple[Array, Array]:
        return np.eye(3), np.roll(frame_with_z(self.side), 2, axis=1)


@dataclass(frozen=True, eq=False)
class RollingSphere(Constraint):
    """Sphere about the second marker's origin that rolls without slip on a plane of the first marker.

    Parameters
    ----------
    radius : float, m
    normal : str or (3,)
        Normal of the plane through the first marker's origin, towards the sphere.

    Rows: height of the centre = radius; no velocity of the point of contact in the plane (nonholonomic).
    """

    radius: float = 1.0
    normal: Any = "z"
    rows: ClassVar[tuple[str, ...]] = ("slip_x", "slip_y", "height")
    holonomic: ClassVar[tuple[bool, ...]] = (False, False, True)
    kernel: ClassVar[str] = "rolling_sphere"
    length_field: ClassVar[str] = "radius"
    directions: ClassVar[tuple[str, ...]] = ("normal",)
    z_axes: ClassVar[tuple[str, str]] = ("normal", "")


@dataclass(frozen=True, eq=False)
class RollingDisc(Constraint):
    """Thin disc about the second marker that rolls without slip on a plane of the first marker.

    Parameters
    ----------
    radius : float, m
    axis : str or (3,)
        The disc's axis, in axes of the second marker.
    normal : str or (3,)
        Normal of the plane through the first marker's origin, towards the disc.

    Rows: lowest point of the rim in the plane; no velocity of the point of contact (nonholonomic). The slip is taken
    along directions of the plane, so the rows keep their rank in every orientation of the disc, except lying flat,
    where there is no single contact point.
    """

    radius: float = 1.0
    axis: Any = "y"
    normal: Any = "z"
    rows: ClassVar[tuple[str, ...]] = ("slip_x", "slip_y", "height")
    holonomic: ClassVar[tuple[bool, ...]] = (False, False, True)
    kernel: ClassVar[str] = "rolling_disc"
    length_field: ClassVar[str] = "radius"
    directions: ClassVar[tuple[str, ...]] = ("axis", "normal")
    z_axes: ClassVar[tuple[str, str]] = ("normal", "axis")
