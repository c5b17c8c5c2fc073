"""The closure equations of a mechanism in natural coordinates, as tables that the core evaluates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .._core import NaturalRows
from ..model.driven_kinematics import MAX_STEPS, KinematicSweep
from .drivers import KnownCoordinates
from .terms import KINDS, Place, Row

__all__ = ["Coordinate", "NaturalEquations", "SpeedRows"]

Array = NDArray[np.float64]
AXES = "xyz"


@dataclass(eq=False)
class Coordinate:
    """A point, a unit vector, an angle or a distance.

    Attributes
    ----------
    name, kind : str
        Kinds are ``"point"``, ``"vector"``, ``"angle"``, ``"distance"``.
    value : (k,) m, 1 or rad
        As described: guess of what is unknown, value of what is fixed.
    fixed : bool
    """

    name: str
    kind: str
    value: Array
    fixed: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of its numbers."""
        if self.kind in ("angle", "distance"):
            return (self.name,)
        return tuple(f"{self.name}.{axis}" for axis in AXES[: len(self.value)])

    @property
    def power(self) -> int:
        """Return the power of length in its unit."""
        return int(self.kind in ("point", "distance"))


class SpeedRows(Protocol):
    """Rows that bind speeds, such as those of a rolling wheel, and what positions they ask for.

    All are functions of values and rates of the coordinates in `coordinates`, one after the other: X, V, A (k,).
    """

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Return the names of the points and vectors it is about."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the rows."""
        ...

    @property
    def powers(self) -> tuple[int, ...]:
        """Return the powers of length in their units."""
        ...

    @property
    def holonomic(self) -> tuple[bool, ...]:
        """Return which rows hold positions too."""
        ...

    def residual(self, X: Array) -> Array:
        """Return what holonomic rows miss; zero elsewhere."""
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
    """Closure equations in natural coordinates (see `dalembert.closure.Equations`).

    Rows without wheels are evaluated in the core. Coordinates are numbers in a plain vector space: a step is added.

    Attributes
    ----------
    coordinates : tuple of Coordinate
    driven_names : tuple of str
        Numbers that laws prescribe; they are no unknowns.
    floor : float
        Scaled residual that rounding alone may leave, where points are far from the origin.
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
        driven = [self.place(*place) for driver in drivers for place in driver.places]
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

    def _places_of(self, names: Sequence[str]) -> NDArray[np.intp]:
        sizes = {c.name: len(c.value) for c in self.coordinates}
        return np.array([self.place(name, k) for name in names for k in range(sizes[name])], dtype=np.intp)

    def place(self, name: str, component: int = 0) -> int:
        """Return where a component of a coordinate is among all coordinates."""
        return int(self._start[name]) + component

    def choice(self, q: Array, t: float) -> tuple[int, ...]:
        """Return the rows that do not hold at a position, because another form of the same angle does."""
        if not self._switched:
            return ()
        X = self.all_values(np.asarray(q, dtype=float), t)
        steep = {"sine": np.cos, "cosine": np.sin}
        return tuple(k for k, place, kind in self._switched if abs(steep[kind](X[place])) < np.sqrt(0.5))

    def _chosen(self, rows: Array, q: Array, t: float) -> Array:
        """Return rows, (rows, ...), with those that do not hold set to zero."""
        idle = self.choice(q, t)
        if idle:
            rows[list(idle)] = 0.0
        return rows

    @cached_property
    def pattern(self) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
        """Rows and columns of the entries that J can have; None where wheels are."""
        if self._speed_rows:
            return None
        random = np.random.default_rng(0)
        known = np.zeros((4, len(self._driven)))
        known[0] = random.uniform(0.5, 1.5, len(self._driven))
        rows, columns = np.nonzero(self._rows.jacobian(random.uniform(0.5, 1.5, self.nq), known))  # none vanishes there
        return rows, columns

    # -- all coordinates at a time

    def known(self, t: float, *, third: bool = True) -> Array:
        """Return values, rates, second and third rates of driven coordinates at t s, (4, driven).

        Third rates cost more than the others for laws that do not tell them; without `third` they are left at zero.
        """
        if self._known_at is None or self._known_at[0] != t or (third and not self._known_at[1]):
            motions = [driver.motion((t,), third)[0] for driver in self._drivers]
            self._known_at = (t, third, np.concatenate([*motions, np.zeros((4, 0))], axis=1))
        known: Array = self._known_at[2]
        return known

    def known_over(self, times: Array, *, third: bool = True) -> Array:
        """Return the same over times (k,) s, (k, 4, driven)."""
        motions = [driver.motion(times.tolist(), third) for driver in self._drivers]
        return np.concatenate([*motions, np.zeros((len(times), 4, 0))], axis=2)

    def start(self) -> Array:
        """Return q (nq,) as described."""
        q: Array = self._base[self._unknown]
        return q

    def all_values(self, q: Array, t: float, *, rate: int = 0) -> Array:
        """Return all coordinates from q (..., nq), fixed and driven ones included; or their rates from v, a, j."""
        return self.filled(q, self.known(t, third=rate == 3)[rate], rate)

    def filled(self, q: Array, driven: Array, rate: int = 0) -> Array:
        """Return all coordinates (..., N), or rates of an order, from those of unknown and driven ones."""
        X: Array = np.zeros((*q.shape[:-1], len(self._base))) + (self._base if rate == 0 else 0.0)
        X[..., self._unknown] = q
        X[..., self._driven] = driven
        return X

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

    # -- motion

    @property
    def sweeps(self) -> bool:
        """Return whether the core can follow the mechanism: positions do not hang on the path, rows are the same."""
        return not self._speed_rows and not self._switched

    def sweep(self, times: Array, q: Array, *, jerk: bool = True, most: int = MAX_STEPS) -> KinematicSweep:
        """Follow the mechanism in the core through times (k,) s, from a closed position q (n,) at the first.

        `most`: steps that are taken from one time to the next.
        """
        times = np.ascontiguousarray(times, dtype=float)
        driven = np.ascontiguousarray(self.known_over(times, third=jerk))
        found = self._rows.sweep(times, q, driven, self.row_scales, self.column_scales, self.floor, jerk, most)
        return KinematicSweep.of(times, found)

    # -- wheels

    def _wheels(self) -> list[tuple[SpeedRows, NDArray[np.intp]]]:
        return list(zip(self._speed_rows, self._wheel_places, strict=True))

    def _spread(self, J: Array, places: NDArray[np.intp]) -> Array:
        """Return J by all coordinates; a coordinate may come more than once."""
        whole = np.zeros((len(J), len(self._base)))
        for k, place in enumerate(places):
            whole[:, place] += J[:, k]
        return whole

    def _from_driven(self, q: Array, t: float, rate: int) -> Array:
        X, rates = self.all_values(q, t), self.known(t, third=rate == 3)[rate]
        J = np.vstack([self._spread(w.jacobian(X[p]), p) for w, p in self._wheels()])
        return np.asarray(-J[:, self._driven] @ rates)
