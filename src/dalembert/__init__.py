"""dalembert: multibody systems in Python.

A `System` describes bodies and connections; ``compile()`` turns it into a `Model` whose kernels
run at native speed, on one state or on a batch.
"""

from ._core import isa, set_threads, threads
from .bodies import Body, Marker, Shape, box, cylinder, plate, rod, sphere, tube
from .connections import (
    Connection,
    Cylindrical,
    Fixed,
    Free,
    Hinge,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from .errors import (
    AssemblyError,
    DalembertError,
    IntegrationError,
    ModelError,
    SingularityError,
    TopologyError,
    UserFunctionError,
)
from .io import load
from .model import Energy, Model, Pose
from .rotation import axis_angle, bryant, euler, quaternion, to_bryant, to_euler
from .state import State
from .system import System

__version__ = "0.1.0"

__all__ = [
    "AssemblyError",
    "Body",
    "Connection",
    "Cylindrical",
    "DalembertError",
    "Energy",
    "Fixed",
    "Free",
    "Hinge",
    "IntegrationError",
    "Marker",
    "Model",
    "ModelError",
    "Planar",
    "Pose",
    "Prismatic",
    "Revolute",
    "Screw",
    "Shape",
    "SingularityError",
    "Spherical",
    "State",
    "System",
    "TopologyError",
    "Universal",
    "UserFunctionError",
    "axis_angle",
    "box",
    "bryant",
    "cylinder",
    "euler",
    "isa",
    "load",
    "plate",
    "quaternion",
    "rod",
    "set_threads",
    "sphere",
    "threads",
    "to_bryant",
    "to_euler",
    "tube",
]
