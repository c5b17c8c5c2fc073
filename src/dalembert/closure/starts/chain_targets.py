"""Inner coordinates of a kinematic chain: not in q, but they can be held, or wished for.

With the asked coordinates of a chain held and the others free, gamma, the pose of its second marker misses the nearest
that the chain can take by e, across all motions that the free ones allow:

    e = 0,     e' = (1 - Y Y^+) V,     Y of the free coordinates, V = [length w; v] the relative velocity         (1)

up to terms of the order of e. That holds the chain too, so the two repeat each other. As a wish, on closed loops, it is
the coordinates themselves that matter: of all inner coordinates at the pose those that come nearest to the asked ones,

    r = gamma_a - asked,     r' = (1 - N_a N_a^+) (Y^+)_a V,     Y of all, N its null space                         (2)

Rates g of some of them are had where V and a motion N z of the chain within itself give them:

    (1 - N_g N_g^+) ((Y^+)_g V - g) = 0                                                                              (3)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...connections.connection import Connection
from ...connections.constraints.chains import KinematicChain
from ...errors import ModelError
from ...model import Model
from ...numerics.rank import ROW_RANK_TOL, truncated_svd
from ..relative_pose import RelativeMotion, relative

__all__ = ["ALL_COORDINATES", "ChainPreference", "ChainRateTarget", "ChainTarget", "chain_target"]

Array = NDArray[np.float64]

ALL_COORDINATES = "*"  # after the name of a chain: all that are asked for, beside others of the same chain


@dataclass(frozen=True, eq=False)
class ChainTarget:
    """Wanted values of inner coordinates of a chain.

    Attributes
    ----------
    loop_constraint : Connection
    element : KinematicChain
    asked : (n,) rad or m
        NaN where none is asked for.
    """

    loop_constraint: Connection
    element: KinematicChain
    asked: Array
    _last: dict[str, Array] = field(default_factory=dict, repr=False)  # where the next search begins

    @property
    def name(self) -> str:
        """Name of the loop constraint."""
        return self.loop_constraint.name

    @property
    def count(self) -> int:
        """The number of coordinates that are held."""
        return int((~np.isnan(self.asked)).sum())

    @property
    def turns(self) -> Array:
        """As of `CutJointTarget`: a row each, none of which is an angle."""
        return np.zeros((6, 3))

    @property
    def wished(self) -> ChainPreference:
        """The same as a wish."""
        return ChainPreference(self.loop_constraint, self.element, self.asked)

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
        """Return its rows on v, (6, nv); or (B, 6, nv) at q (B, nq)."""
        if q.ndim > 1:
            return np.array([self.jacobian(model, one) for one in q]).reshape(len(q), 6, model.nv)
        seen, chain = relative(model, self.loop_constraint.first, self.loop_constraint.second, q), self.element
        inner = self._miss(seen.rotation, seen.position)[1]
        scale = np.array([chain.length] * 3 + [1.0] * 3)[:, None]
        Y = scale * chain.programs.at(inner)[2][:, np.isnan(self.asked)]
        V = scale * seen.jacobian
        if Y.shape[1]:
            U = truncated_svd(Y, ROW_RANK_TOL)[0]
            V = V - U @ (U.T @ V)
        return np.asarray(V)

    def _miss(self, rotation: Array, position: Array) -> tuple[Array, Array]:
        e, inner = self.element.held(rotation, position, self.asked, self._last.get("inner"))
        self._last["inner"] = inner
        return e, inner


@dataclass(frozen=True, eq=False)
class ChainPreference:
    """Inner coordinates of a chain that are wished for, at closed positions."""

    loop_constraint: Connection
    element: KinematicChain
    asked: Array

    def scales(self, length: float) -> Array:
        """Return the scale of each row, 1 or 1/length."""
        units = np.array(self.element.inner_units)[~np.isnan(self.asked)]
        return np.where(units == "m", 1.0 / length, 1.0)

    def residual(self, model: Model, q: Array) -> Array:
        """Return r of (2), (k,) rad or m, at q (nq,)."""
        return self._off(relative(model, self.loop_constraint.first, self.loop_constraint.second, q))[0]

    def jacobian(self, model: Model, q: Array) -> Array:
        """Return its rows on v, (k, nv)."""
        seen = relative(model, self.loop_constraint.first, self.loop_constraint.second, q)
        given = ~np.isnan(self.asked)
        back, N = self.element.slopes(self._off(seen)[1])
        G = back[given] @ seen.jacobian
        return np.asarray(G - N[given] @ np.linalg.lstsq(N[given], G, rcond=1e-9)[0]) if N.shape[1] else G

    def _off(self, seen: RelativeMotion) -> tuple[Array, Array]:
        inner = self.element.toward(seen.rotation, seen.position, self.asked)
        return (inner - self.asked)[~np.isnan(self.asked)], inner


@dataclass(frozen=True, eq=False)
class ChainRateTarget:
    """Wanted rates of inner coordinates of a chain.

    Attributes
    ----------
    loop_constraint : Connection
    element : KinematicChain
    position : (n,) rad or m
        Where the coordinates are, as nearly as can be; NaN where none is asked for.
    rates : (n,) rad/s or m/s
        NaN where none is asked for.
    """

    loop_constraint: Connection
    element: KinematicChain
    position: Array
    rates: Array

    @property
    def given(self) -> NDArray[np.bool_]:
        """Of which coordinates rates are wanted, (n,)."""
        return ~np.isnan(self.rates)

    def rows(self, model: Model, q: Array) -> tuple[Array, Array]:
        """Return (3) at q (nq,): rows (k, nv) on v and what they have to be, (k,)."""
        seen, back, N = self._slopes(model, q)
        G, g = back[self.given] @ seen.jacobian, self.rates[self.given]
        within = N[self.given]
        across = np.eye(len(g)) - within @ np.linalg.pinv(within, rcond=1e-9)
        return across @ G, across @ g

    def scales(self, length: float) -> Array:
        """Return the scale of each row, 1 or 1/length."""
        return np.where(np.array(self.element.inner_units)[self.given] == "m", 1.0 / length, 1.0)

    def used(self, model: Model, q: Array, v: Array) -> Array:
        """Return the rates (n,) at q (nq,), v (nv,) that come nearest to the wanted ones; NaN where none is wanted."""
        seen, back, N = self._slopes(model, q)
        found: Array = back @ (seen.jacobian @ v)
        if N.shape[1]:
            off = (self.rates - found)[self.given]
            found = found + N @ np.linalg.lstsq(N[self.given], off, rcond=1e-9)[0]
        return np.where(self.given, found, np.nan)

    def _slopes(self, model: Model, q: Array) -> tuple[RelativeMotion, Array, Array]:
        seen = relative(model, self.loop_constraint.first, self.loop_constraint.second, q)
        return seen, *self.element.slopes(self.element.toward(seen.rotation, seen.position, self.position))


def chain_target(model: Model, loop_constraint: Connection, inner: str, value: Any = None) -> ChainTarget:
    """Return what holds inner coordinates of a chain: one of them, or, without its name, all that are given.

    Without a value, those of ``System.initial`` are taken.
    """
    chain, item = loop_constraint.element, f"assemble: {loop_constraint.name!r}"
    assert isinstance(chain, KinematicChain)
    if value is None:
        initial = model.system.initials.get(loop_constraint.name)
        asked = None if initial is None else initial.position
        if asked is not None and inner:
            asked = np.where([name == inner for name in chain.inner_names], asked, np.nan)
        if asked is None or np.isnan(asked).all():
            raise ModelError(
                item, "value", None, f"say where to hold it, by system.initial({loop_constraint.name!r}, ...)"
            )
    elif inner:
        asked = chain.asked(item, {inner: np.asarray(value).item()})
    elif isinstance(value, np.ndarray) and value.shape == (len(chain.inner_names),):
        asked = value
    else:
        asked = chain.asked(item, value)
    return ChainTarget(loop_constraint, chain, asked)
