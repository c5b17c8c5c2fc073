"""Periods of geared angles: turns after which all wheels return to their orientations.

Angles in couplings count their turns: a turn of one is a part of a turn of the other. A path through such
configurations closes when every body is back in its pose, after as many turns as make all of them whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from ..arrays import Array
from ..closure.continuation.arclength import PathTracer
from ..closure.scaled_equations import CoordinateMeasure, ScaledEquations
from ..model import Model

__all__ = ["GearCycle", "cycle_of"]


_MAX_DENOMINATOR = 5000  # denominator of a ratio that counts as a fraction: teeth of wheels, multiplied
EXACT_TOL = 1e-9  # of a ratio
MAX_ARCLENGTH = 6000.0  # arclength followed without a request


@dataclass(frozen=True)
class GearCycle:
    """Cycle of geared angles.

    Attributes
    ----------
    turns : int
        Whole turns of the first of them; 0 if their ratios are not fractions.
    length : float
        Arclength of the geared angles in one cycle, rad.
    reason : str
        Text for a path that was abandoned before it closed.
    """

    turns: int
    length: float
    reason: str

    @property
    def affordable(self) -> bool:
        """True if a path is followed that far without a request."""
        return self.turns > 0 and self.length < MAX_ARCLENGTH


def cycle_of(tracer: PathTracer, seeds: list[Array], known: dict[str, CoordinateMeasure]) -> GearCycle | None:
    """Return the cycle of geared angles with constant ratios; None without such angles."""
    model = getattr(tracer.closed.equations, "model", None)
    if not isinstance(model, Model) or not model.forest.couplings:
        return None
    names = {f"{joint.name}": None for coupling in model.forest.couplings for joint, _ in coupling.joint_coordinates}
    bound = [m for name, m in known.items() if m.column >= 0 and name.split(".")[0] in names]
    points = [tracer.evaluate(q) for q in seeds[:4] if tracer.nullity(q) == 1]
    if not points:
        return None
    rates = np.array([p.tangent * tracer.closed.scales for p in points])
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
            return GearCycle(0, np.inf, f"{moves}, and never returns to its value")
    whole = 1
    for measure, ratio in zip(moving, ratios.tolist(), strict=True):
        near = Fraction(ratio).limit_denominator(_MAX_DENOMINATOR)
        if abs(float(near) - ratio) > EXACT_TOL * max(1.0, abs(ratio)):
            never = f"{measure.name} makes {abs(ratio):.9g} turns in one of {lead.name}, which is not a fraction"
            return GearCycle(0, np.inf, f"{never} of whole numbers up to {_MAX_DENOMINATOR}: they do not meet again")
        whole = lcm(whole, near.denominator)
    scales = np.array([closed.scales[m.column] for m in moving])
    length = 2 * np.pi * whole * float(np.linalg.norm(ratios / scales))
    return GearCycle(
        whole, length, f"all wheels return after {whole} turns of {lead.name}, about {length:.4g}: give max_arclength="
    )
