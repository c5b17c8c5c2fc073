"""Wrong arguments and damaged files."""
