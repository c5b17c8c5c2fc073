"""Natural coordinates: mechanisms by points and unit vectors, as Garcia de Jalon and Bayo describe them."""

from .bodies import BodyFrame, NaturalBody, body_frame, rigid_rows
from .equations import NaturalEquations
from .mechanism import Count, Mechanism
from .motion import NaturalMotion
from .tracks import Circle, Curve, Cylinder, Line, Plane, Sphere, Surface
from .wheels import equivalent_centre

__all__ = [
    "BodyFrame",
    "Circle",
    "Count",
    "Curve",
    "Cylinder",
    "Line",
    "Mechanism",
    "NaturalBody",
    "NaturalEquations",
    "NaturalMotion",
    "Plane",
    "Sphere",
    "Surface",
    "body_frame",
    "equivalent_centre",
    "rigid_rows",
]
