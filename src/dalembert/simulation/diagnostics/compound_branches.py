"""Nodes of compounds along a run: of several solutions of their inner equilibrium the one is kept that was followed.

In every evaluation the search begins at the same places: where the compound says, and a shift from there, which are
parameters, `shift` after the name of an unknown. So a state and the parameters have one answer, whoever asks, in which
order and on how many threads. Along a run the solution may move so far that the search from there finds another one, or
none. That is looked for at every step: the solution u at its beginning, followed while the inputs y of the law go to
those at its end, has to be what the search has found there,

    u(0) = u_0,     r(u(s), y(s)) = 0,     u(1) = u_1                                                                (1)

Where Newton's method contracts from u_0 at y(1), and the slopes of r there and half way are near those at y(0), nothing
else can come out; elsewhere (1) is looked at in parts of the step, and in the end followed (Deuflhard 2004, section
5.1). If it leads elsewhere, the run goes back to the beginning of the step, puts the shifts where the search begins at
u_0, and goes on from there. What it has found so far stays as it was: shifts belong to the time from there on.

The search has to succeed within a step too, for its dense output and for outputs there. Where Newton's method contracts
from the start of the search at both ends of a step, it does. Else, if it contracts from u_0, shifts are put there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...connections.elements.implicit_laws import MAX_CONTRACTION, continue_unknowns, jacobian_nearly_constant
from ...errors import IntegrationError
from ...model import Conditions, Model, State
from .snap_through import CompoundNodes

__all__ = ["CompoundBranches"]

Array = NDArray[np.float64]
Marks = NDArray[np.bool_]

States = Callable[[Array], tuple[Array, Array, Array, Array]]
Between = Callable[[int, Array], tuple[Array, Array, Array, Array]]

_PARTS = 8  # of a step, and of a part of it, ...
_DEPTH = 3  # ... so often
MAX_ROUNDS = 6  # of Newton's method on all steps at once
_SETTLED = 1e-9  # of the size of unknowns: a correction that is none
_NEW = 1e-9  # of the same: another place to begin at


class CompoundBranches:
    """Branches of inner equilibria that a run follows.

    Parameters
    ----------
    compounds : list of CompoundNodes
    """

    def __init__(self, compounds: list[CompoundNodes]) -> None:
        self.compounds = compounds

    def lost_after(
        self, conditions: Conditions, t: Array, q: Array, v: Array, x: Array, between: Between, begun: float
    ) -> int | None:
        """Return the first of some steps, by number, at whose end another solution was found; None if there is none.

        Parameters
        ----------
        conditions : Conditions
            Of all of the steps.
        t, q, v, x : (n + 1,), (n + 1, nq), (n + 1, nv), (n + 1, nx)
            States between steps.
        between : function
            From the number of a step and fractions (k,) to the states t, q, v and x there.
        begun : float, s
            Since when the search begins where it does.
        """
        lost = []
        for inside in self.compounds:
            nodes = inside.nodes_at(conditions.model, conditions, t, q, v, x)
            known = np.isfinite(nodes).all(axis=1)
            count = len(t) if known.all() else int(np.argmin(known))
            if count > 1:
                given = inside.inputs_at(conditions.model, conditions, t[:count], q[:count], v[:count], x[:count])
                doubtful = _doubtful(inside, conditions.model, given, nodes[:count])
                far = _far_from_start(inside, conditions.model, given)
                for k in np.union1d(doubtful, far[t[far] != begun]):
                    if k not in doubtful or _left_within(inside, conditions, partial(between, int(k)), t[k] == begun):
                        lost.append(int(k))
                        break
        return min(lost, default=None)

    def anchored(self, conditions: Conditions, state: State) -> Conditions | None:
        """Return conditions under which searches begin where nodes are at a state; None if that does not help.

        They may begin there already; or, at a fold, find nothing from there.
        """
        model, rows = conditions.model, (np.array([state.t]), state.q[None], state.v[None], state.x[None])
        numbers, found = conditions.parameters.copy(), []
        for inside in self.compounds:
            nodes = inside.nodes_at(model, conditions, *rows)[0]
            if not np.isfinite(nodes).all():
                return None
            found.append(nodes)
            begin = inside.begins(inside.inputs_at(model, conditions, *rows)[0])
            for unknown, at in zip(inside.unknowns, nodes, strict=True):
                numbers[model.parameter_names[f"{inside.name}.{unknown}_shift"]] += at - begin[unknown]
        moved = np.abs(numbers - conditions.parameters).max(initial=0.0)
        if moved <= _NEW * (1.0 + np.abs(numbers).max(initial=0.0)):
            return None
        moved_to = conditions.changed(parameters=numbers)
        for inside, nodes in zip(self.compounds, found, strict=True):
            again = inside.nodes_at(model, moved_to, *rows)[0]
            if not (np.isfinite(again).all() and inside.same(nodes, again)):
                return None
        return moved_to


def _contracted(
    inside: CompoundNodes, model: Model, given: Array, u: Array, sound: Marks
) -> tuple[Array, Array, Marks]:
    """Return unknowns (k, n), their slopes and which of them Newton's method has settled; `sound` where it contracts.

    Parameters
    ----------
    given, u : (k, takes), (k, n)
    sound : (k,) bool
        Changed in place.
    """
    length = np.full(len(u), np.inf)
    for _ in range(MAX_ROUNDS):
        r, J = _equations(inside, model, given, u, sound)
        step = -np.linalg.solve(J, r[..., None])[..., 0]
        now = np.linalg.norm(step, axis=1)
        settled = now <= _SETTLED * (1.0 + np.linalg.norm(u, axis=1))
        sound &= settled | (now <= MAX_CONTRACTION * length)
        u, length = u + step, now
        if (settled | ~sound).all():
            break
    return u, J, settled


def _equations(inside: CompoundNodes, model: Model, given: Array, u: Array, sound: Marks) -> tuple[Array, Array]:
    """Return residuals and slopes; unit slopes, and `sound` false, where they are not finite or singular."""
    n = len(inside.element.unknowns)
    r, J = inside.equations(model, given, u)
    sound[~(np.isfinite(r).all(axis=1) & np.isfinite(J).all(axis=(1, 2)))] = False
    J[~sound] = np.eye(n)
    sound[np.linalg.det(J) == 0.0] = False
    J[~sound] = np.eye(n)
    return r, J


def _doubtful(inside: CompoundNodes, model: Model, given: Array, nodes: Array) -> NDArray[np.intp]:
    """Return the steps at whose end Newton's method does not contract from the last solution, or finds another one."""
    begin = np.array([inside.start(row) for row in nodes[:-1]])
    sound = np.ones(len(begin), dtype=bool)
    with np.errstate(all="ignore"):
        for _ in range(
            MAX_ROUNDS if len(inside.unknowns) < len(inside.element.unknowns) else 0
        ):  # beside the positions
            r, J = _equations(inside, model, given[:-1], begin, sound)
            begin = begin - np.linalg.solve(J, r[..., None])[..., 0]
        before = _equations(inside, model, given[:-1], begin, sound)[1]
        u, J, settled = _contracted(inside, model, given[1:], begin, sound)
        half = _equations(inside, model, 0.5 * (given[:-1] + given[1:]), 0.5 * (begin + u), sound)[1]
    sound &= jacobian_nearly_constant(before, J) & jacobian_nearly_constant(before, half)
    found = np.array([inside.positions(one) for one in u])
    same = np.isclose(found, nodes[1:], rtol=_SETTLED, atol=_SETTLED).all(axis=1)
    same[~same] = [inside.same(one, other) for one, other in zip(found[~same], nodes[1:][~same], strict=True)]
    return np.flatnonzero(~(sound & settled & same))


