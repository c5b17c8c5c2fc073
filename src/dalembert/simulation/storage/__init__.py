"""Checkpoints, streams and resumed runs."""
