"""Dry friction and stops: rows, stick-slip modes, holding."""
