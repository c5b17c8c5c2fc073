"""Studies: one task for many cases, wherever there is room to run them."""

from .cases import Case
from .optimising import Linkage, Optimum, Synthesis, optimize, synthesize
from .sensitivities import Sensitivity, sensitivity
from .sweeping import load_sweep, sweep

__all__ = [
    "Case",
    "Linkage",
    "Optimum",
    "Sensitivity",
    "Synthesis",
    "load_sweep",
    "optimize",
    "sensitivity",
    "sweep",
    "synthesize",
]
