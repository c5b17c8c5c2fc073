"""Best designs: within bounds, under constraints, from any output of any analysis."""

from .answer import Optimum, Trial
from .fitting import Fitted, fit
from .motions import OptimalMotion, optimal_motion
from .optimizing import optimize
from .synthesis import Linkage, Synthesis, synthesize

__all__ = [
    "Fitted",
    "Linkage",
    "OptimalMotion",
    "Optimum",
    "Synthesis",
    "Trial",
    "fit",
    "optimal_motion",
    "optimize",
    "synthesize",
]
