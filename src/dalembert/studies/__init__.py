"""Studies: parameter sweeps, sensitivities, optimization and uncertainty."""

from .optimization import (
    Linkage,
    OptimalMotion,
    Optimum,
    ParameterFit,
    Synthesis,
    fit,
    optimal_motion,
    optimize,
    synthesize,
)
from .sensitivities.sensitivity import Sensitivity, sensitivity
from .sweeps.cases import Case
from .sweeps.sweep import load_sweep, sweep
from .uncertainties import Uncertainty, uncertainty

__all__ = [
    "Case",
    "Linkage",
    "OptimalMotion",
    "Optimum",
    "ParameterFit",
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
