"""Past states of a run, for inputs with a delay."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..arrays import Array
from ..connections.laws import Constant
from .callbacks import OutputInputCallback
from .interpolation import Piece, attitudes, plain_columns

if TYPE_CHECKING:
    from .model import Model

__all__ = ["History"]

Row = tuple[Array, Array, Array, Array, Array]  # q, v, x, a, dx


class History:
    """States of a run so far, for delayed inputs.

    Rows are added during the run. Between them coordinates are interpolated on their manifold by quintics with
    the velocities and accelerations of both ends, element states by cubics. A jump of the state has two rows.

    Attributes
    ----------
    core : DelayedInputs or None
        The same rows in the core, if it has all delayed inputs: coordinates that belong to no quaternion, their
        velocities and element states, constant before the run.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.turning = attitudes(model.coordinate_names, model.speed_names)
        self.t: list[float] = []
        self.rows: list[Row] = []
        self.pieces: dict[int, Piece] = {}  # from a row to the next, as far as they were needed
        self.core = _delayed_inputs(model, plain_columns(model.nq, model.nv, self.turning))

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
        self._append(t, (q.copy(), v.copy(), x.copy(), a.copy(), dx.copy()))

    def _append(self, t: float, row: Row) -> None:
        if self.core is not None:
            self.core.add(len(self.t), t, *row)
        self.t.append(t)
        self.rows.append(row)

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
        self.t, self.rows, self.pieces = [], [], {}
        for time, *row in zip(t.tolist(), *columns, strict=True):
            self._append(time, tuple(map(np.ascontiguousarray, row)))  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.model, self.arrays())


def _restored(model: Model, arrays: tuple[Array, ...]) -> History:
    history = History(model)
    history.fill(arrays)
    return history


def _delayed_inputs(model: Model, plain: tuple[list[int], list[int]]) -> _core.DelayedInputs | None:
    """Return the delayed inputs of a model for the core; None if there are others.

    plain : columns of q and of v that belong to no quaternion, in order
    """
    speeds = dict(zip(*plain, strict=True))
    coordinates = {v: q for q, v in speeds.items()}
    places, numbers = [], []
    for law in model.callback_laws:
        source = law.output.source if isinstance(law, OutputInputCallback) else None
        if source is None or source.combined or law.output.base is not None or law.delay is None:
            return None
        if not isinstance(law.delay.before, Constant):
            return None
        index = source.indices[0]
        if source.part == "q" and index in speeds:
            places.append((0, index, speeds[index]))
        elif source.part == "v" and index in coordinates:
            places.append((1, coordinates[index], index))
        elif source.part == "x":
            places.append((2, index, index))
        else:
            return None
        numbers.append((law.delay.time, law.delay.before.value))
    return _core.DelayedInputs(np.array(places, dtype=np.int64), np.array(numbers, dtype=float)) if places else None
