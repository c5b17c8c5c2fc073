"""Systems from SDF, the XML format of Gazebo and Drake."""

from .reading import load_sdf

__all__ = ["load_sdf"]
