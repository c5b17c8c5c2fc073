"""How a mechanism in natural coordinates can move, beside what counting links and joints predicts.

Gruebler's count takes what bodies share for joints:

    f = sum of DOF of bodies, and of points and vectors that no body has - sum of what joints demand            (1)

Two bodies (ground is one) that share a point lose 3 degrees of freedom to each other, 2 in the plane; sharing a
direction, a vector or a second point, costs 2 (in the plane 1), sharing two of them 3. Two joints about one line are
one joint. Bodies whose members are all in one line have 5 degrees of freedom here: their spin is no coordinate. Rows of
joints count for what they demand: a cross product in space for 2 of its 3. Angles and distances that are coordinates
count for nothing. Where the rank finds more degrees of freedom than (1), the mechanism is over-constrained and moves
because of its proportions (Garcia de Jalon and Bayo 1994, section 3.4).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..answer import Answer
from ..checks import finite_array
from ..closure import find_position
from ..closure.position_rates import speed_scales
from ..closure.scaling import closure_rank, singular_values
from ..errors import AssemblyError, ModelError
from ..numerics.factorization import independent_rows
from .bodies import NaturalBody, body_frame
from .equations import NaturalEquations

if TYPE_CHECKING:
    from .mechanism import Mechanism

__all__ = ["NaturalMobility", "gruebler", "natural_mobility"]

Array = NDArray[np.float64]

GROUND = "ground"
_ASIDE = 1e-3  # of a length: how far away the general mobility is looked for
_NEARBY = 3


@dataclass(frozen=True, eq=False, repr=False)
class NaturalMobility(Answer):
    """What `Mechanism.mobility` found; print it to read it.

    Attributes
    ----------
    mobility : int
        Independent motions at `q`, drives let go: n - rank.
    gruebler : int
        What (1) predicts for it.
    left : int
        Independent motions that drives leave.
    general : int
        Mobility at closed positions nearby.
    coordinates, equations, rank : int
        n, m and the rank of J, drives let go.
    convenience : int
        Rows more than joints demand: cosine and sine together, cross products, all three of a combination.
    redundant_rows : tuple of str
        Rows that repeat what others demand; another choice may do as well.
    singular_values : (min(m, n),)
        Of J, made dimensionless, largest first.
    motions : (mobility, n)
        A basis of the motions, orthonormal in scaled speeds, in the order of `names`.
    names : tuple of str
        Coordinates, driven ones included.
    q : (n,)
        The closed position that was examined, in that order.
    """

    mobility: int
    gruebler: int
    left: int
    general: int
    coordinates: int
    equations: int
    rank: int
    convenience: int
    redundant_rows: tuple[str, ...]
    singular_values: Array = field(repr=False)
    motions: Array = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    q: Array = field(repr=False)

    @property
    def permanent(self) -> bool:
        """Return whether positions nearby have the same mobility."""
        return self.general == self.mobility

    @property
    def over_constrained(self) -> int:
        """Return how many degrees of freedom there are for the proportions' sake: more than counting finds."""
        return max(0, self.general - self.gruebler)

    def _headline(self) -> str:
        return f"mobility {self.mobility}, Grübler count {self.gruebler}, {len(self.redundant_rows)} redundant rows"

    def __str__(self) -> str:
        lines = [
            f"mobility {self.mobility}: {self.coordinates} coordinates, {self.equations} equations of rank {self.rank}"
        ]
        if self.gruebler != self.general:
            lines.append(
                f"links and joints count {self.gruebler}: the mechanism moves because of its proportions, and "
                f"{self.over_constrained} demands of joints repeat others"
                if self.over_constrained
                else f"links and joints count {self.gruebler}: some of what they leave is no coordinate here"
            )
        if self.convenience:
            lines.append(
                f"{self.convenience} rows are there for their rank elsewhere (cosine with sine, cross products)"
            )
        if not self.permanent:
            lines.append(f"here only: positions nearby have mobility {self.general}")
        if self.left:
            lines.append(f"drives leave {self.left}")
        return "\n".join(lines)


def natural_mobility(mechanism: Mechanism, q: ArrayLike | None = None, t: float = 0.0) -> NaturalMobility:
    """Return how a mechanism can move at a closed position; see `Mechanism.mobility`."""
    driven = mechanism.equations()
    at = mechanism.assemble(t=t).q if q is None else finite_array(q, (driven.nq,), item="mobility", field="q")
    J = driven.jacobian(at, t)
    left = driven.nv - closure_rank(singular_values(_scaled(driven, J)))
    free = mechanism.copy()
    free.let_all_go()
    e = free.equations()
    values = driven.all_values(at, t)
    start = np.concatenate([
        values[driven.place(c.name) : driven.place(c.name) + len(c.value)] for c in e.coordinates if not c.fixed
    ])  # fmt: skip
    scaled = _scaled(e, e.jacobian(start, t))
    s = singular_values(scaled)
    rank = closure_rank(s)
    Vt = np.linalg.svd(scaled)[2] if scaled.size else np.eye(e.nv)
    keep = set(independent_rows(scaled).tolist())
    return NaturalMobility(
        mobility=e.nv - rank,
        gruebler=gruebler(free),
        left=left,
        general=_general(e, start, t, Vt[rank:], e.nv - rank),
        coordinates=e.nv,
        equations=e.rows,
        rank=rank,
        convenience=max(0, e.rows - (e.nv - gruebler(free))),
        redundant_rows=tuple(name for k, name in enumerate(e.row_names) if k not in keep),
        singular_values=s,
        motions=Vt[rank:] * e.column_scales,
        names=e.speed_names,
        q=start,
    )


