"""Diagnostics of a run: discontinuities, wrap, snap-through, stagnation, notes."""
