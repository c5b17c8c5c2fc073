"""Fast simplification: expanded products, elimination of squares of sines and quaternion entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.simplify.fu import TR8

from ..model import Model
from ..model.interpolation import attitudes

__all__ = ["Simplifier"]

MAX_OPERATIONS = 4000  # operations beyond which an expression is not simplified
MAX_TRIG_OPERATIONS = 40  # the same for sums of angles


@dataclass(frozen=True)
class Simplifier:
    """Simplifier of expressions to a canonical form.

    quaternions : dict of Symbol to expression
        Square of the first entry, by the others.
    """

    quaternions: dict[Any, Any]

    @classmethod
    def of(cls, model: Model, q: list[Any]) -> Simplifier:
        """Return the simplifier for the quaternions of a model."""
        found = {}
        for joint in attitudes(model.coordinate_names, model.speed_names):
            w, x, y, z = q[joint.place : joint.place + 4]
            found[w] = 1 - x**2 - y**2 - z**2
        return cls(found)

    def __call__(self, expression: Any) -> Any:
        """Expand an expression or matrix to sums of products."""
        if isinstance(expression, sp.MatrixBase):
            return expression.applyfunc(self)
        if not expression.free_symbols or expression.is_Symbol or expression.count_ops() > MAX_OPERATIONS:
            return expression
        expanded = sp.expand(expression)
        reduced = expanded.replace(self._falls, self._lower)
        return sp.expand(reduced) if reduced != expanded else expanded

    def shortest(self, expression: Any) -> Any:
        """Return the shorter of an expression, or each entry of a matrix, and its form with sums of angles."""
        if isinstance(expression, sp.MatrixBase):
            return expression.applyfunc(self.shortest)
        size = expression.count_ops()
        if not expression.has(sp.sin, sp.cos) or size > MAX_TRIG_OPERATIONS:
            return expression
        summed = sp.expand(TR8(expression))
        return summed if summed.count_ops() < size else expression

    def _falls(self, part: Any) -> bool:
        whole = part.is_Pow and part.exp.is_Integer and part.exp >= 2
        return bool(whole and (isinstance(part.base, sp.sin) or part.base in self.quaternions))

    def _lower(self, part: Any) -> Any:
        base, n = part.base, int(part.exp)
        square = self.quaternions[base] if base in self.quaternions else 1 - sp.cos(base.args[0]) ** 2
        return square ** (n // 2) * base ** (n % 2)
