"""Mass matrix in factored form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array
from ..errors import ModelError
from .argument_errors import checked_configuration

if TYPE_CHECKING:
    from .model import Model

__all__ = ["Factor"]


class Factor:
    """Mass matrix at one configuration in factored form, for many right-hand sides.

    M = (1 + H Phi K) D (1 + H Phi K)^T (Jain and Rodriguez 1990, Lemma 6.1), never formed.
    """

    def __init__(self, model: Model, q: ArrayLike) -> None:
        self._core = _core.MassMatrixFactor(model, checked_configuration(model, "factor", q))
        self._model = model

    def solve(self, x: ArrayLike) -> Array:
        """Return M^-1 x for x of shape (nv,), or for each row of x (k, nv)."""
        nv = self._model.nv
        try:
            rows = np.ascontiguousarray(x, dtype=np.float64)
        except (TypeError, ValueError):
            rows = np.empty(0)
        if rows.ndim not in (1, 2) or rows.shape[-1] != nv or not np.isfinite(rows).all():
            raise ModelError("factor.solve", "x", x, f"give finite numbers of shape ({nv},) or (k, {nv})")
        return self._core.solve(rows)

    def pivots(self) -> Array:
        """Return the diagonal (nv,) of D with factored blocks: all positive; det M is their product."""
        return self._core.pivots()

    def logdet(self) -> float:
        """Return the logarithm of the determinant of M."""
        return float(np.log(self.pivots()).sum())
