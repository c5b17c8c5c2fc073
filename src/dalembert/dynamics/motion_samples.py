"""Samples or laws of coordinates, smoothed, as positions, velocities and accelerations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Array
from ..closure.named_velocities import coordinate_range
from ..connections.laws import as_law
from ..errors import ModelError
from ..model import Model
from ..model.interpolation import attitudes
from ..rotation import quaternion_matrices, quaternion_product
from .smoothing_splines import Smoothing

__all__ = ["MotionSamples"]


_ITEM = "measured_motion"
NOISE_RATIO = 1.5  # ratio of third to second differences; 1.83 for white noise


@dataclass(frozen=True, eq=False)
class MotionSamples:
    """Positions, rates and second rates (n, nq) of coordinates, NaN if not given; notes on smoothing."""

    model: Model
    t: Array
    positions: Array
    rates: Array
    seconds: Array
    notes: list[str] = field(default_factory=list)
    given_laws: dict[int, Any] = field(default_factory=dict)  # given laws, by coordinate

    @classmethod
    def of(cls, model: Model, t: Array, coordinates: Mapping[str, Any], smoothing: Smoothing) -> MotionSamples:
        if not isinstance(coordinates, Mapping) or not coordinates:
            raise ModelError(_ITEM, "coordinates", coordinates, 'give a dict: {"A": samples}')
        parts = [np.full((len(t), model.nq), np.nan) for _ in range(3)]
        found = cls(model, t, parts[0], parts[1], parts[2])
        for name, values in coordinates.items():
            found._take(name, values, smoothing)
        if smoothing.cutoff is not None:
            found.notes.append(f"samples smoothed with a cut-off of {smoothing.cutoff:.6g} Hz")
        elif smoothing.residual is not None:
            found.notes.append(f"samples smoothed to a residual of {smoothing.residual:.6g}")
        steps = np.diff(t)
        if steps.max() > 1.01 * steps.min():
            found.notes.append(f"samples are not uniform: {steps.min():.6g} to {steps.max():.6g} s apart")
        return found

    def _take(self, name: str, values: Any, smoothing: Smoothing) -> None:
        model, t = self.model, self.t
        span = coordinate_range(model, name)
        if span is None:
            known = ", ".join(map(repr, model.joint_names[:12]))
            remedy = (
                "a loop is cut there: name another joint" if name in model.connection_names else f"choose among {known}"
            )
            raise ModelError(_ITEM, "coordinate", name, remedy)
        width = span.stop - span.start
        if callable(values) or np.ndim(values) == 0:
            if width != 1:
                raise ModelError(_ITEM, f"coordinates[{name!r}]", values, "a law is for one coordinate: name it")
            law = as_law(values, item=_ITEM, field=f"coordinates[{name!r}]")
            self.given_laws[span.start] = law
            triples = np.array([law(float(one)) for one in t])
            for part, column in zip((self.positions, self.rates, self.seconds), triples.T, strict=True):
                part[:, span.start] = column
            return
        samples = _samples(name, values, len(t), width)
        for index in (a.place - span.start for a in attitudes(model.coordinate_names, model.speed_names)):
            if 0 <= index < width:
                samples[:, index : index + 4] = _continuous(name, samples[:, index : index + 4])
        if smoothing.cutoff is None and smoothing.residual is None:
            self.notes.extend(_looks_noisy(name, t, samples))
        *smooth, off = smoothing(name, t, samples, _ITEM)
        for part, column in zip((self.positions, self.rates, self.seconds), smooth, strict=True):
            part[:, span] = column
        if off > 1e-12 * (1.0 + np.nanmax(np.abs(samples))):
            self.notes.append(f"{name}: smoothing changed samples by {off:.3g} (root mean square)")

    @property
    def complete(self) -> bool:
        """True if every coordinate is given."""
        return not np.isnan(self.positions).any()

    def laws(self) -> dict[str, Any]:
        """Return inputs of drives: laws by coordinate, (n, nq) arrays of joints with quaternions."""
        model, laws = self.model, {}
        turned = {a.place for a in attitudes(model.coordinate_names, model.speed_names)}
        for name in (*model.joint_names, *model.flexible_names):
            span = model.q_slice(name)
            mine = self.positions[:, span]
            if not mine.size or np.isnan(mine).all():
                continue
            if name in model.flexible_names:
                raise ModelError(_ITEM, "coordinates", name, "give all coordinates, or leave modes to be integrated")
            if span.start in turned:
                laws[name] = mine
                continue
            for k in range(span.start, span.stop):
                if not np.isnan(self.positions[:, k]).any():
                    laws[model.coordinate_names[k]] = self.given_laws.get(k, self.positions[:, k])
        return laws

    def speeds(self) -> tuple[Array, Array, Array]:
        """Return q, v and a (n, ...) of coordinates that are all given."""
        model, q, r, s = self.model, self.positions.copy(), self.rates, self.seconds
        v, a = np.zeros((len(q), model.nv)), np.zeros((len(q), model.nv))
        turned = {each.place: each for each in attitudes(model.coordinate_names, model.speed_names)}
        index = speed = 0
        while index < model.nq:
            if index not in turned:
                v[:, speed], a[:, speed] = r[:, index], s[:, index]
                index, speed = index + 1, speed + 1
                continue
            e, w, dw = _turning(q[:, index : index + 4], r[:, index : index + 4], s[:, index : index + 4])
            q[:, index : index + 4], v[:, speed : speed + 3], a[:, speed : speed + 3] = e, w, dw
            index, speed = index + 4, speed + 3
            if turned[index - 4].free:  # x' = C u, x'' = C (u' + w x u)
                C = quaternion_matrices(e)
                u = np.einsum("nij,ni->nj", C, r[:, index : index + 3])
                v[:, speed : speed + 3] = u
                a[:, speed : speed + 3] = np.einsum("nij,ni->nj", C, s[:, index : index + 3]) - np.cross(w, u)
                index, speed = index + 3, speed + 3
        return q, v, a


def _looks_noisy(name: str, t: Array, samples: Array) -> list[str]:
    """Return a note if second differences of samples (n, width), and so accelerations, are mostly noise.

    From one difference to the next, white noise grows by sqrt(20 / 6); differences of a resolved motion shrink.
    """
    second, third = (np.diff(samples, n, axis=0) for n in (2, 3))
    if len(third) < 8 or np.isnan(samples).any():
        return []
    sizes = [np.sqrt(np.mean(each**2, axis=0)) for each in (second, third)]
    noise = sizes[0] / np.sqrt(6.0)
    worst = int(noise.argmax())
    if noise[worst] <= 1e-9 * (np.ptp(samples[:, worst]) + 1e-3) or sizes[1][worst] < NOISE_RATIO * sizes[0][worst]:
        return []
    step = float(np.median(np.diff(t)))
    return [
        f"samples of {name!r} look noisy, by about {noise[worst]:.2g}, which makes accelerations uncertain by "
        f"{sizes[0][worst] / step**2:.2g}: smooth them, cutoff= or residual="
    ]


def _samples(name: str, values: Any, n: int, width: int) -> Array:
    try:
        found = np.array(values, dtype=float)
    except (TypeError, ValueError):
        found = np.zeros(0)
    shape = (n,) if width == 1 else (n, width)
    if found.shape not in (shape, (n, width)):
        remedy = f"give one row for each time: {shape}"
        raise ModelError(_ITEM, f"the shape of coordinates[{name!r}]", found.shape, remedy)
    return found.reshape(n, width)


def _continuous(name: str, e: Array) -> Array:
    """Return unit quaternions (n, 4) with continuous signs; rows of NaN are kept."""
    known = np.flatnonzero(~np.isnan(e).any(axis=1))
    length = np.linalg.norm(e[known], axis=1)
    if length.size and (np.abs(length - 1.0) > 1e-3).any():
        worst = int(known[np.argmax(np.abs(length - 1.0))])
        raise ModelError(
            _ITEM, f"coordinates[{name!r}][{worst}]", e[worst], "orientations are unit quaternions (w, x, y, z)"
        )
    e = e.copy()
    e[known] /= length[:, None]
    signs = np.sign((e[known[1:]] * e[known[:-1]]).sum(axis=1))
    e[known[1:]] *= np.cumprod(np.where(signs == 0.0, 1.0, signs))[:, None]
    return e


def _turning(e: Array, r: Array, s: Array) -> tuple[Array, Array, Array]:
    """Return unit quaternions, angular velocities and accelerations in outboard axes from unnormalised quaternions."""
    length = np.linalg.norm(e, axis=1, keepdims=True)
    e, r, s = e / length, r / length, s / length
    along = (e * r).sum(axis=1, keepdims=True)
    # of the normalised one: e' = r - (e.r) e; its second rate has -2 (e.r) e' in addition to the part along e
    first = r - along * e
    second = s - 2.0 * along * first
    conjugate = e * [1.0, -1.0, -1.0, -1.0]
    w, dw = (2.0 * quaternion_product(conjugate, x)[:, 1:] for x in (first, second))
    return e, w, dw
