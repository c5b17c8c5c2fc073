"""Order of bodies in the core, and the modal coordinates of flexible ones.

A rigid body takes one slot. A flexible body takes several (core/flexible/body.hpp): a carrier at the end of its joint,
the modal body with its frame and mass, and a node frame for each joint and each marker on it. All connections therefore
attach to ordinary bodies.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..bodies.body import Body
from ..bodies.flexible_body import FlexibleBody
from ..bodies.markers import Marker
from ..bodies.modal_integrals import ModalIntegrals, modal_integrals, source_integrals
from ..errors import ModelError
from ..system.topology import Forest
from .schema import Rows

if TYPE_CHECKING:
    from ..system import System

__all__ = ["BodyLayout", "BodySlot", "ModalTables", "modes_of", "refuse_flexible", "second_order"]


def modes_of(body: Body) -> int:
    """Return the number of modes of a body; 0 if it is rigid."""
    return 0 if body.flexible is None else body.flexible.nm


def refuse_flexible(system: System, oracle: str) -> None:
    """Raise an error for systems with flexible bodies, in reference methods for rigid ones."""
    for body in system.bodies.values():
        if modes_of(body):
            raise ModelError(oracle, "body", body.name, "it is flexible: use oracles.flexible.FlexibleOperators")


@dataclass(frozen=True)
class BodySlot:
    """Entry of the core's list of bodies.

    Attributes
    ----------
    parent : int
        Number of the parent's slot; ground is 0.
    user : int
        Number of the user's body it belongs to.
    kind : str
        ``"rigid"``, ``"carrier"``, ``"modal"`` or ``"node"``.
    shape : int
        Index of the first number of its node.
    clamped : bool
        Of a modal body: its node is fixed in the frame.
    """

    parent: int
    user: int
    kind: str
    shape: int = 0
    clamped: bool = False


class ModalTables:
    """Flat numbers of all flexible bodies, and one row for each."""

    def __init__(self) -> None:
        self.rows = Rows("modal")
        self._numbers: list[Array] = []
        self._size = 0

    def add(self, values: Array) -> int:
        """Append numbers; return the index of the first."""
        begin = self._size
        self._numbers.append(np.ravel(values))
        self._size += self._numbers[-1].size
        return begin

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays for the core."""
        return {"modal": self.rows.array(), "modal_values": np.concatenate([np.zeros(0), *self._numbers])}


