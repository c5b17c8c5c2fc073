"""Reachable workspaces by grid sweeps."""
