"""Joint interface: relative motion of two markers as a function of a few coordinates.

In the frame of the *first* marker (Sol 1983, section 3.3):

    pose(q)         C, c     rotation and displacement of the second marker
    motion(q)       H        [omega; v] of the second marker relative to the first is H v
    bias(q, v)      H' v     what remains of its rate, seen from the first marker, when v' = 0
    rates(q, v)     q' = N(q) v
    coordinates_of(C, c)     q nearest to a pose; angles within half a turn
    rows            names of the 6 - nv equations it amounts to where it closes a loop: displacements x, y, z of the
                    second marker, tilts of its axis, components rx, ry, rz of its orientation; in axes of the first
                    marker, turned so that the joint's axis is z (`frame`)

These NumPy functions are the readable definition and the reference for tests of the compiled joint of the same name
(`kernel`, in core/joints). The compiled joint may be traversed from either end and keeps the coordinates and signs
defined here.

A joint without a compiled kernel needs only coordinates and `pose`: its pose is traced once with symbolic arguments,
and everything else follows by differentiation.

Coordinates are radians and metres. All zero (quaternion (1, 0, 0, 0)) means that the two markers coincide.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...checks import finite_array, finite_number, set_fields, shape_of
from ...errors import ModelError
from ...parameters import Expression, split
from ...provenance import record_makers
from ...rotation import unit_vector
from ..formulas.formula_parameters import TIME
from ..formulas.kinematic_programs import PosePrograms, posed, shifts, typical_length
from ..formulas.traced_functions import traced
from .load_friction import LoadFriction

__all__ = ["TURN_X", "Joint", "columns", "frame_with_z", "turn_about_z"]

Axis = str | ArrayLike

# Traversed from its second end, a joint about or along z is again one of its kind, with the same sign, in frames
# rotated by pi about x.
TURN_X = ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0))
IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

JOINT_DATA_FIELDS = (
    "lower",
    "upper",
    "max_speed",
    "max_effort",
    "damping",
    "friction",
    "armature",
    "static_friction",
    "restitution",
)
_QUATERNION = ("qw", "qx", "qy", "qz")
_LENGTH_ROWS = frozenset({"x", "y", "z", "advance"})
_LENGTH_SPEEDS = frozenset({"slide", "x", "y", "vx", "vy", "vz"})


@dataclass(frozen=True, eq=False, kw_only=True)
class Joint:
    """Base of all joints: data of limits, friction and drive trains.

    Parameters
    ----------
    lower, upper : float or (nv,) rad or m
        Stops: the coordinate stays between them. It is stopped instantaneously on reaching one; see `restitution`.
    max_speed : float or (nv,) rad/s or m/s
        Not enforced; exceeding it adds a note.
    max_effort : float or (nv,) N m or N
        Limit of the total actuator effort: active elements at the joint and `control`. If more is requested, all are
        scaled by the same factor. Drives are not limited; exceeding it adds a note.
    damping : float or (nv,) N m s/rad or N s/m
        Viscous coefficient.
    friction : float or (nv,) N m or N
        Dry friction: effort that resists motion; it sticks up to `static_friction`.
    armature : float or (nv,) kg m2 or kg
        Inertia of a drive train, reflected to the coordinate; part of the mass matrix.
    static_friction : float or (nv,) N m or N
        Breakaway effort, at least the friction, which is the default.
    load_friction : LoadFriction
        Dry friction that depends on the transmitted load, in addition to `friction`.
    restitution : float or (nv,)
        Coefficient of restitution at a stop, 0 to 1; default 0.

    Notes are in ``result.stats.notes``.
    """

    lower: Any = None
    upper: Any = None
    max_speed: Any = None
    max_effort: Any = None
    damping: Any = None
    friction: Any = None
    armature: Any = None
    static_friction: Any = None
    restitution: Any = None
    load_friction: Any = None

    coordinates: ClassVar[tuple[str, ...]] = ()
    speeds: ClassVar[tuple[str, ...]] = ()
    rows: ClassVar[tuple[str, ...]] = ()
    directions: ClassVar[tuple[str, ...]] = ()
    kernel: ClassVar[str] = ""
    """Name of the compiled joint in core/joints; none: its pose is read into programs."""
    reversal: ClassVar[tuple[tuple[float, ...], ...]] = IDENTITY
    """Axes (3, 3) in which the compiled joint is of its own kind when it is walked from its second end."""
    allows_axis_reversal: ClassVar[bool] = False
    """True if the rows also hold with the third axes of the two frames opposed."""
    friction_load: ClassVar[str] = ""
    """Load component that causes friction: force ``"across"`` the axis, ``"along"`` it, or ``"all"``; else unknown."""
    independently_lockable: ClassVar[bool] = False
    """True if each coordinate can be locked separately: its meaning does not depend on the others."""

    plane: ClassVar[Any] = None
    """Normal (3,), in marker axes, of the plane in which it closes a loop; none: it closes one in space."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        record_makers(cls)
        if cls.kernel or cls.rows or not cls.coordinates:
            return
        cls.speeds = cls.speeds or cls.coordinates
        cls.rows = tuple(f"closure_{k + 1}" for k in range(6 - len(cls.speeds)))

    def __post_init__(self) -> None:
        for field in self.directions:
            set_fields(self, **{field: unit_vector(getattr(self, field), item=self.kind, field=field)})
        kept: dict[str, Expression] = {}
        for field in JOINT_DATA_FIELDS:
            value = getattr(self, field)
            if value is None:
                continue
            if type(value) is float and self.nv == 1:
                value = [value]
            one = isinstance(value, Expression)
            labels = [f"{field}[{k}]" for k in range(self.nv)]
            value, found = split(value, labels)
            kept |= dict.fromkeys(labels, found[labels[0]]) if one else found
            if shape_of(value) == ():
                value = np.full(self.nv, finite_number(value, item=self.kind, field=field))
            else:
                value = finite_array(value, (self.nv,), item=self.kind, field=field)
            if field not in ("lower", "upper") and (value < 0).any():
                raise ModelError(self.kind, field, value, "it must not be negative")
            value.flags.writeable = False
            set_fields(self, **{field: value})
        if kept:
            set_fields(self, expressions={**getattr(self, "expressions", {}), **kept})
        if self.lower is not None and self.upper is not None and (self.lower > self.upper).any():
            raise ModelError(self.kind, "lower", self.lower, f"it must not exceed the upper limit {self.upper}")
        self._check_friction()

    def _check_friction(self) -> None:
        """Raise `ModelError` for invalid data of friction and stops."""
        stops = [field for field in ("lower", "upper", "restitution") if getattr(self, field) is not None]
        if stops and self.nq != self.nv:
            remedy = "an orientation has no coordinate for a stop; limit it by a da.Limits at another joint"
            raise ModelError(self.kind, stops[0], getattr(self, stops[0]), remedy)
        if self.restitution is not None and (self.restitution > 1).any():
            raise ModelError(self.kind, "restitution", self.restitution, "use a number from 0 to 1")
        least = self.friction if self.friction is not None else np.zeros(self.nv)
        if self.static_friction is not None and (self.static_friction < least).any():
            remedy = f"it must not be less than the friction, {least}"
            raise ModelError(self.kind, "static_friction", self.static_friction, remedy)

        self._check_load_friction()

    def _check_load_friction(self) -> None:
        """Raise `ModelError` for load-dependent friction that does not fit the joint."""
        law = self.load_friction
        if law is None:
            return
        item, field = self.kind, "load_friction"
        if not isinstance(law, LoadFriction):
            raise ModelError(item, field, law, "give a da.LoadFriction(coefficient, radius=...)")
        if not self.friction_load:
            known = "Revolute, Prismatic, Cylindrical, Screw, Planar and Spherical"
            raise ModelError(item, field, law, f"{known} define the load for friction; use one of these joints")
        turns, slides = "rad" in self.speed_units, "m" in self.speed_units
        if turns and law.radius is None:
            raise ModelError(item, field, law, "it rotates: give the friction radius")
        if not turns and law.radius is not None:
            raise ModelError(item, field, law, "it does not rotate: leave the radius out")
        if law.collar and (slides or self.friction_load != "across"):
            raise ModelError(item, field, law, "it carries no load along its rotation axis: leave the collar out")
        if law.half_length is not None and self.friction_load == "all":
            raise ModelError(item, field, law, "it transmits no moments: leave half_length out")

    @property
    def has_dry_friction(self) -> bool:
        """True if the joint has dry friction."""
        given = any(f is not None and bool(f.any()) for f in (self.friction, self.static_friction))
        return given or self.load_friction is not None

    @property
    def has_vector_friction(self) -> bool:
        """True if friction is one vector opposed to the motion, not one force per velocity."""
        return self.nv > 1 and (self.friction_load == "all" or self.load_friction is not None)

    @property
    def can_stick(self) -> bool:
        """True if the joint can stick: it has dry friction or stops."""
        return self.has_dry_friction or self.lower is not None or self.upper is not None

    @property
    def loop_row_mask(self) -> int:
        """Bits of the rows of its kind that it has as a cut joint; 0: all of them."""
        every = type(self).rows
        return 0 if self.plane is None else 1 << len(every) | sum(1 << every.index(row) for row in self.rows)

    @property
    def hold_row_names(self) -> tuple[str, ...]:
        """Names of the rows that hold its coordinates while it sticks as a cut joint."""
        return tuple(f"hold_{speed}" for speed in self.speeds) if self.can_stick else ()

    @property
    def holonomic(self) -> tuple[bool, ...]:
        """Holonomic flags of the rows: all True."""
        return (True,) * len(self.rows)

    @property
    def kind(self) -> str:
        """Name of the joint type."""
        return type(self).__name__

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    @property
    def nv(self) -> int:
        """Number of velocities, equal to the degrees of freedom."""
        return len(self.speeds)

    def coordinate_name(self, owner: str, number: int) -> str:
        """Return the name of a coordinate; a single coordinate has the name of the connection, `owner`."""
        return owner if self.nq == 1 else f"{owner}.{self.coordinates[number]}"

    @property
    def zero(self) -> Array:
        """Coordinates at which the two markers coincide."""
        return np.array([1.0 if name == "qw" else 0.0 for name in self.coordinates])

    @property
    def counts_turns(self) -> bool:
        """True if coordinates that differ by a full revolution are different poses."""
        return not self.kernel

    @property
    def parameter(self) -> float:
        """Scalar parameter of the compiled joint."""
        return 0.0

    @property
    def speed_units(self) -> tuple[str, ...]:
        """Units whose rates the velocities are: ``"m"`` or ``"rad"``, ``"s"`` for a clock."""
        if self.kernel:
            return tuple("m" if speed in _LENGTH_SPEEDS else "rad" for speed in self.speeds)
        units = {TIME: "s"}
        return tuple(units.get(speed, "rad" if speed.startswith("angle") else "m") for speed in self.speeds)

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        """Units of the coordinates: those of the velocities; ``"1"`` for a quaternion."""
        if self.nq == self.nv:
            return self.speed_units
        return tuple("1" if name in _QUATERNION else "m" for name in self.coordinates)

    @property
    def row_units(self) -> tuple[str, ...]:
        """Units of the rows; without a compiled kernel, rotations are scaled by a length of the joint."""
        return tuple("m" if row in _LENGTH_ROWS or not self.kernel else "rad" for row in self.rows)

    def frame(self) -> Array:
        """Axes of the compiled joint: (3, 3), columns in marker axes."""
        return np.eye(3)

    def pose(self, q: Array) -> tuple[Array, Array]:
        """Return C (3, 3) and c (3,) of the second marker in the first."""
        raise NotImplementedError

    def motion(self, q: Array) -> Array:
        """Return H (6, nv), [omega; v] of the second marker in axes of the first."""
        return self.programs[0].at(q)[2]

    def bias(self, q: Array, v: Array) -> Array:
        """Return H' v (6,), in axes of the first marker."""
        return np.zeros(6) if self.kernel else self.programs[0].bias_at(q, v)

    def rates(self, q: Array, v: Array) -> Array:
        """Return q' (nq,)."""
        return np.array(v, dtype=float)

    def bracket(self, v: Array) -> Array:
        """Return K (nv, nv) in xi' = dv + K xi, xi the small motion to a neighbour with velocities v + dv.

        Zero where velocities are rates of coordinates; otherwise successive rotations do not add.
        """
        return np.zeros((self.nv, self.nv))

    def coordinates_of(self, C: Array, c: Array) -> Array:
        """Return the coordinates (nq,) nearest to a pose; without a compiled kernel, the best of a few searches."""
        best: tuple[Array, float] | None = None
        for start in self.starts:
            found = self.programs[0].nearest(C, c, start, self.length)
            if best is None or found[1] < best[1]:
                best = found
            if best[1] < 1e-9 * (1.0 + self.length):
                break
        assert best is not None
        return best[0]

    # ---- without a compiled kernel

    @cached_property
    def programs(self) -> tuple[PosePrograms, PosePrograms]:
        """Programs of the pose of the second marker in the first, and of the inverse pose."""
        names = tuple(f"q{k}" for k in range(self.nq))
        (rotation, position), parts = traced(lambda *q: self.pose(np.array(q, dtype=object)), names, item=self.kind)
        return posed(self.kind, names, position, rotation, parts)

    @cached_property
    def length(self) -> float:
        """Characteristic length of the joint, m: displacement of the second marker for coordinates of order one."""
        return typical_length(self.programs[0], self.starts)

    @property
    def starts(self) -> Array:
        """Initial guesses (k, nq) of the coordinates of a cut joint at a given pose."""
        return np.array([self.zero, *(self.zero + shift for shift in shifts(self.nq))])


