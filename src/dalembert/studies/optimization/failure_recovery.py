"""Nonlinear program of the goals that tolerates failed evaluations."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from .evaluator import Evaluation, Evaluator
from .solvers import NonlinearProgram

__all__ = ["GuardedProgram"]


class GuardedProgram:
    """Nonlinear program in scaled variables that tolerates failed points.

    A failed point gets an objective worse than all evaluated ones, so that the solver steps back.
    """

    def __init__(self, evaluator: Evaluator, here: Evaluation) -> None:
        self.ev, self.good = evaluator, here
        self.worst = abs(here.cost)
        self.size = max(1e-12, self.worst)
        self.steepness: tuple[Array, list[Array]] | None = None
        self.row_size = [goal.size for goal in evaluator.constraints]

    def program(self) -> NonlinearProgram:
        """Return the nonlinear program."""
        v, ev = self.ev.variables, self.ev
        sizes = [np.full(c.size, s) for c, s in zip(self.good.constraints, self.row_size, strict=True)]
        each = [(g, c.size, s) for g, c, s in zip(ev.constraints, self.good.constraints, self.row_size, strict=True)]
        low = np.concatenate([[], *(np.full(k, g.lower / s) for g, k, s in each)])
        high = np.concatenate([[], *(np.full(k, g.upper / s) for g, k, s in each)])
        self._sizes = np.concatenate([[], *sizes])
        squares = self.good.squares
        return NonlinearProgram(
            self.value,
            self.gradient,
            self.rows,
            self.jacobian,
            v.to_unit(v.lower),
            v.to_unit(v.upper),
            low,
            high,
            self.residuals if squares else None,
            self.slopes if squares else None,
            integral=v.discrete if v.discrete.any() else None,
        )

    def _at(self, z: Array) -> Evaluation:
        found = self.ev.at(self.ev.variables.from_unit(z))
        if not found.error and found.objective.size == self.good.objective.size:
            self.good = found
            self.worst = max(self.worst, abs(found.cost))
        return found

    def value(self, z: Array) -> float:
        """Return the objective."""
        found = self._at(z)
        if found.error:
            return float((2 * self.worst + self.size) / self.size)
        return found.cost / self.size

    def residuals(self, z: Array) -> Array:
        """Return the residuals whose squares are summed."""
        found = self._at(z)
        root = np.sqrt(self.size)
        if found.error:
            return np.full(self.good.objective.size, 2 * np.sqrt(self.worst / self.good.objective.size) / root + 1.0)
        return np.asarray(found.objective / root)

    def rows(self, z: Array) -> Array:
        """Return the constraints; at a failed point, those of the last successful one."""
        found = self._at(z)
        found = self.good if found.error else found
        return np.asarray(np.concatenate([[], *found.constraints]) / self._sizes)

    def _slopes(self, z: Array) -> tuple[Array, list[Array]]:
        x = self.ev.variables.from_unit(z)
        found = self.ev.slopes(x)
        if found is not None:
            self.steepness = found
        if self.steepness is None:
            n = len(self.ev.variables)
            return np.zeros((self.good.objective.size, n)), [np.zeros((c.size, n)) for c in self.good.constraints]
        return self.steepness

    def gradient(self, z: Array) -> Array:
        """Return the derivative of the objective."""
        own, _ = self._slopes(z)
        own = own * self.ev.variables.scale
        found = self._at(z)
        if self.good.squares:
            found = self.good if found.error else found
            return np.asarray(2 * found.objective @ own / self.size)
        return np.asarray(own[0] / self.size)

    def slopes(self, z: Array) -> Array:
        """Return the Jacobian of the residuals."""
        return np.asarray(self._slopes(z)[0] * self.ev.variables.scale / np.sqrt(self.size))

    def jacobian(self, z: Array) -> Array:
        """Return the Jacobian of the constraints."""
        n = len(self.ev.variables)
        rows = np.concatenate([np.zeros((0, n)), *self._slopes(z)[1]])
        return np.asarray(rows * self.ev.variables.scale / self._sizes[:, None])
