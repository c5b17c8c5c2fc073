"""Loop closure: closure equations, assembly, mobility, continuation, start values.

Equations that must vanish have one interface, in two forms (`equations`). `Equations` are functions of q and time in
SI units: residual, Jacobian, right-hand sides of velocities and accelerations, `retract` and `difference` on the
manifold of q, and the scales of rows and columns. `ScaledRows` are such equations at one time, dimensionless, for
batches: what solvers take.

=====================================  ======================================================================
Equations                              implementation
=====================================  ======================================================================
tree with cut joints, drives           `equations.RelativeEquations`
natural coordinates                    `natural.equations.NaturalEquations`
=====================================  ======================================================================

=====================================  ======================================================================
ScaledRows                             implementation
=====================================  ======================================================================
any Equations, coordinates held        `scaled_equations.ScaledEquations`
these with stops, a plane, a sphere    `scaled_equations.ExtendedEquations`
rows of all loop constraints           `loop_equations.LoopEquations`
these with targets and limits          `loop_solver.LoopSolver` (rows: `limit_rows`, `starts.coordinate_targets`)
equilibrium under a varied load        `statics.load_continuation.LoadedEquations`
=====================================  ======================================================================

Two classes are no `ScaledRows`, because their problems differ. `motion.ik.equations.IkEquations` has other rows for
each target of a batch, inequalities and bounds. `linear.state_constraints.StateConstraints` selects active rows of
`LoopEquations` and prescribed DOF; it has no residual of its own.

Solvers: `projection` (the nearest closed configuration, by Newton's method), `numerics.least_squares`
(Levenberg-Marquardt from far away), `position_solver` (Newton's method with a choice of factorizations, for users),
`branch_search` (all solutions), `continuation` (paths of solutions), `velocity_projection` (velocities and
accelerations). Ranks and null spaces, with their tolerances, are those of `numerics.rank`.

Assembly: `assembly` resolves names and explains failures, `loop_solver` closes from one guess, `all_assemblies` finds
all; `starts` turns start values into guesses and targets, `driven` follows drives. Analyses: `mobility_analysis`,
`planar_count`, `redundancy`, `motion_subspace`, `position_rates`.
"""

from .assembly import Assembly, assemble
from .continuation.solution_path import Path
from .driven.driven_state import DrivenMotion, driven_motion
from .driven.driving_coordinates import best_driving_coordinates
from .equations import Equations, RelativeEquations
from .mobility_analysis import Mobility, mobility
from .motion_subspace import MotionSpace, motion_space
from .position_rates import RateResult, find_rates
from .position_solver import PositionResult, find_position
from .velocity_projection import consistent_accelerations, consistent_velocities

__all__ = [
    "Assembly",
    "DrivenMotion",
    "Equations",
    "Mobility",
    "MotionSpace",
    "Path",
    "PositionResult",
    "RateResult",
    "RelativeEquations",
    "assemble",
    "best_driving_coordinates",
    "consistent_accelerations",
    "consistent_velocities",
    "driven_motion",
    "find_position",
    "find_rates",
    "mobility",
    "motion_space",
]
