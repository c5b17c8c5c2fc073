"""Constraint equations of a mechanism in natural coordinates, as tables for the core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from .._core import NaturalRows
from ..arrays import Array, IndexArray
from ..closure.position_rates import speed_scales
from ..model.driven_kinematics import MAX_STEPS, KinematicSweep
from ..numerics.factorization import factor
from ..numerics.rank import numerical_rank, singular_values
from .terms import KINDS, Place, Row

__all__ = ["Coordinate", "KnownCoordinates", "NaturalEquations", "SpeedRows"]

AXES = "xyz"


@dataclass(eq=False)
class Coordinate:
    """Point, unit vector, angle or distance.

    Attributes
    ----------
    name, kind : str
        Kinds are ``"point"``, ``"vector"``, ``"angle"``, ``"distance"``.
    value : (k,) m, 1 or rad
        Guess of an unknown coordinate, value of a fixed one.
    fixed : bool
    """

    name: str
    kind: str
    value: Array
    fixed: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the components."""
        if self.kind in ("angle", "distance"):
            return (self.name,)
        return tuple(f"{self.name}.{axis}" for axis in AXES[: len(self.value)])

    @property
    def power(self) -> int:
        """Power of length in the unit."""
        return int(self.kind in ("point", "distance"))


@dataclass(frozen=True, eq=False)
class KnownCoordinates:
    """Components of coordinates that are known functions of time.

    Attributes
    ----------
    components : tuple of (str, int)
        Coordinates and components.
    motion : callable of times (n,) s and of whether third rates are needed
        Returns (n, 4, k): values, rates, second and third rates.
    """

    components: tuple[tuple[str, int], ...]
    motion: Callable[[Sequence[float], bool], Array]


class SpeedRows(Protocol):
    """Rows that constrain velocities, such as those of a rolling wheel; some constrain positions too.

    All are functions of X, V, A (k,): values, rates and second rates of `coordinates`, one after the other.
    """

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the points and vectors involved."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the rows."""
        ...

    @property
    def powers(self) -> tuple[int, ...]:
        """Powers of length in the units of the rows."""
        ...

    @property
    def holonomic(self) -> tuple[bool, ...]:
        """Mask of rows that constrain positions too."""
        ...

    def residual(self, X: Array) -> Array:
        """Return the residual of holonomic rows; zero elsewhere."""
        ...

    def jacobian(self, X: Array) -> Array:
        """Return J (rows, k)."""
        ...

    def bias(self, X: Array, V: Array) -> Array:
        """Return J' V (rows,)."""
        ...

    def bias_rate(self, X: Array, V: Array, A: Array) -> Array:
        """Return 2 J' A + J'' V (rows,)."""
        ...


