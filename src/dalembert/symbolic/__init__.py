"""Symbolic equations of motion by SymPy, from the same description as the kernels."""

try:
    import sympy as _  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError("symbolic equations need SymPy: pip install dalembert[symbolic]") from error

from .equations import Equations, symbolic_equations

__all__ = ["Equations", "symbolic_equations"]
