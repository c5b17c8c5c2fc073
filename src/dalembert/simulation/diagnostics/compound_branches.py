"""Branches of inner equilibria along a run: of several solutions the one followed so far is kept.

In every evaluation the search for the nodes of a compound begins at the same point: the start of the description plus a
shift, which is a parameter named after the unknown with `shift`. So the solution depends on the state and the
parameters only, not on the order of calls or the number of threads. Along a run the solution may move so far that the
search finds another one, or none. This is checked at every step: the solution u at its beginning, continued while the
inputs y of the law change to those at its end, must be the solution of the search there,

    u(0) = u_0,     r(u(s), y(s)) = 0,     u(1) = u_1                                                                (1)

Where Newton's method contracts from u_0 at y(1), and the Jacobians of r there and half way are near that at y(0), this
holds. Otherwise (1) is checked in parts of the step, and finally by continuation (Deuflhard 2004, section 5.1). If
another solution is found, the run returns to the beginning of the step, sets the shifts so that the search begins at
u_0, and continues. Earlier results stay valid: shifts apply from that time on.

The search must also succeed within a step, for dense output. It does if Newton's method contracts from the start of the
search at both ends of the step. Otherwise, if it contracts from u_0, the shifts are set there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...arrays import Array, BoolArray, IndexArray
from ...connections.elements.implicit_laws import MAX_CONTRACTION, continue_unknowns, jacobian_nearly_constant
from ...errors import IntegrationError
from ...model import Conditions, Model, State
from .snap_through import CompoundNodes

__all__ = ["CompoundBranches"]


States = Callable[[Array], tuple[Array, Array, Array, Array]]
Between = Callable[[int, Array], tuple[Array, Array, Array, Array]]

N_PARTS = 8  # of a step, and of each part
MAX_DEPTH = 3  # levels of parts
MAX_NEWTON_ITERATIONS = 6  # on all steps at once
CONVERGENCE_TOL = 1e-9  # correction relative to the size of unknowns
SHIFT_TOL = 1e-9  # relative: a smaller change of shifts is none


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
        """Return the number of the first step at whose end another solution was found; None if there is none.

        Parameters
        ----------
        conditions : Conditions
            Of all steps.
        t, q, v, x : (n + 1,), (n + 1, nq), (n + 1, nv), (n + 1, nx)
            States at the ends of steps.
        between : function
            From the number of a step and fractions (k,) to the states t, q, v and x there.
        begun : float, s
            Time since which the shifts have been constant.
        """
        lost = []
        for compound in self.compounds:
            nodes = compound.nodes_at(conditions.model, conditions, t, q, v, x)
            known = np.isfinite(nodes).all(axis=1)
            count = len(t) if known.all() else int(np.argmin(known))
            if count > 1:
                given = compound.inputs_at(conditions.model, conditions, t[:count], q[:count], v[:count], x[:count])
                doubtful = _doubtful_steps(compound, conditions.model, given, nodes[:count])
                far = _far_from_start(compound, conditions.model, given)
                for k in np.union1d(doubtful, far[t[far] != begun]):
                    if k not in doubtful or _is_violated_within(
                        compound, conditions, partial(between, int(k)), t[k] == begun
                    ):
                        lost.append(int(k))
                        break
        return min(lost, default=None)

    def anchored(self, conditions: Conditions, state: State) -> Conditions | None:
        """Return conditions in which the search begins at the nodes of a state; None if that does not help.

        The search may begin there already, or fail from there at a fold.
        """
        model, rows = conditions.model, (np.array([state.t]), state.q[None], state.v[None], state.x[None])
        numbers, found = conditions.parameters.copy(), []
        for compound in self.compounds:
            nodes = compound.nodes_at(model, conditions, *rows)[0]
            if not np.isfinite(nodes).all():
                return None
            found.append(nodes)
            begin = compound.search_start(compound.inputs_at(model, conditions, *rows)[0])
            for unknown, at in zip(compound.unknowns, nodes, strict=True):
                numbers[model.parameter_names[f"{compound.name}.{unknown}_shift"]] += at - begin[unknown]
        moved = np.abs(numbers - conditions.parameters).max(initial=0.0)
        if moved <= SHIFT_TOL * (1.0 + np.abs(numbers).max(initial=0.0)):
            return None
        moved_to = conditions.changed(parameters=numbers)
        for compound, nodes in zip(self.compounds, found, strict=True):
            again = compound.nodes_at(model, moved_to, *rows)[0]
            if not (np.isfinite(again).all() and compound.same(nodes, again)):
                return None
        return moved_to


def _iterate_newton(
    compound: CompoundNodes, model: Model, given: Array, u: Array, sound: BoolArray
) -> tuple[Array, Array, BoolArray]:
    """Return unknowns (k, n), Jacobians, and where Newton's method has converged; set `sound` where it contracts.

    Parameters
    ----------
    given, u : (k, takes), (k, n)
    sound : (k,) bool
        Changed in place.
    """
    length = np.full(len(u), np.inf)
    for _ in range(MAX_NEWTON_ITERATIONS):
        r, J = _equations(compound, model, given, u, sound)
        step = -np.linalg.solve(J, r[..., None])[..., 0]
        now = np.linalg.norm(step, axis=1)
        settled = now <= CONVERGENCE_TOL * (1.0 + np.linalg.norm(u, axis=1))
        sound &= settled | (now <= MAX_CONTRACTION * length)
        u, length = u + step, now
        if (settled | ~sound).all():
            break
    return u, J, settled


def _equations(compound: CompoundNodes, model: Model, given: Array, u: Array, sound: BoolArray) -> tuple[Array, Array]:
    """Return residuals and Jacobians; unit Jacobians, and `sound` false, where not finite or singular."""
    n = len(compound.element.unknowns)
    r, J = compound.equations(model, given, u)
    sound[~(np.isfinite(r).all(axis=1) & np.isfinite(J).all(axis=(1, 2)))] = False
    J[~sound] = np.eye(n)
    sound[np.linalg.det(J) == 0.0] = False
    J[~sound] = np.eye(n)
    return r, J


def _doubtful_steps(compound: CompoundNodes, model: Model, given: Array, nodes: Array) -> IndexArray:
    """Return steps at whose end Newton's method does not contract from the last solution, or finds another."""
    begin = np.array([compound.start(row) for row in nodes[:-1]])
    sound = np.ones(len(begin), dtype=bool)
    with np.errstate(all="ignore"):
        for _ in range(
            MAX_NEWTON_ITERATIONS if len(compound.unknowns) < len(compound.element.unknowns) else 0
        ):  # other unknowns than positions
            r, J = _equations(compound, model, given[:-1], begin, sound)
            begin = begin - np.linalg.solve(J, r[..., None])[..., 0]
        before = _equations(compound, model, given[:-1], begin, sound)[1]
        u, J, settled = _iterate_newton(compound, model, given[1:], begin, sound)
        half = _equations(compound, model, 0.5 * (given[:-1] + given[1:]), 0.5 * (begin + u), sound)[1]
    sound &= jacobian_nearly_constant(before, J) & jacobian_nearly_constant(before, half)
    found = np.array([compound.positions(one) for one in u])
    same = np.isclose(found, nodes[1:], rtol=CONVERGENCE_TOL, atol=CONVERGENCE_TOL).all(axis=1)
    same[~same] = [compound.same(one, other) for one, other in zip(found[~same], nodes[1:][~same], strict=True)]
    return np.flatnonzero(~(sound & settled & same))


