"""Motion without forces: how a mechanism can move, and how it moves when some of it is driven."""

from .circuit import Bifurcation, Circuit, Circuits, DeadPoint, Singularity
from .circuits import circuits
from .continuation import Path
from .drives import better_drive
from .equations import Equations, RelativeEquations
from .mobility_range import MobilityRange, mobility_range
from .workspace import Workspace, workspace

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
