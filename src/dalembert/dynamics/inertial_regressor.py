"""Regressor: equations of motion as linear functions of inertial parameters, and identifiable parameters.

With m, h = m c and J, mass, first moment and inertia about the origin of a body's frame, in its axes, and with omega,
alpha and a the angular velocity and acceleration of the frame and the acceleration of its origin less gravity, in the
same axes (Atkeson, An and Hollerbach 1986),

    n = J alpha + omega x J omega + h x a        f = m a + alpha x h + omega x (omega x h)             (1)

so that the joint forces, sum of (Jacobian of the frame)^T [n; f], are Y pi with ten numbers pi of each body. Loops
leave N^T Y, with N a basis of the admissible velocities. The identifiable combinations of pi for a set of motions are
found by a QR decomposition of the stacked Y with column pivoting (Gautier 1991).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..answer import ArrayAnswer
from ..arrays import Array, IndexArray
from ..checks import checked
from ..errors import ModelError
from ..model import Model, as_model
from ..numerics.rank import base_columns, null_space
from ..rotation import skew
from ..system import System

__all__ = ["BaseParameters", "base_parameters", "inertial_parameter_names", "inertial_parameters", "regressor"]


_LABELS = ("mass", "moment.x", "moment.y", "moment.z", "J.xx", "J.xy", "J.xz", "J.yy", "J.yz", "J.zz")


def inertial_parameter_names(model: Model | System) -> tuple[str, ...]:
    """Return the names of the inertial parameters, ten of each body: ``"crank.mass"``, ...

    ``moment`` (``"crank.moment.x"``) is mass times centre of mass, kg m; ``J`` the inertia about the origin of the
    body's frame, kg m2.
    """
    return tuple(f"{body}.{label}" for body in as_model(model).body_names for label in _LABELS)


def inertial_parameters(model: Model | System) -> Array:
    """Return the inertial parameters (10 nb,) of the system, in the order of `inertial_parameter_names`."""
    model = as_model(model)
    values = []
    for name in model.body_names:
        body = model.system.bodies[name]
        c = body.com
        J = body.inertia + body.mass * (c @ c * np.eye(3) - np.outer(c, c))
        values.append([body.mass, *(body.mass * c), J[0, 0], J[0, 1], J[0, 2], J[1, 1], J[1, 2], J[2, 2]])
    return np.array(values).reshape(-1)


@checked("q", "v", "a", "reduced")
def regressor(
    system: System | Model, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, t: float = 0.0, reduced: bool | None = None
) -> Array:
    """Return Y of joint forces Y pi, which are linear in the inertial parameters pi of all bodies.

    Parameters
    ----------
    system : System or Model
        Of rigid bodies.
    q : (nq,) or (B, nq) rad or m
    v : (nv,) or (B, nv) rad/s or m/s
    a : (nv,) or (B, nv) rad/s2 or m/s2
    t : float, s
        Time, for time-dependent loop rows.
    reduced : bool
        Project onto a basis of the admissible velocities, where constraint forces do no work: N^T Y, with zeros below
        its rank. Default: with loops.

    Returns
    -------
    Y : (nv, 10 nb) or (B, nv, 10 nb)
        In the order of `inertial_parameter_names`. Joint forces are those without elements, dampers and armatures.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    >>> model = s.compile()
    >>> Y = da.regressor(model, [0.3], [1.0], [2.0])
    >>> tau = model.inverse_dynamics([0.3], [1.0], [2.0])
    >>> bool(abs(Y @ da.inertial_parameters(model) - tau).max() < 1e-12)
    True
    """
    model = as_model(system)
    if model.flexible_names:
        remedy = "it is flexible: ten numbers do not describe its inertia"
        raise ModelError("regressor", "body", model.flexible_names[0], remedy)
    single = np.ndim(q) == 1
    q, v, a = (np.ascontiguousarray(np.atleast_2d(np.asarray(x, dtype=float))) for x in (q, v, a))
    Y = np.zeros((len(q), model.nv, 10 * model.nb))
    R = model.poses(q).rotation
    for k, name in enumerate(model.body_names):
        V, A = model.velocity(name, q, v), model.acceleration(name, q, v, a)
        turn = R[:, k].transpose(0, 2, 1)
        omega, alpha = (turn @ part[:, :3, None] for part in (V, A))
        weightless = turn @ (A[:, 3:] - model.system.gravity)[:, :, None]
        wrench = _wrench(omega[..., 0], alpha[..., 0], weightless[..., 0])
        jacobian = model.jacobian(name, q)
        own = np.concatenate([turn @ jacobian[:, :3], turn @ jacobian[:, 3:]], axis=1)
        Y[:, :, 10 * k : 10 * k + 10] = own.transpose(0, 2, 1) @ wrench
    if model.nc if reduced is None else reduced:
        Y = admissible_velocity_basis(model, q, t).transpose(0, 2, 1) @ Y
    return Y[0] if single else Y


def admissible_velocity_basis(model: Model, q: ArrayLike, t: float = 0.0) -> Array:
    """Return an orthonormal basis N (B, nv, nv) of the admissible velocities, zero beyond its rank."""
    q = np.ascontiguousarray(np.atleast_2d(np.asarray(q, dtype=float)))
    if not model.nc:
        return np.broadcast_to(np.eye(model.nv), (len(q), model.nv, model.nv))
    P = model.constraint_jacobian(q, t=np.full(len(q), float(t)))
    N = np.zeros((len(q), model.nv, model.nv))
    for full, rows in zip(N, P, strict=True):
        basis = null_space(rows)
        full[:, : basis.shape[1]] = basis
    return N


def _times(x: Array) -> Array:
    """Return L (B, 3, 6) with J x = L (xx, xy, xz, yy, yz, zz) for vectors x (B, 3)."""
    L = np.zeros((len(x), 3, 6))
    L[:, 0, 0], L[:, 0, 1], L[:, 0, 2] = x[:, 0], x[:, 1], x[:, 2]
    L[:, 1, 1], L[:, 1, 3], L[:, 1, 4] = x[:, 0], x[:, 1], x[:, 2]
    L[:, 2, 2], L[:, 2, 4], L[:, 2, 5] = x[:, 0], x[:, 1], x[:, 2]
    return L


def _wrench(omega: Array, alpha: Array, a: Array) -> Array:
    """Return (1) for unit inertial parameters: [n; f] (B, 6, 10) in axes of the body."""
    turning = skew(omega)
    W = np.zeros((len(omega), 6, 10))
    W[:, 3:, 0] = a
    W[:, :3, 1:4] = -skew(a)
    W[:, 3:, 1:4] = skew(alpha) + turning @ turning
    W[:, :3, 4:] = _times(alpha) + turning @ _times(omega)
    return W


@dataclass(frozen=True, eq=False, repr=False)
class BaseParameters(ArrayAnswer):
    """Identifiable combinations of inertial parameters.

    Attributes
    ----------
    names : tuple of str, (n,)
        Of all inertial parameters.
    independent : (rank,) int
        Leading parameter of each combination.
    combinations : (rank, n)
        Base parameters are ``combinations @ pi``.
    unidentifiable : tuple of str
        Parameters without influence on any motion.
    """

    names: tuple[str, ...]
    independent: IndexArray
    combinations: Array
    unidentifiable: tuple[str, ...]

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.independent)

    def values(self, pi: ArrayLike) -> Array:
        """Return the base parameters (rank,) of inertial parameters (n,)."""
        return np.asarray(self.combinations @ np.asarray(pi, dtype=float))

    def text(self, k: int) -> str:
        """Return the text of one combination."""
        row, lead = self.combinations[k], int(self.independent[k])
        parts = [self.names[lead]]
        for j in np.flatnonzero(np.abs(row) > 1e-8):
            if j != lead:
                size = "" if abs(abs(row[j]) - 1.0) < 1e-9 else f"{abs(row[j]):.6g} "
                parts.append(f"{'-' if row[j] < 0 else '+'} {size}{self.names[j]}")
        return " ".join(parts)

    _arrays: ClassVar = {"combinations": (("base_parameter", "parameter"), "")}

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return {"parameter": (list(self.names), "")}

    def _headline(self) -> str:
        return f"{self.rank} combinations of {len(self.names)} inertial parameters can be identified"

    def __str__(self) -> str:
        lines = [self._headline()]
        lines += [f"  {self.text(k)}" for k in range(self.rank)]
        if self.unidentifiable:
            lines.append(f"  no motion depends on {', '.join(self.unidentifiable)}")
        return "\n".join(lines)


@checked("states", "rank_tolerance")
def base_parameters(
    system: System | Model, states: Sequence[ArrayLike] | None = None, *, rank_tolerance: float = 1e-9
) -> BaseParameters:
    """Return the combinations of inertial parameters that can be identified from joint forces, by name.

    Parameters
    ----------
    system : System or Model
    states : (q, v, a), each (B, n)
        Motions to identify from; default random ones, which excite all identifiable combinations. With loops, closed
        states have to be given.
    rank_tolerance : float
        Relative to the largest column; smaller ones are zero.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    >>> da.base_parameters(s).rank  # moment about the axis in two directions, inertia about it
    3
    """
    model = as_model(system)
    if states is None:
        if model.nc:
            raise ModelError("base_parameters", "states", None, "with loops give q, v and a of closed motions")
        rng = np.random.default_rng(0)
        count = 4 + 20 * model.nb // max(model.nv, 1) + 10
        state = model.random_state(rng, count)
        states = (state.q, state.v, rng.normal(size=(count, model.nv)))
    if len(states) != 3:
        raise ModelError("base_parameters", "states", states, "give q, v and a of motions")
    q, v, a = states
    Y = regressor(model, q, v, a)
    stacked = Y.reshape(-1, Y.shape[-1])
    found, names = base_columns(stacked, rank_tolerance), inertial_parameter_names(model)
    combinations = found.combinations
    combinations[np.abs(combinations) < 1e-10] = 0.0
    largest = np.abs(stacked).max(axis=0)
    least = rank_tolerance * largest.max()
    unidentifiable = tuple(name for name, size in zip(names, largest, strict=True) if size <= least)
    return BaseParameters(names, found.order[: found.rank], combinations, unidentifiable)
