"""Parameter map: parameters of a description and the table entries of the core that follow from them.

Parameters are numbers that can change without recompilation, by name: masses, centres of mass, inertias, positions and
orientations of markers, lengths, ratios, radii, numbers of laws, gravity. The core holds their values in one list and
maps them to entries of its tables (core/model/parameter_maps.hpp). Element parameters, those of force elements and
dampers, precede them and are read directly (`ElementTables.parameters`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, IndexArray
from ..bodies.markers import Marker
from ..connections.connection import Connection
from ..connections.constraints.cams import CamFollower
from ..connections.constraints.couplings import CustomCoupling
from ..connections.constraints.geometric import (
    AxisAngle,
    Constraint,
    Distance,
    Perpendicular,
    RollingDisc,
    RollingSphere,
)
from ..connections.constraints.ropes import Rope
from ..connections.drives import Drive
from ..connections.joints import Joint, Screw
from ..connections.laws import Constant, Harmonic, Law, Polynomial, Ramp, Spline
from ..connections.piecewise_laws import LinearInterpolation, ZeroOrderHold
from ..parameters import Expression, Parameter, expressions_of
from ..rotation import rotation_vectors
from ..system.topology import Forest
from .body_layout import modes_of
from .element_tables import ElementTables
from .frames import FrameMap, joint_axes, row_axes
from .names import Names, full_names
from .schema import number, table

__all__ = ["TABLES", "ParameterGroup", "ParameterMap", "collect_parameters", "law_fields"]


_PLACE = ("x", "y", "z", "rx", "ry", "rz")
_PLACE_UNITS = ("m", "m", "m", "rad", "rad", "rad")
_BODY = ("mass", "com.x", "com.y", "com.z", *(f"inertia.{ij}" for ij in ("xx", "xy", "xz", "yy", "yz", "zz")))
_BODY_UNITS = ("kg", "m", "m", "m", *["kg m2"] * 6)
_ENDS = ("first", "second", "third", *(f"end_{k}" for k in range(4, 12)))
_IDENTITY, _ZERO = np.eye(3), np.zeros(3)
_IDENTITY_BYTES = _IDENTITY.tobytes()
JOINT_DATA_FIELDS = ("lower", "upper", "static_friction", "restitution", "max_speed")


@dataclass(frozen=True)
class ParameterGroup:
    """Parameters of one part of a description.

    Attributes
    ----------
    what : str
        ``"gravity"``, ``"body"``, ``"marker"``, ``"joint"``, ``"program"``,
        ``"constraint"``, ``"coupling"``, ``"law"``,
        ``"modes"``.
    key : tuple
        Key of the part: names that locate it in a description.
    names : tuple of str
    units : tuple of str
    first : int
        Index of its first number.
    also : tuple of str
        Alternative name prefixes: for a named marker, the ends of connections at it.
    """

    what: str
    key: tuple[Any, ...]
    names: tuple[str, ...]
    units: tuple[str, ...]
    first: int
    also: tuple[str, ...] = ()

    @property
    def span(self) -> slice:
        """Indices of the parameters of the group."""
        return slice(self.first, self.first + len(self.names))


@dataclass(frozen=True, eq=False)
class ParameterMap:
    """Mapped parameters of a description, and the tables by which the core applies them.

    Attributes
    ----------
    groups : tuple of Group
    values : (n,)
    tables : dict of str to array
    named : dict of str to Parameter
        Of the description; their values stand among the numbers.
    follows : dict of int to Expression
        Expressions of named parameters by index: element parameters first, then mapped parameters.
    """

    groups: tuple[ParameterGroup, ...]
    values: Array
    tables: dict[str, NDArray[Any]]
    named: dict[str, Parameter]
    follows: dict[int, Expression]

    @cached_property
    def names(self) -> dict[str, int]:
        """Index of each parameter by name; of two with one name, the first."""
        places: dict[str, int] = {}
        for group in self.groups:
            for k, name in enumerate(group.names):
                places.setdefault(name, group.first + k)
        for group in self.groups:
            for prefix in group.also:
                for k, label in enumerate(_PLACE):
                    places.setdefault(f"{prefix}.{label}", group.first + k)
        return places

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Unit of each number."""
        return tuple(unit for group in self.groups for unit in group.units)

    @cached_property
    def firsts(self) -> IndexArray:
        """First index of each group."""
        return np.array([group.first for group in self.groups], dtype=np.intp)

    def group_of(self, place: int) -> ParameterGroup:
        """Return the group of a parameter."""
        return self.groups[int(np.searchsorted(self.firsts, place, side="right")) - 1]


