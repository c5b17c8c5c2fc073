"""How a system can move: freedoms by counting, freedoms by rank, redundant rows and motions by name.

Counting (Grübler and Kutzbach) supposes that every closure row is independent: nv - nc. The true mobility is
nv - rank P at a closed configuration (Sol 1983, section 8.2). The difference is the number of redundant rows, which
repeat what other connections already demand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..model import Model, as_model
from ..system import System
from .adrift import adrift
from .assemble import assemble
from .freedoms import freedoms_of
from .nearby import general_mobility, null_space
from .redundancy import independent_rows, loops, sharing
from .scales import Scales, closure_rank, singular_values

__all__ = ["Mobility", "mobility"]

Array = NDArray[np.float64]

_NEARLY = 1e-4
"""Scaled singular values below this that are not zero (see `closure_rank`) are reported as nearly singular. Closing to
1e-12 leaves 1e-6 of noise in a singular position."""


@dataclass(frozen=True, eq=False)
class Mobility:
    """What `mobility` found; print it to read it.

    Attributes
    ----------
    mobility : int
        Independent instantaneous motions at `q`: nv - rank P.
    gruebler : int
        The count of freedoms minus closure rows, 6 nb - sum of (6 - freedoms) over all connections.
    redundant : dict of str to int
        Number of closure rows of a connection that repeat what others demand; connections without any are left out.
    redundant_rows : dict of str to tuple of str
        Which rows these are: ``{"D": ("z", "tilt_x", "tilt_y")}``. Another choice may do as well.
    shared : dict of str to tuple of str
        The connections among which the redundancy of a connection is shared, itself included: their reactions are
        not unique.
    singular_values : (min(nc, nv),)
        Of the closure Jacobian, rows and columns made dimensionless; largest first.
    rank : int
    motions : list of dict of str to float
        A basis of the instantaneous motions: speeds by name, rad/s or m/s, the leading one 1; those not named rest.
    permanent : bool
        True if closed configurations nearby have the same mobility; False if it holds only here.
    general : int
        Mobility at the configurations nearby.
    loops : tuple of tuple of str
        Connections around each independent loop, the one at which it was cut last.
    q : (nq,) rad or m
        The closed configuration that was examined.
    model : Model
    """

    mobility: int
    gruebler: int
    redundant: dict[str, int]
    redundant_rows: dict[str, tuple[str, ...]]
    shared: dict[str, tuple[str, ...]]
    singular_values: Array
    rank: int
    motions: list[dict[str, float]]
    permanent: bool
    general: int
    loops: tuple[tuple[str, ...], ...]
    q: Array = field(repr=False)
    model: Model = field(repr=False)

    def determines(self, names: str | Iterable[str]) -> bool:
        """Return whether prescribing these coordinates, and no others, determines all speeds.

        False for an unsuitable choice, such as the rocker of a four-bar at its dead point, although the rank of the
        closure equations is full there (Sol 1983, section 8.3; erratum: the text takes the one for the other).
        """
        model = self.model
        chosen = freedoms_of(model, names, item="determines")
        if len(chosen) != self.mobility:
            return False
        scales = Scales.of(model)
        N = null_space(scales.jacobian(model, self.q), model.nv)
        moved = np.vstack(
            [N[chosen.columns], chosen.cut_scales[:, None] * (chosen.cut_rows(self.q) * scales.columns) @ N]
        )
        return bool(np.linalg.svd(moved, compute_uv=False).min(initial=1.0) > _NEARLY)

    @property
    def verdict(self) -> str:
        """What the singular values say about the rank, in words."""
        s = self.singular_values
        if not s.size:
            return "no closure rows: the system is a tree"
        if not self.rank:
            return "all singular values are zero: the closure rows hinder no motion"
        smallest = s[self.rank - 1]
        zeros = f", then {s[self.rank]:.1e}" if self.rank < len(s) else ""
        text = f"singular values {s[0]:.4g} to {smallest:.4g}{zeros}"
        if smallest < _NEARLY * max(1.0, s[0]):
            return f"{text}: nearly singular, close to a position with mobility {self._nearby_mobility()}"
        return f"{text}: rank {self.rank} is clear"

    def _nearby_mobility(self) -> int:
        near = self.singular_values[: self.rank] < _NEARLY * max(1.0, self.singular_values[0])
        return self.mobility + int(near.sum())

    def __str__(self) -> str:
        model = self.model
        counts = f"{_count(model.nb, 'body', 'bodies')}, {_count(len(model.system.connections), 'connection')}"
        lines = [f"system {model.system.name!r}: {counts}, {_count(len(self.loops), 'loop')}"]
        lines += [f"  loop closed by {loop[-1]}: {', '.join(loop)}" for loop in self.loops[:12]]
        if len(self.loops) > 12:
            lines.append(f"  ... and {len(self.loops) - 12} more")
        lines.append(f"mobility {self.mobility}, Grübler-Kutzbach count {self.gruebler} ({self._explained()})")
        lines += adrift(model.system)
        for name, number in self.redundant.items():
            total = model.constraint_connections.count(name)
            others = [other for other in self.shared[name] if other != name]
            repeat = f"repeat what {', '.join(others)} already demand" + "s" * (len(others) == 1)
            lines.append(
                f"  connection {name}: {number} of {total} rows {repeat} ({', '.join(self.redundant_rows[name])})"
            )
        lines.append(self.verdict)
        lines += [f"motion {k}: {_motion_text(motion)}" for k, motion in enumerate(self.motions[:12], start=1)]
        if len(self.motions) > 12:
            lines.append(f"... and {len(self.motions) - 12} more motions")
        if self.loops and self.mobility:
            lines.append(
                "the mobility is permanent: closed configurations nearby have the same"
                if self.permanent
                else f"the mobility holds only at this configuration: nearby it is {self.general}"
            )
        return "\n".join(lines)

    def _explained(self) -> str:
        number = sum(self.redundant.values())
        if not self.loops:
            return "an open system"
        if not number:
            return "no redundant rows"
        return f"{number} redundant row{'s' * (number > 1)}"


def mobility(system: System | Model, q: ArrayLike | None = None) -> Mobility:
    """Return how a system can move at a closed configuration.

    Parameters
    ----------
    system : System or Model
    q : (nq,) rad or m
        Configuration; the start values if left out. Loops that are open there are closed first (see `assemble`).

    Raises
    ------
    AssemblyError
        If the loops cannot be closed.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("door")
    >>> leaf = s.body("leaf", da.plate(0.9, 2.0, 30.0))
    >>> s.connect("low", da.Revolute("z"), s.ground, leaf)
    <Connection 'low': Revolute from ground to leaf>
    >>> s.connect("high", da.Revolute("z"), s.ground.at(0, 0, 1.5), leaf.at(0, 0, 1.5))
    <Connection 'high': Revolute from ground.at(0, 0, 1.5) to leaf.at(0, 0, 1.5)>
    >>> report = mobility(s)
    >>> report.mobility, report.gruebler, report.redundant
    (1, -4, {'high': 5})
    """
    model = as_model(system)
    scales = Scales.of(model)
    if not model.nc:
        at = model.initial_state().q if q is None else model._coordinates("mobility", q)
        motions = [{name: 1.0} for name in model.speed_names]
        return Mobility(
            model.nv, model.nv, {}, {}, {}, np.zeros(0), 0, motions, True, model.nv, loops(model), at, model
        )
    at = assemble(model, q=q).q
    J = scales.jacobian(model, at)
    s = singular_values(J)
    rank = closure_rank(s)
    general = general_mobility(model, at, model.nv - rank)
    redundant, rows, shared = _redundancy(model, at, scales, J, rank)
    return Mobility(
        mobility=model.nv - rank,
        gruebler=model.nv - model.nc,
        redundant=redundant,
        redundant_rows=rows,
        shared=shared,
        singular_values=s,
        rank=rank,
        motions=_motions(model, scales, J),
        permanent=general == model.nv - rank,
        general=general,
        loops=loops(model),
        q=at,
        model=model,
    )


def _motions(model: Model, scales: Scales, J: Array) -> list[dict[str, float]]:
    """Return a readable basis: each motion has one leading speed that all others leave at rest."""
    from scipy.linalg import qr

    N = null_space(J, model.nv)
    if not N.shape[1]:
        return []
    # leading speeds are those that move most, with a bonus for those near the root, which users think of as driven
    bias = 1.0 - 0.8 * np.arange(model.nv) / model.nv
    order = qr((N * bias[:, None]).T, mode="r", pivoting=True)[1]
    leading = np.sort(order[: N.shape[1]])
    x = N @ np.linalg.inv(N[leading])
    x[np.abs(x) < 1e-9 * np.abs(x).max(0)] = 0.0
    v = x * scales.columns[:, None] / scales.columns[leading]
    v[leading] = np.eye(len(leading))
    return [
        {name: float(value) for name, value in zip(model.speed_names, column, strict=True) if value} for column in v.T
    ]


def _redundancy(
    model: Model, q: Array, scales: Scales, J: Array, rank: int
) -> tuple[dict[str, int], dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Return number and names of redundant rows, and who shares them, by connection."""
    _, dropped, y = independent_rows(J, rank)
    rows: dict[str, tuple[str, ...]] = {}
    shared: dict[str, set[str]] = {}
    for row, names in zip(dropped, sharing(model, q, y * scales.rows), strict=True):
        owner = model.constraint_connections[row]
        rows[owner] = (*rows.get(owner, ()), model.constraint_names[row][len(owner) + 1 :])
        shared.setdefault(owner, {owner}).update(names)
    order = {name: k for k, name in enumerate(model.system.connections)}
    sharers = {
        owner: tuple(sorted(names, key=lambda name: order.get(name, len(order)))) for owner, names in shared.items()
    }
    return {owner: len(names) for owner, names in rows.items()}, rows, sharers


def _motion_text(motion: dict[str, float], limit: int = 10) -> str:
    terms = [f"{name} {value:+.4g}" for name, value in list(motion.items())[:limit]]
    return ", ".join(terms) + (f", ... ({len(motion)} speeds)" if len(motion) > limit else "")


def _count(number: int, singular: str, plural: str | None = None) -> str:
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
