"""Bridges to other Python packages: gymnasium, JAX, PyTorch and OpenMDAO; each is imported where it is used."""
