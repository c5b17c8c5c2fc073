"""Stability of an equilibrium or steady motion by the eigenvalues of the linearized system.

Eigenvalues are compared with their round-off error: |A| eps times their condition 1 / |l . r|, with l and r the left
and right eigenvectors of the balanced matrix (Wilkinson 1965). If none grows and some lie on the imaginary axis, a
positive definite stiffness of forces with a potential implies stability (Dirichlet). Otherwise the verdict holds to
first order, which the reason states.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..arrays import Array, BoolArray, ComplexArray
from ..errors import DalembertError
from ..linear import Tangent, tangent_space
from ..model import Conditions, Model, State
from .force_balance import MAX_EIGENVALUES, SYMMETRY_TOL, BalanceEvaluation, flat

__all__ = ["Stability", "assess_stability"]


SIGN_CONFIDENCE = 1e3  # times the error of an eigenvalue beyond which its sign is certain
MAX_DAMPED_EIGENVALUES = 120  # degrees of freedom above which a minimum of the potential energy suffices


@dataclass(frozen=True, eq=False)
class Stability:
    """Stability verdict; true if ``"stable"``.

    Attributes
    ----------
    verdict : str
        ``"stable"``, ``"unstable"`` or ``"marginal"``.
    reason : str
    eigenvalues : (n,) complex, 1/s
        Of the linearized system; empty if the verdict rests on the stiffness.
    """

    verdict: str
    reason: str
    eigenvalues: ComplexArray = field(repr=False)

    def __bool__(self) -> bool:
        return self.verdict == "stable"

    def __repr__(self) -> str:
        return f"{self.verdict}: {self.reason}"


def assess_stability(
    look: BalanceEvaluation, state: State, conditions: Conditions, inputs: Array | None, steady: BoolArray
) -> Stability:
    """Assess the stability of a state.

    Parameters
    ----------
    look : BalanceEvaluation
        At the state.
    conditions : Conditions
        With held coordinates locked.
    steady : (nv,) bool
        Mask of small motions with steady velocity.
    """
    by_energy = _by_energy(look, steady)
    if by_energy is not None and by_energy[0] == "stable" and len(look.g) > MAX_DAMPED_EIGENVALUES:
        return Stability(*by_energy, np.zeros(0, dtype=complex))
    try:
        tangent = tangent_space(look.balance.model, state, conditions=conditions, item="equilibrium")
        A = tangent.reduce(tangent.derivatives(inputs=inputs))
    except DalembertError as error:
        verdict, reason = by_energy or ("marginal", "the stiffness is not conclusive")
        return Stability(verdict, f"{reason} (no eigenvalues: {error})", np.zeros(0, dtype=complex))
    return _by_eigenvalues(tangent, A, steady, look.balance.idle, by_energy)


def _by_energy(look: BalanceEvaluation, steady: BoolArray) -> tuple[str, str] | None:
    """Return the verdict by the potential energy; None if it does not exist or is not conclusive."""
    K = look.virtual_stiffness
    if look.balance.v.any() or look.balance.model.nx or steady.any():
        return None
    if not len(K):
        return "stable", "no degree of freedom"
    if len(K) > MAX_EIGENVALUES and look.is_definite:
        return "stable", "potential-energy minimum"
    if np.abs(K - K.T).max() > SYMMETRY_TOL * max(np.abs(K).max(), look.size):
        return None  # forces without a potential
    k, E = np.linalg.eigh((K + K.T) / 2)
    level = flat(k, look.size)
    name = named_motion(look.balance.model, look.F @ E[:, :1])
    if k[0] < -level:
        return "unstable", f"the potential energy decreases along {name}"
    if k[0] <= level:
        return "marginal", f"no restoring force along {name}"
    return "stable", "potential-energy minimum"


def _by_eigenvalues(
    tangent: Tangent, A: Array, steady: BoolArray, idle: BoolArray, by_energy: tuple[str, str] | None
) -> Stability:
    from scipy.linalg import eig, matrix_balance

    kept = np.ones(len(A), dtype=bool)
    kept[: tangent.ny] = ~steady[tangent.positions]  # the position along a steady motion does not matter
    kept[tangent.ny + tangent.nz :] = ~idle
    names = np.array(tangent.state_names)[kept]
    A = A[np.ix_(kept, kept)]
    if not len(A):
        return Stability("stable", "no degree of freedom", np.zeros(0, dtype=complex))
    balanced, T = matrix_balance(A)
    values, left, right = eig(balanced, left=True, right=True)
    overlap = np.abs((left.conj() * right).sum(0))
    error = SIGN_CONFIDENCE * np.finfo(float).eps * np.linalg.norm(balanced) / np.maximum(overlap, 1e-300)
    error = np.minimum(error, 1e-6 * np.linalg.norm(balanced))
    shapes = np.abs(T @ right)
    grows, stays = values.real > error, np.abs(values.real) <= error
    still = np.abs(values) <= error
    if grows.any():
        k = int(np.argmax(np.where(grows, values.real, -np.inf)))
        how = (
            f"oscillates with {abs(values[k].imag):.4g} rad/s and grows" if abs(values[k].imag) > error[k] else "grows"
        )
        coordinate = names[int(shapes[:, k].argmax())]
        return Stability("unstable", f"{str(coordinate)!r} {how} by exp({values[k].real:.4g} t)", values)
    if by_energy is not None and by_energy[0] != "stable":
        return Stability(*by_energy, values)
    spare = int(steady[tangent.speeds].sum())
    if int(still.sum()) > spare and by_energy is None:
        k = int(np.flatnonzero(still)[0])
        coordinate = names[int(shapes[:, k].argmax())]
        return Stability("marginal", f"an eigenvalue is zero: no restoring force along {str(coordinate)!r}", values)
    if not (stays & ~still).any():
        slowest = float(values.real[~still].max(initial=-np.inf))
        return Stability("stable", f"every motion decays, by exp({slowest:.4g} t) or faster", values)
    if by_energy is not None:
        return Stability("stable", "potential-energy minimum; some motions are not damped", values)
    return Stability("stable", "to first order: some oscillations neither decay nor grow", values)


def named_motion(model: Model, motion: Array) -> str:
    """Return the names of the coordinates that a small motion (nv, 1) moves most."""
    size = np.abs(motion[:, 0])
    order = [k for k in np.argsort(-size, kind="stable")[:3] if size[k] > 0.3 * size.max()]
    return ", ".join(repr(model.speed_names[k]) for k in order)
