"""Dense formulations of the equations of motion: Kane, Gibbs-Appell, Newton-Euler, Lagrange, Sol.

For reading, teaching and checking. Each returns its arrays by name, and the accelerations. They are dense and slow; the
recursive kernels of a model are fast, and must agree.
"""

from .comparison import ComparedFormulation, Comparison, compare
from .flop_counts import OperationCounts, operation_counts
from .gibbs_appell_equations import GibbsAppell, gibbs_appell
from .kane_equations import KaneEquations, kane
from .lagrange_equations import Lagrange, lagrange
from .newton_euler_equations import NewtonEuler, newton_euler
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
