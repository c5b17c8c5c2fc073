"""Where systems rest or move steadily: equilibria, their stability, and how they change with a load."""

from .answer import Equilibrium
from .equilibrium import equilibrium
from .stability import Stability

__all__ = ["Equilibrium", "Stability", "equilibrium"]
