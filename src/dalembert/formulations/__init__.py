"""One system, many formulations: the same motion as Kane, Gibbs and Appell, Newton and Euler, Lagrange, Sol find it.

For reading, teaching and checking: each gives its own arrays by name, and the accelerations that follow from them. They
are dense and slow; the kernels of a model are recursive and fast, and must agree.
"""

from .comparison import ComparedFormulation, Comparison, compare
from .gibbs_appell_equations import GibbsAppell, gibbs_appell
from .kane_equations import KaneEquations, kane
from .lagrange_equations import Lagrange, lagrange
from .newton_euler_equations import NewtonEuler, newton_euler
from .operation_counts import OperationCounts, operation_counts
from .sol import SolArrays, partial_velocities, sol_arrays

__all__ = [
    "ComparedFormulation",
    "Comparison",
    "GibbsAppell",
    "KaneEquations",
    "Lagrange",
    "NewtonEuler",
    "OperationCounts",
    "SolArrays",
    "compare",
    "gibbs_appell",
    "kane",
    "lagrange",
    "newton_euler",
    "operation_counts",
    "partial_velocities",
    "sol_arrays",
]
