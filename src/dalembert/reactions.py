"""Loads of connections: what each passes on to its second marker, and how far that is determined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import ModelError

if TYPE_CHECKING:
    from .analysis.self_stress import SelfStress
    from .bodies.markers import Marker
    from .model import Model, Pose

__all__ = ["ConnectionLoads", "least_loads", "least_multipliers", "loads_by_connection", "second_markers"]

Array = NDArray[np.float64]


class ConnectionLoads(Mapping[str, Array]):
    """Load of every connection on its second marker, by name: [moment; force] (6,), N m and N; print it to read it.

    Where loops demand the same thing several times, how they share it is not determined by the motion of rigid bodies.
    Such components are marked; `Model.connection_loads` then gives the loads of least norm (see `self_stress`).

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
    >>> loads["low"].round(2), loads.unique["low"]
    (array([  0.  , -52.97,   0.  ,  17.66,  -0.  , 147.15]), array([False, False,  True, False, False, False]))
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
        given: NDArray[np.bool_] | None = None,
        stress: SelfStress | None = None,
    ) -> None:
        if axes not in ("world", "marker"):
            raise ModelError("connection_loads", "axes", axes, "use 'world' or 'marker'")
        self.axes = axes
        self._model, self._q, self._given = model, q, given
        if stress is not None:
            self.__dict__["_stress"] = stress  # known already
        if axes == "marker":
            R = self._rotations
            loads = np.concatenate(
                [np.einsum("nji,nj->ni", R, loads[:, :3]), np.einsum("nji,nj->ni", R, loads[:, 3:])], axis=1
            )
        self._loads = dict(zip(_markers(model), loads, strict=True))

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

    # ---- what is determined

    @property
    def shared(self) -> dict[str, tuple[str, ...]]:
        """The connections whose loads are not unique, each with the others that they are shared among."""
        return self._stress.shared

    @cached_property
    def unique(self) -> dict[str, NDArray[np.bool_]]:
        """Which components of each load the motion determines, (6,) by name; in the same axes as the loads."""
        marks = ~self._stress.varies(self._rotations if self.axes == "marker" else None)
        return dict(zip(self._loads, marks, strict=True))

    @cached_property
    def _stress(self) -> SelfStress:
        from .analysis.self_stress import self_stress

        return self_stress(self._model, self._q, given=self._given)

    @cached_property
    def _rotations(self) -> Array:
        return second_markers(self._model, self._q).rotation

    def __repr__(self) -> str:
        width = max(len("connection"), *(len(name) for name in self._loads))
        head = "".join(f"{title:>13}" for title in ("Mx", "My", "Mz", "Fx", "Fy", "Fz"))
        where = "world axes" if self.axes == "world" else "axes of that marker"
        lines = [f"loads on the second markers, N m and N, {where}", f"{'connection':{width}}{head}"]
        size = max((float(np.abs(load).max()) for load in self._loads.values()), default=0.0)
        for name, load in self._loads.items():
            shown = np.where(np.abs(load) < 1e-12 * size, 0.0, load)  # rounding
            cells = [
                f"{value:12.5g}{' ' if unique else '*'}" for value, unique in zip(shown, self.unique[name], strict=True)
            ]
            lines.append(f"{name:{width}}" + "".join(cells))
        groups = dict.fromkeys(frozenset((name, *others)) for name, others in self.shared.items())
        for group in groups:
            lines.append(f"* not unique: shared among {', '.join(name for name in self.shared if name in group)}")
        return "\n".join(line.rstrip() for line in lines)


class UnknownConnection(ModelError, KeyError):
    """A name that no connection has; a KeyError too, as of any mapping."""

    __str__ = ModelError.__str__


