"""From a description to the tables of the core."""

from .compiled import Compiled, compile_system

__all__ = ["Compiled", "compile_system"]
