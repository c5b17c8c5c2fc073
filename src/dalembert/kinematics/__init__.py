"""Motion without forces: how a mechanism can move, and how it moves when some of it is driven."""

from .equations import Equations, RelativeEquations

__all__ = ["Equations", "RelativeEquations"]
