"""Best designs: within bounds, under constraints, from any output of any analysis."""

from .answer import Optimum, Trial
from .optimizing import optimize
from .synthesis import Linkage, Synthesis, synthesize

__all__ = ["Linkage", "Optimum", "Synthesis", "Trial", "optimize", "synthesize"]
