"""Assembly in natural coordinates: all closed positions, continuation, initial guesses after displacements.

All positions: the search is that of `closure.branch_search`; in the plane, parts that close separately are closed
first. In space the rows of three base members hold for the mirrored body too: starts are random poses of the bodies,
and positions with mirrored bodies are rejected.

Continuation (Garcia de Jalon and Bayo 1994, section 3.2) starts at a closed position with displaced ground points and
inputs, and moves these to their final values in small steps. Rows of moved coordinates alone are left out on the way.

Guess after a finite displacement of inputs (same book, 3.3.2). Known coordinates change from x0 at t to x1 at t + h.
Their velocities are

    "rate"         those of their laws at t                                                                          (1)
    "secant"       (x1 - x0) / h                                                                                     (2)
    "projection"   such that x0 + h x' is the projection of x1 onto the tangent, along the velocity of the law       (3)

and, for order 2, their accelerations x'' = 2 (x1 - x0 - h x') / h^2, (3.10). Velocities and accelerations of the
unknowns follow with one factorization of J:  q + h v + h^2 a / 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..answer import ArrayAnswer, count_text
from ..arrays import Array
from ..checks import finite_array, one_of
from ..closure import PositionResult, find_position
from ..closure.branch_search import all_closed_configurations
from ..closure.position_solver import start_of
from ..closure.scaled_equations import ScaledEquations
from ..errors import AssemblyError, ModelError
from ..numerics.factorization import factor
from ..numerics.least_squares import levenberg_marquardt
from .equations import KnownCoordinates, NaturalEquations
from .mobility import refuse_mobile

if TYPE_CHECKING:
    from .mechanism import Mechanism

__all__ = ["ContinuationResult", "all_assemblies", "displacement_guess", "relaxed_assembly"]

N_STARTS = 200  # random starts in a round of the search in space
MAX_ROUNDS = 8  # of that search; it ends with the first round that finds nothing new
DUPLICATE_TOL = 1e-6  # of the scaled coordinates: closer positions are one
CLOSED_TOL = 1e-9  # scaled residual of a position that the search accepts
MIN_STEP = 1e-6  # of the path: shorter steps end a continuation


class _PositionRows(ScaledEquations):
    """Scaled position equations, in groups by body and joint; angles differ by less than a turn."""

    def __init__(self, equations: NaturalEquations, t: float) -> None:
        super().__init__(equations, t=t)
        owners = np.array([equations.row_names[k].split(":")[0] for k in np.flatnonzero(equations.row_scales)])
        self.groups = [np.flatnonzero(owners == name) for name in dict.fromkeys(owners.tolist())]
        angles = np.array([c.kind == "angle" for c in equations.coordinates for _ in c.value])[equations._unknown]
        self.periods[angles] = 2 * np.pi


def all_assemblies(mechanism: Mechanism, t: float = 0.0, *, starts: int = 0, seed: int = 0) -> list[Array]:
    """Return all closed positions (n,) at t s, nearest to the described one first; see `Mechanism.assemblies`."""
    e = mechanism.equations()
    start = e.start()
    held, random = np.zeros(e.nv, dtype=bool), np.random.default_rng(seed)
    rows = _PositionRows(e, t)
    begin = find_position(e, start, t, check=False)
    parents = (begin.q if begin.success else start)[None]
    found: list[Array] = [begin.q] if begin.success else []
    kept: list[Array] = []

    def keep(candidates: Iterable[Array]) -> int:
        """Store new positions and return their number."""
        before = len(kept)
        for q in candidates:
            if _mirrored(mechanism, e, q, t):
                continue
            if all(
                float(np.abs(rows.difference(q[None], other[None])).max(initial=0.0)) > DUPLICATE_TOL for other in kept
            ):
                refuse_mobile(e, q, t)
                kept.append(q)
        return len(kept) - before

    keep(found)
    if mechanism.dimension == 2:
        closed = all_closed_configurations(rows, parents, held, random, starts=starts, tolerance=CLOSED_TOL)
        polished = [find_position(e, q, t, check=False) for q in closed]
        keep(one.q for one in polished if one.success)
    else:
        everything = [(np.arange(rows.rows), np.arange(e.nv))]
        for number in range(MAX_ROUNDS):
            begin_at = np.array([_random_start(mechanism, e, t, random) for _ in range(max(starts, N_STARTS))])
            q_end, worst = levenberg_marquardt(rows, begin_at, everything, tolerance=CLOSED_TOL)
            polished = [find_position(e, q, t, check=False) for q in q_end[worst[:, 0] <= CLOSED_TOL]]
            if not keep(one.q for one in polished if one.success) and number:
                break
    away = [float(np.linalg.norm(rows.difference(start[None], q[None]))) for q in kept]
    return [kept[k] for k in np.argsort(np.round(away, 9), kind="stable")]


def _random_start(m: Mechanism, e: NaturalEquations, t: float, random: np.random.Generator) -> Array:
    """Return a start (n,): random proper poses of the bodies; shared members take that of one of them."""
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
    """Return whether a body with three base members is mirrored."""
    if m.dimension == 2:
        return False
    values = e.by_name(e.all_values(q, t))
    for body in m.bodies.values():
        if len(body.frame.base) == 3:
            here = np.array([d.value(values) for d in body.frame.base])
            if float(np.linalg.det(here)) * float(np.linalg.det(body.frame.columns)) < 0.0:
                return True
    return False


@dataclass(eq=False, repr=False)
class ContinuationResult(ArrayAnswer):
    """Result of a continuation.

    Attributes
    ----------
    position : PositionResult
        The final closed position.
    share : (k,)
        Path parameter of each step, from 0, relaxed, to 1.
    q : (k, n)
        Unknown coordinates at each step.
    moved : dict of str to ((d,), (d,))
        Initial and final values of the coordinates that were moved.
    singular : list of float
        Path parameters near which J lost rank: other assemblies may branch off there.
    """

    position: PositionResult
    share: Array
    q: Array
    moved: dict[str, tuple[Array, Array]]
    singular: list[float] = field(default_factory=list)
    _arrays: ClassVar = {"q": (("share", "coordinate"), "")}

    @property
    def success(self) -> bool:
        """True if the mechanism is closed at the end."""
        return self.position.success

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return {"share": (self.share, "")}

    def _headline(self) -> str:
        moved = f"{count_text(len(self.moved), 'point')} moved in {count_text(len(self.share), 'step')}"
        return f"{self.position._headline()}; {moved}, {count_text(len(self.singular), 'singular configuration')}"


@dataclass(frozen=True, eq=False)
class _Straight:
    """Coordinates on a straight line, for t from 0 to 1."""

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
            if h < MIN_STEP:
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
    """Return the rank of J, and the sign of its determinant if it is square; they change at singular positions."""
    scaled = e.scaled_jacobian(q, t)
    sign = float(np.linalg.slogdet(scaled)[0]) if scaled.shape[0] == scaled.shape[1] else 0.0
    return e.rank(q, t), sign


def _relaxed(
    m: Mechanism, e: NaturalEquations, relaxed: Mapping[str, ArrayLike] | None, t: float
) -> tuple[dict[str, tuple[Array, Array]], dict[str, Array]]:
    """Return initial and final values of moved coordinates, and all coordinates at the relaxed position."""
    value = e.by_name(e.all_values(e.start(), t))
    driven = {name for driver in m.drivers for name, _ in driver.components}
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
    else:  # free ground points and inputs, and close with the least change
        movable = {c.name for c in e.coordinates if (c.fixed or c.name in driven) and c.kind != "vector"}
        loose = [replace(c, fixed=c.fixed and c.name not in movable, value=c.value.copy()) for c in e.coordinates]
        every = {c.name for c in loose if c.fixed}
        rows = [row for row in e.table if not row.coordinates() <= every]
        free = NaturalEquations(loose, rows, (), m.speed_rows, e.length)
        start = free.by_name(free.all_values(find_position(free, None, 0.0).q, 0.0))
    return {name: (start[name].copy(), value[name].copy()) for name in sorted(movable)}, start


def _stuck(found: PositionResult, share: float, moved: Mapping[str, object]) -> AssemblyError:
    """Return the error of a continuation that cannot proceed."""
    missed = ", ".join(repr(name) for name in list(found.rows)[:3]) or "J is singular there"
    error = AssemblyError(
        f"continuation ends after {100 * share:.4g} % of the path of {', '.join(map(repr, moved))}: beyond it {missed} "
        "cannot be met; start at another relaxed position, or the mechanism cannot close there"
    )
    error.q, error.residuals = found.q, found.rows
    return error


def displacement_guess(
    equations: NaturalEquations, q: ArrayLike, t: float, goal: float, *, order: int = 1, rule: str = "rate"
) -> Array:
    """Return a guess (n,) of the position at the time `goal`, from the closed position q (n,) at t.

    Parameters
    ----------
    equations : NaturalEquations
        Without wheels.
    order : int
        0: unknowns keep their values; 1: with velocities; 2: with velocities and accelerations.
    rule : str
        ``"rate"``, ``"secant"`` or ``"projection"``: velocities of the inputs, (1) to (3).
    """
    one_of("displacement_guess", "rule", rule, ("rate", "secant", "projection"))
    if order not in (0, 1, 2):
        raise ModelError("displacement_guess", "order", order, "use 0, 1 or 2")
    if not equations.sweeps:
        raise ModelError("displacement_guess", "equations", "wheels or switched angles", "use follow")
    at, h = start_of(equations, q), goal - t
    if order == 0 or h == 0.0:
        return at
    here = np.array(equations.known(t, third=False))
    change = np.array(equations.known(goal, third=False))[0] - here[0]
    known = np.zeros_like(here)
    known[0], known[1] = here[0], _input_velocities(equations, here[1], change, h, rule)
    J = equations._rows.jacobian(at, known)
    S, D = equations.row_scales, equations.column_scales
    factors = factor(S[:, None] * J * D)
    v = D * factors.solve(S * equations._rows.velocity_terms(at, known))
    if order == 1:
        return np.asarray(at + h * v)
    known[2] = 2.0 * (change - h * known[1]) / (h * h)
    a = D * factors.solve(S * equations._rows.acceleration_terms(at, v, known))
    return np.asarray(at + h * v + h * h / 2 * a)


def _input_velocities(equations: NaturalEquations, rates: Array, change: Array, h: float, rule: str) -> Array:
    """Return the velocities of driven components by (1), (2) or (3)."""
    if rule == "rate":
        return rates
    speeds: Array = change / h
    if rule == "secant":
        return speeds
    for c in equations.coordinates:  # all components of a point together
        mine = [k for k, name in enumerate(equations.driven_names) if name in c.names]
        e = rates[mine]
        if len(mine) > 1 and float(e @ e) > 0.0:
            speeds[mine] = float(change[mine] @ e) / float(e @ e) / h * e
    return speeds
