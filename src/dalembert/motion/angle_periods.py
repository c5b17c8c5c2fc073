"""After how many turns wheels that are geared together stand as they stood.

Angles that couplings bind count their turns: a turn of one is a part of a turn of the other. A way through such
configurations closes when every body is where it was, and that is after as many turns as make all of them whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from ..closure.continuation.arclength import PathTracer
from ..closure.scaled_equations import CoordinateMeasure, ScaledEquations
from ..model import Model

__all__ = ["GearCycle", "cycle_of"]

Array = NDArray[np.float64]

_MAX_SIZE = 5000  # denominator of a ratio that counts as a fraction: teeth of wheels, multiplied
EXACT_TOL = 1e-9  # of a ratio
MAX_ARCLENGTH = 6000.0  # arclength that is gone without being asked for


@dataclass(frozen=True)
class GearCycle:
    """What geared angles need to come back.

    Attributes
    ----------
    turns : int
        Whole turns of the first of them; 0 if their ratios are no fractions.
    length : float
        Arclength of the geared angles in that time, rad.
    reason : str
        Words for a way that was left before it came back.
    """

    turns: int
    length: float
    reason: str

    @property
    def affordable(self) -> bool:
        """Whether a way is followed that far by itself."""
        return self.turns > 0 and self.length < MAX_ARCLENGTH


def cycle_of(tracer: PathTracer, seeds: list[Array], known: dict[str, CoordinateMeasure]) -> GearCycle | None:
    """Return what geared angles need to come back, where their ratios do not change; None if nothing is geared so."""
    model = getattr(tracer.closed.equations, "model", None)
    if not isinstance(model, Model) or not model.forest.couplings:
        return None
    names = {f"{joint.name}": None for coupling in model.forest.couplings for joint, _ in coupling.places}
    bound = [m for name, m in known.items() if m.column >= 0 and name.split(".")[0] in names]
    places = [tracer.look(q) for q in seeds[:4] if tracer.nullity(q) == 1]
    if not places:
        return None
    rates = np.array([p.tangent * tracer.closed.scales for p in places])
    moving = [m for m in bound if np.abs(rates[:, m.column]).max() > 1e-6 * m.scale]
    if not moving:
        return None
    lead = moving[0]
    ratios = rates[:, [m.column for m in moving]] / rates[:, lead.column, None]
    if not np.isfinite(ratios).all() or np.ptp(ratios, axis=0).max() > EXACT_TOL * np.abs(ratios).max():
        return None
    return _cycle(tracer.closed, moving, ratios.mean(axis=0))


def _cycle(closed: ScaledEquations, moving: list[CoordinateMeasure], ratios: Array) -> GearCycle:
    lead = moving[0]
    for measure, ratio in zip(moving, ratios.tolist(), strict=True):
        if not measure.period:
            name, unit = measure.name, measure.unit
            moves = f"{name} moves by {abs(ratio) * 2 * np.pi:.6g} {unit} in every turn of {lead.name}"
            return GearCycle(0, np.inf, f"{moves}, and is not where it was after any number of them")
    whole = 1
    for measure, ratio in zip(moving, ratios.tolist(), strict=True):
        near = Fraction(ratio).limit_denominator(_MAX_SIZE)
        if abs(float(near) - ratio) > EXACT_TOL * max(1.0, abs(ratio)):
            never = f"{measure.name} makes {abs(ratio):.9g} turns in one of {lead.name}, which is no fraction"
            return GearCycle(0, np.inf, f"{never} of whole numbers up to {_MAX_SIZE}: they do not meet again")
        whole = lcm(whole, near.denominator)
    scales = np.array([closed.scales[m.column] for m in moving])
    length = 2 * np.pi * whole * float(np.linalg.norm(ratios / scales))
    return GearCycle(
        whole, length, f"all wheels are back after {whole} turns of {lead.name}, about {length:.4g}: give length="
    )
