"""Names and indices of coordinates, velocities, constraint rows and connections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..arrays import BoolArray
from ..checks import set_fields
from ..connections.connection import Connection
from ..connections.constraints.couplings import CoordinateConnection
from ..connections.constraints.ropes import Rope
from ..connections.joints import Joint
from ..errors import ModelError
from ..system.topology import Forest
from .body_layout import modes_of

__all__ = ["Names", "full_names", "holds_of", "rows_of"]


def full_names(joint: str, parts: Sequence[str]) -> list[str]:
    """Return the names of a joint's coordinates: the joint's name if there is one, else with endings."""
    return [joint] if len(parts) == 1 else [f"{joint}.{part}" for part in parts]


def holds_of(closure: Connection | CoordinateConnection) -> tuple[str, ...]:
    """Return the rows that hold the coordinates of a cut joint while it sticks, or of a taut rope."""
    return closure.element.hold_row_names if isinstance(closure.element, (Joint, Rope)) else ()


def rows_of(closure: Connection | CoordinateConnection) -> tuple[str, ...]:
    """Return the names of a closure's rows, holding rows last."""
    return (*closure.element.rows, *holds_of(closure))


@dataclass(frozen=True, eq=False)
class Names:
    """Names of a forest, in the order of the core.

    Attributes
    ----------
    bodies, joints : tuple of str, (nb,)
    coordinates, speeds : tuple of str, (nq,) and (nv,)
    coordinate_kinds, speed_kinds : tuple of str
        Endings of the joint's coordinates (``"angle"``, ``"qw"``), or ``"eta"`` of modes.
    coordinate_units, speed_units : tuple of str, (nq,) and (nv,)
        Of coordinates, and of what velocities are rates of: ``"rad"``, ``"m"``, ``"s"``, ``"1"``.
    q, v : dict of str to slice
        Index ranges of coordinates and velocities of a joint, or of the modes of a flexible body.
    flexible : tuple of str
    closures : tuple of Connection and CoordinateConnection
        Closures: loop constraints, then couplings.
    loop_constraints : tuple of str
        Names of the closures.
    cut_q, cut_v : dict of str to slice
        Index ranges of coordinates and velocities of a cut joint among those of all cut joints.
    ropes : dict of str to (int, int)
        Indices of lengths of ropes and their rates among these.
    cut_nv : int
        Number of velocities of cut joints and ropes.
    rows, row_connections : tuple of str, (nc,)
    holonomic : (nc,) bool
    closing : (nc,) bool
        Rows that close loops; the others hold coordinates of cut joints while these stick.
    connections : tuple of str
        All tree joints and all closures, in the order in which loads are reported.
    """

    forest: Forest
    bodies: tuple[str, ...] = field(init=False)
    joints: tuple[str, ...] = field(init=False)
    coordinates: tuple[str, ...] = field(init=False)
    speeds: tuple[str, ...] = field(init=False)
    coordinate_kinds: tuple[str, ...] = field(init=False)
    speed_kinds: tuple[str, ...] = field(init=False)
    coordinate_units: tuple[str, ...] = field(init=False)
    speed_units: tuple[str, ...] = field(init=False)
    q: dict[str, slice] = field(init=False)
    v: dict[str, slice] = field(init=False)
    flexible: tuple[str, ...] = field(init=False)
    closures: tuple[Connection | CoordinateConnection, ...] = field(init=False)
    loop_constraints: tuple[str, ...] = field(init=False)
    cut_q: dict[str, slice] = field(init=False)
    ropes: dict[str, tuple[int, int]] = field(init=False)
    cut_v: dict[str, slice] = field(init=False)
    cut_nv: int = field(init=False)
    rows: tuple[str, ...] = field(init=False)
    row_connections: tuple[str, ...] = field(init=False)
    holonomic: BoolArray = field(init=False)
    closing: BoolArray = field(init=False)
    connections: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        forest = self.forest
        closures: tuple[Connection | CoordinateConnection, ...] = (*forest.loop_constraints, *forest.couplings)
        holonomic = [f for c in closures for f in (*c.element.holonomic, *(False for _ in holds_of(c)))]
        closing = [f for c in closures for f in (*(True for _ in c.element.rows), *(False for _ in holds_of(c)))]
        joints, loop_constraints = (tuple(c.name for c in part) for part in (forest.joints, closures))
        set_fields(
            self,
            bodies=forest.bodies[1:],
            joints=joints,
            closures=closures,
            loop_constraints=loop_constraints,
            rows=tuple(f"{c.name}.{row}" for c in closures for row in rows_of(c)),
            row_connections=tuple(c.name for c in closures for _ in rows_of(c)),
            holonomic=np.array(holonomic, dtype=np.bool_),
            closing=np.array(closing, dtype=np.bool_),
            connections=(*joints, *loop_constraints),
        )
        self._name_trees()
        self._name_cuts()
        self._check_names()

    def _name_trees(self) -> None:
        coordinates: list[str] = []
        speeds: list[str] = []
        kinds: list[str] = []
        speed_kinds: list[str] = []
        units: list[str] = []
        speed_units: list[str] = []
        flexible: list[str] = []
        q: dict[str, slice] = {}
        v: dict[str, slice] = {}
        for joint in self.forest.joints:
            element, body = joint.element, joint.outboard.body
            modes = modes_of(body)
            units += [*element.coordinate_units, *["1"] * modes]  # shapes have the units of modal coordinates
            speed_units += [*element.speed_units, *["1"] * modes]
            for owner, positions, rates in (
                (joint.name, tuple(element.coordinates), tuple(element.speeds)),
                (body.name, ("eta",) * modes, ("eta",) * modes),
            ):
                if owner == body.name and not modes:
                    continue
                q[owner] = slice(len(coordinates), len(coordinates) + len(positions))
                v[owner] = slice(len(speeds), len(speeds) + len(rates))
                kinds += positions
                speed_kinds += rates
                if modes and owner == body.name:
                    flexible.append(owner)
                    positions = rates = tuple(f"eta[{k}]" for k in range(modes))
                    coordinates += [f"{owner}.{name}" for name in positions]
                    speeds += [f"{owner}.{name}" for name in rates]
                else:
                    coordinates += full_names(owner, positions)
                    speeds += full_names(owner, rates)
        set_fields(
            self,
            coordinates=tuple(coordinates),
            speeds=tuple(speeds),
            coordinate_kinds=tuple(kinds),
            speed_kinds=tuple(speed_kinds),
            coordinate_units=tuple(units),
            speed_units=tuple(speed_units),
            flexible=tuple(flexible),
            q=q,
            v=v,
        )

    def _name_cuts(self) -> None:
        q: dict[str, slice] = {}
        v: dict[str, slice] = {}
        ropes: dict[str, tuple[int, int]] = {}
        nq = nv = 0
        for loop_constraint in self.forest.loop_constraints:
            joint = loop_constraint.element
            if isinstance(joint, Rope):
                ropes[loop_constraint.name] = nq, nv
                nq, nv = nq + 1, nv + 1
            if not isinstance(joint, Joint):
                continue
            q[loop_constraint.name], v[loop_constraint.name] = slice(nq, nq + joint.nq), slice(nv, nv + joint.nv)
            nq, nv = nq + joint.nq, nv + joint.nv
        set_fields(self, cut_q=q, cut_v=v, ropes=ropes, cut_nv=nv)

    def _check_names(self) -> None:
        """Raise `ModelError` for two coordinates, or two velocities, of the same name.

        Example: ``"F.qw"`` of a free joint F and a joint ``"F.qw"``.
        """
        cuts = [(c.name, c.element) for c in self.forest.loop_constraints if isinstance(c.element, Joint)]
        for what, names, places in (("coordinates", self.coordinates, self.q), ("speeds", self.speeds, self.v)):
            parts = [(owner, names[span]) for owner, span in places.items()]
            parts += [(owner, tuple(full_names(owner, getattr(joint, what)))) for owner, joint in cuts]
            owners: dict[str, str] = {}
            for owner, own in parts:
                for name in own:
                    if name in owners:
                        remedy = f"the {what[:-1]} {name!r} of {owners[name]!r} is called so too: give another name"
                        raise ModelError(f"connection {owner!r}", "name", owner, remedy)
                    owners[name] = owner

    @property
    def row_units(self) -> tuple[str, ...]:
        """Units of the rows, ``"m"`` or ``"rad"``, (nc,)."""
        units: list[str] = []
        for closure in self.closures:
            owner = closure if isinstance(closure, CoordinateConnection) else closure.element
            units += owner.row_units
            if isinstance(closure.element, Joint) and closure.element.hold_row_names:
                units += closure.element.speed_units
            elif isinstance(closure.element, Rope):
                units.append("m")
        return tuple(units)
