"""States that drives prescribe, and the limits of drives."""
