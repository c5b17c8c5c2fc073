"""Impulses and impulsive contact: velocity jumps at a fixed configuration."""

from .contact import Contact, ContactOutcome
from .impact import Impact, impulse

__all__ = ["Contact", "ContactOutcome", "Impact", "impulse"]
