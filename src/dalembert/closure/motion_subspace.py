"""Subspace of admissible motions: R and S in q' = S b + R z'.

With B (f, n) whose rows are independent of those of J,

    [J; B] v = [b; z],   v = S b + R z,   a = S c + R z'                                                            (1)
    J R = 0,  B R = 1,  J S = 1,  B S = 0                                                                           (2)

(Garcia de Jalon and Bayo 1994, (3.24)-(3.32)). B comes from elimination with full pivoting, so that z are velocities of
independent coordinates; or it spans the null space, by QR or by the singular value decomposition; or [J; B] is made
orthonormal from the top by Gram-Schmidt, which can be differentiated (Liang and Lance; (3.47)-(3.52)). In the last case
R' is available too, and S c may be replaced by R' z. Redundant rows of J are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from ..answer import ArrayAnswer, list_text
from ..arrays import Array, IndexArray
from ..checks import checked, finite_array, one_of, positive
from ..errors import ModelError, SingularityError
from ..model import State, as_model
from ..model.state import StateLike
from ..numerics.rank import independent_rows
from .assembly import assemble, given_coordinates, given_time
from .equations import Equations, RelativeEquations
from .orthonormal_basis import gram_schmidt, jacobian_rate
from .position_rates import jerk_terms, speed_scales
from .position_solver import start_of

__all__ = ["MotionSpace", "equations_of", "motion_space"]


METHODS = ("gauss", "qr", "svd", "gram-schmidt")


@dataclass(frozen=True, eq=False, repr=False)
class MotionSpace(ArrayAnswer):
    """All velocities and accelerations of a mechanism at a configuration.

    Attributes
    ----------
    equations : Equations
    q : (nq,)
    t : float, s
    v : (nv,) or None
        Velocities at which `Sc` and `R_rate` are taken.
    method : str
    B : (f, nv)
        z = B v.
    R : (nv, f)
        Columns are velocities, each with one z of 1 and the others 0: Kane's partial velocities.
    rows : (r,) int
        Independent rows of J.
    condition : float
        Of [J; B], rows of J made orthonormal: 1 at best; choose B anew where it grows.
    refreshed : bool
        True if `at` had to choose B anew, so that z has another meaning from here on.
    """

    equations: Equations
    q: Array
    t: float
    v: Array | None
    method: str
    B: Array
    R: Array
    rows: IndexArray
    condition: float
    refreshed: bool = False
    columns: tuple[int, ...] | None = None
    _V: Array | None = field(default=None, repr=False)
    _J: Array | None = field(default=None, repr=False)
    _made: Any = field(default=None, repr=False)
    _arrays: ClassVar = {
        "q": (("coordinate",), ""),
        "v": (("speed",), ""),
        "B": (("dof", "speed"), ""),
        "R": (("speed", "dof"), ""),
    }

    def _headline(self) -> str:
        names = f" ({list_text(self.independent)})" if self.independent else ""
        return f"{self.dofs} dof{names} by {self.method}, condition {self.condition:.4g}"

    @property
    def dofs(self) -> int:
        """Return f."""
        return len(self.B)

    @property
    def independent(self) -> tuple[str, ...] | None:
        """Return the names of the velocities z, or None if z are combinations."""
        return None if self.columns is None else tuple(self.equations.speed_names[k] for k in self.columns)

    @property
    def dependent(self) -> tuple[str, ...] | None:
        """Return the names of the other velocities, or None if z are combinations."""
        if self.columns is None:
            return None
        return tuple(name for k, name in enumerate(self.equations.speed_names) if k not in self.columns)

    @cached_property
    def _factors(self) -> Any:
        """Return the factors of [J; B] for independent rows, computed once per configuration."""
        if self._made is not None:
            return self._made
        return _factored(np.vstack([self._jacobian[self.rows], self.B]))

    @cached_property
    def _jacobian(self) -> Array:
        return self.equations.jacobian(self.q, self.t) if self._J is None else self._J

    def _particular(self, b: Array) -> Array:
        """Return x (nv, ...) with J x = b (rows, ...) and B x = 0."""
        from scipy.linalg import lu_solve

        below = np.zeros((self.dofs, *b.shape[1:]))
        return np.asarray(lu_solve(self._factors, np.concatenate([b[self.rows], below])))

    @cached_property
    def S(self) -> Array:
        """Return S (nv, rows); columns of redundant rows are zero."""
        S = np.zeros((self.equations.nv, self.equations.rows))
        S[:, self.rows] = self._particular(np.eye(self.equations.rows))[:, self.rows]
        return S

    @cached_property
    def Sb(self) -> Array:
        """Return the velocity with z = 0, (nv,); zero without drives."""
        return self._particular(self.equations.velocity_terms(self.q, self.t))

    @cached_property
    def Sc(self) -> Array:
        """Return the acceleration with z' = 0 at the velocities v, (nv,)."""
        return self._particular(self.equations.acceleration_terms(self.q, self._speeds("Sc"), self.t))

    @cached_property
    def R_rate(self) -> Array:
        """Return R' (nv, f) at the velocities v, for constant B except with the Gram-Schmidt basis."""
        Jd = jacobian_rate(self.equations, self.q, self._speeds("R_rate"), self.t)
        if self.method != "gram-schmidt":
            return -self._particular(Jd @ self.R)
        J, Jd = self._jacobian[self.rows], Jd[self.rows]
        # all of V was computed from independent coordinates chosen once
        assert self._V is not None
        P = np.vstack([J, self._V])
        Pd = np.vstack([Jd, np.zeros_like(self._V)])
        return gram_schmidt(P, Pd)[1][len(J) :].T

    def _speeds(self, what: str) -> Array:
        if self.v is None:
            raise ModelError("motion_space", "v", None, f"{what} needs velocities: give v=, or use velocity(z)")
        return self.v

    def velocity(self, z: ArrayLike) -> Array:
        """Return S b + R z (nv,) for z (f,)."""
        given = finite_array(z, (self.dofs,), item="motion_space", field="z")
        return np.asarray(self.Sb + self.R @ given)

    def acceleration(self, z: ArrayLike, z_rate: ArrayLike | None = None) -> Array:
        """Return S c + R z' (nv,) at the velocities of z (f,); z' = B a, with the present B."""
        zd = np.zeros(self.dofs) if z_rate is None else z_rate
        given = finite_array(zd, (self.dofs,), item="motion_space", field="z_rate")
        c = self.equations.acceleration_terms(self.q, self.velocity(z), self.t)
        return np.asarray(self._particular(c) + self.R @ given)

    def jerk(self, z: ArrayLike, z_rate: ArrayLike | None = None, z_second: ArrayLike | None = None) -> Array:
        """Return the jerk (nv,) at the velocities and accelerations of z and z' (f,), with z'' (f,)."""
        zdd = np.zeros(self.dofs) if z_second is None else z_second
        given = finite_array(zdd, (self.dofs,), item="motion_space", field="z_second")
        d = jerk_terms(self.equations, self.q, self.velocity(z), self.acceleration(z, z_rate), self.t)
        return np.asarray(self._particular(d) + self.R @ given)

    def coordinates(self, v: ArrayLike) -> Array:
        """Return z = B v (f,) of a velocity (nv,)."""
        return np.asarray(self.B @ finite_array(v, (self.equations.nv,), item="motion_space", field="v"))

    def at(self, q: ArrayLike, t: float = 0.0, v: ArrayLike | None = None, *, limit: float = 100.0) -> MotionSpace:
        """Return the space at another configuration, with the same B while the condition stays below `limit`.

        Beyond it, or where degrees of freedom appear or vanish, B is chosen anew and `refreshed` is True. z then has
        another meaning, ``new.coordinates(v)``.
        """
        positive("motion_space", limit=limit)
        if self.method != "gram-schmidt":
            try:
                kept = _again(self, q, t, v)
                if kept is not None and kept.condition <= limit:
                    return kept
            except SingularityError:
                pass
        else:
            again = _by_gram_schmidt(self.equations, q, t, v, self._V)
            if again is not None and again.condition <= limit:
                return again
        fresh = motion_space(self.equations, state=q, t=t, v=v, method=self.method)
        return MotionSpace(**{**_fields(fresh), "refreshed": True})


