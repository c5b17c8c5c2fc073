"""Motion of a mechanism in natural coordinates, read by the names of its points, vectors, angles and distances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..motion import Followed
from .equations import NaturalEquations

__all__ = ["NaturalMotion"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NaturalMotion:
    """Positions, speeds, accelerations and jerks over time.

    Attributes
    ----------
    equations : NaturalEquations
    followed : Followed
        The same by unknown coordinates, with counts of iterations.
    t : (k,) s
    values : (4, k, N)
        All coordinates, fixed and driven ones included, and their rates; jerks are nan if they were not asked for.
    """

    equations: NaturalEquations
    followed: Followed
    t: Array
    values: Array

    @classmethod
    def of(cls, equations: NaturalEquations, followed: Followed) -> NaturalMotion:
        """Fill in what is fixed and driven."""
        jerks = np.full_like(followed.a, np.nan) if followed.j is None else followed.j
        driven = equations.known_over(followed.t, third=followed.j is not None)
        levels = (followed.q, followed.v, followed.a, jerks)
        values = np.array([equations.filled(x, driven[:, rate], rate) for rate, x in enumerate(levels)])
        return cls(equations, followed, followed.t, values)

    def __getitem__(self, name: str) -> Array:
        """Return a point or vector over time (k, dim), an angle, a distance or a component such as ``"1.x"`` (k,)."""
        return self.rate(name, 0)

    def velocity(self, name: str) -> Array:
        """Return its rate, per s."""
        return self.rate(name, 1)

    def acceleration(self, name: str) -> Array:
        """Return its second rate, per s2."""
        return self.rate(name, 2)

    def jerk(self, name: str) -> Array:
        """Return its third rate, per s3."""
        return self.rate(name, 3)

    def rate(self, name: str, order: int) -> Array:
        """Return a coordinate (order 0) or its rate of an order up to 3."""
        for c in self.equations.coordinates:
            if name == c.name:
                start = self.equations.place(name)
                found: Array = self.values[order][:, start : start + len(c.value)]
                return found if len(c.value) > 1 else found[:, 0]
            if name in c.names:
                single: Array = self.values[order][:, self.equations.place(c.name, c.names.index(name))]
                return single
        raise ModelError("motion", "name", name, "name a point, a vector, an angle, a distance, or a component: '1.x'")
