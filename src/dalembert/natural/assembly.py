"""All ways to assemble a mechanism in natural coordinates, and assembly from a relaxed position.

The search is that of `analysis.branches`: in the plane links that can be closed before others are. In space, three base
members of a body obey its rows in a mirror as well; starts are bodies thrown about as they are, and positions with
mirrored ones are left out.

Continuation (Garcia de Jalon and Bayo 1994, section 3.2) begins at any position that closes the mechanism with ground
points and inputs elsewhere, and moves these to their places in small steps. Rows that hold nothing but what is moved
need not hold on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..answer import ArrayAnswer, count_text
from ..checks import finite_array
from ..closure import PositionResult, find_position
from ..closure.branch_search import all_closed_configurations, levenberg_marquardt
from ..closure.position_rates import speed_scales
from ..closure.scaling import closure_rank, singular_values
from ..errors import AssemblyError, ModelError
from .drivers import KnownCoordinates
from .equations import NaturalEquations
from .mobility import refuse_mobile

if TYPE_CHECKING:
    from .mechanism import Mechanism

__all__ = ["ContinuationResult", "all_assemblies", "relaxed_assembly"]

_THROWS, _ROUNDS = 200, 8  # starts in a round of a search in space, and rounds

Array = NDArray[np.float64]
IndexArray = NDArray[np.intp]


class _Rows:
    """Rows of positions, made dimensionless, for batches; those of a body or a joint belong together."""

    def __init__(self, equations: NaturalEquations, t: float) -> None:
        self.e, self.t, self.nv = equations, t, equations.nv
        self.kept = np.flatnonzero(equations.row_scales > 0.0)
        self.scales = equations.row_scales[self.kept]
        owners = [equations.row_names[k].split(":")[0] for k in self.kept]
        self.groups: Sequence[IndexArray] = [np.flatnonzero(np.array(owners) == name) for name in dict.fromkeys(owners)]
        self.angles = np.array([c.kind == "angle" for c in equations.coordinates for _ in c.value])[equations._unknown]

    def residual(self, q: Array) -> Array:
        rows = [self.scales * self.e.residual(x, self.t)[self.kept] for x in q]
        return np.array(rows).reshape(len(q), len(self.kept))

    def jacobian(self, q: Array) -> Array:
        D, S = self.e.column_scales, self.scales[:, None]
        rows = [S * self.e.jacobian(x, self.t)[self.kept] * D for x in q]
        return np.array(rows).reshape(len(q), len(self.kept), self.nv)

    def moved(self, q: Array, x: Array) -> Array:
        return np.asarray(q + x * self.e.column_scales)

    def between(self, q0: Array, q1: Array) -> Array:
        d = (q1 - q0) / self.e.column_scales
        return np.where(self.angles, d - 2 * np.pi * np.round(d / (2 * np.pi)), d)


def all_assemblies(mechanism: Mechanism, t: float = 0.0, *, starts: int = 0, seed: int = 0) -> list[Array]:
    """Return all closed positions (n,) at t s, nearest to the one described first; see `Mechanism.assemblies`."""
    e = mechanism.equations()
    start = e.start()
    held, random = np.zeros(e.nv, dtype=bool), np.random.default_rng(seed)
    rows = _Rows(e, t)
    begin = find_position(e, start, t, check=False)
    parents = (begin.q if begin.success else start)[None]
    found: list[Array] = [begin.q] if begin.success else []
    kept: list[Array] = []

    def keep(candidates: Iterable[Array]) -> int:
        """Take positions that are new, and return how many these are."""
        before = len(kept)
        for q in candidates:
            if _mirrored(mechanism, e, q, t):
                continue
            if all(float(np.abs(rows.between(q[None], other[None])).max(initial=0.0)) > 1e-6 for other in kept):
                refuse_mobile(e, q, t)
                kept.append(q)
        return len(kept) - before

    keep(found)
    if mechanism.dimension == 2:
        closed = all_closed_configurations(rows, parents, held, random, starts=starts, tolerance=1e-9)
        polished = [find_position(e, q, t, check=False) for q in closed]
        keep(one.q for one in polished if one.success)
    else:
        everything = [(np.arange(len(rows.kept)), np.arange(e.nv))]
        for number in range(_ROUNDS):
            begin_at = np.array([_random_start(mechanism, e, t, random) for _ in range(max(starts, _THROWS))])
            q_end, worst = levenberg_marquardt(rows, begin_at, everything, tolerance=1e-9)
            polished = [find_position(e, q, t, check=False) for q in q_end[worst[:, 0] <= 1e-9]]
            if not keep(one.q for one in polished if one.success) and number:
                break
    away = [float(np.linalg.norm(rows.between(start[None], q[None]))) for q in kept]
    return [kept[k] for k in np.argsort(np.round(away, 9), kind="stable")]


def _random_start(m: Mechanism, e: NaturalEquations, t: float, random: np.random.Generator) -> Array:
    """Return a start (n,): bodies thrown about without being mirrored, what they share where one of them has it."""
    X = e.all_values(e.start(), t)
    reach = 2.0 * e.length
    for k in random.permutation(len(m.bodies)):
        body = list(m.bodies.values())[k]
        R = np.linalg.qr(random.standard_normal((3, 3)))[0]
        R *= np.linalg.det(R)
        o = random.uniform(-reach, reach, 3) + X[e.place(next(iter(body.points)))] * 0.5 if body.points else np.zeros(3)
        for name, r in (*body.points.items(), *body.vectors.items()):
            place = e.place(name)
            X[place : place + 3] = R @ r + (o if name in body.points else 0.0)
    for c in e.coordinates:
        if c.kind == "angle":
            X[e.place(c.name)] = random.uniform(-np.pi, np.pi)
    return np.asarray(X[e._unknown])


def _mirrored(m: Mechanism, e: NaturalEquations, q: Array, t: float) -> bool:
    """Return whether a body of three base members is seen in a mirror."""
    if m.dimension == 2:
        return False
    X = e.all_values(q, t)
    values = {c.name: X[e.place(c.name) : e.place(c.name) + len(c.value)] for c in e.coordinates}
    for body in m.bodies.values():
        if len(body.frame.base) == 3:
            here = np.array([d.value(values) for d in body.frame.base])
            if float(np.linalg.det(here)) * float(np.linalg.det(body.frame.columns)) < 0.0:
                return True
    return False


@dataclass(eq=False, repr=False)
class ContinuationResult(ArrayAnswer):
    """What continuation found.

    Attributes
    ----------
    position : Position
        Where everything is at its place.
    share : (k,)
        How much of the way was done, from 0, relaxed, to 1.
    q : (k, n)
        Unknown coordinates on the way.
    moved : dict of str to ((d,), (d,))
        What was moved: from where, and where to.
    singular : list of float
        Shares of the way beside which J lost rank: other assemblies may branch off there.
    """

    position: PositionResult
    share: Array
    q: Array
    moved: dict[str, tuple[Array, Array]]
    singular: list[float] = field(default_factory=list)
    _arrays: ClassVar = {"q": (("share", "coordinate"), "")}

    @property
    def success(self) -> bool:
        """Whether the mechanism is closed at the end."""
        return self.position.success

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return {"share": (self.share, "")}

    def _headline(self) -> str:
        moved = f"{count_text(len(self.moved), 'point')} moved in {count_text(len(self.share), 'step')}"
        return f"{self.position._headline()}; {moved}, {count_text(len(self.singular), 'singular configuration')}"


@dataclass(frozen=True, eq=False)
class _Straight:
    """Coordinates that move in a straight line while t goes from 0 to 1."""

    start: Array
    end: Array

    def __call__(self, times: Sequence[float], third: bool) -> Array:
        t = np.asarray(times, dtype=float)[:, None]
        out = np.zeros((len(t), 4, len(self.start)))
        out[:, 0], out[:, 1] = self.start + t * (self.end - self.start), self.end - self.start
        return out


def relaxed_assembly(
    mechanism: Mechanism, relaxed: Mapping[str, ArrayLike] | None = None, t: float = 0.0, *, steps: int = 10
) -> ContinuationResult:
    """Assemble from a relaxed position; see `Mechanism.continuation`."""
    e = mechanism.equations()
    moved, start = _relaxed(mechanism, e, relaxed, t)
    coordinates = [replace(c, value=start[c.name].copy(), fixed=c.fixed and c.name not in moved) for c in e.coordinates]
    drivers = [
        KnownCoordinates(tuple((name, k) for k in range(len(ends[0]))), _Straight(*ends))
        for name, ends in moved.items()
    ]
    fixed = {c.name for c in coordinates if c.fixed}
    rows = [row for row in e.table if not row.coordinates() <= fixed | set(moved)]
    way = NaturalEquations(coordinates, rows, drivers, mechanism.speed_rows, e.length)
    q = find_position(way, None, 0.0).q
    shares, places, singular = [0.0], [q], []
    s, h, sign = 0.0, 1.0 / max(1, steps), _orientation(way, q, 0.0)
    while s < 1.0:
        end = min(1.0, s + h)
        found = find_position(way, q, end, check=False, max_iterations=20)
        step = float(np.linalg.norm((found.q - q) / way.column_scales))
        if not found.success or found.iterations > 8 or step > 1.0:
            h = (end - s) / 2
            if h < 1e-6:
                raise _stuck(found, s, moved)
            continue
        now = _orientation(way, found.q, end)
        if now != sign:
            singular.append((s + end) / 2)
        s, q, sign, h = end, found.q, now, 1.5 * h
        shares.append(s)
        places.append(q)
    X = way.all_values(q, 1.0)
    position = find_position(e, X[e._unknown], t)
    return ContinuationResult(position, np.array(shares), np.array(places), moved, singular)


def _orientation(e: NaturalEquations, q: Array, t: float) -> tuple[int, float]:
    """Return the rank of J, and the sign of its determinant where it is square: both change at singular positions."""
    J = e.jacobian(q, t)
    scaled = speed_scales(e, J)[:, None] * J * e.column_scales
    sign = float(np.linalg.slogdet(scaled)[0]) if scaled.shape[0] == scaled.shape[1] else 0.0
    return closure_rank(singular_values(scaled)), sign


def _relaxed(
    m: Mechanism, e: NaturalEquations, relaxed: Mapping[str, ArrayLike] | None, t: float
) -> tuple[dict[str, tuple[Array, Array]], dict[str, Array]]:
    """Return what is moved, from where to where, and all coordinates at the relaxed position."""
    target = e.all_values(e.start(), t)
    value = {c.name: target[e.place(c.name) : e.place(c.name) + len(c.value)] for c in e.coordinates}
    driven = {name for driver in m.drivers for name, _ in driver.places}
    if relaxed is not None:
        begin = {}
        for name, given in relaxed.items():
            if name not in m.coordinates:
                raise ModelError("continuation", "relaxed", name, "name points, angles or distances of the mechanism")
            begin[name] = np.atleast_1d(finite_array(
                given, np.shape(given), item="continuation", field=f"relaxed[{name!r}]"
            ))  # fmt: skip
            if len(begin[name]) != len(value[name]):
                raise ModelError("continuation", f"relaxed[{name!r}]", given, f"give {len(value[name])} numbers")
        movable = {name for name in begin if m.coordinates[name].fixed or name in driven}
        start = {**value, **begin}
    else:  # let ground points and inputs go, and close with the least change
        movable = {c.name for c in e.coordinates if (c.fixed or c.name in driven) and c.kind != "vector"}
        loose = [replace(c, fixed=c.fixed and c.name not in movable, value=c.value.copy()) for c in e.coordinates]
        every = {c.name for c in loose if c.fixed}
        rows = [row for row in e.table if not row.coordinates() <= every]
        free = NaturalEquations(loose, rows, (), m.speed_rows, e.length)
        X = free.all_values(find_position(free, None, 0.0).q, 0.0)
        start = {c.name: X[free.place(c.name) : free.place(c.name) + len(c.value)] for c in loose}
    return {name: (start[name].copy(), value[name].copy()) for name in sorted(movable)}, start


def _stuck(found: PositionResult, share: float, moved: Mapping[str, object]) -> AssemblyError:
    missed = ", ".join(repr(name) for name in list(found.rows)[:3]) or "J is singular there"
    error = AssemblyError(
        f"continuation ends after {100 * share:.4g} % of the way of {', '.join(map(repr, moved))}: beyond it {missed} "
        "cannot be met; begin at another relaxed position, or the mechanism cannot close there"
    )
    error.q, error.residuals = found.q, found.rows
    return error