TABLES = (ZeroOrderHold, LinearInterpolation, Spline)  # laws whose coefficients are linear in their values
MAX_TABLE_VALUES = 200  # of a zero-order hold or linear interpolation: values of longer ones are no parameters
MAX_SPLINE_VALUES = 40  # of a spline, whose coefficients all depend on each value


def law_fields(law: Any) -> tuple[str, ...]:
    """Return the names of a law's parameters in the order of the core; empty if none can be changed."""
    match law:
        case Constant():
            return ("value",)
        case Polynomial():
            return tuple(f"coefficients[{k}]" for k in range(len(law.coefficients)))
        case Harmonic():
            return ("amplitude", "frequency", "phase", "offset")
        case Ramp():
            return ("start", "end", "duration", "begin")
        case ZeroOrderHold() | LinearInterpolation() if np.size(law.values) <= MAX_TABLE_VALUES:
            return tuple(f"values[{k}]" for k in range(np.size(law.values)))
        case Spline() if np.size(law.values) <= MAX_SPLINE_VALUES:
            return tuple(f"values[{k}]" for k in range(np.size(law.values)))
    return ()


def _law_values(law: Any) -> tuple[float, ...]:
    if isinstance(law, Polynomial):
        return law.coefficients
    if isinstance(law, TABLES):
        return tuple(np.asarray(law.values).tolist())
    return tuple(getattr(law, field) for field in law_fields(law))


def _law_units(law: Any, unit: str) -> tuple[str, ...]:
    match law:
        case Polynomial():
            return tuple(
                unit if not k else f"{unit}/s" if k == 1 else f"{unit}/s{k}" for k in range(len(law.coefficients))
            )
        case Harmonic():
            return (unit, "rad/s", "rad", unit)
        case Ramp():
            return (unit, unit, "s", "s")
        case Spline() | ZeroOrderHold() | LinearInterpolation():
            return (unit,) * len(law_fields(law))
    return (unit,)


def _table_map(law: Any) -> list[tuple[int, int, float]]:
    """Return which numbers of a table in the core follow from its values: (number, value, factor), by number.

    Coefficients of the pieces are linear in the values.
    """
    count = np.size(law.values)
    if isinstance(law, Spline):
        from scipy.interpolate import PPoly, make_interp_spline

        unit = make_interp_spline(np.asarray(law.times), np.eye(count), k=law.degree)
        curves = [PPoly.from_spline((unit.t, column, unit.k)) for column in unit.c.T]
        whole = np.flatnonzero(np.diff(curves[0].x) > 0)
        slopes = np.stack([curve.c[::-1, whole].T for curve in curves], axis=-1)  # (pieces, degree + 1, values)
    elif isinstance(law, ZeroOrderHold):
        slopes = np.eye(count)[:, None]
    else:
        slopes = np.stack([type(law)(law.times, row).pieces()[1] for row in np.eye(count)], axis=-1)
    pieces = slopes.reshape(-1, count)
    first = len(law.pieces()[0])  # the ends of the pieces come before
    rows, columns = np.nonzero(np.abs(pieces) > 1e-14 * np.abs(pieces).max(axis=1, keepdims=True))
    factors = pieces[rows, columns]
    return list(zip((first + rows).tolist(), columns.tolist(), factors.tolist(), strict=True))


