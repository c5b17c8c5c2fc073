"""Inverse dynamics of one state with efforts at joints: a regular problem, solved in one call of the core.

The core returns nothing where the motion opens loops, a rank is close to rounding, or the actuators do not reach every
degree of freedom. `inverse_dynamics` then solves the general problem, which explains errors by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..arrays import Array
from ..closure.loop_equations import LoopEquations
from ..errors import DalembertError
from ..model import Model
from ..model.cache import cached_per_model
from .actuators import Actuators, StateSamples
from .effort_result import InverseDynamicsResult, cut_loads

__all__ = ["efforts_by_cut_joint", "efforts_of_state"]

MAX_KNOWN = 64  # sets of actuators remembered per model


@dataclass(frozen=True, eq=False)
class JointActuators:
    """Actuators at joints and the data of the equations that do not depend on the state.

    Attributes
    ----------
    acting : Actuators
    names : tuple of str
    tree_rows : (k, nv)
        C of the tree joints among them.
    row_scales, column_scales : (nc,), (nv,)
    start : (nx,)
        Start values of element states.
    """

    acting: Actuators
    names: tuple[str, ...]
    tree_rows: Array
    row_scales: Array
    column_scales: Array
    start: Array

    @property
    def is_direct(self) -> bool:
        """True if every degree of freedom of a tree has its own effort, so that no equation has to be solved."""
        return not len(self.row_scales) and len(self.acting.dofs.columns) == len(self.column_scales)

    @classmethod
    def of(cls, model: Model, acting: Actuators) -> JointActuators:
        loops = LoopEquations.of(model, prescribed=False)
        rows = np.eye(model.nv)[acting.dofs.columns]
        start = model.element_start_values()
        return cls(acting, tuple(acting.names), rows, loops.row_scales, loops.column_scales, start)


@cached_per_model
def _known_actuators(model: Model) -> dict[Any, JointActuators | None]:
    """Return the cache of `_joint_actuators`."""
    return {}


def _joint_actuators(model: Model, names: str | Iterable[str] | None, item: str) -> JointActuators | None:
    """Return actuators at joints by name; None if others are among them, or if drives prescribe rows of loops."""
    if not (names is None or isinstance(names, (str, list, tuple))):
        return None  # an iterator is read once
    key = tuple(names) if isinstance(names, list) else names
    known = _known_actuators(model)
    if key in known:
        return known[key]
    acting = Actuators.of(model, names, item)
    general = acting.further or not all(drive.of_joint for drive in model.drives)
    if len(known) >= MAX_KNOWN:
        known.clear()
    found = known[key] = None if general else JointActuators.of(model, acting)
    return found


def efforts_of_state(
    model: Model, q: Any, v: Any, a: Any, names: Any, *, t: Any, x: Any, loads: Any, bare: bool, item: str
) -> InverseDynamicsResult | None:
    """Return the efforts of least norm of joint actuators at one state; None if the problem is not regular.

    Parameters
    ----------
    q, v, a : (nq,), (nv,), (nv,)
    names : names of actuators
    t, x, loads, bare
        As in `inverse_dynamics`.
    item : str
        Caller, for errors.
    """
    if not (_is_array(q, (model.nq,)) and _is_array(v, (model.nv,)) and _is_array(a, (model.nv,))):
        return None
    if not (t is None or type(t) is float) or not (x is None or _is_array(x, (model.nx,))):
        return None
    if loads is not None and not _is_array(loads, (model.nb, 6)):
        return None
    try:
        known = _joint_actuators(model, names, item)
        return None if known is None else _solved(model, known, q, v, a, t or 0.0, x, loads, bool(bare))
    except (DalembertError, TypeError):  # the general problem has the message
        return None


def _is_array(value: Any, shape: tuple[int, ...]) -> bool:
    return type(value) is np.ndarray and value.dtype == np.float64 and value.shape == shape


def _solved(
    model: Model,
    known: JointActuators,
    q: Array,
    v: Array,
    a: Array,
    t: float,
    x: Array | None,
    loads: Array | None,
    bare: bool,
) -> InverseDynamicsResult | None:
    states = np.array(known.start if x is None else x, ndmin=2)
    times = np.array([t])
    loads = None if loads is None else loads.copy()
    samples = StateSamples(
        model, times, np.array(q, ndmin=2), np.array(v, ndmin=2), np.array(a, ndmin=2), states, loads, bare
    )
    q, v, a, x, dofs = samples.q[0], samples.v[0], samples.a[0], states[0], known.acting.dofs
    force = model._required_forces(q, v, a, t=t, x=x, loads=loads, bare=bare)
    found = (force, np.zeros(0), False, True) if known.is_direct else _loop_efforts(model, known, q, v, a, t, force)
    if found is None:
        return None
    u, lam, redundant, determined = found
    joints = len(dofs.columns)
    tau = u[:joints] @ known.tree_rows
    cut = {name: one[0] for name, one in efforts_by_cut_joint(known.acting, u[None, joints:]).items()}
    efforts = InverseDynamicsResult(samples, known.names, u, tau, lam, determined, cut, np.zeros(model.nv), None, True)
    if redundant:
        passed: dict[str, Array] = {}
        if cut:
            further, passed = cut_loads(model, q, cut)
            loads = further if loads is None else loads + further
        load = model._loads_of_motion(q, v, a, t=t, x=x, lam=lam, loads=loads, bare=bare)
        for name, one in passed.items():
            load[model.connection_names.index(name)] += one
        lam[:] = model._minimum_norm_loads(t, q, None, load, lam)[1]
    return efforts


def _loop_efforts(
    model: Model, known: JointActuators, q: Array, v: Array, a: Array, t: float, force: Array
) -> tuple[Array, Array, bool, bool] | None:
    """Return efforts (m,), multipliers (nc,), and whether rows are redundant and efforts unique."""
    dofs = known.acting.dofs
    return _core.loop_efforts(
        model.constraint_jacobian(q, t=t),
        np.vstack([known.tree_rows, dofs.cut_rows(q)]) if dofs.cut else known.tree_rows,
        known.row_scales,
        known.column_scales,
        model.holonomic,
        model.constraint_residual(q, t=t),
        model.constraint_drift(q, t=t),
        model.constraint_bias(q, v, t=t),
        v,
        a,
        force,
    )


def efforts_by_cut_joint(acting: Actuators, efforts: Array) -> dict[str, Array]:
    """Return efforts (n, number of velocities) at cut joints by their names."""
    chosen = acting.dofs.cut
    if not chosen:
        return {}
    spans = acting.dofs.model.compiled.names.cut_v
    every = np.zeros((len(efforts), max(span.stop for span in spans.values())))
    every[:, chosen] = efforts
    return {name: every[:, span] for name, span in spans.items() if {*range(span.start, span.stop)} & {*chosen}}
