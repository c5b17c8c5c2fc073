"""Studies: one task for many cases, wherever there is room to run them."""

from .cases import Case
from .sensitivities import Sensitivity, sensitivity
from .sweeping import load_sweep, sweep

__all__ = ["Case", "Sensitivity", "load_sweep", "sensitivity", "sweep"]
