"""Limits of joint coordinates, of the tree and where loops are cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..connections.joints import Joint
from ..errors import ModelError
from ..model import Model
from .named_velocities import named_velocities

__all__ = ["Bounds"]


@dataclass(frozen=True, eq=False)
class Bounds:
    """Limits of coordinates: tree by velocity index (nv,), cut joints by index (n,).

    Infinite where absent.
    """

    lower: Array
    upper: Array
    cut_lower: Array
    cut_upper: Array

    @classmethod
    def of(cls, model: Model, given: bool | Mapping[str, Any], item: str) -> Bounds:
        """Return the limits of the joints, replaced by those given by name; none with False."""
        cut = model.compiled.names.cut_v
        size = max((span.stop for span in cut.values()), default=0)
        found = cls(*(np.full(n, sign * np.inf) for n in (model.nv, size) for sign in (-1.0, 1.0)))
        if not isinstance(given, (bool, Mapping)):
            raise ModelError(item, "limits", given, 'use True, False, or a dict: {"A": (lower, upper)}')
        if given is False:
            return found
        joints = [(joint.name, joint.element) for joint in model.forest.joints]
        for name, element in (
            *joints,
            *((loop_constraint.name, loop_constraint.element) for loop_constraint in model.forest.loop_constraints),
        ):
            if not isinstance(element, Joint) or (element.lower is None and element.upper is None):
                continue
            inner = name not in cut
            span = model.v_slice(name) if inner else cut[name]
            lower, upper = (found.lower, found.upper) if inner else (found.cut_lower, found.cut_upper)
            lower[span] = -np.inf if element.lower is None else element.lower
            upper[span] = np.inf if element.upper is None else element.upper
        for name, pair in dict(given if isinstance(given, Mapping) else {}).items():
            found._set(model, name, pair, item)
        return found

    def _set(self, model: Model, name: str, pair: Any, item: str) -> None:
        """Set the limits (lower, upper) of a coordinate or joint."""
        try:
            low, high = (
                np.asarray(none if x is None else x, dtype=float)
                for none, x in zip((-np.inf, np.inf), pair, strict=True)
            )
        except (TypeError, ValueError):
            raise ModelError(item, f"limits[{name!r}]", pair, "give (lower, upper); None where there is none") from None
        found = named_velocities(model, name, item=f"{item}: limits")
        bad = [n for n in found.names if n.rpartition(".")[2] in ("wx", "wy", "wz", "vx", "vy", "vz")]
        if bad:
            remedy = "an orientation has no single coordinate to limit; limit another joint"
            raise ModelError(item, f"limits[{name!r}]", pair, remedy)
        if np.isnan(low).any() or np.isnan(high).any() or (low > high).any():
            raise ModelError(item, f"limits[{name!r}]", pair, "the lower one must not exceed the upper one")
        sizes = {low.size, high.size} - {1, len(found)}
        if sizes or low.ndim > 1 or high.ndim > 1:
            raise ModelError(item, f"limits[{name!r}]", pair, f"give numbers, or {len(found)} of each")
        for indices, lower, upper in (
            (found.columns, self.lower, self.upper),
            (found.cut, self.cut_lower, self.cut_upper),
        ):
            if indices:
                lower[indices], upper[indices] = low, high
