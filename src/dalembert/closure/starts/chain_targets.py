"""Targets for inner coordinates of a kinematic chain, which are not part of q.

With the target coordinates of a chain held and the others, gamma, free, the pose of its second marker differs by e from
the nearest pose of the chain, normal to all motions of the free coordinates:

    e = 0,     e' = (1 - Y Y^+) V,     Y of the free coordinates, V = [length w; v] the relative velocity         (1)

up to terms of the order of e. These rows include those of the chain, so the two are redundant. As a preference, on
closed loops, the coordinates themselves are compared: of all inner coordinates at the pose, those nearest to the
targets,

    r = gamma_a - given,     r' = (1 - N_a N_a^+) (Y^+)_a V,     Y of all, N its null space                         (2)

Rates g of some of them are met if V and a motion N z of the chain within itself satisfy

    (1 - N_g N_g^+) ((Y^+)_g V - g) = 0                                                                              (3)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...arrays import Array, BoolArray
from ...connections.connection import Connection
from ...connections.constraints.chains import KinematicChain
from ...errors import ModelError
from ...model import Model
from ...numerics.rank import ROW_RANK_TOL, truncated_svd
from ..relative_pose import RelativeMotion, relative

__all__ = ["ALL_COORDINATES", "ChainPreference", "ChainRateTarget", "ChainTarget", "chain_target"]


ALL_COORDINATES = "*"  # suffix of a chain name: all its target coordinates, in addition to single ones


@dataclass(frozen=True, eq=False)
class ChainTarget:
    """Target values of inner coordinates of a chain.

    Attributes
    ----------
    loop_constraint : Connection
    element : KinematicChain
    targets : (n,) rad or m
        NaN without a target.
    """

    loop_constraint: Connection
    element: KinematicChain
    targets: Array
    _last: dict[str, Array] = field(default_factory=dict, repr=False)  # start of the next search

    @property
    def name(self) -> str:
        """Name of the loop constraint."""
        return self.loop_constraint.name

    @property
    def count(self) -> int:
        """The number of held coordinates."""
        return int((~np.isnan(self.targets)).sum())

    @property
    def turns(self) -> Array:
        """As in `CutJointTarget`: one row each, none of which is an angle."""
        return np.zeros((6, 3))

    @property
    def wished(self) -> ChainPreference:
        """The same target as a preference."""
        return ChainPreference(self.loop_constraint, self.element, self.targets)

    def scales(self, length: float) -> Array:
        """Return the scale of each row, 1/length."""
        return np.full(6, 1.0 / length)

    def residual(self, model: Model, q: Array) -> Array:
        """Return e of (1), (6,) m, at q (nq,); or (B, 6) at q (B, nq)."""
        if q.ndim > 1:
            return np.array([self.residual(model, one) for one in q]).reshape(len(q), 6)
        first, second = model.pose(self.loop_constraint.first, q), model.pose(self.loop_constraint.second, q)
        turned = first.rotation.T
        return self._miss(turned @ second.rotation, turned @ (second.position - first.position))[0]

    def jacobian(self, model: Model, q: Array) -> Array:
        """Return the rows on v, (6, nv); or (B, 6, nv) at q (B, nq)."""
        if q.ndim > 1:
            return np.array([self.jacobian(model, one) for one in q]).reshape(len(q), 6, model.nv)
        seen, chain = relative(model, self.loop_constraint.first, self.loop_constraint.second, q), self.element
        inner = self._miss(seen.rotation, seen.position)[1]
        scale = np.array([chain.length] * 3 + [1.0] * 3)[:, None]
        Y = scale * chain.programs.at(inner)[2][:, np.isnan(self.targets)]
        V = scale * seen.jacobian
        if Y.shape[1]:
            U = truncated_svd(Y, ROW_RANK_TOL)[0]
            V = V - U @ (U.T @ V)
        return np.asarray(V)

    def _miss(self, rotation: Array, position: Array) -> tuple[Array, Array]:
        e, inner = self.element.held_pose_error(rotation, position, self.targets, self._last.get("inner"))
        self._last["inner"] = inner
        return e, inner


@dataclass(frozen=True, eq=False)
class ChainPreference:
    """Preferred inner coordinates of a chain, at closed configurations."""

    loop_constraint: Connection
    element: KinematicChain
    targets: Array

    def scales(self, length: float) -> Array:
        """Return the scale of each row, 1 or 1/length."""
        units = np.array(self.element.inner_units)[~np.isnan(self.targets)]
        return np.where(units == "m", 1.0 / length, 1.0)

    def residual(self, model: Model, q: Array) -> Array:
        """Return r of (2), (k,) rad or m, at q (nq,)."""
        return self._off(relative(model, self.loop_constraint.first, self.loop_constraint.second, q))[0]

    def jacobian(self, model: Model, q: Array) -> Array:
        """Return the rows on v, (k, nv)."""
        seen = relative(model, self.loop_constraint.first, self.loop_constraint.second, q)
        given = ~np.isnan(self.targets)
        back, N = self.element.slopes(self._off(seen)[1])
        G = back[given] @ seen.jacobian
        return np.asarray(G - N[given] @ np.linalg.lstsq(N[given], G, rcond=ROW_RANK_TOL)[0]) if N.shape[1] else G

    def _off(self, seen: RelativeMotion) -> tuple[Array, Array]:
        inner = self.element.toward(seen.rotation, seen.position, self.targets)
        return (inner - self.targets)[~np.isnan(self.targets)], inner


@dataclass(frozen=True, eq=False)
class ChainRateTarget:
    """Target rates of inner coordinates of a chain.

    Attributes
    ----------
    loop_constraint : Connection
    element : KinematicChain
    position : (n,) rad or m
        Coordinates, as nearly as possible; NaN without a target.
    rates : (n,) rad/s or m/s
        NaN without a target.
    """

    loop_constraint: Connection
    element: KinematicChain
    position: Array
    rates: Array

    @property
    def given(self) -> BoolArray:
        """Mask of coordinates with target rates, (n,)."""
        return ~np.isnan(self.rates)

    def rows(self, model: Model, q: Array) -> tuple[Array, Array]:
        """Return (3) at q (nq,): rows (k, nv) on v and their values, (k,)."""
        seen, back, N = self._slopes(model, q)
        G, g = back[self.given] @ seen.jacobian, self.rates[self.given]
        within = N[self.given]
        across = np.eye(len(g)) - within @ np.linalg.pinv(within, rcond=ROW_RANK_TOL)
        return across @ G, across @ g

    def scales(self, length: float) -> Array:
        """Return the scale of each row, 1 or 1/length."""
        return np.where(np.array(self.element.inner_units)[self.given] == "m", 1.0 / length, 1.0)

    def used(self, model: Model, q: Array, v: Array) -> Array:
        """Return the rates (n,) at q (nq,), v (nv,) nearest to the targets; NaN without a target."""
        seen, back, N = self._slopes(model, q)
        found: Array = back @ (seen.jacobian @ v)
        if N.shape[1]:
            off = (self.rates - found)[self.given]
            found = found + N @ np.linalg.lstsq(N[self.given], off, rcond=ROW_RANK_TOL)[0]
        return np.where(self.given, found, np.nan)

    def _slopes(self, model: Model, q: Array) -> tuple[RelativeMotion, Array, Array]:
        seen = relative(model, self.loop_constraint.first, self.loop_constraint.second, q)
        return seen, *self.element.slopes(self.element.toward(seen.rotation, seen.position, self.position))


def chain_target(model: Model, loop_constraint: Connection, inner: str, value: Any = None) -> ChainTarget:
    """Return the target for one inner coordinate of a chain or, without its name, for all given ones.

    Without a value, those of ``System.initial`` are used.
    """
    chain, item = loop_constraint.element, f"assemble: {loop_constraint.name!r}"
    assert isinstance(chain, KinematicChain)
    if value is None:
        initial = model.system.initials.get(loop_constraint.name)
        values = None if initial is None else initial.position
        if values is not None and inner:
            values = np.where([name == inner for name in chain.inner_names], values, np.nan)
        if values is None or np.isnan(values).all():
            raise ModelError(item, "value", None, f"give its value by system.initial({loop_constraint.name!r}, ...)")
    elif inner:
        values = chain.inner_targets(item, {inner: np.asarray(value).item()})
    elif isinstance(value, np.ndarray) and value.shape == (len(chain.inner_names),):
        values = value
    else:
        values = chain.inner_targets(item, value)
    return ChainTarget(loop_constraint, chain, values)
