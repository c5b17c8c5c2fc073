"""Loop closure and target residuals of a linkage at several positions, as functions of model parameters.

The unknowns are the parameters p (n), and the coordinates q_j (nq) of every position j:

    S Phi(q_j, p) = 0                      loops close
    (y(q_j, p) - y_j) / L = 0              markers, bodies and joints are at their targets                         (1)

with the scales S and L, so that all rows have magnitude one. Derivatives by q are computed by the core. Derivatives by
p are differences of models that differ in one parameter; positions are linear in marker positions, and almost linear
in marker orientations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ...closure import RelativeEquations
from ...closure.named_velocities import coordinate_range
from ...errors import ModelError
from ...model import Model
from ...model.conditions import parameter_value

__all__ = ["Positions", "TargetPoses", "as_wanted"]


DIFFERENCE_STEP = 1e-5  # relative to the magnitude of a parameter; its error only slows convergence
_PLANES = {"xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}


@dataclass(frozen=True, eq=False)
class TargetPoses:
    """Target values of one marker, body or joint at all positions.

    Attributes
    ----------
    name : str
        A marker, a body, or a joint.
    kind : str
        ``"point"``, ``"angle"`` or ``"joint"``.
    values : (N, k) m or rad
    body : int
        Index of its body in the model; -1 for a joint.
    marker : str
        Marker name in the parameter names of the model; empty for the origin of a body.
    column : int
        Index of the coordinate of a joint.
    """

    name: str
    kind: str
    values: Array
    body: int = -1
    marker: str = ""
    column: int = -1


def as_wanted(item: str, model: Model, through: Any) -> list[TargetPoses]:
    """Return the checked target poses from user arguments; see `synthesize`."""
    if not isinstance(through, Mapping) or not through:
        raise ModelError(item, "through", through, "give a dict of name to values: {'coupler.P': points}")
    found = [_wanted(item, model, name, given) for name, given in through.items()]
    counts = {len(w.values) for w in found}
    if len(counts) > 1:
        given = {w.name: len(w.values) for w in found}
        raise ModelError(item, "through", given, "give values of all positions to each")
    return found


def _wanted(item: str, model: Model, name: Any, given: Any) -> TargetPoses:
    try:
        values = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.size == 0 or not np.isfinite(values).all():
        raise ModelError(item, f"values of {name!r}", given, "give finite numbers, a row for each position")
    bodies = list(model.body_names)
    owner, _, last = str(name).rpartition(".")
    if last == "angle" and owner in bodies:
        return TargetPoses(name, "angle", _column(item, name, values), bodies.index(owner))
    span = coordinate_range(model, str(name))
    if span is not None:
        if span.stop - span.start != 1 or model.nq != model.nv:
            raise ModelError(item, "through", name, "a joint must have one coordinate, and no other quaternions")
        return TargetPoses(name, "joint", _column(item, name, values), column=span.start)
    body, marker = (owner, str(name)) if owner in bodies else (str(name), "")
    if body in bodies and (not marker or f"{marker}.x" in model.parameter_names):
        if values.ndim != 2 or values.shape[1] not in (2, 3):
            raise ModelError(item, f"values of {name!r}", values.shape, "give points (n, 2) in the plane, or (n, 3)")
        return TargetPoses(name, "point", values, bodies.index(body), marker)
    raise ModelError(item, "through", name, "give a marker 'coupler.P', 'coupler.angle', or a joint of the tree")


def _column(item: str, name: Any, values: Array) -> Array:
    if values.ndim != 1:
        raise ModelError(item, f"values of {name!r}", values.shape, "give a number for each position")
    return values[:, None]


class Positions:
    """Residuals (1) and their derivatives.

    Parameters
    ----------
    model : Model
    names : tuple of str, (n,)
        Names of the parameters.
    sizes : (n,)
        Typical magnitudes, for scaling.
    wanted : list of TargetPoses
    plane : str
        ``"xy"``, ``"xz"``, ``"yz"``: plane of points with two components, and of angles.
    """

    def __init__(
        self, model: Model, names: tuple[str, ...], sizes: Array, wanted: list[TargetPoses], plane: str
    ) -> None:
        if plane not in _PLANES:
            raise ModelError("synthesize", "plane", plane, f"use {', '.join(map(repr, _PLANES))}")
        self.model, self.names, self.steps, self.wanted = model, names, DIFFERENCE_STEP * sizes, wanted
        self.count = len(wanted[0].values)
        self.plane, self.plane_name = _PLANES[plane], plane
        first, second = self.plane
        self.normal = np.cross(np.eye(3)[first], np.eye(3)[second])
        scales = RelativeEquations(model, driven=False)
        self.columns = scales.column_scales
        self.length = _length([w.values for w in wanted if w.kind == "point"])
        self.row_scales = np.where(scales.row_scales[: model.nc] == 1.0, 1.0, 1.0 / self.length)
        self.row_scales[scales.row_scales[: model.nc] == 0.0] = 0.0

    def model_at(self, p: Array) -> Model:
        """Return the model with parameters p (n,)."""
        return self.model.with_parameters(dict(zip(self.names, map(float, p), strict=True)))

    def closure(self, model: Model, q: Array) -> Array:
        """Return the loop constraint residuals, (N, nc)."""
        return np.asarray(model.constraint_residual(q) * self.row_scales)

    def off(self, model: Model, q: Array) -> Array:
        """Return the target residuals (N, k), points in units of their extent."""
        R, x = self._poses(model, q)
        parts = []
        for w in self.wanted:
            if w.kind == "joint":
                parts.append(_turned(q[:, w.column : w.column + 1] - w.values))
            elif w.kind == "angle":
                parts.append(_turned(self._angle(R[:, w.body])[:, None] - w.values))
            else:
                place = x[:, w.body] + R[:, w.body] @ self._place(model, w)
                parts.append((place[:, self._columns(w)] - w.values) / self.length)
        return np.concatenate(parts, axis=1)

    def slopes(self, model: Model, q: Array) -> tuple[Array, Array]:
        """Return derivatives by small motions, of loop residuals (N, nc, nv) and of target residuals (N, k, nv)."""
        nv, N = model.nv, len(q)
        closing = model.constraint_jacobian(q) * self.row_scales[:, None] if model.nc else np.zeros((N, 0, nv))
        R, _ = self._poses(model, q)
        V = model.velocities(np.repeat(q, nv, axis=0), np.tile(np.eye(nv), (N, 1))).reshape(N, nv, -1, 6)
        parts = []
        for w in self.wanted:
            if w.kind == "joint":
                parts.append(np.broadcast_to(np.eye(nv)[w.column], (N, 1, nv)))
            elif w.kind == "angle":
                parts.append((V[:, :, w.body, :3] @ self.normal)[:, None])
            else:
                arm = R[:, w.body] @ self._place(model, w)
                moved = V[:, :, w.body, 3:] + np.cross(V[:, :, w.body, :3], arm[:, None])
                parts.append(moved[:, :, self._columns(w)].transpose(0, 2, 1) / self.length)
        return np.asarray(closing), np.concatenate(parts, axis=1)

    def residual(self, p: Array, q: Array, weight: float = 1.0) -> Array:
        """Return all rows (N, nc + k); loop rows have a weight."""
        model = self.model_at(p)
        return np.concatenate([weight * self.closure(model, q), self.off(model, q)], axis=1)

    def by_numbers(self, p: Array, q: Array, here: Array, weight: float) -> Array:
        """Return derivatives (N, nc + k, n) of all rows by the parameters."""
        found = np.empty((*here.shape, len(p)))
        for k, step in enumerate(self.steps):
            perturbed = p.copy()
            perturbed[k] += step
            found[..., k] = (self.residual(perturbed, q, weight) - here) / step
        return found

    def _poses(self, model: Model, q: Array) -> tuple[Array, Array]:
        found = model.poses(q)
        return found[0], found[1]

    def _place(self, model: Model, w: TargetPoses) -> Array:
        if not w.marker:
            return np.zeros(3)
        return np.array([float(parameter_value(model, f"{w.marker}.{c}", model.parameters)) for c in "xyz"])

    def _columns(self, w: TargetPoses) -> tuple[int, ...]:
        return self.plane if w.values.shape[1] == 2 else (0, 1, 2)

    def _angle(self, R: Array) -> Array:
        first, second = self.plane
        return np.arctan2(R[:, second, first] - R[:, first, second], R[:, first, first] + R[:, second, second])


def _turned(angle: Array) -> Array:
    """Wrap angles to (-pi, pi]."""
    return np.asarray(angle - 2 * np.pi * np.round(angle / (2 * np.pi)))


def _length(points: list[Array]) -> float:
    """Return the extent of all points, 1 if there are none."""
    extent = max((float(np.ptp(values, axis=0).max()) for values in points), default=1.0)
    return extent if extent > 0 else 1.0
