"""Rigid and flexible bodies, their shapes and their markers."""

from .body import Body
from .contact_surfaces import Surface
from .flexible_body import FlexibleBody
from .geometric_stiffening import Stiffening
from .markers import Marker
from .modal_damping import Rayleigh
from .shapes import Shape, box, capsule, cylinder, height_field, mesh, plane, plate, prism, rod, sphere, tube

__all__ = [
    "Body",
    "FlexibleBody",
    "Marker",
    "Rayleigh",
    "Shape",
    "Stiffening",
    "Surface",
    "box",
    "capsule",
    "cylinder",
    "height_field",
    "mesh",
    "plane",
    "plate",
    "prism",
    "rod",
    "sphere",
    "tube",
]
