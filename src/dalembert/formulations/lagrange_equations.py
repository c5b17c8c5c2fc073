"""Lagrange's equations by numerical differentiation of the energies.

Kinetic energy T is quadratic in the velocities, so that values of it at q give the mass matrix exactly,

    T = v^T A v / 2,    A_jk = T(e_j + e_k) - T(e_j) - T(e_k)                                                      (1)

and only its dependence on the coordinates is differentiated, by eighth-order central differences along the motions of
single velocities, d_k. With momenta p = A v and potential energy U of weights and of flexible bodies,

    p' - d T + d U + C^T p = Q + S^T lam,    S v' + c = 0                                                          (2)

C(v) is zero if velocities are rates of coordinates: then (2) are Lagrange's equations (Slaats 1991, (2.3); with
multipliers (2.4): the report calls these the first and second kind, most others the second and first). For ball joints,
xi' = dv + C xi holds for the small motions xi that vary a motion: then (2) are the Boltzmann-Hamel equations. Q are the
forces of elements, of damping, and applied ones.

Neither accelerations of bodies nor Coriolis terms are derived explicitly; the cost is many derivatives that cancel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import checked
from ..errors import ModelError
from ..model import Model, State
from ..system import System
from .constrained_solution import constrained
from .setting import ModelAtState, setting

__all__ = ["Lagrange", "lagrange"]


# eighth-order differences: offsets in steps, and weights
_STENCIL = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
DIFFERENCE_STEP = 2e-2  # rad or m times a length: truncation h^8 and rounding 1e-16 / h are both near 1e-14


@dataclass(frozen=True, eq=False)
class Lagrange:
    """Lagrange's equations (2) of a system at one state, and their solution.

    Attributes
    ----------
    A : (nv, nv)
        Mass matrix, by (1).
    dA : (nv, nv, nv)
        dA[k] is its derivative along the motion of velocity k.
    dU : (nv,) N m or N
        Derivatives of the potential energy.
    Q : (nv,) N m or N
        Forces without potential: elements, damping of flexible bodies, applied ones.
    bracket : (nv, nv)
        C.
    v_dot, lam : (nv,), (n,)
        Accelerations and multipliers; minimum norm for redundant rows.
    """

    setting: ModelAtState
    A: Array
    dA: Array
    dU: Array
    Q: Array
    bracket: Array
    v_dot: Array
    lam: Array

    def __repr__(self) -> str:
        n, rows = len(self.A), len(self.lam)
        return f"<Lagrange's equations of {self.setting.model.system.name!r}: {n} speeds, {rows} multipliers>"

    @cached_property
    def momenta(self) -> Array:
        """p = dT/dv, (nv,)."""
        return self.A @ self.setting.v

    @property
    def momentum_rates(self) -> Array:
        """p' (nv,) by Hamilton's canonical equations: dT - dU - C^T p + Q + S^T lam."""
        S = self.setting.rows[0]
        return self.dT - self.dU - self.bracket.T @ self.momenta + self.Q + S.T @ self.lam

    @property
    def dT(self) -> Array:
        """Derivatives of the kinetic energy along the motions of single velocities, (nv,)."""
        v = self.setting.v
        return np.asarray(np.einsum("kij,i,j->k", self.dA, v, v) / 2)

    @property
    def reactions(self) -> dict[str, float]:
        """Multipliers by the name of their row."""
        return dict(zip(self.setting.row_names, self.lam.tolist(), strict=True))


@checked("state", "step")
def lagrange(
    system: System | Model,
    state: State | Mapping[str, Any] | None = None,
    *,
    tau: ArrayLike | None = None,
    loads: ArrayLike | None = None,
    step: float = DIFFERENCE_STEP,
) -> Lagrange:
    """Derive Lagrange's equations of a system by differentiating its energies, and solve them.

    Parameters
    ----------
    system : System or Model
        Rigid and flexible bodies, all joints, loops, drives, elements. Flexible bodies of order ``"ruthless"`` or
        ``"source"`` raise an error: their equations omit terms and derive from no energy.
    state, tau, loads
        As in `newton_euler`.
    step : float, rad or m over a length
        Difference step.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=3.0)))
    >>> found = da.formulations.lagrange(s)
    >>> found.A.round(9), found.dU.round(9), found.v_dot.round(9)
    (array([[1.]]), array([-14.715]), array([14.715]))
    """
    here = setting(system, state, tau=tau, loads=loads)
    for body in here.model.system.bodies.values():
        if body.flexible is not None and body.flexible.order in ("ruthless", "source"):
            remedy = "its equations derive from no energy: use 'full', or newton_euler or kane"
            raise ModelError(f"Lagrange's equations of body {body.name!r}", "order", body.flexible.order, remedy)
    model, q, v, nv = here.model, here.q, here.v, here.model.nv
    A, dA, dU = _mass(model, q), np.zeros((nv, nv, nv)), np.zeros(nv)
    lengths = _lengths(model)
    for k in range(nv):
        h = step * lengths[k]
        for offset, weight in _STENCIL:
            ahead, behind = (model.integrate(q, sign * offset * h * np.eye(nv)[k]) for sign in (1.0, -1.0))
            dA[k] += weight / h * (_mass(model, ahead) - _mass(model, behind))
            dU[k] += weight / h * (_potential(model, ahead) - _potential(model, behind))
    C = _bracket(here)
    Q = here.forces - _damping(here)
    S, _, c = here.rows
    p = A @ v
    rhs = Q - dU + np.einsum("kij,i,j->k", dA, v, v) / 2 - np.einsum("kij,k,j->i", dA, v, v) - C.T @ p
    v_dot, lam = constrained(A, rhs, S, c)
    return Lagrange(here, A, dA, dU, Q, C, v_dot, lam)


def _mass(model: Model, q: Array) -> Array:
    """Return A (nv, nv) from values of the kinetic energy, (1), in one batched call."""
    nv = model.nv
    i, j = np.triu_indices(nv)
    e = np.eye(nv)
    T = model.energy(np.tile(q, (len(i), 1)), np.where((i == j)[:, None], e[i], e[i] + e[j]), bare=True).kinetic
    single = np.zeros(nv)
    single[i[i == j]] = np.asarray(T)[i == j]
    A = np.zeros((nv, nv))
    A[i, j] = A[j, i] = np.where(i == j, 2 * single[i], T - single[i] - single[j])
    return A


def _potential(model: Model, q: Array) -> float:
    return float(model.energy(q, np.zeros(model.nv), bare=True).potential)


def _lengths(model: Model) -> Array:
    """Return the scale (nv,) of each velocity: a motion by about 1 rad, or by one length.

    The scale of modal coordinates depends on their shapes: 1 of a mass-normalized mode may be many rad.
    """
    found: list[float] = []
    for joint, name in zip(model.forest.joints, model.body_names, strict=True):
        found += [model.length if unit == "m" else 1.0 for unit in joint.element.speed_units]
        body = model.system.bodies[name].flexible
        if body is not None:
            turns, moves = (np.abs(body.shapes[:, part]).max(axis=(0, 1)) for part in (slice(3), slice(3, 6)))
            size = np.maximum(turns, moves / model.length)
            found += np.where(size > 0.0, 1.0 / np.where(size > 0.0, size, 1.0), 1.0).tolist()
    return np.array(found)


def _bracket(here: ModelAtState) -> Array:
    """Return C (nv, nv) of (2)."""
    C = np.zeros((here.model.nv, here.model.nv))
    for joint, span in zip(here.model.forest.joints, here.kane.v_spans, strict=True):
        own = slice(span.start, span.start + joint.element.nv)
        C[own, own] = joint.element.bracket(here.v[own])
    return C


def _damping(here: ModelAtState) -> Array:
    """Return the damping forces of flexible bodies, (nv,)."""
    found = np.zeros(here.model.nv)
    for k, body in enumerate(here.kane.bodies, start=1):
        if body.flexible:
            _, rate, span = here.kane.modal(k)
            found[span] = body.flexible.modal_damping @ rate
    return found