def _far_from_start(compound: CompoundNodes, model: Model, given: Array) -> IndexArray:
    """Return steps with an end at which Newton's method does not contract from the start of the search."""
    sound = np.ones(len(given), dtype=bool)
    with np.errstate(all="ignore"):
        begin = np.array([list(compound.search_start(row).values()) for row in given])
        settled = _iterate_newton(compound, model, given, begin, sound)[2]
    near = sound & settled
    return np.flatnonzero(~(near[:-1] & near[1:]))


def _is_violated_within(compound: CompoundNodes, conditions: Conditions, states: States, begun: bool) -> bool:
    """Return whether (1) is violated, or a search fails within the step."""
    try:
        if (
            not begun
            and not np.isfinite(
                compound.nodes_at(conditions.model, conditions, *states(np.linspace(0.0, 1.0, N_PARTS + 1)[1:-1]))
            ).all()
        ):
            return True
        return _is_violated(compound, conditions, states)
    except IntegrationError:  # no dense output
        return not begun


def _is_violated(
    compound: CompoundNodes,
    conditions: Conditions,
    states: States,
    span: tuple[float, float] = (0.0, 1.0),
    depth: int = MAX_DEPTH,
) -> bool:
    """Return whether (1) is violated; at a fold, where continuation ends, it is not.

    `states` maps fractions of the step to states.
    """
    fractions = np.linspace(*span, N_PARTS + 1)
    here = states(fractions)
    given = compound.inputs_at(conditions.model, conditions, *here)
    nodes = compound.nodes_at(conditions.model, conditions, *here)
    for k in _doubtful_steps(compound, conditions.model, given, nodes):
        if depth > 1:
            if _is_violated(compound, conditions, states, (fractions[k], fractions[k + 1]), depth - 1):
                return True
            continue
        u = continue_unknowns(
            partial(compound.equations, conditions.model), given[k], given[k + 1], compound.near(given[k], nodes[k])
        )
        if not np.isfinite(u).all():
            return False
        if not (np.isfinite(nodes[k + 1]).all() and compound.same(compound.positions(u), nodes[k + 1])):
            return True
    return False
