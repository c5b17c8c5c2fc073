"""The equations of Gibbs and Appell: accelerations from a function of them.

The Gibbs function is to accelerations what kinetic energy is to velocities (Gibbs 1879; Appell 1899),

    S = sum_i  m a_i . a_i / 2 + alpha_i . I alpha_i / 2 + alpha_i . (omega_i x I omega_i)                          (1)

with what does not depend on accelerations left out. In speeds u of any choice that loops and drives leave free,

    dS / du'_r = K_r                                                                                               (2)

K the generalised active forces of Kane, whose inertia forces are K*_r = -dS / du'_r. S is quadratic in u', so that
a few values of it give its derivatives without error, and no partial velocity is needed for them:

    H_rs = S(e_r + e_s) - S(e_r) - S(e_s) + S(0),    g_r = S(e_r) - S(0) - H_rr / 2,    H u' + g = K               (3)

With the modal mass matrix M and velocity loads b of a flexible body, its part is A . M A / 2 + A . b, A the
accelerations of its modes and its frame. Drive trains add armature times v'^2 / 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import checked
from ..model import Model, State
from ..system import System
from .kane_equations import KaneEquations, kane

__all__ = ["GibbsAppell", "gibbs_appell"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GibbsAppell:
    """The Gibbs function of a system at one state, and the accelerations that follow from it.

    Attributes
    ----------
    kane : KaneEquations
        Of the same system in the same speeds: names, active forces.
    """

    kane: KaneEquations

    def __repr__(self) -> str:
        names = ", ".join(self.kane.names)
        return f"<Equations of Gibbs and Appell of {self.kane.setting.model.system.name!r} in {names}>"

    def function(self, u_dot: ArrayLike | None = None) -> float:
        """Return S of (1), at u' (nu,), zero if left out; what does not depend on u' is that of (1) at v' = 0."""
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
        """H (nu, nu) of (3): the mass matrix in these speeds."""
        n, zero = len(self.kane.names), self.function()
        one = [self.function(e) - zero for e in np.eye(n)]
        H = np.zeros((n, n))
        for r in range(n):
            for s in range(r + 1):
                H[r, s] = H[s, r] = self.function(np.eye(n)[r] + np.eye(n)[s]) - zero - one[r] - one[s]
        return H

    def gradient(self, u_dot: ArrayLike | None = None) -> Array:
        """Return dS / du' (nu,) at u' (nu,), zero if left out: -K*."""
        n, zero = len(self.kane.names), self.function()
        g = np.array([self.function(e) - zero for e in np.eye(n)]) - np.diag(self.hessian) / 2
        return g if u_dot is None else g + self.hessian @ np.asarray(u_dot, dtype=float)

    @cached_property
    def u_dot(self) -> Array:
        """u' (nu,) at which (2) holds, where S - K . u' is least."""
        return np.asarray(np.linalg.solve(self.hessian, self.kane.active_forces - self.gradient()), dtype=float)

    @property
    def v_dot(self) -> Array:
        """The same in joint speeds, (nv,)."""
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
    """Return the Gibbs function of a system in chosen speeds, and the accelerations by Gibbs and Appell.

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
