"""Refusal of models whose evaluation does not fit the memory of the machine, before the memory is used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import MemoryLimitError

if TYPE_CHECKING:
    from .model import Model

__all__ = ["check_memory", "installed_memory"]


def installed_memory() -> int | None:
    """Return the memory of the machine, bytes; None where the operating system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def check_memory(model: Model, name: str) -> None:
    """Refuse a model of which one evaluation needs more memory than there is."""
    available, needed = installed_memory(), model._evaluation_bytes
    if available is None or needed <= available:
        return
    sizes = f"{model.nb} bodies, {model.nv} degrees of freedom and {model.nc} rows of closed loops"
    width = model._widest_front
    fronts = f", of which up to {width} are open at once," if width else ""
    raise MemoryLimitError(
        f"system {name!r}: one evaluation of {sizes}{fronts} needs {needed / 1e9:.3g} GB, and this machine has "
        f"{available / 1e9:.3g} GB; join bodies that do not move against each other, replace loops that only share "
        "loads by springs, or simulate parts of the system",
        needed,
        available,
    )
