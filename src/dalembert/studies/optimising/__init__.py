"""Best designs: within bounds, under constraints, from any output of any analysis."""

from .answer import Optimum, Trial
from .optimizing import optimize

__all__ = ["Optimum", "Trial", "optimize"]
