"""Reduced coordinates of models with mimic joints.

A mimic joint follows another one, q_f = m q_l + c, so that with the coordinates z of the other joints

    q = C z + c,        v = B z',        a = B z''

B (nv, nr) is constant: a row of the identity for each independent velocity, and multiplier times the row of its leader
for a follower. The equations of motion M a + h = tau + P^T lam have P B = 0, so that

    B^T M B z'' + B^T h = B^T tau                                                                        (1)

The effort of the rules is not part of it: a leader supplies what its followers need. Hence the joint forces of a given
motion of a robot whose followers have no motor of their own are, with E (nv, nr) the identity at independent
velocities,

    tau = E B^T (M a + h)                                                                                (2)

and forward dynamics with (2) gives `a` again. Derivatives of (2) are products of E B^T by those of the open tree; those
of forward dynamics follow from (1).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, IndexArray
from ..bodies.body import Body
from ..bodies.markers import Marker
from ..connections.constraints.mimic import Mimic
from ..errors import ModelError
from .kernel_results import Pose

if TYPE_CHECKING:
    from .conditions import Conditions
    from .model import Model

__all__ = ["MimicRules", "ReducedCoordinates", "independent_joints", "mimic_rules"]


class MimicRules(NamedTuple):
    """Maps from independent coordinates to all, of the mimic rules that hold.

    coordinates, velocities : indices of the independent ones
    followers : indices of the velocities of followers
    C, offset : (nq, nz), (nq,)
    B : (nv, nr)
    efforts : (nv, nv), E B^T
    open_names : names of the other loop constraints
    """

    coordinates: IndexArray
    velocities: IndexArray
    followers: IndexArray
    C: Array
    offset: Array
    B: Array
    efforts: Array
    open_names: tuple[str, ...]


def mimic_rules(model: Model, conditions: Conditions | None = None) -> MimicRules:
    """Return the maps of a model's mimic rules; conditions may open rules and change their numbers."""
    if conditions is not None and conditions.off:
        return _rules(conditions.model, conditions.off)
    return (model if conditions is None else conditions.model).reduced.rules


def independent_joints(model: Model) -> list[str]:
    """Return the names of the tree joints that follow no other one."""
    couplings = model.forest.couplings
    followers = {coupling.second.name for coupling in couplings if isinstance(coupling.element, Mimic)}
    return [name for name in model.joint_names if name not in followers]


def _rules(model: Model, off: frozenset[str] = frozenset()) -> MimicRules:
    """Return the maps from the rules of the forest, leaders before followers."""
    follows: dict[str, tuple[str, float, float]] = {}
    for coupling in model.forest.couplings:
        if isinstance(coupling.element, Mimic) and coupling.name not in off:
            element = coupling.element
            follows[coupling.second.name] = (coupling.first.name, element.multiplier, element.offset)
    C, offset, B = np.eye(model.nq), np.zeros(model.nq), np.eye(model.nv)
    done: set[str] = set()

    def settle(name: str) -> None:
        leader, ratio, shift = follows[name]
        done.add(name)
        if leader in follows and leader not in done:
            settle(leader)
        at, at_v = model.q_slice(name).start, model.v_slice(name).start
        if model.system.connections[leader].element.nv:
            first, first_v = model.q_slice(leader).start, model.v_slice(leader).start
            C[at], offset[at], B[at_v] = ratio * C[first], ratio * offset[first] + shift, ratio * B[first_v]
        else:  # a fixed joint stays at zero
            C[at], offset[at], B[at_v] = 0.0, shift, 0.0

    for name in follows:
        if name not in done:
            settle(name)
    lost = np.array([model.q_slice(name).start for name in follows], dtype=int)
    followers = np.array([model.v_slice(name).start for name in follows], dtype=int)
    coordinates, velocities = np.delete(np.arange(model.nq), lost), np.delete(np.arange(model.nv), followers)
    efforts = np.zeros((model.nv, model.nv))
    efforts[velocities] = B[:, velocities].T
    rules = {coupling.name for coupling in model.forest.couplings if isinstance(coupling.element, Mimic)}
    rest = tuple(name for name in dict.fromkeys(model.constraint_connections) if name not in rules | off)
    return MimicRules(coordinates, velocities, followers, C[:, coordinates], offset, B[:, velocities], efforts, rest)


