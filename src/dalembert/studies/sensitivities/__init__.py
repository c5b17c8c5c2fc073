"""Derivatives of simulations, equilibria, modes and kinematic motions."""
