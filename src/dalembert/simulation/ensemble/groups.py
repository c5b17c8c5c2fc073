"""Groups of runs of an ensemble with equal parameters, for SIMD batches of the core.

Parameters of elements and of the model may differ between the runs of a SIMD batch. Runs are separated where Python
callbacks depend on the parameters of one model, and where other lengths make other loop constraints redundant. Starts,
discontinuity times and loop gaps are computed once for all runs that agree in the parameters they depend on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import Array, BoolArray, IndexArray
from ...closure.starts.named_start_values import named_count
from ...model import Conditions, Model, State
from ...model.conditions import checked_parameter, followed, parameter_place
from ...model.variants import check_numbers
from ..diagnostics.loop_drift import largest_gap
from ..events.discontinuity_times import discontinuity_sources, discontinuity_times_until
from ..options import Options
from ..start import has_point_masses, refuse_faint_inertia, rows_of, start_states
from .sampled_runs import SampledRuns
from .shared_starts import shared_starts
from .varied_starts import varied_starts, varies_marker_positions

__all__ = ["BatchGroup", "EnsembleGroups"]


MAX_KEPT_CONDITIONS = 1024  # with a model of about 20 kB each
START_INDEPENDENT_GROUPS = ("gravity", "named")  # no start depends on these; named ones act through others
INERTIA_GROUPS = ("body", "modes")  # weights of the projection of start velocities
GEOMETRY_GROUPS = ("marker", "coupling", "constraint", "program")  # loop closure depends on these


@dataclass(frozen=True, eq=False)
class BatchGroup:
    """Runs that the core executes in one call.

    Attributes
    ----------
    rows : (k,)
        Numbers of the runs.
    conditions : Conditions
        Of all runs, except the parameters that differ.
    elements : (k, n) or None
        Element parameters of each run.
    own : (k, n) or None
        Model parameters of each run; None: those of the conditions.
    """

    rows: IndexArray
    conditions: Conditions
    elements: Array | None
    own: Array | None


class EnsembleGroups:
    """Parameters of each run.

    Attributes
    ----------
    conditions : Conditions
        Of all runs, except the parameters.
    count : int
    numbers : (count, n) or None
        All parameters of each run, if any were given.
    sequences : (count, k, m) or None
        Control values of each run, if the conditions have a control sequence.
    sampled : SampledRuns or None
        Forces of a sampled control, once the runs are made.
    """

    def __init__(
        self, conditions: Conditions, count: int, numbers: Array | None, sequences: Array | None = None
    ) -> None:
        self.conditions, self.count, self.numbers, self.sequences = conditions, count, numbers, sequences
        self.sampled: SampledRuns | None = None
        self._made: dict[int, Conditions] = {}  # of runs without functions of the user, which have a memory

    @classmethod
    def of(cls, conditions: Conditions, given: Mapping[str, ArrayLike] | None, count: int) -> EnsembleGroups:
        """Return the runs with parameters by name, one value for all or one for each."""
        return cls(conditions, count, _parameter_rows(conditions, given, count))

    def set_sampled(self, sampled: SampledRuns) -> None:
        """Let the conditions of each run have the forces of its samples."""
        self.sampled = sampled
        self._made.clear()

    def __getitem__(self, run: int) -> Conditions:
        """The conditions of one run."""
        if run in self._made:
            return self._made[run]
        made = self._conditions_of(run)
        if self.sampled is not None:
            made = self.sampled.conditions_of(run, made)
        if made.callback is None and made.history is None and len(self._made) < MAX_KEPT_CONDITIONS:
            self._made[run] = made
        return made

    def _conditions_of(self, run: int) -> Conditions:
        changes: dict[str, Any] = {} if self.numbers is None else {"parameters": self.numbers[run]}
        if self.sequences is not None and self.conditions.sequence is not None:
            changes["sequence"] = self.conditions.sequence.with_values(self.sequences[run])
        if self.conditions.control is not None and run:
            changes["run"] = int(run)
        return self.conditions.changed(**changes) if changes else self.conditions

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Kinds of model parameters that differ between runs."""
        return frozenset() if self.numbers is None else _kinds(self.conditions.model, self.numbers)

    @property
    def has_varied_model(self) -> bool:
        """True if model parameters differ between runs."""
        return bool(self.kinds)

    def groups(self) -> list[BatchGroup]:
        """Return all runs in as few groups as possible."""
        all_runs, numbers = np.arange(self.count), self.numbers
        if numbers is None:
            return [BatchGroup(all_runs, self.conditions, None, None)]
        count = self.conditions.model.n_element_parameters
        elements = np.ascontiguousarray(numbers[:, :count])
        if not self.has_varied_model:
            return [BatchGroup(all_runs, self[0], elements, None)]
        if self.conditions.model.family.callback_laws:
            alike = _equal_rows(numbers[:, count:])
            return [BatchGroup(rows, self[rows[0]], np.ascontiguousarray(elements[rows]), None) for rows in alike]
        check_numbers(self.conditions.model.family, numbers, "simulate")
        other = self._recompiled_runs()
        rest = np.setdiff1d(all_runs, list(other))
        found = [BatchGroup(np.array([run]), own, elements[[run]], None) for run, own in other.items()]
        if len(rest):
            own = np.ascontiguousarray(numbers[rest, count:])
            found.append(BatchGroup(rest, self[rest[0]], np.ascontiguousarray(elements[rest]), own))
        return found

    def _recompiled_runs(self) -> dict[int, Conditions]:
        """Return conditions of runs whose model was recompiled because other loop constraints are redundant."""
        if not self.conditions.model.nc or self.kinds.isdisjoint(GEOMETRY_GROUPS):
            return {}
        each = ((run, self[run]) for run in range(self.count))
        return {run: own for run, own in each if own.model.is_recompiled}

    def starts(
        self, state: State | Mapping[str, Any] | None, t: float, limits: bool
    ) -> tuple[Array, Array, Array, list[str]]:
        """Return the start states q, v and x of all runs with their parameters, and notes.

        Raises
        ------
        SingularityError
            For the first run in which a motion has hardly any inertia.
        """
        q, v, x, notes = self._found_starts(state, t, limits)
        for run in range(self.count if has_point_masses(self.conditions.model) else 0):
            refuse_faint_inertia(self[run], State(q=q[run], v=v[run], t=t, x=x[run]), of=f"of run {run} " * (run > 0))
        return q, v, x, notes

    def _found_starts(
        self, state: State | Mapping[str, Any] | None, t: float, limits: bool
    ) -> tuple[Array, Array, Array, list[str]]:
        model = self.conditions.model
        free = not (model.nc or model.drives)  # no constraints on the start
        plain = free and isinstance(state, State)
        without = (
            (*START_INDEPENDENT_GROUPS, *INERTIA_GROUPS)
            if free and state is None and not model.system.placements
            else START_INDEPENDENT_GROUPS
        )
        if self.numbers is None or plain or self.kinds <= set(without):
            return start_states(self[0].model, state, t, self.count, limits=limits)
        own = self.numbers[:, model.n_element_parameters :]
        if self.kinds <= {*START_INDEPENDENT_GROUPS, *INERTIA_GROUPS}:
            shared = shared_starts(self[0].model, own, state, t, limits, lambda run: self[run].model)
            if shared is not None:
                return shared
        if not isinstance(state, State) and model.nc and varies_marker_positions(model, own):
            return self._varied_starts(state, t, limits)
        return self._separate_starts(state, t, limits, own[:, ~_columns(model, without)])

    def _varied_starts(
        self, state: Mapping[str, Any] | None, t: float, limits: bool
    ) -> tuple[Array, Array, Array, list[str]]:
        """Return the start states of runs that differ in positions of markers, closed together where possible."""
        assert self.numbers is not None
        own, model = self.numbers[:, self.conditions.model.n_element_parameters :], self.conditions.model
        models = [self[run].model for run in range(self.count)]
        common = [k for k, each in enumerate(models) if not each.is_recompiled]
        several = state is not None and named_count(model, state) is not None
        found = None if several or not common else varied_starts([models[k] for k in common], state, t, limits)
        every = own[:, ~_columns(model, START_INDEPENDENT_GROUPS)]
        if found is None:
            return self._separate_starts(state, t, limits, every)
        shapes = (self.count, model.nq), (self.count, model.nv), (self.count, model.nx)
        q, v, x = (np.zeros(shape) for shape in shapes)
        *parts, good, notes = found
        for whole, part in zip((q, v, x), parts, strict=True):
            whole[common] = part
        for run in np.setdiff1d(np.arange(self.count), np.array(common)[good]).tolist():
            *begin, start_notes = start_states(models[run], state, t, 1, limits=limits, runs=np.array([run]))
            q[run], v[run], x[run] = (part[0] for part in begin)
            notes += [note for note in start_notes if note not in notes]
        return q, v, x, notes

    def _separate_starts(
        self, state: State | Mapping[str, Any] | None, t: float, limits: bool, own: Array
    ) -> tuple[Array, Array, Array, list[str]]:
        """Return the start states of all runs, found once for runs with equal model parameters (count, n)."""
        model = self.conditions.model
        found, notes = [], []
        groups = _equal_rows(own)
        for rows in groups:
            own_state = _state_rows(model, state, rows, self.count)
            *begin, start_notes = start_states(self[rows[0]].model, own_state, t, len(rows), limits=limits, runs=rows)
            found.append(begin)
            notes += [note for note in start_notes if note not in notes]
        order = np.argsort(np.concatenate(groups), kind="stable")
        q, v, x = (np.ascontiguousarray(np.concatenate(part)[order]) for part in zip(*found, strict=True))
        return q, v, x, notes

    def discontinuity_times(
        self, group: BatchGroup, t_start: float, t_end: float, options: Options, also: Array
    ) -> tuple[Array, NDArray[np.int64]]:
        """Return the discontinuity times of all runs in sequence, and their offsets (k + 1,)."""

        def of(given: Conditions) -> Array:
            return discontinuity_times_until(given, t_start, t_end, smooth=not options.step, also=also)

        if self.numbers is None or not (discontinuity_sources(group.conditions.model).uses or "law" in self.kinds):
            rows = [of(group.conditions)] * len(group.rows)
        else:
            rows = [of(self[run]) for run in group.rows]
        spans = np.cumsum([0, *map(len, rows)]).astype(np.int64)
        return np.concatenate([np.zeros(0), *rows]), spans

    def gaps(self, group: BatchGroup, runs: IndexArray, t: float, q: Array, v: Array, x: Array) -> Array:
        """Return the largest scaled loop gap of some runs of a group at t, (k,)."""
        if group.own is None or self.kinds.isdisjoint((*GEOMETRY_GROUPS, "joint", "law")):
            return largest_gap(group.conditions, t, q, v, x)[2]
        rows = (slice(k, k + 1) for k in range(len(runs)))
        found = [
            largest_gap(self[run], t, q[row], v[row], x[row])[2] for run, row in zip(runs.tolist(), rows, strict=True)
        ]
        return np.concatenate([np.zeros(0), *found])


