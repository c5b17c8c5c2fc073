"""Joint library. A new joint is a file here, one in core/joints, and a line in each list."""

from .custom import CustomJoint
from .cylindrical import Cylindrical
from .fixed import Fixed
from .free import Free
from .joint import Joint
from .load_friction import LoadFriction
from .planar import Planar
from .prismatic import Prismatic
from .revolute import Revolute
from .screw import Screw
from .spherical import Spherical
from .universal import Universal

__all__ = [
    "CustomJoint",
    "Cylindrical",
    "Fixed",
    "Free",
    "Joint",
    "LoadFriction",
    "Planar",
    "Prismatic",
    "Revolute",
    "Screw",
    "Spherical",
    "Universal",
]
