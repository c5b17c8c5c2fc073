"""Signal graph of elements: connections of inputs and evaluation order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from ..connections.elements.element import Element
from ..connections.elements.signals import Delay, Source
from ..connections.formulas.dependencies import inputs_of
from ..errors import ModelError, TopologyError
from ..system.lookup import coordinate_of
from .names import Names

if TYPE_CHECKING:
    from ..connections.connection import Connection
    from ..connections.elements.built_in import ForceConnection
    from ..system.topology import Forest

__all__ = ["OutputInput", "SignalGraph", "SignalSource"]

Node = tuple[str, str]  # an element and one of its signals; "": the element as a whole


@dataclass(frozen=True)
class OutputInput:
    """Input that is a named output of the system, computed in Python at every evaluation.

    Attributes
    ----------
    name : str
    element : str
        That takes it.
    delay : Delay or None
        Its value some time ago.
    """

    name: str
    element: str
    delay: Delay | None = None


@dataclass
class SignalSource:
    """Source of an input of an element.

    Attributes
    ----------
    source : as described
    signal, state : str
        Of another element, ``"controller.u"``.
    place : (Connection, int) or None
        A coordinate of a joint; `rate`: its velocity.
    callback : OutputInput or None
        Output that Python computes at every evaluation.
    """

    source: Source
    signal: str = ""
    state: str = ""
    place: tuple[Connection, int] | None = None
    rate: int = 0
    callback: OutputInput | None = None


class SignalGraph:
    """Signal connections between elements.

    Parameters
    ----------
    forest : Forest
    names : Names
    connections : sequence of ForceConnection
        System whose elements have user-written laws.
    """

    def __init__(self, forest: Forest, names: Names, connections: Sequence[ForceConnection]) -> None:
        self.forest, self.names = forest, names
        self.elements: dict[str, Element] = {c.name: c.element for c in connections if isinstance(c.element, Element)}
        self.wires = {
            name: {key: self._wire(name, key, source) for key, source in element.sources.items()}
            for name, element in self.elements.items()
        }

    def _wire(self, element: str, key: str, source: Source) -> SignalSource:
        if isinstance(source, Delay):
            return SignalSource(source, callback=OutputInput(source.output, element, source))
        if not isinstance(source, str):
            return SignalSource(source)
        owner, _, quantity = source.rpartition(".")
        other = self.elements.get(owner)
        if other is not None and quantity in other.signals:
            return SignalSource(source, signal=source)
        if other is not None and quantity in other.states:
            return SignalSource(source, state=source)
        if other is not None and quantity in other.parameters:
            raise ModelError(
                f"element {element!r}",
                f"input {key!r}",
                source,
                "it is a parameter: give the number, or a signal of it",
            )
        if quantity in ("position", "speed"):
            place = self._coordinate(owner)
            if place is not None:
                return SignalSource(source, place=place, rate=int(quantity == "speed"))
        return SignalSource(source, callback=OutputInput(source, element))

    def _coordinate(self, owner: str) -> tuple[Connection, int] | None:
        """Return a joint and its coordinate, if a name is a coordinate with a velocity."""
        try:
            return coordinate_of(self.forest.system, "input", "name", owner)
        except ModelError:
            return None

    def order(self) -> list[Node]:
        """Return signals used by others, ("controller", "u"), each after its dependencies.

        A law that is a function returns all its signals at once, ("controller", "").
        """
        wanted = {self._node(wire.signal) for wires in self.wires.values() for wire in wires.values() if wire.signal}
        edges: dict[Node, set[Node]] = {}
        open_nodes = list(wanted)
        while open_nodes:
            node = open_nodes.pop()
            if node not in edges:
                edges[node] = {self._node(wire.signal) for wire in self._wires_into(node) if wire.signal}
                open_nodes += edges[node]
        try:
            return list(TopologicalSorter({node: sorted(edges[node]) for node in sorted(edges)}).static_order())
        except CycleError as error:
            loop = " -> ".join(f"{name}.{signal}" if signal else name for name, signal in reversed(error.args[1]))
            raise TopologyError(
                f"algebraic loop: {loop}: each of these signals needs the one before it at the same instant; give one "
                "of the elements a state, such as a lag, that its signal depends on instead"
            ) from None

    def _node(self, signal: str) -> Node:
        owner, _, name = signal.rpartition(".")
        return (owner, name) if self.elements[owner].program is not None else (owner, "")

    def _wires_into(self, node: Node) -> list[SignalSource]:
        """Return the signals on which a signal, or an element, depends at the same instant."""
        name, signal = node
        element, wires = self.elements[name], self.wires[name]
        if not signal or element.program is None:
            return list(wires.values())
        program, takes = element.program, element.input_names
        place = program.outputs[element.measures + len(element.states) + 1 + list(element.signals).index(signal)]
        needed = inputs_of(program, [place])
        if any(k >= len(takes) for k in needed):
            needed = inputs_of(program, [place, *program.outputs[element.output_count :]])
        return [wires[takes[k]] for k in sorted(needed) if k < len(takes) and takes[k] in wires]
