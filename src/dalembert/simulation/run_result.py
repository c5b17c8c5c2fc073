"""From a run to its result: states, notes, figures."""

from __future__ import annotations

import numpy as np

from ..result import Motion, Result, Stats
from .diagnostics.loop_drift import loop_notes
from .diagnostics.motion_notes import motion_notes
from .diagnostics.small_motions import small_notes
from .diagnostics.unmonitored_switching import fixed_step_note, frequent_note
from .events.drive_velocity_jumps import jump_notes
from .run import Run
from .storage.checkpoint import snapshot

__all__ = ["make_result"]


def make_result(run: Run, status: str, message: str, wall_time: float) -> Result:
    """Return what a run has computed."""
    kept = status == "interrupted" and run.stream is None
    point = snapshot(run) if kept else None
    if run.stream is not None:
        run.stream.close(run)
    t, q, v, x = run.records.arrays()
    if run.times is not None:
        reached = t[-1]
        if run.track.sampled:  # the start is on record though it may not have been asked for
            first = 0 if run.times[0] <= t[0] else 1
            t, q, v, x = t[first:], q[first:], v[first:], x[first:]
        else:
            t = run.times[run.times <= reached]
            q, v, x = run.track.dense(t)
        if not len(t):
            t, q, v, x = (part[:1] for part in run.records.arrays())
    result = Result(
        run.model.family,
        t,
        q,
        v,
        x,
        stats=_stats(run, wall_time, Motion(run.model, t, q, v, x, conditions=run.track.conditions), status),
        status=status,
        message=message,
        events=run.events,
        dense=run.track.dense,
        conditions=run.track.periods() if run.track.changed else None,
        steps=run.track.steps,
        breaks=np.union1d(run.breaks, run.track.switchings.arrays()[0]),
    )
    result.resume_point = point
    return result


def _stats(run: Run, wall_time: float, motion: Motion, status: str) -> Stats:
    steps, rejected, evaluations, jacobians, factorizations, _, noisy, missed = (int(c) for c in run.total_counts())
    notes = [
        *run.notes,
        *([] if run.dry is None else run.dry.notes()),
        *motion_notes(motion, (segment.conditions for segment in run.segments), asking=status != "interrupted"),
        *jump_notes(run.watch.events, run.events),
        *small_notes(run.conditions, run.options, motion.q, motion.v, motion.x),
        *loop_notes(run.model, *run.records.arrays()[:2]),
    ]
    if noisy:
        notes.append(f"{noisy} steps close to a singular position were taken with the error that rounding explains")
    notes += [frequent_note(run.model, t, threshold) for threshold, t in run.branches_let_go().items()]
    first = run.first_missed()
    if first is not None:
        notes.append(fixed_step_note(run.model, missed, first))
    return Stats(
        method=" then ".join(run.methods),
        steps=steps,
        rejected=rejected,
        evaluations=evaluations,
        jacobians=jacobians,
        factorizations=factorizations,
        wall_time=wall_time,
        rtol=run.options.rtol,
        atol=run.options.atol,
        notes=notes,
    )
