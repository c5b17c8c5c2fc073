"""Live runs: a simulation advanced by its caller, with prepared reading of outputs and setting of inputs."""

from .live import Live
from .reader import Reader
from .writer import Writer

__all__ = ["Live", "Reader", "Writer"]
