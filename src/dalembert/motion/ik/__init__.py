"""Inverse kinematics: targets, equations, solvers, multistart."""
