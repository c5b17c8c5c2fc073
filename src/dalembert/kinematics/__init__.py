"""Motion without forces: how a mechanism can move, and how it moves when some of it is driven."""

from .chart import Workspace
from .circuit import Circuit, Circuits
from .circuits import circuits
from .drives import better_drive
from .equations import Equations, RelativeEquations
from .mobility_range import MobilityRange, mobility_range
from .path import Path
from .special import Bifurcation, DeadPoint, Singularity
from .workspace import workspace

__all__ = [
    "Bifurcation",
    "Circuit",
    "Circuits",
    "DeadPoint",
    "Equations",
    "MobilityRange",
    "Path",
    "RelativeEquations",
    "Singularity",
    "Workspace",
    "better_drive",
    "circuits",
    "mobility_range",
    "workspace",
]