def _scaled(e: NaturalEquations, J: Array) -> Array:
    return np.asarray(speed_scales(e, J)[:, None] * J * e.column_scales)


def _general(e: NaturalEquations, q: Array, t: float, basis: Array, here: int) -> int:
    """Return the least mobility at closed positions nearby."""
    random, least = np.random.default_rng(0), here
    for _ in range(_NEARBY if here else 0):
        way = random.standard_normal(len(basis)) @ basis
        aside = q + _ASIDE * e.column_scales * way / float(np.linalg.norm(way))
        try:
            there = find_position(e, aside, t).q
        except AssemblyError:
            continue
        if float(np.linalg.norm((there - q) / e.column_scales)) < 0.1 * _ASIDE:
            continue  # fell back
        least = min(least, e.nv - closure_rank(singular_values(_scaled(e, e.jacobian(there, t)))))
    return least


# -- counting


def gruebler(m: Mechanism) -> int:
    """Return (1) for a mechanism whose drives are let go."""
    owned = {name for body in m.bodies.values() for name in (*body.points, *body.vectors)}
    total = sum(_dof(body, m.dimension) for body in m.bodies.values())
    for c in m.coordinates.values():
        if c.name not in owned and not c.fixed and c.kind in ("point", "vector"):
            total += m.dimension - (c.kind == "vector")
    return total - _sharing(m) - sum(m.demands.values())


def _dof(body: NaturalBody, dimension: int) -> int:
    return _demand(body.points, body.vectors, dimension, item=f"body {body.name!r}")


def _demand(points: dict[str, Array], vectors: dict[str, Array], dimension: int, *, item: str) -> int:
    """Return how many DOF these leave to a body that has nothing else; as many are lost by sharing them."""
    if not points and not vectors:
        return 0
    turns = len(body_frame(points, vectors, dimension, item=item).base)
    place = dimension if points else 0
    return place + (min(turns, 1) if dimension == 2 else {0: 0, 1: 2}.get(turns, 3))


def _sharing(m: Mechanism) -> int:
    """Return what bodies lose by sharing points and vectors with each other and with ground."""
    owners: dict[str, list[str]] = {}
    for name, c in m.coordinates.items():
        if c.kind in ("point", "vector"):
            mine = [b.name for b in m.bodies.values() if name in b.points or name in b.vectors]
            owners[name] = [GROUND, *mine] if c.fixed else mine
    points: dict[tuple[str, str], list[str]] = {}
    for name, some in owners.items():
        if m.coordinates[name].kind == "point":
            for other in some[1:]:
                points.setdefault((some[0], other), []).append(name)
    for _, first, second, _ in m.looks:  # what slides along a line is a joint too, of those that share most directions
        pairs = [(a, b) if b != GROUND else (b, a) for a in owners[second] for b in owners[first] if a != b]
        if pairs:
            common = [sum(a in some and b in some for some in owners.values()) for a, b in pairs]
            points.setdefault(pairs[int(np.argmax(common))], [])
    lost = 0
    loose = {name: _Groups(some) for name, some in owners.items() if m.coordinates[name].kind == "vector"}
    for (first, other), names in points.items():
        vectors = [n for n, groups in loose.items() if first in owners[n] and other in owners[n]]
        for n in vectors:
            loose[n].join(first, other)
        lost += _shared_demand(m, other, [*names, *vectors])
    for name, groups in loose.items():  # directions that bodies share without touching
        for other in groups.apart():
            lost += _shared_demand(m, other, [name])
    return lost


def _shared_demand(m: Mechanism, owner: str, names: list[str]) -> int:
    body = m.bodies[owner]
    points = {n: body.points[n] for n in names if n in body.points}
    vectors = {n: body.vectors[n] for n in names if n in body.vectors}
    return _demand(points, vectors, m.dimension, item=f"body {owner!r}")


class _Groups:
    """Bodies that share a vector, and which of them have been counted as joined."""

    def __init__(self, names: list[str]) -> None:
        self.group = {name: k for k, name in enumerate(names)}

    def join(self, first: str, second: str) -> None:
        old, new = self.group[second], self.group[first]
        self.group = {name: new if k == old else k for name, k in self.group.items()}

    def apart(self) -> list[str]:
        """Return one body, not ground, for each group but the first."""
        first: dict[int, str] = {}
        for name, k in self.group.items():
            first.setdefault(k, name)
        return list(first.values())[1:]


def refuse_mobile(e: NaturalEquations, q: Array, t: float) -> None:
    """Refuse positions that are not isolated."""
    scaled = _scaled(e, e.jacobian(q, t))
    s = singular_values(scaled)
    left = e.nv - closure_rank(s)
    if left:
        Vt = np.linalg.svd(scaled)[2]
        moved = np.linalg.norm(Vt[len(Vt) - left :], axis=0)
        names = ", ".join(e.speed_names[k] for k in np.argsort(-moved)[:4])
        raise ModelError(
            "assemblies", "drives", f"{left} too few", f"the mechanism can still move (in {names}), so that its "
            "positions are not isolated: drive as many more of these",
        )  # fmt: skip
