"""Least widening, or largest narrowing, of bounds for feasible efforts: batched small convex problems.

    min r,   lam_l + C' lam_r = h,   lower - r wide <= lam <= upper + r wide,   |lam_g / f_g| <= 1 + r for groups g (1)

With lam_l eliminated, each is a problem in lam_r and r, for which a large r gives an interior point. Ellipsoids are
written |lam_g / f_g|^2 / (1 + r) <= 1 + r, which is convex and smooth. Solved by a primal-dual interior-point method
(Boyd and Vandenberghe 2004, section 11.7), for all states in one batch.
"""

from __future__ import annotations

import numpy as np

from dalembert.arrays import Array, BoolArray

__all__ = ["MAX_NARROWING", "minimal_widening"]


MAX_NARROWING = 0.9  # of `wide`; largest narrowing of bounds, a smaller r has no use
DUALITY_GAP_TOL = 1e-12  # of 1 + |r|; gap between r and its dual at a solution
MAX_FORCE_RATIO = 1e6  # of `wide`: bound on |lam| that keeps the search finite
MAX_ITERATIONS = 60


def minimal_widening(
    h: Array, lower: Array, upper: Array, radius: Array, share: Array, wide: Array, groups: list[list[int]]
) -> Array:
    """Return r of (1), (k,), of k states; feasible and nearly least where rounding stops the search.

    Parameters
    ----------
    h : (k, l)
    lower, upper : (k, l + r)
        May be infinite.
    radius, wide : (k, l + r)
        Positive; f of the rows in groups.
    share : (l, r)
        C'.
    groups : list of list of int
        Indices among the l + r rows.
    """
    return _Problems(h, lower, upper, radius, share, wide, groups).solved()


