"""Notes on motions not much larger than the absolute tolerance."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...errors import listed
from ...model import Conditions
from ..options import Options

__all__ = ["small_motion_notes"]


NEAR_TOLERANCE = 100.0  # tolerances: smaller amplitudes may show the tolerance
NOISE = 0.1  # tolerances: smaller amplitudes are rounding, which stiff modes amplify


def small_motion_notes(conditions: Conditions, options: Options, q: Array, v: Array, x: Array) -> list[str]:
    """Return a note on variables whose amplitude is close to their absolute tolerance.

    Parameters
    ----------
    conditions : Conditions
    options : Options
    q : (..., nq) rad or m
    v : (..., nv) rad/s or m/s
    x : (..., nx)
        States of one or more runs; those that are not finite are left out.
    """
    if options.step:  # fixed steps have no tolerance
        return []
    model, atol = conditions.model, options.tolerances
    places, speeds, states = atol[: model.nv], atol[model.nv : 2 * model.nv], atol[2 * model.nv :]
    fastest = np.abs(v).reshape(v.size // max(1, model.nv), model.nv).max(axis=0, initial=0.0)
    if not model.nx and (fastest >= NEAR_TOLERANCE * speeds).all() and np.isfinite(fastest).all():
        return []
    names = model.compiled.names
    q, v, x = (part.reshape(int(np.prod(part.shape[:-1])), part.shape[-1]) for part in (q, v, x))
    finite = np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1)
    q, v, x = q[finite], v[finite], x[finite]
    if not len(q):
        return []
    moved, fastest, spread = np.full(model.nv, np.inf), np.abs(v).max(axis=0, initial=0.0), np.ptp(x, axis=0)
    for owner, coordinates in names.q.items():
        dofs = names.v[owner]
        if coordinates.stop - coordinates.start == dofs.stop - dofs.start:
            moved[dofs] = np.ptp(q[:, coordinates], axis=0)
    small = (
        (moved < NEAR_TOLERANCE * places) & (fastest < NEAR_TOLERANCE * speeds) & ~conditions.acceleration_prescribed
    )
    small &= (moved > NOISE * places) & (fastest > NOISE * speeds)
    found = [(names.speeds[k], moved[k], names.speed_units[k], places[k]) for k in np.flatnonzero(small)]
    weak = (spread < NEAR_TOLERANCE * states) & (spread > NOISE * states)
    found += [(model.state_names[k], spread[k], "", states[k]) for k in np.flatnonzero(weak)]
    if not found:
        return []
    shown = [
        f"{name} by {size:.3g} {unit.removeprefix('1')}".rstrip() + f" (atol {limit:.3g})"
        for name, size, unit, limit in found
    ]
    name, size, _, limit = found[0]
    way = f"atol={{{name!r}: {1e-4 * (size or limit):.0e}}}"
    return [f"moved by little more than the absolute tolerance, which may show: {listed(shown, 4, str)}; give {way}"]
