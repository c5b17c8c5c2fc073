"""Reader and writer of URDF."""

from .reader import load_urdf
from .writer import save_urdf

__all__ = ["load_urdf", "save_urdf"]
