"""Redundancy: connections that share dependent closure rows.

A combination y of closure rows that vanishes for every motion, y^T P = 0, is a state of self-stress: internal loads of
the loops without motion. The connections that carry such a load, loop constraints and tree joints alike, share the
redundancy. The same loads with y = r, the least residual of loops that cannot be closed, identify the connections that
contradict each other.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..errors import listed
from ..model import Model
from ..model.connection_loads import weightless_loads
from .loop_equations import LoopEquations

__all__ = [
    "conflicting_constraints",
    "connections_sharing_load",
    "loop_connections",
    "near_dependence",
    "nearly_conflicting_constraints",
]


ROUNDOFF_FACTOR = 8.0  # times the rounding error
RANK_GAP = (1e-13, 1e-8)  # singular values, of the largest: zero below, and clearly not zero above


def loop_connections(model: Model) -> tuple[tuple[str, ...], ...]:
    """Return for each loop constraint the connections of its loop, itself last; ropes close no loop."""
    forest = model.forest
    result = []
    for loop_constraint in (
        loop_constraint for loop_constraint in forest.loop_constraints if loop_constraint.element.kind != "Rope"
    ):
        on_loop = forest.between(loop_constraint.first.body.name, loop_constraint.second.body.name)
        result.append((*(model.joint_names[j - 1] for j in on_loop), loop_constraint.name))
    return tuple(result)


def connections_sharing_load(
    model: Model, q: Array, lam: Array, *, t: float = 0.0, cutoff: float = 1e-7
) -> list[tuple[str, ...]]:
    """Return, for each set of multipliers (k, nc), the names of the connections that carry its load."""
    still = np.zeros((len(lam), model.nv))
    loads = weightless_loads(model, np.tile(q, (len(lam), 1)), still, lam, t=t)
    largest = np.abs(loads, out=loads).reshape(*loads.shape[:2], 2, 3).max(axis=3)
    sizes = np.maximum(largest[..., 0], largest[..., 1] * model.length)
    names, owners = np.array(model.connection_names), np.array(model.constraint_connections)
    couplings = {coupling.name for coupling in model.forest.couplings}
    found = []
    for size, row in zip(sizes, lam / LoopEquations.of(model, prescribed=False).row_scales, strict=True):
        carrying = names[size > cutoff * size.max(initial=0.0)]
        acting = owners[np.abs(row) > cutoff * float(np.abs(row).max(initial=0.0))]
        found.append((*map(str, carrying), *dict.fromkeys(str(name) for name in acting if name in couplings)))
    return found


def conflicting_constraints(model: Model, q: Array, *, t: float = 0.0, least: float = 1e-11) -> list[str]:
    """Return messages on connections with incompatible rows at q, where the residual is least.

    A residual that no small displacement reduces belongs to rows that repeat one another with different values. (If a
    link is merely too short, turning it a little does change the residual.) Time t (s) is for driven constraints.
    """
    loops = LoopEquations.of(model, t=t)
    r = loops.residual(q)
    owners = np.array(model.constraint_connections)
    random, size = np.random.default_rng(0), 1e-2
    sentences = []
    for group in _coupled_loop_constraints(model):
        mine = np.isin(owners, list(group))
        y = np.where(mine, r, 0.0)
        gap = float(np.abs(y).max(initial=0.0))
        if gap < least:
            continue
        unit = y / np.linalg.norm(y)
        give = 0.0
        for _ in range(4):
            kick = random.uniform(-size, size, model.nv) * loops.column_scales
            J = loops.jacobian(model.integrate(q, kick))
            give = max(give, float(np.abs(unit @ J).max(initial=0.0)))
        if give > 0.1 * size:
            continue
        worst = int(np.abs(y).argmax())
        names = connections_sharing_load(model, q, (y * loops.row_scales)[None], t=t)[0]
        others = [name for name in names if name != owners[worst]]
        amount = f"{abs(r[worst]) / loops.row_scales[worst]:.6g} {loops.units[worst]}"
        sentences.append(
            f"Connections {listed([*others, str(owners[worst])])} contradict each other by {amount} "
            f"({model.constraint_names[worst]}): they fix the same relative position at different values."
        )
    return sentences


def nearly_conflicting_constraints(model: Model, q: Array, *, t: float = 0.0, gaps: Array | None = None) -> list[str]:
    """Return messages on connections whose rows are nearly redundant, at q (nq,) where loops are closed.

    Dependent rows are computed from the others. Their deviation beyond rounding is the misfit. `gaps` (nc,) are
    deviations at q, m or rad, if they are known.
    """
    loops = LoopEquations.of(model, t=t)
    if _is_roundoff(loops, loops.residual(q) if gaps is None else loops.row_scales * gaps):
        return []
    loops = loops.of_positions()
    r = loops.residual(q)
    if _is_roundoff(loops, r):
        return []
    every = np.ones(loops.nv, dtype=bool)
    dropped, y = loops.dependences(q, every, loops.rank(q, every))
    gaps = np.abs(y @ r)
    worst: dict[tuple[str, ...], tuple[float, str]] = {}
    for k, (row, names) in enumerate(
        zip(dropped, connections_sharing_load(model, q, y * loops.row_scales, t=t), strict=True)
    ):
        if loops.row_scales[row] and gaps[k] > ROUNDOFF_FACTOR * loops.floor * float(np.abs(y[k]).sum()):
            amount = gaps[k] / loops.row_scales[row]
            worst[names] = max(
                worst.get(names, (0.0, "")),
                (amount, f"{amount:.2g} {loops.units[row]} ({model.constraint_names[row]})"),
            )
    return [
        f"{listed(names)} impose the same constraint except for {amount}: they are treated as one where they cannot be "
        "distinguished; near singular positions, their reactions are those of this misfit"
        for names, (_, amount) in worst.items()
    ]


def _is_roundoff(loops: LoopEquations, r: Array) -> bool:
    """Return whether scaled residuals (nc,) are due to rounding alone."""
    return float(np.abs(r).max(initial=0.0)) <= ROUNDOFF_FACTOR * loops.floor


def near_dependence(model: Model, t: Array, q: Array) -> list[str]:
    """Return messages on nearly dependent loops at t (n,), q (n, nq), and the connections that share the loads."""
    loops = LoopEquations.of(model, prescribed=False, t=t)
    J = loops.jacobian(q)
    s = np.linalg.svd(J, compute_uv=False)
    part = s / np.maximum(s[:, :1], 1.0)
    near = (part > RANK_GAP[0]) & (part < RANK_GAP[1])
    if not near.any():
        return []
    k, index = np.unravel_index(int(np.where(near, part, 1.0).argmin()), part.shape)
    smallest, y = float(part[k, index]), np.linalg.svd(J[k])[0][:, index]
    names = connections_sharing_load(model, q[k], (y * loops.row_scales)[None], t=float(t[k]), cutoff=1e-3)[0]
    return [
        f"at t = {t[k]:.6g} s the loops are nearly dependent (condition {1 / smallest:.2g}): reactions of "
        f"{listed(names)} there depend on rounding and on misfits of their markers"
    ]


def _coupled_loop_constraints(model: Model) -> list[set[str]]:
    """Return the loop constraints in groups whose loops share tree joints."""
    groups: list[tuple[set[str], set[str]]] = []
    for loop in loop_connections(model):
        joints, loop_constraints = set(loop[:-1]), {loop[-1]}
        rest = []
        for others, members in groups:
            if others & joints:
                joints, loop_constraints = joints | others, loop_constraints | members
            else:
                rest.append((others, members))
        groups = [*rest, (joints, loop_constraints)]
    return [loop_constraints for _, loop_constraints in groups]
