"""Impulses and impulsive contact: velocity jumps at a fixed configuration."""

from .contact import Contact, Touch
from .impact import Impact, impulse

__all__ = ["Contact", "Impact", "Touch", "impulse"]
