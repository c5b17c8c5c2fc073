"""Modal integrals: inertia of a flexible body in modal coordinates.

A point of the undeformed body at x0 is displaced by N eta, in body axes; with geometric stiffening by N eta +
eta g eta / 2. Then, for the velocities [eta'; omega; v] of modes and body frame (Jain and Rodriguez 1990, (B.8)),

    M = [[G, F*, E*], [F, J, h~], [E, -h~, m]]

    G_rs = int N_r . N_s              constant
    E_r = E0_r + E1_rs eta_s          E0 = int N                E1 = int g
    h = h0 + E0 eta + eta E1 eta / 2  h0 = int x0
    F_r = F0_r + F1_rs eta_s          F0 = int x0 x N           F1_rs = int (N_s x N_r + x0 x g_rs)
    J = J0 + J1_r eta_r + J2_rs eta_r eta_s                                                                      (1)

and the velocity-dependent loads follow from Lagrange's equations in quasi-velocities (see core/flexible/body.hpp, (3)).

A lumped node is a small rigid body that turns by theta = lambda eta: its point rho is displaced by gamma eta + theta x
rho + theta x (theta x rho) / 2, so that (1) is right to second order, moments of inertia and offsets included. Jain and
Rodriguez take lambda eta' for the node's angular velocity, keep the direction of its inertia in some terms and turn it
in others; for point masses both are the same. `SourceIntegrals` are theirs, misprints corrected: (B.4) has a minus too
much in J_0, W_2 stands with exchanged indices in (B.27) to (B.29), (B.50) lacks factors.

A consistent mass matrix gives G, E0, F0, h0 and J0 directly. F1, J1 and J2 need products of different components of
displacement, which a mass matrix does not contain. They are computed at the integration points of the elements, small
bodies that move and rotate with the elements' interpolation (`Elements.points`; as exact as the matrix), and from the
bodies at nodes that the matrix contains besides. For elements whose mass is isotropic (solids) the matrix is
sufficient, also when it comes from a file. For other matrices from files and for condensed structures, the mean over
the three directions is used. Its error is the difference between the interpolations of the directions, order h^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ..arrays import Array
from ..rotation import skew
from .flexible_body import FlexibleBody
from .nodal_matrices import rigid_motions

__all__ = ["ModalIntegrals", "SourceIntegrals", "modal_integrals", "source_integrals"]


_LEVI_CIVITA = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    _LEVI_CIVITA[_i, _j, _k], _LEVI_CIVITA[_i, _k, _j] = 1.0, -1.0


@dataclass(frozen=True, eq=False)
class ModalIntegrals:
    """Integrals of (1), in axes of the body frame.

    Attributes
    ----------
    mass : float, kg
    h0 : (3,) kg m
    J0 : (3, 3) kg m2
    E0, F0 : (nm, 3)
    J1 : (nm, 3, 3)
    G : (nm, nm)
    F1 : (nm, nm, 3)
    J2 : (nm, nm, 3, 3), symmetric in both pairs
    E1 : (nm, nm, 3) or None
        Only with geometric stiffening or offsets of nodal masses.
    """

    mass: float
    h0: Array
    J0: Array
    E0: Array
    F0: Array
    J1: Array
    G: Array
    F1: Array
    J2: Array
    E1: Array | None = None

    @property
    def nm(self) -> int:
        """Number of modes."""
        return len(self.G)

    def mass_matrix(self, eta: Array, order: str = "full") -> Array:
        """Return M (nm + 6, nm + 6) of (1), rows [eta; omega; v]."""
        n, at = self.nm, eta if order == "full" else np.zeros(self.nm)
        E, h = self.E0, self.h0 + at @ self.E0
        if self.E1 is not None:
            shift = np.einsum("rsi,s->ri", self.E1, at)
            E, h = E + shift, h + at @ shift / 2
        F = self.F0 + np.einsum("rsi,s->ri", self.F1, at)
        J = self.J0 + np.einsum("rij,r->ij", self.J1, at) + np.einsum("rsij,r,s->ij", self.J2, at, at)
        M = np.zeros((n + 6, n + 6))
        M[:n, :n], M[:n, n : n + 3], M[:n, n + 3 :] = self.G, F, E
        M[n : n + 3, :n], M[n + 3 :, :n] = F.T, E.T
        M[n : n + 3, n : n + 3], M[n + 3 :, n + 3 :] = J, self.mass * np.eye(3)
        M[n : n + 3, n + 3 :], M[n + 3 :, n : n + 3] = skew(h), -skew(h)
        return M

    def bias(self, eta: Array, rate: Array, w: Array, order: str = "full") -> Array:
        """Return b (nm + 6,), the velocity-dependent loads, without elastic ones."""
        n = self.nm
        if order != "full":
            eta, rate = np.zeros(n), np.zeros(n)
        M = self.mass_matrix(eta)
        F, E = M[:n, n : n + 3], M[:n, n + 3 :]
        J, h = M[n : n + 3, n : n + 3], M[n + 3 :, n : n + 3]
        h = np.array([h[1, 2], h[2, 0], h[0, 1]])
        K = self.J1 + 2 * np.einsum("rsij,s->rij", self.J2, eta)
        turn = np.einsum("rsi,s->ri", self.F1, rate)
        back = np.einsum("sri,s->ri", self.F1, rate)
        b = np.zeros(n + 6)
        b[:n] = (turn - back) @ w - np.einsum("i,rij,j->r", w, K, w) / 2
        b[n : n + 3] = np.cross(w, J @ w + rate @ F) + np.einsum("rij,r,j->i", K, rate, w) + rate @ turn
        b[n + 3 :] = np.cross(w, np.cross(w, h)) + 2 * np.cross(w, rate @ E)
        if self.E1 is not None:
            b[n + 3 :] += np.einsum("rsi,r,s->i", self.E1, rate, rate)
        return b

    def numbers(self) -> Array:
        """Return all data as the row of numbers read by core/flexible/body.hpp."""
        parts = ([self.mass], self.h0, _six(self.J0), self.E0, self.F0, _six(self.J1), self.G, self._bilinear())
        return np.concatenate([np.ravel(part) for part in parts])

    def _bilinear(self) -> Array:
        """Return [F1_rs, J2_rs, F1_rs - F1_sr, E1_rs] as rows over r, by s (nm, 12 or 15, nm in eights)."""
        parts = [self.F1, _six(self.J2), self.F1 - self.F1.swapaxes(0, 1)]
        if self.E1 is not None:
            parts.append(self.E1)
        rows = np.concatenate(parts, axis=2).transpose(1, 2, 0)
        return np.pad(rows, ((0, 0), (0, 0), (0, -self.nm % 8)))


Integrals = TypeVar("Integrals", bound=ModalIntegrals)


@dataclass(frozen=True, eq=False)
class SourceIntegrals(ModalIntegrals):
    """Integrals of Jain and Rodriguez 1990, appendix B, for lumped nodes; see `ModalIntegrals`.

    b_r = -w . (N1_r + N2_rs eta_s) w - w . Q_rs eta'_s + T3_rqs eta'_q eta'_s
    b_omega = w x J w + (C1_r + C2_rs eta_s) w eta'_r + (R2_rs + R3_rsq eta_q) eta'_r eta'_s
    b_v = w x (w x h) + 2 w x E_r eta'_r + L_rs eta'_r eta'_s
    """

    h1: Array = None  # type: ignore[assignment]
    N1: Array = None  # type: ignore[assignment]
    N2: Array = None  # type: ignore[assignment]
    Q: Array = None  # type: ignore[assignment]
    C1: Array = None  # type: ignore[assignment]
    C2: Array = None  # type: ignore[assignment]
    T3: Array = None  # type: ignore[assignment]
    R2: Array = None  # type: ignore[assignment]
    R3: Array = None  # type: ignore[assignment]
    L: Array = None  # type: ignore[assignment]

    def mass_matrix(self, eta: Array, order: str = "full") -> Array:
        """Return M (nm + 6, nm + 6), (B.8)."""
        M = super().mass_matrix(eta, order)
        if order == "full":
            h, n = self.h0 + eta @ self.h1, self.nm
            M[n : n + 3, n + 3 :], M[n + 3 :, n : n + 3] = skew(h), -skew(h)
        return M

    def bias(self, eta: Array, rate: Array, w: Array, order: str = "full") -> Array:
        """Return b (nm + 6,), (B.28), (B.41), (B.49)."""
        n = self.nm
        if order != "full":
            eta, rate = np.zeros(n), np.zeros(n)
        M = self.mass_matrix(eta)
        J, h = M[n : n + 3, n : n + 3], self.h0 + eta @ self.h1
        N = self.N1 + np.einsum("rsij,s->rij", self.N2, eta)
        C = self.C1 + np.einsum("rsij,s->rij", self.C2, eta)
        R = self.R2 + np.einsum("rsqi,q->rsi", self.R3, eta)
        b = np.zeros(n + 6)
        b[:n] = -np.einsum("i,rij,j->r", w, N, w) - np.einsum("i,rsi,s->r", w, self.Q, rate)
        b[:n] += np.einsum("rqs,q,s->r", self.T3, rate, rate)
        b[n : n + 3] = np.cross(w, J @ w) + np.einsum("rij,r,j->i", C, rate, w) + np.einsum("rsi,r,s->i", R, rate, rate)
        b[n + 3 :] = np.cross(w, np.cross(w, h)) + 2 * np.cross(w, rate @ self.E0)
        b[n + 3 :] += np.einsum("rsi,r,s->i", self.L, rate, rate)
        return b

    def numbers(self) -> Array:
        """Return all data as the row of numbers read by core/flexible/body.hpp."""
        parts = (super().numbers(), self.h1, _six(self.N1), _six(self.N2), self.Q, self.C1, self.C2)
        return np.concatenate([np.ravel(part) for part in (*parts, self.T3, self.R2, self.R3, self.L)])


def modal_integrals(body: FlexibleBody) -> ModalIntegrals:
    """Return the integrals of a flexible body, with geometric stiffening if it has any; cached."""
    return _kept(body, "_integrals", _integrals_of)


def _kept(body: FlexibleBody, name: str, compute: Callable[[FlexibleBody], Integrals]) -> Integrals:
    """Return integrals that are computed once for a body."""
    if name not in body.__dict__:
        body.__dict__[name] = compute(body)
    return body.__dict__[name]


def _integrals_of(body: FlexibleBody) -> ModalIntegrals:
    rigid = rigid_motions(body.nodes)
    carried = rigid.T @ (body.mass_matrix @ rigid)
    coupled = (body.mass_matrix @ body.modes).T @ rigid
    J0, h0 = (carried[:3, :3] + carried[:3, :3].T) / 2, body.mass * body.com
    nm = body.nm
    C0r, Crs, E1 = np.zeros((nm, 3, 3)), np.zeros((nm, nm, 3, 3)), np.zeros((nm, nm, 3))
    turned = np.zeros_like(Crs)
    for part in _parts(body):
        for total, more in zip((C0r, Crs, E1, turned), part.moments(), strict=True):
            total += more
    F1 = np.einsum("ijk,srjk->rsi", _LEVI_CIVITA, Crs) + np.einsum("ijk,rsjk->rsi", _LEVI_CIVITA, turned)
    J1 = _inertia(C0r + C0r.swapaxes(-1, -2))
    J2 = _inertia((Crs + Crs.swapaxes(-1, -2)) / 2)
    J2 = (J2 + J2.swapaxes(0, 1)) / 2 + _inertia(_symmetric(turned))
    F0, E0 = coupled[:, :3], coupled[:, 3:]
    stiffening = body.stiffening
    if stiffening is not None:
        # stiffness per unit load is what the second-order displacements of the mass amount to
        E1 = E1 + stiffening.acceleration.transpose(1, 2, 0)
        F1 = F1 + stiffening.angular_acceleration.transpose(1, 2, 0)
        xx, yy, zz, xy, xz, yz = -stiffening.spin
        spin = np.array([[xx, xy / 2, xz / 2], [xy / 2, yy, yz / 2], [xz / 2, yz / 2, zz]])
        J2 = J2 + spin.transpose(2, 3, 0, 1)
    second = E1 if E1.any() or stiffening is not None else None
    return ModalIntegrals(body.mass, h0, J0, E0, F0, J1, _cleaned(body.modal_mass), F1, J2, second)


def _cleaned(G: Array) -> Array:
    """Return a modal mass matrix without off-diagonal round-off, so that kernels detect it as diagonal."""
    scale = np.sqrt(np.diag(G))
    return np.where(np.abs(G) > 1e-13 * np.outer(scale, scale), G, 0.0)


def source_integrals(body: FlexibleBody) -> SourceIntegrals:
    """Return the integrals of (B.4) for a body of lumped nodes, misprints corrected; cached."""
    return _kept(body, "_source_integrals", _source_integrals_of)


def _source_integrals_of(body: FlexibleBody) -> SourceIntegrals:
    m, p, inertia = body.node_masses, body.node_centres, body.node_inertias
    assert m is not None and p is not None and inertia is not None
    lam, gam = body.shapes[:, :3].transpose(0, 2, 1), body.shapes[:, 3:].transpose(0, 2, 1)  # (n, nm, 3)
    l0 = body.nodes
    base = modal_integrals(body)

    def tilde(x: Array) -> Array:
        return -np.einsum("ijk,...k->...ij", _LEVI_CIVITA, x)

    def total(subscripts: str, *parts: Array) -> Array:
        return np.einsum(f"n,{subscripts}", m, *parts)

    lt, gt, pt, l0t = tilde(lam), tilde(gam), tilde(p), tilde(l0)
    pl = np.cross(p[:, None], lam)  # p~ lambda_r
    plt = tilde(pl)
    Jl = np.einsum("nij,nrj->nri", inertia, lam)
    arm = gam - pl
    h1 = total("nri->ri", gam)
    F1 = total("nsij,nrj->rsi", gt, arm)
    J1 = -total("nrij,njk->rik", gt, l0t + pt)
    J2 = -total("nrij,nsjk->rsik", gt, gt)
    S1 = total("nrij,njk->rik", plt, l0t) - np.einsum("nij,nrjk->rik", inertia, lt)
    S2 = total("nrij,nsjk->rsik", plt, gt)
    turned = np.einsum("nrij,njk->rik", lt, inertia) + np.einsum("nij,nrjk->rik", inertia, lt)
    K1 = 2 * S1.transpose(0, 2, 1) - turned
    K2 = 2 * S2.transpose(0, 1, 3, 2)
    R1 = Jl.sum(0)
    R2 = np.einsum("nrij,nsj->rsi", lt, Jl) - total("nij,nrjk,nsk->rsi", l0t, lt, pl)
    R3 = -total("nqij,nrjk,nsk->rsqi", gt, lt, pl)
    W1 = total("nrij,njk,nsk->rsi", lt, pt, gam)
    W2 = np.einsum("nrij,nsj->rsi", lt, Jl)
    L = -total("nrij,nsj->rsi", lt, pl)
    # with L = -(1/m) sum m lambda_r~ p~ lambda_s, b_v has m L
    inner = np.einsum("n,nrij,nsj->nrsi", m, gt, pl) + np.einsum("nij,nrjk,nsk->nrsi", inertia, lt, lam)
    T1 = inner.sum(0)
    T2 = total("nij,nrjk,nsk->rsi", pt, gt, lam) - np.einsum("nrij,nsj->rsi", lt, Jl)
    T3 = np.einsum("nqi,nrsi->rqs", lam, inner)
    Q = T1.swapaxes(0, 1) + T2.swapaxes(0, 1) + W1 + W2 + 2 * F1.swapaxes(0, 1)
    N1, N2 = S1 + J1, S2 + J2
    return SourceIntegrals(
        base.mass,
        base.h0,
        base.J0,
        base.E0,
        base.F0,
        J1 + J1.transpose(0, 2, 1),
        base.G,
        F1,
        _symmetric(J2 + J2.swapaxes(0, 1)) / 2,
        None,
        h1=h1,
        N1=_symmetric(N1),
        N2=_symmetric(N2),
        Q=Q,
        C1=2 * J1.transpose(0, 2, 1) + K1 - tilde(R1),
        C2=2 * J2.transpose(0, 1, 3, 2) + K2,
        T3=T3,
        R2=R2,
        R3=R3,
        L=L,
    )


def _parts(body: FlexibleBody) -> list[PointMasses | _Matrix]:
    """Return the parts that make up the mass of a body."""
    if body.lumped:
        m, p, inertia = body.node_masses, body.node_centres, body.node_inertias
        assert m is not None and p is not None and inertia is not None
        return [PointMasses(body.nodes, m, p, inertia, body.shapes)]
    structure = body.structure
    points = getattr(getattr(structure, "elements", None), "points", None)
    if points is None or body.nodes_removed:
        return [_Matrix(body.mass_matrix, body)]
    places, masses, inertias, shapes = points(body.nodes, body.modes)
    rest = (structure.full_mass - structure.elements.mass_matrix(body.n)).tocsr()
    return [PointMasses(places, masses, np.zeros_like(places), inertias, shapes), *_rest(rest, body)]


def _rest(rest: Any, body: FlexibleBody) -> list[PointMasses | _Matrix]:
    """Return point bodies at nodes that a mass matrix contains besides its elements, from blocks (6, 6)."""
    found = rest.tocoo()
    large = np.abs(found.data) > 1e-12 * max(float(np.abs(body.mass_matrix.diagonal()).max()), 1e-300)
    i, j, values = found.row[large], found.col[large], found.data[large]
    if not len(i):
        return []
    blocks = np.zeros((body.n, 6, 6))
    own = i // 6 == j // 6
    blocks[i[own] // 6, i[own] % 6, j[own] % 6] = values[own]
    masses = np.trace(blocks[:, :3, :3], axis1=1, axis2=2) / 3
    if not own.all() or not np.allclose(blocks[:, :3, :3], masses[:, None, None] * np.eye(3), atol=1e-9 * masses.max()):
        return [_Matrix(rest, body)]
    moments = (blocks[:, 3:, :3] - blocks[:, 3:, :3].swapaxes(1, 2)) / 2
    centres = np.stack([moments[:, 2, 1], moments[:, 0, 2], moments[:, 1, 0]], axis=1)
    centres /= np.where(masses > 0, masses, 1.0)[:, None]
    kept = blocks.any(axis=(1, 2))
    return [PointMasses(body.nodes[kept], masses[kept], centres[kept], blocks[kept, 3:, 3:], body.shapes[kept])]


@dataclass(frozen=True, eq=False)
class PointMasses:
    """Small rigid bodies that move and rotate with the material.

    places (n, 3) m, masses (n,) kg, centres (n, 3) m, inertias (n, 3, 3) kg m2, shapes (n, 6, nm)

    All sums run over products of matrices, so that memory is that of the shapes.
    """

    positions: Array
    masses: Array
    centres: Array
    inertias: Array
    shapes: Array

    def moments(self) -> tuple[Array, Array, Array, Array]:
        """Return int x0 N_r*, int N_r N_s*, int g_rs, int x0 g_rs* with N = gamma + lambda x rho.

        theta x (theta x rho) = eta g eta with g_rs = B_rs rho, B_rs = (lambda_r~ lambda_s~ + lambda_s~ lambda_r~) / 2,
        and a~ b~ = b a* - (a . b) 1.
        """
        m, p, x0 = self.masses, self.centres, self.positions
        lam, gam = self.shapes[:, :3], self.shapes[:, 3:]  # (n, 3, nm)
        nm = lam.shape[2]
        spread = (
            np.trace(self.inertias, axis1=1, axis2=2)[:, None, None] / 2 * np.eye(3) - self.inertias
        )  # int rho rho*
        A = -np.einsum("ijk,nkr->nrij", _LEVI_CIVITA, lam)  # lambda_r~
        moved = gam + np.einsum("nrij,nj->nir", A, p)  # of the centre
        C0r = np.einsum("ni,njr->rij", m[:, None] * x0, moved) + np.einsum("ni,njr->rij", m[:, None] * p, gam)
        C0r = C0r + np.einsum("nik,nrjk->rij", spread, A)
        heavy = m[:, None, None] * gam
        Crs = _product(heavy, moved) + _product(m[:, None, None] * (moved - gam), gam)
        turned = np.einsum("nrik,nkl->nlir", A, spread)  # (n, l, i, r)
        n = len(m)
        Crs = Crs + _product(turned.reshape(3 * n, 3, nm), A.transpose(0, 3, 2, 1).reshape(3 * n, 3, nm))
        offset = _second(lam, np.einsum("ni,nir->nr", p, lam), p, m)
        moments = np.stack([_second(lam, np.einsum("ni,nir->nr", p, lam), p, m * x0[:, i]) for i in range(3)], axis=2)
        # int S_ik B_rs,jk, S the spread
        aside = _product(np.einsum("nik,nkr->nir", spread, lam), lam)  # [r, s, i, j]
        aside = (aside + aside.swapaxes(0, 1)) / 2
        for i in range(3):
            for j in range(3):
                aside[:, :, i, j] -= _weighted(lam, spread[:, i, j])
        return C0r, Crs, offset, moments + aside


def _product(a: Array, b: Array) -> Array:
    """Return sum_n a_nir b_njs as [r, s, i, j]."""
    nm = a.shape[2]
    whole = a.reshape(len(a), -1).T @ b.reshape(len(b), -1)
    return whole.reshape(3, nm, 3, nm).transpose(1, 3, 0, 2)


def _weighted(lam: Array, weights: Array) -> Array:
    """Return sum_n weight_n lambda_r . lambda_s (nm, nm)."""
    flat = lam.reshape(-1, lam.shape[2])
    return (np.repeat(weights, 3)[:, None] * flat).T @ flat


def _second(lam: Array, along: Array, p: Array, weights: Array) -> Array:
    """Return sum_n weight_n B_rs p (nm, nm, 3), along = p . lambda_r."""
    nm = lam.shape[2]
    first = ((weights[:, None] * along).T @ lam.reshape(len(lam), -1)).reshape(nm, 3, nm).transpose(0, 2, 1)
    total = (first + first.swapaxes(0, 1)) / 2
    for j in range(3):
        if p[:, j].any():
            total[:, :, j] -= _weighted(lam, weights * p[:, j])
    return total


@dataclass(frozen=True, eq=False)
class _Matrix:
    """Mass matrix without further data: its translational part, averaged over the directions."""

    matrix: Any
    body: FlexibleBody

    def moments(self) -> tuple[Array, Array, Array, Array]:
        n, nm = self.body.n, self.body.nm
        mass: Any = sum(self.matrix[k::6, k::6] for k in range(3)) / 3
        gam = self.body.shapes[:, 3:]  # (n, 3, nm)
        heavy = np.asarray(mass @ gam.reshape(n, 3 * nm)).reshape(n, 3, nm)
        C0r = np.einsum("ni,njr->rij", self.body.nodes, heavy)
        return C0r, _product(gam, heavy), np.zeros((nm, nm, 3)), np.zeros((nm, nm, 3, 3))


def _inertia(C: Array) -> Array:
    """Return tr(C) 1 - C of symmetric matrices (..., 3, 3)."""
    return np.trace(C, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - C


def _symmetric(C: Array) -> Array:
    return (C + C.swapaxes(-1, -2)) / 2


def _six(J: Array) -> Array:
    """Return xx xy xz yy yz zz of symmetric matrices."""
    return J[..., [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
