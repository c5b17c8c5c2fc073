"""Past states of a run, for inputs with a delay."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from .interpolation import Piece, attitudes

if TYPE_CHECKING:
    from .model import Model

__all__ = ["History"]

Row = tuple[Array, Array, Array, Array, Array]  # q, v, x, a, dx


class History:
    """States of a run so far, for delayed inputs.

    Rows are added during the run. Between them coordinates are interpolated on their manifold by quintics with
    the velocities and accelerations of both ends, element states by cubics. A jump of the state has two rows.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.turning = attitudes(model.coordinate_names, model.speed_names)
        self.t: list[float] = []
        self.rows: list[Row] = []
        self.pieces: dict[int, Piece] = {}  # from a row to the next, as far as they were needed

    @property
    def begin(self) -> float:
        """Time of the first row, s."""
        return self.t[0] if self.t else np.inf

    def add(self, t: float, q: Array, v: Array, x: Array, a: Array, dx: Array, *, jump: bool = False) -> None:
        """Add a row; it replaces rows that are not before it, except for the last before a jump."""
        while self.t and (t < self.t[-1] or (t == self.t[-1] and not jump)):
            self.t.pop()
            self.rows.pop()
            self.pieces.pop(len(self.t) - 1, None)
        self.t.append(t)
        self.rows.append((q.copy(), v.copy(), x.copy(), a.copy(), dx.copy()))

    def at(self, t: float) -> tuple[Array, Array, Array]:
        """Return q, v and x at a time within the run so far."""
        k = bisect_right(self.t, t) - 1
        if k >= len(self.t) - 1 or self.t[k] == t:
            return self.rows[min(k, len(self.t) - 1)][:3]
        piece = self.pieces.get(k)
        if piece is None:
            piece = self.pieces[k] = self.piece(self.t[k + 1] - self.t[k], self.rows[k], self.rows[k + 1])
        return piece.at((t - self.t[k]) / piece.h)

    def piece(self, h: float, first: Row, last: Row) -> Piece:
        """Return the motion between two rows separated by a time h."""
        return Piece.between(h, first, last, self.turning)

    def arrays(self) -> tuple[Array, ...]:
        """Return all rows: t (n,), q, v, x, a, dx (n, ...)."""
        sizes = (self.model.nq, self.model.nv, self.model.nx, self.model.nv, self.model.nx)
        n = len(self.rows)
        columns = (np.array([row[k] for row in self.rows]).reshape(n, size) for k, size in enumerate(sizes))
        return np.array(self.t), *columns

    def fill(self, arrays: tuple[Array, ...]) -> None:
        """Replace all rows by those of another history."""
        t, *columns = arrays
        self.t, self.pieces = t.tolist(), {}
        self.rows = list(zip(*columns, strict=True))
