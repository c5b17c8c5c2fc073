"""Pseudo-arclength continuation of closed configurations, and bifurcations."""
