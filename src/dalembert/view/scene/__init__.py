"""Scenes: figures of a system without a view."""