class NaturalEquations:
    """Constraint equations in natural coordinates (see `dalembert.closure.Equations`).

    The core evaluates all rows but those of wheels. Coordinates are elements of a vector space: steps are added.

    Attributes
    ----------
    coordinates : tuple of Coordinate
    driven_names : tuple of str
        Components prescribed by laws; they are not unknowns.
    floor : float
        Scaled residual caused by rounding, larger where points are far from the origin.
    """

    def __init__(
        self,
        coordinates: Sequence[Coordinate],
        rows: Sequence[Row],
        drivers: Sequence[KnownCoordinates],
        speed_rows: Sequence[SpeedRows],
        length: float,
    ) -> None:
        self.coordinates = tuple(coordinates)
        self.table = tuple(rows)
        self.length = length
        self._drivers = tuple(drivers)
        self._speed_rows = tuple(speed_rows)
        self._start = dict(
            zip([c.name for c in coordinates], np.cumsum([0, *(len(c.value) for c in coordinates)]), strict=False)
        )
        self._base = np.concatenate([*(c.value for c in coordinates), np.zeros(0)])
        names = [name for c in coordinates for name in c.names]
        powers = np.array([c.power for c in coordinates for _ in c.value], dtype=int)
        driven = [self.place(*place) for driver in drivers for place in driver.components]
        fixed = [c.fixed for c in coordinates for _ in c.value]
        unknown = [k for k in range(len(names)) if not fixed[k] and k not in set(driven)]
        self._column = np.full(len(names), -1, dtype=np.int32)
        self._column[unknown] = np.arange(len(unknown))
        self._column[driven] = -2 - np.arange(len(driven))
        self._unknown, self._driven = np.array(unknown, dtype=int), np.array(driven, dtype=int)
        self.nq = self.nv = len(unknown)
        self.speed_names = tuple(names[k] for k in unknown)
        self.driven_names = tuple(names[k] for k in driven)
        self.column_scales = np.where(powers[unknown] > 0, length, 1.0) if unknown else np.zeros(0)
        self._rows = self._tables()
        self._wheel_places = [self._places_of(rows.coordinates) for rows in self._speed_rows]
        self.row_names = (*(row.name for row in rows), *(name for rows in speed_rows for name in rows.names))
        self.rows = len(self.row_names)
        self.row_powers = (*(row.power for row in rows), *(p for each in speed_rows for p in each.powers))
        held = [length**-p * h for rows in speed_rows for p, h in zip(rows.powers, rows.holonomic, strict=True)]
        self.row_scales = np.array([*(length**-row.power for row in rows), *held], dtype=float)
        reach = float(np.abs(self._base).max(initial=0.0)) / length
        self.floor = 16 * float(np.finfo(float).eps) * (1.0 + reach)
        self._switched = [(k, self.place(row.only[0]), row.only[1]) for k, row in enumerate(rows) if row.only]
        self._known_at: tuple[float, bool, Array] | None = None

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_rows"}  # the core's: made anew

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._rows = self._tables()

    def _tables(self) -> NaturalRows:
        terms, factors = [], []
        for number, row in enumerate(self.table):
            for term in row.terms:
                places = [self._spot(place) for place in term.places]
                terms.append([number, KINDS.index(term.kind), term.part, *places, *[0] * (6 - len(places))])
                factors.append(term.factor)
        self.terms = np.array(terms, dtype=np.int32).reshape(-1, 9)
        self.factors = np.array(factors, dtype=float)
        return NaturalRows(len(self.table), self._base, self._column, self.terms, self.factors)

    def _spot(self, place: Place) -> int:
        return len(self._base) if place is None else self.place(*place)

    def _places_of(self, names: Sequence[str]) -> IndexArray:
        sizes = {c.name: len(c.value) for c in self.coordinates}
        return np.array([self.place(name, k) for name in names for k in range(sizes[name])], dtype=np.intp)

    def place(self, name: str, component: int = 0) -> int:
        """Return the index of a component among all coordinates."""
        return int(self._start[name]) + component

    def choice(self, q: Array, t: float) -> tuple[int, ...]:
        """Return the rows that are inactive at a position, where the other form of the same angle is active."""
        if not self._switched:
            return ()
        X = self.all_values(np.asarray(q, dtype=float), t)
        steep = {"sine": np.cos, "cosine": np.sin}
        return tuple(k for k, place, kind in self._switched if abs(steep[kind](X[place])) < np.sqrt(0.5))

    def _chosen(self, rows: Array, q: Array, t: float) -> Array:
        """Return rows (rows, ...) with inactive ones set to zero."""
        idle = self.choice(q, t)
        if idle:
            rows[list(idle)] = 0.0
        return rows

    @cached_property
    def pattern(self) -> tuple[IndexArray, IndexArray] | None:
        """Rows and columns of the structural nonzeros of J; None with wheels."""
        if self._speed_rows:
            return None
        random = np.random.default_rng(0)
        known = np.zeros((4, len(self._driven)))
        known[0] = random.uniform(0.5, 1.5, len(self._driven))
        rows, columns = np.nonzero(self._rows.jacobian(random.uniform(0.5, 1.5, self.nq), known))  # generic position
        return rows, columns

    # -- all coordinates at a time

    def known(self, t: float, *, third: bool = True) -> Array:
        """Return values, rates, second and third rates of driven coordinates at t s, (4, driven).

        Third rates of laws without an analytic one are expensive; without `third` they are zero.
        """
        if self._known_at is None or self._known_at[0] != t or (third and not self._known_at[1]):
            motions = [driver.motion((t,), third)[0] for driver in self._drivers]
            self._known_at = (t, third, np.concatenate([*motions, np.zeros((4, 0))], axis=1))
        return self._known_at[2]

    def known_over(self, times: Array, *, third: bool = True) -> Array:
        """Return `known` at times (k,) s, (k, 4, driven)."""
        motions = [driver.motion(times.tolist(), third) for driver in self._drivers]
        return np.concatenate([*motions, np.zeros((len(times), 4, 0))], axis=2)

    def start(self) -> Array:
        """Return the described q (nq,)."""
        return self._base[self._unknown]

    def all_values(self, q: Array, t: float, *, rate: int = 0) -> Array:
        """Return all coordinates (..., N), fixed and driven ones too, from q (..., nq); or rates from v, a, j."""
        return self.filled(q, self.known(t, third=rate == 3)[rate], rate)

    def filled(self, q: Array, driven: Array, rate: int = 0) -> Array:
        """Return all coordinates (..., N), or rates of an order, from unknown and driven ones."""
        X: Array = np.zeros((*q.shape[:-1], len(self._base))) + (self._base if rate == 0 else 0.0)
        X[..., self._unknown] = q
        X[..., self._driven] = driven
        return X

    def by_name(self, X: Array) -> dict[str, Array]:
        """Return the values of each coordinate, from all coordinates X (N,)."""
        return {c.name: X[self.place(c.name) : self.place(c.name) + len(c.value)] for c in self.coordinates}

    # -- the protocol

    def residual(self, q: Array, t: float) -> Array:
        """Return Phi (rows,); the unit of a row is a power of metres."""
        r = self._rows.residual(np.ascontiguousarray(q, dtype=float), self.known(t, third=False))
        r = self._chosen(r, q, t)
        if not self._speed_rows:
            return r
        X = self.all_values(q, t)
        return np.concatenate([r, *(w.residual(X[p]) for w, p in self._wheels())])

    def jacobian(self, q: Array, t: float) -> Array:
        """Return J (rows, nv)."""
        J = self._rows.jacobian(np.ascontiguousarray(q, dtype=float), self.known(t, third=False))
        J = self._chosen(J, q, t)
        if not self._speed_rows:
            return J
        X = self.all_values(q, t)
        return np.vstack([J, *(self._spread(w.jacobian(X[p]), p)[:, self._unknown] for w, p in self._wheels())])

    def velocity_terms(self, q: Array, t: float) -> Array:
        """Return b (rows,)."""
        b = self._rows.velocity_terms(np.ascontiguousarray(q, dtype=float), self.known(t, third=False))
        b = self._chosen(b, q, t)
        if not self._speed_rows:
            return b
        return np.concatenate([b, self._from_driven(q, t, 1)])

    def displacement_terms(self, q: Array, before: float, after: float) -> Array:
        """Return b (rows,) for driven coordinates that go from f(before) to f(after) in a unit of time."""
        known = self.known(before, third=False).copy()
        known[1] = self.known(after, third=False)[0] - known[0]
        return np.asarray(self._rows.velocity_terms(np.ascontiguousarray(q, dtype=float), known))

    def acceleration_terms(self, q: Array, v: Array, t: float) -> Array:
        """Return c (rows,)."""
        q, v = np.ascontiguousarray(q, dtype=float), np.ascontiguousarray(v, dtype=float)
        c = self._chosen(self._rows.acceleration_terms(q, v, self.known(t, third=False)), q, t)
        if not self._speed_rows:
            return c
        X, V = self.all_values(q, t), self.all_values(v, t, rate=1)
        bias = np.concatenate([w.bias(X[p], V[p]) for w, p in self._wheels()])
        return np.concatenate([c, self._from_driven(q, t, 2) - bias])

    def jerk_terms(self, q: Array, v: Array, a: Array, t: float) -> Array:
        """Return d (rows,)."""
        q, v, a = (np.ascontiguousarray(x, dtype=float) for x in (q, v, a))
        d = self._chosen(self._rows.jerk_terms(q, v, a, self.known(t)), q, t)
        if not self._speed_rows:
            return d
        X, V, A = self.all_values(q, t), self.all_values(v, t, rate=1), self.all_values(a, t, rate=2)
        bias = np.concatenate([w.bias_rate(X[p], V[p], A[p]) for w, p in self._wheels()])
        return np.concatenate([d, self._from_driven(q, t, 3) - bias])

    def retract(self, q: Array, step: Array) -> Array:
        """Return q + step."""
        return np.asarray(q + step, dtype=float)

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return q1 - q0."""
        return np.asarray(q1 - q0, dtype=float)

    # -- linear algebra at a closed position

    def scaled_jacobian(self, q: Array, t: float) -> Array:
        """Return J (rows, nv), dimensionless; velocity constraints are scaled to the length of the other rows."""
        J = self.jacobian(q, t)
        return np.asarray(speed_scales(self, J)[:, None] * J * self.column_scales)

    def rank(self, q: Array, t: float) -> int:
        """Return the rank of J."""
        return numerical_rank(singular_values(self.scaled_jacobian(q, t)))

    def project_velocities(self, q: Array, v: Array, t: float) -> Array:
        """Return the velocities (nv,) nearest to v, in scaled coordinates, that satisfy the constraints."""
        J = self.jacobian(q, t)
        S, D = speed_scales(self, J), self.column_scales
        error = S * (self.velocity_terms(q, t) - J @ v)
        return np.asarray(v + D * factor(S[:, None] * J * D).solve(error))

    @property
    def wheels(self) -> tuple[SpeedRows, ...]:
        """Rows of wheels, which follow the others."""
        return self._speed_rows

    # -- motion

    @property
    def sweeps(self) -> bool:
        """True if the core can follow the mechanism: no velocity constraints, no rows that switch."""
        return not self._speed_rows and not self._switched

    def sweep(self, times: Array, q: Array, *, jerk: bool = True, most: int = MAX_STEPS) -> KinematicSweep:
        """Follow the mechanism in the core through times (k,) s, from a closed position q (n,) at the first.

        `most` limits the steps from one time to the next.
        """
        times = np.ascontiguousarray(times, dtype=float)
        driven = np.ascontiguousarray(self.known_over(times, third=jerk))
        found = self._rows.sweep(times, q, driven, self.row_scales, self.column_scales, self.floor, jerk, most)
        return KinematicSweep.of(times, found)

    # -- wheels

    def _wheels(self) -> list[tuple[SpeedRows, IndexArray]]:
        return list(zip(self._speed_rows, self._wheel_places, strict=True))

    def _spread(self, J: Array, places: IndexArray) -> Array:
        """Return J (rows, N) for all coordinates; a coordinate may occur more than once."""
        whole = np.zeros((len(J), len(self._base)))
        for k, place in enumerate(places):
            whole[:, place] += J[:, k]
        return whole

    def _from_driven(self, q: Array, t: float, rate: int) -> Array:
        X, rates = self.all_values(q, t), self.known(t, third=rate == 3)[rate]
        J = np.vstack([self._spread(w.jacobian(X[p]), p) for w, p in self._wheels()])
        return np.asarray(-J[:, self._driven] @ rates)
