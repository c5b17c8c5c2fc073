"""Reader of SDF, the XML format of Gazebo and Drake."""

from .reader import load_sdf

__all__ = ["load_sdf"]
