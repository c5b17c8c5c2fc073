"""Tables: gridded functions of one to three variables, for force laws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...checks import checked, one_of, set_fields
from ...errors import ModelError
from ...provenance import record_makers

__all__ = ["Table"]


@checked("values", "kind", "outside")
@record_makers
@dataclass(frozen=True, eq=False, init=False)
class Table:
    """Function of one, two or three variables, given by its values on a grid.

    Parameters
    ----------
    *axes : (n,) each
        Increasing knots along each variable; two or more.
    values : (n, ...)
        One for each point of the grid.
    kind : str
        ``"cubic"``: a spline with two continuous derivatives (not-a-knot ends) in each variable; ``"linear"``.
    outside : str
        ``"refuse"``: a run that leaves the table ends with an error; ``"hold"``: end values are extended; ``"repeat"``:
        the table is periodic in every variable, with splines that are smooth across the ends; first and last values
        must agree.

    Laws call it by its name there:

    >>> import dalembert as da
    >>> speed, throttle = [0.0, 100.0, 200.0], [0.0, 0.5, 1.0]
    >>> torque = da.Table(speed, throttle, values=[[0, 40, 80], [0, 60, 120], [0, 30, 60]], kind="linear")
    >>> float(torque.evaluate(50.0, 1.0))
    100.0
    >>> engine = da.Element("joint", "torque(ds, u)", {"u": 0.8}, tables={"torque": torque}, active=True)
    """

    axes: tuple[Array, ...]
    values: Array
    kind: str
    outside: str
    coefficients: Array = field(repr=False)
    degree: int = field(repr=False)

    def __init__(self, *axes: ArrayLike, values: ArrayLike, kind: str = "cubic", outside: str = "refuse") -> None:
        one_of("Table", "kind", kind, ("cubic", "linear"))
        one_of("Table", "outside", outside, ("refuse", "hold", "repeat"))
        if not 1 <= len(axes) <= 3:
            raise ModelError("Table", "number of variables", len(axes), "a table has one to three")
        grid = tuple(_numbers(axis, f"knots along variable {k + 1}") for k, axis in enumerate(axes))
        for k, axis in enumerate(grid):
            if axis.ndim != 1 or len(axis) < 2 or (np.diff(axis) <= 0).any():
                raise ModelError("Table", f"knots along variable {k + 1}", axes[k], "give two or more, increasing")
        numbers = _numbers(values, "values")
        wanted = tuple(len(axis) for axis in grid)
        if numbers.shape != wanted:
            raise ModelError("Table", "shape of values", numbers.shape, f"the knots require {wanted}")
        if outside == "repeat":
            numbers = _closed(numbers)
        degree = 3 if kind == "cubic" else 1
        coefficients = numbers
        for axis in reversed(grid):  # one variable after the other: (..., n) becomes (cells, power, ...)
            coefficients = _pieces(axis, coefficients, degree, outside == "repeat")
        d = len(grid)
        order = (*range(0, 2 * d, 2), *range(1, 2 * d, 2))
        self._set(grid, numbers, kind, outside, np.ascontiguousarray(coefficients.transpose(order)), degree)

    def _set(
        self, axes: tuple[Array, ...], values: Array, kind: str, outside: str, coefficients: Array, degree: int
    ) -> None:
        made = dict(zip(("axes", "values", "kind", "outside"), (axes, values, kind, outside), strict=True))
        set_fields(self, **made, coefficients=coefficients, degree=degree)

    @classmethod
    def sampled(
        cls,
        function: Callable[..., Any],
        *ranges: tuple[float, float],
        tolerance: float = 1e-9,
        outside: str = "refuse",
        most: int = 4097,
    ) -> Table:
        """Return the cubic table of any function of one to three numbers: compiled, measured, with branches.

        Parameters
        ----------
        function : callable
            Of as many numbers as there are ranges; called once for each point.
        *ranges : (low, high) each
        tolerance : float
            Relative to the largest value: the number of knots is doubled until the table meets the function midway
            between them.
        outside : str
            As of a `Table`.
        most : int
            Largest number of knots along each variable.

        The attribute `error` of the table is its largest deviation from the function midway between knots, in its unit.

        Raises
        ------
        ModelError
            If the deviation exceeds the tolerance with the largest number of knots, or the function does not return
            numbers.

        Examples
        --------
        >>> import math
        >>> import dalembert as da
        >>> table = da.Table.sampled(lambda x: math.atan(x) if x > 0 else x, (-1.0, 2.0), tolerance=1e-6)
        >>> bool(table.error < 1e-6)
        True
        """
        if not 1 <= len(ranges) <= 3:
            raise ModelError("Table", "ranges", ranges, "give one to three")
        count = {1: 33, 2: 17, 3: 9}[len(ranges)]
        while True:
            axes = [np.linspace(low, high, count) for low, high in ranges]
            table = cls(*axes, values=_called(function, axes), outside=outside)
            middles = [0.5 * (axis[1:] + axis[:-1]) for axis in axes]
            grid = np.meshgrid(*middles, indexing="ij")
            error = float(np.abs(table.evaluate(*grid) - _called(function, middles)).max())
            if error <= tolerance * float(np.abs(table.values).max(initial=1e-300)):
                set_fields(table, error=error)
                return table
            count = 2 * count - 1
            if count > most or count ** len(ranges) > 300_000:
                raise ModelError(
                    "Table",
                    "tolerance",
                    tolerance,
                    f"with {(count + 1) // 2} knots its error is {error:.3g}: increase the tolerance",
                )

    error: ClassVar[float] = 0.0

    @property
    def variables(self) -> int:
        """Number of arguments."""
        return len(self.axes)

    def evaluate(self, *at: ArrayLike) -> Array:
        """Return the values at numbers or arrays; NaN outside, unless end values are extended."""
        places = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in at))
        cells, powers = [], []
        inside_all = np.ones(np.shape(places[0]), dtype=bool)
        for axis, x in zip(self.axes, places, strict=True):
            inside = (x >= axis[0]) & (x <= axis[-1])
            inside_all &= inside
            if self.outside == "repeat":
                x = axis[0] + np.mod(x - axis[0], axis[-1] - axis[0])
            else:
                x = np.where(inside, x, np.nan) if self.outside == "refuse" else np.clip(x, axis[0], axis[-1])
            cell = np.clip(np.searchsorted(axis, x, side="right") - 1, 0, len(axis) - 2)
            cells.append(cell)
            powers.append((x - axis[cell])[..., None] ** np.arange(self.degree + 1))
        letters = "ijk"[: self.variables]
        picked = self.coefficients[tuple(cells)]
        terms = ",".join(f"...{letter}" for letter in letters)
        result: Array = np.einsum(f"...{letters},{terms}->...", picked, *powers)
        return np.where(inside_all, result, 0.0) if self.outside == "zero" else result

    def slope(self, axis: int) -> Table:
        """Return the table of the derivative by one variable; zero where end values are extended."""
        d = self.variables
        power = np.arange(1, self.degree + 1).reshape([-1 if k == d + axis else 1 for k in range(2 * d)])
        falling = np.zeros_like(self.coefficients)
        lower = tuple(slice(0, -1) if k == d + axis else slice(None) for k in range(2 * d))
        upper = tuple(slice(1, None) if k == d + axis else slice(None) for k in range(2 * d))
        falling[lower] = self.coefficients[upper] * power
        made: Table = object.__new__(Table)
        outside = self.outside if self.outside in ("refuse", "repeat") else "zero"
        made._set(self.axes, self.values, self.kind, outside, falling, self.degree)
        return made

    @property
    def numbers(self) -> Array:
        """Knots, axis by axis, then the coefficients, in the order of the core."""
        return np.concatenate([*self.axes, self.coefficients.ravel()])


def _numbers(given: Any, field: str) -> Array:
    try:
        numbers = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        numbers = np.array(np.nan)
    if not np.isfinite(numbers).all():
        raise ModelError("Table", field, given, "give finite numbers")
    return numbers


def _called(function: Callable[..., Any], axes: Sequence[Array]) -> Array:
    """Return the values of a function on a grid."""
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    try:
        found = np.array([float(function(*each)) for each in grid.tolist()])
    except Exception as error:
        raise ModelError("Table", "function", function, f"it fails: {error!r}") from error
    if not np.isfinite(found).all():
        where = grid[~np.isfinite(found)][0].tolist()
        raise ModelError("Table", f"function at {where}", found[~np.isfinite(found)][0], "it must be finite there")
    return found.reshape([len(axis) for axis in axes])


def _closed(values: Array) -> Array:
    """Return values whose ends along each variable are equal, if they agree up to rounding."""
    size = float(np.abs(values).max(initial=0.0))
    closed = values.copy()
    for k in range(values.ndim):
        first, last = np.take(values, 0, axis=k), np.take(values, -1, axis=k)
        if np.abs(first - last).max() > 1e-9 * size:
            raise ModelError(
                "Table", "values", last, f"a table that repeats ends as it begins, along variable {k + 1} too"
            )
        np.moveaxis(closed, k, 0)[-1] = np.moveaxis(closed, k, 0)[0]
    return closed


def _pieces(places: Array, values: Array, degree: int, repeat: bool) -> Array:
    """Return polynomial coefficients (cells, degree + 1, ...) along the last axis of values, lowest power first."""
    if degree == 1 or len(places) == 2:
        values = np.moveaxis(values, -1, 0)
        widths = np.diff(places).reshape(-1, *[1] * (values.ndim - 1))
        parts = [values[:-1], np.diff(values, axis=0) / widths]
        parts += [np.zeros_like(parts[0])] * (degree - 1)
        return np.stack(parts, axis=1)
    from scipy.interpolate import CubicSpline

    spline = CubicSpline(places, values, axis=-1, bc_type="periodic" if repeat else "not-a-knot")
    return np.moveaxis(spline.c[::-1], 0, 1)
