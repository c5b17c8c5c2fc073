"""Geometric stiffening of flexible bodies: second-order effects of deformation."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..checks import checked, finite_array, set_fields, shape_of

__all__ = ["SecondOrderLine", "Stiffening"]


@dataclass(frozen=True, eq=False)
class SecondOrderLine:
    """Second-order motions of points of a straight body: 1/2 eta c(s) eta, s along its line.

    Attributes
    ----------
    origin : (3,) m
    direction : (3,)
        Unit vector.
    coefficients : (k, 6, nm, nm)
        c(s) = sum of coefficients[i] s^i: [turn rad; displacement m] in body axes.
    """

    origin: Array
    direction: Array
    coefficients: Array

    def __post_init__(self) -> None:
        shape = shape_of(self.coefficients) or (0, 6, 0, 0)
        for name, wanted in (
            ("origin", (3,)),
            ("direction", (3,)),
            ("coefficients", (shape[0], 6, shape[-1], shape[-1])),
        ):
            set_fields(self, **{name: finite_array(getattr(self, name), wanted, item="stiffening", field=name)})

    def motion(self, position: Array) -> Array | None:
        """Return c (6, nm, nm) at a point (3,) m; None if the point is not on the line."""
        away = position - self.origin
        s = float(away @ self.direction)
        if np.linalg.norm(away - s * self.direction) > 1e-9 * max(1.0, abs(s)):
            return None
        return np.tensordot(s ** np.arange(len(self.coefficients)), self.coefficients, 1)


@checked("load_nodes")
@dataclass(frozen=True, eq=False)
class Stiffening:
    """Geometric stiffness in modal coordinates, per unit of load.

    It is added to the modal stiffness: ``K + sum_i a[i] acceleration[i] + sum_p s[p] spin[p] +
    sum_i wd[i] angular_acceleration[i] + sum_kj F[k, j] loads[k, j]``, with, all in body axes: a the acceleration of
    the body frame's origin less gravity, s = (wx wx, wy wy, wz wz, wx wy, wx wz, wy wz) products of its angular
    velocity, wd its angular acceleration, F the spatial loads [moment; force] at `load_nodes`.

    Attributes
    ----------
    acceleration : (3, nm, nm) N s2/m2
    spin : (6, nm, nm) N s2/m
    angular_acceleration : (3, nm, nm) N s2/m
    load_nodes : (k,) int
    loads : (k, 6, nm, nm) 1/m, 1/m2
    line : SecondOrderLine
        For a straight body, in place of `loads`: second-order motions of all of its points.
    """

    acceleration: Array
    spin: Array
    angular_acceleration: Array
    load_nodes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    loads: Array | None = None
    line: SecondOrderLine | None = None

    def __post_init__(self) -> None:
        shape = shape_of(self.acceleration) or (0,)
        nm = shape[-1]
        size = shape_of(self.load_nodes) or (0,)
        nodes = finite_array(self.load_nodes, size[:1], item="stiffening", field="load_nodes").astype(np.int64)
        loads = np.zeros((0, 6, nm, nm)) if self.loads is None else self.loads
        cases = {"acceleration": (3,), "spin": (6,), "angular_acceleration": (3,), "loads": (len(nodes), 6)}
        values = {"loads": loads} | {name: getattr(self, name) for name in list(cases)[:3]}
        for name, count in cases.items():
            array = finite_array(values[name], (*count, nm, nm), item="stiffening", field=name)
            set_fields(self, **{name: (array + array.swapaxes(-1, -2)) / 2})
        set_fields(self, load_nodes=nodes)

    def stiffness(
        self,
        acceleration: ArrayLike = (0.0, 0.0, 0.0),
        angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
        angular_acceleration: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Array:
        """Return the geometric stiffness (nm, nm) for a motion of the body frame, all in body axes.

        Parameters
        ----------
        acceleration : (3,) m/s2
            Of the frame's origin, less gravity.
        angular_velocity : (3,) rad/s
        angular_acceleration : (3,) rad/s2
        """
        x, y, z = np.asarray(angular_velocity, dtype=float)
        squares = np.array([x * x, y * y, z * z, x * y, x * z, y * z])
        total: Array = np.tensordot(np.asarray(acceleration, dtype=float), self.acceleration, 1)
        total += np.tensordot(squares, self.spin, 1)
        total += np.tensordot(np.asarray(angular_acceleration, dtype=float), self.angular_acceleration, 1)
        return total
