"""Kane's equations in user-defined generalized speeds, for trees, loops, drives and flexible bodies.

Generalized speeds u are linear in the joint velocities v (Slaats 1991, (A.1); Kane and Levinson 1985). With loops and
drives,

    u = Y v + z,    S v = s,    S v' + c = 0                                                                       (1)

As many u as degrees of freedom are solved for v, which eliminates the constraints:

    v = Gamma u + gamma,    v' = Gamma u' + beta                                                                   (2)
    partial velocities of body i   omega_i,r = omega_i Gamma_r,   V_i,r = V_i Gamma_r                              (3)
    K_r + K*_r = 0                                                                                                 (4)

with K_r the generalized active forces (weights, elements, elasticity, applied forces; no reactions of loops, joints and
drives) and K*_r = -sum_i (m a_i . V_i,r + (I alpha_i + omega_i x I omega_i) . omega_i,r) the generalized inertia
forces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, IndexArray
from ..checks import checked
from ..errors import SingularityError
from ..model import Model, State
from ..numerics.rank import numerical_rank
from ..system import System
from .generalized_speeds import Speeds, chosen_speeds
from .setting import RANK_TOL, ModelAtState, setting

__all__ = ["KaneEquations", "kane"]


@dataclass(frozen=True, eq=False)
class KaneEquations:
    """Kane's arrays and equations (4) of a system at one state.

    Attributes
    ----------
    names : tuple of str, (nu,)
        Names of the generalized speeds u.
    Y, z, bias : (nu, nv), (nu,), (nu,)
        u = Y v + z, u' = Y v' + bias.
    Gamma, gamma, beta : (nv, nu), (nv,), (nv,)
        Of (2).
    """

    setting: ModelAtState
    names: tuple[str, ...]
    Y: Array
    z: Array
    bias: Array
    Gamma: Array
    gamma: Array
    beta: Array

    def __repr__(self) -> str:
        return f"<Kane's equations of {self.setting.model.system.name!r} in {', '.join(self.names)}>"

    @property
    def body_names(self) -> tuple[str, ...]:
        """Names of the bodies, in the order of the arrays."""
        return self.setting.model.body_names

    @property
    def u(self) -> Array:
        """Generalized speeds (nu,) at this state."""
        return self.Y @ self.setting.v + self.z

    # ---- partial velocities

    @property
    def partial_angular_velocities(self) -> Array:
        """omega_i,r (nb, nu, 3) of the bodies, world axes."""
        return np.asarray(np.einsum("ijk,jr->irk", self.setting.kane.omega, self.Gamma))

    @property
    def partial_velocities(self) -> Array:
        """V_i,r (nb, nu, 3) of mass centres (origins of flexible bodies), world axes."""
        return np.asarray(np.einsum("ijk,jr->irk", self.setting.kane.V, self.Gamma))

    def partial_velocities_of(self, point: str) -> Array:
        """Return [omega; V] per speed (6, nu) of a body, marker or point by name, world axes."""
        frame = self.setting.kane.marker(self.setting.model.system.marker(point))
        return frame.J @ self.Gamma

    def acceleration_of(self, point: str, u_dot: ArrayLike | None = None) -> Array:
        """Return [angular acceleration; acceleration] (6,) of a point by name, at u', default the solution."""
        frame = self.setting.kane.marker(self.setting.model.system.marker(point))
        v_dot = self.v_dot if u_dot is None else self.Gamma @ np.asarray(u_dot, dtype=float) + self.beta
        return frame.J @ v_dot + frame.J_dot @ self.setting.v

    # ---- forces

    @cached_property
    def mass_matrix(self) -> Array:
        """Gamma^T A Gamma, (nu, nu): -dK*_r / du'_s."""
        return self.Gamma.T @ self.setting.kane.mass_matrix() @ self.Gamma

    @cached_property
    def active_forces(self) -> Array:
        """K (nu,): weights, elements, applied forces."""
        return self.Gamma.T @ (self.setting.kane.active_forces() + self.setting.forces)

    def inertia_forces(self, u_dot: ArrayLike | None = None) -> Array:
        """Return K* (nu,) at u' (nu,), default zero, including elastic forces of flexible bodies."""
        v_dot = self.beta if u_dot is None else self.Gamma @ np.asarray(u_dot, dtype=float) + self.beta
        f = self.setting.kane.inertia_forces() - self.setting.kane.mass_matrix() @ v_dot
        return self.Gamma.T @ f

    @cached_property
    def u_dot(self) -> Array:
        """Solution u' (nu,) of the equations."""
        A, rhs = self.mass_matrix, self.active_forces + self.inertia_forces()
        scale = np.sqrt(np.maximum(np.diag(A), 1e-300))
        values, vectors = np.linalg.eigh(A / np.outer(scale, scale)) if len(A) else (np.ones(1), np.eye(1))
        if values[0] < 1e-13:
            involved = [name for name, x in zip(self.names, vectors[:, 0], strict=True) if abs(x) > 0.1]
            raise SingularityError(f"Kane's equations: {', '.join(involved)} move no inertia; add mass or inertia")
        return np.asarray(np.linalg.solve(A, rhs), dtype=float)

    @property
    def v_dot(self) -> Array:
        """Joint accelerations, (nv,)."""
        return self.Gamma @ self.u_dot + self.beta

    @property
    def momenta(self) -> Array:
        """Generalized momenta p_r = sum_i m V_i,r . v_i + omega_i,r . I omega_i, (nu,)."""
        return self.Gamma.T @ self.setting.kane.mass_matrix() @ self.setting.v

    def reactions(self) -> dict[str, float]:
        """Return multipliers of loops and efforts of drives by row; minimum norm for redundant rows.

        They are eliminated from (4): A v' - f - Q = S^T lam.
        """
        here = self.setting
        left = here.kane.inverse_dynamics(self.v_dot) - here.forces
        lam = np.linalg.lstsq(here.rows[0].T, left, rcond=RANK_TOL)[0]
        return dict(zip(here.row_names, lam.tolist(), strict=True))


