"""One system, many formulations: the same motion as Kane, Newton and Euler, Lagrange and Sol would find it.

For reading, teaching and checking: each gives its own arrays by name, and the accelerations that follow from them. They
are dense and slow; the kernels of a model are recursive and fast, and must agree.
"""

from .kane import KaneEquations, kane
from .lagrange import Lagrange, lagrange
from .newton_euler import NewtonEuler, newton_euler

__all__ = ["KaneEquations", "Lagrange", "NewtonEuler", "kane", "lagrange", "newton_euler"]
