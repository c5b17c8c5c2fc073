"""Drawings and animations with matplotlib."""
