"""Diagnostics of a run: the one list of checks and notes at its start, at its end and on its result.

Checks that do not apply to a model are skipped here: contacts, flexible bodies, compounds, rotation vectors, joint data
and loops are looked up once per model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...arrays import Array
from ...connections.elements.contacts import CONTACTS, contact_depth
from ...errors import SingularityError
from ...model import Conditions, Model, State
from ...model.cache import cached_per_model
from ...result import Motion, Result, Stats
from ..events.drive_velocity_jumps import jump_notes
from .angle_wrap import find_rotation_wrap, rotation_measures
from .discontinuities import missed_discontinuities
from .loop_drift import check_loops_closed, loop_notes
from .motion_notes import has_checked_parts, motion_notes
from .small_motions import small_motion_notes
from .snap_through import compound_nodes, find_snap_through
from .unmonitored_switching import fixed_step_note, frequent_note

if TYPE_CHECKING:
    from ..run import Run

__all__ = ["check_end", "find_result_error", "set_notes", "start_notes"]


MAX_NAMED_CONTACTS = 4  # in one note
MIN_DEPTH = 1e-12  # m: less is rounding


def start_notes(conditions: Conditions, state: State) -> list[str]:
    """Return a note if compliant contacts overlap at the start, with their depths in m."""
    model = conditions.model
    contacts = _contacts(model)
    if not contacts:
        return []
    report = model.report(["energies"], state.t, state.q, state.v, state.x, conditions=conditions)
    energies, rows = report["energies"], model.compiled.elements.indices
    depths = [(contact_depth(element, float(energies[rows[name].row])), name) for name, element in contacts.items()]
    deep = sorted((pair for pair in depths if pair[0] > MIN_DEPTH), reverse=True)
    if not deep:
        return []
    shown = ", ".join(f"{name!r} by {depth:.3g} m" for depth, name in deep[:MAX_NAMED_CONTACTS])
    more = f" and {len(deep) - MAX_NAMED_CONTACTS} more" if len(deep) > MAX_NAMED_CONTACTS else ""
    return [f"contacts overlap at the start, and push from there on: {shown}{more}"]


@cached_per_model
def _contacts(model: Model) -> dict[str, Any]:
    """Return the compliant contacts of a model by name."""
    return {name: c.element for name, c in model.system.forces.items() if isinstance(c.element, CONTACTS)}


def check_end(run: Run, status: str) -> None:
    """Note discontinuities of a control that steps did not resolve; raise an error if a loop is open at the end."""
    if run.conditions.control is not None:
        run.notes += missed_discontinuities(run.conditions, run.options, *run.records.arrays())
    if status == "finished" and run.options.project and run.model.nc:
        check_loops_closed(run.conditions, run.state)


def find_result_error(result: Result) -> SingularityError | None:
    """Return the error of a result in which a rotation vector wraps or a compound snaps through, else None."""
    model = result.model
    if model is None or len(result.t) < 2:
        return None
    error = find_rotation_wrap(result) if rotation_measures(model) else None
    if error is None and compound_nodes(model):
        error = find_snap_through(result)
    return error


def set_notes(stats: Stats, run: Run, states: tuple[Array, Array, Array, Array], *, interrupted: bool) -> None:
    """Set the notes of a run in its statistics, found when they are read.

    Found at once are notes that come with warnings, on flexible bodies, and those that need functions of the user.

    Parameters
    ----------
    stats : Stats
    run : Run
    states : t (n,), q (n, nq), v (n, nv), x (n, nx)
        Of the result.
    interrupted : bool
        After Ctrl-C no control is called again, as it may be slow.
    """
    find = _notes_finder(run, states, interrupted=interrupted)
    now = run.conditions  # an evaluation after the run may differ with functions of the user and past states
    may_change = not (now.callback is None and now.control is None and now.history is None)
    if run.model.flexible_names or may_change:
        stats.notes = find()
    else:
        stats.find_notes_later(find)


def _notes_finder(run: Run, states: tuple[Array, Array, Array, Array], *, interrupted: bool) -> Callable[[], list[str]]:
    """Return a function that finds all notes on a run as it is now; the run may go on."""
    model, begin = run.model, list(run.notes)
    if run.friction is not None:
        begin += run.friction.notes()
    find_contact_notes = None if run.contact is None else run.contact.notes_finder(run.integrator)
    segments = list(run.segments)
    jumps = jump_notes(run.event_handler.functions.events, run.events) if run.request.drive_jumps else []
    conditions, options, conditions_at = run.conditions, run.options, run.trajectory.conditions
    recorded = run.records.arrays()
    end = _step_notes(run) if model.switching_functions or run.total_counts()[6] else []

    def find() -> list[str]:
        notes = list(begin) if find_contact_notes is None else begin + find_contact_notes()
        if has_checked_parts(model) or conditions.callback is not None:  # all conditions of a run have it
            motion = Motion(model, *states, conditions=conditions_at)
            by_segment = [segment.conditions for segment in segments]
            notes += motion_notes(motion, by_segment, call_control=not interrupted)
        notes += jumps + small_motion_notes(conditions, options, *states[1:])
        notes += loop_notes(model, *recorded[:2]) if model.nc else []
        return notes + end

    return find


def _step_notes(run: Run) -> list[str]:
    """Return notes on steps near singular positions, and on switching functions that steps did not resolve."""
    counts = run.total_counts()
    noisy, missed = int(counts[6]), int(counts[7])
    notes = []
    if noisy:
        notes.append(f"{noisy} steps close to a singular position were accepted with an error explained by rounding")
    if run.model.switching_functions:
        notes += [frequent_note(run.model, t, function) for function, t in run.all_released_branches().items()]
        first = run.first_missed()
        notes += [] if first is None else [fixed_step_note(run.model, missed, first)]
    return notes
