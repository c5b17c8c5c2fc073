"""Inverse dynamics of systems with loops: the efforts that a motion needs, at chosen actuators.

A motion that keeps the loops closed needs generalised forces f = M a + b, b with all that elements do. Actuators supply
u along some speeds C v, of hinges of the tree or of cut ones, the loops any combination of the rows of P:

    C^T u + P^T lam = f                                                                                            (1)

With N a basis of the motions that the loops allow (P N = 0), the efforts alone follow from N^T C^T u = N^T f: as many
equations as the mechanism has freedoms. Fewer actuators cannot do it; more can do it in many ways, and the one of least
weighted norm is taken. Sol 1983, (6.3.7)-(6.3.8) with what erratum 22 adds; Slaats 1991, section 4.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import finite_array, finite_number
from ..errors import ModelError, SingularityError
from ..model import ConnectionLoads, Model, as_model
from ..system import System
from .consistent import RANK, shortest
from .freedoms import Freedoms, freedoms_of
from .relative import hinge_speeds, relative
from .scales import Scales, closure_rank

__all__ = ["Efforts", "inverse_dynamics"]

Array = NDArray[np.float64]

_REACHED = 1e-8  # part of the needed force that may be missing


@dataclass(frozen=True, eq=False)
class Efforts:
    """Efforts that go with a motion.

    Attributes
    ----------
    tau : (nv,) N m or N
        Hinge forces beside those of elements; zero where there is no actuator.
    cut : dict of str to (number of speeds,) N m or N
        Efforts at hinges at which loops were cut.
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
    cut: dict[str, Array] = field(default_factory=dict)
    loads: Array | None = field(default=None, repr=False)
    how: dict[str, Any] = field(default_factory=dict, repr=False)  # time and element states

    def __getitem__(self, hinge: str) -> Array:
        """Return the effort at a hinge, (nv of it,) N m or N."""
        if hinge in self.cut:
            return self.cut[hinge]
        result: Array = self.tau[self.model.v_slice(hinge)]
        return result

    def connection_loads(self, *, axes: str = "world") -> ConnectionLoads:
        """Return the load of every connection on its second marker, as `Model.connection_loads` does."""
        return ConnectionLoads(self.model, self.q, self.loads_of_connections(), axes, t=float(self.how["t"]))

    def loads_of_connections(self) -> Array:
        """Return the loads (connections, 6) in the order of ``model.connection_names``, world axes, N m and N."""
        model = self.model
        further, passed = _cut_loads(model, self.q, self.cut)
        loads = further if self.loads is None else self.loads + further
        found: Array = model._loads_of_motion(self.q, self.v, self.a, lam=self.multipliers, loads=loads, **self.how)
        for name, load in passed.items():
            found[model.connection_names.index(name)] += load
        return found


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
    x: ArrayLike | None = None,
    bare: bool = False,
) -> Efforts:
    """Return the efforts that chosen actuators add to elements for a motion that keeps all loops closed.

    Parameters
    ----------
    system : System or Model
    q : (nq,) rad or m
        A closed configuration, as `assemble` gives.
    v : (nv,) rad/s or m/s
    a : (nv,) rad/s2 or m/s2
        Consistent with the loops: see `consistent_speeds` and `consistent_accelerations`.
    actuators : names of hinges, or of single speeds
        Where efforts act; every hinge of the tree if left out. A hinge at which a loop was cut is as good as others.
    weights : (number of actuated freedoms,)
        Price of each effort when there is a choice; the sum of weight times effort squared is least.
    loads : (nb, 6) N m and N
    t : float, s
        Time, for elements, and for constraints that a drive prescribes; the loops supply what these take.
    x : (nx,)
        Element states; their start values if left out.
    bare : bool
        Without what elements do.

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
    everything = [*model.hinge_names, *model.flexible_names]
    acting = freedoms_of(model, everything if actuators is None else actuators, item=item)
    t = finite_number(t, item="inverse_dynamics", field="t")
    how = {"t": t, "x": x, "bare": bare}
    force = model._supplied(q, v, a, loads=loads, **how)
    scales = Scales.of(model, t=t)
    N = np.diag(scales.columns)
    if model.nc:
        _check_closed(model, scales, q, v, a)
        N = scales.columns[:, None] * _null_space(scales.jacobian(model, q))
    root = np.sqrt(_prices(weights, acting))  # least sum of price u^2: the shortest sqrt(price) u
    C = acting.rows(q)
    A, needed = (C @ N).T / root, N.T @ force
    y, _, rank, _ = np.linalg.lstsq(A, needed, rcond=RANK)
    efforts = y / root
    missing = needed - A @ y
    if np.abs(missing).max(initial=0.0) > _REACHED * max(
        float(np.abs(N.T * force).sum(axis=1).max(initial=0.0)), 1e-300
    ):
        raise _out_of_reach(N, missing, acting)
    lam = np.zeros(model.nc)
    if model.nc:
        rest = force - efforts @ C
        rest[np.abs(rest) < 1e-12 * np.abs(force).max(initial=0.0)] = 0.0  # rounding loads no loop
        lam = scales.rows * shortest(scales.jacobian(model, q).T, scales.columns * rest)
    tau = np.zeros(model.nv)
    tau[acting.columns] = efforts[: len(acting.columns)]
    cut = _by_cut_hinge(acting, efforts[len(acting.columns) :])
    kept = None if loads is None else np.array(loads, dtype=float)
    found = Efforts(model, q, v, a, tau, lam, bool(rank == len(acting)), cut, kept, how)
    return replace(found, multipliers=model._share(t, q, None, found.loads_of_connections(), lam)[1])


def _by_cut_hinge(acting: Freedoms, efforts: Array) -> dict[str, Array]:
    """Return efforts at cut hinges by their names."""
    spans = acting.model.compiled.names.cut_v
    every = np.zeros(max((span.stop for span in spans.values()), default=0))
    every[acting.cut] = efforts
    return {name: every[span] for name, span in spans.items() if {*range(span.start, span.stop)} & {*acting.cut}}


def _prices(weights: ArrayLike | None, acting: Freedoms) -> Array:
    if weights is None:
        return np.ones(len(acting))
    price = finite_array(weights, (len(acting),), item="inverse_dynamics", field="weights")
    if (price <= 0).any():
        raise ModelError("inverse_dynamics", "weights", weights, "every weight must be positive")
    return price


def _cut_loads(model: Model, q: Array, cut: dict[str, Array]) -> tuple[Array, dict[str, Array]]:
    """Return efforts at cut hinges as loads on bodies (nb, 6), and as loads that these hinges pass on, (6,) each."""
    on_bodies, passed = np.zeros((model.nb, 6)), {}
    for chord in model.forest.chords:
        if chord.name not in cut:
            continue
        motion, span = relative(model, chord.first, chord.second, q), model.compiled.names.cut_q[chord.name]
        at = model.cut_motion(q, np.zeros(model.nv), np.zeros(model.nv))[0][span]
        world = motion.in_world(hinge_speeds(chord.element, at).T @ cut[chord.name])  # type: ignore[arg-type]
        passed[chord.name] = world
        for marker, sign in ((chord.first, -1.0), (chord.second, 1.0)):
            number = model.forest.number[marker.body.name]
            if number:
                arm = motion.point - model.pose(marker.body, q).position
                on_bodies[number - 1] += sign * np.concatenate([world[:3] + np.cross(arm, world[3:]), world[3:]])
    return on_bodies, passed


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
    return np.ascontiguousarray(Vt[closure_rank(s, RANK) :].T)


def _out_of_reach(N: Array, missing: Array, acting: Freedoms) -> SingularityError:
    model, motion = acting.model, N @ missing
    worst = np.argsort(-np.abs(motion))[:4]
    along = ", ".join(f"{model.speed_names[k]!r}" for k in worst if abs(motion[k]) > 0.1 * abs(motion[worst[0]]))
    return SingularityError(
        f"inverse_dynamics: actuators at {_listed(acting.names)} cannot produce this motion; the system has "
        f"{N.shape[1]} freedom{'s' * (N.shape[1] != 1)}, and what is missing acts along {along}. Add an actuator "
        "there, or move the others out of a dead point."
    )


def _listed(given: list[str]) -> str:
    names = list(map(repr, given))
    return ", ".join(names[:8]) + (" and others" if len(names) > 8 else "") if names else "no freedom"
