"""Flexible bodies that leave the range of their theory: spins without stiffening, deformations that are not small."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...bodies.flexible_body import FlexibleBody
from ...errors import DeformationWarning, StiffeningWarning, warn_user

if TYPE_CHECKING:
    from ...model import Model

__all__ = ["FAST", "LARGE", "LARGE_OF_SEGMENTS", "deformation_notes", "spin_notes"]

Array = NDArray[np.float64]

FAST = 0.2
"""Part of a body's lowest frequency that its spin may reach without stiffening: stiffness then errs by its square."""


LARGE = 0.2
"""rad: rotation of a node against the body frame up to which deformation is small; lengths err by half its square."""

LARGE_OF_SEGMENTS = 0.5
"""rad: the same of segments of slender bodies, which err by the fourth power of it."""

_LOOKED_AT = 64  # states of a motion whose nodes are looked at, those of the largest bounds


def deformation_notes(model: Model, q: Array) -> list[str]:
    """Return a sentence for each flexible body whose deformation was not small at some state (n, nq), and warn."""
    notes = []
    for name in model.flexible_names:
        flexible = model.system.bodies[name].flexible
        assert flexible is not None
        turn, moved = _largest(flexible, q[:, model.q_slice(name)])
        size = float(np.linalg.norm(np.ptp(flexible.nodes, axis=0))) or 1.0
        segment = flexible.stiffening is not None and flexible.stiffening.line is not None
        limit = LARGE_OF_SEGMENTS if segment else LARGE
        if turn > limit or moved > limit * size:
            limits = f"segments are for ends that turn by about {limit} rad; take more of them"
            if not segment:
                limits = f"modes are for small deformations (about {limit} rad); divide it into several bodies, or "
                limits += "take da.cable"
            notes.append(
                f"{name!r} deforms by up to {moved:.3g} m ({moved / size:.2g} of its size {size:.3g} m), its nodes "
                f"turn by up to {turn:.3g} rad: {limits}"
            )
            warn_user(DeformationWarning(notes[-1]))
    return notes


def _largest(flexible: FlexibleBody, eta: Array) -> tuple[float, float]:
    """Return the largest rotation, rad, and displacement, m, of any node for modal coordinates (n, nm)."""
    found = []
    for part in (flexible.shapes[:, :3], flexible.shapes[:, 3:]):
        by_mode = np.linalg.norm(part, axis=1).max(axis=0)  # no combination of modes moves a node more than their sum
        bounds = np.abs(eta) @ by_mode
        chosen = eta[np.argsort(bounds)[-_LOOKED_AT:]]
        largest = 0.0
        for one in chosen:
            largest = max(largest, float(np.linalg.norm(part @ one, axis=1).max(initial=0.0)))
        found.append(largest)
    return found[0], found[1]


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
            warn_user(StiffeningWarning(notes[-1]))
    return notes
