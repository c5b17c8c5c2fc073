"""Forward and adjoint propagation of sensitivities along a run with switches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array, IndexArray
from ...result import Result
from .directions import ParameterDirection
from .jacobians import ParameterChanges, conditions_of
from .saltation import EventWindow, saltation
from .variational_equations import SmoothSegment, smooth_segment

__all__ = ["LinearizedRun"]


_N_PROBES = 2  # random changes of the initial state that measure growth


@dataclass(frozen=True, eq=False)
class LinearizedRun:
    """Linearization of a run: smooth segments and event windows.

    Attributes
    ----------
    result : Result
    directions : tuple of ParameterDirection, (m,)
        Parameters first.
    wanted : (k,) s
        Times of outputs, in order.
    parts : tuple of SmoothSegment or EventWindow
        In order of time.
    settings : mapping
        Settings of short runs across windows.
    rtol : float
    """

    result: Result
    directions: tuple[ParameterDirection, ...]
    wanted: Array
    parts: tuple[SmoothSegment | EventWindow, ...]
    settings: Mapping[str, Any]
    rtol: float

    @classmethod
    def of(
        cls,
        result: Result,
        directions: Sequence[ParameterDirection],
        wanted: Array,
        switches: Sequence[EventWindow],
        settings: Mapping[str, Any],
        rtol: float,
        backwards: bool,
    ) -> LinearizedRun:
        """Return the linearization of a run with given switches; parameters are the first directions.

        With `backwards`, derivatives by parameters are products only, and `forward` cannot be called.
        """
        numbers = tuple(direction.number for direction in directions if direction.number is not None)
        changes = ParameterChanges(numbers, _weights(directions)[: len(numbers)], backwards)
        now, end = float(result.t[0]), float(result.t[-1])
        parts: list[SmoothSegment | EventWindow] = []
        for window in [*switches, None]:
            until = end if window is None else window.begin
            if until > now:
                parts.append(smooth_segment(result, changes, now, until, wanted, rtol))
            if window is not None:
                parts.append(window)
                now = window.end
        return cls(result, tuple(directions), wanted, tuple(parts), settings, rtol)

    @property
    def held(self) -> bool:
        """Whether some changes decayed too fast to be resolved."""
        return any(isinstance(part, SmoothSegment) and part.held for part in self.parts)

    def forward(self) -> tuple[Array, float]:
        """Return changes (k, n, m) at the requested times, and the growth of changes."""
        begin, end = self.result.t[0], self.result.t[-1]
        y = np.stack([direction.start for direction in self.directions], axis=1)
        probes, count, growth = self._probes(), len(self.directions), 1.0
        found = np.zeros((len(self.wanted), *y.shape))
        found[self.wanted <= begin] = y
        for part in self.parts:
            if isinstance(part, EventWindow):
                y = saltation(self.result, part, self.directions, y, self.settings)
                continue
            every = part.forward(np.concatenate([y, probes], axis=1), _weights(self.directions), self.rtol)
            found[np.searchsorted(self.wanted, part.t[:-1])] = every[:-1, :, :count]
            growth *= self._growth(probes, every[:, :, count:])
            y = every[-1, :, :count]
        found[self.wanted >= end] = y
        return found, growth

    def backward(self, slopes: Array) -> tuple[Array, float]:
        """Return derivatives of outputs through the state by each direction, (m, r), and the growth of changes.

        Parameters
        ----------
        slopes : (k, n, r)
            Derivatives of outputs by the state at the requested times.
        """
        begin, end = self.result.t[0], self.result.t[-1]
        parts, maps, growth = self._judged()
        numbers = sum(direction.number is not None for direction in self.directions)
        by_number = np.zeros((numbers, slopes.shape[2]))
        back: Array = slopes[self.wanted >= end].sum(axis=0)
        for k in reversed(range(len(parts))):
            part = parts[k]
            if isinstance(part, EventWindow):
                state, number = maps[k]
                by_number += number.T @ back
                back = state.T @ back
                continue
            seeds = np.zeros((len(part.t), *back.shape))
            seeds[:-1] = slopes[np.searchsorted(self.wanted, part.t[:-1])]
            seeds[-1] = back
            back, more = part.backward(seeds)
            by_number += more
        back = back + slopes[self.wanted <= begin].sum(axis=0)
        found = np.stack([direction.start @ back for direction in self.directions])
        found[:numbers] += by_number
        return found, growth

    def _judged(self) -> tuple[list[SmoothSegment | EventWindow], dict[int, tuple[Array, Array]], float]:
        """Return parts with steps that meet the tolerance, maps of windows, and the growth of changes.

        One test change, a combination of all directions, is propagated forward.
        """
        weights = _weights(self.directions)
        y = (weights @ np.stack([direction.start for direction in self.directions]))[:, None]
        weights = weights[: sum(direction.number is not None for direction in self.directions)]
        probes, growth = self._probes(), 1.0
        parts: list[SmoothSegment | EventWindow] = []
        maps: dict[int, tuple[Array, Array]] = {}
        for part in self.parts:
            if isinstance(part, EventWindow):
                state, number = maps[len(parts)] = self._maps(part)
                y = state @ y + (number @ weights)[:, None]
                parts.append(part)
                continue
            better, every = part.judged(np.concatenate([y, probes], axis=1), self.rtol)
            growth *= self._growth(probes, every[:, :, 1:])
            y = every[-1, :, :1]
            parts.append(better)
        return parts, maps, growth

    def _maps(self, window: EventWindow) -> tuple[Array, Array]:
        """Return the maps of a switch for changes of the state (n, n), and of parameters (n, m)."""
        n = len(self.directions[0].start)
        free = self._free(window)
        units = [ParameterDirection(f"change {k} of the state", None, 1.0, np.eye(n)[k]) for k in free]
        numbers = [direction for direction in self.directions if direction.number is not None]
        y = np.concatenate([np.eye(n)[:, free], np.zeros((n, len(numbers)))], axis=1)
        after = saltation(self.result, window, [*units, *numbers], y, self.settings)
        state = np.zeros((n, n))
        state[:, free] = after[:, : len(free)]
        return state, after[:, len(free) :]

    def _free(self, window: EventWindow) -> IndexArray:
        """Return indices of state entries that can change before a switch: not velocities that are locked or stick.

        Beside contacts all can: short runs put changes onto the closed points.
        """
        model = self.result.model
        assert model is not None
        held = [model.nv + k for k in conditions_of(self.result, model, np.array([window.begin]))[0][1].locked]
        return np.setdiff1d(np.arange(2 * model.nv + model.nx), held)

    def _probes(self) -> Array:
        model = self.result.model
        assert model is not None
        change = np.random.default_rng(0).normal(size=(2 * model.nv + model.nx, _N_PROBES))
        change[2 * model.nv :] = 0.0
        return np.asarray(change)

    def _growth(self, probes: Array, every: Array) -> float:
        """Return the largest growth of small motions or velocities."""
        model = self.result.model
        assert model is not None
        most = 1.0
        for part in (slice(0, model.nv), slice(model.nv, 2 * model.nv)):
            size = np.abs(probes[part]).max(initial=0.0)
            most = max(most, float(np.abs(every[:, part]).max(initial=0.0) / (size or 1.0)))
        return most


def _weights(directions: Sequence[ParameterDirection]) -> Array:
    """Return weights of directions in the test change for error control: about their magnitudes, all different."""
    sizes = np.array([direction.size for direction in directions])
    return np.asarray(sizes * (1.0 + 0.5 * np.cos(2.4 * np.arange(len(sizes)))))
