"""Validity of flexible bodies in a motion: buckling, missing modes, spin without stiffening, large deformation.

Buckling and missing modes are checked for slender bodies made of beams only: others hardly buckle, and their structures
may be large. The finite-element model is evaluated at the states with the largest loads. Buckling is not checked where
loads stay below a thousandth of the least buckling load of the weakest section as one long cantilever. The deformation
missed by modes is compared with the whole deformation, however small the loads are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...bodies.body import Body
from ...bodies.flexible_body import FlexibleBody
from ...errors import BucklingWarning, DeformationWarning, ModesWarning, StiffeningWarning, warn_user
from ...model import Model
from ...model.cache import cached_per_model
from ...result import Motion
from ...result.outputs.buckling import factors_of
from ...result.outputs.deformation_recovery import loaded_shapes
from ...structures import Structure
from ...structures.supported_structure import without_rigid_motion

__all__ = [
    "CLOSE",
    "MISSED",
    "deformation_notes",
    "flexible_load_notes",
    "missed_by_modes",
    "mode_notes",
    "percent",
    "slender_bodies",
    "spin_notes",
]


CLOSE = 0.1
"""Part of the buckling load above which the loss of stiffness by loads is noted, where the model neglects it."""

MISSED = 0.1
"""Part of the strain energy of a deformation that modes may miss."""

NO_DEFORMATION = 1e-6
"""Deformation relative to the size of the body that is neglected: about that of a bar under its own weight."""

FAST = 0.2
"""Part of a body's lowest frequency that its spin may reach without stiffening: stiffness then errs by its square."""

LARGE = 0.2
"""rad: rotation of a node against the body frame up to which deformation is small; lengths err by half its square."""

LARGE_OF_SEGMENTS = 0.5
"""rad: the same of segments of slender bodies, which err by the fourth power of it."""

_DEFORMED_STATES = 64  # states of a motion whose nodes are evaluated, those with the largest bounds

_MIN_LOAD = 1e-3  # of the least buckling load: buckling is not checked below
_STATES = 256  # of a motion whose loads are evaluated, spread evenly
_LOADED_STATES = 3  # of these, the most heavily loaded: evaluated by the finite-element model
_SPREAD = 24  # more states, spread evenly: loads that begin at once deform a body later
_BODIES = 8  # checked: the most heavily loaded, one of each kind
_NODES = 50  # of a structure, beyond which it takes too long


def flexible_load_notes(motion: Motion) -> list[str]:
    """Return a note for each flexible body loaded beyond the validity of its model, and warn."""
    bodies = slender_bodies(motion.model)
    if not bodies or motion.pieces:
        return []
    few = _chosen(motion, np.unique(np.linspace(0, len(motion) - 1, _STATES).astype(int)))
    loads = _loads(few, bodies)
    worst: dict[int, tuple[float, Body]] = {}
    for (body, least), found in zip(bodies, loads, strict=True):
        share = float(found.max(initial=0.0)) / least
        if share > worst.get(id(body.flexible), (0.0, body))[0]:
            worst[id(body.flexible)] = share, body
    notes: list[str] = []
    for share, body in sorted(worst.values(), key=lambda one: -one[0])[:_BODIES]:
        number = next(k for k, (other, _) in enumerate(bodies) if other is body)
        notes += _notes_on(_loaded(few, loads[number]), body, buckles=share > _MIN_LOAD)
    return notes


def _loaded(motion: Motion, loads: Array) -> Motion:
    """Return a motion at its most heavily loaded states and some between, without unloaded ones."""
    rows = np.concatenate([np.argsort(loads)[-_LOADED_STATES:], np.linspace(0, len(loads) - 1, _SPREAD).astype(int)])
    return _chosen(motion, np.unique(rows[loads[rows] > 0]))


def mode_notes(motion: Motion) -> list[str]:
    """Return a note for each slender body whose modes miss part of its deformation, and warn."""
    notes: list[str] = []
    bodies = slender_bodies(motion.model)
    each = zip(bodies, _loads(motion, bodies), strict=True) if bodies else ()
    for (body, _), loads in sorted(each, key=lambda one: -float(one[1].max(initial=0.0) / one[0][1]))[:_BODIES]:
        chosen = _loaded(motion, loads)
        shapes = loaded_shapes(chosen, body) if len(chosen) else np.zeros((0, 0))
        if len(chosen) and np.isfinite(shapes).all():
            notes += _missed(chosen, body, shapes)
    return notes


@cached_per_model
def slender_bodies(model: Model) -> list[tuple[Body, float]]:
    """Return the bodies that may buckle, with the least load, N, at which any part of each could."""
    found = []
    for name in model.flexible_names:
        body = model.system.bodies[name]
        flexible = body.require_flexible()
        structure = flexible.structure
        if not isinstance(structure, Structure) or structure.beams is None or flexible.nodes_removed:
            continue
        beams = structure.beams
        if 2 < len(structure.nodes) <= _NODES:
            bending, length = float(beams.rigidities[:, 4:].min()), float(beams.lengths.sum())
            found.append((body, np.pi**2 * bending / (2 * length) ** 2))
    return found


def _loads(motion: Motion, bodies: list[tuple[Body, float]]) -> list[Array]:
    """Return the largest loads (n,) N on each of the bodies: of one connection, or of all elements; a moment by arm."""
    model = motion.model
    names = {name: k for k, name in enumerate(model.connection_names)}
    passed, acting = motion.part("loads"), motion.part("body_loads")
    found = []
    for body, _ in bodies:
        flexible = body.require_flexible()
        size = _size(flexible)
        bent = np.abs(motion.q[:, model.q_slice(body.name)]) @ np.linalg.norm(flexible.shapes[:, 3:], axis=1).max(
            axis=0
        )
        loads = [acting[:, model.body_names.index(body.name)]]
        for connection in model.system.connections.values():
            if body in (connection.first.body, connection.second.body) and connection.name in names:
                loads.append(passed[:, names[connection.name]])
        each = [np.linalg.norm(x[:, 3:], axis=1) + np.linalg.norm(x[:, :3], axis=1) / size for x in loads]
        found.append(np.where(bent < size, np.max(each, axis=0), 0.0))  # large deformations have their own note
    return found


