"""Changes of friction and stops made by the core, as arrays: events and conditions are made when they are read."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Array, BoolArray, IndexArray
from ...model import Conditions, Model
from ...result import EventRecord
from ..events.velocity_jumps import work_of_drives
from .load_limits import with_modes
from .messages import StopImpact, change_texts
from .modes import Modes
from .rows import FrictionRows

__all__ = ["ChangedConditions", "CoreChanges", "ModeConditions"]


class ModeConditions:
    """Conditions of a run by modes; equal modes have the same conditions.

    Parameters
    ----------
    rows : FrictionRows
    base : Conditions
        Without locks of stuck rows.
    movable : (n,) bool
        Rows that are neither driven nor locked by the user.
    rest_tol : (n,) rad/s or m/s
        Rest tolerance.
    """

    def __init__(self, rows: FrictionRows, base: Conditions, movable: BoolArray, rest_tol: Array) -> None:
        self.rows, self.base, self.movable, self.rest_tol = rows, base, movable, rest_tol
        self._known: dict[tuple[Any, ...], Conditions] = {}

    def __call__(self, modes: Modes) -> Conditions:
        key = modes.sign.tobytes(), tuple(modes.locked), tuple(modes.holding_laws), tuple(modes.sliding_laws)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = with_modes(self.rows, self.base, modes, self.movable, self.rest_tol)
        return known


class CoreChanges:
    """Successive changes of modes made by the core.

    Parameters
    ----------
    mode_conditions : ModeConditions
    before : Modes
        Before the first change.
    found : dict of str to array
        Of `Integrator.take_changes`.
    chosen : slice
        Changes among those found.

    Attributes
    ----------
    t : (k,) s
    velocities_jumped : (k,) bool
    before, after : (k, nq + nv + nx)
        States before and after each change.
    sign, side, stuck, immobile : (k, n)
        Modes of all rows after each change.
    impacts : (j, 4)
        Number of the change, row, side, speed of approach, rad/s or m/s.
    holds : list of (change, rows, count, time)
        Rows that are held from a change on for a time, s, after a number of changes without progress.
    jams, gains : list of (change, rows, gain)
        Rows that jam, and rows that slide with a gain of friction on its own load of one or more.
    reaches_last : bool
        Whether the last change found is among them.
    """

    def __init__(
        self, mode_conditions: ModeConditions, before: Modes, found: dict[str, Any], chosen: slice = slice(None)
    ) -> None:
        self.mode_conditions, self.modes_before = mode_conditions, before
        self.t: Array = found["t"][chosen]
        self.velocities_jumped: BoolArray = found["velocities_jumped"][chosen] != 0
        self.before, self.after = found["before"][chosen], found["after"][chosen]
        modes = (found[name][chosen] for name in ("sign", "side", "stuck", "immobile"))
        self.sign, self.side, self.stuck, self.immobile = modes
        self._locked, self._unloaded, self._holding_laws, self._sliding_laws = (
            _RowsOfChanges(found[name][0], found[name][1], chosen)
            for name in ("locked", "unloaded", "holding_laws", "sliding_laws")
        )
        self.reaches_last = chosen.stop is None or chosen.stop >= len(found["t"])
        first, number = chosen.start or 0, found["impacts"][:, 0]
        impacts = found["impacts"][(number >= first) & (number < first + len(self.t))]
        self.impacts: Array = impacts - [first, 0, 0, 0]
        self.holds, self.jams, self.gains = (
            [(k - first, *rest) for k, *rest in found[name] if first <= k < first + len(self.t)]
            for name in ("holds", "jams", "gains")
        )

    def __len__(self) -> int:
        return len(self.t)

    @property
    def sticks(self) -> list[bool]:
        """Whether a row is locked after each change."""
        return (self._locked.counts > 0).tolist()

    @property
    def unloaded(self) -> list[list[int]]:
        """Rows on stops whose load is zero within rounding, of the changes that have any."""
        return [self._unloaded[k] for k in np.flatnonzero(self._unloaded.counts).tolist()]

    def modes(self, k: int) -> Modes:
        """Return the modes after change k, or before the first for -1."""
        if k < 0:
            return self.modes_before
        laws = self._holding_laws[k], self._sliding_laws[k]
        return Modes(self.sign[k], self.stuck[k], self._locked[k], self.side[k], self.immobile[k], *laws)

    @property
    def assisted(self) -> list[Modes]:
        """Modes in which laws help to hold stuck rows."""
        return [self.modes(k) for k in np.flatnonzero(self._holding_laws.counts).tolist()]

    def conditions(self, k: int) -> Conditions:
        """Return the conditions after change k, or before the first for -1."""
        return self.mode_conditions(self.modes(k))

    # ---- events

    @cached_property
    def events(self) -> list[EventRecord]:
        """Events of all changes; the first of each change has the energies."""
        model, rows = self.mode_conditions.base.model, self.mode_conditions.rows
        nq, ends = model.nq, model.nq + model.nv
        impacts: dict[int, list[StopImpact]] = {}
        for change, row, side, speed in self.impacts.tolist():
            impacts.setdefault(int(change), []).append(StopImpact(int(row), int(side), speed))
        jams = {k: [f"{rows.names[row]} jams" for row in jammed] for k, jammed, _ in self.jams}
        energies = self._energies()
        found, before = [], self.modes_before
        for k, t in enumerate(self.t.tolist()):
            modes, state = self.modes(k), self.after[k]
            energy, lost = energies.get(k, (0.0, 0.0))
            texts = change_texts(rows, before, modes, impacts.get(k, ()), self.mode_conditions.movable)
            for text in [*jams.get(k, ()), *texts]:
                q, v, x = state[:nq], state[nq:ends], state[ends:]
                found.append(EventRecord(text, t, q, v, x, energy, dissipated=lost))
                energy = lost = 0.0
            before = modes
        return found

    def _energies(self) -> dict[int, tuple[float, float]]:
        """Return gain and dissipation of energy, J, of the changes in which velocities jumped."""
        jumps = np.flatnonzero(self.velocities_jumped)
        if not len(jumps):
            return {}
        gains = self._energy(self.after[jumps], jumps) - self._energy(self.before[jumps], jumps)
        return {k: (gain, self._work(k) - gain) for k, gain in zip(jumps.tolist(), gains.tolist(), strict=True)}

    def _energy(self, states: Array, jumps: IndexArray) -> Array:
        base = self.mode_conditions.base
        q, v, x = np.split(states, [base.model.nq, base.model.nq + base.model.nv], axis=1)
        return np.asarray(base.model.energy(q, v, t=self.t[jumps], x=x, conditions=base).total)

    def _work(self, k: int) -> float:
        """Return the work of drives in change k, J."""
        rows, base = self.mode_conditions.rows, self.mode_conditions.base
        model, held = base.model, self.modes(k - 1).locked
        nq, ends = model.nq, model.nq + model.nv
        q, v = self.after[k, :nq], self.after[k, nq:ends]
        places = rows.indices[held]
        prescribed = np.array(base.velocity_prescribed, dtype=bool)
        prescribed[places[places < model.nv]] = True
        if not model.nc and not v[prescribed].any():
            return 0.0
        before, J = self.before[k, nq:ends], rows.jacobian(q)
        return work_of_drives(self.conditions(k - 1), q, before, v, float(self.t[k]), rows=J)


class ChangedConditions:
    """Conditions after a change of modes, made when they are read.

    Parameters
    ----------
    changes : CoreChanges
    k : int
        Number of the change.
    """

    __slots__ = ("changes", "k")

    def __init__(self, changes: CoreChanges, k: int) -> None:
        self.changes, self.k = changes, k

    @property
    def model(self) -> Model:
        """The model of the conditions."""
        return self.changes.mode_conditions.base.model

    def __call__(self) -> Conditions:
        return self.changes.conditions(self.k)


class _RowsOfChanges:
    """Rows of each change, made when they are read.

    Parameters
    ----------
    numbers : array
        Rows of all changes, one after the other.
    counts : (k,)
        Their number in each change.
    chosen : slice
        Changes that are wanted.
    """

    def __init__(self, numbers: Array, counts: Array, chosen: slice) -> None:
        counts = counts.astype(np.intp)
        self.numbers, self.counts, self._ends = numbers, counts[chosen], counts.cumsum()[chosen]

    def __getitem__(self, k: int) -> list[int]:
        end, count = int(self._ends[k]), int(self.counts[k])
        rows: list[int] = self.numbers[end - count : end].astype(int).tolist()
        return rows
