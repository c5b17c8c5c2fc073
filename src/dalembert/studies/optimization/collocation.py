"""Direct collocation (Hermite-Simpson) of the equations of motion, with exact derivatives.

The unknowns are the states y = (q, v, x) and efforts u at K + 1 times, and the duration T; h = T / K. Within a step y
is cubic and u linear. The equations of motion y' = f(y, u) hold at both ends and in the middle (Hargraves and Paris
1987; Kelly 2017, section 4):

    y_m = (y_0 + y_1) / 2 + h (f_0 - f_1) / 8                                                                     (1)
    0 = y_1 - y_0 - h (f_0 + 4 f_m + f_1) / 6                                                                     (2)

The core evaluates f with all loop constraints. Its accelerations satisfy them, so a motion that starts on the loops
stays on them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Array, IndexArray
from ...model import Model
from .collocation_curvature import Curvature
from .solvers import NonlinearProgram

__all__ = ["Transcription"]


@dataclass(eq=False)
class Transcription:
    """Transcription of a motion to a nonlinear program in scaled unknowns.

    Attributes
    ----------
    model : Model
    columns : (nu,) int
        Indices of the velocities along which efforts act.
    steps : int
    start : (ny,)
        Initial state.
    ends : (k,) int, end : (k,)
        Indices of the prescribed entries of the final state, and their values.
    state_bounds : (2, ny), effort_bounds : (2, nu), time_bounds : (2,)
    time_weight, effort_weight : float
        Weights of T, and of the time integral of the sum of squares of the scaled efforts.
    state_scale : (ny,), effort_scale : (nu,)
    t_start : float, s
    """

    model: Model
    columns: IndexArray
    steps: int
    start: Array
    ends: IndexArray
    end: Array
    state_bounds: Array
    effort_bounds: Array
    time_bounds: Array
    time_weight: float
    effort_weight: float
    state_scale: Array
    effort_scale: Array
    t_start: float = 0.0
    _last: tuple[Array, Points] | None = field(default=None, init=False, repr=False)

    @property
    def ny(self) -> int:
        """Number of entries of a state."""
        return len(self.start)

    @property
    def nu(self) -> int:
        """Number of efforts."""
        return len(self.columns)

    @cached_property
    def time_scale(self) -> float:
        """Typical duration of the motion, s, for scaling."""
        return float(np.mean(self.time_bounds))

    def packed(self, y: Array, u: Array, T: float) -> Array:
        """Pack states (K + 1, ny), efforts (K + 1, nu) and the duration into scaled unknowns."""
        return np.concatenate([(y / self.state_scale).ravel(), (u / self.effort_scale).ravel(), [T / self.time_scale]])

    def unpacked(self, z: Array) -> tuple[Array, Array, float]:
        """Unpack scaled unknowns into states, efforts and the duration."""
        k = self.steps + 1
        y = z[: k * self.ny].reshape(k, self.ny) * self.state_scale
        u = z[k * self.ny : -1].reshape(k, self.nu) * self.effort_scale
        return y, u, float(z[-1]) * self.time_scale

    def rates(self, t: Array, y: Array, u: Array) -> Array:
        """Return the state rates f (B, ny) at states and efforts."""
        q, v, x, tau = self._parts(y, u)
        found = self.model.dynamics(t, q, v, x, tau=tau)
        return np.concatenate([v, found.a, found.dx], axis=1)

    def slopes(self, t: Array, y: Array, u: Array) -> tuple[Array, Array]:
        """Return the derivatives of f by states (B, ny, ny) and by efforts (B, ny, nu)."""
        q, v, x, tau = self._parts(y, u)
        nv, ny = self.model.nv, self.ny
        d = self.model.d_dynamics(t, q, v, x, tau=tau, multipliers=False)
        A, B = np.zeros((len(y), ny, ny)), np.zeros((len(y), ny, self.nu))
        A[:, :nv, nv : 2 * nv] = np.eye(nv)
        for rows, by in ((slice(nv, 2 * nv), d.a), (slice(2 * nv, None), d.dx)):
            A[:, rows] = np.concatenate([by.q, by.v, by.x], axis=2)
            B[:, rows] = by.tau[:, :, self.columns]
        return A, B

    def _parts(self, y: Array, u: Array) -> tuple[Array, Array, Array, Array]:
        nv = self.model.nv
        tau = np.zeros((len(y), nv))
        tau[:, self.columns] = u
        return y[:, :nv], y[:, nv : 2 * nv], y[:, 2 * nv :], tau

    def points(self, z: Array) -> Points:
        """Return the ends and middles of all steps; those of the last z are kept."""
        if self._last is None or not np.array_equal(self._last[0], z):
            self._last = z.copy(), Points.of(self, z)
        return self._last[1]

    def defects(self, z: Array) -> Array:
        """Return the scaled defects (2) of all steps, (K ny,)."""
        p = self.points(z)
        off = p.y[1:] - p.y[:-1] - p.h * (p.f[:-1] + 4 * p.fm + p.f[1:]) / 6
        return np.asarray((off / self.state_scale).ravel())

    def jacobian(self, z: Array) -> Any:
        """Return the sparse Jacobian of the defects (2), (K ny, n)."""
        import scipy.sparse as sparse

        K, ny, nu = self.steps, self.ny, self.nu
        p = self.points(z)
        h, f, fm = p.h, p.f, p.fm
        (A, B), (Am, Bm) = p.slopes, p.middle_slopes
        eye = np.eye(ny)
        by_y0 = -eye - h / 6 * (A[:-1] + 4 * Am @ (eye / 2 + h / 8 * A[:-1]))
        by_y1 = eye - h / 6 * (A[1:] + 4 * Am @ (eye / 2 - h / 8 * A[1:]))
        by_u0 = -h / 6 * (B[:-1] + 4 * (h / 8 * Am @ B[:-1] + Bm / 2))
        by_u1 = -h / 6 * (B[1:] + 4 * (-h / 8 * Am @ B[1:] + Bm / 2))
        moved = (Am @ (f[:-1] - f[1:])[..., None])[..., 0] / 8
        by_T = (-(f[:-1] + 4 * fm + f[1:]) / 6 - h / 6 * 4 * moved) / K
        scale = self.state_scale
        blocks = (
            (by_y0 * scale, 0, ny),
            (by_y1 * scale, ny, ny),
            (by_u0 * self.effort_scale, (K + 1) * ny, nu),
            (by_u1 * self.effort_scale, (K + 1) * ny + nu, nu),
        )
        rows, columns, values = [], [], []
        for block, first, wide in blocks:
            r, c = np.meshgrid(np.arange(ny), np.arange(wide), indexing="ij")
            rows.append((np.arange(K)[:, None, None] * ny + r).ravel())
            columns.append((first + np.arange(K)[:, None, None] * wide + c).ravel())
            values.append((block / scale[:, None]).ravel())
        rows.append(np.arange(K * ny))
        columns.append(np.full(K * ny, (K + 1) * (ny + nu)))
        values.append((by_T / scale).ravel() * self.time_scale)
        shape = (K * ny, (K + 1) * (ny + nu) + 1)
        joined = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        return sparse.csr_matrix(joined, shape=shape)

    def cost(self, z: Array) -> float:
        """Return the objective."""
        _, u, T = self.unpacked(z)
        w = u / self.effort_scale
        squares = (w[:-1] ** 2 + w[:-1] * w[1:] + w[1:] ** 2).sum() / 3  # exact for linear efforts
        return float(self.time_weight * T + self.effort_weight * T / self.steps * squares)

    def gradient(self, z: Array) -> Array:
        """Return the gradient of the objective."""
        _, u, T = self.unpacked(z)
        w, h = u / self.effort_scale, T / self.steps
        by = np.zeros_like(w)
        by[:-1] += 2 * w[:-1] + w[1:]
        by[1:] += w[:-1] + 2 * w[1:]
        squares = (w[:-1] ** 2 + w[:-1] * w[1:] + w[1:] ** 2).sum() / 3
        by_T = (self.time_weight + self.effort_weight * squares / self.steps) * self.time_scale
        states = np.zeros((self.steps + 1) * self.ny)
        return np.concatenate([states, (self.effort_weight * h / 3 * by).ravel(), [by_T]])

    def program(self) -> NonlinearProgram:
        """Return the nonlinear program; prescribed end values are equal lower and upper bounds."""
        K = self.steps + 1
        states = np.repeat(self.state_bounds[:, None] / self.state_scale, K, axis=1)
        states[:, 0] = self.start / self.state_scale
        states[:, -1, self.ends] = self.end / self.state_scale[self.ends]
        efforts = np.repeat(self.effort_bounds[:, None] / self.effort_scale, K, axis=1)
        times = np.asarray(self.time_bounds) / self.time_scale
        lower, upper = (np.concatenate([states[k].ravel(), efforts[k].ravel(), [times[k]]]) for k in (0, 1))
        none = np.zeros(self.steps * self.ny)
        curvature = Curvature(self).of
        return NonlinearProgram(
            self.cost, self.gradient, self.defects, self.jacobian, lower, upper, none, none, curvature=curvature
        )


@dataclass(eq=False)
class Points:
    """Ends and middles of all steps: times, states, efforts, their rates, and slopes of these where they are asked for.

    Attributes
    ----------
    h : float, s
    t, y, u, f : (K + 1,), (K + 1, ny), (K + 1, nu), (K + 1, ny)
        Of the ends.
    tm, ym, um, fm : the same of the middles, K rows
    """

    transcription: Transcription
    h: float
    t: Array
    y: Array
    u: Array
    f: Array
    tm: Array
    ym: Array
    um: Array
    fm: Array

    @classmethod
    def of(cls, transcription: Transcription, z: Array) -> Points:
        """Return those of scaled unknowns."""
        y, u, T = transcription.unpacked(z)
        h, t = T / transcription.steps, transcription.t_start + np.linspace(0, T, len(y))
        f = transcription.rates(t, y, u)
        tm, ym, um = (t[:-1] + t[1:]) / 2, (y[:-1] + y[1:]) / 2 + h * (f[:-1] - f[1:]) / 8, (u[:-1] + u[1:]) / 2
        return cls(transcription, h, t, y, u, f, tm, ym, um, transcription.rates(tm, ym, um))

    @cached_property
    def slopes(self) -> tuple[Array, Array]:
        """Derivatives of the rates at the ends by states and by efforts."""
        return self.transcription.slopes(self.t, self.y, self.u)

    @cached_property
    def middle_slopes(self) -> tuple[Array, Array]:
        """Derivatives of the rates at the middles by states and by efforts."""
        return self.transcription.slopes(self.tm, self.ym, self.um)
