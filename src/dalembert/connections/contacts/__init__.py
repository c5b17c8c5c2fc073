"""Contacts between the shapes of bodies: groups of pairs, and materials of pairs."""

from .contact_group import ContactGroup, PlacedShape
from .contact_material import ContactMaterial, SurfacePair

__all__ = ["ContactGroup", "ContactMaterial", "PlacedShape", "SurfacePair"]
