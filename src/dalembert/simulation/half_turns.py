"""Rotation vectors that jump: what elements measure of an attitude is unique within half a turn to either side only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..connections.elements.compounds import Compound
from ..connections.elements.element import Element
from ..connections.elements.plain import ForceConnection
from ..connections.elements.signals import MEASURES
from ..connections.formulas.parts import inputs_of
from ..errors import SingularityError
from ..model import Model
from ..result import Result
from ..rotation import rotation_vectors

__all__ = ["passed_half_turn"]

Array = NDArray[np.float64]

_LOADS = ("force", "moment")
_JUMP = 1e-4  # of the load, within a time in which nothing else changes
_LONGEST = 2.0  # rad between two times, beyond which a turn and its opposite cannot be told apart


def passed_half_turn(result: Result) -> SingularityError | None:
    """Return what is wrong with a motion in which an element's rotation vector has jumped to its opposite, or None."""
    model = result.model
    assert model is not None
    first: tuple[float, str] | None = None
    for force in model.system.forces.values():
        for port in _turning(force):
            A, B = force.ends[0], force.ends[1 + port]
            R = model.pose(A, result.q).rotation
            seen = np.einsum("kji,kjl->kil", R, model.pose(B, result.q).rotation)
            phi = rotation_vectors(seen)
            jump = np.linalg.norm(np.diff(phi, axis=0), axis=1)
            turned = np.linalg.norm(rotation_vectors(np.einsum("kji,kjl->kil", seen[:-1], seen[1:])), axis=1)
            for k in np.flatnonzero((jump > np.pi) & (turned < _LONGEST)):
                if first is not None and result.t[k] >= first[0]:
                    break
                if _load_jumps(result, force, port, int(k)):
                    first = float(result.t[k]), force.name
                    break
    if first is None:
        return None
    t, name = first
    return SingularityError(
        f"soon after t = {t:.6g} s the ends of element {name!r} have turned by half a turn against each other; the "
        "rotation vector (rx, ry, rz) that its law uses jumps to its opposite there, and with it the moment. Use a law "
        "at a hinge (HingeSpring, Element('hinge', ...)) for turns without limit, or keep them below half a turn"
    )


def _load_jumps(result: Result, force: ForceConnection, port: int, k: int) -> bool:
    """Return whether the load of an element jumps where its rotation vector does, after stored time k.

    Laws that use the rotation itself, by sines and cosines of the vector, do not mind.
    """
    model = result.model
    assert model is not None
    a, b = float(result.t[k]), float(result.t[k + 1])
    before = _vector(model, force, port, result.q[k])
    for _ in range(40):
        middle = (a + b) / 2
        if before @ _vector(model, force, port, result.at(middle).q) > 0:
            a = middle
        else:
            b = middle
    near = result.at(np.array([a, b]))
    jumped = np.concatenate([np.diff(near.output(f"{force.name}.{load}"), axis=0).ravel() for load in _LOADS])
    size = np.concatenate([np.abs(near.output(f"{force.name}.{load}")).max(axis=0).ravel() for load in _LOADS])
    return bool(np.abs(jumped).max() > _JUMP * size.max())


def _vector(model: Model, force: ForceConnection, port: int, q: Array) -> Array:
    """Return the rotation vector (3,) of an end against the first, at q (nq,)."""
    A, B = (model.pose(end, q[None]).rotation[0] for end in (force.ends[0], force.ends[1 + port]))
    return np.asarray(rotation_vectors((A.T @ B)[None])[0])


def _turning(force: ForceConnection) -> list[int]:
    """Return which ends an element measures the attitude of and pushes by it."""
    element = force.element
    if not isinstance(element, Element) or "pose" not in element.each_measure:
        return []
    used = range(1, 1 + element.measures)
    if element.program is not None:
        m, n, k = element.measures, len(element.states), len(element.signals)
        outputs = element.program.outputs
        mine = [*outputs[: m + n], *outputs[m + n + 1 + k :]]
        if isinstance(element, Compound):  # it uses the rotation itself, but for where its nodes are searched
            mine = outputs[len(outputs) - len(element.unknowns) :]
        used = sorted(inputs_of(element.program, mine))  # type: ignore[assignment]
    found, first = [], 0
    for port, measure in enumerate(element.each_measure):
        if measure == "pose" and any(first + 4 <= each < first + 7 for each in used):
            found.append(port)
        first += len(MEASURES[measure][0])
    return found
