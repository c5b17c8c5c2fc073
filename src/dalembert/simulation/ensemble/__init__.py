"""Ensembles: many runs of one model."""