def loads_by_connection(
    model: Model, q: Array, v: ArrayLike, a: ArrayLike, lam: ArrayLike, loads: ArrayLike | None, t: float = 0.0
) -> Array:
    """Return the loads of a motion, (number of hinges and chords, 6), on second markers, world axes."""
    on_bodies = np.zeros((model.nb, 6)) if loads is None else np.array(loads, dtype=float)
    chords = model.forest.chords
    chord_loads = model._chord_loads(q, lam, t=t)[: len(chords)] if chords else np.zeros((0, 6))
    if chords:
        origins, points = model.poses(q).position, second_markers(model, q).position[model.nb :]
    for k, (chord, load) in enumerate(zip(chords, chord_loads, strict=True)):
        for marker, sign in ((chord.first, -1.0), (chord.second, 1.0)):
            number = model.forest.number[marker.body.name]
            if number:
                arm = points[k] - origins[number - 1]
                on_bodies[number - 1, :3] += sign * (load[:3] + np.cross(arm, load[3:]))
                on_bodies[number - 1, 3:] += sign * load[3:]
    return np.concatenate([model._tree_reactions(q, v, a, loads=on_bodies), chord_loads])


def least_loads(
    model: Model,
    q: Array,
    v: ArrayLike,
    a: ArrayLike,
    lam: Array,
    *,
    loads: ArrayLike | None = None,
    given: NDArray[np.bool_] | None = None,
    t: float = 0.0,
) -> tuple[Array, Array, SelfStress]:
    """Return loads, multipliers and states of self-stress of a motion, the first two of least norm.

    Parameters
    ----------
    lam : (nc,) N or N m
        Multipliers of the motion, one choice of them where they are not unique.
    given : (nv,) bool
        Freedoms that drives prescribe.
    t : float, s
        Time, for rows that depend on it by themselves.
    """
    from .analysis.self_stress import self_stress

    stress = self_stress(model, q, t=t)
    found, multipliers = stress.least(loads_by_connection(model, q, v, a, lam, loads, t), lam)
    if given is not None and given.any():
        stress = self_stress(model, q, given=given, t=t)
    return found, multipliers, stress


def least_multipliers(
    model: Model,
    q: Array,
    v: Array,
    a: Array,
    lam: Array,
    loads: Array,
    *,
    acting: NDArray[np.bool_] | None = None,
    t: Array | None = None,
) -> Array:
    """Return the multipliers (n, nc) of the loads of least norm for n motions.

    Parameters
    ----------
    loads : (n, nb, 6) N m and N
        On the bodies.
    acting : (nc,) bool
        Rows that are not switched off; all if left out.
    t : (n,) s
        Times, for rows that depend on it by themselves; zero if left out.
    """
    from .analysis.self_stress import self_stress

    result = lam.copy()
    for k in range(len(lam)):
        at = 0.0 if t is None else float(t[k])
        stress = self_stress(model, q[k], acting=acting, t=at)
        if len(stress.loads):
            found = loads_by_connection(model, q[k], v[k], a[k], lam[k], loads[k], at)
            result[k] = stress.least(found, lam[k])[1]
    return result


def second_markers(model: Model, q: Array) -> Pose:
    """Return the poses of the second markers of all hinges of the tree, then of all chords, as one batch."""
    from .model import Pose

    markers = list(_markers(model).values())
    if model.flexible_names:
        poses = [model.pose(marker, q) for marker in markers]
        return Pose(np.array([pose.rotation for pose in poses]), np.array([pose.position for pose in poses]))
    rotation, position = model.poses(q)
    R, p = np.concatenate([np.eye(3)[None], rotation]), np.concatenate([np.zeros((1, 3)), position])
    on = [model.forest.number[marker.body.name] for marker in markers]
    local = np.array([marker.position for marker in markers])
    return Pose(
        R[on] @ np.array([marker.rotation for marker in markers]), p[on] + np.einsum("nij,nj->ni", R[on], local)
    )


def _markers(model: Model) -> dict[str, Marker]:
    """Return the second marker of every hinge of the tree and every chord, by name."""
    forest = model.forest
    hinges = {hinge.name: hinge.inboard if hinge.reversed else hinge.outboard for hinge in forest.hinges}
    return hinges | {chord.name: chord.second for chord in forest.chords}
