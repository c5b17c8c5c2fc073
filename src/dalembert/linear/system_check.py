"""Report on a described system: mobility, redundancy, and modes of flexible bodies (see `System.check`)."""

from __future__ import annotations

import warnings
from dataclasses import replace

from ..closure.mobility_analysis import Mobility, mobility
from ..errors import DalembertError, ModesWarning
from ..system import System
from .mode_suitability import N_VIBRATIONS, unfit_modes
from .vibration_modes import modes

__all__ = ["check_system"]


def check_system(system: System) -> Mobility:
    """Return the mobility of a system, with notes on flexible bodies with unsuitable modes."""
    found = mobility(system)
    return replace(found, notes=(*found.notes, *_unfit_modes(system))) if found.model.flexible_names else found


def _unfit_modes(system: System) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModesWarning)
        try:
            return unfit_modes(modes(system, count=N_VIBRATIONS))
        except DalembertError:  # no start state, or no linear system there: `modes` reports these
            return []
