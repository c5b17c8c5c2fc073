"""Suitability of the modes of flexible bodies for the low vibrations of their system.

In the lowest vibration that deforms a body, the loads of the system, including inertia, are applied to its
finite-element model (mode acceleration). If the modes of the body miss much of that deformation, the frequency is too
high. The highest frequencies of any set of modes are inaccurate and not checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import DalembertError
from ..result import Motion, single_period
from ..result.outputs.deformation_recovery import loaded_shapes
from ..simulation.diagnostics.flexible_bodies import MISSED, missed_by_modes, percent, slender_bodies

if TYPE_CHECKING:
    from .vibration_modes import Modes

__all__ = ["N_VIBRATIONS", "unfit_modes"]

N_VIBRATIONS = 6  # lowest vibrations checked
PROBE_DISPLACEMENT = 1e-5  # of the length of the system: amplitude of the vibrations
MIN_DEFORMATION = 0.05  # of that amplitude: bodies deformed less are not checked


def unfit_modes(found: Modes) -> list[str]:
    """Return a note for each flexible body whose modes miss much of a low vibration."""
    model, space = found.space.model, found.space
    if space.inputs is not None:  # inputs replace time laws
        return []
    bodies = slender_bodies(model)
    chosen = [k for k in range(len(found)) if found.eigenvalues[k].imag > 0][:N_VIBRATIONS]
    if not bodies or not chosen:
        return []
    size = PROBE_DISPLACEMENT * model.length
    try:
        states = [space.state, *(found.states(k, np.zeros(1), size)[0] for k in chosen)]
    except DalembertError:  # loops do not close nearby
        return []
    q, v, x = (np.array([getattr(state, part) for state in states]) for part in ("q", "v", "x"))
    under = None if space.conditions is None else single_period(space.conditions)
    motion = Motion(model, np.full(len(states), float(space.state.t)), q, v, x, conditions=under)
    notes = []
    for body, _ in bodies:
        flexible = body.require_flexible()
        shapes = loaded_shapes(motion, body)
        if not np.isfinite(shapes).all():
            continue
        each = zip(chosen, *missed_by_modes(flexible, shapes[1:] - shapes[0]), strict=True)
        k, missed, whole, _ = next((one for one in each if one[3] > MIN_DEFORMATION * size), (0, 0.0, 0.0, 0.0))
        if missed > MISSED * whole:
            notes.append(
                f"the modes of {body.name!r} ({flexible.nm}) miss {percent(missed / whole)} of how mode {k} at "
                f"{found.frequencies[k]:.4g} Hz deforms it, by strain energy, and its frequency is too high: take "
                "more, or modes=da.CraigBampton with the nodes that are connected"
            )
    return notes
