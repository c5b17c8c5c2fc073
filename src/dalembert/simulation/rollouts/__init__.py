"""Rollouts: many runs with a control sequence each, and their gradients."""
