"""Scene: what is drawn of a system, without a view."""