class _Collector:
    """Collects parameters and their map for the core."""

    def __init__(self, forest: Forest, frames: FrameMap, names: Names) -> None:
        self.forest, self.frames, self.names = forest, frames, names
        self.groups: list[ParameterGroup] = []
        self.values: list[float] = []
        self._markers: dict[Marker, int] = {}  # row in `_marker_rows`
        self._marker_rows: list[tuple[Array, Array, int]] = []
        self.poses: list[tuple[int, int, int, int, Array]] = []
        self.scalars: list[tuple[int, int, int, int, float]] = []
        self.follows: dict[int, Expression] = {}
        self._ends = self._named_ends()

    def add(
        self,
        what: str,
        key: tuple[Any, ...],
        names: Sequence[str],
        units: Sequence[str],
        values: Iterable[float],
        follow: Mapping[int, Expression] | None = None,
    ) -> int:
        """Add a group of parameters, some with expressions; return the index of the first."""
        first = len(self.values)
        self.follows.update({first + k: expression for k, expression in (follow or {}).items()})
        self.values += map(float, values)
        self.groups.append(ParameterGroup(what, key, tuple(names), tuple(units), first))
        return first

    def scalar(self, target: str, row: int, place: int, factor: float = 1.0, second: int = -1) -> None:
        """Map a table entry to one parameter, or to the product of two."""
        self.scalars.append((place, second, number("scalar_target", target), row, factor))

    # ---- markers

    def _named_ends(self) -> dict[Marker, tuple[str, tuple[Any, ...]]]:
        """Return, by identity, the names of markers at the ends of connections and their positions."""
        ends: dict[Marker, tuple[str, tuple[Any, ...]]] = {}
        system = self.forest.system
        for c in system.connections.values():
            for label, marker in (("first", c.first), ("second", c.second)):
                ends.setdefault(marker, (f"{c.name}.{label}", ("connection", c.name, label)))
        for f in system.forces.values():
            for k, marker in enumerate(f.ends):
                ends.setdefault(marker, (f"{f.name}.{_ENDS[k]}", ("force", f.name, k)))
        return ends

    def marker(self, marker: Marker) -> int:
        """Return the row of a marker in the parameter map."""
        known = self._markers.get(marker)
        if known is not None:
            return known
        place = -1
        called = self._ends.get(marker)
        if not modes_of(marker.body) and (marker.label is not None or called is not None):
            prefix = called[0] if called is not None else ""
            key: tuple[Any, ...] = called[1] if called is not None else ()
            if marker.label is not None:
                prefix, key = f"{marker.body.name}.{marker.label}", ("named", marker.body.name, marker.label)
            values = (*marker.position.tolist(), *_turn(marker.rotation).tolist())
            names = [f"{prefix}.{label}" for label in _PLACE]
            place = self.add("marker", key, names, _PLACE_UNITS, values, _at(_PLACE, marker.expressions))
        self._marker_rows.append((marker.rotation, marker.position, place))
        self._markers[marker] = len(self._marker_rows) - 1
        return self._markers[marker]

    def pose(self, target: str, row: int, marker: Marker, axes: Array | None = None) -> None:
        """Map a pose of the tables to a marker, as `FrameMap.place` gives it."""
        places = self.frames.layout
        place = places.find(marker)
        kind = places.rows[place - 1].kind if place else "rigid"
        base = -1 if kind in ("node", "modal") else self.forest.number[marker.body.name]
        self._pose(target, row, self._arm(marker) if kind == "node" else self.marker(marker), base, axes)

    def _arm(self, marker: Marker) -> int:
        """Return the row of a marker at a node of a flexible body; no parameter moves it."""
        self._marker_rows.append((marker.rotation, np.zeros(3) if marker.arm is None else marker.arm, -1))
        return len(self._marker_rows) - 1

    def _pose(self, target: str, row: int, marker: int, base: int, axes: Array | None) -> None:
        turned = _IDENTITY if axes is None else axes
        self.poses.append((marker, base, number("pose_target", target), row, turned))

    # ---- parts of a description

    def gravity(self) -> None:
        first = self.add(
            "gravity",
            (),
            [f"gravity.{a}" for a in "xyz"],
            ["m/s2"] * 3,
            self.forest.system.gravity.tolist(),
            _at([f"gravity.{a}" for a in "xyz"], self.forest.system.expressions),
        )
        for k in range(3):
            self.scalar("gravity", k, first + k)

    def bodies(self) -> dict[str, NDArray[Any]]:
        """Add mass properties of rigid bodies and parameters of joints; return tables of frames and inertias."""
        forest, frames = self.forest, self.frames
        places, nb = frames.layout, forest.nb
        axes_of, markers, inertias = np.zeros((nb, 9)), np.zeros(nb, dtype=np.int32), []
        for k, (joint, parent) in enumerate(zip(forest.joints, forest.parent, strict=True), start=1):
            body = forest.system.bodies[forest.bodies[k]]
            axes = joint_axes(joint)
            axes_of[k - 1], markers[k - 1] = axes.ravel(), self.marker(joint.outboard)
            carrier, start = int(places.carrier[k]), int(places.inboard[k - 1])
            kind = places.rows[start - 1].kind if start else "rigid"
            base = -1 if kind in ("node", "modal") else int(parent)
            inboard = self._arm(joint.inboard) if kind == "node" else self.marker(joint.inboard)
            self._pose("joint", carrier, inboard, base, axes)
            self._pose("body", carrier, -1, k, None)
            self.pose("marker", k - 1, joint.inboard if joint.reversed else joint.outboard)
            if not modes_of(body):
                (xx, xy, xz), (_, yy, yz), (_, _, zz) = body.inertia.tolist()
                values = (body.mass, *body.com.tolist(), xx, xy, xz, yy, yz, zz)
                names = [f"{body.name}.{label}" for label in _BODY]
                follow = _at(_BODY, body.expressions)
                inertias.append((carrier, k, self.add("body", (body.name,), names, _BODY_UNITS, values, follow)))
            self._joint_data(joint.name, joint.element, carrier, tree=True)
        frame_rows, inertia_rows = table("frame_maps", nb), table("inertia_maps", len(inertias))
        frame_rows["axes"], frame_rows["marker"] = axes_of, markers
        for field, column in zip(("body", "user", "number"), zip(*inertias, strict=True), strict=False):
            inertia_rows[field] = column
        return {"frame_maps": frame_rows, "inertia_maps": inertia_rows}

    def _joint_data(self, name: str, joint: Joint, row: int, *, tree: bool) -> None:
        if isinstance(joint, Screw):
            follow = _at(("pitch",), expressions_of(joint))
            place = self.add("joint", (name, "pitch"), [f"{name}.pitch"], ["m"], [joint.pitch], follow)
            self.scalar("pitch" if tree else "loop_constraint", row, place, 1.0 / (2 * math.pi))
        speeds = full_names(name, joint.speeds)
        if tree and joint.armature is not None and joint.armature.all():
            units = ["kg" if unit == "m" else "kg m2" for unit in joint.speed_units]
            names, follow = [f"{s}.armature" for s in speeds], self._each(joint, "armature")
            first = self.add("joint", (name, "armature"), names, units, joint.armature, follow)
            for k in range(joint.nv):
                self.scalar("armature", self.names.v[name].start + k, first + k)
        for field in JOINT_DATA_FIELDS:
            value = getattr(joint, field)
            if value is not None and np.isfinite(value).all():
                effort = ["N" if unit == "m" else "N m" for unit in joint.speed_units]
                units = {
                    "static_friction": effort,
                    "restitution": ["1"] * joint.nv,
                    "max_speed": [f"{unit}/s" for unit in joint.speed_units],
                }.get(field, list(joint.speed_units))
                names, follow = [f"{s}.{field}" for s in speeds], self._each(joint, field)
                self.add("joint", (name, field), names, units, value, follow)

    @staticmethod
    def _each(joint: Joint, field: str) -> dict[int, Expression]:
        return _at([f"{field}[{k}]" for k in range(joint.nv)], expressions_of(joint))

    def closures(self, drives: Sequence[Drive]) -> None:
        """Add ends and parameters of loop constraints."""
        driven = {drive.connection.name: k for k, drive in enumerate(drives) if not drive.of_joint}
        for k, loop_constraint in enumerate(self.forest.loop_constraints):
            element = loop_constraint.element
            axes = row_axes(element)
            self.pose("loop_constraint_a", k, loop_constraint.first, axes[0])
            self.pose("loop_constraint_b", k, loop_constraint.second, axes[1])
            self.pose("loop_constraint_marker", k, loop_constraint.second)
            if isinstance(element, Joint):
                self._joint_data(loop_constraint.name, element, k, tree=False)
            else:
                self._constraint(loop_constraint, element, k, driven.get(loop_constraint.name))
        coupled, row = 0, len(self.forest.loop_constraints)
        for coupling in self.forest.couplings:
            law = coupling.element
            if isinstance(law, CustomCoupling):
                coupled += len(coupling.joint_coordinates)
            else:
                units = (
                    coupling.row_units[0] + "/" + _coordinate_unit(coupling.joint_coordinates[0]),
                    coupling.row_units[0],
                )
                if law.ratio:
                    names = (f"{coupling.name}.ratio", f"{coupling.name}.offset")
                    follow = _at(("ratio", "offset"), expressions_of(law))
                    first = self.add("coupling", (coupling.name,), names, units, (law.ratio, law.offset), follow)
                    self.scalar("coupled", coupled, first, -1.0)
                    self.scalar("loop_constraint", row, first + 1)
                coupled += 1 + bool(law.ratio)
            row += 1

    def joints(self, own: Mapping[str, Mapping[str, Sequence[int]]]) -> None:
        """Add parameters of formulas of joints, constraints and couplings."""
        system = self.forest.system
        for name, places in own.items():
            owner: Any = system.couplings[name] if name in system.couplings else system.connections[name]
            values = owner.element.parameters
            follow = _at(tuple(places), expressions_of(owner.element))
            names = [f"{name}.{label}" for label in places]
            first = self.add("program", (name,), names, ["1"] * len(names), [values[p] for p in places], follow)
            for k, rows in enumerate(places.values()):
                for row in rows:
                    self.scalar("joint", row, first + k)

    def _constraint(self, loop_constraint: Connection, element: Constraint, row: int, drive: int | None) -> None:
        lengths = ((Distance, "length"), (Rope, "length"))
        fields = (*lengths, (RollingSphere, "radius"), (RollingDisc, "radius"), (CamFollower, "radius"))
        field = next((label for kind, label in fields if isinstance(element, kind)), "")
        if isinstance(element, AxisAngle) and not isinstance(element, Perpendicular):
            field = "angle"
        if not field or (isinstance(element, CamFollower) and not element.radius):
            return
        value = getattr(element, field)
        unit = "rad" if field == "angle" else "m"
        cosine = isinstance(element, AxisAngle) and element.about is None  # the core has its cosine
        place = self.add(
            "constraint",
            (loop_constraint.name, field),
            [f"{loop_constraint.name}.{field}"],
            [unit],
            [element.parameter if field == "angle" else value],
            _at((field,), {k: Expression("cos", x) if cosine else x for k, x in expressions_of(element).items()}),
        )
        self.scalar("loop_constraint", row, place)
        if drive is not None and isinstance(element, (Distance, AxisAngle)):
            self.scalar("offset", drive, place)

    def elements(self, elements: ElementTables, drives: Sequence[Drive]) -> None:
        """Add ends of force elements, and the parameters of time laws."""
        for port, (first, second) in elements.port_ends.items():
            self.pose("port_a", port, first)
            self.pose("port_b", port, second)
        rows = elements.laws.rows.array()
        inputs = elements.inputs.array()
        law_source = number("source", "law")
        places = [int(row["place"]) for row in inputs if row["source"] == law_source]
        known: dict[str, int] = {}
        for name, place in zip(elements.inputs_by_law, places, strict=True):
            owner, _, label = name.rpartition(".")
            law = elements.laws.laws[place]
            self._law(law, int(rows[place]["first"]), name, ("force", owner, label), "", known)
        k = len(places)
        for drive in drives:
            units = _drive_units(drive)
            for part, law in enumerate(drive.laws):
                prefix = f"{drive.name}.drive" if len(drive.laws) == 1 else f"{drive.name}.drive[{part}]"
                place = elements.drive_laws[drive.name] + part
                self._law(law, int(rows[place]["first"]), prefix, ("drive", drive.name, part), units[part], known)
                k += 1

    def _law(self, law: Law, row: int, prefix: str, key: tuple[Any, ...], unit: str, known: dict[str, int]) -> None:
        fields = law_fields(law)
        if not fields:
            return
        if prefix not in known:
            names = [f"{prefix}.{field}" for field in fields]
            follow = _at(fields, expressions_of(law))
            known[prefix] = self.add("law", key, names, _law_units(law, unit), _law_values(law), follow)
        if isinstance(law, TABLES):
            set_numbers: set[int] = set()
            for entry, value, factor in _table_map(law):
                self.scalar("law_term" if entry in set_numbers else "law", row + entry, known[prefix] + value, factor)
                set_numbers.add(entry)
            return
        for k in range(len(fields)):
            self.scalar("law", row + k, known[prefix] + k)

    def modes(self) -> None:
        """Add modal stiffness and damping: one by one if uncoupled, and a common factor."""
        before = 0
        for name in self.names.flexible:
            flexible = self.forest.system.bodies[name].flexible
            assert flexible is not None
            n = flexible.nm
            factors = self.add(
                "modes",
                (name, "factors"),
                [f"{name}.stiffness_factor", f"{name}.damping_factor"],
                ["1", "1"],
                (1.0, 1.0),
            )
            for which, (label, matrix) in enumerate(
                (("stiffness", flexible.modal_stiffness), ("damping", flexible.modal_damping))
            ):
                start = before + which * n * n
                single = not (matrix - np.diag(np.diag(matrix))).any()
                if single:
                    names = [f"{name}.eta[{k}].{label}" for k in range(n)]
                    units = ["N/m" if label == "stiffness" else "N s/m"] * n
                    first = self.add("modes", (name, label), names, units, np.diag(matrix))
                    for k in range(n):
                        self.scalar("elastic", start + k * (n + 1), first + k, 1.0, factors + which)
                    continue
                for entry in np.flatnonzero(matrix).tolist():
                    self.scalar("elastic", start + entry, factors + which, float(matrix.flat[entry]))
            before += 2 * n * n

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the tables of the parameter map."""
        markers, poses = table("marker_maps", len(self._marker_rows)), table("pose_maps", len(self.poses))
        if self._marker_rows:
            R, p, places = zip(*self._marker_rows, strict=True)
            markers["R"], markers["p"] = np.concatenate(R).reshape(-1, 9), np.concatenate(p).reshape(-1, 3)
            markers["number"] = places
        if self.poses:
            *columns, axes = zip(*self.poses, strict=True)
            for field, column in zip(("marker", "base", "target", "row"), columns, strict=True):
                poses[field] = column
            poses["axes"] = np.concatenate(axes).reshape(-1, 9)
        scalars = table("scalar_maps", len(self.scalars))
        for field, column in zip(
            ("number", "second", "target", "row", "factor"), zip(*self.scalars, strict=True), strict=False
        ):
            scalars[field] = column
        return {
            "mapped_parameters": np.array(self.values, dtype=float),
            "marker_maps": markers,
            "pose_maps": poses,
            "scalar_maps": scalars,
        }

    def with_aliases(self) -> tuple[ParameterGroup, ...]:
        """Return the groups; named markers are also known by the connections at them."""
        also: dict[int, list[str]] = {}
        for key, row in self._markers.items():
            place, called = self._marker_rows[row][2], self._ends.get(key)
            if place >= 0 and called is not None:
                also.setdefault(place, []).append(called[0])
        system = self.forest.system
        for c in system.connections.values():
            for label, marker in (("first", c.first), ("second", c.second)):
                row = self._markers.get(marker, -1)
                if row >= 0 and self._marker_rows[row][2] >= 0:
                    also.setdefault(self._marker_rows[row][2], []).append(f"{c.name}.{label}")
        return tuple(
            group
            if group.first not in also
            else ParameterGroup(
                group.what, group.key, group.names, group.units, group.first, tuple(dict.fromkeys(also[group.first]))
            )
            for group in self.groups
        )


def _at(labels: Sequence[str], expressions: Mapping[str, Expression]) -> dict[int, Expression]:
    """Return expressions by index among labels."""
    return {k: expressions[label] for k, label in enumerate(labels) if label in expressions} if expressions else {}


def _of_elements(forest: Forest, elements: ElementTables) -> dict[int, Expression]:
    """Return the expressions of the parameters of elements, dampers and friction, by index."""
    follows: dict[int, Expression] = {}
    places = elements.parameter_names
    for force in forest.system.forces.values():
        follows.update({places[f"{force.name}.{k}"]: x for k, x in expressions_of(force.element).items()})
    for c in forest.system.connections.values():
        if isinstance(c.element, Joint) and expressions_of(c.element):
            for k, speed in enumerate(full_names(c.name, c.element.speeds)):
                for field in ("damping", "friction"):
                    expression = expressions_of(c.element).get(f"{field}[{k}]")
                    if expression is not None and f"{speed}.{field}" in places:
                        follows[places[f"{speed}.{field}"]] = expression
    return follows


def _turn(rotation: Array) -> Array:
    """Return the rotation vector of a rotation; exactly zero for the identity."""
    identity = rotation.tobytes() == _IDENTITY_BYTES or (rotation == _IDENTITY).all()  # bytes first: it is common
    return _ZERO if identity else rotation_vectors(rotation[None])[0]


def _coordinate_unit(place: tuple[Connection, int]) -> str:
    joint, part = place
    assert isinstance(joint.element, Joint)
    units = joint.element.speed_units  # a mimic rule may refer to a joint without motion
    return units[part] if part < len(units) else "1"


def _drive_units(drive: Drive) -> list[str]:
    """Return the unit of the value of each law of a drive."""
    element = drive.connection.element
    if len(drive.laws) > 1:
        turns = len(drive.laws) - len(getattr(drive, "place", ()))
        return ["rad" if turns == 3 else "1"] * turns + ["m"] * (len(drive.laws) - turns)
    if isinstance(element, Joint):
        unit = element.speed_units[drive.coordinate]
    else:
        owner: Any = element if isinstance(element, Constraint) else drive.connection
        unit = owner.row_units[drive.coordinate]
    return [unit + ("", "/s", "/s2")[drive.level]]


def collect_parameters(
    forest: Forest,
    frames: FrameMap,
    names: Names,
    elements: ElementTables,
    drives: Sequence[Drive],
    joints: Mapping[str, Mapping[str, Sequence[int]]],
) -> ParameterMap:
    """Return the parameters of a description and the maps of the core; joints: see `ConnectionProgramTables.own`."""
    collector = _Collector(forest, frames, names)
    collector.gravity()
    tables = collector.bodies()
    collector.closures(drives)
    collector.joints(joints)
    collector.elements(elements, drives)
    collector.modes()
    for body in (forest.system.ground, *forest.system.bodies.values()):
        for marker in body.markers.values():
            collector.marker(marker)
    named = dict(forest.system.named)
    units = [parameter.unit for parameter in named.values()]
    collector.add("named", (), list(named), units, [parameter.described for parameter in named.values()])
    count = len(elements.parameters)
    follows = {count + place: expression for place, expression in collector.follows.items()}
    follows |= _of_elements(forest, elements)
    values = np.array(collector.values, dtype=float)
    values.flags.writeable = False
    return ParameterMap(collector.with_aliases(), values, {**tables, **collector.arrays()}, named, follows)
