"""Bodies, their shapes, and the markers they offer."""

from .markers import Marker
from .rigid import Body
from .shapes import Shape, box, cylinder, plate, rod, sphere, tube

__all__ = ["Body", "Marker", "Shape", "box", "cylinder", "plate", "rod", "sphere", "tube"]