def _fields(space: MotionSpace) -> dict[str, Any]:
    return {name: getattr(space, name) for name in (one.name for one in fields(MotionSpace))}


def equations_of(system: Any) -> Equations:
    """Return the closure equations of a system, model or natural mechanism, or the equations themselves."""
    if hasattr(system, "residual") and hasattr(system, "velocity_terms"):
        return system
    own = getattr(system, "equations", None)
    if callable(own):
        return own()
    return RelativeEquations(as_model(system))


@checked("t", "method", "independent_coordinates")
def motion_space(
    system: Any,
    *,
    state: StateLike | None = None,
    t: float | None = None,
    v: ArrayLike | None = None,
    method: str = "gauss",
    independent_coordinates: Sequence[str] | None = None,
) -> MotionSpace:
    """Return the subspace of motions of a mechanism at a configuration: R, S and its coordinates.

    Parameters
    ----------
    system : System, Model, natural.Mechanism or Equations
    state : State, dict of name to value, or (nq,) rad or m
        A closed configuration; default the described one. By name for a System or Model only.
    t : float, s
        Default that of a `State`, else 0.
    v : (nv,)
        Velocities, for `Sc` and `R_rate`; default those of a `State`.
    method : str
        ``"gauss"``: independent coordinates by full pivoting; ``"qr"``, ``"svd"``: an orthonormal basis;
        ``"gram-schmidt"``: a differentiable one.
    independent_coordinates : names of velocities
        Replace the choice of ``"gauss"``.

    Raises
    ------
    SingularityError
        If the chosen coordinates are not independent.
    """
    one_of("motion_space", "method", method, METHODS)
    equations = equations_of(system)
    t = given_time(state, t, item="motion_space")
    if isinstance(equations, RelativeEquations):
        q = given_coordinates(equations.model, state, item="motion_space", t=t)
        at = start_of(equations, assemble(equations.model).q if q is None else q)
    else:
        at = start_of(equations, state.q if isinstance(state, State) else cast(ArrayLike, state))
    v = state.v if v is None and isinstance(state, State) else v
    if independent_coordinates is not None and method not in ("gauss", "gram-schmidt"):
        raise ModelError(
            "motion_space",
            "independent_coordinates",
            independent_coordinates,
            "only 'gauss' and 'gram-schmidt' take coordinates",
        )
    every = equations.jacobian(at, t)
    rows = _independent(equations, every)
    J, D = every[rows], equations.column_scales
    scaled = J * D
    rank, n = len(rows), equations.nv
    columns: tuple[int, ...] | None = None
    if independent_coordinates is not None:
        columns = _chosen(equations, independent_coordinates, n - rank)
        B = np.eye(n)[list(columns)]
    elif method in ("gauss", "gram-schmidt"):
        columns = _free_columns(speed_scales(equations, every)[rows, None] * scaled)
        B = np.eye(n)[list(columns)]
    elif method == "qr":
        B = np.linalg.qr(J.T, mode="complete")[0][:, rank:].T if rank else np.eye(n)
    else:
        B = np.linalg.svd(J)[2][rank:] if rank else np.eye(n)
    if method == "gram-schmidt":
        made = _by_gram_schmidt(equations, at, t, v, B)
        if made is None:
            raise _dependent(equations, columns)
        return made
    return _space(equations, at, t, v, method, B, columns, every, rows)