class BodyLayout:
    """The core's list of bodies for a forest.

    Attributes
    ----------
    rows : list of BodySlot
        ``rows[i - 1]`` is slot i.
    frame, carrier : (nb + 1,) int
        Of the user's bodies: the slot of the frame, and that at the end of the joint.
    inboard : (nb,) int
        Of the user's bodies: the slot that their joint starts from.
    tables : ModalTables
    """

    def __init__(self, forest: Forest, markers: Iterable[Marker]) -> None:
        self.forest = forest
        self.rows: list[BodySlot] = []
        self.tables = ModalTables()
        nb = forest.nb
        self.frame, self.carrier = np.zeros(nb + 1, dtype=np.int32), np.zeros(nb + 1, dtype=np.int32)
        self.inboard = np.zeros(nb, dtype=np.int32)
        self.modal: dict[int, int] = {}  # index of the flexible body, by the user's body number
        self._nodes: dict[tuple[int, bytes], int] = {}
        self._second: dict[int, bool] = {}
        self._integrals: dict[ModalIntegrals, int] = {}  # index of the integrals of a FlexibleBody, which bodies share
        bodies = [forest.system.ground, *(forest.system.bodies[name] for name in forest.bodies[1:])]
        if not any(modes_of(body) for body in bodies):
            self.frame[:] = self.carrier[:] = np.arange(nb + 1)
            self.inboard[:] = forest.parent
            self.rows = [BodySlot(int(parent), k, "rigid") for k, parent in enumerate(forest.parent, start=1)]
            return
        on: dict[int, list[Marker]] = {}
        for marker in markers:
            on.setdefault(forest.number.get(marker.body.name, 0), []).append(marker)
        carried = {
            self._key(int(parent), joint.inboard)
            for parent, joint in zip(forest.parent, forest.joints, strict=True)
            if modes_of(joint.inboard.body)
        }
        for k, joint in enumerate(forest.joints, start=1):
            parent = int(forest.parent[k - 1])
            start = int(self.frame[parent])
            if modes_of(bodies[parent]) and self._moves(joint.inboard):
                start = self._add(BodySlot(start, parent, "node", self.tables.add(self.shapes_of(joint.inboard))))
                self._nodes.setdefault(self._key(parent, joint.inboard), start)
            self.inboard[k - 1] = start
            body = bodies[k]
            if not modes_of(body):
                self.frame[k] = self.carrier[k] = self._add(BodySlot(start, k, "rigid"))
                continue
            assert body.flexible is not None
            self.carrier[k] = self._add(BodySlot(start, k, "carrier"))
            self._take(k, body.flexible)
            shape, clamped = self.tables.add(self.shapes_of(joint.outboard)), not self._moves(joint.outboard)
            self.frame[k] = self._add(BodySlot(int(self.carrier[k]), k, "modal", shape, clamped))
            if not clamped:
                self._nodes[self._key(k, joint.outboard)] = int(self.carrier[k])
            for marker in on.get(k, ()):
                key = self._key(k, marker)
                if self._moves(marker) and key not in self._nodes and key not in carried:
                    self._nodes[key] = self._add(
                        BodySlot(int(self.frame[k]), k, "node", self.tables.add(self.shapes_of(marker)))
                    )

    def find(self, marker: Marker) -> int:
        """Return the slot that carries a marker."""
        number = self.forest.number[marker.body.name]
        if not modes_of(marker.body) or not self._moves(marker):
            return int(self.frame[number])
        return self._nodes[self._key(number, marker)]

    def follows(self, marker: Marker) -> bool:
        """Return whether a marker has a slot."""
        if not modes_of(marker.body) or not self._moves(marker):
            return True
        return self._key(self.forest.number[marker.body.name], marker) in self._nodes

    def _add(self, place: BodySlot) -> int:
        self.rows.append(place)
        return len(self.rows)

    @staticmethod
    def _moves(marker: Marker) -> bool:
        return marker.shape is not None and bool(marker.shape.any())

    @staticmethod
    def _key(number: int, marker: Marker) -> tuple[int, bytes]:
        assert marker.shape is not None
        return number, _rounded(marker.foot) + marker.shape.tobytes()

    def _take(self, number: int, flexible: FlexibleBody) -> None:
        """Add the integrals of a flexible body."""
        source = flexible.order == "source"
        integrals = source_integrals(flexible) if source else modal_integrals(flexible)
        self._second[number] = second = integrals.E1 is not None
        if integrals not in self._integrals:
            self._integrals[integrals] = self.tables.add(integrals.numbers())
        elastic = self.tables.add(np.concatenate([flexible.modal_stiffness.ravel(), flexible.modal_damping.ravel()]))
        self.modal[number] = self.tables.rows.add(
            modes=flexible.nm,
            order_zero=flexible.order == "ruthless",
            second=second,
            source=source,
            table=self._integrals[integrals],
            elastic=elastic,
        )

    def shapes_of(self, marker: Marker) -> Array:
        """Return the numbers of a node: reference position, shapes by mode, second-order motions."""
        flexible = marker.body.flexible
        assert flexible is not None
        shape = np.zeros((6, flexible.nm)) if marker.shape is None else marker.shape
        parts = [marker.foot, shape.T]
        if self._second[self.forest.number[marker.body.name]]:
            parts.append(second_order(flexible, marker.foot).transpose(1, 2, 0))
        return np.concatenate([np.ravel(part) for part in parts])


def _rounded(place: Array) -> bytes:
    """Return a position without round-off, so that arms of one node compare equal."""
    return np.round(place, 12).tobytes()


def second_order(flexible: FlexibleBody, position: Array) -> Array:
    """Return [rotation; displacement] of second order (6, nm, nm) of a node or a point of a straight line."""
    stiffening = flexible.stiffening
    if stiffening is not None and stiffening.line is not None:
        found = stiffening.line.motion(position)
        if found is not None:
            return found
    if stiffening is not None and stiffening.loads is not None:
        for node, loads in zip(stiffening.load_nodes, stiffening.loads, strict=True):
            if np.allclose(flexible.nodes[flexible.index(int(node))], position, atol=1e-9):
                return -loads  # its work with the load is that of the geometric stiffness
    return np.zeros((6, flexible.nm, flexible.nm))
