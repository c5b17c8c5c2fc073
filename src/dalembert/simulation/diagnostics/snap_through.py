"""Nodes of compounds that jump: their inner equilibrium may have several solutions, of which a motion follows one.

The core searches afresh in every evaluation, from where the compound says to begin, so that what it finds is a function
of the state and of the parameters alone. Runs keep to the solution that they have followed (`inner_branches`). Where it
ends in a fold, as that of a shallow truss that snaps through, positions of nodes jump while nothing else does. That is
looked for along the motion, and told apart from laws that jump themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...connections.elements.compound import Compound
from ...connections.elements.implicit_laws import slopes_of_unknowns, solved_from, weakest_direction
from ...connections.elements.signals import Reaction
from ...errors import SingularityError
from ...model import Conditions, Model
from ...model.cache import cached_per_model
from ...model.law_inputs import law_inputs
from ...result import Result
from ...rotation import from_rotation_vector

__all__ = ["CompoundNodes", "compound_nodes", "find_snap_through", "fold_message", "periods_of"]

Array = NDArray[np.float64]

_SEEN = 1e-3  # of all that a node moves by: a jump; a root that ends in a fold moves by 1e-6 within the time below
_HALVINGS = 40  # of a step: 1e-12 of it
_FASTER = 2.0  # than in the steps before and after it: a step that is looked into
_FOLDED = 1e-3  # of the slopes of its equations elsewhere; a jump is found some 1e-6 before the fold
DUPLICATE_TOL = 1e-6  # of a matrix of rotation, or of a position
_LOOKS = 20  # at slopes elsewhere
_NEAR = 0.1  # of the jump: what is found from the one side is the solution on that side


@dataclass(frozen=True, eq=False)
class CompoundNodes:
    """A compound whose nodes are found in every evaluation."""

    name: str
    element: Compound
    unknowns: list[str]  # positions of nodes among its unknowns
    columns: list[int]  # where they are among the signals

    def nodes(self, motion: Result) -> Array:
        """Return positions of nodes (n, k) at the states of a motion; NaN where there are none."""
        found = np.empty((len(motion.t), len(self.columns)))
        for rows, model, conditions in periods_of(motion):
            states = (np.ascontiguousarray(part[rows]) for part in (motion.t, motion.q, motion.v, motion.x))
            found[rows] = self.nodes_at(model, conditions, *states)
        return found

    def nodes_at(self, model: Model, conditions: Conditions | None, t: Array, q: Array, v: Array, x: Array) -> Array:
        """Return positions of nodes (n, k) at states; NaN where there are none."""
        number = _core.report_parts.index("signals")
        found: Array = model._report([number], q, v, t=t, x=x, conditions=conditions)[0][:, self.columns]
        return found

    def inputs(self, motion: Result) -> Array:
        """Return what the law takes at the states of a motion, (n, takes)."""
        found = np.empty((len(motion.t), len(self.element.input_names)))
        for rows, model, conditions in periods_of(motion):
            states = (np.ascontiguousarray(part[rows]) for part in (motion.t, motion.q, motion.v, motion.x))
            found[rows] = self.inputs_at(model, conditions, *states)
        return found

    def inputs_at(self, model: Model, conditions: Conditions | None, t: Array, q: Array, v: Array, x: Array) -> Array:
        """Return what the law takes at states, (n, takes)."""
        return law_inputs(model, self.name, t, q, v, x, conditions)

    def begins(self, given: Array) -> dict[str, float]:
        """Return where the search for each unknown begins, for inputs (takes,)."""
        program, n = self.element.program, len(self.element.unknowns)
        assert program is not None
        numbers = program.evaluate([*given, *np.zeros(n)])[self.element.output_count + n + n * n :]
        return {name: float(number) for name, number in zip(self.element.unknowns, numbers, strict=True)}

    def equations(self, model: Model, given: Array, unknowns: Array) -> tuple[Array, Array]:
        """Return residuals (..., m) of the unknowns (..., m) and their slopes (..., m, m), for inputs (..., takes)."""
        m = len(self.element.unknowns)
        rows = np.concatenate([given, unknowns], axis=-1)
        row = model.compiled.elements.places[self.name].row
        found = model._law_equations(row, np.ascontiguousarray(rows.reshape(-1, rows.shape[-1])))
        found = found.reshape(*rows.shape[:-1], m + m * m)
        return found[..., :m], found[..., m:].reshape(*rows.shape[:-1], m, m)

    def start(self, nodes: Array) -> Array:
        """Return unknowns (m,) with the positions of nodes (k,) among them, the others zero."""
        known = dict(zip(self.unknowns, nodes, strict=True))
        return np.array([known.get(name, 0.0) for name in self.element.unknowns])

    def slopes(self, motion: Result) -> Array:
        """Return slopes of the equations at some states of a motion, (j, m, m)."""
        some = motion.at(np.unique(motion.t[np.linspace(0, len(motion.t) - 1, _LOOKS).astype(int)]))
        rows = zip(self.inputs(some), self.nodes(some), strict=True)
        found = np.array([slopes_of_unknowns(self.element, given, self.near(given, nodes)) for given, nodes in rows])
        finite = [slopes for slopes in found if np.isfinite(slopes).all()]
        return np.array(finite).reshape(-1, *found.shape[1:])

    def near(self, given: Array, nodes: Array) -> Array:
        """Return the unknowns (m,) that are found from positions of nodes (k,); NaN if none are."""
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
        found: Array = unknowns[[names.index(name) for name in self.unknowns]]
        return found


def periods_of(motion: Result) -> list[tuple[NDArray[np.intp], Model, Conditions | None]]:
    """Return rows of a motion, and the model and conditions that hold there."""
    assert motion.model is not None
    if motion.conditions is None:
        return [(np.arange(len(motion.t)), motion.model, None)]
    return [(rows, conditions.model, conditions) for rows, conditions in motion.conditions(motion.t)]


@cached_per_model
def compound_nodes(model: Model) -> list[CompoundNodes]:
    """Return the compounds with nodes found by an inner equilibrium."""
    places, found = model.compiled.elements.signals, []
    for name, force in model.system.forces.items():
        element = force.element
        if not isinstance(element, Compound):
            continue
        if any(isinstance(source, Reaction) for source in element.sources.values()):
            continue  # what it takes is found together with what it gives
        unknowns = [each for each in element.unknowns if f"{name}.{each}_at" in places]
        if unknowns:
            found.append(CompoundNodes(name, element, unknowns, [places[f"{name}.{each}_at"] for each in unknowns]))
    return found


def find_snap_through(result: Result) -> SingularityError | None:
    """Return the error that says at which time a node of which compound has jumped first; None if none has.

    Parameters
    ----------
    result : Result
        Of a run, with states between those stored.
    """
    assert result.model is not None
    compounds = compound_nodes(result.model)
    if not compounds:
        return None
    motion = result
    inside_steps = result.steps[(result.steps > result.t[0]) & (result.steps < result.t[-1])]
    if len(inside_steps) > len(result.t):  # stored at other times than those of steps
        motion = result.at(np.unique(np.concatenate([result.t[[0, -1]], inside_steps])))
    found = [jump for inside in compounds for jump in _jumps(result, motion, inside)]
    return SingularityError(min(found)[1]) if found else None


def _jumps(result: Result, motion: Result, inside: CompoundNodes) -> list[tuple[float, str]]:
    """Return when nodes of a compound have jumped within a motion of a result, and what is to be said of it."""
    nodes, t = inside.nodes(motion), motion.t
    lost = np.flatnonzero(~np.isfinite(nodes).all(axis=1))
    if len(lost):  # nothing that moves hangs on it, or the run would have ended there
        when = float(t[lost[0]])
        if lost[0] == 0:
            return [(when, f"at t = {when:.6g} s element {inside.name!r} finds no inner equilibrium")]
        t, nodes = t[: lost[0]], nodes[: lost[0]]
    found = []
    for a, b in _narrowed(result, inside, t, nodes):
        words = _explained(result, motion, inside, a, b)
        if words:
            found.append((a, words))
            break
    if len(lost) and not found:
        when = float(t[-1])
        found = [(when, f"soon after t = {when:.6g} s element {inside.name!r} finds no inner equilibrium any more")]
    return found


def _seen(nodes: Array) -> Array:
    """Return what is a jump of each coordinate, (k,)."""
    seen: Array = _SEEN * np.maximum(np.ptp(nodes, axis=0), 1e-6 * np.abs(nodes).max(initial=0.0) + 1e-300)
    return seen


def _uneven(t: Array, nodes: Array, seen: Array) -> NDArray[np.intp]:
    """Return after which times nodes move faster than before and after that, by a factor."""
    h, moved = np.diff(t), np.abs(np.diff(nodes, axis=0))
    rate = np.divide(moved, h[:, None], out=np.zeros_like(moved), where=h[:, None] > 0.0)
    beside = np.zeros_like(rate)
    beside[1:] = rate[:-1]
    beside[:-1] = np.maximum(beside[:-1], rate[1:])
    return np.flatnonzero(((moved > seen) & (rate > _FASTER * beside)).any(axis=1) & (h > 0.0))


def _narrowed(result: Result, inside: CompoundNodes, t: Array, nodes: Array) -> list[tuple[float, float]]:
    """Return the short times within which nodes jump, whatever for."""
    seen = _seen(nodes)
    rows = _uneven(t, nodes, seen)
    a, b, at_a, at_b = t[rows], t[rows + 1], nodes[rows], nodes[rows + 1]
    for _ in range(_HALVINGS):
        kept = (np.abs(at_b - at_a) > seen).any(axis=1)
        a, b, at_a, at_b = a[kept], b[kept], at_a[kept], at_b[kept]
        if not len(a):
            break
        middle = (a + b) / 2
        at_middle = inside.nodes(result.at(middle))
        known = np.isfinite(at_middle).all(axis=1, keepdims=True)
        at_middle = np.where(known, at_middle, at_b)
        early = (np.abs(at_middle - at_a) / seen).max(axis=1) >= (np.abs(at_b - at_middle) / seen).max(axis=1)
        a, b = np.where(early, a, middle), np.where(early, middle, b)
        at_a, at_b = np.where(early[:, None], at_a, at_middle), np.where(early[:, None], at_middle, at_b)
    return [(float(one), float(other)) for one, other in zip(a, b, strict=True)]


def _explained(result: Result, motion: Result, inside: CompoundNodes, a: float, b: float) -> str:
    """Return what is to be said of a jump between two times that are as good as one; empty if a law jumps there."""
    near = result.at(np.array([a, b]))
    nodes, given = inside.nodes(near), inside.inputs(near)
    jump = nodes[1] - nodes[0]
    if inside.same(nodes[0], nodes[1]):
        return ""
    most = inside.unknowns[int(np.abs(jump).argmax())]
    slopes = slopes_of_unknowns(inside.element, given[0], inside.near(given[0], nodes[0]))
    left = weakest_direction(slopes, inside.slopes(motion))[0] if np.isfinite(slopes).all() else 0.0
    if left < _FOLDED:
        return fold_message(inside.name, a, most, left)
    after = inside.near(given[1], nodes[0])
    if not np.isfinite(after).all():
        return ""
    if np.abs(inside.positions(after) - nodes[0]).max() > _NEAR * np.abs(jump).max():
        return ""
    return (
        f"at t = {a:.9g} s the search for the inner equilibrium of element {inside.name!r} goes over to another "
        f"solution: {most!r} jumps by {jump[np.abs(jump).argmax()]:.3g} while the one followed so far goes on. Take "
        "a method of this package, which follows it, give its nodes starts nearer to where they are, as expressions of "
        "what it measures, or mass (light bodies)"
    )


def fold_message(name: str, t: float, most: str, left: float) -> str:
    """Say that the inner equilibrium of an element has come to a fold, with which unknown and what is left of 1."""
    return (
        f"at t = {t:.9g} s the inner equilibrium of element {name!r} comes to a fold, where it is held no more (its "
        f"equations have {left:.2g} left of 1): its unknowns, {most!r} foremost, would jump. Give the node mass (a "
        "light body), a damper, or stop the motion before"
    )
