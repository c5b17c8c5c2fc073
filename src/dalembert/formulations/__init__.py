"""One system, many formulations: the same motion as Kane, Gibbs and Appell, Newton and Euler, Lagrange, Sol find it.

For reading, teaching and checking: each gives its own arrays by name, and the accelerations that follow from them. They
are dense and slow; the kernels of a model are recursive and fast, and must agree.
"""

from .compare import Compared, Comparison, compare
from .gibbs import GibbsAppell, gibbs_appell
from .kane import KaneEquations, kane
from .lagrange import Lagrange, lagrange
from .newton_euler import NewtonEuler, newton_euler
from .sol import SolArrays, partial_velocities, sol_arrays

__all__ = [
    "Compared",
    "Comparison",
    "GibbsAppell",
    "KaneEquations",
    "Lagrange",
    "NewtonEuler",
    "SolArrays",
    "compare",
    "gibbs_appell",
    "kane",
    "lagrange",
    "newton_euler",
    "partial_velocities",
    "sol_arrays",
]
