"""Springs, dampers and loads on points, angles and distances: generalised forces in natural coordinates.

The generalised force of a point is the force; that of an angle is the torque about its axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..arrays import Array
from ..checks import finite_number, not_negative
from ..connections.laws import Law, as_law
from ..errors import ModelError
from .drives import Drives
from .equations import NaturalEquations

__all__ = ["Forces", "PointForce"]


class PointForce(Protocol):
    """Force on coordinates."""

    def add(self, Q: Array, e: NaturalEquations, X: Array, V: Array, t: float) -> None:
        """Add to the generalised forces Q (N,), given all coordinates X (N,), their rates V (N,) and the time."""
        ...

    def energy(self, e: NaturalEquations, X: Array) -> float:
        """Return the potential energy, J."""
        ...


@dataclass(frozen=True)
class _Spring:
    """Force -k (s - s0) - d s' on a scalar coordinate s, or along the line from one point to another."""

    ends: tuple[str, ...]
    stiffness: float
    rest: float
    damping: float

    def add(self, Q: Array, e: NaturalEquations, X: Array, V: Array, t: float) -> None:
        if len(self.ends) == 1:
            k = e.place(self.ends[0])
            Q[k] -= self.stiffness * (X[k] - self.rest) + self.damping * V[k]
            return
        i, j = self._indices(e)
        d = X[j] - X[i]
        length = float(np.linalg.norm(d))
        if not length > 0.0:
            raise ModelError(f"spring {self.ends}", "length", length, "its ends coincide: it has no direction there")
        u = d / length
        pull = self.stiffness * (length - self.rest) + self.damping * float(u @ (V[j] - V[i]))
        Q[i] += pull * u
        Q[j] -= pull * u

    def energy(self, e: NaturalEquations, X: Array) -> float:
        if len(self.ends) == 1:
            s = float(X[e.place(self.ends[0])])
        else:
            i, j = self._indices(e)
            s = float(np.linalg.norm(X[j] - X[i]))
        return self.stiffness * (s - self.rest) ** 2 / 2

    def _indices(self, e: NaturalEquations) -> tuple[slice, slice]:
        size = {c.name: len(c.value) for c in e.coordinates}[self.ends[0]]
        i, j = (e.place(name) for name in self.ends)
        return slice(i, i + size), slice(j, j + size)


@dataclass(frozen=True)
class _Load:
    """Laws of time on the components of a coordinate."""

    name: str
    laws: tuple[Law, ...]

    def add(self, Q: Array, e: NaturalEquations, X: Array, V: Array, t: float) -> None:
        k = e.place(self.name)
        Q[k : k + len(self.laws)] += [law(t)[0] for law in self.laws]

    def energy(self, e: NaturalEquations, X: Array) -> float:
        return 0.0


class Forces(Drives):
    """Springs, dampers and loads of a `Mechanism`."""

    forces: dict[str, PointForce]

    def spring(
        self,
        name: str,
        what: str | Sequence[str],
        stiffness: float = 0.0,
        rest: float | None = None,
        damping: float = 0.0,
    ) -> None:
        """Add a spring and a damper: between two points, or on an angle or a distance that is a coordinate.

        Parameters
        ----------
        name : str
        what : pair of points, or name of an angle or distance
        stiffness : float, N/m or N m/rad
        rest : float, m or rad
            Length or angle without force; as described if left out.
        damping : float, N s/m or N m s/rad
        """
        item = f"spring {name!r}"
        numbers = not_negative(item, stiffness=stiffness, damping=damping)
        if isinstance(what, str):
            owner, _ = self._scalar(what, item)
            if owner != what:
                raise ModelError(item, "what", what, "name an angle, a distance, or a pair of points")
            ends: tuple[str, ...] = (owner,)
            now = float(self.coordinates[owner].value[0])
        else:
            if len(what) != 2:
                raise ModelError(item, "what", what, "name an angle, a distance, or a pair of points")
            ends = tuple(self._point(each, item) for each in what)
            now = float(np.linalg.norm(self.coordinates[ends[1]].value - self.coordinates[ends[0]].value))
        at = now if rest is None else finite_number(rest, item=item, field="rest")
        self._force(name, _Spring(ends, numbers["stiffness"], at, numbers["damping"]))

    def load(self, name: str, what: str, force: Any) -> None:
        """Add a force on a point, in world axes (N), or a torque or force on an angle or distance (N m, N).

        Parameters
        ----------
        name : str
        what : str
            A point, or an angle or distance that is a coordinate.
        force : number, callable of t, law; of a point one for each component
        """
        item = f"load {name!r}"
        found = self.coordinates.get(what)
        if found is None or found.kind == "vector":
            raise ModelError(item, "what", what, "name a point, an angle or a distance")
        given = tuple(force) if isinstance(force, (tuple, list, np.ndarray)) else (force,)
        if len(given) != len(found.value):
            raise ModelError(item, "force", force, f"give {len(found.value)} laws, one for each component")
        self._force(name, _Load(what, tuple(as_law(one, item=item, field="force") for one in given)))

    def _force(self, name: str, force: PointForce) -> None:
        if name in self.forces:
            raise ModelError(f"force {name!r}", "name", name, "there is a force of this name already")
        self.forces[name] = force
