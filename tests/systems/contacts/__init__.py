"""Scenes of bodies in contact."""
