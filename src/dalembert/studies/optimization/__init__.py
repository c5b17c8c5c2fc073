"""Design optimization, parameter fits, linkage synthesis and trajectory optimization."""

from .design_optimization import optimize
from .optimum import Optimum, Trial
from .parameter_fit import ParameterFit, fit
from .synthesis import Linkage, Synthesis, synthesize
from .trajectory_optimization import OptimalMotion, optimal_motion

__all__ = [
    "Linkage",
    "OptimalMotion",
    "Optimum",
    "ParameterFit",
    "Synthesis",
    "Trial",
    "fit",
    "optimal_motion",
    "optimize",
    "synthesize",
]