def _far_from_start(inside: CompoundNodes, model: Model, given: Array) -> NDArray[np.intp]:
    """Return the steps at one of whose ends Newton's method does not contract from where the search begins."""
    sound = np.ones(len(given), dtype=bool)
    with np.errstate(all="ignore"):
        begin = np.array([list(inside.begins(row).values()) for row in given])
        settled = _contracted(inside, model, given, begin, sound)[2]
    near = sound & settled
    return np.flatnonzero(~(near[:-1] & near[1:]))


def _left_within(inside: CompoundNodes, conditions: Conditions, states: States, begun: bool) -> bool:
    """Return whether (1) leads elsewhere, or a search that began elsewhere fails within the step."""
    try:
        if (
            not begun
            and not np.isfinite(
                inside.nodes_at(conditions.model, conditions, *states(np.linspace(0.0, 1.0, _PARTS + 1)[1:-1]))
            ).all()
        ):
            return True
        return _left(inside, conditions, states)
    except IntegrationError:  # no dense output
        return not begun


def _left(
    inside: CompoundNodes,
    conditions: Conditions,
    states: States,
    span: tuple[float, float] = (0.0, 1.0),
    depth: int = _DEPTH,
) -> bool:
    """Return whether (1) leads elsewhere than to what was found; where it leads nowhere, that is a fold.

    `states` are those at fractions of the step.
    """
    fractions = np.linspace(*span, _PARTS + 1)
    here = states(fractions)
    given = inside.inputs_at(conditions.model, conditions, *here)
    nodes = inside.nodes_at(conditions.model, conditions, *here)
    for k in _doubtful(inside, conditions.model, given, nodes):
        if depth > 1:
            if _left(inside, conditions, states, (fractions[k], fractions[k + 1]), depth - 1):
                return True
            continue
        u = continue_unknowns(
            partial(inside.equations, conditions.model), given[k], given[k + 1], inside.near(given[k], nodes[k])
        )
        if not np.isfinite(u).all():
            return False
        if not (np.isfinite(nodes[k + 1]).all() and inside.same(inside.positions(u), nodes[k + 1])):
            return True
    return False
