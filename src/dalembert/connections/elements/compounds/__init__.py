"""Compounds: elements made of members between nodes, with inner degrees of freedom."""

from .compound import Compound

__all__ = ["Compound"]
