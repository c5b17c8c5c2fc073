"""Systems from files, and into them: model files (YAML, JSON), URDF, MJCF, SDF."""

from .doors import load, save
from .mjcf import load_mjcf
from .urdf import load_urdf

__all__ = ["load", "load_mjcf", "load_urdf", "save"]