@checked("state")
def kane(
    system: System | Model,
    state: State | Mapping[str, Any] | None = None,
    *,
    speeds: Sequence[Any] | Mapping[str, Any] | ArrayLike | None = None,
    parameters: Mapping[str, float] | None = None,
    tau: ArrayLike | None = None,
    loads: ArrayLike | None = None,
) -> KaneEquations:
    """Derive Kane's equations in generalized speeds.

    Parameters
    ----------
    system : System or Model
        Rigid and flexible bodies, all joints, loops, drives, elements.
    state : State, or dict of name to value
        Default the described start values.
    speeds : names, dict of name to formula, or (nu, nv)
        As many as degrees of freedom. Names of joint velocities (``"A"``, ``"ball.wx"``) and of velocity components
        (``"bob.angular_velocity.x"``, ``"rod.tip.velocity.z"``; in axes of a body as in output names,
        ``"bob.angular_velocity.x in bob"``, or as a pair, ``("bob.angular_velocity.x", "bob")``); formulas linear in
        velocities, text or SymPy, ``{"u1": "dA*cos(A) + L*dB"}``, in coordinates ``A``, ``C_slide``, their rates
        ``dA``, ``dC_slide``, velocities of ball joints ``ball_wx``, the time ``t`` and parameters; or a constant matrix
        of coefficients of the joint velocities. Default the joint velocities: all, or with loops and drives an
        independent set chosen by pivoting.
    parameters : dict of str to float
        Values of parameters in formulas.
    tau, loads
        As in `newton_euler`.

    Raises
    ------
    SingularityError
        If these speeds do not determine the motion, or are too many.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=3.0)))
    >>> found = da.formulations.kane(s, {"A.speed": 2.0}, speeds={"u": "0.5*dA"})
    >>> found.u, found.partial_velocities[0, 0], found.active_forces.round(9), found.u_dot.round(9)
    (array([1.]), array([ 0.,  0., -1.]), array([29.43]), array([7.3575]))
    """
    here = setting(system, state, tau=tau, loads=loads)
    S, s, c = here.rows
    basis = _independent(S)
    free = here.model.nv - len(basis)
    default = speeds is None
    chosen = _default_speeds(here, S[basis], free) if default else chosen_speeds(here, speeds, parameters or {})
    B = np.vstack([S[basis], chosen.Y])
    _check_choice(here, chosen, B, free)
    inverse = np.linalg.inv(B)
    r = len(basis)
    gamma = inverse @ np.concatenate([s[basis], -chosen.z])
    beta = inverse @ np.concatenate([-c[basis], -chosen.bias])
    return KaneEquations(here, chosen.names, chosen.Y, chosen.z, chosen.bias, inverse[:, r:], gamma, beta)


def _independent(S: Array) -> IndexArray:
    """Return indices of independent rows of S, by pivoted QR of scaled rows."""
    if not len(S):
        return np.zeros(0, dtype=np.intp)
    from scipy.linalg import qr

    norms = np.linalg.norm(S, axis=1)
    size = np.where(norms > RANK_TOL * norms.max(), norms, np.inf)  # rows at round-off level
    R, pivots = qr((S / size[:, None]).T, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(R[: min(R.shape)]))
    rank = numerical_rank(diagonal, RANK_TOL, 0.0)
    return np.sort(np.asarray(pivots[:rank], dtype=np.intp))


def _default_speeds(here: ModelAtState, S: Array, free: int) -> Speeds:
    """Return an independent set of joint velocities, chosen by pivoting of the rows."""
    nv = here.model.nv
    if len(S):
        from scipy.linalg import qr

        pivots = qr(S / np.linalg.norm(S, axis=1)[:, None], mode="r", pivoting=True)[1]
        kept = np.sort(pivots[nv - free :])
    else:
        kept = np.arange(nv)
    names = tuple(here.model.speed_names[k] for k in kept)
    return Speeds(names, np.eye(nv)[kept], np.zeros(len(kept)), np.zeros(len(kept)))


def _check_choice(here: ModelAtState, chosen: Speeds, B: Array, free: int) -> None:
    """Raise for too many, too few or dependent generalized speeds."""
    if len(chosen.names) != free:
        raise SingularityError(
            f"Kane's equations: {len(chosen.names)} speeds are given ({', '.join(chosen.names)}), but {free} are "
            f"independent: {here.model.nv} joint velocities minus {here.model.nv - free} rows of loops and drives"
        )
    size = np.maximum(np.linalg.norm(B, axis=1), 1e-300)
    values, V = np.linalg.svd(B / size[:, None])[1:] if B.size else (np.ones(1), np.zeros((1, 1)))
    if values[-1] < RANK_TOL:
        involved = [name for name, x in zip(here.model.speed_names, V[-1], strict=True) if abs(x) > 0.1]
        raise SingularityError(
            f"Kane's equations: the speeds {', '.join(chosen.names)} do not determine the motion: "
            f"{', '.join(involved)} can change without them; use other speeds"
        )
