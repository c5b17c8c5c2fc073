"""Flexible bodies pressed near buckling, and modes that miss how loads deform them: found after a run, with numbers.

Only slender bodies are looked at, those made of beams: others hardly buckle, and their structures may be large. A body
whose loads stay below a thousandth of the least load at which its weakest section, as one long cantilever, would buckle
is left alone; of the others, the states with the largest loads are put to the finite-element model.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..bodies.flexible import FlexibleBody
from ..bodies.rigid import Body
from ..errors import BucklingWarning, ModesWarning, warn_user
from ..model import Model
from ..model.once import once_per_model
from ..result import Motion
from ..result.outputs import factors_of, loaded_shapes
from ..structures import Structure
from ..structures.held import without_rigid_motion

__all__ = ["CLOSE", "MISSED", "load_notes"]

Array = NDArray[np.float64]

CLOSE = 0.1
"""Part of the buckling load from which stiffness that loads take away counts, where none is taken into account."""

MISSED = 0.1
"""Part of a deformation that modes may miss; less than a thousandth of the body's size does not count."""

_LEAST = 1e-3  # of the least load that might matter
_STATES = 256  # of a motion whose loads are looked at, spread evenly
_LOOKED_AT = 3  # of these, states that the finite-element model is put to
_BODIES = 8  # that are looked at: the most heavily loaded, one of those that are alike
_NODES = 50  # of a structure, beyond which it takes too long


def load_notes(motion: Motion) -> list[str]:
    """Return a sentence for each flexible body that loads press or bend beyond what its model tells, and warn."""
    bodies = _slender(motion.model)
    if not bodies or motion.pieces:
        return []
    few = _chosen(motion, np.unique(np.linspace(0, len(motion) - 1, _STATES).astype(int)))
    loads = _loads(few, bodies)
    worst: dict[int, tuple[float, Body]] = {}
    for (body, least), found in zip(bodies, loads, strict=True):
        share = float(found.max(initial=0.0)) / least
        if share > _LEAST and share > worst.get(id(body.flexible), (0.0, body))[0]:
            worst[id(body.flexible)] = share, body
    notes: list[str] = []
    for _, body in sorted(worst.values(), key=lambda one: -one[0])[:_BODIES]:
        number = next(k for k, (other, _) in enumerate(bodies) if other is body)
        rows = np.argsort(loads[number])[-_LOOKED_AT:]
        notes += _notes_on(_chosen(few, np.sort(rows[loads[number][rows] > 0])), body)
    return notes


@once_per_model
def _slender(model: Model) -> list[tuple[Body, float]]:
    """Return the bodies that may buckle, with the least load, N, at which any part of each could."""
    found = []
    for name in model.flexible_names:
        body = model.system.bodies[name]
        assert body.flexible is not None
        structure = body.flexible.structure
        if not isinstance(structure, Structure) or structure.beams is None or body.flexible.lacks_nodes:
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
        flexible = body.flexible
        assert flexible is not None
        size = _size(flexible)
        bent = np.abs(motion.q[:, model.q_slice(body.name)]) @ np.linalg.norm(flexible.shapes[:, 3:], axis=1).max(
            axis=0
        )
        loads = [acting[:, model.body_names.index(body.name)]]
        for connection in model.system.connections.values():
            if body in (connection.first.body, connection.second.body) and connection.name in names:
                loads.append(passed[:, names[connection.name]])
        each = [np.linalg.norm(x[:, 3:], axis=1) + np.linalg.norm(x[:, :3], axis=1) / size for x in loads]
        found.append(np.where(bent < size, np.max(each, axis=0), 0.0))  # of what is far from small nothing is said here
    return found


def _notes_on(motion: Motion, body: Body) -> Iterator[str]:
    flexible = body.flexible
    assert flexible is not None
    shapes = loaded_shapes(motion, body)
    if not np.isfinite(shapes).all():
        return
    factors = factors_of(motion, body, shapes)
    k = int(factors.argmin())
    stiff = flexible.stiffening
    known = stiff is not None and (stiff.line is not None or len(stiff.load_nodes) > 0)
    limit = 1.0 if known else 1 / CLOSE
    if factors[k] < limit:
        yield _pressed(body, float(factors[k]), float(motion.t[k]), known=known)
    elif stiff is None or stiff.line is None:  # what segments miss, the line has in its other segments
        yield from _missed(motion, body, shapes)


def _pressed(body: Body, factor: float, t: float, *, known: bool) -> str:
    said = f"{body.name!r} is pressed by {1 / factor:.3g} of the load at which it buckles (t = {t:.6g} s)"
    if factor < 1:
        stiff = body.flexible.stiffening if body.flexible is not None else None
        segment = stiff is not None and stiff.line is not None
        remedy = "more segments" if segment else "da.beam(..., segments=n)"
        said += f": modes do not tell where it goes from there; take {remedy}"
    elif not known:
        said += (
            f": {100 / factor:.2g} % of its stiffness or more are not there; give it stiffening=True and load_nodes, "
            "the nodes that are pressed"
        )
    warn_user(BucklingWarning(said))
    return said


def _missed(motion: Motion, body: Body, shapes: Array) -> Iterator[str]:
    """Say if no combination of the modes comes near to how the loads deform the structure."""
    flexible = body.flexible
    assert flexible is not None
    if flexible.stiffness is None or not flexible.nm:
        return
    modal = np.linalg.solve(flexible.modal_stiffness, flexible.modes.T @ (flexible.stiffness @ shapes.T))
    whole, left = shapes.T, shapes.T - flexible.modes @ modal
    if flexible.reference is None:  # both without what the frame does
        whole, left = (without_rigid_motion(flexible.structure, part) for part in (whole, left))
    moved, apart = (
        np.linalg.norm(part.T.reshape(len(shapes), -1, 6)[..., :3], axis=2).max(1) for part in (whole, left)
    )
    k = int((apart / np.maximum(moved, 1e-300)).argmax())
    if apart[k] > MISSED * moved[k] and apart[k] > _LEAST * _size(flexible):
        said = (
            f"the modes of {body.name!r} ({flexible.nm}) miss {100 * apart[k] / moved[k]:.2g} % of how its loads "
            f"deform it ({apart[k]:.2g} of {moved[k]:.2g} m, t = {motion.t[k]:.6g} s): take more, or "
            "modes=da.CraigBampton with the loaded nodes"
        )
        warn_user(ModesWarning(said))
        yield said


def _size(flexible: FlexibleBody) -> float:
    return float(np.linalg.norm(np.ptp(flexible.nodes, axis=0))) or 1.0


def _chosen(motion: Motion, rows: NDArray[np.int64]) -> Motion:
    """Return a motion at some of its states."""
    t, q, v, x = (np.ascontiguousarray(part[rows]) for part in (motion.t, motion.q, motion.v, motion.x))
    return type(motion)(motion.model, t, q, v, x, conditions=motion.conditions)
