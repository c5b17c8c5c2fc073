"""Rotation-vector wrap at 180 degrees: relative orientations measured by elements are ambiguous there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...arrays import Array, IndexArray
from ...connections.elements.built_in import ForceConnection
from ...connections.elements.compounds import Compound
from ...connections.elements.element import Element
from ...connections.elements.signals import MEASURES
from ...connections.formulas.dependencies import inputs_of
from ...errors import SingularityError
from ...model import Conditions, Model
from ...model.cache import cached_per_model
from ...model.law_inputs import law_inputs
from ...numerics.roots import bisect
from ...result import Result
from ...rotation import from_rotation_vector, rotation_vectors
from .snap_through import over_periods

__all__ = ["find_rotation_wrap", "find_rotation_wraps", "rotation_measures"]


_LOADS = ("force", "moment")
JUMP_TOL = 1e-4  # of the load, within a time in which nothing else changes
MAX_ROTATION = 2.0  # rad between two times: beyond, the direction of rotation is ambiguous


@dataclass(frozen=True, eq=False)
class RotationMeasure:
    """Relative orientation that a law measures: at an end of an element, or of a member of a compound.

    force : the element
    port : which of its further ends, or of the member's
    member : name of the member; empty: the element itself
    """

    force: ForceConnection
    port: int
    member: str = ""

    @property
    def name(self) -> str:
        """Name in messages."""
        return (
            f"member {self.member!r} of element {self.force.name!r}" if self.member else f"element {self.force.name!r}"
        )

    def vectors(self, model: Model, conditions: Conditions | None, t: Array, q: Array, v: Array, x: Array) -> Array:
        """Return the rotation vector (n, 3) of the end against the first, at states."""
        if not self.member:
            ends = model.system.forces[self.force.name].ends  # of the model with other parameters
            A, B = (model.pose(end, q).rotation for end in (ends[0], ends[1 + self.port]))
            return np.asarray(rotation_vectors(np.einsum("kji,kjl->kil", A, B)))
        element = self.force.element
        assert isinstance(element, Compound)
        inputs = law_inputs(model, self.force.name, t, q, v, x, conditions)
        signals = model.report(["signals"], t, q, v, x, conditions=conditions)["signals"]
        places = model.compiled.elements.signals
        found = {name: places.get(f"{self.force.name}.{name}_at") for name in element.unknowns}
        zero = np.zeros(len(t))  # rates, which have no effect
        unknowns = [zero if place is None else signals[:, place] for place in found.values()]
        return element.turns_of(self.member, self.port, np.column_stack([inputs, *unknowns]))

    def along(self, motion: Result) -> Array:
        """Return the rotation vector (n, 3) at the states of a motion, under the conditions that held."""
        return over_periods(motion, self.vectors)

    @staticmethod
    def jumps(phi: Array) -> IndexArray:
        """Return the vectors (n, 3) of a motion, by number, after which the vector wraps to its opposite."""
        near = np.flatnonzero(np.linalg.norm(np.diff(phi, axis=0), axis=1) > np.pi)
        return near[[_between(phi[k], phi[k + 1]) < MAX_ROTATION for k in near]] if len(near) else near


def _between(a: Array, b: Array) -> float:
    """Return the angle between two orientations given by rotation vectors, rad."""
    seen = from_rotation_vector(a).T @ from_rotation_vector(b)
    return float(np.linalg.norm(rotation_vectors(seen[None])[0]))


def find_rotation_wrap(result: Result) -> SingularityError | None:
    """Return the error of a motion in which the rotation vector of an element wraps, or None."""
    model = result.model
    assert model is not None
    first: tuple[float, RotationMeasure] | None = None
    for measure in rotation_measures(model):
        for k in measure.jumps(measure.along(result)):
            if first is not None and result.t[k] >= first[0]:
                break
            if _load_jumps(result, measure, int(k)):
                first = float(result.t[k]), measure
                break
    return None if first is None else SingularityError(_message(*first))


def find_rotation_wraps(
    model: Model,
    t: Array,
    states: tuple[Array, Array, Array],
    model_of: Callable[[int], Model],
    again: Callable[[int], Result],
) -> dict[int, str]:
    """Return messages on runs of an ensemble in which a rotation vector wraps, by run.

    Parameters
    ----------
    model : Model
        As described.
    t : (n,) s
    states : q (B, n, nq), v (B, n, nv), x (B, n, nx)
    model_of : function
        From the number of a run to its model.
    again : function
        From the number of a run to its result with dense output. Called once for each attitude, to check whether the
        load jumps with the vector.
    """
    found: dict[int, str] = {}
    for measure in rotation_measures(model):
        jumped: dict[int, int] = {}
        for run, (q, v, x) in enumerate(zip(*states, strict=True)):
            good = np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1)
            if good.sum() < 2:
                continue
            at = measure.jumps(measure.vectors(model_of(run), None, t[good], q[good], v[good], x[good]))
            if len(at):
                jumped[run] = int(at[0])
        if not jumped:
            continue
        alone = again(next(iter(jumped)))
        places = measure.jumps(measure.along(alone))
        if any(_load_jumps(alone, measure, int(k)) for k in places):
            found |= {run: _message(float(t[k]), measure) for run, k in jumped.items() if run not in found}
    return found


def _message(t: float, measure: RotationMeasure) -> str:
    return (
        f"soon after t = {t:.6g} s the ends of {measure.name} have turned by half a turn against each other; the "
        "rotation vector (rx, ry, rz) that its law uses jumps to its opposite there, and with it the moment. Use a law "
        "at a joint (JointSpring, Element('joint', ...)) for turns without limit, or keep them below half a turn"
    )


def _load_jumps(result: Result, measure: RotationMeasure, k: int) -> bool:
    """Return whether the load of an element jumps where its rotation vector wraps, after stored time k.

    Laws of sines and cosines of the vector are continuous there.
    """
    a, b = float(result.t[k]), float(result.t[k + 1])

    def vector(t: float) -> Array:
        return np.asarray(measure.along(result.at(np.array([t])))[0])

    before = vector(a)
    near = result.at(np.array(bisect(lambda t: bool(before @ vector(float(t)) > 0), a, b, 40)))
    loads = [near.output(f"{measure.force.name}.{load}") for load in _LOADS]
    jumped = np.concatenate([np.diff(load, axis=0).ravel() for load in loads])
    size = max(float(np.abs(result.output(f"{measure.force.name}.{load}")).max()) for load in _LOADS)
    return bool(np.abs(jumped).max() > JUMP_TOL * size)


@cached_per_model
def rotation_measures(model: Model) -> list[RotationMeasure]:
    """Return the relative orientations that laws measure as rotation vectors."""
    found = []
    for force in model.system.forces.values():
        element = force.element
        if not isinstance(element, Element) or element.is_smooth_at_half_turn:
            continue
        found += [RotationMeasure(force, port) for port in _ports(element)]
        if isinstance(element, Compound):
            found += [
                RotationMeasure(force, port, name)
                for name, own in element.turning_members.items()
                for port in _ports(own)
            ]
    return found


def _ports(element: Element) -> list[int]:
    """Return the further ends of an element whose orientation its force depends on."""
    if "pose" not in element.each_measure:
        return []
    used = range(1, 1 + element.measures)
    if element.program is not None:
        m, n, k = element.measures, len(element.states), len(element.signals)
        outputs = element.program.outputs
        mine = [*outputs[: m + n], *outputs[m + n + 1 + k :]]
        if isinstance(
            element, Compound
        ):  # its force uses the rotation itself; only the search of nodes uses the vector
            mine = outputs[len(outputs) - len(element.unknowns) :]
        used = sorted(inputs_of(element.program, mine))  # type: ignore[assignment]
    found, first = [], 0
    for port, measure in enumerate(element.each_measure):
        if measure == "pose" and any(first + 4 <= each < first + 7 for each in used):
            found.append(port)
        first += len(MEASURES[measure][0])
    return found
