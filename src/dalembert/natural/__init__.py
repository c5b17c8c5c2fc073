"""Natural coordinates: mechanisms by points and unit vectors, as Garcia de Jalon and Bayo describe them."""

from .bodies import BodyFrame, NaturalBody, body_frame, rigid_rows
from .equations import NaturalEquations
from .mechanism import Count, Mechanism
from .motion import NaturalMotion

__all__ = [
    "BodyFrame",
    "Count",
    "Mechanism",
    "NaturalBody",
    "NaturalEquations",
    "NaturalMotion",
    "body_frame",
    "rigid_rows",
]
