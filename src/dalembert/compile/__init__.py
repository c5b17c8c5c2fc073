"""Compilation of a system description into the tables of the core."""

from .compiler import Compiled, compile_system

__all__ = ["Compiled", "compile_system"]
