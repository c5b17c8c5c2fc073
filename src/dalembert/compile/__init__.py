"""From a description to the tables of the core."""

from .compiler import Compiled, compile_system

__all__ = ["Compiled", "compile_system"]
