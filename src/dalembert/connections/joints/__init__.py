"""The hinge library. A new hinge is a file here, one in core/hinges, and a line in each list."""

from .custom import CustomHinge
from .cylindrical import Cylindrical
from .fixed import Fixed
from .free import Free
from .joint import Hinge
from .load_friction import LoadFriction
from .planar import Planar
from .prismatic import Prismatic
from .revolute import Revolute
from .screw import Screw
from .spherical import Spherical
from .universal import Universal

__all__ = [
    "CustomHinge",
    "Cylindrical",
    "Fixed",
    "Free",
    "Hinge",
    "LoadFriction",
    "Planar",
    "Prismatic",
    "Revolute",
    "Screw",
    "Spherical",
    "Universal",
]
