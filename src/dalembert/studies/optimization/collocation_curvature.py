"""Second derivatives of direct collocation (`collocation`): of its objective and of sums of its defects.

With weights mu of the defects (2) of a step, w = A_m^T mu and r = (f_0 - f_1) / 8, in local unknowns
zeta = (y_0, y_1, u_0, u_1) and the length h of the step, [.]'' being second derivatives by states and efforts,

    L_zeta_zeta = -h/6 ([(mu + h w/2) . f_0]'' + [(mu - h w/2) . f_1]'' + 4 G^T [mu . f_m]'' G)                   (3)
    L_h_zeta = -((mu . f_0)' + (mu . f_1)' + 4 (mu . f_m)') / 6 - 2h/3 (G^T [mu . f_m]'' (r; 0) + (w . r)')        (4)
    L_h_h = -4/3 w . r - 2h/3 (r; 0) . [mu . f_m]'' (r; 0)                                                       (5)

G being the derivative of (y_m, u_m). [.]'' are differences of the exact first derivatives, of relative error 1e-6;
rates are taken to be affine in efforts, as they are without friction by load. The rate of convergence of a solver
depends on both, its end does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array, IndexArray

if TYPE_CHECKING:
    from .collocation import Transcription

__all__ = ["Curvature"]

_STEP = 1e-7  # of differences, in scaled states and efforts


class Curvature:
    """Second derivatives of a transcription in its scaled unknowns.

    Parameters
    ----------
    transcription : Transcription
    """

    def __init__(self, transcription: Transcription) -> None:
        self.of_whom = transcription
        t = transcription
        K, ny, nu = t.steps, t.ny, t.nu
        self.local = np.concatenate([t.state_scale, t.state_scale, t.effort_scale, t.effort_scale])
        steps = np.arange(K)[:, None]
        efforts = (K + 1) * ny
        last = efforts + (K + 1) * nu
        places = np.concatenate(
            [
                steps * ny + np.arange(2 * ny),
                efforts + steps * nu + np.arange(2 * nu),
                np.full((K, 1), last),
            ],
            axis=1,
        )  # of the local unknowns and of the duration
        n = places.shape[1]
        rows, columns = np.broadcast_arrays(places[:, :, None], places[:, None, :])
        self.upper = rows <= columns
        key = columns[self.upper] * (last + 1) + rows[self.upper]
        found, self.entry = np.unique(key, return_inverse=True)
        self.indices: IndexArray = found % (last + 1)
        self.starts = np.searchsorted(found // (last + 1), np.arange(last + 2))
        self.size, self.n = last + 1, n

    def of(self, z: Array, sigma: float, by: Array) -> Any:
        """Return the upper triangle of the second derivatives of sigma f + by . g at z, by columns."""
        import scipy.sparse as sparse

        blocks = self._defects(z, by) + sigma * self._objective(z)
        values = np.bincount(self.entry, blocks[self.upper], len(self.indices))
        return sparse.csc_matrix((values, self.indices, self.starts), shape=(self.size, self.size))

    def _objective(self, z: Array) -> Array:
        """Return the second derivatives of the part of each step, (K, n, n)."""
        t = self.of_whom
        K, ny, nu = t.steps, t.ny, t.nu
        _, u, T = t.unpacked(z)
        w, h = u / t.effort_scale, T / K
        found = np.zeros((K, self.n, self.n))
        first, second = (slice(2 * ny + k * nu, 2 * ny + (k + 1) * nu) for k in (0, 1))
        eye = t.effort_weight * h / 3 * np.eye(nu)
        found[:, first, first] = found[:, second, second] = 2 * eye
        found[:, first, second] = found[:, second, first] = eye
        by_h = t.effort_weight * t.time_scale / K / 3
        found[:, first, -1] = found[:, -1, first] = by_h * (2 * w[:-1] + w[1:])
        found[:, second, -1] = found[:, -1, second] = by_h * (w[:-1] + 2 * w[1:])
        return found

    def _defects(self, z: Array, by: Array) -> Array:
        """Return the second derivatives of each step's defects, weighed, (K, n, n)."""
        t = self.of_whom
        K, ny, nu = t.steps, t.ny, t.nu
        p = t.points(z)
        h, mu = p.h, by.reshape(K, ny) / t.state_scale
        (A, B), (Am, Bm) = p.slopes, p.middle_slopes
        w, r = _product(Am, mu), (p.f[:-1] - p.f[1:]) / 8
        nodes = np.zeros((K + 1, ny))
        nodes[:-1] += mu + h / 2 * w
        nodes[1:] += mu - h / 2 * w
        at_nodes, middle = self._second(p.t, p.y, p.u, A, B, nodes), self._second(p.tm, p.ym, p.um, Am, Bm, mu)
        G = np.zeros((K, ny + nu, 2 * ny + 2 * nu))
        eye = np.eye(ny) / 2
        G[:, :ny, :ny], G[:, :ny, ny : 2 * ny] = eye + h / 8 * A[:-1], eye - h / 8 * A[1:]
        G[:, :ny, 2 * ny : 2 * ny + nu], G[:, :ny, 2 * ny + nu :] = h / 8 * B[:-1], -h / 8 * B[1:]
        G[:, ny:, 2 * ny : 2 * ny + nu] = G[:, ny:, 2 * ny + nu :] = np.eye(nu) / 2
        turned = np.swapaxes(G, 1, 2)
        found = np.zeros((K, self.n, self.n))
        inner = found[:, :-1, :-1]
        inner += -2 * h / 3 * (turned @ middle @ G)
        # a node's second derivatives count once: with the step that begins there, the last one with the step that ends
        at = np.concatenate([np.arange(ny), 2 * ny + np.arange(nu)])
        found[:, at[:, None], at] += -h / 6 * at_nodes[:-1]
        end = np.concatenate([ny + np.arange(ny), 2 * ny + nu + np.arange(nu)])
        found[-1][np.ix_(end, end)] += -h / 6 * at_nodes[-1]
        ahead = np.concatenate([r, np.zeros((K, nu))], axis=1)
        bent = (middle @ ahead[..., None])[..., 0]
        ends = [_product(A[:-1], mu), _product(A[1:], mu), _product(B[:-1], mu), _product(B[1:], mu)]
        along = [_product(A[:-1], w), -_product(A[1:], w), _product(B[:-1], w), -_product(B[1:], w)]
        inside = np.concatenate([w, _product(Bm, mu)], axis=1)
        by_h = -(np.concatenate(ends, axis=1) + 4 * _product(G, inside)) / 6
        by_h -= 2 * h / 3 * (_product(G, bent) + np.concatenate(along, axis=1) / 8)
        per = t.time_scale / K
        found[:, :-1, :-1] *= self.local[:, None] * self.local
        found[:, :-1, -1] = found[:, -1, :-1] = per * by_h * self.local
        found[:, -1, -1] = per**2 * (-4 / 3 * (w * r).sum(axis=1) - 2 * h / 3 * (ahead * bent).sum(axis=1))
        return found

    def _second(self, times: Array, y: Array, u: Array, A: Array, B: Array, weights: Array) -> Array:
        """Return the second derivatives of weights (B, ny) . f by states and efforts, (B, ny + nu, ny + nu)."""
        t = self.of_whom
        count, ny, nu = len(y), t.ny, t.nu
        steps = _STEP * t.state_scale
        moved = (y[:, None] + np.diag(steps)).reshape(count * ny, ny)
        A1, B1 = t.slopes(np.repeat(times, ny), moved, np.repeat(u, ny, axis=0))
        slope = np.concatenate([_product(A, weights), _product(B, weights)], axis=1)
        many = np.repeat(weights, ny, axis=0)
        other = np.concatenate([_product(A1, many), _product(B1, many)], axis=1).reshape(count, ny, ny + nu)
        by_state = (other - slope[:, None]) / steps[:, None]
        found = np.zeros((count, ny + nu, ny + nu))
        found[:, :ny] = by_state
        found[:, ny:, :ny] = np.swapaxes(by_state[:, :, ny:], 1, 2)
        found[:, :ny, :ny] = (found[:, :ny, :ny] + np.swapaxes(found[:, :ny, :ny], 1, 2)) / 2
        return found


def _product(matrices: Array, vectors: Array) -> Array:
    """Return the transposed matrices (B, m, n) times vectors (B, m)."""
    return np.asarray((vectors[:, None] @ matrices)[:, 0])
