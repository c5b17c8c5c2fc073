"""Studies: one task for many cases, wherever there is room to run them."""

from .cases import Case
from .optimising import Fitted, Linkage, OptimalMotion, Optimum, Synthesis, fit, optimal_motion, optimize, synthesize
from .sensitivities import Sensitivity, sensitivity
from .sweeping import load_sweep, sweep
from .uncertain import Uncertainty, uncertainty

__all__ = [
    "Case",
    "Fitted",
    "Linkage",
    "OptimalMotion",
    "Optimum",
    "Sensitivity",
    "Synthesis",
    "Uncertainty",
    "fit",
    "load_sweep",
    "optimal_motion",
    "optimize",
    "sensitivity",
    "sweep",
    "synthesize",
    "uncertainty",
]
