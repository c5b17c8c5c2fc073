"""Flexible bodies that spin too fast to do without geometric stiffening."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import StiffeningWarning

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["FAST", "spin_notes"]

FAST = 0.2
"""Part of a body's lowest frequency that its spin may reach without stiffening: stiffness then errs by its square."""


def spin_notes(model: Model, q: NDArray[np.float64], v: NDArray[np.float64]) -> list[str]:
    """Return a sentence for each flexible body that spun too fast at any of the states (n, nq), (n, nv), and warn.

    Modes that are linear in the deformation lose the stiffness that centrifugal forces bring (Kane, Ryan and Banerjee
    1987): a beam that spins at its own frequency seems to have none left.
    """
    notes = []
    for name in model.flexible_names:
        flexible = model.system.bodies[name].flexible
        assert flexible is not None
        if flexible.stiffening is not None or not flexible.frequencies[0] > 0:
            continue
        spin = float(np.linalg.norm(model.velocity(name, q, v)[:, :3], axis=1).max(initial=0.0))
        if spin > FAST * flexible.frequencies[0]:
            notes.append(
                f"{name!r} spins at up to {spin:.3g} rad/s, its lowest frequency is {flexible.frequencies[0]:.3g} "
                "rad/s: without geometric stiffening its bending comes out too soft; give it stiffening=True"
            )
            warnings.warn(notes[-1], StiffeningWarning, stacklevel=6)
    return notes
