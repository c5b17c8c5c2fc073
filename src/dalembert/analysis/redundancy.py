"""Who shares a redundancy: from dependent closure rows to the connections that demand the same thing.

A combination y of closure rows that vanishes for every motion, y^T P = 0, is a state of self-stress: loads with which
the loops can press against each other while nothing moves. The connections that carry such a load, chords and tree
hinges alike, are the ones that share the redundancy. The load that the chords pass into the tree travels along the
paths to ground,

    F_j = sum over chords of (j on path of second) W - (j on path of first) W,     W = sum over rows y_i w_i      (1)

with w_i the wrench of a unit multiplier of row i. The same formula with y = r, the residual at a configuration where
the loops cannot be closed any better, tells which connections contradict each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..model import Model
from .scales import Scales

__all__ = ["contradictions", "independent_rows", "loops", "row_wrenches", "sharing"]

Array = NDArray[np.float64]


def loops(model: Model) -> tuple[tuple[str, ...], ...]:
    """Return for each chord the names of the connections on its loop, the chord last."""
    forest = model.forest
    result = []
    for chord in forest.chords:
        first, second = (set(forest.path(end.body.name)) for end in (chord.first, chord.second))
        on_loop = sorted(first ^ second)
        result.append((*(model.hinge_names[j - 1] for j in on_loop), chord.name))
    return tuple(result)


def row_wrenches(model: Model, q: Array, scales: Scales) -> Array:
    """Return w (nc, 6): dimensionless [moment; force L] on the second marker of a unit multiplier of each scaled row.

    World axes, about the mean of the chords' second markers.
    """
    chords = model.forest.chords
    points = [model.pose(chord.second, q).position for chord in chords]
    centre = np.mean(points, axis=0) if chords else np.zeros(3)
    owner = {chord.name: k for k, chord in enumerate(chords)}
    result, place = np.zeros((model.nc, 6)), np.zeros(model.nc, dtype=int)
    for row in range(1, model.nc):
        if model.constraint_connections[row] == model.constraint_connections[row - 1]:
            place[row] = place[row - 1] + 1
    # the k-th rows of all chords at once: each chord shows the wrench of its own
    for k in range(int(place.max(initial=-1)) + 1):
        loads = model._chord_loads(q, np.where(place == k, scales.rows, 0.0), t=scales.t)
        for row in map(int, np.flatnonzero(place == k)):
            name = model.constraint_connections[row]
            if name in owner:  # a coupling of coordinates passes no load between markers
                moment, force = loads[owner[name], :3], loads[owner[name], 3:]
                moment = moment + np.cross(points[owner[name]] - centre, force)
                result[row] = np.concatenate([moment, scales.length * force])
    return result


def sharing(model: Model, y: Array, wrenches: Array, *, cutoff: float = 1e-7) -> tuple[str, ...]:
    """Return the names of the connections that carry the load of multipliers y (nc,), equation (1)."""
    forest = model.forest
    loads, chords = np.zeros((model.nb + 1, 6)), []
    owners = np.array(model.constraint_connections)
    acting = set(owners[y != 0.0])
    for chord in forest.chords:
        if chord.name not in acting:
            chords.append(0.0)
            continue
        mine = owners == chord.name
        W = y[mine] @ wrenches[mine]
        chords.append(float(np.abs(W).max(initial=0.0)))
        for j in forest.path(chord.second.body.name):
            loads[j] += W
        for j in forest.path(chord.first.body.name):
            loads[j] -= W
    hinges = np.abs(loads[1:]).max(1)
    least = cutoff * max(max(chords, default=0.0), float(hinges.max(initial=0.0)))
    names = [name for name, load in zip(model.hinge_names, hinges, strict=True) if load > least]
    names += [chord.name for chord, load in zip(forest.chords, chords, strict=True) if load > least]
    loaded = np.abs(y) > cutoff * float(np.abs(y).max(initial=0.0))
    closing = {chord.name for chord in forest.chords}
    return (*names, *dict.fromkeys(str(name) for name in owners[loaded] if name not in closing))


def independent_rows(J: Array, rank: int) -> tuple[list[int], list[int], Array]:
    """Split rows into independent and redundant ones.

    Parameters
    ----------
    J : (nc, nv)
        Scaled closure Jacobian.
    rank : int

    Returns
    -------
    kept, dropped : lists of row numbers
    y : (len(dropped), nc)
        y @ J = 0: each dropped row, with coefficient 1, as minus a combination of kept ones.
    """
    from scipy.linalg import qr

    rows = len(J)
    # among rows that serve equally well, the earlier ones are kept
    bias = 1.0 - 1e-3 * np.arange(rows) / max(1, rows)
    R, order = qr((J * bias[:, None]).T, mode="r", pivoting=True) if rank else (None, np.arange(rows))
    kept, dropped = order[:rank], order[rank:]
    y = np.zeros((len(dropped), rows))
    y[np.arange(len(dropped)), dropped] = 1.0
    if R is not None and len(dropped):
        # J^T = Q [R1, R2]: the dropped rows are R1^-1 R2 of the kept ones
        weights = np.linalg.solve(R[:rank, :rank], R[:rank, rank:]).T
        y[:, kept] = -weights * bias[kept] / bias[dropped][:, None]
    sequence = np.argsort(dropped)
    y = y[sequence]
    y[np.abs(y) < 1e-8] = 0.0
    return sorted(int(i) for i in kept), [int(i) for i in dropped[sequence]], y


def contradictions(model: Model, q: Array, *, t: float = 0.0, least: float = 1e-11) -> list[str]:
    """Say which connections demand incompatible things at q, where the residual cannot be reduced any more.

    A residual that no small displacement begins to reduce belongs to rows that repeat one
    another with different numbers. (Where a link is merely too short, turning it a little does change the residual.)
    Time t (s) is for constraints that a drive prescribes.
    """
    scales = Scales.of(model, t=t)
    r = scales.residual(model, q)
    wrenches = row_wrenches(model, q, scales)
    owners = np.array(model.constraint_connections)
    random, size = np.random.default_rng(0), 1e-2
    sentences = []
    for group in _coupled_chords(model):
        mine = np.isin(owners, list(group))
        y = np.where(mine, r, 0.0)
        gap = float(np.abs(y).max(initial=0.0))
        if gap < least:
            continue
        unit = y / np.linalg.norm(y)
        give = 0.0
        for _ in range(4):
            kick = random.uniform(-size, size, model.nv) * scales.columns
            J = scales.jacobian(model, model.integrate(q, kick))
            give = max(give, float(np.abs(unit @ J).max(initial=0.0)))
        if give > 0.1 * size:
            continue
        worst = int(np.abs(y).argmax())
        names = sharing(model, y, wrenches)
        others = [name for name in names if name != owners[worst]]
        amount = f"{abs(r[worst]) / scales.rows[worst]:.6g} {scales.units[worst]}"
        sentences.append(
            f"Connections {_join([*others, str(owners[worst])])} contradict each other by {amount} "
            f"({model.constraint_names[worst]}): they fix the same thing at different places."
        )
    return sentences


def _coupled_chords(model: Model) -> list[set[str]]:
    """Return the chords in groups whose loops share tree hinges."""
    groups: list[tuple[set[str], set[str]]] = []
    for loop in loops(model):
        hinges, chords = set(loop[:-1]), {loop[-1]}
        rest = []
        for others, members in groups:
            if others & hinges:
                hinges, chords = hinges | others, chords | members
            else:
                rest.append((others, members))
        groups = [*rest, (hinges, chords)]
    return [chords for _, chords in groups]


def _join(names: list[str]) -> str:
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]
