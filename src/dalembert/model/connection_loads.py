"""Loads that connections transmit to their second markers, and which of them are determined.

With redundant constraints, the motion of rigid bodies does not determine all loads. The states of self-stress, loads in
equilibrium without motion, give the loads that are not unique and the connections that share them. Of all consistent
loads, those of least norm are returned (core/system/self_stress.hpp).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..answer import Answer, count_text, list_text
from ..arrays import Array, BoolArray
from ..bodies.markers import Marker
from ..checks import one_of
from ..errors import ModelError
from .argument_errors import checked_configuration

if TYPE_CHECKING:
    import xarray

    from .conditions import Conditions
    from .model import Model

__all__ = ["ConnectionLoads", "SelfStress", "second_markers", "weightless_loads"]


ROUNDOFF_TOL = 1e-7  # of the largest load of a state: smaller loads are zero


class SelfStress:
    """Basis of the states of self-stress at q: loads of connections in equilibrium with each other.

    Parameters
    ----------
    model : Model
    q : (nq,) rad or m
    t : float, s
        Time, for rows that depend on time explicitly.
    conditions : Conditions
        Drives and locks count as constraints: loads along them are efforts.

    Attributes
    ----------
    multipliers : (k, nc) N or N m
    loads : (k, connections, 6) N m and N
        [moment; force] on the second marker of each connection, world axes, in the order of ``model.connection_names``.
    """

    def __init__(self, model: Model, q: ArrayLike, *, t: float = 0.0, conditions: Conditions | None = None) -> None:
        self.model = model
        multipliers, loads = model._self_stress(t, checked_configuration(model, "self_stress", q), conditions)
        self.multipliers: Array = multipliers
        self.loads: Array = loads

    def varies(self, rotations: Array | None = None) -> BoolArray:
        """Return which components of the loads are not unique, (connections, 6).

        Parameters
        ----------
        rotations : (connections, 3, 3)
            Axes in which components are taken, as columns; the world's if left out.
        """
        scaled = self._scaled
        if rotations is not None:
            parts = scaled.reshape(*scaled.shape[:2], 2, 3)
            scaled = np.einsum("nji,knpj->knpi", rotations, parts).reshape(scaled.shape)
        return np.asarray((np.abs(scaled) > ROUNDOFF_TOL).any(axis=0))

    @cached_property
    def shared(self) -> dict[str, tuple[str, ...]]:
        """Connections with loads that are not unique, each with those that share them, in the user's order."""
        model = self.model
        names = np.array(model.connection_names)
        couplings = {coupling.name for coupling in model.forest.couplings}
        owners = np.array([name if name in couplings else "" for name in model.constraint_connections])
        everyone = [*model.system.connections, *couplings]
        order = {name: k for k, name in enumerate(everyone)}
        groups: list[set[str]] = []
        for loads, lam in zip(self._scaled, self.multipliers, strict=True):
            members = set(names[np.abs(loads).max(1) > ROUNDOFF_TOL].tolist())
            acting = np.abs(lam) > ROUNDOFF_TOL * float(np.abs(lam).max(initial=0.0))
            members |= {str(name) for name in owners[acting] if name}
            apart = [group for group in groups if not group & members]
            groups = [*apart, members.union(*(group for group in groups if group & members))]
        result = {}
        for group in groups:
            ordered = sorted(group, key=lambda name: order.get(name, len(order)))
            result.update({name: tuple(other for other in ordered if other != name) for name in ordered})
        return dict(sorted(result.items(), key=lambda item: order.get(item[0], len(order))))

    @cached_property
    def _scaled(self) -> Array:
        """Dimensionless loads, the largest component of each state 1."""
        scaled = self.loads * np.array([1.0] * 3 + [self.model.length] * 3)
        largest = np.abs(scaled).max(axis=(1, 2), initial=0.0)
        # where only couplings act, joints have no load
        acting = np.abs(self.multipliers).max(axis=1, initial=0.0)
        return scaled / np.maximum(largest, 1e-12 * acting)[:, None, None]


