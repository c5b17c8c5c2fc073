"""Equilibria and steady motions, their stability, and equilibrium paths over a load."""

from .equilibrium_result import Equilibrium
from .equilibrium_search import equilibrium
from .load_path import EquilibriumPath, PathPoint, equilibrium_path
from .multistart import Equilibria
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
