"""Inverse dynamics of systems with loops: the efforts that a motion needs, at chosen actuators.

A motion that keeps the loops closed needs generalised forces f = M a + b. Actuators supply some of their components,
the loops supply any combination of the rows of P:

    S u + P^T lam = f                                                                                              (1)

With N a basis of the motions that the loops allow (P N = 0), the efforts alone follow from N^T S u = N^T f: as many
equations as the mechanism has freedoms. Fewer actuators cannot do it; more can do it in many ways, and the one of least
weighted norm is taken. Sol 1983, (6.3.7)-(6.3.8) with what erratum 22 adds; Slaats 1991, section 4.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError, SingularityError
from ..model import Model
from ..reactions import ConnectionLoads, least_loads
from ..rotation import finite_array
from ..system import System
from .scales import Scales, as_model, closure_rank, speed_columns

__all__ = ["Efforts", "consistent_accelerations", "inverse_dynamics"]

Array = NDArray[np.float64]

_RANK = 1e-9  # singular values of scaled rows below this are rounding
_REACHED = 1e-8  # part of the needed force that may be missing


@dataclass(frozen=True, eq=False)
class Efforts:
    """Efforts that go with a motion.

    Attributes
    ----------
    tau : (nv,) N m or N
        Hinge forces, zero where there is no actuator.
    multipliers : (nc,) N or N m
        Of the loops; where rows repeat each other, those that go with the `connection_loads` of least norm.
    unique : bool
        False if the actuators are more than the freedoms, so that other efforts would do as well.
    """

    model: Model = field(repr=False)
    q: Array = field(repr=False)
    v: Array = field(repr=False)
    a: Array = field(repr=False)
    tau: Array
    multipliers: Array
    unique: bool
    loads: Array | None = field(default=None, repr=False)

    def __getitem__(self, hinge: str) -> Array:
        """Return the effort at a hinge, (nv of it,) N m or N."""
        result: Array = self.tau[self.model.v_slice(hinge)]
        return result

    def connection_loads(self, *, axes: str = "world") -> ConnectionLoads:
        """Return the load of every connection on its second marker, as `Model.connection_loads` does."""
        return self.model.loads_of_motion(self.q, self.v, self.a, self.multipliers, loads=self.loads, axes=axes)


def inverse_dynamics(
    system: System | Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    actuators: str | Iterable[str] | None = None,
    weights: ArrayLike | None = None,
    loads: ArrayLike | None = None,
    t: float = 0.0,
) -> Efforts:
    """Return the efforts of chosen actuators for a motion that keeps all loops closed.

    Parameters
    ----------
    system : System or Model
    q : (nq,) rad or m
        A closed configuration, as `assemble` gives.
    v : (nv,) rad/s or m/s
    a : (nv,) rad/s2 or m/s2
        Consistent with the loops: see `consistent_speeds` and `consistent_accelerations`.
    actuators : names of hinges of the tree, or of single speeds
        Where efforts act; every hinge of the tree if left out.
    weights : (number of actuated freedoms,)
        Price of each effort when there is a choice; the sum of weight times effort squared is least.
    loads : (nb, 6) N m and N
    t : float, s
        Time, for constraints that a drive prescribes; the loops supply what these take.

    Raises
    ------
    ModelError
        If the motion opens the loops, or a name is unknown.
    SingularityError
        If the actuators cannot produce the motion: says how much force is missing, and along what.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System()
    >>> arm = s.body("arm", da.rod(length=2.0, mass=3.0))
    >>> _ = s.connect("A", da.Revolute("-y"), s.ground, arm)
    >>> inverse_dynamics(s, [0.0], [0.0], [0.0])["A"].round(3)  # m g l / 2 holds it level
    array([29.43])
    """
    model = as_model(system)
    item = "inverse_dynamics"
    q = finite_array(q, (model.nq,), item=item, field="q")
    v = finite_array(v, (model.nv,), item=item, field="v")
    a = finite_array(a, (model.nv,), item=item, field="a")
    columns = _actuated(model, actuators)
    force = model.mass_matrix(q) @ a + model.bias_forces(q, v, loads=loads)
    scales = Scales.of(model, t=t)
    N = np.diag(scales.columns)
    if model.nc:
        _check_closed(model, scales, q, v, a)
        N = scales.columns[:, None] * _null_space(scales.jacobian(model, q))
    tau = np.zeros(model.nv)
    price = (
        np.ones(len(columns)) if weights is None else finite_array(weights, (len(columns),), item=item, field="weights")
    )
    if (price <= 0).any():
        raise ModelError(item, "weights", weights, "every weight must be positive")
    # least sum of price u^2: the shortest sqrt(price) u
    root = np.sqrt(price)
    A, needed = N[columns].T / root, N.T @ force
    y, _, rank, _ = np.linalg.lstsq(A, needed, rcond=_RANK)
    tau[columns] = y / root
    missing = needed - A @ y
    if np.abs(missing).max(initial=0.0) > _REACHED * max(
        float(np.abs(N.T * force).sum(axis=1).max(initial=0.0)), 1e-300
    ):
        raise _out_of_reach(model, N, missing, columns)
    lam = np.zeros(model.nc)
    if model.nc:
        rest = force - tau
        rest[np.abs(rest) < 1e-12 * np.abs(force).max(initial=0.0)] = 0.0  # rounding loads no loop
        lam = scales.rows * _shortest(scales.jacobian(model, q).T, scales.columns * rest)
        lam = least_loads(model, q, v, a, lam, loads=loads, t=t)[1]
    kept = None if loads is None else np.array(loads, dtype=float)
    return Efforts(model, q, v, a, tau, lam, bool(rank == len(columns)), kept)


def consistent_accelerations(
    system: System | Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    fixed: str | Iterable[str] = (),
    *,
    t: float = 0.0,
) -> Array:
    """Return the accelerations nearest to `a` that keep the loops closed: P a + bias = 0.

    Parameters
    ----------
    system : System or Model
    q : (nq,) rad or m
    v : (nv,) rad/s or m/s
    a : (nv,) rad/s2 or m/s2
    fixed : names of hinges or speeds
        These keep exactly what `a` says: driven coordinates.
    t : float, s
        Time, for constraints that a drive prescribes.

    Raises
    ------
    SingularityError
        If the fixed ones contradict the loops.
    """
    model = as_model(system)
    item = "consistent_accelerations"
    q, v = finite_array(q, (model.nq,), item=item, field="q"), finite_array(v, (model.nv,), item=item, field="v")
    a = finite_array(a, (model.nv,), item=item, field="a")
    if not model.nc:
        return a
    scales = Scales.of(model, t=t)
    free = np.ones(model.nv, dtype=bool)
    free[_actuated(model, fixed)] = False
    P, bias = model.constraint_jacobian(q, t=t), model.constraint_bias(q, v, t=t)
    gap = scales.rows * (P @ a + bias - scales.targets[2])
    terms = np.abs(scales.rows) * (np.abs(P) @ np.abs(a) + np.abs(bias))
    if (np.abs(gap) <= np.finfo(float).eps * terms).all():
        return a
    J = (scales.rows[:, None] * P * scales.columns)[:, free]
    step = _shortest(J, -gap)
    rest = np.abs(J @ step + gap)
    left = float(rest.max())
    if left > 1e-9 * float(np.abs(gap).max()) + 1e-12 * (1.0 + float(terms.max())):
        from .singular import why_speeds_clash

        worst = int(rest.argmax())
        held = f"with the accelerations given for {_listed(model, ~free)}, " if not free.all() else ""
        raise SingularityError(
            f"{item}: {held}no motion keeps the loops closed: row {model.constraint_names[worst]!r} would open at "
            f"{rest[worst] / scales.rows[worst]:.3g} {scales.units[worst]}/s2. {why_speeds_clash(model, q, ~free, t)}"
        )
    a[free] += scales.columns[free] * step
    return a


def _actuated(model: Model, names: str | Iterable[str] | None) -> list[int]:
    if names is None:
        return list(range(model.nv))
    chosen = [names] if isinstance(names, str) else list(names)
    return sorted({c for name in chosen for c in speed_columns(model, name, item="inverse_dynamics")})


def _check_closed(model: Model, scales: Scales, q: Array, v: Array, a: Array) -> None:
    t = scales.t
    P, bias = model.constraint_jacobian(q, t=t), model.constraint_bias(q, v, t=t)
    target, _, second = scales.targets
    rate = scales.rates(model, q)
    size_v, size_a = np.abs(P) @ np.abs(v) + np.abs(rate), np.abs(P) @ np.abs(a) + np.abs(bias) + np.abs(second)
    for what, gap, size, remedy in (
        ("q", model.constraint_residual(q, t=t) - target, 1.0 / scales.rows, "assemble it first"),
        ("v", P @ v - rate, _with_floor(size_v), "make it so with consistent_speeds"),
        ("a", P @ a + bias - second, _with_floor(size_a), "make it so with consistent_accelerations"),
    ):
        worst = int(np.argmax(np.abs(gap) / size))
        if abs(gap[worst]) > 1e-6 * size[worst]:
            name = model.constraint_names[worst]
            raise ModelError(
                "inverse_dynamics",
                f"{name} at {what}",
                float(gap[worst]),
                f"{what} does not keep the loops closed; {remedy}",
            )


def _with_floor(size: Array) -> Array:
    """Return the sizes of the terms of each row, none much smaller than the largest: rounding travels between rows."""
    return np.maximum(size, 1e-3 * float(size.max(initial=0.0)) + 1e-6)


def _null_space(J: Array) -> Array:
    _, s, Vt = np.linalg.svd(J)
    return np.ascontiguousarray(Vt[closure_rank(s, _RANK) :].T)


def _shortest(A: Array, b: Array) -> Array:
    """Return the shortest x with A x = b as nearly as can be."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    rank = closure_rank(s, _RANK)
    x: Array = Vt[:rank].T @ ((U[:, :rank].T @ b) / s[:rank])
    return x


def _out_of_reach(model: Model, N: Array, missing: Array, columns: list[int]) -> SingularityError:
    motion = N @ missing
    worst = np.argsort(-np.abs(motion))[:4]
    along = ", ".join(f"{model.speed_names[k]!r}" for k in worst if abs(motion[k]) > 0.1 * abs(motion[worst[0]]))
    acting = np.zeros(model.nv, dtype=bool)
    acting[columns] = True
    return SingularityError(
        f"inverse_dynamics: actuators at {_listed(model, acting)} cannot produce this motion; the system has "
        f"{N.shape[1]} freedom{'s' * (N.shape[1] != 1)}, and what is missing acts along {along}. Add an actuator "
        "there, or move the others out of a dead point."
    )


def _listed(model: Model, marks: NDArray[np.bool_]) -> str:
    names = [repr(model.speed_names[k]) for k in np.flatnonzero(marks)]
    return ", ".join(names[:8]) + (" and others" if len(names) > 8 else "") if names else "no freedom"
