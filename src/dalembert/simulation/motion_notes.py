"""What a motion did that its user should know: spins beyond the theory, hinge data that would have changed it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..compile.names import full_names
from ..connections.hinges import Hinge
from ..model import Conditions, Model
from ..model.once import once_per_model
from .spin import spin_notes

__all__ = ["motion_notes"]

Array = NDArray[np.float64]


def motion_notes(conditions: Conditions, q: Array, v: Array) -> list[str]:
    """Return notes on a motion through q (..., nq), v (..., nv); states that are not finite count for nothing."""
    model = conditions.model
    if not model.nv:
        return []
    q, v = q.reshape(-1, model.nq), v.reshape(-1, model.nv)
    finite = np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1)
    if not finite.all():
        q, v = q[finite], v[finite]
    if not len(q):
        return []
    return [*spin_notes(model, q, v), *_hinge_notes(model, q, v, pushed=conditions.control is not None)]


@once_per_model
def _hinges_with_data(model: Model) -> dict[str, Hinge]:
    """Return the hinges that have data which do not act, by name."""
    kept = ("lower", "upper", "friction", "max_speed", "max_effort")
    hinges = {c.name: c.element for c in model.system.connections.values() if isinstance(c.element, Hinge)}
    return {name: hinge for name, hinge in hinges.items() if any(getattr(hinge, field) is not None for field in kept)}


def _hinge_notes(model: Model, q: Array, v: Array, *, pushed: bool) -> list[str]:
    """Say which limits a motion passed, and which friction and bounds of efforts it left out."""
    hinges = _hinges_with_data(model)
    if not hinges:
        return []
    notes: list[str] = []
    cut_q, cut_v, _ = model.cut_motion(q, v, np.zeros_like(v)) if model.nc else (q[:, :0], v[:, :0], v)
    names = model.compiled.names
    acting = {name for force in model.system.forces.values() for name in (place.name for place, _ in force.places)}
    for name, hinge in hinges.items():
        cut = name in names.cut_v
        speeds = cut_v[:, names.cut_v[name]] if cut else v[:, model.v_slice(name)]
        positions = cut_q[:, names.cut_q[name]] if cut else q[:, model.q_slice(name)]
        notes += _passed(name, hinge, positions, speeds)
        if hinge.friction is not None and np.any(hinge.friction) and np.abs(speeds).max(initial=0.0) > 0.0:
            size = f"{np.max(hinge.friction):.6g}"
            notes.append(f"{name}: its friction {size} does not act; connect a da.CoulombFriction to it, which does")
        if hinge.max_effort is not None and (pushed or name in acting):
            size = f"{np.min(hinge.max_effort):.6g}"
            notes.append(
                f"{name}: its max_effort {size} does not clip what acts there; clip it in the law or the control"
            )
    return notes


def _passed(name: str, hinge: Hinge, positions: Array, speeds: Array) -> Iterator[str]:
    """Say which limits of position and speed were passed, and how far."""
    coordinates, units = full_names(name, hinge.speeds), hinge.speed_units
    for k, coordinate in enumerate(coordinates):
        if hinge.nq == hinge.nv and hinge.lower is not None and positions[:, k].min() < hinge.lower[k]:
            yield _said(coordinate, "lower limit", hinge.lower[k], positions[:, k].min(), units[k])
        if hinge.nq == hinge.nv and hinge.upper is not None and positions[:, k].max() > hinge.upper[k]:
            yield _said(coordinate, "upper limit", hinge.upper[k], positions[:, k].max(), units[k])
        fastest = np.abs(speeds[:, k]).max()
        if hinge.max_speed is not None and fastest > hinge.max_speed[k]:
            yield f"{coordinate} passed its max_speed {hinge.max_speed[k]:.6g} {units[k]}/s and came to {fastest:.6g}"


def _said(coordinate: str, what: str, limit: float, reached: float, unit: str) -> str:
    return (
        f"{coordinate} passed its {what} {limit:.6g} {unit} and came to {reached:.6g} {unit}: nothing stops it there; "
        "connect a da.Limits to it, which does"
    )
