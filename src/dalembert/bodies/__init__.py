"""Bodies, rigid and flexible, their shapes, and the markers they offer."""

from .damping import Rayleigh
from .flexible import FlexibleBody
from .markers import Marker
from .rigid import Body
from .shapes import Shape, box, cylinder, mesh, plate, prism, rod, sphere, tube
from .stiffening import Stiffening

__all__ = [
    "Body",
    "FlexibleBody",
    "Marker",
    "Rayleigh",
    "Shape",
    "Stiffening",
    "box",
    "cylinder",
    "mesh",
    "plate",
    "prism",
    "rod",
    "sphere",
    "tube",
]
