"""Studies: one task for many cases, wherever there is room to run them."""

from .cases import Case
from .optimising import Optimum, optimize
from .sensitivities import Sensitivity, sensitivity
from .sweeping import load_sweep, sweep

__all__ = ["Case", "Optimum", "Sensitivity", "load_sweep", "optimize", "sensitivity", "sweep"]
