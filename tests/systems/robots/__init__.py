"""Robots of published files, and random ones."""