def _notes_on(motion: Motion, body: Body, *, buckles: bool) -> Iterator[str]:
    flexible = body.require_flexible()
    shapes = loaded_shapes(motion, body)
    if not np.isfinite(shapes).all():
        return
    factors = factors_of(motion, body, shapes) if buckles else np.full(len(motion), np.inf)
    k = int(factors.argmin())
    stiff = flexible.stiffening
    known = stiff is not None and (stiff.line is not None or len(stiff.load_nodes) > 0)
    limit = 1.0 if known else 1 / CLOSE
    if factors[k] < limit:
        yield _pressed(body, float(factors[k]), float(motion.t[k]), known=known)
    else:
        yield from _missed(motion, body, shapes)


def _pressed(body: Body, factor: float, t: float, *, known: bool) -> str:
    note = f"{body.name!r} is pressed by {1 / factor:.3g} of the load at which it buckles (t = {t:.6g} s)"
    if factor < 1:
        stiff = body.require_flexible().stiffening
        segment = stiff is not None and stiff.line is not None
        remedy = "more segments" if segment else "da.beam(..., segments=n)"
        note += f": its modes do not describe the motion beyond that; use {remedy}"
    elif not known:
        note += (
            f": {percent(1 / factor)} of its stiffness or more are not there; give it stiffening=True and load_nodes, "
            "the nodes that are pressed"
        )
    warn_user(BucklingWarning(note))
    return note


def _missed(motion: Motion, body: Body, shapes: Array) -> Iterator[str]:
    """Yield a note if no combination of the modes is close to the deformation of the structure."""
    flexible = body.require_flexible()
    missed, whole, moved = missed_by_modes(flexible, shapes)
    k = int(missed.argmax())
    share = missed[k] / max(float(whole.max()), 1e-300)  # relative to the largest energy
    if share > MISSED and moved[k] > NO_DEFORMATION * _size(flexible):
        note = (
            f"the modes of {body.name!r} ({flexible.nm}) miss {percent(share)} of how its loads deform it, by strain "
            f"energy (up to {moved[k]:.2g} m, t = {motion.t[k]:.6g} s): take more, or modes=da.CraigBampton with the "
            "loaded nodes"
        )
        warn_user(ModesWarning(note))
        yield note


def missed_by_modes(flexible: FlexibleBody, shapes: Array) -> tuple[Array, Array, Array]:
    """Return strain energies (k,) J that modes miss of deformations (k, 6 n), the whole ones, and displacements (k,) m.

    For one load, the share of energy is also the missed share of the displacement under it, for any support.
    Displacements are the largest of any node.
    """
    segment = flexible.stiffening is not None and flexible.stiffening.line is not None
    if flexible.stiffness is None or not flexible.nm or segment:  # the other segments of the line have the rest
        return np.zeros(len(shapes)), np.zeros(len(shapes)), np.zeros(len(shapes))
    forces = flexible.stiffness @ shapes.T
    work = flexible.modes.T @ forces
    whole = np.einsum("ik,ik->k", shapes.T, forces)
    known = np.einsum("ik,ik->k", work, np.linalg.solve(flexible.modal_stiffness, work))
    bent = shapes.T if flexible.reference is not None else without_rigid_motion(flexible.structure, shapes.T)
    moved = np.linalg.norm(bent.T.reshape(len(shapes), -1, 6)[..., :3], axis=2).max(1)
    return (whole - known) / 2, whole / 2, moved


def percent(share: float) -> str:
    """Return a share as text, to two digits."""
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def _size(flexible: FlexibleBody) -> float:
    return float(np.linalg.norm(np.ptp(flexible.nodes, axis=0))) or 1.0


def _chosen(motion: Motion, rows: NDArray[np.int64]) -> Motion:
    """Return a motion at some of its states."""
    t, q, v, x = (np.ascontiguousarray(part[rows]) for part in (motion.t, motion.q, motion.v, motion.x))
    return type(motion)(motion.model, t, q, v, x, conditions=motion.conditions)


# ---- range of the theory


def deformation_notes(model: Model, q: Array) -> list[str]:
    """Return a note for each flexible body with a large deformation at some state (n, nq), and warn."""
    notes = []
    for name in model.flexible_names:
        flexible = model.system.bodies[name].require_flexible()
        turn, moved = _largest(flexible, q[:, model.q_slice(name)])
        size = _size(flexible)
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
        by_mode = np.linalg.norm(part, axis=1).max(axis=0)  # an upper bound for any combination of modes
        bounds = np.abs(eta) @ by_mode
        chosen = eta[np.argsort(bounds)[-_DEFORMED_STATES:]]
        largest = 0.0
        for one in chosen:
            largest = max(largest, float(np.linalg.norm(part @ one, axis=1).max(initial=0.0)))
        found.append(largest)
    return found[0], found[1]


def spin_notes(model: Model, q: Array, v: Array) -> list[str]:
    """Return a note for each flexible body that spins too fast at some state (n, nq), (n, nv), and warn.

    Modes linear in the deformation lack the stiffening by centrifugal forces (Kane, Ryan and Banerjee 1987): a beam
    that spins at its own frequency has no stiffness left.
    """
    notes = []
    for name in model.flexible_names:
        flexible = model.system.bodies[name].require_flexible()
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