def _kinds(model: Model, numbers: Array) -> frozenset[str]:
    """Return the kinds of model parameters that differ between rows; ``"joint"`` excludes drive-train inertias."""
    own = numbers[:, model.n_element_parameters :]
    differs = (own != own[0]).any(axis=0)
    groups = model.family.compiled.numbers.groups
    return frozenset(_kind(group) for group in groups if differs[group.span].any())


def _kind(group: Any) -> str:
    return "body" if group.what == "joint" and group.key[1] == "armature" else str(group.what)


def _columns(model: Model, kinds: tuple[str, ...]) -> BoolArray:
    """Return a mask of the model parameters of some kinds."""
    own = model.family.compiled.numbers
    marks = np.zeros(len(own.values), dtype=bool)
    for group in own.groups:
        marks[group.span] = _kind(group) in kinds
    return marks


def _equal_rows(rows: Array) -> list[IndexArray]:
    """Return groups of equal rows."""
    _, which = np.unique(rows, axis=0, return_inverse=True)
    which = which.reshape(-1)
    order = np.argsort(which, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(which[order])) + 1)


def _state_rows(
    model: Model, state: State | Mapping[str, Any] | None, rows: IndexArray, count: int
) -> State | Mapping[str, Any] | None:
    """Return start states, or start values by name, of some of the runs."""
    if isinstance(state, State):
        x = state.x if np.size(state.x) else model.element_start_values()
        whole = (("q", state.q, model.nq), ("v", state.v, model.nv), ("x", x, model.nx))
        q, v, x = (rows_of(f"state.{name}", part, count, size)[rows] for name, part, size in whole)
        return replace(state, q=q, v=v, x=x)
    return state


def _parameter_rows(conditions: Conditions, given: Mapping[str, ArrayLike] | None, count: int) -> Array | None:
    """Return all parameters of each run, (count, n), if any are given."""
    if not given:
        return None
    model = conditions.model
    rows = np.tile(conditions.parameters, (count, 1))
    for name, value in given.items():
        column = rows_of(f"parameter {name!r}", np.reshape(value, (-1, 1)) if np.ndim(value) else value, count, 1)
        place = parameter_place(model, name, "simulate")
        rows[:, place] = [checked_parameter(model, name, number, "simulate") for number in column[:, 0]]
    if model.family.compiled.numbers.named.keys() & set(given):
        for row in rows:
            followed(model, row, given, "simulate")
    return rows
