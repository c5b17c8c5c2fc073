"""Mobility of a mechanism in natural coordinates: rank of J, and the Gruebler count of links and joints.

The count treats shared points and vectors as joints:

    f = sum of DOF of bodies, and of points and vectors of no body - sum of DOF removed by joints               (1)

Two bodies (ground is one) that share a point lose 3 degrees of freedom, 2 in the plane. A shared direction, by a vector
or a second point, removes 2 (in the plane 1), two shared directions 3. Two joints about one line are one joint. Bodies
with collinear members have 5 degrees of freedom: their spin is no coordinate. Rows of joints count for the degrees of
freedom they remove: a cross product in space for 2, with 3 rows. Angles and distances that are coordinates do not
count. Where the rank gives more degrees of freedom than (1), the mechanism is over-constrained and moves because of its
proportions (Garcia de Jalon and Bayo 1994, section 3.4).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..answer import Answer
from ..arrays import Array
from ..checks import finite_array
from ..closure import find_position
from ..errors import AssemblyError, ModelError
from ..numerics.rank import independent_rows, null_space, numerical_rank, singular_values
from .bodies import NaturalBody, body_frame
from .equations import NaturalEquations

if TYPE_CHECKING:
    from .mechanism import Mechanism

__all__ = ["NaturalMobility", "gruebler", "natural_mobility"]


GROUND = "ground"
NEARBY_STEP = 1e-3  # of the characteristic length: distance of the positions that give the general mobility
N_NEARBY = 3  # positions


@dataclass(frozen=True, eq=False, repr=False)
class NaturalMobility(Answer):
    """Result of `Mechanism.mobility`; `print` it for a report.

    Attributes
    ----------
    mobility : int
        Independent motions at `q` without drives: n - rank.
    gruebler : int
        Count (1).
    driven_mobility : int
        Independent motions with drives.
    general : int
        Mobility at closed positions nearby.
    coordinates, equations, rank : int
        n, m and the rank of J without drives.
    convenience : int
        Rows beyond the DOF that joints remove: cosine with sine, cross products, all components of a combination.
    redundant_rows : tuple of str
        Redundant rows; the selection is not unique.
    singular_values : (min(m, n),)
        Of the dimensionless J, largest first.
    motions : (mobility, n)
        Basis of the motions, orthonormal in scaled velocities, in the order of `names`.
    names : tuple of str
        Coordinates, driven ones included.
    q : (n,)
        The closed position, in that order.
    """

    mobility: int
    gruebler: int
    driven_mobility: int
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
        """True if positions nearby have the same mobility."""
        return self.general == self.mobility

    @property
    def over_constrained(self) -> int:
        """Degrees of freedom due to special proportions, beyond the count (1)."""
        return max(0, self.general - self.gruebler)

    def _headline(self) -> str:
        return f"mobility {self.mobility}, Grübler count {self.gruebler}, {len(self.redundant_rows)} redundant rows"

    def __str__(self) -> str:
        lines = [
            f"mobility {self.mobility}: {self.coordinates} coordinates, {self.equations} equations of rank {self.rank}"
        ]
        if self.gruebler != self.general:
            lines.append(
                f"Gruebler count {self.gruebler}: the mechanism moves because of its proportions, and "
                f"{self.over_constrained} constraints of joints are redundant"
                if self.over_constrained
                else f"Gruebler count {self.gruebler}: some of these degrees of freedom are no coordinates here"
            )
        if self.convenience:
            lines.append(f"{self.convenience} further rows keep full rank elsewhere (cosine with sine, cross products)")
        if not self.permanent:
            lines.append(f"at this position only: nearby the mobility is {self.general}")
        if self.driven_mobility:
            lines.append(f"mobility with drives {self.driven_mobility}")
        return "\n".join(lines)


def natural_mobility(mechanism: Mechanism, q: ArrayLike | None = None, t: float = 0.0) -> NaturalMobility:
    """Return the mobility at a closed position; see `Mechanism.mobility`."""
    driven = mechanism.equations()
    at = mechanism.assemble(t=t).q if q is None else finite_array(q, (driven.nq,), item="mobility", field="q")
    free = mechanism.copy()
    free.remove_drives()
    e = free.equations()
    values = driven.by_name(driven.all_values(at, t))
    start = np.concatenate([values[c.name] for c in e.coordinates if not c.fixed])
    scaled = e.scaled_jacobian(start, t)
    s = singular_values(scaled)
    rank = numerical_rank(s)
    motions = null_space(scaled).T
    keep = set(independent_rows(scaled).tolist())
    return NaturalMobility(
        mobility=e.nv - rank,
        gruebler=gruebler(free),
        driven_mobility=driven.nv - driven.rank(at, t),
        general=_general(e, start, t, motions, e.nv - rank),
        coordinates=e.nv,
        equations=e.rows,
        rank=rank,
        convenience=max(0, e.rows - (e.nv - gruebler(free))),
        redundant_rows=tuple(name for k, name in enumerate(e.row_names) if k not in keep),
        singular_values=s,
        motions=motions * e.column_scales,
        names=e.speed_names,
        q=start,
    )


def _general(e: NaturalEquations, q: Array, t: float, basis: Array, here: int) -> int:
    """Return the least mobility at closed positions nearby."""
    random, least = np.random.default_rng(0), here
    for _ in range(N_NEARBY if here else 0):
        step = random.standard_normal(len(basis)) @ basis
        aside = q + NEARBY_STEP * e.column_scales * step / float(np.linalg.norm(step))
        try:
            there = find_position(e, aside, t).q
        except AssemblyError:
            continue
        if float(np.linalg.norm((there - q) / e.column_scales)) < 0.1 * NEARBY_STEP:
            continue  # returned to q
        least = min(least, e.nv - e.rank(there, t))
    return least


# -- counting


def gruebler(m: Mechanism) -> int:
    """Return the count (1) of a mechanism without drives."""
    owned = {name for body in m.bodies.values() for name in (*body.points, *body.vectors)}
    total = sum(_dof(body, m.dimension) for body in m.bodies.values())
    for c in m.coordinates.values():
        if c.name not in owned and not c.fixed and c.kind in ("point", "vector"):
            total += m.dimension - (c.kind == "vector")
    return total - _sharing(m) - sum(m.demands.values())


def _dof(body: NaturalBody, dimension: int) -> int:
    return _demand(body.points, body.vectors, dimension, item=f"body {body.name!r}")


def _demand(points: dict[str, Array], vectors: dict[str, Array], dimension: int, *, item: str) -> int:
    """Return the DOF of a body of these members; sharing them removes as many."""
    if not points and not vectors:
        return 0
    turns = len(body_frame(points, vectors, dimension, item=item).base)
    place = dimension if points else 0
    return place + (min(turns, 1) if dimension == 2 else {0: 0, 1: 2}.get(turns, 3))


def _sharing(m: Mechanism) -> int:
    """Return the DOF that shared points and vectors remove, between bodies and with ground."""
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
    for _, first, second, _ in m.looks:  # a slot is a joint too, between the bodies that share most directions
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
    for name, groups in loose.items():  # directions shared by bodies without a common point
        for other in groups.apart():
            lost += _shared_demand(m, other, [name])
    return lost


def _shared_demand(m: Mechanism, owner: str, names: list[str]) -> int:
    body = m.bodies[owner]
    points = {n: body.points[n] for n in names if n in body.points}
    vectors = {n: body.vectors[n] for n in names if n in body.vectors}
    return _demand(points, vectors, m.dimension, item=f"body {owner!r}")


class _Groups:
    """Bodies that share a vector, in groups that are counted as joined."""

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
    """Raise if a position is not isolated."""
    motions = null_space(e.scaled_jacobian(q, t))
    left = motions.shape[1]
    if left:
        moved = np.linalg.norm(motions, axis=1)
        names = ", ".join(e.speed_names[k] for k in np.argsort(-moved)[:4])
        raise ModelError(
            "assemblies", "drives", f"{left} too few", f"the mechanism can still move (in {names}), so that its "
            "positions are not isolated: drive as many more of these coordinates",
        )  # fmt: skip
