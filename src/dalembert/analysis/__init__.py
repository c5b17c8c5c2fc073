"""Questions to a system: does it close, how can it move."""

from .assemble import Assembly, assemble, consistent_speeds
from .mobility import Mobility, mobility

__all__ = ["Assembly", "Mobility", "assemble", "consistent_speeds", "mobility"]
