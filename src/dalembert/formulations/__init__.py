"""One system, many formulations: the same motion as Kane, Gibbs and Appell, Newton and Euler, Lagrange, Sol find it.

For reading, teaching and checking: each gives its own arrays by name, and the accelerations that follow from them. They
are dense and slow; the kernels of a model are recursive and fast, and must agree.
"""

from .comparison import Compared, Comparison, compare
from .gibbs_appell_equations import GibbsAppell, gibbs_appell
from .kane_equations import KaneEquations, kane
from .lagrange_equations import Lagrange, lagrange
from .newton_euler_equations import NewtonEuler, newton_euler
from .operation_counts import Flops, flops
from .sol import SolArrays, partial_velocities, sol_arrays

__all__ = [
    "Compared",
    "Comparison",
    "Flops",
    "GibbsAppell",
    "KaneEquations",
    "Lagrange",
    "NewtonEuler",
    "SolArrays",
    "compare",
    "flops",
    "gibbs_appell",
    "kane",
    "lagrange",
    "newton_euler",
    "partial_velocities",
    "sol_arrays",
]