class ConnectionLoads(Answer, Mapping[str, Array]):
    """Load of every connection on its second marker, by name: [moment; force] (6,), N m and N.

    Components that the motion does not determine are marked; `Model.connection_loads` then returns the loads of least
    norm.

    Attributes
    ----------
    axes : str
        ``"world"``, or ``"marker"``: the axes of each second marker.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library.mechanisms import door
    >>> model = door().compile()
    >>> loads = model.connection_loads([0.0], [0.0])
    >>> loads["low"].round(2), loads.determined["low"]
    (array([  0.  , -52.97,   0.  ,  17.66,   0.  , 147.15]), array([False, False,  True, False, False, False]))
    >>> loads.shared
    {'low': ('high',), 'high': ('low',)}
    """

    def __init__(
        self,
        model: Model,
        q: Array,
        loads: Array,
        axes: str = "world",
        *,
        t: float = 0.0,
        conditions: Conditions | None = None,
    ) -> None:
        one_of("connection_loads", "axes", axes, ("world", "marker"))
        self.axes = axes
        self._model, self._q, self._t, self._conditions = model, q, t, conditions
        if axes == "marker":
            R = self._rotations
            loads = np.concatenate(
                [np.einsum("nji,nj->ni", R, loads[:, :3]), np.einsum("nji,nj->ni", R, loads[:, 3:])], axis=1
            )
        self._loads = dict(zip(model.connection_names, loads, strict=True))

    # ---- a mapping

    def __getitem__(self, connection: str) -> Array:
        """Return [moment; force] (6,) of a connection on its second marker, N m and N."""
        try:
            load: Array = self._loads[connection]
        except (KeyError, TypeError):
            remedy = f"there are {', '.join(map(repr, list(self._loads)[:12]))}"
            raise UnknownConnection("connection_loads", "connection", connection, remedy) from None
        return load

    def __iter__(self) -> Iterator[str]:
        return iter(self._loads)

    def __len__(self) -> int:
        return len(self._loads)

    # ---- determined components

    @property
    def shared(self) -> dict[str, tuple[str, ...]]:
        """Connections whose loads are not unique, each with those that share them."""
        return self._stress.shared

    @cached_property
    def determined(self) -> dict[str, BoolArray]:
        """Mask of load components that the motion determines, (6,) by name; in the same axes as the loads."""
        marks = ~self._stress.varies(self._rotations if self.axes == "marker" else None)
        return dict(zip(self._loads, marks, strict=True))

    @cached_property
    def _stress(self) -> SelfStress:
        return SelfStress(self._model, self._q, t=self._t, conditions=self._conditions)

    @cached_property
    def _rotations(self) -> Array:
        markers = second_markers(self._model).values()
        return np.array([self._model.pose(marker, self._q).rotation for marker in markers])

    def _subject(self) -> str:
        return str(self._model.system.name)

    def _headline(self) -> str:
        sizes = sorted(self._loads, key=lambda name: -float(np.linalg.norm(self._loads[name][3:])))
        largest = list_text((f"|F| {name} {np.linalg.norm(self._loads[name][3:]):.4g} N" for name in sizes), 3)
        shared = f", {len(self.shared)} not unique" if self.shared else ""
        return f"{count_text(len(self), 'connection')}, {largest}{shared}"

    def to_xarray(self) -> xarray.Dataset:
        """Return an xarray Dataset over the connections: moments, forces, and which components are unique."""
        import xarray

        loads = np.array(list(self._loads.values())).reshape(len(self), 2, 3)
        unique = np.array(list(self.determined.values())).reshape(len(self), 2, 3)
        dims = ("connection", "axis")
        data = {
            "moment": (dims, loads[:, 0], {"units": "N m"}),
            "force": (dims, loads[:, 1], {"units": "N"}),
            "moment_unique": (dims, unique[:, 0]),
            "force_unique": (dims, unique[:, 1]),
        }
        coords = {"connection": list(self), "axis": ["x", "y", "z"]}
        return xarray.Dataset(data, coords, {"title": self._subject(), "axes": self.axes})

    def __str__(self) -> str:
        width = max(len("connection"), *(len(name) for name in self._loads))
        head = "".join(f"{title:>13}" for title in ("Mx", "My", "Mz", "Fx", "Fy", "Fz"))
        where = "world axes" if self.axes == "world" else "axes of that marker"
        lines = [f"loads on the second markers, N m and N, {where}", f"{'connection':{width}}{head}"]
        size = max((float(np.abs(load).max()) for load in self._loads.values()), default=0.0)
        for name, load in self._loads.items():
            shown = np.where(np.abs(load) < 1e-12 * size, 0.0, load)  # rounding
            cells = [
                f"{value:12.5g}{' ' if unique else '*'}"
                for value, unique in zip(shown, self.determined[name], strict=True)
            ]
            lines.append(f"{name:{width}}" + "".join(cells))
        groups = dict.fromkeys(frozenset((name, *others)) for name, others in self.shared.items())
        for group in groups:
            lines.append(f"* not unique: shared among {', '.join(name for name in self.shared if name in group)}")
        return "\n".join(line.rstrip() for line in lines)


class UnknownConnection(ModelError, KeyError):
    """Unknown name of a connection; also a KeyError, as for any mapping."""

    __str__ = ModelError.__str__


def weightless_loads(
    model: Model, q: Array, a: Array, lam: Array, *, loads: Array | None = None, t: ArrayLike = 0.0
) -> Array:
    """Return the loads of all connections, (B, connections, 6), for accelerations, or for velocity jumps from rest.

    They are linear in a (B, nv), lam (B, nc) and loads (B, nb, 6). These are multiplied by a power of two so large that
    weight and stiffness are far below rounding, and the resulting loads are divided by it.
    """
    if not len(a):
        return np.zeros((0, len(model.connection_names), 6))
    given = (a, lam, np.zeros((len(a), model.nb, 6)) if loads is None else loads)
    largest = np.max([np.abs(part.reshape(len(a), -1)).max(1, initial=0.0) for part in given], axis=0)
    factor = np.ldexp(1.0, np.minimum(100 - np.frexp(largest)[1], 1000))
    a, lam, further = (factor.reshape(-1, *[1] * (part.ndim - 1)) * part for part in given)
    times = np.full(len(a), t)
    found = model._loads_of_motion(q, np.zeros(model.nv), a, lam=lam, loads=further, t=times, bare=True)
    found /= factor[:, None, None]
    found[largest == 0.0] = 0.0
    return found


def second_markers(model: Model) -> dict[str, Marker]:
    """Return the second marker of every connection, by name; of a coupling, the origin of ground."""
    joints = {h.name: h.inboard if h.reversed else h.outboard for h in model.forest.joints}
    loop_constraints = {
        loop_constraint.name: loop_constraint.second for loop_constraint in model.forest.loop_constraints
    }
    couplings = {coupling.name: model.system.ground.origin for coupling in model.forest.couplings}
    return joints | loop_constraints | couplings