def _independent(equations: Equations, J: Array) -> IndexArray:
    """Return the indices of independent rows of J."""
    return independent_rows(speed_scales(equations, J)[:, None] * J * equations.column_scales)


def _chosen(equations: Equations, names: Sequence[str], dofs: int) -> tuple[int, ...]:
    known = equations.speed_names
    for name in names:
        if name not in known:
            remedy = f"name velocities: {', '.join(known[:12])}"
            raise ModelError("motion_space", "independent_coordinates", name, remedy)
    if len(names) != dofs or len(set(names)) != len(names):
        raise ModelError(
            "motion_space",
            "independent",
            tuple(names),
            f"there are {dofs} degrees of freedom here: name as many velocities",
        )
    return tuple(known.index(name) for name in names)


def _free_columns(J: Array) -> tuple[int, ...]:
    """Return the columns left by elimination with full pivoting (independent rows)."""
    A, m = J.copy(), len(J)
    order = np.arange(J.shape[1])
    for k in range(m):
        i, j = divmod(int(np.abs(A[k:, k:]).argmax()), A.shape[1] - k)
        A[[k, k + i]] = A[[k + i, k]]
        A[:, [k, k + j]] = A[:, [k + j, k]]
        order[[k, k + j]] = order[[k + j, k]]
        A[k + 1 :, k:] -= np.outer(A[k + 1 :, k] / A[k, k], A[k, k:])
    return tuple(int(k) for k in np.sort(order[m:]))


def _factored(A: Array) -> Any:
    """Return the factors of a square matrix, with row pivots."""
    from scipy.linalg import get_lapack_funcs

    (getrf,) = get_lapack_funcs(("getrf",), (A,))
    lu, pivots, _ = getrf(A)
    return lu, pivots


