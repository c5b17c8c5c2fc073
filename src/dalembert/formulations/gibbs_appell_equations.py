"""Gibbs-Appell equations: accelerations from the Gibbs function.

The Gibbs function is to accelerations what kinetic energy is to velocities (Gibbs 1879; Appell 1899),

    S = sum_i  m a_i . a_i / 2 + alpha_i . I alpha_i / 2 + alpha_i . (omega_i x I omega_i)                          (1)

without terms that do not depend on accelerations. In generalized speeds u that loops and drives leave free,

    dS / du'_r = K_r                                                                                               (2)

with K Kane's generalized active forces, whose inertia forces are K*_r = -dS / du'_r. S is quadratic in u', so that a
few values of it give its derivatives exactly, without partial velocities:

    H_rs = S(e_r + e_s) - S(e_r) - S(e_s) + S(0),    g_r = S(e_r) - S(0) - H_rr / 2,    H u' + g = K               (3)

A flexible body with modal mass matrix M and velocity loads b contributes A . M A / 2 + A . b, with A the accelerations
of its modes and its frame. Drive trains contribute armature times v'^2 / 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import checked
from ..model import Model, State
from ..system import System
from .kane_equations import KaneEquations, kane

__all__ = ["GibbsAppell", "gibbs_appell"]


@dataclass(frozen=True, eq=False)
class GibbsAppell:
    """Gibbs function of a system at one state, and the resulting accelerations.

    Attributes
    ----------
    kane : KaneEquations
        Kane's equations in the same speeds: names, active forces.
    """

    kane: KaneEquations

    def __repr__(self) -> str:
        names = ", ".join(self.kane.names)
        return f"<Equations of Gibbs and Appell of {self.kane.setting.model.system.name!r} in {names}>"

    def function(self, u_dot: ArrayLike | None = None) -> float:
        """Return S of (1) at u' (nu,), default zero; the constant term is that of (1) at v' = 0."""
        equations, here = self.kane, self.kane.setting.kane
        u = np.zeros(len(equations.names)) if u_dot is None else np.asarray(u_dot, dtype=float)
        v_dot, v = equations.Gamma @ u + equations.beta, equations.setting.v
        a = np.einsum("ijk,j->ik", here.V, v_dot) + np.einsum("ijk,j->ik", here.V_dot, v)
        alpha = np.einsum("ijk,j->ik", here.omega, v_dot) + np.einsum("ijk,j->ik", here.omega_dot, v)
        omega = np.einsum("ijk,j->ik", here.omega, v)
        m, inertia = here.inertias
        S = 0.5 * float(m @ (a * a).sum(1)) + 0.5 * float(v_dot @ here.armature() @ v_dot)
        gyroscopic = np.cross(omega, np.einsum("ikn,in->ik", inertia, omega))
        S += float((alpha * (0.5 * np.einsum("ikn,in->ik", inertia, alpha) + gyroscopic)).sum())
        for J, J_dot, M, b in here.flexible():
            A = J @ v_dot + J_dot @ v
            S += float(A @ (0.5 * M @ A + b))
        return S

    @cached_property
    def hessian(self) -> Array:
        """H (nu, nu) of (3), the mass matrix in these speeds."""
        n, zero = len(self.kane.names), self.function()
        one = [self.function(e) - zero for e in np.eye(n)]
        H = np.zeros((n, n))
        for r in range(n):
            for s in range(r + 1):
                H[r, s] = H[s, r] = self.function(np.eye(n)[r] + np.eye(n)[s]) - zero - one[r] - one[s]
        return H

    def gradient(self, u_dot: ArrayLike | None = None) -> Array:
        """Return dS / du' = -K* (nu,) at u' (nu,), default zero."""
        n, zero = len(self.kane.names), self.function()
        g = np.array([self.function(e) - zero for e in np.eye(n)]) - np.diag(self.hessian) / 2
        return g if u_dot is None else g + self.hessian @ np.asarray(u_dot, dtype=float)

    @cached_property
    def u_dot(self) -> Array:
        """Solution u' (nu,) of (2), the minimum of S - K . u'."""
        return np.asarray(np.linalg.solve(self.hessian, self.kane.active_forces - self.gradient()), dtype=float)

    @property
    def v_dot(self) -> Array:
        """Joint accelerations, (nv,)."""
        return self.kane.Gamma @ self.u_dot + self.kane.beta


@checked("state")
def gibbs_appell(
    system: System | Model,
    state: State | Mapping[str, Any] | None = None,
    *,
    speeds: Sequence[Any] | Mapping[str, Any] | ArrayLike | None = None,
    parameters: Mapping[str, float] | None = None,
    tau: ArrayLike | None = None,
    loads: ArrayLike | None = None,
) -> GibbsAppell:
    """Derive the Gibbs-Appell equations of a system in generalized speeds.

    Parameters
    ----------
    system, state, speeds, parameters, tau, loads
        As in `kane`.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=3.0)))
    >>> found = da.formulations.gibbs_appell(s)
    >>> found.function([2.0]), found.hessian.round(9), found.u_dot.round(9)  # S = (m l^2 / 3) u'^2 / 2
    (2.0, array([[1.]]), array([14.715]))
    """
    return GibbsAppell(kane(system, state, speeds=speeds, parameters=parameters, tau=tau, loads=loads))
