"""Named element between two markers."""

from __future__ import annotations

from dataclasses import dataclass

from ..bodies.markers import Marker
from .constraints.geometric import Constraint
from .joints import Joint

__all__ = ["Connection"]


@dataclass(frozen=True, eq=False)
class Connection:
    """Element between two markers; relative quantities are those of the second in the first.

    Attributes
    ----------
    name : str
    element : Joint or Constraint
    first, second : Marker
    """

    name: str
    element: Joint | Constraint
    first: Marker
    second: Marker

    def __repr__(self) -> str:
        kind = type(self.element).__name__
        return f"<Connection {self.name!r}: {kind} from {self.first.name} to {self.second.name}>"
