"""Kinematic geometry: coupler curves, instant centres, polygons, transmission, clearance."""
