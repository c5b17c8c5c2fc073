"""Snap-through of compounds: jumps of their nodes at a fold of the inner equilibrium.

The core solves the inner equilibrium in every evaluation from a fixed start, so that it depends on the state and the
parameters only. Runs keep to one branch (`compound_branches`). Where a branch ends in a fold, as in the snap-through of
a shallow truss, nodes jump while the state is continuous. Such jumps are searched along the motion, and distinguished
from discontinuous laws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ... import _core
from ...arrays import Array, IndexArray
from ...connections.elements.compounds import Compound
from ...connections.elements.implicit_laws import slopes_of_unknowns, solved_from, weakest_direction
from ...connections.elements.signals import Reaction
from ...errors import SingularityError
from ...model import Conditions, Model
from ...model.cache import cached_per_model
from ...model.law_inputs import law_inputs
from ...result import Result
from ...rotation import from_rotation_vector

__all__ = ["CompoundNodes", "compound_nodes", "find_snap_through", "fold_message", "over_periods"]


JUMP_TOL = 1e-3  # of the range of a node: a larger change is a jump; near a fold a root moves by about 1e-6
N_HALVINGS = 40  # of a step, down to 1e-12 of it
RATE_RATIO = 2.0  # to the rates of the neighbouring steps: faster steps are searched
FOLD_TOL = 1e-3  # of the slopes elsewhere; a jump is found about 1e-6 before the fold
DUPLICATE_TOL = 1e-6  # of a matrix of rotation, or of a position
N_SLOPES = 20  # states for the slopes elsewhere
SAME_BRANCH_TOL = 0.1  # of the jump: closer solutions are on the same side


@dataclass(frozen=True, eq=False)
class CompoundNodes:
    """Compound with nodes found by an inner equilibrium."""

    name: str
    element: Compound
    unknowns: list[str]  # positions of nodes among its unknowns
    columns: list[int]  # their indices among the signals

    def nodes(self, motion: Result) -> Array:
        """Return positions of nodes (n, k) at the states of a motion; NaN where there is no solution."""
        return over_periods(motion, self.nodes_at)

    def nodes_at(self, model: Model, conditions: Conditions | None, t: Array, q: Array, v: Array, x: Array) -> Array:
        """Return positions of nodes (n, k) at states; NaN where there is no solution."""
        number = _core.report_parts.index("signals")
        return model._report([number], q, v, t=t, x=x, conditions=conditions)[0][:, self.columns]

    def inputs(self, motion: Result) -> Array:
        """Return the inputs of the law at the states of a motion, (n, inputs)."""
        return over_periods(motion, self.inputs_at)

    def inputs_at(self, model: Model, conditions: Conditions | None, t: Array, q: Array, v: Array, x: Array) -> Array:
        """Return the inputs of the law at states, (n, inputs)."""
        return law_inputs(model, self.name, t, q, v, x, conditions)

    def search_start(self, given: Array) -> dict[str, float]:
        """Return the start of the search for each unknown, for inputs (inputs,)."""
        program, n = self.element.program, len(self.element.unknowns)
        assert program is not None
        numbers = program.evaluate([*given, *np.zeros(n)])[self.element.output_count + n + n * n :]
        return {name: float(number) for name, number in zip(self.element.unknowns, numbers, strict=True)}

    def equations(self, model: Model, given: Array, unknowns: Array) -> tuple[Array, Array]:
        """Return residuals (..., m) and Jacobians (..., m, m) of the unknowns (..., m), for inputs (..., inputs)."""
        m = len(self.element.unknowns)
        rows = np.concatenate([given, unknowns], axis=-1)
        row = model.compiled.elements.indices[self.name].row
        found = model._law_equations(row, np.ascontiguousarray(rows.reshape(-1, rows.shape[-1])))
        found = found.reshape(*rows.shape[:-1], m + m * m)
        return found[..., :m], found[..., m:].reshape(*rows.shape[:-1], m, m)

    def start(self, nodes: Array) -> Array:
        """Return unknowns (m,) with the positions of nodes (k,) among them, the others zero."""
        known = dict(zip(self.unknowns, nodes, strict=True))
        return np.array([known.get(name, 0.0) for name in self.element.unknowns])

    def slopes(self, motion: Result) -> Array:
        """Return Jacobians of the equations at some states of a motion, (j, m, m)."""
        some = motion.at(np.unique(motion.t[np.linspace(0, len(motion.t) - 1, N_SLOPES).astype(int)]))
        rows = zip(self.inputs(some), self.nodes(some), strict=True)
        found = np.array([slopes_of_unknowns(self.element, given, self.near(given, nodes)) for given, nodes in rows])
        finite = [slopes for slopes in found if np.isfinite(slopes).all()]
        return np.array(finite).reshape(-1, *found.shape[1:])

    def near(self, given: Array, nodes: Array) -> Array:
        """Return the unknowns (m,) found from positions of nodes (k,); NaN if there is no solution."""
        return solved_from(self.element, given, self.start(nodes))

    def same(self, one: Array, other: Array) -> bool:
        """Return whether positions of nodes (k,) differ by whole turns of rotation vectors only."""
        a, b = (dict(zip(self.unknowns, each, strict=True)) for each in (one, other))
        for first in (name for name in self.unknowns if name.endswith("_rx")):
            turn = [first[:-1] + axis for axis in "xyz"]
            if not all(name in a for name in turn):
                continue
            A, B = (from_rotation_vector(np.array([each.pop(name) for name in turn])) for each in (a, b))
            if np.abs(A - B).max() > DUPLICATE_TOL:
                return False
        return all(abs(a[name] - b[name]) < DUPLICATE_TOL * (1.0 + abs(a[name])) for name in a)

    def positions(self, unknowns: Array) -> Array:
        """Return the positions of nodes (k,) among unknowns (m,)."""
        names = list(self.element.unknowns)
        return unknowns[[names.index(name) for name in self.unknowns]]


def over_periods(motion: Result, evaluate: Callable[..., Array]) -> Array:
    """Return ``evaluate(model, conditions, t, q, v, x)`` (n, k) at the states of a motion, by periods of conditions."""
    assert motion.model is not None
    states = motion.t, motion.q, motion.v, motion.x
    if motion.conditions is None:
        return evaluate(motion.model, None, *states)
    parts = [
        (rows, evaluate(conditions.model, conditions, *(np.ascontiguousarray(part[rows]) for part in states)))
        for rows, conditions in motion.conditions(motion.t)
    ]
    found = np.empty((len(motion.t), parts[0][1].shape[1]))
    for rows, values in parts:
        found[rows] = values
    return found


@cached_per_model
def compound_nodes(model: Model) -> list[CompoundNodes]:
    """Return the compounds with nodes found by an inner equilibrium."""
    places, found = model.compiled.elements.signals, []
    for name, force in model.system.forces.items():
        element = force.element
        if not isinstance(element, Compound):
            continue
        if any(isinstance(source, Reaction) for source in element.sources.values()):
            continue  # its inputs are solved for together with its force
        unknowns = [each for each in element.unknowns if f"{name}.{each}_at" in places]
        if unknowns:
            found.append(CompoundNodes(name, element, unknowns, [places[f"{name}.{each}_at"] for each in unknowns]))
    return found


def find_snap_through(result: Result) -> SingularityError | None:
    """Return the error of the first jump of a node in a result; None if there is none.

    Parameters
    ----------
    result : Result
        Of a run, with dense output.
    """
    assert result.model is not None
    compounds = compound_nodes(result.model)
    if not compounds:
        return None
    motion = result
    inside_steps = result.step_times[(result.step_times > result.t[0]) & (result.step_times < result.t[-1])]
    if len(inside_steps) > len(result.t):  # stored at output times rather than steps
        motion = result.at(np.unique(np.concatenate([result.t[[0, -1]], inside_steps])))
    found = [jump for compound in compounds for jump in _jumps(result, motion, compound)]
    return SingularityError(min(found)[1]) if found else None


def _jumps(result: Result, motion: Result, compound: CompoundNodes) -> list[tuple[float, str]]:
    """Return times and messages of the jumps of nodes of a compound in a result."""
    nodes, t = compound.nodes(motion), motion.t
    lost = np.flatnonzero(~np.isfinite(nodes).all(axis=1))
    if len(lost):  # no moving body depends on it, or the run would have ended there
        when = float(t[lost[0]])
        if lost[0] == 0:
            return [(when, f"at t = {when:.6g} s element {compound.name!r} finds no inner equilibrium")]
        t, nodes = t[: lost[0]], nodes[: lost[0]]
    found = []
    for a, b in _narrowed(result, compound, t, nodes):
        message = _jump_message(result, motion, compound, a, b)
        if message:
            found.append((a, message))
            break
    if len(lost) and not found:
        when = float(t[-1])
        found = [(when, f"soon after t = {when:.6g} s element {compound.name!r} finds no inner equilibrium any more")]
    return found


def _seen(nodes: Array) -> Array:
    """Return the least jump of each coordinate, (k,)."""
    return np.asarray(JUMP_TOL * np.maximum(np.ptp(nodes, axis=0), 1e-6 * np.abs(nodes).max(initial=0.0) + 1e-300))


def _uneven(t: Array, nodes: Array, seen: Array) -> IndexArray:
    """Return the steps in which nodes move faster than in the neighbouring steps."""
    h, moved = np.diff(t), np.abs(np.diff(nodes, axis=0))
    rate = np.divide(moved, h[:, None], out=np.zeros_like(moved), where=h[:, None] > 0.0)
    neighbours = np.zeros_like(rate)
    neighbours[1:] = rate[:-1]
    neighbours[:-1] = np.maximum(neighbours[:-1], rate[1:])
    return np.flatnonzero(((moved > seen) & (rate > RATE_RATIO * neighbours)).any(axis=1) & (h > 0.0))


def _narrowed(result: Result, compound: CompoundNodes, t: Array, nodes: Array) -> list[tuple[float, float]]:
    """Return the short intervals within which nodes jump, for any cause."""
    seen = _seen(nodes)
    rows = _uneven(t, nodes, seen)
    a, b, at_a, at_b = t[rows], t[rows + 1], nodes[rows], nodes[rows + 1]
    for _ in range(N_HALVINGS):
        kept = (np.abs(at_b - at_a) > seen).any(axis=1)
        a, b, at_a, at_b = a[kept], b[kept], at_a[kept], at_b[kept]
        if not len(a):
            break
        middle = (a + b) / 2
        at_middle = compound.nodes(result.at(middle))
        known = np.isfinite(at_middle).all(axis=1, keepdims=True)
        at_middle = np.where(known, at_middle, at_b)
        early = (np.abs(at_middle - at_a) / seen).max(axis=1) >= (np.abs(at_b - at_middle) / seen).max(axis=1)
        a, b = np.where(early, a, middle), np.where(early, middle, b)
        at_a, at_b = np.where(early[:, None], at_a, at_middle), np.where(early[:, None], at_middle, at_b)
    return [(float(one), float(other)) for one, other in zip(a, b, strict=True)]


def _jump_message(result: Result, motion: Result, compound: CompoundNodes, a: float, b: float) -> str:
    """Return a message on a jump between two times equal to rounding; empty if a law jumps there."""
    near = result.at(np.array([a, b]))
    nodes, given = compound.nodes(near), compound.inputs(near)
    jump = nodes[1] - nodes[0]
    if compound.same(nodes[0], nodes[1]):
        return ""
    most = compound.unknowns[int(np.abs(jump).argmax())]
    slopes = slopes_of_unknowns(compound.element, given[0], compound.near(given[0], nodes[0]))
    left = weakest_direction(slopes, compound.slopes(motion))[0] if np.isfinite(slopes).all() else 0.0
    if left < FOLD_TOL:
        return fold_message(compound.name, a, most, left)
    after = compound.near(given[1], nodes[0])
    if not np.isfinite(after).all():
        return ""
    if np.abs(compound.positions(after) - nodes[0]).max() > SAME_BRANCH_TOL * np.abs(jump).max():
        return ""
    return (
        f"at t = {a:.9g} s the search for the inner equilibrium of element {compound.name!r} changes to another "
        f"solution: {most!r} jumps by {jump[np.abs(jump).argmax()]:.3g} while the earlier solution continues. Use a "
        "method of this package, which follows it, give start values of its nodes nearer to the solution, as "
        "expressions of its measures, or give the nodes mass (light bodies)"
    )


def fold_message(name: str, t: float, most: str, left: float) -> str:
    """Return the message on a fold of the inner equilibrium of an element; `left` is its smallest slope, scaled."""
    return (
        f"at t = {t:.9g} s the inner equilibrium of element {name!r} reaches a fold (smallest "
        f"scaled slope {left:.2g}): its unknowns, mainly {most!r}, would jump. Give the node mass (a "
        "light body), a damper, or stop the motion before"
    )
