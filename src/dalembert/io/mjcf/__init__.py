"""Reader and writer of MJCF, the XML format of MuJoCo."""

from .reader import load_mjcf
from .writer import save_mjcf

__all__ = ["load_mjcf", "save_mjcf"]