def frame_with_z(axis: Axis) -> Array:
    """Return a right-handed frame (3, 3) whose third column is the unit vector `axis`.

    The first column is the coordinate axis that follows the largest component of `axis`
    cyclically, made perpendicular; so ``"z"`` gives (x, y, z) and ``"x"`` gives (y, z, x).
    """
    return _frame_with_z(*np.asarray(axis, dtype=float).tolist()).copy()


@lru_cache(maxsize=1024)  # large systems have few axes
def _frame_with_z(nx: float, ny: float, nz: float) -> Array:
    n = np.array([nx, ny, nz])
    x = np.eye(3)[(int(np.abs(n).argmax()) + 1) % 3]
    x = x - n * (n @ x)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(n, x), n])


def turn_about_z(axes: Array, C: Array) -> float:
    """Return the rotation angle of C (3, 3) about the third of some axes, rad, within +-pi."""
    R = axes.T @ C @ axes
    return float(np.arctan2(R[1, 0] - R[0, 1], R[0, 0] + R[1, 1]))


def columns(*pairs: tuple[Any, Any]) -> Array:
    """Return H (6, n) from pairs of angular and linear parts (3,), None for zero."""
    zero = np.zeros(3)
    return np.column_stack([np.concatenate([zero if w is None else w, zero if u is None else u]) for w, u in pairs])
