"""Systems from MJCF, the XML format of MuJoCo, and into it."""

from .reading import load_mjcf
from .writing import save_mjcf

__all__ = ["load_mjcf", "save_mjcf"]
