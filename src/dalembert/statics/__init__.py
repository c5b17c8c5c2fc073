"""Where systems rest or move steadily: equilibria, their stability, and how they change with a load."""

from .answer import Equilibrium
from .equilibrium import equilibrium
from .path import EquilibriumPath, PathPoint, equilibrium_path
from .several import Equilibria
from .stability import Stability

__all__ = [
    "Equilibria",
    "Equilibrium",
    "EquilibriumPath",
    "PathPoint",
    "Stability",
    "equilibrium",
    "equilibrium_path",
]
