"""Tables: functions of one to three variables by numbers, for the laws of elements."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ModelError
from ...recipes import record_makers

__all__ = ["Table"]

Array = NDArray[np.float64]


@record_makers
@dataclass(frozen=True, eq=False, init=False)
class Table:
    """A function of one, two or three variables, given by its values on a grid.

    Parameters
    ----------
    *axes : (n,) each
        Increasing places along each variable; two or more.
    values : (n, ...)
        One for each point of the grid.
    kind : str
        ``"cubic"``: a spline with two continuous derivatives (not-a-knot ends) in each variable; ``"linear"``.
    outside : str
        ``"refuse"``: a run that leaves the table ends with an error; ``"hold"``: values beyond an end are those at it.

    Laws call it by the name it is given there:

    >>> import dalembert as da
    >>> speed, throttle = [0.0, 100.0, 200.0], [0.0, 0.5, 1.0]
    >>> torque = da.Table(speed, throttle, values=[[0, 40, 80], [0, 60, 120], [0, 30, 60]], kind="linear")
    >>> float(torque.evaluate(50.0, 1.0))
    100.0
    >>> engine = da.Element("hinge", "torque(ds, u)", {"u": 0.8}, tables={"torque": torque}, active=True)
    """

    axes: tuple[Array, ...]
    values: Array
    kind: str
    outside: str
    coefficients: Array = field(repr=False)
    degree: int = field(repr=False)

    def __init__(self, *axes: ArrayLike, values: ArrayLike, kind: str = "cubic", outside: str = "refuse") -> None:
        if kind not in ("cubic", "linear"):
            raise ModelError("Table", "kind", kind, "use 'cubic' or 'linear'")
        if outside not in ("refuse", "hold"):
            raise ModelError("Table", "outside", outside, "use 'refuse' or 'hold'")
        if not 1 <= len(axes) <= 3:
            raise ModelError("Table", "number of variables", len(axes), "a table has one to three")
        grid = tuple(_numbers(axis, f"places along variable {k + 1}") for k, axis in enumerate(axes))
        for k, axis in enumerate(grid):
            if axis.ndim != 1 or len(axis) < 2 or (np.diff(axis) <= 0).any():
                raise ModelError("Table", f"places along variable {k + 1}", axes[k], "give two or more, increasing")
        numbers = _numbers(values, "values")
        wanted = tuple(len(axis) for axis in grid)
        if numbers.shape != wanted:
            raise ModelError("Table", "shape of values", numbers.shape, f"the places make it {wanted}")
        degree = 3 if kind == "cubic" else 1
        coefficients = numbers
        for axis in reversed(grid):  # one variable after the other: (..., n) becomes (cells, power, ...)
            coefficients = _pieces(axis, coefficients, degree)
        d = len(grid)
        order = (*range(0, 2 * d, 2), *range(1, 2 * d, 2))
        self._set(grid, numbers, kind, outside, np.ascontiguousarray(coefficients.transpose(order)), degree)

    def _set(
        self, axes: tuple[Array, ...], values: Array, kind: str, outside: str, coefficients: Array, degree: int
    ) -> None:
        made = dict(zip(("axes", "values", "kind", "outside"), (axes, values, kind, outside), strict=True))
        for name, value in {**made, "coefficients": coefficients, "degree": degree}.items():
            object.__setattr__(self, name, value)

    @property
    def variables(self) -> int:
        """How many numbers it takes."""
        return len(self.axes)

    def evaluate(self, *at: ArrayLike) -> Array:
        """Return the values at numbers or arrays; NaN outside, unless values are held there."""
        places = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in at))
        cells, powers = [], []
        inside_all = np.ones(np.shape(places[0]), dtype=bool)
        for axis, x in zip(self.axes, places, strict=True):
            inside = (x >= axis[0]) & (x <= axis[-1])
            inside_all &= inside
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
        """Return the table of the derivative by one variable; beyond ends where values are held it is zero."""
        d = self.variables
        power = np.arange(1, self.degree + 1).reshape([-1 if k == d + axis else 1 for k in range(2 * d)])
        falling = np.zeros_like(self.coefficients)
        lower = tuple(slice(0, -1) if k == d + axis else slice(None) for k in range(2 * d))
        upper = tuple(slice(1, None) if k == d + axis else slice(None) for k in range(2 * d))
        falling[lower] = self.coefficients[upper] * power
        made: Table = object.__new__(Table)
        outside = "refuse" if self.outside == "refuse" else "zero"
        made._set(self.axes, self.values, self.kind, outside, falling, self.degree)
        return made

    @property
    def numbers(self) -> Array:
        """Places of the knots, axis by axis, then the coefficients, as the core has them."""
        return np.concatenate([*self.axes, self.coefficients.ravel()])


def _numbers(given: Any, field: str) -> Array:
    try:
        numbers = np.array(given, dtype=float)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if not np.isfinite(numbers).all():
        raise ModelError("Table", field, given, "give finite numbers")
    return numbers


def _pieces(places: Array, values: Array, degree: int) -> Array:
    """Return polynomial coefficients (cells, degree + 1, ...) along the last axis of values, lowest power first."""
    if degree == 1 or len(places) == 2:
        values = np.moveaxis(values, -1, 0)
        widths = np.diff(places).reshape(-1, *[1] * (values.ndim - 1))
        parts = [values[:-1], np.diff(values, axis=0) / widths]
        parts += [np.zeros_like(parts[0])] * (degree - 1)
        return np.stack(parts, axis=1)
    from scipy.interpolate import CubicSpline

    spline = CubicSpline(places, values, axis=-1)
    return np.moveaxis(spline.c[::-1], 0, 1)