class _Problems:
    """(1) in x = [lam_r / wide; r]: rows a + B x <= 0, and groups (p + Q x)^2 / (1 + r) - (1 + r) <= 0."""

    def __init__(
        self, h: Array, lower: Array, upper: Array, radius: Array, share: Array, wide: Array, groups: list[list[int]]
    ) -> None:
        count, (n, m) = len(h), share.shape
        own = wide[:, n:]
        base = np.concatenate([h, np.zeros((count, m))], axis=1)  # lam = base + slope u
        slope = np.concatenate([-share * own[:, None, :], own[:, :, None] * np.eye(m)], axis=1)
        parts = []
        for sign, bound in ((1.0, upper), (-1.0, -lower)):
            known = np.isfinite(bound)
            a = np.where(known, (sign * base - np.where(known, bound, 0.0)) / wide, -1.0)
            B = np.where(known[:, :, None], sign * slope / wide[:, :, None], 0.0)
            parts.append((a, B, np.where(known, -1.0, 0.0)))
        far = np.tile(np.eye(m), (count, 1, 1))
        none, limit = np.zeros((count, m)), np.full((count, m), -MAX_FORCE_RATIO)
        parts += [(limit, far, none), (limit, -far, none)]
        parts.append((np.full((count, 1), -MAX_NARROWING), np.zeros((count, 1, m)), np.full((count, 1), -1.0)))
        self.a = np.concatenate([a for a, _, _ in parts], axis=1)
        self.B = np.concatenate([np.concatenate([B, r[:, :, None]], axis=2) for _, B, r in parts], axis=1)
        slope, self.B = self._scaled(slope, radius, groups, self.B, 2 * (n + m))
        self.p = [base[:, g] / radius[:, g] for g in groups]
        self.Q = [slope[:, g] / radius[:, g, None] for g in groups]

    @staticmethod
    def _scaled(slope: Array, radius: Array, groups: list[list[int]], B: Array, bounds: int) -> tuple[Array, Array]:
        """Return slopes of efforts and rows B, the first of them bounds, with unknowns in the units that matter."""
        most = np.abs(B[:, :bounds, :-1]).max(axis=1, initial=0.0)
        for g in groups:
            most = np.maximum(most, np.abs(slope[:, g] / radius[:, g, None]).max(axis=1))
        unit = np.where(most > 0, most, 1.0)[:, None, :]
        return slope / unit, np.concatenate([B[:, :, :-1] / unit, B[:, :, -1:]], axis=2)

    def values(self, x: Array, which: BoolArray) -> Array:
        """Return the constraint functions, (k, rows), which must not be positive."""
        rows = self.a[which] + (self.B[which] @ x[:, :, None])[:, :, 0]
        room = 1.0 + x[:, -1]
        groups = [((p[which] + (Q[which] @ x[:, :-1, None])[:, :, 0]) ** 2).sum(1) for p, Q in self._groups]
        return np.column_stack([rows, *(square / room - room for square in groups)])

    @property
    def _groups(self) -> list[tuple[Array, Array]]:
        return list(zip(self.p, self.Q, strict=True))

    def slopes(self, x: Array, z: Array, which: BoolArray) -> tuple[Array, Array]:
        """Return the derivatives of the values (k, rows, n), and the sum of z times their second ones (k, n, n)."""
        count, n = x.shape
        G, H = [self.B[which]], np.zeros((count, n, n))
        room = 1.0 + x[:, -1]
        first = z.shape[1] - len(self.p)
        for j, (p, Q) in enumerate(self._groups):
            y, slope = p[which] + (Q[which] @ x[:, :-1, None])[:, :, 0], Q[which]
            row = np.concatenate(
                [2.0 * (y[:, None, :] @ slope)[:, 0] / room[:, None], -((y * y).sum(1) / room**2)[:, None] - 1.0],
                axis=1,
            )
            G.append(row[:, None, :])
            # of y'y / room: 2 D'D / room with D = [dy, -y / room]
            D = np.concatenate([slope, -(y / room[:, None])[:, :, None]], axis=2)
            H += (2.0 * z[:, first + j] / room)[:, None, None] * (D.swapaxes(1, 2) @ D)
        return np.concatenate(G, axis=1), H

    def start(self) -> Array:
        """Return a point inside all bounds, (k, n)."""
        count, n = len(self.a), self.B.shape[2]
        x = np.zeros((count, n))
        relaxed = self.B[:, :, -1] < 0.0
        worst = np.where(relaxed, self.a, 0.0).max(axis=1)
        for p in self.p:
            worst = np.maximum(worst, np.linalg.norm(p, axis=1) - 1.0)
        x[:, -1] = np.maximum(worst, 0.0) + 1.0
        return x

    def solved(self) -> Array:
        """Return r."""
        x = self.start()
        everything = np.ones(len(x), dtype=bool)
        z = -1.0 / self.values(x, everything)
        open_ = everything.copy()
        for _ in range(MAX_ITERATIONS):
            x[open_], z[open_], gap, off = self._step(x[open_], z[open_], open_)
            open_[open_] = (gap > DUALITY_GAP_TOL * (1.0 + np.abs(x[open_, -1]))) | (off > 1e-9)
            if not open_.any():
                break
        return np.asarray(x[:, -1])

    def _step(self, x: Array, z: Array, which: BoolArray) -> tuple[Array, Array, Array, Array]:
        """Return the next points and multipliers, their duality gaps, and the dual residuals."""
        f = self.values(x, which)
        G, H = self.slopes(x, z, which)
        rows = f.shape[1]
        gap = -(f * z).sum(1)
        centre = 0.1 * gap / rows  # 1/t
        dual = (z[:, None, :] @ G)[:, 0]
        dual[:, -1] += 1.0
        K = H + G.swapaxes(1, 2) @ (np.where(f < 0, z / -f, 0.0)[:, :, None] * G)
        K += (1e-15 * np.trace(K, axis1=1, axis2=2))[:, None, None] * np.eye(x.shape[1])
        central = -z * f - centre[:, None]
        right = dual + (((central / f)[:, None, :]) @ G)[:, 0]
        dx = -np.linalg.solve(K, right[:, :, None])[:, :, 0]
        dz = (central - z * (G @ dx[:, :, None])[:, :, 0]) / f
        with np.errstate(divide="ignore", invalid="ignore"):
            s = 0.99 * np.minimum(1.0, np.where(dz < 0, -z / dz, np.inf).min(axis=1))
        norm = np.sqrt((dual**2).sum(1) + (central**2).sum(1))
        for _ in range(40):
            x1, z1 = x + s[:, None] * dx, z + s[:, None] * dz
            inside = x1[:, -1] > -1.0
            f1 = self.values(np.where(inside[:, None], x1, x), which)
            inside &= (f1 < 0.0).all(axis=1)
            G1, _ = self.slopes(np.where(inside[:, None], x1, x), z1, which)
            d1 = (z1[:, None, :] @ G1)[:, 0]
            d1[:, -1] += 1.0
            now = np.sqrt((d1**2).sum(1) + ((-z1 * f1 - centre[:, None]) ** 2).sum(1))
            good = inside & (now <= (1.0 - 0.01 * s) * norm + 1e-14)
            if good.all():
                break
            s = np.where(good, s, 0.5 * s)
        x1, z1 = (np.where(good[:, None], new, old) for new, old in ((x1, x), (z1, z)))
        f1 = np.where(good[:, None], f1, f)
        return x1, z1, -(f1 * z1).sum(1), np.abs(np.where(good[:, None], d1, dual)).max(axis=1)
