"""Systems from MJCF, the XML format of MuJoCo, and into it."""

from .reader import load_mjcf
from .writer import save_mjcf

__all__ = ["load_mjcf", "save_mjcf"]