class ReducedCoordinates:
    """Kernels of a model in the coordinates that its mimic joints leave independent; `Model.reduced`.

    Attributes
    ----------
    model : Model
    nq, nv : int
        Numbers of independent coordinates and velocities.
    coordinate_names, speed_names : tuple of str, (nq,), (nv,)
    rules : MimicRules

    All kernels take one state, ``(nq,)``, or a batch, ``(B, nq)``, and the keywords of the kernels of `Model`. Joint
    forces are generalized forces of the independent coordinates: a leader's includes multiplier times those of its
    followers. Without mimic joints the kernels are those of the model. Further loops are kept by forward dynamics; the
    other kernels are those of the tree and its mimic joints, and refuse loops where the result would not be unique.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("gripper", gravity=(0, 0, 0))
    >>> left, right = s.body("left", mass=0.1), s.body("right", mass=0.2)
    >>> _ = s.connect("L", da.Prismatic("x"), s.ground, left)
    >>> _ = s.connect("R", da.Prismatic("-x"), s.ground, right)
    >>> s.mimics["R"] = da.Mimic("L", 2.0)
    >>> model = s.compile()
    >>> model.reduced.speed_names, model.reduced.mass_matrix([0.0]).round(12)  # 0.1 + 2^2 0.2
    (('L',), array([[0.9]]))
    >>> model.inverse_dynamics([0.0, 0.0], [0.0, 0.0], [1.0, 2.0])  # all by the leader
    array([0.9, 0. ])
    """

    def __init__(self, model: Model) -> None:
        self.model = model

    @cached_property
    def rules(self) -> MimicRules:
        """Maps from independent coordinates to all."""
        return _rules(self.model)

    @property
    def nq(self) -> int:
        """Number of independent coordinates."""
        return len(self.rules.coordinates)

    @property
    def nv(self) -> int:
        """Number of independent velocities."""
        return len(self.rules.velocities)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the independent coordinates."""
        return tuple(self.model.coordinate_names[k] for k in self.rules.coordinates)

    @property
    def speed_names(self) -> tuple[str, ...]:
        """Names of the independent velocities."""
        return tuple(self.model.speed_names[k] for k in self.rules.velocities)

    # ---- maps

    def expand_q(self, q: ArrayLike) -> Array:
        """Return all coordinates (..., model.nq) of independent ones (..., nq)."""
        return np.asarray(self._given("expand_q", "q", q, self.nq) @ self.rules.C.T + self.rules.offset)

    def expand_v(self, v: ArrayLike) -> Array:
        """Return all velocities (or accelerations) (..., model.nv) of independent ones (..., nv)."""
        return np.asarray(self._given("expand_v", "v", v, self.nv) @ self.rules.B.T)

    def reduce_q(self, q: ArrayLike) -> Array:
        """Return the independent coordinates (..., nq) among all (..., model.nq)."""
        return self._given("reduce_q", "q", q, self.model.nq)[..., self.rules.coordinates]

    def reduce_v(self, v: ArrayLike) -> Array:
        """Return the independent velocities (or accelerations) (..., nv) among all (..., model.nv)."""
        return self._given("reduce_v", "v", v, self.model.nv)[..., self.rules.velocities]

    def reduce_tau(self, tau: ArrayLike) -> Array:
        """Return generalized forces (..., nv) of joint forces (..., model.nv): B^T tau."""
        return np.asarray(self._given("reduce_tau", "tau", tau, self.model.nv) @ self.rules.B)

    def expand_tau(self, tau: ArrayLike) -> Array:
        """Return joint forces (..., model.nv) at the independent joints alone; zero at followers."""
        given = self._given("expand_tau", "tau", tau, self.nv)
        full = np.zeros((*given.shape[:-1], self.model.nv))
        full[..., self.rules.velocities] = given
        return full

    def integrate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return q moved by the step v on the configuration manifold, (..., nq)."""
        return self.model.integrate(self.expand_q(q), self.expand_v(v))[..., self.rules.coordinates]

    # ---- kinematics

    def pose(self, marker: Marker | Body | str, q: ArrayLike) -> Pose:
        """Return the pose of a marker in the world, as `Model.pose`."""
        return self.model.pose(marker, self.expand_q(q))

    def jacobian(self, marker: Marker | Body | str, q: ArrayLike) -> Array:
        """Return J (..., 6, nv) with velocity of the marker = J v, world axes."""
        return np.asarray(self.model.jacobian(marker, self.expand_q(q)) @ self.rules.B)

    # ---- dynamics

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return B^T M B (..., nv, nv), the mass matrix of the tree with its mimic joints."""
        B = self.rules.B
        return np.asarray(B.T @ self.model.mass_matrix(self.expand_q(q)) @ B)

    def bias_forces(self, q: ArrayLike, v: ArrayLike, **how: Any) -> Array:
        """Return the joint forces at zero acceleration (..., nv); keywords of `Model.bias_forces`."""
        return np.asarray(self.model.bias_forces(self.expand_q(q), self.expand_v(v), **how) @ self.rules.B)

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, **how: Any) -> Array:
        """Return the joint forces (..., nv) of a motion; keywords of `Model.inverse_dynamics`."""
        found = self.model.inverse_dynamics(self.expand_q(q), self.expand_v(v), self.expand_v(a), **how)
        return found[..., self.rules.velocities]

    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, **how: Any) -> Array:
        """Return the accelerations (..., nv) under joint forces; keywords of `Model.forward_dynamics`."""
        full = None if tau is None else self.expand_tau(tau)
        found = self.model.forward_dynamics(self.expand_q(q), self.expand_v(v), full, **how)
        return found[..., self.rules.velocities]

    def d_inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, **how: Any) -> tuple[Array, Array, Array]:
        """Return dtau_dq, dtau_dv, dtau_da, each (..., nv, nv), along independent directions."""
        z, w, b = self.expand_q(q), self.expand_v(v), self.expand_v(a)
        return self._along(self.model.d_inverse_dynamics(z, w, b, **how))

    def d_forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, **how: Any
    ) -> tuple[Array, Array, Array]:
        """Return da_dq, da_dv, da_dtau, each (..., nv, nv), along independent directions."""
        full = None if tau is None else self.expand_tau(tau)
        by_q, by_v, by_tau = self.model.d_forward_dynamics(self.expand_q(q), self.expand_v(v), full, **how)
        own = self.rules.velocities
        by_q, by_v, _ = self._along((by_q, by_v, by_tau))
        return by_q, by_v, by_tau[..., own, :][..., own]

    def _along(self, blocks: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        """Return rows of independent velocities, along directions that obey the rules."""
        one, two, three = (np.asarray(block[..., self.rules.velocities, :] @ self.rules.B) for block in blocks)
        return one, two, three

    def _given(self, kernel: str, argument: str, value: ArrayLike, size: int) -> Array:
        """Return one row or rows of numbers."""
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            array = np.empty(0)
        if array.ndim not in (1, 2) or array.shape[-1] != size:
            names = ", ".join(self.speed_names)
            remedy = f"give ({size},), or (B, {size}) for a batch; independent are {names}"
            if size in (self.model.nq, self.model.nv) and size not in (self.nq, self.nv):
                remedy = f"give ({size},), or (B, {size}) for a batch: all, those of followers included"
            raise ModelError(f"reduced.{kernel}", f"the shape of {argument}", np.shape(value), remedy)
        if not np.isfinite(array).all():
            raise ModelError(f"reduced.{kernel}", argument, value, "all numbers must be finite")
        return array

    def __repr__(self) -> str:
        followers = [self.model.speed_names[k] for k in self.rules.followers]
        return f"<ReducedCoordinates: {self.nv} of {self.model.nv}; {', '.join(followers) or 'no joint'} follows>"


# ---- kernels of `Model` in all coordinates, with (2)


def inverse_dynamics(model: Model, rules: MimicRules, q: Any, v: Any, a: Any, how: dict[str, Any]) -> Array:
    """Return (2)."""
    out = how.get("out")
    plain = all(how.get(key) is None for key in ("t", "x", "inputs", "conditions"))
    if plain and (how.get("bare") or not model.compiled.elements.elements) and not model.drives:
        found = model._inverse_dynamics(q, v, a, loads=how.get("loads"), out=out)
    else:
        found = model._required_forces(q, v, a, **how)
    supplied = found @ rules.efforts.T
    if out is None:
        return supplied
    out[...] = supplied
    return out


def d_bare_forward_dynamics(model: Model, rules: MimicRules, q: Any, v: Any, tau: Any, loads: Any) -> Any:
    """Return derivatives of (1) for the bare tree: a = B z'' with B^T (tau_tree(q, v, a) - tau) = 0."""
    a = model.forward_dynamics(q, v, tau, loads=loads, bare=True)
    by_q, by_v, M = model._d_inverse_dynamics(q, v, a, loads=loads)
    B = rules.B
    reach = B @ np.linalg.solve(B.T @ M @ B, np.broadcast_to(B.T, (*M.shape[:-2], *B.T.shape)))
    return -(reach @ by_q), -(reach @ by_v), reach


def rule_efforts(model: Model, rules: MimicRules, q: Any, v: Any, a: Any, how: dict[str, Any]) -> Array:
    """Return the multipliers (..., nc) of the rules in a motion under (2): P^T lam = (1 - E B^T) tau_tree."""
    needed = model._required_forces(q, v, a, **how)
    P = model.constraint_jacobian(np.asarray(q, dtype=float).reshape(-1, model.nq)[0])
    # rows of rules are constant, and square and regular at followers
    return np.asarray(needed[..., rules.followers] @ np.linalg.inv(P[:, rules.followers]))
