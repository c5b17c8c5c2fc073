"""Cases of a study: varied names, axes and values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, IndexArray
from ...checks import whole_number
from ...errors import ModelError

__all__ = ["Axis", "Case", "Cases", "Design", "correlation_matrix", "make_design"]

SAMPLE = "sample"  # axis of all samples drawn from distributions
QUANTILE_MARGIN = 1e-12  # of probabilities; at 0 and 1 quantiles may be infinite
_DESIGNS = ("latin", "sobol", "random")


class Case(Mapping[str, Any]):
    """Values of one case by name.

    Attributes
    ----------
    number : int
        Index among all cases, from 0.
    used : set of str
        Names that were read so far.
    """

    def __init__(self, number: int, values: Mapping[str, Any], seed: int = 0) -> None:
        self.number, self._values, self._seed = number, dict(values), seed
        self.used: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.used.add(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={_short(value)}" for name, value in self._values.items())
        return f"<Case {self.number}: {values}>"

    def value(self, name: str) -> Any:
        """Return a value without marking it as read."""
        return self._values[name]

    def unread(self) -> dict[str, Any]:
        """Return the values that were not read yet."""
        return {name: value for name, value in self._values.items() if name not in self.used}

    @property
    def rng(self) -> np.random.Generator:
        """Random generator of this case, independent of process and order."""
        return np.random.default_rng([self._seed, self.number])


class Cases(Sequence[Case]):
    """Several cases with their values stored in columns.

    Attributes
    ----------
    numbers : list of int
        Index of each among all cases.
    columns : dict of str to (n,) array or list
        Values by name; arrays where all of them are floats.
    """

    def __init__(self, numbers: Sequence[int], columns: Mapping[str, Array | list[Any]], seed: int = 0) -> None:
        self.numbers, self.columns, self._seed = list(numbers), dict(columns), seed

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> Cases:
        """Return cases from rows of values, numbered from 0."""
        return cls(range(len(rows)), {name: [row[name] for row in rows] for name in (rows[0] if rows else ())})

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, place: int) -> Case: ...
    @overload
    def __getitem__(self, place: slice) -> Cases: ...
    def __getitem__(self, place: int | slice) -> Case | Cases:
        if isinstance(place, slice):
            return Cases(self.numbers[place], {name: c[place] for name, c in self.columns.items()}, self._seed)
        values = {name: c[place] if isinstance(c, list) else float(c[place]) for name, c in self.columns.items()}
        return Case(self.numbers[place], values, self._seed)

    def column(self, name: str) -> NDArray[Any]:
        """Return the values of one name, (n,)."""
        return np.asarray(self.columns[name])


@dataclass(frozen=True)
class Axis:
    """Axis of a study: a column of values for each name that varies along it."""

    name: str
    columns: dict[str, Sequence[Any]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @cached_property
    def floats(self) -> dict[str, Array]:
        """Columns of floats only, as arrays."""
        return {name: np.array(c) for name, c in self.columns.items() if all(type(value) is float for value in c)}

    def at(self, places: IndexArray) -> dict[str, Array | list[Any]]:
        """Return the values of its names at given indices."""
        return {
            name: self.floats[name][places] if name in self.floats else [column[k] for k in places.tolist()]
            for name, column in self.columns.items()
        }


@dataclass(frozen=True)
class Design:
    """All cases: every combination of the values along the axes, the last axis fastest."""

    axes: tuple[Axis, ...]
    seed: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values along each axis."""
        return tuple(len(axis) for axis in self.axes)

    def __len__(self) -> int:
        return math.prod(self.shape)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all varied quantities."""
        return tuple(name for axis in self.axes for name in axis.columns)

    def cases(self, numbers: Sequence[int]) -> Cases:
        """Return the cases with given numbers."""
        places = np.unravel_index(np.asarray(numbers, dtype=np.intp), self.shape) if self.axes else ()
        columns: dict[str, Any] = {}
        for axis, at in zip(self.axes, places, strict=True):
            columns |= axis.at(at)
        return Cases(numbers, columns, self.seed)

    def case(self, number: int) -> Case:
        """Return the case with a given number."""
        return self.cases([number])[0]


def make_design(
    over: Mapping[Any, Any],
    samples: int | None,
    design: str,
    seed: int,
    correlation: Mapping[tuple[str, str], float] | None = None,
) -> Design:
    """Return the cases from user arguments; see `sweep`."""
    if not isinstance(over, Mapping) or not over:
        raise ModelError("sweep", "over", over, "give a dict of name to values, {'k.stiffness': [100.0, 200.0]}")
    if design not in _DESIGNS:
        raise ModelError("sweep", "design", design, f"use {', '.join(map(repr, _DESIGNS))}")
    seed = whole_number(seed, item="sweep", field="seed", least=0)
    drawn = {key: value for key, value in over.items() if hasattr(value, "ppf") or hasattr(value, "rvs")}
    if drawn and samples is None:
        raise ModelError("sweep", "samples", None, f"give the number of samples of {_names_of(drawn)}")
    if samples is not None and not drawn:
        raise ModelError("sweep", "samples", samples, "nothing is drawn: give distributions of scipy.stats in `over`")
    axes = [_listed(key, value) for key, value in over.items() if key not in drawn]
    if drawn:
        axes.insert(0, Axis(SAMPLE, _draws(drawn, samples, design, seed, correlation)))
    elif correlation:
        raise ModelError("sweep", "correlation", dict(correlation), "nothing is drawn: give distributions in `over`")
    made = Design(tuple(axes), seed)
    twice = {name for name in made.names if made.names.count(name) > 1}
    if twice:
        raise ModelError("sweep", "over", sorted(twice), "a name may vary along one axis only")
    return made


def _names_of(keys: Mapping[Any, Any]) -> str:
    return ", ".join(repr(name) for key in keys for name in (key if isinstance(key, tuple) else (key,)))


def _listed(key: Any, given: Any) -> Axis:
    """Return the axis of listed values: of one name, or of several that vary together."""
    names = key if isinstance(key, tuple) else (key,)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ModelError("sweep", "over", key, "give names, or a tuple of names whose values vary together")
    item = f"{', '.join(names)} of sweep"
    rows = given.tolist() if isinstance(given, np.ndarray) and given.ndim == 1 else given
    if isinstance(rows, (str, bytes, Mapping)) or not hasattr(rows, "__len__") or not hasattr(rows, "__getitem__"):
        raise ModelError(item, "values", _short(given), "give a list or an array, or a distribution of scipy.stats")
    rows = [rows[k] for k in range(len(rows))]
    if not rows:
        raise ModelError(item, "values", _short(given), "give one value at least")
    if not isinstance(key, tuple):
        columns: dict[str, Sequence[Any]] = {key: rows}
    else:
        if any(isinstance(row, (str, Mapping)) or np.shape(row)[:1] != (len(names),) for row in rows):
            raise ModelError(item, "values", _short(given), f"give rows of {len(names)} values, one for each name")
        columns = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    for name, column in columns.items():
        for value in column:
            if isinstance(value, (float, np.floating)) and not math.isfinite(value):
                raise ModelError(item, f"value of {name!r}", value, "give finite numbers")
    return Axis(", ".join(names), columns)


def _draws(
    drawn: Mapping[Any, Any], samples: Any, design: str, seed: int, correlation: Mapping[tuple[str, str], float] | None
) -> dict[str, Sequence[Any]]:
    """Draw samples from distributions, a column for each name, in the order of the names."""
    samples = whole_number(samples, item="sweep", field="samples")
    single = [key for key, value in drawn.items() if hasattr(value, "ppf")]
    for key in single:
        if not isinstance(key, str):
            raise ModelError("sweep", "over", key, "a distribution of one number goes with one name")
    parts = _parts(len(single), samples, design, seed)
    if correlation:
        parts = _coupled(parts, [str(key) for key in single], correlation)
    columns: dict[str, Sequence[Any]] = {}
    for k, (key, law) in enumerate(drawn.items()):
        if key in single:
            values = np.asarray(
                law.ppf(np.clip(parts[:, single.index(key)], QUANTILE_MARGIN, 1 - QUANTILE_MARGIN)), dtype=float
            )
            rows = values[:, None]
        else:  # multivariate: sampled directly, because it has no quantiles
            generator = np.random.default_rng([seed, k])
            rows = np.asarray(law.rvs(size=samples, random_state=generator), dtype=float)
            rows = rows.reshape(samples, -1)
        names = key if isinstance(key, tuple) else (key,)
        if rows.shape[1] != len(names):
            raise ModelError("sweep", "over", key, f"its distribution has {rows.shape[1]} numbers: give as many names")
        if not np.isfinite(rows).all():
            raise ModelError("sweep", f"distribution of {_names_of({key: None})}", law, "its samples are not finite")
        if key in single and _is_discrete(law):
            rows = np.round(rows).astype(int)
        columns |= {name: rows[:, j].tolist() for j, name in enumerate(names)}
    return columns


def _is_discrete(law: Any) -> bool:
    """Return whether a distribution of ``scipy.stats`` has integers only."""
    kind = getattr(law, "dist", law)
    return hasattr(kind, "pmf") and not hasattr(kind, "pdf")


def correlation_matrix(names: Sequence[str], correlation: Mapping[tuple[str, str], float]) -> Array:
    """Return the matrix (n, n) of correlations given by pairs of names."""
    found = np.eye(len(names))
    for pair, value in correlation.items():
        known = isinstance(pair, tuple) and len(pair) == 2 and pair[0] != pair[1] and set(pair) <= set(names)
        if not known:
            remedy = f"give pairs of names with a distribution each: {', '.join(map(repr, names))}"
            raise ModelError("sweep", "correlation", pair, remedy)
        if not -1 < value < 1:
            raise ModelError("sweep", f"correlation of {pair}", value, "give a number between -1 and 1")
        i, j = names.index(pair[0]), names.index(pair[1])
        found[i, j] = found[j, i] = float(value)
    least = float(np.linalg.eigvalsh(found)[0])
    if least <= 0:
        remedy = f"they contradict each other: the smallest eigenvalue of their matrix is {least:.3g}"
        raise ModelError("sweep", "correlation", dict(correlation), remedy)
    return found


def _coupled(parts: Array, names: Sequence[str], correlation: Mapping[tuple[str, str], float]) -> Array:
    """Return points of the unit cube (S, n) coupled by a Gaussian copula (Nataf 1962)."""
    from scipy.stats import norm

    normal = norm.ppf(np.clip(parts, QUANTILE_MARGIN, 1 - QUANTILE_MARGIN))
    root = np.linalg.cholesky(correlation_matrix(names, correlation))
    return np.asarray(norm.cdf(normal @ root.T))


def _parts(count: int, samples: int, design: str, seed: int) -> Array:
    """Return points of the unit cube, (samples, count)."""
    if not count:
        return np.zeros((samples, 0))
    if design == "random":
        return np.random.default_rng(seed).random((samples, count))
    from scipy.stats import qmc

    engine = (qmc.Sobol if design == "sobol" else qmc.LatinHypercube)(count, seed=np.random.default_rng(seed))
    if design == "sobol" and samples & (samples - 1):  # else SciPy warns
        return np.asarray(engine.random(1 << (samples - 1).bit_length())[:samples])
    return np.asarray(engine.random(samples))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