def _space(
    equations: Equations,
    q: Array,
    t: float,
    v: ArrayLike | None,
    method: str,
    B: Array,
    columns: tuple[int, ...] | None,
    J: Array,
    rows: IndexArray,
) -> MotionSpace:
    """Return the space with given B, from all rows of J and the independent ones, with one factorisation."""
    from scipy.linalg import lu_solve

    speeds = None if v is None else finite_array(v, (equations.nv,), item="motion_space", field="v")
    if len(rows) + len(B) != equations.nv:
        raise SingularityError(f"{equations.nv - len(rows)} degrees of freedom here, but {len(B)} rows in B")
    made = _factored(np.vstack([J[rows], B]))
    if not np.abs(np.diag(made[0])).min(initial=1.0) > 0.0:
        raise _dependent(equations, columns)
    R = lu_solve(made, np.vstack([np.zeros((len(rows), len(B))), np.eye(len(B))]))
    condition = _condition(equations, B, R)
    if not condition <= 1e12:
        raise _dependent(equations, columns)
    return MotionSpace(equations, q, t, speeds, method, B, R, rows, condition, columns=columns, _J=J, _made=made)


def _again(space: MotionSpace, q: ArrayLike, t: float, v: ArrayLike | None) -> MotionSpace | None:
    """Return the space at another configuration with the same B and rows.

    None if redundant rows became independent.
    """
    equations = space.equations
    at = start_of(equations, q)
    J = equations.jacobian(at, t)
    found = _space(equations, at, t, v, space.method, space.B, space.columns, J, space.rows)
    scaled = speed_scales(equations, J)[:, None] * (J @ found.R)
    size = float(np.abs(found.R / equations.column_scales[:, None]).max(initial=0.0))
    return found if float(np.abs(scaled).max(initial=0.0)) <= 1e-8 * size else None


def _condition(equations: Equations, B: Array, R: Array) -> float:
    """Return the condition of [V; B], V an orthonormal basis of the rows of J, and B with rows of length 1.

    With N an orthonormal basis of the motions, and B V^T = W S Z^T, all singular values are 1 but those of

        [1, S; S, W^T B B^T W],    W S^2 W^T = B B^T - (B N) (B N)^T
    """
    if not len(B):
        return 1.0
    D = equations.column_scales
    N = np.linalg.qr(R / D[:, None])[0]
    scaled = B * D
    scaled = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    G, inner = scaled @ scaled.T, scaled @ N
    squares, W = np.linalg.eigh(G - inner @ inner.T)
    S = np.diag(np.sqrt(np.maximum(squares, 0.0)))
    values = np.linalg.eigvalsh(np.block([[np.eye(len(B)), S], [S, W.T @ G @ W]]))
    least, most = min(float(values[0]), 1.0), max(float(values[-1]), 1.0)
    # differences of squares keep half the digits: the smallest singular value is that of B N within a factor of two
    floor = float(np.linalg.svd(inner, compute_uv=False)[-1]) ** 2 / 4
    return float(np.sqrt(most / max(least, floor))) if max(least, floor) > 0.0 else np.inf


def _dependent(equations: Equations, columns: tuple[int, ...] | None) -> SingularityError:
    names = "the rows of B" if columns is None else ", ".join(repr(equations.speed_names[k]) for k in columns)
    return SingularityError(
        f"{names} do not determine the motion at this position: they depend on the rows of J; choose other "
        "coordinates, or let motion_space choose"
    )


# -- Gram-Schmidt


def _by_gram_schmidt(
    equations: Equations, q: ArrayLike, t: float, v: ArrayLike | None, chosen: Array | None
) -> MotionSpace | None:
    """Return the orthonormal basis made from J and chosen rows below it, or None if these depend on J."""
    at = start_of(equations, q)
    speeds = None if v is None else finite_array(v, (equations.nv,), item="motion_space", field="v")
    every = equations.jacobian(at, t)
    rows = _independent(equations, every)
    J = every[rows]
    assert chosen is not None
    if len(J) + len(chosen) != equations.nv:
        return None
    V = gram_schmidt(np.vstack([J, chosen]))[0]
    R = V[len(J) :].T
    condition = _condition(equations, chosen, R) if np.isfinite(R).all() else np.inf
    if not condition <= 1e12:
        return None
    return MotionSpace(equations, at, t, speeds, "gram-schmidt", R.T, R, rows, condition, _V=chosen, _J=every)
