"""Studies: one task for many cases, wherever there is room to run them."""

from .cases import Case
from .sweeping import load_sweep, sweep

__all__ = ["Case", "load_sweep", "sweep"]
