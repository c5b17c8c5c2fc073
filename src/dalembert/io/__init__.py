"""Input and output of systems: model files (YAML, JSON), URDF, MJCF, SDF."""

from ..result.storage.tables import read_table
from .load_save import load, save
from .mjcf import load_mjcf
from .sdf import load_sdf
from .urdf import load_urdf

__all__ = ["load", "load_mjcf", "load_sdf", "load_urdf", "read_table", "save"]
